//! Division of vectors of integers: of up to 32 bits as binary64, whose quotients are exact enough; of 64 bits lane by lane.

use super::{Lower, Parts, wide};
use crate::lir::{Elem, InstData, Op};
use crate::wide::table::Vex;
use regalloc2::VReg;

impl Lower<'_> {
    pub(super) fn divide(&mut self, data: &InstData) -> Parts {
        let (ty, op, [a, b]) = (data.ty, data.op, [data.args[0], data.args[1]]);
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        match ty.elem {
            Elem::I64 => {
                let harmless = self.lir.constant(b).is_some_and(|d| d != 0 && d != u64::MAX);
                self.by_lane(data, move |e, l| e.divide_ints(op, ty.scalar(), l[0], l[1], harmless))
            }
            Elem::I32 => self.each_two(a, b, |e, a, b| {
                let b = e.in_register(wide(ty), b);
                e.divide_words(op, wide(ty), a, b)
            }),
            _ => {
                let (a, b) = (self.as_words(a, signed), self.as_words(b, signed));
                let words: Parts = a.iter().zip(&b).map(|(&a, &b)| self.divide_words(op, true, a, b)).collect();
                self.words_as(ty, words)
            }
        }
    }

    fn divide_words(&mut self, op: Op, w: bool, a: VReg, b: VReg) -> VReg {
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        let halves = if w {
            let [high_a, high_b] = [a, b].map(|v| self.upper(v));
            vec![(a, b), (high_a, high_b)]
        } else {
            vec![(a, b)]
        };
        let quotients: Vec<VReg> = halves.into_iter().map(|(a, b)| self.divide_four(signed, a, b)).collect();
        let quotient = match quotients[..] {
            [low, high] => self.join(low, high),
            _ => quotients[0],
        };
        // By 0: all ones. What is left is the dividend then, as -1 * 0 is 0.
        let zero = self.zero();
        let by_zero = self.two(Vex::Vpcmpeqd, w, b, zero);
        let quotient = self.two(Vex::Vpor, w, quotient, by_zero);
        if matches!(op, Op::Sdiv | Op::Udiv) {
            return quotient;
        }
        let product = self.two(Vex::Vpmulld, w, quotient, b);
        self.two(Vex::Vpsubd, w, a, product)
    }

    /// Quotients of four words; by 0 anything. MIN / -1 is too large to be converted, which gives MIN.
    fn divide_four(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        if signed {
            let [a, b] = [a, b].map(|v| self.one(Vex::Vcvtdq2pd, true, v));
            let quotient = self.two(Vex::Vdivpd, true, a, b);
            return self.one(Vex::Vcvttpd2dq, true, quotient);
        }
        let [a, b] = [a, b].map(|v| self.unsigned_to_double(v));
        let quotient = self.two(Vex::Vdivpd, true, a, b);
        self.double_to_unsigned(quotient)
    }

    /// Four unsigned words as binary64.
    pub(super) fn unsigned_to_double(&mut self, a: VReg) -> VReg {
        let sign = self.words(false, 1 << 31);
        let a = self.two(Vex::Vpxor, false, a, sign);
        let a = self.one(Vex::Vcvtdq2pd, true, a);
        let up = self.repeat(true, &2f64.powi(31).to_le_bytes());
        self.two(Vex::Vaddpd, true, a, up)
    }

    /// Unsigned words of four numbers that are in their range.
    pub(super) fn double_to_unsigned(&mut self, a: VReg) -> VReg {
        let whole = self.one_imm(Vex::Vroundpd, true, a, 11);
        let down = self.repeat(true, &2f64.powi(31).to_le_bytes());
        let a = self.two(Vex::Vsubpd, true, whole, down);
        let a = self.one(Vex::Vcvttpd2dq, true, a);
        let sign = self.words(false, 1 << 31);
        self.two(Vex::Vpxor, false, a, sign)
    }
}
