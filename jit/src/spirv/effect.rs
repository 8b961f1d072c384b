//! Atomics, barriers, demotion, and subgroup operations.

use super::memory::Index;
use super::module::View;
use super::opcodes::op;
use super::subgroup::SCOPE_SUBGROUP;
use super::translator::Translator;
use super::value::{Flat, Memory, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Op, Space, Ty, Value};
use base::abi::AtomicOp;
use smallvec::SmallVec;

/// Number of the scope of one invocation.
const SCOPE_INVOCATION: u64 = 4;

/// Capability of atomics on vectors of halves.
const ATOMIC_FLOAT16_VECTOR: u32 = 5404;

/// Atomic opcodes: operation, and position of the value operand (after pointer, scope, semantics).
static ATOMICS: &[(u16, AtomicOp, Option<usize>)] = &[
    (op::OpAtomicLoad, AtomicOp::Load, None),
    (op::OpAtomicStore, AtomicOp::Store, Some(3)),
    (op::OpAtomicExchange, AtomicOp::Exchange, Some(3)),
    (op::OpAtomicCompareExchange, AtomicOp::CompareExchange, Some(4)),
    (op::OpAtomicIIncrement, AtomicOp::Add, None),
    (op::OpAtomicIDecrement, AtomicOp::Sub, None),
    (op::OpAtomicIAdd, AtomicOp::Add, Some(3)),
    (op::OpAtomicISub, AtomicOp::Sub, Some(3)),
    (op::OpAtomicSMin, AtomicOp::SMin, Some(3)),
    (op::OpAtomicUMin, AtomicOp::UMin, Some(3)),
    (op::OpAtomicSMax, AtomicOp::SMax, Some(3)),
    (op::OpAtomicUMax, AtomicOp::UMax, Some(3)),
    (op::OpAtomicAnd, AtomicOp::And, Some(3)),
    (op::OpAtomicOr, AtomicOp::Or, Some(3)),
    (op::OpAtomicXor, AtomicOp::Xor, Some(3)),
    (op::OpAtomicFMinEXT, AtomicOp::FMin, Some(3)),
    (op::OpAtomicFMaxEXT, AtomicOp::FMax, Some(3)),
    (op::OpAtomicFAddEXT, AtomicOp::FAdd, Some(3)),
];

impl Translator<'_> {
    /// Translates barriers, interlocks, atomics and demotion.
    pub fn effect(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpControlBarrier => {
                let scope = self.s.constant_bits(v.arg(0)?)?;
                // A subgroup runs in lockstep, so that only the memory order of the barrier
                // remains.
                let lockstep = matches!(scope, SCOPE_SUBGROUP | SCOPE_INVOCATION)
                    || !self.stage.has_workgroups()
                    || self.is_patch_of_one_chunk();
                self.b.emit(if lockstep { Op::MemoryBarrier } else { Op::Barrier }, &[], &[]);
                Ok(())
            }
            // Whole invocations are ordered (`FragmentInfo::ordered`), so that only their memory
            // accesses have to stay inside the section.
            op::OpMemoryBarrier | op::OpBeginInvocationInterlockEXT | op::OpEndInvocationInterlockEXT => {
                self.b.emit(Op::MemoryBarrier, &[], &[]);
                Ok(())
            }
            op::OpDemoteToHelperInvocation => {
                self.b.shader.fragment_mut()?.kills = true;
                self.b.emit(Op::Demote, &[], &[]);
                Ok(())
            }
            op::OpIsHelperInvocationEXT => {
                let r = self.b.val(Op::IsHelper, &[], Ty::B1);
                self.result(v, Flat::from_slice(&[r]))
            }
            op::OpReadClockKHR => {
                let time = self.b.val(Op::Clock, &[], Ty::I64);
                let words = self.s.flat_leaves(v.ty)? == 2;
                let time = if words { self.b.split(time, Ty::I32, 2) } else { Flat::from_slice(&[time]) };
                self.result(v, time)
            }
            _ => self.atomic(v),
        }
    }

    fn atomic(&mut self, v: View<'_>) -> Result<()> {
        let row = ATOMICS.iter().find(|r| r.0 == v.op);
        let &(_, op, value_at) = row.ok_or_else(|| Error::unsupported("not implemented"))?;
        // OpAtomicStore has no result, so its operands have the same positions as those of the
        // others.
        let pointee = if v.op == op::OpAtomicStore { self.type_of(v.arg(3)?)? } else { v.ty };
        let p = self.pointer_to(v.arg(0)?, pointee)?;
        if let PointerTarget::Texel { image_ty, .. } = p.place
            && !self.fits_texel(image_ty, p.ty)?
        {
            return Err(Error::invalid("atomic on something else than the image's component type"));
        }
        if let Some(n) = self.s.half_vector(p.ty)? {
            let flat = self.half_vector_atomic(v, op, &p, n)?;
            return self.result(v, flat);
        }
        let ty = self.s.scalar(p.ty)?;
        let is_float = matches!(op, AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax);
        let any_type = matches!(op, AtomicOp::Load | AtomicOp::Store | AtomicOp::Exchange);
        if !(if is_float { ty.is_float() } else { ty.is_int() || (any_type && ty.is_float()) }) {
            return Err(Error::invalid("atomic on a value of this type"));
        }
        let mut operands = Flat::new();
        match value_at {
            Some(at) if op == AtomicOp::CompareExchange => {
                // IR has value before comparator; SPIR-V also has the value first, behind both
                // semantics.
                operands.push(self.operand1(v, at)?);
                operands.push(self.operand1(v, at + 1)?);
            }
            Some(at) => operands.push(self.operand1(v, at)?),
            None if op == AtomicOp::Load => {}
            None => operands.push(self.b.konst(ty, 1)),
        }
        if operands.iter().any(|&x| self.b.ty(x) != ty) {
            return Err(Error::invalid("operand does not have the pointer's type"));
        }
        let (op, mut args) = self.atomic_place(op, &p.place)?;
        args.extend(operands);
        if v.op == op::OpAtomicStore {
            self.b.emit(op, &args, &[]);
            return Ok(());
        }
        let old = self.b.val(op, &args, ty);
        self.result(v, Flat::from_slice(&[old]))
    }

    /// Returns the operation on the pointee, with the operands that give its address.
    pub fn atomic_place(&mut self, op: AtomicOp, place: &PointerTarget) -> Result<(Op, SmallVec<[Value; 8]>)> {
        self.b.shader.side_effects |= !matches!(place, PointerTarget::Memory(Memory { space: Space::Shared, .. }));
        match place {
            PointerTarget::Memory(m) if matches!(m.space, Space::Buffer | Space::Shared | Space::Global) => {
                if m.readonly && op != AtomicOp::Load {
                    return Err(Error::invalid("atomic on read-only memory"));
                }
                Ok((Op::Atomic(m.space, op), self.atomic_address(m)?))
            }
            PointerTarget::Texel { image, coords, sample, .. } => {
                let (args, coords, sample) = self.texel_args(*image, coords, *sample);
                Ok((Op::ImageAtomic { op, coords, sample }, args))
            }
            _ => Err(Error::unsupported("atomic on this storage class")),
        }
    }

    /// Translates an exchange, sum, minimum or maximum of `n` halves
    /// (SPV_NV_shader_atomic_fp16_vector). In memory, where they may have the alignment of halves,
    /// each half is an atomic of its own. A texel is one word, whose kernel knows its format.
    fn half_vector_atomic(&mut self, v: View<'_>, op: AtomicOp, p: &Pointer, n: u32) -> Result<Flat> {
        if !self.m.capabilities.contains(&ATOMIC_FLOAT16_VECTOR) {
            return Err(Error::invalid("atomic on a vector without AtomicFloat16VectorNV"));
        }
        if !matches!(op, AtomicOp::Exchange | AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax) {
            return Err(Error::invalid("atomic on a value of this type"));
        }
        let values = self.operand(v, 3)?;
        if values.len() != n as usize || values.iter().any(|&x| self.b.ty(x) != Ty::F16) {
            return Err(Error::invalid("operand does not have the pointer's type"));
        }
        if let PointerTarget::Texel { .. } = p.place {
            let word = if n == 2 { Ty::I32 } else { Ty::I64 };
            let packed = self.b.join(&values, word);
            let (op, mut args) = self.atomic_place(op, &p.place)?;
            args.push(packed);
            let old = self.b.val(op, &args, word);
            return Ok(self.b.split(old, Ty::F16, n));
        }
        let mut old = Flat::new();
        for (i, &value) in (0..n).zip(&values) {
            let half = self.part_pointer(p.clone(), Index::Const(i))?;
            let (op, mut args) = self.atomic_place(op, &half.place)?;
            args.push(value);
            old.push(self.b.val(op, &args, Ty::F16));
        }
        Ok(old)
    }
}
