//! The stream of primitives between the stages that make them and setup.

#![forbid(unsafe_code)]

use crate::stages::NO_SLOT;
use base::abi::SlotLayout;
use execution::StageMemory;

/// Largest number of primitives of a batch; a chunk is a batch of its draw's primitives.
pub const BATCH_PRIMITIVES: u32 = 256;

/// Largest number of patches of a chunk.
pub const MAX_PATCHES: u32 = 16;

/// An assembled primitive: the numbers of its vertices in the batch, and
/// `PrimitiveId` (or a number of [`Batch::records`]). For setup, the provoking vertex comes first.
pub type Assembled<C = [u32; 3]> = (C, u32);

/// Some primitives with their vertices.
#[derive(Clone, Copy)]
pub struct Batch<'a, C = [u32; 3]> {
    /// The stream of all of these primitives.
    pub stream: u32,
    /// The primitives, at most [`BATCH_PRIMITIVES`].
    pub primitives: &'a [Assembled<C>],
    /// Flags of the primitives that begin strips, if the source does not pass on the draw's own
    /// primitives.
    pub begins: Option<&'a [bool]>,
    /// The vertices of the primitives.
    pub shaded: ShadedVertices<'a>,
    /// Records of the primitives, if the numbers with which they come are those of records, and not
    /// their `PrimitiveId`s.
    pub records: Option<ShadedVertices<'a>>,
    /// Number of vertices.
    pub vertices: usize,
    /// Vertices that a stage has made, in any order, if most of the others have no meaning.
    pub written: Option<&'a [u32]>,
    /// True if the vertices are those of the batch before.
    pub same_vertices: bool,
}

/// A source of primitives: the vertex stage, or a stage that makes other primitives of those of
/// another source.
pub trait PrimitiveSource {
    /// The vertices of a primitive.
    type Vertices;
    /// Makes the next batch in place of the last one; returns false if there is none.
    fn advance(&mut self, memory: &mut StageMemory) -> bool;
    /// Returns the batch that was made last, which must exist.
    fn batch(&self) -> Batch<'_, Self::Vertices>;
}

/// Shaded vertices: the outputs of the last stage before the rasterizer.
#[derive(Clone, Copy)]
pub struct ShadedVertices<'a> {
    /// The words of all vertices.
    pub outputs: &'a [u32],
    /// Layout of the words.
    pub layout: SlotLayout,
}

impl ShadedVertices<'_> {
    /// Returns the position of slot 0 of a vertex.
    #[inline(always)]
    pub fn base(&self, vertex: usize) -> usize {
        self.layout.item(vertex)
    }
    /// Returns the bits of a slot of the vertex whose slot 0 is at `base`.
    #[inline(always)]
    pub fn slot(&self, base: usize, slot: u16) -> u32 {
        self.outputs[base + self.layout.slot(usize::from(slot))]
    }
    /// Returns `count` slots, from `slot` on, of the vertex whose slot 0 is at `base`; slot `i` of
    /// them is [`SlotLayout::slot`] of `i` words after the first.
    #[inline(always)]
    pub fn column(&self, base: usize, slot: u16, count: usize) -> &[u32] {
        let first = base + self.layout.slot(usize::from(slot));
        &self.outputs[first..first + self.layout.slot(count - 1) + 1]
    }
    /// Returns a slot of the chunk of lanes that begins at a vertex.
    #[inline(always)]
    pub fn row(&self, first: usize, slot: u16) -> &[u32] {
        &self.outputs[self.layout.word(first, usize::from(slot))..][..self.layout.lanes()]
    }
    /// Returns the bits of a slot of a vertex.
    #[inline(always)]
    pub fn get(&self, vertex: usize, slot: u16) -> u32 {
        self.slot(self.base(vertex), slot)
    }
    /// Returns a slot of a vertex as a float; a missing slot is `default`.
    #[inline(always)]
    pub fn float(&self, vertex: usize, slot: u16, default: f32) -> f32 {
        if slot == NO_SLOT { default } else { f32::from_bits(self.get(vertex, slot)) }
    }
}
