//! Emission of shaders with suspension points: segments, values that live across points, and the
//! dispatch on the number of the point behind which a chunk continues.
//!
//! [`Suspension`] determines the points and the values that must be kept in between. The layout of
//! frames decides how they are kept: [`super::barrier`] has frames of chunks, [`super::invocation`]
//! those of invocations. A value that a frame keeps is stored at its definition and loaded at each
//! use in another segment. Constants and values of the chunk loop dominate all uses and need no
//! frame.

use super::Emitter;
use super::chunk_frame::ChunkFrame;
use super::invocation_frame::InvocationFrame;
use super::ssa_variable::RepForm;
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{Inst, Region, Shader, Value, ValueDef};
use crate::lir::{Block, Type, Value as C};
use crate::passes::{Segment, Suspension};
use base::shader::FrameLayout;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// Emits an instruction at the current place. Values are below the operations that compute them;
/// the function is the only way up, for values that are computed again.
pub type EmitInstruction = fn(&mut Emitter<'_>, Inst) -> Result<()>;

/// State of a shader with suspension points; it is empty for other shaders.
#[derive(Default)]
pub struct SuspensionState {
    /// The points and segments.
    pub plan: Suspension,
    /// The frame of a chunk.
    pub chunk_frame: ChunkFrame,
    /// The frames of a chunk's invocations, in stages whose batches have them.
    pub invocation_frame: Option<InvocationFrame>,
    /// The emission of an instruction whose value is computed again.
    emit_instruction: Option<EmitInstruction>,
    /// The segment that is being emitted.
    segment: Segment,
    /// Last reload of each value: segment, block and machine form. Within a segment the contents of
    /// a frame do not change.
    reloads: SecondaryMap<Value, Option<(Segment, Block, ValueRep)>>,
    /// The block that dispatches on the number of the point.
    dispatch: Option<Block>,
    /// Blocks where chunks continue, by the number of the point; `None` for points that are
    /// unreachable.
    resume: Vec<Option<Block>>,
}

/// Source of a value in a segment that does not define it.
enum ReloadSource {
    /// A slot of the chunk's frame, in this form.
    ChunkSlot(u32, RepForm),
    /// A word of the invocations' frames.
    InvocationWord(u32),
    /// The instruction that computes the value again.
    Instruction(Inst),
}

impl SuspensionState {
    /// Creates the state before anything is emitted.
    pub fn new(plan: Suspension, chunks: u32, emit_instruction: EmitInstruction) -> SuspensionState {
        let points = plan.points() as usize;
        SuspensionState {
            plan,
            emit_instruction: Some(emit_instruction),
            chunk_frame: ChunkFrame::new(chunks),
            resume: vec![None; points + 1],
            ..SuspensionState::default()
        }
    }
    /// Returns true if the shader has points.
    pub fn any(&self) -> bool {
        self.plan.frame_layout().is_some()
    }
    /// Returns true if the shader has points at which whole chunks stop.
    pub fn has_chunk_frame(&self) -> bool {
        self.plan.frame_layout() == Some(FrameLayout::Chunk)
    }
    /// Returns true if the shader has points at which single lanes stop. Private arrays are then in
    /// the frames of invocations.
    pub fn has_invocation_points(&self) -> bool {
        self.plan.frame_layout() == Some(FrameLayout::Invocation)
    }
    /// Returns true if the construct of a region is emitted in segments.
    pub fn spans_point(&self, region: &Region) -> bool {
        self.any() && self.plan.region_segments(region).is_some()
    }
    /// Returns true if variables of a construct that spans points are in the chunk's frame.
    pub fn needs_slots(&self, spans_point: bool) -> bool {
        spans_point && self.has_chunk_frame()
    }
    /// Sets the block where the program starts, and the block before it that dispatches.
    fn start_at(&mut self, dispatch: Block, block: Block) {
        self.dispatch = Some(dispatch);
        self.resume[0] = Some(block);
    }
    /// Returns true if the parts of a value's machine form are available: defined in this segment,
    /// or kept.
    pub fn is_available(&self, v: Value) -> bool {
        !self.any()
            || self.plan.defined_in(v) == self.segment
            || self.chunk_frame.slot(v).is_some()
            || self.plan.value_word(v).is_some()
    }
    /// Returns the values of other segments that a loop uses.
    pub fn loop_uses(&self, region: &Region) -> &[Value] {
        self.plan.loop_uses(region)
    }
    /// Returns the block that dispatches on the number of the point.
    pub fn dispatch(&self) -> Option<Block> {
        self.dispatch
    }
    /// Returns the number that stands for the end of the program, which is no point.
    pub fn done(&self) -> u32 {
        self.resume.len() as u32
    }
    /// Returns the source of a value that is used in the current segment, if its definition lies in
    /// another one and does not dominate the use.
    fn source(&self, shader: &Shader, v: Value) -> Option<ReloadSource> {
        if !self.any() || self.plan.defined_in(v) == self.segment {
            return None;
        }
        if let Some((base, form)) = self.chunk_frame.slot(v) {
            return Some(ReloadSource::ChunkSlot(base, form));
        }
        match shader.values[v].def {
            ValueDef::Inst(inst, _) if self.plan.is_rematerialized(v) => Some(ReloadSource::Instruction(inst)),
            _ => self.plan.value_word(v).map(ReloadSource::InvocationWord),
        }
    }
}

impl Emitter<'_> {
    /// Enters the segment in which the body of a region starts.
    pub fn begin_segment(&mut self, region: &Region) {
        if let Some(segments) = self.suspension.plan.region_segments(region) {
            self.suspension.segment = segments.start;
        }
    }

    /// Enters the segment that follows the construct of a region.
    pub fn end_segment(&mut self, region: &Region) {
        if let Some(segments) = self.suspension.plan.region_segments(region) {
            self.suspension.segment = segments.after;
        }
    }

    /// Keeps a value at its definition, if another segment needs it.
    pub fn keep(&mut self, v: Value, rep: &ValueRep) -> Result<()> {
        if !self.suspension.plan.is_kept(v) {
            return Ok(());
        }
        match self.suspension.plan.value_word(v) {
            Some(word) => self.store_frame_value(word, self.shader.ty(v), rep),
            None => {
                self.store_chunk_value(v, rep);
                Ok(())
            }
        }
    }

    /// Returns the machine form of a value of another segment whose definition does not dominate
    /// this use; `None` for other values.
    pub fn value_of_other_segment(&mut self, v: Value) -> Result<Option<ValueRep>> {
        let Some(source) = self.suspension.source(self.shader, v) else { return Ok(None) };
        if let Some(rep) = self.reloaded(v) {
            return Ok(Some(rep));
        }
        let rep = match source {
            ReloadSource::ChunkSlot(base, form) => self.load_chunk_value(v, base, form),
            ReloadSource::InvocationWord(word) => ValueRep::Varying(self.load_frame_value(word, self.shader.ty(v))?),
            ReloadSource::Instruction(inst) => self.rematerialize(v, inst)?,
        };
        self.suspension.reloads[v] = Some((self.suspension.segment, self.b.current(), rep.clone()));
        Ok(Some(rep))
    }

    /// Returns the machine form of a value that was reloaded in this segment, if the block of the
    /// reload dominates the current one.
    fn reloaded(&self, v: Value) -> Option<ValueRep> {
        let (segment, block, rep) = self.suspension.reloads[v].as_ref()?;
        let valid = *segment == self.suspension.segment && self.b.dominates(*block, self.b.current());
        valid.then(|| rep.clone())
    }

    /// Emits the instruction of a value again.
    fn rematerialize(&mut self, v: Value, inst: Inst) -> Result<ValueRep> {
        let results: SmallVec<[Value; 4]> = self.shader.insts[inst].results().collect();
        let before: SmallVec<[Option<ValueRep>; 4]> = results.iter().map(|&r| self.value_reps[r].take()).collect();
        let emit = self.suspension.emit_instruction.ok_or_else(|| Error::internal("no emission of instructions"))?;
        emit(self, inst)?;
        let rep = self.value_reps[v].take().ok_or_else(|| Error::internal(format!("{v:?} is not computed again")))?;
        results.into_iter().zip(before).for_each(|(r, before)| self.value_reps[r] = before);
        Ok(rep)
    }

    /// Makes the block of the program's start in a shader with points. Returns the block that will
    /// jump to the point, or `None` in a shader without points.
    pub fn start_segments(&mut self) -> Option<Block> {
        if !self.suspension.any() {
            return None;
        }
        if self.suspension.has_chunk_frame() {
            self.place_chunk_frame();
        }
        let (dispatch, start) = (self.b.create_block(), self.b.create_block());
        self.b.jump(dispatch, &[]);
        self.enter(dispatch);
        self.suspension.start_at(dispatch, start);
        self.b.enter_dominated_by(start, dispatch);
        Some(dispatch)
    }

    /// Emits the dispatch to the points, which are all known now. A chunk with another number is
    /// done.
    pub fn finish_segments(&mut self, dispatch: Block, number: impl FnOnce(&mut Self) -> C) {
        let latch = self.function.latch().unwrap_or(self.function.exit());
        self.b.jump(latch, &[]);
        self.b.resume_block(dispatch);
        let number = number(self);
        debug_assert_eq!(self.b.ty(number), Type::I32);
        let resume: Vec<Block> = self.suspension.resume.iter().map(|block| block.unwrap_or(latch)).collect();
        self.b.branch_table(number, &resume, latch);
    }

    /// Returns the number of the point of an instruction, and a new block where chunks continue
    /// behind it.
    pub fn new_point(&mut self, inst: Inst) -> Result<(u32, Block)> {
        let point =
            self.suspension.plan.point(inst).ok_or_else(|| Error::internal("a suspension point without a number"))?;
        let resume = self.b.create_block();
        self.suspension.resume[point.number as usize] = Some(resume);
        Ok((point.number, resume))
    }

    /// Enters the block and the segment behind a point.
    pub fn resume_behind(&mut self, inst: Inst, resume: Block) -> Result<()> {
        let point = self.suspension.plan.point(inst);
        let (Some(dispatch), Some(point)) = (self.suspension.dispatch, point) else {
            return Err(Error::internal("a suspension point without segments"));
        };
        self.b.enter_dominated_by(resume, dispatch);
        self.suspension.segment = point.segment;
        Ok(())
    }
}
