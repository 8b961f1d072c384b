//! Resolving of the visibility buffer: owners of pixels are shaded, or filled with their colours
//! (see `visibility_buffer`).

use super::flat::{Pixels, fill};
use super::fragment;
use super::job::TileJob;
use super::quads::quads_of;
use super::visibility_buffer::{
    OwnerBlock, VisibilityBuffer, VisibleDraw, VisiblePrimitive, pixels_of_owner, single_owner,
};
use super::{DrawTable, TileDraw};
use execution::Worker;

/// A tile whose owners are resolved.
struct Resolve<'a, 'b> {
    job: &'a mut TileJob<'b>,
    draws: &'a dyn DrawTable,
    worker: &'a Worker,
}

impl TileJob<'_> {
    /// Shades the owners of pixels of the tile at (x0, y0), and removes them.
    pub fn resolve(&mut self, draws: &dyn DrawTable, worker: &Worker, [x0, y0]: [i32; 2]) {
        let mut visibility = core::mem::take(&mut self.scratch.visibility);
        let mut resolve = Resolve { job: self, draws, worker };
        for square in 0..16 {
            let (x, y) = (x0 + square % 4 * 16, y0 + square / 4 * 16);
            resolve.square(&mut visibility, square as usize, x, y);
        }
        for draw in &mut visibility.draws[..visibility.draw_count] {
            if draw.quads.len() > 0 {
                resolve.shade(draw);
            }
        }
        visibility.clear();
        self.scratch.visibility = visibility;
    }
}

impl Resolve<'_, '_> {
    /// Resolves the square at (x, y).
    fn square(&mut self, visibility: &mut VisibilityBuffer, square: usize, x: i32, y: i32) {
        let mut dirty = core::mem::take(&mut visibility.dirty[square]);
        let blocks = 16 * square..16 * square + 16;
        if dirty == u16::MAX
            && let Some(owner) = single_owner(&visibility.blocks[blocks.clone()])
            && self.fill(visibility, owner, x, y, Pixels::SQUARE)
        {
            visibility.blocks[blocks].fill([0; 16]);
            return;
        }
        while dirty != 0 {
            let block = dirty.trailing_zeros() as i32;
            dirty &= dirty - 1;
            let pixels = core::mem::take(&mut visibility.blocks[16 * square + block as usize]);
            self.block(visibility, &pixels, x + block % 4 * 4, y + block / 4 * 4);
        }
    }

    /// Resolves the block at (x, y).
    #[inline(always)]
    fn block(&mut self, visibility: &mut VisibilityBuffer, pixels: &OwnerBlock, x: i32, y: i32) {
        let mut left = !pixels_of_owner(pixels, 0) & 0xffff;
        while left != 0 {
            let owner = pixels[left.trailing_zeros() as usize & 15];
            let own = pixels_of_owner(pixels, owner);
            left &= !own;
            if self.fill(visibility, owner, x, y, Pixels::Block(own)) {
                continue;
            }
            let VisiblePrimitive { prim, draw, .. } = visibility.primitives[usize::from(owner) - 1];
            let draw = &mut visibility.draws[usize::from(draw)];
            draw.quads.push_covered(quads_of(prim.cast(), x as u16, y as u16, own));
            if draw.quads.is_full() {
                self.shade(draw);
            }
        }
    }

    /// Fills pixels of a block or a square with a flat owner's colours; returns false if the owner
    /// is not flat.
    #[inline(always)]
    fn fill(&mut self, visibility: &mut VisibilityBuffer, owner: u16, x: i32, y: i32, pixels: Pixels) -> bool {
        let VisiblePrimitive { draw, flat, .. } = visibility.primitives[usize::from(owner) - 1];
        if !flat || !visibility.draws[usize::from(draw)].flat || !self.color(visibility, owner, x, y) {
            return false;
        }
        let first = visibility.primitives[usize::from(owner) - 1].colors as usize - 1;
        let plan = self.draws.draw(visibility.draws[usize::from(draw)].number).plan;
        // SAFETY: owned pixels were covered, so they lie inside the attachments; this worker owns
        // the tile.
        unsafe { fill(&plan.colors, &visibility.colors[first..], self.job.layer, [x, y], pixels) };
        true
    }

    /// Finds a flat owner's colours; returns false if its draw's fragments must be shaded one by
    /// one.
    #[inline(always)]
    fn color(&mut self, visibility: &mut VisibilityBuffer, owner: u16, x: i32, y: i32) -> bool {
        let VisiblePrimitive { prim, draw, colors, .. } = visibility.primitives[usize::from(owner) - 1];
        if colors != 0 {
            return true;
        }
        let first = visibility.colors.len();
        let owned = &mut visibility.draws[usize::from(draw)];
        let draw = self.draws.draw(owned.number);
        self.worker.set_running(draw.running);
        let mut job = TileJob::new(self.job.pass, draw, self.job.layer, self.job.memory, self.job.scratch);
        // SAFETY: the owner's primitive outlives the tile.
        owned.flat = job.shade_one(unsafe { &*prim }, x, y, &mut visibility.colors);
        visibility.primitives[usize::from(owner) - 1].colors = first as u32 + 1;
        owned.flat
    }

    /// Shades the quads of a draw that have been collected.
    fn shade(&mut self, owned: &mut VisibleDraw) {
        let draw: TileDraw<'_> = self.draws.draw(owned.number);
        self.worker.set_running(draw.running);
        let mut job = TileJob::new(self.job.pass, draw, self.job.layer, self.job.memory, self.job.scratch);
        core::mem::swap(&mut job.scratch.quads, &mut owned.quads);
        fragment::shade(&mut job);
        core::mem::swap(&mut job.scratch.quads, &mut owned.quads);
    }
}
