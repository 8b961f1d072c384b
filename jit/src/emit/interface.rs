//! The interface of a stage: inputs, outputs and built-ins.

use super::Emitter;
use super::memory::{read_only, trusted};
use super::value_rep::{ValueRep, elem};
use crate::error::{Error, Result};
use crate::ir::{Builtin, InstData, InterpolateAt, Ty};
use crate::lir::{AccessReason, Type, Value as C};
use crate::passes::{Shape, Steps};
use base::abi::{
    BatchKind, ControlBatch, EvaluationBatch, FragmentBatch, Helper, MeshBatch, PrimitiveBatch, ShaderContext,
    SlotLayout, VertexBatch,
};
use base::shader::StageIoKind;
use core::mem::offset_of;
use smallvec::SmallVec;

/// A chunk of an array of slots: its first byte, and the layout of the slots. It may consist of
/// several adjacent chunks of the layout, each of which has a part of the lanes.
#[derive(Clone, Copy)]
struct ChunkSlots {
    base: C,
    layout: SlotLayout,
}

/// The current chunk's slots; each is `None` if the stage has none.
#[derive(Default)]
pub struct StageSlots {
    inputs: Option<ChunkSlots>,
    outputs: Option<ChunkSlots>,
}

/// Returns the offsets in a batch of the arrays of inputs and outputs.
fn slot_arrays(batch: BatchKind) -> [Option<usize>; 2] {
    match batch {
        BatchKind::Vertices => [Some(offset_of!(VertexBatch, inputs)), Some(offset_of!(VertexBatch, outputs))],
        // The vertices of patches are gathered, and a control stage's outputs are memory
        // (`patches`).
        BatchKind::Patches => [None, None],
        BatchKind::Domain => [None, Some(offset_of!(EvaluationBatch, outputs))],
        // An invocation reads and writes more than one vertex (`vertices`).
        BatchKind::Primitives => [None, None],
        // Inputs are interpolated.
        BatchKind::Quads => [None, Some(offset_of!(FragmentBatch, outputs))],
        // Inputs and outputs are memory of the workgroup.
        BatchKind::Workgroup | BatchKind::Mesh => [None, None],
        // Inputs are words of frames.
        BatchKind::Invocations => [None, None],
    }
}

impl Emitter<'_> {
    /// Computes the addresses of the chunk's slots.
    pub fn place_slots(&mut self) {
        if self.rectangles.is_some() {
            return;
        }
        let counts = [self.shader.inputs.len(), self.shader.outputs.len()];
        let arrays = slot_arrays(self.shader.stage().row().batch);
        let [inputs, outputs] = [0, 1].map(|side| {
            let array = arrays[side].filter(|_| counts[side] != 0);
            array.map(|array| self.chunk_of(array, counts[side]))
        });
        if let Some(chunk) = outputs {
            for slot in 0..counts[1] as u32 {
                let rows = self.rows_of(chunk, slot);
                self.poison_rows(&rows, chunk.base);
            }
        }
        self.slots = StageSlots { inputs, outputs };
    }

    /// Returns the current chunk of an array of `slots` slots.
    fn chunk_of(&mut self, array: usize, slots: usize) -> ChunkSlots {
        let layout = SlotLayout::new(slots, self.lanes.row());
        let list = self.b.load(Type::I64, read_only(AccessReason::Field, array as i32), self.function.batch());
        let chunk = self.b.zext(Type::I64, self.function.chunk());
        let bytes = layout.chunk_bytes() * self.row_parts();
        let offset = self.b.imul_imm(chunk, bytes as i64);
        ChunkSlots { base: self.b.iadd(list, offset), layout }
    }

    /// Returns the number of rows that hold a chunk's lanes of a slot.
    fn row_parts(&self) -> usize {
        (self.lanes.count() / self.lanes.row()) as usize
    }

    /// Returns the offsets of a slot's rows from a chunk's first byte.
    fn rows_of(&self, chunk: ChunkSlots, slot: u32) -> SmallVec<[i32; 2]> {
        let first = chunk.layout.slot_bytes(slot as usize);
        (0..self.row_parts()).map(|part| (first + part * chunk.layout.chunk_bytes()) as i32).collect()
    }

    /// Loads a slot of a chunk.
    fn load_slot_vector(&mut self, chunk: ChunkSlots, slot: u32, ty: Ty) -> C {
        let row = elem(ty).by(self.lanes.row() as usize);
        let rows = self.rows_of(chunk, slot);
        let parts: SmallVec<[C; 2]> =
            rows.iter().map(|&at| self.b.load(row, read_only(AccessReason::Element, at), chunk.base)).collect();
        self.concat(&parts)
    }

    /// Emits `Op::LoadInput`.
    pub fn load_input(&mut self, slot: u32, at: InterpolateAt, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.result());
        let c = match self.shader.stage().row().inputs {
            StageIoKind::Attributes | StageIoKind::Vertices => {
                let chunk = self.slots.inputs.ok_or_else(|| Error::internal("a stage without inputs reads one"))?;
                self.load_slot_vector(chunk, slot, ty)
            }
            StageIoKind::Interpolated => self.interpolate(slot, at, ty, data)?,
            StageIoKind::Frame => self.load_frame_input(slot, ty)?,
            StageIoKind::None
            | StageIoKind::Fragments
            | StageIoKind::Primitives
            | StageIoKind::Patch
            | StageIoKind::Tasks
            | StageIoKind::Mesh => {
                return Err(Error::invalid("an input of a stage that has none"));
            }
        };
        self.define(data.result(), ValueRep::Varying(c))
    }

    /// Emits `Op::StoreOutput`.
    pub fn store_output(&mut self, slot: u32, data: &InstData) -> Result<()> {
        if let Some(rectangles) = &self.rectangles {
            let Some(cells) = rectangles.outputs[slot as usize].clone() else { return Ok(()) };
            let c = self.vector(data.args[0])?;
            let mut c = self.b.bitcast(self.vector_type(Ty::F32), c);
            if !self.lanes.is_full() {
                let (old, mask) = (self.read_single(&cells), self.exec_mask());
                c = self.b.select(mask, c, old);
            }
            self.write_single(&cells, c);
            return Ok(());
        }
        if self.shader.stage().row().outputs == StageIoKind::Frame {
            return self.store_frame_output(slot, data);
        }
        let chunk = self.slots.outputs.ok_or_else(|| Error::invalid("an output of a stage that has none"))?;
        let c = self.vector(data.args[0])?;
        let rows = self.rows_of(chunk, slot);
        self.store_masked(c, &rows, chunk.base);
        Ok(())
    }

    /// Stores the active lanes of `c` to rows of the batch, which hold consecutive parts of the
    /// lanes.
    pub fn store_masked(&mut self, c: C, rows: &[i32], base: C) {
        let lanes = self.lanes.count() as usize / rows.len();
        let mask = (!self.lanes.is_full()).then(|| self.exec_mask());
        for (i, &at) in rows.iter().enumerate() {
            let mut part = self.b.slice(c, i * lanes, lanes);
            if let Some(mask) = mask {
                // The outputs of the batch belong to this thread alone, so that inactive lanes may
                // be read and written back.
                let old = self.b.load(self.b.ty(part), trusted(AccessReason::Element, at), base);
                let mask = self.b.slice(mask, i * lanes, lanes);
                part = self.b.select(mask, part, old);
            }
            self.b.store(trusted(AccessReason::Element, at), part, base);
        }
    }

    /// Emits `Op::Builtin`.
    pub fn builtin(&mut self, builtin: Builtin, data: &InstData) -> Result<()> {
        let result = data.result();
        // The batches of other stages have other fields at these offsets.
        if !data.op.is_of_stage(self.shader.stage()) {
            return Err(Error::invalid(format!("{builtin:?} in a {:?} stage", self.shader.stage())));
        }
        let rep = match builtin {
            Builtin::VertexIndex => self.vertex_word(offset_of!(VertexBatch, vertex_index)),
            Builtin::InstanceIndex => self.vertex_word(offset_of!(VertexBatch, instance_index)),
            Builtin::BaseVertex => self.context_word(offset_of!(ShaderContext, base_vertex)),
            Builtin::BaseInstance => self.context_word(offset_of!(ShaderContext, base_instance)),
            Builtin::DrawIndex => self.context_word(offset_of!(ShaderContext, draw_index)),
            Builtin::ViewIndex => self.context_word(offset_of!(ShaderContext, view_index)),
            Builtin::DeviceIndex => self.context_word(offset_of!(ShaderContext, device_index)),
            Builtin::NumWorkgroups(c) if self.shader.stage().row().batch == BatchKind::Mesh => {
                let field = offset_of!(MeshBatch, num_workgroups) + 4 * usize::from(c);
                ValueRep::Uniform(self.b.load(
                    Type::I32,
                    read_only(AccessReason::Field, field as i32),
                    self.function.batch(),
                ))
            }
            Builtin::NumWorkgroups(c) => {
                self.context_word(offset_of!(ShaderContext, num_workgroups) + 4 * usize::from(c))
            }
            Builtin::WorkgroupId(c) => ValueRep::Uniform(self.workgroup_id(c)?),
            Builtin::LocalInvocationIndex => ValueRep::Affine(self.first_lane(), Steps::even(1, self.lanes.count())),
            Builtin::LocalInvocationId(c) => self.local_id(c, self.shape(result))?,
            Builtin::GlobalInvocationId(c) => self.global_id(c, self.shape(result))?,
            Builtin::SubgroupInvocation => {
                ValueRep::Affine(self.b.iconst(Type::I32, 0), Steps::even(1, self.lanes.count()))
            }
            Builtin::SubgroupSize => ValueRep::Uniform(self.constant(Ty::I32, u64::from(self.lanes.count()))),
            Builtin::SubgroupId => ValueRep::Uniform(self.function.chunk()),
            Builtin::NumSubgroups => ValueRep::Uniform(self.constant(Ty::I32, u64::from(self.function.chunks()))),
            Builtin::InvocationId if self.shader.stage().has_workgroups() => {
                let lanes = ValueRep::Affine(self.first_lane(), Steps::even(1, self.lanes.count()));
                ValueRep::Varying(self.rep_to_vector(Ty::I32, &lanes)?)
            }
            Builtin::PatchVertices => {
                let [given, ..] = self.patch_fields()?;
                ValueRep::Uniform(self.b.load(Type::I32, read_only(AccessReason::Field, given), self.function.batch()))
            }
            Builtin::TessCoord(c) => {
                let array = offset_of!(EvaluationBatch, coordinates);
                let chunk = self.chunk_of(array, 3);
                ValueRep::Varying(self.load_slot_vector(chunk, c.into(), Ty::F32))
            }
            Builtin::InvocationId => self.vertex_word(offset_of!(PrimitiveBatch, invocation_id)),
            Builtin::PrimitiveId if self.shader.stage().has_primitives() => {
                self.vertex_word(offset_of!(PrimitiveBatch, primitive_id))
            }
            Builtin::PrimitiveId if self.shader.stage().row().batch == BatchKind::Domain => {
                self.vertex_word(offset_of!(EvaluationBatch, primitive_id))
            }
            Builtin::PrimitiveId if self.shader.stage().row().batch == BatchKind::Patches => {
                let id = self.patch_word(offset_of!(ControlBatch, primitive_id))?;
                ValueRep::Varying(self.rep_to_vector(Ty::I32, &ValueRep::Uniform(id))?)
            }
            Builtin::FragCoord(_)
            | Builtin::FrontFacing
            | Builtin::PointCoord(_)
            | Builtin::SampleId
            | Builtin::SamplePosition(_)
            | Builtin::SampleMaskIn
            | Builtin::HelperInvocation
            | Builtin::FullyCovered
            | Builtin::ShadingRate
            | Builtin::PrimitiveId
            | Builtin::Layer
            | Builtin::ViewportIndex => return self.fragment_builtin(builtin, result),
        };
        self.define(result, rep)
    }

    fn vertex_word(&mut self, array: usize) -> ValueRep {
        let chunk = self.chunk_of(array, 1);
        ValueRep::Varying(self.load_slot_vector(chunk, 0, Ty::I32))
    }

    fn context_word(&mut self, field: usize) -> ValueRep {
        ValueRep::Uniform(self.b.load(Type::I32, read_only(AccessReason::Field, field as i32), self.function.ctx()))
    }

    fn workgroup_id(&self, c: u8) -> Result<C> {
        Ok(self.workgroup_state()?.id[usize::from(c)])
    }

    /// Returns component `c` of the local ID of the invocation with linear index `index`.
    fn local_component(&mut self, [x, y, _]: [u32; 3], c: u8, index: C) -> C {
        let (divide, modulo) = match c {
            0 => (1, x),
            1 => (x, y),
            _ => (x * y, u32::MAX),
        };
        let quotient = if divide == 1 { index } else { self.b.udiv_imm(index, i64::from(divide)) };
        if modulo == u32::MAX { quotient } else { self.b.urem_imm(quotient, i64::from(modulo)) }
    }

    fn local_id(&mut self, c: u8, shape: Shape) -> Result<ValueRep> {
        let size = self.shader.workgroup()?.local_size;
        let first = self.first_lane();
        Ok(match shape {
            Shape::Uniform => ValueRep::Uniform(self.local_component(size, c, first)),
            Shape::Affine(steps) => ValueRep::Affine(self.local_component(size, c, first), steps),
            Shape::Varying => {
                let first = self.rep_to_vector(Ty::I32, &ValueRep::Uniform(first))?;
                let lanes = self.words(|lane| lane as i32);
                let index = self.b.iadd(first, lanes);
                ValueRep::Varying(self.local_component(size, c, index))
            }
        })
    }

    fn global_id(&mut self, c: u8, shape: Shape) -> Result<ValueRep> {
        let size = self.shader.workgroup()?.local_size;
        let group = self.workgroup_id(c)?;
        let start = self.b.imul_imm(group, i64::from(size[usize::from(c)]));
        Ok(match self.local_id(c, shape)? {
            ValueRep::Uniform(local) => ValueRep::Uniform(self.b.iadd(start, local)),
            ValueRep::Affine(local, steps) => ValueRep::Affine(self.b.iadd(start, local), steps),
            rep => {
                let start = self.rep_to_vector(Ty::I32, &ValueRep::Uniform(start))?;
                let local = self.rep_to_vector(Ty::I32, &rep)?;
                ValueRep::Varying(self.b.iadd(local, start))
            }
        })
    }

    /// Emits `Op::Clock`.
    pub fn clock(&mut self, data: &InstData) -> Result<()> {
        let slot = self.b.create_slot(8, 8);
        let address = self.b.stack_address(slot, 0);
        self.call_helper(Helper::Clock, &[address]);
        let time = self.b.load(Type::I64, trusted(AccessReason::Frame, 0), address);
        self.define(data.result(), ValueRep::Uniform(time))
    }
}
