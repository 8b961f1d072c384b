//! Command buffers below command buffers, memory that begins as zeros, and views of some slices of a volume.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;

use ash::vk;
use common::{Context, info, layers, spirv};
use pipeline::{Set, compute, run};

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;
const SAMPLED: vk::DescriptorType = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;
const COLOR: vk::ImageAspectFlags = vk::ImageAspectFlags::COLOR;

/// Secondary command buffers, each of which executes the one before and fills its own word.
fn chain(c: &Context, buffer: vk::Buffer, length: u32) -> Result<vk::CommandBuffer, vk::Result> {
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(c.pool)
        .level(vk::CommandBufferLevel::SECONDARY)
        .command_buffer_count(length);
    let inheritance = vk::CommandBufferInheritanceInfo::default();
    let begin = vk::CommandBufferBeginInfo::default().inheritance_info(&inheritance);
    // SAFETY: valid usage, but for a chain that is too long.
    unsafe {
        let buffers = c.device.allocate_command_buffers(&info).expect("buffers");
        for (i, &b) in buffers.iter().enumerate() {
            c.device.begin_command_buffer(b, &begin)?;
            if i > 0 {
                c.device.cmd_execute_commands(b, &buffers[i - 1..i]);
            }
            // After what is below: the last word that is written to place 0 is the outermost one's.
            c.device.cmd_fill_buffer(b, buffer, 0, 4, i as u32 + 1);
            c.device.cmd_fill_buffer(b, buffer, 4 * (i as u64 + 1), 4, i as u32 + 1);
            c.device.end_command_buffer(b)?;
        }
        Ok(buffers[buffers.len() - 1])
    }
}

#[test]
fn command_buffers_execute_command_buffers() {
    let mut feature = vk::PhysicalDeviceNestedCommandBufferFeaturesEXT::default()
        .nested_command_buffer(true)
        .nested_command_buffer_rendering(true)
        .nested_command_buffer_simultaneous_use(true);
    let c = Context::with(&[], &[c"VK_EXT_nested_command_buffer"], &mut [&mut feature]);
    let mut nesting = vk::PhysicalDeviceNestedCommandBufferPropertiesEXT::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut nesting);
    // SAFETY: valid usage.
    unsafe { c.instance.get_physical_device_properties2(c.physical, &mut properties) };
    let most = nesting.max_command_buffer_nesting_level;
    assert!(most >= 4);
    // One below the primary command buffer, and as many calls from secondary ones as there may be.
    let buffer = c.buffer(4 * u64::from(most + 8));
    let last = chain(&c, buffer.buffer, most + 1).expect("as deep as the limit");
    // SAFETY: valid usage.
    c.run(|b| unsafe { c.device.cmd_execute_commands(b, &[last]) }).expect("run");
    let words = buffer.words();
    assert_eq!(words[0], most + 1, "in order");
    assert_eq!(words[1..most as usize + 2], (1..=most + 1).collect::<Vec<_>>());
    // One more is refused where the primary one would execute it, two more already below.
    assert_eq!(chain(&c, buffer.buffer, most + 3).err(), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
    c.free(buffer);
}

#[test]
fn memory_begins_as_zeros() {
    // VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT is younger than ash.
    let c = Context::new(&[], &[c"VK_EXT_zero_initialize_device_memory"]);
    for round in 0..4 {
        // VK_MEMORY_ALLOCATE_ZERO_INITIALIZE_BIT_EXT.
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::from_raw(8));
        let size = (1 << 20) + (round << 16);
        let info = vk::MemoryAllocateInfo::default().allocation_size(size).push_next(&mut flags);
        // SAFETY: valid usage.
        unsafe {
            let memory = c.device.allocate_memory(&info, None).expect("memory");
            let at = c.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map");
            let bytes = std::slice::from_raw_parts_mut(at.cast::<u8>(), size as usize);
            assert!(bytes.iter().all(|b| *b == 0), "round {round}");
            bytes.fill(0xa5);
            c.device.free_memory(memory, None);
        }
    }
}

/// A volume of 8×8×4 (level 0) words with two levels.
struct Volume {
    image: vk::Image,
    memory: vk::DeviceMemory,
}

fn volume(c: &Context, flags: vk::ImageCreateFlags) -> Volume {
    let info = vk::ImageCreateInfo::default()
        .flags(flags)
        .image_type(vk::ImageType::TYPE_3D)
        .format(vk::Format::R32_UINT)
        .extent(vk::Extent3D { width: 8, height: 8, depth: 4 })
        .mip_levels(2)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(
            vk::ImageUsageFlags::STORAGE
                | vk::ImageUsageFlags::SAMPLED
                | vk::ImageUsageFlags::TRANSFER_SRC
                | vk::ImageUsageFlags::TRANSFER_DST,
        );
    // SAFETY: valid usage.
    unsafe {
        let image = c.device.create_image(&info, None).expect("image");
        let (memory, _) = c.memory(c.device.get_image_memory_requirements(image).size);
        c.device.bind_image_memory(image, memory, 0).expect("bind");
        Volume { image, memory }
    }
}

impl Volume {
    fn view(
        &self,
        c: &Context,
        ty: vk::ImageViewType,
        (level, slice): (u32, u32),
        sliced: Option<(u32, u32)>,
    ) -> Result<vk::ImageView, vk::Result> {
        let range =
            vk::ImageSubresourceRange { base_mip_level: level, base_array_layer: slice, ..info::range(COLOR, 1) };
        let mut slices = vk::ImageViewSlicedCreateInfoEXT::default();
        let mut info = vk::ImageViewCreateInfo::default()
            .image(self.image)
            .view_type(ty)
            .format(vk::Format::R32_UINT)
            .subresource_range(range);
        if let Some((offset, count)) = sliced {
            slices = slices.slice_offset(offset).slice_count(count);
            info = info.push_next(&mut slices);
        }
        // SAFETY: valid usage, or refused.
        unsafe { c.device.create_image_view(&info, None) }
    }

    /// Fills a level with words, or reads them.
    fn copy(&self, c: &Context, buffer: vk::Buffer, level: u32, to_image: bool) {
        let side = |n: u32| n >> level;
        let region = vk::BufferImageCopy::default()
            .image_subresource(layers(COLOR, level))
            .image_extent(vk::Extent3D { width: side(8), height: side(8), depth: side(4) });
        // SAFETY: valid usage.
        c.run(|b| unsafe {
            if to_image {
                c.device.cmd_copy_buffer_to_image(b, buffer, self.image, vk::ImageLayout::GENERAL, &[region]);
            } else {
                c.device.cmd_copy_image_to_buffer(b, self.image, vk::ImageLayout::GENERAL, buffer, &[region]);
            }
        })
        .expect("copy");
    }

    fn destroy(self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_image(self.image, None);
            c.device.free_memory(self.memory, None);
        }
    }
}

/// What slice 2 is read as goes to slice 1; the others stay.
#[test]
fn a_slice_of_a_volume_is_an_image() {
    let mut feature = vk::PhysicalDeviceImage2DViewOf3DFeaturesEXT::default();
    (feature.image2_d_view_of3_d, feature.sampler2_d_view_of3_d) = (vk::TRUE, vk::TRUE);
    let c = Context::with(&[], &[c"VK_EXT_image_2d_view_of_3d"], &mut [&mut feature]);
    let volume = volume(&c, vk::ImageCreateFlags::TYPE_2D_VIEW_COMPATIBLE_EXT);
    let mut texels = c.buffer(8 * 8 * 4 * 4);
    texels.fill_words(|i| i / 64 * 100_000);
    volume.copy(&c, texels.buffer, 0, true);
    let slice = |z| volume.view(&c, vk::ImageViewType::TYPE_2D, (0, z), None).expect("view");
    let views = [slice(1), slice(2)];
    let set = Set::new(&c, &[(STORAGE, 1), (SAMPLED, 1)]);
    // SAFETY: valid usage.
    let sampler = unsafe { c.device.create_sampler(&vk::SamplerCreateInfo::default(), None) }.expect("sampler");
    set.images(&c, 0, STORAGE, &[(views[0], vk::Sampler::null())]);
    set.images(&c, 1, SAMPLED, &[(views[1], sampler)]);
    let pipeline =
        compute(&c, vk::PipelineCache::null(), set.layout, &spirv(include_bytes!("data/slice.comp.spv")), &[]);
    run(&c, &set, pipeline, &[]).expect("run");
    volume.copy(&c, texels.buffer, 0, false);
    for (i, word) in (0..).zip(texels.words()) {
        let (z, at) = (i / 64, i % 64);
        assert_eq!(word, if z == 1 { 200_000 + 1000 + at } else { z * 100_000 }, "slice {z}, texel {at}");
    }
    // There is no slice 4.
    assert!(volume.view(&c, vk::ImageViewType::TYPE_2D, (0, 4), None).is_err());
    // SAFETY: valid usage.
    unsafe {
        views.into_iter().for_each(|view| c.device.destroy_image_view(view, None));
        c.device.destroy_sampler(sampler, None);
    }
    set.destroy(&c);
    c.free(texels);
    volume.destroy(&c);
}

/// Slices 1 and 2 of four: a shader counts two of them, and what it stores behind them is dropped; it samples all of them; level 1 has two, of which the rest is one.
#[test]
fn a_view_of_some_slices() {
    let mut feature = vk::PhysicalDeviceImageSlicedViewOf3DFeaturesEXT::default().image_sliced_view_of3_d(true);
    let c = Context::with(&[], &[c"VK_EXT_image_sliced_view_of_3d"], &mut [&mut feature]);
    let volume = volume(&c, vk::ImageCreateFlags::empty());
    let set = Set::new(&c, &[(STORAGE, 1), (SAMPLED, 1)]);
    // SAFETY: valid usage.
    let sampler = unsafe { c.device.create_sampler(&vk::SamplerCreateInfo::default(), None) }.expect("sampler");
    let code = spirv(include_bytes!("data/sliced.comp.spv"));
    for (level, first, count, seen) in [(0, 1, 2, 2), (1, 1, vk::REMAINING_3D_SLICES_EXT, 1)] {
        let mut texels = c.buffer(8 * 8 * 4 * 4);
        texels.fill_words(|_| 7);
        volume.copy(&c, texels.buffer, level, true);
        let view = volume.view(&c, vk::ImageViewType::TYPE_3D, (level, 0), Some((first, count))).expect("view");
        set.images(&c, 0, STORAGE, &[(view, vk::Sampler::null())]);
        set.images(&c, 1, SAMPLED, &[(view, sampler)]);
        run(&c, &set, compute(&c, vk::PipelineCache::null(), set.layout, &code, &[]), &[]).expect("run");
        volume.copy(&c, texels.buffer, level, false);
        let side = 8 >> level;
        for (i, word) in (0..side * side * (4 >> level)).zip(texels.words()) {
            let (x, y, z) = (i % side, i / side % side, i / side / side);
            let inside = (first..first + seen).contains(&z) && x < 4 && y < 4;
            let want = if inside { 1000 * (4 >> level) + 100 * seen + 10 * (z - first) + 7 } else { 7 };
            assert_eq!(word, want, "level {level}, ({x}, {y}, {z})");
        }
        // SAFETY: valid usage.
        unsafe { c.device.destroy_image_view(view, None) };
        c.free(texels);
    }
    // SAFETY: valid usage.
    unsafe { c.device.destroy_sampler(sampler, None) };
    // More than there are.
    assert!(volume.view(&c, vk::ImageViewType::TYPE_3D, (0, 0), Some((3, 2))).is_err());
    set.destroy(&c);
    volume.destroy(&c);
}
