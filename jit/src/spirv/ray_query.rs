//! Ray queries. A variable of them is a private array of words that only their operations access.

use super::body::Translator;
use super::module::View;
use super::opcodes::op;
use super::types::Type;
use super::value::{Flat, PointerTarget};
use crate::error::{Error, Result};
use crate::ir::{Cmp, Convert, Op, RayQueryOp, Ty, Value, Var};
use base::abi::RayGetter;

/// A getter, and whether an operand of it selects the committed intersection.
const GETTERS: &[(u16, RayGetter, bool)] = &[
    (op::OpRayQueryGetIntersectionTypeKHR, RayGetter::IntersectionType, true),
    (op::OpRayQueryGetRayTMinKHR, RayGetter::RayTMin, false),
    (op::OpRayQueryGetRayFlagsKHR, RayGetter::RayFlags, false),
    (op::OpRayQueryGetIntersectionTKHR, RayGetter::IntersectionT, true),
    (op::OpRayQueryGetIntersectionInstanceCustomIndexKHR, RayGetter::InstanceCustomIndex, true),
    (op::OpRayQueryGetIntersectionInstanceIdKHR, RayGetter::InstanceId, true),
    (
        op::OpRayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR,
        RayGetter::InstanceShaderBindingTableRecordOffset,
        true,
    ),
    (op::OpRayQueryGetIntersectionGeometryIndexKHR, RayGetter::GeometryIndex, true),
    (op::OpRayQueryGetIntersectionPrimitiveIndexKHR, RayGetter::PrimitiveIndex, true),
    (op::OpRayQueryGetIntersectionBarycentricsKHR, RayGetter::Barycentrics, true),
    (op::OpRayQueryGetIntersectionFrontFaceKHR, RayGetter::FrontFace, true),
    (op::OpRayQueryGetIntersectionCandidateAABBOpaqueKHR, RayGetter::CandidateAabbOpaque, false),
    (op::OpRayQueryGetIntersectionObjectRayDirectionKHR, RayGetter::ObjectRayDirection, true),
    (op::OpRayQueryGetIntersectionObjectRayOriginKHR, RayGetter::ObjectRayOrigin, true),
    (op::OpRayQueryGetWorldRayDirectionKHR, RayGetter::WorldRayDirection, false),
    (op::OpRayQueryGetWorldRayOriginKHR, RayGetter::WorldRayOrigin, false),
    (op::OpRayQueryGetIntersectionObjectToWorldKHR, RayGetter::ObjectToWorld, true),
    (op::OpRayQueryGetIntersectionWorldToObjectKHR, RayGetter::WorldToObject, true),
    (op::OpRayQueryGetIntersectionTriangleVertexPositionsKHR, RayGetter::TriangleVertexPositions, true),
];

impl Translator<'_> {
    /// Returns the variable of a ray query and the index in it.
    fn ray_query(&mut self, id: u32) -> Result<(Var, Value)> {
        let p = self.pointer(id)?;
        let PointerTarget::Local(l) = p.place else {
            return Err(Error::invalid("operand does not point to a ray query").with_id(id));
        };
        match (self.s.ty(p.ty)?, self.locals[l.local].vars.get(l.first)) {
            (Type::RayQuery, Some(&var)) => Ok((var, l.index)),
            _ => Err(Error::invalid("operand does not point to a ray query").with_id(id)),
        }
    }

    /// Translates an instruction on a ray query, or OpConvertUToAccelerationStructureKHR.
    pub fn ray_query_op(&mut self, v: View<'_>) -> Result<()> {
        if v.op == op::OpConvertUToAccelerationStructureKHR {
            let flat = self.structure_address(v)?;
            return self.result(v, flat);
        }
        let (var, index) = self.ray_query(v.arg(0)?)?;
        let mut args = Flat::from_slice(&[index]);
        let (operation, operands) = match v.op {
            op::OpRayQueryInitializeKHR => (RayQueryOp::Initialize, 1..8),
            op::OpRayQueryTerminateKHR => (RayQueryOp::Terminate, 0..0),
            op::OpRayQueryGenerateIntersectionKHR => (RayQueryOp::Generate, 1..2),
            op::OpRayQueryConfirmIntersectionKHR => (RayQueryOp::Confirm, 0..0),
            op::OpRayQueryProceedKHR => (RayQueryOp::Proceed, 0..0),
            _ => (self.ray_getter(v)?, 0..0),
        };
        for i in operands {
            args.extend(self.operand(v, i)?);
        }
        let count = match operation {
            RayQueryOp::Proceed => 1,
            RayQueryOp::Get { getter, .. } => getter.components(),
            _ => 0,
        };
        if !self.are_ray_operands(operation, &args[1..]) {
            return Err(Error::invalid("types of the operands"));
        }
        let words = self.b.vals(Op::RayQuery(var, operation), &args, &vec![Ty::I32; count]);
        if count == 0 {
            return Ok(());
        }
        let flat = self.ray_result(v, &words)?;
        self.result(v, flat)
    }

    /// Returns true if operands behind the query have the types that the operation requires.
    fn are_ray_operands(&self, operation: RayQueryOp, args: &[Value]) -> bool {
        let types: &[Ty] = match operation {
            RayQueryOp::Initialize => {
                &[Ty::I64, Ty::I32, Ty::I32, Ty::F32, Ty::F32, Ty::F32, Ty::F32, Ty::F32, Ty::F32, Ty::F32, Ty::F32]
            }
            RayQueryOp::Generate => &[Ty::F32],
            _ => &[],
        };
        types.iter().copied().eq(args.iter().map(|&x| self.b.ty(x)))
    }

    /// Returns the operation of a getter.
    fn ray_getter(&mut self, v: View<'_>) -> Result<RayQueryOp> {
        let row = GETTERS.iter().find(|row| row.0 == v.op);
        let &(_, getter, selects) = row.ok_or_else(|| Error::unsupported("not implemented"))?;
        let committed = match selects {
            true => match self.s.constant_int(v.arg(1)?) {
                Some(which @ 0..=1) => which == 1,
                _ => return Err(Error::invalid("intersection is neither the candidate nor the committed one")),
            },
            false => false,
        };
        Ok(RayQueryOp::Get { getter, committed })
    }

    /// Converts words to the scalars of the result type.
    fn ray_result(&mut self, v: View<'_>, words: &[Value]) -> Result<Flat> {
        let types = self.s.leaf_types(v.ty)?;
        if types.len() != words.len() {
            return Err(Error::invalid("result type"));
        }
        let mut flat = Flat::new();
        for (&word, &ty) in words.iter().zip(types.iter()) {
            flat.push(match ty {
                Ty::B1 => {
                    let zero = self.b.i32(0);
                    self.b.cmp(Cmp::INe, word, zero)
                }
                Ty::I32 | Ty::F32 => self.b.cvt(Convert::Bitcast, word, ty),
                _ => return Err(Error::invalid("result type")),
            });
        }
        Ok(flat)
    }

    /// Returns the address that OpConvertUToAccelerationStructureKHR takes: one long, or the low
    /// and the high word.
    fn structure_address(&mut self, v: View<'_>) -> Result<Flat> {
        let parts = self.operand(v, 0)?;
        match parts[..] {
            [long] if self.b.ty(long) == Ty::I64 => Ok(parts),
            [low, high] if self.b.ty(low) == Ty::I32 && self.b.ty(high) == Ty::I32 => {
                let [low, high] = [low, high].map(|word| self.b.cvt(Convert::UToU, word, Ty::I64));
                let by = self.b.konst(Ty::I64, 32);
                let high = self.b.bin(crate::ir::Binary::Shl, high, by);
                Ok(Flat::from_slice(&[self.b.bin(crate::ir::Binary::Or, low, high)]))
            }
            _ => Err(Error::invalid("operand is neither a 64-bit integer nor two words")),
        }
    }
}
