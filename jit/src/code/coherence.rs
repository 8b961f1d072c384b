//! Seeing to it that processors run what was written. x86-64 does by itself; on AArch64 a processor fetches instructions past the data cache, and
//! ahead of what it knows.
//!
//! Who has written code cleans it out of the data caches and drops what instruction caches have of its place, for all processors. What the
//! pipeline of another one has fetched before is dropped by an instruction of its own thread, before it first calls code of a later epoch
//! than it has seen. (`membarrier` would have the system do that on every processor; sandboxes may forbid it.)

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use core::arch::asm;
    use std::cell::Cell;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Pieces of code that were written: changes before anybody learns the address of the newest one.
    static EPOCH: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// The last epoch that this thread has fetched instructions of.
        static SEEN: Cell<u64> = const { Cell::new(0) };
    }

    /// Bytes of a line of the data caches, and of the instruction caches: the least of all of them.
    fn lines() -> [usize; 2] {
        let kind: u64;
        // SAFETY: reads a register that the system lets programs read.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) kind, options(nomem, nostack, preserves_flags)) };
        [kind >> 16, kind].map(|log| 4 << (log & 15))
    }

    fn line_by_line(bytes: &Range<usize>, line: usize, each: impl Fn(usize)) {
        (bytes.start & !(line - 1)..bytes.end).step_by(line).for_each(each);
    }

    /// Makes bytes that were written instructions that can be run.
    pub fn publish(bytes: &[u8]) {
        let [data, instructions] = lines();
        let start = bytes.as_ptr() as usize;
        let bytes = start..start + bytes.len();
        // SAFETY: (all) maintenance of caches and barriers, of lines that are readable; no memory changes.
        line_by_line(&bytes, data, |line| unsafe {
            asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags))
        });
        // SAFETY: as above.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        // SAFETY: as above.
        line_by_line(&bytes, instructions, |line| unsafe {
            asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags))
        });
        // SAFETY: as above.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        EPOCH.fetch_add(1, Ordering::Release);
    }

    /// Call before code, with its address at hand.
    #[inline]
    pub fn observe() {
        // Who has the address has what was before it, this number too.
        let epoch = EPOCH.load(Ordering::Acquire);
        if SEEN.get() != epoch {
            // SAFETY: a barrier: instructions behind it are fetched behind it.
            unsafe { asm!("isb", options(nostack, preserves_flags)) };
            SEEN.set(epoch);
        }
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod others {
    /// Makes bytes that were written instructions that can be run.
    pub fn publish(_: &[u8]) {}

    /// Call before code, with its address at hand.
    #[inline(always)]
    pub fn observe() {}
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::{observe, publish};
#[cfg(not(target_arch = "aarch64"))]
pub use others::{observe, publish};
