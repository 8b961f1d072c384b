//! Arithmetic on floats, both scalars and vectors.

use super::{InstructionSelector, Parts, Rm};
use crate::lir::{self, Elem, InstData, Op, Type};
use crate::wide::inst::Op as M;
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};

/// Selects an instruction by type: vectors and scalars of F32, then of F64.
fn by_type(ty: Type, ops: [Vex; 4]) -> Vex {
    let double = usize::from(ty.elem == Elem::F64);
    ops[2 * double + usize::from(!ty.is_vector())]
}

impl InstructionSelector<'_> {
    pub(super) fn float(&mut self, data: &InstData) -> Parts {
        use Vex::*;
        let (ty, w) = (data.ty, self.b.size(data.ty));
        let a = data.args[0];
        let b = *data.args.get(1).unwrap_or(&a);
        let row = |ops| by_type(ty, ops);
        match data.op {
            Op::Fadd => {
                let op = row([Vaddps, Vaddss, Vaddpd, Vaddsd]);
                self.each_constant_second(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Fmul => {
                let op = row([Vmulps, Vmulss, Vmulpd, Vmulsd]);
                self.each_constant_second(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Fsub => {
                let op = row([Vsubps, Vsubss, Vsubpd, Vsubsd]);
                self.each_two(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Fdiv => {
                let op = row([Vdivps, Vdivss, Vdivpd, Vdivsd]);
                self.each_two(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Fma => (0..self.b.part_count(ty)).map(|i| self.fma(ty, [a, b, data.args[2]], i)).collect(),
            Op::Fneg => {
                let sign = self.sign(ty);
                (0..self.b.part_count(ty)).map(|i| self.with_constant(Vxorps, ty, a, i, sign)).collect()
            }
            Op::Fabs => {
                let magnitude = self.magnitude(ty);
                (0..self.b.part_count(ty)).map(|i| self.with_constant(Vandps, ty, a, i, magnitude)).collect()
            }
            Op::Sqrt if ty.is_vector() => {
                let op = row([Vsqrtps, Vsqrtps, Vsqrtpd, Vsqrtpd]);
                self.each_one(a, |e, a| e.b.one(op, w, a))
            }
            Op::Sqrt => {
                let op = row([Vsqrtss, Vsqrtss, Vsqrtsd, Vsqrtsd]);
                let a = self.reg(a, 0);
                Parts::from_slice(&[self.b.two(op, false, a, a)])
            }
            op => {
                let mode = match op {
                    Op::Nearest => 8,
                    Op::Floor => 9,
                    Op::Ceil => 10,
                    _ => 11,
                };
                if ty.is_vector() {
                    let op = row([Vroundps, Vroundps, Vroundpd, Vroundpd]);
                    return self.each_one(a, |e, a| e.b.one_imm(op, w, a, mode));
                }
                let op = row([Vroundss, Vroundss, Vroundsd, Vroundsd]);
                let a = self.reg(a, 0);
                Parts::from_slice(&[self.b.two_imm(op, false, a, a, mode)])
            }
        }
    }

    fn with_constant(&mut self, op: Vex, ty: Type, a: lir::Value, part: usize, constant: Rm) -> VReg {
        let a = self.reg(a, part);
        self.b.two(op, self.b.size(ty), a, constant)
    }

    /// Returns a constant with the sign bits of a type's lanes set.
    pub(super) fn sign(&mut self, ty: Type) -> Rm {
        self.b.signs(ty.elem)
    }

    /// Returns a constant with all bits of lanes set except the sign bits.
    fn magnitude(&mut self, ty: Type) -> Rm {
        let bytes = ((1u64 << (ty.elem.bits() - 1)) - 1).to_le_bytes();
        self.b.repeat(&bytes[..ty.elem.bits() as usize / 8])
    }

    /// Computes a * b + c in the register of the addend or of a factor, preferably one that is not
    /// used again. Of two NaNs the processor returns the one in vvvv. This is b as in the other
    /// back ends, unless one of the factors is known to be a number.
    fn fma(&mut self, ty: Type, [a, b, c]: [lir::Value; 3], part: usize) -> VReg {
        use Vex::*;
        let last = |e: &Self, v: lir::Value| e.use_analysis.uses[v] == 1 && !e.is_constant(v);
        let memory = |e: &Self, v: lir::Value| e.parts[v].is_empty();
        let to = self.b.new_vector();
        let exchangeable = self.is_number(a) || self.is_number(b);
        let sum = !memory(self, c) && (last(self, c) || exchangeable || !last(self, a));
        let (op, first, second, third) = if sum {
            let op = by_type(ty, [Vfmadd231ps, Vfmadd231ss, Vfmadd231pd, Vfmadd231sd]);
            let (a, b) = if self.is_number(b) { (b, a) } else { (a, b) };
            (op, c, b, a)
        } else {
            let op = by_type(ty, [Vfmadd213ps, Vfmadd213ss, Vfmadd213pd, Vfmadd213sd]);
            let (a, b) = if exchangeable && last(self, b) && !last(self, a) { (b, a) } else { (a, b) };
            (op, a, b, c)
        };
        let (first, second) = (self.reg(first, part), self.reg(second, part));
        let third = self.rm(third, part);
        let operands = [Operand::reg_reuse_def(to, 1), Operand::reg_use(first), Operand::reg_use(second)];
        self.b.push(M::Vex(op), self.b.size(ty), 0, &operands, Some(third));
        to
    }
}
