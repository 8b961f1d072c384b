//! Loads of a view's texels without a kernel, before which every coordinate is compared with the
//! view's extents.

use super::conditions::ProofScope;
use super::definitions::{Condition, LaneValue, LinearSum};
use super::prover::{Offset, Prover};
use crate::lir::{AccessReason, IntCond, Op, Value};
use base::abi::{ImageView, TexelKind, TexelRows};
use core::mem::offset_of;

/// Number of texels that are readable from each column below [`TexelRows::eights`].
const EIGHT: i64 = 8;

/// The rows of the view from which texels are loaded.
struct TexelRowsProof<'p, 'a> {
    prover: &'p Prover<'a>,
    /// Terms of the view's address.
    view: LinearSum,
    atoms: Vec<Condition>,
}

impl Prover<'_> {
    /// Checks that bytes at an offset from a view's first texel are texels of the view.
    pub fn is_in_view(&self, base: LaneValue, offset: &Offset, bytes: i64, scope: &ProofScope) -> Result<(), String> {
        let (mut view, _) = self.loaded_from(base).ok_or("no view")?;
        view.plus -= (offset_of!(ImageView, rows) + offset_of!(TexelRows, base)) as i64;
        let rows = TexelRowsProof { prover: self, view, atoms: self.flow.conditions(scope).to_vec() };
        rows.inside(offset, bytes)
    }
}

impl TexelRowsProof<'_, '_> {
    /// Returns true if a value is a field of the rows.
    fn is_field(&self, at: LaneValue, field: usize) -> bool {
        let at = match self.prover.shape().operands_of(at, Op::Zext).as_deref() {
            Some(&[inner]) => inner,
            _ => at,
        };
        let Some((from, AccessReason::Field)) = self.prover.loaded_from(at) else { return false };
        from.list == self.view.list && from.plus == self.view.plus + (offset_of!(ImageView, rows) + field) as i64
    }

    /// Returns the base-2 logarithm of the size of a texel in bytes, for the kind that the code
    /// compares.
    fn texel_shift(&self) -> Option<u32> {
        let shape = self.prover.shape();
        self.atoms.iter().find_map(|&atom| {
            let (cond, a, b) = shape.compared(atom)?;
            if cond != IntCond::Eq || !self.is_field(a, offset_of!(TexelRows, kind)) {
                return None;
            }
            match shape.constant(b)? {
                kind if kind == TexelKind::Words as u64 => Some(4),
                kind if [TexelKind::Unorm8, TexelKind::Float, TexelKind::Word].iter().any(|&k| k as u64 == kind) => {
                    Some(2)
                }
                _ => None,
            }
        })
    }

    /// Returns true if a coordinate is compared to be below a field.
    fn is_below(&self, at: LaneValue, field: usize) -> bool {
        let compared = self.atoms.iter().flat_map(|&atom| self.prover.shape().below(atom));
        compared.into_iter().any(|below| below.strict && below.a == at && self.is_field(below.b, field))
    }

    /// Returns the greatest constant that is compared to be below a field.
    fn constant_below(&self, field: usize) -> Option<u64> {
        let compared = self.atoms.iter().flat_map(|&atom| self.prover.shape().below(atom));
        let constants = compared.filter(|below| below.strict && self.is_field(below.b, field));
        constants.filter_map(|below| self.prover.shape().constant(below.a)).max()
    }

    fn inside(&self, offset: &Offset, bytes: i64) -> Result<(), String> {
        let shift = self.texel_shift().ok_or("no comparison of the kind")?;
        let mut column = None;
        let mut square = None;
        for &(at, times) in &offset.terms.list {
            if self.is_field(at, offset_of!(TexelRows, slice_pitch)) {
                let known = self.constant_below(offset_of!(TexelRows, slices)).is_some_and(|most| times <= most);
                (times <= 1 && self.constant_below(offset_of!(TexelRows, slices)).is_some() || known)
                    .then_some(())
                    .ok_or("a slice without comparison")?;
            } else if self.is_field(at, offset_of!(TexelRows, row_pitch)) {
                let known = self.constant_below(offset_of!(TexelRows, height)).is_some_and(|most| times <= most);
                // A row pitch without comparison is the second row of a square.
                (known || times == 1).then_some(()).ok_or("a row without comparison")?;
                if !known {
                    square = Some(true);
                }
            } else if let Some((coordinate, pitch, extent)) = self.scaled(at).filter(|_| times == 1) {
                let right = self.is_below(coordinate, extent) && self.is_field(pitch, pitch_of(extent));
                right.then_some(()).ok_or("a row or slice without comparison")?;
            } else if times == 1 << shift && self.is_below(at, offset_of!(TexelRows, eights)) {
                column = Some(EIGHT);
            } else if times == 1 && self.is_square(at, shift) {
                column = Some(2);
            } else {
                return Err(format!("{at:?} is no coordinate"));
            }
        }
        let texels = match column {
            Some(texels) => texels,
            None => {
                let first = self.constant_below(offset_of!(TexelRows, eights)).ok_or("no column")?;
                EIGHT + i64::try_from(first).map_err(|_| "a great column")?
            }
        };
        if square.is_some() && column != Some(2) {
            return Err("a row without comparison".into());
        }
        let right = offset.lo >= 0 && offset.hi + bytes <= texels << shift;
        right.then_some(()).ok_or_else(|| "behind the texels that were compared".into())
    }

    /// Returns coordinate, pitch and extent of a product of a coordinate and a pitch. The
    /// coordinate must be below the extent.
    fn scaled(&self, at: LaneValue) -> Option<(LaneValue, LaneValue, usize)> {
        let shape = self.prover.shape();
        let parts = shape.operands_of(at, Op::Imul)?;
        let narrow = |at: LaneValue| match shape.operands_of(at, Op::Zext).as_deref() {
            Some(&[inner]) => inner,
            _ => at,
        };
        [(0, 1), (1, 0)].into_iter().find_map(|(i, j)| {
            let (coordinate, pitch) = (narrow(parts[i]), parts[j]);
            let extents = [offset_of!(TexelRows, height), offset_of!(TexelRows, slices)];
            let extent = extents.into_iter().find(|&extent| self.is_field(pitch, pitch_of(extent)))?;
            Some((coordinate, pitch, extent))
        })
    }

    /// Returns true if a word is the offset of the first texel of a 2×2 square, all lanes of which
    /// are compared at once.
    fn is_square(&self, at: LaneValue, shift: u32) -> bool {
        let shape = self.prover.shape();
        let whole = (at.0, None);
        let Some(parts) = shape.operands_of(whole, Op::Iadd) else { return false };
        let column = |at: LaneValue| {
            let parts = shape.operands_of(at, Op::Shl)?;
            (shape.constant(parts[1]) == Some(shift.into())).then_some(parts[0])
        };
        let row = |at: LaneValue| {
            let parts = shape.operands_of(at, Op::Imul)?;
            self.is_field(parts[1], offset_of!(TexelRows, row_pitch)).then_some(parts[0])
        };
        [(0, 1), (1, 0)].into_iter().any(|(i, j)| {
            let (x, y) = (column(parts[i]), row(parts[j]));
            let no_rows = y.is_none() && shape.constant(parts[j]) == Some(0);
            let Some(x) = x else { return false };
            let below = |at: LaneValue, field| self.all_lanes_inside(at.0, field);
            at.1.is_some_and(|lane| lane % 4 == 0)
                && below(x, offset_of!(TexelRows, width))
                && (no_rows || y.is_some_and(|y| below(y, offset_of!(TexelRows, height))))
        })
    }

    /// Returns true if all lanes of a coordinate are at least 0 and below a field, and the lanes of
    /// a square follow from the first one.
    fn all_lanes_inside(&self, c: Value, field: usize) -> bool {
        let shape = self.prover.shape();
        self.atoms.iter().filter(|atom| atom.truth).any(|atom| {
            let Some(all) = shape.operands_of(atom.at, Op::All) else { return false };
            let Some((IntCond::Eq, wrong, zero)) = shape.compared(Condition { at: all[0], truth: true }) else {
                return false;
            };
            let mut parts = Vec::new();
            self.parts(wrong, &mut parts);
            let outside = |&at: &LaneValue| {
                let Some(signs) = shape.operands_of(at, Op::Ashr).filter(|p| shape.constant(p[1]) == Some(31)) else {
                    return false;
                };
                let mut both = Vec::new();
                self.parts(signs[0], &mut both);
                let rest = |at: LaneValue| {
                    let Some(parts) = shape.operands_of(at, Op::Isub) else { return false };
                    let Some(last) = shape.operands_of(parts[0], Op::Iadd) else { return false };
                    parts[1].0 == c && self.is_field(last[0], field) && shape.constant(last[1]) == Some(0xffff_ffff)
                };
                both.iter().any(|at| at.0 == c) && both.iter().any(|&at| rest(at))
            };
            let differs =
                |&at: &LaneValue| shape.operands_of(at, Op::Xor).is_some_and(|parts| parts.iter().any(|p| p.0 == c));
            shape.constant(zero) == Some(0) && parts.iter().any(outside) && parts.iter().any(differs)
        })
    }

    /// Collects the operands of a disjunction of words.
    fn parts(&self, at: LaneValue, out: &mut Vec<LaneValue>) {
        match self.prover.shape().operands_of(at, Op::Or) {
            Some(parts) => parts.into_iter().for_each(|part| self.parts(part, out)),
            None => out.push(at),
        }
    }
}

/// Returns the field with the pitch that multiplies a coordinate below an extent.
fn pitch_of(extent: usize) -> usize {
    if extent == offset_of!(TexelRows, height) {
        offset_of!(TexelRows, row_pitch)
    } else {
        offset_of!(TexelRows, slice_pitch)
    }
}
