//! A scoped closure that other threads may call until its owner closes it. Then no new call begins,
//! and the owner waits for the calls that have begun, and for no others.

use std::any::Any;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Flag of a closed closure, in which no new call begins.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Time that the owner spins for the remaining calls before it sleeps: the last one usually ends
/// soon, and waking a thread takes as long.
const AWAKE: Duration = Duration::from_micros(50);
/// Number of checks between two readings of the clock.
const LOOKS: usize = 8;

/// A closure that other threads may call while its owner's scope lasts.
pub struct Lent<A> {
    /// The closure; valid while a call may begin or has not ended.
    closure: *const (dyn Fn(&A) + Sync),
    /// Number of calls that have begun and not ended, and [`CLOSED`].
    calls: AtomicUsize,
    /// Payload of the first call that panicked. (The standard library's locks take no memory for
    /// waiting, but the handle of a thread does.)
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Signalled when the last call has ended.
    ended: Condvar,
}

// SAFETY: any thread may call the closure (`Sync`), and its owner waits for all calls before it
// ends.
unsafe impl<A> Send for Lent<A> {}
// SAFETY: any thread may call the closure (`Sync`), and its owner waits for all calls before it
// ends.
unsafe impl<A> Sync for Lent<A> {}

impl<A> Lent<A> {
    /// Calls the closure; returns false if its owner has closed it. A panic is passed to the owner.
    pub fn call(&self, argument: &A) -> bool {
        let begin = |calls: usize| (calls & CLOSED == 0).then_some(calls + 1);
        if self.calls.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin).is_err() {
            return false;
        }
        // SAFETY: the call is counted, so the owner keeps the closure alive until it ends.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*self.closure)(argument) }));
        if let Err(panic) = result {
            self.panic().get_or_insert(panic);
        }
        if self.calls.fetch_sub(1, Ordering::AcqRel) == CLOSED + 1 {
            // The lock ensures that the owner either sleeps already or has not checked yet.
            let _owner_sleeps = self.panic();
            self.ended.notify_one();
        }
        true
    }

    fn panic(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.calls.fetch_or(CLOSED, Ordering::AcqRel);
        let are_left = || self.calls.load(Ordering::Acquire) != CLOSED;
        if !are_left() {
            return;
        }
        let began = Instant::now();
        while began.elapsed() < AWAKE {
            for _ in 0..LOOKS {
                if !are_left() {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let mut panic = self.panic();
        while are_left() {
            panic = self.ended.wait(panic).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A closure in its owner's scope, which is shared with other threads on demand.
pub struct Lender<'f, A> {
    closure: &'f (dyn Fn(&A) + Sync + 'f),
    lent: OnceCell<Arc<Lent<A>>>,
}

impl<A> Lender<'_, A> {
    /// Returns the closure for other threads.
    pub fn lent(&self) -> &Arc<Lent<A>> {
        self.lent.get_or_init(|| {
            let closure: *const (dyn Fn(&A) + Sync + '_) = self.closure;
            Arc::new(Lent {
                // SAFETY: only the lifetime changes. Only `lend` makes a lender, and it closes the
                // lender before the closure ends, even if it unwinds.
                closure: unsafe {
                    core::mem::transmute::<*const (dyn Fn(&A) + Sync + '_), *const (dyn Fn(&A) + Sync + 'static)>(
                        closure,
                    )
                },
                calls: AtomicUsize::new(0),
                panic: Mutex::default(),
                ended: Condvar::new(),
            })
        })
    }
}

impl<A> Drop for Lender<'_, A> {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.get() {
            lent.close();
        }
    }
}

/// Runs `own` on this thread, which may share the closure with other threads; returns when all
/// calls have ended. A panic of another thread's call resumes here.
pub fn lend<A, R>(closure: &(dyn Fn(&A) + Sync), own: impl FnOnce(&Lender<'_, A>) -> R) -> R {
    let lender = Lender { closure, lent: OnceCell::new() };
    let result = own(&lender);
    let lent = lender.lent.get().cloned();
    drop(lender);
    if let Some(panic) = lent.and_then(|lent| lent.panic().take()) {
        resume_unwind(panic);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn calls_that_have_begun_are_waited_for_and_no_others_begin() {
        for round in 0..50u64 {
            let (ended, both) = (AtomicUsize::new(0), Barrier::new(2));
            let work = |_: &()| {
                both.wait();
                std::thread::sleep(Duration::from_micros(round * 3));
                ended.fetch_add(1, Ordering::Relaxed);
            };
            let kept = std::thread::scope(|scope| {
                lend(&work, |lender| {
                    let lent = lender.lent().clone();
                    scope.spawn({
                        let lent = lent.clone();
                        move || assert!(lent.call(&()))
                    });
                    both.wait();
                    lent
                })
            });
            assert_eq!(ended.load(Ordering::Relaxed), 1);
            assert!(!kept.call(&()), "its owner has it back");
        }
    }

    #[test]
    fn panics_reach_the_owner_whoever_panics() {
        let own = catch_unwind(AssertUnwindSafe(|| {
            lend(&|_: &()| (), |lender| {
                lender.lent();
                panic!("(expected by the test)")
            })
        }));
        assert!(own.is_err());
        let others = catch_unwind(AssertUnwindSafe(|| {
            lend(&|_: &()| panic!("(expected by the test)"), |lender| {
                let lent = lender.lent().clone();
                assert!(std::thread::spawn(move || lent.call(&())).join().expect("it is kept for the owner"));
            });
        }));
        assert!(others.is_err());
    }
}
