//! Registers and memory operands of values: those that exist, constants, and values that are made
//! where they are used.

use super::builder::Bytes;
use super::use_analysis::small;
use super::{InstructionSelector, MAX_REGISTER_BYTES, Parts, Rm, in_vector};
use crate::lir::{self, Def, Elem, Imm, Op, Type};
use crate::wide::inst::Op as M;
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};
use smallvec::smallvec;

impl InstructionSelector<'_> {
    /// Returns a register of a value.
    pub(super) fn reg(&mut self, v: lir::Value, part: usize) -> VReg {
        if let Some(&reg) = self.parts[v].get(part) {
            return reg;
        }
        let ty = self.lir.ty(v);
        if self.is_constant(v) {
            return self.constant(v, part);
        }
        if let Some(at) = self.deferred(v) {
            let parts = self.load_parts(ty, at);
            self.parts[v] = parts;
            return self.parts[v][part];
        }
        self.materialize(v);
        self.parts[v][part]
    }

    /// Returns all registers of a value.
    pub(super) fn regs(&mut self, v: lir::Value) -> Parts {
        (0..self.b.part_count(self.lir.ty(v))).map(|i| self.reg(v, i)).collect()
    }

    /// Returns a register of a value or its place in memory: of vectors a whole register's bytes,
    /// of scalars their own bytes.
    pub(super) fn rm(&mut self, v: lir::Value, part: usize) -> Rm {
        if let Some(&reg) = self.parts[v].get(part) {
            return Rm::Reg(reg);
        }
        let ty = self.lir.ty(v);
        if self.is_constant(v) && in_vector(ty) && !self.b.in_masks(ty) {
            let all = self.constant_bytes(v, part);
            return match all.repeated(8.min(all.len)) {
                Some(eight) if all.len == MAX_REGISTER_BYTES => self.b.repeat(&eight[..8]),
                _ => self.b.bytes(&all.bytes[..all.len]),
            };
        }
        let whole = match ty.is_vector() {
            true => ty.bytes() >= 16,
            false => matches!(ty.elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64),
        };
        match self.deferred(v) {
            Some(at) if whole => at.plus(self.b.part * part),
            _ => Rm::Reg(self.reg(v, part)),
        }
    }

    /// Returns the place in memory of a value that is a deferred load, from a byte on.
    pub(super) fn source(&mut self, v: lir::Value, byte: usize) -> Option<Rm> {
        if !self.parts[v].is_empty() {
            return None;
        }
        self.deferred(v).map(|at| at.plus(byte))
    }

    pub(super) fn is_constant(&self, v: lir::Value) -> bool {
        matches!(self.lir.values[v].def, Def::Const(_) | Def::Lanes(_))
    }

    /// Returns true for a constant without NaNs among its lanes, with which no float operation has
    /// to choose between two NaNs.
    pub(super) fn is_number(&self, v: lir::Value) -> bool {
        let elem = self.lir.ty(v).elem;
        let infinity = if elem == Elem::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
        let magnitude = elem.mask() >> 1;
        self.lir.constant_lanes(v).is_some_and(|lanes| lanes.iter().all(|bits| bits & magnitude <= infinity))
    }

    /// Returns the address of a load that is made where it is used.
    fn deferred(&mut self, v: lir::Value) -> Option<Rm> {
        let Def::Inst(inst) = self.lir.values[v].def else { return None };
        let data = &self.lir.insts[inst];
        match (data.op, data.imm) {
            (Op::Load, Imm::Access(access)) if self.use_analysis.sunk[inst] => {
                Some(self.address(data.args[0], access.offset))
            }
            _ => None,
        }
    }

    /// Makes a deferred comparison or sum as an ordinary value.
    fn materialize(&mut self, v: lir::Value) {
        let Some(data) = self.lir.definition(v) else { unreachable!("a value that is nowhere") };
        let made = (self.pure)(self, data);
        let Ok(parts) = made else { unreachable!("an operation that is not what it was taken for") };
        self.parts[v] = parts;
    }

    fn constant_bytes(&self, v: lir::Value, part: usize) -> Bytes {
        let ty = self.lir.ty(v);
        let lane = ty.lane_bytes() as usize;
        let lanes = self.lir.constant_lanes(v).unwrap_or_default();
        let mask = ty.elem == Elem::B && ty.is_vector();
        let mut bytes = [0; MAX_REGISTER_BYTES];
        let own = lanes.iter().skip(part * self.b.part / lane);
        for (place, &bits) in bytes.chunks_mut(lane).zip(own) {
            let bits = if mask { bits.wrapping_neg() } else { bits };
            place.copy_from_slice(&bits.to_le_bytes()[..lane]);
        }
        let len = if ty.is_vector() { self.b.size(ty).bytes() } else { lane };
        if ty.is_vector() && lanes.len() * lane < len {
            // Lanes beyond the vector repeat its own, which makes the constant simplest.
            let own = lanes.len() * lane;
            (own..len).for_each(|i| bytes[i] = bytes[i % own]);
        }
        Bytes { bytes, len }
    }

    fn constant(&mut self, v: lir::Value, part: usize) -> VReg {
        let ty = self.lir.ty(v);
        if !in_vector(ty) {
            let bits = self.lir.constant(v).unwrap_or_default();
            return self.b.int(bits & ty.elem.mask());
        }
        if self.b.in_masks(ty) {
            return self.constant_mask(v, part);
        }
        let all = self.constant_bytes(v, part);
        self.b.vector_constant(&all)
    }

    /// Returns a constant as an immediate of 32 bits that is sign-extended to the type's size.
    pub(super) fn imm(&self, v: lir::Value) -> Option<i64> {
        let ty: Type = self.lir.ty(v);
        let bits = self.lir.constant(v).filter(|_| !in_vector(ty))?;
        let unused = 64 - ty.elem.bits();
        let signed = if ty.elem == Elem::B { bits as i64 } else { ((bits << unused) as i64) >> unused };
        i32::try_from(signed).ok().map(i64::from)
    }

    // Iteration over the registers of values.

    /// Applies a function to each register of one operand.
    pub(super) fn each_one(&mut self, v: lir::Value, f: impl Fn(&mut Self, Rm) -> VReg) -> Parts {
        (0..self.b.part_count(self.lir.ty(v)))
            .map(|i| {
                let a = self.rm(v, i);
                f(self, a)
            })
            .collect()
    }

    /// Applies a function to each pair of registers of two operands.
    pub(super) fn each_two(&mut self, a: lir::Value, b: lir::Value, f: impl Fn(&mut Self, VReg, Rm) -> VReg) -> Parts {
        self.each_two_numbered(a, b, |e, _, a, b| f(e, a, b))
    }

    /// Applies a function to each pair of registers of two operands, and to their index.
    pub(super) fn each_two_numbered(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, usize, VReg, Rm) -> VReg,
    ) -> Parts {
        (0..self.b.part_count(self.lir.ty(a)))
            .map(|i| {
                let (a, b) = (self.reg(a, i), self.rm(b, i));
                f(self, i, a, b)
            })
            .collect()
    }

    /// Applies a function to each pair of registers of two operands, which may be exchanged except
    /// for the choice between two NaNs. A constant without NaNs comes second.
    pub(super) fn each_constant_second(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, VReg, Rm) -> VReg,
    ) -> Parts {
        let (a, b) = if self.is_number(a) { (b, a) } else { (a, b) };
        self.each_two(a, b, f)
    }

    /// Applies a function to each pair of registers of two operands, which may be exchanged. An
    /// operand that may be memory comes second.
    pub(super) fn each_commuted(
        &mut self,
        a: lir::Value,
        b: lir::Value,
        f: impl Fn(&mut Self, VReg, Rm) -> VReg,
    ) -> Parts {
        let memory = |e: &Self, v| e.is_constant(v) || e.parts[v].is_empty();
        let (a, b) = if memory(self, a) && !memory(self, b) { (b, a) } else { (a, b) };
        self.each_two(a, b, f)
    }

    // Addresses and loads.

    /// Returns an address as a memory operand.
    pub(super) fn address(&mut self, v: lir::Value, offset: i32) -> Rm {
        let lir = self.lir;
        let (mut v, mut disp) = (v, i64::from(offset));
        let mut index = None;
        let base = loop {
            let data = match lir.values[v].def {
                lir::Def::Inst(inst) if self.use_analysis.sunk[inst] => &lir.insts[inst],
                _ => break Some(self.reg(v, 0)),
            };
            match (data.op, data.imm) {
                (Op::StackAddress, Imm::Slot(slot, at)) => {
                    disp += i64::from(self.slots[slot.as_u32() as usize]) + i64::from(at);
                    break None;
                }
                (Op::Iadd, _) => {
                    let (a, b) = (data.args[0], data.args[1]);
                    let (a, b) = if small(lir, a) { (b, a) } else { (a, b) };
                    if small(lir, b) {
                        disp += lir.constant(b).unwrap_or_default() as i64;
                        v = a;
                        continue;
                    }
                    let (a, b) = if self.scaled(a).is_some() { (b, a) } else { (a, b) };
                    index = Some(match self.scaled(b) {
                        Some((b, scale)) => (self.reg(b, 0), scale),
                        None => (self.reg(b, 0), 0),
                    });
                    break Some(self.reg(a, 0));
                }
                _ => break Some(self.reg(v, 0)),
            }
        };
        // Offsets within a value may be added to the displacement later.
        let room = 1 << 16;
        let disp = match i32::try_from(disp) {
            Ok(disp) if disp < i32::MAX - room => disp,
            _ => {
                let far = self.b.int(disp as u64);
                let sum = match base {
                    Some(base) => self.b.lea(true, Rm::At { base: Some(base), index: Some((far, 0)), disp: 0 }),
                    None => self.b.lea(true, Rm::At { base: None, index: Some((far, 0)), disp: 0 }),
                };
                return Rm::At { base: Some(sum), index, disp: 0 };
            }
        };
        Rm::At { base, index, disp }
    }

    /// Returns a value and shift for a multiple by 2, 4 or 8, if the value is in a register
    /// already.
    fn scaled(&self, v: lir::Value) -> Option<(lir::Value, u8)> {
        let data = self.lir.definition(v)?;
        let by = self.lir.constant(*data.args.get(1)?)?;
        let scale = match data.op {
            Op::Shl if (1..=3).contains(&by) => by as u8,
            Op::Imul if matches!(by, 2 | 4 | 8) => by.trailing_zeros() as u8,
            _ => return None,
        };
        (data.ty == Type::I64 && !self.parts[data.args[0]].is_empty()).then_some((data.args[0], scale))
    }

    /// Loads the registers of a value from an address.
    pub(super) fn load_parts(&mut self, ty: Type, at: Rm) -> Parts {
        if !ty.is_vector() {
            return smallvec![match ty.elem {
                Elem::F32 => self.b.one(Vex::VmovssLoad, false, at),
                Elem::F64 => self.b.one(Vex::VmovsdLoad, false, at),
                Elem::B | Elem::I8 => self.b.int_one(M::Movzx8, false, at),
                Elem::I16 | Elem::F16 => self.b.int_one(M::Movzx16, false, at),
                Elem::I32 => self.b.int_one(M::Mov, false, at),
                Elem::I64 => self.b.int_one(M::Mov, true, at),
            }];
        }
        let op = match ty.bytes() {
            4 => Vex::VmovssLoad,
            8 => Vex::VmovsdLoad,
            _ => Vex::Vmovups,
        };
        let w = self.b.size(ty);
        let parts = (0..self.b.part_count(ty)).map(|i| self.b.one(op, w, at.plus(self.b.part * i))).collect();
        if self.b.in_masks(ty) { self.b.masks_of_words(ty, parts) } else { parts }
    }

    /// Makes a register of a constant mask.
    fn constant_mask(&mut self, v: lir::Value, part: usize) -> VReg {
        let per = self.b.per_part(self.lir.ty(v));
        let lanes = self.lir.constant_lanes(v).unwrap_or_default();
        let own = lanes.iter().skip(part * per).take(per);
        let bits = own.enumerate().fold(0, |bits, (i, &lane)| bits | (lane & 1) << i);
        let op = match bits {
            0 => M::NoLanes,
            bits if bits + 1 == 1 << per => M::AllLanes,
            _ => {
                let bits = self.b.int(bits);
                return self.b.mask_one(Vex::KmovqTo, bits, 0);
            }
        };
        let to = self.b.new_mask();
        self.b.push(op, false, 0, &[Operand::reg_def(to)], None);
        to
    }

    /// Returns a register of a value; for a mask, a register of its words.
    pub(super) fn lane_reg(&mut self, v: lir::Value, part: usize) -> VReg {
        let (ty, reg) = (self.lir.ty(v), self.reg(v, part));
        if self.b.in_masks(ty) { self.b.one(Vex::Vpmovm2d, self.b.size(ty), reg) } else { reg }
    }

    /// Returns all registers of a value; for a mask, those of its words.
    pub(super) fn lane_regs(&mut self, v: lir::Value) -> Parts {
        (0..self.b.part_count(self.lir.ty(v))).map(|i| self.lane_reg(v, i)).collect()
    }

    /// Extends a number of 8 or 16 bits to 32 bits; others are unchanged.
    pub(super) fn extended(&mut self, v: lir::Value, signed: bool) -> VReg {
        let elem = self.lir.ty(v).elem;
        let a = self.reg(v, 0);
        self.b.extend(elem, a, signed)
    }

    /// Returns a word with zeros above it in its register.
    pub(super) fn clean(&mut self, v: lir::Value) -> VReg {
        let a = self.reg(v, 0);
        if self.is_clean(v) { a } else { self.b.int_one(M::Mov, false, a) }
    }

    /// Returns true if a word was made by an instruction of 32 bits, which leaves zeros above it.
    pub(super) fn is_clean(&self, v: lir::Value) -> bool {
        match self.lir.values[v].def {
            Def::Inst(inst) => {
                // `Narrow` is its operand's register; `AtomicCas` may leave a register unchanged.
                !matches!(self.lir.insts[inst].op, Op::Narrow | Op::AtomicCas)
            }
            Def::Const(_) => true,
            Def::Param(_) | Def::Lanes(_) | Def::Alias(_) => false,
        }
    }
}
