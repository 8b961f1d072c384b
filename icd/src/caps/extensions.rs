//! The table of extensions: one row each, from which everything that depends on the presence of an
//! extension is derived.
//!
//! `implemented` means that the code exists. An extension is *advertised* if it is implemented and
//! its dependencies (vk.xml's `depends`) are advertised too. Raising [`super::API_VERSION`] or
//! changing one row therefore keeps the table consistent. Applications cannot distinguish a missing
//! row from a row with a reason.

#![forbid(unsafe_code)]

use super::{API_VERSION, V1_1, V1_2, V1_3, V1_4};
use ash::vk;
use std::ffi::CStr;

/// Object for which an extension is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Instance extension, enabled by `vkCreateInstance`.
    Instance,
    /// Device extension, enabled by `vkCreateDevice`.
    Device,
}

/// Support of a feature or an extension by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Implemented.
    Yes,
    /// Missing, for this reason.
    No(&'static str),
}

impl Support {
    /// Returns true if it is implemented.
    pub const fn is_yes(self) -> bool {
        matches!(self, Support::Yes)
    }
}

/// Condition under which an extension or a feature structure is available.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// This extension is advertised.
    Ext(Extension),
    /// The driver's version is at least this core version.
    Core(u32),
    /// One of these needs is met.
    Any(&'static [Need]),
    /// All of these needs are met.
    All(&'static [Need]),
}
use Extension as E;
use Need::{All, Any, Core, Ext};

impl Need {
    /// Returns true if the advertised extensions and version meet the need.
    pub const fn is_met(&self) -> bool {
        match *self {
            Ext(extension) => {
                let row = extension.row();
                row.is_advertised() || row.is_core()
            }
            Core(version) => API_VERSION >= version,
            Any(needs) => is_any_met(needs),
            All(needs) => are_met(needs),
        }
    }
}

/// Returns true if all of the needs are met.
const fn are_met(needs: &[Need]) -> bool {
    match needs {
        [first, rest @ ..] => first.is_met() && are_met(rest),
        [] => true,
    }
}

/// Returns true if one of the needs is met.
pub const fn is_any_met(needs: &[Need]) -> bool {
    match needs {
        [first, rest @ ..] => first.is_met() || is_any_met(rest),
        [] => false,
    }
}

/// A row of the table of extensions.
#[derive(Debug)]
pub struct ExtensionRow {
    /// Name of the extension.
    pub name: &'static str,
    /// Value of `specVersion`.
    pub spec_version: u32,
    /// Instance or device extension.
    pub scope: Scope,
    /// Support of the extension by the driver.
    pub implemented: Support,
    /// Core version that absorbed the extension.
    pub promoted: Option<u32>,
    /// Dependencies, all of which must be met.
    pub needs: &'static [Need],
}

impl ExtensionRow {
    const fn is_advertised(&self) -> bool {
        self.implemented.is_yes() && are_met(self.needs)
    }

    const fn is_core(&self) -> bool {
        matches!(self.promoted, Some(version) if API_VERSION >= version)
    }
}

macro_rules! extensions {
    ($($name:ident, $version:literal, $scope:ident, $implemented:expr, $promoted:expr, [$($need:expr),*];)*) => {
        /// An extension of [`EXTENSIONS`], named as in the specification.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are the specification's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Extension { $($name),* }

        /// The table of extensions, in the order of [`Extension`].
        pub static EXTENSIONS: &[ExtensionRow] = &[$(ExtensionRow {
            name: stringify!($name),
            spec_version: $version,
            scope: Scope::$scope,
            implemented: $implemented,
            promoted: $promoted,
            needs: &[$($need),*],
        }),*];

        const ALL_EXTENSIONS: &[Extension] = &[$(Extension::$name),*];
    };
}

const YES: Support = Support::Yes;
// "Feature Requirements" name a feature for each of the following extensions that must come with
// it.
const PROPERTIES2: Need = Any(&[Ext(E::VK_KHR_get_physical_device_properties2), Core(V1_1)]);

#[rustfmt::skip]
extensions! {
    VK_KHR_get_physical_device_properties2, 2, Instance, YES, Some(V1_1), [];
    VK_KHR_surface, 25, Instance, YES, None, [];
    VK_KHR_get_surface_capabilities2, 1, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_KHR_xcb_surface, 6, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_KHR_xlib_surface, 6, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_KHR_wayland_surface, 6, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_EXT_swapchain_colorspace, 5, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_KHR_surface_maintenance1, 1, Instance, YES, None, [Ext(E::VK_KHR_surface), Ext(E::VK_KHR_get_surface_capabilities2)];
    VK_EXT_surface_maintenance1, 1, Instance, YES, None, [Ext(E::VK_KHR_surface), Ext(E::VK_KHR_get_surface_capabilities2)];
    VK_KHR_surface_protected_capabilities, 1, Instance, YES, None, [Core(V1_1), Ext(E::VK_KHR_get_surface_capabilities2)];
    VK_EXT_headless_surface, 1, Instance, YES, None, [Ext(E::VK_KHR_surface)];
    VK_EXT_debug_utils, 2, Instance, YES, None, [];
    VK_EXT_debug_report, 10, Instance, YES, None, [];
    VK_EXT_debug_marker, 4, Device, YES, None, [Ext(E::VK_EXT_debug_report)];
    VK_KHR_device_group_creation, 1, Instance, YES, Some(V1_1), [];
    VK_KHR_external_memory_capabilities, 1, Instance, YES, Some(V1_1), [PROPERTIES2];
    VK_KHR_external_semaphore_capabilities, 1, Instance, YES, Some(V1_1), [PROPERTIES2];
    VK_KHR_external_fence_capabilities, 1, Instance, YES, Some(V1_1), [PROPERTIES2];
    VK_KHR_external_memory, 1, Device, YES, Some(V1_1), [Any(&[Ext(E::VK_KHR_external_memory_capabilities), Core(V1_1)])];
    VK_KHR_external_semaphore, 1, Device, YES, Some(V1_1), [Any(&[Ext(E::VK_KHR_external_semaphore_capabilities), Core(V1_1)])];
    VK_KHR_external_fence, 1, Device, YES, Some(V1_1), [Any(&[Ext(E::VK_KHR_external_fence_capabilities), Core(V1_1)])];
    VK_KHR_external_memory_fd, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_memory), Core(V1_1)])];
    VK_KHR_external_semaphore_fd, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_semaphore), Core(V1_1)])];
    VK_KHR_external_fence_fd, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_fence), Core(V1_1)])];
    VK_EXT_external_memory_dma_buf, 1, Device, YES, None, [Ext(E::VK_KHR_external_memory_fd)];
    VK_EXT_image_drm_format_modifier, 2, Device, YES, None, [Any(&[All(&[Ext(E::VK_KHR_bind_memory2), PROPERTIES2, Ext(E::VK_KHR_sampler_ycbcr_conversion)]), Core(V1_1)]), Any(&[Ext(E::VK_KHR_image_format_list), Core(V1_2)])];
    VK_EXT_external_memory_acquire_unmodified, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_memory), Core(V1_1)])];
    VK_EXT_external_memory_host, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_memory), Core(V1_1)])];
    VK_KHR_swapchain, 70, Device, YES, None, [Ext(E::VK_KHR_surface)];
    VK_KHR_incremental_present, 2, Device, YES, None, [Ext(E::VK_KHR_swapchain)];
    VK_KHR_present_id, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), PROPERTIES2];
    VK_KHR_present_wait, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), Ext(E::VK_KHR_present_id)];
    VK_KHR_present_id2, 1, Device, YES, None, [Ext(E::VK_KHR_get_surface_capabilities2), Ext(E::VK_KHR_surface), Ext(E::VK_KHR_swapchain)];
    VK_KHR_present_wait2, 1, Device, YES, None, [Ext(E::VK_KHR_get_surface_capabilities2), Ext(E::VK_KHR_surface), Ext(E::VK_KHR_swapchain), Ext(E::VK_KHR_present_id2)];
    VK_KHR_swapchain_maintenance1, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), Ext(E::VK_KHR_surface_maintenance1), PROPERTIES2];
    VK_EXT_swapchain_maintenance1, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), Ext(E::VK_EXT_surface_maintenance1), PROPERTIES2];
    VK_KHR_swapchain_mutable_format, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), Any(&[Ext(E::VK_KHR_maintenance2), Core(V1_1)]), Any(&[Ext(E::VK_KHR_image_format_list), Core(V1_2)])];
    VK_KHR_maintenance1, 2, Device, YES, Some(V1_1), [];
    VK_KHR_maintenance2, 1, Device, YES, Some(V1_1), [];
    VK_KHR_maintenance3, 1, Device, YES, Some(V1_1), [PROPERTIES2];
    VK_KHR_maintenance4, 2, Device, YES, Some(V1_3), [Core(V1_1)];
    VK_KHR_maintenance5, 1, Device, YES, Some(V1_4), [Any(&[All(&[Core(V1_1), Ext(E::VK_KHR_dynamic_rendering)]), Core(V1_3)])];
    VK_KHR_maintenance6, 1, Device, YES, Some(V1_4), [Core(V1_1)];
    VK_KHR_maintenance7, 1, Device, YES, None, [Core(V1_1)];
    VK_KHR_maintenance8, 1, Device, YES, None, [Core(V1_1)];
    VK_KHR_maintenance9, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_maintenance10, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_maintenance11, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_bind_memory2, 1, Device, YES, Some(V1_1), [];
    VK_KHR_get_memory_requirements2, 1, Device, YES, Some(V1_1), [];
    VK_KHR_dedicated_allocation, 3, Device, YES, Some(V1_1), [Any(&[Ext(E::VK_KHR_get_memory_requirements2), Core(V1_1)])];
    VK_KHR_descriptor_update_template, 1, Device, YES, Some(V1_1), [];
    VK_KHR_push_descriptor, 2, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_KHR_device_group, 4, Device, YES, Some(V1_1), [Ext(E::VK_KHR_device_group_creation)];
    VK_KHR_multiview, 1, Device, YES, Some(V1_1), [PROPERTIES2];
    VK_KHR_create_renderpass2, 1, Device, YES, Some(V1_2), [Any(&[All(&[Ext(E::VK_KHR_multiview), Ext(E::VK_KHR_maintenance2)]), Core(V1_1)])];
    VK_KHR_depth_stencil_resolve, 1, Device, YES, Some(V1_2), [Any(&[Ext(E::VK_KHR_create_renderpass2), Core(V1_2)])];
    VK_KHR_dynamic_rendering, 1, Device, YES, Some(V1_3), [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_depth_stencil_resolve)]), Core(V1_2)])];
    VK_KHR_synchronization2, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_timeline_semaphore, 2, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_copy_commands2, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_buffer_device_address, 1, Device, YES, Some(V1_2), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_device_group)]), Core(V1_1)])];
    VK_KHR_draw_indirect_count, 1, Device, YES, Some(V1_2), [];
    VK_KHR_separate_depth_stencil_layouts, 1, Device, YES, Some(V1_2), [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_create_renderpass2)]), Core(V1_2)])];
    VK_KHR_image_format_list, 1, Device, YES, Some(V1_2), [];
    VK_KHR_sampler_mirror_clamp_to_edge, 3, Device, YES, Some(V1_2), [];
    VK_KHR_driver_properties, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_format_feature_flags2, 2, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_imageless_framebuffer, 1, Device, YES, Some(V1_2), [Any(&[All(&[Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_maintenance2)]), Core(V1_1)]), Ext(E::VK_KHR_image_format_list)]), Core(V1_2)])];
    VK_KHR_storage_buffer_storage_class, 1, Device, YES, Some(V1_1), [];
    VK_KHR_relaxed_block_layout, 1, Device, YES, Some(V1_1), [];
    VK_KHR_uniform_buffer_standard_layout, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_shader_draw_parameters, 1, Device, YES, Some(V1_1), [];
    VK_KHR_shader_terminate_invocation, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_shader_non_semantic_info, 1, Device, YES, Some(V1_3), [];
    VK_KHR_zero_initialize_workgroup_memory, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_vulkan_memory_model, 3, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_shader_float_controls, 4, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_shader_bfloat16, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_shader_float8, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_shader_relaxed_extended_instruction, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_shader_float_controls2, 1, Device, YES, Some(V1_4), [Core(V1_1), Ext(E::VK_KHR_shader_float_controls)];
    VK_KHR_spirv_1_4, 1, Device, YES, Some(V1_2), [Core(V1_1), Ext(E::VK_KHR_shader_float_controls)];
    VK_KHR_variable_pointers, 1, Device, YES, Some(V1_1), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_storage_buffer_storage_class)]), Core(V1_1)])];
    VK_KHR_8bit_storage, 1, Device, YES, Some(V1_2), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_storage_buffer_storage_class)]), Core(V1_1)])];
    VK_KHR_16bit_storage, 1, Device, YES, Some(V1_1), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_storage_buffer_storage_class)]), Core(V1_1)])];
    VK_KHR_shader_float16_int8, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_shader_atomic_int64, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_KHR_shader_subgroup_extended_types, 1, Device, YES, Some(V1_2), [Core(V1_1)];
    VK_KHR_shader_integer_dot_product, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_KHR_workgroup_memory_explicit_layout, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_sampler_ycbcr_conversion, 14, Device, YES, Some(V1_1), [Any(&[All(&[Ext(E::VK_KHR_maintenance1), Ext(E::VK_KHR_bind_memory2), Ext(E::VK_KHR_get_memory_requirements2), Ext(E::VK_KHR_get_physical_device_properties2)]), Core(V1_1)])];
    VK_KHR_vertex_attribute_divisor, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_KHR_index_type_uint8, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_KHR_load_store_op_none, 1, Device, YES, Some(V1_4), [];
    VK_KHR_map_memory2, 1, Device, YES, Some(V1_4), [];
    VK_KHR_line_rasterization, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_EXT_descriptor_indexing, 2, Device, YES, Some(V1_2), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_maintenance3)]), Core(V1_1)])];
    VK_EXT_host_query_reset, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_EXT_scalar_block_layout, 1, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_EXT_separate_stencil_usage, 1, Device, YES, Some(V1_2), [];
    VK_EXT_sampler_filter_minmax, 2, Device, YES, Some(V1_2), [PROPERTIES2];
    VK_EXT_shader_viewport_index_layer, 1, Device, YES, Some(V1_2), [];
    VK_EXT_shader_demote_to_helper_invocation, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_shader_stencil_export, 1, Device, YES, None, [];
    VK_EXT_vertex_attribute_robustness, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_vertex_attribute_divisor, 3, Device, YES, None, [PROPERTIES2];
    VK_EXT_index_type_uint8, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_line_rasterization, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_load_store_op_none, 1, Device, YES, None, [];
    VK_EXT_private_data, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_pipeline_creation_cache_control, 3, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_image_robustness, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_texel_buffer_alignment, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_4444_formats, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_shader_subgroup_ballot, 1, Device, YES, None, [];
    VK_EXT_shader_subgroup_vote, 1, Device, YES, None, [];
    VK_GOOGLE_decorate_string, 1, Device, YES, None, [];
    VK_GOOGLE_hlsl_functionality1, 1, Device, YES, None, [];
    VK_GOOGLE_user_type, 1, Device, YES, None, [];
    VK_EXT_buffer_device_address, 2, Device, YES, None, [PROPERTIES2];
    VK_VALVE_shader_mixed_float_dot_product, 1, Device, YES, None, [PROPERTIES2, Any(&[Ext(E::VK_KHR_shader_float16_int8), Core(V1_2)])];
    VK_EXT_extended_dynamic_state, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_extended_dynamic_state2, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_robustness2, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_pipeline_robustness, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_KHR_shader_expect_assume, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_KHR_shader_subgroup_rotate, 2, Device, YES, Some(V1_4), [];
    VK_KHR_shader_subgroup_uniform_control_flow, 1, Device, YES, None, [Core(V1_1)];
    VK_KHR_shader_maximal_reconvergence, 1, Device, YES, None, [Core(V1_1)];
    VK_KHR_shader_clock, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_shader_replicated_composites, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_compute_shader_derivatives, 1, Device, YES, None, [PROPERTIES2];
    VK_NV_compute_shader_derivatives, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_cooperative_matrix, 2, Device, YES, None, [PROPERTIES2];
    VK_NV_cooperative_matrix2, 1, Device, YES, None, [Ext(E::VK_KHR_cooperative_matrix)];
    VK_KHR_shader_untyped_pointers, 1, Device, YES, None, [PROPERTIES2];
    VK_NV_shader_subgroup_partitioned, 1, Device, YES, None, [Core(V1_1)];
    VK_EXT_shader_subgroup_partitioned, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_shader_quad_control, 1, Device, YES, None, [Core(V1_1), Ext(E::VK_KHR_vulkan_memory_model), Ext(E::VK_KHR_shader_maximal_reconvergence)];
    VK_EXT_pipeline_creation_feedback, 1, Device, YES, Some(V1_3), [];
    VK_EXT_descriptor_buffer, 1, Device, YES, None, [Any(&[All(&[Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_buffer_device_address), Ext(E::VK_EXT_descriptor_indexing)]), Core(V1_2)]), Ext(E::VK_KHR_synchronization2)]), Core(V1_3)])];
    VK_EXT_descriptor_heap, 1, Device, YES, None, [Any(&[All(&[Ext(E::VK_KHR_maintenance5), Any(&[Ext(E::VK_KHR_buffer_device_address), Core(V1_2)])]), Core(V1_4)])];
    VK_KHR_device_fault, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_device_fault, 2, Device, YES, None, [PROPERTIES2];
    VK_KHR_pipeline_executable_properties, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_subgroup_size_control, 2, Device, YES, Some(V1_3), [Core(V1_1)];
    VK_EXT_inline_uniform_block, 1, Device, YES, Some(V1_3), [Any(&[All(&[Ext(E::VK_KHR_get_physical_device_properties2), Ext(E::VK_KHR_maintenance1)]), Core(V1_1)])];
    VK_EXT_sample_locations, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_custom_border_color, 12, Device, YES, None, [PROPERTIES2];
    VK_EXT_depth_clip_enable, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_depth_clip_control, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_provoking_vertex, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_primitive_topology_list_restart, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_color_write_enable, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_vertex_input_dynamic_state, 2, Device, YES, None, [PROPERTIES2];
    VK_EXT_conditional_rendering, 2, Device, YES, None, [PROPERTIES2];
    VK_EXT_transform_feedback, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_mesh_shader, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_spirv_1_4), Core(V1_2)])];
    VK_EXT_primitives_generated_query, 1, Device, YES, None, [Ext(E::VK_EXT_transform_feedback)];
    VK_EXT_memory_budget, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_image_view_min_lod, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_depth_range_unrestricted, 1, Device, YES, None, [];
    VK_EXT_depth_bias_control, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_memory_priority, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_pageable_device_local_memory, 1, Device, YES, None, [Ext(E::VK_EXT_memory_priority)];
    VK_KHR_global_priority, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_EXT_global_priority, 2, Device, YES, None, [];
    VK_EXT_global_priority_query, 1, Device, YES, None, [Ext(E::VK_EXT_global_priority), PROPERTIES2];
    VK_EXT_non_seamless_cube_map, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_mutable_descriptor_type, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_maintenance3), Core(V1_1)])];
    VK_EXT_shader_atomic_float, 1, Device, YES, None, [PROPERTIES2];
    VK_NV_shader_atomic_float16_vector, 1, Device, YES, None, [];
    VK_EXT_shader_atomic_float2, 1, Device, YES, None, [Ext(E::VK_EXT_shader_atomic_float)];
    VK_EXT_shader_image_atomic_int64, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_texture_compression_astc_hdr, 1, Device, YES, Some(V1_3), [PROPERTIES2];
    VK_EXT_astc_decode_mode, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_ycbcr_image_arrays, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_sampler_ycbcr_conversion), Core(V1_1)])];
    VK_EXT_rgba10x6_formats, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_sampler_ycbcr_conversion), Core(V1_1)])];
    VK_EXT_ycbcr_2plane_444_formats, 1, Device, YES, Some(V1_3), [Any(&[Ext(E::VK_KHR_sampler_ycbcr_conversion), Core(V1_1)])];
    VK_EXT_tooling_info, 1, Device, YES, Some(V1_3), [];
    VK_KHR_robustness2, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_extended_dynamic_state3, 2, Device, YES, None, [PROPERTIES2];
    VK_EXT_blend_operation_advanced, 2, Device, YES, None, [PROPERTIES2];
    VK_EXT_multisampled_render_to_single_sampled, 1, Device, YES, None, [Any(&[All(&[Ext(E::VK_KHR_create_renderpass2), Ext(E::VK_KHR_depth_stencil_resolve)]), Core(V1_2)])];
    VK_EXT_multisampled_render_to_swapchain, 1, Device, YES, None, [Ext(E::VK_KHR_swapchain), Ext(E::VK_EXT_multisampled_render_to_single_sampled)];
    VK_EXT_multi_draw, 1, Device, YES, None, [PROPERTIES2];
    VK_KHR_calibrated_timestamps, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_calibrated_timestamps, 2, Device, YES, None, [PROPERTIES2];
    VK_KHR_dynamic_rendering_local_read, 1, Device, YES, Some(V1_4), [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_dynamic_rendering)]), Core(V1_3)])];
    VK_EXT_host_image_copy, 1, Device, YES, Some(V1_4), [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_copy_commands2), Ext(E::VK_KHR_format_feature_flags2)]), Core(V1_3)])];
    VK_EXT_nested_command_buffer, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_zero_initialize_device_memory, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_image_2d_view_of_3d, 1, Device, YES, None, [Any(&[All(&[Ext(E::VK_KHR_maintenance1), Ext(E::VK_KHR_get_physical_device_properties2)]), Core(V1_1)])];
    VK_EXT_image_sliced_view_of_3d, 1, Device, YES, None, [Any(&[All(&[Ext(E::VK_KHR_maintenance1), Ext(E::VK_KHR_get_physical_device_properties2)]), Core(V1_1)])];
    VK_KHR_unified_image_layouts, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_dynamic_rendering_unused_attachments, 1, Device, YES, None, [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_dynamic_rendering)]), Core(V1_3)])];
    VK_KHR_device_address_commands, 1, Device, YES, None, [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_buffer_device_address), Ext(E::VK_KHR_synchronization2), Ext(E::VK_EXT_extended_dynamic_state)]), Core(V1_3)])];
    VK_KHR_copy_memory_indirect, 1, Device, YES, None, [Any(&[All(&[PROPERTIES2, Ext(E::VK_KHR_buffer_device_address)]), Core(V1_2)])];
    VK_EXT_post_depth_coverage, 1, Device, YES, None, [];
    VK_EXT_border_color_swizzle, 1, Device, YES, None, [Ext(E::VK_EXT_custom_border_color)];
    VK_EXT_hdr_metadata, 3, Device, YES, None, [Ext(E::VK_KHR_swapchain)];
    VK_EXT_primitive_restart_index, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_legacy_vertex_attributes, 1, Device, YES, None, [Ext(E::VK_EXT_vertex_input_dynamic_state)];
    VK_EXT_attachment_feedback_loop_layout, 2, Device, YES, None, [PROPERTIES2];
    VK_EXT_attachment_feedback_loop_dynamic_state, 1, Device, YES, None, [PROPERTIES2, Ext(E::VK_EXT_attachment_feedback_loop_layout)];
    VK_EXT_rasterization_order_attachment_access, 1, Device, YES, None, [PROPERTIES2];
    VK_ARM_rasterization_order_attachment_access, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_fragment_shader_interlock, 1, Device, YES, None, [PROPERTIES2];
    VK_EXT_pipeline_protected_access, 1, Device, YES, Some(V1_4), [PROPERTIES2];
    VK_EXT_queue_family_foreign, 1, Device, YES, None, [Any(&[Ext(E::VK_KHR_external_memory), Core(V1_1)])];
}

impl Extension {
    /// Returns the row of the extension.
    pub const fn row(self) -> &'static ExtensionRow {
        &EXTENSIONS[self as usize]
    }

    /// Returns true if vkEnumerate*ExtensionProperties list the extension.
    pub fn is_advertised(self) -> bool {
        ADVERTISED[self as usize]
    }

    /// Returns true if the extension is part of the advertised core version.
    pub fn is_core(self) -> bool {
        self.row().is_core()
    }

    /// Finds an extension by name, whether it is advertised or not.
    pub fn from_name(name: &CStr) -> Option<Extension> {
        let name = name.to_str().ok()?;
        ALL_EXTENSIONS.iter().copied().find(|e| e.row().name == name)
    }
}

/// A set of extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionSet([u64; 4]);
const _: () = assert!(EXTENSIONS.len() <= 256, "ExtensionSet has 256 bits");

impl ExtensionSet {
    /// Returns true if the extension is in the set.
    pub fn has(self, extension: Extension) -> bool {
        self.0[extension as usize / 64] >> (extension as usize % 64) & 1 == 1
    }
    /// Returns the set with one more extension.
    pub fn with(mut self, extension: Extension) -> ExtensionSet {
        self.0[extension as usize / 64] |= 1 << (extension as usize % 64);
        self
    }
    /// Returns true if the set has an extension of this name; false for extensions outside the
    /// table.
    pub fn has_name(self, name: &str) -> bool {
        self.iter().any(|e| e.row().name == name)
    }
    /// Returns the members in table order.
    pub fn iter(self) -> impl Iterator<Item = Extension> {
        ALL_EXTENSIONS.iter().copied().filter(move |e| self.has(*e))
    }
}

// The following values are computed when the driver is compiled. They are requested before a
// program's first frame, and computing them takes as long as a shader.

/// True for each advertised extension, in table order.
static ADVERTISED: [bool; EXTENSIONS.len()] = {
    let (mut all, mut i) = ([false; EXTENSIONS.len()], 0);
    while i < all.len() {
        all[i] = EXTENSIONS[i].is_advertised();
        i += 1;
    }
    all
};

/// Returns the answer of vkEnumerateInstanceExtensionProperties.
pub fn instance_extensions() -> &'static [vk::ExtensionProperties] {
    static LIST: [vk::ExtensionProperties; count(Scope::Instance)] = list(Scope::Instance);
    &LIST
}

/// Returns the answer of vkEnumerateDeviceExtensionProperties.
pub fn device_extensions() -> &'static [vk::ExtensionProperties] {
    static LIST: [vk::ExtensionProperties; count(Scope::Device)] = list(Scope::Device);
    &LIST
}

const fn is_listed(row: &ExtensionRow, scope: Scope) -> bool {
    row.scope as u32 == scope as u32 && row.is_advertised()
}

const fn count(scope: Scope) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < EXTENSIONS.len() {
        count += is_listed(&EXTENSIONS[i], scope) as usize;
        i += 1;
    }
    count
}

const fn list<const N: usize>(scope: Scope) -> [vk::ExtensionProperties; N] {
    let none = vk::ExtensionProperties { extension_name: [0; vk::MAX_EXTENSION_NAME_SIZE], spec_version: 0 };
    let (mut list, mut len, mut i) = ([none; N], 0, 0);
    while i < EXTENSIONS.len() {
        let row = &EXTENSIONS[i];
        if is_listed(row, scope) {
            list[len].spec_version = row.spec_version;
            super::copy_str(&mut list[len].extension_name, row.name);
            len += 1;
        }
        i += 1;
    }
    list
}

/// A requested extension that the driver does not advertise: VK_ERROR_EXTENSION_NOT_PRESENT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingExtension(pub String);

impl std::fmt::Display for MissingExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let row = EXTENSIONS.iter().find(|row| row.name == self.0);
        match row.map(|row| row.implemented) {
            Some(Support::No(reason)) => write!(f, "extension {} is not supported: {reason}", self.0),
            _ => write!(f, "extension {} is not advertised", self.0),
        }
    }
}

impl From<MissingExtension> for vk::Result {
    fn from(_: MissingExtension) -> vk::Result {
        vk::Result::ERROR_EXTENSION_NOT_PRESENT
    }
}

/// Returns the enabled instance extensions of vkCreateInstance; an error if one is not advertised.
pub fn enable_instance<'a>(names: impl IntoIterator<Item = &'a CStr>) -> Result<ExtensionSet, MissingExtension> {
    enable(Scope::Instance, names)
}

/// Returns the enabled device extensions of vkCreateDevice; an error if one is not advertised.
pub fn enable_device<'a>(names: impl IntoIterator<Item = &'a CStr>) -> Result<ExtensionSet, MissingExtension> {
    enable(Scope::Device, names)
}

#[inline(always)]
fn enable<'a>(scope: Scope, names: impl IntoIterator<Item = &'a CStr>) -> Result<ExtensionSet, MissingExtension> {
    // This is a loop because the function has to be inlined into its callers, one of which is
    // `vkCreateInstance`; closures may not be inlined.
    let mut set = ExtensionSet::default();
    for name in names {
        let known = Extension::from_name(name).filter(|e| e.row().scope == scope && e.is_advertised());
        set = set.with(known.ok_or_else(|| MissingExtension(name.to_string_lossy().into_owned()))?);
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met_by(need: &Need, set: ExtensionSet) -> bool {
        match *need {
            Ext(e) => set.has(e) || e.is_core(),
            Core(version) => API_VERSION >= version,
            Any(needs) => needs.iter().any(|n| met_by(n, set)),
            All(needs) => needs.iter().all(|n| met_by(n, set)),
        }
    }

    #[test]
    fn advertised_extensions_bring_their_dependencies() {
        let advertised = ALL_EXTENSIONS.iter().filter(|e| e.is_advertised());
        let set = advertised.fold(ExtensionSet::default(), |set, e| set.with(*e));
        assert!(set.has(Extension::VK_KHR_swapchain) && set.has(Extension::VK_KHR_dynamic_rendering));
        for extension in set.iter() {
            assert!(extension.row().needs.iter().all(|n| met_by(n, set)), "{}", extension.row().name);
        }
    }

    #[test]
    fn names_are_unique_and_lists_hold_only_their_scope() {
        for (i, row) in EXTENSIONS.iter().enumerate() {
            assert!(EXTENSIONS[..i].iter().all(|r| r.name != row.name), "{} twice", row.name);
            assert!(row.spec_version > 0 && row.name.starts_with("VK_"));
            if let (Support::No(reason), _) = (row.implemented, row.name) {
                assert!(!reason.is_empty());
            }
        }
        let names = |list: &[vk::ExtensionProperties]| -> Vec<String> {
            list.iter().map(|e| e.extension_name_as_c_str().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert!(names(instance_extensions()).contains(&"VK_KHR_surface".to_owned()));
        assert!(!names(device_extensions()).contains(&"VK_KHR_surface".to_owned()));
    }

    /// Extensions that each core version absorbed (vk.xml's `promotedto`). Clients of Vulkan 1.0
    /// look for their names.
    #[rustfmt::skip]
    static PROMOTED: &[(u32, &[Extension])] = &[
        (V1_1, &[E::VK_KHR_multiview, E::VK_KHR_get_physical_device_properties2, E::VK_KHR_device_group, E::VK_KHR_shader_draw_parameters, E::VK_KHR_maintenance1, E::VK_KHR_device_group_creation, E::VK_KHR_external_memory_capabilities, E::VK_KHR_external_memory, E::VK_KHR_external_semaphore_capabilities, E::VK_KHR_external_semaphore, E::VK_KHR_16bit_storage, E::VK_KHR_descriptor_update_template, E::VK_KHR_external_fence_capabilities, E::VK_KHR_external_fence, E::VK_KHR_maintenance2, E::VK_KHR_variable_pointers, E::VK_KHR_dedicated_allocation, E::VK_KHR_storage_buffer_storage_class, E::VK_KHR_relaxed_block_layout, E::VK_KHR_get_memory_requirements2, E::VK_KHR_sampler_ycbcr_conversion, E::VK_KHR_bind_memory2, E::VK_KHR_maintenance3]),
        (V1_2, &[E::VK_KHR_sampler_mirror_clamp_to_edge, E::VK_KHR_shader_float16_int8, E::VK_KHR_imageless_framebuffer, E::VK_KHR_create_renderpass2, E::VK_EXT_sampler_filter_minmax, E::VK_KHR_image_format_list, E::VK_EXT_descriptor_indexing, E::VK_EXT_shader_viewport_index_layer, E::VK_KHR_draw_indirect_count, E::VK_KHR_shader_subgroup_extended_types, E::VK_KHR_8bit_storage, E::VK_KHR_shader_atomic_int64, E::VK_KHR_driver_properties, E::VK_KHR_shader_float_controls, E::VK_KHR_depth_stencil_resolve, E::VK_KHR_timeline_semaphore, E::VK_KHR_vulkan_memory_model, E::VK_EXT_scalar_block_layout, E::VK_KHR_spirv_1_4, E::VK_KHR_separate_depth_stencil_layouts, E::VK_EXT_separate_stencil_usage, E::VK_KHR_uniform_buffer_standard_layout, E::VK_KHR_buffer_device_address, E::VK_EXT_host_query_reset]),
        (V1_3, &[E::VK_KHR_dynamic_rendering, E::VK_EXT_texture_compression_astc_hdr, E::VK_EXT_inline_uniform_block, E::VK_EXT_pipeline_creation_feedback, E::VK_KHR_shader_terminate_invocation, E::VK_EXT_subgroup_size_control, E::VK_EXT_tooling_info, E::VK_EXT_extended_dynamic_state, E::VK_EXT_shader_demote_to_helper_invocation, E::VK_KHR_shader_integer_dot_product, E::VK_EXT_texel_buffer_alignment, E::VK_KHR_shader_non_semantic_info, E::VK_EXT_private_data, E::VK_EXT_pipeline_creation_cache_control, E::VK_KHR_synchronization2, E::VK_KHR_zero_initialize_workgroup_memory, E::VK_EXT_ycbcr_2plane_444_formats, E::VK_EXT_image_robustness, E::VK_KHR_copy_commands2, E::VK_EXT_4444_formats, E::VK_KHR_format_feature_flags2, E::VK_EXT_extended_dynamic_state2, E::VK_KHR_maintenance4]),
        (V1_4, &[E::VK_EXT_pipeline_robustness, E::VK_KHR_push_descriptor, E::VK_KHR_global_priority, E::VK_KHR_dynamic_rendering_local_read, E::VK_EXT_host_image_copy, E::VK_KHR_map_memory2, E::VK_KHR_shader_subgroup_rotate, E::VK_EXT_pipeline_protected_access, E::VK_KHR_maintenance5, E::VK_KHR_vertex_attribute_divisor, E::VK_KHR_load_store_op_none, E::VK_KHR_shader_float_controls2, E::VK_KHR_index_type_uint8, E::VK_KHR_line_rasterization, E::VK_KHR_shader_expect_assume, E::VK_KHR_maintenance6]),
    ];

    #[test]
    fn what_an_advertised_version_absorbed_is_advertised_by_name_or_has_a_reason() {
        let mut refused = Vec::new();
        for (version, extensions) in PROMOTED {
            for row in extensions.iter().map(|e| e.row()) {
                assert_eq!(row.promoted, Some(*version), "{}", row.name);
            }
            let missing = extensions.iter().filter(|e| API_VERSION >= *version && !e.is_advertised());
            refused.extend(missing.map(|e| (e.row().name, e.row().implemented)));
        }
        let listed: usize = PROMOTED.iter().map(|(_, extensions)| extensions.len()).sum();
        assert_eq!(listed, EXTENSIONS.iter().filter(|row| row.promoted.is_some()).count());
        // Each of these extensions has a mandatory feature ("Feature Requirements") that the core
        // version lacks.
        for (name, support) in refused {
            assert!(matches!(support, Support::No(reason) if reason.contains("mandatory")), "{name}: {support:?}");
        }
    }

    #[test]
    fn enabling_what_is_not_advertised_fails() {
        let missing = |name: &CStr| enable_device([name]).unwrap_err().to_string();
        let surface = missing(c"VK_KHR_surface");
        assert_eq!(surface, "extension VK_KHR_surface is not advertised", "it is not a device extension");
        assert_eq!(missing(c"VK_NV_mesh_shader"), "extension VK_NV_mesh_shader is not advertised");
        assert_eq!(enable_instance([c"\xff"]).map_err(vk::Result::from), Err(vk::Result::ERROR_EXTENSION_NOT_PRESENT));
        let set = enable_device([c"VK_KHR_swapchain", c"VK_KHR_swapchain"]).unwrap();
        assert!(set.has(Extension::VK_KHR_swapchain) && set.has_name("VK_KHR_swapchain") && set.iter().count() == 1);
    }
}
