//! Swapchains: images in the driver's memory that are acquired and presented.

use super::frame::{Frame, Listener, Rectangle, ShmBufferInfo};
use super::pacing::{Acquire, FramePacing};
use super::scaling::Scaling;
use super::surface::{Surface, USAGES, pixel_order_of, shm_format};
use super::wayland::window::Window;
use crate::caps::newer::SWAPCHAIN_CREATE_PRESENT_2;
use crate::device::Device;
use crate::ffi::handle::{self, Owned};
use crate::object::image::Image;
use crate::object::memory::Memory;
use crate::object::sync::Sync;
use crate::os::arena::AddressRequest;
use crate::os::backing::Backing;
use crate::os::descriptor::{MemoryHandleKind, OwnedHandle};
use ash::vk;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Object behind a `VkSwapchainKHR`.
pub struct Swapchain {
    surface: Arc<Surface>,
    scaling: Option<Scaling>,
    /// Number by which the surface identifies the swapchain. Handles are reused; numbers are not.
    number: u64,
    extent: vk::Extent2D,
    format: vk::Format,
    images: Vec<SwapchainImage>,
    retired: AtomicBool,
    /// True if presentations use FIFO.
    fifo: AtomicBool,
    present_state: Arc<PresentState>,
}

/// State of a swapchain's images, which code that shows them updates.
struct PresentState {
    sync: Arc<Sync>,
    pacing: Mutex<FramePacing>,
    /// VkResult of the last presentation: SUCCESS, OUT_OF_DATE or SURFACE_LOST.
    status: AtomicI32,
    /// Number (VK_KHR_present_id, VK_KHR_present_id2) of the last presentation that was shown. The
    /// field below is the number of the last presentation that was dropped.
    last_shown_id: AtomicU64,
    last_dropped_id: AtomicU64,
}

impl Listener for PresentState {
    fn image_released(&self, image: usize) {
        self.sync.notify(|| self.pacing.lock().release_shown(image, Instant::now()));
    }

    fn frame_shown(&self, id: u64) {
        self.sync.notify(|| self.last_shown_id.fetch_max(id, Ordering::AcqRel));
    }

    fn surface_lost(&self) {
        let lost = vk::Result::ERROR_SURFACE_LOST_KHR.as_raw();
        self.sync.notify(|| self.status.store(lost, Ordering::Release));
    }
}

/// Parameters of a presentation.
#[derive(Default)]
pub struct PresentRequest {
    /// Index of the image.
    pub index: u32,
    /// New present mode, which stays in effect.
    pub mode: Option<vk::PresentModeKHR>,
    /// Rectangles that differ from the previous presentation; an empty list means the whole image.
    pub damage: Vec<Rectangle>,
    /// Number of the presentation, or 0.
    pub id: u64,
    /// True if the swapchain was not out of date when the image was presented: later changes do not
    /// drop the frame.
    pub accepted: bool,
}

struct SwapchainImage {
    image: Arc<Image>,
    handle: Owned<Image>,
    memory: Arc<Memory>,
}

impl handle::Object for Surface {
    type Handle = vk::SurfaceKHR;
}

impl handle::Object for Swapchain {
    type Handle = vk::SwapchainKHR;
}

/// Largest number of images that a swapchain may request; a larger one is taken for an error.
const MAX_IMAGES: u32 = 64;

/// Returns the time between frames of FIFO: 60 Hz, or `GRUS_FIFO_HZ`; 0 there disables pacing.
fn fifo_period() -> Option<Duration> {
    let requested = std::env::var("GRUS_FIFO_HZ").ok().and_then(|hz| hz.trim().parse::<f64>().ok());
    let hz = requested.filter(|hz| hz.is_finite()).unwrap_or(60.0);
    (hz > 0.0).then(|| Duration::from_secs_f64((1.0 / hz).min(10.0)))
}

/// Returns the time between frames of a present mode.
fn period_of(mode: vk::PresentModeKHR) -> Option<Duration> {
    if is_fifo(mode) { fifo_period() } else { None }
}

fn is_fifo(mode: vk::PresentModeKHR) -> bool {
    matches!(mode, vk::PresentModeKHR::FIFO | vk::PresentModeKHR::FIFO_RELAXED)
}

impl Swapchain {
    /// Implements `vkCreateSwapchainKHR`. `old` is retired even if this fails.
    pub fn new(
        device: &Device,
        surface: Arc<Surface>,
        info: &vk::SwapchainCreateInfoKHR<'_>,
        (modes, scaling): (&[vk::PresentModeKHR], Option<&vk::SwapchainPresentScalingCreateInfoEXT<'_>>),
        old: Option<&Swapchain>,
    ) -> Result<Swapchain, vk::Result> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        surface.acquire_ownership(number, old.map_or(0, |old| old.number))?;
        if let Some(old) = old {
            old.retired.store(true, Ordering::Release);
            device.sync.notify(|| ());
        }
        let scaling = scaling.map_or(Ok(None), Scaling::new);
        let made = scaling.and_then(|scaling| {
            check(&surface, info, modes)?;
            let window = surface.wayland_window();
            let images =
                create_images(device, info, if window.is_some() { Backing::Memfd } else { Backing::default_kind() })?;
            // A compositor paces frames itself.
            let period = if window.is_some() { None } else { period_of(info.present_mode) };
            let present_state = Arc::new(PresentState {
                sync: device.sync.clone(),
                pacing: Mutex::new(FramePacing::new(images.len(), period, Instant::now())),
                status: AtomicI32::new(vk::Result::SUCCESS.as_raw()),
                last_shown_id: AtomicU64::new(0),
                last_dropped_id: AtomicU64::new(0),
            });
            if let Some(window) = window {
                add_to_window(window, number, &images, info, present_state.clone())?;
            }
            Ok((scaling, images, present_state))
        });
        let (scaling, images, present_state) = made.inspect_err(|_| surface.release(number))?;
        Ok(Swapchain {
            surface,
            scaling,
            number,
            extent: info.image_extent,
            format: info.image_format,
            images,
            retired: AtomicBool::new(false),
            fifo: AtomicBool::new(is_fifo(info.present_mode)),
            present_state,
        })
    }

    /// Returns the handles of the images.
    pub fn images(&self) -> Vec<vk::Image> {
        self.images.iter().map(|i| i.handle.get()).collect()
    }

    /// Returns the result of an acquisition or presentation before it does anything: SUCCESS,
    /// OUT_OF_DATE or SURFACE_LOST.
    pub fn status(&self) -> vk::Result {
        match self.present_state.status() {
            vk::Result::SUCCESS if self.retired.load(Ordering::Acquire) || !self.surface.is_owner(self.number) => {
                vk::Result::ERROR_OUT_OF_DATE_KHR
            }
            status => status,
        }
    }

    /// Returns the result of an acquisition before it does anything. A changed window size is
    /// reported only if the application has no image, or presents one. An application that acquires
    /// several images in a row therefore learns of it before the first one, regardless of when an
    /// earlier presentation detects it.
    fn refusal(&self) -> vk::Result {
        let resized = self.present_state.status() == vk::Result::ERROR_OUT_OF_DATE_KHR;
        let retired = self.retired.load(Ordering::Acquire) || !self.surface.is_owner(self.number);
        if resized && !retired && self.present_state.pacing.lock().has_acquired() {
            vk::Result::SUCCESS
        } else {
            self.status()
        }
    }

    /// Notes the observed state of the window: a swapchain of another size is out of date, unless
    /// its scaling defines the result.
    fn note_window(&self, extent: Result<Option<vk::Extent2D>, vk::Result>) {
        let found = match extent {
            Ok(Some(extent)) if extent != self.extent && self.scaling.is_none() => vk::Result::ERROR_OUT_OF_DATE_KHR,
            Ok(_) => vk::Result::SUCCESS,
            Err(lost) => lost,
        };
        if found != vk::Result::SUCCESS {
            self.present_state.status.store(found.as_raw(), Ordering::Release);
        }
    }

    /// Implements `vkAcquireNextImageKHR` without signaling, and returns the image's index.
    /// `timeout` is in nanoseconds.
    pub fn acquire(&self, device: &Device, timeout: u64) -> Result<u32, vk::Result> {
        let deadline = Instant::now().checked_add(Duration::from_nanos(timeout.min(i64::MAX as u64)));
        self.note_window(self.surface.known_extent());
        match self.refusal() {
            vk::Result::SUCCESS => {}
            error => return Err(error),
        }
        let window = self.surface.wayland_window();
        let mut waits = 0;
        loop {
            let now = Instant::now();
            let found = self.present_state.pacing.lock().acquire(now);
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            let wait = match found {
                Acquire::Image(index) => return Ok(index as u32),
                _ if timeout == 0 => return Err(vk::Result::NOT_READY),
                _ if left.is_some_and(|left| left.is_zero()) => return Err(vk::Result::TIMEOUT),
                Acquire::At(at) => Some(left.map_or(at - now, |left| left.min(at - now))),
                Acquire::Later => left,
            };
            // Only this wait detects that a compositor does not answer.
            let wait = match window {
                Some(window) if waits > 0 => {
                    window.check_responding();
                    Some(wait.map_or(window.interval(), |wait| wait.min(window.interval())))
                }
                Some(window) => Some(wait.map_or(window.interval(), |wait| wait.min(window.interval()))),
                None => wait,
            };
            waits += 1;
            let nanoseconds = wait.map_or(u64::MAX, |wait| (wait.as_nanos() as u64).max(1));
            let paced = matches!(found, Acquire::At(_));
            let changed =
                || self.refusal() != vk::Result::SUCCESS || (!paced && self.present_state.pacing.lock().has_free());
            if device.sync.wait(nanoseconds, changed) == vk::Result::ERROR_DEVICE_LOST {
                return Err(vk::Result::ERROR_DEVICE_LOST);
            }
            match self.refusal() {
                vk::Result::SUCCESS => {}
                error => return Err(error),
            }
        }
    }

    /// Takes the image from the application for `vkQueuePresentKHR`. Returns false if it was not
    /// acquired.
    pub fn queue_image(&self, index: u32) -> bool {
        self.present_state.pacing.lock().queue(index as usize)
    }

    /// Implements `vkReleaseSwapchainImagesKHR`.
    pub fn release(&self, device: &Device, indices: &[u32]) {
        device.sync.notify(|| {
            let (mut pacing, now) = (self.present_state.pacing.lock(), Instant::now());
            indices.iter().for_each(|&index| pacing.release(index as usize, now));
        });
    }

    /// Shows the image and returns it to the swapchain, or leaves the return to the compositor.
    /// This runs in queue order, after the presentation's semaphores.
    pub fn present(&self, mut request: PresentRequest) {
        if let Some(mode) = request.mode {
            self.fifo.store(is_fifo(mode), Ordering::Release);
        }
        let (index, id) = (request.index as usize, request.id);
        let shown = request.accepted
            && self.present_state.status() == vk::Result::SUCCESS
            && match self.surface.wayland_window() {
                // The listener is notified when the image comes back.
                Some(window) if self.present_on(window, &mut request) => return,
                Some(_) => false,
                None => self.present_copy(&request),
            };
        let (present_state, number) = (
            &self.present_state,
            if shown { &self.present_state.last_shown_id } else { &self.present_state.last_dropped_id },
        );
        present_state.sync.notify(|| {
            number.fetch_max(id, Ordering::AcqRel);
            present_state.pacing.lock().release_shown(index, Instant::now());
        });
    }

    /// Presents the image on a compositor's window. Returns false if the surface is lost.
    fn present_on(&self, window: &Window, request: &mut PresentRequest) -> bool {
        let damage = std::mem::take(&mut request.damage);
        let frame = Frame { swapchain: self.number, image: request.index as usize, damage, id: request.id };
        let shown = window.present(frame, self.fifo.load(Ordering::Acquire)).map(|()| None);
        self.note_window(shown.map_err(vk::Result::from));
        shown.is_ok()
    }

    /// Presents a copy of the image. Returns false if there is nothing that shows it.
    fn present_copy(&self, request: &PresentRequest) -> bool {
        if let Some(mode) = request.mode {
            self.present_state.pacing.lock().set_period(period_of(mode));
        }
        let shown = self.show(request.index as usize);
        // With a scaling the extent has been queried already, and does not matter.
        let query = || if self.scaling.is_some() { Ok(None) } else { self.surface.known_extent() };
        self.note_window(shown.and_then(|()| query()));
        shown.is_ok()
    }

    /// Implements `vkWaitForPresentKHR` and `vkWaitForPresent2KHR`: waits until the presentation
    /// with a number, or a later one, has been shown. `timeout` is in nanoseconds.
    pub fn wait_for_present(&self, device: &Device, id: u64, timeout: u64) -> Result<(), vk::Result> {
        let result = || {
            let reached = |number: &AtomicU64| number.load(Ordering::Acquire) >= id;
            let present_state = &self.present_state;
            match present_state.status() {
                _ if reached(&present_state.last_shown_id) => Some(vk::Result::SUCCESS),
                vk::Result::ERROR_SURFACE_LOST_KHR => Some(vk::Result::ERROR_SURFACE_LOST_KHR),
                _ if reached(&present_state.last_dropped_id) => Some(vk::Result::ERROR_OUT_OF_DATE_KHR),
                _ => None,
            }
        };
        match device.sync.wait(timeout, || result().is_some()) {
            vk::Result::SUCCESS => result().filter(|result| *result != vk::Result::SUCCESS).map_or(Ok(()), Err),
            other => Err(other),
        }
    }

    fn show(&self, index: usize) -> Result<(), vk::Result> {
        let Some(memory) = self.images.get(index).and_then(|i| i.image.memory()) else { return Ok(()) };
        let own = pixel_order_of(self.format);
        let bytes = self.extent.width as usize * 4;
        self.surface.present(self.extent, self.scaling.as_ref(), |order, y, out| {
            let offset = memory.layout.offset(0, 0, 0, 0, [0, y, 0]) as usize;
            // SAFETY: the bytes are row `y` of the image's only level, and the image keeps its
            // memory. The application does not write an image that it has presented; if it does,
            // only the picture is wrong.
            let row = unsafe { std::slice::from_raw_parts(memory.base.add(offset), bytes) };
            copy_row(row, out, order != own);
        })
    }
}

impl PresentState {
    fn status(&self) -> vk::Result {
        vk::Result::from_raw(self.status.load(Ordering::Acquire))
    }
}

impl Drop for Swapchain {
    fn drop(&mut self) {
        self.images.iter().for_each(|image| image.image.end());
        if let Some(window) = self.surface.wayland_window() {
            window.remove(self.number);
        }
        self.surface.release(self.number);
    }
}

/// Copies a row of 8-bit RGBA or BGRA pixels with opaque alpha, and exchanges red and blue if
/// requested.
fn copy_row(row: &[u8], out: &mut [u8], exchange: bool) {
    let pixels = row.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0);
    if exchange {
        pixels.for_each(|(p, o)| *o = [p[2], p[1], p[0], 0xff]);
    } else {
        pixels.for_each(|(p, o)| *o = (u32::from_le_bytes(*p) | 0xff00_0000).to_le_bytes());
    }
}

/// The flag VK_SWAPCHAIN_CREATE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_BIT_EXT.
const SINGLE_SAMPLED: vk::SwapchainCreateFlagsKHR = vk::SwapchainCreateFlagsKHR::from_raw(1 << 8);

/// Flags with which swapchains may be created for every surface and mode. Untouched memory is not
/// committed, so an image's first use provides it with and without the flag of deferred allocation.
/// Presentations of all swapchains can have numbers.
const FLAGS: vk::SwapchainCreateFlagsKHR = vk::SwapchainCreateFlagsKHR::from_raw(
    vk::SwapchainCreateFlagsKHR::MUTABLE_FORMAT.as_raw()
        | vk::SwapchainCreateFlagsKHR::DEFERRED_MEMORY_ALLOCATION_EXT.as_raw()
        | vk::SwapchainCreateFlagsKHR::SPLIT_INSTANCE_BIND_REGIONS.as_raw()
        | SINGLE_SAMPLED.as_raw()
        | SWAPCHAIN_CREATE_PRESENT_2.as_raw(),
);

/// Flags that a surface's swapchains know (VkSwapchainFlagsSurfaceCapabilitiesEXT), including that
/// of protected images, a flag of Vulkan 1.1. Each flag has further conditions: a feature, or a
/// value of another structure about the surface. The condition of protected images is
/// VkSurfaceProtectedCapabilitiesKHR::supportsProtected, which is false. No valid swapchain
/// therefore has this flag, and one that has it is refused.
pub const KNOWN_FLAGS: vk::SwapchainCreateFlagsKHR =
    vk::SwapchainCreateFlagsKHR::from_raw(FLAGS.as_raw() | vk::SwapchainCreateFlagsKHR::PROTECTED.as_raw());

fn check(
    surface: &Surface,
    info: &vk::SwapchainCreateInfoKHR<'_>,
    modes: &[vk::PresentModeKHR],
) -> Result<(), vk::Result> {
    const REFUSED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
    let formats = surface.formats()?;
    let format = formats.iter().any(|f| f.format == info.image_format && f.color_space == info.image_color_space);
    let extent = info.image_extent;
    let fits = (1..=base::limits::MAX_DIMENSION).contains(&extent.width)
        && (1..=base::limits::MAX_DIMENSION).contains(&extent.height);
    let good = format
        && fits
        && FLAGS.contains(info.flags)
        && info.image_array_layers == 1
        && USAGES.contains(info.image_usage)
        && surface.present_modes().contains(&info.present_mode)
        && modes.iter().all(|mode| surface.present_modes().contains(mode))
        && info.min_image_count <= MAX_IMAGES;
    if good { Ok(()) } else { Err(REFUSED) }
}

fn create_images(
    device: &Device,
    info: &vk::SwapchainCreateInfoKHR<'_>,
    backing: Backing,
) -> Result<Vec<SwapchainImage>, vk::Result> {
    let count = info.min_image_count.max(super::surface::MIN_IMAGES);
    (0..count).map(|_| create_image(device, info, backing)).collect()
}

fn create_image(
    device: &Device,
    info: &vk::SwapchainCreateInfoKHR<'_>,
    backing: Backing,
) -> Result<SwapchainImage, vk::Result> {
    let image_info = image_create_info(info);
    let image = Arc::new(Image::new(&image_info)?);
    let memory = Arc::new(Memory::allocate(&device.heap, image.layout.size, backing, AddressRequest::Any)?);
    image.bind(memory.clone(), 0)?;
    Ok(SwapchainImage { handle: Owned::new(image.clone(), None)?, image, memory })
}

/// Gives a compositor the files that contain a swapchain's images.
fn add_to_window(
    window: &Window,
    number: u64,
    images: &[SwapchainImage],
    info: &vk::SwapchainCreateInfoKHR<'_>,
    present_state: Arc<PresentState>,
) -> Result<(), vk::Result> {
    let format = shm_format(info.image_format, info.composite_alpha).ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?;
    let vk::Extent2D { width, height } = info.image_extent;
    let pictures = images.iter().map(|image| {
        let row = |y| image.image.layout.offset(0, 0, 0, 0, [0, y, 0]);
        // An image of one row has the bytes of its pixels, of which each format has 4.
        let stride = if height > 1 { row(1) - row(0) } else { u64::from(width) * 4 };
        let picture =
            ShmBufferInfo { size: image.memory.size(), offset: row(0), stride, extent: [width, height], format };
        Ok((image.memory.export(MemoryHandleKind::Opaque)?, picture))
    });
    let pictures: Vec<(OwnedHandle, ShmBufferInfo)> = pictures.collect::<Result<_, vk::Result>>()?;
    let is_added = window.add(number, &pictures, present_state)?;
    if is_added { Ok(()) } else { Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY) }
}

/// Returns the create info that vkCreateSwapchainKHR specifies for its images.
fn image_create_info<'a>(info: &vk::SwapchainCreateInfoKHR<'_>) -> vk::ImageCreateInfo<'a> {
    let mutable = vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
    let single = vk::ImageCreateFlags::MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_EXT;
    let kinds = [
        (vk::SwapchainCreateFlagsKHR::MUTABLE_FORMAT, mutable),
        (vk::SwapchainCreateFlagsKHR::SPLIT_INSTANCE_BIND_REGIONS, vk::ImageCreateFlags::SPLIT_INSTANCE_BIND_REGIONS),
        (SINGLE_SAMPLED, single),
    ];
    let requested = kinds.iter().filter(|(flag, _)| info.flags.contains(*flag));
    let flags = requested.fold(vk::ImageCreateFlags::empty(), |all, (_, flags)| all | *flags);
    vk::ImageCreateInfo::default()
        .flags(flags)
        .image_type(vk::ImageType::TYPE_2D)
        .format(info.image_format)
        .extent(vk::Extent3D { width: info.image_extent.width, height: info.image_extent.height, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .tiling(vk::ImageTiling::OPTIMAL)
        .usage(info.image_usage)
}

/// Returns the memory of a swapchain's image, for vkBindImageMemory2 with
/// VkBindImageMemorySwapchainInfoKHR.
///
/// # Safety
/// `swapchain` is null or live.
pub unsafe fn swapchain_image_memory(swapchain: vk::SwapchainKHR, index: u32) -> Option<Arc<Memory>> {
    // SAFETY: `swapchain` is null or live, as the `# Safety` section requires.
    let swapchain = unsafe { handle::optional::<Swapchain>(swapchain) }?;
    swapchain.images.get(index as usize).map(|i| i.memory.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_opaque_and_in_the_windows_order() {
        let mut out = [0; 8];
        copy_row(&[1, 2, 3, 4, 5, 6, 7, 8], &mut out, false);
        assert_eq!(out, [1, 2, 3, 255, 5, 6, 7, 255]);
        copy_row(&[1, 2, 3, 4, 5, 6, 7, 8], &mut out, true);
        assert_eq!(out, [3, 2, 1, 255, 7, 6, 5, 255]);
    }
}
