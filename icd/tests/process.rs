//! Processes: children that an application forks, processes that may not make executable memory, processes that are stopped. Everything
//! here happens in child processes.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Messenger, Set, compute, record_dispatch, render_context};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names what a child of this test binary does; unset in the parent.
const PART: &str = "GRUS_TEST_PART";

/// This binary again, for one of its tests, as a child that does `part` of it.
fn child(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PART, part);
    command
}

fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// The child's status; kills it when it hangs.
fn finish(mut child: Child, what: &str) {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "{what}: {status}");
            return;
        }
        if began.elapsed() > Duration::from_secs(120) {
            let _ = child.kill();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Work that starts the queue's worker, the watchdog and the pool.
fn start_threads(c: &Context) {
    let buffer = c.buffer(16 << 20);
    // SAFETY: valid usage.
    c.run(|b| unsafe { c.device.cmd_fill_buffer(b, buffer.buffer, 0, vk::WHOLE_SIZE, 7) }).expect("fill");
    c.free(buffer);
}

/// A program whose destructors or exit handlers tear Vulkan down does so in a forked child too, where the driver's threads are missing.
#[test]
fn a_forked_child_can_exit() {
    let c = Context::new(&[], &[]);
    start_threads(&c);
    // One submission is under way, so that the parent's worker waits on the device's lock meanwhile.
    // SAFETY: valid usage (the children end before anything is destroyed in the parent).
    unsafe {
        let events = [c.device.create_event(&Default::default(), None).expect("event")];
        let host = vk::PipelineStageFlags::HOST;
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let commands = [c.record(|b| c.device.cmd_wait_events(b, &events, host, all, &[], &[], &[]))];
        let fence = c.device.create_fence(&Default::default(), None).expect("fence");
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        c.device.queue_submit(c.queue, &submit, fence).expect("submit");
        for round in 0..20 {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                // A second alarm ends a child that hangs.
                libc::alarm(60);
                let lost = Err(vk::Result::ERROR_DEVICE_LOST);
                let told = c.device.queue_wait_idle(c.queue) == lost
                    && c.device.device_wait_idle() == lost
                    && c.device.wait_for_fences(&[fence], true, u64::MAX) == lost
                    && c.device.queue_submit(c.queue, &submit, vk::Fence::null()) == lost;
                c.device.destroy_fence(fence, None);
                c.device.destroy_event(events[0], None);
                c.device.destroy_command_pool(c.pool, None);
                c.device.destroy_device(None);
                c.instance.destroy_instance(None);
                libc::exit(if told { 0 } else { 3 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0, "child {round}");
        }
        // The parent's device is as it was.
        assert_eq!(c.device.get_fence_status(fence), Ok(false));
        c.device.set_event(events[0]).expect("set");
        c.device.wait_for_fences(&[fence], true, u64::MAX).expect("done");
        c.device.destroy_fence(fence, None);
        c.device.destroy_event(events[0], None);
    }
    start_threads(&c);
}

/// A forked child may have a device of its own.
#[test]
fn a_forked_child_can_begin_anew() {
    if part().is_none() {
        return finish(
            child("a_forked_child_can_begin_anew", "fork").spawn().expect("a child"),
            "a parent of children",
        );
    }
    let c = Context::new(&[], &[]);
    start_threads(&c);
    for round in 0..5 {
        // SAFETY: the child uses nothing of the parent's but the driver.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                libc::alarm(60);
                let own = Context::new(&[], &[]);
                start_threads(&own);
                drop(own);
                libc::exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0, "child {round}");
        }
    }
}

const PR_SET_MDWE: i32 = 65;

/// Where memory cannot be made executable there is no device, and the application is told why.
#[test]
fn no_executable_memory_no_device() {
    if part().is_none() {
        let status = child("no_executable_memory_no_device", "forbid").spawn().expect("a child");
        return finish(status, "without executable memory");
    }
    // SAFETY: takes a right away from this process only.
    if unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) } != 0 {
        println!("this kernel has no PR_SET_MDWE");
        return;
    }
    let entry = common::entry();
    let extensions = [c"VK_EXT_debug_utils".as_ptr()];
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
    let info = vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&extensions);
    // SAFETY: valid usage.
    unsafe {
        let instance = entry.create_instance(&info, None).expect("an instance");
        let messenger = Messenger::of(&entry, &instance);
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let result = instance.create_device(physical, &info, None);
        assert_eq!(result.err(), Some(vk::Result::ERROR_INITIALIZATION_FAILED));
        let messages = messenger.take();
        assert!(messages.len() == 1 && messages[0].contains("executable memory"), "{messages:?}");
        drop(messenger);
        instance.destroy_instance(None);
    }
}

const BUDGET: Duration = Duration::from_millis(800);

/// Iterations of `count.comp` that take about `time`.
fn iterations(c: &Context, set: &Set, pipeline: vk::Pipeline, time: Duration) -> u32 {
    let mut count = 1u32 << 12;
    loop {
        let began = Instant::now();
        c.run(|b| record_dispatch(c, b, set, pipeline, &count.to_le_bytes(), 1)).expect("calibration");
        let took = began.elapsed();
        if took * 4 >= time {
            let scaled = u128::from(count) * time.as_nanos() / took.as_nanos().max(1);
            return u32::try_from(scaled).unwrap_or(u32::MAX).max(1);
        }
        count = count.saturating_mul(2);
    }
}

fn counting(c: &Context) -> (Set, vk::Pipeline) {
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let buffer = c.buffer(64);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let words = spirv(include_bytes!("data/count.comp.spv"));
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, &words, &[]);
    (set, pipeline)
}

/// The time that a process is stopped does not count against the budget.
#[test]
fn a_stopped_process_keeps_its_device() {
    if part().is_some() {
        let c = render_context(&[], false);
        let (set, pipeline) = counting(&c);
        let count = iterations(&c, &set, pipeline, BUDGET / 4);
        println!("ready");
        // Until the parent has stopped this process a few times.
        for _ in 0..8 {
            c.run(|b| record_dispatch(&c, b, &set, pipeline, &count.to_le_bytes(), 1)).expect("within the budget");
        }
        return;
    }
    let mut command = child("a_stopped_process_keeps_its_device", "run");
    command.env("GRUS_SHADER_TIMEOUT_MS", BUDGET.as_millis().to_string()).env("GRUS_TIER", "quick");
    let mut process = command.stdout(Stdio::piped()).spawn().expect("a child");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().expect("its output")));
    assert!(lines.any(|line| line.is_ok_and(|l| l.contains("ready"))), "the child is ready");
    let drain = std::thread::spawn(move || lines.for_each(drop));
    let id = process.id() as i32;
    for _ in 0..3 {
        std::thread::sleep(BUDGET / 8);
        // SAFETY: signals to a child that nobody has waited for yet.
        unsafe {
            libc::kill(id, libc::SIGSTOP);
            std::thread::sleep(BUDGET * 3 / 2);
            libc::kill(id, libc::SIGCONT);
        }
    }
    finish(process, "a process that was stopped");
    drain.join().expect("no panic");
}

/// Many draws and dispatches in one command buffer have their budgets each; one that is too long still has not.
#[test]
fn each_command_has_its_own_budget() {
    if part().is_none() {
        let mut command = child("each_command_has_its_own_budget", "run");
        command.env("GRUS_SHADER_TIMEOUT_MS", BUDGET.as_millis().to_string()).env("GRUS_TIER", "quick");
        return finish(command.spawn().expect("a child"), "many commands");
    }
    let c = render_context(&[], false);
    let (set, pipeline) = counting(&c);
    let count = iterations(&c, &set, pipeline, BUDGET / 16);
    let record = |b: vk::CommandBuffer, count: u32, dispatches: u32| {
        for _ in 0..dispatches {
            record_dispatch(&c, b, &set, pipeline, &count.to_le_bytes(), 1);
        }
    };
    c.run(|b| record(b, count, 40)).expect("2.5 budgets of dispatches");

    let target = c.image(pipeline::RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let (vertex, fragment) =
        (spirv(include_bytes!("data/full.vert.spv")), spirv(include_bytes!("data/count.frag.spv")));
    let draw = pipeline::graphics(&c, &vertex, &fragment, set.layout, false);
    let draws = |count: u32, draws: u32| {
        pipeline::render(&c, &target, pipeline::AREA, |b| {
            let point = vk::PipelineBindPoint::GRAPHICS;
            // SAFETY: valid usage.
            unsafe {
                c.device.cmd_bind_pipeline(b, point, draw);
                c.device.cmd_push_constants(b, set.layout, vk::ShaderStageFlags::ALL, 0, &count.to_le_bytes());
                (0..draws).for_each(|_| c.device.cmd_draw(b, 3, 1, 0, 0));
            }
        })
    };
    let mut count = 1u32;
    let one = loop {
        let began = Instant::now();
        draws(count, 1).expect("calibration");
        if began.elapsed() * 32 >= BUDGET {
            break began.elapsed();
        }
        count *= 2;
    };
    let enough = (BUDGET * 5 / 2).as_millis().div_ceil(one.as_millis().max(1)) as u32;
    draws(count, enough).expect("2.5 budgets of draws in one flush");
    assert_eq!(c.run(|b| record(b, u32::MAX, 1)).err(), Some(vk::Result::ERROR_DEVICE_LOST), "one that is too long");
}
