//! Flat primitives: one fragment is shaded for all pixels, and its colours fill the covered pixels.

use super::color::{ColorPlan, FlatColor};
use super::fragment;
use super::job::TileJob;
use super::path::PrimitiveColors;
use crate::prim::{Prim, SquareRows};
use base::abi::{FragmentBatch, FragmentQuad};

/// Least number of pixels of a primitive's rectangle for which a separate call of the fragment
/// stage is faster.
const MIN_FILL_PIXELS: i32 = 512;

/// Returns true if a primitive whose part in a tile is this rectangle is large enough to be filled.
#[inline(always)]
pub fn is_worth_filling([x0, y0, x1, y1]: [i32; 4]) -> bool {
    (x1 - x0) * (y1 - y0) >= MIN_FILL_PIXELS
}

impl TileJob<'_> {
    /// Finds the flat primitive's colours, by shading a quad at (x, y). Returns false if its pixels
    /// must be shaded one by one, which then holds for the rest of the draw too.
    #[inline(always)]
    pub fn color(&mut self, prim: &Prim, x: i32, y: i32) -> bool {
        if !self.colored {
            if self.scratch.quads.len() > 0 {
                // The collected quads belong to smaller primitives, which come before this one.
                fragment::shade(self);
            }
            let mut colors = core::mem::take(&mut self.scratch.flat);
            colors.clear();
            self.colored = self.shade_one(prim, x, y, &mut colors);
            self.scratch.flat = colors;
            if !self.colored {
                (self.colors, self.destination) = (PrimitiveColors::Varying, self.draw_destination);
            }
        }
        self.colored
    }

    /// Fills a flat primitive that covers a rectangle of the tile, if there is nothing to test.
    /// Returns false if its pixels must be shaded one by one.
    #[inline(always)]
    pub fn fill_rectangle(&mut self, prim: &Prim, [x0, y0, x1, y1]: [i32; 4]) -> bool {
        self.flush_rectangles();
        let colored = x0 < x1 && y0 < y1 && self.color(prim, x0 & !1, y0 & !1);
        if colored {
            let extent = [x1 - x0, y1 - y0].map(|side| side as u32);
            self.passed += u64::from(extent[0] * extent[1]);
            // SAFETY: covered pixels lie inside the render area, which lies inside the attachments;
            // this worker owns the tile.
            unsafe { self.fill([x0, y0], Pixels::Rectangle(extent)) };
        }
        colored
    }

    /// Appends the colours of a flat primitive, by colour plan. The batch of quads must be empty.
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

    /// Fills pixels with the colours of the current primitive.
    ///
    /// # Safety
    /// The pixels lie inside of the attachments, and no other thread accesses them.
    #[inline(always)]
    pub unsafe fn fill(&self, place: [i32; 2], pixels: Pixels<'_>) {
        // SAFETY: the pixels lie inside of the attachments, and no other thread accesses them
        // (`# Safety`).
        unsafe { fill(&self.draw.plan.colors, &self.scratch.flat, self.layer, place, pixels) };
    }
}

/// A set of pixels to fill.
#[derive(Clone, Copy)]
pub enum Pixels<'a> {
    /// Pixels of a 4×4 block: bit `4*j + i` is pixel (i, j).
    Block(u32),
    /// A rectangle of so many columns and rows.
    Rectangle([u32; 2]),
    /// Pixels of a 16×16 square that begins anywhere.
    Rows(&'a SquareRows),
}

impl Pixels<'_> {
    /// All pixels of a 16×16 square.
    pub const SQUARE: Self = Pixels::Rectangle([16, 16]);
}

/// Fills pixels, the first of them at (x, y), with a flat primitive's colours.
///
/// # Safety
/// The pixels lie inside of the attachments, and no other thread accesses them.
#[inline(always)]
pub unsafe fn fill(plans: &[ColorPlan], colors: &[FlatColor], layer: u32, [x, y]: [i32; 2], pixels: Pixels<'_>) {
    let (x, y) = (x as u32, y as u32);
    for (plan, color) in plans.iter().zip(colors) {
        // SAFETY: the pixels lie inside of the attachments, and no other thread accesses them
        // (`# Safety`).
        unsafe {
            match pixels {
                Pixels::Block(mask) => plan.write_block(color, layer, x, y, mask),
                Pixels::Rows(rows) => plan.write_rows(color, layer, [x, y], rows),
                Pixels::Rectangle([width, height]) => plan.write_rect(color, layer, x, y, width, height),
            }
        }
    }
}
