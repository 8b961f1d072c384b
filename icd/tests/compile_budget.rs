//! Tests of the bounds of compiling: a shader beyond the budget is refused with a VkResult and a
//! message, and no thread waits for better code of a shader that is destroyed.

#[path = "../../jit/tests/spirv_common/bomb.rs"]
#[allow(dead_code, reason = "shared with the tests of the JIT")]
mod bomb;
mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use bomb::{Kind, module};
use common::Context;
use pipeline::{Messenger, Set, compute, record_dispatch};
use std::time::{Duration, Instant};

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;

#[test]
fn a_shader_beyond_the_budget_is_refused_and_says_so() {
    let c = Context::new(&[c"VK_EXT_debug_utils"], &[]);
    let messenger = Messenger::new(&c);
    let set = Set::new(&c, &[(STORAGE, 1)]);
    for (kind, n) in [(Kind::Calls, 10), (Kind::Doubled, 60), (Kind::Huge, 15), (Kind::BarrierLoops, 2000)] {
        let words = module(kind, n);
        let began = Instant::now();
        // SAFETY: the usage is valid in all calls of this block.
        unsafe {
            let info = vk::ShaderModuleCreateInfo::default().code(&words);
            let module = c.device.create_shader_module(&info, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(set.layout);
            let result = c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            assert_eq!(result.unwrap_err().1, vk::Result::ERROR_INVALID_SHADER_NV, "{kind:?}");
            c.device.destroy_shader_module(module, None);
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{kind:?}: {:?}", began.elapsed());
        let messages = messenger.take();
        let said = |m: &String| ["too large", "too deeply", "composite of"].iter().any(|part| m.contains(part));
        assert!(messages.iter().any(said), "{kind:?}: {messages:?}");
    }
    set.destroy(&c);
}

#[test]
fn a_device_is_destroyed_at_once_behind_a_heavy_shader() {
    let c = Context::new(&[], &[]);
    let set = Set::new(&c, &[(STORAGE, 1)]);
    let mut buffer = c.buffer(64 * 4 * 64);
    buffer.fill_words(|_| 1.0f32.to_bits());
    set.buffers(&c, 0, STORAGE, &[(buffer.buffer, 0, vk::WHOLE_SIZE)]);
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &module(Kind::IfMany, 40), &[]);
    // The shader runs long enough for better code to be requested.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1500) {
        c.run(|b| record_dispatch(&c, b, &set, pipeline, &[], 64)).unwrap();
    }
    // SAFETY: the pipeline is not in use any more.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(buffer);
    let began = Instant::now();
    drop(c);
    let took = began.elapsed();
    println!("vkDestroyDevice: {took:?}");
    // On an idle machine this takes well below half a second; better code of this shader took
    // minutes.
    assert!(took < Duration::from_secs(4), "{took:?}");
}
