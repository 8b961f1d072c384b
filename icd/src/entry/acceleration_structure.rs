//! Acceleration structures (VK_KHR_acceleration_structure): creation, recording, and calls on the
//! host.
//!
//! A call that receives a deferred operation does its work before it returns
//! (`object::deferred_operation`). Scratch memory is not used: the application could change it.

use super::descriptor_buffer::write_capture_data;
use super::memory_of;
use super::micromap_input::{
    geometry_micromap, geometry_usages, has_triangles_micromap, index_type, triangles_micromap,
};
use super::recording::push;
use super::resource::captured_data;
use super::sphere_input::{geometry_spheres, geometry_swept_spheres};
use crate::caps::formats::is_structure_vertex;
use crate::caps::limits::MAX_GEOMETRIES;
use crate::caps::newer;
use crate::command::structures::{
    AddressPlace, BuildGeometry, BuildRange, BuildRanges, GeometryAddresses, StructureAccess, StructureBuild,
    StructureError, StructureProperty, version,
};
use crate::command::{Command, WriteAccelerationStructuresProperties};
use crate::device::Device;
use crate::device::idle_builders::IdleBuilders;
use crate::fallible;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::{self, Object, dispatchable, get, share};
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::acceleration_structure::AccelerationStructure;
use crate::object::buffer::Buffer;
use crate::object::image::format_of;
use crate::object::query::QueryPool;
use ash::vk::{self, Handle};
use core::ffi::c_void;
use rays::{Contents, MICROMAP_ADDRESS_BYTES, build_sizes, micromap_size};
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

const STRUCTURES: Requirement = ext("VK_KHR_acceleration_structure");
const ADDRESS: Requirement = ext("VK_KHR_device_address_commands");
const DESCRIPTOR_BUFFER: Requirement = ext("VK_EXT_descriptor_buffer");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_acceleration_structure as vk::PFN_vkCreateAccelerationStructureKHR, vkCreateAccelerationStructureKHR: STRUCTURES),
    row!(Device, create_acceleration_structure2 as newer::PFN_vkCreateAccelerationStructure2KHR, vkCreateAccelerationStructure2KHR: ADDRESS),
    row!(Device, get_acceleration_structure_opaque_capture_descriptor_data as vk::PFN_vkGetAccelerationStructureOpaqueCaptureDescriptorDataEXT, vkGetAccelerationStructureOpaqueCaptureDescriptorDataEXT: DESCRIPTOR_BUFFER),
    row!(Device, destroy_acceleration_structure as vk::PFN_vkDestroyAccelerationStructureKHR, vkDestroyAccelerationStructureKHR: STRUCTURES),
    row!(Device, get_acceleration_structure_build_sizes as vk::PFN_vkGetAccelerationStructureBuildSizesKHR, vkGetAccelerationStructureBuildSizesKHR: STRUCTURES),
    row!(Device, get_acceleration_structure_device_address as vk::PFN_vkGetAccelerationStructureDeviceAddressKHR, vkGetAccelerationStructureDeviceAddressKHR: STRUCTURES),
    row!(Device, get_device_acceleration_structure_compatibility as vk::PFN_vkGetDeviceAccelerationStructureCompatibilityKHR, vkGetDeviceAccelerationStructureCompatibilityKHR: STRUCTURES),
    row!(Device, cmd_build_acceleration_structures as vk::PFN_vkCmdBuildAccelerationStructuresKHR, vkCmdBuildAccelerationStructuresKHR: STRUCTURES),
    row!(Device, cmd_build_acceleration_structures_indirect as vk::PFN_vkCmdBuildAccelerationStructuresIndirectKHR, vkCmdBuildAccelerationStructuresIndirectKHR: STRUCTURES),
    row!(Device, cmd_copy_acceleration_structure as vk::PFN_vkCmdCopyAccelerationStructureKHR, vkCmdCopyAccelerationStructureKHR: STRUCTURES),
    row!(Device, cmd_copy_acceleration_structure_to_memory as vk::PFN_vkCmdCopyAccelerationStructureToMemoryKHR, vkCmdCopyAccelerationStructureToMemoryKHR: STRUCTURES),
    row!(Device, cmd_copy_memory_to_acceleration_structure as vk::PFN_vkCmdCopyMemoryToAccelerationStructureKHR, vkCmdCopyMemoryToAccelerationStructureKHR: STRUCTURES),
    row!(Device, cmd_write_acceleration_structures_properties as vk::PFN_vkCmdWriteAccelerationStructuresPropertiesKHR, vkCmdWriteAccelerationStructuresPropertiesKHR: STRUCTURES),
    row!(Device, build_acceleration_structures as vk::PFN_vkBuildAccelerationStructuresKHR, vkBuildAccelerationStructuresKHR: STRUCTURES),
    row!(Device, copy_acceleration_structure as vk::PFN_vkCopyAccelerationStructureKHR, vkCopyAccelerationStructureKHR: STRUCTURES),
    row!(Device, copy_acceleration_structure_to_memory as vk::PFN_vkCopyAccelerationStructureToMemoryKHR, vkCopyAccelerationStructureToMemoryKHR: STRUCTURES),
    row!(Device, copy_memory_to_acceleration_structure as vk::PFN_vkCopyMemoryToAccelerationStructureKHR, vkCopyMemoryToAccelerationStructureKHR: STRUCTURES),
    row!(Device, write_acceleration_structures_properties as vk::PFN_vkWriteAccelerationStructuresPropertiesKHR, vkWriteAccelerationStructuresPropertiesKHR: STRUCTURES),
];

/// Returns the address of triangles' first vertex at the time 1, if they move.
///
/// # Safety
/// The chain is valid.
unsafe fn end_of_motion(triangles: &vk::AccelerationStructureGeometryTrianglesDataKHR<'_>) -> Option<u64> {
    // SAFETY: the chain is valid, as the `# Safety` section demands, and both kinds of addresses
    // are 64 bits.
    unsafe {
        let motion = find::<vk::AccelerationStructureGeometryMotionTrianglesDataNV<'_>>(triangles.p_next)?;
        Some(motion.vertex_data.device_address)
    }
}

/// Returns true if a build has VK_BUILD_ACCELERATION_STRUCTURE_MOTION_BIT_NV.
fn has_motion(info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>) -> bool {
    info.flags.contains(vk::BuildAccelerationStructureFlagsKHR::MOTION_NV)
}

/// Decodes a geometry of a build. The addresses of the host are numbers here, like those of the
/// device.
///
/// # Safety
/// `geometry` is valid.
unsafe fn geometry(
    info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
    geometry: &vk::AccelerationStructureGeometryKHR<'_>,
) -> Result<BuildGeometry, vk::Result> {
    let mut micromap = None;
    // SAFETY: the type implies the member of the union, and both kinds of addresses are 64 bits.
    let data = unsafe {
        match geometry.geometry_type {
            vk::GeometryTypeKHR::TRIANGLES => {
                let t = &geometry.geometry.triangles;
                if !is_structure_vertex(t.vertex_format) {
                    return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
                }
                micromap = triangles_micromap(t.p_next)?;
                GeometryAddresses::Triangles {
                    vertices: t.vertex_data.device_address,
                    stride: t.vertex_stride,
                    format: format_of(t.vertex_format)?,
                    max_vertex: t.max_vertex,
                    indices: t.index_data.device_address,
                    index_type: index_type(t.index_type).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?,
                    transform: t.transform_data.device_address,
                    motion: end_of_motion(t),
                }
            }
            vk::GeometryTypeKHR::AABBS => {
                let a = &geometry.geometry.aabbs;
                GeometryAddresses::Aabbs { boxes: a.data.device_address, stride: a.stride }
            }
            vk::GeometryTypeKHR::INSTANCES => {
                let i = &geometry.geometry.instances;
                let (instances, pointers) = (i.data.device_address, i.array_of_pointers != 0);
                GeometryAddresses::Instances { instances, pointers, motion: has_motion(info) }
            }
            newer::GEOMETRY_TYPE_MICROMAP_KHR => geometry_micromap(geometry.p_next)?,
            newer::GEOMETRY_TYPE_SPHERES_NV => geometry_spheres(geometry.p_next)?,
            newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV => geometry_swept_spheres(geometry.p_next)?,
            _ => return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT),
        }
    };
    Ok(BuildGeometry { data, micromap, opaque: geometry.flags.contains(vk::GeometryFlagsKHR::OPAQUE) })
}

/// Returns the geometries that a build describes, in a list or in a list of pointers.
///
/// # Safety
/// `info` is valid with its pointers.
unsafe fn described<'a>(
    info: &'a vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
) -> impl ExactSizeIterator<Item = &'a vk::AccelerationStructureGeometryKHR<'a>> {
    let (list, pointers) = match info.pp_geometries.is_null() {
        true => (info.p_geometries, info.pp_geometries),
        false => (std::ptr::null(), info.pp_geometries),
    };
    // SAFETY: `info` is valid with its pointers, as the `# Safety` section demands.
    let (list, pointers) = unsafe { (slice(list, info.geometry_count), slice(pointers, info.geometry_count)) };
    (0..list.len().max(pointers.len())).map(move |i| match pointers.get(i) {
        // SAFETY: the elements of the list of pointers are valid.
        Some(one) => unsafe { &**one },
        None => &list[i],
    })
}

/// Decodes the geometries of a build.
///
/// # Safety
/// `info` is valid with its pointers.
unsafe fn geometries(
    info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
) -> Result<Vec<BuildGeometry>, vk::Result> {
    if u64::from(info.geometry_count) > MAX_GEOMETRIES {
        return Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    }
    // SAFETY: `info` is valid with its pointers, and so is each geometry.
    unsafe { fallible::try_collect(described(info).map(|one| geometry(info, one))) }
}

/// Returns the contents of a structure without geometries.
fn contents_of_none(info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>) -> Contents {
    match info.ty {
        vk::AccelerationStructureTypeKHR::TOP_LEVEL if has_motion(info) => Contents::MotionInstances,
        vk::AccelerationStructureTypeKHR::TOP_LEVEL => Contents::Instances,
        newer::ACCELERATION_STRUCTURE_TYPE_OPACITY_MICROMAP_KHR => Contents::Micromap,
        _ => Contents::Triangles,
    }
}

/// Returns the contents of a structure: those of all geometries, but triangles that do not move are
/// also some of a structure in which others do. `None` if the geometries do not match.
fn contents(
    info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
    geometries: &[BuildGeometry],
) -> Option<Contents> {
    let mut all = geometries.iter().map(BuildGeometry::contents);
    let Some(first) = all.next() else { return Some(contents_of_none(info)) };
    all.try_fold(first, |all, one| match (all, one) {
        (Contents::Triangles, Contents::MotionTriangles) | (Contents::MotionTriangles, Contents::Triangles) => {
            Some(Contents::MotionTriangles)
        }
        _ => (all == one).then_some(all),
    })
}

/// Decodes a build.
///
/// # Safety
/// `info` is valid with its pointers and handles.
unsafe fn build(
    info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
    ranges: BuildRanges,
) -> Result<StructureBuild, vk::Result> {
    // SAFETY: `info` is valid with its pointers and handles, as the `# Safety` section demands.
    unsafe {
        let geometries = geometries(info)?;
        let contents = contents(info, &geometries).ok_or(vk::Result::ERROR_UNKNOWN)?;
        let updates = info.mode == vk::BuildAccelerationStructureModeKHR::UPDATE;
        Ok(StructureBuild {
            contents,
            flags: info.flags,
            source: updates.then(|| share::<AccelerationStructure>(info.src_acceleration_structure)),
            target: share::<AccelerationStructure>(info.dst_acceleration_structure),
            geometries,
            ranges,
        })
    }
}

/// Decodes the builds of a command with their ranges.
///
/// # Safety
/// The pointers are valid, with handles.
unsafe fn builds(
    count: u32,
    infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
    ranges: *const *const vk::AccelerationStructureBuildRangeInfoKHR,
) -> Result<Vec<StructureBuild>, vk::Result> {
    // SAFETY: the pointers are valid, as the `# Safety` section demands, and each build has as many
    // ranges as geometries.
    unsafe {
        fallible::try_collect(slice(infos, count).iter().zip(slice(ranges, count)).map(|(info, ranges)| {
            let ranges = slice(*ranges, info.geometry_count).iter().map(|range| BuildRange {
                primitives: range.primitive_count,
                offset: range.primitive_offset,
                first_vertex: range.first_vertex,
                transform_offset: range.transform_offset,
            });
            build(info, BuildRanges::Direct(fallible::collect(ranges)?))
        }))
    }
}

/// Returns true if one of the geometries of a build has a micromap.
///
/// # Safety
/// `info` is valid with its pointers.
unsafe fn has_micromaps(info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>) -> bool {
    // SAFETY: `info` is valid with its pointers, and the type of a geometry implies the member of
    // the union.
    unsafe {
        described(info).any(|one| {
            let is_triangles = one.geometry_type == vk::GeometryTypeKHR::TRIANGLES;
            is_triangles && has_triangles_micromap(one.geometry.triangles.p_next)
        })
    }
}

/// Returns true if triangles of a build may move, according to its flags or one of its geometries.
///
/// # Safety
/// `info` is valid with its pointers.
unsafe fn may_move(info: &vk::AccelerationStructureBuildGeometryInfoKHR<'_>) -> bool {
    // SAFETY: `info` is valid with its pointers, and the type of a geometry implies the member of
    // the union.
    has_motion(info)
        || unsafe {
            described(info).any(|one| {
                let is_triangles = one.geometry_type == vk::GeometryTypeKHR::TRIANGLES;
                is_triangles && end_of_motion(&one.geometry.triangles).is_some()
            })
        }
}

/// Does work of a call on the host, during which device memory stays alive, and reports its error.
///
/// # Safety
/// The work is that of a valid call.
pub(super) unsafe fn on_host(
    (device, command): (&Device, &str),
    deferred: vk::DeferredOperationKHR,
    work: impl FnOnce(&StructureAccess<'_>) -> Result<(), StructureError>,
) -> Result<(), vk::Result> {
    let execution = device.heap.executions.begin();
    // SAFETY: the execution goes on until the work is done; the call is valid, as the `# Safety`
    // section demands.
    let done = work(&unsafe { StructureAccess::new(device, AddressPlace::Host) });
    drop(execution);
    done.map_err(|error| {
        device.report_invalid_usage(&format!("{command}: {error}"));
        error.result()
    })?;
    if deferred.is_null() { Ok(()) } else { Err(vk::Result::OPERATION_NOT_DEFERRED_KHR) }
}

/// Returns whether serialized data with these version bytes can be loaded.
pub(super) fn compatibility_of(version_data: &[u8; 32]) -> vk::AccelerationStructureCompatibilityKHR {
    match version().is_compatible(version_data) {
        true => vk::AccelerationStructureCompatibilityKHR::COMPATIBLE,
        false => vk::AccelerationStructureCompatibilityKHR::INCOMPATIBLE,
    }
}

/// Memory of the application for properties.
pub(super) struct Values {
    /// Address of the first value.
    pub data: *mut c_void,
    /// Number of bytes of all values.
    pub size: usize,
    /// Number of bytes between values.
    pub stride: usize,
}

/// Writes a property of structures.
///
/// # Safety
/// The work is that of a valid call: the memory has as many bytes as it says.
pub(super) unsafe fn write_properties(
    command: (&Device, &str),
    structures: impl Iterator<Item = Arc<AccelerationStructure>>,
    query_type: vk::QueryType,
    values: Values,
) -> Result<(), vk::Result> {
    let property = StructureProperty::of(query_type).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?;
    let write = |access: &StructureAccess<'_>| {
        for (i, structure) in structures.enumerate() {
            let value = access.property(&structure, property)?;
            let at = i.saturating_mul(values.stride);
            if at.checked_add(8).is_some_and(|end| end <= values.size) {
                // SAFETY: the application's memory has `size` bytes, and these are inside.
                unsafe { values.data.cast::<u8>().add(at).cast::<u64>().write_unaligned(value) };
            }
        }
        Ok(())
    };
    // SAFETY: the call is valid, as the `# Safety` section demands.
    unsafe { on_host(command, vk::DeferredOperationKHR::null(), write) }
}

/// Returns the device address that a structure had in an earlier run; 0 if none is requested.
///
/// # Safety
/// `p_next` is a valid chain.
pub(super) unsafe fn replayed_address(address: u64, p_next: *const c_void) -> u64 {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    match unsafe { captured_data(p_next) } {
        Some(captured) if address == 0 => captured,
        _ => address,
    }
}

/// Gives the object of a structure a handle and enters the structure into the table of live
/// structures.
pub(super) fn created<T: Object>(
    device: &Device,
    memory: Option<Callbacks>,
    (command, made): (&str, Result<AccelerationStructure, vk::Result>),
    object: impl FnOnce(Arc<AccelerationStructure>) -> Arc<T>,
) -> Result<T::Handle, vk::Result> {
    let made = Arc::new(made.inspect_err(|_| {
        let text = "the range is not inside of the buffer, not aligned, or has another address than the requested one";
        device.report_invalid_usage(&format!("{command}: {text}"));
    })?);
    let handle = handle::create(object(made.clone()), memory)?;
    made.set_handle(handle.as_raw());
    if let Err(error) = device.live_structures.add(&made) {
        device.live_structures.remove(&made);
        // SAFETY: nothing else knows the handle.
        unsafe { handle::destroy::<T>(handle, memory) };
        return Err(error);
    }
    Ok(handle)
}

shims! {
    fn create_acceleration_structure(
        device: vk::Device,
        info: *const vk::AccelerationStructureCreateInfoKHR<'_>,
        allocator: Allocator<'_>,
        structure: *mut vk::AccelerationStructureKHR,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let replayed = replayed_address(info.device_address, info.p_next);
        let made = AccelerationStructure::new(share::<Buffer>(info.buffer), info.offset, info.size, replayed);
        *structure = created(device, memory, ("vkCreateAccelerationStructureKHR", made), |made| made)?;
        Ok(())
    }

    fn create_acceleration_structure2(
        device: vk::Device,
        info: *const newer::AccelerationStructureCreateInfo2KHR<'_>,
        allocator: Allocator<'_>,
        structure: *mut vk::AccelerationStructureKHR,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, info) = (dispatchable::<Device>(device), &*info);
        let range = info.address_range;
        let made = AccelerationStructure::at_address(range.address, range.size, replayed_address(0, info.p_next));
        *structure = created(device, memory, ("vkCreateAccelerationStructure2KHR", made), |made| made)?;
        Ok(())
    }

    fn destroy_acceleration_structure(
        device: vk::Device,
        structure: vk::AccelerationStructureKHR,
        allocator: Allocator<'_>,
    ) {
        if !structure.is_null() {
            let object = share::<AccelerationStructure>(structure);
            dispatchable::<Device>(device).live_structures.remove(&object);
        }
        handle::destroy::<AccelerationStructure>(structure, memory_of(device, allocator));
    }

    fn get_acceleration_structure_build_sizes(
        _device: vk::Device,
        _build_type: vk::AccelerationStructureBuildTypeKHR,
        info: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        max_primitive_counts: *const u32,
        sizes: *mut vk::AccelerationStructureBuildSizesInfoKHR<'_>,
    ) {
        let (info, sizes) = (&*info, &mut *sizes);
        let first = described(info).next();
        let contents = match first.map(|first| first.geometry_type) {
            Some(vk::GeometryTypeKHR::AABBS) => Contents::Aabbs,
            Some(vk::GeometryTypeKHR::INSTANCES) if has_motion(info) => Contents::MotionInstances,
            Some(vk::GeometryTypeKHR::INSTANCES) => Contents::Instances,
            Some(newer::GEOMETRY_TYPE_MICROMAP_KHR) => Contents::Micromap,
            Some(newer::GEOMETRY_TYPE_SPHERES_NV) => Contents::Spheres,
            Some(newer::GEOMETRY_TYPE_LINEAR_SWEPT_SPHERES_NV) => Contents::SweptSpheres,
            Some(_) if may_move(info) => Contents::MotionTriangles,
            Some(_) => Contents::Triangles,
            None => contents_of_none(info),
        };
        let counts = if max_primitive_counts.is_null() { &[][..] } else { slice(max_primitive_counts, info.geometry_count) };
        let primitives = counts.iter().map(|&count| u64::from(count)).sum::<u64>().min(u32::MAX.into());
        let needed = build_sizes(contents, primitives as u32);
        let micromaps = if has_micromaps(info) { info.geometry_count } else { 0 };
        sizes.acceleration_structure_size = match first {
            Some(geometry) if contents == Contents::Micromap => micromap_size(geometry_usages(geometry.p_next)),
            _ => needed.structure + u64::from(micromaps) * MICROMAP_ADDRESS_BYTES,
        };
        sizes.update_scratch_size = needed.update_scratch;
        sizes.build_scratch_size = needed.build_scratch;
    }

    fn get_acceleration_structure_device_address(
        device: vk::Device,
        info: *const vk::AccelerationStructureDeviceAddressInfoKHR<'_>,
    ) -> vk::DeviceAddress {
        let structure = share::<AccelerationStructure>((*info).acceleration_structure);
        dispatchable::<Device>(device).live_structures.add(&structure).unwrap_or(0)
    }

    // The data with which another process makes the same descriptor is the structure's address.
    fn get_acceleration_structure_opaque_capture_descriptor_data(
        _device: vk::Device,
        info: *const vk::AccelerationStructureCaptureDescriptorDataInfoEXT<'_>,
        data: *mut c_void,
    ) -> VkResult {
        let structure = (*info).acceleration_structure;
        let address = match structure.is_null() {
            true => 0,
            false => get::<AccelerationStructure>(structure).memory().address as u64,
        };
        write_capture_data(data, address);
        Ok(())
    }

    fn get_device_acceleration_structure_compatibility(
        _device: vk::Device,
        info: *const vk::AccelerationStructureVersionInfoKHR<'_>,
        compatibility: *mut vk::AccelerationStructureCompatibilityKHR,
    ) {
        *compatibility = compatibility_of(&*(*info).p_version_data);
    }

    fn cmd_build_acceleration_structures(
        buffer: vk::CommandBuffer,
        count: u32,
        infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        ranges: *const *const vk::AccelerationStructureBuildRangeInfoKHR,
    ) {
        push(buffer, Command::BuildAccelerationStructures(builds(count, infos, ranges)?));
    }

    fn cmd_build_acceleration_structures_indirect(
        buffer: vk::CommandBuffer,
        count: u32,
        infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        addresses: *const vk::DeviceAddress,
        strides: *const u32,
        max_primitive_counts: *const *const u32,
    ) {
        let (addresses, strides, counts) = (slice(addresses, count), slice(strides, count), slice(max_primitive_counts, count));
        let places = addresses.iter().zip(strides).zip(counts);
        let builds = slice(infos, count).iter().zip(places).map(|(info, ((&address, &stride), &counts))| {
            let max_primitives = fallible::to_vec(slice(counts, info.geometry_count))?;
            build(info, BuildRanges::Indirect { address, stride, max_primitives })
        });
        push(buffer, Command::BuildAccelerationStructures(fallible::try_collect(builds)?));
    }

    // A compacted structure is a clone.
    fn cmd_copy_acceleration_structure(buffer: vk::CommandBuffer, info: *const vk::CopyAccelerationStructureInfoKHR<'_>) {
        let (src, dst) = (share::<AccelerationStructure>((*info).src), share::<AccelerationStructure>((*info).dst));
        push(buffer, Command::CopyAccelerationStructure { src, dst });
    }

    fn cmd_copy_acceleration_structure_to_memory(
        buffer: vk::CommandBuffer,
        info: *const vk::CopyAccelerationStructureToMemoryInfoKHR<'_>,
    ) {
        let (src, dst) = (share::<AccelerationStructure>((*info).src), (*info).dst.device_address);
        push(buffer, Command::CopyAccelerationStructureToMemory { src, dst });
    }

    fn cmd_copy_memory_to_acceleration_structure(
        buffer: vk::CommandBuffer,
        info: *const vk::CopyMemoryToAccelerationStructureInfoKHR<'_>,
    ) {
        let (src, dst) = ((*info).src.device_address, share::<AccelerationStructure>((*info).dst));
        push(buffer, Command::CopyMemoryToAccelerationStructure { src, dst });
    }

    fn cmd_write_acceleration_structures_properties(
        buffer: vk::CommandBuffer,
        count: u32,
        structures: *const vk::AccelerationStructureKHR,
        _query_type: vk::QueryType,
        pool: vk::QueryPool,
        first: u32,
    ) {
        let structures = slice(structures, count).iter().map(|one| share::<AccelerationStructure>(*one));
        let (structures, pool) = (fallible::collect(structures)?, share::<QueryPool>(pool));
        let write = WriteAccelerationStructuresProperties { structures, pool, first };
        push(buffer, Command::WriteAccelerationStructuresProperties(Box::new(write)));
    }

    fn build_acceleration_structures(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        count: u32,
        infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>,
        ranges: *const *const vk::AccelerationStructureBuildRangeInfoKHR,
    ) -> VkResult {
        let builds = builds(count, infos, ranges)?;
        on_host((dispatchable::<Device>(device), "vkBuildAccelerationStructuresKHR"), deferred, |access| {
            access.build_all(&IdleBuilders::default(), &builds)?.next().map_or(Ok(()), Err)
        })
    }

    fn copy_acceleration_structure(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyAccelerationStructureInfoKHR<'_>,
    ) -> VkResult {
        let (src, dst) = (share::<AccelerationStructure>((*info).src), share::<AccelerationStructure>((*info).dst));
        on_host((dispatchable::<Device>(device), "vkCopyAccelerationStructureKHR"), deferred, |access| access.copy(&src, &dst))
    }

    fn copy_acceleration_structure_to_memory(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyAccelerationStructureToMemoryInfoKHR<'_>,
    ) -> VkResult {
        let (src, dst) = (share::<AccelerationStructure>((*info).src), (*info).dst.host_address as u64);
        on_host((dispatchable::<Device>(device), "vkCopyAccelerationStructureToMemoryKHR"), deferred, |access| {
            access.serialize(&src, dst)
        })
    }

    fn copy_memory_to_acceleration_structure(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyMemoryToAccelerationStructureInfoKHR<'_>,
    ) -> VkResult {
        let (src, dst) = ((*info).src.host_address as u64, share::<AccelerationStructure>((*info).dst));
        on_host((dispatchable::<Device>(device), "vkCopyMemoryToAccelerationStructureKHR"), deferred, |access| {
            access.deserialize(src, &dst)
        })
    }

    fn write_acceleration_structures_properties(
        device: vk::Device,
        count: u32,
        structures: *const vk::AccelerationStructureKHR,
        query_type: vk::QueryType,
        data_size: usize,
        data: *mut c_void,
        stride: usize,
    ) -> VkResult {
        let structures = slice(structures, count).iter().map(|one| share::<AccelerationStructure>(*one));
        let command = (&**dispatchable::<Device>(device), "vkWriteAccelerationStructuresPropertiesKHR");
        write_properties(command, structures, query_type, Values { data, size: data_size, stride })
    }
}
