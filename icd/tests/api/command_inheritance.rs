//! Tests of state that command buffers inherit: viewports and scissors
//! (VK_NV_inherited_viewport_scissor), and all state (VK_NV_command_buffer_inheritance).

use crate::common::{Buffer, Context, Image, info};
use crate::pipeline::{AREA, GENERAL, Messenger, RGBA8, Set, compute, module};
use ash::vk;
use std::ffi::{CStr, c_void};

const GRAPHICS: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;
const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 255, 0, 255];
const NONE: [u8; 4] = [0; 4];

const ALL: &CStr = c"VK_NV_command_buffer_inheritance";

/// `VkPhysicalDeviceCommandBufferInheritanceFeaturesNV`, which `ash` does not know.
#[repr(C)]
struct AllState {
    s_type: vk::StructureType,
    p_next: *mut c_void,
    command_buffer_inheritance: vk::Bool32,
}

impl AllState {
    fn enabled() -> AllState {
        let s_type = vk::StructureType::from_raw(1_000_559_000);
        AllState { s_type, p_next: std::ptr::null_mut(), command_buffer_inheritance: vk::TRUE }
    }
}

// SAFETY: the structure begins as every structure of a chain does, and extends the create info.
unsafe impl vk::ExtendsDeviceCreateInfo for AllState {}

/// A target, a pipeline with a dynamic viewport and scissor, and triangles over all of the
/// viewport: one red, one green.
struct Scene {
    c: Context,
    target: Image,
    pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    vertices: Buffer,
}

impl Scene {
    fn new(instance: &[&CStr], extension: &CStr) -> Scene {
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let mut viewports =
            vk::PhysicalDeviceInheritedViewportScissorFeaturesNV::default().inherited_viewport_scissor2_d(true);
        let mut all = AllState::enabled();
        let c = match extension == ALL {
            false => Context::with(instance, &[extension], &mut [&mut rendering, &mut viewports]),
            true => Context::with(instance, &[extension], &mut [&mut rendering, &mut all]),
        };
        let target = c.image(RGBA8, [64; 2], vk::SampleCountFlags::TYPE_1, 1);
        let corners = [[-1.0f32, -1.0], [3.0, -1.0], [-1.0, 3.0]];
        let of =
            |color: [f32; 4]| corners.iter().flat_map(move |at| at.iter().copied().chain(color)).collect::<Vec<_>>();
        let words: Vec<u32> =
            [of([1.0, 0.0, 0.0, 1.0]), of([0.0, 1.0, 0.0, 1.0])].concat().iter().map(|v| v.to_bits()).collect();
        let mut vertices = c.buffer(4 * words.len() as u64);
        vertices.fill_words(|i| words[i as usize]);
        // SAFETY: valid usage.
        let layout = unsafe { c.device.create_pipeline_layout(&Default::default(), None) }.expect("layout");
        let [vertex, fragment] = [shader!("triangle.vert"), shader!("triangle.frag")].map(|words| module(&c, &words));
        let attributes = &[(vk::Format::R32G32_SFLOAT, 0), (vk::Format::R32G32B32A32_SFLOAT, 8)];
        let triangles = info::Triangles { stride: 24, attributes, ..info::Triangles::new(vertex, fragment, layout) };
        let pipeline = triangles.create(&c.device).expect("pipeline");
        // SAFETY: valid usage.
        [vertex, fragment].into_iter().for_each(|module| unsafe { c.device.destroy_shader_module(module, None) });
        Scene { c, target, pipeline, layout, vertices }
    }

    /// Renders over a cleared target.
    fn render(&self, flags: vk::RenderingFlags, with: impl FnOnce(vk::CommandBuffer)) {
        let attachments = [vk::RenderingAttachmentInfo::default()
            .image_view(self.target.view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)];
        let info =
            vk::RenderingInfo::default().flags(flags).render_area(AREA).layer_count(1).color_attachments(&attachments);
        // SAFETY: valid usage.
        let drawn = self.c.run(|b| unsafe {
            self.c.device.cmd_begin_rendering(b, &info);
            with(b);
            self.c.device.cmd_end_rendering(b);
        });
        drawn.expect("drawn");
    }

    /// Records a secondary command buffer for rendering; `viewports` are those that it inherits.
    fn secondary(&self, viewports: &[vk::Viewport], with: impl FnOnce(vk::CommandBuffer)) -> vk::CommandBuffer {
        let d = &self.c.device;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.c.pool)
            .level(vk::CommandBufferLevel::SECONDARY)
            .command_buffer_count(1);
        let mut formats = vk::CommandBufferInheritanceRenderingInfo::default()
            .color_attachment_formats(&[RGBA8])
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let mut inherited =
            vk::CommandBufferInheritanceViewportScissorInfoNV::default().viewport_scissor2_d(!viewports.is_empty());
        inherited.viewport_depth_count = viewports.len() as u32;
        inherited.p_viewport_depths = viewports.as_ptr();
        let mut inheritance = vk::CommandBufferInheritanceInfo::default().push_next(&mut formats);
        if !viewports.is_empty() {
            inheritance = inheritance.push_next(&mut inherited);
        }
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
            .inheritance_info(&inheritance);
        // SAFETY: valid usage.
        unsafe {
            let b = d.allocate_command_buffers(&info).expect("command buffer")[0];
            d.begin_command_buffer(b, &begin).expect("begin");
            with(b);
            d.end_command_buffer(b).expect("end");
            b
        }
    }

    fn bind(&self, b: vk::CommandBuffer) {
        // SAFETY: valid usage.
        unsafe {
            self.c.device.cmd_bind_pipeline(b, GRAPHICS, self.pipeline);
            self.c.device.cmd_bind_vertex_buffers(b, 0, &[self.vertices.buffer], &[0]);
        }
    }

    /// Returns the texels at these places of the diagonal.
    fn diagonal<const N: usize>(&self, places: [usize; N]) -> [[u8; 4]; N] {
        let texels = self.c.read_image(&self.target, 4);
        places.map(|at| core::array::from_fn(|i| texels[4 * (64 * at + at) + i]))
    }

    fn destroy(self) {
        // SAFETY: nothing is in use any more.
        unsafe {
            self.c.device.destroy_pipeline(self.pipeline, None);
            self.c.device.destroy_pipeline_layout(self.layout, None);
        }
        self.c.free(self.vertices);
        self.c.free_image(self.target);
    }
}

fn rectangle(from: i32, to: i32) -> vk::Rect2D {
    let side = (to - from) as u32;
    vk::Rect2D { offset: vk::Offset2D { x: from, y: from }, extent: vk::Extent2D { width: side, height: side } }
}

/// Checks viewports and scissors of the primary command buffer, and of earlier secondary ones.
#[test]
fn secondary_command_buffers_inherit_viewports_and_scissors() {
    let scene = Scene::new(&[], c"VK_NV_inherited_viewport_scissor");
    let d = &scene.c.device;
    let viewport = info::viewport(32);
    // SAFETY: valid usage.
    let draws = scene.secondary(&[viewport], |b| unsafe {
        scene.bind(b);
        d.cmd_draw(b, 3, 1, 0, 0);
    });
    // SAFETY: valid usage.
    let sets = scene.secondary(&[], |b| unsafe { d.cmd_set_scissor(b, 0, &[rectangle(8, 24)]) });
    for (list, expected) in [
        (&[draws][..], [RED, RED, RED, NONE]),
        (&[sets, draws], [NONE, RED, NONE, NONE]),
        (&[draws, sets], [RED, RED, RED, NONE]),
    ] {
        // SAFETY: valid usage.
        scene.render(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS, |b| unsafe {
            d.cmd_set_viewport(b, 0, &[viewport]);
            d.cmd_set_scissor(b, 0, &[rectangle(0, 64)]);
            d.cmd_execute_commands(b, list);
        });
        assert_eq!(scene.diagonal([4, 16, 28, 40]), expected);
    }
    scene.destroy();
}

/// Checks that a primary command buffer draws with the state of the one before it, and after its
/// secondary ones with theirs.
#[test]
fn command_buffers_inherit_the_state_of_the_queue() {
    let scene = Scene::new(&[], ALL);
    let d = &scene.c.device;
    // SAFETY: valid usage.
    let bound = scene.c.run(|b| unsafe {
        scene.bind(b);
        d.cmd_set_viewport(b, 0, &[info::viewport(64)]);
        d.cmd_set_scissor(b, 0, &[rectangle(0, 32)]);
    });
    bound.expect("bound");
    // SAFETY: valid usage.
    scene.render(vk::RenderingFlags::empty(), |b| unsafe { d.cmd_draw(b, 3, 1, 0, 0) });
    assert_eq!(scene.diagonal([16, 48]), [RED, NONE]);

    // SAFETY: valid usage.
    let narrows = scene.secondary(&[], |b| unsafe { d.cmd_set_scissor(b, 0, &[rectangle(8, 24)]) });
    // SAFETY: valid usage.
    let draws = scene.secondary(&[], |b| unsafe { d.cmd_draw(b, 3, 1, 3, 0) });
    // SAFETY: valid usage.
    scene.render(vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS, |b| unsafe {
        d.cmd_execute_commands(b, &[narrows, draws]);
    });
    assert_eq!(scene.diagonal([4, 16, 48]), [NONE, GREEN, NONE]);
    // SAFETY: valid usage.
    scene.render(vk::RenderingFlags::empty(), |b| unsafe { d.cmd_draw(b, 3, 1, 0, 0) });
    assert_eq!(scene.diagonal([4, 16, 48]), [NONE, RED, NONE]);
    scene.destroy();
}

/// Checks that a buffer that was destroyed is inherited without effect: another one replaces it,
/// and nothing is reported.
#[test]
fn destroyed_buffers_are_not_inherited() {
    let mut scene = Scene::new(&[c"VK_EXT_debug_utils"], ALL);
    let messenger = Messenger::new(&scene.c);
    scene.c.run(|b| scene.bind(b)).expect("bound");
    let mut other = scene.c.buffer(scene.vertices.size);
    let words = scene.vertices.words();
    other.fill_words(|i| words[i as usize]);
    scene.c.free(std::mem::replace(&mut scene.vertices, other));
    let d = &scene.c.device;
    // SAFETY: valid usage.
    scene.render(vk::RenderingFlags::empty(), |b| unsafe {
        d.cmd_bind_vertex_buffers(b, 0, &[scene.vertices.buffer], &[72]);
        d.cmd_set_viewport(b, 0, &[info::viewport(64)]);
        d.cmd_set_scissor(b, 0, &[rectangle(0, 64)]);
        d.cmd_draw(b, 3, 1, 0, 0);
    });
    assert_eq!((scene.diagonal([16, 48]), messenger.take()), ([GREEN; 2], Vec::new()));
    drop(messenger);
    scene.destroy();
}

/// Checks pipelines, descriptors and push constants of dispatches.
#[test]
fn dispatches_inherit_the_state_of_the_queue() {
    let c = Context::with(&[], &[ALL], &mut [&mut AllState::enabled()]);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut data = c.buffer(8 * 4);
    set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &shader!("count.comp"), &[]);
    let point = vk::PipelineBindPoint::COMPUTE;
    // SAFETY: valid usage.
    let bound = c.run(|b| unsafe {
        c.device.cmd_bind_pipeline(b, point, pipeline);
        c.device.cmd_bind_descriptor_sets(b, point, set.layout, 0, &[set.set], &[]);
    });
    bound.expect("bound");
    let next = |n: u32| n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223).wrapping_add(n >> 7);
    for (push, expected) in [(Some(1u32), [0, 1, 2].map(next)), (None, [0, 1, 2].map(next)), (Some(0), [0, 1, 2])] {
        data.fill_words(|_| 7);
        // SAFETY: valid usage.
        let done = c.run(|b| unsafe {
            if let Some(push) = push {
                c.device.cmd_push_constants(b, set.layout, vk::ShaderStageFlags::ALL, 0, &push.to_le_bytes());
            }
            c.device.cmd_dispatch(b, 1, 1, 1);
        });
        done.expect("done");
        assert_eq!(data.words()[..3], expected, "{push:?}");
    }
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(data);
}
