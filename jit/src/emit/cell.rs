//! Mutable storage of the emitter: results and parameters of structured nodes, and masks.
//!
//! A place is a variable of the builder, whose SSA construction makes the block parameters. If the
//! construct contains a barrier, a place is a slot of the workgroup's scratch memory instead,
//! because the parts of the construct then run in different calls.

use super::Emitter;
use super::rep::{BufPair, Rep, elem, scalar_type};
use crate::error::{Error, Result};
use crate::ir::{Ty, Value};
use crate::lir::{Type, Value as C, Variable};
use crate::passes::{Shape, Steps};
use smallvec::{SmallVec, smallvec};

/// Storage of one machine value.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A variable of the LIR builder.
    Var(Variable),
    /// Offset in the chunk's frame, and type of the value.
    Slot(u32, Type),
}

/// The form of [`Rep`] that the places hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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

/// The places of one value.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Type of the IR value.
    pub ty: Ty,
    /// The way in which machine values make up the value.
    pub form: Form,
    /// Places of the machine values, in the order of the form.
    pub places: SmallVec<[Place; 4]>,
}

/// Returns the machine types of a representation.
pub fn form_types(ty: Ty, form: Form, lanes: usize) -> SmallVec<[Type; 8]> {
    match form {
        Form::Scalar => smallvec![scalar_type(ty)],
        Form::Affine(_) => smallvec![Type::I32],
        Form::Vector => smallvec![elem(ty).by(lanes)],
        Form::Buffer => smallvec![Type::I64; 2],
        Form::Buffers => smallvec![Type::I64; 2 * lanes],
        Form::Pointers => smallvec![Type::I64; lanes],
    }
}

/// Splits a representation into its form and its machine values.
pub fn parts(rep: &Rep) -> (Form, SmallVec<[C; 8]>) {
    match rep {
        Rep::Uniform(c) => (Form::Scalar, smallvec![*c]),
        Rep::Affine(c, steps) => (Form::Affine(*steps), smallvec![*c]),
        Rep::Varying(c) => (Form::Vector, smallvec![*c]),
        Rep::Buffer(p) => (Form::Buffer, smallvec![p.address, p.range]),
        Rep::Buffers(list) => (Form::Buffers, list.iter().flat_map(|p| [p.address, p.range]).collect()),
        Rep::Pointers(p) => (Form::Pointers, p.iter().copied().collect()),
    }
}

/// Makes a representation from its form and its machine values.
pub fn assemble(form: Form, parts: &[C]) -> Rep {
    let pair = |p: &[C]| BufPair { address: p[0], range: p[1] };
    match form {
        Form::Scalar => Rep::Uniform(parts[0]),
        Form::Affine(steps) => Rep::Affine(parts[0], steps),
        Form::Vector => Rep::Varying(parts[0]),
        Form::Buffer => Rep::Buffer(pair(parts)),
        Form::Buffers => Rep::Buffers(parts.chunks(2).map(pair).collect()),
        Form::Pointers => Rep::Pointers(parts.iter().copied().collect()),
    }
}

impl Emitter<'_> {
    /// Makes places for a region value, in the form that its shape requires.
    pub fn new_cells(&mut self, v: Value, in_slots: bool) -> Cells {
        let ty = self.shader.ty(v);
        let form = match (ty, self.shape(v)) {
            (Ty::Buf, Shape::Uniform) => Form::Buffer,
            (Ty::Buf, _) => Form::Buffers,
            (_, Shape::Uniform) => Form::Scalar,
            (Ty::Img | Ty::Smp, _) => Form::Pointers,
            (_, Shape::Affine(steps)) => Form::Affine(steps),
            (_, Shape::Varying) => Form::Vector,
        };
        self.cells(ty, form, in_slots)
    }

    /// Makes a place for a mask.
    pub fn mask_cells(&mut self, in_slots: bool) -> Cells {
        self.cells(Ty::B1, Form::Vector, in_slots)
    }

    /// Makes a place for a vector with one element per lane.
    pub fn vector_cells(&mut self, ty: Ty) -> Cells {
        self.cells(ty, Form::Vector, false)
    }

    fn cells(&mut self, ty: Ty, form: Form, in_slots: bool) -> Cells {
        let places = form_types(ty, form, self.lanes as usize)
            .into_iter()
            .map(|t| if in_slots { Place::Slot(self.new_slot(t), t) } else { Place::Var(self.variable(t)) })
            .collect();
        Cells { ty, form, places }
    }

    /// Returns a variable of type `ty`: a released one, if there is one.
    fn variable(&mut self, ty: Type) -> Variable {
        let free = self.free_variables.iter().rposition(|&(t, _)| t == ty);
        free.map_or_else(|| self.b.declare_var(ty), |i| self.free_variables.swap_remove(i).1)
    }

    /// Releases cells. Cells that reuse their variables must be set first
    /// ([`Emitter::clear_cells`]).
    pub fn release(&mut self, cells: &Cells) {
        for (&place, ty) in cells.places.iter().zip(form_types(cells.ty, cells.form, self.lanes as usize)) {
            if let Place::Var(variable) = place {
                self.free_variables.push((ty, variable));
            }
        }
    }

    fn set_place(&mut self, place: Place, c: C) {
        match place {
            Place::Var(v) => self.b.def_var(v, c),
            Place::Slot(offset, _) => self.store_slot(offset, c),
        }
    }

    fn get_place(&mut self, place: Place) -> C {
        match place {
            Place::Var(v) => self.b.use_var(v),
            Place::Slot(offset, ty) => self.load_slot(offset, ty),
        }
    }

    /// Returns the current contents of cells.
    pub fn get_cells(&mut self, cells: &Cells) -> Rep {
        let values: Vec<C> = cells.places.iter().map(|&p| self.get_place(p)).collect();
        assemble(cells.form, &values)
    }

    /// Replaces the contents of cells for all lanes.
    pub fn set_cells(&mut self, value: Value, cells: &Cells, rep: &Rep) -> Result<()> {
        let values = self.convert_rep(value, cells, rep)?;
        for (&place, &c) in cells.places.iter().zip(&values) {
            self.set_place(place, c);
        }
        Ok(())
    }

    /// Replaces the contents of cells for the lanes of a mask. Uniform contents are replaced for
    /// all lanes, because they are equal for every lane that still reads them.
    pub fn merge_cells(&mut self, value: Value, cells: &Cells, rep: &Rep, mask: C) -> Result<()> {
        let new = self.convert_rep(value, cells, rep)?;
        let merged: SmallVec<[C; 8]> = match cells.form {
            Form::Scalar | Form::Affine(_) | Form::Buffer => new,
            Form::Vector => {
                let old = self.cell(cells);
                smallvec![self.b.select(mask, new[0], old)]
            }
            Form::Buffers | Form::Pointers => {
                let per_lane = cells.places.len() / self.lanes as usize;
                let mut out = SmallVec::new();
                for (i, (&place, &c)) in cells.places.iter().zip(&new).enumerate() {
                    let bit = self.b.extract(mask, i / per_lane);
                    let old = self.get_place(place);
                    out.push(self.b.select(bit, c, old));
                }
                out
            }
        };
        for (&place, &c) in cells.places.iter().zip(&merged) {
            self.set_place(place, c);
        }
        Ok(())
    }

    /// Sets cells to zero, so that lanes that are never written have defined bits.
    pub fn clear_cells(&mut self, cells: &Cells) {
        let types = form_types(cells.ty, cells.form, self.lanes as usize);
        for (&place, &ty) in cells.places.iter().zip(&types) {
            let zero = self.b.constant(ty, 0);
            self.set_place(place, zero);
        }
    }

    /// Returns the machine values of `rep` in the form of the cells.
    fn convert_rep(&mut self, value: Value, cells: &Cells, rep: &Rep) -> Result<SmallVec<[C; 8]>> {
        let (form, values) = parts(rep);
        if form == cells.form {
            return Ok(values);
        }
        let mismatch = || Error::internal(format!("{value:?}: {form:?} does not fit {:?}", cells.form));
        Ok(match (cells.form, rep) {
            (Form::Vector, _) => smallvec![self.rep_vector(cells.ty, rep)?],
            (Form::Scalar, Rep::Varying(c)) => smallvec![self.first_of(*c)],
            (Form::Affine(steps), Rep::Varying(c)) => smallvec![self.affine_base(*c, steps)],
            (Form::Buffers, Rep::Buffer(p)) => (0..self.lanes).flat_map(|_| [p.address, p.range]).collect(),
            (Form::Pointers, Rep::Uniform(c)) => smallvec![*c; self.lanes as usize],
            (Form::Affine(_), Rep::Affine(..) | Rep::Uniform(_)) | (Form::Scalar, Rep::Affine(..)) => values,
            _ => return Err(mismatch()),
        })
    }

    /// Returns the contents of cells that consist of one place.
    pub fn cell(&mut self, cells: &Cells) -> C {
        self.get_place(cells.places[0])
    }

    /// Sets cells that consist of one place.
    pub fn set_cell(&mut self, cells: &Cells, c: C) {
        self.set_place(cells.places[0], c);
    }
}
