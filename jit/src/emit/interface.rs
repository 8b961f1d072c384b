//! The interface of a stage: inputs, outputs, built-ins.

use super::Emitter;
use super::memory::{read_only, trusted};
use super::rep::Rep;
use crate::error::{Error, Result};
use crate::ir::{Builtin, InstData, InterpolateAt, Ty};
use crate::lir::{Type, Value as C};
use crate::passes::Shape;
use base::abi::{ComputeBatch, FragmentBatch, ShaderContext, VertexBatch};
use base::shader::Stage;
use core::mem::offset_of;

/// First byte of the current chunk's slots; `None` when the stage has none.
#[derive(Default)]
pub struct Slots {
    inputs: Option<C>,
    outputs: Option<C>,
}

impl Emitter<'_> {
    /// Finds the chunk's slots.
    pub fn place_slots(&mut self) {
        let (inputs, outputs) = match self.shader.stage {
            Stage::Vertex => (Some(offset_of!(VertexBatch, inputs)), offset_of!(VertexBatch, outputs)),
            Stage::Fragment => (None, offset_of!(FragmentBatch, outputs)),
            Stage::Compute => return,
        };
        let (reads, writes) = (self.shader.inputs.len(), self.shader.outputs.len());
        self.slots = Slots {
            inputs: inputs.filter(|_| reads != 0).map(|array| self.chunk_of(array, reads)),
            outputs: (writes != 0).then(|| self.chunk_of(outputs, writes)),
        };
    }

    /// First byte of the current chunk in an `[chunk][slot][lane]` array.
    fn chunk_of(&mut self, array: usize, slots: usize) -> C {
        let list = self.b.load(Type::I64, read_only(array as i32), self.batch);
        let bytes = slots as i64 * self.slot_bytes();
        let chunk = self.b.zext(Type::I64, self.chunk);
        let offset = self.b.imul_imm(chunk, bytes);
        self.b.iadd(list, offset)
    }

    fn slot_bytes(&self) -> i64 {
        i64::from(self.lanes) * 4
    }

    /// A slot behind the chunk's first byte.
    fn load_slot_vector(&mut self, base: C, slot: u32, ty: Ty) -> C {
        let at = i64::from(slot) * self.slot_bytes();
        let vector = self.vector_type(ty);
        self.b.load(vector, read_only(at as i32), base)
    }

    /// `Op::LoadInput`.
    pub fn load_input(&mut self, slot: u32, at: InterpolateAt, data: &InstData) -> Result<()> {
        let ty = self.shader.ty(data.result());
        let c = match self.shader.stage {
            Stage::Vertex => {
                let base = self.slots.inputs.ok_or_else(|| Error::internal("a stage without inputs reads one"))?;
                self.load_slot_vector(base, slot, ty)
            }
            Stage::Fragment => self.interpolate(slot, at, ty, data)?,
            Stage::Compute => return Err(Error::invalid("a compute stage has no inputs")),
        };
        self.define(data.result(), Rep::Varying(c))
    }

    /// `Op::StoreOutput`.
    pub fn store_output(&mut self, slot: u32, data: &InstData) -> Result<()> {
        let base = self.slots.outputs.ok_or_else(|| Error::invalid("an output of a stage that has none"))?;
        let at = (i64::from(slot) * self.slot_bytes()) as i32;
        let mut c = self.vector(data.args[0])?;
        if !self.full {
            // The batch's outputs are this thread's own: reading and writing the others' lanes back is harmless.
            let old = self.b.load(self.b.ty(c), trusted(at), base);
            let mask = self.exec_mask();
            c = self.b.select(mask, c, old);
        }
        self.b.store(trusted(at), c, base);
        Ok(())
    }

    /// `Op::Builtin`.
    pub fn builtin(&mut self, builtin: Builtin, data: &InstData) -> Result<()> {
        use Builtin as B;
        let result = data.result();
        // The batch of another stage has other fields at these offsets.
        let stage = match builtin {
            B::VertexIndex | B::InstanceIndex => Some(Stage::Vertex),
            B::WorkgroupId(_) | B::LocalInvocationIndex | B::LocalInvocationId(_) | B::GlobalInvocationId(_) => {
                Some(Stage::Compute)
            }
            B::FragCoord(_) | B::FrontFacing | B::PointCoord(_) | B::SampleId | B::SamplePosition(_) => {
                Some(Stage::Fragment)
            }
            B::SampleMaskIn | B::HelperInvocation | B::PrimitiveId | B::Layer | B::ViewportIndex => {
                Some(Stage::Fragment)
            }
            B::BaseVertex | B::BaseInstance | B::DrawIndex | B::ViewIndex | B::DeviceIndex => None,
            B::NumWorkgroups(_) | B::NumSubgroups | B::SubgroupId => None,
            B::SubgroupInvocation | B::SubgroupSize => None,
        };
        if stage.is_some_and(|s| s != self.shader.stage) {
            return Err(Error::invalid(format!("{builtin:?} in a {:?} stage", self.shader.stage)));
        }
        let rep = match builtin {
            Builtin::VertexIndex => self.vertex_word(offset_of!(VertexBatch, vertex_index)),
            Builtin::InstanceIndex => self.vertex_word(offset_of!(VertexBatch, instance_index)),
            Builtin::BaseVertex => self.context_word(offset_of!(ShaderContext, base_vertex)),
            Builtin::BaseInstance => self.context_word(offset_of!(ShaderContext, base_instance)),
            Builtin::DrawIndex => self.context_word(offset_of!(ShaderContext, draw_index)),
            Builtin::ViewIndex => self.context_word(offset_of!(ShaderContext, view_index)),
            Builtin::DeviceIndex => self.context_word(offset_of!(ShaderContext, device_index)),
            Builtin::NumWorkgroups(c) => {
                self.context_word(offset_of!(ShaderContext, num_workgroups) + 4 * usize::from(c))
            }
            Builtin::WorkgroupId(c) => Rep::Uniform(self.workgroup_id(c)),
            Builtin::LocalInvocationIndex => Rep::Affine(self.first_lane(), 1),
            Builtin::LocalInvocationId(c) => self.local_id(c, self.shape(result))?,
            Builtin::GlobalInvocationId(c) => self.global_id(c, self.shape(result))?,
            Builtin::SubgroupInvocation => Rep::Affine(self.b.iconst(Type::I32, 0), 1),
            Builtin::SubgroupSize => Rep::Uniform(self.constant(Ty::I32, u64::from(self.lanes))),
            Builtin::SubgroupId => Rep::Uniform(self.chunk),
            Builtin::NumSubgroups => Rep::Uniform(self.constant(Ty::I32, u64::from(self.chunks))),
            other => return self.fragment_builtin(other, result),
        };
        self.define(result, rep)
    }

    fn vertex_word(&mut self, array: usize) -> Rep {
        let base = self.chunk_of(array, 1);
        Rep::Varying(self.load_slot_vector(base, 0, Ty::I32))
    }

    fn context_word(&mut self, field: usize) -> Rep {
        Rep::Uniform(self.b.load(Type::I32, read_only(field as i32), self.ctx))
    }

    fn workgroup_id(&mut self, c: u8) -> C {
        let field = offset_of!(ComputeBatch, workgroup_id) + 4 * usize::from(c);
        self.b.load(Type::I32, read_only(field as i32), self.batch)
    }

    /// Component `c` of the invocation with linear index `index`.
    fn local_component(&mut self, c: u8, index: C) -> C {
        let [x, y, _] = self.shader.local_size;
        let (divide, modulo) = match c {
            0 => (1, x),
            1 => (x, y),
            _ => (x * y, u32::MAX),
        };
        let quotient = if divide == 1 { index } else { self.b.udiv_imm(index, i64::from(divide)) };
        if modulo == u32::MAX { quotient } else { self.b.urem_imm(quotient, i64::from(modulo)) }
    }

    fn local_id(&mut self, c: u8, shape: Shape) -> Result<Rep> {
        let first = self.first_lane();
        Ok(match shape {
            Shape::Uniform => Rep::Uniform(self.local_component(c, first)),
            Shape::Affine(stride) => Rep::Affine(self.local_component(c, first), stride),
            Shape::Varying => {
                let lanes: Vec<C> = (0..i64::from(self.lanes))
                    .map(|lane| {
                        let index = self.b.iadd_imm(first, lane);
                        self.local_component(c, index)
                    })
                    .collect();
                Rep::Varying(self.b.build(&lanes))
            }
        })
    }

    fn global_id(&mut self, c: u8, shape: Shape) -> Result<Rep> {
        let group = self.workgroup_id(c);
        let start = self.b.imul_imm(group, i64::from(self.shader.local_size[usize::from(c)]));
        Ok(match self.local_id(c, shape)? {
            Rep::Uniform(local) => Rep::Uniform(self.b.iadd(start, local)),
            Rep::Affine(local, stride) => Rep::Affine(self.b.iadd(start, local), stride),
            rep => {
                let start = self.rep_vector(Ty::I32, &Rep::Uniform(start))?;
                let local = self.rep_vector(Ty::I32, &rep)?;
                Rep::Varying(self.b.iadd(local, start))
            }
        })
    }
}
