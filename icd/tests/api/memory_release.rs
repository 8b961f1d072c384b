//! Checks that memory returns to its heap when vkFreeMemory was called and the buffers and images
//! bound to it are destroyed, even if recorded commands or views still refer to them. A command
//! that is executed later does nothing, and a message reports it.

use crate::common::{Context, image_info, layers, range};
use crate::pipeline::{GENERAL, Messenger};
use ash::vk;
use std::time::{Duration, Instant};

const COLOR: vk::ImageAspectFlags = vk::ImageAspectFlags::COLOR;
const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;
const DEPTH: vk::Format = vk::Format::D32_SFLOAT;
const BYTES: u64 = 1 << 16;
const SIDE: u32 = 64;

/// A device, small resources that stay, and the size of the larger half of its heap.
struct Half {
    c: Context,
    messenger: Messenger,
    small: vk::Buffer,
    images: [vk::Image; 3],
    bytes: u64,
}

fn info(format: vk::Format, samples: vk::SampleCountFlags) -> vk::ImageCreateInfo<'static> {
    let attachment = match format {
        DEPTH => vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
        _ => vk::ImageUsageFlags::COLOR_ATTACHMENT,
    };
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST | attachment;
    image_info(format, [SIDE; 2], usage).samples(samples)
}

impl Half {
    fn new() -> Half {
        let mut features = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let extensions = [c"VK_EXT_conditional_rendering", c"VK_EXT_transform_feedback"];
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut conditional = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default().conditional_rendering(true);
        let mut chain: [&mut dyn crate::common::Chain; 3] = [&mut features, &mut feedback, &mut conditional];
        let c = Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut chain);
        let messenger = Messenger::new(&c);
        let small = c.buffer(BYTES).buffer;
        let one = vk::SampleCountFlags::TYPE_1;
        let kinds = [(RGBA8, one), (DEPTH, one), (RGBA8, vk::SampleCountFlags::TYPE_4)];
        let images = kinds.map(|(format, samples)| {
            let aspect = if format == DEPTH { vk::ImageAspectFlags::DEPTH } else { COLOR };
            c.image_of(&info(format, samples), aspect).image
        });
        // SAFETY: valid usage.
        let heaps = unsafe { c.instance.get_physical_device_memory_properties(c.physical) }.memory_heaps;
        Half { c, messenger, small, images, bytes: heaps[0].size / 2 + (1 << 20) }
    }

    /// Allocates more than half of the heap, so that a second such allocation fails at the same
    /// time.
    fn memory(&self) -> Result<vk::DeviceMemory, vk::Result> {
        let info = vk::MemoryAllocateInfo::default().allocation_size(self.bytes);
        // SAFETY: valid usage.
        unsafe { self.c.device.allocate_memory(&info, None) }
    }

    fn buffer(&self, memory: vk::DeviceMemory) -> vk::Buffer {
        let usage = vk::BufferUsageFlags::from_raw(0x1ff)
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT
            | vk::BufferUsageFlags::CONDITIONAL_RENDERING_EXT;
        let info = vk::BufferCreateInfo::default().size(BYTES).usage(usage);
        // SAFETY: valid usage.
        unsafe {
            let buffer = self.c.device.create_buffer(&info, None).expect("buffer");
            self.c.device.bind_buffer_memory(buffer, memory, 0).expect("bound");
            buffer
        }
    }

    fn image(&self, memory: vk::DeviceMemory, info: &vk::ImageCreateInfo<'_>) -> vk::Image {
        // SAFETY: valid usage.
        unsafe {
            let image = self.c.device.create_image(info, None).expect("image");
            self.c.device.bind_image_memory(image, memory, 0).expect("bound");
            image
        }
    }

    fn submit(&self, list: vk::CommandBuffer) {
        let lists = [list];
        let submit = [vk::SubmitInfo::default().command_buffers(&lists)];
        // SAFETY: the handles are live.
        unsafe { self.c.device.queue_submit(self.c.queue, &submit, vk::Fence::null()) }.expect("submitted");
    }

    fn idle(&self) {
        // SAFETY: valid usage.
        unsafe { self.c.device.device_wait_idle() }.expect("idle");
    }

    /// Checks that the larger half of the heap is free.
    fn check_free(&self, what: &str) {
        let memory = self.memory().unwrap_or_else(|error| panic!("{what}: {error}"));
        // SAFETY: valid usage.
        unsafe { self.c.device.free_memory(memory, None) };
    }

    /// Checks that the commands of an executed list do not keep memory. Their second execution,
    /// which is invalid, does nothing and is reported.
    fn check(&self, what: &str, list: vk::CommandBuffer, end: impl FnOnce()) {
        self.submit(list);
        self.idle();
        self.messenger.take();
        end();
        self.check_free(what);
        self.submit(list);
        self.idle();
        let messages = self.messenger.take();
        assert!(messages.iter().any(|message| message.contains("destroyed")), "{what}: {messages:?}");
    }
}

fn layers_of(aspect: vk::ImageAspectFlags) -> vk::ImageSubresourceLayers {
    layers(aspect, 0)
}

fn rows() -> vk::BufferImageCopy {
    let image_extent = vk::Extent3D { width: 4, height: 4, depth: 1 };
    vk::BufferImageCopy { image_subresource: layers_of(COLOR), image_extent, ..Default::default() }
}

/// Commands that take a buffer, of every kind.
const BUFFERS: [&str; 14] = [
    "fill",
    "update",
    "copy from",
    "copy to",
    "copy to image",
    "copy of image",
    "vertex buffer",
    "index buffer",
    "dispatch",
    "draw",
    "count of draws",
    "query results",
    "condition",
    "transform feedback",
];

fn record_with_buffer(h: &Half, c: vk::CommandBuffer, b: vk::Buffer, name: &str) {
    let (d, image) = (&h.c.device, h.images[0]);
    // SAFETY: the usage is valid, except for draws without a pipeline, which do nothing.
    unsafe {
        match name {
            "fill" => d.cmd_fill_buffer(c, b, 0, 64, 1),
            "update" => d.cmd_update_buffer(c, b, 0, &[1; 8]),
            "copy from" => d.cmd_copy_buffer(c, b, h.small, &[copy()]),
            "copy to" => d.cmd_copy_buffer(c, h.small, b, &[copy()]),
            "copy to image" => d.cmd_copy_buffer_to_image(c, b, image, GENERAL, &[rows()]),
            "copy of image" => d.cmd_copy_image_to_buffer(c, image, GENERAL, b, &[rows()]),
            "vertex buffer" => d.cmd_bind_vertex_buffers(c, 0, &[b], &[0]),
            "index buffer" => d.cmd_bind_index_buffer(c, b, 0, vk::IndexType::UINT32),
            "dispatch" => d.cmd_dispatch_indirect(c, b, 0),
            "draw" => d.cmd_draw_indirect(c, b, 0, 1, 16),
            "count of draws" => d.cmd_draw_indirect_count(c, h.small, 0, b, 0, 1, 16),
            "query results" => {
                let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(1);
                let pool = d.create_query_pool(&info, None).expect("pool");
                d.cmd_copy_query_pool_results(c, pool, 0, 1, b, 0, 8, vk::QueryResultFlags::WITH_AVAILABILITY);
            }
            "condition" => {
                let functions = ash::ext::conditional_rendering::Device::new(&h.c.instance, d);
                let info = vk::ConditionalRenderingBeginInfoEXT::default().buffer(b);
                (functions.fp().cmd_begin_conditional_rendering_ext)(c, &info);
                (functions.fp().cmd_end_conditional_rendering_ext)(c);
            }
            "transform feedback" => {
                let functions = ash::ext::transform_feedback::Device::new(&h.c.instance, d);
                let (buffers, offsets) = ([b], [0]);
                let bind = functions.fp().cmd_bind_transform_feedback_buffers_ext;
                bind(c, 0, 1, buffers.as_ptr(), offsets.as_ptr(), std::ptr::null());
            }
            _ => unreachable!("{name}"),
        }
    }
}

fn copy() -> vk::BufferCopy {
    vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 64 }
}

#[test]
fn commands_do_not_keep_the_memory_of_buffers() {
    let h = Half::new();
    for name in BUFFERS {
        let memory = h.memory().expect("the heap's half");
        let buffer = h.buffer(memory);
        let list = h.c.record(|c| record_with_buffer(&h, c, buffer, name));
        // SAFETY: the usage is valid, because nothing executes.
        h.check(name, list, || unsafe {
            h.c.device.destroy_buffer(buffer, None);
            h.c.device.free_memory(memory, None);
        });
    }
}

fn image_copy() -> vk::ImageCopy {
    let extent = vk::Extent3D { width: 4, height: 4, depth: 1 };
    let (src_subresource, dst_subresource) = (layers_of(COLOR), layers_of(COLOR));
    vk::ImageCopy { src_subresource, dst_subresource, extent, ..Default::default() }
}

fn blit() -> vk::ImageBlit {
    let corners = [vk::Offset3D::default(), vk::Offset3D { x: 4, y: 4, z: 1 }];
    let (src_subresource, dst_subresource) = (layers_of(COLOR), layers_of(COLOR));
    vk::ImageBlit { src_subresource, src_offsets: corners, dst_subresource, dst_offsets: corners }
}

fn resolve() -> vk::ImageResolve {
    let extent = vk::Extent3D { width: 4, height: 4, depth: 1 };
    let (src_subresource, dst_subresource) = (layers_of(COLOR), layers_of(COLOR));
    vk::ImageResolve { src_subresource, dst_subresource, extent, ..Default::default() }
}

const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;
const FOUR: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_4;

/// Commands that take an image, of every kind.
const IMAGES: [(&str, vk::Format, vk::SampleCountFlags); 12] = [
    ("copy from", RGBA8, ONE),
    ("copy to", RGBA8, ONE),
    ("blit from", RGBA8, ONE),
    ("blit to", RGBA8, ONE),
    ("resolve from", RGBA8, FOUR),
    ("resolve to", RGBA8, ONE),
    ("copy of a buffer", RGBA8, ONE),
    ("copy to a buffer", RGBA8, ONE),
    ("clear of colour", RGBA8, ONE),
    ("clear of depth", DEPTH, ONE),
    ("rendering", RGBA8, ONE),
    ("resolve of rendering", RGBA8, ONE),
];

fn record_with_image(h: &Half, c: vk::CommandBuffer, i: vk::Image, name: &str) {
    let (d, [small, _, samples]) = (&h.c.device, h.images);
    // SAFETY: valid usage.
    unsafe {
        match name {
            "copy from" => d.cmd_copy_image(c, i, GENERAL, small, GENERAL, &[image_copy()]),
            "copy to" => d.cmd_copy_image(c, small, GENERAL, i, GENERAL, &[image_copy()]),
            "blit from" => d.cmd_blit_image(c, i, GENERAL, small, GENERAL, &[blit()], vk::Filter::NEAREST),
            "blit to" => d.cmd_blit_image(c, small, GENERAL, i, GENERAL, &[blit()], vk::Filter::NEAREST),
            "resolve from" => d.cmd_resolve_image(c, i, GENERAL, small, GENERAL, &[resolve()]),
            "resolve to" => d.cmd_resolve_image(c, samples, GENERAL, i, GENERAL, &[resolve()]),
            "copy of a buffer" => d.cmd_copy_buffer_to_image(c, h.small, i, GENERAL, &[rows()]),
            "copy to a buffer" => d.cmd_copy_image_to_buffer(c, i, GENERAL, h.small, &[rows()]),
            "clear of colour" => d.cmd_clear_color_image(c, i, GENERAL, &Default::default(), &[range(COLOR, 1)]),
            "clear of depth" => {
                let range = range(vk::ImageAspectFlags::DEPTH, 1);
                d.cmd_clear_depth_stencil_image(c, i, GENERAL, &Default::default(), &[range]);
            }
            "rendering" => h.render(c, h.c.view(i, RGBA8, range(COLOR, 1)), vk::ImageView::null()),
            "resolve of rendering" => {
                let views = [samples, i].map(|image| h.c.view(image, RGBA8, range(COLOR, 1)));
                h.render(c, views[0], views[1]);
            }
            _ => unreachable!("{name}"),
        }
    }
}

impl Half {
    /// Records a rendering that clears an attachment.
    fn render(&self, c: vk::CommandBuffer, view: vk::ImageView, resolve: vk::ImageView) {
        let attachment = vk::RenderingAttachmentInfo::default()
            .image_view(view)
            .image_layout(GENERAL)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .resolve_image_view(resolve)
            .resolve_image_layout(GENERAL)
            .resolve_mode(if resolve == vk::ImageView::null() {
                vk::ResolveModeFlags::NONE
            } else {
                vk::ResolveModeFlags::AVERAGE
            });
        let attachments = [attachment];
        let area = crate::common::info::area(SIDE);
        let info = vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachments);
        // SAFETY: valid usage.
        unsafe {
            self.c.device.cmd_begin_rendering(c, &info);
            self.c.device.cmd_end_rendering(c);
        }
    }
}

#[test]
fn commands_do_not_keep_the_memory_of_images() {
    let h = Half::new();
    for (name, format, samples) in IMAGES {
        let memory = h.memory().expect("the heap's half");
        let image = h.image(memory, &info(format, samples));
        let list = h.c.record(|c| record_with_image(&h, c, image, name));
        // Views are not destroyed. SAFETY: the usage is valid, because nothing executes.
        h.check(name, list, || unsafe {
            h.c.device.free_memory(memory, None);
            h.c.device.destroy_image(image, None);
        });
    }
}

/// Creates a render pass with one attachment, which is cleared.
fn render_pass(d: &ash::Device) -> vk::RenderPass {
    let attachments = [vk::AttachmentDescription::default()
        .format(RGBA8)
        .samples(ONE)
        .load_op(vk::AttachmentLoadOp::CLEAR)
        .final_layout(GENERAL)];
    let references = [vk::AttachmentReference { attachment: 0, layout: GENERAL }];
    let subpasses = [vk::SubpassDescription::default().color_attachments(&references)];
    let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
    // SAFETY: valid usage.
    unsafe { d.create_render_pass(&info, None) }.expect("render pass")
}

#[test]
fn views_and_framebuffers_do_not_keep_memory() {
    let h = Half::new();
    let d = &h.c.device;
    let memory = h.memory().expect("the heap's half");
    let (image, buffer) = (h.image(memory, &info(RGBA8, ONE)), h.buffer(memory));
    let pass = render_pass(d);
    let attachments = [h.c.view(image, RGBA8, range(COLOR, 1))];
    let info = vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&attachments);
    // SAFETY: the usage is valid in this block and in the next ones.
    let framebuffer =
        unsafe { d.create_framebuffer(&info.width(SIDE).height(SIDE).layers(1), None) }.expect("framebuffer");
    let info = vk::BufferViewCreateInfo::default().buffer(buffer).format(vk::Format::R32_UINT).range(64);
    // SAFETY: the usage is valid.
    let texels = unsafe { d.create_buffer_view(&info, None) }.expect("view");
    let list = h.c.record(|c| {
        let area = crate::common::info::area(SIDE);
        let clear = [vk::ClearValue::default()];
        let info = vk::RenderPassBeginInfo::default().render_pass(pass).framebuffer(framebuffer);
        let info = info.render_area(area).clear_values(&clear);
        // SAFETY: the usage is valid.
        unsafe {
            d.cmd_begin_render_pass(c, &info, vk::SubpassContents::INLINE);
            d.cmd_end_render_pass(c);
        }
    });
    // SAFETY: the usage is valid, because nothing executes.
    h.check("views", list, || unsafe {
        d.destroy_image(image, None);
        d.destroy_buffer(buffer, None);
        d.free_memory(memory, None);
    });
    // SAFETY: the objects are not in use any more.
    unsafe {
        d.destroy_buffer_view(texels, None);
        d.destroy_framebuffer(framebuffer, None);
        d.destroy_image_view(attachments[0], None);
        d.destroy_render_pass(pass, None);
    }
}

/// Checks that bound resources keep memory whose handle is freed ("vkFreeMemory" of the
/// specification), and that destroyed ones do not.
#[test]
fn memory_returns_with_the_last_resource() {
    let h = Half::new();
    let memory = h.memory().expect("the heap's half");
    let (image, buffers) = (h.image(memory, &info(RGBA8, ONE)), [(); 2].map(|()| h.buffer(memory)));
    // SAFETY: the usage is valid in all calls of this block.
    unsafe {
        h.c.device.destroy_buffer(buffers[0], None);
        h.c.device.free_memory(memory, None);
        assert!(h.memory().is_err(), "two resources are bound");
        h.c.device.destroy_image(image, None);
        assert!(h.memory().is_err(), "one is");
        h.c.device.destroy_buffer(buffers[1], None);
    }
    h.check_free("all are destroyed");
}

/// Checks a list that waits in the middle: the memory with which it began stays until it ends,
/// though all of its resources are destroyed meanwhile, which is invalid.
#[test]
fn executing_work_keeps_its_memory() {
    let h = Half::new();
    let d = &h.c.device;
    let memory = h.memory().expect("the heap's half");
    let (image, buffer) = (h.image(memory, &info(RGBA8, ONE)), h.buffer(memory));
    let view = h.c.view(image, RGBA8, range(COLOR, 1));
    // SAFETY: the usage is valid, except for the resources that are destroyed while the list
    // executes.
    let events = [(); 2].map(|()| unsafe { d.create_event(&Default::default(), None) }.expect("event"));
    let stage = vk::PipelineStageFlags::ALL_COMMANDS;
    let attachment = [vk::RenderingAttachmentInfo::default().image_view(view).image_layout(GENERAL)];
    let area = crate::common::info::area(SIDE);
    let list = h.c.record(|c| {
        let info = vk::RenderingInfo::default().render_area(area).layer_count(1).color_attachments(&attachment);
        // SAFETY: the handles are live while the list is recorded.
        unsafe {
            d.cmd_fill_buffer(c, buffer, 0, 64, 1);
            d.cmd_set_event(c, events[0], stage);
            d.cmd_begin_rendering(c, &info);
            d.cmd_wait_events(c, &events[1..], vk::PipelineStageFlags::HOST, stage, &[], &[], &[]);
            let clear = vk::ClearAttachment { aspect_mask: COLOR, ..Default::default() };
            let rect = vk::ClearRect { rect: area, base_array_layer: 0, layer_count: 1 };
            d.cmd_clear_attachments(c, &[clear], &[rect]);
            d.cmd_end_rendering(c);
            d.cmd_fill_buffer(c, buffer, 0, 64, 1);
        }
    });
    h.submit(list);
    let began = Instant::now();
    // SAFETY: the event is live.
    while !unsafe { d.get_event_status(events[0]) }.expect("status") && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    h.messenger.take();
    // SAFETY: the handles are live. Their destruction while the list executes is invalid usage,
    // which the test is about.
    unsafe {
        d.destroy_image_view(view, None);
        d.destroy_image(image, None);
        d.destroy_buffer(buffer, None);
        d.free_memory(memory, None);
    }
    std::thread::scope(|scope| {
        // An allocation that needs the memory waits for the end of the list.
        let allocation = scope.spawn(|| h.memory());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!allocation.is_finished(), "the list executes");
        // SAFETY: the event is live.
        unsafe { d.set_event(events[1]) }.expect("set");
        let memory = allocation.join().expect("no panic").expect("memory");
        // SAFETY: the memory is not in use.
        unsafe { d.free_memory(memory, None) };
    });
    h.idle();
    let messages = h.messenger.take();
    assert!(messages.iter().any(|message| message.contains("destroyed")), "{messages:?}");
    h.check_free("the list has ended");
}

/// Checks that sparse resources return their addresses and the memory that they show.
#[test]
fn sparse_resources_return_their_memory() {
    let h = Half::new();
    let d = &h.c.device;
    for _ in 0..64 {
        // Each buffer takes half of all addresses.
        let info = vk::BufferCreateInfo::default().size(1 << 34).usage(vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: the usage is valid in this block and in the next ones.
        let buffer = unsafe { d.create_buffer(&info.flags(vk::BufferCreateFlags::SPARSE_BINDING), None) };
        let buffer = buffer.expect("addresses");
        // SAFETY: the buffer is live while the list is recorded.
        let list = h.c.record(|c| unsafe { d.cmd_fill_buffer(c, buffer, 0, 64, 1) });
        h.submit(list);
        h.idle();
        // SAFETY: the device is idle.
        unsafe { d.destroy_buffer(buffer, None) };
    }
}
