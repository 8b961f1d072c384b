//! Structures and constants of VK_EXT_descriptor_heap, which `ash` lacks.

use ash::vk;
use std::ffi::c_void;

/// `VkPhysicalDeviceDescriptorHeapFeaturesEXT`.
#[repr(C)]
pub struct HeapFeatures {
    s_type: i32,
    p_next: *mut c_void,
    features: [vk::Bool32; 2],
}
// SAFETY: it has the tag and the layout of the feature's structure.
unsafe impl vk::ExtendsDeviceCreateInfo for HeapFeatures {}

impl HeapFeatures {
    /// Enables descriptor heaps, without capture and replay.
    pub fn enabled() -> HeapFeatures {
        HeapFeatures { s_type: 1_000_135_009, p_next: std::ptr::null_mut(), features: [1, 0] }
    }
}

/// VK_PIPELINE_CREATE_2_DESCRIPTOR_HEAP_BIT_EXT.
pub const DESCRIPTOR_HEAP: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::from_raw(1 << 36);
/// VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT.
pub const HEAP_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(1 << 28);
