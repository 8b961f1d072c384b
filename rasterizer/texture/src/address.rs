//! Texel coordinates: the integer texels and the weight of a coordinate (specification: "Texel
//! Coordinate Systems", "Wrapping Operation").

#![forbid(unsafe_code)]

/// Bound to which coordinates are clamped, so that the conversion to integers is exact in every
/// lane (NaN becomes the lower bound). So far outside, only the wrapped place matters, and a f32
/// has no fraction.
pub const FAR: f32 = 1e9;

/// Index of a texel outside the image in border mode.
pub const BORDER: i32 = -1;

/// `VkSamplerAddressMode` values.
pub mod mode {
    #![allow(missing_docs, reason = "the specification's names")]
    pub const REPEAT: u32 = 0;
    pub const MIRRORED_REPEAT: u32 = 1;
    pub const CLAMP_TO_EDGE: u32 = 2;
    pub const CLAMP_TO_BORDER: u32 = 3;
    pub const MIRROR_CLAMP_TO_EDGE: u32 = 4;
}

/// Returns `n` if it is not negative, and `-(1 + n)` otherwise.
#[inline(always)]
fn mirror(n: i32) -> i32 {
    n ^ (n >> 31)
}

/// Wraps a texel index into `0..size`, or returns [`BORDER`]. `size` is positive and below 2^30.
#[inline(always)]
pub fn wrap(i: i32, size: i32, address_mode: u32) -> i32 {
    if (i as u32) < size as u32 {
        return i;
    }
    match address_mode {
        mode::REPEAT => i.rem_euclid(size),
        mode::MIRRORED_REPEAT => (size - 1) - mirror(i.rem_euclid(2 * size) - size),
        mode::CLAMP_TO_BORDER => BORDER,
        mode::MIRROR_CLAMP_TO_EDGE => mirror(i).min(size - 1),
        _ => i.clamp(0, size - 1),
    }
}

/// The footprint along one axis.
#[derive(Clone, Copy, Debug, Default)]
pub struct AxisTaps {
    /// Indices of the texels, already wrapped; both are equal for nearest filtering.
    pub at: [i32; 2],
    /// Weight of the second texel, from 0 to 1.
    pub weight: f32,
}

/// Returns the floor, and its saturated integer (NaN gives 0).
#[inline(always)]
fn floor(x: f32) -> (f32, i32) {
    let f = x.floor();
    (f, f as i32)
}

/// Returns the single texel of nearest filtering at texel coordinate `u`.
#[inline(always)]
pub fn nearest(u: f32, offset: i32, size: u32, address_mode: u32) -> AxisTaps {
    let i = wrap(floor(u).1.saturating_add(offset), size as i32, address_mode);
    AxisTaps { at: [i, i], weight: 0.0 }
}

/// Returns the two texels of linear filtering at texel coordinate `u`.
#[inline(always)]
pub fn linear(u: f32, offset: i32, size: u32, address_mode: u32) -> AxisTaps {
    let u = u - 0.5;
    let (f, i) = floor(u);
    let i = i.saturating_add(offset);
    let weight = u - f;
    // Infinite coordinates have no fraction. The fraction of a coordinate just below a texel's can
    // round to 1, which selects the second texel only.
    let weight = if weight <= 1.0 { weight } else { 0.0 };
    let size = size as i32;
    AxisTaps { at: [wrap(i, size, address_mode), wrap(i.saturating_add(1), size, address_mode)], weight }
}

/// Returns the layer of an array coordinate, rounded to nearest even and clamped.
#[inline(always)]
pub fn layer(coordinate: f32, layers: u32) -> u32 {
    let last = layers.max(1) - 1;
    (coordinate.max(0.0).min(last as f32).round_ties_even()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping() {
        let all = |m: u32, size: i32| (-7..8).map(|i| wrap(i, size, m)).collect::<Vec<_>>();
        assert_eq!(all(mode::REPEAT, 3), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]);
        assert_eq!(all(mode::MIRRORED_REPEAT, 3), [0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert_eq!(all(mode::CLAMP_TO_EDGE, 3), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!(all(mode::CLAMP_TO_BORDER, 3), [-1, -1, -1, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1, -1]);
        assert_eq!(all(mode::MIRROR_CLAMP_TO_EDGE, 3), [2, 2, 2, 2, 2, 1, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
        for m in 0..6 {
            for i in [i32::MIN, i32::MAX] {
                assert!((-1..5).contains(&wrap(i, 5, m)));
            }
        }
    }

    #[test]
    fn a_coordinate_just_below_a_centre_is_the_centre() {
        let below = 0.5f32.next_down();
        let taps = linear(below, 0, 55, mode::REPEAT);
        assert_eq!((taps.at, taps.weight), ([54, 0], 1.0));
        assert_eq!(linear(0.5, 0, 55, mode::REPEAT).at, [0, 1]);
    }

    #[test]
    fn extreme_coordinates_stay_inside() {
        for u in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
            for m in 0..5 {
                for taps in [nearest(u, 7, 4, m), linear(u, -8, 4, m)] {
                    assert!(taps.at.iter().all(|i| (-1..4).contains(i)) && (0.0..=1.0).contains(&taps.weight));
                }
            }
            assert!(layer(u, 3) < 3);
        }
        assert_eq!([layer(0.5, 9), layer(1.5, 9), layer(2.51, 9)], [0, 2, 3]);
    }
}
