//! Resolving of the visibility buffer: owners of pixels are shaded, or filled with their colours
//! (see `owners`).

use super::flat::{Pixels, fill};
use super::fragment;
use super::job::TileJob;
use super::owners::{Block, Owner, OwnerDraw, Owners, only, owned_by};
use super::quads::quads_of;
use super::{Draws, TileDraw};
use execution::Worker;

/// A tile whose owners are resolved.
struct Resolve<'a, 'b> {
    job: &'a mut TileJob<'b>,
    draws: &'a dyn Draws,
    worker: &'a Worker,
}

impl TileJob<'_> {
    /// Shades the owners of pixels of the tile at (x0, y0), and removes them.
    pub fn resolve(&mut self, draws: &dyn Draws, worker: &Worker, [x0, y0]: [i32; 2]) {
        let mut owners = core::mem::take(&mut self.scratch.owners);
        let mut resolve = Resolve { job: self, draws, worker };
        for square in 0..16 {
            let (x, y) = (x0 + square % 4 * 16, y0 + square / 4 * 16);
            resolve.square(&mut owners, square as usize, x, y);
        }
        for draw in &mut owners.draws[..owners.draw_count] {
            if draw.quads.len() > 0 {
                resolve.shade(draw);
            }
        }
        owners.clear();
        self.scratch.owners = owners;
    }
}

impl Resolve<'_, '_> {
    /// Resolves the square at (x, y).
    fn square(&mut self, owners: &mut Owners, square: usize, x: i32, y: i32) {
        let mut dirty = core::mem::take(&mut owners.dirty[square]);
        let blocks = 16 * square..16 * square + 16;
        if dirty == u16::MAX
            && let Some(owner) = only(&owners.blocks[blocks.clone()])
            && self.fill(owners, owner, x, y, Pixels::SQUARE)
        {
            owners.blocks[blocks].fill([0; 16]);
            return;
        }
        while dirty != 0 {
            let block = dirty.trailing_zeros() as i32;
            dirty &= dirty - 1;
            let pixels = core::mem::take(&mut owners.blocks[16 * square + block as usize]);
            self.block(owners, &pixels, x + block % 4 * 4, y + block / 4 * 4);
        }
    }

    /// Resolves the block at (x, y).
    #[inline(always)]
    fn block(&mut self, owners: &mut Owners, pixels: &Block, x: i32, y: i32) {
        let mut left = !owned_by(pixels, 0) & 0xffff;
        while left != 0 {
            let owner = pixels[left.trailing_zeros() as usize & 15];
            let own = owned_by(pixels, owner);
            left &= !own;
            if self.fill(owners, owner, x, y, Pixels::Block(own)) {
                continue;
            }
            let Owner { prim, draw, .. } = owners.owners[usize::from(owner) - 1];
            let draw = &mut owners.draws[usize::from(draw)];
            draw.quads.push_covered(quads_of(prim.cast(), x as u16, y as u16, own));
            if draw.quads.is_full() {
                self.shade(draw);
            }
        }
    }

    /// Fills pixels of a block or a square with a flat owner's colours; returns false if the owner
    /// is not flat.
    #[inline(always)]
    fn fill(&mut self, owners: &mut Owners, owner: u16, x: i32, y: i32, pixels: Pixels) -> bool {
        let Owner { draw, flat, .. } = owners.owners[usize::from(owner) - 1];
        if !flat || !owners.draws[usize::from(draw)].flat || !self.color(owners, owner, x, y) {
            return false;
        }
        let first = owners.owners[usize::from(owner) - 1].colors as usize - 1;
        let plan = self.draws.draw(owners.draws[usize::from(draw)].number).plan;
        // SAFETY: owned pixels were covered, so they lie inside the attachments; this worker owns
        // the tile.
        unsafe { fill(&plan.colors, &owners.colors[first..], self.job.layer, [x, y], pixels) };
        true
    }

    /// Finds a flat owner's colours; returns false if its draw's fragments must be shaded one by
    /// one.
    #[inline(always)]
    fn color(&mut self, owners: &mut Owners, owner: u16, x: i32, y: i32) -> bool {
        let Owner { prim, draw, colors, .. } = owners.owners[usize::from(owner) - 1];
        if colors != 0 {
            return true;
        }
        let first = owners.colors.len();
        let owned = &mut owners.draws[usize::from(draw)];
        let draw = self.draws.draw(owned.number);
        self.worker.runs(draw.running);
        let mut job = TileJob::of(self.job.pass, draw, self.job.layer, self.job.memory, self.job.scratch);
        // SAFETY: the owner's primitive outlives the tile.
        owned.flat = job.shade_one(unsafe { &*prim }, x, y, &mut owners.colors);
        owners.owners[usize::from(owner) - 1].colors = first as u32 + 1;
        owned.flat
    }

    /// Shades the quads of a draw that have been collected.
    fn shade(&mut self, owned: &mut OwnerDraw) {
        let draw: TileDraw<'_> = self.draws.draw(owned.number);
        self.worker.runs(draw.running);
        let mut job = TileJob::of(self.job.pass, draw, self.job.layer, self.job.memory, self.job.scratch);
        core::mem::swap(&mut job.scratch.quads, &mut owned.quads);
        fragment::shade(&mut job);
        core::mem::swap(&mut job.scratch.quads, &mut owned.quads);
    }
}
