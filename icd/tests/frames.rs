//! Shaders with large frames and deep nesting, in a process of several workers, from callers with small stacks.

mod common;
#[path = "../../jit/tests/spirv_common/modules.rs"]
mod modules;
#[path = "common/pipeline.rs"]
mod pipeline;

use ash::vk;
use common::Context;
use pipeline::{Set, compute, record_dispatch};
use std::sync::Once;

/// A stack that applications and runtimes of other languages give their threads.
const SMALL: usize = 64 << 10;
const GROUPS: u32 = 64;

/// All of a client's life on a thread with a small stack; four workers.
fn on_small_thread(f: impl FnOnce() + Send + 'static) {
    static THREADS: Once = Once::new();
    // SAFETY: once, before any device of this process starts a thread; nobody else changes the environment.
    THREADS.call_once(|| unsafe { std::env::set_var("GRUS_THREADS", "4") });
    std::thread::Builder::new().stack_size(SMALL).spawn(f).expect("a thread").join().expect("no panic");
}

/// The buffer's floats after `times` dispatches over `GROUPS` workgroups.
fn dispatch(words: &[u32], times: u32, value: impl Fn(u32) -> f32) -> Vec<f32> {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut buffer = c.buffer(u64::from(GROUPS) * 64 * 4);
    buffer.fill_words(|i| value(i).to_bits());
    set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, words, &[]);
    let record = |b| (0..times).for_each(|_| record_dispatch(&c, b, &set, pipeline, &[], GROUPS));
    assert_eq!(c.run(record), Ok(()));
    let after = buffer.words().into_iter().map(f32::from_bits).collect();
    // SAFETY: not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    c.free(buffer);
    set.destroy(&c);
    after
}

#[test]
fn frames_beyond_a_thread() {
    // Some megabytes in the quick tier: more than a worker's stack has, and its neighbour's lies below it.
    const LENGTH: u32 = 1200;
    on_small_thread(|| {
        let value = |i: u32| 0.25 + (i % 64) as f32 / 32.0;
        let long = dispatch(&modules::chain(LENGTH), 1, value);
        assert_eq!(long, dispatch(&modules::chain(1), LENGTH, value));
    });
}

#[test]
fn whole_copies_of_large_arrays() {
    on_small_thread(|| {
        let values = dispatch(&modules::copies(1 << 16, 4), 1, |i| i as f32);
        assert!(values.into_iter().eq((0..GROUPS * 64).map(|i| i as f32)));
    });
}

#[test]
fn deep_nesting() {
    on_small_thread(|| {
        let values = dispatch(&modules::nest(390), 1, |i| i as f32);
        assert!(values.into_iter().eq((0..GROUPS * 64).map(|i| (i + u32::from(i > 9)) as f32)));
    });
}
