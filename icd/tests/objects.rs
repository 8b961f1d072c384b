//! Tests of instances, devices, memory: creation, limits, leaks.

mod common;
use ash::vk::{self, Handle};
use common::{Context, entry};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, |d| d.count())
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn unknown_and_foreign_names_resolve_to_null() {
    let context = Context::new(&[], &[]);
    let device = |name: &std::ffi::CStr| {
        // SAFETY: valid usage.
        unsafe { context.instance.get_device_proc_addr(context.device.handle(), name.as_ptr()) }.is_some()
    };
    assert!(device(c"vkCmdCopyBuffer"));
    assert!(!device(c"vkCreateInstance"), "not a device command");
    assert!(!device(c"vkNoSuchCommand"));
    assert!(!device(c"vkCmdCopyBuffer2KHR"), "extension not enabled");
    assert!(!device(c"vkSetDebugUtilsObjectNameEXT"), "the instance's extension not enabled");
    assert!(!device(c"vkCmdTraceRaysKHR"), "not implemented");
    let global = |name: &std::ffi::CStr| {
        // SAFETY: valid usage.
        unsafe { context.entry.get_instance_proc_addr(vk::Instance::null(), name.as_ptr()) }.is_some()
    };
    assert!(global(c"vkCreateInstance"));
    assert!(!global(c"vkDestroyInstance"));
    let with = Context::new(&[c"VK_KHR_get_physical_device_properties2"], &[c"VK_KHR_copy_commands2"]);
    // SAFETY: valid usage.
    let function = unsafe { with.instance.get_device_proc_addr(with.device.handle(), c"vkCmdCopyBuffer2KHR".as_ptr()) };
    assert!(function.is_some());
}

#[test]
fn a_thousand_devices_do_not_grow() {
    let entry = entry();
    let before_threads = threads();
    let mut warm = 0;
    for i in 0..1000 {
        // SAFETY: valid usage.
        unsafe {
            let instance = entry.create_instance(&Default::default(), None).unwrap();
            let physical = instance.enumerate_physical_devices().unwrap()[0];
            let priorities = [1.0];
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let device = instance.create_device(physical, &info, None).unwrap();
            let queue = device.get_device_queue(0, 0);
            assert!(queue.as_raw() != 0);
            // Every tenth one works, so that its threads have to end too.
            if i % 10 == 0 {
                let fence = device.create_fence(&Default::default(), None).unwrap();
                device.queue_submit(queue, &[], fence).unwrap();
                device.wait_for_fences(&[fence], true, u64::MAX).unwrap();
                device.destroy_fence(fence, None);
            }
            device.destroy_device(None);
            instance.destroy_instance(None);
        }
        if i == 200 {
            warm = resident_kib();
        }
    }
    assert!(resident_kib() < warm + 4096, "{} KiB after {warm} KiB", resident_kib());
    // Other tests run beside this one, with a few threads each.
    assert!(threads() < before_threads + 40, "{} threads after {before_threads}", threads());
}

#[test]
fn memory_beyond_the_heap_is_refused() {
    let context = Context::new(&[], &[]);
    // SAFETY: valid usage.
    unsafe {
        let heap = context.instance.get_physical_device_memory_properties(context.physical).memory_heaps[0].size;
        let info = vk::MemoryAllocateInfo::default().allocation_size(heap + 1);
        assert_eq!(context.device.allocate_memory(&info, None), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        // Memory is committed lazily: half the heap costs nothing until it is touched.
        let info = vk::MemoryAllocateInfo::default().allocation_size(heap / 2 + 4096);
        let half = context.device.allocate_memory(&info, None).unwrap();
        assert_eq!(context.device.allocate_memory(&info, None), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        context.device.free_memory(half, None);
        let again = context.device.allocate_memory(&info, None).unwrap();
        context.device.free_memory(again, None);
    }
}

#[test]
fn unknown_extensions_and_features_are_refused() {
    let entry = entry();
    let names = [c"VK_NO_such_thing".as_ptr()];
    let info = vk::InstanceCreateInfo::default().enabled_extension_names(&names);
    // SAFETY: valid usage, except for the name.
    let result = unsafe { entry.create_instance(&info, None) };
    assert_eq!(result.err(), Some(vk::Result::ERROR_EXTENSION_NOT_PRESENT));
    let context = Context::new(&[], &[]);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    // SAFETY: valid usage.
    let result = unsafe { context.instance.create_device(context.physical, &info, None) };
    assert_eq!(result.err(), Some(vk::Result::ERROR_EXTENSION_NOT_PRESENT));
    // Each feature that the device does not have is requested alone.
    const FEATURES: usize = size_of::<vk::PhysicalDeviceFeatures>() / size_of::<vk::Bool32>();
    // SAFETY: the structure consists of its VkBool32 members (registry), and the handle is valid.
    let supported: [vk::Bool32; FEATURES] =
        unsafe { std::mem::transmute(context.instance.get_physical_device_features(context.physical)) };
    let missing = (0..FEATURES).filter(|i| supported[*i] == vk::FALSE);
    for index in missing {
        let mut features = [vk::FALSE; FEATURES];
        features[index] = vk::TRUE;
        // SAFETY: the structure consists of its VkBool32 members (registry).
        let features = unsafe { std::mem::transmute::<[vk::Bool32; FEATURES], vk::PhysicalDeviceFeatures>(features) };
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&features);
        // SAFETY: valid usage, except for the feature.
        let result = unsafe { context.instance.create_device(context.physical, &info, None) };
        assert_eq!(result.err(), Some(vk::Result::ERROR_FEATURE_NOT_PRESENT), "feature {index}");
    }
    // A feature of a structure that the driver knows, because others are left unchanged.
    let mut protected = vk::PhysicalDeviceProtectedMemoryFeatures::default().protected_memory(true);
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut protected);
    // SAFETY: valid usage, except for the feature.
    let result = unsafe { context.instance.create_device(context.physical, &info, None) };
    assert_eq!(result.err(), Some(vk::Result::ERROR_FEATURE_NOT_PRESENT));
}

#[test]
fn descriptor_pools_count_sets_and_not_descriptors() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let binding = vk::DescriptorSetLayoutBinding::default()
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .descriptor_count(3)
        .stage_flags(vk::ShaderStageFlags::COMPUTE);
    // SAFETY: valid usage.
    unsafe {
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(std::slice::from_ref(&binding));
        let layout = d.create_descriptor_set_layout(&info, None).unwrap();
        let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 7 }];
        let flags = vk::DescriptorPoolCreateFlags::FREE_DESCRIPTOR_SET;
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(3).pool_sizes(&sizes).flags(flags);
        let pool = d.create_descriptor_pool(&info, None).unwrap();
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        let first = d.allocate_descriptor_sets(&info).unwrap();
        let _second = d.allocate_descriptor_sets(&info).unwrap();
        // These are nine descriptors of seven: such an allocation may fail, and need not.
        let _third = d.allocate_descriptor_sets(&info).unwrap();
        assert_eq!(d.allocate_descriptor_sets(&info), Err(vk::Result::ERROR_OUT_OF_POOL_MEMORY));
        d.free_descriptor_sets(pool, &first).unwrap();
        d.allocate_descriptor_sets(&info).unwrap();
        d.reset_descriptor_pool(pool, Default::default()).unwrap();
        d.allocate_descriptor_sets(&info).unwrap();
        d.destroy_descriptor_pool(pool, None);
        d.destroy_descriptor_set_layout(layout, None);
    }
}

#[test]
fn pipeline_cache_header_is_the_devices() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    // SAFETY: valid usage.
    unsafe {
        let properties = context.instance.get_physical_device_properties(context.physical);
        let cache = d.create_pipeline_cache(&Default::default(), None).unwrap();
        let data = d.get_pipeline_cache_data(cache).unwrap();
        let word = |i: usize| u32::from_le_bytes(data[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!((word(0), word(1), word(2), word(3)), (32, 1, properties.vendor_id, properties.device_id));
        assert_eq!(data[16..32], properties.pipeline_cache_uuid);
        d.destroy_pipeline_cache(cache, None);
    }
}
