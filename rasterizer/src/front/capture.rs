//! Transform feedback: the captured outputs of a batch's vertices, written to buffers.
//!
//! A primitive's vertices are written in the order of its topology ("Transform Feedback" of the
//! specification). They are rotated so that the provoking vertex is the first, or the last if the
//! pipeline says so.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::non_temporal;
use super::plan::{CaptureTarget, FrontDraw};
use super::stream::{Assembled, Batch, ShadedVertices};
use super::vertex_order::vertex_order;
use crate::api::Draw;
use crate::feedback::{CaptureSpan, Feedback};
use crate::prim::ChunkOutput;
use base::limits::STREAMS;
use base::shader::{Capture, Captured};

/// Least number of captured bytes of a draw for which non-temporal stores are used; it is the size
/// of a large last-level cache.
const NON_TEMPORAL_BYTES: u64 = 16 << 20;

/// Returns what a draw captures, if transform feedback is active.
fn capture_of(draw: &Draw) -> Option<(&Feedback, &Capture)> {
    Some((draw.feedback.as_deref()?, draw.stages.before_rasterizer().info.capture.as_deref()?))
}

/// Returns the vertices of a primitive in the order in which they are written, as positions in
/// [`Assembled`].
fn order(draw: &Draw) -> &'static [usize] {
    vertex_order(draw.stages.topology(draw.state.topology).class(), draw.state.provoking_last)
}

/// Reserves the space of a chunk of so many primitives. Chunks must call this in their order.
pub fn capture_target(draw: &Draw, primitives: u32, later: bool) -> CaptureTarget {
    match capture_of(draw) {
        None => CaptureTarget::None,
        Some((feedback, _)) if later => {
            feedback.defer_span();
            CaptureTarget::AfterShading
        }
        // Primitives that no geometry stage has made belong to the first stream.
        Some((feedback, capture)) => CaptureTarget::Reserved(reserve(draw, feedback, capture, 0, primitives)),
    }
}

/// Reserves the space, by stream, of a chunk that has gone through the front end without it. Chunks
/// must call this in their order.
pub fn reserve_captured(draw: &Draw, output: &ChunkOutput) -> Option<[CaptureSpan; STREAMS]> {
    let (feedback, capture) = capture_of(draw)?;
    feedback.finish_deferred_span();
    Some(core::array::from_fn(|stream| {
        reserve(draw, feedback, capture, stream as u32, output.captured[stream].primitives)
    }))
}

fn reserve(draw: &Draw, feedback: &Feedback, capture: &Capture, stream: u32, primitives: u32) -> CaptureSpan {
    let span = feedback.reserve(capture, stream, order(draw).len() as u32, primitives);
    draw.queries.count_feedback(stream as usize, span.primitives, primitives);
    span
}

/// Returns the streams of a draw that have an effect, as bits: those whose primitives are captured,
/// counted or rasterized.
pub fn streams(draw: &Draw) -> u32 {
    let queries = &draw.queries;
    let seen = |stream: u32| {
        let number = stream as usize;
        let captured = |(_, capture): (_, &Capture)| capture.has(stream) || queries.feedback[number].is_some();
        draw.rasterized() == Some(stream)
            || queries.generated[number].is_some()
            || capture_of(draw).is_some_and(captured)
    };
    (0..STREAMS as u32).filter(|&stream| seen(stream)).fold(0, |bits, stream| bits | 1 << stream)
}

/// Writes a batch to its space, after which that of the next batch begins. If no space is reserved
/// yet, keeps the batch with the chunk's output.
#[inline(always)]
pub fn capture_batch(
    draw: FrontDraw<'_>,
    capture_target: &mut CaptureTarget,
    batch: &Batch<'_>,
    out: &mut ChunkOutput,
) {
    let Some((feedback, capture)) = capture_of(draw.draw) else { return };
    let order = order(draw.draw);
    match capture_target {
        CaptureTarget::None => {}
        CaptureTarget::Reserved(span) => {
            let count = batch.primitives.len().min(span.primitives as usize);
            let mut non_temporal = false;
            for run in capture.outputs_of_stream(batch.stream) {
                if let Some(mut to) = CaptureWriter::new(feedback, capture, run, *span, count * order.len()) {
                    to.non_temporal = is_non_temporal(draw.draw, run, &to);
                    non_temporal |= to.non_temporal;
                    write(&batch.primitives[..count], order, batch.shaded, run, to);
                }
            }
            if non_temporal {
                non_temporal::fence();
            }
            *span = span.after(capture, order.len() as u32, count as u32);
        }
        CaptureTarget::AfterShading => {
            let kept = &mut out.captured[batch.stream as usize];
            kept.primitives += batch.primitives.len() as u32;
            for (vertices, _) in batch.primitives {
                for &k in order {
                    let base = batch.shaded.base(vertices[k] as usize);
                    for run in capture.outputs_of_stream(batch.stream) {
                        let slots = run.slot..run.slot + run.words;
                        kept.words.extend(slots.map(|s| batch.shaded.slot(base, s as u16)));
                    }
                }
            }
        }
    }
}

/// Returns true if non-temporal stores should be used: the draw captures more than a cache keeps
/// until it is read, as lines without gaps.
#[inline(always)]
fn is_non_temporal(draw: &Draw, run: &Captured, to: &CaptureWriter) -> bool {
    let bytes = u64::from(draw.counts.count) * u64::from(draw.counts.instances) * to.stride as u64;
    let words = run.words as usize;
    bytes >= NON_TEMPORAL_BYTES && 4 * words == to.stride && words <= MAX_RUN_WORDS && to.next.addr().is_multiple_of(16)
}

/// Writes the kept output of a stream to its space.
pub fn write_captured(draw: &Draw, output: &ChunkOutput, stream: u32, span: CaptureSpan) {
    let Some((feedback, capture)) = capture_of(draw) else { return };
    let words: usize = capture.outputs_of_stream(stream).map(|run| run.words as usize).sum();
    let vertices = span.primitives as usize * order(draw).len();
    let mut first = 0;
    for run in capture.outputs_of_stream(stream) {
        let end = first + run.words as usize;
        if let Some(mut to) = CaptureWriter::new(feedback, capture, run, span, vertices) {
            for vertex in output.captured[stream as usize].words.chunks_exact(words).take(vertices) {
                to.put_all(&vertex[first..end]);
            }
        }
        first = end;
    }
}

/// The destination of a run of outputs, vertex by vertex.
#[derive(Clone)]
struct CaptureWriter {
    next: *mut u8,
    stride: usize,
    /// Number of remaining vertices that fit.
    left: usize,
    /// True if the run is whole vertices of whole quarters of cache lines, which are written with
    /// non-temporal stores.
    non_temporal: bool,
}

impl CaptureWriter {
    /// Makes the target of `vertices` vertices in a span; `None` if the buffer is not bound.
    #[inline(always)]
    fn new(
        feedback: &Feedback,
        capture: &Capture,
        run: &Captured,
        span: CaptureSpan,
        vertices: usize,
    ) -> Option<CaptureWriter> {
        let stride = capture.strides[run.buffer as usize];
        let bytes = u64::from(stride) * vertices as u64;
        let range = feedback.buffer(run.buffer).exact(span.at[run.buffer as usize].into(), bytes)?;
        let inside = run.offset + 4 * run.words <= stride;
        inside.then(|| CaptureWriter {
            next: range.address.wrapping_add(run.offset as usize),
            stride: stride as usize,
            left: vertices,
            non_temporal: false,
        })
    }

    /// Writes words of the next vertex, which end at the end of the run at the latest.
    #[inline(always)]
    fn put<const N: usize>(&mut self, words: [u32; N]) {
        if let Some(to) = self.step() {
            // SAFETY: the vertex lies inside of the buffer and the run inside of the vertex
            // (`new`), and the icd keeps the memory alive. No two vertices share space, and no
            // thread reads it without a barrier.
            unsafe { to.cast::<[u32; N]>().write_unaligned(words) };
        }
    }

    /// Writes four or eight words of the next vertex with non-temporal stores.
    #[inline(always)]
    fn put_non_temporal<const N: usize>(&mut self, words: [u32; N]) {
        if let Some(to) = self.step() {
            // SAFETY: the vertex lies inside of the buffer and the run inside of the vertex
            // (`new`); `take` calls `non_temporal::fence` before any other access.
            unsafe { non_temporal::store(to, words) };
        }
    }

    /// Writes any number of words of the next vertex, which end at the end of the run at the
    /// latest.
    #[inline(always)]
    fn put_all(&mut self, words: &[u32]) {
        if let Some(to) = self.step() {
            // SAFETY: the vertex lies inside of the buffer and the run inside of the vertex
            // (`new`), and no other thread accesses it.
            unsafe { core::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), to, size_of_val(words)) };
        }
    }

    #[inline(always)]
    fn step(&mut self) -> Option<*mut u8> {
        self.left = self.left.checked_sub(1)?;
        let next = self.next.wrapping_add(self.stride);
        Some(core::mem::replace(&mut self.next, next))
    }
}

/// Largest number of words of a run that are written at once.
const MAX_RUN_WORDS: usize = 8;

/// Writes a run of outputs of the vertices of primitives, in pieces of up to [`MAX_RUN_WORDS`]
/// words.
#[inline(always)]
fn write(primitives: &[Assembled], order: &[usize], shaded: ShadedVertices<'_>, run: &Captured, to: CaptureWriter) {
    let rows = shaded.layout.lanes() == LANES && is_sequential(primitives, order);
    let vertices = if rows { CaptureOrder::Sequential } else { CaptureOrder::Listed(primitives, order) };
    let (mut slot, mut to, mut left) = (run.slot as u16, to, run.words as usize);
    while left > 0 {
        let words = left.min(MAX_RUN_WORDS);
        let piece = to.clone();
        match words {
            1 => write_words::<1>(vertices, shaded, slot, piece),
            2 => write_words::<2>(vertices, shaded, slot, piece),
            3 => write_words::<3>(vertices, shaded, slot, piece),
            4 => write_words::<4>(vertices, shaded, slot, piece),
            5 => write_words::<5>(vertices, shaded, slot, piece),
            6 => write_words::<6>(vertices, shaded, slot, piece),
            7 => write_words::<7>(vertices, shaded, slot, piece),
            _ => write_words::<MAX_RUN_WORDS>(vertices, shaded, slot, piece),
        }
        slot += words as u16;
        to.next = to.next.wrapping_add(4 * words);
        left -= words;
    }
}

/// Number of lanes of a vertex stage's chunks.
const LANES: usize = 8;

/// The vertices that are written.
#[derive(Clone, Copy)]
enum CaptureOrder<'a> {
    /// All vertices from the batch's first one on, which is the order of lists without indices.
    Sequential,
    /// The vertices of primitives, in this order.
    Listed(&'a [Assembled], &'a [usize]),
}

/// Returns true if each vertex is written once, in the order in which the vertices were shaded.
#[inline(always)]
fn is_sequential(primitives: &[Assembled], order: &[usize]) -> bool {
    // (The patterns prove the bounds, so that no vertex needs a check.)
    match *order {
        [a @ 0..3] => in_order(primitives, [a]),
        [a @ 0..3, b @ 0..3] => in_order(primitives, [a, b]),
        [a @ 0..3, b @ 0..3, c @ 0..3] => in_order(primitives, [a, b, c]),
        _ => false,
    }
}

/// Examines all primitives, without a branch for each.
#[inline(always)]
fn in_order<const N: usize>(primitives: &[Assembled], order: [usize; N]) -> bool {
    let (mut next, mut others) = (0, 0);
    for (vertices, _) in primitives {
        for k in order {
            others |= vertices[k] ^ next;
            next += 1;
        }
    }
    others == 0
}

#[inline(always)]
fn write_words<const N: usize>(
    vertices: CaptureOrder<'_>,
    shaded: ShadedVertices<'_>,
    slot: u16,
    mut to: CaptureWriter,
) {
    match vertices {
        CaptureOrder::Sequential => {
            let chunks = to.left / LANES;
            let non_temporal = to.non_temporal && (N == 4 || N == 8);
            for chunk in 0..chunks {
                let first = shaded.layout.word(chunk * LANES, usize::from(slot));
                let rows = &shaded.outputs[first..first + N * LANES];
                let mut columns = [[0; N]; LANES];
                for i in 0..N {
                    for lane in 0..LANES {
                        columns[lane][i] = rows[i * LANES + lane];
                    }
                }
                for column in columns {
                    if non_temporal { to.put_non_temporal(column) } else { to.put(column) }
                }
            }
            for vertex in chunks * LANES..chunks * LANES + to.left {
                to.put(column::<N>(shaded, vertex, slot));
            }
        }
        CaptureOrder::Listed(primitives, order) => {
            for (vertices, _) in primitives {
                for &k in order {
                    to.put(column::<N>(shaded, vertices[k] as usize, slot));
                }
            }
        }
    }
}

/// Returns `N` slots of a vertex, from `slot` on.
#[inline(always)]
fn column<const N: usize>(shaded: ShadedVertices<'_>, vertex: usize, slot: u16) -> [u32; N] {
    let from = shaded.column(shaded.base(vertex), slot, N);
    let mut words = [0; N];
    for i in 0..N {
        words[i] = from[i * shaded.layout.lanes()];
    }
    words
}
