//! Tests of submission order, fences, semaphores, time-outs, events, queries, transfers.

mod common;
#[path = "queue/families.rs"]
mod families;
#[path = "common/pipeline.rs"]
mod pipeline;
#[path = "queue/sparse.rs"]
mod sparse;
use ash::vk;
use common::{Context, layers, range, region};
use std::time::{Duration, Instant};

fn timeline_context() -> Context {
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    Context::with(&[c"VK_KHR_get_physical_device_properties2"], &[c"VK_KHR_timeline_semaphore"], &mut [&mut timeline])
}

#[test]
fn fences_time_out_and_signal() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    // SAFETY: valid usage.
    unsafe {
        let fences =
            [d.create_fence(&Default::default(), None).unwrap(), d.create_fence(&Default::default(), None).unwrap()];
        assert_eq!(d.wait_for_fences(&fences, false, 0), Err(vk::Result::TIMEOUT));
        let began = Instant::now();
        assert_eq!(d.wait_for_fences(&fences, true, 30_000_000), Err(vk::Result::TIMEOUT));
        let waited = began.elapsed();
        assert!(waited >= Duration::from_millis(30) && waited < Duration::from_secs(5), "{waited:?}");
        assert_eq!(d.get_fence_status(fences[0]), Ok(false));
        d.queue_submit(context.queue, &[], fences[1]).unwrap();
        d.wait_for_fences(&fences, false, u64::MAX).unwrap();
        assert_eq!(d.wait_for_fences(&fences, true, 1_000_000), Err(vk::Result::TIMEOUT));
        assert_eq!((d.get_fence_status(fences[0]), d.get_fence_status(fences[1])), (Ok(false), Ok(true)));
        d.reset_fences(&fences).unwrap();
        assert_eq!(d.get_fence_status(fences[1]), Ok(false));
        fences.iter().for_each(|f| d.destroy_fence(*f, None));
    }
}

#[test]
fn a_submission_waits_for_a_host_signal() {
    let context = timeline_context();
    let d = &context.device;
    let timeline = ash::khr::timeline_semaphore::Device::new(&context.instance, d);
    // SAFETY: valid usage.
    unsafe {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE).initial_value(3);
        let semaphore = d.create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut kind), None).unwrap();
        assert_eq!(timeline.get_semaphore_counter_value(semaphore), Ok(3));
        let target = context.buffer(64);
        let commands = [context.record(|c| d.cmd_fill_buffer(c, target.buffer, 0, vk::WHOLE_SIZE, 7))];
        let (waits, signals) = ([5], [9]);
        let mut values =
            vk::TimelineSemaphoreSubmitInfo::default().wait_semaphore_values(&waits).signal_semaphore_values(&signals);
        let (semaphores, stages) = ([semaphore], [vk::PipelineStageFlags::ALL_COMMANDS]);
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .command_buffers(&commands)
            .signal_semaphores(&semaphores)
            .push_next(&mut values);
        let began = Instant::now();
        d.queue_submit(context.queue, &[submit], vk::Fence::null()).unwrap();
        assert!(began.elapsed() < Duration::from_secs(2), "submission returns at once");
        let nine = [9];
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&nine);
        assert_eq!(timeline.wait_semaphores(&wait, 20_000_000), Err(vk::Result::TIMEOUT));
        assert_eq!(target.words()[0], 0);
        timeline.signal_semaphore(&vk::SemaphoreSignalInfo::default().semaphore(semaphore).value(5)).unwrap();
        timeline.wait_semaphores(&wait, u64::MAX).unwrap();
        assert_eq!(target.words(), [7; 16]);
        d.queue_wait_idle(context.queue).unwrap();
        context.free(target);
        d.destroy_semaphore(semaphore, None);
    }
}

#[test]
fn binary_semaphores_order_submissions() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    // SAFETY: valid usage.
    unsafe {
        let semaphore = [d.create_semaphore(&Default::default(), None).unwrap()];
        let buffer = context.buffer(4096);
        for round in 1..50u32 {
            let first = [context.record(|c| d.cmd_fill_buffer(c, buffer.buffer, 0, 2048, round))];
            let copy = vk::BufferCopy { src_offset: 0, dst_offset: 2048, size: 2048 };
            let second = [context.record(|c| d.cmd_copy_buffer(c, buffer.buffer, buffer.buffer, &[copy]))];
            let stages = [vk::PipelineStageFlags::ALL_COMMANDS];
            let submits = [
                vk::SubmitInfo::default().command_buffers(&first).signal_semaphores(&semaphore),
                vk::SubmitInfo::default()
                    .command_buffers(&second)
                    .wait_semaphores(&semaphore)
                    .wait_dst_stage_mask(&stages),
            ];
            d.queue_submit(context.queue, &submits, vk::Fence::null()).unwrap();
            d.queue_wait_idle(context.queue).unwrap();
            assert!(buffer.words().iter().all(|w| *w == round));
        }
        context.free(buffer);
        d.destroy_semaphore(semaphore[0], None);
    }
}

#[test]
fn device_waits_for_an_event_the_host_sets() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    // SAFETY: valid usage.
    unsafe {
        let events =
            [d.create_event(&Default::default(), None).unwrap(), d.create_event(&Default::default(), None).unwrap()];
        let commands = [context.record(|c| {
            let all = vk::PipelineStageFlags::ALL_COMMANDS;
            d.cmd_wait_events(c, &events[..1], vk::PipelineStageFlags::HOST, all, &[], &[], &[]);
            d.cmd_set_event(c, events[1], all);
        })];
        d.queue_submit(context.queue, &[vk::SubmitInfo::default().command_buffers(&commands)], vk::Fence::null())
            .unwrap();
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(d.get_event_status(events[1]), Ok(false));
        d.set_event(events[0]).unwrap();
        d.queue_wait_idle(context.queue).unwrap();
        assert_eq!(d.get_event_status(events[1]), Ok(true));
        events.iter().for_each(|e| d.destroy_event(*e, None));
    }
}

#[test]
fn timestamps_rise_and_queries_report_availability() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    // SAFETY: valid usage.
    unsafe {
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(3);
        let pool = d.create_query_pool(&info, None).unwrap();
        let results = context.buffer(48);
        context
            .run(|c| {
                d.cmd_reset_query_pool(c, pool, 0, 3);
                d.cmd_write_timestamp(c, vk::PipelineStageFlags::TOP_OF_PIPE, pool, 0);
                d.cmd_fill_buffer(c, results.buffer, 0, 48, 0xffff_ffff);
                d.cmd_write_timestamp(c, vk::PipelineStageFlags::BOTTOM_OF_PIPE, pool, 1);
                let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
                d.cmd_copy_query_pool_results(c, pool, 0, 3, results.buffer, 0, 16, flags);
            })
            .unwrap();
        let mut values = [0u64; 2];
        d.get_query_pool_results(pool, 0, &mut values, vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT)
            .unwrap();
        assert!(values[0] > 0 && values[1] >= values[0]);
        let copied: Vec<u64> = results.bytes().as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        assert_eq!(copied, [values[0], 1, values[1], 1, u64::MAX, 0], "the third was never written");
        let mut third = [0u64; 1];
        let result = d.get_query_pool_results(pool, 2, &mut third, vk::QueryResultFlags::TYPE_64);
        assert_eq!(result, Err(vk::Result::NOT_READY));
        context.free(results);
        d.destroy_query_pool(pool, None);
    }
}

#[test]
fn copies_write_the_right_bytes() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let mut source = context.buffer(64 * 64 * 4);
    source.fill_words(|i| i.wrapping_mul(0x9e37_79b9));
    let target = context.buffer(64 * 64 * 4);
    let image = context.image(vk::Format::R8G8B8A8_UNORM, [64, 64], vk::SampleCountFlags::TYPE_1, 2);
    let layout = vk::ImageLayout::GENERAL;
    context
        .run(|c| {
            // SAFETY: valid usage.
            unsafe {
                d.cmd_copy_buffer_to_image(c, source.buffer, image.image, layout, &[region(&image)]);
                d.cmd_copy_image_to_buffer(c, image.image, layout, target.buffer, &[region(&image)]);
                let corner = |size: i32| [vk::Offset3D::default(), vk::Offset3D { x: size, y: size, z: 1 }];
                let blit = vk::ImageBlit {
                    src_subresource: layers(image.aspect, 0),
                    src_offsets: corner(64),
                    dst_subresource: layers(image.aspect, 1),
                    dst_offsets: corner(32),
                };
                d.cmd_blit_image(c, image.image, layout, image.image, layout, &[blit], vk::Filter::NEAREST);
            }
        })
        .unwrap();
    assert_eq!(source.bytes(), target.bytes());
    // Out-of-range copies access nothing outside: the last region is refused completely.
    context
        .run(|c| {
            let beyond = vk::BufferCopy { src_offset: 0, dst_offset: target.size - 4, size: 64 };
            // SAFETY: this is invalid on purpose; the driver drops it.
            unsafe { d.cmd_copy_buffer(c, source.buffer, target.buffer, &[beyond]) };
        })
        .unwrap();
    assert_eq!(source.bytes(), target.bytes());
    context
        .run(|c| {
            let color = vk::ClearColorValue { float32: [1.0, 0.0, 0.5, 1.0] };
            // SAFETY: valid usage.
            unsafe { d.cmd_clear_color_image(c, image.image, layout, &color, &[range(image.aspect, 2)]) };
        })
        .unwrap();
    assert!(context.read_image(&image, 4).as_chunks::<4>().0.iter().all(|t| *t == [255, 0, 128, 255]));
    context.free_image(image);
    context.free(source);
    context.free(target);
}

#[test]
fn clears_of_a_render_pass() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let image = context.image(vk::Format::R8G8B8A8_UNORM, [70, 50], vk::SampleCountFlags::TYPE_1, 1);
    // SAFETY: valid usage.
    unsafe {
        let attachment = [vk::AttachmentDescription::default()
            .format(vk::Format::R8G8B8A8_UNORM)
            .samples(vk::SampleCountFlags::TYPE_1)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::STORE)
            .final_layout(vk::ImageLayout::GENERAL)];
        let reference = [vk::AttachmentReference { attachment: 0, layout: vk::ImageLayout::GENERAL }];
        let subpass = [vk::SubpassDescription::default().color_attachments(&reference)];
        let info = vk::RenderPassCreateInfo::default().attachments(&attachment).subpasses(&subpass);
        let pass = d.create_render_pass(&info, None).unwrap();
        let views = [image.view];
        let info =
            vk::FramebufferCreateInfo::default().render_pass(pass).attachments(&views).width(70).height(50).layers(1);
        let framebuffer = d.create_framebuffer(&info, None).unwrap();
        context
            .run(|c| {
                let clear = [vk::ClearValue { color: vk::ClearColorValue { float32: [0.0, 1.0, 0.0, 1.0] } }];
                let area = vk::Rect2D { offset: Default::default(), extent: vk::Extent2D { width: 70, height: 50 } };
                let begin = vk::RenderPassBeginInfo::default()
                    .render_pass(pass)
                    .framebuffer(framebuffer)
                    .render_area(area)
                    .clear_values(&clear);
                d.cmd_begin_render_pass(c, &begin, vk::SubpassContents::INLINE);
                let red = vk::ClearValue { color: vk::ClearColorValue { float32: [1.0, 0.0, 0.0, 0.0] } };
                let attachment =
                    vk::ClearAttachment { aspect_mask: image.aspect, color_attachment: 0, clear_value: red };
                let rect =
                    vk::Rect2D { offset: vk::Offset2D { x: 3, y: 4 }, extent: vk::Extent2D { width: 5, height: 6 } };
                let rect = vk::ClearRect { rect, base_array_layer: 0, layer_count: 1 };
                d.cmd_clear_attachments(c, &[attachment], &[rect]);
                d.cmd_end_render_pass(c);
            })
            .unwrap();
        let pixels = context.read_image(&image, 4);
        for (i, pixel) in pixels.as_chunks::<4>().0.iter().enumerate() {
            let (x, y) = (i % 70, i / 70);
            let inside = (3..8).contains(&x) && (4..10).contains(&y);
            assert_eq!(*pixel, if inside { [255, 0, 0, 0] } else { [0, 255, 0, 255] }, "({x}, {y})");
        }
        d.destroy_framebuffer(framebuffer, None);
        d.destroy_render_pass(pass, None);
    }
    context.free_image(image);
}
