//! The visibility buffer: which primitive owns each pixel of a tile.
//!
//! Fragments that only overwrite colours ([`TilePlan::overwrites`](super::TilePlan)) are not shaded
//! when they are covered. After their early tests they become owners of their pixels, in draw
//! order. Owners are shaded when their colours are needed, each pixel once. That is at the end of
//! the tile, or before a draw that blends, kills, or writes other attachments. The bits are those
//! of shading all fragments: a fragment's colours depend only on its primitive and position, and
//! depth is tested and written at once.
//!
//! Pixels are stored square by square (16×16), block by block (4×4), so that a covered square is
//! one piece of memory. Number 0 means no owner.

use super::color::FlatColor;
use super::quads::Quads;
use crate::prim::{ChunkOutput, Prim};

/// Largest number of owners, because their numbers have 16 bits.
const MAX_PRIMITIVES: usize = u16::MAX as usize;
/// Largest number of draws among the owners, because each has a batch of quads.
const MAX_DRAWS: usize = 64;

/// Owners of the pixels of a 4×4 block: `4*j + i` is pixel (i, j).
pub type OwnerBlock = [u16; 16];

/// A primitive that owns pixels.
#[derive(Clone, Copy)]
pub struct VisiblePrimitive {
    /// The primitive.
    pub prim: *const Prim,
    /// Index of its draw in `draws`.
    pub draw: u16,
    /// True if one fragment is shaded for all of its pixels.
    pub flat: bool,
    /// One more than the index of its first flat colour; 0 if it has not been shaded yet.
    pub colors: u32,
}

/// A draw that has pixels in the visibility buffer.
pub struct VisibleDraw {
    /// Number of the draw.
    pub number: u32,
    /// True if its colour plans can fill.
    pub flat: bool,
    /// Quads of the draw that are collected for the fragment stage.
    pub quads: Quads,
}

/// The visibility buffer of a tile.
#[derive(Default)]
pub struct VisibilityBuffer {
    /// Owners of the pixels by block; 256 blocks after the first `begin`.
    pub blocks: Vec<OwnerBlock>,
    /// Blocks with owners, by square.
    pub dirty: [u16; 16],
    /// The owners; number 1 is the first.
    pub primitives: Vec<VisiblePrimitive>,
    /// Draws of the owners, of which the first `draw_count` are in use.
    pub draws: Vec<VisibleDraw>,
    pub draw_count: usize,
    /// Attachments that all owners overwrite.
    attachments: u8,
    /// Colours of flat owners, as many for each as its draw has colour plans.
    pub colors: Vec<FlatColor>,
}

// SAFETY: the list of owners is empty between tiles, and only the worker of the tile follows their
// pointers.
unsafe impl Send for VisibilityBuffer {}

impl VisibilityBuffer {
    /// Returns true if no pixel has an owner.
    pub fn is_empty(&self) -> bool {
        self.primitives.is_empty()
    }

    /// Returns true if a draw that overwrites these attachments fits.
    pub fn fits_draw(&self, attachments: u8) -> bool {
        self.draw_count < MAX_DRAWS && (self.is_empty() || self.attachments == attachments)
    }

    /// Returns true if the primitives of a chunk fit.
    pub fn fits_chunk(&self, output: &ChunkOutput) -> bool {
        self.primitives.len() + output.prims.len() <= MAX_PRIMITIVES
    }

    /// Makes a draw the one to which the next owners belong; the draw must fit.
    pub fn begin(&mut self, number: u32, attachments: u8) {
        self.blocks.resize(256, [0; 16]);
        self.attachments = attachments;
        if self.draw_count == self.draws.len() {
            self.draws.push(VisibleDraw { number, flat: true, quads: Quads::default() });
        }
        let draw = &mut self.draws[self.draw_count];
        (draw.number, draw.flat) = (number, true);
        draw.quads.clear();
        self.draw_count += 1;
    }

    /// Adds an owner of the draw that was begun last and returns its number; it must fit. `flat`
    /// means that one fragment is shaded for all of its pixels.
    pub fn add_primitive(&mut self, prim: &Prim, flat: bool) -> u16 {
        self.primitives.push(VisiblePrimitive { prim, draw: (self.draw_count - 1) as u16, flat, colors: 0 });
        self.primitives.len() as u16
    }

    /// Gives pixels of the block at (x, y) to an owner.
    #[inline(always)]
    pub fn block(&mut self, owner: u16, x: i32, y: i32, pixels: u32) {
        let (square, block) = block_index(x, y);
        self.dirty[square] |= 1 << block;
        write_owner(&mut self.blocks[16 * square + block], owner, pixels);
    }

    /// Gives the 16×16 square at (x, y) to an owner.
    #[inline(always)]
    pub fn square(&mut self, owner: u16, x: i32, y: i32) {
        let (square, _) = block_index(x, y);
        self.dirty[square] = u16::MAX;
        self.blocks[16 * square..16 * square + 16].fill([owner; 16]);
    }

    /// Removes all owners; their blocks and squares have been cleared before.
    pub fn clear(&mut self) {
        self.primitives.clear();
        self.colors.clear();
        self.draw_count = 0;
    }

    /// Removes all owners without shading them.
    #[cold]
    pub fn discard(&mut self) {
        self.blocks.fill([0; 16]);
        self.dirty = [0; 16];
        self.clear();
    }
}

/// Returns the square and the block of a pixel.
#[inline(always)]
fn block_index(x: i32, y: i32) -> (usize, usize) {
    let (x, y) = (x as usize & 63, y as usize & 63);
    (y / 16 * 4 + x / 16, y / 4 % 4 * 4 + x / 4 % 4)
}

/// Gives pixels of a block to an owner.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn write_owner(block: &mut OwnerBlock, owner: u16, pixels: u32) {
    use base::host::Sse2;
    let owner = Sse2._mm_set1_epi16(owner as i16);
    let bits = Sse2.load_128(&[1u16, 2, 4, 8, 16, 32, 64, 128]);
    for (half, block) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let pixels = Sse2._mm_and_si128(Sse2._mm_set1_epi16((pixels >> (8 * half) & 0xff) as i16), bits);
        let mask = Sse2._mm_cmpeq_epi16(pixels, bits);
        let old = Sse2._mm_andnot_si128(mask, Sse2.load_128(block));
        Sse2.store_128(block, Sse2._mm_or_si128(old, Sse2._mm_and_si128(mask, owner)));
    }
}

/// Gives pixels of a block to an owner.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn write_owner(block: &mut OwnerBlock, owner: u16, pixels: u32) {
    for (i, pixel) in block.iter_mut().enumerate() {
        *pixel = if pixels >> i & 1 != 0 { owner } else { *pixel };
    }
}

/// Returns the pixels of a block with an owner's number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn pixels_of_owner(block: &OwnerBlock, owner: u16) -> u32 {
    use base::host::Sse2;
    let of = Sse2._mm_set1_epi16(owner as i16);
    let half = |i: usize| Sse2._mm_cmpeq_epi16(Sse2.load_128(&block.as_chunks::<8>().0[i]), of);
    Sse2._mm_movemask_epi8(Sse2._mm_packs_epi16(half(0), half(1))) as u32
}

/// Returns the pixels of a block with an owner's number.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn pixels_of_owner(block: &OwnerBlock, owner: u16) -> u32 {
    block.iter().enumerate().fold(0, |mask, (i, &pixel)| mask | u32::from(pixel == owner) << i)
}

/// Returns the owner of all pixels, if there is only one.
#[inline(always)]
pub fn single_owner(blocks: &[OwnerBlock]) -> Option<u16> {
    let owner = blocks.first()?[0];
    (owner != 0 && blocks.iter().all(|block| pixels_of_owner(block, owner) == 0xffff)).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_squares_store_their_owner() {
        let mut visibility = VisibilityBuffer::default();
        visibility.begin(0, 1);
        visibility.square(3, 64 + 16, 32);
        visibility.block(9, 64 + 20, 36, 0b1010_0000_0000_0001);
        let (square, block) = block_index(64 + 20, 36);
        assert_eq!((square, block), (9, 5));
        let pixels = &visibility.blocks[16 * square + block];
        assert_eq!(pixels_of_owner(pixels, 9), 0b1010_0000_0000_0001);
        assert_eq!(pixels_of_owner(pixels, 3), 0b0101_1111_1111_1110);
        assert_eq!(pixels_of_owner(pixels, 0), 0);
        assert_eq!(visibility.dirty.map(|d| d != 0), core::array::from_fn(|i| i == 9));
    }
}
