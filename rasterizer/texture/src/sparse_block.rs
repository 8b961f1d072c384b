//! Cells of images: the place of a texel in a level that is cut into cells
//! (`base::image::SparseGrid`).

#![forbid(unsafe_code)]

use base::abi::{ImageLevel, ImageView};
use base::format::Format;
use base::image::SPARSE_BLOCK_BYTES;

/// The slice of a cell that contains a texel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SparseBlock {
    /// Number of bytes from `ImageView::base` to its first texel.
    pub offset: u64,
    /// Position of the first texel in the level.
    pub origin: [u32; 2],
    /// Width and height of the cell in texels.
    pub size: [u32; 2],
}

impl SparseBlock {
    /// Returns the cell of a texel inside of the level. A level in one piece is a single cell.
    #[inline(always)]
    pub fn containing(view: &ImageView, level: &ImageLevel, layer: u32, [x, y, z]: [u32; 3]) -> SparseBlock {
        let start = level.offset + u64::from(layer) * view.layer_stride;
        if level.cell == 0 {
            let offset = start + u64::from(z) * level.slice_pitch;
            return SparseBlock { offset, origin: [0; 2], size: [level.width, level.height] };
        }
        let block = Format(view.format as u16).info().block;
        let size = [u32::from(block.0) << (level.cell & 0xff), u32::from(block.1) << (level.cell >> 8 & 0xff)];
        let (z, log2) = (z + level.first_slice, level.cell >> 16 & 0xff);
        let at = [x / size[0], y / size[1]];
        let row = u64::from(z >> log2) * u64::from(level.cells[1]) + u64::from(at[1]);
        let cell = row * u64::from(level.cells[0]) + u64::from(at[0]);
        let slice = u64::from(z & ((1 << log2) - 1)) * level.slice_pitch;
        let offset = start + cell * SPARSE_BLOCK_BYTES + slice;
        SparseBlock { offset, origin: [at[0] * size[0], at[1] * size[1]], size }
    }

    /// Converts the position of one of its texels from the level's coordinates to the cell's.
    #[inline(always)]
    pub fn inside(&self, x: u32, y: u32) -> [u32; 2] {
        [x - self.origin[0], y - self.origin[1]]
    }
}
