//! The first source of every draw: input assembly and the vertex stage.

#![forbid(unsafe_code)]

use super::assemble::PrimitiveVertices;
use super::plan::{DrawChunk, FrontDraw};
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, PrimitiveSource, ShadedVertices};
use super::vertex::{VertexReuseTable, VertexShading, shade, vertex_index};
use crate::api::statistic;
use core::ops::Range;
use execution::{StageMemory, aborted};

/// Number of assembled ranges that a worker remembers.
const ASSEMBLIES: usize = 8;

/// An assembled range of a draw's primitives, which is the same for every instance.
struct Assembly<C> {
    /// `FrontPlan::serial` and the first primitive; the draw's chunks have the same first
    /// primitives in every instance.
    key: (u64, u32),
    /// Local vertex numbers and `PrimitiveId`s.
    primitives: Vec<Assembled<C>>,
    /// `VertexIndex` by local number.
    vertices: Vec<u32>,
}

impl<C> Default for Assembly<C> {
    fn default() -> Self {
        Assembly { key: (0, 0), primitives: Vec::new(), vertices: Vec::new() }
    }
}

/// Memory of the source.
pub struct AssemblyScratch<C> {
    reuse: VertexReuseTable,
    assemblies: [Assembly<C>; ASSEMBLIES],
    /// The chunk's primitives.
    assembled: Vec<Assembled<C>>,
    shading: VertexShading,
}

impl<C> Default for AssemblyScratch<C> {
    fn default() -> Self {
        let (reuse, assemblies) = (VertexReuseTable::default(), Default::default());
        AssemblyScratch { reuse, assemblies, assembled: Vec::new(), shading: VertexShading::default() }
    }
}

/// The primitives of a chunk, which are one batch, or several of one instance.
pub struct VertexSource<'a, C> {
    draw: FrontDraw<'a>,
    chunk: &'a DrawChunk,
    scratch: &'a mut AssemblyScratch<C>,
    /// First primitive of the next batch.
    next: u32,
    /// Number of vertices of the batch.
    vertices: usize,
}

impl<'a, C: PrimitiveVertices> VertexSource<'a, C> {
    /// Makes the source at the chunk's beginning.
    #[inline(always)]
    pub fn new(draw: FrontDraw<'a>, chunk: &'a DrawChunk, scratch: &'a mut AssemblyScratch<C>) -> VertexSource<'a, C> {
        VertexSource { draw, chunk, scratch, next: chunk.primitive, vertices: 0 }
    }

    /// Lists some of the chunk's primitives (of each instance) and their distinct vertices.
    #[inline(always)]
    fn assemble(&mut self, primitives: Range<u32>) {
        let (draw, chunk, scratch) = (self.draw, self.chunk, &mut *self.scratch);
        let shading = &mut scratch.shading;
        shading.clear();
        scratch.assembled.clear();
        let number = (primitives.start / BATCH_PRIMITIVES) as usize % ASSEMBLIES;
        let assembly = &mut scratch.assemblies[number];
        let key = (draw.plan.serial, primitives.start);
        if assembly.key != key {
            assembly.assemble(draw, primitives, &mut scratch.reuse);
            assembly.key = key;
        }
        for instance in chunk.instance..chunk.instance + chunk.instances {
            let instance_index = draw.draw.counts.first_instance.wrapping_add(instance);
            let first = shading.push(&assembly.vertices, instance_index);
            let moved = |&(mut local, id): &Assembled<C>| {
                for v in local.as_mut() {
                    *v += first;
                }
                (local, id)
            };
            scratch.assembled.extend(assembly.primitives.iter().map(moved));
        }
    }
}

impl<C: PrimitiveVertices> PrimitiveSource for VertexSource<'_, C> {
    type Vertices = C;

    #[inline(always)]
    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        let end = self.chunk.primitive + self.chunk.primitives;
        if self.next == end {
            return false;
        }
        let first = self.next;
        self.next = end.min(first + BATCH_PRIMITIVES);
        self.assemble(first..self.next);
        let (draw, shading) = (self.draw, &mut self.scratch.shading);
        let primitives = self.scratch.assembled.len();
        let vertices = if primitives == 0 { 0 } else { shading.count() };
        self.vertices = vertices;
        if vertices == 0 || aborted(&draw.draw.context) {
            return false;
        }
        shade(draw, memory, shading);
        draw.draw.queries.count(statistic::VERTEX_INVOCATIONS, vertices as u64);
        draw.draw.queries.count(statistic::PRIMITIVES, primitives as u64);
        true
    }

    #[inline(always)]
    fn batch(&self) -> Batch<'_, C> {
        let layout = self.draw.linkage().outputs;
        let shaded = ShadedVertices { outputs: self.scratch.shading.outputs(layout), layout };
        let (primitives, vertices) = (&*self.scratch.assembled, self.vertices);
        Batch {
            stream: 0,
            primitives,
            begins: None,
            shaded,
            records: None,
            vertices,
            written: None,
            same_vertices: false,
        }
    }
}

impl<C: PrimitiveVertices> Assembly<C> {
    /// Assembles one instance of some primitives.
    fn assemble(&mut self, draw: FrontDraw<'_>, primitives: Range<u32>, reuse: &mut VertexReuseTable) {
        self.primitives.clear();
        self.vertices.clear();
        reuse.restart();
        let Range { start, end } = primitives;
        let state = &*draw.draw.state;
        // All primitives of a list are the first one with an offset.
        let list = state.topology.list().map(|n| (n, C::from_topology(state, 0, 1)));
        let moved = |mut corners: C, by: u32| {
            corners.as_mut().iter_mut().for_each(|corner| *corner += by);
            corners
        };
        if let (None, Some((n, corners))) = (&draw.draw.index_buffer, list) {
            // All vertices are distinct.
            let first = start * n;
            let counted_from = draw.draw.counts.first;
            self.vertices.extend((first..end * n).map(|p| counted_from.wrapping_add(p)));
            self.primitives.extend((0..end - start).map(|i| (moved(corners, i * n), start + i)));
            return;
        }
        let first_segment = draw.plan.segments.partition_point(|s| s.base + s.primitives <= start);
        for segment in draw.plan.segments[first_segment..].iter().take_while(|s| s.base < end) {
            let from = start.max(segment.base);
            for id in from..end.min(segment.base + segment.primitives) {
                let i = id - segment.base;
                let mut corners = match list {
                    Some((n, corners)) => moved(corners, i * n),
                    None => C::from_topology(state, i, segment.primitives),
                };
                for corner in corners.as_mut() {
                    let index = vertex_index(draw.draw, segment.first + *corner);
                    let next = self.vertices.len() as u32;
                    *corner = reuse.find(index, next);
                    if *corner == next {
                        self.vertices.push(index);
                    }
                }
                self.primitives.push((corners, id));
            }
        }
    }
}
