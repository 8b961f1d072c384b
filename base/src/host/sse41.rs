//! Vectors of 128 bits, two for all lanes.
//!
//! A value exists only on hosts that have SSE4.1, because functions of [`Host`](super::Host)s are
//! called nowhere else. The processor therefore has every intrinsic that is used here.

use super::vector::{Floats, Ints};
use crate::abi::MAX_LANES;
use crate::fused::FusedMulAdd;
use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of integers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct U32x8(pub(super) [__m128i; 2]);

/// A vector of floats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F32x8(pub(super) [__m128; 2]);

/// Defines methods that are the same for both halves.
macro_rules! instructions {
    ($($name:ident $([const $n:ident])? ($self:ident $(, $arg:ident)* $(; $by:ident: $ty:ty)?) -> $to:ident { $value:expr })*) => {$(
        #[inline(always)]
        fn $name $(<const $n: i32>)? (self $(, $arg: Self)* $(, $by: $ty)?) -> $to {
            let [a, b] = self.0;
            $(let $arg = $arg.0;)*
            // SAFETY: the host has the instructions, because values of these types exist only on
            // such hosts.
            unsafe {
                let low = { let $self = a; $(let $arg = $arg[0];)* $value };
                let high = { let $self = b; $(let $arg = $arg[1];)* $value };
                $to([low, high])
            }
        }
    )*};
}

macro_rules! operators {
    ($($of:ident: $trait:ident $name:ident = $intrinsic:ident;)*) => {$(
        impl $trait for $of {
            type Output = Self;
            instructions! { $name(it, other) -> $of { $intrinsic(it, other) } }
        }
    )*};
}

operators! {
    U32x8: Add add = _mm_add_epi32;
    U32x8: Sub sub = _mm_sub_epi32;
    U32x8: Mul mul = _mm_mullo_epi32;
    U32x8: BitAnd bitand = _mm_and_si128;
    U32x8: BitOr bitor = _mm_or_si128;
    U32x8: BitXor bitxor = _mm_xor_si128;
    F32x8: Add add = _mm_add_ps;
    F32x8: Sub sub = _mm_sub_ps;
    F32x8: Mul mul = _mm_mul_ps;
    F32x8: Div div = _mm_div_ps;
}

impl Ints for U32x8 {
    type Floats = F32x8;

    #[inline(always)]
    fn splat(value: u32) -> U32x8 {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        U32x8([unsafe { _mm_set1_epi32(value as i32) }; 2])
    }
    #[inline(always)]
    fn from_array(lanes: [u32; MAX_LANES]) -> U32x8 {
        // SAFETY: both types have the same size, and any bits are valid.
        U32x8(unsafe { core::mem::transmute::<[u32; MAX_LANES], [__m128i; 2]>(lanes) })
    }
    #[inline(always)]
    fn to_array(self) -> [u32; MAX_LANES] {
        // SAFETY: both types have the same size, and any bits are valid.
        unsafe { core::mem::transmute(self.0) }
    }
    #[inline(always)]
    fn broadcast_lane(self, at: u32) -> U32x8 {
        U32x8::splat(self.to_array()[at as usize % MAX_LANES])
    }
    #[inline(always)]
    fn unzip(self, other: U32x8) -> [U32x8; 2] {
        let (a, b) = (self.as_floats(), other.as_floats());
        [a.even(b).bits(), a.odd(b).bits()]
    }
    #[inline(always)]
    fn movemask(self) -> u32 {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        let [low, high] = self.0.map(|four| unsafe { _mm_movemask_ps(_mm_castsi128_ps(four)) as u32 });
        low | high << 4
    }
    #[inline(always)]
    fn lookup(self, table: &[u32; 256]) -> U32x8 {
        let [a, b, c, d, e, f, g, h] = self.to_array();
        let at = |lane: u32| table[lane as usize & 255];
        U32x8::from_array([at(a), at(b), at(c), at(d), at(e), at(f), at(g), at(h)])
    }
    #[inline(always)]
    fn lookup_in<const N: usize>(self, table: &[u32; N]) -> U32x8 {
        let [a, b, c, d, e, f, g, h] = self.to_array();
        let at = |lane: u32| table[(lane as usize).min(N - 1)];
        U32x8::from_array([at(a), at(b), at(c), at(d), at(e), at(f), at(g), at(h)])
    }
    instructions! {
        shl(it; by: u32) -> U32x8 { _mm_sll_epi32(it, _mm_cvtsi32_si128(by as i32)) }
        shr(it; by: u32) -> U32x8 { _mm_srl_epi32(it, _mm_cvtsi32_si128(by as i32)) }
        sar(it; by: u32) -> U32x8 { _mm_sra_epi32(it, _mm_cvtsi32_si128(by as i32)) }
        min(it, other) -> U32x8 { _mm_min_epi32(it, other) }
        max(it, other) -> U32x8 { _mm_max_epi32(it, other) }
        min_unsigned(it, other) -> U32x8 { _mm_min_epu32(it, other) }
        equal(it, other) -> U32x8 { _mm_cmpeq_epi32(it, other) }
        greater(it, other) -> U32x8 { _mm_cmpgt_epi32(it, other) }
        select(it, yes, no) -> U32x8 { _mm_blendv_epi8(no, yes, it) }
        min_of_quad(it) -> U32x8 {{
            let min = _mm_min_epi32(it, _mm_shuffle_epi32::<0b01_00_11_10>(it));
            _mm_min_epi32(min, _mm_shuffle_epi32::<0b10_11_00_01>(min))
        }}
        shuffle_in_quad(it, at) -> U32x8 {{
            // Each byte gets its lane's number times four, plus the number of the byte in its lane.
            let lane = _mm_slli_epi32::<2>(_mm_and_si128(at, _mm_set1_epi32(3)));
            let lane = _mm_shuffle_epi8(lane, _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
            _mm_shuffle_epi8(it, _mm_or_si128(lane, _mm_set1_epi32(0x0302_0100)))
        }}
        shuffle_bytes(it, at) -> U32x8 {
            _mm_shuffle_epi8(it, _mm_or_si128(at, _mm_set1_epi32(0x8080_8000_u32 as i32)))
        }
        to_floats(it) -> F32x8 { _mm_cvtepi32_ps(it) }
        as_floats(it) -> F32x8 { _mm_castsi128_ps(it) }
    }
}

impl F32x8 {
    instructions! {
        even(it, other) -> F32x8 { _mm_shuffle_ps::<0x88>(it, other) }
        odd(it, other) -> F32x8 { _mm_shuffle_ps::<0xdd>(it, other) }
    }
}

impl Floats for F32x8 {
    type Ints = U32x8;

    #[inline(always)]
    fn splat(value: f32) -> F32x8 {
        // SAFETY: the host has the instructions, because values of these types exist only on such
        // hosts.
        F32x8([unsafe { _mm_set1_ps(value) }; 2])
    }
    #[inline(always)]
    fn mul_add(self, by: F32x8, and: F32x8) -> F32x8 {
        U32x8::from_array(mul_add(self.bits().to_array(), by.bits().to_array(), and.bits().to_array())).as_floats()
    }
    instructions! {
        min(it, other) -> F32x8 { _mm_min_ps(it, other) }
        max(it, other) -> F32x8 { _mm_max_ps(it, other) }
        floor(it) -> F32x8 { _mm_floor_ps(it) }
        ceil(it) -> F32x8 { _mm_ceil_ps(it) }
        round(it) -> F32x8 { _mm_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(it) }
        sqrt(it) -> F32x8 { _mm_sqrt_ps(it) }
        greater(it, other) -> U32x8 { _mm_castps_si128(_mm_cmpgt_ps(it, other)) }
        greater_or_equal(it, other) -> U32x8 { _mm_castps_si128(_mm_cmpge_ps(it, other)) }
        truncate_to_int(it) -> U32x8 { _mm_cvttps_epi32(it) }
        bits(it) -> U32x8 { _mm_castps_si128(it) }
        broadcast_in_quad[const N](it) -> F32x8 {
            match N & 3 {
                0 => _mm_shuffle_ps::<0x00>(it, it),
                1 => _mm_shuffle_ps::<0x55>(it, it),
                2 => _mm_shuffle_ps::<0xaa>(it, it),
                _ => _mm_shuffle_ps::<0xff>(it, it),
            }
        }
    }
}

/// Returns `a * b + c` of all lanes with one rounding, which is a call for each lane without FMA.
#[inline(never)]
fn mul_add(a: [u32; MAX_LANES], b: [u32; MAX_LANES], c: [u32; MAX_LANES]) -> [u32; MAX_LANES] {
    let mut out = a;
    for ((out, b), c) in out.iter_mut().zip(b).zip(c) {
        *out = f32::from_bits(*out).fused_mul_add(f32::from_bits(b), f32::from_bits(c)).to_bits();
    }
    out
}
