//! Where the bytes of commands are: in buffers, or at addresses, which are looked up among what is alive.

use super::Executor;
use crate::command::Space;
use crate::object::buffer::Buffer;
use base::mem::MemoryRange;

impl Executor<'_> {
    /// Tells the application where there are no bytes because the buffer has no memory.
    #[cold]
    fn check(&self, buffer: &Buffer) {
        if buffer.memory().address.is_null() {
            self.device.misuse("a command uses a buffer that has no memory: it was never bound, or has been destroyed");
        }
    }

    /// The part of `[offset, offset + size)` that there is (`VK_WHOLE_SIZE`: to the end of the buffer, or of what is alive there).
    pub(super) fn range(&self, space: &Space, offset: u64, size: u64) -> MemoryRange {
        match space {
            Space::Buffer(buffer) => {
                let range = buffer.range(offset, size);
                if range.address.is_null() {
                    self.check(buffer);
                }
                range
            }
            Space::Addresses => self.device.heap.prefix(offset, size).unwrap_or(MemoryRange::NULL),
        }
    }

    /// Exactly `size` bytes at `offset`, or nothing.
    pub(super) fn exact(&self, space: &Space, offset: u64, size: u64) -> Option<MemoryRange> {
        match space {
            Space::Buffer(buffer) => {
                let range = buffer.exact(offset, size);
                if range.is_none() {
                    self.check(buffer);
                }
                range
            }
            Space::Addresses => self.device.heap.range(offset, size).filter(|range| range.size != 0),
        }
    }

    /// Reads words that a command finds in memory; `None` outside.
    pub(super) fn read_words<const N: usize>(&self, space: &Space, offset: u64) -> Option<[u32; N]> {
        let range = self.exact(space, offset, 4 * N as u64)?;
        // SAFETY: in bounds; device memory is read without assuming alignment.
        Some(unsafe { range.address.cast::<[u32; N]>().read_unaligned() })
    }

    /// Writes such a word; false outside.
    pub(super) fn write_word(&self, space: &Space, offset: u64, word: u32) -> bool {
        let Some(range) = self.exact(space, offset, 4) else { return false };
        // SAFETY: in bounds; device memory is written without assuming alignment.
        unsafe { range.address.cast::<u32>().write_unaligned(word) };
        true
    }
}
