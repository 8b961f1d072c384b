//! Rules for ids in operands: they are defined, before their use if the specification requires it,
//! and have the required kind.

use super::super::grammar::{Operand, OperandKind};
use super::super::module::{ExtSet, Module, View};
use super::super::opcodes::{self, op};
use super::operands::each_operand;
use super::{DefinitionKind, broken};
use crate::error::Result;
use std::cell::OnceCell;
use std::collections::HashSet;

/// Kind of definition that an operand may name, or `None` if it may name any, and whether the
/// definition may follow the use.
struct Target {
    kind: Option<DefinitionKind>,
    later: bool,
}

/// Returns what the id of an operand may name.
fn target(operand: OperandKind) -> Target {
    let (kind, later) = match operand {
        OperandKind::Type => (Some(DefinitionKind::Type), false),
        OperandKind::LaterType => (Some(DefinitionKind::Type), true),
        OperandKind::Label => (Some(DefinitionKind::Label), true),
        OperandKind::Function => (Some(DefinitionKind::Function), true),
        OperandKind::Text => (Some(DefinitionKind::Text), false),
        OperandKind::Set => (Some(DefinitionKind::Set), false),
        OperandKind::Group => (Some(DefinitionKind::Group), false),
        OperandKind::Any => (None, false),
        OperandKind::Later => (None, true),
        OperandKind::LaterValue => (Some(DefinitionKind::Value), true),
        // Other operands are no ids.
        _ => (Some(DefinitionKind::Value), false),
    };
    Target { kind, later }
}

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
            walk.operand(&v, inst, v.ty, OperandKind::Type)?;
        }
        // The instructions of other sets may name anything.
        let other_set = v.op == op::OpExtInst && m.ext_set(v.args[0]) != Some(&ExtSet::Glsl450);
        each_named(m, &v, &mut |kind, id| {
            let kind = if other_set && kind == OperandKind::Value { OperandKind::Later } else { kind };
            walk.operand(&v, inst, id, kind)
        })?;
    }
    Ok(())
}

impl Walk<'_> {
    fn is_forward(&self, id: u32) -> bool {
        let all = || (0..self.m.instructions()).filter(|&inst| self.m.opcode(inst) == op::OpTypeForwardPointer);
        self.forward.get_or_init(|| all().map(|inst| self.m.view(inst).args[0]).collect()).contains(&id)
    }

    fn operand(&self, v: &View<'_>, inst: u32, id: u32, operand: OperandKind) -> Result<()> {
        let target = target(operand);
        let Some(number) = self.m.dense(id) else { return broken(*v, format!("%{id} is not defined")) };
        let at = self.m.definition(number);
        if at >= inst && !target.later && !self.is_forward(id) {
            return broken(*v, format!("%{id} is used before its definition"));
        }
        let kind = self.kinds[number];
        if at >= self.m.globals.end
            && at < self.function
            && matches!(kind, DefinitionKind::Value | DefinitionKind::Label)
        {
            return broken(*v, format!("%{id} belongs to another function"));
        }
        match target.kind {
            Some(wanted) if wanted != kind => broken(*v, format!("%{id} is no {wanted:?}")),
            _ => Ok(()),
        }
    }
}

/// Calls `f` for every operand after the result type that is an id ([`each_named`]).
pub(in crate::spirv) fn each_id(m: &Module, v: &View<'_>, f: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
    each_named(m, v, &mut |_, id| f(id))
}

/// Calls `f` with the kind and the id of every operand after the result type that is an id. The
/// operands of an opcode without a row are unknown, and so are those of an instruction of a set
/// with literals ([`ExtSet::Debug`]). `f` is called for none of these.
fn each_named(m: &Module, v: &View<'_>, f: &mut impl FnMut(OperandKind, u32) -> Result<()>) -> Result<()> {
    let Some(row) = opcodes::row(v.op) else { return Ok(()) };
    let (row, args) = match v.op {
        op::OpSpecConstantOp => match u16::try_from(v.args[0]).ok().and_then(opcodes::row) {
            Some(inner) => (inner, &v.args[1..]),
            None => return broken(*v, "operation of a constant that is not known"),
        },
        _ => (row, v.args),
    };
    if matches!(v.op, op::OpExtInst | op::OpExtInstWithForwardRefsKHR) && m.ext_set(v.args[0]) == Some(&ExtSet::Debug) {
        return f(OperandKind::Set, v.args[0]);
    }
    if row.is_single(args.len()) {
        for (operand, &id) in row.operands.iter().zip(args) {
            if let Operand::One(kind) = *operand
                && kind.is_id()
            {
                f(kind, id)?;
            }
        }
        return Ok(());
    }
    each_operand(v, row, args, &mut |kind, words| match kind {
        OperandKind::Case => {
            let cases = words.chunks_exact(selector(m, v) + 1);
            if !cases.remainder().is_empty() {
                return broken(*v, "has a case without a label");
            }
            cases.into_iter().try_for_each(|case| f(OperandKind::Label, case[case.len() - 1]))
        }
        _ => f(kind, words[0]),
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

/// Returns the number of words of each of a switch's literals.
fn selector(m: &Module, v: &View<'_>) -> usize {
    let ty = v.args.first().and_then(|&id| m.def(id).ok()).map_or(0, |d| d.ty);
    match m.declared(ty, op::OpTypeInt) {
        Some([64, ..]) => 2,
        _ => 1,
    }
}
