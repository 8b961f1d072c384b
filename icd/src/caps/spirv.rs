//! SPIR-V capabilities and extensions with the Vulkan features that unlock them (the tables of the
//! "Vulkan Environment for SPIR-V" appendix). Shaders may therefore declare exactly what the driver
//! advertises.

#![forbid(unsafe_code)]

use super::extensions::{Extension as E, Extension};
use super::features::{Feature, Feature as F};
use super::properties::{
    DENORM_FLUSH_TO_ZERO, DENORM_PRESERVE, ROUNDING_MODE_RTE, ROUNDING_MODE_RTZ, SIGNED_ZERO_INF_NAN_PRESERVE,
    SUBGROUP_OPERATIONS,
};
use super::{API_VERSION, V1_0, V1_1, V1_2, V1_3};
use By::{Core, Ext, Feature as Feat, FloatControls, Subgroup};
use ash::vk;

/// Condition that unlocks a capability or a SPIR-V extension.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// A core version.
    Core(u32),
    /// A Vulkan extension.
    Ext(Extension),
    /// A feature.
    Feature(Feature),
    /// `subgroupSupportedOperations`, from Vulkan 1.1 on.
    Subgroup(vk::SubgroupFeatureFlags),
    /// A property of VK_KHR_shader_float_controls.
    FloatControls(bool),
}

impl By {
    fn is_met(self) -> bool {
        match self {
            Core(version) => API_VERSION >= version,
            Ext(extension) => extension.is_advertised(),
            Feat(feature) => feature.is_advertised(),
            FloatControls(property) => {
                property && (API_VERSION >= V1_2 || Extension::VK_KHR_shader_float_controls.is_advertised())
            }
            Subgroup(operations) => API_VERSION >= V1_1 && SUBGROUP_OPERATIONS.contains(operations),
        }
    }
}

/// A row of [`CAPABILITIES`].
#[derive(Debug)]
pub struct Capability {
    /// Name of the capability in the SPIR-V specification.
    pub name: &'static str,
    /// Number of the capability.
    pub number: u32,
    /// Conditions, any of which unlocks the capability.
    pub by: &'static [By],
}

/// Returns the numbers of the capabilities that shaders may declare.
pub fn capabilities() -> Vec<u32> {
    CAPABILITIES.iter().filter(|c| c.by.iter().any(|by| by.is_met())).map(|c| c.number).collect()
}

/// Returns the names of the SPIR-V extensions that shaders may declare.
pub fn extensions() -> Vec<String> {
    let met = SPIRV_EXTENSIONS.iter().filter(|(_, by)| by.iter().any(|by| by.is_met()));
    met.map(|(name, _)| (*name).to_owned()).collect()
}

/// Returns the highest SPIR-V version that modules may have, as in the second word of a module (1.0
/// is 0x10000).
pub fn version() -> u32 {
    let minor = match API_VERSION {
        version if version >= V1_3 => 6,
        version if version >= V1_2 => 5,
        _ if Extension::VK_KHR_spirv_1_4.is_advertised() => 4,
        version if version >= V1_1 => 3,
        _ => 0,
    };
    0x1_0000 | minor << 8
}

/// Capabilities that some row of the feature or extension table unlocks.
#[rustfmt::skip]
pub static CAPABILITIES: &[Capability] = &[
    Capability { name: "Matrix", number: 0, by: &[Core(V1_0)] },
    Capability { name: "Shader", number: 1, by: &[Core(V1_0)] },
    Capability { name: "InputAttachment", number: 40, by: &[Core(V1_0)] },
    Capability { name: "Sampled1D", number: 43, by: &[Core(V1_0)] },
    Capability { name: "Image1D", number: 44, by: &[Core(V1_0)] },
    Capability { name: "SampledBuffer", number: 46, by: &[Core(V1_0)] },
    Capability { name: "ImageBuffer", number: 47, by: &[Core(V1_0)] },
    Capability { name: "ImageQuery", number: 50, by: &[Core(V1_0)] },
    Capability { name: "DerivativeControl", number: 51, by: &[Core(V1_0)] },
    Capability { name: "SampleMaskPostDepthCoverage", number: 4447, by: &[Ext(E::VK_EXT_post_depth_coverage)] },
    Capability { name: "FragmentShaderSampleInterlockEXT", number: 5363, by: &[Feat(F::fragmentShaderSampleInterlock)] },
    Capability { name: "FragmentShaderPixelInterlockEXT", number: 5378, by: &[Feat(F::fragmentShaderPixelInterlock)] },
    Capability { name: "Geometry", number: 2, by: &[Feat(F::geometryShader)] },
    Capability { name: "Tessellation", number: 3, by: &[Feat(F::tessellationShader)] },
    Capability { name: "Float64", number: 10, by: &[Feat(F::shaderFloat64)] },
    Capability { name: "Int64", number: 11, by: &[Feat(F::shaderInt64)] },
    Capability { name: "Int64Atomics", number: 12, by: &[Feat(F::shaderBufferInt64Atomics), Feat(F::shaderSharedInt64Atomics)] },
    Capability { name: "AtomicFloat32AddEXT", number: 6033, by: &[Feat(F::shaderBufferFloat32AtomicAdd), Feat(F::shaderSharedFloat32AtomicAdd), Feat(F::shaderImageFloat32AtomicAdd)] },
    Capability { name: "AtomicFloat64AddEXT", number: 6034, by: &[Feat(F::shaderBufferFloat64AtomicAdd), Feat(F::shaderSharedFloat64AtomicAdd)] },
    Capability { name: "AtomicFloat16AddEXT", number: 6095, by: &[Feat(F::shaderBufferFloat16AtomicAdd), Feat(F::shaderSharedFloat16AtomicAdd)] },
    Capability { name: "AtomicFloat32MinMaxEXT", number: 5612, by: &[Feat(F::shaderBufferFloat32AtomicMinMax), Feat(F::shaderSharedFloat32AtomicMinMax), Feat(F::shaderImageFloat32AtomicMinMax)] },
    Capability { name: "AtomicFloat64MinMaxEXT", number: 5613, by: &[Feat(F::shaderBufferFloat64AtomicMinMax), Feat(F::shaderSharedFloat64AtomicMinMax)] },
    Capability { name: "AtomicFloat16MinMaxEXT", number: 5616, by: &[Feat(F::shaderBufferFloat16AtomicMinMax), Feat(F::shaderSharedFloat16AtomicMinMax)] },
    Capability { name: "AtomicFloat16VectorNV", number: 5404, by: &[Feat(F::shaderFloat16VectorAtomics)] },
    Capability { name: "Int64ImageEXT", number: 5016, by: &[Feat(F::shaderImageInt64Atomics)] },
    Capability { name: "Int16", number: 22, by: &[Feat(F::shaderInt16)] },
    Capability { name: "TessellationPointSize", number: 23, by: &[Feat(F::shaderTessellationAndGeometryPointSize)] },
    Capability { name: "GeometryPointSize", number: 24, by: &[Feat(F::shaderTessellationAndGeometryPointSize)] },
    Capability { name: "ImageGatherExtended", number: 25, by: &[Feat(F::shaderImageGatherExtended)] },
    Capability { name: "StorageImageMultisample", number: 27, by: &[Feat(F::shaderStorageImageMultisample)] },
    Capability { name: "UniformBufferArrayDynamicIndexing", number: 28, by: &[Feat(F::shaderUniformBufferArrayDynamicIndexing)] },
    Capability { name: "SampledImageArrayDynamicIndexing", number: 29, by: &[Feat(F::shaderSampledImageArrayDynamicIndexing)] },
    Capability { name: "StorageBufferArrayDynamicIndexing", number: 30, by: &[Feat(F::shaderStorageBufferArrayDynamicIndexing)] },
    Capability { name: "StorageImageArrayDynamicIndexing", number: 31, by: &[Feat(F::shaderStorageImageArrayDynamicIndexing)] },
    Capability { name: "ClipDistance", number: 32, by: &[Feat(F::shaderClipDistance)] },
    Capability { name: "CullDistance", number: 33, by: &[Feat(F::shaderCullDistance)] },
    Capability { name: "ImageCubeArray", number: 34, by: &[Feat(F::imageCubeArray)] },
    Capability { name: "SampleRateShading", number: 35, by: &[Feat(F::sampleRateShading)] },
    Capability { name: "SparseResidency", number: 41, by: &[Feat(F::shaderResourceResidency)] },
    Capability { name: "MinLod", number: 42, by: &[Feat(F::shaderResourceMinLod)] },
    Capability { name: "SampledCubeArray", number: 45, by: &[Feat(F::imageCubeArray)] },
    Capability { name: "ImageMSArray", number: 48, by: &[Feat(F::shaderStorageImageMultisample)] },
    Capability { name: "StorageImageExtendedFormats", number: 49, by: &[Core(V1_0)] },
    Capability { name: "InterpolationFunction", number: 52, by: &[Feat(F::sampleRateShading)] },
    Capability { name: "StorageImageReadWithoutFormat", number: 55, by: &[Feat(F::shaderStorageImageReadWithoutFormat), Core(V1_3), Ext(E::VK_KHR_format_feature_flags2)] },
    Capability { name: "StorageImageWriteWithoutFormat", number: 56, by: &[Feat(F::shaderStorageImageWriteWithoutFormat), Core(V1_3), Ext(E::VK_KHR_format_feature_flags2)] },
    Capability { name: "DrawParameters", number: 4427, by: &[Feat(F::shaderDrawParameters), Ext(E::VK_KHR_shader_draw_parameters)] },
    Capability { name: "MultiView", number: 4439, by: &[Feat(F::multiview)] },
    Capability { name: "DeviceGroup", number: 4437, by: &[Core(V1_1), Ext(E::VK_KHR_device_group)] },
    Capability { name: "VariablePointersStorageBuffer", number: 4441, by: &[Feat(F::variablePointersStorageBuffer)] },
    Capability { name: "VariablePointers", number: 4442, by: &[Feat(F::variablePointers)] },
    Capability { name: "StencilExportEXT", number: 5013, by: &[Ext(E::VK_EXT_shader_stencil_export)] },
    Capability { name: "MultiViewport", number: 57, by: &[Feat(F::multiViewport)] },
    Capability { name: "ShaderViewportIndex", number: 70, by: &[Feat(F::shaderOutputViewportIndex)] },
    Capability { name: "ShaderLayer", number: 69, by: &[Feat(F::shaderOutputLayer)] },
    Capability { name: "ShaderViewportIndexLayerEXT", number: 5254, by: &[Ext(E::VK_EXT_shader_viewport_index_layer)] },
    Capability { name: "StorageBuffer16BitAccess", number: 4433, by: &[Feat(F::storageBuffer16BitAccess)] },
    Capability { name: "UniformAndStorageBuffer16BitAccess", number: 4434, by: &[Feat(F::uniformAndStorageBuffer16BitAccess)] },
    Capability { name: "StoragePushConstant16", number: 4435, by: &[Feat(F::storagePushConstant16)] },
    Capability { name: "StorageInputOutput16", number: 4436, by: &[Feat(F::storageInputOutput16)] },
    Capability { name: "GroupNonUniform", number: 61, by: &[Subgroup(vk::SubgroupFeatureFlags::BASIC)] },
    Capability { name: "GroupNonUniformVote", number: 62, by: &[Subgroup(vk::SubgroupFeatureFlags::VOTE)] },
    Capability { name: "GroupNonUniformArithmetic", number: 63, by: &[Subgroup(vk::SubgroupFeatureFlags::ARITHMETIC)] },
    Capability { name: "GroupNonUniformBallot", number: 64, by: &[Subgroup(vk::SubgroupFeatureFlags::BALLOT)] },
    Capability { name: "GroupNonUniformShuffle", number: 65, by: &[Subgroup(vk::SubgroupFeatureFlags::SHUFFLE)] },
    Capability { name: "GroupNonUniformShuffleRelative", number: 66, by: &[Subgroup(vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE)] },
    Capability { name: "GroupNonUniformClustered", number: 67, by: &[Subgroup(vk::SubgroupFeatureFlags::CLUSTERED)] },
    Capability { name: "GroupNonUniformQuad", number: 68, by: &[Subgroup(vk::SubgroupFeatureFlags::QUAD)] },
    Capability { name: "GroupNonUniformRotateKHR", number: 6026, by: &[Feat(F::shaderSubgroupRotate)] },
    Capability { name: "GroupNonUniformPartitionedEXT", number: 5297, by: &[Feat(F::shaderSubgroupPartitioned), Ext(E::VK_NV_shader_subgroup_partitioned)] },
    Capability { name: "ComputeDerivativeGroupQuadsKHR", number: 5288, by: &[Feat(F::computeDerivativeGroupQuads)] },
    Capability { name: "ComputeDerivativeGroupLinearKHR", number: 5350, by: &[Feat(F::computeDerivativeGroupLinear)] },
    Capability { name: "CooperativeMatrixKHR", number: 6022, by: &[Feat(F::cooperativeMatrix)] },
    Capability { name: "CooperativeMatrixReductionsNV", number: 5430, by: &[Feat(F::cooperativeMatrixReductions)] },
    Capability { name: "CooperativeMatrixConversionsNV", number: 5431, by: &[Feat(F::cooperativeMatrixConversions)] },
    Capability { name: "CooperativeMatrixPerElementOperationsNV", number: 5432, by: &[Feat(F::cooperativeMatrixPerElementOperations)] },
    Capability { name: "UntypedPointersKHR", number: 4473, by: &[Feat(F::shaderUntypedPointers)] },
    Capability { name: "DescriptorHeapEXT", number: 5128, by: &[Feat(F::descriptorHeap)] },
    Capability { name: "ShaderClockKHR", number: 5055, by: &[Ext(E::VK_KHR_shader_clock)] },
    Capability { name: "ReplicatedCompositesEXT", number: 6024, by: &[Feat(F::shaderReplicatedComposites)] },
    Capability { name: "QuadControlKHR", number: 5087, by: &[Feat(F::shaderQuadControl)] },
    Capability { name: "ExpectAssumeKHR", number: 5629, by: &[Feat(F::shaderExpectAssume)] },
    Capability { name: "ShaderNonUniform", number: 5301, by: &[Core(V1_2), Ext(E::VK_EXT_descriptor_indexing)] },
    Capability { name: "RuntimeDescriptorArray", number: 5302, by: &[Feat(F::runtimeDescriptorArray)] },
    Capability { name: "InputAttachmentArrayDynamicIndexing", number: 5303, by: &[Feat(F::shaderInputAttachmentArrayDynamicIndexing)] },
    Capability { name: "UniformTexelBufferArrayDynamicIndexing", number: 5304, by: &[Feat(F::shaderUniformTexelBufferArrayDynamicIndexing)] },
    Capability { name: "StorageTexelBufferArrayDynamicIndexing", number: 5305, by: &[Feat(F::shaderStorageTexelBufferArrayDynamicIndexing)] },
    Capability { name: "UniformBufferArrayNonUniformIndexing", number: 5306, by: &[Feat(F::shaderUniformBufferArrayNonUniformIndexing)] },
    Capability { name: "SampledImageArrayNonUniformIndexing", number: 5307, by: &[Feat(F::shaderSampledImageArrayNonUniformIndexing)] },
    Capability { name: "StorageBufferArrayNonUniformIndexing", number: 5308, by: &[Feat(F::shaderStorageBufferArrayNonUniformIndexing)] },
    Capability { name: "StorageImageArrayNonUniformIndexing", number: 5309, by: &[Feat(F::shaderStorageImageArrayNonUniformIndexing)] },
    Capability { name: "InputAttachmentArrayNonUniformIndexing", number: 5310, by: &[Feat(F::shaderInputAttachmentArrayNonUniformIndexing)] },
    Capability { name: "UniformTexelBufferArrayNonUniformIndexing", number: 5311, by: &[Feat(F::shaderUniformTexelBufferArrayNonUniformIndexing)] },
    Capability { name: "StorageTexelBufferArrayNonUniformIndexing", number: 5312, by: &[Feat(F::shaderStorageTexelBufferArrayNonUniformIndexing)] },
    Capability { name: "Float16", number: 9, by: &[Feat(F::shaderFloat16)] },
    Capability { name: "Int8", number: 39, by: &[Feat(F::shaderInt8)] },
    Capability { name: "StorageBuffer8BitAccess", number: 4448, by: &[Feat(F::storageBuffer8BitAccess)] },
    Capability { name: "UniformAndStorageBuffer8BitAccess", number: 4449, by: &[Feat(F::uniformAndStorageBuffer8BitAccess)] },
    Capability { name: "StoragePushConstant8", number: 4450, by: &[Feat(F::storagePushConstant8)] },
    Capability { name: "WorkgroupMemoryExplicitLayoutKHR", number: 4428, by: &[Feat(F::workgroupMemoryExplicitLayout)] },
    Capability { name: "WorkgroupMemoryExplicitLayout8BitAccessKHR", number: 4429, by: &[Feat(F::workgroupMemoryExplicitLayout8BitAccess)] },
    Capability { name: "WorkgroupMemoryExplicitLayout16BitAccessKHR", number: 4430, by: &[Feat(F::workgroupMemoryExplicitLayout16BitAccess)] },
    Capability { name: "VulkanMemoryModel", number: 5345, by: &[Feat(F::vulkanMemoryModel)] },
    Capability { name: "VulkanMemoryModelDeviceScope", number: 5346, by: &[Feat(F::vulkanMemoryModelDeviceScope)] },
    Capability { name: "TransformFeedback", number: 53, by: &[Feat(F::transformFeedback)] },
    Capability { name: "MeshShadingEXT", number: 5283, by: &[Feat(F::taskShader), Feat(F::meshShader)] },
    Capability { name: "GeometryStreams", number: 54, by: &[Feat(F::geometryStreams)] },
    Capability { name: "PhysicalStorageBufferAddresses", number: 5347, by: &[Feat(F::bufferDeviceAddress)] },
    Capability { name: "DemoteToHelperInvocation", number: 5379, by: &[Feat(F::shaderDemoteToHelperInvocation)] },
    Capability { name: "DotProductInputAll", number: 6016, by: &[Feat(F::shaderIntegerDotProduct)] },
    Capability { name: "DotProductInput4x8Bit", number: 6017, by: &[Feat(F::shaderIntegerDotProduct)] },
    Capability { name: "DotProductInput4x8BitPacked", number: 6018, by: &[Feat(F::shaderIntegerDotProduct)] },
    Capability { name: "DotProduct", number: 6019, by: &[Feat(F::shaderIntegerDotProduct)] },
    Capability { name: "BFloat16TypeKHR", number: 5116, by: &[Feat(F::shaderBFloat16Type)] },
    Capability { name: "BFloat16DotProductKHR", number: 5117, by: &[Feat(F::shaderBFloat16DotProduct)] },
    Capability { name: "BFloat16CooperativeMatrixKHR", number: 5118, by: &[Feat(F::shaderBFloat16CooperativeMatrix)] },
    Capability { name: "Float8EXT", number: 4212, by: &[Feat(F::shaderFloat8)] },
    Capability { name: "Float8CooperativeMatrixEXT", number: 4213, by: &[Feat(F::shaderFloat8CooperativeMatrix)] },
    Capability { name: "DotProductFloat16AccFloat32VALVE", number: 6912, by: &[Feat(F::shaderMixedFloatDotProductFloat16AccFloat32)] },
    Capability { name: "DotProductFloat16AccFloat16VALVE", number: 6913, by: &[Feat(F::shaderMixedFloatDotProductFloat16AccFloat16)] },
    Capability { name: "DotProductBFloat16AccVALVE", number: 6914, by: &[Feat(F::shaderMixedFloatDotProductBFloat16Acc)] },
    Capability { name: "DotProductFloat8AccFloat32VALVE", number: 6915, by: &[Feat(F::shaderMixedFloatDotProductFloat8AccFloat32)] },
    Capability { name: "FloatControls2", number: 6029, by: &[Feat(F::shaderFloatControls2)] },
    Capability { name: "DenormPreserve", number: 4464, by: &[FloatControls(DENORM_PRESERVE)] },
    Capability { name: "DenormFlushToZero", number: 4465, by: &[FloatControls(DENORM_FLUSH_TO_ZERO)] },
    Capability { name: "SignedZeroInfNanPreserve", number: 4466, by: &[FloatControls(SIGNED_ZERO_INF_NAN_PRESERVE)] },
    Capability { name: "RoundingModeRTE", number: 4467, by: &[FloatControls(ROUNDING_MODE_RTE)] },
    Capability { name: "RoundingModeRTZ", number: 4468, by: &[FloatControls(ROUNDING_MODE_RTZ)] },
    Capability { name: "SubgroupBallotKHR", number: 4423, by: &[Ext(E::VK_EXT_shader_subgroup_ballot)] },
    Capability { name: "SubgroupVoteKHR", number: 4431, by: &[Ext(E::VK_EXT_shader_subgroup_vote)] },
];

/// SPIR-V extensions that some row of the extension table unlocks.
#[rustfmt::skip]
pub static SPIRV_EXTENSIONS: &[(&str, &[By])] = &[
    ("SPV_KHR_variable_pointers", &[Core(V1_1), Ext(E::VK_KHR_variable_pointers)]),
    ("SPV_KHR_shader_draw_parameters", &[Core(V1_1), Ext(E::VK_KHR_shader_draw_parameters)]),
    ("SPV_KHR_8bit_storage", &[Core(V1_2), Ext(E::VK_KHR_8bit_storage)]),
    ("SPV_KHR_16bit_storage", &[Core(V1_1), Ext(E::VK_KHR_16bit_storage)]),
    ("SPV_KHR_float_controls", &[Core(V1_2), Ext(E::VK_KHR_shader_float_controls)]),
    ("SPV_KHR_bfloat16", &[Ext(E::VK_KHR_shader_bfloat16)]),
    ("SPV_EXT_float8", &[Ext(E::VK_EXT_shader_float8)]),
    ("SPV_KHR_relaxed_extended_instruction", &[Ext(E::VK_KHR_shader_relaxed_extended_instruction)]),
    ("SPV_KHR_float_controls2", &[Ext(E::VK_KHR_shader_float_controls2)]),
    ("SPV_KHR_storage_buffer_storage_class", &[Core(V1_1), Ext(E::VK_KHR_storage_buffer_storage_class)]),
    ("SPV_EXT_mesh_shader", &[Ext(E::VK_EXT_mesh_shader)]),
    ("SPV_EXT_shader_stencil_export", &[Ext(E::VK_EXT_shader_stencil_export)]),
    ("SPV_EXT_shader_viewport_index_layer", &[Core(V1_2), Ext(E::VK_EXT_shader_viewport_index_layer)]),
    ("SPV_EXT_descriptor_indexing", &[Core(V1_2), Ext(E::VK_EXT_descriptor_indexing)]),
    ("SPV_KHR_vulkan_memory_model", &[Core(V1_2), Ext(E::VK_KHR_vulkan_memory_model)]),
    ("SPV_KHR_workgroup_memory_explicit_layout", &[Ext(E::VK_KHR_workgroup_memory_explicit_layout)]),
    ("SPV_KHR_physical_storage_buffer", &[Core(V1_2), Ext(E::VK_KHR_buffer_device_address)]),
    ("SPV_EXT_physical_storage_buffer", &[Ext(E::VK_EXT_buffer_device_address)]),
    ("SPV_VALVE_mixed_float_dot_product", &[Ext(E::VK_VALVE_shader_mixed_float_dot_product)]),
    ("SPV_EXT_demote_to_helper_invocation", &[Core(V1_3), Ext(E::VK_EXT_shader_demote_to_helper_invocation)]),
    ("SPV_KHR_non_semantic_info", &[Core(V1_3), Ext(E::VK_KHR_shader_non_semantic_info)]),
    ("SPV_EXT_fragment_shader_interlock", &[Ext(E::VK_EXT_fragment_shader_interlock)]),
    ("SPV_KHR_post_depth_coverage", &[Ext(E::VK_EXT_post_depth_coverage)]),
    ("SPV_KHR_terminate_invocation", &[Core(V1_3), Ext(E::VK_KHR_shader_terminate_invocation)]),
    ("SPV_KHR_multiview", &[Core(V1_1), Ext(E::VK_KHR_multiview)]),
    ("SPV_EXT_shader_atomic_float_add", &[Ext(E::VK_EXT_shader_atomic_float)]),
    ("SPV_EXT_shader_atomic_float_min_max", &[Ext(E::VK_EXT_shader_atomic_float2)]),
    ("SPV_EXT_shader_atomic_float16_add", &[Ext(E::VK_EXT_shader_atomic_float2)]),
    ("SPV_NV_shader_atomic_fp16_vector", &[Ext(E::VK_NV_shader_atomic_float16_vector)]),
    ("SPV_EXT_shader_image_int64", &[Ext(E::VK_EXT_shader_image_atomic_int64)]),
    ("SPV_KHR_integer_dot_product", &[Core(V1_3), Ext(E::VK_KHR_shader_integer_dot_product)]),
    ("SPV_KHR_untyped_pointers", &[Ext(E::VK_KHR_shader_untyped_pointers)]),
    ("SPV_EXT_descriptor_heap", &[Ext(E::VK_EXT_descriptor_heap)]),
    ("SPV_KHR_cooperative_matrix", &[Ext(E::VK_KHR_cooperative_matrix)]),
    ("SPV_NV_cooperative_matrix2", &[Ext(E::VK_NV_cooperative_matrix2)]),
    ("SPV_KHR_shader_clock", &[Ext(E::VK_KHR_shader_clock)]),
    ("SPV_EXT_replicated_composites", &[Ext(E::VK_EXT_shader_replicated_composites)]),
    ("SPV_KHR_compute_shader_derivatives", &[Ext(E::VK_KHR_compute_shader_derivatives)]),
    ("SPV_NV_compute_shader_derivatives", &[Ext(E::VK_NV_compute_shader_derivatives), Ext(E::VK_KHR_compute_shader_derivatives)]),
    ("SPV_NV_shader_subgroup_partitioned", &[Ext(E::VK_NV_shader_subgroup_partitioned), Ext(E::VK_EXT_shader_subgroup_partitioned)]),
    ("SPV_EXT_shader_subgroup_partitioned", &[Ext(E::VK_EXT_shader_subgroup_partitioned)]),
    ("SPV_KHR_expect_assume", &[Ext(E::VK_KHR_shader_expect_assume)]),
    ("SPV_KHR_subgroup_rotate", &[Ext(E::VK_KHR_shader_subgroup_rotate)]),
    ("SPV_KHR_subgroup_uniform_control_flow", &[Ext(E::VK_KHR_shader_subgroup_uniform_control_flow)]),
    ("SPV_KHR_maximal_reconvergence", &[Ext(E::VK_KHR_shader_maximal_reconvergence)]),
    ("SPV_KHR_quad_control", &[Ext(E::VK_KHR_shader_quad_control)]),
    ("SPV_KHR_device_group", &[Core(V1_1), Ext(E::VK_KHR_device_group)]),
    ("SPV_KHR_shader_ballot", &[Ext(E::VK_EXT_shader_subgroup_ballot)]),
    ("SPV_KHR_subgroup_vote", &[Ext(E::VK_EXT_shader_subgroup_vote)]),
    ("SPV_GOOGLE_decorate_string", &[Ext(E::VK_GOOGLE_decorate_string)]),
    ("SPV_GOOGLE_hlsl_functionality1", &[Ext(E::VK_GOOGLE_hlsl_functionality1)]),
    ("SPV_GOOGLE_user_type", &[Ext(E::VK_GOOGLE_user_type)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advertised_is_accepted() {
        let accepted = capabilities();
        let has = |name: &str| {
            let row = CAPABILITIES.iter().find(|c| c.name == name).unwrap();
            accepted.contains(&row.number)
        };
        assert!(has("Matrix") && has("Shader") && has("ImageGatherExtended") && has("ClipDistance"));
        assert!(has("Geometry") && has("GeometryStreams") && has("Tessellation") && has("Float16") && has("Float64"));
        assert_eq!(has("GroupNonUniform"), API_VERSION >= V1_1);
        assert_eq!(version() >= 0x1_0300, API_VERSION >= V1_1);
        assert!(extensions().iter().any(|e| e == "SPV_KHR_storage_buffer_storage_class"));
    }

    /// Checks that the front end translates everything that is advertised.
    #[test]
    fn accepted_is_implemented() {
        let implemented = jit::spirv::Accept::all_implemented().capabilities;
        for number in capabilities() {
            let name = CAPABILITIES.iter().find(|c| c.number == number).unwrap().name;
            assert!(implemented.contains(&number), "{name} is advertised and not implemented");
        }
    }

    #[test]
    fn numbers_are_unique() {
        for (i, c) in CAPABILITIES.iter().enumerate() {
            assert!(CAPABILITIES[..i].iter().all(|o| o.number != c.number), "{} twice", c.name);
            assert!(!c.by.is_empty());
        }
    }
}
