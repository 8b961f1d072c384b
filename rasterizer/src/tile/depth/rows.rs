//! The depth test alone of a 4×4 block, row by row with SSE2: every x86-64 host has it, and it does what the general test does.

use super::block::{Block, DepthPlan};
use super::format::{DepthFormat, NEAREST};
use base::pixel::CompareOp;
use core::arch::x86_64::*;

/// One stored format: rows of four texels as vectors of comparable lanes.
trait Row {
    /// What is stored for four depths.
    ///
    /// # Safety
    /// None; intrinsics.
    unsafe fn quantize(z: __m128) -> __m128i;
    /// The lanes of texels of 32 bits.
    ///
    /// # Safety
    /// `p` points to four texels.
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m128i {
        // SAFETY: sixteen bytes (the caller's contract).
        unsafe { _mm_loadu_si128(p.cast()) }
    }
    /// See `load`.
    ///
    /// # Safety
    /// `p` points to four texels that no other thread touches.
    #[inline(always)]
    unsafe fn store(p: *mut u8, row: __m128i) {
        // SAFETY: sixteen bytes (the caller's contract).
        unsafe { _mm_storeu_si128(p.cast(), row) };
    }
    /// All ones where `a < b`.
    ///
    /// # Safety
    /// None; intrinsics.
    unsafe fn less(a: __m128i, b: __m128i) -> __m128i;
    /// All ones where `a == b`.
    ///
    /// # Safety
    /// None; intrinsics.
    unsafe fn equal(a: __m128i, b: __m128i) -> __m128i;
    /// All ones where `a <= b`.
    ///
    /// # Safety
    /// None; intrinsics.
    unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i;
}

/// Nearest integers to `z * max`, as `format::nearest`.
///
/// # Safety
/// None; intrinsics.
#[inline(always)]
unsafe fn nearest(z: __m128, max: f64) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        // The second operand is the result where one is not a number.
        let z = _mm_min_ps(_mm_max_ps(z, _mm_setzero_ps()), _mm_set1_ps(1.0));
        let scale = _mm_set1_pd(max);
        let magic = _mm_set1_pd(NEAREST);
        let low = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(z), scale), magic);
        let high = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(z, z)), scale), magic);
        _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(_mm_castpd_ps(low), _mm_castpd_ps(high)))
    }
}

/// Codes of at most 31 bits are compared as signed integers.
macro_rules! integer_comparisons {
    () => {
        #[inline(always)]
        unsafe fn less(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: SSE2 is part of x86-64; in all three.
            unsafe { _mm_cmplt_epi32(a, b) }
        }
        #[inline(always)]
        unsafe fn equal(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: see above.
            unsafe { _mm_cmpeq_epi32(a, b) }
        }
        #[inline(always)]
        unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: see above.
            unsafe { _mm_xor_si128(_mm_cmpgt_epi32(a, b), _mm_set1_epi32(-1)) }
        }
    };
}

struct D16;
impl Row for D16 {
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: intrinsics of SSE2.
        unsafe { nearest(z, 65535.0) }
    }
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m128i {
        // SAFETY: eight bytes (the caller's contract).
        unsafe { _mm_unpacklo_epi16(_mm_loadl_epi64(p.cast()), _mm_setzero_si128()) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut u8, row: __m128i) {
        // SAFETY: eight bytes (the caller's contract).
        unsafe {
            let halves = _mm_shufflehi_epi16::<0b10_00>(_mm_shufflelo_epi16::<0b10_00>(row));
            _mm_storel_epi64(p.cast(), _mm_shuffle_epi32::<0b10_00>(halves));
        }
    }
    integer_comparisons!();
}

struct D24;
impl Row for D24 {
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: intrinsics of SSE2.
        unsafe { nearest(z, 16_777_215.0) }
    }
    integer_comparisons!();
}

struct F32;
impl Row for F32 {
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: SSE2 is part of x86-64; in all of these.
        unsafe { _mm_castps_si128(z) }
    }
    #[inline(always)]
    unsafe fn less(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: see above.
        unsafe { _mm_castps_si128(_mm_cmplt_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
    #[inline(always)]
    unsafe fn equal(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: see above.
        unsafe { _mm_castps_si128(_mm_cmpeq_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
    #[inline(always)]
    unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: see above.
        unsafe { _mm_castps_si128(_mm_cmple_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
}

/// Tests a block of a plan without bounds and stencil, and updates depth; returns the pixels that pass.
///
/// # Safety
/// As for [`super::test`].
#[inline(always)]
pub unsafe fn test(format: DepthFormat, plan: &DepthPlan, block: &Block<'_>) -> u32 {
    match format {
        // SAFETY: the caller's contract, in all three.
        DepthFormat::D16 => unsafe { compared::<D16>(plan, block) },
        // SAFETY: see above.
        DepthFormat::D24 => unsafe { compared::<D24>(plan, block) },
        // SAFETY: see above.
        DepthFormat::F32 => unsafe { compared::<F32>(plan, block) },
    }
}

/// # Safety
/// As for [`super::test`].
#[inline(always)]
unsafe fn compared<R: Row>(plan: &DepthPlan, block: &Block<'_>) -> u32 {
    macro_rules! rows {
        (|$new:ident, $old:ident| $compare:expr) => {{
            let mut pass = 0;
            for row in 0..4 {
                let covered = block.mask >> (4 * row) & 0xf;
                // Of a whole block, all rows: which ones a small primitive covers is a riddle to a branch.
                if covered == 0 && !block.depth.whole {
                    continue;
                }
                // SAFETY: the row has four texels (the caller's contract); SSE2 is part of x86-64.
                unsafe {
                    let p = block.depth.base.add(row * block.depth.pitch);
                    let $new = R::quantize(_mm_loadu_ps(block.z.as_ptr().add(4 * row)));
                    let $old = R::load(p);
                    let lanes = _mm_load_si128(LANES[covered as usize].0.as_ptr().cast());
                    let inside = _mm_and_si128($compare, lanes);
                    pass |= (_mm_movemask_ps(_mm_castsi128_ps(inside)) as u32) << (4 * row);
                    if plan.write {
                        R::store(p, _mm_or_si128(_mm_and_si128(inside, $new), _mm_andnot_si128(inside, $old)));
                    }
                }
            }
            pass
        }};
    }
    match plan.compare {
        CompareOp::Never => 0,
        CompareOp::Less => rows!(|new, old| R::less(new, old)),
        CompareOp::Equal => rows!(|new, old| R::equal(new, old)),
        CompareOp::LessOrEqual => rows!(|new, old| R::less_or_equal(new, old)),
        CompareOp::Greater => rows!(|new, old| R::less(old, new)),
        CompareOp::NotEqual => rows!(|new, old| _mm_xor_si128(R::equal(new, old), _mm_set1_epi32(-1))),
        CompareOp::GreaterOrEqual => rows!(|new, old| R::less_or_equal(old, new)),
        CompareOp::Always => rows!(|new, old| _mm_set1_epi32(-1)),
    }
}

#[repr(align(16))]
struct Aligned([u32; 4]);

/// Lane masks by their bits.
static LANES: [Aligned; 16] = {
    let mut table = [const { Aligned([0; 4]) }; 16];
    let mut bits = 0;
    while bits < 16 {
        let mut lane = 0;
        while lane < 4 {
            if bits >> lane & 1 != 0 {
                table[bits].0[lane] = u32::MAX;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};
