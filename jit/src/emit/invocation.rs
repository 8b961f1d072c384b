//! Invocations with frames: lanes are suspended one by one, and continue in any chunk beside others
//! at the same point ([`InvocationBatch`]).
//!
//! [`super::invocation_frame`] has the frames.
//!
//! A lane that is suspended leaves all enclosing constructs, as if it broke to a label around the
//! whole program, and the lanes that remain go on where that break would. A lane that continues
//! behind a point has entered each enclosing construct and left none. There, all masks of
//! constructs are therefore known: those of lanes that wait at a label, at the end of an arm or for
//! the other arm are empty. Results of constructs are not set yet. So neither masks nor variables
//! are part of a frame.

use super::Emitter;
use super::invocation_frame::{FrameElement, InvocationFrame};
use super::memory::{read_only, trusted};
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{Inst, InstData, Ty, Value, Var};
use crate::lir::{AccessReason, Block, Type, Value as C};
use crate::passes::words_of;
use base::abi::InvocationBatch;
use base::shader::{FrameInfo, FrameLayout, InvocationEnd, SuspendReason};
use core::mem::offset_of;

impl Emitter<'_> {
    /// Sets up the lanes of a chunk and finds their frames.
    pub fn start_invocations(&mut self) -> Result<()> {
        let field = offset_of!(InvocationBatch, count) as i32;
        let count = self.b.load(Type::I32, read_only(AccessReason::Field, field), self.function.batch());
        let valid = self.lanes_below(count);
        self.set_exec(valid, false);
        let frames = self.chunk_words(offset_of!(InvocationBatch, frames), 1);
        let vector = self.vector_type(Ty::I32);
        let offsets = self.b.load(vector, read_only(AccessReason::Element, 0), frames);
        let memory = self.batch_pointer(offset_of!(InvocationBatch, memory));
        let ends = self.new_vector_variable(Ty::I32);
        let returned = self.word(InvocationEnd::Returned.word() as i32);
        self.write_single(&ends, returned);
        self.suspension.invocation_frame = Some(InvocationFrame::new(memory, offsets, ends, valid));
        Ok(())
    }

    /// Loads the number of the point behind which the invocations continue.
    pub fn load_point(&mut self) -> C {
        self.b.load(
            Type::I32,
            read_only(AccessReason::Field, offset_of!(InvocationBatch, point) as i32),
            self.function.batch(),
        )
    }

    /// Stores how the call ends for the lanes.
    pub fn store_ends(&mut self) {
        let Some(ends) = self.suspension.invocation_frame.as_ref().map(|frame| frame.ends().clone()) else { return };
        let ends = self.read_single(&ends);
        let list = self.chunk_words(offset_of!(InvocationBatch, ends), 1);
        self.b.store(trusted(AccessReason::Element, 0), ends, list);
    }

    /// Sets how the call ends for the active lanes.
    pub fn set_end(&mut self, end: InvocationEnd) -> Result<()> {
        let ends = self.invocation_frame()?.ends().clone();
        let (exec, old, new) = (self.exec_mask(), self.read_single(&ends), self.word(end.word() as i32));
        let words = self.b.select(exec, new, old);
        self.write_single(&ends, words);
        Ok(())
    }

    /// Returns true if an instruction suspends single lanes.
    pub fn suspends_lanes(&self, inst: Inst) -> bool {
        let reason = self.shader.insts[inst].op.suspends();
        reason.is_some_and(|reason| reason.frame_layout() == FrameLayout::Invocation)
    }

    /// Emits an operation that suspends the active lanes: its operands become the first words of
    /// their frames, and control continues at `end` with the lanes that are left, of which none is
    /// active. Behind the point, results are read where the last operands were.
    pub fn suspend_lanes(&mut self, inst: Inst, end: Block) -> Result<()> {
        let shader = self.shader;
        let data = &shader.insts[inst];
        for (word, &v) in (0..).zip(&data.args) {
            let rep = self.value_rep(v)?;
            self.store_frame_value(word, shader.ty(v), &rep)?;
        }
        let (number, resume) = self.new_point(inst)?;
        self.set_end(InvocationEnd::Suspended(number))?;
        let none = self.mask(false);
        self.set_exec(none, false);
        self.b.jump(end, &[]);
        self.resume_behind(inst, resume)?;
        let frame = self.invocation_frame()?;
        let (open, valid) = (frame.open().to_vec(), frame.valid());
        open.iter().for_each(|variable| self.zero_variable(variable));
        self.set_exec(valid, false);
        let new_words = data.op.suspends().map_or(0, SuspendReason::new_words);
        let first = (data.args.len() as u32 + new_words).saturating_sub(data.result_count.into());
        for (word, v) in (first..).zip(data.results()) {
            let c = self.load_frame_value(word, shader.ty(v))?;
            self.define(v, ValueRep::Varying(c))?;
        }
        Ok(())
    }

    /// Loads an input of the stage from the lanes' frames.
    pub fn load_frame_input(&mut self, slot: u32, ty: Ty) -> Result<C> {
        self.load_frame_value(self.suspension.plan.frame().inputs + slot, ty)
    }

    /// Stores an output of the stage in the lanes' frames, where the input of the same kind is.
    pub fn store_frame_output(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let shader = self.shader;
        let kind = shader.outputs.get(slot as usize).map(|slot| slot.kind);
        let input = shader.inputs.iter().position(|input| Some(input.kind) == kind);
        let input = input.ok_or_else(|| Error::internal("an output of a frame that is no input"))?;
        let word = self.suspension.plan.frame().inputs + input as u32;
        let rep = self.value_rep(data.args[0])?;
        self.store_frame_value(word, shader.ty(data.args[0]), &rep)
    }

    /// Returns the position of the element that an access to a private array names, if the frames
    /// of invocations have the array.
    fn frame_element(&mut self, var: Var, index: Option<Value>) -> Result<Option<FrameElement>> {
        let Some(word) = self.suspension.plan.array_word(var) else { return Ok(None) };
        let (ty, last) = (self.shader.vars[var].ty, self.shader.vars[var].len.max(1) - 1);
        let offsets = self.invocation_frame()?.offsets();
        let Some(index) = index else { return Ok(Some(FrameElement { offsets, word })) };
        if let Some(bits) = self.constant_bits(index) {
            let word = word + bits.min(last.into()) as u32 * words_of(ty);
            return Ok(Some(FrameElement { offsets, word }));
        }
        let (index, last) = (self.vector(index)?, self.word(last as i32));
        let index = self.b.umin(index, last);
        let bytes = self.b.imul_imm(index, FrameInfo::word_bytes(words_of(ty)).into());
        Ok(Some(FrameElement { offsets: self.b.iadd(offsets, bytes), word }))
    }

    /// Emits a load from a private array in the frames of invocations; returns false if the array
    /// is elsewhere.
    pub fn load_frame_array(&mut self, var: Var, data: &InstData) -> Result<bool> {
        let Some(at) = self.frame_element(var, data.args.first().copied())? else { return Ok(false) };
        let c = self.load_frame_element(at, self.shader.vars[var].ty)?;
        self.define(data.result(), ValueRep::Varying(c))?;
        Ok(true)
    }

    /// Emits a store to a private array in the frames of invocations; returns false if the array is
    /// elsewhere.
    pub fn store_frame_array(&mut self, var: Var, data: &InstData) -> Result<bool> {
        let [ref index @ .., value] = data.args[..] else { return Err(Error::internal("a store without a value")) };
        let Some(at) = self.frame_element(var, index.first().copied())? else { return Ok(false) };
        let c = self.vector(value)?;
        self.store_frame_element(at, self.shader.vars[var].ty, c)?;
        Ok(true)
    }
}
