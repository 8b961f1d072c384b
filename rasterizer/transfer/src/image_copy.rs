//! Copies between images, and between images and buffers: rows of blocks, byte for byte.

#![forbid(unsafe_code)]

use super::region::{SliceRange, SubresourceLayers, block_of, level_of};
use super::rows::{HelperThreads, RowPlacement, RowRegion, copy_rows, for_bands, memory_of};
use base::image::PlaneLayout;
use base::mem::DeviceMemory;
use base::mem::ImageMemory;
use std::ops::Range;

/// `VkImageCopy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageCopy {
    /// Source subresource.
    pub src: SubresourceLayers,
    /// Source offset in texels.
    pub src_offset: [i32; 3],
    /// Destination subresource.
    pub dst: SubresourceLayers,
    /// Destination offset in texels.
    pub dst_offset: [i32; 3],
    /// Extent in texels of the source's plane.
    pub extent: [u32; 3],
}

/// `VkBufferImageCopy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferImageCopy {
    /// Offset in the buffer in bytes.
    pub buffer_offset: u64,
    /// Number of texels per buffer row; 0 means tightly packed.
    pub buffer_row_length: u32,
    /// Number of rows per buffer image; 0 means tightly packed.
    pub buffer_image_height: u32,
    /// Image subresource with one aspect.
    pub image: SubresourceLayers,
    /// Image offset in texels.
    pub image_offset: [i32; 3],
    /// Image extent in texels.
    pub image_extent: [u32; 3],
}

/// Returns the blocks of `[from, from + count)` texels that lie inside `size` texels, as (first
/// block, blocks).
fn blocks(from: i32, count: u32, size: u32, block: u32) -> (u32, u32) {
    let from = from.max(0) as u32;
    let end = from.saturating_add(count).min(size);
    (from / block, end.saturating_sub(from).div_ceil(block))
}

/// Executes one region of `vkCmdCopyImage`. Formats are size-compatible (also compressed with
/// uncompressed). The numbers of samples are equal, or the source has one sample, which is copied
/// to all of the destination's.
pub fn copy_image(threads: HelperThreads, src: &ImageMemory, dst: &ImageMemory, region: &ImageCopy) {
    copy_band(threads, src, dst, region, 0..u32::MAX);
}

/// Executes regions of `vkCmdCopyImage` that are too small for several threads each.
pub fn copy_image_regions(threads: HelperThreads, src: &ImageMemory, dst: &ImageMemory, regions: &[ImageCopy]) {
    let height = |plane: &PlaneLayout| plane.levels.first().map_or(0, |l| l.extent[1].div_ceil(plane.block[1]));
    let rows = dst.layout.planes().iter().map(height).max().unwrap_or(0);
    for_bands(threads, rows.into(), |band| {
        for region in regions {
            copy_band(None, src, dst, region, band.start as u32..band.end as u32);
        }
    });
}

/// Copies the part of a region that lies in some rows of blocks of the destination.
fn copy_band(threads: HelperThreads, src: &ImageMemory, dst: &ImageMemory, region: &ImageCopy, band: Range<u32>) {
    let dst_planes = dst.layout.select(region.dst.aspects);
    for (src_plane, dst_plane) in src.layout.select(region.src.aspects).zip(dst_planes) {
        copy_plane(threads, (src, src_plane), (dst, dst_plane), region, &band);
    }
}

fn copy_plane(
    threads: HelperThreads,
    (src, src_plane): (&ImageMemory, usize),
    (dst, dst_plane): (&ImageMemory, usize),
    region: &ImageCopy,
    band: &Range<u32>,
) {
    let (Some(src_level), Some(dst_level)) =
        (level_of(src, src_plane, region.src.level), level_of(dst, dst_plane, region.dst.level))
    else {
        return;
    };
    let (src_bw, src_bh, bytes) = block_of(src, src_plane);
    let (dst_bw, dst_bh, dst_bytes) = block_of(dst, dst_plane);
    if bytes != dst_bytes {
        return;
    }
    let [width, height, depth] = region.extent;
    let (src_x, columns) = blocks(region.src_offset[0], width, src_level.extent[0], src_bw);
    let (src_y, rows) = blocks(region.src_offset[1], height, src_level.extent[1], src_bh);
    let (dst_x, dst_columns) = blocks(region.dst_offset[0], columns * dst_bw, dst_level.extent[0], dst_bw);
    let (dst_y, dst_rows) = blocks(region.dst_offset[1], rows * dst_bh, dst_level.extent[1], dst_bh);
    let (columns, rows) = (columns.min(dst_columns), rows.min(dst_rows));
    let above = band.start.saturating_sub(dst_y);
    let rows = rows.min(band.end.saturating_sub(dst_y)).saturating_sub(above);
    let (src_y, dst_y) = (src_y + above, dst_y + above);
    if rows == 0 {
        return;
    }
    let from = SliceRange::new(src, region.src_offset[2], &region.src);
    let to = SliceRange::new(dst, region.dst_offset[2], &region.dst);
    let wanted = from.count(depth, region.src.layer_count).max(to.count(depth, region.dst.layer_count));
    let slices = wanted.min(from.available(src, src_level)).min(to.available(dst, dst_level));
    let samples = dst.layout.desc.samples;
    let row_bytes = u64::from(columns) * u64::from(bytes);
    let moved = RowRegion { slices: u64::from(slices) * u64::from(samples), rows: u64::from(rows), row_bytes };
    let (src_memory, dst_memory) = (memory_of(src), memory_of(dst));
    moved.run(threads, |i, rows| {
        let (sample, slice) = (i as u32 % samples, i as u32 / samples);
        let pieces = |image: &ImageMemory, plane, level, slices: SliceRange, [x, y]: [u32; 2], size: [u32; 2]| {
            let (layer, z) = slices.at(slice);
            let sample = sample.min(image.layout.desc.samples - 1);
            image.layout.pieces(plane, level, layer, sample, [x, y, z], size)
        };
        let (first, count) = (rows.start as u32, (rows.end - rows.start) as u32);
        for s in pieces(src, src_plane, region.src.level, from, [src_x, src_y + first], [columns, count]) {
            let corner = [dst_x + s.x, dst_y + first + s.y];
            for d in pieces(dst, dst_plane, region.dst.level, to, corner, [s.columns, s.rows]) {
                let src_at = s.offset + u64::from(d.y) * s.pitch + u64::from(d.x) * u64::from(bytes);
                let src = RowPlacement { memory: src_memory, offset: src_at, pitch: s.pitch };
                let dst = RowPlacement { memory: dst_memory, offset: d.offset, pitch: d.pitch };
                let row_bytes = u64::from(d.columns) * u64::from(bytes);
                copy_rows(dst, src, row_bytes, 0..u64::from(d.rows), moved.bytes());
            }
        }
    });
}

/// Executes one region of `vkCmdCopyBufferToImage`.
pub fn copy_buffer_to_image(threads: HelperThreads, src: DeviceMemory, dst: &ImageMemory, region: &BufferImageCopy) {
    walk(threads, dst, src, region, |image, buffer, row_bytes, rows, all| {
        copy_rows(image, buffer, row_bytes, rows, all);
    });
}

/// Executes one region of `vkCmdCopyImageToBuffer`.
pub fn copy_image_to_buffer(threads: HelperThreads, src: &ImageMemory, dst: DeviceMemory, region: &BufferImageCopy) {
    walk(threads, src, dst, region, |image, buffer, row_bytes, rows, all| {
        copy_rows(buffer, image, row_bytes, rows, all);
    });
}

/// Calls `copy(image, buffer, bytes of a row, rows, bytes of all)` for all rows of blocks of all
/// slices.
fn walk(
    threads: HelperThreads,
    image: &ImageMemory,
    buffer: DeviceMemory,
    region: &BufferImageCopy,
    copy: impl Fn(RowPlacement, RowPlacement, u64, Range<u64>, u64) + Sync,
) {
    let Some(plane) = image.layout.select(region.image.aspects).next() else { return };
    let Some(level) = level_of(image, plane, region.image.level) else { return };
    let (bw, bh, bytes) = block_of(image, plane);
    let [width, height, depth] = region.image_extent;
    let row_blocks = if region.buffer_row_length == 0 { width } else { region.buffer_row_length }.div_ceil(bw);
    let image_rows = if region.buffer_image_height == 0 { height } else { region.buffer_image_height }.div_ceil(bh);
    let (x, columns) = blocks(region.image_offset[0], width, level.extent[0], bw);
    let (y, rows) = blocks(region.image_offset[1], height, level.extent[1], bh);
    let slices = SliceRange::new(image, region.image_offset[2], &region.image);
    let count = slices.count(depth, region.image.layer_count).min(slices.available(image, level));
    let row_bytes = u64::from(columns) * u64::from(bytes);
    let buffer_row = u64::from(row_blocks) * u64::from(bytes);
    let buffer_slice = buffer_row.saturating_mul(u64::from(image_rows));
    let moved = RowRegion { slices: u64::from(count), rows: u64::from(rows), row_bytes };
    let image_memory = memory_of(image);
    moved.run(threads, |slice, rows| {
        let (layer, z) = slices.at(slice as u32);
        let start = region.buffer_offset.saturating_add(slice.saturating_mul(buffer_slice));
        let (from, size) = ([x, y + rows.start as u32, z], [columns, (rows.end - rows.start) as u32]);
        for run in image.layout.pieces(plane, region.image.level, layer, 0, from, size) {
            let row = (rows.start + u64::from(run.y)).saturating_mul(buffer_row);
            let offset = start.saturating_add(row).saturating_add(u64::from(run.x) * u64::from(bytes));
            let place = RowPlacement { memory: image_memory, offset: run.offset, pitch: run.pitch };
            let row_bytes = u64::from(run.columns) * u64::from(bytes);
            let buffer = RowPlacement { memory: buffer, offset, pitch: buffer_row };
            copy(place, buffer, row_bytes, 0..u64::from(run.rows), moved.bytes());
        }
    });
}
