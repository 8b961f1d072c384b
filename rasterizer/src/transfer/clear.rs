//! Image clears outside render passes.

#![forbid(unsafe_code)]

use super::rows::{for_rows, memory_of};
use super::texel::Texel;
use crate::api::ImageMemory;
use base::format::{self, Aspect};

/// `VkImageSubresourceRange`, VK_REMAINING_* resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubresourceRange {
    /// Bits of [`Aspect`].
    pub aspects: u32,
    /// First level.
    pub base_level: u32,
    /// Number of levels.
    pub level_count: u32,
    /// First layer.
    pub base_layer: u32,
    /// Number of layers.
    pub layer_count: u32,
}

/// `vkCmdClearColorImage`, one range. `color`: bits of floats or integers, by the format's class.
pub fn clear_color_image(image: &ImageMemory, color: [u32; 4], range: &SubresourceRange) {
    clear(image, range, |_| color);
}

/// `vkCmdClearDepthStencilImage`, one range; depth is clamped to the format's range.
pub fn clear_depth_stencil_image(image: &ImageMemory, depth: f32, stencil: u32, range: &SubresourceRange) {
    let value = |aspect| if aspect == Aspect::Stencil { stencil & 0xff } else { depth.to_bits() };
    clear(image, range, |aspect| [value(aspect), 0, 0, 0]);
}

/// The planes of a range to the texel of their aspects.
fn clear(image: &ImageMemory, range: &SubresourceRange, value: impl Fn(Aspect) -> Texel) {
    for i in image.layout.select(range.aspects) {
        let plane = &image.layout.planes()[i];
        let mut texel = vec![0; plane.block_bytes as usize];
        format::pack_row(plane.format, &[value(plane.aspect)], &mut texel);
        clear_plane(image, i, &texel, range);
    }
}

fn clear_plane(image: &ImageMemory, plane: usize, texel: &[u8], range: &SubresourceRange) {
    let desc = &image.layout.desc;
    let memory = memory_of(image);
    let levels = range.base_level..desc.levels.min(range.base_level.saturating_add(range.level_count));
    let layers = desc.layers.min(range.base_layer.saturating_add(range.layer_count)).saturating_sub(range.base_layer);
    for level in levels {
        let [width, height, depth] = image.layout.planes()[plane].levels[level as usize].extent;
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
