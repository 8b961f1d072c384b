//! Events, and the one lock and condition variable per device that all waits use, including those
//! for fences and semaphores ([`super::semaphore`]).
//!
//! One condition per device makes wait-any, time-outs and device loss one loop ([`Sync::wait`]);
//! signals are rare enough for it. Payloads that other processes also change ([`super::payload`])
//! are waited for with it ([`Sync::wait_with`]).

use super::external_sync::ExternalSync;
use crate::os::adaptive_spin::AdaptiveSpin;
use crate::os::condvar::Condvar;
use ash::vk;
use base::fork::OriginProcess;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Lock, condition and the lost state of a device.
#[derive(Default)]
pub struct Sync {
    lock: Mutex<()>,
    changed: Condvar,
    /// Number of changes, which spinning waits check.
    changes: AtomicU32,
    spin: AdaptiveSpin,
    lost: AtomicBool,
    /// Process that contains the device's threads.
    home: OriginProcess,
}

impl Sync {
    /// Returns false in a child that the process has forked: there the device's threads are
    /// missing, and its locks may be held by none of the child's threads.
    pub fn is_in_own_process(&self) -> bool {
        self.home.is_current()
    }

    /// Runs `change` (a store to the state of a fence, semaphore or event) and wakes the waiters.
    pub fn notify<R>(&self, change: impl FnOnce() -> R) -> R {
        let _guard = self.lock.lock();
        let result = change();
        self.changes.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
        result
    }

    /// Waits until `ready` or the time is over and returns SUCCESS, TIMEOUT or ERROR_DEVICE_LOST.
    /// `timeout` is in nanoseconds. A state that was ready before the device was lost stays ready;
    /// so `ready` must mean that the work has completed.
    pub fn wait(&self, timeout: u64, ready: impl FnMut() -> bool) -> vk::Result {
        self.wait_with(timeout, &ExternalSync::default(), ready)
    }

    /// Waits until `ready`, without a time limit. Fails with VK_ERROR_DEVICE_LOST, also if the
    /// device was lost after that.
    pub fn wait_until(&self, ready: impl FnMut() -> bool) -> Result<(), vk::Result> {
        match self.wait(u64::MAX, ready) {
            vk::Result::SUCCESS => self.check(),
            error => Err(error),
        }
    }

    /// Waits as [`Sync::wait`] does, with a `ready` that also checks external synchronization
    /// objects.
    pub fn wait_with(&self, timeout: u64, external: &ExternalSync<'_>, mut ready: impl FnMut() -> bool) -> vk::Result {
        if !self.is_in_own_process() {
            return vk::Result::ERROR_DEVICE_LOST;
        }
        // An Instant overflows beyond a few centuries, which means "for ever".
        let deadline = Instant::now().checked_add(Duration::from_nanos(timeout.min(i64::MAX as u64)));
        let _sleeper = external.sleeper();
        let mut guard = self.lock.lock();
        let mut wait = None;
        loop {
            let external_seen = external.changes();
            // Signals that a lost device gave to other processes report work as done that is not,
            // so shared payloads cannot be relied on.
            if !external.is_empty() && self.is_lost() {
                return vk::Result::ERROR_DEVICE_LOST;
            }
            if ready() {
                wait.iter().for_each(|wait| self.spin.end(wait));
                return vk::Result::SUCCESS;
            }
            if self.is_lost() {
                return vk::Result::ERROR_DEVICE_LOST;
            }
            let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let wait = wait.get_or_insert_with(|| self.spin.begin());
            match deadline {
                _ if timeout == 0 => return vk::Result::TIMEOUT,
                _ if wait.should_spin() && !late() => {
                    let seen = self.changes.load(Ordering::Relaxed);
                    let has_changed = || {
                        self.changes.load(Ordering::Acquire) != seen || external.have_changed(&external_seen) || late()
                    };
                    MutexGuard::unlocked(&mut guard, || wait.spin_until(has_changed));
                }
                _ if !external.is_empty() => {
                    if late() {
                        return vk::Result::TIMEOUT;
                    }
                    external.sleep(&self.changed, &mut guard, &external_seen, deadline);
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

    /// Returns true if the device is lost.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) || !self.is_in_own_process()
    }

    /// Makes the device lost from now on.
    pub fn lose(&self) {
        self.notify(|| self.lost.store(true, Ordering::Release));
    }

    /// Returns VK_ERROR_DEVICE_LOST if the device is lost.
    pub fn check(&self) -> Result<(), vk::Result> {
        if self.is_lost() { Err(vk::Result::ERROR_DEVICE_LOST) } else { Ok(()) }
    }
}

/// `VkEvent`.
#[derive(Default)]
pub struct Event {
    set: AtomicBool,
}

impl Event {
    /// Returns true if the event is set.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }
    /// Sets or resets the event.
    pub fn set(&self, sync: &Sync, set: bool) {
        sync.notify(|| self.set.store(set, Ordering::Release));
    }
}
