//! Types and constants of a module under one specialisation.
//!
//! Types are referred to by their SPIR-V ids. A composite is a flat list of scalar *leaves* in
//! declaration order (a pointer is one I64 leaf). [`Spec::leaves`] counts them, saturating, and
//! nothing is flattened beyond [`MAX_LEAVES`]. A type is built only from types defined before it
//! (except pointers; see `declare`), so recursion over types always ends.

use super::encoding::{SmallFloat, word_of};
use super::float_mode::FloatModes;
use super::module::Module;
use crate::error::{Error, Result};
use crate::ir::Ty;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Largest number of scalars of a composite value.
pub(crate) const MAX_LEAVES: u64 = 1 << 16;

/// Largest number of components of a vector that is no long vector (OpTypeVectorIdEXT).
pub(crate) const SHORT_VECTOR: u32 = 4;

/// Pointee of untyped pointers, which is not the id of any type.
pub(crate) const UNTYPED: u32 = 0;

/// Returns a mask of the low `bits` bits.
pub(crate) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Sign-extends a number of `bits` bits.
pub(crate) fn sign_extend(v: u64, bits: u32) -> u64 {
    let shift = 64 - bits.clamp(1, 64);
    (((v << shift) as i64) >> shift) as u64
}

/// An image type, with operands as in OpTypeImage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageType {
    /// Component type, F32 or I32.
    pub texel: Ty,
    pub dim: u32,
    pub arrayed: bool,
    pub ms: bool,
    /// 1 for a sampled image, 2 for a storage image.
    pub sampled: u32,
    /// Format that the module declares, or 0 if it declares none.
    pub format: u32,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Void,
    Bool,
    Int {
        bits: u32,
        signed: bool,
    },
    Float {
        bits: u32,
    },
    /// A float that is only stored and converted.
    Small(SmallFloat),
    Vector {
        elem: u32,
        n: u32,
    },
    Matrix {
        col: u32,
        n: u32,
    },
    Image(ImageType),
    Sampler,
    SampledImage(u32),
    /// A descriptor of a buffer in a heap.
    Buffer,
    /// An acceleration structure, whose value is its address.
    AccelerationStructure,
    /// A ray query, which has no value.
    RayQuery,
    /// A hit object, which has no value.
    HitObject,
    Array {
        elem: u32,
        len: u32,
    },
    RuntimeArray {
        elem: u32,
    },
    Struct(Vec<u32>),
    /// A pointer, where `to` may be [`UNTYPED`].
    Pointer {
        class: u32,
        to: u32,
    },
    Function,
}

/// Properties of a cooperative matrix type, in addition to the array that represents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cooperative {
    pub elem: u32,
    pub rows: u32,
    pub columns: u32,
    /// Number of lanes of the subgroup.
    pub lanes: u32,
}

impl Cooperative {
    /// Returns the number of components of an invocation.
    pub fn length(self) -> u32 {
        self.rows * self.columns / self.lanes
    }

    /// Returns the component that holds an element.
    pub fn component(self, row: u32, column: u32) -> usize {
        ((row * self.columns + column) / self.lanes) as usize
    }

    /// Returns the lane that holds an element.
    pub fn lane(self, row: u32, column: u32) -> u32 {
        (row * self.columns + column) % self.lanes
    }
}

#[derive(Clone, Debug)]
pub(super) struct TypeEntry {
    pub kind: Type,
    pub leaves: u64,
    pub depth: u32,
    /// First leaf of each member of a structure, saturating.
    pub starts: Vec<u64>,
}

/// Leaves of a constant.
#[derive(Clone, Debug)]
pub(crate) enum Const {
    /// A constant of this type whose leaves are all zero.
    Null(u32),
    /// A constant of this type with the bits of each leaf.
    Flat(u32, Rc<[u64]>),
}

impl Const {
    /// Returns the type id of the constant.
    pub fn ty(&self) -> u32 {
        match self {
            Const::Null(ty) | Const::Flat(ty, _) => *ty,
        }
    }
    /// Returns the bits of the first leaf.
    pub fn scalar(&self) -> u64 {
        match self {
            Const::Null(_) => 0,
            Const::Flat(_, bits) => bits.first().copied().unwrap_or(0),
        }
    }
}

/// Types and constants of a module under one specialisation.
pub(crate) struct Spec<'m> {
    pub m: &'m Module,
    /// Float modes that the entry point declares, without constants.
    pub float: FloatModes,
    /// Number of lanes of a subgroup.
    pub lanes: u32,
    /// Number of vertices of a patch, from
    /// [`Specialization::patch_vertices`](super::Specialization).
    pub patch_vertices: u32,
    /// True if `ViewIndex` has the value of `DeviceIndex`.
    pub view_index_from_device_index: bool,
    pub(super) types: Vec<Option<TypeEntry>>,
    pub(super) consts: Vec<Option<Const>>,
    /// Arrays that are cooperative matrices.
    pub cooperative: HashMap<u32, Cooperative>,
    /// Types that are or contain ray queries.
    pub(super) query_types: HashSet<u32>,
}

impl<'m> Spec<'m> {
    pub(super) fn entry(&self, id: u32) -> Result<&TypeEntry> {
        let n = self.m.dense(id).ok_or_else(|| Error::invalid("type is not defined").with_id(id))?;
        match &self.types[n] {
            Some(t) => Ok(t),
            None => {
                let v = self.m.def(id)?;
                Err(Error::unsupported("not a type that is implemented").at(v.opcode(), id))
            }
        }
    }

    /// Returns the type with this id.
    pub fn ty(&self, id: u32) -> Result<&Type> {
        Ok(&self.entry(id)?.kind)
    }

    /// Returns the number of scalars of a type, saturating.
    pub fn leaves(&self, id: u32) -> Result<u64> {
        Ok(self.entry(id)?.leaves)
    }

    /// Returns true if a type is or contains a ray query.
    pub fn has_query(&self, id: u32) -> bool {
        self.query_types.contains(&id)
    }

    /// Returns the number of scalars of a type whose values are held flat.
    pub fn flat_leaves(&self, id: u32) -> Result<usize> {
        let n = self.leaves(id)?;
        if n > MAX_LEAVES {
            return Err(Error::limit(format!("composite of {n} scalars")).with_id(id));
        }
        Ok(n as usize)
    }

    /// Returns the IR type of a scalar or pointer type.
    pub fn scalar(&self, id: u32) -> Result<Ty> {
        Ok(match *self.ty(id)? {
            Type::Bool => Ty::B1,
            Type::Int { bits: 8, .. } => Ty::I8,
            Type::Int { bits: 16, .. } => Ty::I16,
            Type::Int { bits: 32, .. } => Ty::I32,
            Type::Int { bits: 64, .. } | Type::Pointer { .. } | Type::AccelerationStructure => Ty::I64,
            Type::Small(small) => word_of(small),
            Type::Float { bits: 16 } => Ty::F16,
            Type::Float { bits: 32 } => Ty::F32,
            Type::Float { bits: 64 } => Ty::F64,
            _ => return Err(Error::invalid("not a scalar type").with_id(id)),
        })
    }

    /// Returns component type id and count of a vector, or of an invocation's part of a cooperative
    /// matrix. Returns the type itself and 1 for a scalar.
    pub fn vector(&self, id: u32) -> Result<(u32, u32)> {
        match *self.ty(id)? {
            Type::Vector { elem, n } => Ok((elem, n)),
            Type::Array { elem, len } if self.cooperative.contains_key(&id) => Ok((elem, len)),
            _ => self.scalar(id).map(|_| (id, 1)),
        }
    }

    /// Returns element type and length of a composite of equal parts that a private variable can
    /// keep as an array: an array, a matrix, or a long vector.
    pub fn array_like(&self, id: u32) -> Result<Option<(u32, u32)>> {
        Ok(match *self.ty(id)? {
            Type::Array { elem, len } => Some((elem, len)),
            Type::Matrix { col, n } => Some((col, n)),
            Type::Vector { elem, n } if n > SHORT_VECTOR => Some((elem, n)),
            _ => None,
        })
    }

    /// Returns rows, columns and component type of a matrix.
    pub fn matrix(&self, id: u32) -> Result<(usize, usize, Ty)> {
        match *self.ty(id)? {
            Type::Matrix { col, n } => {
                let (elem, rows) = self.vector(col)?;
                Ok((rows as usize, n as usize, self.scalar(elem)?))
            }
            _ => Err(Error::invalid("not a matrix").with_id(id)),
        }
    }

    /// Returns true if a type is what a value of ray tracing has that consists of `words` leaves: a
    /// scalar, a vector or a matrix of four columns of three, or an array of more than one element.
    pub fn is_ray_type(&self, id: u32, elements: u32, words: u32, leaf: Ty) -> Result<bool> {
        Ok(match *self.ty(id)? {
            Type::Array { elem, len } if elements > 1 => {
                len == elements && self.is_ray_type(elem, 1, words / elements, leaf)?
            }
            _ if elements > 1 => false,
            Type::Bool | Type::Int { bits: 32, .. } | Type::Float { bits: 32 } => {
                words == 1 && self.scalar(id)? == leaf
            }
            Type::Vector { elem, n } => n == words && self.is_ray_type(elem, 1, 1, leaf)?,
            Type::Matrix { col, n: 4 } => words == 12 && self.is_ray_type(col, 1, 3, leaf)?,
            _ => false,
        })
    }

    /// Returns true for signed integers and vectors of them.
    pub fn is_signed(&self, id: u32) -> bool {
        match self.ty(id) {
            Ok(Type::Int { signed, .. }) => *signed,
            Ok(&Type::Vector { elem, .. }) => matches!(self.ty(elem), Ok(Type::Int { signed: true, .. })),
            _ => false,
        }
    }

    /// Returns the type of part `i` of a composite.
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

    /// Returns the number of parts of a composite.
    pub fn part_count(&self, id: u32) -> Result<u32> {
        Ok(match self.ty(id)? {
            &Type::Vector { n, .. } | &Type::Matrix { n, .. } | &Type::Array { len: n, .. } => n,
            Type::Struct(members) => members.len() as u32,
            _ => return Err(Error::invalid("not a composite of known size").with_id(id)),
        })
    }

    /// Follows literal indices. Returns type and first leaf of the part.
    pub fn walk(&self, mut id: u32, path: &[u32]) -> Result<(u32, usize)> {
        let mut leaf = 0;
        self.flat_leaves(id)?;
        for &i in path {
            let part = self.part(id, i)?;
            // The number of leaves of the whole is limited, so nothing here is saturated.
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

    /// Returns the IR types of all leaves.
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
                if n > 1 {
                    let once = out[start..].to_vec();
                    (1..n).for_each(|_| out.extend_from_slice(&once));
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

    /// Returns the constant with this id, if the id is a constant.
    pub fn constant(&self, id: u32) -> Option<&Const> {
        self.consts[self.m.dense(id)?].as_ref()
    }

    /// Returns the bits of a scalar constant.
    pub fn constant_bits(&self, id: u32) -> Result<u64> {
        self.constant(id).map(Const::scalar).ok_or_else(|| Error::invalid("not a constant").with_id(id))
    }

    /// Returns the bits of all leaves of a constant.
    pub fn constant_leaves(&self, id: u32) -> Result<Rc<[u64]>> {
        match self.constant(id) {
            Some(Const::Flat(_, bits)) => Ok(bits.clone()),
            Some(Const::Null(ty)) => Ok(vec![0; self.flat_leaves(*ty)?].into()),
            None => Err(Error::invalid("not a constant").with_id(id)),
        }
    }

    /// Returns the signed value of an integer constant.
    pub fn constant_int(&self, id: u32) -> Option<i64> {
        let c = self.constant(id)?;
        let Type::Int { bits, signed } = *self.ty(c.ty()).ok()? else { return None };
        Some(if signed { sign_extend(c.scalar(), bits) as i64 } else { c.scalar() as i64 })
    }

    /// Returns the element type of a type's nested arrays, or the type itself.
    pub fn without_arrays(&self, mut ty: u32) -> Result<u32> {
        while let &Type::Array { elem, .. } | &Type::RuntimeArray { elem } = self.ty(ty)? {
            ty = elem;
        }
        Ok(ty)
    }

    /// Returns the number of halves of a vector type that atomics support.
    pub fn half_vector(&self, ty: u32) -> Result<Option<u32>> {
        Ok(match *self.ty(ty)? {
            Type::Vector { elem, n: n @ (2 | 4) } if self.scalar(elem)? == Ty::F16 => Some(n),
            _ => None,
        })
    }
}
