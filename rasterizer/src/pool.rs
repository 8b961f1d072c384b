//! Work of the rasterizer's on a [`Team`]; each thread that takes part keeps scratch of the owner's kind.
//!
//! Items are taken in order, results never depend on who takes which. Others are woken for what is worth it ([`Effort`]). Several threads may have work at a time,
//! which know nothing of each other. A panic in an item unwinds to the caller.

#![forbid(unsafe_code)]

use crate::api::Running;
use crate::mem::processor;
use crate::team::{AWAKENING, Call, Team};
use parking_lot::Mutex;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Scratch memory that a worker keeps between uses is cut to this many bytes.
const KEEP_SCRATCH: usize = 4 << 20;

/// How many efforts are remembered.
const REMEMBERED: usize = 64;

/// How much work there is, as far as the caller knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Not worth another thread.
    Small,
    /// Worth all threads at once.
    Large,
    /// As much as the last time that there was a work of this key; the first time it is large.
    Like(u64),
}

impl Effort {
    /// The effort of what has the same hash.
    pub fn like(what: impl Hash) -> Effort {
        let mut hasher = base::hash::WordHasher::default();
        what.hash(&mut hasher);
        // 0 stands for nothing.
        Effort::Like(hasher.finish() | 1)
    }
}

/// What a thread keeps between the items it works on, and between uses.
pub(crate) trait Scratch: Default + Send {
    /// Gives memory back where more than `bytes` are kept.
    fn trim(&mut self, bytes: usize);
}

/// A thread at work.
#[derive(Default)]
pub(crate) struct Worker {
    running: Arc<RunningCell>,
    /// See [`Worker::processor`].
    processor: usize,
}

impl Worker {
    /// The processor it was on when it began, whose caches have what it keeps.
    pub fn processor(&self) -> usize {
        self.processor
    }

    /// Works for a command from now on.
    pub fn runs(&self, what: Running) {
        // The number is 0 while the two do not belong together.
        self.running.command.store(0, Ordering::Relaxed);
        self.running.pipeline.store(what.pipeline, Ordering::Release);
        self.running.command.store(what.command, Ordering::Release);
    }
}

/// What a worker is at, to be looked at by others; no two of them in one piece of a cache.
#[derive(Default)]
#[repr(align(128))]
struct RunningCell {
    command: AtomicU64,
    pipeline: AtomicU64,
}

impl RunningCell {
    /// `None` when it is nothing, or just changing.
    fn get(&self) -> Option<Running> {
        let command = self.command.load(Ordering::Acquire);
        let pipeline = self.pipeline.load(Ordering::Acquire);
        (command != 0 && self.command.load(Ordering::Relaxed) == command).then_some(Running { command, pipeline })
    }
}

/// What takes part keeps. Creating a pool starts no thread.
pub(crate) struct Pool<S> {
    team: Team,
    workers: Mutex<Vec<(Worker, S)>>,
    /// [`Worker::running`] of all workers.
    running: Mutex<Vec<Weak<RunningCell>>>,
    /// By their keys, the efforts that kept the caller for less than [`AWAKENING`] the last time. Others may take a key's place.
    small: [AtomicU64; REMEMBERED],
}

/// The last piece of work that began, of all pools ([`epoch`]).
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// A number that is another one for each piece of work ([`Pool::for_each`]) that begins after others ended: what was read of memory under an older one may
/// have changed. It may also change while a piece of work goes on.
///
/// Who sees a number sees what was written before the piece of work began that made it: a thread that is at another owner's work may see it first.
#[inline(always)]
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// A piece of work begins.
pub fn next_epoch() {
    EPOCH.fetch_add(1, Ordering::Release);
}

/// Work goes on with the reserve of [`base::alloc`] as long as there is enough of it.
fn give_up_when_short() {
    if base::alloc::is_critical() {
        base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
    }
}

impl<S: Scratch> Pool<S> {
    /// As [`Team::new`].
    pub fn new(threads: usize) -> Pool<S> {
        let small = std::array::from_fn(|_| AtomicU64::new(0));
        Pool { team: Team::new(threads), workers: Mutex::default(), running: Mutex::default(), small }
    }

    /// The threads.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// As many as take part at most.
    pub fn threads(&self) -> usize {
        self.team.threads()
    }

    /// Calls `f` for every item number below `items`. The caller's thread takes items; the pool's take some too, from the start or once
    /// it turns out to be worth it, when there is more than one item.
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
        let part = |items: crate::team::Items<'_>| {
            let (worker, mut scratch) = self.take_worker();
            for i in items {
                give_up_when_short();
                f(&worker, &mut scratch, i as usize);
            }
            self.give_worker(worker, scratch);
        };
        let took = self.team.for_each(items as u64, call, &part);
        // What others have left to do, or have not begun, is not counted.
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

    /// What workers are at at this moment, each command once.
    pub fn running(&self) -> Vec<Running> {
        let running = self.running.lock();
        let mut all: Vec<Running> = running.iter().filter_map(Weak::upgrade).filter_map(|r| r.get()).collect();
        all.sort_unstable();
        all.dedup_by_key(|r| r.command);
        all
    }

    /// What was kept on this processor last; where there is no such thing, something new until every thread has some. (What others have written costs more to come by
    /// than all else that is done for a small piece of work.)
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

    /// Which threads took part in so many items, each of which must be taken once.
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
        // It takes a moment of quiet to be small.
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
