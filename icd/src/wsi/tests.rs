//! Tests of swapchains on a headless surface, through the entry points as an application calls
//! them. (`wayland::tests` has those on a Wayland surface.)

use crate::caps::device_extensions;
use crate::caps::newer::{self, TaggedStructure};
use crate::entry::vk_icdGetInstanceProcAddr;
use ash::vk;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// An instance, a device and a surface.
pub(super) struct SurfaceFixture {
    pub entry: ash::Entry,
    pub instance: ash::Instance,
    pub device: ash::Device,
    pub physical: vk::PhysicalDevice,
    pub surface: vk::SurfaceKHR,
    pub surfaces: ash::khr::surface::Instance,
    pub swapchains: ash::khr::swapchain::Device,
    pub queue: vk::Queue,
}

impl SurfaceFixture {
    fn new() -> SurfaceFixture {
        SurfaceFixture::on(c"VK_EXT_headless_surface", |entry, instance| {
            let headless = ash::ext::headless_surface::Instance::new(entry, instance);
            // SAFETY: the calls follow Vulkan's valid usage rules.
            unsafe { headless.create_headless_surface(&Default::default(), None) }.unwrap()
        })
    }

    /// Makes an instance and a device with a surface of the given extension.
    pub fn on(extension: &CStr, surface: impl FnOnce(&ash::Entry, &ash::Instance) -> vk::SurfaceKHR) -> SurfaceFixture {
        let static_fn = ash::StaticFn { get_instance_proc_addr: vk_icdGetInstanceProcAddr };
        // SAFETY: this is the driver's own entry point; the calls follow Vulkan's valid usage
        // rules.
        unsafe {
            let entry = ash::Entry::from_static_fn(static_fn);
            let names = [
                c"VK_KHR_surface",
                extension,
                c"VK_KHR_get_surface_capabilities2",
                c"VK_KHR_get_physical_device_properties2",
                c"VK_EXT_surface_maintenance1",
                c"VK_EXT_swapchain_colorspace",
            ]
            .map(|name| name.as_ptr());
            let info = vk::InstanceCreateInfo::default().enabled_extension_names(&names);
            let instance = entry.create_instance(&info, None).unwrap();
            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let priorities = [1.0];
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
            let names = [
                c"VK_KHR_swapchain",
                c"VK_EXT_swapchain_maintenance1",
                c"VK_KHR_incremental_present",
                c"VK_KHR_present_id",
                c"VK_KHR_present_wait",
                c"VK_KHR_present_id2",
                c"VK_KHR_present_wait2",
            ]
            .map(|name| name.as_ptr());
            let mut present_id = vk::PhysicalDevicePresentIdFeaturesKHR::default().present_id(true);
            let mut present_wait = vk::PhysicalDevicePresentWaitFeaturesKHR::default().present_wait(true);
            let mut maintenance =
                vk::PhysicalDeviceSwapchainMaintenance1FeaturesEXT::default().swapchain_maintenance1(true);
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
            let info = info.push_next(&mut maintenance).push_next(&mut present_id).push_next(&mut present_wait);
            let device = instance.create_device(physical, &info, None).unwrap();
            let surface = surface(&entry, &instance);
            let surfaces = ash::khr::surface::Instance::new(&entry, &instance);
            let swapchains = ash::khr::swapchain::Device::new(&instance, &device);
            let queue = device.get_device_queue(0, 0);
            SurfaceFixture { entry, instance, device, physical, surface, surfaces, swapchains, queue }
        }
    }

    pub fn info(&self, mode: vk::PresentModeKHR, old: vk::SwapchainKHR) -> vk::SwapchainCreateInfoKHR<'static> {
        vk::SwapchainCreateInfoKHR::default()
            .surface(self.surface)
            .min_image_count(2)
            .image_format(vk::Format::B8G8R8A8_UNORM)
            .image_extent(vk::Extent2D { width: 64, height: 32 })
            .image_array_layers(1)
            .image_usage(vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_DST)
            .pre_transform(vk::SurfaceTransformFlagsKHR::IDENTITY)
            .composite_alpha(vk::CompositeAlphaFlagsKHR::OPAQUE)
            .present_mode(mode)
            .old_swapchain(old)
    }

    pub fn create(&self, mode: vk::PresentModeKHR, old: vk::SwapchainKHR) -> Result<vk::SwapchainKHR, vk::Result> {
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { self.swapchains.create_swapchain(&self.info(mode, old), None) }
    }

    pub fn modes(&self) -> Vec<vk::PresentModeKHR> {
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { self.surfaces.get_physical_device_surface_present_modes(self.physical, self.surface) }.unwrap()
    }

    pub fn present(&self, swapchain: vk::SwapchainKHR, index: u32, wait: &[vk::Semaphore]) -> Result<bool, vk::Result> {
        let (swapchains, indices) = ([swapchain], [index]);
        let info = vk::PresentInfoKHR::default().swapchains(&swapchains).image_indices(&indices).wait_semaphores(wait);
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { self.swapchains.queue_present(self.queue, &info) }
    }
}

impl Drop for SurfaceFixture {
    fn drop(&mut self) {
        // SAFETY: everything that was made from these objects is gone.
        unsafe {
            self.surfaces.destroy_surface(self.surface, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
        let _ = &self.entry;
    }
}

pub(super) const NONE: vk::Semaphore = vk::Semaphore::null();
pub(super) const FOREVER: u64 = u64::MAX;

#[test]
fn frames_are_presented_with_semaphores_and_fences() {
    let w = SurfaceFixture::new();
    let swapchain = w.create(vk::PresentModeKHR::IMMEDIATE, vk::SwapchainKHR::null()).unwrap();
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        assert_eq!(w.swapchains.get_swapchain_images(swapchain).unwrap().len(), 2);
        // There is one semaphore per image, because an image is reused only after its presentation
        // has waited for its semaphore.
        let semaphores = [(); 2].map(|()| w.device.create_semaphore(&Default::default(), None).unwrap());
        let fence = w.device.create_fence(&Default::default(), None).unwrap();
        for semaphore in semaphores.into_iter().cycle().take(20) {
            let (index, suboptimal) = w.swapchains.acquire_next_image(swapchain, FOREVER, semaphore, fence).unwrap();
            assert!(index < 2 && !suboptimal);
            w.device.wait_for_fences(&[fence], true, FOREVER).unwrap();
            w.device.reset_fences(&[fence]).unwrap();
            assert!(!w.present(swapchain, index, &[semaphore]).unwrap());
        }
        w.device.device_wait_idle().unwrap();
        semaphores.iter().for_each(|s| w.device.destroy_semaphore(*s, None));
        w.device.destroy_fence(fence, None);
        w.swapchains.destroy_swapchain(swapchain, None);
    }
}

#[test]
fn acquiring_too_much_times_out() {
    let w = SurfaceFixture::new();
    let swapchain = w.create(vk::PresentModeKHR::MAILBOX, vk::SwapchainKHR::null()).unwrap();
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let acquire = |timeout| w.swapchains.acquire_next_image(swapchain, timeout, NONE, vk::Fence::null());
        acquire(0).unwrap();
        acquire(0).unwrap();
        assert_eq!(acquire(0).unwrap_err(), vk::Result::NOT_READY);
        let start = Instant::now();
        assert_eq!(acquire(20_000_000).unwrap_err(), vk::Result::TIMEOUT);
        assert!(start.elapsed() >= Duration::from_millis(20));
        w.present(swapchain, 1, &[]).unwrap();
        assert_eq!(acquire(FOREVER).unwrap().0, 1);
        w.swapchains.destroy_swapchain(swapchain, None);
    }
}

#[test]
fn fifo_is_paced() {
    for mode in [vk::PresentModeKHR::FIFO, vk::PresentModeKHR::FIFO_RELAXED] {
        let w = SurfaceFixture::new();
        let swapchain = w.create(mode, vk::SwapchainKHR::null()).unwrap();
        let (start, frames) = (Instant::now(), 10);
        for _ in 0..frames {
            // SAFETY: the calls follow Vulkan's valid usage rules.
            let (index, _) =
                unsafe { w.swapchains.acquire_next_image(swapchain, FOREVER, NONE, vk::Fence::null()) }.unwrap();
            w.present(swapchain, index, &[]).unwrap();
        }
        let unpaced = std::env::var("GRUS_FIFO_HZ").is_ok();
        assert!(unpaced || start.elapsed() >= Duration::from_millis(16) * (frames - 3), "{:?}", start.elapsed());
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe {
            w.device.device_wait_idle().unwrap();
            w.swapchains.destroy_swapchain(swapchain, None);
        }
    }
}

#[test]
fn the_old_swapchain_retires() {
    let w = SurfaceFixture::new();
    let mode = vk::PresentModeKHR::IMMEDIATE;
    let old = w.create(mode, vk::SwapchainKHR::null()).unwrap();
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let in_use = w.create(mode, vk::SwapchainKHR::null());
        assert_eq!(in_use.unwrap_err(), vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR);
        let (index, _) = w.swapchains.acquire_next_image(old, FOREVER, NONE, vk::Fence::null()).unwrap();
        let new = w.create(mode, old).unwrap();
        let acquire = |s| w.swapchains.acquire_next_image(s, FOREVER, NONE, vk::Fence::null());
        assert_eq!(acquire(old).unwrap_err(), vk::Result::ERROR_OUT_OF_DATE_KHR);
        assert_eq!(w.present(old, index, &[]).unwrap_err(), vk::Result::ERROR_OUT_OF_DATE_KHR);
        acquire(new).unwrap();
        w.device.device_wait_idle().unwrap();
        w.swapchains.destroy_swapchain(old, None);
        w.swapchains.destroy_swapchain(new, None);
        let again = w.create(mode, vk::SwapchainKHR::null()).unwrap();
        w.swapchains.destroy_swapchain(again, None);
    }
}

#[test]
fn bad_requests_are_refused() {
    let w = SurfaceFixture::new();
    let good = w.info(vk::PresentModeKHR::FIFO, vk::SwapchainKHR::null());
    let bad = [
        good.image_format(vk::Format::R32_UINT),
        good.image_extent(vk::Extent2D { width: 0, height: 4 }),
        good.image_extent(vk::Extent2D { width: 1 << 20, height: 4 }),
        good.image_array_layers(2),
        good.min_image_count(100_000),
        good.present_mode(vk::PresentModeKHR::SHARED_DEMAND_REFRESH),
    ];
    for info in bad {
        // SAFETY: the structure is valid, although its content is not.
        let result = unsafe { w.swapchains.create_swapchain(&info, None) };
        assert_eq!(result.unwrap_err(), vk::Result::ERROR_INITIALIZATION_FAILED);
    }
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        assert!(w.surfaces.get_physical_device_surface_support(w.physical, 0, w.surface).unwrap());
        let modes = w.surfaces.get_physical_device_surface_present_modes(w.physical, w.surface).unwrap();
        assert!(modes.contains(&vk::PresentModeKHR::FIFO));
        let swapchain = w.swapchains.create_swapchain(&good, None).unwrap();
        w.swapchains.destroy_swapchain(swapchain, None);
    }
    assert!(!device_extensions().is_empty());
}

/// VK_SWAPCHAIN_CREATE_MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_BIT_EXT.
const SINGLE_SAMPLED: vk::SwapchainCreateFlagsKHR = vk::SwapchainCreateFlagsKHR::from_raw(1 << 8);
const PROTECTED: vk::SwapchainCreateFlagsKHR = vk::SwapchainCreateFlagsKHR::PROTECTED;

#[test]
fn presentations_signal_fences_and_change_modes() {
    let w = SurfaceFixture::new();
    let modes = [vk::PresentModeKHR::FIFO, vk::PresentModeKHR::IMMEDIATE];
    let mut all = vk::SwapchainPresentModesCreateInfoEXT::default().present_modes(&modes);
    let info = w.info(modes[0], vk::SwapchainKHR::null()).push_next(&mut all);
    let deferred = info.flags(vk::SwapchainCreateFlagsKHR::DEFERRED_MEMORY_ALLOCATION_EXT | SINGLE_SAMPLED);
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let swapchains = [w.swapchains.create_swapchain(&deferred, None).unwrap()];
        let fences = [w.device.create_fence(&Default::default(), None).unwrap()];
        let start = Instant::now();
        for _ in 0..100 {
            let (index, _) = w.swapchains.acquire_next_image(swapchains[0], FOREVER, NONE, vk::Fence::null()).unwrap();
            let (indices, immediate) = ([index], [modes[1]]);
            let mut fence = vk::SwapchainPresentFenceInfoEXT::default().fences(&fences);
            let mut mode = vk::SwapchainPresentModeInfoEXT::default().present_modes(&immediate);
            let info = vk::PresentInfoKHR::default().swapchains(&swapchains).image_indices(&indices);
            w.swapchains.queue_present(w.queue, &info.push_next(&mut fence).push_next(&mut mode)).unwrap();
            w.device.wait_for_fences(&fences, true, FOREVER).unwrap();
            w.device.reset_fences(&fences).unwrap();
        }
        assert!(start.elapsed() < Duration::from_millis(16 * 50), "paced as FIFO: {:?}", start.elapsed());
        w.device.destroy_fence(fences[0], None);
        w.swapchains.destroy_swapchain(swapchains[0], None);
    }
}

#[test]
fn acquired_images_are_released() {
    let w = SurfaceFixture::new();
    let release = ash::ext::swapchain_maintenance1::Device::new(&w.instance, &w.device);
    let old = w.create(vk::PresentModeKHR::FIFO, vk::SwapchainKHR::null()).unwrap();
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let acquire = || w.swapchains.acquire_next_image(old, 0, NONE, vk::Fence::null()).map(|(index, _)| index);
        assert_eq!((acquire(), acquire(), acquire()), (Ok(0), Ok(1), Err(vk::Result::NOT_READY)));
        let give_back = |indices: &[u32]| {
            let info = vk::ReleaseSwapchainImagesInfoEXT::default().swapchain(old).image_indices(indices);
            release.release_swapchain_images(&info).unwrap();
        };
        give_back(&[1]);
        assert_eq!(acquire(), Ok(1));
        let new = w.create(vk::PresentModeKHR::FIFO, old).unwrap();
        give_back(&[1, 0]);
        [old, new].iter().for_each(|&s| w.swapchains.destroy_swapchain(s, None));
    }
}

#[test]
fn a_surface_reports_scaling_and_compatible_modes() {
    let w = SurfaceFixture::new();
    let capabilities = ash::khr::get_surface_capabilities2::Instance::new(&w.entry, &w.instance);
    for requested in w.modes() {
        let mut mode = vk::SurfacePresentModeEXT::default().present_mode(requested);
        let info = vk::PhysicalDeviceSurfaceInfo2KHR::default().surface(w.surface).push_next(&mut mode);
        let mut room = [vk::PresentModeKHR::default(); 1];
        let mut modes = vk::SurfacePresentModeCompatibilityEXT::default().present_modes(&mut room);
        let mut scaling = vk::SurfacePresentScalingCapabilitiesEXT::default();
        let mut out = vk::SurfaceCapabilities2KHR::default().push_next(&mut modes).push_next(&mut scaling);
        let mut flags = crate::caps::newer::SwapchainFlagsSurfaceCapabilitiesEXT {
            s_type: vk::StructureType::from_raw(1_000_616_001),
            p_next: out.p_next,
            swapchain_supported_flags: vk::SwapchainCreateFlagsKHR::empty(),
            _marker: std::marker::PhantomData,
        };
        out.p_next = (&raw mut flags).cast();
        // SAFETY: the calls follow Vulkan's valid usage rules.
        unsafe { capabilities.get_physical_device_surface_capabilities2(w.physical, &info, &mut out) }.unwrap();
        assert!(flags.swapchain_supported_flags.contains(SINGLE_SAMPLED));
        // All flags of the structures are supported, except that protection has a condition that no
        // surface meets.
        assert!(flags.swapchain_supported_flags.contains(newer::SWAPCHAIN_CREATE_PRESENT_2));
        assert!(flags.swapchain_supported_flags.contains(PROTECTED));
        let protection = w.info(requested, vk::SwapchainKHR::null()).flags(PROTECTED);
        // SAFETY: the call is refused before it uses anything.
        let refused = unsafe { w.swapchains.create_swapchain(&protection, None) };
        assert_eq!(refused.err(), Some(vk::Result::ERROR_INITIALIZATION_FAILED));
        assert!(scaling.supported_present_scaling.contains(vk::PresentScalingFlagsEXT::STRETCH));
        assert_eq!((modes.present_mode_count, room[0]), (1, requested), "the asked one is among as many as fit");
    }
}

#[test]
fn presentations_can_be_waited_for_by_id() {
    let w = SurfaceFixture::new();
    let waits = ash::khr::present_wait::Device::new(&w.instance, &w.device);
    let old = w.create(vk::PresentModeKHR::MAILBOX, vk::SwapchainKHR::null()).unwrap();
    // SAFETY: the calls follow Vulkan's valid usage rules.
    unsafe {
        let wait = |id, timeout| waits.wait_for_present(old, id, timeout);
        let present = |id: u64| {
            let (index, _) = w.swapchains.acquire_next_image(old, FOREVER, NONE, vk::Fence::null()).unwrap();
            let (chains, indices, ids) = ([old], [index], [id]);
            let mut ids = vk::PresentIdKHR::default().present_ids(&ids);
            let info = vk::PresentInfoKHR::default().swapchains(&chains).image_indices(&indices).push_next(&mut ids);
            w.swapchains.queue_present(w.queue, &info)
        };
        assert_eq!(wait(1, 0), Err(vk::Result::TIMEOUT));
        present(5).unwrap();
        assert_eq!((wait(1, FOREVER), wait(5, FOREVER)), (Ok(()), Ok(())));
        assert_eq!((wait(6, 1000), present(0)), (Err(vk::Result::TIMEOUT), Ok(false)));
        // An image that was acquired before the swapchain is retired may be presented, but is not
        // shown.
        let (index, _) = w.swapchains.acquire_next_image(old, FOREVER, NONE, vk::Fence::null()).unwrap();
        let new = w.create(vk::PresentModeKHR::FIFO, old).unwrap();
        let (chains, indices, ids) = ([old], [index], [7]);
        let mut ids = vk::PresentIdKHR::default().present_ids(&ids);
        let info = vk::PresentInfoKHR::default().swapchains(&chains).image_indices(&indices).push_next(&mut ids);
        let out_of_date = vk::Result::ERROR_OUT_OF_DATE_KHR;
        assert_eq!(w.swapchains.queue_present(w.queue, &info), Err(out_of_date));
        assert_eq!((wait(7, FOREVER), wait(5, FOREVER)), (Err(out_of_date), Ok(())));
        [old, new].iter().for_each(|&s| w.swapchains.destroy_swapchain(s, None));
    }
}

/// Tests numbers of presentations by the second extension, which every surface supports.
#[test]
fn presentations_can_be_waited_for_by_id_2() {
    let w = SurfaceFixture::new();
    let capabilities = ash::khr::get_surface_capabilities2::Instance::new(&w.entry, &w.instance);
    // SAFETY: the calls follow Vulkan's valid usage rules; the structures are the extension's.
    unsafe {
        let zeros = || std::mem::zeroed::<newer::SurfaceCapabilitiesPresentWait2KHR<'_>>();
        let mut wait = newer::SurfaceCapabilitiesPresentWait2KHR {
            s_type: newer::SurfaceCapabilitiesPresentWait2KHR::STRUCTURE_TYPE,
            ..zeros()
        };
        let mut id: newer::SurfaceCapabilitiesPresentId2KHR<'_> = std::mem::zeroed();
        id.s_type = newer::SurfaceCapabilitiesPresentId2KHR::STRUCTURE_TYPE;
        id.p_next = (&raw mut wait).cast();
        let mut out = vk::SurfaceCapabilities2KHR { p_next: (&raw mut id).cast(), ..Default::default() };
        let info = vk::PhysicalDeviceSurfaceInfo2KHR::default().surface(w.surface);
        capabilities.get_physical_device_surface_capabilities2(w.physical, &info, &mut out).unwrap();
        assert_eq!((id.present_id2_supported, wait.present_wait2_supported), (vk::TRUE, vk::TRUE));

        let function = w.instance.get_device_proc_addr(w.device.handle(), c"vkWaitForPresent2KHR".as_ptr()).unwrap();
        let wait_for_present =
            std::mem::transmute::<unsafe extern "system" fn(), newer::PFN_vkWaitForPresent2KHR>(function);
        let info = w.info(vk::PresentModeKHR::FIFO, vk::SwapchainKHR::null()).flags(newer::SWAPCHAIN_CREATE_PRESENT_2);
        let swapchain = w.swapchains.create_swapchain(&info, None).unwrap();
        let wait = |present_id, timeout| {
            let mut info: newer::PresentWait2InfoKHR<'_> = std::mem::zeroed();
            info.s_type = newer::PresentWait2InfoKHR::STRUCTURE_TYPE;
            (info.present_id, info.timeout) = (present_id, timeout);
            wait_for_present(w.device.handle(), swapchain, &info)
        };
        let present = |id: u64| {
            let (index, _) = w.swapchains.acquire_next_image(swapchain, FOREVER, NONE, vk::Fence::null()).unwrap();
            let mut ids: newer::PresentId2KHR<'_> = std::mem::zeroed();
            ids.s_type = newer::PresentId2KHR::STRUCTURE_TYPE;
            (ids.swapchain_count, ids.p_present_ids) = (1, &id);
            let (chains, indices) = ([swapchain], [index]);
            let mut info = vk::PresentInfoKHR::default().swapchains(&chains).image_indices(&indices);
            info.p_next = (&raw const ids).cast();
            w.swapchains.queue_present(w.queue, &info)
        };
        assert_eq!(wait(1, 0), vk::Result::TIMEOUT);
        present(5).unwrap();
        assert_eq!(
            (wait(5, FOREVER), wait(1, 0), wait(6, 1000)),
            (vk::Result::SUCCESS, vk::Result::SUCCESS, vk::Result::TIMEOUT)
        );
        assert_eq!((present(0), wait(6, 1000)), (Ok(false), vk::Result::TIMEOUT));
        w.swapchains.destroy_swapchain(swapchain, None);
    }
}
