//! The engine: one lazily started thread pool for draws and dispatches.

use crate::api::{Dispatch, Draw, RenderTargets};
use std::sync::OnceLock;

/// The pool and the scratch memory of its workers. Creating an engine starts no thread.
#[derive(Debug)]
pub struct Engine {
    threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
}

impl Engine {
    /// `threads`: 0 takes the count from affinity and cgroup quota. The pool starts at first use.
    pub fn new(threads: usize) -> Engine {
        Engine { threads, pool: OnceLock::new() }
    }
    /// The pool; starts it.
    pub fn pool(&self) -> &rayon::ThreadPool {
        self.pool.get_or_init(|| rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().expect("threads"))
    }
    /// Runs a dispatch to its end.
    pub fn dispatch(&self, d: &Dispatch) {
        let _ = d;
    }
    /// Starts a render pass instance.
    pub fn begin_rendering(&self, targets: RenderTargets) -> RenderPass<'_> {
        RenderPass { engine: self, targets }
    }
}

/// A render pass instance: draws in order, deferred until [`RenderPass::flush`].
pub struct RenderPass<'e> {
    #[expect(dead_code, reason = "first commit: signatures")]
    engine: &'e Engine,
    #[expect(dead_code, reason = "first commit: signatures")]
    targets: RenderTargets,
}

impl RenderPass<'_> {
    /// Appends a draw; may defer it.
    pub fn draw(&mut self, draw: Draw) {
        let _ = draw;
    }
    /// Clears a rectangle (x, y, width, height) of layers of a colour attachment; `value` are bits by format class.
    pub fn clear_color(&mut self, attachment: usize, value: [u32; 4], rect: [u32; 4], base_layer: u32, layers: u32) {
        let _ = (attachment, value, rect, base_layer, layers);
    }
    /// Clears depth and/or stencil.
    pub fn clear_depth_stencil(
        &mut self,
        depth: Option<f32>,
        stencil: Option<u32>,
        rect: [u32; 4],
        base_layer: u32,
        layers: u32,
    ) {
        let _ = (depth, stencil, rect, base_layer, layers);
    }
    /// Runs all deferred work.
    pub fn flush(&mut self) {}
    /// Flushes and ends.
    pub fn end(mut self) {
        self.flush();
    }
}
