//! The engine: the thread pool and the state that draws and dispatches keep between uses.

#![forbid(unsafe_code)]

use crate::api::{Dispatch, RenderTargets, Running};
use crate::pool::Pool;
use crate::scene::{Arenas, RenderPassInstance, Scratch};
use crate::team::Team;

/// An engine, which runs dispatches and render passes, of several threads at a time. Creating an
/// engine starts no thread.
pub struct Engine {
    pub(crate) pool: Pool<Scratch>,
    arenas: Arenas,
}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes an engine of `threads` threads; 0 takes the count from affinity and cgroup quota. The
    /// pool starts at first use.
    pub fn new(threads: usize) -> Engine {
        Engine { pool: Pool::new(threads), arenas: Arenas::default() }
    }

    /// Returns the number of worker threads.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Returns true if the pool has been started.
    pub fn started(&self) -> bool {
        self.team().started()
    }

    /// Returns the threads, for transfers.
    pub fn team(&self) -> &Team {
        self.pool.team()
    }

    /// Returns the threads, for jobs for which no thread waits; starts them. `None` means that the
    /// system grants no thread, so that the caller does its work itself.
    pub fn pool(&self) -> Option<&rayon::ThreadPool> {
        self.team().pool()
    }

    /// Runs a dispatch to its end.
    pub fn dispatch(&self, d: &Dispatch) {
        crate::compute::dispatch(&self.pool, d);
    }

    /// Starts a render pass instance.
    pub fn begin_rendering(&self, targets: RenderTargets) -> RenderPassInstance<'_> {
        RenderPassInstance::new(&self.pool, &self.arenas, targets)
    }

    /// Returns the commands that workers run at this moment, each once.
    pub fn running(&self) -> Vec<Running> {
        self.pool.running()
    }
}
