//! Tests of a device as a group of one: commands that name instances of memory and their regions
//! are accepted, and apply to the whole.

use crate::common::{Context, Image, info, range, region};
use ash::vk;

const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

#[test]
fn an_image_of_split_instances_is_bound_whole() {
    let c = Context::new(&[], &[]);
    let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::TRANSFER_SRC;
    let flags = vk::ImageCreateFlags::SPLIT_INSTANCE_BIND_REGIONS | vk::ImageCreateFlags::ALIAS;
    let format = vk::Format::R32_UINT;
    let (ty, tiling) = (vk::ImageType::TYPE_2D, vk::ImageTiling::OPTIMAL);
    let [width, height] = [96, 40];
    // SAFETY: valid usage.
    let image = unsafe {
        let limits = c
            .instance
            .get_physical_device_image_format_properties(c.physical, format, ty, tiling, usage, flags)
            .expect("the flag is taken");
        assert!(limits.max_extent.width >= width);
        let create = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(format)
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(tiling)
            .usage(usage);
        let image = c.device.create_image(&create, None).expect("image");
        let (memory, _) = c.memory(c.device.get_image_memory_requirements(image).size);
        let whole = [vk::Rect2D { extent: vk::Extent2D { width, height }, ..Default::default() }];
        let mut group = vk::BindImageMemoryDeviceGroupInfo::default().split_instance_bind_regions(&whole);
        let bind = [vk::BindImageMemoryInfo::default().image(image).memory(memory).push_next(&mut group)];
        c.device.bind_image_memory2(&bind).expect("bound");
        Image {
            image,
            memory,
            view: vk::ImageView::null(),
            extent: [width, height],
            aspect: vk::ImageAspectFlags::COLOR,
        }
    };
    let mut texels = c.buffer(u64::from(width * height * 4));
    texels.fill_words(|i| i.wrapping_mul(0x9e37_79b9));
    c.run(|b| {
        let to = [vk::ImageMemoryBarrier::default()
            .image(image.image)
            .new_layout(GENERAL)
            .dst_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .subresource_range(range(image.aspect, 1))];
        let (top, transfer) = (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::TRANSFER);
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_set_device_mask(b, 1);
            c.device.cmd_pipeline_barrier(b, top, transfer, Default::default(), &[], &[], &to);
            c.device.cmd_copy_buffer_to_image(b, texels.buffer, image.image, GENERAL, &[region(&image)]);
        }
    })
    .expect("copy");
    assert_eq!(c.read_image(&image, 4), texels.bytes());
    c.free(texels);
    c.free_image(image);
}

#[test]
fn a_swapchain_of_split_instances_is_made() {
    let c = Context::new(&[c"VK_KHR_surface", c"VK_EXT_headless_surface"], &[c"VK_KHR_swapchain"]);
    let headless = ash::ext::headless_surface::Instance::new(&c.entry, &c.instance);
    let surfaces = ash::khr::surface::Instance::new(&c.entry, &c.instance);
    let swapchains = ash::khr::swapchain::Device::new(&c.instance, &c.device);
    // SAFETY: valid usage.
    unsafe {
        let surface = headless.create_headless_surface(&Default::default(), None).expect("surface");
        let format = surfaces.get_physical_device_surface_formats(c.physical, surface).expect("formats")[0];
        let info = info::swapchain(surface, format, 2, 8, vk::ImageUsageFlags::COLOR_ATTACHMENT)
            .flags(vk::SwapchainCreateFlagsKHR::SPLIT_INSTANCE_BIND_REGIONS);
        let swapchain = swapchains.create_swapchain(&info, None).expect("swapchain");
        assert!(swapchains.get_swapchain_images(swapchain).expect("images").len() >= 2);
        swapchains.destroy_swapchain(swapchain, None);
        surfaces.destroy_surface(surface, None);
    }
}
