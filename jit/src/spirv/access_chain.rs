//! Steps of access chains from pointer to pointer, by indices that are operands.

use super::memory::Index;
use super::translator::Translator;
use super::value::{Pointer, PointerTarget};
use crate::error::{Error, Result};

impl Translator<'_> {
    /// Returns an index operand.
    pub fn index(&mut self, id: u32) -> Result<Index> {
        if let Some(c) = self.s.constant_int(id) {
            return Ok(Index::Const(c.clamp(0, i64::from(i32::MAX)) as u32));
        }
        let v = self.scalar(id)?;
        if !self.b.ty(v).is_int() {
            return Err(Error::invalid("index is not an integer").with_id(id));
        }
        Ok(Index::Dynamic(v))
    }

    /// Follows an access chain.
    pub fn chain(&mut self, base: u32, indices: &[u32]) -> Result<Pointer> {
        let mut p = self.pointer(base)?;
        for &id in indices {
            let i = self.index(id)?;
            p = self.part_pointer(p, i).map_err(|e| e.with_id(id))?;
        }
        Ok(p)
    }

    /// Performs OpPtrAccessChain's element step: moves a pointer by whole elements of its pointer
    /// type's ArrayStride.
    pub fn element_step(&mut self, p: Pointer, element: u32, pointer_ty: u32) -> Result<Pointer> {
        let i = match self.s.constant_int(element) {
            Some(0) => return Ok(p),
            Some(c) if c > 0 => Index::Const(c.min(i64::from(u32::MAX)) as u32),
            _ => Index::Dynamic(self.scalar(element)?),
        };
        let PointerTarget::Memory(mut m) = p.place else {
            return Err(Error::unsupported("pointer arithmetic on this storage class"));
        };
        let stride = self.pointer_stride(pointer_ty, p.ty, m.driver_layout)?;
        self.advance(&mut m, i, stride)?;
        Ok(Pointer { ty: p.ty, place: PointerTarget::Memory(m) })
    }
}
