//! Variables of the module and their representation in the shader: inputs, outputs, descriptors,
//! push constants, workgroup memory, private variables.
//!
//! Outputs are private variables during the shader. Those that were stored to are written once, at
//! the end of the entry point. Inputs are read in place, or first copied into a private variable if
//! they are indexed dynamically.

use super::generated::capabilities::Capability;
use super::layout::{explicit_size, natural};
use super::module::{EntryPoint, NO_MEMBER, View};
use super::opcodes::op;
use super::pointees::MemoryVariable;
use super::translator::Translator;
use super::types::{Const, Type};
use super::value::{Desc, DriverLayout, Flat, Local, LocalTarget, Pointer, PointerTarget, Resource, Val};
use super::{builtin, class, deco};
use crate::error::{Error, Result};
use crate::ir::{InterpolateAt, Space};
use base::shader::{BindingLayout, DescriptorKind as Kind, StageIoKind};

impl Translator<'_> {
    /// Creates every global variable that reachable code names.
    pub fn globals(&mut self, entry: &EntryPoint) -> Result<()> {
        let (m, s) = (self.m, self.s);
        let reserved = self.reserve_group(entry)?;
        let mut shared = reserved + self.aliased_bytes()?;
        self.declare_captures(entry)?;
        for inst in m.globals.clone() {
            let v = m.view(inst);
            // An untyped variable has its type as an operand, before its initialiser.
            let untyped = v.op == op::OpUntypedVariableKHR;
            if v.op != op::OpVariable && !untyped {
                continue;
            }
            let class = v.args[0];
            let used = m.dense(v.result).is_some_and(|n| self.a.uses[n] > 0);
            // An output with an initialiser is written even if no instruction stores to it.
            let initialised_output = class == class::OUTPUT && v.args.len() > 1 && entry.interface.contains(&v.result);
            if class == class::INPUT && entry.interface.contains(&v.result) && self.requires_sample_shading(v.result) {
                self.b.shader.fragment_mut()?.sample_shading = true;
            }
            // OpTraceMotionNV names a payload by its location.
            let named_by_location = class == class::RAY_PAYLOAD
                && entry.interface.contains(&v.result)
                && m.capabilities.contains(&(Capability::RayTracingMotionBlurNV as u32));
            if !used && !initialised_output && !named_by_location {
                continue;
            }
            let at = |e: Error| e.at(v.opcode(), v.result);
            let &Type::Pointer { to, .. } = s.ty(v.ty).map_err(at)? else {
                return Err(at(Error::invalid("variable without a pointer type")));
            };
            if let Some(heap) = self.heap(v).map_err(at)? {
                self.set(v.result, Val::Ptr(heap))?;
                continue;
            }
            let to = if untyped { v.arg(1)? } else { to };
            let init = v.args.get(1 + usize::from(untyped)).copied();
            self.global(v, class, to, init, (reserved, &mut shared)).map_err(at)?;
        }
        if shared > 0 {
            let info = self.b.shader.workgroup_mut()?;
            (info.shared_bytes, info.reserved_bytes) = (shared, reserved);
        }
        Ok(())
    }

    /// Returns true if a block of workgroup memory shares its address with the other blocks. All
    /// do, unless there are untyped pointers: then only those decorated with Aliased.
    fn is_aliased(&self, variable: u32) -> bool {
        const UNTYPED_POINTERS: u32 = 4473;
        !self.m.capabilities.contains(&UNTYPED_POINTERS) || self.m.decorated(variable, deco::ALIASED)
    }

    /// Returns the size of the shared blocks, which are at the beginning of workgroup memory.
    fn aliased_bytes(&self) -> Result<u32> {
        let (m, s) = (self.m, self.s);
        let mut bytes = 0;
        for v in m.globals.clone().map(|inst| m.view(inst)) {
            let used = m.dense(v.result).is_some_and(|n| self.a.uses[n] > 0);
            let to = match (v.op, v.args) {
                (op::OpVariable, [class::WORKGROUP, ..]) => match s.ty(v.ty)? {
                    Type::Pointer { to, .. } => *to,
                    _ => continue,
                },
                (op::OpUntypedVariableKHR, [class::WORKGROUP, to, ..]) => *to,
                _ => continue,
            };
            if used && m.decorated(to, deco::BLOCK) && self.is_aliased(v.result) {
                bytes = bytes.max(explicit_size(s, to, None)?);
            }
        }
        Ok(bytes)
    }

    /// Returns true if declaring the input means sample shading, whether it is read or not.
    fn requires_sample_shading(&self, var: u32) -> bool {
        let built_in = self.m.decoration_value(var, NO_MEMBER, deco::BUILT_IN);
        self.stage.row().inputs == StageIoKind::Interpolated
            && (matches!(built_in, Some(builtin::SAMPLE_ID | builtin::SAMPLE_POSITION))
                || self.m.decorated(var, deco::SAMPLE))
    }

    /// Creates a global variable. `reserved` is the size of workgroup memory that belongs to no
    /// variable, and `shared` its total size so far.
    fn global(
        &mut self,
        v: View<'_>,
        class: u32,
        to: u32,
        init: Option<u32>,
        (reserved, shared): (u32, &mut u32),
    ) -> Result<()> {
        let p = match class {
            class::PRIVATE if v.op == op::OpVariable => return self.private_variable(v),
            class::INPUT => self.input(v, to)?,
            class::OUTPUT if self.stage.row().outputs == StageIoKind::Patch => self.patch_output(v, to, shared)?,
            class::OUTPUT if self.stage.row().outputs == StageIoKind::Mesh => self.mesh_output(v, to)?,
            class::TASK_PAYLOAD => self.task_payload(v, to)?,
            class::OUTPUT => self.output(v, to)?,
            class::UNIFORM_CONSTANT | class::UNIFORM | class::STORAGE_BUFFER => self.resource(v, to)?,
            class::CALLABLE_DATA
            | class::INCOMING_CALLABLE_DATA
            | class::RAY_PAYLOAD
            | class::HIT_ATTRIBUTE
            | class::INCOMING_RAY_PAYLOAD
            | class::HIT_OBJECT_ATTRIBUTE_NV
            | class::HIT_OBJECT_ATTRIBUTE_EXT
            | class::SHADER_RECORD_BUFFER => self.ray_variable(v, to)?,
            class::PUSH_CONSTANT => {
                if init.is_some() {
                    return Err(Error::invalid("initialiser of a push constant block"));
                }
                self.block_pointer(Space::Push, 0, to, None)
            }
            class::WORKGROUP => {
                // Blocks have an explicit layout.
                let block = self.m.decorated(to, deco::BLOCK);
                let (at, size) = if block {
                    let at = if self.is_aliased(v.result) { reserved } else { shared.next_multiple_of(16) };
                    (at, explicit_size(self.s, to, None)?)
                } else {
                    let (size, align) = natural(self.s, to, DriverLayout::Packed)?;
                    (shared.next_multiple_of(align.max(4)), size)
                };
                let end = at.checked_add(size).filter(|&n| n < 1 << 28);
                *shared = end.ok_or_else(|| Error::limit("workgroup memory"))?.max(*shared);
                // Workgroup memory is always zero when a workgroup begins.
                let zero = |init: u32| matches!(self.s.constant(init), Some(Const::Null(_)));
                if !init.is_none_or(zero) {
                    return Err(Error::invalid("initialiser of workgroup memory is not OpConstantNull"));
                }
                let volatile = self.m.decorated(v.result, deco::VOLATILE);
                self.pointees.add(MemoryVariable { space: Space::Shared, ty: to, volatile, binding: None });
                self.block_pointer(Space::Shared, at, to, (!block).then_some(DriverLayout::Packed))
            }
            _ => return Err(Error::unsupported(format!("storage class {class}"))),
        };
        self.set(v.result, Val::Ptr(p))
    }

    // Descriptors.

    fn resource(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        let value = |kind| self.m.decoration_value(v.result, NO_MEMBER, kind);
        let (set, binding) = (value(deco::DESCRIPTOR_SET), value(deco::BINDING));
        let (Some(set), Some(binding)) = (set, binding) else {
            return Err(Error::invalid("resource without DescriptorSet and Binding"));
        };
        if self.layout.heap.is_some() {
            return self.mapped_resource(v, to, (set, binding));
        }
        let found = self.layout.find(set, binding);
        let &BindingLayout { kind, count, .. } = found
            .ok_or_else(|| Error::invalid(format!("set {set}, binding {binding} is not in the pipeline layout")))?;
        let kinds = self.kinds(v, to)?;
        if !kinds.contains(&kind) && kind != Kind::Mutable {
            return Err(Error::invalid(format!("set {set}, binding {binding} is a {kind:?} in the pipeline layout")));
        }
        if kinds == [Kind::InputAttachment] {
            self.b.shader.fragment_mut()?.reads_input_attachments = true;
        }
        let index = self.b.i32(0);
        if v.args[0] == class::STORAGE_BUFFER {
            let block = self.s.without_arrays(to)?;
            let volatile = self.m.decorated(v.result, deco::VOLATILE);
            self.pointees.number_buffers(block, Desc { set, binding, index }, count, volatile)?;
        }
        self.resource_pointer(Resource { variable: v.result, desc: Desc { set, binding, index } }, to)
    }

    /// Returns the kinds of descriptors that a variable may be bound to.
    pub fn kinds(&self, v: View<'_>, ty: u32) -> Result<&'static [Kind]> {
        let ty = self.s.without_arrays(ty)?;
        let class = v.args[0];
        Ok(match self.s.ty(ty)? {
            Type::Sampler => &[Kind::Sampler, Kind::CombinedImageSampler],
            Type::AccelerationStructure => &[Kind::AccelerationStructure],
            // Older GLSL compilers wrap texel buffers into a sampled image.
            &Type::SampledImage(image) => match self.s.ty(image)? {
                Type::Image(t) if t.dim == 5 => &[Kind::UniformTexelBuffer],
                _ => &[Kind::CombinedImageSampler],
            },
            Type::Image(image) => match (image.dim, image.sampled) {
                (5, 1) => &[Kind::UniformTexelBuffer],
                (5, _) => &[Kind::StorageTexelBuffer],
                (6, _) => &[Kind::InputAttachment],
                (_, 1) => &[Kind::SampledImage, Kind::CombinedImageSampler],
                _ => &[Kind::StorageImage],
            },
            Type::Struct(_) if class == class::STORAGE_BUFFER || self.m.decorated(ty, deco::BUFFER_BLOCK) => {
                &[Kind::StorageBuffer, Kind::StorageBufferDynamic]
            }
            Type::Struct(_) if class == class::UNIFORM => {
                &[Kind::UniformBuffer, Kind::UniformBufferDynamic, Kind::InlineUniformBlock]
            }
            _ => return Err(Error::unsupported("type of a resource")),
        })
    }

    // Inputs and outputs.

    fn input(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        if self.is_arrayed(v.result, to, self.stage.row().inputs) {
            return self.arrayed_input(v, to);
        }
        if self.stage.row().inputs == StageIoKind::Frame {
            self.check_ray_builtins(v.result, to)?;
        }
        let io = self.io_leaves(v.result, to, self.stage.row().inputs)?;
        if io.iter().any(|l| l.at == InterpolateAt::Sample) {
            self.b.shader.fragment_mut()?.sample_shading = true;
        }
        if !self.any_kept(v.result, to)? {
            self.locals.push(Local { ty: to, root: v.result, vars: Vec::new(), io });
            let place = LocalTarget { local: self.locals.len() - 1, first: 0, index: self.b.i32(0), comp: None };
            return Ok(Pointer { ty: to, place: PointerTarget::Local(place) });
        }
        let p = self.make_local(v.result, to, io.clone())?;
        let val = io.iter().map(|leaf| self.load_input(leaf, None)).collect();
        self.store(&p, val, false)?;
        Ok(p)
    }

    /// Returns a pointer to an input with an element for each vertex. It is read in place by the
    /// vertex's number, unless arrays inside are indexed dynamically.
    fn arrayed_input(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        let &Type::Array { elem, len } = self.s.ty(to)? else {
            return Err(Error::invalid("input of a primitive's vertices is no array"));
        };
        let io = self.io_leaves(v.result, elem, self.stage.row().inputs)?;
        self.arrayed.insert((v.result, to));
        let inside = self.any_kept(v.result, elem)?;
        if !inside {
            self.locals.push(Local { ty: to, root: v.result, vars: Vec::new(), io });
            let place = LocalTarget { local: self.locals.len() - 1, first: 0, index: self.b.i32(0), comp: None };
            return Ok(Pointer { ty: to, place: PointerTarget::Local(place) });
        }
        let p = self.make_local(v.result, to, io.clone())?;
        let mut val = Flat::new();
        for vertex in 0..len {
            let vertex = self.b.i32(vertex);
            val.extend(io.iter().map(|leaf| self.load_input(leaf, Some(vertex))));
        }
        self.store(&p, val, false)?;
        Ok(p)
    }

    fn output(&mut self, v: View<'_>, to: u32) -> Result<Pointer> {
        let mut io = self.io_leaves(v.result, to, self.stage.row().outputs)?;
        let places = self.capture_places(v.result, to)?;
        io.iter_mut().zip(places).for_each(|(leaf, place)| leaf.capture = place);
        let p = self.make_local(v.result, to, io)?;
        self.outputs.push(self.locals.len() - 1);
        self.initialise(&p, v)?;
        Ok(p)
    }

    /// Stores every output that was written, at the end of the entry point.
    pub fn store_outputs(&mut self) -> Result<()> {
        if self.stage.has_primitives() {
            return self.store_vertex_count();
        }
        if self.stage.row().outputs == StageIoKind::Frame {
            return self.store_incoming();
        }
        self.each_output(&mut |t, leaving| {
            if t.touched.contains(&leaving.var) {
                let first = t.b.shader.outputs.len();
                let v = t.b.load_var(leaving.var, Some(leaving.index));
                t.output_words(leaving.slot, v, &mut Self::store_output);
                t.captured(leaving, first);
            }
        })
    }

    /// Returns a pointer to a variable whose address a mapping defines.
    pub fn mapped_resource(&mut self, v: View<'_>, to: u32, (set, binding): (u32, u32)) -> Result<Pointer> {
        if self.kinds(v, to)? == [Kind::InputAttachment] {
            self.b.shader.fragment_mut()?.reads_input_attachments = true;
        }
        let ty = self.s.without_arrays(to)?;
        if v.args[0] == class::STORAGE_BUFFER {
            let volatile = self.m.decorated(v.result, deco::VOLATILE);
            self.pointees.add(MemoryVariable { space: Space::Buffer, ty, volatile, binding: None });
        }
        let desc = Desc { set, binding, index: self.b.i32(0) };
        let r = Resource { variable: v.result, desc };
        self.mapping(&r, ty)?;
        self.resource_pointer(r, to)
    }
}
