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
const SPIN_TIME: Duration = Duration::from_micros(50);
/// Number of checks between two readings of the clock.
const CHECKS_PER_CLOCK_READ: usize = 8;

/// A closure that other threads may call while its owner's scope lasts.
pub struct ScopedClosure<A> {
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
unsafe impl<A> Send for ScopedClosure<A> {}
// SAFETY: any thread may call the closure (`Sync`), and its owner waits for all calls before it
// ends.
unsafe impl<A> Sync for ScopedClosure<A> {}

impl<A> ScopedClosure<A> {
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
        while began.elapsed() < SPIN_TIME {
            for _ in 0..CHECKS_PER_CLOCK_READ {
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
pub struct ClosureScope<'f, A> {
    closure: &'f (dyn Fn(&A) + Sync + 'f),
    shared: OnceCell<Arc<ScopedClosure<A>>>,
}

impl<A> ClosureScope<'_, A> {
    /// Returns the closure for other threads.
    pub fn shared(&self) -> &Arc<ScopedClosure<A>> {
        self.shared.get_or_init(|| {
            let closure: *const (dyn Fn(&A) + Sync + '_) = self.closure;
            Arc::new(ScopedClosure {
                // SAFETY: only the lifetime changes. Only `with_scoped_closure` makes a lender, and
                // it closes the lender before the closure ends, even if it unwinds.
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

impl<A> Drop for ClosureScope<'_, A> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.get() {
            shared.close();
        }
    }
}

/// Runs `own` on this thread, which may share the closure with other threads; returns when all
/// calls have ended. A panic of another thread's call resumes here.
pub fn with_scoped_closure<A, R>(closure: &(dyn Fn(&A) + Sync), own: impl FnOnce(&ClosureScope<'_, A>) -> R) -> R {
    let closure_scope = ClosureScope { closure, shared: OnceCell::new() };
    let result = own(&closure_scope);
    let shared = closure_scope.shared.get().cloned();
    drop(closure_scope);
    if let Some(panic) = shared.and_then(|shared| shared.panic().take()) {
        resume_unwind(panic);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn closing_waits_for_running_calls_and_rejects_new_ones() {
        for round in 0..50u64 {
            let (ended, both) = (AtomicUsize::new(0), Barrier::new(2));
            let work = |_: &()| {
                both.wait();
                std::thread::sleep(Duration::from_micros(round * 3));
                ended.fetch_add(1, Ordering::Relaxed);
            };
            let kept = std::thread::scope(|scope| {
                with_scoped_closure(&work, |closure_scope| {
                    let shared = closure_scope.shared().clone();
                    scope.spawn({
                        let shared = shared.clone();
                        move || assert!(shared.call(&()))
                    });
                    both.wait();
                    shared
                })
            });
            assert_eq!(ended.load(Ordering::Relaxed), 1);
            assert!(!kept.call(&()), "its owner has it back");
        }
    }

    #[test]
    fn panics_of_any_thread_reach_the_owner() {
        let own = catch_unwind(AssertUnwindSafe(|| {
            with_scoped_closure(&|_: &()| (), |closure_scope| {
                closure_scope.shared();
                panic!("(expected by the test)")
            })
        }));
        assert!(own.is_err());
        let others = catch_unwind(AssertUnwindSafe(|| {
            with_scoped_closure(&|_: &()| panic!("(expected by the test)"), |closure_scope| {
                let shared = closure_scope.shared().clone();
                assert!(std::thread::spawn(move || shared.call(&())).join().expect("it is kept for the owner"));
            });
        }));
        assert!(others.is_err());
    }
}
