//! The driver's capabilities: extensions, features, limits, properties, formats. Each has one named
//! table, from which everything else is derived.
//!
//! [`extensions`] and [`features`] say what is implemented and why the rest is not. [`limits`] has
//! the numbers, asserted against the structs shared with generated code. [`properties`],
//! [`formats`] and [`host`] answer the vkGetPhysicalDevice* queries. [`spirv`] derives from the
//! tables what shaders may declare. Nothing here starts a thread or compiles anything.

pub mod build_id;
pub mod conformance;
pub mod cooperative;
pub mod extensions;
pub mod external;
mod feature_table;
pub mod features;
pub mod formats;
pub mod generated;
pub mod host;
pub mod limits;
pub mod modifiers;
pub mod newer;
pub mod properties;
pub mod spirv;
pub mod unlock;

pub use build_id::{build_id, code_id};
pub use extensions::{ExtensionSet, device_extensions, enable_device, enable_instance, instance_extensions};
pub use features::{enable_features, features, fill_features2};
pub use formats::{fill_format_properties2, fill_image_format_properties2, format_properties, image_format_properties};
pub use host::{QUEUE_FAMILIES, heap_budget, heap_size, memory_properties, thread_count};
pub use properties::{fill_properties2, fragment_shading_rates, properties, sample_location_grid};

#[cfg(test)]
mod commands_tests;

use ash::vk;

/// `VkPhysicalDeviceProperties::apiVersion`: the highest core version whose mandatory features all
/// work. Raising it means a change of this line and of the manifest; the tests of [`features`] say
/// when a version can be reported.
///
/// The patch number is that of the newest specification whose changes have been examined for rules
/// that concern a driver; the tests of the CTS have its headers. The headers of `ash` end before
/// it; [`newer`] has what is missing there.
pub const API_VERSION: u32 = vk::make_api_version(0, 1, 4, 356);

/// Version number of Vulkan 1.0.
pub const V1_0: u32 = vk::API_VERSION_1_0;
/// Version number of Vulkan 1.1.
pub const V1_1: u32 = vk::API_VERSION_1_1;
/// Version number of Vulkan 1.2.
pub const V1_2: u32 = vk::API_VERSION_1_2;
/// Version number of Vulkan 1.3.
pub const V1_3: u32 = vk::API_VERSION_1_3;
/// Version number of Vulkan 1.4.
pub const V1_4: u32 = vk::make_api_version(0, 1, 4, 0);

/// Writes a string into a fixed array of the API, truncated to fit, with its nul.
pub(crate) const fn copy_str<const N: usize>(out: &mut [std::ffi::c_char; N], text: &str) {
    let (text, mut at) = (text.as_bytes(), 0);
    while at < N {
        out[at] = if at < text.len() && at < N - 1 { text[at] as std::ffi::c_char } else { 0 };
        at += 1;
    }
}

/// Returns true if vkEnumerateDeviceExtensionProperties reports the extension.
pub fn has_device_extension(name: &str) -> bool {
    let is = |e: &vk::ExtensionProperties| e.extension_name_as_c_str().is_ok_and(|n| n.to_bytes() == name.as_bytes());
    device_extensions().iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the version in the manifest, which the loader reads before it opens the library.
    #[test]
    fn manifest_says_the_same_version() {
        let (major, minor) = (vk::api_version_major(API_VERSION), vk::api_version_minor(API_VERSION));
        let version = format!("\"api_version\": \"{major}.{minor}.{}\"", vk::api_version_patch(API_VERSION));
        let manifest = include_str!("../../../manifest/grus_icd.json");
        assert!(manifest.contains(&version), "manifest/grus_icd.json needs {version}");
    }
}
