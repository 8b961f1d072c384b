//! Features: the answers of vkGetPhysicalDeviceFeatures* and the features that vkCreateDevice
//! accepts, both from one table ([`super::feature_table`]).
//!
//! A row is one feature. A structure that contains features counts only if an advertised extension
//! or the core version provides it. Other structures in a pNext chain are not changed.

use super::extensions::{Dependency, Support, is_any_met};
pub use super::feature_table::{ALL_FEATURES, CORE_FEATURES, FEATURES, Feature, STRUCTS};
use ash::vk;
use std::ffi::c_void;
use std::mem::size_of;

/// A row of the table of features.
#[derive(Debug)]
pub struct FeatureRow {
    /// Name in the specification.
    pub name: &'static str,
    /// Support of the feature by the driver.
    pub support: Support,
}

/// A structure of features: a header with the tag and the pointer of the chain, and a `VkBool32`
/// for each feature.
#[derive(Debug)]
pub struct FeatureStruct {
    /// Name of the structure without `Vk`.
    pub name: &'static str,
    /// Tag of the structure.
    pub s_type: vk::StructureType,
    /// Extensions and versions that provide the structure; any of them suffices.
    pub from: &'static [Dependency],
    /// Features in the order of the members.
    pub features: &'static [Feature],
}

impl FeatureStruct {
    /// Returns the number of the structure with this tag.
    fn number(s_type: vk::StructureType) -> Option<usize> {
        STRUCTS.iter().position(|s| s.s_type == s_type)
    }
}

// The following values are computed when the driver is compiled. Every program requests them before
// its first frame, for all structures.

/// True for each advertised structure.
static KNOWN: [bool; STRUCTS.len()] = known();
/// True for each feature that is advertised in an advertised structure.
static ADVERTISED: [bool; FEATURES.len()] = advertised();

const fn known() -> [bool; STRUCTS.len()] {
    let (mut known, mut i) = ([false; STRUCTS.len()], 0);
    while i < known.len() {
        known[i] = is_any_met(STRUCTS[i].from);
        i += 1;
    }
    known
}

const fn advertised() -> [bool; FEATURES.len()] {
    let (known, mut advertised) = (known(), [false; FEATURES.len()]);
    let mut i = 0;
    while i < CORE_FEATURES.len() {
        advertised[CORE_FEATURES[i] as usize] = true;
        i += 1;
    }
    let mut structure = 0;
    while structure < known.len() {
        let (features, mut i) = (STRUCTS[structure].features, 0);
        while i < features.len() {
            advertised[features[i] as usize] |= known[structure];
            i += 1;
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
    for (i, feature) in CORE_FEATURES.iter().enumerate() {
        let yes = feature.row().support.is_yes();
        // SAFETY: the structure consists of one VkBool32 for each core feature, which the assertion
        // on its size checks.
        unsafe { base.add(i * size_of::<vk::Bool32>()).cast::<vk::Bool32>().write(yes.into()) };
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
                // SAFETY: `offset` is that of a VkBool32 in the structure with this tag.
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
    for (i, &feature) in CORE_FEATURES.iter().enumerate() {
        // SAFETY: the structure is valid, and consists of one VkBool32 for each core feature, which
        // the assertion on its size checks.
        let on = unsafe { read_bool(features.cast(), i * size_of::<vk::Bool32>()) };
        enable(feature, on, feature.row().support.is_yes(), set)?;
    }
    Ok(())
}

/// Adds the enabled features of a structure to a set.
///
/// # Safety
/// `structure` is valid; `number` is its number in [`STRUCTS`].
unsafe fn enable_struct(number: usize, structure: *const c_void, set: &mut FeatureSet) -> Result<(), MissingFeature> {
    for (feature, offset) in members_of(number) {
        // SAFETY: `offset` is that of a VkBool32 in the structure with this number.
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
    let features = STRUCTS[structure].features.iter().enumerate();
    features.map(|(i, &feature)| (feature, size_of::<vk::BaseOutStructure<'_>>() + i * size_of::<vk::Bool32>()))
}

const _: () = assert!(size_of::<vk::Bool32>() == 4);
const _: () = assert!(size_of::<vk::PhysicalDeviceFeatures>() == 4 * CORE_FEATURES.len());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::feature_table::MANDATORY;

    /// Checks structures that `ash` declares too.
    #[test]
    fn structures_have_the_layout_of_the_headers() {
        macro_rules! check {
            ($($ty:ident, $field:ident, $feature:ident;)*) => {$({
                let tag = <vk::$ty<'_> as vk::TaggedStructure>::STRUCTURE_TYPE;
                let number = FeatureStruct::number(tag).expect("a structure");
                let (_, offset) = members_of(number).find(|(f, _)| *f == Feature::$feature).expect("a member");
                assert_eq!(offset, std::mem::offset_of!(vk::$ty<'_>, $field));
                let end = members_of(number).last().expect("a member").1 + size_of::<vk::Bool32>();
                assert_eq!(end.next_multiple_of(align_of::<vk::$ty<'_>>()), size_of::<vk::$ty<'_>>());
            })*};
        }
        check! {
            PhysicalDeviceVulkan11Features, shader_draw_parameters, shaderDrawParameters;
            PhysicalDeviceVulkan12Features, buffer_device_address, bufferDeviceAddress;
            PhysicalDeviceVulkan13Features, maintenance4, maintenance4;
            PhysicalDeviceLineRasterizationFeaturesKHR, stippled_smooth_lines, stippledSmoothLines;
            PhysicalDeviceMeshShaderFeaturesEXT, mesh_shader, meshShader;
            PhysicalDeviceBufferDeviceAddressFeaturesEXT,
                buffer_device_address_capture_replay, bufferDeviceAddressCaptureReplayEXT;
        }
        assert_eq!(std::mem::offset_of!(vk::PhysicalDeviceFeatures, depth_clamp), 4 * 11);
        assert_eq!(CORE_FEATURES[11], Feature::depthClamp);
    }

    #[test]
    fn names_are_unique_and_in_order() {
        for (i, row) in FEATURES.iter().enumerate() {
            assert!(FEATURES[..i].iter().all(|r| r.name != row.name), "{} twice", row.name);
            assert_eq!(format!("{:?}", ALL_FEATURES[i]), row.name);
        }
    }

    /// Checks "Feature Requirements" (vk.xml's `feature` elements): advertised extensions and
    /// versions have their mandatory features.
    #[test]
    fn extensions_have_their_mandatory_features() {
        assert!(MANDATORY.len() > 150);
        for (needs, features) in MANDATORY.iter().filter(|(needs, _)| needs.iter().all(Dependency::is_met)) {
            let names: Vec<&str> = features.iter().map(|f| f.row().name).collect();
            assert!(features.iter().any(|f| f.is_advertised()), "{needs:?} require {names:?}");
        }
        assert!(Feature::robustBufferAccess.is_advertised(), "required by 1.0");
    }

    /// Returns the mandatory features of a version that are missing.
    fn missing(version: u32) -> Vec<&'static str> {
        let of = |needs: &[Dependency]| matches!(needs.first(), Some(Dependency::Core(core)) if *core == version);
        let met = |needs: &[Dependency]| needs.iter().skip(1).all(Dependency::is_met);
        let rows = MANDATORY.iter().filter(|(needs, _)| of(needs) && met(needs));
        let missing = rows.filter(|(_, features)| !features.iter().any(|f| f.row().support.is_yes()));
        missing.flat_map(|(_, features)| features.iter().map(|f| f.row().name)).collect()
    }

    /// Checks that the highest possible version is reported. A change that adds the last missing
    /// feature also has to change `API_VERSION` and the manifest.
    #[test]
    fn the_version_told_is_the_highest_that_has_its_mandatory_features() {
        use crate::caps::{API_VERSION, V1_1, V1_2, V1_3, V1_4};
        let whole = [V1_1, V1_2, V1_3, V1_4].into_iter().take_while(|version| missing(*version).is_empty()).last();
        let reported = vk::make_api_version(0, 1, vk::api_version_minor(API_VERSION), 0);
        assert_eq!(whole, Some(reported), "Vulkan 1.4 lacks {:?}", missing(V1_4));
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
