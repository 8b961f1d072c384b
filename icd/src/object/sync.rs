//! Fences, semaphores, events, and the one lock and condition variable per device that all waits use.
//!
//! One condition per device makes wait-any, time-outs and device loss one loop ([`Sync::wait`]); signals are rare enough for it.

use crate::os::condvar::Condvar;
use crate::os::patience::Patience;
use ash::vk;
use base::fork::Home;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lock, condition and the lost state of a device.
#[derive(Default)]
pub struct Sync {
    lock: Mutex<()>,
    changed: Condvar,
    /// Number of changes, for who waits awake.
    changes: AtomicU32,
    patience: Patience,
    lost: AtomicBool,
    /// The process that the device's threads are in.
    home: Home,
}

impl Sync {
    /// False in a child that the process has forked: there the device's threads are missing, and its locks may be held by nobody.
    pub fn is_at_home(&self) -> bool {
        self.home.is_here()
    }

    /// Runs `change` (a store to the state of some fence, semaphore or event) and wakes the waiters.
    pub fn notify<R>(&self, change: impl FnOnce() -> R) -> R {
        let _guard = self.lock.lock();
        let result = change();
        self.changes.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
        result
    }

    /// Waits until `ready` or the time is over: SUCCESS, TIMEOUT or ERROR_DEVICE_LOST. `timeout` in nanoseconds. What was ready before the
    /// device was lost still is; so `ready` must mean that the work was executed to its end.
    pub fn wait(&self, timeout: u64, mut ready: impl FnMut() -> bool) -> vk::Result {
        if !self.is_at_home() {
            return vk::Result::ERROR_DEVICE_LOST;
        }
        // Beyond a few centuries an Instant overflows; that is "for ever".
        let deadline = Instant::now().checked_add(Duration::from_nanos(timeout.min(i64::MAX as u64)));
        let mut guard = self.lock.lock();
        let mut wait = None;
        loop {
            if ready() {
                wait.iter().for_each(|wait| self.patience.end(wait));
                return vk::Result::SUCCESS;
            }
            if self.is_lost() {
                return vk::Result::ERROR_DEVICE_LOST;
            }
            let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let wait = wait.get_or_insert_with(|| self.patience.begin());
            match deadline {
                _ if timeout == 0 => return vk::Result::TIMEOUT,
                _ if wait.is_awake() && !late() => {
                    let seen = self.changes.load(Ordering::Relaxed);
                    let news = || self.changes.load(Ordering::Acquire) != seen || late();
                    MutexGuard::unlocked(&mut guard, || wait.until(news));
                }
                Some(deadline) => {
                    if self.changed.wait_until(&mut guard, deadline) {
                        return if ready() { vk::Result::SUCCESS } else { vk::Result::TIMEOUT };
                    }
                }
                None => self.changed.wait(&mut guard),
            }
        }
    }

    /// Device lost?
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) || !self.is_at_home()
    }

    /// The device is lost from now on.
    pub fn lose(&self) {
        self.notify(|| self.lost.store(true, Ordering::Release));
    }

    /// VK_ERROR_DEVICE_LOST if so.
    pub fn check(&self) -> Result<(), vk::Result> {
        if self.is_lost() { Err(vk::Result::ERROR_DEVICE_LOST) } else { Ok(()) }
    }
}

/// `VkFence`.
pub struct Fence {
    signaled: AtomicBool,
}

impl Fence {
    /// A fence.
    pub fn new(signaled: bool) -> Fence {
        Fence { signaled: AtomicBool::new(signaled) }
    }
    /// Signaled?
    pub fn is_signaled(&self) -> bool {
        self.signaled.load(Ordering::Acquire)
    }
    /// Signals or resets.
    pub fn set(&self, sync: &Sync, signaled: bool) {
        sync.notify(|| self.signaled.store(signaled, Ordering::Release));
    }
}

/// `VkSemaphore`: a binary one counts 0 and 1.
pub struct Semaphore {
    /// Timeline or binary.
    pub timeline: bool,
    value: AtomicU64,
}

impl Semaphore {
    /// A semaphore; `initial` is 0 for binary ones.
    pub fn new(timeline: bool, initial: u64) -> Semaphore {
        Semaphore { timeline, value: AtomicU64::new(initial) }
    }
    /// What a timeline semaphore has reached.
    pub fn value(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }
    /// Signals: `value` is for timeline semaphores.
    pub fn signal(&self, sync: &Sync, value: u64) {
        sync.notify(|| self.value.store(if self.timeline { value } else { 1 }, Ordering::Release));
    }
    /// Under the device's lock: takes the signal of a binary semaphore, or checks that the counter has reached `value`.
    pub fn try_wait(&self, value: u64) -> bool {
        if self.timeline {
            return self.value() >= value;
        }
        self.value.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// A wait or signal operation of a submission.
#[derive(Clone)]
pub struct SemaphoreOp {
    /// Waited for or signaled.
    pub semaphore: Arc<Semaphore>,
    /// Timeline value; not read for binary semaphores.
    pub value: u64,
}

/// `VkEvent`.
#[derive(Default)]
pub struct Event {
    set: AtomicBool,
}

impl Event {
    /// Set?
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }
    /// Sets or resets.
    pub fn set(&self, sync: &Sync, set: bool) {
        sync.notify(|| self.set.store(set, Ordering::Release));
    }
}
