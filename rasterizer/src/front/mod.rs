//! The front end: one chunk of primitives, taken whole by one worker.
//!
//! A [`Source`](stream::Source) makes primitives of shaded vertices and gives them out in batches of at most
//! [`BATCH_PRIMITIVES`](stream::BATCH_PRIMITIVES); whatever stands between it and setup is a source over a source. Setup takes the batches:
//! capture for transform feedback (`capture`), outcodes and projection (`post`), culling in blocks (`filled`), clipping, setup and binning (`primitive`, `setup`, `bins`).
//! Setup knows nothing of where primitives come from, sources nothing of the screen. Today's only source is `input`: index fetch, assembly and
//! the vertex stage.
//!
//! A [`Chunk`] names a range of instances and primitives of one draw; [`run`] fills a [`ChunkOutput`] with set-up primitives
//! and sorted (node, primitive) pairs (see `bins`). Nothing is allocated per primitive: the output's vectors are reused.

mod assemble;
mod bins;
mod capture;
mod clip;
mod filled;
mod input;
mod link;
mod plan;
mod post;
mod primitive;
mod setup;
mod stream;
mod vertex;
mod viewport;

pub use capture::{feed, place, settle};
pub use link::Linkage;
pub use plan::{Chunk, Feed, FrontDraw, Plan, cut, viewports};
pub use stream::BATCH_PRIMITIVES;
pub use viewport::Transform;

use crate::api::statistic;
use crate::prim::{ChunkOutput, Grid, Phase};
use crate::stage::StageMemory;
use base::host::Level;
use input::VertexSource;
use primitive::Builder;
use stream::{Batch, Source};

/// Front-end memory of a worker.
#[derive(Default)]
pub struct Scratch {
    source: input::Scratch,
    setup: SetupScratch,
}

/// Memory of setup.
#[derive(Default)]
struct SetupScratch {
    vertices: Vec<post::Vertex>,
    measures: Box<filled::Measures>,
}

/// Runs a chunk.
pub fn run(
    draw: FrontDraw<'_>,
    grid: &Grid,
    chunk: &Chunk,
    memory: &mut StageMemory,
    scratch: &mut Scratch,
    out: &mut ChunkOutput,
) {
    // SAFETY: the host's own level.
    unsafe { run_of(Level::here())(draw, grid, chunk, memory, scratch, out) };
}

base::compiled! {
    unsafe fn run_of(draw: FrontDraw<'_>, grid: &Grid, chunk: &Chunk, memory: &mut StageMemory, scratch: &mut Scratch,
        out: &mut ChunkOutput) {
        run_any(draw, grid, chunk, memory, scratch, out);
    }
}

#[inline(always)]
fn run_any(
    draw: FrontDraw<'_>,
    grid: &Grid,
    chunk: &Chunk,
    memory: &mut StageMemory,
    scratch: &mut Scratch,
    out: &mut ChunkOutput,
) {
    let mut source = VertexSource::new(draw, chunk, &mut scratch.source);
    let mut any = false;
    while let Some(batch) = source.next(memory) {
        draw.draw.queries.count_generated(0, batch.primitives.len() as u64);
        capture::take(draw, chunk.feed, &batch, out);
        if draw.draw.state.rasterizer_discard {
            continue;
        }
        any = true;
        set_up(draw, grid, &batch, &mut scratch.setup, out);
    }
    if any {
        out.seal();
    }
}

/// Clips, culls, sets up and bins a batch.
#[inline(always)]
fn set_up(draw: FrontDraw<'_>, grid: &Grid, batch: &Batch<'_>, scratch: &mut SetupScratch, out: &mut ChunkOutput) {
    let queries = &draw.draw.queries;
    queries.count(statistic::CLIPPING_INVOCATIONS, batch.primitives.len() as u64);
    post::finish(draw, batch, &mut scratch.vertices);
    let (shaded, vertices) = (batch.shaded, &*scratch.vertices);
    let mut builder = Builder { draw, grid, shaded, vertices, out, leaving: 0, phase: Phase::NONE };
    let state = &draw.draw.state;
    if state.line_stipple.is_some() && state.lines_are_special() {
        builder.stippled(batch.primitives);
    } else if builder.is_filled() {
        builder.filled(batch.primitives, &mut scratch.measures);
    } else {
        for &(vertices, id) in batch.primitives {
            builder.primitive(vertices, id);
        }
    }
    queries.count(statistic::CLIPPING_PRIMITIVES, builder.leaving);
}
