//! Items of work over the pool's threads, with results in the order of the items.

#![forbid(unsafe_code)]

use execution::work_sharing::{HelperPolicy, Items, WorkSharingPool};
use std::sync::{Mutex, PoisonError};

/// The threads that may help the caller's; `None` if there are none.
pub type HelperThreads<'a> = Option<&'a WorkSharingPool>;

/// Calls `f` with each of the items and returns the results in the order of the items. The items
/// are distributed over the threads, and no result depends on the thread.
pub fn map<T: Send, R: Send>(threads: HelperThreads, items: Vec<T>, f: impl Fn(T) -> R + Sync) -> Vec<R> {
    let Some(pool) = threads.filter(|_| items.len() > 1) else {
        return items.into_iter().map(f).collect();
    };
    let count = items.len() as u64;
    let slots: Vec<Mutex<(Option<T>, Option<R>)>> =
        items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    let part = |items: Items<'_>| {
        for i in items {
            let slot = &slots[i as usize];
            let item = slot.lock().unwrap_or_else(PoisonError::into_inner).0.take();
            let result = item.map(&f);
            slot.lock().unwrap_or_else(PoisonError::into_inner).1 = result;
        }
    };
    pool.for_each(count, HelperPolicy::Immediately, &part);
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1).collect()
}
