//! The engine: one lazily started thread pool, and the scratch memory of its workers.
//!
//! Work is handed out by an atomic counter ([`Engine::for_each`]): items are taken in order, results never depend on
//! who takes which. A panic in an item unwinds to the caller.

use crate::api::{Dispatch, RenderTargets};
use crate::front::ChunkOutput;
use crate::mem::AlignedBuf;
use crate::scene::RenderPass;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Scratch memory that a worker keeps between uses is cut to this many bytes.
const KEEP_SCRATCH: usize = 4 << 20;

/// What one thread needs while it works on an item.
#[derive(Default)]
pub(crate) struct Worker {
    /// [`Draw::pipeline`](crate::api::Draw::pipeline) of the draw at work; 0: none.
    running: Arc<AtomicU64>,
    /// `BatchHeader::scratch`.
    pub scratch: AlignedBuf,
    /// Workgroup memory.
    pub shared: AlignedBuf,
    /// `BatchHeader::sink`.
    pub sink: AlignedBuf,
    /// Front end.
    pub front: crate::front::Scratch,
    /// Tiles.
    pub tile: crate::tile::Scratch,
}

impl Worker {
    /// Works for a draw from now on.
    pub fn runs(&self, pipeline: u64) {
        self.running.store(pipeline, Ordering::Relaxed);
    }
}

/// The pool and the scratch memory of its workers. Creating an engine starts no thread.
pub struct Engine {
    threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
    workers: Mutex<Vec<Worker>>,
    /// [`Worker::running`] of all workers.
    running: Mutex<Vec<Weak<AtomicU64>>>,
    /// Emptied chunk outputs, kept for their capacity.
    pub(crate) arenas: Mutex<Vec<ChunkOutput>>,
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

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Engine {
    /// `threads`: 0 takes the count from affinity and cgroup quota. The pool starts at first use.
    pub fn new(threads: usize) -> Engine {
        let threads =
            if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads.min(1024) };
        Engine {
            threads,
            pool: OnceLock::new(),
            workers: Mutex::default(),
            running: Mutex::default(),
            arenas: Mutex::default(),
        }
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The pool has been started.
    pub fn started(&self) -> bool {
        self.pool.get().is_some()
    }

    /// The pool; starts it.
    pub fn pool(&self) -> &rayon::ThreadPool {
        self.pool.get_or_init(|| {
            let build = |n| rayon::ThreadPoolBuilder::new().num_threads(n).spawn_handler(spawn).build();
            build(self.threads).or_else(|_| build(1)).expect("the system grants one thread")
        })
    }

    /// Runs a dispatch to its end.
    pub fn dispatch(&self, d: &Dispatch) {
        crate::compute::dispatch(self, d);
    }

    /// Starts a render pass instance.
    pub fn begin_rendering(&self, targets: RenderTargets) -> RenderPass<'_> {
        RenderPass::new(self, targets)
    }

    /// Calls `f` for every item number below `items`, on the caller's thread when `serial` or when one thread is all there is.
    pub(crate) fn for_each(&self, items: usize, serial: bool, f: impl Fn(&mut Worker, usize) + Sync) {
        if items == 0 {
            return;
        }
        if serial || items == 1 || self.threads == 1 {
            let mut worker = self.take_worker();
            (0..items).for_each(|i| {
                give_up_when_short();
                f(&mut worker, i);
            });
            return self.give_worker(worker);
        }
        let next = AtomicUsize::new(0);
        let (f, next) = (&f, &next);
        let pool = self.pool();
        pool.scope(|scope| {
            for _ in 0..pool.current_num_threads().min(items) {
                scope.spawn(move |_| {
                    let mut worker = self.take_worker();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= items {
                            break;
                        }
                        give_up_when_short();
                        f(&mut worker, i);
                    }
                    self.give_worker(worker);
                });
            }
        });
    }

    /// Pipelines of the draws that workers are at this moment, each once, in no order.
    pub fn running(&self) -> Vec<u64> {
        let running = self.running.lock();
        let mut all: Vec<u64> =
            running.iter().filter_map(Weak::upgrade).map(|r| r.load(Ordering::Relaxed)).filter(|&p| p != 0).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn take_worker(&self) -> Worker {
        if let Some(worker) = self.workers.lock().pop() {
            return worker;
        }
        let worker = Worker::default();
        let mut running = self.running.lock();
        running.retain(|r| r.strong_count() > 0);
        running.push(Arc::downgrade(&worker.running));
        worker
    }

    fn give_worker(&self, mut worker: Worker) {
        worker.runs(0);
        worker.scratch.trim(KEEP_SCRATCH);
        worker.shared.trim(KEEP_SCRATCH);
        let mut workers = self.workers.lock();
        if workers.len() < 2 * self.threads {
            workers.push(worker);
        }
    }
}
