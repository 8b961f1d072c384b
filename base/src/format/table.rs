//! The rows of the format table, sorted by `VkFormat` value.
//!
//! Features are exact: a bit is set if and only if a kernel of Grus implements it
//! (`pack`, `blocks`, `texture`, `transfer`, blending). They cover the
//! specification's "Required Format Support" tables; the test in this file has a separate list of
//! the required bits. Formats without features are in the table for their block sizes (floats of 64
//! bits, three components of 8 or 16, D16_UNORM_S8_UINT).

#![forbid(unsafe_code)]

use super::ChannelName::{A, B, D, E, G, R, S};
use super::ChannelType::{Sfloat, Sint, Snorm, Srgb, Sscaled, Ufloat, Uint, Unorm, Uscaled};
use super::*;

const TRANSFER: u32 = features::TRANSFER_SRC | features::TRANSFER_DST;
/// Features of formats that are only blitted, for images that views of other formats use; the host
/// copies them.
const BLITTED: u32 = features::BLIT_SRC | features::BLIT_DST;
/// Features of formats that are sampled with nearest filtering only.
const SAMPLED: u32 = features::SAMPLED_IMAGE | features::BLIT_SRC | TRANSFER;
/// Features of formats that are sampled with every filter.
const FILTERED: u32 = SAMPLED | features::SAMPLED_IMAGE_FILTER_LINEAR | features::SAMPLED_IMAGE_FILTER_MINMAX;
const TARGET: u32 = features::COLOR_ATTACHMENT | features::BLIT_DST;
const BLENDED: u32 = TARGET | features::COLOR_ATTACHMENT_BLEND;
const STORAGE: u32 = features::STORAGE_IMAGE;
const DEPTH: u32 = FILTERED | features::DEPTH_STENCIL_ATTACHMENT | features::BLIT_DST;
const STENCIL: u32 = SAMPLED | features::DEPTH_STENCIL_ATTACHMENT | features::BLIT_DST;

const VERTEX: u32 = features::VERTEX_BUFFER;
const UNIFORM_TEXEL: u32 = features::UNIFORM_TEXEL_BUFFER;
const ALL_BUFFERS: u32 = VERTEX | UNIFORM_TEXEL | features::STORAGE_TEXEL_BUFFER;

const NO_CHANNEL: Channel = Channel { name: ChannelName::X, ty: Unorm, bits: 0, shift: 0 };

/// Returns the features of an image format that all kernels handle, by channel type.
const fn full(ty: ChannelType) -> u32 {
    match ty {
        Unorm | Snorm | Sfloat => FILTERED | BLENDED | STORAGE,
        Srgb => FILTERED | BLENDED,
        Uint | Sint => SAMPLED | TARGET | STORAGE,
        Uscaled | Sscaled => BLITTED,
        Ufloat => 0,
    }
}

/// Returns the buffer features of a format that all kernels handle, by channel type.
const fn full_buffer(ty: ChannelType) -> u32 {
    match ty {
        Unorm | Snorm | Sfloat | Uint | Sint => ALL_BUFFERS,
        Uscaled | Sscaled => VERTEX,
        Srgb => UNIFORM_TEXEL,
        Ufloat => 0,
    }
}

/// Returns the type of a channel: alpha of sRGB formats is linear.
const fn channel_type(name: ChannelName, ty: ChannelType) -> ChannelType {
    match (name, ty) {
        (A, Srgb) => Unorm,
        _ => ty,
    }
}

const fn base_row(name: &'static str, vk: u32, layout: Layout, block_bytes: u8) -> FormatInfo {
    FormatInfo {
        name,
        vk,
        layout,
        block_bytes,
        block: (1, 1),
        channels: [NO_CHANNEL; 4],
        channel_count: 0,
        planes: [Plane::new(Aspect::Color, vk); MAX_PLANES],
        plane_count: 1,
        image_features: 0,
        buffer_features: 0,
    }
}

/// Makes a format with channels of `bits` bits each, in memory order.
const fn array(name: &'static str, vk: u32, ty: ChannelType, names: &[ChannelName], bits: u8) -> FormatInfo {
    let mut row = base_row(name, vk, Layout::Plain, (names.len() * bits as usize / 8) as u8);
    let mut i = 0;
    while i < names.len() {
        let shift = (i as u32 * bits as u32) as u8;
        row.channels[i] = Channel { name: names[i], ty: channel_type(names[i], ty), bits, shift };
        i += 1;
    }
    row.channel_count = names.len() as u8;
    if bits < 64 {
        row.buffer_features = full_buffer(ty);
        if names.len() != 3 {
            row.image_features = full(ty);
        } else {
            row.buffer_features &= VERTEX | UNIFORM_TEXEL;
            // Attachments are read and written by whole words.
            row.image_features = if bits == 32 { full(ty) & !STORAGE } else { 0 };
        }
    }
    row
}

/// Makes a format with the channels of a `_PACKn` format, most significant first, as in the
/// format's name, and without features.
const fn packed(
    name: &'static str,
    vk: u32,
    ty: ChannelType,
    bytes: u8,
    msb_first: &[(ChannelName, u8)],
) -> FormatInfo {
    let mut row = base_row(name, vk, Layout::Plain, bytes);
    let mut shift = bytes * 8;
    let mut i = 0;
    while i < msb_first.len() {
        let (name, bits) = msb_first[i];
        shift -= bits;
        // The least significant channel comes first, like the memory order of the array formats.
        row.channels[msb_first.len() - 1 - i] = Channel { name, ty: channel_type(name, ty), bits, shift };
        i += 1;
    }
    row.channel_count = msb_first.len() as u8;
    row
}

const fn with(mut row: FormatInfo, image: u32, buffer: u32) -> FormatInfo {
    row.image_features = image;
    row.buffer_features = buffer;
    row
}

/// Makes a 16-bit or 8-bit packed unorm format.
const fn small(name: &'static str, vk: u32, bytes: u8, msb_first: &[(ChannelName, u8)]) -> FormatInfo {
    with(packed(name, vk, Unorm, bytes, msb_first), FILTERED | BLENDED, VERTEX | UNIFORM_TEXEL)
}

/// Makes a format `A8B8G8R8_*_PACK32`, which has the bytes of `R8G8B8A8_*`.
const fn abgr8(name: &'static str, vk: u32, ty: ChannelType) -> FormatInfo {
    with(packed(name, vk, ty, 4, &[(A, 8), (B, 8), (G, 8), (R, 8)]), full(ty), full_buffer(ty))
}

const ARGB10: &[(ChannelName, u8)] = &[(A, 2), (R, 10), (G, 10), (B, 10)];
const ABGR10: &[(ChannelName, u8)] = &[(A, 2), (B, 10), (G, 10), (R, 10)];

const fn packed10(name: &'static str, vk: u32, ty: ChannelType, order: &[(ChannelName, u8)]) -> FormatInfo {
    let image = match ty {
        Unorm | Uint => full(ty),
        Snorm => FILTERED | BLENDED,
        Sint => SAMPLED,
        Uscaled | Sscaled => BLITTED,
        Sfloat | Ufloat | Srgb => 0,
    };
    with(packed(name, vk, ty, 4, order), image, full_buffer(ty))
}

/// Makes a format with depth, of the format in the third part of `depth` (the row's own if it has
/// no stencil), and stencil, each a plane.
const fn depth_stencil(
    name: &'static str,
    vk: u32,
    depth: Option<(ChannelType, u8, u32)>,
    stencil: bool,
) -> FormatInfo {
    const STENCIL8: Channel = Channel { name: S, ty: Uint, bits: 8, shift: 0 };
    let mut row = base_row(name, vk, Layout::DepthStencil, 1);
    row.plane_count = 0;
    if let Some((ty, bits, plane)) = depth {
        row.block_bytes = if bits == 16 { 2 } else { 4 };
        row.channels[0] = Channel { name: D, ty, bits, shift: 0 };
        row.channel_count = 1;
        row.planes[0] = Plane::new(Aspect::Depth, plane);
        row.plane_count = 1;
        row.image_features = DEPTH;
    } else {
        row.image_features = STENCIL;
    }
    if stencil {
        row.channels[row.channel_count as usize] = STENCIL8;
        row.channel_count += 1;
        row.planes[row.plane_count as usize] = Plane::new(Aspect::Stencil, S8_UINT);
        row.plane_count += 1;
    }
    row
}

const D16: (ChannelType, u8, u32) = (Unorm, 16, 124);
const D24: (ChannelType, u8, u32) = (Unorm, 24, 125);
const D32: (ChannelType, u8, u32) = (Sfloat, 32, 126);
const S8_UINT: u32 = 127;

/// Features of formats that are sampled by a sampler Y'CbCr conversion.
const CONVERTED: u32 = features::SAMPLED_IMAGE
    | features::SAMPLED_IMAGE_FILTER_LINEAR
    | TRANSFER
    | features::MIDPOINT_CHROMA_SAMPLES
    | features::COSITED_CHROMA_SAMPLES
    | features::SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER
    | features::SAMPLED_IMAGE_YCBCR_CONVERSION_SEPARATE_RECONSTRUCTION_FILTER;

/// Makes a multi-planar format from the formats of its planes; planes after the first have one
/// texel for `subsampling` texels of the image.
const fn multi_planar(name: &'static str, vk: u32, planes: &[u32], subsampling: (u8, u8)) -> FormatInfo {
    let mut row = base_row(name, vk, Layout::MultiPlanar, 0);
    let mut i = 0;
    while i < planes.len() {
        let subsampling = if i == 0 { (1, 1) } else { subsampling };
        row.planes[i] = Plane { aspect: Aspect::PLANES[i], vk: planes[i], subsampling };
        i += 1;
    }
    row.plane_count = planes.len() as u8;
    row.image_features = CONVERTED | features::DISJOINT;
    row
}

/// Makes a format whose channels are the upper `bits` of 16 each, in memory order; the lower bits
/// are unused.
const fn padded(name: &'static str, vk: u32, names: &[ChannelName], bits: u8) -> FormatInfo {
    let mut row = array(name, vk, Unorm, names, 16);
    let mut i = 0;
    while i < names.len() {
        row.channels[i].bits = bits;
        row.channels[i].shift += 16 - bits;
        i += 1;
    }
    row
}

/// Makes a format that is sampled with and without conversions.
const fn convertible(mut row: FormatInfo) -> FormatInfo {
    row.image_features |= CONVERTED;
    row
}

/// Makes a format with two texels in a block, each with the upper `bits` of its own luma; channels
/// are in memory order.
const fn packed422(name: &'static str, vk: u32, names: &[ChannelName], bits: u8) -> FormatInfo {
    let mut row = if bits == 8 { array(name, vk, Unorm, names, 8) } else { padded(name, vk, names, bits) };
    row.layout = Layout::Packed422;
    row.block = (2, 1);
    (row.image_features, row.buffer_features) = (CONVERTED, 0);
    row
}

/// Makes a block-compressed format, whose channels have no width or position.
const fn block(
    name: &'static str,
    vk: u32,
    layout: Layout,
    bytes: u8,
    size: (u8, u8),
    ty: ChannelType,
    names: &[ChannelName],
) -> FormatInfo {
    let mut row = base_row(name, vk, layout, bytes);
    row.block = size;
    let mut i = 0;
    while i < names.len() {
        row.channels[i] = Channel { name: names[i], ty: channel_type(names[i], ty), bits: 0, shift: 0 };
        i += 1;
    }
    row.channel_count = names.len() as u8;
    row.image_features = match layout {
        Layout::Bc | Layout::Etc2 | Layout::Astc | Layout::AstcInBytes => FILTERED,
        _ => 0,
    };
    row
}

const fn bc(name: &'static str, vk: u32, bytes: u8, ty: ChannelType, names: &[ChannelName]) -> FormatInfo {
    block(name, vk, Layout::Bc, bytes, (4, 4), ty, names)
}

const fn etc(name: &'static str, vk: u32, bytes: u8, ty: ChannelType, names: &[ChannelName]) -> FormatInfo {
    block(name, vk, Layout::Etc2, bytes, (4, 4), ty, names)
}

const fn astc(name: &'static str, vk: u32, size: (u8, u8), ty: ChannelType) -> FormatInfo {
    block(name, vk, Layout::Astc, 16, size, ty, RGBA)
}

/// Makes an ASTC format whose texels become bytes. No `VkFormat` has so large a number.
const fn astc_in_bytes(name: &'static str, vk: u32, size: (u8, u8)) -> FormatInfo {
    block(name, 1 << 31 | vk, Layout::AstcInBytes, 16, size, Unorm, RGBA)
}

/// Makes a format of 64-bit integers, for storage images (except with three components) and texel
/// buffers.
const fn longs(name: &'static str, vk: u32, ty: ChannelType, names: &[ChannelName]) -> FormatInfo {
    let row = array(name, vk, ty, names, 64);
    match names.len() {
        3 => with(row, 0, UNIFORM_TEXEL),
        _ => with(row, TRANSFER | STORAGE, UNIFORM_TEXEL | features::STORAGE_TEXEL_BUFFER),
    }
}

/// Makes a format of one 64-bit integer, which supports atomics too.
const fn long(name: &'static str, vk: u32, ty: ChannelType) -> FormatInfo {
    atomic(longs(name, vk, ty, RED))
}

/// Adds the atomic features of formats of 32 or 64 bits, which have one component, or halves.
const fn atomic(mut row: FormatInfo) -> FormatInfo {
    row.image_features |= features::STORAGE_IMAGE_ATOMIC;
    row.buffer_features |= features::STORAGE_TEXEL_BUFFER_ATOMIC;
    row
}

const RED: &[ChannelName] = &[R];
const RG: &[ChannelName] = &[R, G];
const RGB: &[ChannelName] = &[R, G, B];
const BGR: &[ChannelName] = &[B, G, R];
const RGBA: &[ChannelName] = &[R, G, B, A];
const BGRA: &[ChannelName] = &[B, G, R, A];
const GBGR: &[ChannelName] = &[G, B, G, R];
const BGRG: &[ChannelName] = &[B, G, R, G];

/// All formats, sorted by `vk`.
pub static TABLE: &[FormatInfo] = &[
    base_row("UNDEFINED", 0, Layout::None, 0),
    small("R4G4_UNORM_PACK8", 1, 1, &[(R, 4), (G, 4)]),
    small("R4G4B4A4_UNORM_PACK16", 2, 2, &[(R, 4), (G, 4), (B, 4), (A, 4)]),
    small("B4G4R4A4_UNORM_PACK16", 3, 2, &[(B, 4), (G, 4), (R, 4), (A, 4)]),
    small("R5G6B5_UNORM_PACK16", 4, 2, &[(R, 5), (G, 6), (B, 5)]),
    small("B5G6R5_UNORM_PACK16", 5, 2, &[(B, 5), (G, 6), (R, 5)]),
    small("R5G5B5A1_UNORM_PACK16", 6, 2, &[(R, 5), (G, 5), (B, 5), (A, 1)]),
    small("B5G5R5A1_UNORM_PACK16", 7, 2, &[(B, 5), (G, 5), (R, 5), (A, 1)]),
    small("A1R5G5B5_UNORM_PACK16", 8, 2, &[(A, 1), (R, 5), (G, 5), (B, 5)]),
    array("R8_UNORM", 9, Unorm, RED, 8),
    array("R8_SNORM", 10, Snorm, RED, 8),
    array("R8_USCALED", 11, Uscaled, RED, 8),
    array("R8_SSCALED", 12, Sscaled, RED, 8),
    array("R8_UINT", 13, Uint, RED, 8),
    array("R8_SINT", 14, Sint, RED, 8),
    array("R8_SRGB", 15, Srgb, RED, 8),
    array("R8G8_UNORM", 16, Unorm, RG, 8),
    array("R8G8_SNORM", 17, Snorm, RG, 8),
    array("R8G8_USCALED", 18, Uscaled, RG, 8),
    array("R8G8_SSCALED", 19, Sscaled, RG, 8),
    array("R8G8_UINT", 20, Uint, RG, 8),
    array("R8G8_SINT", 21, Sint, RG, 8),
    array("R8G8_SRGB", 22, Srgb, RG, 8),
    array("R8G8B8_UNORM", 23, Unorm, RGB, 8),
    array("R8G8B8_SNORM", 24, Snorm, RGB, 8),
    array("R8G8B8_USCALED", 25, Uscaled, RGB, 8),
    array("R8G8B8_SSCALED", 26, Sscaled, RGB, 8),
    array("R8G8B8_UINT", 27, Uint, RGB, 8),
    array("R8G8B8_SINT", 28, Sint, RGB, 8),
    array("R8G8B8_SRGB", 29, Srgb, RGB, 8),
    array("B8G8R8_UNORM", 30, Unorm, BGR, 8),
    array("B8G8R8_SNORM", 31, Snorm, BGR, 8),
    array("B8G8R8_USCALED", 32, Uscaled, BGR, 8),
    array("B8G8R8_SSCALED", 33, Sscaled, BGR, 8),
    array("B8G8R8_UINT", 34, Uint, BGR, 8),
    array("B8G8R8_SINT", 35, Sint, BGR, 8),
    array("B8G8R8_SRGB", 36, Srgb, BGR, 8),
    array("R8G8B8A8_UNORM", 37, Unorm, RGBA, 8),
    array("R8G8B8A8_SNORM", 38, Snorm, RGBA, 8),
    array("R8G8B8A8_USCALED", 39, Uscaled, RGBA, 8),
    array("R8G8B8A8_SSCALED", 40, Sscaled, RGBA, 8),
    array("R8G8B8A8_UINT", 41, Uint, RGBA, 8),
    array("R8G8B8A8_SINT", 42, Sint, RGBA, 8),
    array("R8G8B8A8_SRGB", 43, Srgb, RGBA, 8),
    array("B8G8R8A8_UNORM", 44, Unorm, BGRA, 8),
    array("B8G8R8A8_SNORM", 45, Snorm, BGRA, 8),
    array("B8G8R8A8_USCALED", 46, Uscaled, BGRA, 8),
    array("B8G8R8A8_SSCALED", 47, Sscaled, BGRA, 8),
    array("B8G8R8A8_UINT", 48, Uint, BGRA, 8),
    array("B8G8R8A8_SINT", 49, Sint, BGRA, 8),
    array("B8G8R8A8_SRGB", 50, Srgb, BGRA, 8),
    abgr8("A8B8G8R8_UNORM_PACK32", 51, Unorm),
    abgr8("A8B8G8R8_SNORM_PACK32", 52, Snorm),
    abgr8("A8B8G8R8_USCALED_PACK32", 53, Uscaled),
    abgr8("A8B8G8R8_SSCALED_PACK32", 54, Sscaled),
    abgr8("A8B8G8R8_UINT_PACK32", 55, Uint),
    abgr8("A8B8G8R8_SINT_PACK32", 56, Sint),
    abgr8("A8B8G8R8_SRGB_PACK32", 57, Srgb),
    packed10("A2R10G10B10_UNORM_PACK32", 58, Unorm, ARGB10),
    packed10("A2R10G10B10_SNORM_PACK32", 59, Snorm, ARGB10),
    packed10("A2R10G10B10_USCALED_PACK32", 60, Uscaled, ARGB10),
    packed10("A2R10G10B10_SSCALED_PACK32", 61, Sscaled, ARGB10),
    packed10("A2R10G10B10_UINT_PACK32", 62, Uint, ARGB10),
    packed10("A2R10G10B10_SINT_PACK32", 63, Sint, ARGB10),
    packed10("A2B10G10R10_UNORM_PACK32", 64, Unorm, ABGR10),
    packed10("A2B10G10R10_SNORM_PACK32", 65, Snorm, ABGR10),
    packed10("A2B10G10R10_USCALED_PACK32", 66, Uscaled, ABGR10),
    packed10("A2B10G10R10_SSCALED_PACK32", 67, Sscaled, ABGR10),
    packed10("A2B10G10R10_UINT_PACK32", 68, Uint, ABGR10),
    packed10("A2B10G10R10_SINT_PACK32", 69, Sint, ABGR10),
    array("R16_UNORM", 70, Unorm, RED, 16),
    array("R16_SNORM", 71, Snorm, RED, 16),
    array("R16_USCALED", 72, Uscaled, RED, 16),
    array("R16_SSCALED", 73, Sscaled, RED, 16),
    array("R16_UINT", 74, Uint, RED, 16),
    array("R16_SINT", 75, Sint, RED, 16),
    array("R16_SFLOAT", 76, Sfloat, RED, 16),
    array("R16G16_UNORM", 77, Unorm, RG, 16),
    array("R16G16_SNORM", 78, Snorm, RG, 16),
    array("R16G16_USCALED", 79, Uscaled, RG, 16),
    array("R16G16_SSCALED", 80, Sscaled, RG, 16),
    array("R16G16_UINT", 81, Uint, RG, 16),
    array("R16G16_SINT", 82, Sint, RG, 16),
    atomic(array("R16G16_SFLOAT", 83, Sfloat, RG, 16)),
    array("R16G16B16_UNORM", 84, Unorm, RGB, 16),
    array("R16G16B16_SNORM", 85, Snorm, RGB, 16),
    array("R16G16B16_USCALED", 86, Uscaled, RGB, 16),
    array("R16G16B16_SSCALED", 87, Sscaled, RGB, 16),
    array("R16G16B16_UINT", 88, Uint, RGB, 16),
    array("R16G16B16_SINT", 89, Sint, RGB, 16),
    array("R16G16B16_SFLOAT", 90, Sfloat, RGB, 16),
    array("R16G16B16A16_UNORM", 91, Unorm, RGBA, 16),
    array("R16G16B16A16_SNORM", 92, Snorm, RGBA, 16),
    array("R16G16B16A16_USCALED", 93, Uscaled, RGBA, 16),
    array("R16G16B16A16_SSCALED", 94, Sscaled, RGBA, 16),
    array("R16G16B16A16_UINT", 95, Uint, RGBA, 16),
    array("R16G16B16A16_SINT", 96, Sint, RGBA, 16),
    atomic(array("R16G16B16A16_SFLOAT", 97, Sfloat, RGBA, 16)),
    atomic(array("R32_UINT", 98, Uint, RED, 32)),
    atomic(array("R32_SINT", 99, Sint, RED, 32)),
    atomic(array("R32_SFLOAT", 100, Sfloat, RED, 32)),
    array("R32G32_UINT", 101, Uint, RG, 32),
    array("R32G32_SINT", 102, Sint, RG, 32),
    array("R32G32_SFLOAT", 103, Sfloat, RG, 32),
    array("R32G32B32_UINT", 104, Uint, RGB, 32),
    array("R32G32B32_SINT", 105, Sint, RGB, 32),
    array("R32G32B32_SFLOAT", 106, Sfloat, RGB, 32),
    array("R32G32B32A32_UINT", 107, Uint, RGBA, 32),
    array("R32G32B32A32_SINT", 108, Sint, RGBA, 32),
    array("R32G32B32A32_SFLOAT", 109, Sfloat, RGBA, 32),
    long("R64_UINT", 110, Uint),
    long("R64_SINT", 111, Sint),
    array("R64_SFLOAT", 112, Sfloat, RED, 64),
    longs("R64G64_UINT", 113, Uint, RG),
    longs("R64G64_SINT", 114, Sint, RG),
    array("R64G64_SFLOAT", 115, Sfloat, RG, 64),
    longs("R64G64B64_UINT", 116, Uint, RGB),
    longs("R64G64B64_SINT", 117, Sint, RGB),
    array("R64G64B64_SFLOAT", 118, Sfloat, RGB, 64),
    longs("R64G64B64A64_UINT", 119, Uint, RGBA),
    longs("R64G64B64A64_SINT", 120, Sint, RGBA),
    array("R64G64B64A64_SFLOAT", 121, Sfloat, RGBA, 64),
    with(
        packed("B10G11R11_UFLOAT_PACK32", 122, Ufloat, 4, &[(B, 10), (G, 11), (R, 11)]),
        FILTERED | BLENDED | STORAGE,
        ALL_BUFFERS,
    ),
    with(
        packed("E5B9G9R9_UFLOAT_PACK32", 123, Ufloat, 4, &[(E, 5), (B, 9), (G, 9), (R, 9)]),
        FILTERED,
        VERTEX | UNIFORM_TEXEL,
    ),
    depth_stencil("D16_UNORM", 124, Some(D16), false),
    depth_stencil("X8_D24_UNORM_PACK32", 125, Some(D24), false),
    depth_stencil("D32_SFLOAT", 126, Some(D32), false),
    depth_stencil("S8_UINT", 127, None, true),
    with(depth_stencil("D16_UNORM_S8_UINT", 128, Some(D16), true), 0, 0),
    depth_stencil("D24_UNORM_S8_UINT", 129, Some(D24), true),
    depth_stencil("D32_SFLOAT_S8_UINT", 130, Some(D32), true),
    bc("BC1_RGB_UNORM_BLOCK", 131, 8, Unorm, RGB),
    bc("BC1_RGB_SRGB_BLOCK", 132, 8, Srgb, RGB),
    bc("BC1_RGBA_UNORM_BLOCK", 133, 8, Unorm, RGBA),
    bc("BC1_RGBA_SRGB_BLOCK", 134, 8, Srgb, RGBA),
    bc("BC2_UNORM_BLOCK", 135, 16, Unorm, RGBA),
    bc("BC2_SRGB_BLOCK", 136, 16, Srgb, RGBA),
    bc("BC3_UNORM_BLOCK", 137, 16, Unorm, RGBA),
    bc("BC3_SRGB_BLOCK", 138, 16, Srgb, RGBA),
    bc("BC4_UNORM_BLOCK", 139, 8, Unorm, RED),
    bc("BC4_SNORM_BLOCK", 140, 8, Snorm, RED),
    bc("BC5_UNORM_BLOCK", 141, 16, Unorm, RG),
    bc("BC5_SNORM_BLOCK", 142, 16, Snorm, RG),
    bc("BC6H_UFLOAT_BLOCK", 143, 16, Ufloat, RGB),
    bc("BC6H_SFLOAT_BLOCK", 144, 16, Sfloat, RGB),
    bc("BC7_UNORM_BLOCK", 145, 16, Unorm, RGBA),
    bc("BC7_SRGB_BLOCK", 146, 16, Srgb, RGBA),
    etc("ETC2_R8G8B8_UNORM_BLOCK", 147, 8, Unorm, RGB),
    etc("ETC2_R8G8B8_SRGB_BLOCK", 148, 8, Srgb, RGB),
    etc("ETC2_R8G8B8A1_UNORM_BLOCK", 149, 8, Unorm, RGBA),
    etc("ETC2_R8G8B8A1_SRGB_BLOCK", 150, 8, Srgb, RGBA),
    etc("ETC2_R8G8B8A8_UNORM_BLOCK", 151, 16, Unorm, RGBA),
    etc("ETC2_R8G8B8A8_SRGB_BLOCK", 152, 16, Srgb, RGBA),
    etc("EAC_R11_UNORM_BLOCK", 153, 8, Unorm, RED),
    etc("EAC_R11_SNORM_BLOCK", 154, 8, Snorm, RED),
    etc("EAC_R11G11_UNORM_BLOCK", 155, 16, Unorm, RG),
    etc("EAC_R11G11_SNORM_BLOCK", 156, 16, Snorm, RG),
    astc("ASTC_4x4_UNORM_BLOCK", 157, (4, 4), Unorm),
    astc("ASTC_4x4_SRGB_BLOCK", 158, (4, 4), Srgb),
    astc("ASTC_5x4_UNORM_BLOCK", 159, (5, 4), Unorm),
    astc("ASTC_5x4_SRGB_BLOCK", 160, (5, 4), Srgb),
    astc("ASTC_5x5_UNORM_BLOCK", 161, (5, 5), Unorm),
    astc("ASTC_5x5_SRGB_BLOCK", 162, (5, 5), Srgb),
    astc("ASTC_6x5_UNORM_BLOCK", 163, (6, 5), Unorm),
    astc("ASTC_6x5_SRGB_BLOCK", 164, (6, 5), Srgb),
    astc("ASTC_6x6_UNORM_BLOCK", 165, (6, 6), Unorm),
    astc("ASTC_6x6_SRGB_BLOCK", 166, (6, 6), Srgb),
    astc("ASTC_8x5_UNORM_BLOCK", 167, (8, 5), Unorm),
    astc("ASTC_8x5_SRGB_BLOCK", 168, (8, 5), Srgb),
    astc("ASTC_8x6_UNORM_BLOCK", 169, (8, 6), Unorm),
    astc("ASTC_8x6_SRGB_BLOCK", 170, (8, 6), Srgb),
    astc("ASTC_8x8_UNORM_BLOCK", 171, (8, 8), Unorm),
    astc("ASTC_8x8_SRGB_BLOCK", 172, (8, 8), Srgb),
    astc("ASTC_10x5_UNORM_BLOCK", 173, (10, 5), Unorm),
    astc("ASTC_10x5_SRGB_BLOCK", 174, (10, 5), Srgb),
    astc("ASTC_10x6_UNORM_BLOCK", 175, (10, 6), Unorm),
    astc("ASTC_10x6_SRGB_BLOCK", 176, (10, 6), Srgb),
    astc("ASTC_10x8_UNORM_BLOCK", 177, (10, 8), Unorm),
    astc("ASTC_10x8_SRGB_BLOCK", 178, (10, 8), Srgb),
    astc("ASTC_10x10_UNORM_BLOCK", 179, (10, 10), Unorm),
    astc("ASTC_10x10_SRGB_BLOCK", 180, (10, 10), Srgb),
    astc("ASTC_12x10_UNORM_BLOCK", 181, (12, 10), Unorm),
    astc("ASTC_12x10_SRGB_BLOCK", 182, (12, 10), Srgb),
    astc("ASTC_12x12_UNORM_BLOCK", 183, (12, 12), Unorm),
    astc("ASTC_12x12_SRGB_BLOCK", 184, (12, 12), Srgb),
    astc("ASTC_4x4_SFLOAT_BLOCK", 1000066000, (4, 4), Sfloat),
    astc("ASTC_5x4_SFLOAT_BLOCK", 1000066001, (5, 4), Sfloat),
    astc("ASTC_5x5_SFLOAT_BLOCK", 1000066002, (5, 5), Sfloat),
    astc("ASTC_6x5_SFLOAT_BLOCK", 1000066003, (6, 5), Sfloat),
    astc("ASTC_6x6_SFLOAT_BLOCK", 1000066004, (6, 6), Sfloat),
    astc("ASTC_8x5_SFLOAT_BLOCK", 1000066005, (8, 5), Sfloat),
    astc("ASTC_8x6_SFLOAT_BLOCK", 1000066006, (8, 6), Sfloat),
    astc("ASTC_8x8_SFLOAT_BLOCK", 1000066007, (8, 8), Sfloat),
    astc("ASTC_10x5_SFLOAT_BLOCK", 1000066008, (10, 5), Sfloat),
    astc("ASTC_10x6_SFLOAT_BLOCK", 1000066009, (10, 6), Sfloat),
    astc("ASTC_10x8_SFLOAT_BLOCK", 1000066010, (10, 8), Sfloat),
    astc("ASTC_10x10_SFLOAT_BLOCK", 1000066011, (10, 10), Sfloat),
    astc("ASTC_12x10_SFLOAT_BLOCK", 1000066012, (12, 10), Sfloat),
    astc("ASTC_12x12_SFLOAT_BLOCK", 1000066013, (12, 12), Sfloat),
    packed422("G8B8G8R8_422_UNORM", 1000156000, GBGR, 8),
    packed422("B8G8R8G8_422_UNORM", 1000156001, BGRG, 8),
    multi_planar("G8_B8_R8_3PLANE_420_UNORM", 1000156002, &[9, 9, 9], (2, 2)),
    multi_planar("G8_B8R8_2PLANE_420_UNORM", 1000156003, &[9, 16], (2, 2)),
    multi_planar("G8_B8_R8_3PLANE_422_UNORM", 1000156004, &[9, 9, 9], (2, 1)),
    multi_planar("G8_B8R8_2PLANE_422_UNORM", 1000156005, &[9, 16], (2, 1)),
    multi_planar("G8_B8_R8_3PLANE_444_UNORM", 1000156006, &[9, 9, 9], (1, 1)),
    padded("R10X6_UNORM_PACK16", 1000156007, RED, 10),
    padded("R10X6G10X6_UNORM_2PACK16", 1000156008, RG, 10),
    convertible(padded("R10X6G10X6B10X6A10X6_UNORM_4PACK16", 1000156009, RGBA, 10)),
    packed422("G10X6B10X6G10X6R10X6_422_UNORM_4PACK16", 1000156010, GBGR, 10),
    packed422("B10X6G10X6R10X6G10X6_422_UNORM_4PACK16", 1000156011, BGRG, 10),
    multi_planar(
        "G10X6_B10X6_R10X6_3PLANE_420_UNORM_3PACK16",
        1000156012,
        &[1000156007, 1000156007, 1000156007],
        (2, 2),
    ),
    multi_planar("G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16", 1000156013, &[1000156007, 1000156008], (2, 2)),
    multi_planar(
        "G10X6_B10X6_R10X6_3PLANE_422_UNORM_3PACK16",
        1000156014,
        &[1000156007, 1000156007, 1000156007],
        (2, 1),
    ),
    multi_planar("G10X6_B10X6R10X6_2PLANE_422_UNORM_3PACK16", 1000156015, &[1000156007, 1000156008], (2, 1)),
    multi_planar(
        "G10X6_B10X6_R10X6_3PLANE_444_UNORM_3PACK16",
        1000156016,
        &[1000156007, 1000156007, 1000156007],
        (1, 1),
    ),
    padded("R12X4_UNORM_PACK16", 1000156017, RED, 12),
    padded("R12X4G12X4_UNORM_2PACK16", 1000156018, RG, 12),
    with(padded("R12X4G12X4B12X4A12X4_UNORM_4PACK16", 1000156019, RGBA, 12), CONVERTED, 0),
    packed422("G12X4B12X4G12X4R12X4_422_UNORM_4PACK16", 1000156020, GBGR, 12),
    packed422("B12X4G12X4R12X4G12X4_422_UNORM_4PACK16", 1000156021, BGRG, 12),
    multi_planar(
        "G12X4_B12X4_R12X4_3PLANE_420_UNORM_3PACK16",
        1000156022,
        &[1000156017, 1000156017, 1000156017],
        (2, 2),
    ),
    multi_planar("G12X4_B12X4R12X4_2PLANE_420_UNORM_3PACK16", 1000156023, &[1000156017, 1000156018], (2, 2)),
    multi_planar(
        "G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16",
        1000156024,
        &[1000156017, 1000156017, 1000156017],
        (2, 1),
    ),
    multi_planar("G12X4_B12X4R12X4_2PLANE_422_UNORM_3PACK16", 1000156025, &[1000156017, 1000156018], (2, 1)),
    multi_planar(
        "G12X4_B12X4_R12X4_3PLANE_444_UNORM_3PACK16",
        1000156026,
        &[1000156017, 1000156017, 1000156017],
        (1, 1),
    ),
    packed422("G16B16G16R16_422_UNORM", 1000156027, GBGR, 16),
    packed422("B16G16R16G16_422_UNORM", 1000156028, BGRG, 16),
    multi_planar("G16_B16_R16_3PLANE_420_UNORM", 1000156029, &[70, 70, 70], (2, 2)),
    multi_planar("G16_B16R16_2PLANE_420_UNORM", 1000156030, &[70, 77], (2, 2)),
    multi_planar("G16_B16_R16_3PLANE_422_UNORM", 1000156031, &[70, 70, 70], (2, 1)),
    multi_planar("G16_B16R16_2PLANE_422_UNORM", 1000156032, &[70, 77], (2, 1)),
    multi_planar("G16_B16_R16_3PLANE_444_UNORM", 1000156033, &[70, 70, 70], (1, 1)),
    multi_planar("G8_B8R8_2PLANE_444_UNORM", 1000330000, &[9, 16], (1, 1)),
    multi_planar("G10X6_B10X6R10X6_2PLANE_444_UNORM_3PACK16", 1000330001, &[1000156007, 1000156008], (1, 1)),
    multi_planar("G12X4_B12X4R12X4_2PLANE_444_UNORM_3PACK16", 1000330002, &[1000156017, 1000156018], (1, 1)),
    multi_planar("G16_B16R16_2PLANE_444_UNORM", 1000330003, &[70, 77], (1, 1)),
    small("A4R4G4B4_UNORM_PACK16", 1000340000, 2, &[(A, 4), (R, 4), (G, 4), (B, 4)]),
    small("A4B4G4R4_UNORM_PACK16", 1000340001, 2, &[(A, 4), (B, 4), (G, 4), (R, 4)]),
    small("A1B5G5R5_UNORM_PACK16", 1000470000, 2, &[(A, 1), (B, 5), (G, 5), (R, 5)]),
    with(array("A8_UNORM", 1000470001, Unorm, &[A], 8), full(Unorm), ALL_BUFFERS),
    astc_in_bytes("ASTC_4x4_UNORM_BLOCK in bytes", 157, (4, 4)),
    astc_in_bytes("ASTC_5x4_UNORM_BLOCK in bytes", 159, (5, 4)),
    astc_in_bytes("ASTC_5x5_UNORM_BLOCK in bytes", 161, (5, 5)),
    astc_in_bytes("ASTC_6x5_UNORM_BLOCK in bytes", 163, (6, 5)),
    astc_in_bytes("ASTC_6x6_UNORM_BLOCK in bytes", 165, (6, 6)),
    astc_in_bytes("ASTC_8x5_UNORM_BLOCK in bytes", 167, (8, 5)),
    astc_in_bytes("ASTC_8x6_UNORM_BLOCK in bytes", 169, (8, 6)),
    astc_in_bytes("ASTC_8x8_UNORM_BLOCK in bytes", 171, (8, 8)),
    astc_in_bytes("ASTC_10x5_UNORM_BLOCK in bytes", 173, (10, 5)),
    astc_in_bytes("ASTC_10x6_UNORM_BLOCK in bytes", 175, (10, 6)),
    astc_in_bytes("ASTC_10x8_UNORM_BLOCK in bytes", 177, (10, 8)),
    astc_in_bytes("ASTC_10x10_UNORM_BLOCK in bytes", 179, (10, 10)),
    astc_in_bytes("ASTC_12x10_UNORM_BLOCK in bytes", 181, (12, 10)),
    astc_in_bytes("ASTC_12x12_UNORM_BLOCK in bytes", 183, (12, 12)),
];
