//! Conditions that unlock SPIR-V capabilities and extensions.

#![forbid(unsafe_code)]

use super::extensions::Extension;
use super::features::Feature;
use super::properties::SUBGROUP_OPERATIONS;
use super::{API_VERSION, V1_1, V1_2};
use ash::vk;

/// Condition that unlocks a capability or a SPIR-V extension.
#[derive(Clone, Copy, Debug)]
pub enum Unlock {
    /// The driver has at least this core version.
    Core(u32),
    /// The driver advertises this Vulkan extension.
    Ext(Extension),
    /// The driver advertises this feature.
    Has(Feature),
    /// `subgroupSupportedOperations`, from Vulkan 1.1 on, has these bits.
    Subgroup(vk::SubgroupFeatureFlags),
    /// A property of VK_KHR_shader_float_controls is true.
    FloatControls(bool),
}

impl Unlock {
    /// Returns true if the driver meets the condition.
    pub fn is_met(self) -> bool {
        match self {
            Unlock::Core(version) => API_VERSION >= version,
            Unlock::Ext(extension) => extension.is_advertised(),
            Unlock::Has(feature) => feature.is_advertised(),
            Unlock::FloatControls(property) => {
                property && (API_VERSION >= V1_2 || Extension::VK_KHR_shader_float_controls.is_advertised())
            }
            Unlock::Subgroup(operations) => API_VERSION >= V1_1 && SUBGROUP_OPERATIONS.contains(operations),
        }
    }
}
