//! Decoding of BC1–BC7 blocks to texels.
//!
//! The bit-level decoding is `bcdec_rs`; what is decided here is the meaning of its output: sRGB, missing components, and the
//! opaque alpha of `BC1_RGB`. BC4 and BC5 come out as floats at full precision, BC6H as halves.

#![forbid(unsafe_code)]

use super::float::half_to_f32;
use super::row::ONE;
use super::srgb::srgb_to_linear;
use super::{ChannelType, Format, Layout, Texel};

/// The 4×4 texels (row by row) of the block at the start of `block`. Zeros for formats that are not decoded.
pub fn decode_block(format: Format, block: &[u8; 16]) -> [Texel; 16] {
    let info = format.info();
    if info.layout != Layout::Bc {
        return [[0; 4]; 16];
    }
    let name = info.name.as_bytes();
    let signed = matches!(info.channels[0].ty, ChannelType::Snorm | ChannelType::Sfloat);
    match name[2] {
        b'4' => channels::<1>(|out| bcdec_rs::bc4_float(&block[..8], out, 4, signed)),
        b'5' => channels::<2>(|out| bcdec_rs::bc5_float(block, out, 8, signed)),
        b'6' => {
            let mut halves = [0u16; 48];
            bcdec_rs::bc6h_half(block, &mut halves, 12, signed);
            std::array::from_fn(|i| {
                let c = |k: usize| half_to_f32(u32::from(halves[3 * i + k])).to_bits();
                [c(0), c(1), c(2), ONE]
            })
        }
        digit => rgba8(digit, block, info.channels[0].ty == ChannelType::Srgb, info.channel_count == 3),
    }
}

fn channels<const N: usize>(decode: impl FnOnce(&mut [f32])) -> [Texel; 16] {
    let mut values = [0f32; 32];
    decode(&mut values[..16 * N]);
    std::array::from_fn(|i| {
        let mut texel = [0, 0, 0, ONE];
        for (c, out) in texel.iter_mut().enumerate().take(N) {
            *out = values[N * i + c].to_bits();
        }
        texel
    })
}

fn rgba8(digit: u8, block: &[u8; 16], srgb: bool, opaque: bool) -> [Texel; 16] {
    let mut bytes = [0u8; 64];
    match digit {
        b'1' => bcdec_rs::bc1(&block[..8], &mut bytes, 16),
        b'2' => bcdec_rs::bc2(block, &mut bytes, 16),
        b'3' => bcdec_rs::bc3(block, &mut bytes, 16),
        _ => bcdec_rs::bc7(block, &mut bytes, 16),
    }
    let unorm = |v: u8| (f32::from(v) / 255.0).to_bits();
    std::array::from_fn(|i| {
        let [r, g, b, a] = [bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]];
        let color = |v: u8| if srgb { srgb_to_linear(v).to_bits() } else { unorm(v) };
        [color(r), color(g), color(b), if opaque { ONE } else { unorm(a) }]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn decode(name: &str, bytes: &[u8]) -> [Texel; 16] {
        let row = super::super::TABLE.iter().position(|row| row.name == name).expect("a row");
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        decode_block(Format(row as u16), &block)
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
        assert_eq!(decode("ETC2_R8G8B8_UNORM_BLOCK", &[0xff; 16])[0], [0; 4]);
    }

    #[test]
    fn random_blocks_decode_without_panic() {
        let mut random = Rng(0x9e37_79b9_7f4a_7c15);
        for _ in 0..20_000 {
            let mut block = [0; 16];
            block.fill_with(|| random.wide() as u8);
            for row in 131..=146 {
                for texel in decode_block(Format(row), &block) {
                    assert!(row == 143 || row == 144 || texel.iter().all(|&c| f32::from_bits(c).abs() <= 1.0));
                }
            }
        }
    }
}
