//! Running out of memory is reported as an error and does not end the process.
//!
//! In stable Rust, allocations of the standard library and of other crates cannot fail: a null
//! pointer aborts. So [`Allocator`], the driver's global allocator, serves requests that the system
//! refuses from a reserve, and remembers that this thread was short ([`check`]). A function that
//! makes an object for the application then destroys it and returns VK_ERROR_OUT_OF_HOST_MEMORY.
//! Memory whose size the application chooses is allocated by the functions here instead, which
//! return [`OutOfMemory`] and do not use the reserve.
//!
//! The reserve lies in the library's zeroed data: it is mapped with the library, and a page of it
//! takes memory only while it is in use. Systems refuse addresses or commitment (RLIMIT_AS, strict
//! overcommit), but never the first access to mapped memory.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::System;
use std::collections::TryReserveError;

/// The error that the system has no memory left; also the payload of a thread that unwinds for this
/// reason ([`or_unwind`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl core::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("out of host memory")
    }
}
impl std::error::Error for OutOfMemory {}
impl From<TryReserveError> for OutOfMemory {
    fn from(_: TryReserveError) -> Self {
        OutOfMemory
    }
}

/// Number of bytes of the reserve.
pub const RESERVE: usize = 32 << 20;
/// Number of bytes that one bit represents.
const GRANULE: usize = 256;
const WORDS: usize = RESERVE / GRANULE / 64;

thread_local! {
    /// True if this thread was served from the reserve since [`begin`].
    static USED_RESERVE: Cell<bool> = const { Cell::new(false) };
    /// True while this thread makes requests that may fail.
    static WITHOUT_RESERVE: Cell<bool> = const { Cell::new(false) };
}
/// True if any thread was short once; until then the thread's own state is not read.
static EVER_USED_RESERVE: AtomicBool = AtomicBool::new(false);
static RESERVE_POOL: Reserve = Reserve::new();

/// The system's allocator, with the reserve for requests that the system refuses. It never unwinds.
pub struct Allocator;

// SAFETY: blocks belong to the system or to the reserve, which their addresses distinguish; each is
// returned to its origin.
unsafe impl GlobalAlloc for Allocator {
    // SAFETY: (the attribute) the section holds code; see
    // `vk_icdNegotiateLoaderICDInterfaceVersion`.
    #[unsafe(link_section = ".text_start")]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout's size is not 0, as `GlobalAlloc::alloc` requires.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { from_reserve(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout's size is not 0, as `GlobalAlloc::alloc_zeroed` requires.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = from_reserve(layout);
        if !block.is_null() {
            // SAFETY: the block is new and has that size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    // SAFETY: (the attribute) the section holds code, as for `alloc`.
    #[unsafe(link_section = ".text_start")]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if RESERVE_POOL.contains(block) {
            return RESERVE_POOL.free(block, layout.size());
        }
        // SAFETY: the block is not the reserve's, so the system allocated it with this layout, as
        // `GlobalAlloc::dealloc` requires.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE_POOL.contains(block) {
            // SAFETY: the block is not the reserve's, so the system allocated it, as
            // `GlobalAlloc::realloc` requires.
            let moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: `GlobalAlloc::realloc` requires that the size is not 0 and does not overflow when
        // rounded up.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = if RESERVE_POOL.contains(block) {
            // SAFETY: the size is not 0, as `GlobalAlloc::realloc` requires.
            unsafe { self.alloc(wanted) }
        } else {
            from_reserve(wanted)
        };
        if !moved.is_null() {
            // SAFETY: both blocks are at least that long, and the caller of `realloc` gives up the
            // old one.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

/// Allocates from the reserve what the system refused.
#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    if WITHOUT_RESERVE.get() {
        return null_mut();
    }
    USED_RESERVE.set(true);
    EVER_USED_RESERVE.store(true, Ordering::Relaxed);
    RESERVE_POOL.take(layout)
}

/// Clears the record of shortages on this thread.
#[inline]
pub fn begin() {
    if EVER_USED_RESERVE.load(Ordering::Relaxed) {
        USED_RESERVE.set(false);
    }
}

/// Returns an error if the system has refused a request of this thread since [`begin`].
#[inline]
pub fn check() -> Result<(), OutOfMemory> {
    if EVER_USED_RESERVE.load(Ordering::Relaxed) { check_used_reserve() } else { Ok(()) }
}

/// Tests the thread's own state. It is separate, so that a process that was never short does not
/// access that state, which the system allocates at the first access.
#[cold]
#[inline(never)]
fn check_used_reserve() -> Result<(), OutOfMemory> {
    if USED_RESERVE.get() { Err(OutOfMemory) } else { Ok(()) }
}

/// Returns true if half of the reserve is in use, so that work that can end should end.
pub fn is_critical() -> bool {
    EVER_USED_RESERVE.load(Ordering::Relaxed) && RESERVE_POOL.state.with(|s| s.in_use) > RESERVE / GRANULE / 2
}

/// Returns the value, or unwinds without a message to the entry point, or to the queue, which loses
/// the device.
pub fn or_unwind<T>(result: Result<T, OutOfMemory>) -> T {
    match result {
        Ok(value) => value,
        // The payload has no size, so its box allocates nothing.
        Err(out) => std::panic::resume_unwind(Box::new(out)),
    }
}

/// Runs a function whose requests may fail, and for which the reserve is not used.
pub fn without_reserve<R>(request: impl FnOnce() -> R) -> R {
    let before = WITHOUT_RESERVE.replace(true);
    let result = request();
    WITHOUT_RESERVE.set(before);
    result
}

/// Returns an error if the system does not have this much memory at the moment, for code that
/// cannot fail itself. Small amounts are left to the reserve.
pub fn available(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes <= RESERVE / 512 { Ok(()) } else { reserve(&mut Vec::<u8>::new(), bytes) }
}

/// Reserves capacity for `more` values; growth is amortised.
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    if list.capacity() - list.len() >= more { Ok(()) } else { grow(list, more) }
}

#[cold]
fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    Ok(without_reserve(|| list.try_reserve(more))?)
}

/// Appends a value.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), OutOfMemory> {
    reserve(list, 1)?;
    list.push(value);
    Ok(())
}

/// Returns a copy of a slice.
pub fn to_vec<T: Clone>(slice: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    without_reserve(|| list.try_reserve_exact(slice.len()))?;
    list.extend_from_slice(slice);
    Ok(list)
}

/// Collects the values of an iterator of known length.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    without_reserve(|| list.try_reserve_exact(values.len()))?;
    list.extend(values);
    Ok(list)
}

/// Returns a list of `count` copies of a value.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    without_reserve(|| list.try_reserve_exact(count))?;
    list.resize(count, value);
    Ok(list)
}

/// A first-fit allocator of blocks of whole granules inside one array.
struct Reserve {
    state: SpinLock<ReserveState>,
    memory: ReserveMemory,
}

struct ReserveState {
    /// Usage of the granules, one bit each.
    used: [u64; WORDS],
    /// Number of granules in use.
    in_use: usize,
    /// Lower bound of the free granules: every granule before this one is in use.
    first_free: usize,
}

#[repr(C, align(4096))]
struct ReserveMemory(UnsafeCell<[u8; RESERVE]>);
// SAFETY: the memory is handed out in disjoint blocks, and the array itself is never read or
// written.
unsafe impl Sync for ReserveMemory {}

impl Reserve {
    const fn new() -> Reserve {
        Reserve {
            state: SpinLock::new(ReserveState { used: [0; WORDS], in_use: 0, first_free: 0 }),
            memory: ReserveMemory(UnsafeCell::new([0; RESERVE])),
        }
    }

    fn base(&self) -> *mut u8 {
        self.memory.0.get().cast()
    }

    fn contains(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.base() as usize) < RESERVE
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        // The array begins at a page, and alignments up to that are multiples of granules.
        if layout.align() > 4096 {
            return null_mut();
        }
        let granules = layout.size().div_ceil(GRANULE).max(1);
        let step = (layout.align() / GRANULE).max(1);
        self.state.with(|state| match state.find(granules, step) {
            Some(first) => {
                state.mark(first, granules, true);
                self.base().wrapping_add(first * GRANULE)
            }
            None => null_mut(),
        })
    }

    fn free(&self, block: *mut u8, size: usize) {
        let first = (block as usize - self.base() as usize) / GRANULE;
        self.state.with(|state| {
            state.mark(first, size.div_ceil(GRANULE).max(1), false);
            if state.in_use == 0 {
                // SAFETY: these are whole pages of zeroed data, none of which is in use.
                unsafe { crate::os::discard_data(self.base(), RESERVE) };
            }
        });
    }
}

impl ReserveState {
    /// Returns the first granule of a free run that begins at a multiple of `step`.
    fn find(&self, granules: usize, step: usize) -> Option<usize> {
        let mut first = self.first_free.next_multiple_of(step);
        while first + granules <= WORDS * 64 {
            match (first..first + granules).rev().find(|&g| self.used[g / 64] >> (g % 64) & 1 != 0) {
                None => return Some(first),
                // The search continues after the last obstacle, and after the full words that
                // follow it.
                Some(used) => {
                    let mut next = used + 1;
                    while next % 64 == 0 && next < WORDS * 64 && self.used[next / 64] == u64::MAX {
                        next += 64;
                    }
                    first = next.next_multiple_of(step);
                }
            }
        }
        None
    }

    fn mark(&mut self, first: usize, granules: usize, used: bool) {
        for g in first..first + granules {
            let bit = 1 << (g % 64);
            if used {
                self.used[g / 64] |= bit;
            } else {
                self.used[g / 64] &= !bit;
            }
        }
        self.in_use = if used { self.in_use + granules } else { self.in_use - granules };
        if !used {
            self.first_free = self.first_free.min(first);
        } else if first <= self.first_free {
            self.first_free = self.first_free.max(first + granules);
        }
    }
}

/// A lock that allocates nothing.
struct SpinLock<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}
// SAFETY: the value is only accessed under the lock.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    const fn new(value: T) -> SpinLock<T> {
        SpinLock { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `f` under the lock; `f` must not unwind.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        // SAFETY: the lock is held, so no other reference to the value exists.
        let result = f(unsafe { &mut *self.value.get() });
        self.locked.store(false, Ordering::Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_gives_disjoint_blocks_and_takes_them_back() {
        let layout = |size, align| Layout::from_size_align(size, align).expect("layout");
        let sizes = [(1, 1), (256, 16), (257, 4096), (100_000, 64), (3, 512), (RESERVE / 2, 4096)];
        for round in 0..3 {
            let mut blocks: Vec<(usize, Layout)> = Vec::new();
            for (i, (size, align)) in sizes.into_iter().enumerate() {
                let layout = layout(size, align);
                let block = RESERVE_POOL.take(layout);
                assert!(
                    RESERVE_POOL.contains(block) && (block as usize).is_multiple_of(align),
                    "round {round}, block {i}"
                );
                // SAFETY: the bytes belong to the block.
                unsafe { block.write_bytes(i as u8 + 1, size) };
                assert!(blocks.iter().all(|(b, l)| *b + l.size() <= block as usize || block as usize + size <= *b));
                blocks.push((block as usize, layout));
            }
            assert!(
                RESERVE_POOL.take(layout(RESERVE / 2, 1)).is_null() && RESERVE_POOL.take(layout(1, 8192)).is_null()
            );
            for i in [3, 0, 5, 1, 4, 2] {
                let (block, layout) = blocks[i];
                // SAFETY: the bytes belong to the block.
                let bytes = unsafe { core::slice::from_raw_parts(block as *const u8, layout.size()) };
                assert!(bytes.iter().all(|b| *b == i as u8 + 1), "block {i}");
                RESERVE_POOL.free(block as *mut u8, layout.size());
            }
            assert_eq!(RESERVE_POOL.state.with(|s| s.in_use), 0);
        }
    }

    #[test]
    fn too_large_requests_are_errors() {
        assert_eq!(available(isize::MAX as usize), Err(OutOfMemory));
        assert_eq!(filled(0u64, usize::MAX / 16), Err(OutOfMemory));
        assert_eq!(reserve(&mut vec![1u8], usize::MAX), Err(OutOfMemory));
        assert_eq!(to_vec(&[1, 2, 3]), Ok(vec![1, 2, 3]));
        assert_eq!(collect([4, 5].into_iter()), Ok(vec![4, 5]));
        let caught = std::panic::catch_unwind(|| or_unwind(Err::<(), _>(OutOfMemory)));
        assert!(caught.expect_err("unwinds").is::<OutOfMemory>());
    }
}
