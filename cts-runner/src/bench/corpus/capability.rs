//! Capabilities of SPIR-V that a device has, derived from the features that enable them.
//!
//! A capability without a row counts as unsupported on every driver.

use super::module::Module;
use crate::bench::figure::SetupError;
use crate::vk::{Core, Gpu};
use ash::vk::{self, Bool32, PhysicalDeviceFeatures as F, SubgroupFeatureFlags as S, TRUE};

/// Condition under which a device has a capability.
enum Support {
    Always,
    Vulkan10(fn(&F) -> Bool32),
    Core(fn(&Core) -> Bool32),
    Subgroups(S),
}

use Support::{Always, Core as C, Subgroups, Vulkan10 as V};

/// Conditions by the number of the capability.
const ROWS: &[(u32, Support)] = &[
    (0, Always),
    (1, Always),
    (9, C(|c| c.v12.shader_float16)),
    (10, V(|f| f.shader_float64)),
    (11, V(|f| f.shader_int64)),
    (12, C(|c| c.v12.shader_buffer_int64_atomics)),
    (22, V(|f| f.shader_int16)),
    (25, V(|f| f.shader_image_gather_extended)),
    (27, V(|f| f.shader_storage_image_multisample)),
    (28, V(|f| f.shader_uniform_buffer_array_dynamic_indexing)),
    (29, V(|f| f.shader_sampled_image_array_dynamic_indexing)),
    (30, V(|f| f.shader_storage_buffer_array_dynamic_indexing)),
    (31, V(|f| f.shader_storage_image_array_dynamic_indexing)),
    (32, V(|f| f.shader_clip_distance)),
    (33, V(|f| f.shader_cull_distance)),
    (34, V(|f| f.image_cube_array)),
    (35, V(|f| f.sample_rate_shading)),
    (39, C(|c| c.v12.shader_int8)),
    (41, V(|f| f.shader_resource_residency)),
    (42, V(|f| f.shader_resource_min_lod)),
    (43, Always),
    (44, Always),
    (45, V(|f| f.image_cube_array)),
    (46, Always),
    (47, Always),
    (48, V(|f| f.shader_storage_image_multisample)),
    (49, V(|f| f.shader_storage_image_extended_formats)),
    (50, Always),
    (51, Always),
    (52, V(|f| f.sample_rate_shading)),
    (55, V(|f| f.shader_storage_image_read_without_format)),
    (56, V(|f| f.shader_storage_image_write_without_format)),
    (61, Subgroups(S::BASIC)),
    (62, Subgroups(S::VOTE)),
    (63, Subgroups(S::ARITHMETIC)),
    (64, Subgroups(S::BALLOT)),
    (65, Subgroups(S::SHUFFLE)),
    (66, Subgroups(S::SHUFFLE_RELATIVE)),
    (67, Subgroups(S::CLUSTERED)),
    (68, Subgroups(S::QUAD)),
    (69, C(|c| c.v12.shader_output_layer)),
    (70, C(|c| c.v12.shader_output_viewport_index)),
    (4427, C(|c| c.v11.shader_draw_parameters)),
    (4433, C(|c| c.v11.storage_buffer16_bit_access)),
    (4434, C(|c| c.v11.uniform_and_storage_buffer16_bit_access)),
    (4435, C(|c| c.v11.storage_push_constant16)),
    (4436, C(|c| c.v11.storage_input_output16)),
    (4437, Always),
    (4439, C(|c| c.v11.multiview)),
    (4441, C(|c| c.v11.variable_pointers_storage_buffer)),
    (4442, C(|c| c.v11.variable_pointers)),
    (4448, C(|c| c.v12.storage_buffer8_bit_access)),
    (4449, C(|c| c.v12.uniform_and_storage_buffer8_bit_access)),
    (4450, C(|c| c.v12.storage_push_constant8)),
    (5301, C(|c| c.v12.descriptor_indexing)),
    (5302, C(|c| c.v12.runtime_descriptor_array)),
    (5306, C(|c| c.v12.shader_uniform_buffer_array_non_uniform_indexing)),
    (5307, C(|c| c.v12.shader_sampled_image_array_non_uniform_indexing)),
    (5308, C(|c| c.v12.shader_storage_buffer_array_non_uniform_indexing)),
    (5309, C(|c| c.v12.shader_storage_image_array_non_uniform_indexing)),
    (5345, C(|c| c.v12.vulkan_memory_model)),
    (5346, C(|c| c.v12.vulkan_memory_model_device_scope)),
    (5379, C(|c| c.v13.shader_demote_to_helper_invocation)),
    (6016, C(|c| c.v13.shader_integer_dot_product)),
    (6017, C(|c| c.v13.shader_integer_dot_product)),
    (6018, C(|c| c.v13.shader_integer_dot_product)),
    (6019, C(|c| c.v13.shader_integer_dot_product)),
];

/// Returns an error if a module needs a capability that the device lacks.
pub fn check(gpu: &Gpu, module: &Module) -> Result<(), SetupError> {
    let version = module.words.get(1).copied().unwrap_or(0);
    let newest = match vk::api_version_minor(gpu.properties.api_version) {
        0 => 0x1_0000,
        1 => 0x1_0300,
        2 => 0x1_0500,
        _ => 0x1_0600,
    };
    if version > newest {
        return Err(SetupError::Unsupported(format!("SPIR-V of version {version:#x}")));
    }
    let has = |capability: u32| match ROWS.iter().find(|(c, _)| *c == capability) {
        Some((_, Always)) => true,
        Some((_, V(feature))) => feature(&gpu.features) == TRUE,
        Some((_, C(feature))) => gpu.core.as_ref().is_some_and(|core| feature(core) == TRUE),
        Some((_, Subgroups(operations))) => gpu.optional.subgroup_operations.contains(*operations),
        None => false,
    };
    match module.capabilities.iter().find(|c| !has(**c)) {
        Some(lacking) => Err(SetupError::Unsupported(format!("capability {lacking}"))),
        None => Ok(()),
    }
}
