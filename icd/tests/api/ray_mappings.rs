//! Tests of mappings of acceleration structures to addresses (`VkDescriptorMappingSourceEXT`): in
//! push data, in memory to which push data point, and in shader records. There is no descriptor.

use crate::common::Buffer;
use crate::generated::{command, tagged};
use crate::heaps::DESCRIPTOR_HEAP;
use crate::ray_descriptors::{self, mapping};
use crate::rays::{Device, NONE, Primitives, Scene, Stages, UNUSED, general, triangles};
use ash::vk;
use std::ffi::c_void;
use vulkan_grus::caps::newer;

const HEAP_DATA: i32 = 4;
const PUSH_DATA: i32 = 5;
const PUSH_ADDRESS: i32 = 6;
const INDIRECT_ADDRESS: i32 = 7;
const RECORD_DATA: i32 = 9;
const RECORD_ADDRESS: i32 = 10;

/// Number of cells with a triangle, by scene.
const CELLS: [u32; 4] = [1, 4, 2, 5];
/// Number of cells that rays go through.
const WIDTH: u32 = 6;
/// Byte offset in the table of the structure's address.
const IN_TABLE: u32 = 16;
/// Byte offsets in the shader record, without the handle: the addresses of the results and of two
/// structures.
const RECORD: [u32; 3] = [0, 8, 16];

type Mapping = newer::DescriptorSetAndBindingMappingEXT<'static>;

/// Returns mappings of the results and of the structures in push data and in memory.
fn mappings(results: (i32, u32)) -> [Mapping; 3] {
    [
        mapping(0, results.0, [results.1, 0, 0, 0]),
        mapping(1, PUSH_ADDRESS, [0; 4]),
        mapping(2, INDIRECT_ADDRESS, [8, IN_TABLE, 0, 0]),
    ]
}

/// Returns mappings of everything that the ray generation shader has.
fn all_mappings() -> Vec<Mapping> {
    let [results, recorded, data] = RECORD;
    let mut all = mappings((RECORD_ADDRESS, results)).to_vec();
    all.push(mapping(3, RECORD_ADDRESS, [recorded, 0, 0, 0]));
    all.push(mapping(4, RECORD_DATA, [data, 0, 0, 0]));
    all
}

/// Calls a function with the flags of a pipeline and the chain of its stages.
fn describe<T>(
    mappings: &[Mapping],
    call: impl FnOnce(vk::PipelineCreateFlags2CreateInfoKHR<'_>, *const c_void) -> T,
) -> T {
    let chained = newer::ShaderDescriptorSetAndBindingMappingInfoEXT {
        mapping_count: mappings.len() as u32,
        p_mappings: mappings.as_ptr(),
        ..tagged()
    };
    let flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(DESCRIPTOR_HEAP);
    call(flags, (&raw const chained).cast())
}

/// Creates a ray tracing pipeline whose stages have these mappings.
fn pipeline(d: &Device, mappings: &[Mapping]) -> Result<vk::Pipeline, vk::Result> {
    let stages: [(Stages, &[u8]); 3] = [
        (Stages::RAYGEN_KHR, bytes!("ray_mappings.rgen")),
        (Stages::MISS_KHR, bytes!("rays.rmiss")),
        (Stages::CLOSEST_HIT_KHR, bytes!("rays.rchit")),
    ];
    let groups = [general(0), general(1), triangles(2, UNUSED)];
    d.describe(&stages, &groups, vk::PipelineCreateFlags::empty(), &[], |mut info| {
        describe(mappings, |mut flags, chain| {
            // SAFETY: `info` has this number of stages.
            let mut stages = unsafe { core::slice::from_raw_parts(info.p_stages, info.stage_count as usize) }.to_vec();
            stages.iter_mut().for_each(|stage| stage.p_next = chain);
            (info.p_stages, info.layout) = (stages.as_ptr(), vk::PipelineLayout::null());
            d.create(&info.push_next(&mut flags))
        })
    })
}

fn scenes(d: &Device) -> [Scene; 4] {
    CELLS.map(|cells| d.scene(&[Primitives::Triangles { cells, layers: 1, flags: vk::GeometryFlagsKHR::OPAQUE }]))
}

/// Returns memory with a structure's address at `IN_TABLE`.
fn table(d: &Device, scene: &Scene) -> Buffer {
    let mut table = d.buffer(&[0; 64]);
    table.bytes_mut()[IN_TABLE as usize..][..8].copy_from_slice(&scene.address.to_le_bytes());
    table
}

/// Pushes addresses, the first of them at offset 0 (`vkCmdPushDataEXT`).
fn push(d: &Device, b: vk::CommandBuffer, addresses: &[u64]) {
    let push = command!(d.c, c"vkCmdPushDataEXT" as newer::PFN_vkCmdPushDataEXT);
    let data =
        newer::HostAddressRangeEXT { address: addresses.as_ptr().cast_mut().cast(), size: size_of_val(addresses) };
    // SAFETY: valid usage.
    unsafe { push(b, &newer::PushDataInfoEXT { offset: 0, data, ..tagged() }) };
}

/// Each of four sources of an address, with each of four structures.
#[test]
fn pipelines_find_structures_by_addresses() {
    let mut d = ray_descriptors::device();
    let scenes = scenes(&d);
    let pipeline = pipeline(&d, &all_mappings()).expect("pipeline");
    let handles = d.handles(pipeline, 3);
    let others = [d.table(&[(handles[1], 50)]), d.table(&[(handles[2], 60)])];
    let [miss, hit] = [0, 1].map(|i| d.region(&others[i]));
    for turn in 0..4 {
        d.out.fill_words(|_| 0x7777);
        let scene = |source: usize| &scenes[(source + turn) % 4];
        let in_memory = table(&d, scene(1));
        let mut record = d.table(&[(handles[0], 0)]);
        for (at, address) in RECORD.into_iter().zip([d.c.address(&d.out), scene(2).address, scene(3).address]) {
            record.bytes_mut()[32 + at as usize..][..8].copy_from_slice(&address.to_le_bytes());
        }
        let generation = d.region(&record);
        let done = d.c.run(|b| {
            // SAFETY: valid usage.
            unsafe {
                d.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::RAY_TRACING_KHR, pipeline);
                push(&d, b, &[scene(0).address, d.c.address(&in_memory)]);
                d.pipelines.cmd_trace_rays(b, &generation, &miss, &hit, &NONE, 4 * WIDTH, 1, 1);
            }
        });
        done.expect("traced");
        for (i, result) in (0..).zip(d.results(4 * WIDTH)) {
            let (cell, source) = (i / 4, i as usize % 4);
            let is_hit = cell < CELLS[(source + turn) % 4];
            let expected = if is_hit { [0x100 + cell, i, 16, 60] } else { [0x8000, i, 0, 50] };
            assert_eq!(result, expected, "source {source}, turn {turn}, cell {cell}");
        }
        [in_memory, record].into_iter().for_each(|buffer| d.c.free(buffer));
    }
    // SAFETY: nothing uses the pipeline any more.
    unsafe { d.c.device.destroy_pipeline(pipeline, None) };
    others.into_iter().for_each(|table| d.c.free(table));
    scenes.into_iter().for_each(|scene| d.free_scene(scene));
    d.destroy();
}

#[test]
fn ray_queries_find_structures_by_addresses() {
    let mut d = ray_descriptors::device();
    let scenes = scenes(&d);
    let module = crate::pipeline::module(&d.c, &shader!("ray_mappings.comp"));
    let pipeline = describe(&mappings((PUSH_ADDRESS, 16)), |mut flags, chain| {
        let mut stage = vk::PipelineShaderStageCreateInfo::default().stage(Stages::COMPUTE);
        stage = stage.module(module).name(c"main");
        stage.p_next = chain;
        let info = vk::ComputePipelineCreateInfo::default().stage(stage).push_next(&mut flags);
        // SAFETY: valid usage.
        unsafe {
            let made = d.c.device.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            d.c.device.destroy_shader_module(module, None);
            made.expect("pipeline")[0]
        }
    });
    for [first, second] in [[0, 1], [1, 2], [3, 0]] {
        d.out.fill_words(|_| 0x7777);
        let in_memory = table(&d, &scenes[second]);
        let done = d.c.run(|b| {
            // SAFETY: valid usage.
            unsafe {
                d.c.device.cmd_bind_pipeline(b, vk::PipelineBindPoint::COMPUTE, pipeline);
                push(&d, b, &[scenes[first].address, d.c.address(&in_memory), d.c.address(&d.out)]);
                d.c.device.cmd_dispatch(b, 1, 1, 1);
            }
        });
        done.expect("run");
        for (i, result) in (0..).zip(d.results(2 * WIDTH)) {
            let is_hit = i / 2 < CELLS[[first, second][i as usize % 2]];
            assert_eq!(result, [u32::from(is_hit), i, 0, 0], "structures {first} and {second}");
        }
        d.c.free(in_memory);
    }
    // SAFETY: nothing uses the pipeline any more.
    unsafe { d.c.device.destroy_pipeline(pipeline, None) };
    scenes.into_iter().for_each(|scene| d.free_scene(scene));
    d.destroy();
}

/// Data can be a uniform block only (VUID-VkPipelineShaderStageCreateInfo-pNext-11315).
#[test]
fn structures_that_are_mapped_to_data_are_refused() {
    let d = ray_descriptors::device();
    for source in [HEAP_DATA, PUSH_DATA, RECORD_DATA] {
        let mut mappings = all_mappings();
        mappings[3] = mapping(3, source, [0; 4]);
        assert!(pipeline(&d, &mappings).is_err(), "source {source}");
        let messages = d.messenger.take();
        assert!(messages.iter().any(|m| m.contains("mapped to data")), "source {source}: {messages:?}");
    }
    d.destroy();
}
