//! The entries of descriptor heaps, which generated code finds by the words in a heap
//! ([`base::abi::HeapEntry`]).

use ash::vk;
use base::abi::HeapEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU64, Ordering};

/// A table of entries at a fixed address; pages of unused entries take no memory.
pub struct HeapTable {
    entries: *mut [AtomicU64; 2],
    count: usize,
}
// SAFETY: the value owns the memory, which is written by atomic stores.
unsafe impl Send for HeapTable {}
// SAFETY: the value owns the memory, which is written by atomic stores.
unsafe impl Sync for HeapTable {}

const _: () = assert!(size_of::<HeapEntry>() == size_of::<[AtomicU64; 2]>());

impl HeapTable {
    /// Makes a table of `count` entries. The first entry's object stands for all words that no
    /// other entry has.
    pub fn new(count: usize, first: *const u8) -> Result<HeapTable, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let layout = Self::layout(count).ok_or(out)?;
        // SAFETY: `layout` has at least one byte.
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

    /// Returns the address of the table for generated code.
    pub fn base(&self) -> *const HeapEntry {
        self.entries.cast()
    }

    /// Returns the index of the last entry.
    pub fn last(&self) -> u64 {
        self.count as u64 - 1
    }

    /// Changes an entry. While it changes, the entry has no valid word.
    pub fn set(&self, index: usize, word: u64, object: *const u8) {
        assert!(index < self.count);
        // SAFETY: `index` is inside the table, whose entries are zero at first.
        let entry = unsafe { &*self.entries.add(index) };
        entry[0].store(0, Ordering::Release);
        entry[1].store(object as u64, Ordering::Release);
        entry[0].store(word, Ordering::Release);
    }
}

impl Drop for HeapTable {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.count) {
            // SAFETY: `new` allocated the memory with this layout.
            unsafe { dealloc(self.entries.cast(), layout) };
        }
    }
}
