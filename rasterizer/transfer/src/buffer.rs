//! Buffer copies, fills and updates.

#![forbid(unsafe_code)]

use super::rows::{HelperThreads, RowPlacement, copy_rows, for_bands, for_tasks};
use base::mem::DeviceMemory;
use std::ops::Range;

/// `VkBufferCopy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferCopy {
    /// Offset in the source in bytes.
    pub src_offset: u64,
    /// Offset in the destination in bytes.
    pub dst_offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Number of bytes that one task copies or fills.
const CHUNK: u64 = 1 << 20;

/// Executes one region of `vkCmdCopyBuffer`, cut to both buffers. Source and destination may be one
/// buffer but the regions may not overlap (the specification's rule; if they do, the result is a
/// mix of the bytes).
pub fn copy_buffer(threads: HelperThreads, src: DeviceMemory, dst: DeviceMemory, region: &BufferCopy) {
    let src = src.slice(region.src_offset, region.size);
    let dst = dst.slice(region.dst_offset, region.size);
    let size = src.len().min(dst.len());
    if size <= CHUNK {
        // There may be many small regions in sequence: nothing may wait for the stores of the
        // previous one, not even the load of a whole struct for the stores of its halves.
        dst.copy_from(0, src, 0, size);
        return;
    }
    let place = |memory| RowPlacement { memory, offset: 0, pitch: 1 };
    for_chunks(threads, size, |bytes| copy_rows(place(dst), place(src), 1, bytes, size));
}

/// Executes regions (from, to) of `vkCmdCopyBuffer` that are too small for several threads each;
/// both sides of a region have the same size.
pub fn copy_buffer_regions(threads: HelperThreads, regions: &[(DeviceMemory, DeviceMemory)]) {
    let first = regions.iter().map(|(_, to)| to.address()).min().unwrap_or(0);
    let end = regions.iter().map(|(_, to)| to.address() + to.len()).max().unwrap_or(0);
    for_bands(threads, end - first, |band| {
        for (from, to) in regions {
            let at = to.address() - first;
            let cut = band.start.max(at)..band.end.min(at + to.len());
            if !cut.is_empty() {
                to.copy_from(cut.start - at, *from, cut.start - at, cut.end - cut.start);
            }
        }
    });
}

/// `vkCmdFillBuffer`: fills `size` bytes (rounded down to words) from `offset` on, cut to the
/// buffer.
pub fn fill_buffer(threads: HelperThreads, dst: DeviceMemory, offset: u64, size: u64, data: u32) {
    let dst = dst.slice(offset, size);
    for_chunks(threads, dst.len() & !3, |bytes| {
        dst.fill(bytes.start, &data.to_le_bytes(), (bytes.end - bytes.start) / 4);
    });
}

/// Cuts `size` bytes into chunks.
fn for_chunks(threads: HelperThreads, size: u64, chunk: impl Fn(Range<u64>) + Sync) {
    for_tasks(threads, size.div_ceil(CHUNK), || (), |(), i| chunk(i * CHUNK..size.min((i + 1) * CHUNK)));
}

/// `vkCmdUpdateBuffer`: bytes that do not fit are dropped.
pub fn update_buffer(dst: DeviceMemory, offset: u64, data: &[u8]) {
    let dst = dst.slice(offset, data.len() as u64);
    dst.write(0, &data[..dst.len() as usize]);
}
