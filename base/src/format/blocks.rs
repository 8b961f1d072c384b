//! Blocks of compressed formats: decoded whole, to texels of a plain format, by the module of their layout.

#![forbid(unsafe_code)]

use super::row::{BlockWords, row};
use super::{ChannelType, Format, Layout, Texel, bc, etc2, unpack};

/// The format of a compressed format's decoded texels.
pub fn plain(format: Format) -> Format {
    let info = format.info();
    let row = match (info.channel_count, info.channels[0].ty) {
        (1, _) => const { row("R32_SFLOAT") },
        (2, _) => const { row("R32G32_SFLOAT") },
        (_, ChannelType::Ufloat | ChannelType::Sfloat) => const { row("R16G16B16A16_SFLOAT") },
        (_, ChannelType::Srgb) => const { row("R8G8B8A8_SRGB") },
        _ => const { row("R8G8B8A8_UNORM") },
    };
    Format(row as u16)
}

/// The texels of the block at the start of `block`, in the format's [`plain`] one. Zeros for formats that are not decoded.
pub fn decode_words(format: Format, block: &[u8; 16]) -> BlockWords {
    let info = format.info();
    match info.layout {
        Layout::Bc => bc::decode(info, block),
        Layout::Etc2 => etc2::decode(info, block),
        _ => [[0; 16]; 2],
    }
}

/// The 4×4 texels (row by row) of the block at the start of `block`. Zeros for formats that are not decoded.
pub fn decode_block(format: Format, block: &[u8; 16]) -> [Texel; 16] {
    if !matches!(format.info().layout, Layout::Bc | Layout::Etc2) {
        return [[0; 4]; 16];
    }
    let (words, plain) = (decode_words(format, block), plain(format));
    core::array::from_fn(|i| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&words[0][i].to_le_bytes());
        bytes[4..8].copy_from_slice(&words[1][i].to_le_bytes());
        unpack(plain, &bytes)
    })
}
