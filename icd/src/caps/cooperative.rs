//! Sizes and types of cooperative matrices that can be multiplied
//! (`VkCooperativeMatrixPropertiesKHR`).
//!
//! Any size whose columns are a multiple of eight would work (`jit::spirv::cooperative`); these are
//! the sizes that applications look for.

#![forbid(unsafe_code)]

use ash::vk::{self, ComponentTypeKHR as C};

/// Component types that ash does not know (VK_KHR_shader_bfloat16, VK_EXT_shader_float8).
const BFLOAT16: C = C::from_raw(1_000_141_000);
const E4M3: C = C::from_raw(1_000_491_002);
const E5M2: C = C::from_raw(1_000_491_003);

/// Numbers of rows and columns of all three matrices. Smaller matrices come first, because more of
/// them stays in registers.
static SIZES: &[u32] = &[8, 16];

/// Type of A and B, type of C and the result, and whether the sum saturates.
static TYPES: &[(C, C, bool)] = &[
    (C::FLOAT16, C::FLOAT32, false),
    (C::FLOAT16, C::FLOAT16, false),
    (C::FLOAT32, C::FLOAT32, false),
    (BFLOAT16, C::FLOAT32, false),
    (BFLOAT16, BFLOAT16, false),
    (E4M3, C::FLOAT32, false),
    (E4M3, C::FLOAT16, false),
    (E4M3, E4M3, false),
    (E5M2, C::FLOAT32, false),
    (E5M2, C::FLOAT16, false),
    // E5M2 with a result of E5M2 would work, but `cooperative_matrix.op_constant_null.null_c` of
    // the CTS requires sums of 16 products exact to 1e-6.
    (C::SINT8, C::SINT32, false),
    (C::SINT8, C::SINT32, true),
    (C::UINT8, C::UINT32, false),
    (C::UINT8, C::UINT32, true),
    (C::UINT8, C::SINT32, false),
    (C::UINT8, C::SINT32, true),
];

/// Returns the number of combinations.
pub fn count() -> usize {
    SIZES.len() * TYPES.len()
}

/// Returns the answers of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, in the order of
/// preference.
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
