//! Tests of spheres and linear swept spheres (VK_NV_ray_tracing_linear_swept_spheres): builds and
//! updates on queues and on the host, ray queries, built-ins of hit shaders, hit objects, and
//! geometries that are refused.

use crate::acceleration_structures::{
    BOTTOM, Device, Geometry, PLACES, Place, Structure, TOP, address_at, count, instance, instances,
};
use crate::common::{Buffer, Features};
use crate::ray_queries::dispatch;
use crate::rays::{self, NONE, Stages, UNUSED, general, push};
use ash::vk;
use std::ptr::null_mut;
use vulkan_grus::caps::newer::{self, TaggedStructure};

type Spheres = newer::AccelerationStructureGeometrySpheresDataNV<'static>;
type SweptSpheres = newer::AccelerationStructureGeometryLinearSweptSpheresDataNV<'static>;

const EXTENSION: &std::ffi::CStr = c"VK_NV_ray_tracing_linear_swept_spheres";

/// Returns `VkPhysicalDeviceRayTracingLinearSweptSpheresFeaturesNV`.
fn features() -> Features<2> {
    Features::new(1_000_429_008)
}

fn device() -> Device {
    Device::with(&[EXTENSION, c"VK_KHR_ray_tracing_pipeline"], Some(&mut features()))
}

/// Two spheres: centres with x and radius, at byte 16 of each 20.
fn balls(list: &[[f32; 2]]) -> Vec<u8> {
    let floats = list.iter().flat_map(|&[x, radius]| [x, 0.0, 0.0, 7.0, radius]);
    floats.flat_map(f32::to_le_bytes).collect()
}

/// Returns spheres of balls, with indices of 16 bits if there are any.
fn spheres(balls: vk::DeviceOrHostAddressConstKHR, indices: Option<vk::DeviceOrHostAddressConstKHR>) -> Spheres {
    // SAFETY: both members are numbers of 64 bits.
    let [balls, indices] = unsafe { [Some(balls), indices].map(|at| at.map_or(0, |at| at.device_address)) };
    Spheres {
        s_type: Spheres::STRUCTURE_TYPE,
        p_next: null_mut(),
        vertex_format: vk::Format::R32G32B32_SFLOAT,
        vertex_data: balls,
        vertex_stride: 20,
        radius_format: vk::Format::R32_SFLOAT,
        radius_data: balls + 16,
        radius_stride: 20,
        index_type: if indices == 0 { vk::IndexType::NONE_KHR } else { vk::IndexType::UINT16 },
        index_data: indices,
        index_stride: 4,
        _marker: std::marker::PhantomData,
    }
}

/// Returns the ends of swept spheres.
fn swept(of: Spheres, indexing_mode: i32, end_caps_mode: i32) -> SweptSpheres {
    SweptSpheres {
        s_type: SweptSpheres::STRUCTURE_TYPE,
        p_next: null_mut(),
        vertex_format: of.vertex_format,
        vertex_data: of.vertex_data,
        vertex_stride: of.vertex_stride,
        radius_format: of.radius_format,
        radius_data: of.radius_data,
        radius_stride: of.radius_stride,
        index_type: of.index_type,
        index_data: of.index_data,
        index_stride: of.index_stride,
        indexing_mode,
        end_caps_mode,
        _marker: std::marker::PhantomData,
    }
}

/// Returns a geometry that its chain describes.
fn geometry<T: TaggedStructure>(data: &T, opaque: bool) -> Geometry {
    let ty = match T::STRUCTURE_TYPE {
        Spheres::STRUCTURE_TYPE => newer::GEOMETRY_TYPE_SPHERES_NV,
        _ => newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV,
    };
    let flags = if opaque { vk::GeometryFlagsKHR::OPAQUE } else { vk::GeometryFlagsKHR::empty() };
    let mut geometry = Geometry::default().geometry_type(ty).flags(flags);
    geometry.p_next = (&raw const *data).cast();
    geometry
}

/// Words of 16 rays, which begin half a unit apart.
fn rays_of(d: &Device, bottom: &Structure) -> Vec<[u32; 32]> {
    let bytes = d.buffer_of(&instance(d.address(bottom)));
    let top = d.built(Place::Queue, TOP, &instances(address_at(Place::Queue, d, &bytes)), count(1));
    let words = dispatch(d, &shader!("swept_spheres.comp"), 16 * 32, &[top.structure]);
    d.free(top);
    d.c.free(bytes);
    words.as_chunks().0.to_vec()
}

/// The hit of a ray: primitive, t, kind (1 for spheres, 2 for swept ones) and position.
type Hit = (u32, f32, u32, f32);

/// Checks the hits of rays; `candidates` is the number that a candidate of the kind adds.
fn check(words: &[[u32; 32]], candidates: [u32; 3], hits: impl Fn(f32) -> Option<Hit>) {
    for (i, words) in words.iter().enumerate() {
        let Some((primitive, t, kind, u)) = hits(i as f32 / 2.0) else {
            assert_eq!(words[..2], [0, 0], "ray {i}");
            continue;
        };
        assert_eq!(words[..3], [candidates[kind as usize], 1, primitive], "ray {i}");
        let [own_t, own_u] = [3, 5].map(|at| f32::from_bits(words[at]));
        assert!((own_t - t).abs() < 1e-6 && (own_u - u).abs() < 1e-6, "ray {i}: {own_t} {own_u}, not {t} {u}");
        assert_eq!(words[4], kind, "ray {i}");
    }
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&word| f32::from_bits(word)).collect()
}

#[test]
fn spheres_are_built_everywhere() {
    let d = device();
    let data = d.buffer_of(&balls(&[[4.0, 1.0], [0.0, 2.0], [9.0, 9.0]]));
    let indices = d.buffer_of(&[9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    for place in PLACES {
        for opaque in [false, true] {
            let at = address_at(place, &d, &data);
            let spheres = spheres(at, Some(address_at(place, &d, &indices)));
            // The first index is left out.
            let range = count(2).primitive_offset(4);
            let bottom = d.built(place, BOTTOM, &geometry(&spheres, opaque), range);
            let words = rays_of(&d, &bottom);
            let of = |x: f32, radius: f32| 10.0 - (radius * radius - x * x).sqrt();
            check(&words, if opaque { [0; 3] } else { [0, 1, 16] }, |x| match x {
                x if x < 2.0 => Some((0, of(x, 2.0), 1, 0.0)),
                x if x > 3.0 && x < 5.0 => Some((1, of(x - 4.0, 1.0), 1, 0.0)),
                _ => None,
            });
            assert_eq!(floats(&words[0][6..10]), [0.0, 0.0, 0.0, 2.0]);
            assert_eq!(floats(&words[8][6..10]), [4.0, 0.0, 0.0, 1.0]);
            d.free(bottom);
        }
    }
    d.c.free(indices);
    d.c.free(data);
}

#[test]
fn swept_spheres_are_built_and_updated_everywhere() {
    let d = device();
    // A first vertex of 1 leaves out the first ball.
    let mut data = d.buffer_of(&balls(&[[-9.0, 5.0], [0.0, 1.0], [4.0, 1.0], [6.0, 1.0]]));
    let indices = d.buffer_of(&[0, 0, 0, 0, 1, 0, 0, 0]);
    for place in PLACES {
        let at = address_at(place, &d, &data);
        let list = swept(spheres(at, None), 0, 1);
        let range = count(1).first_vertex(1);
        let (from, of_list) = (d.built(place, BOTTOM, &geometry(&list, false), range), |x: f32| match x {
            0.0 => Some((0, 9.0, 2, 0.0)),
            x if x < 4.0 => Some((0, 9.0, 2, x / 4.0)),
            4.0 => Some((0, 9.0, 2, 1.0)),
            4.5 => Some((0, 10.0 - 0.75f32.sqrt(), 2, 1.0)),
            _ => None,
        });
        let words = rays_of(&d, &from);
        check(&words, [0, 1, 16], of_list);
        assert_eq!(floats(&words[2][10..18]), [0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 1.0, 1.0]);
        // Ends without caps.
        let open = swept(spheres(at, None), 0, 0);
        let bottom = d.built(place, BOTTOM, &geometry(&open, true), range);
        check(&rays_of(&d, &bottom), [0; 3], |x| of_list(x).filter(|hit| hit.3 > 0.0 && hit.3 < 1.0));
        d.free(bottom);
        // A chain of two.
        let chain = swept(spheres(at, Some(address_at(place, &d, &indices))), 1, 1);
        let bottom = d.built(place, BOTTOM, &geometry(&chain, true), count(2).first_vertex(1));
        let words = rays_of(&d, &bottom);
        let numbers: Vec<u32> = words.iter().map(|words| if words[1] == 0 { 9 } else { words[2] }).collect();
        assert_eq!(numbers, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 9, 9]);
        d.free(bottom);
        // The first ball moves up by half a unit.
        let bytes = balls(&[[-9.0, 5.0], [0.0, 1.0], [3.0, 1.0], [6.0, 1.0]]);
        data.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
        d.build(place, BOTTOM, &geometry(&list, false), range, Some(&from), &from);
        let numbers = rays_of(&d, &from).iter().map(|words| words[1]).sum::<u32>();
        assert_eq!(numbers, 8, "rays hit less of it");
        let bytes = balls(&[[-9.0, 5.0], [0.0, 1.0], [4.0, 1.0], [6.0, 1.0]]);
        data.bytes_mut()[..bytes.len()].copy_from_slice(&bytes);
        d.free(from);
    }
    d.c.free(indices);
    d.c.free(data);
}

/// Copies and serialized structures are those of any other contents.
#[test]
fn structures_of_spheres_are_copied_and_serialized() {
    let d = device();
    let data = d.buffer_of(&balls(&[[4.0, 1.0], [0.0, 2.0]]));
    let list = swept(spheres(address_at(Place::Queue, &d, &data), None), 0, 1);
    let bottom = d.built(Place::Queue, BOTTOM, &geometry(&list, true), count(1));
    let expected = rays_of(&d, &bottom);
    let size = d.property(Place::Queue, &bottom, vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR);
    let compacted = d.structure(BOTTOM, size);
    d.copy(Place::Queue, &bottom, &compacted, vk::CopyAccelerationStructureModeKHR::COMPACT);
    assert_eq!(rays_of(&d, &compacted), expected);
    let size = d.property(Place::Host, &bottom, vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
    let serialized: Buffer = d.buffer(size);
    d.serialize(Place::Host, &bottom, &serialized);
    let other = d.structure(BOTTOM, compacted.buffer.size);
    d.deserialize(Place::Host, &serialized, &other).expect("its own bytes");
    assert_eq!(rays_of(&d, &other), expected);
    d.c.free(serialized);
    [bottom, compacted, other].into_iter().for_each(|structure| d.free(structure));
    d.c.free(data);
}

#[test]
fn geometries_that_are_not_supported_are_refused() {
    let d = device();
    let data = d.buffer_of(&balls(&[[4.0, 1.0], [0.0, 2.0]]));
    let target = d.structure(BOTTOM, 4096);
    let good = spheres(address_at(Place::Host, &d, &data), None);
    let build = |geometry: Geometry| {
        let mut scratch = [0u64; 64];
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(BOTTOM)
            .geometries(std::slice::from_ref(&geometry))
            .dst_acceleration_structure(target.structure);
        info.scratch_data.host_address = scratch.as_mut_ptr().cast();
        let none = vk::DeferredOperationKHR::null();
        // SAFETY: the call is refused, or valid.
        unsafe { d.f.build_acceleration_structures(none, &[info], &[&[count(1)]]) }
    };
    assert_eq!(build(geometry(&good, true)), Ok(()));
    assert_eq!(build(geometry(&swept(good, 0, 1), true)), Ok(()));
    let vertex = Spheres { vertex_format: vk::Format::R8_UINT, ..good };
    let radius = Spheres { radius_format: vk::Format::R32G32_SFLOAT, ..good };
    for data in [vertex, radius] {
        assert_eq!(build(geometry(&data, true)), Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED));
        assert_eq!(build(geometry(&swept(data, 0, 1), true)), Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED));
    }
    let index = Spheres { index_type: vk::IndexType::from_raw(77), ..good };
    assert_eq!(build(geometry(&index, true)), Err(vk::Result::ERROR_FEATURE_NOT_PRESENT));
    // Modes that do not exist, and successive ends without indices.
    for (indexing, caps) in [(2, 1), (0, 2), (1, 1)] {
        let data = swept(good, indexing, caps);
        assert_eq!(build(geometry(&data, true)), Err(vk::Result::ERROR_FEATURE_NOT_PRESENT));
    }
    // A geometry without its data.
    for ty in [newer::GEOMETRY_TYPE_SPHERES_NV, newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV] {
        assert_eq!(build(Geometry::default().geometry_type(ty)), Err(vk::Result::ERROR_UNKNOWN));
    }
    d.free(target);
    d.c.free(data);
}

#[test]
fn formats_of_radii_are_reported() {
    let d = device();
    for (format, is_radius) in [
        (vk::Format::R32_SFLOAT, true),
        (vk::Format::R16_SFLOAT, true),
        (vk::Format::R32G32_SFLOAT, false),
        (vk::Format::R8_UNORM, false),
        (vk::Format::D32_SFLOAT, false),
    ] {
        let mut flags = vk::FormatProperties3::default();
        let mut properties = vk::FormatProperties2::default().push_next(&mut flags);
        // SAFETY: valid usage.
        unsafe { d.c.instance.get_physical_device_format_properties2(d.c.physical, format, &mut properties) };
        let radius = vk::FormatFeatureFlags2::from_raw(1 << 51);
        assert_eq!(flags.buffer_features.contains(radius), is_radius, "{format:?}");
        assert!(!flags.optimal_tiling_features.contains(radius), "{format:?}");
    }
}

/// Closest-hit shaders read built-ins, any-hit shaders decide, and hit objects have the same
/// values.
#[test]
fn hit_shaders_and_hit_objects_read_spheres() {
    let mut reorder =
        vk::PhysicalDeviceRayTracingInvocationReorderFeaturesNV::default().ray_tracing_invocation_reorder(true);
    let mut d =
        rays::Device::with(&[EXTENSION, c"VK_NV_ray_tracing_invocation_reorder"], &mut [&mut features(), &mut reorder]);
    let stages: [(Stages, &[u8]); 4] = [
        (Stages::RAYGEN_KHR, bytes!("swept_spheres.rgen")),
        (Stages::MISS_KHR, bytes!("rays.rmiss")),
        (Stages::CLOSEST_HIT_KHR, bytes!("swept_spheres.rchit")),
        (Stages::ANY_HIT_KHR, bytes!("swept_spheres.rahit")),
    ];
    let groups = [general(0), general(1), rays::triangles(2, UNUSED), rays::triangles(2, 3)];
    // VK_PIPELINE_CREATE_2_RAY_TRACING_ALLOW_SPHERES_AND_LINEAR_SWEPT_SPHERES_BIT_NV.
    let flags = vk::PipelineCreateFlags2KHR::from_raw(1 << 33);
    let mut flags = vk::PipelineCreateFlags2CreateInfoKHR::default().flags(flags);
    let made = d.describe(&stages, &groups, vk::PipelineCreateFlags::empty(), &[], |info| {
        d.create(&info.push_next(&mut flags))
    });
    let pipeline = made.expect("a pipeline");
    let pipeline = rays::Pipeline { pipeline, handles: d.handles(pipeline, groups.len()) };
    let tables = [0, 1, 2, 3].map(|group| d.table(&[(pipeline.handles[group], 50)]));
    let [generation, miss, hit, any_hit] = tables.each_ref().map(|table| d.region(table));
    let data = balls(&[[0.0, 1.0], [1.0, 0.5], [4.0, 1.0], [5.0, 2.0]]);
    let at = vk::DeviceOrHostAddressConstKHR { host_address: data.as_ptr().cast() };
    let (of_spheres, of_swept) = (spheres(at, None), swept(spheres(at, None), 0, 1));
    // Primitive 0 is the sphere at 0, and the swept one from 0 to 1; the last one is at 5.
    let cases = [
        (geometry(&of_spheres, false), 4, 1 | 0xfd << 8, [1.0, 502.0], None),
        (geometry(&of_swept, false), 2, 2 | 0xfc << 8, [100.5, 502.0], Some(1.0)),
    ];
    for (geometry, count, kinds, [first, last], u) in cases {
        let scene = d.scene_of((&[geometry], &[count]), |ty, size| d.structure(ty, size));
        for mode in 0..3 {
            let results = d.trace(&pipeline, push(&scene, 0, mode), [generation, miss, hit, NONE], [12, 1]);
            let last_u = u.unwrap_or(0.0);
            for (i, sum, own_u) in [(0, first, 0.0), (11, last, last_u)] {
                let result = results[i];
                assert_eq!(
                    [result[0], f32::from_bits(result[1]).to_bits()],
                    [kinds, f32::to_bits(own_u)],
                    "{mode} {i}"
                );
                let word = if u.is_some() { 3 } else { 2 };
                assert_eq!(f32::from_bits(result[word]), sum, "{mode} {i}");
            }
            let gap = if mode == 2 { [0; 2] } else { [0x8000, 50] };
            assert_eq!([results[5][0], results[5][3]], gap, "{mode}: a ray at 2.5 misses");
        }
        // The any-hit shader ignores the last primitive, whose number is odd.
        let results = d.trace(&pipeline, push(&scene, 0, 0), [generation, miss, any_hit, NONE], [12, 1]);
        assert_eq!([results[0][0], results[11][0]], [kinds, 0x8000]);
        // SkipBuiltinPrimitivesNV.
        let results = d.trace(&pipeline, push(&scene, 0x100, 0), [generation, miss, hit, NONE], [12, 1]);
        assert!(results.iter().all(|result| result[0] == 0x8000));
        d.free_scene(scene);
    }
    tables.into_iter().for_each(|table| d.c.free(table));
    d.free_pipeline(pipeline);
    d.destroy();
}
