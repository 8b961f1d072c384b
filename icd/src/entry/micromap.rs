//! Opacity micromaps (VK_EXT_opacity_micromap): creation, recording, and calls on the host.
//!
//! A micromap is a structure with a handle of another type, so its commands are those of
//! acceleration structures.

use super::acceleration_structure::{Values, compatibility_of, created, on_host, replayed_address, write_properties};
use super::memory_of;
use super::micromap_input::{count_of, structure, usages};
use super::recording::push;
use crate::command::structures::{BuildGeometry, BuildRanges, GeometryAddresses, StructureBuild};
use crate::command::{Command, WriteAccelerationStructuresProperties};
use crate::device::Device;
use crate::device::idle_builders::IdleBuilders;
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, share};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::acceleration_structure::{AccelerationStructure, Micromap};
use crate::object::buffer::Buffer;
use crate::object::query::QueryPool;
use ash::vk::{self, Handle};
use core::ffi::c_void;
use rays::{Contents, build_sizes, micromap_size};
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

const MICROMAPS: Requirement = ext("VK_EXT_opacity_micromap");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_micromap as vk::PFN_vkCreateMicromapEXT, vkCreateMicromapEXT: MICROMAPS),
    row!(Device, destroy_micromap as vk::PFN_vkDestroyMicromapEXT, vkDestroyMicromapEXT: MICROMAPS),
    row!(Device, get_micromap_build_sizes as vk::PFN_vkGetMicromapBuildSizesEXT, vkGetMicromapBuildSizesEXT: MICROMAPS),
    row!(Device, get_device_micromap_compatibility as vk::PFN_vkGetDeviceMicromapCompatibilityEXT, vkGetDeviceMicromapCompatibilityEXT: MICROMAPS),
    row!(Device, cmd_build_micromaps as vk::PFN_vkCmdBuildMicromapsEXT, vkCmdBuildMicromapsEXT: MICROMAPS),
    row!(Device, cmd_copy_micromap as vk::PFN_vkCmdCopyMicromapEXT, vkCmdCopyMicromapEXT: MICROMAPS),
    row!(Device, cmd_copy_micromap_to_memory as vk::PFN_vkCmdCopyMicromapToMemoryEXT, vkCmdCopyMicromapToMemoryEXT: MICROMAPS),
    row!(Device, cmd_copy_memory_to_micromap as vk::PFN_vkCmdCopyMemoryToMicromapEXT, vkCmdCopyMemoryToMicromapEXT: MICROMAPS),
    row!(Device, cmd_write_micromaps_properties as vk::PFN_vkCmdWriteMicromapsPropertiesEXT, vkCmdWriteMicromapsPropertiesEXT: MICROMAPS),
    row!(Device, build_micromaps as vk::PFN_vkBuildMicromapsEXT, vkBuildMicromapsEXT: MICROMAPS),
    row!(Device, copy_micromap as vk::PFN_vkCopyMicromapEXT, vkCopyMicromapEXT: MICROMAPS),
    row!(Device, copy_micromap_to_memory as vk::PFN_vkCopyMicromapToMemoryEXT, vkCopyMicromapToMemoryEXT: MICROMAPS),
    row!(Device, copy_memory_to_micromap as vk::PFN_vkCopyMemoryToMicromapEXT, vkCopyMemoryToMicromapEXT: MICROMAPS),
    row!(Device, write_micromaps_properties as vk::PFN_vkWriteMicromapsPropertiesEXT, vkWriteMicromapsPropertiesEXT: MICROMAPS),
];

/// Decodes a build.
///
/// # Safety
/// `info` is valid with its pointers and handles.
unsafe fn build(info: &vk::MicromapBuildInfoEXT<'_>) -> Result<StructureBuild, vk::Result> {
    // SAFETY: `info` is valid with its pointers and handles, and both kinds of addresses are 64
    // bits.
    let (usages, target, triangles, states) = unsafe {
        let usages = usages(info.usage_counts_count, info.p_usage_counts, info.pp_usage_counts);
        (usages, structure(info.dst_micromap), info.triangle_array.device_address, info.data.device_address)
    };
    let (stride, count) = (info.triangle_array_stride, count_of(usages));
    let data = GeometryAddresses::Micromap { triangles, stride, count, states };
    Ok(StructureBuild {
        contents: Contents::Micromap,
        flags: vk::BuildAccelerationStructureFlagsKHR::empty(),
        source: None,
        target,
        geometries: fallible::collect([BuildGeometry { data, micromap: None, opaque: false }].into_iter())?,
        ranges: BuildRanges::Direct(Vec::new()),
    })
}

/// Decodes the builds of a command.
///
/// # Safety
/// The pointer is valid, with handles.
unsafe fn builds(count: u32, infos: *const vk::MicromapBuildInfoEXT<'_>) -> Result<Vec<StructureBuild>, vk::Result> {
    // SAFETY: the pointer is valid, with handles, as the `# Safety` section demands.
    unsafe { fallible::try_collect(slice(infos, count).iter().map(|info| build(info))) }
}

shims! {
    fn create_micromap(
        device: vk::Device,
        info: *const vk::MicromapCreateInfoEXT<'_>,
        allocator: Allocator<'_>,
        micromap: *mut vk::MicromapEXT,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, info) = (dispatchable::<Device>(device), &*info);
        if info.ty != vk::MicromapTypeEXT::OPACITY_MICROMAP {
            return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        }
        let replayed = replayed_address(info.device_address, info.p_next);
        let made = AccelerationStructure::new(share::<Buffer>(info.buffer), info.offset, info.size, replayed);
        let object = |structure| Arc::new(Micromap { structure });
        *micromap = created(device, memory, ("vkCreateMicromapEXT", made), object)?;
        Ok(())
    }

    fn destroy_micromap(device: vk::Device, micromap: vk::MicromapEXT, allocator: Allocator<'_>) {
        if !micromap.is_null() {
            dispatchable::<Device>(device).live_structures.remove(&structure(micromap));
        }
        handle::destroy::<Micromap>(micromap, memory_of(device, allocator));
    }

    fn get_micromap_build_sizes(
        _device: vk::Device,
        _build_type: vk::AccelerationStructureBuildTypeKHR,
        info: *const vk::MicromapBuildInfoEXT<'_>,
        sizes: *mut vk::MicromapBuildSizesInfoEXT<'_>,
    ) {
        let (info, sizes) = (&*info, &mut *sizes);
        sizes.micromap_size = micromap_size(usages(info.usage_counts_count, info.p_usage_counts, info.pp_usage_counts));
        sizes.build_scratch_size = build_sizes(Contents::Micromap, 0).build_scratch;
        // Structures refer to micromaps.
        sizes.discardable = vk::FALSE;
    }

    fn get_device_micromap_compatibility(
        _device: vk::Device,
        info: *const vk::MicromapVersionInfoEXT<'_>,
        compatibility: *mut vk::AccelerationStructureCompatibilityKHR,
    ) {
        *compatibility = compatibility_of(&*(*info).p_version_data);
    }

    fn cmd_build_micromaps(buffer: vk::CommandBuffer, count: u32, infos: *const vk::MicromapBuildInfoEXT<'_>) {
        push(buffer, Command::BuildAccelerationStructures(builds(count, infos)?));
    }

    // A compacted micromap is a clone.
    fn cmd_copy_micromap(buffer: vk::CommandBuffer, info: *const vk::CopyMicromapInfoEXT<'_>) {
        let (src, dst) = (structure((*info).src), structure((*info).dst));
        push(buffer, Command::CopyAccelerationStructure { src, dst });
    }

    fn cmd_copy_micromap_to_memory(buffer: vk::CommandBuffer, info: *const vk::CopyMicromapToMemoryInfoEXT<'_>) {
        let (src, dst) = (structure((*info).src), (*info).dst.device_address);
        push(buffer, Command::CopyAccelerationStructureToMemory { src, dst });
    }

    fn cmd_copy_memory_to_micromap(buffer: vk::CommandBuffer, info: *const vk::CopyMemoryToMicromapInfoEXT<'_>) {
        let (src, dst) = ((*info).src.device_address, structure((*info).dst));
        push(buffer, Command::CopyMemoryToAccelerationStructure { src, dst });
    }

    fn cmd_write_micromaps_properties(
        buffer: vk::CommandBuffer,
        count: u32,
        micromaps: *const vk::MicromapEXT,
        _query_type: vk::QueryType,
        pool: vk::QueryPool,
        first: u32,
    ) {
        let structures = fallible::collect(slice(micromaps, count).iter().map(|one| structure(*one)))?;
        let write = WriteAccelerationStructuresProperties { structures, pool: share::<QueryPool>(pool), first };
        push(buffer, Command::WriteAccelerationStructuresProperties(Box::new(write)));
    }

    fn build_micromaps(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        count: u32,
        infos: *const vk::MicromapBuildInfoEXT<'_>,
    ) -> VkResult {
        let builds = builds(count, infos)?;
        on_host((dispatchable::<Device>(device), "vkBuildMicromapsEXT"), deferred, |access| {
            access.build_all(&IdleBuilders::default(), &builds)?.next().map_or(Ok(()), Err)
        })
    }

    fn copy_micromap(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyMicromapInfoEXT<'_>,
    ) -> VkResult {
        let (src, dst) = (structure((*info).src), structure((*info).dst));
        on_host((dispatchable::<Device>(device), "vkCopyMicromapEXT"), deferred, |access| access.copy(&src, &dst))
    }

    fn copy_micromap_to_memory(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyMicromapToMemoryInfoEXT<'_>,
    ) -> VkResult {
        let (src, dst) = (structure((*info).src), (*info).dst.host_address as u64);
        on_host((dispatchable::<Device>(device), "vkCopyMicromapToMemoryEXT"), deferred, |access| access.serialize(&src, dst))
    }

    fn copy_memory_to_micromap(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        info: *const vk::CopyMemoryToMicromapInfoEXT<'_>,
    ) -> VkResult {
        let (src, dst) = ((*info).src.host_address as u64, structure((*info).dst));
        on_host((dispatchable::<Device>(device), "vkCopyMemoryToMicromapEXT"), deferred, |access| access.deserialize(src, &dst))
    }

    fn write_micromaps_properties(
        device: vk::Device,
        count: u32,
        micromaps: *const vk::MicromapEXT,
        query_type: vk::QueryType,
        data_size: usize,
        data: *mut c_void,
        stride: usize,
    ) -> VkResult {
        let structures = slice(micromaps, count).iter().map(|one| structure(*one));
        let command = (&**dispatchable::<Device>(device), "vkWriteMicromapsPropertiesEXT");
        write_properties(command, structures, query_type, Values { data, size: data_size, stride })
    }
}
