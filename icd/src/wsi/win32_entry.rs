//! Entry points for windows of Windows.

use super::entry::{Allocator, can_present, create};
use super::surface::Surface;
use super::win32::WindowId;
use crate::device::instance::Instance;
use crate::ffi::handle::dispatchable;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use ash::vk;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Instance,
        create_win32_surface as vk::PFN_vkCreateWin32SurfaceKHR,
        vkCreateWin32SurfaceKHR: ext("VK_KHR_win32_surface")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_win32_presentation_support as vk::PFN_vkGetPhysicalDeviceWin32PresentationSupportKHR,
        vkGetPhysicalDeviceWin32PresentationSupportKHR: ext("VK_KHR_win32_surface")
    ),
];

shims! {
    fn create_win32_surface(
        instance: vk::Instance,
        info: *const vk::Win32SurfaceCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        surface: *mut vk::SurfaceKHR,
    ) -> VkResult {
        let messages = dispatchable::<Instance>(instance).messages.clone();
        let window = Surface::of_window(messages, WindowId((*info).hwnd));
        *surface = create(instance, allocator, window)?;
        Ok(())
    }

    fn get_physical_device_win32_presentation_support(_device: vk::PhysicalDevice, family: u32) -> vk::Bool32 {
        can_present(family).into()
    }
}
