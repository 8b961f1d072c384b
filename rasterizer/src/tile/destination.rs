//! The destination of pixels that are left after the tests before the fragment stage, with one
//! sample each: the quads of the next batch, the visibility buffer, or the attachments.

use super::cover;
use super::flat::Pixels;
use super::job::TileJob;
use super::path::Destination;
use crate::prim::{Prim, SquareRows};

impl TileJob<'_> {
    /// Passes on pixels of the 4×4 block at (x, y).
    #[inline(always)]
    pub fn put_block(&mut self, prim: &Prim, x: i32, y: i32, pixels: u32) {
        match self.resolved_destination(prim, x, y) {
            Destination::Quads => self.push_pixels(prim, x, y, pixels),
            Destination::VisibilityBuffer => {
                let owner = self.owner(prim);
                self.scratch.visibility.block(owner, x, y, pixels);
            }
            Destination::Fill => {
                // SAFETY: covered pixels lie inside the render area, which lies inside the
                // attachments; this worker owns the tile.
                unsafe { self.fill([x, y], Pixels::Block(pixels)) };
            }
        }
    }

    /// Passes on pixels of the 16×16 square at (x, y).
    #[inline(always)]
    pub fn put_rows(&mut self, prim: &Prim, [x, y]: [i32; 2], rows: &SquareRows) {
        match self.resolved_destination(prim, x, y) {
            Destination::VisibilityBuffer => {
                let owner = self.owner(prim);
                cover::for_each_block(rows, [x, y], |x, y, mask| self.scratch.visibility.block(owner, x, y, mask));
            }
            Destination::Fill => {
                let pixels = if *rows == [u64::MAX; 4] { Pixels::SQUARE } else { Pixels::Rows(rows) };
                // SAFETY: covered pixels lie inside the render area, which lies inside the
                // attachments; this worker owns the tile.
                unsafe { self.fill([x, y], pixels) };
            }
            Destination::Quads => {
                cover::for_each_block(rows, [x, y], |x, y, mask| self.push_pixels(prim, x, y, mask));
            }
        }
    }

    /// Passes on all pixels of the 16×16 square at (x, y).
    #[inline(always)]
    pub fn put_square(&mut self, prim: &Prim, x: i32, y: i32) {
        match self.resolved_destination(prim, x, y) {
            Destination::VisibilityBuffer => {
                let owner = self.owner(prim);
                self.scratch.visibility.square(owner, x, y);
            }
            Destination::Fill => {
                // SAFETY: covered pixels lie inside the render area, which lies inside the
                // attachments; this worker owns the tile.
                unsafe { self.fill([x, y], Pixels::SQUARE) };
            }
            Destination::Quads => {
                for block in 0..16 {
                    self.push_pixels(prim, x + block % 4 * 4, y + block / 4 * 4, 0xffff);
                }
            }
        }
    }

    /// Returns the destination of pixels, the first of them at (x, y), after it has found the
    /// colours that fill them. If there are none, these and all further pixels of the draw become
    /// quads.
    #[inline(always)]
    fn resolved_destination(&mut self, prim: &Prim, x: i32, y: i32) -> Destination {
        if self.destination == Destination::Fill && !self.color(prim, x, y) {
            return Destination::Quads;
        }
        self.destination
    }

    /// Returns the primitive's number as an owner of pixels.
    #[inline(always)]
    fn owner(&mut self, prim: &Prim) -> u16 {
        if self.owner == 0 {
            self.owner = self.scratch.visibility.add_primitive(prim, self.flat_owner);
        }
        self.owner
    }
}
