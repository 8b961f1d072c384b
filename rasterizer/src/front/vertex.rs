//! Vertices of a chunk: index fetch with reuse, attribute fetch, shading.
//!
//! Vertices are numbered in order of first use, so the batch a chunk shades never depends on other chunks.

use super::assemble::{read, read_bytes, read_index};
use super::link::{AttributeFetch, FetchKind, Linkage, NO_SLOT};
use crate::api::{BufferRange, Draw};
use crate::engine::Worker;
use crate::surface::unpack_texel;
use base::abi::{BatchHeader, VertexBatch};

/// Slots of the reuse table; more than twice the vertices of a chunk, few enough for the first-level cache.
const TABLE: usize = 2048;

/// Finds the local number of a vertex index within the current instance.
pub struct Reuse {
    /// Index, epoch, local number.
    table: Box<[(u32, u16, u16); TABLE]>,
    epoch: u16,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse { table: Box::new([(0, 0, 0); TABLE]), epoch: 0 }
    }
}

const _: () = assert!(3 * super::CHUNK_PRIMITIVES as usize * 2 < TABLE);

impl Reuse {
    /// Forgets everything: a new instance or chunk begins.
    pub fn restart(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.table.fill((0, 0, 0));
            self.epoch = 1;
        }
    }

    /// The local number of `index`; `next` (at most three for each primitive of the chunk) if it is new.
    #[inline(always)]
    pub fn find(&mut self, index: u32, next: u32) -> u32 {
        let mut at = (index.wrapping_mul(0x9e37_79b1) >> 21) as usize % TABLE;
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

/// `VertexIndex` of a position in the draw's vertex or index stream.
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

/// Fetches attributes of and shades the vertices listed in `worker.front`; outputs go to `worker.front.outputs`.
#[inline(always)]
pub fn shade(draw: &Draw, linkage: &Linkage, worker: &mut Worker) {
    let stage = &draw.stages.vertex;
    let lanes = stage.lanes.max(1) as usize;
    let front = &mut worker.front;
    let count = front.vertex_index.len();
    let padded = count.next_multiple_of(lanes);
    let last = (front.vertex_index[count - 1], front.instance_index[count - 1]);
    front.vertex_index.resize(padded, last.0);
    front.instance_index.resize(padded, last.1);
    let inputs = front.inputs.words(padded * linkage.input_slots);
    for &slot in &linkage.unfed {
        fill_slot(inputs, linkage.input_slots, lanes, slot, padded);
    }
    let first_instance = draw.counts.first_instance;
    for attribute in &linkage.fetch {
        let null = BufferRange { address: core::ptr::null(), size: 0 };
        let buffer = draw.vertex_buffers.get(attribute.binding as usize).copied().unwrap_or(null);
        let out = Scatter { inputs, slots: linkage.input_slots, shift: lanes.trailing_zeros(), to: attribute.slots };
        match attribute.divisor {
            None => fetch(attribute, &buffer, &front.vertex_index, u64::from, out),
            Some(0) => fetch(attribute, &buffer, &front.instance_index, |_| u64::from(first_instance), out),
            Some(d) => {
                let element = |i: u32| u64::from(first_instance) + u64::from(i.wrapping_sub(first_instance) / d);
                fetch(attribute, &buffer, &front.instance_index, element, out);
            }
        }
    }
    let mut batch = VertexBatch {
        header: BatchHeader {
            scratch: worker.scratch.ensure(stage.scratch_bytes as usize),
            sink: worker.sink.ensure(64),
        },
        count: count as u32,
        _pad: 0,
        vertex_index: front.vertex_index.as_ptr(),
        instance_index: front.instance_index.as_ptr(),
        inputs: inputs.as_ptr(),
        outputs: front.outputs.words(padded * linkage.output_slots).as_mut_ptr(),
    };
    // SAFETY: all buffers are padded to whole chunks and sized by the stage's interface; the icd vouches for stage and context.
    unsafe { stage.run(&draw.context, (&raw mut batch).cast()) };
}

fn fill_slot(inputs: &mut [u32], slots: usize, lanes: usize, slot: u16, vertices: usize) {
    for v in 0..vertices {
        inputs[(v / lanes * slots + usize::from(slot)) * lanes + v % lanes] = 0;
    }
}

/// Where an attribute's components go.
struct Scatter<'a> {
    inputs: &'a mut [u32],
    slots: usize,
    shift: u32,
    to: [u16; 4],
}

impl Scatter<'_> {
    #[inline(always)]
    fn put(&mut self, v: usize, texel: [u32; 4]) {
        let base = (((v >> self.shift) * self.slots) << self.shift) + (v & ((1 << self.shift) - 1));
        for (slot, value) in self.to.into_iter().zip(texel) {
            if slot != NO_SLOT {
                self.inputs[base + (usize::from(slot) << self.shift)] = value;
            }
        }
    }
}

/// `N` words of `BYTES` = 4 N bytes; the rest is 0, 0, `one`.
#[inline(always)]
fn words<const N: usize, const BYTES: usize>(buffer: &BufferRange, offset: u64, one: u32) -> [u32; 4] {
    let raw = read::<BYTES>(buffer, offset);
    let mut texel = [0, 0, 0, if N < 4 { one } else { 0 }];
    for (i, word) in texel.iter_mut().enumerate().take(N) {
        *word = u32::from_le_bytes([raw[4 * i], raw[4 * i + 1], raw[4 * i + 2], raw[4 * i + 3]]);
    }
    texel
}

/// Calls of a closure are not inlined by the standard library's adapters into code for other features: loops instead.
#[inline(always)]
fn fetch_words<const N: usize, const BYTES: usize>(
    buffer: &BufferRange,
    numbers: &[u32],
    at: impl Fn(u32) -> u64,
    one: u32,
    out: &mut Scatter<'_>,
) {
    for (v, &n) in numbers.iter().enumerate() {
        out.put(v, words::<N, BYTES>(buffer, at(n), one));
    }
}

#[inline(always)]
fn fetch(
    attribute: &AttributeFetch,
    buffer: &BufferRange,
    numbers: &[u32],
    element: impl Fn(u32) -> u64,
    mut out: Scatter<'_>,
) {
    let at = |n: u32| element(n) * u64::from(attribute.stride) + u64::from(attribute.offset);
    let integer = attribute.format.is_integer();
    let one = if integer { 1 } else { 1f32.to_bits() };
    match attribute.kind {
        FetchKind::Raw32(1) => fetch_words::<1, 4>(buffer, numbers, at, one, &mut out),
        FetchKind::Raw32(2) => fetch_words::<2, 8>(buffer, numbers, at, one, &mut out),
        FetchKind::Raw32(3) => fetch_words::<3, 12>(buffer, numbers, at, one, &mut out),
        FetchKind::Raw32(_) => fetch_words::<4, 16>(buffer, numbers, at, one, &mut out),
        FetchKind::Unorm8x4 => {
            for (v, &n) in numbers.iter().enumerate() {
                let [r, g, b, a] = read::<4>(buffer, at(n));
                let unorm = |b: u8| (f32::from(b) / 255.0).to_bits();
                out.put(v, [unorm(r), unorm(g), unorm(b), unorm(a)]);
            }
        }
        FetchKind::Generic => {
            let bytes = (attribute.bytes as usize).min(16);
            for (v, &n) in numbers.iter().enumerate() {
                let mut raw = [0u8; 16];
                read_bytes(buffer, at(n), &mut raw[..bytes]);
                out.put(v, unpack_texel(attribute.format, &raw));
            }
        }
    }
}
