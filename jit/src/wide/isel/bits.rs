//! Bit counts and bit reversal of vectors.

use super::{InstructionSelector, Parts, Rm};
use crate::lir::{Elem, InstData, Op};
use crate::wide::inst::Size;
use crate::wide::table::Vex;
use regalloc2::VReg;

/// Number of ones in each 4-bit number, and its bits in reverse order.
const ONES: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
const REVERSED: [u8; 16] = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];

impl InstructionSelector<'_> {
    pub(super) fn bits(&mut self, data: &InstData) -> Parts {
        let (ty, op, a) = (data.ty, data.op, data.args[0]);
        let (w, elem) = (self.b.size(ty), ty.elem);
        match (op, elem) {
            (Op::Popcnt | Op::BitReverse, _) => self.each_one(a, |e, a| {
                let a = e.b.in_register(w, a);
                if op == Op::Popcnt { e.ones_of(elem, w, a) } else { e.reversed(elem, w, a) }
            }),
            (_, Elem::I64) if !self.b.avx512 => self.by_lane(data, move |e, lanes| e.count(op, Elem::I64, lanes[0])),
            (_, Elem::I32 | Elem::I64) => self.each_one(a, |e, a| {
                let a = e.b.in_register(w, a);
                e.zeros(op, elem, w, a)
            }),
            _ => {
                let (words, w) = (self.as_words(a, false), self.words_size(ty));
                let counted = words.iter().map(|&a| {
                    if op == Op::Clz {
                        let count = self.zeros(op, Elem::I32, w, a);
                        let more = self.b.words(32 - elem.bits());
                        self.b.two(Vex::Vpsubd, w, count, more)
                    } else {
                        let guard = self.b.words(1 << elem.bits());
                        let guarded = self.b.two(Vex::Vpor, w, a, guard);
                        self.zeros(op, Elem::I32, w, guarded)
                    }
                });
                let counted: Parts = counted.collect();
                self.words_as(ty, counted)
            }
        }
    }

    /// Counts leading or trailing zeros.
    fn zeros(&mut self, op: Op, elem: Elem, w: Size, a: VReg) -> VReg {
        if !self.b.avx512 {
            return self.zeros_by_exponent(op, w, a);
        }
        let long = elem == Elem::I64;
        let (count, add, subtract) =
            if long { (Vex::Vplzcntq, Vex::Vpaddq, Vex::Vpsubq) } else { (Vex::Vplzcntd, Vex::Vpaddd, Vex::Vpsubd) };
        if op == Op::Clz {
            return self.b.one(count, w, a);
        }
        // This turns trailing zeros into ones and all bits above them into zeros.
        let ones = self.b.ones(w);
        let less = self.b.two(add, w, a, ones);
        let below = self.b.two(Vex::Vpandn, w, a, less);
        let above = self.b.one(count, w, below);
        let all = if long { Rm::Repeated(64) } else { self.b.words(32) };
        let all = self.b.in_register(w, all);
        self.b.two(subtract, w, all, above)
    }

    /// Counts leading or trailing zeros of words by the exponent of a float that has the same
    /// highest one, or only the lowest one.
    fn zeros_by_exponent(&mut self, op: Op, w: Size, a: VReg) -> VReg {
        let (bias, exponents) = (self.b.words(127), self.b.words(0xff));
        if op == Op::Clz {
            // Clearing bits below a one prevents rounding up to the next power of two. A negative
            // number's exponent exceeds all others; that of 0 is 0.
            let half = self.b.one_imm(Vex::VpsrldImm, w, a, 1);
            let top = self.b.two(Vex::Vpandn, w, half, a);
            let float = self.b.one(Vex::Vcvtdq2ps, w, top);
            let exponent = self.b.one_imm(Vex::VpsrldImm, w, float, 23);
            let max_value = self.b.words_reg(w, 158);
            let count = self.b.two(Vex::Vpsubd, w, max_value, exponent);
            let zero = self.b.zero();
            let count = self.b.two(Vex::Vpmaxsd, w, count, zero);
            let all = self.b.words(32);
            return self.b.two(Vex::Vpminsd, w, count, all);
        }
        let zero = self.b.zero();
        let negated = self.b.two(Vex::Vpsubd, w, zero, a);
        let lowest = self.b.two(Vex::Vpand, w, a, negated);
        let float = self.b.one(Vex::Vcvtdq2ps, w, lowest);
        let exponent = self.b.one_imm(Vex::VpsrldImm, w, float, 23);
        let exponent = self.b.two(Vex::Vpand, w, exponent, exponents);
        let count = self.b.two(Vex::Vpsubd, w, exponent, bias);
        // The count of 0 is negative, which as an unsigned number exceeds 32.
        let all = self.b.words(32);
        self.b.two(Vex::Vpminud, w, count, all)
    }

    /// Looks up the table's entries for the low and the high halves of bytes.
    fn looked_up(&mut self, table: &[u8; 16], w: Size, a: VReg) -> [VReg; 2] {
        let table = self.b.repeat_quarter(w, table);
        let table = self.b.in_register(w, table);
        let low = self.b.words(0x0f0f_0f0f);
        let high = self.b.one_imm(Vex::VpsrlwImm, w, a, 4);
        [a, high].map(|v| {
            let v = self.b.two(Vex::Vpand, w, v, low);
            self.b.two(Vex::Vpshufb, w, table, v)
        })
    }

    fn ones_of(&mut self, elem: Elem, w: Size, a: VReg) -> VReg {
        let [low, high] = self.looked_up(&ONES, w, a);
        let bytes = self.b.two(Vex::Vpaddb, w, low, high);
        let ones = [self.b.words(0x0101_0101), self.b.words(0x0001_0001)];
        match elem {
            Elem::I8 => bytes,
            Elem::I64 => {
                let zero = self.b.zero();
                self.b.two(Vex::Vpsadbw, w, bytes, zero)
            }
            _ => {
                let shorts = self.b.two(Vex::Vpmaddubsw, w, bytes, ones[0]);
                if elem == Elem::I16 { shorts } else { self.b.two(Vex::Vpmaddwd, w, shorts, ones[1]) }
            }
        }
    }

    fn reversed(&mut self, elem: Elem, w: Size, a: VReg) -> VReg {
        let [low, high] = self.looked_up(&REVERSED, w, a);
        let low = self.b.one_imm(Vex::VpsllwImm, w, low, 4);
        let bytes = self.b.two(Vex::Vpor, w, low, high);
        let lane = elem.bits() as usize / 8;
        if lane == 1 {
            return bytes;
        }
        let order: [u8; 16] = std::array::from_fn(|i| (i / lane * lane + lane - 1 - i % lane) as u8);
        let order = self.b.repeat_quarter(w, &order);
        self.b.two(Vex::Vpshufb, w, bytes, order)
    }
}
