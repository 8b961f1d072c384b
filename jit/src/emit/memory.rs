//! Loads, stores and atomics.
//!
//! An access is (uniform buffer, offset shape). Uniform offset: one scalar access. Offsets that step by the access's own size:
//! whole vectors behind one bounds check (`contiguous`). Everything else: one access per lane, several components at a time,
//! transposed into vectors. A load out of range reads zeros, or is clamped and masked; a masked or out of range store goes to the
//! batch's sink. Bounds are checked in 64 bits where a scalar checks, and against a saturated 32-bit limit where a vector does.

use super::Emitter;
use super::rep::{BufPair, Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Binary, InstData, MemFlags, Op, Space, Ty, Value, ValueDef};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as C, types};
use smallvec::SmallVec;

/// Accesses to our own structs and checked device memory: never fault.
pub fn trusted() -> MemFlagsData {
    let mut flags = MemFlagsData::new();
    flags.set_notrap();
    flags
}

/// Loads that may be merged and moved: memory nobody writes while the function runs.
pub fn read_only() -> MemFlagsData {
    let mut flags = trusted();
    flags.set_readonly();
    flags.set_can_move();
    flags
}

/// The address operands of an access.
pub enum Address {
    /// Buffer for all lanes, offsets.
    Buffer(BufPair, Value),
    /// Buffers per lane, offsets.
    Buffers(SmallVec<[BufPair; 8]>, Value),
    /// 64-bit addresses.
    Global(Value),
}

impl Emitter<'_> {
    pub fn address(&mut self, space: Space, args: &[Value]) -> Result<(Address, usize)> {
        Ok(match space {
            Space::Buffer => match self.rep(args[0])? {
                Rep::Buffer(pair) => (Address::Buffer(pair, args[1]), 2),
                Rep::Buffers(list) => (Address::Buffers(list, args[1]), 2),
                _ => return Err(Error::internal("a buffer access without a buffer")),
            },
            Space::Shared => {
                let range = self.b.ins().iconst(types::I64, i64::from(self.shader.shared_bytes));
                (Address::Buffer(BufPair { address: self.shared, range }, args[0]), 1)
            }
            Space::Push => {
                let offset = core::mem::offset_of!(base::abi::ShaderContext, push_constants) as i64;
                let address = self.b.ins().iadd_imm_s(self.ctx, offset);
                let range = self.b.ins().iconst(types::I64, base::abi::MAX_PUSH_CONSTANTS as i64);
                (Address::Buffer(BufPair { address, range }, args[0]), 1)
            }
            Space::Global => (Address::Global(args[0]), 1),
        })
    }

    fn flags(&self, space: Space, flags: MemFlags) -> MemFlagsData {
        if (flags.readonly || space == Space::Push) && !flags.volatile { read_only() } else { trusted() }
    }

    /// `Op::Load`.
    pub fn load(&mut self, space: Space, flags: MemFlags, data: &InstData) -> Result<()> {
        let results: Vec<Value> = data.results().collect();
        let ty = self.shader.ty(results[0]);
        if !matches!(ty, Ty::I32 | Ty::F32 | Ty::I64 | Ty::F64) {
            return Err(Error::unsupported("8- and 16-bit memory accesses").with_id(data.source));
        }
        if flags.volatile {
            // Cranelift forwards no earlier load or store past a fence.
            self.b.ins().fence();
        }
        let machine = self.flags(space, flags);
        let n = results.len();
        let (address, _) = self.address(space, &data.args)?;
        match address {
            Address::Buffer(pair, offset) => match self.rep(offset)? {
                Rep::Uniform(scalar) => {
                    let bytes = ty.bytes() * n as u32;
                    let address = match self.constant_bits(offset) {
                        Some(bits) => self.constant_address_or_zeros(pair, bits as u32, bytes),
                        None => {
                            let wide = self.wide_offset(offset, scalar)?;
                            self.wide_address_or_zeros(pair, wide, bytes)
                        }
                    };
                    let values = self.load_components(address, ty, n, machine);
                    self.define_all(&results, values.into_iter().map(Rep::Uniform))
                }
                Rep::Affine(base, stride) if ty.bytes() == 4 && stride == 4 * n as i32 && n != 3 => {
                    let wide = self.wide_offset(offset, base)?;
                    let values = self.load_contiguous(pair, (base, wide), stride, ty, n, machine)?;
                    self.define_all(&results, values.into_iter().map(Rep::Varying))
                }
                rep => {
                    let offsets = self.gather_offsets(offset, &rep)?;
                    let values = self.load_gather(pair, &offsets, ty, n, machine);
                    self.define_all(&results, values.into_iter().map(Rep::Varying))
                }
            },
            Address::Buffers(list, offset) => {
                let mut lanes: Vec<Vec<C>> = vec![Vec::new(); n];
                for (lane, pair) in list.iter().enumerate() {
                    let offset = self.value_lane(offset, lane)?;
                    let values = self.load_uniform(*pair, offset, ty, n, machine);
                    values.into_iter().zip(&mut lanes).for_each(|(c, list)| list.push(c));
                }
                let reps: Vec<Rep> = lanes.iter().map(|l| Rep::Varying(self.gather_lanes(ty, l))).collect();
                self.define_all(&results, reps.into_iter())
            }
            Address::Global(pointer) => self.load_global(pointer, &results, ty, machine),
        }
    }

    /// Defines several results.
    pub fn define_all(&mut self, results: &[Value], reps: impl Iterator<Item = Rep>) -> Result<()> {
        for (&v, rep) in results.iter().zip(reps) {
            self.define(v, rep)?;
        }
        Ok(())
    }

    /// I8: `offset + bytes <= range`; and the offset as I64.
    pub fn in_range(&mut self, pair: BufPair, offset: C, bytes: u32) -> (C, C) {
        let wide = self.b.ins().uextend(types::I64, offset);
        (self.wide_in_range(pair, wide, bytes), wide)
    }

    /// The same for an offset as I64.
    pub fn wide_in_range(&mut self, pair: BufPair, wide: C, bytes: u32) -> C {
        let end = self.b.ins().iadd_imm_s(wide, i64::from(bytes));
        self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, pair.range)
    }

    /// An offset whose machine form is the scalar `narrow` (of an affine one: lane 0) as I64. A multiple of one bounded index is
    /// computed in 64 bits from the index: then nothing needs the bound, and it is as good as free. What is negative becomes so great
    /// that no length added to it wraps.
    fn wide_offset(&mut self, offset: Value, narrow: C) -> Result<C> {
        match self.bounded_index(offset) {
            // Across barriers only what is used there is kept: the offset, not what it is made of.
            Some((index, _, scale, 0)) if !self.barriers.any => {
                let index = self.scalar(index)?;
                let index = self.b.ins().uextend(types::I64, index);
                Ok(self.b.ins().imul_imm_u(index, scale))
            }
            // A product of 31 and 16 bits stays below the mask's 48.
            Some((index, _, scale @ ..=0xffff, plus)) if !self.barriers.any => {
                let index = self.scalar(index)?;
                let index = self.b.ins().sextend(types::I64, index);
                let wide = self.b.ins().imul_imm_s(index, scale);
                let wide = self.b.ins().iadd_imm_s(wide, plus);
                Ok(self.b.ins().band_imm_u(wide, (1 << 48) - 1))
            }
            _ => Ok(self.b.ins().uextend(types::I64, narrow)),
        }
    }

    /// Offsets of a gather. Of a multiple of one bounded index an unsigned minimum is bound enough: it takes negative ones along.
    fn gather_offsets(&mut self, offset: Value, rep: &Rep) -> Result<Vecs> {
        match self.bounded_index(offset) {
            Some((index, limit, scale, 0)) if !self.barriers.any => {
                let most = self.vector_constant([limit as i32; 4]);
                let index = self.vectors(index)?;
                let scaled = |e: &mut Self, i: C| {
                    let i = e.b.ins().umin(i, most);
                    if scale.count_ones() == 1 {
                        return e.b.ins().ishl_imm_u(i, i64::from(scale.trailing_zeros()));
                    }
                    let by = e.vector_constant([scale as i32; 4]);
                    e.b.ins().imul(i, by)
                };
                Ok(index.iter().map(|&i| scaled(self, i)).collect())
            }
            _ => self.rep_vectors(Ty::I32, rep),
        }
    }

    /// `(i, limit, scale, plus)` of an offset `Bound(i, limit) * scale + plus`.
    fn bounded_index(&self, offset: Value) -> Option<(Value, i64, i64, i64)> {
        let operation = |v: Value| match self.shader.values[v].def {
            ValueDef::Inst(inst, _) => match self.shader.insts[inst].op {
                Op::Binary(op) => Some((op, self.shader.insts[inst].args[0], self.shader.insts[inst].args[1])),
                _ => None,
            },
            ValueDef::Region => None,
        };
        let constant = |v: Value| self.constant_bits(v).filter(|&c| c < 1 << 30).map(|c| c as i64);
        let (at, plus) = match operation(offset)? {
            (Binary::IAdd, a, b) => (a, constant(b)?),
            _ => (offset, 0),
        };
        let (bounded, scale) = match operation(at)? {
            (Binary::IMul, a, b) => (a, constant(b)?),
            (Binary::Shl, a, b) => (a, 1 << (constant(b)? & 31)),
            _ => (at, 1),
        };
        match operation(bounded)? {
            (Binary::Bound, index, limit) => Some((index, self.constant_bits(limit)? as i64, scale, plus)),
            _ => None,
        }
    }

    /// Address of an access at a scalar offset; out of range that of zeros.
    pub fn address_or_zeros(&mut self, pair: BufPair, offset: C, bytes: u32) -> C {
        let wide = self.b.ins().uextend(types::I64, offset);
        self.wide_address_or_zeros(pair, wide, bytes)
    }

    /// The same for an offset as I64.
    fn wide_address_or_zeros(&mut self, pair: BufPair, wide: C, bytes: u32) -> C {
        let ok = self.wide_in_range(pair, wide, bytes);
        let address = self.b.ins().iadd(pair.address, wide);
        self.b.ins().select(ok, address, self.zeros)
    }

    /// As [`Emitter::address_or_zeros`], at a constant offset.
    fn constant_address_or_zeros(&mut self, pair: BufPair, offset: u32, bytes: u32) -> C {
        let end = i64::from(offset) + i64::from(bytes);
        let ok = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, pair.range, end);
        let address = if offset == 0 { pair.address } else { self.b.ins().iadd_imm_s(pair.address, i64::from(offset)) };
        self.b.ins().select(ok, address, self.zeros)
    }

    /// `n` components from an address.
    pub fn load_components(&mut self, address: C, ty: Ty, n: usize, flags: MemFlagsData) -> Vec<C> {
        let at = |i: usize| (i as u32 * ty.bytes()) as i32;
        (0..n).map(|i| self.b.ins().load(scalar_type(ty), flags, address, at(i))).collect()
    }

    /// One access of `n` components at a scalar offset; 0 out of range.
    fn load_uniform(&mut self, pair: BufPair, offset: C, ty: Ty, n: usize, flags: MemFlagsData) -> Vec<C> {
        let address = self.address_or_zeros(pair, offset, ty.bytes() * n as u32);
        self.load_components(address, ty, n, flags)
    }

    /// Lanes whose `bytes` at `offsets` are in range, as a mask.
    fn in_range_mask(&mut self, pair: BufPair, offsets: &Vecs, bytes: u32) -> Vecs {
        let room = self.b.ins().iadd_imm_s(pair.range, -i64::from(bytes));
        let negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, room, 0);
        let most = self.b.ins().iconst(types::I64, 0xffff_ffff);
        let limit = self.b.ins().umin(room, most);
        let limit = self.b.ins().ireduce(types::I32, limit);
        let limit = self.b.ins().splat(types::I32X4, limit);
        let any = self.b.ins().uextend(types::I32, negative);
        let any = self.b.ins().iadd_imm_s(any, -1);
        let any = self.b.ins().splat(types::I32X4, any);
        offsets
            .iter()
            .map(|&o| {
                let ok = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, o, limit);
                self.b.ins().band(ok, any)
            })
            .collect()
    }

    /// One access per lane.
    fn load_gather(&mut self, pair: BufPair, offsets: &Vecs, ty: Ty, n: usize, flags: MemFlagsData) -> Vec<Vecs> {
        let ok = self.in_range_mask(pair, offsets, ty.bytes() * n as u32);
        let clamped = self.mask_and(offsets, &ok);
        let addresses: Vec<C> = (0..self.lanes as usize)
            .map(|lane| {
                let offset = self.lane(Ty::I32, &clamped, lane);
                let offset = self.b.ins().uextend(types::I64, offset);
                self.b.ins().iadd(pair.address, offset)
            })
            .collect();
        let loaded = if ty.bytes() == 4 {
            self.gather_words(&addresses, ty, n, flags)
        } else {
            (0..n)
                .map(|i| {
                    // The clamp makes 16 bytes readable; longer groups are only read where they are in range.
                    let at = if (i + 1) * ty.bytes() as usize <= 16 { i as i32 * ty.bytes() as i32 } else { 0 };
                    let lanes: Vec<C> =
                        addresses.iter().map(|&a| self.b.ins().load(scalar_type(ty), flags, a, at)).collect();
                    self.gather_lanes(ty, &lanes)
                })
                .collect()
        };
        let mask = self.mask_for(ty, &ok);
        let vt = vector_type(ty);
        loaded
            .into_iter()
            .map(|vecs| {
                vecs.iter()
                    .zip(&mask)
                    .map(|(&v, &m)| {
                        let bits = self.bitcast(types::I32X4, v);
                        let m = self.bitcast(types::I32X4, m);
                        let r = self.b.ins().band(bits, m);
                        self.bitcast(vt, r)
                    })
                    .collect()
            })
            .collect()
    }

    /// `n` 32-bit components per lane: pairs and fours as one load, then transposed.
    fn gather_words(&mut self, addresses: &[C], ty: Ty, n: usize, flags: MemFlagsData) -> Vec<Vecs> {
        let vt = vector_type(ty);
        let mut out = vec![Vecs::new(); n];
        for group in addresses.chunks(4) {
            match n {
                4 => {
                    let rows = [0, 1, 2, 3].map(|l| self.b.ins().load(vt, flags, group[l], 0));
                    for (list, c) in out.iter_mut().zip(self.transpose(rows)) {
                        list.push(c);
                    }
                }
                2 | 3 => {
                    let halves: Vec<C> = (0..4).map(|l| self.b.ins().load(types::I64, flags, group[l], 0)).collect();
                    let pairs: Vec<C> = halves
                        .chunks(2)
                        .map(|p| {
                            let v = self.b.ins().scalar_to_vector(types::I64X2, p[0]);
                            let v = self.b.ins().insertlane(v, p[1], 1);
                            self.bitcast(vt, v)
                        })
                        .collect();
                    out[0].push(self.shuffle_words(pairs[0], pairs[1], [0, 2, 4, 6]));
                    out[1].push(self.shuffle_words(pairs[0], pairs[1], [1, 3, 5, 7]));
                    if n == 3 {
                        let third = self.gather_component(group, ty, 8, flags);
                        out[2].push(third);
                    }
                }
                _ => {
                    for (i, list) in out.iter_mut().enumerate() {
                        let c = self.gather_component(group, ty, i as i32 * 4, flags);
                        list.push(c);
                    }
                }
            }
        }
        out
    }

    fn gather_component(&mut self, group: &[C], ty: Ty, at: i32, flags: MemFlagsData) -> C {
        let lanes: Vec<C> = group.iter().map(|&a| self.b.ins().load(scalar_type(ty), flags, a, at)).collect();
        self.gather_lanes(ty, &lanes)[0]
    }

    /// `Op::Store`.
    pub fn store(&mut self, space: Space, data: &InstData) -> Result<()> {
        let (address, used) = self.address(space, &data.args)?;
        let values = data.args[used..].to_vec();
        let ty = self.shader.ty(values[0]);
        if !matches!(ty, Ty::I32 | Ty::F32 | Ty::I64 | Ty::F64) {
            return Err(Error::unsupported("8- and 16-bit memory accesses").with_id(data.source));
        }
        let n = values.len();
        if let Address::Buffer(pair, offset) = &address
            && let Rep::Affine(base, stride) = self.rep(*offset)?
            && ty.bytes() == 4
            && stride == 4 * n as i32
            && n != 3
        {
            let wide = self.wide_offset(*offset, base)?;
            return self.store_contiguous(*pair, (base, wide), &values, ty);
        }
        self.store_lanes(&address, &values, ty)
    }

    /// Address of a lane's access and whether it is in range (I8).
    pub fn lane_address(&mut self, address: &Address, lane: usize, bytes: u32) -> Result<(C, Option<C>)> {
        let (pair, offset) = match address {
            Address::Global(pointer) => {
                let address = self.value_lane(*pointer, lane)?;
                let ok = self.is_live(address);
                return Ok((address, Some(ok)));
            }
            Address::Buffer(pair, offset) => (*pair, *offset),
            Address::Buffers(list, offset) => (list[lane], *offset),
        };
        let offset = self.value_lane(offset, lane)?;
        let (ok, wide) = self.in_range(pair, offset, bytes);
        Ok((self.b.ins().iadd(pair.address, wide), Some(ok)))
    }

    /// The mask of lanes with side effects, lane by lane (I8); None: all.
    pub fn effect_lanes(&mut self) -> Option<SmallVec<[C; 8]>> {
        let mask = self.side_effect_mask()?;
        Some(
            (0..self.lanes as usize)
                .map(|lane| {
                    let bit = self.lane(Ty::B1, &mask, lane);
                    self.mask_word_to_bool(bit)
                })
                .collect(),
        )
    }

    fn store_lanes(&mut self, address: &Address, values: &[Value], ty: Ty) -> Result<()> {
        let bits = self.effect_lanes();
        let bytes = ty.bytes() * values.len() as u32;
        for lane in 0..self.lanes as usize {
            let (at, ok) = self.lane_address(address, lane, bytes)?;
            let go = match (&bits, ok) {
                (Some(bits), Some(ok)) => Some(self.b.ins().band(bits[lane], ok)),
                (Some(bits), None) => Some(bits[lane]),
                (None, ok) => ok,
            };
            let at = go.map_or(at, |go| self.b.ins().select(go, at, self.sink));
            for (i, &v) in values.iter().enumerate() {
                let c = self.value_lane(v, lane)?;
                self.b.ins().store(trusted(), c, at, i as i32 * ty.bytes() as i32);
            }
        }
        Ok(())
    }
}
