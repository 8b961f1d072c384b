//! The engine: the thread pool and all that draws and dispatches keep between uses.

#![forbid(unsafe_code)]

use crate::api::{Dispatch, RenderTargets};
use crate::pool::{Pool, Running};
use crate::scene::{Arenas, RenderPassInstance, Scratch};
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs dispatches and render passes. Creating an engine starts no thread.
pub struct Engine {
    pub(crate) pool: Pool<Scratch>,
    arenas: Arenas,
    /// The command begun last.
    command: AtomicU64,
}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

impl Engine {
    /// `threads`: 0 takes the count from affinity and cgroup quota. The pool starts at first use.
    pub fn new(threads: usize) -> Engine {
        Engine { pool: Pool::new(threads), arenas: Arenas::default(), command: AtomicU64::new(0) }
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The pool has been started.
    pub fn started(&self) -> bool {
        self.pool.started()
    }

    /// The threads; starts them. `None` where the system grants not even one: the work is done by who has it.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.pool.pool()
    }

    /// The draws and dispatches from now on belong to this command (a number of the caller's, not 0).
    pub fn begin_command(&self, number: u64) {
        self.command.store(number, Ordering::Relaxed);
    }

    /// Runs a dispatch to its end.
    pub fn dispatch(&self, d: &Dispatch) {
        let running = Running { command: self.command.load(Ordering::Relaxed), pipeline: 0 };
        crate::compute::dispatch(&self.pool, running, d);
    }

    /// Starts a render pass instance.
    pub fn begin_rendering(&self, targets: RenderTargets) -> RenderPassInstance<'_> {
        RenderPassInstance::new(&self.pool, &self.arenas, &self.command, targets)
    }

    /// What workers are at at this moment, each command once.
    pub fn running(&self) -> Vec<Running> {
        self.pool.running()
    }
}
