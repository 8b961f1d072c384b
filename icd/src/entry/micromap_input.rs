//! Input that acceleration structures and micromaps have in common: types of indices, micromaps of
//! triangles, and usages.

use crate::caps::newer;
use crate::command::structures::{GeometryAddresses, GeometryMicromap};
use crate::ffi::handle::{get, optional};
use crate::ffi::pointer::{find, slice};
use crate::object::acceleration_structure::{AccelerationStructure, Micromap};
use ash::vk::{self, Handle};
use core::ffi::c_void;
use rays::{IndexType, MicromapUsage};
use std::sync::Arc;

/// Returns the type of indices; `None` for one that there is not.
pub fn index_type(ty: vk::IndexType) -> Option<IndexType> {
    match ty {
        vk::IndexType::NONE_KHR => Some(IndexType::None),
        vk::IndexType::UINT8_KHR => Some(IndexType::Uint8),
        vk::IndexType::UINT16 => Some(IndexType::Uint16),
        vk::IndexType::UINT32 => Some(IndexType::Uint32),
        _ => None,
    }
}

/// Returns the structure of a micromap.
///
/// # Safety
/// The handle is live.
pub unsafe fn structure(micromap: vk::MicromapEXT) -> Arc<AccelerationStructure> {
    // SAFETY: the handle is live, as the `# Safety` section demands.
    unsafe { get::<Micromap>(micromap) }.structure.clone()
}

/// Decodes the micromap of a geometry's triangles.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn triangles_micromap(p_next: *const c_void) -> Result<Option<GeometryMicromap>, vk::Result> {
    // SAFETY: the chain is valid, so the handle is live or null, and both kinds of addresses are 64
    // bits.
    unsafe {
        if let Some(info) = find::<newer::AccelerationStructureTrianglesOpacityMicromapKHR<'_>>(p_next) {
            return Ok(Some(GeometryMicromap {
                micromap: optional::<AccelerationStructure>(info.micromap),
                indices: info.index_buffer,
                index_type: index_type(info.index_type).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?,
                stride: info.index_stride,
                base: info.base_triangle,
            }));
        }
        let Some(info) = find::<vk::AccelerationStructureTrianglesOpacityMicromapEXT<'_>>(p_next) else {
            return Ok(None);
        };
        let indices = info.index_buffer.device_address;
        let index_type = match indices {
            0 => IndexType::None,
            _ => index_type(info.index_type).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?,
        };
        Ok(Some(GeometryMicromap {
            micromap: (!info.micromap.is_null()).then(|| structure(info.micromap)),
            indices,
            index_type,
            stride: info.index_stride,
            base: info.base_triangle,
        }))
    }
}

/// Returns true if there is a micromap in the chain of a geometry's triangles.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn has_triangles_micromap(p_next: *const c_void) -> bool {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    unsafe {
        find::<vk::AccelerationStructureTrianglesOpacityMicromapEXT<'_>>(p_next).is_some()
            || find::<newer::AccelerationStructureTrianglesOpacityMicromapKHR<'_>>(p_next).is_some()
    }
}

/// Returns the number of triangles of usages.
pub fn count_of(usages: impl Iterator<Item = MicromapUsage>) -> u32 {
    let count = usages.map(|usage| u64::from(usage.count)).sum::<u64>();
    count.min(u32::MAX.into()) as u32
}

/// Returns the usages of the micromap in the chain of a geometry; none if there is no micromap.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn geometry_usages(p_next: *const c_void) -> impl Iterator<Item = MicromapUsage> {
    // SAFETY: the chain is valid, so one of the pointers is null, and the other has the elements.
    unsafe {
        let info = find::<newer::AccelerationStructureGeometryMicromapDataKHR<'_>>(p_next);
        let lists = info.map(|info| usages(info.usage_counts_count, info.p_usage_counts, info.pp_usage_counts));
        lists.into_iter().flatten()
    }
}

/// Decodes the micromap in the chain of a geometry.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn geometry_micromap(p_next: *const c_void) -> Result<GeometryAddresses, vk::Result> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    unsafe {
        let info = find::<newer::AccelerationStructureGeometryMicromapDataKHR<'_>>(p_next);
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        Ok(GeometryAddresses::Micromap {
            triangles: info.triangle_array,
            stride: info.triangle_array_stride,
            count: count_of(geometry_usages(p_next)),
            states: info.data,
        })
    }
}

/// Returns the usages of a micromap.
///
/// # Safety
/// One of the pointers is null, the other has `count` elements.
pub unsafe fn usages(
    count: u32,
    list: *const vk::MicromapUsageEXT,
    pointers: *const *const vk::MicromapUsageEXT,
) -> impl Iterator<Item = MicromapUsage> {
    // SAFETY: one of the pointers is null, the other has `count` elements.
    let (list, pointers) = unsafe { (slice(list, count), slice(pointers, count)) };
    // SAFETY: the elements of the list of pointers are valid.
    let pointed = pointers.iter().filter_map(|one| unsafe { one.as_ref() });
    list.iter().chain(pointed).map(|usage| MicromapUsage {
        count: usage.count,
        level: usage.subdivision_level,
        format: usage.format,
    })
}
