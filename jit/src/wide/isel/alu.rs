//! Arithmetic on vectors of integers.

use super::builder::by_width;
use super::{InstructionSelector, Parts, Rm};
use crate::lir::{Elem, InstData, Op};
use crate::wide::inst::Size;
use crate::wide::table::Vex;
use regalloc2::VReg;

/// Returns the instruction for a minimum or maximum of lanes of up to 32 bits.
pub(super) fn choice(op: Op, elem: Elem) -> Vex {
    use Vex::*;
    let ops = match op {
        Op::Smin => [Vpminsb, Vpminsw, Vpminsd, Vpminsd],
        Op::Smax => [Vpmaxsb, Vpmaxsw, Vpmaxsd, Vpmaxsd],
        Op::Umin => [Vpminub, Vpminuw, Vpminud, Vpminud],
        _ => [Vpmaxub, Vpmaxuw, Vpmaxud, Vpmaxud],
    };
    by_width(elem, ops)
}

/// The truth table of `c ? a : b`, bit by bit, as an immediate of `vpternlog`.
pub(super) const CHOOSE: u8 = 0xe4;

impl InstructionSelector<'_> {
    pub(super) fn alu(&mut self, data: &InstData) -> Parts {
        let (ty, op) = (data.ty, data.op);
        let (w, elem) = (self.b.size(ty), ty.elem);
        let a = data.args[0];
        let b = *data.args.get(1).unwrap_or(&a);
        let row = |ops| by_width(elem, ops);
        use Vex::*;
        if let Some(parts) = self.rotate(data) {
            return parts;
        }
        if let Some(parts) = self.logic(data) {
            return parts;
        }
        match op {
            Op::Iadd => {
                let op = row([Vpaddb, Vpaddw, Vpaddd, Vpaddq]);
                self.each_commuted(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Isub => {
                let op = row([Vpsubb, Vpsubw, Vpsubd, Vpsubq]);
                self.each_two(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            Op::Ineg => {
                let op = row([Vpsubb, Vpsubw, Vpsubd, Vpsubq]);
                self.each_one(a, |e, a| {
                    let zero = e.b.zero();
                    e.b.two(op, w, zero, a)
                })
            }
            Op::And => self.each_commuted(a, b, |e, a, b| e.b.two(Vpand, w, a, b)),
            Op::Or => self.each_commuted(a, b, |e, a, b| e.b.two(Vpor, w, a, b)),
            Op::Xor => self.each_commuted(a, b, |e, a, b| e.b.two(Vpxor, w, a, b)),
            Op::AndNot => self.each_two(b, a, |e, b, a| e.b.two(Vpandn, w, b, a)),
            Op::Not => self.each_one(a, |e, a| {
                let ones = e.b.ones(w);
                e.b.two(Vpxor, w, ones, a)
            }),
            Op::Imul => match elem {
                Elem::I8 => self.each_two(a, b, |e, a, b| e.multiply_bytes(w, a, b)),
                Elem::I16 => self.each_commuted(a, b, |e, a, b| e.b.two(Vpmullw, w, a, b)),
                Elem::I64 if self.b.avx512 => self.each_commuted(a, b, |e, a, b| e.b.two(Vpmullq, w, a, b)),
                Elem::I64 => self.each_two(a, b, |e, a, b| e.multiply_longs(w, a, b)),
                _ => self.each_commuted(a, b, |e, a, b| e.b.two(Vpmulld, w, a, b)),
            },
            Op::SmulHigh | Op::UmulHigh if elem == Elem::I64 => {
                self.by_lane(data, move |e, lanes| e.mul_high(op == Op::SmulHigh, true, lanes[0], lanes[1]))
            }
            Op::SmulHigh => self.each_two(a, b, |e, a, b| e.high_words(Vpmuldq, w, a, b)),
            Op::UmulHigh => self.each_two(a, b, |e, a, b| e.high_words(Vpmuludq, w, a, b)),
            _ if elem == Elem::I64 && self.b.avx512 => {
                let op = match op {
                    Op::Smin => Vpminsq,
                    Op::Smax => Vpmaxsq,
                    Op::Umin => Vpminuq,
                    _ => Vpmaxuq,
                };
                self.each_commuted(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
            _ if elem == Elem::I64 => self.each_two(a, b, |e, a, b| e.choose_longs(op, w, a, b)),
            _ => {
                let op = choice(op, elem);
                self.each_commuted(a, b, |e, a, b| e.b.two(op, w, a, b))
            }
        }
    }

    /// Computes the low bytes of products from 16-bit products of the even bytes and of the odd
    /// bytes.
    fn multiply_bytes(&mut self, w: Size, a: VReg, b: Rm) -> VReg {
        let b = self.b.in_register(w, b);
        let low_bytes = self.b.words(0x00ff_00ff);
        let even = self.b.two(Vex::Vpmullw, w, a, b);
        let even = self.b.two(Vex::Vpand, w, even, low_bytes);
        let [a, b] = [a, b].map(|v| self.b.one_imm(Vex::VpsrlwImm, w, v, 8));
        let odd = self.b.two(Vex::Vpmullw, w, a, b);
        let odd = self.b.one_imm(Vex::VpsllwImm, w, odd, 8);
        self.b.two(Vex::Vpor, w, even, odd)
    }

    /// Computes the low halves of 64-bit products: the products of low words, plus the cross
    /// products of a low and a high word shifted up by 32.
    fn multiply_longs(&mut self, w: Size, a: VReg, b: Rm) -> VReg {
        let b = self.b.in_register(w, b);
        let crossed = self.b.one_imm(Vex::Vpshufd, w, b, 0xb1);
        let crossed = self.b.two(Vex::Vpmulld, w, a, crossed);
        let high = self.b.one_imm(Vex::VpsrlqImm, w, crossed, 32);
        let sum = self.b.two(Vex::Vpaddd, w, high, crossed);
        let high = self.b.one_imm(Vex::VpsllqImm, w, sum, 32);
        let low = self.b.two(Vex::Vpmuludq, w, a, b);
        self.b.two(Vex::Vpaddq, w, low, high)
    }

    /// Computes the high words of products, of even words and of odd ones separately.
    fn high_words(&mut self, op: Vex, w: Size, a: VReg, b: Rm) -> VReg {
        let b = self.b.in_register(w, b);
        let even = self.b.two(op, w, a, b);
        let [a, b] = [a, b].map(|v| self.b.one_imm(Vex::VpsrlqImm, w, v, 32));
        let odd = self.b.two(op, w, a, b);
        let even = self.b.one_imm(Vex::VpsrlqImm, w, even, 32);
        if self.b.avx512 {
            let high = Rm::Repeated(0xffff_ffff_0000_0000);
            return self.b.three(Vex::Vpternlogq, w, [odd, even], high, CHOOSE);
        }
        self.b.two_imm(Vex::Vblendps, w, even, odd, 0xaa)
    }

    fn choose_longs(&mut self, op: Op, w: Size, a: VReg, b: Rm) -> VReg {
        let b = self.b.in_register(w, b);
        let unsigned = matches!(op, Op::Umin | Op::Umax);
        let greater = self.b.greater(Elem::I64, unsigned, w, a, Rm::Reg(b));
        match op {
            Op::Smax | Op::Umax => self.b.blend(Vex::Vblendvpd, w, greater, a, b),
            _ => self.b.blend(Vex::Vblendvpd, w, greater, b, a),
        }
    }
}
