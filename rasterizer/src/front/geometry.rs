//! The geometry stage: a source over input assembly and the vertex stage, or over tessellation.
//!
//! A lane is an invocation of a primitive, in the order of primitives and of their invocations, so that the lanes' primitives in the order of lanes are those
//! of the stage. It reads the vertices where the vertex stage left them. A call takes as many invocations as fill [`CALL_BYTES`] or
//! [`CALL_VERTICES`] with what they may make; what they made is given on in batches, as numbers of vertices: nothing is copied.

use super::link::Made;
use super::plan::FrontDraw;
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, Shaded, Source};
use crate::api::{Topology, statistic};
use crate::mem::AlignedBuf;
use crate::stage::{NO_SLOT, StageMemory, aborted};
use base::abi::{PrimitiveBatch, SlotLayout};
use base::shader::{CompiledStage, GeometryFacts, VertexMark};

/// Bytes of the vertices that a call may make, unless a chunk of lanes alone takes more.
const CALL_BYTES: usize = 256 << 10;
/// The same in vertices, which setup has further bytes for.
const CALL_VERTICES: usize = 4096;

/// A primitive's vertices as the stage sees them.
pub type Whole = [u32; 6];

/// Memory of the source.
#[derive(Default)]
pub struct Scratch {
    calls: Calls,
    listed: Listed,
}

/// Memory of the calls of the stage.
#[derive(Default)]
struct Calls {
    /// Byte offsets of the primitives' vertices.
    vertices: AlignedBuf,
    primitive_id: AlignedBuf,
    invocation_id: AlignedBuf,
    outputs: AlignedBuf,
    counts: AlignedBuf,
    first_rows: AlignedBuf,
}

/// The primitives of a batch.
#[derive(Default)]
struct Listed {
    primitives: Vec<Assembled>,
    begins: Vec<bool>,
}

/// What the invocations of a call have made.
#[derive(Clone, Copy, Default)]
struct Outcome {
    /// Invocations.
    count: usize,
    /// Rows of vertices.
    rows: usize,
}

/// Where the next primitive is looked for: an invocation of the last call, its next vertex, the strips of its streams.
#[derive(Clone, Copy, Default)]
struct Cursor {
    lane: usize,
    vertex: u32,
    /// Vertices of each stream's strip so far.
    lengths: [u32; GeometryFacts::MOST_STREAMS as usize],
    /// The last vertices of stream 0.
    last: [u32; 3],
}

/// The primitives that a geometry stage makes of a chunk.
pub struct GeometrySource<'a, S> {
    draw: FrontDraw<'a>,
    stage: &'a CompiledStage,
    facts: &'a GeometryFacts,
    made: &'a Made,
    inputs: S,
    calls: &'a mut Calls,
    listed: &'a mut Listed,
    /// Invocations of the batch of inputs, and how many of them have run.
    invocations: usize,
    begun: usize,
    outcome: Outcome,
    cursor: Cursor,
    /// A batch of the last call's vertices has been given on.
    seen: bool,
    /// The last one has.
    again: bool,
}

impl<'a, S: Source<Corners = Whole>> GeometrySource<'a, S> {
    /// At the chunk's beginning, of what the stage is given; `None`: the draw has no such stage.
    #[inline(always)]
    pub fn new(draw: FrontDraw<'a>, inputs: S, scratch: &'a mut Option<Box<Scratch>>) -> Option<GeometrySource<'a, S>> {
        let made = draw.plan.linkage.made.as_ref()?;
        let (stage, facts) = draw.draw.stages.geometry()?;
        let Scratch { calls, listed } = &mut **scratch.get_or_insert_default();
        Some(GeometrySource {
            draw,
            stage,
            facts,
            made,
            inputs,
            calls,
            listed,
            invocations: 0,
            begun: 0,
            outcome: Outcome::default(),
            cursor: Cursor::default(),
            seen: false,
            again: false,
        })
    }

    /// Runs the next invocations; `false` when there are none.
    fn run(&mut self, memory: &mut StageMemory) -> bool {
        while self.begun == self.invocations {
            if !self.inputs.advance(memory) {
                return false;
            }
            self.invocations = self.inputs.batch().primitives.len() * self.facts.invocations as usize;
            self.begun = 0;
        }
        if aborted(&self.draw.draw.context) {
            return false;
        }
        let lanes = self.made.outputs.lanes();
        let most_rows = self.facts.max_vertices as usize;
        let fit = (CALL_BYTES / self.made.outputs.chunk_bytes().max(1)).min(CALL_VERTICES / lanes) / most_rows;
        let count = (fit.max(1) * lanes).min(self.invocations - self.begun);
        self.outcome = self.call(memory, self.begun, count);
        self.begun += count;
        self.cursor = Cursor::default();
        self.seen = false;
        self.draw.draw.queries.count(statistic::GEOMETRY_INVOCATIONS, count as u64);
        // What a stage that was stopped has left is not what it makes.
        !aborted(&self.draw.draw.context)
    }

    /// Runs `count` invocations of the batch of inputs, from number `first` on.
    fn call(&mut self, memory: &mut StageMemory, first: usize, count: usize) -> Outcome {
        let inputs = self.inputs.batch();
        let words = SlotLayout::new(1, self.stage.facts.lanes);
        let given = SlotLayout::new(self.facts.input.vertices() as usize, self.stage.facts.lanes);
        let padded = words.padded(count);
        let vertices = self.calls.vertices.words(given.words(count));
        let primitive_id = self.calls.primitive_id.words(padded);
        let invocation_id = self.calls.invocation_id.words(padded);
        for lane in 0..padded {
            let number = first + lane.min(count - 1);
            let each = self.facts.invocations as usize;
            let (corners, id) = inputs.primitives[number / each];
            primitive_id[lane] = id;
            invocation_id[lane] = (number % each) as u32;
            for (slot, &corner) in corners.iter().enumerate().take(given.slots()) {
                vertices[given.word(lane, slot)] = (4 * inputs.shaded.base(corner as usize)) as u32;
            }
        }
        let most_rows = words.chunks(count) * self.facts.max_vertices as usize;
        let outputs = self.calls.outputs.words(self.made.outputs.words((most_rows + 1) * words.lanes()));
        let mut batch = PrimitiveBatch {
            header: memory.header(self.stage),
            count: count as u32,
            rows: 0,
            inputs: inputs.shaded.outputs.as_ptr(),
            sources: self.made.sources.as_ptr(),
            vertices: vertices.as_ptr(),
            primitive_id: primitive_id.as_ptr(),
            invocation_id: invocation_id.as_ptr(),
            outputs: outputs.as_mut_ptr(),
            counts: self.calls.counts.words(padded).as_mut_ptr(),
            first_rows: self.calls.first_rows.words(words.chunks(count)).as_mut_ptr(),
        };
        // SAFETY: all buffers are padded to whole chunks and sized by the stage's interface and facts, offsets of vertices lie in the stage before's
        // outputs, those of slots among its slots; the icd vouches for stage and context.
        unsafe { self.stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        Outcome { count, rows: (batch.rows as usize).min(most_rows) }
    }

    /// Vertices of the last call.
    fn shaded(&self) -> Shaded<'_> {
        let layout = self.made.outputs;
        Shaded { outputs: self.calls.outputs.as_words(layout.words(self.outcome.rows * layout.lanes())), layout }
    }

    /// Lists the next primitives of the last call; `false` when there are no more.
    fn list(&mut self) -> bool {
        let (topology, last) = (self.draw.plan.topology, self.draw.draw.state.provoking_last);
        let (mut cursor, outcome, need) = (self.cursor, self.outcome, self.facts.output.vertices());
        let listed = core::mem::take(self.listed);
        let mut listing = Listing { listed, topology, last, need, made: 0 };
        listing.listed.primitives.clear();
        listing.listed.begins.clear();
        let lanes = self.made.outputs.lanes();
        let counts = self.calls.counts.as_words(outcome.count);
        let first_rows = self.calls.first_rows.as_words(outcome.count.div_ceil(lanes));
        let primitive_id = self.calls.primitive_id.as_words(outcome.count);
        let shaded = self.shaded();
        while cursor.lane < outcome.count && listing.has_room() {
            let lane = cursor.lane;
            // (Nothing outside of the rows is looked at, whatever the stage says.)
            let first_row = first_rows[lane / lanes] as usize;
            let rows = outcome.rows.saturating_sub(first_row);
            let count = (counts[lane].min(self.facts.max_vertices) as usize).min(rows) as u32;
            while cursor.vertex < count && listing.has_room() {
                let vertex = (first_row + cursor.vertex as usize) * lanes + lane % lanes;
                let mark = if self.made.mark == NO_SLOT { 0 } else { shaded.get(vertex, self.made.mark) };
                let id = (self.made.primitive_id, primitive_id[lane]);
                listing.vertex(&mut cursor, shaded, vertex as u32, VertexMark(mark), id);
                cursor.vertex += 1;
            }
            if cursor.vertex == count {
                cursor = Cursor { lane: lane + 1, ..Cursor::default() };
            }
        }
        let Listing { listed, made, .. } = listing;
        self.draw.draw.queries.count(statistic::GEOMETRY_PRIMITIVES, made);
        self.cursor = cursor;
        *self.listed = listed;
        !self.listed.primitives.is_empty()
    }
}

/// A batch in the making.
struct Listing {
    listed: Listed,
    topology: Topology,
    /// The last vertex provokes.
    last: bool,
    /// Vertices of a primitive.
    need: u32,
    /// Primitives of all streams.
    made: u64,
}

impl Listing {
    fn has_room(&self) -> bool {
        self.listed.primitives.len() < BATCH_PRIMITIVES as usize
    }

    /// One more vertex of an invocation, and the primitive that it ends, if it does. `id`: slot of PrimitiveId, and what it is without one.
    #[inline(always)]
    fn vertex(&mut self, cursor: &mut Cursor, shaded: Shaded<'_>, vertex: u32, mark: VertexMark, id: (u16, u32)) {
        let stream = mark.stream() as usize;
        let length = &mut cursor.lengths[stream];
        *length = if mark.begins() { 1 } else { *length + 1 };
        let whole = length.checked_sub(self.need);
        self.made += u64::from(whole.is_some());
        // Only the first stream is rasterized.
        if stream != 0 {
            return;
        }
        let [_, b, c] = cursor.last;
        cursor.last = [b, c, vertex];
        let Some(number) = whole else { return };
        let odd = number & 1;
        let at = if self.last { self.topology.vertices_last_first(odd) } else { self.topology.vertices(odd) };
        // Relative to the primitive's first vertex, which stands before the last ones of three.
        let corners = at.map(|at| cursor.last[(at - odd + 3 - self.need) as usize]);
        let provoking = corners[usize::from(self.last && self.need == 2)];
        let id = if id.0 == NO_SLOT { id.1 } else { shaded.get(provoking as usize, id.0) };
        self.listed.primitives.push((corners, id));
        self.listed.begins.push(number == 0);
    }
}

impl<S: Source<Corners = Whole>> Source for GeometrySource<'_, S> {
    type Corners = [u32; 3];

    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        self.again = self.seen;
        while !self.list() {
            if !self.run(memory) {
                return false;
            }
            self.again = false;
        }
        self.seen = true;
        true
    }

    fn batch(&self) -> Batch<'_> {
        let (primitives, begins) = (&*self.listed.primitives, Some(&*self.listed.begins));
        let (shaded, seen) = (self.shaded(), self.again);
        let vertices = self.outcome.rows * self.made.outputs.lanes();
        Batch { primitives, begins, shaded, records: None, vertices, seen }
    }
}
