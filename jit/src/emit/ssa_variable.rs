//! Mutable storage of the emitter: results and parameters of structured nodes, and masks.
//!
//! A part is a variable of the LIR builder, whose SSA construction makes the block parameters. If
//! the construct contains a barrier, a part is a slot of the chunk's frame instead, because the
//! parts of the construct then run in different calls. If single lanes are suspended in the
//! construct, the part is a variable that is zero again behind each point (`invocation`).

use super::Emitter;
use super::value_rep::{BufferRange, ValueRep, elem, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{Ty, Value};
use crate::lir::{Type, Value as C, Variable};
use crate::passes::{Shape, Steps};
use smallvec::{SmallVec, smallvec};

/// Storage of one machine value.
#[derive(Clone, Copy, Debug)]
pub enum PartStorage {
    /// A variable of the LIR builder.
    Var(Variable),
    /// Offset in the chunk's frame, and type of the value.
    Slot(u32, Type),
}

/// The form of [`ValueRep`] that the parts of a variable hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepForm {
    /// One machine value for all lanes.
    Scalar,
    /// An affine value with these steps.
    Affine(Steps),
    /// A vector with one element per lane.
    Vector,
    /// One buffer for all lanes: its address and range.
    Buffer,
    /// A buffer per lane: addresses and ranges.
    Buffers,
    /// One physical address per lane.
    Pointers,
}

/// A mutable variable of the emitter, which holds one value of the IR in one or more parts.
#[derive(Clone, Debug)]
pub struct SsaVariable {
    /// Type of the IR value.
    pub ty: Ty,
    /// The way in which machine values make up the value.
    pub form: RepForm,
    /// Storage of the machine values, in the order of the form.
    pub parts_storage: SmallVec<[PartStorage; 4]>,
}

/// Returns the machine types of a representation.
pub fn form_types(ty: Ty, form: RepForm, lanes: usize) -> SmallVec<[Type; 8]> {
    match form {
        RepForm::Scalar => smallvec![scalar_type(ty)],
        RepForm::Affine(_) => smallvec![Type::I32],
        RepForm::Vector => smallvec![elem(ty).by(lanes)],
        RepForm::Buffer => smallvec![Type::I64; 2],
        RepForm::Buffers => smallvec![Type::I64; 2 * lanes],
        RepForm::Pointers => smallvec![Type::I64; lanes],
    }
}

/// Splits a representation into its form and its machine values.
pub fn parts(rep: &ValueRep) -> (RepForm, SmallVec<[C; 8]>) {
    match rep {
        ValueRep::Uniform(c) => (RepForm::Scalar, smallvec![*c]),
        ValueRep::Affine(c, steps) => (RepForm::Affine(*steps), smallvec![*c]),
        ValueRep::Varying(c) => (RepForm::Vector, smallvec![*c]),
        ValueRep::Buffer(p) => (RepForm::Buffer, smallvec![p.address, p.range]),
        ValueRep::Buffers(list) => (RepForm::Buffers, list.iter().flat_map(|p| [p.address, p.range]).collect()),
        ValueRep::Pointers(p) => (RepForm::Pointers, p.iter().copied().collect()),
    }
}

/// Makes a representation from its form and its machine values.
pub fn assemble(form: RepForm, parts: &[C]) -> ValueRep {
    let pair = |p: &[C]| BufferRange { address: p[0], range: p[1] };
    match form {
        RepForm::Scalar => ValueRep::Uniform(parts[0]),
        RepForm::Affine(steps) => ValueRep::Affine(parts[0], steps),
        RepForm::Vector => ValueRep::Varying(parts[0]),
        RepForm::Buffer => ValueRep::Buffer(pair(parts)),
        RepForm::Buffers => ValueRep::Buffers(parts.chunks(2).map(pair).collect()),
        RepForm::Pointers => ValueRep::Pointers(parts.iter().copied().collect()),
    }
}

impl Emitter<'_> {
    /// Makes a variable for a region value, in the form that its shape requires.
    pub fn new_ssa_variable(&mut self, v: Value, spans_point: bool) -> SsaVariable {
        let ty = self.shader.ty(v);
        let form = match (ty, self.shape(v)) {
            (Ty::Buf, Shape::Uniform) => RepForm::Buffer,
            (Ty::Buf, _) => RepForm::Buffers,
            (_, Shape::Uniform) => RepForm::Scalar,
            (Ty::Img | Ty::Smp, _) => RepForm::Pointers,
            (_, Shape::Affine(steps)) => RepForm::Affine(steps),
            (_, Shape::Varying) => RepForm::Vector,
        };
        self.ssa_variable(ty, form, spans_point)
    }

    /// Makes a variable for a mask.
    pub fn new_mask_variable(&mut self, spans_point: bool) -> SsaVariable {
        self.ssa_variable(Ty::B1, RepForm::Vector, spans_point)
    }

    /// Makes a variable for a vector with one element per lane.
    pub fn new_vector_variable(&mut self, ty: Ty) -> SsaVariable {
        self.ssa_variable(ty, RepForm::Vector, false)
    }

    fn ssa_variable(&mut self, ty: Ty, form: RepForm, spans_point: bool) -> SsaVariable {
        let in_slots = self.suspension.needs_slots(spans_point);
        let parts_storage = form_types(ty, form, self.lanes.count() as usize)
            .into_iter()
            .map(|t| {
                if in_slots {
                    PartStorage::Slot(self.new_slot(t), t)
                } else {
                    PartStorage::Var(self.variables.take(&mut self.b, t))
                }
            })
            .collect();
        let variable = SsaVariable { ty, form, parts_storage };
        if spans_point {
            self.open_variable(&variable);
        }
        variable
    }

    /// Releases a variable. A variable that reuses its LIR variables must be set first
    /// ([`Emitter::zero_variable`]).
    pub fn release_variable(&mut self, variable: &SsaVariable) {
        for (&part, ty) in
            variable.parts_storage.iter().zip(form_types(variable.ty, variable.form, self.lanes.count() as usize))
        {
            if let PartStorage::Var(variable) = part {
                self.variables.release(ty, variable);
            }
        }
    }

    fn write_part(&mut self, part: PartStorage, c: C) {
        match part {
            PartStorage::Var(v) => self.b.def_var(v, c),
            PartStorage::Slot(offset, _) => self.store_slot(offset, c),
        }
    }

    fn read_part(&mut self, part: PartStorage) -> C {
        match part {
            PartStorage::Var(v) => self.b.use_var(v),
            PartStorage::Slot(offset, ty) => self.load_slot(offset, ty),
        }
    }

    /// Returns the current contents of a variable.
    pub fn read_variable(&mut self, variable: &SsaVariable) -> ValueRep {
        let values: Vec<C> = variable.parts_storage.iter().map(|&p| self.read_part(p)).collect();
        assemble(variable.form, &values)
    }

    /// Replaces the contents of a variable for all lanes.
    pub fn write_variable(&mut self, value: Value, variable: &SsaVariable, rep: &ValueRep) -> Result<()> {
        let values = self.convert_parts(value, variable, rep)?;
        for (&part, &c) in variable.parts_storage.iter().zip(&values) {
            self.write_part(part, c);
        }
        Ok(())
    }

    /// Replaces the contents of a variable for the lanes of a mask. Uniform contents are replaced
    /// for all lanes, because they are equal for every lane that still reads them.
    pub fn merge_variable(&mut self, value: Value, variable: &SsaVariable, rep: &ValueRep, mask: C) -> Result<()> {
        let new = self.convert_parts(value, variable, rep)?;
        let merged: SmallVec<[C; 8]> = match variable.form {
            RepForm::Scalar | RepForm::Affine(_) | RepForm::Buffer => new,
            RepForm::Vector => {
                let old = self.read_single(variable);
                smallvec![self.b.select(mask, new[0], old)]
            }
            RepForm::Buffers | RepForm::Pointers => {
                let per_lane = variable.parts_storage.len() / self.lanes.count() as usize;
                let mut out = SmallVec::new();
                for (i, (&part, &c)) in variable.parts_storage.iter().zip(&new).enumerate() {
                    let bit = self.b.extract(mask, i / per_lane);
                    let old = self.read_part(part);
                    out.push(self.b.select(bit, c, old));
                }
                out
            }
        };
        for (&part, &c) in variable.parts_storage.iter().zip(&merged) {
            self.write_part(part, c);
        }
        Ok(())
    }

    /// Sets a variable to zero, so that lanes that are never written have defined bits.
    pub fn zero_variable(&mut self, variable: &SsaVariable) {
        let types = form_types(variable.ty, variable.form, self.lanes.count() as usize);
        for (&part, &ty) in variable.parts_storage.iter().zip(&types) {
            let zero = self.b.constant(ty, 0);
            self.write_part(part, zero);
        }
    }

    /// Returns the machine values of `rep` in the form of the variable.
    fn convert_parts(&mut self, value: Value, variable: &SsaVariable, rep: &ValueRep) -> Result<SmallVec<[C; 8]>> {
        let (form, values) = parts(rep);
        if form == variable.form {
            return Ok(values);
        }
        let mismatch = || Error::internal(format!("{value:?}: {form:?} does not fit {:?}", variable.form));
        Ok(match (variable.form, rep) {
            (RepForm::Vector, _) => smallvec![self.rep_to_vector(variable.ty, rep)?],
            (RepForm::Scalar, ValueRep::Varying(c)) => smallvec![self.first_of(*c)],
            (RepForm::Affine(steps), ValueRep::Varying(c)) => smallvec![self.affine_base(*c, steps)],
            (RepForm::Buffers, ValueRep::Buffer(p)) => {
                (0..self.lanes.count()).flat_map(|_| [p.address, p.range]).collect()
            }
            (RepForm::Pointers, ValueRep::Uniform(c)) => smallvec![*c; self.lanes.count() as usize],
            (RepForm::Affine(_), ValueRep::Affine(..) | ValueRep::Uniform(_))
            | (RepForm::Scalar, ValueRep::Affine(..)) => values,
            _ => return Err(mismatch()),
        })
    }

    /// Returns the contents of a variable that has one part.
    pub fn read_single(&mut self, variable: &SsaVariable) -> C {
        self.read_part(variable.parts_storage[0])
    }

    /// Sets a variable that has one part.
    pub fn write_single(&mut self, variable: &SsaVariable, c: C) {
        self.write_part(variable.parts_storage[0], c);
    }
}
