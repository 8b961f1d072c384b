//! The instructions of a level as safe methods of its token.
//!
//! A token exists only where the host has its level, so that its methods need no promise of their
//! callers. They are always inlined: a function without target features that contains an intrinsic
//! is compiled as a call, unless it is inlined into a variant of its level. Each method has the
//! name of its intrinsic. Intrinsics that take a pointer have no method; arrays are loaded and
//! stored by [`Avx512::load`], [`Avx512::store`] and their relatives.

use super::{Avx2, Avx512, Host, Plain, SimdLevel, Sse2, Sse41};
use core::arch::x86_64::*;
use core::ops::Deref;

/// Defines one method for each intrinsic of a table: its constant, its arguments and its result.
macro_rules! intrinsics {
    ($($name:ident $([$constant:ident: $of:ty])? ($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("Applies the instruction of [`", stringify!($name), "`].")]
        #[inline(always)]
        #[must_use]
        pub fn $name $(<const $constant: $of>)? (self $(, $arg: $ty)*) -> $result {
            // SAFETY: a token exists only where the host has the level.
            unsafe { core::arch::x86_64::$name $(::<$constant>)? ($($arg),*) }
        }
    )*};
}

impl Deref for Avx512 {
    type Target = Avx2;

    /// Returns the token of the level that this one includes.
    #[inline(always)]
    fn deref(&self) -> &Avx2 {
        &Avx2(())
    }
}

impl Deref for Avx2 {
    type Target = Sse41;

    /// Returns the token of the level that this one includes.
    #[inline(always)]
    fn deref(&self) -> &Sse41 {
        &Sse41(())
    }
}

impl Deref for Sse41 {
    type Target = Sse2;

    /// Returns the token of the level that this one includes.
    #[inline(always)]
    fn deref(&self) -> &Sse2 {
        &Sse2
    }
}

#[allow(clippy::too_many_arguments, reason = "vectors of sixteen lanes have sixteen arguments")]
impl Sse2 {
    /// Loads an array of 16 bytes.
    #[inline(always)]
    #[must_use]
    pub fn load_128<T: Plain>(self, from: &T) -> __m128i {
        const { assert!(size_of::<T>() == 16) };
        // SAFETY: the array has 16 bytes, and every x86-64 processor has SSE2.
        unsafe { _mm_loadu_si128(core::ptr::from_ref(from).cast()) }
    }

    /// Loads an array of 8 bytes to the lower half of a vector.
    #[inline(always)]
    #[must_use]
    pub fn load_64<T: Plain>(self, from: &T) -> __m128i {
        const { assert!(size_of::<T>() == 8) };
        // SAFETY: the array has 8 bytes, and every x86-64 processor has SSE2.
        unsafe { _mm_loadl_epi64(core::ptr::from_ref(from).cast()) }
    }

    /// Loads an array of 4 bytes to the first lane of a vector.
    #[inline(always)]
    #[must_use]
    pub fn load_32<T: Plain>(self, from: &T) -> __m128i {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: the array has 4 bytes, and every x86-64 processor has SSE2.
        unsafe { _mm_cvtsi32_si128(core::ptr::from_ref(from).cast::<i32>().read_unaligned()) }
    }

    /// Stores the first lane of a vector to an array of 4 bytes.
    #[inline(always)]
    pub fn store_32<T: Plain>(self, to: &mut T, value: __m128i) {
        const { assert!(size_of::<T>() == 4) };
        // SAFETY: the array has 4 bytes, and every x86-64 processor has SSE2.
        unsafe { core::ptr::from_mut(to).cast::<i32>().write_unaligned(_mm_cvtsi128_si32(value)) }
    }

    /// Stores the lower half of a vector to an array of 8 bytes.
    #[inline(always)]
    pub fn store_64<T: Plain>(self, to: &mut T, value: __m128i) {
        const { assert!(size_of::<T>() == 8) };
        // SAFETY: the array has 8 bytes, and every x86-64 processor has SSE2.
        unsafe { _mm_storel_epi64(core::ptr::from_mut(to).cast(), value) }
    }

    /// Stores an array of 16 bytes.
    #[inline(always)]
    pub fn store_128<T: Plain>(self, to: &mut T, value: __m128i) {
        const { assert!(size_of::<T>() == 16) };
        // SAFETY: the array has 16 bytes, and every x86-64 processor has SSE2.
        unsafe { _mm_storeu_si128(core::ptr::from_mut(to).cast(), value) }
    }

    intrinsics! {
        _mm_add_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_add_pd(a: __m128d, b: __m128d) -> __m128d;
        _mm_add_ps(a: __m128, b: __m128) -> __m128;
        _mm_and_si128(a: __m128i, b: __m128i) -> __m128i;
        _mm_andnot_si128(a: __m128i, b: __m128i) -> __m128i;
        _mm_castpd_ps(a: __m128d) -> __m128;
        _mm_castps_si128(a: __m128) -> __m128i;
        _mm_castsi128_pd(a: __m128i) -> __m128d;
        _mm_castsi128_ps(a: __m128i) -> __m128;
        _mm_cmpeq_epi16(a: __m128i, b: __m128i) -> __m128i;
        _mm_cmpeq_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_cmpeq_ps(a: __m128, b: __m128) -> __m128;
        _mm_cmpgt_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_cmple_ps(a: __m128, b: __m128) -> __m128;
        _mm_cmplt_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_cmplt_ps(a: __m128, b: __m128) -> __m128;
        _mm_cvtepi32_ps(a: __m128i) -> __m128;
        _mm_cvtps_epi32(a: __m128) -> __m128i;
        _mm_cvtps_pd(a: __m128) -> __m128d;
        _mm_cvtsi128_si32(a: __m128i) -> i32;
        _mm_cvtsi128_si64(a: __m128i) -> i64;
        _mm_cvtsi32_si128(a: i32) -> __m128i;
        _mm_max_ps(a: __m128, b: __m128) -> __m128;
        _mm_min_ps(a: __m128, b: __m128) -> __m128;
        _mm_movehl_ps(a: __m128, b: __m128) -> __m128;
        _mm_movelh_ps(a: __m128, b: __m128) -> __m128;
        _mm_movemask_epi8(a: __m128i) -> i32;
        _mm_movemask_ps(a: __m128) -> i32;
        _mm_mul_pd(a: __m128d, b: __m128d) -> __m128d;
        _mm_mul_ps(a: __m128, b: __m128) -> __m128;
        _mm_or_si128(a: __m128i, b: __m128i) -> __m128i;
        _mm_packs_epi16(a: __m128i, b: __m128i) -> __m128i;
        _mm_packs_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_packus_epi16(a: __m128i, b: __m128i) -> __m128i;
        _mm_set1_epi16(a: i16) -> __m128i;
        _mm_set1_epi32(a: i32) -> __m128i;
        _mm_set1_pd(a: f64) -> __m128d;
        _mm_set1_ps(a: f32) -> __m128;
        _mm_set_epi32(a: i32, b: i32, c: i32, d: i32) -> __m128i;
        _mm_set_epi64x(a: i64, b: i64) -> __m128i;
        _mm_setr_epi32(a: i32, b: i32, c: i32, d: i32) -> __m128i;
        _mm_setr_epi8(
            a: i8, b: i8, c: i8, d: i8, e: i8, f: i8, g: i8, h: i8,
            i: i8, j: i8, k: i8, l: i8, m: i8, n: i8, o: i8, p: i8
        ) -> __m128i;
        _mm_setr_ps(a: f32, b: f32, c: f32, d: f32) -> __m128;
        _mm_setzero_ps() -> __m128;
        _mm_setzero_si128() -> __m128i;
        _mm_shuffle_epi32[ORDER: i32](a: __m128i) -> __m128i;
        _mm_shuffle_ps[ORDER: i32](a: __m128, b: __m128) -> __m128;
        _mm_shufflehi_epi16[ORDER: i32](a: __m128i) -> __m128i;
        _mm_shufflelo_epi16[ORDER: i32](a: __m128i) -> __m128i;
        _mm_slli_epi16[BY: i32](a: __m128i) -> __m128i;
        _mm_slli_epi32[BY: i32](a: __m128i) -> __m128i;
        _mm_srli_epi32[BY: i32](a: __m128i) -> __m128i;
        _mm_sub_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_sub_ps(a: __m128, b: __m128) -> __m128;
        _mm_unpackhi_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpackhi_epi64(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpackhi_ps(a: __m128, b: __m128) -> __m128;
        _mm_unpacklo_epi16(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpacklo_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpacklo_epi64(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpacklo_epi8(a: __m128i, b: __m128i) -> __m128i;
        _mm_unpacklo_ps(a: __m128, b: __m128) -> __m128;
        _mm_xor_si128(a: __m128i, b: __m128i) -> __m128i;
    }
}

impl Sse41 {
    intrinsics! {
        _mm_blendv_epi8(a: __m128i, b: __m128i, c: __m128i) -> __m128i;
        _mm_extract_epi64[AT: i32](a: __m128i) -> i64;
        _mm_max_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_min_epi32(a: __m128i, b: __m128i) -> __m128i;
        _mm_shuffle_epi8(a: __m128i, b: __m128i) -> __m128i;
    }
}

impl Avx2 {
    /// Loads an array of 32 bytes.
    #[inline(always)]
    #[must_use]
    pub fn load_256<T: Plain>(self, from: &T) -> __m256i {
        const { assert!(size_of::<T>() == 32) };
        // SAFETY: the array has 32 bytes, and the host has the level because the token exists.
        unsafe { _mm256_loadu_si256(core::ptr::from_ref(from).cast()) }
    }

    /// Stores an array of 32 bytes.
    #[inline(always)]
    pub fn store_256<T: Plain>(self, to: &mut T, value: __m256i) {
        const { assert!(size_of::<T>() == 32) };
        // SAFETY: the array has 32 bytes, and the host has the level because the token exists.
        unsafe { _mm256_storeu_si256(core::ptr::from_mut(to).cast(), value) }
    }

    intrinsics! {
        _mm256_add_epi32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_adds_epu16(a: __m256i, b: __m256i) -> __m256i;
        _mm256_adds_epu8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_and_si256(a: __m256i, b: __m256i) -> __m256i;
        _mm256_blendv_epi8(a: __m256i, b: __m256i, mask: __m256i) -> __m256i;
        _mm256_broadcastsi128_si256(a: __m128i) -> __m256i;
        _mm256_castsi256_ps(a: __m256i) -> __m256;
        _mm256_castps_si256(a: __m256) -> __m256i;
        _mm256_castsi256_si128(a: __m256i) -> __m128i;
        _mm256_cmpeq_epi32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_cvtps_epi32(a: __m256) -> __m256i;
        _mm256_extracti128_si256[AT: i32](a: __m256i) -> __m128i;
        _mm256_max_epu8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_min_epu32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_min_epu8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_min_ps(a: __m256, b: __m256) -> __m256;
        _mm256_movemask_ps(a: __m256) -> i32;
        _mm256_mul_epu32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_mul_ps(a: __m256, b: __m256) -> __m256;
        _mm256_mullo_epi16(a: __m256i, b: __m256i) -> __m256i;
        _mm256_mullo_epi32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_or_si256(a: __m256i, b: __m256i) -> __m256i;
        _mm256_packs_epi32(a: __m256i, b: __m256i) -> __m256i;
        _mm256_packus_epi16(a: __m256i, b: __m256i) -> __m256i;
        _mm256_set1_epi32(a: i32) -> __m256i;
        _mm256_set1_ps(a: f32) -> __m256;
        _mm256_set_m128i(high: __m128i, low: __m128i) -> __m256i;
        _mm256_setzero_si256() -> __m256i;
        _mm256_shuffle_epi8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_sll_epi32(a: __m256i, count: __m128i) -> __m256i;
        _mm256_slli_epi32[BY: i32](a: __m256i) -> __m256i;
        _mm256_srli_epi16[BY: i32](a: __m256i) -> __m256i;
        _mm256_subs_epu16(a: __m256i, b: __m256i) -> __m256i;
        _mm256_unpackhi_epi8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_unpacklo_epi8(a: __m256i, b: __m256i) -> __m256i;
        _mm256_xor_si256(a: __m256i, b: __m256i) -> __m256i;
    }
}

#[allow(clippy::too_many_arguments, reason = "vectors of sixteen lanes have sixteen arguments")]
impl Avx512 {
    /// Returns the token if the host has the level.
    #[must_use]
    pub fn detect() -> Option<Avx512> {
        (SimdLevel::detect() == SimdLevel::Avx512).then_some(Avx512(()))
    }

    /// Returns the token of a level, all of which this level includes.
    #[inline(always)]
    #[must_use]
    pub fn lower<H: Host>(self) -> H {
        // SAFETY: the host has the highest level, because the token exists.
        unsafe { H::assume() }
    }

    /// Loads an array of 64 bytes.
    #[inline(always)]
    #[must_use]
    pub fn load<T: Plain>(self, from: &T) -> __m512i {
        const { assert!(size_of::<T>() == 64) };
        // SAFETY: the array has 64 bytes, and the host has the level because the token exists.
        unsafe { _mm512_loadu_si512(core::ptr::from_ref(from).cast()) }
    }

    /// Loads bytes `64 * PART..64 * (PART + 1)` of an array.
    #[inline(always)]
    #[must_use]
    pub fn load_part<const PART: usize, T: Plain>(self, from: &T) -> __m512i {
        const { assert!(size_of::<T>() >= 64 * (PART + 1)) };
        // SAFETY: the array has the bytes, and the host has the level because the token exists.
        unsafe { _mm512_loadu_si512(core::ptr::from_ref(from).cast::<[u8; 64]>().add(PART).cast()) }
    }

    /// Loads sixteen floats.
    #[inline(always)]
    #[must_use]
    pub fn load_ps<T: Plain>(self, from: &T) -> __m512 {
        const { assert!(size_of::<T>() == 64) };
        // SAFETY: the array has 64 bytes, and the host has the level because the token exists.
        unsafe { _mm512_loadu_ps(core::ptr::from_ref(from).cast()) }
    }

    /// Stores an array of 64 bytes.
    #[inline(always)]
    pub fn store<T: Plain>(self, to: &mut T, value: __m512i) {
        const { assert!(size_of::<T>() == 64) };
        // SAFETY: the array has 64 bytes, and the host has the level because the token exists.
        unsafe { _mm512_storeu_si512(core::ptr::from_mut(to).cast(), value) }
    }

    /// Stores bytes `64 * PART..64 * (PART + 1)` of an array.
    #[inline(always)]
    pub fn store_part<const PART: usize, T: Plain>(self, to: &mut T, value: __m512i) {
        const { assert!(size_of::<T>() >= 64 * (PART + 1)) };
        // SAFETY: the array has the bytes, and the host has the level because the token exists.
        unsafe { _mm512_storeu_si512(core::ptr::from_mut(to).cast::<[u8; 64]>().add(PART).cast(), value) }
    }

    /// Stores sixteen floats.
    #[inline(always)]
    pub fn store_ps<T: Plain>(self, to: &mut T, value: __m512) {
        const { assert!(size_of::<T>() == 64) };
        // SAFETY: the array has 64 bytes, and the host has the level because the token exists.
        unsafe { _mm512_storeu_ps(core::ptr::from_mut(to).cast(), value) }
    }

    intrinsics! {
        _mm512_abs_ps(a: __m512) -> __m512;
        _mm512_add_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_add_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_add_epi64(a: __m512i, b: __m512i) -> __m512i;
        _mm512_add_pd(a: __m512d, b: __m512d) -> __m512d;
        _mm512_add_ps(a: __m512, b: __m512) -> __m512;
        _mm512_adds_epu16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_adds_epu8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_and_si512(a: __m512i, b: __m512i) -> __m512i;
        _mm512_broadcast_f32x4(a: __m128) -> __m512;
        _mm512_broadcast_i32x4(a: __m128i) -> __m512i;
        _mm512_broadcastd_epi32(a: __m128i) -> __m512i;
        _mm512_castpd_si512(a: __m512d) -> __m512i;
        _mm512_castps128_ps512(a: __m128) -> __m512;
        _mm512_castps256_ps512(a: __m256) -> __m512;
        _mm512_castps512_ps256(a: __m512) -> __m256;
        _mm512_castps_si512(a: __m512) -> __m512i;
        _mm512_castsi128_si512(a: __m128i) -> __m512i;
        _mm512_castsi256_si512(a: __m256i) -> __m512i;
        _mm512_castsi512_ps(a: __m512i) -> __m512;
        _mm512_castsi512_si128(a: __m512i) -> __m128i;
        _mm512_castsi512_si256(a: __m512i) -> __m256i;
        _mm512_cmp_ps_mask[OP: i32](a: __m512, b: __m512) -> __mmask16;
        _mm512_cmpeq_epi32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmpge_epi32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmpge_epu32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmpgt_epi32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmpgt_epu32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmple_epu32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmplt_epu32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cmpneq_epi32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_cvt_roundps_epi32[MODE: i32](a: __m512) -> __m512i;
        _mm512_cvtepi32_epi16(a: __m512i) -> __m256i;
        _mm512_cvtepi32_ps(a: __m512i) -> __m512;
        _mm512_cvtepi64_epi32(a: __m512i) -> __m256i;
        _mm512_cvtepu16_epi32(a: __m256i) -> __m512i;
        _mm512_cvtepu32_epi64(a: __m256i) -> __m512i;
        _mm512_cvtph_ps(a: __m256i) -> __m512;
        _mm512_cvtps_epi32(a: __m512) -> __m512i;
        _mm512_cvtps_pd(a: __m256) -> __m512d;
        _mm512_div_ps(a: __m512, b: __m512) -> __m512;
        _mm512_extractf32x8_ps[AT: i32](a: __m512) -> __m256;
        _mm512_extracti32x4_epi32[AT: i32](a: __m512i) -> __m128i;
        _mm512_extracti64x4_epi64[AT: i32](a: __m512i) -> __m256i;
        _mm512_fmadd_ps(a: __m512, b: __m512, c: __m512) -> __m512;
        _mm512_fnmadd_ps(a: __m512, b: __m512, c: __m512) -> __m512;
        _mm512_insertf32x8[AT: i32](a: __m512, b: __m256) -> __m512;
        _mm512_inserti32x4[AT: i32](a: __m512i, b: __m128i) -> __m512i;
        _mm512_inserti64x4[AT: i32](a: __m512i, b: __m256i) -> __m512i;
        _mm512_madd_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_mask_add_epi32(a: __m512i, b: __mmask16, c: __m512i, d: __m512i) -> __m512i;
        _mm512_mask_add_ps(a: __m512, b: __mmask16, c: __m512, d: __m512) -> __m512;
        _mm512_mask_blend_epi8(a: __mmask64, b: __m512i, c: __m512i) -> __m512i;
        _mm512_mask_cmp_ps_mask[OP: i32](a: __mmask16, b: __m512, c: __m512) -> __mmask16;
        _mm512_mask_cmpeq_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_cmpge_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_cmpgt_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_cmple_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_cmplt_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_cmpneq_epi32_mask(a: __mmask16, b: __m512i, c: __m512i) -> __mmask16;
        _mm512_mask_mov_epi32(a: __m512i, b: __mmask16, c: __m512i) -> __m512i;
        _mm512_mask_mov_epi8(a: __m512i, b: __mmask64, c: __m512i) -> __m512i;
        _mm512_mask_mov_ps(a: __m512, b: __mmask16, c: __m512) -> __m512;
        _mm512_mask_or_epi32(a: __m512i, b: __mmask16, c: __m512i, d: __m512i) -> __m512i;
        _mm512_mask_set1_epi32(a: __m512i, b: __mmask16, c: i32) -> __m512i;
        _mm512_mask_slli_epi32[BY: u32](a: __m512i, b: __mmask16, c: __m512i) -> __m512i;
        _mm512_mask_sub_epi32(a: __m512i, b: __mmask16, c: __m512i, d: __m512i) -> __m512i;
        _mm512_mask_sub_ps(a: __m512, b: __mmask16, c: __m512, d: __m512) -> __m512;
        _mm512_maskz_set1_epi32(a: __mmask16, b: i32) -> __m512i;
        _mm512_max_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_max_epu8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_max_ps(a: __m512, b: __m512) -> __m512;
        _mm512_min_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_min_epu32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_min_epu8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_min_ps(a: __m512, b: __m512) -> __m512;
        _mm512_movepi32_mask(a: __m512i) -> __mmask16;
        _mm512_movepi8_mask(a: __m512i) -> __mmask64;
        _mm512_movm_epi32(a: __mmask16) -> __m512i;
        _mm512_mul_pd(a: __m512d, b: __m512d) -> __m512d;
        _mm512_mul_ps(a: __m512, b: __m512) -> __m512;
        _mm512_mullo_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_mullo_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_or_si512(a: __m512i, b: __m512i) -> __m512i;
        _mm512_packs_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_packus_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_permutex2var_epi16(a: __m512i, b: __m512i, c: __m512i) -> __m512i;
        _mm512_permutex2var_epi32(a: __m512i, b: __m512i, c: __m512i) -> __m512i;
        _mm512_permutex2var_epi64(a: __m512i, b: __m512i, c: __m512i) -> __m512i;
        _mm512_permutex2var_epi8(a: __m512i, b: __m512i, c: __m512i) -> __m512i;
        _mm512_permutex2var_ps(a: __m512, b: __m512i, c: __m512) -> __m512;
        _mm512_permutex_epi64[ORDER: i32](a: __m512i) -> __m512i;
        _mm512_permutexvar_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_permutexvar_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_permutexvar_epi64(a: __m512i, b: __m512i) -> __m512i;
        _mm512_permutexvar_epi8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_permutexvar_ps(a: __m512i, b: __m512) -> __m512;
        _mm512_reduce_min_epi32(a: __m512i) -> i32;
        _mm512_set1_epi16(a: i16) -> __m512i;
        _mm512_set1_epi32(a: i32) -> __m512i;
        _mm512_set1_pd(a: f64) -> __m512d;
        _mm512_set1_ps(a: f32) -> __m512;
        _mm512_setr_epi32(
            a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, h: i32,
            i: i32, j: i32, k: i32, l: i32, m: i32, n: i32, o: i32, p: i32
        ) -> __m512i;
        _mm512_setr_epi64(
            a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64
        ) -> __m512i;
        _mm512_setzero_ps() -> __m512;
        _mm512_setzero_si512() -> __m512i;
        _mm512_shuffle_epi32[ORDER: i32](a: __m512i) -> __m512i;
        _mm512_shuffle_epi8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_shuffle_f32x4[ORDER: i32](a: __m512, b: __m512) -> __m512;
        _mm512_shuffle_i32x4[ORDER: i32](a: __m512i, b: __m512i) -> __m512i;
        _mm512_shuffle_i64x2[ORDER: i32](a: __m512i, b: __m512i) -> __m512i;
        _mm512_sll_epi32(a: __m512i, b: __m128i) -> __m512i;
        _mm512_slli_epi32[BY: u32](a: __m512i) -> __m512i;
        _mm512_srai_epi32[BY: u32](a: __m512i) -> __m512i;
        _mm512_srl_epi32(a: __m512i, b: __m128i) -> __m512i;
        _mm512_srli_epi16[BY: u32](a: __m512i) -> __m512i;
        _mm512_srli_epi32[BY: u32](a: __m512i) -> __m512i;
        _mm512_srlv_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_sub_epi32(a: __m512i, b: __m512i) -> __m512i;
        _mm512_sub_ps(a: __m512, b: __m512) -> __m512;
        _mm512_subs_epu16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_ternarylogic_epi32[TABLE: i32](a: __m512i, b: __m512i, c: __m512i) -> __m512i;
        _mm512_test_epi32_mask(a: __m512i, b: __m512i) -> __mmask16;
        _mm512_unpackhi_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_unpackhi_epi8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_unpacklo_epi16(a: __m512i, b: __m512i) -> __m512i;
        _mm512_unpacklo_epi8(a: __m512i, b: __m512i) -> __m512i;
        _mm512_xor_si512(a: __m512i, b: __m512i) -> __m512i;
    }
}
