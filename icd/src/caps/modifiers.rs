//! DRM format modifiers (VK_EXT_image_drm_format_modifier): how the texels of images lie that are shared with other drivers and devices. There is one, rows of texels
//! that follow each other; a memory plane is a plane of the format.

use super::formats::{flags2, format_properties};
use ash::vk;
use base::format::Format;

/// `DRM_FORMAT_MOD_LINEAR` of `drm_fourcc.h`.
pub const LINEAR: u64 = 0;

/// What the linear modifier offers of a format, in flags of either width, and its memory planes; None: nothing.
fn offer(format: vk::Format) -> Option<(vk::FormatFeatureFlags, vk::FormatFeatureFlags2, u32)> {
    let features = format_properties(format).linear_tiling_features;
    let row = u32::try_from(format.as_raw()).ok().and_then(Format::from_vk).filter(|_| !features.is_empty())?;
    Some((features, flags2(format, features, false), u32::from(row.info().plane_count)))
}

/// Fills the list of a format's modifiers: how many there are, or those that there is room for.
///
/// # Safety
/// `list` has as many elements as it says, or none.
pub unsafe fn fill_list(format: vk::Format, list: &mut vk::DrmFormatModifierPropertiesListEXT<'_>) {
    let told = offer(format).map(|(features, _, planes)| vk::DrmFormatModifierPropertiesEXT {
        drm_format_modifier: LINEAR,
        drm_format_modifier_plane_count: planes,
        drm_format_modifier_tiling_features: features,
    });
    // SAFETY: the caller's promise.
    list.drm_format_modifier_count =
        unsafe { fill(told, list.drm_format_modifier_count, list.p_drm_format_modifier_properties) };
}

/// The same with flags of 64 bits.
///
/// # Safety
/// As for [`fill_list`].
pub unsafe fn fill_list2(format: vk::Format, list: &mut vk::DrmFormatModifierPropertiesList2EXT<'_>) {
    let told = offer(format).map(|(_, features, planes)| vk::DrmFormatModifierProperties2EXT {
        drm_format_modifier: LINEAR,
        drm_format_modifier_plane_count: planes,
        drm_format_modifier_tiling_features: features,
    });
    // SAFETY: the caller's promise.
    list.drm_format_modifier_count =
        unsafe { fill(told, list.drm_format_modifier_count, list.p_drm_format_modifier_properties) };
}

/// Writes the element that there is, if there is room; without an array only their number is given.
///
/// # Safety
/// `array` has `room` elements or is null.
unsafe fn fill<T>(told: Option<T>, room: u32, array: *mut T) -> u32 {
    match told {
        None => 0,
        Some(_) if array.is_null() => 1,
        Some(_) if room == 0 => 0,
        Some(one) => {
            // SAFETY: the caller's promise.
            unsafe { array.write(one) };
            1
        }
    }
}
