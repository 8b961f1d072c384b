//! A number that several processes see, with waits for its change: the payload of a semaphore or a
//! fence that was exported.
//!
//! The number lies in memory that one handle stands for ([`super::shared_page`]), and lives as long
//! as any process has it. A waiter sleeps on a word of the memory or checks it again and again
//! ([`super::futex`]), so a change in one process wakes those of all other processes.
//!
//! Other processes may end at any time. A process that is going to change the number first
//! announces this with its identity ([`SharedCounter::promise`]). A waiter that has slept for
//! [`OWNER_CHECK_PERIOD`] checks whether that process still exists, and otherwise keeps the promise
//! in its place, as kernels do for the fences of ended processes. Other processes may write
//! anything: nothing here is an address, a length or a lock. Processes of another PID namespace
//! cannot be checked, so a wait for them has no bound.

#![forbid(unsafe_code)]

use super::descriptor::{ExportAttributes, OwnedHandle, RawHandle};
use super::process::{identity, is_alive};
use super::shared_page::SharedPage;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Time asleep after which a waiter checks the process that it waits for.
pub const OWNER_CHECK_PERIOD: Duration = Duration::from_millis(100);

/// The letters "GrusSem" and the version of [`super::counter_page`].
const MAGIC: u64 = u64::from_le_bytes(*b"GrusSem1");

/// A number in memory that several processes map.
pub struct SharedCounter {
    page: SharedPage,
    /// Number of promises of this object that are neither kept nor broken.
    promises: AtomicU32,
}

impl SharedCounter {
    /// Creates a number of a kind. Returns `None` if the system refuses memory or a handle.
    pub fn new(kind: u32, value: u64, attributes: &ExportAttributes) -> Option<SharedCounter> {
        let page = SharedPage::new(attributes)?;
        page.kind.store(kind, Ordering::Relaxed);
        page.value.store(value, Ordering::Relaxed);
        page.magic.store(MAGIC, Ordering::Release);
        Some(SharedCounter { page, promises: AtomicU32::new(0) })
    }

    /// Imports the number behind a handle, which is duplicated. Returns `None` if it is not a
    /// number of this kind.
    pub fn import(handle: RawHandle, kind: u32) -> Option<SharedCounter> {
        let page = SharedPage::import(handle)?;
        let known = page.magic.load(Ordering::Acquire) == MAGIC && page.kind.load(Ordering::Relaxed) == kind;
        known.then_some(SharedCounter { page, promises: AtomicU32::new(0) })
    }

    /// Returns a handle of the same number; `None` if the process may have no more handles.
    pub fn export(&self) -> Option<OwnedHandle> {
        self.page.export()
    }

    /// Returns the value of the number.
    pub fn value(&self) -> u64 {
        self.page.value.load(Ordering::SeqCst)
    }

    /// Sets the value and wakes waiters.
    pub fn set(&self, value: u64) {
        self.page.value.store(value, Ordering::SeqCst);
        self.wake();
    }

    /// Changes the value from `from` to `to` if it is `from`. Wakes no waiter, because this takes a
    /// signal away.
    pub fn take(&self, from: u64, to: u64) -> bool {
        self.page.value.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn wake(&self) {
        let page = &self.page;
        page.changes.fetch_add(1, Ordering::SeqCst);
        if page.sleepers.load(Ordering::SeqCst) != 0 {
            SharedPage::wake(&page.changes);
        }
    }

    /// Returns the word on which to sleep, which is the number of changes.
    #[cfg(unix)]
    pub(super) fn futex(&self) -> &AtomicU32 {
        &self.page.changes
    }

    /// Returns the number of changes. A waiter reads it before it reads the value, and passes it to
    /// the sleep.
    pub fn changes(&self) -> u32 {
        self.page.changes.load(Ordering::SeqCst)
    }

    /// Notes that a thread sleeps, or does not any more. A sleeper that dies stays counted, which
    /// costs later changes a system call.
    pub fn set_sleeping(&self, on: bool) {
        let sleepers = &self.page.sleepers;
        if on {
            sleepers.fetch_add(1, Ordering::SeqCst)
        } else {
            sleepers.fetch_sub(1, Ordering::SeqCst)
        };
    }

    /// Announces that this process is going to set the number to `value` or more.
    pub fn promise(&self, value: u64) {
        self.promises.fetch_add(1, Ordering::SeqCst);
        self.page.promised.fetch_max(value, Ordering::SeqCst);
        self.page.promise_owner.store(identity(), Ordering::SeqCst);
    }

    /// Notes that one promise was kept, or will not be.
    pub fn finish_promise(&self) {
        if self.promises.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = self.page.promise_owner.compare_exchange(identity(), 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Checks the process that made the last promise, and keeps the promise if the process is gone.
    pub fn check_promise_owner(&self) {
        let page = &self.page;
        let promise_owner = page.promise_owner.load(Ordering::SeqCst);
        if promise_owner == 0 || is_alive(promise_owner) {
            return;
        }
        if page.promise_owner.compare_exchange(promise_owner, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            page.value.fetch_max(page.promised.load(Ordering::SeqCst), Ordering::SeqCst);
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::descriptor;

    const DEFAULT: ExportAttributes = ExportAttributes::DEFAULT;

    #[test]
    fn two_imports_share_one_counter() {
        let one = SharedCounter::new(3, 7, &DEFAULT).expect("memory");
        let handle = descriptor::into_raw(one.export().expect("a handle"));
        let two = SharedCounter::import(handle, 3).expect("the same");
        assert!(SharedCounter::import(handle, 4).is_none(), "another kind");
        assert_eq!(two.value(), 7);
        let seen = one.changes();
        two.set(9);
        assert_eq!((one.value(), one.changes() != seen), (9, true));
        assert!(one.take(9, 0) && !two.take(9, 1));
        drop(one);
        assert_eq!(two.value(), 0);
    }

    #[test]
    fn memory_of_other_content_is_refused() {
        let zeros = SharedPage::new(&DEFAULT).and_then(|page| page.export()).expect("a handle");
        assert!(SharedCounter::import(descriptor::into_raw(zeros), 0).is_none());
    }

    #[test]
    fn promises_of_ended_processes_are_kept() {
        let number = SharedCounter::new(1, 0, &DEFAULT).expect("memory");
        number.promise(1);
        number.check_promise_owner();
        assert_eq!(number.value(), 0, "this process lives");
        number.finish_promise();
        assert_eq!(number.page.promise_owner.load(Ordering::SeqCst), 0);
        number.promise(1);
        // A process with this number began at another time, so it is gone.
        number.page.promise_owner.fetch_xor(1 << 40, Ordering::SeqCst);
        let seen = number.changes();
        number.check_promise_owner();
        assert_eq!((number.value(), number.changes() != seen), (1, true));
    }
}
