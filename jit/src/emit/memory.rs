//! Loads, stores and atomics.
//!
//! The emission of an access depends on its buffer and on the shape of its offset:
//!
//! * With a uniform buffer and offset it is one scalar access.
//! * If offsets step by the size of the access, it is whole vectors behind one bounds check
//!   (`contiguous`).
//! * If offsets step otherwise, lanes have constant distances behind one check (`strided`).
//! * All other accesses are one per lane, several components at a time, transposed into vectors.
//!
//! A load out of range reads zeros, or is clamped and masked. A store that is masked or out of
//! range goes to the batch's sink. Scalar code checks bounds in 64 bits; vector code checks them
//! against a saturated 32-bit limit.

use super::Emitter;
use super::element_run::ElementRun;
use super::value_rep::{BufferRange, ValueRep, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{Binary, Inst, InstData, MemFlags, Op, Space, Ty, Value, ValueDef};
use crate::lir::{Access, AccessReason, IntCond, Type, Value as C};
use base::abi::{ADDRESS_TAIL, BUFFER_BYTES};
use smallvec::SmallVec;

/// Returns an access to the driver's own structs or to checked device memory.
pub fn trusted(reason: AccessReason, offset: i32) -> Access {
    Access { offset, ..Access::new(reason) }
}

/// Returns a load that may be merged and moved, because the memory does not change while the
/// function runs.
pub fn read_only(reason: AccessReason, offset: i32) -> Access {
    Access { readonly: true, ..trusted(reason, offset) }
}

/// Returns a load of an object that a descriptor refers to, which need not exist if the load is not
/// reached.
pub fn guarded(reason: AccessReason, offset: i32) -> Access {
    Access { guarded: true, ..read_only(reason, offset) }
}

/// Returns an access of the given kind at another offset.
pub fn access_at_offset(access: Access, offset: i32) -> Access {
    Access { offset, ..access }
}

/// Returns the address bits that identify the aligned cell of `bytes` bytes (a power of two) that
/// an address lies in.
pub fn alignment_mask(bytes: u32) -> u64 {
    !(u64::from(bytes) - 1)
}

/// Checks the size of an access through a pointer. Only its first byte is checked at run time, so
/// it must not exceed the accessible bytes behind live memory ([`ADDRESS_TAIL`]).
pub fn check_access_size(bytes: u32) -> Result<()> {
    if bytes as usize <= ADDRESS_TAIL {
        Ok(())
    } else {
        Err(Error::internal("an access through a pointer is too large"))
    }
}

/// The address operands of an access.
pub enum Address {
    /// One buffer for all lanes, and offsets.
    Buffer(BufferRange, Value),
    /// One buffer per lane, and offsets.
    Buffers(SmallVec<[BufferRange; 8]>, Value),
    /// 64-bit addresses.
    Global(Value),
    /// 64-bit addresses of atomics, each of which is rounded down to a multiple of the access's
    /// size. Other addresses are invalid; machines refuse them, or lock the whole memory bus if the
    /// access crosses a cache line.
    AlignedGlobal(Value),
}

impl Emitter<'_> {
    pub fn address(&mut self, space: Space, args: &[Value]) -> Result<(Address, usize)> {
        Ok(match space {
            Space::Buffer => match self.value_rep(args[0])? {
                ValueRep::Buffer(pair) => (Address::Buffer(pair, args[1]), 2),
                ValueRep::Buffers(list) => (Address::Buffers(list, args[1]), 2),
                _ => return Err(Error::internal("a buffer access without a buffer")),
            },
            Space::Shared => {
                let range = self.b.iconst(Type::I64, i64::from(self.shader.workgroup()?.shared_bytes));
                (Address::Buffer(BufferRange { address: self.function.shared(), range }, args[0]), 1)
            }
            Space::Push => {
                let offset = core::mem::offset_of!(base::abi::ShaderContext, push_constants) as i64;
                let address = self.b.iadd_imm(self.function.ctx(), offset);
                let range = self.b.iconst(Type::I64, base::limits::MAX_PUSH_CONSTANTS as i64);
                (Address::Buffer(BufferRange { address, range }, args[0]), 1)
            }
            Space::Global => (Address::Global(args[0]), 1),
        })
    }

    fn flags(&self, space: Space, flags: MemFlags) -> Access {
        if (flags.readonly || space == Space::Push) && !flags.volatile {
            read_only(AccessReason::Checked, 0)
        } else {
            trusted(AccessReason::Checked, 0)
        }
    }

    /// Emits `Op::Load`.
    pub fn load(&mut self, space: Space, flags: MemFlags, inst: Inst, data: &InstData) -> Result<()> {
        if self.vectorized_loads.is_follower(inst) {
            return Ok(());
        }
        let results: Vec<Value> = data.results().collect();
        let ty = self.shader.ty(results[0]);
        if flags.volatile {
            // No back end forwards an earlier load or store past a fence.
            self.b.fence();
        }
        let machine = self.flags(space, flags);
        let n = results.len();
        let run = ElementRun::checked_together(ty, n);
        let (address, _) = self.address(space, &data.args)?;
        if let Some(members) = self.vectorized_loads.group_led_by(inst).map(<[_]>::to_vec) {
            let Address::Buffer(pair, offset) = address else {
                return Err(Error::internal("neighbours in buffers that differ"));
            };
            return self.load_group(pair, offset, ty, &members, machine);
        }
        match address {
            Address::Buffer(pair, offset) => match self.value_rep(offset)? {
                ValueRep::Uniform(scalar) => {
                    let bytes = ty.bytes() * n as u32;
                    let address = match self.constant_bits(offset) {
                        Some(bits) => self.constant_address_or_zeros(pair, bits as u32, bytes),
                        None => {
                            let offset64 = self.offset_i64(offset, scalar)?;
                            self.address_or_zeros_i64(pair, offset64, bytes)
                        }
                    };
                    let values = self.load_components(address, ty, n, machine);
                    self.define_all(&results, values.into_iter().map(ValueRep::Uniform))
                }
                ValueRep::Affine(base, steps) => {
                    let at = (base, self.offset_i64(offset, base)?);
                    let values = if run.is_contiguous(steps, self.lanes.count()) {
                        self.load_contiguous(pair, at, run, machine)?
                    } else {
                        self.load_strided(pair, at, steps, run, machine)?
                    };
                    self.define_all(&results, values.into_iter().map(ValueRep::Varying))
                }
                rep => {
                    let each = |e: &mut Self| {
                        let offsets = e.gather_offsets(offset, &rep)?;
                        Ok(e.load_gather(pair, offsets, ty, n, machine))
                    };
                    let window = if n == 1 && !flags.volatile { self.dword_window(offset, ty)? } else { None };
                    let values = match window {
                        Some(window) => self.load_subdword(pair, &window, (ty, machine), each)?,
                        None => each(self)?,
                    };
                    self.define_all(&results, values.into_iter().map(ValueRep::Varying))
                }
            },
            Address::Buffers(list, offset) => {
                let mut lanes: Vec<Vec<C>> = vec![Vec::new(); n];
                for (lane, pair) in list.iter().enumerate() {
                    let offset = self.value_lane(offset, lane)?;
                    let values = self.load_uniform(*pair, offset, ty, n, machine);
                    values.into_iter().zip(&mut lanes).for_each(|(c, list)| list.push(c));
                }
                let value_reps: Vec<ValueRep> = lanes.iter().map(|l| ValueRep::Varying(self.b.build(l))).collect();
                self.define_all(&results, value_reps.into_iter())
            }
            Address::Global(pointer) | Address::AlignedGlobal(pointer) => {
                self.load_global(pointer, &results, ty, machine)
            }
        }
    }

    /// Returns `offset + bytes <= range` as I8, and the offset as I64.
    pub fn in_range(&mut self, pair: BufferRange, offset: C, bytes: u32) -> (C, C) {
        let offset64 = self.b.zext(Type::I64, offset);
        (self.in_range_i64(pair, offset64, bytes), offset64)
    }

    /// Returns `offset + bytes <= range` as I8, for an offset as I64.
    pub fn in_range_i64(&mut self, pair: BufferRange, offset64: C, bytes: u32) -> C {
        let end = self.b.iadd_imm(offset64, i64::from(bytes));
        self.b.icmp(IntCond::Ule, end, pair.range)
    }

    /// Returns an offset as I64. Its machine form is the scalar `narrow`, which is lane 0 of an
    /// affine offset.
    ///
    /// A multiple of one bounded index is computed in 64 bits from the index: the bound is then not
    /// needed, and the conversion is almost free. A negative index becomes so large that no added
    /// length wraps.
    pub fn offset_i64(&mut self, offset: Value, narrow: C) -> Result<C> {
        match self.bounded_index(offset) {
            Some((index, _, scale, 0)) => {
                let index = self.scalar(index)?;
                let index = self.b.zext(Type::I64, index);
                Ok(self.b.imul_imm(index, scale))
            }
            // The product of a 31-bit and a 16-bit number stays below the 48 bits of the mask.
            Some((index, _, scale @ ..=0xffff, plus)) => {
                let index = self.scalar(index)?;
                let index = self.b.sext(Type::I64, index);
                let offset64 = self.b.imul_imm(index, scale);
                let offset64 = self.b.iadd_imm(offset64, plus);
                Ok(self.b.and_imm(offset64, (1 << 48) - 1))
            }
            _ => Ok(self.b.zext(Type::I64, narrow)),
        }
    }

    /// Returns the offsets of a gather. For a multiple of one bounded index, an unsigned minimum is
    /// a sufficient bound, because it also clamps negative indices.
    pub fn gather_offsets(&mut self, offset: Value, rep: &ValueRep) -> Result<C> {
        match self.bounded_index(offset) {
            Some((index, limit, scale, 0)) => {
                let max_value = self.word(limit as i32);
                let index = self.vector(index)?;
                let index = self.b.umin(index, max_value);
                Ok(if scale.count_ones() == 1 {
                    self.b.shl_imm(index, scale.trailing_zeros())
                } else {
                    self.b.imul_imm(index, scale)
                })
            }
            _ => self.rep_to_vector(Ty::I32, rep),
        }
    }

    /// Returns `(i, limit, scale, plus)` of an offset `Bound(i, limit) * scale + plus`.
    pub fn bounded_index(&self, offset: Value) -> Option<(Value, i64, i64, i64)> {
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
            // Across barriers only values that are used there are kept: the offset, but not always
            // its operands.
            (Binary::Bound, index, limit) if self.suspension.is_available(index) => {
                Some((index, self.constant_bits(limit)? as i64, scale, plus))
            }
            _ => None,
        }
    }

    /// Returns the address of an access at a scalar offset, or that of zeros if it is out of range.
    pub fn address_or_zeros(&mut self, pair: BufferRange, offset: C, bytes: u32) -> C {
        let offset64 = self.b.zext(Type::I64, offset);
        self.address_or_zeros_i64(pair, offset64, bytes)
    }

    /// Returns the address of an access at an offset as I64, or that of zeros if it is out of
    /// range.
    fn address_or_zeros_i64(&mut self, pair: BufferRange, offset64: C, bytes: u32) -> C {
        let ok = self.in_range_i64(pair, offset64, bytes);
        let address = self.b.iadd(pair.address, offset64);
        self.b.select(ok, address, self.function.zeros())
    }

    /// Returns the address of an access at a constant offset, or that of zeros if it is out of
    /// range.
    fn constant_address_or_zeros(&mut self, pair: BufferRange, offset: u32, bytes: u32) -> C {
        let end = i64::from(offset) + i64::from(bytes);
        let ok = self.b.icmp_imm(IntCond::Uge, pair.range, end);
        let address = if offset == 0 { pair.address } else { self.b.iadd_imm(pair.address, i64::from(offset)) };
        self.b.select(ok, address, self.function.zeros())
    }

    /// Loads `n` components from an address.
    pub fn load_components(&mut self, address: C, ty: Ty, n: usize, flags: Access) -> Vec<C> {
        let offset = |i: usize| (i as u32 * ty.bytes()) as i32;
        (0..n).map(|i| self.b.load(scalar_type(ty), access_at_offset(flags, offset(i)), address)).collect()
    }

    /// Emits one access of `n` components at a scalar offset, which gives 0 out of range.
    fn load_uniform(&mut self, pair: BufferRange, offset: C, ty: Ty, n: usize, flags: Access) -> Vec<C> {
        let address = self.address_or_zeros(pair, offset, ty.bytes() * n as u32);
        self.load_components(address, ty, n, flags)
    }

    /// Returns the mask of lanes whose `bytes` bytes at `offsets` are in range.
    pub fn in_range_mask(&mut self, pair: BufferRange, offsets: C, bytes: u32) -> C {
        let here = self.b.current();
        // If the buffer is the same for the whole call, so are its bounds, which are then computed
        // once. Shaders with barriers are excluded, because too many values live long in them
        // already.
        let early = self.function.workgroup_block().is_some()
            && !self.suspension.any()
            && self.b.is_defined_in(pair.range, self.function.entry_block());
        if early {
            self.b.resume_block(self.function.entry_block());
        }
        let last_offset = self.b.iadd_imm(pair.range, -i64::from(bytes));
        let any = self.b.icmp_imm(IntCond::Sge, last_offset, 0);
        let max_value = self.b.iconst(Type::I64, 0xffff_ffff);
        let limit = self.b.umin(last_offset, max_value);
        let limit = self.b.narrow(Type::I32, limit);
        let (words, masks) = (self.vector_type(Ty::I32), self.vector_type(Ty::B1));
        let limit = self.b.splat(words, limit);
        let any = self.b.splat(masks, any);
        self.b.resume_block(here);
        let ok = self.b.icmp(IntCond::Ule, offsets, limit);
        self.b.and(ok, any)
    }

    /// Emits one access per lane.
    pub fn load_gather(&mut self, pair: BufferRange, offsets: C, ty: Ty, n: usize, access: Access) -> Vec<C> {
        let ok = self.in_range_mask(pair, offsets, ty.bytes() * n as u32);
        let vector = self.vector_type(ty);
        // A descriptor guarantees only this number of readable bytes.
        let max_value = BUFFER_BYTES as usize / ty.bytes() as usize;
        let mut out = Vec::new();
        for first in (0..n).step_by(max_value) {
            let count = max_value.min(n - first);
            // The distance from the first component becomes part of the offset, because an access
            // out of range may read only the first bytes.
            let offsets = self.b.iadd_imm(offsets, (first * ty.bytes() as usize) as i64);
            out.extend(self.b.gather(vector, access, count, ok, pair.address, offsets));
        }
        out
    }

    /// Emits `Op::Store`.
    pub fn store(&mut self, space: Space, data: &InstData) -> Result<()> {
        let (address, used) = self.address(space, &data.args)?;
        let values = data.args[used..].to_vec();
        let ty = self.shader.ty(values[0]);
        let run = ElementRun::checked_together(ty, values.len());
        if let Address::Buffer(pair, offset) = &address
            && let ValueRep::Affine(base, steps) = self.value_rep(*offset)?
        {
            let at = (base, self.offset_i64(*offset, base)?);
            return if run.is_contiguous(steps, self.lanes.count()) {
                self.store_contiguous(*pair, at, &values, run)
            } else {
                self.store_strided(*pair, at, steps, &values, run)
            };
        }
        self.store_lanes(&address, &values, ty)
    }

    /// Returns the address of each lane's access, and the mask of lanes that have an effect and are
    /// in range; all other lanes access the sink. All lanes are checked at once, so that only the
    /// access remains for each.
    pub fn lane_locations(&mut self, address: &Address, bytes: u32) -> Result<(SmallVec<[C; 8]>, C)> {
        let (at, go) = self.lane_addresses(address, bytes)?;
        Ok(((0..self.lanes.count() as usize).map(|lane| self.b.extract(at, lane)).collect(), go))
    }

    /// Returns the addresses of [`Emitter::lane_locations`] as a vector, and the mask.
    pub fn lane_addresses(&mut self, address: &Address, bytes: u32) -> Result<(C, C)> {
        let long = self.vector_type(Ty::I64);
        let (addresses, mut go) = match address {
            Address::Global(pointer) | Address::AlignedGlobal(pointer) => {
                let mut addresses = self.vector(*pointer)?;
                if let Address::AlignedGlobal(_) = address {
                    let cells = self.splat_constant(Ty::I64, alignment_mask(bytes));
                    addresses = self.b.and(addresses, cells);
                }
                check_access_size(bytes)?;
                (addresses, self.live_lanes(addresses))
            }
            Address::Buffer(pair, offset) => {
                let rep = self.value_rep(*offset)?;
                let offsets = self.gather_offsets(*offset, &rep)?;
                let ok = self.in_range_mask(*pair, offsets, bytes);
                let (base, offset64) = (self.b.splat(long, pair.address), self.b.zext(long, offsets));
                (self.b.iadd(base, offset64), ok)
            }
            Address::Buffers(list, offset) => {
                let (mut addresses, mut oks) = (SmallVec::<[C; 8]>::new(), SmallVec::<[C; 8]>::new());
                for (lane, pair) in list.iter().enumerate() {
                    let offset = self.value_lane(*offset, lane)?;
                    let (ok, offset64) = self.in_range(*pair, offset, bytes);
                    addresses.push(self.b.iadd(pair.address, offset64));
                    oks.push(ok);
                }
                (self.b.build(&addresses), self.b.build(&oks))
            }
        };
        if let Some(mask) = self.side_effect_mask() {
            go = self.b.and(go, mask);
        }
        let sink = self.b.splat(long, self.function.sink());
        Ok((self.b.select(go, addresses, sink), go))
    }

    fn store_lanes(&mut self, address: &Address, values: &[Value], ty: Ty) -> Result<()> {
        let (places, _) = self.lane_locations(address, ty.bytes() * values.len() as u32)?;
        for (lane, at) in places.into_iter().enumerate() {
            for (i, &v) in values.iter().enumerate() {
                let c = self.value_lane(v, lane)?;
                self.b.store(trusted(AccessReason::Checked, i as i32 * ty.bytes() as i32), c, at);
            }
        }
        Ok(())
    }
}
