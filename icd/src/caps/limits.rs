//! `VkPhysicalDeviceLimits`.
//!
//! Numbers on which other parts rely are those of [`base::limits`]; the assertions below the table
//! check the relations between the others.

#![forbid(unsafe_code)]

use ash::vk;
use base::limits::{
    LINE_WIDTH_RANGE, MAX_BUFFER_RANGE, MAX_CLIP_DISTANCES, MAX_COLOR_ATTACHMENTS, MAX_COMPUTE_WORKGROUPS,
    MAX_DESCRIPTOR_SETS, MAX_DIMENSION, MAX_DIMENSION_3D, MAX_GEOMETRY_INVOCATIONS, MAX_GEOMETRY_VERTICES, MAX_LAYERS,
    MAX_LOD_BIAS, MAX_PATCH_VERTICES, MAX_PUSH_CONSTANTS, MAX_SAMPLER_ANISOTROPY, MAX_SAMPLES, MAX_SHARED_MEMORY,
    MAX_STAGE_COMPONENTS, MAX_TESSELLATION_LEVEL, MAX_VERTEX_ATTRIBUTES, MAX_VERTEX_BINDINGS, MAX_VIEWPORTS,
    MAX_WORKGROUP_INVOCATIONS, MAX_WORKGROUP_SIZE, POINT_SIZE_RANGE, SUBPIXEL_BITS,
};

/// Sample counts of attachments, sampled and storage images: every power of two up to the largest.
pub const SAMPLE_COUNTS: vk::SampleCountFlags = vk::SampleCountFlags::from_raw(2 * MAX_SAMPLES as u32 - 1);
/// Number of descriptors of one kind in a stage or in all sets. A descriptor is only 16 bytes of
/// set memory, so this only bounds the size of a set; descriptor indexing requires 500 000.
pub const MAX_DESCRIPTORS: u32 = 1 << 20;
/// Number of dynamic uniform and storage buffers of a pipeline layout, half of them each. They are
/// resolved when a command is executed, as a list if there are more than a few
/// (`base::abi::DynamicBuffers`).
pub const MAX_DYNAMIC_BUFFERS: u32 = MAX_DESCRIPTORS;
/// `maxMemoryAllocationSize`: image layout and addresses stay below 2^48, and Linux gives 2^47 of
/// address space.
pub const MAX_ALLOCATION_SIZE: u64 = 1 << 46;

/// Largest number of pipelines of an execution set (`maxIndirectPipelineCount`).
pub const MAX_INDIRECT_PIPELINES: u32 = 1 << 16;
/// Largest number of shader objects of an execution set (`maxIndirectShaderObjectCount`).
pub const MAX_INDIRECT_SHADERS: u32 = 1 << 16;
/// Largest number of geometries of a bottom-level acceleration structure (`maxGeometryCount`):
/// their indices have 24 bits.
pub const MAX_GEOMETRIES: u64 = (1 << 24) - 1;
/// Largest number of rays that are nested in one another (`maxRayRecursionDepth`).
pub const MAX_RAY_RECURSION: u32 = 31;
/// Largest number of nested shaders of a launch id: more than rays of this depth run with their
/// intersection and any-hit shaders, and enough for callable shaders that call others.
pub const MAX_NESTED_SHADERS: u32 = 256;
/// Largest number of bytes from one record of a shader binding table to the next one
/// (`maxShaderGroupStride`).
pub const MAX_GROUP_STRIDE: u32 = 1 << 20;
/// Largest number of launch ids (`maxRayDispatchInvocationCount`).
pub const MAX_LAUNCH_IDS: u32 = 1 << 30;
/// Largest number of instances of a top-level acceleration structure (`maxInstanceCount`).
pub const MAX_INSTANCES: u64 = (1 << 24) - 1;
/// Largest number of primitives of a bottom-level acceleration structure (`maxPrimitiveCount`).
pub const MAX_PRIMITIVES: u64 = (1 << 29) - 1;
/// Largest number of sequences of generated commands (`maxIndirectSequenceCount`).
pub const MAX_INDIRECT_SEQUENCES: u32 = 1 << 20;
/// Largest number of tokens of a layout of generated commands (`maxIndirectCommandsTokenCount`). A
/// layout that changes all that tokens can change has fewer.
pub const MAX_INDIRECT_TOKENS: u32 = 256;
/// Largest offset of a token in its sequence (`maxIndirectCommandsTokenOffset`).
pub const MAX_INDIRECT_TOKEN_OFFSET: u32 = 1 << 20;
/// Largest distance between two sequences (`maxIndirectCommandsIndirectStride`).
pub const MAX_INDIRECT_STRIDE: u32 = 1 << 20;
/// Modes of index buffers in sequences, both that there are
/// (`supportedIndirectCommandsInputModes`).
pub const INDIRECT_INPUT_MODES: u32 = 0b11;

/// `*CaptureReplayDescriptorDataSize`: the bytes of a number.
pub const CAPTURED_DATA: usize = 8;
/// `sparseAddressSpaceSize` of a heap: a part of the arena's addresses (`os::arena`).
pub const SPARSE_ADDRESS_SPACE: u64 = 32 << 30;

/// Limits of the device.
pub const LIMITS: vk::PhysicalDeviceLimits = vk::PhysicalDeviceLimits {
    max_image_dimension1_d: MAX_DIMENSION,
    max_image_dimension2_d: MAX_DIMENSION,
    max_image_dimension3_d: MAX_DIMENSION_3D,
    // lavapipe reports faces of 32768. They take at least 3 GiB, and it makes no larger image.
    max_image_dimension_cube: MAX_DIMENSION,
    max_image_array_layers: MAX_LAYERS,
    max_texel_buffer_elements: 1 << 27,
    max_uniform_buffer_range: 1 << 16,
    max_storage_buffer_range: MAX_BUFFER_RANGE,
    max_push_constants_size: MAX_PUSH_CONSTANTS as u32,
    // Each allocation is a separate mapping; Linux allows 65530 of them in a process.
    max_memory_allocation_count: 32768,
    max_sampler_allocation_count: 1 << 20,
    buffer_image_granularity: 1,
    sparse_address_space_size: SPARSE_ADDRESS_SPACE,
    max_bound_descriptor_sets: MAX_DESCRIPTOR_SETS as u32,
    max_per_stage_descriptor_samplers: MAX_DESCRIPTORS,
    max_per_stage_descriptor_uniform_buffers: MAX_DESCRIPTORS,
    max_per_stage_descriptor_storage_buffers: MAX_DESCRIPTORS,
    max_per_stage_descriptor_sampled_images: MAX_DESCRIPTORS,
    max_per_stage_descriptor_storage_images: MAX_DESCRIPTORS,
    max_per_stage_descriptor_input_attachments: MAX_DESCRIPTORS,
    max_per_stage_resources: MAX_DESCRIPTORS,
    max_descriptor_set_samplers: MAX_DESCRIPTORS,
    max_descriptor_set_uniform_buffers: MAX_DESCRIPTORS,
    max_descriptor_set_uniform_buffers_dynamic: MAX_DYNAMIC_BUFFERS / 2,
    max_descriptor_set_storage_buffers: MAX_DESCRIPTORS,
    max_descriptor_set_storage_buffers_dynamic: MAX_DYNAMIC_BUFFERS / 2,
    max_descriptor_set_sampled_images: MAX_DESCRIPTORS,
    max_descriptor_set_storage_images: MAX_DESCRIPTORS,
    max_descriptor_set_input_attachments: MAX_DESCRIPTORS,
    max_vertex_input_attributes: MAX_VERTEX_ATTRIBUTES as u32,
    max_vertex_input_bindings: MAX_VERTEX_BINDINGS as u32,
    max_vertex_input_attribute_offset: 2047,
    max_vertex_input_binding_stride: 2048,
    max_vertex_output_components: MAX_STAGE_COMPONENTS,
    max_tessellation_generation_level: MAX_TESSELLATION_LEVEL,
    max_tessellation_patch_size: MAX_PATCH_VERTICES,
    max_tessellation_control_per_vertex_input_components: MAX_STAGE_COMPONENTS,
    max_tessellation_control_per_vertex_output_components: MAX_STAGE_COMPONENTS,
    max_tessellation_control_per_patch_output_components: MAX_STAGE_COMPONENTS,
    // All vertices with all components, and the patch's own.
    max_tessellation_control_total_output_components: (MAX_PATCH_VERTICES + 1) * MAX_STAGE_COMPONENTS,
    max_tessellation_evaluation_input_components: MAX_STAGE_COMPONENTS,
    max_tessellation_evaluation_output_components: MAX_STAGE_COMPONENTS,
    max_geometry_shader_invocations: MAX_GEOMETRY_INVOCATIONS,
    max_geometry_input_components: MAX_STAGE_COMPONENTS,
    max_geometry_output_components: MAX_STAGE_COMPONENTS,
    max_geometry_output_vertices: MAX_GEOMETRY_VERTICES,
    // The limit suffices for eight invocations at a time; the rasterizer's memory for them grows
    // with use.
    max_geometry_total_output_components: 16384,
    max_fragment_input_components: MAX_STAGE_COMPONENTS,
    max_fragment_output_attachments: MAX_COLOR_ATTACHMENTS as u32,
    max_fragment_dual_src_attachments: MAX_COLOR_ATTACHMENTS as u32,
    max_fragment_combined_output_resources: MAX_DESCRIPTORS,
    max_compute_shared_memory_size: MAX_SHARED_MEMORY,
    max_compute_work_group_count: [MAX_COMPUTE_WORKGROUPS; 3],
    max_compute_work_group_invocations: MAX_WORKGROUP_INVOCATIONS,
    max_compute_work_group_size: MAX_WORKGROUP_SIZE,
    sub_pixel_precision_bits: SUBPIXEL_BITS,
    // Samplers have weights of 8 bits or more.
    sub_texel_precision_bits: 8,
    mipmap_precision_bits: 8,
    max_draw_indexed_index_value: u32::MAX,
    max_draw_indirect_count: u32::MAX,
    max_sampler_lod_bias: MAX_LOD_BIAS,
    max_sampler_anisotropy: MAX_SAMPLER_ANISOTROPY,
    max_viewports: MAX_VIEWPORTS as u32,
    max_viewport_dimensions: [MAX_DIMENSION; 2],
    viewport_bounds_range: [-32768.0, 32768.0],
    viewport_sub_pixel_bits: SUBPIXEL_BITS,
    // Allocations are whole pages.
    min_memory_map_alignment: 4096,
    min_texel_buffer_offset_alignment: 16,
    min_uniform_buffer_offset_alignment: 16,
    min_storage_buffer_offset_alignment: 16,
    min_texel_offset: -32,
    max_texel_offset: 31,
    min_texel_gather_offset: -32,
    max_texel_gather_offset: 31,
    min_interpolation_offset: -2.0,
    max_interpolation_offset: 2.0,
    sub_pixel_interpolation_offset_bits: SUBPIXEL_BITS,
    max_framebuffer_width: MAX_DIMENSION,
    max_framebuffer_height: MAX_DIMENSION,
    max_framebuffer_layers: MAX_LAYERS,
    framebuffer_color_sample_counts: SAMPLE_COUNTS,
    framebuffer_depth_sample_counts: SAMPLE_COUNTS,
    framebuffer_stencil_sample_counts: SAMPLE_COUNTS,
    framebuffer_no_attachments_sample_counts: SAMPLE_COUNTS,
    max_color_attachments: MAX_COLOR_ATTACHMENTS as u32,
    sampled_image_color_sample_counts: SAMPLE_COUNTS,
    sampled_image_integer_sample_counts: SAMPLE_COUNTS,
    sampled_image_depth_sample_counts: SAMPLE_COUNTS,
    sampled_image_stencil_sample_counts: SAMPLE_COUNTS,
    storage_image_sample_counts: SAMPLE_COUNTS,
    max_sample_mask_words: 1,
    timestamp_compute_and_graphics: vk::TRUE,
    timestamp_period: 1.0,
    max_clip_distances: MAX_CLIP_DISTANCES as u32,
    max_cull_distances: MAX_CLIP_DISTANCES as u32,
    max_combined_clip_and_cull_distances: MAX_CLIP_DISTANCES as u32,
    discrete_queue_priorities: 2,
    point_size_range: POINT_SIZE_RANGE,
    line_width_range: LINE_WIDTH_RANGE,
    // Half the size is added to positions, which have 8 fractional bits.
    point_size_granularity: 1.0 / 128.0,
    line_width_granularity: 1.0 / 128.0,
    strict_lines: vk::TRUE,
    standard_sample_locations: vk::TRUE,
    optimal_buffer_copy_offset_alignment: 16,
    optimal_buffer_copy_row_pitch_alignment: 16,
    non_coherent_atom_size: 64,
};

const _: () = assert!(MAX_DIMENSION_3D <= MAX_DIMENSION);
const _: () = assert!(MAX_DESCRIPTOR_SETS >= 4, "required minimum; ShaderContext::sets has one entry per set");
const _: () = assert!(MAX_PUSH_CONSTANTS >= 128, "required minimum; ShaderContext::push_constants has this many bytes");
const _: () =
    assert!(MAX_COLOR_ATTACHMENTS >= 4 && MAX_VIEWPORTS >= 16 && MAX_VERTEX_BINDINGS >= 16, "required minima");
const _: () = assert!(LIMITS.max_texel_buffer_elements <= 1 << 27, "a texel of 16 bytes at a 31-bit byte offset");

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks "Required Limits" of the specification for the supported features (wide lines, large
    /// points, multi-viewport, …).
    #[test]
    fn required_limits() {
        let l = LIMITS;
        let at_least: &[(&str, u64, u64)] = &[
            ("maxImageDimension1D", l.max_image_dimension1_d.into(), 4096),
            ("maxImageDimension2D", l.max_image_dimension2_d.into(), 4096),
            ("maxImageDimension3D", l.max_image_dimension3_d.into(), 256),
            ("maxImageDimensionCube", l.max_image_dimension_cube.into(), 4096),
            ("maxImageArrayLayers", l.max_image_array_layers.into(), 256),
            ("maxTexelBufferElements", l.max_texel_buffer_elements.into(), 65536),
            ("maxUniformBufferRange", l.max_uniform_buffer_range.into(), 16384),
            ("maxStorageBufferRange", l.max_storage_buffer_range.into(), 1 << 27),
            ("maxPushConstantsSize", l.max_push_constants_size.into(), 128),
            ("maxMemoryAllocationCount", l.max_memory_allocation_count.into(), 4096),
            ("maxSamplerAllocationCount", l.max_sampler_allocation_count.into(), 4000),
            ("sparseAddressSpaceSize", l.sparse_address_space_size, 1 << 31),
            ("maxBoundDescriptorSets", l.max_bound_descriptor_sets.into(), 4),
            ("maxPerStageDescriptorSamplers", l.max_per_stage_descriptor_samplers.into(), 16),
            ("maxPerStageDescriptorUniformBuffers", l.max_per_stage_descriptor_uniform_buffers.into(), 12),
            ("maxPerStageDescriptorStorageBuffers", l.max_per_stage_descriptor_storage_buffers.into(), 4),
            ("maxPerStageDescriptorSampledImages", l.max_per_stage_descriptor_sampled_images.into(), 16),
            ("maxPerStageDescriptorStorageImages", l.max_per_stage_descriptor_storage_images.into(), 4),
            ("maxPerStageDescriptorInputAttachments", l.max_per_stage_descriptor_input_attachments.into(), 4),
            ("maxPerStageResources", l.max_per_stage_resources.into(), 128),
            ("maxDescriptorSetSamplers", l.max_descriptor_set_samplers.into(), 96),
            ("maxDescriptorSetUniformBuffers", l.max_descriptor_set_uniform_buffers.into(), 72),
            ("maxDescriptorSetUniformBuffersDynamic", l.max_descriptor_set_uniform_buffers_dynamic.into(), 8),
            ("maxDescriptorSetStorageBuffers", l.max_descriptor_set_storage_buffers.into(), 24),
            ("maxDescriptorSetStorageBuffersDynamic", l.max_descriptor_set_storage_buffers_dynamic.into(), 4),
            ("maxDescriptorSetSampledImages", l.max_descriptor_set_sampled_images.into(), 96),
            ("maxDescriptorSetStorageImages", l.max_descriptor_set_storage_images.into(), 24),
            ("maxDescriptorSetInputAttachments", l.max_descriptor_set_input_attachments.into(), 4),
            ("maxVertexInputAttributes", l.max_vertex_input_attributes.into(), 16),
            ("maxVertexInputBindings", l.max_vertex_input_bindings.into(), 16),
            ("maxVertexInputAttributeOffset", l.max_vertex_input_attribute_offset.into(), 2047),
            ("maxVertexInputBindingStride", l.max_vertex_input_binding_stride.into(), 2048),
            ("maxVertexOutputComponents", l.max_vertex_output_components.into(), 64),
            ("maxTessellationGenerationLevel", l.max_tessellation_generation_level.into(), 64),
            ("maxTessellationPatchSize", l.max_tessellation_patch_size.into(), 32),
            (
                "maxTessellationControlPerVertexInputComponents",
                l.max_tessellation_control_per_vertex_input_components.into(),
                64,
            ),
            (
                "maxTessellationControlPerVertexOutputComponents",
                l.max_tessellation_control_per_vertex_output_components.into(),
                64,
            ),
            (
                "maxTessellationControlPerPatchOutputComponents",
                l.max_tessellation_control_per_patch_output_components.into(),
                120,
            ),
            (
                "maxTessellationControlTotalOutputComponents",
                l.max_tessellation_control_total_output_components.into(),
                2048,
            ),
            ("maxTessellationEvaluationInputComponents", l.max_tessellation_evaluation_input_components.into(), 64),
            ("maxTessellationEvaluationOutputComponents", l.max_tessellation_evaluation_output_components.into(), 64),
            ("maxGeometryShaderInvocations", l.max_geometry_shader_invocations.into(), 32),
            ("maxGeometryInputComponents", l.max_geometry_input_components.into(), 64),
            ("maxGeometryOutputComponents", l.max_geometry_output_components.into(), 64),
            ("maxGeometryOutputVertices", l.max_geometry_output_vertices.into(), 256),
            ("maxGeometryTotalOutputComponents", l.max_geometry_total_output_components.into(), 1024),
            ("maxFragmentInputComponents", l.max_fragment_input_components.into(), 64),
            ("maxFragmentOutputAttachments", l.max_fragment_output_attachments.into(), 4),
            ("maxFragmentDualSrcAttachments", l.max_fragment_dual_src_attachments.into(), 1),
            ("maxFragmentCombinedOutputResources", l.max_fragment_combined_output_resources.into(), 4),
            ("maxComputeSharedMemorySize", l.max_compute_shared_memory_size.into(), 16384),
            ("maxComputeWorkGroupCount", l.max_compute_work_group_count[2].into(), 65535),
            ("maxComputeWorkGroupInvocations", l.max_compute_work_group_invocations.into(), 128),
            ("maxComputeWorkGroupSize.x", l.max_compute_work_group_size[0].into(), 128),
            ("maxComputeWorkGroupSize.z", l.max_compute_work_group_size[2].into(), 64),
            ("subPixelPrecisionBits", l.sub_pixel_precision_bits.into(), 4),
            ("subTexelPrecisionBits", l.sub_texel_precision_bits.into(), 4),
            ("mipmapPrecisionBits", l.mipmap_precision_bits.into(), 4),
            ("maxDrawIndexedIndexValue", l.max_draw_indexed_index_value.into(), u32::MAX.into()),
            ("maxDrawIndirectCount", l.max_draw_indirect_count.into(), 65535),
            ("maxViewports", l.max_viewports.into(), 16),
            ("maxViewportDimensions", l.max_viewport_dimensions[1].into(), l.max_framebuffer_height.into()),
            ("minMemoryMapAlignment", l.min_memory_map_alignment as u64, 64),
            ("maxTexelOffset", l.max_texel_offset.into(), 7),
            ("maxTexelGatherOffset", l.max_texel_gather_offset.into(), 7),
            ("subPixelInterpolationOffsetBits", l.sub_pixel_interpolation_offset_bits.into(), 4),
            ("maxFramebufferWidth", l.max_framebuffer_width.into(), 4096),
            ("maxFramebufferLayers", l.max_framebuffer_layers.into(), 256),
            ("maxColorAttachments", l.max_color_attachments.into(), 4),
            ("maxSampleMaskWords", l.max_sample_mask_words.into(), 1),
            ("maxClipDistances", l.max_clip_distances.into(), 8),
            ("maxCullDistances", l.max_cull_distances.into(), 8),
            ("maxCombinedClipAndCullDistances", l.max_combined_clip_and_cull_distances.into(), 8),
            ("discreteQueuePriorities", l.discrete_queue_priorities.into(), 2),
        ];
        for (name, value, required) in at_least {
            assert!(value >= required, "{name} = {value}, required {required}");
        }
        let alignments = [
            l.min_texel_buffer_offset_alignment,
            l.min_uniform_buffer_offset_alignment,
            l.min_storage_buffer_offset_alignment,
            l.non_coherent_atom_size,
            l.optimal_buffer_copy_offset_alignment,
            l.optimal_buffer_copy_row_pitch_alignment,
            l.buffer_image_granularity,
        ];
        assert!(alignments.iter().all(|a| a.is_power_of_two() && *a <= 256));
        assert!(l.min_texel_offset <= -8 && l.min_texel_gather_offset <= -8);
        assert!(l.max_sampler_lod_bias >= 2.0 && l.max_sampler_anisotropy >= 16.0);
        let bits = l.sub_pixel_interpolation_offset_bits as i32;
        assert!(l.min_interpolation_offset <= -0.5 && l.max_interpolation_offset >= 0.5 - 0.5f32.powi(bits));
        let bound = 2.0 * MAX_DIMENSION as f32;
        assert!(l.viewport_bounds_range[0] <= -bound && l.viewport_bounds_range[1] >= bound - 1.0);
        let (points, lines) = (l.point_size_range, l.line_width_range);
        assert!(points[0] <= 1.0 && points[1] >= 64.0 - l.point_size_granularity && l.point_size_granularity <= 1.0);
        assert!(lines[0] <= 1.0 && lines[1] >= 8.0 - l.line_width_granularity && l.line_width_granularity <= 1.0);
        use vk::SampleCountFlags as Count;
        let required_samples = Count::TYPE_1 | Count::TYPE_2 | Count::TYPE_4 | Count::TYPE_8 | Count::TYPE_16;
        assert!(SAMPLE_COUNTS.contains(required_samples));
        assert!(l.max_compute_work_group_size[0] <= l.max_compute_work_group_invocations);
    }

    /// Checks the limits that Vulkan 1.4 requires beyond 1.3 ("Updated Vulkan 1.4 Limit Support" of
    /// the versions appendix).
    #[test]
    fn limits_of_1_4() {
        let l = LIMITS;
        let at_least: &[(&str, u64, u64)] = &[
            ("maxImageDimension1D", l.max_image_dimension1_d.into(), 8192),
            ("maxImageDimension2D", l.max_image_dimension2_d.into(), 8192),
            ("maxImageDimension3D", l.max_image_dimension3_d.into(), 512),
            ("maxImageDimensionCube", l.max_image_dimension_cube.into(), 8192),
            ("maxImageArrayLayers", l.max_image_array_layers.into(), 2048),
            ("maxUniformBufferRange", l.max_uniform_buffer_range.into(), 65536),
            ("maxPushConstantsSize", l.max_push_constants_size.into(), 256),
            ("sparseAddressSpaceSize", l.sparse_address_space_size, 1 << 31),
            ("maxBoundDescriptorSets", l.max_bound_descriptor_sets.into(), 7),
            ("maxPerStageDescriptorUniformBuffers", l.max_per_stage_descriptor_uniform_buffers.into(), 15),
            ("maxPerStageResources", l.max_per_stage_resources.into(), 200),
            ("maxDescriptorSetUniformBuffers", l.max_descriptor_set_uniform_buffers.into(), 90),
            ("maxDescriptorSetStorageBuffers", l.max_descriptor_set_storage_buffers.into(), 96),
            ("maxDescriptorSetStorageImages", l.max_descriptor_set_storage_images.into(), 144),
            ("maxFragmentCombinedOutputResources", l.max_fragment_combined_output_resources.into(), 16),
            ("maxComputeWorkGroupInvocations", l.max_compute_work_group_invocations.into(), 256),
            ("maxComputeWorkGroupSize.x", l.max_compute_work_group_size[0].into(), 256),
            ("maxComputeWorkGroupSize.y", l.max_compute_work_group_size[1].into(), 256),
            ("maxComputeWorkGroupSize.z", l.max_compute_work_group_size[2].into(), 64),
            ("subTexelPrecisionBits", l.sub_texel_precision_bits.into(), 8),
            ("mipmapPrecisionBits", l.mipmap_precision_bits.into(), 6),
            ("maxSamplerLodBias", l.max_sampler_lod_bias as u64, 14),
            ("maxViewportDimensions", l.max_viewport_dimensions[0].min(l.max_viewport_dimensions[1]).into(), 7680),
            ("viewportBoundsRange", l.viewport_bounds_range[1] as u64, 15359),
            ("-viewportBoundsRange", -l.viewport_bounds_range[0] as u64, 15360),
            ("maxFramebufferWidth", l.max_framebuffer_width.into(), 7680),
            ("maxFramebufferHeight", l.max_framebuffer_height.into(), 7680),
            ("maxColorAttachments", l.max_color_attachments.into(), 8),
            ("timestampComputeAndGraphics", l.timestamp_compute_and_graphics.into(), 1),
            ("standardSampleLocations", l.standard_sample_locations.into(), 1),
        ];
        for (name, value, required) in at_least {
            assert!(value >= required, "{name} = {value}, required {required}");
        }
        assert!(l.buffer_image_granularity <= 4096);
        assert!(l.point_size_granularity <= 0.125 && l.line_width_granularity <= 0.5);
        assert!(l.point_size_range[0] <= 1.0 && l.point_size_range[1] >= 256.0 - l.point_size_granularity);
    }
}
