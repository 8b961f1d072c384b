//! Checks the extensions, features and limits that programs require before they use a driver, by
//! name. The lists of the roadmap, zink, dxvk and vkd3d-proton are the profiles that those projects
//! publish (`VP_*.json`), including their optional parts. The lists of other programs are what they
//! request at their start. Missing items are rows of [`EXCEPTIONS`] with the reason, so that a row
//! is removed as soon as the item exists.

use crate::common::Context;
use ash::vk;
use std::collections::BTreeSet;
use vulkan_grus::caps::features::ALL_FEATURES;

/// A program and its list: words that begin with `VK_` are extensions, all other words are
/// features.
struct Profile {
    name: &'static str,
    wants: &'static str,
}

const PROFILES: &[Profile] = &[
    Profile {
        name: "VP_KHR_roadmap_2022",
        wants: "VK_KHR_global_priority globalPriorityQuery
            robustBufferAccess multiview uniformBufferStandardLayout subgroupBroadcastDynamicId imagelessFramebuffer separateDepthStencilLayouts
            hostQueryReset timelineSemaphore shaderSubgroupExtendedTypes vulkanMemoryModel vulkanMemoryModelDeviceScope bufferDeviceAddress
            robustImageAccess shaderTerminateInvocation shaderZeroInitializeWorkgroupMemory synchronization2 shaderIntegerDotProduct maintenance4
            pipelineCreationCacheControl subgroupSizeControl computeFullSubgroups shaderDemoteToHelperInvocation inlineUniformBlock dynamicRendering
            privateData fullDrawIndexUint32 imageCubeArray independentBlend sampleRateShading drawIndirectFirstInstance depthClamp depthBiasClamp
            samplerAnisotropy occlusionQueryPrecise fragmentStoresAndAtomics shaderStorageImageExtendedFormats
            shaderUniformBufferArrayDynamicIndexing shaderSampledImageArrayDynamicIndexing shaderStorageBufferArrayDynamicIndexing
            shaderStorageImageArrayDynamicIndexing samplerYcbcrConversion samplerMirrorClampToEdge descriptorIndexing
            shaderUniformTexelBufferArrayDynamicIndexing shaderStorageTexelBufferArrayDynamicIndexing shaderUniformBufferArrayNonUniformIndexing
            shaderSampledImageArrayNonUniformIndexing shaderStorageBufferArrayNonUniformIndexing shaderStorageImageArrayNonUniformIndexing
            shaderUniformTexelBufferArrayNonUniformIndexing shaderStorageTexelBufferArrayNonUniformIndexing
            descriptorBindingSampledImageUpdateAfterBind descriptorBindingStorageImageUpdateAfterBind descriptorBindingStorageBufferUpdateAfterBind
            descriptorBindingUniformTexelBufferUpdateAfterBind descriptorBindingStorageTexelBufferUpdateAfterBind
            descriptorBindingUpdateUnusedWhilePending descriptorBindingPartiallyBound descriptorBindingVariableDescriptorCount runtimeDescriptorArray
            scalarBlockLayout descriptorBindingInlineUniformBlockUpdateAfterBind largePoints wideLines",
    },
    Profile {
        name: "VP_KHR_roadmap_2024",
        wants: "multiDrawIndirect shaderImageGatherExtended shaderInt16 shaderDrawParameters storageBuffer16BitAccess shaderInt8 shaderFloat16
            storageBuffer8BitAccess VK_KHR_dynamic_rendering_local_read dynamicRenderingLocalRead VK_KHR_load_store_op_none
            VK_KHR_shader_quad_control shaderQuadControl VK_KHR_shader_maximal_reconvergence shaderMaximalReconvergence
            VK_KHR_shader_subgroup_uniform_control_flow shaderSubgroupUniformControlFlow VK_KHR_shader_subgroup_rotate shaderSubgroupRotate
            shaderSubgroupRotateClustered VK_KHR_shader_float_controls2 shaderFloatControls2 VK_KHR_shader_expect_assume shaderExpectAssume
            VK_KHR_line_rasterization bresenhamLines VK_KHR_vertex_attribute_divisor vertexAttributeInstanceRateDivisor VK_KHR_index_type_uint8
            indexTypeUint8 VK_KHR_map_memory2 VK_KHR_maintenance5 maintenance5 VK_KHR_push_descriptor",
    },
    Profile {
        name: "zink, OpenGL 4.6",
        wants: "VK_KHR_maintenance1 VK_KHR_create_renderpass2 VK_KHR_imageless_framebuffer VK_KHR_timeline_semaphore VK_EXT_custom_border_color
            customBorderColors customBorderColorWithoutFormat VK_EXT_provoking_vertex provokingVertexLast VK_EXT_line_rasterization rectangularLines bresenhamLines
            VK_KHR_swapchain_mutable_format VK_EXT_border_color_swizzle borderColorSwizzle VK_KHR_descriptor_update_template logicOp fillModeNonSolid
            alphaToOne shaderClipDistance scalarBlockLayout VK_KHR_external_memory VK_EXT_transform_feedback transformFeedback geometryStreams
            VK_EXT_conditional_rendering conditionalRendering independentBlend VK_EXT_depth_clip_enable depthClipEnable depthClamp geometryShader
            shaderTessellationAndGeometryPointSize VK_EXT_vertex_attribute_divisor vertexAttributeInstanceRateDivisor dualSrcBlend
            VK_KHR_maintenance2 sampleRateShading tessellationShader imageCubeArray multiViewport VK_EXT_image_2d_view_of_3d image2DViewOf3D
            sampler2DViewOf3D shaderStorageImageExtendedFormats shaderStorageImageWriteWithoutFormat vertexPipelineStoresAndAtomics
            fragmentStoresAndAtomics shaderDrawParameters robustBufferAccess multiDrawIndirect VK_KHR_sampler_mirror_clamp_to_edge
            shaderCullDistance VK_KHR_draw_indirect_count samplerAnisotropy depthBiasClamp VK_EXT_extended_dynamic_state
            VK_EXT_extended_dynamic_state2 extendedDynamicState2LogicOp extendedDynamicState2PatchControlPoints VK_EXT_extended_dynamic_state3
            extendedDynamicState3PolygonMode extendedDynamicState3DepthClampEnable extendedDynamicState3DepthClipEnable
            extendedDynamicState3ProvokingVertexMode extendedDynamicState3LineRasterizationMode extendedDynamicState3AlphaToOneEnable
            extendedDynamicState3SampleMask extendedDynamicState3AlphaToCoverageEnable extendedDynamicState3ColorBlendEnable
            extendedDynamicState3RasterizationSamples extendedDynamicState3ColorWriteMask extendedDynamicState3LogicOpEnable
            VK_EXT_graphics_pipeline_library VK_KHR_pipeline_library VK_EXT_non_seamless_cube_map nonSeamlessCubeMap textureCompressionBC
            VK_KHR_dynamic_rendering dynamicRendering VK_EXT_primitives_generated_query primitivesGeneratedQuery
            primitivesGeneratedQueryWithRasterizerDiscard VK_EXT_color_write_enable colorWriteEnable pipelineCreationCacheControl
            VK_EXT_descriptor_indexing VK_EXT_depth_clip_control depthClipControl VK_EXT_primitive_topology_list_restart
            primitiveTopologyListRestart VK_EXT_index_type_uint8 VK_EXT_shader_stencil_export VK_EXT_sample_locations
            VK_KHR_shader_float16_int8 shaderFloat64 shaderInt64 shaderBufferInt64Atomics VK_KHR_shader_clock shaderSubgroupClock
            VK_EXT_shader_atomic_float shaderBufferFloat32Atomics VK_EXT_fragment_shader_interlock fragmentShaderPixelInterlock
            VK_EXT_memory_budget VK_EXT_post_depth_coverage VK_EXT_multi_draw multiDraw VK_EXT_legacy_vertex_attributes
            sparseResidencyImage2D sparseResidencyImage3D sparseResidency2Samples shaderResourceResidency shaderResourceMinLod
            VK_EXT_image_drm_format_modifier VK_KHR_external_memory_fd VK_KHR_external_semaphore_fd VK_EXT_blend_operation_advanced
            VK_EXT_multisampled_render_to_single_sampled multisampledRenderToSingleSampled",
    },
    Profile {
        name: "ANGLE, OpenGL ES 3.2",
        wants: "robustBufferAccess fullDrawIndexUint32 imageCubeArray independentBlend geometryShader tessellationShader sampleRateShading
            shaderTessellationAndGeometryPointSize samplerAnisotropy textureCompressionETC2 textureCompressionASTC_LDR occlusionQueryPrecise
            fragmentStoresAndAtomics vertexPipelineStoresAndAtomics shaderStorageImageExtendedFormats
            shaderUniformBufferArrayDynamicIndexing shaderSampledImageArrayDynamicIndexing shaderStorageBufferArrayDynamicIndexing
            depthClamp depthBiasClamp largePoints logicOp shaderClipDistance shaderCullDistance inheritedQueries
            VK_EXT_transform_feedback transformFeedback VK_EXT_line_rasterization bresenhamLines VK_EXT_provoking_vertex provokingVertexLast
            VK_EXT_index_type_uint8 VK_EXT_vertex_attribute_divisor VK_EXT_custom_border_color VK_EXT_depth_clip_control
            VK_EXT_primitives_generated_query VK_EXT_primitive_topology_list_restart VK_KHR_depth_stencil_resolve VK_KHR_create_renderpass2
            VK_KHR_sampler_ycbcr_conversion samplerYcbcrConversion VK_KHR_imageless_framebuffer imagelessFramebuffer VK_KHR_timeline_semaphore
            timelineSemaphore hostQueryReset VK_KHR_shader_float16_int8 shaderInt8 shaderFloat16 VK_EXT_load_store_op_none VK_EXT_image_2d_view_of_3d
            VK_EXT_rasterization_order_attachment_access rasterizationOrderColorAttachmentAccess VK_EXT_fragment_shader_interlock
            VK_EXT_pipeline_robustness pipelineRobustness VK_EXT_extended_dynamic_state VK_EXT_extended_dynamic_state2
            VK_EXT_vertex_input_dynamic_state vertexInputDynamicState VK_EXT_host_image_copy hostImageCopy VK_KHR_dynamic_rendering
            VK_KHR_dynamic_rendering_local_read dynamicRenderingLocalRead VK_KHR_incremental_present VK_EXT_swapchain_colorspace
            VK_EXT_swapchain_maintenance1 swapchainMaintenance1 VK_EXT_surface_maintenance1 VK_EXT_external_memory_host VK_KHR_external_fence_fd
            VK_KHR_external_semaphore_fd VK_KHR_external_memory_fd VK_EXT_graphics_pipeline_library VK_EXT_blend_operation_advanced
            VK_EXT_multisampled_render_to_single_sampled multisampledRenderToSingleSampled
            VK_EXT_physical_device_drm VK_EXT_image_drm_format_modifier VK_EXT_external_memory_dma_buf multiview",
    },
    Profile {
        name: "Godot 4",
        wants: "VK_KHR_swapchain fullDrawIndexUint32 imageCubeArray independentBlend sampleRateShading samplerAnisotropy fillModeNonSolid
            depthClamp depthBiasClamp wideLines largePoints alphaToOne multiViewport textureCompressionBC textureCompressionETC2
            textureCompressionASTC_LDR vertexPipelineStoresAndAtomics fragmentStoresAndAtomics shaderImageGatherExtended
            shaderStorageImageExtendedFormats shaderStorageImageReadWithoutFormat shaderStorageImageWriteWithoutFormat
            shaderUniformBufferArrayDynamicIndexing shaderSampledImageArrayDynamicIndexing shaderStorageBufferArrayDynamicIndexing
            shaderStorageImageArrayDynamicIndexing shaderClipDistance shaderCullDistance shaderFloat64 shaderInt64 shaderInt16 multiview
            shaderFloat16 shaderInt8 storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16 VK_KHR_create_renderpass2
            VK_KHR_multiview VK_KHR_maintenance2 VK_KHR_image_format_list VK_EXT_astc_decode_mode VK_EXT_texture_compression_astc_hdr
            VK_EXT_descriptor_indexing VK_KHR_uniform_buffer_standard_layout VK_EXT_pipeline_creation_cache_control VK_EXT_subgroup_size_control
            bufferDeviceAddress vulkanMemoryModel vulkanMemoryModelDeviceScope VK_EXT_device_fault deviceFault VK_KHR_fragment_shading_rate",
    },
    Profile {
        name: "Dawn, WebGPU features",
        wants: "fragmentStoresAndAtomics fullDrawIndexUint32 imageCubeArray independentBlend sampleRateShading depthBiasClamp depthClamp
            samplerAnisotropy robustBufferAccess textureCompressionBC textureCompressionETC2 textureCompressionASTC_LDR
            drawIndirectFirstInstance dualSrcBlend shaderClipDistance shaderStorageImageExtendedFormats pipelineStatisticsQuery
            shaderFloat16 storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storageInputOutput16 shaderIntegerDotProduct
            VK_KHR_shader_integer_dot_product VK_EXT_depth_clip_enable VK_EXT_robustness2 robustBufferAccess2 robustImageAccess VK_EXT_subgroup_size_control
            subgroupSizeControl computeFullSubgroups shaderSubgroupExtendedTypes VK_KHR_zero_initialize_workgroup_memory
            shaderZeroInitializeWorkgroupMemory shaderDemoteToHelperInvocation VK_KHR_vulkan_memory_model vulkanMemoryModel vulkanMemoryModelDeviceScope VK_KHR_maintenance4 VK_KHR_dynamic_rendering
            VK_KHR_shader_subgroup_uniform_control_flow shaderSubgroupUniformControlFlow VK_KHR_cooperative_matrix cooperativeMatrix
            VK_KHR_sampler_ycbcr_conversion samplerYcbcrConversion VK_KHR_external_memory_fd VK_KHR_external_semaphore_fd VK_EXT_external_memory_host
            VK_EXT_external_memory_dma_buf VK_EXT_image_drm_format_modifier VK_EXT_queue_family_foreign VK_KHR_image_format_list multiDrawIndirect
            VK_KHR_draw_indirect_count VK_EXT_depth_range_unrestricted VK_EXT_shader_viewport_index_layer VK_KHR_fragment_shader_barycentric
            fragmentShaderBarycentric runtimeDescriptorArray descriptorBindingPartiallyBound shaderSampledImageArrayNonUniformIndexing VK_EXT_shader_image_atomic_int64 shaderBufferInt64Atomics shaderInt64",
    },
    Profile {
        name: "ggml and llama.cpp",
        wants: "shaderFloat16 storageBuffer16BitAccess VK_KHR_16bit_storage VK_KHR_shader_float16_int8 shaderInt8 storageBuffer8BitAccess shaderInt16 shaderInt64
            VK_KHR_maintenance4 maintenance4 VK_EXT_subgroup_size_control subgroupSizeControl computeFullSubgroups
            VK_KHR_shader_integer_dot_product shaderIntegerDotProduct VK_KHR_cooperative_matrix cooperativeMatrix VK_NV_cooperative_matrix2
            VK_VALVE_shader_mixed_float_dot_product shaderMixedFloatDotProductFloat16AccFloat32
            VK_KHR_shader_bfloat16 shaderBFloat16Type shaderBFloat16CooperativeMatrix VK_EXT_pipeline_robustness pipelineRobustness VK_EXT_memory_budget
            VK_EXT_memory_priority memoryPriority VK_EXT_external_memory_host VK_KHR_pipeline_executable_properties pipelineExecutableInfo
            VK_KHR_push_descriptor VK_EXT_shader_64bit_indexing bufferDeviceAddress vulkanMemoryModel vulkanMemoryModelDeviceScope timelineSemaphore synchronization2",
    },
    Profile {
        name: "dxvk 2, Direct3D 8 to 11",
        wants: "VK_KHR_load_store_op_none VK_KHR_maintenance5 maintenance5 VK_KHR_maintenance6 maintenance6 VK_KHR_maintenance7 maintenance7
            VK_EXT_depth_clip_enable depthClipEnable VK_KHR_present_id2 VK_KHR_present_wait2 VK_KHR_shader_subgroup_uniform_control_flow
            VK_KHR_swapchain_maintenance1 swapchainMaintenance1 VK_KHR_swapchain_mutable_format VK_KHR_unified_image_layouts unifiedImageLayouts
            VK_EXT_border_color_swizzle borderColorSwizzle VK_EXT_extended_dynamic_state3 extendedDynamicState3AlphaToCoverageEnable
            extendedDynamicState3DepthClipEnable extendedDynamicState3RasterizationSamples extendedDynamicState3SampleMask
            extendedDynamicState3LineRasterizationMode extendedDynamicState3SampleLocationsEnable VK_EXT_line_rasterization rectangularLines
            smoothLines VK_EXT_pageable_device_local_memory pageableDeviceLocalMemory wideLines shaderInt16 storagePushConstant16
            shaderSampledImageArrayDynamicIndexing descriptorIndexing descriptorBindingSampledImageUpdateAfterBind
            descriptorBindingUpdateUnusedWhilePending descriptorBindingPartiallyBound runtimeDescriptorArray VK_EXT_robustness2
            robustBufferAccess2 nullDescriptor geometryShader imageCubeArray depthClamp depthBiasClamp fillModeNonSolid sampleRateShading
            shaderClipDistance shaderCullDistance textureCompressionBC occlusionQueryPrecise independentBlend fullDrawIndexUint32
            shaderImageGatherExtended samplerMirrorClampToEdge VK_EXT_memory_priority memoryPriority VK_EXT_vertex_attribute_divisor
            vertexAttributeInstanceRateDivisor vertexAttributeInstanceRateZeroDivisor VK_EXT_depth_bias_control depthBiasControl
            leastRepresentableValueForceUnormRepresentation floatRepresentation depthBiasExact VK_EXT_custom_border_color customBorderColors
            customBorderColorWithoutFormat VK_EXT_attachment_feedback_loop_layout attachmentFeedbackLoopLayout VK_EXT_non_seamless_cube_map
            nonSeamlessCubeMap VK_EXT_sample_locations depthBounds vertexPipelineStoresAndAtomics pipelineStatisticsQuery samplerAnisotropy
            VK_EXT_transform_feedback transformFeedback geometryStreams dualSrcBlend multiViewport shaderDrawParameters VK_EXT_multi_draw
            multiDraw VK_EXT_swapchain_colorspace VK_EXT_hdr_metadata logicOp drawIndirectFirstInstance fragmentStoresAndAtomics
            multiDrawIndirect tessellationShader shaderFloat64 shaderInt64 shaderResourceResidency shaderResourceMinLod sparseBinding
            sparseResidencyBuffer sparseResidencyAliased sparseResidencyImage2D samplerFilterMinmax VK_EXT_graphics_pipeline_library",
    },
    Profile {
        name: "vkd3d-proton, Direct3D 12",
        wants: "VK_KHR_push_descriptor VK_KHR_swapchain VK_KHR_calibrated_timestamps VK_EXT_custom_border_color customBorderColors
            customBorderColorWithoutFormat VK_EXT_depth_clip_enable depthClipEnable VK_EXT_robustness2 robustBufferAccess2 robustImageAccess2
            nullDescriptor VK_EXT_transform_feedback transformFeedback geometryStreams VK_EXT_vertex_attribute_divisor
            vertexAttributeInstanceRateDivisor vertexAttributeInstanceRateZeroDivisor shaderDrawParameters samplerMirrorClampToEdge
            drawIndirectCount descriptorIndexing shaderUniformTexelBufferArrayDynamicIndexing shaderStorageTexelBufferArrayDynamicIndexing
            shaderSampledImageArrayNonUniformIndexing shaderStorageImageArrayNonUniformIndexing shaderStorageBufferArrayNonUniformIndexing
            shaderUniformTexelBufferArrayNonUniformIndexing shaderStorageTexelBufferArrayNonUniformIndexing separateDepthStencilLayouts
            timelineSemaphore bufferDeviceAddress hostQueryReset shaderDemoteToHelperInvocation synchronization2 dynamicRendering maintenance4
            tessellationShader geometryShader dualSrcBlend multiDrawIndirect multiViewport textureCompressionBC pipelineStatisticsQuery
            shaderStorageImageWriteWithoutFormat shaderInt16 vertexPipelineStoresAndAtomics logicOp sparseBinding sparseResidencyAliased
            sparseResidencyBuffer sparseResidencyImage2D sparseResidencyImage3D shaderResourceResidency shaderResourceMinLod
            samplerFilterMinmax VK_EXT_conservative_rasterization VK_EXT_fragment_shader_interlock fragmentShaderSampleInterlock
            fragmentShaderPixelInterlock VK_KHR_ray_tracing_pipeline VK_KHR_acceleration_structure VK_KHR_ray_query
            VK_KHR_deferred_host_operations VK_KHR_pipeline_library VK_KHR_fragment_shading_rate VK_EXT_mesh_shader taskShader meshShader
            shaderInt64 depthBounds shaderOutputViewportIndex shaderOutputLayer subgroupSizeControl computeFullSubgroups
            uniformBufferStandardLayout VK_KHR_compute_shader_derivatives computeDerivativeGroupLinear computeDerivativeGroupQuads
            VK_EXT_shader_image_atomic_int64 shaderImageInt64Atomics shaderIntegerDotProduct shaderBufferInt64Atomics
            shaderSharedInt64Atomics shaderInt8 VK_KHR_shader_maximal_reconvergence shaderMaximalReconvergence VK_KHR_shader_quad_control
            shaderQuadControl VK_KHR_maintenance8 maintenance8 VK_EXT_descriptor_buffer descriptorBuffer descriptorBufferPushDescriptors
            VK_EXT_mutable_descriptor_type mutableDescriptorType VK_EXT_shader_module_identifier VK_KHR_present_id presentId
            VK_KHR_present_wait presentWait VK_EXT_extended_dynamic_state2 extendedDynamicState2PatchControlPoints
            VK_EXT_graphics_pipeline_library VK_EXT_scalar_block_layout VK_EXT_swapchain_maintenance1 VK_KHR_fragment_shader_barycentric
            fragmentShaderBarycentric VK_EXT_conditional_rendering conditionalRendering VK_EXT_external_memory_host VK_EXT_image_view_min_lod
            minLod VK_EXT_image_sliced_view_of_3d imageSlicedViewOf3D VK_EXT_memory_priority memoryPriority VK_EXT_device_generated_commands
            VK_KHR_maintenance5 VK_KHR_maintenance6 VK_KHR_maintenance7 VK_EXT_depth_bias_control depthBiasControl
            VK_EXT_zero_initialize_device_memory zeroInitializeDeviceMemory shaderFloat64 shaderFloat16 shaderSubgroupExtendedTypes
            VK_EXT_shader_stencil_export VK_EXT_dynamic_rendering_unused_attachments dynamicRenderingUnusedAttachments
            VK_EXT_pageable_device_local_memory pageableDeviceLocalMemory VK_EXT_shader_float8 shaderFloat8 VK_EXT_pipeline_creation_cache_control
            VK_AMD_buffer_marker VK_EXT_image_compression_control",
    },
    Profile {
        name: "tools that capture and replay (RenderDoc, GFXReconstruct)",
        wants: "bufferDeviceAddressCaptureReplay descriptorBufferCaptureReplay VK_EXT_tooling_info VK_EXT_debug_utils VK_EXT_private_data privateData",
    },
];

const DOT: &str = "a dot product is multiplications and additions";
const LATER: &str = "not written yet";

/// Items that the driver does not report, and the reasons. An item of a program's list that neither
/// the driver nor this table has is an error, and so is a row that no program needs.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("VK_EXT_physical_device_drm", "a CPU has no device node"),
    ("VK_EXT_image_compression_control", "images are not compressed"),
    ("VK_AMD_buffer_marker", "an extension of one vendor's hardware"),
    ("VK_EXT_shader_64bit_indexing", LATER),
    ("sparseResidency2Samples", "samples are sub-images, which no block has together"),
    (STRICT, "what is not bound shows any values"),
    ("integer_dot_product4x8_bit_packed_signed_accelerated", DOT),
    ("integer_dot_product4x8_bit_packed_unsigned_accelerated", DOT),
];

/// Extensions of objects that only Linux has. Programs for Windows do not request them.
const OF_LINUX: [&str; 5] = [
    "VK_EXT_external_memory_dma_buf",
    "VK_EXT_image_drm_format_modifier",
    "VK_KHR_external_fence_fd",
    "VK_KHR_external_memory_fd",
    "VK_KHR_external_semaphore_fd",
];

/// Limit that vkd3d-proton (feature level 12.0) and dxvk require and that [`EXCEPTIONS`] contains.
const STRICT: &str = "residencyNonResidentStrict";

/// Properties that the driver reports, by structure.
struct ReportedProperties {
    limits: vk::PhysicalDeviceLimits,
    sparse: vk::PhysicalDeviceSparseProperties,
    v11: vk::PhysicalDeviceVulkan11Properties<'static>,
    v12: vk::PhysicalDeviceVulkan12Properties<'static>,
    v13: vk::PhysicalDeviceVulkan13Properties<'static>,
    push: vk::PhysicalDevicePushDescriptorPropertiesKHR<'static>,
    border: vk::PhysicalDeviceCustomBorderColorPropertiesEXT<'static>,
    feedback: vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'static>,
}

impl ReportedProperties {
    fn by(c: &Context) -> ReportedProperties {
        let (mut v11, mut v12, mut v13) = Default::default();
        let (mut push, mut border, mut feedback) = Default::default();
        let mut all =
            vk::PhysicalDeviceProperties2::default().push_next(&mut v11).push_next(&mut v12).push_next(&mut v13);
        all = all.push_next(&mut push).push_next(&mut border).push_next(&mut feedback);
        // SAFETY: valid usage.
        unsafe { c.instance.get_physical_device_properties2(c.physical, &mut all) };
        let core = all.properties;
        ReportedProperties {
            limits: core.limits,
            sparse: core.sparse_properties,
            v11,
            v12,
            v13,
            push,
            border,
            feedback,
        }
    }
}

/// A limit: its name, the programs that require it, and a function that checks it.
type Limit = (&'static str, &'static str, fn(&ReportedProperties) -> bool);

/// Defines rows of limits with their least values.
macro_rules! limits {
    ($user:literal, $at:ident: $($field:ident >= $least:expr),* $(,)?) => {
        &[$((stringify!($field), $user, |reported: &ReportedProperties| reported.$at.$field >= $least)),*]
    };
}

const YES: vk::Bool32 = vk::TRUE;

#[rustfmt::skip]
const LIMITS: &[&[Limit]] = &[
    limits!("VP_KHR_roadmap_2022", limits:
        max_image_dimension1_d >= 8192, max_image_dimension2_d >= 8192, max_image_dimension_cube >= 8192, max_image_array_layers >= 2048,
        max_uniform_buffer_range >= 65536, max_per_stage_descriptor_samplers >= 64, max_per_stage_descriptor_uniform_buffers >= 15,
        max_per_stage_descriptor_storage_buffers >= 30, max_per_stage_descriptor_sampled_images >= 200, max_per_stage_descriptor_storage_images >= 16,
        max_per_stage_resources >= 200, max_descriptor_set_samplers >= 576, max_descriptor_set_uniform_buffers >= 90,
        max_descriptor_set_storage_buffers >= 96, max_descriptor_set_sampled_images >= 1800, max_descriptor_set_storage_images >= 144,
        max_fragment_combined_output_resources >= 16, max_compute_work_group_invocations >= 256, sub_texel_precision_bits >= 8,
        mipmap_precision_bits >= 6, max_sampler_lod_bias >= 14.0, standard_sample_locations >= YES, max_color_attachments >= 7),
    limits!("VP_KHR_roadmap_2024", limits: max_bound_descriptor_sets >= 7, max_color_attachments >= 8, timestamp_compute_and_graphics >= YES),
    limits!("VP_KHR_roadmap_2022", v11: max_multiview_view_count >= 6, max_multiview_instance_index >= 134_217_727, subgroup_size >= 4),
    limits!("VP_KHR_roadmap_2022", v12:
        max_timeline_semaphore_value_difference >= 0x7fff_ffff, shader_signed_zero_inf_nan_preserve_float16 >= YES,
        shader_signed_zero_inf_nan_preserve_float32 >= YES, max_per_stage_descriptor_update_after_bind_input_attachments >= 7,
        max_per_stage_descriptor_update_after_bind_samplers >= 500_000, max_per_stage_update_after_bind_resources >= 500_000,
        max_descriptor_set_update_after_bind_samplers >= 500_000, max_descriptor_set_update_after_bind_sampled_images >= 500_000,
        max_descriptor_set_update_after_bind_storage_buffers >= 500_000, max_descriptor_set_update_after_bind_storage_images >= 500_000),
    limits!("VP_KHR_roadmap_2024", v12: shader_rounding_mode_rte_float16 >= YES, shader_rounding_mode_rte_float32 >= YES),
    limits!("VP_KHR_roadmap_2022", v13:
        max_buffer_size >= 1 << 30, max_inline_uniform_block_size >= 256, max_per_stage_descriptor_inline_uniform_blocks >= 4,
        max_descriptor_set_inline_uniform_blocks >= 4, max_inline_uniform_total_size >= 256, max_subgroup_size >= 4),
    limits!("zink, OpenGL 4.6", limits:
        max_image_dimension2_d >= 16384, max_image_dimension3_d >= 2048, max_image_dimension_cube >= 16384, max_image_array_layers >= 2048,
        max_viewports >= 16, max_vertex_input_attributes >= 16, max_color_attachments >= 8),
    limits!("zink, OpenGL 4.6", v12: robust_buffer_access_update_after_bind >= YES),
    limits!("dxvk 2, Direct3D 8 to 11", limits: max_push_constants_size >= 256, max_vertex_input_attributes >= 32, max_clip_distances >= 8),
    limits!("vkd3d-proton, Direct3D 12", v12:
        robust_buffer_access_update_after_bind >= YES, max_per_stage_descriptor_update_after_bind_storage_buffers >= 1_000_000,
        max_per_stage_descriptor_update_after_bind_sampled_images >= 1_000_000, max_per_stage_descriptor_update_after_bind_storage_images >= 1_000_000,
        filter_minmax_single_component_formats >= YES, shader_denorm_flush_to_zero_float32 >= YES, shader_denorm_preserve_float32 >= YES),
    limits!("vkd3d-proton, Direct3D 12", v13:
        storage_texel_buffer_offset_single_texel_alignment >= YES, uniform_texel_buffer_offset_single_texel_alignment >= YES),
    limits!("vkd3d-proton, Direct3D 12", push: max_push_descriptors >= 32),
    limits!("vkd3d-proton, Direct3D 12", border: max_custom_border_color_samplers >= 2048),
    limits!("vkd3d-proton, Direct3D 12", feedback: transform_feedback_queries >= YES),
    limits!("vkd3d-proton, Direct3D 12", sparse:
        residency_standard2_d_block_shape >= YES, residency_standard3_d_block_shape >= YES),
    limits!("ggml and llama.cpp", limits: max_storage_buffer_range >= 1 << 30, max_compute_shared_memory_size >= 32768, max_push_constants_size >= 128),
    limits!("ggml and llama.cpp", v13: max_buffer_size >= 1 << 30, integer_dot_product4x8_bit_packed_signed_accelerated >= YES),
    limits!("Dawn, WebGPU features", v13: integer_dot_product4x8_bit_packed_unsigned_accelerated >= YES),
    limits!("Dawn, WebGPU features", limits:
        max_image_dimension1_d >= 8192, max_image_dimension3_d >= 2048, max_bound_descriptor_sets >= 4, max_uniform_buffer_range >= 65536,
        max_storage_buffer_range >= 128 << 20, max_compute_shared_memory_size >= 16384, max_compute_work_group_invocations >= 256,
        max_per_stage_descriptor_storage_buffers >= 8, max_color_attachments >= 8, timestamp_compute_and_graphics >= YES,
        max_descriptor_set_uniform_buffers_dynamic >= 8, max_descriptor_set_storage_buffers_dynamic >= 4, max_vertex_input_binding_stride >= 2048),
    &[
        ("bufferImageGranularity", "VP_KHR_roadmap_2022", |reported| reported.limits.buffer_image_granularity <= 4096),
        ("pointSizeGranularity", "VP_KHR_roadmap_2022", |reported| reported.limits.point_size_granularity <= 0.125),
        ("lineWidthGranularity", "VP_KHR_roadmap_2022", |reported| reported.limits.line_width_granularity <= 0.5),
        ("maxComputeWorkGroupSize", "VP_KHR_roadmap_2022", |reported| {
            reported.limits.max_compute_work_group_size.iter().zip([256, 256, 64]).all(|(&got, least)| got >= least)
        }),
        ("subgroupSupportedStages", "VP_KHR_roadmap_2022", |reported| {
            reported.v11.subgroup_supported_stages.contains(vk::ShaderStageFlags::COMPUTE | vk::ShaderStageFlags::FRAGMENT)
        }),
        ("subgroupSupportedOperations", "VP_KHR_roadmap_2022", |reported| {
            use vk::SubgroupFeatureFlags as F;
            let all = F::BASIC | F::VOTE | F::ARITHMETIC | F::BALLOT | F::SHUFFLE | F::SHUFFLE_RELATIVE | F::CLUSTERED | F::QUAD;
            reported.v11.subgroup_supported_operations.contains(all)
        }),
        ("requiredSubgroupSizeStages", "vkd3d-proton, Direct3D 12", |reported| {
            reported.v13.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE)
        }),
        ("residencyAlignedMipSize", "vkd3d-proton, Direct3D 12", |reported| reported.sparse.residency_aligned_mip_size == vk::FALSE),
        (STRICT, "vkd3d-proton, Direct3D 12", |reported| reported.sparse.residency_non_resident_strict == YES),
    ],
];

/// Kind of resource whose format features are required: linear or optimal images, or buffers.
#[derive(Clone, Copy)]
enum Tiling {
    Linear,
    Optimal,
    Buffer,
}

use vk::Format as F;
use vk::FormatFeatureFlags as Bits;
const SAMPLED: Bits = Bits::SAMPLED_IMAGE;

#[rustfmt::skip]
const FORMATS: &[(&str, Tiling, Bits, &[F])] = &[
    ("zink, OpenGL 4.6", Tiling::Buffer, Bits::UNIFORM_TEXEL_BUFFER, &[F::R32G32B32_SFLOAT, F::R32G32B32_SINT, F::R32G32B32_UINT]),
    ("zink, OpenGL 4.6", Tiling::Buffer, Bits::VERTEX_BUFFER, &[F::B10G11R11_UFLOAT_PACK32]),
    ("zink, OpenGL 4.6", Tiling::Linear, SAMPLED, &[F::R8G8B8A8_UNORM, F::R8G8B8A8_SRGB, F::R16_UNORM, F::R16G16_UNORM, F::R16_SNORM, F::R16G16_SNORM]),
    ("zink, OpenGL 4.6", Tiling::Optimal, SAMPLED, &[F::R8G8B8A8_UNORM, F::R8G8B8A8_SRGB, F::R16_UNORM, F::R16G16_UNORM, F::R16_SNORM, F::R16G16_SNORM, F::D32_SFLOAT_S8_UINT]),
    ("ANGLE, OpenGL ES 3.2", Tiling::Optimal, SAMPLED, &[F::ETC2_R8G8B8_UNORM_BLOCK, F::ETC2_R8G8B8A8_SRGB_BLOCK, F::EAC_R11_UNORM_BLOCK, F::ASTC_4X4_SRGB_BLOCK, F::ASTC_12X12_UNORM_BLOCK]),
    ("ANGLE, OpenGL ES 3.2", Tiling::Optimal, Bits::COLOR_ATTACHMENT_BLEND, &[F::R8G8B8A8_UNORM, F::R8G8B8A8_SRGB, F::R5G6B5_UNORM_PACK16, F::A2B10G10R10_UNORM_PACK32, F::R16G16B16A16_SFLOAT, F::B10G11R11_UFLOAT_PACK32]),
    ("ANGLE, OpenGL ES 3.2", Tiling::Optimal, Bits::DEPTH_STENCIL_ATTACHMENT, &[F::D16_UNORM, F::X8_D24_UNORM_PACK32, F::D24_UNORM_S8_UINT, F::D32_SFLOAT, F::D32_SFLOAT_S8_UINT, F::S8_UINT]),
    ("ANGLE, OpenGL ES 3.2", Tiling::Optimal, Bits::STORAGE_IMAGE_ATOMIC, &[F::R32_SINT, F::R32_UINT]),
    ("Godot 4", Tiling::Optimal, Bits::STORAGE_IMAGE, &[F::R8_UNORM, F::R16G16B16A16_SFLOAT, F::R32G32B32A32_SFLOAT, F::A2B10G10R10_UNORM_PACK32, F::B10G11R11_UFLOAT_PACK32]),
    ("Godot 4", Tiling::Optimal, SAMPLED, &[F::BC1_RGB_UNORM_BLOCK, F::BC3_SRGB_BLOCK, F::BC5_UNORM_BLOCK, F::BC6H_UFLOAT_BLOCK, F::BC7_SRGB_BLOCK, F::ASTC_4X4_SFLOAT_BLOCK, F::E5B9G9R9_UFLOAT_PACK32]),
    ("Dawn, WebGPU features", Tiling::Optimal, Bits::COLOR_ATTACHMENT, &[F::B10G11R11_UFLOAT_PACK32, F::R16_UNORM, F::R16G16B16A16_UNORM, F::R16G16B16A16_SNORM, F::R8G8B8A8_SNORM]),
    ("Dawn, WebGPU features", Tiling::Optimal, Bits::SAMPLED_IMAGE_FILTER_LINEAR, &[F::R32_SFLOAT, F::R32G32_SFLOAT, F::R32G32B32A32_SFLOAT]),
    ("Dawn, WebGPU features", Tiling::Optimal, Bits::COLOR_ATTACHMENT_BLEND, &[F::R32_SFLOAT, F::R32G32_SFLOAT, F::R32G32B32A32_SFLOAT]),
    ("Dawn, WebGPU features", Tiling::Optimal, Bits::STORAGE_IMAGE, &[F::B8G8R8A8_UNORM]),
    ("Dawn, WebGPU features", Tiling::Optimal, SAMPLED, &[F::G8_B8R8_2PLANE_420_UNORM, F::G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16]),
    ("dxvk 2, Direct3D 8 to 11", Tiling::Optimal, SAMPLED, &[F::A4R4G4B4_UNORM_PACK16, F::A1R5G5B5_UNORM_PACK16, F::B5G6R5_UNORM_PACK16, F::R8G8_SNORM, F::G8B8G8R8_422_UNORM, F::BC2_UNORM_BLOCK]),
    ("dxvk 2, Direct3D 8 to 11", Tiling::Optimal, Bits::DEPTH_STENCIL_ATTACHMENT, &[F::D16_UNORM, F::D24_UNORM_S8_UINT, F::D32_SFLOAT_S8_UINT]),
    ("vkd3d-proton, Direct3D 12", Tiling::Optimal, Bits::STORAGE_IMAGE_ATOMIC, &[F::R32_UINT, F::R32_SINT, F::R64_UINT]),
    ("vkd3d-proton, Direct3D 12", Tiling::Buffer, Bits::STORAGE_TEXEL_BUFFER_ATOMIC, &[F::R32_UINT, F::R32_SINT]),
];

#[test]
fn required_features_are_advertised_or_have_a_reason() {
    let c = Context::new(&[], &[]);
    let (mut reported, mut missing) = (BTreeSet::new(), BTreeSet::new());
    // SAFETY: valid usage.
    let extensions = unsafe {
        let instance = c.entry.enumerate_instance_extension_properties(None).expect("extensions");
        [instance, c.instance.enumerate_device_extension_properties(c.physical).expect("extensions")].concat()
    };
    for extension in &extensions {
        reported.insert(extension.extension_name_as_c_str().expect("a name").to_str().expect("a name").to_owned());
    }
    reported.extend(ALL_FEATURES.iter().filter(|f| f.is_advertised()).map(|f| f.row().name.to_owned()));
    for user in PROFILES {
        let is_of_system = |name: &&str| cfg!(unix) || !OF_LINUX.contains(name);
        let wanted = user.wants.split_whitespace().filter(is_of_system);
        let unknown = wanted.filter(|&name| !reported.contains(name));
        missing.extend(unknown.map(|name| (name, user.name)));
    }
    let properties = ReportedProperties::by(&c);
    let short = LIMITS.iter().copied().flatten().filter(|(_, _, enough)| !enough(&properties));
    missing.extend(short.map(|&(name, user, _)| (name, user)));
    let has_reason = |name: &str| EXCEPTIONS.iter().any(|&(exception, _)| exception == name);
    let errors: Vec<_> = missing.iter().filter(|(name, _)| !has_reason(name)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let stale: Vec<_> = EXCEPTIONS.iter().filter(|(name, _)| !missing.iter().any(|(lack, _)| lack == name)).collect();
    assert!(stale.is_empty(), "{stale:#?}");
}

#[test]
fn formats_have_the_features_that_applications_use() {
    let c = Context::new(&[], &[]);
    for &(user, of, wanted, formats) in FORMATS {
        for &format in formats {
            // SAFETY: valid usage.
            let reported = unsafe { c.instance.get_physical_device_format_properties(c.physical, format) };
            let has = match of {
                Tiling::Linear => reported.linear_tiling_features,
                Tiling::Optimal => reported.optimal_tiling_features,
                Tiling::Buffer => reported.buffer_features,
            };
            assert!(has.contains(wanted), "{user}: {format:?} has not {:?}", wanted & !has);
        }
    }
}

/// Checks that the driver provides everything that it reports: every feature of the lists at once,
/// and every extension.
#[test]
fn a_device_can_enable_everything_at_once() {
    let c = Context::new(&[], &[]);
    // SAFETY: valid usage.
    unsafe {
        let extensions = c.instance.enumerate_device_extension_properties(c.physical).expect("extensions");
        let names: Vec<_> = extensions.iter().map(|e| e.extension_name.as_ptr()).collect();
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut features =
            vk::PhysicalDeviceFeatures2::default().push_next(&mut v11).push_next(&mut v12).push_next(&mut v13);
        c.instance.get_physical_device_features2(c.physical, &mut features);
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
        let device = c.instance.create_device(c.physical, &info.push_next(&mut features), None).expect("device");
        device.destroy_device(None);
    }
}
