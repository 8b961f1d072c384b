//! Operations on the bits of a single lane.

#![forbid(unsafe_code)]

use crate::lir::{Elem, FloatCond, IntCond, Op, Rmw};

/// Interprets the low bits as a signed number.
pub fn signed(elem: Elem, bits: u64) -> i64 {
    let unused = 64 - elem.bits();
    ((bits << unused) as i64) >> unused
}

/// Evaluates an operation on one or two integers or truth values. `b` is ignored if there is one
/// operand.
pub fn int(op: Op, elem: Elem, a: u64, b: u64) -> u64 {
    let (sa, sb) = (signed(elem, a), signed(elem, b));
    let width = elem.bits();
    let n = (b % u64::from(width)) as u32;
    let result = match op {
        Op::Iadd => a.wrapping_add(b),
        Op::Isub => a.wrapping_sub(b),
        Op::Imul => a.wrapping_mul(b),
        Op::Ineg => a.wrapping_neg(),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::AndNot => a & !b,
        Op::Not => !a,
        Op::Smin => sa.min(sb) as u64,
        Op::Smax => sa.max(sb) as u64,
        Op::Umin => a.min(b),
        Op::Umax => a.max(b),
        Op::SmulHigh => ((i128::from(sa) * i128::from(sb)) >> width) as u64,
        Op::UmulHigh => ((u128::from(a) * u128::from(b)) >> width) as u64,
        Op::Sdiv => sa.checked_div(sb).map_or(if sb == 0 { u64::MAX } else { a }, |q| q as u64),
        Op::Udiv => a.checked_div(b).unwrap_or(u64::MAX),
        Op::Srem => sa.checked_rem(sb).map_or(if sb == 0 { a } else { 0 }, |r| r as u64),
        Op::Urem => a.checked_rem(b).unwrap_or(a),
        Op::Shl | Op::ShlV => a << n,
        Op::Lshr | Op::LshrV => a >> n,
        Op::Ashr | Op::AshrV => (sa >> n) as u64,
        Op::Clz => u64::from(a.leading_zeros() - (64 - width)),
        Op::Ctz => u64::from(a.trailing_zeros().min(width)),
        Op::Popcnt => u64::from(a.count_ones()),
        Op::BitReverse => a.reverse_bits() >> (64 - width),
        other => panic!("{other:?} is not of integers"),
    };
    result & elem.mask()
}

/// Evaluates a comparison of integers.
pub fn int_cond(cond: IntCond, elem: Elem, a: u64, b: u64) -> bool {
    let (sa, sb) = (signed(elem, a), signed(elem, b));
    match cond {
        IntCond::Eq => a == b,
        IntCond::Ne => a != b,
        IntCond::Slt => sa < sb,
        IntCond::Sle => sa <= sb,
        IntCond::Sgt => sa > sb,
        IntCond::Sge => sa >= sb,
        IntCond::Ult => a < b,
        IntCond::Ule => a <= b,
        IntCond::Ugt => a > b,
        IntCond::Uge => a >= b,
    }
}

/// Evaluates a comparison of floats.
pub fn float_cond(cond: FloatCond, elem: Elem, a: u64, b: u64) -> bool {
    let (a, b) = (float(elem, a), float(elem, b));
    let unordered = a.is_nan() || b.is_nan();
    match cond {
        FloatCond::Eq => a == b,
        FloatCond::One => !unordered && a != b,
        FloatCond::Lt => a < b,
        FloatCond::Le => a <= b,
        FloatCond::Gt => a > b,
        FloatCond::Ge => a >= b,
        FloatCond::Ord => !unordered,
        FloatCond::Uno => unordered,
        FloatCond::Ueq => unordered || a == b,
        FloatCond::Ne => a != b,
        FloatCond::Ult => unordered || a < b,
        FloatCond::Ule => unordered || a <= b,
        FloatCond::Ugt => unordered || a > b,
        FloatCond::Uge => unordered || a >= b,
    }
}

/// Converts F32 or F64 to F64, exactly.
pub fn float(elem: Elem, bits: u64) -> f64 {
    if elem == Elem::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

macro_rules! float_op {
    ($op:expr, $a:expr, $b:expr, $c:expr) => {
        match $op {
            Op::Fadd => $a + $b,
            Op::Fsub => $a - $b,
            Op::Fmul => $a * $b,
            Op::Fdiv => $a / $b,
            Op::Fma => base::fused::FusedMulAdd::fused_mul_add($a, $b, $c),
            Op::Sqrt => $a.sqrt(),
            Op::Floor => $a.floor(),
            Op::Ceil => $a.ceil(),
            Op::Trunc => $a.trunc(),
            Op::Nearest => $a.round_ties_even(),
            other => panic!("{other:?} is not of floats"),
        }
    };
}

/// Evaluates an operation on up to three floats.
pub fn floats(op: Op, elem: Elem, [a, b, c]: [u64; 3]) -> u64 {
    let sign = 1 << (elem.bits() - 1);
    match op {
        Op::Fneg => a ^ sign,
        Op::Fabs => a & !sign,
        _ if elem == Elem::F32 => {
            let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
            u64::from(float_op!(op, a, b, c).to_bits())
        }
        _ => {
            let [a, b, c] = [a, b, c].map(f64::from_bits);
            float_op!(op, a, b, c).to_bits()
        }
    }
}

/// Evaluates a conversion of one lane.
pub fn convert(op: Op, from: Elem, to: Elem, a: u64) -> u64 {
    let single = |x: f32| u64::from(x.to_bits());
    let result = match op {
        Op::Sext if from == Elem::B => a.wrapping_neg(),
        Op::Sext => signed(from, a) as u64,
        Op::Zext | Op::Narrow => a,
        Op::Fwiden => f64::from(f32::from_bits(a as u32)).to_bits(),
        Op::Fnarrow => single(f64::from_bits(a) as f32),
        Op::HalfToFloat => u64::from(half_to_float(a as u16)),
        Op::FloatToHalf => u64::from(float_to_half(a as u32)),
        Op::SintToFloat if to == Elem::F32 => single(signed(from, a) as f32),
        Op::SintToFloat => (signed(from, a) as f64).to_bits(),
        Op::UintToFloat if to == Elem::F32 => single(a as f32),
        Op::UintToFloat => (a as f64).to_bits(),
        Op::FloatToSint if to == Elem::I32 => float(from, a) as i32 as u64,
        Op::FloatToSint => float(from, a) as i64 as u64,
        Op::FloatToUint if to == Elem::I32 => u64::from(float(from, a) as u32),
        Op::FloatToUint => float(from, a) as u64,
        other => panic!("{other:?} is not a conversion"),
    };
    result & to.mask()
}

/// Converts binary16 to binary32, exactly.
pub fn half_to_float(h: u16) -> u32 {
    let sign = u32::from(h & 0x8000) << 16;
    let magnitude = u32::from(h & 0x7fff);
    sign | match magnitude {
        // Denormals are whole multiples of 2^-24.
        0..0x400 => (magnitude as f32 / 16_777_216.0).to_bits(),
        0x400..0x7c00 => (magnitude << 13) + (112 << 23),
        0x7c00 => 0x7f80_0000,
        _ => 0x7fc0_0000 | magnitude << 13,
    }
}

/// Rounds binary32 to the nearest binary16, ties to even.
pub fn float_to_half(f: u32) -> u16 {
    let sign = (f >> 16 & 0x8000) as u16;
    let magnitude = f & 0x7fff_ffff;
    // Shifts right and rounds to nearest. On a tie, the lowest remaining bit decides.
    let rounded = |x: u32, shift: u32| {
        let half = 1 << (shift - 1);
        (x + half - 1 + (x >> shift & 1)) >> shift
    };
    sign | match magnitude {
        // The range ends at half of the least denormal, which is a tie and rounds to 0.
        0..=0x3300_0000 => 0,
        0x3300_0001..0x3880_0000 => {
            let exponent = magnitude >> 23;
            rounded(magnitude & 0x7f_ffff | 0x80_0000, 126 - exponent) as u16
        }
        0x3880_0000..0x4780_0000 => rounded(magnitude - (112 << 23), 13) as u16,
        0x4780_0000..=0x7f80_0000 => 0x7c00,
        _ => 0x7e00,
    }
}

/// Returns the value that [`Op::AtomicRmw`] writes.
pub fn rmw(kind: Rmw, elem: Elem, old: u64, value: u64) -> u64 {
    let op = match kind {
        Rmw::Exchange => return value,
        Rmw::Add => Op::Iadd,
        Rmw::Sub => Op::Isub,
        Rmw::And => Op::And,
        Rmw::Or => Op::Or,
        Rmw::Xor => Op::Xor,
        Rmw::Smin => Op::Smin,
        Rmw::Umin => Op::Umin,
        Rmw::Smax => Op::Smax,
        Rmw::Umax => Op::Umax,
    };
    int(op, elem, old, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips() {
        for h in 0..=u16::MAX {
            let f = f32::from_bits(half_to_float(h));
            let nan = h & 0x7fff > 0x7c00;
            assert_eq!(f.is_nan(), nan);
            assert_eq!(float_to_half(f.to_bits()), if nan { h & 0x8000 | 0x7e00 } else { h });
            // The middle between two halves rounds to the even one.
            let next = f32::from_bits(half_to_float(h.wrapping_add(1)));
            if h & 0x7fff < 0x7bff {
                let middle = (f64::from(f) + f64::from(next)) / 2.0;
                let even = if h & 1 == 0 { h } else { h + 1 };
                assert_eq!(float_to_half((middle as f32).to_bits()), even, "{h:#x}");
                let above = f32::from_bits((middle as f32).to_bits() + 1);
                let below = f32::from_bits((middle as f32).to_bits() - 1);
                assert_eq!((float_to_half(below.to_bits()), float_to_half(above.to_bits())), (h, h + 1));
            }
        }
        assert_eq!([65519.9f32, 65520.0].map(|f| float_to_half(f.to_bits())), [0x7bff, 0x7c00]);
    }
}
