//! Capabilities and extensions that a module may declare.

use super::module::Module;
use crate::error::{Error, Result};

/// Capabilities and extensions that a device accepts. Anything that this frontend does not
/// implement is refused, even if it is listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// Numbers of the accepted capabilities.
    pub capabilities: Vec<u32>,
    /// Names of the accepted extensions. `None` accepts all that are implemented.
    pub extensions: Option<Vec<String>>,
}

/// Capabilities that are implemented, sorted by number.
static CAPABILITIES: &[(u32, &str)] = &[
    (0, "Matrix"),
    (1, "Shader"),
    (2, "Geometry"),
    (3, "Tessellation"),
    (9, "Float16"),
    (10, "Float64"),
    (11, "Int64"),
    (12, "Int64Atomics"),
    (22, "Int16"),
    (23, "TessellationPointSize"),
    (24, "GeometryPointSize"),
    (25, "ImageGatherExtended"),
    (27, "StorageImageMultisample"),
    (28, "UniformBufferArrayDynamicIndexing"),
    (29, "SampledImageArrayDynamicIndexing"),
    (30, "StorageBufferArrayDynamicIndexing"),
    (31, "StorageImageArrayDynamicIndexing"),
    (32, "ClipDistance"),
    (33, "CullDistance"),
    (34, "ImageCubeArray"),
    (35, "SampleRateShading"),
    (39, "Int8"),
    (40, "InputAttachment"),
    (41, "SparseResidency"),
    (42, "MinLod"),
    (43, "Sampled1D"),
    (44, "Image1D"),
    (45, "SampledCubeArray"),
    (46, "SampledBuffer"),
    (47, "ImageBuffer"),
    (48, "ImageMSArray"),
    (49, "StorageImageExtendedFormats"),
    (50, "ImageQuery"),
    (51, "DerivativeControl"),
    (52, "InterpolationFunction"),
    (53, "TransformFeedback"),
    (54, "GeometryStreams"),
    (55, "StorageImageReadWithoutFormat"),
    (56, "StorageImageWriteWithoutFormat"),
    (57, "MultiViewport"),
    (61, "GroupNonUniform"),
    (62, "GroupNonUniformVote"),
    (63, "GroupNonUniformArithmetic"),
    (64, "GroupNonUniformBallot"),
    (65, "GroupNonUniformShuffle"),
    (66, "GroupNonUniformShuffleRelative"),
    (67, "GroupNonUniformClustered"),
    (68, "GroupNonUniformQuad"),
    (69, "ShaderLayer"),
    (70, "ShaderViewportIndex"),
    (4212, "Float8EXT"),
    (4213, "Float8CooperativeMatrixEXT"),
    (4423, "SubgroupBallotKHR"),
    (4427, "DrawParameters"),
    (4428, "WorkgroupMemoryExplicitLayoutKHR"),
    (4429, "WorkgroupMemoryExplicitLayout8BitAccessKHR"),
    (4430, "WorkgroupMemoryExplicitLayout16BitAccessKHR"),
    (4431, "SubgroupVoteKHR"),
    (4433, "StorageBuffer16BitAccess"),
    (4434, "UniformAndStorageBuffer16BitAccess"),
    (4435, "StoragePushConstant16"),
    (4436, "StorageInputOutput16"),
    (4437, "DeviceGroup"),
    (4439, "MultiView"),
    (4441, "VariablePointersStorageBuffer"),
    (4442, "VariablePointers"),
    (4447, "SampleMaskPostDepthCoverage"),
    (4448, "StorageBuffer8BitAccess"),
    (4449, "UniformAndStorageBuffer8BitAccess"),
    (4450, "StoragePushConstant8"),
    (4464, "DenormPreserve"),
    (4465, "DenormFlushToZero"),
    (4466, "SignedZeroInfNanPreserve"),
    (4467, "RoundingModeRTE"),
    (4468, "RoundingModeRTZ"),
    (4473, "UntypedPointersKHR"),
    (5013, "StencilExportEXT"),
    (5016, "Int64ImageEXT"),
    (5055, "ShaderClockKHR"),
    (5087, "QuadControlKHR"),
    (5116, "BFloat16TypeKHR"),
    (5117, "BFloat16DotProductKHR"),
    (5118, "BFloat16CooperativeMatrixKHR"),
    (5128, "DescriptorHeapEXT"),
    (5254, "ShaderViewportIndexLayerEXT"),
    (5283, "MeshShadingEXT"),
    (5288, "ComputeDerivativeGroupQuadsKHR"),
    (5297, "GroupNonUniformPartitionedEXT"),
    (5301, "ShaderNonUniform"),
    (5302, "RuntimeDescriptorArray"),
    (5303, "InputAttachmentArrayDynamicIndexing"),
    (5304, "UniformTexelBufferArrayDynamicIndexing"),
    (5305, "StorageTexelBufferArrayDynamicIndexing"),
    (5306, "UniformBufferArrayNonUniformIndexing"),
    (5307, "SampledImageArrayNonUniformIndexing"),
    (5308, "StorageBufferArrayNonUniformIndexing"),
    (5309, "StorageImageArrayNonUniformIndexing"),
    (5310, "InputAttachmentArrayNonUniformIndexing"),
    (5311, "UniformTexelBufferArrayNonUniformIndexing"),
    (5312, "StorageTexelBufferArrayNonUniformIndexing"),
    (5345, "VulkanMemoryModel"),
    (5346, "VulkanMemoryModelDeviceScope"),
    (5347, "PhysicalStorageBufferAddresses"),
    (5350, "ComputeDerivativeGroupLinearKHR"),
    (5363, "FragmentShaderSampleInterlockEXT"),
    (5378, "FragmentShaderPixelInterlockEXT"),
    (5379, "DemoteToHelperInvocation"),
    (5404, "AtomicFloat16VectorNV"),
    (5430, "CooperativeMatrixReductionsNV"),
    (5431, "CooperativeMatrixConversionsNV"),
    (5432, "CooperativeMatrixPerElementOperationsNV"),
    (5612, "AtomicFloat32MinMaxEXT"),
    (5613, "AtomicFloat64MinMaxEXT"),
    (5616, "AtomicFloat16MinMaxEXT"),
    (5629, "ExpectAssumeKHR"),
    (6016, "DotProductInputAll"),
    (6017, "DotProductInput4x8Bit"),
    (6018, "DotProductInput4x8BitPacked"),
    (6019, "DotProduct"),
    (6022, "CooperativeMatrixKHR"),
    (6024, "ReplicatedCompositesEXT"),
    (6026, "GroupNonUniformRotateKHR"),
    (6029, "FloatControls2"),
    (6033, "AtomicFloat32AddEXT"),
    (6034, "AtomicFloat64AddEXT"),
    (6095, "AtomicFloat16AddEXT"),
    (6912, "DotProductFloat16AccFloat32VALVE"),
    (6913, "DotProductFloat16AccFloat16VALVE"),
    (6914, "DotProductBFloat16AccVALVE"),
    (6915, "DotProductFloat8AccFloat32VALVE"),
];

/// Extensions that are implemented or that need no implementation.
static EXTENSIONS: &[&str] = &[
    "SPV_EXT_demote_to_helper_invocation",
    "SPV_EXT_descriptor_heap",
    "SPV_EXT_descriptor_indexing",
    "SPV_EXT_float8",
    "SPV_EXT_fragment_shader_interlock",
    "SPV_EXT_mesh_shader",
    "SPV_EXT_physical_storage_buffer",
    "SPV_EXT_replicated_composites",
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_EXT_shader_image_int64",
    "SPV_EXT_shader_stencil_export",
    "SPV_EXT_shader_subgroup_partitioned",
    "SPV_EXT_shader_viewport_index_layer",
    "SPV_GOOGLE_decorate_string",
    "SPV_GOOGLE_hlsl_functionality1",
    "SPV_GOOGLE_user_type",
    "SPV_KHR_16bit_storage",
    "SPV_KHR_8bit_storage",
    "SPV_KHR_bfloat16",
    "SPV_KHR_compute_shader_derivatives",
    "SPV_KHR_cooperative_matrix",
    "SPV_KHR_device_group",
    "SPV_KHR_expect_assume",
    "SPV_KHR_float_controls",
    "SPV_KHR_float_controls2",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_maximal_reconvergence",
    "SPV_KHR_multiview",
    "SPV_KHR_non_semantic_info",
    "SPV_KHR_physical_storage_buffer",
    "SPV_KHR_post_depth_coverage",
    "SPV_KHR_quad_control",
    "SPV_KHR_relaxed_extended_instruction",
    "SPV_KHR_shader_ballot",
    "SPV_KHR_shader_clock",
    "SPV_KHR_shader_draw_parameters",
    "SPV_KHR_storage_buffer_storage_class",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_subgroup_uniform_control_flow",
    "SPV_KHR_subgroup_vote",
    "SPV_KHR_terminate_invocation",
    "SPV_KHR_untyped_pointers",
    "SPV_KHR_variable_pointers",
    "SPV_KHR_vulkan_memory_model",
    "SPV_KHR_workgroup_memory_explicit_layout",
    "SPV_NV_compute_shader_derivatives",
    "SPV_NV_cooperative_matrix2",
    "SPV_NV_shader_atomic_fp16_vector",
    "SPV_NV_shader_subgroup_partitioned",
    "SPV_VALVE_mixed_float_dot_product",
];

impl Accept {
    /// Returns everything that this frontend implements.
    pub fn all_implemented() -> Accept {
        Accept { capabilities: CAPABILITIES.iter().map(|c| c.0).collect(), extensions: None }
    }

    /// Refuses a module that declares anything that is not accepted.
    pub(crate) fn check(&self, m: &Module) -> Result<()> {
        for &cap in &m.capabilities {
            let known = CAPABILITIES.binary_search_by_key(&cap, |c| c.0).ok();
            let name =
                known.map_or_else(|| format!("capability {cap}"), |i| format!("capability {}", CAPABILITIES[i].1));
            if known.is_none() {
                return Err(Error::unsupported(format!("{name} is not implemented")).at((17, "OpCapability"), 0));
            }
            if !self.capabilities.contains(&cap) {
                return Err(
                    Error::unsupported(format!("{name} is not accepted by this device")).at((17, "OpCapability"), 0)
                );
            }
        }
        for ext in &m.extensions {
            let own = EXTENSIONS.contains(&ext.as_str());
            let accepted = self.extensions.as_ref().is_none_or(|list| list.contains(ext));
            if !own || !accepted {
                return Err(
                    Error::unsupported(format!("extension {ext} is not implemented")).at((10, "OpExtension"), 0)
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn capabilities_are_sorted() {
        assert!(super::CAPABILITIES.windows(2).all(|w| w[0].0 < w[1].0));
    }
}
