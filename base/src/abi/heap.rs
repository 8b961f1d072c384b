//! Descriptor heaps: descriptors in the application's memory, which generated code reads there.
//!
//! Anybody may write there, so nothing that lies there is followed. A buffer is a [`BufferDescriptor`](super::BufferDescriptor) whose range is cut to what is alive
//! ([`AddressSpace::runs`](super::AddressSpace)). An image or a sampler is a word, of which the low [`HEAP_INDEX_BITS`] bits are the number of an entry in a table
//! of the device's. Only an entry with the same word in it is meant: entries have words that nobody guesses. All else is the null descriptor, as is
//! what lies outside of the heap. So nothing is translated before it is used, however many descriptors there are.

#![forbid(unsafe_code)]

use super::layout::layout;

/// Bits of a word that are an entry's number.
pub const HEAP_INDEX_BITS: u32 = 22;

/// Most bytes of a heap, and of a buffer whose descriptor is in one: offsets of generated code are words that do not wrap.
pub const MAX_HEAP_RANGE: u64 = 1 << 30;

/// An image view or a sampler.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapEntry {
    /// What lies in a heap for it. The first entry's is 0.
    pub word: u64,
    /// An [`ImageView`](super::ImageView) or a [`Sampler`](super::Sampler), as the table is of one or the other. The first entry's is the null view, or any sampler.
    pub object: *const u8,
}

/// A heap as a shader sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HeapContext {
    /// First byte.
    pub address: *const u8,
    /// Bytes; at least 16.
    pub size: u64,
    /// The device's table, of views or of samplers. May be null where nobody reads descriptors of heaps.
    pub entries: *const HeapEntry,
    /// Number of its last entry.
    pub last: u64,
}

/// The heaps of a command.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Heaps {
    /// Images and buffers.
    pub resources: HeapContext,
    /// Samplers.
    pub samplers: HeapContext,
    /// At least 16 bytes that are readable and writable: where a null buffer is.
    pub null_buffer: *mut u8,
}

impl Heaps {
    /// For code that has none.
    pub const NONE: Heaps = {
        let none = HeapContext { address: core::ptr::null(), size: 0, entries: core::ptr::null(), last: 0 };
        Heaps { resources: none, samplers: none, null_buffer: core::ptr::null_mut() }
    };
}

layout!(HeapEntry { word, object });
layout!(HeapContext { address, size, entries, last });
layout!(Heaps { resources, samplers, null_buffer });
