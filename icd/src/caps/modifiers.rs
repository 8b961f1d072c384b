//! DRM format modifiers (VK_EXT_image_drm_format_modifier): how the texels of images lie that are shared with other drivers and devices. There is one, rows of texels
//! that follow each other; a memory plane is a plane of the format.

use ash::vk;

/// `DRM_FORMAT_MOD_LINEAR` of `drm_fourcc.h`.
pub const LINEAR: u64 = 0;

/// What the linear modifier offers of a format, in flags of either width, and its memory planes.
pub type Offer = (vk::FormatFeatureFlags, vk::FormatFeatureFlags2, u32);

/// Fills the list of the modifiers of a format of which there is that, or nothing: how many there are, or those that there is room for.
macro_rules! fill_list {
    ($($(#[$note:meta])* $name:ident: $list:ident of $element:ident, $features:tt;)*) => {$(
        $(#[$note])*
        ///
        /// # Safety
        /// `list` has as many elements as it says, or none.
        pub unsafe fn $name(offer: Option<Offer>, list: &mut vk::$list<'_>) {
            let told = offer.map(|offer| vk::$element {
                drm_format_modifier: LINEAR,
                drm_format_modifier_plane_count: offer.2,
                drm_format_modifier_tiling_features: offer.$features,
            });
            let (room, array) = (list.drm_format_modifier_count, list.p_drm_format_modifier_properties);
            // SAFETY: the caller's promise.
            list.drm_format_modifier_count = unsafe { fill(told, room, array) };
        }
    )*};
}

fill_list! {
    /// The list with features of 32 bits.
    fill_list: DrmFormatModifierPropertiesListEXT of DrmFormatModifierPropertiesEXT, 0;
    /// The same with features of 64 bits.
    fill_list2: DrmFormatModifierPropertiesList2EXT of DrmFormatModifierProperties2EXT, 1;
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
