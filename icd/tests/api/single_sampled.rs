//! Tests of attachments of one sample that are rendered with several
//! (VK_EXT_multisampled_render_to_single_sampled), compared with the expected samples.

use crate::common;
use crate::common::{Buffer, Context, Image, info, range};
use crate::pipeline::{GENERAL, RGBA8, module};
use ash::vk;

const SIDE: u32 = 64;
const SAMPLES: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_4;

struct Scene {
    c: Context,
    target: Image,
    vertices: Buffer,
    layout: vk::PipelineLayout,
    modules: [vk::ShaderModule; 2],
}

/// Makes an image to be rendered to, of one sample or of several.
fn image(c: &Context, samples: vk::SampleCountFlags, side: u32, layers: u32) -> Image {
    let single = samples == vk::SampleCountFlags::TYPE_1;
    let flags = vk::ImageCreateFlags::MULTISAMPLED_RENDER_TO_SINGLE_SAMPLED_EXT;
    let usage =
        vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let info = vk::ImageCreateInfo::default()
        .flags(if single { flags } else { vk::ImageCreateFlags::empty() })
        .image_type(vk::ImageType::TYPE_2D)
        .format(RGBA8)
        .extent(vk::Extent3D { width: side, height: side, depth: 1 })
        .mip_levels(1)
        .array_layers(layers)
        .samples(samples)
        .usage(usage);
    let aspect = vk::ImageAspectFlags::COLOR;
    // SAFETY: valid usage.
    unsafe {
        let image = c.device.create_image(&info, None).expect("image");
        let bytes = c.device.get_image_memory_requirements(image).size;
        let info = vk::MemoryAllocateInfo::default().allocation_size(bytes);
        let memory = c.device.allocate_memory(&info, None).expect("memory");
        c.device.bind_image_memory(image, memory, 0).expect("bind");
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D_ARRAY)
            .format(RGBA8)
            .subresource_range(vk::ImageSubresourceRange { layer_count: layers, ..range(aspect, 1) });
        let view = c.device.create_image_view(&info, None).expect("view");
        Image { image, memory, view, extent: [side; 2], aspect }
    }
}

/// Parameters of rendering to a target of one sample.
#[derive(Clone, Copy)]
struct How {
    flags: vk::RenderingFlags,
    load_op: vk::AttachmentLoadOp,
    store_op: vk::AttachmentStoreOp,
    resolve_mode: vk::ResolveModeFlags,
}

const LOADED: How = How {
    flags: vk::RenderingFlags::empty(),
    load_op: vk::AttachmentLoadOp::LOAD,
    store_op: vk::AttachmentStoreOp::STORE,
    resolve_mode: vk::ResolveModeFlags::AVERAGE,
};

impl Scene {
    fn new() -> Scene {
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut single = vk::PhysicalDeviceMultisampledRenderToSingleSampledFeaturesEXT::default()
            .multisampled_render_to_single_sampled(true);
        let extensions = [c"VK_EXT_multisampled_render_to_single_sampled"];
        let c = Context::with(&[], &extensions, &mut [&mut rendering, &mut single]);
        let target = image(&c, vk::SampleCountFlags::TYPE_1, SIDE, 1);
        // Two triangles with a common edge, which goes through no pixel's centre.
        let corners = [[-0.9, -0.83], [0.71, 0.9], [-0.8, 0.77], [0.71, 0.9], [-0.9, -0.83], [0.83, -0.67]];
        let color = [1.0f32, 0.5, 0.25, 1.0];
        let words: Vec<u32> =
            corners.iter().flat_map(|at| at.iter().chain(&color)).map(|v: &f32| v.to_bits()).collect();
        let mut vertices = c.buffer(4 * words.len() as u64);
        vertices.fill_words(|i| words[i as usize]);
        // SAFETY: valid usage.
        let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
        let vertex = module(&c, &info::spirv(include_bytes!("../data/triangle.vert.spv")));
        let fragment = module(&c, &info::spirv(include_bytes!("../data/triangle.frag.spv")));
        Scene { c, target, vertices, layout, modules: [vertex, fragment] }
    }

    fn pipeline(&self, samples: vk::SampleCountFlags, pass: vk::RenderPass) -> vk::Pipeline {
        let [vertex, fragment] = self.modules;
        let attributes = &[(vk::Format::R32G32_SFLOAT, 0), (vk::Format::R32G32B32A32_SFLOAT, 8)];
        let new = info::Triangles::new(vertex, fragment, self.layout);
        let triangles = info::Triangles { samples, pass, stride: 24, attributes, side: Some(SIDE), ..new };
        triangles.create(&self.c.device).expect("pipeline")
    }

    fn draw(&self, b: vk::CommandBuffer, pipeline: vk::Pipeline, first: u32, count: u32) {
        // SAFETY: valid usage.
        unsafe {
            self.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            self.c.device.cmd_bind_vertex_buffers(b, 0, &[self.vertices.buffer], &[0]);
            self.c.device.cmd_draw(b, count, 1, first, 0);
        }
    }

    /// Renders to the target, or another one, with four samples.
    fn render(&self, b: vk::CommandBuffer, how: How, with: impl FnOnce()) {
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(self.target.view)
            .image_layout(GENERAL)
            .load_op(how.load_op)
            .store_op(how.store_op)
            .resolve_mode(how.resolve_mode)];
        let mut single = vk::MultisampledRenderToSingleSampledInfoEXT::default()
            .multisampled_render_to_single_sampled_enable(true)
            .rasterization_samples(SAMPLES);
        let info = vk::RenderingInfo::default()
            .flags(how.flags)
            .render_area(info::area(SIDE))
            .layer_count(1)
            .color_attachments(&attachments)
            .push_next(&mut single);
        // SAFETY: valid usage.
        unsafe {
            self.c.device.cmd_begin_rendering(b, &info);
            with();
            self.c.device.cmd_end_rendering(b);
        }
    }

    fn texels(&self) -> Vec<[u8; 4]> {
        self.c.read_image(&self.target, 4).as_chunks::<4>().0.to_vec()
    }

    /// Fills the target with different texels, which are returned.
    fn fill(&self) -> Vec<[u8; 4]> {
        let mut pattern = self.c.buffer(u64::from(4 * SIDE * SIDE));
        pattern.fill_words(|i| i.wrapping_mul(0x9e37_79b9) >> 3);
        let done = self.c.run(|b| {
            let region = common::region(&self.target);
            // SAFETY: valid usage.
            unsafe { self.c.device.cmd_copy_buffer_to_image(b, pattern.buffer, self.target.image, GENERAL, &[region]) };
        });
        assert_eq!(done, Ok(()));
        let texels = pattern.bytes().as_chunks::<4>().0.to_vec();
        self.c.free(pattern);
        texels
    }

    /// Returns the number of samples of each pixel that the first triangle covers, by a
    /// multisampled attachment that is resolved.
    fn covered(&self) -> Vec<u32> {
        let samples = image(&self.c, SAMPLES, SIDE, 1);
        let pipeline = self.pipeline(SAMPLES, vk::RenderPass::null());
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(samples.view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::DONT_CARE)
            .resolve_mode(vk::ResolveModeFlags::AVERAGE)
            .resolve_image_layout(GENERAL)
            .resolve_image_view(self.target.view)];
        let info =
            vk::RenderingInfo::default().render_area(info::area(SIDE)).layer_count(1).color_attachments(&attachments);
        // SAFETY: valid usage.
        let done = self.c.run(|b| unsafe {
            self.c.device.cmd_begin_rendering(b, &info);
            self.draw(b, pipeline, 0, 3);
            self.c.device.cmd_end_rendering(b);
        });
        assert_eq!(done, Ok(()));
        // SAFETY: valid usage.
        unsafe { self.c.device.destroy_pipeline(pipeline, None) };
        self.c.free_image(samples);
        let covered: Vec<u32> = self.texels().iter().map(|[.., a]| (u32::from(*a) * 4 + 127) / 255).collect();
        assert!((1..4).all(|some| covered.contains(&some)), "all kinds of edges");
        covered
    }

    fn destroy(self) {
        // SAFETY: valid usage.
        unsafe {
            self.modules.iter().for_each(|module| self.c.device.destroy_shader_module(*module, None));
            self.c.device.destroy_pipeline_layout(self.layout, None);
        }
        self.c.free(self.vertices);
        self.c.free_image(self.target);
    }
}

/// Checks the mean of the triangle's colour in the covered ones of four samples, and of the
/// previous contents in the others.
fn check(got: &[[u8; 4]], covered: &[u32], before: &[[u8; 4]]) {
    for (i, got) in got.iter().enumerate() {
        let n = covered[i];
        for (c, color) in [255, 128, 64, 255].into_iter().enumerate() {
            let sum = n * color + (4 - n) * u32::from(before[i][c]);
            let near = u32::from((1..4).contains(&n)) * 2;
            assert!(
                (4 * u32::from(got[c])).abs_diff(sum) <= near,
                "pixel {i}, {n} samples: {got:?} over {:?}",
                before[i]
            );
        }
    }
}

#[test]
fn samples_begin_as_the_attachment_and_are_resolved_to_it() {
    let s = Scene::new();
    let covered = s.covered();
    let pipeline = s.pipeline(SAMPLES, vk::RenderPass::null());
    for how in [
        LOADED,
        How { load_op: vk::AttachmentLoadOp::CLEAR, ..LOADED },
        // An attachment without a resolve mode uses the average.
        How { resolve_mode: vk::ResolveModeFlags::NONE, ..LOADED },
        How { store_op: vk::AttachmentStoreOp::NONE, ..LOADED },
    ] {
        let before = s.fill();
        // Twice: with new memory, and with memory that was used before.
        for _ in 0..2 {
            let done = s.c.run(|b| s.render(b, how, || s.draw(b, pipeline, 0, 3)));
            assert_eq!(done, Ok(()));
            match (how.load_op, how.store_op) {
                (_, vk::AttachmentStoreOp::NONE) => assert_eq!(s.texels(), before),
                (vk::AttachmentLoadOp::CLEAR, _) => check(&s.texels(), &covered, &vec![[0; 4]; before.len()]),
                _ => check(&s.texels(), &covered, &before),
            }
            s.fill();
        }
    }
    // SAFETY: valid usage.
    unsafe { s.c.device.destroy_pipeline(pipeline, None) };
    s.destroy();
}

/// Checks that samples are kept while rendering is suspended: no background shows through the
/// common edge of two triangles.
#[test]
fn suspended_rendering_goes_on_with_its_samples() {
    let s = Scene::new();
    let pipeline = s.pipeline(SAMPLES, vk::RenderPass::null());
    s.fill();
    let at_once = s.c.run(|b| s.render(b, LOADED, || s.draw(b, pipeline, 0, 6)));
    assert_eq!(at_once, Ok(()));
    let want = s.texels();
    s.fill();
    let in_parts = s.c.run(|b| {
        let part = |flags, first| s.render(b, How { flags, ..LOADED }, || s.draw(b, pipeline, first, 3));
        part(vk::RenderingFlags::SUSPENDING, 0);
        part(vk::RenderingFlags::RESUMING, 3);
    });
    assert_eq!(in_parts, Ok(()));
    assert!(s.texels() == want, "as at once");
    let middle = want[(SIDE / 2 * SIDE + SIDE / 2) as usize];
    assert_eq!(middle, [255, 128, 64, 255], "the edge is whole");
    // SAFETY: valid usage.
    unsafe { s.c.device.destroy_pipeline(pipeline, None) };
    s.destroy();
}

/// Checks a subpass with four samples, and one with one sample that draws over a part of the
/// first's result.
#[test]
fn subpasses_of_a_render_pass() {
    let s = Scene::new();
    let covered = s.covered();
    let before = s.fill();
    let description = [vk::AttachmentDescription2::default()
        .format(RGBA8)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::LOAD)
        .store_op(vk::AttachmentStoreOp::STORE)
        .initial_layout(GENERAL)
        .final_layout(GENERAL)];
    let reference = [vk::AttachmentReference2::default().layout(GENERAL).aspect_mask(vk::ImageAspectFlags::COLOR)];
    let mut single = vk::MultisampledRenderToSingleSampledInfoEXT::default()
        .multisampled_render_to_single_sampled_enable(true)
        .rasterization_samples(SAMPLES);
    let subpass = || {
        let subpass = vk::SubpassDescription2::default().pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS);
        subpass.color_attachments(&reference)
    };
    let subpasses = [subpass().push_next(&mut single), subpass()];
    let dependency = [vk::SubpassDependency2::default()
        .src_subpass(0)
        .dst_subpass(1)
        .src_stage_mask(vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT)
        .dst_stage_mask(vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT)
        .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
        .dst_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_READ | vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
        .dependency_flags(vk::DependencyFlags::BY_REGION)];
    let info =
        vk::RenderPassCreateInfo2::default().attachments(&description).subpasses(&subpasses).dependencies(&dependency);
    let d = &s.c.device;
    // SAFETY: valid usage.
    unsafe {
        let pass = d.create_render_pass2(&info, None).expect("render pass");
        let views = [s.target.view];
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(pass)
            .attachments(&views)
            .width(SIDE)
            .height(SIDE)
            .layers(1);
        let framebuffer = d.create_framebuffer(&info, None).expect("framebuffer");
        let pipeline = s.pipeline(SAMPLES, pass);
        let done = s.c.run(|b| {
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(pass)
                .framebuffer(framebuffer)
                .render_area(info::area(SIDE));
            d.cmd_begin_render_pass(b, &begin, vk::SubpassContents::INLINE);
            s.draw(b, pipeline, 0, 3);
            d.cmd_next_subpass(b, vk::SubpassContents::INLINE);
            let value = vk::ClearValue { color: vk::ClearColorValue { float32: [0.0, 1.0, 0.0, 1.0] } };
            let aspect_mask = vk::ImageAspectFlags::COLOR;
            let clear = vk::ClearAttachment { aspect_mask, color_attachment: 0, clear_value: value };
            let rect = vk::ClearRect { rect: info::area(2), base_array_layer: 0, layer_count: 1 };
            d.cmd_clear_attachments(b, &[clear], &[rect]);
            d.cmd_end_render_pass(b);
        });
        assert_eq!(done, Ok(()));
        let mut got = s.texels();
        for i in (0..4).map(|i| (i / 2 * SIDE + i % 2) as usize) {
            assert_eq!(std::mem::replace(&mut got[i], before[i]), [0, 255, 0, 255]);
            assert_eq!(covered[i], 0, "in a corner");
        }
        check(&got, &covered, &before);
        d.destroy_pipeline(pipeline, None);
        d.destroy_framebuffer(framebuffer, None);
        d.destroy_render_pass(pass, None);
    }
    s.destroy();
}

#[test]
fn samples_that_no_memory_holds_are_refused_where_they_are_recorded() {
    let mut s = Scene::new();
    // SAFETY: valid usage.
    let heap = unsafe { s.c.instance.get_physical_device_memory_properties(s.c.physical) }.memory_heaps[0].size;
    // A target of an eighth of the heap, whose memory is not touched, with four samples in sixteen
    // layers more.
    let side = ((heap / 32).isqrt() as u32).min(16384);
    let layers = (heap / 8 / (4 * u64::from(side) * u64::from(side))).max(1) as u32;
    let large = image(&s.c, vk::SampleCountFlags::TYPE_1, side, layers);
    let small = std::mem::replace(&mut s.target, large);
    let attachments = [vk::RenderingAttachmentInfo::default()
        .image_view(s.target.view)
        .image_layout(GENERAL)
        .store_op(vk::AttachmentStoreOp::STORE)
        .resolve_mode(vk::ResolveModeFlags::AVERAGE)];
    let mut single = vk::MultisampledRenderToSingleSampledInfoEXT::default()
        .multisampled_render_to_single_sampled_enable(true)
        .rasterization_samples(vk::SampleCountFlags::TYPE_16);
    let info = vk::RenderingInfo::default()
        .render_area(info::area(side))
        .layer_count(layers)
        .color_attachments(&attachments)
        .push_next(&mut single);
    let allocate = vk::CommandBufferAllocateInfo::default().command_pool(s.c.pool).command_buffer_count(1);
    // SAFETY: valid usage.
    unsafe {
        let b = s.c.device.allocate_command_buffers(&allocate).expect("command buffer")[0];
        s.c.device.begin_command_buffer(b, &Default::default()).expect("begin");
        s.c.device.cmd_begin_rendering(b, &info);
        s.c.device.cmd_end_rendering(b);
        assert_eq!(s.c.device.end_command_buffer(b), Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    }
    // The device still works.
    s.c.free_image(std::mem::replace(&mut s.target, small));
    let pipeline = s.pipeline(SAMPLES, vk::RenderPass::null());
    s.fill();
    assert_eq!(s.c.run(|b| s.render(b, LOADED, || s.draw(b, pipeline, 0, 3))), Ok(()));
    // SAFETY: valid usage.
    unsafe { s.c.device.destroy_pipeline(pipeline, None) };
    s.destroy();
}
