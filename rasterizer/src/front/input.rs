//! The source of a draw without further stages: input assembly and the vertex stage.

#![forbid(unsafe_code)]

use super::plan::{Chunk, FrontDraw};
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, Shaded, Source};
use super::vertex::{Reuse, Shading, shade, vertex_index};
use crate::api::statistic;
use crate::stage::{StageMemory, aborted};

/// Assembled ranges that a worker remembers.
const ASSEMBLIES: usize = 8;

/// An assembled range of a draw's primitives: the same for every instance.
#[derive(Default)]
struct Assembly {
    /// `Plan::serial` and the first primitive; the draw's chunks have the same first primitives in every instance.
    key: (u64, u32),
    /// Local vertex numbers and `PrimitiveId`s.
    primitives: Vec<Assembled>,
    /// `VertexIndex` by local number.
    vertices: Vec<u32>,
}

/// Memory of the source.
#[derive(Default)]
pub struct Scratch {
    reuse: Reuse,
    assemblies: [Assembly; ASSEMBLIES],
    /// The chunk's primitives.
    assembled: Vec<Assembled>,
    shading: Shading,
}

/// The primitives of a chunk, which are one batch.
pub struct VertexSource<'a> {
    draw: FrontDraw<'a>,
    chunk: &'a Chunk,
    scratch: &'a mut Scratch,
    done: bool,
}

impl<'a> VertexSource<'a> {
    /// At the chunk's beginning.
    #[inline(always)]
    pub fn new(draw: FrontDraw<'a>, chunk: &'a Chunk, scratch: &'a mut Scratch) -> VertexSource<'a> {
        VertexSource { draw, chunk, scratch, done: false }
    }

    /// Lists the primitives of the chunk and its distinct vertices.
    #[inline(always)]
    fn assemble(&mut self) {
        let (draw, chunk, scratch) = (self.draw, self.chunk, &mut *self.scratch);
        let shading = &mut scratch.shading;
        shading.clear();
        scratch.assembled.clear();
        let number = (chunk.primitive / BATCH_PRIMITIVES) as usize % ASSEMBLIES;
        let assembly = &mut scratch.assemblies[number];
        let key = (draw.plan.serial, chunk.primitive);
        if assembly.key != key {
            assembly.assemble(draw, chunk, &mut scratch.reuse);
            assembly.key = key;
        }
        for instance in chunk.instance..chunk.instance + chunk.instances {
            let instance_index = draw.draw.counts.first_instance.wrapping_add(instance);
            let first = shading.push(&assembly.vertices, instance_index);
            let moved = |&(local, id): &Assembled| (local.map(|v| first + v), id);
            scratch.assembled.extend(assembly.primitives.iter().map(moved));
        }
    }
}

impl Source for VertexSource<'_> {
    #[inline(always)]
    fn next(&mut self, memory: &mut StageMemory) -> Option<Batch<'_>> {
        if core::mem::replace(&mut self.done, true) {
            return None;
        }
        self.assemble();
        let (draw, shading) = (self.draw, &mut self.scratch.shading);
        let primitives = &*self.scratch.assembled;
        if primitives.is_empty() || aborted(&draw.draw.context) {
            return None;
        }
        let vertices = shading.count();
        shade(draw.draw, &draw.plan.linkage, memory, shading);
        draw.draw.queries.count(statistic::VERTEX_INVOCATIONS, vertices as u64);
        draw.draw.queries.count(statistic::PRIMITIVES, primitives.len() as u64);
        let layout = draw.plan.linkage.outputs;
        let shaded = Shaded { outputs: shading.outputs(layout), layout };
        Some(Batch { primitives, shaded, vertices })
    }
}

impl Assembly {
    /// One instance of the chunk's primitives.
    fn assemble(&mut self, draw: FrontDraw<'_>, chunk: &Chunk, reuse: &mut Reuse) {
        self.primitives.clear();
        self.vertices.clear();
        reuse.restart();
        let (topology, last) = (draw.draw.state.topology, draw.draw.state.provoking_last);
        let vertices = |i: u32| if last { topology.vertices_last_first(i) } else { topology.vertices(i) };
        let end = chunk.primitive + chunk.primitives;
        if let (None, Some(n)) = (&draw.draw.index_buffer, topology.list()) {
            // Every vertex is another one.
            let first = chunk.primitive * n;
            self.vertices.extend((first..end * n).map(|p| vertex_index(draw.draw, p)));
            self.primitives.extend((chunk.primitive..end).map(|id| (vertices(id).map(|p| p - first), id)));
            return;
        }
        let first_segment = draw.plan.segments.partition_point(|s| s.base + s.primitives <= chunk.primitive);
        for segment in draw.plan.segments[first_segment..].iter().take_while(|s| s.base < end) {
            let from = chunk.primitive.max(segment.base);
            for id in from..end.min(segment.base + segment.primitives) {
                let positions = vertices(id - segment.base);
                let mut local = [0; 3];
                for (local, p) in local.iter_mut().zip(positions) {
                    let index = vertex_index(draw.draw, segment.first + p);
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
