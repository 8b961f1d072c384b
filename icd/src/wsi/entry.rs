//! Surface and swapchain entry points.

use super::frame::Rectangle;
use super::scaling::{SUPPORTED_GRAVITY, SUPPORTED_SCALING};
use super::surface::{MAX_EXTENT, MIN_EXTENT, Surface};
use super::swapchain::{KNOWN_FLAGS, PresentRequest, Swapchain};
use crate::caps::extensions::Extension;
use crate::caps::formats::EffectiveFlags;
use crate::caps::newer;
use crate::device::Device;
use crate::device::instance::Instance;
use crate::device::queue::{Queue, QueueRef, Submission, Work};
use crate::ffi::handle::{self, dispatchable, get, optional, share};
use crate::ffi::pointer::{fill_array, find, find_mut, slice, slice_mut, write_array};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::semaphore::{Fence, Semaphore};
use ash::vk::{self, Handle};
use std::sync::Arc;

const SURFACE: Requirement = ext("VK_KHR_surface");
const SWAPCHAIN: Requirement = ext("VK_KHR_swapchain");
const CAPABILITIES2: Requirement = ext("VK_KHR_get_surface_capabilities2");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Instance,
        create_headless_surface as vk::PFN_vkCreateHeadlessSurfaceEXT,
        vkCreateHeadlessSurfaceEXT: ext("VK_EXT_headless_surface")
    ),
    row!(Instance, destroy_surface as vk::PFN_vkDestroySurfaceKHR, vkDestroySurfaceKHR: SURFACE),
    row!(
        PhysicalDevice,
        get_physical_device_surface_support as vk::PFN_vkGetPhysicalDeviceSurfaceSupportKHR,
        vkGetPhysicalDeviceSurfaceSupportKHR: SURFACE
    ),
    row!(
        PhysicalDevice,
        get_physical_device_surface_capabilities as vk::PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR,
        vkGetPhysicalDeviceSurfaceCapabilitiesKHR: SURFACE
    ),
    row!(
        PhysicalDevice,
        get_physical_device_surface_capabilities2 as vk::PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR,
        vkGetPhysicalDeviceSurfaceCapabilities2KHR: CAPABILITIES2
    ),
    row!(
        PhysicalDevice,
        get_physical_device_surface_formats as vk::PFN_vkGetPhysicalDeviceSurfaceFormatsKHR,
        vkGetPhysicalDeviceSurfaceFormatsKHR: SURFACE
    ),
    row!(
        PhysicalDevice,
        get_physical_device_surface_formats2 as vk::PFN_vkGetPhysicalDeviceSurfaceFormats2KHR,
        vkGetPhysicalDeviceSurfaceFormats2KHR: CAPABILITIES2
    ),
    row!(
        PhysicalDevice,
        get_physical_device_surface_present_modes as vk::PFN_vkGetPhysicalDeviceSurfacePresentModesKHR,
        vkGetPhysicalDeviceSurfacePresentModesKHR: SURFACE
    ),
    row!(
        PhysicalDevice,
        get_physical_device_present_rectangles as vk::PFN_vkGetPhysicalDevicePresentRectanglesKHR,
        vkGetPhysicalDevicePresentRectanglesKHR: SWAPCHAIN
    ),
    row!(Device, set_hdr_metadata as vk::PFN_vkSetHdrMetadataEXT, vkSetHdrMetadataEXT: ext("VK_EXT_hdr_metadata")),
    row!(Device, create_swapchain as vk::PFN_vkCreateSwapchainKHR, vkCreateSwapchainKHR: SWAPCHAIN),
    row!(Device, destroy_swapchain as vk::PFN_vkDestroySwapchainKHR, vkDestroySwapchainKHR: SWAPCHAIN),
    row!(Device, get_swapchain_images as vk::PFN_vkGetSwapchainImagesKHR, vkGetSwapchainImagesKHR: SWAPCHAIN),
    row!(Device, acquire_next_image as vk::PFN_vkAcquireNextImageKHR, vkAcquireNextImageKHR: SWAPCHAIN),
    row!(Device, acquire_next_image2 as vk::PFN_vkAcquireNextImage2KHR, vkAcquireNextImage2KHR: SWAPCHAIN),
    row!(
        Device,
        release_swapchain_images as vk::PFN_vkReleaseSwapchainImagesEXT,
        vkReleaseSwapchainImagesKHR: ext("VK_KHR_swapchain_maintenance1"),
        vkReleaseSwapchainImagesEXT: ext("VK_EXT_swapchain_maintenance1"),
    ),
    row!(Device, queue_present as vk::PFN_vkQueuePresentKHR, vkQueuePresentKHR: SWAPCHAIN),
    row!(Device, wait_for_present as vk::PFN_vkWaitForPresentKHR, vkWaitForPresentKHR: ext("VK_KHR_present_wait")),
    row!(Device, wait_for_present2 as newer::PFN_vkWaitForPresent2KHR, vkWaitForPresent2KHR: ext("VK_KHR_present_wait2")),
    row!(
        Device,
        get_device_group_present_capabilities as vk::PFN_vkGetDeviceGroupPresentCapabilitiesKHR,
        vkGetDeviceGroupPresentCapabilitiesKHR: SWAPCHAIN
    ),
    row!(
        Device,
        get_device_group_surface_present_modes as vk::PFN_vkGetDeviceGroupSurfacePresentModesKHR,
        vkGetDeviceGroupSurfacePresentModesKHR: SWAPCHAIN
    ),
];

/// Allocation callbacks of the application, or null.
pub(super) type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

shims! {
    fn create_headless_surface(
        instance: vk::Instance,
        _info: *const vk::HeadlessSurfaceCreateInfoEXT<'_>,
        allocator: Allocator<'_>,
        surface: *mut vk::SurfaceKHR,
    ) -> VkResult {
        *surface = create(instance, allocator, Surface::headless())?;
        Ok(())
    }

    fn destroy_surface(instance: vk::Instance, surface: vk::SurfaceKHR, allocator: Allocator<'_>) {
        if let Some(surface) = optional::<Surface>(surface) {
            surface.close();
        }
        handle::destroy::<Surface>(surface, handle::memory::<Instance>(instance, allocator));
    }

    fn get_physical_device_surface_support(
        _device: vk::PhysicalDevice,
        family: u32,
        _surface: vk::SurfaceKHR,
        supported: *mut vk::Bool32,
    ) -> VkResult {
        *supported = can_present(family).into();
        Ok(())
    }

    fn get_physical_device_surface_capabilities(
        _device: vk::PhysicalDevice,
        surface: vk::SurfaceKHR,
        out: *mut vk::SurfaceCapabilitiesKHR,
    ) -> VkResult {
        *out = get::<Surface>(surface).capabilities()?;
        Ok(())
    }

    fn get_physical_device_surface_capabilities2(
        _device: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceSurfaceInfo2KHR<'_>,
        out: *mut vk::SurfaceCapabilities2KHR<'_>,
    ) -> VkResult {
        (*out).surface_capabilities = get::<Surface>((*info).surface).capabilities()?;
        // VkSurfacePresentModeKHR has no effect, because all modes have the same scaling
        // capabilities.
        if let Some(scaling) = find_mut::<vk::SurfacePresentScalingCapabilitiesEXT<'_>>((*out).p_next) {
            scaling.supported_present_scaling = SUPPORTED_SCALING;
            (scaling.supported_present_gravity_x, scaling.supported_present_gravity_y) = (SUPPORTED_GRAVITY, SUPPORTED_GRAVITY);
            (scaling.min_scaled_image_extent, scaling.max_scaled_image_extent) = (MIN_EXTENT, MAX_EXTENT);
        }
        if let Some(flags) = find_mut::<newer::SwapchainFlagsSurfaceCapabilitiesEXT<'_>>((*out).p_next) {
            flags.swapchain_supported_flags = KNOWN_FLAGS;
        }
        if let Some(usage) = find_mut::<newer::ImageUsageFlags2CreateInfoKHR<'_>>((*out).p_next) {
            usage.usage = (*out).surface_capabilities.supported_usage_flags.as_raw().into();
        }
        if let Some(protected) = find_mut::<vk::SurfaceProtectedCapabilitiesKHR<'_>>((*out).p_next) {
            protected.supports_protected = vk::FALSE;
        }
        if let Some(id) = find_mut::<newer::SurfaceCapabilitiesPresentId2KHR<'_>>((*out).p_next) {
            id.present_id2_supported = vk::TRUE;
        }
        if let Some(wait) = find_mut::<newer::SurfaceCapabilitiesPresentWait2KHR<'_>>((*out).p_next) {
            wait.present_wait2_supported = vk::TRUE;
        }
        if let Some(compatible) = find_mut::<vk::SurfacePresentModeCompatibilityEXT<'_>>((*out).p_next) {
            let queried = find::<vk::SurfacePresentModeEXT<'_>>((*info).p_next).map(|queried| queried.present_mode);
            let modes = compatible_modes(get::<Surface>((*info).surface), queried);
            // A list that does not fit is not an error here.
            let _ = write_array(&modes, &mut compatible.present_mode_count, compatible.p_present_modes);
        }
        Ok(())
    }

    fn get_physical_device_surface_formats(
        _device: vk::PhysicalDevice,
        surface: vk::SurfaceKHR,
        count: *mut u32,
        out: *mut vk::SurfaceFormatKHR,
    ) -> VkResult {
        write_array(&get::<Surface>(surface).formats()?, count, out)
    }

    fn get_physical_device_surface_formats2(
        _device: vk::PhysicalDevice,
        info: *const vk::PhysicalDeviceSurfaceInfo2KHR<'_>,
        count: *mut u32,
        out: *mut vk::SurfaceFormat2KHR<'_>,
    ) -> VkResult {
        fill_array(&get::<Surface>((*info).surface).formats()?, count, out, |to, format| {
            to.surface_format = *format;
            Ok(())
        })
    }

    fn get_physical_device_surface_present_modes(
        _device: vk::PhysicalDevice,
        surface: vk::SurfaceKHR,
        count: *mut u32,
        out: *mut vk::PresentModeKHR,
    ) -> VkResult {
        write_array(get::<Surface>(surface).present_modes(), count, out)
    }

    fn get_physical_device_present_rectangles(
        _device: vk::PhysicalDevice,
        surface: vk::SurfaceKHR,
        count: *mut u32,
        out: *mut vk::Rect2D,
    ) -> VkResult {
        let everything = vk::Extent2D { width: i32::MAX as u32, height: i32::MAX as u32 };
        let extent = get::<Surface>(surface).extent()?.unwrap_or(everything);
        write_array(&[vk::Rect2D { offset: vk::Offset2D::default(), extent }], count, out)
    }

    fn create_swapchain(
        device: vk::Device,
        info: *const vk::SwapchainCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        swapchain: *mut vk::SwapchainKHR,
    ) -> VkResult {
        let callbacks = handle::memory::<Device>(device, allocator);
        let (device, info) = (dispatchable::<Device>(device), &*info);
        device.sync.check()?;
        let effective = EffectiveFlags::find(vk::ImageCreateFlags::empty(), info.image_usage, info.p_next);
        let image_usage = effective.ok_or(vk::Result::ERROR_INITIALIZATION_FAILED)?.usage;
        let info = &vk::SwapchainCreateInfoKHR { image_usage, ..*info };
        let old = optional::<Swapchain>(info.old_swapchain);
        let modes = find::<vk::SwapchainPresentModesCreateInfoEXT<'_>>(info.p_next);
        let modes = modes.map_or(&[][..], |modes| slice(modes.p_present_modes, modes.present_mode_count));
        let scaling = find::<vk::SwapchainPresentScalingCreateInfoEXT<'_>>(info.p_next);
        let new = Swapchain::new(device, share::<Surface>(info.surface), info, (modes, scaling), old.as_deref())?;
        *swapchain = handle::create(Arc::new(new), callbacks)?;
        Ok(())
    }

    fn destroy_swapchain(device: vk::Device, swapchain: vk::SwapchainKHR, allocator: Allocator<'_>) {
        let parent = dispatchable::<Device>(device);
        if let (Some(heaps), Some(swapchain)) = (&parent.heaps, optional::<Swapchain>(swapchain)) {
            swapchain.images().iter().for_each(|image| heaps.remove_image(&parent.heap, image.as_raw()));
        }
        handle::destroy::<Swapchain>(swapchain, handle::memory::<Device>(device, allocator));
    }

    fn get_swapchain_images(
        _device: vk::Device,
        swapchain: vk::SwapchainKHR,
        count: *mut u32,
        out: *mut vk::Image,
    ) -> VkResult {
        write_array(&get::<Swapchain>(swapchain).images(), count, out)
    }

    fn acquire_next_image(
        device: vk::Device,
        swapchain: vk::SwapchainKHR,
        timeout: u64,
        semaphore: vk::Semaphore,
        fence: vk::Fence,
        index: *mut u32,
    ) -> VkResult {
        acquire(device, swapchain, timeout, (semaphore, fence), &mut *index)
    }

    fn acquire_next_image2(
        device: vk::Device,
        info: *const vk::AcquireNextImageInfoKHR<'_>,
        index: *mut u32,
    ) -> VkResult {
        let info = &*info;
        acquire(device, info.swapchain, info.timeout, (info.semaphore, info.fence), &mut *index)
    }

    // The metadata is for displays, and for surfaces with colour spaces that the driver does not
    // support (`surface`).
    fn set_hdr_metadata(_device: vk::Device, _count: u32, _swapchains: *const vk::SwapchainKHR, _metadata: *const vk::HdrMetadataEXT<'_>) {}

    fn release_swapchain_images(device: vk::Device, info: *const vk::ReleaseSwapchainImagesInfoEXT<'_>) -> VkResult {
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let indices = slice(info.p_image_indices, info.image_index_count);
        get::<Swapchain>(info.swapchain).release(device, indices);
        Ok(())
    }

    fn queue_present(queue: vk::Queue, info: *const vk::PresentInfoKHR<'_>) -> VkResult {
        let (at, info) = (dispatchable::<QueueRef>(queue), &*info);
        let device = at.device()?;
        let waits = slice(info.p_wait_semaphores, info.wait_semaphore_count);
        let mut submission = Submission {
            waits: waits.iter().map(|s| get::<Semaphore>(*s).wait(0)).collect(),
            ..Submission::default()
        };
        let indices = slice(info.p_image_indices, info.swapchain_count);
        let results = slice_mut(info.p_results, info.swapchain_count);
        let modes = find::<vk::SwapchainPresentModeInfoEXT<'_>>(info.p_next);
        let modes = modes.map_or(&[][..], |modes| slice(modes.p_present_modes, modes.swapchain_count));
        let regions = find::<vk::PresentRegionsKHR<'_>>(info.p_next);
        let regions = regions.map_or(&[][..], |regions| slice(regions.p_regions, regions.swapchain_count));
        let ids = find::<vk::PresentIdKHR<'_>>(info.p_next).map(|ids| (ids.p_present_ids, ids.swapchain_count));
        let ids2 = || find::<newer::PresentId2KHR<'_>>(info.p_next).map(|ids| (ids.p_present_ids, ids.swapchain_count));
        let ids = ids.or_else(ids2).map_or(&[][..], |(ids, count)| slice(ids, count));
        // The fence is signaled when the images have been read or given to a compositor, and also
        // if there is no window to show them in.
        if let Some(fences) = find::<vk::SwapchainPresentFenceInfoEXT<'_>>(info.p_next) {
            let fences = slice(fences.p_fences, fences.swapchain_count).iter();
            submission.signals.extend(fences.filter_map(|f| optional::<Fence>(*f)).map(|f| f.signal()));
        }
        let mut worst = vk::Result::SUCCESS;
        for (i, swapchain) in slice(info.p_swapchains, info.swapchain_count).iter().enumerate() {
            let request = PresentRequest {
                index: indices[i],
                mode: modes.get(i).copied(),
                damage: regions.get(i).map_or_else(Vec::new, |region| damage(region)),
                id: ids.get(i).copied().unwrap_or(0),
                accepted: false,
            };
            let (result, work) = present(share::<Swapchain>(*swapchain), request);
            submission.work.extend(work);
            if let Some(out) = results.get_mut(i) {
                *out = result;
            }
            worst = if severity(result) > severity(worst) { result } else { worst };
        }
        // The submission waits for the semaphores even if nothing can be shown.
        at.queue.submit(&device, vec![submission])?;
        if worst == vk::Result::SUCCESS { Ok(()) } else { Err(worst) }
    }

    fn wait_for_present(device: vk::Device, swapchain: vk::SwapchainKHR, id: u64, timeout: u64) -> VkResult {
        get::<Swapchain>(swapchain).wait_for_present(dispatchable::<Device>(device), id, timeout)
    }

    fn wait_for_present2(
        device: vk::Device,
        swapchain: vk::SwapchainKHR,
        info: *const newer::PresentWait2InfoKHR<'_>,
    ) -> VkResult {
        let (id, timeout) = ((*info).present_id, (*info).timeout);
        get::<Swapchain>(swapchain).wait_for_present(dispatchable::<Device>(device), id, timeout)
    }

    fn get_device_group_present_capabilities(
        _device: vk::Device,
        out: *mut vk::DeviceGroupPresentCapabilitiesKHR<'_>,
    ) -> VkResult {
        (*out).present_mask = [0; vk::MAX_DEVICE_GROUP_SIZE];
        (*out).present_mask[0] = 1;
        (*out).modes = vk::DeviceGroupPresentModeFlagsKHR::LOCAL;
        Ok(())
    }

    fn get_device_group_surface_present_modes(
        _device: vk::Device,
        _surface: vk::SurfaceKHR,
        modes: *mut vk::DeviceGroupPresentModeFlagsKHR,
    ) -> VkResult {
        *modes = vk::DeviceGroupPresentModeFlagsKHR::LOCAL;
        Ok(())
    }
}

/// Returns true if a queue family exists, because the worker of any queue can show an image.
pub(super) fn can_present(family: u32) -> bool {
    (family as usize) < crate::caps::QUEUE_FAMILIES.len()
}

/// Acquires an image and signals at once, because an image is returned only after its last
/// presentation has read it.
///
/// # Safety
/// The handles are live, or null where the specification allows it.
unsafe fn acquire(
    device: vk::Device,
    swapchain: vk::SwapchainKHR,
    timeout: u64,
    (semaphore, fence): (vk::Semaphore, vk::Fence),
    index: &mut u32,
) -> Result<(), vk::Result> {
    // SAFETY: the handles are live or null, as the `# Safety` section requires.
    let (device, swapchain, semaphore, fence) = unsafe {
        (
            dispatchable::<Device>(device),
            share::<Swapchain>(swapchain),
            optional::<Semaphore>(semaphore),
            optional::<Fence>(fence),
        )
    };
    device.sync.check()?;
    *index = swapchain.acquire(device, timeout)?;
    if let Some(semaphore) = semaphore {
        semaphore.signal(0).signal_now(&device.sync);
    }
    if let Some(fence) = fence {
        fence.signal().signal_now(&device.sync);
    }
    Ok(())
}

/// Creates the handle of a surface.
///
/// # Safety
/// The instance is live, and the callbacks are null or valid.
pub(super) unsafe fn create(
    instance: vk::Instance,
    allocator: Allocator<'_>,
    surface: Surface,
) -> Result<vk::SurfaceKHR, vk::Result> {
    // SAFETY: the instance is live and the callbacks are null or valid, as the `# Safety` section
    // requires.
    let (memory, instance) =
        unsafe { (handle::memory::<Instance>(instance, allocator), dispatchable::<Instance>(instance)) };
    let more = instance.extensions.has(Extension::VK_EXT_swapchain_colorspace);
    handle::create(Arc::new(surface.with_more_color_spaces(more)), memory)
}

/// Largest number of damage rectangles; more rectangles mean the whole image.
const MAX_DAMAGE_RECTANGLES: u32 = 64;

/// Returns the rectangles that a presentation changes; an empty list means the whole image.
///
/// # Safety
/// The structure is valid.
unsafe fn damage(region: &vk::PresentRegionKHR<'_>) -> Vec<Rectangle> {
    if region.rectangle_count > MAX_DAMAGE_RECTANGLES {
        return Vec::new();
    }
    // SAFETY: the structure is valid, as the `# Safety` section requires.
    let rectangles = unsafe { slice(region.p_rectangles, region.rectangle_count) };
    let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    let rectangle = |r: &vk::RectLayerKHR| [r.offset.x, r.offset.y, number(r.extent.width), number(r.extent.height)];
    rectangles.iter().map(rectangle).collect()
}

/// Returns all modes, beginning with the queried one, because the list may be cut to one element.
fn compatible_modes(surface: &Surface, queried: Option<vk::PresentModeKHR>) -> Vec<vk::PresentModeKHR> {
    let mut modes = surface.present_modes().to_vec();
    modes.sort_by_key(|mode| Some(*mode) != queried);
    modes
}

/// Returns the result of a presentation for one swapchain, and its work in queue order.
fn present(swapchain: Arc<Swapchain>, mut request: PresentRequest) -> (vk::Result, Option<Work>) {
    let result = swapchain.status();
    request.accepted = result == vk::Result::SUCCESS;
    let queued = swapchain.queue_image(request.index);
    let work = queued.then(|| Box::new(move |_: &Device, _: &Queue| swapchain.present(request)) as Work);
    (result, work)
}

/// Ranks results, of which vkQueuePresentKHR returns the most severe one.
fn severity(result: vk::Result) -> u32 {
    match result {
        vk::Result::SUCCESS => 0,
        vk::Result::SUBOPTIMAL_KHR => 1,
        vk::Result::ERROR_OUT_OF_DATE_KHR => 2,
        _ => 3,
    }
}
