//! One lazily started thread pool, whatever its work; each thread keeps scratch of the owner's kind.
//!
//! Work is handed out by an atomic counter ([`Pool::for_each`]): items are taken in order, results never depend on
//! who takes which. The caller's thread works too, and others are woken for what is worth it ([`Effort`]). A panic in an item unwinds to
//! the caller. Where the system grants no thread, the caller's does the work.

#![forbid(unsafe_code)]

use parking_lot::Mutex;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Scratch memory that a worker keeps between uses is cut to this many bytes.
const KEEP_SCRATCH: usize = 4 << 20;

/// What waking another thread takes, until it works: less work than that is done sooner alone.
const AWAKENING: Duration = Duration::from_micros(20);

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
}

impl Worker {
    /// Works for a command from now on.
    pub fn runs(&self, what: Running) {
        // The number is 0 while the two do not belong together.
        self.running.command.store(0, Ordering::Relaxed);
        self.running.pipeline.store(what.pipeline, Ordering::Release);
        self.running.command.store(what.command, Ordering::Release);
    }
}

/// A draw or dispatch that a worker is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    /// Its command: what [`Engine::begin_command`](crate::Engine::begin_command) was told. 0: none.
    pub command: u64,
    /// [`Draw::pipeline`](crate::api::Draw::pipeline); 0 for a dispatch, which is always the command begun last.
    pub pipeline: u64,
}

/// What a worker is at, to be looked at by others.
#[derive(Default)]
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

/// Threads, started by the first work, and what they keep. Creating a pool starts no thread.
pub(crate) struct Pool<S> {
    threads: usize,
    /// `None` inside: the system granted no thread.
    pool: OnceLock<Option<rayon::ThreadPool>>,
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
#[inline(always)]
pub fn epoch() -> u64 {
    // What hands the work on to a thread orders this.
    EPOCH.load(Ordering::Relaxed)
}

/// A piece of work begins.
pub fn next_epoch() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

fn spawn(thread: rayon::ThreadBuilder) -> std::io::Result<()> {
    let name = format!("grus-worker-{}", thread.index());
    base::thread::spawn(&name, base::thread::STACK, move || thread.run()).map(drop)
}

/// Work goes on with the reserve of [`base::alloc`] as long as there is enough of it.
fn give_up_when_short() {
    if base::alloc::is_critical() {
        base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
    }
}

impl<S: Scratch> Pool<S> {
    /// `threads`: 0 takes the count from affinity and cgroup quota. The pool starts at first use.
    pub fn new(threads: usize) -> Pool<S> {
        let threads =
            if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads.min(1024) };
        let small = std::array::from_fn(|_| AtomicU64::new(0));
        Pool { threads, pool: OnceLock::new(), workers: Mutex::default(), running: Mutex::default(), small }
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The pool has been started.
    pub fn started(&self) -> bool {
        self.pool.get().is_some()
    }

    /// The pool; starts it. `None` where the system grants not even one thread: the work is done by who has it.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        let started = self.pool.get_or_init(|| {
            let build = |n: &usize| rayon::ThreadPoolBuilder::new().num_threads(*n).spawn_handler(spawn).build().ok();
            // What a limit leaves is not known: fewer are tried when it is too little.
            let counts = core::iter::successors(Some(self.threads), |n| Some(n / 2).filter(|&n| n > 0));
            counts.into_iter().find_map(|n| build(&n))
        });
        started.as_ref()
    }

    /// Calls `f` for every item number below `items`. The caller's thread takes items; the pool's take some too, from the start or once
    /// it turns out to be worth it, when there is more than one item.
    pub fn for_each(&self, items: usize, effort: Effort, f: impl Fn(&Worker, &mut S, usize) + Sync) {
        if items == 0 {
            return;
        }
        next_epoch();
        let pool = if effort == Effort::Small || items == 1 || self.threads == 1 { None } else { self.pool() };
        let next = AtomicUsize::new(0);
        let Some(pool) = pool else { return self.take_part(&next, items, &f, || ()) };
        let (began, mut alone) = (Instant::now(), self.was_small(effort));
        let (f, next) = (&f, &next);
        pool.in_place_scope(|scope| {
            let wake = || {
                for _ in 0..(self.threads - 1).min(pool.current_num_threads()).min(items - 1) {
                    scope.spawn(|_| self.take_part(next, items, f, || ()));
                }
            };
            if !alone {
                wake();
            }
            self.take_part(next, items, f, || {
                if alone && began.elapsed() > AWAKENING && next.load(Ordering::Relaxed) < items {
                    alone = false;
                    wake();
                }
            });
            // What others have left to do, or have not begun, is not counted.
            self.remember(effort, began.elapsed() < AWAKENING);
        });
    }

    /// Takes items until there are none left; `then` comes after each.
    fn take_part(
        &self,
        next: &AtomicUsize,
        items: usize,
        f: &(impl Fn(&Worker, &mut S, usize) + Sync),
        mut then: impl FnMut(),
    ) {
        let (worker, mut scratch) = self.take_worker();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= items {
                break;
            }
            give_up_when_short();
            f(&worker, &mut scratch, i);
            then();
        }
        self.give_worker(worker, scratch);
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

    fn take_worker(&self) -> (Worker, S) {
        if let Some(worker) = self.workers.lock().pop() {
            return worker;
        }
        let worker = Worker::default();
        let mut running = self.running.lock();
        running.retain(|r| r.strong_count() > 0);
        running.push(Arc::downgrade(&worker.running));
        (worker, S::default())
    }

    fn give_worker(&self, worker: Worker, mut scratch: S) {
        worker.runs(Running::default());
        scratch.trim(KEEP_SCRATCH);
        let mut workers = self.workers.lock();
        if workers.len() < 2 * self.threads {
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
