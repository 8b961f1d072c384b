//! Distribution of work on a [`WorkSharingPool`]; each participating thread keeps scratch
//! memory of the owner's type.
//!
//! Items are taken in order, and results never depend on which thread takes which. Other threads
//! are woken if the work justifies it ([`CostHint`]). Several threads may own work at a time,
//! independently. A panic in an item unwinds to the caller.

#![forbid(unsafe_code)]

use crate::work_sharing::{HelperPolicy, Items, WAKE_LATENCY, WorkSharingPool};
use base::epoch::next_epoch;
use parking_lot::Mutex;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Number of bytes to which scratch memory that a worker keeps between uses is trimmed.
const KEEP_SCRATCH: usize = 4 << 20;

/// Number of keys of small work that are remembered.
const KEY_SLOTS: usize = 64;

/// The caller's estimate of the amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostHint {
    /// The work does not justify another thread.
    Small,
    /// The work justifies all threads at once.
    Large,
    /// The work is as much as the last work with this key; the first one is large.
    Keyed(u64),
}

impl CostHint {
    /// Returns the hint for work that is identified by the hash of `what`.
    pub fn keyed(what: impl Hash) -> CostHint {
        let mut hasher = base::hash::WordHasher::default();
        what.hash(&mut hasher);
        // 0 means that there is no key.
        CostHint::Keyed(hasher.finish() | 1)
    }
}

/// State that a thread keeps between items, and between uses.
pub trait WorkerScratch: Default + Send {
    /// Frees memory if more than `bytes` bytes are kept.
    fn trim(&mut self, bytes: usize);
}

/// Identity of the command that a worker runs, as [`WorkerPool::running`] reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunningCommand {
    /// Number of the command, which is not 0. A command may have several draws.
    pub command: u64,
    /// The icd's number for the pipeline, which is not 0.
    pub pipeline: u64,
}

/// A thread that takes part in work.
#[derive(Default)]
pub struct Worker {
    running: Arc<RunningCommandCell>,
    /// Processor on which it began: [`Worker::processor`].
    processor: usize,
}

impl Worker {
    /// Returns the processor on which the thread was when it began; that processor's caches have
    /// the worker's memory.
    #[inline]
    pub fn processor(&self) -> usize {
        self.processor
    }

    /// Sets the command for which the thread works from now on.
    #[inline]
    pub fn set_running(&self, what: RunningCommand) {
        // The command's number is 0 while the two fields do not belong together.
        self.running.command.store(0, Ordering::Relaxed);
        self.running.pipeline.store(what.pipeline, Ordering::Release);
        self.running.command.store(what.command, Ordering::Release);
    }
}

/// The command that a worker runs, which other threads may read; each is in separate cache lines.
#[derive(Default)]
#[repr(align(128))]
struct RunningCommandCell {
    command: AtomicU64,
    pipeline: AtomicU64,
}

impl RunningCommandCell {
    /// Returns `None` if there is no command, or if it is just changing.
    fn get(&self) -> Option<RunningCommand> {
        let command = self.command.load(Ordering::Acquire);
        let pipeline = self.pipeline.load(Ordering::Acquire);
        (command != 0 && self.command.load(Ordering::Relaxed) == command)
            .then_some(RunningCommand { command, pipeline })
    }
}

/// A pool of workers. Creating a pool starts no thread.
pub struct WorkerPool<S> {
    work_sharing: WorkSharingPool,
    workers: Mutex<Vec<(Worker, S)>>,
    /// [`Worker::running`] of all workers.
    running: Mutex<Vec<Weak<RunningCommandCell>>>,
    /// Keys of the work that kept the caller for less than [`WAKE_LATENCY`] the last time, by hash.
    /// Another key may replace a key.
    small_keys: [AtomicU64; KEY_SLOTS],
}

/// Continues work with the reserve of [`base::alloc`] as long as there is enough of it, and unwinds
/// otherwise.
fn unwind_if_memory_is_critical() {
    if base::alloc::is_critical() {
        base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
    }
}

impl<S: WorkerScratch> WorkerPool<S> {
    /// Makes a pool of `threads` threads, as [`WorkSharingPool::new`] does.
    pub fn new(threads: usize) -> WorkerPool<S> {
        let small_keys = std::array::from_fn(|_| AtomicU64::new(0));
        WorkerPool {
            work_sharing: WorkSharingPool::new(threads),
            workers: Mutex::default(),
            running: Mutex::default(),
            small_keys,
        }
    }

    /// Returns the threads.
    pub fn work_sharing(&self) -> &WorkSharingPool {
        &self.work_sharing
    }

    /// Returns the largest number of threads that take part.
    pub fn threads(&self) -> usize {
        self.work_sharing.threads()
    }

    /// Calls `f` for every item number below `items`. The caller's thread takes items. If there is
    /// more than one, the pool's threads take some too, from the start or once the work turns out
    /// to justify it.
    pub fn for_each(&self, items: usize, cost_hint: CostHint, f: impl Fn(&Worker, &mut S, usize) + Sync) {
        if items == 0 {
            return;
        }
        next_epoch();
        let call = match cost_hint {
            CostHint::Small => HelperPolicy::Never,
            _ if self.was_small(cost_hint) => HelperPolicy::AfterWakeLatency,
            _ => HelperPolicy::Immediately,
        };
        let part = |items: Items<'_>| {
            let (worker, mut scratch) = self.take_worker();
            for i in items {
                unwind_if_memory_is_critical();
                f(&worker, &mut scratch, i as usize);
            }
            self.return_worker(worker, scratch);
        };
        let took = self.work_sharing.for_each(items as u64, call, &part);
        // Work that other threads still do, or have not begun, is not counted.
        if let Some(took) = took {
            self.record_small(cost_hint, took < WAKE_LATENCY);
        }
    }

    fn was_small(&self, cost_hint: CostHint) -> bool {
        matches!(cost_hint, CostHint::Keyed(key) if self.key_slot(key).load(Ordering::Relaxed) == key)
    }

    fn record_small(&self, cost_hint: CostHint, small: bool) {
        let CostHint::Keyed(key) = cost_hint else { return };
        let place = self.key_slot(key);
        match (small, place.load(Ordering::Relaxed) == key) {
            (true, false) => place.store(key, Ordering::Relaxed),
            (false, true) => place.store(0, Ordering::Relaxed),
            _ => {}
        }
    }

    fn key_slot(&self, key: u64) -> &AtomicU64 {
        &self.small_keys[(key >> 1) as usize % KEY_SLOTS]
    }

    /// Returns the commands that workers run at this moment, each once.
    pub fn running(&self) -> Vec<RunningCommand> {
        let running = self.running.lock();
        let mut all: Vec<RunningCommand> = running.iter().filter_map(Weak::upgrade).filter_map(|r| r.get()).collect();
        all.sort_unstable();
        all.dedup_by_key(|r| r.command);
        all
    }

    /// Returns the worker that was kept last on this processor. If there is none, returns a new
    /// one, until there is one for each thread. (Memory that other processors have written takes
    /// longer to load than all other steps of a small piece of work.)
    fn take_worker(&self) -> (Worker, S) {
        let here = base::os::current_processor();
        let mut workers = self.workers.lock();
        let own = workers.iter().rposition(|(worker, _)| worker.processor == here);
        let any = || (workers.len() >= self.threads()).then_some(0);
        if let Some(i) = own.or_else(any) {
            let (worker, scratch) = workers.swap_remove(i);
            return (Worker { processor: here, ..worker }, scratch);
        }
        drop(workers);
        let worker = Worker { processor: here, ..Worker::default() };
        let mut running = self.running.lock();
        running.retain(|r| r.strong_count() > 0);
        running.push(Arc::downgrade(&worker.running));
        (worker, S::default())
    }

    fn return_worker(&self, worker: Worker, mut scratch: S) {
        worker.set_running(RunningCommand::default());
        scratch.trim(KEEP_SCRATCH);
        let mut workers = self.workers.lock();
        if workers.len() < 2 * self.threads() {
            workers.push((worker, scratch));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread::ThreadId;

    #[derive(Default)]
    struct NoScratch;
    impl WorkerScratch for NoScratch {
        fn trim(&mut self, _: usize) {}
    }

    /// Returns the threads that took part in the given number of items, each of which must be taken
    /// once.
    fn threads_by_item(
        pool: &WorkerPool<NoScratch>,
        cost_hint: CostHint,
        items: usize,
        work: impl Fn(usize) + Sync,
    ) -> Vec<ThreadId> {
        let threads_by_item: Vec<Mutex<Option<ThreadId>>> = (0..items).map(|_| Mutex::default()).collect();
        pool.for_each(items, cost_hint, |_, _, i| {
            assert_eq!(threads_by_item[i].lock().replace(std::thread::current().id()), None, "item {i} is taken twice");
            work(i);
        });
        threads_by_item.into_iter().map(|taker| taker.into_inner().expect("every item is taken")).collect()
    }

    #[test]
    fn every_item_is_taken_once() {
        for threads in [1, 2, 5] {
            let pool = WorkerPool::<NoScratch>::new(threads);
            for cost_hint in [CostHint::Small, CostHint::Large, CostHint::keyed(1u32), CostHint::keyed(1u32)] {
                for items in [0, 1, 2, 7, 1000] {
                    threads_by_item(&pool, cost_hint, items, |_| ());
                }
            }
        }
    }

    #[test]
    fn small_work_starts_alone_and_gets_helpers_when_it_grows() {
        let pool = WorkerPool::<NoScratch>::new(2);
        let (here, cost_hint) = (std::thread::current().id(), CostHint::keyed("a work"));
        assert!(!pool.was_small(cost_hint), "nothing is known of it");
        // Two items that wait for each other need two threads: the caller's and another one.
        let both = Barrier::new(2);
        threads_by_item(&pool, cost_hint, 2, |_| _ = both.wait());
        // Work only counts as small if the machine is otherwise quiet for a moment.
        assert!((0..1000).any(|_| {
            threads_by_item(&pool, cost_hint, 8, |_| ());
            pool.was_small(cost_hint)
        }));
        assert!(!pool.was_small(CostHint::keyed("another work")));
        let alone = (0..1000).any(|_| threads_by_item(&pool, cost_hint, 8, |_| ()).iter().all(|&taker| taker == here));
        assert!(alone, "the small work stays here");
        pool.record_small(cost_hint, true);
        let grown = threads_by_item(&pool, cost_hint, 3, |i| match i {
            0 => std::thread::sleep(2 * WAKE_LATENCY),
            _ => _ = both.wait(),
        });
        assert!(grown[0] == here && grown[1] != grown[2], "the first item is done alone, then help comes");
        assert!(!pool.was_small(cost_hint), "it has grown");
    }

    #[test]
    fn no_key_is_zero() {
        assert!((0..10_000u32).all(|i| matches!(CostHint::keyed(i), CostHint::Keyed(key) if key != 0)));
    }
}
