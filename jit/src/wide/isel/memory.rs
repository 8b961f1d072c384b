//! Memory accesses and calls.

use super::compare::load_of;
use super::{ARGUMENT_BYTES, InstructionSelector, Parts, QUARTER, Rm, in_vector, malformed};
use crate::error::{Error, Result};
use crate::lir::{self, Access, Elem, Imm, InstData, Op, Rmw, Type};
use crate::wide::inst::{ARGUMENTS, Alu, Cc, Loop, Op as M, RAX, gpr, vector};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::{SmallVec, smallvec};

impl InstructionSelector<'_> {
    /// Selects an operation with effects that does not end its block.
    pub(super) fn access(&mut self, data: &InstData) -> Result<()> {
        let ty = data.ty;
        let parts: Parts = match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) => {
                let at = self.address(data.args[0], access.offset);
                self.load_parts(ty, at)
            }
            (Op::LoadU8, Imm::Access(access)) => {
                let at = self.address(data.args[0], access.offset);
                smallvec![self.b.int_one(M::Movzx8, false, at)]
            }
            (Op::LoadU16, Imm::Access(access)) => {
                let at = self.address(data.args[0], access.offset);
                smallvec![self.b.int_one(M::Movzx16, false, at)]
            }
            (Op::Store, Imm::Access(access)) => {
                let at = self.address(data.args[0], access.offset);
                match self.stored_lane(data.args[1]) {
                    Some((vector, lane)) => {
                        let per = self.b.per_part(self.lir.values[vector].ty);
                        let part = self.reg(vector, lane / per);
                        self.store_lane(ty, part, lane % per, at);
                    }
                    None => self.store(ty, at, data.args[1]),
                }
                return Ok(());
            }
            (Op::Gather, Imm::Gather(access, count)) => {
                let components = self.gather(data, access, count.into())?;
                for (v, parts) in data.results().zip(components) {
                    self.parts[v] = parts;
                }
                return Ok(());
            }
            (Op::Scatter, Imm::Gather(access, _)) => return self.scatter(data, access),
            (Op::AtomicRmw, Imm::Rmw(kind)) => match locked_alu(kind) {
                Some(alu) if self.use_analysis.uses[data.first] == 0 => {
                    let at = self.address(data.args[0], 0);
                    let v = self.reg(data.args[1], 0);
                    self.b.push(M::LockAlu(ty.lane_bytes() as u8, alu), false, 0, &[Operand::reg_use(v)], Some(at));
                    return Ok(());
                }
                _ => smallvec![self.read_modify_write(kind, ty, data.args[0], data.args[1])],
            },
            (Op::AtomicCas, _) => smallvec![self.compare_and_swap(ty, data)],
            (Op::AtomicLoad, _) => {
                let at = self.address(data.args[0], 0);
                self.load_parts(ty, at)
            }
            // Deferred loads do not move across the fence. The processor lets only loads overtake
            // earlier stores, which Vulkan allows because it has no sequential consistency.
            (Op::Fence, _) => return Ok(()),
            (Op::Call, _) => {
                self.call(data)?;
                return Ok(());
            }
            _ => return Err(malformed(data)),
        };
        self.parts[data.first] = parts;
        Ok(())
    }

    pub(super) fn stack_address(&mut self, data: &InstData) -> Result<VReg> {
        let Imm::Slot(slot, offset) = data.imm else { return Err(malformed(data)) };
        let disp = self.slots[slot.as_u32() as usize] + offset;
        Ok(self.b.lea(true, Rm::At { base: None, index: None, disp }))
    }

    fn store(&mut self, ty: Type, at: Rm, v: lir::Value) {
        if !in_vector(ty) {
            let bytes = ty.lane_bytes() as u8;
            match self.imm(v) {
                Some(imm) => self.b.push(M::StoreImm(bytes), false, imm, &[], Some(at)),
                None => {
                    let v = self.reg(v, 0);
                    self.b.push(M::Store(bytes), false, 0, &[Operand::reg_use(v)], Some(at));
                }
            }
            return;
        }
        let op = match ty.bytes() {
            4 => Vex::VmovssStore,
            8 => Vex::VmovsdStore,
            _ => Vex::VmovupsStore,
        };
        for i in 0..self.b.part_count(ty) {
            let part = self.lane_reg(v, i);
            self.b.put(op, self.b.size(ty), part, at.plus(self.b.part * i), 0);
        }
    }

    /// Gathers lanes. Lanes that are not active read at the address itself; the values that they
    /// read are masked.
    fn gather(&mut self, data: &InstData, access: Access, count: usize) -> Result<Vec<Parts>> {
        let ty = data.ty;
        let words = ty.with(Elem::I32);
        let (mask, base, offsets) = (self.regs(data.args[0]), self.reg(data.args[1], 0), self.regs(data.args[2]));
        let w = self.b.size(words);
        let active = |e: &mut Self, ty, w, v, mask| match e.b.avx512 {
            true => e.b.one_masked(load_of(ty), w, mask, v),
            false => e.b.two(Vex::Vpand, w, v, mask),
        };
        let offsets: Parts = offsets.iter().zip(&mask).map(|(&o, &m)| active(self, words, w, o, m)).collect();
        let numbers = self.spread(1, w, &offsets)?;
        let bytes = ty.lane_bytes() as usize;
        let mask = self.b.mask_for(ty, mask);
        let per = self.b.per_part(ty);
        let mut components = vec![Parts::new(); count];
        let w = self.b.size(ty);
        for part in 0..self.b.part_count(ty) {
            let lanes: SmallVec<[Rm; 16]> = (part * per..(part + 1) * per)
                .map(|lane| {
                    let offset = self.b.int_one(M::Mov, false, numbers.plus(4 * lane));
                    Rm::At { base: Some(base), index: Some((offset, 0)), disp: access.offset }
                })
                .collect();
            let found = self.gather_part(ty, &lanes, count);
            for (component, found) in components.iter_mut().zip(found) {
                let found = active(self, ty, w, found, mask[part]);
                component.push(found);
            }
        }
        debug_assert!(bytes * count <= 16);
        Ok(components)
    }

    /// Loads adjacent components: pairs and fours of words by one load, which are then transposed.
    fn gather_part(&mut self, ty: Type, lanes: &[Rm], count: usize) -> Parts {
        let bytes = ty.lane_bytes() as usize;
        let w = self.b.size(ty);
        let quarters = w.bytes() / QUARTER;
        match (bytes, count) {
            (4, 4) => {
                // Each of the four rows has the components of a lane and of the lanes four, eight
                // and twelve further on.
                let rows: SmallVec<[VReg; 4]> = (0..4)
                    .map(|i| match w.is_wide() {
                        true => {
                            let row = (0..quarters / 2).map(|half| {
                                let low = self.b.one(Vex::Vmovups, false, lanes[i + 8 * half]);
                                self.b.join(low, lanes[i + 8 * half + 4])
                            });
                            let row = row.collect();
                            self.b.join_all(row, 32)[0]
                        }
                        false => self.b.one(Vex::Vmovups, false, lanes[i]),
                    })
                    .collect();
                let [low_a, low_b] = [0, 2].map(|i| self.b.two(Vex::Vunpcklps, w, rows[i], rows[i + 1]));
                let [high_a, high_b] = [0, 2].map(|i| self.b.two(Vex::Vunpckhps, w, rows[i], rows[i + 1]));
                smallvec![
                    self.b.two(Vex::Vunpcklpd, w, low_a, low_b),
                    self.b.two(Vex::Vunpckhpd, w, low_a, low_b),
                    self.b.two(Vex::Vunpcklpd, w, high_a, high_b),
                    self.b.two(Vex::Vunpckhpd, w, high_a, high_b),
                ]
            }
            (4, 2 | 3) => {
                let pairs: SmallVec<[VReg; 8]> = lanes
                    .chunks(2)
                    .map(|pair| {
                        let low = self.b.one(Vex::VmovsdLoad, false, pair[0]);
                        self.b.two(Vex::VmovhpsLoad, false, low, pair[1])
                    })
                    .collect();
                let [a, b] = [0, 1].map(|first| {
                    let own = pairs.iter().copied().skip(first).step_by(2).collect();
                    self.b.join_all(own, QUARTER)[0]
                });
                let mut found: Parts =
                    [0x88, 0xdd].into_iter().map(|imm| self.b.two_imm(Vex::Vshufps, w, a, b, imm)).collect();
                if count == 3 {
                    let third: SmallVec<[Rm; 16]> = lanes.iter().map(|lane| lane.plus(8)).collect();
                    found.push(self.build_from(ty, &third));
                }
                found
            }
            _ => (0..count)
                .map(|i| {
                    let own: SmallVec<[Rm; 16]> = lanes.iter().map(|lane| lane.plus(i * bytes)).collect();
                    self.build_from(ty, &own)
                })
                .collect(),
        }
    }

    /// Scatters lanes. Lanes that are not active write to the sink.
    fn scatter(&mut self, data: &InstData, access: Access) -> Result<()> {
        let ty = data.ty;
        let (base, sink) = (self.reg(data.args[1], 0), self.reg(data.args[3], 0));
        let (mask, offsets) = (self.lane_regs(data.args[0]), self.regs(data.args[2]));
        let w = self.b.size(ty.with(Elem::I32));
        let (active, numbers) = (self.spread(0, w, &mask)?, self.spread(1, w, &offsets)?);
        let values: SmallVec<[Parts; 4]> = data.args[4..].iter().map(|&v| self.regs(v)).collect();
        let bytes = ty.lane_bytes() as usize;
        let per = self.b.per_part(ty);
        for lane in 0..ty.lanes() {
            let offset = self.b.int_one(M::Mov, false, numbers.plus(4 * lane));
            // The sink is accessed without the offset.
            let address = self.b.lea(true, Rm::At { base: Some(base), index: Some((offset, 0)), disp: access.offset });
            self.b.push(M::AluImm(Alu::Cmp), false, 0, &[], Some(active.plus(4 * lane)));
            let address = self.b.int_two(M::Cmov(Cc::Ne), true, sink, address);
            for (i, value) in values.iter().enumerate() {
                let at = Rm::At { base: Some(address), index: None, disp: (i * bytes) as i32 };
                self.store_lane(ty, value[lane / per], lane % per, at);
            }
        }
        Ok(())
    }

    /// Returns the vector and the lane of a value that is stored from its vector.
    fn stored_lane(&self, v: lir::Value) -> Option<(lir::Value, usize)> {
        match self.lir.values[v].def {
            lir::Def::Inst(inst) if self.use_analysis.sunk[inst] => match self.lir.insts[inst] {
                InstData { op: Op::Extract, imm: Imm::Lane(lane), ref args, .. } => Some((args[0], lane.into())),
                _ => None,
            },
            _ => None,
        }
    }

    fn store_lane(&mut self, ty: Type, part: VReg, lane: usize, at: Rm) {
        let bytes = ty.lane_bytes() as usize;
        let half = self.b.quarter(part, lane * bytes / QUARTER);
        let lane = (lane * bytes % QUARTER / bytes) as u8;
        match (bytes, lane) {
            (8, 0) => self.b.put(Vex::VmovsdStore, false, half, at, 0),
            (8, _) => self.b.put(Vex::VmovhpsStore, false, half, at, 0),
            (4, 0) => self.b.put(Vex::VmovssStore, false, half, at, 0),
            (4, _) => self.b.put(Vex::Vpextrd, false, half, at, lane),
            (2, _) => self.b.put(Vex::Vpextrw, false, half, at, lane),
            _ => self.b.put(Vex::Vpextrb, false, half, at, lane),
        }
    }

    fn read_modify_write(&mut self, kind: Rmw, ty: Type, address: lir::Value, v: lir::Value) -> VReg {
        let bytes = ty.lane_bytes() as u8;
        let at = self.address(address, 0);
        let mut v = self.reg(v, 0);
        let operation = match kind {
            Rmw::Exchange | Rmw::Add | Rmw::Sub => {
                if kind == Rmw::Sub {
                    v = self.b.int_imm(M::Neg, bytes == 8, v, 0);
                }
                let op = if kind == Rmw::Exchange { M::Xchg(bytes) } else { M::LockXadd(bytes) };
                let old = self.b.new_int();
                self.b.push(op, false, 0, &[Operand::reg_reuse_def(old, 1), Operand::reg_use(v)], Some(at));
                return old;
            }
            Rmw::And => Loop::Alu(Alu::And),
            Rmw::Or => Loop::Alu(Alu::Or),
            Rmw::Xor => Loop::Alu(Alu::Xor),
            // The operand is compared with the old value.
            Rmw::Smin => Loop::Choose(Cc::L),
            Rmw::Smax => Loop::Choose(Cc::G),
            Rmw::Umin => Loop::Choose(Cc::B),
            Rmw::Umax => Loop::Choose(Cc::A),
        };
        let (old, new) = (self.b.new_int(), self.b.new_int());
        let at = self.at_base(at);
        let operands = [
            Operand::reg_fixed_def_at_start(old, gpr(RAX)),
            Operand::reg_temp(new),
            Operand::reg_use_at_end(v),
            Operand::reg_use_at_end(at),
        ];
        // The only register of the memory operand is its base, the last operand, which is read
        // until the instruction ends.
        self.b.push_at_end(M::RmwLoop(bytes, operation), &operands);
        old
    }

    /// Returns an address in one register.
    fn at_base(&mut self, at: Rm) -> VReg {
        match at {
            Rm::At { base: Some(base), index: None, disp: 0 } => base,
            at => self.b.lea(true, at),
        }
    }

    fn compare_and_swap(&mut self, ty: Type, data: &InstData) -> VReg {
        let bytes = ty.lane_bytes() as u8;
        let at = self.address(data.args[0], 0);
        let (expected, new) = (self.reg(data.args[1], 0), self.reg(data.args[2], 0));
        let old = self.b.new_int();
        let operands =
            [Operand::reg_fixed_def(old, gpr(RAX)), Operand::reg_fixed_use(expected, gpr(RAX)), Operand::reg_use(new)];
        self.b.push(M::LockCmpxchg(bytes), false, 0, &operands, Some(at));
        old
    }

    fn call(&mut self, data: &InstData) -> Result<()> {
        let function = self.reg(data.args[0], 0);
        let mut operands: SmallVec<[Operand; 16]> = smallvec![Operand::reg_use(function)];
        let (mut integers, mut vectors, mut stack) = (ARGUMENTS.into_iter(), 0..8u8, 0);
        for &v in &data.args[1..] {
            let (ty, reg) = (self.lir.ty(v), self.reg(v, 0));
            let place = if in_vector(ty) { vectors.next().map(vector) } else { integers.next().map(gpr) };
            match place {
                Some(place) => operands.push(Operand::reg_fixed_use(reg, place)),
                None => {
                    let at = Rm::At { base: None, index: None, disp: stack };
                    if in_vector(ty) {
                        self.b.put(Vex::VmovsdStore, false, reg, at, 0);
                    } else {
                        self.b.push(M::Store(8), false, 0, &[Operand::reg_use(reg)], Some(at));
                    }
                    stack += 8;
                }
            }
        }
        if stack as u32 > ARGUMENT_BYTES {
            return Err(Error::internal("a call with too many arguments"));
        }
        let call = if self.rare && self.optimise { M::RareCall } else { M::Call };
        self.b.push(call, false, 0, &operands, None);
        Ok(())
    }
}

/// Returns the operation that one instruction applies to memory if the old value is not needed.
fn locked_alu(kind: Rmw) -> Option<Alu> {
    match kind {
        Rmw::Add => Some(Alu::Add),
        Rmw::Sub => Some(Alu::Sub),
        Rmw::And => Some(Alu::And),
        Rmw::Or => Some(Alu::Or),
        Rmw::Xor => Some(Alu::Xor),
        Rmw::Exchange | Rmw::Smin | Rmw::Smax | Rmw::Umin | Rmw::Umax => None,
    }
}
