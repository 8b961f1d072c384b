//! Vectors of four lanes with SSE2.

use core::arch::x86_64::*;

/// A vector of four floats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F32x4(__m128);

macro_rules! binary {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        pub fn $name(a: F32x4, b: F32x4) -> F32x4 {
            // SAFETY: every x86-64 processor has SSE2.
            unsafe { F32x4($intrinsic(a.0, b.0)) }
        }
    )*};
}
binary! {
    add = _mm_add_ps;
    sub = _mm_sub_ps;
    mul = _mm_mul_ps;
    div = _mm_div_ps;
    min = _mm_min_ps;
    max = _mm_max_ps;
    and = _mm_and_ps;
    or = _mm_or_ps;
    and_not = _mm_andnot_ps;
    greater = _mm_cmpgt_ps;
    greater_or_equal = _mm_cmpge_ps;
}

#[inline(always)]
pub fn from_bits(lanes: [u32; 4]) -> F32x4 {
    let [a, b, c, d] = lanes.map(|lane| lane as i32);
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { F32x4(_mm_castsi128_ps(_mm_setr_epi32(a, b, c, d))) }
}

#[inline(always)]
pub fn to_bits(v: F32x4) -> [u32; 4] {
    // SAFETY: both types have the same size, and any bits are valid.
    unsafe { core::mem::transmute(v.0) }
}

#[inline(always)]
pub fn movemask(v: F32x4) -> u32 {
    // SAFETY: every x86-64 processor has SSE.
    unsafe { _mm_movemask_ps(v.0) as u32 }
}

#[inline(always)]
pub fn transpose([a, b, c, d]: [F32x4; 4]) -> [F32x4; 4] {
    // SAFETY: every x86-64 processor has SSE.
    unsafe {
        let (ab, cd) = (_mm_unpacklo_ps(a.0, b.0), _mm_unpacklo_ps(c.0, d.0));
        let (ab_high, cd_high) = (_mm_unpackhi_ps(a.0, b.0), _mm_unpackhi_ps(c.0, d.0));
        [
            F32x4(_mm_movelh_ps(ab, cd)),
            F32x4(_mm_movehl_ps(cd, ab)),
            F32x4(_mm_movelh_ps(ab_high, cd_high)),
            F32x4(_mm_movehl_ps(cd_high, ab_high)),
        ]
    }
}
