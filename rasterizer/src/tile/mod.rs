//! Tiles: one worker runs all primitives of a 64×64 tile in draw order.
//!
//! The parameters of a draw and a pass are prepared before (`plan`, `pass`); three enumerations of
//! them choose the path of pixels: [`path::TilePath`] that of primitives, [`path::EarlyTest`] the
//! tests, [`path::Destination`] what follows. Coverage comes in 4×4 blocks or in rows of squares
//! (`cover`, `blocks`), is tested (`early`), and becomes quads (`expand`), filled pixels (`flat`)
//! or owners of pixels (`visibility_buffer`). Up to [`BATCH_QUADS`](quads::BATCH_QUADS) quads of
//! one draw are shaded in one call, then tested (late) and written in order (`fragment`, `color`);
//! fragments of several pixels are shaded for all quads of their pixels (`coarse`). All accesses to
//! a pixel happen on this worker, in primitive order.

mod blocks;
mod coarse;
mod color;
mod cover;
mod depth;
mod destination;
mod early;
mod epilogue;
mod expand;
mod flat;
mod fragment;
mod hi_z;
mod job;
mod line;
mod occlusion;
mod pass;
mod path;
mod plan;
mod quads;
mod rectangles;
mod resolve;
mod runs;
mod shaded;
mod small_primitives;
mod visibility_buffer;

pub use depth::DepthFormat;
pub use job::TileScratch;
pub use pass::RenderPass;
#[cfg(test)]
pub use path::FragmentOrder;
pub use plan::{TileDraw, TilePlan, TileState};
pub use runs::BinRuns;

use crate::prim::{BoxedOutput, ChunkOutput, TILE_SHIFT};
use base::host::SimdLevel;
use execution::{StageMemory, Worker, aborted};
use hi_z::HiZTest;
use job::TileJob;
use occlusion::OcclusionCulling;
use path::{Destination, TilePath};
use runs::{BinRun, PREFETCH, joined_bins, prefetch_prim};

/// The origin of a chunk of primitives.
#[derive(Clone, Copy, Debug)]
pub struct ChunkOrigin {
    /// Number of the chunk's draw.
    pub draw: u32,
    /// Stipple counter at the chunk's start.
    pub stipple: u32,
}

/// The draws of a round, by number.
pub trait DrawTable: Sync {
    /// Returns a draw as the tiles see it.
    fn draw(&self, number: u32) -> TileDraw<'_>;
}

/// Data of a round that its tiles share.
pub struct TileRound<'a> {
    /// The render pass and its attachments.
    pub pass: &'a RenderPass,
    /// The draws, to which primitives refer by number.
    pub draws: &'a dyn DrawTable,
    /// Origin of each chunk.
    pub origins: &'a [ChunkOrigin],
    /// Front-end output of each chunk.
    pub outputs: &'a [BoxedOutput],
    /// Runs of each tile.
    pub runs: &'a BinRuns,
}

/// Runs tile `i` of those that have work.
pub fn run(scene: &TileRound<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut TileScratch) {
    // SAFETY: the level is the host's own.
    unsafe { run_of(SimdLevel::detect())(scene, i, worker, memory, scratch) };
}

base::multiversion! {
    unsafe fn run_of(scene: &TileRound<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut TileScratch) {
        run_any(scene, i, worker, memory, scratch);
    }
}

#[inline(always)]
fn run_any(scene: &TileRound<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut TileScratch) {
    let TileRound { pass, draws, origins, runs, .. } = *scene;
    let mut joined = core::mem::take(&mut scratch.runs);
    let (tile, runs) = runs.tile_runs(i, &pass.grid, &mut joined);
    let (layer, [x0, y0]) = pass.grid.tile_at(tile);
    let [x0, y0] = [x0, y0].map(|c| (c << TILE_SHIFT) as i32);
    let same_draw = |a: &BinRun, b: &BinRun| origins[a.chunk as usize].draw == origins[b.chunk as usize].draw;
    runs.iter().take(RUNS_AHEAD).for_each(|run| prefetch_run(scene, run));
    let OcclusionCulling { defer, occluded } = if pass.removes_hidden_surfaces {
        OcclusionCulling::analyze(scene, runs, [x0, y0])
    } else {
        OcclusionCulling::default()
    };
    let (before, behind) = occluded.split_runs(runs);
    let mut ahead = before.iter().chain(behind).skip(RUNS_AHEAD);
    for group in before.chunk_by(same_draw).chain(behind.chunk_by(same_draw)) {
        let number = origins[group[0].chunk as usize].draw;
        let draw = draws.draw(number);
        scratch.quads.clear();
        scratch.rectangles.clear();
        scratch.coverage.clear();
        scratch.groups.clear();
        scratch.passing.clear();
        scratch.coarse.clear();
        let plan = draw.plan;
        let deferred = plan.overwrites.filter(|_| defer && draw.draw.queries.statistics.is_empty());
        worker.set_running(draw.running);
        let mut job = TileJob::new(pass, draw, layer, memory, scratch);
        if plan.shades() && !deferred.is_some_and(|attachments| job.scratch.visibility.fits_draw(attachments)) {
            job.resolve(draws, worker, [x0, y0]);
        }
        if let Some(attachments) = deferred {
            job.draw_destination = Destination::VisibilityBuffer;
            job.scratch.visibility.begin(number, attachments);
        }
        job.enable_hi_z([x0, y0]);
        job.find_epilogue([x0, x0 + (1 << TILE_SHIFT)]);
        job.find_small_path([x0, y0]);
        for run in group.chunk_by(|a, b| a.chunk == b.chunk) {
            if aborted(&draw.draw.context) {
                job.scratch.quads.clear();
                job.scratch.coarse.clear();
                job.scratch.rectangles.clear();
                job.scratch.visibility.discard();
                break;
            }
            if let Some(run) = ahead.next() {
                prefetch_run(scene, run);
            }
            job.chunk(scene, run, occluded.occluded_prims(run), worker, [x0, y0]);
        }
        job.finish();
    }
    if !scratch.visibility.is_empty()
        && let Some(run) = runs.last()
    {
        let draw = draws.draw(origins[run.chunk as usize].draw);
        TileJob::new(pass, draw, layer, memory, scratch).resolve(draws, worker, [x0, y0]);
    }
    scratch.runs = joined;
}

impl TileJob<'_> {
    /// Enables Hi-Z for the draw, or makes the bounds of the tile at (x0, y0) unknown if the draw
    /// writes depth without it.
    #[inline(always)]
    fn enable_hi_z(&mut self, [x0, y0]: [i32; 2]) {
        let (pass, plan) = (self.pass, self.draw.plan);
        let all_samples = plan.sample_mask == (1 << pass.grid.samples) - 1;
        if plan.tests_early() {
            self.hi_z = HiZTest::new(pass.hi_z.as_deref(), pass.depth.as_ref(), &plan.depth, self.layer, all_samples);
        }
        if plan.depth.write
            && self.hi_z.is_none()
            && let Some(hi_z) = &pass.hi_z
        {
            hi_z.invalidate(self.layer, [x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)]);
        }
    }

    /// Runs the primitives of a chunk, except the first `occluded` ones.
    #[inline(always)]
    fn chunk(&mut self, scene: &TileRound<'_>, run: &[BinRun], occluded: u32, worker: &Worker, [x0, y0]: [i32; 2]) {
        let chunk = run[0].chunk as usize;
        let output: &ChunkOutput = &scene.outputs[chunk];
        let mut joined = core::mem::take(&mut self.scratch.bins);
        let bins = joined_bins(run, output, &mut joined);
        let bins = if occluded == 0 { bins } else { &bins[bins.partition_point(|&bin| (bin as u32) < occluded)..] };
        if self.draw_destination == Destination::VisibilityBuffer && !self.scratch.visibility.fits_chunk(output) {
            let attachments = self.draw.plan.overwrites.unwrap_or_default();
            self.resolve(scene.draws, worker, [x0, y0]);
            self.scratch.visibility.begin(scene.origins[chunk].draw, attachments);
        }
        if let TilePath::Lines(lines) = &self.draw.plan.path {
            line::run(self, lines, output, bins, scene.origins[chunk].stipple, [x0, y0]);
        } else {
            let mut i = 0;
            while i < bins.len() {
                i = self.small_primitives(output, bins, i, [x0, y0]);
                let Some(&bin) = bins.get(i) else { break };
                if let Some(&ahead) = bins.get(i + PREFETCH) {
                    prefetch_prim(&output.prims[ahead as u32 as usize]);
                }
                let prim = &output.prims[bin as u32 as usize];
                self.primitive(prim, output.edges_of(prim), x0, y0);
                i += 1;
            }
        }
        self.scratch.bins = joined;
    }
}

/// Number of runs of which the first primitives are prefetched; a tile often has no more.
const RUNS_AHEAD: usize = 3;

/// Prefetches the first primitives of a run.
#[inline(always)]
fn prefetch_run(scene: &TileRound<'_>, run: &BinRun) {
    let output: &ChunkOutput = &scene.outputs[run.chunk as usize];
    for &bin in run.bins(output).iter().take(PREFETCH) {
        prefetch_prim(&output.prims[bin as u32 as usize]);
    }
}
