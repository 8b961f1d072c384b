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
        // The code of an item is called from two places, but compiled once.
        let f: &(dyn Fn(T) -> Result<R, WorkError> + Sync) = &f;
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
        self.for_each(pool, slots.len(), &|i| {
            let item = slots[i].lock().unwrap_or_else(PoisonError::into_inner).0.take();
            let Some(item) = item else { return Ok(()) };
            let result = f(item)?;
            slots[i].lock().unwrap_or_else(PoisonError::into_inner).1 = Some(result);
            Ok(())
        })?;
        results
            .extend(slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1));
        Ok(results)
    }

    /// Calls `f` with each number below `count`. The numbers are distributed over the threads of
    /// the pool. The code is compiled once for all kinds of items.
    fn for_each(
        &self,
        pool: &WorkSharingPool,
        count: usize,
        f: &(dyn Fn(usize) -> Result<(), WorkError> + Sync),
    ) -> Result<(), WorkError> {
        let error = Mutex::new(None);
        let part = |items: Items<'_>| {
            for i in items {
                if let Err(reason) = self.check().and_then(|()| f(i as usize)) {
                    error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
                    return;
                }
            }
        };
        pool.for_each(count as u64, HelperPolicy::Immediately, &part);
        error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
