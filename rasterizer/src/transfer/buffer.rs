//! Buffer copies, fills and updates.

#![forbid(unsafe_code)]

use super::rows::for_rows;
use base::mem::DeviceMemory;

/// `VkBufferCopy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferCopy {
    /// Bytes into the source.
    pub src_offset: u64,
    /// Bytes into the destination.
    pub dst_offset: u64,
    /// In bytes.
    pub size: u64,
}

/// Bytes that one task copies or fills.
const CHUNK: u64 = 1 << 20;

/// `vkCmdCopyBuffer`, one region; cut to both buffers. Source and destination may be one buffer but the regions may not overlap (the
/// specification's rule; if they do, the result is some mix of the bytes).
pub fn copy_buffer(src: DeviceMemory, dst: DeviceMemory, region: &BufferCopy) {
    let src = src.slice(region.src_offset, region.size);
    let dst = dst.slice(region.dst_offset, region.size);
    let size = src.len().min(dst.len());
    for_rows(size.div_ceil(CHUNK), size, |i| {
        let offset = i * CHUNK;
        dst.copy_from(offset, src, offset, CHUNK.min(size - offset));
    });
}

/// `vkCmdFillBuffer`: `size` bytes (rounded down to words) from `offset`, cut to the buffer.
pub fn fill_buffer(dst: DeviceMemory, offset: u64, size: u64, data: u32) {
    let dst = dst.slice(offset, size);
    let size = dst.len() & !3;
    for_rows(size.div_ceil(CHUNK), size, |i| {
        let offset = i * CHUNK;
        dst.fill(offset, &data.to_le_bytes(), CHUNK.min(size - offset) / 4);
    });
}

/// `vkCmdUpdateBuffer`: bytes that do not fit are dropped.
pub fn update_buffer(dst: DeviceMemory, offset: u64, data: &[u8]) {
    let dst = dst.slice(offset, data.len() as u64);
    dst.write(0, &data[..dst.len() as usize]);
}
