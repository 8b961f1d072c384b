//! Ray queries. A variable of them is a private array of words that only their operations access,
//! and one of marks of the queries that are initialized. An operation on another query does nothing
//! and reads zeros.

use super::module::View;
use super::opcodes::op;
use super::translator::Translator;
use super::value::Flat;
use crate::error::{Error, Result};
use crate::ir::{Cmp, Convert, Op, RayQueryOp, Ty, Value};
use base::abi::RayGetter;

/// A getter, the type of the scalars of its result, and whether an operand selects the committed
/// intersection.
const GETTERS: &[(u16, RayGetter, Ty, bool)] = &[
    (op::OpRayQueryGetIntersectionTypeKHR, RayGetter::IntersectionType, Ty::I32, true),
    (op::OpRayQueryGetRayTMinKHR, RayGetter::RayTMin, Ty::F32, false),
    (op::OpRayQueryGetRayFlagsKHR, RayGetter::RayFlags, Ty::I32, false),
    (op::OpRayQueryGetIntersectionTKHR, RayGetter::IntersectionT, Ty::F32, true),
    (op::OpRayQueryGetIntersectionInstanceCustomIndexKHR, RayGetter::InstanceCustomIndex, Ty::I32, true),
    (op::OpRayQueryGetIntersectionInstanceIdKHR, RayGetter::InstanceId, Ty::I32, true),
    (
        op::OpRayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetKHR,
        RayGetter::InstanceShaderBindingTableRecordOffset,
        Ty::I32,
        true,
    ),
    (op::OpRayQueryGetIntersectionGeometryIndexKHR, RayGetter::GeometryIndex, Ty::I32, true),
    (op::OpRayQueryGetIntersectionPrimitiveIndexKHR, RayGetter::PrimitiveIndex, Ty::I32, true),
    (op::OpRayQueryGetIntersectionBarycentricsKHR, RayGetter::Barycentrics, Ty::F32, true),
    (op::OpRayQueryGetIntersectionFrontFaceKHR, RayGetter::FrontFace, Ty::B1, true),
    (op::OpRayQueryGetIntersectionCandidateAABBOpaqueKHR, RayGetter::CandidateAabbOpaque, Ty::B1, false),
    (op::OpRayQueryGetIntersectionObjectRayDirectionKHR, RayGetter::ObjectRayDirection, Ty::F32, true),
    (op::OpRayQueryGetIntersectionObjectRayOriginKHR, RayGetter::ObjectRayOrigin, Ty::F32, true),
    (op::OpRayQueryGetWorldRayDirectionKHR, RayGetter::WorldRayDirection, Ty::F32, false),
    (op::OpRayQueryGetWorldRayOriginKHR, RayGetter::WorldRayOrigin, Ty::F32, false),
    (op::OpRayQueryGetIntersectionObjectToWorldKHR, RayGetter::ObjectToWorld, Ty::F32, true),
    (op::OpRayQueryGetIntersectionWorldToObjectKHR, RayGetter::WorldToObject, Ty::F32, true),
    (op::OpRayQueryGetIntersectionTriangleVertexPositionsKHR, RayGetter::TriangleVertexPositions, Ty::F32, true),
    (op::OpRayQueryGetIntersectionSpherePositionNV, RayGetter::SpherePosition, Ty::F32, true),
    (op::OpRayQueryGetIntersectionSphereRadiusNV, RayGetter::SphereRadius, Ty::F32, true),
    (op::OpRayQueryGetIntersectionLSSPositionsNV, RayGetter::LssPositions, Ty::F32, true),
    (op::OpRayQueryGetIntersectionLSSRadiiNV, RayGetter::LssRadii, Ty::F32, true),
    (op::OpRayQueryGetIntersectionLSSHitValueNV, RayGetter::LssHitValue, Ty::F32, true),
    (op::OpRayQueryIsSphereHitNV, RayGetter::IsSphere, Ty::B1, true),
    (op::OpRayQueryIsLSSHitNV, RayGetter::IsLss, Ty::B1, true),
];

impl Translator<'_> {
    /// Translates an instruction on a ray query, or OpConvertUToAccelerationStructureKHR.
    pub fn ray_query_op(&mut self, v: View<'_>) -> Result<()> {
        if v.op == op::OpConvertUToAccelerationStructureKHR {
            let flat = self.structure_address(v)?;
            return self.result(v, flat);
        }
        let id = v.arg(0)?;
        let p = self.pointer(id)?;
        let query = self.ray_query(&p).map_err(|e| e.with_id(id))?;
        let (operation, operands) = match v.op {
            op::OpRayQueryInitializeKHR => (RayQueryOp::Initialize, 1..8),
            op::OpRayQueryTerminateKHR => (RayQueryOp::Terminate, 0..0),
            op::OpRayQueryGenerateIntersectionKHR => (RayQueryOp::Generate, 1..2),
            op::OpRayQueryConfirmIntersectionKHR => (RayQueryOp::Confirm, 0..0),
            op::OpRayQueryProceedKHR => (RayQueryOp::Proceed, 0..0),
            _ => (self.ray_getter(v)?, 0..0),
        };
        if operation == RayQueryOp::Initialize {
            self.check_ray_flags(v.arg(2)?)?;
        }
        let mut args = Flat::from_slice(&[query.index]);
        if operation != RayQueryOp::Initialize {
            args.push(self.b.load_var(query.initialized, Some(query.index)));
        }
        let first = args.len();
        for i in operands {
            args.extend(self.operand(v, i)?);
        }
        if !operation.operands().iter().copied().eq(args[first..].iter().map(|&arg| self.b.ty(arg))) {
            return Err(Error::invalid("types of the operands"));
        }
        let words = self.b.vals(Op::RayQuery(query.words, operation), &args, &vec![Ty::I32; operation.results()]);
        if operation == RayQueryOp::Initialize {
            let yes = self.b.konst(Ty::B1, 1);
            self.b.store_var(query.initialized, Some(query.index), yes);
        }
        if words.is_empty() {
            return Ok(());
        }
        let flat = self.ray_result(v, &words)?;
        self.result(v, flat)
    }

    /// Returns the operation of a getter.
    fn ray_getter(&mut self, v: View<'_>) -> Result<RayQueryOp> {
        let row = GETTERS.iter().find(|row| row.0 == v.op);
        let &(_, getter, leaf, selects) = row.ok_or_else(|| Error::unsupported("not implemented"))?;
        if !self.s.is_ray_type(v.ty, getter.elements() as u32, getter.components() as u32, leaf)? {
            return Err(Error::invalid("result type"));
        }
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
                Ok(Flat::from_slice(&[self.b.join(&parts, Ty::I64)]))
            }
            _ => Err(Error::invalid("operand is neither a 64-bit integer nor two words")),
        }
    }
}
