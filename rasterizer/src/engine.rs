//! The engine: the threads, and the state that draws and dispatches keep between uses.

#![forbid(unsafe_code)]

use crate::api::RenderTargets;
use crate::scene::{ChunkOutputPool, DrawScratch, RenderPassInstance};
use execution::WorkerPool;

/// An engine, which runs render passes, of several threads at a time, on threads that other work
/// shares. Creating an engine starts no thread.
pub struct Engine {
    pool: WorkerPool<DrawScratch>,
    output_pool: ChunkOutputPool,
}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("threads", &self.pool.threads()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes an engine of `threads` threads; 0 takes the count from affinity and cgroup quota. The
    /// threads start at first use.
    pub fn new(threads: usize) -> Engine {
        Engine { pool: WorkerPool::new(threads), output_pool: ChunkOutputPool::default() }
    }

    /// Returns the pool, for work other than draws: dispatches, transfers, and jobs for which no
    /// thread waits.
    pub fn pool(&self) -> &WorkerPool<DrawScratch> {
        &self.pool
    }

    /// Starts a render pass instance.
    pub fn begin_rendering(&self, targets: RenderTargets) -> RenderPassInstance<'_> {
        RenderPassInstance::new(&self.pool, &self.output_pool, targets)
    }
}
