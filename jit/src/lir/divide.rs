//! Division by a constant through multiplication: `n / d` is the high word of `n * m`, shifted, for
//! an `m` near a power of two over `d` (Granlund and Montgomery: Division by Invariant Integers
//! using Multiplication). Processors have no vector division, and their scalar division is slow.

#![forbid(unsafe_code)]

use super::{Builder, Elem, Op, Type, Value};

/// Unsigned division: `n / d` is `high(n * multiplier) >> shift`. If `has_extra_bit` is set, the
/// multiplier is `multiplier + 2^bits`.
struct UnsignedDivisor {
    multiplier: u64,
    shift: u32,
    has_extra_bit: bool,
}

impl UnsignedDivisor {
    /// Returns the constants for a divisor between 1 and 2^bits that is not a power of two. `bits`
    /// is 32 or 64.
    fn new(d: u64, bits: u32) -> UnsignedDivisor {
        let max_shift = u64::BITS - (d - 1).leading_zeros();
        // The multiplier is 2^(bits + shift) / d, rounded up. The error of rounding must stay below
        // 2^shift after division.
        let multiplier = |shift: u32| {
            let quotient = match bits + shift {
                128 => (u128::MAX / u128::from(d), u128::MAX % u128::from(d) + 1),
                power => ((1u128 << power) / u128::from(d), (1u128 << power) % u128::from(d)),
            };
            (quotient.0 + 1, u128::from(d) - quotient.1)
        };
        for shift in 0..max_shift {
            let (m, excess) = multiplier(shift);
            if excess <= 1 << shift && m >> bits == 0 {
                return UnsignedDivisor { multiplier: m as u64, shift, has_extra_bit: false };
            }
        }
        let (m, _) = multiplier(max_shift);
        UnsignedDivisor { multiplier: (m - (1 << bits)) as u64, shift: max_shift, has_extra_bit: true }
    }
}

/// Signed division: `n / d` is `high(n * multiplier) (+ n) >> shift`, plus 1 if that is negative.
struct SignedDivisor {
    multiplier: u64,
    shift: u32,
    /// True if the multiplier exceeds the greatest signed number, so that `n` is added.
    has_extra_bit: bool,
}

impl SignedDivisor {
    /// Returns the constants for a divisor whose magnitude is between 2 and 2^(bits - 1) and not a
    /// power of two.
    fn new(d: u64, bits: u32) -> SignedDivisor {
        let mut shift = 0;
        // The error of rounding the multiplier up must stay below twice 2^shift, because signed
        // numbers have one bit less.
        while u128::from(d) - (1u128 << (bits + shift)) % u128::from(d) > 2 << shift {
            shift += 1;
        }
        let m = (1u128 << (bits + shift)) / u128::from(d) + 1;
        SignedDivisor { multiplier: m as u64, shift, has_extra_bit: m >> (bits - 1) != 0 }
    }
}

impl Builder {
    /// Returns quotient or remainder of a division by a constant, made without a division. Returns
    /// `None` if the operation, the type or the divisor does not allow that.
    pub(super) fn divide_by_constant(&mut self, op: Op, ty: Type, args: &[Value]) -> Option<Value> {
        if !matches!(op, Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem) || !matches!(ty.elem, Elem::I32 | Elem::I64) {
            return None;
        }
        let (n, d) = (args[0], self.func.constant(args[1])?);
        if d == 0 {
            return None;
        }
        let signed = matches!(op, Op::Sdiv | Op::Srem);
        let quotient = if signed { self.signed_quotient(ty, n, d) } else { self.unsigned_quotient(ty, n, d) };
        if matches!(op, Op::Udiv | Op::Sdiv) {
            return Some(quotient);
        }
        let back = self.imul(quotient, args[1]);
        Some(self.isub(n, back))
    }

    fn unsigned_quotient(&mut self, ty: Type, n: Value, d: u64) -> Value {
        if d.is_power_of_two() {
            return if d == 1 { n } else { self.lshr_imm(n, d.trailing_zeros()) };
        }
        let by = UnsignedDivisor::new(d, ty.elem.bits());
        let m = self.constant(ty, by.multiplier);
        let high = self.umul_high(n, m);
        if !by.has_extra_bit {
            return if by.shift == 0 { high } else { self.lshr_imm(high, by.shift) };
        }
        // The sum `n + high` may need one bit more than a word has.
        let rest = self.isub(n, high);
        let half = self.lshr_imm(rest, 1);
        let sum = self.iadd(half, high);
        if by.shift == 1 { sum } else { self.lshr_imm(sum, by.shift - 1) }
    }

    fn signed_quotient(&mut self, ty: Type, n: Value, d: u64) -> Value {
        let bits = ty.elem.bits();
        let negative = d >> (bits - 1) != 0;
        let magnitude = if negative { d.wrapping_neg() & ty.elem.mask() } else { d };
        let quotient = if magnitude == 1 {
            n
        } else if magnitude.is_power_of_two() {
            // Division rounds towards zero, so a negative number is raised by what the shift would
            // round down.
            let k = magnitude.trailing_zeros();
            let sign = self.ashr_imm(n, bits - 1);
            let raise = self.lshr_imm(sign, bits - k);
            let raised = self.iadd(n, raise);
            self.ashr_imm(raised, k)
        } else {
            let by = SignedDivisor::new(magnitude, bits);
            let m = self.constant(ty, by.multiplier);
            let mut high = self.smul_high(n, m);
            if by.has_extra_bit {
                high = self.iadd(high, n);
            }
            let down = if by.shift == 0 { high } else { self.ashr_imm(high, by.shift) };
            let sign = self.ashr_imm(n, bits - 1);
            self.isub(down, sign)
        };
        if negative { self.ineg(quotient) } else { quotient }
    }
}
