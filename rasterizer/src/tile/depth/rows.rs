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
use base::host::{Avx512, Plain, SimdLevel, Sse2};
use base::pixel::CompareOp;
use core::arch::x86_64::*;
use square::plane_rows_test;

/// A stored format: rows of four texels as vectors of comparable lanes.
trait DepthRow {
    /// The bytes of a texel in memory.
    type Texel: Plain + Copy;
    /// Returns the stored codes of four depths.
    fn quantize(z: __m128) -> __m128i;
    /// Loads the lanes of four texels of 32 bits.
    #[inline(always)]
    fn load(row: &[Self::Texel; 4]) -> __m128i {
        Sse2.load_128(row)
    }
    /// Stores the lanes of four texels of 32 bits.
    #[inline(always)]
    fn store(row: &mut [Self::Texel; 4], lanes: __m128i) {
        Sse2.store_128(row, lanes);
    }
    /// Loads the lanes of two rows of two texels of 32 bits.
    #[inline(always)]
    fn load_quad([top, bottom]: [&[Self::Texel; 2]; 2]) -> __m128i {
        Sse2._mm_unpacklo_epi64(Sse2.load_64(top), Sse2.load_64(bottom))
    }
    /// Stores the lanes of two rows of two texels of 32 bits.
    #[inline(always)]
    fn store_quad([top, bottom]: [&mut [Self::Texel; 2]; 2], quad: __m128i) {
        Sse2.store_64(top, quad);
        Sse2.store_64(bottom, Sse2._mm_unpackhi_epi64(quad, quad));
    }
    /// Returns the stored codes of sixteen depths.
    fn quantize_512(v: Avx512, z: __m512) -> __m512i;
    /// Loads the covered ones of sixteen texels.
    ///
    /// # Safety
    /// The covered texels are readable.
    #[inline(always)]
    unsafe fn load_512(_: Avx512, p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the covered texels are readable (`# Safety`), and the host has the level because
        // the token exists.
        unsafe { _mm512_maskz_loadu_epi32(covered, p.cast()) }
    }
    /// Stores some of sixteen texels.
    ///
    /// # Safety
    /// The texels are writable, and no other thread accesses them.
    #[inline(always)]
    unsafe fn store_512(_: Avx512, p: *mut u8, some: __mmask16, row: __m512i) {
        // SAFETY: the texels are writable (`# Safety`), and the host has the level because the
        // token exists.
        unsafe { _mm512_mask_storeu_epi32(p.cast(), some, row) };
    }
    /// Returns the covered lanes whose depths pass the `VkCompareOp` number `C`.
    fn passes_512<const C: u32>(v: Avx512, covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16;
    /// Returns all ones in lanes where `a < b`.
    fn less(a: __m128i, b: __m128i) -> __m128i;
    /// Returns all ones in lanes where `a == b`.
    fn equal(a: __m128i, b: __m128i) -> __m128i;
    /// Returns all ones in lanes where `a <= b`.
    fn less_or_equal(a: __m128i, b: __m128i) -> __m128i;
}

/// Returns the nearest integers to `z * max`, as `format::nearest` does.
#[inline(always)]
fn nearest(z: __m128, max: f64) -> __m128i {
    // If an operand is not a number, the result is the second operand.
    let z = Sse2._mm_min_ps(Sse2._mm_max_ps(z, Sse2._mm_setzero_ps()), Sse2._mm_set1_ps(1.0));
    let (scale, magic) = (Sse2._mm_set1_pd(max), Sse2._mm_set1_pd(NEAREST));
    let [low, high] = [Sse2._mm_cvtps_pd(z), Sse2._mm_cvtps_pd(Sse2._mm_movehl_ps(z, z))];
    let low = Sse2._mm_castpd_ps(Sse2._mm_add_pd(Sse2._mm_mul_pd(low, scale), magic));
    let high = Sse2._mm_castpd_ps(Sse2._mm_add_pd(Sse2._mm_mul_pd(high, scale), magic));
    Sse2._mm_castps_si128(Sse2._mm_shuffle_ps::<0b10_00_10_00>(low, high))
}

/// Returns the nearest integers to `z * max` of sixteen depths, as [`nearest`] does.
#[inline(always)]
fn nearest_512(v: Avx512, z: __m512, max: f64) -> __m512i {
    let z = v._mm512_min_ps(v._mm512_max_ps(z, v._mm512_setzero_ps()), v._mm512_set1_ps(1.0));
    let (scale, magic) = (v._mm512_set1_pd(max), v._mm512_set1_pd(NEAREST));
    let [low, high] = [v._mm512_castps512_ps256(z), v._mm512_extractf32x8_ps::<1>(z)];
    let low = v._mm512_add_pd(v._mm512_mul_pd(v._mm512_cvtps_pd(low), scale), magic);
    let high = v._mm512_add_pd(v._mm512_mul_pd(v._mm512_cvtps_pd(high), scale), magic);
    let low = v._mm512_cvtepi64_epi32(v._mm512_castpd_si512(low));
    let high = v._mm512_cvtepi64_epi32(v._mm512_castpd_si512(high));
    v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(low), high)
}

/// Defines comparisons of codes of at most 31 bits, as signed integers.
macro_rules! integer_comparisons {
    () => {
        #[inline(always)]
        fn passes_512<const C: u32>(v: Avx512, covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16 {
            match CompareOp::ALL[C as usize] {
                CompareOp::Never => 0,
                CompareOp::Less => v._mm512_mask_cmplt_epi32_mask(covered, new, old),
                CompareOp::Equal => v._mm512_mask_cmpeq_epi32_mask(covered, new, old),
                CompareOp::LessOrEqual => v._mm512_mask_cmple_epi32_mask(covered, new, old),
                CompareOp::Greater => v._mm512_mask_cmpgt_epi32_mask(covered, new, old),
                CompareOp::NotEqual => v._mm512_mask_cmpneq_epi32_mask(covered, new, old),
                CompareOp::GreaterOrEqual => v._mm512_mask_cmpge_epi32_mask(covered, new, old),
                CompareOp::Always => covered,
            }
        }
        #[inline(always)]
        fn less(a: __m128i, b: __m128i) -> __m128i {
            Sse2._mm_cmplt_epi32(a, b)
        }
        #[inline(always)]
        fn equal(a: __m128i, b: __m128i) -> __m128i {
            Sse2._mm_cmpeq_epi32(a, b)
        }
        #[inline(always)]
        fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
            Sse2._mm_xor_si128(Sse2._mm_cmpgt_epi32(a, b), Sse2._mm_set1_epi32(-1))
        }
    };
}

struct D16Rows;
impl DepthRow for D16Rows {
    type Texel = [u8; 2];
    #[inline(always)]
    fn quantize(z: __m128) -> __m128i {
        nearest(z, 65535.0)
    }
    #[inline(always)]
    fn load(row: &[[u8; 2]; 4]) -> __m128i {
        Sse2._mm_unpacklo_epi16(Sse2.load_64(row), Sse2._mm_setzero_si128())
    }
    #[inline(always)]
    fn store(row: &mut [[u8; 2]; 4], lanes: __m128i) {
        let halves = Sse2._mm_shufflehi_epi16::<0b10_00>(Sse2._mm_shufflelo_epi16::<0b10_00>(lanes));
        Sse2.store_64(row, Sse2._mm_shuffle_epi32::<0b10_00>(halves));
    }
    #[inline(always)]
    fn load_quad([top, bottom]: [&[[u8; 2]; 2]; 2]) -> __m128i {
        let both = Sse2._mm_unpacklo_epi32(Sse2.load_32(top), Sse2.load_32(bottom));
        Sse2._mm_unpacklo_epi16(both, Sse2._mm_setzero_si128())
    }
    #[inline(always)]
    fn store_quad([top, bottom]: [&mut [[u8; 2]; 2]; 2], quad: __m128i) {
        let halves = Sse2._mm_shufflehi_epi16::<0b10_00>(Sse2._mm_shufflelo_epi16::<0b10_00>(quad));
        Sse2.store_32(top, halves);
        Sse2.store_32(bottom, Sse2._mm_unpackhi_epi64(halves, halves));
    }
    #[inline(always)]
    fn quantize_512(v: Avx512, z: __m512) -> __m512i {
        nearest_512(v, z, 65535.0)
    }
    #[inline(always)]
    unsafe fn load_512(v: Avx512, p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the covered texels are readable, as `DepthRow::load_512` requires, and the host
        // has the level because the token exists.
        v._mm512_cvtepu16_epi32(unsafe { _mm256_maskz_loadu_epi16(covered, p.cast()) })
    }
    #[inline(always)]
    unsafe fn store_512(v: Avx512, p: *mut u8, some: __mmask16, row: __m512i) {
        // SAFETY: the texels are writable, as `DepthRow::store_512` requires, and the host has the
        // level because the token exists.
        unsafe { _mm256_mask_storeu_epi16(p.cast(), some, v._mm512_cvtepi32_epi16(row)) };
    }
    integer_comparisons!();
}

struct D24Rows;
impl D24Rows {
    /// Clears the upper eight bits, which have no meaning: a copy may have left anything in them.
    #[inline(always)]
    fn known(lanes: __m128i) -> __m128i {
        Sse2._mm_and_si128(lanes, Sse2._mm_set1_epi32(0xff_ffff))
    }
}
impl DepthRow for D24Rows {
    type Texel = [u8; 4];
    #[inline(always)]
    fn quantize(z: __m128) -> __m128i {
        nearest(z, 16_777_215.0)
    }
    #[inline(always)]
    fn load(row: &[[u8; 4]; 4]) -> __m128i {
        Self::known(Sse2.load_128(row))
    }
    #[inline(always)]
    fn load_quad([top, bottom]: [&[[u8; 4]; 2]; 2]) -> __m128i {
        Self::known(Sse2._mm_unpacklo_epi64(Sse2.load_64(top), Sse2.load_64(bottom)))
    }
    #[inline(always)]
    fn quantize_512(v: Avx512, z: __m512) -> __m512i {
        nearest_512(v, z, 16_777_215.0)
    }
    #[inline(always)]
    unsafe fn load_512(v: Avx512, p: *const u8, covered: __mmask16) -> __m512i {
        // SAFETY: the covered texels are readable, as `DepthRow::load_512` requires.
        let texels = unsafe { F32Rows::load_512(v, p, covered) };
        v._mm512_and_si512(texels, v._mm512_set1_epi32(0xff_ffff))
    }
    integer_comparisons!();
}

struct F32Rows;
impl DepthRow for F32Rows {
    type Texel = [u8; 4];
    #[inline(always)]
    fn quantize(z: __m128) -> __m128i {
        Sse2._mm_castps_si128(z)
    }
    #[inline(always)]
    fn quantize_512(v: Avx512, z: __m512) -> __m512i {
        v._mm512_castps_si512(z)
    }
    #[inline(always)]
    fn passes_512<const C: u32>(v: Avx512, covered: __mmask16, new: __m512i, old: __m512i) -> __mmask16 {
        let (new, old) = (v._mm512_castsi512_ps(new), v._mm512_castsi512_ps(old));
        match CompareOp::ALL[C as usize] {
            CompareOp::Never => 0,
            CompareOp::Less => v._mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(covered, new, old),
            CompareOp::Equal => v._mm512_mask_cmp_ps_mask::<_CMP_EQ_OQ>(covered, new, old),
            CompareOp::LessOrEqual => v._mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(covered, new, old),
            CompareOp::Greater => v._mm512_mask_cmp_ps_mask::<_CMP_GT_OQ>(covered, new, old),
            CompareOp::NotEqual => v._mm512_mask_cmp_ps_mask::<_CMP_NEQ_UQ>(covered, new, old),
            CompareOp::GreaterOrEqual => v._mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(covered, new, old),
            CompareOp::Always => covered,
        }
    }
    #[inline(always)]
    fn less(a: __m128i, b: __m128i) -> __m128i {
        Sse2._mm_castps_si128(Sse2._mm_cmplt_ps(Sse2._mm_castsi128_ps(a), Sse2._mm_castsi128_ps(b)))
    }
    #[inline(always)]
    fn equal(a: __m128i, b: __m128i) -> __m128i {
        Sse2._mm_castps_si128(Sse2._mm_cmpeq_ps(Sse2._mm_castsi128_ps(a), Sse2._mm_castsi128_ps(b)))
    }
    #[inline(always)]
    fn less_or_equal(a: __m128i, b: __m128i) -> __m128i {
        Sse2._mm_castps_si128(Sse2._mm_cmple_ps(Sse2._mm_castsi128_ps(a), Sse2._mm_castsi128_ps(b)))
    }
}

/// The depths of a block's rows.
trait Depths {
    /// Returns the depths of a row's four pixels.
    fn row(&self, row: usize) -> __m128;
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
        let x = Sse2._mm_add_ps(Sse2._mm_set1_ps((x - ox) as f32), Sse2._mm_setr_ps(0.0, 1.0, 2.0, 3.0));
        let across =
            Sse2._mm_mul_ps(Sse2._mm_set1_ps(prim.shade.z[0]), Sse2._mm_add_ps(x, Sse2._mm_set1_ps(offset[0])));
        PlaneDepths { prim, across, y: (y - oy) as f32, offset: offset[1] }
    }
}

impl Depths for PlaneDepths<'_> {
    #[inline(always)]
    fn row(&self, row: usize) -> __m128 {
        let [_, dy, constant] = self.prim.shade.z;
        let down = dy * (self.y + row as f32 + self.offset) + constant;
        clamped(self.prim, Sse2._mm_add_ps(self.across, Sse2._mm_set1_ps(down)))
    }
}

/// Returns depths in the primitive's range.
#[inline(always)]
fn clamped(prim: &Prim, z: __m128) -> __m128 {
    let [low, high] = prim.depth_range;
    // If an operand is not a number, the result is the second operand.
    Sse2._mm_min_ps(Sse2._mm_max_ps(z, Sse2._mm_set1_ps(low)), Sse2._mm_set1_ps(high))
}

/// Returns the depths of a quad of a primitive at a position, as [`PlaneDepths`] does those of
/// rows.
#[inline(always)]
fn quad_depths(prim: &Prim, [x, y]: [i32; 2], offset: [f32; 2]) -> __m128 {
    let ([ox, oy], [dx, dy, constant]) = (prim.shade.origin, prim.shade.z);
    let x = Sse2._mm_add_ps(Sse2._mm_set1_ps((x - ox) as f32), Sse2._mm_setr_ps(0.0, 1.0, 0.0, 1.0));
    let y = Sse2._mm_add_ps(Sse2._mm_set1_ps((y - oy) as f32), Sse2._mm_setr_ps(0.0, 0.0, 1.0, 1.0));
    let across = Sse2._mm_mul_ps(Sse2._mm_set1_ps(dx), Sse2._mm_add_ps(x, Sse2._mm_set1_ps(offset[0])));
    let down = Sse2._mm_mul_ps(Sse2._mm_set1_ps(dy), Sse2._mm_add_ps(y, Sse2._mm_set1_ps(offset[1])));
    clamped(prim, Sse2._mm_add_ps(across, Sse2._mm_add_ps(down, Sse2._mm_set1_ps(constant))))
}

/// Returns all ones in lanes whose depths pass the `VkCompareOp` number `C`.
#[inline(always)]
fn passes<R: DepthRow, const C: u32>(new: __m128i, old: __m128i) -> __m128i {
    let ones = Sse2._mm_set1_epi32(-1);
    match CompareOp::ALL[C as usize] {
        CompareOp::Never => Sse2._mm_setzero_si128(),
        CompareOp::Less => R::less(new, old),
        CompareOp::Equal => R::equal(new, old),
        CompareOp::LessOrEqual => R::less_or_equal(new, old),
        CompareOp::Greater => R::less(old, new),
        CompareOp::NotEqual => Sse2._mm_xor_si128(R::equal(new, old), ones),
        CompareOp::GreaterOrEqual => R::less_or_equal(old, new),
        CompareOp::Always => ones,
    }
}

/// Returns the lanes of the covered pixels that pass, as all ones, and the lanes to store.
#[inline(always)]
fn tested<R: DepthRow, const C: u32>(z: __m128, old: __m128i, covered: u32) -> [__m128i; 2] {
    let new = R::quantize(z);
    let inside = Sse2._mm_and_si128(passes::<R, C>(new, old), Sse2.load_128(&LANES[covered as usize & 0xf].0));
    [inside, Sse2._mm_or_si128(Sse2._mm_and_si128(inside, new), Sse2._mm_andnot_si128(inside, old))]
}

/// Returns a bit for each lane that is all ones.
#[inline(always)]
fn mask_of(lanes: __m128i) -> u32 {
    Sse2._mm_movemask_ps(Sse2._mm_castsi128_ps(lanes)) as u32
}

/// Tests the covered pixels of a row of four, and stores the depths that pass if `WRITE`; returns
/// which pass.
///
/// # Safety
/// There are four texels at the address, which no other thread writes, nor reads if `WRITE`.
#[inline(always)]
unsafe fn test_row<R: DepthRow, const C: u32, const WRITE: bool>(z: __m128, p: *mut u8, covered: u32) -> u32 {
    let row = p.cast::<[R::Texel; 4]>();
    // SAFETY: the row has four texels (`# Safety`).
    let [inside, new] = tested::<R, C>(z, R::load(unsafe { &*row }), covered);
    if WRITE {
        // SAFETY: no other thread accesses the four texels (`# Safety`).
        R::store(unsafe { &mut *row }, new);
    }
    mask_of(inside)
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
        // SAFETY: the row has four texels (`# Safety`).
        pass |= unsafe { test_row::<R, C, WRITE>(z.row(row), at.base.add(row * at.pitch), covered) } << (4 * row);
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
    // SAFETY: both rows have two texels (`# Safety`). If they are
    // written, no other thread accesses them.
    unsafe {
        let (top, bottom) = (p.cast::<[R::Texel; 2]>(), p.add(pitch).cast::<[R::Texel; 2]>());
        let [inside, new] = tested::<R, C>(z, R::load_quad([&*top, &*bottom]), mask);
        if WRITE {
            R::store_quad([&mut *top, &mut *bottom], new);
        }
        mask_of(inside)
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
        let base = at.base.wrapping_add(usize::from(quad.y) * at.pitch + usize::from(quad.x) * size_of::<R::Texel>());
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
        let base = at.base.wrapping_add(y as usize * at.pitch + x as usize * size_of::<R::Texel>());
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
