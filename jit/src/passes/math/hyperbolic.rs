//! sinh, cosh, tanh and their inverses: a polynomial near zero, exp or log elsewhere.
//!
//! Coefficients near zero are Taylor's (sinh) and Cephes' minimax ones (S. L. Moshier).

use super::{Arith, copy_sign, exp, keep_nan, log, odd};
use core::f32::consts::LN_2;

const SINH: [f32; 4] = [1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0, 1.0 / 362_880.0];
const TANH: [f32; 5] = [-0.333_332_8, 0.133_314_42, -0.053_739_715, 0.020_639_09, -0.005_704_988_7];
const ASINH: [f32; 4] = [-0.166_662_88, 0.074_847_59, -0.042_699_34, 0.020_122_003];
const ATANH: [f32; 5] = [0.333_337_3, 0.199_782_16, 0.146_691_43, 0.082_437_03, 0.181_740_08];

/// Returns (e^|x| / 2, e^-|x| / 2). The first is infinite where e^|x| is, because the specification
/// derives sinh and cosh from it and the CTS accepts no finite value there.
fn half_exps<A: Arith>(a: &mut A, ax: A::F) -> (A::F, A::F) {
    let e = exp(a, ax);
    let half = a.f(0.5);
    let r = a.div(half, e);
    (a.mul(e, half), r)
}

/// Returns sinh x.
pub fn sinh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let (e, r) = half_exps(a, ax);
    let far = a.sub(e, r);
    let z = a.mul(x, x);
    let near = odd(a, ax, z, &SINH);
    let one = a.f(1.0);
    let small = a.lt(ax, one);
    let m = a.sel(small, near, far);
    copy_sign(a, m, x)
}

/// Returns cosh x.
pub fn cosh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let (e, r) = half_exps(a, ax);
    a.add(e, r)
}

/// Returns tanh x.
pub fn tanh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let two_x = a.add(ax, ax);
    let e = exp(a, two_x);
    let one = a.f(1.0);
    let two = a.f(2.0);
    let d = a.add(e, one);
    let d = a.div(two, d);
    let far = a.sub(one, d);
    let z = a.mul(x, x);
    let near = odd(a, ax, z, &TANH);
    let bound = a.f(0.625);
    let small = a.lt(ax, bound);
    let m = a.sel(small, near, far);
    let r = copy_sign(a, m, x);
    keep_nan(a, x, r)
}

/// Returns log(x + root), or log x + ln 2 where x² would overflow; x ≥ 0.
fn log_of_sum<A: Arith>(a: &mut A, x: A::F, root: A::F) -> A::F {
    let bound = a.f(1.0e15);
    let big = a.lt(bound, x);
    let sum = a.add(x, root);
    let arg = a.sel(big, x, sum);
    let l = log(a, arg);
    let ln2 = a.f(LN_2);
    let zero = a.f(0.0);
    let extra = a.sel(big, ln2, zero);
    a.add(l, extra)
}

/// Returns asinh x.
pub fn asinh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let one = a.f(1.0);
    let root = a.fma(ax, ax, one);
    let root = a.sqrt(root);
    let far = log_of_sum(a, ax, root);
    let z = a.mul(x, x);
    let near = odd(a, ax, z, &ASINH);
    let bound = a.f(0.5);
    let small = a.lt(ax, bound);
    let m = a.sel(small, near, far);
    let r = copy_sign(a, m, x);
    keep_nan(a, x, r)
}

/// Returns acosh x; NaN below 1.
pub fn acosh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let one = a.f(1.0);
    let lower = a.sub(x, one);
    let upper = a.add(x, one);
    let root = a.mul(lower, upper);
    let root = a.sqrt(root);
    let r = log_of_sum(a, x, root);
    keep_nan(a, x, r)
}

/// Returns atanh x; ±inf at ±1, NaN beyond.
pub fn atanh<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let ax = a.abs(x);
    let one = a.f(1.0);
    let num = a.add(one, ax);
    let den = a.sub(one, ax);
    let q = a.div(num, den);
    let l = log(a, q);
    let half = a.f(0.5);
    let far = a.mul(l, half);
    let z = a.mul(x, x);
    let near = odd(a, ax, z, &ATANH);
    let small = a.lt(ax, half);
    let m = a.sel(small, near, far);
    let r = copy_sign(a, m, x);
    keep_nan(a, x, r)
}
