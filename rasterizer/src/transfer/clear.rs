//! Image clears outside render passes.

#![forbid(unsafe_code)]

use super::region::{ASPECT_DEPTH, ASPECT_STENCIL, planes};
use super::rows::{for_rows, memory_of};
use crate::api::ImageMemory;
use base::format;

/// `VkImageSubresourceRange`, VK_REMAINING_* resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubresourceRange {
    /// `ASPECT_*` bits.
    pub aspects: u32,
    /// First level.
    pub base_level: u32,
    /// Levels.
    pub level_count: u32,
    /// First layer.
    pub base_layer: u32,
    /// Layers.
    pub layer_count: u32,
}

/// `vkCmdClearColorImage`, one range. `color`: bits of floats or integers, by the format's class.
pub fn clear_color_image(image: &ImageMemory, color: [u32; 4], range: &SubresourceRange) {
    let format = image.layout.desc.format;
    let mut texel = vec![0; usize::from(format.info().block_bytes)];
    format::pack_row(format, &[color], &mut texel);
    for (_, plane) in planes(image, range.aspects) {
        clear_plane(image, plane, &texel, range);
    }
}

/// `vkCmdClearDepthStencilImage`, one range; depth is clamped to the format's range.
pub fn clear_depth_stencil_image(image: &ImageMemory, depth: f32, stencil: u32, range: &SubresourceRange) {
    let format = image.layout.desc.format;
    for (aspect, plane) in planes(image, range.aspects & (ASPECT_DEPTH | ASPECT_STENCIL)) {
        if aspect == ASPECT_STENCIL {
            clear_plane(image, plane, &[stencil as u8], range);
        } else {
            let mut texel = vec![0; image.layout.planes[plane].block_bytes as usize];
            format::pack::pack_depth(format, depth, &mut texel);
            clear_plane(image, plane, &texel, range);
        }
    }
}

fn clear_plane(image: &ImageMemory, plane: usize, texel: &[u8], range: &SubresourceRange) {
    let desc = &image.layout.desc;
    let memory = memory_of(image);
    let levels = range.base_level..desc.levels.min(range.base_level.saturating_add(range.level_count));
    let layers = desc.layers.min(range.base_layer.saturating_add(range.layer_count)).saturating_sub(range.base_layer);
    for level in levels {
        let [width, height, depth] = image.layout.planes[plane].levels[level as usize].extent;
        let rows = u64::from(layers) * u64::from(desc.samples) * u64::from(depth) * u64::from(height);
        let row_bytes = u64::from(width) * texel.len() as u64;
        for_rows(rows, rows * row_bytes, |i| {
            let (y, i) = (i % u64::from(height), i / u64::from(height));
            let (z, i) = (i % u64::from(depth), i / u64::from(depth));
            let (sample, layer) = (i % u64::from(desc.samples), i / u64::from(desc.samples));
            let [y, z, sample, layer] = [y, z, sample, layer].map(|v| v as u32);
            let offset = image.layout.offset(plane, level, range.base_layer + layer, sample, [0, y, z]);
            memory.fill(offset, texel, u64::from(width));
        });
    }
}
