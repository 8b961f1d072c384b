//! Tests of hit objects (VK_NV_ray_tracing_invocation_reorder): the shaders that they run, objects
//! that are recorded without a ray, and getters.

use crate::rays::{Device, NONE, Pipeline, Primitives, Stages, UNUSED, general, push, triangles};
use ash::vk;

const HIT_OBJECTS: (Stages, &[u8]) = (Stages::RAYGEN_KHR, bytes!("hit_objects.rgen"));

fn pipeline(d: &Device, generation: (Stages, &'static [u8])) -> Pipeline {
    let stages: [(Stages, &[u8]); 4] = [
        generation,
        (Stages::MISS_KHR, bytes!("rays.rmiss")),
        (Stages::CLOSEST_HIT_KHR, bytes!("rays.rchit")),
        (Stages::ANY_HIT_KHR, bytes!("rays.rahit")),
    ];
    d.pipeline(&stages, &[general(0), general(1), triangles(2, UNUSED), triangles(2, 3)])
}

fn device() -> Device {
    let mut reorder =
        vk::PhysicalDeviceRayTracingInvocationReorderFeaturesNV::default().ray_tracing_invocation_reorder(true);
    Device::with(&[c"VK_NV_ray_tracing_invocation_reorder"], &mut [&mut reorder])
}

/// Checks that rays have the results of rays without hit objects, whether the objects are those of
/// the rays or recorded.
#[test]
fn shaders_of_hit_objects_run_as_those_of_rays() {
    let mut d = device();
    let any = vk::GeometryFlagsKHR::empty();
    let scene = d.scene(&[
        Primitives::Triangles { cells: 5, layers: 2, flags: vk::GeometryFlagsKHR::OPAQUE },
        Primitives::Triangles { cells: 9, layers: 3, flags: any },
    ]);
    let plain = pipeline(&d, (Stages::RAYGEN_KHR, bytes!("rays.rgen")));
    let objects = pipeline(&d, HIT_OBJECTS);
    let [_, miss, hit, any_hit] = *plain.handles.as_array().expect("four handles");
    let miss = d.table(&[(miss, 50), (miss, 51)]);
    let hits = d.table(&[(hit, 60), (any_hit, 0), (hit, 62), (any_hit, 1)]);
    for (offset, stride, skips) in [(0, 1, 0), (1, 2, 0), (0, 2, 0), (1, 0, 8), (0, 5, 0)] {
        let table = offset | stride << 4 | 1 << 8;
        let mut all = Vec::new();
        for (pipeline, mode) in [(&plain, 0), (&objects, 0), (&objects, 1), (&objects, 2)] {
            // Recorded hits have no ray flags, so that their closest-hit shader runs.
            if skips != 0 && mode != 0 {
                continue;
            }
            let generation = d.table(&[(pipeline.handles[0], 0)]);
            let tables = [d.region(&generation), d.region(&miss), d.region(&hits), NONE];
            all.push(d.trace(pipeline, push(&scene, skips, table | mode << 16), tables, [67, 5]));
            d.c.free(generation);
        }
        assert!(all[0].iter().any(|result| result[0] & 0x8000 != 0), "a ray misses");
        assert!(all.iter().all(|results| *results == all[0]), "offset {offset}, stride {stride}");
    }
    [miss, hits].into_iter().for_each(|table| d.c.free(table));
    [plain, objects].into_iter().for_each(|pipeline| d.free_pipeline(pipeline));
    d.free_scene(scene);
    d.destroy();
}

#[test]
fn getters_read_hits_and_misses() {
    let mut d = device();
    let scene = d.scene(&[Primitives::Triangles { cells: 3, layers: 2, flags: vk::GeometryFlagsKHR::OPAQUE }]);
    let pipeline = pipeline(&d, HIT_OBJECTS);
    let [generation, miss, hit, _] = *pipeline.handles.as_array().expect("four handles");
    let tables = [d.table(&[(generation, 0)]), d.table(&[(miss, 50), (miss, 51)]), d.table(&[(hit, 60), (hit, 61)])];
    let [generation, miss, hit] = [0, 1, 2].map(|i| d.region(&tables[i]));
    let results = d.trace(&pipeline, push(&scene, 0, 1 | 1 << 8 | 3 << 16), [generation, miss, hit, NONE], [4, 1]);
    // A hit, the other object is empty, the ray in object space is that in the world.
    let front = 1 | 8 | 16 | 3 << 8 | 1 << 24 | 1 << 28;
    for (i, result) in (0..).zip(&results[..3]) {
        assert_eq!([result[0] & !0xff_0000, result[1], result[2], result[3]], [front, i, 16, 61], "{i}");
        assert!([0xfe, 0xff].contains(&(result[0] >> 16 & 0xff)), "{i}");
    }
    assert_eq!([results[3][0] & 0xf, results[3][2], results[3][3]], [2 | 8, 1600, 51]);
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.free_scene(scene);
    d.destroy();
}
