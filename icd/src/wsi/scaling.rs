//! Placement and scaling of pictures in windows of another size
//! (VkSwapchainPresentScalingCreateInfoKHR).

#![forbid(unsafe_code)]

use ash::vk;

/// All scaling behaviours.
pub const SUPPORTED_SCALING: vk::PresentScalingFlagsEXT = vk::PresentScalingFlagsEXT::from_raw(
    vk::PresentScalingFlagsEXT::ONE_TO_ONE.as_raw()
        | vk::PresentScalingFlagsEXT::ASPECT_RATIO_STRETCH.as_raw()
        | vk::PresentScalingFlagsEXT::STRETCH.as_raw(),
);
/// All gravities.
pub const SUPPORTED_GRAVITY: vk::PresentGravityFlagsEXT = vk::PresentGravityFlagsEXT::from_raw(
    vk::PresentGravityFlagsEXT::MIN.as_raw()
        | vk::PresentGravityFlagsEXT::MAX.as_raw()
        | vk::PresentGravityFlagsEXT::CENTERED.as_raw(),
);

/// A swapchain's scaling for windows of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaling {
    behavior: vk::PresentScalingFlagsEXT,
    /// Gravity in x and y.
    gravity: [vk::PresentGravityFlagsEXT; 2],
}

/// A rectangle of a window, which may lie partly outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Upper left corner.
    pub at: [i32; 2],
    /// Extent.
    pub extent: vk::Extent2D,
}

impl Scaling {
    /// Reads the scaling that an application requests; `None` if it leaves it to the platform.
    ///
    /// # Errors
    /// A field has more than one bit, or one that does not exist.
    pub fn new(info: &vk::SwapchainPresentScalingCreateInfoEXT<'_>) -> Result<Option<Scaling>, vk::Result> {
        let one = |bits: u32, of: u32| bits & !of == 0 && bits.count_ones() < 2;
        let gravity = [info.present_gravity_x, info.present_gravity_y];
        let good = one(info.scaling_behavior.as_raw(), SUPPORTED_SCALING.as_raw())
            && gravity.iter().all(|g| one(g.as_raw(), SUPPORTED_GRAVITY.as_raw()));
        if !good {
            return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
        }
        Ok((!info.scaling_behavior.is_empty()).then_some(Scaling { behavior: info.scaling_behavior, gravity }))
    }

    /// Returns the place of a picture in a window. The rest of the window stays unchanged.
    pub fn placement(&self, picture: vk::Extent2D, window: vk::Extent2D) -> Placement {
        let extent = match self.behavior {
            vk::PresentScalingFlagsEXT::STRETCH => window,
            vk::PresentScalingFlagsEXT::ASPECT_RATIO_STRETCH => fitted(picture, window),
            _ => picture,
        };
        let sizes = [(extent.width, window.width), (extent.height, window.height)];
        let at = std::array::from_fn(|axis| {
            let (own, all) = sizes[axis];
            let room = all as i32 - own as i32;
            match self.gravity[axis] {
                vk::PresentGravityFlagsEXT::MAX => room,
                vk::PresentGravityFlagsEXT::CENTERED => room.div_euclid(2),
                // The default of X11 is the upper left corner.
                _ => 0,
            }
        });
        Placement { at, extent }
    }
}

/// Returns the largest extent inside of the window with the picture's aspect.
fn fitted(picture: vk::Extent2D, window: vk::Extent2D) -> vk::Extent2D {
    let [w, h] = [picture.width, picture.height].map(u64::from);
    let [all_w, all_h] = [window.width, window.height].map(u64::from);
    let part = |of: u64, by: u64| ((of + by / 2) / by).max(1) as u32;
    if all_w * h <= all_h * w {
        vk::Extent2D { width: window.width, height: part(h * all_w, w).min(window.height) }
    } else {
        vk::Extent2D { width: part(w * all_h, h).min(window.width), height: window.height }
    }
}

/// Returns the index in `0..from` that is nearest to the position of index `i` in `0..to`.
pub fn nearest(i: u32, to: u32, from: u32) -> u32 {
    ((2 * u64::from(i) + 1) * u64::from(from) / (2 * u64::from(to))) as u32
}

/// Stretches a row of pixels of four bytes to another length.
pub fn stretch(row: &[u8], out: &mut [u8]) {
    let (row, out) = (row.as_chunks::<4>().0, out.as_chunks_mut::<4>().0);
    let (from, to) = (row.len() as u32, out.len() as u32);
    (0..).zip(out).for_each(|(i, pixel)| *pixel = row[nearest(i, to, from) as usize]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::{PresentGravityFlagsEXT as Gravity, PresentScalingFlagsEXT as Behavior};

    fn extent(width: u32, height: u32) -> vk::Extent2D {
        vk::Extent2D { width, height }
    }

    fn scaling(behavior: Behavior, x: Gravity, y: Gravity) -> Result<Option<Scaling>, vk::Result> {
        let info = vk::SwapchainPresentScalingCreateInfoEXT::default().scaling_behavior(behavior);
        Scaling::new(&info.present_gravity_x(x).present_gravity_y(y))
    }

    #[test]
    fn pictures_are_placed_by_scaling_and_gravity() {
        let place = |behavior, x, y, picture, window| {
            let Placement { at, extent } = scaling(behavior, x, y).unwrap().unwrap().placement(picture, window);
            (at, [extent.width, extent.height])
        };
        let (none, small, window) = (Gravity::empty(), extent(30, 20), extent(100, 100));
        let all = |gravity, picture| place(Behavior::ONE_TO_ONE, gravity, gravity, picture, window);
        assert_eq!(all(none, small), ([0, 0], [30, 20]));
        assert_eq!(all(Gravity::MIN, small), ([0, 0], [30, 20]));
        assert_eq!(all(Gravity::MAX, small), ([70, 80], [30, 20]));
        assert_eq!(all(Gravity::CENTERED, extent(31, 120)), ([34, -10], [31, 120]));
        assert_eq!(place(Behavior::STRETCH, Gravity::MAX, Gravity::MAX, small, window), ([0, 0], [100, 100]));
        let fit =
            |picture, window| place(Behavior::ASPECT_RATIO_STRETCH, Gravity::CENTERED, Gravity::MAX, picture, window);
        assert_eq!(fit(small, window), ([0, 33], [100, 67]));
        assert_eq!(fit(extent(200, 400), window), ([25, 0], [50, 100]));
        assert_eq!(fit(extent(1, 16384), extent(3, 5)), ([1, 0], [1, 5]));
    }

    #[test]
    fn undefined_and_combined_bits_are_refused() {
        let none = Gravity::empty();
        assert_eq!(scaling(Behavior::empty(), none, none), Ok(None));
        let refused = Err(vk::Result::ERROR_INITIALIZATION_FAILED);
        assert_eq!(scaling(Behavior::STRETCH | Behavior::ONE_TO_ONE, none, none), refused);
        assert_eq!(scaling(Behavior::from_raw(8), none, none), refused);
        assert_eq!(scaling(Behavior::STRETCH, SUPPORTED_GRAVITY, none), refused);
    }

    #[test]
    fn rows_are_stretched_to_another_length() {
        let row: Vec<u8> = (0..4u8).flat_map(|i| [i; 4]).collect();
        let stretched = |count: usize| {
            let mut out = vec![9; 4 * count];
            stretch(&row, &mut out);
            out.chunks(4).map(|pixel| pixel[0]).collect::<Vec<_>>()
        };
        assert_eq!(stretched(8), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(stretched(2), [1, 3]);
        assert_eq!(stretched(1), [2]);
        assert_eq!(stretched(4), [0, 1, 2, 3]);
    }
}
