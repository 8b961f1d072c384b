//! DRM format modifiers (VK_EXT_image_drm_format_modifier): the layout of images that are shared
//! with other drivers and devices.
//!
//! There is one modifier, for consecutive rows of texels; a memory plane is a plane of the format.

use ash::vk;

/// `DRM_FORMAT_MOD_LINEAR` of `drm_fourcc.h`.
pub const LINEAR: u64 = 0;

/// Features of a format with the linear modifier, in flags of either width, and its number of
/// memory planes.
pub type ModifierFeatures = (vk::FormatFeatureFlags, vk::FormatFeatureFlags2, u32);

/// Defines a function that fills the list of a format's modifiers: their number, or as many as the
/// array has space for.
macro_rules! fill_list {
    ($($(#[$note:meta])* $name:ident: $list:ident of $element:ident, $features:tt;)*) => {$(
        $(#[$note])*
        ///
        /// # Safety
        /// The array of `list` has as many elements as its count, or is null.
        pub unsafe fn $name(modifier: Option<ModifierFeatures>, list: &mut vk::$list<'_>) {
            let element = modifier.map(|modifier| vk::$element {
                drm_format_modifier: LINEAR,
                drm_format_modifier_plane_count: modifier.2,
                drm_format_modifier_tiling_features: modifier.$features,
            });
            let (capacity, array) = (list.drm_format_modifier_count, list.p_drm_format_modifier_properties);
            // SAFETY: `array` has `capacity` elements or is null, as the `# Safety` section
            // demands.
            list.drm_format_modifier_count = unsafe { fill(element, capacity, array) };
        }
    )*};
}

fill_list! {
    /// Fills the list with features of 32 bits.
    fill_list: DrmFormatModifierPropertiesListEXT of DrmFormatModifierPropertiesEXT, 0;
    /// Fills the list with features of 64 bits.
    fill_list2: DrmFormatModifierPropertiesList2EXT of DrmFormatModifierProperties2EXT, 1;
}

/// Writes the element if it exists and the array has space for it; without an array only the number
/// is returned.
///
/// # Safety
/// `array` has `capacity` elements or is null.
unsafe fn fill<T>(element: Option<T>, capacity: u32, array: *mut T) -> u32 {
    match element {
        None => 0,
        Some(_) if array.is_null() => 1,
        Some(_) if capacity == 0 => 0,
        Some(one) => {
            // SAFETY: `array` is not null and has at least one element, as `capacity` is not 0.
            unsafe { array.write(one) };
            1
        }
    }
}
