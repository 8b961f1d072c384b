//! Acceleration structures: ranges of buffers, whose bytes the crate `rays` builds and traverses.

use super::buffer::Buffer;
use ash::vk;
use base::mem::MemoryRange;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Alignment of a structure's offset in its buffer.
const OFFSET_ALIGNMENT: u64 = 256;

/// Object behind a `VkAccelerationStructureKHR`. Its device address is the host address of its
/// range.
pub struct AccelerationStructure {
    buffer: Arc<Buffer>,
    offset: u64,
    size: u64,
    handle: AtomicU64,
    /// True if the structure is in the device's table of live structures.
    live: AtomicBool,
}

impl AccelerationStructure {
    /// Creates a structure in a buffer, which may get its memory later; `replayed` is its device
    /// address in an earlier run, or 0.
    ///
    /// # Errors
    /// VK_ERROR_UNKNOWN if the range is not inside of the buffer or not aligned,
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if it has another address.
    pub fn new(buffer: Arc<Buffer>, offset: u64, size: u64, replayed: u64) -> Result<Self, vk::Result> {
        let inside = offset.checked_add(size).is_some_and(|end| end <= buffer.size);
        if !inside || !offset.is_multiple_of(OFFSET_ALIGNMENT) {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        let structure =
            AccelerationStructure { buffer, offset, size, handle: AtomicU64::new(0), live: AtomicBool::new(false) };
        let address = structure.memory().address as u64;
        if replayed != 0 && address != 0 && address != replayed {
            return Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        }
        Ok(structure)
    }

    /// Returns the structure's bytes: none before the buffer is bound, and none after it is
    /// destroyed.
    pub fn memory(&self) -> MemoryRange {
        self.buffer.exact(self.offset, self.size).unwrap_or(MemoryRange::NULL)
    }

    /// Notes the handle's number, by which builds on the host refer to the structure.
    pub fn set_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Returns the handle's number.
    pub fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Returns true if the structure is in the device's table.
    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Notes that the structure is in the device's table.
    pub(super) fn note_as_live(&self) {
        self.live.store(true, Ordering::Release);
    }
}
