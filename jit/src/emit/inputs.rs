//! Inputs of a fragment batch at the positions of its invocations. They lie in rows of the scratch
//! memory, behind the private arrays, which a helper fills before the chunk loop. Rows with the
//! positions of the centroids come before them.

use super::Emitter;
use super::memory::{read_only, trusted};
use super::value_rep::elem;
use crate::error::{Error, Result};
use crate::ir::{InterpolateAt, Op, Ty};
use crate::lir::{AccessReason, Type, Value as C};
use base::abi::{FragmentBatch, Helper, MAX_LANES, interpolated};
use base::shader::Interpolation;
use std::collections::BTreeSet;

/// Number of bytes of a row, which holds two quads.
const ROW: u64 = 4 * MAX_LANES as u64;
/// Number of rows of an input; a batch is padded to whole chunks.
const PAIRS: u64 = FragmentBatch::MAX_QUADS as u64 / 2;

/// Values that the helpers compute.
#[derive(Default)]
pub struct InterpolatedInputs {
    /// Slots in ascending order, which is the order of their rows.
    slots: Vec<u32>,
    /// Address of the rows of the inputs.
    rows: Option<C>,
    /// Address of the rows of the centroids, if an input needs them.
    centroids: Option<C>,
}

impl InterpolatedInputs {
    /// Returns the number of scratch bytes: alignment padding, the centroids' rows, the inputs'
    /// rows, and the list of inputs.
    pub fn bytes(&self) -> u64 {
        let count = self.slots.len() as u64;
        let centroids = if self.centroids.is_some() { 2 * PAIRS * ROW } else { 0 };
        if count == 0 && centroids == 0 { 0 } else { ROW + centroids + count * (PAIRS * ROW + 4) }
    }
}

impl Emitter<'_> {
    /// Emits the calls of the helpers at the function's start, if there are such inputs.
    pub fn start_inputs(&mut self) {
        let mut start = u64::from(self.arrays.bytes).next_multiple_of(ROW);
        let centroid = |op: &Op| matches!(op, Op::LoadInput(_, InterpolateAt::Centroid));
        if self.shader.live_insts().any(|data| centroid(&data.op)) {
            let rows = self.b.iadd_imm(self.function.scratch(), start as i64);
            let quads = self.quads_of_chunk();
            self.call_helper(Helper::Centroids, &[self.function.batch(), quads, rows]);
            self.inputs.centroids = Some(rows);
            start += 2 * PAIRS * ROW;
        }
        self.start_rows(start);
    }

    /// Emits the computation of the inputs' rows, which lie at offset `start` of the scratch
    /// memory.
    fn start_rows(&mut self, start: u64) {
        let shader = self.shader;
        let smooth = |slot: u32| shader.inputs.get(slot as usize).map(|input| input.interpolation);
        let here = |op: &Op| match *op {
            Op::LoadInput(slot, InterpolateAt::Default | InterpolateAt::Sample) => {
                smooth(slot).filter(|&i| i != Interpolation::Flat).map(|_| slot)
            }
            _ => None,
        };
        let slots: BTreeSet<u32> = shader.live_insts().filter_map(|data| here(&data.op)).collect();
        if slots.is_empty() {
            return;
        }
        let rows = self.b.iadd_imm(self.function.scratch(), start as i64);
        let list = self.b.iadd_imm(rows, (slots.len() as u64 * PAIRS * ROW) as i64);
        for (i, &slot) in slots.iter().enumerate() {
            let input = interpolated(slot, smooth(slot) == Some(Interpolation::Smooth));
            let input = self.b.iconst(Type::I32, i64::from(input));
            self.b.store(trusted(AccessReason::Scratch, 4 * i as i32), input, list);
        }
        let count = self.b.iconst(Type::I32, slots.len() as i64);
        let quads = self.quads_of_chunk();
        self.call_helper(Helper::Interpolate, &[self.function.batch(), quads, list, count, rows]);
        self.inputs.slots = slots.into_iter().collect();
        self.inputs.rows = Some(rows);
    }

    fn quads_of_chunk(&mut self) -> C {
        self.b.iconst(Type::I32, i64::from(self.lanes.count() / 4))
    }

    /// Returns an interpolated input for the chunk's lanes.
    pub fn interpolated(&mut self, slot: u32, ty: Ty) -> Result<C> {
        let row = self.inputs.slots.binary_search(&slot);
        let (Ok(row), Some(rows)) = (row, self.inputs.rows) else {
            return Err(Error::internal("an input that nobody interpolates"));
        };
        Ok(self.row_of_pairs(rows, self.inputs.slots.len(), row, ty))
    }

    /// Returns the centroids of the chunk's lanes, relative to the pixels.
    pub fn centroids(&mut self) -> Result<[C; 2]> {
        let rows = self.inputs.centroids.ok_or_else(|| Error::internal("centroids that nobody computes"))?;
        Ok([0, 1].map(|axis| self.row_of_pairs(rows, 2, axis, Ty::F32)))
    }

    /// Returns the chunk's lanes of a row; each pair of quads has `count` rows.
    fn row_of_pairs(&mut self, rows: C, count: usize, row: usize, ty: Ty) -> C {
        // A pair of quads is one chunk of 8 lanes or two chunks of 4; a wider chunk has several
        // pairs.
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let pair_bytes = (count as u64 * ROW) as i64;
        let pairs = (self.lanes.count() as usize / MAX_LANES).max(1);
        let offset = if self.lanes.count() as usize >= MAX_LANES {
            self.b.imul_imm(chunk, pair_bytes * pairs as i64)
        } else {
            let pair = self.b.lshr_imm(chunk, 1);
            let second = self.b.and_imm(chunk, 1);
            let (pair, quad) = (self.b.imul_imm(pair, pair_bytes), self.b.shl_imm(second, 4));
            self.b.iadd(pair, quad)
        };
        let at = self.b.iadd(rows, offset);
        let vector = elem(ty).by(MAX_LANES.min(self.lanes.count() as usize));
        // The rows do not change while chunks run.
        let place = |pair: usize| {
            read_only(AccessReason::Scratch, (row as u64 * ROW) as i32 + (pair as i64 * pair_bytes) as i32)
        };
        let parts: Vec<C> = (0..pairs).map(|pair| self.b.load(vector, place(pair), at)).collect();
        self.concat(&parts)
    }
}
