//! Spheres and linear swept spheres of acceleration structures
//! (VK_NV_ray_tracing_linear_swept_spheres).

use super::micromap_input::index_type;
use crate::caps::formats::{is_structure_radius, is_structure_vertex};
use crate::caps::newer;
use crate::command::structures::{GeometryAddresses, SphereAddresses};
use crate::ffi::pointer::find;
use crate::object::image::format_of;
use ash::vk;
use core::ffi::c_void;
use rays::{Caps, IndexType, Indexing};

/// Returns addresses if the formats and the type of the indices are supported.
fn addresses(
    (vertex_format, vertices, stride): (vk::Format, u64, u64),
    (radius_format, radii, radius_stride): (vk::Format, u64, u64),
    (ty, indices, index_stride): (vk::IndexType, u64, u64),
) -> Result<SphereAddresses, vk::Result> {
    if !is_structure_vertex(vertex_format) || !is_structure_radius(radius_format) {
        return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
    }
    Ok(SphereAddresses {
        vertices,
        stride,
        format: format_of(vertex_format)?,
        radii,
        radius_stride,
        radius_format: format_of(radius_format)?,
        indices,
        index_type: index_type(ty).ok_or(vk::Result::ERROR_FEATURE_NOT_PRESENT)?,
        index_stride,
    })
}

/// Decodes the spheres in the chain of a geometry.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn geometry_spheres(p_next: *const c_void) -> Result<GeometryAddresses, vk::Result> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let data = unsafe { find::<newer::AccelerationStructureGeometrySpheresDataNV<'_>>(p_next) };
    let data = data.ok_or(vk::Result::ERROR_UNKNOWN)?;
    Ok(GeometryAddresses::Spheres(addresses(
        (data.vertex_format, data.vertex_data, data.vertex_stride),
        (data.radius_format, data.radius_data, data.radius_stride),
        (data.index_type, data.index_data, data.index_stride),
    )?))
}

/// Decodes the linear swept spheres in the chain of a geometry.
///
/// # Safety
/// `p_next` is a valid chain.
pub unsafe fn geometry_swept_spheres(p_next: *const c_void) -> Result<GeometryAddresses, vk::Result> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let data = unsafe { find::<newer::AccelerationStructureGeometryLinearSweptSpheresDataNV<'_>>(p_next) };
    let data = data.ok_or(vk::Result::ERROR_UNKNOWN)?;
    let ends = addresses(
        (data.vertex_format, data.vertex_data, data.vertex_stride),
        (data.radius_format, data.radius_data, data.radius_stride),
        (data.index_type, data.index_data, data.index_stride),
    )?;
    let indexing = match data.indexing_mode {
        newer::RAY_TRACING_LSS_INDEXING_MODE_LIST_NV => Indexing::List,
        // Successive ends are those of indices.
        newer::RAY_TRACING_LSS_INDEXING_MODE_SUCCESSIVE_NV if ends.index_type != IndexType::None => {
            Indexing::Successive
        }
        _ => return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT),
    };
    let caps = match data.end_caps_mode {
        newer::RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_NONE_NV => Caps::None,
        newer::RAY_TRACING_LSS_PRIMITIVE_END_CAPS_MODE_CHAINED_NV => Caps::Chained,
        _ => return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT),
    };
    Ok(GeometryAddresses::SweptSpheres { ends, indexing, caps })
}
