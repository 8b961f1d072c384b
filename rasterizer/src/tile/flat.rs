//! Flat primitives: one fragment is shaded for all, and its colours fill what is covered.

use super::color::FlatColor;
use super::fragment;
use super::job::TileJob;
use crate::prim::Prim;
use base::abi::{FragmentBatch, FragmentQuad};

impl TileJob<'_> {
    /// Finds the primitive's colours, by shading a quad at (x, y); `false` when its pixels must be shaded one by one (then this draw's all are).
    #[inline(always)]
    pub fn color(&mut self, prim: &Prim, x: i32, y: i32) -> bool {
        if !self.colored {
            let mut colors = core::mem::take(&mut self.scratch.flat);
            colors.clear();
            self.flat = self.shade_one(prim, x, y, &mut colors);
            self.scratch.flat = colors;
            self.colored = self.flat;
        }
        self.flat
    }

    /// Appends the colours of a flat primitive, by colour plan.
    #[cold]
    pub fn shade_one(&mut self, prim: &Prim, x: i32, y: i32, colors: &mut Vec<FlatColor>) -> bool {
        let primitive = (&raw const *prim).cast();
        let quad =
            FragmentQuad { x: x as u16, y: y as u16, coverage: 0x1111, sample: FragmentBatch::CENTRE, primitive };
        // Nothing of this draw is on its way: all of its primitives go here, or none.
        self.scratch.quads.clear();
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
