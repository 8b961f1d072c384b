//! The sizes and types of cooperative matrices that are multiplied (`VkCooperativeMatrixPropertiesKHR`).
//!
//! Any size with columns in eights would do (`jit::spirv::cooperative`); these are what applications look for.

#![forbid(unsafe_code)]

use ash::vk::{self, ComponentTypeKHR as C};

/// Rows and columns of all three matrices: of the smaller ones more stays in registers.
static SIZES: &[u32] = &[8, 16];

/// Type of A and B, type of C and the result, saturating.
static TYPES: &[(C, C, bool)] = &[
    (C::FLOAT16, C::FLOAT32, false),
    (C::FLOAT16, C::FLOAT16, false),
    (C::FLOAT32, C::FLOAT32, false),
    (C::SINT8, C::SINT32, false),
    (C::SINT8, C::SINT32, true),
    (C::UINT8, C::UINT32, false),
    (C::UINT8, C::UINT32, true),
    (C::UINT8, C::SINT32, false),
    (C::UINT8, C::SINT32, true),
];

/// How many there are.
pub fn count() -> usize {
    SIZES.len() * TYPES.len()
}

/// Answers of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, in the order of preference.
pub fn cooperative_matrices() -> impl Iterator<Item = vk::CooperativeMatrixPropertiesKHR<'static>> {
    let all = SIZES.iter().flat_map(|&size| TYPES.iter().map(move |&types| (size, types)));
    all.map(|(size, (factor, sum, saturating))| vk::CooperativeMatrixPropertiesKHR {
        m_size: size,
        n_size: size,
        k_size: size,
        a_type: factor,
        b_type: factor,
        c_type: sum,
        result_type: sum,
        saturating_accumulation: saturating.into(),
        scope: vk::ScopeKHR::SUBGROUP,
        ..Default::default()
    })
}
