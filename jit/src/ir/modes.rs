//! The meaning of arithmetic under float flags that change results: rounding towards zero, and
//! flushing of denormals to zero.
//!
//! A sum, difference, product, quotient, root or conversion is truncated to its type by integer
//! arithmetic, for any operands. `passes::float_modes` lowers it to steps of ordinary arithmetic,
//! and the two are tested against each other. For operations whose precision Vulkan leaves open
//! (remainders, exponents, transcendental functions), only operands and results are flushed.

use super::eval::{self, eval, to_f64};
use super::{Binary, Convert, FloatFlags, InstData, Op, Shader, Ty, Unary};

/// Returns the smallest normal number of a float type.
pub fn smallest_normal(ty: Ty) -> f64 {
    match ty {
        Ty::F16 => 1.0 / 16384.0,
        Ty::F32 => f64::from(f32::MIN_POSITIVE),
        _ => f64::MIN_POSITIVE,
    }
}

/// Evaluates as [`eval`] does, under float flags.
pub fn eval_under(float: FloatFlags, op: &Op, ty: Ty, result: Ty, args: &[u64]) -> Option<[u64; 2]> {
    if float.is_default() {
        return eval(op, ty, result, args);
    }
    let rule = op.info().float;
    let flush = float.contains(FloatFlags::FLUSH_DENORMALS);
    let mut args: Vec<u64> = args.to_vec();
    if flush && rule.flushes_operands() && ty.is_float() {
        // The second operand of `Ldexp` is an integer.
        let floats = if *op == Op::Ldexp { 1 } else { args.len() };
        args[..floats].iter_mut().for_each(|bits| *bits = flushed(ty, *bits));
    }
    let cut = if float.contains(FloatFlags::ROUND_ZERO) && rule.rounds() {
        towards_zero(op, ty, result, &args)
    } else {
        None
    };
    let mut bits = match cut {
        Some(bits) => [bits, 0],
        None => eval(op, ty, result, &args)?,
    };
    if flush && rule.flushes_results() && result.is_float() {
        bits[0] = flushed(result, bits[0]);
    }
    Some(bits)
}

/// Evaluates an instruction on constants under its flags, even if the result is only a reference
/// for comparison.
pub fn reference(shader: &Shader, data: &InstData, args: &[u64]) -> Option<[u64; 2]> {
    let (first, result) = eval::types(shader, data)?;
    eval_under(data.float, &data.op, first, result, args)
}

/// Returns a zero of the same sign in place of a denormal, and other numbers unchanged.
fn flushed(ty: Ty, bits: u64) -> u64 {
    if to_f64(ty, bits).abs() < smallest_normal(ty) { bits & 1 << (ty.bytes() * 8 - 1) } else { bits }
}

/// A finite number: a sign and an integer times a power of two. A part below the last bit of the
/// integer may be missing.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

impl Exact {
    fn of(ty: Ty, bits: u64) -> Option<Exact> {
        let x = to_f64(ty, bits);
        if !x.is_finite() {
            return None;
        }
        let field = (x.to_bits() >> 52 & 0x7ff) as i32;
        let fraction = u128::from(x.to_bits() & ((1 << 52) - 1));
        let magnitude = if field == 0 { fraction } else { fraction | 1 << 52 };
        Some(Exact { negative: x.is_sign_negative(), magnitude, exponent: field.max(1) - 1075 })
    }

    /// Returns the nearest number of a type that is not further from zero.
    fn cut(self, ty: Ty) -> u64 {
        let (precision, least, most) = match ty {
            Ty::F16 => (11, -24, 15),
            Ty::F32 => (24, -149, 127),
            _ => (53, -1074, 1023),
        };
        let sign = u64::from(self.negative) << (ty.bytes() * 8 - 1);
        let length = 128 - self.magnitude.leading_zeros() as i32;
        if length == 0 {
            return sign;
        }
        let fraction_bits = precision - 1;
        if self.exponent + length - 1 > most {
            // The largest finite number.
            let infinity = (2 * most as u64 + 1) << fraction_bits;
            return sign | (infinity - 1);
        }
        let exponent = (self.exponent + length - precision).max(least);
        let shift = exponent - self.exponent;
        let kept = match shift {
            0.. => self.magnitude.checked_shr(shift as u32).unwrap_or(0),
            _ => self.magnitude << -shift,
        } as u64;
        // The leading bit of a normal number increments its exponent.
        sign | (((exponent - least) as u64) << fraction_bits).wrapping_add(kept)
    }
}

/// Returns the leading bits of the exact sum, at least as many as a type can have, or `None` if it
/// is an exact zero.
fn sum(a: Exact, b: Exact) -> Option<Exact> {
    // The larger number comes first and is moved to the front.
    let top = |x: Exact| if x.magnitude == 0 { i32::MIN } else { x.exponent + bits_of(x) };
    let (a, b) = if top(a) < top(b) { (b, a) } else { (a, b) };
    if a.magnitude == 0 {
        return None;
    }
    let up = 120 - bits_of(a);
    let (big, exponent) = (a.magnitude << up, a.exponent - up);
    let down = exponent - b.exponent;
    let (small, lost) = match down {
        0.. if down < 128 => {
            let kept = b.magnitude >> down;
            (kept, kept << down != b.magnitude)
        }
        0.. => (0, b.magnitude != 0),
        _ => (b.magnitude << -down, false),
    };
    // A lost part of the subtrahend takes away one more unit, because the result is truncated.
    let (magnitude, negative) = match a.negative == b.negative {
        true => (big + small, a.negative),
        false if big >= small + u128::from(lost) => (big - small - u128::from(lost), a.negative),
        false => (small - big, b.negative),
    };
    (magnitude != 0 || lost).then_some(Exact { negative, magnitude, exponent })
}

fn bits_of(x: Exact) -> i32 {
    128 - x.magnitude.leading_zeros() as i32
}

fn product(a: Exact, b: Exact) -> Exact {
    Exact {
        negative: a.negative != b.negative,
        magnitude: a.magnitude * b.magnitude,
        exponent: a.exponent + b.exponent,
    }
}

/// Returns the result of an operation that [rounds](super::FloatRule::rounds), truncated to its
/// type, or `None` for special operands. A test checks that each such operation has a result.
fn towards_zero(op: &Op, ty: Ty, result: Ty, args: &[u64]) -> Option<u64> {
    let exact = |i: usize| Exact::of(ty, args[i]);
    match op {
        Op::Binary(op @ (Binary::FAdd | Binary::FSub)) => {
            let mut b = exact(1)?;
            b.negative ^= *op == Binary::FSub;
            Some(sum(exact(0)?, b)?.cut(result))
        }
        Op::Binary(Binary::FMul) => Some(product(exact(0)?, exact(1)?).cut(result)),
        Op::Binary(Binary::FDiv) => {
            let (a, b) = (exact(0)?, exact(1)?);
            if b.magnitude == 0 {
                return None;
            }
            let up = if a.magnitude == 0 { 0 } else { 120 - bits_of(a) };
            // Both operands have at most 53 bits, so the quotient has at least 67.
            let (magnitude, exponent) = ((a.magnitude << up) / b.magnitude, a.exponent - up - b.exponent);
            Some(Exact { negative: a.negative != b.negative, magnitude, exponent }.cut(result))
        }
        Op::Fma => {
            let (a, b, c) = (exact(0)?, exact(1)?, exact(2)?);
            if ty == Ty::F64 {
                // A product and a sum, each truncated, as Vulkan allows.
                let product = product(a, b).cut(ty);
                let (add, args) = (Op::Binary(Binary::FAdd), [product, args[2]]);
                return towards_zero(&add, ty, result, &args).or_else(|| Some(eval(&add, ty, result, &args)?[0]));
            }
            Some(sum(product(a, b), c)?.cut(result))
        }
        Op::Unary(Unary::Sqrt) => {
            let x = exact(0)?;
            if x.negative || x.magnitude == 0 {
                return None;
            }
            let mut up = 120 - bits_of(x);
            up += (x.exponent - up) & 1;
            let magnitude = (x.magnitude << up).isqrt();
            Some(Exact { negative: false, magnitude, exponent: (x.exponent - up) / 2 }.cut(result))
        }
        Op::Convert(Convert::FToF) => eval(&Op::Convert(Convert::FToFRtz), ty, result, args).map(|bits| bits[0]),
        Op::Convert(Convert::UToF) => {
            Some(Exact { negative: false, magnitude: args[0].into(), exponent: 0 }.cut(result))
        }
        Op::Convert(Convert::SToF) => {
            let x = eval::signed(ty, args[0]);
            Some(Exact { negative: x < 0, magnitude: x.unsigned_abs().into(), exponent: 0 }.cut(result))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(op: Op, args: &[f32]) -> f32 {
        let args: Vec<u64> = args.iter().map(|x| x.to_bits().into()).collect();
        let bits = eval_under(FloatFlags::ROUND_ZERO, &op, Ty::F32, Ty::F32, &args).expect("arithmetic")[0];
        f32::from_bits(bits as u32)
    }

    /// Checks that each operation that rounds is truncated for all its types, and no other one.
    #[test]
    fn exactly_the_rounding_operations_are_truncated() {
        for op in Op::examples() {
            for (args, results) in op.info().signature.instances() {
                let (Some(&ty), Some(&result)) = (args.first(), results.first()) else { continue };
                let rounds = op.info().float.rounds() && result.is_float();
                // Different operands, because an exact zero is not truncated.
                let operands: Vec<u64> = (0..args.len() as u64).map(|n| 3 - n).collect();
                let cut = towards_zero(&op, ty, result, &operands);
                assert_eq!(cut.is_some(), rounds, "{} {args:?} -> {results:?}", op.info().name);
            }
        }
    }

    #[test]
    fn known_results() {
        let add = |a, b| f32s(Op::Binary(Binary::FAdd), &[a, b]);
        let below_one = 1.0 - f32::EPSILON / 2.0;
        assert_eq!(add(1.0, -1e-30), below_one);
        assert_eq!(add(-1.0, 1e-30), -below_one);
        assert_eq!((add(1.0, 1e-30), add(1.0, f32::EPSILON * 0.75)), (1.0, 1.0));
        assert_eq!((add(f32::MAX, f32::MAX), add(f32::INFINITY, 1.0)), (f32::MAX, f32::INFINITY));
        assert_eq!((add(1.0, -1.0).to_bits(), add(-0.0, -0.0).to_bits()), (0, 1 << 31));
        assert!(add(f32::INFINITY, f32::NEG_INFINITY).is_nan());
        let div = |a, b| f32s(Op::Binary(Binary::FDiv), &[a, b]);
        assert_eq!((div(2.0, 3.0), div(6.0, 3.0), div(1.0, 0.0)), (0.666_666_6, 2.0, f32::INFINITY));
        assert_eq!(f32s(Op::Unary(Unary::Sqrt), &[5.0]), 2.236_067_8);
        assert_eq!(f32s(Op::Unary(Unary::Sqrt), &[9.0]), 3.0);
        assert_eq!(f32s(Op::Binary(Binary::FMul), &[1e-30, 1e-30]).to_bits(), 0);
        assert_eq!(f32s(Op::Binary(Binary::FMul), &[1e30, -1e30]), f32::MIN);
    }

    #[test]
    fn denormals_are_zeros_of_their_sign() {
        let flush = |op: Op, args: &[u32]| {
            let args: Vec<u64> = args.iter().map(|&x| x.into()).collect();
            eval_under(FloatFlags::FLUSH_DENORMALS, &op, Ty::F32, Ty::F32, &args).expect("arithmetic")[0]
        };
        assert_eq!(flush(Op::Binary(Binary::FAdd), &[0x8000_0001, 0x8000_0000]), 0x8000_0000);
        assert_eq!(flush(Op::Binary(Binary::FMul), &[0x0080_0000, 0x3f00_0000]), 0);
        assert_eq!(flush(Op::Unary(Unary::Ceil), &[1]), 0);
        assert_eq!(flush(Op::Select, &[1, 1, 2]), 1, "bits are moved");
    }
}
