//! Tests that memory which the C library keeps after many compiles returns to the system when they
//! have ended. The test is alone in its program because it measures the memory of the process.
//!
//! Linux only: the C library with such arenas is that of Linux.
#![cfg(unix)]

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Set, compute};
use std::time::{Duration, Instant};

/// Returns the number of resident bytes of the process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    text.split_whitespace().nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number") * 4096
}

#[test]
fn free_memory_of_arenas_is_given_back_after_many_compiles() {
    const BLOCKS: usize = 20_000;
    const FREED: usize = BLOCKS * 4000;
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1), (vk::DescriptorType::UNIFORM_BUFFER, 1)]);
    // A thread that compiles leaves free memory below a block that stays.
    let stays = std::thread::spawn(|| {
        let mut blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|i| vec![i as u8 | 1; 4000]).collect();
        blocks.pop()
    });
    let stays = stays.join().expect("no panic");
    let before = resident();
    assert!(before > FREED, "the C library has kept {before} bytes");
    let words = spirv(include_bytes!("data/square.comp.spv"));
    for factor in 0..100 {
        let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &words, &[64, factor]);
        // SAFETY: the pipeline was not used.
        unsafe { c.device.destroy_pipeline(pipeline, None) };
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while resident() + FREED / 4 * 3 > before && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(resident() + FREED / 4 * 3 < before, "{} bytes of {before} are resident", resident());
    assert_eq!(stays.map(|block| block.len()), Some(4000));
    set.destroy(&c);
}
