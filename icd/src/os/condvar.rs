//! A condition variable that a forked child can begin anew with.
//!
//! `parking_lot` keeps who waits in lists of the process whose nodes lie in the waiting threads' own memory. A child of a process with
//! waiting threads inherits the lists, not the threads, and its C library gives their memory to new threads: then the lists are torn,
//! and a thread that waits in one is not found when it should be woken. Here nothing is kept: waiters sleep in the kernel on a number that counts
//! notifications.

use parking_lot::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// As `parking_lot::Condvar`; a wait may end without a notification.
#[derive(Debug, Default)]
pub struct Condvar {
    notifications: AtomicU32,
    /// Who waits, or did when the process was forked.
    waiters: AtomicU32,
}

impl Condvar {
    /// One without waiters.
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

    /// Waits, with the lock given up meanwhile.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.sleep(guard, None);
    }

    /// Waits until then at most; true if that time has come.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) -> bool {
        self.sleep(guard, Some(deadline.saturating_duration_since(Instant::now())));
        Instant::now() >= deadline
    }

    /// Waits so long at most; true if the time is over.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        let began = Instant::now();
        self.sleep(guard, Some(time));
        began.elapsed() >= time
    }

    fn sleep<T>(&self, guard: &mut MutexGuard<'_, T>, time: Option<Duration>) {
        // Both under the lock, in this order: who changes something later finds a waiter, and makes another number, with which the kernel
        // lets nobody sleep.
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
        // SAFETY: the kernel looks for waiters at the address; it is not read.
        unsafe { libc::syscall(libc::SYS_futex, address, wake, count) };
    }
}
