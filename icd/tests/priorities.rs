//! Tests of priorities of queues and of memory, which may be requested and have no effect. Depth
//! biases of vkCmdSetDepthBias2EXT are recorded.

mod common;
use ash::vk;
use common::Context;

#[test]
fn priorities_are_taken() {
    let mut memory = vk::PhysicalDeviceMemoryPriorityFeaturesEXT::default().memory_priority(true);
    let mut pages =
        vk::PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT::default().pageable_device_local_memory(true);
    let mut bias = vk::PhysicalDeviceDepthBiasControlFeaturesEXT::default()
        .depth_bias_control(true)
        .float_representation(true)
        .depth_bias_exact(true);
    let extensions = [
        c"VK_KHR_global_priority",
        c"VK_EXT_global_priority",
        c"VK_EXT_global_priority_query",
        c"VK_EXT_memory_priority",
        c"VK_EXT_pageable_device_local_memory",
        c"VK_EXT_depth_bias_control",
        c"VK_EXT_depth_range_unrestricted",
    ];
    let c = Context::with(&[], &extensions, &mut [&mut memory, &mut pages, &mut bias]);
    let mut global = vk::QueueFamilyGlobalPriorityPropertiesKHR::default();
    let mut family = [vk::QueueFamilyProperties2::default().push_next(&mut global)];
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_queue_family_properties2(c.physical, &mut family) };
    assert!(family[0].queue_family_properties.queue_flags.contains(vk::QueueFlags::GRAPHICS));
    let listed = &global.priorities[..global.priority_count as usize];
    assert!(listed.contains(&vk::QueueGlobalPriorityKHR::MEDIUM) && listed.is_sorted(), "{listed:?}");
    let mut priority = vk::MemoryPriorityAllocateInfoEXT::default().priority(0.9);
    let info = vk::MemoryAllocateInfo::default().allocation_size(1 << 16).push_next(&mut priority);
    let pageable = ash::ext::pageable_device_local_memory::Device::new(&c.instance, &c.device);
    let control = ash::ext::depth_bias_control::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage.
    unsafe {
        let memory = c.device.allocate_memory(&info, None).expect("memory");
        (pageable.fp().set_device_memory_priority_ext)(c.device.handle(), memory, 0.1);
        c.device.free_memory(memory, None);
        c.run(|b| {
            let mut unit = vk::DepthBiasRepresentationInfoEXT::default()
                .depth_bias_representation(vk::DepthBiasRepresentationEXT::FLOAT)
                .depth_bias_exact(true);
            let bias = vk::DepthBiasInfoEXT::default().depth_bias_constant_factor(0.5).push_next(&mut unit);
            (control.fp().cmd_set_depth_bias2_ext)(b, &bias);
        })
        .expect("run");
    }
}
