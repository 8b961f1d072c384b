//! Test of many devices, submissions and frames: memory, threads and file descriptors must not
//! grow. It is alone in its binary, because it measures the whole process.
//!
//! `GRUS_LONG_RUNS=n` makes the runs n times as long: 400 are 10,000 devices, 1,000,000 submissions
//! and as many frames; 2080 are a day of frames at 60 Hz.

mod common;
use ash::vk;
use common::Context;
use std::time::{Duration, Instant};

/// Numbers of the short form.
const DEVICES: u64 = 25;
const SUBMISSIONS: u64 = 2500;
const FRAMES: u64 = 2500;
/// Growth that is allowed after the first quarter, in KiB.
const GROWTH: u64 = 4096;

fn entries(directory: &str) -> u64 {
    std::fs::read_dir(format!("/proc/self/{directory}")).map_or(0, |d| d.count() as u64)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Runs `step` this many times and checks that resources at the end equal those after a quarter.
fn flat(what: &str, count: u64, mut step: impl FnMut(u64)) {
    let times = std::env::var("GRUS_LONG_RUNS").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1);
    let (count, began) = (count * times, Instant::now());
    let mut before = [0; 3];
    for i in 0..count {
        if i == count / 4 {
            before = [resident_kib(), entries("task"), entries("fd")];
        }
        step(i);
    }
    // The pool's threads end on their own.
    let end = Instant::now() + Duration::from_secs(20);
    while entries("task") > before[1] && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    let after = [resident_kib(), entries("task"), entries("fd")];
    println!("{what}: {count} in {:.1} s; KiB, threads, files {before:?} -> {after:?}", began.elapsed().as_secs_f32());
    assert!(after[0] <= before[0] + GROWTH, "{what}: memory");
    assert!(after[1] <= before[1] && after[2] <= before[2], "{what}: threads, files");
}

/// Creates devices that work, so that queue, watchdog and pool start.
fn devices() {
    flat("devices", DEVICES, |_| {
        let context = Context::new(&[], &[]);
        let buffer = context.buffer(4096);
        // SAFETY: valid usage.
        context.run(|c| unsafe { context.device.cmd_fill_buffer(c, buffer.buffer, 0, vk::WHOLE_SIZE, 7) }).unwrap();
        assert_eq!(buffer.words()[1023], 7);
        context.free(buffer);
    });
}

fn submissions() {
    let context = Context::new(&[], &[]);
    let d = &context.device;
    let buffer = context.buffer(64);
    // SAFETY: valid usage.
    let fill = |c| unsafe { d.cmd_fill_buffer(c, buffer.buffer, 0, vk::WHOLE_SIZE, 7) };
    let commands = [context.record(fill)];
    // SAFETY: valid usage.
    unsafe {
        let fence = [d.create_fence(&Default::default(), None).unwrap()];
        flat("submissions", SUBMISSIONS, |i| {
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            // A fence now and then keeps the queue from growing without bound.
            if i % 50 != 0 {
                return d.queue_submit(context.queue, &submit, vk::Fence::null()).unwrap();
            }
            d.queue_submit(context.queue, &submit, fence[0]).unwrap();
            d.wait_for_fences(&fence, true, u64::MAX).unwrap();
            d.reset_fences(&fence).unwrap();
        });
        d.queue_wait_idle(context.queue).unwrap();
        d.destroy_fence(fence[0], None);
    }
    context.free(buffer);
}

/// Shows frames in the way of vkcube: acquire, record, submit, present.
fn frames() {
    let context = Context::new(&[c"VK_KHR_surface", c"VK_EXT_headless_surface"], &[c"VK_KHR_swapchain"]);
    let d = &context.device;
    let surfaces = ash::khr::surface::Instance::new(&context.entry, &context.instance);
    let headless = ash::ext::headless_surface::Instance::new(&context.entry, &context.instance);
    let swapchains = ash::khr::swapchain::Device::new(&context.instance, d);
    // SAFETY: valid usage.
    unsafe {
        let surface = headless.create_headless_surface(&Default::default(), None).unwrap();
        let format = surfaces.get_physical_device_surface_formats(context.physical, surface).unwrap()[0];
        let info = common::info::swapchain(surface, format, 3, 64, vk::ImageUsageFlags::TRANSFER_DST);
        let swapchain = [swapchains.create_swapchain(&info, None).unwrap()];
        let images = swapchains.get_swapchain_images(swapchain[0]).unwrap();
        let fence = [d.create_fence(&Default::default(), None).unwrap()];
        let drawn = [d.create_semaphore(&Default::default(), None).unwrap()];
        let info = vk::CommandBufferAllocateInfo::default().command_pool(context.pool).command_buffer_count(1);
        let commands = d.allocate_command_buffers(&info).unwrap();
        flat("frames", FRAMES, |i| {
            let (index, _) =
                swapchains.acquire_next_image(swapchain[0], u64::MAX, vk::Semaphore::null(), fence[0]).unwrap();
            d.wait_for_fences(&fence, true, u64::MAX).unwrap();
            d.reset_fences(&fence).unwrap();
            d.reset_command_pool(context.pool, vk::CommandPoolResetFlags::empty()).unwrap();
            d.begin_command_buffer(commands[0], &Default::default()).unwrap();
            let color = vk::ClearColorValue { float32: [(i % 256) as f32 / 255.0; 4] };
            let range = common::range(vk::ImageAspectFlags::COLOR, 1);
            d.cmd_clear_color_image(commands[0], images[index as usize], vk::ImageLayout::GENERAL, &color, &[range]);
            d.end_command_buffer(commands[0]).unwrap();
            let submit = vk::SubmitInfo::default().command_buffers(&commands).signal_semaphores(&drawn);
            d.queue_submit(context.queue, &[submit], vk::Fence::null()).unwrap();
            let indices = [index];
            let present =
                vk::PresentInfoKHR::default().wait_semaphores(&drawn).swapchains(&swapchain).image_indices(&indices);
            swapchains.queue_present(context.queue, &present).unwrap();
            d.queue_wait_idle(context.queue).unwrap();
        });
        d.destroy_semaphore(drawn[0], None);
        d.destroy_fence(fence[0], None);
        swapchains.destroy_swapchain(swapchain[0], None);
        surfaces.destroy_surface(surface, None);
    }
}

#[test]
fn long_runs_do_not_grow() {
    // SAFETY: this binary has one test, and the driver has no thread yet.
    unsafe { std::env::set_var("GRUS_FIFO_HZ", "0") };
    devices();
    submissions();
    frames();
}
