//! The tessellation stages: a source over input assembly and the vertex stage.
//!
//! Patches go through three steps. A call of the control stage takes as many patches as fit
//! [`CONTROL_BYTES`] of memory, in which it leaves its output. The tessellator makes a pattern of a
//! patch's levels, which is kept for the next patch with the same levels. A call of the evaluation
//! stage takes the vertices of as many patterns as fit [`CALL_VERTICES`] (at least one pattern,
//! which has up to some 4,400), in the order of patches. Their primitives are passed on in batches,
//! in the pattern's order. A discarded patch ends after its levels.

use super::assemble::Patch;
use super::input::{self, VertexSource};
use super::plan::{DrawChunk, FrontDraw};
use super::stream::{Assembled, BATCH_PRIMITIVES, Batch, PrimitiveSource, ShadedVertices};
use crate::api::statistic;
use crate::stages::Tessellation;
use crate::stages::TessellationLink;
use crate::tessellate::spacing::ONE;
use crate::tessellate::{Domain, TessellationLevels, TessellationMode, TessellationPattern};
use base::abi::{ComputeBatch, ControlBatch, EvaluationBatch, SlotLayout};
use core::ops::Range;
use execution::{AlignedBuf, StageMemory, aborted};

/// Number of bytes of patches that a call of the control stage may make, unless a single one takes
/// more.
const CONTROL_BYTES: usize = 256 << 10;
/// Number of vertices that a call of the evaluation stage takes, unless they belong to one patch.
const CALL_VERTICES: usize = 1024;

/// Primitives of a pattern in the form that a consumer takes.
pub trait PatternPrimitive: Copy {
    /// Makes a primitive of one to three vertices; `last` means that the last one provokes.
    fn of_pattern(corners: &[u32], last: bool) -> Self;
}

/// The form for setup: the provoking vertex comes first, except that the ends of a line stay in
/// order.
impl PatternPrimitive for [u32; 3] {
    #[inline(always)]
    fn of_pattern(corners: &[u32], last: bool) -> Self {
        match *corners {
            [a, b, c] if last => [c, a, b],
            [a, b, c] => [a, b, c],
            [a, b] => [a, b, a],
            _ => [corners[0]; 3],
        }
    }
}

/// The form for a stage: all vertices in order, whichever provokes.
impl PatternPrimitive for [u32; 6] {
    #[inline(always)]
    fn of_pattern(corners: &[u32], _last: bool) -> Self {
        core::array::from_fn(|i| corners[if i < corners.len() { i } else { 0 }])
    }
}

/// Memory of the source.
pub struct TessellationScratch<C> {
    vertices: input::AssemblyScratch<Patch>,
    control: ControlMemory,
    call: EvaluationCall<C>,
}

impl<C> Default for TessellationScratch<C> {
    fn default() -> Self {
        TessellationScratch {
            vertices: input::AssemblyScratch::default(),
            control: ControlMemory::default(),
            call: EvaluationCall::default(),
        }
    }
}

/// Memory of the calls of the control stage.
#[derive(Default)]
struct ControlMemory {
    /// Byte offsets of the patches' vertices.
    vertices: AlignedBuf,
    primitive_id: AlignedBuf,
    /// The patches.
    outputs: AlignedBuf,
}

/// The vertices of a patch's pattern.
#[derive(Clone, Copy)]
struct PatchPoints {
    /// Byte offset of the patch.
    patch: u32,
    primitive_id: u32,
    /// One more than the number of the last vertex.
    end: usize,
}

/// A call of the evaluation stage, and its memory.
struct EvaluationCall<C> {
    /// The pattern made last; `of` is the mode and levels of which it was made.
    pattern: TessellationPattern,
    of: Option<(TessellationMode, TessellationLevels)>,
    /// Points of several patterns, in their units.
    points: Vec<[u32; 2]>,
    of_patches: Vec<PatchPoints>,
    primitives: Vec<Assembled<C>>,
    patches: AlignedBuf,
    coordinates: AlignedBuf,
    primitive_id: AlignedBuf,
    outputs: AlignedBuf,
}

impl<C> Default for EvaluationCall<C> {
    fn default() -> Self {
        EvaluationCall {
            pattern: TessellationPattern::default(),
            of: None,
            points: Vec::new(),
            of_patches: Vec::new(),
            primitives: Vec::new(),
            patches: AlignedBuf::default(),
            coordinates: AlignedBuf::default(),
            primitive_id: AlignedBuf::default(),
            outputs: AlignedBuf::default(),
        }
    }
}

impl<K: PatternPrimitive> EvaluationCall<K> {
    /// Lists the primitives of the last pattern, whose vertices begin with number `first`.
    #[inline(always)]
    fn list<const N: usize>(&mut self, first: u32, primitive_id: u32, last: bool) {
        self.primitives.extend(self.pattern.primitives.as_chunks::<N>().0.iter().map(|local| {
            let mut corners = *local;
            for corner in &mut corners {
                *corner += first;
            }
            (K::of_pattern(&corners, last), primitive_id)
        }));
    }
}

/// The primitives that tessellation makes of a chunk.
pub struct TessellationSource<'a, C> {
    draw: FrontDraw<'a>,
    stages: Tessellation<'a>,
    link: &'a TessellationLink,
    mode: TessellationMode,
    inputs: VertexSource<'a, Patch>,
    control: &'a mut ControlMemory,
    call: &'a mut EvaluationCall<C>,
    /// Number of patches of the batch of inputs; `controlled` are those of the control stage's last
    /// call.
    patches: usize,
    controlled: Range<usize>,
    /// Number of these patches that have been tessellated.
    tessellated: usize,
    /// Primitives of the call in the batch.
    batch: Range<usize>,
    /// True if a batch of the call's vertices has been passed on.
    passed_on: bool,
    /// True if the current batch has the same vertices as the one before it.
    same_vertices: bool,
}

impl<'a, C: PatternPrimitive> TessellationSource<'a, C> {
    /// Makes the source at the chunk's beginning; `None` if the draw has no such stages.
    pub fn new(
        draw: FrontDraw<'a>,
        chunk: &'a DrawChunk,
        scratch: &'a mut Option<Box<TessellationScratch<C>>>,
    ) -> Option<TessellationSource<'a, C>> {
        let link = draw.linkage().tessellation.as_ref()?;
        let stages = draw.draw.stages.tessellation()?;
        let TessellationScratch { vertices, control, call } = &mut **scratch.get_or_insert_default();
        call.primitives.clear();
        Some(TessellationSource {
            draw,
            stages,
            link,
            mode: stages.mode(draw.draw.state.lower_left),
            inputs: VertexSource::new(draw, chunk, vertices),
            control,
            call,
            patches: 0,
            controlled: 0..0,
            tessellated: 0,
            batch: 0..0,
            passed_on: false,
            same_vertices: false,
        })
    }

    /// Evaluates the vertices of the next patches that have any; returns false if there are none.
    fn run(&mut self, memory: &mut StageMemory) -> bool {
        loop {
            if aborted(&self.draw.draw.context) {
                return false;
            }
            if self.tessellated == self.controlled.len() && !self.control(memory) {
                return false;
            }
            self.tessellate();
            if !self.call.points.is_empty() {
                self.evaluate(memory);
                // The results of a stage that was stopped are not complete, so they are not used.
                return !aborted(&self.draw.draw.context);
            }
        }
    }

    /// Runs the control stage for the next patches; returns false if there are none.
    fn control(&mut self, memory: &mut StageMemory) -> bool {
        while self.controlled.end == self.patches {
            if !self.inputs.advance(memory) {
                return false;
            }
            self.patches = self.inputs.batch().primitives.len();
            self.controlled = 0..0;
        }
        let bytes = self.link.patch_bytes as usize;
        let first = self.controlled.end;
        let count = (CONTROL_BYTES / bytes).max(1).min(self.patches - first);
        (self.controlled, self.tessellated) = (first..first + count, 0);
        let batch = self.inputs.batch();
        let patches = &batch.primitives[first..first + count];
        let given = patches[0].0.vertices().len();
        let vertices = self.control.vertices.words(count * given);
        let primitive_id = self.control.primitive_id.words(count);
        for (i, (patch, id)) in patches.iter().enumerate() {
            primitive_id[i] = *id;
            for (to, &vertex) in vertices[i * given..][..given].iter_mut().zip(patch.vertices()) {
                *to = (4 * batch.shaded.base(vertex as usize)) as u32;
            }
        }
        let outputs = self.control.outputs.words(count * bytes / 4);
        // Values that the stage does not write are the same every time.
        outputs.fill(0);
        let stage = self.stages.control;
        let mut batch = ControlBatch {
            groups: ComputeBatch {
                header: memory.header(stage),
                base: [0; 3],
                groups: [count as u32, 1],
                first: [0; 3],
                count: count as u32,
                _pad: 0,
                shared: outputs.as_mut_ptr().cast(),
            },
            patch_vertices: given as u32,
            _pad: 0,
            inputs: batch.shaded.outputs.as_ptr(),
            sources: self.link.control_sources.as_ptr(),
            vertices: vertices.as_ptr(),
            primitive_id: primitive_id.as_ptr(),
        };
        // SAFETY: there is memory for as many patches as the stage's facts say. Offsets of vertices
        // lie in the vertex stage's outputs, those of slots among its slots. The icd guarantees
        // that stage and context match.
        unsafe { stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        self.draw.draw.queries.count(statistic::CONTROL_PATCHES, count as u64);
        true
    }

    /// Returns the levels of a patch of the last call of the control stage.
    fn levels(&self, patch: usize) -> TessellationLevels {
        let bytes = self.link.patch_bytes as usize;
        let outputs = self.control.outputs.as_words(self.controlled.len() * bytes / 4);
        let level = |place: Option<u32>| match place {
            Some(offset) => f32::from_bits(outputs[(patch * bytes + offset as usize) / 4]),
            None => 0.0,
        };
        TessellationLevels { outer: self.link.outer.map(level), inner: self.link.inner.map(level) }
    }

    /// Lists vertices and primitives of as many patches as fill a call.
    fn tessellate(&mut self) {
        self.call.points.clear();
        self.call.of_patches.clear();
        self.call.primitives.clear();
        (self.batch, self.passed_on) = (0..0, false);
        let last = self.draw.draw.state.provoking_last;
        while self.tessellated < self.controlled.len() {
            let levels = self.levels(self.tessellated);
            let call = &mut *self.call;
            // (Levels that are not-a-number compare unequal to everything.)
            if call.of != Some((self.mode, levels)) {
                call.pattern.make(self.mode, &levels);
                call.of = Some((self.mode, levels));
            }
            let first = call.points.len();
            if first != 0 && first + call.pattern.vertices.len() > CALL_VERTICES {
                return;
            }
            let patch = (self.tessellated * self.link.patch_bytes as usize) as u32;
            let (_, primitive_id) = self.inputs.batch().primitives[self.controlled.start + self.tessellated];
            call.points.extend_from_slice(&call.pattern.vertices);
            call.of_patches.push(PatchPoints { patch, primitive_id, end: call.points.len() });
            match self.mode.corners() {
                3 => call.list::<3>(first as u32, primitive_id, last),
                2 => call.list::<2>(first as u32, primitive_id, last),
                _ => call.list::<1>(first as u32, primitive_id, last),
            }
            self.tessellated += 1;
        }
    }

    /// Runs the evaluation stage for the listed vertices.
    fn evaluate(&mut self, memory: &mut StageMemory) {
        let (stage, call) = (self.stages.evaluation, &mut *self.call);
        let count = call.points.len();
        let words = SlotLayout::new(1, stage.info.lanes);
        let coordinate = SlotLayout::new(3, stage.info.lanes);
        let padded = words.padded(count);
        let patches = call.patches.words(padded);
        let primitive_id = call.primitive_id.words(padded);
        let coordinates = call.coordinates.words(coordinate.words(count));
        let mut first = 0;
        for &PatchPoints { patch, primitive_id: id, end } in &call.of_patches {
            patches[first..end].fill(patch);
            primitive_id[first..end].fill(id);
            first = end;
        }
        // Lanes after the last vertex repeat it.
        let (last, last_patch, last_id) = (call.points[count - 1], patches[count - 1], primitive_id[count - 1]);
        patches[count..].fill(last_patch);
        primitive_id[count..].fill(last_id);
        let triangles = self.mode.domain == Domain::Triangles;
        let lanes = words.lanes();
        for (points, rows) in call.points.chunks(lanes).zip(coordinates.chunks_exact_mut(3 * lanes)) {
            let (us, rest) = rows.split_at_mut(lanes);
            let (vs, ws) = rest.split_at_mut(lanes);
            let float = |c: u32| (c as f32 / ONE as f32).to_bits();
            let points = points.iter().copied().chain(core::iter::repeat(last));
            for ([u, v], ((to_u, to_v), to_w)) in points.zip(us.iter_mut().zip(vs).zip(ws)) {
                (*to_u, *to_v) = (float(u), float(v));
                *to_w = float(if triangles { ONE - u - v } else { 0 });
            }
        }
        let bytes = self.link.patch_bytes as usize;
        let mut batch = EvaluationBatch {
            header: memory.header(stage),
            count: count as u32,
            patch_vertices: self.stages.info.vertices,
            inputs: self.control.outputs.as_words(self.controlled.len() * bytes / 4).as_ptr(),
            sources: self.link.sources.as_ptr(),
            patches: patches.as_ptr(),
            coordinates: coordinates.as_ptr(),
            primitive_id: primitive_id.as_ptr(),
            outputs: call.outputs.words(self.link.outputs.words(count)).as_mut_ptr(),
        };
        // SAFETY: all buffers are padded to whole chunks and sized by the stage's interface.
        // Offsets of patches lie in the control stage's memory, those of slots and their vertices
        // inside of a patch (with the word after it that `workgroup_stride` counts). The icd
        // guarantees that stage and context match.
        unsafe { stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        self.draw.draw.queries.count(statistic::EVALUATION_INVOCATIONS, count as u64);
    }
}

impl<C: PatternPrimitive> PrimitiveSource for TessellationSource<'_, C> {
    type Vertices = C;

    fn advance(&mut self, memory: &mut StageMemory) -> bool {
        self.same_vertices = self.passed_on;
        while self.batch.end == self.call.primitives.len() {
            if !self.run(memory) {
                return false;
            }
            self.same_vertices = false;
        }
        let end = self.call.primitives.len().min(self.batch.end + BATCH_PRIMITIVES as usize);
        self.batch = self.batch.end..end;
        self.passed_on = true;
        true
    }

    fn batch(&self) -> Batch<'_, C> {
        let (vertices, layout) = (self.call.points.len(), self.link.outputs);
        let shaded = ShadedVertices { outputs: self.call.outputs.as_words(layout.words(vertices)), layout };
        Batch {
            stream: 0,
            primitives: &self.call.primitives[self.batch.clone()],
            begins: None,
            shaded,
            records: None,
            vertices,
            written: None,
            same_vertices: self.same_vertices,
        }
    }
}
