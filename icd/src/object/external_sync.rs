//! External synchronization objects in a wait of a device: numbers of other processes, and sync
//! files.

use crate::os::condvar::{Condvar, MAX_EXTERNAL_FUTEXES, POLL_INTERVAL};
use crate::os::shared_counter::{OWNER_CHECK_PERIOD, SharedCounter};
use parking_lot::MutexGuard;
use std::cell::Cell;
use std::time::Instant;

/// External synchronization objects that a wait has to check beside its device's own changes.
#[derive(Default)]
pub struct ExternalSync<'a> {
    /// Numbers that other processes change too; a change wakes the threads that sleep on them.
    pub shared: Vec<&'a SharedCounter>,
    /// True if there are sync files, which wake no thread.
    pub files: bool,
    /// Time of the last check of the processes that are waited for, since the first sleep.
    pub checked: Cell<Option<Instant>>,
}

impl ExternalSync<'_> {
    /// Returns true if only the device's own changes matter.
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty() && !self.files
    }

    /// Makes changes wake this thread from now on.
    pub fn sleeper(&self) -> SleeperGuard<'_> {
        self.shared.iter().for_each(|shared| shared.set_sleeping(true));
        SleeperGuard(&self.shared)
    }

    /// Returns the counts of changes. Must be called before checking whether the awaited state is
    /// reached.
    pub fn changes(&self) -> Vec<u32> {
        self.shared.iter().map(|shared| shared.changes()).collect()
    }

    /// Returns true if there were changes since the counts were read.
    pub fn have_changed(&self, seen: &[u32]) -> bool {
        self.shared.iter().zip(seen).any(|(shared, seen)| shared.changes() != *seen)
    }

    /// Sleeps until something has changed, it is time to check objects that wake no thread, or the
    /// deadline has passed.
    pub fn sleep<T>(&self, changed: &Condvar, guard: &mut MutexGuard<'_, T>, seen: &[u32], deadline: Option<Instant>) {
        let pause =
            if self.files || self.shared.len() > MAX_EXTERNAL_FUTEXES { POLL_INTERVAL } else { OWNER_CHECK_PERIOD };
        let began = Instant::now();
        let time = deadline.map_or(pause, |deadline| pause.min(deadline.saturating_duration_since(began)));
        let words: Vec<(&SharedCounter, u32)> = self.shared.iter().copied().zip(seen.iter().copied()).collect();
        changed.wait_any(guard, &words, time);
        // (A sleep may be as short as the poll interval.)
        let checked = self.checked.get().unwrap_or(began);
        if checked.elapsed() >= OWNER_CHECK_PERIOD {
            self.shared.iter().for_each(|shared| shared.check_promise_owner());
            self.checked.set(Some(Instant::now()));
        } else {
            self.checked.set(Some(checked));
        }
    }
}

/// A thread that may sleep on shared payloads.
pub struct SleeperGuard<'a>(&'a [&'a SharedCounter]);

impl Drop for SleeperGuard<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|shared| shared.set_sleeping(false));
    }
}
