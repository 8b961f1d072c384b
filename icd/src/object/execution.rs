//! Submissions that execute, and objects that are released only after their end.
//!
//! A command that ends a handle (vkFreeMemory, vkDestroyBuffer, vkDestroyImage and others) releases
//! what the handle owned at once, unless a queue executes a submission at that moment. Valid usage
//! forbids that such a submission uses the object, but the driver cannot trust that. The object
//! then waits until all submissions that had begun before have ended. A submission that begins
//! later does not reach it, because the object was marked as ended before. Executing a command
//! therefore takes no reference and no lock; a submission takes the lock twice.

use crate::os::condvar::Condvar;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The submissions that execute, on all queues of the devices that share a heap.
#[derive(Default)]
pub struct Executions {
    state: Mutex<ExecutionState>,
    /// Notified when the last object that waited has been released.
    settled: Condvar,
    /// True while a submission executes. It is written under the lock. It is read without the lock
    /// for an object that has no mark against later submissions.
    busy: AtomicBool,
}

#[derive(Default)]
struct ExecutionState {
    /// Number of the submission that begins next.
    next: u64,
    /// Numbers of the submissions that execute.
    running: SmallVec<[u64; 4]>,
    /// Objects that wait, each with the number of the first submission that cannot reach it, in
    /// ascending order.
    waiting: VecDeque<(u64, Box<dyn Send>)>,
    /// Number of [`Released`] values whose objects are not dropped yet.
    releasing: usize,
}

impl Executions {
    /// Notes that a submission begins to execute.
    pub fn begin(&self) -> Execution<'_> {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.running.push(number);
        self.busy.store(true, Ordering::SeqCst);
        Execution { executions: self, number }
    }

    /// Drops an object when no submission executes that has begun before this call: now, or when
    /// the last of them ends. Submissions that begin later must not be able to reach it.
    pub fn retire<T: Send + 'static>(&self, object: T) {
        let mut state = self.state.lock();
        if !state.running.is_empty() {
            let first = state.next;
            state.waiting.push_back((first, Box::new(object)));
        }
    }

    /// Retires an object to which descriptors point, as [`Executions::retire`] does. A submission
    /// that begins later and uses such a descriptor is not protected.
    pub fn retire_described<T: Send + 'static>(&self, object: T) {
        if self.busy.load(Ordering::SeqCst) {
            self.retire(object);
        }
    }

    /// Waits until everything that waits now has been released, but not longer than `time`. Returns
    /// false if nothing was waiting, or if the time was too short.
    pub fn settle(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut state = self.state.lock();
        if state.is_settled() {
            return false;
        }
        while !state.is_settled() {
            if self.settled.wait_until(&mut state, deadline) {
                return state.is_settled();
            }
        }
        true
    }

    fn end(&self, number: u64) -> Released<'_> {
        let mut state = self.state.lock();
        state.running.retain(|running| *running != number);
        self.busy.store(!state.running.is_empty(), Ordering::SeqCst);
        let oldest = state.running.iter().copied().min().unwrap_or(state.next);
        let count = state.waiting.iter().take_while(|(first, _)| *first <= oldest).count();
        let objects: Vec<_> = state.waiting.drain(..count).map(|(_, object)| object).collect();
        state.releasing += usize::from(!objects.is_empty());
        Released { executions: self, objects }
    }
}

impl ExecutionState {
    fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.releasing == 0
    }
}

/// A submission that executes. It ends when this is dropped.
pub struct Execution<'e> {
    executions: &'e Executions,
    number: u64,
}

impl<'e> Execution<'e> {
    /// Ends the submission. Objects that can be released are dropped with the returned value, after
    /// the application's waits for the submission have ended, because returning pages to the system
    /// takes time.
    pub fn end(self) -> Released<'e> {
        let released = self.executions.end(self.number);
        std::mem::forget(self);
        released
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        drop(self.executions.end(self.number));
    }
}

/// Objects that no submission can reach any more.
pub struct Released<'e> {
    executions: &'e Executions,
    objects: Vec<Box<dyn Send>>,
}

impl Drop for Released<'_> {
    fn drop(&mut self) {
        if self.objects.is_empty() {
            return;
        }
        self.objects.clear();
        let mut state = self.executions.state.lock();
        state.releasing -= 1;
        if state.is_settled() {
            self.executions.settled.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn objects_wait_for_the_submissions_that_had_begun() {
        let executions = Executions::default();
        let object = Arc::new(());
        let held = || Arc::strong_count(&object) - 1;
        executions.retire(object.clone());
        executions.retire_described(object.clone());
        assert_eq!(held(), 0, "nothing executes");
        let first = executions.begin();
        executions.retire(object.clone());
        let second = executions.begin();
        executions.retire_described(object.clone());
        assert!(!executions.settle(Duration::ZERO));
        let released = first.end();
        assert_eq!(held(), 2, "released where the caller wants");
        drop(released);
        assert_eq!(held(), 1, "the second submission had begun before the second object was retired");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| executions.settle(Duration::from_secs(60)));
            drop(second);
            // Either nothing waited any more, or the wait was ended.
            let _ = waiter.join().expect("no panic");
        });
        assert_eq!(held(), 0);
        assert!(!executions.settle(Duration::from_secs(60)), "nothing waits");
    }
}
