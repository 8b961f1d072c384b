//! The memory of an image, and its rows spread over the pool.

use crate::api::ImageMemory;
use base::mem::{DeviceMemory, MemoryRange};

/// The memory of an image.
pub fn memory_of(image: &ImageMemory) -> DeviceMemory {
    // SAFETY: an `ImageMemory` promises `layout.size` bytes at `base`, alive while it is used.
    unsafe { DeviceMemory::new(MemoryRange { address: image.base, size: image.layout.size }) }
}

/// Runs `row(i)` for every i in 0..rows, on the pool's threads when the caller is one of them (else there is no pool, or it is not worth
/// waking it: rayon would start one of its own) and `bytes` in total make it worth it.
pub fn for_rows(rows: u64, bytes: u64, row: impl Fn(u64) + Sync) {
    use rayon::prelude::*;
    /// A task's overhead is a few microseconds: the time to copy some tens of kilobytes.
    const BYTES_PER_TASK: u64 = 128 << 10;
    if rows <= 1 || bytes <= 2 * BYTES_PER_TASK || rayon::current_thread_index().is_none() {
        (0..rows).for_each(row);
        return;
    }
    let per_task = (rows * BYTES_PER_TASK / bytes).max(1);
    let tasks = rows.div_ceil(per_task);
    (0..tasks).into_par_iter().for_each(|task| {
        let first = task * per_task;
        (first..rows.min(first + per_task)).for_each(&row);
    });
}
