//! Image layout in memory: the one place that knows where a texel lies.
//!
//! Row-major. Planes (depth, stencil) one after the other; in a plane: samples of a layer are separate sub-images,
//! order: layer → sample → level → slice → row. Offsets are multiples of 64 bytes per level and row pitch is a multiple of 16 bytes.

#![forbid(unsafe_code)]

use crate::abi::{Dim, MAX_LEVELS};
use crate::format::{ChannelName, Format, Layout};

/// What an image is made of; limits were checked by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Format.
    pub format: Format,
    /// D1, D2 or D3.
    pub dim: Dim,
    /// Texels.
    pub extent: [u32; 3],
    /// Mip levels.
    pub levels: u32,
    /// Array layers.
    pub layers: u32,
    /// 1 or 4.
    pub samples: u32,
}

/// One level of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelLayout {
    /// Bytes from the start of the (layer, sample).
    pub offset: u64,
    /// Bytes between rows of blocks.
    pub row_pitch: u64,
    /// Bytes between depth slices; equals the level's size for images that are not 3D.
    pub slice_pitch: u64,
    /// Texels: width, height, depth.
    pub extent: [u32; 3],
}

/// One plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Bytes from the start of the image.
    pub offset: u64,
    /// Bytes per block of this plane.
    pub block_bytes: u32,
    /// Levels.
    pub levels: [LevelLayout; MAX_LEVELS],
    /// Bytes between samples of a layer.
    pub sample_stride: u64,
    /// Bytes between layers.
    pub layer_stride: u64,
}

/// Layout of an image. Plane 0 is colour or depth (or stencil for S8_UINT), plane 1 stencil of combined formats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// What it is the layout of.
    pub desc: ImageDesc,
    /// Planes; `plane_count` used.
    pub planes: [PlaneLayout; 2],
    /// 1, or 2 for combined depth/stencil.
    pub plane_count: usize,
    /// Bytes of the whole image.
    pub size: u64,
}

/// Alignment of image memory, bytes.
pub const IMAGE_ALIGNMENT: u64 = 64;

impl ImageLayout {
    /// Lays an image out. `None` when the size overflows 2^48.
    pub fn new(desc: ImageDesc) -> Option<ImageLayout> {
        let info = desc.format.info();
        let combined = info.layout == Layout::DepthStencil && desc.format.has_depth() && desc.format.has_stencil();
        let mut layout = ImageLayout { desc, planes: [EMPTY_PLANE; 2], plane_count: 1, size: 0 };
        layout.planes[0] = plane(&desc, 0, u32::from(info.block_bytes))?;
        layout.size = layout.planes[0].layer_stride.checked_mul(u64::from(desc.layers))?;
        if combined {
            layout.plane_count = 2;
            layout.planes[1] = plane(&desc, layout.size, 1)?;
            layout.size += layout.planes[1].layer_stride.checked_mul(u64::from(desc.layers))?;
        }
        (layout.size < 1 << 48).then_some(layout)
    }

    /// Plane index of an aspect: stencil of a combined format is 1, everything else 0.
    pub fn plane_of(&self, aspect: ChannelName) -> usize {
        usize::from(aspect == ChannelName::S && self.plane_count == 2)
    }

    /// Byte offset of the block that holds a texel. Coordinates must be inside the level.
    pub fn offset(&self, plane: usize, level: u32, layer: u32, sample: u32, [x, y, z]: [u32; 3]) -> u64 {
        let p = &self.planes[plane];
        let l = &p.levels[level as usize];
        let (bw, bh) = self.desc.format.info().block;
        p.offset
            + u64::from(layer) * p.layer_stride
            + u64::from(sample) * p.sample_stride
            + l.offset
            + u64::from(z) * l.slice_pitch
            + u64::from(y / u32::from(bh)) * l.row_pitch
            + u64::from(x / u32::from(bw)) * u64::from(p.block_bytes)
    }
}

const EMPTY_PLANE: PlaneLayout = PlaneLayout {
    offset: 0,
    block_bytes: 0,
    levels: [LevelLayout { offset: 0, row_pitch: 0, slice_pitch: 0, extent: [0; 3] }; MAX_LEVELS],
    sample_stride: 0,
    layer_stride: 0,
};

fn plane(desc: &ImageDesc, offset: u64, block_bytes: u32) -> Option<PlaneLayout> {
    let (bw, bh) = desc.format.info().block;
    let mut plane = PlaneLayout { offset, block_bytes, ..EMPTY_PLANE };
    let mut size = 0u64;
    for level in 0..desc.levels.min(MAX_LEVELS as u32) {
        let extent = desc.extent.map(|e| (e >> level).max(1));
        let row_pitch = (u64::from(extent[0].div_ceil(u32::from(bw))) * u64::from(block_bytes)).next_multiple_of(16);
        let slice_pitch = row_pitch.checked_mul(u64::from(extent[1].div_ceil(u32::from(bh))))?;
        plane.levels[level as usize] = LevelLayout { offset: size, row_pitch, slice_pitch, extent };
        size = size.checked_add(slice_pitch.checked_mul(u64::from(extent[2]))?)?.next_multiple_of(IMAGE_ALIGNMENT);
    }
    plane.sample_stride = size;
    plane.layer_stride = size.checked_mul(u64::from(desc.samples))?;
    Some(plane)
}
