//! Shifts of vectors.

use super::{InstructionSelector, Parts, Rm};
use crate::lir::{self, Elem, InstData, Op};
use crate::wide::inst::{Alu, Op as M, Size};
use crate::wide::table::Vex;
use regalloc2::VReg;

/// The shift amount that all lanes share.
#[derive(Clone, Copy)]
enum Amount {
    Imm(u8),
    /// An amount in the low lane of a vector register.
    Low(VReg),
}

impl InstructionSelector<'_> {
    pub(super) fn shift(&mut self, data: &InstData) -> Parts {
        let (ty, op, [a, n]) = (data.ty, data.op, [data.args[0], data.args[1]]);
        let (w, elem) = (self.b.size(ty), ty.elem);
        match (op, elem) {
            (Op::ShlV | Op::LshrV | Op::AshrV, Elem::I8 | Elem::I16) if elem == Elem::I8 || !self.b.avx512 => {
                // The lanes are shifted as words.
                let last = self.b.words(elem.bits() - 1);
                let words = self.words_size(ty);
                let (a, n) = (self.as_words(a, op == Op::AshrV), self.as_words(n, false));
                let shifted = a.iter().zip(&n).map(|(&a, &n)| {
                    let n = self.b.two(Vex::Vpand, words, n, last);
                    self.shift_each(op, Elem::I32, words, a, Rm::Reg(n))
                });
                let shifted: Parts = shifted.collect();
                self.words_as(ty, shifted)
            }
            (Op::ShlV | Op::LshrV | Op::AshrV, _) => {
                let small = self.all_below(n, u64::from(elem.bits()));
                let last = u64::from(elem.bits() - 1).to_le_bytes();
                let last = self.b.repeat(&last[..elem.bits() as usize / 8]);
                self.each_two(a, n, |e, a, n| {
                    let n = if small {
                        n
                    } else {
                        let n = e.b.in_register(w, n);
                        Rm::Reg(e.b.two(Vex::Vpand, w, n, last))
                    };
                    e.shift_each(op, elem, w, a, n)
                })
            }
            _ => {
                let amount = self.amount(n, elem);
                self.each_one(a, |e, a| {
                    let a = e.b.in_register(w, a);
                    match elem {
                        Elem::I8 => e.shift_bytes(op, w, a, amount),
                        _ => e.shift_all(op, elem, w, a, amount),
                    }
                })
            }
        }
    }

    fn all_below(&self, v: lir::Value, limit: u64) -> bool {
        self.lir.constant_lanes(v).is_some_and(|lanes| lanes.iter().all(|&l| l < limit))
    }

    /// Returns the amount modulo the width.
    fn amount(&mut self, n: lir::Value, elem: Elem) -> Amount {
        let last = elem.bits() - 1;
        if let Some(n) = self.lir.constant(n) {
            return Amount::Imm((n & u64::from(last)) as u8);
        }
        let n = self.reg(n, 0);
        let n = self.b.int_imm(M::AluImm(Alu::And), false, n, last.into());
        Amount::Low(self.b.one(Vex::VmovdTo, false, n))
    }

    fn shift_all(&mut self, op: Op, elem: Elem, w: Size, a: VReg, amount: Amount) -> VReg {
        use Vex::*;
        if (op, elem) == (Op::Ashr, Elem::I64) && !self.b.avx512 {
            return self.with_sign(w, a, |e, v| e.shift_all(Op::Lshr, elem, w, v, amount));
        }
        let ops = match (op, elem) {
            (Op::Shl, Elem::I16) => [VpsllwImm, Vpsllw],
            (Op::Shl, Elem::I32) => [VpslldImm, Vpslld],
            (Op::Shl, _) => [VpsllqImm, Vpsllq],
            (Op::Lshr, Elem::I16) => [VpsrlwImm, Vpsrlw],
            (Op::Lshr, Elem::I32) => [VpsrldImm, Vpsrld],
            (Op::Lshr, _) => [VpsrlqImm, Vpsrlq],
            (_, Elem::I16) => [VpsrawImm, Vpsraw],
            (_, Elem::I64) => [VpsraqImm, Vpsraq],
            _ => [VpsradImm, Vpsrad],
        };
        match amount {
            Amount::Imm(n) => self.b.one_imm(ops[0], w, a, n),
            Amount::Low(n) => self.b.two(ops[1], w, a, n),
        }
    }

    /// Makes an arithmetic shift of 64 bits from a logical one: the sign bit is shifted too, then
    /// flipped and subtracted.
    fn with_sign(&mut self, w: Size, a: VReg, mut shift: impl FnMut(&mut Self, VReg) -> VReg) -> VReg {
        let sign = self.b.signs(Elem::I64);
        let sign = self.b.in_register(w, sign);
        let [a, sign] = [a, sign].map(|v| shift(self, v));
        let flipped = self.b.two(Vex::Vpxor, w, a, sign);
        self.b.two(Vex::Vpsubq, w, flipped, sign)
    }

    /// Shifts even bytes and odd bytes as numbers of 16 bits.
    fn shift_bytes(&mut self, op: Op, w: Size, a: VReg, amount: Amount) -> VReg {
        let low = self.b.words(0x00ff_00ff);
        let high = self.b.words(0xff00_ff00);
        let (even, odd) = match op {
            Op::Shl => {
                let even = self.shift_all(op, Elem::I16, w, a, amount);
                let odd = self.b.two(Vex::Vpand, w, a, high);
                (self.b.two(Vex::Vpand, w, even, low), self.shift_all(op, Elem::I16, w, odd, amount))
            }
            _ => {
                let even = if op == Op::Lshr {
                    let even = self.b.two(Vex::Vpand, w, a, low);
                    self.shift_all(op, Elem::I16, w, even, amount)
                } else {
                    let even = self.b.one_imm(Vex::VpsllwImm, w, a, 8);
                    let even = self.shift_all(op, Elem::I16, w, even, amount);
                    self.b.one_imm(Vex::VpsrlwImm, w, even, 8)
                };
                let odd = self.shift_all(op, Elem::I16, w, a, amount);
                (even, self.b.two(Vex::Vpand, w, odd, high))
            }
        };
        self.b.two(Vex::Vpor, w, even, odd)
    }

    /// Shifts each lane by its own amount, which is less than the width.
    fn shift_each(&mut self, op: Op, elem: Elem, w: Size, a: VReg, n: Rm) -> VReg {
        use Vex::*;
        let ops = match op {
            Op::ShlV => [Vpsllvw, Vpsllvd, Vpsllvq],
            Op::LshrV => [Vpsrlvw, Vpsrlvd, Vpsrlvq],
            _ if elem != Elem::I64 || self.b.avx512 => [Vpsravw, Vpsravd, Vpsravq],
            _ => {
                let n = self.b.in_register(w, n);
                return self.with_sign(w, a, |e, v| e.b.two(Vpsrlvq, w, v, n));
            }
        };
        self.b.two(ops[(elem.bits() / 32) as usize], w, a, n)
    }

    /// Extends lanes of 8 or 16 bits to words. A vector of fewer than eight lanes is treated as one
    /// of eight.
    pub(super) fn as_words(&mut self, v: lir::Value, signed: bool) -> Parts {
        let ty = self.lir.ty(v);
        let parts = self.regs(v);
        let (op, times) = match (ty.elem, signed) {
            (Elem::I8, true) => (Vex::Vpmovsxbd, 4),
            (Elem::I8, false) => (Vex::Vpmovzxbd, 4),
            (_, true) => (Vex::Vpmovsxwd, 2),
            (_, false) => (Vex::Vpmovzxwd, 2),
        };
        self.b.widen(&parts, op, times, ty.lanes().max(8))
    }

    /// Returns the size of the registers that [`Self::as_words`] makes.
    pub(super) fn words_size(&self, ty: lir::Type) -> Size {
        self.b.size_of(4 * ty.lanes().max(8))
    }

    /// Takes the low bits of words as lanes of a type.
    pub(super) fn words_as(&mut self, ty: lir::Type, words: Parts) -> Parts {
        self.b.narrow(&words, Elem::I32, ty.with(Elem::I32).lanes().max(8), ty.elem)
    }
}
