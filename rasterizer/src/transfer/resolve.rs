//! Multisample resolves: `vkCmdResolveImage` and the resolves of render passes.

#![forbid(unsafe_code)]

use super::region::{SubresourceLayers, level_of};
use super::rows::{for_rows, memory_of};
use super::texel::{Rows, Texel};
use crate::api::ImageMemory;
use base::format::{self, Format};

/// `VkImageResolve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageResolve {
    /// Source subresource.
    pub src: SubresourceLayers,
    /// In texels.
    pub src_offset: [i32; 3],
    /// Destination subresource.
    pub dst: SubresourceLayers,
    /// In texels.
    pub dst_offset: [i32; 3],
    /// In texels.
    pub extent: [u32; 3],
}

/// `VkResolveModeFlagBits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ResolveMode {
    /// VK_RESOLVE_MODE_NONE.
    None = 0,
    /// Sample 0.
    SampleZero = 1,
    /// Mean of the samples.
    Average = 2,
    /// Least sample.
    Min = 4,
    /// Greatest sample.
    Max = 8,
}

/// Resolves one region. `format` is the format the values are seen in (that of the views in a render pass: an sRGB view averages
/// linear values). Every aspect of the region is resolved with `mode`; integers (stencil too) have no mean: Average is SampleZero there.
pub fn resolve_image(src: &ImageMemory, dst: &ImageMemory, format: Format, region: &ImageResolve, mode: ResolveMode) {
    if mode == ResolveMode::None {
        return;
    }
    let dst_planes = dst.layout.select(region.dst.aspects);
    for (src_plane, dst_plane) in src.layout.select(region.src.aspects).zip(dst_planes) {
        let format = format.of_aspect(src.layout.planes()[src_plane].aspect);
        let mean_of_integers = mode == ResolveMode::Average && format.is_integer();
        let mode = if mean_of_integers { ResolveMode::SampleZero } else { mode };
        resolve_plane((src, src_plane), (dst, dst_plane), format, region, mode);
    }
}

fn resolve_plane(
    (src, src_plane): (&ImageMemory, usize),
    (dst, dst_plane): (&ImageMemory, usize),
    format: Format,
    region: &ImageResolve,
    mode: ResolveMode,
) {
    let (Some(from), Some(to)) =
        (level_of(src, src_plane, region.src.level), level_of(dst, dst_plane, region.dst.level))
    else {
        return;
    };
    let start = |o: i32| o.max(0) as u32;
    let [sx, sy] = [start(region.src_offset[0]), start(region.src_offset[1])];
    let [dx, dy] = [start(region.dst_offset[0]), start(region.dst_offset[1])];
    let width = region.extent[0].min(from.extent[0].saturating_sub(sx)).min(to.extent[0].saturating_sub(dx));
    let height = region.extent[1].min(from.extent[1].saturating_sub(sy)).min(to.extent[1].saturating_sub(dy));
    let layers = region
        .src
        .layer_count
        .min(src.layout.desc.layers.saturating_sub(region.src.base_layer))
        .min(dst.layout.desc.layers.saturating_sub(region.dst.base_layer));
    let samples = src.layout.desc.samples;
    let bytes = src.layout.planes()[src_plane].block_bytes;
    let (src_memory, dst_memory) = (memory_of(src), memory_of(dst));
    let codes = mode == ResolveMode::Average && samples == 4 && is_unorm8(format);
    let rows = u64::from(height) * u64::from(layers);
    let total = rows * u64::from(width) * u64::from(bytes) * u64::from(samples);
    for_rows(rows, total, |i| {
        let (y, layer) = ((i % u64::from(height)) as u32, (i / u64::from(height)) as u32);
        let at = |sample| {
            src.layout.offset(src_plane, region.src.level, region.src.base_layer + layer, sample, [sx, sy + y, 0])
        };
        let to = dst.layout.offset(dst_plane, region.dst.level, region.dst.base_layer + layer, 0, [dx, dy + y, 0]);
        if mode == ResolveMode::SampleZero {
            dst_memory.copy_from(to, src_memory, at(0), u64::from(width) * u64::from(bytes));
            return;
        }
        if codes {
            let mut row = [(); 4].map(|()| vec![0u8; (width * bytes) as usize]);
            for (sample, row) in (0u32..).zip(&mut row) {
                src_memory.read(at(sample), row);
            }
            dst_memory.write(to, mean_of_codes(&mut row));
            return;
        }
        let mut sum = vec![[0u32; 4]; width as usize];
        let mut row = sum.clone();
        let mut rows = Rows::new(format);
        rows.read(src_memory, at(0), &mut sum);
        for sample in 1..samples {
            rows.read(src_memory, at(sample), &mut row);
            accumulate(&mut sum, &row, mode, format.is_integer());
        }
        if mode == ResolveMode::Average {
            // A power of two: the division is exact.
            let scale = 1.0 / samples as f32;
            sum.iter_mut().flatten().for_each(|c| *c = (f32::from_bits(*c) * scale).to_bits());
        }
        rows.write(dst_memory, to, &sum);
    });
}

/// Are all channels 8-bit unsigned normalised? Then the mean is that of the codes, whatever their order.
fn is_unorm8(format: Format) -> bool {
    let info = format.info();
    let channels = &info.channels[..usize::from(info.channel_count)];
    channels.iter().all(|c| c.bits == 8 && c.ty == format::ChannelType::Unorm) && info.block == (1, 1)
}

/// The mean of four rows of codes, exact, ties to even; left in the first.
fn mean_of_codes([a, b, c, d]: &mut [Vec<u8>; 4]) -> &[u8] {
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        let sum = u16::from(*a) + u16::from(*b) + u16::from(*c) + u16::from(*d);
        *a = ((sum + 1 + (sum >> 2 & 1)) >> 2) as u8;
    }
    a
}

fn accumulate(sum: &mut [Texel], row: &[Texel], mode: ResolveMode, integer: bool) {
    let float = |f: fn(f32, f32) -> f32| move |a: u32, b: u32| f(f32::from_bits(a), f32::from_bits(b)).to_bits();
    let combine: &dyn Fn(u32, u32) -> u32 = match (mode, integer) {
        (ResolveMode::Min, true) => &|a, b| a.min(b),
        (ResolveMode::Max, true) => &|a, b| a.max(b),
        (ResolveMode::Min, false) => &float(|a, b| if b < a { b } else { a }),
        (ResolveMode::Max, false) => &float(|a, b| if b > a { b } else { a }),
        _ => &float(|a, b| a + b),
    };
    for (s, r) in sum.iter_mut().flatten().zip(row.iter().flatten()) {
        *s = combine(*s, *r);
    }
}
