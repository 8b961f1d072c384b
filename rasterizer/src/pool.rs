//! One lazily started thread pool, whatever its work; each thread keeps scratch of the owner's kind.
//!
//! Work is handed out by an atomic counter ([`Pool::for_each`]): items are taken in order, results never depend on
//! who takes which. A panic in an item unwinds to the caller. Where the system grants no thread, the caller's does the work.

#![forbid(unsafe_code)]

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Scratch memory that a worker keeps between uses is cut to this many bytes.
const KEEP_SCRATCH: usize = 4 << 20;

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
        Pool { threads, pool: OnceLock::new(), workers: Mutex::default(), running: Mutex::default() }
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

    /// Calls `f` for every item number below `items`, on the caller's thread when `serial` or when one thread is all there is.
    pub fn for_each(&self, items: usize, serial: bool, f: impl Fn(&Worker, &mut S, usize) + Sync) {
        if items == 0 {
            return;
        }
        let pool = if serial || items == 1 || self.threads == 1 { None } else { self.pool() };
        let Some(pool) = pool else {
            let (worker, mut scratch) = self.take_worker();
            (0..items).for_each(|i| {
                give_up_when_short();
                f(&worker, &mut scratch, i);
            });
            return self.give_worker(worker, scratch);
        };
        let next = AtomicUsize::new(0);
        let (f, next) = (&f, &next);
        pool.scope(|scope| {
            for _ in 0..pool.current_num_threads().min(items) {
                scope.spawn(move |_| {
                    let (worker, mut scratch) = self.take_worker();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= items {
                            break;
                        }
                        give_up_when_short();
                        f(&worker, &mut scratch, i);
                    }
                    self.give_worker(worker, scratch);
                });
            }
        });
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
