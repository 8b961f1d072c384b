//! Levels of the host's processor, and functions that are compiled once for each of them.
//!
//! A hot loop over lanes is written once, generic over [`Host`] where it needs an instruction that the compiler would not find, and becomes a function
//! of its own by [`compiled!`](crate::compiled): one variant per level, of which a [`Level`] picks one. [`Level::here`] is the only place that
//! asks the processor. Levels differ in speed only: Rust never contracts a multiply and an add, vectors compute what scalars do,
//! and what a level does in its own way has the same bits.
//!
//! A level more is a row of [`Level`] (with what it asks of the processor), a type that is a [`Host`], and a variant in `compiled!`.

use crate::abi::MAX_LANES;
use crate::format::float::half_to_f32;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// What a processor has; each level has what those before it have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: &[Level] = &[
        Level::Portable,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2,
    ];
    /// How many there are: a table by level is indexed by `level as usize`.
    pub const COUNT: usize = Level::ALL.len();

    /// The host's: the greatest that it has.
    #[inline(always)]
    pub fn here() -> Level {
        // The answers are cached by the standard library.
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Level::Avx2;
        }
        Level::Portable
    }

    /// The levels that the host has.
    pub fn all_here() -> impl Iterator<Item = Level> {
        Level::ALL.iter().copied().filter(|&level| level <= Level::here())
    }
}

/// A level as a type, with what is done by its own instructions. A value exists only on hosts that have the level.
///
/// # Safety
/// Of all functions that are `unsafe`: the host has the level.
pub trait Host: Copy {
    /// Which it is.
    const LEVEL: Level;
    /// The host.
    ///
    /// # Safety
    /// It has the level.
    unsafe fn here() -> Self;
    /// [`half_to_f32`] of all lanes, as bits.
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES];
    /// Two halves of four lanes as one vector.
    ///
    /// # Safety
    /// The host has the level.
    #[cfg(target_arch = "x86_64")]
    unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES];
    /// The lanes that are 0.
    ///
    /// # Safety
    /// The host has the level.
    unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32;
}

/// [`Level::Portable`].
#[derive(Clone, Copy)]
pub struct Portable;

/// [`Level::Avx2`].
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Host for Portable {
    const LEVEL: Level = Level::Portable;

    #[inline(always)]
    unsafe fn here() -> Self {
        Portable
    }

    #[inline(always)]
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES] {
        let mut floats = [0; MAX_LANES];
        for (float, &half) in floats.iter_mut().zip(halves) {
            *float = half_to_f32(half).to_bits();
        }
        floats
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES] {
        // SAFETY: the same size, any bits.
        unsafe { core::mem::transmute([low, high]) }
    }

    #[inline(always)]
    unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32 {
        let mut bits = 0;
        for (i, &lane) in lanes.iter().enumerate() {
            bits |= u32::from(lane == 0) << i;
        }
        bits
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for Avx2 {
    const LEVEL: Level = Level::Avx2;

    #[inline(always)]
    unsafe fn here() -> Self {
        Avx2(())
    }

    /// The steps of [`half_to_f32`]. (Left to the compiler, sixteen of these are no vectors any more.)
    #[inline(always)]
    fn floats(self, halves: &[u32; MAX_LANES]) -> [u32; MAX_LANES] {
        // SAFETY: the host has the level, as there is an `Avx2`; the same size, any bits.
        unsafe {
            let halves: __m256i = core::mem::transmute(*halves);
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
            core::mem::transmute(_mm256_or_si256(sign, _mm256_blendv_epi8(finite, special, large)))
        }
    }

    #[inline(always)]
    unsafe fn join(low: __m128i, high: __m128i) -> [u32; MAX_LANES] {
        // SAFETY: the caller's promise; the same size, any bits.
        unsafe { core::mem::transmute(_mm256_set_m128i(high, low)) }
    }

    #[inline(always)]
    unsafe fn zeros(lanes: &[u32; MAX_LANES]) -> u32 {
        // SAFETY: the caller's promise; the same size, any bits.
        unsafe {
            let lanes: __m256i = core::mem::transmute(*lanes);
            let zero = _mm256_cmpeq_epi32(lanes, _mm256_setzero_si256());
            _mm256_movemask_ps(_mm256_castsi256_ps(zero)) as u32
        }
    }
}

/// A function that is not inlined where it is called through this, and so sees its arguments in memory. (The compiler forgets
/// `#[inline(never)]` of functions with target features: rustc 1.95.)
#[inline(always)]
pub fn apart<F: Copy>(function: F) -> F {
    // SAFETY: a reference.
    unsafe { core::ptr::read_volatile(&function) }
}

/// Defines `name::<…>(level)`: a function of its own, in the variant of a level. Its body sees the level's type as `H`.
///
/// Generics are written twice, as parameters and as arguments. The function that is given is unsafe to call: the host must have the level, besides
/// what the body asks for. With a level that is known ([`Host::LEVEL`]) the call is a direct one; where it must not be inlined it is called [`apart`].
#[macro_export]
macro_rules! compiled {
    ($(
        $(#[$doc:meta])*
        $vis:vis unsafe $(extern $abi:literal)? fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($($arg:ident: $ty:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        $vis const fn $name<$($($generics)*)?>(level: $crate::host::Level) -> unsafe $(extern $abi)? fn($($ty),*) {
            $crate::variant!(portable, Portable, [], [$(extern $abi)?] [$($($generics)*)?] ($($arg: $ty),*) $body);
            #[cfg(target_arch = "x86_64")]
            $crate::variant!(
                avx2, Avx2, [#[target_feature(enable = "avx2,fma")]],
                [$(extern $abi)?] [$($($generics)*)?] ($($arg: $ty),*) $body
            );
            match level {
                $crate::host::Level::Portable => portable::<$($($names)*)?>,
                #[cfg(target_arch = "x86_64")]
                $crate::host::Level::Avx2 => avx2::<$($($names)*)?>,
            }
        }
    )*};
}

/// One variant of [`compiled!`].
#[doc(hidden)]
#[macro_export]
macro_rules! variant {
    (
        $name:ident, $host:ident, [$(#[$features:meta])*],
        [$($abi:tt)*] [$($generics:tt)*] ($($arg:ident: $ty:ty),*) $body:block
    ) => {
        $(#[$features])*
        #[inline(never)]
        unsafe $($abi)* fn $name<$($generics)*>($($arg: $ty),*) {
            #[allow(dead_code, reason = "not every function asks for its host")]
            type H = $crate::host::$host;
            // SAFETY: the caller's promise: a host of the level, and what the body asks for.
            #[allow(unused_unsafe, reason = "not every body asks for anything")]
            unsafe {
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    compiled! {
        unsafe fn convert(halves: &[u32; MAX_LANES], floats: &mut [u32; MAX_LANES], zeros: &mut u32) {
            *floats = H::here().floats(halves);
            *zeros = H::zeros(floats);
        }
    }

    #[test]
    fn all_levels_give_the_same_bits() {
        for first in (0..1 << 16).step_by(MAX_LANES) {
            let halves = core::array::from_fn(|i| first + i as u32);
            let want = halves.map(|half| half_to_f32(half).to_bits());
            for level in Level::all_here() {
                let (mut floats, mut zeros) = ([0; MAX_LANES], 0);
                // SAFETY: the host has the level.
                unsafe { convert(level)(&halves, &mut floats, &mut zeros) };
                assert_eq!(floats, want, "{level:?} {first:x}");
                assert_eq!(zeros, u32::from(first == 0), "{level:?} {first:x}");
            }
        }
    }
}
