//! What maintenance 6, 7 and 9 add to commands and queries.

mod common;
#[path = "common/pipeline.rs"]
mod pipeline;
use ash::vk;
use common::{Context, spirv};
use pipeline::{Set, compute};

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;

#[test]
fn sets_and_constants_by_structures() {
    let mut feature = vk::PhysicalDeviceMaintenance6FeaturesKHR::default().maintenance6(true);
    let c = Context::with(&[], &[c"VK_KHR_maintenance6"], &mut [&mut feature]);
    let m6 = ash::khr::maintenance6::Device::new(&c.instance, &c.device);
    let set = Set::new(&c, &[(STORAGE, 1), (UNIFORM, 1)]);
    let (mut data, mut params) = (c.buffer(256), c.buffer(16));
    data.fill_words(|i| i);
    params.fill_words(|_| 100);
    set.buffers(&c, 0, STORAGE, &[(data.buffer, 0, 256)]);
    set.buffers(&c, 1, UNIFORM, &[(params.buffer, 0, 16)]);
    let code = spirv(include_bytes!("data/square.comp.spv"));
    let pipeline = compute(&c, vk::PipelineCache::null(), set.layout, &code, &[64]);
    let (sets, stages) = ([set.set], vk::ShaderStageFlags::ALL);
    let bind = vk::BindDescriptorSetsInfoKHR::default().stage_flags(stages).layout(set.layout).descriptor_sets(&sets);
    let add = 7u32.to_le_bytes();
    let constants = vk::PushConstantsInfoKHR::default().stage_flags(stages).layout(set.layout).values(&add);
    // SAFETY: valid usage, here and below.
    c.run(|b| unsafe {
        c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline);
        m6.cmd_bind_descriptor_sets2(b, &bind);
        m6.cmd_push_constants2(b, &constants);
        c.device.cmd_dispatch(b, 1, 1, 1);
    })
    .expect("run");
    let want: Vec<u32> = (0..64).map(|i| (63 - i) * 3 + 107).collect();
    assert_eq!(data.words(), want);
    // SAFETY: valid usage.
    unsafe { c.device.destroy_pipeline(pipeline, None) };
    set.destroy(&c);
    c.free(data);
    c.free(params);
}

#[test]
fn bindings_say_what_became_of_them() {
    let mut feature = vk::PhysicalDeviceMaintenance6FeaturesKHR::default().maintenance6(true);
    let c = Context::with(&[], &[c"VK_KHR_maintenance6"], &mut [&mut feature]);
    // SAFETY: valid usage.
    unsafe {
        let info = vk::BufferCreateInfo::default().size(64).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        let buffers = [(); 2].map(|()| c.device.create_buffer(&info, None).expect("buffer"));
        let need = c.device.get_buffer_memory_requirements(buffers[0]);
        let info = vk::MemoryAllocateInfo::default().allocation_size(need.size);
        let memory = c.device.allocate_memory(&info, None).expect("memory");
        let mut results = [vk::Result::NOT_READY; 2];
        let [first, second] = &mut results;
        let [mut a, mut b] = [first, second].map(|r| vk::BindMemoryStatusKHR::default().result(r));
        let bind =
            |buffer, offset| vk::BindBufferMemoryInfo::default().buffer(buffer).memory(memory).memory_offset(offset);
        // The first one lies beyond the memory; the second is bound all the same.
        let infos = [bind(buffers[0], 1 << 40).push_next(&mut a), bind(buffers[1], 0).push_next(&mut b)];
        assert!(c.device.bind_buffer_memory2(&infos).is_err());
        assert_eq!((results[0] == vk::Result::SUCCESS, results[1]), (false, vk::Result::SUCCESS));
        buffers.into_iter().for_each(|buffer| c.device.destroy_buffer(buffer, None));
        c.device.free_memory(memory, None);
    }
}

#[test]
fn queries_may_begin_reset() {
    let c = Context::new(&[], &[c"VK_KHR_maintenance7", c"VK_KHR_maintenance9"]);
    // VK_QUERY_POOL_CREATE_RESET_BIT_KHR.
    let flags = vk::QueryPoolCreateFlags::from_raw(1);
    let info = vk::QueryPoolCreateInfo::default().flags(flags).query_type(vk::QueryType::TIMESTAMP).query_count(3);
    // SAFETY: valid usage.
    unsafe {
        let pool = c.device.create_query_pool(&info, None).expect("pool");
        c.run(|b| c.device.cmd_write_timestamp(b, vk::PipelineStageFlags::ALL_COMMANDS, pool, 1)).expect("run");
        let mut times = [[9u64; 2]; 3];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        let result = c.device.get_query_pool_results(pool, 0, &mut times, flags);
        assert_eq!(result, Err(vk::Result::NOT_READY));
        assert_eq!(times.map(|[_, there]| there), [0, 1, 0]);
        c.device.destroy_query_pool(pool, None);
    }
}
