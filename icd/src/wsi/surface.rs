//! Surfaces: targets of presentation, and their capabilities.

#![forbid(unsafe_code)]

use super::frame::PixelOrder;
use super::scaling::{Placement, Scaling, nearest, stretch};
use super::wayland::connection::WaylandError;
#[cfg(unix)]
use super::wayland::connection::WaylandTarget;
use super::wayland::window::Window as WaylandWindow;
#[cfg(windows)]
use super::win32::{Win32Error as WindowError, Win32Window as NativeWindow, WindowId};
#[cfg(unix)]
use super::x11::{WindowId, X11Error as WindowError, X11Window as NativeWindow};
use crate::ffi::messages::Messages;
use ash::vk;
use base::limits::MAX_DIMENSION;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `VkSurfaceKHR`.
pub struct Surface {
    target: SurfaceTarget,
    /// Number of the swapchain that owns the surface; 0 for none.
    owner: AtomicU64,
    color_spaces: &'static [vk::ColorSpaceKHR],
}

enum SurfaceTarget {
    /// No window: images are released at once.
    Headless,
    /// A window of X11 or Windows, which gets copies of the images.
    Window(Box<WindowTarget>),
    /// A Wayland surface; `None` if the process has too many descriptors.
    Wayland(Option<Box<WaylandWindow>>),
}

impl From<WaylandError> for vk::Result {
    fn from(_: WaylandError) -> vk::Result {
        LOST
    }
}

struct WindowTarget {
    messages: Arc<Messages>,
    id: WindowId,
    connection: Mutex<WindowConnection>,
}

/// The driver's connection to the window of one surface.
enum WindowConnection {
    /// The connection is not opened yet, or the window was not known.
    Closed,
    Open(Box<NativeWindow>),
    /// The window or its server went away, which is permanent.
    Lost,
}

/// `currentExtent` of a surface whose extent the swapchain decides.
const EXTENT_BY_SWAPCHAIN: vk::Extent2D = vk::Extent2D { width: u32::MAX, height: u32::MAX };
const LOST: vk::Result = vk::Result::ERROR_SURFACE_LOST_KHR;

/// Formats in order of preference for a window of B8G8R8A8 pixels.
const FORMATS: [vk::Format; 4] =
    [vk::Format::B8G8R8A8_UNORM, vk::Format::B8G8R8A8_SRGB, vk::Format::R8G8B8A8_UNORM, vk::Format::R8G8B8A8_SRGB];
/// Formats of Wayland's shared memory, in order of preference: `wl_shm.format` without and with
/// alpha. Every compositor accepts the first.
const SHM_FORMATS: [(vk::Format, [u32; 2]); 6] = [
    (vk::Format::B8G8R8A8_UNORM, [1, 0]),
    (vk::Format::B8G8R8A8_SRGB, [1, 0]),
    (vk::Format::R8G8B8A8_UNORM, [fourcc(*b"XB24"), fourcc(*b"AB24")]),
    (vk::Format::R8G8B8A8_SRGB, [fourcc(*b"XB24"), fourcc(*b"AB24")]),
    (vk::Format::A2R10G10B10_UNORM_PACK32, [fourcc(*b"XR30"), fourcc(*b"AR30")]),
    (vk::Format::A2B10G10R10_UNORM_PACK32, [fourcc(*b"XB30"), fourcc(*b"AB30")]),
];
/// Present modes. MAILBOX and IMMEDIATE are equal, because every frame is copied as a whole. FIFO
/// and FIFO_RELAXED are equal, too: there is no vertical blank to wait for, frames are at least a
/// period apart, and a late frame is shown at once (`pace`).
const PRESENT_MODES: [vk::PresentModeKHR; 4] = [
    vk::PresentModeKHR::FIFO,
    vk::PresentModeKHR::MAILBOX,
    vk::PresentModeKHR::IMMEDIATE,
    vk::PresentModeKHR::FIFO_RELAXED,
];
/// Color spaces. The window system gets no color space, so values are shown unchanged. The second
/// one requires VK_EXT_swapchain_colorspace.
const COLOR_SPACES: [vk::ColorSpaceKHR; 2] = [vk::ColorSpaceKHR::SRGB_NONLINEAR, vk::ColorSpaceKHR::PASS_THROUGH_EXT];
/// Smallest extent of a swapchain's images, if the window does not determine it or images are
/// scaled.
pub const MIN_EXTENT: vk::Extent2D = vk::Extent2D { width: 1, height: 1 };
/// Largest extent of a swapchain's images; see [`MIN_EXTENT`].
pub const MAX_EXTENT: vk::Extent2D = vk::Extent2D { width: MAX_DIMENSION, height: MAX_DIMENSION };
/// `minImageCount`.
pub const MIN_IMAGES: u32 = 2;
/// Allowed usages of a swapchain's images.
pub const USAGES: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::TRANSFER_SRC.as_raw()
        | vk::ImageUsageFlags::TRANSFER_DST.as_raw()
        | vk::ImageUsageFlags::SAMPLED.as_raw()
        | vk::ImageUsageFlags::STORAGE.as_raw()
        | vk::ImageUsageFlags::COLOR_ATTACHMENT.as_raw()
        | vk::ImageUsageFlags::INPUT_ATTACHMENT.as_raw(),
);

/// Returns the memory order of a surface format's pixels.
pub fn pixel_order_of(format: vk::Format) -> PixelOrder {
    match format {
        vk::Format::R8G8B8A8_UNORM | vk::Format::R8G8B8A8_SRGB => PixelOrder::Rgba,
        _ => PixelOrder::Bgra,
    }
}

/// Returns the code of a format in Linux's `drm_fourcc.h`.
const fn fourcc(name: [u8; 4]) -> u32 {
    u32::from_le_bytes(name)
}

/// Returns Wayland's code of a format; `None` if it has none.
pub fn shm_format(format: vk::Format, alpha: vk::CompositeAlphaFlagsKHR) -> Option<u32> {
    let (_, [opaque, blended]) = SHM_FORMATS.iter().find(|(known, _)| *known == format)?;
    Some(if alpha == vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED { *blended } else { *opaque })
}

impl Surface {
    fn new(target: SurfaceTarget) -> Surface {
        Surface { target, owner: AtomicU64::new(0), color_spaces: &COLOR_SPACES[..1] }
    }

    /// Enables the color spaces of VK_EXT_swapchain_colorspace if `more` is set.
    pub fn with_more_color_spaces(mut self, more: bool) -> Surface {
        self.color_spaces = if more { &COLOR_SPACES } else { &COLOR_SPACES[..1] };
        self
    }

    /// `vkCreateHeadlessSurfaceEXT`.
    pub fn headless() -> Surface {
        Surface::new(SurfaceTarget::Headless)
    }

    /// `vkCreateWaylandSurfaceKHR`. Uses the connection at the first query.
    #[cfg(unix)]
    pub fn wayland(target: WaylandTarget) -> Surface {
        Surface::new(SurfaceTarget::Wayland(WaylandWindow::new(target).map(Box::new)))
    }

    /// Returns the window of a Wayland surface; `None` for other surfaces.
    pub fn wayland_window(&self) -> Option<&WaylandWindow> {
        match &self.target {
            SurfaceTarget::Wayland(window) => window.as_deref(),
            _ => None,
        }
    }

    /// `vkDestroySurfaceKHR`: the application's connection is not used any more, even if other
    /// objects still refer to the surface.
    pub fn close(&self) {
        if let Some(window) = self.wayland_window() {
            window.close();
        }
    }

    /// Makes a surface for a window of X11 or Windows. It connects at the first query; a failure is
    /// reported by a message.
    pub fn of_window(messages: Arc<Messages>, id: WindowId) -> Surface {
        let target = WindowTarget { messages, id, connection: Mutex::new(WindowConnection::Closed) };
        Surface::new(SurfaceTarget::Window(Box::new(target)))
    }

    /// Runs `operation` on the window that gets copies of images; `None` for other surfaces.
    fn with_window<R>(
        &self,
        operation: impl FnOnce(&mut NativeWindow) -> Result<R, WindowError>,
    ) -> Result<Option<R>, vk::Result> {
        let SurfaceTarget::Window(target) = &self.target else { return Ok(None) };
        let mut connection = target.connection.lock();
        // (The connection is unlocked before the application's callback runs, so that no thread
        // waits for it.)
        let lost = |error: WindowError| {
            let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR;
            target.messages.report(severity, "GRUS-surface-lost", &error.to_string(), None);
            LOST
        };
        if matches!(*connection, WindowConnection::Closed) {
            match NativeWindow::open(&target.id) {
                Ok(window) => *connection = WindowConnection::Open(Box::new(window)),
                Err(error) => {
                    drop(connection);
                    return Err(lost(error));
                }
            }
        }
        let WindowConnection::Open(window) = &mut *connection else { return Err(LOST) };
        let answer = operation(window);
        if answer.is_err() {
            *connection = WindowConnection::Lost;
        }
        drop(connection);
        answer.map(Some).map_err(lost)
    }

    /// Returns the window's size; `None` if the swapchain decides.
    pub fn extent(&self) -> Result<Option<vk::Extent2D>, vk::Result> {
        if let SurfaceTarget::Wayland(window) = &self.target {
            return Ok(window.as_ref().ok_or(LOST)?.ping().map(|()| None)?);
        }
        let extent = self.with_window(|window| window.extent())?;
        Ok(extent.map(|[width, height]| vk::Extent2D { width, height }))
    }

    /// Returns the [`extent`](Self::extent) that is known without a query; `None` also while a
    /// presentation uses the connection.
    pub fn known_extent(&self) -> Result<Option<vk::Extent2D>, vk::Result> {
        match &self.target {
            SurfaceTarget::Window(target) if target.connection.is_locked() => Ok(None),
            SurfaceTarget::Window(_) => {
                let extent = self.with_window(|window| window.known_extent())?;
                Ok(extent.map(|[width, height]| vk::Extent2D { width, height }))
            }
            SurfaceTarget::Wayland(Some(window)) => Ok(window.check().map(|()| None)?),
            _ => self.extent(),
        }
    }

    /// Shows a frame; `row(order, y, out)` writes row `y` in the window's pixel order.
    pub fn present(
        &self,
        extent: vk::Extent2D,
        scaling: Option<&Scaling>,
        mut row: impl FnMut(PixelOrder, u32, &mut [u8]),
    ) -> Result<(), vk::Result> {
        let shown = self.with_window(|window| {
            let order = window.pixel_order();
            let place = match scaling {
                Some(scaling) => {
                    let [width, height] = window.extent()?;
                    scaling.placement(extent, vk::Extent2D { width, height })
                }
                None => Placement { at: [0, 0], extent },
            };
            let at = place.at.map(|n| n.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
            // (Images and windows are smaller than 65536.)
            let size = [place.extent.width, place.extent.height].map(|n| n as u16);
            if place.extent == extent {
                return window.present(at, size, |y, out| row(order, y, out));
            }
            let mut line = vec![0; extent.width as usize * 4];
            let mut last = None;
            window.present(at, size, |y, out| {
                let from = nearest(y, place.extent.height, extent.height);
                if last != Some(from) {
                    row(order, from, &mut line);
                    last = Some(from);
                }
                stretch(&line, out);
            })
        });
        shown.map(|_| ())
    }

    /// `vkGetPhysicalDeviceSurfacePresentModesKHR`.
    pub fn present_modes(&self) -> &'static [vk::PresentModeKHR] {
        // A compositor shows whole frames.
        if matches!(self.target, SurfaceTarget::Wayland(_)) { &PRESENT_MODES[..2] } else { &PRESENT_MODES }
    }

    /// `supportedCompositeAlpha`.
    pub fn composite_alpha(&self) -> vk::CompositeAlphaFlagsKHR {
        let opaque = vk::CompositeAlphaFlagsKHR::OPAQUE;
        if matches!(self.target, SurfaceTarget::Wayland(_)) {
            opaque | vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED
        } else {
            opaque
        }
    }

    /// `VkSurfaceCapabilitiesKHR`.
    pub fn capabilities(&self) -> Result<vk::SurfaceCapabilitiesKHR, vk::Result> {
        let window = self.extent()?;
        Ok(vk::SurfaceCapabilitiesKHR {
            min_image_count: MIN_IMAGES,
            max_image_count: 0,
            current_extent: window.unwrap_or(EXTENT_BY_SWAPCHAIN),
            min_image_extent: window.unwrap_or(MIN_EXTENT),
            max_image_extent: window.unwrap_or(MAX_EXTENT),
            max_image_array_layers: 1,
            supported_transforms: vk::SurfaceTransformFlagsKHR::IDENTITY,
            current_transform: vk::SurfaceTransformFlagsKHR::IDENTITY,
            supported_composite_alpha: self.composite_alpha(),
            supported_usage_flags: USAGES,
        })
    }

    /// Returns the formats; those in the window's own order come first.
    pub fn formats(&self) -> Result<Vec<vk::SurfaceFormatKHR>, vk::Result> {
        let formats = match &self.target {
            SurfaceTarget::Wayland(window) => {
                let taken = window.as_ref().ok_or(LOST)?.formats()?;
                let rows = SHM_FORMATS.iter().filter(|(_, names)| names.iter().all(|name| taken.contains(name)));
                rows.map(|(format, _)| *format).collect()
            }
            _ => {
                let order = self.with_window(|window| Ok(window.pixel_order()))?.unwrap_or(PixelOrder::Bgra);
                let mut formats = FORMATS.to_vec();
                formats.sort_by_key(|f| pixel_order_of(*f) != order);
                formats
            }
        };
        let all = self
            .color_spaces
            .iter()
            .flat_map(|&color_space| formats.iter().map(move |&format| vk::SurfaceFormatKHR { format, color_space }));
        Ok(all.collect())
    }

    /// Makes a swapchain the surface's owner.
    ///
    /// # Errors
    /// VK_ERROR_NATIVE_WINDOW_IN_USE_KHR: another swapchain than `old` owns the surface.
    pub fn acquire_ownership(&self, new: u64, old: u64) -> Result<(), vk::Result> {
        let owner = self.owner.load(Ordering::Acquire);
        let free = owner == 0 || owner == old;
        let taken = free && self.owner.compare_exchange(owner, new, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if taken { Ok(()) } else { Err(vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR) }
    }

    /// Releases the surface of a swapchain that is destroyed or retired.
    pub fn release(&self, swapchain: u64) {
        // If another swapchain owns the surface, it stays the owner.
        let _ = self.owner.compare_exchange(swapchain, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Returns true if the swapchain owns the surface.
    pub fn is_owner(&self, swapchain: u64) -> bool {
        self.owner.load(Ordering::Acquire) == swapchain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headless_leaves_the_extent_to_the_swapchain() {
        let surface = Surface::headless();
        let caps = surface.capabilities().unwrap();
        assert_eq!(caps.current_extent, EXTENT_BY_SWAPCHAIN);
        assert!(caps.min_image_count >= 1 && caps.max_image_extent.width == MAX_DIMENSION);
        assert_eq!(surface.formats().unwrap()[0].format, vk::Format::B8G8R8A8_UNORM);
        surface.present(vk::Extent2D { width: 4, height: 4 }, None, |_, _, _| unreachable!("nothing to see")).unwrap();
    }

    #[test]
    fn a_surface_has_one_owner_at_a_time() {
        let surface = Surface::headless();
        surface.acquire_ownership(1, 0).unwrap();
        assert_eq!(surface.acquire_ownership(2, 0), Err(vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR));
        surface.acquire_ownership(2, 1).unwrap();
        surface.release(1);
        assert!(surface.is_owner(2));
        surface.release(2);
        surface.acquire_ownership(3, 0).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn no_server_is_a_lost_surface_and_not_a_hang() {
        let surface = Surface::of_window(Arc::default(), WindowId { display: Some(":4095".to_owned()), window: 1 });
        assert_eq!(surface.capabilities().unwrap_err(), LOST);
        assert_eq!(surface.known_extent().unwrap_err(), LOST);
    }
}
