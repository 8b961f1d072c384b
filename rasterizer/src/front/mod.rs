//! The front end: one worker takes a whole chunk of primitives.
//!
//! A [`Source`](stream::Source) makes primitives of shaded vertices and returns them in batches of
//! at most [`BATCH_PRIMITIVES`](stream::BATCH_PRIMITIVES). Every stage between the first source and
//! setup is a source over a source.
//!
//! Setup takes the batches. Its steps are:
//! - capture for transform feedback (`capture`, with non-temporal stores by `past`),
//! - outcodes and projection (`post`),
//! - culling in blocks (`filled` with `measures` for triangles,
//!   `segments` for lines, both with `lanes`),
//! - rectangles of two triangles (`rectangle` with `pairs`),
//! - clipping, setup and binning (`primitive`, `setup`, `planes`, `attributes`, `bins`).
//!
//! All primitives of a batch belong to one stream of vertices; all streams are captured and
//! counted, and one is set up.
//!
//! Setup does not depend on the origin of primitives, and sources do not depend on the screen. The
//! first source is `input`: index fetch, assembly and the vertex stage. The tessellation stages are
//! a source over it (`tessellation`), and the geometry stage is one over either (`geometry`). The
//! mesh stage is a source without any before it (`mesh`), whose workgroups the draw or its task
//! stage requests (`tasks`).
//!
//! A [`Chunk`] names a range of instances and primitives of one draw. [`run`] fills a
//! [`ChunkOutput`] with set-up primitives and sorted (node, primitive) pairs (see `bins`). Nothing
//! is allocated per primitive: the output's vectors are reused.

mod assemble;
mod attributes;
mod bins;
mod capture;
mod clip;
mod columns;
mod filled;
mod geometry;
mod input;
mod lanes;
mod link;
mod measures;
mod mesh;
mod pairs;
mod past;
mod plan;
mod planes;
mod post;
mod primitive;
mod rectangle;
mod segments;
mod setup;
mod stream;
mod tasks;
mod tessellation;
mod vertex;
mod viewport;

pub use capture::{feed, place, settle};
pub use link::FetchPlan;
pub use plan::{Chunk, Feed, FrontDraw, Plan, cut, viewports};
#[cfg(test)]
pub use setup::NOTHING;
pub use stream::{BATCH_PRIMITIVES, MOST_PATCHES};
pub use tasks::{Asked, together};
pub use viewport::Transform;

use crate::api::statistic;
use crate::prim::{ChunkOutput, Grid, Phase, Sorting};
use base::host::{Host, Level};
use execution::StageMemory;
use geometry::{GeometrySource, Whole};
use input::VertexSource;
use mesh::MeshSource;
use primitive::Builder;
use stream::{Assembled, Batch, Source};
use tessellation::TessellationSource;

/// Largest number of bytes of a chunk's output. A larger one is given up, as if there were no
/// memory for it, because the output of stages for a single patch or primitive has no other bound.
const MOST_BYTES: usize = 512 << 20;

/// Front-end memory of a worker.
#[derive(Default)]
pub struct Scratch {
    source: input::Scratch<[u32; 3]>,
    tessellation: Option<Box<tessellation::Scratch<[u32; 3]>>>,
    geometry: GeometryScratch,
    mesh: Option<Box<mesh::Scratch>>,
    setup: SetupScratch,
}

/// Memory of the geometry stage and of the sources before it.
#[derive(Default)]
struct GeometryScratch {
    source: Option<Box<input::Scratch<Whole>>>,
    tessellation: Option<Box<tessellation::Scratch<Whole>>>,
    stage: Option<Box<geometry::Scratch>>,
}

/// Memory of setup.
#[derive(Default)]
struct SetupScratch {
    vertices: Vec<post::Vertex>,
    measures: Box<measures::Measures>,
    segments: Box<segments::Measures>,
    sorting: Sorting,
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
    // SAFETY: the level is the host's own.
    unsafe { run_of(Level::here())(draw, grid, chunk, memory, scratch, out) };
}

base::compiled! {
    for Avx512 unsafe fn run_of(draw: FrontDraw<'_>, grid: &Grid, chunk: &Chunk, memory: &mut StageMemory, scratch: &mut Scratch,
        out: &mut ChunkOutput) {
        run_any(H::LEVEL, draw, grid, chunk, memory, scratch, out);
    }
    /// Sets up primitives of any kind one by one.
    unsafe fn one_by_one(builder: &mut Builder<'_>, primitives: &[Assembled]) {
        for &(vertices, number) in primitives {
            builder.any(vertices, number);
        }
    }
}

impl Builder<'_> {
    /// Sets up primitives of a batch one by one. It is not inlined, because it is large and has
    /// several callers.
    fn one_by_one(&mut self, primitives: &[Assembled]) {
        // SAFETY: the host has the level in which this code runs.
        unsafe { one_by_one(self.level)(self, primitives) };
    }
}

#[inline(always)]
fn run_any(
    level: Level,
    draw: FrontDraw<'_>,
    grid: &Grid,
    chunk: &Chunk,
    memory: &mut StageMemory,
    scratch: &mut Scratch,
    out: &mut ChunkOutput,
) {
    let Scratch { source, tessellation, geometry, mesh, setup } = scratch;
    let before = MeshSource::new(draw, chunk, mesh).map(Last::Mesh);
    let mut source = match before.or_else(|| later(draw, chunk, tessellation, geometry)) {
        Some(source) => source,
        None => Last::Vertices(VertexSource::new(draw, chunk, source)),
    };
    // `any` means that a batch was set up; `known` means that setup has the batch's vertices.
    let (mut any, mut known, mut feed) = (false, false, chunk.feed);
    while source.advance(memory) {
        let batch = source.batch();
        draw.draw.queries.count_generated(batch.stream as usize, batch.primitives.len() as u64);
        capture::take(draw, &mut feed, &batch, out);
        if draw.draw.rasterized() != Some(batch.stream) {
            known &= batch.seen;
            continue;
        }
        let batch = Batch { seen: known && batch.seen, ..batch };
        set_up(level, draw, grid, (&batch, !any), setup, out);
        out.taken += batch.primitives.len() as u32;
        (any, known) = (true, true);
        if out.bytes() > MOST_BYTES {
            base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
        }
    }
    if any {
        out.seal(&mut setup.sorting);
    }
}

/// The last source before setup.
enum Last<'a> {
    Vertices(VertexSource<'a, [u32; 3]>),
    Tessellation(TessellationSource<'a, [u32; 3]>),
    Geometry(GeometrySource<'a, VertexSource<'a, Whole>>),
    GeometryOfPatches(GeometrySource<'a, TessellationSource<'a, Whole>>),
    Mesh(MeshSource<'a>),
}

/// Makes a source after the vertex stage; `None` if the draw has no such stages.
#[inline(always)]
fn later<'a>(
    draw: FrontDraw<'a>,
    chunk: &'a Chunk,
    tessellation: &'a mut Option<Box<tessellation::Scratch<[u32; 3]>>>,
    geometry: &'a mut GeometryScratch,
) -> Option<Last<'a>> {
    let linkage = draw.linkage();
    let GeometryScratch { source, tessellation: patches, stage } = geometry;
    match (&linkage.tessellation, &linkage.geometry) {
        (None, None) => None,
        (Some(_), None) => TessellationSource::new(draw, chunk, tessellation).map(Last::Tessellation),
        (None, Some(_)) => {
            let vertices = VertexSource::new(draw, chunk, &mut **source.get_or_insert_default());
            GeometrySource::new(draw, vertices, stage).map(Last::Geometry)
        }
        (Some(_), Some(_)) => {
            let patches = TessellationSource::new(draw, chunk, patches)?;
            GeometrySource::new(draw, patches, stage).map(Last::GeometryOfPatches)
        }
    }
}

impl Source for Last<'_> {
    type Corners = [u32; 3];

    #[inline(always)]
    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        match self {
            Last::Vertices(source) => source.advance(memory),
            Last::Tessellation(source) => source.advance(memory),
            Last::Geometry(source) => source.advance(memory),
            Last::GeometryOfPatches(source) => source.advance(memory),
            Last::Mesh(source) => source.advance(memory),
        }
    }

    #[inline(always)]
    fn batch(&self) -> Batch<'_> {
        match self {
            Last::Vertices(source) => source.batch(),
            Last::Tessellation(source) => source.batch(),
            Last::Geometry(source) => source.batch(),
            Last::GeometryOfPatches(source) => source.batch(),
            Last::Mesh(source) => source.batch(),
        }
    }
}

/// Clips, culls, sets up and bins a batch; `first` means that it is the first of its chunk.
#[inline(always)]
fn set_up(
    level: Level,
    draw: FrontDraw<'_>,
    grid: &Grid,
    (batch, first): (&Batch<'_>, bool),
    scratch: &mut SetupScratch,
    out: &mut ChunkOutput,
) {
    let queries = &draw.draw.queries;
    queries.count(statistic::CLIPPING_INVOCATIONS, batch.primitives.len() as u64);
    post::finish(draw, batch, &mut scratch.vertices);
    if !batch.seen {
        scratch.measures.fours.forget();
    }
    let (shaded, records, vertices) = (batch.shaded, batch.records, &*scratch.vertices);
    let count = if batch.made.is_some() { 0 } else { batch.vertices };
    let mut builder =
        Builder { level, draw, grid, shaded, records, vertices, count, out, leaving: 0, phase: Phase::NONE };
    let state = &draw.draw.state;
    if state.line_stipple.is_some() && state.lines_are_special(draw.plan.topology) {
        builder.stippled(batch, first);
    } else if builder.is_filled() {
        builder.filled(batch, &mut scratch.measures);
    } else if builder.is_thin() {
        builder.segments(batch, &mut scratch.segments);
    } else {
        builder.one_by_one(batch.primitives);
    }
    queries.count(statistic::CLIPPING_PRIMITIVES, builder.leaving);
}
