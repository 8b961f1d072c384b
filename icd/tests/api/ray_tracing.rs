//! Tests of ray tracing pipelines (VK_KHR_ray_tracing_pipeline): groups, handles, records, the loop
//! of a ray, callable shaders, recursion, libraries, and shader binding tables that are wrong.

use crate::common::{Buffer, Context, spirv};
use crate::pipeline::{Messenger, Set, module};
use ash::vk;

type Structures = ash::khr::acceleration_structure::Device;
type Pipelines = ash::khr::ray_tracing_pipeline::Device;
type Region = vk::StridedDeviceAddressRegionKHR;
type Group = vk::RayTracingShaderGroupCreateInfoKHR<'static>;
type Stages = vk::ShaderStageFlags;

macro_rules! shader {
    ($name:literal) => {
        include_bytes!(concat!("../data/", $name, ".spv"))
    };
}

const UNUSED: u32 = vk::SHADER_UNUSED_KHR;
/// Number of bytes of a record: a handle and data.
const RECORD: u64 = 64;

struct Device {
    c: Context,
    structures: Structures,
    pipelines: Pipelines,
    set: Set,
    out: Buffer,
    messenger: Messenger,
}

/// Structures with their buffers, and the address of the top-level one.
struct Scene {
    buffers: Vec<Buffer>,
    structures: Vec<vk::AccelerationStructureKHR>,
    address: u64,
}

/// A pipeline and the handles of its groups.
struct Pipeline {
    pipeline: vk::Pipeline,
    handles: Vec<[u8; 32]>,
}

/// Primitives of a geometry, in cells of the plane z = 0 and those behind it.
#[derive(Clone, Copy)]
enum Primitives {
    /// Triangles that cover cells of the first row, one behind the other in each.
    Triangles { cells: u32, layers: u32, flags: vk::GeometryFlagsKHR },
    /// Boxes that contain cells of the first row.
    Boxes { cells: u32 },
}

impl Device {
    fn new() -> Device {
        let mut structures = vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default()
            .acceleration_structure(true)
            .acceleration_structure_host_commands(true);
        let mut rays = vk::PhysicalDeviceRayTracingPipelineFeaturesKHR::default()
            .ray_tracing_pipeline(true)
            .ray_tracing_pipeline_trace_rays_indirect(true)
            .ray_tracing_pipeline_shader_group_handle_capture_replay(true)
            .ray_traversal_primitive_culling(true);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let extensions =
            [c"VK_KHR_acceleration_structure", c"VK_KHR_deferred_host_operations", c"VK_KHR_ray_tracing_pipeline"];
        let c = Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut [&mut structures, &mut rays, &mut v12]);
        let messenger = Messenger::new(&c);
        let (structures, pipelines) = (Structures::new(&c.instance, &c.device), Pipelines::new(&c.instance, &c.device));
        let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let out = c.buffer(1 << 16);
        set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        Device { c, structures, pipelines, set, out, messenger }
    }

    fn destroy(self) {
        assert_eq!(self.messenger.take(), Vec::<String>::new());
        self.set.destroy(&self.c);
        self.c.free(self.out);
    }

    fn buffer(&self, bytes: &[u8]) -> Buffer {
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR
            | vk::BufferUsageFlags::SHADER_BINDING_TABLE_KHR
            | vk::BufferUsageFlags::INDIRECT_BUFFER;
        let info = vk::BufferCreateInfo::default().size(bytes.len().max(4) as u64).usage(usage);
        let d = &self.c.device;
        // SAFETY: valid usage.
        unsafe {
            let buffer = d.create_buffer(&info, None).expect("buffer");
            let requirements = d.get_buffer_memory_requirements(buffer);
            let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
            let info = vk::MemoryAllocateInfo::default().allocation_size(requirements.size).push_next(&mut flags);
            let memory = d.allocate_memory(&info, None).expect("memory");
            let pointer = d.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).expect("map").cast();
            d.bind_buffer_memory(buffer, memory, 0).expect("bind");
            let mut buffer = Buffer { buffer, memory, pointer, size: bytes.len().max(4) as u64 };
            buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            buffer
        }
    }

    fn address(&self, buffer: &Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.buffer);
        // SAFETY: valid usage.
        unsafe { self.c.device.get_buffer_device_address(&info) }
    }

    /// Builds a structure of geometries on the host.
    fn build(
        &self,
        scene: &mut Scene,
        ty: vk::AccelerationStructureTypeKHR,
        geometries: &[vk::AccelerationStructureGeometryKHR<'_>],
        counts: &[u32],
    ) {
        let host = vk::AccelerationStructureBuildTypeKHR::HOST;
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default().ty(ty).geometries(geometries);
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        let ranges: Vec<_> = counts
            .iter()
            .map(|count| vk::AccelerationStructureBuildRangeInfoKHR::default().primitive_count(*count))
            .collect();
        // SAFETY: valid usage.
        unsafe {
            self.structures.get_acceleration_structure_build_sizes(host, &info, counts, &mut sizes);
            let size = sizes.acceleration_structure_size;
            let buffer = self.buffer(&vec![0; size as usize]);
            let create = vk::AccelerationStructureCreateInfoKHR::default().buffer(buffer.buffer).size(size).ty(ty);
            let structure = self.structures.create_acceleration_structure(&create, None).expect("structure");
            let mut scratch = vec![0u8; sizes.build_scratch_size as usize];
            info.dst_acceleration_structure = structure;
            info.scratch_data.host_address = scratch.as_mut_ptr().cast();
            self.structures
                .build_acceleration_structures(vk::DeferredOperationKHR::null(), &[info], &[&ranges])
                .expect("built");
            let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(structure);
            scene.address = self.structures.get_acceleration_structure_device_address(&info);
            scene.buffers.push(buffer);
            scene.structures.push(structure);
        }
    }

    /// Builds a scene of one instance of these geometries.
    fn scene(&self, geometries: &[Primitives]) -> Scene {
        let mut scene = Scene { buffers: Vec::new(), structures: Vec::new(), address: 0 };
        let data: Vec<Vec<f32>> = geometries.iter().map(|primitives| primitives.floats()).collect();
        let all: Vec<_> = geometries.iter().zip(&data).map(|(primitives, data)| primitives.geometry(data)).collect();
        let counts: Vec<u32> = geometries.iter().map(|primitives| primitives.count()).collect();
        self.build(&mut scene, vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL, &all, &counts);
        let instance = vk::AccelerationStructureInstanceKHR {
            transform: vk::TransformMatrixKHR { matrix: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0] },
            instance_custom_index_and_mask: vk::Packed24_8::new(3, 0xff),
            instance_shader_binding_table_record_offset_and_flags: vk::Packed24_8::new(0, 0),
            acceleration_structure_reference: vk::AccelerationStructureReferenceKHR {
                host_handle: scene.structures[0],
            },
        };
        let data = vk::AccelerationStructureGeometryInstancesDataKHR::default()
            .data(vk::DeviceOrHostAddressConstKHR { host_address: (&raw const instance).cast() });
        let top = vk::AccelerationStructureGeometryKHR::default()
            .geometry_type(vk::GeometryTypeKHR::INSTANCES)
            .geometry(vk::AccelerationStructureGeometryDataKHR { instances: data });
        self.build(&mut scene, vk::AccelerationStructureTypeKHR::TOP_LEVEL, &[top], &[1]);
        scene
    }

    fn free_scene(&self, scene: Scene) {
        for structure in scene.structures {
            // SAFETY: the structure is not in use any more.
            unsafe { self.structures.destroy_acceleration_structure(structure, None) };
        }
        scene.buffers.into_iter().for_each(|buffer| self.c.free(buffer));
    }

    fn try_pipeline(
        &self,
        stages: &[(Stages, &[u8])],
        groups: &[Group],
        flags: vk::PipelineCreateFlags,
        libraries: &[vk::Pipeline],
    ) -> Result<vk::Pipeline, vk::Result> {
        let modules: Vec<_> = stages.iter().map(|(_, bytes)| module(&self.c, &spirv(bytes))).collect();
        let stages: Vec<_> = stages
            .iter()
            .zip(&modules)
            .map(|((stage, _), module)| {
                vk::PipelineShaderStageCreateInfo::default().stage(*stage).module(*module).name(c"main")
            })
            .collect();
        let library = vk::PipelineLibraryCreateInfoKHR::default().libraries(libraries);
        let interface = vk::RayTracingPipelineInterfaceCreateInfoKHR::default()
            .max_pipeline_ray_payload_size(16)
            .max_pipeline_ray_hit_attribute_size(8);
        let mut info = vk::RayTracingPipelineCreateInfoKHR::default()
            .flags(flags)
            .stages(&stages)
            .groups(groups)
            .max_pipeline_ray_recursion_depth(31)
            .layout(self.set.layout);
        if !libraries.is_empty() || flags.contains(vk::PipelineCreateFlags::LIBRARY_KHR) {
            info = info.library_info(&library).library_interface(&interface);
        }
        // SAFETY: valid usage, or errors that the driver finds.
        unsafe {
            let none = vk::DeferredOperationKHR::null();
            let made = self.pipelines.create_ray_tracing_pipelines(none, vk::PipelineCache::null(), &[info], None);
            modules.into_iter().for_each(|module| self.c.device.destroy_shader_module(module, None));
            made.map(|all| all[0]).map_err(|(_, error)| error)
        }
    }

    fn pipeline(&self, stages: &[(Stages, &[u8])], groups: &[Group]) -> Pipeline {
        let pipeline = self.try_pipeline(stages, groups, vk::PipelineCreateFlags::empty(), &[]).expect("pipeline");
        Pipeline { pipeline, handles: self.handles(pipeline, groups.len()) }
    }

    fn handles(&self, pipeline: vk::Pipeline, count: usize) -> Vec<[u8; 32]> {
        // SAFETY: valid usage.
        let bytes = unsafe {
            self.pipelines.get_ray_tracing_shader_group_handles(pipeline, 0, count as u32, 32 * count).expect("handles")
        };
        bytes.as_chunks().0.to_vec()
    }

    fn free_pipeline(&self, pipeline: Pipeline) {
        // SAFETY: the pipeline is not in use any more.
        unsafe { self.c.device.destroy_pipeline(pipeline.pipeline, None) };
    }

    /// Makes a table of records: handles, each with a word of data.
    fn table(&self, records: &[([u8; 32], u32)]) -> Buffer {
        let mut bytes = vec![0; records.len() * RECORD as usize];
        for (record, (handle, word)) in bytes.chunks_mut(RECORD as usize).zip(records) {
            record[..32].copy_from_slice(handle);
            record[32..36].copy_from_slice(&word.to_le_bytes());
        }
        self.buffer(&bytes)
    }

    fn region(&self, table: &Buffer) -> Region {
        Region { device_address: self.address(table), stride: RECORD, size: table.size }
    }

    fn bind(&self, b: vk::CommandBuffer, pipeline: &Pipeline, push: [u32; 4]) {
        let d = &self.c.device;
        let point = vk::PipelineBindPoint::RAY_TRACING_KHR;
        let bytes: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
        // SAFETY: valid usage.
        unsafe {
            d.cmd_bind_pipeline(b, point, pipeline.pipeline);
            d.cmd_bind_descriptor_sets(b, point, self.set.layout, 0, &[self.set.set], &[]);
            d.cmd_push_constants(b, self.set.layout, Stages::ALL, 0, &bytes);
        }
    }

    /// Launches ids in a plane, and returns the results of all of them.
    fn trace(&mut self, pipeline: &Pipeline, push: [u32; 4], tables: [Region; 4], size: [u32; 2]) -> Vec<[u32; 4]> {
        self.out.fill_words(|_| 0x7777);
        let [generation, miss, hit, callable] = tables;
        let done = self.c.run(|b| {
            self.bind(b, pipeline, push);
            // SAFETY: valid usage, or errors that the driver finds.
            unsafe { self.pipelines.cmd_trace_rays(b, &generation, &miss, &hit, &callable, size[0], size[1], 1) };
        });
        done.expect("traced");
        self.results(size[0] * size[1])
    }

    fn results(&self, count: u32) -> Vec<[u32; 4]> {
        self.out.words().as_chunks().0[..count as usize].to_vec()
    }
}

impl Primitives {
    fn count(&self) -> u32 {
        match *self {
            Primitives::Triangles { cells, layers, .. } => cells * layers,
            Primitives::Boxes { cells } => cells,
        }
    }

    fn floats(&self) -> Vec<f32> {
        match *self {
            Primitives::Triangles { cells, layers, .. } => (0..layers)
                .flat_map(|z| (0..cells).map(move |x| (x as f32, z as f32)))
                .flat_map(|(x, z)| [x, 0.0, z, x + 1.0, 0.0, z, x, 1.0, z])
                .collect(),
            Primitives::Boxes { cells } => {
                (0..cells).map(|x| x as f32).flat_map(|x| [x, 0.0, 0.0, x + 1.0, 1.0, 4.0]).collect()
            }
        }
    }

    fn geometry(&self, floats: &[f32]) -> vk::AccelerationStructureGeometryKHR<'static> {
        let data = vk::DeviceOrHostAddressConstKHR { host_address: floats.as_ptr().cast() };
        let geometry = vk::AccelerationStructureGeometryKHR::default();
        match *self {
            Primitives::Triangles { flags, .. } => {
                let triangles = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
                    .vertex_format(vk::Format::R32G32B32_SFLOAT)
                    .vertex_data(data)
                    .vertex_stride(12)
                    .max_vertex(3 * self.count() - 1)
                    .index_type(vk::IndexType::NONE_KHR);
                geometry
                    .geometry_type(vk::GeometryTypeKHR::TRIANGLES)
                    .geometry(vk::AccelerationStructureGeometryDataKHR { triangles })
                    .flags(flags)
            }
            Primitives::Boxes { .. } => {
                let aabbs = vk::AccelerationStructureGeometryAabbsDataKHR::default().data(data).stride(24);
                geometry
                    .geometry_type(vk::GeometryTypeKHR::AABBS)
                    .geometry(vk::AccelerationStructureGeometryDataKHR { aabbs })
            }
        }
    }
}

fn general(shader: u32) -> Group {
    Group::default()
        .ty(vk::RayTracingShaderGroupTypeKHR::GENERAL)
        .general_shader(shader)
        .closest_hit_shader(UNUSED)
        .any_hit_shader(UNUSED)
        .intersection_shader(UNUSED)
}

fn triangles(closest_hit: u32, any_hit: u32) -> Group {
    general(UNUSED)
        .ty(vk::RayTracingShaderGroupTypeKHR::TRIANGLES_HIT_GROUP)
        .closest_hit_shader(closest_hit)
        .any_hit_shader(any_hit)
}

fn procedural(closest_hit: u32, intersection: u32) -> Group {
    triangles(closest_hit, UNUSED)
        .ty(vk::RayTracingShaderGroupTypeKHR::PROCEDURAL_HIT_GROUP)
        .intersection_shader(intersection)
}

/// Returns push constants with a structure's address.
fn push(scene: &Scene, flags: u32, table: u32) -> [u32; 4] {
    [scene.address as u32, (scene.address >> 32) as u32, flags, table]
}

const NULL: [u8; 32] = [0; 32];
const NONE: Region = Region { device_address: 0, stride: 0, size: 0 };

const RAYS: [(Stages, &[u8]); 4] = [
    (Stages::RAYGEN_KHR, shader!("rays.rgen")),
    (Stages::MISS_KHR, shader!("rays.rmiss")),
    (Stages::CLOSEST_HIT_KHR, shader!("rays.rchit")),
    (Stages::ANY_HIT_KHR, shader!("rays.rahit")),
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
        (Stages::CLOSEST_HIT_KHR, &shader!("box.rchit")[..]),
        (Stages::INTERSECTION_KHR, shader!("rays.rint")),
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
    [(Stages::RAYGEN_KHR, shader!("calls.rgen")), (Stages::CALLABLE_KHR, shader!("calls.rcall"))];

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

const DEEP: [(Stages, &[u8]); 3] = [RAYS[0], RAYS[1], (Stages::CLOSEST_HIT_KHR, shader!("deep.rchit"))];

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
