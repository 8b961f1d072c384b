//! Creations of clients that other drivers accept: what each asks for is a list of extensions and features, and the queries before it.

mod common;
use ash::vk;
use common::{Context, entry};
use std::ffi::CStr;

/// The device of `extensions` and a chain of features, and what it was refused with.
fn create(extensions: &[&CStr], chain: &mut [&mut dyn common::Chain]) -> Result<(), vk::Result> {
    let entry = entry();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let names: Vec<_> = extensions.iter().map(|n| n.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    for link in chain {
        info = link.chain(info);
    }
    // SAFETY: valid usage, but for what is refused.
    unsafe {
        let surfaces = [c"VK_KHR_surface".as_ptr()];
        let instance = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&instance.enabled_extension_names(&surfaces), None).expect("instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let device = instance.create_device(physical, &info, None);
        let result = device.map(|device| device.destroy_device(None));
        instance.destroy_instance(None);
        result
    }
}

/// GTK 4.24 (`GSK_RENDERER=vulkan`): names of extensions that 1.1 and 1.2 absorbed, features in structures of 1.1, 1.2 and 1.0.
#[test]
fn gtk_4s_device() {
    let extensions = [
        c"VK_KHR_swapchain",
        c"VK_KHR_external_semaphore",
        c"VK_KHR_timeline_semaphore",
        c"VK_KHR_incremental_present",
    ];
    let core = vk::PhysicalDeviceFeatures::default().dual_src_blend(true).pipeline_statistics_query(true);
    let mut core = vk::PhysicalDeviceFeatures2::default().features(core);
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
    assert_eq!(create(&extensions, &mut [&mut core, &mut v12, &mut v11]), Ok(()));
}

/// The handle types of Linux, and those that only other systems have.
const SEMAPHORES: [vk::ExternalSemaphoreHandleTypeFlags; 3] = [
    vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD,
    vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD,
    vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_WIN32,
];
const FENCES: [vk::ExternalFenceHandleTypeFlags; 2] =
    [vk::ExternalFenceHandleTypeFlags::OPAQUE_FD, vk::ExternalFenceHandleTypeFlags::SYNC_FD];
const MEMORIES: [vk::ExternalMemoryHandleTypeFlags; 3] = [
    vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD,
    vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT,
    vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT,
];

/// Every answer is written as a whole, also over what was there, and none has a feature.
#[test]
fn no_handle_type_can_be_exported_or_imported() {
    let c = Context::new(&[], &[c"VK_KHR_external_memory", c"VK_KHR_external_semaphore", c"VK_KHR_external_fence"]);
    // SAFETY: (all here) valid usage.
    unsafe {
        for handle_type in SEMAPHORES {
            let info = vk::PhysicalDeviceExternalSemaphoreInfo::default().handle_type(handle_type);
            let all = vk::ExternalSemaphoreHandleTypeFlags::from_raw(u32::MAX);
            let mut out = vk::ExternalSemaphoreProperties::default().compatible_handle_types(all);
            out = out.external_semaphore_features(vk::ExternalSemaphoreFeatureFlags::from_raw(u32::MAX));
            c.instance.get_physical_device_external_semaphore_properties(c.physical, &info, &mut out);
            assert!(out.external_semaphore_features.is_empty() && out.compatible_handle_types.is_empty());
            assert!(out.export_from_imported_handle_types.is_empty());
        }
        for handle_type in FENCES {
            let info = vk::PhysicalDeviceExternalFenceInfo::default().handle_type(handle_type);
            let mut out = vk::ExternalFenceProperties::default();
            out = out.external_fence_features(vk::ExternalFenceFeatureFlags::from_raw(u32::MAX));
            c.instance.get_physical_device_external_fence_properties(c.physical, &info, &mut out);
            assert!(out.external_fence_features.is_empty() && out.compatible_handle_types.is_empty());
        }
        for handle_type in MEMORIES {
            let info = vk::PhysicalDeviceExternalBufferInfo::default()
                .usage(vk::BufferUsageFlags::TRANSFER_SRC)
                .handle_type(handle_type);
            let mut out = vk::ExternalBufferProperties::default();
            out.external_memory_properties.external_memory_features =
                vk::ExternalMemoryFeatureFlags::from_raw(u32::MAX);
            c.instance.get_physical_device_external_buffer_properties(c.physical, &info, &mut out);
            assert!(out.external_memory_properties.external_memory_features.is_empty());
            // "compatibleHandleTypes must include at least handleType".
            assert_eq!(out.external_memory_properties.compatible_handle_types, handle_type);
        }
    }
}

/// The structures without a handle type are what an exporting client passes when it exports nothing; with one they are refused.
#[test]
fn creations_that_would_export_are_refused_and_others_are_not() {
    let c = Context::new(&[], &[c"VK_KHR_external_memory", c"VK_KHR_external_semaphore", c"VK_KHR_external_fence"]);
    let refused = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
    // SAFETY: valid usage, but for the handle types that no query offers.
    unsafe {
        for (on, expected) in [(0, Ok(())), (1, Err(refused))] {
            let handles = vk::ExternalSemaphoreHandleTypeFlags::from_raw(
                on * vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD.as_raw(),
            );
            let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(handles);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
            let semaphore = c.device.create_semaphore(&info, None);
            assert_eq!(semaphore.map(|s| c.device.destroy_semaphore(s, None)), expected);

            let handles =
                vk::ExternalFenceHandleTypeFlags::from_raw(on * vk::ExternalFenceHandleTypeFlags::SYNC_FD.as_raw());
            let mut export = vk::ExportFenceCreateInfo::default().handle_types(handles);
            let info = vk::FenceCreateInfo::default().push_next(&mut export);
            assert_eq!(c.device.create_fence(&info, None).map(|f| c.device.destroy_fence(f, None)), expected);

            let handles =
                vk::ExternalMemoryHandleTypeFlags::from_raw(on * vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD.as_raw());
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handles);
            let info = vk::BufferCreateInfo::default().size(64).usage(vk::BufferUsageFlags::TRANSFER_SRC);
            let info = info.push_next(&mut external);
            assert_eq!(c.device.create_buffer(&info, None).map(|b| c.device.destroy_buffer(b, None)), expected);

            let handles = vk::ExternalMemoryHandleTypeFlags::from_raw(
                on * vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT.as_raw(),
            );
            let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(handles);
            let info = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_2D)
                .format(vk::Format::R8G8B8A8_UNORM)
                .extent(vk::Extent3D { width: 4, height: 4, depth: 1 })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .usage(vk::ImageUsageFlags::SAMPLED)
                .push_next(&mut external);
            assert_eq!(c.device.create_image(&info, None).map(|i| c.device.destroy_image(i, None)), expected);

            let handles =
                vk::ExternalMemoryHandleTypeFlags::from_raw(on * vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD.as_raw());
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(handles);
            let info = vk::MemoryAllocateInfo::default().allocation_size(64).push_next(&mut export);
            assert_eq!(c.device.allocate_memory(&info, None).map(|m| c.device.free_memory(m, None)), expected);
        }
    }
}
