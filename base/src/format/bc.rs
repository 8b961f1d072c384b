//! Decoding of BC1–BC7 blocks to texels.
//!
//! The bit-level decoding is `bcdec_rs`; what is decided here is the meaning of its output: sRGB, missing components, and the
//! opaque alpha of `BC1_RGB`. BC4 and BC5 come out as floats at full precision, BC6H as halves.

use super::float::half_to_f32;
use super::pack::ONE;
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
