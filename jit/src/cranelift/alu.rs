//! Arithmetic, comparisons and selection.

use super::{Lower, Parts, malformed, part_type};
use crate::error::Result;
use crate::lir::{self, Elem, FloatCond, Imm, InstData, IntCond, Op};
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use smallvec::smallvec;

/// The processor has an instruction that selects by sign bits.
const BLENDS: bool = cfg!(target_arch = "x86_64");

/// The processor has vector comparisons of floats that are true for NaNs.
const UNORDERED: bool = cfg!(target_arch = "x86_64");

/// Makes an arm for each operation that Cranelift supports in every shape that occurs.
macro_rules! direct {
    ($self:ident, $data:ident, $($op:ident $method:ident ($($i:literal),*);)* _ => $other:expr) => {
        match $data.op {
            $(Op::$op => $self.each($data, |e, a| e.ins().$method($(a[$i]),*)),)*
            _ => $other,
        }
    };
}

impl Lower<'_> {
    pub(super) fn alu(&mut self, data: &InstData) -> Result<Parts> {
        let (ty, op) = (data.ty, data.op);
        let vector = ty.is_vector();
        let scalar = part_type(ty.scalar());
        Ok(match op {
            Op::Not if ty == lir::Type::B => {
                let a = self.scalar(data.args[0]);
                smallvec![self.ins().bxor_imm_u(a, 1)]
            }
            Op::Imul if vector && ty.elem == Elem::I8 => self.each(data, |e, a| e.multiply_bytes(a[0], a[1])),
            Op::Smin | Op::Smax | Op::Umin | Op::Umax if vector && ty.elem == Elem::I64 => {
                // There is no such instruction, so a comparison selects.
                let cc = match op {
                    Op::Smin => IntCC::SignedLessThan,
                    Op::Smax => IntCC::SignedGreaterThan,
                    Op::Umin => IntCC::UnsignedLessThan,
                    _ => IntCC::UnsignedGreaterThan,
                };
                self.each(data, |e, a| {
                    let first = e.ins().icmp(cc, a[0], a[1]);
                    e.ins().bitselect(first, a[0], a[1])
                })
            }
            Op::SmulHigh | Op::UmulHigh if vector && ty.elem == Elem::I32 => {
                self.each(data, |e, a| e.high_words(op == Op::SmulHigh, a[0], a[1]))
            }
            Op::SmulHigh => self.by_lane(data, ty, |e, a| e.ins().smulhi(a[0], a[1])),
            Op::UmulHigh => self.by_lane(data, ty, |e, a| e.ins().umulhi(a[0], a[1])),
            Op::Sdiv | Op::Udiv | Op::Srem | Op::Urem => {
                let divisor = self.lir.constant(data.args[1]);
                let harmless = divisor.is_some_and(|d| d != 0 && d != ty.elem.mask());
                self.by_lane(data, ty, move |e, a| e.divide(op, ty.scalar(), a[0], a[1], harmless))
            }
            Op::Shl | Op::Lshr | Op::Ashr => {
                let (value, amount) = (self.get(data.args[0]), self.scalar(data.args[1]));
                value.into_iter().map(|v| self.shift(op, v, amount)).collect()
            }
            Op::ShlV | Op::LshrV | Op::AshrV => {
                let op = match data.op {
                    Op::ShlV => Op::Shl,
                    Op::LshrV => Op::Lshr,
                    _ => Op::Ashr,
                };
                if scalar == types::I32 {
                    self.each(data, |e, a| e.shift_words(op, a[0], a[1]))
                } else {
                    self.by_lane(data, ty, |e, a| e.shift(op, a[0], a[1]))
                }
            }
            Op::Clz => self.by_lane(data, ty, |e, a| e.ins().clz(a[0])),
            Op::Ctz => self.by_lane(data, ty, |e, a| e.ins().ctz(a[0])),
            Op::Popcnt => self.by_lane(data, ty, |e, a| e.ins().popcnt(a[0])),
            Op::BitReverse => self.by_lane(data, ty, |e, a| e.ins().bitrev(a[0])),
            Op::Icmp | Op::Fcmp => {
                let masks = match data.imm {
                    Imm::Int(cond) => self.each(data, |e, a| e.ins().icmp(int_cc(cond), a[0], a[1])),
                    Imm::Float(cond) => self.each(data, |e, a| e.compare(cond, scalar, a[0], a[1])),
                    _ => return Err(malformed(data)),
                };
                self.mask_of(ty, masks)
            }
            Op::Select => self.select(data),
            // The sign bit is flipped: Cranelift joins its own negation with a product or a fused
            // multiply-add, which then gives a NaN of the other sign.
            Op::Fneg => self.each(data, |e, a| {
                let sign = e.constant(ty, 1 << (ty.elem.bits() - 1));
                e.ins().bxor(a[0], sign)
            }),
            // The result is a NaN without a sign as it is in memory, so it is converted to the form
            // in registers.
            Op::Fabs => self.each(data, |e, a| {
                let c = e.ins().fabs(a[0]);
                e.turn(c)
            }),
            Op::Fma => {
                let as_it_is = self.fuses([0, 1, 2].map(|i| data.args[i]));
                self.each(data, |e, a| e.fused([a[0], a[1], a[2]], as_it_is))
            }
            _ => direct! { self, data,
                Iadd iadd (0, 1); Isub isub (0, 1); Imul imul (0, 1); Ineg ineg (0);
                And band (0, 1); Or bor (0, 1); Xor bxor (0, 1); AndNot band_not (0, 1); Not bnot (0);
                Smin smin (0, 1); Smax smax (0, 1); Umin umin (0, 1); Umax umax (0, 1);
                Fadd fadd (0, 1); Fsub fsub (0, 1); Fmul fmul (0, 1); Fdiv fdiv (0, 1); Sqrt sqrt (0);
                Floor floor (0); Ceil ceil (0); Trunc trunc (0); Nearest nearest (0);
                _ => return Err(malformed(data))
            },
        })
    }

    /// Computes the low bytes of products from 16-bit products.
    fn multiply_bytes(&mut self, a: Value, b: Value) -> Value {
        let [low_a, low_b] = [a, b].map(|v| self.ins().uwiden_low(v));
        let [high_a, high_b] = [a, b].map(|v| self.ins().uwiden_high(v));
        let (low, high) = (self.ins().imul(low_a, low_b), self.ins().imul(high_a, high_b));
        self.shuffle_bytes(low, high, std::array::from_fn(|i| 2 * i as u8))
    }

    /// Computes the high words of products from 64-bit products.
    fn high_words(&mut self, signed: bool, a: Value, b: Value) -> Value {
        let halves = [a, b].map(|v| {
            if signed {
                [self.ins().swiden_low(v), self.ins().swiden_high(v)]
            } else {
                [self.ins().uwiden_low(v), self.ins().uwiden_high(v)]
            }
        });
        let [low, high] = [0, 1].map(|i| {
            let product = self.ins().imul(halves[0][i], halves[1][i]);
            self.bitcast(types::I32X4, product)
        });
        self.shuffle_words(low, high, [1, 3, 5, 7])
    }

    /// Shifts four words by an amount each: by 1, 2, 4, 8 and 16 where the amount has the bit.
    fn shift_words(&mut self, op: Op, value: Value, amount: Value) -> Value {
        (0..5).fold(value, |value, bit| {
            let [by, up] = [1 << bit, 31 - bit].map(|n| self.ins().iconst(types::I32, n));
            let shifted = self.shift(op, value, by);
            let sign = self.ins().ishl(amount, up);
            self.by_sign(sign, shifted, value)
        })
    }

    fn shift(&mut self, op: Op, value: Value, amount: Value) -> Value {
        match op {
            Op::Shl => self.ins().ishl(value, amount),
            Op::Lshr => self.ins().ushr(value, amount),
            _ => self.ins().sshr(value, amount),
        }
    }

    /// Makes a division of scalars that never traps. `harmless` means that the divisor is neither 0
    /// nor -1.
    fn divide(&mut self, op: Op, ty: lir::Type, a: Value, b: Value, harmless: bool) -> Value {
        if harmless {
            return self.machine_divide(op, a, b);
        }
        let none = self.constant(ty, 0);
        let one = self.constant(ty, 1);
        let ones = self.constant(ty, ty.elem.mask());
        let zero = self.ins().icmp(IntCC::Equal, b, none);
        if matches!(op, Op::Udiv | Op::Urem) {
            let safe = self.ins().select(zero, one, b);
            let result = self.machine_divide(op, a, safe);
            return self.ins().select(zero, if op == Op::Udiv { ones } else { a }, result);
        }
        // MIN / -1 overflows, so the divisor becomes 1 and the quotient is negated.
        let minus_one = self.ins().icmp(IntCC::Equal, b, ones);
        let special = self.ins().bor(zero, minus_one);
        let safe = self.ins().select(special, one, b);
        let result = self.machine_divide(op, a, safe);
        if op == Op::Sdiv {
            let negated = self.ins().ineg(a);
            let q = self.ins().select(minus_one, negated, result);
            return self.ins().select(zero, ones, q);
        }
        let r = self.ins().select(special, none, result);
        self.ins().select(zero, a, r)
    }

    fn machine_divide(&mut self, op: Op, a: Value, b: Value) -> Value {
        match op {
            Op::Sdiv => self.ins().sdiv(a, b),
            Op::Udiv => self.ins().udiv(a, b),
            Op::Srem => self.ins().srem(a, b),
            _ => self.ins().urem(a, b),
        }
    }

    fn compare(&mut self, cond: FloatCond, scalar: Type, a: Value, b: Value) -> Value {
        let vector = self.machine_type(a) != scalar;
        // No processor has a vector form of these two comparisons.
        if matches!(cond, FloatCond::One | FloatCond::Ueq) && vector {
            let less = self.ins().fcmp(FloatCC::LessThan, a, b);
            let greater = self.ins().fcmp(FloatCC::GreaterThan, a, b);
            let differ = self.ins().bor(less, greater);
            return if cond == FloatCond::One { differ } else { self.ins().bnot(differ) };
        }
        let cc = float_cc(cond);
        if UNORDERED || !vector || !matches!(cond, FloatCond::Ult | FloatCond::Ule | FloatCond::Ugt | FloatCond::Uge) {
            return self.ins().fcmp(cc, a, b);
        }
        let ordered = self.ins().fcmp(cc.complement(), a, b);
        self.ins().bnot(ordered)
    }

    fn select(&mut self, data: &InstData) -> Parts {
        let [cond, a, b] = [0, 1, 2].map(|i| data.args[i]);
        let mask = self.get(cond);
        if !self.lir.ty(cond).is_vector() {
            let (a, b) = (self.get(a), self.get(b));
            return a.iter().zip(&b).map(|(&a, &b)| self.ins().select(mask[0], a, b)).collect();
        }
        let machine = part_type(data.ty);
        let mask = self.mask_for(data.ty, mask);
        let mask: Parts = mask.into_iter().map(|m| self.bitcast(machine, m)).collect();
        let zero = [a, b].map(|v| self.lir.constant(v) == Some(0));
        match zero {
            [_, true] => {
                let a = self.get(a);
                mask.iter().zip(&a).map(|(&m, &a)| self.ins().band(m, a)).collect()
            }
            [true, _] => {
                let b = self.get(b);
                mask.iter().zip(&b).map(|(&m, &b)| self.ins().band_not(b, m)).collect()
            }
            _ => {
                let (a, b) = (self.get(a), self.get(b));
                // Cranelift blends where it sees a comparison, which may become a minimum;
                // otherwise it needs three operations.
                let blend = BLENDS && data.ty.lane_bytes() == 4 && !self.is_compared(cond, data.ty);
                (0..mask.len())
                    .map(|i| {
                        if blend { self.blend(mask[i], a[i], b[i]) } else { self.ins().bitselect(mask[i], a[i], b[i]) }
                    })
                    .collect()
            }
        }
    }

    /// Returns true if a mask comes from a comparison in one instruction. For a selection of
    /// floats, integer comparisons do not count.
    fn is_compared(&self, mask: lir::Value, chosen: lir::Type) -> bool {
        match self.lir.values[mask].def {
            lir::Def::Inst(inst) => match self.lir.insts[inst].op {
                Op::Icmp if chosen.elem == Elem::F32 => false,
                Op::Icmp => matches!(self.lir.insts[inst].imm, Imm::Int(IntCond::Eq | IntCond::Slt | IntCond::Sgt)),
                Op::Fcmp => !matches!(self.lir.insts[inst].imm, Imm::Float(FloatCond::One | FloatCond::Ueq)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Makes `mask ? a : b` of words by the mask's sign bits.
    fn by_sign(&mut self, mask: Value, a: Value, b: Value) -> Value {
        if BLENDS {
            return self.ins().blendv(mask, a, b);
        }
        let all = self.ins().iconst(types::I32, 31);
        let mask = self.ins().sshr(mask, all);
        self.ins().bitselect(mask, a, b)
    }

    /// Makes `mask ? a : b` of vectors of words by the sign bits of the mask.
    fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let machine = self.machine_type(a);
        let [mask, a, b] = [mask, a, b].map(|c| self.bitcast(types::I32X4, c));
        let c = self.ins().blendv(mask, a, b);
        self.bitcast(machine, c)
    }

    /// Converts a mask to the width of a type's lanes.
    pub(super) fn mask_for(&mut self, ty: lir::Type, mask: Parts) -> Parts {
        match ty.lane_bytes() {
            8 => mask.iter().flat_map(|&m| [self.ins().swiden_low(m), self.ins().swiden_high(m)]).collect(),
            4 => mask,
            bytes => {
                let mut mask = self.narrow_mask(&mask);
                if bytes == 1 {
                    mask = self.narrow_mask(&mask);
                }
                mask
            }
        }
    }

    fn narrow_mask(&mut self, mask: &Parts) -> Parts {
        mask.chunks(2).map(|pair| self.ins().snarrow(pair[0], pair[pair.len() - 1])).collect()
    }

    /// Converts the result of a comparison to a mask of words.
    fn mask_of(&mut self, ty: lir::Type, compared: Parts) -> Parts {
        if !ty.is_vector() {
            return compared;
        }
        match ty.lane_bytes() {
            8 => self.narrow_lanes(&compared, 8, 4, types::I32X4),
            4 => compared,
            bytes => self.widen_lanes(compared, bytes, 4, true, ty.lanes()),
        }
    }
}

fn int_cc(cond: IntCond) -> IntCC {
    match cond {
        IntCond::Eq => IntCC::Equal,
        IntCond::Ne => IntCC::NotEqual,
        IntCond::Slt => IntCC::SignedLessThan,
        IntCond::Sle => IntCC::SignedLessThanOrEqual,
        IntCond::Sgt => IntCC::SignedGreaterThan,
        IntCond::Sge => IntCC::SignedGreaterThanOrEqual,
        IntCond::Ult => IntCC::UnsignedLessThan,
        IntCond::Ule => IntCC::UnsignedLessThanOrEqual,
        IntCond::Ugt => IntCC::UnsignedGreaterThan,
        IntCond::Uge => IntCC::UnsignedGreaterThanOrEqual,
    }
}

fn float_cc(cond: FloatCond) -> FloatCC {
    match cond {
        FloatCond::Eq => FloatCC::Equal,
        FloatCond::One => FloatCC::OrderedNotEqual,
        FloatCond::Lt => FloatCC::LessThan,
        FloatCond::Le => FloatCC::LessThanOrEqual,
        FloatCond::Gt => FloatCC::GreaterThan,
        FloatCond::Ge => FloatCC::GreaterThanOrEqual,
        FloatCond::Ord => FloatCC::Ordered,
        FloatCond::Uno => FloatCC::Unordered,
        FloatCond::Ueq => FloatCC::UnorderedOrEqual,
        FloatCond::Ne => FloatCC::NotEqual,
        FloatCond::Ult => FloatCC::UnorderedOrLessThan,
        FloatCond::Ule => FloatCC::UnorderedOrLessThanOrEqual,
        FloatCond::Ugt => FloatCC::UnorderedOrGreaterThan,
        FloatCond::Uge => FloatCC::UnorderedOrGreaterThanOrEqual,
    }
}
