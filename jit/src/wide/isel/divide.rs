//! Division of vectors of integers: up to 32 bits by binary64, whose quotients are exact enough; of
//! 64 bits lane by lane.

use super::{InstructionSelector, Parts, Rm};
use crate::lir::{Elem, InstData, Op};
use crate::wide::inst::Size;
use crate::wide::table::Vex;
use regalloc2::VReg;

impl InstructionSelector<'_> {
    pub(super) fn divide(&mut self, data: &InstData) -> Parts {
        let (ty, op, [a, b]) = (data.ty, data.op, [data.args[0], data.args[1]]);
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        match ty.elem {
            Elem::I64 => {
                let harmless = self.lir.constant(b).is_some_and(|d| d != 0 && d != u64::MAX);
                self.by_lane(data, move |e, l| e.divide_ints(op, ty.scalar(), l[0], l[1], harmless))
            }
            Elem::I32 => self.each_two(a, b, |e, a, b| {
                let w = e.b.size(ty);
                let b = e.b.in_register(w, b);
                e.divide_words(op, w, a, b)
            }),
            _ => {
                let (a, b) = (self.as_words(a, signed), self.as_words(b, signed));
                let w = self.words_size(ty);
                let words: Parts = a.iter().zip(&b).map(|(&a, &b)| self.divide_words(op, w, a, b)).collect();
                self.words_as(ty, words)
            }
        }
    }

    fn divide_words(&mut self, op: Op, w: Size, a: VReg, b: VReg) -> VReg {
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        let quotient = if self.b.avx512 {
            self.quotients(signed, w, a, b)
        } else {
            self.quotients_without_avx512(signed, w, a, b)
        };
        if matches!(op, Op::Sdiv | Op::Udiv) {
            return quotient;
        }
        // For a divisor of 0 the remainder is the dividend, because -1 * 0 is 0.
        let product = self.b.two(Vex::Vpmulld, w, quotient, b);
        self.b.two(Vex::Vpsubd, w, a, product)
    }

    /// Computes quotients, which are all ones for a divisor of 0; it handles as many at once as a
    /// register holds of binary64.
    fn quotients(&mut self, signed: bool, w: Size, a: VReg, b: VReg) -> VReg {
        let (widen, narrow) =
            if signed { (Vex::Vcvtdq2pd, Vex::Vcvttpd2dq) } else { (Vex::Vcvtudq2pd, Vex::Vcvttpd2udq) };
        let longs = if w == Size::W128 { Size::W256 } else { Size::W512 };
        let halves = if w == Size::W512 { 2 } else { 1 };
        let all: Parts = (0..halves)
            .map(|i| {
                let [a, b] = [a, b].map(|v| self.b.slice(&[v], 32 * i, 32)).map(|v| self.b.one(widen, longs, v));
                let quotient = self.b.two(Vex::Vdivpd, longs, a, b);
                self.b.one(narrow, longs, quotient)
            })
            .collect();
        let quotient = self.b.join_all(all, 32)[0];
        if !signed {
            // Values that are too large, and NaNs, are converted to all ones.
            return quotient;
        }
        // The signed conversion gives MIN instead.
        let by_zero = self.b.compare_two(Vex::Vpcmpd, w, b, Rm::Repeated(0), 0);
        let ones = self.b.ones(w);
        self.b.blend(Vex::Vblendmps, w, by_zero, ones, quotient)
    }

    /// Computes quotients as [`Self::quotients`] does, for at most 256 bits without vectors of 512
    /// bits.
    fn quotients_without_avx512(&mut self, signed: bool, w: Size, a: VReg, b: VReg) -> VReg {
        let halves = if w.is_wide() {
            let [high_a, high_b] = [a, b].map(|v| self.b.upper(v));
            vec![(a, b), (high_a, high_b)]
        } else {
            vec![(a, b)]
        };
        let quotients: Vec<VReg> = halves.into_iter().map(|(a, b)| self.divide_four(signed, a, b)).collect();
        let quotient = match quotients[..] {
            [low, high] => self.b.join(low, high),
            _ => quotients[0],
        };
        let zero = self.b.zero();
        let by_zero = self.b.two(Vex::Vpcmpeqd, w, b, zero);
        self.b.two(Vex::Vpor, w, quotient, by_zero)
    }

    /// Computes quotients of four words, which are undefined for a divisor of 0. MIN / -1 is too
    /// large for the conversion, which gives MIN.
    fn divide_four(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        if signed {
            let [a, b] = [a, b].map(|v| self.b.one(Vex::Vcvtdq2pd, true, v));
            let quotient = self.b.two(Vex::Vdivpd, true, a, b);
            return self.b.one(Vex::Vcvttpd2dq, true, quotient);
        }
        let [a, b] = [a, b].map(|v| self.unsigned_to_double(v));
        let quotient = self.b.two(Vex::Vdivpd, true, a, b);
        self.double_to_unsigned(quotient)
    }

    /// Converts four unsigned words to binary64.
    pub(super) fn unsigned_to_double(&mut self, a: VReg) -> VReg {
        let sign = self.b.words(1 << 31);
        let a = self.b.two(Vex::Vpxor, false, a, sign);
        let a = self.b.one(Vex::Vcvtdq2pd, true, a);
        let up = self.b.repeat(&2f64.powi(31).to_le_bytes());
        self.b.two(Vex::Vaddpd, true, a, up)
    }

    /// Converts four numbers that are in the range of unsigned words.
    pub(super) fn double_to_unsigned(&mut self, a: VReg) -> VReg {
        let whole = self.b.one_imm(Vex::Vroundpd, true, a, 11);
        let down = self.b.repeat(&2f64.powi(31).to_le_bytes());
        let a = self.b.two(Vex::Vsubpd, true, whole, down);
        let a = self.b.one(Vex::Vcvttpd2dq, true, a);
        let sign = self.b.words(1 << 31);
        self.b.two(Vex::Vpxor, false, a, sign)
    }
}
