//! Workgroup barriers without fibers: a barrier ends the call for a chunk, which records in its
//! resume index where to continue.
//!
//! [`super::suspend`] determines the points of continuation and the values that must be kept in
//! between. The scratch memory of a workgroup consists of the resume indices (one u32 per chunk,
//! initially zero) and the slots behind them.
//!
//! A slot is an array over chunks. A value that needs a slot is stored to it at its definition and
//! loaded at each use in another segment. Constants and values of the chunk loop dominate all uses
//! and need no slot.

use super::Emitter;
use super::memory::trusted;
use super::ssa_variable::{RepForm, assemble, form_types, parts};
use super::suspend::{Segment, Suspension};
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{Inst, Region, Value, Var};
use crate::lir::{AccessReason, Block, Elem, Type, Value as C};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// State of a shader with barriers; it is empty for other shaders.
#[derive(Default)]
pub struct Barriers {
    /// True if the shader has barriers.
    pub any: bool,
    plan: Suspension,
    /// Slot and form of values defined so far.
    slots: SecondaryMap<Value, Option<(u32, RepForm)>>,
    /// The segment that is being emitted.
    segment: Segment,
    /// Last reload of each value: segment, block and machine form. Within a segment the contents of
    /// a slot do not change.
    reloads: SecondaryMap<Value, Option<(Segment, Block, ValueRep)>>,
    /// The block that dispatches on resume indices.
    dispatch: Option<Block>,
    /// Slot that keeps the exec mask across barriers.
    exec_slot: Option<u32>,
    /// Number of bytes of the frame that are allocated per chunk.
    pub frame: u32,
    /// Blocks where chunks continue, by resume index; `None` for points that are unreachable.
    resume: Vec<Option<Block>>,
    /// Frame offsets of private arrays.
    arrays: SecondaryMap<Var, Option<u32>>,
}

impl Barriers {
    /// Creates the state before anything is emitted.
    pub fn new(plan: Suspension) -> Barriers {
        let points = plan.points() as usize;
        Barriers { any: points != 0, plan, resume: vec![None; points + 1], ..Barriers::default() }
    }
    /// Returns the frame offset of a private array, if it has one yet.
    pub fn array_base(&self, var: Var) -> Option<u32> {
        self.arrays[var]
    }
    /// Sets the frame offset of a private array.
    pub fn set_array_base(&mut self, var: Var, base: u32) {
        self.arrays[var] = Some(base);
    }
    /// Returns true if the construct of a region is emitted in segments.
    pub fn spans_barrier(&self, region: &Region) -> bool {
        self.any && self.plan.region_segments(region).is_some()
    }
    /// Sets the block where the program starts, and the block before it that dispatches on resume
    /// indices.
    pub fn start_at(&mut self, dispatch: Block, block: Block) {
        self.dispatch = Some(dispatch);
        self.resume[0] = Some(block);
    }
    /// Returns true if the parts of a value's machine form are available: defined in this segment,
    /// or stored in its slot.
    pub fn is_available(&self, v: Value) -> bool {
        !self.any || self.plan.defined_in(v) == self.segment || self.slots[v].is_some()
    }
    /// Returns the values of other segments that a loop uses.
    pub fn loop_uses(&self, region: &Region) -> &[Value] {
        self.plan.loop_uses(region)
    }
    /// Returns the machine form of a value that was reloaded in this segment, if the block of the
    /// reload dominates `here`.
    fn reloaded(&self, v: Value, dominates: impl Fn(Block) -> bool) -> Option<ValueRep> {
        let (segment, block, rep) = self.reloads[v].as_ref()?;
        (*segment == self.segment && dominates(*block)).then(|| rep.clone())
    }
    /// Returns the block that dispatches on resume indices.
    pub fn dispatch(&self) -> Option<Block> {
        self.dispatch
    }
    /// Returns the resume index of a finished chunk.
    pub fn done(&self) -> u32 {
        self.resume.len() as u32
    }
    /// Returns the blocks where chunks continue, by resume index; unreachable points get `done`.
    pub fn resume_blocks(&self, done: Block) -> Vec<Block> {
        self.resume.iter().map(|block| block.unwrap_or(done)).collect()
    }
}

/// Returns the part of a value of type `ty` that one 16-byte unit of a slot holds.
fn unit_type(ty: Type) -> Type {
    match ty.bytes() {
        ..=16 => ty,
        _ if ty.lane_bytes() == 4 => ty.elem.by(4),
        // A vector cannot have two lanes, and a unit holds more than four narrow lanes; both are
        // stored as four words.
        _ => Elem::I32.by(4),
    }
}

/// Returns true if a value has more words than the largest vector.
fn exceeds_words(ty: Type) -> bool {
    ty.bytes() as usize > 4 * Type::MAX_LANES_PER_VECTOR
}

impl Emitter<'_> {
    /// Enters the segment in which the body of a region starts.
    pub fn begin_segment(&mut self, region: &Region) {
        if let Some(region_segments) = self.barriers.plan.region_segments(region).filter(|_| self.barriers.any) {
            self.barriers.segment = region_segments.start;
        }
    }

    /// Enters the segment that follows the construct of a region.
    pub fn end_segment(&mut self, region: &Region) {
        if let Some(region_segments) = self.barriers.plan.region_segments(region).filter(|_| self.barriers.any) {
            self.barriers.segment = region_segments.after;
        }
    }

    /// Returns the slot from which a value must be reloaded, if its definition lies in another
    /// segment.
    pub fn spilled(&self, v: Value) -> Option<(u32, RepForm)> {
        if !self.barriers.any || self.barriers.plan.defined_in(v) == self.barriers.segment {
            return None;
        }
        self.barriers.slots[v]
    }

    /// Stores a value at its definition, if another segment uses it.
    pub fn spill(&mut self, v: Value, rep: &ValueRep) -> Result<()> {
        if !self.barriers.any || !self.barriers.plan.needs_slot(v) {
            return Ok(());
        }
        let (form, values) = parts(rep);
        let types = form_types(self.shader.ty(v), form, self.lanes as usize);
        let size: u32 = types.iter().map(|t| t.bytes().next_multiple_of(16)).sum();
        let base = self.new_bytes(size);
        let mut offset = base;
        for (&c, t) in values.iter().zip(&types) {
            self.store_slot(offset, c);
            offset += t.bytes().next_multiple_of(16);
        }
        self.barriers.slots[v] = Some((base, form));
        Ok(())
    }

    /// Loads a spilled value.
    pub fn reload(&mut self, v: Value, (base, form): (u32, RepForm)) -> Result<ValueRep> {
        let here = self.b.current();
        if let Some(rep) = self.barriers.reloaded(v, |block| self.b.dominates(block, here)) {
            return Ok(rep);
        }
        let mut offset = base;
        let mut values = Vec::new();
        for t in form_types(self.shader.ty(v), form, self.lanes as usize) {
            values.push(self.load_slot(offset, t));
            offset += t.bytes().next_multiple_of(16);
        }
        let rep = assemble(form, &values);
        self.barriers.reloads[v] = Some((self.barriers.segment, here, rep.clone()));
        Ok(rep)
    }

    /// Allocates a slot for a machine type and returns its frame offset.
    pub fn new_slot(&mut self, ty: Type) -> u32 {
        self.new_bytes(ty.bytes())
    }

    /// Allocates bytes of the chunk's frame, rounded up to a multiple of 16, and returns their
    /// offset.
    pub fn new_bytes(&mut self, bytes: u32) -> u32 {
        let offset = self.barriers.frame;
        // A frame that overflows is refused when the function is finished.
        self.barriers.frame = self.barriers.frame.saturating_add(bytes.next_multiple_of(16));
        offset
    }

    /// Returns the address of a frame offset of the current chunk. Slots lie chunk-major inside
    /// 16-byte units: unit u of chunk c is at (u * chunks + c) * 16. The address therefore does not
    /// depend on the final frame size.
    fn slot_address(&mut self, offset: u32) -> (C, i32) {
        let fixed = (offset / 16).wrapping_mul(self.chunks * 16).wrapping_add(self.slots_start);
        (self.chunk_slots, fixed as i32)
    }

    /// Stores a value to a frame slot.
    pub fn store_slot(&mut self, offset: u32, c: C) {
        let ty = self.b.ty(c);
        if ty.bytes() <= 16 {
            let (base, fixed) = self.slot_address(offset);
            return self.b.store(trusted(AccessReason::Scratch, fixed), c, base);
        }
        if exceeds_words(ty) {
            let half = ty.lanes() / 2;
            for (first, offset) in [(0, offset), (half, offset + ty.bytes() / 2)] {
                let part = self.b.slice(c, first, half);
                self.store_slot(offset, part);
            }
            return;
        }
        // The 16-byte units of a slot are not adjacent.
        let words = unit_type(ty).elem.by(ty.bytes() as usize / 4);
        let c = self.b.bitcast(words, c);
        for unit in 0..words.lanes() / 4 {
            let part = self.b.slice(c, 4 * unit, 4);
            let (base, fixed) = self.slot_address(offset + 16 * unit as u32);
            self.b.store(trusted(AccessReason::Scratch, fixed), part, base);
        }
    }

    /// Loads a value from a frame slot.
    pub fn load_slot(&mut self, offset: u32, ty: Type) -> C {
        if exceeds_words(ty) {
            let half = ty.elem.by(ty.lanes() / 2);
            let parts = [offset, offset + ty.bytes() / 2].map(|offset| self.load_slot(offset, half));
            return self.concat(&parts);
        }
        let mut parts: SmallVec<[C; 4]> = SmallVec::new();
        for unit in 0..ty.bytes().div_ceil(16) {
            let (base, fixed) = self.slot_address(offset + 16 * unit);
            parts.push(self.b.load(unit_type(ty), trusted(AccessReason::Scratch, fixed), base));
        }
        let all = self.concat(&parts);
        self.b.bitcast(ty, all)
    }

    /// Emits `Op::Barrier`: the end of one segment and the start of the next.
    pub fn barrier(&mut self, inst: Inst) -> Result<()> {
        let point =
            self.barriers.plan.point(inst).ok_or_else(|| Error::internal("a barrier is no suspension point"))?;
        let resume = self.b.create_block();
        self.barriers.resume[point.index as usize] = Some(resume);
        self.set_resume(point.index);
        let kept = (!self.full).then(|| self.save_exec());
        let stopped_chunks = self.workgroup_state()?.stopped_chunks;
        let count = self.b.use_var(stopped_chunks);
        let count = self.b.iadd_imm(count, 1);
        self.b.def_var(stopped_chunks, count);
        let latch = self.latch.ok_or_else(|| Error::invalid("a barrier outside of a compute stage"))?;
        self.b.jump(latch, &[]);
        self.resume_at(resume)?;
        self.barriers.segment = point.segment;
        let mask = match kept {
            Some(slot) => self.load_slot(slot, Elem::B.by(self.lanes as usize)),
            None => self.mask(true),
        };
        let full = self.full;
        self.set_exec(mask, full);
        Ok(())
    }

    /// Enters a block that the dispatch on resume indices jumps to.
    fn resume_at(&mut self, resume: Block) -> Result<()> {
        let dispatch = self.barriers.dispatch.ok_or_else(|| Error::internal("a barrier without regions"))?;
        self.b.enter_dominated_by(resume, dispatch);
        Ok(())
    }

    /// Stores the exec mask in the slot that keeps it across barriers, and returns that slot.
    fn save_exec(&mut self) -> u32 {
        let exec = self.exec_mask();
        let slot = match self.barriers.exec_slot {
            Some(slot) => slot,
            None => self.new_slot(self.b.ty(exec)),
        };
        self.barriers.exec_slot = Some(slot);
        self.store_slot(slot, exec);
        slot
    }

    /// Stores the resume index at which the chunk continues in the next call.
    pub fn set_resume(&mut self, index: u32) {
        let value = self.b.iconst(Type::I32, i64::from(index));
        self.b.store(trusted(AccessReason::Scratch, 0), value, self.resume_address);
    }
}
