//! Tests of nested command buffers, zero-initialized memory, views of some slices of a volume,
//! multisampled images that shaders write, and views with a Y'CbCr conversion.

use crate::common::{Context, image_info, info, layers, range, spirv};
use crate::pipeline;
use crate::pipeline::{Set, compute, run};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;
const SAMPLED: vk::DescriptorType = vk::DescriptorType::COMBINED_IMAGE_SAMPLER;
const COLOR: vk::ImageAspectFlags = vk::ImageAspectFlags::COLOR;
const STORAGE_BUFFER: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

/// Makes secondary command buffers, each of which executes the previous one and fills its own word.
fn chain(c: &Context, buffer: vk::Buffer, length: u32) -> Result<vk::CommandBuffer, vk::Result> {
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(c.pool)
        .level(vk::CommandBufferLevel::SECONDARY)
        .command_buffer_count(length);
    let inheritance = vk::CommandBufferInheritanceInfo::default();
    let begin = vk::CommandBufferBeginInfo::default().inheritance_info(&inheritance);
    // SAFETY: valid usage, except for a chain that is too long.
    unsafe {
        let buffers = c.device.allocate_command_buffers(&info).expect("buffers");
        for (i, &b) in buffers.iter().enumerate() {
            c.device.begin_command_buffer(b, &begin)?;
            if i > 0 {
                c.device.cmd_execute_commands(b, &buffers[i - 1..i]);
            }
            // This is after the nested commands: the last word that is written at offset 0 is the
            // outermost one's.
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
    // One below the primary command buffer, and as many calls from secondary ones as allowed.
    let buffer = c.buffer(4 * u64::from(most + 8));
    let last = chain(&c, buffer.buffer, most + 1).expect("as deep as the limit");
    // SAFETY: valid usage.
    c.run(|b| unsafe { c.device.cmd_execute_commands(b, &[last]) }).expect("run");
    let words = buffer.words();
    assert_eq!(words[0], most + 1, "in order");
    assert_eq!(words[1..most as usize + 2], (1..=most + 1).collect::<Vec<_>>());
    // One more is refused if the primary one would execute it, two more already below.
    assert_eq!(chain(&c, buffer.buffer, most + 3).err(), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
    c.free(buffer);
}

#[test]
fn memory_begins_as_zeros() {
    // VkPhysicalDeviceZeroInitializeDeviceMemoryFeaturesEXT is newer than ash.
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
        // SAFETY: valid usage, or the driver refuses it.
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

/// Checks that the contents of slice 2 go to slice 1, and the others stay.
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
        compute(&c, vk::PipelineCache::null(), set.layout, &spirv(include_bytes!("../data/slice.comp.spv")), &[]);
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

/// Checks a view of slices 1 and 2 of four: a shader counts two of them, its stores behind them are
/// dropped, and it samples all of them. Level 1 has two slices, of which one remains.
#[test]
fn a_view_of_some_slices() {
    let mut feature = vk::PhysicalDeviceImageSlicedViewOf3DFeaturesEXT::default().image_sliced_view_of3_d(true);
    let c = Context::with(&[], &[c"VK_EXT_image_sliced_view_of_3d"], &mut [&mut feature]);
    let volume = volume(&c, vk::ImageCreateFlags::empty());
    let set = Set::new(&c, &[(STORAGE, 1), (SAMPLED, 1)]);
    // SAFETY: valid usage.
    let sampler = unsafe { c.device.create_sampler(&vk::SamplerCreateInfo::default(), None) }.expect("sampler");
    let code = spirv(include_bytes!("../data/sliced.comp.spv"));
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
    // More slices than there are.
    assert!(volume.view(&c, vk::ImageViewType::TYPE_3D, (0, 0), Some((3, 2))).is_err());
    set.destroy(&c);
    volume.destroy(&c);
}

/// An image of 8×8 texels and the conversion of its samplers and views. Each plane has memory of
/// its own if the image is disjoint.
struct Frame {
    format: vk::Format,
    /// Aspect, side and bytes of each plane's texels.
    planes: &'static [(vk::ImageAspectFlags, [u32; 2], usize)],
    flags: vk::ImageCreateFlags,
    model: vk::SamplerYcbcrModelConversion,
    range: vk::SamplerYcbcrRange,
    chroma: vk::ChromaLocation,
    filter: vk::Filter,
}

/// Checks storage images of four samples: each sample is a texel, a fifth is outside.
#[test]
fn samples_are_written_by_shaders() {
    let features = vk::PhysicalDeviceFeatures::default().shader_storage_image_multisample(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let c = Context::with(&[c"VK_KHR_get_physical_device_properties2"], &[], &mut [&mut features]);
    let image = c.image(vk::Format::R32_UINT, [8, 8], vk::SampleCountFlags::TYPE_4, 1);
    let buffer = c.buffer(4 * 320);
    let set = Set::new(&c, &[(STORAGE_BUFFER, 1), (STORAGE, 1)]);
    set.buffers(&c, 0, STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    set.images(&c, 1, STORAGE, &[(image.view, vk::Sampler::null())]);
    let shader = spirv(include_bytes!("../data/samples.comp.spv"));
    run(&c, &set, compute(&c, vk::PipelineCache::null(), set.layout, &shader, &[]), &[]).expect("run");
    let words = buffer.words();
    for own in 0..64 {
        let samples: [u32; 4] = std::array::from_fn(|i| words[64 * i + own]);
        let own = own as u32;
        assert_eq!(samples, [own, own + 64, own + 128 + 1000, own + 192]);
        assert_eq!(words[256 + own as usize], own + 128, "before it was added to; zeros outside");
    }
    set.destroy(&c);
    c.free(buffer);
    c.free_image(image);
}

/// Returns byte `byte` of a texel of a plane.
fn planar_byte(plane: usize, x: u32, y: u32, byte: usize) -> u8 {
    let of = |component: usize| match component {
        0 => 20 + 13 * x + 5 * y,
        1 => 90 + 10 * x,
        _ => 170 - 8 * y,
    };
    of(plane + byte) as u8
}

/// Returns the texels of 8×8 that the shader reads.
fn converted(c: &Context, frame: &Frame) -> Vec<[f32; 4]> {
    let d = &c.device;
    let conversion = vk::SamplerYcbcrConversionCreateInfo::default()
        .format(frame.format)
        .ycbcr_model(frame.model)
        .ycbcr_range(frame.range)
        .x_chroma_offset(frame.chroma)
        .y_chroma_offset(frame.chroma)
        .chroma_filter(frame.filter);
    let info = vk::ImageCreateInfo::default()
        .flags(frame.flags)
        .image_type(vk::ImageType::TYPE_2D)
        .format(frame.format)
        .extent(vk::Extent3D { width: 8, height: 8, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST);
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    // SAFETY: valid usage.
    unsafe {
        let conversion = d.create_sampler_ycbcr_conversion(&conversion, None).expect("conversion");
        let mut own = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let sampler = vk::SamplerCreateInfo::default()
            .mag_filter(frame.filter)
            .min_filter(frame.filter)
            .address_mode_u(edge)
            .address_mode_v(edge)
            .address_mode_w(edge)
            .push_next(&mut own);
        let sampler = d.create_sampler(&sampler, None).expect("sampler");
        let image = d.create_image(&info, None).expect("image");
        let mut memories = Vec::new();
        if frame.flags.contains(vk::ImageCreateFlags::DISJOINT) {
            // The last plane comes first in memory.
            for (aspect, ..) in frame.planes.iter().rev() {
                let mut plane = vk::ImagePlaneMemoryRequirementsInfo::default().plane_aspect(*aspect);
                let requested = vk::ImageMemoryRequirementsInfo2::default().image(image).push_next(&mut plane);
                let mut requirements = vk::MemoryRequirements2::default();
                d.get_image_memory_requirements2(&requested, &mut requirements);
                let (memory, _) = c.memory(requirements.memory_requirements.size + 256);
                let mut plane = vk::BindImagePlaneMemoryInfo::default().plane_aspect(*aspect);
                let bind = vk::BindImageMemoryInfo::default().image(image).memory(memory).memory_offset(256);
                d.bind_image_memory2(&[bind.push_next(&mut plane)]).expect("bind");
                memories.push(memory);
            }
        } else {
            memories.push(c.memory(d.get_image_memory_requirements(image).size).0);
            d.bind_image_memory(image, memories[0], 0).expect("bind");
        }
        let mut own = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let view = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(frame.format)
            .subresource_range(info::range(COLOR, 1))
            .push_next(&mut own);
        let view = d.create_image_view(&view, None).expect("view");
        for (i, (aspect, [width, height], bytes)) in frame.planes.iter().enumerate() {
            let mut texels = c.buffer(u64::from(width * height) * *bytes as u64);
            for (at, byte) in texels.bytes_mut().iter_mut().enumerate() {
                let texel = (at / bytes) as u32;
                *byte = planar_byte(i, texel % width, texel / width, at % bytes);
            }
            let region = info::region(*aspect, [*width, *height]);
            c.run(|b| d.cmd_copy_buffer_to_image(b, texels.buffer, image, pipeline::GENERAL, &[region])).expect("copy");
            c.free(texels);
        }
        let set = Set::with_sampler(c, &[(SAMPLED, 1), (STORAGE_BUFFER, 1)], &[sampler]);
        let out = c.buffer(8 * 8 * 16);
        set.images(c, 0, SAMPLED, &[(view, vk::Sampler::null())]);
        set.buffers(c, 1, STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        let code = spirv(include_bytes!("../data/ycbcr.comp.spv"));
        run(c, &set, compute(c, vk::PipelineCache::null(), set.layout, &code, &[]), &[]).expect("run");
        let texels = out.words().as_chunks::<4>().0.iter().map(|texel| texel.map(f32::from_bits)).collect();
        set.destroy(c);
        c.free(out);
        d.destroy_image_view(view, None);
        d.destroy_image(image, None);
        memories.iter().for_each(|memory| d.free_memory(*memory, None));
        d.destroy_sampler(sampler, None);
        d.destroy_sampler_ycbcr_conversion(conversion, None);
        texels
    }
}

fn assert_texels(got: &[[f32; 4]], want: impl Fn(f64, f64) -> [f64; 3]) {
    for (i, got) in (0..).zip(got) {
        let (x, y) = (i % 8, i / 8);
        let want = want(f64::from(x), f64::from(y));
        let near = (0..3).all(|c| (f64::from(got[c]) - want[c]).abs() < 1e-5);
        assert!(near && got[3] == 1.0, "({x}, {y}): {got:?}, {want:?}");
    }
}

#[test]
fn frames_are_converted() {
    const PLANES: [vk::ImageAspectFlags; 3] =
        [vk::ImageAspectFlags::PLANE_0, vk::ImageAspectFlags::PLANE_1, vk::ImageAspectFlags::PLANE_2];
    let mut feature = vk::PhysicalDeviceSamplerYcbcrConversionFeatures::default().sampler_ycbcr_conversion(true);
    let c = Context::with(&[], &[], &mut [&mut feature]);
    let luma = |x: f64, y: f64| 20.0 + 13.0 * x + 5.0 * y;
    // Two planes with memory of their own; BT.709, narrow; linear between midpoints.
    let nv12 = Frame {
        format: vk::Format::G8_B8R8_2PLANE_420_UNORM,
        planes: &[(PLANES[0], [8, 8], 1), (PLANES[1], [4, 4], 2)],
        flags: vk::ImageCreateFlags::DISJOINT,
        model: vk::SamplerYcbcrModelConversion::YCBCR_709,
        range: vk::SamplerYcbcrRange::ITU_NARROW,
        chroma: vk::ChromaLocation::MIDPOINT,
        filter: vk::Filter::LINEAR,
    };
    let narrow = |x: f64, y: f64| {
        let at = |texel: f64| (texel / 2.0 - 0.25).clamp(0.0, 3.0);
        let (cb, cr) = ((90.0 + 10.0 * at(x) - 128.0) / 224.0, (170.0 - 8.0 * at(y) - 128.0) / 224.0);
        let luma = (luma(x, y) - 16.0) / 219.0;
        [luma + 1.5748 * cr, luma - 0.187_324_272_930_648_8 * cb - 0.468_124_272_930_648_7 * cr, luma + 1.8556 * cb]
    };
    assert_texels(&converted(&c, &nv12), narrow);
    assert_texels(&converted(&c, &Frame { flags: vk::ImageCreateFlags::empty(), ..nv12 }), narrow);
    // Three planes without conversion except for the zero of chroma; the nearest of cosited
    // samples.
    let nearest = Frame {
        format: vk::Format::G8_B8_R8_3PLANE_420_UNORM,
        planes: &[(PLANES[0], [8, 8], 1), (PLANES[1], [4, 4], 1), (PLANES[2], [4, 4], 1)],
        model: vk::SamplerYcbcrModelConversion::YCBCR_IDENTITY,
        range: vk::SamplerYcbcrRange::ITU_FULL,
        chroma: vk::ChromaLocation::COSITED_EVEN,
        filter: vk::Filter::NEAREST,
        ..nv12
    };
    assert_texels(&converted(&c, &nearest), |x, y| {
        let at = |texel: f64| ((texel + 1.0) / 2.0).floor().min(3.0);
        let (cb, cr) = (90.0 + 10.0 * at(x), 170.0 - 8.0 * at(y));
        [(cr - 128.0) / 255.0, luma(x, y) / 255.0, (cb - 128.0) / 255.0]
    });
    // Two texels in four bytes: G, B, G, R.
    let packed = Frame {
        format: vk::Format::G8B8G8R8_422_UNORM,
        planes: &[(COLOR, [8, 8], 2)],
        flags: vk::ImageCreateFlags::empty(),
        model: vk::SamplerYcbcrModelConversion::RGB_IDENTITY,
        ..nearest
    };
    assert_texels(&converted(&c, &packed), |x, y| {
        // The first byte of a texel is luma; the second one is B of the even and R of the odd
        // texel.
        let even = 2.0 * ((x + 1.0) / 2.0).floor().min(3.0);
        let [red, blue] = [even + 1.0, even].map(|x| 90.0 + 10.0 * x);
        [red / 255.0, luma(x, y) / 255.0, blue / 255.0]
    });
}

/// Checks that each side of a 3D image may be as long as that of other images: a copy writes the
/// last texel, and no other one.
#[test]
fn each_side_of_a_volume_has_the_largest_dimension() {
    const SIDE: u32 = 16384;
    let c = Context::new(&[], &[]);
    let layout = vk::ImageLayout::GENERAL;
    for [width, height, depth] in [[SIDE, 1, 1], [1, SIDE, 1], [1, 1, SIDE]] {
        let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        let mut info = image_info(vk::Format::R32_UINT, [width, height], usage).image_type(vk::ImageType::TYPE_3D);
        info.extent.depth = depth;
        let (query, flags) = (&c.instance, vk::ImageCreateFlags::empty());
        // SAFETY: valid usage.
        let properties = unsafe {
            let (ty, tiling) = (vk::ImageType::TYPE_3D, vk::ImageTiling::OPTIMAL);
            query.get_physical_device_image_format_properties(c.physical, info.format, ty, tiling, usage, flags)
        };
        let limits = properties.expect("supported").max_extent;
        assert!(limits.width >= width && limits.height >= height && limits.depth >= depth, "{limits:?}");
        let mut words = c.buffer(u64::from(SIDE) * 4);
        words.bytes_mut()[..4].copy_from_slice(&7u32.to_le_bytes());
        // SAFETY: valid usage.
        let (image, memory) = unsafe {
            let image = c.device.create_image(&info, None).expect("image");
            let (memory, _) = c.memory(c.device.get_image_memory_requirements(image).size);
            c.device.bind_image_memory(image, memory, 0).expect("bind");
            (image, memory)
        };
        let all = vk::BufferImageCopy::default().image_subresource(layers(COLOR, 0)).image_extent(info.extent);
        let last = vk::Offset3D { x: width as i32 - 1, y: height as i32 - 1, z: depth as i32 - 1 };
        let one = all.image_offset(last).image_extent(vk::Extent3D { width: 1, height: 1, depth: 1 });
        let written = c.run(|b| {
            let range = range(COLOR, 1);
            let barrier = |from: vk::ImageLayout| {
                let barrier = vk::ImageMemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                    .dst_access_mask(vk::AccessFlags::MEMORY_WRITE)
                    .old_layout(from)
                    .new_layout(layout)
                    .image(image)
                    .subresource_range(range);
                let stage = vk::PipelineStageFlags::ALL_COMMANDS;
                // SAFETY: valid usage.
                unsafe { c.device.cmd_pipeline_barrier(b, stage, stage, Default::default(), &[], &[], &[barrier]) };
            };
            barrier(vk::ImageLayout::UNDEFINED);
            // SAFETY: valid usage.
            unsafe {
                c.device.cmd_clear_color_image(b, image, layout, &vk::ClearColorValue { uint32: [3; 4] }, &[range])
            };
            barrier(layout);
            // SAFETY: valid usage.
            unsafe { c.device.cmd_copy_buffer_to_image(b, words.buffer, image, layout, &[one]) };
        });
        written.expect("written");
        // SAFETY: valid usage.
        c.run(|b| unsafe { c.device.cmd_copy_image_to_buffer(b, image, layout, words.buffer, &[all]) }).expect("read");
        let mut expected = vec![3; SIDE as usize];
        expected[SIDE as usize - 1] = 7;
        assert!(words.words() == expected, "{width} {height} {depth}");
        // SAFETY: nothing uses the image any more.
        unsafe {
            c.device.destroy_image(image, None);
            c.device.free_memory(memory, None);
        }
        c.free(words);
    }
}
