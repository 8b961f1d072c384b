//! A condition variable that a forked child can use from the start again.
//!
//! `parking_lot` keeps waiting threads in lists of the process whose nodes are in the threads' own
//! memory. A child of a process with waiting threads inherits the lists but not the threads, and
//! its C library gives their memory to new threads. Then the lists are corrupt, and a thread that
//! waits in one is not found when it should be woken. Here nothing is kept: waiters sleep in the
//! kernel on a number that counts notifications.

use super::shared_counter::SharedCounter;
use parking_lot::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks of something that cannot be waited for.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);
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

/// A condition variable with the interface of `parking_lot::Condvar`; a wait may end without a
/// notification.
#[derive(Debug, Default)]
pub struct Condvar {
    notifications: AtomicU32,
    /// Number of threads that wait, or waited when the process was forked.
    waiters: AtomicU32,
}

impl Condvar {
    /// Creates a condition variable without waiters.
    pub const fn new() -> Condvar {
        Condvar { notifications: AtomicU32::new(0), waiters: AtomicU32::new(0) }
    }

    /// Wakes a waiter.
    pub fn notify_one(&self) {
        self.wake(1);
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.wake(i32::MAX);
    }

    /// Waits, with the lock released meanwhile.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.sleep(guard, None);
    }

    /// Waits until the deadline at most; returns true if it has passed.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> bool {
        self.sleep(guard, Some(deadline.saturating_duration_since(Instant::now())));
        Instant::now() >= deadline
    }

    /// Waits for this time at most; returns true if the time is over.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        let began = Instant::now();
        self.sleep(guard, Some(time));
        began.elapsed() >= time
    }

    /// Waits for a notification, or until one of the shared numbers differs from its given value,
    /// for this time at most.
    ///
    /// If the kernel cannot wait for several words (before 5.16, or in a sandbox), or if there are
    /// more of them than it supports, none is waited for: the caller checks again after
    /// [`POLL_INTERVAL`].
    pub fn wait_any<T>(&self, guard: &mut MutexGuard<'_, T>, counters: &[(&SharedCounter, u32)], time: Duration) {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let seen = self.notifications.load(Ordering::SeqCst);
        let own = FutexWaitv::new(seen, self.notifications.as_ptr(), FUTEX2_SIZE_U32 | FUTEX2_PRIVATE);
        let counters = counters.iter().map(|(shared, seen)| FutexWaitv::new(*seen, shared.futex(), FUTEX2_SIZE_U32));
        let mut all = [FutexWaitv::NONE; MAX_FUTEXES];
        let mut count = 0usize;
        for (from, to) in std::iter::once(own).chain(counters).zip(&mut all) {
            (*to, count) = (from, count + 1);
        }
        let end = timespec_from_now(time);
        // SAFETY: the kernel reads the list, the words and the time, all of which outlive the call.
        let wait = || unsafe {
            libc::syscall(libc::SYS_futex_waitv, all.as_ptr(), count, 0, &raw const end, libc::CLOCK_MONOTONIC)
        };
        MutexGuard::unlocked(guard, || {
            let error = if wait() < 0 { std::io::Error::last_os_error().raw_os_error() } else { None };
            // Sandboxes may return any error for a call that they do not know.
            if !matches!(error, None | Some(libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT)) {
                std::thread::sleep(time.min(POLL_INTERVAL));
            }
        });
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    fn sleep<T>(&self, guard: &mut MutexGuard<'_, T>, time: Option<Duration>) {
        // Both happen under the lock, in this order. A thread that changes something later
        // therefore finds a waiter and increments the number, with which the kernel lets no thread
        // sleep.
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let seen = self.notifications.load(Ordering::SeqCst);
        let time = time.map(|time| libc::timespec {
            tv_sec: time.as_secs().min(i64::MAX as u64) as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (address, wait) = (self.notifications.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG);
        // SAFETY: the kernel reads the number and the time, both of which outlive the call.
        MutexGuard::unlocked(guard, || unsafe { libc::syscall(libc::SYS_futex, address, wait, seen, time) });
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self, count: i32) {
        self.notifications.fetch_add(1, Ordering::SeqCst);
        if self.waiters.load(Ordering::SeqCst) == 0 {
            return;
        }
        let (address, wake) = (self.notifications.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
        // SAFETY: the kernel looks for waiters at the address; it does not read it.
        unsafe { libc::syscall(libc::SYS_futex, address, wake, count) };
    }
}
