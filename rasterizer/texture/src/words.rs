//! Loads of the texels of all lanes to words (`base::format::lanes`), and stores of them; and loads
//! of lanes.
//!
//! Texels of 8 and 16 bytes are transposed in registers: SSE2 is part of every x86-64, and moving
//! bits has the same result everywhere.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::MAX_LANES;
use base::format::lanes::Lanes;
use base::host::{Host, Ints};

/// Four words of all lanes, as vectors.
pub type Words<H> = [<H as Host>::Ints; 4];

/// Loads lanes that generated code, or another function, has just stored, in two halves.
///
/// Generated code stores vectors of four lanes, and a processor forwards recent stores only to
/// loads that need a single store. The loads are volatile, because the compiler would otherwise
/// combine them.
#[inline(always)]
pub fn row<H: Host, T: Lane>(lanes: &[T; MAX_LANES]) -> H::Ints {
    #[cfg(target_arch = "x86_64")]
    {
        let first = (&raw const *lanes).cast::<Unaligned>();
        // SAFETY: the lanes have 4 bytes each, any bits of which are valid, and are read as two
        // vectors of four. A kernel for `H` runs only on a host with `H`.
        unsafe { H::assume().join(first.read_volatile().0, first.add(1).read_volatile().0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        H::Ints::from_array((*lanes).map(Lane::bits))
    }
}

/// A lane's type, which has 4 bytes, any bits of which are valid.
pub trait Lane: Copy {
    /// Returns the bits.
    #[cfg(not(target_arch = "x86_64"))]
    fn bits(self) -> u32;
}

macro_rules! lane {
    ($($of:ty: |$value:ident| $bits:expr;)*) => {$(
        impl Lane for $of {
            #[cfg(not(target_arch = "x86_64"))]
            #[inline(always)]
            fn bits(self) -> u32 {
                let $value = self;
                $bits
            }
        }
    )*};
}

lane! {
    u32: |lane| lane;
    i32: |lane| lane as u32;
    f32: |lane| lane.to_bits();
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned(core::arch::x86_64::__m128i);

/// Loads the value at `base + offset[i]`, of any alignment.
///
/// # Safety
/// The bytes are readable, and any bits are a valid `T`.
#[inline(always)]
unsafe fn each<T: Copy>(base: *const u8, offset: &[u32; MAX_LANES], i: usize) -> T {
    // SAFETY: the bytes are readable, and any bits are a valid `T` (`# Safety`).
    unsafe { base.add(offset[i] as usize).cast::<T>().read_unaligned() }
}

/// Returns the words of texels of `N` bytes (1, 2, 4, 8 or 16) at `base + offset[i]`.
///
/// # Safety
/// The bytes are readable; the host is `H`.
#[inline(always)]
pub unsafe fn gather<H: Host, const N: usize>(base: *const u8, offset: H::Ints) -> Words<H> {
    let offset = &offset.to_array();
    let mut words = [H::Ints::splat(0); 4];
    // SAFETY: the bytes are readable, and the host is `H` (`# Safety`).
    unsafe {
        match N {
            1 => words[0] = single::<H>(|i| u32::from(each::<u8>(base, offset, i))),
            2 => words[0] = single::<H>(|i| u32::from(u16::from_le(each::<u16>(base, offset, i)))),
            4 => words[0] = single::<H>(|i| u32::from_le(each::<u32>(base, offset, i))),
            8 => [words[0], words[1]] = two::<H>(base, offset),
            _ => words = four::<H>(base, offset),
        }
    }
    words
}

#[inline(always)]
fn single<H: Host>(word: impl Fn(usize) -> u32) -> H::Ints {
    H::Ints::from_array([word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)])
}

/// Returns the words of two neighbours of `N` bytes (2, 4 or 8) each that were loaded as one.
#[inline(always)]
pub fn split<V: Ints, const N: usize>(both: &[V; 4]) -> [[V; 4]; 2] {
    let zero = V::splat(0);
    match N {
        2 => [[both[0] & V::splat(0xffff), zero, zero, zero], [both[0].shr(16), zero, zero, zero]],
        4 => [[both[0], zero, zero, zero], [both[1], zero, zero, zero]],
        _ => [[both[0], both[1], zero, zero], [both[2], both[3], zero, zero]],
    }
}

/// Writes the first `N` bytes (1, 2, 4, 8 or 16) of the words of the lanes in `mask`.
///
/// If shaders race on a texel, its bytes become a mix, as the specification allows.
///
/// # Safety
/// The bytes at `base + offset[i]` are writable.
#[inline(always)]
pub unsafe fn write<const N: usize>(base: *mut u8, offset: &[u32; MAX_LANES], words: &Lanes, mask: u32) {
    for i in 0..MAX_LANES {
        if mask >> i & 1 == 0 {
            continue;
        }
        let word = |w: usize| words[w][i];
        let pair = |w: usize| (u64::from(word(w)) | u64::from(word(w + 1)) << 32).to_le();
        // SAFETY: the bytes are writable (`# Safety`). Each texel is one store, because a later
        // load would wait for bytes that were stored separately.
        unsafe {
            let p = base.add(offset[i] as usize);
            match N {
                1 => p.write(word(0) as u8),
                2 => p.cast::<u16>().write_unaligned((word(0) as u16).to_le()),
                4 => p.cast::<u32>().write_unaligned(word(0).to_le()),
                8 => p.cast::<u64>().write_unaligned(pair(0)),
                _ => p.cast::<[u64; 2]>().write_unaligned([pair(0), pair(2)]),
            }
        }
    }
}

/// Returns the words of texels of 16 bytes that are not in an image.
#[inline(always)]
pub fn transpose<H: Host>(_: H, texels: &[[u32; 4]; MAX_LANES]) -> Words<H> {
    let offset = [0, 16, 32, 48, 64, 80, 96, 112];
    // SAFETY: `texels` has 16 bytes at each offset, and the host is `H` because the token exists.
    unsafe { four::<H>(texels.as_ptr().cast(), &offset) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn two<H: Host>(base: *const u8, offset: &[u32; MAX_LANES]) -> [H::Ints; 2] {
    use core::arch::x86_64::*;
    // SAFETY: all callers require readable texels, and the host is `H`.
    unsafe {
        let mut half = [[_mm_setzero_si128(); 2]; 2];
        for i in 0..2 {
            let at = |lane: usize| base.add(offset[4 * i + lane] as usize).cast::<__m128i>();
            let low = _mm_unpacklo_epi32(_mm_loadl_epi64(at(0)), _mm_loadl_epi64(at(1)));
            let high = _mm_unpacklo_epi32(_mm_loadl_epi64(at(2)), _mm_loadl_epi64(at(3)));
            half[i] = [_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high)];
        }
        [H::assume().join(half[0][0], half[1][0]), H::assume().join(half[0][1], half[1][1])]
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn four<H: Host>(base: *const u8, offset: &[u32; MAX_LANES]) -> Words<H> {
    use core::arch::x86_64::*;
    // SAFETY: all callers require readable texels, and the host is `H`.
    unsafe {
        let mut half = [[_mm_setzero_si128(); 4]; 2];
        for i in 0..2 {
            let at = |lane: usize| base.add(offset[4 * i + lane] as usize).cast::<__m128i>();
            let (a, b) = (_mm_loadu_si128(at(0)), _mm_loadu_si128(at(1)));
            let (c, d) = (_mm_loadu_si128(at(2)), _mm_loadu_si128(at(3)));
            let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
            let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
            half[i] = [
                _mm_unpacklo_epi64(ab, cd),
                _mm_unpackhi_epi64(ab, cd),
                _mm_unpacklo_epi64(ab_high, cd_high),
                _mm_unpackhi_epi64(ab_high, cd_high),
            ];
        }
        let [near, far] = half;
        [
            H::assume().join(near[0], far[0]),
            H::assume().join(near[1], far[1]),
            H::assume().join(near[2], far[2]),
            H::assume().join(near[3], far[3]),
        ]
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn two<H: Host>(base: *const u8, offset: &[u32; MAX_LANES]) -> [H::Ints; 2] {
    let mut words = [[0; MAX_LANES]; 2];
    for i in 0..MAX_LANES {
        // SAFETY: all callers require readable texels.
        let texel = u64::from_le(unsafe { each::<u64>(base, offset, i) });
        (words[0][i], words[1][i]) = (texel as u32, (texel >> 32) as u32);
    }
    words.map(H::Ints::from_array)
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn four<H: Host>(base: *const u8, offset: &[u32; MAX_LANES]) -> Words<H> {
    let mut words = [[0; MAX_LANES]; 4];
    for i in 0..MAX_LANES {
        // SAFETY: all callers require readable texels.
        let texel = unsafe { each::<[u32; 4]>(base, offset, i) };
        for w in 0..4 {
            words[w][i] = u32::from_le(texel[w]);
        }
    }
    words.map(H::Ints::from_array)
}
