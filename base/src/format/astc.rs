//! Decoding of ASTC blocks of two dimensions (Khronos Data Format Specification, "ASTC Compressed
//! Texture Image Formats").
//!
//! The mode of a block is looked up ([`mode`]). Its numbers are unpacked by [`sequence`], and
//! become pairs of colours in [`ends`]. Then the texels follow, 16 at a time. Each has a weight,
//! from a grid that is usually coarser than the block, and a partition. Its colour is interpolated
//! between the two colours of its partition.
//!
//! Results are those of `decode_float16`: halves, in which UNORM16 is truncated and not rounded.
//! sRGB formats, and views that request it (`decode_unorm8`), give bytes. Blocks that the
//! specification calls illegal, and partitions of logarithms in LDR formats, are magenta.

mod endpoints;
mod integer_sequence;
mod mode;
#[cfg(test)]
mod tests;
mod texels;

use super::row::DecodedTile;
use super::{ChannelType, FormatInfo, Layout};
use endpoints::Endpoints;
use integer_sequence::{COLOURS, FIRST_COLOUR, RANGES, SequenceValues, WEIGHTS};
use mode::BlockMode;
use texels::{HALF_ONE, half};

/// The representation of decoded texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecodeMode {
    /// Texels are halves; logarithms are errors.
    Ldr,
    /// Texels are halves.
    Hdr,
    /// Texels are bytes; logarithms are errors.
    Bytes,
    /// Texels are sRGB bytes, with another interpolation between the ends; logarithms are errors.
    Srgb,
}

/// Passes on the texels of a block, tile by tile (`blocks::decode_tiles`), in the format's plain
/// format.
pub(super) fn decode(info: &FormatInfo, block: &[u8; 16], give: &mut dyn FnMut(usize, &DecodedTile)) {
    let target = match (info.layout, info.channels[0].ty) {
        (Layout::AstcInBytes, _) => DecodeMode::Bytes,
        (_, ChannelType::Srgb) => DecodeMode::Srgb,
        (_, ChannelType::Sfloat) => DecodeMode::Hdr,
        _ => DecodeMode::Ldr,
    };
    let (size, block) = ([info.block.0, info.block.1].map(usize::from), u128::from_le_bytes(*block));
    if block & 0x1ff == 0x1fc {
        return all(size, target.constant(block), give);
    }
    match Block::parse(block, size, target) {
        Some(block) => texels::of(&block, size, target, give),
        None => all(size, target.error(), give),
    }
}

/// Passes on tiles of one colour.
fn all(size: [usize; 2], words: [u32; 2], give: &mut dyn FnMut(usize, &DecodedTile)) {
    let tile = words.map(|word| [word; 16]);
    for y in 0..size[1].div_ceil(4) {
        (0..size[0].div_ceil(4)).for_each(|x| give(4 * y + x, &tile));
    }
}

impl DecodeMode {
    /// Packs four components of 16 bits, or of 8, into words.
    fn pack(self, [r, g, b, a]: [u32; 4]) -> [u32; 2] {
        match self {
            DecodeMode::Bytes | DecodeMode::Srgb => [r | g << 8 | b << 16 | a << 24, 0],
            _ => [r | g << 16, b | a << 16],
        }
    }

    fn error(self) -> [u32; 2] {
        let one = if matches!(self, DecodeMode::Bytes | DecodeMode::Srgb) { 255 } else { HALF_ONE };
        self.pack([one, 0, one, one])
    }

    /// Returns the colour of a void-extent block.
    fn constant(self, block: u128) -> [u32; 2] {
        let coordinate = |i: u32| (block >> (12 + 13 * i)) as u32 & 0x1fff;
        let [s0, s1, t0, t1] = [0, 1, 2, 3].map(coordinate);
        let nowhere = [s0, s1, t0, t1] == [0x1fff; 4];
        let (halves, reserved) = (block >> 9 & 1 == 1, block >> 10 & 3);
        let legal = reserved == 3 && (nowhere || s0 < s1 && t0 < t1);
        if !legal || halves && self != DecodeMode::Hdr {
            return self.error();
        }
        self.pack([0, 1, 2, 3].map(|c| {
            let component = (block >> (64 + 16 * c)) as u32 & 0xffff;
            match self {
                DecodeMode::Bytes | DecodeMode::Srgb => component >> 8,
                _ if halves => quiet(component),
                _ => half(component),
            }
        }))
    }
}

/// Makes a half that is not a number quiet, so that every conversion gives the same bits.
const fn quiet(half: u32) -> u32 {
    if half & 0x7fff > 0x7c00 { half | 0x200 } else { half }
}

/// A legal block with partitions.
struct Block {
    mode: BlockMode,
    weights: SequenceValues,
    /// Component that has separate weights; 4 for none.
    second: usize,
    partitions: usize,
    seed: u32,
    ends: [Endpoints; 4],
}

impl Block {
    /// Returns `None` for illegal blocks.
    fn parse(block: u128, size: [usize; 2], target: DecodeMode) -> Option<Block> {
        let mode = mode::MODES[block as usize & 0x7ff];
        let partitions = (block >> 11) as usize % 4 + 1;
        let fits = usize::from(mode.width) <= size[0] && usize::from(mode.height) <= size[1];
        if mode.bits == 0 || !fits || mode.planes == 2 && partitions == 4 {
            return None;
        }
        // With one partition, there is one mode of the ends; with several, there is one for all or
        // one for each, whose further bits lie below the weights.
        let mut low = 128 - u32::from(mode.bits);
        let mut modes = [(block >> 13) as u32 & 15; 4];
        if partitions > 1 {
            let class = (block >> 23) as u32 & 3;
            modes = [(block >> 25) as u32 & 15; 4];
            if class != 0 {
                let count = partitions as u32;
                low -= 3 * count - 4;
                let bits = modes[0] | ((block >> low) as u32 & 0xff) << 4;
                let own = |p: u32| (class - 1 + (bits >> p & 1)) << 2 | bits >> (count + 2 * p) & 3;
                modes = [0, 1, 2, 3].map(|p| own(p) & 15);
            }
        }
        let mut second = 4;
        if mode.planes == 2 {
            low -= 2;
            second = (block >> low) as usize & 3;
        }
        let first = if partitions > 1 { 29 } else { 17 };
        let count = modes[..partitions].iter().map(|&mode| endpoints::numbers(mode)).sum::<u32>();
        let range = mode::colour_range(count, low.checked_sub(first)?)?;
        let numbers = integer_sequence::unpack(
            &RANGES[FIRST_COLOUR + range],
            &COLOURS[range],
            block >> first & ((1 << (low - first)) - 1),
            count as usize,
        );
        let (mut ends, mut at) = ([Endpoints::default(); 4], 0);
        for (ends, &mode) in ends.iter_mut().zip(&modes[..partitions]) {
            *ends = endpoints::endpoints(mode, core::array::from_fn(|i| numbers[(at + i) % numbers.len()]));
            if ends.logarithms[0] && target != DecodeMode::Hdr {
                *ends = Endpoints { colours: [[255, 0, 255, 255]; 2], logarithms: [false; 2] };
            }
            at += endpoints::numbers(mode) as usize;
        }
        let range = usize::from(mode.range);
        let count = usize::from(mode.planes * mode.width * mode.height);
        let weights = integer_sequence::unpack(&RANGES[range], &WEIGHTS[range], block.reverse_bits(), count);
        Some(Block { mode, weights, second, partitions, seed: (block >> 13) as u32 & 0x3ff, ends })
    }
}
