//! A blit of one plane as rows: their positions, the texels that each is made of, and bands of them
//! for threads.

#![forbid(unsafe_code)]

use super::super::kernels::Tap;
use super::super::region::{SliceRange, SubresourceLayers, level_of};
use super::super::rows::{HelperThreads, for_tasks, memory_of};
use base::format::Format;
use base::image::PlaneLayout;
use base::mem::DeviceMemory;
use base::mem::ImageMemory;
use std::ops::Range;

/// `VkFilter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Filter {
    /// VK_FILTER_NEAREST.
    Nearest = 0,
    /// VK_FILTER_LINEAR.
    Linear = 1,
}

/// `VkImageBlit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBlit {
    /// Source subresource.
    pub src: SubresourceLayers,
    /// Two corners of the source in texels.
    pub src_offsets: [[i32; 3]; 2],
    /// Destination subresource.
    pub dst: SubresourceLayers,
    /// Two corners of the destination in texels.
    pub dst_offsets: [[i32; 3]; 2],
}

/// Destination range of an axis, cut to the image, with a tap per texel.
pub struct BlitAxis {
    /// First destination texel.
    pub start: u32,
    /// Taps of all destination texels. The nearest filter's second texel has a weight of 0.
    pub taps: Vec<Tap>,
}

impl BlitAxis {
    fn new(src: [i32; 2], src_size: u32, dst: [i32; 2], dst_size: u32, filter: Filter) -> BlitAxis {
        let (low, high) = (dst[0].min(dst[1]), dst[0].max(dst[1]));
        let start = low.clamp(0, dst_size as i32);
        let end = high.clamp(0, dst_size as i32);
        let scale = (f64::from(src[1]) - f64::from(src[0])) / (f64::from(dst[1]) - f64::from(dst[0]));
        let last = f64::from(src_size.max(1) - 1);
        let taps = (start..end).map(|d| {
            let u = (f64::from(d) + 0.5 - f64::from(dst[0])) * scale + f64::from(src[0]);
            match filter {
                Filter::Nearest => {
                    let i = u.floor().clamp(0.0, last) as u32;
                    Tap { first: i, second: i, rest: 1.0, weight: 0.0 }
                }
                Filter::Linear => {
                    let base = (u - 0.5).floor();
                    let weight = (u - 0.5 - base) as f32;
                    let [first, second] = [base, base + 1.0].map(|i| i.clamp(0.0, last) as u32);
                    Tap { first, second, rest: 1.0 - weight, weight }
                }
            }
        });
        BlitAxis { start: start as u32, taps: taps.collect() }
    }

    /// Makes the third axis of layers, between which nothing is filtered.
    fn single() -> BlitAxis {
        BlitAxis { start: 0, taps: vec![Tap { first: 0, second: 0, rest: 1.0, weight: 0.0 }] }
    }
}

/// Returns the smallest source texel of taps, and the taps relative to it.
pub fn rebased(taps: &[Tap]) -> (u32, impl Iterator<Item = Tap>) {
    let min = taps.iter().map(|tap| tap.first.min(tap.second)).min().unwrap_or(0);
    (min, taps.iter().map(move |tap| Tap { first: tap.first - min, second: tap.second - min, ..*tap }))
}

/// One side of a blit.
pub struct BlitSide<'a> {
    image: &'a ImageMemory,
    plane: usize,
    level: u32,
    slices: SliceRange,
    /// All bytes of the image.
    pub memory: DeviceMemory,
}

impl<'a> BlitSide<'a> {
    fn new(image: &'a ImageMemory, plane: usize, offsets: &[[i32; 3]; 2], layers: &SubresourceLayers) -> BlitSide<'a> {
        // A blit between a 3D image and a 2D one treats slices and layers alike.
        let slices = SliceRange::new(image, offsets[0][2].min(offsets[1][2]), layers);
        BlitSide { image, plane, level: layers.level, slices, memory: memory_of(image) }
    }

    /// Returns the format of the plane.
    pub fn format(&self) -> Format {
        self.plane().format
    }

    /// Returns the bytes of a texel, or of a block.
    pub fn texel(&self) -> u64 {
        u64::from(self.plane().block_bytes)
    }

    fn plane(&self) -> &PlaneLayout {
        &self.image.layout.planes()[self.plane]
    }
}

/// A blit of a plane.
pub struct BlitJob<'a> {
    /// Source.
    pub src: BlitSide<'a>,
    /// Destination.
    pub dst: BlitSide<'a>,
    /// Columns.
    pub x: BlitAxis,
    /// Rows.
    pub y: BlitAxis,
    /// Slices of volumes.
    pub z: BlitAxis,
    volume: bool,
    layers: u32,
}

/// A row of a blit.
#[derive(Clone, Copy, Debug)]
pub struct BlitRow {
    /// Layer relative to the first; 0 in a volume.
    pub layer: u32,
    /// Slice relative to the first; 0 in a layer.
    pub z: u32,
    /// Row relative to the first.
    pub y: u32,
}

impl<'a> BlitJob<'a> {
    /// Makes a blit of a plane; `None` if an image has no such level.
    pub fn new(
        (src, src_plane): (&'a ImageMemory, usize),
        (dst, dst_plane): (&'a ImageMemory, usize),
        region: &ImageBlit,
        filter: Filter,
    ) -> Option<BlitJob<'a>> {
        let from = level_of(src, src_plane, region.src.level)?;
        let to = level_of(dst, dst_plane, region.dst.level)?;
        let corner = |o: &[[i32; 3]; 2], i: usize| [o[0][i], o[1][i]];
        let axis = |i: usize| {
            let (src, dst) = (corner(&region.src_offsets, i), corner(&region.dst_offsets, i));
            BlitAxis::new(src, from.extent[i], dst, to.extent[i], filter)
        };
        let volume = src.layout.desc.dim == base::abi::Dim::D3 && dst.layout.desc.dim == base::abi::Dim::D3;
        let [x, y] = [axis(0), axis(1)];
        let z = if volume { axis(2) } else { BlitAxis::single() };
        let available = [
            SliceRange::new(src, region.src_offsets[0][2].min(region.src_offsets[1][2]), &region.src)
                .available(src, from),
            SliceRange::new(dst, region.dst_offsets[0][2].min(region.dst_offsets[1][2]), &region.dst)
                .available(dst, to),
        ];
        let layers = region.src.layer_count.min(available[0]).min(available[1]);
        let src = BlitSide::new(src, src_plane, &region.src_offsets, &region.src);
        let dst = BlitSide::new(dst, dst_plane, &region.dst_offsets, &region.dst);
        Some(BlitJob { src, dst, x, y, z, volume, layers: if volume { 1 } else { layers } })
    }

    /// Returns the offset of column `x` of the source row (z, y) of a layer.
    pub fn src_row(&self, layer: u32, [z, y, x]: [u32; 3]) -> u64 {
        let (layer, z) = if self.volume { (0, z) } else { self.src.slices.at(layer) };
        self.src.image.layout.offset(self.src.plane, self.src.level, layer, 0, [x, y, z])
    }

    /// Returns the offset of a destination row.
    pub fn dst_row(&self, row: BlitRow) -> u64 {
        let (layer, z) = if self.volume { (0, self.z.start + row.z) } else { self.dst.slices.at(row.layer) };
        let at = [self.x.start, self.y.start + row.y, z];
        self.dst.image.layout.offset(self.dst.plane, self.dst.level, layer, 0, at)
    }

    /// Runs `row` for all destination rows, those of a band in order on one thread. Each thread
    /// makes its own scratch.
    pub fn rows<S>(
        &self,
        threads: HelperThreads,
        scratch: impl Fn() -> S + Sync,
        row: impl Fn(&mut S, BlitRow) + Sync,
    ) {
        // A band makes some source rows again that the previous band has made.
        let band = BAND_TEXELS.div_ceil(self.x.taps.len().max(1) as u64).clamp(8, 64);
        let (rows, slices) = (self.y.taps.len() as u64, self.z.taps.len() as u64);
        let per_slice = rows.div_ceil(band);
        let all = if self.x.taps.is_empty() { 0 } else { per_slice * slices * u64::from(self.layers) };
        for_tasks(threads, all, scratch, |scratch, i| {
            let (b, i) = (i % per_slice, i / per_slice);
            let (z, layer) = ((i % slices) as u32, (i / slices) as u32);
            let band: Range<u64> = b * band..((b + 1) * band).min(rows);
            for y in band {
                row(scratch, BlitRow { layer, z, y: y as u32 });
            }
        });
    }
}

/// Number of texels of a band.
const BAND_TEXELS: u64 = 1 << 16;
