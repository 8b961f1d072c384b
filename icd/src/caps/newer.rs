//! All of `ash::vk`, and structures that it does not know yet: those of extensions younger than its
//! headers (1.3.281), from vk.xml.

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

structures! {
    PhysicalDeviceVulkan14Features = 55 {
        global_priority_query, shader_subgroup_rotate, shader_subgroup_rotate_clustered, shader_float_controls2, shader_expect_assume, rectangular_lines,
        bresenham_lines, smooth_lines, stippled_rectangular_lines, stippled_bresenham_lines, stippled_smooth_lines,
        vertex_attribute_instance_rate_divisor, vertex_attribute_instance_rate_zero_divisor, index_type_uint8, dynamic_rendering_local_read, maintenance5,
        maintenance6, pipeline_protected_access, pipeline_robustness, host_image_copy, push_descriptor
    }
    PhysicalDeviceVulkan14Properties = 56 {
        line_sub_pixel_precision_bits: u32,
        max_vertex_attrib_divisor: u32,
        supports_non_zero_first_instance,
        max_push_descriptors: u32,
        dynamic_rendering_local_read_depth_stencil_attachments,
        dynamic_rendering_local_read_multisampled_attachments,
        early_fragment_multisample_coverage_after_sample_counting,
        early_fragment_sample_mask_test_before_sample_counting,
        depth_stencil_swizzle_one_support,
        polygon_mode_point_size,
        non_strict_single_pixel_wide_lines_use_parallelogram,
        non_strict_wide_lines_use_parallelogram,
        block_texel_view_compatible_multiple_layers,
        max_combined_image_sampler_descriptor_count: u32,
        fragment_shading_rate_clamp_combiner_inputs,
        default_robustness_storage_buffers: PipelineRobustnessBufferBehaviorEXT,
        default_robustness_uniform_buffers: PipelineRobustnessBufferBehaviorEXT,
        default_robustness_vertex_inputs: PipelineRobustnessBufferBehaviorEXT,
        default_robustness_images: PipelineRobustnessImageBehaviorEXT,
        copy_src_layout_count: u32,
        p_copy_src_layouts: *mut ImageLayout,
        copy_dst_layout_count: u32,
        p_copy_dst_layouts: *mut ImageLayout,
        optimal_tiling_layout_uuid: [u8; UUID_SIZE],
        identical_memory_type_requirements
    }
    PhysicalDeviceComputeShaderDerivativesFeaturesKHR = 1_000_201_000 { compute_derivative_group_quads, compute_derivative_group_linear }
    PhysicalDeviceComputeShaderDerivativesPropertiesKHR = 1_000_511_000 { mesh_and_task_shader_derivatives }
    PhysicalDeviceCooperativeMatrix2FeaturesNV = 1_000_593_000 {
        cooperative_matrix_workgroup_scope, cooperative_matrix_flexible_dimensions, cooperative_matrix_reductions, cooperative_matrix_conversions,
        cooperative_matrix_per_element_operations, cooperative_matrix_tensor_addressing, cooperative_matrix_block_loads
    }
    PhysicalDeviceCooperativeMatrix2PropertiesNV = 1_000_593_002 {
        cooperative_matrix_workgroup_scope_max_workgroup_size: u32,
        cooperative_matrix_flexible_dimensions_max_dimension: u32,
        cooperative_matrix_workgroup_scope_reserved_shared_memory: u32
    }
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
    PhysicalDeviceDeviceAddressCommandsFeaturesKHR = 1_000_318_006 { device_address_commands }
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
    CopyMemoryIndirectInfoKHR = 1_000_549_002 { src_copy_flags: u32, dst_copy_flags: u32, copy_count: u32, copy_address_range: StridedDeviceAddressRangeKHR }
    CopyMemoryToImageIndirectInfoKHR = 1_000_549_003 {
        src_copy_flags: u32,
        copy_count: u32,
        copy_address_range: StridedDeviceAddressRangeKHR,
        dst_image: Image,
        dst_image_layout: ImageLayout,
        p_image_subresources: *const ImageSubresourceLayers
    }
    PhysicalDeviceCopyMemoryIndirectFeaturesKHR = 1_000_549_000 { indirect_memory_copy, indirect_memory_to_image_copy }
    PhysicalDeviceCopyMemoryIndirectPropertiesKHR = 1_000_426_001 { supported_queues: QueueFlags }
    TexelBufferDescriptorInfoEXT = 1_000_135_000 { format: Format, address_range: DeviceAddressRangeKHR }
    ImageDescriptorInfoEXT = 1_000_135_001 { p_view: *const ImageViewCreateInfo<'a>, layout: ImageLayout }
    ResourceDescriptorInfoEXT = 1_000_135_002 { ty: DescriptorType, data: *const c_void }
    BindHeapInfoEXT = 1_000_135_003 { heap_range: DeviceAddressRangeKHR, reserved_range_offset: DeviceSize, reserved_range_size: DeviceSize }
    PushDataInfoEXT = 1_000_135_004 { offset: u32, data: HostAddressRangeEXT }
    DescriptorSetAndBindingMappingEXT = 1_000_135_005 {
        descriptor_set: u32,
        first_binding: u32,
        binding_count: u32,
        resource_mask: u32,
        source: i32,
        source_data: [u64; 7]
    }
    ShaderDescriptorSetAndBindingMappingInfoEXT = 1_000_135_006 { mapping_count: u32, p_mappings: *const DescriptorSetAndBindingMappingEXT<'a> }
    PhysicalDeviceDescriptorHeapPropertiesEXT = 1_000_135_008 {
        sampler_heap_alignment: DeviceSize,
        resource_heap_alignment: DeviceSize,
        max_sampler_heap_size: DeviceSize,
        max_resource_heap_size: DeviceSize,
        min_sampler_heap_reserved_range: DeviceSize,
        min_sampler_heap_reserved_range_with_embedded: DeviceSize,
        min_resource_heap_reserved_range: DeviceSize,
        sampler_descriptor_size: DeviceSize,
        image_descriptor_size: DeviceSize,
        buffer_descriptor_size: DeviceSize,
        sampler_descriptor_alignment: DeviceSize,
        image_descriptor_alignment: DeviceSize,
        buffer_descriptor_alignment: DeviceSize,
        max_push_data_size: DeviceSize,
        image_capture_replay_opaque_data_size: usize,
        max_descriptor_heap_embedded_samplers: u32,
        sampler_ycbcr_conversion_count: u32,
        sparse_descriptor_heaps,
        protected_descriptor_heaps
    }
    PhysicalDeviceDescriptorHeapFeaturesEXT = 1_000_135_009 { descriptor_heap, descriptor_heap_capture_replay }
    CommandBufferInheritanceDescriptorHeapInfoEXT = 1_000_135_010 {
        p_sampler_heap_bind_info: *const BindHeapInfoEXT<'a>,
        p_resource_heap_bind_info: *const BindHeapInfoEXT<'a>
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
    PhysicalDeviceFaultFeaturesKHR = 1_000_573_000 {
        device_fault, device_fault_vendor_binary, device_fault_report_masked, device_fault_device_lost_on_masked
    }
    PhysicalDeviceFaultPropertiesKHR = 1_000_573_001 { max_device_fault_count: u32 }
    PhysicalDeviceLegacyVertexAttributesFeaturesEXT = 1_000_495_000 { legacy_vertex_attributes }
    PhysicalDeviceLegacyVertexAttributesPropertiesEXT = 1_000_495_001 { native_unaligned_performance }
    PhysicalDeviceMaintenance7FeaturesKHR = 1_000_562_000 { maintenance7 }
    PhysicalDeviceMaintenance7PropertiesKHR = 1_000_562_001 {
        robust_fragment_shading_rate_attachment_access,
        separate_depth_stencil_attachment_access,
        max_descriptor_set_total_uniform_buffers_dynamic: u32,
        max_descriptor_set_total_storage_buffers_dynamic: u32,
        max_descriptor_set_total_buffers_dynamic: u32,
        max_descriptor_set_update_after_bind_total_uniform_buffers_dynamic: u32,
        max_descriptor_set_update_after_bind_total_storage_buffers_dynamic: u32,
        max_descriptor_set_update_after_bind_total_buffers_dynamic: u32
    }
    PhysicalDeviceLayeredApiPropertiesListKHR = 1_000_562_002 { layered_api_count: u32, layered_apis: *mut c_void }
    PhysicalDeviceMaintenance9FeaturesKHR = 1_000_584_000 { maintenance9 }
    PhysicalDeviceMaintenance9PropertiesKHR = 1_000_584_001 { image2_d_view_of3_d_sparse, default_vertex_attribute_value: u32 }
    PhysicalDeviceMaintenance10FeaturesKHR = 1_000_630_000 { maintenance10 }
    PhysicalDeviceMultisampledRenderToSwapchainFeaturesEXT = 1_000_616_000 { multisampled_render_to_swapchain }
    SwapchainFlagsSurfaceCapabilitiesEXT = 1_000_616_001 { swapchain_supported_flags: SwapchainCreateFlagsKHR }
    PhysicalDeviceMaintenance10PropertiesKHR = 1_000_630_001 {
        rgba4_opaque_black_swizzled,
        resolve_srgb_format_applies_transfer_function,
        resolve_srgb_format_supports_transfer_function_control
    }
    ResolveImageModeInfoKHR = 1_000_630_004 { flags: u32, resolve_mode: ResolveModeFlags, stencil_resolve_mode: ResolveModeFlags }
    PhysicalDeviceMaintenance11FeaturesKHR = 1_000_657_000 { maintenance11 }
    QueueFamilyOptimalImageTransferGranularityPropertiesKHR = 1_000_657_001 { optimal_image_transfer_granularity: Extent3D }
    PhysicalDeviceMaintenance8FeaturesKHR = 1_000_574_000 { maintenance8 }
    SurfaceCapabilitiesPresentId2KHR = 1_000_479_000 { present_id2_supported }
    PresentId2KHR = 1_000_479_001 { swapchain_count: u32, p_present_ids: *const u64 }
    PhysicalDevicePresentId2FeaturesKHR = 1_000_479_002 { present_id2 }
    SurfaceCapabilitiesPresentWait2KHR = 1_000_480_000 { present_wait2_supported }
    PhysicalDevicePresentWait2FeaturesKHR = 1_000_480_001 { present_wait2 }
    PresentWait2InfoKHR = 1_000_480_002 { present_id: u64, timeout: u64 }
    PhysicalDevicePrimitiveRestartIndexFeaturesEXT = 1_000_678_000 { primitive_restart_index }
    PhysicalDeviceShaderAtomicFloat16VectorFeaturesNV = 1_000_563_000 { shader_float16_vector_atomics }
    PhysicalDeviceShaderBfloat16FeaturesKHR = 1_000_141_000 { shader_b_float16_type, shader_b_float16_dot_product, shader_b_float16_cooperative_matrix }
    PhysicalDeviceShaderFloat8FeaturesEXT = 1_000_567_000 { shader_float8, shader_float8_cooperative_matrix }
    PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE = 1_000_673_000 {
        shader_mixed_float_dot_product_float16_acc_float32,
        shader_mixed_float_dot_product_float16_acc_float16,
        shader_mixed_float_dot_product_b_float16_acc,
        shader_mixed_float_dot_product_float8_acc_float32
    }
    PhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR = 1_000_558_000 { shader_relaxed_extended_instruction }
    PhysicalDeviceShaderReplicatedCompositesFeaturesEXT = 1_000_564_000 { shader_replicated_composites }
    PhysicalDeviceShaderSubgroupPartitionedFeaturesEXT = 1_000_662_000 { shader_subgroup_partitioned }
    PhysicalDeviceShaderUntypedPointersFeaturesKHR = 1_000_387_000 { shader_untyped_pointers }
    PhysicalDeviceUnifiedImageLayoutsFeaturesKHR = 1_000_527_000 { unified_image_layouts, unified_image_layouts_video }
    PhysicalDeviceVertexAttributeRobustnessFeaturesEXT = 1_000_608_000 { vertex_attribute_robustness }
    PhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT = 1_000_620_000 { zero_initialize_device_memory }
    QueueFamilyOwnershipTransferPropertiesKHR = 1_000_584_002 { optimal_image_transfer_to_queue_families: u32 }
}

/// Type of vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV; the driver has no
/// such properties.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV =
    unsafe extern "system" fn(PhysicalDevice, *mut u32, *mut c_void) -> Result;

/// Type of vkCmdSetPrimitiveRestartIndexEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdSetPrimitiveRestartIndexEXT = unsafe extern "system" fn(CommandBuffer, u32);

/// Type of vkCmdEndRendering2KHR; its structure contains only a chain.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdEndRendering2KHR = unsafe extern "system" fn(CommandBuffer, *const c_void);

/// A list of structures in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StridedDeviceAddressRangeKHR {
    pub address: DeviceAddress,
    pub size: DeviceSize,
    pub stride: DeviceSize,
}

/// Type of vkCmdCopyMemoryIndirectKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdCopyMemoryIndirectKHR =
    unsafe extern "system" fn(CommandBuffer, *const CopyMemoryIndirectInfoKHR<'_>);
/// Type of vkCmdCopyMemoryToImageIndirectKHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdCopyMemoryToImageIndirectKHR =
    unsafe extern "system" fn(CommandBuffer, *const CopyMemoryToImageIndirectInfoKHR<'_>);

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

/// Type of vkWaitForPresent2KHR.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkWaitForPresent2KHR =
    unsafe extern "system" fn(Device, SwapchainKHR, *const PresentWait2InfoKHR<'_>) -> Result;

/// The flags VK_SWAPCHAIN_CREATE_PRESENT_ID_2_BIT_KHR and
/// VK_SWAPCHAIN_CREATE_PRESENT_WAIT_2_BIT_KHR.
pub const SWAPCHAIN_CREATE_PRESENT_2: SwapchainCreateFlagsKHR = SwapchainCreateFlagsKHR::from_raw(1 << 6 | 1 << 7);

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

/// Type of vkWriteSamplerDescriptorsEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkWriteSamplerDescriptorsEXT =
    unsafe extern "system" fn(Device, u32, *const SamplerCreateInfo<'_>, *const HostAddressRangeEXT) -> Result;
/// Type of vkWriteResourceDescriptorsEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkWriteResourceDescriptorsEXT =
    unsafe extern "system" fn(Device, u32, *const ResourceDescriptorInfoEXT<'_>, *const HostAddressRangeEXT) -> Result;
/// Type of vkCmdBindSamplerHeapEXT and vkCmdBindResourceHeapEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdBindHeapEXT = unsafe extern "system" fn(CommandBuffer, *const BindHeapInfoEXT<'_>);
/// Type of vkCmdPushDataEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkCmdPushDataEXT = unsafe extern "system" fn(CommandBuffer, *const PushDataInfoEXT<'_>);
/// Type of vkGetPhysicalDeviceDescriptorSizeEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkGetPhysicalDeviceDescriptorSizeEXT =
    unsafe extern "system" fn(PhysicalDevice, DescriptorType) -> DeviceSize;
/// Type of vkRegisterCustomBorderColorEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkRegisterCustomBorderColorEXT =
    unsafe extern "system" fn(Device, *const SamplerCustomBorderColorCreateInfoEXT<'_>, Bool32, *mut u32) -> Result;
/// Type of vkUnregisterCustomBorderColorEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkUnregisterCustomBorderColorEXT = unsafe extern "system" fn(Device, u32);
/// Type of vkGetImageOpaqueCaptureDataEXT.
#[allow(non_camel_case_types, reason = "the names are the specification's")]
pub type PFN_vkGetImageOpaqueCaptureDataEXT =
    unsafe extern "system" fn(Device, u32, *const Image, *mut HostAddressRangeEXT) -> Result;
