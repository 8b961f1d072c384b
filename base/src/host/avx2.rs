//! Vectors of 256 bits.
//!
//! A value exists only on hosts that have AVX2, FMA and F16C, because functions of
//! [`Host`](super::Host)s are called nowhere else. The processor therefore has every intrinsic that
//! is used here.

use super::vector::{Floats, Ints};
use crate::abi::MAX_LANES;
use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of integers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct U32x8(pub(super) __m256i);

/// A vector of floats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F32x8(pub(super) __m256);

/// Defines methods that are one intrinsic each.
macro_rules! instructions {
    ($($name:ident $([const $n:ident])? ($($arg:ident: $ty:ty),*) -> $to:ident { $value:expr })*) => {$(
        #[inline(always)]
        fn $name $(<const $n: i32>)? ($($arg: $ty),*) -> $to {
            // SAFETY: the host has the instructions, because values of these types exist only on
            // such hosts.
            unsafe { $to($value) }
        }
    )*};
}

macro_rules! operators {
    ($($of:ident: $trait:ident $name:ident = $intrinsic:ident;)*) => {$(
        impl $trait for $of {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                // SAFETY: the host has the instructions, because values of these types exist only
                // on such hosts.
                unsafe { $of($intrinsic(self.0, other.0)) }
            }
        }
    )*};
}

operators! {
    U32x8: Add add = _mm256_add_epi32;
    U32x8: Sub sub = _mm256_sub_epi32;
    U32x8: Mul mul = _mm256_mullo_epi32;
    U32x8: BitAnd bitand = _mm256_and_si256;
    U32x8: BitOr bitor = _mm256_or_si256;
    U32x8: BitXor bitxor = _mm256_xor_si256;
    F32x8: Add add = _mm256_add_ps;
    F32x8: Sub sub = _mm256_sub_ps;
    F32x8: Mul mul = _mm256_mul_ps;
    F32x8: Div div = _mm256_div_ps;
}

impl Ints for U32x8 {
    type Floats = F32x8;

    #[inline(always)]
    fn to_array(self) -> [u32; MAX_LANES] {
        // SAFETY: both types have the same size, and any bits are valid.
        unsafe { core::mem::transmute(self.0) }
    }
    #[inline(always)]
    fn unzip(self, other: U32x8) -> [U32x8; 2] {
        let (a, b) = (self.as_floats().0, other.as_floats().0);
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        unsafe { [F32x8(_mm256_shuffle_ps::<0x88>(a, b)).bits(), F32x8(_mm256_shuffle_ps::<0xdd>(a, b)).bits()] }
    }
    #[inline(always)]
    fn halves_to_f32(self) -> [U32x8; 2] {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        unsafe {
            // The first shuffle puts the lower halves of each four lanes before the upper ones; the
            // permutation does so for all lanes.
            let order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
            let apart = _mm256_shuffle_epi8(self.0, _mm256_set_m128i(order, order));
            let apart = _mm256_permute4x64_epi64::<0b11_01_10_00>(apart);
            let [lower, upper] = [_mm256_castsi256_si128(apart), _mm256_extracti128_si256::<1>(apart)];
            [F32x8(_mm256_cvtph_ps(lower)).bits(), F32x8(_mm256_cvtph_ps(upper)).bits()]
        }
    }
    #[inline(always)]
    fn movemask(self) -> u32 {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(self.0)) as u32 }
    }
    #[inline(always)]
    fn lookup_in<const N: usize>(self, table: &[u32; N]) -> U32x8 {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts; indices are limited to the table.
        unsafe {
            let at = _mm256_min_epu32(self.0, _mm256_set1_epi32(N as i32 - 1));
            U32x8(_mm256_i32gather_epi32::<4>(table.as_ptr().cast(), at))
        }
    }
    instructions! {
        splat(value: u32) -> U32x8 { _mm256_set1_epi32(value as i32) }
        from_array(lanes: [u32; MAX_LANES]) -> U32x8 { core::mem::transmute::<[u32; MAX_LANES], __m256i>(lanes) }
        shl(self: Self, by: u32) -> U32x8 { _mm256_sll_epi32(self.0, _mm_cvtsi32_si128(by as i32)) }
        shr(self: Self, by: u32) -> U32x8 { _mm256_srl_epi32(self.0, _mm_cvtsi32_si128(by as i32)) }
        sar(self: Self, by: u32) -> U32x8 { _mm256_sra_epi32(self.0, _mm_cvtsi32_si128(by as i32)) }
        min(self: Self, other: Self) -> U32x8 { _mm256_min_epi32(self.0, other.0) }
        max(self: Self, other: Self) -> U32x8 { _mm256_max_epi32(self.0, other.0) }
        min_unsigned(self: Self, other: Self) -> U32x8 { _mm256_min_epu32(self.0, other.0) }
        equal(self: Self, other: Self) -> U32x8 { _mm256_cmpeq_epi32(self.0, other.0) }
        greater(self: Self, other: Self) -> U32x8 { _mm256_cmpgt_epi32(self.0, other.0) }
        select(self: Self, yes: Self, no: Self) -> U32x8 { _mm256_blendv_epi8(no.0, yes.0, self.0) }
        min_of_quad(self: Self) -> U32x8 {{
            let min = _mm256_min_epi32(self.0, _mm256_shuffle_epi32::<0b01_00_11_10>(self.0));
            _mm256_min_epi32(min, _mm256_shuffle_epi32::<0b10_11_00_01>(min))
        }}
        broadcast_lane(self: Self, at: u32) -> U32x8 { _mm256_permutevar8x32_epi32(self.0, _mm256_set1_epi32(at as i32)) }
        shuffle_in_quad(self: Self, at: Self) -> U32x8 {
            _mm256_castps_si256(_mm256_permutevar_ps(_mm256_castsi256_ps(self.0), at.0))
        }
        shuffle_bytes(self: Self, at: Self) -> U32x8 {
            _mm256_shuffle_epi8(self.0, _mm256_or_si256(at.0, _mm256_set1_epi32(0x8080_8000_u32 as i32)))
        }
        to_floats(self: Self) -> F32x8 { _mm256_cvtepi32_ps(self.0) }
        as_floats(self: Self) -> F32x8 { _mm256_castsi256_ps(self.0) }
        lookup(self: Self, table: &[u32; 256]) -> U32x8 {
            _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), _mm256_and_si256(self.0, _mm256_set1_epi32(255)))
        }
    }
}

impl Floats for F32x8 {
    type Ints = U32x8;

    instructions! {
        splat(value: f32) -> F32x8 { _mm256_set1_ps(value) }
        min(self: Self, other: Self) -> F32x8 { _mm256_min_ps(self.0, other.0) }
        max(self: Self, other: Self) -> F32x8 { _mm256_max_ps(self.0, other.0) }
        floor(self: Self) -> F32x8 { _mm256_floor_ps(self.0) }
        ceil(self: Self) -> F32x8 { _mm256_ceil_ps(self.0) }
        round(self: Self) -> F32x8 { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) }
        mul_add(self: Self, by: Self, and: Self) -> F32x8 { _mm256_fmadd_ps(self.0, by.0, and.0) }
        mul_add_exact_product(self: Self, by: Self, and: Self) -> F32x8 { _mm256_fmadd_ps(self.0, by.0, and.0) }
        sqrt(self: Self) -> F32x8 { _mm256_sqrt_ps(self.0) }
        greater(self: Self, other: Self) -> U32x8 {
            _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0))
        }
        greater_or_equal(self: Self, other: Self) -> U32x8 {
            _mm256_castps_si256(_mm256_cmp_ps::<_CMP_GE_OQ>(self.0, other.0))
        }
        truncate_to_int(self: Self) -> U32x8 { _mm256_cvttps_epi32(self.0) }
        bits(self: Self) -> U32x8 { _mm256_castps_si256(self.0) }
        broadcast_in_quad[const N](self: Self) -> F32x8 { _mm256_permutevar_ps(self.0, _mm256_set1_epi32(N)) }
        div_255(self: Self) -> F32x8 {{
            // The steps are the quotient to one unit, its exact remainder, and the correction by
            // it, which gives the correctly rounded result (Markstein).
            let by = _mm256_set1_ps(255.0);
            let reciprocal = _mm256_set1_ps(1.0 / 255.0);
            let near = _mm256_mul_ps(self.0, reciprocal);
            _mm256_fmadd_ps(_mm256_fnmadd_ps(near, by, self.0), reciprocal, near)
        }}
    }
}
