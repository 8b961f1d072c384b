//! Large composites: values with more than [`LARGE`] scalars are not split into scalars.
//!
//! A loaded value of that size stays in memory ([`Val::Kept`]). It stays where it was loaded from
//! if nothing can write there before its last use, else it is copied to a variable of its own.
//! Storing it, passing it to a phi or returning it is a copy by loops. As scalars, the elements of
//! one array of 65,536 would all be live at once and take megabytes of the generated code's frame.

use super::deco;
use super::heap::is_heap;
use super::locals::MAX_PRIVATE;
use super::memory::Index;
use super::module::{NO_MEMBER, View};
use super::opcodes::op;
use super::translator::Translator;
use super::types::{Const, MAX_LEAVES, Type};
use super::validate::count_id;
use super::value::{Memory, Origin, Pointer, PointerTarget, Slot, Val};
use crate::budget;
use crate::error::{Error, Result};
use crate::ir::{Cmp, Space, Term, Ty};
use base::shader::WorkgroupInfo;

/// Largest number of scalars of a value that is always held in scalars.
const LARGE: u64 = 256;
/// Number of scalars that are copied without a loop, or in one iteration of a loop. It is small,
/// because `unroll` would otherwise unroll the loop again.
const PIECE: u64 = 8;
/// Number of instructions in which the uses of a value are searched before it is copied.
const LOOK_AHEAD: u32 = 64;
/// Largest size in bytes of the variables of a workgroup that are made here. Beyond it, values are
/// held in scalars, which is slow but needs no private memory.
const MAX_KEPT: u64 = 32 << 20;

impl Translator<'_> {
    /// Returns true if values of the type stay in memory when they are loaded: large ones, and ray
    /// queries, which are no scalars.
    pub fn is_large(&self, ty: u32) -> Result<bool> {
        Ok(self.s.leaves(ty)? > LARGE || self.s.has_query(ty))
    }

    /// Sets a result to the large composite that a pointer points to.
    pub fn keep(&mut self, v: View<'_>, p: &Pointer, volatile: bool) -> Result<()> {
        if v.ty != p.ty {
            return Err(Error::invalid("result type is not what the pointer points to"));
        }
        let volatile = volatile || matches!(&p.place, PointerTarget::Memory(m) if m.volatile);
        let in_place = !volatile && self.unchanged_while_used(v.result, p);
        // A query may be changed by any operation on it.
        let in_place = in_place && !self.s.has_query(p.ty);
        let val = if in_place { Val::Kept(p.clone()) } else { self.snapshot(p, volatile)? };
        self.set(v.result, val)
    }

    /// Returns true if a value can be read in place: its memory is read-only, or all uses follow
    /// soon in its block and nothing before the last one can write there.
    fn unchanged_while_used(&self, id: u32, p: &Pointer) -> bool {
        let (Some(n), Some(first)) = (self.m.dense(id), self.m.def_inst(id)) else { return false };
        let uses = self.a.uses[n];
        if uses == 0 || matches!(&p.place, PointerTarget::Memory(m) if m.readonly && !self.a.escapes[n]) {
            return true;
        }
        let mut seen = 0;
        for inst in first + 1..=first + LOOK_AHEAD {
            // The end of the block precedes the end of the function, so the instruction exists.
            let v = self.m.view(inst);
            if self.m.is_ignored(v) {
                continue;
            }
            // Uses are counted as in the analysis, where a literal is not a use.
            let here = count_id(self.m, &v, id);
            seen += here;
            if seen >= uses {
                return here > 0 && matches!(v.op, op::OpStore | op::OpCompositeExtract);
            }
            let reads = matches!(
                v.op,
                op::OpLoad | op::OpAccessChain | op::OpInBoundsAccessChain | op::OpNop | op::OpLine | op::OpNoLine
            );
            if !(v.op == op::OpCompositeExtract || (here == 0 && (reads || super::alu::rule(v.op).is_some()))) {
                return false;
            }
        }
        false
    }

    /// Copies the pointed-to value to a variable that nothing else writes. If no variable of that
    /// size is allowed, loads it as scalars.
    fn snapshot(&mut self, p: &Pointer, volatile: bool) -> Result<Val> {
        let root = match &p.place {
            PointerTarget::Local(l) => self.locals[l.local].root,
            _ => 0,
        };
        let Some(own) = self.new_variable_like(root, p.ty)? else { return self.load_scalars(p, volatile) };
        self.copy(&own, p, volatile)?;
        Ok(Val::Kept(own))
    }

    /// Loads the pointed-to value as scalars, shared if they are many.
    pub fn load_scalars(&mut self, p: &Pointer, volatile: bool) -> Result<Val> {
        match self.load(p, volatile)? {
            Val::Flat(flat) => {
                self.spend(flat.len())?;
                Ok(Val::of(flat))
            }
            val => Ok(val),
        }
    }

    /// Returns the size in bytes of a variable of that type, or `None` if no further variable of
    /// that size is allowed.
    fn kept_size(&self, ty: u32) -> Result<Option<u64>> {
        let invocations = self.b.shader.stage_info.workgroup().map_or(1, WorkgroupInfo::invocations);
        let leaves = self.s.leaves(ty)?;
        let bytes = leaves.saturating_mul(8 * invocations.max(8));
        Ok((leaves <= MAX_PRIVATE && bytes <= MAX_KEPT - self.kept_bytes).then_some(bytes))
    }

    /// Creates a variable with the same layout as those of `root`.
    fn new_variable_like(&mut self, root: u32, ty: u32) -> Result<Option<Pointer>> {
        let Some(bytes) = self.kept_size(ty)? else { return Ok(None) };
        self.kept_bytes += bytes;
        self.make_local(root, ty, Vec::new()).map(Some)
    }

    /// Stores a kept value, or copies memory.
    pub fn store_kept(&mut self, to: &Pointer, from: &Pointer, volatile: bool) -> Result<()> {
        // Two ranges of buffers may overlap, so everything is read before anything is written. A
        // value that no variable can hold is copied directly if the ranges do not overlap.
        if let (PointerTarget::Memory(t), PointerTarget::Memory(f)) = (&to.place, &from.place) {
            let held = self.kept_size(from.ty)?.is_some() || self.s.leaves(from.ty)? <= MAX_LEAVES;
            if !held && to.ty == from.ty && self.are_apart(t, f)? {
                return self.copy(to, from, volatile);
            }
            return match self.snapshot(from, volatile)? {
                Val::Kept(own) => self.copy(to, &own, volatile),
                Val::Flat(flat) => self.store(to, flat, volatile),
                Val::Shared(shared) => self.store(to, shared.flat(), volatile),
                _ => Err(Error::invalid("copy of a descriptor")),
            };
        }
        self.copy(to, from, volatile)
    }

    /// Returns true if two objects of one type in buffers share nothing, or are the same object.
    /// That holds for objects in one variable, because its type contains no object of that type in
    /// another one. It also holds for objects in two variables unless both are Aliased, because an
    /// implementation may assume that these are disjoint (SPIR-V 2.18.2).
    fn are_apart(&mut self, a: &Memory, b: &Memory) -> Result<bool> {
        self.spend(self.m.decorations().count())?;
        let place = |m: &Memory| match (m.space, m.origin) {
            (Space::Buffer, Some(Origin::Desc(desc))) if !is_heap(desc.set) => Some((desc.set, desc.binding)),
            _ => None,
        };
        let (Some(a), Some(b)) = (place(a), place(b)) else { return Ok(false) };
        Ok(match (&self.variables_at(a)[..], &self.variables_at(b)[..]) {
            (&[x], &[y]) => x == y || !(self.m.decorated(x, deco::ALIASED) && self.m.decorated(y, deco::ALIASED)),
            _ => false,
        })
    }

    /// Returns the variables that have the descriptors of a binding.
    fn variables_at(&self, (set, binding): (u32, u32)) -> Vec<u32> {
        let of_binding = self.m.decorations().filter(|&(.., kind, words)| kind == deco::BINDING && *words == [binding]);
        let in_set = |&id: &u32| self.m.decoration_value(id, NO_MEMBER, deco::DESCRIPTOR_SET) == Some(set);
        of_binding.map(|(id, ..)| id).filter(in_set).collect()
    }

    /// Extracts a part of a kept value.
    pub fn extract_kept(&mut self, v: View<'_>, whole: Pointer, path: &[u32]) -> Result<()> {
        let mut p = whole;
        for &i in path {
            self.s.part(p.ty, i)?;
            p = self.part_pointer(p, Index::Const(i))?;
        }
        if self.is_large(p.ty)? {
            return self.keep(v, &p, false);
        }
        match self.load(&p, false)? {
            Val::Flat(flat) => self.result(v, flat),
            _ => Err(Error::invalid("part of a composite is not a value")),
        }
    }

    /// Puts a value into the slot of a phi or of a call's result, where it is read later.
    pub fn hand_over(&mut self, slot: &mut Slot, ty: u32, mut val: Val) -> Result<()> {
        if self.general {
            val = self.variable(val, ty)?;
        }
        if let (Slot::None, true) = (&*slot, self.is_large(ty)?)
            && let Some(own) = self.new_variable_like(0, ty)?
        {
            *slot = Slot::Val(Val::Kept(own));
        }
        match (slot, val) {
            (Slot::Val(Val::Kept(own)), Val::Kept(from)) => self.copy(own, &from, false),
            (Slot::Val(Val::Kept(own)), Val::Flat(flat)) => self.store(own, flat, false),
            (Slot::Val(Val::Kept(own)), Val::Shared(shared)) => {
                self.spend(shared.len())?;
                self.store(own, shared.flat(), false)
            }
            (slot, Val::Kept(from)) => {
                let val = self.load_scalars(&from, false)?;
                self.store_slot(slot, val, false)
            }
            (slot, val) => self.store_slot(slot, val, false),
        }
    }

    /// Reads kept values that are passed to phis. They may be the memory of those phis, so all are
    /// read before one is written.
    pub fn read_kept(&mut self, val: Val) -> Result<Val> {
        match val {
            Val::Kept(p) => self.snapshot(&p, false),
            val => Ok(val),
        }
    }

    /// Copies the pointed-to value, by loops over arrays that are in memory on both sides.
    fn copy(&mut self, to: &Pointer, from: &Pointer, volatile: bool) -> Result<()> {
        // Members of structures are copied one by one, which may generate much IR, so the budget is
        // checked.
        budget::ir(&self.b.shader)?;
        if let (Type::RayQuery, Type::RayQuery) = (self.s.ty(to.ty)?, self.s.ty(from.ty)?) {
            return self.copy_query(to, from);
        }
        let leaves = self.s.leaves(to.ty)?;
        let whole = leaves <= PIECE && !self.s.has_query(to.ty);
        if whole || leaves != self.s.leaves(from.ty)? {
            return match self.load(from, volatile)? {
                Val::Flat(flat) => self.store(to, flat, volatile),
                _ => Err(Error::invalid("copy of a descriptor")),
            };
        }
        let parts = self.s.part_count(to.ty)?;
        if parts != self.s.part_count(from.ty)? {
            return Err(Error::invalid("stored value does not have the pointer's type"));
        }
        let mut done = 0;
        if self.is_indexed(to)? && self.is_indexed(from)? {
            let step = step_of(leaves, parts);
            done = parts - parts % step;
            self.rounds([done, step], &mut |t, i| t.copy_part(to, from, i, volatile))?;
        }
        (done..parts).try_for_each(|i| self.copy_part(to, from, Index::Const(i), volatile))
    }

    fn copy_part(&mut self, to: &Pointer, from: &Pointer, i: Index, volatile: bool) -> Result<()> {
        let (to, from) = (self.part_pointer(to.clone(), i)?, self.part_pointer(from.clone(), i)?);
        self.copy(&to, &from, volatile)
    }

    /// Returns true for zeros that are too many to be held in scalars.
    pub fn is_large_null(&self, id: u32) -> Result<bool> {
        Ok(match self.s.constant(id) {
            Some(Const::Null(ty)) => self.s.leaves(*ty)? > MAX_LEAVES,
            _ => false,
        })
    }

    /// Stores zeros to the pointed-to value, by loops over arrays.
    pub fn clear(&mut self, to: &Pointer) -> Result<()> {
        budget::ir(&self.b.shader)?;
        let leaves = self.s.leaves(to.ty)?;
        if leaves <= PIECE {
            let zeros = self.s.leaf_types(to.ty)?.iter().map(|&t| self.b.konst(t, 0)).collect();
            return self.store(to, zeros, false);
        }
        let parts = self.s.part_count(to.ty)?;
        let mut one = |t: &mut Self, i: Index| {
            let part = t.part_pointer(to.clone(), i)?;
            t.clear(&part)
        };
        let mut done = 0;
        if self.is_indexed(to)? {
            let step = step_of(leaves, parts);
            done = parts - parts % step;
            self.rounds([done, step], &mut one)?;
        }
        (done..parts).try_for_each(|i| one(self, Index::Const(i)))
    }

    /// Calls `one` for each of the first `end` elements, `step` of them per iteration of a loop.
    /// `end` is a multiple of `step`, and greater than 0.
    pub fn rounds(&mut self, [end, step]: [u32; 2], one: &mut dyn FnMut(&mut Self, Index) -> Result<()>) -> Result<()> {
        let counter = self.b.var(Ty::I32, 1, "");
        let zero = self.b.i32(0);
        self.b.store_var(counter, None, zero);
        let label = self.b.shader.new_label();
        self.b.push_region();
        let first = self.b.load_var(counter, None);
        for i in 0..step {
            let i = self.b.i32(i);
            let i = self.b.add(first, i);
            one(self, Index::Dynamic(i))?;
        }
        let (step, end) = (self.b.i32(step), self.b.i32(end));
        let next = self.b.add(first, step);
        self.b.store_var(counter, None, next);
        let more = self.b.cmp(Cmp::ULt, next, end);
        self.b.push_region();
        let again = self.b.pop_region(Term::Yield(Vec::new()));
        self.b.push_region();
        let leave = self.b.pop_region(Term::Break(label, Vec::new()));
        self.b.if_(more, again, leave);
        let body = self.b.pop_region(Term::Yield(Vec::new()));
        self.b.loop_(label, body);
        Ok(())
    }

    /// Returns true if the pointer points to an array or a long vector whose elements can be
    /// indexed at run time.
    fn is_indexed(&self, p: &Pointer) -> Result<bool> {
        let len = match self.s.array_like(p.ty)? {
            Some((_, len)) if !matches!(self.s.ty(p.ty)?, Type::Matrix { .. }) => len,
            _ => return Ok(false),
        };
        Ok(match &p.place {
            PointerTarget::Local(l) => self.kept(self.locals[l.local].root, p.ty, len),
            PointerTarget::Memory(_) => true,
            PointerTarget::Resource(_) | PointerTarget::Texel { .. } => false,
        })
    }
}

/// Returns the number of elements of an array that one iteration of a loop copies.
fn step_of(leaves: u64, parts: u32) -> u32 {
    (PIECE / (leaves / u64::from(parts)).max(1)).clamp(1, u64::from(parts)) as u32
}
