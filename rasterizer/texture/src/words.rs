//! The texels of all lanes as words (`base::format::lanes`), and loads of lanes.
//!
//! Texels of 8 and 16 bytes are transposed in registers: SSE2 is part of every x86-64, and moving
//! bits has the same result everywhere.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::MAX_LANES;
#[cfg(target_arch = "x86_64")]
use base::host::Sse2;
use base::host::{Host, Ints};

/// Four words of all lanes, as vectors.
pub type Words<H> = [<H as Host>::Ints; 4];

/// Number of rows of coordinates of a chunk.
pub const COORDS: usize = 2;
/// Number of rows of results of a chunk.
pub const RESULTS: usize = 4;

/// A chunk's coordinates.
pub type Coords = [[u32; MAX_LANES]; COORDS];
/// A chunk's results, by component.
pub type Results = [[u32; MAX_LANES]; RESULTS];

/// Loads lanes that generated code, or another function, has just stored, in two halves.
///
/// Generated code stores vectors of four lanes, and a processor forwards recent stores only to
/// loads that need a single store. The loads are volatile, because the compiler would otherwise
/// combine them.
#[inline(always)]
pub fn row<H: Host, T: Lane>(host: H, lanes: &[T; MAX_LANES]) -> H::Ints {
    #[cfg(target_arch = "x86_64")]
    {
        let first = (&raw const *lanes).cast::<Unaligned>();
        // SAFETY: the lanes have 4 bytes each, any bits of which are valid, and are read as two
        // vectors of four.
        let [low, high] = unsafe { [first.read_volatile().0, first.add(1).read_volatile().0] };
        host.join(low, high)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = host;
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

/// Returns the words of texels of 8 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn two_words<H: Host>(host: H, texels: &[[u32; 2]; MAX_LANES]) -> [H::Ints; 2] {
    let v = Sse2;
    let mut half = [[v._mm_set1_epi32(0); 2]; 2];
    for i in 0..2 {
        let [a, b] = [v.load_64(&texels[4 * i]), v.load_64(&texels[4 * i + 1])];
        let [c, d] = [v.load_64(&texels[4 * i + 2]), v.load_64(&texels[4 * i + 3])];
        let (low, high) = (v._mm_unpacklo_epi32(a, b), v._mm_unpacklo_epi32(c, d));
        half[i] = [v._mm_unpacklo_epi64(low, high), v._mm_unpackhi_epi64(low, high)];
    }
    [host.join(half[0][0], half[1][0]), host.join(half[0][1], half[1][1])]
}

/// Returns the words of texels of 16 bytes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn transpose<H: Host>(host: H, texels: &[[u32; 4]; MAX_LANES]) -> Words<H> {
    let v = Sse2;
    let mut half = [[v._mm_set1_epi32(0); 4]; 2];
    for i in 0..2 {
        let [a, b] = [v.load_128(&texels[4 * i]), v.load_128(&texels[4 * i + 1])];
        let [c, d] = [v.load_128(&texels[4 * i + 2]), v.load_128(&texels[4 * i + 3])];
        let (ab, cd) = (v._mm_unpacklo_epi32(a, b), v._mm_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (v._mm_unpackhi_epi32(a, b), v._mm_unpackhi_epi32(c, d));
        half[i] = [
            v._mm_unpacklo_epi64(ab, cd),
            v._mm_unpackhi_epi64(ab, cd),
            v._mm_unpacklo_epi64(ab_high, cd_high),
            v._mm_unpackhi_epi64(ab_high, cd_high),
        ];
    }
    let [near, far] = half;
    [host.join(near[0], far[0]), host.join(near[1], far[1]), host.join(near[2], far[2]), host.join(near[3], far[3])]
}

/// Returns the words of texels of 8 bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn two_words<H: Host>(_: H, texels: &[[u32; 2]; MAX_LANES]) -> [H::Ints; 2] {
    let mut words = [[0; MAX_LANES]; 2];
    for (i, texel) in texels.iter().enumerate() {
        [words[0][i], words[1][i]] = texel.map(u32::from_le);
    }
    words.map(H::Ints::from_array)
}

/// Returns the words of texels of 16 bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn transpose<H: Host>(_: H, texels: &[[u32; 4]; MAX_LANES]) -> Words<H> {
    let mut words = [[0; MAX_LANES]; 4];
    for (i, texel) in texels.iter().enumerate() {
        for w in 0..4 {
            words[w][i] = u32::from_le(texel[w]);
        }
    }
    words.map(H::Ints::from_array)
}
