//! Raw access chains (SPV_NV_raw_access_chains): pointers to scalars and vectors at byte offsets,
//! whatever the type of the buffer.

use super::deco;
use super::memory::Index;
use super::module::View;
use super::translator::Translator;
use super::types::Type;
use super::value::{Memory, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Convert, Space, Ty, Value};

/// Bit `RobustnessPerComponentNV` of the raw access chain operands.
const PER_COMPONENT: u32 = 1;
/// Bit `RobustnessPerElementNV`.
const PER_ELEMENT: u32 = 2;

impl Translator<'_> {
    /// Translates OpRawAccessChainNV. The offset of an access neither wraps nor leaves its buffer,
    /// so that a chain that overflows points to nothing.
    ///
    /// An access is checked as a whole, which satisfies RobustnessPerElementNV too: an element may
    /// be assumed to lie completely inside or outside of the buffer.
    pub fn raw_access_chain(&mut self, v: View<'_>) -> Result<()> {
        let &Type::Pointer { to, .. } = self.s.ty(v.ty)? else { return Err(Error::invalid("result is no pointer")) };
        self.s.vector(to).map_err(|_| Error::invalid("result points to no scalar or vector"))?;
        let mut p = self.pointer(v.arg(0)?)?;
        if matches!(p.place, PointerTarget::Resource(_)) {
            p = self.part_pointer(p, Index::Const(0))?;
        }
        let PointerTarget::Memory(mut m) = p.place else {
            return Err(Error::invalid("base points to no buffer"));
        };
        let stride = self.s.constant_bits(v.arg(1)?)?;
        let stride = u32::try_from(stride).map_err(|_| Error::limit("stride beyond 4 GiB"))?;
        let (index, offset) = (self.unsigned_word(v.arg(2)?)?, self.unsigned_word(v.arg(3)?)?);
        if m.space == Space::Global {
            let [index, offset] = [index, offset].map(|w| self.b.cvt(Convert::UToU, w, Ty::I64));
            let by = self.b.mul(index, stride.into());
            let by = self.b.add(by, offset);
            m.base = self.b.add(m.base, by);
        } else {
            for (word, stride) in [(index, stride), (offset, 1)] {
                let constant = self.b.shader.as_const(word);
                let step = constant.map_or(Index::Dynamic(word), |c| Index::Const(c as u32));
                self.advance(&mut m, step, stride)?;
            }
        }
        let checks = v.args.get(4).copied().unwrap_or(0);
        match (checks, m.space) {
            (0, _) | (PER_COMPONENT | PER_ELEMENT, Space::Buffer | Space::Push) => {}
            _ => return Err(Error::invalid("checks that exclude each other, or checks of physical memory")),
        }
        let volatile = m.volatile || self.m.decorated(v.result, deco::VOLATILE);
        let layout = Memory { driver_layout: None, stride: None, matrix: None, comp_stride: None, ..m };
        let place = Memory { volatile, by_component: checks == PER_COMPONENT, ..layout };
        self.pointer_result(v, Pointer { ty: to, place: PointerTarget::Memory(place) })
    }

    /// Returns an operand that must be a word, without regard to its signedness.
    fn unsigned_word(&mut self, id: u32) -> Result<Value> {
        let word = self.scalar(id)?;
        if self.b.ty(word) != Ty::I32 {
            return Err(Error::invalid("operand is no integer of 32 bits").with_id(id));
        }
        Ok(word)
    }
}
