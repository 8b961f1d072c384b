//! Decoding of BC1–BC7 blocks to texels of a plain format (`blocks::plain`).
//!
//! The bit-level decoding is `bcdec_rs`, but for BC7's mode 6, the one that smooth blocks are mostly in; what is decided here is the meaning of its
//! output: sRGB, missing components, and the opaque alpha of `BC1_RGB`. BC4 and BC5 come out as floats at full precision, BC6H as halves.

#![forbid(unsafe_code)]

use super::row::BlockWords;
use super::{ChannelType, FormatInfo};

/// The texels of the block at the start of `block`, in the format's plain one.
pub(super) fn decode(info: &FormatInfo, block: &[u8; 16]) -> BlockWords {
    let mut words = [[0; 16]; 2];
    let signed = matches!(info.channels[0].ty, ChannelType::Snorm | ChannelType::Sfloat);
    let mut floats = [0f32; 32];
    let mut bytes = [0u8; 64];
    match info.name.as_bytes()[2] {
        b'4' => {
            bcdec_rs::bc4_float(&block[..8], &mut floats[..16], 4, signed);
            return [core::array::from_fn(|i| floats[i].to_bits()), [0; 16]];
        }
        b'5' => {
            bcdec_rs::bc5_float(block, &mut floats, 8, signed);
            return [0, 1].map(|w: usize| core::array::from_fn(|i| floats[2 * i + w].to_bits()));
        }
        b'6' => {
            const ONE: u32 = 0x3c00;
            let mut halves = [0u16; 48];
            bcdec_rs::bc6h_half(block, &mut halves, 12, signed);
            for i in 0..16 {
                let half = |c: usize| u32::from(halves[3 * i + c]);
                (words[0][i], words[1][i]) = (half(0) | half(1) << 16, half(2) | ONE << 16);
            }
            return words;
        }
        b'7' if block[0] & 0x7f == 1 << 6 => {
            words[0] = mode_6(u128::from_le_bytes(*block));
            return words;
        }
        b'1' => bcdec_rs::bc1(&block[..8], &mut bytes, 16),
        b'2' => bcdec_rs::bc2(block, &mut bytes, 16),
        b'3' => bcdec_rs::bc3(block, &mut bytes, 16),
        _ => bcdec_rs::bc7(block, &mut bytes, 16),
    }
    let opaque = if info.channel_count == 3 { 0xff00_0000 } else { 0 };
    for (word, texel) in words[0].iter_mut().zip(bytes.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*texel) | opaque;
    }
    words
}

/// BC7's mode 6: one pair of ends with 7 bits and one of its own per component, and an index of 4 bits per texel (of 3 for the first).
fn mode_6(block: u128) -> [u32; 16] {
    const WEIGHTS: [u64; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];
    // Four components, 16 bits each: sums of products stay below 2^14.
    let end = |end: u32| {
        let low = (block >> (63 + end)) as u64 & 1;
        (0..4)
            .fold(0, |all, c| all | ((block >> (7 + 14 * c + 7 * end)) as u64 & 127) << (1 + 16 * c) | low << (16 * c))
    };
    let (first, second) = (end(0), end(1));
    let palette = WEIGHTS.map(|weight| {
        let sum = first * (64 - weight) + second * weight + 0x0020_0020_0020_0020;
        let bytes = sum >> 6 & 0x00ff_00ff_00ff_00ff;
        let pairs = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
        (pairs | pairs >> 16) as u32
    });
    // The first index gets the bit that is not stored.
    let indices = (block >> 64) as u64;
    let indices = indices & !15 | indices >> 1 & 7;
    core::array::from_fn(|i| palette[(indices >> (4 * i) & 15) as usize])
}

#[cfg(test)]
mod tests {
    use super::super::row::ONE;
    use super::super::{Format, Texel, decode_block};
    use super::mode_6;
    use crate::random::Rng;

    fn decode(name: &str, bytes: &[u8]) -> [Texel; 16] {
        let row = super::super::TABLE.iter().position(|row| row.name == name).expect("a row");
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        let mut texels = [[0; 4]; 16];
        decode_block(Format(row as u16), &block, &mut texels);
        texels
    }

    #[test]
    fn solid_and_transparent_blocks() {
        // color0 = red > color1 = black; indices 0, 1, 0, 1 in the first row.
        let bc1 = [0x00, 0xf8, 0x00, 0x00, 0b0100_0100, 0, 0, 0];
        let texels = decode("BC1_RGBA_UNORM_BLOCK", &bc1);
        assert_eq!(texels[..4], [[ONE, 0, 0, ONE], [0, 0, 0, ONE], [ONE, 0, 0, ONE], [0, 0, 0, ONE]]);
        // color0 <= color1: index 3 is transparent black, or opaque in the RGB format.
        let punch = [0, 0, 0, 0xf8, 3, 0, 0, 0];
        assert_eq!(decode("BC1_RGBA_UNORM_BLOCK", &punch)[0], [0; 4]);
        assert_eq!(decode("BC1_RGB_UNORM_BLOCK", &punch)[0], [0, 0, 0, ONE]);
        assert_eq!(decode("BC4_UNORM_BLOCK", &[255, 0, 0, 0, 0, 0, 0, 0])[5], [ONE, 0, 0, ONE]);
        assert_eq!(decode("BC4_SNORM_BLOCK", &[0x81, 0x7f, 0, 0, 0, 0, 0, 0])[5], [(-1f32).to_bits(), 0, 0, ONE]);
        assert_eq!(decode("BC5_UNORM_BLOCK", &[255, 0, 0, 0, 0, 0, 0, 0, 0])[15], [ONE, 0, 0, ONE]);
        // BC3's alpha is a BC4 block: alpha0 <= alpha1, index 6 is 0 and 7 is 1.
        assert_eq!(decode("BC3_SRGB_BLOCK", &[0, 255, 0b111, 0, 0, 0, 0, 0, 0, 0xf8])[0], [ONE, 0, 0, ONE]);
        // Reserved BC7 mode: zeros.
        assert_eq!(decode("BC7_UNORM_BLOCK", &[0; 16])[0], [0; 4]);
    }

    #[test]
    fn random_blocks_decode_without_panic() {
        let mut random = Rng(0x9e37_79b9_7f4a_7c15);
        for _ in 0..20_000 {
            let mut block = [0; 16];
            block.fill_with(|| random.wide() as u8);
            for row in 131..=156 {
                let mut texels = [[0; 4]; 16];
                decode_block(Format(row), &block, &mut texels);
                for texel in texels {
                    assert!(row == 143 || row == 144 || texel.iter().all(|&c| f32::from_bits(c).abs() <= 1.0));
                }
            }
        }
    }

    #[test]
    fn mode_6_is_what_the_whole_decoder_gives() {
        let mut random = Rng(0x0b10_c7b1_0c7b_10c7);
        for round in 0..20_000 {
            let ends = if round % 3 == 0 { 0 } else { random.wide() };
            let block = (u128::from(random.wide()) << 64 | u128::from(ends)) << 7 | 1 << 6;
            let mut bytes = [0u8; 64];
            bcdec_rs::bc7(&block.to_le_bytes(), &mut bytes, 16);
            let want: [u32; 16] = core::array::from_fn(|i| {
                u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
            });
            assert_eq!(mode_6(block), want, "{block:x}");
        }
    }
}
