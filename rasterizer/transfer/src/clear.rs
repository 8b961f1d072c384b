//! Image clears outside render passes.

#![forbid(unsafe_code)]

use super::rows::{HelperThreads, RowPlacement, RowRegion, fill_rows, memory_of};
use super::texel::Texel;
use base::format::{self, Aspect};
use base::mem::ImageMemory;

/// `VkImageSubresourceRange` with VK_REMAINING_* resolved.
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

/// Executes one range of `vkCmdClearColorImage`. `color` has the bits of floats or integers,
/// depending on the format's class.
pub fn clear_color_image(threads: HelperThreads, image: &ImageMemory, color: [u32; 4], range: &SubresourceRange) {
    clear(threads, image, range, |_| color);
}

/// Executes one range of `vkCmdClearDepthStencilImage`; depth is clamped to the format's range.
pub fn clear_depth_stencil_image(
    threads: HelperThreads,
    image: &ImageMemory,
    depth: f32,
    stencil: u32,
    range: &SubresourceRange,
) {
    let value = |aspect| if aspect == Aspect::Stencil { stencil & 0xff } else { depth.to_bits() };
    clear(threads, image, range, |aspect| [value(aspect), 0, 0, 0]);
}

/// Sets the planes of a range to the values of their aspects.
fn clear(threads: HelperThreads, image: &ImageMemory, range: &SubresourceRange, value: impl Fn(Aspect) -> Texel) {
    for i in image.layout.select(range.aspects) {
        let plane = &image.layout.planes()[i];
        if plane.block != [1; 2] {
            // There is no valid clear of blocks.
            continue;
        }
        let (mut texel, value) = (vec![0; plane.block_bytes as usize], value(plane.aspect));
        if format::kernels(plane.format).bytes > 0 {
            format::pack_row(plane.format, &[value], &mut texel);
        } else {
            // Integers of 64 bits are pairs of a clear value's words, so there are none for the
            // third and fourth component.
            texel.as_chunks_mut().0.iter_mut().zip(value).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        }
        clear_plane(threads, image, i, &texel, range);
    }
}

fn clear_plane(threads: HelperThreads, image: &ImageMemory, plane: usize, texel: &[u8], range: &SubresourceRange) {
    let desc = &image.layout.desc;
    let memory = memory_of(image);
    let levels = range.base_level..desc.levels.min(range.base_level.saturating_add(range.level_count));
    let layers = desc.layers.min(range.base_layer.saturating_add(range.layer_count)).saturating_sub(range.base_layer);
    for level in levels {
        let layout = &image.layout.planes()[plane].levels[level as usize];
        let [width, height, depth] = layout.extent;
        let samples = u64::from(desc.samples);
        let moved = RowRegion {
            slices: u64::from(layers) * samples * u64::from(depth),
            rows: u64::from(height),
            row_bytes: u64::from(width) * texel.len() as u64,
        };
        moved.run(threads, |slice, rows| {
            let (z, i) = (slice % u64::from(depth), slice / u64::from(depth));
            let [z, sample, layer] = [z, i % samples, i / samples].map(|v| v as u32);
            let (from, size) = ([0, rows.start as u32, z], [width, (rows.end - rows.start) as u32]);
            for run in image.layout.pieces(plane, level, range.base_layer + layer, sample, from, size) {
                let place = RowPlacement { memory, offset: run.offset, pitch: run.pitch };
                fill_rows(place, texel, u64::from(run.columns), 0..u64::from(run.rows));
            }
        });
    }
}
