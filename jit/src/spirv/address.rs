//! Beginnings of memory: blocks, buffers of descriptors, physical pointers; and addresses inside of
//! it.

use super::translator::Translator;
use super::value::{Desc, DriverLayout, Memory, Origin, Pointer, PointerTarget};
use super::{class, deco};
use crate::error::{Error, Result};
use crate::ir::{Op, Space, Ty, Value};

impl Translator<'_> {
    /// Returns a pointer to a block that begins at a constant offset of a space.
    pub fn block_pointer(
        &mut self,
        space: Space,
        offset: u32,
        ty: u32,
        driver_layout: Option<DriverLayout>,
    ) -> Pointer {
        let place = PointerTarget::Memory(Memory {
            space,
            origin: None,
            base: self.b.i32(0),
            offset,
            driver_layout,
            stride: None,
            matrix: None,
            comp_stride: None,
            readonly: space == Space::Push,
            volatile: false,
            by_component: false,
        });
        Pointer { ty, place }
    }

    /// Returns the beginning of a descriptor's buffer.
    pub fn block_of(&mut self, desc: Desc, readonly: bool, volatile: bool) -> Memory {
        Memory {
            space: Space::Buffer,
            origin: Some(Origin::Desc(desc)),
            base: self.b.i32(0),
            offset: 0,
            driver_layout: None,
            stride: None,
            matrix: None,
            comp_stride: None,
            readonly,
            volatile,
            by_component: false,
        }
    }

    /// Returns true if nothing writes the variable's memory while the shader runs. A writable alias
    /// may exist unless the variable is Restrict.
    pub fn is_read_only(&self, variable: u32, ty: u32) -> Result<bool> {
        let m = self.m;
        let storage = m.def(variable)?.args[0] == class::STORAGE_BUFFER || m.decorated(ty, deco::BUFFER_BLOCK);
        let has = |kind| m.decorated(variable, kind);
        Ok(!storage || (has(deco::NON_WRITABLE) && has(deco::RESTRICT)))
    }

    /// Returns the address of a descriptor's acceleration structure.
    pub fn structure_of(&mut self, d: Desc) -> Value {
        self.b.val(Op::StructureDesc { set: d.set, binding: d.binding }, &[d.index], Ty::I64)
    }

    /// Returns a physical pointer with this address.
    pub fn physical_pointer(&mut self, address: Value, to: u32) -> Pointer {
        let place = PointerTarget::Memory(Memory {
            space: Space::Global,
            origin: None,
            base: address,
            offset: 0,
            driver_layout: None,
            stride: None,
            matrix: None,
            comp_stride: None,
            readonly: false,
            volatile: false,
            by_component: false,
        });
        Pointer { ty: to, place }
    }

    /// Returns the address of a physical pointer.
    pub fn address(&mut self, p: &Pointer) -> Result<Value> {
        match &p.place {
            PointerTarget::Memory(m) if m.space == Space::Global => Ok(self.memory_offset(m)),
            _ => Err(Error::invalid("a logical pointer is used as a value")),
        }
    }

    /// Returns the byte offset (or address) as one value.
    pub fn memory_offset(&mut self, m: &Memory) -> Value {
        let ty = self.b.ty(m.base);
        let offset = self.b.konst(ty, m.offset.into());
        self.b.add(m.base, offset)
    }
}
