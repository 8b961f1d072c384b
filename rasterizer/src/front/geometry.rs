//! The geometry stage: a source over input assembly and the vertex stage, or over tessellation.
//!
//! A lane is an invocation of a primitive, in the order of primitives and of their invocations. The
//! primitives of all lanes, in the order of lanes, are therefore those of the stage. The stage
//! reads the vertices where the vertex stage left them. A call takes as many invocations as fill
//! [`CALL_BYTES`] or [`CALL_VERTICES`] with the vertices that they may make. Its results are passed
//! on in batches, as numbers of vertices, so that nothing is copied.

use super::capture;
use super::plan::FrontDraw;
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, PrimitiveSource, ShadedVertices};
use crate::api::statistic;
use crate::stages::{GeometryLink, NO_SLOT};
use base::abi::{PrimitiveBatch, SlotLayout};
use base::limits::STREAMS;
use base::shader::{CompiledStage, GeometryInfo, VertexMark};
use core::ops::Range;
use execution::{AlignedBuf, StageMemory, aborted};

/// Number of bytes of the vertices that a call may make, unless a single chunk of lanes takes more.
const CALL_BYTES: usize = 256 << 10;
/// Number of vertices that a call may make; setup needs further bytes for them.
const CALL_VERTICES: usize = 4096;

/// Made vertices are listed if there are rows for at least so many times as many.
const FEW: usize = 3;

/// The vertices of a primitive as the stage receives them.
pub type AdjacentVertices = [u32; 6];

/// Memory of the source.
#[derive(Default)]
pub struct GeometryStageScratch {
    calls: CallMemory,
    listed: StreamLists,
}

/// Memory of the calls of the stage.
#[derive(Default)]
struct CallMemory {
    /// Byte offsets of the primitives' vertices.
    vertices: AlignedBuf,
    primitive_id: AlignedBuf,
    invocation_id: AlignedBuf,
    outputs: AlignedBuf,
    counts: AlignedBuf,
    first_rows: AlignedBuf,
    /// Vertices that the last call has made, if they are few.
    written: Vec<u32>,
}

/// Primitives that were listed together, by stream.
type StreamLists = [PrimitiveList; STREAMS];

/// The primitives of a batch.
#[derive(Default)]
struct PrimitiveList {
    primitives: Vec<Assembled>,
    begins: Vec<bool>,
}

/// The result of the invocations of a call.
#[derive(Clone, Copy, Default)]
struct CallOutcome {
    /// Number of invocations.
    count: usize,
    /// Number of rows of vertices.
    rows: usize,
}

/// The position of the search for the next primitive: an invocation of the last call, its next
/// vertex, and the strips of its streams.
#[derive(Clone, Copy, Default)]
struct InvocationCursor {
    lane: usize,
    vertex: u32,
    /// Number of vertices of each stream's strip so far.
    lengths: [u32; STREAMS],
    /// The last three vertices of each stream.
    last: [[u32; 3]; STREAMS],
}

/// The primitives that a geometry stage makes of a chunk.
pub struct GeometrySource<'a, S> {
    draw: FrontDraw<'a>,
    stage: &'a CompiledStage,
    info: &'a GeometryInfo,
    link: &'a GeometryLink,
    inputs: S,
    calls: &'a mut CallMemory,
    listed: &'a mut StreamLists,
    /// Number of invocations of the batch of inputs.
    invocations: usize,
    begun: usize,
    outcome: CallOutcome,
    cursor: InvocationCursor,
    /// Streams that are listed, as bits.
    streams: u32,
    /// The stream whose list is passed on.
    stream: usize,
    /// True if most rows of the last call have no vertex, so that the vertices are listed:
    /// [`Batch::written`].
    few: bool,
    /// True if a batch of the last call's vertices has been passed on.
    passed_on: bool,
    /// True if the current batch has the same vertices as the one before it.
    same_vertices: bool,
}

impl<'a, S: PrimitiveSource<Vertices = AdjacentVertices>> GeometrySource<'a, S> {
    /// Makes the source at the chunk's beginning, over the stage's inputs; `None` if the draw has
    /// no such stage.
    #[inline(always)]
    pub fn new(
        draw: FrontDraw<'a>,
        inputs: S,
        scratch: &'a mut Option<Box<GeometryStageScratch>>,
    ) -> Option<GeometrySource<'a, S>> {
        let link = draw.linkage().geometry.as_ref()?;
        let (stage, info) = draw.draw.stages.geometry()?;
        let GeometryStageScratch { calls, listed } = &mut **scratch.get_or_insert_default();
        Some(GeometrySource {
            draw,
            stage,
            info,
            link,
            inputs,
            calls,
            listed,
            invocations: 0,
            begun: 0,
            outcome: CallOutcome::default(),
            cursor: InvocationCursor::default(),
            streams: capture::streams(draw.draw),
            stream: STREAMS,
            few: false,
            passed_on: false,
            same_vertices: false,
        })
    }

    /// Runs the next invocations; returns false if there are none.
    fn run(&mut self, memory: &mut StageMemory) -> bool {
        while self.begun == self.invocations {
            if !self.inputs.advance(memory) {
                return false;
            }
            self.invocations = self.inputs.batch().primitives.len() * self.info.invocations as usize;
            self.begun = 0;
        }
        if aborted(&self.draw.draw.context) {
            return false;
        }
        let lanes = self.link.outputs.lanes();
        let max_rows = self.info.max_vertices as usize;
        let fit = (CALL_BYTES / self.link.outputs.chunk_bytes().max(1)).min(CALL_VERTICES / lanes) / max_rows;
        let count = (fit.max(1) * lanes).min(self.invocations - self.begun);
        self.outcome = self.call(memory, self.begun, count);
        self.begun += count;
        self.list_made();
        self.cursor = InvocationCursor::default();
        self.passed_on = false;
        self.draw.draw.queries.count(statistic::GEOMETRY_INVOCATIONS, count as u64);
        // The results of a stage that was stopped are not complete, so they are not used.
        !aborted(&self.draw.draw.context)
    }

    /// Runs `count` invocations of the batch of inputs, from number `first` on.
    fn call(&mut self, memory: &mut StageMemory, first: usize, count: usize) -> CallOutcome {
        let inputs = self.inputs.batch();
        let words = SlotLayout::new(1, self.stage.info.lanes);
        let given = SlotLayout::new(self.info.input.vertices() as usize, self.stage.info.lanes);
        let padded = words.padded(count);
        let vertices = self.calls.vertices.words(given.words(count));
        let primitive_id = self.calls.primitive_id.words(padded);
        let invocation_id = self.calls.invocation_id.words(padded);
        let each = self.info.invocations as usize;
        // Both are counted along with the lanes, because a division takes longer than the rest of a
        // lane's work.
        let (mut primitive, mut invocation) = (first / each, first % each);
        for lane in 0..padded {
            let (corners, id) = inputs.primitives[primitive];
            primitive_id[lane] = id;
            invocation_id[lane] = invocation as u32;
            for (slot, &corner) in corners.iter().enumerate().take(given.slots()) {
                vertices[given.word(lane, slot)] = (4 * inputs.shaded.base(corner as usize)) as u32;
            }
            // Lanes after the last invocation repeat it.
            if lane + 1 < count {
                invocation += 1;
                if invocation == each {
                    (primitive, invocation) = (primitive + 1, 0);
                }
            }
        }
        let max_rows = words.chunks(count) * self.info.max_vertices as usize;
        let outputs = self.calls.outputs.words(self.link.outputs.words((max_rows + 1) * words.lanes()));
        let mut batch = PrimitiveBatch {
            header: memory.header(self.stage),
            count: count as u32,
            rows: 0,
            inputs: inputs.shaded.outputs.as_ptr(),
            sources: self.link.sources.as_ptr(),
            vertices: vertices.as_ptr(),
            primitive_id: primitive_id.as_ptr(),
            invocation_id: invocation_id.as_ptr(),
            outputs: outputs.as_mut_ptr(),
            counts: self.calls.counts.words(padded).as_mut_ptr(),
            first_rows: self.calls.first_rows.words(words.chunks(count)).as_mut_ptr(),
        };
        // SAFETY: all buffers are padded to whole chunks and sized by the stage's interface and
        // facts. Offsets of vertices lie in the outputs of the stage before, those of slots among
        // its slots. The icd guarantees that stage and context match.
        unsafe { self.stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        CallOutcome { count, rows: (batch.rows as usize).min(max_rows) }
    }

    /// Lists the vertices that invocations of the last call have made, unless those are most of its
    /// rows.
    fn list_made(&mut self) {
        let (lanes, CallOutcome { count, rows }) = (self.link.outputs.lanes(), self.outcome);
        let counts = self.calls.counts.as_words(count);
        let first_rows = self.calls.first_rows.as_words(count.div_ceil(lanes));
        let all: usize = counts.iter().map(|&count| count as usize).sum();
        self.few = FEW * all <= rows * lanes;
        self.calls.written.clear();
        if !self.few {
            return;
        }
        for (counts, &first_row) in counts.chunks(lanes).zip(first_rows) {
            for (lane, &count) in counts.iter().enumerate() {
                let own = vertices_of(count, self.info, first_row, rows);
                self.calls.written.extend(own.map(|row| (row * lanes + lane) as u32));
            }
        }
    }

    /// Returns the vertices of the last call.
    fn shaded(&self) -> ShadedVertices<'_> {
        let layout = self.link.outputs;
        ShadedVertices {
            outputs: self.calls.outputs.as_words(layout.words(self.outcome.rows * layout.lanes())),
            layout,
        }
    }

    /// Goes to the next stream that has primitives, listing the next primitives of the last call if
    /// needed; returns false if there are no more.
    fn next(&mut self) -> bool {
        let any = |list: &PrimitiveList| !list.primitives.is_empty();
        let found = |from: usize, listed: &StreamLists| (from..STREAMS).find(|&stream| any(&listed[stream]));
        self.stream = match found((self.stream + 1).min(STREAMS), self.listed) {
            Some(stream) => stream,
            None => {
                self.list();
                found(0, self.listed).unwrap_or(STREAMS)
            }
        };
        self.stream < STREAMS
    }

    /// Lists the next primitives of the last call, until one of the lists is full.
    fn list(&mut self) {
        let (topology, last) = (self.draw.plan.topology, self.draw.draw.state.provoking_last);
        let (mut cursor, outcome, need) = (self.cursor, self.outcome, self.info.output.vertices());
        let listed = core::mem::take(self.listed);
        let corners = [0, 1].map(|odd| {
            let at = if last { topology.vertices_last_first(odd) } else { topology.vertices(odd) };
            at.map(|at| at - odd)
        });
        let mut lister = StripLister { listed, corners, last, need, streams: self.streams, emitted: 0, full: false };
        lister.listed.iter_mut().for_each(PrimitiveList::clear);
        let lanes = self.link.outputs.lanes();
        let counts = self.calls.counts.as_words(outcome.count);
        let first_rows = self.calls.first_rows.as_words(outcome.count.div_ceil(lanes));
        let primitive_id = self.calls.primitive_id.as_words(outcome.count);
        let shaded = self.shaded();
        // Without marks, all vertices of an invocation are one strip of the first stream.
        let plain = self.link.mark == NO_SLOT && self.streams & 1 != 0;
        while cursor.lane < outcome.count && !lister.full {
            let lane = cursor.lane;
            let own = vertices_of(counts[lane], self.info, first_rows[lane / lanes], outcome.rows);
            let count = own.len() as u32;
            let id = (self.link.primitive_id, primitive_id[lane]);
            if plain && cursor.vertex == 0 {
                let first = (own.start * lanes + lane % lanes) as u32;
                if lister.strip(shaded, (first, lanes as u32), count, id) {
                    cursor.lane += 1;
                    continue;
                }
            }
            while cursor.vertex < count && !lister.full {
                let vertex = (own.start + cursor.vertex as usize) * lanes + lane % lanes;
                let mark = if self.link.mark == NO_SLOT { 0 } else { shaded.get(vertex, self.link.mark) };
                cursor.vertex += u32::from(lister.vertex(&mut cursor, shaded, vertex as u32, VertexMark(mark), id));
            }
            if cursor.vertex == count {
                cursor = InvocationCursor { lane: lane + 1, vertex: 0, lengths: [0; STREAMS], ..cursor };
            }
        }
        let StripLister { listed, emitted, .. } = lister;
        self.draw.draw.queries.count(statistic::GEOMETRY_PRIMITIVES, emitted);
        self.cursor = cursor;
        *self.listed = listed;
    }
}

/// Returns the rows of an invocation's vertices, by the counts that the stage has left. The result
/// is limited to `rows`, whatever the stage has written.
#[inline(always)]
fn vertices_of(count: u32, info: &GeometryInfo, first_row: u32, rows: usize) -> Range<usize> {
    let first = first_row as usize;
    first..first + (count.min(info.max_vertices) as usize).min(rows.saturating_sub(first))
}

impl PrimitiveList {
    fn clear(&mut self) {
        self.primitives.clear();
        self.begins.clear();
    }
}

/// State of batches that are being listed.
struct StripLister {
    listed: StreamLists,
    /// Vertices of a primitive of a strip, relative to its first one, for even and for odd numbers.
    corners: [[u32; 3]; 2],
    /// True if the last vertex provokes.
    last: bool,
    /// Number of vertices of a primitive.
    need: u32,
    /// Streams that are listed, as bits.
    streams: u32,
    /// Number of primitives of all streams.
    emitted: u64,
    /// True if one of the lists is full.
    full: bool,
}

impl StripLister {
    /// Appends the primitives of an invocation whose vertices are all one strip of the first
    /// stream; they have numbers from `first` on, at a distance of `step`. Appends nothing and
    /// returns false if they do not all fit. `id` is as in [`StripLister::vertex`].
    #[inline(always)]
    fn strip(&mut self, shaded: ShadedVertices<'_>, (first, step): (u32, u32), count: u32, id: (u16, u32)) -> bool {
        let (list, made) = (&mut self.listed[0], (count + 1).saturating_sub(self.need));
        let room = BATCH_PRIMITIVES as usize - list.primitives.len().min(BATCH_PRIMITIVES as usize);
        // A single primitive at the end would be left for the next batch.
        if made as usize > room || made == 1 && room == 1 {
            return false;
        }
        for number in 0..made {
            let mut corners = self.corners[number as usize & 1];
            for corner in &mut corners {
                *corner = first + (number + *corner) * step;
            }
            let provoking = corners[usize::from(self.last && self.need == 2)];
            let id = if id.0 == NO_SLOT { id.1 } else { shaded.get(provoking as usize, id.0) };
            list.primitives.push((corners, id));
            list.begins.push(number == 0);
        }
        self.emitted += u64::from(made);
        self.full |= list.primitives.len() >= BATCH_PRIMITIVES as usize;
        true
    }

    /// Appends a vertex of an invocation, and the primitive that it completes, if any. `id` is the
    /// slot of PrimitiveId, and the value to use without one. Returns false and does nothing if a
    /// strip would begin with the last primitive of a batch, because which primitives are paired
    /// must not depend on batches.
    #[inline(always)]
    fn vertex(
        &mut self,
        cursor: &mut InvocationCursor,
        shaded: ShadedVertices<'_>,
        vertex: u32,
        mark: VertexMark,
        id: (u16, u32),
    ) -> bool {
        let stream = mark.stream() as usize;
        let length = if mark.begins() { 1 } else { cursor.lengths[stream] + 1 };
        let whole = length.checked_sub(self.need);
        let listed = self.streams & 1 << stream != 0;
        if listed && whole == Some(0) && self.listed[stream].primitives.len() + 1 == BATCH_PRIMITIVES as usize {
            self.full = true;
            return false;
        }
        cursor.lengths[stream] = length;
        self.emitted += u64::from(whole.is_some());
        if !listed {
            return true;
        }
        let [_, b, c] = cursor.last[stream];
        let seen = [b, c, vertex];
        cursor.last[stream] = seen;
        let Some(number) = whole else { return true };
        // `seen` holds the last three vertices; a primitive of fewer begins at the position that
        // `need` gives.
        let corners = self.corners[number as usize & 1].map(|at| seen[(at + 3 - self.need) as usize]);
        let provoking = corners[usize::from(self.last && self.need == 2)];
        let id = if id.0 == NO_SLOT { id.1 } else { shaded.get(provoking as usize, id.0) };
        let list = &mut self.listed[stream];
        list.primitives.push((corners, id));
        list.begins.push(number == 0);
        self.full |= list.primitives.len() >= BATCH_PRIMITIVES as usize;
        true
    }
}

impl<S: PrimitiveSource<Vertices = AdjacentVertices>> PrimitiveSource for GeometrySource<'_, S> {
    type Vertices = [u32; 3];

    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        self.same_vertices = self.passed_on;
        while !self.next() {
            if !self.run(memory) {
                return false;
            }
            self.same_vertices = false;
        }
        self.passed_on = true;
        true
    }

    fn batch(&self) -> Batch<'_> {
        let list = &self.listed[self.stream];
        let (primitives, begins) = (&*list.primitives, Some(&*list.begins));
        let (shaded, same_vertices, vertices) =
            (self.shaded(), self.same_vertices, self.outcome.rows * self.link.outputs.lanes());
        let written = self.few.then_some(&*self.calls.written);
        Batch {
            stream: self.stream as u32,
            primitives,
            begins,
            shaded,
            records: None,
            vertices,
            written,
            same_vertices,
        }
    }
}
