//! Instructions on pointers: access chains, loads, stores, copies, comparisons.

use super::heap::RESOURCE_HEAP;
use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::types::{Type, UNTYPED};
use super::value::{DriverLayout, Flat, Pointer, PointerTarget, Val};
use super::{class, deco};
use crate::error::{Error, Result};
use crate::ir::{Binary, Convert, Ty, Unary};

impl Translator<'_> {
    /// Translates an instruction on pointers.
    pub fn pointer_op(&mut self, v: View<'_>) -> Result<()> {
        let volatile = |at: usize| v.args.get(at).is_some_and(|mask| mask & 1 != 0);
        match v.op {
            op::OpLoad => {
                let p = self.pointer_to(v.arg(0)?, v.ty)?;
                if matches!(p.place, PointerTarget::Local(_) | PointerTarget::Memory(_)) && self.is_large(p.ty)? {
                    return self.keep(v, &p, volatile(1));
                }
                let val = self.load(&p, volatile(1))?;
                self.result_val(v, val)
            }
            op::OpStore => {
                let p = self.pointer_to(v.arg(0)?, self.type_of(v.arg(1)?)?)?;
                if self.is_large_null(v.arg(1)?)?
                    && !matches!(p.place, PointerTarget::Resource(_) | PointerTarget::Texel { .. })
                {
                    return self.clear(&p);
                }
                if let Some(from) = self.kept_value(v.arg(1)?) {
                    return self.store_kept(&p, &from, volatile(2));
                }
                let val = self.operand(v, 1)?;
                self.store(&p, val, volatile(2))
            }
            op::OpCopyMemory => {
                let (to, from) = self.copied(v.arg(0)?, v.arg(1)?)?;
                if matches!(from.place, PointerTarget::Local(_) | PointerTarget::Memory(_)) && self.is_large(from.ty)? {
                    return self.store_kept(&to, &from, volatile(2));
                }
                match self.load(&from, volatile(2))? {
                    Val::Flat(flat) => self.store(&to, flat, volatile(2)),
                    _ => Err(Error::invalid("copy of a descriptor")),
                }
            }
            op::OpAccessChain | op::OpInBoundsAccessChain => {
                let p = self.chain(v.arg(0)?, &v.args[1..])?;
                self.pointer_result(v, p)
            }
            op::OpPtrAccessChain | op::OpInBoundsPtrAccessChain => {
                let base = self.pointer(v.arg(0)?)?;
                let base_ty = self.type_of(v.arg(0)?)?;
                let mut p = self.element_step(base, v.arg(1)?, base_ty)?;
                for &id in &v.args[2..] {
                    let i = self.index(id)?;
                    p = self.part_pointer(p, i)?;
                }
                self.pointer_result(v, p)
            }
            op::OpCopyMemorySized => self.copy_sized(v),
            op::OpUntypedAccessChainKHR..=op::OpUntypedArrayLengthKHR => self.untyped_op(v),
            op::OpRawAccessChainNV => self.raw_access_chain(v),
            op::OpBufferPointerEXT => self.buffer_pointer(v),
            op::OpArrayLength => {
                let p = self.pointer(v.arg(0)?)?;
                let n = self.array_length(p, v.arg(1)?)?;
                self.result(v, Flat::from_slice(&[n]))
            }
            op::OpConvertPtrToU => {
                let p = self.pointer(v.arg(0)?)?;
                let address = self.address(&p)?;
                let to = self.s.scalar(v.ty)?;
                let n = self.b.cvt(Convert::UToU, address, to);
                self.result(v, Flat::from_slice(&[n]))
            }
            op::OpConvertUToPtr => {
                let a = self.operand1(v, 0)?;
                let a = self.b.cvt(Convert::UToU, a, Ty::I64);
                self.result(v, Flat::from_slice(&[a]))
            }
            _ => self.compare_pointers(v),
        }
    }

    /// Translates OpPtrEqual, OpPtrNotEqual and OpPtrDiff.
    fn compare_pointers(&mut self, v: View<'_>) -> Result<()> {
        let ty = self.type_of(v.arg(0)?)?;
        let (a, b) = (self.pointer(v.arg(0)?)?, self.pointer(v.arg(1)?)?);
        let untyped = matches!(self.s.ty(ty)?, Type::Pointer { to: UNTYPED, .. });
        if a.ty != b.ty && !untyped {
            return Err(Error::invalid("operands point to different types"));
        }
        let r = if v.op == op::OpPtrDiff {
            let driver_layout = if let PointerTarget::Memory(m) = &a.place { m.driver_layout } else { None };
            let packed = Some(DriverLayout::Packed);
            // The difference is divided by the array's stride. Without a stride, elements are
            // packed. For untyped pointers the elements are bytes.
            let stride = match untyped {
                true => 1,
                false => {
                    self.pointer_stride(ty, a.ty, driver_layout).or_else(|_| self.pointer_stride(ty, a.ty, packed))?
                }
            };
            let (a, b) = (self.position(&a)?, self.position(&b)?);
            let bytes = self.b.bin(Binary::ISub, a, b);
            let stride = self.b.konst(self.b.ty(a), stride.max(1).into());
            let n = self.b.bin(Binary::SDiv, bytes, stride);
            self.b.int_as(n, self.s.scalar(v.ty)?)
        } else {
            let same = self.same_pointer(&a, &b)?;
            if v.op == op::OpPtrEqual { same } else { self.b.un(Unary::Not, same) }
        };
        self.result(v, Flat::from_slice(&[r]))
    }

    /// Translates OpBufferPointerEXT.
    pub fn buffer_pointer(&mut self, v: View<'_>) -> Result<()> {
        let p = self.pointer(v.arg(0)?)?;
        let &Type::Pointer { class, to } = self.s.ty(v.ty)? else { return Err(Error::invalid("result is no pointer")) };
        let PointerTarget::Resource(r) = p.place else { return Err(Error::invalid("operand points to no descriptor")) };
        if r.desc.set != RESOURCE_HEAP {
            return Err(Error::unsupported("pointer to a buffer whose descriptor is in no resource heap"));
        }
        // The result declares memory as a variable does, and may have the same decorations.
        let has = |kind| self.m.decorated(v.result, kind);
        let readonly = class == class::UNIFORM || (has(deco::NON_WRITABLE) && has(deco::RESTRICT));
        let place = PointerTarget::Memory(self.block_of(r.desc, readonly, has(deco::VOLATILE)));
        self.pointer_result(v, Pointer { ty: to, place })
    }
}
