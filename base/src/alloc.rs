//! Running out of memory is an error, not the end of the process.
//!
//! What the standard library and other crates allocate cannot fail in stable Rust: a null pointer aborts. So [`Allocator`], the driver's
//! global allocator, answers what the system refuses from a reserve and remembers that this thread was short ([`check`]); who makes
//! something for the application then gives it back and answers VK_ERROR_OUT_OF_HOST_MEMORY. What is as large as the application
//! likes is allocated by the functions here instead, which return [`OutOfMemory`] and leave the reserve alone.
//!
//! The reserve lies in the library's zeroed data: it is mapped with the library, and a page of it takes memory only while it is in use.
//! Systems refuse addresses or commitment (RLIMIT_AS, strict overcommit), never the first touch of what is mapped.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};
use std::alloc::System;
use std::collections::TryReserveError;

/// The system has no memory left for this; also what an unwinding thread carries then ([`or_unwind`]).
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

/// Bytes of the reserve.
pub const RESERVE: usize = 32 << 20;
/// Bytes that one bit stands for.
const GRANULE: usize = 256;
const WORDS: usize = RESERVE / GRANULE / 64;

thread_local! {
    /// This thread was answered from the reserve since [`begin`].
    static SHORT: Cell<bool> = const { Cell::new(false) };
    /// This thread asks for what it can do without.
    static OPTIONAL: Cell<bool> = const { Cell::new(false) };
}
/// Some thread was short once: until then nobody looks at the thread's own state.
static EVER_SHORT: AtomicBool = AtomicBool::new(false);
static POOL: Reserve = Reserve::new();

/// The system's allocator, and the reserve when the system refuses. Never unwinds.
pub struct Allocator;

// SAFETY: blocks are the system's or the reserve's, told apart by their addresses; each goes back to where it is from.
unsafe impl GlobalAlloc for Allocator {
    // SAFETY: (the attribute) code, in a section of code; see `vk_icdNegotiateLoaderICDInterfaceVersion`.
    #[unsafe(link_section = ".text_start")]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { from_reserve(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = from_reserve(layout);
        if !block.is_null() {
            // SAFETY: a new block of that size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    // SAFETY: (the attribute) as for `alloc`.
    #[unsafe(link_section = ".text_start")]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if POOL.holds(block) {
            return POOL.give(block, layout.size());
        }
        // SAFETY: the caller's promise; not the reserve's, so the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !POOL.holds(block) {
            // SAFETY: the caller's promise; not the reserve's, so the system's.
            let moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller's promise: not 0, and no overflow when rounded up.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = if POOL.holds(block) {
            // SAFETY: as above.
            unsafe { self.alloc(wanted) }
        } else {
            from_reserve(wanted)
        };
        if !moved.is_null() {
            // SAFETY: two blocks, both at least as long; the old one is the caller's to give.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

/// What the system refused.
#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    if OPTIONAL.get() {
        return null_mut();
    }
    SHORT.set(true);
    EVER_SHORT.store(true, Ordering::Relaxed);
    POOL.take(layout)
}

/// Forgets what happened on this thread so far.
#[inline]
pub fn begin() {
    if EVER_SHORT.load(Ordering::Relaxed) {
        SHORT.set(false);
    }
}

/// An error when the system refused this thread something since [`begin`].
#[inline]
pub fn check() -> Result<(), OutOfMemory> {
    if EVER_SHORT.load(Ordering::Relaxed) { was_short() } else { Ok(()) }
}

/// Apart, so that who was never short does not look for the thread's own state, which the system makes when it is looked for first.
#[cold]
#[inline(never)]
fn was_short() -> Result<(), OutOfMemory> {
    if SHORT.get() { Err(OutOfMemory) } else { Ok(()) }
}

/// Half of the reserve is in use: who can end its work, ends it.
pub fn is_critical() -> bool {
    EVER_SHORT.load(Ordering::Relaxed) && POOL.state.with(|s| s.in_use) > RESERVE / GRANULE / 2
}

/// The value, or unwinding without a message to who catches it: the entry point, or the queue, which loses the device.
pub fn or_unwind<T>(result: Result<T, OutOfMemory>) -> T {
    match result {
        Ok(value) => value,
        // The payload has no size, so its box allocates nothing.
        Err(out) => std::panic::resume_unwind(Box::new(out)),
    }
}

/// Runs what can fail: the reserve is not for it.
pub fn optional<R>(ask: impl FnOnce() -> R) -> R {
    let before = OPTIONAL.replace(true);
    let result = ask();
    OPTIONAL.set(before);
    result
}

/// Asks whether the system has this much at the moment, for what offers no way to fail itself. Little is what the reserve is for.
pub fn available(bytes: usize) -> Result<(), OutOfMemory> {
    if bytes <= RESERVE / 512 { Ok(()) } else { reserve(&mut Vec::<u8>::new(), bytes) }
}

/// Makes room for `more` values; growth is amortised.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    Ok(optional(|| list.try_reserve(more))?)
}

/// Appends a value.
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), OutOfMemory> {
    reserve(list, 1)?;
    list.push(value);
    Ok(())
}

/// A copy of a slice.
pub fn to_vec<T: Clone>(slice: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    optional(|| list.try_reserve_exact(slice.len()))?;
    list.extend_from_slice(slice);
    Ok(list)
}

/// What an iterator gives that knows how much that is.
pub fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    optional(|| list.try_reserve_exact(values.len()))?;
    list.extend(values);
    Ok(list)
}

/// `count` times a value.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut list = Vec::new();
    optional(|| list.try_reserve_exact(count))?;
    list.resize(count, value);
    Ok(list)
}

/// Blocks of whole granules inside one array, first fit.
struct Reserve {
    state: Spin<State>,
    memory: Memory,
}

struct State {
    /// One bit per granule.
    used: [u64; WORDS],
    /// Granules.
    in_use: usize,
    /// Every granule before this one is in use.
    least_free: usize,
}

#[repr(C, align(4096))]
struct Memory(UnsafeCell<[u8; RESERVE]>);
// SAFETY: handed out in disjoint blocks; itself it is never read or written.
unsafe impl Sync for Memory {}

impl Reserve {
    const fn new() -> Reserve {
        Reserve {
            state: Spin::new(State { used: [0; WORDS], in_use: 0, least_free: 0 }),
            memory: Memory(UnsafeCell::new([0; RESERVE])),
        }
    }

    fn base(&self) -> *mut u8 {
        self.memory.0.get().cast()
    }

    fn holds(&self, block: *mut u8) -> bool {
        (block as usize).wrapping_sub(self.base() as usize) < RESERVE
    }

    fn take(&self, layout: Layout) -> *mut u8 {
        // The array begins at a page: alignments up to that are multiples of granules.
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

    fn give(&self, block: *mut u8, size: usize) {
        let first = (block as usize - self.base() as usize) / GRANULE;
        self.state.with(|state| {
            state.mark(first, size.div_ceil(GRANULE).max(1), false);
            if state.in_use == 0 {
                // SAFETY: whole pages of zeroed data that nobody uses.
                unsafe { libc::madvise(self.base().cast(), RESERVE, libc::MADV_DONTNEED) };
            }
        });
    }
}

impl State {
    /// The first granule of a free run that begins at a multiple of `step`.
    fn find(&self, granules: usize, step: usize) -> Option<usize> {
        let mut first = self.least_free.next_multiple_of(step);
        while first + granules <= WORDS * 64 {
            match (first..first + granules).rev().find(|&g| self.used[g / 64] >> (g % 64) & 1 != 0) {
                None => return Some(first),
                // On behind the last obstacle, and behind the full words that follow.
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
            self.least_free = self.least_free.min(first);
        } else if first <= self.least_free {
            self.least_free = self.least_free.max(first + granules);
        }
    }
}

/// A lock that allocates nothing.
struct Spin<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}
// SAFETY: the value is reached under the lock only.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    const fn new(value: T) -> Spin<T> {
        Spin { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// `f` does not unwind.
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        while self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        // SAFETY: the lock is held.
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
                let block = POOL.take(layout);
                assert!(POOL.holds(block) && (block as usize).is_multiple_of(align), "round {round}, block {i}");
                // SAFETY: the block's own bytes.
                unsafe { block.write_bytes(i as u8 + 1, size) };
                assert!(blocks.iter().all(|(b, l)| *b + l.size() <= block as usize || block as usize + size <= *b));
                blocks.push((block as usize, layout));
            }
            assert!(POOL.take(layout(RESERVE / 2, 1)).is_null() && POOL.take(layout(1, 8192)).is_null());
            for i in [3, 0, 5, 1, 4, 2] {
                let (block, layout) = blocks[i];
                // SAFETY: the block's own bytes.
                let bytes = unsafe { core::slice::from_raw_parts(block as *const u8, layout.size()) };
                assert!(bytes.iter().all(|b| *b == i as u8 + 1), "block {i}");
                POOL.give(block as *mut u8, layout.size());
            }
            assert_eq!(POOL.state.with(|s| s.in_use), 0);
        }
    }

    #[test]
    fn what_is_too_large_is_an_error() {
        assert_eq!(available(isize::MAX as usize), Err(OutOfMemory));
        assert_eq!(filled(0u64, usize::MAX / 16), Err(OutOfMemory));
        assert_eq!(reserve(&mut vec![1u8], usize::MAX), Err(OutOfMemory));
        assert_eq!(to_vec(&[1, 2, 3]), Ok(vec![1, 2, 3]));
        assert_eq!(collect([4, 5].into_iter()), Ok(vec![4, 5]));
        let caught = std::panic::catch_unwind(|| or_unwind(Err::<(), _>(OutOfMemory)));
        assert!(caught.expect_err("unwinds").is::<OutOfMemory>());
    }
}
