//! The memory of an image, the distribution of rows over threads, and copies of rows, where
//! adjacent rows are one piece of memory.

use base::mem::ImageMemory;
use base::mem::{DeviceMemory, MemoryRange};
use execution::work_sharing::{HelperPolicy, Items, WorkSharingPool};
use std::ops::Range;

/// The threads that a transfer may use beside the caller's; `None` if it is too small for that, or
/// if there are none.
pub type HelperThreads<'a> = Option<&'a WorkSharingPool>;

/// Returns the memory of an image.
pub fn memory_of(image: &ImageMemory) -> DeviceMemory {
    // SAFETY: an `ImageMemory` guarantees `layout.size` bytes at `base`, alive while it is used.
    unsafe { DeviceMemory::new(MemoryRange { address: image.base, size: image.layout.size }) }
}

/// Runs `task(scratch, i)` for every i in 0..tasks; each thread makes its own scratch. The caller's
/// thread begins at once and shares the remaining tasks when helpers join, because waking one takes
/// some ten microseconds.
pub fn for_tasks<S>(
    threads: HelperThreads,
    tasks: u64,
    scratch: impl Fn() -> S + Sync,
    task: impl Fn(&mut S, u64) + Sync,
) {
    let Some(work_sharing) = threads.filter(|_| tasks > 1) else {
        // An atomic counter would wait until all stores of the previous transfer are done, so none
        // is used.
        if tasks > 0 {
            let mut own = scratch();
            (0..tasks).for_each(|i| task(&mut own, i));
        }
        return;
    };
    let part = |tasks: Items<'_>| {
        let mut own = None;
        tasks.for_each(|i| task(own.get_or_insert_with(&scratch), i));
    };
    work_sharing.for_each(tasks, HelperPolicy::Immediately, &part);
}

/// Runs `task` for parts of the destination, `0..end`. Each task executes a whole list of small
/// regions in order, as far as they lie in its part. Where two regions overlap, the later one's
/// bytes remain, for any number of threads.
pub fn for_bands(threads: HelperThreads, end: u64, task: impl Fn(Range<u64>) + Sync) {
    let bands = threads.map_or(1, |work_sharing| 2 * work_sharing.threads() as u64).min(64);
    let size = end.div_ceil(bands).max(1);
    for_tasks(threads, end.div_ceil(size), || (), |(), i| task(i * size..end.min((i + 1) * size)));
}

/// Number of bytes that a task moves: enough that its distribution costs nothing.
const TASK: u64 = 256 << 10;

/// Rows of bytes in slices, which are to be moved.
#[derive(Clone, Copy, Debug)]
pub struct RowRegion {
    /// Number of slices, layers or samples, each of which has its own run of rows.
    pub slices: u64,
    /// Number of rows of each slice.
    pub rows: u64,
    /// Number of bytes of a row.
    pub row_bytes: u64,
}

impl RowRegion {
    /// Returns the number of all bytes.
    pub fn bytes(self) -> u64 {
        self.slices.saturating_mul(self.rows).saturating_mul(self.row_bytes)
    }

    /// Runs `task(slice, rows)` until all rows of all slices are done.
    pub fn run(self, threads: HelperThreads, task: impl Fn(u64, Range<u64>) + Sync) {
        let max = (TASK / self.row_bytes.max(1)).max(1);
        let per_slice = self.rows.div_ceil(max);
        for_tasks(
            threads,
            self.slices * per_slice,
            || (),
            |(), i| {
                let (slice, first) = (i / per_slice, i % per_slice * max);
                task(slice, first..self.rows.min(first + max));
            },
        );
    }
}

/// Positions of rows: the first one's offset, and the distance from row to row.
#[derive(Clone, Copy, Debug)]
pub struct RowPlacement {
    /// The memory that has the rows.
    pub memory: DeviceMemory,
    /// Offset of the first row.
    pub offset: u64,
    /// Number of bytes between rows.
    pub pitch: u64,
}

impl RowPlacement {
    fn row(self, row: u64) -> u64 {
        self.offset.saturating_add(row.saturating_mul(self.pitch))
    }
}

/// Transfers that write more bytes than this use non-temporal stores: with the bytes that are read
/// they exceed the caches of most processors. (16 MiB to 16 MiB: 58 GB/s, through the caches 33. 8
/// MiB to 8 MiB: 76, through the caches 80 to 95.)
const STREAMED: u64 = 8 << 20;

/// Copies rows of a transfer of `all` bytes. A row that is not wholly inside of its memory is
/// skipped.
pub fn copy_rows(to: RowPlacement, from: RowPlacement, row_bytes: u64, rows: Range<u64>, all: u64) {
    let copy = |row: u64, bytes: u64| {
        let (to_at, from_at) = (to.row(row), from.row(row));
        if all > STREAMED {
            to.memory.stream_from(to_at, from.memory, from_at, bytes)
        } else {
            to.memory.copy_from(to_at, from.memory, from_at, bytes)
        }
    };
    let gapless = to.pitch == row_bytes && from.pitch == row_bytes;
    if gapless && copy(rows.start, (rows.end - rows.start).saturating_mul(row_bytes)) {
        return;
    }
    for row in rows {
        copy(row, row_bytes);
    }
}

/// Fills rows with a texel.
pub fn fill_rows(to: RowPlacement, texel: &[u8], width: u64, rows: Range<u64>) {
    let count = rows.end - rows.start;
    if to.pitch == width * texel.len() as u64 {
        to.memory.fill(to.row(rows.start), texel, width * count);
        return;
    }
    for row in rows {
        to.memory.fill(to.row(row), texel, width);
    }
}
