//! Ray tracing devices, scenes, pipelines and shader binding tables for tests.

#![allow(dead_code, reason = "each test file uses a part")]

use super::common::{Buffer, Chain, Context, spirv};
use super::pipeline::{Messenger, Set, module};
use ash::vk;
use std::ffi::CStr;

type Structures = ash::khr::acceleration_structure::Device;
type Pipelines = ash::khr::ray_tracing_pipeline::Device;
pub type Region = vk::StridedDeviceAddressRegionKHR;
pub type Group = vk::RayTracingShaderGroupCreateInfoKHR<'static>;
pub type Stages = vk::ShaderStageFlags;

pub const UNUSED: u32 = vk::SHADER_UNUSED_KHR;
/// Number of bytes of a record: a handle and data.
const RECORD: u64 = 64;

/// A device with ray tracing, a buffer for results, and the messages of the driver.
pub struct Device {
    pub c: Context,
    pub structures: Structures,
    pub pipelines: Pipelines,
    pub set: Set,
    pub out: Buffer,
    pub messenger: Messenger,
}

/// Structures with their buffers, and the address of the top-level one.
pub struct Scene {
    pub buffers: Vec<Buffer>,
    pub structures: Vec<vk::AccelerationStructureKHR>,
    pub address: u64,
}

/// A pipeline and the handles of its groups.
pub struct Pipeline {
    pub pipeline: vk::Pipeline,
    pub handles: Vec<[u8; 32]>,
}

/// Primitives of a geometry, in cells of the plane z = 0 and those behind it.
#[derive(Clone, Copy)]
pub enum Primitives {
    /// Triangles that cover cells of the first row, one behind the other in each.
    Triangles { cells: u32, layers: u32, flags: vk::GeometryFlagsKHR },
    /// Boxes that contain cells of the first row.
    Boxes { cells: u32 },
}

impl Device {
    pub fn new() -> Device {
        Device::with(&[], &mut [])
    }

    /// Creates a device with further extensions and features.
    pub fn with(names: &[&CStr], features: &mut [&mut dyn Chain]) -> Device {
        let mut structures = vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default()
            .acceleration_structure(true)
            .acceleration_structure_indirect_build(true)
            .acceleration_structure_host_commands(true);
        let mut rays = vk::PhysicalDeviceRayTracingPipelineFeaturesKHR::default()
            .ray_tracing_pipeline(true)
            .ray_tracing_pipeline_trace_rays_indirect(true)
            .ray_tracing_pipeline_shader_group_handle_capture_replay(true)
            .ray_traversal_primitive_culling(true);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let mut extensions =
            vec![c"VK_KHR_acceleration_structure", c"VK_KHR_deferred_host_operations", c"VK_KHR_ray_tracing_pipeline"];
        extensions.extend(names);
        let mut all: Vec<&mut dyn Chain> = vec![&mut structures, &mut rays, &mut v12];
        all.extend(features.iter_mut().map(|feature| &mut **feature as &mut dyn Chain));
        Device::of(Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut all))
    }

    /// Makes the buffer and the set of a context whose device has ray tracing.
    pub fn of(c: Context) -> Device {
        let messenger = Messenger::new(&c);
        let (structures, pipelines) = (Structures::new(&c.instance, &c.device), Pipelines::new(&c.instance, &c.device));
        let set = Set::new(&c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let out = c.buffer(1 << 16);
        set.buffers(&c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        Device { c, structures, pipelines, set, out, messenger }
    }

    pub fn destroy(self) {
        drop(self.into_context());
    }

    /// Checks that there was no message, and destroys all but the context.
    pub fn into_context(self) -> Context {
        assert_eq!(self.messenger.take(), Vec::<String>::new());
        self.set.destroy(&self.c);
        self.c.free(self.out);
        self.c
    }

    pub fn buffer(&self, bytes: &[u8]) -> Buffer {
        let usage = vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR
            | vk::BufferUsageFlags::SHADER_BINDING_TABLE_KHR
            | vk::BufferUsageFlags::INDIRECT_BUFFER;
        let mut buffer = self.c.addressed_buffer(bytes.len().max(4) as u64, usage);
        buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    pub fn address(&self, buffer: &Buffer) -> u64 {
        self.c.address(buffer)
    }

    /// Creates a structure in a buffer of its own.
    pub fn structure(&self, ty: vk::AccelerationStructureTypeKHR, size: u64) -> (Buffer, vk::AccelerationStructureKHR) {
        let buffer = self.buffer(&vec![0; size as usize]);
        let info = vk::AccelerationStructureCreateInfoKHR::default().buffer(buffer.buffer).size(size).ty(ty);
        // SAFETY: valid usage.
        let structure = unsafe { self.structures.create_acceleration_structure(&info, None) };
        (buffer, structure.expect("structure"))
    }

    /// Builds a structure of geometries on the host.
    fn build(
        &self,
        scene: &mut Scene,
        ty: vk::AccelerationStructureTypeKHR,
        (geometries, counts): (&[vk::AccelerationStructureGeometryKHR<'_>], &[u32]),
        create: &mut impl FnMut(vk::AccelerationStructureTypeKHR, u64) -> (Buffer, vk::AccelerationStructureKHR),
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
            let (buffer, structure) = create(ty, sizes.acceleration_structure_size);
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
    pub fn scene(&self, geometries: &[Primitives]) -> Scene {
        self.scene_in(geometries, |ty, size| self.structure(ty, size))
    }

    /// Builds a scene whose structures a function creates, by their types and sizes.
    pub fn scene_in(
        &self,
        geometries: &[Primitives],
        create: impl FnMut(vk::AccelerationStructureTypeKHR, u64) -> (Buffer, vk::AccelerationStructureKHR),
    ) -> Scene {
        let data: Vec<Vec<f32>> = geometries.iter().map(|primitives| primitives.floats()).collect();
        let all: Vec<_> = geometries.iter().zip(&data).map(|(primitives, data)| primitives.geometry(data)).collect();
        let counts: Vec<u32> = geometries.iter().map(|primitives| primitives.count()).collect();
        self.scene_of((&all, &counts), create)
    }

    /// Builds a scene of one instance of geometries, with numbers of primitives.
    pub fn scene_of(
        &self,
        geometries: (&[vk::AccelerationStructureGeometryKHR<'_>], &[u32]),
        mut create: impl FnMut(vk::AccelerationStructureTypeKHR, u64) -> (Buffer, vk::AccelerationStructureKHR),
    ) -> Scene {
        let mut scene = Scene { buffers: Vec::new(), structures: Vec::new(), address: 0 };
        self.build(&mut scene, vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL, geometries, &mut create);
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
        self.build(&mut scene, vk::AccelerationStructureTypeKHR::TOP_LEVEL, (&[top], &[1]), &mut create);
        scene
    }

    /// Returns the top-level structure of a scene.
    pub fn top(scene: &Scene) -> vk::AccelerationStructureKHR {
        *scene.structures.last().expect("a scene has two structures")
    }

    pub fn free_scene(&self, scene: Scene) {
        for structure in scene.structures {
            // SAFETY: the structure is not in use any more.
            unsafe { self.structures.destroy_acceleration_structure(structure, None) };
        }
        scene.buffers.into_iter().for_each(|buffer| self.c.free(buffer));
    }

    /// Calls a function with the create info of a pipeline, whose modules it may use.
    pub fn describe<T>(
        &self,
        stages: &[(Stages, &[u8])],
        groups: &[Group],
        flags: vk::PipelineCreateFlags,
        libraries: &[vk::Pipeline],
        call: impl FnOnce(vk::RayTracingPipelineCreateInfoKHR<'_>) -> T,
    ) -> T {
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
        let result = call(info);
        // SAFETY: no call uses the modules any more.
        modules.into_iter().for_each(|module| unsafe { self.c.device.destroy_shader_module(module, None) });
        result
    }

    /// Creates a pipeline.
    pub fn create(&self, info: &vk::RayTracingPipelineCreateInfoKHR<'_>) -> Result<vk::Pipeline, vk::Result> {
        let none = vk::DeferredOperationKHR::null();
        // SAFETY: valid usage, or errors that the driver finds.
        let made = unsafe {
            self.pipelines.create_ray_tracing_pipelines(
                none,
                vk::PipelineCache::null(),
                core::slice::from_ref(info),
                None,
            )
        };
        made.map(|all| all[0]).map_err(|(_, error)| error)
    }

    pub fn try_pipeline(
        &self,
        stages: &[(Stages, &[u8])],
        groups: &[Group],
        flags: vk::PipelineCreateFlags,
        libraries: &[vk::Pipeline],
    ) -> Result<vk::Pipeline, vk::Result> {
        self.describe(stages, groups, flags, libraries, |info| self.create(&info))
    }

    pub fn pipeline(&self, stages: &[(Stages, &[u8])], groups: &[Group]) -> Pipeline {
        let pipeline = self.try_pipeline(stages, groups, vk::PipelineCreateFlags::empty(), &[]).expect("pipeline");
        Pipeline { pipeline, handles: self.handles(pipeline, groups.len()) }
    }

    pub fn handles(&self, pipeline: vk::Pipeline, count: usize) -> Vec<[u8; 32]> {
        // SAFETY: valid usage.
        let bytes = unsafe {
            self.pipelines.get_ray_tracing_shader_group_handles(pipeline, 0, count as u32, 32 * count).expect("handles")
        };
        bytes.as_chunks().0.to_vec()
    }

    pub fn free_pipeline(&self, pipeline: Pipeline) {
        // SAFETY: the pipeline is not in use any more.
        unsafe { self.c.device.destroy_pipeline(pipeline.pipeline, None) };
    }

    /// Makes a table of records: handles, each with a word of data.
    pub fn table(&self, records: &[([u8; 32], u32)]) -> Buffer {
        let mut bytes = vec![0; records.len() * RECORD as usize];
        for (record, (handle, word)) in bytes.chunks_mut(RECORD as usize).zip(records) {
            record[..32].copy_from_slice(handle);
            record[32..36].copy_from_slice(&word.to_le_bytes());
        }
        self.buffer(&bytes)
    }

    pub fn region(&self, table: &Buffer) -> Region {
        Region { device_address: self.address(table), stride: RECORD, size: table.size }
    }

    pub fn bind(&self, b: vk::CommandBuffer, pipeline: &Pipeline, push: [u32; 4]) {
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
    pub fn trace(&mut self, pipeline: &Pipeline, push: [u32; 4], tables: [Region; 4], size: [u32; 2]) -> Vec<[u32; 4]> {
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

    pub fn results(&self, count: u32) -> Vec<[u32; 4]> {
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

pub fn general(shader: u32) -> Group {
    Group::default()
        .ty(vk::RayTracingShaderGroupTypeKHR::GENERAL)
        .general_shader(shader)
        .closest_hit_shader(UNUSED)
        .any_hit_shader(UNUSED)
        .intersection_shader(UNUSED)
}

pub fn triangles(closest_hit: u32, any_hit: u32) -> Group {
    general(UNUSED)
        .ty(vk::RayTracingShaderGroupTypeKHR::TRIANGLES_HIT_GROUP)
        .closest_hit_shader(closest_hit)
        .any_hit_shader(any_hit)
}

/// Returns push constants with a structure's address.
pub fn push(scene: &Scene, flags: u32, table: u32) -> [u32; 4] {
    [scene.address as u32, (scene.address >> 32) as u32, flags, table]
}

pub const NULL: [u8; 32] = [0; 32];
pub const NONE: Region = Region { device_address: 0, stride: 0, size: 0 };
