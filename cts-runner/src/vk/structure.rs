//! Acceleration structures: creation, and the commands that build, update and copy them.
//!
//! Idea: a [`Structure`] is made for fixed geometries and keeps their addresses and its scratch
//! memory, so a build is one call without parameters.

use super::error::{Context, Error, Result};
use super::gpu::{Gpu, Owned};
use super::pipeline::Resource;
use super::recorder::Recorder;
use ash::{khr, vk};

type Build = vk::BuildAccelerationStructureModeKHR;
type Copy = vk::CopyAccelerationStructureModeKHR;

/// A geometry of an acceleration structure. Its data lies in buffers whose usage contains
/// [`Gpu::INPUT`].
#[derive(Clone, Copy)]
pub enum Geometry {
    /// Triangles of vertices with three floats each, and of 32-bit indices.
    Triangles {
        /// Buffer that begins with the first vertex.
        vertices: vk::Buffer,
        /// Number of vertices.
        vertex_count: u32,
        /// Buffer that begins with the indices of the first triangle.
        indices: vk::Buffer,
        /// Number of triangles.
        count: u32,
        /// True if no any-hit shader runs and every candidate is a hit.
        opaque: bool,
    },
    /// Boxes of six floats each: the lower and the upper corner.
    Boxes {
        /// Buffer that begins with the first box.
        boxes: vk::Buffer,
        /// Number of boxes.
        count: u32,
    },
    /// Instances of other structures, as `VkAccelerationStructureInstanceKHR`.
    Instances {
        /// Buffer that begins with the first instance.
        instances: vk::Buffer,
        /// Number of instances.
        count: u32,
    },
}

/// Parameters from which a [`Structure`] is made. A structure of instances is a top-level
/// structure.
#[derive(Clone, Copy)]
pub struct StructureDesc<'a> {
    /// Geometries, all of one kind.
    pub geometries: &'a [Geometry],
    /// Flags of builds and updates.
    pub flags: vk::BuildAccelerationStructureFlagsKHR,
}

/// An instance of a structure, which all rays can hit.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    /// The structure.
    pub structure: &'a Structure,
    /// Transform from the structure to the world, by rows.
    pub place: [f32; 12],
    /// Custom index, of 24 bits.
    pub custom_index: u32,
    /// Offset of the instance's records in the shader binding table.
    pub group: u32,
}

impl Instance<'_> {
    /// Returns the words of a `VkAccelerationStructureInstanceKHR`.
    fn words(&self) -> [u32; 16] {
        let address = self.structure.address;
        let rest = [0xff << 24 | self.custom_index, self.group, address as u32, (address >> 32) as u32];
        std::array::from_fn(|i| if i < 12 { self.place[i].to_bits() } else { rest[i - 12] })
    }
}

/// An acceleration structure with scratch memory for its builds and updates.
#[derive(Clone)]
pub struct Structure {
    /// Vulkan handle of the structure.
    pub handle: vk::AccelerationStructureKHR,
    /// Device address, by which instances refer to the structure.
    pub address: vk::DeviceAddress,
    /// Number of bytes that were reserved for the structure.
    pub size: u64,
    kind: vk::AccelerationStructureTypeKHR,
    flags: vk::BuildAccelerationStructureFlagsKHR,
    geometries: Vec<vk::AccelerationStructureGeometryKHR<'static>>,
    counts: Vec<u32>,
    scratch: vk::DeviceAddress,
    functions: khr::acceleration_structure::Device,
}

impl Geometry {
    fn count(&self) -> u32 {
        match *self {
            Self::Triangles { count, .. } | Self::Boxes { count, .. } | Self::Instances { count, .. } => count,
        }
    }

    fn raw(&self, gpu: &Gpu) -> vk::AccelerationStructureGeometryKHR<'static> {
        let at = |buffer| vk::DeviceOrHostAddressConstKHR { device_address: gpu.address(buffer) };
        let geometry = vk::AccelerationStructureGeometryKHR::default();
        match *self {
            Self::Triangles { vertices, vertex_count, indices, opaque, .. } => {
                let triangles = vk::AccelerationStructureGeometryTrianglesDataKHR::default()
                    .vertex_format(vk::Format::R32G32B32_SFLOAT)
                    .vertex_data(at(vertices))
                    .vertex_stride(12)
                    .max_vertex(vertex_count - 1)
                    .index_type(vk::IndexType::UINT32)
                    .index_data(at(indices));
                let flags = if opaque { vk::GeometryFlagsKHR::OPAQUE } else { vk::GeometryFlagsKHR::empty() };
                geometry
                    .geometry_type(vk::GeometryTypeKHR::TRIANGLES)
                    .geometry(vk::AccelerationStructureGeometryDataKHR { triangles })
                    .flags(flags)
            }
            Self::Boxes { boxes, .. } => {
                let aabbs = vk::AccelerationStructureGeometryAabbsDataKHR::default().data(at(boxes)).stride(24);
                geometry
                    .geometry_type(vk::GeometryTypeKHR::AABBS)
                    .geometry(vk::AccelerationStructureGeometryDataKHR { aabbs })
            }
            Self::Instances { instances, .. } => {
                let instances = vk::AccelerationStructureGeometryInstancesDataKHR::default().data(at(instances));
                geometry
                    .geometry_type(vk::GeometryTypeKHR::INSTANCES)
                    .geometry(vk::AccelerationStructureGeometryDataKHR { instances })
            }
        }
    }
}

impl Gpu {
    /// Usage of buffers with the input of builds.
    pub const INPUT: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
        vk::BufferUsageFlags::ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_KHR.as_raw()
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw()
            | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw(),
    );

    /// Makes a structure that is not yet built.
    pub fn structure(&self, desc: &StructureDesc<'_>) -> Result<Structure> {
        let functions = self.structures.clone().ok_or_else(|| Error::Missing("accelerationStructure".into()))?;
        let top = matches!(desc.geometries, [Geometry::Instances { .. }, ..]);
        let kind = match top {
            true => vk::AccelerationStructureTypeKHR::TOP_LEVEL,
            false => vk::AccelerationStructureTypeKHR::BOTTOM_LEVEL,
        };
        let geometries: Vec<_> = desc.geometries.iter().map(|g| g.raw(self)).collect();
        let counts: Vec<_> = desc.geometries.iter().map(Geometry::count).collect();
        let info =
            vk::AccelerationStructureBuildGeometryInfoKHR::default().ty(kind).flags(desc.flags).geometries(&geometries);
        let mut sizes = vk::AccelerationStructureBuildSizesInfoKHR::default();
        let on_device = vk::AccelerationStructureBuildTypeKHR::DEVICE;
        // SAFETY: `info` is valid and `counts` has an element for each geometry.
        unsafe { functions.get_acceleration_structure_build_sizes(on_device, &info, &counts, &mut sizes) };
        let scratch = self.scratch(sizes.build_scratch_size.max(sizes.update_scratch_size))?;
        let (handle, address) = self.structure_of_size(&functions, kind, sizes.acceleration_structure_size)?;
        let (size, flags) = (sizes.acceleration_structure_size, desc.flags);
        Ok(Structure { handle, address, size, kind, flags, geometries, counts, scratch, functions })
    }

    /// Makes a structure of `size` bytes that a copy of `like` fits in.
    pub fn structure_like(&self, like: &Structure, size: u64) -> Result<Structure> {
        let (handle, address) = self.structure_of_size(&like.functions, like.kind, size)?;
        Ok(Structure { handle, address, size, ..like.clone() })
    }

    fn structure_of_size(
        &self,
        functions: &khr::acceleration_structure::Device,
        kind: vk::AccelerationStructureTypeKHR,
        size: u64,
    ) -> Result<(vk::AccelerationStructureKHR, vk::DeviceAddress)> {
        let usage =
            vk::BufferUsageFlags::ACCELERATION_STRUCTURE_STORAGE_KHR | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let buffer = self.unmapped_buffer(&vk::BufferCreateInfo::default().size(size).usage(usage))?;
        let info = vk::AccelerationStructureCreateInfoKHR::default().buffer(buffer).size(size).ty(kind);
        // SAFETY: `info` is valid, and the buffer is new and has the usage.
        let handle = unsafe { functions.create_acceleration_structure(&info, None) };
        let handle = handle.context("vkCreateAccelerationStructureKHR")?;
        self.own(Owned::Structure(handle));
        let info = vk::AccelerationStructureDeviceAddressInfoKHR::default().acceleration_structure(handle);
        // SAFETY: `info` is valid and the structure alive.
        let address = unsafe { functions.get_acceleration_structure_device_address(&info) };
        Ok((handle, address))
    }

    /// Returns the address of `size` bytes of scratch memory.
    fn scratch(&self, size: u64) -> Result<vk::DeviceAddress> {
        let align = u64::from(self.optional.rays.scratch_alignment).max(1);
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        let info = vk::BufferCreateInfo::default().size(size + align).usage(usage);
        Ok(self.address(self.unmapped_buffer(&info)?).next_multiple_of(align))
    }

    /// Makes and builds a structure.
    pub fn built_structure(&self, desc: &StructureDesc<'_>) -> Result<Structure> {
        let structure = self.structure(desc)?;
        self.once(|r| r.build(&structure))?;
        Ok(structure)
    }

    /// Makes a geometry of instances.
    pub fn instances(&self, instances: &[Instance<'_>]) -> Result<Geometry> {
        let words: Vec<u32> = instances.iter().flat_map(Instance::words).collect();
        let buffer = self.buffer_with(&words, Self::INPUT)?.handle;
        Ok(Geometry::Instances { instances: buffer, count: instances.len() as u32 })
    }

    /// Makes and builds a top-level structure with these instances.
    pub fn scene(&self, instances: &[Instance<'_>]) -> Result<Structure> {
        let flags = vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE;
        self.built_structure(&StructureDesc { geometries: &[self.instances(instances)?], flags })
    }

    /// Returns the number of bytes that a compact copy of a built structure needs.
    pub fn compacted_size(&self, structure: &Structure) -> Result<u64> {
        self.structure_property(structure, vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR)
    }

    fn structure_property(&self, structure: &Structure, property: vk::QueryType) -> Result<u64> {
        let info = vk::QueryPoolCreateInfo::default().query_type(property).query_count(1);
        // SAFETY: `info` is valid.
        let pool = unsafe { self.device.create_query_pool(&info, None) }.context("vkCreateQueryPool")?;
        self.own(Owned::QueryPool(pool));
        self.run(|d, cmd| {
            let handles = [structure.handle];
            // SAFETY: `cmd` is being recorded outside a render pass, and the pool has one query.
            // The structure was built.
            unsafe {
                d.cmd_reset_query_pool(cmd, pool, 0, 1);
                let functions = &structure.functions;
                functions.cmd_write_acceleration_structures_properties(cmd, &handles, property, pool, 0);
            }
        })?;
        let mut value = [0u64];
        let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        // SAFETY: the query was written by a submission that has ended.
        unsafe { self.device.get_query_pool_results(pool, 0, &mut value, flags) }.context("vkGetQueryPoolResults")?;
        Ok(value[0])
    }

    /// Returns the serialized form of a built structure. Its bytes depend on the driver.
    pub fn serialized(&self, structure: &Structure) -> Result<Vec<u8>> {
        let size = self.structure_property(structure, vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR)?;
        // Serialized data has to begin at a multiple of this number of bytes.
        const ALIGN: u64 = 256;
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS | vk::BufferUsageFlags::TRANSFER_DST;
        let buffer = self.buffer((size + ALIGN) as usize, usage)?;
        let start = self.address(buffer.handle);
        let address = start.next_multiple_of(ALIGN);
        let info = vk::CopyAccelerationStructureToMemoryInfoKHR::default()
            .src(structure.handle)
            .dst(vk::DeviceOrHostAddressKHR { device_address: address })
            .mode(Copy::SERIALIZE);
        self.once(|r| {
            // SAFETY: the structure was built, and the buffer holds `size` bytes from `address` on.
            unsafe { structure.functions.cmd_copy_acceleration_structure_to_memory(r.cmd, &info) };
            r.barrier();
        })?;
        let first = (address - start) as usize;
        Ok(buffer.read_bytes()[first..first + size as usize].to_vec())
    }
}

impl Structure {
    /// Returns the structure as a descriptor.
    pub fn resource(&self) -> Resource {
        Resource::Structure(self.handle)
    }

    /// Returns the structure with other geometries for its updates. Their numbers, counts and kinds
    /// are those of the old ones.
    pub fn with_geometries(&self, gpu: &Gpu, geometries: &[Geometry]) -> Self {
        Self { geometries: geometries.iter().map(|g| g.raw(gpu)).collect(), ..self.clone() }
    }

    fn record(&self, cmd: vk::CommandBuffer, mode: Build) {
        let source = if mode == Build::UPDATE { self.handle } else { vk::AccelerationStructureKHR::null() };
        let info = vk::AccelerationStructureBuildGeometryInfoKHR::default()
            .ty(self.kind)
            .flags(self.flags)
            .mode(mode)
            .src_acceleration_structure(source)
            .dst_acceleration_structure(self.handle)
            .geometries(&self.geometries)
            .scratch_data(vk::DeviceOrHostAddressKHR { device_address: self.scratch });
        let range = |&count| vk::AccelerationStructureBuildRangeInfoKHR::default().primitive_count(count);
        let ranges: Vec<_> = self.counts.iter().map(range).collect();
        // SAFETY: `cmd` is being recorded outside a render pass. Structure, scratch memory and
        // geometries are alive and have the sizes with which the structure was made.
        unsafe { self.functions.cmd_build_acceleration_structures(cmd, &[info], &[&ranges]) }
    }
}

/// Commands of acceleration structures. A barrier follows each of them.
impl Recorder<'_> {
    /// Builds a structure.
    pub fn build(self, structure: &Structure) {
        structure.record(self.cmd, Build::BUILD);
        self.barrier();
    }

    /// Updates a structure in place.
    pub fn update(self, structure: &Structure) {
        structure.record(self.cmd, Build::UPDATE);
        self.barrier();
    }

    /// Makes a compact copy of a structure that was built with the flag `ALLOW_COMPACTION`.
    pub fn compact(self, from: &Structure, to: &Structure) {
        let info = vk::CopyAccelerationStructureInfoKHR::default().src(from.handle).dst(to.handle).mode(Copy::COMPACT);
        // SAFETY: both structures are alive, and the destination has the compact size.
        unsafe { from.functions.cmd_copy_acceleration_structure(self.cmd, &info) }
        self.barrier();
    }
}
