//! All of `ash::vk`, and structures and types of commands that it does not know yet, because they
//! are younger than its headers (1.3.281). `cargo xtask generate` writes those that its registry
//! has.

#![allow(missing_docs, reason = "the names are the specification's")]

pub use ash::vk::*;
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;

/// Type of a field: [`Bool32`] unless another type is given.
macro_rules! field {
    () => {
        Bool32
    };
    ($ty:ty) => {
        $ty
    };
}

macro_rules! structures {
    ($($name:ident = $tag:literal { $($field:ident $(: $ty:ty)?),* $(,)? })*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            pub s_type: StructureType,
            pub p_next: *mut c_void,
            $(pub $field: field!($($ty)?),)*
            pub _marker: PhantomData<&'a ()>,
        }
        // SAFETY: the structure begins with a tag, which is this one, and the pointer of the chain.
        unsafe impl TaggedStructure for $name<'_> {
            const STRUCTURE_TYPE: StructureType = StructureType::from_raw($tag);
        }
    )*};
}

// These structures are younger than the registry that the generator reads.
structures! {
    DeviceMemoryCopyKHR = 1_000_318_000 { src_range: DeviceAddressRangeKHR, src_flags: u32, dst_range: DeviceAddressRangeKHR, dst_flags: u32 }
    CopyDeviceMemoryInfoKHR = 1_000_318_001 { region_count: u32, p_regions: *const DeviceMemoryCopyKHR<'a> }
    DeviceMemoryImageCopyKHR = 1_000_318_002 {
        address_range: DeviceAddressRangeKHR,
        address_flags: u32,
        address_row_length: u32,
        address_image_height: u32,
        image_subresource: ImageSubresourceLayers,
        image_layout: ImageLayout,
        image_offset: Offset3D,
        image_extent: Extent3D
    }
    CopyDeviceMemoryImageInfoKHR = 1_000_318_003 { image: Image, region_count: u32, p_regions: *const DeviceMemoryImageCopyKHR<'a> }
    BindIndexBuffer3InfoKHR = 1_000_318_007 { address_range: DeviceAddressRangeKHR, address_flags: u32, index_type: IndexType }
    BindVertexBuffer3InfoKHR = 1_000_318_008 { set_stride, address_range: StridedDeviceAddressRangeKHR, address_flags: u32 }
    DrawIndirect2InfoKHR = 1_000_318_009 { address_range: StridedDeviceAddressRangeKHR, address_flags: u32, draw_count: u32 }
    DrawIndirectCount2InfoKHR = 1_000_318_010 {
        address_range: StridedDeviceAddressRangeKHR,
        address_flags: u32,
        count_address_range: DeviceAddressRangeKHR,
        count_address_flags: u32,
        max_draw_count: u32
    }
    DispatchIndirect2InfoKHR = 1_000_318_011 { address_range: DeviceAddressRangeKHR, address_flags: u32 }
    ConditionalRenderingBeginInfo2EXT = 1_000_318_012 {
        address_range: DeviceAddressRangeKHR, address_flags: u32, flags: ConditionalRenderingFlagsEXT
    }
    BindTransformFeedbackBuffer2InfoEXT = 1_000_318_013 { address_range: DeviceAddressRangeKHR, address_flags: u32 }
    AccelerationStructureCreateInfo2KHR = 1_000_318_015 {
        create_flags: AccelerationStructureCreateFlagsKHR,
        address_range: DeviceAddressRangeKHR,
        address_flags: u32,
        ty: AccelerationStructureTypeKHR
    }
    PhysicalDeviceOpacityMicromapPropertiesKHR = 1_000_623_001 {
        max_opacity2_state_subdivision_level: u32,
        max_opacity4_state_subdivision_level: u32,
        max_opacity_lossy4_state_subdivision_level: u32,
        max_micromap_triangles: u64
    }
    AccelerationStructureGeometryMicromapDataKHR = 1_000_623_002 {
        usage_counts_count: u32,
        p_usage_counts: *const MicromapUsageEXT,
        pp_usage_counts: *const *const MicromapUsageEXT,
        data: DeviceAddress,
        triangle_array: DeviceAddress,
        triangle_array_stride: DeviceSize
    }
    AccelerationStructureTrianglesOpacityMicromapKHR = 1_000_623_003 {
        index_type: IndexType,
        index_buffer: DeviceAddress,
        index_stride: DeviceSize,
        base_triangle: u32,
        micromap: AccelerationStructureKHR
    }
    DeviceFaultDebugInfoKHR = 1_000_573_003 { vendor_binary_size: u32, p_vendor_binary_data: *mut c_void }
    DeviceFaultInfoKHR = 1_000_573_002 {
        flags: u32,
        group_id: u64,
        description: [c_char; MAX_DESCRIPTION_SIZE],
        fault_address_info: DeviceFaultAddressInfoEXT,
        instruction_address_info: DeviceFaultAddressInfoEXT,
        vendor_info: DeviceFaultVendorInfoEXT
    }
    PhysicalDeviceFaultPropertiesKHR = 1_000_573_001 { max_device_fault_count: u32 }
    SwapchainFlagsSurfaceCapabilitiesEXT = 1_000_616_001 { swapchain_supported_flags: SwapchainCreateFlagsKHR }
    QueueFamilyOptimalImageTransferGranularityPropertiesKHR = 1_000_657_001 { optimal_image_transfer_granularity: Extent3D }
    FormatProperties4KHR = 1_000_668_000 { linear_tiling_features: u64, optimal_tiling_features: u64, buffer_features: u64 }
    ImageCreateFlags2CreateInfoKHR = 1_000_668_001 { flags: u64 }
    ImageUsageFlags2CreateInfoKHR = 1_000_668_002 { usage: u64 }
    ImageStencilUsage2CreateInfoKHR = 1_000_668_005 { stencil_usage: u64 }
}

/// Type of vkCmdSetPrimitiveRestartIndexEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdSetPrimitiveRestartIndexEXT = unsafe extern "system" fn(CommandBuffer, u32);

/// Type of structures that are micromaps.
pub const ACCELERATION_STRUCTURE_TYPE_OPACITY_MICROMAP_KHR: AccelerationStructureTypeKHR =
    AccelerationStructureTypeKHR::from_raw(1_000_623_000);
/// Type of the geometry of a micromap.
pub const GEOMETRY_TYPE_MICROMAP_KHR: GeometryTypeKHR = GeometryTypeKHR::from_raw(1_000_623_000);

/// Type of the geometry of spheres.
pub const GEOMETRY_TYPE_SPHERES_NV: GeometryTypeKHR = GeometryTypeKHR::from_raw(1_000_429_004);
/// Type of the geometry of linear swept spheres.
pub const GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV: GeometryTypeKHR = GeometryTypeKHR::from_raw(1_000_429_005);
/// `VK_RAY_TRACING_LSS_INDEXING_MODE_LIST_NV`.
pub const RAY_TRACING_LSS_INDEXING_MODE_LIST_NV: i32 = 0;
/// `VK_RAY_TRACING_LSS_INDEXING_MODE_SUCCESSIVE_NV`.
pub const RAY_TRACING_LSS_INDEXING_MODE_SUCCESSIVE_NV: i32 = 1;
/// `VK_RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_NONE_NV`.
pub const RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_NONE_NV: i32 = 0;
/// `VK_RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_CHAINED_NV`.
pub const RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_CHAINED_NV: i32 = 1;

/// A list of structures in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StridedDeviceAddressRangeKHR {
    pub address: DeviceAddress,
    pub size: DeviceSize,
    pub stride: DeviceSize,
}
/// Types of commands that take one structure; vkCmdCopyMemoryToImageKHR and
/// vkCmdCopyImageToMemoryKHR share a type.
macro_rules! of_one_structure {
    ($($pfn:ident: $info:ident;)*) => {$(
        #[doc = stringify!($info)]
        #[allow(non_camel_case_types, reason = "the names are the specification's")]
        pub type $pfn = unsafe extern "system" fn(CommandBuffer, *const $info<'_>);
    )*};
}
of_one_structure! {
    PFN_vkCmdBindIndexBuffer3KHR: BindIndexBuffer3InfoKHR;
    PFN_vkCmdDrawIndirect2KHR: DrawIndirect2InfoKHR;
    PFN_vkCmdDrawIndirectCount2KHR: DrawIndirectCount2InfoKHR;
    PFN_vkCmdDispatchIndirect2KHR: DispatchIndirect2InfoKHR;
    PFN_vkCmdCopyMemoryKHR: CopyDeviceMemoryInfoKHR;
    PFN_vkCmdCopyMemoryToImageKHR: CopyDeviceMemoryImageInfoKHR;
    PFN_vkCmdBeginConditionalRendering2EXT: ConditionalRenderingBeginInfo2EXT;
}

/// Type of vkCreateAccelerationStructure2KHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCreateAccelerationStructure2KHR = unsafe extern "system" fn(
    Device,
    *const AccelerationStructureCreateInfo2KHR<'_>,
    *const AllocationCallbacks<'_>,
    *mut AccelerationStructureKHR,
) -> Result;
/// Type of vkCmdBindVertexBuffers3KHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdBindVertexBuffers3KHR =
    unsafe extern "system" fn(CommandBuffer, u32, u32, *const BindVertexBuffer3InfoKHR<'_>);
/// Type of vkCmdUpdateMemoryKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdUpdateMemoryKHR =
    unsafe extern "system" fn(CommandBuffer, *const DeviceAddressRangeKHR, u32, DeviceSize, *const c_void);
/// Type of vkCmdFillMemoryKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdFillMemoryKHR = unsafe extern "system" fn(CommandBuffer, *const DeviceAddressRangeKHR, u32, u32);
/// Type of vkCmdCopyQueryPoolResultsToMemoryKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdCopyQueryPoolResultsToMemoryKHR = unsafe extern "system" fn(
    CommandBuffer,
    QueryPool,
    u32,
    u32,
    *const StridedDeviceAddressRangeKHR,
    u32,
    QueryResultFlags,
);
/// Type of vkCmdBindTransformFeedbackBuffers2EXT, vkCmdBeginTransformFeedback2EXT and
/// vkCmdEndTransformFeedback2EXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdBindTransformFeedbackBuffers2EXT =
    unsafe extern "system" fn(CommandBuffer, u32, u32, *const BindTransformFeedbackBuffer2InfoEXT<'_>);
/// Type of vkCmdDrawIndirectByteCount2EXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdDrawIndirectByteCount2EXT =
    unsafe extern "system" fn(CommandBuffer, u32, u32, *const BindTransformFeedbackBuffer2InfoEXT<'_>, u32, u32);

/// The flags VK_SWAPCHAIN_CREATE_PRESENT_ID_2_BIT_KHR and
/// VK_SWAPCHAIN_CREATE_PRESENT_WAIT_2_BIT_KHR.
pub const SWAPCHAIN_CREATE_PRESENT_2: SwapchainCreateFlagsKHR = SwapchainCreateFlagsKHR::from_raw(1 << 6 | 1 << 7);

/// The flag VK_DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED_BIT_KHR.
pub const DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED: DeviceQueueCreateFlags =
    DeviceQueueCreateFlags::from_raw(1 << 2);

/// The flag VK_IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR_BIT_KHR.
pub const IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR: ImageCreateFlags = ImageCreateFlags::from_raw(1 << 22);

/// Type of vkGetDeviceFaultReportsKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkGetDeviceFaultReportsKHR =
    unsafe extern "system" fn(Device, u64, *mut u32, *mut DeviceFaultInfoKHR<'_>) -> Result;
/// Type of vkGetDeviceFaultDebugInfoKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkGetDeviceFaultDebugInfoKHR =
    unsafe extern "system" fn(Device, *mut DeviceFaultDebugInfoKHR<'_>) -> Result;

/// A range of device memory; VkDeviceAddressRangeEXT has the same layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceAddressRangeKHR {
    pub address: DeviceAddress,
    pub size: DeviceSize,
}

/// Memory of the application, to read or to write.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostAddressRangeEXT {
    pub address: *mut c_void,
    pub size: usize,
}

/// Declares the types of commands.
macro_rules! pointers {
    ($($name:ident: ($($parameter:ty),*) $(-> $result:ty)?;)*) => {$(
        #[allow(non_camel_case_types, reason = "the names are the specification's")]
        pub type $name = unsafe extern "system" fn($($parameter),*) $(-> $result)?;
    )*};
}

/// Declares handles of objects that are not dispatchable.
macro_rules! handles {
    ($($name:ident)*) => {$(
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(u64);
        impl Handle for $name {
            // `ash` has no number for these objects.
            const TYPE: ObjectType = ObjectType::UNKNOWN;
            fn as_raw(self) -> u64 {
                self.0
            }
            fn from_raw(raw: u64) -> $name {
                $name(raw)
            }
        }
    )*};
}
handles! { IndirectCommandsLayoutEXT IndirectExecutionSetEXT PipelineBinaryKHR }

/// Data of a pipeline binary.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PipelineBinaryDataKHR {
    pub data_size: usize,
    pub p_data: *mut c_void,
}
/// Data of pipeline binaries, and their keys.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PipelineBinaryKeysAndDataKHR {
    pub binary_count: u32,
    pub p_pipeline_binary_keys: *const PipelineBinaryKeyKHR<'static>,
    pub p_pipeline_binary_data: *const PipelineBinaryDataKHR,
}

/// Number of bytes of the key of a pipeline or of a pipeline binary.
pub const MAX_PIPELINE_BINARY_KEY_SIZE_KHR: usize = 32;
/// The result VK_PIPELINE_BINARY_MISSING_KHR.
pub const PIPELINE_BINARY_MISSING: Result = Result::from_raw(1_000_483_000);
/// The result VK_ERROR_NOT_ENOUGH_SPACE_KHR.
pub const ERROR_NOT_ENOUGH_SPACE: Result = Result::from_raw(-1_000_483_000);

include!("generated/structures.rs");

/// Data of a token of VK_EXT_device_generated_commands that writes push constants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IndirectCommandsPushConstantTokenEXT {
    pub update_range: PushConstantRange,
}
/// Data of a token that binds a vertex buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IndirectCommandsVertexBufferTokenEXT {
    pub vertex_binding_unit: u32,
}
/// Data of a token that binds an index buffer; `mode` is a
/// `VkIndirectCommandsInputModeFlagBitsEXT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IndirectCommandsIndexBufferTokenEXT {
    pub mode: u32,
}
/// Data of a token that binds programs; `ty` is a `VkIndirectExecutionSetInfoTypeEXT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IndirectCommandsExecutionSetTokenEXT {
    pub ty: i32,
    pub shader_stages: ShaderStageFlags,
}

/// Structures without a tag, which hold the data of mappings.
macro_rules! mapping_sources {
    ($($name:ident { $($field:ident $(: $ty:ty)?),* $(,)? })*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            $(pub $field: mapping_field!($($ty)?),)*
            pub _marker: PhantomData<&'a ()>,
        }
    )*};
}
macro_rules! mapping_field {
    () => {
        u32
    };
    ($ty:ty) => {
        $ty
    };
}

mapping_sources! {
    DescriptorMappingSourceConstantOffsetEXT {
        heap_offset, heap_array_stride, p_embedded_sampler: *const SamplerCreateInfo<'a>, sampler_heap_offset, sampler_heap_array_stride
    }
    DescriptorMappingSourcePushIndexEXT {
        heap_offset, push_offset, heap_index_stride, heap_array_stride, p_embedded_sampler: *const SamplerCreateInfo<'a>,
        use_combined_image_sampler_index, sampler_heap_offset, sampler_push_offset, sampler_heap_index_stride, sampler_heap_array_stride
    }
    DescriptorMappingSourceIndirectIndexEXT {
        heap_offset, push_offset, address_offset, heap_index_stride, heap_array_stride, p_embedded_sampler: *const SamplerCreateInfo<'a>,
        use_combined_image_sampler_index, sampler_heap_offset, sampler_push_offset, sampler_address_offset, sampler_heap_index_stride,
        sampler_heap_array_stride
    }
    DescriptorMappingSourceIndirectIndexArrayEXT {
        heap_offset, push_offset, address_offset, heap_index_stride, p_embedded_sampler: *const SamplerCreateInfo<'a>,
        use_combined_image_sampler_index, sampler_heap_offset, sampler_push_offset, sampler_address_offset, sampler_heap_index_stride
    }
}
