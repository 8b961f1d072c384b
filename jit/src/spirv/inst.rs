//! Translation of instructions: dispatch by family; composites, arithmetic, matrices, pointers.

use super::alu::{self, Rule};
use super::hit_object::is_hit_object_op;
use super::module::{ExtSet, NO_MEMBER, View};
use super::opcodes::op;
use super::translator::Translator;
use super::value::Flat;
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
            op::OpCooperativeVectorLoadNV
            | op::OpCooperativeVectorStoreNV
            | op::OpCooperativeVectorMatrixMulNV
            | op::OpCooperativeVectorMatrixMulAddNV
            | op::OpCooperativeVectorOuterProductAccumulateNV
            | op::OpCooperativeVectorReduceSumAccumulateNV => self.cooperative_vector_op(v),
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
            return Ok(a.chunks(n).map(|parts| self.b.join(parts, to)).collect());
        }
        let n = from.bytes() / to.bytes();
        let mut out = Flat::new();
        for &whole in &a {
            out.extend(self.b.split(whole, to, n));
        }
        Ok(out)
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
            op::OpFmaKHR => {
                let ((a, b), c) = (self.pair(v, 0, 1)?, self.operand(v, 2)?);
                if a.len() != c.len() || a.iter().any(|&x| !self.b.ty(x).is_float()) {
                    return Err(Error::invalid("fused multiply-add of other types"));
                }
                Ok(a.iter().zip(&b).zip(&c).map(|((&a, &b), &c)| self.b.fma(a, b, c)).collect())
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
}
