//! A closure that other threads may call until its owner wants it back: then nobody begins a call any more, and the owner waits for those that have begun, and
//! for no others.

use std::any::Any;
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The owner wants it back.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// The owner waits awake for the calls that are left so long before it sleeps: the last one usually ends soon, and to be woken takes as long.
const AWAKE: Duration = Duration::from_micros(50);
/// Looks between two at the clock.
const LOOKS: usize = 8;

/// See the module.
pub struct Lent<A> {
    /// Valid while a call may begin, or has not ended.
    closure: *const (dyn Fn(&A) + Sync),
    /// Calls that have begun and not ended, and [`CLOSED`].
    calls: AtomicUsize,
    /// The first of the calls that panicked. (The standard library's locks take no memory to wait with, which the handle of a thread does.)
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The last call has ended.
    ended: Condvar,
}

// SAFETY: the closure may be called by any thread (`Sync`); calls end before it does.
unsafe impl<A> Send for Lent<A> {}
// SAFETY: as above.
unsafe impl<A> Sync for Lent<A> {}

impl<A> Lent<A> {
    /// Calls the closure; false if its owner has it back. A panic reaches the owner.
    pub fn call(&self, argument: &A) -> bool {
        let begin = |calls: usize| (calls & CLOSED == 0).then_some(calls + 1);
        if self.calls.fetch_update(Ordering::AcqRel, Ordering::Acquire, begin).is_err() {
            return false;
        }
        // SAFETY: the call is counted, so the owner waits for its end.
        let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*self.closure)(argument) }));
        if let Err(panic) = result {
            self.panic().get_or_insert(panic);
        }
        if self.calls.fetch_sub(1, Ordering::AcqRel) == CLOSED + 1 {
            // With the lock the owner either sleeps already or has not looked yet.
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

/// The closure, before it is lent.
pub struct Lender<'f, A> {
    closure: &'f (dyn Fn(&A) + Sync + 'f),
    lent: OnceCell<Arc<Lent<A>>>,
}

impl<A> Lender<'_, A> {
    /// For others.
    pub fn lent(&self) -> &Arc<Lent<A>> {
        self.lent.get_or_init(|| {
            let closure: *const (dyn Fn(&A) + Sync + '_) = self.closure;
            Arc::new(Lent {
                // SAFETY: only the lifetime is another one. A lender is made by `lend` alone, and is closed, whatever happens, before the closure ends.
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

/// Runs `own` on this thread, which may give the closure to others; returns when all calls have ended. Panics of theirs unwind from here.
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
