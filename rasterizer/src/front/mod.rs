//! The front end: one worker takes a whole chunk of primitives.
//!
//! A [`PrimitiveSource`](stream::PrimitiveSource) makes primitives of shaded vertices and returns
//! them in batches of at most [`BATCH_PRIMITIVES`](stream::BATCH_PRIMITIVES). Every stage between
//! the first source and setup is a source over a source.
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
//! A [`DrawChunk`] names a range of instances and primitives of one draw. [`run`] fills a
//! [`ChunkOutput`] with set-up primitives and sorted (node, primitive) pairs (see `bins`). Nothing
//! is allocated per primitive: the output's vectors are reused.

mod assemble;
mod attributes;
mod bins;
mod capture;
mod clip;
mod conservative;
mod filled_triangles;
mod geometry;
mod input;
mod line_batch;
mod link;
mod mesh;
mod mesh_dispatch;
mod non_temporal;
mod plan;
mod planes;
mod primitive;
mod primitive_lanes;
mod project;
mod rectangle;
mod setup;
mod soa_fetch;
mod stream;
mod tessellation;
mod triangle_batch;
mod triangle_pairs;
mod vertex;
mod vertex_order;
mod viewport;

pub use capture::{capture_target, reserve_captured, write_captured};
pub use link::FetchPlan;
pub use mesh_dispatch::{MeshDispatchList, tasks_per_batch};
pub use plan::{CaptureTarget, DrawChunk, FrontDraw, FrontPlan, cut, viewports};
#[cfg(test)]
pub use setup::UNSET_PRIM;
pub use stream::{BATCH_PRIMITIVES, MAX_PATCHES};
pub use viewport::Transform;

use crate::api::statistic;
use crate::prim::{BinSorter, ChunkOutput, StipplePhase, TileGrid};
use base::host::{Host, SimdLevel};
use execution::StageMemory;
use geometry::{AdjacentVertices, GeometrySource};
use input::VertexSource;
use mesh::MeshSource;
use primitive::PrimitiveBuilder;
use stream::{Assembled, Batch, PrimitiveSource};
use tessellation::TessellationSource;

/// Largest number of bytes of a chunk's output. A larger one is given up, as if there were no
/// memory for it, because the output of stages for a single patch or primitive has no other bound.
const MAX_OUTPUT_BYTES: usize = 512 << 20;

/// Front-end memory of a worker.
#[derive(Default)]
pub struct FrontScratch {
    source: input::AssemblyScratch<[u32; 3]>,
    tessellation: Option<Box<tessellation::TessellationScratch<[u32; 3]>>>,
    geometry: GeometryScratch,
    mesh: Option<Box<mesh::MeshScratch>>,
    setup: SetupScratch,
}

/// Memory of the geometry stage and of the sources before it.
#[derive(Default)]
struct GeometryScratch {
    source: Option<Box<input::AssemblyScratch<AdjacentVertices>>>,
    tessellation: Option<Box<tessellation::TessellationScratch<AdjacentVertices>>>,
    stage: Option<Box<geometry::GeometryStageScratch>>,
}

/// Memory of setup.
#[derive(Default)]
struct SetupScratch {
    vertices: Vec<project::ProjectedVertex>,
    triangles: Box<triangle_batch::TriangleBatch>,
    lines: Box<line_batch::LineBatch>,
    sorting: BinSorter,
}

/// Runs a chunk.
pub fn run(
    draw: FrontDraw<'_>,
    grid: &TileGrid,
    chunk: &DrawChunk,
    memory: &mut StageMemory,
    scratch: &mut FrontScratch,
    out: &mut ChunkOutput,
) {
    // SAFETY: the level is the host's own.
    unsafe { run_at_level(SimdLevel::detect())(draw, grid, chunk, memory, scratch, out) };
}

base::multiversion! {
    for Avx512 unsafe fn run_at_level(draw: FrontDraw<'_>, grid: &TileGrid, chunk: &DrawChunk, memory: &mut StageMemory, scratch: &mut FrontScratch,
        out: &mut ChunkOutput) {
        run_any(H::LEVEL, draw, grid, chunk, memory, scratch, out);
    }
    /// Sets up primitives of any kind one by one.
    unsafe fn set_up_one_by_one(builder: &mut PrimitiveBuilder<'_>, primitives: &[Assembled]) {
        for &(vertices, number) in primitives {
            builder.set_up_primitive(vertices, number);
        }
    }
}

impl PrimitiveBuilder<'_> {
    /// Sets up primitives of a batch one by one. It is not inlined, because it is large and has
    /// several callers.
    fn set_up_one_by_one(&mut self, primitives: &[Assembled]) {
        // SAFETY: the host has the level in which this code runs.
        unsafe { set_up_one_by_one(self.level)(self, primitives) };
    }
}

#[inline(always)]
fn run_any(
    level: SimdLevel,
    draw: FrontDraw<'_>,
    grid: &TileGrid,
    chunk: &DrawChunk,
    memory: &mut StageMemory,
    scratch: &mut FrontScratch,
    out: &mut ChunkOutput,
) {
    let FrontScratch { source, tessellation, geometry, mesh, setup } = scratch;
    let before = MeshSource::new(draw, chunk, mesh).map(LastStage::Mesh);
    let mut source = match before.or_else(|| stage_source(draw, chunk, tessellation, geometry)) {
        Some(source) => source,
        None => LastStage::Vertices(VertexSource::new(draw, chunk, source)),
    };
    // `any` means that a batch was set up; `known` means that setup has the batch's vertices.
    let (mut any, mut known, mut capture_target) = (false, false, chunk.capture_target);
    while source.advance(memory) {
        let batch = source.batch();
        draw.draw.queries.count_generated(batch.stream as usize, batch.primitives.len() as u64);
        capture::capture_batch(draw, &mut capture_target, &batch, out);
        if draw.draw.rasterized() != Some(batch.stream) {
            known &= batch.same_vertices;
            continue;
        }
        let batch = Batch { same_vertices: known && batch.same_vertices, ..batch };
        set_up(level, draw, grid, (&batch, !any), setup, out);
        out.taken += batch.primitives.len() as u32;
        (any, known) = (true, true);
        if out.bytes() > MAX_OUTPUT_BYTES {
            base::alloc::or_unwind(Err(base::alloc::OutOfMemory))
        }
    }
    if any {
        out.seal(&mut setup.sorting);
    }
}

/// The last source before setup.
enum LastStage<'a> {
    Vertices(VertexSource<'a, [u32; 3]>),
    Tessellation(TessellationSource<'a, [u32; 3]>),
    Geometry(GeometrySource<'a, VertexSource<'a, AdjacentVertices>>),
    GeometryOfPatches(GeometrySource<'a, TessellationSource<'a, AdjacentVertices>>),
    Mesh(MeshSource<'a>),
}

/// Makes a source after the vertex stage; `None` if the draw has no such stages.
#[inline(always)]
fn stage_source<'a>(
    draw: FrontDraw<'a>,
    chunk: &'a DrawChunk,
    tessellation: &'a mut Option<Box<tessellation::TessellationScratch<[u32; 3]>>>,
    geometry: &'a mut GeometryScratch,
) -> Option<LastStage<'a>> {
    let linkage = draw.linkage();
    let GeometryScratch { source, tessellation: patches, stage } = geometry;
    match (&linkage.tessellation, &linkage.geometry) {
        (None, None) => None,
        (Some(_), None) => TessellationSource::new(draw, chunk, tessellation).map(LastStage::Tessellation),
        (None, Some(_)) => {
            let vertices = VertexSource::new(draw, chunk, &mut **source.get_or_insert_default());
            GeometrySource::new(draw, vertices, stage).map(LastStage::Geometry)
        }
        (Some(_), Some(_)) => {
            let patches = TessellationSource::new(draw, chunk, patches)?;
            GeometrySource::new(draw, patches, stage).map(LastStage::GeometryOfPatches)
        }
    }
}

impl PrimitiveSource for LastStage<'_> {
    type Vertices = [u32; 3];

    #[inline(always)]
    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        match self {
            LastStage::Vertices(source) => source.advance(memory),
            LastStage::Tessellation(source) => source.advance(memory),
            LastStage::Geometry(source) => source.advance(memory),
            LastStage::GeometryOfPatches(source) => source.advance(memory),
            LastStage::Mesh(source) => source.advance(memory),
        }
    }

    #[inline(always)]
    fn batch(&self) -> Batch<'_> {
        match self {
            LastStage::Vertices(source) => source.batch(),
            LastStage::Tessellation(source) => source.batch(),
            LastStage::Geometry(source) => source.batch(),
            LastStage::GeometryOfPatches(source) => source.batch(),
            LastStage::Mesh(source) => source.batch(),
        }
    }
}

/// Clips, culls, sets up and bins a batch; `first` means that it is the first of its chunk.
#[inline(always)]
fn set_up(
    level: SimdLevel,
    draw: FrontDraw<'_>,
    grid: &TileGrid,
    (batch, first): (&Batch<'_>, bool),
    scratch: &mut SetupScratch,
    out: &mut ChunkOutput,
) {
    let queries = &draw.draw.queries;
    queries.count(statistic::CLIPPING_INVOCATIONS, batch.primitives.len() as u64);
    project::finish(draw, batch, &mut scratch.vertices);
    if !batch.same_vertices {
        scratch.triangles.vertex_values.invalidate();
    }
    let (shaded, records, vertices) = (batch.shaded, batch.records, &*scratch.vertices);
    let count = if batch.written.is_some() { 0 } else { batch.vertices };
    let mut builder = PrimitiveBuilder {
        level,
        draw,
        grid,
        shaded,
        records,
        vertices,
        count,
        out,
        leaving: 0,
        phase: StipplePhase::NONE,
    };
    let state = &draw.draw.state;
    if state.line_stipple.is_some() && state.has_special_lines(draw.plan.topology) {
        builder.set_up_stippled_lines(batch, first);
    } else if builder.is_filled() {
        builder.set_up_triangles(batch, &mut scratch.triangles);
    } else if builder.is_line_batch() {
        builder.set_up_lines(batch, &mut scratch.lines);
    } else {
        builder.set_up_one_by_one(batch.primitives);
    }
    queries.count(statistic::CLIPPING_PRIMITIVES, builder.leaving);
}
