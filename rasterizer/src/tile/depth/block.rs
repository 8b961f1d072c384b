//! The blocks that are tested.

#![forbid(unsafe_code)]

use crate::prim::{Prim, SquareRows};
use base::abi::FragmentQuad;

/// Tests one sample of the pixels in a mask of the 4×4 block at a place, at an offset in the pixels, by the primitive's plane, and updates depth; returns
/// those that pass. Safe as `depth::test` is.
pub type PlaneTest = unsafe fn(&Prim, &BlockAddress, place: [i32; 2], offset: [f32; 2], mask: u32) -> u32;

/// The same of the quad at a place, whose texels are at an address and a pitch behind it, with a sample in the middle of each pixel: bits 0 and 1 of the mask and of the result are the upper
/// pixels, 2 and 3 the lower ones. Safe where all of its texels are in the attachment, or in its padding.
pub type QuadTest = unsafe fn(&Prim, *mut u8, pitch: usize, place: [i32; 2], mask: u32) -> u32;

/// Tests pixels of the 16×16 square at a place, as [`PlaneTest`] does those of a block with samples at `offset`; those that pass are left.
pub type RowsTest = unsafe fn(&Prim, &BlockAddress, place: [i32; 2], offset: [f32; 2], rows: &mut SquareRows);

/// Tests a sample of the quads of a batch, in order, by their primitives' planes, and updates depth; their coverage becomes what passes, which is counted. The
/// address is that of the pixel (0, 0). Safe where all texels of the covered quads are in the attachment, or in its padding, no other thread touches them, and
/// the quads' primitives are the first fields of [`Prim`]s.
pub type QuadsTest = unsafe fn(&mut [FragmentQuad], &BlockAddress, sample: u32, offset: [f32; 2]) -> u64;

/// Address of a block's first texel and the bytes between its rows; null without an attachment.
#[derive(Clone, Copy, Debug)]
pub struct BlockAddress {
    /// First texel.
    pub base: *mut u8,
    /// Bytes from row to row.
    pub pitch: usize,
    /// All four rows of a 4×4 block lie in the attachment. (The general test looks at nothing that is not covered.)
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "who asks has vectors of whole rows"))]
    pub whole: bool,
}

/// A block to test.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Depth texels.
    pub depth: BlockAddress,
    /// Stencil texels.
    pub stencil: BlockAddress,
    /// Fragment depth, clamped.
    pub z: &'a [f32; 16],
    /// Covered pixels.
    pub mask: u32,
    /// Front-facing.
    pub front: bool,
    /// Stencil references written by the fragment stage.
    pub references: Option<&'a [u8; 16]>,
}
