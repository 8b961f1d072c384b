//! Unpacking and packing of texels, derived from the rows of the format table.
//!
//! [`kernels`] finds the instance of a format's [`FormatRow`] through a table of function pointers.
//!
//! A texel is four 32-bit patterns: f32 for normalised, scaled, float and depth formats, integers
//! for integer and stencil formats. Components that the format lacks unpack to 0, 0, 0, 1.
//! Depth/stencil formats unpack their depth plane; the stencil plane is
//! `S8_UINT` (see [`Format::of_aspect`]). Block-compressed formats are decoded by
//! [`super::decode_block`]; their kernels here return zeros and write nothing. So do those of
//! 64-bit formats, except for formats of one or two integers, which are the words of two or four
//! components.

use super::row::FormatRow;
pub use super::row::{ONE, Texel};
use super::{Format, Lanes, TABLE, lanes};
use crate::host::{Host, SimdLevel};
use core::marker::PhantomData;

/// The conversions of rows of texels of one format.
#[derive(Clone, Copy, Debug)]
pub struct TexelKernels {
    /// Number of bytes of a texel (of the depth plane for depth/stencil formats); 0 if the kernels
    /// do nothing.
    pub bytes: usize,
    /// Unpacks `min(src.len() / bytes, dst.len())` texels.
    pub unpack: fn(src: &[u8], dst: &mut [Texel]),
    /// Packs `min(src.len(), dst.len() / bytes)` texels.
    pub pack: fn(src: &[Texel], dst: &mut [u8]),
    /// Unpacks one texel; `block` has at least `bytes` bytes.
    pub unpack_one: fn(block: &[u8; 16]) -> Texel,
    /// Packs one texel into the first `bytes` bytes.
    pub pack_one: fn(texel: Texel) -> [u8; 16],
    /// Conversions of the texels of all lanes, by the host's [`SimdLevel`].
    pub lanes: [LaneKernels; SimdLevel::COUNT],
}

/// The conversions of the texels of all lanes (see [`super::lanes`]); they are called only on hosts
/// of their level.
#[derive(Clone, Copy, Debug)]
pub struct LaneKernels {
    /// Converts words to texels.
    pub unpack: unsafe fn(words: &Lanes, texels: &mut Lanes),
    /// Converts texels to words.
    pub pack: unsafe fn(texels: &Lanes, words: &mut Lanes),
}

impl TexelKernels {
    /// Returns the conversions of the texels of all lanes for the level of a token.
    #[inline(always)]
    pub fn at_level<H: Host>(&'static self, _: H) -> HostLaneKernels<H> {
        HostLaneKernels { kernels: &self.lanes[H::LEVEL as usize], level: PhantomData }
    }
}

/// The conversions of the texels of all lanes on a host that has their level.
#[derive(Clone, Copy, Debug)]
pub struct HostLaneKernels<H> {
    kernels: &'static LaneKernels,
    level: PhantomData<H>,
}

impl<H: Host> HostLaneKernels<H> {
    /// Converts words to texels.
    #[inline(always)]
    pub fn unpack(self, words: &Lanes, texels: &mut Lanes) {
        // SAFETY: the host has the level, because a token was given to `TexelKernels::at_level`.
        unsafe { (self.kernels.unpack)(words, texels) }
    }

    /// Converts texels to words.
    #[inline(always)]
    pub fn pack(self, texels: &Lanes, words: &mut Lanes) {
        // SAFETY: the host has the level, because a token was given to `TexelKernels::at_level`.
        unsafe { (self.kernels.pack)(texels, words) }
    }
}

/// Returns the kernels of a format.
#[inline]
pub fn kernels(format: Format) -> &'static TexelKernels {
    let i = format.0 as usize;
    &KERNELS[i / 10][i % 10]
}

/// Unpacks the texel at the start of `block`; missing bytes count as 0.
pub fn unpack(format: Format, block: &[u8]) -> Texel {
    let mut bytes = [0; 16];
    let n = block.len().min(16);
    bytes[..n].copy_from_slice(&block[..n]);
    (kernels(format).unpack_one)(&bytes)
}

/// Packs a texel into the start of `out`, which gets at most the format's bytes.
pub fn pack(format: Format, texel: Texel, out: &mut [u8]) {
    let kernels = kernels(format);
    let n = kernels.bytes.min(out.len());
    out[..n].copy_from_slice(&(kernels.pack_one)(texel)[..n]);
}

/// Packs a depth value into the texel of the depth plane; normalised formats clamp it to 0..=1.
pub fn pack_depth(format: Format, depth: f32, out: &mut [u8]) {
    pack(format, [depth.to_bits(), 0, 0, 0], out);
}

/// Unpacks a row of texels.
pub fn unpack_row(format: Format, src: &[u8], dst: &mut [Texel]) {
    (kernels(format).unpack)(src, dst);
}

/// Packs a row of texels.
pub fn pack_row(format: Format, src: &[Texel], dst: &mut [u8]) {
    (kernels(format).pack)(src, dst);
}

/// Returns the kernels of row `I`.
const fn of_row<const I: usize>() -> TexelKernels {
    let mut all = [of_level::<I>(SimdLevel::Portable); SimdLevel::COUNT];
    let mut i = 0;
    while i < SimdLevel::COUNT {
        all[i] = of_level::<I>(SimdLevel::ALL[i]);
        i += 1;
    }
    TexelKernels {
        bytes: FormatRow::<I>::BYTES,
        unpack: FormatRow::<I>::unpack,
        pack: FormatRow::<I>::pack,
        unpack_one: FormatRow::<I>::unpack_one,
        pack_one: FormatRow::<I>::pack_one,
        lanes: all,
    }
}

const fn of_level<const I: usize>(level: SimdLevel) -> LaneKernels {
    LaneKernels { unpack: lanes::unpack::<I>(level), pack: lanes::pack::<I>(level) }
}

/// Makes an array of the kernels of ten rows from `$first` on, for each `$first`.
macro_rules! tens {
    ($($first:literal)*) => {
        [$([
            of_row::<{ $first }>(), of_row::<{ $first + 1 }>(), of_row::<{ $first + 2 }>(),
            of_row::<{ $first + 3 }>(), of_row::<{ $first + 4 }>(), of_row::<{ $first + 5 }>(),
            of_row::<{ $first + 6 }>(), of_row::<{ $first + 7 }>(), of_row::<{ $first + 8 }>(),
            of_row::<{ $first + 9 }>(),
        ]),*]
    };
}

static KERNELS: [[TexelKernels; 10]; 26] =
    tens!(0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 210 220 230 240 250);
const _: () = assert!(TABLE.len() <= 260);
