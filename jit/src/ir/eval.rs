//! The executable meaning of the pure scalar operations: one function, bits in, bits out.
//!
//! The passes and `interp` share it, and generated code is tested against it. Transcendental
//! operations are not included: `passes::math` defines them, for constants too, so that no library
//! of the host has an influence.
//!
//! binary16 is computed in binary32 and rounded, which is correctly rounded for one operation (24
//! >= 2*11 + 2); its fma uses binary64.

use super::{Binary, Cmp, Convert, InstData, Meaning, Op, Shader, Ty, Unary};
use base::fused::FusedMulAdd;

/// Evaluates an instruction on constants. Returns `None` if it is not
/// [`Meaning::Exact`](super::Meaning), or computes under flags that change results.
pub fn fold(shader: &Shader, data: &InstData, args: &[u64]) -> Option<[u64; 2]> {
    if data.op.info().meaning != Meaning::Exact || !data.float.is_default() {
        return None;
    }
    let (first, result) = types(shader, data)?;
    eval(&data.op, first, result, args)
}

/// Returns the types of an instruction's first operand and of its first result.
pub fn types(shader: &Shader, data: &InstData) -> Option<(Ty, Ty)> {
    let result = if data.result_count == 0 { return None } else { shader.ty(data.first_result) };
    Some((data.args.first().map_or(result, |&a| shader.ty(a)), result))
}

/// Evaluates an arithmetic operation: `ty` is the type of the first operand, `result` of the first
/// result. Returns `None` for other operations (loads, built-ins, transcendental functions, …) and
/// for types that the operation does not take.
pub fn eval(op: &Op, ty: Ty, result: Ty, args: &[u64]) -> Option<[u64; 2]> {
    let bits = match op {
        Op::Const(bits) => *bits,
        Op::Unary(op) if ty.is_float() => float_unary(*op, ty, args[0])?,
        Op::Unary(op) => int_unary(*op, ty, args[0])?,
        Op::Binary(op) if ty.is_float() => float_binary(*op, ty, args[0], args[1])?,
        Op::Binary(op) => int_binary(*op, ty, args[0], args[1])?,
        Op::Cmp(op) if ty.is_float() => u64::from(float_compare(*op, ty, args[0], args[1])?),
        Op::Cmp(op) => u64::from(int_compare(*op, ty, args[0], args[1])?),
        Op::Convert(op) => convert(*op, ty, result, args[0]),
        Op::Select => args[if args[0] != 0 { 1 } else { 2 }],
        Op::Fma => fma(ty, args),
        Op::Ldexp => ldexp(ty, args[0], args[1] as u32 as i32),
        Op::Frexp => return Some(frexp(ty, args[0])),
        Op::IAddCarry => {
            let sum = cut(ty, args[0].wrapping_add(args[1]));
            return Some([sum, u64::from(sum < args[0])]);
        }
        Op::ISubBorrow => return Some([cut(ty, args[0].wrapping_sub(args[1])), u64::from(args[0] < args[1])]),
        Op::BitfieldInsert => bitfield_insert(ty, args[0], args[1], args[2] as u32, args[3] as u32),
        Op::BitfieldSExtract => bitfield_extract(ty, args[0], args[1] as u32, args[2] as u32, true),
        Op::BitfieldUExtract => bitfield_extract(ty, args[0], args[1] as u32, args[2] as u32, false),
        Op::VarLoad(_) | Op::VarStore(_) | Op::LoadInput(..) | Op::StoreOutput(_) | Op::Builtin(_) => return None,
        Op::LoadVertex(_) | Op::StoreVertex(_) | Op::StoreVertexCount => return None,
        Op::BufferDesc { .. } | Op::ImageDesc { .. } | Op::SamplerDesc { .. } => return None,
        Op::StructureDesc { .. } | Op::BufferSize => return None,
        Op::Load(..) | Op::Store(..) | Op::Atomic(..) => return None,
        Op::Sample(_) | Op::ImageFetch { .. } | Op::ImageResident { .. } => return None,
        Op::ImageStore { .. } | Op::ImageAtomic { .. } => return None,
        Op::ImageQuery(_) | Op::Ddx { .. } | Op::Ddy { .. } | Op::Subgroup(_) => return None,
        Op::Barrier | Op::MemoryBarrier | Op::Demote | Op::IsHelper | Op::Clock => return None,
        Op::ExecuteCallable | Op::TraceRay | Op::ReportIntersection | Op::TraceHitObject => return None,
        Op::ExecuteHitObject | Op::Reorder | Op::ReadInstance => return None,
        Op::TerminateRay | Op::IgnoreIntersection => return None,
        Op::RayQuery(..) => return None,
    };
    Some([bits, 0])
}

/// Returns the value `i` with `op(i, x) = x` (for a float minimum or maximum: for every number x),
/// or `None` for operations without one.
pub fn identity(op: Binary, ty: Ty) -> Option<u64> {
    let highest = cut(ty, u64::MAX);
    let sign = 1u64 << (width(ty) - 1);
    Some(match op {
        Binary::IAdd | Binary::Or | Binary::Xor | Binary::UMax => 0,
        Binary::IMul => 1,
        Binary::And | Binary::UMin => highest,
        Binary::SMin => highest ^ sign,
        Binary::SMax => sign,
        // The identity is -0.0, because 0.0 + -0.0 is not -0.0.
        Binary::FAdd => sign,
        Binary::FMul => from_f64(ty, 1.0),
        Binary::FMin => from_f64(ty, f64::INFINITY),
        Binary::FMax => from_f64(ty, f64::NEG_INFINITY),
        Binary::ISub | Binary::SDiv | Binary::UDiv | Binary::SRem | Binary::SMod | Binary::UMod => return None,
        Binary::SMulHi | Binary::UMulHi | Binary::Shl | Binary::LShr | Binary::AShr | Binary::Bound => return None,
        Binary::FSub | Binary::FDiv | Binary::FRem | Binary::FMod | Binary::Pow | Binary::Atan2 => return None,
    })
}

/// Returns the result of an exclusive scan for the first lane: the identity that the SPIR-V
/// specification names, which is 0.0 for FAdd.
pub fn exclusive_first(op: Binary, ty: Ty) -> Option<u64> {
    if op == Binary::FAdd { Some(0) } else { identity(op, ty) }
}

/// Returns true if the bits are a NaN of the type.
pub fn is_nan(ty: Ty, bits: u64) -> bool {
    ty.is_float() && to_f64(ty, bits).is_nan()
}

fn f32_of(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn width(ty: Ty) -> u32 {
    if ty == Ty::B1 { 1 } else { ty.bytes() * 8 }
}

/// Truncates to the type's width.
fn cut(ty: Ty, bits: u64) -> u64 {
    bits & (u64::MAX >> (64 - width(ty)))
}

/// Sign-extends from the type's width.
pub fn signed(ty: Ty, bits: u64) -> i64 {
    let shift = 64 - width(ty);
    ((bits << shift) as i64) >> shift
}

/// Returns the exact value of a float of any width.
pub fn to_f64(ty: Ty, bits: u64) -> f64 {
    match ty {
        Ty::F64 => f64::from_bits(bits),
        Ty::F32 => f64::from(f32_of(bits)),
        _ => f64::from(f16_to_f32(bits as u16)),
    }
}

/// Rounds to the nearest even number of a float type.
fn from_f64(ty: Ty, x: f64) -> u64 {
    match ty {
        Ty::F64 => x.to_bits(),
        Ty::F32 => u64::from((x as f32).to_bits()),
        _ => u64::from(f64_to_f16(x, false)),
    }
}

/// Converts exactly.
fn f16_to_f32(h: u16) -> f32 {
    let sign = u32::from(h >> 15) << 31;
    let (exponent, fraction) = (u32::from(h >> 10 & 31), u32::from(h & 1023));
    let magnitude = match exponent {
        0 => (fraction as f32 / 16_777_216.0).to_bits(),
        31 => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

fn f64_to_f16(x: f64, toward_zero: bool) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let a = x.abs();
    if a.is_nan() {
        return sign | 0x7e00;
    }
    if a.is_infinite() {
        return sign | 0x7c00;
    }
    // The value is scaled so that one unit is one step of the result; the scaling is exact.
    let exponent = ((a.to_bits() >> 52) as i32 - 1023).max(-14);
    if exponent > 15 {
        return sign | if toward_zero { 0x7bff } else { 0x7c00 };
    }
    let steps = a * f64::from_bits(((1023 + 10 - exponent) as u64) << 52);
    let steps = if toward_zero { steps.trunc() } else { steps.round_ties_even() } as u32;
    // A carry out of the fraction moves into the exponent, up to infinity.
    let magnitude = if exponent == -14 { steps } else { steps + (((exponent + 14) as u32) << 10) };
    sign | magnitude as u16
}

fn f64_to_f32_rtz(x: f64) -> f32 {
    let y = x as f32;
    if x.is_finite() && f64::from(y).abs() > x.abs() { f32::from_bits(y.to_bits() - 1) } else { y }
}

fn int_unary(op: Unary, ty: Ty, a: u64) -> Option<u64> {
    use Unary::*;
    let w = width(ty);
    let msb = |bits: u64| if bits == 0 { u64::MAX } else { 63 - u64::from(bits.leading_zeros()) };
    let bits = match op {
        INeg => a.wrapping_neg(),
        Not => !a,
        BitReverse => a.reverse_bits() >> (64 - w),
        BitCount => return Some(u64::from(a.count_ones())),
        FindLsb if a == 0 => u64::MAX,
        FindLsb => u64::from(a.trailing_zeros()),
        FindSMsb => msb(cut(ty, if signed(ty, a) < 0 { !a } else { a })),
        FindUMsb => msb(a),
        FNeg | FAbs | Floor | Ceil | Trunc | RoundEven | Sqrt | RoundHalf | InverseSqrt | Sin | Cos | Tan => {
            return None;
        }
        Asin | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Exp | Log | Exp2 | Log2 => return None,
    };
    Some(cut(ty, bits))
}

fn int_binary(op: Binary, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let w = width(ty);
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    let shift = b as u32 & (w.max(8) - 1);
    let bits = match op {
        Binary::IAdd => a.wrapping_add(b),
        Binary::ISub => a.wrapping_sub(b),
        Binary::IMul => a.wrapping_mul(b),
        Binary::SDiv | Binary::UDiv if b == 0 => u64::MAX,
        Binary::SRem | Binary::SMod | Binary::UMod if b == 0 => a,
        Binary::SDiv => sa.wrapping_div(sb) as u64,
        Binary::UDiv => a / b,
        Binary::SRem => sa.wrapping_rem(sb) as u64,
        Binary::SMod => {
            let r = sa.wrapping_rem(sb);
            (if r != 0 && (r < 0) != (sb < 0) { r.wrapping_add(sb) } else { r }) as u64
        }
        Binary::UMod => a % b,
        Binary::SMulHi => ((i128::from(sa) * i128::from(sb)) >> w) as u64,
        Binary::UMulHi => ((u128::from(a) * u128::from(b)) >> w) as u64,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a << shift,
        Binary::LShr => a >> shift,
        Binary::AShr => (sa >> shift) as u64,
        Binary::SMin => sa.min(sb) as u64,
        Binary::UMin => a.min(b),
        Binary::SMax => sa.max(sb) as u64,
        Binary::UMax => a.max(b),
        Binary::Bound => sa.min(sb).max(sb.wrapping_neg()) as u64,
        Binary::FAdd | Binary::FSub | Binary::FMul | Binary::FDiv | Binary::FMin | Binary::FMax => return None,
        Binary::FRem | Binary::FMod | Binary::Pow | Binary::Atan2 => return None,
    };
    Some(cut(ty, bits))
}

fn bitfield_mask(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

fn bitfield_insert(ty: Ty, base: u64, insert: u64, offset: u32, count: u32) -> u64 {
    let offset = offset & (width(ty) - 1);
    let mask = bitfield_mask(count) << offset;
    cut(ty, base & !mask | insert << offset & mask)
}

fn bitfield_extract(ty: Ty, base: u64, offset: u32, count: u32, sign: bool) -> u64 {
    let offset = offset & (width(ty) - 1);
    let field = cut(ty, base) >> offset & bitfield_mask(count);
    if sign && count > 0 && count < 64 && field >> (count - 1) & 1 == 1 {
        return cut(ty, field | !bitfield_mask(count));
    }
    field
}

/// Evaluates the unary operations that rounding in a wider format does not change.
fn float_unary(op: Unary, ty: Ty, a: u64) -> Option<u64> {
    let sign = 1u64 << (width(ty) - 1);
    let x = to_f64(ty, a);
    let y = match op {
        Unary::FNeg => return Some(a ^ sign),
        Unary::FAbs => return Some(a & !sign),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Trunc => x.trunc(),
        Unary::RoundEven => x.round_ties_even(),
        // Exact for narrower types: 53 >= 2*24 + 2.
        Unary::Sqrt => x.sqrt(),
        Unary::RoundHalf => f64::from(f16_to_f32(f64_to_f16(x, false))),
        // `passes::math` defines these.
        Unary::InverseSqrt | Unary::Sin | Unary::Cos | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Atan => {
            return None;
        }
        Unary::Sinh | Unary::Cosh | Unary::Tanh | Unary::Asinh | Unary::Acosh | Unary::Atanh => return None,
        Unary::Exp | Unary::Log | Unary::Exp2 | Unary::Log2 => return None,
        Unary::INeg | Unary::Not | Unary::BitReverse | Unary::BitCount => return None,
        Unary::FindLsb | Unary::FindSMsb | Unary::FindUMsb => return None,
    };
    Some(from_f64(ty, y))
}

/// Evaluates the exact binary operations in one of Rust's float types.
macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        match $op {
            Binary::FAdd => a + b,
            Binary::FSub => a - b,
            Binary::FMul => a * b,
            Binary::FDiv => a / b,
            Binary::FMin if a.is_nan() || b < a => b,
            Binary::FMax if a.is_nan() || b > a => b,
            Binary::FMin | Binary::FMax => a,
            Binary::FRem => a - b * (a / b).trunc(),
            Binary::FMod => a - b * (a / b).floor(),
            Binary::Pow | Binary::Atan2 => return None,
            Binary::IAdd | Binary::ISub | Binary::IMul | Binary::SDiv | Binary::UDiv | Binary::SRem => return None,
            Binary::SMod | Binary::UMod | Binary::SMulHi | Binary::UMulHi | Binary::And | Binary::Or => return None,
            Binary::Xor | Binary::Shl | Binary::LShr | Binary::AShr | Binary::SMin | Binary::UMin => return None,
            Binary::SMax | Binary::UMax | Binary::Bound => return None,
        }
    }};
}

fn float_binary(op: Binary, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (to_f64(ty, a), to_f64(ty, b));
    Some(match (op, ty) {
        (_, Ty::F32) => u64::from(float_binary!(op, f32_of(a), f32_of(b)).to_bits()),
        // Remainders of binary16 round once here. `lower_math` refuses them, so no shader depends
        // on it.
        (_, Ty::F16) => from_f64(ty, f64::from(float_binary!(op, x as f32, y as f32))),
        _ => float_binary!(op, x, y).to_bits(),
    })
}

fn fma(ty: Ty, args: &[u64]) -> u64 {
    match ty {
        Ty::F64 => f64::from_bits(args[0]).fused_mul_add(f64::from_bits(args[1]), f64::from_bits(args[2])).to_bits(),
        Ty::F16 => from_f64(ty, to_f64(ty, args[0]).fused_mul_add(to_f64(ty, args[1]), to_f64(ty, args[2]))),
        _ => u64::from(f32_of(args[0]).fused_mul_add(f32_of(args[1]), f32_of(args[2])).to_bits()),
    }
}

fn float_compare(op: Cmp, ty: Ty, a: u64, b: u64) -> Option<bool> {
    let (x, y) = (to_f64(ty, a), to_f64(ty, b));
    let unordered = x.is_nan() || y.is_nan();
    Some(match op {
        Cmp::FOrdEq => x == y,
        Cmp::FOrdNe => !unordered && x != y,
        Cmp::FOrdLt => x < y,
        Cmp::FOrdLe => x <= y,
        Cmp::FUnoEq => unordered || x == y,
        Cmp::FUnoNe => unordered || x != y,
        Cmp::FUnoLt => unordered || x < y,
        Cmp::FUnoLe => unordered || x <= y,
        Cmp::IEq | Cmp::INe | Cmp::SLt | Cmp::SLe | Cmp::ULt | Cmp::ULe => return None,
    })
}

fn int_compare(op: Cmp, ty: Ty, a: u64, b: u64) -> Option<bool> {
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    Some(match op {
        Cmp::IEq => a == b,
        Cmp::INe => a != b,
        Cmp::SLt => sa < sb,
        Cmp::SLe => sa <= sb,
        Cmp::ULt => a < b,
        Cmp::ULe => a <= b,
        Cmp::FOrdEq | Cmp::FOrdNe | Cmp::FOrdLt | Cmp::FOrdLe => return None,
        Cmp::FUnoEq | Cmp::FUnoNe | Cmp::FUnoLt | Cmp::FUnoLe => return None,
    })
}

fn convert(op: Convert, from: Ty, to: Ty, a: u64) -> u64 {
    match op {
        Convert::FToS => {
            let x = to_f64(from, a);
            let (min, max) = (i64::MIN >> (64 - width(to)), i64::MAX >> (64 - width(to)));
            cut(to, (x as i64).clamp(min, max) as u64)
        }
        Convert::FToU => (to_f64(from, a) as u64).min(u64::MAX >> (64 - width(to))),
        Convert::SToF => match to {
            Ty::F32 => u64::from((signed(from, a) as f32).to_bits()),
            _ => from_f64(to, signed(from, a) as f64),
        },
        Convert::UToF => match to {
            Ty::F32 => u64::from((a as f32).to_bits()),
            _ => from_f64(to, a as f64),
        },
        Convert::FToF => from_f64(to, to_f64(from, a)),
        Convert::FToFRtz => {
            let x = to_f64(from, a);
            match to {
                Ty::F64 => x.to_bits(),
                Ty::F32 => u64::from(f64_to_f32_rtz(x).to_bits()),
                _ => u64::from(f64_to_f16(x, true)),
            }
        }
        Convert::UToU | Convert::Bitcast => cut(to, a),
        Convert::SToS => cut(to, signed(from, a) as u64),
        Convert::BToI => a,
    }
}

/// Returns 2^e for a normal exponent.
fn exp2i(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

fn ldexp(ty: Ty, a: u64, e: i32) -> u64 {
    let mut x = to_f64(ty, a);
    if ty != Ty::F64 {
        // Exact in binary64, then rounded once.
        return from_f64(ty, x * exp2i(e.clamp(-400, 400)));
    }
    let mut e = e.clamp(-2200, 2200);
    while e > 1000 {
        x *= exp2i(1000);
        e -= 1000;
    }
    // Each step keeps 53 bits until the last product, which rounds.
    while e < -960 {
        x *= exp2i(-960 + 53);
        e += 960 - 53;
    }
    (x * exp2i(e)).to_bits()
}

fn frexp(ty: Ty, a: u64) -> [u64; 2] {
    let x = to_f64(ty, a);
    if x == 0.0 || !x.is_finite() {
        return [a, 0];
    }
    let (x, bias) = if x.abs() < f64::MIN_POSITIVE { (x * exp2i(54), -54) } else { (x, 0) };
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    let significand = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52);
    [from_f64(ty, significand), u64::from((exponent + bias) as u32)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_round_trip() {
        for bits in 0..=u16::MAX {
            let x = f16_to_f32(bits);
            if !x.is_nan() {
                assert_eq!(f64_to_f16(f64::from(x), false), bits);
                assert_eq!(f64_to_f16(f64::from(x), true), bits);
            }
        }
        assert_eq!(f64_to_f16(65519.0, false), 0x7bff);
        assert_eq!(f64_to_f16(65520.0, false), 0x7c00);
        assert_eq!(f64_to_f16(1e9, true), 0x7bff);
        assert_eq!(f64_to_f16(2f64.powi(-25), false), 0);
        assert_eq!(f64_to_f16(2f64.powi(-25) * 1.5, false), 1);
    }

    #[test]
    fn corner_cases() {
        let bin = |op, a: u32, b: u32| int_binary(op, Ty::I32, u64::from(a), u64::from(b)).unwrap() as u32;
        assert_eq!(bin(Binary::SDiv, 0x8000_0000, u32::MAX), 0x8000_0000);
        assert_eq!(bin(Binary::SDiv, 7, 0), u32::MAX);
        assert_eq!(bin(Binary::UMod, 7, 0), 7);
        assert_eq!(bin(Binary::SMod, -7i32 as u32, 3), 2);
        assert_eq!(bin(Binary::SRem, -7i32 as u32, 3) as i32, -1);
        assert_eq!(bin(Binary::Shl, 1, 33), 2);
        assert_eq!(bin(Binary::SMulHi, u32::MAX, 2), u32::MAX);
        let un = |op, a: u32| int_unary(op, Ty::I32, u64::from(a)).unwrap() as i32;
        assert_eq!((un(Unary::FindLsb, 0), un(Unary::FindUMsb, 0), un(Unary::FindSMsb, u32::MAX)), (-1, -1, -1));
        assert_eq!((un(Unary::FindSMsb, 0xffff_fffe), un(Unary::FindUMsb, 0x8000_0000)), (0, 31));
        let f = |x: f32| u64::from(x.to_bits());
        assert_eq!(convert(Convert::FToS, Ty::F32, Ty::I32, f(-1e20)) as u32, 0x8000_0000);
        assert_eq!(convert(Convert::FToU, Ty::F32, Ty::I32, f(-1.0)), 0);
        assert_eq!(convert(Convert::FToU, Ty::F32, Ty::I32, f(1e20)) as u32, u32::MAX);
        assert_eq!(convert(Convert::FToS, Ty::F32, Ty::I32, f(f32::NAN)), 0);
        assert_eq!(float_binary(Binary::FMin, Ty::F32, f(f32::NAN), f(1.0)), Some(f(1.0)));
        assert_eq!(float_binary(Binary::FMax, Ty::F32, f(1.0), f(f32::NAN)), Some(f(1.0)));
        assert_eq!(frexp(Ty::F32, f(-6.0)), [f(-0.75), 3]);
        assert_eq!(frexp(Ty::F32, 1), [f(0.5), u64::from(-148i32 as u32)]);
        assert_eq!(ldexp(Ty::F32, f(0.5), -148), 1);
        assert_eq!(bitfield_extract(Ty::I32, 0xf0, 4, 4, true) as u32, u32::MAX);
        assert_eq!(bitfield_insert(Ty::I32, 0, u64::MAX, 8, 8), 0xff00);
    }
}
