//! Features, limits, masks and formats by their names in the registry of Vulkan.
//! `cargo xtask generate` writes the rows.

/// A structure of features.
#[derive(Debug)]
pub struct FeatureStructure {
    /// Value of `sType`.
    pub tag: i32,
    /// Extensions and core versions (`VK_VERSION_1_2`) that provide it.
    pub providers: &'static [&'static str],
    /// Members behind the chain pointer, in order. Each is a `VkBool32`.
    pub members: &'static [&'static str],
}

/// A structure of limits.
#[derive(Debug)]
pub struct LimitStructure {
    /// Value of `sType`; 0 for `VkPhysicalDeviceLimits`, which is part of another structure.
    pub tag: i32,
    /// Extensions and core versions that provide it. Vulkan 1.0 is not named.
    pub providers: &'static [&'static str],
    /// Bytes of the structure, with the tag and the chain pointer.
    pub size: usize,
    /// Members that can be compared.
    pub members: &'static [Limit],
}

/// A member of a structure of limits.
#[derive(Debug)]
pub struct Limit {
    /// Name of the member.
    pub name: &'static str,
    /// Offset from the begin of the structure, in bytes.
    pub offset: usize,
    /// Type of the numbers.
    pub numbers: Numbers,
    /// Number of elements; more than one for arrays and extents.
    pub count: usize,
    /// Rule by which a device meets a requirement.
    pub rule: Rule,
}

/// Type of the numbers of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// `VkBool32`.
    Bool,
    /// `uint32_t`, or a mask of 32 bits.
    U32,
    /// `int32_t`.
    I32,
    /// `uint64_t`, `VkDeviceSize`, `size_t`, or a mask of 64 bits.
    U64,
    /// `float`.
    F32,
}

/// Rule by which the value of a device meets a required value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The value of the device is not less (`limittype` `max` or `bits`).
    AtLeast,
    /// The value of the device is not greater (`limittype` `min`).
    AtMost,
    /// Both values are equal.
    Equal,
    /// The interval of the device contains the required one.
    Covers,
    /// The mask of the device has all required bits; the mask has this name in [`MASKS`].
    Contains(&'static str),
}

macro_rules! core_features {
    ($($name:ident)*;) => {
        /// Members of `VkPhysicalDeviceFeatures`, in order.
        pub static CORE_FEATURES: &[&str] = &[$(stringify!($name)),*];
    };
}

macro_rules! feature_structures {
    ($($structure:ident $tag:literal [$($provider:ident)*]: $($name:ident)*;)*) => {
        /// Structures of features, except `VkPhysicalDeviceFeatures`.
        pub static FEATURE_STRUCTURES: &[FeatureStructure] = &[$(FeatureStructure {
            tag: $tag,
            providers: &[$(stringify!($provider)),*],
            members: &[$(stringify!($name)),*],
        }),*];
    };
}

macro_rules! limit_structures {
    ($($structure:ident $tag:literal [$($provider:ident)*] $size:literal:
        $($name:ident $offset:literal $numbers:ident $count:literal $rule:ident $(($mask:ident))?),*;)*) => {
        /// Structures of limits, `VkPhysicalDeviceLimits` first.
        pub static LIMIT_STRUCTURES: &[LimitStructure] = &[$(LimitStructure {
            tag: $tag,
            providers: &[$(stringify!($provider)),*],
            size: $size,
            members: &[$(Limit {
                name: stringify!($name),
                offset: $offset,
                numbers: Numbers::$numbers,
                count: $count,
                rule: Rule::$rule $((stringify!($mask)))?,
            }),*],
        }),*];
    };
}

macro_rules! masks {
    ($($mask:ident: $($name:ident $value:literal),*;)*) => {
        /// Masks: name, and the names and values of their bits.
        pub static MASKS: &[(&str, &[(&str, u64)])] = &[$((stringify!($mask), &[$((stringify!($name), $value)),*])),*];
    };
}

macro_rules! formats {
    ($($name:ident $value:literal),*;) => {
        /// Names and values of `VkFormat`.
        pub static FORMATS: &[(&str, i32)] = &[$((stringify!($name), $value)),*];
    };
}

include!("generated.rs");

/// Returns the value of a bit of one of several masks.
pub fn bit(masks: &[&str], name: &str) -> Option<u64> {
    let masks = MASKS.iter().filter(|(mask, _)| masks.contains(mask));
    masks.flat_map(|(_, bits)| *bits).find(|(bit, _)| *bit == name).map(|(_, value)| *value)
}

/// Returns all limits of a name, with their structures. Several structures may have one: that of an
/// extension, and that of the core version that absorbed it.
pub fn limits(name: &str) -> impl Iterator<Item = (&'static LimitStructure, &'static Limit)> {
    let all = LIMIT_STRUCTURES.iter().flat_map(|s| s.members.iter().map(move |limit| (s, limit)));
    all.filter(move |(_, limit)| limit.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk;
    use std::mem::{offset_of, size_of};

    /// Compares the layouts that the generator computes with those of `ash`.
    #[test]
    fn layouts_are_those_of_ash() {
        let core = &LIMIT_STRUCTURES[0];
        assert_eq!((core.tag, core.size), (0, size_of::<vk::PhysicalDeviceLimits>()));
        let limit = |name| limits(name).next().expect("a row").1.offset;
        assert_eq!(limit("nonCoherentAtomSize"), offset_of!(vk::PhysicalDeviceLimits, non_coherent_atom_size));
        assert_eq!(limit("minMemoryMapAlignment"), offset_of!(vk::PhysicalDeviceLimits, min_memory_map_alignment));
        let structure =
            |tag: vk::StructureType| LIMIT_STRUCTURES.iter().find(|s| s.tag == tag.as_raw()).expect("a structure").size;
        type V11 = vk::PhysicalDeviceVulkan11Properties<'static>;
        type V12 = vk::PhysicalDeviceVulkan12Properties<'static>;
        type V13 = vk::PhysicalDeviceVulkan13Properties<'static>;
        type Host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT<'static>;
        assert_eq!(structure(vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES), size_of::<V11>());
        assert_eq!(structure(vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES), size_of::<V12>());
        assert_eq!(structure(vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES), size_of::<V13>());
        assert_eq!(
            structure(vk::StructureType::PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT),
            size_of::<Host>()
        );
        assert_eq!(CORE_FEATURES.len() * 4, size_of::<vk::PhysicalDeviceFeatures>());
    }

    #[test]
    fn names_have_the_values_of_ash() {
        let format = |name| FORMATS.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        assert_eq!(format("VK_FORMAT_BC7_SRGB_BLOCK"), Some(vk::Format::BC7_SRGB_BLOCK.as_raw()));
        assert_eq!(format("VK_FORMAT_G8_B8R8_2PLANE_444_UNORM"), Some(vk::Format::G8_B8R8_2PLANE_444_UNORM.as_raw()));
        assert_eq!(bit(&["VkSampleCountFlagBits"], "VK_SAMPLE_COUNT_8_BIT"), Some(8));
        assert_eq!(bit(&["VkSampleCountFlagBits"], "VK_SHADER_STAGE_ALL"), None);
        assert_eq!(bit(&["VkShaderStageFlagBits"], "VK_SHADER_STAGE_ALL"), Some(0x7fff_ffff));
    }
}
