//! Tests of opacity micromaps (VK_EXT_opacity_micromap, VK_KHR_opacity_micromap): what rays see
//! through them, builds and copies on queues and on the host, serialization, queries, and what is
//! wrong in memory.

use crate::acceleration_structures::{
    BOTTOM, Device, Geometry, Kind, PLACES, Place, Structure, TOP, address_at, count, instance, instances, triangles,
};
use crate::common::{Buffer, Features};
use crate::ray_queries::dispatch;
use crate::rays;
use ash::vk;
use std::mem::transmute;
use vulkan_grus::caps::newer::{self, TaggedStructure};

type Usage = vk::MicromapUsageEXT;
type Flags = vk::GeometryInstanceFlagsKHR;

/// A micromap in a buffer of its own.
struct Micromap {
    buffer: Buffer,
    micromap: vk::MicromapEXT,
}

/// A device with micromaps, and the functions of their extension.
struct World {
    d: Device,
    f: Functions,
}

macro_rules! functions {
    ($($name:ident: $ty:ident = $text:literal;)*) => {
        struct Functions { $($name: vk::$ty),* }
        impl Functions {
            fn load(d: &Device) -> Functions {
                $(
                    // SAFETY: the device is live.
                    let address = unsafe { (d.c.instance.fp_v1_0().get_device_proc_addr)(d.c.device.handle(), $text.as_ptr()) };
                    // SAFETY: the function has this type.
                    let $name = unsafe { transmute::<vk::PFN_vkVoidFunction, vk::$ty>(Some(address.expect("a command"))) };
                )*
                Functions { $($name),* }
            }
        }
    };
}
functions! {
    create: PFN_vkCreateMicromapEXT = c"vkCreateMicromapEXT";
    destroy: PFN_vkDestroyMicromapEXT = c"vkDestroyMicromapEXT";
    sizes: PFN_vkGetMicromapBuildSizesEXT = c"vkGetMicromapBuildSizesEXT";
    compatibility: PFN_vkGetDeviceMicromapCompatibilityEXT = c"vkGetDeviceMicromapCompatibilityEXT";
    cmd_build: PFN_vkCmdBuildMicromapsEXT = c"vkCmdBuildMicromapsEXT";
    cmd_copy: PFN_vkCmdCopyMicromapEXT = c"vkCmdCopyMicromapEXT";
    cmd_serialize: PFN_vkCmdCopyMicromapToMemoryEXT = c"vkCmdCopyMicromapToMemoryEXT";
    cmd_deserialize: PFN_vkCmdCopyMemoryToMicromapEXT = c"vkCmdCopyMemoryToMicromapEXT";
    cmd_properties: PFN_vkCmdWriteMicromapsPropertiesEXT = c"vkCmdWriteMicromapsPropertiesEXT";
    build: PFN_vkBuildMicromapsEXT = c"vkBuildMicromapsEXT";
    copy: PFN_vkCopyMicromapEXT = c"vkCopyMicromapEXT";
    serialize: PFN_vkCopyMicromapToMemoryEXT = c"vkCopyMicromapToMemoryEXT";
    deserialize: PFN_vkCopyMemoryToMicromapEXT = c"vkCopyMemoryToMicromapEXT";
    properties: PFN_vkWriteMicromapsPropertiesEXT = c"vkWriteMicromapsPropertiesEXT";
}

/// Returns `VkPhysicalDeviceOpacityMicromapFeaturesKHR`.
fn structures_as_micromaps() -> Features<1> {
    Features::new(1_000_623_000)
}

/// The corners of a triangle.
const CORNERS: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
const NO_DEFERRAL: vk::DeferredOperationKHR = vk::DeferredOperationKHR::null();
/// A micromap of one triangle: the states 0 to 3 of its four parts.
const FOUR_STATES: ([Usage; 1], [u8; 8], [u8; 1]) =
    ([Usage { count: 1, subdivision_level: 1, format: 2 }], [0, 0, 0, 0, 1, 0, 2, 0], [0b11_10_01_00]);

impl World {
    fn new() -> World {
        let mut micromaps = vk::PhysicalDeviceOpacityMicromapFeaturesEXT::default()
            .micromap(true)
            .micromap_host_commands(true)
            .micromap_capture_replay(true);
        let mut structures = structures_as_micromaps();
        micromaps.p_next = (&raw mut structures).cast();
        let extensions = [c"VK_EXT_opacity_micromap", c"VK_KHR_opacity_micromap"];
        let d = Device::with(&extensions, Some(&mut micromaps));
        let f = Functions::load(&d);
        World { d, f }
    }

    fn buffer(&self, bytes: &[u8]) -> Buffer {
        let usage = vk::BufferUsageFlags::MICROMAP_BUILD_INPUT_READ_ONLY_EXT
            | vk::BufferUsageFlags::MICROMAP_STORAGE_EXT
            | vk::BufferUsageFlags::ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_KHR
            | vk::BufferUsageFlags::STORAGE_BUFFER;
        let mut buffer = self.d.c.addressed_buffer(bytes.len().max(256) as u64, usage);
        buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    fn micromap(&self, size: u64) -> Micromap {
        let buffer = self.buffer(&vec![0; size as usize]);
        let info = vk::MicromapCreateInfoEXT::default()
            .buffer(buffer.buffer)
            .size(size)
            .ty(vk::MicromapTypeEXT::OPACITY_MICROMAP);
        let mut micromap = vk::MicromapEXT::null();
        // SAFETY: valid usage.
        let result = unsafe { (self.f.create)(self.device(), &info, std::ptr::null(), &mut micromap) };
        assert_eq!(result, vk::Result::SUCCESS);
        Micromap { buffer, micromap }
    }

    fn free(&self, micromap: Micromap) {
        // SAFETY: the micromap is not in use any more.
        unsafe { (self.f.destroy)(self.device(), micromap.micromap, std::ptr::null()) };
        self.d.c.free(micromap.buffer);
    }

    fn device(&self) -> vk::Device {
        self.d.c.device.handle()
    }

    /// Builds a micromap of triangles and their states.
    fn built(&self, place: Place, (usages, triangles, states): (&[Usage], &[u8], &[u8])) -> Micromap {
        let mut info = vk::MicromapBuildInfoEXT::default()
            .ty(vk::MicromapTypeEXT::OPACITY_MICROMAP)
            .mode(vk::BuildMicromapModeEXT::BUILD)
            .usage_counts(usages)
            .triangle_array_stride(8);
        let mut sizes = vk::MicromapBuildSizesInfoEXT::default();
        let any = vk::AccelerationStructureBuildTypeKHR::HOST_OR_DEVICE;
        // SAFETY: valid usage.
        unsafe { (self.f.sizes)(self.device(), any, &info, &mut sizes) };
        assert_eq!(sizes.discardable, vk::FALSE);
        let micromap = self.micromap(sizes.micromap_size);
        let inputs = [triangles, states].map(|bytes| self.buffer(bytes));
        let scratch = self.buffer(&[0; 64]);
        [info.triangle_array, info.data] = inputs.each_ref().map(|input| address_at(place, &self.d, input));
        info.dst_micromap = micromap.micromap;
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => {
                    info.scratch_data.device_address = self.d.buffer_address(&scratch);
                    self.d.c.run(|b| (self.f.cmd_build)(b, 1, &info)).expect("built");
                }
                Place::Host => {
                    info.scratch_data.host_address = scratch.pointer.cast();
                    assert_eq!((self.f.build)(self.device(), NO_DEFERRAL, 1, &info), vk::Result::SUCCESS);
                }
            }
        }
        inputs.into_iter().for_each(|input| self.d.c.free(input));
        self.d.c.free(scratch);
        micromap
    }

    /// Returns the size of a micromap that is an acceleration structure. It is built on queues
    /// only, and has no counts of primitives.
    fn size_of_structure(&self, kind: Kind, geometry: &Geometry) -> u64 {
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .geometries(std::slice::from_ref(geometry));
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        let sizes_of = self.d.f.fp().get_acceleration_structure_build_sizes_khr;
        let build_type = vk::AccelerationStructureBuildTypeKHR::DEVICE;
        // SAFETY: valid usage.
        unsafe { sizes_of(self.device(), build_type, &info, std::ptr::null(), &mut sizes) };
        sizes.acceleration_structure_size
    }

    /// Builds a micromap that is an acceleration structure.
    fn built_structure(&self, (usages, triangles, states): (&[Usage], &[u8], &[u8])) -> Structure {
        let inputs = [triangles, states].map(|bytes| self.buffer(bytes));
        let data = newer::AccelerationStructureGeometryMicromapDataKHR {
            s_type: newer::AccelerationStructureGeometryMicromapDataKHR::STRUCTURE_TYPE,
            p_next: std::ptr::null_mut(),
            usage_counts_count: usages.len() as u32,
            p_usage_counts: usages.as_ptr(),
            pp_usage_counts: std::ptr::null(),
            triangle_array: self.d.buffer_address(&inputs[0]),
            data: self.d.buffer_address(&inputs[1]),
            triangle_array_stride: 8,
            _marker: std::marker::PhantomData,
        };
        let mut geometry = Geometry::default().geometry_type(newer::GEOMETRY_TYPE_MICROMAP_KHR);
        geometry.p_next = (&raw const data).cast();
        let kind = newer::ACCELERATION_STRUCTURE_TYPE_OPACITY_MICROMAP_KHR;
        let micromap = self.d.structure(kind, self.size_of_structure(kind, &geometry));
        let scratch = self.buffer(&[0; 64]);
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .geometries(std::slice::from_ref(&geometry))
            .dst_acceleration_structure(micromap.structure);
        info.scratch_data.device_address = self.d.buffer_address(&scratch);
        let ranges = [std::ptr::null()];
        let build = self.d.f.fp().cmd_build_acceleration_structures_khr;
        // SAFETY: valid usage; the geometry of a micromap has no range.
        self.d.c.run(|b| unsafe { build(b, 1, &info, ranges.as_ptr()) }).expect("built");
        inputs.into_iter().for_each(|input| self.d.c.free(input));
        self.d.c.free(scratch);
        micromap
    }

    /// Builds a structure of one triangle with a micromap that is an acceleration structure.
    fn structure_with(&self, micromap: &Structure) -> Structure {
        let with = newer::AccelerationStructureTrianglesOpacityMicromapKHR {
            s_type: newer::AccelerationStructureTrianglesOpacityMicromapKHR::STRUCTURE_TYPE,
            p_next: std::ptr::null_mut(),
            index_type: vk::IndexType::NONE_KHR,
            index_buffer: 0,
            index_stride: 0,
            base_triangle: 0,
            micromap: micromap.structure,
            _marker: std::marker::PhantomData,
        };
        let input = self.buffer(&CORNERS.map(f32::to_le_bytes).concat());
        let mut geometry = triangles(address_at(Place::Queue, &self.d, &input), 1);
        geometry.flags = vk::GeometryFlagsKHR::empty();
        geometry.geometry.triangles.p_next = (&raw const with).cast();
        let structure = self.d.built(Place::Queue, BOTTOM, &geometry, count(1));
        self.d.c.free(input);
        structure
    }

    /// Builds a structure of one triangle with a micromap, whose first triangle or a special index
    /// decides.
    fn structure(&self, place: Place, micromap: vk::MicromapEXT, index: i32, usages: &[Usage]) -> Structure {
        let inputs =
            [&CORNERS.map(f32::to_le_bytes).concat()[..], &index.to_le_bytes()].map(|bytes| self.buffer(bytes));
        let mut geometry = triangles(address_at(place, &self.d, &inputs[0]), 1);
        geometry.flags = vk::GeometryFlagsKHR::empty();
        let mut with = vk::AccelerationStructureTrianglesOpacityMicromapEXT::default()
            .index_type(vk::IndexType::UINT32)
            .index_buffer(address_at(place, &self.d, &inputs[1]))
            .index_stride(4)
            .usage_counts(usages)
            .micromap(micromap);
        geometry.geometry.triangles.p_next = (&raw mut with).cast();
        let structure = self.d.built(place, BOTTOM, &geometry, count(1));
        inputs.into_iter().for_each(|input| self.d.c.free(input));
        structure
    }

    /// Returns what rays see of an instance with flags: 0 for nothing, 1 for a candidate, 2 for a
    /// committed hit; four parts of the triangle for each of four combinations of flags.
    fn seen(&self, structure: &Structure, flags: Flags) -> Vec<u32> {
        let mut bytes = instance(self.d.address(structure));
        bytes[52..56].copy_from_slice(&(flags.as_raw() << 24).to_le_bytes());
        let input = self.buffer(&bytes);
        let top = self.d.built(Place::Queue, TOP, &instances(address_at(Place::Queue, &self.d, &input)), count(1));
        let seen = dispatch(&self.d, &shader!("micromaps.comp"), 16, &[top.structure]);
        self.d.free(top);
        self.d.c.free(input);
        seen
    }

    fn property(&self, place: Place, micromap: &Micromap, query: vk::QueryType) -> u64 {
        let (d, micromaps) = (&self.d.c.device, [micromap.micromap]);
        let mut value = [0u64];
        // SAFETY: valid usage.
        unsafe {
            if place == Place::Host {
                let data = value.as_mut_ptr().cast();
                let result = (self.f.properties)(self.device(), 1, micromaps.as_ptr(), query, 8, data, 8);
                assert_eq!(result, vk::Result::SUCCESS);
                return value[0];
            }
            let info = vk::QueryPoolCreateInfo::default().query_type(query).query_count(1);
            let pool = d.create_query_pool(&info, None).expect("pool");
            let run = self.d.c.run(|b| {
                d.cmd_reset_query_pool(b, pool, 0, 1);
                (self.f.cmd_properties)(b, 1, micromaps.as_ptr(), query, pool, 0);
            });
            run.expect("written");
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            d.get_query_pool_results(pool, 0, &mut value, flags).expect("results");
            d.destroy_query_pool(pool, None);
        }
        value[0]
    }
}

/// Results of the shader's rays for the states 0 to 3 of a geometry that is not opaque.
const SEEN: [u32; 16] = [0, 2, 1, 1, 0, 2, 0, 2, 0, 2, 2, 2, 0, 0, 1, 1];

#[test]
fn rays_see_states() {
    let w = World::new();
    let (usages, list, states) = FOUR_STATES;
    for place in PLACES {
        let micromap = w.built(place, (&usages, &list, &states));
        let structure = w.structure(place, micromap.micromap, 0, &usages);
        assert_eq!(w.seen(&structure, Flags::empty()), SEEN);
        let two_states = w.seen(&structure, Flags::FORCE_OPACITY_MICROMAP_2_STATE_EXT);
        assert_eq!(two_states, [0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0]);
        let opaque = w.seen(&structure, Flags::FORCE_OPAQUE);
        assert_eq!(opaque, [0, 2, 2, 2, 0, 2, 0, 2, 0, 2, 2, 2, 0, 0, 0, 0]);
        let disabled = w.seen(&structure, Flags::DISABLE_OPACITY_MICROMAPS_EXT);
        assert_eq!(disabled, [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1]);
        w.d.free(structure);
        w.free(micromap);
    }
    for (index, part) in [(-1, 0), (-2, 1), (-3, 2), (-4, 3)] {
        let structure = w.structure(Place::Queue, vk::MicromapEXT::null(), index, &[]);
        let seen = w.seen(&structure, Flags::empty());
        assert!((0..16).all(|at| seen[at] == SEEN[at / 4 * 4 + part]), "{index}: {seen:?}");
        w.d.free(structure);
    }
}

#[test]
fn copies_are_equal() {
    let w = World::new();
    let (usages, list, states) = FOUR_STATES;
    for place in PLACES {
        let first = w.built(place, (&usages, &list, &states));
        let size = w.property(place, &first, vk::QueryType::MICROMAP_COMPACTED_SIZE_EXT);
        let copy = w.micromap(size);
        let info = vk::CopyMicromapInfoEXT::default()
            .src(first.micromap)
            .dst(copy.micromap)
            .mode(vk::CopyMicromapModeEXT::COMPACT);
        let serialized = w.property(place, &first, vk::QueryType::MICROMAP_SERIALIZATION_SIZE_EXT);
        let data = w.buffer(&vec![0; serialized as usize]);
        let loaded = w.micromap(size);
        let mut to_memory =
            vk::CopyMicromapToMemoryInfoEXT::default().src(first.micromap).mode(vk::CopyMicromapModeEXT::SERIALIZE);
        let mut from_memory = vk::CopyMemoryToMicromapInfoEXT::default()
            .src(address_at(place, &w.d, &data))
            .dst(loaded.micromap)
            .mode(vk::CopyMicromapModeEXT::DESERIALIZE);
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => {
                    w.d.c.run(|b| (w.f.cmd_copy)(b, &info)).expect("copied");
                    to_memory.dst.device_address = w.d.buffer_address(&data);
                    w.d.c.run(|b| (w.f.cmd_serialize)(b, &to_memory)).expect("serialized");
                    w.d.c.run(|b| (w.f.cmd_deserialize)(b, &from_memory)).expect("deserialized");
                }
                Place::Host => {
                    let device = w.device();
                    assert_eq!((w.f.copy)(device, NO_DEFERRAL, &info), vk::Result::SUCCESS);
                    to_memory.dst.host_address = data.pointer.cast();
                    assert_eq!((w.f.serialize)(device, NO_DEFERRAL, &to_memory), vk::Result::SUCCESS);
                    from_memory.src.host_address = data.pointer.cast();
                    assert_eq!((w.f.deserialize)(device, NO_DEFERRAL, &from_memory), vk::Result::SUCCESS);
                }
            }
        }
        let version: [u8; 32] = data.bytes()[..32].try_into().expect("a version");
        for (version, expected) in [(version, 0), ([7; 32], 1)] {
            let info = vk::MicromapVersionInfoEXT::default().version_data(&version);
            let mut compatibility = vk::AccelerationStructureCompatibilityKHR::default();
            // SAFETY: valid usage.
            unsafe { (w.f.compatibility)(w.device(), &info, &mut compatibility) };
            assert_eq!(compatibility.as_raw(), expected);
        }
        for micromap in [copy, loaded] {
            assert!(micromap.buffer.bytes()[..size as usize] == first.buffer.bytes()[..size as usize]);
            let structure = w.structure(place, micromap.micromap, 0, &usages);
            assert_eq!(w.seen(&structure, Flags::empty()), SEEN);
            w.d.free(structure);
            w.free(micromap);
        }
        w.free(first);
        w.d.c.free(data);
    }
}

#[test]
fn micromaps_are_acceleration_structures() {
    let w = World::new();
    let (usages, list, states) = FOUR_STATES;
    let micromap = w.built_structure((&usages, &list, &states));
    let structure = w.structure_with(&micromap);
    assert_eq!(w.seen(&structure, Flags::empty()), SEEN);

    // A serialized structure has the address of its micromap in a block, which another one
    // replaces.
    let size = w.d.property(Place::Queue, &micromap, vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR);
    let copy = w.d.structure(newer::ACCELERATION_STRUCTURE_TYPE_OPACITY_MICROMAP_KHR, size);
    w.d.copy(Place::Queue, &micromap, &copy, vk::CopyAccelerationStructureModeKHR::COMPACT);
    let size = w.d.property(Place::Queue, &structure, vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
    let mut data = w.d.buffer(size);
    w.d.serialize(Place::Queue, &structure, &data);
    let word = |at: usize| u64::from_le_bytes(data.bytes()[at..at + 8].try_into().expect("a word"));
    assert_eq!([48, 56, 64, 72].map(word), [0xffff_ffff_0000_0001, 0, 1, w.d.address(&micromap)]);
    data.bytes_mut()[72..80].copy_from_slice(&w.d.address(&copy).to_le_bytes());
    w.d.free(micromap);
    let loaded = w.d.structure(BOTTOM, size);
    w.d.deserialize(Place::Queue, &data, &loaded).expect("deserialized");
    assert_eq!(w.seen(&loaded, Flags::empty()), SEEN);
    [copy, structure, loaded].into_iter().for_each(|structure| w.d.free(structure));
    w.d.c.free(data);
}

/// The geometry decides where there is no micromap any more, or none ever was.
#[test]
fn destroyed_and_overwritten_micromaps_have_no_states() {
    let w = World::new();
    let (usages, list, states) = FOUR_STATES;
    let by_geometry = [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1];
    let micromap = w.built(Place::Queue, (&usages, &list, &states));
    let structure = w.structure(Place::Queue, micromap.micromap, 0, &usages);
    let beyond = w.structure(Place::Queue, micromap.micromap, 1, &usages);
    assert_eq!(w.seen(&beyond, Flags::empty()), by_geometry);
    w.free(micromap);
    assert_eq!(w.seen(&structure, Flags::empty()), by_geometry);
    w.d.free(structure);
    w.d.free(beyond);
    let mut micromap = w.built(Place::Queue, (&usages, &list, &states));
    let structure = w.structure(Place::Queue, micromap.micromap, 0, &usages);
    for word in 0..micromap.buffer.bytes().len() / 4 {
        let place = 4 * word..4 * word + 4;
        let old: [u8; 4] = micromap.buffer.bytes()[place.clone()].try_into().expect("a word");
        micromap.buffer.bytes_mut()[place.clone()].fill(0xff);
        assert!(w.seen(&structure, Flags::empty()).iter().all(|&seen| seen <= 2));
        micromap.buffer.bytes_mut()[place].copy_from_slice(&old);
    }
    assert_eq!(w.seen(&structure, Flags::empty()), SEEN);
    w.d.free(structure);
    w.free(micromap);
}

/// Checks the shaders that rays of a pipeline run: those of any hit run for unknown states only.
#[test]
fn any_hit_shaders_run_for_unknown_states() {
    let mut micromaps =
        vk::PhysicalDeviceOpacityMicromapFeaturesEXT::default().micromap(true).micromap_host_commands(true);
    let mut pipelines = vk::PhysicalDeviceRayTracingPipelineFeaturesKHR::default().ray_tracing_pipeline(true);
    pipelines.p_next = (&raw mut micromaps).cast();
    let extensions = [c"VK_EXT_opacity_micromap", c"VK_KHR_opacity_micromap", c"VK_KHR_ray_tracing_pipeline"];
    let d = Device::with(&extensions, Some(&mut pipelines));
    let f = Functions::load(&d);
    let w = World { d, f };
    let (usages, list, states) = FOUR_STATES;
    let micromap = w.built(Place::Queue, (&usages, &list, &states));
    let structure = w.structure(Place::Queue, micromap.micromap, 0, &usages);
    let input = w.buffer(&instance(w.d.address(&structure)));
    let top = w.d.built(Place::Queue, TOP, &instances(address_at(Place::Queue, &w.d, &input)), count(1));
    let address = w.d.address(&top);

    // The context belongs to the device of the launches meanwhile.
    let World { d: Device { c, f: structures }, f } = w;
    let mut d = rays::Device::of(c);
    let stages: [(rays::Stages, &[u8]); 4] = [
        (rays::Stages::RAYGEN_KHR, bytes!("micromaps.rgen")),
        (rays::Stages::MISS_KHR, bytes!("rays.rmiss")),
        (rays::Stages::CLOSEST_HIT_KHR, bytes!("rays.rchit")),
        (rays::Stages::ANY_HIT_KHR, bytes!("rays.rahit")),
    ];
    let groups = [rays::general(0), rays::general(1), rays::triangles(2, 3)];
    let flags = vk::PipelineCreateFlags::RAY_TRACING_OPACITY_MICROMAP_EXT;
    let pipeline = d.try_pipeline(&stages, &groups, flags, &[]).expect("pipeline");
    let pipeline = rays::Pipeline { pipeline, handles: d.handles(pipeline, groups.len()) };
    // The any-hit shader confirms intersections or ignores them.
    for record in [0, 1] {
        let tables = [(0, 0), (1, 50), (2, record)].map(|(group, word)| d.table(&[(pipeline.handles[group], word)]));
        let [generation, miss, hit] = tables.each_ref().map(|table| d.region(table));
        let push = [address as u32, (address >> 32) as u32, 0, 0];
        let results = d.trace(&pipeline, push, [generation, miss, hit, rays::NONE], [16, 1]);
        for ((i, seen), result) in (0..).zip(SEEN).zip(results) {
            let expected = match (seen, record) {
                (0, _) => [0x8000, i, 0, 50],
                (1, 0) => [0x101_0100, i, 16, record],
                (1, _) => [0x1_8000, i, 0, 50],
                _ => [0x100, i, 16, record],
            };
            assert_eq!(result, expected, "ray {i}, record {record}");
        }
        tables.into_iter().for_each(|table| d.c.free(table));
    }
    d.free_pipeline(pipeline);
    let w = World { d: Device { c: d.into_context(), f: structures }, f };
    [top, structure].into_iter().for_each(|structure| w.d.free(structure));
    w.free(micromap);
    w.d.c.free(input);
}
