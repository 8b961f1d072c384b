//! What a wait of a device has to look at beside the device's own changes: numbers of other processes, sync files.

use crate::os::condvar::{Condvar, MOST_OTHERS, PAUSE};
use crate::os::shared::{LOOK, Shared};
use parking_lot::MutexGuard;
use std::time::Instant;

/// What a wait has to look at beside its device's own changes.
#[derive(Default)]
pub struct Others<'a> {
    /// Numbers that others change: they wake who sleeps on them.
    pub shared: Vec<&'a Shared>,
    /// There are sync files, which wake nobody.
    pub files: bool,
}

impl Others<'_> {
    /// Only the device's own changes matter.
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty() && !self.files
    }

    /// From now on changes wake this thread.
    pub fn sleeper(&self) -> Sleeper<'_> {
        self.shared.iter().for_each(|shared| shared.sleeps(true));
        Sleeper(&self.shared)
    }

    /// Read before looking whether what is waited for is there.
    pub fn changes(&self) -> Vec<u32> {
        self.shared.iter().map(|shared| shared.changes()).collect()
    }

    /// Since then?
    pub fn have_changed(&self, seen: &[u32]) -> bool {
        self.shared.iter().zip(seen).any(|(shared, seen)| shared.changes() != *seen)
    }

    /// Sleeps until something has changed, it is time to look for what tells nobody, or the deadline has come.
    pub fn sleep<T>(&self, changed: &Condvar, guard: &mut MutexGuard<'_, T>, seen: &[u32], deadline: Option<Instant>) {
        let pause = if self.files || self.shared.len() > MOST_OTHERS { PAUSE } else { LOOK };
        let began = Instant::now();
        let time = deadline.map_or(pause, |deadline| pause.min(deadline.saturating_duration_since(began)));
        let words: Vec<(&Shared, u32)> = self.shared.iter().copied().zip(seen.iter().copied()).collect();
        changed.wait_any(guard, &words, time);
        if began.elapsed() >= LOOK {
            self.shared.iter().for_each(|shared| shared.look());
        }
    }
}

/// A thread that may sleep on shared payloads.
pub struct Sleeper<'a>(&'a [&'a Shared]);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|shared| shared.sleeps(false));
    }
}
