//! Subresources and boxes of an image.

#![forbid(unsafe_code)]

use base::abi::Dim;
use base::image::LevelLayout;
use base::mem::ImageMemory;

/// `VkImageSubresourceLayers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubresourceLayers {
    /// Bits of `base::format::Aspect`.
    pub aspects: u32,
    /// Mip level.
    pub level: u32,
    /// First layer.
    pub base_layer: u32,
    /// Number of layers (the driver has resolved VK_REMAINING_ARRAY_LAYERS).
    pub layer_count: u32,
}

/// Returns the layout of a plane's level; `None` if the image has no such level.
pub fn level_of(image: &ImageMemory, plane: usize, level: u32) -> Option<&LevelLayout> {
    (level < image.layout.desc.levels).then(|| &image.layout.planes()[plane].levels[level as usize])
}

/// A box's position on the third axis: depth slices of a 3D image, layers of any other.
/// (`vkCmdCopyImage` may copy between the two kinds.)
#[derive(Clone, Copy, Debug)]
pub struct SliceRange {
    first: u32,
    volume: bool,
}

impl SliceRange {
    /// Makes a position in slices or layers from an offset and subresource.
    pub fn new(image: &ImageMemory, z: i32, subresource: &SubresourceLayers) -> SliceRange {
        let volume = image.layout.desc.dim == Dim::D3;
        let first = if volume { z.max(0) as u32 } else { subresource.base_layer };
        SliceRange { first, volume }
    }

    /// Returns the number of slices or layers that the image has from the first on.
    pub fn available(self, image: &ImageMemory, level: &LevelLayout) -> u32 {
        let total = if self.volume { level.extent[2] } else { image.layout.desc.layers };
        total.saturating_sub(self.first)
    }

    /// Returns (layer, z) of slice `i`.
    pub fn at(self, i: u32) -> (u32, u32) {
        if self.volume { (0, self.first + i) } else { (self.first + i, 0) }
    }

    /// Returns the number of slices of the box: depth of the extent for volumes, layers otherwise.
    pub fn count(self, depth: u32, layers: u32) -> u32 {
        if self.volume { depth } else { layers }
    }
}

/// Returns the size of a plane's blocks in texels and bytes, as (width, height, bytes).
pub fn block_of(image: &ImageMemory, plane: usize) -> (u32, u32, u32) {
    let plane = &image.layout.planes()[plane];
    (plane.block[0], plane.block[1], plane.block_bytes)
}
