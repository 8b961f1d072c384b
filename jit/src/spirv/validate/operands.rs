//! Checks of the number of operands of an instruction, and of its literals.

use super::super::generated::operands::{bits, values};
use super::super::grammar::{Operand, OperandKind, Row};
use super::super::module::{Module, View, string_words};
use super::super::opcodes::{self, op};
use super::broken;
use crate::error::Result;

/// A literal that is a number: its position behind result type and result, and its largest value.
type Literal = (usize, u32);

fn literals(number: u16) -> &'static [Literal] {
    match number {
        op::OpTypeInt => &[(1, 1)],
        op::OpTypeImage => &[(2, 2), (3, 1), (4, 1), (5, 2)],
        _ => &[],
    }
}

pub(super) fn check(m: &Module) -> Result<()> {
    for inst in 0..m.instructions() {
        let v = m.view(inst);
        if let Some(row) = opcodes::row(v.op)
            && !row.is_single(v.args.len())
        {
            each_operand(&v, row, v.args, &mut |_, _| Ok(()))?;
        }
        for &(at, most) in literals(v.op) {
            let value = v.arg(at)?;
            if value > most {
                return broken(v, format!("operand {at} is {value}"));
            }
        }
        // There are no branch weights or two.
        if v.op == op::OpBranchConditional && !matches!(v.args.len(), 3 | 5) {
            return broken(v, "has another number of weights than two");
        }
    }
    Ok(())
}

/// Calls `f` with the kind and the word of every id in `args`, and with [`OperandKind::Case`]
/// and all words of the cases of a switch.
///
/// # Errors
/// Returns an Invalid error if `args` are not the operands that the row describes.
pub(super) fn each_operand<'m>(
    v: &View<'_>,
    row: &Row,
    args: &'m [u32],
    f: &mut impl FnMut(OperandKind, &'m [u32]) -> Result<()>,
) -> Result<()> {
    let (single, mut rest) = args.split_at(args.len().min(row.single as usize));
    if single.len() < row.single as usize {
        return broken(*v, "has too few operands");
    }
    for (i, word) in single.iter().enumerate().filter(|(i, _)| row.ids >> i & 1 != 0) {
        let Operand::One(kind) = row.operands[i] else { unreachable!("leading operands occur once") };
        f(kind, std::slice::from_ref(word))?;
    }
    for operand in &row.operands[row.single as usize..] {
        rest = match *operand {
            Operand::One(kind) => one(v, kind, rest, f)?,
            Operand::Optional(_) if rest.is_empty() => rest,
            Operand::Optional(kind) => one(v, kind, rest, f)?,
            Operand::Many(kind) => {
                while !rest.is_empty() {
                    rest = one(v, kind, rest, f)?;
                }
                rest
            }
        };
    }
    if rest.is_empty() { Ok(()) } else { broken(*v, "has too many operands") }
}

/// Takes the words of one operand off `args`, and returns the rest.
fn one<'m>(
    v: &View<'_>,
    kind: OperandKind,
    args: &'m [u32],
    f: &mut impl FnMut(OperandKind, &'m [u32]) -> Result<()>,
) -> Result<&'m [u32]> {
    if kind.is_id() {
        let Some((id, rest)) = args.split_at_checked(1) else { return broken(*v, "has too few operands") };
        f(kind, id)?;
        return Ok(rest);
    }
    let words = match kind {
        OperandKind::Str => match string_words(args) {
            Some(words) => words,
            None => return broken(*v, "has a string without an end"),
        },
        OperandKind::Number => args.len().clamp(1, 2),
        OperandKind::Case => args.len(),
        OperandKind::Incoming | OperandKind::MemberTarget => 2,
        _ => 1,
    };
    let Some((words, rest)) = args.split_at_checked(words) else { return broken(*v, "has too few operands") };
    if kind == OperandKind::Case {
        f(kind, words)?;
    } else if kind == OperandKind::Incoming {
        f(OperandKind::LaterValue, &words[..1])?;
        f(OperandKind::Label, &words[1..])?;
    } else if kind == OperandKind::MemberTarget {
        f(OperandKind::Later, &words[..1])?;
    } else if let Some(values) = values(kind) {
        if values.binary_search(&words[0]).is_err() {
            return broken(*v, format!("{kind:?} {}", words[0]));
        }
    } else if bits(kind).is_some() {
        return mask(v, kind, words[0], rest, f);
    }
    Ok(rest)
}

/// Takes the operands that the bits of a mask add off `args`, and returns the rest.
fn mask<'m>(
    v: &View<'_>,
    kind: OperandKind,
    mask: u32,
    mut args: &'m [u32],
    f: &mut impl FnMut(OperandKind, &'m [u32]) -> Result<()>,
) -> Result<&'m [u32]> {
    let mut unknown = mask;
    for bit in bits(kind).unwrap_or_default().iter().filter(|bit| mask & bit.mask != 0) {
        unknown &= !bit.mask;
        for &operand in bit.operands {
            args = one(v, operand, args, f)?;
        }
    }
    if unknown == 0 { Ok(args) } else { broken(*v, format!("mask {mask:#x}")) }
}
