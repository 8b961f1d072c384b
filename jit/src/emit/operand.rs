//! Operands and results of instructions: the machine form of every IR value.

use super::Emitter;
use super::value_rep::ValueRep;
use crate::error::{Error, Result};
use crate::ir::{Op, Value, ValueDef};
use crate::lir::Value as C;
use crate::passes::Shape;

impl Emitter<'_> {
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

    /// Defines several results.
    pub fn define_all(&mut self, results: &[Value], value_reps: impl Iterator<Item = ValueRep>) -> Result<()> {
        for (&v, rep) in results.iter().zip(value_reps) {
            self.define(v, rep)?;
        }
        Ok(())
    }
}
