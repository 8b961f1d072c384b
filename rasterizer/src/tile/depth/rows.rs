//! The depth test of a 4×4 block of a plane without any other test, row by row with SSE2, which is
//! part of every x86-64. It gives the same results as the general test.
//!
//! There is a separate function for each format and comparison, and the plan of a draw chooses one.
//! This way nothing is decided per block, and the code of the other functions stays out of the
//! instruction cache.

mod square;

use super::block::{BlockAddress, PlaneTest, QuadTest, QuadsTest, RowsTest};
use super::format::{DepthFormat, NEAREST};
use crate::prim::Prim;
use crate::tile::shaded::{SPREAD, pixels};
use base::abi::FragmentQuad;
use base::host::SimdLevel;
use base::pixel::CompareOp;
use core::arch::x86_64::*;
use square::plane_rows_test;

/// A stored format: rows of four texels as vectors of comparable lanes.
trait DepthRow {
    /// Number of bytes of a texel.
    const BYTES: usize = 4;
    /// Returns the stored codes of four depths.
    ///
    /// # Safety
    /// There are no requirements; the function is unsafe only because it uses intrinsics.
    unsafe fn quantize(z: __m128) -> __m128i;
    /// Loads the lanes of four texels of 32 bits.
    ///
    /// # Safety
    /// `p` points to four texels.
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m128i {
        // SAFETY: `p` points to four texels (`# Safety`), which are sixteen bytes.
        unsafe { _mm_loadu_si128(p.cast()) }
    }
    /// Stores the lanes of four texels of 32 bits.
    ///
    /// # Safety
    /// `p` points to four texels that no other thread accesses.
    #[inline(always)]
    unsafe fn store(p: *mut u8, row: __m128i) {
        // SAFETY: `p` points to four texels (`# Safety`), which are sixteen bytes.
        unsafe { _mm_storeu_si128(p.cast(), row) };
    }
    /// Loads the lanes of two texels of 32 bits at each of two addresses.
    ///
    /// # Safety
    /// There are two readable texels at each address.
    #[inline(always)]
    unsafe fn load_quad(p: [*const u8; 2]) -> __m128i {
        // SAFETY: there are two texels at each address (`# Safety`), which are eight bytes.
        unsafe { _mm_unpacklo_epi64(_mm_loadl_epi64(p[0].cast()), _mm_loadl_epi64(p[1].cast())) }
    }
    /// Stores the lanes of two texels of 32 bits to each of two addresses.
    ///
    /// # Safety
    /// There are two texels at each address, which no other thread accesses.
    #[inline(always)]
    unsafe fn store_quad(p: [*mut u8; 2], quad: __m128i) {
        // SAFETY: there are two texels at each address (`# Safety`), which are eight bytes.
        unsafe {
            _mm_storel_epi64(p[0].cast(), quad);
            _mm_storel_epi64(p[1].cast(), _mm_unpackhi_epi64(quad, quad));
        }
    }
    /// Returns the stored codes of sixteen depths.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    unsafe fn quantize_512(z: __m512) -> __m512i;
    /// Loads the covered ones of sixteen texels.
    ///
    /// # Safety
    /// The host has the 512-bit level, and the covered texels are readable.
    #[inline(always)]
    unsafe fn load_512(p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the host has the 512-bit level and the covered texels are readable (`# Safety`).
        unsafe { _mm512_maskz_loadu_epi32(covered, p.cast()) }
    }
    /// Stores some of sixteen texels.
    ///
    /// # Safety
    /// The host has the 512-bit level; the texels are writable, and no other thread accesses them.
    #[inline(always)]
    unsafe fn store_512(p: *mut u8, some: __mmask16, row: __m512i) {
        // SAFETY: the host has the 512-bit level and the texels are writable (`# Safety`).
        unsafe { _mm512_mask_storeu_epi32(p.cast(), some, row) };
    }
    /// Returns the covered lanes whose depths pass the `VkCompareOp` number `C`.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    unsafe fn passes_512<const C: u32>(covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16;
    /// Returns all ones in lanes where `a < b`.
    ///
    /// # Safety
    /// There are no requirements; the function is unsafe only because it uses intrinsics.
    unsafe fn less(a: __m128i, b: __m128i) -> __m128i;
    /// Returns all ones in lanes where `a == b`.
    ///
    /// # Safety
    /// There are no requirements; the function is unsafe only because it uses intrinsics.
    unsafe fn equal(a: __m128i, b: __m128i) -> __m128i;
    /// Returns all ones in lanes where `a <= b`.
    ///
    /// # Safety
    /// There are no requirements; the function is unsafe only because it uses intrinsics.
    unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i;
}

/// Returns the nearest integers to `z * max`, as `format::nearest` does.
///
/// # Safety
/// There are no requirements; the function is unsafe only because it uses intrinsics.
#[inline(always)]
unsafe fn nearest(z: __m128, max: f64) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        // If an operand is not a number, the result is the second operand.
        let z = _mm_min_ps(_mm_max_ps(z, _mm_setzero_ps()), _mm_set1_ps(1.0));
        let scale = _mm_set1_pd(max);
        let magic = _mm_set1_pd(NEAREST);
        let low = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(z), scale), magic);
        let high = _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(z, z)), scale), magic);
        _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(_mm_castpd_ps(low), _mm_castpd_ps(high)))
    }
}

/// Returns the nearest integers to `z * max` of sixteen depths, as [`nearest`] does.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn nearest_512(z: __m512, max: f64) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let z = _mm512_min_ps(_mm512_max_ps(z, _mm512_setzero_ps()), _mm512_set1_ps(1.0));
        let (scale, magic) = (_mm512_set1_pd(max), _mm512_set1_pd(NEAREST));
        let [low, high] = [_mm512_castps512_ps256(z), _mm512_extractf32x8_ps::<1>(z)];
        let low = _mm512_add_pd(_mm512_mul_pd(_mm512_cvtps_pd(low), scale), magic);
        let high = _mm512_add_pd(_mm512_mul_pd(_mm512_cvtps_pd(high), scale), magic);
        let [low, high] =
            [_mm512_cvtepi64_epi32(_mm512_castpd_si512(low)), _mm512_cvtepi64_epi32(_mm512_castpd_si512(high))];
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }
}

/// Defines comparisons of codes of at most 31 bits, as signed integers.
macro_rules! integer_comparisons {
    () => {
        #[inline(always)]
        unsafe fn passes_512<const C: u32>(covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16 {
            // SAFETY: the host has the 512-bit level, as `DepthRow::passes_512` requires.
            unsafe {
                match CompareOp::ALL[C as usize] {
                    CompareOp::Never => 0,
                    CompareOp::Less => _mm512_mask_cmplt_epi32_mask(covered, new, old),
                    CompareOp::Equal => _mm512_mask_cmpeq_epi32_mask(covered, new, old),
                    CompareOp::LessOrEqual => _mm512_mask_cmple_epi32_mask(covered, new, old),
                    CompareOp::Greater => _mm512_mask_cmpgt_epi32_mask(covered, new, old),
                    CompareOp::NotEqual => _mm512_mask_cmpneq_epi32_mask(covered, new, old),
                    CompareOp::GreaterOrEqual => _mm512_mask_cmpge_epi32_mask(covered, new, old),
                    CompareOp::Always => covered,
                }
            }
        }
        #[inline(always)]
        unsafe fn less(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_cmplt_epi32(a, b) }
        }
        #[inline(always)]
        unsafe fn equal(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_cmpeq_epi32(a, b) }
        }
        #[inline(always)]
        unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_xor_si128(_mm_cmpgt_epi32(a, b), _mm_set1_epi32(-1)) }
        }
    };
}

struct D16Rows;
impl DepthRow for D16Rows {
    const BYTES: usize = 2;
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { nearest(z, 65535.0) }
    }
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m128i {
        // SAFETY: `p` points to four texels, which are eight bytes, as `DepthRow::load` requires.
        unsafe { _mm_unpacklo_epi16(_mm_loadl_epi64(p.cast()), _mm_setzero_si128()) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut u8, row: __m128i) {
        // SAFETY: `p` points to four texels, which are eight bytes, as `DepthRow::store` requires.
        unsafe {
            let halves = _mm_shufflehi_epi16::<0b10_00>(_mm_shufflelo_epi16::<0b10_00>(row));
            _mm_storel_epi64(p.cast(), _mm_shuffle_epi32::<0b10_00>(halves));
        }
    }
    #[inline(always)]
    unsafe fn load_quad(p: [*const u8; 2]) -> __m128i {
        // SAFETY: there are two texels at each address, which are four bytes, as
        // `DepthRow::load_quad` requires.
        unsafe {
            let [top, bottom] = p.map(|p| _mm_cvtsi32_si128(p.cast::<i32>().read_unaligned()));
            _mm_unpacklo_epi16(_mm_unpacklo_epi32(top, bottom), _mm_setzero_si128())
        }
    }
    #[inline(always)]
    unsafe fn store_quad(p: [*mut u8; 2], quad: __m128i) {
        // SAFETY: there are two texels at each address, which are four bytes, as
        // `DepthRow::store_quad` requires.
        unsafe {
            let halves = _mm_shufflehi_epi16::<0b10_00>(_mm_shufflelo_epi16::<0b10_00>(quad));
            p[0].cast::<i32>().write_unaligned(_mm_cvtsi128_si32(halves));
            p[1].cast::<i32>().write_unaligned(_mm_cvtsi128_si32(_mm_unpackhi_epi64(halves, halves)));
        }
    }
    #[inline(always)]
    unsafe fn quantize_512(z: __m512) -> __m512i {
        // SAFETY: the host has the 512-bit level, as `DepthRow::quantize_512` requires.
        unsafe { nearest_512(z, 65535.0) }
    }
    #[inline(always)]
    unsafe fn load_512(p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the host has the 512-bit level and the covered texels are readable, as
        // `DepthRow::load_512` requires.
        unsafe { _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(covered, p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_512(p: *mut u8, some: __mmask16, row: __m512i) {
        // SAFETY: the host has the 512-bit level and the texels are writable, as
        // `DepthRow::store_512` requires.
        unsafe { _mm256_mask_storeu_epi16(p.cast(), some, _mm512_cvtepi32_epi16(row)) };
    }
    integer_comparisons!();
}

struct D24Rows;
impl DepthRow for D24Rows {
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { nearest(z, 16_777_215.0) }
    }
    // The upper eight bits have no meaning, and a copy may have left anything in them.
    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m128i {
        // SAFETY: `p` points to four texels, which are sixteen bytes, as `DepthRow::load` requires.
        unsafe { _mm_and_si128(_mm_loadu_si128(p.cast()), _mm_set1_epi32(0xff_ffff)) }
    }
    #[inline(always)]
    unsafe fn load_quad(p: [*const u8; 2]) -> __m128i {
        // SAFETY: there are two texels at each address, which are eight bytes, as
        // `DepthRow::load_quad` requires.
        unsafe {
            let quad = _mm_unpacklo_epi64(_mm_loadl_epi64(p[0].cast()), _mm_loadl_epi64(p[1].cast()));
            _mm_and_si128(quad, _mm_set1_epi32(0xff_ffff))
        }
    }
    #[inline(always)]
    unsafe fn quantize_512(z: __m512) -> __m512i {
        // SAFETY: the host has the 512-bit level, as `DepthRow::quantize_512` requires.
        unsafe { nearest_512(z, 16_777_215.0) }
    }
    #[inline(always)]
    unsafe fn load_512(p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the host has the 512-bit level and the covered texels are readable, as
        // `DepthRow::load_512` requires.
        unsafe { _mm512_and_si512(_mm512_maskz_loadu_epi32(covered, p.cast()), _mm512_set1_epi32(0xff_ffff)) }
    }
    integer_comparisons!();
}

struct F32Rows;
impl DepthRow for F32Rows {
    #[inline(always)]
    unsafe fn quantize(z: __m128) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castps_si128(z) }
    }
    #[inline(always)]
    unsafe fn quantize_512(z: __m512) -> __m512i {
        // SAFETY: the host has the 512-bit level, as `DepthRow::quantize_512` requires.
        unsafe { _mm512_castps_si512(z) }
    }
    #[inline(always)]
    unsafe fn passes_512<const C: u32>(covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16 {
        // SAFETY: the host has the 512-bit level, as `DepthRow::passes_512` requires.
        unsafe {
            let (new, old) = (_mm512_castsi512_ps(new), _mm512_castsi512_ps(old));
            match CompareOp::ALL[C as usize] {
                CompareOp::Never => 0,
                CompareOp::Less => _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(covered, new, old),
                CompareOp::Equal => _mm512_mask_cmp_ps_mask::<_CMP_EQ_OQ>(covered, new, old),
                CompareOp::LessOrEqual => _mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(covered, new, old),
                CompareOp::Greater => _mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(covered, new, old),
                CompareOp::NotEqual => _mm512_mask_cmp_ps_mask::<_CMP_NEQ_UQ>(covered, new, old),
                CompareOp::GreaterOrEqual => _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(covered, new, old),
                CompareOp::Always => covered,
            }
        }
    }
    #[inline(always)]
    unsafe fn less(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castps_si128(_mm_cmplt_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
    #[inline(always)]
    unsafe fn equal(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castps_si128(_mm_cmpeq_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
    #[inline(always)]
    unsafe fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castps_si128(_mm_cmple_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b))) }
    }
}

/// The depths of a block's rows.
trait Depths {
    /// Returns the depths of a row's four pixels.
    ///
    /// # Safety
    /// There are no requirements; the function is unsafe only because it uses intrinsics.
    unsafe fn row(&self, row: usize) -> __m128;
}

/// Depths of a primitive's plane, as `Prim::plane_z` defines them.
struct PlaneDepths<'a> {
    prim: &'a Prim,
    /// `dx * px` of a row's pixels.
    across: __m128,
    /// Vertical position of the first row.
    y: f32,
    /// Vertical position of the samples in their pixels.
    offset: f32,
}

impl PlaneDepths<'_> {
    #[inline(always)]
    fn new(prim: &Prim, [x, y]: [i32; 2], offset: [f32; 2]) -> PlaneDepths<'_> {
        let [ox, oy] = prim.shade.origin;
        // SAFETY: SSE2 is part of x86-64.
        let across = unsafe {
            let x = _mm_add_ps(_mm_set1_ps((x - ox) as f32), _mm_setr_ps(0.0, 1.0, 2.0, 3.0));
            _mm_mul_ps(_mm_set1_ps(prim.shade.z[0]), _mm_add_ps(x, _mm_set1_ps(offset[0])))
        };
        PlaneDepths { prim, across, y: (y - oy) as f32, offset: offset[1] }
    }
}

impl Depths for PlaneDepths<'_> {
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> __m128 {
        let [_, dy, constant] = self.prim.shade.z;
        let [low, high] = self.prim.depth_range;
        let down = dy * (self.y + row as f32 + self.offset) + constant;
        // SAFETY: SSE2 is part of x86-64. If an operand is not a number, the result is the second
        // operand.
        unsafe {
            let z = _mm_add_ps(self.across, _mm_set1_ps(down));
            _mm_min_ps(_mm_max_ps(z, _mm_set1_ps(low)), _mm_set1_ps(high))
        }
    }
}

/// Returns the depths of a quad of a primitive at a position, as [`PlaneDepths`] does those of
/// rows.
///
/// # Safety
/// There are no requirements; the function is unsafe only because it uses intrinsics.
#[inline(always)]
unsafe fn quad_depths(prim: &Prim, [x, y]: [i32; 2], offset: [f32; 2]) -> __m128 {
    let ([ox, oy], [dx, dy, constant], [low, high]) = (prim.shade.origin, prim.shade.z, prim.depth_range);
    // SAFETY: SSE2 is part of x86-64. If an operand is not a number, the result is the second
    // operand.
    unsafe {
        let x = _mm_add_ps(_mm_set1_ps((x - ox) as f32), _mm_setr_ps(0.0, 1.0, 0.0, 1.0));
        let y = _mm_add_ps(_mm_set1_ps((y - oy) as f32), _mm_setr_ps(0.0, 0.0, 1.0, 1.0));
        let across = _mm_mul_ps(_mm_set1_ps(dx), _mm_add_ps(x, _mm_set1_ps(offset[0])));
        let down = _mm_mul_ps(_mm_set1_ps(dy), _mm_add_ps(y, _mm_set1_ps(offset[1])));
        let z = _mm_add_ps(across, _mm_add_ps(down, _mm_set1_ps(constant)));
        _mm_min_ps(_mm_max_ps(z, _mm_set1_ps(low)), _mm_set1_ps(high))
    }
}

/// Returns all ones in lanes whose depths pass the `VkCompareOp` number `C`.
///
/// # Safety
/// There are no requirements; the function is unsafe only because it uses intrinsics.
#[inline(always)]
unsafe fn passes<R: DepthRow, const C: u32>(new: __m128i, old: __m128i) -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let ones = _mm_set1_epi32(-1);
        match CompareOp::ALL[C as usize] {
            CompareOp::Never => _mm_setzero_si128(),
            CompareOp::Less => R::less(new, old),
            CompareOp::Equal => R::equal(new, old),
            CompareOp::LessOrEqual => R::less_or_equal(new, old),
            CompareOp::Greater => R::less(old, new),
            CompareOp::NotEqual => _mm_xor_si128(R::equal(new, old), ones),
            CompareOp::GreaterOrEqual => R::less_or_equal(old, new),
            CompareOp::Always => ones,
        }
    }
}

/// Tests the covered pixels of a block, and stores the depths that pass if `WRITE`; returns which
/// pass.
///
/// # Safety
/// The requirements of [`super::test`] hold.
#[inline(always)]
unsafe fn block<R: DepthRow, const C: u32, const WRITE: bool>(z: &impl Depths, at: BlockAddress, mask: u32) -> u32 {
    let mut pass = 0;
    for row in 0..4 {
        let covered = mask >> (4 * row) & 0xf;
        // All rows of a whole block are processed, because a branch predictor cannot guess which of
        // them a small primitive covers.
        if covered == 0 && !at.whole {
            continue;
        }
        // SAFETY: the row has four texels (`# Safety`), and SSE2 is part of x86-64.
        unsafe {
            let p = at.base.add(row * at.pitch);
            let (new, old) = (R::quantize(z.row(row)), R::load(p));
            let lanes = _mm_load_si128(LANES[covered as usize].0.as_ptr().cast());
            let inside = _mm_and_si128(passes::<R, C>(new, old), lanes);
            pass |= (_mm_movemask_ps(_mm_castsi128_ps(inside)) as u32) << (4 * row);
            if WRITE {
                R::store(p, _mm_or_si128(_mm_and_si128(inside, new), _mm_andnot_si128(inside, old)));
            }
        }
    }
    pass
}

/// Tests the covered pixels of a quad, and stores the depths that pass if `WRITE`; returns which
/// pass. Both rows are written back as a whole.
///
/// # Safety
/// The requirements of [`super::test`] hold for all of the quad's texels.
#[inline(always)]
unsafe fn test_quad<R: DepthRow, const C: u32, const WRITE: bool>(
    z: __m128,
    p: *mut u8,
    pitch: usize,
    mask: u32,
) -> u32 {
    // SAFETY: both rows have two texels (`# Safety`), and SSE2 is part of x86-64.
    unsafe {
        let p = [p, p.add(pitch)];
        let (new, old) = (R::quantize(z), R::load_quad(p.map(<*mut u8>::cast_const)));
        let lanes = _mm_load_si128(LANES[mask as usize & 0xf].0.as_ptr().cast());
        let inside = _mm_and_si128(passes::<R, C>(new, old), lanes);
        if WRITE {
            R::store_quad(p, _mm_or_si128(_mm_and_si128(inside, new), _mm_andnot_si128(inside, old)));
        }
        _mm_movemask_ps(_mm_castsi128_ps(inside)) as u32
    }
}

unsafe fn plane_quads_test<R: DepthRow, const C: u32, const WRITE: bool>(
    quads: &mut [FragmentQuad],
    at: &BlockAddress,
    sample: u32,
    offset: [f32; 2],
) -> u64 {
    let mut passed = 0;
    for quad in quads {
        let mask = pixels(quad.coverage, sample);
        if mask == 0 {
            continue;
        }
        let base = at.base.wrapping_add(usize::from(quad.y) * at.pitch + usize::from(quad.x) * R::BYTES);
        // SAFETY: [`QuadsTest`] requires that the quad's texels are addressable and that its
        // primitive is a `Prim`'s first field.
        let left = unsafe {
            let z = quad_depths(&*quad.primitive.cast::<Prim>(), [quad.x.into(), quad.y.into()], offset);
            test_quad::<R, C, WRITE>(z, base, at.pitch, mask)
        };
        quad.coverage = quad.coverage & !(0x1111 << sample) | SPREAD[left as usize & 0xf] << sample;
        passed += u64::from(left.count_ones());
    }
    passed
}

unsafe fn plane_quad_test<R: DepthRow, const C: u32, const WRITE: bool>(
    prim: &Prim,
    at: *mut u8,
    pitch: usize,
    place: [i32; 2],
    covered: u32,
) -> u32 {
    // SAFETY: [`QuadTest`] requires that all texels of the quad are addressable.
    unsafe { test_quad::<R, C, WRITE>(quad_depths(prim, place, [0.5; 2]), at, pitch, covered) }
}

unsafe fn plane_test<R: DepthRow, const C: u32, const WRITE: bool>(
    prim: &Prim,
    at: &BlockAddress,
    place: [i32; 2],
    offset: [f32; 2],
    mask: u32,
) -> u32 {
    // The pixels of a block that a small primitive covers often lie in one quad. Its rows are half
    // as long, and the next primitive waits for fewer stores.
    let quad = mask.trailing_zeros() & 0b1010;
    if at.whole && mask & !(0x33 << quad) == 0 {
        let (x, y) = (quad & 2, quad >> 2);
        let here = mask >> quad;
        let base = at.base.wrapping_add(y as usize * at.pitch + x as usize * R::BYTES);
        // SAFETY: all rows of a whole block have four texels, which no other thread writes
        // ([`PlaneTest`]).
        let passed = unsafe {
            let z = quad_depths(prim, [place[0] + x as i32, place[1] + y as i32], offset);
            test_quad::<R, C, WRITE>(z, base, at.pitch, here & 3 | here >> 2 & 12)
        };
        return (passed & 3 | (passed & 12) << 2) << quad;
    }
    // SAFETY: rows of the mask have four texels, which no other thread writes ([`PlaneTest`]).
    unsafe { block::<R, C, WRITE>(&PlaneDepths::new(prim, place, offset), *at, mask) }
}

/// Selects a function of `[format, C, WRITE]` by their run-time values.
macro_rules! select {
    ($function:ident, $format:expr, $compare:expr, $write:expr) => {
        select!(@format $function, $format, $compare, $write, [D16 D16Rows, D24 D24Rows, F32 F32Rows])
    };
    (@format $function:ident, $format:expr, $compare:expr, $write:expr, [$($format_name:ident $row:ident),*]) => {
        match $format {
            $(DepthFormat::$format_name => select!(
                @compare $function, $row, $compare, $write,
                [Never Less Equal LessOrEqual Greater NotEqual GreaterOrEqual Always]
            ),)*
        }
    };
    (@compare $function:ident, $row:ident, $compare:expr, $write:expr, [$($name:ident)*]) => {
        match ($compare, $write) {
            $((CompareOp::$name, true) => $function::<$row, { CompareOp::$name as u32 }, true>,
            (CompareOp::$name, false) => $function::<$row, { CompareOp::$name as u32 }, false>,)*
        }
    };
}

/// Returns the test of a block of a plane for a format and comparison.
pub fn plane_test_of(format: DepthFormat, compare: CompareOp, write: bool) -> PlaneTest {
    select!(plane_test, format, compare, write)
}

/// Returns the test of the rows of a square for a format and comparison.
pub fn plane_rows_test_of(format: DepthFormat, compare: CompareOp, write: bool) -> RowsTest {
    let of: fn(SimdLevel) -> RowsTest = select!(plane_rows_test, format, compare, write);
    of(SimdLevel::detect())
}

/// Returns the test of a quad for a format and comparison.
pub fn plane_quad_test_of(format: DepthFormat, compare: CompareOp, write: bool) -> QuadTest {
    select!(plane_quad_test, format, compare, write)
}

/// Returns the test of the quads of a batch for a format and comparison.
pub fn plane_quads_test_of(format: DepthFormat, compare: CompareOp, write: bool) -> QuadsTest {
    select!(plane_quads_test, format, compare, write)
}

#[repr(align(16))]
struct LaneMask([u32; 4]);

/// Lane masks, indexed by their bits.
static LANES: [LaneMask; 16] = {
    let mut table = [const { LaneMask([0; 4]) }; 16];
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

#[cfg(test)]
pub mod tests;
