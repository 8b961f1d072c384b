//! Rules for ids in operands: they are defined, before their use if the specification requires it,
//! and have the required kind.

use super::super::module::{ExtSet, Module, View};
use super::super::opcodes::{self, op};
use super::operands::{Part, each_part, is_image};
use super::{DefinitionKind, broken};
use crate::error::Result;
use std::cell::OnceCell;
use std::collections::HashSet;

/// Kind of id that an operand may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Is(DefinitionKind),
    Any,
}
/// A role, and true if the definition may follow the use.
type Operand = (Role, bool);

const VALUE: Operand = (Role::Is(DefinitionKind::Value), false);
const TYPE: Operand = (Role::Is(DefinitionKind::Type), false);
const LABEL: Operand = (Role::Is(DefinitionKind::Label), true);
const TEXT: Operand = (Role::Is(DefinitionKind::Text), false);
const FUNCTION: Operand = (Role::Is(DefinitionKind::Function), true);
const SET: Operand = (Role::Is(DefinitionKind::Set), false);
const GROUP: Operand = (Role::Is(DefinitionKind::Group), false);
const ANY: Operand = (Role::Any, false);
const LATER: Operand = (Role::Any, true);

/// Returns the roles of an instruction's id operands, in order. The last role applies to all
/// operands that follow. The roles of a phi alternate.
const fn roles(number: u16) -> &'static [Operand] {
    match number {
        op::OpName | op::OpMemberName => &[LATER],
        op::OpDecorate | op::OpMemberDecorate | op::OpDecorateId | op::OpMemberDecorateIdEXT => &[LATER],
        op::OpDecorateString | op::OpMemberDecorateString => &[LATER],
        op::OpGroupDecorate | op::OpGroupMemberDecorate => &[GROUP, LATER],
        op::OpSource | op::OpLine => &[TEXT],
        op::OpEntryPoint | op::OpExecutionModeId => &[FUNCTION, LATER],
        op::OpExecutionMode => &[FUNCTION],
        op::OpExtInst => &[SET, VALUE],
        op::OpExtInstWithForwardRefsKHR => &[SET, LATER],
        op::OpTypeArray => &[TYPE, VALUE],
        op::OpTypeForwardPointer => &[(Role::Is(DefinitionKind::Type), true)],
        op::OpTypeVector..=op::OpTypeFunction | op::OpFunction => &[TYPE],
        op::OpFunctionCall => &[FUNCTION, VALUE],
        op::OpCooperativeMatrixPerElementOpNV => &[VALUE, FUNCTION, VALUE],
        op::OpCooperativeMatrixReduceNV => &[VALUE, FUNCTION],
        op::OpPhi => &[(Role::Is(DefinitionKind::Value), true), LABEL],
        op::OpLoopMerge | op::OpSelectionMerge | op::OpBranch => &[LABEL],
        op::OpBranchConditional | op::OpSwitch => &[VALUE, LABEL],
        // In extensions, some operands are types.
        4401.. => &[ANY],
        _ => &[VALUE],
    }
}

/// Table of the [`roles`] of the core opcodes. A load is cheaper than a jump that depends on the
/// opcode.
static ROLES: [&[Operand]; opcodes::CORE] = {
    let mut table: [&[Operand]; opcodes::CORE] = [&[]; opcodes::CORE];
    let mut number = 0;
    while number < table.len() {
        table[number] = roles(number as u16);
        number += 1;
    }
    table
};

/// State of the pass.
struct Walk<'m> {
    m: &'m Module,
    /// Kinds by definition number.
    kinds: Vec<DefinitionKind>,
    /// Pointers that may be named before they are declared, computed on first use.
    forward: OnceCell<HashSet<u32>>,
    /// First instruction of the current function.
    function: u32,
}

pub(super) fn check(m: &Module) -> Result<()> {
    // The definitions of an opcode without a row are unknown, so such a module is not checked.
    if m.has_unknown() {
        return Ok(());
    }
    let kinds = (0..m.def_count()).map(|number| DefinitionKind::of(m.view(m.definition(number)))).collect();
    let mut walk = Walk { m, kinds, forward: OnceCell::new(), function: 0 };
    for inst in 0..m.instructions() {
        let v = m.view(inst);
        if v.op == op::OpFunction {
            walk.function = inst;
        }
        if v.ty != 0 {
            walk.operand(&v, inst, v.ty, TYPE)?;
        }
        let mut roles = ROLES.get(v.op as usize).map_or_else(|| roles(v.op), |&roles| roles);
        if v.op == op::OpExtInst && m.ext_set(v.args[0]) != Some(&ExtSet::Glsl450) {
            roles = &[SET, LATER];
        }
        let mut n = 0;
        each_id(m, &v, &mut |id| {
            let at = if v.op == op::OpPhi { n % 2 } else { n.min(roles.len() - 1) };
            n += 1;
            walk.operand(&v, inst, id, roles[at])
        })?;
    }
    Ok(())
}

impl Walk<'_> {
    fn is_forward(&self, id: u32) -> bool {
        let all = || (0..self.m.instructions()).filter(|&inst| self.m.opcode(inst) == op::OpTypeForwardPointer);
        self.forward.get_or_init(|| all().map(|inst| self.m.view(inst).args[0]).collect()).contains(&id)
    }

    fn operand(&self, v: &View<'_>, inst: u32, id: u32, (role, later): Operand) -> Result<()> {
        let Some(number) = self.m.dense(id) else { return broken(*v, format!("%{id} is not defined")) };
        let at = self.m.definition(number);
        if at >= inst && !later && !self.is_forward(id) {
            return broken(*v, format!("%{id} is used before its definition"));
        }
        let kind = self.kinds[number];
        if at >= self.m.globals.end
            && at < self.function
            && matches!(kind, DefinitionKind::Value | DefinitionKind::Label)
        {
            return broken(*v, format!("%{id} belongs to another function"));
        }
        match role {
            Role::Is(wanted) if wanted != kind => broken(*v, format!("%{id} is no {wanted:?}")),
            _ => Ok(()),
        }
    }
}

/// Calls `f` for every operand after the result type that is an id. The operands of an opcode
/// without a row are unknown, and so are those of an instruction of a set with literals
/// ([`ExtSet::Debug`]). `f` is called for none of these.
pub(in crate::spirv) fn each_id(m: &Module, v: &View<'_>, f: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
    let Some(row) = opcodes::row(v.op) else { return Ok(()) };
    let (row, args) = match v.op {
        op::OpSpecConstantOp => match u16::try_from(v.args[0]).ok().and_then(opcodes::row) {
            Some(inner) => (inner, &v.args[1..]),
            None => return broken(*v, "operation of a constant that is not known"),
        },
        _ => (row, v.args),
    };
    if matches!(v.op, op::OpExtInst | op::OpExtInstWithForwardRefsKHR) && m.ext_set(v.args[0]) == Some(&ExtSet::Debug) {
        return f(v.args[0]);
    }
    if row.rest.is_empty() && args.len() == row.single as usize {
        let mut named = args.iter().enumerate().filter(|(i, _)| row.ids >> i & 1 != 0);
        return named.try_for_each(|(_, &id)| f(id));
    }
    each_part(v, row, args, &mut |part| match part {
        Part::Id(id) => f(id),
        Part::Mask([mask, rest @ ..]) => {
            // The alignment operand is a literal.
            let literal = usize::from(!is_image(v.op) && mask & 2 != 0);
            rest.iter().skip(literal).try_for_each(|&id| f(id))
        }
        Part::Ids(rest) => ids(v, rest, f),
        Part::Literals(rest)
            if matches!(v.op, op::OpExecutionModeId | op::OpDecorateId | op::OpMemberDecorateIdEXT) =>
        {
            ids(v, rest, f)
        }
        Part::Cases(rest) => rest.chunks_exact(selector(m, v) + 1).try_for_each(|case| f(case[case.len() - 1])),
        Part::Literal | Part::Literals(_) | Part::Mask([]) => Ok(()),
    })
}

/// Returns how often an instruction names an id among its operands.
pub(in crate::spirv) fn count_id(m: &Module, v: &View<'_>, id: u32) -> u32 {
    let mut count = 0;
    let each = each_id(m, v, &mut |named| {
        count += u32::from(named == id);
        Ok(())
    });
    // Without known operands, any word may be the id.
    if each.is_ok() { count } else { v.args.len() as u32 }
}

/// Calls `f` for the ids of an open end. OpSource ends with a string.
fn ids(v: &View<'_>, rest: &[u32], f: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
    match v.op {
        // Only the first operand, the stride, is an id; memory operands follow.
        op::OpCooperativeMatrixLoadKHR | op::OpCooperativeMatrixStoreKHR => {
            rest.iter().take(1).try_for_each(|&id| f(id))
        }
        op::OpSource => rest.iter().take(1).try_for_each(|&id| f(id)),
        op::OpGroupMemberDecorate => rest.iter().step_by(2).try_for_each(|&id| f(id)),
        _ => rest.iter().try_for_each(|&id| f(id)),
    }
}

/// Returns the number of words of each of a switch's literals.
fn selector(m: &Module, v: &View<'_>) -> usize {
    let ty = v.args.first().and_then(|&id| m.def(id).ok()).map_or(0, |d| d.ty);
    match m.declared(ty, op::OpTypeInt) {
        Some([64, ..]) => 2,
        _ => 1,
    }
}
