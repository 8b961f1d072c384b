//! Vectors of four lanes as arrays, for processors other than x86-64.

#![forbid(unsafe_code)]

use core::array::from_fn;

/// A vector of four floats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F32x4([f32; 4]);

macro_rules! binary {
    ($($name:ident = |$a:ident, $b:ident| $value:expr;)*) => {$(
        #[inline(always)]
        pub fn $name(a: F32x4, b: F32x4) -> F32x4 {
            F32x4(from_fn(|i| {
                let ($a, $b) = (a.0[i], b.0[i]);
                $value
            }))
        }
    )*};
}
binary! {
    add = |a, b| a + b;
    sub = |a, b| a - b;
    mul = |a, b| a * b;
    div = |a, b| a / b;
    min = |a, b| if a < b { a } else { b };
    max = |a, b| if a > b { a } else { b };
    and = |a, b| f32::from_bits(a.to_bits() & b.to_bits());
    or = |a, b| f32::from_bits(a.to_bits() | b.to_bits());
    and_not = |a, b| f32::from_bits(!a.to_bits() & b.to_bits());
    greater = |a, b| f32::from_bits(if a > b { !0 } else { 0 });
    greater_or_equal = |a, b| f32::from_bits(if a >= b { !0 } else { 0 });
}

#[inline(always)]
pub fn from_bits(lanes: [u32; 4]) -> F32x4 {
    F32x4(lanes.map(f32::from_bits))
}

#[inline(always)]
pub fn to_bits(v: F32x4) -> [u32; 4] {
    v.0.map(f32::to_bits)
}

#[inline(always)]
pub fn movemask(v: F32x4) -> u32 {
    (0..4).fold(0, |mask, i| mask | v.0[i].to_bits() >> 31 << i)
}

#[inline(always)]
pub fn transpose(rows: [F32x4; 4]) -> [F32x4; 4] {
    from_fn(|lane| F32x4(rows.map(|row| row.0[lane])))
}
