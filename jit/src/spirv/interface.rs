//! Variables of the module and their representation in the shader: inputs, outputs, descriptors,
//! push constants, workgroup memory, private variables.
//!
//! Outputs are private variables during the shader. Those that were stored to are written once, at
//! the end of the entry point. Inputs are read in place, or first copied into a private variable if
//! they are indexed dynamically.

use super::body::Translator;
use super::generated::capabilities::Capability;
use super::layout::{explicit_size, natural};
use super::mode::ComputeQuads;
use super::module::{EntryPoint, NO_MEMBER, View};
use super::opcodes::op;
use super::ray::type_of_words;
use super::types::{Const, Type};
use super::value::{
    Desc, DriverLayout, Flat, IoKind, IoLeaf, Local, LocalTarget, Memory, MemoryVariable, OutputScalar, Pointer,
    PointerTarget, Resource, Val,
};
use super::{builtin, class, deco};
use crate::error::{Error, Result};
use crate::ir::{Cmp, Convert, InterpolateAt, Op, RAY_QUERY_PADDING, RAY_QUERY_WORDS, Space, Ty, Value, Var};
use base::shader::{
    BindingLayout, BuiltinSlot, DescriptorKind as Kind, HitObjectField, Interpolation, RayValue, RayWord, Slot,
    SlotKind, SlotType, StageIoKind,
};

/// Array length above which an array is kept even if every index is constant.
const SPLIT_LIMIT: u32 = 64;
/// Largest number of scalars of one invocation's private variable. Words of them fill the scratch
/// memory of eight lanes (`emit::MAX_SCRATCH`, which counts all variables of a stage).
pub(super) const MAX_PRIVATE: u64 = 1 << 21;

/// Decorations collected on the path from a variable to a leaf.
#[derive(Clone, Copy)]
struct IoState {
    side: StageIoKind,
    location: Option<u32>,
    component: u32,
    index: u32,
    builtin: Option<u32>,
    interpolation: Interpolation,
    at: InterpolateAt,
    volatile: bool,
}

/// Number of variables of a ray query: its words, and whether it is initialized.
const QUERY_VARS: u64 = 2;

impl Translator<'_> {
    /// Returns true if an array or matrix level of a variable is kept as an array.
    pub fn kept(&self, root: u32, ty: u32, len: u32) -> bool {
        len > SPLIT_LIMIT
            || self.a.dynamic.contains(&(root, ty))
            || self.a.dynamic.contains(&(0, ty))
            || self.arrayed.contains(&(root, ty))
    }

    /// Returns the number of leaves of a part of a local, where a kept level counts once.
    pub fn var_count(&self, root: u32, ty: u32) -> Result<usize> {
        let n = self.count(root, ty)?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n <= 1 << 16)
            .ok_or_else(|| Error::limit("variable has too many members").with_id(root))
    }

    fn count(&self, root: u32, ty: u32) -> Result<u64> {
        Ok(match self.s.ty(ty)? {
            Type::Vector { n, .. } => u64::from(*n),
            Type::Struct(members) => {
                members.iter().try_fold(0u64, |sum, &m| Ok::<_, Error>(sum.saturating_add(self.count(root, m)?)))?
            }
            &Type::Array { elem: part, len: n } | &Type::Matrix { col: part, n } => {
                let one = self.count(root, part)?;
                if self.kept(root, ty, n) { one } else { one.saturating_mul(n.into()) }
            }
            Type::RayQuery => QUERY_VARS,
            Type::HitObject => HitObjectField::WORDS.into(),
            _ => self.s.scalar(ty).map(|_| 1)?,
        })
    }

    fn any_kept(&self, root: u32, ty: u32) -> Result<bool> {
        Ok(match self.s.ty(ty)? {
            Type::Struct(members) => {
                for &m in members {
                    if self.any_kept(root, m)? {
                        return Ok(true);
                    }
                }
                false
            }
            &Type::Array { elem: part, len: n } | &Type::Matrix { col: part, n } => {
                self.kept(root, ty, n) || self.any_kept(root, part)?
            }
            _ => false,
        })
    }

    /// Creates the variables of a local.
    fn make_vars(&mut self, root: u32, ty: u32, len: u32, name: &str, out: &mut Vec<Var>) -> Result<()> {
        let s = self.s;
        match s.ty(ty)? {
            &Type::Vector { elem, n } => {
                let t = s.scalar(elem)?;
                out.extend((0..n).map(|_| self.b.var(t, len, name)));
            }
            Type::Struct(members) => {
                for &m in members {
                    self.make_vars(root, m, len, name, out)?;
                }
            }
            &Type::Array { elem: part, len: n } | &Type::Matrix { col: part, n } => {
                let (times, len) = if self.kept(root, ty, n) { (1, len.saturating_mul(n)) } else { (n, len) };
                for _ in 0..times {
                    self.make_vars(root, part, len, name, out)?;
                }
            }
            Type::RayQuery => {
                let words = len.checked_mul(RAY_QUERY_WORDS).and_then(|n| n.checked_add(RAY_QUERY_PADDING));
                out.push(self.b.var(Ty::I32, words.ok_or_else(|| Error::limit("private memory"))?, name));
                out.push(self.b.var(Ty::B1, len, name));
            }
            Type::HitObject => out.extend((0..HitObjectField::WORDS).map(|_| self.b.var(Ty::I32, len, name))),
            _ => out.push(self.b.var(s.scalar(ty)?, len, name)),
        }
        Ok(())
    }

    /// Creates a private variable and returns a pointer to it.
    pub fn make_local(&mut self, root: u32, ty: u32, io: Vec<IoLeaf>) -> Result<Pointer> {
        if self.s.leaves(ty)? > MAX_PRIVATE {
            return Err(Error::limit("private variable is too large").with_id(root));
        }
        self.var_count(root, ty)?;
        let name = self.m.name(root);
        let mut vars = Vec::new();
        self.make_vars(root, ty, 1, &name, &mut vars)?;
        self.locals.push(Local { ty, root, vars, io });
        let place = LocalTarget { local: self.locals.len() - 1, first: 0, index: self.b.i32(0), comp: None };
        Ok(Pointer { ty, place: PointerTarget::Local(place) })
    }

    /// Translates OpVariable of class Function or Private: a new variable, initialised.
    pub fn private_variable(&mut self, v: View<'_>) -> Result<()> {
        let &Type::Pointer { to, .. } = self.s.ty(v.ty)? else {
            return Err(Error::invalid("variable without a pointer type"));
        };
        let p = self.make_local(v.result, to, Vec::new())?;
        self.initialise(&p, v)?;
        self.set(v.result, Val::Ptr(p))
    }

    pub fn initialise(&mut self, p: &Pointer, v: View<'_>) -> Result<()> {
        if let Some(&init) = v.args.get(1) {
            if self.is_large_null(init)? {
                return self.clear(p);
            }
            let val = self.flat(init)?;
            self.store(p, val, false)?;
        }
        Ok(())
    }

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
                self.memory_variables.push(MemoryVariable { space: Space::Shared, ty: to, volatile, binding: None });
                self.block_pointer(Space::Shared, at, to, (!block).then_some(DriverLayout::Packed))
            }
            _ => return Err(Error::unsupported(format!("storage class {class}"))),
        };
        self.set(v.result, Val::Ptr(p))
    }

    pub fn block_pointer(
        &mut self,
        space: Space,
        offset: u32,
        ty: u32,
        driver_layout: Option<DriverLayout>,
    ) -> Pointer {
        let place = PointerTarget::Memory(Memory {
            space,
            origin: None,
            base: self.b.i32(0),
            offset,
            driver_layout,
            stride: None,
            matrix: None,
            comp_stride: None,
            readonly: space == Space::Push,
            volatile: false,
            by_component: false,
        });
        Pointer { ty, place }
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
            let block = self.without_arrays(to)?;
            let volatile = self.m.decorated(v.result, deco::VOLATILE);
            self.number_buffers(block, Desc { set, binding, index }, count, volatile)?;
        }
        self.resource_pointer(Resource { variable: v.result, desc: Desc { set, binding, index } }, to)
    }

    /// Returns the kinds of descriptors that a variable may be bound to.
    pub fn kinds(&self, v: View<'_>, ty: u32) -> Result<&'static [Kind]> {
        let ty = self.without_arrays(ty)?;
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

    /// Returns true if the variable has an element for each vertex of a primitive or patch. All
    /// have, except those of the invocation or of the patch.
    pub fn is_arrayed(&self, var: u32, ty: u32, side: StageIoKind) -> bool {
        let built_in = self.m.decoration_value(var, NO_MEMBER, deco::BUILT_IN);
        let of_vertices = built_in.is_none_or(|number| builtin::slot(StageIoKind::Primitives, number, 0).is_some());
        matches!(side, StageIoKind::Primitives | StageIoKind::Patch) && of_vertices && !self.is_of_patch(var, ty)
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

    /// Calls `f` with every scalar that is written, always in the same order.
    pub fn each_output(&mut self, f: &mut dyn FnMut(&mut Self, &OutputScalar)) -> Result<()> {
        for local in self.outputs.clone() {
            let Local { ty, vars, io, .. } = self.locals[local].clone();
            let mut flat = 0;
            let zero = self.b.i32(0);
            self.visit_local(local, ty, 0, zero, &mut |t, leaf, index| {
                let io = io[flat];
                flat += 1;
                if let Some(slot) = output_slot(&io) {
                    f(t, &OutputScalar { slot, var: vars[leaf], index, capture: io.capture });
                }
            })?;
            self.check_fault()?;
        }
        Ok(())
    }

    /// Passes each word of a scalar to `store` with its slot, the low word first. It is the
    /// counterpart of `load_words`.
    pub fn output_words(&mut self, slot: Slot, v: Value, store: &mut dyn FnMut(&mut Self, Slot, Value)) {
        let v = match (self.b.ty(v), slot.ty) {
            (Ty::I16, SlotType::Sint) => self.b.cvt(Convert::SToS, v, Ty::I32),
            (Ty::I16, _) => self.b.cvt(Convert::UToU, v, Ty::I32),
            (Ty::F16, _) => self.b.cvt(Convert::FToF, v, Ty::F32),
            (Ty::I64 | Ty::F64, _) => {
                let words = self.split(v, Ty::I32, 2);
                store(self, slot, words[0]);
                store(self, high_word(slot), words[1]);
                return;
            }
            _ => v,
        };
        store(self, slot, v);
    }

    fn store_output(&mut self, slot: Slot, v: Value) {
        let sh = &mut self.b.shader;
        let number = sh.outputs.len() as u32;
        sh.outputs.push(slot);
        if let (SlotKind::Builtin(builtin), Some(info)) = (slot.kind, sh.stage_info.fragment_mut()) {
            info.writes_stencil |= builtin == BuiltinSlot::FragStencilRef;
            info.writes_sample_mask |= builtin == BuiltinSlot::SampleMask;
        }
        self.b.emit(Op::StoreOutput(number), &[v], &[]);
    }

    /// Returns the interface scalars of a variable, in flat order.
    pub fn io_leaves(&self, var: u32, ty: u32, side: StageIoKind) -> Result<Vec<IoLeaf>> {
        let mut out = Vec::with_capacity(self.s.flat_leaves(ty)?);
        let none = IoState {
            side,
            location: None,
            component: 0,
            index: if self.is_of_patch(var, ty) { SlotKind::NOT_PER_VERTEX.into() } else { 0 },
            builtin: None,
            interpolation: Interpolation::Smooth,
            at: InterpolateAt::Default,
            volatile: false,
        };
        let state = self.io_decorations(none, var, NO_MEMBER);
        self.push_io(ty, state, &mut out)?;
        Ok(out)
    }

    fn io_decorations(&self, before: IoState, target: u32, member: u32) -> IoState {
        let value = |kind| self.m.decoration_value(target, member, kind);
        let has = |kind| self.m.decoration(target, member, kind).is_some();
        IoState {
            side: before.side,
            location: value(deco::LOCATION).or(before.location),
            component: value(deco::COMPONENT).unwrap_or(before.component),
            index: if has(deco::PER_PRIMITIVE) {
                SlotKind::NOT_PER_VERTEX.into()
            } else {
                value(deco::INDEX).unwrap_or(before.index)
            },
            builtin: value(deco::BUILT_IN).or(before.builtin),
            interpolation: match (has(deco::FLAT), has(deco::NO_PERSPECTIVE)) {
                (true, _) => Interpolation::Flat,
                _ if has(deco::PER_PRIMITIVE) => Interpolation::Flat,
                (_, true) => Interpolation::Linear,
                _ => before.interpolation,
            },
            at: match (has(deco::CENTROID), has(deco::SAMPLE)) {
                (_, true) => InterpolateAt::Sample,
                (true, _) => InterpolateAt::Centroid,
                _ => before.at,
            },
            volatile: before.volatile || has(deco::VOLATILE),
        }
    }

    /// Appends the leaves of one type, and returns the location that follows.
    fn push_io(&self, ty: u32, st: IoState, out: &mut Vec<IoLeaf>) -> Result<Option<u32>> {
        match self.s.ty(ty)? {
            Type::Struct(members) => {
                let mut location = st.location;
                for (i, &m) in (0..).zip(members) {
                    let own = self.io_decorations(IoState { location, ..st }, ty, i);
                    location = self.push_io(m, own, out)?;
                }
                Ok(location)
            }
            &Type::Array { elem: part, len: n } | &Type::Matrix { col: part, n } => {
                let mut location = st.location;
                for _ in 0..n {
                    location = self.push_io(part, IoState { location, ..st }, out)?;
                }
                if st.builtin.is_some() {
                    number_builtins(st.side, out, n as usize * self.s.flat_leaves(part)?);
                }
                Ok(location)
            }
            _ => {
                let (elem, n) = self.s.vector(ty)?;
                for c in 0..n {
                    out.push(self.io_leaf(elem, st, c)?);
                }
                let locations = (n * self.s.scalar(elem)?.bytes()).div_ceil(16).max(1);
                Ok(st.location.map(|l| l.saturating_add(locations)))
            }
        }
    }

    fn io_leaf(&self, elem: u32, st: IoState, c: u32) -> Result<IoLeaf> {
        let ty = self.s.scalar(elem)?;
        let class = match ty {
            Ty::F16 | Ty::F32 => SlotType::Float,
            Ty::I16 | Ty::I32 if self.s.is_signed(elem) => SlotType::Sint,
            _ => SlotType::Uint,
        };
        let interpolated = st.side == StageIoKind::Interpolated;
        let interpolation = match st.interpolation {
            _ if !interpolated => Interpolation::Smooth,
            _ if class != SlotType::Float => Interpolation::Flat,
            i => i,
        };
        let at = if interpolated && interpolation != Interpolation::Flat { st.at } else { InterpolateAt::Default };
        // The slot is that of the low word. The high word of 64 bits is in the next component.
        let word = st.component.saturating_add(c * (ty.bytes() / 4).max(1));
        let (location, component) = (st.location.unwrap_or(0).saturating_add(word / 4), word % 4);
        let kind = SlotKind::User { location, component: component as u8, index: st.index as u8 };
        let slot = Slot { kind, ty: class, interpolation };
        let kind = match (st.builtin, st.location) {
            (Some(b), _) => IoKind::Builtin(b, c),
            (None, Some(_)) if matches!(ty, Ty::B1 | Ty::I8) => {
                return Err(Error::invalid("interface variable of a type that has no slot"));
            }
            (None, Some(_)) if ty.bytes() == 8 && component % 2 != 0 => {
                return Err(Error::invalid("Component of a 64-bit interface variable"));
            }
            (None, Some(_)) if word > 3 && ty.bytes() != 8 => {
                return Err(Error::invalid("Component beyond the location"));
            }
            (None, Some(_)) => IoKind::Slot,
            (None, None) => IoKind::Unused,
        };
        let leaf = IoLeaf { kind, ty, slot, at, volatile: st.volatile, capture: None };
        Ok(match kind {
            IoKind::Builtin(b, c) => {
                builtin::slot(st.side, b, c).map_or(leaf, |kind| IoLeaf { slot: Slot { kind, ..slot }, ..leaf })
            }
            _ => leaf,
        })
    }

    /// Returns the number of an input slot, which is created at its first use.
    pub fn input_slot(&mut self, slot: Slot) -> u32 {
        let inputs = &mut self.b.shader.inputs;
        *self.input_slots.entry(slot.kind).or_insert_with(|| {
            inputs.push(slot);
            inputs.len() as u32 - 1
        })
    }

    /// Reads an input scalar. For an arrayed input, it is that of `vertex`.
    pub fn load_input(&mut self, io: &IoLeaf, vertex: Option<Value>) -> Value {
        match (io.kind, vertex) {
            (IoKind::Slot, _) => self.load_words(io, io.at, vertex.as_slice()),
            (IoKind::Builtin(..), Some(_)) if matches!(io.slot.kind, SlotKind::Builtin(_)) => {
                self.load_words(io, io.at, vertex.as_slice())
            }
            (IoKind::Builtin(number, c), _) => self.load_builtin(io, number, c),
            (IoKind::Unused, _) => self.b.konst(io.ty, 0),
        }
    }

    /// Loads a scalar from its slots. A slot is a word: narrow scalars are converted, and wide ones
    /// are made of two words.
    fn load_words(&mut self, io: &IoLeaf, at: InterpolateAt, args: &[Value]) -> Value {
        let word = |t: &mut Self, slot: Slot| {
            let ty = if slot.ty == SlotType::Float { Ty::F32 } else { Ty::I32 };
            let slot = t.input_slot(slot);
            match (t.stage.row().inputs, args) {
                (StageIoKind::Primitives, _) | (StageIoKind::Patch, &[_]) => t.b.val(Op::LoadVertex(slot), args, ty),
                (StageIoKind::Patch, _) => {
                    let any = t.b.i32(0);
                    t.b.val(Op::LoadVertex(slot), &[any], ty)
                }
                _ => t.b.val(Op::LoadInput(slot, at), args, ty),
            }
        };
        if self.stage.row().inputs == StageIoKind::Patch && io.ty.bytes() == 2 {
            // Inputs from a patch hold 16 bits as they are, not converted to a word.
            let bits = word(self, Slot { ty: SlotType::Uint, ..io.slot });
            let bits = self.b.cvt(Convert::UToU, bits, Ty::I16);
            return if io.ty == Ty::F16 { self.b.cvt(Convert::Bitcast, bits, Ty::F16) } else { bits };
        }
        let low = word(self, io.slot);
        match io.ty {
            Ty::I16 => self.b.cvt(Convert::UToU, low, io.ty),
            Ty::F16 => self.b.cvt(Convert::FToF, low, io.ty),
            Ty::I64 | Ty::F64 => {
                let high = word(self, high_word(io.slot));
                self.join(&[low, high], io.ty)
            }
            _ => low,
        }
    }

    /// Reads an input scalar at another position than its decorations define. Built-ins have no
    /// such position.
    pub fn load_input_at(&mut self, io: &IoLeaf, at: InterpolateAt, args: &[Value]) -> Value {
        match io.kind {
            IoKind::Slot if io.slot.interpolation != Interpolation::Flat => self.load_words(io, at, args),
            _ => self.load_input(io, None),
        }
    }

    fn load_builtin(&mut self, io: &IoLeaf, number: u32, c: u32) -> Value {
        if let SlotKind::Builtin(BuiltinSlot::Ray(RayWord { value, .. })) = io.slot.kind {
            let ty = type_of_words(value);
            if !self.stage.reads_ray_value(value) || io.ty != ty {
                self.b.fault = Some("built-in is not an input of this stage, or not of this type");
                return self.b.konst(io.ty, 0);
            }
            if let (RayValue::RayTmax, Some(var)) = (value, self.ray.t_max) {
                return self.b.load_var(var, None);
            }
        }
        if let SlotKind::Builtin(_) = io.slot.kind {
            let word = self.load_words(io, InterpolateAt::Default, &[]);
            return if io.ty == Ty::B1 { self.bit_to_bool(word) } else { word };
        }
        if (builtin::SUBGROUP_EQ_MASK..=builtin::SUBGROUP_LT_MASK).contains(&number) {
            return self.subgroup_mask(number, c);
        }
        if let (Some(ComputeQuads::Square), builtin::LOCAL_INVOCATION_ID..=builtin::LOCAL_INVOCATION_INDEX) =
            (self.compute_quads, number)
            && c < 3
        {
            return self.square_position(number, c);
        }
        if number == builtin::HELPER_INVOCATION && io.volatile && self.stage.has_quads() {
            return self.b.val(Op::IsHelper, &[], Ty::B1);
        }
        let number = match number {
            builtin::VIEW_INDEX if self.s.view_index_from_device_index => builtin::DEVICE_INDEX,
            number => number,
        };
        let Some((b, ty)) = builtin::input(self.stage, number, c) else {
            if number == builtin::SAMPLE_MASK && self.stage.has_quads() {
                return self.b.i32(0);
            }
            self.b.fault = Some("built-in is not an input of this stage (or not implemented)");
            return self.b.konst(io.ty, 0);
        };
        self.b.shader.uses_subgroup |= builtin::is_subgroup(number);
        let v = self.b.val(Op::Builtin(b), &[], ty);
        if ty != io.ty {
            self.b.fault = Some("built-in of an unexpected type");
        }
        v
    }

    /// Returns a boolean that is true if `v` is not zero.
    pub fn bit_to_bool(&mut self, v: Value) -> Value {
        let zero = self.b.i32(0);
        let v = self.b.int_as(v, Ty::I32);
        self.b.cmp(Cmp::INe, v, zero)
    }
}

/// Returns the slot of a 64-bit scalar's high word.
pub fn high_word(low: Slot) -> Slot {
    let kind = match low.kind {
        SlotKind::User { location, component, index } => SlotKind::User { location, component: component + 1, index },
        builtin @ SlotKind::Builtin(_) => builtin,
    };
    Slot { kind, ..low }
}

/// Slot of a built-in that does not use any slot.
const NO_SLOT: SlotKind = SlotKind::User { location: 0, component: 0, index: 0 };

/// Numbers the components of a built-in array through the whole array.
fn number_builtins(side: StageIoKind, out: &mut [IoLeaf], n: usize) {
    let first = out.len() - n.min(out.len());
    for (i, leaf) in (0..).zip(&mut out[first..]) {
        if let IoKind::Builtin(b, _) = leaf.kind {
            leaf.kind = IoKind::Builtin(b, i);
            leaf.slot.kind = builtin::slot(side, b, i).unwrap_or(NO_SLOT);
        }
    }
}

/// Returns the slot of an output scalar, or `None` if the stage does not pass it on.
pub fn output_slot(io: &IoLeaf) -> Option<Slot> {
    match io.kind {
        IoKind::Slot => Some(io.slot),
        IoKind::Builtin(..) => matches!(io.slot.kind, SlotKind::Builtin(_)).then_some(io.slot),
        IoKind::Unused => None,
    }
}
