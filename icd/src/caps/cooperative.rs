//! Sizes and types of cooperative matrices and vectors that can be multiplied
//! (`VkCooperativeMatrixPropertiesKHR`, `VkCooperativeVectorPropertiesNV`).
//!
//! Any size of a matrix whose columns are a multiple of eight would work
//! (`jit::spirv::cooperative`); these are the sizes that applications look for.

#![forbid(unsafe_code)]

use super::newer;
use ash::vk::{self, ComponentTypeKHR as C};

/// Component type of bfloat16, which ash does not know (VK_KHR_shader_bfloat16).
const BFLOAT16: C = C::from_raw(1_000_141_000);
/// Component type of floats of 8 bits with a mantissa of 3, which ash does not know
/// (VK_EXT_shader_float8).
pub const E4M3: C = C::from_raw(1_000_491_002);
/// Component type of floats of 8 bits with a mantissa of 2, which ash does not know
/// (VK_EXT_shader_float8).
pub const E5M2: C = C::from_raw(1_000_491_003);

const SINT8_PACKED: C = C::from_raw(1_000_491_000);
const UINT8_PACKED: C = C::from_raw(1_000_491_001);

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

/// Returns the answers of vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, in the order of
/// preference.
pub fn cooperative_matrices() -> Vec<vk::CooperativeMatrixPropertiesKHR<'static>> {
    let all = SIZES.iter().flat_map(|&size| TYPES.iter().map(move |types| (size, types)));
    let properties = |(size, &(factor, sum, saturating)): (u32, &(C, C, bool))| vk::CooperativeMatrixPropertiesKHR {
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
    };
    all.map(properties).collect()
}

/// Type of the vector, its interpretation, that of the matrix, and the type of the bias and of the
/// result. Every combination of floats, and of integers, would work
/// (`jit::spirv::cooperative_vector`).
static VECTORS: &[(C, C, C, C)] = &[
    (C::FLOAT16, C::FLOAT16, C::FLOAT16, C::FLOAT16),
    (C::FLOAT32, C::FLOAT32, C::FLOAT32, C::FLOAT32),
    (C::FLOAT32, C::FLOAT16, C::FLOAT16, C::FLOAT32),
    (C::FLOAT16, C::FLOAT16, C::FLOAT16, C::FLOAT32),
    (C::FLOAT16, E4M3, E4M3, C::FLOAT16),
    (C::FLOAT16, E5M2, E5M2, C::FLOAT16),
    (C::UINT8, C::UINT8, C::UINT8, C::UINT32),
    (C::UINT8, C::UINT8, C::UINT8, C::SINT32),
    (C::UINT8, C::UINT8, C::SINT8, C::SINT32),
    (C::SINT8, C::SINT8, C::UINT8, C::SINT32),
    (C::SINT8, C::SINT8, C::SINT8, C::SINT32),
    (C::UINT32, SINT8_PACKED, C::SINT8, C::SINT32),
    (C::UINT32, UINT8_PACKED, C::SINT8, C::SINT32),
    (C::UINT32, UINT8_PACKED, C::UINT8, C::UINT32),
    (C::SINT32, C::SINT8, C::SINT8, C::SINT32),
    (C::FLOAT32, C::SINT8, C::SINT8, C::SINT32),
];

/// Returns the answers of vkGetPhysicalDeviceCooperativeVectorPropertiesNV, in the order of
/// preference.
pub fn cooperative_vectors() -> Vec<newer::CooperativeVectorPropertiesNV<'static>> {
    let properties = |&(input, interpretation, matrix, result)| newer::CooperativeVectorPropertiesNV {
        s_type: <newer::CooperativeVectorPropertiesNV<'_> as vk::TaggedStructure>::STRUCTURE_TYPE,
        p_next: std::ptr::null_mut(),
        input_type: input,
        input_interpretation: interpretation,
        matrix_interpretation: matrix,
        bias_interpretation: result,
        result_type: result,
        transpose: vk::TRUE,
        _marker: std::marker::PhantomData,
    };
    VECTORS.iter().map(properties).collect()
}
