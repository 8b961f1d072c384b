//! Types and constants of a module under one specialisation.
//!
//! Types stay named by their SPIR-V ids. A composite is a flat list of scalar *leaves* in declaration order (a pointer is
//! one I64 leaf); [`Spec::leaves`] counts them, saturating, and nothing is flattened beyond [`MAX_LEAVES`]. A type is built only
//! from types defined before it (pointers aside), so recursion over types always ends.

use super::fold;
use super::module::{Module, NO_MEMBER, View};
use super::opcodes::op;
use super::{Specialization, class, deco};
use crate::error::{Error, Result};
use crate::ir::Ty;
use smallvec::SmallVec;
use std::rc::Rc;

/// Most scalars one composite value may have.
pub(crate) const MAX_LEAVES: u64 = 1 << 16;
/// Deepest nesting of composite types.
const MAX_TYPE_DEPTH: u32 = 64;

/// Image type, operands as in OpTypeImage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageType {
    /// Component type: F32 or I32.
    pub texel: Ty,
    pub dim: u32,
    pub arrayed: bool,
    pub ms: bool,
    /// 1 sampled, 2 storage.
    pub sampled: u32,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Void,
    Bool,
    Int { bits: u32, signed: bool },
    Float { bits: u32 },
    Vector { elem: u32, n: u32 },
    Matrix { col: u32, n: u32 },
    Image(ImageType),
    Sampler,
    SampledImage(u32),
    Array { elem: u32, len: u32 },
    RuntimeArray { elem: u32 },
    Struct(Vec<u32>),
    Pointer { class: u32, to: u32 },
    Function,
}

#[derive(Clone, Debug)]
struct TypeEntry {
    kind: Type,
    leaves: u64,
    depth: u32,
    /// First leaf of each member of a structure, saturating.
    starts: Vec<u64>,
}

/// A constant's leaves.
#[derive(Clone, Debug)]
pub(crate) enum Const {
    /// All zero.
    Null(u32),
    /// Bits by leaf.
    Flat(u32, Rc<[u64]>),
}

impl Const {
    /// Its type id.
    pub fn ty(&self) -> u32 {
        match self {
            Const::Null(ty) | Const::Flat(ty, _) => *ty,
        }
    }
    /// Bits of the first leaf.
    pub fn scalar(&self) -> u64 {
        match self {
            Const::Null(_) => 0,
            Const::Flat(_, bits) => bits.first().copied().unwrap_or(0),
        }
    }
}

/// See the module header.
pub(crate) struct Spec<'m> {
    pub m: &'m Module,
    types: Vec<Option<TypeEntry>>,
    consts: Vec<Option<Const>>,
}

impl<'m> Spec<'m> {
    /// Builds all types and constants. What is unsupported is left out and refused at its first use.
    pub fn new(m: &'m Module, specialization: &Specialization) -> Result<Spec<'m>> {
        let mut s = Spec { m, types: Vec::new(), consts: Vec::new() };
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
                op::OpTypeVoid..=op::OpTypePointer | op::OpTypeFunction => {
                    s.types[n] = s.make_type(v).map_err(|e| e.at(v.opcode(), v.result))?;
                }
                op::OpConstantTrue..=op::OpSpecConstantOp | op::OpUndef => {
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

    /// A pointer may be declared before what it points to: its own entry needs nothing of that.
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

    fn entry(&self, id: u32) -> Result<&TypeEntry> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("type is not defined").with_id(id))?;
        match &self.types[n] {
            Some(t) => Ok(t),
            None => {
                let v = self.m.def(id)?;
                Err(Error::unsupported("not a type that is implemented").at(v.opcode(), id))
            }
        }
    }

    /// The type.
    pub fn ty(&self, id: u32) -> Result<&Type> {
        Ok(&self.entry(id)?.kind)
    }

    /// Scalars of a type, saturating.
    pub fn leaves(&self, id: u32) -> Result<u64> {
        Ok(self.entry(id)?.leaves)
    }

    /// Scalars of a type whose values are held flat.
    pub fn flat_leaves(&self, id: u32) -> Result<usize> {
        let n = self.leaves(id)?;
        if n > MAX_LEAVES {
            return Err(Error::limit(format!("composite of {n} scalars")).with_id(id));
        }
        Ok(n as usize)
    }

    /// IR type of a scalar (or pointer) type.
    pub fn scalar(&self, id: u32) -> Result<Ty> {
        Ok(match *self.ty(id)? {
            Type::Bool => Ty::B1,
            Type::Int { bits: 8, .. } => Ty::I8,
            Type::Int { bits: 16, .. } => Ty::I16,
            Type::Int { bits: 32, .. } => Ty::I32,
            Type::Int { bits: 64, .. } | Type::Pointer { .. } => Ty::I64,
            Type::Float { bits: 16 } => Ty::F16,
            Type::Float { bits: 32 } => Ty::F32,
            Type::Float { bits: 64 } => Ty::F64,
            _ => return Err(Error::invalid("not a scalar type").with_id(id)),
        })
    }

    /// Component type id and count of a vector; (itself, 1) of a scalar.
    pub fn vector(&self, id: u32) -> Result<(u32, u32)> {
        match *self.ty(id)? {
            Type::Vector { elem, n } => Ok((elem, n)),
            _ => self.scalar(id).map(|_| (id, 1)),
        }
    }

    /// Rows, columns and component type of a matrix.
    pub fn matrix(&self, id: u32) -> Result<(usize, usize, Ty)> {
        match *self.ty(id)? {
            Type::Matrix { col, n } => {
                let (elem, rows) = self.vector(col)?;
                Ok((rows as usize, n as usize, self.scalar(elem)?))
            }
            _ => Err(Error::invalid("not a matrix").with_id(id)),
        }
    }

    /// True for signed integers (and vectors of them).
    pub fn is_signed(&self, id: u32) -> bool {
        match self.ty(id) {
            Ok(Type::Int { signed, .. }) => *signed,
            Ok(&Type::Vector { elem, .. }) => matches!(self.ty(elem), Ok(Type::Int { signed: true, .. })),
            _ => false,
        }
    }

    /// Type and number of the parts of a composite; struct members differ, so `i` is asked for.
    pub fn part(&self, id: u32, i: u32) -> Result<u32> {
        let out_of_range = || Error::invalid(format!("index {i} is out of range")).with_id(id);
        match self.ty(id)? {
            &Type::Vector { elem, n } | &Type::Matrix { col: elem, n } | &Type::Array { elem, len: n } => {
                if i < n {
                    Ok(elem)
                } else {
                    Err(out_of_range())
                }
            }
            &Type::RuntimeArray { elem } => Ok(elem),
            Type::Struct(members) => members.get(i as usize).copied().ok_or_else(out_of_range),
            _ => Err(Error::invalid("not a composite").with_id(id)),
        }
    }

    /// Number of parts of a composite.
    pub fn part_count(&self, id: u32) -> Result<u32> {
        Ok(match self.ty(id)? {
            &Type::Vector { n, .. } | &Type::Matrix { n, .. } | &Type::Array { len: n, .. } => n,
            Type::Struct(members) => members.len() as u32,
            _ => return Err(Error::invalid("not a composite of known size").with_id(id)),
        })
    }

    /// Follows literal indices: type and first leaf of the part.
    pub fn walk(&self, mut id: u32, path: &[u32]) -> Result<(u32, usize)> {
        let mut leaf = 0;
        self.flat_leaves(id)?;
        for &i in path {
            let part = self.part(id, i)?;
            // The whole has not too many leaves, so nothing here is saturated.
            leaf += match self.entry(id)? {
                TypeEntry { kind: Type::Struct(_), starts, .. } => {
                    starts.get(i as usize).map_or(0, |&first| first as usize)
                }
                _ => i as usize * self.flat_leaves(part)?,
            };
            id = part;
        }
        Ok((id, leaf))
    }

    /// IR types of all leaves.
    pub fn leaf_types(&self, id: u32) -> Result<SmallVec<[Ty; 4]>> {
        let mut out = SmallVec::new();
        self.flat_leaves(id)?;
        self.push_leaves(id, &mut out)?;
        Ok(out)
    }

    fn push_leaves(&self, id: u32, out: &mut SmallVec<[Ty; 4]>) -> Result<()> {
        match self.ty(id)? {
            &Type::Vector { elem: part, n } | &Type::Matrix { col: part, n } | &Type::Array { elem: part, len: n } => {
                let start = out.len();
                if n > 0 {
                    self.push_leaves(part, out)?;
                }
                let once = out[start..].to_vec();
                for _ in 1..n {
                    out.extend_from_slice(&once);
                }
            }
            Type::Struct(members) => {
                for &m in members {
                    self.push_leaves(m, out)?;
                }
            }
            _ => out.push(self.scalar(id)?),
        }
        Ok(())
    }

    /// The constant, if the id is one.
    pub fn constant(&self, id: u32) -> Option<&Const> {
        self.consts[self.m.dense(id)?].as_ref()
    }

    /// Bits of a scalar constant.
    pub fn constant_bits(&self, id: u32) -> Result<u64> {
        self.constant(id).map(Const::scalar).ok_or_else(|| Error::invalid("not a constant").with_id(id))
    }

    /// All bits of a constant.
    pub fn constant_leaves(&self, id: u32) -> Result<Rc<[u64]>> {
        match self.constant(id) {
            Some(Const::Flat(_, bits)) => Ok(bits.clone()),
            Some(Const::Null(ty)) => Ok(vec![0; self.flat_leaves(*ty)?].into()),
            None => Err(Error::invalid("not a constant").with_id(id)),
        }
    }

    /// Signed value of an integer constant.
    pub fn constant_int(&self, id: u32) -> Option<i64> {
        let c = self.constant(id)?;
        let Type::Int { bits, signed } = *self.ty(c.ty()).ok()? else { return None };
        Some(if signed { fold::sign_extend(c.scalar(), bits) as i64 } else { c.scalar() as i64 })
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
                _ => Ok(None),
            },
            op::OpTypeVector => {
                let (elem, n) = (a(0)?, a(1)?);
                if !(2..=4).contains(&n) || self.scalar(elem).is_err() {
                    return Err(Error::invalid("vector type"));
                }
                many(Type::Vector { elem, n }, elem, n.into())
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
                    _ => return Ok(None),
                };
                let t = ImageType { texel, dim: a(1)?, arrayed: a(3)? != 0, ms: a(4)? != 0, sampled: a(5)? };
                if !matches!(t.dim, 0..=3 | 5 | 6) {
                    return Ok(None);
                }
                one(Type::Image(t), 2)
            }
            op::OpTypeSampler => one(Type::Sampler, 2),
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
            op::OpTypeFunction => one(Type::Function, 0),
            _ => Ok(None),
        }
    }

    fn make_const(&self, v: View<'_>, specialization: &Specialization) -> Result<Option<Const>> {
        let flat = |bits: &[u64]| Ok(Some(Const::Flat(v.ty, bits.into())));
        // Constants of types that are not implemented are refused where they are used.
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
                    _ => return Err(Error::invalid("numeric constant of another type")),
                };
                let low = u64::from(v.arg(0)?);
                let own = if width == 64 { low | u64::from(v.arg(1)?) << 32 } else { low };
                let bits = if v.op == op::OpSpecConstant { spec_bits() } else { None };
                flat(&[bits.unwrap_or(own) & fold::mask(width)])
            }
            op::OpConstantComposite | op::OpSpecConstantComposite => {
                let mut bits = Vec::new();
                let total = self.flat_leaves(v.ty)?;
                if v.args.len() as u32 != self.part_count(v.ty)? {
                    return Err(Error::invalid("wrong number of constituents"));
                }
                for &part in v.args {
                    let Some(c) = self.constant(part) else {
                        return match self.m.def(part)?.op {
                            op::OpConstantTrue..=op::OpSpecConstantOp | op::OpUndef => Ok(None),
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
            op::OpSpecConstantOp => {
                fold::spec_constant_op(self, v).map(|bits| bits.map(|b| Const::Flat(v.ty, b.into())))
            }
            _ => Ok(None),
        }
    }
}
