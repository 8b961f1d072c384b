//! Rows of [`super::features`]: every feature by its name in the specification, and the structures
//! that contain it.

#![forbid(unsafe_code)]

use super::extensions::{Extension as E, Need, Support};
use super::features::{FeatureRow, FeatureStruct, Member};
use super::newer::{self as vk, TaggedStructure};
use super::{V1_1, V1_2, V1_3, V1_4};
use Need::{Core, Ext};
use std::mem::{offset_of, size_of};

macro_rules! features {
    (
        core { $($core:ident, $core_field:ident, $core_support:expr;)* }
        extended { $($name:ident, $field:ident, $support:expr, [$($in:ident),*];)* }
    ) => {
        /// A feature, named as in the specification.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are the specification's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature { $($core,)* $($name,)* }

        /// All features, in table order.
        pub const ALL_FEATURES: &[Feature] = &[$(Feature::$core,)* $(Feature::$name,)*];

        /// The table of features, in the order of [`Feature`].
        pub static FEATURES: &[FeatureRow] = &[
            $(FeatureRow {
                name: stringify!($core),
                support: $core_support,
                core: Some(offset_of!(vk::PhysicalDeviceFeatures, $core_field)),
                members: &[],
            },)*
            $(FeatureRow {
                name: stringify!($name),
                support: $support,
                core: None,
                members: &[$(Member {
                    s_type: <vk::$in<'static> as TaggedStructure>::STRUCTURE_TYPE,
                    offset: offset_of!(vk::$in<'static>, $field),
                }),*],
            },)*
        ];
    };
}

macro_rules! structs {
    ($($name:ident: [$($need:expr),*];)*) => {
        /// Feature structures, and the extensions or versions that provide them.
        pub static STRUCTS: &[FeatureStruct] = &[$(FeatureStruct {
            name: stringify!($name),
            s_type: <vk::$name<'static> as TaggedStructure>::STRUCTURE_TYPE,
            size: size_of::<vk::$name<'static>>(),
            from: &[$($need),*],
        }),*];
    };
}

const YES: Support = Support::Yes;
const LATER: Support = Support::No("not written yet");
const NO_RATE: Support = Support::No("no fragment shading rate");
const NO_SPARSE: Support = Support::No("samples are sub-images, which no block has together");
const NO_SHARED: Support = Support::No("no kernels for blocks that are decoded to shared exponents");
const NO_VIDEO: Support = Support::No("no video");
const NO_PROTECTED: Support = Support::No("no protected memory on a CPU");
const NO_REPLAY: Support = Support::No("the words of a heap are those of one process");
/// The extension's own bufferDeviceAddressCaptureReplay gives a buffer its address before it has
/// memory. The feature of the KHR extension gives the address to the memory. The name has a suffix,
/// because these are two features with one name.
const NO_EXT_REPLAY: Support = Support::No("addresses are replayed by VK_KHR_buffer_device_address");
const NO_NV: Support = Support::No("an extension of one vendor's hardware");
const NO_DUMP: Support = Support::No("what there is to say of a fault is in its reports");
const NO_MASKED: Support = Support::No("no fault is recovered from");
const ONE_DEVICE: Support = Support::No("a device group has one device");

#[rustfmt::skip]
features! {
core {
    robustBufferAccess, robust_buffer_access, YES;
    fullDrawIndexUint32, full_draw_index_uint32, YES;
    imageCubeArray, image_cube_array, YES;
    independentBlend, independent_blend, YES;
    geometryShader, geometry_shader, YES;
    tessellationShader, tessellation_shader, YES;
    sampleRateShading, sample_rate_shading, YES;
    dualSrcBlend, dual_src_blend, YES;
    logicOp, logic_op, YES;
    multiDrawIndirect, multi_draw_indirect, YES;
    drawIndirectFirstInstance, draw_indirect_first_instance, YES;
    depthClamp, depth_clamp, YES;
    depthBiasClamp, depth_bias_clamp, YES;
    fillModeNonSolid, fill_mode_non_solid, YES;
    depthBounds, depth_bounds, YES;
    wideLines, wide_lines, YES;
    largePoints, large_points, YES;
    alphaToOne, alpha_to_one, YES;
    multiViewport, multi_viewport, YES;
    samplerAnisotropy, sampler_anisotropy, YES;
    textureCompressionETC2, texture_compression_etc2, YES;
    textureCompressionASTC_LDR, texture_compression_astc_ldr, YES;
    textureCompressionBC, texture_compression_bc, YES;
    occlusionQueryPrecise, occlusion_query_precise, YES;
    pipelineStatisticsQuery, pipeline_statistics_query, YES;
    vertexPipelineStoresAndAtomics, vertex_pipeline_stores_and_atomics, YES;
    fragmentStoresAndAtomics, fragment_stores_and_atomics, YES;
    shaderTessellationAndGeometryPointSize, shader_tessellation_and_geometry_point_size, YES;
    shaderImageGatherExtended, shader_image_gather_extended, YES;
    shaderStorageImageExtendedFormats, shader_storage_image_extended_formats, YES;
    shaderStorageImageMultisample, shader_storage_image_multisample, YES;
    shaderStorageImageReadWithoutFormat, shader_storage_image_read_without_format, YES;
    shaderStorageImageWriteWithoutFormat, shader_storage_image_write_without_format, YES;
    shaderUniformBufferArrayDynamicIndexing, shader_uniform_buffer_array_dynamic_indexing, YES;
    shaderSampledImageArrayDynamicIndexing, shader_sampled_image_array_dynamic_indexing, YES;
    shaderStorageBufferArrayDynamicIndexing, shader_storage_buffer_array_dynamic_indexing, YES;
    shaderStorageImageArrayDynamicIndexing, shader_storage_image_array_dynamic_indexing, YES;
    shaderClipDistance, shader_clip_distance, YES;
    shaderCullDistance, shader_cull_distance, YES;
    shaderFloat64, shader_float64, YES;
    shaderInt64, shader_int64, YES;
    shaderInt16, shader_int16, YES;
    shaderResourceResidency, shader_resource_residency, YES;
    shaderResourceMinLod, shader_resource_min_lod, YES;
    sparseBinding, sparse_binding, YES;
    sparseResidencyBuffer, sparse_residency_buffer, YES;
    sparseResidencyImage2D, sparse_residency_image2_d, YES;
    sparseResidencyImage3D, sparse_residency_image3_d, YES;
    sparseResidency2Samples, sparse_residency2_samples, NO_SPARSE;
    sparseResidency4Samples, sparse_residency4_samples, NO_SPARSE;
    sparseResidency8Samples, sparse_residency8_samples, NO_SPARSE;
    sparseResidency16Samples, sparse_residency16_samples, NO_SPARSE;
    sparseResidencyAliased, sparse_residency_aliased, YES;
    variableMultisampleRate, variable_multisample_rate, YES;
    inheritedQueries, inherited_queries, YES;
}
extended {
    storageBuffer16BitAccess, storage_buffer16_bit_access, YES, [PhysicalDeviceVulkan11Features, PhysicalDevice16BitStorageFeatures];
    uniformAndStorageBuffer16BitAccess, uniform_and_storage_buffer16_bit_access, YES, [PhysicalDeviceVulkan11Features, PhysicalDevice16BitStorageFeatures];
    storagePushConstant16, storage_push_constant16, YES, [PhysicalDeviceVulkan11Features, PhysicalDevice16BitStorageFeatures];
    storageInputOutput16, storage_input_output16, YES, [PhysicalDeviceVulkan11Features, PhysicalDevice16BitStorageFeatures];
    multiview, multiview, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceMultiviewFeatures];
    multiviewGeometryShader, multiview_geometry_shader, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceMultiviewFeatures];
    multiviewTessellationShader, multiview_tessellation_shader, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceMultiviewFeatures];
    variablePointersStorageBuffer, variable_pointers_storage_buffer, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceVariablePointersFeatures];
    variablePointers, variable_pointers, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceVariablePointersFeatures];
    protectedMemory, protected_memory, NO_PROTECTED, [PhysicalDeviceVulkan11Features, PhysicalDeviceProtectedMemoryFeatures];
    samplerYcbcrConversion, sampler_ycbcr_conversion, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceSamplerYcbcrConversionFeatures];
    shaderDrawParameters, shader_draw_parameters, YES, [PhysicalDeviceVulkan11Features, PhysicalDeviceShaderDrawParametersFeatures];
    samplerMirrorClampToEdge, sampler_mirror_clamp_to_edge, YES, [PhysicalDeviceVulkan12Features];
    drawIndirectCount, draw_indirect_count, YES, [PhysicalDeviceVulkan12Features];
    storageBuffer8BitAccess, storage_buffer8_bit_access, YES, [PhysicalDeviceVulkan12Features, PhysicalDevice8BitStorageFeatures];
    uniformAndStorageBuffer8BitAccess, uniform_and_storage_buffer8_bit_access, YES, [PhysicalDeviceVulkan12Features, PhysicalDevice8BitStorageFeatures];
    storagePushConstant8, storage_push_constant8, YES, [PhysicalDeviceVulkan12Features, PhysicalDevice8BitStorageFeatures];
    shaderBufferInt64Atomics, shader_buffer_int64_atomics, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceShaderAtomicInt64Features];
    shaderSharedInt64Atomics, shader_shared_int64_atomics, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceShaderAtomicInt64Features];
    shaderFloatControls2, shader_float_controls2, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceShaderFloatControls2FeaturesKHR];
    shaderBFloat16Type, shader_b_float16_type, YES, [PhysicalDeviceShaderBfloat16FeaturesKHR];
    shaderBFloat16DotProduct, shader_b_float16_dot_product, YES, [PhysicalDeviceShaderBfloat16FeaturesKHR];
    shaderBFloat16CooperativeMatrix, shader_b_float16_cooperative_matrix, YES, [PhysicalDeviceShaderBfloat16FeaturesKHR];
    shaderFloat8, shader_float8, YES, [PhysicalDeviceShaderFloat8FeaturesEXT];
    shaderFloat8CooperativeMatrix, shader_float8_cooperative_matrix, YES, [PhysicalDeviceShaderFloat8FeaturesEXT];
    shaderMixedFloatDotProductFloat16AccFloat32, shader_mixed_float_dot_product_float16_acc_float32, YES, [PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE];
    shaderMixedFloatDotProductFloat16AccFloat16, shader_mixed_float_dot_product_float16_acc_float16, YES, [PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE];
    shaderMixedFloatDotProductBFloat16Acc, shader_mixed_float_dot_product_b_float16_acc, YES, [PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE];
    shaderMixedFloatDotProductFloat8AccFloat32, shader_mixed_float_dot_product_float8_acc_float32, YES, [PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE];
    shaderRelaxedExtendedInstruction, shader_relaxed_extended_instruction, YES, [PhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR];
    shaderFloat16, shader_float16, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceShaderFloat16Int8Features];
    shaderInt8, shader_int8, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceShaderFloat16Int8Features];
    descriptorIndexing, descriptor_indexing, YES, [PhysicalDeviceVulkan12Features];
    shaderInputAttachmentArrayDynamicIndexing, shader_input_attachment_array_dynamic_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderUniformTexelBufferArrayDynamicIndexing, shader_uniform_texel_buffer_array_dynamic_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderStorageTexelBufferArrayDynamicIndexing, shader_storage_texel_buffer_array_dynamic_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderUniformBufferArrayNonUniformIndexing, shader_uniform_buffer_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderSampledImageArrayNonUniformIndexing, shader_sampled_image_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderStorageBufferArrayNonUniformIndexing, shader_storage_buffer_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderStorageImageArrayNonUniformIndexing, shader_storage_image_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderInputAttachmentArrayNonUniformIndexing, shader_input_attachment_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderUniformTexelBufferArrayNonUniformIndexing, shader_uniform_texel_buffer_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    shaderStorageTexelBufferArrayNonUniformIndexing, shader_storage_texel_buffer_array_non_uniform_indexing, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingUniformBufferUpdateAfterBind, descriptor_binding_uniform_buffer_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingSampledImageUpdateAfterBind, descriptor_binding_sampled_image_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingStorageImageUpdateAfterBind, descriptor_binding_storage_image_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingStorageBufferUpdateAfterBind, descriptor_binding_storage_buffer_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingUniformTexelBufferUpdateAfterBind, descriptor_binding_uniform_texel_buffer_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingStorageTexelBufferUpdateAfterBind, descriptor_binding_storage_texel_buffer_update_after_bind, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingUpdateUnusedWhilePending, descriptor_binding_update_unused_while_pending, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingPartiallyBound, descriptor_binding_partially_bound, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    descriptorBindingVariableDescriptorCount, descriptor_binding_variable_descriptor_count, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    runtimeDescriptorArray, runtime_descriptor_array, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceDescriptorIndexingFeatures];
    samplerFilterMinmax, sampler_filter_minmax, YES, [PhysicalDeviceVulkan12Features];
    scalarBlockLayout, scalar_block_layout, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceScalarBlockLayoutFeatures];
    imagelessFramebuffer, imageless_framebuffer, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceImagelessFramebufferFeatures];
    uniformBufferStandardLayout, uniform_buffer_standard_layout, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceUniformBufferStandardLayoutFeatures];
    shaderSubgroupExtendedTypes, shader_subgroup_extended_types, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceShaderSubgroupExtendedTypesFeatures];
    separateDepthStencilLayouts, separate_depth_stencil_layouts, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceSeparateDepthStencilLayoutsFeatures];
    hostQueryReset, host_query_reset, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceHostQueryResetFeatures];
    timelineSemaphore, timeline_semaphore, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceTimelineSemaphoreFeatures];
    bufferDeviceAddress, buffer_device_address, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceBufferDeviceAddressFeatures, PhysicalDeviceBufferDeviceAddressFeaturesEXT];
    bufferDeviceAddressCaptureReplay, buffer_device_address_capture_replay, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceBufferDeviceAddressFeatures];
    bufferDeviceAddressMultiDevice, buffer_device_address_multi_device, ONE_DEVICE, [PhysicalDeviceVulkan12Features, PhysicalDeviceBufferDeviceAddressFeatures, PhysicalDeviceBufferDeviceAddressFeaturesEXT];
    bufferDeviceAddressCaptureReplayEXT, buffer_device_address_capture_replay, NO_EXT_REPLAY, [PhysicalDeviceBufferDeviceAddressFeaturesEXT];
    vulkanMemoryModel, vulkan_memory_model, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceVulkanMemoryModelFeatures];
    vulkanMemoryModelDeviceScope, vulkan_memory_model_device_scope, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceVulkanMemoryModelFeatures];
    vulkanMemoryModelAvailabilityVisibilityChains, vulkan_memory_model_availability_visibility_chains, YES, [PhysicalDeviceVulkan12Features, PhysicalDeviceVulkanMemoryModelFeatures];
    shaderOutputViewportIndex, shader_output_viewport_index, YES, [PhysicalDeviceVulkan12Features];
    shaderOutputLayer, shader_output_layer, YES, [PhysicalDeviceVulkan12Features];
    subgroupBroadcastDynamicId, subgroup_broadcast_dynamic_id, YES, [PhysicalDeviceVulkan12Features];
    robustImageAccess, robust_image_access, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceImageRobustnessFeatures];
    inlineUniformBlock, inline_uniform_block, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceInlineUniformBlockFeatures];
    descriptorBindingInlineUniformBlockUpdateAfterBind, descriptor_binding_inline_uniform_block_update_after_bind, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceInlineUniformBlockFeatures];
    pipelineCreationCacheControl, pipeline_creation_cache_control, YES, [PhysicalDeviceVulkan13Features, PhysicalDevicePipelineCreationCacheControlFeatures];
    privateData, private_data, YES, [PhysicalDeviceVulkan13Features, PhysicalDevicePrivateDataFeatures];
    shaderDemoteToHelperInvocation, shader_demote_to_helper_invocation, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceShaderDemoteToHelperInvocationFeatures];
    shaderTerminateInvocation, shader_terminate_invocation, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceShaderTerminateInvocationFeatures];
    subgroupSizeControl, subgroup_size_control, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceSubgroupSizeControlFeatures];
    computeFullSubgroups, compute_full_subgroups, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceSubgroupSizeControlFeatures];
    synchronization2, synchronization2, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceSynchronization2Features];
    textureCompressionASTC_HDR, texture_compression_astc_hdr, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceTextureCompressionASTCHDRFeatures];
    shaderZeroInitializeWorkgroupMemory, shader_zero_initialize_workgroup_memory, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures];
    dynamicRendering, dynamic_rendering, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceDynamicRenderingFeatures];
    shaderIntegerDotProduct, shader_integer_dot_product, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceShaderIntegerDotProductFeatures];
    maintenance4, maintenance4, YES, [PhysicalDeviceVulkan13Features, PhysicalDeviceMaintenance4Features];
    maintenance6, maintenance6, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceMaintenance6FeaturesKHR];
    maintenance7, maintenance7, YES, [PhysicalDeviceMaintenance7FeaturesKHR];
    maintenance8, maintenance8, YES, [PhysicalDeviceMaintenance8FeaturesKHR];
    maintenance10, maintenance10, YES, [PhysicalDeviceMaintenance10FeaturesKHR];
    maintenance9, maintenance9, YES, [PhysicalDeviceMaintenance9FeaturesKHR];
    // Without protected memory no command buffer is protected. A pipeline for protected command
    // buffers is never bound, and a pipeline for the other ones is any pipeline.
    pipelineProtectedAccess, pipeline_protected_access, YES, [PhysicalDeviceVulkan14Features, PhysicalDevicePipelineProtectedAccessFeaturesEXT];
    pushDescriptor, push_descriptor, YES, [PhysicalDeviceVulkan14Features];
    maintenance5, maintenance5, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceMaintenance5FeaturesKHR];
    vertexAttributeRobustness, vertex_attribute_robustness, YES, [PhysicalDeviceVertexAttributeRobustnessFeaturesEXT];
    vertexAttributeInstanceRateDivisor, vertex_attribute_instance_rate_divisor, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceVertexAttributeDivisorFeaturesKHR];
    vertexAttributeInstanceRateZeroDivisor, vertex_attribute_instance_rate_zero_divisor, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceVertexAttributeDivisorFeaturesKHR];
    indexTypeUint8, index_type_uint8, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceIndexTypeUint8FeaturesKHR];
    rectangularLines, rectangular_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    bresenhamLines, bresenham_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    smoothLines, smooth_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    stippledRectangularLines, stippled_rectangular_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    stippledBresenhamLines, stippled_bresenham_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    stippledSmoothLines, stippled_smooth_lines, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceLineRasterizationFeaturesKHR];
    workgroupMemoryExplicitLayout, workgroup_memory_explicit_layout, YES, [PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR];
    workgroupMemoryExplicitLayoutScalarBlockLayout, workgroup_memory_explicit_layout_scalar_block_layout, YES, [PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR];
    workgroupMemoryExplicitLayout8BitAccess, workgroup_memory_explicit_layout8_bit_access, YES, [PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR];
    workgroupMemoryExplicitLayout16BitAccess, workgroup_memory_explicit_layout16_bit_access, YES, [PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR];
    texelBufferAlignment, texel_buffer_alignment, YES, [PhysicalDeviceTexelBufferAlignmentFeaturesEXT];
    ycbcr2plane444Formats, ycbcr2plane444_formats, YES, [PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT];
    ycbcrImageArrays, ycbcr_image_arrays, YES, [PhysicalDeviceYcbcrImageArraysFeaturesEXT];
    formatRgba10x6WithoutYCbCrSampler, format_rgba10x6_without_y_cb_cr_sampler, YES, [PhysicalDeviceRGBA10X6FormatsFeaturesEXT];
    formatA4R4G4B4, format_a4r4g4b4, YES, [PhysicalDevice4444FormatsFeaturesEXT];
    formatA4B4G4R4, format_a4b4g4r4, YES, [PhysicalDevice4444FormatsFeaturesEXT];
    extendedDynamicState, extended_dynamic_state, YES, [PhysicalDeviceExtendedDynamicStateFeaturesEXT];
    extendedDynamicState2, extended_dynamic_state2, YES, [PhysicalDeviceExtendedDynamicState2FeaturesEXT];
    extendedDynamicState2LogicOp, extended_dynamic_state2_logic_op, YES, [PhysicalDeviceExtendedDynamicState2FeaturesEXT];
    extendedDynamicState2PatchControlPoints, extended_dynamic_state2_patch_control_points, YES, [PhysicalDeviceExtendedDynamicState2FeaturesEXT];
    extendedDynamicState3TessellationDomainOrigin, extended_dynamic_state3_tessellation_domain_origin, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3DepthClampEnable, extended_dynamic_state3_depth_clamp_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3PolygonMode, extended_dynamic_state3_polygon_mode, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3RasterizationSamples, extended_dynamic_state3_rasterization_samples, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3SampleMask, extended_dynamic_state3_sample_mask, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3AlphaToCoverageEnable, extended_dynamic_state3_alpha_to_coverage_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3AlphaToOneEnable, extended_dynamic_state3_alpha_to_one_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3LogicOpEnable, extended_dynamic_state3_logic_op_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ColorBlendEnable, extended_dynamic_state3_color_blend_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ColorBlendEquation, extended_dynamic_state3_color_blend_equation, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ColorWriteMask, extended_dynamic_state3_color_write_mask, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3DepthClipEnable, extended_dynamic_state3_depth_clip_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3LineRasterizationMode, extended_dynamic_state3_line_rasterization_mode, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3LineStippleEnable, extended_dynamic_state3_line_stipple_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3RasterizationStream, extended_dynamic_state3_rasterization_stream, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ConservativeRasterizationMode, extended_dynamic_state3_conservative_rasterization_mode, LATER, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ExtraPrimitiveOverestimationSize, extended_dynamic_state3_extra_primitive_overestimation_size, LATER, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3SampleLocationsEnable, extended_dynamic_state3_sample_locations_enable, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ColorBlendAdvanced, extended_dynamic_state3_color_blend_advanced, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ProvokingVertexMode, extended_dynamic_state3_provoking_vertex_mode, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3DepthClipNegativeOneToOne, extended_dynamic_state3_depth_clip_negative_one_to_one, YES, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ViewportWScalingEnable, extended_dynamic_state3_viewport_w_scaling_enable, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ViewportSwizzle, extended_dynamic_state3_viewport_swizzle, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageToColorEnable, extended_dynamic_state3_coverage_to_color_enable, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageToColorLocation, extended_dynamic_state3_coverage_to_color_location, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageModulationMode, extended_dynamic_state3_coverage_modulation_mode, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageModulationTableEnable, extended_dynamic_state3_coverage_modulation_table_enable, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageModulationTable, extended_dynamic_state3_coverage_modulation_table, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3CoverageReductionMode, extended_dynamic_state3_coverage_reduction_mode, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3RepresentativeFragmentTestEnable, extended_dynamic_state3_representative_fragment_test_enable, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    extendedDynamicState3ShadingRateImageEnable, extended_dynamic_state3_shading_rate_image_enable, NO_NV, [PhysicalDeviceExtendedDynamicState3FeaturesEXT];
    advancedBlendCoherentOperations, advanced_blend_coherent_operations, YES, [PhysicalDeviceBlendOperationAdvancedFeaturesEXT];
    multisampledRenderToSingleSampled, multisampled_render_to_single_sampled, YES, [PhysicalDeviceMultisampledRenderToSingleSampledFeaturesEXT];
    multisampledRenderToSwapchain, multisampled_render_to_swapchain, YES, [PhysicalDeviceMultisampledRenderToSwapchainFeaturesEXT];
    multiDraw, multi_draw, YES, [PhysicalDeviceMultiDrawFeaturesEXT];
    robustBufferAccess2, robust_buffer_access2, YES, [PhysicalDeviceRobustness2FeaturesEXT];
    robustImageAccess2, robust_image_access2, YES, [PhysicalDeviceRobustness2FeaturesEXT];
    nullDescriptor, null_descriptor, YES, [PhysicalDeviceRobustness2FeaturesEXT];
    shaderExpectAssume, shader_expect_assume, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceShaderExpectAssumeFeaturesKHR];
    shaderSubgroupRotate, shader_subgroup_rotate, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceShaderSubgroupRotateFeaturesKHR];
    shaderSubgroupRotateClustered, shader_subgroup_rotate_clustered, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceShaderSubgroupRotateFeaturesKHR];
    shaderSubgroupUniformControlFlow, shader_subgroup_uniform_control_flow, YES, [PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR];
    shaderMaximalReconvergence, shader_maximal_reconvergence, YES, [PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR];
    shaderQuadControl, shader_quad_control, YES, [PhysicalDeviceShaderQuadControlFeaturesKHR];
    shaderSubgroupClock, shader_subgroup_clock, YES, [PhysicalDeviceShaderClockFeaturesKHR];
    shaderDeviceClock, shader_device_clock, YES, [PhysicalDeviceShaderClockFeaturesKHR];
    shaderReplicatedComposites, shader_replicated_composites, YES, [PhysicalDeviceShaderReplicatedCompositesFeaturesEXT];
    computeDerivativeGroupQuads, compute_derivative_group_quads, YES, [PhysicalDeviceComputeShaderDerivativesFeaturesKHR];
    computeDerivativeGroupLinear, compute_derivative_group_linear, YES, [PhysicalDeviceComputeShaderDerivativesFeaturesKHR];
    cooperativeMatrix, cooperative_matrix, YES, [PhysicalDeviceCooperativeMatrixFeaturesKHR];
    cooperativeMatrixRobustBufferAccess, cooperative_matrix_robust_buffer_access, YES, [PhysicalDeviceCooperativeMatrixFeaturesKHR];
    cooperativeMatrixWorkgroupScope, cooperative_matrix_workgroup_scope, LATER, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixFlexibleDimensions, cooperative_matrix_flexible_dimensions, LATER, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixReductions, cooperative_matrix_reductions, YES, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixConversions, cooperative_matrix_conversions, YES, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixPerElementOperations, cooperative_matrix_per_element_operations, YES, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixTensorAddressing, cooperative_matrix_tensor_addressing, LATER, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    cooperativeMatrixBlockLoads, cooperative_matrix_block_loads, LATER, [PhysicalDeviceCooperativeMatrix2FeaturesNV];
    shaderUntypedPointers, shader_untyped_pointers, YES, [PhysicalDeviceShaderUntypedPointersFeaturesKHR];
    shaderSubgroupPartitioned, shader_subgroup_partitioned, YES, [PhysicalDeviceShaderSubgroupPartitionedFeaturesEXT];
    pipelineRobustness, pipeline_robustness, YES, [PhysicalDeviceVulkan14Features, PhysicalDevicePipelineRobustnessFeaturesEXT];
    customBorderColors, custom_border_colors, YES, [PhysicalDeviceCustomBorderColorFeaturesEXT];
    customBorderColorWithoutFormat, custom_border_color_without_format, YES, [PhysicalDeviceCustomBorderColorFeaturesEXT];
    depthClipEnable, depth_clip_enable, YES, [PhysicalDeviceDepthClipEnableFeaturesEXT];
    depthClipControl, depth_clip_control, YES, [PhysicalDeviceDepthClipControlFeaturesEXT];
    provokingVertexLast, provoking_vertex_last, YES, [PhysicalDeviceProvokingVertexFeaturesEXT];
    transformFeedbackPreservesProvokingVertex, transform_feedback_preserves_provoking_vertex, YES, [PhysicalDeviceProvokingVertexFeaturesEXT];
    primitiveTopologyListRestart, primitive_topology_list_restart, YES, [PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT];
    primitiveTopologyPatchListRestart, primitive_topology_patch_list_restart, YES, [PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT];
    colorWriteEnable, color_write_enable, YES, [PhysicalDeviceColorWriteEnableFeaturesEXT];
    vertexInputDynamicState, vertex_input_dynamic_state, YES, [PhysicalDeviceVertexInputDynamicStateFeaturesEXT];
    conditionalRendering, conditional_rendering, YES, [PhysicalDeviceConditionalRenderingFeaturesEXT];
    inheritedConditionalRendering, inherited_conditional_rendering, YES, [PhysicalDeviceConditionalRenderingFeaturesEXT];
    transformFeedback, transform_feedback, YES, [PhysicalDeviceTransformFeedbackFeaturesEXT];
    geometryStreams, geometry_streams, YES, [PhysicalDeviceTransformFeedbackFeaturesEXT];
    primitivesGeneratedQuery, primitives_generated_query, YES, [PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT];
    taskShader, task_shader, YES, [PhysicalDeviceMeshShaderFeaturesEXT];
    meshShader, mesh_shader, YES, [PhysicalDeviceMeshShaderFeaturesEXT];
    multiviewMeshShader, multiview_mesh_shader, YES, [PhysicalDeviceMeshShaderFeaturesEXT];
    primitiveFragmentShadingRateMeshShader, primitive_fragment_shading_rate_mesh_shader, NO_RATE, [PhysicalDeviceMeshShaderFeaturesEXT];
    meshShaderQueries, mesh_shader_queries, YES, [PhysicalDeviceMeshShaderFeaturesEXT];
    primitivesGeneratedQueryWithRasterizerDiscard, primitives_generated_query_with_rasterizer_discard, YES, [PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT];
    primitivesGeneratedQueryWithNonZeroStreams, primitives_generated_query_with_non_zero_streams, YES, [PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT];
    depthBiasControl, depth_bias_control, YES, [PhysicalDeviceDepthBiasControlFeaturesEXT];
    leastRepresentableValueForceUnormRepresentation, least_representable_value_force_unorm_representation, YES, [PhysicalDeviceDepthBiasControlFeaturesEXT];
    floatRepresentation, float_representation, YES, [PhysicalDeviceDepthBiasControlFeaturesEXT];
    depthBiasExact, depth_bias_exact, YES, [PhysicalDeviceDepthBiasControlFeaturesEXT];
    memoryPriority, memory_priority, YES, [PhysicalDeviceMemoryPriorityFeaturesEXT];
    pageableDeviceLocalMemory, pageable_device_local_memory, YES, [PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT];
    globalPriorityQuery, global_priority_query, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceGlobalPriorityQueryFeaturesKHR];
    decodeModeSharedExponent, decode_mode_shared_exponent, NO_SHARED, [PhysicalDeviceASTCDecodeFeaturesEXT];
    minLod, min_lod, YES, [PhysicalDeviceImageViewMinLodFeaturesEXT];
    nonSeamlessCubeMap, non_seamless_cube_map, YES, [PhysicalDeviceNonSeamlessCubeMapFeaturesEXT];
    mutableDescriptorType, mutable_descriptor_type, YES, [PhysicalDeviceMutableDescriptorTypeFeaturesEXT];
    shaderBufferFloat32Atomics, shader_buffer_float32_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderBufferFloat32AtomicAdd, shader_buffer_float32_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderBufferFloat64Atomics, shader_buffer_float64_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderBufferFloat64AtomicAdd, shader_buffer_float64_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderSharedFloat32Atomics, shader_shared_float32_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderSharedFloat32AtomicAdd, shader_shared_float32_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderSharedFloat64Atomics, shader_shared_float64_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderSharedFloat64AtomicAdd, shader_shared_float64_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderImageFloat32Atomics, shader_image_float32_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderImageFloat32AtomicAdd, shader_image_float32_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    sparseImageFloat32Atomics, sparse_image_float32_atomics, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    sparseImageFloat32AtomicAdd, sparse_image_float32_atomic_add, YES, [PhysicalDeviceShaderAtomicFloatFeaturesEXT];
    shaderFloat16VectorAtomics, shader_float16_vector_atomics, YES, [PhysicalDeviceShaderAtomicFloat16VectorFeaturesNV];
    shaderBufferFloat16Atomics, shader_buffer_float16_atomics, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderBufferFloat16AtomicAdd, shader_buffer_float16_atomic_add, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderBufferFloat16AtomicMinMax, shader_buffer_float16_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderBufferFloat32AtomicMinMax, shader_buffer_float32_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderBufferFloat64AtomicMinMax, shader_buffer_float64_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderSharedFloat16Atomics, shader_shared_float16_atomics, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderSharedFloat16AtomicAdd, shader_shared_float16_atomic_add, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderSharedFloat16AtomicMinMax, shader_shared_float16_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderSharedFloat32AtomicMinMax, shader_shared_float32_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderSharedFloat64AtomicMinMax, shader_shared_float64_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderImageFloat32AtomicMinMax, shader_image_float32_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    sparseImageFloat32AtomicMinMax, sparse_image_float32_atomic_min_max, YES, [PhysicalDeviceShaderAtomicFloat2FeaturesEXT];
    shaderImageInt64Atomics, shader_image_int64_atomics, YES, [PhysicalDeviceShaderImageAtomicInt64FeaturesEXT];
    dynamicRenderingLocalRead, dynamic_rendering_local_read, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR];
    hostImageCopy, host_image_copy, YES, [PhysicalDeviceVulkan14Features, PhysicalDeviceHostImageCopyFeaturesEXT];
    nestedCommandBuffer, nested_command_buffer, YES, [PhysicalDeviceNestedCommandBufferFeaturesEXT];
    nestedCommandBufferRendering, nested_command_buffer_rendering, YES, [PhysicalDeviceNestedCommandBufferFeaturesEXT];
    nestedCommandBufferSimultaneousUse, nested_command_buffer_simultaneous_use, YES, [PhysicalDeviceNestedCommandBufferFeaturesEXT];
    zeroInitializeDeviceMemory, zero_initialize_device_memory, YES, [PhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT];
    image2DViewOf3D, image2_d_view_of3_d, YES, [PhysicalDeviceImage2DViewOf3DFeaturesEXT];
    sampler2DViewOf3D, sampler2_d_view_of3_d, YES, [PhysicalDeviceImage2DViewOf3DFeaturesEXT];
    imageSlicedViewOf3D, image_sliced_view_of3_d, YES, [PhysicalDeviceImageSlicedViewOf3DFeaturesEXT];
    unifiedImageLayouts, unified_image_layouts, YES, [PhysicalDeviceUnifiedImageLayoutsFeaturesKHR];
    unifiedImageLayoutsVideo, unified_image_layouts_video, NO_VIDEO, [PhysicalDeviceUnifiedImageLayoutsFeaturesKHR];
    dynamicRenderingUnusedAttachments, dynamic_rendering_unused_attachments, YES, [PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT];
    deviceAddressCommands, device_address_commands, YES, [PhysicalDeviceDeviceAddressCommandsFeaturesKHR];
    indirectMemoryCopy, indirect_memory_copy, YES, [PhysicalDeviceCopyMemoryIndirectFeaturesKHR];
    indirectMemoryToImageCopy, indirect_memory_to_image_copy, YES, [PhysicalDeviceCopyMemoryIndirectFeaturesKHR];
    borderColorSwizzle, border_color_swizzle, YES, [PhysicalDeviceBorderColorSwizzleFeaturesEXT];
    borderColorSwizzleFromImage, border_color_swizzle_from_image, YES, [PhysicalDeviceBorderColorSwizzleFeaturesEXT];
    primitiveRestartIndex, primitive_restart_index, YES, [PhysicalDevicePrimitiveRestartIndexFeaturesEXT];
    legacyVertexAttributes, legacy_vertex_attributes, YES, [PhysicalDeviceLegacyVertexAttributesFeaturesEXT];
    attachmentFeedbackLoopLayout, attachment_feedback_loop_layout, YES, [PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT];
    presentId, present_id, YES, [PhysicalDevicePresentIdFeaturesKHR];
    presentWait, present_wait, YES, [PhysicalDevicePresentWaitFeaturesKHR];
    maintenance11, maintenance11, YES, [PhysicalDeviceMaintenance11FeaturesKHR];
    presentId2, present_id2, YES, [PhysicalDevicePresentId2FeaturesKHR];
    presentWait2, present_wait2, YES, [PhysicalDevicePresentWait2FeaturesKHR];
    swapchainMaintenance1, swapchain_maintenance1, YES, [PhysicalDeviceSwapchainMaintenance1FeaturesEXT];
    descriptorBuffer, descriptor_buffer, YES, [PhysicalDeviceDescriptorBufferFeaturesEXT];
    descriptorBufferCaptureReplay, descriptor_buffer_capture_replay, YES, [PhysicalDeviceDescriptorBufferFeaturesEXT];
    descriptorBufferImageLayoutIgnored, descriptor_buffer_image_layout_ignored, YES, [PhysicalDeviceDescriptorBufferFeaturesEXT];
    descriptorBufferPushDescriptors, descriptor_buffer_push_descriptors, YES, [PhysicalDeviceDescriptorBufferFeaturesEXT];
    descriptorHeap, descriptor_heap, YES, [PhysicalDeviceDescriptorHeapFeaturesEXT];
    descriptorHeapCaptureReplay, descriptor_heap_capture_replay, NO_REPLAY, [PhysicalDeviceDescriptorHeapFeaturesEXT];
    deviceFault, device_fault, YES, [PhysicalDeviceFaultFeaturesEXT, PhysicalDeviceFaultFeaturesKHR];
    deviceFaultVendorBinary, device_fault_vendor_binary, NO_DUMP, [PhysicalDeviceFaultFeaturesEXT, PhysicalDeviceFaultFeaturesKHR];
    deviceFaultReportMasked, device_fault_report_masked, NO_MASKED, [PhysicalDeviceFaultFeaturesKHR];
    deviceFaultDeviceLostOnMasked, device_fault_device_lost_on_masked, NO_MASKED, [PhysicalDeviceFaultFeaturesKHR];
    pipelineExecutableInfo, pipeline_executable_info, YES, [PhysicalDevicePipelineExecutablePropertiesFeaturesKHR];
    attachmentFeedbackLoopDynamicState, attachment_feedback_loop_dynamic_state, YES, [PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT];
    rasterizationOrderColorAttachmentAccess, rasterization_order_color_attachment_access, YES, [PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT];
    rasterizationOrderDepthAttachmentAccess, rasterization_order_depth_attachment_access, YES, [PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT];
    rasterizationOrderStencilAttachmentAccess, rasterization_order_stencil_attachment_access, YES, [PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT];
    fragmentShaderSampleInterlock, fragment_shader_sample_interlock, YES, [PhysicalDeviceFragmentShaderInterlockFeaturesEXT];
    fragmentShaderPixelInterlock, fragment_shader_pixel_interlock, YES, [PhysicalDeviceFragmentShaderInterlockFeaturesEXT];
    fragmentShaderShadingRateInterlock, fragment_shader_shading_rate_interlock, NO_RATE, [PhysicalDeviceFragmentShaderInterlockFeaturesEXT];
    sparseImageInt64Atomics, sparse_image_int64_atomics, YES, [PhysicalDeviceShaderImageAtomicInt64FeaturesEXT];
}
}

#[rustfmt::skip]
structs! {
    PhysicalDeviceVulkan11Features: [Core(V1_2)];
    PhysicalDeviceVulkan12Features: [Core(V1_2)];
    PhysicalDeviceVulkan13Features: [Core(V1_3)];
    PhysicalDeviceVulkan14Features: [Core(V1_4)];
    PhysicalDevicePipelineProtectedAccessFeaturesEXT: [Ext(E::VK_EXT_pipeline_protected_access)];
    PhysicalDeviceMaintenance4Features: [Ext(E::VK_KHR_maintenance4), Core(V1_3)];
    PhysicalDeviceMaintenance6FeaturesKHR: [Ext(E::VK_KHR_maintenance6)];
    PhysicalDeviceMaintenance7FeaturesKHR: [Ext(E::VK_KHR_maintenance7)];
    PhysicalDeviceMaintenance8FeaturesKHR: [Ext(E::VK_KHR_maintenance8)];
    PhysicalDeviceMaintenance10FeaturesKHR: [Ext(E::VK_KHR_maintenance10)];
    PhysicalDeviceMaintenance9FeaturesKHR: [Ext(E::VK_KHR_maintenance9)];
    PhysicalDeviceMaintenance5FeaturesKHR: [Ext(E::VK_KHR_maintenance5)];
    PhysicalDeviceMultiviewFeatures: [Ext(E::VK_KHR_multiview), Core(V1_1)];
    PhysicalDeviceDynamicRenderingFeatures: [Ext(E::VK_KHR_dynamic_rendering), Core(V1_3)];
    PhysicalDeviceSynchronization2Features: [Ext(E::VK_KHR_synchronization2), Core(V1_3)];
    PhysicalDeviceTimelineSemaphoreFeatures: [Ext(E::VK_KHR_timeline_semaphore), Core(V1_2)];
    PhysicalDeviceBufferDeviceAddressFeatures: [Ext(E::VK_KHR_buffer_device_address), Core(V1_2)];
    PhysicalDeviceBufferDeviceAddressFeaturesEXT: [Ext(E::VK_EXT_buffer_device_address)];
    PhysicalDeviceSeparateDepthStencilLayoutsFeatures: [Ext(E::VK_KHR_separate_depth_stencil_layouts), Core(V1_2)];
    PhysicalDeviceImagelessFramebufferFeatures: [Ext(E::VK_KHR_imageless_framebuffer), Core(V1_2)];
    PhysicalDeviceUniformBufferStandardLayoutFeatures: [Ext(E::VK_KHR_uniform_buffer_standard_layout), Core(V1_2)];
    PhysicalDeviceShaderTerminateInvocationFeatures: [Ext(E::VK_KHR_shader_terminate_invocation), Core(V1_3)];
    PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures: [Ext(E::VK_KHR_zero_initialize_workgroup_memory), Core(V1_3)];
    PhysicalDeviceVulkanMemoryModelFeatures: [Ext(E::VK_KHR_vulkan_memory_model), Core(V1_2)];
    PhysicalDeviceVariablePointersFeatures: [Ext(E::VK_KHR_variable_pointers), Core(V1_1)];
    PhysicalDevice8BitStorageFeatures: [Ext(E::VK_KHR_8bit_storage), Core(V1_2)];
    PhysicalDevice16BitStorageFeatures: [Ext(E::VK_KHR_16bit_storage), Core(V1_1)];
    PhysicalDeviceShaderFloat16Int8Features: [Ext(E::VK_KHR_shader_float16_int8), Core(V1_2)];
    PhysicalDeviceShaderBfloat16FeaturesKHR: [Ext(E::VK_KHR_shader_bfloat16)];
    PhysicalDeviceShaderFloat8FeaturesEXT: [Ext(E::VK_EXT_shader_float8)];
    PhysicalDeviceShaderMixedFloatDotProductFeaturesVALVE: [Ext(E::VK_VALVE_shader_mixed_float_dot_product)];
    PhysicalDeviceShaderRelaxedExtendedInstructionFeaturesKHR: [Ext(E::VK_KHR_shader_relaxed_extended_instruction)];
    PhysicalDeviceShaderFloatControls2FeaturesKHR: [Ext(E::VK_KHR_shader_float_controls2)];
    PhysicalDeviceShaderAtomicInt64Features: [Ext(E::VK_KHR_shader_atomic_int64), Core(V1_2)];
    PhysicalDeviceShaderSubgroupExtendedTypesFeatures: [Ext(E::VK_KHR_shader_subgroup_extended_types), Core(V1_2)];
    PhysicalDeviceShaderIntegerDotProductFeatures: [Ext(E::VK_KHR_shader_integer_dot_product), Core(V1_3)];
    PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR: [Ext(E::VK_KHR_workgroup_memory_explicit_layout)];
    PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT: [Ext(E::VK_EXT_ycbcr_2plane_444_formats)];
    PhysicalDeviceYcbcrImageArraysFeaturesEXT: [Ext(E::VK_EXT_ycbcr_image_arrays)];
    PhysicalDeviceRGBA10X6FormatsFeaturesEXT: [Ext(E::VK_EXT_rgba10x6_formats)];
    PhysicalDeviceSamplerYcbcrConversionFeatures: [Ext(E::VK_KHR_sampler_ycbcr_conversion), Core(V1_1)];
    PhysicalDeviceVertexAttributeRobustnessFeaturesEXT: [Ext(E::VK_EXT_vertex_attribute_robustness)];
    PhysicalDeviceVertexAttributeDivisorFeaturesKHR: [Ext(E::VK_KHR_vertex_attribute_divisor), Ext(E::VK_EXT_vertex_attribute_divisor)];
    PhysicalDeviceIndexTypeUint8FeaturesKHR: [Ext(E::VK_KHR_index_type_uint8), Ext(E::VK_EXT_index_type_uint8)];
    PhysicalDeviceLineRasterizationFeaturesKHR: [Ext(E::VK_KHR_line_rasterization), Ext(E::VK_EXT_line_rasterization)];
    PhysicalDeviceDescriptorIndexingFeatures: [Ext(E::VK_EXT_descriptor_indexing), Core(V1_2)];
    PhysicalDeviceHostQueryResetFeatures: [Ext(E::VK_EXT_host_query_reset), Core(V1_2)];
    PhysicalDeviceScalarBlockLayoutFeatures: [Ext(E::VK_EXT_scalar_block_layout), Core(V1_2)];
    PhysicalDeviceShaderDemoteToHelperInvocationFeatures: [Ext(E::VK_EXT_shader_demote_to_helper_invocation), Core(V1_3)];
    PhysicalDevicePrivateDataFeatures: [Ext(E::VK_EXT_private_data), Core(V1_3)];
    PhysicalDevicePipelineCreationCacheControlFeatures: [Ext(E::VK_EXT_pipeline_creation_cache_control), Core(V1_3)];
    PhysicalDeviceImageRobustnessFeatures: [Ext(E::VK_EXT_image_robustness), Core(V1_3)];
    PhysicalDeviceTexelBufferAlignmentFeaturesEXT: [Ext(E::VK_EXT_texel_buffer_alignment)];
    PhysicalDevice4444FormatsFeaturesEXT: [Ext(E::VK_EXT_4444_formats)];
    PhysicalDeviceExtendedDynamicStateFeaturesEXT: [Ext(E::VK_EXT_extended_dynamic_state)];
    PhysicalDeviceExtendedDynamicState2FeaturesEXT: [Ext(E::VK_EXT_extended_dynamic_state2)];
    PhysicalDeviceExtendedDynamicState3FeaturesEXT: [Ext(E::VK_EXT_extended_dynamic_state3)];
    PhysicalDeviceBlendOperationAdvancedFeaturesEXT: [Ext(E::VK_EXT_blend_operation_advanced)];
    PhysicalDeviceMultisampledRenderToSingleSampledFeaturesEXT: [Ext(E::VK_EXT_multisampled_render_to_single_sampled)];
    PhysicalDeviceMultisampledRenderToSwapchainFeaturesEXT: [Ext(E::VK_EXT_multisampled_render_to_swapchain)];
    PhysicalDeviceMultiDrawFeaturesEXT: [Ext(E::VK_EXT_multi_draw)];
    PhysicalDeviceRobustness2FeaturesEXT: [Ext(E::VK_EXT_robustness2), Ext(E::VK_KHR_robustness2)];
    PhysicalDeviceShaderExpectAssumeFeaturesKHR: [Ext(E::VK_KHR_shader_expect_assume)];
    PhysicalDeviceShaderSubgroupRotateFeaturesKHR: [Ext(E::VK_KHR_shader_subgroup_rotate)];
    PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR: [Ext(E::VK_KHR_shader_subgroup_uniform_control_flow)];
    PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR: [Ext(E::VK_KHR_shader_maximal_reconvergence)];
    PhysicalDeviceShaderQuadControlFeaturesKHR: [Ext(E::VK_KHR_shader_quad_control)];
    PhysicalDeviceShaderClockFeaturesKHR: [Ext(E::VK_KHR_shader_clock)];
    PhysicalDeviceShaderReplicatedCompositesFeaturesEXT: [Ext(E::VK_EXT_shader_replicated_composites)];
    PhysicalDeviceComputeShaderDerivativesFeaturesKHR: [Ext(E::VK_KHR_compute_shader_derivatives), Ext(E::VK_NV_compute_shader_derivatives)];
    PhysicalDeviceCooperativeMatrixFeaturesKHR: [Ext(E::VK_KHR_cooperative_matrix)];
    PhysicalDeviceCooperativeMatrix2FeaturesNV: [Ext(E::VK_NV_cooperative_matrix2)];
    PhysicalDeviceShaderUntypedPointersFeaturesKHR: [Ext(E::VK_KHR_shader_untyped_pointers)];
    PhysicalDeviceShaderSubgroupPartitionedFeaturesEXT: [Ext(E::VK_EXT_shader_subgroup_partitioned)];
    PhysicalDevicePipelineRobustnessFeaturesEXT: [Ext(E::VK_EXT_pipeline_robustness)];
    PhysicalDeviceSubgroupSizeControlFeatures: [Ext(E::VK_EXT_subgroup_size_control), Core(V1_3)];
    PhysicalDeviceInlineUniformBlockFeatures: [Ext(E::VK_EXT_inline_uniform_block), Core(V1_3)];
    PhysicalDeviceCustomBorderColorFeaturesEXT: [Ext(E::VK_EXT_custom_border_color)];
    PhysicalDeviceDepthClipEnableFeaturesEXT: [Ext(E::VK_EXT_depth_clip_enable)];
    PhysicalDeviceDepthClipControlFeaturesEXT: [Ext(E::VK_EXT_depth_clip_control)];
    PhysicalDeviceProvokingVertexFeaturesEXT: [Ext(E::VK_EXT_provoking_vertex)];
    PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT: [Ext(E::VK_EXT_primitive_topology_list_restart)];
    PhysicalDeviceColorWriteEnableFeaturesEXT: [Ext(E::VK_EXT_color_write_enable)];
    PhysicalDeviceVertexInputDynamicStateFeaturesEXT: [Ext(E::VK_EXT_vertex_input_dynamic_state)];
    PhysicalDeviceConditionalRenderingFeaturesEXT: [Ext(E::VK_EXT_conditional_rendering)];
    PhysicalDeviceTransformFeedbackFeaturesEXT: [Ext(E::VK_EXT_transform_feedback)];
    PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT: [Ext(E::VK_EXT_primitives_generated_query)];
    PhysicalDeviceMeshShaderFeaturesEXT: [Ext(E::VK_EXT_mesh_shader)];
    PhysicalDeviceDepthBiasControlFeaturesEXT: [Ext(E::VK_EXT_depth_bias_control)];
    PhysicalDeviceMemoryPriorityFeaturesEXT: [Ext(E::VK_EXT_memory_priority)];
    PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT: [Ext(E::VK_EXT_pageable_device_local_memory)];
    PhysicalDeviceGlobalPriorityQueryFeaturesKHR: [Ext(E::VK_KHR_global_priority), Ext(E::VK_EXT_global_priority_query)];
    PhysicalDeviceASTCDecodeFeaturesEXT: [Ext(E::VK_EXT_astc_decode_mode)];
    PhysicalDeviceImageViewMinLodFeaturesEXT: [Ext(E::VK_EXT_image_view_min_lod)];
    PhysicalDeviceNonSeamlessCubeMapFeaturesEXT: [Ext(E::VK_EXT_non_seamless_cube_map)];
    PhysicalDeviceMutableDescriptorTypeFeaturesEXT: [Ext(E::VK_EXT_mutable_descriptor_type)];
    PhysicalDeviceShaderAtomicFloatFeaturesEXT: [Ext(E::VK_EXT_shader_atomic_float)];
    PhysicalDeviceShaderAtomicFloat2FeaturesEXT: [Ext(E::VK_EXT_shader_atomic_float2)];
    PhysicalDeviceShaderAtomicFloat16VectorFeaturesNV: [Ext(E::VK_NV_shader_atomic_float16_vector)];
    PhysicalDeviceShaderImageAtomicInt64FeaturesEXT: [Ext(E::VK_EXT_shader_image_atomic_int64)];
    PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR: [Ext(E::VK_KHR_dynamic_rendering_local_read)];
    PhysicalDeviceHostImageCopyFeaturesEXT: [Ext(E::VK_EXT_host_image_copy)];
    PhysicalDeviceNestedCommandBufferFeaturesEXT: [Ext(E::VK_EXT_nested_command_buffer)];
    PhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT: [Ext(E::VK_EXT_zero_initialize_device_memory)];
    PhysicalDeviceImage2DViewOf3DFeaturesEXT: [Ext(E::VK_EXT_image_2d_view_of_3d)];
    PhysicalDeviceImageSlicedViewOf3DFeaturesEXT: [Ext(E::VK_EXT_image_sliced_view_of_3d)];
    PhysicalDeviceUnifiedImageLayoutsFeaturesKHR: [Ext(E::VK_KHR_unified_image_layouts)];
    PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT: [Ext(E::VK_EXT_dynamic_rendering_unused_attachments)];
    PhysicalDeviceTextureCompressionASTCHDRFeatures: [Ext(E::VK_EXT_texture_compression_astc_hdr), Core(V1_3)];
    PhysicalDeviceDeviceAddressCommandsFeaturesKHR: [Ext(E::VK_KHR_device_address_commands)];
    PhysicalDeviceCopyMemoryIndirectFeaturesKHR: [Ext(E::VK_KHR_copy_memory_indirect)];
    PhysicalDeviceBorderColorSwizzleFeaturesEXT: [Ext(E::VK_EXT_border_color_swizzle)];
    PhysicalDevicePrimitiveRestartIndexFeaturesEXT: [Ext(E::VK_EXT_primitive_restart_index)];
    PhysicalDeviceLegacyVertexAttributesFeaturesEXT: [Ext(E::VK_EXT_legacy_vertex_attributes)];
    PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT: [Ext(E::VK_EXT_rasterization_order_attachment_access), Ext(E::VK_ARM_rasterization_order_attachment_access)];
    PhysicalDeviceFragmentShaderInterlockFeaturesEXT: [Ext(E::VK_EXT_fragment_shader_interlock)];
    PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT: [Ext(E::VK_EXT_attachment_feedback_loop_layout)];
    PhysicalDevicePresentIdFeaturesKHR: [Ext(E::VK_KHR_present_id)];
    PhysicalDevicePresentWaitFeaturesKHR: [Ext(E::VK_KHR_present_wait)];
    PhysicalDeviceMaintenance11FeaturesKHR: [Ext(E::VK_KHR_maintenance11)];
    PhysicalDevicePresentId2FeaturesKHR: [Ext(E::VK_KHR_present_id2)];
    PhysicalDevicePresentWait2FeaturesKHR: [Ext(E::VK_KHR_present_wait2)];
    PhysicalDeviceSwapchainMaintenance1FeaturesEXT: [Ext(E::VK_KHR_swapchain_maintenance1), Ext(E::VK_EXT_swapchain_maintenance1)];
    PhysicalDeviceDescriptorBufferFeaturesEXT: [Ext(E::VK_EXT_descriptor_buffer)];
    PhysicalDeviceDescriptorHeapFeaturesEXT: [Ext(E::VK_EXT_descriptor_heap)];
    PhysicalDeviceFaultFeaturesEXT: [Ext(E::VK_EXT_device_fault)];
    PhysicalDeviceFaultFeaturesKHR: [Ext(E::VK_KHR_device_fault)];
    PhysicalDevicePipelineExecutablePropertiesFeaturesKHR: [Ext(E::VK_KHR_pipeline_executable_properties)];
    PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT: [Ext(E::VK_EXT_attachment_feedback_loop_dynamic_state)];
    PhysicalDeviceShaderDrawParametersFeatures: [Core(V1_1)];
    PhysicalDeviceProtectedMemoryFeatures: [Core(V1_1)];
}
