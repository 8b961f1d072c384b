//! Screen coordinates: fixed point with [`SUBPIXEL_BITS`] fraction bits, inside of the guard band.

use base::limits::SUBPIXEL_BITS;

/// One pixel in fixed point.
pub const SUBPIXEL: i32 = 1 << SUBPIXEL_BITS;
/// Least and greatest screen coordinate in pixels. The range is 2^15 wide, so that a tile's edge
/// values stay below 2^31.
pub const GUARD: [f32; 2] = [-8192.0, 24576.0];

/// A projected vertex.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default)]
pub struct ScreenVertex {
    /// Fixed-point x.
    pub x: i32,
    /// Fixed-point y.
    pub y: i32,
    /// Depth after the viewport transform.
    pub z: f32,
    /// Reciprocal of w.
    pub inv_w: f32,
}

impl ScreenVertex {
    /// Returns the words of the fields in order.
    #[inline(always)]
    pub fn words(&self) -> [u32; 4] {
        // SAFETY: the type has four fields of a word each, in which any bits are valid.
        unsafe { core::mem::transmute::<ScreenVertex, [u32; 4]>(*self) }
    }

    /// Makes a vertex of the words of the fields in order.
    #[inline(always)]
    pub fn from_words(words: [u32; 4]) -> ScreenVertex {
        // SAFETY: the type has four fields of a word each, in which any bits are valid.
        unsafe { core::mem::transmute::<[u32; 4], ScreenVertex>(words) }
    }
}

/// Returns the common part of two rectangles x0, y0, x1, y1.
pub fn intersect(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]
}

/// Returns the nearest fixed-point value, with ties to even; `c` must be inside the guard band.
#[inline(always)]
pub fn fixed(c: f32) -> i32 {
    // The product is exact and at most 2^23 in magnitude.
    let nearest = base::round::to_integral(c * SUBPIXEL as f32);
    // SAFETY: the value is a whole number of at most 2^23 in magnitude.
    unsafe { nearest.to_int_unchecked() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_is_nearest_even() {
        let reference = |c: f32| (f64::from(c) * 256.0).round_ties_even() as i32;
        let mut c = GUARD[0];
        while c <= GUARD[1] {
            assert_eq!(fixed(c), reference(c), "{c}");
            c += 0.317_382_8;
        }
        for i in -40_000..40_000 {
            // Steps are eighths of a unit, so that ties occur.
            let c = i as f32 / 2048.0;
            for c in [c, c + 24_000.0, c - 8_000.0] {
                assert_eq!(fixed(c), reference(c), "{c}");
            }
        }
        assert_eq!([fixed(GUARD[0]), fixed(GUARD[1]), fixed(-0.0)], [-8192 * 256, 24_576 * 256, 0]);
    }
}
