//! Entry points for the windows of Linux: X11 through xcb and xlib, and Wayland.

use super::client;
use super::entry::{Allocator, can_present, create};
use super::surface::Surface;
use super::wayland::connection::WaylandTarget;
use super::x11::WindowId;
use crate::device::instance::Instance;
use crate::ffi::handle::dispatchable;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use ash::vk;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Instance, create_xcb_surface as vk::PFN_vkCreateXcbSurfaceKHR, vkCreateXcbSurfaceKHR: ext("VK_KHR_xcb_surface")),
    row!(
        Instance,
        create_xlib_surface as vk::PFN_vkCreateXlibSurfaceKHR,
        vkCreateXlibSurfaceKHR: ext("VK_KHR_xlib_surface")
    ),
    row!(
        Instance,
        create_wayland_surface as vk::PFN_vkCreateWaylandSurfaceKHR,
        vkCreateWaylandSurfaceKHR: ext("VK_KHR_wayland_surface")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_xcb_presentation_support as vk::PFN_vkGetPhysicalDeviceXcbPresentationSupportKHR,
        vkGetPhysicalDeviceXcbPresentationSupportKHR: ext("VK_KHR_xcb_surface")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_xlib_presentation_support as vk::PFN_vkGetPhysicalDeviceXlibPresentationSupportKHR,
        vkGetPhysicalDeviceXlibPresentationSupportKHR: ext("VK_KHR_xlib_surface")
    ),
    row!(
        PhysicalDevice,
        get_physical_device_wayland_presentation_support as vk::PFN_vkGetPhysicalDeviceWaylandPresentationSupportKHR,
        vkGetPhysicalDeviceWaylandPresentationSupportKHR: ext("VK_KHR_wayland_surface")
    ),
];

/// Creates the surface of a window.
///
/// # Safety
/// The instance is live.
unsafe fn x11(instance: vk::Instance, display: Option<String>, window: u32) -> Surface {
    // SAFETY: the instance is live, as the `# Safety` section requires.
    let messages = unsafe { dispatchable::<Instance>(instance) }.messages.clone();
    Surface::of_window(messages, WindowId { display, window })
}

shims! {
    fn create_xcb_surface(
        instance: vk::Instance,
        info: *const vk::XcbSurfaceCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        surface: *mut vk::SurfaceKHR,
    ) -> VkResult {
        // If libxcb is not in the process, there is nothing to wait for.
        let _ = client::sync_xcb((*info).connection);
        *surface = create(instance, allocator, x11(instance, None, (*info).window))?;
        Ok(())
    }

    fn create_xlib_surface(
        instance: vk::Instance,
        info: *const vk::XlibSurfaceCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        surface: *mut vk::SurfaceKHR,
    ) -> VkResult {
        let display = client::sync_xlib((*info).dpy);
        // XIDs have 29 bits; Xlib keeps them in longs.
        *surface = create(instance, allocator, x11(instance, display, (*info).window as u32))?;
        Ok(())
    }

    fn create_wayland_surface(
        instance: vk::Instance,
        info: *const vk::WaylandSurfaceCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        surface: *mut vk::SurfaceKHR,
    ) -> VkResult {
        // The application's display and surface outlive the Vulkan surface, which is closed when
        // the application destroys it.
        let target = WaylandTarget::new((*info).display, (*info).surface);
        *surface = create(instance, allocator, Surface::wayland(target))?;
        Ok(())
    }

    fn get_physical_device_xcb_presentation_support(
        _device: vk::PhysicalDevice,
        family: u32,
        _connection: *mut vk::xcb_connection_t,
        _visual: vk::xcb_visualid_t,
    ) -> vk::Bool32 {
        can_present(family).into()
    }

    fn get_physical_device_xlib_presentation_support(
        _device: vk::PhysicalDevice,
        family: u32,
        _display: *mut vk::Display,
        _visual: vk::VisualID,
    ) -> vk::Bool32 {
        can_present(family).into()
    }

    fn get_physical_device_wayland_presentation_support(
        _device: vk::PhysicalDevice,
        family: u32,
        _display: *mut vk::wl_display,
    ) -> vk::Bool32 {
        can_present(family).into()
    }
}
