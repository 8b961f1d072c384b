//! Tests of flags of 64 bits (VK_KHR_extended_flags), which replace those of 32 bits, and of queues
//! that were created with flags.

use crate::common::{Context, entry, image_info};
use crate::pipeline::RGBA8;
use ash::vk::{self, TaggedStructure};
use std::ffi::c_void;
use std::marker::PhantomData;
use vulkan_grus::caps::newer;

/// `VkPhysicalDeviceInternallySynchronizedQueuesFeaturesKHR`, which `ash` does not know.
#[repr(C)]
struct SynchronizedQueues {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    enabled: vk::Bool32,
}

fn tagged<T: TaggedStructure>() -> vk::StructureType {
    T::STRUCTURE_TYPE
}

fn usage_flags(usage: u64) -> newer::ImageUsageFlags2CreateInfoKHR<'static> {
    let s_type = tagged::<newer::ImageUsageFlags2CreateInfoKHR<'_>>();
    newer::ImageUsageFlags2CreateInfoKHR { s_type, p_next: std::ptr::null_mut(), usage, _marker: PhantomData }
}

fn create_flags(flags: u64) -> newer::ImageCreateFlags2CreateInfoKHR<'static> {
    let s_type = tagged::<newer::ImageCreateFlags2CreateInfoKHR<'_>>();
    newer::ImageCreateFlags2CreateInfoKHR { s_type, p_next: std::ptr::null_mut(), flags, _marker: PhantomData }
}

#[test]
fn wide_flags_replace_the_others() {
    let c = Context::new(&[], &[c"VK_KHR_extended_flags"]);
    let mut formats = newer::FormatProperties4KHR {
        s_type: tagged::<newer::FormatProperties4KHR<'_>>(),
        p_next: std::ptr::null_mut(),
        linear_tiling_features: 7,
        optimal_tiling_features: 7,
        buffer_features: 7,
        _marker: PhantomData,
    };
    let mut properties = vk::FormatProperties2 { p_next: (&raw mut formats).cast(), ..Default::default() };
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_format_properties2(c.physical, RGBA8, &mut properties) };
    assert_eq!((formats.linear_tiling_features, formats.optimal_tiling_features, formats.buffer_features), (0, 0, 0));
    assert!(!properties.format_properties.optimal_tiling_features.is_empty());

    // An image of a compressed format is not rendered to, and a sparse one of several samples does
    // not exist.
    let sampled = vk::ImageUsageFlags::SAMPLED;
    let attachment = vk::ImageUsageFlags::COLOR_ATTACHMENT;
    let compressed = vk::Format::BC1_RGBA_UNORM_BLOCK;
    let query = |usage: vk::ImageUsageFlags, wide: Option<u64>, flags: Option<u64>| {
        let (mut wide_usage, wide_flags) = (usage_flags(wide.unwrap_or(0)), create_flags(flags.unwrap_or(0)));
        let mut info = vk::PhysicalDeviceImageFormatInfo2::default()
            .format(compressed)
            .ty(vk::ImageType::TYPE_2D)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage);
        if flags.is_some() {
            info.p_next = (&raw const wide_flags).cast();
        }
        if wide.is_some() {
            wide_usage.p_next = info.p_next.cast_mut();
            info.p_next = (&raw const wide_usage).cast();
        }
        let mut out = vk::ImageFormatProperties2::default();
        // SAFETY: valid usage.
        let result = unsafe { c.instance.get_physical_device_image_format_properties2(c.physical, &info, &mut out) };
        result.is_ok()
    };
    let [sampled_wide, attachment_wide] = [sampled, attachment].map(|usage| Some(u64::from(usage.as_raw())));
    assert!(query(sampled, None, None) && !query(attachment, None, None));
    assert!(query(attachment, sampled_wide, None) && !query(sampled, attachment_wide, None));
    assert!(!query(sampled, Some(1 << 40), None), "no such usage");
    assert!(query(sampled, None, Some(0)) && !query(sampled, None, Some(1 << 40)));
    // The flag VK_IMAGE_CREATE_PROTECTED_BIT is not supported.
    assert!(!query(sampled, None, Some(1 << 11)));

    // A cube has its flag only in the structure.
    let cube = create_flags(vk::ImageCreateFlags::CUBE_COMPATIBLE.as_raw().into());
    let usage = usage_flags(sampled.as_raw().into());
    let cube = newer::ImageCreateFlags2CreateInfoKHR { p_next: (&raw const usage).cast_mut().cast(), ..cube };
    let info = image_info(RGBA8, [16; 2], vk::ImageUsageFlags::empty()).array_layers(6);
    let info = vk::ImageCreateInfo { p_next: (&raw const cube).cast(), ..info };
    let image = c.image_of(&info, vk::ImageAspectFlags::COLOR);
    c.free_image(image);
    let unknown = create_flags(1 << 40);
    let info = vk::ImageCreateInfo { p_next: (&raw const unknown).cast(), ..image_info(RGBA8, [16; 2], sampled) };
    // SAFETY: the usage is valid, except for the flag.
    let refused = unsafe { c.device.create_image(&info, None) };
    assert_eq!(refused, Err(vk::Result::ERROR_FEATURE_NOT_PRESENT));
}

#[test]
fn queues_are_found_by_their_flags() {
    let entry = entry();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    let synchronized = newer::DEVICE_QUEUE_CREATE_INTERNALLY_SYNCHRONIZED;
    let none = vk::DeviceQueueCreateFlags::empty();
    // SAFETY: valid usage, apart from flags without their feature.
    unsafe {
        let instance = entry.create_instance(&info, None).expect("instance");
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let queues = [(none, &[1.0][..]), (synchronized, &[1.0, 1.0])]
            .map(|(flags, priorities)| vk::DeviceQueueCreateInfo::default().flags(flags).queue_priorities(priorities));
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let refused = instance.create_device(physical, &info, None).err();
        assert_eq!(refused, Some(vk::Result::ERROR_FEATURE_NOT_PRESENT));
        let tag = vk::StructureType::from_raw(1_000_504_000);
        let feature = SynchronizedQueues { s_type: tag, p_next: std::ptr::null_mut(), enabled: vk::TRUE };
        let names = [c"VK_KHR_internally_synchronized_queues".as_ptr()];
        let info = info.enabled_extension_names(&names);
        let info = vk::DeviceCreateInfo { p_next: (&raw const feature).cast(), ..info };
        let device = instance.create_device(physical, &info, None).expect("device");
        let queue =
            |flags, index| device.get_device_queue2(&vk::DeviceQueueInfo2::default().flags(flags).queue_index(index));
        let all = [queue(none, 0), queue(synchronized, 0), queue(synchronized, 1)];
        assert_eq!(device.get_device_queue(0, 0), all[0]);
        assert!(
            all[0] != all[1] && all[1] != all[2] && all[0] != all[2] && all.iter().all(|q| *q != vk::Queue::null())
        );
        assert_eq!([queue(none, 1), queue(synchronized, 2)], [vk::Queue::null(); 2]);
        // Threads submit to one queue without a lock of their own.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        device
                            .queue_submit(all[1], &[vk::SubmitInfo::default()], vk::Fence::null())
                            .expect("submitted");
                        device.queue_wait_idle(all[1]).expect("idle");
                    }
                });
            }
        });
        device.destroy_device(None);
        instance.destroy_instance(None);
    }
}
