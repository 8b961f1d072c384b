//! Attachments as addressable surfaces: one level, accessed row by row, sample by sample, layer by
//! layer.
//!
//! A surface is made from an attachment after its level, layers and extent were checked against the
//! image's layout. Addresses inside `extent`, `layers` and `samples` then lie inside the image.
//!
//! Rows of a level that is cut into cells can be followed inside of a square of [`ROW_SQUARE`]
//! pixels, which lies in one cell.

use crate::api::Attachment;
use base::format::{Aspect, Format};
use base::image::{SPARSE_BLOCK_BYTES, SparseGrid};

/// Side of a square of pixels in which rows can be followed, whatever the image: a tile of the
/// rasterizer. Cells of images that are rendered to are at least as large.
pub const ROW_SQUARE: u32 = 64;

/// Returns the bytes of a texel, rounded as the specification requires.
#[inline]
pub fn pack_texel(format: Format, texel: [u32; 4]) -> [u8; 16] {
    (base::format::kernels(format).pack_one)(texel)
}

/// One level of an attachment.
#[derive(Clone, Copy, Debug)]
pub struct RenderSurface {
    base: *mut u8,
    /// Number of bytes between rows.
    pub row_pitch: usize,
    /// Number of bytes between samples.
    pub sample_stride: usize,
    layer_stride: usize,
    /// The way in which the level is cut into cells.
    grid: Option<SparseGrid>,
    /// Number of layers (or slices).
    pub layers: u32,
    /// Number of samples per pixel.
    pub samples: u32,
    /// Width and height in pixels.
    pub extent: [u32; 2],
    /// Format of the view.
    pub format: Format,
    /// Number of bytes of a texel.
    pub bytes: usize,
}

// SAFETY: the type holds an address and sizes; tiles write disjoint texels, and the icd keeps the
// memory alive.
unsafe impl Send for RenderSurface {}
// SAFETY: tiles write disjoint texels, and the icd keeps the memory alive.
unsafe impl Sync for RenderSurface {}

impl RenderSurface {
    /// Returns `None` if the attachment names levels or layers that the image does not have.
    pub fn new(attachment: &Attachment, aspect: Aspect) -> Option<RenderSurface> {
        let layout = &*attachment.image.layout;
        let plane = &layout.planes()[layout.plane_of(aspect.bit())];
        let level = plane.levels.get(attachment.level as usize).filter(|_| attachment.level < layout.desc.levels)?;
        let available = if attachment.slices { level.extent[2] } else { layout.desc.layers };
        let layers = attachment.layers.min(available.checked_sub(attachment.base_layer)?);
        let stride = if attachment.slices { level.slice_pitch } else { plane.layer_stride };
        let offset = plane.offset + level.offset + stride * u64::from(attachment.base_layer);
        // Slices of a volume that is cut into cells cannot be rendered to.
        if level.grid.is_some_and(|grid| attachment.slices || grid.log2[..2].iter().any(|&log2| 1 << log2 < ROW_SQUARE))
        {
            return None;
        }
        Some(RenderSurface {
            base: attachment.image.base.wrapping_add(offset as usize),
            row_pitch: level.row_pitch as usize,
            sample_stride: plane.sample_stride as usize,
            layer_stride: stride as usize,
            grid: level.grid,
            layers,
            samples: layout.desc.samples.max(1),
            extent: [level.extent[0], level.extent[1]],
            format: attachment.format,
            bytes: plane.block_bytes as usize,
        })
    }

    /// Returns the address of a texel, which is valid for coordinates inside the surface.
    #[inline(always)]
    pub fn at(&self, layer: u32, sample: u32, x: u32, y: u32) -> *mut u8 {
        self.origin(layer, x, y)
            .wrapping_add(sample as usize * self.sample_stride + y as usize * self.row_pitch + x as usize * self.bytes)
    }

    /// Returns the address at which the surface would begin if all of it were stored as its rows
    /// are at (x, y). It is valid for the aligned [`ROW_SQUARE`] around (x, y).
    #[inline(always)]
    pub fn origin(&self, layer: u32, x: u32, y: u32) -> *mut u8 {
        let base = self.base.wrapping_add(layer as usize * self.layer_stride);
        match &self.grid {
            None => base,
            Some(grid) => base.wrapping_add(self.cell(grid, x, y)),
        }
    }

    #[cold]
    fn cell(&self, grid: &SparseGrid, x: u32, y: u32) -> usize {
        let [column, row] = [x >> grid.log2[0], y >> grid.log2[1]].map(|n| n as usize);
        let cell = (row * grid.cells[0] as usize + column) * SPARSE_BLOCK_BYTES as usize;
        cell.wrapping_sub((row << grid.log2[1]) * self.row_pitch + (column << grid.log2[0]) * self.bytes)
    }

    /// Returns the parts of a row from `x0` to `x1` that lie in one piece of memory each.
    pub fn pieces(&self, x0: u32, x1: u32) -> impl Iterator<Item = core::ops::Range<u32>> + use<> {
        let step = if self.grid.is_some() { ROW_SQUARE } else { x1.max(1) };
        let mut at = x0;
        core::iter::from_fn(move || {
            let piece = at..x1.min((at / step + 1) * step);
            at = piece.end;
            (!piece.is_empty()).then_some(piece)
        })
    }
}
