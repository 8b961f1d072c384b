//! Blocks of compressed formats: the module of their layout decodes them whole, to texels of a
//! plain format.
//!
//! A block is passed on in tiles of 4×4 texels, from its first texel on, so that blocks of all
//! sizes are stored in the same positions. Tiles at its right and lower edge may be covered only in
//! part.

#![forbid(unsafe_code)]

use super::row::{DecodedTile, row};
use super::{ChannelType, Format, Layout, Texel, astc, bc, etc2, unpack};

/// Largest number of texels of a block.
const MAX_BLOCK_TEXELS: usize = 144;

/// Returns the format of a compressed format's decoded texels.
pub fn plain(format: Format) -> Format {
    let info = format.info();
    let row = match (info.channel_count, info.channels[0].ty) {
        (1, _) => const { row("R32_SFLOAT") },
        (2, _) => const { row("R32G32_SFLOAT") },
        (_, ChannelType::Ufloat | ChannelType::Sfloat) => const { row("R16G16B16A16_SFLOAT") },
        // The decoder applies the sRGB function before it rounds, so the values are linear.
        (_, ChannelType::Srgb) if bc::is_srgb_of_fractions(info) => const { row("R16G16B16A16_SFLOAT") },
        (_, ChannelType::Srgb) => const { row("R8G8B8A8_SRGB") },
        // These are the halves of decode_float16.
        _ if info.layout == Layout::Astc => const { row("R16G16B16A16_SFLOAT") },
        _ => const { row("R8G8B8A8_UNORM") },
    };
    Format(row as u16)
}

/// Passes on the tiles of the block at the start of `block`, in the format's [`plain`] format, each
/// once. The tile in column `x` (0..3) and row `y` (0..3) of tiles has number `4 * y + x`. Texels
/// beyond the block's edge have any value. Formats that are not decoded give no tiles.
pub fn decode_tiles(format: Format, block: &[u8; 16], give: &mut dyn FnMut(usize, &DecodedTile)) {
    let info = format.info();
    match info.layout {
        Layout::Bc => give(0, &bc::decode(info, block)),
        Layout::Etc2 => give(0, &etc2::decode(info, block)),
        Layout::Astc | Layout::AstcInBytes => astc::decode(info, block, give),
        _ => {}
    }
}

/// Decodes the texels (row by row) of the block at the start of `block`; `texels` must have at
/// least as many. Formats that are not decoded leave `texels` unchanged.
pub fn decode_block(format: Format, block: &[u8; 16], texels: &mut [Texel]) {
    let (plain, (width, height)) = (plain(format), format.info().block);
    let (width, height) = (usize::from(width), usize::from(height));
    decode_tiles(format, block, &mut |tile, words| {
        let (left, top) = (tile % 4 * 4, tile / 4 * 4);
        for y in top..height.min(top + 4) {
            for x in left..width.min(left + 4) {
                let i = (y - top) * 4 + x - left;
                let mut bytes = [0; 16];
                bytes[..4].copy_from_slice(&words[0][i].to_le_bytes());
                bytes[4..8].copy_from_slice(&words[1][i].to_le_bytes());
                texels[y * width + x] = unpack(plain, &bytes);
            }
        }
    });
}

/// Returns the texel at `x` and `y` of an image, which is in the block at the start of `block`. (It
/// is for tests: the whole block is decoded.)
pub fn decode_texel(format: Format, block: &[u8; 16], [x, y]: [u32; 2]) -> Texel {
    let (width, height) = format.info().block;
    let mut texels = [[0; 4]; MAX_BLOCK_TEXELS];
    decode_block(format, block, &mut texels);
    texels[(y % u32::from(height) * u32::from(width) + x % u32::from(width)) as usize]
}
