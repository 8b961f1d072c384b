//! Levels of the host's processor, and functions that are compiled once for each of them.
//!
//! A hot loop over lanes is written once, generic over [`Host`] if it needs an instruction that the
//! compiler would not find. [`multiversion!`](crate::multiversion) makes one variant of it per
//! level, of which a [`SimdLevel`] selects one. Only [`SimdLevel::detect`] queries the processor.
//! Levels differ only in speed: Rust never contracts a multiply and an add, vectors compute the
//! same as scalars, and level-specific code gives the same bits.
//!
//! A type of a level is a token: a value of it exists only where the host has the level, so that a
//! function that takes a token can use the level's instructions without a promise of its callers
//! ([`Avx512`] has them as methods). The variants of `multiversion!` have the constant `HOST`, the
//! token of their level.
//!
//! To add a level, add a row of [`SimdLevel`] (with the features that it requires), a type that is
//! a [`Host`], and a variant in `multiversion!`. From AVX-512 on, only functions that request it
//! (`for Avx512`) have variants: those that compute differently there. All others use the AVX2
//! variants.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse41;
mod vector;

#[cfg(target_arch = "x86_64")]
use crate::abi::MAX_LANES;
#[cfg(target_arch = "x86_64")]
use crate::cpu::CpuFeatures;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
pub use plain::Plain;
pub use vector::{Floats, Ints};

/// The features of a processor; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SimdLevel {
    /// The features of every processor for which shader code can be made: SSE4.1, on x86-64.
    Portable,
    /// AVX2, FMA and F16C, with the bit-count and bit-field instructions (BMI1, BMI2, LZCNT,
    /// POPCNT): x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 (F, BW, DQ, VL: x86-64-v4) with VBMI, which selects bytes of whole vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SimdLevel {
    /// All levels in ascending order.
    pub const ALL: &[SimdLevel] = &[
        SimdLevel::Portable,
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2,
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512,
    ];
    /// Number of levels: a table by level is indexed by `level as usize`.
    pub const COUNT: usize = SimdLevel::ALL.len();

    /// Returns the highest level that the host has.
    #[inline(always)]
    pub fn detect() -> SimdLevel {
        #[cfg(target_arch = "x86_64")]
        {
            use crate::cpu::CpuFeature::*;
            const AVX2: CpuFeatures = CpuFeatures::from_features(&[Avx2, Fma, F16c, Bmi1, Bmi2, Lzcnt, Popcnt]);
            const AVX512: CpuFeatures =
                CpuFeatures::from_features(&[Avx512f, Avx512bw, Avx512dq, Avx512vl, Avx512vbmi]);
            let features = CpuFeatures::detect();
            if features.contains(AVX2) {
                return if features.contains(AVX512) { SimdLevel::Avx512 } else { SimdLevel::Avx2 };
            }
        }
        SimdLevel::Portable
    }

    /// Returns [`Host::HAS_512`] of the level's type.
    pub fn has_512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if self == SimdLevel::Avx512 {
            return true;
        }
        false
    }

    /// Returns the levels that the host has.
    pub fn all_supported() -> impl Iterator<Item = SimdLevel> {
        SimdLevel::ALL.iter().copied().filter(|&level| level <= SimdLevel::detect())
    }
}

/// Prefetches the memory at `at`, which need not be readable.
#[inline(always)]
pub fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory, and SSE is part of x86-64.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A level as a type, with its vectors. A value is a token: it exists only where the host has the
/// level.
pub trait Host: Copy {
    /// The level.
    const LEVEL: SimdLevel;
    /// The vector type of integers.
    type Ints: Ints<Floats = Self::Floats>;
    /// The vector type of floats.
    type Floats: Floats<Ints = Self::Ints>;
    /// True if loading the surroundings of all lanes and selecting from them is faster than a load
    /// for each lane.
    const PREFERS_WINDOWS: bool;
    /// True if there are vectors of 512 bits (which [`SimdLevel::Avx512`] has).
    const HAS_512: bool = false;
    /// True for the baseline of several levels. It has no separate code for rare cases, to keep the
    /// library small.
    const IS_BASELINE: bool = cfg!(target_arch = "x86_64") && matches!(Self::LEVEL, SimdLevel::Portable);
    /// Returns the level's token.
    ///
    /// # Safety
    /// The host has the level.
    unsafe fn assume() -> Self;

    /// Returns the token of [`SimdLevel::Avx2`] if this level includes it, which the compiler
    /// knows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn avx2(self) -> Option<Avx2> {
        None
    }

    /// Returns the token of [`SimdLevel::Avx512`], which includes all other levels, if this is that
    /// level, which the compiler knows.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn avx512(self) -> Option<Avx512> {
        None
    }

    /// Joins two halves of four lanes to one vector.
    #[cfg(target_arch = "x86_64")]
    fn join(self, low: __m128i, high: __m128i) -> Self::Ints;

    /// Joins two arrays of 16 bytes to one vector, little-endian.
    #[inline(always)]
    fn halves<T: Plain>(self, low: &T, high: &T) -> Self::Ints {
        const { assert!(size_of::<T>() == 16) };
        #[cfg(target_arch = "x86_64")]
        return self.join(Sse2.load_128(low), Sse2.load_128(high));
        #[cfg(not(target_arch = "x86_64"))]
        {
            let ([a, b, c, d], [e, f, g, h]) = (plain::words(low), plain::words(high));
            Self::Ints::from_array([a, b, c, d, e, f, g, h].map(u32::from_le))
        }
    }

    /// Joins four arrays of 8 bytes to one vector, little-endian.
    #[inline(always)]
    fn quarters<T: Plain>(self, of: &[T; 4]) -> Self::Ints {
        const { assert!(size_of::<T>() == 8) };
        #[cfg(target_arch = "x86_64")]
        {
            let [a, b, c, d] = [Sse2.load_64(&of[0]), Sse2.load_64(&of[1]), Sse2.load_64(&of[2]), Sse2.load_64(&of[3])];
            self.join(Sse2._mm_unpacklo_epi64(a, b), Sse2._mm_unpacklo_epi64(c, d))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let [[a, b], [c, d]] = [plain::words(&of[0]), plain::words(&of[1])];
            let [[e, f], [g, h]] = [plain::words(&of[2]), plain::words(&of[3])];
            Self::Ints::from_array([a, b, c, d, e, f, g, h].map(u32::from_le))
        }
    }

    /// Returns the halves of a vector.
    #[cfg(target_arch = "x86_64")]
    fn split(lanes: Self::Ints) -> [__m128i; 2];
}

/// The type of [`SimdLevel::Portable`] with the features of every processor of any architecture.
#[derive(Clone, Copy)]
pub struct Portable(());

impl Portable {
    /// Returns the token, because every host has the level.
    #[inline(always)]
    #[must_use]
    pub const fn assume() -> Portable {
        Portable(())
    }
}

/// The token of SSE2, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Sse2;

/// The type of [`SimdLevel::Portable`] with its features on x86-64.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Sse41(());

#[cfg(target_arch = "x86_64")]
impl Sse41 {
    /// Returns the token.
    ///
    /// # Safety
    /// The host has the level.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn assume() -> Sse41 {
        Sse41(())
    }
}

/// The type of [`SimdLevel::Portable`] with which functions of several levels are made.
#[cfg(target_arch = "x86_64")]
pub type Baseline = Sse41;
/// The type of [`SimdLevel::Portable`] with which functions of several levels are made.
#[cfg(target_arch = "aarch64")]
pub type Baseline = Neon;
/// The type of [`SimdLevel::Portable`] with which functions of several levels are made.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub type Baseline = Portable;

/// The type of [`SimdLevel::Portable`] on AArch64, whose processors all have NEON.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy)]
pub struct Neon;

#[cfg(target_arch = "aarch64")]
impl Neon {
    /// Returns the token.
    #[inline(always)]
    #[must_use]
    pub const fn assume() -> Neon {
        Neon
    }
}

#[cfg(target_arch = "aarch64")]
impl Host for Neon {
    const LEVEL: SimdLevel = SimdLevel::Portable;
    const PREFERS_WINDOWS: bool = false;
    type Ints = neon::U32x8;
    type Floats = neon::F32x8;

    #[inline(always)]
    unsafe fn assume() -> Neon {
        Neon
    }
}

/// The type of [`SimdLevel::Avx2`].
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// Returns the token.
    ///
    /// # Safety
    /// The host has the level.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn assume() -> Avx2 {
        Avx2(())
    }
}

impl Host for Portable {
    const LEVEL: SimdLevel = SimdLevel::Portable;
    const PREFERS_WINDOWS: bool = false;
    type Ints = portable::U32x8;
    type Floats = portable::F32x8;

    #[inline(always)]
    unsafe fn assume() -> Portable {
        Portable(())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn join(self, low: __m128i, high: __m128i) -> Self::Ints {
        // SAFETY: both types have the same size, and any bits are valid.
        Ints::from_array(unsafe { core::mem::transmute::<[__m128i; 2], [u32; MAX_LANES]>([low, high]) })
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn split(lanes: Self::Ints) -> [__m128i; 2] {
        // SAFETY: both types have the same size, and any bits are valid.
        unsafe { core::mem::transmute::<[u32; MAX_LANES], [__m128i; 2]>(lanes.to_array()) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for Sse41 {
    const LEVEL: SimdLevel = SimdLevel::Portable;
    const PREFERS_WINDOWS: bool = false;
    type Ints = sse41::U32x8;
    type Floats = sse41::F32x8;

    #[inline(always)]
    unsafe fn assume() -> Sse41 {
        Sse41(())
    }

    #[inline(always)]
    fn join(self, low: __m128i, high: __m128i) -> Self::Ints {
        sse41::U32x8([low, high])
    }

    #[inline(always)]
    fn split(lanes: Self::Ints) -> [__m128i; 2] {
        lanes.0
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for Avx2 {
    const LEVEL: SimdLevel = SimdLevel::Avx2;
    const PREFERS_WINDOWS: bool = true;
    type Ints = avx2::U32x8;
    type Floats = avx2::F32x8;

    #[inline(always)]
    unsafe fn assume() -> Avx2 {
        Avx2(())
    }

    #[inline(always)]
    fn avx2(self) -> Option<Avx2> {
        Some(self)
    }

    #[inline(always)]
    fn join(self, low: __m128i, high: __m128i) -> Self::Ints {
        avx2::U32x8(self._mm256_set_m128i(high, low))
    }

    #[inline(always)]
    fn split(lanes: Self::Ints) -> [__m128i; 2] {
        // SAFETY: the host has AVX2, because values of this type exist only on such hosts.
        unsafe { [_mm256_castsi256_si128(lanes.0), _mm256_extracti128_si256::<1>(lanes.0)] }
    }
}

/// The type of [`SimdLevel::Avx512`]. Vectors of eight lanes are those of [`Avx2`]; wider ones are
/// used directly where they are needed.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Returns the token.
    ///
    /// # Safety
    /// The host has the level.
    #[inline(always)]
    #[must_use]
    pub const unsafe fn assume() -> Avx512 {
        Avx512(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Host for Avx512 {
    const LEVEL: SimdLevel = SimdLevel::Avx512;
    const PREFERS_WINDOWS: bool = true;
    const HAS_512: bool = true;
    type Ints = avx2::U32x8;
    type Floats = avx2::F32x8;

    #[inline(always)]
    unsafe fn assume() -> Avx512 {
        Avx512(())
    }

    #[inline(always)]
    fn avx2(self) -> Option<Avx2> {
        Some(*self)
    }

    #[inline(always)]
    fn avx512(self) -> Option<Avx512> {
        Some(self)
    }

    #[inline(always)]
    fn join(self, low: __m128i, high: __m128i) -> Self::Ints {
        Avx2(()).join(low, high)
    }

    #[inline(always)]
    fn split(lanes: Self::Ints) -> [__m128i; 2] {
        Avx2::split(lanes)
    }
}

/// Defines functions for [`Avx512`](crate::host::Avx512) only, whose first argument is the token.
/// The function is compiled once, and not as a part of its callers; it has the name of a variant of
/// [`multiversion!`], so that the linker places it among the kernels. Generics are written twice,
/// as parameters and as arguments.
#[cfg(target_arch = "x86_64")]
#[macro_export]
macro_rules! avx512_fn {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($token:ident: Avx512 $(, $arg:ident: $ty:ty)* $(,)?) $(-> $result:ty)? $body:block
    ) => {
        $(#[$doc])*
        #[inline(always)]
        $vis fn $name $(<$($generics)*>)? (_: $crate::host::Avx512 $(, $arg: $ty)*) $(-> $result)? {
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
            #[inline(never)]
            fn avx512 $(<$($generics)*>)? ($($arg: $ty),*) $(-> $result)? {
                // SAFETY: the only caller has the token.
                let $token = unsafe { $crate::host::Avx512::assume() };
                $body
            }
            // SAFETY: the host has the level, because the token exists.
            unsafe { avx512 $(::<$($names)*>)? ($($arg),*) }
        }
    };
    (
        $(#[$doc:meta])*
        $vis:vis unsafe fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($token:ident: Avx512 $(, $arg:ident: $ty:ty)* $(,)?) $(-> $result:ty)? $body:block
    ) => {
        $(#[$doc])*
        #[inline(always)]
        $vis unsafe fn $name $(<$($generics)*>)? (_: $crate::host::Avx512 $(, $arg: $ty)*) $(-> $result)? {
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
            #[inline(never)]
            unsafe fn avx512 $(<$($generics)*>)? ($($arg: $ty),*) $(-> $result)? {
                // SAFETY: the only caller has the token.
                let $token = unsafe { $crate::host::Avx512::assume() };
                $body
            }
            // SAFETY: the host has the level, because the token exists, and the caller meets the
            // requirements of the function.
            unsafe { avx512 $(::<$($names)*>)? ($($arg),*) }
        }
    };
}

/// Defines a function `name::<…>(level)` that returns the variant of a function for a level. The
/// function's body sees the level's type as `H`.
///
/// Generics are written twice, as parameters and as arguments. The returned function is unsafe to
/// call: the host must have the level, besides the requirements of the body. If the level is known
/// ([`Host::LEVEL`]), the call is direct, and the compiler may inline it (rustc 1.95 ignores
/// `#[inline(never)]` of functions with target features).
///
/// `for Avx512` before `unsafe` requests a variant of that level; without it, hosts of that level
/// use the AVX2 variant.
#[macro_export]
macro_rules! multiversion {
    ($(
        $(#[$doc:meta])*
        $vis:vis $(for $avx512:ident)? unsafe $(extern $abi:tt)? fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($($arg:ident: $ty:ty),* $(,)?) $body:block
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        $vis const fn $name<$($($generics)*)?>(level: $crate::host::SimdLevel) -> $crate::code_type!(unsafe $(extern $abi)? fn($($ty),*)) {
            $crate::multiversion_variant!(
                portable, Baseline, [#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse3,ssse3,sse4.1"))]],
                [$(extern $abi)?] [$($($generics)*)?] ($($arg: $ty),*) $body
            );
            #[cfg(target_arch = "x86_64")]
            $crate::multiversion_variant!(
                avx2, Avx2, [#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]],
                [$(extern $abi)?] [$($($generics)*)?] ($($arg: $ty),*) $body
            );
            #[cfg(target_arch = "x86_64")]
            $crate::avx512_variant!(
                [$($avx512)?] avx512, [#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]],
                [$(extern $abi)?] [$($($generics)*)?] ($($arg: $ty),*) $body
            );
            match level {
                $crate::host::SimdLevel::Portable => portable::<$($($names)*)?>,
                #[cfg(target_arch = "x86_64")]
                $crate::host::SimdLevel::Avx2 => avx2::<$($($names)*)?>,
                #[cfg(target_arch = "x86_64")]
                $crate::host::SimdLevel::Avx512 => $crate::select_variant!([$($avx512)?] avx512, avx2, [$($($names)*)?]),
            }
        }
    )*};
}

/// Defines functions as [`multiversion!`] does, which are safe because their first argument is the
/// token of the level for which they are called.
///
/// The body is a part of every variant, and sees the token of the variant's level by the name of
/// the first argument, and its type as `H`. Generics are written twice, as parameters and as
/// arguments.
#[macro_export]
macro_rules! multiversion_fn {
    ($(
        $(#[$doc:meta])*
        $vis:vis $(for $avx512:ident)? fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($token:ident: H $(, $arg:ident: $ty:ty)* $(,)?) $body:block
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        $vis fn $name<Level: $crate::host::Host $(, $($generics)*)?>(_: Level $(, $arg: $ty)*) {
            $crate::multiversion! {
                $(for $avx512)? unsafe fn of_level $([$($generics)*] [$($names)*])? ($($arg: $ty),*) {
                    #[inline(always)]
                    fn body<H: $crate::host::Host $(, $($generics)*)?>($token: H $(, $arg: $ty)*) $body
                    body::<H $(, $($names)*)?>(HOST $(, $arg)*)
                }
            }
            // SAFETY: the host has the level, because the token exists, and the body is safe.
            unsafe { of_level $(::<$($names)*>)? (Level::LEVEL)($($arg),*) }
        }
    )*};
}

/// Defines one variant of [`multiversion!`].
#[doc(hidden)]
#[macro_export]
macro_rules! multiversion_variant {
    (
        $name:ident, $host:ident, [$(#[$features:meta])*],
        [$($abi:tt)*] [$($generics:tt)*] ($($arg:ident: $ty:ty),*) $body:block
    ) => {
        $(#[$features])*
        #[inline(never)]
        #[$crate::code_fn]
        unsafe $($abi)* fn $name<$($generics)*>($($arg: $ty),*) {
            #[allow(dead_code, reason = "not every function asks for its host")]
            type H = $crate::host::$host;
            #[allow(dead_code, reason = "not every function asks for its host")]
            #[allow(unused_unsafe, reason = "every processor of some architectures has the level")]
            // SAFETY: the host has the level, as [`multiversion!`] states.
            const HOST: H = unsafe { <H>::assume() };
            // SAFETY: the host has the level, and the caller meets the requirements of the
            // body, as [`multiversion!`] states.
            #[allow(unused_unsafe, reason = "not every body asks for anything")]
            unsafe {
                $body
            }
        }
    };
}

/// Defines a [`multiversion_variant!`](crate::multiversion_variant) if the optional level is named.
#[doc(hidden)]
#[macro_export]
macro_rules! avx512_variant {
    ([] $($rest:tt)*) => {};
    ([$host:ident] $name:ident, $($rest:tt)*) => { $crate::multiversion_variant!($name, $host, $($rest)*); };
}

/// Selects the first of two functions if a level is named, or the second.
#[doc(hidden)]
#[macro_export]
macro_rules! select_variant {
    ([] $avx512:ident, $avx2:ident, [$($names:tt)*]) => { $avx2::<$($names)*> };
    ([$host:ident] $avx512:ident, $avx2:ident, [$($names:tt)*]) => { $avx512::<$($names)*> };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::MAX_LANES;
    use crate::random::Rng;

    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            table[i] = (i as u32).wrapping_mul(0x9e37_79b9);
            i += 1;
        }
        table
    };

    /// Applies every operation of integers.
    #[inline(always)]
    fn integers_of<H: Host>(a: &[u32; MAX_LANES], b: &[u32; MAX_LANES], out: &mut Vec<[u32; MAX_LANES]>) {
        let (a, b) = (H::Ints::from_array(*a), H::Ints::from_array(*b));
        for lanes in [
            a + b,
            a - b,
            a * b,
            a & b,
            a | b,
            a ^ b,
            a.min(b),
            a.max(b),
            a.min_unsigned(b),
            a.equal(b),
            a.greater(b),
            a.shl(0),
            a.shl(5),
            a.shr(7),
            a.sar(9),
            a.shr(31),
            a.sar(31).select(a, b),
            a.to_floats().bits(),
            a.lookup(&TABLE),
            a.lookup_in(&TABLE),
            a.broadcast_lane(b.to_array()[0]),
            a.min_of_quad(),
            a.shuffle_in_quad(b),
            a.shuffle_bytes(b & H::Ints::splat(0xf)),
            a.unzip(b)[0],
            a.unzip(b)[1],
            a.halves_to_f32()[0],
            a.halves_to_f32()[1],
            H::Ints::from_mask(b.movemask()),
            H::Ints::splat(0x8000_0001),
        ] {
            out.push(lanes.to_array());
        }
    }

    /// Applies every operation of floats; results that depend on which of several NaNs is returned
    /// are left out.
    #[inline(always)]
    fn floats_of<H: Host>(a: &[u32; MAX_LANES], b: &[u32; MAX_LANES], out: &mut Vec<[u32; MAX_LANES]>) {
        let (a, b) = (H::Ints::from_array(*a).as_floats(), H::Ints::from_array(*b).as_floats());
        let small = a.min(H::Floats::splat(2e9)).max(H::Floats::splat(-2e9));
        for lanes in [
            a + b,
            a - b,
            a * b,
            a / b,
            a.min(b),
            a.max(b),
            a.floor(),
            a.ceil(),
            a.round(),
            a.sqrt(),
            a.mul_add(b, a),
            b.mul_add(b, a),
            a.broadcast_in_quad::<0>(),
            a.broadcast_in_quad::<1>(),
            a.broadcast_in_quad::<2>(),
            a.broadcast_in_quad::<3>(),
        ] {
            out.push(lanes.bits().to_array());
        }
        for lanes in [a.greater(b), a.greater_or_equal(b), small.truncate_to_int()] {
            out.push(lanes.to_array());
        }
    }

    multiversion! {
        for Avx512 unsafe fn integers(a: &[u32; MAX_LANES], b: &[u32; MAX_LANES], out: &mut Vec<[u32; MAX_LANES]>) {
            integers_of::<H>(a, b, out);
        }
        for Avx512 unsafe fn floats(a: &[u32; MAX_LANES], b: &[u32; MAX_LANES], out: &mut Vec<[u32; MAX_LANES]>) {
            floats_of::<H>(a, b, out);
        }
        /// Stores whether all halves are numbers.
        for Avx512 unsafe fn numbers(a: &[u32; MAX_LANES], out: &mut bool) {
            *out = <H as Host>::Ints::from_array(*a).halves_are_numbers();
        }
        for Avx512 unsafe fn over_255(a: &[u32; MAX_LANES], out: &mut [u32; MAX_LANES]) {
            *out = <H as Host>::Ints::from_array(*a).as_floats().div_255().bits().to_array();
        }
    }

    fn same(a: u32, b: u32) -> bool {
        a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
    }

    #[test]
    fn all_levels_give_the_same_bits() {
        let special = [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1, 0x3f00_0000, 0xbfc0_0000, 0x4b00_0001];
        let mut rng = Rng(0x0def_aced_0000_0017);
        for _ in 0..20_000 {
            let mut lanes = || {
                core::array::from_fn(|_| match rng.next() % 4 {
                    0 => special[rng.next() as usize % special.len()],
                    1 => ((rng.next() % 4096) as f32 / 8.0 - 200.0).to_bits(),
                    _ => rng.next(),
                })
            };
            let (a, b) = (lanes(), lanes());
            let all = SimdLevel::all_supported().map(|level| {
                let mut out = Vec::new();
                // SAFETY: the host has the level.
                unsafe {
                    integers(level)(&a, &b, &mut out);
                    floats(level)(&a, &b, &mut out);
                }
                out
            });
            let mut portable = Vec::new();
            integers_of::<Portable>(&a, &b, &mut portable);
            floats_of::<Portable>(&a, &b, &mut portable);
            for other in all {
                for (i, (x, y)) in portable.iter().zip(&other).enumerate() {
                    assert!((0..MAX_LANES).all(|lane| same(x[lane], y[lane])), "{i}: {x:x?} {y:x?} of {a:x?} {b:x?}");
                }
            }
        }
    }

    #[test]
    fn halves_are_numbers_unless_one_is_none() {
        let min = [0x7bff, 0x7c00, 0x7c01, 0x7fff, 0xfc00, 0xfc01, 0xffff, 0x8000];
        for level in SimdLevel::all_supported() {
            for (i, half) in min.iter().cycle().take(8 * 16).enumerate() {
                let mut lanes = [0x7c00_fc00u32; MAX_LANES];
                let (lane, upper) = (i / 8 % 8, i / 64 * 16);
                lanes[lane] = lanes[lane] & !(0xffff << upper) | half << upper;
                let mut numbers = false;
                // SAFETY: the host has the level.
                unsafe { self::numbers(level)(&lanes, &mut numbers) };
                assert_eq!(numbers, half & 0x7fff <= 0x7c00, "{level:?} {lanes:x?}");
            }
        }
    }

    #[test]
    fn over_255_is_the_division() {
        for first in (0..1000f32.to_bits()).step_by(997 * MAX_LANES) {
            let bits: [u32; MAX_LANES] = core::array::from_fn(|i| first + 997 * i as u32);
            for level in SimdLevel::all_supported() {
                let mut out = [0; MAX_LANES];
                // SAFETY: the host has the level.
                unsafe { over_255(level)(&bits, &mut out) };
                assert_eq!(out, bits.map(|b| (f32::from_bits(b) / 255.0).to_bits()), "{level:?}");
            }
        }
    }
}
