//! Tests that a lack of threads gives an error at the right place, or that the available threads do
//! the work, and that nothing hangs. It is alone in its binary, whose own `pthread_create` stands
//! between the driver and the system's.
//!
//! Linux only: the system of Windows has no function that a program replaces for a library.
#![cfg(unix)]

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use core::ffi::c_void;
use pipeline::{AREA, Messenger, RGBA8, Set, compute, graphics, record_dispatch, render, render_context};
use std::sync::atomic::{AtomicI64, Ordering};

/// Number of threads that may still be created.
static ALLOWED: AtomicI64 = AtomicI64::new(i64::MAX);

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> i32;

/// Replaces libc's function.
///
/// # Safety
/// The requirements of libc's `pthread_create` hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> i32 {
    if ALLOWED.fetch_sub(1, Ordering::Relaxed) <= 0 {
        return libc::EAGAIN;
    }
    // SAFETY: the next definition of the symbol is libc's, which has this type; the arguments
    // fulfil its requirements, as the `# Safety` section demands.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr());
        core::mem::transmute::<*mut c_void, Create>(next)(thread, attributes, start, argument)
    }
}

/// Runs `f` while only `allowed` threads can be created.
fn with_threads<R>(allowed: i64, f: impl FnOnce() -> R) -> R {
    ALLOWED.store(allowed, Ordering::Relaxed);
    let result = f();
    ALLOWED.store(i64::MAX, Ordering::Relaxed);
    result
}

/// Runs everything that computes in threads: compiling, a dispatch, draws, copies.
fn work(c: &Context) -> Result<(Vec<u32>, Vec<u8>), vk::Result> {
    let set = Set::new(c, &[(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)]);
    let (mut data, mut offset) = (c.buffer(1 << 20), c.buffer(64));
    data.fill_words(|i| i);
    offset.fill_words(|_| 5);
    set.buffers(c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(data.buffer, 0, vk::WHOLE_SIZE)]);
    set.buffers(c, 1, vk::DescriptorType::UNIFORM_BUFFER, &[(offset.buffer, 0, vk::WHOLE_SIZE)]);
    let words = spirv(include_bytes!("data/square.comp.spv"));
    let pipeline = compute(c, vk::PipelineCache::null(), set.layout, &words, &[64, 3]);
    let copy = c.buffer(1 << 20);
    c.run(|b| {
        record_dispatch(c, b, &set, pipeline, &7u32.to_le_bytes(), 4096);
        let region = vk::BufferCopy { src_offset: 0, dst_offset: 0, size: 1 << 20 };
        // SAFETY: valid usage.
        unsafe { c.device.cmd_copy_buffer(b, data.buffer, copy.buffer, &[region]) };
    })?;
    let target = c.image(RGBA8, [64, 64], vk::SampleCountFlags::TYPE_1, 1);
    let (vertex, fragment) = (spirv(include_bytes!("data/full.vert.spv")), spirv(include_bytes!("data/red.frag.spv")));
    let red = graphics(c, &vertex, &fragment, set.layout, false);
    render(c, &target, AREA, |b| {
        // SAFETY: valid usage.
        unsafe {
            c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::GRAPHICS, red);
            c.device.cmd_draw(b, 3, 50, 0, 0);
        }
    })?;
    Ok((copy.words(), c.read_image(&target, 4)))
}

#[test]
fn too_few_threads() {
    // SAFETY: no other thread reads the environment; the driver has started nothing.
    unsafe { std::env::set_var("GRUS_THREADS", "8") };
    let extensions = [c"VK_EXT_debug_utils"];
    let c = render_context(&extensions, false);
    let expected = work(&c).expect("with threads");
    assert!(expected.1.as_chunks::<4>().0.iter().all(|p| *p == [255, 0, 0, 255]));
    drop(c);

    // Without any thread, nothing is submitted, and the fence does not change; then, with a thread,
    // everything works.
    let c = render_context(&extensions, false);
    let began = std::time::Instant::now();
    with_threads(0, || {
        // SAFETY: valid usage.
        unsafe {
            let fence = c.device.create_fence(&Default::default(), None).expect("fence");
            let commands = [c.record(|_| ())];
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            let result = c.device.queue_submit(c.queue, &submit, fence);
            assert_eq!(result, Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
            assert_eq!(c.device.get_fence_status(fence), Ok(false));
            assert_eq!(c.device.queue_wait_idle(c.queue), Ok(()), "nothing was submitted");
            c.device.destroy_fence(fence, None);
        }
        assert_eq!(work(&c).err(), Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY));
    });
    assert_eq!(work(&c).expect("later"), expected);
    drop(c);

    // A device that never got a thread can be destroyed.
    with_threads(0, || drop((render_context(&extensions, false), work(&render_context(&extensions, false)))));

    // The queue's worker alone, then with one, two, … threads more: the bits are equal, and there
    // is one message if the watchdog is missing.
    for allowed in 1..12 {
        let c = render_context(&extensions, false);
        let messenger = Messenger::new(&c);
        // An empty submission starts the worker and nothing else.
        // SAFETY: valid usage.
        unsafe {
            let fence = c.device.create_fence(&Default::default(), None).expect("fence");
            c.device.queue_submit(c.queue, &[], fence).expect("a worker");
            c.device.wait_for_fences(&[fence], true, u64::MAX).expect("done");
            c.device.destroy_fence(fence, None);
        }
        let result = with_threads(allowed - 1, || (work(&c), work(&c)));
        assert_eq!((result.0.as_ref(), result.1.as_ref()), (Ok(&expected), Ok(&expected)), "{allowed} threads");
        let messages = messenger.take();
        assert!(messages.len() <= 1 && messages.iter().all(|m| m.contains("watchdog")), "{allowed}: {messages:?}");
        // The pool of eight, the watchdog, the worker.
        assert!(
            (allowed > 1 || messages.len() == 1) && (allowed < 10 || messages.is_empty()),
            "{allowed}: {messages:?}"
        );
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(300), "{:?}", began.elapsed());
}
