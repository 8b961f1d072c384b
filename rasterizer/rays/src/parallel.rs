//! Items of work over the pool's threads, with results in the order of the items.

#![forbid(unsafe_code)]

use crate::level::HostLevel;
use base::alloc::OutOfMemory;
use core::sync::atomic::{AtomicU32, Ordering};
use execution::work_sharing::{HelperPolicy, Items, WorkSharingPool};
use std::sync::{Mutex, PoisonError};

/// The threads that may help the caller's; `None` if there are none.
pub type HelperThreads<'a> = Option<&'a WorkSharingPool>;

/// A flag that nothing sets.
static NEVER: AtomicU32 = AtomicU32::new(0);

/// The means of a build or an update: threads, the level of their kernels, and the flag that ends
/// the work early.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// The threads that may help.
    pub threads: HelperThreads<'a>,
    /// Level of the kernels.
    pub level: HostLevel,
    /// The work ends with [`WorkError::Aborted`] soon after this is not 0.
    pub abort: &'a AtomicU32,
}

impl Default for Workers<'_> {
    /// Returns the caller's thread, which is never stopped.
    fn default() -> Self {
        Workers { threads: None, level: HostLevel::detect(), abort: &NEVER }
    }
}

/// The reason why work is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkError {
    /// The system has no memory for it.
    OutOfMemory,
    /// The flag of the [`Workers`] is set.
    Aborted,
}

impl From<OutOfMemory> for WorkError {
    fn from(_: OutOfMemory) -> Self {
        WorkError::OutOfMemory
    }
}

impl Workers<'_> {
    /// Returns an error if the work is to end.
    #[inline]
    pub fn check(&self) -> Result<(), WorkError> {
        if self.abort.load(Ordering::Relaxed) == 0 { Ok(()) } else { Err(WorkError::Aborted) }
    }

    /// Calls `f` with each of the items and returns the results in the order of the items. The
    /// items are distributed over the threads, and no result depends on the thread.
    ///
    /// # Errors
    /// There is no memory, the flag is set, or an item failed. Other items may have been left out.
    pub fn map<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        f: impl Fn(T) -> Result<R, WorkError> + Sync,
    ) -> Result<Vec<R>, WorkError> {
        let mut results = Vec::new();
        base::alloc::reserve(&mut results, items.len())?;
        let Some(pool) = self.threads.filter(|_| items.len() > 1) else {
            for item in items {
                self.check()?;
                results.push(f(item)?);
            }
            return Ok(results);
        };
        let slots = items.into_iter().map(|item| Mutex::new((Some(item), None)));
        let slots: Vec<Mutex<(Option<T>, Option<R>)>> = base::alloc::collect(slots)?;
        let error = Mutex::new(None);
        let part = |items: Items<'_>| {
            for i in items {
                let slot = &slots[i as usize];
                let item = slot.lock().unwrap_or_else(PoisonError::into_inner).0.take();
                let Some(item) = item else { continue };
                match self.check().and_then(|()| f(item)) {
                    Ok(result) => slot.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(result),
                    Err(reason) => {
                        error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
                        return;
                    }
                }
            }
        };
        pool.for_each(slots.len() as u64, HelperPolicy::Immediately, &part);
        if let Some(reason) = error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(reason);
        }
        results
            .extend(slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1));
        Ok(results)
    }
}
