//! Inputs of tessellation stages.
//!
//! A control stage's patch is a workgroup. Its vertices lie where the vertex stage has written
//! them, at one byte offset each. Its outputs are the workgroup memory and are not handled in this
//! module.
//!
//! A lane of an evaluation stage has the byte offset of its patch's memory. A slot has a distance
//! between vertices there ([`InputSource`](base::abi::InputSource)).

use super::Emitter;
use super::memory::read_only;
use super::value_rep::ValueRep;
use super::vertices::LoadedInputSource;
use crate::error::{Error, Result};
use crate::ir::{InstData, Ty};
use crate::lir::{AccessReason, Type, Value as C};
use base::abi::{BatchKind, ControlBatch, EvaluationBatch};
use core::mem::offset_of;

impl Emitter<'_> {
    /// Returns the offsets of fields of the batch: the number of vertices per patch, the sources,
    /// the inputs.
    pub fn patch_fields(&self) -> Result<[i32; 3]> {
        let fields = match self.shader.stage().row().batch {
            BatchKind::Patches => [
                offset_of!(ControlBatch, patch_vertices),
                offset_of!(ControlBatch, sources),
                offset_of!(ControlBatch, inputs),
            ],
            BatchKind::Domain => [
                offset_of!(EvaluationBatch, patch_vertices),
                offset_of!(EvaluationBatch, sources),
                offset_of!(EvaluationBatch, inputs),
            ],
            _ => return Err(Error::invalid("patches in a stage that has none")),
        };
        Ok(fields.map(|field| field as i32))
    }

    /// Loads the patch's word of an array with one word per patch.
    pub fn patch_word(&mut self, field: usize) -> Result<C> {
        let list = self.batch_pointer(field);
        let [patch, ..] = self.workgroup_state()?.id;
        let patch = self.b.zext(Type::I64, patch);
        let offset = self.b.shl_imm(patch, 2);
        let place = self.b.iadd(list, offset);
        Ok(self.b.load(Type::I32, read_only(AccessReason::Element, 0), place))
    }

    /// Returns the number of a vertex inside the patch, clamped, and whether it is uniform.
    fn vertex_number(&mut self, data: &InstData) -> Result<(C, bool)> {
        let [given, ..] = self.patch_fields()?;
        let given = self.b.load(Type::I32, read_only(AccessReason::Field, given), self.function.batch());
        let last = self.b.iadd_imm(given, -1);
        if let ValueRep::Uniform(vertex) = self.value_rep(data.args[0])? {
            return Ok((self.b.umin(vertex, last), true));
        }
        let (vertex, last) = (self.vector(data.args[0])?, self.rep_to_vector(Ty::I32, &ValueRep::Uniform(last))?);
        Ok((self.b.umin(vertex, last), false))
    }

    /// Emits `Op::LoadVertex` of a control stage.
    pub fn load_control_point(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let source = self.input_source(offset_of!(ControlBatch, sources), slot);
        let inputs = self.batch_pointer(offset_of!(ControlBatch, inputs));
        let list = self.batch_pointer(offset_of!(ControlBatch, vertices));
        let given = self.b.load(
            Type::I32,
            read_only(AccessReason::Field, offset_of!(ControlBatch, patch_vertices) as i32),
            self.function.batch(),
        );
        let [patch, ..] = self.workgroup_state()?.id;
        let first = self.b.imul(patch, given);
        let first = self.b.zext(Type::I64, first);
        let first = self.b.shl_imm(first, 2);
        let list = self.b.iadd(list, first);
        let words = self.vector_type(Ty::I32);
        let (vertex, uniform) = self.vertex_number(data)?;
        if uniform {
            let vertex = self.b.zext(Type::I64, vertex);
            let at = self.b.shl_imm(vertex, 2);
            let place = self.b.iadd(list, at);
            let base = self.b.load(Type::I32, read_only(AccessReason::Element, 0), place);
            let offset = self.b.iadd(base, source.offset);
            let offset = self.b.zext(Type::I64, offset);
            let place = self.b.iadd(inputs, offset);
            let word = self.b.load(Type::I32, read_only(AccessReason::Element, 0), place);
            let c = self.b.splat(words, word);
            return self.define_input(c, source.written, data);
        }
        let places = self.b.shl_imm(vertex, 2);
        let all = self.mask(true);
        let offsets = self.b.gather(words, read_only(AccessReason::Element, 0), 1, all, list, places)[0];
        self.gather_input(inputs, offsets, source, data)
    }

    /// Emits `Op::LoadVertex` of an evaluation stage.
    pub fn load_patch(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let source = self.input_source(offset_of!(EvaluationBatch, sources), slot);
        let inputs = self.batch_pointer(offset_of!(EvaluationBatch, inputs));
        let words = self.vector_type(Ty::I32);
        let patches = self.chunk_words(offset_of!(EvaluationBatch, patches), 1);
        let patches = self.b.load(words, read_only(AccessReason::Element, 0), patches);
        let (vertex, uniform) = self.vertex_number(data)?;
        if uniform {
            let behind = self.b.imul(vertex, source.stride);
            let offset = self.b.iadd(source.offset, behind);
            return self.gather_input(inputs, patches, LoadedInputSource { offset, ..source }, data);
        }
        let stride = self.rep_to_vector(Ty::I32, &ValueRep::Uniform(source.stride))?;
        let behind = self.b.imul(vertex, stride);
        let offsets = self.b.iadd(patches, behind);
        self.gather_input(inputs, offsets, source, data)
    }
}
