//! A condition variable that a forked child can use from the start again.
//!
//! `parking_lot` keeps waiting threads in lists of the process whose nodes are in the threads' own
//! memory. A child of a process with waiting threads inherits the lists but not the threads, and
//! its C library gives their memory to new threads. Then the lists are corrupt, and a thread that
//! waits in one is not found when it should be woken. Here nothing is kept: waiters sleep in the
//! kernel on a number that counts notifications.

#![forbid(unsafe_code)]

pub use super::futex::MAX_EXTERNAL_FUTEXES;

use super::futex;
use super::shared_counter::SharedCounter;
use parking_lot::MutexGuard;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks of something that cannot be waited for.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);

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
        if self.count_notification() {
            futex::wake_one(&self.notifications);
        }
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        if self.count_notification() {
            futex::wake_all(&self.notifications);
        }
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
        MutexGuard::unlocked(guard, || {
            if !futex::wait_any(&self.notifications, seen, counters, time) {
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
        MutexGuard::unlocked(guard, || futex::wait(&self.notifications, seen, time));
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    /// Counts a notification; returns true if threads may wait.
    fn count_notification(&self) -> bool {
        self.notifications.fetch_add(1, Ordering::SeqCst);
        self.waiters.load(Ordering::SeqCst) != 0
    }
}
