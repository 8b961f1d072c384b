//! Tests of ray tracing pipelines (VK_KHR_ray_tracing_pipeline): groups, handles, records, the loop
//! of a ray, callable shaders, recursion, libraries, and shader binding tables that are wrong.

use crate::binaries;
use crate::rays::{Device, Group, NONE, NULL, Pipeline, Primitives, Region, Stages, UNUSED, general, push, triangles};
use ash::vk;

fn procedural(closest_hit: u32, intersection: u32) -> Group {
    triangles(closest_hit, UNUSED)
        .ty(vk::RayTracingShaderGroupTypeKHR::PROCEDURAL_HIT_GROUP)
        .intersection_shader(intersection)
}

const RAYS: [(Stages, &[u8]); 4] = [
    (Stages::RAYGEN_KHR, bytes!("rays.rgen")),
    (Stages::MISS_KHR, bytes!("rays.rmiss")),
    (Stages::CLOSEST_HIT_KHR, bytes!("rays.rchit")),
    (Stages::ANY_HIT_KHR, bytes!("rays.rahit")),
];

/// The pipeline of most tests: ray generation, miss, opaque hits, other hits.
fn rays(d: &Device) -> Pipeline {
    d.pipeline(&RAYS, &[general(0), general(1), triangles(2, UNUSED), triangles(2, 3)])
}

const OPAQUE: vk::GeometryFlagsKHR = vk::GeometryFlagsKHR::OPAQUE;
const ANY: vk::GeometryFlagsKHR = vk::GeometryFlagsKHR::empty();

#[test]
fn rays_hit_and_miss_with_the_data_of_records() {
    let mut d = Device::new();
    let scene = d.scene(&[
        Primitives::Triangles { cells: 5, layers: 1, flags: OPAQUE },
        Primitives::Triangles { cells: 3, layers: 2, flags: OPAQUE },
    ]);
    let pipeline = rays(&d);
    let [generation, miss, hit, _] = *pipeline.handles.as_array().expect("four handles");
    let tables = [
        d.table(&[(generation, 0)]),
        d.table(&[(miss, 50), (miss, 51)]),
        d.table(&[(hit, 60), (hit, 61), (hit, 62), (hit, 63)]),
    ];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    // The record of geometry g is offset + g * stride.
    for (offset, stride) in [(0, 1), (1, 0), (1, 2), (0, 3)] {
        let push = push(&scene, 0, offset | stride << 4 | 1 << 8);
        let results = d.trace(&pipeline, push, [generation, miss, hit, NONE], [70, 3]);
        for (i, result) in (0..).zip(results) {
            let (x, y) = (i % 70, i / 70);
            // Both geometries have triangles at z = 0 in the first cells; the first one wins.
            let expected = if y == 0 && x < 5 { [0x100 + x, i, 16, 60 + offset] } else { [0x8000, i, 0, 51] };
            assert_eq!(result, expected, "{x} {y}, offset {offset}, stride {stride}");
        }
    }
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn any_hit_shaders_ignore_and_terminate() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Triangles { cells: 4, layers: 3, flags: ANY }]);
    let pipeline = rays(&d);
    let [generation, miss, _, hit] = *pipeline.handles.as_array().expect("four handles");
    let tables = [d.table(&[(generation, 0)]), d.table(&[(miss, 50)]), d.table(&[(hit, 0), (hit, 1), (hit, 2)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    for (record, skips) in [(0, 0), (1, 0), (2, 0), (0, 8)] {
        let results = d.trace(&pipeline, push(&scene, skips, record), [generation, miss, hit, NONE], [4, 1]);
        for (i, [x, index, t, data]) in (0..).zip(results) {
            assert_eq!(index, i);
            let (calls, completed) = (x >> 16 & 0xff, x >> 24);
            match record {
                // All layers are ignored, so that the ray misses.
                1 => assert_eq!([x, t, data], [0x3_8000, 0, 50]),
                // The first intersection that is found ends the ray.
                2 => assert_eq!([calls, completed, data], [1, 0, 2]),
                _ if skips != 0 => assert_eq!([x & 0xffff, t, data], [0, 0, 0]),
                _ => {
                    assert!(calls >= 1 && calls == completed);
                    assert_eq!([x & 0xffff, t, data], [0x100 + i, 16, 0]);
                }
            }
        }
    }
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn intersection_shaders_report_hits_in_boxes() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Boxes { cells: 3 }]);
    let stages = [
        RAYS[0],
        RAYS[1],
        (Stages::CLOSEST_HIT_KHR, &bytes!("box.rchit")[..]),
        (Stages::INTERSECTION_KHR, bytes!("rays.rint")),
    ];
    let pipeline = d.pipeline(&stages, &[general(0), general(1), procedural(2, 3)]);
    let handles = &pipeline.handles;
    let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[1], 50)]), d.table(&[(handles[2], 0)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let results = d.trace(&pipeline, push(&scene, 0, 0), [generation, miss, hit, NONE], [4, 1]);
    // The second report is nearer and knows that the first one was accepted.
    let mut expected: Vec<[u32; 4]> = (0..3).map(|i| [0x209, i, 32, 6]).collect();
    expected.push([0x8000, 3, 0, 50]);
    assert_eq!(results, expected);
    // The first accepted hit ends a ray with this flag.
    let results = d.trace(&pipeline, push(&scene, 4, 0), [generation, miss, hit, NONE], [1, 1]);
    assert_eq!(results, [[0x207, 0, 48, 5]]);
    // The same, if the ray skips boxes.
    let results = d.trace(&pipeline, push(&scene, 0x200, 0), [generation, miss, hit, NONE], [1, 1]);
    assert_eq!(results, [[0x8000, 0, 0, 50]]);
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

const CALLS: [(Stages, &[u8]); 2] =
    [(Stages::RAYGEN_KHR, bytes!("calls.rgen")), (Stages::CALLABLE_KHR, bytes!("calls.rcall"))];

#[test]
fn callable_shaders_call_others() {
    let mut d = Device::new();
    let pipeline = d.pipeline(&CALLS, &[general(0), general(1)]);
    let handles = &pipeline.handles;
    // Each record calls the other one.
    let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[1], 3), (handles[1], 10)])];
    let [generation, callable] = [0, 1].map(|i| d.region(&tables[i]));
    for depth in [0, 1, 7, 100] {
        let results = d.trace(&pipeline, [0, 0, depth, 0], [generation, NONE, NONE, callable], [40, 1]);
        for (i, result) in (0..).zip(results) {
            let sum = 3 * (depth / 2 + 1) + 10 * depth.div_ceil(2);
            assert_eq!(result, [sum, depth, i, depth + i], "depth {depth}");
        }
    }
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.destroy();
}

const DEEP: [(Stages, &[u8]); 3] = [RAYS[0], RAYS[1], (Stages::CLOSEST_HIT_KHR, bytes!("deep.rchit"))];

#[test]
fn rays_are_nested() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Triangles { cells: 9, layers: 1, flags: OPAQUE }]);
    let pipeline = d.pipeline(&DEEP, &[general(0), general(1), triangles(2, UNUSED)]);
    let handles = &pipeline.handles;
    for depth in [1, 2, 31] {
        let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[1], 0)]), d.table(&[(handles[2], depth)])];
        let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
        let results = d.trace(&pipeline, push(&scene, 0, 0), [generation, miss, hit, NONE], [9, 1]);
        let sum = depth * (depth + 1) / 2;
        assert!(results.iter().zip(0..).all(|(result, i)| *result == [sum, i, 0, 0]), "{depth}: {results:?}");
        tables.into_iter().for_each(|table| d.c.free(table));
    }
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

/// Rays and calls without end lose the device, with a message that names the pipeline.
#[test]
fn endless_nesting_loses_the_device() {
    for calls in [false, true] {
        let d = Device::new();
        let scene = d.scene(&[Primitives::Triangles { cells: 1, layers: 1, flags: OPAQUE }]);
        let pipeline = match calls {
            false => d.pipeline(&DEEP, &[general(0), general(1), triangles(2, UNUSED)]),
            true => d.pipeline(&CALLS, &[general(0), general(1)]),
        };
        crate::pipeline::name(&d.c, pipeline.pipeline, c"recursive");
        let handles = &pipeline.handles;
        let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[handles.len() - 1], !1)])];
        let [generation, last] = [0, 1].map(|i| d.region(&tables[i]));
        let done = d.c.run(|b| {
            d.bind(b, &pipeline, if calls { [0, 0, u32::MAX, 0] } else { push(&scene, 0, 0) });
            // SAFETY: the depth is an error of the application.
            unsafe { d.pipelines.cmd_trace_rays(b, &generation, &NONE, &last, &last, 64, 64, 1) };
        });
        assert_eq!(done, Err(vk::Result::ERROR_DEVICE_LOST));
        let messages = d.messenger.take();
        assert!(messages.iter().any(|m| m.contains("recursive") && m.contains("without end")), "{messages:?}");
        tables.into_iter().for_each(|table| d.c.free(table));
        d.free_pipeline(pipeline);
        d.free_scene(scene);
        d.destroy();
    }
}

/// Records that are not those of a group of the pipeline run nothing.
#[test]
fn other_records_run_nothing() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Triangles { cells: 2, layers: 1, flags: OPAQUE }]);
    let pipeline = rays(&d);
    let other = d.pipeline(&CALLS, &[general(0), general(1)]);
    let [generation, miss, hit, _] = *pipeline.handles.as_array().expect("four handles");
    let foreign = other.handles[1];
    let bad = [NULL, [0xff; 32], foreign, miss, generation];
    let untouched = |i| [0, i, 0, 0];
    let first = d.table(&[(generation, 0)]);
    let generation_table = d.region(&first);
    for handle in bad {
        // A miss shader is no hit group, and a hit group no miss shader.
        let wrong = if handle == miss { hit } else { handle };
        let tables = [d.table(&[(wrong, 1)]), d.table(&[(handle, 1)])];
        let [misses, hits] = [0, 1].map(|i| d.region(&tables[i]));
        let results = d.trace(&pipeline, push(&scene, 0, 0), [generation_table, misses, hits, NONE], [4, 1]);
        assert_eq!(results, [0, 1, 2, 3].map(untouched), "{handle:x?}");
        let results = d.trace(&pipeline, push(&scene, 0, 0), [hits, NONE, NONE, NONE], [1, 1]);
        assert_eq!(results[0][0] == 0x7777, handle != generation, "{handle:x?}");
        tables.into_iter().for_each(|table| d.c.free(table));
    }
    // Tables that are too small, that begin where no memory is, or whose strides leave the memory.
    let hits = d.table(&[(hit, 60)]);
    let whole = d.region(&hits);
    let large = Region { size: 1 << 40, ..whole };
    let lists = [
        (Region { size: 31, ..whole }, 0, false),
        (Region { device_address: 0, ..large }, 0, false),
        (Region { device_address: 64, ..large }, 0, false),
        (Region { device_address: u64::MAX - 100, ..large }, 0, false),
        (Region { stride: 1 << 20, ..large }, 15, false),
        (Region { stride: u64::MAX, ..large }, 15, false),
        (Region { stride: 0, ..whole }, 15, true),
        (large, 0, true),
    ];
    for (region, offset, is_hit) in lists {
        let results = d.trace(&pipeline, push(&scene, 0, offset), [generation_table, NONE, region, NONE], [1, 1]);
        assert_eq!(results[0][0] == 0x100, is_hit, "{region:?} {results:?}");
    }
    // A structure that does not exist.
    for address in [0u64, 8, 1 << 40, u64::MAX] {
        let push = [address as u32, (address >> 32) as u32, 0, 0];
        let results = d.trace(&pipeline, push, [generation_table, NONE, whole, NONE], [1, 1]);
        assert_eq!(results, [untouched(0)]);
    }
    d.c.free(first);
    d.c.free(hits);
    d.free_pipeline(other);
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn libraries_bring_shaders_and_groups() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Triangles { cells: 2, layers: 1, flags: ANY }]);
    let library = vk::PipelineCreateFlags::LIBRARY_KHR;
    let hits = d.try_pipeline(&RAYS[2..], &[triangles(0, 1)], library, &[]).expect("library");
    let misses = d.try_pipeline(&RAYS[1..2], &[general(0)], library, &[hits]).expect("library of a library");
    let linked = d.try_pipeline(&RAYS[..1], &[general(0)], vk::PipelineCreateFlags::empty(), &[misses]);
    let pipeline = linked.expect("pipeline");
    let pipeline = Pipeline { pipeline, handles: d.handles(pipeline, 3) };
    // SAFETY: a pipeline does not need its libraries.
    unsafe {
        d.c.device.destroy_pipeline(hits, None);
        d.c.device.destroy_pipeline(misses, None);
    }
    let handles = &pipeline.handles;
    let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[1], 50)]), d.table(&[(handles[2], 0)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let results = d.trace(&pipeline, push(&scene, 0, 0), [generation, miss, hit, NONE], [3, 1]);
    assert_eq!(results, [[0x101_0100, 0, 16, 0], [0x101_0101, 1, 16, 0], [0x8000, 2, 0, 50]]);
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn groups_name_shaders_of_libraries() {
    let mut d = Device::new();
    let (library, complete) = (vk::PipelineCreateFlags::LIBRARY_KHR, vk::PipelineCreateFlags::empty());
    let hits = d.try_pipeline(&RAYS[2..], &[], library, &[]).expect("library without groups");
    let misses = d.try_pipeline(&RAYS[1..2], &[general(0)], library, &[hits]).expect("library of a library");
    let groups = [general(0), general(1), triangles(2, UNUSED)];
    let linked = d.try_pipeline(&RAYS[..1], &groups, complete, &[misses]).expect("pipeline");
    // The group of the library follows the pipeline's own, and has the same shader as the second.
    let handles = d.handles(linked, 4);
    assert_eq!(handles[1], handles[3]);
    let pipeline = Pipeline { pipeline: linked, handles };
    opaque_hits_and_a_miss(&mut d, &pipeline);
    d.free_pipeline(pipeline);
    for group in [general(2), triangles(1, UNUSED), triangles(3, 3), general(RAYS.len() as u32)] {
        let made = d.try_pipeline(&RAYS[..1], &[general(0), group], complete, &[misses]);
        assert!(made.is_err());
        let messages = d.messenger.take();
        assert!(messages.iter().any(|m| m.contains("group 1 has stage")), "{messages:?}");
    }
    // SAFETY: no pipeline is in use.
    unsafe {
        d.c.device.destroy_pipeline(hits, None);
        d.c.device.destroy_pipeline(misses, None);
    }
    d.destroy();
}

/// The launch of [`rays`] in two cells with opaque triangles and one without, and its results.
fn opaque_hits_and_a_miss(d: &mut Device, pipeline: &Pipeline) {
    let scene = d.scene(&[Primitives::Triangles { cells: 2, layers: 1, flags: OPAQUE }]);
    let handles = &pipeline.handles;
    let tables = [d.table(&[(handles[0], 0)]), d.table(&[(handles[1], 50)]), d.table(&[(handles[2], 60)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let results = d.trace(pipeline, push(&scene, 0, 0), [generation, miss, hit, NONE], [3, 1]);
    assert_eq!(results, [[0x100, 0, 16, 60], [0x101, 1, 16, 60], [0x8000, 2, 0, 50]]);
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_scene(scene);
}

#[test]
fn pipelines_are_made_of_binaries() {
    let mut d = Device::with(&[c"VK_KHR_pipeline_binary"], &mut [&mut binaries::enabled()]);
    let commands = binaries::Commands::new(&d.c);
    let groups = [general(0), general(1), triangles(2, UNUSED), triangles(2, 3)];
    let none = vk::PipelineCreateFlags::empty();
    let captured = d.describe(&RAYS, &groups, none, &[], |info| {
        let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(binaries::CAPTURE_DATA);
        let pipeline = d.create(&info.push_next(&mut flags)).expect("pipeline");
        assert_ne!(commands.key(&info), commands.global_key());
        let cached = commands.take(commands.of_info(&info).expect("binaries of the internal cache"));
        let made = commands.take(commands.of_pipeline(pipeline).expect("binaries"));
        let keys = |binaries: &[(binaries::Key, Vec<u8>)]| {
            let mut keys: Vec<_> = binaries.iter().map(|(key, _)| key.bytes).collect();
            keys.sort_unstable();
            keys
        };
        assert_eq!(keys(&cached), keys(&made));
        let handles = d.handles(pipeline, groups.len());
        // SAFETY: the pipeline is not in use.
        unsafe { d.c.device.destroy_pipeline(pipeline, None) };
        (made, handles)
    });
    let (stored, handles) = captured;
    assert_eq!(stored.len(), RAYS.len(), "a binary for each stage");
    let data: Vec<_> = stored.iter().map(|(key, data)| (*key, &data[..])).collect();
    let (result, made) = commands.of_data(&data);
    assert_eq!(result, vk::Result::SUCCESS);
    let pipeline = d.describe(&RAYS, &groups, none, &[], |mut info| {
        let mut binaries = binaries::Info::new(&made);
        // SAFETY: `info` has this number of stages.
        let stages = unsafe { core::slice::from_raw_parts(info.p_stages, info.stage_count as usize) };
        let stages: Vec<_> = stages.iter().map(|stage| stage.module(vk::ShaderModule::null())).collect();
        info.p_stages = stages.as_ptr();
        d.create(&info.push_next(&mut binaries)).expect("pipeline of binaries")
    });
    made.into_iter().for_each(|binary| commands.destroy(binary));
    let pipeline = Pipeline { pipeline, handles: d.handles(pipeline, groups.len()) };
    assert_eq!(pipeline.handles, handles, "handles depend on the stages");
    opaque_hits_and_a_miss(&mut d, &pipeline);
    d.free_pipeline(pipeline);
    d.destroy();
}

#[test]
fn handles_are_replayed_and_stacks_have_sizes() {
    let d = Device::new();
    let replays = vk::PipelineCreateFlags::RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY_KHR;
    let groups = [general(0), general(1), triangles(2, UNUSED), triangles(2, 3)];
    let first = d.try_pipeline(&RAYS, &groups, replays, &[]).expect("pipeline");
    let handles = d.handles(first, 4);
    for (i, handle) in handles.iter().enumerate() {
        assert!(*handle != NULL && !handles[..i].contains(handle));
    }
    // SAFETY: valid usage.
    unsafe {
        let captured =
            d.pipelines.get_ray_tracing_capture_replay_shader_group_handles(first, 1, 2, 64).expect("handles");
        let with = |group: Group, handle: &[u8]| Group {
            p_shader_group_capture_replay_handle: handle.as_ptr().cast(),
            ..group
        };
        let replayed = [groups[0], with(groups[1], &captured[32..]), with(groups[2], &captured[..32]), groups[3]];
        let second = d.try_pipeline(&RAYS, &replayed, replays, &[]).expect("pipeline");
        let again = d.handles(second, 4);
        assert_eq!([again[0], again[1], again[2], again[3]], [handles[0], handles[2], handles[1], handles[3]]);
        let size = |group, shader| d.pipelines.get_ray_tracing_shader_group_stack_size(first, group, shader);
        assert!(size(0, vk::ShaderGroupShaderKHR::GENERAL) > 0 && size(3, vk::ShaderGroupShaderKHR::ANY_HIT) > 0);
        d.c.device.destroy_pipeline(first, None);
        d.c.device.destroy_pipeline(second, None);
    }
    d.destroy();
}

#[test]
fn groups_of_wrong_stages_are_refused() {
    let d = Device::new();
    for group in [general(2), general(4), triangles(1, UNUSED), triangles(2, 2), procedural(2, 3)] {
        let made = d.try_pipeline(&RAYS, &[general(0), group], vk::PipelineCreateFlags::empty(), &[]);
        assert!(made.is_err());
        let messages = d.messenger.take();
        assert!(messages.iter().any(|m| m.contains("group 1 has stage")), "{messages:?}");
    }
    d.destroy();
}

#[test]
fn launches_are_indirect() {
    let mut d = Device::new();
    let scene = d.scene(&[Primitives::Triangles { cells: 3, layers: 1, flags: OPAQUE }]);
    let pipeline = rays(&d);
    let [generation, miss, hit, _] = *pipeline.handles.as_array().expect("four handles");
    let tables = [d.table(&[(generation, 0)]), d.table(&[(miss, 50)]), d.table(&[(hit, 60)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let size: Vec<u8> = [4u32, 1, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let size = d.buffer(&size);
    let address = d.address(&size);
    for (address, is_run) in [(address, true), (0, false), (1 << 45, false)] {
        d.out.fill_words(|_| 0x7777);
        let done = d.c.run(|b| {
            d.bind(b, &pipeline, push(&scene, 0, 0));
            // SAFETY: valid usage, or addresses where no memory is.
            unsafe { d.pipelines.cmd_trace_rays_indirect(b, &generation, &miss, &hit, &NONE, address) };
        });
        done.expect("traced");
        let messages = d.messenger.take();
        if is_run {
            assert_eq!(d.results(4), [[0x100, 0, 16, 60], [0x101, 1, 16, 60], [0x102, 2, 16, 60], [0x8000, 3, 0, 50]]);
        } else {
            assert!(messages.iter().any(|m| m.contains("an indirect launch")), "{messages:?}");
            assert_eq!(d.results(1), [[0x7777; 4]]);
        }
    }
    tables.into_iter().for_each(|table| d.c.free(table));
    d.c.free(size);
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

/// Launches whose tables are in memory too.
#[test]
fn launches_read_their_tables_from_memory() {
    let mut maintenance = vk::PhysicalDeviceRayTracingMaintenance1FeaturesKHR::default()
        .ray_tracing_maintenance1(true)
        .ray_tracing_pipeline_trace_rays_indirect2(true);
    let mut d = Device::with(&[c"VK_KHR_ray_tracing_maintenance1"], &mut [&mut maintenance]);
    let commands = ash::khr::ray_tracing_maintenance1::Device::new(&d.c.instance, &d.c.device);
    let scene = d.scene(&[Primitives::Triangles { cells: 3, layers: 1, flags: OPAQUE }]);
    let pipeline = rays(&d);
    let [generation, miss, hit, _] = *pipeline.handles.as_array().expect("four handles");
    let tables = [d.table(&[(generation, 0)]), d.table(&[(miss, 50), (miss, 51)]), d.table(&[(hit, 60), (hit, 61)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let launch = vk::TraceRaysIndirectCommand2KHR {
        raygen_shader_record_address: generation.device_address,
        raygen_shader_record_size: generation.size,
        miss_shader_binding_table_address: miss.device_address,
        miss_shader_binding_table_size: miss.size,
        miss_shader_binding_table_stride: miss.stride,
        hit_shader_binding_table_address: hit.device_address,
        hit_shader_binding_table_size: hit.size,
        hit_shader_binding_table_stride: hit.stride,
        callable_shader_binding_table_address: 0,
        callable_shader_binding_table_size: 0,
        callable_shader_binding_table_stride: 0,
        width: 2,
        height: 2,
        depth: 1,
    };
    let nowhere = vk::TraceRaysIndirectCommand2KHR { raygen_shader_record_address: 1 << 45, ..launch };
    let misses = vk::TraceRaysIndirectCommand2KHR { hit_shader_binding_table_size: 0, ..launch };
    let empty = vk::TraceRaysIndirectCommand2KHR { height: 0, ..launch };
    // Rays of the first row hit, with the second records of both tables.
    let hits = [[0x100, 0, 16, 61], [0x101, 1, 16, 61], [0x8000, 2, 0, 51], [0x8000, 3, 0, 51]];
    let no_hits = [[0, 0, 0, 0], [0, 1, 0, 0], hits[2], hits[3]];
    let none = [[0x7777; 4]; 4];
    let launches = [(launch, hits), (misses, no_hits), (empty, none), (nowhere, none)];
    for (number, (launch, expected)) in launches.into_iter().enumerate() {
        let size = core::mem::offset_of!(vk::TraceRaysIndirectCommand2KHR, depth) + 4;
        // SAFETY: the structure consists of numbers without padding between them.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const launch).cast::<u8>(), size) };
        let buffer = d.buffer(bytes);
        let address = d.address(&buffer);
        d.out.fill_words(|_| 0x7777);
        let done = d.c.run(|b| {
            d.bind(b, &pipeline, push(&scene, 0, 1 | 1 << 8));
            // SAFETY: valid usage, or addresses where no memory is.
            unsafe { commands.cmd_trace_rays_indirect2(b, address) };
        });
        done.expect("traced");
        assert_eq!(d.results(4), expected, "launch {number}");
        d.c.free(buffer);
    }
    d.messenger.take();
    let done = d.c.run(|b| {
        d.bind(b, &pipeline, push(&scene, 0, 0));
        // SAFETY: no memory is at the address.
        unsafe { commands.cmd_trace_rays_indirect2(b, 1 << 45) };
    });
    done.expect("nothing traced");
    let messages = d.messenger.take();
    assert!(messages.iter().any(|m| m.contains("an indirect launch")), "{messages:?}");
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn handles_of_libraries_are_those_of_linked_pipelines() {
    let mut handles =
        vk::PhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT::default().pipeline_library_group_handles(true);
    let extensions = [c"VK_KHR_pipeline_library", c"VK_EXT_pipeline_library_group_handles"];
    let mut d = Device::with(&extensions, &mut [&mut handles]);
    let library = vk::PipelineCreateFlags::LIBRARY_KHR;
    let hits = d.try_pipeline(&RAYS[2..], &[triangles(0, UNUSED), triangles(0, 1)], library, &[]).expect("library");
    let misses = d.try_pipeline(&RAYS[1..2], &[general(0)], library, &[hits]).expect("library of a library");
    let of_hits = d.handles(hits, 2);
    let of_misses = d.handles(misses, 3);
    assert_eq!(of_misses[1..], of_hits);
    let none = vk::PipelineCreateFlags::empty();
    let linked = d.try_pipeline(&RAYS[..1], &[general(0)], none, &[misses]).expect("pipeline");
    let direct = d.try_pipeline(&RAYS[..1], &[general(0)], none, &[hits]).expect("pipeline");
    assert_eq!(d.handles(direct, 3)[1..], of_hits);
    let pipeline = Pipeline { pipeline: linked, handles: d.handles(linked, 4) };
    assert_eq!(pipeline.handles[1..], of_misses);
    for (i, handle) in pipeline.handles.iter().enumerate() {
        assert!(*handle != NULL && !pipeline.handles[..i].contains(handle), "group {i}");
    }
    // SAFETY: the pipelines are not in use.
    unsafe { [hits, misses, direct].into_iter().for_each(|pipeline| d.c.device.destroy_pipeline(pipeline, None)) };
    // The table has the handle of the library.
    let pipeline = Pipeline { handles: vec![pipeline.handles[0], of_misses[0], of_hits[0]], ..pipeline };
    opaque_hits_and_a_miss(&mut d, &pipeline);
    d.free_pipeline(pipeline);
    d.destroy();
}
