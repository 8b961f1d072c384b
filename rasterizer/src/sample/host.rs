//! The pieces of the fast kernels that are functions of their own, each compiled for AVX2 hosts and for any host.
//!
//! They take and give lanes through memory. That is on purpose: within one function, lanes that are joined behind a branch or
//! carried around a loop become single registers per lane; loaded from memory they are vectors.

use super::planar::{self, Axis, Level};
use super::texel::{Ints, Slice, Texels};
use super::{access, lod};
use base::abi::{ImageArgs, ImageView, MAX_LANES, Sampler};
use base::format::lanes::Lanes;

/// Any host.
pub struct Portable;
/// Hosts that have AVX2 and FMA.
pub struct Wide;

/// Declares the trait and both variants.
macro_rules! pieces {
    ($($(#[$doc:meta])* fn $name:ident [$($generics:tt)*] [$($names:tt)*] ($($arg:ident: $ty:ty),*) $body:expr;)*) => {
        /// One variant of each piece.
        ///
        /// # Safety
        /// Of all functions: the variant's host, and what the piece itself asks for.
        pub trait Host {
            $($(#[$doc])* unsafe fn $name<$($generics)*>($($arg: $ty),*);)*
        }
        impl Host for Portable {
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
        lod::planar(view, sampler, args, out);
    /// [`planar::wrap`].
    fn wrap [] [] (axis: &mut Axis, size: i32, address_mode: u32) planar::wrap(axis, size, address_mode);
    /// [`planar::level`].
    fn level [T: Texels, const LINEAR: bool, const SCALED: bool] [T, LINEAR, SCALED] (at: &Level<'_>, out: &mut Lanes)
        planar::level::<H, T, LINEAR, SCALED>(at, out);
    /// [`planar::add_probe`].
    fn add_probe [] [] (sum: &mut Lanes, texels: &Lanes, count: &[u32; MAX_LANES], probe: u32)
        planar::add_probe(sum, texels, count, probe);
    /// [`access::load`].
    fn load [T: Texels] [T] (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], keep: u32, out: &mut Lanes)
        access::load::<T>(view, slice, at, size, keep, out);
    /// [`access::save`].
    fn save [T: Texels] [T] (view: &ImageView, slice: &Slice, at: [&Ints; 2], size: [u32; 2], texels: &Lanes)
        access::save::<T>(view, slice, at, size, texels);
}
