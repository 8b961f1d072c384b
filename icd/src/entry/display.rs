//! Names that the Vulkan loader exports and this driver does not implement: those of
//! VK_KHR_display, VK_KHR_get_display_properties2 and VK_KHR_display_swapchain.
//!
//! A program that is linked to the loader may refer to them, and would not start on the library in
//! the loader's place (`libvulkan.so.1`) if they were missing. No query returns them, and the
//! extensions are not advertised, so that only an invalid program calls them.

use crate::ffi::table::symbol;
use ash::vk;

macro_rules! absent {
    ($($name:ident),+ $(,)?) => { $(symbol!(refuse, $name);)+ };
}

absent!(
    vkCreateDisplayModeKHR,
    vkCreateDisplayPlaneSurfaceKHR,
    vkCreateSharedSwapchainsKHR,
    vkGetDisplayModeProperties2KHR,
    vkGetDisplayModePropertiesKHR,
    vkGetDisplayPlaneCapabilities2KHR,
    vkGetDisplayPlaneCapabilitiesKHR,
    vkGetDisplayPlaneSupportedDisplaysKHR,
    vkGetPhysicalDeviceDisplayPlaneProperties2KHR,
    vkGetPhysicalDeviceDisplayPlanePropertiesKHR,
    vkGetPhysicalDeviceDisplayProperties2KHR,
    vkGetPhysicalDeviceDisplayPropertiesKHR,
);

unsafe extern "system" fn refuse() -> vk::Result {
    vk::Result::ERROR_EXTENSION_NOT_PRESENT
}
