//! What a shader invocation can see beside its batch: descriptor sets, push constants, draw parameters, helpers.

use super::address::AddressSpace;
use super::descriptor::BufferDescriptor;
use super::heap::Heaps;
use super::helper::HelperTable;
use super::layout::layout;
use core::sync::atomic::AtomicU32;
use std::sync::Arc;

/// `VkPhysicalDeviceLimits::maxBoundDescriptorSets`.
pub const MAX_DESCRIPTOR_SETS: usize = 32;
/// Dynamic uniform and storage buffers of a pipeline layout that lie in the context itself. Bindings that reach beyond them are read from
/// [`ShaderContext::all_dynamic_buffers`], which the context of a usual layout has nothing in.
pub const NEAR_DYNAMIC_BUFFERS: usize = 24;
/// `VkPhysicalDeviceLimits::maxPushConstantsSize`, bytes.
pub const MAX_PUSH_CONSTANTS: usize = 256;

/// Read-only to shaders; one per draw or dispatch (copied per view index), shared by all its batches.
#[repr(C, align(64))]
pub struct ShaderContext {
    /// Descriptor set memory by set number; points to at least the layout's size where the pipeline layout has a set.
    pub sets: [*const u8; MAX_DESCRIPTOR_SETS],
    /// The first dynamic buffers, resolved (offset added, range cut to the buffer's end), in pipeline layout order
    /// (by set, then binding, then array element).
    pub dynamic_buffers: [BufferDescriptor; NEAR_DYNAMIC_BUFFERS],
    /// Push constant bytes.
    pub push_constants: [u8; MAX_PUSH_CONSTANTS],
    /// `NumWorkgroups`.
    pub num_workgroups: [u32; 3],
    /// `BaseVertex` (the vertexOffset of an indexed draw, firstVertex otherwise).
    pub base_vertex: u32,
    /// `BaseInstance`.
    pub base_instance: u32,
    /// `DrawIndex`.
    pub draw_index: u32,
    /// `ViewIndex`.
    pub view_index: u32,
    /// `DeviceIndex`; always 0.
    pub device_index: u32,
    /// Never null. Non-zero once the device is lost or the shader's budget is spent: generated loops poll it at
    /// every back edge (relaxed load) and leave the function at once.
    pub abort: *const AtomicU32,
    /// Never null.
    pub helpers: *const HelperTable,
    /// Where physical pointers may point.
    pub addresses: AddressSpace,
    /// Descriptor heaps.
    pub heaps: Heaps,
    /// All dynamic buffers where there are more than [`NEAR_DYNAMIC_BUFFERS`].
    pub all_dynamic_buffers: DynamicBuffers,
}

impl ShaderContext {
    /// Puts the resolved dynamic buffers of the pipeline layout where shaders look for them.
    pub fn set_dynamic_buffers(&mut self, list: Vec<BufferDescriptor>) {
        let near = list.len().min(NEAR_DYNAMIC_BUFFERS);
        self.dynamic_buffers[..near].copy_from_slice(&list[..near]);
        self.all_dynamic_buffers = DynamicBuffers::new(list);
    }
}

/// A list that contexts share.
#[repr(C)]
#[derive(Clone)]
pub struct DynamicBuffers {
    /// The first of them; generated code knows how many there are.
    pub first: *const BufferDescriptor,
    /// What keeps them.
    list: Option<Arc<Vec<BufferDescriptor>>>,
}

impl DynamicBuffers {
    /// For contexts that have no more than lie in themselves.
    pub const NONE: DynamicBuffers = DynamicBuffers { first: core::ptr::null(), list: None };

    /// Of a list.
    pub fn new(list: Vec<BufferDescriptor>) -> DynamicBuffers {
        DynamicBuffers { first: list.as_ptr(), list: Some(Arc::new(list)) }
    }
}

// SAFETY: the pointers are to memory the submission keeps alive; shaders only read the context itself.
unsafe impl Send for ShaderContext {}
// SAFETY: as above.
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
