//! Builds, copies and properties of acceleration structures: what a queue's worker and the calls on
//! the host have in common.
//!
//! All of it is in memory that the application may change meanwhile, which the crate `rays` allows
//! for. Addresses of a command are looked up among the live ones. Those of a call on the host are
//! the application's own, as far as its parameters say that there is memory.

use crate::caps::build_id::build_id;
use crate::device::Device;
use crate::device::idle_builders::IdleBuilders;
use crate::fallible;
use crate::object::acceleration_structure::AccelerationStructure;
use crate::object::buffer::MAX_BUFFER_SIZE;
use crate::shader_compiler::ray_query::AccessibleStructures;
use ash::vk;
use base::format::Format;
use base::mem::{DeviceMemory, MemoryRange};
use execution::work_sharing::{HelperPolicy, Items};
use rays::{
    Aabbs, AddressSpace, BuildError, BuildInput, Builder, Caps, Contents, Geometry, GeometryData, IndexType, Indexing,
    Instances, MOTION_INSTANCE_STRIDE, MicromapInput, Prefix, Quality, Spheres, SweptSpheres, Triangles,
    TrianglesMicromap, Version, Workers,
};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Number of primitives from which on all threads build a structure.
const MIN_PARALLEL_PRIMITIVES: u32 = 1024;
/// Number of bytes of a transform.
const TRANSFORM_BYTES: u64 = 48;
/// Number of bytes of an instance (`VkAccelerationStructureInstanceKHR`).
const INSTANCE_BYTES: u64 = 64;
/// Largest number of bytes of an index.
const INDEX_BYTES: u64 = 4;
/// Largest number of bytes of a vertex.
const VERTEX_BYTES: u64 = 32;
/// Bytes in front of the handles in serialized data, and the offsets of numbers in them: the sizes
/// of the data and of the structure.
const SERIAL_HEADER: u64 = 56;
const SERIAL_SIZE: u64 = 32;
const SERIAL_STRUCTURE: u64 = 40;

/// Spheres, or the ends of swept ones (`VkAccelerationStructureGeometrySpheresDataNV`).
#[derive(Clone, Copy, Debug)]
pub struct SphereAddresses {
    /// Address of the first centre.
    pub vertices: u64,
    /// Number of bytes between centres.
    pub stride: u64,
    /// Format of a centre.
    pub format: Format,
    /// Address of the first radius.
    pub radii: u64,
    /// Number of bytes between radii.
    pub radius_stride: u64,
    /// Format of a radius.
    pub radius_format: Format,
    /// Address of the first index.
    pub indices: u64,
    /// Type of the indices.
    pub index_type: IndexType,
    /// Number of bytes between indices.
    pub index_stride: u64,
}

/// The primitives of a geometry, by their addresses.
#[derive(Clone, Copy, Debug)]
pub enum GeometryAddresses {
    /// `VkAccelerationStructureGeometryTrianglesDataKHR`.
    Triangles {
        /// Address of the first vertex.
        vertices: u64,
        /// Number of bytes between vertices.
        stride: u64,
        /// Format of a vertex.
        format: Format,
        /// Highest index of a vertex.
        max_vertex: u32,
        /// Address of the first index.
        indices: u64,
        /// Type of the indices.
        index_type: IndexType,
        /// Address of the transform; 0 for none.
        transform: u64,
        /// Address of the first vertex at the time 1
        /// (`VkAccelerationStructureGeometryMotionTrianglesDataNV`); `None` if nothing moves.
        motion: Option<u64>,
    },
    /// `VkAccelerationStructureGeometryAabbsDataKHR`.
    Aabbs {
        /// Address of the first box.
        boxes: u64,
        /// Number of bytes between boxes.
        stride: u64,
    },
    /// `VkAccelerationStructureGeometryInstancesDataKHR`.
    Instances {
        /// Address of the first instance, or of the first address of one.
        instances: u64,
        /// True if there are addresses of instances.
        pointers: bool,
        /// True in a structure with motion (`VkAccelerationStructureMotionInstanceNV`).
        motion: bool,
    },
    /// Spheres.
    Spheres(SphereAddresses),
    /// `VkAccelerationStructureGeometryLinearSweptSpheresDataNV`.
    SweptSpheres {
        /// The ends.
        ends: SphereAddresses,
        /// Ends of a primitive.
        indexing: Indexing,
        /// Ends that can be hit.
        caps: Caps,
    },
    /// Triangles of a micromap (`VkMicromapBuildInfoEXT`,
    /// `VkAccelerationStructureGeometryMicromapDataKHR`).
    Micromap {
        /// Address of the first triangle.
        triangles: u64,
        /// Number of bytes between triangles.
        stride: u64,
        /// Number of triangles.
        count: u32,
        /// Address of the states.
        states: u64,
    },
}

/// The micromap of a geometry's triangles (`VkAccelerationStructureTrianglesOpacityMicromapEXT`,
/// `VkAccelerationStructureTrianglesOpacityMicromapKHR`).
#[derive(Clone)]
pub struct GeometryMicromap {
    /// The micromap; `None` if all indices are special ones.
    pub micromap: Option<Arc<AccelerationStructure>>,
    /// Address of the first index.
    pub indices: u64,
    /// Type of the indices.
    pub index_type: IndexType,
    /// Number of bytes between indices.
    pub stride: u64,
    /// Number that is added to indices.
    pub base: u32,
}

/// A geometry (`VkAccelerationStructureGeometryKHR`).
#[derive(Clone)]
pub struct BuildGeometry {
    /// The primitives.
    pub data: GeometryAddresses,
    /// The micromap of triangles.
    pub micromap: Option<GeometryMicromap>,
    /// True with VK_GEOMETRY_OPAQUE_BIT_KHR.
    pub opaque: bool,
}

impl BuildGeometry {
    /// Returns what a structure of such geometries contains.
    pub fn contents(&self) -> Contents {
        match self.data {
            GeometryAddresses::Triangles { motion: None, .. } => Contents::Triangles,
            GeometryAddresses::Triangles { .. } => Contents::MotionTriangles,
            GeometryAddresses::Aabbs { .. } => Contents::Aabbs,
            GeometryAddresses::Instances { motion: false, .. } => Contents::Instances,
            GeometryAddresses::Instances { .. } => Contents::MotionInstances,
            GeometryAddresses::Spheres(_) => Contents::Spheres,
            GeometryAddresses::SweptSpheres { .. } => Contents::SweptSpheres,
            GeometryAddresses::Micromap { .. } => Contents::Micromap,
        }
    }
}

/// The range of a geometry (`VkAccelerationStructureBuildRangeInfoKHR`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildRange {
    /// Number of primitives.
    pub primitives: u32,
    /// Offset of the first primitive.
    pub offset: u32,
    /// Number that is added to indices.
    pub first_vertex: u32,
    /// Offset of the transform.
    pub transform_offset: u32,
}

impl BuildRange {
    /// Returns the range that four words in memory describe.
    pub fn from_words([primitives, offset, first_vertex, transform_offset]: [u32; 4]) -> BuildRange {
        BuildRange { primitives, offset, first_vertex, transform_offset }
    }
}

/// The ranges of the geometries of a build.
pub enum BuildRanges {
    /// Ranges that the command has.
    Direct(Vec<BuildRange>),
    /// Ranges in device memory.
    Indirect {
        /// Address of the first range.
        address: u64,
        /// Number of bytes between ranges.
        stride: u32,
        /// Largest number of primitives of each geometry.
        max_primitives: Vec<u32>,
    },
}

/// A build or an update (`VkAccelerationStructureBuildGeometryInfoKHR` with its ranges).
pub struct StructureBuild {
    /// Contents of the geometries.
    pub contents: Contents,
    /// Flags of the build.
    pub flags: vk::BuildAccelerationStructureFlagsKHR,
    /// The structure that is updated; `None` for a build.
    pub source: Option<Arc<AccelerationStructure>>,
    /// The structure that is built.
    pub target: Arc<AccelerationStructure>,
    /// The geometries.
    pub geometries: Vec<BuildGeometry>,
    /// Ranges of the geometries.
    pub ranges: BuildRanges,
}

impl StructureBuild {
    /// Returns true if all threads build the structure, and false if one does.
    fn is_large(&self) -> bool {
        let primitives: u64 = match (&self.geometries[..], &self.ranges) {
            ([BuildGeometry { data: GeometryAddresses::Micromap { count, .. }, .. }], _) => u64::from(*count),
            (_, BuildRanges::Direct(ranges)) => ranges.iter().map(|range| u64::from(range.primitives)).sum(),
            (_, BuildRanges::Indirect { max_primitives, .. }) => max_primitives.iter().map(|&max| u64::from(max)).sum(),
        };
        primitives >= MIN_PARALLEL_PRIMITIVES.into()
    }
}

/// Place of the addresses of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressPlace {
    /// Device addresses.
    Device,
    /// Addresses of the calling process.
    Host,
}

/// Reason why an operation on structures fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureError {
    /// A structure has no memory.
    NoMemory,
    /// There is no memory at an address.
    Dead(u64),
    /// The crate `rays` refuses.
    Build(BuildError),
}

impl From<BuildError> for StructureError {
    fn from(error: BuildError) -> StructureError {
        StructureError::Build(error)
    }
}

impl fmt::Display for StructureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StructureError::NoMemory => f.write_str(
                "the buffer of a structure or micromap has no memory: it was never bound, or has been destroyed",
            ),
            StructureError::Dead(address) => write!(f, "there is no memory at {address:#x}"),
            StructureError::Build(BuildError::OutOfMemory) => f.write_str("out of host memory"),
            StructureError::Build(BuildError::TargetTooSmall) => {
                f.write_str("the target has fewer bytes than the result requires")
            }
            StructureError::Build(BuildError::Aborted) => f.write_str("the device is lost"),
            StructureError::Build(BuildError::InvalidSource) => {
                f.write_str("the source is not a structure of this driver, or does not match the geometries")
            }
        }
    }
}

impl StructureError {
    /// Returns the result of a call on the host.
    pub fn result(self) -> vk::Result {
        match self {
            StructureError::Build(BuildError::OutOfMemory) => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            StructureError::Build(BuildError::Aborted) => vk::Result::ERROR_DEVICE_LOST,
            _ => vk::Result::ERROR_UNKNOWN,
        }
    }
}

type Outcome<T> = Result<T, StructureError>;

/// Access to the memory of operations.
#[derive(Clone, Copy)]
pub struct StructureAccess<'a> {
    device: &'a Device,
    place: AddressPlace,
    live: AccessibleStructures<'a>,
}

impl AddressSpace for StructureAccess<'_> {
    fn memory(&self, address: u64, size: u64) -> Option<DeviceMemory> {
        self.prefix(address, size).filter(|memory| memory.len() == size)
    }
}

impl<'a> StructureAccess<'a> {
    /// Gives access to memory.
    ///
    /// # Safety
    /// An execution (`object::execution`) goes on as long as the value is used. With
    /// [`AddressPlace::Host`], the parameters of the operations are those of a call that is valid.
    pub unsafe fn new(device: &'a Device, place: AddressPlace) -> StructureAccess<'a> {
        // SAFETY: an execution goes on, as the `# Safety` section demands.
        StructureAccess { device, place, live: unsafe { device.structures.access() } }
    }

    /// Returns up to `size` bytes at an address; `None` if there is not even one.
    fn prefix(&self, address: u64, size: u64) -> Option<DeviceMemory> {
        let range = match self.place {
            AddressPlace::Device => self.device.heap.live_prefix(address, size.min(MAX_BUFFER_SIZE))?,
            AddressPlace::Host => {
                let size = size.min(u64::MAX - address);
                Some(MemoryRange { address: address as *mut u8, size }).filter(|_| address != 0)?
            }
        };
        // SAFETY: `live_prefix` returns live memory, which stays so during the execution; a valid
        // call on the host has memory where its parameters say so.
        Some(unsafe { DeviceMemory::new(range) })
    }

    /// Returns the memory of a structure, which is entered into the table of live structures.
    fn structure(&self, structure: &Arc<AccelerationStructure>) -> Outcome<DeviceMemory> {
        let added = self.device.live_structures.add(structure);
        if added.map_err(|_| BuildError::OutOfMemory)? == 0 {
            return Err(StructureError::NoMemory);
        }
        let MemoryRange { address, size } = structure.memory();
        let range = self.device.heap.range(address as u64, size).ok_or(StructureError::NoMemory)?;
        // SAFETY: `range` returns live memory, which stays so during the execution.
        Some(unsafe { DeviceMemory::new(range) }).filter(|memory| !memory.is_empty()).ok_or(StructureError::NoMemory)
    }

    fn workers(&self, primitives: u32) -> Workers<'a> {
        let pool = self.device.engine.pool();
        let threads = (primitives >= MIN_PARALLEL_PRIMITIVES && pool.threads() > 1).then(|| pool.work_sharing());
        Workers { threads, abort: &self.device.abort, ..Workers::default() }
    }

    /// Returns the memory of primitives; none if there are no primitives.
    fn primitives(&self, address: u64, size: Option<u64>, range: &BuildRange) -> Outcome<DeviceMemory> {
        if range.primitives == 0 {
            // SAFETY: there are no bytes.
            return Ok(unsafe { DeviceMemory::new(MemoryRange::NULL) });
        }
        self.prefix(address, size.unwrap_or(u64::MAX)).ok_or(StructureError::Dead(address))
    }

    /// Finds the memory of a geometry. It is looked up from the first primitive on, because an
    /// address to which an offset is added may be one outside of any memory.
    fn geometry(&'a self, geometry: &BuildGeometry, range: &BuildRange) -> Outcome<Geometry<'a>> {
        let (offset, count) = (u64::from(range.offset), u64::from(range.primitives));
        let all =
            |address: u64, stride: u64| self.primitives(address.wrapping_add(offset), count.checked_mul(stride), range);
        let data = match geometry.data {
            GeometryAddresses::Triangles {
                vertices,
                stride,
                format,
                max_vertex,
                indices,
                index_type,
                transform,
                motion,
            } => {
                let index_bytes = match index_type {
                    IndexType::None => 0,
                    IndexType::Uint8 => 1,
                    IndexType::Uint16 => 2,
                    IndexType::Uint32 => 4,
                };
                let of_vertices = if index_type == IndexType::None { offset } else { 0 };
                let first = stride.wrapping_mul(range.first_vertex.into()).wrapping_add(of_vertices);
                let bytes = (u64::from(max_vertex) + 1).checked_mul(stride);
                let bytes = bytes.and_then(|bytes| bytes.checked_add(VERTEX_BYTES));
                let memory = |address: u64| self.primitives(address.wrapping_add(first), bytes, range);
                let vertices = memory(vertices)?;
                GeometryData::Triangles(Triangles {
                    vertices,
                    stride,
                    format,
                    indices: match index_type {
                        IndexType::None => vertices.slice(0, 0),
                        _ => all(indices, 3 * index_bytes)?,
                    },
                    index_type,
                    transform: match transform {
                        0 => None,
                        address => Some(self.transform(address.wrapping_add(range.transform_offset.into()))?),
                    },
                    micromap: match &geometry.micromap {
                        None => None,
                        Some(micromap) => Some(self.triangles_micromap(micromap, range)?),
                    },
                    motion: motion.map(memory).transpose()?,
                })
            }
            GeometryAddresses::Aabbs { boxes, stride } => {
                GeometryData::Aabbs(Aabbs { boxes: all(boxes, stride)?, stride })
            }
            GeometryAddresses::Instances { instances, pointers, motion } => {
                let instances = match (pointers, motion) {
                    (true, _) => Instances::Pointers(all(instances, 8)?, self),
                    (false, false) => Instances::Array(all(instances, INSTANCE_BYTES)?),
                    (false, true) => Instances::Array(all(instances, MOTION_INSTANCE_STRIDE)?),
                };
                if motion { GeometryData::MotionInstances(instances) } else { GeometryData::Instances(instances) }
            }
            GeometryAddresses::Spheres(ref spheres) => GeometryData::Spheres(self.spheres(spheres, 1, range)?),
            GeometryAddresses::SweptSpheres { ref ends, indexing, caps } => {
                let indices = if indexing == Indexing::List { 2 } else { 1 };
                GeometryData::SweptSpheres(SweptSpheres { ends: self.spheres(ends, indices, range)?, indexing, caps })
            }
            // A micromap is no geometry of a structure.
            GeometryAddresses::Micromap { .. } => return Err(BuildError::InvalidSource.into()),
        };
        Ok(Geometry { data, primitives: range.primitives, opaque: geometry.opaque })
    }

    /// Finds the memory of spheres, of which each primitive has a number of indices. Centres and
    /// radii to which indices refer have no count: what the memory at their addresses has is read.
    fn spheres(&self, spheres: &SphereAddresses, indices: u64, range: &BuildRange) -> Outcome<Spheres> {
        let has_indices = spheres.index_type != IndexType::None;
        let (offset, first_vertex) = (u64::from(range.offset), u64::from(range.first_vertex));
        let of_spheres = if has_indices { 0 } else { offset };
        let count = indices * u64::from(range.primitives);
        let memory = |address: u64, stride: u64| {
            let first = address.wrapping_add(stride.wrapping_mul(first_vertex)).wrapping_add(of_spheres);
            let bytes = count.checked_mul(stride).and_then(|bytes| bytes.checked_add(VERTEX_BYTES));
            self.primitives(first, bytes.filter(|_| !has_indices), range)
        };
        let vertices = memory(spheres.vertices, spheres.stride)?;
        let index_bytes = count.checked_mul(spheres.index_stride);
        let index_bytes = index_bytes.and_then(|bytes| bytes.checked_add(INDEX_BYTES));
        Ok(Spheres {
            vertices,
            stride: spheres.stride,
            format: spheres.format,
            radii: memory(spheres.radii, spheres.radius_stride)?,
            radius_stride: spheres.radius_stride,
            radius_format: spheres.radius_format,
            indices: match has_indices {
                true => self.primitives(spheres.indices.wrapping_add(offset), index_bytes, range)?,
                false => vertices.slice(0, 0),
            },
            index_type: spheres.index_type,
            index_stride: spheres.index_stride,
        })
    }

    /// Finds the memory of the indices of a geometry's micromap, and the micromap's address.
    fn triangles_micromap(&self, micromap: &GeometryMicromap, range: &BuildRange) -> Outcome<TrianglesMicromap> {
        let GeometryMicromap { micromap, indices, index_type, stride, base } = micromap;
        let address = match micromap {
            None => 0,
            Some(micromap) => self.structure(micromap)?.address(),
        };
        let bytes = u64::from(range.primitives).checked_mul(*stride).and_then(|bytes| bytes.checked_add(INDEX_BYTES));
        let indices = match index_type {
            IndexType::None => self.primitives(0, None, &BuildRange::default())?,
            _ => self.primitives(*indices, bytes, range)?,
        };
        Ok(TrianglesMicromap { address, indices, index_type: *index_type, stride: *stride, base: *base })
    }

    /// Builds a micromap.
    fn build_micromap(&self, target: DeviceMemory, build: &StructureBuild) -> Outcome<()> {
        let [BuildGeometry { data: GeometryAddresses::Micromap { triangles, stride, count, states }, .. }] =
            build.geometries[..]
        else {
            return Err(BuildError::InvalidSource.into());
        };
        let range = BuildRange { primitives: count, ..BuildRange::default() };
        let bytes = u64::from(count).checked_mul(stride).and_then(|bytes| bytes.checked_add(stride));
        let input = MicromapInput {
            triangles: self.primitives(triangles, bytes, &range)?,
            stride,
            count,
            states: self.primitives(states, None, &range)?,
            flags: build.flags.as_raw(),
        };
        rays::build_micromap(target, &input, &self.workers(count))?;
        Ok(())
    }

    fn transform(&self, address: u64) -> Outcome<[f32; 12]> {
        let mut bytes = [0; TRANSFORM_BYTES as usize];
        let memory = self.memory(address, TRANSFORM_BYTES).ok_or(StructureError::Dead(address))?;
        memory.read(0, &mut bytes);
        let words = bytes.as_chunks::<4>().0;
        Ok(std::array::from_fn(|i| f32::from_le_bytes(words[i])))
    }

    /// Reads the ranges of a build.
    fn ranges(&self, build: &StructureBuild) -> Outcome<Vec<BuildRange>> {
        let out = |_| StructureError::Build(BuildError::OutOfMemory);
        let (address, stride, max) = match &build.ranges {
            BuildRanges::Direct(ranges) => return fallible::to_vec(ranges).map_err(out),
            BuildRanges::Indirect { address, stride, max_primitives } => (*address, u64::from(*stride), max_primitives),
        };
        let one = |(i, max): (usize, &u32)| -> Outcome<BuildRange> {
            let at = address.wrapping_add(i as u64 * stride);
            let mut words = [[0; 4]; 4];
            self.memory(at, 16).ok_or(StructureError::Dead(at))?.read(0, words.as_flattened_mut());
            let range = BuildRange::from_words(words.map(u32::from_le_bytes));
            Ok(BuildRange { primitives: range.primitives.min(*max), ..range })
        };
        let mut ranges = fallible::filled(BuildRange::default(), max.len()).map_err(out)?;
        for (i, (range, max)) in ranges.iter_mut().zip(max).enumerate() {
            *range = one((i, max))?;
        }
        Ok(ranges)
    }

    /// Builds or updates the structures of a command, which do not depend on each other: large ones
    /// one after the other, and small ones side by side. Returns the errors in the order of the
    /// builds. None begins after the device is lost.
    ///
    /// # Errors
    /// There is no memory for errors.
    pub fn build_all(
        &self,
        idle: &IdleBuilders,
        builds: &[StructureBuild],
    ) -> Outcome<impl Iterator<Item = StructureError> + use<>> {
        let errors = fallible::collect(builds.iter().map(|_| OnceLock::new()));
        let errors: Vec<OnceLock<StructureError>> = errors.map_err(|_| BuildError::OutOfMemory)?;
        let build = |i: usize| {
            if self.device.abort.load(Ordering::Relaxed) != 0 {
                return;
            }
            let mut builder = idle.take();
            if let Err(error) = self.build(&mut builder, &builds[i]) {
                let _ = errors[i].set(error);
            }
            idle.keep(builder);
        };
        let numbers = |large: bool| (0..builds.len()).filter(move |&i| builds[i].is_large() == large);
        numbers(true).for_each(build);
        let pool = self.device.engine.pool();
        if pool.threads() == 1 || numbers(false).nth(1).is_none() {
            numbers(false).for_each(build);
        } else {
            let part = |items: Items<'_>| items.map(|i| i as usize).filter(|&i| !builds[i].is_large()).for_each(build);
            pool.work_sharing().for_each(builds.len() as u64, HelperPolicy::AfterWakeLatency, &part);
        }
        Ok(errors.into_iter().filter_map(OnceLock::into_inner))
    }

    /// Builds or updates a structure.
    fn build(&self, builder: &mut Builder, build: &StructureBuild) -> Outcome<()> {
        let target = self.structure(&build.target)?;
        if build.contents == Contents::Micromap {
            return self.build_micromap(target, build);
        }
        let ranges = self.ranges(build)?;
        let mut geometries = Vec::new();
        fallible::reserve(&mut geometries, build.geometries.len()).map_err(|_| BuildError::OutOfMemory)?;
        for (geometry, range) in build.geometries.iter().zip(&ranges) {
            geometries.push(self.geometry(geometry, range)?);
        }
        let fast_build = build.flags.contains(vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_BUILD);
        let input = BuildInput {
            contents: build.contents,
            geometries: &geometries,
            quality: if fast_build { Quality::FastBuild } else { Quality::FastTrace },
            flags: build.flags.as_raw(),
            structures: &self.live,
        };
        let workers = self.workers(input.primitives());
        match &build.source {
            Some(source) => rays::update(target, self.structure(source)?, &input, &workers)?,
            None => builder.build(target, &input, &workers)?,
        };
        Ok(())
    }

    /// Clones or compacts a structure. Both are one operation: builds leave no gaps.
    ///
    /// # Errors
    /// The reasons are those of [`StructureError`].
    pub fn copy(&self, source: &Arc<AccelerationStructure>, target: &Arc<AccelerationStructure>) -> Outcome<()> {
        let (source, target) = (self.structure(source)?, self.structure(target)?);
        rays::copy_structure(target, source)?;
        Ok(())
    }

    /// Serializes a structure to an address. On the host, references are handles.
    ///
    /// # Errors
    /// The reasons are those of [`StructureError`].
    pub fn serialize(&self, source: &Arc<AccelerationStructure>, address: u64) -> Outcome<()> {
        let source = self.structure(source)?;
        let sizes = rays::serialized_sizes(source);
        if sizes.size == 0 {
            return Err(BuildError::InvalidSource.into());
        }
        let target = self.memory(address, sizes.size).ok_or(StructureError::Dead(address))?;
        rays::serialize(target, source, &version())?;
        if self.place == AddressPlace::Host {
            for i in 0..sizes.handles {
                let at = SERIAL_HEADER + 8 * i;
                let handle = read_u64(target, at).and_then(|address| self.device.live_structures.handle_at(address));
                target.write(at, &handle.unwrap_or(0).to_le_bytes());
            }
        }
        Ok(())
    }

    /// Makes a structure of serialized data at an address.
    ///
    /// # Errors
    /// The reasons are those of [`StructureError`].
    pub fn deserialize(&self, address: u64, target: &Arc<AccelerationStructure>) -> Outcome<()> {
        let target = self.structure(target)?;
        let dead = StructureError::Dead(address);
        // The structure behind it has more bytes than a prefix.
        let header = self.memory(address, rays::PREFIX_BYTES).ok_or(dead)?;
        let number = |at| read_u64(header, at).unwrap_or(u64::MAX);
        let [size, structure] = [SERIAL_SIZE, SERIAL_STRUCTURE].map(number);
        // A call on the host has no other bytes than these. Numbers that do not match are not
        // those of serialized data, whose end is then unknown.
        let begin = Prefix::read(header).and_then(|prefix| prefix.end());
        let end = begin.and_then(|begin| begin.checked_add(structure));
        if end != Some(size) || structure > target.len() {
            return Err(BuildError::InvalidSource.into());
        }
        let source = self.prefix(address, size).ok_or(dead)?;
        rays::deserialize(target, source, &version(), &self.live)?;
        Ok(())
    }

    /// Returns a property of a structure; 0 if it was not built.
    ///
    /// # Errors
    /// The structure has no memory.
    pub fn property(&self, structure: &Arc<AccelerationStructure>, property: StructureProperty) -> Outcome<u64> {
        let memory = self.structure(structure)?;
        Ok(match property {
            StructureProperty::Size => rays::compacted_size(memory),
            StructureProperty::SerializationSize => rays::serialized_sizes(memory).size,
            StructureProperty::BottomLevelPointers => rays::serialized_sizes(memory).handles,
        })
    }
}

/// Property of a structure that a query has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureProperty {
    /// Number of bytes, which is also the number of bytes that a compacted copy has.
    Size,
    /// Number of bytes of serialized data.
    SerializationSize,
    /// Number of references in serialized data.
    BottomLevelPointers,
}

impl StructureProperty {
    /// Returns the property that a type of queries has.
    pub fn of(query_type: vk::QueryType) -> Option<StructureProperty> {
        match query_type {
            vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR
            | vk::QueryType::ACCELERATION_STRUCTURE_SIZE_KHR
            | vk::QueryType::MICROMAP_COMPACTED_SIZE_EXT => Some(StructureProperty::Size),
            vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR
            | vk::QueryType::MICROMAP_SERIALIZATION_SIZE_EXT => Some(StructureProperty::SerializationSize),
            vk::QueryType::ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR => {
                Some(StructureProperty::BottomLevelPointers)
            }
            _ => None,
        }
    }
}

/// Returns the version of serialized data.
pub fn version() -> Version {
    Version::new(build_id())
}

fn read_u64(memory: DeviceMemory, offset: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read(offset, &mut bytes).then(|| u64::from_le_bytes(bytes))
}
