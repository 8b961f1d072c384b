//! Tests of motion blur (VK_NV_ray_tracing_motion_blur): images of triangles and instances that
//! move, at several times, against positions that are computed here; updates, copies and
//! serialization.

use crate::common::Buffer;
use crate::rays::{Device, NONE, Pipeline, Region, Stages, UNUSED, general, triangles};
use ash::vk;
use ash::vk::Handle as _;

type Kind = vk::AccelerationStructureTypeKHR;
type Flags = vk::BuildAccelerationStructureFlagsKHR;
type Geometry = vk::AccelerationStructureGeometryKHR<'static>;
/// The corners of a triangle in the plane z = 0.
type Corners = [[f32; 2]; 3];

/// Number of rays in each direction.
const SIZE: u32 = 32;
const TIMES: [f32; 4] = [0.0, 0.25, 0.6, 1.0];

fn device() -> Device {
    let mut reorder =
        vk::PhysicalDeviceRayTracingInvocationReorderFeaturesNV::default().ray_tracing_invocation_reorder(true);
    let mut motion = vk::PhysicalDeviceRayTracingMotionBlurFeaturesNV::default()
        .ray_tracing_motion_blur(true)
        .ray_tracing_motion_blur_pipeline_trace_rays_indirect(true);
    let names = [c"VK_NV_ray_tracing_motion_blur", c"VK_NV_ray_tracing_invocation_reorder"];
    Device::with(&names, &mut [&mut reorder, &mut motion])
}

/// A structure in a buffer of its own.
struct Structure {
    buffer: Buffer,
    handle: vk::AccelerationStructureKHR,
    address: u64,
}

fn structure(d: &Device, kind: Kind, size: u64) -> Structure {
    let buffer = d.buffer(&vec![0; size as usize]);
    let mut motion = vk::AccelerationStructureMotionInfoNV::default().max_instances(3);
    let mut info = vk::AccelerationStructureCreateInfoKHR::default()
        .create_flags(vk::AccelerationStructureCreateFlagsKHR::MOTION_NV)
        .buffer(buffer.buffer)
        .size(size)
        .ty(kind);
    if kind == Kind::TOP_LEVEL {
        info = info.push_next(&mut motion);
    }
    // SAFETY: valid usage.
    let handle = unsafe { d.structures.create_acceleration_structure(&info, None) }.expect("a structure");
    let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(handle);
    // SAFETY: valid usage.
    let address = unsafe { d.structures.get_acceleration_structure_device_address(&info) };
    Structure { buffer, handle, address }
}

fn free(d: &Device, structure: Structure) {
    // SAFETY: the structure is not in use any more.
    unsafe { d.structures.destroy_acceleration_structure(structure.handle, None) };
    d.c.free(structure.buffer);
}

/// Means of building a structure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    Queue,
    /// On a queue, with the counts in a buffer.
    Indirect,
    Host,
}

/// Builds a structure with motion on a queue, or updates one.
fn build(d: &Device, kind: Kind, geometries: &[(Geometry, u32)], old: Option<Structure>) -> Structure {
    build_by(d, Means::Queue, kind, geometries, old)
}

/// Builds a structure with motion, or updates one.
fn build_by(d: &Device, means: Means, kind: Kind, geometries: &[(Geometry, u32)], old: Option<Structure>) -> Structure {
    let (list, counts): (Vec<_>, Vec<_>) = geometries.iter().copied().unzip();
    let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
        .ty(kind)
        .flags(Flags::MOTION_NV | Flags::ALLOW_UPDATE)
        .geometries(&list);
    let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
    let any = vk::AccelerationStructureBuildTypeKHR::HOST_OR_DEVICE;
    // SAFETY: valid usage.
    unsafe { d.structures.get_acceleration_structure_build_sizes(any, &info, &counts, &mut sizes) };
    if let Some(old) = &old {
        info = info.mode(vk::BuildAccelerationStructureModeKHR::UPDATE).src_acceleration_structure(old.handle);
    }
    let made = old.unwrap_or_else(|| structure(d, kind, sizes.acceleration_structure_size));
    let mut scratch = d.buffer(&vec![0; sizes.build_scratch_size.max(sizes.update_scratch_size) as usize]);
    info.dst_acceleration_structure = made.handle;
    info.scratch_data.device_address = d.address(&scratch);
    let range = |&count: &u32| vk::AccelerationStructureBuildRangeInfoKHR::default().primitive_count(count);
    let ranges: Vec<_> = counts.iter().map(range).collect();
    let words: Vec<u32> = counts.iter().flat_map(|&count| [count, 0, 0, 0]).collect();
    let in_buffer = d.buffer(&bytes(&words));
    // SAFETY: valid usage.
    let built = unsafe {
        match means {
            Means::Queue => d.c.run(|b| d.structures.cmd_build_acceleration_structures(b, &[info], &[&ranges])),
            Means::Indirect => d.c.run(|b| {
                let (addresses, strides) = ([d.address(&in_buffer)], [16]);
                d.structures.cmd_build_acceleration_structures_indirect(b, &[info], &addresses, &strides, &[&counts]);
            }),
            Means::Host => {
                info.scratch_data.host_address = scratch.bytes_mut().as_mut_ptr().cast();
                let none = vk::DeferredOperationKHR::null();
                d.structures.build_acceleration_structures(none, &[info], &[&ranges])
            }
        }
    };
    built.expect("built");
    d.c.free(scratch);
    d.c.free(in_buffer);
    made
}

fn vertices(d: &Device, list: &[Corners]) -> Buffer {
    let floats = list.as_flattened().iter().flat_map(|&[x, y]| [x, y, 0.0]);
    d.buffer(&floats.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
}

/// Returns the address of a buffer for builds on a queue, or on the host.
fn address_for(d: &Device, means: Means, buffer: &Buffer) -> vk::DeviceOrHostAddressConstKHR {
    match means {
        Means::Host => vk::DeviceOrHostAddressConstKHR { host_address: buffer.bytes().as_ptr().cast() },
        Means::Queue | Means::Indirect => vk::DeviceOrHostAddressConstKHR { device_address: d.address(buffer) },
    }
}

/// Returns triangles, whose chain is never freed.
fn geometry(d: &Device, start: &Buffer, end: Option<&Buffer>, count: u32) -> (Geometry, u32) {
    geometry_for(d, Means::Queue, start, end, count)
}

/// Returns triangles for a build by these means. Their chain is never freed.
fn geometry_for(d: &Device, means: Means, start: &Buffer, end: Option<&Buffer>, count: u32) -> (Geometry, u32) {
    let at = |buffer| address_for(d, means, buffer);
    let mut data = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
        .vertex_format(vk::Format::R32G32B32_SFLOAT)
        .vertex_data(at(start))
        .vertex_stride(12)
        .max_vertex(3 * count - 1)
        .index_type(vk::IndexType::NONE_KHR);
    if let Some(end) = end {
        let motion = vk::AccelerationStructureGeometryMotionTrianglesDataNV::default().vertex_data(at(end));
        data.p_next = (&raw const *Box::leak(Box::new(motion))).cast();
    }
    let geometry = Geometry::default()
        .geometry_type(vk::GeometryTypeKHR::TRIANGLES)
        .geometry(vk::AccelerationStructureGeometryDataKHR { triangles: data })
        .flags(vk::GeometryFlagsKHR::OPAQUE);
    (geometry, count)
}

fn instances(data: vk::DeviceOrHostAddressConstKHR, pointers: bool, count: u32) -> (Geometry, u32) {
    let data = vk::AccelerationStructureGeometryInstancesDataKHR::default().data(data).array_of_pointers(pointers);
    let geometry = vk::AccelerationStructureGeometryDataKHR { instances: data };
    (Geometry::default().geometry_type(vk::GeometryTypeKHR::INSTANCES).geometry(geometry), count)
}

/// An instance of a structure: its transforms at both ends, by the type.
#[derive(Clone, Copy)]
struct Mover {
    ty: u32,
    ends: [[f32; 16]; 2],
    custom_index: u32,
    reference: u64,
}

impl Mover {
    /// Returns the words of the instance behind its type.
    fn data(&self) -> Vec<u32> {
        let lengths = [[12, 0], [12, 12], [16, 16]][self.ty as usize];
        let mut words = Vec::new();
        for (end, length) in self.ends.iter().zip(lengths) {
            words.extend(end[..length].iter().map(|value| value.to_bits()));
        }
        words.extend([0xff00_0000 | self.custom_index, 0, self.reference as u32, (self.reference >> 32) as u32]);
        words
    }

    /// Returns the bytes of the instance as an element of an array.
    fn element(&self) -> Vec<u8> {
        let mut element = bytes(&[self.ty, 0]);
        element.extend(bytes(&self.data()));
        element.resize(160, 0);
        element
    }

    /// Returns a point in the world at a time. Rotations are about the z axis.
    fn point(&self, [x, y]: [f64; 2], time: f64) -> [f64; 2] {
        let end = if self.ty == 0 { 0 } else { 1 };
        let now = |i: usize| f64::from(self.ends[0][i]) * (1.0 - time) + f64::from(self.ends[end][i]) * time;
        if self.ty < 2 {
            return [now(0) * x + now(1) * y + now(3), now(4) * x + now(5) * y + now(7)];
        }
        let [x, y] = [now(0) * x + now(1) * y + now(3), now(4) * y + now(6)];
        let angle = 2.0 * f64::atan2(now(11), now(12));
        let (sin, cos) = angle.sin_cos();
        [cos * x - sin * y + now(13), sin * x + cos * y + now(14)]
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a matrix that scales, and moves to a point.
fn matrix(scale: f32, x: f32, y: f32) -> [f32; 16] {
    [scale, 0.0, 0.0, x, 0.0, scale, 0.0, y, 0.0, 0.0, scale, 0.0, 0.0, 0.0, 0.0, 0.0]
}

/// Returns an SRT decomposition that scales, turns about the z axis, and moves to a point.
fn srt(scale: f32, pivot: f32, angle: f32, x: f32, y: f32) -> [f32; 16] {
    let (sin, cos) = (0.5 * angle).sin_cos();
    [scale, 0.0, 0.0, pivot, scale, 0.0, 0.0, scale, 0.0, 0.0, 0.0, sin, cos, x, y, 0.0]
}

/// The structures of the tests: one of a triangle that moves and one that does not, another of one
/// that does not, and instances of both.
struct World {
    start: Vec<Corners>,
    end: Vec<Corners>,
    still: Vec<Corners>,
    movers: Vec<Mover>,
}

impl World {
    fn new() -> World {
        let mover = |ty, start, end, custom_index| Mover { ty, ends: [start, end], custom_index, reference: 0 };
        World {
            start: vec![[[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]],
            end: vec![[[2.0, 1.5], [4.0, 1.5], [2.0, 4.5]]],
            still: vec![[[-3.0, 0.0], [-0.5, 0.0], [-3.0, 2.5]]],
            movers: vec![
                mover(0, matrix(1.0, -3.0, 2.0), matrix(9.0, 9.0, 9.0), 1),
                mover(1, matrix(1.0, 3.0, -5.0), matrix(0.5, 6.0, 4.0), 2),
                mover(2, srt(1.0, 0.0, 0.0, -4.0, -4.0), srt(1.5, 0.5, 1.6, -3.0, -5.0), 3),
            ],
        }
    }

    /// Returns the triangles of an instance: those of the first structure, or of the second one.
    fn triangles(&self, instance: usize, time: f64) -> Vec<(u32, [[f64; 2]; 3])> {
        let between = |i: usize| {
            [0, 1, 2].map(|corner| {
                [0, 1].map(|axis| {
                    let [a, b] = [&self.start, &self.end].map(|list| f64::from(list[i][corner][axis]));
                    a * (1.0 - time) + b * time
                })
            })
        };
        let still = self.still.iter().map(|corners| corners.map(|corner| corner.map(f64::from)));
        match instance {
            1 => still.map(|corners| (0, corners)).collect(),
            _ => (0..self.start.len()).map(|i| (0, between(i))).chain(still.map(|corners| (1, corners))).collect(),
        }
    }

    /// Returns what a ray at a point hits: the instance's custom index and the geometry's index;
    /// `None` close to an edge.
    fn hit(&self, point: [f64; 2], time: f64) -> Option<u32> {
        let mut found = 0;
        for (i, mover) in self.movers.iter().enumerate() {
            for (geometry, corners) in self.triangles(i, time) {
                let corners = corners.map(|corner| mover.point(corner, time));
                let sides = [0, 1, 2].map(|i| {
                    let ([ax, ay], [bx, by]) = (corners[i], corners[(i + 1) % 3]);
                    let length = f64::hypot(bx - ax, by - ay);
                    ((bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)) / length
                });
                if sides.iter().any(|side| side.abs() < 1e-3) {
                    return None;
                }
                if sides.iter().all(|side| *side > 0.0) {
                    assert_eq!(found, 0, "no two triangles of the tests lie at {point:?}");
                    found = mover.custom_index << 8 | geometry;
                }
            }
        }
        Some(found)
    }
}

/// The structures of a world.
struct Built {
    buffers: Vec<Buffer>,
    bottoms: Vec<Structure>,
    top: Structure,
}

impl Built {
    fn new(d: &Device, world: &mut World, pointers: bool) -> Built {
        Built::build(d, world, pointers, None)
    }

    /// Builds the structures, or updates them.
    fn build(d: &Device, world: &mut World, pointers: bool, old: Option<Built>) -> Built {
        let (mut bottoms, top, mut buffers) = match old {
            Some(Built { bottoms, top, buffers }) => (bottoms, Some(top), buffers),
            None => (Vec::new(), None, Vec::new()),
        };
        let [start, end, still] = [&world.start, &world.end, &world.still].map(|list| vertices(d, list));
        let moving = [geometry(d, &start, Some(&end), 1), geometry(d, &still, None, 1)];
        let resting = [geometry(d, &still, None, 1)];
        let second = bottoms.pop();
        let bottoms =
            vec![build(d, Kind::BOTTOM_LEVEL, &moving, bottoms.pop()), build(d, Kind::BOTTOM_LEVEL, &resting, second)];
        for (i, mover) in world.movers.iter_mut().enumerate() {
            mover.reference = bottoms[usize::from(i == 1)].address;
        }
        let mut list = Vec::new();
        for mover in &world.movers {
            let data = bytes(&mover.data());
            if pointers {
                let data = d.buffer(&data);
                list.extend((d.address(&data) | u64::from(mover.ty)).to_le_bytes());
                buffers.push(data);
            } else {
                list.extend(mover.element());
            }
        }
        let list = d.buffer(&list);
        let list_at = address_for(d, Means::Queue, &list);
        let top = build(d, Kind::TOP_LEVEL, &[instances(list_at, pointers, 3)], top);
        buffers.extend([start, end, still, list]);
        Built { buffers, bottoms, top }
    }

    fn free(self, d: &Device) {
        free(d, self.top);
        self.bottoms.into_iter().for_each(|structure| free(d, structure));
        self.buffers.into_iter().for_each(|buffer| d.c.free(buffer));
    }
}

/// The pipeline of the tests with its tables.
struct Program {
    pipeline: Pipeline,
    tables: [Buffer; 3],
}

impl Program {
    fn new(d: &Device) -> Program {
        let stages: [(Stages, &[u8]); 3] = [
            (Stages::RAYGEN_KHR, bytes!("motion_blur.rgen")),
            (Stages::MISS_KHR, bytes!("motion_blur.rmiss")),
            (Stages::CLOSEST_HIT_KHR, bytes!("motion_blur.rchit")),
        ];
        let groups = [general(0), general(1), triangles(2, UNUSED)];
        let flags = vk::PipelineCreateFlags::RAY_TRACING_ALLOW_MOTION_NV;
        let pipeline = d.try_pipeline(&stages, &groups, flags, &[]).expect("a pipeline");
        let pipeline = Pipeline { pipeline, handles: d.handles(pipeline, 3) };
        let tables = [0, 1, 2].map(|group| d.table(&[(pipeline.handles[group], 0)]));
        Program { pipeline, tables }
    }

    /// Returns the words of an image.
    fn trace(&self, d: &mut Device, top: u64, time: f32, mode: u32) -> Vec<[u32; 4]> {
        let [generation, miss, hit]: [Region; 3] = self.tables.each_ref().map(|table| d.region(table));
        let push = [top as u32, (top >> 32) as u32, time.to_bits(), mode];
        d.trace(&self.pipeline, push, [generation, miss, hit, NONE], [SIZE, SIZE])
    }

    fn free(self, d: &Device) {
        self.tables.into_iter().for_each(|table| d.c.free(table));
        d.free_pipeline(self.pipeline);
    }
}

/// Compares the images of a world with what is computed here.
fn check(d: &mut Device, program: &Program, world: &World, top: u64, what: &str) {
    for time in TIMES {
        for mode in 0..5 {
            // A ray without a time is one of the time 0.
            let own = if mode == 3 { 0.0 } else { time };
            let image = program.trace(d, top, time, mode);
            let (mut hits, mut compared) = (0, 0);
            for (i, words) in image.iter().enumerate() {
                let at =
                    [i as u32 % SIZE, i as u32 / SIZE].map(|n| (f64::from(n) + 0.5) / f64::from(SIZE) * 16.0 - 8.0);
                let Some(want) = world.hit(at, own.into()) else { continue };
                assert_eq!(words[0], want, "{what}, time {time}, mode {mode}, {at:?}");
                assert_eq!(words[1], own.to_bits(), "{what}: CurrentRayTimeNV, mode {mode}");
                compared += 1;
                if want == 0 {
                    continue;
                }
                hits += 1;
                let mover = world.movers.iter().find(|mover| mover.custom_index == want >> 8).expect("an instance");
                let origin = mover.point([0.0; 2], own.into());
                for (word, want) in words[2..].iter().zip(origin) {
                    let value = f64::from(f32::from_bits(*word));
                    assert!((value - want).abs() < 1e-5, "{what}: {value}, not {want}, mode {mode}");
                }
            }
            assert!(hits > 35 && compared > 850, "{hits} hits of {compared}");
        }
    }
}

#[test]
fn images_show_triangles_and_instances_at_the_time() {
    let mut d = device();
    let program = Program::new(&d);
    for pointers in [false, true] {
        let mut world = World::new();
        let built = Built::new(&d, &mut world, pointers);
        let top = built.top.address;
        check(&mut d, &program, &world, top, if pointers { "pointers" } else { "array" });
        built.free(&d);
    }
    program.free(&d);
    d.destroy();
}

#[test]
fn structures_with_motion_are_updated() {
    let mut d = device();
    let program = Program::new(&d);
    let mut world = World::new();
    let built = Built::new(&d, &mut world, false);
    world.start[0][2] = [0.0, 2.0];
    world.end[0].iter_mut().for_each(|corner| corner[0] += 0.5);
    world.movers[1].ends[1] = matrix(0.75, 6.0, 2.0);
    world.movers[2].ends[0] = srt(0.75, 0.25, -0.5, -4.0, -4.0);
    let built = Built::build(&d, &mut world, false, Some(built));
    check(&mut d, &program, &world, built.top.address, "update");
    built.free(&d);
    program.free(&d);
    d.destroy();
}

#[test]
fn structures_with_motion_are_copied_and_serialized() {
    let mut d = device();
    let program = Program::new(&d);
    let mut world = World::new();
    let built = Built::new(&d, &mut world, false);
    let none = vk::DeferredOperationKHR::null();
    let size = |query| {
        let mut bytes = [0; 8];
        // SAFETY: valid usage.
        let written =
            unsafe { d.structures.write_acceleration_structures_properties(&[built.top.handle], query, &mut bytes, 8) };
        written.expect("a property");
        u64::from_le_bytes(bytes)
    };
    let compacted = structure(&d, Kind::TOP_LEVEL, size(vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR));
    let words = size(vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR).div_ceil(8);
    let mut serialized = vec![0u64; words as usize];
    let loaded = structure(&d, Kind::TOP_LEVEL, compacted.buffer.size);
    let copy = vk::CopyAccelerationStructureInfoKHR::default()
        .src(built.top.handle)
        .dst(compacted.handle)
        .mode(vk::CopyAccelerationStructureModeKHR::COMPACT);
    let mut store = vk::CopyAccelerationStructureToMemoryInfoKHR::default()
        .src(built.top.handle)
        .mode(vk::CopyAccelerationStructureModeKHR::SERIALIZE);
    store.dst.host_address = serialized.as_mut_ptr().cast();
    let mut load = vk::CopyMemoryToAccelerationStructureInfoKHR::default()
        .dst(loaded.handle)
        .mode(vk::CopyAccelerationStructureModeKHR::DESERIALIZE);
    load.src.host_address = serialized.as_ptr().cast();
    // SAFETY: valid usage.
    unsafe {
        d.structures.copy_acceleration_structure(none, &copy).expect("a copy");
        d.structures.copy_acceleration_structure_to_memory(none, &store).expect("data");
        d.structures.copy_memory_to_acceleration_structure(none, &load).expect("a structure");
    }
    for (structure, what) in [(&compacted, "compaction"), (&loaded, "serialization")] {
        check(&mut d, &program, &world, structure.address, what);
    }
    [compacted, loaded].into_iter().for_each(|structure| free(&d, structure));
    built.free(&d);
    program.free(&d);
    d.destroy();
}

#[test]
fn every_means_builds_and_updates_the_same_structures() {
    let d = device();
    let World { start, end, movers, .. } = World::new();
    let [start, end] = [&start, &end].map(|list| vertices(&d, list));
    let resting = build(&d, Kind::BOTTOM_LEVEL, &[geometry(&d, &start, None, 1)], None);
    let mut expected: Option<[Vec<u8>; 4]> = None;
    for means in [Means::Queue, Means::Indirect, Means::Host] {
        // Builds on the host refer to structures by handles.
        let reference = if means == Means::Host { resting.handle.as_raw() } else { resting.address };
        let list: Vec<u8> = movers.iter().flat_map(|mover| Mover { reference, ..*mover }.element()).collect();
        let list = d.buffer(&list);
        let triangles = |a, b| [geometry_for(&d, means, a, Some(b), 1)];
        let instances = [instances(address_for(&d, means, &list), false, 3)];
        let bottom = build_by(&d, means, Kind::BOTTOM_LEVEL, &triangles(&start, &end), None);
        let top = build_by(&d, means, Kind::TOP_LEVEL, &instances, None);
        let built = [&bottom, &top].map(|structure| structure.buffer.bytes().to_vec());
        let bottom = build_by(&d, means, Kind::BOTTOM_LEVEL, &triangles(&end, &start), Some(bottom));
        let top = build_by(&d, means, Kind::TOP_LEVEL, &instances, Some(top));
        let updated = [&bottom, &top].map(|structure| structure.buffer.bytes().to_vec());
        assert_ne!(built[0], updated[0], "{means:?}");
        let [[a, b], [c, e]] = [built, updated];
        let all = [a, b, c, e];
        match &expected {
            Some(expected) => assert!(*expected == all, "{means:?}"),
            None => expected = Some(all),
        }
        [bottom, top].into_iter().for_each(|structure| free(&d, structure));
        d.c.free(list);
    }
    free(&d, resting);
    [start, end].into_iter().for_each(|buffer| d.c.free(buffer));
    d.destroy();
}
