//! Tests of shaders with large frames and deep nesting, in a process of several workers, from
//! callers with small stacks.

mod common;
#[path = "../../jit/tests/spirv_common/modules.rs"]
mod modules;
#[path = "common/pipeline.rs"]
mod pipeline;

use ash::vk;
use common::Context;
use pipeline::{Set, compute, record_dispatch};
use std::sync::Once;

/// Size of a stack that applications and runtimes of other languages give their threads, in bytes.
const SMALL: usize = 64 << 10;
const GROUPS: u32 = 64;

/// Runs all of a client's calls on a thread with a small stack, with four workers.
fn on_small_thread(f: impl FnOnce() + Send + 'static) {
    static THREADS: Once = Once::new();
    // SAFETY: this runs once, before any device of this process starts a thread, and no other code
    // changes the environment.
    THREADS.call_once(|| unsafe { std::env::set_var("GRUS_THREADS", "4") });
    std::thread::Builder::new().stack_size(SMALL).spawn(f).expect("a thread").join().expect("no panic");
}

/// Returns the buffer's words after a dispatch over `GROUPS` workgroups.
fn dispatch(words: &[u32], value: impl Fn(u32) -> f32) -> Vec<u32> {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
    let mut buffer = c.buffer(u64::from(GROUPS) * 64 * 4);
    buffer.fill_words(|i| value(i).to_bits());
    set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, words, &[]);
    assert_eq!(c.run(|b| record_dispatch(&c, b, &set, pipeline, &[], GROUPS)), Ok(()));
    let after = buffer.words();
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    c.free(buffer);
    set.destroy(&c);
    after
}

#[test]
fn frames_beyond_a_thread() {
    // A value takes 32 bytes in the quick tier. With all optimizations this is more than a worker's
    // stack, below which the stack of its neighbour lies.
    const VALUES: u32 = if cfg!(debug_assertions) { 6_000 } else { 72_000 };
    on_small_thread(|| {
        let value = |i: u32| 0.25 + (i % 64) as f32 / 32.0;
        let results: Vec<u32> = (0..64).map(|i| modules::wide_result(VALUES, value(i).to_bits())).collect();
        let words = dispatch(&modules::wide(VALUES), value);
        assert!(words.chunks(64).all(|group| group == results));
    });
}

#[test]
fn whole_copies_of_large_arrays() {
    on_small_thread(|| {
        let values = dispatch(&modules::copies(1 << 16, 4), |i| i as f32);
        assert!(values.into_iter().eq((0..GROUPS * 64).map(|i| (i as f32).to_bits())));
    });
}

#[test]
fn deep_nesting() {
    on_small_thread(|| {
        let values = dispatch(&modules::nest(1023), |i| i as f32);
        assert!(values.into_iter().eq((0..GROUPS * 64).map(|i| ((i + u32::from(i > 9)) as f32).to_bits())));
    });
}
