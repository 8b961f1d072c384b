//! Universal rules of a module (SPIR-V 2.4 and 2.16.1), checked once, before it is translated. Each
//! file has one pass, which walks over the instructions with the help of tables.
//!
//! A module that breaks these rules is not SPIR-V and is refused. Further rules of the *Vulkan
//! environment* are not checked here if their violation still has a meaning: a capability that is
//! not declared, a type that is declared twice, offsets that overlap. Applications in the field
//! break them, and such code stays inside its memory. A construct without a meaning is refused when
//! it is translated. `jit/tests/spirv_val.rs` compares verdicts with those of SPIRV-Tools over
//! mutated modules and lists the differences.
//!
//! Opcodes without a row (`opcodes`) may occur anywhere and have no meaning here. Such an opcode is
//! refused where it is reached.

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

/// Passes in an order in which each relies only on earlier ones.
const PASSES: [fn(&Module) -> Result<()>; 7] =
    [operands::check, layout::check, ids::check, decorations::check, functions::check, memory::check, dominance::check];

/// Checks the whole module, reachable or not.
///
/// # Errors
/// Returns an Invalid error at the first instruction that breaks a rule.
pub(super) fn check(m: &Module) -> Result<()> {
    PASSES.iter().try_for_each(|pass| pass(m))
}

/// Returns the error of a rule that an instruction breaks.
fn broken<T>(v: View<'_>, rule: impl Into<String>) -> Result<T> {
    Err(Error::invalid(rule).at(v.opcode(), v.result))
}

/// Kind of an id's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DefinitionKind {
    Type,
    /// A constant, variable, parameter or result, which has a type.
    Value,
    Function,
    Label,
    Text,
    Set,
    Group,
}

impl DefinitionKind {
    /// Returns the kind of an instruction with a result.
    fn of(v: View<'_>) -> DefinitionKind {
        match v.op {
            op::OpFunction => DefinitionKind::Function,
            op::OpLabel => DefinitionKind::Label,
            op::OpString => DefinitionKind::Text,
            op::OpExtInstImport => DefinitionKind::Set,
            op::OpDecorationGroup => DefinitionKind::Group,
            _ if v.ty == 0 => DefinitionKind::Type,
            _ => DefinitionKind::Value,
        }
    }
}

impl Module {
    /// Returns the operands of a type's declaration, if it has that opcode.
    fn declared(&self, ty: u32, opcode: u16) -> Option<&[u32]> {
        self.def(ty).ok().filter(|v| v.op == opcode).map(|v| v.args)
    }
}

#[cfg(test)]
mod tests;
