//! Operands and results of instructions. An operand is a value of its id, which is loaded if it is
//! kept in memory; a result is checked against its type.

use super::module::View;
use super::translator::Translator;
use super::types::{Type, UNTYPED};
use super::value::{Flat, Handle, Pointer, Val};
use crate::error::{Error, Result};
use crate::ir::Value;

impl Translator<'_> {
    /// Returns the leaves of an id's value.
    pub fn flat(&mut self, id: u32) -> Result<Flat> {
        match self.get(id)? {
            Val::Flat(flat) => Ok(flat),
            Val::Kept(p) => match self.load(&p, false)? {
                Val::Flat(flat) => Ok(flat),
                _ => Err(Error::invalid("operand is not a value").with_id(id)),
            },
            Val::Shared(shared) => {
                self.spend(shared.len())?;
                Ok(shared.flat())
            }
            Val::Ptr(p) => {
                let ty = self.type_of(id)?;
                Ok(Flat::from_slice(&[self.pack(p, ty).map_err(|e| e.with_id(id))?]))
            }
            Val::Handle(_) => Err(Error::invalid("operand is not a value").with_id(id)),
        }
    }

    /// Returns the only leaf of an id's value.
    pub fn scalar(&mut self, id: u32) -> Result<Value> {
        let flat = self.flat(id)?;
        match flat[..] {
            [v] => Ok(v),
            _ => Err(Error::invalid("operand is not a scalar").with_id(id)),
        }
    }

    /// Returns the value of an id that is a pointer.
    pub fn pointer(&mut self, id: u32) -> Result<Pointer> {
        match self.get(id)? {
            Val::Ptr(p) => Ok(p),
            Val::Flat(flat) => match flat[..] {
                [v] => {
                    let ty = self.type_of(id)?;
                    self.scalar_pointer(v, ty).map_err(|e| e.with_id(id))
                }
                _ => Err(Error::invalid("operand is not a pointer").with_id(id)),
            },
            Val::Shared(_) | Val::Handle(_) | Val::Kept(_) => {
                Err(Error::invalid("operand is not a pointer").with_id(id))
            }
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

    /// Returns an operand of `n` scalars.
    pub fn operand_n(&mut self, v: View<'_>, i: usize, n: usize) -> Result<Flat> {
        let a = self.operand(v, i)?;
        if a.len() != n { Err(Error::invalid("operand of another size")) } else { Ok(a) }
    }

    /// Returns the value of an id that is an image, a sampler or both.
    pub fn handle(&mut self, id: u32) -> Result<Handle> {
        match self.get(id)? {
            Val::Handle(h) => Ok(h),
            _ => Err(Error::invalid("operand is not an image or sampler").with_id(id)),
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
    pub fn result_val(&mut self, v: View<'_>, val: Val) -> Result<()> {
        match val {
            Val::Flat(flat) => self.result(v, flat),
            Val::Shared(shared) => {
                self.spend(shared.len())?;
                self.result(v, shared.flat())
            }
            val => self.set(v.result, val),
        }
    }

    /// Sets a result that is a pointer after checking it against the result type.
    pub fn pointer_result(&mut self, v: View<'_>, p: Pointer) -> Result<()> {
        match *self.s.ty(v.ty)? {
            Type::Pointer { to, .. } if to == p.ty || to == UNTYPED => self.set(v.result, Val::Ptr(p)),
            _ => Err(Error::invalid("result type does not point to what the indices reach")),
        }
    }
}
