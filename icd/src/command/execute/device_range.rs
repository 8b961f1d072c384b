//! Lookup of the bytes of commands: in buffers, or at addresses, of which only live ones are used.

use super::Executor;
use crate::command::BufferOrAddress;
use crate::object::buffer::Buffer;
use crate::object::memory::Heap;
use crate::shader_compiler::ray_query::AccessibleStructures;
use ash::vk;
use base::mem::{DeviceMemory, MemoryRange};
use smallvec::SmallVec;
use std::ops::Range;

/// Live parts of a range, as offsets in it.
pub(super) type LiveParts = SmallVec<[Range<u64>; 2]>;

/// Reads words of memory; `None` if they are not in it.
#[inline]
pub(super) fn words_at<const N: usize>(memory: DeviceMemory, offset: u64) -> Option<[u32; N]> {
    let mut words = [[0; 4]; N];
    memory.read(offset, words.as_flattened_mut()).then(|| words.map(u32::from_ne_bytes))
}

/// Returns the memory of the first live part of a range at an address, and its offset there.
pub(super) fn first_part(address: u64, parts: &[Range<u64>]) -> (MemoryRange, u64) {
    let Some(first) = parts.first() else { return (MemoryRange::NULL, 0) };
    let begin = address.wrapping_add(first.start) as *mut u8;
    (MemoryRange { address: begin, size: first.end - first.start }, first.start)
}

/// Returns the existing part of `[offset, offset + size)`, as [`Executor::range`] does, and reports
/// nothing.
pub(super) fn existing_range(heap: &Heap, base: &BufferOrAddress, offset: u64, size: u64) -> MemoryRange {
    match base {
        BufferOrAddress::Buffer(buffer) => buffer.range(offset, size),
        BufferOrAddress::Addresses => heap.live_prefix(offset, size).unwrap_or(MemoryRange::NULL),
    }
}

impl Executor<'_> {
    /// Reports to the application a buffer that has no memory.
    #[cold]
    fn report_unbound(&self, buffer: &Buffer) {
        if buffer.memory().address.is_null() {
            self.device.report_invalid_usage(
                "a command uses a buffer that has no memory: it was never bound, or has been destroyed",
            );
        }
    }

    /// Returns the live parts of `size` bytes at an address, as offsets. Reports invalid usage if
    /// not all of them are live, or with `VK_WHOLE_SIZE` if the first one is not; `what` names
    /// them. Address 0 has no bytes and is not reported.
    pub(super) fn live_parts(&self, what: &str, address: u64, size: u64) -> LiveParts {
        let (parts, is_cut) = self.find_live_parts(address, size);
        if is_cut {
            self.device.report_invalid_usage(&format!(
                "{what}: {size} bytes at {address:#x} are memory only at the offsets {parts:x?}; reads elsewhere give 0"
            ));
        }
        parts
    }

    /// Returns the live parts of `size` bytes at an address, and true if [`Executor::live_parts`]
    /// reports them.
    pub(super) fn find_live_parts(&self, address: u64, size: u64) -> (LiveParts, bool) {
        let parts = self.device.heap.live_parts(address, size);
        let is_cut = match &parts[..] {
            [part] => part.start != 0 || part.end != size && size != vk::WHOLE_SIZE,
            _ => address != 0 && size != 0,
        };
        (parts, is_cut)
    }

    /// Returns the existing part of `[offset, offset + size)`. `VK_WHOLE_SIZE` means up to the end
    /// of the buffer, or of the live addresses.
    pub(super) fn range(&self, base: &BufferOrAddress, offset: u64, size: u64) -> MemoryRange {
        let range = existing_range(&self.device.heap, base, offset, size);
        if let BufferOrAddress::Buffer(buffer) = base
            && range.address.is_null()
        {
            self.report_unbound(buffer);
        }
        range
    }

    /// Returns exactly `size` bytes at `offset`, or nothing.
    pub(super) fn exact(&self, base: &BufferOrAddress, offset: u64, size: u64) -> Option<MemoryRange> {
        match base {
            BufferOrAddress::Buffer(buffer) => {
                let range = buffer.exact(offset, size);
                if range.is_none() {
                    self.report_unbound(buffer);
                }
                range
            }
            BufferOrAddress::Addresses => self.device.heap.range(offset, size).filter(|range| range.size != 0),
        }
    }

    /// Reads words that are parameters of a command; `None` if they are out of bounds.
    pub(super) fn read_words<const N: usize>(&self, base: &BufferOrAddress, offset: u64) -> Option<[u32; N]> {
        words_at(self.exact_memory(base, offset, 4 * N as u64)?, 0)
    }

    /// Returns exactly `size` bytes at `offset`, to be accessed; or nothing.
    pub(super) fn exact_memory(&self, base: &BufferOrAddress, offset: u64, size: u64) -> Option<DeviceMemory> {
        let range = self.exact(base, offset, size)?;
        // SAFETY: `exact` returns live memory, which stays so while a submission is executed.
        Some(unsafe { DeviceMemory::new(range) })
    }

    /// Returns the live prefix of `size` bytes at an address, to be accessed; or nothing.
    pub(super) fn live_memory(&self, address: u64, size: u64) -> Option<DeviceMemory> {
        let range = self.device.heap.live_prefix(address, size)?;
        // SAFETY: `live_prefix` returns live memory, which stays so while a submission is executed.
        Some(unsafe { DeviceMemory::new(range) })
    }

    /// Returns the live acceleration structures, to be accessed.
    pub(super) fn accessible_structures(&self) -> AccessibleStructures<'_> {
        // SAFETY: the executor executes a submission, which goes on longer than it borrows itself.
        unsafe { self.device.structures.access() }
    }

    /// Writes a word that is a result of a command; false if it is out of bounds.
    pub(super) fn write_word(&self, base: &BufferOrAddress, offset: u64, word: u32) -> bool {
        let Some(range) = self.exact(base, offset, 4) else { return false };
        // SAFETY: `exact` checked the bounds; device memory is written without assuming alignment.
        unsafe { range.address.cast::<u32>().write_unaligned(word) };
        true
    }
}
