//! Layout of the page of memory behind a [`super::shared_counter`].

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Size of the memory in bytes.
pub const PAGE_BYTES: usize = 4096;

/// Layout of the beginning of the memory. Other processes may write any bits.
#[repr(C)]
pub struct CounterPage {
    /// Letters that tell the layout.
    pub magic: AtomicU64,
    /// Kind of the number, as its owner defines it.
    pub kind: AtomicU32,
    /// Number of changes, on which sleepers wait.
    pub changes: AtomicU32,
    /// The number.
    pub value: AtomicU64,
    /// Value that was promised.
    pub promised: AtomicU64,
    /// Identity ([`super::process::identity`]) of the process that made the last promise, or 0.
    pub promise_owner: AtomicU64,
    /// Number of threads that sleep on the changes.
    pub sleepers: AtomicU32,
}
const _: () = assert!(size_of::<CounterPage>() <= PAGE_BYTES);
