//! exp, exp2, log, log2 and pow.
//!
//! exp2: x = n + f, |f| ≤ 1/2, with a Taylor polynomial of 2^f of degree 7 (error 5e-9), scaled in
//! two steps so that results may be denormal. log2: m in [√½, √2), ln m = 2 atanh(s) with s =
//! (m-1)/(m+1), with a series to s^9 (error 2e-9).

use super::{Arith, keep_nan, poly};
use core::f32::consts::{LN_2, LOG2_E};

/// Coefficients ln(2)^k / k! of 2^x.
const EXP2: [f32; 8] = [
    1.0,
    core::f32::consts::LN_2,
    0.240_226_5,
    0.055_504_11,
    0.009_618_129,
    0.001_333_355_8,
    0.000_154_035_3,
    0.000_015_252_734,
];
/// Coefficients 1 / k! of e^x.
const EXP: [f32; 8] = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
/// Coefficients of atanh(s)/s in s².
const ATANH: [f32; 5] = [1.0, 1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0];
/// First part of ln 2. It has enough trailing zeros that n * LN2_HI is exact for |n| < 256.
const LN2_HI: f32 = 0.693_359_4;
/// Second part of ln 2.
const LN2_LO: f32 = -0.000_212_194_44;

/// Returns the nearest whole number, the even one of two, as a float and as an integer, for |x| ≤
/// 2^22. From 2^23 on, floats are whole numbers, whose bits count up by one.
fn round_to_integer<A: Arith>(a: &mut A, x: A::F) -> (A::F, A::I) {
    const MIDDLE: f32 = 12_582_912.0;
    let middle = a.f(MIDDLE);
    let sum = a.add(x, middle);
    let bits = a.bits(sum);
    let zero = a.i(MIDDLE.to_bits() as i32);
    (a.sub(sum, middle), a.isub(bits, zero))
}

/// Returns p * 2^n for n in -250..=250 and p near 1.
fn scale<A: Arith>(a: &mut A, p: A::F, n: A::I) -> A::F {
    let half = a.ashr(n, 1);
    let rest = a.isub(n, half);
    // Half of the exponent stays inside the range of exponents.
    let bits = a.bits(p);
    let half = a.shl(half, 23);
    let bits = a.iadd(bits, half);
    let scaled = a.with_bits(bits);
    let bias = a.i(127);
    let rest = a.iadd(rest, bias);
    let rest = a.shl(rest, 23);
    let factor = a.with_bits(rest);
    a.mul(scaled, factor)
}

fn clamp<A: Arith>(a: &mut A, x: A::F, lo: f32, hi: f32) -> A::F {
    let hi = a.f(hi);
    let lo = a.f(lo);
    let x = a.min(x, hi);
    a.max(x, lo)
}

/// Returns 2^x.
pub fn exp2<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let xc = clamp(a, x, -152.0, 130.0);
    let (n, exponent) = round_to_integer(a, xc);
    let f = a.sub(xc, n);
    let p = poly(a, f, &EXP2);
    let r = scale(a, p, exponent);
    keep_nan(a, x, r)
}

/// Returns e^x.
pub fn exp<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let xc = clamp(a, x, -106.0, 90.0);
    let log2e = a.f(LOG2_E);
    let n = a.mul(xc, log2e);
    let (n, exponent) = round_to_integer(a, n);
    let minus_n = a.neg(n);
    let hi = a.f(LN2_HI);
    let lo = a.f(LN2_LO);
    let f = a.fma(minus_n, hi, xc);
    let f = a.fma(minus_n, lo, f);
    let p = poly(a, f, &EXP);
    let r = scale(a, p, exponent);
    keep_nan(a, x, r)
}

/// Splits a positive finite x = 2^e * m and returns (e, s, P(s²)) with ln m / 2 = s * P(s²).
fn log_parts<A: Arith>(a: &mut A, x: A::F) -> (A::F, A::F, A::F) {
    let smallest = a.f(f32::MIN_POSITIVE);
    let denormal = a.lt(x, smallest);
    let up = a.f(8_388_608.0);
    let scaled = a.mul(x, up);
    let x = a.sel(denormal, scaled, x);
    let zero = a.f(0.0);
    let minus_23 = a.f(-23.0);
    let adjust = a.sel(denormal, minus_23, zero);
    let bits = a.bits(x);
    let sqrt_half = a.i(0x3f35_04f3);
    let e = a.isub(bits, sqrt_half);
    let e = a.ashr(e, 23);
    let shifted = a.shl(e, 23);
    let m = a.isub(bits, shifted);
    let m = a.with_bits(m);
    let e = a.s_to_f(e);
    let e = a.add(e, adjust);
    let one = a.f(1.0);
    let num = a.sub(m, one);
    let den = a.add(m, one);
    let s = a.div(num, den);
    let z = a.mul(s, s);
    let p = poly(a, z, &ATANH);
    (e, s, p)
}

/// Returns -inf for 0, NaN below 0, inf and NaN unchanged, else r.
fn log_specials<A: Arith>(a: &mut A, x: A::F, r: A::F) -> A::F {
    let zero = a.f(0.0);
    let inf = a.f(f32::INFINITY);
    let minus_inf = a.f(f32::NEG_INFINITY);
    let nan = a.f(f32::NAN);
    let is_zero = a.eq(x, zero);
    let below = a.lt(x, zero);
    let is_inf = a.eq(x, inf);
    let r = a.sel(is_zero, minus_inf, r);
    let r = a.sel(below, nan, r);
    let r = a.sel(is_inf, inf, r);
    keep_nan(a, x, r)
}

/// Returns log2(m) for the parts of [`log_parts`].
fn mantissa_log2<A: Arith>(a: &mut A, s: A::F, p: A::F) -> A::F {
    // 2/ln 2 = 2.885390081777927 in two parts.
    let hi = a.f(2.885_39);
    let lo = a.f(3.851_926e-8);
    let sp = a.mul(s, p);
    let t = a.mul(sp, lo);
    a.fma(sp, hi, t)
}

/// Returns log2 x.
pub fn log2<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (e, s, p) = log_parts(a, x);
    let l = mantissa_log2(a, s, p);
    let r = a.add(e, l);
    log_specials(a, x, r)
}

/// Returns ln x.
pub fn log<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (e, s, p) = log_parts(a, x);
    let s2 = a.add(s, s);
    let l = a.mul(s2, p);
    let lo = a.f(LN2_LO);
    let hi = a.f(LN2_HI);
    let r = a.fma(e, lo, l);
    let r = a.fma(e, hi, r);
    log_specials(a, x, r)
}

/// Returns x^y = 2^(y log2 x). y·log2 x is kept as an integer part plus a fraction computed by fma,
/// so that integer powers of small numbers are exact. Gives 1 for y = 0 and NaN for x < 0.
pub fn pow<A: Arith>(a: &mut A, x: A::F, y: A::F) -> A::F {
    let (e, s, p) = log_parts(a, x);
    let l = mantissa_log2(a, s, p);
    let log = a.add(e, l);
    let log = log_specials(a, x, log);
    let t = a.mul(y, log);
    let tc = clamp(a, t, -152.0, 130.0);
    let (n, exponent) = round_to_integer(a, tc);
    let minus_n = a.neg(n);
    let f = a.fma(y, e, minus_n);
    let f = a.fma(y, l, f);
    // If t was clamped (or x is 0 or infinite), the fraction is meaningless and replaced by 0.
    let clamped = a.eq(t, tc);
    let zero = a.f(0.0);
    let f = a.sel(clamped, f, zero);
    let q = poly(a, f, &EXP2);
    let r = scale(a, q, exponent);
    let r = keep_nan(a, t, r);
    let y_zero = a.eq(y, zero);
    let one = a.f(1.0);
    a.sel(y_zero, one, r)
}

/// Returns twice the exponent if [`power`] accepts it: a positive multiple of a half up to 64,
/// which few multiplications reach.
pub fn half_exponent(y: f32) -> Option<u32> {
    let twice = y * 2.0;
    ((1.0..=128.0).contains(&twice) && twice.trunc() == twice).then_some(twice as u32)
}

/// Returns x^(n/2) for n of [`lower_f16`], by squarings, which is closer to the power than [`pow`]
/// in fewer operations. Gives NaN for x < 0 and odd n.
pub fn power<A: Arith>(a: &mut A, x: A::F, n: u32) -> A::F {
    let mut product = (n & 1 != 0).then(|| a.sqrt(x));
    let (mut square, mut rest) = (x, n / 2);
    while rest != 0 {
        if rest & 1 != 0 {
            product = Some(product.map_or(square, |p| a.mul(p, square)));
        }
        rest /= 2;
        if rest != 0 {
            square = a.mul(square, square);
        }
    }
    product.unwrap_or(x)
}

const _: () = assert!(LN_2 == EXP2[1]);

#[cfg(test)]
mod tests {
    use super::super::Eval;
    use super::*;
    use base::random::XorshiftStar;

    /// Computes `scale` with conversions and two multiplications.
    fn scaled(p: f32, n: f32) -> f32 {
        let n = n as i32;
        let power = |e: i32| f32::from_bits(((e + 127) << 23) as u32);
        p * power(n >> 1) * power(n - (n >> 1))
    }

    #[test]
    fn round_to_integer_and_scale_match_conversions() {
        let mut random = XorshiftStar::new(5);
        for i in 0..2_000_000u32 {
            // Even rounds take all steps of a quarter, which include the ties; odd rounds take any
            // bits.
            let x = if i % 2 == 0 { (i as f32 - 1e6) / 4.0 } else { f32::from_bits(random.next() as u32) };
            if x.abs() > 4_194_304.0 || x.is_nan() {
                continue;
            }
            let (n, integer) = round_to_integer(&mut Eval, x);
            assert_eq!((n, integer), (x.round_ties_even(), x.round_ties_even() as i32), "{x:e}");
        }
        for n in -250..=250 {
            for p in [0.707, 1.0, 1.0 - f32::EPSILON / 2.0, 1.2345678, 1.4143] {
                let want = scaled(p, n as f32);
                assert_eq!(scale(&mut Eval, p, n).to_bits(), want.to_bits(), "{p} * 2^{n}");
            }
        }
    }
}
