//! State that a command buffer takes over from those executed before it.
//!
//! With VK_NV_command_buffer_inheritance that is all state: a secondary command buffer begins with
//! the state of its caller and leaves its own behind, and the queue keeps the state from one
//! primary command buffer to the next. Otherwise viewports, scissors and descriptor heaps pass
//! through secondary command buffers. VK_NV_inherited_viewport_scissor and VK_EXT_descriptor_heap
//! define this for command buffers that request it; for all others this state is undefined.

#![forbid(unsafe_code)]

use super::bind::BindPointState;
use super::device_range::{existing_range, first_part};
use super::recycler::Recycler;
use super::{CommandState, Executor};
use crate::caps::extensions::Extension;
use crate::command::{BufferOrAddress, DeviceLocation};
use crate::object::memory::Heap;
use crate::object::pipeline_state::Values;
use base::mem::MemoryRange;
use base::partial_range::PartialRange;
use rasterizer::api::IndexBuffer;
use smallvec::SmallVec;

/// A buffer as a command has bound it.
#[derive(Clone)]
struct BufferBinding {
    location: DeviceLocation,
    size: u64,
}

impl BufferBinding {
    /// Returns the memory that exists now, up to its first gap.
    fn range(&self, heap: &Heap) -> MemoryRange {
        let (base, offset) = &self.location;
        existing_range(heap, base, *offset, self.size)
    }

    /// Returns the memory of a vertex buffer that exists now.
    fn vertex_range(&self, heap: &Heap) -> PartialRange {
        match self.location {
            (BufferOrAddress::Buffer(_), _) => self.range(heap).into(),
            (BufferOrAddress::Addresses, address) => PartialRange::new(address, &heap.live_parts(address, self.size)),
        }
    }

    /// Returns the memory of an index buffer that exists now, and its offset in the buffer.
    fn index_range(&self, heap: &Heap) -> (MemoryRange, u64) {
        match self.location {
            (BufferOrAddress::Buffer(_), _) => (self.range(heap), 0),
            (BufferOrAddress::Addresses, address) => first_part(address, &heap.live_parts(address, self.size)),
        }
    }
}

/// Bound buffers, of which the next command buffer looks up the memory again, because the
/// application may have released it. They are only recorded if command buffers inherit all state.
#[derive(Default)]
pub(super) struct BufferBindings {
    vertex: SmallVec<[Option<BufferBinding>; 4]>,
    index: Option<BufferBinding>,
    feedback: SmallVec<[Option<BufferBinding>; 4]>,
}

/// List of [`BufferBindings`] to which a binding belongs.
#[derive(Clone, Copy)]
pub(super) enum BindingKind {
    Vertex(usize),
    Index,
    Feedback(usize),
}

impl Executor<'_> {
    fn inherits_all(&self) -> bool {
        self.device.extensions.has(Extension::VK_NV_command_buffer_inheritance)
    }

    /// Records a buffer that a command has bound.
    pub(super) fn record_binding(&mut self, kind: BindingKind, location: &DeviceLocation, size: u64) {
        if !self.inherits_all() {
            return;
        }
        let binding = Some(BufferBinding { location: location.clone(), size });
        let bindings = &mut self.state.bindings;
        let (list, number) = match kind {
            BindingKind::Index => return bindings.index = binding,
            BindingKind::Vertex(number) => (&mut bindings.vertex, number),
            BindingKind::Feedback(number) => (&mut bindings.feedback, number),
        };
        if list.len() <= number {
            list.resize(number + 1, None);
        }
        list[number] = binding;
    }

    /// Passes state to a secondary command buffer, and from the last one to the caller.
    pub(super) fn pass_state(&mut self) {
        if self.inherits_all() {
            return;
        }
        let mut old = std::mem::take(&mut self.state);
        let Values { viewports, scissors, .. } = old.values;
        self.state.values = Values { viewports, scissors, ..Values::default() };
        self.state.points.iter_mut().zip(old.points.iter_mut()).for_each(|(to, from)| to.take_heaps(from));
    }

    /// Begins a primary command buffer with the state that the queue keeps.
    pub(super) fn take_state(&mut self) {
        if !self.inherits_all() {
            return;
        }
        let kept = self.queue.inherited.lock().take();
        let Some(Ok(state)) = kept.map(|kept| kept.downcast::<CommandState>()) else { return };
        self.state = *state;
        let CommandState { points, bindings, vertex_buffers, index_buffer, feedback, .. } = &mut self.state;
        points.iter_mut().for_each(|point| point.resume(self.device));
        let heap = &self.device.heap;
        // What has no recorded binding is not inherited, because its memory may be gone.
        for (number, range) in vertex_buffers.iter_mut().enumerate() {
            let binding = bindings.vertex.get(number).and_then(Option::as_ref);
            *range = binding.map_or(PartialRange::NULL, |binding| binding.vertex_range(heap));
        }
        *index_buffer = index_buffer.zip(bindings.index.as_ref()).map(|(of, binding)| {
            let (range, before) = binding.index_range(heap);
            IndexBuffer { range, before, ..of }
        });
        for (number, range) in feedback.buffers_mut().iter_mut().enumerate() {
            let binding = bindings.feedback.get(number).and_then(Option::as_ref);
            *range = binding.map_or(MemoryRange::NULL, |binding| binding.range(heap));
        }
    }

    /// Gives the queue the state of a primary command buffer that has ended.
    pub(super) fn leave_state(mut self) {
        if !self.inherits_all() {
            return;
        }
        self.state.points.iter_mut().for_each(BindPointState::suspend);
        self.state.feedback.active = None;
        self.state.old_draw_states = Recycler::default();
        *self.queue.inherited.lock() = Some(Box::new(self.state));
    }
}
