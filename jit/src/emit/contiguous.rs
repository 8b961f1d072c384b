//! Accesses whose lanes lie side by side: whole vectors behind one bounds check, and a loop over the lanes for the
//! chunk at a buffer's end or under a mask. The loop is cold; it is a loop because it would be most of the code otherwise.

use super::Emitter;
use super::memory::trusted;
use super::rep::{BufPair, Vecs, scalar_type, vector_type};
use crate::error::Result;
use crate::ir::{Ty, Value};
use base::abi::MAX_LANES;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value as C, types,
};

/// Rows of a spilled access: four components and a mask.
const ROWS: usize = 5;
/// Bytes of a row: a word per lane.
const ROW: i32 = MAX_LANES as i32 * 4;

/// A loop over the lanes.
struct LaneLoop {
    header: Block,
    /// Lane, I64.
    lane: C,
}

impl Emitter<'_> {
    /// Lane l reads `n` components at base + l * 4n: whole vectors when all of it is in range. The base comes as I32 and as I64, which
    /// may differ where lane 0 is out of range.
    pub fn load_contiguous(
        &mut self,
        pair: BufPair,
        (base, wide): (C, C),
        stride: i32,
        ty: Ty,
        n: usize,
        flags: MemFlagsData,
    ) -> Result<Vec<Vecs>> {
        let vectors = self.lanes as usize / 4;
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        for _ in 0..n * vectors {
            self.b.append_block_param(done, vector_type(ty));
        }
        let ok = self.wide_in_range(pair, wide, self.lanes * 4 * n as u32);
        self.b.ins().brif(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.ins().iadd(pair.address, wide);
        let mut parts = Vec::new();
        for v in 0..vectors {
            let raw: Vec<C> =
                (0..n).map(|i| self.b.ins().load(vector_type(ty), flags, address, (v * n + i) as i32 * 16)).collect();
            parts.push(self.deinterleave(&raw));
        }
        let fast_values: Vec<Vecs> = (0..n).map(|i| parts.iter().map(|p| p[i]).collect()).collect();
        self.jump_with(done, &fast_values);
        self.enter(slow);
        let slow_values = self.load_by_lane(pair, base, stride, ty, n, flags);
        self.jump_with(done, &slow_values);
        self.enter(done);
        let params: Vec<C> = self.b.block_params(done).to_vec();
        Ok(params.chunks(vectors).map(|c| c.iter().copied().collect()).collect())
    }

    fn load_by_lane(
        &mut self,
        pair: BufPair,
        base: C,
        stride: i32,
        ty: Ty,
        n: usize,
        flags: MemFlagsData,
    ) -> Vec<Vecs> {
        let rows = self.lane_rows();
        let lanes = self.begin_lanes();
        let offset = self.lane_offset(base, stride, lanes.lane);
        let address = self.address_or_zeros(pair, offset, 4 * n as u32);
        let values = self.load_components(address, ty, n, flags);
        let words = self.b.ins().ishl_imm_u(lanes.lane, 2);
        let column = self.b.ins().iadd(rows, words);
        for (i, c) in values.into_iter().enumerate() {
            self.b.ins().store(trusted(), c, column, i as i32 * ROW);
        }
        self.end_lanes(&lanes);
        (0..n)
            .map(|i| {
                let at = |v: usize| i as i32 * ROW + 16 * v as i32;
                (0..self.lanes as usize / 4)
                    .map(|v| self.b.ins().load(vector_type(ty), trusted(), rows, at(v)))
                    .collect()
            })
            .collect()
    }

    /// Whole vectors when every lane is active and in range, else lane by lane.
    pub fn store_contiguous(&mut self, pair: BufPair, (base, wide): (C, C), values: &[Value], ty: Ty) -> Result<()> {
        let n = values.len();
        let (fast, slow, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(slow);
        let mut ok = self.wide_in_range(pair, wide, self.lanes * 4 * n as u32);
        let mask = self.side_effect_mask();
        if let Some(mask) = &mask {
            let all = self.all(mask);
            ok = self.b.ins().band(ok, all);
        }
        let vectors = values.iter().map(|&v| self.vectors(v)).collect::<Result<Vec<Vecs>>>()?;
        self.b.ins().brif(ok, fast, &[], slow, &[]);
        self.enter(fast);
        let address = self.b.ins().iadd(pair.address, wide);
        for v in 0..self.lanes as usize / 4 {
            let components: Vec<C> = vectors.iter().map(|c| c[v]).collect();
            for (i, c) in self.interleave(&components).into_iter().enumerate() {
                self.b.ins().store(trusted(), c, address, (v * n + i) as i32 * 16);
            }
        }
        self.b.ins().jump(done, &[]);
        self.enter(slow);
        self.store_by_lane(pair, base, &vectors, ty, mask.as_ref());
        self.b.ins().jump(done, &[]);
        self.enter(done);
        Ok(())
    }

    fn store_by_lane(&mut self, pair: BufPair, base: C, vectors: &[Vecs], ty: Ty, mask: Option<&Vecs>) {
        let n = vectors.len();
        let rows = self.lane_rows();
        for (row, vecs) in vectors.iter().chain(mask).enumerate() {
            for (v, &c) in vecs.iter().enumerate() {
                self.b.ins().store(trusted(), c, rows, row as i32 * ROW + 16 * v as i32);
            }
        }
        let lanes = self.begin_lanes();
        let words = self.b.ins().ishl_imm_u(lanes.lane, 2);
        let column = self.b.ins().iadd(rows, words);
        let offset = self.lane_offset(base, 4 * n as i32, lanes.lane);
        let (mut ok, wide) = self.in_range(pair, offset, 4 * n as u32);
        if mask.is_some() {
            let active = self.b.ins().load(types::I32, trusted(), column, n as i32 * ROW);
            let active = self.b.ins().icmp_imm_u(IntCC::NotEqual, active, 0);
            ok = self.b.ins().band(ok, active);
        }
        let address = self.b.ins().iadd(pair.address, wide);
        let address = self.b.ins().select(ok, address, self.sink);
        for i in 0..n as i32 {
            let c = self.b.ins().load(scalar_type(ty), trusted(), column, i * ROW);
            self.b.ins().store(trusted(), c, address, i * 4);
        }
        self.end_lanes(&lanes);
    }

    /// Where an access goes through memory, lane by lane.
    fn lane_rows(&mut self) -> C {
        let slot = *self.lane_rows.get_or_insert_with(|| {
            let bytes = ROWS as u32 * ROW as u32;
            self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 4))
        });
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// base + stride * lane, I32.
    fn lane_offset(&mut self, base: C, stride: i32, lane: C) -> C {
        let lane = self.b.ins().ireduce(types::I32, lane);
        let steps = self.b.ins().imul_imm_s(lane, i64::from(stride));
        self.b.ins().iadd(base, steps)
    }

    fn begin_lanes(&mut self) -> LaneLoop {
        let header = self.b.create_block();
        self.b.append_block_param(header, types::I64);
        let first = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(header, &[BlockArg::Value(first)]);
        self.b.switch_to_block(header);
        LaneLoop { header, lane: self.b.block_params(header)[0] }
    }

    fn end_lanes(&mut self, lanes: &LaneLoop) {
        let done = self.b.create_block();
        self.b.set_cold_block(lanes.header);
        let next = self.b.ins().iadd_imm_s(lanes.lane, 1);
        let more = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, i64::from(self.lanes));
        self.b.ins().brif(more, lanes.header, &[BlockArg::Value(next)], done, &[]);
        if !self.barriers.any {
            self.b.seal_block(lanes.header);
        }
        self.b.set_cold_block(done);
        self.enter(done);
    }

    fn jump_with(&mut self, block: Block, values: &[Vecs]) {
        let args: Vec<_> = values.iter().flatten().map(|&c| BlockArg::Value(c)).collect();
        self.b.ins().jump(block, args.iter());
    }

    /// `n` vectors of interleaved components to one vector per component (n = 1, 2, 4).
    fn deinterleave(&mut self, raw: &[C]) -> Vec<C> {
        match raw {
            [a, b] => vec![self.shuffle_words(*a, *b, [0, 2, 4, 6]), self.shuffle_words(*a, *b, [1, 3, 5, 7])],
            [a, b, c, d] => self.transpose([*a, *b, *c, *d]).to_vec(),
            _ => raw.to_vec(),
        }
    }

    fn interleave(&mut self, components: &[C]) -> Vec<C> {
        match components {
            [a, b] => vec![self.shuffle_words(*a, *b, [0, 4, 1, 5]), self.shuffle_words(*a, *b, [2, 6, 3, 7])],
            [a, b, c, d] => self.transpose([*a, *b, *c, *d]).to_vec(),
            _ => components.to_vec(),
        }
    }

    /// 4×4 transpose.
    pub fn transpose(&mut self, rows: [C; 4]) -> [C; 4] {
        let ty = self.b.func.dfg.value_type(rows[0]);
        let [a, b, c, d] = rows.map(|row| self.bitcast(types::I8X16, row));
        let ab_low = self.shuffle_bytes(a, b, [0, 4, 1, 5]);
        let ab_high = self.shuffle_bytes(a, b, [2, 6, 3, 7]);
        let cd_low = self.shuffle_bytes(c, d, [0, 4, 1, 5]);
        let cd_high = self.shuffle_bytes(c, d, [2, 6, 3, 7]);
        [
            self.shuffle_bytes(ab_low, cd_low, [0, 1, 4, 5]),
            self.shuffle_bytes(ab_low, cd_low, [2, 3, 6, 7]),
            self.shuffle_bytes(ab_high, cd_high, [0, 1, 4, 5]),
            self.shuffle_bytes(ab_high, cd_high, [2, 3, 6, 7]),
        ]
        .map(|column| self.bitcast(ty, column))
    }
}
