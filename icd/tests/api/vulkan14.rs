//! Tests of features that Vulkan 1.4 made core: attachments with other locations that are read in
//! place, and copies by the host.

use crate::common::{Context, Image, info, layers, spirv};
use crate::pipeline::{AREA, GENERAL, Messenger, RGBA8, Set, create};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, blend_state};

const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;
const INPUT: vk::DescriptorType = vk::DescriptorType::INPUT_ATTACHMENT;
const UNUSED: u32 = vk::ATTACHMENT_UNUSED;

fn local_read_context() -> Context {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut local =
        vk::PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR::default().dynamic_rendering_local_read(true);
    let extensions = [c"VK_KHR_dynamic_rendering", c"VK_KHR_dynamic_rendering_local_read"];
    Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut [&mut rendering, &mut local])
}

/// Makes a pipeline that draws a triangle over three attachments with locations, each with its own
/// write mask.
fn three(
    c: &Context,
    fragment: &[u32],
    layout: vk::PipelineLayout,
    locations: Option<&[u32; 3]>,
    masks: [vk::ColorComponentFlags; 3],
    formats: [vk::Format; 3],
) -> vk::Pipeline {
    let vertex = spirv(include_bytes!("../data/full.vert.spv"));
    let mapping = locations
        .map(|locations| vk::RenderingAttachmentLocationInfoKHR::default().color_attachment_locations(locations));
    let desc = PipelineDesc {
        viewports: &[info::viewport(64)],
        scissors: &[info::area(64)],
        samples: ONE,
        blend: &masks.map(|mask| blend_state(None).color_write_mask(mask)),
        next: mapping.as_ref().map(|mapping| mapping as _),
        ..PipelineDesc::new(&[], layout, Target::Formats(&formats))
    };
    let code = [(vk::ShaderStageFlags::VERTEX, &vertex[..]), (vk::ShaderStageFlags::FRAGMENT, fragment)];
    create(c, &code, desc).expect("pipeline")
}

fn barrier(c: &Context, b: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
        .dst_access_mask(vk::AccessFlags::INPUT_ATTACHMENT_READ);
    let (from, to) = (vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT, vk::PipelineStageFlags::FRAGMENT_SHADER);
    // SAFETY: valid usage.
    unsafe { c.device.cmd_pipeline_barrier(b, from, to, vk::DependencyFlags::BY_REGION, &[barrier], &[], &[]) };
}

/// Checks that all pixels have this value.
fn assert_filled(c: &Context, image: &Image, pixel: [u8; 4], what: &str) {
    let bytes = c.read_image(image, 4);
    for (i, found) in bytes.as_chunks::<4>().0.iter().enumerate() {
        assert_eq!(*found, pixel, "{what}, pixel {i}");
    }
}

/// Checks that attachment 0 gets output 1, attachment 2 output 0, and attachment 1 nothing, each
/// with its own write mask. Then attachment 1 gets what is read from the others in the same render
/// pass, where they get nothing.
#[test]
fn attachments_take_other_outputs_and_are_read_in_place() {
    let c = local_read_context();
    let d = &c.device;
    let messenger = Messenger::new(&c);
    let rendering = ash::khr::dynamic_rendering::Device::new(&c.instance, d);
    let local = ash::khr::dynamic_rendering_local_read::Device::new(&c.instance, d);
    let images = [(); 3].map(|()| c.image(RGBA8, [64, 64], ONE, 1));
    let set = Set::new(&c, &[(INPUT, 1), (INPUT, 1)]);
    set.images(&c, 0, INPUT, &[(images[0].view, vk::Sampler::null())]);
    set.images(&c, 1, INPUT, &[(images[2].view, vk::Sampler::null())]);
    let (all, green) = (vk::ColorComponentFlags::RGBA, vk::ColorComponentFlags::G);
    let (write, read) = ([1, UNUSED, 0], [UNUSED, 0, UNUSED]);
    let write_code = spirv(include_bytes!("../data/locations.frag.spv"));
    let read_code = spirv(include_bytes!("../data/locations_read.frag.spv"));
    let pipelines = [
        three(&c, &write_code, set.layout, Some(&write), [green, all, all], [RGBA8; 3]),
        three(&c, &read_code, set.layout, Some(&read), [all; 3], [RGBA8; 3]),
    ];
    let attachments = images.each_ref().map(|image| {
        vk::RenderingAttachmentInfo::default()
            .image_view(image.view)
            .image_layout(vk::ImageLayout::RENDERING_LOCAL_READ_KHR)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
    });
    let info = vk::RenderingInfo::default().render_area(AREA).layer_count(1).color_attachments(&attachments);
    let indices = [1, UNUSED, 0];
    let draws = |reported: bool| {
        // SAFETY: valid usage, except for the locations if none are set.
        c.run(|b| unsafe {
            rendering.cmd_begin_rendering(b, &info);
            d.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, set.layout, 0, &[set.set], &[]);
            for (pipeline, locations) in pipelines.iter().zip([&write, &read]) {
                let mapping = vk::RenderingAttachmentLocationInfoKHR::default().color_attachment_locations(locations);
                let inputs =
                    vk::RenderingInputAttachmentIndexInfoKHR::default().color_attachment_input_indices(&indices);
                if reported {
                    local.cmd_set_rendering_attachment_locations(b, &mapping);
                    local.cmd_set_rendering_input_attachment_indices(b, &inputs);
                }
                d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, *pipeline);
                d.cmd_draw(b, 3, 1, 0, 0);
                barrier(&c, b);
            }
            rendering.cmd_end_rendering(b);
        })
        .expect("run");
    };
    draws(true);
    assert_eq!(messenger.take(), [""; 0]);
    assert_filled(&c, &images[0], [0, 153, 0, 0], "output 1, green only");
    assert_filled(&c, &images[2], [51, 102, 153, 204], "output 0");
    assert_filled(&c, &images[1], [153, 51, 153, 0], "what was read");
    // A command buffer that does not set the locations is reported, once for each draw.
    draws(false);
    let messages = messenger.take();
    assert!(messages.len() == 2 && messages.iter().all(|m| m.contains("attachment locations")), "{messages:?}");
    // SAFETY: valid usage.
    unsafe { pipelines.into_iter().for_each(|p| d.destroy_pipeline(p, None)) };
    images.into_iter().for_each(|image| c.free_image(image));
    set.destroy(&c);
}

/// Checks that a mapping ends with its render pass, and that without a list every attachment has
/// its own number.
#[test]
fn locations_are_those_of_one_render_pass() {
    let c = local_read_context();
    let d = &c.device;
    let messenger = Messenger::new(&c);
    let rendering = ash::khr::dynamic_rendering::Device::new(&c.instance, d);
    let local = ash::khr::dynamic_rendering_local_read::Device::new(&c.instance, d);
    let images = [(); 3].map(|()| c.image(RGBA8, [64, 64], ONE, 1));
    let set = Set::new(&c, &[(INPUT, 1)]);
    let all = [vk::ColorComponentFlags::RGBA; 3];
    let pipeline = three(&c, &spirv(include_bytes!("../data/locations.frag.spv")), set.layout, None, all, [RGBA8; 3]);
    let attachments = images.each_ref().map(|image| {
        vk::RenderingAttachmentInfo::default()
            .image_view(image.view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
    });
    let info = vk::RenderingInfo::default().render_area(AREA).layer_count(1).color_attachments(&attachments);
    let other = vk::RenderingAttachmentLocationInfoKHR::default().color_attachment_locations(&[2, 1, 0]);
    let none = vk::RenderingAttachmentLocationInfoKHR { color_attachment_count: 3, ..Default::default() };
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
        for (set_first, set_again) in [(true, false), (false, false), (true, true)] {
            rendering.cmd_begin_rendering(b, &info);
            if set_first {
                local.cmd_set_rendering_attachment_locations(b, &other);
            }
            if set_again {
                local.cmd_set_rendering_attachment_locations(b, &none);
            }
            if !set_first || set_again {
                d.cmd_draw(b, 3, 1, 0, 0);
            }
            rendering.cmd_end_rendering(b);
        }
    })
    .expect("run");
    assert_eq!(messenger.take(), [""; 0]);
    assert_filled(&c, &images[0], [51, 102, 153, 204], "output 0");
    assert_filled(&c, &images[2], [0; 4], "no output");
    // SAFETY: valid usage.
    unsafe { d.destroy_pipeline(pipeline, None) };
    images.into_iter().for_each(|image| c.free_image(image));
    set.destroy(&c);
}

/// Checks attachment 0, which only the rendering has, attachment 2, which only the pipeline has,
/// and attachment 1, which both have.
#[test]
fn attachments_that_a_pipeline_does_not_use() {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut unused = vk::PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT::default()
        .dynamic_rendering_unused_attachments(true);
    let extensions = [c"VK_KHR_dynamic_rendering", c"VK_EXT_dynamic_rendering_unused_attachments"];
    let c = Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut [&mut rendering, &mut unused]);
    let d = &c.device;
    let messenger = Messenger::new(&c);
    let rendering = ash::khr::dynamic_rendering::Device::new(&c.instance, d);
    let images = [(); 2].map(|()| c.image(RGBA8, [64, 64], ONE, 1));
    let set = Set::new(&c, &[(INPUT, 1)]);
    let all = [vk::ColorComponentFlags::RGBA; 3];
    let formats = [vk::Format::UNDEFINED, RGBA8, RGBA8];
    let pipeline = three(&c, &spirv(include_bytes!("../data/locations.frag.spv")), set.layout, None, all, formats);
    let clear_value = vk::ClearValue { color: vk::ClearColorValue { float32: [0.0, 0.0, 0.0, 1.0] } };
    let attachment = |view| {
        vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(clear_value)
    };
    let attachments = [images[0].view, images[1].view, vk::ImageView::null()].map(attachment);
    let info = vk::RenderingInfo::default().render_area(AREA).layer_count(1).color_attachments(&attachments);
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        rendering.cmd_begin_rendering(b, &info);
        d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
        d.cmd_draw(b, 3, 1, 0, 0);
        rendering.cmd_end_rendering(b);
    })
    .expect("run");
    assert_eq!(messenger.take(), [""; 0]);
    assert_filled(&c, &images[0], [0, 0, 0, 255], "cleared, not drawn");
    assert_filled(&c, &images[1], [255, 153, 51, 0], "output 1");
    // SAFETY: valid usage.
    unsafe { d.destroy_pipeline(pipeline, None) };
    images.into_iter().for_each(|image| c.free_image(image));
    set.destroy(&c);
}

struct HostCopy {
    c: Context,
    host: ash::ext::host_image_copy::Device,
    messenger: Messenger,
}

fn host_copy() -> HostCopy {
    let mut feature = vk::PhysicalDeviceHostImageCopyFeaturesEXT::default().host_image_copy(true);
    let c = Context::with(&[c"VK_EXT_debug_utils"], &[c"VK_EXT_host_image_copy"], &mut [&mut feature]);
    let host = ash::ext::host_image_copy::Device::new(&c.instance, &c.device);
    let messenger = Messenger::new(&c);
    HostCopy { c, host, messenger }
}

impl HostCopy {
    /// Copies memory to a box of a level of an image.
    fn write(&self, image: &Image, bytes: &[u8], row: u32, [at, size]: [[u32; 2]; 2], level: u32, memcpy: bool) {
        let region = [vk::MemoryToImageCopyEXT::default()
            .host_pointer(bytes.as_ptr().cast())
            .memory_row_length(row)
            .image_subresource(layers(image.aspect, level))
            .image_offset(vk::Offset3D { x: at[0] as i32, y: at[1] as i32, z: 0 })
            .image_extent(vk::Extent3D { width: size[0], height: size[1], depth: 1 })];
        let mut info =
            vk::CopyMemoryToImageInfoEXT::default().dst_image(image.image).dst_image_layout(GENERAL).regions(&region);
        if memcpy {
            info = info.flags(vk::HostImageCopyFlagsEXT::MEMCPY);
        }
        // SAFETY: valid usage.
        unsafe { self.host.copy_memory_to_image(&info) }.expect("copy");
    }

    /// Copies a box of a level of an image to memory.
    fn read(&self, image: &Image, bytes: &mut [u8], row: u32, [at, size]: [[u32; 2]; 2], level: u32, memcpy: bool) {
        let region = [vk::ImageToMemoryCopyEXT::default()
            .host_pointer(bytes.as_mut_ptr().cast())
            .memory_row_length(row)
            .image_subresource(layers(image.aspect, level))
            .image_offset(vk::Offset3D { x: at[0] as i32, y: at[1] as i32, z: 0 })
            .image_extent(vk::Extent3D { width: size[0], height: size[1], depth: 1 })];
        let mut info =
            vk::CopyImageToMemoryInfoEXT::default().src_image(image.image).src_image_layout(GENERAL).regions(&region);
        if memcpy {
            info = info.flags(vk::HostImageCopyFlagsEXT::MEMCPY);
        }
        // SAFETY: valid usage.
        unsafe { self.host.copy_image_to_memory(&info) }.expect("copy");
    }
}

/// Checks rows that are longer than the copied ones, in a box with its own corner; the surroundings
/// stay unchanged on both sides.
#[test]
fn host_copies_of_boxes() {
    let h = host_copy();
    let image = h.c.image(RGBA8, [20, 10], ONE, 2);
    let blank = vec![7u8; 20 * 10 * 4];
    h.write(&image, &blank, 0, [[0, 0], [20, 10]], 0, false);
    assert_eq!(h.c.read_image(&image, 4), blank);
    // 6×4 texels at (3, 2), rows of 9 texels.
    let texels: Vec<u8> = (0..9 * 4 * 4).map(|i| i as u8).collect();
    h.write(&image, &texels, 9, [[3, 2], [6, 4]], 0, false);
    let mut want = blank.clone();
    for y in 0..4 {
        want[((y + 2) * 20 + 3) * 4..][..24].copy_from_slice(&texels[y * 36..][..24]);
    }
    assert_eq!(h.c.read_image(&image, 4), want);
    // Back, between guards: the bytes behind the last row's last texel do not belong to the copy.
    let mut back = vec![0xee_u8; 9 * 4 * 4];
    h.read(&image, &mut back, 9, [[3, 2], [6, 4]], 0, false);
    for y in 0..4 {
        assert_eq!(back[y * 36..][..24], texels[y * 36..][..24], "row {y}");
        assert_eq!(back[y * 36 + 24..][..12], [0xee; 12], "behind row {y}");
    }
    // Another level has other memory.
    let level: Vec<u8> = (0..10 * 5 * 4).map(|i| (i * 3) as u8).collect();
    h.write(&image, &level, 0, [[0, 0], [10, 5]], 1, false);
    let mut back = vec![0; level.len()];
    h.read(&image, &mut back, 0, [[0, 0], [10, 5]], 1, false);
    assert_eq!((back, h.c.read_image(&image, 4)), (level, want));
    assert_eq!(h.messenger.take(), [""; 0]);
    h.c.free_image(image);
}

/// Checks a copy of a whole level in memory layout, into another image of the same kind; its size
/// is the one that the query returns.
#[test]
fn host_copies_with_memcpy_keep_the_layout() {
    let h = host_copy();
    for (format, texel) in [(vk::Format::R8_UNORM, 1), (RGBA8, 4), (vk::Format::R16G16B16A16_SFLOAT, 8)] {
        let [from, to] = [(); 2].map(|()| h.c.image(format, [21, 11], ONE, 1));
        let texels: Vec<u8> = (0..21 * 11 * texel).map(|i| (i * 7) as u8).collect();
        let all = [[0, 0], [21, 11]];
        h.write(&from, &texels, 0, all, 0, false);
        let subresource = vk::ImageSubresource { aspect_mask: from.aspect, mip_level: 0, array_layer: 0 };
        let subresource = vk::ImageSubresource2EXT::default().image_subresource(subresource);
        let mut memcpy = vk::SubresourceHostMemcpySizeEXT::default();
        let mut layout = vk::SubresourceLayout2EXT::default().push_next(&mut memcpy);
        // SAFETY: valid usage.
        unsafe { h.host.get_image_subresource_layout2(from.image, &subresource, &mut layout) };
        let size = layout.subresource_layout.size;
        assert_eq!(memcpy.size, size);
        assert!(size >= texels.len() as u64);
        let mut lying = vec![0xee; size as usize + 1];
        h.read(&from, &mut lying, 0, all, 0, true);
        assert_eq!(lying.pop(), Some(0xee), "not a byte more");
        h.write(&to, &lying, 0, all, 0, true);
        assert_eq!(h.c.read_image(&to, texel), texels, "{format:?}");
        h.c.free_image(from);
        h.c.free_image(to);
    }
    assert_eq!(h.messenger.take(), [""; 0]);
}

#[test]
fn the_host_copies_from_image_to_image() {
    let h = host_copy();
    let [from, to] = [(); 2].map(|()| h.c.image(RGBA8, [16, 16], ONE, 1));
    let texels: Vec<u8> = (0..16 * 16 * 4).map(|i| (i / 4) as u8).collect();
    h.write(&from, &texels, 0, [[0, 0], [16, 16]], 0, false);
    h.write(&to, &[0; 16 * 16 * 4], 0, [[0, 0], [16, 16]], 0, false);
    let region = [vk::ImageCopy2::default()
        .src_subresource(layers(from.aspect, 0))
        .src_offset(vk::Offset3D { x: 4, y: 5, z: 0 })
        .dst_subresource(layers(to.aspect, 0))
        .dst_offset(vk::Offset3D { x: 1, y: 2, z: 0 })
        .extent(vk::Extent3D { width: 3, height: 6, depth: 1 })];
    let info = vk::CopyImageToImageInfoEXT::default()
        .src_image(from.image)
        .src_image_layout(GENERAL)
        .dst_image(to.image)
        .dst_image_layout(GENERAL)
        .regions(&region);
    let transition = [vk::HostImageLayoutTransitionInfoEXT::default()
        .image(to.image)
        .old_layout(vk::ImageLayout::UNDEFINED)
        .new_layout(GENERAL)
        .subresource_range(info::range(to.aspect, 1))];
    // SAFETY: valid usage.
    unsafe {
        h.host.transition_image_layout(&transition).expect("transition");
        h.host.copy_image_to_image(&info).expect("copy");
    }
    let found = h.c.read_image(&to, 4);
    for (i, pixel) in found.as_chunks::<4>().0.iter().enumerate() {
        let (x, y) = (i % 16, i / 16);
        let inside = (1..4).contains(&x) && (2..8).contains(&y);
        let want = if inside { ((y + 3) * 16 + x + 3) as u8 } else { 0 };
        assert_eq!(*pixel, [want; 4], "({x}, {y})");
    }
    assert_eq!(h.messenger.take(), [""; 0]);
    h.c.free_image(from);
    h.c.free_image(to);
}

/// Checks that parts outside the image are skipped and reported, and that an image without memory
/// is refused.
#[test]
fn host_copies_stay_inside_the_image() {
    let h = host_copy();
    let image = h.c.image(RGBA8, [8, 8], ONE, 1);
    h.write(&image, &[9; 8 * 8 * 4], 0, [[0, 0], [8, 8]], 0, false);
    h.write(&image, &[1; 4 * 4 * 4], 0, [[6, 0], [4, 4]], 0, false);
    let messages = h.messenger.take();
    assert!(messages.len() == 1 && messages[0].contains("vkCopyMemoryToImage: region 0"), "{messages:?}");
    let found = h.c.read_image(&image, 4);
    for (i, pixel) in found.as_chunks::<4>().0.iter().enumerate() {
        let want = if i % 8 >= 6 && i / 8 < 4 { 1 } else { 9 };
        assert_eq!(*pixel, [want; 4], "{i}");
    }
    let info = vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(RGBA8)
        .extent(vk::Extent3D { width: 4, height: 4, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(ONE)
        .usage(vk::ImageUsageFlags::HOST_TRANSFER_EXT);
    // SAFETY: valid usage except for the missing memory.
    unsafe {
        let empty = h.c.device.create_image(&info, None).expect("image");
        let info = vk::CopyMemoryToImageInfoEXT::default().dst_image(empty).dst_image_layout(GENERAL);
        assert_eq!(h.host.copy_memory_to_image(&info), Err(vk::Result::ERROR_MEMORY_MAP_FAILED));
        h.c.device.destroy_image(empty, None);
    }
    assert_eq!(h.messenger.take().len(), 1);
    h.c.free_image(image);
}

/// Checks the two-call query of layouts, the format's feature, and that the usage has no cost.
#[test]
fn host_copy_properties_are_reported() {
    let h = host_copy();
    let query = |layouts: &mut [vk::ImageLayout]| {
        let mut properties = vk::PhysicalDeviceHostImageCopyPropertiesEXT::default();
        if !layouts.is_empty() {
            properties = properties.copy_src_layouts(layouts);
        }
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut properties);
        // SAFETY: valid usage.
        unsafe { h.c.instance.get_physical_device_properties2(h.c.physical, &mut all) };
        assert_ne!(properties.optimal_tiling_layout_uuid, [0; 16]);
        (properties.copy_src_layout_count, properties.copy_dst_layout_count)
    };
    let (src, dst) = query(&mut []);
    assert!(src > 1 && src == dst);
    let mut layouts = vec![vk::ImageLayout::UNDEFINED; src as usize + 1];
    assert_eq!(query(&mut layouts).0, src);
    assert!(layouts.contains(&GENERAL) && layouts[src as usize] == vk::ImageLayout::UNDEFINED);
    assert_eq!(query(&mut layouts[..1]).0, 1);

    let mut features = vk::FormatProperties3::default();
    let mut out = vk::FormatProperties2::default().push_next(&mut features);
    // SAFETY: valid usage.
    unsafe { h.c.instance.get_physical_device_format_properties2(h.c.physical, RGBA8, &mut out) };
    let flag = vk::FormatFeatureFlags2::HOST_IMAGE_TRANSFER_EXT;
    assert!(features.optimal_tiling_features.contains(flag) && !features.buffer_features.contains(flag));
    let mut performance = vk::HostImageCopyDevicePerformanceQueryEXT::default();
    let mut out = vk::ImageFormatProperties2::default().push_next(&mut performance);
    let requested = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(RGBA8)
        .ty(vk::ImageType::TYPE_2D)
        .usage(vk::ImageUsageFlags::HOST_TRANSFER_EXT | vk::ImageUsageFlags::SAMPLED);
    // SAFETY: valid usage.
    unsafe { h.c.instance.get_physical_device_image_format_properties2(h.c.physical, &requested, &mut out) }
        .expect("there");
    assert_eq!((performance.optimal_device_access, performance.identical_memory_layout), (vk::TRUE, vk::TRUE));
}

/// Checks that names without a suffix exist if the driver reports the version that introduced them,
/// and only then.
#[test]
fn names_of_vulkan_1_4_come_with_the_version() {
    let c = Context::new(&[], &[]);
    // SAFETY: valid usage.
    let reported = unsafe { c.instance.get_physical_device_properties(c.physical) }.api_version;
    let names = [
        c"vkMapMemory2",
        c"vkUnmapMemory2",
        c"vkGetDeviceImageSubresourceLayout",
        c"vkGetImageSubresourceLayout2",
        c"vkCopyMemoryToImage",
        c"vkCopyImageToMemory",
        c"vkCopyImageToImage",
        c"vkTransitionImageLayout",
        c"vkCmdPushDescriptorSet",
        c"vkCmdPushDescriptorSetWithTemplate",
        c"vkCmdBindDescriptorSets2",
        c"vkCmdPushConstants2",
        c"vkCmdPushDescriptorSet2",
        c"vkCmdPushDescriptorSetWithTemplate2",
        c"vkCmdSetLineStipple",
        c"vkCmdBindIndexBuffer2",
        c"vkGetRenderingAreaGranularity",
        c"vkCmdSetRenderingAttachmentLocations",
        c"vkCmdSetRenderingInputAttachmentIndices",
    ];
    for name in names {
        // SAFETY: valid usage.
        let function = unsafe { c.instance.get_device_proc_addr(c.device.handle(), name.as_ptr()) };
        assert_eq!(function.is_some(), vk::api_version_minor(reported) >= 4, "{name:?}");
    }
}
