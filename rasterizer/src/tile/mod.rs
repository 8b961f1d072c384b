//! Tiles: one worker runs all primitives of a 64×64 tile in draw order.
//!
//! Coverage comes in 4×4 blocks (`cover`), early tests work on blocks, and survivors become quads
//! (`blocks`). Up to [`BATCH_QUADS`](quads::BATCH_QUADS) quads of one draw are shaded in one call,
//! then tested (late) and written in order (`fragment`, `color`). All accesses to a pixel happen on
//! this worker, in primitive order. The parameters of a draw and a pass are prepared before
//! (`plan`, `pass`).

mod blocks;
mod bounds;
mod color;
mod cover;
mod depth;
mod epilogue;
mod flat;
mod fragment;
mod job;
mod line;
mod overdraw;
mod owners;
mod pass;
mod plan;
mod quads;
mod rectangles;
mod resolve;
mod runs;
mod shaded;
mod tiny;

pub use depth::DepthFormat;
pub use job::Scratch;
pub use pass::Pass;
pub use plan::{TileDraw, TilePlan, TileState};
pub use runs::Runs;

use crate::prim::{ChunkOutput, TILE_SHIFT};
use base::host::Level;
use bounds::DepthReject;
use execution::{StageMemory, Worker, aborted};
use job::TileJob;
use overdraw::Overdraw;
use runs::{PREFETCH, Run, joined_bins, prefetch_prim};

/// The origin of a chunk of primitives.
#[derive(Clone, Copy, Debug)]
pub struct ChunkOrigin {
    /// Number of the chunk's draw.
    pub draw: u32,
    /// Stipple counter at the chunk's start.
    pub stipple: u32,
}

/// The draws of a round, by number.
pub trait Draws: Sync {
    /// Returns a draw as the tiles see it.
    fn draw(&self, number: u32) -> TileDraw<'_>;
}

/// Data of a round that its tiles share.
pub struct Scene<'a> {
    /// The render pass and its attachments.
    pub pass: &'a Pass,
    /// The draws, to which primitives refer by number.
    pub draws: &'a dyn Draws,
    /// Origin of each chunk.
    pub origins: &'a [ChunkOrigin],
    /// Front-end output of each chunk.
    pub outputs: &'a [ChunkOutput],
    /// Runs of each tile.
    pub runs: &'a Runs,
}

/// Runs tile `i` of those that have work.
pub fn run(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
    // SAFETY: the level is the host's own.
    unsafe { run_of(Level::here())(scene, i, worker, memory, scratch) };
}

base::compiled! {
    unsafe fn run_of(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
        run_any(scene, i, worker, memory, scratch);
    }
}

#[inline(always)]
fn run_any(scene: &Scene<'_>, i: usize, worker: &Worker, memory: &mut StageMemory, scratch: &mut Scratch) {
    let Scene { pass, draws, origins, runs, .. } = *scene;
    let mut joined = core::mem::take(&mut scratch.runs);
    let (tile, runs) = runs.of(i, &pass.grid, &mut joined);
    let (layer, [x0, y0]) = pass.grid.tile_at(tile);
    let [x0, y0] = [x0, y0].map(|c| (c << TILE_SHIFT) as i32);
    let same_draw = |a: &Run, b: &Run| origins[a.chunk as usize].draw == origins[b.chunk as usize].draw;
    runs.iter().take(RUNS_AHEAD).for_each(|run| prefetch_run(scene, run));
    let Overdraw { defer, hidden } = if pass.hides { Overdraw::of(scene, runs, [x0, y0]) } else { Overdraw::default() };
    let (before, behind) = hidden.around(runs);
    let mut ahead = before.iter().chain(behind).skip(RUNS_AHEAD);
    for group in before.chunk_by(same_draw).chain(behind.chunk_by(same_draw)) {
        let number = origins[group[0].chunk as usize].draw;
        let draw = draws.draw(number);
        scratch.quads.clear();
        scratch.rectangles.clear();
        scratch.coverage.clear();
        scratch.groups.clear();
        scratch.passing.clear();
        let plan = draw.plan;
        let deferred = plan.overwrites.filter(|_| defer && draw.draw.queries.statistics.is_none());
        worker.runs(draw.running);
        let mut job = TileJob::of(pass, draw, layer, memory, scratch);
        if plan.shades && !deferred.is_some_and(|attachments| job.scratch.owners.has_room(attachments)) {
            job.resolve(draws, worker, [x0, y0]);
        }
        if let Some(attachments) = deferred {
            job.deferred = true;
            job.scratch.owners.begin(number, attachments);
        }
        job.bound_depth([x0, y0]);
        job.all_plain = plan.plain && !job.deferred;
        job.find_epilogue([x0, x0 + (1 << TILE_SHIFT)]);
        job.fills = job.all_plain && plan.sample_mask & 1 != 0;
        job.find_tiny([x0, y0]);
        for run in group.chunk_by(|a, b| a.chunk == b.chunk) {
            if aborted(&draw.draw.context) {
                job.scratch.quads.clear();
                job.scratch.rectangles.clear();
                job.scratch.owners.forget();
                break;
            }
            if let Some(run) = ahead.next() {
                prefetch_run(scene, run);
            }
            job.chunk(scene, run, hidden.prims(run), worker, [x0, y0]);
        }
        job.finish();
    }
    if !scratch.owners.is_empty()
        && let Some(run) = runs.last()
    {
        let draw = draws.draw(origins[run.chunk as usize].draw);
        TileJob::of(pass, draw, layer, memory, scratch).resolve(draws, worker, [x0, y0]);
    }
    scratch.runs = joined;
}

impl TileJob<'_> {
    /// Enables Hi-Z for the draw, or makes the bounds of the tile at (x0, y0) unknown if the draw
    /// writes depth without it.
    #[inline(always)]
    fn bound_depth(&mut self, [x0, y0]: [i32; 2]) {
        let (pass, plan) = (self.pass, self.draw.plan);
        let all_samples = plan.sample_mask == (1 << pass.grid.samples) - 1;
        if plan.early {
            self.reject = DepthReject::new(
                pass.depth_bounds.as_deref(),
                pass.depth.as_ref(),
                &plan.depth,
                self.layer,
                all_samples,
            );
        }
        if plan.depth.write
            && self.reject.is_none()
            && let Some(bounds) = &pass.depth_bounds
        {
            bounds.forget(self.layer, [x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)]);
        }
    }

    /// Runs the primitives of a chunk, except the first `hidden` ones.
    #[inline(always)]
    fn chunk(&mut self, scene: &Scene<'_>, run: &[Run], hidden: u32, worker: &Worker, [x0, y0]: [i32; 2]) {
        let chunk = run[0].chunk as usize;
        let output = &scene.outputs[chunk];
        let mut joined = core::mem::take(&mut self.scratch.bins);
        let bins = joined_bins(run, output, &mut joined);
        let bins = if hidden == 0 { bins } else { &bins[bins.partition_point(|&bin| (bin as u32) < hidden)..] };
        if self.deferred && !self.scratch.owners.has_room_for(output) {
            let attachments = self.draw.plan.overwrites.unwrap_or_default();
            self.resolve(scene.draws, worker, [x0, y0]);
            self.scratch.owners.begin(scene.origins[chunk].draw, attachments);
        }
        if let Some(lines) = &self.draw.plan.lines {
            line::run(self, lines, output, bins, scene.origins[chunk].stipple, [x0, y0]);
        } else {
            let mut i = 0;
            while i < bins.len() {
                i = self.small(output, bins, i, [x0, y0]);
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
fn prefetch_run(scene: &Scene<'_>, run: &Run) {
    let output = &scene.outputs[run.chunk as usize];
    for &bin in run.bins(output).iter().take(PREFETCH) {
        prefetch_prim(&output.prims[bin as u32 as usize]);
    }
}
