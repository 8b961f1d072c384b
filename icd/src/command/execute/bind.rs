//! Bound descriptor sets and push constants, and the [`ShaderContext`] that is built from them.

#![forbid(unsafe_code)]

use super::descriptor_buffer::MaterializedSet;
use super::recycler::Recycler;
use super::{Executor, SetDescriptorBufferOffsets};
use crate::command::BindDescriptorSets;
use crate::device::Device;
use crate::object::bound_shaders::{BoundShaders, ProgramError};
use crate::object::descriptor::SetLayout;
use crate::object::descriptor_heap::HeapKind;
use crate::object::descriptor_pool::{DescriptorSet, null_buffer};
use crate::object::pipeline_layout::PipelineLayout;
use crate::object::program::{BoundProgram, Linker};
use crate::object::shader_object::ShaderObject;
use crate::object::shared_layouts::SharedLayouts;
use base::abi::{DynamicBuffers, Heaps, ShaderContext};
use base::alloc::or_unwind;
use base::limits::{MAX_DESCRIPTOR_SETS, MAX_HEAP_RANGE, MAX_PUSH_CONSTANTS};
use base::mem::MemoryRange;
use base::shader::Stage;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::sync::Arc;

/// Program and descriptors that are bound to one bind point.
#[derive(Default)]
pub(super) struct BindPointState {
    /// Program of a pipeline, or of the shader objects; `None` if these have changed.
    program: Option<Arc<BoundProgram>>,
    /// Shader objects; none if a pipeline is bound.
    shaders: BoundShaders,
    sets: Vec<Option<BoundSet>>,
    /// Descriptor heaps of resources and of samplers.
    heaps: [Option<MemoryRange>; 2],
    /// The last context that was built, and the layout for which it was built; `None` after a
    /// change.
    context: Option<(Arc<PipelineLayout>, Arc<ShaderContext>)>,
    /// Contexts before the last changes.
    old_contexts: Recycler<ShaderContext>,
}

struct BoundSet {
    source: SetSource,
    dynamic_offsets: SmallVec<[u32; 4]>,
}

/// Location of a set's descriptors.
enum SetSource {
    /// A descriptor set.
    Set(Arc<DescriptorSet>),
    /// An address in a descriptor buffer, and the set that was made of its bytes.
    Buffer(Arc<SetLayout>, u64, OnceCell<Arc<MaterializedSet>>),
}

impl BoundSet {
    fn layout(&self) -> &SetLayout {
        match &self.source {
            SetSource::Set(set) => &set.layout,
            SetSource::Buffer(layout, ..) => layout,
        }
    }

    fn set(&self, device: &Device, materialized_sets: &mut Vec<Arc<MaterializedSet>>) -> &DescriptorSet {
        match &self.source {
            SetSource::Set(set) => set,
            SetSource::Buffer(layout, address, made) => {
                let make = || {
                    materialized_sets.push(Arc::new(MaterializedSet::new(device, layout, *address)));
                    materialized_sets[materialized_sets.len() - 1].clone()
                };
                &made.get_or_init(make).set
            }
        }
    }
}

/// Parameters that differ between draws that share their bindings.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DrawParameters {
    pub num_workgroups: [u32; 3],
    pub base_vertex: u32,
    pub base_instance: u32,
    pub draw_index: u32,
    pub view_index: u32,
}

impl BindPointState {
    /// Binds the program of a pipeline, which unbinds all shader objects.
    pub fn bind_program(&mut self, program: &Arc<BoundProgram>) {
        self.shaders.clear();
        self.program = Some(program.clone());
    }

    /// Binds shader objects, which unbinds the program of a pipeline.
    pub fn bind_shaders(&mut self, shaders: &[(Stage, Option<Arc<ShaderObject>>)]) {
        let mut is_changed = self.shaders.is_empty();
        for (stage, object) in shaders {
            is_changed |= self.shaders.bind(*stage, object.as_ref());
        }
        if is_changed {
            self.program = None;
        }
    }

    /// Returns true if the bound program has state.
    pub fn has_state(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.state().is_some())
    }

    /// Returns the bound program, and true if shader objects were linked to it.
    ///
    /// # Errors
    /// Nothing is bound (`None`), or the shader objects do not form a program.
    pub fn program(
        &mut self,
        linker: &Linker,
        layouts: &SharedLayouts,
    ) -> Result<(Arc<BoundProgram>, bool), Option<ProgramError>> {
        if let Some(program) = &self.program {
            return Ok((program.clone(), false));
        }
        let program = self.shaders.program(linker, layouts).ok_or(None)??;
        self.program = Some(program.clone());
        Ok((program, true))
    }

    /// Returns the context for a program with `layout`.
    pub fn context(
        &mut self,
        (device, materialized_sets): (&Device, &mut Vec<Arc<MaterializedSet>>),
        layout: &Arc<PipelineLayout>,
        push_constants: &[u8; MAX_PUSH_CONSTANTS],
        parameters: DrawParameters,
    ) -> Arc<ShaderContext> {
        match &mut self.context {
            Some((built_for, context)) if Arc::ptr_eq(built_for, layout) => {
                if parameters_of(context) != parameters {
                    set_parameters(context, &mut self.old_contexts, parameters);
                }
                context.clone()
            }
            _ => {
                self.discard_context();
                let context = self.build((device, materialized_sets), layout, push_constants, parameters);
                let context = self.old_contexts.make(context);
                self.context = Some((layout.clone(), context.clone()));
                context
            }
        }
    }

    fn build(
        &self,
        (device, materialized_sets): (&Device, &mut Vec<Arc<MaterializedSet>>),
        layout: &PipelineLayout,
        push_constants: &[u8; MAX_PUSH_CONSTANTS],
        p: DrawParameters,
    ) -> ShaderContext {
        let mut context = ShaderContext {
            sets: [texture::zero_page(); MAX_DESCRIPTOR_SETS],
            dynamic_buffers: DynamicBuffers::NONE,
            push_constants: *push_constants,
            num_workgroups: p.num_workgroups,
            base_vertex: p.base_vertex,
            base_instance: p.base_instance,
            draw_index: p.draw_index,
            view_index: p.view_index,
            device_index: 0,
            addresses: device.heap.addresses(),
            heaps: self.heaps(device),
            structures: std::ptr::from_ref(&device.structures).cast(),
            abort: &device.abort,
            helpers: &device.helpers,
        };
        let mut dynamic_buffers = or_unwind(base::alloc::filled(null_buffer(), layout.dynamic_count as usize));
        for (number, set_layout) in layout.sets.iter().enumerate() {
            let Some(set_layout) = set_layout else { continue };
            let bound = self.sets.get(number).and_then(Option::as_ref).filter(|_| !layout.uses_heap);
            let bound = bound.filter(|b| b.layout().compatible(set_layout));
            // A set that is not bound reads as null descriptors, so that this error of the
            // application does not end the process.
            let (set, offsets) = match bound {
                Some(bound) => (bound.set(device, materialized_sets), &bound.dynamic_offsets[..]),
                None => (layout.null_set(number), &[][..]),
            };
            context.sets[number] = set.memory().base();
            let mut next = offsets.iter().copied();
            for b in set_layout.bindings.iter().filter(|b| b.is_dynamic()) {
                for element in 0..b.count {
                    let slot = (layout.dynamic_base[number] + b.dynamic_index + element) as usize;
                    let offset = b.offset as usize + element as usize * b.stride();
                    dynamic_buffers[slot] = set.dynamic(offset, next.next().unwrap_or(0));
                }
            }
        }
        if !dynamic_buffers.is_empty() {
            context.dynamic_buffers = DynamicBuffers::new(dynamic_buffers, &layout.dynamic_base);
        }
        context
    }
}

impl BindPointState {
    /// Returns the heaps as shaders see them.
    fn heaps(&self, device: &Device) -> Heaps {
        let Some(heaps) = &device.heaps else { return Heaps::NONE };
        let [resources, samplers] = [(HeapKind::Resources, 0), (HeapKind::Samplers, 1)]
            .map(|(kind, i)| heaps.context(kind, self.heaps[i].unwrap_or(MemoryRange::NULL)));
        Heaps { resources, samplers, null_buffer: null_buffer().address }
    }

    /// Binds the descriptors at an address of a descriptor buffer.
    pub fn bind_at(&mut self, number: usize, layout: Arc<SetLayout>, address: u64) {
        let source = SetSource::Buffer(layout, address, OnceCell::new());
        self.bind(number, Some(BoundSet { source, dynamic_offsets: SmallVec::new() }));
    }

    /// Discards the sets that were made of descriptor buffers, so that the buffers are read again.
    pub fn invalidate(&mut self) {
        let mut is_changed = false;
        for bound in self.sets.iter_mut().flatten() {
            if let SetSource::Buffer(_, _, made) = &mut bound.source {
                is_changed |= made.take().is_some();
            }
        }
        if is_changed {
            self.discard_context();
        }
    }

    /// Discards the context, because something to which it refers has changed.
    fn discard_context(&mut self) {
        self.old_contexts.retire(self.context.take().map(|(_, context)| context));
    }

    /// Takes over the descriptor heaps of another state.
    pub fn take_heaps(&mut self, from: &BindPointState) {
        self.heaps = from.heaps;
    }

    /// Releases what is made for the command buffer that ends, before another one inherits the
    /// rest.
    pub fn suspend(&mut self) {
        self.invalidate();
        self.context = None;
        self.old_contexts = Recycler::default();
    }

    /// Begins an inherited state: heaps may have lost their memory since.
    pub fn resume(&mut self, device: &Device) {
        for heap in &mut self.heaps {
            *heap = heap.and_then(|heap| device.heap.live_prefix_for_descriptor(heap.address as u64, heap.size));
        }
    }

    fn bind(&mut self, number: usize, set: Option<BoundSet>) {
        self.discard_context();
        if self.sets.len() <= number {
            self.sets.resize_with(number + 1, || None);
        }
        self.sets[number] = set;
    }
}

fn parameters_of(c: &ShaderContext) -> DrawParameters {
    DrawParameters {
        num_workgroups: c.num_workgroups,
        base_vertex: c.base_vertex,
        base_instance: c.base_instance,
        draw_index: c.draw_index,
        view_index: c.view_index,
    }
}

/// Returns a context to be changed: a copy if a deferred draw still refers to it.
fn unshared<'a>(
    context: &'a mut Arc<ShaderContext>,
    old_contexts: &mut Recycler<ShaderContext>,
) -> Option<&'a mut ShaderContext> {
    if Arc::get_mut(context).is_none() {
        let c = &**context;
        let copy = old_contexts.make(ShaderContext { dynamic_buffers: c.dynamic_buffers.clone(), ..*c });
        old_contexts.retire(Some(std::mem::replace(context, copy)));
    }
    Arc::get_mut(context)
}

fn set_parameters(context: &mut Arc<ShaderContext>, old_contexts: &mut Recycler<ShaderContext>, p: DrawParameters) {
    if let Some(c) = unshared(context, old_contexts) {
        c.num_workgroups = p.num_workgroups;
        c.base_vertex = p.base_vertex;
        c.base_instance = p.base_instance;
        c.draw_index = p.draw_index;
        c.view_index = p.view_index;
    }
}

impl Executor<'_> {
    /// Binds the live part of a heap, for all bind points.
    pub(super) fn bind_heap(&mut self, kind: HeapKind, address: u64, size: u64) {
        let size = size.min(MAX_HEAP_RANGE);
        let memory = self.device.heap.live_prefix_for_descriptor(address, size);
        if size != 0 && memory.is_none_or(|memory| memory.size < size) {
            self.device.report_invalid_usage(&format!(
                "a descriptor heap of {size} bytes at {address:#x} reaches where no memory is"
            ));
        }
        for point in self.state.points.iter_mut() {
            point.heaps[kind as usize] = memory;
            point.discard_context();
        }
    }

    pub(super) fn bind_descriptor_sets(&mut self, c: &BindDescriptorSets) {
        let point = &mut self.state.points[c.bind_point];
        let mut offsets = c.dynamic_offsets.iter().copied();
        for (number, set) in (c.first_set as usize..MAX_DESCRIPTOR_SETS).zip(&c.sets) {
            let bound = set.as_ref().map(|set| {
                let dynamic_offsets = offsets.by_ref().take(set.layout.dynamic_count as usize).collect();
                BoundSet { source: SetSource::Set(set.clone()), dynamic_offsets }
            });
            point.bind(number, bound);
        }
    }

    pub(super) fn bind_descriptor_buffers(&mut self, addresses: &[u64]) {
        self.state.descriptor_buffers = addresses.into();
    }

    pub(super) fn set_descriptor_buffer_offsets(&mut self, c: &SetDescriptorBufferOffsets) {
        for (number, (layout, index, offset)) in (c.first_set as usize..MAX_DESCRIPTOR_SETS).zip(&c.sets) {
            let buffer = self.state.descriptor_buffers.get(*index as usize);
            let (Some(layout), Some(buffer)) = (layout, buffer) else {
                self.device.report_invalid_usage(
                    "vkCmdSetDescriptorBufferOffsetsEXT: no such set, or no such buffer is bound",
                );
                continue;
            };
            self.state.points[c.bind_point].bind_at(number, layout.clone(), buffer.wrapping_add(*offset));
        }
    }

    /// Discards materialized descriptor sets after a dependency, because descriptors in buffers may
    /// have changed.
    pub(super) fn invalidate_descriptors(&mut self) {
        self.state.points.iter_mut().for_each(BindPointState::invalidate);
        // Deferred draws still refer to the materialized sets.
        if self.render.is_none() {
            self.materialized_sets.clear();
        }
    }

    /// Writes push constants, in the contexts too, which are cheaper to change than to build.
    pub(super) fn push_constants(&mut self, offset: u32, bytes: &[u8]) {
        let range = offset as usize..offset as usize + bytes.len();
        let Some(to) = self.state.push_constants.0.get_mut(range.clone()) else { return };
        to.copy_from_slice(bytes);
        for point in self.state.points.iter_mut() {
            if let Some((_, context)) = &mut point.context
                && let Some(context) = unshared(context, &mut point.old_contexts)
            {
                context.push_constants[range.clone()].copy_from_slice(bytes);
            }
        }
    }
}
