//! The levels that the lanes access: sizes and places, one row of the view's table per lane. Mostly it is the same row.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::{ImageLevel, ImageView, MAX_LANES};

/// A level per lane.
pub struct Rows {
    /// Texels.
    pub width: [i32; MAX_LANES],
    /// Texels.
    pub height: [i32; MAX_LANES],
    /// Texels.
    pub depth: [i32; MAX_LANES],
    /// Bytes between rows (of blocks): at most 2^14 texels of 16 bytes.
    pub pitch: [u32; MAX_LANES],
    /// Bytes from the view's base.
    pub offset: [u64; MAX_LANES],
    /// Bytes between depth slices.
    pub slice_pitch: [u64; MAX_LANES],
}

impl Rows {
    #[inline(always)]
    fn set(&mut self, i: usize, l: &ImageLevel) {
        self.width[i] = l.width as i32;
        self.height[i] = l.height as i32;
        self.depth[i] = l.depth as i32;
        self.pitch[i] = l.row_pitch as u32;
        self.offset[i] = l.offset;
        self.slice_pitch[i] = l.slice_pitch;
    }
}

/// The levels, which exist in the view; lanes that are not in `mask` get some level of another lane.
#[inline(always)]
pub fn rows(view: &ImageView, level: &[u32; MAX_LANES], mask: u32) -> Rows {
    let one = level[mask.trailing_zeros() as usize % MAX_LANES];
    let mut differs = false;
    for i in 0..MAX_LANES {
        differs |= (level[i] != one) & (mask >> i & 1 != 0);
    }
    let mut rows = Rows {
        width: [0; MAX_LANES],
        height: [0; MAX_LANES],
        depth: [0; MAX_LANES],
        pitch: [0; MAX_LANES],
        offset: [0; MAX_LANES],
        slice_pitch: [0; MAX_LANES],
    };
    if differs {
        for i in 0..MAX_LANES {
            rows.set(i, &view.level[level[i] as usize]);
        }
    } else {
        let l = &view.level[one as usize];
        for i in 0..MAX_LANES {
            rows.set(i, l);
        }
    }
    rows
}
