//! The format table: one row per core `VkFormat`; block, channels, class and features all come from the row.
//!
//! So do the planes that an image has ([`Plane`]): depth and stencil are planes of their own, and `D24_UNORM_S8_UINT` stores depth as 24 bits
//! in a u32. Packing and unpacking are derived from the row (`pack`).

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
pub use row::{BlockWords, Row, Texel, UNORM8};
pub use table::TABLE;
pub use ycbcr::{Part, parts};

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

/// What a channel is.
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
    /// Which component of a texel it is.
    pub name: ChannelName,
    /// How its bits are read.
    pub ty: ChannelType,
    /// Width in bits.
    pub bits: u8,
    /// First bit in the little-endian block.
    pub shift: u8,
}

/// How the block is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Texels of `channels`.
    Plain,
    /// BC1–BC7.
    Bc,
    /// ETC2 / EAC.
    Etc2,
    /// ASTC of two dimensions.
    Astc,
    /// ASTC whose texels become bytes ([`Format::in_bytes`]).
    AstcInBytes,
    /// Depth and/or stencil.
    DepthStencil,
    /// Several planes, each of a plain format.
    MultiPlanar,
    /// Two texels that share their R and B, side by side.
    Packed422,
    /// Not usable (UNDEFINED).
    None,
}

/// Features a format has for buffers and images; a subset of `VkFormatFeatureFlagBits`, same bit values.
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

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// `VK_FORMAT_` name without the prefix.
    pub name: &'static str,
    /// `VkFormat` value.
    pub vk: u32,
    /// How texels lie in memory.
    pub layout: Layout,
    /// Bytes per block. For depth/stencil: bytes of the depth plane's texel (or the stencil's for S8). 0 for multi-planar formats.
    pub block_bytes: u8,
    /// Block width and height in texels.
    pub block: (u8, u8),
    /// Channels in memory order; `channel_count` used.
    pub channels: [Channel; 4],
    /// Channels in use.
    pub channel_count: u8,
    /// What an image is made of, in memory order; `plane_count` used (see [`FormatInfo::planes`]).
    pub planes: [Plane; MAX_PLANES],
    /// Planes in use.
    pub plane_count: u8,
    /// `optimalTilingFeatures` (bits of [`features`]); linear tiling: the same for colour formats.
    pub image_features: u32,
    /// `bufferFeatures`.
    pub buffer_features: u32,
}

impl Format {
    /// `VK_FORMAT_UNDEFINED`.
    pub const UNDEFINED: Format = Format(0);
    /// `VK_FORMAT_S8_UINT`.
    pub const S8_UINT: Format = Format(127);

    /// The row of a `VkFormat` value; `None` for values outside the table.
    pub fn from_vk(vk: u32) -> Option<Format> {
        TABLE.binary_search_by_key(&vk, |row| row.vk).ok().map(|i| Format(i as u16))
    }
    /// The row.
    #[inline]
    pub fn info(self) -> &'static FormatInfo {
        &TABLE[self.0 as usize]
    }
    /// True when the format has a depth channel.
    pub fn has_depth(self) -> bool {
        self.has(ChannelName::D)
    }
    /// True when the format has a stencil channel.
    pub fn has_stencil(self) -> bool {
        self.has(ChannelName::S)
    }
    /// True when the format has an alpha channel.
    pub fn has_alpha(self) -> bool {
        self.has(ChannelName::A)
    }
    /// True for pure integer colour formats (and stencil-only).
    #[inline]
    pub fn is_integer(self) -> bool {
        let info = self.info();
        info.channel_count > 0 && matches!(info.channels[0].ty, ChannelType::Uint | ChannelType::Sint)
    }
    /// How many integers of 64 bits a texel is; 0 for all other formats.
    pub fn long_integers(self) -> u8 {
        let info = self.info();
        if self.is_integer() && info.channels[0].bits == 64 { info.channel_count } else { 0 }
    }
    /// True for signed integer formats.
    pub fn is_signed_integer(self) -> bool {
        self.is_integer() && self.info().channels[0].ty == ChannelType::Sint
    }
    /// True for the block-compressed layouts.
    #[inline]
    pub fn is_compressed(self) -> bool {
        matches!(self.info().layout, Layout::Bc | Layout::Etc2 | Layout::Astc | Layout::AstcInBytes)
    }
    /// What a view sees that wants the texels of an ASTC format as bytes (`decode_unorm8`; `VkImageViewASTCDecodeModeEXT`): a row that is no `VkFormat`. Any other
    /// format, and sRGB, which is bytes, as it is.
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
