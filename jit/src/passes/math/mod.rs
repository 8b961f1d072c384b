//! Transcendental functions as straight-line polynomials, written once over [`Arith`].
//!
//! [`Arith`] has two implementations: the IR builder, with which `lower_math` expands an
//! instruction, and [`Eval`], plain `f32`. [`Eval`] serves the accuracy tests and code that needs
//! the same bits outside a shader, such as constant folding. Only correctly rounded operations are
//! used, so the bits are equal on every machine. There are no branches, only selects.
//!
//! The tests at the end of `lower_math.rs` measure the accuracy against the table "Precision of
//! GLSL.std.450 Instructions" of the SPIR-V environment appendix. Denormals are kept; infinities
//! and NaN propagate as in C's functions.

mod explog;
mod hyperbolic;
mod trig;

use crate::ir::{Binary, Builder, Cmp, Convert, Ty, Unary, Value};

pub use explog::{exp, exp2, half_exponent, log, log2, pow, power};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use trig::{acos, asin, atan, atan2, cos, sin, tan};

/// The operations in which the functions are written, on binary32 and 32-bit integers.
#[allow(missing_docs, reason = "the methods are the IR operations of the same name")]
pub trait Arith {
    /// A binary32 value.
    type F: Copy;
    /// A 32-bit integer value.
    type I: Copy;
    /// A truth value.
    type B: Copy;
    fn f(&mut self, c: f32) -> Self::F;
    fn i(&mut self, c: i32) -> Self::I;
    fn add(&mut self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(&mut self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(&mut self, a: Self::F, b: Self::F) -> Self::F;
    fn div(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns a*b+c with one rounding.
    fn fma(&mut self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// Returns the minimum; if one operand is NaN, the other.
    fn min(&mut self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns the maximum; if one operand is NaN, the other.
    fn max(&mut self, a: Self::F, b: Self::F) -> Self::F;
    fn neg(&mut self, a: Self::F) -> Self::F;
    fn abs(&mut self, a: Self::F) -> Self::F;
    fn sqrt(&mut self, a: Self::F) -> Self::F;
    fn round_even(&mut self, a: Self::F) -> Self::F;
    /// Converts to an integer, truncating and saturating; NaN gives 0.
    fn f_to_s(&mut self, a: Self::F) -> Self::I;
    fn s_to_f(&mut self, a: Self::I) -> Self::F;
    fn bits(&mut self, a: Self::F) -> Self::I;
    fn with_bits(&mut self, a: Self::I) -> Self::F;
    fn iadd(&mut self, a: Self::I, b: Self::I) -> Self::I;
    fn isub(&mut self, a: Self::I, b: Self::I) -> Self::I;
    fn and(&mut self, a: Self::I, b: Self::I) -> Self::I;
    fn or(&mut self, a: Self::I, b: Self::I) -> Self::I;
    fn xor(&mut self, a: Self::I, b: Self::I) -> Self::I;
    fn shl(&mut self, a: Self::I, n: u32) -> Self::I;
    fn ashr(&mut self, a: Self::I, n: u32) -> Self::I;
    /// Ordered less.
    fn lt(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// Ordered equal.
    fn eq(&mut self, a: Self::F, b: Self::F) -> Self::B;
    /// Integer equal.
    fn ieq(&mut self, a: Self::I, b: Self::I) -> Self::B;
    fn sel(&mut self, c: Self::B, a: Self::F, b: Self::F) -> Self::F;
}

/// Returns c[0] + x*(c[1] + x*(c[2] + …)), computed by fma.
fn poly<A: Arith>(a: &mut A, x: A::F, c: &[f32]) -> A::F {
    let (last, rest) = c.split_last().expect("a polynomial has coefficients");
    let mut acc = a.f(*last);
    for &k in rest.iter().rev() {
        let k = a.f(k);
        acc = a.fma(acc, x, k);
    }
    acc
}

/// Returns x + x*z*P(z), the form of odd functions near zero.
fn odd<A: Arith>(a: &mut A, x: A::F, z: A::F, c: &[f32]) -> A::F {
    let p = poly(a, z, c);
    let xz = a.mul(x, z);
    a.fma(p, xz, x)
}

/// Returns `magnitude` (not negative) with the sign of `sign`.
fn copy_sign<A: Arith>(a: &mut A, magnitude: A::F, sign: A::F) -> A::F {
    let m = a.bits(magnitude);
    let s = a.bits(sign);
    let mask = a.i(i32::MIN);
    let s = a.and(s, mask);
    let r = a.or(m, s);
    a.with_bits(r)
}

/// Returns `r`, or x if x is NaN.
fn keep_nan<A: Arith>(a: &mut A, x: A::F, r: A::F) -> A::F {
    let ordered = a.eq(x, x);
    a.sel(ordered, r, x)
}

/// Plain binary32 arithmetic, which defines the meaning of the expansions.
pub struct Eval;

impl Arith for Eval {
    type F = f32;
    type I = i32;
    type B = bool;
    fn f(&mut self, c: f32) -> f32 {
        c
    }
    fn i(&mut self, c: i32) -> i32 {
        c
    }
    fn add(&mut self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn sub(&mut self, a: f32, b: f32) -> f32 {
        a - b
    }
    fn mul(&mut self, a: f32, b: f32) -> f32 {
        a * b
    }
    fn div(&mut self, a: f32, b: f32) -> f32 {
        a / b
    }
    fn fma(&mut self, a: f32, b: f32, c: f32) -> f32 {
        base::fused::FusedMulAdd::fused_mul_add(a, b, c)
    }
    fn min(&mut self, a: f32, b: f32) -> f32 {
        // Equal to `ir::Binary::FMin`; `f32::min` leaves the sign of a zero open.
        if a.is_nan() || b < a { b } else { a }
    }
    fn max(&mut self, a: f32, b: f32) -> f32 {
        if a.is_nan() || b > a { b } else { a }
    }
    fn neg(&mut self, a: f32) -> f32 {
        -a
    }
    fn abs(&mut self, a: f32) -> f32 {
        a.abs()
    }
    fn sqrt(&mut self, a: f32) -> f32 {
        a.sqrt()
    }
    fn round_even(&mut self, a: f32) -> f32 {
        a.round_ties_even()
    }
    fn f_to_s(&mut self, a: f32) -> i32 {
        a as i32
    }
    fn s_to_f(&mut self, a: i32) -> f32 {
        a as f32
    }
    fn bits(&mut self, a: f32) -> i32 {
        a.to_bits() as i32
    }
    fn with_bits(&mut self, a: i32) -> f32 {
        f32::from_bits(a as u32)
    }
    fn iadd(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }
    fn isub(&mut self, a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }
    fn and(&mut self, a: i32, b: i32) -> i32 {
        a & b
    }
    fn or(&mut self, a: i32, b: i32) -> i32 {
        a | b
    }
    fn xor(&mut self, a: i32, b: i32) -> i32 {
        a ^ b
    }
    fn shl(&mut self, a: i32, n: u32) -> i32 {
        a << n
    }
    fn ashr(&mut self, a: i32, n: u32) -> i32 {
        a >> n
    }
    fn lt(&mut self, a: f32, b: f32) -> bool {
        a < b
    }
    fn eq(&mut self, a: f32, b: f32) -> bool {
        a == b
    }
    fn ieq(&mut self, a: i32, b: i32) -> bool {
        a == b
    }
    fn sel(&mut self, c: bool, a: f32, b: f32) -> f32 {
        if c { a } else { b }
    }
}

impl Arith for Builder<'_> {
    type F = Value;
    type I = Value;
    type B = Value;
    fn f(&mut self, c: f32) -> Value {
        self.f32(c)
    }
    fn i(&mut self, c: i32) -> Value {
        self.i32(c)
    }
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FAdd, a, b)
    }
    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FSub, a, b)
    }
    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FMul, a, b)
    }
    fn div(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FDiv, a, b)
    }
    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        Builder::fma(self, a, b, c)
    }
    fn min(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FMin, a, b)
    }
    fn max(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::FMax, a, b)
    }
    fn neg(&mut self, a: Value) -> Value {
        self.unary(Unary::FNeg, a)
    }
    fn abs(&mut self, a: Value) -> Value {
        self.unary(Unary::FAbs, a)
    }
    fn sqrt(&mut self, a: Value) -> Value {
        self.unary(Unary::Sqrt, a)
    }
    fn round_even(&mut self, a: Value) -> Value {
        self.unary(Unary::RoundEven, a)
    }
    fn f_to_s(&mut self, a: Value) -> Value {
        self.convert(Convert::FToS, a, Ty::I32)
    }
    fn s_to_f(&mut self, a: Value) -> Value {
        self.convert(Convert::SToF, a, Ty::F32)
    }
    fn bits(&mut self, a: Value) -> Value {
        self.convert(Convert::Bitcast, a, Ty::I32)
    }
    fn with_bits(&mut self, a: Value) -> Value {
        self.convert(Convert::Bitcast, a, Ty::F32)
    }
    fn iadd(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::IAdd, a, b)
    }
    fn isub(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::ISub, a, b)
    }
    fn and(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::And, a, b)
    }
    fn or(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Or, a, b)
    }
    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Xor, a, b)
    }
    fn shl(&mut self, a: Value, n: u32) -> Value {
        let n = self.u32(n);
        self.binary(Binary::Shl, a, n)
    }
    fn ashr(&mut self, a: Value, n: u32) -> Value {
        let n = self.u32(n);
        self.binary(Binary::AShr, a, n)
    }
    fn lt(&mut self, a: Value, b: Value) -> Value {
        self.cmp(Cmp::FOrdLt, a, b)
    }
    fn eq(&mut self, a: Value, b: Value) -> Value {
        self.cmp(Cmp::FOrdEq, a, b)
    }
    fn ieq(&mut self, a: Value, b: Value) -> Value {
        self.cmp(Cmp::IEq, a, b)
    }
    fn sel(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.select(c, a, b)
    }
}
