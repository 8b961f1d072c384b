//! Distribution of work on a [`Team`]; each participating thread keeps scratch
//! memory of the owner's type.
//!
//! Items are taken in order, and results never depend on which thread takes which. Other threads
//! are woken if the work justifies it ([`Effort`]). Several threads may own work at a time,
//! independently. A panic in an item unwinds to the caller.

#![forbid(unsafe_code)]

use crate::mem::processor;
use crate::team::{AWAKENING, Call, Items, Team};
use base::epoch::next_epoch;
use parking_lot::Mutex;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Number of bytes to which scratch memory that a worker keeps between uses is trimmed.
const KEEP_SCRATCH: usize = 4 << 20;

/// Number of efforts that are remembered.
const REMEMBERED: usize = 64;

/// The caller's estimate of the amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The work does not justify another thread.
    Small,
    /// The work justifies all threads at once.
    Large,
    /// The work is as much as the last work with this key; the first one is large.
    Like(u64),
}

impl Effort {
    /// Returns the effort of work that is identified by the hash of `what`.
    pub fn like(what: impl Hash) -> Effort {
        let mut hasher = base::hash::WordHasher::default();
        what.hash(&mut hasher);
        // 0 means that there is no key.
        Effort::Like(hasher.finish() | 1)
    }
}

/// State that a thread keeps between items, and between uses.
pub trait Scratch: Default + Send {
    /// Frees memory if more than `bytes` bytes are kept.
    fn trim(&mut self, bytes: usize);
}

/// Identity of the command that a worker runs, as [`Pool::running`] reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// Number of the command, which is not 0. A command may have several draws.
    pub command: u64,
    /// The icd's number for the pipeline, which is not 0.
    pub pipeline: u64,
}

/// A thread that takes part in work.
#[derive(Default)]
pub struct Worker {
    running: Arc<RunningCell>,
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
    pub fn runs(&self, what: Running) {
        // The command's number is 0 while the two fields do not belong together.
        self.running.command.store(0, Ordering::Relaxed);
        self.running.pipeline.store(what.pipeline, Ordering::Release);
        self.running.command.store(what.command, Ordering::Release);
    }
}

/// The command that a worker runs, which other threads may read; each is in separate cache lines.
#[derive(Default)]
#[repr(align(128))]
struct RunningCell {
    command: AtomicU64,
    pipeline: AtomicU64,
}

impl RunningCell {
    /// Returns `None` if there is no command, or if it is just changing.
    fn get(&self) -> Option<Running> {
        let command = self.command.load(Ordering::Acquire);
        let pipeline = self.pipeline.load(Ordering::Acquire);
        (command != 0 && self.command.load(Ordering::Relaxed) == command).then_some(Running { command, pipeline })
    }
}

/// A pool of workers. Creating a pool starts no thread.
pub struct Pool<S> {
    team: Team,
    workers: Mutex<Vec<(Worker, S)>>,
    /// [`Worker::running`] of all workers.
    running: Mutex<Vec<Weak<RunningCell>>>,
    /// Keys of the efforts that kept the caller for less than [`AWAKENING`] the last time, by hash.
    /// Another key may replace a key.
    small: [AtomicU64; REMEMBERED],
}

/// Continues work with the reserve of [`base::alloc`] as long as there is enough of it, and unwinds
/// otherwise.
fn give_up_when_short() {
    if base::alloc::is_critical() {
        base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
    }
}

impl<S: Scratch> Pool<S> {
    /// Makes a pool of `threads` threads, as [`Team::new`] does.
    pub fn new(threads: usize) -> Pool<S> {
        let small = std::array::from_fn(|_| AtomicU64::new(0));
        Pool { team: Team::new(threads), workers: Mutex::default(), running: Mutex::default(), small }
    }

    /// Returns the threads.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Returns the largest number of threads that take part.
    pub fn threads(&self) -> usize {
        self.team.threads()
    }

    /// Calls `f` for every item number below `items`. The caller's thread takes items. If there is
    /// more than one, the pool's threads take some too, from the start or once the work turns out
    /// to justify it.
    pub fn for_each(&self, items: usize, effort: Effort, f: impl Fn(&Worker, &mut S, usize) + Sync) {
        if items == 0 {
            return;
        }
        next_epoch();
        let call = match effort {
            Effort::Small => Call::Never,
            _ if self.was_small(effort) => Call::Later,
            _ => Call::Now,
        };
        let part = |items: Items<'_>| {
            let (worker, mut scratch) = self.take_worker();
            for i in items {
                give_up_when_short();
                f(&worker, &mut scratch, i as usize);
            }
            self.give_worker(worker, scratch);
        };
        let took = self.team.for_each(items as u64, call, &part);
        // Work that other threads still do, or have not begun, is not counted.
        if let Some(took) = took {
            self.remember(effort, took < AWAKENING);
        }
    }

    fn was_small(&self, effort: Effort) -> bool {
        matches!(effort, Effort::Like(key) if self.place(key).load(Ordering::Relaxed) == key)
    }

    fn remember(&self, effort: Effort, small: bool) {
        let Effort::Like(key) = effort else { return };
        let place = self.place(key);
        match (small, place.load(Ordering::Relaxed) == key) {
            (true, false) => place.store(key, Ordering::Relaxed),
            (false, true) => place.store(0, Ordering::Relaxed),
            _ => {}
        }
    }

    fn place(&self, key: u64) -> &AtomicU64 {
        &self.small[(key >> 1) as usize % REMEMBERED]
    }

    /// Returns the commands that workers run at this moment, each once.
    pub fn running(&self) -> Vec<Running> {
        let running = self.running.lock();
        let mut all: Vec<Running> = running.iter().filter_map(Weak::upgrade).filter_map(|r| r.get()).collect();
        all.sort_unstable();
        all.dedup_by_key(|r| r.command);
        all
    }

    /// Returns the worker that was kept last on this processor. If there is none, returns a new
    /// one, until there is one for each thread. (Memory that other processors have written takes
    /// longer to load than all other steps of a small piece of work.)
    fn take_worker(&self) -> (Worker, S) {
        let here = processor();
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

    fn give_worker(&self, worker: Worker, mut scratch: S) {
        worker.runs(Running::default());
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
    struct Nothing;
    impl Scratch for Nothing {
        fn trim(&mut self, _: usize) {}
    }

    /// Returns the threads that took part in the given number of items, each of which must be taken
    /// once.
    fn takers(pool: &Pool<Nothing>, effort: Effort, items: usize, work: impl Fn(usize) + Sync) -> Vec<ThreadId> {
        let takers: Vec<Mutex<Option<ThreadId>>> = (0..items).map(|_| Mutex::default()).collect();
        pool.for_each(items, effort, |_, _, i| {
            assert_eq!(takers[i].lock().replace(std::thread::current().id()), None, "item {i} is taken twice");
            work(i);
        });
        takers.into_iter().map(|taker| taker.into_inner().expect("every item is taken")).collect()
    }

    #[test]
    fn every_item_is_taken_once() {
        for threads in [1, 2, 5] {
            let pool = Pool::<Nothing>::new(threads);
            for effort in [Effort::Small, Effort::Large, Effort::like(1u32), Effort::like(1u32)] {
                for items in [0, 1, 2, 7, 1000] {
                    takers(&pool, effort, items, |_| ());
                }
            }
        }
    }

    #[test]
    fn what_was_small_is_begun_alone_and_gets_help_when_it_grows() {
        let pool = Pool::<Nothing>::new(2);
        let (here, effort) = (std::thread::current().id(), Effort::like("a work"));
        assert!(!pool.was_small(effort), "nothing is known of it");
        // Two items that wait for each other need two threads: the caller's and another one.
        let both = Barrier::new(2);
        takers(&pool, effort, 2, |_| _ = both.wait());
        // Work only counts as small if the machine is otherwise quiet for a moment.
        assert!((0..1000).any(|_| {
            takers(&pool, effort, 8, |_| ());
            pool.was_small(effort)
        }));
        assert!(!pool.was_small(Effort::like("another work")));
        let alone = (0..1000).any(|_| takers(&pool, effort, 8, |_| ()).iter().all(|&taker| taker == here));
        assert!(alone, "the small work stays here");
        pool.remember(effort, true);
        let grown = takers(&pool, effort, 3, |i| match i {
            0 => std::thread::sleep(2 * AWAKENING),
            _ => _ = both.wait(),
        });
        assert!(grown[0] == here && grown[1] != grown[2], "the first item is done alone, then help comes");
        assert!(!pool.was_small(effort), "it has grown");
    }

    #[test]
    fn no_key_is_the_empty_place() {
        assert!((0..10_000u32).all(|i| matches!(Effort::like(i), Effort::Like(key) if key != 0)));
    }
}
