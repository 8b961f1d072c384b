//! Features: the answers of vkGetPhysicalDeviceFeatures* and the features that vkCreateDevice
//! accepts, both from one table ([`super::feature_table`]).
//!
//! A row is one feature, with the offset of its `VkBool32` in every structure that contains it. A
//! structure counts only if an advertised extension or the core version provides it. Other
//! structures in a pNext chain are not changed.

use super::extensions::{Need, Support, is_any_met};
pub use super::feature_table::{ALL_FEATURES, FEATURES, Feature, STRUCTS};
use ash::vk;
use std::ffi::c_void;
use std::mem::size_of;

/// Location of a feature in a structure.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Tag of the structure.
    pub s_type: vk::StructureType,
    /// Offset of the `VkBool32` in bytes.
    pub offset: usize,
}

/// A row of the table of features.
#[derive(Debug)]
pub struct FeatureRow {
    /// Name in the specification.
    pub name: &'static str,
    /// Support of the feature by the driver.
    pub support: Support,
    /// Offset in `VkPhysicalDeviceFeatures` in bytes, if the feature is in it.
    pub core: Option<usize>,
    /// Other structures that contain the feature.
    pub members: &'static [Member],
}

/// A structure of features.
#[derive(Debug)]
pub struct FeatureStruct {
    /// Name of the structure without `Vk`.
    pub name: &'static str,
    /// Tag of the structure.
    pub s_type: vk::StructureType,
    /// Size of the structure in bytes.
    pub size: usize,
    /// Extensions and versions that provide the structure; any of them suffices.
    pub from: &'static [Need],
}

impl FeatureStruct {
    /// Returns the number of the structure with this tag.
    fn number(s_type: vk::StructureType) -> Option<usize> {
        STRUCTS.iter().position(|s| s.s_type == s_type)
    }
}

// The following values are computed when the driver is compiled. Every program requests them before
// its first frame, for all structures.

/// Features ordered by structure: those of structure `i` begin at `START[i]`.
static PLACES: [(Feature, u32); count_places()] = places().0;
static START: [usize; STRUCTS.len() + 1] = places().1;
/// True for each advertised structure.
static KNOWN: [bool; STRUCTS.len()] = known();
/// True for each feature that is advertised in an advertised structure.
static ADVERTISED: [bool; FEATURES.len()] = advertised();

const fn count_places() -> usize {
    let (mut count, mut i) = (0, 0);
    while i < FEATURES.len() {
        count += FEATURES[i].members.len();
        i += 1;
    }
    count
}

const fn places() -> ([(Feature, u32); count_places()], [usize; STRUCTS.len() + 1]) {
    let mut places = [(ALL_FEATURES[0], 0); count_places()];
    let (mut start, mut len, mut structure) = ([0; STRUCTS.len() + 1], 0, 0);
    while structure < STRUCTS.len() {
        let (tag, mut i) = (STRUCTS[structure].s_type.as_raw(), 0);
        while i < FEATURES.len() {
            let (members, mut m) = (FEATURES[i].members, 0);
            while m < members.len() {
                if members[m].s_type.as_raw() == tag {
                    places[len] = (ALL_FEATURES[i], members[m].offset as u32);
                    len += 1;
                }
                m += 1;
            }
            i += 1;
        }
        structure += 1;
        start[structure] = len;
    }
    assert!(len == places.len(), "every structure that has features is one of the table");
    (places, start)
}

const fn known() -> [bool; STRUCTS.len()] {
    let (mut known, mut i) = ([false; STRUCTS.len()], 0);
    while i < known.len() {
        known[i] = is_any_met(STRUCTS[i].from);
        i += 1;
    }
    known
}

const fn advertised() -> [bool; FEATURES.len()] {
    let ((places, start), known) = (places(), known());
    let (mut advertised, mut i) = ([false; FEATURES.len()], 0);
    while i < advertised.len() {
        advertised[i] = FEATURES[i].core.is_some();
        i += 1;
    }
    let mut structure = 0;
    while structure < known.len() {
        let mut at = start[structure];
        while at < start[structure + 1] {
            advertised[places[at].0 as usize] |= known[structure];
            at += 1;
        }
        structure += 1;
    }
    i = 0;
    while i < advertised.len() {
        advertised[i] &= FEATURES[i].support.is_yes();
        i += 1;
    }
    advertised
}

impl Feature {
    /// Returns the row of the feature.
    pub fn row(self) -> &'static FeatureRow {
        &FEATURES[self as usize]
    }
    /// Returns true if the feature is reported as VK_TRUE in a structure that the driver
    /// advertises.
    pub fn is_advertised(self) -> bool {
        ADVERTISED[self as usize]
    }
}

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureSet([u64; 8]);
const _: () = assert!(FEATURES.len() <= 512, "FeatureSet has 512 bits");

impl FeatureSet {
    /// Returns true if the feature is in the set.
    pub fn has(self, feature: Feature) -> bool {
        self.0[feature as usize / 64] >> (feature as usize % 64) & 1 == 1
    }
    fn insert(&mut self, feature: Feature) {
        self.0[feature as usize / 64] |= 1 << (feature as usize % 64);
    }
    /// Returns the set of all advertised features.
    pub fn advertised() -> FeatureSet {
        let mut set = FeatureSet::default();
        ALL_FEATURES.iter().filter(|f| f.is_advertised()).for_each(|f| set.insert(*f));
        set
    }
}

/// Returns the answer of vkGetPhysicalDeviceFeatures.
pub fn features() -> vk::PhysicalDeviceFeatures {
    let mut features = vk::PhysicalDeviceFeatures::default();
    let base = (&raw mut features).cast::<u8>();
    for row in FEATURES.iter().filter(|row| row.support.is_yes()) {
        if let Some(offset) = row.core {
            // SAFETY: `offset` is the `offset_of` a VkBool32 in this structure.
            unsafe { base.add(offset).cast::<vk::Bool32>().write(vk::TRUE) };
        }
    }
    features
}

/// Fills the answer of vkGetPhysicalDeviceFeatures2.
///
/// # Safety
/// `out` heads a valid chain of structures with the sizes that their tags imply.
pub unsafe fn fill_features2(out: &mut vk::PhysicalDeviceFeatures2<'_>) {
    out.features = features();
    let mut next = out.p_next.cast::<vk::BaseOutStructure<'_>>();
    while !next.is_null() {
        // SAFETY: `next` is an element of the chain, which the `# Safety` section requires to be
        // valid.
        let s_type = unsafe { (*next).s_type };
        if let Some(structure) = FeatureStruct::number(s_type).filter(|&structure| KNOWN[structure]) {
            for (feature, offset) in members_of(structure) {
                let yes = feature.row().support.is_yes();
                // SAFETY: `offset` is the `offset_of` a VkBool32 in the structure with this tag.
                unsafe { next.cast::<u8>().add(offset).cast::<vk::Bool32>().write(yes.into()) };
            }
        }
        // SAFETY: `next` is an element of the chain, which the `# Safety` section requires to be
        // valid.
        next = unsafe { (*next).p_next };
    }
}

/// A requested feature that the driver lacks: VK_ERROR_FEATURE_NOT_PRESENT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingFeature(pub Feature);

impl std::fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let row = self.0.row();
        match row.support {
            Support::No(reason) => write!(f, "feature {} is not supported: {reason}", row.name),
            Support::Yes => write!(f, "feature {} is not available at this API version", row.name),
        }
    }
}

impl From<MissingFeature> for vk::Result {
    fn from(_: MissingFeature) -> vk::Result {
        vk::Result::ERROR_FEATURE_NOT_PRESENT
    }
}

/// Returns the features that a VkDeviceCreateInfo enables, through `pEnabledFeatures` or its chain.
///
/// # Safety
/// `info` and its chain are valid.
pub unsafe fn enable_features(info: &vk::DeviceCreateInfo<'_>) -> Result<FeatureSet, MissingFeature> {
    let mut set = FeatureSet::default();
    if !info.p_enabled_features.is_null() {
        // SAFETY: `p_enabled_features` is not null, and `info` is valid as the `# Safety` section
        // requires.
        unsafe { enable_core(info.p_enabled_features, &mut set) }?;
    }
    let mut next = info.p_next;
    while !next.is_null() {
        // SAFETY: `next` is an element of the chain, which the `# Safety` section requires to be
        // valid.
        let element = unsafe { &*next.cast::<vk::BaseInStructure<'_>>() };
        if element.s_type == vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 {
            // SAFETY: the tag implies the type of the structure, which is valid as an element of
            // the chain.
            unsafe { enable_core(&raw const (*next.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features, &mut set) }?;
        } else if let Some(structure) = FeatureStruct::number(element.s_type) {
            // SAFETY: the structure is in the table, and is valid as an element of the chain.
            unsafe { enable_struct(structure, next, &mut set) }?;
        }
        next = element.p_next.cast();
    }
    Ok(set)
}

/// Adds the enabled features of `VkPhysicalDeviceFeatures` to a set.
///
/// # Safety
/// `features` is valid.
unsafe fn enable_core(features: *const vk::PhysicalDeviceFeatures, set: &mut FeatureSet) -> Result<(), MissingFeature> {
    for (feature, row) in ALL_FEATURES.iter().zip(FEATURES) {
        // SAFETY: `offset` is the `offset_of` a VkBool32 in this structure, which is valid.
        let on = row.core.is_some_and(|offset| unsafe { read_bool(features.cast(), offset) });
        enable(*feature, on, row.support.is_yes(), set)?;
    }
    Ok(())
}

/// Adds the enabled features of a structure to a set.
///
/// # Safety
/// `structure` is valid; `number` is its number in [`STRUCTS`].
unsafe fn enable_struct(number: usize, structure: *const c_void, set: &mut FeatureSet) -> Result<(), MissingFeature> {
    for (feature, offset) in members_of(number) {
        // SAFETY: `offset` is the `offset_of` a VkBool32 in the structure with this number.
        let on = unsafe { read_bool(structure, offset) };
        enable(feature, on, KNOWN[number] && feature.row().support.is_yes(), set)?;
    }
    Ok(())
}

fn enable(feature: Feature, on: bool, supported: bool, set: &mut FeatureSet) -> Result<(), MissingFeature> {
    if on && !supported {
        return Err(MissingFeature(feature));
    }
    if on {
        set.insert(feature);
    }
    Ok(())
}

/// Reads a `VkBool32` of a structure.
///
/// # Safety
/// `structure` has a `VkBool32` at `offset`.
unsafe fn read_bool(structure: *const c_void, offset: usize) -> bool {
    // SAFETY: `structure` has a `VkBool32` at `offset`, as the `# Safety` section requires.
    unsafe { structure.cast::<u8>().add(offset).cast::<vk::Bool32>().read() != vk::FALSE }
}

/// Returns the features of a structure of [`STRUCTS`] and their offsets in it.
fn members_of(structure: usize) -> impl Iterator<Item = (Feature, usize)> {
    PLACES[START[structure]..START[structure + 1]].iter().map(|&(feature, offset)| (feature, offset as usize))
}

const _: () = assert!(size_of::<vk::Bool32>() == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::extensions::{EXTENSIONS, Extension};

    #[test]
    fn every_structure_is_filled_completely_and_only_by_its_rows() {
        for (number, s) in STRUCTS.iter().enumerate() {
            let mut offsets: Vec<usize> = members_of(number).map(|(_, offset)| offset).collect();
            offsets.sort_unstable();
            let header = size_of::<vk::BaseOutStructure<'_>>();
            let expected: Vec<usize> = (0..offsets.len()).map(|i| header + 4 * i).collect();
            assert_eq!(offsets, expected, "{}", s.name);
            assert_eq!((header + 4 * offsets.len()).next_multiple_of(8), s.size, "{}: members without a row", s.name);
        }
        let core = FEATURES.iter().filter(|row| row.core.is_some()).count();
        assert_eq!(core * 4, size_of::<vk::PhysicalDeviceFeatures>());
    }

    #[test]
    fn names_are_unique_and_in_order() {
        for (i, row) in FEATURES.iter().enumerate() {
            assert!(FEATURES[..i].iter().all(|r| r.name != row.name), "{} twice", row.name);
            assert_eq!(format!("{:?}", ALL_FEATURES[i]), row.name);
        }
    }

    /// Checks "Feature Requirements": advertised extensions have their defining features.
    #[test]
    fn extensions_have_their_mandatory_features() {
        use Extension as E;
        use Feature as F;
        let pairs: &[(E, &[F])] = &[
            (E::VK_KHR_multiview, &[F::multiview]),
            (E::VK_KHR_dynamic_rendering, &[F::dynamicRendering]),
            (E::VK_KHR_dynamic_rendering_local_read, &[F::dynamicRenderingLocalRead]),
            (E::VK_EXT_host_image_copy, &[F::hostImageCopy]),
            (E::VK_EXT_nested_command_buffer, &[F::nestedCommandBuffer]),
            (E::VK_EXT_zero_initialize_device_memory, &[F::zeroInitializeDeviceMemory]),
            (E::VK_EXT_image_2d_view_of_3d, &[F::image2DViewOf3D]),
            (E::VK_EXT_image_sliced_view_of_3d, &[F::imageSlicedViewOf3D]),
            (E::VK_KHR_unified_image_layouts, &[F::unifiedImageLayouts]),
            (E::VK_EXT_dynamic_rendering_unused_attachments, &[F::dynamicRenderingUnusedAttachments]),
            (E::VK_KHR_synchronization2, &[F::synchronization2]),
            (E::VK_KHR_timeline_semaphore, &[F::timelineSemaphore]),
            (E::VK_KHR_buffer_device_address, &[F::bufferDeviceAddress]),
            (E::VK_EXT_buffer_device_address, &[F::bufferDeviceAddress]),
            (E::VK_KHR_imageless_framebuffer, &[F::imagelessFramebuffer]),
            (E::VK_KHR_separate_depth_stencil_layouts, &[F::separateDepthStencilLayouts]),
            (E::VK_KHR_uniform_buffer_standard_layout, &[F::uniformBufferStandardLayout]),
            (E::VK_KHR_shader_terminate_invocation, &[F::shaderTerminateInvocation]),
            (E::VK_KHR_zero_initialize_workgroup_memory, &[F::shaderZeroInitializeWorkgroupMemory]),
            (E::VK_KHR_vulkan_memory_model, &[F::vulkanMemoryModel]),
            (E::VK_KHR_variable_pointers, &[F::variablePointersStorageBuffer]),
            (E::VK_KHR_8bit_storage, &[F::storageBuffer8BitAccess]),
            (E::VK_KHR_16bit_storage, &[F::storageBuffer16BitAccess]),
            (E::VK_KHR_shader_atomic_int64, &[F::shaderBufferInt64Atomics]),
            (E::VK_KHR_workgroup_memory_explicit_layout, &[F::workgroupMemoryExplicitLayout]),
            (E::VK_KHR_sampler_ycbcr_conversion, &[F::samplerYcbcrConversion]),
            (E::VK_EXT_ycbcr_2plane_444_formats, &[F::ycbcr2plane444Formats]),
            (E::VK_EXT_ycbcr_image_arrays, &[F::ycbcrImageArrays]),
            (E::VK_EXT_rgba10x6_formats, &[F::formatRgba10x6WithoutYCbCrSampler]),
            (E::VK_EXT_texture_compression_astc_hdr, &[F::textureCompressionASTC_HDR]),
            (E::VK_KHR_maintenance4, &[F::maintenance4]),
            (E::VK_KHR_vertex_attribute_divisor, &[F::vertexAttributeInstanceRateDivisor]),
            (E::VK_KHR_index_type_uint8, &[F::indexTypeUint8]),
            (E::VK_EXT_index_type_uint8, &[F::indexTypeUint8]),
            (E::VK_KHR_line_rasterization, &[F::rectangularLines, F::bresenhamLines, F::smoothLines]),
            (E::VK_EXT_line_rasterization, &[F::stippledRectangularLines, F::stippledBresenhamLines]),
            (E::VK_EXT_host_query_reset, &[F::hostQueryReset]),
            (E::VK_EXT_scalar_block_layout, &[F::scalarBlockLayout]),
            (E::VK_EXT_shader_demote_to_helper_invocation, &[F::shaderDemoteToHelperInvocation]),
            (E::VK_EXT_private_data, &[F::privateData]),
            (E::VK_EXT_pipeline_creation_cache_control, &[F::pipelineCreationCacheControl]),
            (E::VK_EXT_image_robustness, &[F::robustImageAccess]),
            (E::VK_EXT_4444_formats, &[F::formatA4R4G4B4]),
            (E::VK_EXT_texel_buffer_alignment, &[F::texelBufferAlignment]),
            (E::VK_EXT_extended_dynamic_state, &[F::extendedDynamicState]),
            (E::VK_EXT_extended_dynamic_state2, &[F::extendedDynamicState2]),
            (E::VK_EXT_robustness2, &[F::robustBufferAccess2, F::robustImageAccess2, F::nullDescriptor]),
            (E::VK_EXT_pipeline_robustness, &[F::pipelineRobustness]),
            (E::VK_KHR_shader_expect_assume, &[F::shaderExpectAssume]),
            (E::VK_KHR_shader_subgroup_rotate, &[F::shaderSubgroupRotate]),
            (E::VK_KHR_shader_subgroup_uniform_control_flow, &[F::shaderSubgroupUniformControlFlow]),
            (E::VK_KHR_shader_maximal_reconvergence, &[F::shaderMaximalReconvergence]),
            (E::VK_EXT_shader_image_atomic_int64, &[F::shaderImageInt64Atomics]),
            (E::VK_NV_shader_atomic_float16_vector, &[F::shaderFloat16VectorAtomics]),
            (E::VK_KHR_shader_bfloat16, &[F::shaderBFloat16Type]),
            (E::VK_EXT_shader_float8, &[F::shaderFloat8]),
            (E::VK_KHR_shader_relaxed_extended_instruction, &[F::shaderRelaxedExtendedInstruction]),
            (E::VK_KHR_shader_float_controls2, &[F::shaderFloatControls2]),
            (E::VK_KHR_shader_quad_control, &[F::shaderQuadControl]),
            (E::VK_KHR_shader_clock, &[F::shaderSubgroupClock]),
            (E::VK_EXT_shader_replicated_composites, &[F::shaderReplicatedComposites]),
            (E::VK_KHR_compute_shader_derivatives, &[F::computeDerivativeGroupQuads]),
            (E::VK_KHR_cooperative_matrix, &[F::cooperativeMatrix]),
            (E::VK_KHR_maintenance6, &[F::maintenance6]),
            (E::VK_KHR_maintenance7, &[F::maintenance7]),
            (E::VK_KHR_maintenance10, &[F::maintenance10]),
            (E::VK_KHR_maintenance11, &[F::maintenance11]),
            (E::VK_KHR_maintenance9, &[F::maintenance9]),
            (E::VK_EXT_image_view_min_lod, &[F::minLod]),
            (E::VK_EXT_non_seamless_cube_map, &[F::nonSeamlessCubeMap]),
            (E::VK_EXT_depth_bias_control, &[F::depthBiasControl]),
            (E::VK_EXT_memory_priority, &[F::memoryPriority]),
            (E::VK_EXT_pageable_device_local_memory, &[F::pageableDeviceLocalMemory]),
            (E::VK_KHR_global_priority, &[F::globalPriorityQuery]),
            (E::VK_NV_cooperative_matrix2, &[F::cooperativeMatrixReductions]),
            (E::VK_KHR_shader_untyped_pointers, &[F::shaderUntypedPointers]),
            (E::VK_EXT_shader_subgroup_partitioned, &[F::shaderSubgroupPartitioned]),
            (E::VK_KHR_device_address_commands, &[F::deviceAddressCommands]),
            (E::VK_KHR_copy_memory_indirect, &[F::indirectMemoryCopy]),
            (E::VK_EXT_border_color_swizzle, &[F::borderColorSwizzle]),
            (E::VK_EXT_primitive_restart_index, &[F::primitiveRestartIndex]),
            (E::VK_EXT_legacy_vertex_attributes, &[F::legacyVertexAttributes]),
            (E::VK_EXT_rasterization_order_attachment_access, &[F::rasterizationOrderColorAttachmentAccess]),
            (E::VK_ARM_rasterization_order_attachment_access, &[F::rasterizationOrderColorAttachmentAccess]),
            (E::VK_EXT_fragment_shader_interlock, &[F::fragmentShaderPixelInterlock]),
            (E::VK_EXT_attachment_feedback_loop_layout, &[F::attachmentFeedbackLoopLayout]),
            (E::VK_EXT_attachment_feedback_loop_dynamic_state, &[F::attachmentFeedbackLoopDynamicState]),
            (E::VK_EXT_multisampled_render_to_single_sampled, &[F::multisampledRenderToSingleSampled]),
            (E::VK_EXT_multisampled_render_to_swapchain, &[F::multisampledRenderToSwapchain]),
            (E::VK_KHR_present_id, &[F::presentId]),
            (E::VK_KHR_present_wait, &[F::presentWait]),
            (E::VK_KHR_present_id2, &[F::presentId2]),
            (E::VK_KHR_present_wait2, &[F::presentWait2]),
            (E::VK_KHR_swapchain_maintenance1, &[F::swapchainMaintenance1]),
            (E::VK_EXT_swapchain_maintenance1, &[F::swapchainMaintenance1]),
            (E::VK_EXT_descriptor_buffer, &[F::descriptorBuffer]),
            (E::VK_EXT_descriptor_heap, &[F::descriptorHeap]),
            (E::VK_KHR_device_fault, &[F::deviceFault]),
            (E::VK_EXT_device_fault, &[F::deviceFault]),
            (E::VK_KHR_pipeline_executable_properties, &[F::pipelineExecutableInfo]),
            (E::VK_EXT_mutable_descriptor_type, &[F::mutableDescriptorType]),
            (
                E::VK_EXT_descriptor_indexing,
                &[
                    F::shaderSampledImageArrayDynamicIndexing,
                    F::shaderStorageBufferArrayDynamicIndexing,
                    F::shaderUniformTexelBufferArrayDynamicIndexing,
                    F::shaderStorageTexelBufferArrayDynamicIndexing,
                    F::shaderSampledImageArrayNonUniformIndexing,
                    F::shaderStorageBufferArrayNonUniformIndexing,
                    F::shaderUniformTexelBufferArrayNonUniformIndexing,
                    F::descriptorBindingSampledImageUpdateAfterBind,
                    F::descriptorBindingStorageImageUpdateAfterBind,
                    F::descriptorBindingStorageBufferUpdateAfterBind,
                    F::descriptorBindingUniformTexelBufferUpdateAfterBind,
                    F::descriptorBindingStorageTexelBufferUpdateAfterBind,
                    F::descriptorBindingUpdateUnusedWhilePending,
                    F::descriptorBindingPartiallyBound,
                    F::runtimeDescriptorArray,
                ],
            ),
        ];
        for (extension, features) in pairs.iter().filter(|(e, _)| e.is_advertised()) {
            for feature in *features {
                assert!(feature.is_advertised(), "{} needs {}", extension.row().name, feature.row().name);
            }
        }
        assert!(EXTENSIONS.len() > pairs.len());
        assert!(Feature::robustBufferAccess.is_advertised(), "required by 1.0");
    }

    /// Returns the "Feature Requirements" of each core version (vk.xml's `feature` blocks). Vulkan
    /// 1.4 exempts devices without protected memory from pipelineProtectedAccess, and requires
    /// hostImageCopy if no other queue family copies.
    fn mandatory(version: u32) -> &'static [Feature] {
        use crate::caps::{V1_1, V1_2, V1_3, V1_4};
        use Feature as F;
        match version {
            V1_1 => &[F::multiview],
            V1_2 => &[
                F::imagelessFramebuffer,
                F::uniformBufferStandardLayout,
                F::shaderSubgroupExtendedTypes,
                F::separateDepthStencilLayouts,
                F::hostQueryReset,
                F::timelineSemaphore,
                F::subgroupBroadcastDynamicId,
            ],
            V1_3 => &[
                F::robustImageAccess,
                F::inlineUniformBlock,
                F::pipelineCreationCacheControl,
                F::privateData,
                F::shaderDemoteToHelperInvocation,
                F::shaderTerminateInvocation,
                F::subgroupSizeControl,
                F::computeFullSubgroups,
                F::synchronization2,
                F::shaderZeroInitializeWorkgroupMemory,
                F::dynamicRendering,
                F::shaderIntegerDotProduct,
                F::maintenance4,
                F::vulkanMemoryModel,
                F::vulkanMemoryModelDeviceScope,
                F::bufferDeviceAddress,
            ],
            V1_4 => &[
                F::fullDrawIndexUint32,
                F::imageCubeArray,
                F::independentBlend,
                F::sampleRateShading,
                F::drawIndirectFirstInstance,
                F::depthClamp,
                F::depthBiasClamp,
                F::samplerAnisotropy,
                F::fragmentStoresAndAtomics,
                F::shaderStorageImageExtendedFormats,
                F::shaderUniformBufferArrayDynamicIndexing,
                F::shaderSampledImageArrayDynamicIndexing,
                F::shaderStorageBufferArrayDynamicIndexing,
                F::shaderStorageImageArrayDynamicIndexing,
                F::shaderImageGatherExtended,
                F::shaderInt16,
                F::largePoints,
                F::samplerYcbcrConversion,
                F::storageBuffer16BitAccess,
                F::variablePointers,
                F::variablePointersStorageBuffer,
                F::samplerMirrorClampToEdge,
                F::scalarBlockLayout,
                F::shaderUniformTexelBufferArrayDynamicIndexing,
                F::shaderStorageTexelBufferArrayDynamicIndexing,
                F::shaderInt8,
                F::storageBuffer8BitAccess,
                F::globalPriorityQuery,
                F::shaderSubgroupRotate,
                F::shaderSubgroupRotateClustered,
                F::shaderFloatControls2,
                F::shaderExpectAssume,
                F::bresenhamLines,
                F::vertexAttributeInstanceRateDivisor,
                F::indexTypeUint8,
                F::maintenance5,
                F::pushDescriptor,
                F::dynamicRenderingLocalRead,
                F::maintenance6,
                F::pipelineRobustness,
                F::hostImageCopy,
            ],
            _ => unreachable!("a version with requirements"),
        }
    }

    /// Returns the missing mandatory features of a version.
    fn missing(version: u32) -> Vec<&'static str> {
        let rows = mandatory(version).iter().map(|f| f.row());
        rows.filter(|row| !row.support.is_yes()).map(|row| row.name).collect()
    }

    /// Checks that the highest possible version is reported. A change that adds the last missing
    /// feature also has to change `API_VERSION` and the manifest.
    #[test]
    fn the_version_told_is_the_highest_that_has_its_mandatory_features() {
        use crate::caps::{API_VERSION, V1_1, V1_2, V1_3, V1_4};
        let whole = [V1_1, V1_2, V1_3, V1_4].into_iter().take_while(|version| missing(*version).is_empty()).last();
        let reported = vk::make_api_version(0, 1, vk::api_version_minor(API_VERSION), 0);
        assert_eq!(whole, Some(reported), "Vulkan 1.4 lacks {:?}", missing(V1_4));
        for feature in mandatory(reported) {
            assert!(feature.is_advertised(), "mandatory: {}", feature.row().name);
        }
    }

    #[test]
    fn chain_is_filled_and_unknown_structures_are_left_alone() {
        let mut indexing = vk::PhysicalDeviceDescriptorIndexingFeatures::default();
        let mut mesh = vk::PhysicalDeviceMeshShaderFeaturesNV { task_shader: 7, ..Default::default() };
        let mut multiview = vk::PhysicalDeviceMultiviewFeatures {
            multiview: 9,
            multiview_tessellation_shader: 9,
            ..Default::default()
        };
        let mut features = vk::PhysicalDeviceFeatures2::default();
        features = features.push_next(&mut indexing).push_next(&mut mesh).push_next(&mut multiview);
        // SAFETY: the chain is valid.
        unsafe { fill_features2(&mut features) };
        assert_eq!(features.features.robust_buffer_access, vk::TRUE);
        assert_eq!(features.features.sparse_residency16_samples, vk::FALSE);
        assert_eq!(mesh.task_shader, 7);
        assert_eq!(multiview.multiview_tessellation_shader, vk::TRUE);
        assert_eq!(multiview.multiview, Feature::multiview.is_advertised().into());
        assert_eq!(indexing.runtime_descriptor_array, vk::TRUE);
    }

    #[test]
    fn enabling_checks_every_way_in() {
        let wanted = vk::PhysicalDeviceFeatures { depth_clamp: 1, ..Default::default() };
        let info = vk::DeviceCreateInfo::default().enabled_features(&wanted);
        // SAFETY: `info` and its chain are valid.
        let set = unsafe { enable_features(&info) }.unwrap();
        assert!(set.has(Feature::depthClamp) && !set.has(Feature::robustBufferAccess));

        let refused = vk::PhysicalDeviceFeatures { sparse_residency16_samples: 1, ..Default::default() };
        let info = vk::DeviceCreateInfo::default().enabled_features(&refused);
        // SAFETY: `info` and its chain are valid.
        let missing = unsafe { enable_features(&info) }.unwrap_err();
        assert_eq!(missing, MissingFeature(Feature::sparseResidency16Samples));
        assert_eq!(vk::Result::from(missing), vk::Result::ERROR_FEATURE_NOT_PRESENT);
        assert!(missing.to_string().contains("sparseResidency16Samples"));

        let mut features2 = vk::PhysicalDeviceFeatures2 { features: refused, ..Default::default() };
        let info = vk::DeviceCreateInfo::default().push_next(&mut features2);
        // SAFETY: `info` and its chain are valid.
        assert_eq!(unsafe { enable_features(&info) }, Err(MissingFeature(Feature::sparseResidency16Samples)));

        let mut address = vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
        let info = vk::DeviceCreateInfo::default().push_next(&mut address).push_next(&mut timeline);
        // SAFETY: `info` and its chain are valid.
        let set = unsafe { enable_features(&info) }.unwrap();
        assert!(set.has(Feature::bufferDeviceAddress) && set.has(Feature::timelineSemaphore));

        let mut protected = vk::PhysicalDeviceProtectedMemoryFeatures::default().protected_memory(true);
        let info = vk::DeviceCreateInfo::default().push_next(&mut protected);
        // SAFETY: `info` and its chain are valid.
        let missing = unsafe { enable_features(&info) }.unwrap_err();
        assert_eq!(missing, MissingFeature(Feature::protectedMemory));
    }
}
