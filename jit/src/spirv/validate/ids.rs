//! What operands name: ids that are defined, before their use where the specification asks for it, and of the kind that is wanted.

use super::super::module::{ExtSet, Module, View, literal_string};
use super::super::opcodes::{self, op};
use super::operands::{behind, is_image};
use super::{Kind, broken};
use crate::error::Result;
use std::collections::HashSet;

/// What an operand may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Is(Kind),
    Any,
}
/// A role, and whether the definition may follow.
type Operand = (Role, bool);

const VALUE: Operand = (Role::Is(Kind::Value), false);
const TYPE: Operand = (Role::Is(Kind::Type), false);
const LABEL: Operand = (Role::Is(Kind::Label), true);
const TEXT: Operand = (Role::Is(Kind::Text), false);
const FUNCTION: Operand = (Role::Is(Kind::Function), true);
const SET: Operand = (Role::Is(Kind::Set), false);
const GROUP: Operand = (Role::Is(Kind::Group), false);
const ANY: Operand = (Role::Any, false);
const LATER: Operand = (Role::Any, true);

/// Roles of the operands that are ids, in their order; the last one goes for all that follow. Opcodes without a row take values.
static ROLES: &[(u16, &[Operand])] = &[
    (op::OpName, &[LATER]),
    (op::OpMemberName, &[LATER]),
    (op::OpSource, &[TEXT]),
    (op::OpLine, &[TEXT]),
    (op::OpEntryPoint, &[FUNCTION, LATER]),
    (op::OpExecutionMode, &[FUNCTION]),
    (op::OpExecutionModeId, &[FUNCTION, LATER]),
    (op::OpDecorate, &[LATER]),
    (op::OpMemberDecorate, &[LATER]),
    (op::OpDecorateId, &[LATER]),
    (op::OpDecorateString, &[LATER]),
    (op::OpMemberDecorateString, &[LATER]),
    (op::OpGroupDecorate, &[GROUP, LATER]),
    (op::OpGroupMemberDecorate, &[GROUP, LATER]),
    (op::OpExtInst, &[SET, VALUE]),
    (op::OpExtInstWithForwardRefsKHR, &[SET, LATER]),
    (op::OpTypeVector, &[TYPE]),
    (op::OpTypeMatrix, &[TYPE]),
    (op::OpTypeImage, &[TYPE]),
    (op::OpTypeSampledImage, &[TYPE]),
    (op::OpTypeArray, &[TYPE, VALUE]),
    (op::OpTypeRuntimeArray, &[TYPE]),
    (op::OpTypeStruct, &[TYPE]),
    (op::OpTypePointer, &[TYPE]),
    (op::OpTypeFunction, &[TYPE]),
    (op::OpTypeForwardPointer, &[(Role::Is(Kind::Type), true)]),
    (op::OpFunction, &[TYPE]),
    (op::OpFunctionCall, &[FUNCTION, VALUE]),
    (op::OpPhi, &[(Role::Is(Kind::Value), true), LABEL]),
    (op::OpLoopMerge, &[LABEL]),
    (op::OpSelectionMerge, &[LABEL]),
    (op::OpBranch, &[LABEL]),
    (op::OpBranchConditional, &[VALUE, LABEL]),
    (op::OpSwitch, &[VALUE, LABEL]),
];

fn role(v: View<'_>, n: usize) -> Operand {
    match ROLES.iter().find(|r| r.0 == v.op) {
        Some((op::OpPhi, roles)) => roles[n % 2],
        Some((_, roles)) => roles[n.min(roles.len() - 1)],
        // Extensions: some operands are types.
        None if v.op > 4400 => ANY,
        None => VALUE,
    }
}

/// State of the walk.
struct Walk<'m> {
    m: &'m Module,
    /// Pointers that may be named before they are declared.
    forward: HashSet<u32>,
}

pub(super) fn check(m: &Module) -> Result<()> {
    let all = 0..m.instructions();
    // What an opcode without a row defines is not known.
    if all.clone().any(|i| opcodes::row(m.view(i).op).is_none()) {
        return Ok(());
    }
    let declared = all.clone().map(|i| m.view(i)).filter(|v| v.op == op::OpTypeForwardPointer);
    let walk = Walk { m, forward: declared.filter_map(|v| v.args.first().copied()).collect() };
    for inst in all {
        let v = m.view(inst);
        if v.ty != 0 {
            walk.operand(v, inst, v.ty, TYPE)?;
        }
        let mut n = 0;
        each_id(m, v, &mut |id| {
            let wanted = match v.op {
                op::OpExtInst if n > 0 && m.ext_sets.get(&v.args[0]) != Some(&ExtSet::Glsl450) => LATER,
                _ => role(v, n),
            };
            n += 1;
            walk.operand(v, inst, id, wanted)
        })?;
    }
    Ok(())
}

impl Walk<'_> {
    fn operand(&self, v: View<'_>, inst: u32, id: u32, (role, later): Operand) -> Result<()> {
        let Some(at) = self.m.def_inst(id) else { return broken(v, format!("%{id} is not defined")) };
        if at >= inst && !later && !self.forward.contains(&id) {
            return broken(v, format!("%{id} is used before its definition"));
        }
        let kind = Kind::of(self.m.view(at));
        match role {
            Role::Is(wanted) if wanted != kind => broken(v, format!("%{id} is no {wanted:?}")),
            _ => Ok(()),
        }
    }
}

/// Calls `f` for every operand that is an id, behind the result type.
pub(super) fn each_id(m: &Module, v: View<'_>, f: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
    let Some(row) = opcodes::row(v.op) else { return Ok(()) };
    let fixed = usize::from(row.has_type()) + usize::from(row.has_result());
    if v.op == op::OpSpecConstantOp {
        let inner = v.args.first().and_then(|&n| u16::try_from(n).ok()).and_then(opcodes::row);
        let Some(inner) = inner else { return broken(v, "operation of a constant that is not known") };
        let skip = inner.shape.iter().take_while(|c| matches!(c, b't' | b'r')).count();
        return along(m, v, &inner.shape[skip..], 1, f);
    }
    along(m, v, &row.shape[fixed..], 0, f)
}

fn along(m: &Module, v: View<'_>, shape: &[u8], mut at: usize, f: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
    for &c in shape {
        let rest = v.args.get(at..).unwrap_or_default();
        match c {
            b'i' => f(v.arg(at)?)?,
            b's' => at += literal_string(rest).map_or(rest.len(), |s| s.1).saturating_sub(1),
            b'm' => {
                let Some(&mask) = rest.first() else { continue };
                let more = behind(v.op, mask).unwrap_or(0);
                // The alignment is a literal.
                let literal = usize::from(!is_image(v.op) && mask & 2 != 0);
                rest.iter().skip(1 + literal).take(more - literal).try_for_each(|&id| f(id))?;
                at += more;
            }
            b'I' => return ids(v, rest, f),
            b'N' if matches!(v.op, op::OpExecutionModeId | op::OpDecorateId) => return ids(v, rest, f),
            b'N' => return Ok(()),
            b'W' => return rest.chunks_exact(selector(m, v) + 1).try_for_each(|case| f(case[case.len() - 1])),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The open end of ids; OpSource ends with a string.
fn ids(v: View<'_>, rest: &[u32], f: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
    match v.op {
        // A stride, and memory operands.
        op::OpCooperativeMatrixLoadKHR | op::OpCooperativeMatrixStoreKHR => {
            rest.iter().take(1).try_for_each(|&id| f(id))
        }
        op::OpSource => rest.iter().take(1).try_for_each(|&id| f(id)),
        op::OpGroupMemberDecorate => rest.iter().step_by(2).try_for_each(|&id| f(id)),
        _ => rest.iter().try_for_each(|&id| f(id)),
    }
}

/// Words of a switch's literals.
fn selector(m: &Module, v: View<'_>) -> usize {
    let ty = v.args.first().and_then(|&id| m.def(id).ok()).map_or(0, |d| d.ty);
    match m.declared(ty, op::OpTypeInt) {
        Some([64, ..]) => 2,
        _ => 1,
    }
}
