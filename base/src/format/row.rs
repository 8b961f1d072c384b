//! The conversions of one row of the format table: one implementation, generic over the row's
//! index. Every property of the row is a constant in it, so each instance is straight-line code for
//! its format.
//!
//! Rounding is to nearest even for normalised and half values, as the specification's conversions
//! require. Integers outside of the channel's range are clamped.

#![forbid(unsafe_code)]
#![allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]

use super::float::*;
use super::srgb::{linear_to_srgb, srgb_to_linear};
use super::{ChannelName, ChannelType, FormatInfo, Layout, TABLE};
use crate::round;

/// Four components: bits of f32 or of an integer, by the format's class.
pub type Texel = [u32; 4];

/// A tile of a decoded block, 4×4 texels, row by row: word `w` of texel `i` is `[w][i]`; unused
/// words are 0.
pub type DecodedTile = [[u32; 16]; 2];

/// Bits of 1.0f32.
pub const ONE: u32 = 0x3f80_0000;

/// Returns the largest value of an unsigned channel.
#[inline(always)]
pub(super) const fn mask(bits: u8) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

#[inline(always)]
const fn sign_extend(raw: u32, bits: u8) -> i32 {
    let unused = 32 - bits as u32;
    ((raw << unused) as i32) >> unused
}

/// Converts a channel's bits to a number. Vector units convert only signed integers, and for most
/// channels both conversions are the same.
#[inline(always)]
fn small_to_f32(raw: u32, bits: u8) -> f32 {
    if bits < 32 { raw as i32 as f32 } else { raw as f32 }
}

/// Returns `raw / 255` for `raw` in 0..=255, correctly rounded, without a division.
///
/// 1/255 is slightly more than 257/65536: the first product is exact (17 bits), so only the sum is
/// rounded significantly. The test compares all 256 values with the division.
#[inline(always)]
pub fn unorm8(raw: u32) -> f32 {
    let raw = raw as i32 as f32;
    raw * UNORM8[0] + raw * UNORM8[1]
}

/// The two parts of [`unorm8`]'s factor.
pub const UNORM8: [f32; 2] = [257.0 / 65536.0, (1.0f64 / 255.0 - 257.0 / 65536.0) as f32];

/// Converts a channel's bits to a component.
#[inline(always)]
pub(super) fn decode(ty: ChannelType, bits: u8, raw: u32) -> u32 {
    let f = match ty {
        ChannelType::Uint => return raw,
        ChannelType::Sint => return sign_extend(raw, bits) as u32,
        ChannelType::Sfloat if bits == 32 => return raw,
        ChannelType::Unorm if bits == 8 => unorm8(raw),
        ChannelType::Unorm => small_to_f32(raw, bits) / mask(bits) as f32,
        ChannelType::Snorm => (sign_extend(raw, bits) as f32 / mask(bits - 1) as f32).max(-1.0),
        ChannelType::Uscaled => small_to_f32(raw, bits),
        ChannelType::Sscaled => sign_extend(raw, bits) as f32,
        ChannelType::Sfloat => half_to_f32(raw),
        ChannelType::Ufloat => ufloat_to_f32(raw, u32::from(bits) - 5),
        ChannelType::Srgb => srgb_to_linear(raw as u8),
    };
    f.to_bits()
}

/// Returns `x * max` rounded; computes in f64 where f32 would round twice visibly.
#[inline(always)]
fn normalise(x: f32, bits: u8, max: u32) -> u32 {
    if bits <= 10 {
        round::f32_to_i32(x * max as f32) as u32
    } else {
        round::f64_to_i32(f64::from(x) * f64::from(max)) as u32
    }
}

/// Converts a component to a channel's bits (not yet shifted, already masked).
#[inline(always)]
pub(super) fn encode(ty: ChannelType, bits: u8, value: u32) -> u32 {
    let x = f32::from_bits(value);
    match ty {
        ChannelType::Uint => value.min(mask(bits)),
        ChannelType::Sint => {
            let max = mask(bits - 1) as i32;
            (value as i32).clamp(-max - 1, max) as u32 & mask(bits)
        }
        ChannelType::Sfloat if bits == 32 => value,
        ChannelType::Unorm => normalise(x.max(0.0).min(1.0), bits, mask(bits)),
        // NaN.max(-1) is -1. The specification does not require 0, but 0 is the better value.
        ChannelType::Snorm if x.is_nan() => 0,
        ChannelType::Snorm => normalise(x.max(-1.0).min(1.0), bits, mask(bits - 1)) & mask(bits),
        ChannelType::Uscaled => (x as u32).min(mask(bits)),
        ChannelType::Sscaled => {
            let max = mask(bits - 1) as i32;
            (x as i32).clamp(-max - 1, max) as u32 & mask(bits)
        }
        ChannelType::Sfloat => f32_to_half(x),
        ChannelType::Ufloat => f32_to_ufloat(x, u32::from(bits) - 5),
        ChannelType::Srgb => u32::from(linear_to_srgb(x)),
    }
}

/// The conversions of row `I` of the format table; see also `lanes`.
pub struct FormatRow<const I: usize>;

/// Returns the table's row of a format's name, for constants. Panics (at compile time) if there is
/// none.
pub const fn row(name: &str) -> usize {
    let mut i = 0;
    while i < TABLE.len() {
        if same(name.as_bytes(), TABLE[i].name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("a format of the table")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Returns the row whose conversions a row uses. An integer of 64 bits is a pair of words, the low
/// one first, and a texel has at most two. (Shaders read whole integers, by separate kernels.)
const fn conversions(index: usize) -> usize {
    if index >= TABLE.len() {
        return 0;
    }
    let channel = TABLE[index].channels[0];
    let is_long = channel.bits == 64 && matches!(channel.ty, ChannelType::Uint | ChannelType::Sint);
    match TABLE[index].channel_count {
        1 if is_long => row("R32G32_UINT"),
        2 if is_long => row("R32G32B32A32_UINT"),
        _ => index,
    }
}

impl<const I: usize> FormatRow<I> {
    pub(super) const INFO: FormatInfo = TABLE[conversions(I)];
    const USABLE: bool = matches!(Self::INFO.layout, Layout::Plain | Layout::DepthStencil)
        && Self::INFO.channels[0].bits <= 32
        && Self::INFO.block_bytes <= 16;
    /// Number of bytes of a texel; 0 if there are no conversions.
    pub const BYTES: usize = if Self::USABLE { Self::INFO.block_bytes as usize } else { 0 };
    pub(super) const SHARED_EXPONENT: bool = matches!(Self::INFO.channels[3].name, ChannelName::E);
    /// True if components are integers.
    pub const INTEGER: bool = matches!(Self::INFO.channels[0].ty, ChannelType::Uint | ChannelType::Sint);
    pub(super) const EMPTY: Texel = [0, 0, 0, if Self::INTEGER { 1 } else { ONE }];

    /// Returns the component of a channel; `None` for stencil beside depth (a separate plane) and
    /// for unused bits.
    pub(super) const fn component(channel: usize) -> Option<usize> {
        if channel >= Self::INFO.channel_count as usize {
            return None;
        }
        match Self::INFO.channels[channel].name {
            ChannelName::R | ChannelName::D => Some(0),
            ChannelName::G => Some(1),
            ChannelName::B => Some(2),
            ChannelName::A => Some(3),
            ChannelName::S if channel == 0 => Some(0),
            _ => None,
        }
    }

    /// Returns the first byte and the number of bytes of the word that has a channel. (Formats
    /// whose planes are separate images have no bytes here.)
    const fn word(channel: usize) -> (usize, usize) {
        let at = Self::INFO.channels[channel].shift as usize / 32 * 4;
        let rest = Self::BYTES.saturating_sub(at);
        (at, if rest < 4 { rest } else { 4 })
    }

    #[inline(always)]
    fn read<const C: usize>(block: &[u8], texel: &mut Texel) {
        let channel = const { Self::INFO.channels[C] };
        let Some(component) = (const { Self::component(C) }) else { return };
        let mut word = [0; 4];
        let raw = if channel.shift.is_multiple_of(8) && channel.bits.is_multiple_of(8) {
            let (at, n) = (channel.shift as usize / 8, channel.bits as usize / 8);
            word[..n].copy_from_slice(&block[at..at + n]);
            u32::from_le_bytes(word)
        } else {
            let (at, n) = const { Self::word(C) };
            word[..n].copy_from_slice(&block[at..at + n]);
            u32::from_le_bytes(word) >> (channel.shift % 32) & mask(channel.bits)
        };
        texel[component] = decode(channel.ty, channel.bits, raw);
    }

    #[inline(always)]
    fn write<const C: usize>(texel: Texel, block: &mut [u8; 16]) {
        let channel = const { Self::INFO.channels[C] };
        let Some(component) = (const { Self::component(C) }) else { return };
        let raw = encode(channel.ty, channel.bits, texel[component]);
        if channel.shift.is_multiple_of(8) && channel.bits.is_multiple_of(8) {
            let (at, n) = (channel.shift as usize / 8, channel.bits as usize / 8);
            block[at..at + n].copy_from_slice(&raw.to_le_bytes()[..n]);
        } else {
            let at = const { Self::word(C).0 };
            let mut word = [block[at], block[at + 1], block[at + 2], block[at + 3]];
            word = (u32::from_le_bytes(word) | raw << (channel.shift % 32)).to_le_bytes();
            block[at..at + 4].copy_from_slice(&word);
        }
    }

    /// Returns the texel at the start of `block`, which has at least [`Self::BYTES`] bytes.
    #[inline(always)]
    pub fn unpack_slice(block: &[u8]) -> Texel {
        let mut texel = Self::EMPTY;
        if Self::SHARED_EXPONENT {
            let word = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
            let rgb = unpack_shared_exponent(word);
            return [rgb[0].to_bits(), rgb[1].to_bits(), rgb[2].to_bits(), ONE];
        }
        Self::read::<0>(block, &mut texel);
        Self::read::<1>(block, &mut texel);
        Self::read::<2>(block, &mut texel);
        Self::read::<3>(block, &mut texel);
        texel
    }

    #[inline(always)]
    fn pack_block(texel: Texel) -> [u8; 16] {
        let mut block = [0; 16];
        if Self::SHARED_EXPONENT {
            let rgb = [f32::from_bits(texel[0]), f32::from_bits(texel[1]), f32::from_bits(texel[2])];
            block[..4].copy_from_slice(&pack_shared_exponent(rgb).to_le_bytes());
            return block;
        }
        Self::write::<0>(texel, &mut block);
        Self::write::<1>(texel, &mut block);
        Self::write::<2>(texel, &mut block);
        Self::write::<3>(texel, &mut block);
        block
    }

    pub(super) fn unpack_one(block: &[u8; 16]) -> Texel {
        if Self::USABLE { Self::unpack_slice(block) } else { [0; 4] }
    }

    pub(super) fn pack_one(texel: Texel) -> [u8; 16] {
        if Self::USABLE { Self::pack_block(texel) } else { [0; 16] }
    }

    pub(super) fn unpack(src: &[u8], dst: &mut [Texel]) {
        if Self::BYTES == 0 {
            return dst.fill([0; 4]);
        }
        for (block, texel) in src.chunks_exact(Self::BYTES).zip(dst) {
            *texel = Self::unpack_slice(block);
        }
    }

    pub(super) fn pack(src: &[Texel], dst: &mut [u8]) {
        if Self::BYTES == 0 {
            return;
        }
        for (texel, block) in src.iter().zip(dst.chunks_exact_mut(Self::BYTES)) {
            block.copy_from_slice(&Self::pack_block(*texel)[..Self::BYTES]);
        }
    }
}
