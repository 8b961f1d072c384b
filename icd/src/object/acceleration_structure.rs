//! Acceleration structures: ranges of buffers or of addresses, whose bytes the crate `rays` builds
//! and traverses.

use super::buffer::{Buffer, STRUCTURE_ALIGNMENT};
use ash::vk;
use base::mem::MemoryRange;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entry of a structure that was never in the device's table of live structures.
const NEVER: u64 = 0;
/// Entry of a structure whose handle is destroyed.
const REMOVED: u64 = u64::MAX;

/// Place of a structure's bytes.
enum Place {
    /// A range of a buffer.
    Buffer { buffer: Arc<Buffer>, offset: u64, size: u64 },
    /// A range of device addresses, which may become dead at any time.
    Addresses(MemoryRange),
}

/// Object behind a `VkAccelerationStructureKHR`. Its device address is the host address of its
/// range.
pub struct AccelerationStructure {
    place: Place,
    handle: AtomicU64,
    /// Address with which the structure is in the device's table of live structures; [`NEVER`] and
    /// [`REMOVED`] are none.
    entry: AtomicU64,
}

/// Object behind a `VkMicromapEXT`: a structure with a handle of another type.
pub struct Micromap {
    /// The structure.
    pub structure: Arc<AccelerationStructure>,
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
        if !inside || !offset.is_multiple_of(STRUCTURE_ALIGNMENT) {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        AccelerationStructure::at(Place::Buffer { buffer, offset, size }, replayed)
    }

    /// Creates a structure at device addresses (`vkCreateAccelerationStructure2KHR`).
    ///
    /// # Errors
    /// VK_ERROR_UNKNOWN if the address is not aligned or the range ends behind the last address,
    /// VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS if it has another address than the replayed one.
    pub fn at_address(address: u64, size: u64, replayed: u64) -> Result<Self, vk::Result> {
        if address == 0 || address.checked_add(size).is_none() || !address.is_multiple_of(STRUCTURE_ALIGNMENT) {
            return Err(vk::Result::ERROR_UNKNOWN);
        }
        AccelerationStructure::at(Place::Addresses(MemoryRange { address: address as *mut u8, size }), replayed)
    }

    fn at(place: Place, replayed: u64) -> Result<Self, vk::Result> {
        let structure = AccelerationStructure { place, handle: AtomicU64::new(0), entry: AtomicU64::new(NEVER) };
        let address = structure.memory().address as u64;
        if replayed != 0 && address != 0 && address != replayed {
            return Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        }
        Ok(structure)
    }

    /// Returns the structure's bytes: none before its buffer is bound, and none after the buffer is
    /// destroyed. Accesses require a lookup of live memory first.
    pub fn memory(&self) -> MemoryRange {
        match &self.place {
            Place::Buffer { buffer, offset, size } => buffer.exact(*offset, *size).unwrap_or(MemoryRange::NULL),
            Place::Addresses(range) => *range,
        }
    }

    /// Notes the handle's number, by which builds on the host refer to the structure.
    pub fn set_handle(&self, handle: u64) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Returns the handle's number.
    pub fn handle(&self) -> u64 {
        self.handle.load(Ordering::Relaxed)
    }

    /// Returns true if the structure is, or was, in the device's table.
    pub(super) fn was_entered(&self) -> bool {
        self.entry.load(Ordering::Acquire) != NEVER
    }

    /// Notes the address with which the structure is in the device's table.
    pub(super) fn note_entry(&self, address: u64) {
        self.entry.store(address, Ordering::Release);
    }

    /// Notes that the structure does not get into the device's table again. Returns the address
    /// with which it was there.
    pub(super) fn note_removal(&self) -> Option<u64> {
        let address = self.entry.swap(REMOVED, Ordering::AcqRel);
        (address != NEVER && address != REMOVED).then_some(address)
    }
}
