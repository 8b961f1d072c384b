//! Fused multiply-adds with one rounding, which generated code calls on processors without the
//! instruction.

use crate::fused::FusedMulAdd;

/// Computes `a * b + c` for arrays of `n` elements.
///
/// # Safety
/// `a`, `b` and `c` have `n` readable elements, and `out` has `n` writable ones.
unsafe fn fused_mul_adds<F: Copy + FusedMulAdd>([a, b, c]: [*const F; 3], out: *mut F, n: u32) {
    for i in 0..n as usize {
        // SAFETY: all arrays have `n` elements (`# Safety`).
        unsafe { *out.add(i) = (*a.add(i)).fused_mul_add(*b.add(i), *c.add(i)) };
    }
}

/// Implements `HelperTable::fma_f32`.
///
/// # Safety
/// `a`, `b` and `c` have `n` readable elements, and `out` has `n` writable ones.
#[crate::code_fn]
pub unsafe extern "code" fn fma_f32(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32) {
    // SAFETY: the requirements are the same.
    unsafe { fused_mul_adds([a, b, c], out, n) };
}

/// Implements `HelperTable::fma_f64`.
///
/// # Safety
/// `a`, `b` and `c` have `n` readable elements, and `out` has `n` writable ones.
#[crate::code_fn]
pub unsafe extern "code" fn fma_f64(a: *const f64, b: *const f64, c: *const f64, out: *mut f64, n: u32) {
    // SAFETY: the requirements are the same.
    unsafe { fused_mul_adds([a, b, c], out, n) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_rounded_once() {
        // The product 1 + 2^-11 + 2^-24 is between two floats; rounding it first would lose 2^-24.
        let (a, c) = ([1.0 + f32::EPSILON * 2048.0; 2], [-1.0; 2]);
        let mut out = [0.0f32; 3];
        // SAFETY: the arrays have two elements or more.
        unsafe { fma_f32(a.as_ptr(), a.as_ptr(), c.as_ptr(), out.as_mut_ptr(), 2) };
        assert_eq!(out, [2f32.powi(-11) + 2f32.powi(-24), 2f32.powi(-11) + 2f32.powi(-24), 0.0]);
        let (a, c) = ([1.0 + 2f64.powi(-27)], [-1.0]);
        let mut out = [0.0f64; 2];
        // SAFETY: the arrays have one element or more.
        unsafe { fma_f64(a.as_ptr(), a.as_ptr(), c.as_ptr(), out.as_mut_ptr(), 1) };
        assert_eq!(out, [2f64.powi(-26) + 2f64.powi(-54), 0.0]);
    }
}
