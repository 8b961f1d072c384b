//! Arithmetic on integers in general registers.

use super::{InstructionSelector, Rm};
use crate::lir::{self, Elem, InstData, Op, Type};
use crate::wide::inst::{Alu, Cc, Op as M, RAX, RDX, Shift, gpr};
use crate::wide::table::Vex;
use regalloc2::{Operand, VReg};

impl InstructionSelector<'_> {
    /// Selects an operation on scalars.
    pub(super) fn scalar_int(&mut self, data: &InstData) -> VReg {
        let (ty, op) = (data.ty, data.op);
        let w = ty == Type::I64;
        let a = data.args[0];
        let b = *data.args.get(1).unwrap_or(&a);
        match op {
            Op::Iadd => self.add(w, a, b),
            Op::Isub => match self.imm(b).filter(|&imm| imm != i64::from(i32::MIN)) {
                Some(imm) => {
                    let a = self.reg(a, 0);
                    self.add_imm(w, a, -imm)
                }
                None => self.alu_two(Alu::Sub, w, a, b),
            },
            Op::And => self.alu_two(Alu::And, w, a, b),
            Op::Or => self.alu_two(Alu::Or, w, a, b),
            Op::Xor => self.alu_two(Alu::Xor, w, a, b),
            Op::AndNot => {
                let (b, a) = (self.reg(b, 0), self.rm(a, 0));
                self.andn(w, b, a)
            }
            Op::Not if ty.elem == Elem::B => {
                let a = self.reg(a, 0);
                self.b.int_imm(M::AluImm(Alu::Xor), false, a, 1)
            }
            Op::Not => {
                let a = self.reg(a, 0);
                self.b.int_imm(M::Not, w, a, 0)
            }
            Op::Ineg => {
                let a = self.reg(a, 0);
                self.b.int_imm(M::Neg, w, a, 0)
            }
            Op::Imul => self.multiply(w, a, b),
            Op::Smin | Op::Smax | Op::Umin | Op::Umax => self.choose(op, ty, a, b),
            Op::SmulHigh | Op::UmulHigh => {
                let (a, b) = (self.reg(a, 0), self.reg(b, 0));
                self.mul_high(op == Op::SmulHigh, w, a, b)
            }
            Op::Shl | Op::Lshr | Op::Ashr => self.shift_scalar(op, ty, a, b),
            Op::Sdiv | Op::Udiv | Op::Srem | Op::Urem => {
                let harmless = self.lir.constant(b).is_some_and(|d| d != 0 && d != ty.elem.mask());
                let signed = matches!(op, Op::Sdiv | Op::Srem);
                let (a, b) = (self.extended(a, signed), self.extended(b, signed));
                self.divide_ints(op, ty, a, b, harmless)
            }
            _ => {
                let a = self.reg(a, 0);
                self.count(op, ty.elem, a)
            }
        }
    }

    fn andn(&mut self, w: bool, b: VReg, a: Rm) -> VReg {
        let to = self.b.new_int();
        self.b.push(M::Vex(Vex::Andn), w, 0, &[Operand::reg_def(to), Operand::reg_use(b)], Some(a));
        to
    }

    fn add(&mut self, w: bool, a: lir::Value, b: lir::Value) -> VReg {
        let (a, b) = if self.is_constant(a) || self.parts[a].is_empty() { (b, a) } else { (a, b) };
        if let Some(imm) = self.imm(b) {
            let a = self.reg(a, 0);
            return self.add_imm(w, a, imm);
        }
        let a = self.reg(a, 0);
        match self.rm(b, 0) {
            Rm::Reg(b) => self.b.lea(w, Rm::At { base: Some(a), index: Some((b, 0)), disp: 0 }),
            memory => self.b.int_two(M::Alu(Alu::Add), w, a, memory),
        }
    }

    pub(super) fn add_imm(&mut self, w: bool, a: VReg, imm: i64) -> VReg {
        match i32::try_from(imm) {
            Ok(disp) => self.b.lea(w, Rm::At { base: Some(a), index: None, disp }),
            Err(_) => {
                let imm = self.b.int(imm as u64);
                self.b.int_two(M::Alu(Alu::Add), w, a, imm)
            }
        }
    }

    fn alu_two(&mut self, alu: Alu, w: bool, a: lir::Value, b: lir::Value) -> VReg {
        let commutes = alu != Alu::Sub;
        let (a, b) = if commutes && (self.is_constant(a) || self.parts[a].is_empty()) { (b, a) } else { (a, b) };
        match self.imm(b) {
            Some(imm) => {
                let a = self.reg(a, 0);
                self.b.int_imm(M::AluImm(alu), w, a, imm)
            }
            None => {
                let (a, b) = (self.reg(a, 0), self.rm(b, 0));
                self.b.int_two(M::Alu(alu), w, a, b)
            }
        }
    }

    fn multiply(&mut self, w: bool, a: lir::Value, b: lir::Value) -> VReg {
        let (a, b) = if self.is_constant(a) { (b, a) } else { (a, b) };
        match self.imm(b) {
            Some(imm) if imm > 0 && imm.count_ones() == 1 => {
                let a = self.reg(a, 0);
                self.b.int_imm(M::Shift(Shift::Shl), w, a, imm.trailing_zeros().into())
            }
            Some(imm) => {
                let a = self.rm(a, 0);
                self.b.int_one_imm(M::ImulImm, w, a, imm)
            }
            None => {
                let (a, b) = (self.reg(a, 0), self.rm(b, 0));
                self.b.int_two(M::Imul, w, a, b)
            }
        }
    }

    fn choose(&mut self, op: Op, ty: Type, a: lir::Value, b: lir::Value) -> VReg {
        let w = ty == Type::I64;
        let signed = matches!(op, Op::Smin | Op::Smax);
        let (a, b) = (self.extended(a, signed), self.extended(b, signed));
        self.b.push(M::Alu(Alu::Cmp), w, 0, &[Operand::reg_use(a)], Some(Rm::Reg(b)));
        let cc = match op {
            Op::Smin => Cc::G,
            Op::Smax => Cc::L,
            Op::Umin => Cc::A,
            _ => Cc::B,
        };
        self.b.int_two(M::Cmov(cc), w, a, b)
    }

    /// Computes the high half of a product.
    pub(super) fn mul_high(&mut self, signed: bool, w: bool, a: VReg, b: VReg) -> VReg {
        if w {
            let to = self.b.new_int();
            let operands = [Operand::reg_fixed_def(to, gpr(RDX)), Operand::reg_fixed_use(a, gpr(RAX))];
            self.b.push(M::MulHigh(signed), true, 0, &operands, Some(Rm::Reg(b)));
            return to;
        }
        let extend = if signed { M::Movsx32 } else { M::Mov };
        let [a, b] = [a, b].map(|v| self.b.int_one(extend, false, v));
        let product = self.b.int_two(M::Imul, true, a, b);
        self.b.int_imm(M::Shift(Shift::Shr), true, product, 32)
    }

    fn shift_scalar(&mut self, op: Op, ty: Type, a: lir::Value, amount: lir::Value) -> VReg {
        let bits = ty.elem.bits();
        // A shift to the right needs the bits above the number to be an extension of it.
        let a = match op {
            Op::Shl => self.reg(a, 0),
            _ => self.extended(a, op == Op::Ashr),
        };
        let shift = match op {
            Op::Shl => Shift::Shl,
            Op::Lshr => Shift::Shr,
            _ => Shift::Sar,
        };
        let w = bits == 64;
        if let Some(n) = self.lir.constant(amount) {
            return self.b.int_imm(M::Shift(shift), w, a, (n & u64::from(bits - 1)) as i64);
        }
        let mut amount = self.reg(amount, 0);
        if bits < 32 {
            amount = self.b.int_imm(M::AluImm(Alu::And), false, amount, i64::from(bits - 1));
        }
        let op = match shift {
            Shift::Shl => Vex::Shlx,
            Shift::Shr => Vex::Shrx,
            _ => Vex::Sarx,
        };
        let to = self.b.new_int();
        self.b.push(M::Vex(op), w, 0, &[Operand::reg_def(to), Operand::reg_use(amount)], Some(Rm::Reg(a)));
        to
    }

    /// Makes a division that never traps, of operands that are extended to at least 32 bits.
    /// `harmless` means that the divisor is neither 0 nor -1.
    pub(super) fn divide_ints(&mut self, op: Op, ty: Type, a: VReg, b: VReg, harmless: bool) -> VReg {
        let w = ty.elem == Elem::I64;
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        let quotient = matches!(op, Op::Sdiv | Op::Udiv);
        if harmless {
            return self.machine_divide(signed, quotient, w, a, b);
        }
        let one = self.b.int(1);
        // The divisor becomes 1 if it is 0, or if it is -1, because MIN / -1 overflows; for -1 the
        // quotient is then negated.
        self.b.push(M::Test, w, 0, &[Operand::reg_use(b)], Some(Rm::Reg(b)));
        let mut safe = self.b.int_two(M::Cmov(Cc::E), w, b, one);
        if signed {
            self.b.push(M::AluImm(Alu::Cmp), w, -1, &[], Some(Rm::Reg(b)));
            safe = self.b.int_two(M::Cmov(Cc::E), w, safe, one);
        }
        let mut result = self.machine_divide(signed, quotient, w, a, safe);
        if signed && quotient {
            let negated = self.b.int_imm(M::Neg, w, a, 0);
            self.b.push(M::AluImm(Alu::Cmp), w, -1, &[], Some(Rm::Reg(b)));
            result = self.b.int_two(M::Cmov(Cc::E), w, result, negated);
        }
        let by_zero = if quotient { self.b.int(u64::MAX) } else { a };
        self.b.push(M::Test, w, 0, &[Operand::reg_use(b)], Some(Rm::Reg(b)));
        self.b.int_two(M::Cmov(Cc::E), w, result, by_zero)
    }

    fn machine_divide(&mut self, signed: bool, quotient: bool, w: bool, a: VReg, b: VReg) -> VReg {
        let [q, r] = [0, 1].map(|_| self.b.new_int());
        let operands = [
            Operand::reg_fixed_def(q, gpr(RAX)),
            Operand::reg_fixed_def(r, gpr(RDX)),
            Operand::reg_fixed_use(a, gpr(RAX)),
            Operand::reg_use_at_end(b),
        ];
        self.b.push(M::Div(signed), w, 0, &operands, None);
        if quotient { q } else { r }
    }

    /// Makes bit counts and bit reversals.
    pub(super) fn count(&mut self, op: Op, elem: Elem, a: VReg) -> VReg {
        let bits = elem.bits();
        let w = bits == 64;
        match op {
            Op::Clz if bits < 32 => {
                // The number is moved to the top, with a one below it that bounds the count.
                let moved = self.b.int_imm(M::Shift(Shift::Shl), false, a, i64::from(32 - bits));
                let guarded = self.b.int_imm(M::AluImm(Alu::Or), false, moved, 1 << (31 - bits));
                self.b.int_one(M::Lzcnt, false, guarded)
            }
            Op::Clz => self.b.int_one(M::Lzcnt, w, a),
            Op::Ctz if bits < 32 => {
                let guarded = self.b.int_imm(M::AluImm(Alu::Or), false, a, 1 << bits);
                self.b.int_one(M::Tzcnt, false, guarded)
            }
            Op::Ctz => self.b.int_one(M::Tzcnt, w, a),
            Op::Popcnt => {
                let a = self.b.extend(elem, a, false);
                self.b.int_one(M::Popcnt, w, a)
            }
            _ => {
                let reversed = self.reverse(w, a);
                if bits < 32 {
                    return self.b.int_imm(M::Shift(Shift::Shr), false, reversed, i64::from(32 - bits));
                }
                reversed
            }
        }
    }

    /// Reverses the bytes, then the bits in each byte.
    fn reverse(&mut self, w: bool, a: VReg) -> VReg {
        let to = self.b.new_int();
        self.b.push(M::Bswap, w, 0, &[Operand::reg_reuse_def(to, 1), Operand::reg_use(a)], None);
        [(4, 0x0f0f_0f0f_0f0f_0f0f_u64), (2, 0x3333_3333_3333_3333), (1, 0x5555_5555_5555_5555)].into_iter().fold(
            to,
            |v, (by, low)| {
                let low = self.b.int(if w { low } else { low & 0xffff_ffff });
                let down = self.b.int_imm(M::Shift(Shift::Shr), w, v, by);
                let down = self.b.int_two(M::Alu(Alu::And), w, down, low);
                let up = self.b.int_two(M::Alu(Alu::And), w, v, low);
                let up = self.b.int_imm(M::Shift(Shift::Shl), w, up, by);
                self.b.int_two(M::Alu(Alu::Or), w, up, down)
            },
        )
    }
}
