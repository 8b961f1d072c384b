//! Untyped pointers (SPV_KHR_untyped_pointers): the instruction that uses a pointer gives the type
//! of its pointee.
//!
//! Their type is that of a pointer to [`UNTYPED`]. A pointer into memory with a layout is an
//! address for any pointee, so only the type is replaced. A pointer to descriptors keeps its type,
//! which gives the distance to the next descriptor.

use super::heap::is_heap;
use super::layout::{array_stride, member_offset};
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::{Type, UNTYPED};
use super::value::{Desc, Flat, Memory, Pointer, PointerTarget, Resource};
use crate::error::{Error, Result};
use crate::ir::Ty;

/// Largest number of bytes of an OpCopyMemorySized.
const MAX_COPY: u64 = 1 << 16;

impl Translator<'_> {
    /// Returns true if the pointer's type does not give its pointee.
    pub fn is_untyped(&self, id: u32) -> Result<bool> {
        Ok(matches!(self.s.ty(self.type_of(id)?)?, Type::Pointer { to: UNTYPED, .. }))
    }

    /// Returns a pointer to something of type `ty`, unless its own type gives the pointee.
    pub fn pointer_to(&mut self, id: u32, ty: u32) -> Result<Pointer> {
        let p = self.pointer(id)?;
        Ok(if self.is_untyped(id)? { retyped(p, ty) } else { p })
    }

    /// Translates access chains and array lengths of untyped pointers.
    pub fn untyped_op(&mut self, v: View<'_>) -> Result<()> {
        let (base_type, base) = (v.arg(0)?, v.arg(1)?);
        if v.op == op::OpUntypedArrayLengthKHR {
            let p = retyped(self.pointer(base)?, base_type);
            let n = self.array_length(p, v.arg(2)?)?;
            return self.result(v, Flat::from_slice(&[n]));
        }
        let steps = matches!(v.op, op::OpUntypedPtrAccessChainKHR | op::OpUntypedInBoundsPtrAccessChainKHR);
        let mut p = self.pointer(base)?;
        if let PointerTarget::Resource(r) = p.place
            && is_heap(r.desc.set)
        {
            if steps {
                return Err(Error::unsupported("pointer arithmetic on descriptors"));
            }
            let p = self.heap_chain(r, base_type, v.args.get(2..).unwrap_or(&[]))?;
            return self.pointer_result(v, p);
        }
        p = retyped(p, base_type);
        if let PointerTarget::Memory(m) = &mut p.place {
            (m.matrix, m.comp_stride) = (None, None);
        }
        if steps {
            p = self.element_step(p, v.arg(2)?, self.type_of(base)?)?;
        }
        for &id in v.args.get(2 + usize::from(steps)..).unwrap_or(&[]) {
            let i = self.index(id)?;
            p = self.part_pointer(p, i).map_err(|e| e.with_id(id))?;
        }
        self.pointer_result(v, retyped(p, UNTYPED))
    }

    /// Returns the pointers of an OpCopyMemory; one of them gives the type that is copied.
    pub fn copied(&mut self, to: u32, from: u32) -> Result<(Pointer, Pointer)> {
        let (target, source) = (self.pointer(to)?, self.pointer(from)?);
        match (self.is_untyped(to)?, self.is_untyped(from)?) {
            (false, false) => Ok((target, source)),
            (false, true) => Ok((target.clone(), retyped(source, target.ty))),
            (true, false) => Ok((retyped(target, source.ty), source)),
            (true, true) => Err(Error::invalid("copy of nobody knows what")),
        }
    }

    /// Translates OpCopyMemorySized: all is read before anything is written.
    pub fn copy_sized(&mut self, v: View<'_>) -> Result<()> {
        let size = self
            .s
            .constant_bits(v.arg(2)?)
            .map_err(|_| Error::unsupported("copy of a number of bytes that is not constant"))?;
        if size > MAX_COPY {
            return Err(Error::limit("copy of too many bytes"));
        }
        let volatile = v.args.get(3).is_some_and(|mask| mask & 1 != 0);
        let (target, source) = (self.pointer(v.arg(0)?)?, self.pointer(v.arg(1)?)?);
        let (to, from) = match (&target.place, &source.place) {
            (PointerTarget::Memory(to), PointerTarget::Memory(from)) => (*to, *from),
            // A variable that is held in scalars is copied with its own type.
            (PointerTarget::Local(_), PointerTarget::Memory(_)) => {
                return self.copy_whole(&target, &retyped(source, target.ty), size);
            }
            (PointerTarget::Memory(_), PointerTarget::Local(_)) => {
                return self.copy_whole(&retyped(target, source.ty), &source, size);
            }
            _ => return Err(Error::unsupported("copy of bytes between these storage classes")),
        };
        let unit = [Ty::I32, Ty::I16].into_iter().find(|ty| size.is_multiple_of(ty.bytes().into())).unwrap_or(Ty::I8);
        let leaves = (0..size as u32).step_by(unit.bytes() as usize);
        let leaves: Vec<_> = leaves.map(|offset| super::layout::MemLeaf { offset, ty: unit }).collect();
        self.spend(leaves.len())?;
        let all = self.load_leaves(&from, &leaves, volatile)?;
        self.store_leaves(&to, &leaves, &all, volatile)
    }

    fn copy_whole(&mut self, to: &Pointer, from: &Pointer, size: u64) -> Result<()> {
        let leaves = self.s.leaf_types(to.ty)?;
        if leaves.iter().map(|ty| u64::from(ty.bytes())).sum::<u64>() != size {
            return Err(Error::unsupported("copy of a part of a variable"));
        }
        self.store_kept(to, from, false)
    }

    /// Follows an access chain into a heap, starting at a type.
    pub fn heap_chain(&mut self, r: Resource, mut ty: u32, indices: &[u32]) -> Result<Pointer> {
        let mut at = r.desc.index;
        for &id in indices {
            let constant = self.s.constant_int(id);
            (at, ty) = match *self.s.ty(ty)? {
                Type::Struct(ref members) => {
                    let member = constant.and_then(|c| u32::try_from(c).ok());
                    let part = member.and_then(|c| Some((c, *members.get(c as usize)?)));
                    let (member, part) = part.ok_or_else(|| Error::invalid("there is no such member").with_id(id))?;
                    (self.plus(at, member_offset(self.s, ty, member)?), part)
                }
                Type::Array { elem, .. } | Type::RuntimeArray { elem } => {
                    let stride = array_stride(self.s, ty, elem, None)?;
                    let i = self.scalar(id)?;
                    let i = self.b.int_as(i, Ty::I32);
                    let by = self.b.mul(i, stride.into());
                    (self.b.add(at, by), elem)
                }
                Type::Vector { elem, .. } => {
                    let i = self.scalar(id)?;
                    let i = self.b.int_as(i, Ty::I32);
                    let by = self.b.mul(i, self.s.scalar(elem)?.bytes().into());
                    (self.b.add(at, by), elem)
                }
                _ => return Err(Error::invalid("access chain into a descriptor").with_id(id)),
            };
        }
        Ok(Pointer { ty, place: PointerTarget::Resource(Resource { desc: Desc { index: at, ..r.desc }, ..r }) })
    }
}

/// Returns a pointer into memory with another pointee type.
fn retyped(p: Pointer, ty: u32) -> Pointer {
    match p.place {
        PointerTarget::Memory(Memory { .. }) | PointerTarget::Texel { .. } => Pointer { ty, ..p },
        PointerTarget::Resource(r) if is_heap(r.desc.set) => Pointer { ty, ..p },
        _ => p,
    }
}
