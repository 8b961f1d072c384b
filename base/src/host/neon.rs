//! Vectors of 256 bits as two halves, for AArch64, whose processors all have NEON.
//!
//! Every value of [`Neon`](super::Neon), the token of the level, is thus valid.

use super::vector::{Floats, Ints};
use crate::abi::MAX_LANES;
use core::arch::aarch64::*;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of integers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct U32x8([uint32x4_t; 2]);

/// A vector of floats.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct F32x8([float32x4_t; 2]);

/// Defines methods that apply one expression of intrinsics to each half of their vectors.
macro_rules! halves {
    ($($name:ident($a:ident $(, $b:ident)* $(; $scalar:ident: $ty:ty)?) -> $to:ident { $value:expr })*) => {$(
        #[inline(always)]
        fn $name(self $(, $b: Self)* $(, $scalar: $ty)?) -> $to {
            // SAFETY: every AArch64 processor has NEON.
            unsafe {
                let low = { let ($a, $($b,)*) = (self.0[0], $($b.0[0],)*); $value };
                let high = { let ($a, $($b,)*) = (self.0[1], $($b.0[1],)*); $value };
                $to([low, high])
            }
        }
    )*};
}

macro_rules! operators {
    ($($of:ident: $trait:ident $name:ident = $intrinsic:ident;)*) => {$(
        impl $trait for $of {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: every AArch64 processor has NEON.
                unsafe { $of([$intrinsic(a, c), $intrinsic(b, d)]) }
            }
        }
    )*};
}

operators! {
    U32x8: Add add = vaddq_u32;
    U32x8: Sub sub = vsubq_u32;
    U32x8: Mul mul = vmulq_u32;
    U32x8: BitAnd bitand = vandq_u32;
    U32x8: BitOr bitor = vorrq_u32;
    U32x8: BitXor bitxor = veorq_u32;
    F32x8: Add add = vaddq_f32;
    F32x8: Sub sub = vsubq_f32;
    F32x8: Mul mul = vmulq_f32;
    F32x8: Div div = vdivq_f32;
}

/// Returns a vector whose bytes are those of lanes.
#[inline(always)]
fn bytes(lanes: uint32x4_t) -> uint8x16_t {
    // SAFETY: every AArch64 processor has NEON.
    unsafe { vreinterpretq_u8_u32(lanes) }
}

impl Ints for U32x8 {
    type Floats = F32x8;

    #[inline(always)]
    fn splat(value: u32) -> U32x8 {
        // SAFETY: every AArch64 processor has NEON.
        unsafe { U32x8([vdupq_n_u32(value); 2]) }
    }
    #[inline(always)]
    fn from_array(lanes: [u32; MAX_LANES]) -> U32x8 {
        // SAFETY: both types have the same size, and any bits are valid.
        U32x8(unsafe { core::mem::transmute::<[u32; MAX_LANES], [uint32x4_t; 2]>(lanes) })
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
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: every AArch64 processor has NEON.
        unsafe { [U32x8([vuzp1q_u32(a, c), vuzp1q_u32(b, d)]), U32x8([vuzp2q_u32(a, c), vuzp2q_u32(b, d)])] }
    }
    #[inline(always)]
    fn movemask(self) -> u32 {
        let [low, high] = self.0;
        // SAFETY: every AArch64 processor has NEON; the array has four numbers.
        unsafe {
            let places = vld1q_s32([0, 1, 2, 3].as_ptr());
            let mask = |lanes| vaddvq_u32(vshlq_u32(vshrq_n_u32::<31>(lanes), places));
            mask(low) | mask(high) << 4
        }
    }
    #[inline(always)]
    fn lookup(self, table: &[u32; 256]) -> U32x8 {
        U32x8::from_array(self.to_array().map(|at| table[at as usize & 255]))
    }
    #[inline(always)]
    fn lookup_in<const N: usize>(self, table: &[u32; N]) -> U32x8 {
        U32x8::from_array(self.to_array().map(|at| table[(at as usize).min(N - 1)]))
    }
    halves! {
        shl(a; by: u32) -> U32x8 { vshlq_u32(a, vdupq_n_s32(by as i32)) }
        shr(a; by: u32) -> U32x8 { vshlq_u32(a, vdupq_n_s32(-(by as i32))) }
        sar(a; by: u32) -> U32x8 {
            vreinterpretq_u32_s32(vshlq_s32(vreinterpretq_s32_u32(a), vdupq_n_s32(-(by as i32))))
        }
        min(a, other) -> U32x8 {
            vreinterpretq_u32_s32(vminq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(other)))
        }
        min_unsigned(a, other) -> U32x8 { vminq_u32(a, other) }
        max(a, other) -> U32x8 {
            vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(other)))
        }
        equal(a, other) -> U32x8 { vceqq_u32(a, other) }
        greater(a, other) -> U32x8 { vcgtq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(other)) }
        select(a, yes, no) -> U32x8 { vbslq_u32(a, yes, no) }
        min_of_quad(a) -> U32x8 { vreinterpretq_u32_s32(vdupq_n_s32(vminvq_s32(vreinterpretq_s32_u32(a)))) }
        shuffle_in_quad(a, at) -> U32x8 {{
            // Each lane's number becomes the numbers of its four bytes.
            let first = vmulq_u32(vandq_u32(at, vdupq_n_u32(3)), vdupq_n_u32(0x0404_0404));
            let all = vaddq_u32(first, vdupq_n_u32(0x0302_0100));
            vreinterpretq_u32_u8(vqtbl1q_u8(bytes(a), bytes(all)))
        }}
        shuffle_bytes(a, at) -> U32x8 {{
            // Numbers above 15 give 0.
            let lowest = vorrq_u32(at, vdupq_n_u32(0x8080_8000));
            vreinterpretq_u32_u8(vqtbl1q_u8(bytes(a), bytes(lowest)))
        }}
        to_floats(a) -> F32x8 { vcvtq_f32_s32(vreinterpretq_s32_u32(a)) }
        as_floats(a) -> F32x8 { vreinterpretq_f32_u32(a) }
    }
}

impl Floats for F32x8 {
    type Ints = U32x8;

    #[inline(always)]
    fn splat(value: f32) -> F32x8 {
        // SAFETY: every AArch64 processor has NEON.
        unsafe { F32x8([vdupq_n_f32(value); 2]) }
    }
    #[inline(always)]
    fn broadcast_in_quad<const N: i32>(self) -> F32x8 {
        let [low, high] = self.0;
        // SAFETY: every AArch64 processor has NEON.
        unsafe { F32x8([vdupq_laneq_f32::<N>(low), vdupq_laneq_f32::<N>(high)]) }
    }
    halves! {
        // The instructions for minima and maxima return a NaN if any operand is one.
        min(a, other) -> F32x8 { vbslq_f32(vcltq_f32(a, other), a, other) }
        max(a, other) -> F32x8 { vbslq_f32(vcgtq_f32(a, other), a, other) }
        floor(a) -> F32x8 { vrndmq_f32(a) }
        ceil(a) -> F32x8 { vrndpq_f32(a) }
        round(a) -> F32x8 { vrndnq_f32(a) }
        mul_add(a, by, and) -> F32x8 { vfmaq_f32(and, a, by) }
        mul_add_exact_product(a, by, and) -> F32x8 { vfmaq_f32(and, a, by) }
        sqrt(a) -> F32x8 { vsqrtq_f32(a) }
        greater(a, other) -> U32x8 { vcgtq_f32(a, other) }
        greater_or_equal(a, other) -> U32x8 { vcgeq_f32(a, other) }
        truncate_to_int(a) -> U32x8 { vreinterpretq_u32_s32(vcvtq_s32_f32(a)) }
        bits(a) -> U32x8 { vreinterpretq_u32_f32(a) }
    }
}
