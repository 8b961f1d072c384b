//! Tests of acceleration structures (VK_KHR_acceleration_structure): builds, updates, copies,
//! compaction, serialization and queries, on queues and on the host, and what is wrong in memory.
//!
//! The bytes of a structure do not depend on where it is built, so that both kinds of builds are
//! compared.

use crate::common::{Buffer, Chain, Context, device_address_commands};
use crate::pipeline::Messenger;
use ash::vk::{self, Handle};
use std::ffi::{CStr, c_void};
use vulkan_grus::caps::newer::{self, TaggedStructure};

pub type Functions = ash::khr::acceleration_structure::Device;
pub type Kind = vk::AccelerationStructureTypeKHR;
pub type Geometry = vk::AccelerationStructureGeometryKHR<'static>;
pub type Range = vk::AccelerationStructureBuildRangeInfoKHR;
pub type Query = vk::QueryType;

pub const BOTTOM: Kind = Kind::BOTTOM_LEVEL;
pub const TOP: Kind = Kind::TOP_LEVEL;
const UPDATABLE: vk::BuildAccelerationStructureFlagsKHR = vk::BuildAccelerationStructureFlagsKHR::ALLOW_UPDATE;

/// Place of builds and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Queue,
    Host,
}
pub const PLACES: [Place; 2] = [Place::Queue, Place::Host];

pub struct Device {
    pub c: Context,
    pub f: Functions,
}

/// A structure in a buffer of its own.
pub struct Structure {
    pub buffer: Buffer,
    pub structure: vk::AccelerationStructureKHR,
}

impl Structure {
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }
}

impl Device {
    pub fn new() -> Device {
        Device::with(&[], None)
    }

    /// Makes a device with more extensions and a structure of features.
    pub fn with(more: &[&CStr], more_features: Option<&mut dyn Chain>) -> Device {
        let mut structures = vk::PhysicalDeviceAccelerationStructureFeaturesKHR::default()
            .acceleration_structure(true)
            .acceleration_structure_capture_replay(true)
            .acceleration_structure_indirect_build(true)
            .acceleration_structure_host_commands(true);
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default().buffer_device_address(true);
        let mut rays = vk::PhysicalDeviceRayQueryFeaturesKHR::default().ray_query(true);
        let mut maintenance =
            vk::PhysicalDeviceRayTracingMaintenance1FeaturesKHR::default().ray_tracing_maintenance1(true);
        let mut commands = device_address_commands();
        let mut extensions = vec![
            c"VK_KHR_acceleration_structure",
            c"VK_KHR_deferred_host_operations",
            c"VK_KHR_ray_query",
            c"VK_KHR_ray_tracing_maintenance1",
            c"VK_KHR_device_address_commands",
            c"VK_EXT_descriptor_buffer",
        ];
        extensions.extend(more);
        let mut features: Vec<&mut dyn Chain> =
            vec![&mut structures, &mut v12, &mut rays, &mut maintenance, &mut commands];
        if let Some(more_features) = more_features {
            features.push(more_features);
        }
        let c = Context::with(&[c"VK_EXT_debug_utils"], &extensions, &mut features);
        let f = Functions::new(&c.instance, &c.device);
        Device { c, f }
    }

    /// Makes a buffer of any usage with a device address.
    pub fn buffer(&self, size: u64) -> Buffer {
        let usage = vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR
            | vk::BufferUsageFlags::ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_KHR
            | vk::BufferUsageFlags::STORAGE_BUFFER;
        self.c.addressed_buffer(size, usage)
    }

    pub fn buffer_of(&self, bytes: &[u8]) -> Buffer {
        let mut buffer = self.buffer(bytes.len().max(4) as u64);
        buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    pub fn buffer_address(&self, buffer: &Buffer) -> u64 {
        self.c.address(buffer)
    }

    pub fn structure(&self, kind: Kind, size: u64) -> Structure {
        let buffer = self.buffer(size);
        // Only the younger command makes micromaps.
        let structure = if kind == newer::ACCELERATION_STRUCTURE_TYPE_OPACITY_MICROMAP_KHR {
            create_at(self, kind, self.buffer_address(&buffer), size)
        } else {
            let info = vk::AccelerationStructureCreateInfoKHR::default().buffer(buffer.buffer).size(size).ty(kind);
            // SAFETY: valid usage.
            unsafe { self.f.create_acceleration_structure(&info, None) }
        };
        Structure { buffer, structure: structure.expect("structure") }
    }

    pub fn free(&self, structure: Structure) {
        // SAFETY: the structure is not in use any more.
        unsafe { self.f.destroy_acceleration_structure(structure.structure, None) };
        self.c.free(structure.buffer);
    }

    pub fn address(&self, structure: &Structure) -> u64 {
        let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(structure.structure);
        // SAFETY: valid usage.
        unsafe { self.f.get_acceleration_structure_device_address(&info) }
    }

    pub fn sizes(
        &self,
        kind: Kind,
        geometry: &Geometry,
        count: u32,
    ) -> vk::AccelerationStructureBuildSizesInfoKHR<'static> {
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .geometries(std::slice::from_ref(geometry));
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        let any = vk::AccelerationStructureBuildTypeKHR::HOST_OR_DEVICE;
        // SAFETY: valid usage.
        unsafe { self.f.get_acceleration_structure_build_sizes(any, &info, &[count], &mut sizes) };
        sizes
    }

    /// Builds a structure, or updates `from` to it.
    pub fn build(
        &self,
        place: Place,
        kind: Kind,
        geometry: &Geometry,
        range: Range,
        from: Option<&Structure>,
        to: &Structure,
    ) {
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .flags(UPDATABLE)
            .geometries(std::slice::from_ref(geometry))
            .dst_acceleration_structure(to.structure);
        if let Some(from) = from {
            info = info.mode(vk::BuildAccelerationStructureModeKHR::UPDATE).src_acceleration_structure(from.structure);
        }
        self.build_info(place, info, range);
    }

    fn build_info(&self, place: Place, mut info: vk::AccelerationStructureBuildGeometryInfoKHR<'_>, range: Range) {
        // No build requests more.
        let scratch = self.buffer(64);
        let ranges = std::slice::from_ref(&range);
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => {
                    info.scratch_data.device_address = self.buffer_address(&scratch);
                    self.c.run(|b| self.f.cmd_build_acceleration_structures(b, &[info], &[ranges])).expect("built");
                }
                Place::Host => {
                    info.scratch_data.host_address = scratch.pointer.cast();
                    let none = vk::DeferredOperationKHR::null();
                    self.f.build_acceleration_structures(none, &[info], &[ranges]).expect("built");
                }
            }
        }
        self.c.free(scratch);
    }

    /// Builds a structure for fast builds or for fast traversals.
    pub fn build_with(
        &self,
        place: Place,
        kind: Kind,
        (geometry, range): (&Geometry, Range),
        fast_build: bool,
        to: &Structure,
    ) {
        use vk::BuildAccelerationStructureFlagsKHR as Flags;
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(kind)
            .flags(if fast_build { Flags::PREFER_FAST_BUILD } else { Flags::PREFER_FAST_TRACE })
            .geometries(std::slice::from_ref(geometry))
            .dst_acceleration_structure(to.structure);
        self.build_info(place, info, range);
    }

    /// Makes a structure of a geometry.
    pub fn built(&self, place: Place, kind: Kind, geometry: &Geometry, range: Range) -> Structure {
        let size = self.sizes(kind, geometry, range.primitive_count).acceleration_structure_size;
        let structure = self.structure(kind, size);
        self.build(place, kind, geometry, range, None, &structure);
        structure
    }

    pub fn copy(&self, place: Place, from: &Structure, to: &Structure, mode: vk::CopyAccelerationStructureModeKHR) {
        let info = vk::CopyAccelerationStructureInfoKHR::default().src(from.structure).dst(to.structure).mode(mode);
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => self.c.run(|b| self.f.cmd_copy_acceleration_structure(b, &info)),
                Place::Host => self.f.copy_acceleration_structure(vk::DeferredOperationKHR::null(), &info),
            }
        }
        .expect("copied");
    }

    pub fn serialize(&self, place: Place, from: &Structure, to: &Buffer) {
        let mut info = vk::CopyAccelerationStructureToMemoryInfoKHR::default()
            .src(from.structure)
            .mode(vk::CopyAccelerationStructureModeKHR::SERIALIZE);
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => {
                    info.dst.device_address = self.buffer_address(to);
                    self.c.run(|b| self.f.cmd_copy_acceleration_structure_to_memory(b, &info))
                }
                Place::Host => {
                    info.dst.host_address = to.pointer.cast();
                    self.f.copy_acceleration_structure_to_memory(vk::DeferredOperationKHR::null(), &info)
                }
            }
        }
        .expect("serialized");
    }

    pub fn deserialize(&self, place: Place, from: &Buffer, to: &Structure) -> Result<(), vk::Result> {
        let mut info = vk::CopyMemoryToAccelerationStructureInfoKHR::default()
            .dst(to.structure)
            .mode(vk::CopyAccelerationStructureModeKHR::DESERIALIZE);
        // SAFETY: valid usage, or bytes that the driver refuses.
        unsafe {
            match place {
                Place::Queue => {
                    info.src.device_address = self.buffer_address(from);
                    self.c.run(|b| self.f.cmd_copy_memory_to_acceleration_structure(b, &info))
                }
                Place::Host => {
                    info.src.host_address = from.pointer.cast::<c_void>();
                    self.f.copy_memory_to_acceleration_structure(vk::DeferredOperationKHR::null(), &info)
                }
            }
        }
    }

    pub fn property(&self, place: Place, structure: &Structure, query: Query) -> u64 {
        let (d, structures) = (&self.c.device, [structure.structure]);
        let mut value = [0u64];
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => {
                    let info = vk::QueryPoolCreateInfo::default().query_type(query).query_count(1);
                    let pool = d.create_query_pool(&info, None).expect("pool");
                    self.c
                        .run(|b| {
                            d.cmd_reset_query_pool(b, pool, 0, 1);
                            self.f.cmd_write_acceleration_structures_properties(b, &structures, query, pool, 0);
                        })
                        .expect("written");
                    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
                    d.get_query_pool_results(pool, 0, &mut value, flags).expect("results");
                    d.destroy_query_pool(pool, None);
                }
                Place::Host => {
                    let mut bytes = [0; 8];
                    self.f
                        .write_acceleration_structures_properties(&structures, query, &mut bytes, 8)
                        .expect("written");
                    value[0] = u64::from_le_bytes(bytes);
                }
            }
        }
        value[0]
    }
}

pub fn address_at(place: Place, d: &Device, buffer: &Buffer) -> vk::DeviceOrHostAddressConstKHR {
    match place {
        Place::Queue => vk::DeviceOrHostAddressConstKHR { device_address: d.buffer_address(buffer) },
        Place::Host => vk::DeviceOrHostAddressConstKHR { host_address: buffer.pointer.cast() },
    }
}

/// Returns a geometry of triangles without indices.
pub fn triangles(vertices: vk::DeviceOrHostAddressConstKHR, count: u32) -> Geometry {
    let data = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
        .vertex_format(vk::Format::R32G32B32_SFLOAT)
        .vertex_data(vertices)
        .vertex_stride(12)
        .max_vertex(3 * count - 1)
        .index_type(vk::IndexType::NONE_KHR);
    Geometry::default()
        .geometry_type(vk::GeometryTypeKHR::TRIANGLES)
        .geometry(vk::AccelerationStructureGeometryDataKHR { triangles: data })
        .flags(vk::GeometryFlagsKHR::OPAQUE)
}

pub fn instances(data: vk::DeviceOrHostAddressConstKHR) -> Geometry {
    let data = vk::AccelerationStructureGeometryInstancesDataKHR::default().data(data);
    Geometry::default()
        .geometry_type(vk::GeometryTypeKHR::INSTANCES)
        .geometry(vk::AccelerationStructureGeometryDataKHR { instances: data })
}

pub fn count(primitives: u32) -> Range {
    Range::default().primitive_count(primitives)
}

/// Returns the vertices of triangles in a grid, moved by `dx`.
pub fn vertices(triangles: u32, dx: f32) -> Vec<u8> {
    let corner = |i: u32| {
        let [x, y] = [i / 3 % 16, i / 48].map(|n| n as f32);
        let [u, v] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]][i as usize % 3];
        [x + u + dx, y + v, 0.25 * x]
    };
    (0..3 * triangles).flat_map(corner).flat_map(f32::to_le_bytes).collect()
}

/// Returns the bytes of an instance with the identity and a reference.
pub fn instance(reference: u64) -> Vec<u8> {
    let rows = [1.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut bytes: Vec<u8> = rows.into_iter().flat_map(f32::to_le_bytes).collect();
    bytes.extend([0xff00_0005u32.to_le_bytes(), 0u32.to_le_bytes()].concat());
    bytes.extend(reference.to_le_bytes());
    bytes
}

const TRIANGLES: u32 = 5000;

#[test]
fn builds_and_updates_are_the_same_on_queues_and_on_the_host() {
    let d = Device::new();
    let mut all: Vec<Vec<u8>> = Vec::new();
    for place in PLACES {
        let mut input = d.buffer_of(&vertices(TRIANGLES, 0.0));
        let geometry = triangles(address_at(place, &d, &input), TRIANGLES);
        let structure = d.built(place, BOTTOM, &geometry, count(TRIANGLES));
        all.push(structure.bytes().to_vec());
        input.bytes_mut().copy_from_slice(&vertices(TRIANGLES, 100.0));
        d.build(place, BOTTOM, &geometry, count(TRIANGLES), Some(&structure), &structure);
        all.push(structure.bytes().to_vec());
        d.free(structure);
        d.c.free(input);
    }
    assert!(all[0] == all[2] && all[1] == all[3], "the place does not matter");
    assert!(all[0] != all[1], "vertices have moved");
}

#[test]
fn structures_of_one_command_are_those_of_many() {
    let d = Device::new();
    let counts: Vec<u32> = (0..60).map(|i| if i % 20 == 7 { TRIANGLES } else { 1 + 13 * i }).collect();
    let input = d.buffer_of(&vertices(TRIANGLES, 0.0));
    for place in PLACES {
        let geometries: Vec<_> = counts.iter().map(|&n| triangles(address_at(place, &d, &input), n)).collect();
        let make =
            |geometry: &Geometry, n: u32| d.structure(BOTTOM, d.sizes(BOTTOM, geometry, n).acceleration_structure_size);
        let structures: Vec<_> = geometries.iter().zip(&counts).map(|(geometry, &n)| make(geometry, n)).collect();
        let scratch: Vec<_> = geometries
            .iter()
            .zip(&counts)
            .map(|(geometry, &n)| d.buffer(d.sizes(BOTTOM, geometry, n).build_scratch_size))
            .collect();
        let infos: Vec<_> = geometries
            .iter()
            .zip(structures.iter().zip(&scratch))
            .map(|(geometry, (structure, scratch))| {
                let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
                    .ty(BOTTOM)
                    .flags(UPDATABLE)
                    .geometries(std::slice::from_ref(geometry))
                    .dst_acceleration_structure(structure.structure);
                match place {
                    Place::Queue => info.scratch_data.device_address = d.buffer_address(scratch),
                    Place::Host => info.scratch_data.host_address = scratch.pointer.cast(),
                }
                info
            })
            .collect();
        let ranges: Vec<Range> = counts.iter().map(|&n| count(n)).collect();
        let ranges: Vec<&[Range]> = ranges.iter().map(std::slice::from_ref).collect();
        // SAFETY: valid usage.
        unsafe {
            match place {
                Place::Queue => d.c.run(|b| d.f.cmd_build_acceleration_structures(b, &infos, &ranges)),
                Place::Host => d.f.build_acceleration_structures(vk::DeferredOperationKHR::null(), &infos, &ranges),
            }
        }
        .expect("built");
        scratch.into_iter().for_each(|scratch| d.c.free(scratch));
        for (i, structure) in structures.into_iter().enumerate() {
            let alone = d.built(place, BOTTOM, &geometries[i], count(counts[i]));
            assert!(alone.bytes() == structure.bytes(), "{place:?} {i}");
            d.free(alone);
            d.free(structure);
        }
    }
    d.c.free(input);
}

#[test]
fn indirect_builds_read_counts_up_to_the_largest_one() {
    let d = Device::new();
    let input = d.buffer_of(&vertices(64, 0.0));
    let geometry = triangles(address_at(Place::Queue, &d, &input), 64);
    let size = d.sizes(BOTTOM, &geometry, 64).acceleration_structure_size;
    for (words, same_as) in [([10u32, 0, 0, 0], 10), ([1 << 30, 0, 0, 0], 64), ([9, 36, 0, 0], 0)] {
        let ranges = d.buffer_of(&words.map(u32::to_le_bytes).concat());
        let structure = d.structure(BOTTOM, size);
        let scratch = d.buffer(64);
        let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(BOTTOM)
            .flags(UPDATABLE)
            .geometries(std::slice::from_ref(&geometry))
            .dst_acceleration_structure(structure.structure);
        info.scratch_data.device_address = d.buffer_address(&scratch);
        let addresses = [d.buffer_address(&ranges)];
        // SAFETY: valid usage, except for the count beyond the largest one.
        d.c.run(|b| unsafe { d.f.cmd_build_acceleration_structures_indirect(b, &[info], &addresses, &[16], &[&[64]]) })
            .expect("built");
        let direct = d.structure(BOTTOM, size);
        let range = if same_as == 0 { count(9).primitive_offset(36) } else { count(same_as) };
        d.build(Place::Host, BOTTOM, &triangles(address_at(Place::Host, &d, &input), 64), range, None, &direct);
        assert!(structure.bytes() == direct.bytes(), "{words:?}");
        d.c.free(ranges);
        d.c.free(scratch);
        d.free(structure);
        d.free(direct);
    }
    d.c.free(input);
}

#[test]
fn clones_and_compacted_copies_have_the_structure() {
    let d = Device::new();
    for place in PLACES {
        let input = d.buffer_of(&vertices(TRIANGLES, 0.0));
        let structure = d.built(place, BOTTOM, &triangles(address_at(place, &d, &input), TRIANGLES), count(TRIANGLES));
        let size = d.property(place, &structure, Query::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR);
        assert!(size > 128 && size < structure.buffer.size, "{size} of {}", structure.buffer.size);
        let (clone, small) = (d.structure(BOTTOM, structure.buffer.size), d.structure(BOTTOM, size));
        d.copy(place, &structure, &clone, vk::CopyAccelerationStructureModeKHR::CLONE);
        d.copy(place, &structure, &small, vk::CopyAccelerationStructureModeKHR::COMPACT);
        let bytes = &structure.bytes()[..size as usize];
        assert!(&clone.bytes()[..size as usize] == bytes && small.bytes() == bytes, "{place:?}");
        [structure, clone, small].into_iter().for_each(|structure| d.free(structure));
        d.c.free(input);
    }
}

#[test]
fn serialized_structures_can_be_loaded_and_refer_to_others() {
    let d = Device::new();
    for place in PLACES {
        let input = d.buffer_of(&vertices(20, 0.0));
        let bottom = d.built(place, BOTTOM, &triangles(address_at(place, &d, &input), 20), count(20));
        let other = d.built(place, BOTTOM, &triangles(address_at(place, &d, &input), 20), count(20));
        let tops = [&bottom, &other].map(|bottom| {
            let reference = match place {
                Place::Queue => d.address(bottom),
                Place::Host => bottom.structure.as_raw(),
            };
            // On the host, each instance refers to a structure.
            let inactive = if place == Place::Queue { instance(0) } else { Vec::new() };
            let list = [instance(reference), inactive, instance(reference)].concat();
            let (list, instance_count) = (d.buffer_of(&list), list.len() / 64);
            let top = d.built(place, TOP, &instances(address_at(place, &d, &list)), count(instance_count as u32));
            d.c.free(list);
            top
        });
        let [(size, mut data), (_, data_of_other)] = tops.each_ref().map(|top| {
            let size = d.property(place, top, Query::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
            let data = d.buffer(size);
            d.serialize(place, top, &data);
            (size, data)
        });
        let [top, top_of_other] = tops;
        let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        assert_eq!((number(data.bytes(), 32), number(data.bytes(), 48)), (size, 2), "size and handles");
        // Those of the host are handles of the driver, which a layer may hide behind its own.
        let references = [&data, &data_of_other].map(|data| [56, 64].map(|at| number(data.bytes(), at)));
        assert!(references.iter().all(|[first, second]| first == second), "{place:?}: {references:x?}");
        assert_ne!(references[0], references[1], "{place:?}");
        if place == Place::Queue {
            assert_eq!(references.map(|list| list[0]), [&bottom, &other].map(|bottom| d.address(bottom)));
        }
        let version: [u8; 32] = data.bytes()[..32].try_into().expect("32 bytes");
        let info = vk::AccelerationStructureVersionInfoKHR::default().version_data(&version);
        // SAFETY: valid usage.
        let compatible = unsafe { d.f.get_device_acceleration_structure_compatibility(&info) };
        assert_eq!(compatible, vk::AccelerationStructureCompatibilityKHR::COMPATIBLE);
        let loaded = d.structure(TOP, number(data.bytes(), 40));
        d.deserialize(place, &data, &loaded).expect("loaded");
        assert!(loaded.bytes() == &top.bytes()[..loaded.buffer.size as usize], "{place:?}");
        // Other references take effect.
        data.bytes_mut()[56..64].copy_from_slice(&references[1][0].to_le_bytes());
        d.deserialize(place, &data, &loaded).expect("loaded");
        assert!(loaded.bytes() != &top.bytes()[..loaded.buffer.size as usize]);
        [bottom, other, top, top_of_other, loaded].into_iter().for_each(|structure| d.free(structure));
        [input, data, data_of_other].into_iter().for_each(|buffer| d.c.free(buffer));
    }
}

#[test]
fn damaged_data_is_refused() {
    let d = Device::new();
    let messenger = Messenger::new(&d.c);
    let input = d.buffer_of(&vertices(20, 0.0));
    let host = triangles(address_at(Place::Host, &d, &input), 20);
    let structure = d.built(Place::Host, BOTTOM, &host, count(20));
    let size = d.property(Place::Host, &structure, Query::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR);
    let mut data = d.buffer(size);
    d.serialize(Place::Host, &structure, &data);
    let intact = data.bytes().to_vec();
    // The version, the sizes of the data and of the structure, the number of handles, the
    // structure's header.
    for at in [0, 16, 31, 32, 36, 40, 44, 48, 52, 56, 60] {
        data.bytes_mut().copy_from_slice(&intact);
        data.bytes_mut()[at] ^= 0x55;
        let target = d.structure(BOTTOM, structure.buffer.size);
        let before = target.bytes().to_vec();
        assert_eq!(d.deserialize(Place::Host, &data, &target), Err(vk::Result::ERROR_UNKNOWN), "{at}");
        d.deserialize(Place::Queue, &data, &target).expect("the device is not lost");
        assert!(target.bytes() == before, "{at}");
        d.free(target);
    }
    assert!(!messenger.take().is_empty());
    drop(messenger);
    d.free(structure);
    d.c.free(data);
    d.c.free(input);
}

#[test]
fn what_is_destroyed_or_never_was_leaves_instances_inactive() {
    let d = Device::new();
    let input = d.buffer_of(&vertices(20, 0.0));
    let geometry = triangles(address_at(Place::Queue, &d, &input), 20);
    let bottom = d.built(Place::Queue, BOTTOM, &geometry, count(20));
    let address = d.address(&bottom);
    let handles = |references: [u64; 3]| {
        let list = d.buffer_of(&references.map(instance).concat());
        let top = d.built(Place::Queue, TOP, &instances(address_at(Place::Queue, &d, &list)), count(3));
        let handles =
            d.property(Place::Queue, &top, Query::ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR);
        d.free(top);
        d.c.free(list);
        handles
    };
    assert_eq!(handles([address, 1, address + 256]), 1);
    assert_eq!(handles([address, address, u64::MAX]), 2);
    d.free(bottom);
    assert_eq!(handles([address; 3]), 0, "the structure is destroyed");
    d.c.free(input);
}

#[test]
fn hostile_builds_do_not_end_the_process() {
    let d = Device::new();
    let messenger = Messenger::new(&d.c);
    let input = d.buffer_of(&vertices(20, 0.0));
    let geometry = triangles(address_at(Place::Queue, &d, &input), 20);
    // A target without enough space, vertices beyond the memory, and an address without memory.
    let small = d.structure(BOTTOM, 256);
    d.build(Place::Queue, BOTTOM, &geometry, count(20), None, &small);
    let large = d.structure(BOTTOM, d.sizes(BOTTOM, &geometry, 1 << 16).acceleration_structure_size);
    d.build(Place::Queue, BOTTOM, &geometry, count(1 << 16), None, &large);
    let nowhere = triangles(vk::DeviceOrHostAddressConstKHR { device_address: 0x1000 }, 20);
    d.build(Place::Queue, BOTTOM, &nowhere, count(20), None, &large);
    // An update of what is not a structure.
    d.build(Place::Queue, BOTTOM, &geometry, count(20), Some(&small), &large);
    assert_eq!(messenger.take().len(), 3, "a message each, but none for vertices that are not in memory");
    // A structure whose buffer is destroyed.
    // SAFETY: the buffer is destroyed too early, which the driver has to survive.
    unsafe { d.c.device.destroy_buffer(large.buffer.buffer, None) };
    d.build(Place::Queue, BOTTOM, &geometry, count(20), None, &large);
    assert_eq!(messenger.take().len(), 1);
    drop(messenger);
    // SAFETY: nothing uses the objects any more.
    unsafe {
        d.f.destroy_acceleration_structure(large.structure, None);
        d.c.device.free_memory(large.buffer.memory, None);
    }
    d.free(small);
    d.c.free(input);
}

#[test]
fn calls_with_a_deferred_operation_have_done_their_work() {
    let d = Device::new();
    let functions = ash::khr::deferred_host_operations::Device::new(&d.c.instance, &d.c.device);
    let input = d.buffer_of(&vertices(20, 0.0));
    let geometry = triangles(address_at(Place::Host, &d, &input), 20);
    let expected = d.built(Place::Host, BOTTOM, &geometry, count(20));
    let structure = d.structure(BOTTOM, expected.buffer.size);
    let mut scratch = [0u64; 8];
    let mut info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
        .ty(BOTTOM)
        .flags(UPDATABLE)
        .geometries(std::slice::from_ref(&geometry))
        .dst_acceleration_structure(structure.structure);
    info.scratch_data.host_address = scratch.as_mut_ptr().cast();
    let range = count(20);
    let ranges = [&raw const range];
    // SAFETY: valid usage.
    unsafe {
        let operation = functions.create_deferred_operation(None).expect("an operation");
        let build = d.f.fp().build_acceleration_structures_khr;
        let result = build(d.c.device.handle(), operation, 1, &raw const info, ranges.as_ptr());
        assert_eq!(result, vk::Result::OPERATION_NOT_DEFERRED_KHR);
        functions.destroy_deferred_operation(operation, None);
    }
    assert!(structure.bytes() == expected.bytes());
    d.free(structure);
    d.free(expected);
    d.c.free(input);
}

/// Traces rays: ray `i` begins at (i + 1/4, 1/4, -1) and goes along the z axis.
pub struct Tracer {
    set: crate::pipeline::Set,
    out: Buffer,
    pipeline: vk::Pipeline,
}

impl Tracer {
    pub fn new(d: &Device) -> Tracer {
        let set = crate::pipeline::Set::new(&d.c, &[(vk::DescriptorType::STORAGE_BUFFER, 1)]);
        let out = d.c.buffer(256);
        set.buffers(&d.c, 0, vk::DescriptorType::STORAGE_BUFFER, &[(out.buffer, 0, vk::WHOLE_SIZE)]);
        let words = shader!("ray_query.comp");
        let pipeline = crate::pipeline::compute_with(&d.c, vk::PipelineCache::null(), set.layout, &words, &[]);
        Tracer { set, out, pipeline: pipeline.expect("a pipeline") }
    }

    /// Returns for each of 16 rays the kind of the hit, primitive index, custom index and the bits
    /// of the distance; 0 and three times 7 if there is no hit.
    pub fn trace(&self, d: &Device, address: u64) -> [[u32; 4]; 16] {
        let push = [address, 0].map(u64::to_le_bytes).concat();
        d.c.run(|b| crate::pipeline::record_dispatch(&d.c, b, &self.set, self.pipeline, &push, 1)).expect("run");
        std::array::from_fn(|i| self.out.words().as_chunks::<4>().0[i])
    }

    pub fn free(self, d: &Device) {
        // SAFETY: nothing uses the pipeline any more.
        unsafe { d.c.device.destroy_pipeline(self.pipeline, None) };
        d.c.free(self.out);
        self.set.destroy(&d.c);
    }
}

/// Result of a ray that hits nothing.
pub const MISS: [u32; 4] = [0, 7, 7, 7];

/// Returns the result of a ray `i` that hits the first row of the grid of [`vertices`]. A triangle
/// lies at a depth of a quarter of the cell's number.
pub fn hit(i: usize) -> [u32; 4] {
    [1, i as u32, 5, (1.0 + 0.25 * i as f32).to_bits()]
}

#[test]
fn ray_queries_find_what_was_built() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    for place in PLACES {
        let input = d.buffer_of(&vertices(8, 0.0));
        let bottom = d.built(place, BOTTOM, &triangles(address_at(place, &d, &input), 8), count(8));
        let reference = match place {
            Place::Queue => d.address(&bottom),
            Place::Host => bottom.structure.as_raw(),
        };
        let list = d.buffer_of(&instance(reference));
        let top = d.built(place, TOP, &instances(address_at(place, &d, &list)), count(1));
        for (i, found) in tracer.trace(&d, d.address(&top)).into_iter().enumerate() {
            assert_eq!(found, if i < 8 { hit(i) } else { MISS }, "{place:?} {i}");
        }
        d.free(top);
        d.free(bottom);
        [input, list].into_iter().for_each(|buffer| d.c.free(buffer));
    }
    tracer.free(&d);
}

/// `VK_ADDRESS_COMMAND_STORAGE_BUFFER_USAGE_BIT_KHR`: [`Device::buffer`] makes storage buffers.
const STORAGE_BUFFER_USAGE: u32 = 1 << 2;

/// Creates a structure at an address (`vkCreateAccelerationStructure2KHR`).
pub fn create_at(d: &Device, ty: Kind, address: u64, size: u64) -> Result<vk::AccelerationStructureKHR, vk::Result> {
    let name = c"vkCreateAccelerationStructure2KHR";
    let info = newer::AccelerationStructureCreateInfo2KHR {
        s_type: newer::AccelerationStructureCreateInfo2KHR::STRUCTURE_TYPE,
        p_next: std::ptr::null_mut(),
        create_flags: vk::AccelerationStructureCreateFlagsKHR::empty(),
        address_range: newer::DeviceAddressRangeKHR { address, size },
        address_flags: STORAGE_BUFFER_USAGE,
        ty,
        _marker: std::marker::PhantomData,
    };
    let mut structure = vk::AccelerationStructureKHR::null();
    // SAFETY: the type is that of the command, and the usage is valid apart from some addresses.
    unsafe {
        let function = d.c.instance.get_device_proc_addr(d.c.device.handle(), name.as_ptr()).expect("a command");
        let create: newer::PFN_vkCreateAccelerationStructure2KHR = std::mem::transmute(function);
        create(d.c.device.handle(), &info, std::ptr::null(), &mut structure).result_with_success(structure)
    }
}

#[test]
fn structures_at_addresses_are_built_and_traced() {
    let d = Device::new();
    let tracer = Tracer::new(&d);
    let input = d.buffer_of(&vertices(8, 0.0));
    let geometry = triangles(address_at(Place::Queue, &d, &input), 8);
    let size = d.sizes(BOTTOM, &geometry, 8).acceleration_structure_size;
    let buffer = d.buffer(256 + size);
    let address = d.buffer_address(&buffer) + 256;
    let structure = create_at(&d, BOTTOM, address, size).expect("a structure");
    let bottom = Structure { buffer, structure };
    assert_eq!(d.address(&bottom), address);
    d.build(Place::Queue, BOTTOM, &geometry, count(8), None, &bottom);
    let list = d.buffer_of(&instance(address));
    let top = d.built(Place::Queue, TOP, &instances(address_at(Place::Queue, &d, &list)), count(1));
    assert_eq!(tracer.trace(&d, d.address(&top))[7], hit(7));
    d.free(top);
    d.free(bottom);
    [input, list].into_iter().for_each(|buffer| d.c.free(buffer));
    tracer.free(&d);
}

#[test]
fn buffers_of_structures_have_aligned_addresses() {
    let d = Device::new();
    let storage = vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR;
    let long = vk::BufferUsageFlags2KHR::ACCELERATION_STRUCTURE_STORAGE;
    let mut chained = vk::BufferUsageFlags2CreateInfoKHR::default().usage(long);
    let plain = vk::BufferCreateInfo::default().size(100).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
    let alignments = [plain, plain.usage(storage), plain.push_next(&mut chained)].map(|info| {
        let query = vk::DeviceBufferMemoryRequirements::default().create_info(&info);
        let mut of_info = vk::MemoryRequirements2::default();
        // SAFETY: valid usage.
        let of_buffer = unsafe {
            let buffer = d.c.device.create_buffer(&info, None).expect("buffer");
            let requirements = d.c.device.get_buffer_memory_requirements(buffer);
            d.c.device.destroy_buffer(buffer, None);
            d.c.device.get_device_buffer_memory_requirements(&query, &mut of_info);
            requirements
        };
        assert_eq!(of_info.memory_requirements.alignment, of_buffer.alignment);
        of_buffer.alignment
    });
    assert_eq!(alignments, [64, 256, 256]);
}

#[test]
fn captured_structures_have_the_address_that_is_requested() {
    use vk::AccelerationStructureCreateFlagsKHR as Flags;
    let mut features = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default()
        .descriptor_buffer(true)
        .descriptor_buffer_capture_replay(true);
    let d = Device::with(&[], Some(&mut features));
    let functions = ash::ext::descriptor_buffer::Device::new(&d.c.instance, &d.c.device);
    let buffer = d.buffer(4096);
    let both = Flags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY;
    let info = vk::AccelerationStructureCreateInfoKHR::default().create_flags(both).buffer(buffer.buffer);
    // SAFETY: valid usage.
    let structure = unsafe { d.f.create_acceleration_structure(&info.size(4096).ty(BOTTOM), None) };
    let structure = Structure { buffer, structure: structure.expect("structure") };
    let info =
        vk::AccelerationStructureCaptureDescriptorDataInfoEXT::default().acceleration_structure(structure.structure);
    let mut data = [0; 8];
    // SAFETY: the data of this driver have 8 bytes.
    unsafe { functions.get_acceleration_structure_opaque_capture_descriptor_data(&info, &mut data) }.expect("data");
    assert_eq!(u64::from_le_bytes(data), d.address(&structure));
    let create = |offset: u64, by_data: bool| {
        let mut captured = vk::OpaqueCaptureDescriptorDataCreateInfoEXT::default()
            .opaque_capture_descriptor_data(data.as_ptr().cast_mut().cast());
        let info = vk::AccelerationStructureCreateInfoKHR::default().buffer(structure.buffer.buffer).ty(BOTTOM);
        let mut info = info.offset(offset).size(1024);
        if by_data {
            info.create_flags = Flags::DESCRIPTOR_BUFFER_CAPTURE_REPLAY_EXT;
            info.p_next = (&raw mut captured).cast();
        } else {
            info.create_flags = Flags::DEVICE_ADDRESS_CAPTURE_REPLAY;
            info.device_address = d.address(&structure);
        }
        // SAFETY: valid usage, apart from an address that does not fit.
        unsafe { d.f.create_acceleration_structure(&info, None) }
    };
    for by_data in [false, true] {
        let again = create(0, by_data).expect("the same address");
        // SAFETY: nothing uses the structure.
        unsafe { d.f.destroy_acceleration_structure(again, None) };
        assert_eq!(create(256, by_data), Err(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS));
    }
    d.free(structure);
}
