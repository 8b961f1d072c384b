//! Sleeping on words in memory, and waking those that sleep.

use crate::os::shared_counter::SharedCounter;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Largest number of words in one wait of the kernel.
const MAX_FUTEXES: usize = 128;
/// Largest number of other words among them.
pub const MAX_EXTERNAL_FUTEXES: usize = MAX_FUTEXES - 1;
const FUTEX2_SIZE_U32: u32 = 2;
const FUTEX2_PRIVATE: u32 = 128;

/// The kernel's `struct futex_waitv`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FutexWaitv {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

impl FutexWaitv {
    const NONE: FutexWaitv = FutexWaitv { value: 0, address: 0, flags: 0, reserved: 0 };

    fn new(value: u32, address: *mut u32, flags: u32) -> FutexWaitv {
        FutexWaitv { value: value.into(), address: address as u64, flags, reserved: 0 }
    }
}

/// Returns the time that is `time` from now, on the monotonic clock.
fn timespec_from_now(time: Duration) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `clock_gettime` only writes the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let end = Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + time.min(Duration::from_secs(1 << 32));
    libc::timespec { tv_sec: end.as_secs() as libc::time_t, tv_nsec: end.subsec_nanos().into() }
}

/// Sleeps while the word has the value that was seen, for this time at most. The sleep may end
/// early.
pub fn wait(word: &AtomicU32, seen: u32, time: Option<Duration>) {
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let (address, wait) = (word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG);
    // SAFETY: the kernel reads the number and the time, both of which outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, address, wait, seen, time) };
}

/// Sleeps while the word and the shared numbers have the values that were seen, for this time at
/// most. The sleep may end early. Returns false without a sleep if the kernel cannot wait for
/// several words (before 5.16, or in a sandbox), or if there are more of them than it supports.
pub fn wait_any(word: &AtomicU32, seen: u32, counters: &[(&SharedCounter, u32)], time: Duration) -> bool {
    let own = FutexWaitv::new(seen, word.as_ptr(), FUTEX2_SIZE_U32 | FUTEX2_PRIVATE);
    let counters =
        counters.iter().map(|(shared, seen)| FutexWaitv::new(*seen, shared.futex().as_ptr(), FUTEX2_SIZE_U32));
    let mut all = [FutexWaitv::NONE; MAX_FUTEXES];
    let mut count = 0usize;
    for (from, to) in std::iter::once(own).chain(counters).zip(&mut all) {
        (*to, count) = (from, count + 1);
    }
    let end = timespec_from_now(time);
    // SAFETY: the kernel reads the list, the words and the time, all of which outlive the call.
    let result =
        unsafe { libc::syscall(libc::SYS_futex_waitv, all.as_ptr(), count, 0, &raw const end, libc::CLOCK_MONOTONIC) };
    let error = if result < 0 { std::io::Error::last_os_error().raw_os_error() } else { None };
    // Sandboxes may return any error for a call that they do not know.
    matches!(error, None | Some(libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT))
}

/// Wakes one of the threads that sleep on the word.
pub fn wake_one(word: &AtomicU32) {
    wake(word, 1);
}

/// Wakes all threads that sleep on the word.
pub fn wake_all(word: &AtomicU32) {
    wake(word, i32::MAX);
}

fn wake(word: &AtomicU32, count: i32) {
    let (address, wake) = (word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
    // SAFETY: the kernel looks for waiters at the address; it does not read it.
    unsafe { libc::syscall(libc::SYS_futex, address, wake, count) };
}
