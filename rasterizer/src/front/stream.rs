//! The stream of primitives between the stages that make them and setup.

#![forbid(unsafe_code)]

use crate::stage::{NO_SLOT, StageMemory};
use base::abi::SlotLayout;

/// Primitives a batch has at most; a chunk is a batch of its draw's primitives.
pub const BATCH_PRIMITIVES: u32 = 256;

/// Patches a chunk has at most.
pub const MOST_PATCHES: u32 = 16;

/// An assembled primitive: numbers of its vertices in the batch, for setup the provoking one first, and `PrimitiveId` (or [`Batch::records`]' number).
pub type Assembled<C = [u32; 3]> = (C, u32);

/// Some primitives with their vertices.
#[derive(Clone, Copy)]
pub struct Batch<'a, C = [u32; 3]> {
    /// All of these primitives are of this stream.
    pub stream: u32,
    /// At most [`BATCH_PRIMITIVES`].
    pub primitives: &'a [Assembled<C>],
    /// Which of them begin strips, where the source does not have the draw's own.
    pub begins: Option<&'a [bool]>,
    /// Their vertices.
    pub shaded: Shaded<'a>,
    /// What primitives have for themselves, where the numbers they come with are those of such records, and not their `PrimitiveId`s.
    pub records: Option<Shaded<'a>>,
    /// How many vertices there are.
    pub vertices: usize,
    /// Those that a stage has made, in any order, where the others are most and mean nothing.
    pub made: Option<&'a [u32]>,
    /// They are those of the batch before.
    pub seen: bool,
}

/// Where primitives come from: the vertex stage, or a stage that makes more or others of those of another source.
pub trait Source {
    /// The vertices of a primitive.
    type Corners;
    /// Makes the next batch in the place of the last one; `false` when there is none.
    fn advance(&mut self, memory: &mut StageMemory) -> bool;
    /// The batch that was made last. There must be one.
    fn batch(&self) -> Batch<'_, Self::Corners>;
}

/// Shaded vertices: the outputs of the last stage before the rasterizer.
#[derive(Clone, Copy)]
pub struct Shaded<'a> {
    /// Words.
    pub outputs: &'a [u32],
    /// Where they lie.
    pub layout: SlotLayout,
}

impl Shaded<'_> {
    /// Where slot 0 of a vertex lies.
    #[inline(always)]
    pub fn base(&self, vertex: usize) -> usize {
        self.layout.item(vertex)
    }
    /// Bits of a slot of the vertex whose slot 0 lies at `base`.
    #[inline(always)]
    pub fn slot(&self, base: usize, slot: u16) -> u32 {
        self.outputs[base + self.layout.slot(usize::from(slot))]
    }
    /// Some slots of the vertex whose slot 0 lies at `base`, of which `i` is [`SlotLayout::slot`] of `i` words behind the first.
    #[inline(always)]
    pub fn column(&self, base: usize, slot: u16, count: usize) -> &[u32] {
        let first = base + self.layout.slot(usize::from(slot));
        &self.outputs[first..first + self.layout.slot(count - 1) + 1]
    }
    /// A slot of the chunk of lanes that begins at a vertex.
    #[inline(always)]
    pub fn row(&self, first: usize, slot: u16) -> &[u32] {
        &self.outputs[self.layout.word(first, usize::from(slot))..][..self.layout.lanes()]
    }
    /// Bits of a slot of a vertex.
    #[inline(always)]
    pub fn get(&self, vertex: usize, slot: u16) -> u32 {
        self.slot(self.base(vertex), slot)
    }
    /// The same as a float; a missing slot is `default`.
    #[inline(always)]
    pub fn float(&self, vertex: usize, slot: u16, default: f32) -> f32 {
        if slot == NO_SLOT { default } else { f32::from_bits(self.get(vertex, slot)) }
    }
}
