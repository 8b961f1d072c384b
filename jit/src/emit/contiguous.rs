//! Accesses whose lanes lie side by side: whole vectors behind one bounds check, and a loop over the lanes for the
//! chunk at a buffer's end or under a mask. The loop is cold; it is a loop because it would be most of the code otherwise.

use super::Emitter;
use super::memory::{at, trusted};
use super::rep::{BufPair, elem, scalar_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use crate::lir::{Access, Block, IntCond, Type, Value as C};
use base::abi::MAX_LANES;
use smallvec::SmallVec;

/// Rows of a spilled access: four components and a mask.
const ROWS: usize = 5;
/// Bytes of a row: a word per lane.
pub const ROW: i32 = MAX_LANES as i32 * 4;

/// A loop over the lanes.
pub struct LaneLoop {
    header: Block,
    /// Lane, I64.
    lane: C,
}

impl Emitter<'_> {
    /// Lane l reads `n` components at base + l * 4n: whole vectors when all of it is in range. The base comes as I32 and as I64, which
    /// may differ where lane 0 is out of range. What is in range by itself is `unit` bytes: a word, or all components.
    #[allow(clippy::too_many_arguments, reason = "an access, its place and its unit")]
    pub fn load_contiguous(
        &mut self,
        pair: BufPair,
        (base, wide): (C, C),
        stride: i32,
        ty: Ty,
        n: usize,
        unit: u32,
        flags: Access,
    ) -> Result<Vec<C>> {
        let vector = self.vector_type(ty);
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let params: Vec<C> = (0..n).map(|_| self.b.append_param(done, vector)).collect();
        let ok = self.wide_in_range(pair, wide, self.lanes * 4 * n as u32);
        self.b.branch(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.iadd(pair.address, wide);
        let fast_values = self.load_interleaved(address, ty, n, flags);
        self.b.jump(done, &fast_values);
        self.enter(slow);
        let slow_values = self.load_by_lane(pair, base, stride, ty, n, unit, flags);
        self.b.jump(done, &slow_values);
        self.enter(done);
        Ok(params)
    }

    /// `n` components of each lane, side by side: n = 1, 2 or 4.
    fn load_interleaved(&mut self, address: C, ty: Ty, n: usize, flags: Access) -> Vec<C> {
        let vector = elem(ty).by(4);
        let mut components: Vec<SmallVec<[C; 4]>> = vec![SmallVec::new(); n];
        for group in 0..self.lanes as usize / 4 {
            let offset = |i: usize| ((group * n + i) * 16) as i32;
            let raw: Vec<C> = (0..n).map(|i| self.b.load(vector, at(flags, offset(i)), address)).collect();
            for (list, c) in components.iter_mut().zip(self.deinterleave(&raw)) {
                list.push(c);
            }
        }
        components.iter().map(|parts| self.concat(parts)).collect()
    }

    /// What is in range by itself: `unit` bytes.
    #[allow(clippy::too_many_arguments, reason = "an access, its place and its unit")]
    fn load_by_lane(
        &mut self,
        pair: BufPair,
        base: C,
        stride: i32,
        ty: Ty,
        n: usize,
        unit: u32,
        flags: Access,
    ) -> Vec<C> {
        let rows = self.lane_rows();
        let lanes = self.begin_lanes();
        let offset = self.lane_offset(base, stride, lanes.lane);
        let column = self.lane_column(rows, &lanes);
        self.load_column(pair, offset, column, ty, n, unit, flags);
        self.end_lanes(&lanes);
        self.load_rows(rows, ty, n)
    }

    /// Where a lane's components are.
    pub fn lane_column(&mut self, rows: C, lanes: &LaneLoop) -> C {
        let words = self.b.shl_imm(lanes.lane, 2);
        self.b.iadd(rows, words)
    }

    /// A lane's components to its column; `unit` bytes are in range by themselves.
    #[allow(clippy::too_many_arguments, reason = "an access, its place and its unit")]
    pub fn load_column(&mut self, pair: BufPair, offset: C, column: C, ty: Ty, n: usize, unit: u32, flags: Access) {
        let per = unit as usize / 4;
        for first in (0..n).step_by(per) {
            let offset = self.b.iadd_imm(offset, 4 * first as i64);
            let address = self.address_or_zeros(pair, offset, unit);
            for (i, c) in self.load_components(address, ty, per, flags).into_iter().enumerate() {
                self.b.store(trusted((first + i) as i32 * ROW), c, column);
            }
        }
    }

    /// What the lanes' columns have, component by component.
    pub fn load_rows(&mut self, rows: C, ty: Ty, n: usize) -> Vec<C> {
        let vector = self.vector_type(ty);
        (0..n).map(|i| self.b.load(vector, trusted(i as i32 * ROW), rows)).collect()
    }

    /// Whole vectors when every lane is active and in range, else lane by lane.
    pub fn store_contiguous(&mut self, pair: BufPair, (base, wide): (C, C), values: &[Value], ty: Ty) -> Result<()> {
        let n = values.len();
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let mut ok = self.wide_in_range(pair, wide, self.lanes * 4 * n as u32);
        let mask = self.side_effect_mask();
        if let Some(mask) = mask {
            let all = self.b.all(mask);
            ok = self.b.and(ok, all);
        }
        let vectors = values.iter().map(|&v| self.vector(v)).collect::<Result<Vec<C>>>()?;
        self.b.branch(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.iadd(pair.address, wide);
        for group in 0..self.lanes as usize / 4 {
            let components: Vec<C> = vectors.iter().map(|&c| self.b.slice(c, 4 * group, 4)).collect();
            for (i, c) in self.interleave(&components).into_iter().enumerate() {
                self.b.store(trusted((group * n + i) as i32 * 16), c, address);
            }
        }
        self.b.jump(done, &[]);
        self.enter(slow);
        self.store_by_lane(pair, base, &vectors, ty, mask);
        self.b.jump(done, &[]);
        self.enter(done);
        Ok(())
    }

    fn store_by_lane(&mut self, pair: BufPair, base: C, vectors: &[C], ty: Ty, mask: Option<C>) {
        let n = vectors.len();
        let rows = self.lane_rows();
        for (row, c) in vectors.iter().copied().chain(mask).enumerate() {
            self.b.store(trusted(row as i32 * ROW), c, rows);
        }
        let lanes = self.begin_lanes();
        let words = self.b.shl_imm(lanes.lane, 2);
        let column = self.b.iadd(rows, words);
        let offset = self.lane_offset(base, 4 * n as i32, lanes.lane);
        let (mut ok, wide) = self.in_range(pair, offset, 4 * n as u32);
        if mask.is_some() {
            let active = self.b.load(Type::I32, trusted(n as i32 * ROW), column);
            let active = self.b.icmp_imm(IntCond::Ne, active, 0);
            ok = self.b.and(ok, active);
        }
        let address = self.b.iadd(pair.address, wide);
        let address = self.b.select(ok, address, self.sink);
        for i in 0..n as i32 {
            let c = self.b.load(scalar_type(ty), trusted(i * ROW), column);
            self.b.store(trusted(i * 4), c, address);
        }
        self.end_lanes(&lanes);
    }

    /// Where an access goes through memory, lane by lane.
    pub fn lane_rows(&mut self) -> C {
        let slot = *self.lane_rows.get_or_insert_with(|| {
            let bytes = ROWS as u32 * ROW as u32;
            self.b.create_slot(bytes, 4)
        });
        self.b.stack_address(slot, 0)
    }

    /// base + stride * lane, I32.
    fn lane_offset(&mut self, base: C, stride: i32, lane: C) -> C {
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
        let more = self.b.icmp_imm(IntCond::Ult, next, i64::from(self.lanes));
        self.b.branch(more, lanes.header, &[next], done, &[]);
        self.b.seal_block(lanes.header);
        self.b.set_cold_block(done);
        self.enter(done);
    }

    /// `n` vectors of interleaved components to one vector per component (n = 1, 2, 4).
    fn deinterleave(&mut self, raw: &[C]) -> Vec<C> {
        match raw {
            [a, b] => vec![self.b.shuffle(*a, *b, &[0, 2, 4, 6]), self.b.shuffle(*a, *b, &[1, 3, 5, 7])],
            [a, b, c, d] => self.transpose([*a, *b, *c, *d]).to_vec(),
            _ => raw.to_vec(),
        }
    }

    fn interleave(&mut self, components: &[C]) -> Vec<C> {
        match components {
            [a, b] => vec![self.b.shuffle(*a, *b, &[0, 4, 1, 5]), self.b.shuffle(*a, *b, &[2, 6, 3, 7])],
            [a, b, c, d] => self.transpose([*a, *b, *c, *d]).to_vec(),
            _ => components.to_vec(),
        }
    }

    /// 4×4 transpose.
    fn transpose(&mut self, [a, b, c, d]: [C; 4]) -> [C; 4] {
        let ab_low = self.b.shuffle(a, b, &[0, 4, 1, 5]);
        let ab_high = self.b.shuffle(a, b, &[2, 6, 3, 7]);
        let cd_low = self.b.shuffle(c, d, &[0, 4, 1, 5]);
        let cd_high = self.b.shuffle(c, d, &[2, 6, 3, 7]);
        [
            self.b.shuffle(ab_low, cd_low, &[0, 1, 4, 5]),
            self.b.shuffle(ab_low, cd_low, &[2, 3, 6, 7]),
            self.b.shuffle(ab_high, cd_high, &[0, 1, 4, 5]),
            self.b.shuffle(ab_high, cd_high, &[2, 3, 6, 7]),
        ]
    }
}
