//! `vkCmdBlitImage`: scaled, filtered, converted copies.
//!
//! A destination texel centre is mapped to source coordinates (spec: "Image Copies With Scaling"), per axis, once per region. Rows of the
//! source are unpacked when first needed and kept, so a 2:1 mip blit unpacks every source texel once. Coordinates outside the source
//! clamp to its edge. Depth and stencil are nearest copies of the plane's texels.

#![forbid(unsafe_code)]

use super::image_copy::ImageCopy;
use super::region::{Slices, SubresourceLayers, block_of, level_of};
use super::rows::{for_rows, memory_of};
use super::texel::{Rows, Texel, clamp_integer};
use crate::api::ImageMemory;
use base::format::{Aspect, Format};

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
    /// Two corners, texels.
    pub src_offsets: [[i32; 3]; 2],
    /// Destination subresource.
    pub dst: SubresourceLayers,
    /// Two corners, texels.
    pub dst_offsets: [[i32; 3]; 2],
}

/// Source texels of one destination coordinate: two neighbours and the weight of the second.
#[derive(Clone, Copy, Debug)]
struct Tap {
    first: u32,
    second: u32,
    weight: f32,
}

/// Destination range of an axis, cut to the image, with a tap per texel.
struct Axis {
    start: u32,
    taps: Vec<Tap>,
}

fn axis(src: [i32; 2], src_size: u32, dst: [i32; 2], dst_size: u32, filter: Filter) -> Axis {
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
                Tap { first: i, second: i, weight: 0.0 }
            }
            Filter::Linear => {
                let base = (u - 0.5).floor();
                let weight = (u - 0.5 - base) as f32;
                Tap { first: base.clamp(0.0, last) as u32, second: (base + 1.0).clamp(0.0, last) as u32, weight }
            }
        }
    });
    Axis { start: start as u32, taps: taps.collect() }
}

/// One region. Formats may differ within a class; linear filtering of integer formats, depth and stencil is nearest.
pub fn blit_image(src: &ImageMemory, dst: &ImageMemory, region: &ImageBlit, filter: Filter) {
    if let Some(copy) = as_copy(src, dst, region) {
        return super::image_copy::copy_image(src, dst, &copy);
    }
    let dst_planes = dst.layout.select(region.dst.aspects);
    for (src_plane, dst_plane) in src.layout.select(region.src.aspects).zip(dst_planes) {
        let plane = &src.layout.planes()[src_plane];
        let color = !matches!(plane.aspect, Aspect::Depth | Aspect::Stencil);
        let filter = if color && !plane.format.is_integer() { filter } else { Filter::Nearest };
        let Some(job) = Job::new(src, src_plane, dst, dst_plane, region, filter) else { return };
        if color { job.color() } else { job.raw() }
    }
}

/// A blit that neither scales, mirrors, converts nor leaves an image is a copy.
fn as_copy(src: &ImageMemory, dst: &ImageMemory, region: &ImageBlit) -> Option<ImageCopy> {
    let size = |o: &[[i32; 3]; 2]| [0, 1, 2].map(|i| o[1][i].checked_sub(o[0][i]).filter(|&n| n > 0));
    let extent = size(&region.src_offsets);
    let [Some(width), Some(height), Some(depth)] = extent else { return None };
    let inside = |image: &ImageMemory, o: &[[i32; 3]; 2], level| {
        image.layout.desc.format == src.layout.desc.format
            && image.layout.select(region.src.aspects).all(|plane| {
                level_of(image, plane, level)
                    .is_some_and(|l| (0..3).all(|i| o[0][i] >= 0 && o[1][i] as u32 <= l.extent[i]))
            })
    };
    let copies = size(&region.dst_offsets) == extent
        && region.src.aspects == region.dst.aspects
        && src.layout.desc.dim == dst.layout.desc.dim
        && inside(src, &region.src_offsets, region.src.level)
        && inside(dst, &region.dst_offsets, region.dst.level);
    copies.then_some(ImageCopy {
        src: region.src,
        src_offset: region.src_offsets[0],
        dst: region.dst,
        dst_offset: region.dst_offsets[0],
        extent: [width, height, depth].map(|n| n as u32),
    })
}

struct Job<'a> {
    src: &'a ImageMemory,
    dst: &'a ImageMemory,
    src_plane: usize,
    dst_plane: usize,
    region: &'a ImageBlit,
    x: Axis,
    y: Axis,
    z: Axis,
    volume: bool,
    layers: u32,
}

impl<'a> Job<'a> {
    fn new(
        src: &'a ImageMemory,
        src_plane: usize,
        dst: &'a ImageMemory,
        dst_plane: usize,
        region: &'a ImageBlit,
        filter: Filter,
    ) -> Option<Job<'a>> {
        let from = level_of(src, src_plane, region.src.level)?;
        let to = level_of(dst, dst_plane, region.dst.level)?;
        let corner = |o: &[[i32; 3]; 2], i: usize| [o[0][i], o[1][i]];
        let make = |i: usize| {
            axis(corner(&region.src_offsets, i), from.extent[i], corner(&region.dst_offsets, i), to.extent[i], filter)
        };
        let volume = src.layout.desc.dim == base::abi::Dim::D3 && dst.layout.desc.dim == base::abi::Dim::D3;
        let slices = |image, o: &[[i32; 3]; 2], s| Slices::new(image, o[0][2].min(o[1][2]), s);
        let layers = region
            .src
            .layer_count
            .min(slices(src, &region.src_offsets, &region.src).available(src, from))
            .min(slices(dst, &region.dst_offsets, &region.dst).available(dst, to));
        let z = if volume { make(2) } else { Axis { start: 0, taps: vec![Tap { first: 0, second: 0, weight: 0.0 }] } };
        Some(Job {
            src,
            dst,
            src_plane,
            dst_plane,
            region,
            x: make(0),
            y: make(1),
            z,
            volume,
            layers: if volume { 1 } else { layers },
        })
    }

    /// Offset of the source row (layer index, z, y), column 0.
    fn src_row(&self, layer: u32, z: u32, y: u32) -> u64 {
        // A blit between a 3D image and a 2D one uses slices and layers alike.
        let slices = Slices::new(self.src, self.region.src_offsets[0][2], &self.region.src);
        let (layer, z) = if self.volume { (0, z) } else { slices.at(layer) };
        self.src.layout.offset(self.src_plane, self.region.src.level, layer, 0, [0, y, z])
    }

    fn src_format(&self) -> Format {
        self.src.layout.planes()[self.src_plane].format
    }

    fn dst_row(&self, layer: u32, z: u32, y: u32) -> u64 {
        let slices = Slices::new(self.dst, self.region.dst_offsets[0][2], &self.region.dst);
        let (layer, z) = if self.volume { (0, self.z.start + z) } else { slices.at(layer) };
        self.dst.layout.offset(self.dst_plane, self.region.dst.level, layer, 0, [self.x.start, self.y.start + y, z])
    }

    /// Runs `band(layer, z, rows)` over bands of destination rows.
    fn bands(&self, band: impl Fn(u32, u32, std::ops::Range<u32>) + Sync) {
        const BAND: u64 = 16;
        let rows = self.y.taps.len() as u64;
        let per_slice = rows.div_ceil(BAND);
        let total = per_slice * self.z.taps.len() as u64 * u64::from(self.layers);
        let texels = total * BAND * self.x.taps.len() as u64;
        for_rows(total, texels * 16, |i| {
            let (b, i) = (i % per_slice, i / per_slice);
            let (z, layer) = (i % self.z.taps.len() as u64, i / self.z.taps.len() as u64);
            band(layer as u32, z as u32, (b * BAND) as u32..(b * BAND + BAND).min(rows) as u32);
        });
    }

    /// Nearest copy of depth or stencil texels.
    fn raw(&self) {
        let (_, _, bytes) = block_of(self.src, self.src_plane);
        if bytes != self.dst.layout.planes()[self.dst_plane].block_bytes {
            return;
        }
        let (from, to) = (memory_of(self.src), memory_of(self.dst));
        let bytes = u64::from(bytes);
        self.bands(|layer, z, rows| {
            for y in rows {
                let src = self.src_row(layer, self.z.taps[z as usize].first, self.y.taps[y as usize].first);
                let dst = self.dst_row(layer, z, y);
                for (i, tap) in self.x.taps.iter().enumerate() {
                    to.copy_from(dst + i as u64 * bytes, from, src + u64::from(tap.first) * bytes, bytes);
                }
            }
        });
    }

    fn color(&self) {
        let (src_format, dst_format) = (self.src_format(), self.dst.layout.planes()[self.dst_plane].format);
        if dst_format.is_compressed() {
            // No format has the feature: the icd refused it.
            return;
        }
        let integer = src_format.is_integer();
        let convert = integer && src_format != dst_format;
        let to = memory_of(self.dst);
        self.bands(|layer, z, rows| {
            let mut source = SourceRows::new(self, layer);
            let mut writer = Rows::new(dst_format);
            let mut out: Vec<Texel> = vec![[0; 4]; self.x.taps.len()];
            for y in rows {
                source.filter_row(self.z.taps[z as usize], self.y.taps[y as usize], integer, &mut out);
                if convert {
                    out.iter_mut().for_each(|t| *t = clamp_integer(*t, src_format, dst_format));
                }
                writer.write(to, self.dst_row(layer, z, y), &out);
            }
        });
    }
}

/// Unpacked source rows of a band: those of the row of texels that is made, and of earlier ones.
struct SourceRows<'a> {
    job: &'a Job<'a>,
    layer: u32,
    reader: Rows,
    /// (z, y) of each kept row.
    keys: [Option<(u32, u32)>; 4],
    rows: [Vec<Texel>; 4],
    first: u32,
}

impl<'a> SourceRows<'a> {
    fn new(job: &'a Job<'a>, layer: u32) -> SourceRows<'a> {
        let columns = job.x.taps.iter().flat_map(|t| [t.first, t.second]);
        let first = columns.clone().min().unwrap_or(0);
        let count = columns.max().map_or(0, |last| last - first + 1) as usize;
        let rows = std::array::from_fn(|_| vec![[0; 4]; count]);
        SourceRows { job, layer, reader: Rows::new(job.src_format()), keys: [None; 4], rows, first }
    }

    /// Where the rows of these (z, y) are kept. One that has to be unpacked takes the place of one that is not among them.
    fn rows(&mut self, wanted: [(u32, u32); 4]) -> [usize; 4] {
        wanted.map(|key| {
            if let Some(i) = self.keys.iter().position(|&k| k == Some(key)) {
                return i;
            }
            // Of four places, one that is missing leaves at least one to others.
            let free = |k: &Option<(u32, u32)>| k.is_none_or(|k| !wanted.contains(&k));
            let i = self.keys.iter().position(free).unwrap_or(0);
            self.keys[i] = Some(key);
            self.unpack(i, key);
            i
        })
    }

    fn unpack(&mut self, i: usize, (z, y): (u32, u32)) {
        let offset = self.job.src_row(self.layer, z, y);
        let memory = memory_of(self.job.src);
        if self.job.src_format().is_compressed() {
            self.reader.read_blocks(memory, offset, self.first, y, &mut self.rows[i]);
        } else {
            let texel = u64::from(self.job.src.layout.planes()[self.job.src_plane].block_bytes);
            self.reader.read(memory, offset + u64::from(self.first) * texel, &mut self.rows[i]);
        }
    }

    fn filter_row(&mut self, z: Tap, y: Tap, integer: bool, out: &mut [Texel]) {
        let job = self.job;
        let far = if z.weight == 0.0 { z.first } else { z.second };
        let kept = self.rows([(z.first, y.first), (z.first, y.second), (far, y.first), (far, y.second)]);
        let (near, far) = ([kept[0], kept[1]], [kept[2], kept[3]]);
        if integer {
            for (o, tap) in out.iter_mut().zip(&job.x.taps) {
                *o = self.rows[near[0]][(tap.first - self.first) as usize];
            }
            return;
        }
        for (o, tap) in out.iter_mut().zip(&job.x.taps) {
            let columns = [(tap.first - self.first) as usize, (tap.second - self.first) as usize];
            let at = |row: usize, c: usize| {
                f32::from_bits(self.rows[row][columns[0]][c]) * (1.0 - tap.weight)
                    + f32::from_bits(self.rows[row][columns[1]][c]) * tap.weight
            };
            *o = std::array::from_fn(|c| {
                let plane = |rows: [usize; 2]| lerp(at(rows[0], c), at(rows[1], c), y.weight);
                let v = if z.weight == 0.0 { plane(near) } else { lerp(plane(near), plane(far), z.weight) };
                v.to_bits()
            });
        }
    }
}

fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a * (1.0 - t) + b * t
}
