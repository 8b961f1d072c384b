//! Tiles: one worker runs all primitives of a 64×64 tile in draw order.
//!
//! Coverage comes in 4×4 blocks (`cover`); early tests work on blocks; survivors become quads (`blocks`); up to
//! [`BATCH_QUADS`](quads::BATCH_QUADS) quads of one draw are shaded in one call, then tested (late) and written in order (`fragment`, `color`).
//! Everything a pixel sees happens on this worker, in primitive order. What a draw and a pass mean here is decided before (`plan`, `pass`).

mod blocks;
mod bounds;
mod color;
mod cover;
mod depth;
mod fragment;
mod job;
mod line;
mod pass;
mod plan;
mod quads;
mod runs;
mod shaded;

pub use depth::DepthFormat;
pub use job::Scratch;
pub use pass::Pass;
pub use plan::{TileDraw, TilePlan, TileState};
pub use runs::Runs;

use crate::pool::Worker;
use crate::prim::{ChunkOutput, Prim, TILE_SHIFT};
use crate::stage::{StageMemory, aborted};
use base::host::Level;
use bounds::DepthReject;
use job::TileJob;
use runs::{Run, joined_bins};

/// Where a chunk comes from.
#[derive(Clone, Copy, Debug)]
pub struct ChunkOrigin {
    /// Number of its draw.
    pub draw: u32,
    /// Stipple counter at its start.
    pub stipple: u32,
}

/// The draws of a round, by number.
pub trait Draws: Sync {
    /// A draw as the tiles see it.
    fn draw(&self, number: u32) -> TileDraw<'_>;
}

/// What the tiles of a round work on.
pub struct Scene<'a> {
    /// What is rendered to.
    pub pass: &'a Pass,
    /// What primitives refer to by number.
    pub draws: &'a dyn Draws,
    /// Where each chunk comes from.
    pub origins: &'a [ChunkOrigin],
    /// What each chunk's front end left.
    pub outputs: &'a [ChunkOutput],
    /// What each tile has to do.
    pub runs: &'a Runs,
}

/// Runs tile `i` of those that have something to do.
pub fn run(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
    // SAFETY: the host's own level.
    unsafe { run_of(Level::here())(scene, i, worker, memory, scratch) };
}

base::compiled! {
    unsafe fn run_of(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
        run_any(scene, i, worker, memory, scratch);
    }
}

#[inline(always)]
fn run_any(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
    let Scene { pass, draws, origins, outputs, runs } = *scene;
    let (mut joined, mut bins) = (core::mem::take(&mut scratch.runs), core::mem::take(&mut scratch.bins));
    let (tile, runs) = runs.of(i, &pass.grid, &mut joined);
    let (layer, [x0, y0]) = pass.grid.tile_at(tile);
    let [x0, y0] = [x0, y0].map(|c| (c << TILE_SHIFT) as i32);
    let same_draw = |a: &Run, b: &Run| origins[a.chunk as usize].draw == origins[b.chunk as usize].draw;
    let same_chunk = |a: &Run, b: &Run| a.chunk == b.chunk;
    for group in runs.chunk_by(same_draw) {
        let draw = draws.draw(origins[group[0].chunk as usize].draw);
        scratch.quads.clear();
        scratch.coverage.clear();
        let plan = draw.plan;
        let all_samples = plan.sample_mask == (1 << pass.grid.samples) - 1;
        let reject = if plan.early {
            DepthReject::new(pass.depth_bounds.as_deref(), pass.depth.as_ref(), &plan.depth, layer, all_samples)
        } else {
            None
        };
        if plan.depth.write && reject.is_none() {
            // Depth changes without the bounds' knowledge.
            if let Some(bounds) = &pass.depth_bounds {
                bounds.forget(layer, [x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)]);
            }
        }
        worker.runs(draw.running);
        let mut job = TileJob { pass, draw, layer, memory, scratch, reject, smooth: None, passed: 0, invocations: 0 };
        for run in group.chunk_by(same_chunk) {
            if aborted(&draw.draw.context) {
                job.scratch.quads.clear();
                return;
            }
            let chunk = run[0].chunk as usize;
            let output = &outputs[chunk];
            let bins = joined_bins(run, output, &mut bins);
            if let Some(lines) = &plan.lines {
                line::run(&mut job, lines, output, bins, origins[chunk].stipple, [x0, y0]);
                continue;
            }
            for (i, &bin) in bins.iter().enumerate() {
                if let Some(&ahead) = bins.get(i + PREFETCH) {
                    prefetch(&output.prims[ahead as u32 as usize]);
                }
                job.primitive(&output.prims[bin as u32 as usize], x0, y0);
            }
        }
        job.finish();
    }
    (scratch.runs, scratch.bins) = (joined, bins);
}

/// Primitives that are fetched ahead: they were written by another worker, some time ago.
const PREFETCH: usize = 3;

/// Asks for a primitive's cache lines.
#[inline(always)]
fn prefetch(prim: &Prim) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<Prim>()).step_by(64) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address is no access.
        unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *prim).cast::<i8>().wrapping_add(offset)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = prim;
}
