//! Descriptor heaps: descriptors in the application's memory, which generated code reads there.
//!
//! The application may write anything there, so no pointer in a heap is followed. A buffer is a
//! [`BufferDescriptor`](super::BufferDescriptor) whose range is cut to live memory
//! ([`AddressSpace::runs`](super::AddressSpace)). An image or a sampler is a word, whose low
//! [`HEAP_INDEX_BITS`] bits are the number of an entry in a table of the device. The entry is used
//! only if it contains the same word; the words of entries cannot be guessed. Every other word is
//! the null descriptor, and so is every word outside of the heap. Descriptors are thus not
//! translated before they are used, however many there are.

#![forbid(unsafe_code)]

use super::layout::layout;

/// Number of bits of a word that are an entry's number.
pub const HEAP_INDEX_BITS: u32 = 22;

/// The table entry of an image view or a sampler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapEntry {
    /// Word that represents the object in a heap; the first entry's is 0.
    pub word: u64,
    /// Pointer to an [`ImageView`](super::ImageView) or a [`Sampler`](super::Sampler), depending on
    /// the table. The first entry's is the null view, or any sampler.
    pub object: *const u8,
}

/// A heap as a shader sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapContext {
    /// Address of the first byte.
    pub address: *const u8,
    /// Number of bytes, at least 16.
    pub size: u64,
    /// The device's table of views or of samplers. It may be null if no code reads descriptors of
    /// heaps.
    pub entries: *const HeapEntry,
    /// Number of the table's last entry.
    pub last: u64,
}

/// The heaps of a command.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Heaps {
    /// Heap of images and buffers.
    pub resources: HeapContext,
    /// Heap of samplers.
    pub samplers: HeapContext,
    /// Memory of the null buffer: at least 16 bytes that are readable and writable.
    pub null_buffer: *mut u8,
}

impl Heaps {
    /// The heaps of code that uses none.
    pub const NONE: Heaps = {
        let none = HeapContext { address: core::ptr::null(), size: 0, entries: core::ptr::null(), last: 0 };
        Heaps { resources: none, samplers: none, null_buffer: core::ptr::null_mut() }
    };
}

layout!(HeapEntry { word, object });
layout!(HeapContext { address, size, entries, last });
layout!(Heaps { resources, samplers, null_buffer });
