//! Tests of the additions of maintenance 6, 7, 9, 10 and 11 to commands and queries.

use crate::common::{Context, spirv};
use crate::pipeline::{Set, compute};
use crate::{common, pipeline};
use ash::vk;

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;

#[test]
fn sets_and_constants_by_structures() {
    let mut feature = vk::PhysicalDeviceMaintenance6FeaturesKHR::default().maintenance6(true);
    let c = Context::with(&[], &[c"VK_KHR_maintenance6"], &mut [&mut feature]);
    let m6 = ash::khr::maintenance6::Device::new(&c.instance, &c.device);
    let set = Set::new(&c, &[(STORAGE, 1), (UNIFORM, 1)]);
    let (mut data, mut params) = (c.buffer(256), c.buffer(16));
    data.fill_words(|i| i);
    params.fill_words(|_| 100);
    set.buffers(&c, 0, STORAGE, &[(data.buffer, 0, 256)]);
    set.buffers(&c, 1, UNIFORM, &[(params.buffer, 0, 16)]);
    let code = spirv(include_bytes!("../data/square.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &code, &[64]);
    let (sets, stages) = ([set.set], vk::ShaderStageFlags::ALL);
    let bind = vk::BindDescriptorSetsInfoKHR::default().stage_flags(stages).layout(set.layout).descriptor_sets(&sets);
    let add = 7u32.to_le_bytes();
    let constants = vk::PushConstantsInfoKHR::default().stage_flags(stages).layout(set.layout).values(&add);
    // SAFETY: valid usage.
    c.run(|b| unsafe {
        c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline);
        m6.cmd_bind_descriptor_sets2(b, &bind);
        m6.cmd_push_constants2(b, &constants);
        c.device.cmd_dispatch(b, 1, 1, 1);
    })
    .expect("run");
    let want: Vec<u32> = (0..64).map(|i| (63 - i) * 3 + 107).collect();
    assert_eq!(data.words(), want);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(data);
    c.free(params);
}

#[test]
fn bindings_report_their_results() {
    let mut feature = vk::PhysicalDeviceMaintenance6FeaturesKHR::default().maintenance6(true);
    let c = Context::with(&[], &[c"VK_KHR_maintenance6"], &mut [&mut feature]);
    // SAFETY: valid usage.
    unsafe {
        let info = vk::BufferCreateInfo::default().size(64).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        let buffers = [(); 2].map(|()| c.device.create_buffer(&info, None).expect("buffer"));
        let need = c.device.get_buffer_memory_requirements(buffers[0]);
        let info = vk::MemoryAllocateInfo::default().allocation_size(need.size);
        let memory = c.device.allocate_memory(&info, None).expect("memory");
        let mut results = [vk::Result::NOT_READY; 2];
        let [first, second] = &mut results;
        let [mut a, mut b] = [first, second].map(|r| vk::BindMemoryStatusKHR::default().result(r));
        let bind =
            |buffer, offset| vk::BindBufferMemoryInfo::default().buffer(buffer).memory(memory).memory_offset(offset);
        // The first one is beyond the memory; the second is still bound.
        let infos = [bind(buffers[0], 1 << 40).push_next(&mut a), bind(buffers[1], 0).push_next(&mut b)];
        assert!(c.device.bind_buffer_memory2(&infos).is_err());
        assert_eq!((results[0] == vk::Result::SUCCESS, results[1]), (false, vk::Result::SUCCESS));
        buffers.into_iter().for_each(|buffer| c.device.destroy_buffer(buffer, None));
        c.device.free_memory(memory, None);
    }
}

#[test]
fn queries_may_begin_reset() {
    let c = Context::new(&[], &[c"VK_KHR_maintenance7", c"VK_KHR_maintenance9"]);
    // VK_QUERY_POOL_CREATE_RESET_BIT_KHR.
    let flags = vk::QueryPoolCreateFlags::from_raw(1);
    let info = vk::QueryPoolCreateInfo::default().flags(flags).query_type(vk::QueryType::TIMESTAMP).query_count(3);
    // SAFETY: valid usage.
    unsafe {
        let pool = c.device.create_query_pool(&info, None).expect("pool");
        c.run(|b| c.device.cmd_write_timestamp(b, vk::PipelineStageFlags::ALL_COMMANDS, pool, 1)).expect("run");
        let mut times = [[9u64; 2]; 3];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        let result = c.device.get_query_pool_results(pool, 0, &mut times, flags);
        assert_eq!(result, Err(vk::Result::NOT_READY));
        assert_eq!(times.map(|[_, there]| there), [0, 1, 0]);
        c.device.destroy_query_pool(pool, None);
    }
}

/// `VkResolveImageModeInfoKHR`, which ash does not know.
#[repr(C)]
struct Modes {
    s_type: vk::StructureType,
    p_next: *const std::ffi::c_void,
    flags: u32,
    resolve: vk::ResolveModeFlags,
    stencil: vk::ResolveModeFlags,
}

/// `PFN_vkCmdEndRendering2KHR`, without its structure.
type EndRendering2 = unsafe extern "system" fn(vk::CommandBuffer, *const std::ffi::c_void);

/// `VkPhysicalDeviceMaintenance10FeaturesKHR`.
#[repr(C)]
struct Maintenance10 {
    s_type: vk::StructureType,
    p_next: *mut std::ffi::c_void,
    maintenance10: vk::Bool32,
}

impl common::Chain for Maintenance10 {
    fn chain<'a>(&'a mut self, mut info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        self.p_next = info.p_next.cast_mut();
        info.p_next = (&raw const *self).cast();
        info
    }
}

/// Checks a clear inside rendering that ends by the newer command, and resolves of depth and
/// stencil, together and separately.
#[test]
fn depth_and_stencil_are_resolved_by_command() {
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true).synchronization2(true);
    let s_type = vk::StructureType::from_raw(1_000_630_000);
    let mut m10 = Maintenance10 { s_type, p_next: std::ptr::null_mut(), maintenance10: vk::TRUE };
    let c = Context::with(&[], &[c"VK_KHR_maintenance10"], &mut [&mut v13, &mut m10]);
    let format = vk::Format::D32_SFLOAT_S8_UINT;
    let [depth, stencil] = [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL];
    // SAFETY: valid usage.
    unsafe {
        let image = |samples| {
            let usage = vk::ImageUsageFlags::TRANSFER_SRC
                | vk::ImageUsageFlags::TRANSFER_DST
                | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
            let info = common::image_info(format, [4, 4], usage).samples(samples);
            let made = c.image_of(&info, depth | stencil);
            (made.image, made.memory, made.view)
        };
        let (from, to) = (image(vk::SampleCountFlags::TYPE_4), image(vk::SampleCountFlags::TYPE_1));
        let end = c.instance.get_device_proc_addr(c.device.handle(), c"vkCmdEndRendering2KHR".as_ptr());
        let end = std::mem::transmute::<vk::PFN_vkVoidFunction, Option<EndRendering2>>(end).expect("a command");
        let clear = |view, (depth, stencil)| {
            let layout = vk::ImageLayout::GENERAL;
            let value = vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth, stencil } };
            let a = vk::RenderingAttachmentInfo::default().image_view(view).image_layout(layout);
            let a = a.load_op(vk::AttachmentLoadOp::CLEAR).store_op(vk::AttachmentStoreOp::STORE).clear_value(value);
            c.run(|b| {
                let info = vk::RenderingInfo::default().layer_count(1).depth_attachment(&a).stencil_attachment(&a);
                c.device.cmd_begin_rendering(b, &info.render_area(common::info::area(4)));
                end(b, std::ptr::null());
            })
            .expect("clear");
        };
        let buffer = c.buffer(64);
        let read = |aspect| {
            c.run(|b| {
                let region = [common::info::region(aspect, [4, 4])];
                c.device.cmd_copy_image_to_buffer(b, to.0, vk::ImageLayout::GENERAL, buffer.buffer, &region);
            })
            .expect("copy");
            buffer.words()[0]
        };
        clear(from.2, (0.25, 7));
        use vk::ResolveModeFlags as M;
        // Aspects of the region, modes of depth and stencil, and the expected results.
        let cases = [
            (depth, M::AVERAGE, M::NONE, (0.25f32, 3)),
            (stencil, M::NONE, M::SAMPLE_ZERO, (1.0, 7)),
            (depth | stencil, M::MIN, M::MAX, (0.25, 7)),
        ];
        for (aspects, resolve, of_stencil, expected) in cases {
            clear(to.2, (1.0, 3));
            let modes = Modes {
                s_type: vk::StructureType::from_raw(1_000_630_004),
                p_next: std::ptr::null(),
                flags: 0,
                resolve,
                stencil: of_stencil,
            };
            let layers = common::layers(aspects, 0);
            let extent = vk::Extent3D { width: 4, height: 4, depth: 1 };
            let regions = [vk::ImageResolve2::default().src_subresource(layers).dst_subresource(layers).extent(extent)];
            let layout = vk::ImageLayout::GENERAL;
            let mut info =
                vk::ResolveImageInfo2::default().src_image(from.0).src_image_layout(layout).regions(&regions);
            info = info.dst_image(to.0).dst_image_layout(layout);
            info.p_next = (&raw const modes).cast();
            c.run(|b| c.device.cmd_resolve_image2(b, &info)).expect("resolve");
            let found = (f32::from_bits(read(depth)), read(stencil) & 0xff);
            assert_eq!(found, expected, "{aspects:?}");
        }
        c.free(buffer);
        for (image, memory, view) in [from, to] {
            c.device.destroy_image_view(view, None);
            c.device.destroy_image(image, None);
            c.device.free_memory(memory, None);
        }
    }
}

/// Checks that a view of a single layer works as an array or not, depending on the shader; arrays
/// have as many layers as the view.
#[test]
fn single_layers_are_arrays_and_are_none() {
    let extensions = [c"VK_KHR_maintenance11", c"VK_EXT_robustness2"];
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_image_access2(true);
    let c = Context::with(&[], &extensions, &mut [&mut robust]);
    let mut values = c.buffer(256);
    values.fill_words(|i| i * 5 + 2);
    let usage = vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED;
    let info = vk::ImageCreateInfo::default()
        .flags(vulkan_grus::caps::newer::IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR)
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::R32_UINT)
        .extent(vk::Extent3D { width: 8, height: 8, depth: 1 })
        .mip_levels(1)
        .array_layers(3)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(usage);
    // SAFETY: valid usage.
    unsafe {
        let properties = c.instance.get_physical_device_image_format_properties(
            c.physical,
            info.format,
            info.image_type,
            info.tiling,
            usage,
            info.flags,
        );
        assert!(properties.is_ok());
        let image = c.device.create_image(&info, None).expect("image");
        let (memory, _) = c.memory(c.device.get_image_memory_requirements(image).size);
        c.device.bind_image_memory(image, memory, 0).expect("bind");
        let view = |view_type| {
            let mut range = common::range(vk::ImageAspectFlags::COLOR, 1);
            range.base_array_layer = 1;
            let info = vk::ImageViewCreateInfo::default().image(image).view_type(view_type).format(info.format);
            c.device.create_image_view(&info.subresource_range(range), None).expect("view")
        };
        let views = [view(vk::ImageViewType::TYPE_2D_ARRAY), view(vk::ImageViewType::TYPE_2D)];
        c.run(|b| {
            let mut region = common::info::region(vk::ImageAspectFlags::COLOR, [8, 8]);
            region.image_subresource.base_array_layer = 1;
            c.device.cmd_copy_buffer_to_image(b, values.buffer, image, vk::ImageLayout::GENERAL, &[region]);
        })
        .expect("copy");
        let sampler = c.device.create_sampler(&Default::default(), None).expect("sampler");
        let module = pipeline::module(&c, &common::spirv(include_bytes!("../data/aliased.comp.spv")));
        use vk::DescriptorType as T;
        let (stored, sampled) = (T::STORAGE_IMAGE, T::COMBINED_IMAGE_SAMPLER);
        for order in [[views[0], views[1]], [views[1], views[0]]] {
            let data = c.buffer(2048);
            let set =
                pipeline::Set::new(&c, &[(T::STORAGE_BUFFER, 1), (stored, 1), (sampled, 1), (stored, 1), (sampled, 1)]);
            set.buffers(&c, 0, T::STORAGE_BUFFER, &[(data.buffer, 0, 2048)]);
            for (binding, ty, view) in [(1, stored, 0), (2, sampled, 0), (3, stored, 1), (4, sampled, 1)] {
                set.images(&c, binding, ty, &[(order[view], sampler)]);
            }
            let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE);
            let info = vk::ComputePipelineCreateInfo::default().stage(stage.module(module).name(c"main"));
            let info = info.layout(set.layout);
            let pipeline = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None).unwrap()[0];
            pipeline::run(&c, &set, pipeline, &[0; 16]).expect("dispatch");
            let words = data.words();
            for part in 0..6 {
                assert_eq!(words[part * 64..][..64], values.words(), "part {part}");
            }
            assert_eq!((&words[384..448], &words[448..]), (&[0; 64][..], &[2; 64][..]));
            set.destroy(&c);
            c.free(data);
        }
        c.device.destroy_shader_module(module, None);
        c.device.destroy_sampler(sampler, None);
        views.iter().for_each(|&view| c.device.destroy_image_view(view, None));
        c.device.destroy_image(image, None);
        c.device.free_memory(memory, None);
    }
    c.free(values);
}
