//! Screen coordinates: fixed point with [`SUBPIXEL_BITS`] fraction bits, inside of the guard band.

/// Fraction bits of screen coordinates.
pub const SUBPIXEL_BITS: u32 = 8;
/// One pixel.
pub const SUBPIXEL: i32 = 1 << SUBPIXEL_BITS;
/// Least and greatest screen coordinate, pixels: 2^15 wide, so that a tile's edge values stay below 2^31.
pub const GUARD: [f32; 2] = [-8192.0, 24576.0];

/// A projected vertex.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Fixed point.
    pub x: i32,
    /// Fixed point.
    pub y: i32,
    /// Depth after the viewport transform.
    pub z: f32,
    /// 1/w.
    pub inv_w: f32,
}

impl Screen {
    /// Its words in their order.
    #[inline(always)]
    pub fn words(&self) -> [u32; 4] {
        // SAFETY: four fields of a word each, which may be any.
        unsafe { core::mem::transmute::<Screen, [u32; 4]>(*self) }
    }

    /// Of words in their order.
    #[inline(always)]
    pub fn of_words(words: [u32; 4]) -> Screen {
        // SAFETY: as above.
        unsafe { core::mem::transmute::<[u32; 4], Screen>(words) }
    }
}

/// Common part of two rectangles x0, y0, x1, y1.
pub fn intersect(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]
}

/// Nearest fixed-point value, ties to even; `c` inside the guard band.
#[inline(always)]
pub fn fixed(c: f32) -> i32 {
    // The product is exact and at most 2^23 in magnitude.
    let nearest = base::round::whole(c * SUBPIXEL as f32);
    // SAFETY: as above.
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
            // Eighths of a unit: ties are among them.
            let c = i as f32 / 2048.0;
            for c in [c, c + 24_000.0, c - 8_000.0] {
                assert_eq!(fixed(c), reference(c), "{c}");
            }
        }
        assert_eq!([fixed(GUARD[0]), fixed(GUARD[1]), fixed(-0.0)], [-8192 * 256, 24_576 * 256, 0]);
    }
}
