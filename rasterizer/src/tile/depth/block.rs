//! The blocks that are tested, and the types of the test functions.

#![forbid(unsafe_code)]

use crate::prim::{Prim, SquareRows};
use base::abi::FragmentQuad;

/// A function that tests one sample of the masked pixels of the 4×4 block at
/// `place`, by the primitive's plane at `offset` in the pixels. It updates depth and returns the
/// pixels that pass. Its safety requirements are those of `depth::test`.
pub type PlaneTest = unsafe fn(&Prim, &BlockAddress, place: [i32; 2], offset: [f32; 2], mask: u32) -> u32;

/// A function that tests the quad at
/// `place`, with a sample in the middle of each pixel, as [`PlaneTest`] does. The quad's rows are
/// at the address and `pitch` bytes after it. Bits 0 and 1 of the mask and of the result are the
/// upper pixels, bits 2 and 3 the lower ones. It is safe to call if all texels of the quad are in
/// the attachment, or in its padding.
pub type QuadTest = unsafe fn(&Prim, *mut u8, pitch: usize, place: [i32; 2], mask: u32) -> u32;

/// A function that tests pixels of the 16×16 square at `place`, as [`PlaneTest`] tests those of a
/// block with samples at `offset`. It clears the pixels that fail.
pub type RowsTest = unsafe fn(&Prim, &BlockAddress, place: [i32; 2], offset: [f32; 2], rows: &mut SquareRows);

/// A function that tests a sample of the quads of a batch, in order, by their primitives' planes,
/// and updates depth. It removes failing pixels from the quads' coverage, and returns the number of
/// passing ones. The address is that of the pixel (0, 0).
///
/// It is safe to call if all texels of the covered quads are in the attachment, or in its padding,
/// and no other thread accesses them. The quads' primitives must be the first fields of [`Prim`]s.
pub type QuadsTest = unsafe fn(&mut [FragmentQuad], &BlockAddress, sample: u32, offset: [f32; 2]) -> u64;

/// Address of a block's first texel and number of bytes between its rows; null without an
/// attachment.
#[derive(Clone, Copy, Debug)]
pub struct BlockAddress {
    /// Address of the first texel.
    pub base: *mut u8,
    /// Number of bytes from row to row.
    pub pitch: usize,
    /// True if all four rows of a 4×4 block lie in the attachment. (The general test accesses only
    /// rows with covered pixels.)
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "who asks has vectors of whole rows"))]
    pub whole: bool,
}

/// A block to test.
#[derive(Clone, Copy, Debug)]
pub struct DepthBlock<'a> {
    /// Location of the depth texels.
    pub depth: BlockAddress,
    /// Location of the stencil texels.
    pub stencil: BlockAddress,
    /// Depths of the fragments, clamped.
    pub z: &'a [f32; 16],
    /// Mask of the covered pixels.
    pub mask: u32,
    /// True if the primitive is front-facing.
    pub front: bool,
    /// Stencil references that the fragment stage has written.
    pub references: Option<&'a [u8; 16]>,
}
