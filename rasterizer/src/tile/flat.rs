//! Flat primitives: one fragment is shaded for all, and its colours fill what is covered.

use super::color::FlatColor;
use super::fragment;
use super::job::TileJob;
use crate::prim::{Prim, TILE_SHIFT, intersect};
use base::abi::{FragmentBatch, FragmentQuad};

/// Pixels of a primitive's rectangle from which on a call of the fragment stage for it alone is worth it.
const WORTH: i32 = 512;

/// Is a primitive large enough in the tile at (x0, y0)?
#[inline(always)]
pub fn is_worth(prim: &Prim, x0: i32, y0: i32) -> bool {
    let [x0, y0, x1, y1] = intersect(prim.rect, [x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)]);
    (x1 - x0) * (y1 - y0) >= WORTH
}

impl TileJob<'_> {
    /// Finds the flat primitive's colours, by shading a quad at (x, y); `false` when its pixels must be shaded one by one (then those of this draw's others
    /// too).
    #[inline(always)]
    pub fn color(&mut self, prim: &Prim, x: i32, y: i32) -> bool {
        if !self.colored {
            if self.scratch.quads.len() > 0 {
                // Smaller primitives before it.
                fragment::shade(self);
            }
            let mut colors = core::mem::take(&mut self.scratch.flat);
            colors.clear();
            self.colored = self.shade_one(prim, x, y, &mut colors);
            self.scratch.flat = colors;
            (self.flat, self.flat_here) = (self.colored, self.colored);
        }
        self.colored
    }

    /// Appends the colours of a flat primitive, by colour plan. No quads may be on their way.
    #[cold]
    pub fn shade_one(&mut self, prim: &Prim, x: i32, y: i32, colors: &mut Vec<FlatColor>) -> bool {
        let primitive = (&raw const *prim).cast();
        let quad =
            FragmentQuad { x: x as u16, y: y as u16, coverage: 0x1111, sample: FragmentBatch::CENTRE, primitive };
        self.scratch.quads.push(quad);
        let plan = self.draw.plan;
        let mut all = true;
        fragment::shaded(self, |shaded| {
            for color in &plan.colors {
                match color.flat(shaded) {
                    Some(flat) => colors.push(flat),
                    None => all = false,
                }
            }
        });
        all
    }

    /// Fills pixels of the block at (x, y) with the primitive's colours.
    ///
    /// # Safety
    /// They lie inside of the attachments, and no other thread touches them.
    #[inline(always)]
    pub unsafe fn fill_block(&self, x: i32, y: i32, pixels: u32) {
        for (plan, color) in self.draw.plan.colors.iter().zip(&self.scratch.flat) {
            // SAFETY: the caller's promise.
            unsafe { plan.write_block(color, self.layer, x as u32, y as u32, pixels) };
        }
    }

    /// Fills the 16×16 square at (x, y) with the primitive's colours.
    ///
    /// # Safety
    /// As for [`TileJob::fill_block`].
    #[inline(always)]
    pub unsafe fn fill_square(&self, x: i32, y: i32) {
        for (plan, color) in self.draw.plan.colors.iter().zip(&self.scratch.flat) {
            // SAFETY: the caller's promise.
            unsafe { plan.write_rect(color, self.layer, x as u32, y as u32, 16, 16) };
        }
    }
}
