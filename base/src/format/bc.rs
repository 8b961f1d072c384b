//! Decoding of BC1–BC7 blocks to texels of a plain format (`blocks::plain`).
//!
//! The values that a block's indices can choose are computed once; each texel is then a lookup. The
//! colours of BC1 to BC3 and the alpha of BC3 are fractions that the Khronos Data Format
//! Specification interpolates without rounding. They become the nearest bytes; sRGB-encoded ones
//! are decoded from the fractions themselves (`bc_srgb`). BC7 is defined in bytes. BC4 and BC5
//! become floats at full precision, and BC6H becomes halves, decoded by bcdec.

#![forbid(unsafe_code)]

use super::row::DecodedTile;
use super::{ChannelType, FormatInfo, bc_srgb, bc7};

const OPAQUE: u32 = 0xff00_0000;

/// Returns true for an sRGB-encoded format whose colours are fractions of 31 and 63 (BC1, BC2 or
/// BC3).
pub(super) fn is_srgb_of_fractions(info: &FormatInfo) -> bool {
    info.channels[0].ty == ChannelType::Srgb && matches!(info.name.as_bytes(), [b'B', b'C', b'1'..=b'3', ..])
}

/// Returns the texels of the block at the start of `block`, in the format's plain format.
pub(super) fn decode(info: &FormatInfo, block: &[u8; 16]) -> DecodedTile {
    let signed = matches!(info.channels[0].ty, ChannelType::Snorm | ChannelType::Sfloat);
    let whole = u128::from_le_bytes(*block);
    let (first, second) = (whole as u64, (whole >> 64) as u64);
    if is_srgb_of_fractions(info) {
        return bc_srgb::decode(info, first, second);
    }
    match info.name.as_bytes()[2] {
        b'1' => {
            let opaque = if info.channel_count == 3 { OPAQUE } else { 0 };
            [colors(first, false).map(|color| color | opaque), [0; 16]]
        }
        b'2' => {
            let texels = colors(second, true);
            let alpha = |i: usize| (first >> (4 * i)) as u32 & 15;
            [core::array::from_fn(|i| texels[i] & !OPAQUE | (alpha(i) * 17) << 24), [0; 16]]
        }
        b'3' => {
            let (texels, alphas) = (colors(second, true), alphas(first));
            [core::array::from_fn(|i| texels[i] & !OPAQUE | alphas[i] << 24), [0; 16]]
        }
        b'4' => [floats(first, signed), [0; 16]],
        b'5' => [floats(first, signed), floats(second, signed)],
        b'6' => halves(block, signed),
        _ => [bc7::decode(whole), [0; 16]],
    }
}

/// Decodes a block of colours, which has two ends of 5, 6 and 5 bits, and two bits per texel, to
/// R8G8B8A8 with red lowest. Between the ends there are two colours. If the first end is not the
/// greater one, there are one colour and transparent black, unless `always` is set.
fn colors(block: u64, always: bool) -> [u32; 16] {
    let ends = [block as u32 & 0xffff, (block >> 16) as u32 & 0xffff];
    let [[r0, g0, b0], [r1, g1, b1]] = ends.map(|end| [end >> 11, end >> 5 & 63, end & 31]);
    let color = |r: u32, g: u32, b: u32| r | g << 8 | b << 16 | OPAQUE;
    let end = |r: u32, g: u32, b: u32| color((r * 527 + 23) >> 6, (g * 259 + 33) >> 6, (b * 527 + 23) >> 6);
    let third = |r: u32, g: u32, b: u32| color((r * 351 + 61) >> 7, (g * 2763 + 1039) >> 11, (b * 351 + 61) >> 7);
    let [a, b] = if always || ends[0] > ends[1] {
        [third(2 * r0 + r1, 2 * g0 + g1, 2 * b0 + b1), third(r0 + 2 * r1, g0 + 2 * g1, b0 + 2 * b1)]
    } else {
        let (r, g, b) = (r0 + r1, g0 + g1, b0 + b1);
        [color((r * 1053 + 125) >> 8, (g * 4145 + 1019) >> 11, (b * 1053 + 125) >> 8), 0]
    };
    let palette = [end(r0, g0, b0), end(r1, g1, b1), a, b];
    core::array::from_fn(|i| palette[(block >> (32 + 2 * i)) as usize & 3])
}

/// Decodes a block of BC3's alpha, which has two ends, and three bits per texel. Values between the
/// ends are rounded to the nearest byte.
fn alphas(block: u64) -> [u32; 16] {
    let [a, b] = [block as u32 & 0xff, (block >> 8) as u32 & 0xff];
    let palette = if a > b {
        let sixth = |n: u32| ((7 - n) * a + n * b + 3) / 7;
        [a, b, sixth(1), sixth(2), sixth(3), sixth(4), sixth(5), sixth(6)]
    } else {
        let fourth = |n: u32| ((5 - n) * a + n * b + 2) / 5;
        [a, b, fourth(1), fourth(2), fourth(3), fourth(4), 0, 0xff]
    };
    core::array::from_fn(|i| palette[(block >> (16 + 3 * i)) as usize & 7])
}

/// Decodes a block of BC4, or half of one of BC5, to bits of floats. It is like a block of alpha,
/// but at full precision.
fn floats(block: u64, signed: bool) -> [u32; 16] {
    let bytes = [block as u8, (block >> 8) as u8];
    let [a, b] = bytes.map(|byte| match signed {
        true => (f32::from(byte as i8) / 127.0).max(-1.0),
        false => f32::from(byte) / 255.0,
    });
    let palette = if a > b {
        let sixth = |n: f32| ((7.0 - n) * a + n * b) / 7.0;
        [a, b, sixth(1.0), sixth(2.0), sixth(3.0), sixth(4.0), sixth(5.0), sixth(6.0)]
    } else {
        let fourth = |n: f32| ((5.0 - n) * a + n * b) / 5.0;
        [a, b, fourth(1.0), fourth(2.0), fourth(3.0), fourth(4.0), if signed { -1.0 } else { 0.0 }, 1.0]
    };
    core::array::from_fn(|i| palette[(block >> (16 + 3 * i)) as usize & 7].to_bits())
}

/// Decodes a block of BC6H.
fn halves(block: &[u8; 16], signed: bool) -> DecodedTile {
    const ONE: u32 = 0x3c00;
    let (mut words, mut halves) = ([[0; 16]; 2], [0u16; 48]);
    bcdec_rs::bc6h_half(block, &mut halves, 12, signed);
    for i in 0..16 {
        let half = |c: usize| u32::from(halves[3 * i + c]);
        (words[0][i], words[1][i]) = (half(0) | half(1) << 16, half(2) | ONE << 16);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::row::ONE;
    use super::super::{Format, Texel, decode_block};
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
        // The ends are color0 = red > color1 = black; the indices are 0, 1, 0, 1 in the first row.
        let bc1 = [0x00, 0xf8, 0x00, 0x00, 0b0100_0100, 0, 0, 0];
        let texels = decode("BC1_RGBA_UNORM_BLOCK", &bc1);
        assert_eq!(texels[..4], [[ONE, 0, 0, ONE], [0, 0, 0, ONE], [ONE, 0, 0, ONE], [0, 0, 0, ONE]]);
        // With color0 <= color1, index 3 is transparent black, or opaque in the RGB format.
        let punch = [0, 0, 0, 0xf8, 3, 0, 0, 0];
        assert_eq!(decode("BC1_RGBA_UNORM_BLOCK", &punch)[0], [0; 4]);
        assert_eq!(decode("BC1_RGB_UNORM_BLOCK", &punch)[0], [0, 0, 0, ONE]);
        assert_eq!(decode("BC4_UNORM_BLOCK", &[255, 0, 0, 0, 0, 0, 0, 0])[5], [ONE, 0, 0, ONE]);
        assert_eq!(decode("BC4_SNORM_BLOCK", &[0x81, 0x7f, 0, 0, 0, 0, 0, 0])[5], [(-1f32).to_bits(), 0, 0, ONE]);
        assert_eq!(decode("BC5_UNORM_BLOCK", &[255, 0, 0, 0, 0, 0, 0, 0, 0])[15], [ONE, 0, 0, ONE]);
        // The alpha of BC3 is a BC4 block: with alpha0 <= alpha1, index 6 is 0 and 7 is 1.
        assert_eq!(decode("BC3_SRGB_BLOCK", &[0, 255, 0b111, 0, 0, 0, 0, 0, 0, 0xf8])[0], [ONE, 0, 0, ONE]);
        // A reserved BC7 mode gives zeros.
        assert_eq!(decode("BC7_UNORM_BLOCK", &[0; 16])[0], [0; 4]);
    }

    #[test]
    fn random_blocks_decode_without_panic() {
        let mut random = Rng(0x9e37_79b9_7f4a_7c15);
        for _ in 0..20_000 {
            let mut block = [0; 16];
            block.fill_with(|| random.next_u64() as u8);
            for row in 131..=156 {
                let mut texels = [[0; 4]; 16];
                decode_block(Format(row), &block, &mut texels);
                for texel in texels {
                    assert!(row == 143 || row == 144 || texel.iter().all(|&c| f32::from_bits(c).abs() <= 1.0));
                }
            }
        }
    }

    /// Compares blocks with another, independent decoder.
    #[test]
    fn blocks_match_bcdec() {
        let mut random = Rng(0x0b10_c1b3_0c5b_10c2);
        for round in 0..50_000 {
            let mut block = [0; 16];
            block.fill_with(|| random.next_u64() as u8);
            if round % 5 == 0 {
                // The ends are equal.
                (block[1], block[2], block[3]) = (block[0], block[0], block[0]);
            }
            let (mut bytes, mut floats) = ([0u8; 64], [0f32; 32]);
            let texels = |bytes: &[u8; 64]| {
                let (texels, _) = bytes.as_chunks::<4>();
                core::array::from_fn(|i| u32::from_le_bytes(texels[i]))
            };
            let decode = |name: &str| {
                super::decode(super::super::TABLE.iter().find(|row| row.name == name).expect("a row"), &block)
            };
            bcdec_rs::bc1(&block[..8], &mut bytes, 16);
            assert_eq!(decode("BC1_RGBA_UNORM_BLOCK")[0], texels(&bytes), "{block:x?}");
            bcdec_rs::bc2(&block, &mut bytes, 16);
            assert_eq!(decode("BC2_UNORM_BLOCK")[0], texels(&bytes), "{block:x?}");
            bcdec_rs::bc3(&block, &mut bytes, 16);
            // The alpha of bcdec is truncated to bytes, not rounded.
            let colors = |texels: [u32; 16]| texels.map(|texel| texel & 0x00ff_ffff);
            assert_eq!(colors(decode("BC3_UNORM_BLOCK")[0]), colors(texels(&bytes)), "{block:x?}");
            for (name, signed) in [("BC5_UNORM_BLOCK", false), ("BC5_SNORM_BLOCK", true)] {
                bcdec_rs::bc5_float(&block, &mut floats, 8, signed);
                let want = [0, 1].map(|w: usize| core::array::from_fn(|i| floats[2 * i + w].to_bits()));
                assert_eq!(decode(name), want, "{block:x?}");
            }
        }
    }
}
