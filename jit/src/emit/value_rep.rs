//! Representation of IR values in LIR values, and conversions between the forms.
//!
//! A value of uniform shape is one scalar. An affine value is a scalar base (lane 0) and constant
//! steps. A varying value is a vector with the chunk's lanes; if it is boolean, it is a mask.
//!
//! Conversions are pure operations that are emitted at each use; LIR's value numbering merges
//! repeated ones.

use super::Emitter;
use crate::error::{Error, Result};
use crate::ir::{Op, Ty, Value, ValueDef};
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
    /// Returns the type of a varying value.
    pub fn vector_type(&self, ty: Ty) -> Type {
        elem(ty).by(self.lanes as usize)
    }

    /// Returns the shape that the analysis found.
    pub fn shape(&self, v: Value) -> Shape {
        self.div.shape[v]
    }

    /// Returns the machine form of a value, which is reloaded if a suspension point lies between
    /// its definition and this use.
    pub fn value_rep(&mut self, v: Value) -> Result<ValueRep> {
        if let Some(bits) = self.constant_bits(v) {
            return Ok(ValueRep::Uniform(self.constant(self.shader.ty(v), bits)));
        }
        if let Some(rep) = self.value_of_other_segment(v)? {
            return Ok(rep);
        }
        self.value_reps[v].clone().ok_or_else(|| Error::internal(format!("{v:?} is used before it is defined")))
    }

    /// Sets the machine form of a value. If the analysis found it uniform, it becomes a scalar
    /// whatever form the operation gave (a kernel's result, a private array's element), because
    /// control flow relies on uniformity.
    pub fn define(&mut self, v: Value, rep: ValueRep) -> Result<()> {
        let rep = match (self.shape(v), rep) {
            (Shape::Uniform, ValueRep::Varying(c)) => ValueRep::Uniform(self.first_of(c)),
            (Shape::Affine(steps), ValueRep::Varying(c)) => ValueRep::Affine(self.affine_base(c, steps), steps),
            (_, rep) => rep,
        };
        self.keep(v, &rep)?;
        self.value_reps[v] = Some(rep);
        Ok(())
    }

    /// Returns a scalar constant from its IR bits.
    pub fn constant(&mut self, ty: Ty, bits: u64) -> C {
        self.b.constant(scalar_type(ty), bits)
    }

    /// Returns a constant in every lane.
    pub fn splat_constant(&mut self, ty: Ty, bits: u64) -> C {
        let vector = self.vector_type(ty);
        self.b.constant(vector, bits)
    }

    /// Returns a 32-bit integer in every lane.
    pub fn word(&mut self, word: i32) -> C {
        self.splat_constant(Ty::I32, u64::from(word as u32))
    }

    /// Returns a vector of 32-bit integers that `lane` computes from the lane's index.
    pub fn words(&mut self, lane: impl Fn(usize) -> i32) -> C {
        let lanes: SmallVec<[u64; 16]> = (0..self.lanes as usize).map(|l| u64::from(lane(l) as u32)).collect();
        self.b.constant_lanes(Elem::I32, &lanes)
    }

    /// Returns the bits of a constant.
    pub fn constant_bits(&self, v: Value) -> Option<u64> {
        match self.shader.values[v].def {
            ValueDef::Inst(inst, _) => match self.shader.insts[inst].op {
                Op::Const(bits) => Some(bits),
                _ => None,
            },
            ValueDef::Region => None,
        }
    }

    /// Returns a uniform value as a scalar. For a vector it returns the element of the lowest
    /// active lane, in constructs that are uniform by definition.
    pub fn scalar(&mut self, v: Value) -> Result<C> {
        Ok(match self.value_rep(v)? {
            ValueRep::Uniform(c) | ValueRep::Affine(c, _) => c,
            ValueRep::Varying(c) => self.first_of(c),
            ValueRep::Pointers(p) => p[0],
            ValueRep::Buffer(_) | ValueRep::Buffers(_) => return Err(Error::internal("a buffer is not a scalar")),
        })
    }

    /// Returns a value as a vector.
    pub fn vector(&mut self, v: Value) -> Result<C> {
        let rep = self.value_rep(v)?;
        self.rep_to_vector(self.shader.ty(v), &rep)
    }

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

    /// Returns `base + steps` as a vector.
    fn ramp(&mut self, base: C, steps: Steps) -> C {
        let vector = self.vector_type(Ty::I32);
        let splat = self.b.splat(vector, base);
        let steps = self.words(|l| steps.at(l));
        self.b.iadd(splat, steps)
    }

    /// Returns one lane of a value as a scalar.
    pub fn value_lane(&mut self, v: Value, lane: usize) -> Result<C> {
        Ok(match self.value_rep(v)? {
            ValueRep::Uniform(c) => c,
            ValueRep::Affine(base, steps) => self.b.iadd_imm(base, i64::from(steps.at(lane))),
            ValueRep::Varying(c) => self.b.extract(c, lane),
            ValueRep::Pointers(p) => p[lane],
            ValueRep::Buffer(_) | ValueRep::Buffers(_) => return Err(Error::internal("a buffer has no scalar lanes")),
        })
    }

    /// Concatenates a power of two of vectors with equal numbers of lanes.
    pub fn concat(&mut self, parts: &[C]) -> C {
        match *parts {
            [one] => one,
            _ => {
                let (low, high) = parts.split_at(parts.len() / 2);
                let (low, high) = (self.concat(low), self.concat(high));
                self.b.concat(low, high)
            }
        }
    }

    /// Shuffles each group of four lanes by the pattern `lanes`.
    pub fn shuffle_quads(&mut self, c: C, lanes: [u8; 4]) -> C {
        let pattern: SmallVec<[usize; 16]> =
            (0..self.lanes as usize).map(|l| (l & !3) + usize::from(lanes[l & 3])).collect();
        self.b.shuffle(c, c, &pattern)
    }
}
