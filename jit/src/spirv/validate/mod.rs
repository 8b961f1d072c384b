//! The universal rules of a module (SPIR-V 2.4 and 2.16.1), looked at once, before anything is made of it: one pass per file, each a walk
//! over the instructions along tables.
//!
//! What breaks them is no SPIR-V and is refused. What the *Vulkan environment* asks beyond that, and whose breach has a meaning all the
//! same (a capability that is not declared, a type declared twice, offsets that overlap), is not refused here: applications in the
//! field do that, and what runs stays inside of its memory. What has no meaning is refused where it is translated.
//! `jit/tests/spirv_val.rs` compares verdicts with SPIRV-Tools' over mutated modules and lists what it differs in.
//!
//! Opcodes without a row (`opcodes`) may stand anywhere and mean nothing here; where one is reached it is refused.

mod decorations;
pub(in crate::spirv) mod dominance;
mod functions;
mod ids;
mod layout;
mod memory;
mod operands;

use super::module::{Module, View};
use super::opcodes::op;
use crate::error::{Error, Result};
pub(super) use ids::{count_id, each_id};

/// The passes, in the order in which they rely on each other.
const PASSES: [fn(&Module) -> Result<()>; 7] =
    [operands::check, layout::check, ids::check, decorations::check, functions::check, memory::check, dominance::check];

/// Looks at the whole module, reachable or not.
///
/// # Errors
/// Invalid, at the first instruction that breaks a rule.
pub(super) fn check(m: &Module) -> Result<()> {
    PASSES.iter().try_for_each(|pass| pass(m))
}

/// A broken rule, at an instruction.
fn broken<T>(v: View<'_>, rule: impl Into<String>) -> Result<T> {
    Err(Error::invalid(rule).at(v.opcode(), v.result))
}

/// What an id was defined as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Type,
    /// Has a type: constants, variables, parameters, results.
    Value,
    Function,
    Label,
    Text,
    Set,
    Group,
}

impl Kind {
    /// Of what an instruction with a result defines.
    fn of(v: View<'_>) -> Kind {
        match v.op {
            op::OpFunction => Kind::Function,
            op::OpLabel => Kind::Label,
            op::OpString => Kind::Text,
            op::OpExtInstImport => Kind::Set,
            op::OpDecorationGroup => Kind::Group,
            _ if v.ty == 0 => Kind::Type,
            _ => Kind::Value,
        }
    }
}

impl Module {
    /// Operands of a type's declaration, if it is of that opcode.
    fn declared(&self, ty: u32, opcode: u16) -> Option<&[u32]> {
        self.def(ty).ok().filter(|v| v.op == opcode).map(|v| v.args)
    }
}

#[cfg(test)]
mod tests;
