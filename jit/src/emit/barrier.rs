//! Workgroup barriers without fibers: a barrier ends the call for a chunk, which says in its resume index where to go on.
//!
//! The scratch memory of a workgroup is: resume indices (one u32 per chunk, zero at the start), then slots. A slot is an array over
//! chunks. A *segment* is a piece of program between barriers (and the headers and merges of constructs that contain one);
//! a value used in another segment than its definition's is stored to a slot at its definition and loaded at each use, because the
//! machine value does not dominate a resume block. Constants and what the chunk loop computes dominate everything and need no slot.

use super::Emitter;
use super::cell::{Form, assemble, form_types, parts};
use super::facts::Facts;
use super::memory::trusted;
use super::rep::Rep;
use crate::error::{Error, Result};
use crate::ir::{Effects, Inst, Node, Op, Region, Shader, Term, Value, ValueDef, Var};
use crate::lir::{Block, Elem, Type, Value as C};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// State of a shader with barriers (empty for others).
#[derive(Default)]
pub struct Barriers {
    /// The shader has barriers.
    pub any: bool,
    /// Values that need a slot.
    needed: SecondaryMap<Value, bool>,
    /// Slot and form of values defined so far.
    slots: SecondaryMap<Value, Option<(u32, Form)>>,
    /// Segment being emitted, and that of each value's definition.
    segment: u32,
    defined_in: SecondaryMap<Value, u32>,
    /// Bytes per chunk given out.
    pub frame: u32,
    /// Where chunks go on; index 0 is the start.
    pub resume: Vec<Block>,
    /// Frame offsets of private arrays.
    arrays: SecondaryMap<Var, Option<u32>>,
}

impl Barriers {
    /// Frame offset of a private array, once it has one.
    pub fn array_base(&self, var: Var) -> Option<u32> {
        self.arrays[var]
    }
    /// Sets it.
    pub fn set_array_base(&mut self, var: Var, base: u32) {
        self.arrays[var] = Some(base);
    }
    /// Finds the values that live across barriers.
    pub fn new(shader: &Shader, facts: &Facts<'_>) -> Barriers {
        let mut barriers = Barriers { any: facts.has_barrier(&shader.root.body), ..Barriers::default() };
        if barriers.any {
            let mut scan = Scan { shader, facts, barriers: &mut barriers, segment: 0, defined: SecondaryMap::new() };
            // As `Emitter::scope` counts for the root.
            scan.segment += 1;
            scan.region(&shader.root.body);
        }
        barriers
    }
}

/// Walks in the order of emission, counting segments the same way.
struct Scan<'a> {
    shader: &'a Shader,
    facts: &'a Facts<'a>,
    barriers: &'a mut Barriers,
    segment: u32,
    defined: SecondaryMap<Value, u32>,
}

impl Scan<'_> {
    fn uses(&mut self, values: &[Value]) {
        for &v in values {
            let constant = match self.shader.values[v].def {
                ValueDef::Inst(inst, _) => matches!(self.shader.insts[inst].op, Op::Const(_)),
                ValueDef::Region => false,
            };
            if !constant && self.defined[v] != self.segment {
                self.barriers.needed[v] = true;
            }
        }
    }

    fn defines(&mut self, values: &[Value]) {
        for &v in values {
            self.defined[v] = self.segment;
        }
    }

    fn inst(&mut self, inst: Inst) {
        let data = &self.shader.insts[inst];
        self.uses(&data.args);
        if data.op.effects().intersects(Effects::SUSPENDS) {
            self.segment += 1;
        }
        let results: Vec<Value> = data.results().collect();
        self.defines(&results);
    }

    fn region(&mut self, region: &Region) {
        for node in &region.nodes {
            match node {
                Node::Inst(inst) => self.inst(*inst),
                Node::If(n) => {
                    let crosses = self.facts.has_barrier(&n.then) || self.facts.has_barrier(&n.else_);
                    let step = u32::from(crosses);
                    self.uses(&[n.cond]);
                    for arm in [&n.then, &n.else_] {
                        self.segment += step;
                        self.region(arm);
                    }
                    self.segment += step;
                    self.defines(&n.results);
                }
                Node::Loop(n) => {
                    let step = u32::from(self.facts.has_barrier(&n.body));
                    self.uses(&n.inits);
                    self.segment += step;
                    self.defines(&n.params);
                    self.region(&n.body);
                    self.segment += step;
                    self.defines(&n.results);
                }
                Node::Scope(n) => {
                    let step = u32::from(self.facts.has_barrier(&n.body));
                    self.segment += step;
                    self.region(&n.body);
                    self.segment += step;
                    self.defines(&n.results);
                }
            }
        }
        match &region.term {
            Term::Yield(values) | Term::Break(_, values) => self.uses(values),
            Term::Unreachable => {}
        }
    }
}

/// What a slot's unit holds of a value.
fn unit_type(ty: Type) -> Type {
    match ty.bytes() {
        ..=16 => ty,
        // A vector has no two lanes.
        _ if ty.lane_bytes() == 8 => Elem::I32.by(4),
        _ => ty.elem.by(4),
    }
}

impl Emitter<'_> {
    /// Counts a segment at the edges of constructs with barriers.
    pub fn next_segment(&mut self, crosses: bool) {
        self.barriers.segment += u32::from(crosses);
    }

    /// The slot to reload a value from, when its definition lies in another segment.
    pub fn spilled(&self, v: Value) -> Option<(u32, Form)> {
        if !self.barriers.any || self.barriers.defined_in[v] == self.barriers.segment {
            return None;
        }
        self.barriers.slots[v]
    }

    /// Remembers where a value is defined, and stores it when somebody in another segment wants it.
    pub fn spill(&mut self, v: Value, rep: &Rep) -> Result<()> {
        if !self.barriers.any {
            return Ok(());
        }
        self.barriers.defined_in[v] = self.barriers.segment;
        if !self.barriers.needed[v] {
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
    pub fn reload(&mut self, v: Value, (base, form): (u32, Form)) -> Result<Rep> {
        let mut offset = base;
        let mut values = Vec::new();
        for t in form_types(self.shader.ty(v), form, self.lanes as usize) {
            values.push(self.load_slot(offset, t));
            offset += t.bytes().next_multiple_of(16);
        }
        Ok(assemble(form, &values))
    }

    /// A slot of a machine type; its offset.
    pub fn new_slot(&mut self, ty: Type) -> u32 {
        self.new_bytes(ty.bytes())
    }

    /// Bytes of the chunk's frame, a multiple of 16; their offset.
    pub fn new_bytes(&mut self, bytes: u32) -> u32 {
        let offset = self.barriers.frame;
        // A frame beyond all bounds is refused when the function is finished.
        self.barriers.frame = self.barriers.frame.saturating_add(bytes.next_multiple_of(16));
        offset
    }

    /// Address of a frame offset of the current chunk. Slots lie chunk-major inside 16-byte units, so that the address does not depend
    /// on the final frame size: unit u of chunk c is at (u * chunks + c) * 16.
    fn slot_address(&mut self, offset: u32) -> (C, i32) {
        let fixed = (offset / 16).wrapping_mul(self.chunks * 16).wrapping_add(self.slots_start);
        (self.chunk_slots, fixed as i32)
    }

    /// Stores to a frame slot.
    pub fn store_slot(&mut self, offset: u32, c: C) {
        let ty = self.b.ty(c);
        if ty.bytes() <= 16 {
            let (base, fixed) = self.slot_address(offset);
            return self.b.store(trusted(fixed), c, base);
        }
        // Units are not side by side.
        let words = unit_type(ty).elem.by(ty.bytes() as usize / 4);
        let c = self.b.bitcast(words, c);
        for unit in 0..words.lanes() / 4 {
            let part = self.b.slice(c, 4 * unit, 4);
            let (base, fixed) = self.slot_address(offset + 16 * unit as u32);
            self.b.store(trusted(fixed), part, base);
        }
    }

    /// Loads from a frame slot.
    pub fn load_slot(&mut self, offset: u32, ty: Type) -> C {
        let mut parts: SmallVec<[C; 4]> = SmallVec::new();
        for unit in 0..ty.bytes().div_ceil(16) {
            let (base, fixed) = self.slot_address(offset + 16 * unit);
            parts.push(self.b.load(unit_type(ty), trusted(fixed), base));
        }
        let all = self.concat(&parts);
        self.b.bitcast(ty, all)
    }

    /// `Op::Barrier`: in a shader with regions, the end of one and the start of the next.
    pub fn barrier(&mut self) -> Result<()> {
        let index = self.barriers.resume.len() as u32;
        let resume = self.b.create_block();
        self.barriers.resume.push(resume);
        self.set_resume(index);
        let pending = core::mem::offset_of!(base::abi::ComputeBatch, pending) as i32;
        let count = self.b.load(Type::I32, trusted(pending), self.batch);
        let count = self.b.iadd_imm(count, 1);
        self.b.store(trusted(pending), count, self.batch);
        let latch = self.latch.ok_or_else(|| Error::invalid("a barrier outside of a compute stage"))?;
        self.b.jump(latch, &[]);
        self.b.switch_to_block(resume);
        self.barriers.segment += 1;
        Ok(())
    }

    /// Where the chunk goes on in the next call.
    pub fn set_resume(&mut self, index: u32) {
        let value = self.b.iconst(Type::I32, i64::from(index));
        self.b.store(trusted(0), value, self.resume_address);
    }
}
