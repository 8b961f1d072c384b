//! Atomics, barriers, demotion, and subgroup operations.

use super::body::Translator;
use super::memory::Index;
use super::module::View;
use super::opcodes::op;
use super::types::Type;
use super::value::{Flat, Memory, Pointer, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Binary, Builtin, Cmp, Convert, Op, Scan, Space, Subgroup, Ty, Value};
use base::abi::AtomicOp;
use smallvec::SmallVec;

/// Numbers of scopes.
const SCOPE_SUBGROUP: u64 = 3;
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

/// Operations of OpGroupNonUniformIAdd to LogicalXor, in the order of their numbers.
static GROUP_ARITHMETIC: [Binary; 16] = [
    Binary::IAdd,
    Binary::FAdd,
    Binary::IMul,
    Binary::FMul,
    Binary::SMin,
    Binary::UMin,
    Binary::FMin,
    Binary::SMax,
    Binary::UMax,
    Binary::FMax,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::And,
    Binary::Or,
    Binary::Xor,
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
                let time = if words { self.split(time, Ty::I32, 2) } else { Flat::from_slice(&[time]) };
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
        if let Some(n) = self.half_vector(p.ty)? {
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
    fn atomic_place(&mut self, op: AtomicOp, place: &PointerTarget) -> Result<(Op, SmallVec<[Value; 8]>)> {
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

    /// Returns the number of halves of a vector type that atomics support.
    pub fn half_vector(&self, ty: u32) -> Result<Option<u32>> {
        Ok(match *self.s.ty(ty)? {
            Type::Vector { elem, n: n @ (2 | 4) } if self.s.scalar(elem)? == Ty::F16 => Some(n),
            _ => None,
        })
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
            let packed = self.join(&values, word);
            let (op, mut args) = self.atomic_place(op, &p.place)?;
            args.push(packed);
            let old = self.b.val(op, &args, word);
            return Ok(self.split(old, Ty::F16, n));
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

    // Subgroups.

    pub fn lane(&mut self) -> Value {
        self.b.val(Op::Builtin(Builtin::SubgroupInvocation), &[], Ty::I32)
    }

    /// Applies the operation to each component.
    fn each_lane(&mut self, op: Subgroup, x: &[Value], extra: Option<Value>) -> Flat {
        let one = |&x: &Value| {
            let args: Flat = std::iter::once(x).chain(extra).collect();
            self.b.val(Op::Subgroup(op), &args, self.b.ty(x))
        };
        x.iter().map(one).collect()
    }

    /// Translates subgroup and quad operations of both generations.
    pub fn subgroup_op(&mut self, v: View<'_>) -> Result<()> {
        self.b.shader.uses_subgroup = true;
        if v.op == op::OpGroupNonUniformPartitionEXT {
            let flat = self.partition(v)?;
            return self.result(v, flat);
        }
        // The operations of SPIR-V 1.3, and rotation, begin with a scope.
        let scoped = v.op <= op::OpGroupNonUniformQuadSwap || v.op == op::OpGroupNonUniformRotateKHR;
        let v = if !scoped {
            v
        } else {
            if self.s.constant_bits(v.arg(0)?)? != SCOPE_SUBGROUP {
                return Err(Error::unsupported("scope other than Subgroup"));
            }
            View { args: &v.args[1..], ..v }
        };
        let vote = |t: &mut Self, op: Subgroup| -> Result<Flat> {
            let x = t.operand1(v, 0)?;
            Ok(Flat::from_slice(&[t.b.val(Op::Subgroup(op), &[x], Ty::B1)]))
        };
        let flat = match v.op {
            op::OpGroupNonUniformElect => Flat::from_slice(&[self.b.val(Op::Subgroup(Subgroup::Elect), &[], Ty::B1)]),
            op::OpGroupNonUniformAll | op::OpSubgroupAllKHR => vote(self, Subgroup::All)?,
            op::OpGroupNonUniformAny | op::OpSubgroupAnyKHR => vote(self, Subgroup::Any)?,
            op::OpGroupNonUniformAllEqual | op::OpSubgroupAllEqualKHR => {
                let x = self.operand(v, 0)?;
                let mut all = self.b.bool(true);
                for &x in &x {
                    let same = self.b.val(Op::Subgroup(Subgroup::AllEqual), &[x], Ty::B1);
                    all = self.b.bin(Binary::And, all, same);
                }
                Flat::from_slice(&[all])
            }
            op::OpGroupNonUniformBroadcast => {
                let (x, from) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                self.each_lane(Subgroup::Broadcast, &x, Some(from))
            }
            op::OpGroupNonUniformBroadcastFirst | op::OpSubgroupFirstInvocationKHR => {
                let x = self.operand(v, 0)?;
                self.each_lane(Subgroup::BroadcastFirst, &x, None)
            }
            op::OpGroupNonUniformBallot | op::OpSubgroupBallotKHR => {
                let x = self.operand1(v, 0)?;
                let words = self.ballot(x);
                self.four_words(words)
            }
            op::OpGroupNonUniformInverseBallot..=op::OpGroupNonUniformBallotFindMSB => self.ballot_op(v)?,
            op::OpGroupNonUniformShuffle | op::OpSubgroupReadInvocationKHR => {
                let (x, from) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                self.each_lane(Subgroup::Shuffle, &x, Some(from))
            }
            op::OpGroupNonUniformShuffleXor..=op::OpGroupNonUniformShuffleDown => {
                let op = match v.op {
                    op::OpGroupNonUniformShuffleXor => Binary::Xor,
                    op::OpGroupNonUniformShuffleUp => Binary::ISub,
                    _ => Binary::IAdd,
                };
                let (x, by, lane) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.lane());
                let from = self.b.bin(op, lane, by);
                self.each_lane(Subgroup::Shuffle, &x, Some(from))
            }
            op::OpGroupNonUniformRotateKHR => self.rotate(v)?,
            op::OpGroupNonUniformQuadAllKHR | op::OpGroupNonUniformQuadAnyKHR => self.quad_vote(v)?,
            op::OpGroupNonUniformIAdd..=op::OpGroupNonUniformLogicalXor => self.group_arithmetic(v)?,
            op::OpGroupNonUniformQuadBroadcast => {
                let x = self.operand(v, 0)?;
                match self.s.constant_bits(v.arg(1)?) {
                    Ok(i) => {
                        let i = self.b.i32(i as u32 & 3);
                        self.each_lane(Subgroup::QuadBroadcast, &x, Some(i))
                    }
                    // SPIR-V 1.5 allows any dynamically uniform index.
                    Err(_) => {
                        let (i, lane) = (self.operand1(v, 1)?, self.lane());
                        let (zero, two) = (self.b.i32(0), self.b.i32(2));
                        let lane = self.b.val(Op::BitfieldInsert, &[lane, i, zero, two], Ty::I32);
                        self.each_lane(Subgroup::Shuffle, &x, Some(lane))
                    }
                }
            }
            op::OpGroupNonUniformQuadSwap => {
                let x = self.operand(v, 0)?;
                let op = match self.s.constant_bits(v.arg(1)?)? {
                    0 => Subgroup::QuadSwapHorizontal,
                    1 => Subgroup::QuadSwapVertical,
                    2 => Subgroup::QuadSwapDiagonal,
                    _ => return Err(Error::invalid("direction of a quad swap")),
                };
                self.each_lane(op, &x, None)
            }
            _ => return Err(Error::unsupported("not implemented")),
        };
        self.result(v, flat)
    }

    /// Returns the values of the lanes `delta` further on, around the subgroup or a cluster of it.
    fn rotate(&mut self, v: View<'_>) -> Result<Flat> {
        let (x, delta, lane) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.lane());
        let one = self.b.i32(1);
        let size = match v.args.get(2) {
            None => self.b.val(Op::Builtin(Builtin::SubgroupSize), &[], Ty::I32),
            Some(&id) => match self.s.constant_bits(id)? {
                size if size.is_power_of_two() && size <= 128 => self.b.i32(size as u32),
                _ => return Err(Error::invalid("cluster size")),
            },
        };
        // The lower bits of the lane's number rotate and the upper ones stay.
        let low = self.b.bin(Binary::ISub, size, one);
        let turned = self.b.bin(Binary::IAdd, lane, delta);
        let differs = self.b.bin(Binary::Xor, turned, lane);
        let differs = self.b.bin(Binary::And, differs, low);
        let from = self.b.bin(Binary::Xor, lane, differs);
        Ok(self.each_lane(Subgroup::Shuffle, &x, Some(from)))
    }

    /// Translates reductions and scans; booleans are handled as words.
    fn group_arithmetic(&mut self, v: View<'_>) -> Result<Flat> {
        let op = GROUP_ARITHMETIC[usize::from(v.op - op::OpGroupNonUniformIAdd)];
        let scan = match v.arg(0)? {
            0 => Scan::Reduce,
            1 => Scan::Inclusive,
            2 => Scan::Exclusive,
            3 => {
                let size = self.s.constant_bits(v.arg(2)?)?;
                if !size.is_power_of_two() || size > 128 {
                    return Err(Error::invalid("cluster size"));
                }
                Scan::Cluster(size as u8)
            }
            part @ 6..=8 => return self.partitioned(v, op, part),
            _ => return Err(Error::unsupported("group operation")),
        };
        let logical = v.op >= op::OpGroupNonUniformLogicalAnd;
        let x = self.operand(v, 1)?;
        let mut out = Flat::new();
        for &x in &x {
            let ty = self.b.ty(x);
            if logical != (ty == Ty::B1) {
                return Err(Error::invalid("group operation on a value of this type"));
            }
            let x = if logical { self.b.cvt(Convert::BToI, x, Ty::I32) } else { x };
            let joined = self.b.val(Op::Subgroup(Subgroup::Arithmetic(op, scan)), &[x], self.b.ty(x));
            let zero = self.b.i32(0);
            out.push(if logical { self.b.cmp(Cmp::INe, joined, zero) } else { joined });
        }
        Ok(out)
    }
}
