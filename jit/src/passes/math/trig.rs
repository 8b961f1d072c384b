//! sin, cos, tan by Cody–Waite reduction with fma; asin, acos, atan, atan2.
//!
//! The reduction subtracts q·π/2 in three parts; it is accurate for |x| up to about 1e5 and bounded
//! for anything finite. The coefficients of asin and atan are the well-known minimax ones of Cephes
//! (S. L. Moshier), those of sin and cos are Taylor's.

use super::{Arith, copy_sign, odd, poly};
use core::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

// π/2 in three parts that add up to 70 bits.
const PIO2_1: f32 = 1.570_796_4;
const PIO2_2: f32 = -4.371_139e-8;
const PIO2_3: f32 = -1.715_124_6e-15;

/// Coefficients of sin r = r + r·z·P(z).
const SIN: [f32; 4] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0];
/// Coefficients of cos r = P(z).
const COS: [f32; 6] = [1.0, -0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0, -1.0 / 3_628_800.0];
const ASIN: [f32; 5] = [0.166_667_52, 0.074_953, 0.045_470_025, 0.024_181_31, 0.042_163_2];
const ATAN: [f32; 4] = [-0.333_329_5, 0.199_777_1, -0.138_776_86, 0.080_537_446];
const TAN_PI_8: f32 = 0.414_213_57;

/// Returns a word whose lowest two bits are those of a whole number of any size.
fn modulo_4<A: Arith>(a: &mut A, q: A::F) -> A::I {
    // From 2^23 on, floats are whole numbers, whose bits count up by one.
    const MIDDLE: f32 = 12_582_912.0;
    let (quarter, minus_four, middle) = (a.f(0.25), a.f(-4.0), a.f(MIDDLE));
    let fours = a.mul(q, quarter);
    let fours = a.round_even(fours);
    let rest = a.fma(minus_four, fours, q);
    let sum = a.add(rest, middle);
    a.bits(sum)
}

/// Splits x = q·π/2 + r and returns (q, sin r, cos r); only the lowest two bits of q count.
fn reduce<A: Arith>(a: &mut A, x: A::F) -> (A::I, A::F, A::F) {
    let k = a.f(core::f32::consts::FRAC_2_PI);
    let q = a.mul(x, k);
    let q = a.round_even(q);
    let minus_q = a.neg(q);
    let mut r = x;
    for part in [PIO2_1, PIO2_2, PIO2_3] {
        let part = a.f(part);
        r = a.fma(minus_q, part, r);
    }
    // Beyond the reach of the reduction the angle is arbitrary, but the result stays in [-1, 1].
    // For infinities and NaN it is NaN, which stays.
    let limit = a.f(0.8);
    let lower = a.f(-0.8);
    let above = a.lt(limit, r);
    let r = a.sel(above, limit, r);
    let below = a.lt(r, lower);
    let r = a.sel(below, lower, r);
    let quadrant = modulo_4(a, q);
    let z = a.mul(r, r);
    let s = odd(a, r, z, &SIN);
    let c = poly(a, z, &COS);
    (quadrant, s, c)
}

/// Returns ±s or ±c by quadrant.
fn pick<A: Arith>(a: &mut A, quadrant: A::I, s: A::F, c: A::F) -> A::F {
    let one = a.i(1);
    let odd = a.and(quadrant, one);
    let use_cos = a.ieq(odd, one);
    let v = a.sel(use_cos, c, s);
    let sign = a.shl(quadrant, 30);
    let mask = a.i(i32::MIN);
    let sign = a.and(sign, mask);
    let bits = a.bits(v);
    let bits = a.xor(bits, sign);
    a.with_bits(bits)
}

/// Returns sin x, with x in radians.
pub fn sin<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (q, s, c) = reduce(a, x);
    pick(a, q, s, c)
}

/// Returns cos x, with x in radians.
pub fn cos<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (q, s, c) = reduce(a, x);
    let one = a.i(1);
    let q = a.iadd(q, one);
    pick(a, q, s, c)
}

/// Returns tan x = sin x / cos x.
pub fn tan<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (q, s, c) = reduce(a, x);
    let one = a.i(1);
    let q1 = a.iadd(q, one);
    let sine = pick(a, q, s, c);
    let cosine = pick(a, q1, s, c);
    a.div(sine, cosine)
}

/// Returns whether |x| > ½, and asin of √((1-|x|)/2) or of |x| respectively: the two branches of
/// asin and acos share it.
fn asin_core<A: Arith>(a: &mut A, ax: A::F) -> (A::B, A::F) {
    let half = a.f(0.5);
    let one = a.f(1.0);
    let large = a.lt(half, ax);
    let xx = a.mul(ax, ax);
    let w = a.sub(one, ax);
    let w = a.mul(w, half);
    let root = a.sqrt(w);
    let z = a.sel(large, w, xx);
    let t = a.sel(large, root, ax);
    (large, odd(a, t, z, &ASIN))
}

/// Returns asin x; NaN outside [-1, 1].
pub fn asin<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let (large, p) = asin_core(a, ax);
    let pio2 = a.f(FRAC_PI_2);
    let minus_two = a.f(-2.0);
    let outer = a.fma(minus_two, p, pio2);
    let r = a.sel(large, outer, p);
    copy_sign(a, r, x)
}

/// Returns acos x; NaN outside [-1, 1].
pub fn acos<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let (large, p) = asin_core(a, ax);
    let zero = a.f(0.0);
    let negative = a.lt(x, zero);
    let pi = a.f(PI);
    let pio2 = a.f(FRAC_PI_2);
    let two_p = a.add(p, p);
    let reflected = a.sub(pi, two_p);
    let outer = a.sel(negative, reflected, two_p);
    let signed = copy_sign(a, p, x);
    let inner = a.sub(pio2, signed);
    a.sel(large, outer, inner)
}

/// Returns atan(small / big) in [0, π/4] for 0 ≤ small ≤ big.
fn atan_ratio<A: Arith>(a: &mut A, small: A::F, big: A::F) -> A::F {
    let k = a.f(TAN_PI_8);
    let bound = a.mul(big, k);
    let upper = a.lt(bound, small);
    let diff = a.sub(small, big);
    let sum = a.add(small, big);
    let num = a.sel(upper, diff, small);
    let den = a.sel(upper, sum, big);
    let t = a.div(num, den);
    let z = a.mul(t, t);
    let p = odd(a, t, z, &ATAN);
    let pio4 = a.f(FRAC_PI_4);
    let zero = a.f(0.0);
    let base = a.sel(upper, pio4, zero);
    a.add(base, p)
}

/// Returns atan x.
pub fn atan<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let one = a.f(1.0);
    // Beyond 2^40 the quotient no longer matters; the clamp keeps infinity out of the division.
    let ax = a.abs(x);
    let huge = a.f(1.0e12);
    let capped = a.min(ax, huge);
    let small = a.min(capped, one);
    let big = a.max(capped, one);
    let r = atan_ratio(a, small, big);
    let steep = a.lt(one, capped);
    let pio2 = a.f(FRAC_PI_2);
    let other = a.sub(pio2, r);
    let r = a.sel(steep, other, r);
    let r = copy_sign(a, r, x);
    super::keep_nan(a, x, r)
}

/// Returns atan2(y, x) with C's quadrant rules; infinities give the limits.
pub fn atan2<A: Arith>(a: &mut A, y: A::F, x: A::F) -> A::F {
    let (ay, ax) = (a.abs(y), a.abs(x));
    // Huge operands, whose sum may overflow, are scaled down and infinities become a finite value.
    let limit = a.f(f32::MAX);
    let quarter = a.f(0.25);
    let (my, mx) = (a.min(ay, limit), a.min(ax, limit));
    // If x is infinite, a finite y counts as zero.
    let zero = a.f(0.0);
    let (x_infinite, y_infinite) = (a.lt(limit, ax), a.lt(limit, ay));
    let beside = a.sel(y_infinite, my, zero);
    let my = a.sel(x_infinite, beside, my);
    let big = a.max(my, mx);
    let threshold = a.f(1.0e37);
    let large = a.lt(threshold, big);
    let one = a.f(1.0);
    let factor = a.sel(large, quarter, one);
    let (my, mx) = (a.mul(my, factor), a.mul(mx, factor));
    let small = a.min(my, mx);
    let big = a.max(my, mx);
    let origin = a.eq(big, zero);
    let big = a.sel(origin, one, big);
    let r = atan_ratio(a, small, big);
    let steep = a.lt(mx, my);
    let pio2 = a.f(FRAC_PI_2);
    let other = a.sub(pio2, r);
    let r = a.sel(steep, other, r);
    // The sign bit of x decides the half plane, also for -0.
    let xb = a.bits(x);
    let xs = a.ashr(xb, 31);
    let minus_one = a.i(-1);
    let left = a.ieq(xs, minus_one);
    let pi = a.f(PI);
    let mirrored = a.sub(pi, r);
    let r = a.sel(left, mirrored, r);
    let r = copy_sign(a, r, y);
    let r = super::keep_nan(a, x, r);
    super::keep_nan(a, y, r)
}
