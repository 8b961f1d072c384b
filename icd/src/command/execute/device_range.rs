//! Lookup of the bytes of commands: in buffers, or at addresses, of which only live ones are used.

use super::Executor;
use crate::command::BufferOrAddress;
use crate::object::buffer::Buffer;
use ash::vk;
use base::mem::MemoryRange;
use smallvec::SmallVec;
use std::ops::Range;

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
    pub(super) fn live_parts(&self, what: &str, address: u64, size: u64) -> SmallVec<[Range<u64>; 2]> {
        let parts = self.device.heap.live_parts(address, size);
        let cut = match &parts[..] {
            [part] => part.start != 0 || part.end != size && size != vk::WHOLE_SIZE,
            _ => address != 0 && size != 0,
        };
        if cut {
            self.device.report_invalid_usage(&format!(
                "{what}: {size} bytes at {address:#x} are memory only at the offsets {parts:x?}; reads elsewhere give 0"
            ));
        }
        parts
    }

    /// Returns the existing part of `[offset, offset + size)`. `VK_WHOLE_SIZE` means up to the end
    /// of the buffer, or of the live addresses.
    pub(super) fn range(&self, base: &BufferOrAddress, offset: u64, size: u64) -> MemoryRange {
        match base {
            BufferOrAddress::Buffer(buffer) => {
                let range = buffer.range(offset, size);
                if range.address.is_null() {
                    self.report_unbound(buffer);
                }
                range
            }
            BufferOrAddress::Addresses => self.device.heap.live_prefix(offset, size).unwrap_or(MemoryRange::NULL),
        }
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
        let range = self.exact(base, offset, 4 * N as u64)?;
        // SAFETY: `exact` checked the bounds; device memory is read without assuming alignment.
        Some(unsafe { range.address.cast::<[u32; N]>().read_unaligned() })
    }

    /// Writes a word that is a result of a command; false if it is out of bounds.
    pub(super) fn write_word(&self, base: &BufferOrAddress, offset: u64, word: u32) -> bool {
        let Some(range) = self.exact(base, offset, 4) else { return false };
        // SAFETY: `exact` checked the bounds; device memory is written without assuming alignment.
        unsafe { range.address.cast::<u32>().write_unaligned(word) };
        true
    }
}
