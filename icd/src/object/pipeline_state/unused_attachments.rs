//! Attachments of dynamic rendering that a pipeline does not use, because it has no formats for
//! them (VK_EXT_dynamic_rendering_unused_attachments).

use super::create_info::RenderingFormats;
use ash::vk;
use base::limits::MAX_COLOR_ATTACHMENTS;
use base::pixel::{NO_LOCATION, PixelState};

/// Attachments whose format is VK_FORMAT_UNDEFINED; with a render pass there are none.
#[derive(Clone, Copy, Default)]
pub struct UnusedAttachments {
    colors: [bool; MAX_COLOR_ATTACHMENTS],
    depth: bool,
    stencil: bool,
}

impl UnusedAttachments {
    /// Finds attachments without a format, and colour attachments behind the end of the list.
    pub fn new(formats: &RenderingFormats<'_>) -> UnusedAttachments {
        let undefined = |format: vk::Format| format == vk::Format::UNDEFINED;
        UnusedAttachments {
            colors: core::array::from_fn(|i| formats.colors.get(i).is_none_or(|format| undefined(*format))),
            depth: undefined(formats.depth),
            stencil: undefined(formats.stencil),
        }
    }

    /// Disables tests and writes of the unused attachments.
    pub fn disable(&self, pixel: &mut PixelState) {
        for (location, unused) in pixel.locations.iter_mut().zip(self.colors) {
            *location = if unused { NO_LOCATION } else { *location };
        }
        pixel.depth_test &= !self.depth;
        pixel.depth_bounds_test &= !self.depth;
        pixel.stencil_test &= !self.stencil;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachments_without_a_format_are_disabled() {
        let on = PixelState { depth_test: true, depth_bounds_test: true, stencil_test: true, ..PixelState::default() };
        let left = |formats: &RenderingFormats<'_>| {
            let mut pixel = on;
            UnusedAttachments::new(formats).disable(&mut pixel);
            (pixel.locations, [pixel.depth_test, pixel.depth_bounds_test, pixel.stencil_test])
        };
        let colors = [vk::Format::R8_UNORM, vk::Format::UNDEFINED, vk::Format::R8_UNORM];
        let mut want = [NO_LOCATION; MAX_COLOR_ATTACHMENTS];
        (want[0], want[2]) = (0, 2);
        let depth = vk::Format::D16_UNORM;
        let formats = RenderingFormats { colors: &colors, depth, ..RenderingFormats::default() };
        assert_eq!(left(&formats), (want, [true, true, false]));
        let formats = RenderingFormats { colors: &colors, stencil: vk::Format::S8_UINT, ..RenderingFormats::default() };
        assert_eq!(left(&formats), (want, [false, false, true]));
        let mut pixel = on;
        UnusedAttachments::default().disable(&mut pixel);
        assert_eq!(pixel, on, "a render pass says what there is");
    }
}
