//! Accesses of lanes that lie side by side: whole vectors behind one bounds check.
//!
//! A loop over the lanes handles a chunk at a buffer's end or under a mask. This path is cold; it
//! is a loop because unrolled it would be most of the code.

use super::Emitter;
use super::element_run::ElementRun;
use super::memory::{access_at_offset, trusted};
use super::value_rep::{BufferRange, scalar_type};
use crate::error::Result;
use crate::ir::Value;
use crate::lir::{Access, AccessReason, Block, IntCond, Type, Value as C};
use smallvec::SmallVec;

/// Number of rows of a spilled access: components, a mask and offsets.
const ROWS: usize = MAX_COMPONENTS as usize + 2;
/// Upper bound of the components that one access has.
pub const MAX_COMPONENTS: u32 = 8;
/// Offsets of the lanes of a store.
pub enum Offsets {
    /// Lanes lie side by side from this offset on.
    Contiguous(C),
    /// Each lane has its own offset.
    PerLane(C),
}

/// A loop over the lanes.
pub struct LaneLoop {
    header: Block,
    /// Index of the lane, I64.
    lane: C,
}

/// A loop over the lanes of a mask.
pub struct ActiveLanes {
    /// The loop, with its header and its current lane.
    pub lanes: LaneLoop,
    /// Bits of the remaining lanes, I64.
    left: C,
    /// Block behind the loop.
    done: Block,
}

impl Emitter<'_> {
    /// Loads a run per lane: lane l reads at `base + l * bytes of the run`, in whole vectors if all
    /// of it is in range. The base is given as I32 and as I64, which may differ if lane 0 is out of
    /// range.
    pub fn load_contiguous(
        &mut self,
        pair: BufferRange,
        (base, offset64): (C, C),
        run: ElementRun,
        flags: Access,
    ) -> Result<Vec<C>> {
        let ok = self.in_range_i64(pair, offset64, self.lanes.count() * run.bytes());
        self.load_checked(
            (ok, pair, offset64),
            run,
            false,
            |e, address| e.load_interleaved(address, run, Access { guarded: true, ..flags }),
            |e| Ok(e.load_by_lane(pair, base, run, flags)),
        )
    }

    /// Loads from an address if `ok`; otherwise a cold block gives the values. If `extra` is set,
    /// code that is compiled quickly consists of the cold path alone.
    pub fn load_checked(
        &mut self,
        (ok, pair, offset64): (C, BufferRange, C),
        run: ElementRun,
        extra: bool,
        whole: impl FnOnce(&mut Self, C) -> Vec<C>,
        by_lane: impl FnOnce(&mut Self) -> Result<Vec<C>>,
    ) -> Result<Vec<C>> {
        let vector = self.vector_type(run.ty);
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        if extra {
            self.b.set_fast_path_block(fast);
        }
        let params: Vec<C> = (0..run.n).map(|_| self.b.append_param(done, vector)).collect();
        self.b.branch(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.iadd(pair.address, offset64);
        let values = whole(self, address);
        self.b.jump(done, &values);
        self.enter(slow);
        let values = by_lane(self)?;
        self.b.jump(done, &values);
        self.enter(done);
        Ok(params)
    }

    /// Loads the components of all lanes, which lie side by side; `n` is 1, 2 or 4.
    pub fn load_interleaved(&mut self, address: C, run: ElementRun, flags: Access) -> Vec<C> {
        let vector = self.vector_type(run.ty);
        // Each load takes two components of all lanes, if there is a vector that large.
        let lanes = vector.lanes() * run.n.min(2);
        let raw = vector.elem.by(lanes.min(Type::MAX_LANES_PER_VECTOR));
        let count = vector.lanes() * run.n / raw.lanes();
        let offset = |i: usize| (i as u32 * raw.bytes()) as i32;
        let raws: Vec<C> = (0..count).map(|i| self.b.load(raw, access_at_offset(flags, offset(i)), address)).collect();
        self.components(&raws, run.n)
    }

    /// Returns the components of elements that have `n` components each and lie side by side in
    /// consecutive vectors.
    pub fn components(&mut self, raws: &[C], n: usize) -> Vec<C> {
        if n == 1 {
            return raws.to_vec();
        }
        let halves: Vec<[C; 2]> = match *raws {
            [all] => {
                let lanes = self.b.ty(all).lanes();
                vec![self.unzip(all, all, lanes / 2)]
            }
            _ => raws.chunks(2).map(|pair| self.unzip(pair[0], pair[1], self.b.ty(pair[0]).lanes())).collect(),
        };
        let [even, odd] = [0, 1].map(|i| {
            let half: Vec<C> = halves.iter().map(|h| h[i]).collect();
            self.components(&half, n / 2)
        });
        even.into_iter().zip(odd).flat_map(|(a, b)| [a, b]).collect()
    }

    /// Loads lane by lane; each `unit` of bytes is checked separately.
    fn load_by_lane(&mut self, pair: BufferRange, base: C, run: ElementRun, flags: Access) -> Vec<C> {
        let rows = self.lane_rows();
        let lanes = self.begin_lanes();
        let offset = self.lane_offset(base, run.bytes(), lanes.lane);
        let column = self.lane_column(rows, &lanes, run.ty.bytes());
        self.load_column(pair, offset, column, run, flags);
        self.end_lanes(&lanes);
        self.load_rows(rows, run)
    }

    /// Returns the address of a lane's column: its elements of `bytes` bytes in the rows.
    pub fn lane_column(&mut self, rows: C, lanes: &LaneLoop, bytes: u32) -> C {
        let place = self.b.shl_imm(lanes.lane, bytes.trailing_zeros());
        self.b.iadd(rows, place)
    }

    /// Loads a lane's components to its column.
    pub fn load_column(&mut self, pair: BufferRange, offset: C, column: C, run: ElementRun, flags: Access) {
        let bytes = run.ty.bytes();
        let per = (run.unit / bytes) as usize;
        for first in (0..run.n).step_by(per) {
            let offset = self.b.iadd_imm(offset, i64::from(bytes) * first as i64);
            let address = self.address_or_zeros(pair, offset, run.unit);
            for (i, c) in self.load_components(address, run.ty, per, flags).into_iter().enumerate() {
                self.b.store(trusted(AccessReason::Frame, (first + i) as i32 * self.row_bytes()), c, column);
            }
        }
    }

    /// Returns the contents of the rows, one vector per component.
    pub fn load_rows(&mut self, rows: C, run: ElementRun) -> Vec<C> {
        let vector = self.vector_type(run.ty);
        let row = self.row_bytes();
        (0..run.n).map(|i| self.b.load(vector, trusted(AccessReason::Frame, i as i32 * row), rows)).collect()
    }

    /// Stores whole vectors if every lane is active and in range, otherwise lane by lane.
    pub fn store_contiguous(
        &mut self,
        pair: BufferRange,
        (base, offset64): (C, C),
        values: &[Value],
        run: ElementRun,
    ) -> Result<()> {
        let ok = self.in_range_i64(pair, offset64, self.lanes.count() * run.bytes());
        let whole = |e: &mut Self, vectors: &[C], address: C| {
            let mut offset = 0;
            for c in e.interleave(vectors) {
                e.b.store(trusted(AccessReason::Checked, offset), c, address);
                offset += e.b.ty(c).bytes() as i32;
            }
        };
        self.store_checked((ok, pair, offset64), values, run, whole, |_| Ok(Offsets::Contiguous(base)))
    }

    /// Stores from an address on if `ok` and all lanes are active; otherwise stores lane by lane in
    /// a cold block, at `offsets` that are computed there.
    pub fn store_checked(
        &mut self,
        (mut ok, pair, offset64): (C, BufferRange, C),
        values: &[Value],
        run: ElementRun,
        whole: impl FnOnce(&mut Self, &[C], C),
        offsets: impl FnOnce(&mut Self) -> Result<Offsets>,
    ) -> Result<()> {
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let mask = self.side_effect_mask();
        if let Some(mask) = mask {
            let all = self.b.all(mask);
            ok = self.b.and(ok, all);
        }
        let vectors = values.iter().map(|&v| self.vector(v)).collect::<Result<Vec<C>>>()?;
        self.b.branch(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.iadd(pair.address, offset64);
        whole(self, &vectors, address);
        self.b.jump(done, &[]);
        self.enter(slow);
        let offsets = offsets(self)?;
        self.store_by_lane(pair, offsets, &vectors, run, mask);
        self.b.jump(done, &[]);
        self.enter(done);
        Ok(())
    }

    /// Stores the units that are in range, for the lanes of the mask.
    fn store_by_lane(&mut self, pair: BufferRange, offsets: Offsets, vectors: &[C], run: ElementRun, mask: Option<C>) {
        let (n, bytes, row) = (run.n as i32, run.ty.bytes(), self.row_bytes());
        let last = trusted(AccessReason::Frame, (ROWS as i32 - 1) * row);
        let rows = self.lane_rows();
        for (i, c) in vectors.iter().copied().chain(mask).enumerate() {
            self.b.store(trusted(AccessReason::Frame, i as i32 * row), c, rows);
        }
        if let Offsets::PerLane(offsets) = offsets {
            self.b.store(last, offsets, rows);
        }
        let lanes = self.begin_lanes();
        let column = self.lane_column(rows, &lanes, bytes);
        let offset = match offsets {
            Offsets::Contiguous(base) => self.lane_offset(base, run.bytes(), lanes.lane),
            Offsets::PerLane(_) => {
                let words = self.lane_column(rows, &lanes, 4);
                self.b.load(Type::I32, last, words)
            }
        };
        let (mut ok, offset64) = self.in_range(pair, offset, run.bytes());
        if mask.is_some() {
            let words = self.lane_column(rows, &lanes, 4);
            let active = self.b.load(Type::I32, trusted(AccessReason::Frame, n * row), words);
            let active = self.b.icmp_imm(IntCond::Ne, active, 0);
            ok = self.b.and(ok, active);
        }
        let address = self.b.iadd(pair.address, offset64);
        let address = self.b.select(ok, address, self.function.sink());
        for i in 0..n {
            let c = self.b.load(scalar_type(run.ty), trusted(AccessReason::Frame, i * row), column);
            self.b.store(trusted(AccessReason::Checked, i * bytes as i32), c, address);
        }
        self.end_lanes(&lanes);
    }

    /// Returns the number of bytes of a row, which holds the widest element of each lane.
    pub fn row_bytes(&self) -> i32 {
        self.lanes.count() as i32 * 8
    }

    /// Returns the address of the rows, through which accesses pass their lanes in memory.
    pub fn lane_rows(&mut self) -> C {
        let bytes = ROWS as u32 * self.row_bytes() as u32;
        let slot = *self.lane_rows.get_or_insert_with(|| self.b.create_slot(bytes, 4));
        self.b.stack_address(slot, 0)
    }

    /// Returns `base + stride * lane`, I32.
    fn lane_offset(&mut self, base: C, stride: u32, lane: C) -> C {
        let lane = self.b.narrow(Type::I32, lane);
        let steps = self.b.imul_imm(lane, i64::from(stride));
        self.b.iadd(base, steps)
    }

    pub fn begin_lanes(&mut self) -> LaneLoop {
        let header = self.b.create_block();
        let lane = self.b.append_param(header, Type::I64);
        let first = self.b.iconst(Type::I64, 0);
        self.b.jump(header, &[first]);
        self.b.enter_loop(header);
        LaneLoop { header, lane }
    }

    pub fn end_lanes(&mut self, lanes: &LaneLoop) {
        let done = self.b.create_block();
        self.b.set_cold_block(lanes.header);
        let next = self.b.iadd_imm(lanes.lane, 1);
        let more = self.b.icmp_imm(IntCond::Ult, next, i64::from(self.lanes.count()));
        self.b.branch(more, lanes.header, &[next], done, &[]);
        self.b.seal_block(lanes.header);
        self.b.set_cold_block(done);
        self.enter(done);
    }

    /// Begins a loop over the lanes of a mask, in ascending order.
    pub fn begin_active_lanes(&mut self, mask: C) -> ActiveLanes {
        let bits = self.mask_bits(mask);
        let (header, done) = (self.b.create_block(), self.b.create_block());
        let left = self.b.append_param(header, Type::I64);
        let any = self.b.icmp_imm(IntCond::Ne, bits, 0);
        self.b.branch(any, header, &[bits], done, &[]);
        self.b.enter_loop(header);
        let lane = self.b.ctz(left);
        ActiveLanes { lanes: LaneLoop { header, lane }, left, done }
    }

    pub fn end_active_lanes(&mut self, active: &ActiveLanes) {
        let below = self.b.iadd_imm(active.left, -1);
        let left = self.b.and(active.left, below);
        let more = self.b.icmp_imm(IntCond::Ne, left, 0);
        self.b.branch(more, active.lanes.header, &[left], active.done, &[]);
        self.b.seal_block(active.lanes.header);
        self.enter(active.done);
    }

    /// Returns the first `count` even and the first `count` odd lanes of two concatenated vectors.
    fn unzip(&mut self, low: C, high: C, count: usize) -> [C; 2] {
        [0, 1].map(|first| {
            let pattern: SmallVec<[usize; 16]> = (0..count).map(|l| 2 * l + first).collect();
            self.b.shuffle(low, high, &pattern)
        })
    }

    /// Interleaves the lanes of two vectors: one vector if there is one that large, otherwise two.
    fn zip(&mut self, a: C, b: C) -> SmallVec<[C; 2]> {
        let lanes = self.b.ty(a).lanes();
        let all: SmallVec<[usize; 32]> = (0..lanes).flat_map(|l| [l, lanes + l]).collect();
        all.chunks(16).map(|pattern| self.b.shuffle(a, b, pattern)).collect()
    }

    /// Returns the components of all lanes side by side, in consecutive vectors.
    pub fn interleave(&mut self, components: &[C]) -> SmallVec<[C; 4]> {
        match *components {
            [x, y] => self.zip(x, y).into_iter().collect(),
            [x, y, z, w] => {
                let (even, odd) = (self.zip(x, z), self.zip(y, w));
                even.into_iter().zip(odd).flat_map(|(a, b)| self.zip(a, b)).collect()
            }
            _ => components.iter().copied().collect(),
        }
    }
}
