//! Tests of pipelines and their results: compute, draws, textures, subpasses, multisampling,
//! refusals.

use crate::common;
use crate::common::info::{RGBA8, Triangles, viewport};
use crate::common::{Context, Image};
use crate::pipeline::{AREA, Messenger, Set, compute_with, module, record_dispatch};
use ash::vk;

const LAYOUT: vk::ImageLayout = vk::ImageLayout::GENERAL;
const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;

/// One set with these bindings, its layout, and a pipeline layout with 16 bytes of push constants.
struct Layout {
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
}

impl Layout {
    fn new(c: &Context, types: &[vk::DescriptorType]) -> Layout {
        let d = &c.device;
        let bindings: Vec<_> = (0..)
            .zip(types)
            .map(|(binding, ty)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(*ty)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::ALL)
            })
            .collect();
        // SAFETY: valid usage.
        unsafe {
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout = d.create_descriptor_set_layout(&info, None).unwrap();
            let layouts = [set_layout];
            let range = [vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::ALL, offset: 0, size: 16 }];
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&range);
            let layout = d.create_pipeline_layout(&info, None).unwrap();
            let sizes: Vec<_> =
                types.iter().map(|ty| vk::DescriptorPoolSize { ty: *ty, descriptor_count: 1 }).collect();
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let pool = d.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
            let set = d.allocate_descriptor_sets(&info).unwrap()[0];
            Layout { set_layout, layout, pool, set }
        }
    }
    fn buffer(&self, c: &Context, binding: u32, ty: vk::DescriptorType, buffer: vk::Buffer, range: u64) {
        let info = [vk::DescriptorBufferInfo { buffer, offset: 0, range }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(self.set)
            .dst_binding(binding)
            .descriptor_type(ty)
            .buffer_info(&info);
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
    }
    fn image(&self, c: &Context, ty: vk::DescriptorType, image_view: vk::ImageView, sampler: vk::Sampler) {
        let info = [vk::DescriptorImageInfo { sampler, image_view, image_layout: LAYOUT }];
        let write = vk::WriteDescriptorSet::default().dst_set(self.set).descriptor_type(ty).image_info(&info);
        // SAFETY: valid usage.
        unsafe { c.device.update_descriptor_sets(&[write], &[]) };
    }
    fn destroy(&self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            c.device.destroy_descriptor_pool(self.pool, None);
            c.device.destroy_pipeline_layout(self.layout, None);
            c.device.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// Runs `square.comp` with 4 groups and checks every word.
fn run_square(c: &Context, layout: &Layout, pipeline: vk::Pipeline, group: u32, factor: u32) {
    let (d, total) = (&c.device, 4 * group);
    let (mut data, mut uniform) = (c.buffer(u64::from(total) * 4), c.buffer(16));
    data.fill_words(|i| i * 7);
    uniform.fill_words(|_| 1000);
    layout.buffer(c, 0, vk::DescriptorType::STORAGE_BUFFER, data.buffer, vk::WHOLE_SIZE);
    layout.buffer(c, 1, vk::DescriptorType::UNIFORM_BUFFER, uniform.buffer, 16);
    c.run(|b| {
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: valid usage.
        unsafe {
            d.cmd_bind_pipeline(b, point, pipeline);
            d.cmd_bind_descriptor_sets(b, point, layout.layout, 0, &[layout.set], &[]);
            d.cmd_push_constants(b, layout.layout, vk::ShaderStageFlags::ALL, 0, &5u32.to_le_bytes());
            d.cmd_dispatch(b, 4, 1, 1);
        }
    })
    .unwrap();
    for (i, word) in (0..).zip(data.words()) {
        let mirrored = i / group * group + (group - 1 - i % group);
        assert_eq!(word, mirrored * 7 * factor + 1005, "word {i}");
    }
    c.free(data);
    c.free(uniform);
}

const SQUARE: [vk::DescriptorType; 2] = [vk::DescriptorType::STORAGE_BUFFER, vk::DescriptorType::UNIFORM_BUFFER];

#[test]
fn compute_with_shared_memory_and_specialization() {
    let c = Context::new(&[], &[]);
    let layout = Layout::new(&c, &SQUARE);
    for (group, factor) in [(64, 3), (1, 9), (13, 2), (256, 5)] {
        let constants = [(0, group), (1, factor)];
        let pipeline =
            compute_with(&c, vk::PipelineCache::null(), layout.layout, &shader!("square.comp"), &constants).unwrap();
        run_square(&c, &layout, pipeline, group, factor);
        // SAFETY: valid usage.
        unsafe { c.device.destroy_pipeline(pipeline, None) };
    }
    layout.destroy(&c);
}

#[test]
fn a_cache_restores_pipelines() {
    let c = Context::new(&[], &[]);
    let layout = Layout::new(&c, &SQUARE);
    let words = shader!("square.comp");
    // SAFETY: valid usage.
    unsafe {
        let first = c.device.create_pipeline_cache(&Default::default(), None).unwrap();
        let pipeline = compute_with(&c, first, layout.layout, &words, &[]).unwrap();
        c.device.destroy_pipeline(pipeline, None);
        let data = c.device.get_pipeline_cache_data(first).unwrap();
        assert!(data.len() > 200, "{} bytes", data.len());
        let info = vk::PipelineCacheCreateInfo::default().initial_data(&data);
        let second = c.device.create_pipeline_cache(&info, None).unwrap();
        assert_eq!(c.device.get_pipeline_cache_data(second).unwrap(), data);
        let pipeline = compute_with(&c, second, layout.layout, &words, &[]).unwrap();
        run_square(&c, &layout, pipeline, 64, 3);
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_pipeline_cache(first, None);
        c.device.destroy_pipeline_cache(second, None);
    }
    layout.destroy(&c);
}

#[test]
fn bad_modules_are_refused_with_a_message() {
    let c = Context::new(&[c"VK_EXT_debug_utils"], &[]);
    let messenger = Messenger::new(&c);
    let said = |needle: &str| messenger.take().iter().any(|message| message.contains(needle));
    let layout = Layout::new(&c, &SQUARE);
    let words = shader!("square.comp");
    for length in (0..words.len()).step_by(7) {
        assert!(
            compute_with(&c, vk::PipelineCache::null(), layout.layout, &words[..length], &[]).is_err(),
            "{length} words"
        );
    }
    assert!(said("Compute shader module"));
    // The message names a capability that is not advertised (Kernel).
    let mut kernel = words.clone();
    let capability = kernel.windows(2).position(|w| w == [0x0002_0011, 1]).expect("OpCapability Shader");
    kernel[capability + 1] = 6;
    assert!(compute_with(&c, vk::PipelineCache::null(), layout.layout, &kernel, &[]).is_err());
    assert!(said("OpCapability"));
    layout.destroy(&c);
}

/// Checks that a module of an old optimizer, which breaks a rule but has only one meaning, runs,
/// and that the application receives a message.
#[test]
fn accepted_deviations_are_reported() {
    let c = Context::new(&[c"VK_EXT_debug_utils"], &[]);
    let messenger = Messenger::of_warnings(&c);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut buffer = c.buffer(16);
    buffer.fill_words(|i| if i == 0 { 5 } else { 0 });
    set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let words = common::spirv(include_bytes!("../../../jit/tests/data/merge_is_continue.comp.spv"));
    let pipeline = compute_with(&c, vk::PipelineCache::null(), set.layout, &words, &[]).expect("accepted");
    let messages = messenger.take();
    assert!(messages.iter().any(|m| m.contains("the continue target of a loop around it")), "{messages:?}");
    c.run(|b| record_dispatch(&c, b, &set, pipeline, &[], 1)).unwrap();
    assert_eq!(buffer.words(), [5, 7, 210, 20]);
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(buffer);
}

#[test]
fn a_layout_of_too_many_sets_is_refused_with_a_message() {
    let c = Context::new(&[c"VK_EXT_debug_utils"], &[]);
    let messenger = Messenger::new(&c);
    let layout = Layout::new(&c, &SQUARE);
    // SAFETY: the usage is valid, except for the number of sets.
    unsafe {
        let most = c.instance.get_physical_device_properties(c.physical).limits.max_bound_descriptor_sets;
        let sets = vec![layout.set_layout; most as usize + 1];
        let create = |sets: &[_]| {
            c.device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(sets), None)
        };
        assert_eq!(create(&sets).err(), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
        let messages = messenger.take();
        assert!(messages.iter().any(|m| m.contains(&format!("{} descriptor sets", most + 1))), "{messages:?}");
        c.device.destroy_pipeline_layout(create(&sets[1..]).expect("as many as there may be"), None);
    }
    assert_eq!(messenger.take(), [""; 0]);
    layout.destroy(&c);
}

/// Checks VK_EXT_buffer_device_address beside the KHR extension: it gives the same addresses, with
/// its own structures and its SPIR-V extension, which a module may declare without using it.
#[test]
fn the_older_extension_of_buffer_addresses() {
    let mut features = vk::PhysicalDeviceBufferDeviceAddressFeaturesEXT::default().buffer_device_address(true);
    let c = Context::with(&[], &[c"VK_EXT_buffer_device_address"], &mut [&mut features]);
    let mut reported = vk::PhysicalDeviceBufferDeviceAddressFeaturesEXT::default();
    let buffer = c.buffer(64);
    // SAFETY: the usage is valid, except for the request of an address without the feature for it.
    unsafe {
        let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut reported);
        c.instance.get_physical_device_features2(c.physical, &mut all);
        assert_eq!(
            (reported.buffer_device_address, reported.buffer_device_address_capture_replay),
            (vk::TRUE, vk::FALSE)
        );
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer);
        let older = ash::ext::buffer_device_address::Device::new(&c.instance, &c.device);
        let address = older.get_buffer_device_address(&info);
        assert_eq!(address, c.device.get_buffer_device_address(&info));
        let mut replay = vk::BufferDeviceAddressCreateInfoEXT::default().device_address(address);
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(64).usage(usage).push_next(&mut replay);
        let refused = c.device.create_buffer(&info, None).err();
        assert_eq!(refused, Some(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS));
    }
    c.free(buffer);

    let mut words = shader!("square.comp");
    // The search begins behind the header, whose words may look like an instruction.
    let import = words[5..].iter().position(|w| w & 0xffff == 11).expect("OpExtInstImport") + 5;
    let mut name = b"SPV_EXT_physical_storage_buffer".to_vec();
    name.resize(32, 0);
    let name: Vec<u32> = name.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    words.splice(import..import, [&[9 << 16 | 10][..], &name].concat());
    let layout = Layout::new(&c, &SQUARE);
    let pipeline = compute_with(&c, vk::PipelineCache::null(), layout.layout, &words, &[]).expect("accepted");
    // SAFETY: the pipeline is not in use.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    layout.destroy(&c);
}

struct Draw<'a> {
    fragment: &'a [u32],
    layout: vk::PipelineLayout,
    pass: vk::RenderPass,
    subpass: u32,
    samples: vk::SampleCountFlags,
}

/// Creates a pipeline for triangles of (vec2, unorm8 × 4) vertices over a 64×64 target.
fn graphics(c: &Context, draw: &Draw<'_>) -> vk::Pipeline {
    graphics_masked(c, draw, !0)
}

/// Creates a pipeline as [`graphics`] does, with a sample mask.
fn graphics_masked(c: &Context, draw: &Draw<'_>, sample_mask: u32) -> vk::Pipeline {
    let (vertex, fragment) = (module(c, &shader!("triangle.vert")), module(c, draw.fragment));
    let triangles = Triangles {
        pass: draw.pass,
        subpass: draw.subpass,
        samples: draw.samples,
        sample_mask,
        stride: 12,
        attributes: &[(vk::Format::R32G32_SFLOAT, 0), (RGBA8, 8)],
        ..Triangles::new(vertex, fragment, draw.layout)
    };
    let pipeline = triangles.create(&c.device).unwrap();
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_shader_module(vertex, None);
        c.device.destroy_shader_module(fragment, None);
    }
    pipeline
}

/// Returns vertices that cover the lower left half of the target in red.
fn half(c: &Context) -> common::Buffer {
    let mut vertices = c.buffer(36);
    let points: [([f32; 2], u32); 3] =
        [([-1.0, -1.0], 0xff00_00ff), ([-1.0, 1.0], 0xff00_00ff), ([1.0, 1.0], 0xff00_00ff)];
    let bytes =
        points.iter().flat_map(|([x, y], color)| [x.to_le_bytes(), y.to_le_bytes(), color.to_le_bytes()].concat());
    vertices.bytes_mut().iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    vertices
}

const BLUE: vk::ClearValue = vk::ClearValue { color: vk::ClearColorValue { float32: [0.0, 0.0, 1.0, 1.0] } };

fn dynamic_context() -> Context {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let extensions = [
        c"VK_KHR_dynamic_rendering",
        c"VK_KHR_depth_stencil_resolve",
        c"VK_KHR_create_renderpass2",
        c"VK_KHR_multiview",
        c"VK_KHR_maintenance2",
    ];
    Context::with(&[c"VK_KHR_get_physical_device_properties2"], &extensions, &mut [&mut rendering])
}

/// Draws once in a dynamic rendering instance.
fn draw_dynamic(
    c: &Context,
    target: &Image,
    resolve: Option<&Image>,
    pipeline: vk::Pipeline,
    layout: &Layout,
    query: Option<vk::QueryPool>,
) {
    let (d, vertices) = (&c.device, half(c));
    let rendering = ash::khr::dynamic_rendering::Device::new(&c.instance, d);
    let mut attachment = vk::RenderingAttachmentInfo::default()
        .image_view(target.view)
        .image_layout(LAYOUT)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .clear_value(BLUE);
    if let Some(resolve) = resolve {
        attachment = attachment
            .resolve_image_view(resolve.view)
            .resolve_image_layout(LAYOUT)
            .resolve_mode(vk::ResolveModeFlags::AVERAGE);
    }
    let attachments = [attachment];
    let info = vk::RenderingInfo::default().render_area(AREA).layer_count(1).color_attachments(&attachments);
    c.run(|b| {
        // SAFETY: valid usage.
        unsafe {
            query.into_iter().for_each(|q| d.cmd_reset_query_pool(b, q, 0, 1));
            rendering.cmd_begin_rendering(b, &info);
            d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            d.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, layout.layout, 0, &[layout.set], &[]);
            d.cmd_set_viewport(b, 0, &[viewport(64)]);
            d.cmd_set_scissor(b, 0, &[AREA]);
            d.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
            query.into_iter().for_each(|q| d.cmd_begin_query(b, q, 0, vk::QueryControlFlags::PRECISE));
            d.cmd_draw(b, 3, 1, 0, 0);
            query.into_iter().for_each(|q| d.cmd_end_query(b, q, 0));
            rendering.cmd_end_rendering(b);
        }
    })
    .unwrap();
    c.free(vertices);
}

/// Calls `check(x, y, pixel)` for each pixel.
fn each_pixel(c: &Context, image: &Image, check: impl Fn(usize, usize, [u8; 4])) {
    for (i, pixel) in c.read_image(image, 4).as_chunks::<4>().0.iter().enumerate() {
        check(i % 64, i / 64, *pixel);
    }
}

#[test]
fn a_triangle_by_dynamic_rendering_with_an_occlusion_query() {
    let c = dynamic_context();
    let layout = Layout::new(&c, &[vk::DescriptorType::UNIFORM_BUFFER]);
    let target = c.image(RGBA8, [64, 64], ONE, 1);
    let words = shader!("triangle.frag");
    let pass = vk::RenderPass::null();
    let pipeline = graphics(&c, &Draw { fragment: &words, layout: layout.layout, pass, subpass: 0, samples: ONE });
    // SAFETY: valid usage.
    unsafe {
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
        let query = c.device.create_query_pool(&info, None).unwrap();
        draw_dynamic(&c, &target, None, pipeline, &layout, Some(query));
        let mut samples = [0u64];
        c.device.get_query_pool_results(query, 0, &mut samples, vk::QueryResultFlags::TYPE_64).unwrap();
        // Pixel centres on the diagonal belong to one of the two triangles of the square: the
        // top-left rule decides.
        assert!(samples[0] == 64 * 63 / 2 || samples[0] == 64 * 65 / 2, "{}", samples[0]);
        c.device.destroy_query_pool(query, None);
        c.device.destroy_pipeline(pipeline, None);
    }
    each_pixel(&c, &target, |x, y, pixel| {
        if x != y {
            assert_eq!(pixel, if y > x { [255, 0, 0, 255] } else { [0, 0, 255, 255] }, "({x}, {y})");
        }
    });
    c.free_image(target);
    layout.destroy(&c);
}

/// Samples of a pixel on the diagonal that lie in the lower left half (y > x), in the order of the
/// standard sample locations.
const LOWER: [(u32, u32); 4] = [(2, 0), (4, 0b1100), (8, 0b0111_0010), (16, 0b0101_1001_0011_0100)];

/// Checks the mean of a target with several samples, and the number of samples that passed.
#[test]
fn every_number_of_samples_is_masked_counted_and_resolved() {
    let c = dynamic_context();
    let layout = Layout::new(&c, &[vk::DescriptorType::UNIFORM_BUFFER]);
    let words = shader!("triangle.frag");
    let pass = vk::RenderPass::null();
    for ((count, lower), mask) in LOWER.iter().flat_map(|&of| [!0u32, 0x0f0f_a5c6].map(|mask| (of, mask))) {
        let samples = vk::SampleCountFlags::from_raw(count);
        let (target, resolved) = (c.image(RGBA8, [64, 64], samples, 1), c.image(RGBA8, [64, 64], ONE, 1));
        let draw = Draw { fragment: &words, layout: layout.layout, pass, subpass: 0, samples };
        let pipeline = graphics_masked(&c, &draw, mask);
        let mut passed = [0u64];
        // SAFETY: valid usage.
        unsafe {
            let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::OCCLUSION).query_count(1);
            let query = c.device.create_query_pool(&info, None).unwrap();
            draw_dynamic(&c, &target, Some(&resolved), pipeline, &layout, Some(query));
            c.device.get_query_pool_results(query, 0, &mut passed, vk::QueryResultFlags::TYPE_64).unwrap();
            c.device.destroy_query_pool(query, None);
            c.device.destroy_pipeline(pipeline, None);
        }
        let mask = mask & ((1 << count) - 1);
        let inside = |bits: u32| (bits & mask).count_ones();
        let want = 64 * 63 / 2 * inside(!0) + 64 * inside(lower);
        assert_eq!(passed[0], u64::from(want), "{count} samples, {mask:#x}");
        each_pixel(&c, &resolved, |x, y, pixel| {
            let red = match x.cmp(&y) {
                std::cmp::Ordering::Less => inside(!0),
                std::cmp::Ordering::Greater => 0,
                std::cmp::Ordering::Equal => inside(lower),
            };
            let code = |n: u32| (255.0 * f64::from(n) / f64::from(count)).round_ties_even() as u8;
            assert_eq!(pixel, [code(red), 0, code(count - red), 255], "({x}, {y}) of {count} samples, {mask:#x}");
        });
        c.free_image(target);
        c.free_image(resolved);
    }
    layout.destroy(&c);
}

#[test]
fn a_texture_is_sampled() {
    let c = dynamic_context();
    let layout = Layout::new(&c, &[vk::DescriptorType::COMBINED_IMAGE_SAMPLER]);
    let (target, texture) = (c.image(RGBA8, [64, 64], ONE, 1), c.image(RGBA8, [64, 64], ONE, 1));
    let mut texels = c.buffer(64 * 64 * 4);
    texels.fill_words(|i| i.wrapping_mul(0x0101_0713) | 0xff00_0000);
    c.run(|b| {
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_copy_buffer_to_image(b, texels.buffer, texture.image, LAYOUT, &[common::region(&texture)])
        };
    })
    .unwrap();
    // SAFETY: valid usage.
    let sampler = unsafe { c.device.create_sampler(&Default::default(), None) }.unwrap();
    layout.image(&c, vk::DescriptorType::COMBINED_IMAGE_SAMPLER, texture.view, sampler);
    let words = shader!("texture.frag");
    let pass = vk::RenderPass::null();
    let pipeline = graphics(&c, &Draw { fragment: &words, layout: layout.layout, pass, subpass: 0, samples: ONE });
    draw_dynamic(&c, &target, None, pipeline, &layout, None);
    let expected = texels.words();
    each_pixel(&c, &target, |x, y, pixel| {
        if y > x {
            assert_eq!(u32::from_le_bytes(pixel), expected[64 * y + x], "({x}, {y})");
        }
    });
    // SAFETY: valid usage.
    unsafe {
        c.device.destroy_pipeline(pipeline, None);
        c.device.destroy_sampler(sampler, None);
    }
    c.free(texels);
    c.free_image(target);
    c.free_image(texture);
    layout.destroy(&c);
}

#[test]
fn a_subpass_reads_what_the_one_before_drew() {
    let c = Context::new(&[], &[]);
    let d = &c.device;
    let layout = Layout::new(&c, &[vk::DescriptorType::INPUT_ATTACHMENT]);
    let (first, second) = (c.image(RGBA8, [64, 64], ONE, 1), c.image(RGBA8, [64, 64], ONE, 1));
    layout.image(&c, vk::DescriptorType::INPUT_ATTACHMENT, first.view, vk::Sampler::null());
    let attachment = vk::AttachmentDescription::default()
        .format(RGBA8)
        .samples(ONE)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .final_layout(LAYOUT);
    let reference = |attachment| [vk::AttachmentReference { attachment, layout: LAYOUT }];
    let (zero, one) = (reference(0), reference(1));
    let subpasses = [
        vk::SubpassDescription::default().color_attachments(&zero),
        vk::SubpassDescription::default().color_attachments(&one).input_attachments(&zero),
    ];
    let dependency = [vk::SubpassDependency { src_subpass: 0, dst_subpass: 1, ..Default::default() }];
    let attachments = [attachment, attachment];
    let info =
        vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses).dependencies(&dependency);
    // SAFETY: valid usage.
    unsafe {
        let pass = d.create_render_pass(&info, None).unwrap();
        let views = [first.view, second.view];
        let info =
            vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&views).width(64).height(64).layers(1);
        let framebuffer = d.create_framebuffer(&info, None).unwrap();
        let (color, input) = (shader!("triangle.frag"), shader!("input.frag"));
        let draw =
            |fragment, subpass| graphics(&c, &Draw { fragment, layout: layout.layout, pass, subpass, samples: ONE });
        let pipelines = [draw(&color, 0), draw(&input, 1)];
        let vertices = half(&c);
        let clears = [BLUE, BLUE];
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(pass)
            .framebuffer(framebuffer)
            .render_area(AREA)
            .clear_values(&clears);
        c.run(|b| {
            d.cmd_begin_render_pass(b, &begin, vk::SubpassContents::INLINE);
            for (i, pipeline) in pipelines.iter().enumerate() {
                if i == 1 {
                    d.cmd_next_subpass(b, vk::SubpassContents::INLINE);
                }
                d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, *pipeline);
                d.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, layout.layout, 0, &[layout.set], &[]);
                d.cmd_set_viewport(b, 0, &[viewport(64)]);
                d.cmd_set_scissor(b, 0, &[AREA]);
                d.cmd_bind_vertex_buffers(b, 0, &[vertices.buffer], &[0]);
                d.cmd_draw(b, 3, 1, 0, 0);
            }
            d.cmd_end_render_pass(b);
        })
        .unwrap();
        // Red (255, 0, 0) read with g and r exchanged is green; outside the triangle the clear
        // colour stays.
        each_pixel(&c, &second, |x, y, pixel| {
            if x != y {
                assert_eq!(pixel, if y > x { [0, 255, 0, 255] } else { [0, 0, 255, 255] }, "({x}, {y})");
            }
        });
        pipelines.iter().for_each(|p| d.destroy_pipeline(*p, None));
        d.destroy_framebuffer(framebuffer, None);
        d.destroy_render_pass(pass, None);
        c.free(vertices);
    }
    c.free_image(first);
    c.free_image(second);
    layout.destroy(&c);
}
