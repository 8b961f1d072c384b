//! Ensures that processors run the code that was written. x86-64 does so by itself; an AArch64
//! processor fetches instructions without the data cache, and ahead of time.
//!
//! The thread that has written code cleans it out of the data caches and invalidates the
//! instruction caches of its addresses, for all processors. Instructions that another processor's
//! pipeline has already fetched are discarded by an instruction of its own thread. The thread
//! executes it before it first calls code of a later epoch than it has seen. (`membarrier` would
//! let the system do that on every processor, but sandboxes may forbid it.)

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use core::arch::asm;
    use std::cell::Cell;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Number of pieces of code that were written; it changes before any thread learns the address
    /// of the newest one.
    static EPOCH: AtomicU64 = AtomicU64::new(0);

    thread_local! {
        /// The last epoch whose instructions this thread has fetched.
        static SEEN: Cell<u64> = const { Cell::new(0) };
    }

    /// Returns the smallest number of bytes of a line of any data cache, and of any instruction
    /// cache.
    fn lines() -> [usize; 2] {
        let kind: u64;
        // SAFETY: reads a register that the system makes readable to programs.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) kind, options(nomem, nostack, preserves_flags)) };
        [kind >> 16, kind].map(|log| 4 << (log & 15))
    }

    fn line_by_line(bytes: &Range<usize>, line: usize, each: impl Fn(usize)) {
        (bytes.start & !(line - 1)..bytes.end).step_by(line).for_each(each);
    }

    /// Makes written bytes executable as instructions on all processors.
    pub fn publish(bytes: &[u8]) {
        let [data, instructions] = lines();
        let start = bytes.as_ptr() as usize;
        let bytes = start..start + bytes.len();
        // SAFETY: cleans the cache line of a readable address; no memory changes.
        line_by_line(&bytes, data, |line| unsafe {
            asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags))
        });
        // SAFETY: a barrier; no memory changes.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        // SAFETY: invalidates the instruction cache line of a readable address; no memory changes.
        line_by_line(&bytes, instructions, |line| unsafe {
            asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags))
        });
        // SAFETY: a barrier; no memory changes.
        unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
        EPOCH.fetch_add(1, Ordering::Release);
    }

    /// Discards stale instructions of this thread's processor. Must be called before code is run,
    /// when its address is known.
    #[inline]
    pub fn observe() {
        // A thread that has the address also sees what was written before it, including this
        // number.
        let epoch = EPOCH.load(Ordering::Acquire);
        if SEEN.get() != epoch {
            // SAFETY: a barrier, behind which instructions are fetched anew.
            unsafe { asm!("isb", options(nostack, preserves_flags)) };
            SEEN.set(epoch);
        }
    }
}

#[cfg(not(target_arch = "aarch64"))]
mod coherent {
    /// Does nothing, because instruction fetch is coherent on these processors.
    pub fn publish(_: &[u8]) {}

    /// Does nothing, because instruction fetch is coherent on these processors.
    #[inline(always)]
    pub fn observe() {}
}

#[cfg(target_arch = "aarch64")]
pub use aarch64::{observe, publish};
#[cfg(not(target_arch = "aarch64"))]
pub use coherent::{observe, publish};
