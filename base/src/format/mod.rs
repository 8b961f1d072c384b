//! The format table: one row per core `VkFormat`. Block, channels, class and features all come from
//! the row.
//!
//! The planes of an image come from it too ([`Plane`]): depth and stencil are separate planes, and
//! `D24_UNORM_S8_UINT` stores depth as 24 bits in a u32. Packing and unpacking are derived from the
//! row (`pack`).

mod astc;
mod bc;
mod bc7;
mod bc_srgb;
#[cfg(target_arch = "x86_64")]
pub mod bc_vectors;
mod blocks;
mod etc2;
#[cfg(test)]
mod exact_tests;
pub mod float;
pub mod lanes;
pub mod pack;
mod plane;
mod row;
pub mod small_float;
pub mod srgb;
#[cfg(target_arch = "x86_64")]
pub mod srgb_vectors;
mod table;
#[cfg(test)]
mod tests;
mod ycbcr;
pub use blocks::{decode_block, decode_texel, decode_tiles, plain};
pub use pack::{TexelKernels, kernels, pack, pack_row, unpack, unpack_row};
pub use plane::{Aspect, MAX_PLANES, Plane};
pub use row::{DecodedTile, FormatRow, Texel, UNORM8};
pub use table::TABLE;
pub use ycbcr::{FormatPart, parts};

/// Four words, or four components, of all lanes.
pub type Lanes = [[u32; crate::abi::MAX_LANES]; 4];

/// A row of [`TABLE`], by index. `Format(0)` is `VK_FORMAT_UNDEFINED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Format(pub u16);

/// Encoding of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelType {
    /// Unsigned normalised.
    Unorm,
    /// Signed normalised.
    Snorm,
    /// Unsigned integer converted to float.
    Uscaled,
    /// Signed integer converted to float.
    Sscaled,
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// Signed float (16, 32 or 64 bits).
    Sfloat,
    /// Unsigned float (10, 11 bits; shared exponent E5B9G9R9).
    Ufloat,
    /// sRGB-encoded unsigned normalised (alpha of such formats is Unorm).
    Srgb,
}

/// The component that a channel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelName {
    /// Red, or the only colour channel.
    R,
    /// Green.
    G,
    /// Blue.
    B,
    /// Alpha.
    A,
    /// Depth.
    D,
    /// Stencil.
    S,
    /// Unused bits.
    X,
    /// Shared exponent.
    E,
}

/// One channel of an uncompressed format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Component of a texel that the channel holds.
    pub name: ChannelName,
    /// Encoding of the channel's bits.
    pub ty: ChannelType,
    /// Width in bits.
    pub bits: u8,
    /// First bit in the little-endian block.
    pub shift: u8,
}

/// Coding of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Each texel is stored as `channels`.
    Plain,
    /// BC1–BC7.
    Bc,
    /// ETC2 / EAC.
    Etc2,
    /// ASTC of two dimensions.
    Astc,
    /// ASTC whose texels are decoded to bytes ([`Format::in_bytes`]).
    AstcInBytes,
    /// Depth and/or stencil.
    DepthStencil,
    /// Several planes, each of a plain format.
    MultiPlanar,
    /// Two texels that share their R and B, side by side.
    Packed422,
    /// No layout: the format is UNDEFINED.
    None,
}

/// Features of a format for buffers and images; a subset of `VkFormatFeatureFlagBits` with the same
/// bit values.
pub mod features {
    #![allow(missing_docs, reason = "names and values are the specification's VkFormatFeatureFlagBits")]
    pub const SAMPLED_IMAGE: u32 = 0x1;
    pub const STORAGE_IMAGE: u32 = 0x2;
    pub const STORAGE_IMAGE_ATOMIC: u32 = 0x4;
    pub const UNIFORM_TEXEL_BUFFER: u32 = 0x8;
    pub const STORAGE_TEXEL_BUFFER: u32 = 0x10;
    pub const STORAGE_TEXEL_BUFFER_ATOMIC: u32 = 0x20;
    pub const VERTEX_BUFFER: u32 = 0x40;
    pub const COLOR_ATTACHMENT: u32 = 0x80;
    pub const COLOR_ATTACHMENT_BLEND: u32 = 0x100;
    pub const DEPTH_STENCIL_ATTACHMENT: u32 = 0x200;
    pub const BLIT_SRC: u32 = 0x400;
    pub const BLIT_DST: u32 = 0x800;
    pub const SAMPLED_IMAGE_FILTER_LINEAR: u32 = 0x1000;
    pub const SAMPLED_IMAGE_FILTER_MINMAX: u32 = 0x10000;
    pub const TRANSFER_SRC: u32 = 0x4000;
    pub const TRANSFER_DST: u32 = 0x8000;
    pub const MIDPOINT_CHROMA_SAMPLES: u32 = 0x2_0000;
    pub const SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER: u32 = 0x4_0000;
    pub const SAMPLED_IMAGE_YCBCR_CONVERSION_SEPARATE_RECONSTRUCTION_FILTER: u32 = 0x8_0000;
    pub const DISJOINT: u32 = 0x40_0000;
    pub const COSITED_CHROMA_SAMPLES: u32 = 0x80_0000;
}

/// One row of the format table.
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// `VK_FORMAT_` name without the prefix.
    pub name: &'static str,
    /// `VkFormat` value.
    pub vk: u32,
    /// Layout of texels in memory.
    pub layout: Layout,
    /// Number of bytes per block. For depth/stencil formats it is the size of the depth plane's
    /// texel (or the stencil's for S8); for multi-planar formats it is 0.
    pub block_bytes: u8,
    /// Block width and height in texels.
    pub block: (u8, u8),
    /// Channels in memory order, of which the first `channel_count` are used.
    pub channels: [Channel; 4],
    /// Number of channels.
    pub channel_count: u8,
    /// Planes of an image in memory order, of which the first `plane_count` are used (see
    /// [`FormatInfo::planes`]).
    pub planes: [Plane; MAX_PLANES],
    /// Number of planes.
    pub plane_count: u8,
    /// Features of images with optimal tiling (`optimalTilingFeatures`, bits of [`features`]).
    /// Colour formats have the same ones with linear tiling.
    pub image_features: u32,
    /// Features of buffers (`bufferFeatures`, bits of [`features`]).
    pub buffer_features: u32,
}

impl Format {
    /// `VK_FORMAT_UNDEFINED`.
    pub const UNDEFINED: Format = Format(0);
    /// `VK_FORMAT_S8_UINT`.
    pub const S8_UINT: Format = Format(127);

    /// Returns the row of a `VkFormat` value; `None` for a value that is not in the table.
    pub fn from_vk(vk: u32) -> Option<Format> {
        TABLE.binary_search_by_key(&vk, |row| row.vk).ok().map(|i| Format(i as u16))
    }
    /// Returns the row.
    #[inline]
    pub fn info(self) -> &'static FormatInfo {
        &TABLE[self.0 as usize]
    }
    /// Returns true if the format has a depth channel.
    pub fn has_depth(self) -> bool {
        self.has(ChannelName::D)
    }
    /// Returns true if the format has a stencil channel.
    pub fn has_stencil(self) -> bool {
        self.has(ChannelName::S)
    }
    /// Returns true if the format has an alpha channel.
    pub fn has_alpha(self) -> bool {
        self.has(ChannelName::A)
    }
    /// Returns true for pure integer colour formats and for the stencil-only format.
    #[inline]
    pub fn is_integer(self) -> bool {
        let info = self.info();
        info.channel_count > 0 && matches!(info.channels[0].ty, ChannelType::Uint | ChannelType::Sint)
    }
    /// Returns the number of 64-bit integers in a texel; 0 for formats of other components.
    pub fn long_integers(self) -> u8 {
        let info = self.info();
        if self.is_integer() && info.channels[0].bits == 64 { info.channel_count } else { 0 }
    }
    /// Returns true for signed integer formats.
    pub fn is_signed_integer(self) -> bool {
        self.is_integer() && self.info().channels[0].ty == ChannelType::Sint
    }
    /// Returns true for block-compressed formats.
    #[inline]
    pub fn is_compressed(self) -> bool {
        matches!(self.info().layout, Layout::Bc | Layout::Etc2 | Layout::Astc | Layout::AstcInBytes)
    }
    /// Returns the format of a view that decodes an ASTC format to bytes (`decode_unorm8`;
    /// `VkImageViewASTCDecodeModeEXT`), which is a row that is no `VkFormat`. Any other format is
    /// returned unchanged, and so is sRGB, which is decoded to bytes anyway.
    pub fn in_bytes(self) -> Format {
        let info = self.info();
        let is_wider = info.layout == Layout::Astc && info.channels[0].ty != ChannelType::Srgb;
        let fits = |row: &FormatInfo| row.layout == Layout::AstcInBytes && row.block == info.block;
        let row = TABLE.iter().rposition(|row| is_wider && fits(row));
        row.map_or(self, |row| Format(row as u16))
    }
    fn has(self, name: ChannelName) -> bool {
        let info = self.info();
        info.channels[..info.channel_count as usize].iter().any(|c| c.name == name)
    }
}
