//! Tests of processes: children that an application forks, processes that may not make executable
//! memory, processes that are stopped. Everything here happens in child processes.
//!
//! Linux only: Windows neither forks nor stops processes, and has no file descriptors.
#![cfg(unix)]

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Messenger, Set, compute, record_dispatch, render_context};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Variable that names the part of a test that a child runs; unset in the parent.
const PART: &str = "GRUS_TEST_PART";

/// Returns a command that runs this binary for one of its tests, as a child that does `part` of it.
fn child(test: &str, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PART, part);
    command
}

fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// Checks the child's status and kills it if it hangs.
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

/// Runs work that starts the queue's worker, the watchdog and the pool.
fn start_threads(c: &Context) {
    let buffer = c.buffer(16 << 20);
    // SAFETY: valid usage.
    c.run(|b| unsafe { c.device.cmd_fill_buffer(b, buffer.buffer, 0, vk::WHOLE_SIZE, 7) }).expect("fill");
    c.free(buffer);
}

/// Checks a program whose destructors or exit handlers destroy Vulkan objects: they also run in a
/// forked child, where the driver's threads are missing.
#[test]
fn a_forked_child_can_exit() {
    let c = Context::new(&[], &[]);
    start_threads(&c);
    // One submission is being executed, so that the parent's worker waits on the device's lock
    // meanwhile.
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
                // An alarm ends a child that hangs.
                libc::alarm(60);
                let lost = Err(vk::Result::ERROR_DEVICE_LOST);
                let reported = c.device.queue_wait_idle(c.queue) == lost
                    && c.device.device_wait_idle() == lost
                    && c.device.wait_for_fences(&[fence], true, u64::MAX) == lost
                    && c.device.queue_submit(c.queue, &submit, vk::Fence::null()) == lost;
                c.device.destroy_fence(fence, None);
                c.device.destroy_event(events[0], None);
                c.device.destroy_command_pool(c.pool, None);
                c.device.destroy_device(None);
                c.instance.destroy_instance(None);
                libc::exit(if reported { 0 } else { 3 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0, "child {round}");
        }
        // The parent's device still works.
        assert_eq!(c.device.get_fence_status(fence), Ok(false));
        c.device.set_event(events[0]).expect("set");
        c.device.wait_for_fences(&[fence], true, u64::MAX).expect("done");
        c.device.destroy_fence(fence, None);
        c.device.destroy_event(events[0], None);
    }
    start_threads(&c);
}

/// Checks that a forked child can create a device of its own.
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

/// Checks that there is no device if memory cannot be made executable, and that the application
/// gets the reason.
#[test]
fn no_executable_memory_no_device() {
    if part().is_none() {
        let status = child("no_executable_memory_no_device", "forbid").spawn().expect("a child");
        return finish(status, "without executable memory");
    }
    // SAFETY: this takes a right away from this process only.
    if unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) } != 0 {
        println!("this kernel has no PR_SET_MDWE");
        return;
    }
    assert_no_device("executable memory");
}

/// Checks that there is no device if neither shader code nor the rasterizer's kernels can run, and
/// that the application gets the reason.
#[test]
#[cfg(target_arch = "x86_64")]
fn an_old_processor_no_device() {
    if part().is_none() {
        let status = child("an_old_processor_no_device", "old").env("GRUS_CPU", "v1").spawn().expect("a child");
        return finish(status, "on an old processor");
    }
    assert_no_device("SSE4.1");
}

/// Checks that creating a device fails, and that the message contains `why`.
fn assert_no_device(why: &str) {
    let entry = common::entry();
    let extensions = [c"VK_EXT_debug_utils".as_ptr()];
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
    let info = vk::InstanceCreateInfo::default().application_info(&application).enabled_extension_names(&extensions);
    // SAFETY: valid usage.
    unsafe {
        let instance = entry.create_instance(&info, None).expect("an instance");
        let messenger = Messenger::for_instance(&entry, &instance);
        let physical = instance.enumerate_physical_devices().expect("devices")[0];
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        let result = instance.create_device(physical, &info, None);
        assert_eq!(result.err(), Some(vk::Result::ERROR_INITIALIZATION_FAILED));
        let messages = messenger.take();
        assert!(messages.len() == 1 && messages[0].contains(why), "{messages:?}");
        drop(messenger);
        instance.destroy_instance(None);
    }
}

const BUDGET: Duration = Duration::from_millis(800);

/// Returns the number of iterations of `count.comp` that take about `time`.
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

/// Checks that the time for which a process is stopped does not count against the budget.
#[test]
fn a_stopped_process_keeps_its_device() {
    if part().is_some() {
        let c = render_context(&[], false);
        let (set, pipeline) = counting(&c);
        let count = iterations(&c, &set, pipeline, BUDGET / 4);
        println!("ready");
        // This lasts until the parent has stopped this process a few times.
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
        // SAFETY: the signals go to a child that has not been waited for yet.
        unsafe {
            libc::kill(id, libc::SIGSTOP);
            std::thread::sleep(BUDGET * 3 / 2);
            libc::kill(id, libc::SIGCONT);
        }
    }
    finish(process, "a process that was stopped");
    drain.join().expect("no panic");
}

/// Checks that each of many draws and dispatches in one command buffer has its own budget; one that
/// takes too long still exceeds it.
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

const SHARING: [&std::ffi::CStr; 3] =
    [c"VK_KHR_external_memory_fd", c"VK_KHR_external_semaphore_fd", c"VK_KHR_external_fence_fd"];
const OPAQUE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
const SHARED_BYTES: u64 = 1 << 18;

fn sharing_context() -> Context {
    let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
    Context::with(&[], &SHARING, &mut [&mut timeline])
}

/// Objects that two processes share: memory with a buffer in it, a timeline and a binary semaphore,
/// and a fence.
struct Common {
    memory: vk::DeviceMemory,
    buffer: vk::Buffer,
    timeline: vk::Semaphore,
    binary: vk::Semaphore,
    fence: vk::Fence,
}

impl Common {
    /// Creates new objects, or imports those behind another process's descriptors.
    fn new(c: &Context, from: Option<[i32; 4]>) -> Common {
        let d = &c.device;
        // SAFETY: valid usage.
        unsafe {
            let ty = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(ty);
            let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
            let info = vk::BufferCreateInfo::default().size(SHARED_BYTES).usage(usage).push_next(&mut external);
            let buffer = d.create_buffer(&info, None).expect("buffer");
            let size = d.get_buffer_memory_requirements(buffer).size;
            let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(ty);
            let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(ty);
            let mut info = vk::MemoryAllocateInfo::default().allocation_size(size);
            info = match from {
                None => info.push_next(&mut export),
                Some([fd, ..]) => {
                    import.fd = fd;
                    info.push_next(&mut import)
                }
            };
            let memory = d.allocate_memory(&info, None).expect("memory");
            d.bind_buffer_memory(buffer, memory, 0).expect("bind");
            let semaphore = |ty| {
                let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(OPAQUE);
                let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(ty);
                let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
                d.create_semaphore(&if from.is_none() { info.push_next(&mut export) } else { info }, None)
                    .expect("semaphore")
            };
            let [timeline, binary] = [vk::SemaphoreType::TIMELINE, vk::SemaphoreType::BINARY].map(semaphore);
            let mut export =
                vk::ExportFenceCreateInfo::default().handle_types(vk::ExternalFenceHandleTypeFlags::OPAQUE_FD);
            let info = vk::FenceCreateInfo::default();
            let fence =
                d.create_fence(&if from.is_none() { info.push_next(&mut export) } else { info }, None).expect("fence");
            if let Some([_, of_timeline, of_binary, of_fence]) = from {
                let import = ash::khr::external_semaphore_fd::Device::new(&c.instance, d);
                for (semaphore, fd) in [(timeline, of_timeline), (binary, of_binary)] {
                    let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore).handle_type(OPAQUE).fd(fd);
                    import.import_semaphore_fd(&info).expect("its semaphore");
                }
                let import = ash::khr::external_fence_fd::Device::new(&c.instance, d);
                let ty = vk::ExternalFenceHandleTypeFlags::OPAQUE_FD;
                let info = vk::ImportFenceFdInfoKHR::default().fence(fence).handle_type(ty).fd(of_fence);
                import.import_fence_fd(&info).expect("its fence");
            }
            Common { memory, buffer, timeline, binary, fence }
        }
    }

    /// Exports descriptors for a child that is executed, as text.
    fn export(&self, c: &Context) -> String {
        // SAFETY: valid usage; this function owns the descriptors.
        let fds = unsafe {
            let ty = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
            let memory = ash::khr::external_memory_fd::Device::new(&c.instance, &c.device);
            let memory = memory.get_memory_fd(&vk::MemoryGetFdInfoKHR::default().memory(self.memory).handle_type(ty));
            let semaphores = ash::khr::external_semaphore_fd::Device::new(&c.instance, &c.device);
            let [timeline, binary] = [self.timeline, self.binary].map(|s| {
                semaphores.get_semaphore_fd(&vk::SemaphoreGetFdInfoKHR::default().semaphore(s).handle_type(OPAQUE))
            });
            let ty = vk::ExternalFenceHandleTypeFlags::OPAQUE_FD;
            let fences = ash::khr::external_fence_fd::Device::new(&c.instance, &c.device);
            let fence = fences.get_fence_fd(&vk::FenceGetFdInfoKHR::default().fence(self.fence).handle_type(ty));
            let fds = [memory, timeline, binary, fence].map(|fd| fd.expect("a descriptor"));
            fds.map(|fd| {
                assert_eq!(libc::fcntl(fd, libc::F_GETFD), libc::FD_CLOEXEC, "for no program by itself");
                assert_eq!(libc::fcntl(fd, libc::F_SETFD, 0), 0);
                fd.to_string()
            })
        };
        fds.join(" ")
    }

    /// Imports the objects in a child.
    fn import(c: &Context) -> Common {
        let text = std::env::var(FDS).expect("descriptors");
        let fds: Vec<i32> = text.split(' ').map(|fd| fd.parse().expect("a number")).collect();
        Common::new(c, Some(fds.try_into().expect("four")))
    }

    fn destroy(&self, c: &Context) {
        // SAFETY: valid usage.
        unsafe {
            let _ = c.device.device_wait_idle();
            c.device.destroy_fence(self.fence, None);
            [self.timeline, self.binary].into_iter().for_each(|s| c.device.destroy_semaphore(s, None));
            c.device.destroy_buffer(self.buffer, None);
            c.device.free_memory(self.memory, None);
        }
    }
}

/// Variable with the descriptors of [`Common`].
const FDS: &str = "GRUS_TEST_FDS";

/// Closes the descriptors that a child has received.
fn close_all(fds: &str) {
    // SAFETY: these descriptors belong to this test.
    fds.split(' ').for_each(|fd| unsafe {
        assert_eq!(libc::close(fd.parse().expect("a number")), 0);
    });
}

/// Submits one command buffer that waits and signals with timeline values.
fn submit(
    c: &Context,
    work: vk::CommandBuffer,
    waits: &[(vk::Semaphore, u64)],
    signals: &[(vk::Semaphore, u64)],
    fence: vk::Fence,
) {
    let info = |(semaphore, value): &(vk::Semaphore, u64)| {
        let info = vk::SemaphoreSubmitInfo::default().semaphore(*semaphore).value(*value);
        info.stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
    };
    let (waits, signals): (Vec<_>, Vec<_>) = (waits.iter().map(info).collect(), signals.iter().map(info).collect());
    let work = [vk::CommandBufferSubmitInfo::default().command_buffer(work)];
    let info = vk::SubmitInfo2::default().command_buffer_infos(&work);
    let info = info.wait_semaphore_infos(&waits).signal_semaphore_infos(&signals);
    // SAFETY: valid usage (synchronization2 is not validated here).
    unsafe { c.device.queue_submit2(c.queue, &[info], fence) }.expect("submit");
}

const WAIT_TIMEOUT: u64 = 60_000_000_000;

/// Checks shared memory and semaphores: the parent writes and signals a timeline semaphore to the
/// child. The child writes beside it and answers by a binary semaphore and a fence.
#[test]
fn two_processes_share_memory_and_semaphores_by_descriptor() {
    const NAME: &str = "two_processes_share_memory_and_semaphores_by_descriptor";
    let c = sharing_context();
    let half = SHARED_BYTES / 2;
    // SAFETY: valid usage.
    unsafe {
        if part().is_some() {
            let common = Common::import(&c);
            // The bytes that the parent wrote are copied to the other half.
            let region = [vk::BufferCopy { src_offset: 0, dst_offset: half, size: half }];
            let work = c.record(|b| c.device.cmd_copy_buffer(b, common.buffer, common.buffer, &region));
            submit(&c, work, &[(common.timeline, 7)], &[(common.binary, 0)], common.fence);
            c.device.wait_for_fences(&[common.fence], true, WAIT_TIMEOUT).expect("it ends");
            common.destroy(&c);
            return;
        }
        let common = Common::new(&c, None);
        let fds = common.export(&c);
        let child = child(NAME, "child").env(FDS, &fds).spawn().expect("a child");
        close_all(&fds);
        let fill = c.record(|b| c.device.cmd_fill_buffer(b, common.buffer, 0, half, 0x1234_5678));
        submit(&c, fill, &[], &[(common.timeline, 7)], vk::Fence::null());
        // The child's fence is this process's too. It means that the child's signal of the binary
        // semaphore has been submitted.
        c.device.wait_for_fences(&[common.fence], true, WAIT_TIMEOUT).expect("the child's work");
        let mut out = c.buffer(SHARED_BYTES);
        let region = [vk::BufferCopy { src_offset: 0, dst_offset: 0, size: SHARED_BYTES }];
        let copy = c.record(|b| c.device.cmd_copy_buffer(b, common.buffer, out.buffer, &region));
        let done = c.device.create_fence(&Default::default(), None).expect("fence");
        out.bytes_mut().fill(0);
        submit(&c, copy, &[(common.binary, 0)], &[], done);
        c.device.wait_for_fences(&[done], true, WAIT_TIMEOUT).expect("the copy");
        assert!(out.words().iter().all(|word| *word == 0x1234_5678));
        assert_eq!(c.device.get_semaphore_counter_value(common.timeline), Ok(7));
        finish(child, "the other process");
        c.device.destroy_fence(done, None);
        c.free(out);
        common.destroy(&c);
    }
}

/// Checks a child that has submitted a signal that waits for an event that never happens, and is
/// killed.
#[test]
fn a_process_that_dies_does_not_hang_another() {
    const NAME: &str = "a_process_that_dies_does_not_hang_another";
    let c = sharing_context();
    // SAFETY: valid usage.
    unsafe {
        if part().is_some() {
            let common = Common::import(&c);
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let never = c
                .device
                .create_semaphore(&vk::SemaphoreCreateInfo::default().push_next(&mut kind), None)
                .expect("semaphore");
            let signals = [(common.binary, 0), (common.timeline, 3)];
            submit(&c, c.record(|_| ()), &[(never, 1)], &signals, common.fence);
            println!("\nsubmitted");
            std::thread::sleep(Duration::from_secs(120));
            std::process::exit(1);
        }
        let common = Common::new(&c, None);
        let fds = common.export(&c);
        let mut child = child(NAME, "child").env(FDS, &fds).stdout(Stdio::piped()).spawn().expect("a child");
        close_all(&fds);
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("a pipe")));
        assert!(lines.map_while(Result::ok).any(|line| line == "submitted"));
        let done = c.device.create_fence(&Default::default(), None).expect("fence");
        submit(&c, c.record(|_| ()), &[(common.binary, 0)], &[], done);
        assert_eq!(c.device.wait_for_fences(&[done], true, 300_000_000), Err(vk::Result::TIMEOUT), "it lives");
        child.kill().expect("a child");
        // The child's status has not been waited for yet, so it is still there as a zombie.
        c.device.wait_for_fences(&[done, common.fence], true, WAIT_TIMEOUT).expect("the waits end");
        let (semaphores, values) = ([common.timeline], [3]);
        let wait = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        c.device.wait_semaphores(&wait, WAIT_TIMEOUT).expect("the wait ends");
        child.wait().expect("its status");
        c.run(|_| ()).expect("this device is as it was");
        c.device.destroy_fence(done, None);
        common.destroy(&c);
    }
}
