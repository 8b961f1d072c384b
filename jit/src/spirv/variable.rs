//! Variable pointers into storage buffers and workgroup memory, chosen at run time.
//!
//! A pointer has a static buffer ([`Origin::Desc`]) until it merges with one into another buffer.
//! Then the buffer becomes a *number*: every descriptor of every storage buffer has one, 0 is
//! null's. An access selects the buffer by its number, among those that contain something of the
//! pointee's type (`pointees`), because a pointer of a type cannot point anywhere else. As a
//! scalar, in a variable or as a constant, a pointer is one I64. It has the number in the upper
//! half and the offset in the lower half, counted from null's offset, so that null is zero.
//!
//! Phis and returns keep a pointer in the form that the first value has. If another value differs
//! in more than values, the entry point is translated again with all of them in the general form
//! ([`Translator::general`]).

use super::heap::RESOURCE_HEAP;
use super::module::NO_MEMBER;
use super::pointees::Pointee;
use super::translator::Translator;
use super::types::{Type, UNTYPED};
use super::value::{Desc, DriverLayout, Memory, Origin, Pointer, PointerTarget, Val};
use super::{class, deco};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Space, Ty, Value};

/// Offset of a null pointer: outside every buffer and workgroup memory, also with the offset of a
/// part added.
const NULL: u32 = 0x6000_0000;

impl Translator<'_> {
    /// Returns space and pointee of a pointer type that may be variable.
    fn variable_type(&self, ty: u32) -> Option<(Space, u32)> {
        match *self.s.ty(ty).ok()? {
            Type::Pointer { class: class::STORAGE_BUFFER, to } => Some((Space::Buffer, to)),
            Type::Pointer { class: class::WORKGROUP, to } => Some((Space::Shared, to)),
            _ => None,
        }
    }

    /// Converts a pointer to the general form, in which two of a type differ only in values.
    /// Everything else stays as it is.
    pub fn variable(&mut self, val: Val, ty: u32) -> Result<Val> {
        let Some((space, to)) = self.variable_type(ty) else { return Ok(val) };
        let p = match val {
            Val::Ptr(p) => p,
            Val::Flat(flat) if flat.len() == 1 => self.unpack(flat[0], space, to)?,
            _ => return Err(Error::invalid("operand is not a pointer")),
        };
        // An array of descriptors has no address at run time.
        let PointerTarget::Memory(m) = p.place else { return Ok(Val::Ptr(p)) };
        if m.space != space || (p.ty != to && to != UNTYPED) {
            return Err(Error::invalid("operand does not point to what its type says"));
        }
        let about = self.pointees.pointee(self.s, &mut self.leaves, space, to)?;
        let (mut is_matrix, mut is_vector) = (false, false);
        if to != UNTYPED {
            is_matrix = matches!(self.s.ty(self.s.without_arrays(to)?)?, Type::Matrix { .. });
            is_vector = matches!(self.s.ty(to)?, Type::Vector { .. });
        }
        if (is_matrix && m.matrix != about.matrix) || (is_vector && m.comp_stride.is_some()) {
            return Err(Error::unsupported("variable pointer into matrices of different layouts"));
        }
        let base = self.memory_offset(&m);
        let origin = match m.origin {
            Some(origin) => Some(Origin::Number { number: self.number(origin)?, to }),
            None => None,
        };
        Ok(Val::Ptr(Pointer { ty: to, place: PointerTarget::Memory(general(&about, origin, base, space)) }))
    }

    /// Returns the number of a pointer's buffer.
    fn number(&mut self, origin: Origin) -> Result<Value> {
        let d = match origin {
            Origin::Number { number, .. } => return Ok(number),
            Origin::Desc(d) => d,
        };
        // The number of a heap's buffer is the first byte of its descriptor.
        if d.set == RESOURCE_HEAP {
            return Ok(d.index);
        }
        let Some(range) = self.pointees.numbers((d.set, d.binding)) else {
            return Err(Error::invalid("a logical pointer is used as a value"));
        };
        let last = range.end - range.start - 1;
        let index = match self.b.shader.as_const(d.index) {
            Some(index) => self.b.i32((index as u32).min(last)),
            None => {
                let last = self.b.i32(last);
                self.b.bin(Binary::UMin, d.index, last)
            }
        };
        let first = self.b.i32(range.start);
        Ok(self.b.add(index, first))
    }

    /// Returns the buffer that a pointer points into.
    pub fn buffer(&mut self, origin: Origin) -> Result<Value> {
        let (number, to) = match origin {
            Origin::Desc(d) => return Ok(self.descriptor(d)),
            Origin::Number { number, to } => (number, to),
        };
        if self.layout.heap.is_some() {
            return Ok(self.descriptor(Desc { set: RESOURCE_HEAP, binding: 0, index: number }));
        }
        let about = self.pointees.pointee(self.s, &mut self.leaves, Space::Buffer, to)?;
        let mut found = None;
        for &(set, binding) in &about.bindings {
            let Some(range) = self.pointees.numbers((set, binding)) else { continue };
            let first = self.b.i32(range.start.wrapping_neg());
            let own = self.b.add(number, first);
            let n = range.end - range.start;
            // The binding has one descriptor and its null; the index is clamped for any number.
            let index = if n == 2 { self.b.i32(0) } else { own };
            let buffer = self.descriptor(Desc { set, binding, index });
            found = Some(match found {
                None => buffer,
                Some(others) => {
                    let n = self.b.i32(n);
                    let hit = self.b.cmp(Cmp::ULt, own, n);
                    self.b.select(hit, buffer, others)
                }
            });
        }
        // Null's offset is outside every buffer.
        found.ok_or_else(|| Error::unsupported("pointer to a type that no storage buffer has"))
    }

    fn descriptor(&mut self, d: Desc) -> Value {
        self.b.val(Op::BufferDesc { set: d.set, binding: d.binding }, &[d.index], Ty::Buf)
    }

    /// Returns a pointer as a scalar.
    pub fn pack(&mut self, p: Pointer, ty: u32) -> Result<Value> {
        if self.variable_type(ty).is_none() {
            return self.address(&p);
        }
        let Val::Ptr(Pointer { place: PointerTarget::Memory(m), .. }) = self.variable(Val::Ptr(p), ty)? else {
            return Err(Error::unsupported("a pointer to descriptors is used as a value"));
        };
        let null = self.b.i32(NULL.wrapping_neg());
        let offset = self.b.add(m.base, null);
        let low = self.b.cvt(Convert::UToU, offset, Ty::I64);
        let Some(origin) = m.origin else { return Ok(low) };
        let number = self.number(origin)?;
        let high = self.b.cvt(Convert::UToU, number, Ty::I64);
        let by = self.b.konst(Ty::I64, 32);
        let high = self.b.bin(Binary::Shl, high, by);
        Ok(self.b.bin(Binary::Or, high, low))
    }

    /// Returns a pointer from a scalar, if pointers of the type may be scalars.
    pub fn scalar_pointer(&mut self, v: Value, ty: u32) -> Result<Pointer> {
        if let (&Type::Pointer { class: class::PHYSICAL_STORAGE_BUFFER, to }, Ty::I64) = (self.s.ty(ty)?, self.b.ty(v))
        {
            return Ok(self.physical_pointer(v, to));
        }
        let (space, to) = self.variable_type(ty).ok_or_else(|| Error::invalid("operand is not a pointer"))?;
        self.unpack(v, space, to)
    }

    fn unpack(&mut self, v: Value, space: Space, to: u32) -> Result<Pointer> {
        let about = self.pointees.pointee(self.s, &mut self.leaves, space, to)?;
        let (number, base) = match self.b.shader.as_const(v) {
            Some(bits) => (self.b.i32((bits >> 32) as u32), self.b.i32((bits as u32).wrapping_add(NULL))),
            None => {
                let by = self.b.konst(Ty::I64, 32);
                let high = self.b.bin(Binary::LShr, v, by);
                let low = self.b.cvt(Convert::UToU, v, Ty::I32);
                let null = self.b.i32(NULL);
                (self.b.cvt(Convert::UToU, high, Ty::I32), self.b.add(low, null))
            }
        };
        let origin = (space == Space::Buffer).then_some(Origin::Number { number, to });
        Ok(Pointer { ty: to, place: PointerTarget::Memory(general(&about, origin, base, space)) })
    }

    /// Returns a B1 that is true if two pointers of a type are equal.
    pub fn same_pointer(&mut self, a: &Pointer, b: &Pointer) -> Result<Value> {
        let (PointerTarget::Memory(a), PointerTarget::Memory(b)) = (&a.place, &b.place) else {
            return Err(Error::unsupported("comparison of pointers of this storage class"));
        };
        if a.space != b.space {
            return Err(Error::invalid("comparison of pointers of different storage classes"));
        }
        let (x, y) = (self.memory_offset(a), self.memory_offset(b));
        let same = self.b.cmp(Cmp::IEq, x, y);
        let (Some(a), Some(b)) = (a.origin, b.origin) else { return Ok(same) };
        if a == b {
            return Ok(same);
        }
        let (a, b) = (self.number(a)?, self.number(b)?);
        let buffer = self.b.cmp(Cmp::IEq, a, b);
        Ok(self.b.bin(Binary::And, same, buffer))
    }

    /// Returns the offset or address of a pointer, for its distance from another one into the same
    /// memory.
    pub fn position(&mut self, p: &Pointer) -> Result<Value> {
        match &p.place {
            PointerTarget::Memory(m) => Ok(self.memory_offset(m)),
            _ => Err(Error::unsupported("difference of pointers of this storage class")),
        }
    }

    /// Returns the bytes from an element to the next one, by which a pointer of a type steps.
    pub fn pointer_stride(&self, pointer_ty: u32, pointee: u32, driver_layout: Option<DriverLayout>) -> Result<u32> {
        if driver_layout.is_some() {
            return super::layout::array_stride(self.s, 0, pointee, driver_layout);
        }
        let stride = self.m.decoration_value(pointer_ty, NO_MEMBER, deco::ARRAY_STRIDE);
        stride.ok_or_else(|| Error::invalid("pointer type without ArrayStride"))
    }
}

fn general(about: &Pointee, origin: Option<Origin>, base: Value, space: Space) -> Memory {
    Memory {
        space,
        origin,
        base,
        offset: 0,
        driver_layout: about.driver_layout,
        stride: None,
        matrix: about.matrix,
        comp_stride: None,
        readonly: false,
        volatile: about.volatile,
        by_component: false,
    }
}
