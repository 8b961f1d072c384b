//! Sleeping on words in memory, and waking those that sleep.

use crate::os::shared_counter::SharedCounter;
use std::sync::atomic::AtomicU32;
use std::time::Duration;
use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressAll, WakeByAddressSingle};

/// Largest number of words of other processes in one wait: the system sleeps only on words of the
/// process.
pub const MAX_EXTERNAL_FUTEXES: usize = 0;

/// Sleeps while the word has the value that was seen, for this time at most. The sleep may end
/// early.
pub fn wait(word: &AtomicU32, seen: u32, time: Option<Duration>) {
    let milliseconds = time.map_or(INFINITE, |time| {
        u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(INFINITE - 1).min(INFINITE - 1)
    });
    // SAFETY: the system reads both numbers, which outlive the call.
    unsafe { WaitOnAddress(word.as_ptr().cast(), (&raw const seen).cast(), size_of::<u32>(), milliseconds) };
}

/// Sleeps while the word has the value that was seen, for this time at most. The sleep may end
/// early. Returns false without a sleep if there are shared numbers, for which the system cannot
/// wait.
pub fn wait_any(word: &AtomicU32, seen: u32, counters: &[(&SharedCounter, u32)], time: Duration) -> bool {
    if !counters.is_empty() {
        return false;
    }
    wait(word, seen, Some(time));
    true
}

/// Wakes one of the threads that sleep on the word.
pub fn wake_one(word: &AtomicU32) {
    // SAFETY: the system looks for waiters at the address; it does not read it.
    unsafe { WakeByAddressSingle(word.as_ptr().cast()) };
}

/// Wakes all threads that sleep on the word.
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: the system looks for waiters at the address; it does not read it.
    unsafe { WakeByAddressAll(word.as_ptr().cast()) };
}
