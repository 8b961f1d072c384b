//! Multisample resolves: `vkCmdResolveImage` and the resolves of render passes.

#![forbid(unsafe_code)]

use super::contiguous::ContiguousLevel;
use super::kernels::{self, SampleReduction};
use super::region::{SubresourceLayers, level_of};
use super::rows::{HelperThreads, for_tasks, memory_of};
use super::texel::{RowCodec, components, is_bytes_of};
use base::format::{ChannelType, Format};
use base::mem::DeviceMemory;
use base::mem::ImageMemory;

/// `VkImageResolve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageResolve {
    /// Source subresource.
    pub src: SubresourceLayers,
    /// Source offset in texels.
    pub src_offset: [i32; 3],
    /// Destination subresource.
    pub dst: SubresourceLayers,
    /// Destination offset in texels.
    pub dst_offset: [i32; 3],
    /// Extent in texels.
    pub extent: [u32; 3],
}

/// `VkResolveModeFlagBits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ResolveMode {
    /// VK_RESOLVE_MODE_NONE.
    None = 0,
    /// Takes sample 0.
    SampleZero = 1,
    /// Takes the mean of the samples.
    Average = 2,
    /// Takes the minimum of the samples.
    Min = 4,
    /// Takes the maximum of the samples.
    Max = 8,
}

/// Resolves one region. `format` defines the interpretation of the values (that of the views in a
/// render pass: an sRGB view averages linear values). Every aspect of the region is resolved with
/// `mode`. Integers, including stencil, have no mean, so Average is SampleZero for them.
pub fn resolve_image(
    threads: HelperThreads,
    src: &ImageMemory,
    dst: &ImageMemory,
    format: Format,
    region: &ImageResolve,
    mode: ResolveMode,
) {
    if mode == ResolveMode::None {
        return;
    }
    if let Some(to) = ContiguousLevel::new(threads, dst, &region.dst) {
        resolve_image(threads, src, &to.image, format, &ImageResolve { dst: to.place, ..*region }, mode);
        return to.put_back(threads, dst);
    }
    let dst_planes = dst.layout.select(region.dst.aspects);
    for (src_plane, dst_plane) in src.layout.select(region.src.aspects).zip(dst_planes) {
        let format = format.of_aspect(src.layout.planes()[src_plane].aspect);
        let mean_of_integers = mode == ResolveMode::Average && format.is_integer();
        let mode = if mean_of_integers { ResolveMode::SampleZero } else { mode };
        resolve_plane(threads, (src, src_plane), (dst, dst_plane), format, region, mode);
    }
}

fn resolve_plane(
    threads: HelperThreads,
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
    // Only the destination may be a volume, of which one slice is resolved to.
    let slice = start(region.dst_offset[2]);
    if slice >= to.extent[2] {
        return;
    }
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
    let rows = u64::from(height);
    let resolver = || Resolver::new(format, mode, samples, [width, bytes].map(|n| n as usize));
    let per_slice = rows.div_ceil(ROWS);
    for_tasks(threads, per_slice * u64::from(layers), resolver, |resolver, i| {
        let (first, layer) = (i % per_slice * ROWS, (i / per_slice) as u32);
        for y in first..rows.min(first + ROWS) {
            let at = |image: &ImageMemory, plane, of: &SubresourceLayers, sample, [x, first, z]: [u32; 3]| {
                image.layout.offset(plane, of.level, of.base_layer + layer, sample, [x, first + y as u32, z])
            };
            let from = |sample| at(src, src_plane, &region.src, sample, [sx, sy, 0]);
            resolver.row(src_memory, from, dst_memory, at(dst, dst_plane, &region.dst, 0, [dx, dy, slice]));
        }
    });
}

/// Number of rows of a task.
const ROWS: u64 = 16;

/// The method of resolving rows, with its buffers.
struct Resolver {
    samples: u32,
    how: ResolveMethod,
}

enum ResolveMethod {
    /// The bytes of sample 0 are copied.
    SampleZero {
        /// Bytes of a row.
        bytes: u64,
    },
    /// The mean of four 8-bit codes is that of the values, whatever their order.
    Codes {
        /// Bytes of a row.
        bytes: u64,
    },
    /// Texels are unpacked and combined.
    Texels { how: SampleReduction, rows: RowCodec, all: Vec<u32>, one: Vec<u32> },
}

impl Resolver {
    fn new(format: Format, mode: ResolveMode, samples: u32, [width, bytes]: [usize; 2]) -> Resolver {
        let integer = format.is_integer();
        let components = components(format, format);
        let row = || vec![0; width * components];
        let texels =
            |how| ResolveMethod::Texels { how, rows: RowCodec::new(format, components), all: row(), one: row() };
        let how = match mode {
            ResolveMode::None | ResolveMode::SampleZero => ResolveMethod::SampleZero { bytes: (width * bytes) as u64 },
            ResolveMode::Average if samples == 4 && is_bytes_of(format, ChannelType::Unorm) => {
                ResolveMethod::Codes { bytes: (width * bytes) as u64 }
            }
            ResolveMode::Average => texels(SampleReduction::Sum),
            ResolveMode::Min => texels(SampleReduction::Baseline { integer }),
            ResolveMode::Max => texels(SampleReduction::Max { integer }),
        };
        Resolver { samples, how }
    }

    fn row(&mut self, src: DeviceMemory, from: impl Fn(u32) -> u64, dst: DeviceMemory, to: u64) {
        match &mut self.how {
            ResolveMethod::SampleZero { bytes } => drop(dst.copy_from(to, src, from(0), *bytes)),
            ResolveMethod::Codes { bytes } => kernels::mean_of_four(src, [0, 1, 2, 3].map(from), dst, to, *bytes),
            ResolveMethod::Texels { how, rows, all, one } => {
                rows.read(src, from(0), all);
                for sample in 1..self.samples {
                    rows.read(src, from(sample), one);
                    kernels::reduce_samples(*how, all, one);
                }
                if *how == SampleReduction::Sum {
                    // The number of samples is a power of two, so the division is exact.
                    kernels::scale_row(all, 1.0 / self.samples as f32);
                }
                rows.write(dst, to, all);
            }
        }
    }
}
