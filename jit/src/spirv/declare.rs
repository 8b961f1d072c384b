//! Declarations of a module, read into [`Spec`] under one specialisation: types, constants, and
//! results of OpSpecConstantOp. Each is built from those declared before it.

use super::encoding::SmallFloat;
use super::float_mode::FloatModes;
use super::fold;
use super::generated::capabilities::Capability;
use super::module::{Module, NO_MEMBER, View};
use super::opcodes::op;
use super::types::{Const, Cooperative, ImageType, MAX_LEAVES, SHORT_VECTOR, Spec, Type, TypeEntry, UNTYPED, mask};
use super::{Specialization, class, deco};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Ty;
use base::limits::MAX_VECTOR_COMPONENTS;
use base::shader::HitObjectField;
use std::collections::{HashMap, HashSet};

/// Largest number of rows or columns of a cooperative matrix. `SCOPE_SUBGROUP` is its only scope.
const MOST: u32 = 64;
const SCOPE_SUBGROUP: u64 = 3;
/// Deepest nesting of composite types. Structures may nest 255 deep (universal limit, SPIR-V 2.17),
/// with arrays between them, which have no limit.
pub(super) const MAX_TYPE_DEPTH: u32 = 1024;

impl<'m> Spec<'m> {
    /// Builds all types and constants. Unsupported ones are omitted here and refused at their first
    /// use.
    pub fn new(m: &'m Module, specialization: &Specialization, float: FloatModes) -> Result<Spec<'m>> {
        let &Specialization { subgroup_size: lanes, patch_vertices, view_index_from_device_index, .. } = specialization;
        let (types, consts) = (Vec::new(), Vec::new());
        let mut s = Spec {
            m,
            float,
            lanes,
            patch_vertices,
            view_index_from_device_index,
            types,
            consts,
            cooperative: HashMap::new(),
            query_types: HashSet::new(),
        };
        s.types.resize_with(m.def_count(), || None);
        s.consts.resize_with(m.def_count(), || None);
        let mut flattened = 0u64;
        for inst in m.globals.clone() {
            let v = m.view(inst);
            if v.op == op::OpTypeForwardPointer {
                s.forward_pointer(v)?;
                continue;
            }
            let Some(n) = m.dense(v.result) else { continue };
            match v.op {
                op::OpTypeCooperativeMatrixKHR => {
                    let matrix = match s.cooperative_matrix(v) {
                        Ok(matrix) => matrix,
                        Err(e) if e.kind == ErrorKind::Unsupported => continue,
                        Err(e) => return Err(e.at(v.opcode(), v.result)),
                    };
                    let kind = Type::Array { elem: matrix.elem, len: matrix.length() };
                    let leaves = matrix.length().into();
                    s.types[n] = Some(TypeEntry { kind, leaves, depth: 1, starts: Vec::new() });
                    s.cooperative.insert(v.result, matrix);
                }
                op::OpTypeVoid..=op::OpTypePointer
                | op::OpTypeFunction
                | op::OpTypeUntypedPointerKHR
                | op::OpTypeAccelerationStructureKHR
                | op::OpTypeRayQueryKHR
                | op::OpTypeHitObjectNV
                | op::OpTypeHitObjectEXT
                | op::OpTypeBufferEXT
                | op::OpTypeVectorIdEXT => {
                    s.types[n] = s.make_type(v).map_err(|e| e.at(v.opcode(), v.result))?;
                    if s.contains_query(n) {
                        s.query_types.insert(v.result);
                    }
                }
                op::OpConstantTrue..=op::OpSpecConstantOp
                | op::OpConstantCompositeReplicateEXT
                | op::OpSpecConstantCompositeReplicateEXT
                | op::OpConstantSizeOfEXT
                | op::OpUndef => {
                    let c = s.make_const(v, specialization).map_err(|e| e.at(v.opcode(), v.result))?;
                    if let Some(Const::Flat(_, bits)) = &c {
                        flattened += bits.len() as u64;
                    }
                    if flattened > 16 * MAX_LEAVES + m.words().len() as u64 {
                        return Err(Error::limit("constants are too large").at(v.opcode(), v.result));
                    }
                    s.consts[n] = c;
                }
                _ => {}
            }
        }
        Ok(s)
    }

    /// Returns true if the type with this dense id is a ray query or contains one.
    fn contains_query(&self, n: usize) -> bool {
        match self.types[n].as_ref().map(|t| &t.kind) {
            Some(Type::RayQuery) => true,
            Some(Type::Array { elem, .. }) => self.has_query(*elem),
            Some(Type::Struct(members)) => members.iter().any(|&member| self.has_query(member)),
            _ => false,
        }
    }

    /// Declares a pointer before its pointee, which the pointer's own entry does not need.
    fn forward_pointer(&mut self, v: View<'_>) -> Result<()> {
        let id = v.arg(0)?;
        let at = |e: Error| e.at(v.opcode(), id);
        let pointer = self.m.def(id).map_err(at)?;
        let physical = v.arg(1)? == class::PHYSICAL_STORAGE_BUFFER && pointer.args.first() == v.args.get(1);
        if pointer.op != op::OpTypePointer || !physical {
            return Err(at(Error::invalid("forward declaration of something else than a physical pointer")));
        }
        if let Some(n) = self.m.dense(id) {
            self.types[n] = self.make_type(pointer)?;
        }
        Ok(())
    }

    /// Reads an OpTypeCooperativeMatrixKHR.
    fn cooperative_matrix(&self, v: View<'_>) -> Result<Cooperative> {
        let number = |i: usize| self.constant_bits(v.arg(i)?);
        let (scope, rows, columns) = (number(1)?, number(2)?, number(3)?);
        if scope != SCOPE_SUBGROUP {
            return Err(Error::unsupported("cooperative matrix of another scope than Subgroup"));
        }
        let fits = |n: u64| (1..=u64::from(MOST)).contains(&n);
        let lanes = u64::from(self.lanes);
        let whole = columns.is_multiple_of(lanes) || lanes.is_multiple_of(columns);
        let shared_out = columns.is_multiple_of(8) && whole && (rows * columns).is_multiple_of(lanes);
        if !fits(rows) || !fits(columns) || !shared_out {
            return Err(Error::unsupported(format!("cooperative matrix of {rows}×{columns}")));
        }
        match self.ty(v.arg(0)?)? {
            Type::Int { .. } | Type::Float { .. } | Type::Small(_) => {}
            _ => return Err(Error::invalid("component of a cooperative matrix")),
        }
        Ok(Cooperative { elem: v.arg(0)?, rows: rows as u32, columns: columns as u32, lanes: self.lanes })
    }

    fn make_type(&self, v: View<'_>) -> Result<Option<TypeEntry>> {
        let member = |id: u32| self.entry(id).map(|t| (t.leaves, t.depth + 1));
        let one = |kind: Type, leaves: u64| Ok(Some(TypeEntry { kind, leaves, depth: 0, starts: Vec::new() }));
        let many = |kind: Type, elem: u32, n: u64| {
            let (leaves, depth) = member(elem)?;
            if depth > MAX_TYPE_DEPTH {
                return Err(Error::limit("types are nested too deeply"));
            }
            Ok(Some(TypeEntry { kind, leaves: leaves.saturating_mul(n), depth, starts: Vec::new() }))
        };
        let a = |i: usize| v.arg(i);
        match v.op {
            op::OpTypeVoid => one(Type::Void, 0),
            op::OpTypeBool => one(Type::Bool, 1),
            op::OpTypeInt => match a(0)? {
                bits @ (8 | 16 | 32 | 64) => one(Type::Int { bits, signed: a(1)? != 0 }, 1),
                _ => Err(Error::invalid("integer width")),
            },
            op::OpTypeFloat => match (a(0)?, v.args.get(1)) {
                (bits @ (16 | 32 | 64), None) => one(Type::Float { bits }, 1),
                (bits, Some(&encoding)) => match SmallFloat::of(bits, encoding) {
                    Some(small) => one(Type::Small(small), 1),
                    None => Ok(None),
                },
                _ => Ok(None),
            },
            op::OpTypeVector => {
                let (elem, n) = (a(0)?, a(1)?);
                let long = self.m.capabilities.contains(&(Capability::LongVectorEXT as u32));
                let sizes = if long { 1..=MAX_VECTOR_COMPONENTS } else { 2..=SHORT_VECTOR };
                if !sizes.contains(&n) || self.scalar(elem).is_err() {
                    return Err(Error::invalid("vector type"));
                }
                many(Type::Vector { elem, n }, elem, n.into())
            }
            op::OpTypeVectorIdEXT => {
                let (elem, n) = (a(0)?, self.constant_bits(a(1)?)?);
                if self.scalar(elem).is_err() || matches!(self.ty(elem)?, Type::Pointer { .. }) {
                    return Err(Error::invalid("vector type"));
                }
                match u32::try_from(n) {
                    Ok(n @ 1..=MAX_VECTOR_COMPONENTS) => many(Type::Vector { elem, n }, elem, n.into()),
                    _ => Err(Error::limit(format!("vector of {n} components"))),
                }
            }
            op::OpTypeMatrix => {
                let (col, n) = (a(0)?, a(1)?);
                if !(2..=4).contains(&n) || !matches!(self.ty(col)?, Type::Vector { .. }) {
                    return Err(Error::invalid("matrix type"));
                }
                many(Type::Matrix { col, n }, col, n.into())
            }
            op::OpTypeImage => {
                let texel = match *self.ty(a(0)?)? {
                    Type::Float { bits: 32 } => Ty::F32,
                    Type::Int { bits: 32, .. } => Ty::I32,
                    Type::Int { bits: 64, .. } => Ty::I64,
                    _ => return Ok(None),
                };
                let (arrayed, ms) = (a(3)? != 0, a(4)? != 0);
                let t = ImageType { texel, dim: a(1)?, arrayed, ms, sampled: a(5)?, format: a(6)? };
                if !matches!(t.dim, 0..=3 | 5 | 6) {
                    return Ok(None);
                }
                one(Type::Image(t), 2)
            }
            op::OpTypeSampler => one(Type::Sampler, 2),
            op::OpTypeBufferEXT => one(Type::Buffer, 2),
            op::OpTypeAccelerationStructureKHR => one(Type::AccelerationStructure, 1),
            op::OpTypeRayQueryKHR => one(Type::RayQuery, 1),
            op::OpTypeHitObjectNV | op::OpTypeHitObjectEXT => one(Type::HitObject, HitObjectField::WORDS.into()),
            op::OpTypeSampledImage => match self.ty(a(0)?)? {
                Type::Image(_) => one(Type::SampledImage(a(0)?), 2),
                _ => Err(Error::invalid("sampled image of something else than an image")),
            },
            op::OpTypeArray => {
                let len = self.constant_int(a(1)?).ok_or_else(|| Error::invalid("array length is not a constant"))?;
                let len = u32::try_from(len).ok().filter(|&n| n > 0).ok_or_else(|| Error::invalid("array length"))?;
                many(Type::Array { elem: a(0)?, len }, a(0)?, len.into())
            }
            op::OpTypeRuntimeArray => many(Type::RuntimeArray { elem: a(0)? }, a(0)?, u64::MAX),
            op::OpTypeStruct => {
                let (mut leaves, mut depth) = (0u64, 0);
                let mut starts = Vec::with_capacity(v.args.len());
                for &m in v.args {
                    let (n, d) = member(m)?;
                    starts.push(leaves);
                    leaves = leaves.saturating_add(n);
                    depth = depth.max(d);
                }
                if depth > MAX_TYPE_DEPTH {
                    return Err(Error::limit("types are nested too deeply"));
                }
                Ok(Some(TypeEntry { kind: Type::Struct(v.args.to_vec()), leaves, depth, starts }))
            }
            op::OpTypePointer => one(Type::Pointer { class: a(0)?, to: a(1)? }, 1),
            op::OpTypeUntypedPointerKHR => one(Type::Pointer { class: a(0)?, to: UNTYPED }, 1),
            op::OpTypeFunction => one(Type::Function, 0),
            _ => Ok(None),
        }
    }

    fn make_const(&self, v: View<'_>, specialization: &Specialization) -> Result<Option<Const>> {
        let flat = |bits: &[u64]| Ok(Some(Const::Flat(v.ty, bits.into())));
        // Constants of types that are not implemented are refused at their use.
        let Ok(ty) = self.ty(v.ty) else { return Ok(None) };
        let spec_bits = || {
            let id = self.m.decoration_value(v.result, NO_MEMBER, deco::SPEC_ID)?;
            let bytes = &specialization.entries.iter().find(|(k, _)| *k == id)?.1;
            Some(bytes.iter().take(8).rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b)))
        };
        match v.op {
            op::OpConstantNull | op::OpUndef => Ok(Some(Const::Null(v.ty))),
            op::OpConstantTrue | op::OpConstantFalse | op::OpSpecConstantTrue | op::OpSpecConstantFalse => {
                if *ty != Type::Bool {
                    return Err(Error::invalid("boolean constant of another type"));
                }
                let own = matches!(v.op, op::OpConstantTrue | op::OpSpecConstantTrue);
                let is_spec = matches!(v.op, op::OpSpecConstantTrue | op::OpSpecConstantFalse);
                let bits = if is_spec { spec_bits() } else { None };
                flat(&[bits.map_or(u64::from(own), |b| u64::from(b != 0))])
            }
            op::OpConstant | op::OpSpecConstant => {
                let width = match *ty {
                    Type::Int { bits, .. } | Type::Float { bits } => bits,
                    Type::Small(small) => small.bits(),
                    _ => return Err(Error::invalid("numeric constant of another type")),
                };
                let low = u64::from(v.arg(0)?);
                let own = if width == 64 { low | u64::from(v.arg(1)?) << 32 } else { low };
                let bits = if v.op == op::OpSpecConstant { spec_bits() } else { None };
                flat(&[bits.unwrap_or(own) & mask(width)])
            }
            op::OpConstantComposite | op::OpSpecConstantComposite => {
                let mut bits = Vec::new();
                let total = self.flat_leaves(v.ty)?;
                if self.cooperative.contains_key(&v.ty) {
                    // One constituent sets all components.
                    let Some(c) = self.constant(v.arg(0)?) else { return Ok(None) };
                    return flat(&vec![c.scalar(); total]);
                }
                if v.args.len() as u32 != self.part_count(v.ty)? {
                    return Err(Error::invalid("wrong number of constituents"));
                }
                for &part in v.args {
                    let Some(c) = self.constant(part) else {
                        return match self.m.def(part)?.op {
                            op::OpConstantTrue..=op::OpSpecConstantOp | op::OpUndef => Ok(None),
                            op::OpConstantCompositeReplicateEXT | op::OpSpecConstantCompositeReplicateEXT => Ok(None),
                            _ => Err(Error::invalid("constituent is not a constant").with_id(part)),
                        };
                    };
                    if bits.len() + self.flat_leaves(c.ty())? > total {
                        break;
                    }
                    bits.extend_from_slice(&self.constant_leaves(part)?);
                }
                if bits.len() != total {
                    return Err(Error::invalid("constituents do not fit the type"));
                }
                flat(&bits)
            }
            op::OpConstantCompositeReplicateEXT | op::OpSpecConstantCompositeReplicateEXT => {
                let (total, parts) = (self.flat_leaves(v.ty)?, self.part_count(v.ty)?);
                let Some(c) = self.constant(v.arg(0)?) else { return Ok(None) };
                if self.flat_leaves(c.ty())? * parts as usize != total {
                    return Err(Error::invalid("constituents do not fit the type"));
                }
                flat(&self.constant_leaves(v.arg(0)?)?.repeat(parts as usize))
            }
            op::OpConstantSizeOfEXT => {
                // Compilers take the size of an image of void, which is not a valid type otherwise.
                let of = self.m.def(v.arg(0)?)?.op;
                let descriptor = matches!(
                    of,
                    op::OpTypeBufferEXT
                        | op::OpTypeImage
                        | op::OpTypeSampler
                        | op::OpTypeSampledImage
                        | op::OpTypeAccelerationStructureKHR
                );
                if !descriptor || !matches!(ty, Type::Int { .. }) {
                    return Err(Error::invalid("size of something that is no descriptor"));
                }
                flat(&[base::abi::DESCRIPTOR_SIZE as u64])
            }
            op::OpSpecConstantOp => {
                fold::spec_constant_op(self, v).map(|bits| bits.map(|b| Const::Flat(v.ty, b.into())))
            }
            _ => Ok(None),
        }
    }
}
