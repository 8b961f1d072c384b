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
pub enum Dependency {
    /// This extension is advertised.
    Ext(Extension),
    /// The driver's version is at least this core version.
    Core(u32),
    /// One of these needs is met.
    Any(&'static [Dependency]),
    /// All of these needs are met.
    All(&'static [Dependency]),
}
use Dependency::{All, Any, Core, Ext};
use Extension as E;

impl Dependency {
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
const fn are_met(needs: &[Dependency]) -> bool {
    match needs {
        [first, rest @ ..] => first.is_met() && are_met(rest),
        [] => true,
    }
}

/// Returns true if one of the needs is met.
pub const fn is_any_met(needs: &[Dependency]) -> bool {
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
    pub needs: &'static [Dependency],
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
    ($($name:ident, $implemented:expr;)*) => {
        /// An extension of [`EXTENSIONS`], named as in the specification.
        #[allow(non_camel_case_types, missing_docs, reason = "the names are the specification's")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Extension { $($name),* }

        /// Support of each extension by the driver, in the order of [`Extension`].
        const IMPLEMENTED: &[Support] = &[$($implemented),*];

        const ALL_EXTENSIONS: &[Extension] = &[$(Extension::$name),*];
    };
}

macro_rules! registry_facts {
    ($($name:ident $version:literal $scope:ident $promoted:tt $(($core:ident))? [$($need:expr),*];)*) => {
        /// The table of extensions, in the order of [`Extension`].
        pub static EXTENSIONS: &[ExtensionRow] = &[$(ExtensionRow {
            name: stringify!($name),
            spec_version: $version,
            scope: Scope::$scope,
            implemented: IMPLEMENTED[Extension::$name as usize],
            promoted: $promoted $(($core))?,
            needs: &[$($need),*],
        }),*];

        const _: () = {
            let order = [$(Extension::$name),*];
            assert!(order.len() == ALL_EXTENSIONS.len(), "run `cargo xtask generate`");
            let mut i = 0;
            while i < ALL_EXTENSIONS.len() {
                assert!(order[i] as usize == i, "run `cargo xtask generate`");
                i += 1;
            }
        };
    };
}

const YES: Support = Support::Yes;
/// Support of extensions whose objects are those of Unix: file descriptors, X11, Wayland.
const UNIX: Support = if cfg!(unix) { Support::Yes } else { Support::No("the system has no such objects") };
/// Support of extensions whose objects are those of Windows: handles and windows.
const WINDOWS: Support = if cfg!(windows) { Support::Yes } else { Support::No("the system has no such objects") };

// `cargo xtask generate` looks up the rest of each row in the registry of Vulkan.
extensions! {
    VK_KHR_get_physical_device_properties2, YES;
    VK_KHR_surface, YES;
    VK_KHR_get_surface_capabilities2, YES;
    VK_KHR_xcb_surface, UNIX;
    VK_KHR_xlib_surface, UNIX;
    VK_KHR_wayland_surface, UNIX;
    VK_KHR_win32_surface, WINDOWS;
    VK_EXT_swapchain_colorspace, YES;
    VK_KHR_surface_maintenance1, YES;
    VK_EXT_surface_maintenance1, YES;
    VK_KHR_surface_protected_capabilities, YES;
    VK_EXT_headless_surface, YES;
    VK_EXT_debug_utils, YES;
    VK_EXT_debug_report, YES;
    VK_EXT_debug_marker, YES;
    VK_KHR_device_group_creation, YES;
    VK_KHR_external_memory_capabilities, YES;
    VK_KHR_external_semaphore_capabilities, YES;
    VK_KHR_external_fence_capabilities, YES;
    VK_KHR_external_memory, YES;
    VK_KHR_external_semaphore, YES;
    VK_KHR_external_fence, YES;
    VK_KHR_external_memory_fd, UNIX;
    VK_KHR_external_semaphore_fd, UNIX;
    VK_KHR_external_fence_fd, UNIX;
    VK_KHR_external_memory_win32, WINDOWS;
    VK_KHR_external_semaphore_win32, WINDOWS;
    VK_KHR_external_fence_win32, WINDOWS;
    VK_EXT_external_memory_dma_buf, UNIX;
    VK_EXT_image_drm_format_modifier, UNIX;
    VK_EXT_external_memory_acquire_unmodified, YES;
    VK_EXT_external_memory_host, YES;
    VK_KHR_swapchain, YES;
    VK_KHR_incremental_present, YES;
    VK_KHR_present_id, YES;
    VK_KHR_present_wait, YES;
    VK_KHR_present_id2, YES;
    VK_KHR_present_wait2, YES;
    VK_KHR_swapchain_maintenance1, YES;
    VK_EXT_swapchain_maintenance1, YES;
    VK_KHR_swapchain_mutable_format, YES;
    VK_KHR_maintenance1, YES;
    VK_KHR_maintenance2, YES;
    VK_KHR_maintenance3, YES;
    VK_KHR_maintenance4, YES;
    VK_KHR_maintenance5, YES;
    VK_KHR_maintenance6, YES;
    VK_KHR_maintenance7, YES;
    VK_KHR_maintenance8, YES;
    VK_KHR_maintenance9, YES;
    VK_KHR_maintenance10, YES;
    VK_KHR_maintenance11, YES;
    VK_KHR_bind_memory2, YES;
    VK_KHR_get_memory_requirements2, YES;
    VK_KHR_dedicated_allocation, YES;
    VK_KHR_descriptor_update_template, YES;
    VK_KHR_push_descriptor, YES;
    VK_KHR_device_group, YES;
    VK_KHR_multiview, YES;
    VK_KHR_create_renderpass2, YES;
    VK_KHR_depth_stencil_resolve, YES;
    VK_KHR_dynamic_rendering, YES;
    VK_KHR_synchronization2, YES;
    VK_KHR_timeline_semaphore, YES;
    VK_KHR_copy_commands2, YES;
    VK_KHR_buffer_device_address, YES;
    VK_KHR_draw_indirect_count, YES;
    VK_KHR_separate_depth_stencil_layouts, YES;
    VK_KHR_image_format_list, YES;
    VK_KHR_sampler_mirror_clamp_to_edge, YES;
    VK_KHR_driver_properties, YES;
    VK_KHR_format_feature_flags2, YES;
    VK_KHR_imageless_framebuffer, YES;
    VK_KHR_storage_buffer_storage_class, YES;
    VK_KHR_relaxed_block_layout, YES;
    VK_KHR_uniform_buffer_standard_layout, YES;
    VK_KHR_shader_draw_parameters, YES;
    VK_KHR_shader_terminate_invocation, YES;
    VK_KHR_shader_non_semantic_info, YES;
    VK_KHR_zero_initialize_workgroup_memory, YES;
    VK_KHR_vulkan_memory_model, YES;
    VK_KHR_shader_float_controls, YES;
    VK_KHR_shader_bfloat16, YES;
    VK_EXT_shader_float8, YES;
    VK_KHR_shader_relaxed_extended_instruction, YES;
    VK_KHR_shader_float_controls2, YES;
    VK_KHR_spirv_1_4, YES;
    VK_KHR_variable_pointers, YES;
    VK_KHR_8bit_storage, YES;
    VK_KHR_16bit_storage, YES;
    VK_KHR_shader_float16_int8, YES;
    VK_KHR_shader_atomic_int64, YES;
    VK_KHR_shader_subgroup_extended_types, YES;
    VK_KHR_shader_integer_dot_product, YES;
    VK_KHR_workgroup_memory_explicit_layout, YES;
    VK_KHR_sampler_ycbcr_conversion, YES;
    VK_KHR_vertex_attribute_divisor, YES;
    VK_KHR_index_type_uint8, YES;
    VK_KHR_load_store_op_none, YES;
    VK_KHR_map_memory2, YES;
    VK_KHR_line_rasterization, YES;
    VK_EXT_descriptor_indexing, YES;
    VK_EXT_host_query_reset, YES;
    VK_EXT_scalar_block_layout, YES;
    VK_EXT_separate_stencil_usage, YES;
    VK_EXT_sampler_filter_minmax, YES;
    VK_EXT_shader_viewport_index_layer, YES;
    VK_EXT_shader_demote_to_helper_invocation, YES;
    VK_EXT_shader_stencil_export, YES;
    VK_EXT_vertex_attribute_robustness, YES;
    VK_EXT_vertex_attribute_divisor, YES;
    VK_EXT_index_type_uint8, YES;
    VK_EXT_line_rasterization, YES;
    VK_EXT_load_store_op_none, YES;
    VK_EXT_private_data, YES;
    VK_EXT_pipeline_creation_cache_control, YES;
    VK_EXT_image_robustness, YES;
    VK_EXT_texel_buffer_alignment, YES;
    VK_EXT_4444_formats, YES;
    VK_EXT_shader_subgroup_ballot, YES;
    VK_EXT_shader_subgroup_vote, YES;
    VK_GOOGLE_decorate_string, YES;
    VK_GOOGLE_hlsl_functionality1, YES;
    VK_GOOGLE_user_type, YES;
    VK_EXT_buffer_device_address, YES;
    VK_VALVE_shader_mixed_float_dot_product, YES;
    VK_EXT_extended_dynamic_state, YES;
    VK_EXT_extended_dynamic_state2, YES;
    VK_EXT_robustness2, YES;
    VK_EXT_pipeline_robustness, YES;
    VK_KHR_shader_expect_assume, YES;
    VK_KHR_shader_subgroup_rotate, YES;
    VK_KHR_shader_subgroup_uniform_control_flow, YES;
    VK_KHR_shader_maximal_reconvergence, YES;
    VK_KHR_shader_clock, YES;
    VK_EXT_shader_replicated_composites, YES;
    VK_KHR_compute_shader_derivatives, YES;
    VK_NV_compute_shader_derivatives, YES;
    VK_KHR_cooperative_matrix, YES;
    VK_NV_cooperative_matrix2, YES;
    VK_NV_cooperative_vector, YES;
    VK_EXT_shader_long_vector, YES;
    VK_KHR_shader_fma, YES;
    VK_KHR_shader_untyped_pointers, YES;
    VK_NV_shader_subgroup_partitioned, YES;
    VK_EXT_shader_subgroup_partitioned, YES;
    VK_KHR_shader_quad_control, YES;
    VK_EXT_pipeline_creation_feedback, YES;
    VK_EXT_descriptor_buffer, YES;
    VK_EXT_descriptor_heap, YES;
    VK_KHR_device_fault, YES;
    VK_EXT_device_fault, YES;
    VK_KHR_pipeline_executable_properties, YES;
    VK_KHR_deferred_host_operations, YES;
    VK_KHR_acceleration_structure, YES;
    VK_KHR_ray_query, YES;
    VK_KHR_ray_tracing_maintenance1, YES;
    VK_KHR_ray_tracing_position_fetch, YES;
    VK_KHR_pipeline_library, YES;
    VK_EXT_graphics_pipeline_library, YES;
    VK_KHR_ray_tracing_pipeline, YES;
    VK_EXT_pipeline_library_group_handles, YES;
    VK_EXT_opacity_micromap, YES;
    VK_KHR_opacity_micromap, YES;
    VK_EXT_ray_tracing_invocation_reorder, YES;
    VK_NV_ray_tracing_invocation_reorder, YES;
    VK_NV_ray_tracing_linear_swept_spheres, YES;
    VK_NV_ray_tracing_motion_blur, YES;
    VK_EXT_subgroup_size_control, YES;
    VK_EXT_inline_uniform_block, YES;
    VK_EXT_sample_locations, YES;
    VK_EXT_custom_border_color, YES;
    VK_EXT_depth_clip_enable, YES;
    VK_EXT_depth_clip_control, YES;
    VK_EXT_provoking_vertex, YES;
    VK_EXT_primitive_topology_list_restart, YES;
    VK_EXT_color_write_enable, YES;
    VK_EXT_vertex_input_dynamic_state, YES;
    VK_EXT_conditional_rendering, YES;
    VK_EXT_transform_feedback, YES;
    VK_EXT_mesh_shader, YES;
    VK_EXT_primitives_generated_query, YES;
    VK_EXT_memory_budget, YES;
    VK_EXT_image_view_min_lod, YES;
    VK_EXT_depth_range_unrestricted, YES;
    VK_EXT_depth_bias_control, YES;
    VK_EXT_memory_priority, YES;
    VK_EXT_pageable_device_local_memory, YES;
    VK_KHR_global_priority, YES;
    VK_EXT_global_priority, YES;
    VK_EXT_global_priority_query, YES;
    VK_EXT_non_seamless_cube_map, YES;
    VK_EXT_mutable_descriptor_type, YES;
    VK_EXT_shader_atomic_float, YES;
    VK_NV_shader_atomic_float16_vector, YES;
    VK_EXT_shader_atomic_float2, YES;
    VK_EXT_shader_image_atomic_int64, YES;
    VK_EXT_texture_compression_astc_hdr, YES;
    VK_EXT_astc_decode_mode, YES;
    VK_EXT_ycbcr_image_arrays, YES;
    VK_EXT_rgba10x6_formats, YES;
    VK_EXT_ycbcr_2plane_444_formats, YES;
    VK_EXT_tooling_info, YES;
    VK_KHR_robustness2, YES;
    VK_EXT_extended_dynamic_state3, YES;
    VK_EXT_shader_object, YES;
    VK_EXT_blend_operation_advanced, YES;
    VK_EXT_multisampled_render_to_single_sampled, YES;
    VK_EXT_multisampled_render_to_swapchain, YES;
    VK_EXT_multi_draw, YES;
    VK_KHR_calibrated_timestamps, YES;
    VK_EXT_calibrated_timestamps, YES;
    VK_KHR_dynamic_rendering_local_read, YES;
    VK_EXT_host_image_copy, YES;
    VK_EXT_nested_command_buffer, YES;
    VK_EXT_zero_initialize_device_memory, YES;
    VK_EXT_image_2d_view_of_3d, YES;
    VK_EXT_image_sliced_view_of_3d, YES;
    VK_KHR_unified_image_layouts, YES;
    VK_EXT_dynamic_rendering_unused_attachments, YES;
    VK_KHR_device_address_commands, YES;
    VK_KHR_copy_memory_indirect, YES;
    VK_EXT_device_generated_commands, YES;
    VK_EXT_post_depth_coverage, YES;
    VK_EXT_border_color_swizzle, YES;
    VK_EXT_hdr_metadata, YES;
    VK_EXT_primitive_restart_index, YES;
    VK_EXT_legacy_vertex_attributes, YES;
    VK_EXT_attachment_feedback_loop_layout, YES;
    VK_EXT_attachment_feedback_loop_dynamic_state, YES;
    VK_EXT_rasterization_order_attachment_access, YES;
    VK_ARM_rasterization_order_attachment_access, YES;
    VK_EXT_fragment_shader_interlock, YES;
    VK_EXT_conservative_rasterization, YES;
    VK_KHR_fragment_shading_rate, YES;
    VK_KHR_fragment_shader_barycentric, YES;
    VK_NV_fragment_shader_barycentric, YES;
    VK_EXT_pipeline_protected_access, YES;
    VK_EXT_queue_family_foreign, YES;
    VK_AMD_shader_early_and_late_fragment_tests, YES;
    VK_NV_raw_access_chains, YES;
    VK_KHR_internally_synchronized_queues, YES;
    VK_KHR_extended_flags, YES;
    VK_NV_inherited_viewport_scissor, YES;
    VK_NV_command_buffer_inheritance, YES;
    VK_EXT_shader_module_identifier, YES;
    VK_KHR_pipeline_binary, YES;
    VK_EXT_validation_cache, YES;
}

include!("generated/extensions.rs");

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

    fn met_by(need: &Dependency, set: ExtensionSet) -> bool {
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

    #[test]
    fn what_an_advertised_version_absorbed_is_advertised_by_name_or_has_a_reason() {
        let absorbed = || EXTENSIONS.iter().filter(|row| row.is_core());
        assert!(absorbed().count() > 80);
        let refused = absorbed().filter(|row| !row.is_advertised()).map(|row| (row.name, row.implemented));
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
