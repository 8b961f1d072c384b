//! Vertices of a chunk: index fetch with reuse, attribute fetch, shading.
//!
//! Vertices are numbered in order of first use, so the batch that a chunk shades never depends on
//! other chunks.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::assemble::{Patch, read_index};
use super::link::{AttributeFetch, FetchKind};
use super::plan::FrontDraw;
use super::soa_fetch;
use super::stream::{BATCH_PRIMITIVES, MAX_PATCHES};
use crate::api::Draw;
use crate::stages::NO_SLOT;
use base::abi::{SlotLayout, VertexBatch};
use base::format::kernels;
use base::host::prefetch;
use base::partial_range::PartialRange;
use execution::{AlignedBuf, StageMemory};

/// Number of entries of the reuse table. It exceeds the vertices of a chunk, usually more than
/// twice, and is small enough for the first-level cache.
const TABLE: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 11;

/// Number of bytes by which prefetches of consecutive elements lead the fetch, because hardware
/// prefetchers stop at the end of a page.
const PREFETCH_DISTANCE: u64 = 3 << 10;
/// Largest stride in bytes of elements that are prefetched.
const MAX_PREFETCHED_STRIDE: u64 = 64;

/// A table that finds the local number of a vertex index within a range of primitives.
pub struct VertexReuseTable {
    /// Entries of index, epoch and local number.
    table: Box<[(u32, u16, u16); TABLE]>,
    epoch: u16,
}

impl Default for VertexReuseTable {
    fn default() -> Self {
        VertexReuseTable { table: Box::new([(0, 0, 0); TABLE]), epoch: 0 }
    }
}

const _: () = assert!(MAX_PATCHES as usize * Patch::MAX_VERTICES * 2 <= TABLE);
const _: () = assert!(3 * BATCH_PRIMITIVES as usize * 2 < TABLE && 6 * (BATCH_PRIMITIVES as usize) < TABLE);

impl VertexReuseTable {
    /// Removes all entries, because a new range of primitives begins.
    pub fn restart(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.table.fill((0, 0, 0));
            self.epoch = 1;
        }
    }

    /// Returns the local number of `index`, which is `next` if the index is new. `next` is at most
    /// six for each primitive of the chunk, or 32 for each of [`MAX_PATCHES`].
    #[inline(always)]
    pub fn find(&mut self, index: u32, next: u32) -> u32 {
        let mut at = base::hash::hash_u32(index, TABLE_BITS) % TABLE;
        loop {
            let entry = &mut self.table[at];
            if entry.1 != self.epoch {
                *entry = (index, self.epoch, next as u16);
                return next;
            }
            if entry.0 == index {
                return u32::from(entry.2);
            }
            at = (at + 1) % TABLE;
        }
    }
}

/// Returns the `VertexIndex` of a position in the draw's vertex or index stream.
#[inline]
pub fn vertex_index(draw: &Draw, position: u32) -> u32 {
    match &draw.index_buffer {
        None => draw.counts.first.wrapping_add(position),
        Some(indices) => {
            let at = u64::from(draw.counts.first) + u64::from(position);
            read_index(indices, at).wrapping_add_signed(draw.counts.vertex_offset)
        }
    }
}

/// Vertices to shade, with their inputs and outputs.
#[derive(Default)]
pub struct VertexShading {
    /// `VertexIndex` by local vertex number.
    vertex_index: Vec<u32>,
    /// `InstanceIndex` by local vertex number.
    instance_index: Vec<u32>,
    inputs: AlignedBuf,
    outputs: AlignedBuf,
}

impl VertexShading {
    /// Removes all vertices.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.vertex_index.clear();
        self.instance_index.clear();
    }

    /// Appends vertices of an instance and returns the number of the first.
    #[inline(always)]
    pub fn push(&mut self, vertices: &[u32], instance_index: u32) -> u32 {
        let first = self.vertex_index.len() as u32;
        self.vertex_index.extend_from_slice(vertices);
        self.instance_index.resize(self.vertex_index.len(), instance_index);
        first
    }

    /// Returns the number of vertices; after [`shade`] it includes the padding to whole chunks.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.vertex_index.len()
    }

    /// Returns the outputs of shaded vertices.
    #[inline(always)]
    pub fn outputs(&self, layout: SlotLayout) -> &[u32] {
        self.outputs.as_words(layout.words(self.count()))
    }
}

/// Fetches the attributes of the vertices and shades them.
#[inline(always)]
pub fn shade(front_draw: FrontDraw<'_>, memory: &mut StageMemory, front: &mut VertexShading) {
    let (draw, linkage) = (front_draw.draw, front_draw.linkage());
    let (stage, layout) = (draw.stages.first(), linkage.inputs);
    let count = front.vertex_index.len();
    let padded = layout.padded(count);
    let last = (front.vertex_index[count - 1], front.instance_index[count - 1]);
    front.vertex_index.resize(padded, last.0);
    front.instance_index.resize(padded, last.1);
    let inputs = front.inputs.words(layout.words(count));
    for &slot in &front_draw.plan.fetch.unfed {
        clear_slot(inputs, layout, slot, count);
    }
    let first_instance = draw.counts.first_instance;
    for attribute in &front_draw.plan.fetch.fetch {
        let buffer = draw.vertex_buffers.get(attribute.binding as usize).unwrap_or(&PartialRange::NULL);
        let out = Scatter { inputs, layout, to: attribute.slots };
        match attribute.divisor {
            None => fetch(attribute, buffer, &front.vertex_index, u64::from, out),
            Some(0) => fetch(attribute, buffer, &front.instance_index, |_| u64::from(first_instance), out),
            Some(1) => fetch(attribute, buffer, &front.instance_index, u64::from, out),
            Some(d) => {
                let element = |i: u32| u64::from(first_instance) + u64::from(i.wrapping_sub(first_instance) / d);
                fetch(attribute, buffer, &front.instance_index, element, out);
            }
        }
    }
    let mut batch = VertexBatch {
        header: memory.header(stage),
        count: count as u32,
        _pad: 0,
        vertex_index: front.vertex_index.as_ptr(),
        instance_index: front.instance_index.as_ptr(),
        inputs: inputs.as_ptr(),
        outputs: front.outputs.words(linkage.outputs.words(count)).as_mut_ptr(),
    };
    // SAFETY: all buffers are padded to whole chunks and sized by the stage's interface; the icd
    // guarantees that stage and context are valid.
    unsafe { stage.run(&draw.context, (&raw mut batch).cast()) };
}

fn clear_slot(inputs: &mut [u32], layout: SlotLayout, slot: u16, vertices: usize) {
    for chunk in 0..layout.chunks(vertices) {
        let first = layout.row(chunk, usize::from(slot)) * layout.lanes();
        inputs[first..first + layout.lanes()].fill(0);
    }
}

/// The destination of an attribute's components.
struct Scatter<'a> {
    inputs: &'a mut [u32],
    layout: SlotLayout,
    to: [u16; 4],
}

impl Scatter<'_> {
    #[inline(always)]
    fn put(&mut self, v: usize, texel: [u32; 4]) {
        let base = self.layout.item(v);
        for (slot, value) in self.to.into_iter().zip(texel) {
            if slot != NO_SLOT {
                self.inputs[base + self.layout.slot(usize::from(slot))] = value;
            }
        }
    }
}

/// A conversion of elements of `N` words.
trait ElementConversion<const N: usize> {
    /// Returns the components of an element.
    fn components(&self, words: [u32; N]) -> [u32; 4];
}

/// A conversion of `N` 32-bit channels; the missing ones are 0, 0, `one`.
struct Raw32 {
    one: u32,
}

impl<const N: usize> ElementConversion<N> for Raw32 {
    #[inline(always)]
    fn components(&self, words: [u32; N]) -> [u32; 4] {
        let mut texel = [0, 0, 0, if N < 4 { self.one } else { 0 }];
        for (i, word) in words.into_iter().enumerate() {
            texel[i] = word;
        }
        texel
    }
}

/// A conversion of four bytes that are unsigned normalised numbers.
struct Unorm8x4;

impl ElementConversion<1> for Unorm8x4 {
    #[inline(always)]
    fn components(&self, [word]: [u32; 1]) -> [u32; 4] {
        let unorm = |shift: u32| ((word >> shift & 0xff) as f32 / 255.0).to_bits();
        [unorm(0), unorm(8), unorm(16), unorm(24)]
    }
}

/// The places of an attribute's elements.
struct AttributeElements<'a, F> {
    buffer: &'a PartialRange,
    stride: u64,
    offset: u64,
    /// Vertex or instance numbers, padded to whole chunks.
    numbers: &'a [u32],
    /// Function from a number to its element.
    element: F,
}

impl<F: Fn(u32) -> u64> AttributeElements<'_, F> {
    #[inline(always)]
    fn at(&self, number: u32) -> u64 {
        (self.element)(number) * self.stride + self.offset
    }

    /// Returns true if all elements of `bytes` bytes lie inside of the buffer.
    #[inline(always)]
    fn inside(&self, bytes: u64) -> bool {
        let mut last = 0;
        for &n in self.numbers {
            last = last.max((self.element)(n));
        }
        let end = last.checked_mul(self.stride).and_then(|at| at.checked_add(self.offset + bytes));
        let min = || self.numbers.iter().map(|&n| self.at(n)).min().unwrap_or(0);
        end.is_some_and(|end| self.buffer.contains_bytes(min, end))
    }

    /// Returns the first `BYTES` bytes of a number's element if memory backs all of them, and zeros
    /// otherwise.
    #[inline(always)]
    fn bytes<const BYTES: usize>(&self, number: u32) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        self.copy(number, &mut out);
        out
    }

    /// Copies the first bytes of a number's element if memory backs all of them; otherwise leaves
    /// `out` unchanged.
    #[inline(always)]
    fn copy(&self, number: u32, out: &mut [u8]) {
        if let Some(bytes) = self.buffer.exact(self.at(number), out.len() as u64) {
            // SAFETY: the icd guarantees the buffer's parts, and `exact` checked that the bytes lie
            // inside of one.
            unsafe { core::ptr::copy_nonoverlapping(bytes.address.cast_const(), out.as_mut_ptr(), out.len()) };
        }
    }

    /// Fetches elements of `N` words (`BYTES` = 4 N).
    #[inline(always)]
    fn fetch<const N: usize, const BYTES: usize>(&self, convert: &impl ElementConversion<N>, out: &mut Scatter<'_>) {
        if out.layout.lanes() == 8 && self.inside(BYTES as u64) {
            // SAFETY: `inside` checked that all elements lie inside of the buffer.
            return unsafe { self.fetch_chunks(convert, out) };
        }
        for (v, &n) in self.numbers.iter().enumerate() {
            let raw = self.bytes::<BYTES>(n);
            let mut words = [0; N];
            for (i, word) in words.iter_mut().enumerate() {
                *word = u32::from_le_bytes([raw[4 * i], raw[4 * i + 1], raw[4 * i + 2], raw[4 * i + 3]]);
            }
            out.put(v, convert.components(words));
        }
    }

    /// Fetches elements of `N` words for eight vertices at a time.
    ///
    /// # Safety
    /// All elements lie inside of the buffer.
    #[inline(always)]
    unsafe fn fetch_chunks<const N: usize>(&self, convert: &impl ElementConversion<N>, out: &mut Scatter<'_>) {
        for (chunk, numbers) in self.numbers.chunks_exact(8).enumerate() {
            if self.stride <= MAX_PREFETCHED_STRIDE && numbers[7].wrapping_sub(numbers[0]) == 7 {
                let first = self.buffer.address().wrapping_add((self.at(numbers[0]) + PREFETCH_DISTANCE) as usize);
                for at in (0..8 * self.stride as usize).step_by(64) {
                    prefetch(first.wrapping_add(at));
                }
            }
            let mut at = [core::ptr::null(); 8];
            for i in 0..8 {
                at[i] = self.buffer.address().wrapping_add(self.at(numbers[i]) as usize).cast_const();
            }
            // SAFETY: all elements lie inside of the buffer (`# Safety`).
            let words = unsafe { soa_fetch::fetch_transposed::<N>(at) };
            let mut rows = [[0; 8]; 4];
            for i in 0..8 {
                let mut element = [0; N];
                for w in 0..N {
                    element[w] = words[w][i];
                }
                let texel = convert.components(element);
                for c in 0..4 {
                    rows[c][i] = texel[c];
                }
            }
            for c in 0..4 {
                if out.to[c] != NO_SLOT {
                    let first = out.layout.row(chunk, usize::from(out.to[c])) * 8;
                    out.inputs[first..first + 8].copy_from_slice(&rows[c]);
                }
            }
        }
    }
}

#[inline(always)]
fn fetch(
    attribute: &AttributeFetch,
    buffer: &PartialRange,
    numbers: &[u32],
    element: impl Fn(u32) -> u64,
    mut out: Scatter<'_>,
) {
    let elements = AttributeElements {
        buffer,
        stride: u64::from(attribute.stride),
        offset: u64::from(attribute.offset),
        numbers,
        element,
    };
    let raw = Raw32 { one: if attribute.format.is_integer() { 1 } else { 1f32.to_bits() } };
    match attribute.kind {
        FetchKind::Raw32(1) => elements.fetch::<1, 4>(&raw, &mut out),
        FetchKind::Raw32(2) => elements.fetch::<2, 8>(&raw, &mut out),
        FetchKind::Raw32(3) => elements.fetch::<3, 12>(&raw, &mut out),
        FetchKind::Raw32(_) => elements.fetch::<4, 16>(&raw, &mut out),
        FetchKind::Unorm8x4 => elements.fetch::<1, 4>(&Unorm8x4, &mut out),
        FetchKind::Generic => {
            let bytes = (attribute.bytes as usize).min(16);
            let unpack = kernels(attribute.format).unpack_one;
            for (v, &n) in numbers.iter().enumerate() {
                let mut raw = [0u8; 16];
                elements.copy(n, &mut raw[..bytes]);
                out.put(v, unpack(&raw));
            }
        }
    }
}
