//! Tests of the order of fragments of one pixel, which follows the order of primitives. An
//! interlock guarantees it, and other drivers provide it for pipelines that read an attachment that
//! they write.

use crate::common::{Context, Image, image_info, info, spirv};
use crate::pipeline::{AREA, GENERAL, RGBA8, Set, create, graphics, render};
use ash::vk;
use cts_runner::vk::{PipelineDesc, Target, blend_state};

const STORAGE_BUFFER: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
/// Number of triangles over the same three pixels.
const TRIANGLES: u32 = 200;

#[test]
fn interlocked_sections_of_a_pixel_are_in_the_order_of_primitives() {
    let features = vk::PhysicalDeviceFeatures::default().fragment_stores_and_atomics(true);
    let mut features = vk::PhysicalDeviceFeatures2::default().features(features);
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut interlock =
        vk::PhysicalDeviceFragmentShaderInterlockFeaturesEXT::default().fragment_shader_pixel_interlock(true);
    let extensions = [c"VK_EXT_fragment_shader_interlock", c"VK_KHR_dynamic_rendering"];
    let c = Context::with(&[], &extensions, &mut [&mut features, &mut rendering, &mut interlock]);
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let set = Set::new(&c, &[(STORAGE_BUFFER, 1)]);
    let buffer = c.buffer(64 * 4);
    set.buffers(&c, 0, STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let vertex = spirv(include_bytes!("../data/ordered.vert.spv"));
    let fragment = spirv(include_bytes!("../data/ordered.frag.spv"));
    let pipeline = graphics(&c, &vertex, &fragment, set.layout, false);
    let drawn = render(&c, &target, AREA, |b| {
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
            c.device.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, set.layout, 0, &[set.set], &[]);
            c.device.cmd_draw(b, 3, TRIANGLES, 0, 0);
        }
    });
    drawn.expect("drawn");
    let all = (0..TRIANGLES).fold(0u32, |n, number| n.wrapping_mul(5).wrapping_add(number + 1));
    let covered = [(6, 6), (7, 6), (6, 7)].map(|(x, y)| x + 8 * y);
    for (i, word) in buffer.words().into_iter().enumerate() {
        assert_eq!(word, if covered.contains(&i) { all } else { 0 }, "{i}");
    }
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(buffer);
    c.free_image(target);
}

/// Way in which a fragment stage reads the attachment that it writes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReadMethod {
    /// Reads it as an input attachment of its subpass.
    Subpass,
    /// Reads it as an input attachment of dynamic rendering (VK_KHR_dynamic_rendering_local_read).
    LocalRead,
    /// Reads it as a sampled image (VK_EXT_attachment_feedback_loop_layout).
    FeedbackLoop,
}

const READ_METHODS: [ReadMethod; 3] = [ReadMethod::Subpass, ReadMethod::LocalRead, ReadMethod::FeedbackLoop];
const NUMBERS: vk::Format = vk::Format::R32_UINT;

fn reading_context() -> Context {
    let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
    let mut local =
        vk::PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR::default().dynamic_rendering_local_read(true);
    let mut loops =
        vk::PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT::default().attachment_feedback_loop_layout(true);
    let extensions = [
        c"VK_KHR_dynamic_rendering",
        c"VK_KHR_dynamic_rendering_local_read",
        c"VK_EXT_attachment_feedback_loop_layout",
    ];
    Context::with(&[], &extensions, &mut [&mut rendering, &mut local, &mut loops])
}

/// Creates a subpass whose colour attachment is its input attachment, which it may read after its
/// own writes.
fn reading_pass(c: &Context) -> vk::RenderPass {
    let attachments = [vk::AttachmentDescription::default()
        .format(NUMBERS)
        .samples(vk::SampleCountFlags::TYPE_1)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .store_op(vk::AttachmentStoreOp::STORE)
        .final_layout(GENERAL)];
    let reference = [vk::AttachmentReference { attachment: 0, layout: GENERAL }];
    let subpasses = [vk::SubpassDescription::default().color_attachments(&reference).input_attachments(&reference)];
    let dependencies = [vk::SubpassDependency::default()
        .src_stage_mask(vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT)
        .dst_stage_mask(vk::PipelineStageFlags::FRAGMENT_SHADER)
        .src_access_mask(vk::AccessFlags::COLOR_ATTACHMENT_WRITE)
        .dst_access_mask(vk::AccessFlags::INPUT_ATTACHMENT_READ)
        .dependency_flags(vk::DependencyFlags::BY_REGION)];
    let info =
        vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses).dependencies(&dependencies);
    // SAFETY: valid usage.
    unsafe { c.device.create_render_pass(&info, None) }.expect("render pass")
}

/// Creates a pipeline without any flag for the order of its reads.
fn reading_pipeline(c: &Context, method: ReadMethod, layout: vk::PipelineLayout, pass: vk::RenderPass) -> vk::Pipeline {
    let fragment = match method {
        ReadMethod::FeedbackLoop => shader!("ordered_loop.frag"),
        ReadMethod::Subpass | ReadMethod::LocalRead => shader!("ordered_input.frag"),
    };
    let vertex = shader!("ordered.vert");
    let (target, flags) = match method {
        ReadMethod::Subpass => (Target::Subpass(pass, 0), vk::PipelineCreateFlags::empty()),
        ReadMethod::LocalRead => (Target::Formats(&[NUMBERS]), vk::PipelineCreateFlags::empty()),
        ReadMethod::FeedbackLoop => {
            (Target::Formats(&[NUMBERS]), vk::PipelineCreateFlags::COLOR_ATTACHMENT_FEEDBACK_LOOP_EXT)
        }
    };
    let desc = PipelineDesc {
        viewports: &[info::viewport(64)],
        scissors: &[info::area(64)],
        blend: &[blend_state(None).color_write_mask(vk::ColorComponentFlags::R)],
        flags,
        ..PipelineDesc::new(&[], layout, target)
    };
    let code = [(vk::ShaderStageFlags::VERTEX, &vertex[..]), (vk::ShaderStageFlags::FRAGMENT, &fragment)];
    create(c, &code, desc).expect("pipeline")
}

fn reading_target(c: &Context) -> Image {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT
        | vk::ImageUsageFlags::INPUT_ATTACHMENT
        | vk::ImageUsageFlags::SAMPLED
        | vk::ImageUsageFlags::ATTACHMENT_FEEDBACK_LOOP_EXT
        | vk::ImageUsageFlags::TRANSFER_SRC;
    c.image_of(&image_info(NUMBERS, [64, 64], usage), vk::ImageAspectFlags::COLOR)
}

/// Checks that a pipeline which reads the attachment that it writes sees what earlier primitives
/// wrote there, as on other drivers. Without the flags of
/// VK_EXT_rasterization_order_attachment_access the specification guarantees nothing between two
/// barriers.
#[test]
fn pipelines_that_read_their_own_attachment_see_earlier_primitives() {
    let c = reading_context();
    let d = &c.device;
    for method in READ_METHODS {
        let kind = match method {
            ReadMethod::FeedbackLoop => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            ReadMethod::Subpass | ReadMethod::LocalRead => vk::DescriptorType::INPUT_ATTACHMENT,
        };
        let (target, set, pass) = (reading_target(&c), Set::new(&c, &[(kind, 1)]), reading_pass(&c));
        // SAFETY: valid usage.
        let sampler = unsafe { d.create_sampler(&Default::default(), None) }.expect("sampler");
        set.images(&c, 0, kind, &[(target.view, sampler)]);
        let pipeline = reading_pipeline(&c, method, set.layout, pass);
        let draws = |b| {
            // SAFETY: valid usage.
            unsafe {
                d.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, pipeline);
                d.cmd_bind_descriptor_sets(b, vk::PipelineBindPoint::GRAPHICS, set.layout, 0, &[set.set], &[]);
                d.cmd_draw(b, 3, TRIANGLES, 0, 0);
            }
        };
        if method == ReadMethod::Subpass {
            let views = [target.view];
            let info = vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&views);
            // SAFETY: the usage is valid in this block and in the next ones.
            let framebuffer = unsafe { d.create_framebuffer(&info.width(64).height(64).layers(1), None) };
            let framebuffer = framebuffer.expect("framebuffer");
            let clear = [vk::ClearValue::default()];
            let info = vk::RenderPassBeginInfo::default()
                .render_pass(pass)
                .framebuffer(framebuffer)
                .render_area(AREA)
                .clear_values(&clear);
            // SAFETY: the usage is valid.
            c.run(|b| unsafe {
                d.cmd_begin_render_pass(b, &info, vk::SubpassContents::INLINE);
                draws(b);
                d.cmd_end_render_pass(b);
            })
            .expect("drawn");
            // SAFETY: the framebuffer is not in use any more.
            unsafe { d.destroy_framebuffer(framebuffer, None) };
        } else {
            render(&c, &target, AREA, draws).expect("drawn");
        }
        let all = (0..TRIANGLES).fold(0u32, |n, number| n.wrapping_mul(5).wrapping_add(number + 1));
        let covered = [(6, 6), (7, 6), (6, 7)].map(|(x, y)| x + 64 * y);
        for (i, bytes) in c.read_image(&target, 4).as_chunks::<4>().0.iter().enumerate() {
            let want = if covered.contains(&i) { all } else { 0 };
            assert_eq!(u32::from_le_bytes(*bytes), want, "{method:?}, pixel {i}");
        }
        // SAFETY: the objects are not in use any more.
        unsafe {
            d.destroy_pipeline(pipeline, None);
            d.destroy_sampler(sampler, None);
            d.destroy_render_pass(pass, None);
        }
        set.destroy(&c);
        c.free_image(target);
    }
}
