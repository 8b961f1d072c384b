//! Hidden surfaces: which primitive owns each pixel of a tile.
//!
//! Fragments that only overwrite colours ([`TilePlan::overwrites`](super::TilePlan)) are not shaded when they are covered: after their early tests
//! they become owners of their pixels, in draw order, and what is an owner when something else wants the colours (a draw that blends, kills, or writes other
//! attachments; the end of the tile) is shaded then, each pixel once. The bits are those of shading all of them: a fragment's colours depend on
//! its primitive and position alone, and depth is tested and written at once.
//!
//! Pixels lie square by square (16×16), block by block (4×4), so that a covered square is one piece of memory. Number 0 owns nothing.

use super::blocks::quads_of;
use super::color::FlatColor;
use super::fragment;
use super::job::TileJob;
use super::quads::Quads;
use super::{Draws, TileDraw};
use crate::pool::Worker;
use crate::prim::{ChunkOutput, Prim};

/// Most owners: their numbers have 16 bits.
const MOST: usize = u16::MAX as usize;
/// Most draws among the owners: each has a batch of quads.
const MOST_DRAWS: usize = 64;

/// The pixels of a 4×4 block: `4*j + i` is pixel (i, j).
type Block = [u16; 16];

/// An owner.
#[derive(Clone, Copy)]
struct Owner {
    prim: *const Prim,
    /// Index of its draw in `draws`.
    draw: u16,
    /// One fragment is to be shaded for all of it.
    flat: bool,
    /// One more than the index of its first flat colour; 0: not shaded yet.
    colors: u32,
}

/// A draw with owners.
struct OwnerDraw {
    number: u32,
    /// Its colour plans can fill.
    flat: bool,
    /// Its quads on their way to the fragment stage.
    quads: Quads,
}

/// See the module.
#[derive(Default)]
pub struct Owners {
    /// 256 of them after the first `begin`.
    blocks: Vec<Block>,
    /// By square: its blocks with owners.
    dirty: [u16; 16],
    owners: Vec<Owner>,
    /// The first `draw_count` are in use.
    draws: Vec<OwnerDraw>,
    draw_count: usize,
    /// Attachments that all of them overwrite.
    attachments: u8,
    /// Colours of flat owners, of each as many as its draw has colour plans.
    colors: Vec<FlatColor>,
}

// SAFETY: there are no owners between tiles, and nobody follows their pointers elsewhere.
unsafe impl Send for Owners {}

impl Owners {
    /// Nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Is there room for a draw that overwrites these attachments?
    pub fn has_room(&self, attachments: u8) -> bool {
        self.is_empty() || self.attachments == attachments && self.draw_count < MOST_DRAWS
    }

    /// Is there room for the primitives of a chunk?
    pub fn has_room_for(&self, output: &ChunkOutput) -> bool {
        self.owners.len() + output.prims.len() <= MOST
    }

    /// The next owners are primitives of a draw; there is room.
    pub fn begin(&mut self, number: u32, attachments: u8) {
        self.blocks.resize(256, [0; 16]);
        self.attachments = attachments;
        if self.draw_count == self.draws.len() {
            self.draws.push(OwnerDraw { number, flat: true, quads: Quads::default() });
        }
        let draw = &mut self.draws[self.draw_count];
        (draw.number, draw.flat) = (number, true);
        draw.quads.clear();
        self.draw_count += 1;
    }

    /// The number of a new owner, of the draw that was begun last; there is room. `flat`: one fragment is to be shaded for all of it.
    pub fn add(&mut self, prim: &Prim, flat: bool) -> u16 {
        self.owners.push(Owner { prim, draw: (self.draw_count - 1) as u16, flat, colors: 0 });
        self.owners.len() as u16
    }

    /// Gives pixels of the block at (x, y) to an owner.
    #[inline(always)]
    pub fn block(&mut self, owner: u16, x: i32, y: i32, pixels: u32) {
        let (square, block) = place(x, y);
        self.dirty[square] |= 1 << block;
        own(&mut self.blocks[16 * square + block], owner, pixels);
    }

    /// Gives the 16×16 square at (x, y) to an owner.
    #[inline(always)]
    pub fn square(&mut self, owner: u16, x: i32, y: i32) {
        let (square, _) = place(x, y);
        self.dirty[square] = u16::MAX;
        self.blocks[16 * square..16 * square + 16].fill([owner; 16]);
    }

    fn clear(&mut self) {
        self.owners.clear();
        self.colors.clear();
        self.draw_count = 0;
    }

    /// Nobody owns anything any more, and nothing was shaded.
    #[cold]
    pub fn forget(&mut self) {
        self.blocks.fill([0; 16]);
        self.dirty = [0; 16];
        self.clear();
    }
}

/// Square and block of a pixel.
#[inline(always)]
fn place(x: i32, y: i32) -> (usize, usize) {
    let (x, y) = (x as usize & 63, y as usize & 63);
    (y / 16 * 4 + x / 16, y / 4 % 4 * 4 + x / 4 % 4)
}

/// Gives pixels of a block to an owner.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn own(block: &mut Block, owner: u16, pixels: u32) {
    use core::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64; two halves of a block.
    unsafe {
        let (owner, bits) = (_mm_set1_epi16(owner as i16), _mm_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128));
        for half in 0..2 {
            let p: *mut __m128i = block.as_mut_ptr().add(8 * half).cast();
            let pixels = _mm_and_si128(_mm_set1_epi16((pixels >> (8 * half) & 0xff) as i16), bits);
            let mask = _mm_cmpeq_epi16(pixels, bits);
            let old = _mm_andnot_si128(mask, _mm_loadu_si128(p));
            _mm_storeu_si128(p, _mm_or_si128(old, _mm_and_si128(mask, owner)));
        }
    }
}

/// Gives pixels of a block to an owner.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn own(block: &mut Block, owner: u16, pixels: u32) {
    for (i, pixel) in block.iter_mut().enumerate() {
        *pixel = if pixels >> i & 1 != 0 { owner } else { *pixel };
    }
}

/// Pixels of a block with an owner's number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn owned_by(block: &Block, owner: u16) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64; two halves of a block.
    unsafe {
        let of = _mm_set1_epi16(owner as i16);
        let half = |i: usize| _mm_cmpeq_epi16(_mm_loadu_si128(block.as_ptr().add(8 * i).cast()), of);
        _mm_movemask_epi8(_mm_packs_epi16(half(0), half(1))) as u32
    }
}

/// Pixels of a block with an owner's number.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn owned_by(block: &Block, owner: u16) -> u32 {
    block.iter().enumerate().fold(0, |mask, (i, &pixel)| mask | u32::from(pixel == owner) << i)
}

/// A tile whose owners are resolved.
struct Resolve<'a, 'b> {
    job: &'a mut TileJob<'b>,
    draws: &'a dyn Draws,
    worker: &'a Worker,
}

impl TileJob<'_> {
    /// Shades what owns pixels of the tile at (x0, y0), and forgets it.
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
    /// The square at (x, y).
    fn square(&mut self, owners: &mut Owners, square: usize, x: i32, y: i32) {
        let mut dirty = core::mem::take(&mut owners.dirty[square]);
        let blocks = 16 * square..16 * square + 16;
        if dirty == u16::MAX
            && let Some(owner) = only(&owners.blocks[blocks.clone()])
            && self.fill(owners, owner, x, y, None)
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

    /// The block at (x, y).
    #[inline(always)]
    fn block(&mut self, owners: &mut Owners, pixels: &Block, x: i32, y: i32) {
        let mut left = !owned_by(pixels, 0) & 0xffff;
        while left != 0 {
            let owner = pixels[left.trailing_zeros() as usize & 15];
            let own = owned_by(pixels, owner);
            left &= !own;
            if self.fill(owners, owner, x, y, Some(own)) {
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

    /// Fills pixels of a block, or a square, with a flat owner's colours; `false` when it is not flat.
    #[inline(always)]
    fn fill(&mut self, owners: &mut Owners, owner: u16, x: i32, y: i32, pixels: Option<u32>) -> bool {
        let Owner { draw, flat, .. } = owners.owners[usize::from(owner) - 1];
        if !flat || !owners.draws[usize::from(draw)].flat || !self.color(owners, owner, x, y) {
            return false;
        }
        let first = owners.owners[usize::from(owner) - 1].colors as usize - 1;
        let plan = self.draws.draw(owners.draws[usize::from(draw)].number).plan;
        let layer = self.job.layer;
        for (plan, color) in plan.colors.iter().zip(&owners.colors[first..]) {
            let (x, y) = (x as u32, y as u32);
            // SAFETY: owned pixels were covered: they lie inside the attachments; this worker owns the tile.
            unsafe {
                match pixels {
                    Some(pixels) => plan.write_block(color, layer, x, y, pixels),
                    None => plan.write_rect(color, layer, x, y, 16, 16),
                }
            }
        }
        true
    }

    /// Finds a flat owner's colours; `false` when its draw's fragments must be shaded one by one.
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

/// The owner of all pixels.
#[inline(always)]
fn only(blocks: &[Block]) -> Option<u16> {
    let owner = blocks.first()?[0];
    (owner != 0 && blocks.iter().all(|block| owned_by(block, owner) == 0xffff)).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_squares_of_owners() {
        let mut owners = Owners::default();
        owners.begin(0, 1);
        owners.square(3, 64 + 16, 32);
        owners.block(9, 64 + 20, 36, 0b1010_0000_0000_0001);
        let (square, block) = place(64 + 20, 36);
        assert_eq!((square, block), (9, 5));
        let pixels = &owners.blocks[16 * square + block];
        assert_eq!(owned_by(pixels, 9), 0b1010_0000_0000_0001);
        assert_eq!(owned_by(pixels, 3), 0b0101_1111_1111_1110);
        assert_eq!(owned_by(pixels, 0), 0);
        assert_eq!(owners.dirty.map(|d| d != 0), core::array::from_fn(|i| i == 9));
    }
}
