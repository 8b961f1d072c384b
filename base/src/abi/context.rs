//! The data that a shader invocation can access besides its batch: descriptor sets, push constants,
//! draw parameters, helpers.

use super::address::AddressSpace;
use super::descriptor::BufferDescriptor;
use super::heap::Heaps;
use super::helper::HelperTable;
use super::layout::layout;
use crate::limits::{MAX_DESCRIPTOR_SETS, MAX_PUSH_CONSTANTS};
use core::ffi::c_void;
use core::sync::atomic::AtomicU32;
use std::sync::Arc;

/// The context of shaders, which they only read. There is one per draw or dispatch (copied per view
/// index), shared by all its batches.
#[repr(C, align(64))]
pub struct ShaderContext {
    /// Descriptor set memory by set number; if the pipeline layout has a set, the pointer is to at
    /// least the layout's size.
    pub sets: [*const u8; MAX_DESCRIPTOR_SETS],
    /// The dynamic buffers of the sets.
    pub dynamic_buffers: DynamicBuffers,
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
    /// The device's table of live acceleration structures, which only helpers read; null if there
    /// is none.
    pub structures: *const c_void,
}

/// The resolved dynamic buffers (offset added, range cut to the buffer's end) of all sets. Copies
/// of a context share the list.
#[repr(C)]
#[derive(Clone)]
pub struct DynamicBuffers {
    /// The first dynamic buffer of each set, by set number; the others follow, by binding, then by
    /// array element. Generated code knows how many there are, and does not read the pointer of a
    /// set without dynamic buffers.
    pub sets: [*const BufferDescriptor; MAX_DESCRIPTOR_SETS],
    /// Owner of the list, which keeps it alive.
    list: Option<Arc<Vec<BufferDescriptor>>>,
}

impl DynamicBuffers {
    /// The dynamic buffers of a layout without any.
    pub const NONE: DynamicBuffers = DynamicBuffers { sets: [core::ptr::null(); MAX_DESCRIPTOR_SETS], list: None };

    /// Makes a shared list. `first` has the index of each set's first buffer, by set number.
    pub fn new(list: Vec<BufferDescriptor>, first: &[u32]) -> DynamicBuffers {
        let mut sets = Self::NONE.sets;
        for (set, &index) in sets.iter_mut().zip(first) {
            *set = list[(index as usize).min(list.len())..].as_ptr();
        }
        DynamicBuffers { sets, list: Some(Arc::new(list)) }
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
    structures,
});
layout!(DynamicBuffers { sets, list });
