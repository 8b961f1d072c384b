//! Atomic operations, in the order of the lanes.
//!
//! Each active lane has one locked operation; lanes that meet at one address share a single one.
//! Operations on workgroup memory are not locked, because one thread runs the workgroup.
//!
//! Atomic loads and stores are ordinary accesses that are kept in order. No machine tears an
//! aligned element, not even in vectors, and order is all that Vulkan requires beyond that.

use super::Emitter;
use super::memory::{Address, alignment_mask, trusted};
use super::value_rep::{BufferRange, ValueRep, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{Binary, InstData, Scan, Space, Ty, Value, eval};
use crate::lir::{AccessReason, IntCond, Rmw, Type, Value as C};
use base::abi::AtomicOp;
use smallvec::SmallVec;

/// An operation whose operands can be combined across lanes before one atomic access.
struct Combine {
    /// Operation that combines the operands of the lanes.
    op: Binary,
    /// Atomic operation that applies the combined operand to memory.
    rmw: Rmw,
}

impl Combine {
    fn from_atomic(op: AtomicOp) -> Option<Combine> {
        let (op, rmw) = match op {
            AtomicOp::Add => (Binary::IAdd, Rmw::Add),
            AtomicOp::Sub => (Binary::IAdd, Rmw::Sub),
            AtomicOp::SMin => (Binary::SMin, Rmw::Smin),
            AtomicOp::UMin => (Binary::UMin, Rmw::Umin),
            AtomicOp::SMax => (Binary::SMax, Rmw::Smax),
            AtomicOp::UMax => (Binary::UMax, Rmw::Umax),
            AtomicOp::And => (Binary::And, Rmw::And),
            AtomicOp::Or => (Binary::Or, Rmw::Or),
            AtomicOp::Xor => (Binary::Xor, Rmw::Xor),
            AtomicOp::Load
            | AtomicOp::Store
            | AtomicOp::Exchange
            | AtomicOp::CompareExchange
            | AtomicOp::FAdd
            | AtomicOp::FMin
            | AtomicOp::FMax => return None,
        };
        Some(Combine { op, rmw })
    }
}

impl Emitter<'_> {
    /// Emits `Op::Atomic`.
    pub fn atomic(&mut self, space: Space, op: AtomicOp, data: &InstData) -> Result<()> {
        let op = self.observable_op(op, data);
        if op == AtomicOp::Store {
            self.order_accesses(space);
            self.store(space, data)?;
            self.order_accesses(space);
            return Ok(());
        }
        let (address, used) = match self.address(space, &data.args)? {
            (Address::Global(pointer), used) => (Address::AlignedGlobal(pointer), used),
            other => other,
        };
        let operands = data.args[used..].to_vec();
        if self.deferred.is_some() && space != Space::Shared {
            return self.deferred_atomic(&address, operands[0]);
        }
        let result = (data.result_count == 1).then(|| data.result());
        let ty = match (result, operands.first()) {
            (Some(r), _) => self.shader.ty(r),
            (None, Some(&v)) => self.shader.ty(v),
            _ => return Err(Error::internal("an atomic without a type")),
        };
        let result = result.filter(|&r| self.region_infos.is_used(r));
        if let Some(combine) = Combine::from_atomic(op)
            && let Some((at, ok)) = self.common_address(&address, ty)?
        {
            return self.combined_atomic(combine, (at, ok), operands[0], result);
        }
        if let Some(float) = float_operation(op)
            && let Some(place) = self.common_address(&address, ty)?
        {
            return self.combined_float_atomic(float, space, place, operands[0], result);
        }
        if op == AtomicOp::Load
            && let Address::Buffer(pair, offset) = address
            && let Some(result) = result
        {
            return self.atomic_loads(space, (pair, offset), result);
        }
        if space != Space::Shared && self.side_effect_mask().is_some() {
            return self.atomic_active(op, ty, &address, &operands, result);
        }
        let (places, go) = self.lane_locations(&address, ty.bytes())?;
        let mut olds = Vec::new();
        for (lane, at) in places.into_iter().enumerate() {
            // A lane without effect accesses the sink, so that the loop of a compare-and-swap ends
            // there too.
            let values = operands.iter().map(|&v| self.value_lane(v, lane)).collect::<Result<SmallVec<[C; 2]>>>()?;
            olds.push(match space {
                Space::Shared => self.shared_lane(op, ty, at, &values)?,
                _ => self.atomic_lane(op, ty, at, &values)?,
            });
        }
        let Some(result) = result else { return Ok(()) };
        let olds = self.b.build(&olds);
        let none = self.splat_constant(ty, 0);
        let olds = self.b.select(go, olds, none);
        self.define(result, ValueRep::Varying(olds))
    }

    /// Returns the observable part of an operation: an exchange whose result is unused is a store.
    ///
    /// The store does not end the release sequence of the cell's earlier writers either. Machines
    /// have one order of stores that all threads see. A thread that sees a store thus sees
    /// everything that was ordered before an earlier store to that cell.
    fn observable_op(&self, op: AtomicOp, data: &InstData) -> AtomicOp {
        let used = data.results().any(|r| self.region_infos.is_used(r));
        if op == AtomicOp::Exchange && !used { AtomicOp::Store } else { op }
    }

    /// Orders the accesses before this point and those after it; workgroup memory needs no fence,
    /// because one thread accesses it.
    fn order_accesses(&mut self, space: Space) {
        if space != Space::Shared {
            self.b.fence();
        }
    }

    /// Stores the addresses and operands of all lanes in consecutive rows of the frame. Returns the
    /// address of the rows and the mask of the lanes that have an effect.
    pub(super) fn store_lane_operands(&mut self, ty: Ty, address: &Address, operands: &[Value]) -> Result<(C, C)> {
        let (at, go) = self.lane_addresses(address, ty.bytes())?;
        let (rows, row) = (self.lane_rows(), self.row_bytes());
        let vectors = operands.iter().map(|&v| self.vector(v)).collect::<Result<SmallVec<[C; 2]>>>()?;
        for (i, &c) in core::iter::once(&at).chain(&vectors).enumerate() {
            self.b.store(trusted(AccessReason::Frame, row * i as i32), c, rows);
        }
        Ok((rows, go))
    }

    /// Emits a loop over the active lanes only, because a locked operation takes longer than
    /// everything else that a lane does, even on the sink.
    fn atomic_active(
        &mut self,
        op: AtomicOp,
        ty: Ty,
        address: &Address,
        operands: &[Value],
        result: Option<Value>,
    ) -> Result<()> {
        let (rows, go) = self.store_lane_operands(ty, address, operands)?;
        let row = self.row_bytes();
        let found = row * (1 + operands.len() as i32);
        if result.is_some() {
            let none = self.splat_constant(ty, 0);
            self.b.store(trusted(AccessReason::Frame, found), none, rows);
        }
        let active = self.begin_active_lanes(go);
        let place = self.lane_column(rows, &active.lanes, 8);
        let at = self.b.load(Type::I64, trusted(AccessReason::Frame, 0), place);
        let column = self.lane_column(rows, &active.lanes, ty.bytes());
        let values: SmallVec<[C; 2]> = (0..operands.len())
            .map(|i| self.b.load(scalar_type(ty), trusted(AccessReason::Frame, row * (1 + i as i32)), column))
            .collect();
        let old = self.atomic_lane(op, ty, at, &values)?;
        if result.is_some() {
            self.b.store(trusted(AccessReason::Frame, found), old, column);
        }
        self.end_active_lanes(&active);
        let Some(result) = result else { return Ok(()) };
        let vector = self.vector_type(ty);
        let olds = self.b.load(vector, trusted(AccessReason::Frame, found), rows);
        self.define(result, ValueRep::Varying(olds))
    }

    /// Emits atomic loads of lanes with different addresses: each is one access of a gather, and
    /// the fences keep all other accesses in order.
    fn atomic_loads(&mut self, space: Space, (pair, offset): (BufferRange, Value), result: Value) -> Result<()> {
        let rep = self.value_rep(offset)?;
        let offsets = self.gather_offsets(offset, &rep)?;
        self.order_accesses(space);
        let found = self.load_gather(pair, offsets, self.shader.ty(result), 1, trusted(AccessReason::Checked, 0));
        self.order_accesses(space);
        self.define_all(&[result], found.into_iter().map(ValueRep::Varying))
    }

    /// Returns the address that all lanes share, and whether it is in range; `None` if there is no
    /// such address.
    fn common_address(&mut self, address: &Address, ty: Ty) -> Result<Option<(C, C)>> {
        Ok(match *address {
            Address::Global(pointer) | Address::AlignedGlobal(pointer) => match self.value_rep(pointer)? {
                ValueRep::Uniform(at) => {
                    let cell = self.b.iconst(Type::I64, alignment_mask(ty.bytes()) as i64);
                    let at = self.b.and(at, cell);
                    Some((at, self.is_live(at)))
                }
                _ => None,
            },
            Address::Buffer(pair, offset) => match self.value_rep(offset)? {
                ValueRep::Uniform(offset) => {
                    let (ok, offset64) = self.in_range(pair, offset, ty.bytes());
                    Some((self.b.iadd(pair.address, offset64), ok))
                }
                _ => None,
            },
            Address::Buffers(..) => None,
        })
    }

    /// Emits one operation for all active lanes, which meet at one address. The result of a lane is
    /// the old value combined with the operands of the lanes before it.
    fn combined_atomic(
        &mut self,
        Combine { op, rmw }: Combine,
        (at, ok): (C, C),
        value: Value,
        result: Option<Value>,
    ) -> Result<()> {
        let ty = self.shader.ty(value);
        let fill = eval::identity(op, ty).ok_or_else(|| Error::internal("a combination without identity"))?;
        let fill = self.splat_constant(ty, fill);
        let mut values = self.vector(value)?;
        let mut go = ok;
        let mask = self.side_effect_mask();
        if let Some(mask) = mask {
            values = self.b.select(mask, values, fill);
            let any = self.b.any(mask);
            go = self.b.and(go, any);
        }
        let at = self.b.select(go, at, self.function.sink());
        let last = self.lanes.count() as usize - 1;
        let scan = if result.is_some() { Scan::Inclusive } else { Scan::Reduce };
        let sums = self.scan(scan, values, fill, |e, low, high| e.binary_machine(op, low, high));
        let total = self.b.extract(sums, last);
        let old = self.b.atomic_rmw(rmw, at, total);
        let Some(result) = result else { return Ok(()) };
        let before = self.pick(sums, fill, |lane| lane.checked_sub(1));
        let old = self.b.splat(self.b.ty(values), old);
        let found = match rmw {
            Rmw::Sub => self.b.isub(old, before),
            _ => self.binary_machine(op, old, before),
        };
        // Lanes without effect have the result 0.
        let active = match mask {
            Some(mask) => mask,
            None => self.mask(true),
        };
        let masks = self.vector_type(Ty::B1);
        let go = self.b.splat(masks, go);
        let active = self.b.and(active, go);
        let none = self.splat_constant(ty, 0);
        let found = self.b.select(active, found, none);
        self.define(result, ValueRep::Varying(found))
    }

    /// Emits one operation for all active lanes, which meet at one address. Each lane applies its
    /// operand to the result of the lane before it, because the order of float operations matters.
    fn combined_float_atomic(
        &mut self,
        op: Binary,
        space: Space,
        (at, ok): (C, C),
        value: Value,
        result: Option<Value>,
    ) -> Result<()> {
        let ty = self.shader.ty(value);
        let lanes = self.lanes.count() as usize;
        let values = (0..lanes).map(|lane| self.value_lane(value, lane)).collect::<Result<SmallVec<[C; 8]>>>()?;
        let bits = self.effect_lanes();
        let at = self.b.select(ok, at, self.function.sink());
        // Results of the lanes.
        let mut found: SmallVec<[C; 8]> = SmallVec::new();
        let mut chain = |e: &mut Self, old: C| {
            let mut last = old;
            for lane in 0..lanes {
                found.push(last);
                let new = e.float_operation(op, ty, last, values[lane]);
                last = bits.as_ref().map_or(new, |bits| e.b.select(bits[lane], new, last));
            }
            last
        };
        if space == Space::Shared {
            let old = self.b.load(scalar_type(ty), trusted(AccessReason::Checked, 0), at);
            let new = chain(self, old);
            self.b.store(trusted(AccessReason::Checked, 0), new, at);
        } else {
            self.atomic_float(ty, at, chain);
        }
        let Some(result) = result else { return Ok(()) };
        let none = self.constant(ty, 0);
        for (lane, old) in found.iter_mut().enumerate() {
            let go = bits.as_ref().map_or(ok, |bits| self.b.and(bits[lane], ok));
            *old = self.b.select(go, *old, none);
        }
        let found = self.b.build(&found);
        self.define(result, ValueRep::Varying(found))
    }

    /// Emits the float operation of an atomic on scalars.
    fn float_operation(&mut self, op: Binary, ty: Ty, a: C, b: C) -> C {
        if ty != Ty::F16 {
            return self.binary_machine(op, a, b);
        }
        // Halves are computed in binary32 and rounded, as `passes::lower_f16` does.
        let [a, b] = [a, b].map(|x| self.b.half_to_float(Type::F32, x));
        let r = self.binary_machine(op, a, b);
        self.b.float_to_half(scalar_type(ty), r)
    }

    /// Emits a lane's operation in workgroup memory. It is not locked: one thread runs the whole
    /// workgroup, so no other access can come in between.
    fn shared_lane(&mut self, op: AtomicOp, ty: Ty, at: C, values: &[C]) -> Result<C> {
        use AtomicOp as A;
        use Binary as B;
        let plain = trusted(AccessReason::Checked, 0);
        let new = match op {
            A::Load => return Ok(self.b.load(scalar_type(ty), plain, at)),
            A::Store => return Err(unexpected_store()),
            A::Exchange | A::CompareExchange => None,
            A::Add => Some(B::IAdd),
            A::Sub => Some(B::ISub),
            A::SMin => Some(B::SMin),
            A::UMin => Some(B::UMin),
            A::SMax => Some(B::SMax),
            A::UMax => Some(B::UMax),
            A::And => Some(B::And),
            A::Or => Some(B::Or),
            A::Xor => Some(B::Xor),
            A::FAdd => Some(B::FAdd),
            A::FMin => Some(B::FMin),
            A::FMax => Some(B::FMax),
        };
        let old = self.b.load(scalar_type(ty), plain, at);
        let new = match new {
            Some(binary) if ty.is_float() => self.float_operation(binary, ty, old, values[0]),
            Some(binary) => self.binary_machine(binary, old, values[0]),
            None if op == A::Exchange => values[0],
            None => {
                let bits = word_type(ty);
                let [word, expected] = [old, values[1]].map(|c| self.b.bitcast(bits, c));
                let same = self.b.icmp(IntCond::Eq, word, expected);
                self.b.select(same, values[0], old)
            }
        };
        self.b.store(plain, new, at);
        Ok(old)
    }

    fn atomic_lane(&mut self, op: AtomicOp, ty: Ty, at: C, values: &[C]) -> Result<C> {
        use AtomicOp as A;
        use Rmw as R;
        let bits = word_type(ty);
        let words: SmallVec<[C; 2]> = values.iter().map(|&v| self.b.bitcast(bits, v)).collect();
        let rmw = match op {
            A::Exchange => R::Exchange,
            A::Add => R::Add,
            A::Sub => R::Sub,
            A::SMin => R::Smin,
            A::UMin => R::Umin,
            A::SMax => R::Smax,
            A::UMax => R::Umax,
            A::And => R::And,
            A::Or => R::Or,
            A::Xor => R::Xor,
            A::CompareExchange => {
                let old = self.b.atomic_cas(at, words[1], words[0]);
                return Ok(self.b.bitcast(scalar_type(ty), old));
            }
            A::Load => {
                let old = self.b.atomic_load(bits, at);
                return Ok(self.b.bitcast(scalar_type(ty), old));
            }
            A::Store => return Err(unexpected_store()),
            A::FAdd | A::FMin | A::FMax => {
                let float = float_operation(op).ok_or_else(|| Error::internal("a float operation"))?;
                return Ok(self.atomic_float(ty, at, |e, old| e.float_operation(float, ty, old, values[0])));
            }
        };
        let old = self.b.atomic_rmw(rmw, at, words[0]);
        Ok(self.b.bitcast(scalar_type(ty), old))
    }

    /// Emits a compare-and-swap loop around a function of the old value.
    fn atomic_float(&mut self, ty: Ty, at: C, new: impl FnOnce(&mut Self, C) -> C) -> C {
        let (retry, done) = (self.b.create_block(), self.b.create_block());
        let bits = word_type(ty);
        let old = self.b.append_param(retry, bits);
        let first = self.b.atomic_load(bits, at);
        self.b.jump(retry, &[first]);
        self.b.enter_loop(retry);
        let old_float = self.b.bitcast(scalar_type(ty), old);
        let new = new(self, old_float);
        let new = self.b.bitcast(bits, new);
        let seen = self.b.atomic_cas(at, old, new);
        let same = self.b.icmp(IntCond::Eq, seen, old);
        self.b.branch(same, done, &[], retry, &[seen]);
        self.b.seal_block(retry);
        self.enter(done);
        self.b.bitcast(scalar_type(ty), old)
    }
}

/// Returns the error for a store that was to be emitted lane by lane.
fn unexpected_store() -> Error {
    Error::internal("a store as an atomic of lanes")
}

/// Returns the float operation of an atomic, if it is one.
fn float_operation(op: AtomicOp) -> Option<Binary> {
    match op {
        AtomicOp::FAdd => Some(Binary::FAdd),
        AtomicOp::FMin => Some(Binary::FMin),
        AtomicOp::FMax => Some(Binary::FMax),
        AtomicOp::Exchange | AtomicOp::CompareExchange | AtomicOp::Load | AtomicOp::Store => None,
        AtomicOp::Add | AtomicOp::Sub | AtomicOp::SMin | AtomicOp::UMin | AtomicOp::SMax | AtomicOp::UMax => None,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => None,
    }
}

/// Returns the integer type that machines compare and exchange for a type of 16, 32 or 64 bits.
fn word_type(ty: Ty) -> Type {
    match ty.bytes() {
        8 => Type::I64,
        2 => Type::I16,
        _ => Type::I32,
    }
}
