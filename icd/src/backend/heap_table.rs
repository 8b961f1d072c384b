//! The entries of descriptor heaps: what generated code finds by the words that lie in a heap ([`base::abi::HeapEntry`]).

use ash::vk;
use base::abi::HeapEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries at one address for life; pages of those that nobody has used are not there.
pub struct HeapTable {
    entries: *mut [AtomicU64; 2],
    count: usize,
}
// SAFETY: memory of its own, written by atomic stores.
unsafe impl Send for HeapTable {}
// SAFETY: as above.
unsafe impl Sync for HeapTable {}

const _: () = assert!(size_of::<HeapEntry>() == size_of::<[AtomicU64; 2]>());

impl HeapTable {
    /// So many entries, the first of which is what all words stand for that no other entry has.
    pub fn new(count: usize, first: *const u8) -> Result<HeapTable, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let layout = Self::layout(count).ok_or(out)?;
        // SAFETY: a layout of some bytes.
        let entries: *mut [AtomicU64; 2] = unsafe { alloc_zeroed(layout) }.cast();
        if entries.is_null() {
            return Err(out);
        }
        let table = HeapTable { entries, count };
        table.set(0, 0, first);
        Ok(table)
    }

    fn layout(count: usize) -> Option<Layout> {
        Layout::array::<[AtomicU64; 2]>(count).ok().filter(|layout| layout.size() > 0)
    }

    /// For generated code.
    pub fn base(&self) -> *const HeapEntry {
        self.entries.cast()
    }

    /// Number of the last entry.
    pub fn last(&self) -> u64 {
        self.count as u64 - 1
    }

    /// Changes an entry. For a moment it has no word of anybody's.
    pub fn set(&self, index: usize, word: u64, object: *const u8) {
        assert!(index < self.count);
        // SAFETY: an entry, zero at first.
        let entry = unsafe { &*self.entries.add(index) };
        entry[0].store(0, Ordering::Release);
        entry[1].store(object as u64, Ordering::Release);
        entry[0].store(word, Ordering::Release);
    }
}

impl Drop for HeapTable {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.count) {
            // SAFETY: allocated by `new` with this layout.
            unsafe { dealloc(self.entries.cast(), layout) };
        }
    }
}
