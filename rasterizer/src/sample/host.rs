//! The pieces of the fast kernels that are functions of their own, each compiled for AVX2 hosts and for any host.
//!
//! They take and give lanes through memory. That is on purpose: within one function, lanes that are joined behind a branch or
//! carried around a loop become single registers per lane; loaded from memory they are vectors.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::planar::{self, Axis, Level};
use super::texel::{Ints, Slice, Texels};
use super::{access, lod};
use base::abi::{ImageArgs, ImageView, MAX_LANES, Sampler};
use base::format::lanes::{AnyHalves, Halves, Lanes};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m128i;

/// Any host.
#[derive(Clone, Copy)]
pub struct Portable(());
/// Hosts that have AVX2 and FMA; a value exists only there.
#[derive(Clone, Copy)]
pub struct Wide(());

impl Halves for Portable {
    #[inline(always)]
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES] {
        AnyHalves.floats(halves)
    }
}

impl Halves for Wide {
    #[cfg(not(target_arch = "x86_64"))]
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES] {
        AnyHalves.floats(halves)
    }

    /// The steps of `half_to_f32`. (Left to the compiler, sixteen of these are no vectors any more.)
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES] {
        use core::arch::x86_64::*;
        // SAFETY: a wide host, as there is a `Wide`; the same size, any bits.
        unsafe {
            let halves: __m256i = std::mem::transmute(*halves);
            let set = |bits: i32| _mm256_set1_epi32(bits);
            let sign = _mm256_slli_epi32::<16>(_mm256_and_si256(halves, set(0x8000)));
            let magnitude = _mm256_and_si256(halves, set(0x7fff));
            let shifted = _mm256_slli_epi32::<13>(magnitude);
            let normal = _mm256_add_epi32(shifted, set(112 << 23));
            let least = _mm256_castsi256_ps(set(0x3880_0000));
            let denormal = _mm256_sub_ps(_mm256_or_ps(_mm256_castsi256_ps(shifted), least), least);
            let special = _mm256_or_si256(shifted, set(0x7f80_0000));
            let small = _mm256_cmpgt_epi32(set(0x400), magnitude);
            let large = _mm256_cmpgt_epi32(magnitude, set(0x7bff));
            let finite = _mm256_blendv_epi8(normal, _mm256_castps_si256(denormal), small);
            std::mem::transmute(_mm256_or_si256(sign, _mm256_blendv_epi8(finite, special, large)))
        }
    }
}

/// Declares the trait and both variants.
macro_rules! pieces {
    ($($(#[$doc:meta])* fn $name:ident [$($generics:tt)*] [$($names:tt)*] ($($arg:ident: $ty:ty),*) $body:expr;)*) => {
        /// One variant of each piece.
        ///
        /// # Safety
        /// Of all functions: the variant's host, and what the piece itself asks for.
        pub trait Host: Halves {
            /// [`Wide`].
            const WIDE: bool;
            /// The host.
            unsafe fn host() -> Self;
            /// Two halves as one vector.
            #[cfg(target_arch = "x86_64")]
            unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES];
            /// The lanes that are 0.
            unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32;
            $($(#[$doc])* unsafe fn $name<$($generics)*>($($arg: $ty),*);)*
        }
        impl Host for Portable {
            const WIDE: bool = false;
            unsafe fn host() -> Self {
                Portable(())
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES] {
                // SAFETY: the same size, any bits.
                unsafe { std::mem::transmute([low, high]) }
            }
            #[inline(always)]
            unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32 {
                let mut bits = 0;
                for i in 0..MAX_LANES {
                    bits |= u32::from(lanes[i] == 0) << i;
                }
                bits
            }
            $(
                #[inline(never)]
                #[allow(dead_code, unused_unsafe, reason = "not every piece uses H, nor is unsafe")]
                unsafe fn $name<$($generics)*>($($arg: $ty),*) {
                    type H = Portable;
                    // SAFETY: the caller's promise.
                    unsafe { $body }
                }
            )*
        }
        impl Host for Wide {
            const WIDE: bool = true;
            unsafe fn host() -> Self {
                Wide(())
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES] {
                // SAFETY: the caller's promise; the same size, any bits.
                unsafe { std::mem::transmute(core::arch::x86_64::_mm256_set_m128i(high, low)) }
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32 {
                use core::arch::x86_64::*;
                // SAFETY: the caller's promise; the same size, any bits.
                unsafe {
                    let lanes: __m256i = std::mem::transmute(*lanes);
                    let zero = _mm256_cmpeq_epi32(lanes, _mm256_setzero_si256());
                    _mm256_movemask_ps(_mm256_castsi256_ps(zero)) as u32
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { Portable::zeros(lanes) }
            }
            $(
                #[inline(always)]
                #[allow(dead_code, unused_unsafe, reason = "not every piece uses H, nor is unsafe")]
                unsafe fn $name<$($generics)*>($($arg: $ty),*) {
                    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
                    #[inline(never)]
                    unsafe fn wide<$($generics)*>($($arg: $ty),*) {
                        type H = Wide;
                        // SAFETY: the caller's promise.
                        unsafe { $body }
                    }
                    // SAFETY: the caller's promise.
                    unsafe { wide::<$($names)*>($($arg),*) }
                }
            )*
        }
    };
}

pieces! {
    /// [`lod::planar`].
    fn lambda [] [] (view: &ImageView, sampler: &Sampler, args: &ImageArgs, out: &mut [f32; MAX_LANES])
        lod::planar::<H>(view, sampler, args, out);
    /// [`planar::select`].
    fn select [] [] (view: &ImageView, sampler: &Sampler, args: &ImageArgs, mip_linear: bool,
        level: &mut [[u32; MAX_LANES]; 2], weight: &mut [f32; MAX_LANES])
        planar::select::<H>(view, sampler, args, mip_linear, level, weight);
    /// [`planar::axes`].
    fn axes [const LINEAR: bool] [LINEAR] (axes: &mut [Axis; 2], at: &Level<'_>, size: [i32; 2])
        planar::axes::<H, LINEAR>(axes, at, size);
    /// [`planar::finish`].
    fn finish [const DIVIDE: bool] [DIVIDE] (view: &ImageView, levels: &[Lanes], weight: &[f32; MAX_LANES], scale: f32, result: &mut Lanes)
        planar::finish::<H, DIVIDE>(view, levels, weight, scale, result);
    /// [`planar::wrap`].
    fn wrap [] [] (axis: &mut Axis, size: i32, address_mode: u32) planar::wrap(axis, size, address_mode);
    /// [`planar::level`].
    fn level [T: Texels, const LINEAR: bool, const SCALED: bool] [T, LINEAR, SCALED] (at: &Level<'_>, out: &mut Lanes)
        planar::level::<H, T, LINEAR, SCALED>(at, out);
    /// [`planar::add_probe`].
    fn add_probe [] [] (sum: &mut Lanes, texels: &Lanes, count: &[u32; MAX_LANES], probe: u32)
        planar::add_probe::<H>(sum, texels, count, probe);
    /// [`access::load`].
    fn load [T: Texels] [T] (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], keep: u32, out: &mut Lanes)
        access::load::<H, T>(view, slice, at, size, keep, out);
    /// [`access::save`].
    fn save [T: Texels] [T] (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], texels: &Lanes)
        access::save::<H, T>(view, slice, at, size, texels);
}
