//! The front end: one chunk of primitives, taken whole by one worker.
//!
//! A [`Chunk`] names a range of instances and primitives of one draw; [`run`] fills a [`ChunkOutput`] with set-up primitives
//! and sorted (node, primitive) pairs (see [`bins`]). Nothing is allocated per primitive: the output's vectors are reused.

pub mod assemble;
pub mod bins;
mod clip;
mod filled;
pub mod line;
pub mod link;
mod post;
mod primitive;
pub mod setup;
pub mod vertex;
pub mod viewport;

use crate::api::Draw;
use crate::engine::Worker;
use crate::mem::AlignedBuf;
use crate::scene::SceneDraw;
use base::abi::FragmentPrimitive;
use base::host::Level;
use line::{LinePrim, Phase};
use setup::{Edge, Shaded};
use std::sync::atomic::{AtomicU64, Ordering};
use viewport::Screen;

/// Tiles are 64×64 pixels.
pub const TILE_SHIFT: u32 = 6;
/// Primitives a chunk holds.
pub const CHUNK_PRIMITIVES: u32 = 256;

/// Bits of `VkQueryPipelineStatisticFlagBits` that draws count.
pub mod statistic {
    /// Input assembly vertices.
    pub const VERTICES: usize = 0;
    /// Input assembly primitives.
    pub const PRIMITIVES: usize = 1;
    /// Vertex shader invocations.
    pub const VERTEX_INVOCATIONS: usize = 2;
    /// Primitives that reach clipping.
    pub const CLIPPING_INVOCATIONS: usize = 5;
    /// Primitives that leave clipping.
    pub const CLIPPING_PRIMITIVES: usize = 6;
    /// Fragment shader invocations.
    pub const FRAGMENT_INVOCATIONS: usize = 7;
}

/// Adds to a statistic of a draw, if it is counted.
pub fn count(draw: &Draw, bit: usize, n: u64) {
    if let Some(statistics) = &draw.queries.statistics {
        let counter: &AtomicU64 = &statistics[bit];
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

/// Tile grid of a render pass.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Tiles in x and y.
    pub tiles: [u32; 2],
    /// Layers.
    pub layers: u32,
    /// Rasterization samples.
    pub samples: u32,
}

/// A set-up primitive.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Prim {
    /// What the fragment stage sees. First, so that a quad's pointer to it also finds the rest.
    pub shade: FragmentPrimitive,
    /// Half planes.
    pub edges: [Edge; 4],
    /// How many of them.
    pub edge_count: u32,
    /// Index of its first attribute row until `shade.attributes` is set.
    pub first_attribute: u32,
    /// Pixels it may touch: x0, y0, x1, y1, never empty.
    pub rect: [i32; 4],
    /// Clamp of fragment depth.
    pub depth_range: [f32; 2],
    /// Pixels it covers, bit `4*j + i` is pixel (i, j) from the rectangle's corner on; 0 when it is larger than 4×4, or has more than one
    /// sample per pixel.
    pub pixels: u32,
}

/// A range of primitives of one draw.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Draw number in the scene.
    pub draw: u32,
    /// First instance (from 0) and how many.
    pub instance: u32,
    /// See `instance`.
    pub instances: u32,
    /// Primitives of each of these instances.
    pub primitive: u32,
    /// See `primitive`.
    pub primitives: u32,
}

/// What a chunk leaves for the tiles.
#[derive(Default)]
pub struct ChunkOutput {
    /// Set-up primitives.
    pub prims: Vec<Prim>,
    /// Attribute rows, and one more.
    pub attributes: Vec<[u32; 3]>,
    /// `node << 32 | primitive`, sorted.
    pub bins: Vec<u64>,
    /// One for every primitive of a draw with [`crate::api::DrawState::lines_are_special`], else none.
    pub lines: Vec<LinePrim>,
    /// Stipple counter at the end.
    pub phase: Phase,
}

// SAFETY: the pointers in `prims` point into `attributes` of the same output (or are null); it is filled by one worker and
// then only read.
unsafe impl Send for ChunkOutput {}
// SAFETY: as above.
unsafe impl Sync for ChunkOutput {}

impl ChunkOutput {
    /// Bytes in use, with those of what `tile::runs` makes of the bins at most.
    pub fn bytes(&self) -> usize {
        const RUN: usize = size_of::<u64>() + size_of::<crate::tile::runs::Run>() + size_of::<(u32, u32)>();
        size_of_val(&*self.prims) + size_of_val(&*self.attributes) + size_of_val(&*self.lines) + self.bins.len() * RUN
    }

    /// Bytes allocated.
    pub fn capacity(&self) -> usize {
        self.prims.capacity() * size_of::<Prim>()
            + self.attributes.capacity() * size_of::<[u32; 3]>()
            + self.bins.capacity() * size_of::<u64>()
            + self.lines.capacity() * size_of::<LinePrim>()
    }

    /// Empties it, keeping the capacity.
    pub fn clear(&mut self) {
        self.prims.clear();
        self.attributes.clear();
        self.bins.clear();
        self.lines.clear();
        self.phase = Phase::NONE;
    }

    /// Points the primitives at their attributes and sorts the bins; nothing may be pushed afterwards.
    fn seal(&mut self) {
        // The fragment stage reads a row and four bytes more.
        self.attributes.push([0; 3]);
        for prim in &mut self.prims {
            prim.shade.attributes = self.attributes[prim.first_attribute as usize..].as_ptr();
        }
        self.bins.sort_unstable();
    }
}

/// A shaded vertex, ready for assembly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vertex {
    /// Clip coordinates.
    pub position: [f32; 4],
    /// Projection, unless [`viewport::code::UNPROJECTED`].
    pub screen: Screen,
    /// See [`viewport::code`].
    pub codes: u32,
    /// Viewport of `screen` and `codes`.
    pub viewport: u32,
}

/// Assembled ranges that a worker remembers.
const ASSEMBLIES: usize = 8;

/// An assembled range of a draw's primitives: the same for every instance.
#[derive(Default)]
struct Assembly {
    /// [`SceneDraw::serial`] and the first primitive; the draw's chunks have the same first primitives in every instance.
    key: (u64, u32),
    /// Local vertex numbers and `PrimitiveId`s.
    primitives: Vec<([u32; 3], u32)>,
    /// `VertexIndex` by local number.
    vertices: Vec<u32>,
}

/// Front-end memory of a worker.
#[derive(Default)]
pub struct Scratch {
    reuse: vertex::Reuse,
    assemblies: [Assembly; ASSEMBLIES],
    lanes: Box<filled::Lanes>,
    /// `VertexIndex` by local vertex number.
    pub vertex_index: Vec<u32>,
    /// `InstanceIndex`.
    pub instance_index: Vec<u32>,
    /// Stage inputs.
    pub inputs: AlignedBuf,
    /// Stage outputs.
    pub outputs: AlignedBuf,
    /// Local vertex numbers of the chunk's primitives and their `PrimitiveId`s.
    assembled: Vec<([u32; 3], u32)>,
    vertices: Vec<Vertex>,
}

/// Runs a chunk.
pub fn run(draw: &SceneDraw, grid: &Grid, chunk: &Chunk, worker: &mut Worker, out: &mut ChunkOutput) {
    // SAFETY: the host's own level.
    unsafe { run_of(Level::here())(draw, grid, chunk, worker, out) };
}

base::compiled! {
    unsafe fn run_of(draw: &SceneDraw, grid: &Grid, chunk: &Chunk, worker: &mut Worker, out: &mut ChunkOutput) {
        run_any(draw, grid, chunk, worker, out);
    }
}

#[inline(always)]
fn run_any(draw: &SceneDraw, grid: &Grid, chunk: &Chunk, worker: &mut Worker, out: &mut ChunkOutput) {
    assemble_chunk(draw, chunk, &mut worker.front);
    if worker.front.assembled.is_empty() || crate::aborted(&draw.draw.context) {
        return;
    }
    let unique = worker.front.vertex_index.len();
    vertex::shade(&draw.draw, &draw.linkage, worker);
    let assembled = worker.front.assembled.len() as u64;
    count(&draw.draw, statistic::VERTEX_INVOCATIONS, unique as u64);
    count(&draw.draw, statistic::PRIMITIVES, assembled);
    if draw.draw.state.rasterizer_discard {
        return;
    }
    count(&draw.draw, statistic::CLIPPING_INVOCATIONS, assembled);
    let front = &mut worker.front;
    post::finish(draw, front, unique);
    let padded = front.vertex_index.len();
    let lanes = draw.draw.stages.vertex.lanes.max(1) as usize;
    let slots = draw.linkage.output_slots;
    let shaded = Shaded { outputs: front.outputs.as_words(padded * slots), slots, shift: lanes.trailing_zeros() };
    let phase = Phase::NONE;
    let mut builder = primitive::Builder { draw, grid, shaded, vertices: &front.vertices, out, leaving: 0, phase };
    if draw.draw.state.line_stipple.is_some() && draw.draw.state.lines_are_special() {
        builder.stippled(&front.assembled);
    } else if builder.is_filled() {
        builder.filled(&front.assembled, &mut front.lanes);
    } else {
        for &(vertices, id) in &front.assembled {
            builder.primitive(vertices, id);
        }
    }
    count(&draw.draw, statistic::CLIPPING_PRIMITIVES, builder.leaving);
    out.seal();
}

/// Lists the primitives of a chunk and its distinct vertices.
#[inline(always)]
fn assemble_chunk(draw: &SceneDraw, chunk: &Chunk, front: &mut Scratch) {
    front.vertex_index.clear();
    front.instance_index.clear();
    front.assembled.clear();
    let number = (chunk.primitive / CHUNK_PRIMITIVES) as usize % ASSEMBLIES;
    let assembly = &mut front.assemblies[number];
    let key = (draw.serial, chunk.primitive);
    if assembly.key != key {
        assembly.assemble(draw, chunk, &mut front.reuse);
        assembly.key = key;
    }
    for instance in chunk.instance..chunk.instance + chunk.instances {
        let first = front.vertex_index.len() as u32;
        front.vertex_index.extend_from_slice(&assembly.vertices);
        let instance_index = draw.draw.counts.first_instance.wrapping_add(instance);
        front.instance_index.resize(front.vertex_index.len(), instance_index);
        let moved = |&(local, id): &([u32; 3], u32)| (local.map(|v| first + v), id);
        front.assembled.extend(assembly.primitives.iter().map(moved));
    }
}

impl Assembly {
    /// One instance of the chunk's primitives.
    fn assemble(&mut self, draw: &SceneDraw, chunk: &Chunk, reuse: &mut vertex::Reuse) {
        self.primitives.clear();
        self.vertices.clear();
        reuse.restart();
        let topology = draw.draw.state.topology;
        let end = chunk.primitive + chunk.primitives;
        let first_segment = draw.segments.partition_point(|s| s.base + s.primitives <= chunk.primitive);
        for segment in draw.segments[first_segment..].iter().take_while(|s| s.base < end) {
            let from = chunk.primitive.max(segment.base);
            for id in from..end.min(segment.base + segment.primitives) {
                let positions = topology.vertices(id - segment.base);
                let mut local = [0; 3];
                for (local, p) in local.iter_mut().zip(positions) {
                    let index = vertex::vertex_index(&draw.draw, segment.first + p);
                    let next = self.vertices.len() as u32;
                    *local = reuse.find(index, next);
                    if *local == next {
                        self.vertices.push(index);
                    }
                }
                self.primitives.push((local, id));
            }
        }
    }
}
