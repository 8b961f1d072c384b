//! The data that a shader invocation can access besides its batch: descriptor sets, push constants,
//! draw parameters, helpers.

use super::address::AddressSpace;
use super::descriptor::BufferDescriptor;
use super::heap::Heaps;
use super::helper::HelperTable;
use super::layout::layout;
use crate::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use core::sync::atomic::AtomicU32;
use std::sync::Arc;

/// Number of dynamic uniform and storage buffers of a pipeline layout that are stored in the
/// context itself. Bindings that reach beyond them are read from
/// [`ShaderContext::all_dynamic_buffers`], which is empty in the context of a usual layout.
pub const INLINE_DYNAMIC_BUFFERS: usize = 24;

/// The context of shaders, which they only read. There is one per draw or dispatch (copied per view
/// index), shared by all its batches.
#[repr(C, align(64))]
pub struct ShaderContext {
    /// Descriptor set memory by set number; if the pipeline layout has a set, the pointer is to at
    /// least the layout's size.
    pub sets: [*const u8; MAX_DESCRIPTOR_SETS],
    /// The first dynamic buffers, resolved (offset added, range cut to the buffer's end), in
    /// pipeline layout order (by set, then binding, then array element).
    pub dynamic_buffers: [BufferDescriptor; INLINE_DYNAMIC_BUFFERS],
    /// Bytes of the push constants.
    pub push_constants: [u8; MAX_PUSH_CONSTANTS],
    /// Value of `NumWorkgroups`.
    pub num_workgroups: [u32; 3],
    /// Value of `BaseVertex` (the vertexOffset of an indexed draw, firstVertex otherwise).
    pub base_vertex: u32,
    /// Value of `BaseInstance`.
    pub base_instance: u32,
    /// Value of `DrawIndex`.
    pub draw_index: u32,
    /// Value of `ViewIndex`.
    pub view_index: u32,
    /// Value of `DeviceIndex`, which is always 0.
    pub device_index: u32,
    /// The abort flag; never null. It is non-zero once the device is lost or the shader's budget is
    /// spent: generated loops poll it at every back edge (relaxed load) and leave the function at
    /// once.
    pub abort: *const AtomicU32,
    /// The helper functions; never null.
    pub helpers: *const HelperTable,
    /// The ranges to which physical pointers may point.
    pub addresses: AddressSpace,
    /// The descriptor heaps.
    pub heaps: Heaps,
    /// All dynamic buffers, if there are more than [`INLINE_DYNAMIC_BUFFERS`].
    pub all_dynamic_buffers: DynamicBuffers,
}

impl ShaderContext {
    /// Stores the resolved dynamic buffers of the pipeline layout where shaders read them.
    pub fn set_dynamic_buffers(&mut self, list: Vec<BufferDescriptor>) {
        let near = list.len().min(INLINE_DYNAMIC_BUFFERS);
        self.dynamic_buffers[..near].copy_from_slice(&list[..near]);
        self.all_dynamic_buffers = DynamicBuffers::new(list);
    }
}

/// A list of dynamic buffers that contexts share.
#[repr(C)]
#[derive(Clone)]
pub struct DynamicBuffers {
    /// The first buffer; generated code knows how many there are.
    pub first: *const BufferDescriptor,
    /// Owner of the list, which keeps it alive.
    list: Option<Arc<Vec<BufferDescriptor>>>,
}

impl DynamicBuffers {
    /// The list of contexts whose dynamic buffers are all stored in the context.
    pub const NONE: DynamicBuffers = DynamicBuffers { first: core::ptr::null(), list: None };

    /// Makes a shared list.
    pub fn new(list: Vec<BufferDescriptor>) -> DynamicBuffers {
        DynamicBuffers { first: list.as_ptr(), list: Some(Arc::new(list)) }
    }
}

// SAFETY: the pointers are to memory that the submission keeps alive, and shaders only read the
// context itself.
unsafe impl Send for ShaderContext {}
// SAFETY: shaders only read the context, and the submission keeps the memory alive to which it
// points.
unsafe impl Sync for ShaderContext {}

layout!(ShaderContext {
    sets,
    dynamic_buffers,
    push_constants,
    num_workgroups,
    base_vertex,
    base_instance,
    draw_index,
    view_index,
    device_index,
    abort,
    helpers,
    addresses,
    heaps,
    all_dynamic_buffers,
});
layout!(DynamicBuffers { first, list });
