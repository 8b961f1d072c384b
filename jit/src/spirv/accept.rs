//! Capabilities and extensions that a module may declare.

use super::capability::{self, IMPLEMENTED};
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

/// Extensions that are implemented or that need no implementation.
static EXTENSIONS: &[&str] = &[
    "SPV_AMD_shader_early_and_late_fragment_tests",
    "SPV_EXT_demote_to_helper_invocation",
    "SPV_EXT_descriptor_heap",
    "SPV_EXT_descriptor_indexing",
    "SPV_EXT_float8",
    "SPV_EXT_fragment_fully_covered",
    "SPV_EXT_fragment_shader_interlock",
    "SPV_EXT_long_vector",
    "SPV_EXT_mesh_shader",
    "SPV_EXT_opacity_micromap",
    "SPV_EXT_physical_storage_buffer",
    "SPV_EXT_replicated_composites",
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_EXT_shader_image_int64",
    "SPV_EXT_shader_invocation_reorder",
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
    "SPV_KHR_fma",
    "SPV_KHR_fragment_shader_barycentric",
    "SPV_KHR_fragment_shading_rate",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_maximal_reconvergence",
    "SPV_KHR_multiview",
    "SPV_KHR_non_semantic_info",
    "SPV_KHR_opacity_micromap",
    "SPV_KHR_physical_storage_buffer",
    "SPV_KHR_post_depth_coverage",
    "SPV_KHR_quad_control",
    "SPV_KHR_ray_cull_mask",
    "SPV_KHR_ray_query",
    "SPV_KHR_ray_tracing",
    "SPV_KHR_ray_tracing_position_fetch",
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
    "SPV_NV_cooperative_vector",
    "SPV_NV_fragment_shader_barycentric",
    "SPV_NV_linear_swept_spheres",
    "SPV_NV_raw_access_chains",
    "SPV_NV_ray_tracing_motion_blur",
    "SPV_NV_shader_atomic_fp16_vector",
    "SPV_NV_shader_invocation_reorder",
    "SPV_NV_shader_subgroup_partitioned",
    "SPV_VALVE_mixed_float_dot_product",
];

impl Accept {
    /// Returns everything that this frontend implements.
    pub fn all_implemented() -> Accept {
        Accept { capabilities: IMPLEMENTED.iter().map(|row| row.capability as u32).collect(), extensions: None }
    }

    /// Refuses a module that declares anything that is not accepted.
    pub(crate) fn check(&self, m: &Module) -> Result<()> {
        for &cap in &m.capabilities {
            let refused = |why: &str| {
                let message = format!("capability {} {why}", capability::name(cap));
                Err(Error::unsupported(message).at((17, "OpCapability"), 0))
            };
            if capability::implemented(cap).is_none() {
                return refused("is not implemented");
            }
            if !self.capabilities.contains(&cap) {
                return refused("is not accepted by this device");
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
