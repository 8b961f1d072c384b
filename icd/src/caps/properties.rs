//! Properties: `VkPhysicalDeviceProperties` and the structures chained to
//! `VkPhysicalDeviceProperties2`.
//!
//! The four `Vulkan1xProperties` structures hold everything that became core. The structures of the
//! extensions that they came from are copied from them, field by field of the same name
//! (`generated/properties.rs`), so that every number is given once.

use super::features::Feature;
use super::limits::{self, CAPTURED_DATA, LIMITS, MAX_ALLOCATION_SIZE, MAX_DESCRIPTORS, SAMPLE_COUNTS};
use super::newer::{self as vk, TaggedStructure};
use super::{API_VERSION, build_id, code_id, copy_str, thread_count};
use crate::ffi::pointer::write_array;
use base::abi::DESCRIPTOR_SIZE;
use base::limits::{
    CAPTURE_BUFFERS, DEFAULT_SUBGROUP_SIZE, MAX_CAPTURE_STRIDE, MAX_EXTRA_OVERESTIMATION, MAX_FRAGMENT_SIZE_LOG2,
    MAX_HEAP_RANGE, MAX_MESH_PRIMITIVES, MAX_MESH_VERTICES, MAX_MESH_WORKGROUPS, MAX_PUSH_CONSTANTS, MAX_SAMPLES,
    MAX_STAGE_COMPONENTS, MAX_TASK_PAYLOAD, MAX_VECTOR_COMPONENTS, OVERESTIMATION_GRANULARITY, SHADING_RATE_TEXEL,
    STREAMS, SUBGROUP_SIZES,
};
use base::pixel::SAMPLE_LOCATION_STEPS;
use base::shader::RayValue;
use execution::trace::GROUP_HANDLE_BYTES;
use vk::ResolveModeFlags as Resolve;

/// `subgroupSize`: equal on every host, for any width of its vectors, so that results are equal
/// too.
pub const SUBGROUP_SIZE: u32 = DEFAULT_SUBGROUP_SIZE;
/// `subgroupSupportedOperations`: the operations that the SPIR-V front end translates.
pub const SUBGROUP_OPERATIONS: vk::SubgroupFeatureFlags = vk::SubgroupFeatureFlags::from_raw(
    vk::SubgroupFeatureFlags::BASIC.as_raw()
        | vk::SubgroupFeatureFlags::VOTE.as_raw()
        | vk::SubgroupFeatureFlags::ARITHMETIC.as_raw()
        | vk::SubgroupFeatureFlags::BALLOT.as_raw()
        | vk::SubgroupFeatureFlags::SHUFFLE.as_raw()
        | vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE.as_raw()
        | vk::SubgroupFeatureFlags::CLUSTERED.as_raw()
        | vk::SubgroupFeatureFlags::QUAD.as_raw()
        | vk::SubgroupFeatureFlags::ROTATE_KHR.as_raw()
        | vk::SubgroupFeatureFlags::ROTATE_CLUSTERED_KHR.as_raw()
        | vk::SubgroupFeatureFlags::PARTITIONED_NV.as_raw(),
);
/// Stages whose pipelines may choose the subgroup size.
pub const SIZED_STAGES: vk::ShaderStageFlags = vk::ShaderStageFlags::from_raw(
    vk::ShaderStageFlags::COMPUTE.as_raw()
        | vk::ShaderStageFlags::FRAGMENT.as_raw()
        | vk::ShaderStageFlags::TASK_EXT.as_raw()
        | vk::ShaderStageFlags::MESH_EXT.as_raw(),
);
/// Stages of ray tracing pipelines, which can be in generated commands.
const RAY_STAGES: vk::ShaderStageFlags = vk::ShaderStageFlags::from_raw(
    vk::ShaderStageFlags::RAYGEN_KHR.as_raw()
        | vk::ShaderStageFlags::ANY_HIT_KHR.as_raw()
        | vk::ShaderStageFlags::CLOSEST_HIT_KHR.as_raw()
        | vk::ShaderStageFlags::MISS_KHR.as_raw()
        | vk::ShaderStageFlags::INTERSECTION_KHR.as_raw()
        | vk::ShaderStageFlags::CALLABLE_KHR.as_raw(),
);
/// All other stages, each of which has subgroup operations and can be in generated commands.
const ALL_STAGES: vk::ShaderStageFlags =
    vk::ShaderStageFlags::from_raw(SIZED_STAGES.as_raw() | vk::ShaderStageFlags::ALL_GRAPHICS.as_raw());
/// `shaderDenormPreserveFloat16`, `…32`, `…64`: generated code never sets flush-to-zero.
pub const DENORM_PRESERVE: bool = true;
/// `shaderSignedZeroInfNanPreserveFloat16`, `…32`, `…64`: passes fold by IEEE rules only.
pub const SIGNED_ZERO_INF_NAN_PRESERVE: bool = true;
/// `shaderDenormFlushToZeroFloat16`, `…32`, `…64`.
pub const DENORM_FLUSH_TO_ZERO: bool = true;
/// `shaderRoundingModeRTEFloat16`, `…32`, `…64`.
pub const ROUNDING_MODE_RTE: bool = true;
/// `shaderRoundingModeRTZFloat16`, `…32`, `…64`.
pub const ROUNDING_MODE_RTZ: bool = true;
/// `maxInlineUniformBlockSize`. An inline block is in the set's own memory.
pub const MAX_INLINE_UNIFORM_BLOCK_SIZE: u32 = 1 << 20;
/// Number of inline uniform blocks of a stage, and of all sets.
pub const MAX_INLINE_UNIFORM_BLOCKS: u32 = 64;
/// `maxPushDescriptors`.
pub const MAX_PUSH_DESCRIPTORS: u32 = 256;
/// `maxMultiDrawCount`: a list of draws is copied as a whole.
pub const MAX_MULTI_DRAW_COUNT: u32 = 1 << 20;
/// `maxCommandBufferNestingLevel`: a number of levels that is safe with a few KiB of stack for
/// each.
pub const MAX_NESTING: u32 = 64;
/// `maxDeviceFaultCount`.
pub const MAX_FAULT_REPORTS: u32 = 64;
/// `maxTaskWorkGroupTotalCount`, `maxMeshWorkGroupTotalCount`.
const MAX_MESH_GROUPS: u32 = 1 << 22;
/// `maxMeshOutputMemorySize`.
const MAX_MESH_OUTPUT: u32 = 32 << 10;
/// `maxMultiviewViewCount`.
pub const MAX_VIEWS: u32 = 6;
/// `maxPerSetDescriptors`: vkGetDescriptorSetLayoutSupport accepts any set of up to this many.
pub const MAX_PER_SET_DESCRIPTORS: u32 = MAX_DESCRIPTORS;

/// `VkPhysicalDeviceProperties::vendorID`: not a PCI vendor; outside the range of Khronos' list
/// (0x10000…).
pub const VENDOR_ID: u32 = 0;
/// `deviceID`.
pub const DEVICE_ID: u32 = 1;

/// Sparse properties. Blocks have the standard shapes (there are none with several samples). Reads
/// of unbound memory give undefined values (the sparse pieces of `os::arena` say why).
const SPARSE_PROPERTIES: vk::PhysicalDeviceSparseProperties = vk::PhysicalDeviceSparseProperties {
    residency_standard2_d_block_shape: vk::TRUE,
    residency_standard2_d_multisample_block_shape: vk::TRUE,
    residency_standard3_d_block_shape: vk::TRUE,
    residency_aligned_mip_size: vk::FALSE,
    residency_non_resident_strict: vk::FALSE,
};

/// Returns the answer of vkGetPhysicalDeviceProperties.
pub fn properties() -> vk::PhysicalDeviceProperties {
    let mut properties = vk::PhysicalDeviceProperties {
        api_version: API_VERSION,
        driver_version: driver_version(),
        vendor_id: VENDOR_ID,
        device_id: DEVICE_ID,
        device_type: vk::PhysicalDeviceType::CPU,
        pipeline_cache_uuid: build_id(),
        limits: LIMITS,
        sparse_properties: SPARSE_PROPERTIES,
        ..Default::default()
    };
    let threads = thread_count();
    let plural = if threads == 1 { "" } else { "s" };
    copy_str(&mut properties.device_name, &format!("Grus ({threads} thread{plural}, {SUBGROUP_SIZE} lanes)"));
    properties
}

fn driver_version() -> u32 {
    let part = |text: &str| text.parse().unwrap_or(0);
    vk::make_api_version(
        0,
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        part(env!("CARGO_PKG_VERSION_PATCH")),
    )
}

/// Returns `driverInfo`: version, build profile, and the start of the build id.
fn driver_info() -> String {
    let kind = if cfg!(debug_assertions) { "debug" } else { "release" };
    let [a, b, c, d, ..] = build_id();
    format!("{} {kind} {}, build {a:02x}{b:02x}{c:02x}{d:02x}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}

fn vulkan11() -> vk::PhysicalDeviceVulkan11Properties<'static> {
    let mut device_uuid = [0; 16];
    device_uuid[..8].copy_from_slice(b"Grus CPU");
    vk::PhysicalDeviceVulkan11Properties {
        device_uuid,
        driver_uuid: build_id(),
        subgroup_size: SUBGROUP_SIZE,
        subgroup_supported_stages: ALL_STAGES,
        subgroup_supported_operations: SUBGROUP_OPERATIONS,
        subgroup_quad_operations_in_all_stages: vk::TRUE,
        point_clipping_behavior: vk::PointClippingBehavior::ALL_CLIP_PLANES,
        max_multiview_view_count: MAX_VIEWS,
        max_multiview_instance_index: u32::MAX >> 1,
        protected_no_fault: vk::FALSE,
        max_per_set_descriptors: MAX_PER_SET_DESCRIPTORS,
        max_memory_allocation_size: super::heap_size().clamp(1 << 30, MAX_ALLOCATION_SIZE),
        ..Default::default()
    }
}

fn vulkan12() -> vk::PhysicalDeviceVulkan12Properties<'static> {
    let indexing = vk::Bool32::from(Feature::runtimeDescriptorArray.row().support.is_yes());
    let minmax = vk::Bool32::from(Feature::samplerFilterMinmax.row().support.is_yes());
    let mut properties = vk::PhysicalDeviceVulkan12Properties {
        // Khronos has not assigned a number to Grus.
        driver_id: vk::DriverId::from_raw(0),
        conformance_version: super::conformance::conformance_version(),
        denorm_behavior_independence: vk::ShaderFloatControlsIndependence::ALL,
        rounding_mode_independence: vk::ShaderFloatControlsIndependence::ALL,
        shader_signed_zero_inf_nan_preserve_float16: SIGNED_ZERO_INF_NAN_PRESERVE.into(),
        shader_signed_zero_inf_nan_preserve_float32: SIGNED_ZERO_INF_NAN_PRESERVE.into(),
        shader_signed_zero_inf_nan_preserve_float64: SIGNED_ZERO_INF_NAN_PRESERVE.into(),
        shader_denorm_preserve_float16: DENORM_PRESERVE.into(),
        shader_denorm_flush_to_zero_float16: DENORM_FLUSH_TO_ZERO.into(),
        shader_denorm_preserve_float32: DENORM_PRESERVE.into(),
        shader_denorm_flush_to_zero_float32: DENORM_FLUSH_TO_ZERO.into(),
        shader_denorm_preserve_float64: DENORM_PRESERVE.into(),
        shader_denorm_flush_to_zero_float64: DENORM_FLUSH_TO_ZERO.into(),
        shader_rounding_mode_rte_float16: ROUNDING_MODE_RTE.into(),
        shader_rounding_mode_rtz_float16: ROUNDING_MODE_RTZ.into(),
        shader_rounding_mode_rte_float32: ROUNDING_MODE_RTE.into(),
        shader_rounding_mode_rtz_float32: ROUNDING_MODE_RTZ.into(),
        shader_rounding_mode_rte_float64: ROUNDING_MODE_RTE.into(),
        shader_rounding_mode_rtz_float64: ROUNDING_MODE_RTZ.into(),
        max_update_after_bind_descriptors_in_all_pools: u32::MAX,
        // Each lane has a buffer descriptor of its own in any case. For images and samplers, a
        // kernel is called once for each different one, which gives the same result at a higher
        // cost. (lavapipe reports these as native too, and loops over them.)
        shader_uniform_buffer_array_non_uniform_indexing_native: vk::TRUE,
        shader_storage_buffer_array_non_uniform_indexing_native: vk::TRUE,
        robust_buffer_access_update_after_bind: indexing,
        // Derivatives use all lanes' coordinates, for any image that each lane samples.
        quad_divergent_implicit_lod: vk::TRUE,
        max_per_stage_descriptor_update_after_bind_samplers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_uniform_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_storage_buffers: MAX_DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_sampled_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_storage_images: MAX_DESCRIPTORS,
        max_per_stage_descriptor_update_after_bind_input_attachments: MAX_DESCRIPTORS,
        max_per_stage_update_after_bind_resources: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_samplers: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_uniform_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_uniform_buffers_dynamic: LIMITS.max_descriptor_set_uniform_buffers_dynamic,
        max_descriptor_set_update_after_bind_storage_buffers: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_storage_buffers_dynamic: LIMITS.max_descriptor_set_storage_buffers_dynamic,
        max_descriptor_set_update_after_bind_sampled_images: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_storage_images: MAX_DESCRIPTORS,
        max_descriptor_set_update_after_bind_input_attachments: MAX_DESCRIPTORS,
        // The modes that the resolves of `transfer` support.
        supported_depth_resolve_modes: Resolve::SAMPLE_ZERO | Resolve::AVERAGE | Resolve::MIN | Resolve::MAX,
        supported_stencil_resolve_modes: Resolve::SAMPLE_ZERO | Resolve::MIN | Resolve::MAX,
        independent_resolve_none: vk::TRUE,
        independent_resolve: vk::TRUE,
        filter_minmax_single_component_formats: minmax,
        filter_minmax_image_component_mapping: minmax,
        max_timeline_semaphore_value_difference: u64::MAX,
        framebuffer_integer_color_sample_counts: SAMPLE_COUNTS,
        ..Default::default()
    };
    copy_str(&mut properties.driver_name, "Grus");
    copy_str(&mut properties.driver_info, &driver_info());
    properties
}

fn vulkan13() -> vk::PhysicalDeviceVulkan13Properties<'static> {
    vk::PhysicalDeviceVulkan13Properties {
        min_subgroup_size: *SUBGROUP_SIZES.start(),
        max_subgroup_size: *SUBGROUP_SIZES.end(),
        required_subgroup_size_stages: SIZED_STAGES,
        max_inline_uniform_block_size: MAX_INLINE_UNIFORM_BLOCK_SIZE,
        max_per_stage_descriptor_inline_uniform_blocks: MAX_INLINE_UNIFORM_BLOCKS,
        max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: MAX_INLINE_UNIFORM_BLOCKS,
        max_descriptor_set_inline_uniform_blocks: MAX_INLINE_UNIFORM_BLOCKS,
        max_descriptor_set_update_after_bind_inline_uniform_blocks: MAX_INLINE_UNIFORM_BLOCKS,
        max_inline_uniform_total_size: MAX_INLINE_UNIFORM_BLOCK_SIZE * MAX_INLINE_UNIFORM_BLOCKS,
        max_compute_workgroup_subgroups: LIMITS.max_compute_work_group_invocations / SUBGROUP_SIZES.start(),
        // Texel buffers are read texel by texel at any component's alignment; 16 covers every
        // format.
        storage_texel_buffer_offset_alignment_bytes: LIMITS.min_texel_buffer_offset_alignment,
        storage_texel_buffer_offset_single_texel_alignment: vk::TRUE,
        uniform_texel_buffer_offset_alignment_bytes: LIMITS.min_texel_buffer_offset_alignment,
        uniform_texel_buffer_offset_single_texel_alignment: vk::TRUE,
        max_buffer_size: super::heap_size().clamp(1 << 30, MAX_ALLOCATION_SIZE),
        // Dot products are sums of products: none of them is accelerated.
        ..Default::default()
    }
}

/// Returns the Vulkan 1.4 properties without the lists of layouts, which are the application's
/// memory ([`fill_1_4`]).
fn vulkan14() -> vk::PhysicalDeviceVulkan14Properties<'static> {
    vk::PhysicalDeviceVulkan14Properties {
        s_type: <vk::PhysicalDeviceVulkan14Properties<'_> as TaggedStructure>::STRUCTURE_TYPE,
        p_next: std::ptr::null_mut(),
        // Lines and triangles have the same fixed-point positions.
        line_sub_pixel_precision_bits: LIMITS.sub_pixel_precision_bits,
        max_vertex_attrib_divisor: u32::MAX,
        supports_non_zero_first_instance: vk::TRUE,
        max_push_descriptors: MAX_PUSH_DESCRIPTORS,
        dynamic_rendering_local_read_depth_stencil_attachments: vk::TRUE,
        dynamic_rendering_local_read_multisampled_attachments: vk::TRUE,
        // Early tests count before the stage runs and alpha becomes coverage; they count the
        // samples that the mask leaves.
        early_fragment_multisample_coverage_after_sample_counting: vk::TRUE,
        early_fragment_sample_mask_test_before_sample_counting: vk::TRUE,
        depth_stencil_swizzle_one_support: vk::TRUE,
        polygon_mode_point_size: vk::TRUE,
        // These properties apply to lines that are not strict; all lines are strict.
        non_strict_single_pixel_wide_lines_use_parallelogram: vk::FALSE,
        non_strict_wide_lines_use_parallelogram: vk::FALSE,
        // A view of blocks as texels is a view of an image of such texels, with all of its levels
        // and layers.
        block_texel_view_compatible_multiple_layers: vk::TRUE,
        max_combined_image_sampler_descriptor_count: 1,
        fragment_shading_rate_clamp_combiner_inputs: vk::TRUE,
        // Every access is checked, for any request of a pipeline.
        default_robustness_storage_buffers: vk::PipelineRobustnessBufferBehaviorEXT::ROBUST_BUFFER_ACCESS_2,
        default_robustness_uniform_buffers: vk::PipelineRobustnessBufferBehaviorEXT::ROBUST_BUFFER_ACCESS_2,
        default_robustness_vertex_inputs: vk::PipelineRobustnessBufferBehaviorEXT::ROBUST_BUFFER_ACCESS_2,
        default_robustness_images: vk::PipelineRobustnessImageBehaviorEXT::ROBUST_IMAGE_ACCESS_2,
        copy_src_layout_count: 0,
        p_copy_src_layouts: std::ptr::null_mut(),
        copy_dst_layout_count: 0,
        p_copy_dst_layouts: std::ptr::null_mut(),
        // There is one memory layout, which can only change together with the driver.
        optimal_tiling_layout_uuid: build_id(),
        identical_memory_type_requirements: vk::TRUE,
        _marker: std::marker::PhantomData,
    }
}

/// Returns the mesh shader properties. Workgroups have the limits of compute stages; outputs are
/// stored in memory as words.
fn mesh_shader() -> vk::PhysicalDeviceMeshShaderPropertiesEXT<'static> {
    let invocations = LIMITS.max_compute_work_group_invocations;
    vk::PhysicalDeviceMeshShaderPropertiesEXT {
        max_task_work_group_total_count: MAX_MESH_GROUPS,
        max_task_work_group_count: [MAX_MESH_WORKGROUPS; 3],
        max_task_work_group_invocations: invocations,
        max_task_work_group_size: LIMITS.max_compute_work_group_size,
        max_task_payload_size: MAX_TASK_PAYLOAD,
        max_task_shared_memory_size: LIMITS.max_compute_shared_memory_size,
        max_task_payload_and_shared_memory_size: MAX_TASK_PAYLOAD + LIMITS.max_compute_shared_memory_size,
        max_mesh_work_group_total_count: MAX_MESH_GROUPS,
        max_mesh_work_group_count: [MAX_MESH_WORKGROUPS; 3],
        max_mesh_work_group_invocations: invocations,
        max_mesh_work_group_size: LIMITS.max_compute_work_group_size,
        max_mesh_shared_memory_size: LIMITS.max_compute_shared_memory_size,
        max_mesh_payload_and_shared_memory_size: MAX_TASK_PAYLOAD + LIMITS.max_compute_shared_memory_size,
        max_mesh_output_memory_size: MAX_MESH_OUTPUT,
        max_mesh_payload_and_output_memory_size: MAX_TASK_PAYLOAD + MAX_MESH_OUTPUT,
        max_mesh_output_components: MAX_STAGE_COMPONENTS,
        max_mesh_output_vertices: MAX_MESH_VERTICES,
        max_mesh_output_primitives: MAX_MESH_PRIMITIVES,
        max_mesh_output_layers: LIMITS.max_framebuffer_layers,
        max_mesh_multiview_view_count: MAX_VIEWS,
        mesh_output_per_vertex_granularity: 1,
        mesh_output_per_primitive_granularity: 1,
        max_preferred_task_work_group_invocations: 64,
        max_preferred_mesh_work_group_invocations: 64,
        // The stores of any invocation cost the same, and outputs that are not written are not
        // read.
        prefers_local_invocation_vertex_output: vk::FALSE,
        prefers_local_invocation_primitive_output: vk::FALSE,
        prefers_compact_vertex_output: vk::TRUE,
        prefers_compact_primitive_output: vk::TRUE,
        ..Default::default()
    }
}

/// Runs the arm of the structure whose tag `$next` has.
macro_rules! by_tag {
    ($next:expr; $($ty:ident => |$p:ident| $body:expr;)*) => {{
        let next: *mut vk::BaseOutStructure<'_> = $next;
        // SAFETY: `$next` is an element of a valid chain.
        let tag = unsafe { (*next).s_type };
        $(if tag == <vk::$ty<'_> as TaggedStructure>::STRUCTURE_TYPE {
            // SAFETY: the tag identifies the structure's type, and no other code uses the structure
            // during the call.
            let $p = unsafe { &mut *next.cast::<vk::$ty<'_>>() };
            $body;
        })*
    }};
}

/// Copies fields of the same name.
macro_rules! copy {
    ($to:ident, $from:expr, $($field:ident),* $(,)?) => {{ let from = $from; $($to.$field = from.$field;)* }};
}

/// Writes a `Vulkan1xProperties` structure over another one and keeps the chain.
macro_rules! replace {
    ($to:ident, $with:expr) => {{
        let p_next = $to.p_next;
        *$to = $with;
        $to.p_next = p_next;
    }};
}

/// Fills in the answer of vkGetPhysicalDeviceProperties2. Structures that the driver does not know
/// are left unchanged.
///
/// # Safety
/// `out` heads a valid chain.
pub unsafe fn fill_properties2(out: &mut vk::PhysicalDeviceProperties2<'_>) {
    out.properties = properties();
    let mut next = out.p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the valid chain that `out` heads.
        next = unsafe {
            fill_1_1(next);
            fill_1_2(next);
            fill_1_3(next);
            fill_1_4(next);
            fill_promoted(next);
            fill_extensions(next);
            (*next).p_next
        };
    }
}

macro_rules! promoted {
    ($($ty:ident $from:ident: $($field:ident)*;)*) => {
        /// Fills in a structure of an extension whose properties a `Vulkan1xProperties` structure
        /// includes.
        ///
        /// # Safety
        /// `next` is an element of a valid chain.
        unsafe fn fill_promoted(next: *mut vk::BaseOutStructure<'_>) {
            by_tag! { next; $($ty => |p| copy!(p, $from(), $($field),*);)* }
        }
    };
}

include!("generated/properties.rs");

/// Fills in a structure of Vulkan 1.1, or of an extension with other names for its fields.
///
/// # Safety
/// `next` is an element of a valid chain.
unsafe fn fill_1_1(next: *mut vk::BaseOutStructure<'_>) {
    by_tag! { next;
        PhysicalDeviceVulkan11Properties => |p| replace!(p, vulkan11());
        PhysicalDeviceSubgroupProperties => |p| {
            let v = vulkan11();
            p.subgroup_size = v.subgroup_size;
            p.supported_stages = v.subgroup_supported_stages;
            p.supported_operations = v.subgroup_supported_operations;
            p.quad_operations_in_all_stages = v.subgroup_quad_operations_in_all_stages;
        };
    }
}

/// Fills in the structure of Vulkan 1.2.
///
/// # Safety
/// `next` is an element of a valid chain.
unsafe fn fill_1_2(next: *mut vk::BaseOutStructure<'_>) {
    by_tag! { next;
        PhysicalDeviceVulkan12Properties => |p| replace!(p, vulkan12());
    }
}

/// Fills in the structure of Vulkan 1.3.
///
/// # Safety
/// `next` is an element of a valid chain.
unsafe fn fill_1_3(next: *mut vk::BaseOutStructure<'_>) {
    by_tag! { next;
        PhysicalDeviceVulkan13Properties => |p| replace!(p, vulkan13());
    }
}

/// Layouts of images that the host copies from and to: an image is stored in the same way in all of
/// them.
const HOST_COPY_LAYOUTS: [vk::ImageLayout; 20] = {
    use vk::ImageLayout as L;
    [
        L::GENERAL,
        L::PREINITIALIZED,
        L::COLOR_ATTACHMENT_OPTIMAL,
        L::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
        L::DEPTH_STENCIL_READ_ONLY_OPTIMAL,
        L::SHADER_READ_ONLY_OPTIMAL,
        L::TRANSFER_SRC_OPTIMAL,
        L::TRANSFER_DST_OPTIMAL,
        L::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
        L::DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL,
        L::DEPTH_ATTACHMENT_OPTIMAL,
        L::DEPTH_READ_ONLY_OPTIMAL,
        L::STENCIL_ATTACHMENT_OPTIMAL,
        L::STENCIL_READ_ONLY_OPTIMAL,
        L::READ_ONLY_OPTIMAL,
        L::ATTACHMENT_OPTIMAL,
        L::RENDERING_LOCAL_READ_KHR,
        L::ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT,
        L::FRAGMENT_SHADING_RATE_ATTACHMENT_OPTIMAL_KHR,
        L::PRESENT_SRC_KHR,
    ]
};

/// Writes [`HOST_COPY_LAYOUTS`] by the two-call idiom.
///
/// # Safety
/// `layouts` is null or has space for `count`.
unsafe fn write_layouts(count: &mut u32, layouts: *mut vk::ImageLayout) {
    // SAFETY: `layouts` is null or has space for `count`, as the `# Safety` section demands. The
    // result is dropped because the count says how many were written.
    let _ = unsafe { write_array(&HOST_COPY_LAYOUTS, count, layouts) };
}

/// Fills in a structure of Vulkan 1.4, or of an extension with lists of the application.
///
/// # Safety
/// `next` is an element of a valid chain.
unsafe fn fill_1_4(next: *mut vk::BaseOutStructure<'_>) {
    by_tag! { next;
        PhysicalDeviceVulkan14Properties => |p| {
            let [src, dst] = [(p.copy_src_layout_count, p.p_copy_src_layouts), (p.copy_dst_layout_count, p.p_copy_dst_layouts)];
            replace!(p, vulkan14());
            (p.copy_src_layout_count, p.p_copy_src_layouts) = src;
            (p.copy_dst_layout_count, p.p_copy_dst_layouts) = dst;
            // SAFETY: both lists have space for their counts, or are null.
            unsafe {
                write_layouts(&mut p.copy_src_layout_count, p.p_copy_src_layouts);
                write_layouts(&mut p.copy_dst_layout_count, p.p_copy_dst_layouts);
            }
        };
        PhysicalDeviceHostImageCopyPropertiesEXT => |p| {
            // SAFETY: both lists have space for their counts, or are null.
            unsafe {
                write_layouts(&mut p.copy_src_layout_count, p.p_copy_src_layouts);
                write_layouts(&mut p.copy_dst_layout_count, p.p_copy_dst_layouts);
            }
            copy!(p, vulkan14(), optimal_tiling_layout_uuid, identical_memory_type_requirements);
        };
    }
}

/// Fills in a structure of an extension that is not in core 1.4.
///
/// # Safety
/// `next` is an element of a valid chain.
unsafe fn fill_extensions(next: *mut vk::BaseOutStructure<'_>) {
    by_tag! { next;
        PhysicalDeviceRobustness2PropertiesEXT => |p| {
            p.robust_storage_buffer_access_size_alignment = 1;
            p.robust_uniform_buffer_access_size_alignment = 1;
        };
        PhysicalDeviceMaintenance7PropertiesKHR => |p| {
            p.robust_fragment_shading_rate_attachment_access = vk::TRUE;
            // Depth and stencil are separate planes.
            p.separate_depth_stencil_attachment_access = vk::TRUE;
            let [uniform, storage] = [LIMITS.max_descriptor_set_uniform_buffers_dynamic, LIMITS.max_descriptor_set_storage_buffers_dynamic];
            p.max_descriptor_set_total_uniform_buffers_dynamic = uniform;
            p.max_descriptor_set_total_storage_buffers_dynamic = storage;
            p.max_descriptor_set_total_buffers_dynamic = uniform + storage;
            let all = vulkan12();
            let uniform = all.max_descriptor_set_update_after_bind_uniform_buffers_dynamic;
            let storage = all.max_descriptor_set_update_after_bind_storage_buffers_dynamic;
            p.max_descriptor_set_update_after_bind_total_uniform_buffers_dynamic = uniform;
            p.max_descriptor_set_update_after_bind_total_storage_buffers_dynamic = storage;
            p.max_descriptor_set_update_after_bind_total_buffers_dynamic = uniform + storage;
        };
        PhysicalDeviceShaderObjectPropertiesEXT => |p| {
            // Each build has binaries of its own, so there are no versions of them.
            (p.shader_binary_uuid, p.shader_binary_version) = (code_id(), 1);
        };
        PhysicalDeviceNestedCommandBufferPropertiesEXT => |p| p.max_command_buffer_nesting_level = MAX_NESTING;
        // There is no layered implementation below the driver.
        PhysicalDeviceLayeredApiPropertiesListKHR => |p| p.layered_api_count = 0;
        PhysicalDeviceMaintenance9PropertiesKHR => |p| {
            p.image2_d_view_of3_d_sparse = vk::TRUE;
            // VK_DEFAULT_VERTEX_ATTRIBUTE_VALUE_ZERO_ZERO_ZERO_ZERO_KHR.
            p.default_vertex_attribute_value = 0;
        };
        PhysicalDeviceDescriptorBufferPropertiesEXT => |p| {
            p.combined_image_sampler_descriptor_single_array = vk::TRUE;
            p.bufferless_push_descriptors = vk::TRUE;
            // Handles are looked up when descriptors are used.
            p.allow_sampler_image_view_post_submit_creation = vk::TRUE;
            p.descriptor_buffer_offset_alignment = DESCRIPTOR_SIZE as u64;
            // There may be as many as there are sets, whose layouts are the only bound.
            let sets = LIMITS.max_bound_descriptor_sets;
            p.max_descriptor_buffer_bindings = sets;
            p.max_resource_descriptor_buffer_bindings = sets;
            p.max_sampler_descriptor_buffer_bindings = sets;
            p.max_embedded_immutable_sampler_bindings = sets;
            p.max_embedded_immutable_samplers = LIMITS.max_sampler_allocation_count;
            for size in [
                &mut p.sampler_descriptor_size,
                &mut p.combined_image_sampler_descriptor_size,
                &mut p.sampled_image_descriptor_size,
                &mut p.storage_image_descriptor_size,
                &mut p.uniform_texel_buffer_descriptor_size,
                &mut p.robust_uniform_texel_buffer_descriptor_size,
                &mut p.storage_texel_buffer_descriptor_size,
                &mut p.robust_storage_texel_buffer_descriptor_size,
                &mut p.uniform_buffer_descriptor_size,
                &mut p.robust_uniform_buffer_descriptor_size,
                &mut p.storage_buffer_descriptor_size,
                &mut p.robust_storage_buffer_descriptor_size,
                &mut p.input_attachment_descriptor_size,
                &mut p.acceleration_structure_descriptor_size,
            ] {
                *size = DESCRIPTOR_SIZE;
            }
            for size in [
                &mut p.buffer_capture_replay_descriptor_data_size,
                &mut p.image_capture_replay_descriptor_data_size,
                &mut p.image_view_capture_replay_descriptor_data_size,
                &mut p.sampler_capture_replay_descriptor_data_size,
                &mut p.acceleration_structure_capture_replay_descriptor_data_size,
            ] {
                *size = CAPTURED_DATA;
            }
            // The descriptors of a set's layout are copied from any address: only the layout is
            // bounded.
            let all = super::heap_size().max(1 << 27);
            p.max_sampler_descriptor_buffer_range = all;
            p.max_resource_descriptor_buffer_range = all;
            p.sampler_descriptor_buffer_address_space_size = all;
            p.resource_descriptor_buffer_address_space_size = all;
            p.descriptor_buffer_address_space_size = all;
        };
        PhysicalDeviceDescriptorHeapPropertiesEXT => |p| {
            let size = DESCRIPTOR_SIZE as u64;
            (p.sampler_heap_alignment, p.resource_heap_alignment) = (size, size);
            // This is sixteen times as many descriptors as there can be views and samplers at a
            // time.
            (p.max_sampler_heap_size, p.max_resource_heap_size) = (MAX_HEAP_RANGE, MAX_HEAP_RANGE);
            p.min_sampler_heap_reserved_range = 0;
            p.min_sampler_heap_reserved_range_with_embedded = 0;
            p.min_resource_heap_reserved_range = 0;
            (p.sampler_descriptor_size, p.image_descriptor_size, p.buffer_descriptor_size) = (size, size, size);
            (p.sampler_descriptor_alignment, p.image_descriptor_alignment, p.buffer_descriptor_alignment) = (size, size, size);
            p.max_push_data_size = MAX_PUSH_CONSTANTS as u64;
            p.image_capture_replay_opaque_data_size = 0;
            p.max_descriptor_heap_embedded_samplers = LIMITS.max_sampler_allocation_count;
            p.sampler_ycbcr_conversion_count = 1;
            // Unbound pages have undefined contents, which are not descriptors.
            p.sparse_descriptor_heaps = vk::TRUE;
            p.protected_descriptor_heaps = vk::FALSE;
        };
        PhysicalDeviceDeviceGeneratedCommandsPropertiesEXT => |p| {
            p.max_indirect_pipeline_count = limits::MAX_INDIRECT_PIPELINES;
            p.max_indirect_shader_object_count = limits::MAX_INDIRECT_SHADERS;
            p.max_indirect_sequence_count = limits::MAX_INDIRECT_SEQUENCES;
            p.max_indirect_commands_token_count = limits::MAX_INDIRECT_TOKENS;
            p.max_indirect_commands_token_offset = limits::MAX_INDIRECT_TOKEN_OFFSET;
            p.max_indirect_commands_indirect_stride = limits::MAX_INDIRECT_STRIDE;
            p.supported_indirect_commands_input_modes = limits::INDIRECT_INPUT_MODES;
            p.supported_indirect_commands_shader_stages = ALL_STAGES | RAY_STAGES;
            p.supported_indirect_commands_shader_stages_pipeline_binding = ALL_STAGES | RAY_STAGES;
            p.supported_indirect_commands_shader_stages_shader_binding = ALL_STAGES;
            p.device_generated_commands_transform_feedback = vk::TRUE;
            p.device_generated_commands_multi_draw_indirect_count = vk::TRUE;
        };
        PhysicalDeviceAccelerationStructurePropertiesKHR => |p| {
            p.max_geometry_count = limits::MAX_GEOMETRIES;
            p.max_instance_count = limits::MAX_INSTANCES;
            p.max_primitive_count = limits::MAX_PRIMITIVES;
            let most = LIMITS.max_per_stage_resources;
            p.max_per_stage_descriptor_acceleration_structures = most;
            p.max_per_stage_descriptor_update_after_bind_acceleration_structures = most;
            p.max_descriptor_set_acceleration_structures = most;
            p.max_descriptor_set_update_after_bind_acceleration_structures = most;
            p.min_acceleration_structure_scratch_offset_alignment = 1;
        };
        PhysicalDeviceRayTracingPipelinePropertiesKHR => |p| {
            p.shader_group_handle_size = GROUP_HANDLE_BYTES as u32;
            p.max_ray_recursion_depth = limits::MAX_RAY_RECURSION;
            p.max_shader_group_stride = limits::MAX_GROUP_STRIDE;
            p.shader_group_base_alignment = GROUP_HANDLE_BYTES as u32;
            p.shader_group_handle_capture_replay_size = GROUP_HANDLE_BYTES as u32;
            p.max_ray_dispatch_invocation_count = limits::MAX_LAUNCH_IDS;
            p.shader_group_handle_alignment = GROUP_HANDLE_BYTES as u32;
            p.max_ray_hit_attribute_size = RayValue::HitAttribute.words() * 4;
        };
        PhysicalDeviceOpacityMicromapPropertiesEXT => |p| {
            p.max_opacity2_state_subdivision_level = rays::MAX_SUBDIVISION_LEVEL;
            p.max_opacity4_state_subdivision_level = rays::MAX_SUBDIVISION_LEVEL;
        };
        PhysicalDeviceOpacityMicromapPropertiesKHR => |p| {
            p.max_opacity2_state_subdivision_level = rays::MAX_SUBDIVISION_LEVEL;
            p.max_opacity4_state_subdivision_level = rays::MAX_SUBDIVISION_LEVEL;
            p.max_opacity_lossy4_state_subdivision_level = rays::MAX_SUBDIVISION_LEVEL;
            p.max_micromap_triangles = rays::MAX_MICROMAP_TRIANGLES.into();
        };
        // Invocations continue in the order of hit objects and hints.
        PhysicalDeviceRayTracingInvocationReorderPropertiesEXT => |p| {
            p.ray_tracing_invocation_reorder_reordering_hint = vk::RayTracingInvocationReorderModeNV::REORDER;
            p.max_shader_binding_table_record_index = u32::MAX;
        };
        PhysicalDeviceRayTracingInvocationReorderPropertiesNV => |p| {
            p.ray_tracing_invocation_reorder_reordering_hint = vk::RayTracingInvocationReorderModeNV::REORDER;
        };
        PhysicalDeviceFaultPropertiesKHR => |p| p.max_device_fault_count = MAX_FAULT_REPORTS;
        PhysicalDeviceMaintenance10PropertiesKHR => |p| {
            p.rgba4_opaque_black_swizzled = vk::TRUE;
            p.resolve_srgb_format_applies_transfer_function = vk::TRUE;
            p.resolve_srgb_format_supports_transfer_function_control = vk::FALSE;
        };
        // A pipeline's code does not depend on the topology.
        PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT => |p| {
            p.graphics_pipeline_library_fast_linking = vk::TRUE;
            p.graphics_pipeline_library_independent_interpolation_decoration = vk::TRUE;
        };
        PhysicalDeviceExtendedDynamicState3PropertiesEXT => |p| p.dynamic_primitive_topology_unrestricted = vk::TRUE;
        PhysicalDeviceBlendOperationAdvancedPropertiesEXT => |p| {
            p.advanced_blend_max_color_attachments = LIMITS.max_color_attachments;
            p.advanced_blend_independent_blend = vk::TRUE;
            p.advanced_blend_non_premultiplied_src_color = vk::TRUE;
            p.advanced_blend_non_premultiplied_dst_color = vk::TRUE;
            p.advanced_blend_correlated_overlap = vk::TRUE;
            p.advanced_blend_all_operations = vk::TRUE;
        };
        PhysicalDeviceMultiDrawPropertiesEXT => |p| p.max_multi_draw_count = MAX_MULTI_DRAW_COUNT;
        PhysicalDeviceProvokingVertexPropertiesEXT => |p| {
            p.provoking_vertex_mode_per_pipeline = vk::TRUE;
            p.transform_feedback_preserves_triangle_fan_provoking_vertex = vk::TRUE;
        };
        PhysicalDeviceTransformFeedbackPropertiesEXT => |p| {
            p.max_transform_feedback_streams = STREAMS as u32;
            p.max_transform_feedback_buffers = CAPTURE_BUFFERS as u32;
            // Counters are words of 32 bits.
            p.max_transform_feedback_buffer_size = u32::MAX.into();
            p.max_transform_feedback_stream_data_size = CAPTURE_BUFFERS as u32 * MAX_CAPTURE_STRIDE;
            p.max_transform_feedback_buffer_data_size = MAX_CAPTURE_STRIDE;
            p.max_transform_feedback_buffer_data_stride = MAX_CAPTURE_STRIDE;
            p.transform_feedback_queries = vk::TRUE;
            p.transform_feedback_streams_lines_triangles = vk::TRUE;
            p.transform_feedback_rasterization_stream_select = vk::TRUE;
            p.transform_feedback_draw = vk::TRUE;
        };
        PhysicalDeviceExternalMemoryHostPropertiesEXT => |p| p.min_imported_host_pointer_alignment = super::external::HOST_POINTER_ALIGNMENT;
        PhysicalDeviceCopyMemoryIndirectPropertiesNV => |p| p.supported_queues = super::host::QUEUE_FAMILIES[0].queue_flags & !vk::QueueFlags::SPARSE_BINDING;
        // Attributes are fetched at any address in the same way.
        PhysicalDeviceLegacyVertexAttributesPropertiesEXT => |p| p.native_unaligned_performance = vk::TRUE;
        PhysicalDeviceMeshShaderPropertiesEXT => |p| replace!(p, mesh_shader());
        // Coverage is exact at snapped positions, of polygons, rectangular lines and points.
        PhysicalDeviceConservativeRasterizationPropertiesEXT => |p| {
            p.primitive_overestimation_size = 0.0;
            p.max_extra_primitive_overestimation_size = MAX_EXTRA_OVERESTIMATION;
            p.extra_primitive_overestimation_size_granularity = OVERESTIMATION_GRANULARITY;
            p.primitive_underestimation = vk::TRUE;
            p.conservative_point_and_line_rasterization = vk::TRUE;
            p.degenerate_triangles_rasterized = vk::TRUE;
            p.degenerate_lines_rasterized = vk::FALSE;
            p.fully_covered_fragment_shader_input_variable = vk::TRUE;
            p.conservative_rasterization_post_depth_coverage = vk::TRUE;
        };
        PhysicalDeviceFragmentShadingRatePropertiesKHR => |p| {
            let texel = vk::Extent2D { width: SHADING_RATE_TEXEL, height: SHADING_RATE_TEXEL };
            let side = 1 << MAX_FRAGMENT_SIZE_LOG2;
            (p.min_fragment_shading_rate_attachment_texel_size, p.max_fragment_shading_rate_attachment_texel_size) = (texel, texel);
            p.max_fragment_shading_rate_attachment_texel_size_aspect_ratio = 1;
            p.primitive_fragment_shading_rate_with_multiple_viewports = vk::TRUE;
            p.layered_shading_rate_attachments = vk::TRUE;
            p.fragment_shading_rate_non_trivial_combiner_ops = vk::TRUE;
            p.max_fragment_size = vk::Extent2D { width: side, height: side };
            p.max_fragment_size_aspect_ratio = side;
            p.max_fragment_shading_rate_coverage_samples = side * side * MAX_SAMPLES as u32;
            p.max_fragment_shading_rate_rasterization_samples = vk::SampleCountFlags::from_raw(MAX_SAMPLES as u32);
            p.fragment_shading_rate_with_shader_depth_stencil_writes = vk::TRUE;
            p.fragment_shading_rate_with_sample_mask = vk::TRUE;
            // SampleMask has 32 bits, and fragments have up to 256 samples.
            p.fragment_shading_rate_with_shader_sample_mask = vk::FALSE;
            p.fragment_shading_rate_with_conservative_rasterization = vk::TRUE;
            p.fragment_shading_rate_with_fragment_shader_interlock = vk::TRUE;
            p.fragment_shading_rate_with_custom_sample_locations = vk::TRUE;
            p.fragment_shading_rate_strict_multiply_combiner = vk::TRUE;
        };
        // The provoking vertex mode decides about the order of every primitive's vertices
        // (`Topology::all_vertices`).
        PhysicalDeviceFragmentShaderBarycentricPropertiesKHR => |p| p.tri_strip_vertex_order_independent_of_provoking_vertex = vk::FALSE;
        PhysicalDeviceSampleLocationsPropertiesEXT => |p| {
            p.sample_location_sample_counts = LOCATED;
            p.max_sample_location_grid_size = sample_location_grid(LOCATED);
            p.sample_location_coordinate_range = [0.0, 1.0 - 1.0 / SAMPLE_LOCATION_STEPS];
            p.sample_location_sub_pixel_bits = (SAMPLE_LOCATION_STEPS as u32).ilog2();
            // They belong to the draw, and nothing depends on those of other draws.
            p.variable_sample_locations = vk::TRUE;
        };
        // A sampler contains its colour.
        PhysicalDeviceCustomBorderColorPropertiesEXT => |p| p.max_custom_border_color_samplers = LIMITS.max_sampler_allocation_count;
        PhysicalDeviceCooperativeMatrixPropertiesKHR => |p| p.cooperative_matrix_supported_stages = vk::ShaderStageFlags::COMPUTE;
        PhysicalDeviceCooperativeVectorPropertiesNV => |p| {
            p.cooperative_vector_supported_stages = vk::ShaderStageFlags::ALL;
            p.cooperative_vector_training_float16_accumulation = vk::TRUE;
            p.cooperative_vector_training_float32_accumulation = vk::TRUE;
            p.max_cooperative_vector_components = MAX_VECTOR_COMPONENTS;
        };
        PhysicalDeviceShaderLongVectorPropertiesEXT => |p| p.max_vector_components = MAX_VECTOR_COMPONENTS;
        // Neither matrices of a workgroup's scope nor flexible dimensions are supported.
        PhysicalDeviceCooperativeMatrix2PropertiesNV => |p| {
            p.cooperative_matrix_workgroup_scope_max_workgroup_size = 0;
            p.cooperative_matrix_flexible_dimensions_max_dimension = 0;
            p.cooperative_matrix_workgroup_scope_reserved_shared_memory = 0;
        };
        PhysicalDeviceShaderModuleIdentifierPropertiesEXT => |p| p.shader_module_identifier_algorithm_uuid = MODULE_IDENTIFIER_ALGORITHM;
        PhysicalDevicePipelineBinaryPropertiesKHR => |p| {
            // The stages of living pipelines are found by the info that creates them. They are not
            // on any disk, so that the application's own cache is worth having.
            p.pipeline_binary_internal_cache = vk::TRUE;
            p.pipeline_binary_internal_cache_control = vk::TRUE;
            p.pipeline_binary_prefers_internal_cache = vk::FALSE;
            p.pipeline_binary_precompiled_internal_cache = vk::FALSE;
            p.pipeline_binary_compressed_data = vk::FALSE;
        };
        PhysicalDeviceComputeShaderDerivativesPropertiesKHR => |p| p.mesh_and_task_shader_derivatives = vk::TRUE;
    }
}

/// `shaderModuleIdentifierAlgorithmUUID`: the name of the algorithm
/// (`shader_compiler::identifier`), which changes when equal words get another identifier.
const MODULE_IDENTIFIER_ALGORITHM: [u8; vk::UUID_SIZE] = *b"BLAKE3 of words1";

/// Sample counts whose samples can be at locations of the application's choice: a single sample
/// stays at the centre.
const LOCATED: vk::SampleCountFlags =
    vk::SampleCountFlags::from_raw(SAMPLE_COUNTS.as_raw() & !vk::SampleCountFlags::TYPE_1.as_raw());

/// Returns the answers of vkGetPhysicalDeviceFragmentShadingRatesKHR, in their order: the sizes of
/// fragments with numbers of samples. Every number is supported with every size.
pub fn fragment_shading_rates() -> Vec<(vk::Extent2D, vk::SampleCountFlags)> {
    let sides = || (0..=MAX_FRAGMENT_SIZE_LOG2).rev().map(|log2| 1 << log2);
    let sizes = sides().flat_map(|width| sides().map(move |height| vk::Extent2D { width, height }));
    let pixel = vk::Extent2D { width: 1, height: 1 };
    let all = vk::SampleCountFlags::from_raw(!0);
    sizes.map(|size| (size, if size == pixel { all } else { SAMPLE_COUNTS })).collect()
}

/// Returns the size of the grid of pixels with separate sample locations: all pixels are alike.
pub fn sample_location_grid(samples: vk::SampleCountFlags) -> vk::Extent2D {
    let side = u32::from(LOCATED.contains(samples));
    vk::Extent2D { width: side, height: side }
}

const _: () = assert!(SUBGROUP_SIZE as usize == base::abi::MAX_LANES, "lanes of a chunk, and of what a call takes");
const _: () = assert!(limits::MAX_DESCRIPTORS >= 500_000, "required by descriptor indexing");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::extensions::Extension;
    use base::limits::*;
    use base::shader::Stage;

    #[test]
    fn device_is_a_cpu_with_a_name() {
        let p = properties();
        assert_eq!(p.device_type, vk::PhysicalDeviceType::CPU);
        assert_eq!(p.api_version, API_VERSION);
        assert!(p.device_name_as_c_str().unwrap().to_str().unwrap().starts_with("Grus ("));
        assert_ne!(p.pipeline_cache_uuid, [0; 16]);
    }

    #[test]
    fn chain_is_filled_and_kept() {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
        let mut unknown =
            vk::PhysicalDeviceMeshShaderPropertiesNV { max_draw_mesh_tasks_count: 77, ..Default::default() };
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingProperties::default();
        let mut push = vk::PhysicalDevicePushDescriptorPropertiesKHR::default();
        let mut out = vk::PhysicalDeviceProperties2::default();
        out = out.push_next(&mut driver).push_next(&mut v12).push_next(&mut unknown).push_next(&mut indexing);
        out = out.push_next(&mut push);
        // SAFETY: `out` heads a valid chain.
        unsafe { fill_properties2(&mut out) };
        assert_eq!(driver.driver_name_as_c_str().unwrap(), c"Grus");
        assert_eq!(v12.driver_name_as_c_str().unwrap(), c"Grus");
        assert_eq!(v12.driver_info, driver.driver_info);
        assert_eq!(unknown.max_draw_mesh_tasks_count, 77);
        assert!(indexing.max_per_stage_descriptor_update_after_bind_samplers >= 500_000);
        assert!(push.max_push_descriptors >= 32);
        // The chain continues behind a structure that was replaced as a whole.
        assert!(!v12.p_next.is_null());
    }

    /// Checks the required minima of properties2 ("Required Limits").
    #[test]
    fn required_properties() {
        let (v11, v12, v13) = (vulkan11(), vulkan12(), vulkan13());
        assert!(v11.max_multiview_view_count >= 6 && v11.max_multiview_instance_index >= (1 << 27) - 1);
        assert!(v11.max_per_set_descriptors >= 1024 && v11.max_memory_allocation_size >= 1 << 30);
        assert!(v11.subgroup_size.is_power_of_two());
        assert!(v12.max_timeline_semaphore_value_difference >= (1 << 31) - 1);
        assert!(v12.supported_depth_resolve_modes.contains(Resolve::SAMPLE_ZERO));
        assert!(v12.max_descriptor_set_update_after_bind_uniform_buffers_dynamic >= 8);
        assert!(v12.max_descriptor_set_update_after_bind_storage_buffers_dynamic >= 4);
        assert!(v13.max_buffer_size >= 1 << 30);
        assert!(v13.max_inline_uniform_block_size >= 256 && v13.max_inline_uniform_total_size >= 256);
        assert!(v13.max_per_stage_descriptor_inline_uniform_blocks >= 4);
        assert!(v13.min_subgroup_size >= 4 && v13.max_subgroup_size <= 128);
        let most = v13.max_compute_workgroup_subgroups * v13.min_subgroup_size;
        assert!(most >= LIMITS.max_compute_work_group_invocations, "every workgroup has full subgroups");
        let v14 = vulkan14();
        assert!(v14.max_push_descriptors >= 32 && v14.line_sub_pixel_precision_bits >= 4);
        assert!(v14.max_vertex_attrib_divisor >= (1 << 16) - 1);
        let preserved =
            [v12.shader_signed_zero_inf_nan_preserve_float16, v12.shader_signed_zero_inf_nan_preserve_float32];
        assert_eq!(preserved, [vk::TRUE; 2], "required by 1.4");
        let clustered = vk::SubgroupFeatureFlags::CLUSTERED | vk::SubgroupFeatureFlags::ROTATE_CLUSTERED_KHR;
        assert!(v11.subgroup_supported_operations.contains(clustered), "required by 1.4");
        let mesh = mesh_shader();
        assert!(mesh.max_task_work_group_total_count >= 1 << 22 && mesh.max_mesh_work_group_total_count >= 1 << 22);
        assert!(mesh.max_task_work_group_invocations >= 128 && mesh.max_mesh_work_group_invocations >= 128);
        assert!(mesh.max_task_work_group_size.iter().chain(&mesh.max_mesh_work_group_size).all(|&n| n >= 128));
        assert!(mesh.max_task_payload_size >= 16384 && mesh.max_task_payload_and_shared_memory_size >= 32768);
        assert!(mesh.max_task_shared_memory_size >= 32768 && mesh.max_mesh_shared_memory_size >= 28672);
        assert!(mesh.max_mesh_payload_and_shared_memory_size >= 28672 && mesh.max_mesh_output_memory_size >= 32768);
        assert!(mesh.max_mesh_payload_and_output_memory_size >= 48128 && mesh.max_mesh_output_components >= 128);
        assert!(mesh.max_mesh_output_vertices >= 256 && mesh.max_mesh_output_primitives >= 256);
        assert!(mesh.max_mesh_output_layers >= 8);
        if Extension::VK_EXT_sampler_filter_minmax.is_advertised() {
            assert_eq!(v12.filter_minmax_single_component_formats, vk::TRUE);
        }
    }

    /// Checks that the device reports the limits on which its parts rely ([`base::limits`]).
    #[test]
    fn limits_of_the_parts_are_reported() {
        let (l, v13, mesh) = (properties().limits, vulkan13(), mesh_shader());
        let numbers: &[(&str, u32, u32)] = &[
            ("maxImageDimension1D", l.max_image_dimension1_d, MAX_DIMENSION),
            ("maxImageDimension2D", l.max_image_dimension2_d, MAX_DIMENSION),
            ("maxImageDimensionCube", l.max_image_dimension_cube, MAX_DIMENSION),
            ("maxImageDimension3D", l.max_image_dimension3_d, MAX_DIMENSION_3D),
            ("levels", l.max_image_dimension2_d.ilog2() + 1, MAX_LEVELS as u32),
            ("maxImageArrayLayers", l.max_image_array_layers, MAX_LAYERS),
            ("maxFramebufferWidth", l.max_framebuffer_width, MAX_DIMENSION),
            ("maxFramebufferHeight", l.max_framebuffer_height, MAX_DIMENSION),
            ("maxFramebufferLayers", l.max_framebuffer_layers, MAX_LAYERS),
            ("samples", l.framebuffer_color_sample_counts.as_raw().ilog2(), MAX_SAMPLES.ilog2()),
            ("maxColorAttachments", l.max_color_attachments, MAX_COLOR_ATTACHMENTS as u32),
            ("maxFragmentOutputAttachments", l.max_fragment_output_attachments, MAX_COLOR_ATTACHMENTS as u32),
            ("maxBoundDescriptorSets", l.max_bound_descriptor_sets, MAX_DESCRIPTOR_SETS as u32),
            ("maxPushConstantsSize", l.max_push_constants_size, MAX_PUSH_CONSTANTS as u32),
            ("maxStorageBufferRange", l.max_storage_buffer_range, MAX_BUFFER_RANGE),
            ("maxVertexInputBindings", l.max_vertex_input_bindings, MAX_VERTEX_BINDINGS as u32),
            ("maxVertexInputAttributes", l.max_vertex_input_attributes, MAX_VERTEX_ATTRIBUTES as u32),
            ("maxVertexOutputComponents", l.max_vertex_output_components, MAX_STAGE_COMPONENTS),
            ("maxFragmentInputComponents", l.max_fragment_input_components, MAX_STAGE_COMPONENTS),
            ("maxClipDistances", l.max_clip_distances, MAX_CLIP_DISTANCES as u32),
            ("maxCullDistances", l.max_cull_distances, MAX_CLIP_DISTANCES as u32),
            ("both", l.max_combined_clip_and_cull_distances, MAX_CLIP_DISTANCES as u32),
            ("maxViewports", l.max_viewports, MAX_VIEWPORTS as u32),
            ("subPixelPrecisionBits", l.sub_pixel_precision_bits, SUBPIXEL_BITS),
            ("maxTessellationGenerationLevel", l.max_tessellation_generation_level, MAX_TESSELLATION_LEVEL),
            ("maxTessellationPatchSize", l.max_tessellation_patch_size, MAX_PATCH_VERTICES),
            ("maxGeometryOutputVertices", l.max_geometry_output_vertices, MAX_GEOMETRY_VERTICES),
            ("maxGeometryShaderInvocations", l.max_geometry_shader_invocations, MAX_GEOMETRY_INVOCATIONS),
            ("maxMeshOutputVertices", mesh.max_mesh_output_vertices, MAX_MESH_VERTICES),
            ("maxMeshOutputPrimitives", mesh.max_mesh_output_primitives, MAX_MESH_PRIMITIVES),
            ("maxTaskPayloadSize", mesh.max_task_payload_size, MAX_TASK_PAYLOAD),
            ("maxComputeSharedMemorySize", l.max_compute_shared_memory_size, MAX_SHARED_MEMORY),
            ("maxTaskSharedMemorySize", mesh.max_task_shared_memory_size, MAX_SHARED_MEMORY),
            ("maxMeshSharedMemorySize", mesh.max_mesh_shared_memory_size, MAX_SHARED_MEMORY),
            ("maxComputeWorkGroupInvocations", l.max_compute_work_group_invocations, MAX_WORKGROUP_INVOCATIONS),
            ("maxTaskWorkGroupInvocations", mesh.max_task_work_group_invocations, MAX_WORKGROUP_INVOCATIONS),
            ("maxMeshWorkGroupInvocations", mesh.max_mesh_work_group_invocations, MAX_WORKGROUP_INVOCATIONS),
            ("minSubgroupSize", v13.min_subgroup_size, *SUBGROUP_SIZES.start()),
            ("maxSubgroupSize", v13.max_subgroup_size, *SUBGROUP_SIZES.end()),
            ("subgroupSize", vulkan11().subgroup_size, DEFAULT_SUBGROUP_SIZE),
        ];
        for (name, reported, relied_on) in numbers {
            assert_eq!(reported, relied_on, "{name}");
        }
        for size in [l.max_compute_work_group_size, mesh.max_task_work_group_size, mesh.max_mesh_work_group_size] {
            assert_eq!(size, MAX_WORKGROUP_SIZE);
        }
        // Constant folding bounds the numbers of workgroups.
        for (stage, counts) in [
            (Stage::Compute, l.max_compute_work_group_count),
            (Stage::Task, mesh.max_task_work_group_count),
            (Stage::Mesh, mesh.max_mesh_work_group_count),
        ] {
            assert_eq!(counts, [stage.max_workgroups(); 3], "{stage:?}");
        }
        assert_eq!((l.max_sampler_lod_bias, l.max_sampler_anisotropy), (MAX_LOD_BIAS, MAX_SAMPLER_ANISOTROPY));
        assert_eq!((l.point_size_range, l.line_width_range), (POINT_SIZE_RANGE, LINE_WIDTH_RANGE));
    }
}
