//! Checks of the number of operands of an instruction, and of its literals.

use super::super::module::{Module, View, string_words};
use super::super::opcodes::{self, Row, op};
use super::broken;
use crate::error::Result;

/// Bits of a mask that add operands, as (bits, words for each). Bits in no row are unknown.
type Mask = &'static [(u32, u32)];

/// Memory operands (3.26).
const MEMORY: Mask = &[(0x5, 0), (0x2, 1), (0x18, 1), (0x20, 0), (0x3_0000, 1)];
/// Image operands (3.14).
const IMAGE: Mask = &[(0x1, 1), (0x2, 1), (0x4, 2), (0xf8, 1), (0x300, 1), (0x7c00, 0), (0x1_0000, 1)];
/// Loop control (3.23).
const LOOP: Mask = &[(0x7, 0), (0x1f8, 1), (0x1ff_0000, 1)];

/// Returns the number of words of a mask's operands, or `None` if it has unknown bits.
fn words_of(mask: u32, rows: Mask) -> Option<usize> {
    let known = rows.iter().fold(0, |all, r| all | r.0);
    (mask & !known == 0).then(|| rows.iter().map(|r| ((mask & r.0).count_ones() * r.1) as usize).sum())
}

/// Returns the largest number of words of an opcode's open end.
fn most(number: u16) -> usize {
    match number {
        op::OpConstant | op::OpSpecConstant | op::OpBranchConditional => 2,
        op::OpTypeFloat | op::OpTypeImage | op::OpVariable | op::OpGroupNonUniformRotateKHR => 1,
        op::OpSDot..=op::OpSUDotAccSat | op::OpGroupNonUniformIAdd..=op::OpGroupNonUniformLogicalXor => 1,
        _ => usize::MAX,
    }
}

/// A literal: its position behind result type and result, its largest value, and other allowed
/// values.
type Literal = (usize, u32, &'static [u32]);

fn literals(number: u16) -> &'static [Literal] {
    match number {
        op::OpMemoryModel => &[(0, 2, &[5348]), (1, 3, &[])],
        op::OpTypeInt => &[(1, 1, &[])],
        op::OpTypeImage => &[(1, 6, &[4173]), (2, 2, &[]), (3, 1, &[]), (4, 1, &[]), (5, 2, &[])],
        op::OpSelectionMerge => &[(1, 3, &[])],
        op::OpTypePointer | op::OpVariable => &[(0, 12, CLASSES)],
        op::OpTypeForwardPointer => &[(1, 12, CLASSES)],
        _ => &[],
    }
}

/// Storage classes of extensions.
const CLASSES: &[u32] = &[4172, 5068, 5328, 5329, 5338, 5339, 5342, 5343, 5349, 5385, 5402];

pub(super) fn check(m: &Module) -> Result<()> {
    for inst in 0..m.instructions() {
        let v = m.view(inst);
        if let Some(row) = opcodes::row(v.op) {
            count(&v, row)?;
        }
        for &(at, most, others) in literals(v.op) {
            let value = v.arg(at)?;
            if value > most && !others.contains(&value) {
                return broken(v, format!("operand {at} is {value}"));
            }
        }
    }
    Ok(())
}

/// Checks the number of words and the open end.
fn count(v: &View<'_>, row: &Row) -> Result<()> {
    if row.rest.is_empty() && v.args.len() == row.single as usize {
        return Ok(());
    }
    each_part(v, row, v.args, &mut |part| match part {
        Part::Ids(rest) | Part::Literals(rest) | Part::Cases(rest) => open(v, rest),
        Part::Id(_) | Part::Literal | Part::Mask(_) => Ok(()),
    })
}

/// A part of an instruction's operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'m> {
    Id(u32),
    /// A word or a string.
    Literal,
    /// A mask with the operands that it adds.
    Mask(&'m [u32]),
    /// An open end of ids.
    Ids(&'m [u32]),
    Literals(&'m [u32]),
    /// The cases of a switch: literals, each with a label.
    Cases(&'m [u32]),
}

/// Calls `f` with every part of `args`, which must have the shape of the row.
///
/// # Errors
/// Returns an Invalid error if they do not.
pub(super) fn each_part<'m>(
    v: &View<'_>,
    row: &Row,
    args: &'m [u32],
    f: &mut impl FnMut(Part<'m>) -> Result<()>,
) -> Result<()> {
    let (single, mut rest) = args.split_at(args.len().min(row.single as usize));
    for (i, &word) in single.iter().enumerate() {
        f(if row.ids >> i & 1 != 0 { Part::Id(word) } else { Part::Literal })?;
    }
    if single.len() < row.single as usize {
        return broken(*v, "has too few operands");
    }
    for &c in row.rest {
        let words = match c {
            b's' => match string_words(rest) {
                Some(words) => words,
                None => return broken(*v, "has a string without an end"),
            },
            b'm' => match rest.first() {
                None => continue,
                Some(&mask) => match behind(v.op, mask) {
                    Some(words) => 1 + words,
                    None => return broken(*v, format!("mask {mask:#x}")),
                },
            },
            b'I' | b'N' | b'W' => rest.len(),
            _ => 1,
        };
        let Some((part, left)) = rest.split_at_checked(words) else { return broken(*v, "has too few operands") };
        rest = left;
        f(match c {
            b'i' => Part::Id(part[0]),
            b'm' => Part::Mask(part),
            b'I' => Part::Ids(part),
            b'N' => Part::Literals(part),
            b'W' => Part::Cases(part),
            _ => Part::Literal,
        })?;
    }
    if rest.is_empty() { Ok(()) } else { broken(*v, "has too many operands") }
}

/// Returns the number of words of the operands that an optional mask of memory or image operands
/// adds, or `None` if it has unknown bits.
pub(super) fn behind(number: u16, mask: u32) -> Option<usize> {
    words_of(mask, if is_image(number) { IMAGE } else { MEMORY })
}

/// Returns true for image instructions, whose masks are of image operands.
pub(super) fn is_image(number: u16) -> bool {
    matches!(number, op::OpImageSampleImplicitLod..=op::OpImageWrite | op::OpImageSparseSampleImplicitLod..=op::OpImageSparseRead)
}

/// Checks the open end of an instruction.
fn open(v: &View<'_>, rest: &[u32]) -> Result<()> {
    let of_mask = |at: usize, rows: Mask| match v.args.get(at).and_then(|&mask| words_of(mask, rows)) {
        Some(words) if words == rest.len() => Ok(()),
        _ => broken(*v, "operands do not fit the mask"),
    };
    match v.op {
        op::OpLoopMerge => of_mask(2, LOOP),
        op::OpImageSampleExplicitLod
        | op::OpImageSampleProjExplicitLod
        | op::OpImageSparseSampleExplicitLod
        | op::OpImageSparseSampleProjExplicitLod => of_mask(2, IMAGE),
        op::OpImageSampleDrefExplicitLod
        | op::OpImageSampleProjDrefExplicitLod
        | op::OpImageSparseSampleDrefExplicitLod
        | op::OpImageSparseSampleProjDrefExplicitLod => of_mask(3, IMAGE),
        op::OpPhi if !rest.len().is_multiple_of(2) => broken(*v, "has a value without a block"),
        op::OpBranchConditional if rest.len() == 1 => broken(*v, "has one weight"),
        _ if rest.len() > most(v.op) => broken(*v, "has too many operands"),
        _ => Ok(()),
    }
}
