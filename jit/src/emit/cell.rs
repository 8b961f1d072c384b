//! Mutable places of the emitter: results and parameters of structured nodes, masks.
//!
//! A place is a Cranelift variable (its SSA construction makes the block parameters), or a slot of the workgroup's scratch
//! memory when the construct contains a barrier, because then its parts run in different calls.

use super::Emitter;
use super::rep::{BufPair, Rep, Vecs, scalar_type, vector_type};
use crate::error::{Error, Result};
use crate::ir::{Ty, Value};
use crate::passes::Shape;
use cranelift_codegen::ir::{InstBuilder, Type, Value as C, types};
use cranelift_frontend::Variable;
use smallvec::{SmallVec, smallvec};

/// One machine value.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Cranelift variable.
    Var(Variable),
    /// Offset in the chunk's frame.
    Slot(u32, Type),
}

/// Which [`Rep`] the places hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Uniform.
    Scalar,
    /// Affine with the stride.
    Affine(i32),
    /// Varying.
    Vectors,
    /// Buffer.
    Buffer,
    /// Buffers.
    Buffers,
    /// Pointers.
    Pointers,
}

/// The places of one value.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Type.
    pub ty: Ty,
    /// Form.
    pub form: Form,
    /// Places.
    pub places: SmallVec<[Place; 4]>,
}

/// (form, machine types) of a representation.
pub fn form_types(ty: Ty, form: Form, lanes: usize) -> SmallVec<[Type; 8]> {
    match form {
        Form::Scalar => smallvec![scalar_type(ty)],
        Form::Affine(_) => smallvec![types::I32],
        Form::Vectors => smallvec![vector_type(ty); lanes / vector_type(ty).lane_count() as usize],
        Form::Buffer => smallvec![types::I64; 2],
        Form::Buffers => smallvec![types::I64; 2 * lanes],
        Form::Pointers => smallvec![types::I64; lanes],
    }
}

/// Takes a representation apart.
pub fn parts(rep: &Rep) -> (Form, SmallVec<[C; 8]>) {
    match rep {
        Rep::Uniform(c) => (Form::Scalar, smallvec![*c]),
        Rep::Affine(c, stride) => (Form::Affine(*stride), smallvec![*c]),
        Rep::Varying(v) => (Form::Vectors, v.iter().copied().collect()),
        Rep::Buffer(p) => (Form::Buffer, smallvec![p.address, p.range]),
        Rep::Buffers(list) => (Form::Buffers, list.iter().flat_map(|p| [p.address, p.range]).collect()),
        Rep::Pointers(p) => (Form::Pointers, p.iter().copied().collect()),
    }
}

/// Puts a representation together.
pub fn assemble(form: Form, parts: &[C]) -> Rep {
    let pair = |p: &[C]| BufPair { address: p[0], range: p[1] };
    match form {
        Form::Scalar => Rep::Uniform(parts[0]),
        Form::Affine(stride) => Rep::Affine(parts[0], stride),
        Form::Vectors => Rep::Varying(parts.iter().copied().collect()),
        Form::Buffer => Rep::Buffer(pair(parts)),
        Form::Buffers => Rep::Buffers(parts.chunks(2).map(pair).collect()),
        Form::Pointers => Rep::Pointers(parts.iter().copied().collect()),
    }
}

impl Emitter<'_> {
    /// Places for a region value, in the form its shape asks for.
    pub fn new_cells(&mut self, v: Value, in_slots: bool) -> Cells {
        let ty = self.shader.ty(v);
        let form = match (ty, self.shape(v)) {
            (Ty::Buf, Shape::Uniform) => Form::Buffer,
            (Ty::Buf, _) => Form::Buffers,
            (_, Shape::Uniform) => Form::Scalar,
            (Ty::Img | Ty::Smp, _) => Form::Pointers,
            (_, Shape::Affine(stride)) => Form::Affine(stride),
            (_, Shape::Varying) => Form::Vectors,
        };
        self.cells(ty, form, in_slots)
    }

    /// Places for vectors of a type.
    pub fn vector_cells(&mut self, ty: Ty, in_slots: bool) -> Cells {
        self.cells(ty, Form::Vectors, in_slots)
    }

    fn cells(&mut self, ty: Ty, form: Form, in_slots: bool) -> Cells {
        let places = form_types(ty, form, self.lanes as usize)
            .into_iter()
            .map(|t| if in_slots { Place::Slot(self.new_slot(t), t) } else { Place::Var(self.variable(t)) })
            .collect();
        Cells { ty, form, places }
    }

    /// A variable: one that nobody needs any more, if there is one. Cranelift keeps a table of all blocks per variable.
    fn variable(&mut self, ty: Type) -> Variable {
        let free = self.free_variables.iter().rposition(|&(t, _)| t == ty);
        free.map_or_else(|| self.b.declare_var(ty), |i| self.free_variables.swap_remove(i).1)
    }

    /// Gives cells back. Their next owner sets them before anything else ([`Emitter::clear_cells`]).
    pub fn release(&mut self, cells: &Cells) {
        // With barriers blocks are sealed at the end, and variables looked up then.
        if self.barriers.any {
            return;
        }
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

    /// Current contents.
    pub fn get_cells(&mut self, cells: &Cells) -> Rep {
        let values: Vec<C> = cells.places.iter().map(|&p| self.get_place(p)).collect();
        assemble(cells.form, &values)
    }

    /// Replaces the contents for all lanes.
    pub fn set_cells(&mut self, value: Value, cells: &Cells, rep: &Rep) -> Result<()> {
        let values = self.convert_rep(value, cells, rep)?;
        for (&place, &c) in cells.places.iter().zip(&values) {
            self.set_place(place, c);
        }
        Ok(())
    }

    /// Replaces the contents for the lanes of a mask. Uniform contents are replaced whole: they are the same for every lane that is
    /// still interested.
    pub fn merge_cells(&mut self, value: Value, cells: &Cells, rep: &Rep, mask: &Vecs) -> Result<()> {
        let new = self.convert_rep(value, cells, rep)?;
        let merged: SmallVec<[C; 8]> = match cells.form {
            Form::Scalar | Form::Affine(_) | Form::Buffer => new,
            Form::Vectors => {
                let old = self.cell_vectors(cells);
                let new = new.iter().copied().collect();
                self.select_vectors(cells.ty, mask, &new, &old).iter().copied().collect()
            }
            Form::Buffers | Form::Pointers => {
                let per_lane = cells.places.len() / self.lanes as usize;
                let mut out = SmallVec::new();
                for (i, (&place, &c)) in cells.places.iter().zip(&new).enumerate() {
                    let bit = self.lane(Ty::B1, mask, i / per_lane);
                    let old = self.get_place(place);
                    out.push(self.b.ins().select(bit, c, old));
                }
                out
            }
        };
        for (&place, &c) in cells.places.iter().zip(&merged) {
            self.set_place(place, c);
        }
        Ok(())
    }

    /// Zeros, so that lanes that never arrive have defined bits.
    pub fn clear_cells(&mut self, cells: &Cells) {
        let types = form_types(cells.ty, cells.form, self.lanes as usize);
        for (&place, &ty) in cells.places.iter().zip(&types) {
            let zero = self.zero(ty);
            self.set_place(place, zero);
        }
    }

    /// The machine values of `rep` in the form of the cells.
    fn convert_rep(&mut self, value: Value, cells: &Cells, rep: &Rep) -> Result<SmallVec<[C; 8]>> {
        let (form, values) = parts(rep);
        if form == cells.form {
            return Ok(values);
        }
        let mismatch = || Error::internal(format!("{value:?}: {form:?} does not fit {:?}", cells.form));
        Ok(match (cells.form, rep) {
            (Form::Vectors, _) => self.rep_vectors(cells.ty, rep)?.iter().copied().collect(),
            (Form::Scalar, Rep::Varying(v)) => smallvec![self.first_of(cells.ty, v)],
            (Form::Affine(stride), Rep::Varying(v)) => smallvec![self.affine_base(v, stride)],
            (Form::Buffers, Rep::Buffer(p)) => (0..self.lanes).flat_map(|_| [p.address, p.range]).collect(),
            (Form::Pointers, Rep::Uniform(c)) => smallvec![*c; self.lanes as usize],
            (Form::Affine(_), Rep::Affine(..) | Rep::Uniform(_)) | (Form::Scalar, Rep::Affine(..)) => values,
            _ => return Err(mismatch()),
        })
    }

    /// The vectors of a cell of that form.
    pub fn cell_vectors(&mut self, cells: &Cells) -> Vecs {
        cells.places.iter().map(|&p| self.get_place(p)).collect()
    }

    /// Sets the vectors of a cell of that form.
    pub fn set_cell_vectors(&mut self, cells: &Cells, vecs: &Vecs) {
        for (&place, &c) in cells.places.iter().zip(vecs) {
            self.set_place(place, c);
        }
    }
}
