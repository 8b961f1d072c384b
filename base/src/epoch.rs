//! The epoch of device memory: a number by which caches of its contents find out that it may have
//! changed.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of the last piece of work that began, of all pools ([`epoch`]).
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// Returns a number that changes whenever a piece of work (`execution::Pool::for_each`) begins
/// after earlier ones have ended. Memory that was read under an older number may have changed. The
/// number may also change during a piece of work.
///
/// A thread that reads a number sees everything that was written before the piece of work began
/// that made it. A thread in another owner's work may read it first.
#[inline(always)]
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// Begins a new epoch, because a piece of work begins.
#[inline]
pub fn next_epoch() {
    EPOCH.fetch_add(1, Ordering::Release);
}
