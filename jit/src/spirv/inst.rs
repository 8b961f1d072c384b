//! Translation of instructions: dispatch by family; composites, arithmetic, matrices, pointers.

use super::alu::{self, Rule};
use super::body::Translator;
use super::hit_object::is_hit_object_op;
use super::module::{ExtSet, NO_MEMBER, View};
use super::opcodes::op;
use super::types::{Type, UNTYPED};
use super::value::{DriverLayout, Flat, Handle, Pointer, PointerTarget, Val};
use super::{class, deco};
use crate::error::{Error, Result};
use crate::ir::{Binary, Cmp, Convert, Op, Ty, Unary, Value};

impl Translator<'_> {
    /// Translates one instruction of a block, except phis.
    pub fn instruction(&mut self, v: View<'_>) -> Result<()> {
        if let Some(rule) = alu::rule(v.op) {
            let flat = self.elementwise(v, rule)?;
            return self.result(v, flat);
        }
        match v.op {
            op::OpNop
            | op::OpLine
            | op::OpNoLine
            | op::OpName
            | op::OpPhi
            | op::OpLifetimeStart
            | op::OpLifetimeStop => Ok(()),
            // An unused value needs no form. It may be an image or an array without a length.
            op::OpUndef if self.m.dense(v.result).is_some_and(|n| self.a.uses[n] == 0) => Ok(()),
            op::OpUndef => {
                let tys = self.s.leaf_types(v.ty)?;
                let flat = tys.iter().map(|&t| self.b.konst(t, 0)).collect();
                self.result(v, flat)
            }
            op::OpExtInst | op::OpExtInstWithForwardRefsKHR => self.ext_inst(v),
            op::OpFunctionCall => self.call(v),
            op::OpVariable => match v.arg(0)? {
                class::FUNCTION => self.private_variable(v),
                _ => Err(Error::invalid("storage class of a variable in a function")),
            },
            op::OpLoad
            | op::OpStore
            | op::OpCopyMemory
            | op::OpCopyMemorySized
            | op::OpAccessChain
            | op::OpInBoundsAccessChain
            | op::OpPtrAccessChain
            | op::OpInBoundsPtrAccessChain
            | op::OpArrayLength
            | op::OpConvertPtrToU
            | op::OpConvertUToPtr
            | op::OpPtrEqual
            | op::OpPtrNotEqual
            | op::OpPtrDiff
            | op::OpUntypedAccessChainKHR
            | op::OpUntypedInBoundsAccessChainKHR
            | op::OpUntypedPtrAccessChainKHR
            | op::OpUntypedInBoundsPtrAccessChainKHR
            | op::OpUntypedArrayLengthKHR
            | op::OpRawAccessChainNV
            | op::OpBufferPointerEXT => self.pointer_op(v),
            op::OpVectorExtractDynamic..=op::OpTranspose
            | op::OpCompositeConstructReplicateEXT
            | op::OpCopyLogical
            | op::OpExpectKHR
            | op::OpSelect => self.composite_op(v),
            op::OpVectorTimesScalar..=op::OpDot => {
                let flat = self.matrix_op(v)?;
                self.result(v, flat)
            }
            op::OpSampledImage..=op::OpImageQuerySamples
            | op::OpImageTexelPointer
            | op::OpUntypedImageTexelPointerEXT => self.image_op(v),
            op::OpImageSparseSampleImplicitLod..=op::OpImageSparseTexelsResident | op::OpImageSparseRead => {
                self.image_op(v)
            }
            op::OpDPdx..=op::OpFwidthCoarse => {
                let flat = self.derivative(v)?;
                self.result(v, flat)
            }
            op::OpEmitVertex..=op::OpEndStreamPrimitive => self.make_vertices(v),
            op::OpSetMeshOutputsEXT => self.set_mesh_outputs(v),
            op::OpTraceRayKHR
            | op::OpTraceMotionNV
            | op::OpTraceRayMotionNV
            | op::OpExecuteCallableKHR
            | op::OpReportIntersectionKHR => self.ray_op(v),
            op::OpControlBarrier
            | op::OpMemoryBarrier
            | op::OpAtomicLoad..=op::OpAtomicXor
            | op::OpAtomicFAddEXT
            | op::OpAtomicFMinEXT
            | op::OpAtomicFMaxEXT
            | op::OpBeginInvocationInterlockEXT
            | op::OpEndInvocationInterlockEXT
            | op::OpDemoteToHelperInvocation
            | op::OpIsHelperInvocationEXT
            | op::OpReadClockKHR => self.effect(v),
            op::OpConvertUToAccelerationStructureKHR
            | op::OpRayQueryInitializeKHR..=op::OpRayQueryProceedKHR
            | op::OpRayQueryGetIntersectionTypeKHR
            | op::OpRayQueryGetIntersectionTriangleVertexPositionsKHR
            | op::OpRayQueryGetIntersectionSpherePositionNV..=op::OpRayQueryGetIntersectionLSSHitValueNV
            | op::OpRayQueryIsSphereHitNV..=op::OpRayQueryIsLSSHitNV
            | op::OpRayQueryGetRayTMinKHR..=op::OpRayQueryGetIntersectionWorldToObjectKHR => self.ray_query_op(v),
            number if is_hit_object_op(number) => self.hit_object_op(v),
            op::OpSDot..=op::OpSUDotAccSat => {
                let flat = self.integer_dot(v)?;
                self.result(v, flat)
            }
            op::OpFDot2MixAcc32VALVE..=op::OpFDot4MixAcc32VALVE => {
                let flat = self.mixed_dot(v)?;
                self.result(v, flat)
            }
            op::OpGroupNonUniformElect..=op::OpGroupNonUniformQuadSwap
            | op::OpSubgroupBallotKHR..=op::OpSubgroupFirstInvocationKHR
            | op::OpSubgroupAllKHR..=op::OpSubgroupReadInvocationKHR
            | op::OpGroupNonUniformQuadAllKHR
            | op::OpGroupNonUniformQuadAnyKHR
            | op::OpGroupNonUniformPartitionEXT => self.subgroup_op(v),
            op::OpCooperativeMatrixLoadKHR..=op::OpCooperativeMatrixLengthKHR => self.cooperative_op(v),
            op::OpCooperativeMatrixConvertNV
            | op::OpCooperativeMatrixReduceNV
            | op::OpCooperativeMatrixPerElementOpNV
            | op::OpCooperativeMatrixTransposeNV => self.matrix_elements_op(v),
            // Assumed conditions and prefetches generate no code.
            op::OpAssumeTrueKHR | op::OpUntypedPrefetchKHR => Ok(()),
            _ => {
                let flat = self.misc_arithmetic(v)?;
                self.result(v, flat)
            }
        }
    }

    /// Sets a result of scalars after checking it against the result type.
    pub fn result(&mut self, v: View<'_>, flat: Flat) -> Result<()> {
        let tys = self.s.leaf_types(v.ty)?;
        if tys.len() != flat.len() || tys.iter().zip(&flat).any(|(&t, &x)| t != self.b.ty(x)) {
            return Err(Error::invalid("operands do not fit the result type"));
        }
        self.set(v.result, Val::of(flat))
    }

    /// Sets a result to a value that another instruction or function has made.
    fn result_val(&mut self, v: View<'_>, val: Val) -> Result<()> {
        match val {
            Val::Flat(flat) => self.result(v, flat),
            Val::Shared(shared) => {
                self.spend(shared.len())?;
                self.result(v, shared.flat())
            }
            val => self.set(v.result, val),
        }
    }

    /// Returns operand `i` as scalars.
    pub fn operand(&mut self, v: View<'_>, i: usize) -> Result<Flat> {
        self.flat(v.arg(i)?)
    }

    /// Returns operand `i` as one scalar.
    pub fn operand1(&mut self, v: View<'_>, i: usize) -> Result<Value> {
        self.scalar(v.arg(i)?)
    }

    /// Returns two operands of equal length.
    pub fn pair(&mut self, v: View<'_>, i: usize, j: usize) -> Result<(Flat, Flat)> {
        let (a, b) = (self.operand(v, i)?, self.operand(v, j)?);
        if a.len() != b.len() {
            return Err(Error::invalid("operands of different size"));
        }
        Ok((a, b))
    }

    fn elementwise(&mut self, v: View<'_>, rule: Rule) -> Result<Flat> {
        if rule == Rule::Cvt(Convert::Bitcast) {
            return self.bitcast(v);
        }
        let (elem, _) = self.s.vector(v.ty)?;
        let to = self.s.scalar(elem)?;
        match rule {
            Rule::Un(op) => Ok(self.operand(v, 0)?.iter().map(|&a| self.b.un(op, a)).collect()),
            Rule::Cvt(op) => {
                let small = (self.small_float(v.arg(0)?)?, self.small_float_type(v.ty)?);
                if small != (None, None) {
                    let saturate = self.m.decorated(v.result, deco::SATURATED_TO_LARGEST_FLOAT8);
                    let operands = self.operand(v, 0)?;
                    let one = |&a: &Value| self.convert_small(op, a, small.0, (to, small.1), saturate);
                    return operands.iter().map(one).collect();
                }
                let op = if op == Convert::FToF { self.rounding(v) } else { op };
                // A conversion between equal widths has no effect, but the operand classes must
                // still be checked.
                Ok(self.operand(v, 0)?.iter().map(|&a| self.b.cvt(op, a, to)).collect())
            }
            Rule::Bin(op) => {
                let (a, b) = self.pair(v, 0, 1)?;
                Ok(a.iter().zip(&b).map(|(&a, &b)| self.b.bin(op, a, b)).collect())
            }
            Rule::Shift(op) => {
                let (a, b) = self.pair(v, 0, 1)?;
                let shift = |(&a, &b): (&Value, &Value)| {
                    let by = self.b.cvt(Convert::UToU, b, self.b.ty(a));
                    self.b.bin(op, a, by)
                };
                Ok(a.iter().zip(&b).map(shift).collect())
            }
            Rule::Cmp(op) => {
                let (a, b) = self.pair(v, 0, 1)?;
                Ok(a.iter().zip(&b).map(|(&a, &b)| self.b.cmp(op, a, b)).collect())
            }
            Rule::CmpRev(op) => {
                let (a, b) = self.pair(v, 0, 1)?;
                Ok(a.iter().zip(&b).map(|(&a, &b)| self.b.cmp(op, b, a)).collect())
            }
        }
    }

    /// Returns the conversion with the rounding mode of an OpFConvert.
    fn rounding(&self, v: View<'_>) -> Convert {
        const RTZ: u32 = 1;
        match self.m.decoration_value(v.result, NO_MEMBER, deco::FP_ROUNDING_MODE) {
            Some(RTZ) => Convert::FToFRtz,
            _ => Convert::FToF,
        }
    }

    /// Translates OpBitcast, also between component counts. Lower-numbered components have the low
    /// bits.
    fn bitcast(&mut self, v: View<'_>) -> Result<Flat> {
        let a = self.operand(v, 0)?;
        let tys = self.s.leaf_types(v.ty)?;
        let (Some(&first), Some(&to)) = (a.first(), tys.first()) else {
            return Err(Error::invalid("bitcast of nothing"));
        };
        let from = self.b.ty(first);
        if from.bytes() == 0 || to.bytes() == 0 || a.len() as u32 * from.bytes() != tys.len() as u32 * to.bytes() {
            return Err(Error::invalid("bitcast between different sizes"));
        }
        if a.len() == tys.len() {
            return Ok(a.iter().map(|&x| self.b.cvt(Convert::Bitcast, x, to)).collect());
        }
        if from.bytes() < to.bytes() {
            let n = (to.bytes() / from.bytes()) as usize;
            return Ok(a.chunks(n).map(|parts| self.join(parts, to)).collect());
        }
        let n = from.bytes() / to.bytes();
        let mut out = Flat::new();
        for &whole in &a {
            out.extend(self.split(whole, to, n));
        }
        Ok(out)
    }

    /// Joins smaller scalars into one, lowest first.
    pub fn join(&mut self, parts: &[Value], to: Ty) -> Value {
        let wide = to.integer();
        let mut bits = self.b.konst(wide, 0);
        for (i, &p) in (0..).zip(parts) {
            let ty = self.b.ty(p);
            let p = self.b.cvt(Convert::Bitcast, p, ty.integer());
            let p = self.b.cvt(Convert::UToU, p, wide);
            let by = self.b.konst(wide, u64::from(i * ty.bytes() * 8));
            let p = if i == 0 { p } else { self.b.bin(Binary::Shl, p, by) };
            bits = if i == 0 { p } else { self.b.bin(Binary::Or, bits, p) };
        }
        self.b.cvt(Convert::Bitcast, bits, to)
    }

    /// Splits one scalar into `n` smaller ones, lowest first.
    pub fn split(&mut self, whole: Value, to: Ty, n: u32) -> Flat {
        let wide = self.b.ty(whole).integer();
        let bits = self.b.cvt(Convert::Bitcast, whole, wide);
        let part = |i: u32| {
            let by = self.b.konst(wide, u64::from(i * to.bytes() * 8));
            let part = if i == 0 { bits } else { self.b.bin(Binary::LShr, bits, by) };
            let part = self.b.cvt(Convert::UToU, part, to.integer());
            self.b.cvt(Convert::Bitcast, part, to)
        };
        (0..n).map(part).collect()
    }

    fn call(&mut self, v: View<'_>) -> Result<()> {
        let f = self.m.function(v.arg(0)?).ok_or_else(|| Error::invalid("callee is not a function"))?;
        let args = v.args[1..].iter().map(|&id| self.get(id)).collect::<Result<Vec<_>>>()?;
        match self.inline(f, &args)? {
            Some(val) => self.result_val(v, val),
            None => Ok(()),
        }
    }

    fn ext_inst(&mut self, v: View<'_>) -> Result<()> {
        match self.m.ext_set(v.arg(0)?) {
            Some(ExtSet::Glsl450) => self.glsl(v),
            Some(ExtSet::NonSemantic | ExtSet::Debug) => Ok(()),
            Some(ExtSet::Other(name)) => Err(Error::unsupported(format!("extended instruction set {name}"))),
            None => Err(Error::invalid("extended instruction set is not imported")),
        }
    }

    // Pointers.

    fn pointer_op(&mut self, v: View<'_>) -> Result<()> {
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

    pub fn pointer_result(&mut self, v: View<'_>, p: Pointer) -> Result<()> {
        match *self.s.ty(v.ty)? {
            Type::Pointer { to, .. } if to == p.ty || to == UNTYPED => self.set(v.result, Val::Ptr(p)),
            _ => Err(Error::invalid("result type does not point to what the indices reach")),
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

    // Composites.

    fn composite_op(&mut self, v: View<'_>) -> Result<()> {
        match v.op {
            op::OpSelect => return self.select(v),
            op::OpCopyObject => match self.get(v.arg(0)?)? {
                val @ (Val::Ptr(_) | Val::Handle(_)) => return self.set(v.result, val),
                val @ (Val::Shared(_) | Val::Kept(_)) if self.type_of(v.arg(0)?)? == v.ty => {
                    return self.set(v.result, val);
                }
                _ => {}
            },
            op::OpCompositeInsert => {
                let whole = v.arg(1)?;
                if let Val::Shared(shared) = self.get(whole)?
                    && self.type_of(whole)? == v.ty
                {
                    let (part, at) = self.inserted(v)?;
                    let with = shared.with(at, &part).ok_or_else(outside)?;
                    return self.set(v.result, Val::Shared(with));
                }
            }
            _ => {}
        }
        let flat = match v.op {
            op::OpVectorExtractDynamic => {
                let (all, i) = (self.operand(v, 0)?, self.operand1(v, 1)?);
                Flat::from_slice(&[self.pick(&all, i)])
            }
            op::OpVectorInsertDynamic => {
                let (mut all, new, i) = (self.operand(v, 0)?, self.operand1(v, 1)?, self.operand1(v, 2)?);
                let i = self.b.int_as(i, Ty::I32);
                for (c, x) in (0..).zip(&mut all) {
                    let which = self.b.i32(c);
                    let hit = self.b.cmp(Cmp::IEq, i, which);
                    *x = self.b.select(hit, new, *x);
                }
                all
            }
            op::OpVectorShuffle => {
                let mut all = self.operand(v, 0)?;
                all.extend(self.operand(v, 1)?);
                let first = *all.first().ok_or_else(|| Error::invalid("shuffle of nothing"))?;
                let undef = self.b.konst(self.b.ty(first), 0);
                let pick = |&i: &u32| match i {
                    u32::MAX => Ok(undef),
                    i => all.get(i as usize).copied().ok_or_else(|| Error::invalid("component is out of range")),
                };
                v.args[2..].iter().map(pick).collect::<Result<Flat>>()?
            }
            op::OpCompositeConstruct if self.s.cooperative.contains_key(&v.ty) => {
                let x = self.operand1(v, 0)?;
                std::iter::repeat_n(x, self.s.flat_leaves(v.ty)?).collect()
            }
            op::OpCompositeConstruct => {
                let mut out = Flat::new();
                let most = self.s.flat_leaves(v.ty)?;
                for &id in v.args {
                    out.extend(self.flat(id)?);
                    if out.len() > most {
                        return Err(Error::invalid("too many constituents"));
                    }
                }
                out
            }
            op::OpCompositeConstructReplicateEXT => {
                let part = self.operand(v, 0)?;
                let (total, parts) = (self.s.flat_leaves(v.ty)?, self.s.part_count(v.ty)? as usize);
                if part.len() * parts != total {
                    return Err(Error::invalid("operand is not a constituent"));
                }
                Flat::from_vec(part.repeat(parts))
            }
            op::OpCompositeExtract => {
                if let Some(whole) = self.kept_value(v.arg(0)?) {
                    return self.extract_kept(v, whole, &v.args[1..]);
                }
                let (ty, at) = self.s.walk(self.type_of(v.arg(0)?)?, &v.args[1..])?;
                let n = self.s.flat_leaves(ty)?;
                self.spend(n)?;
                match self.get(v.arg(0)?)? {
                    Val::Shared(whole) => whole.part(at, n).ok_or_else(outside)?,
                    _ => Flat::from_slice(self.operand(v, 0)?.get(at..at + n).ok_or_else(outside)?),
                }
            }
            op::OpCompositeInsert => {
                let mut whole = self.operand(v, 1)?;
                let (part, at) = self.inserted(v)?;
                whole.get_mut(at..at + part.len()).ok_or_else(outside)?.copy_from_slice(&part);
                whole
            }
            op::OpTranspose => {
                let m = self.operand(v, 0)?;
                let (rows, cols, _) = self.matrix_shape(v, 0)?;
                (0..rows * cols).map(|i| m[(i % cols) * rows + i / cols]).collect()
            }
            op::OpCopyObject | op::OpCopyLogical | op::OpExpectKHR => self.operand(v, 0)?,
            _ => return Err(Error::unsupported("not implemented")),
        };
        self.result(v, flat)
    }

    /// Returns the object of an OpCompositeInsert, and the first leaf that it replaces.
    fn inserted(&mut self, v: View<'_>) -> Result<(Flat, usize)> {
        let part = self.operand(v, 0)?;
        let (ty, at) = self.s.walk(v.ty, &v.args[2..])?;
        if self.s.flat_leaves(ty)? != part.len() {
            return Err(Error::invalid("object does not have the part's type"));
        }
        Ok((part, at))
    }

    fn select(&mut self, v: View<'_>) -> Result<()> {
        let cond = self.operand(v, 0)?;
        let get = |t: &mut Self, id| match t.get(id)? {
            Val::Kept(p) => t.load_scalars(&p, false),
            val => t.normal(val),
        };
        let (mut a, mut b) = (get(self, v.arg(1)?)?, get(self, v.arg(2)?)?);
        if a.shape() != b.shape() {
            (a, b) = (self.variable(a, v.ty)?, self.variable(b, v.ty)?);
        }
        if a.shape() != b.shape() {
            return Err(match a {
                Val::Flat(_) | Val::Shared(_) => Error::invalid("operands of different size"),
                _ => Error::unsupported("selection between pointers of different origin"),
            });
        }
        let mut others = Vec::new();
        b.each(&mut |x| others.push(*x));
        if cond.len() != 1 && cond.len() != others.len() {
            return Err(Error::invalid("condition of another size"));
        }
        let mut i = 0;
        a.each(&mut |x| {
            *x = self.b.select(cond[if cond.len() == 1 { 0 } else { i }], *x, others[i]);
            i += 1;
        });
        self.result_val(v, a)
    }

    fn derivative(&mut self, v: View<'_>) -> Result<Flat> {
        let fine = matches!(v.op, op::OpDPdxFine | op::OpDPdyFine | op::OpFwidthFine);
        let (x, y) = match v.op {
            op::OpDPdx | op::OpDPdxFine | op::OpDPdxCoarse => (true, false),
            op::OpDPdy | op::OpDPdyFine | op::OpDPdyCoarse => (false, true),
            _ => (true, true),
        };
        let p = self.operand(v, 0)?;
        let one = |&p: &Value| {
            let ty = self.b.ty(p);
            let dx = x.then(|| self.b.val(Op::Ddx { fine }, &[p], ty));
            let dy = y.then(|| self.b.val(Op::Ddy { fine }, &[p], ty));
            match (dx, dy) {
                (Some(dx), Some(dy)) => {
                    let (dx, dy) = (self.b.un(Unary::FAbs, dx), self.b.un(Unary::FAbs, dy));
                    self.b.bin(Binary::FAdd, dx, dy)
                }
                (Some(d), _) | (_, Some(d)) => d,
                _ => p,
            }
        };
        Ok(p.iter().map(one).collect())
    }

    /// Translates arithmetic that is neither elementwise nor a matrix product.
    fn misc_arithmetic(&mut self, v: View<'_>) -> Result<Flat> {
        match v.op {
            op::OpQuantizeToF16 => Ok(self.operand(v, 0)?.iter().map(|&x| self.quantize(x)).collect()),
            op::OpIAddCarry | op::OpISubBorrow => {
                let carry = if v.op == op::OpIAddCarry { Op::IAddCarry } else { Op::ISubBorrow };
                let (a, b) = self.pair(v, 0, 1)?;
                self.two_results(&a, &b, |t, x, y| {
                    let ty = t.b.ty(x);
                    let r = t.b.vals(carry.clone(), &[x, y], &[ty, ty]);
                    (r[0], r[1])
                })
            }
            op::OpUMulExtended | op::OpSMulExtended => {
                let high = if v.op == op::OpUMulExtended { Binary::UMulHi } else { Binary::SMulHi };
                let (a, b) = self.pair(v, 0, 1)?;
                self.two_results(&a, &b, |t, x, y| (t.b.bin(Binary::IMul, x, y), t.b.bin(high, x, y)))
            }
            op::OpAny | op::OpAll => {
                let op = if v.op == op::OpAny { Binary::Or } else { Binary::And };
                let all = self.operand(v, 0)?;
                let r = all.iter().copied().reduce(|a, b| self.b.bin(op, a, b));
                Ok(r.into_iter().collect())
            }
            op::OpIsNan => Ok(self.operand(v, 0)?.iter().map(|&x| self.b.cmp(Cmp::FUnoNe, x, x)).collect()),
            op::OpIsInf => {
                let all = self.operand(v, 0)?;
                let one = |&x: &Value| {
                    let a = self.b.un(Unary::FAbs, x);
                    let inf = self.b.float(self.b.ty(x), f32::INFINITY);
                    self.b.cmp(Cmp::FOrdEq, a, inf)
                };
                Ok(all.iter().map(one).collect())
            }
            op::OpOrdered | op::OpUnordered => {
                let (cmp, join) =
                    if v.op == op::OpOrdered { (Cmp::FOrdEq, Binary::And) } else { (Cmp::FUnoNe, Binary::Or) };
                let (a, b) = self.pair(v, 0, 1)?;
                let one = |(&a, &b): (&Value, &Value)| {
                    let (a, b) = (self.b.cmp(cmp, a, a), self.b.cmp(cmp, b, b));
                    self.b.bin(join, a, b)
                };
                Ok(a.iter().zip(&b).map(one).collect())
            }
            op::OpBitCount => {
                let (elem, _) = self.s.vector(v.ty)?;
                let to = self.s.scalar(elem)?;
                let all = self.operand(v, 0)?;
                let one = |&x: &Value| {
                    let n = self.b.un(Unary::BitCount, x);
                    self.b.cvt(Convert::UToU, n, to)
                };
                Ok(all.iter().map(one).collect())
            }
            op::OpBitFieldInsert => {
                let (a, b) = self.pair(v, 0, 1)?;
                let (offset, count) = (self.operand1(v, 2)?, self.operand1(v, 3)?);
                let (offset, count) = (self.b.int_as(offset, Ty::I32), self.b.int_as(count, Ty::I32));
                let one =
                    |(&a, &b): (&Value, &Value)| self.b.val(Op::BitfieldInsert, &[a, b, offset, count], self.b.ty(a));
                Ok(a.iter().zip(&b).map(one).collect())
            }
            op::OpBitFieldSExtract | op::OpBitFieldUExtract => {
                let op = if v.op == op::OpBitFieldSExtract { Op::BitfieldSExtract } else { Op::BitfieldUExtract };
                let a = self.operand(v, 0)?;
                let (offset, count) = (self.operand1(v, 1)?, self.operand1(v, 2)?);
                let (offset, count) = (self.b.int_as(offset, Ty::I32), self.b.int_as(count, Ty::I32));
                Ok(a.iter().map(|&a| self.b.val(op.clone(), &[a, offset, count], self.b.ty(a))).collect())
            }
            _ => Err(Error::unsupported(super::opcodes::not_implemented(v.op))),
        }
    }

    /// Builds a structure of two vectors from pairs of results.
    fn two_results(
        &mut self,
        a: &Flat,
        b: &Flat,
        mut f: impl FnMut(&mut Self, Value, Value) -> (Value, Value),
    ) -> Result<Flat> {
        let (mut low, mut high) = (Flat::new(), Flat::new());
        for (&x, &y) in a.iter().zip(b) {
            let (l, h) = f(self, x, y);
            low.push(l);
            high.push(h);
        }
        low.extend(high);
        Ok(low)
    }

    /// Returns the value of an id that is an image, a sampler or both.
    pub fn handle(&mut self, id: u32) -> Result<Handle> {
        match self.get(id)? {
            Val::Handle(h) => Ok(h),
            _ => Err(Error::invalid("operand is not an image or sampler").with_id(id)),
        }
    }
}

fn outside() -> Error {
    Error::invalid("part outside the composite")
}
