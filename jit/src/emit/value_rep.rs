//! Representation of IR values in LIR values, and conversions between the forms.
//!
//! A value of uniform shape is one scalar. An affine value is a scalar base (lane 0) and constant
//! steps. A varying value is a vector with the chunk's lanes; if it is boolean, it is a mask.
//!
//! Conversions are pure operations that are emitted at each use; LIR's value numbering merges
//! repeated ones.

use super::Emitter;
use crate::error::{Error, Result};
use crate::ir::{Ty, Value};
use crate::lir::{Elem, Type, Value as C};
use crate::passes::{Shape, Steps};
use smallvec::SmallVec;

/// A buffer in machine values.
#[derive(Clone, Copy, Debug)]
pub struct BufferRange {
    /// Address, I64.
    pub address: C,
    /// Size in bytes, I64.
    pub range: C,
}

/// Machine form of an IR value.
#[derive(Clone, Debug)]
pub enum ValueRep {
    /// One scalar for all lanes.
    Uniform(C),
    /// Base (I32), which is the value of lane 0, and the distances of the other lanes from it.
    Affine(C, Steps),
    /// A vector with one element per lane.
    Varying(C),
    /// One buffer for all lanes.
    Buffer(BufferRange),
    /// A buffer per lane.
    Buffers(SmallVec<[BufferRange; 8]>),
    /// Pointers (I64) to a view or sampler per lane.
    Pointers(SmallVec<[C; 8]>),
}

/// Returns the element type that holds one lane of an IR value.
pub fn elem(ty: Ty) -> Elem {
    match ty {
        Ty::B1 => Elem::B,
        Ty::I8 => Elem::I8,
        Ty::I16 => Elem::I16,
        Ty::I32 => Elem::I32,
        Ty::I64 | Ty::Img | Ty::Smp | Ty::Buf => Elem::I64,
        Ty::F16 => Elem::F16,
        Ty::F32 => Elem::F32,
        Ty::F64 => Elem::F64,
    }
}

/// Returns the LIR type of a scalar.
pub fn scalar_type(ty: Ty) -> Type {
    elem(ty).by(1)
}

impl Emitter<'_> {
    /// Returns a machine form as a vector.
    pub fn rep_to_vector(&mut self, ty: Ty, rep: &ValueRep) -> Result<C> {
        let vector = self.vector_type(ty);
        Ok(match rep {
            ValueRep::Varying(c) => *c,
            ValueRep::Uniform(c) => self.b.splat(vector, *c),
            ValueRep::Affine(base, steps) => self.ramp(*base, *steps),
            _ => return Err(Error::internal("a descriptor is not a vector")),
        })
    }

    /// Returns the shape that the analysis found.
    pub fn shape(&self, v: Value) -> Shape {
        self.div.shape[v]
    }
}
