//! Events, and the one lock and condition variable per device that all waits use: also those for fences and semaphores ([`super::semaphore`]).
//!
//! One condition per device makes wait-any, time-outs and device loss one loop ([`Sync::wait`]); signals are rare enough for it. Payloads
//! that others change as well ([`super::payload`]) are waited for with it ([`Sync::wait_with`]).

use super::others::Others;
use crate::os::condvar::Condvar;
use crate::os::patience::Patience;
use ash::vk;
use base::fork::Home;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
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
    pub fn wait(&self, timeout: u64, ready: impl FnMut() -> bool) -> vk::Result {
        self.wait_with(timeout, &Others::default(), ready)
    }

    /// Waits until `ready`, however long that takes. VK_ERROR_DEVICE_LOST, also where the device was lost after that.
    pub fn wait_until(&self, ready: impl FnMut() -> bool) -> Result<(), vk::Result> {
        match self.wait(u64::MAX, ready) {
            vk::Result::SUCCESS => self.check(),
            error => Err(error),
        }
    }

    /// As [`Sync::wait`], where `ready` looks at what others change too.
    pub fn wait_with(&self, timeout: u64, others: &Others<'_>, mut ready: impl FnMut() -> bool) -> vk::Result {
        if !self.is_at_home() {
            return vk::Result::ERROR_DEVICE_LOST;
        }
        // Beyond a few centuries an Instant overflows; that is "for ever".
        let deadline = Instant::now().checked_add(Duration::from_nanos(timeout.min(i64::MAX as u64)));
        let _sleeper = others.sleeper();
        let mut guard = self.lock.lock();
        let mut wait = None;
        loop {
            let others_seen = others.changes();
            // What a lost device gave away was told as done to whoever waits elsewhere.
            if !others.is_empty() && self.is_lost() {
                return vk::Result::ERROR_DEVICE_LOST;
            }
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
                    let news =
                        || self.changes.load(Ordering::Acquire) != seen || others.have_changed(&others_seen) || late();
                    MutexGuard::unlocked(&mut guard, || wait.until(news));
                }
                _ if !others.is_empty() => {
                    if late() {
                        return vk::Result::TIMEOUT;
                    }
                    others.sleep(&self.changed, &mut guard, &others_seen, deadline);
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
