//! The layout of images in memory. Only this module computes the location of a texel.
//!
//! An image is its format's planes ([`crate::format::Plane`]), one after the other, each laid out
//! as a separate image. In a plane, samples of a layer are separate sub-images; the order is layer
//! → sample → level → slice → row (row-major). Offsets are multiples of 64 bytes per level, and the
//! row pitch is a multiple of 16 bytes. In images that are rendered to, a pitch that is a large
//! power of two is changed to an odd multiple of a cache line ([`ImageLayout::new_render_target`]).
//!
//! In an image with sparse residency, levels are cut into blocks of 64 KiB
//! ([`ImageLayout::new_sparse`]). Blocks are bound to memory one by one, and follow each other
//! row-major; inside of one, slices and rows follow each other. Levels smaller than a block are the
//! tail, which is laid out like other images, in whole blocks after them. [`SparseGrid`] describes
//! such a level, and loops over rows take the runs that lie in one piece ([`ImageLayout::pieces`]).

#![forbid(unsafe_code)]

use crate::abi::Dim;
use crate::format::{Aspect, Format, MAX_PLANES, Plane};
use crate::limits::MAX_LEVELS;

/// The parameters of an image; the caller has checked limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Format of the texels.
    pub format: Format,
    /// Dimensionality: D1, D2 or D3.
    pub dim: Dim,
    /// Size of level 0 in texels.
    pub extent: [u32; 3],
    /// Number of mip levels.
    pub levels: u32,
    /// Number of array layers.
    pub layers: u32,
    /// Number of samples, any from 1 on.
    pub samples: u32,
}

/// The layout of one level of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelLayout {
    /// Number of bytes from the start of the (layer, sample).
    pub offset: u64,
    /// Number of bytes between rows of blocks (with a grid: inside of a cell).
    pub row_pitch: u64,
    /// Number of bytes between depth slices; equals the level's size for images that are not 3D.
    /// (With a grid: inside of a cell.)
    pub slice_pitch: u64,
    /// Width, height and depth of the plane in texels.
    pub extent: [u32; 3],
    /// The cut of the level into cells; `None` if it is one piece.
    pub grid: Option<SparseGrid>,
}

impl LevelLayout {
    /// Returns the number of bytes from the beginning of the level to a block of `block_bytes`
    /// bytes at a column, row and slice.
    fn within(&self, block_bytes: u32, at: [u32; 3]) -> u64 {
        let (cell, [x, y, z]) = self.grid.map_or((0, at), |grid| (grid.cell(at), grid.inside(at)));
        cell + u64::from(z) * self.slice_pitch + u64::from(y) * self.row_pitch + u64::from(x) * u64::from(block_bytes)
    }
}

/// Number of bytes of a sparse image block.
pub const SPARSE_BLOCK_BYTES: u64 = 1 << 16;

/// The cut of a level into sparse image blocks. (They are called cells here, because a format's
/// blocks are called blocks.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseGrid {
    /// Base-2 logarithms of the numbers of the format's blocks per row, of rows, and of slices of a
    /// cell.
    pub log2: [u32; 3],
    /// Number of cells per row, and of rows of cells per slice of cells.
    pub cells: [u32; 2],
}

impl SparseGrid {
    /// Returns the shape of a cell for a format: as many texels as fit 64 KiB, as square as powers
    /// of two allow. It is the standard shape if the specification's table has the format's size.
    /// If the number of bytes is not a power of two, the cell has as many texels as for the next
    /// one, and a part of it stays unused.
    fn of(dim: Dim, block_bytes: u32) -> Option<[u32; 3]> {
        let all = SPARSE_BLOCK_BYTES.ilog2() - block_bytes.checked_next_power_of_two()?.ilog2();
        match dim {
            Dim::D2 => Some([all.div_ceil(2), all / 2, 0]),
            Dim::D3 => {
                let x = all.div_ceil(3);
                let y = (all - x).div_ceil(2);
                Some([x, y, all - x - y])
            }
            _ => None,
        }
    }

    /// Returns the number of bytes from the level's beginning to a block's cell; coordinates are
    /// blocks, rows and slices.
    fn cell(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [x, y, z] = [x >> self.log2[0], y >> self.log2[1], z >> self.log2[2]].map(u64::from);
        ((z * u64::from(self.cells[1]) + y) * u64::from(self.cells[0]) + x) * SPARSE_BLOCK_BYTES
    }

    /// Returns the coordinates inside of a cell.
    fn inside(&self, at: [u32; 3]) -> [u32; 3] {
        [0, 1, 2].map(|i| at[i] & ((1 << self.log2[i]) - 1))
    }
}

/// Residency of a plane that is cut into cells, which is the same for all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseResidency {
    /// Size of a cell in texels.
    pub cell: [u32; 3],
    /// First level that is in the tail; the number of levels if none is.
    pub mip_tail_level: u32,
    /// Number of bytes from the image's beginning to the first layer's tail.
    pub mip_tail_offset: u64,
    /// Number of bytes of the tail, in whole cells.
    pub mip_tail_size: u64,
}

/// Blocks that lie in one piece of a level, in a slice: rows of the same length, a pitch apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContiguousRun {
    /// First block of a row, counted from the beginning of the requested rectangle.
    pub x: u32,
    /// First row, counted from the beginning of the requested rectangle.
    pub y: u32,
    /// Number of blocks of a row.
    pub columns: u32,
    /// Number of rows.
    pub rows: u32,
    /// Number of bytes from the start of the image to the first block.
    pub offset: u64,
    /// Number of bytes between rows.
    pub pitch: u64,
}

/// The layout of one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Aspect of the plane.
    pub aspect: Aspect,
    /// Format of the plane's texels.
    pub format: Format,
    /// Number of bytes from the start of the image.
    pub offset: u64,
    /// Width and height of a block of this plane in texels.
    pub block: [u32; 2],
    /// Number of bytes per block of this plane.
    pub block_bytes: u32,
    /// Layouts of the levels.
    pub levels: [LevelLayout; MAX_LEVELS],
    /// Number of bytes between samples of a layer.
    pub sample_stride: u64,
    /// Number of bytes between layers.
    pub layer_stride: u64,
    /// Number of bytes of all layers.
    pub size: u64,
    /// Residency, if the plane is cut into cells.
    pub residency: Option<SparseResidency>,
}

/// The layout of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// The parameters of the image.
    pub desc: ImageDesc,
    /// Planes in the order of the format's row, of which
    /// `plane_count` are used (see [`ImageLayout::planes`]).
    planes: [PlaneLayout; MAX_PLANES],
    plane_count: usize,
    /// Number of bytes of the whole image.
    pub size: u64,
}

/// Alignment of image memory in bytes.
pub const IMAGE_ALIGNMENT: u64 = 64;

impl ImageLayout {
    /// Lays out an image. Returns `None` if the size overflows 2^48.
    pub fn new(desc: ImageDesc) -> Option<ImageLayout> {
        Self::with_layout(desc, tight_pitch, |_| Some(None))
    }

    /// Lays out an image that is rendered to. The distance of its rows never makes a column of
    /// texels evict itself from the cache.
    pub fn new_render_target(desc: ImageDesc) -> Option<ImageLayout> {
        Self::with_layout(desc, padded_pitch, |_| Some(None))
    }

    /// Lays out an image with sparse residency in which every row of a level is in one piece, so
    /// that no level is cut and all are in the tail.
    pub fn new_sparse_mip_tail(desc: ImageDesc) -> Option<ImageLayout> {
        Self::with_layout(desc, tight_pitch, |plane| {
            Some(Some((Self::sparse_block_shape(plane, desc.dim).filter(|_| desc.samples == 1)?, false)))
        })
    }

    /// Lays out an image with sparse residency, of one sample and two or three dimensions. Returns
    /// `None` for other images, or if the size overflows 2^48.
    pub fn new_sparse(desc: ImageDesc) -> Option<ImageLayout> {
        Self::with_layout(desc, tight_pitch, |plane| {
            Some(Some((Self::sparse_block_shape(plane, desc.dim).filter(|_| desc.samples == 1)?, true)))
        })
    }

    /// Lays out an image, given the number of bytes between rows, the cells of planes, if there are
    /// any, and whether levels are cut into them.
    fn with_layout(
        desc: ImageDesc,
        row_pitch: RowPitch,
        cell: impl Fn(&Plane) -> Option<Option<([u32; 3], bool)>>,
    ) -> Option<ImageLayout> {
        let planes = desc.format.info().planes();
        let mut layout = ImageLayout { desc, planes: [EMPTY_PLANE; MAX_PLANES], plane_count: planes.len(), size: 0 };
        for (to, plane) in layout.planes.iter_mut().zip(planes) {
            *to = PlaneLayout::new(&desc, plane, layout.size, row_pitch, cell(plane)?)?;
            layout.size = layout.size.checked_add(to.size)?;
        }
        (layout.size < 1 << 48).then_some(layout)
    }

    /// Returns the size of a plane's cell in texels, which is the sparse image block shape; `None`
    /// for images of one dimension.
    pub fn sparse_block_shape(plane: &Plane, dim: Dim) -> Option<[u32; 3]> {
        let format = plane.format();
        let info = format.info();
        let log2 = SparseGrid::of(dim, u32::from(info.block_bytes))?;
        Some([u32::from(info.block.0) << log2[0], u32::from(info.block.1) << log2[1], 1 << log2[2]])
    }

    /// Returns the parts of a rectangle of a slice that lie in one piece each.
    /// `from` is its first block, first row and slice, and `size` its number of blocks and rows.
    /// The rectangle must lie inside of the level.
    pub fn pieces(
        &self,
        plane: usize,
        level: u32,
        layer: u32,
        sample: u32,
        from: [u32; 3],
        size: [u32; 2],
    ) -> impl Iterator<Item = ContiguousRun> + use<> {
        let p = &self.planes[plane];
        let (l, bytes) = (p.levels[level as usize], p.block_bytes);
        let base = p.offset + u64::from(layer) * p.layer_stride + u64::from(sample) * p.sample_stride + l.offset;
        // These are the cells that the rectangle touches in a direction, or one if the level has no
        // cells.
        let log2 = l.grid.map_or([31; 3], |grid| grid.log2);
        let cells = |i: usize| {
            let end = if size[0] == 0 || size[1] == 0 { from[i] } else { from[i] + size[i] };
            (from[i] >> log2[i])..end.div_ceil(1 << log2[i])
        };
        let columns = cells(0);
        cells(1).flat_map(move |row| columns.clone().map(move |column| (column, row))).map(move |(column, row)| {
            let part = |i: usize, cell: u32| {
                let first = from[i].max(cell << log2[i]);
                (first, ((cell + 1) << log2[i]).min(from[i] + size[i]) - first)
            };
            let ((x, columns), (y, rows)) = (part(0, column), part(1, row));
            let offset = base + l.within(bytes, [x, y, from[2]]);
            ContiguousRun { x: x - from[0], y: y - from[1], columns, rows, offset, pitch: l.row_pitch }
        })
    }

    /// Returns the number of bytes from the start of the image to a cell of a plane, whose
    /// coordinates are cells; `None` if there is no such cell.
    pub fn cell(&self, plane: usize, level: u32, layer: u32, at: [u32; 3]) -> Option<u64> {
        let p = self.planes().get(plane)?;
        let l = p.levels.get(level as usize).filter(|_| level < self.desc.levels && layer < self.desc.layers)?;
        let (grid, cells) = (l.grid?, p.cells(l)?);
        let inside = at.iter().zip(cells).all(|(&at, cells)| at < cells);
        let first = [0, 1, 2].map(|i| at[i] << grid.log2[i]);
        inside.then(|| p.offset + u64::from(layer) * p.layer_stride + l.offset + grid.cell(first))
    }

    /// Returns a plane as a separate image, at its location in this one.
    pub fn single_plane(&self, plane: usize) -> ImageLayout {
        let mut alone = self.clone();
        let own = &self.planes()[plane];
        alone.planes[0] = PlaneLayout { aspect: Aspect::Color, ..*own };
        alone.plane_count = 1;
        alone.desc.format = own.format;
        alone.desc.extent = own.levels[0].extent;
        alone
    }

    /// Returns an image of compressed blocks as one whose texels are the blocks, in a format of the
    /// same size.
    pub fn as_block_texels(&self, format: Format) -> ImageLayout {
        let mut blocks = self.clone();
        let [width, height] = self.planes[0].block;
        let shrink = |[x, y, z]: [u32; 3]| [x.div_ceil(width), y.div_ceil(height), z];
        blocks.planes[0].levels.iter_mut().for_each(|level| level.extent = shrink(level.extent));
        (blocks.planes[0].format, blocks.planes[0].block) = (format, [1; 2]);
        (blocks.desc.format, blocks.desc.extent) = (format, shrink(self.desc.extent));
        blocks
    }

    /// Returns the image with its planes at these offsets.
    pub fn with_planes_at(&self, offsets: [u64; MAX_PLANES]) -> ImageLayout {
        let mut moved = self.clone();
        moved.size = 0;
        for (plane, offset) in moved.planes[..self.plane_count].iter_mut().zip(offsets) {
            plane.offset = offset;
            moved.size = moved.size.max(offset + plane.size);
        }
        moved
    }

    /// Returns a picture (one level, layer, slice and sample) whose planes have given offsets and
    /// numbers of bytes between rows. Returns `None` if the number of planes differs, or if rows
    /// are closer than their texels need. Offsets must be multiples of 64 bytes, and pitches
    /// multiples of 16 bytes, as accesses to several texels expect.
    pub fn with_plane_pitches(&self, rows: &[(u64, u64)]) -> Option<ImageLayout> {
        let desc = &self.desc;
        let picture = [desc.levels, desc.layers, desc.samples, desc.extent[2]] == [1; 4];
        if !picture || rows.len() != self.plane_count {
            return None;
        }
        let mut moved = ImageLayout { size: 0, ..self.clone() };
        for (plane, &(offset, pitch)) in moved.planes.iter_mut().zip(rows) {
            let level = &mut plane.levels[0];
            let size = pitch.checked_mul(u64::from(level.extent[1].div_ceil(plane.block[1])))?;
            // A slice has at most 4 GiB, because kernels count its bytes in 32 bits.
            let fits = pitch >= level.row_pitch && size <= 1 << 32 && offset < 1 << 47;
            if !fits || !pitch.is_multiple_of(16) || !offset.is_multiple_of(IMAGE_ALIGNMENT) {
                return None;
            }
            (level.row_pitch, level.slice_pitch) = (pitch, size);
            (plane.offset, plane.size, plane.sample_stride, plane.layer_stride) = (offset, size, size, size);
            moved.size = moved.size.max(offset + size);
        }
        Some(moved)
    }

    /// Returns the planes.
    pub fn planes(&self) -> &[PlaneLayout] {
        &self.planes[..self.plane_count]
    }

    /// Returns the indices of the planes that a mask of aspect bits selects.
    pub fn select(&self, aspects: u32) -> impl Iterator<Item = usize> + Clone + use<> {
        let planes = self.desc.format.info().planes();
        (0..planes.len()).filter(move |&i| planes[i].selected_by(aspects))
    }

    /// Returns the first plane that a mask of aspect bits selects; the first plane if the image has
    /// none of the aspects.
    pub fn plane_of(&self, aspects: u32) -> usize {
        self.select(aspects).next().unwrap_or(0)
    }

    /// Returns the byte offset of the block that holds a texel of a plane. Coordinates must be
    /// inside the level.
    pub fn offset(&self, plane: usize, level: u32, layer: u32, sample: u32, [x, y, z]: [u32; 3]) -> u64 {
        let p = &self.planes[plane];
        let l = &p.levels[level as usize];
        p.offset
            + u64::from(layer) * p.layer_stride
            + u64::from(sample) * p.sample_stride
            + l.offset
            + l.within(p.block_bytes, [x / p.block[0], y / p.block[1], z])
    }
}

const EMPTY_PLANE: PlaneLayout = PlaneLayout {
    aspect: Aspect::Color,
    format: Format::UNDEFINED,
    offset: 0,
    block: [1; 2],
    block_bytes: 0,
    levels: [LevelLayout { offset: 0, row_pitch: 0, slice_pitch: 0, extent: [0; 3], grid: None }; MAX_LEVELS],
    sample_stride: 0,
    layer_stride: 0,
    size: 0,
    residency: None,
};

/// Distance of rows from which on texels below each other use only a quarter of a cache's sets, or
/// fewer. (In all first-level caches, bits 6 to 11 of an address choose the set; and a load waits
/// for a store whose address has the same lower 12 bits.)
const CACHE_SET_STRIDE: u64 = 1024;
/// Number of bytes of a cache line.
const LINE: u64 = 64;

/// A function that returns the number of bytes between rows of a level, given its size in blocks
/// and the bytes of a block.
type RowPitch = fn([u32; 3], u32) -> u64;

/// Returns the smallest distance of rows, so that whole images are one piece.
fn tight_pitch([width, ..]: [u32; 3], block_bytes: u32) -> u64 {
    (u64::from(width) * u64::from(block_bytes)).next_multiple_of(16)
}

/// Returns a distance of rows at which a column of several rows does not evict itself from the
/// cache.
fn padded_pitch(blocks: [u32; 3], block_bytes: u32) -> u64 {
    let tight = tight_pitch(blocks, block_bytes);
    if tight.is_multiple_of(CACHE_SET_STRIDE) && blocks[1] >= 16 { tight + LINE } else { tight }
}

impl PlaneLayout {
    /// Returns the offset from the start of the image, and the size, of a level of a layer's first
    /// sample; its slices follow each other.
    pub fn piece(&self, level: u32, layer: u32) -> Option<(u64, u64)> {
        let level = self.levels.get(level as usize)?;
        let offset = self.offset + u64::from(layer) * self.layer_stride + level.offset;
        let cells = self.cells(level).map(|cells| cells.map(u64::from).iter().product::<u64>() * SPARSE_BLOCK_BYTES);
        Some((offset, cells.unwrap_or(level.slice_pitch * u64::from(level.extent[2]))))
    }

    /// Returns the numbers of cells of a level in each direction, if it is cut.
    fn cells(&self, level: &LevelLayout) -> Option<[u32; 3]> {
        let grid = level.grid?;
        Some([grid.cells[0], grid.cells[1], level.extent[2].div_ceil(1 << grid.log2[2])])
    }

    /// Lays out a plane. With `cell` (its size in texels, and whether levels are cut at all),
    /// levels are cut into cells. Levels smaller than a cell are the tail.
    fn new(
        desc: &ImageDesc,
        row: &Plane,
        offset: u64,
        row_pitch: RowPitch,
        cell: Option<([u32; 3], bool)>,
    ) -> Option<PlaneLayout> {
        let format = row.format();
        let info = format.info();
        let (block, block_bytes) = ([info.block.0, info.block.1].map(u32::from), u32::from(info.block_bytes));
        let mut plane = PlaneLayout { aspect: row.aspect, format, offset, block, block_bytes, ..EMPTY_PLANE };
        let (mut size, mut tail) = (0u64, None);
        let levels = desc.levels.min(MAX_LEVELS as u32);
        for level in 0..levels {
            let [width, height, depth] = desc.extent.map(|e| (e >> level).max(1));
            let [width, height] = [width.div_ceil(row.subsampling.0.into()), height.div_ceil(row.subsampling.1.into())];
            let blocks = [width.div_ceil(block[0]), height.div_ceil(block[1]), depth];
            let extent = [width, height, depth];
            let cut = |(cell, cut): &([u32; 3], bool)| {
                let (smaller, larger) = (|i: usize| extent[i] < cell[i], |i: usize| extent[i] > cell[i]);
                *cut && tail.is_none() && ((0..3).any(larger) || !(0..3).any(smaller))
            };
            if let Some((cell, _)) = cell.filter(cut) {
                let log2 = [cell[0] / block[0], cell[1] / block[1], cell[2]].map(u32::ilog2);
                let cells = [0, 1, 2].map(|i| blocks[i].div_ceil(1 << log2[i]));
                let row_pitch = u64::from(block_bytes) << log2[0];
                let (slice_pitch, grid) =
                    (row_pitch << log2[1], Some(SparseGrid { log2, cells: [cells[0], cells[1]] }));
                plane.levels[level as usize] = LevelLayout { offset: size, row_pitch, slice_pitch, extent, grid };
                size = cells
                    .iter()
                    .try_fold(SPARSE_BLOCK_BYTES, |all, &n| all.checked_mul(n.into()))?
                    .checked_add(size)?;
                continue;
            }
            tail.get_or_insert((level, size));
            let row_pitch = row_pitch(blocks, block_bytes);
            let slice_pitch = row_pitch.checked_mul(u64::from(blocks[1]))?;
            plane.levels[level as usize] = LevelLayout { offset: size, row_pitch, slice_pitch, extent, grid: None };
            size = size.checked_add(slice_pitch.checked_mul(u64::from(depth))?)?.next_multiple_of(IMAGE_ALIGNMENT);
        }
        if let Some((cell, _)) = cell {
            size = size.checked_next_multiple_of(SPARSE_BLOCK_BYTES)?;
            let (mip_tail_level, at) = tail.unwrap_or((levels, size));
            plane.residency =
                Some(SparseResidency { cell, mip_tail_level, mip_tail_offset: offset + at, mip_tail_size: size - at });
        }
        plane.sample_stride = size;
        plane.layer_stride = size.checked_mul(u64::from(desc.samples))?;
        plane.size = plane.layer_stride.checked_mul(u64::from(desc.layers))?;
        Some(plane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::TABLE;

    fn layout(name: &str, extent: [u32; 3], levels: u32, layers: u32, samples: u32) -> ImageLayout {
        let format = Format::from_vk(TABLE.iter().find(|row| row.name == name).unwrap().vk).unwrap();
        ImageLayout::new(ImageDesc { format, dim: Dim::D2, extent, levels, layers, samples }).unwrap()
    }

    fn planes(layout: &ImageLayout) -> Vec<(u64, u64, [u32; 3], u64)> {
        let of = |p: &PlaneLayout| (p.offset, p.size, p.levels[0].extent, p.levels[0].row_pitch);
        layout.planes().iter().map(of).collect()
    }

    #[test]
    fn planes_follow_each_other() {
        let three = layout("G8_B8_R8_3PLANE_420_UNORM", [640, 480, 1], 1, 1, 1);
        let (luma, chroma) = (640 * 480, 320 * 240);
        let small = [320, 240, 1];
        assert_eq!(
            planes(&three),
            [(0, luma, [640, 480, 1], 640), (luma, chroma, small, 320), (luma + chroma, chroma, small, 320)]
        );
        assert_eq!((three.size, three.plane_of(Aspect::Plane2.bit())), (luma + 2 * chroma, 2));
        assert_eq!(three.select(Aspect::Color.bit()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(three.offset(1, 0, 0, 0, [3, 5, 0]), luma + 5 * 320 + 3);

        // There are two layers, and chroma of two bytes; every plane has its own layers.
        let two = layout("G8_B8R8_2PLANE_420_UNORM", [64, 32, 1], 1, 2, 1);
        assert_eq!(planes(&two), [(0, 2 * 2048, [64, 32, 1], 64), (4096, 2 * 1024, [32, 16, 1], 64)]);
        assert_eq!(two.offset(1, 0, 1, 0, [1, 1, 0]), 4096 + 1024 + 64 + 2);
        assert_eq!(two.planes()[1].format.info().name, "R8G8_UNORM");

        // The plane is halved in one direction only, and covers the odd width.
        let wide = layout("G16_B16_R16_3PLANE_422_UNORM", [5, 3, 1], 1, 1, 1);
        assert_eq!(planes(&wide).iter().map(|p| p.2).collect::<Vec<_>>(), [[5, 3, 1], [3, 3, 1], [3, 3, 1]]);
    }

    #[test]
    fn padded_pitches_avoid_cache_set_conflicts() {
        let pitch = |name, extent| {
            let desc = layout(name, extent, 1, 1, 1).desc;
            let layouts = [ImageLayout::new_render_target(desc), ImageLayout::new(desc)];
            layouts.map(|layout| layout.unwrap().planes()[0].levels[0].row_pitch)
        };
        assert_eq!(pitch("R8G8B8A8_UNORM", [1024, 1024, 1]), [4096 + 64, 4096]);
        assert_eq!(pitch("R8G8B8A8_UNORM", [256, 16, 1]), [1024 + 64, 1024]);
        // There are few rows, or enough sets.
        assert_eq!(pitch("R8G8B8A8_UNORM", [1024, 15, 1]), [4096; 2]);
        assert_eq!(pitch("R8G8B8A8_UNORM", [1920, 1080, 1]), [7680; 2]);
        assert_eq!(pitch("R8G8B8A8_UNORM", [128, 128, 1]), [512; 2]);
    }

    #[test]
    fn given_plane_pitches_are_kept() {
        let two = layout("G8_B8R8_2PLANE_420_UNORM", [60, 31, 1], 1, 1, 1);
        let moved = two.with_plane_pitches(&[(128, 80), (64 << 10, 96)]).unwrap();
        assert_eq!(planes(&moved), [(128, 31 * 80, [60, 31, 1], 80), (64 << 10, 16 * 96, [30, 16, 1], 96)]);
        assert_eq!((moved.size, moved.offset(1, 0, 0, 0, [1, 2, 0])), ((64 << 10) + 16 * 96, (64 << 10) + 2 * 96 + 2));
        assert_eq!(moved.planes()[0].piece(0, 0), Some((128, 31 * 80)));
        // The cases are too few planes, a first plane with rows too close, an odd distance, an odd
        // offset, and a plane that is too large.
        for rows in
            [&[(0, 64)][..], &[(0, 48), (0, 64)], &[(0, 72), (0, 64)], &[(32, 64), (0, 64)], &[(0, 1 << 30), (0, 64)]]
        {
            assert_eq!(two.with_plane_pitches(rows), None, "{rows:?}");
        }
        assert_eq!(layout("R8_UNORM", [64, 64, 1], 2, 1, 1).with_plane_pitches(&[(0, 64)]), None);
    }

    #[test]
    fn planes_are_images_of_their_own_and_lie_anywhere() {
        let two = layout("G8_B8R8_2PLANE_420_UNORM", [64, 32, 1], 1, 2, 1);
        let alone = two.single_plane(1);
        assert_eq!((alone.desc.format.info().name, alone.desc.extent), ("R8G8_UNORM", [32, 16, 1]));
        assert_eq!((alone.planes().len(), alone.plane_of(Aspect::Color.bit())), (1, 0));
        assert_eq!(alone.offset(0, 0, 1, 0, [1, 1, 0]), two.offset(1, 0, 1, 0, [1, 1, 0]));
        let moved = two.with_planes_at([1 << 20, 64, 0]);
        assert_eq!(moved.offset(1, 0, 1, 0, [1, 1, 0]), 64 + 1024 + 64 + 2);
        assert_eq!((moved.offset(0, 0, 0, 0, [3, 0, 0]), moved.size), ((1 << 20) + 3, (1 << 20) + 4096));
        // Two texels have four bytes.
        let packed = layout("G8B8G8R8_422_UNORM", [10, 3, 1], 1, 1, 1);
        assert_eq!((packed.planes()[0].levels[0].row_pitch, packed.offset(0, 0, 0, 0, [7, 2, 0])), (32, 64 + 12));
    }

    #[test]
    fn blocks_are_texels() {
        let image = layout("ETC2_R8G8B8_UNORM_BLOCK", [20, 10, 1], 3, 2, 1);
        let blocks = image.as_block_texels(Format::from_vk(101).unwrap());
        let extents: Vec<_> = blocks.planes()[0].levels[..3].iter().map(|level| level.extent).collect();
        assert_eq!(extents, [[5, 3, 1], [3, 2, 1], [2, 1, 1]]);
        assert_eq!(blocks.offset(0, 1, 1, 0, [2, 1, 0]), image.offset(0, 1, 1, 0, [8, 4, 0]));
    }

    #[test]
    fn depth_and_stencil_are_planes_too() {
        let both = layout("D24_UNORM_S8_UINT", [20, 10, 1], 2, 3, 4);
        let [depth, stencil] = both.planes() else { panic!("two planes") };
        assert_eq!((depth.block_bytes, stencil.block_bytes), (4, 1));
        assert_eq!((stencil.offset, both.size), (depth.size, depth.size + stencil.size));
        assert_eq!(stencil.layer_stride, 4 * stencil.sample_stride);
        let bits = |aspects: &[Aspect]| aspects.iter().fold(0, |all, a| all | a.bit());
        let select = |aspects: &[Aspect]| both.select(bits(aspects)).collect::<Vec<_>>();
        assert_eq!(select(&[Aspect::Depth, Aspect::Stencil]), [0, 1]);
        assert_eq!((select(&[Aspect::Stencil]), select(&[Aspect::Color])), (vec![1], vec![]));
        assert_eq!(both.plane_of(Aspect::Color.bit()), 0);
        // Stencil alone begins at the start; a format without depth has no other plane.
        let stencil = layout("S8_UINT", [20, 10, 1], 2, 3, 4);
        assert_eq!((stencil.planes().len(), stencil.plane_of(Aspect::Stencil.bit())), (1, 0));
    }

    fn in_blocks(name: &str, dim: Dim, extent: [u32; 3], levels: u32, layers: u32) -> Option<ImageLayout> {
        let format = Format::from_vk(TABLE.iter().find(|row| row.name == name).unwrap().vk).unwrap();
        ImageLayout::new_sparse(ImageDesc { format, dim, extent, levels, layers, samples: 1 })
    }

    /// Tests the shapes against the specification's table of standard sparse image block shapes.
    #[test]
    fn sparse_blocks_have_the_standard_shapes() {
        let rows = [
            ("R8_UNORM", [256, 256, 1], [64, 32, 32]),
            ("R8G8_UNORM", [256, 128, 1], [32, 32, 32]),
            ("R8G8B8A8_UNORM", [128, 128, 1], [32, 32, 16]),
            ("R16G16B16A16_SFLOAT", [128, 64, 1], [32, 16, 16]),
            ("R32G32B32A32_SFLOAT", [64, 64, 1], [16, 16, 16]),
            ("BC1_RGBA_UNORM_BLOCK", [512, 256, 1], [128, 64, 16]),
            ("BC7_UNORM_BLOCK", [256, 256, 1], [64, 64, 16]),
        ];
        for (name, flat, volume) in rows {
            assert_eq!(cells_of(name), [[None, Some(flat), Some(volume)]], "{name}");
        }
        // Some formats are not in that table: 64 texels of 12 bytes leave a part unused, and planes
        // have their own cells.
        assert_eq!(cells_of("R32G32B32_SFLOAT"), [[None, Some([64, 64, 1]), Some([16, 16, 16])]]);
        let flat = |name| cells_of(name).iter().map(|cells| cells[1].unwrap()).collect::<Vec<_>>();
        assert_eq!(flat("R64G64B64A64_UINT"), [[64, 32, 1]]);
        assert_eq!(flat("D24_UNORM_S8_UINT"), [[128, 128, 1], [256, 256, 1]]);
        assert_eq!(flat("G8_B8R8_2PLANE_420_UNORM"), [[256, 256, 1], [256, 128, 1]]);
        assert_eq!(flat("G8B8G8R8_422_UNORM"), [[256, 128, 1]]);
        assert!(in_blocks("R8G8B8A8_UNORM", Dim::D1, [1024, 1, 1], 1, 1).is_none());
    }

    fn cells_of(name: &str) -> Vec<[Option<[u32; 3]>; 3]> {
        let row = TABLE.iter().find(|row| row.name == name).unwrap();
        let cells = |plane| [Dim::D1, Dim::D2, Dim::D3].map(|dim| ImageLayout::sparse_block_shape(plane, dim));
        row.planes().iter().map(cells).collect()
    }

    /// Tests that an image whose rows stay in one piece is a tail.
    #[test]
    fn images_without_sparse_blocks_are_all_mip_tail() {
        let desc = ImageDesc { levels: 3, ..in_blocks("R8G8B8A8_UNORM", Dim::D2, [300, 260, 1], 1, 2).unwrap().desc };
        let (tail, plain) = (ImageLayout::new_sparse_mip_tail(desc).unwrap(), ImageLayout::new(desc).unwrap());
        let plane = tail.planes()[0];
        assert_eq!(plane.levels, plain.planes()[0].levels);
        assert_eq!((plane.layer_stride % SPARSE_BLOCK_BYTES, tail.cell(0, 0, 0, [0; 3])), (0, None));
        let residency = plane.residency.unwrap();
        assert_eq!(
            (residency.mip_tail_level, residency.mip_tail_offset, residency.mip_tail_size),
            (0, 0, plane.layer_stride)
        );
    }

    /// Tests that planes follow each other, each with its own cells and tail.
    #[test]
    fn each_plane_has_its_own_sparse_blocks_and_tail() {
        let image = in_blocks("D24_UNORM_S8_UINT", Dim::D2, [300, 260, 1], 4, 2).unwrap();
        let [depth, stencil] = image.planes() else { panic!("two planes") };
        assert_eq!(
            (depth.layer_stride, stencil.offset, stencil.layer_stride),
            (14 * SPARSE_BLOCK_BYTES, 28 * SPARSE_BLOCK_BYTES, 5 * SPARSE_BLOCK_BYTES)
        );
        let tail = stencil.residency.unwrap();
        assert_eq!(
            (tail.mip_tail_level, tail.mip_tail_offset, tail.mip_tail_size),
            (1, 32 * SPARSE_BLOCK_BYTES, SPARSE_BLOCK_BYTES)
        );
        assert_eq!(image.cell(1, 0, 1, [1, 1, 0]), Some((28 + 5 + 3) * SPARSE_BLOCK_BYTES));
        assert_eq!(image.offset(1, 0, 0, 0, [257, 258, 0]), (28 + 3) * SPARSE_BLOCK_BYTES + 2 * 256 + 1);
    }

    #[test]
    fn levels_are_cut_and_small_ones_are_the_tail() {
        let image = in_blocks("R8G8B8A8_UNORM", Dim::D2, [300, 260, 1], 9, 2).unwrap();
        let plane = image.planes()[0];
        let cells: Vec<_> = plane.levels[..3].iter().map(|level| level.grid.map(|grid| grid.cells)).collect();
        assert_eq!(cells, [Some([3, 3]), Some([2, 2]), None]);
        let tail = image.planes()[0].residency.unwrap();
        // Levels of 75 by 65 texels, and smaller ones, fit the bytes of one cell.
        assert_eq!(
            (tail.mip_tail_level, tail.mip_tail_offset, tail.mip_tail_size),
            (2, 13 * SPARSE_BLOCK_BYTES, SPARSE_BLOCK_BYTES)
        );
        assert_eq!((plane.layer_stride, image.size), (14 * SPARSE_BLOCK_BYTES, 28 * SPARSE_BLOCK_BYTES));
        assert_eq!(image.offset(0, 0, 1, 0, [130, 129, 0]), (14 + 4) * SPARSE_BLOCK_BYTES + (128 + 2) * 4);
        assert_eq!(image.cell(0, 1, 1, [1, 1, 0]), Some((14 + 9 + 3) * SPARSE_BLOCK_BYTES));
        assert_eq!(
            [image.cell(0, 0, 0, [3, 0, 0]), image.cell(0, 2, 0, [0; 3]), image.cell(0, 0, 2, [0; 3])],
            [None; 3]
        );
        assert_eq!(
            (plane.piece(0, 0), plane.piece(1, 1)),
            (Some((0, 9 * SPARSE_BLOCK_BYTES)), Some((23 * SPARSE_BLOCK_BYTES, 4 * SPARSE_BLOCK_BYTES)))
        );
        // Levels of a whole cell or more do not belong to the tail; the cells of a volume follow
        // each other.
        for (extent, cells) in [([128, 128, 1], 1), ([503, 17, 1], 4)] {
            let image = in_blocks("R8G8B8A8_UNORM", Dim::D2, extent, 1, 1).unwrap();
            let tail = image.planes()[0].residency.unwrap();
            assert_eq!((tail.mip_tail_level, tail.mip_tail_size, image.size), (1, 0, cells * SPARSE_BLOCK_BYTES));
        }
        let volume = in_blocks("R8G8B8A8_UNORM", Dim::D3, [64, 32, 40], 2, 1).unwrap();
        assert_eq!(volume.offset(0, 0, 0, 0, [33, 1, 17]), 3 * SPARSE_BLOCK_BYTES + 32 * 32 * 4 + 32 * 4 + 4);
        assert_eq!(
            (volume.cell(0, 0, 0, [1, 0, 2]), volume.planes()[0].residency.unwrap().mip_tail_level),
            (Some(5 * SPARSE_BLOCK_BYTES), 2)
        );
    }

    /// Tests that every block of a rectangle is in one run, at its offset.
    #[test]
    fn contiguous_runs_cover_the_rectangle() {
        for image in [
            in_blocks("R8G8B8A8_UNORM", Dim::D3, [100, 70, 40], 2, 1).unwrap(),
            layout("R8G8B8A8_UNORM", [100, 70, 1], 2, 1, 1),
        ] {
            let z = image.desc.extent[2] / 2;
            let (from, size) = ([5, 31, z], [91, 34]);
            let mut seen = vec![0; 91 * 34];
            for run in image.pieces(0, 0, 0, 0, from, size) {
                for (y, x) in (0..run.rows).flat_map(|y| (0..run.columns).map(move |x| (y, x))) {
                    let at = [from[0] + run.x + x, from[1] + run.y + y, z];
                    assert_eq!(image.offset(0, 0, 0, 0, at), run.offset + u64::from(y) * run.pitch + u64::from(x) * 4);
                    seen[((run.y + y) * 91 + run.x + x) as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&n| n == 1));
        }
    }

    /// Tests that any number of samples are sub-images between the layers.
    #[test]
    fn samples_are_sub_images() {
        let one = layout("R8G8B8A8_UNORM", [33, 17, 1], 3, 2, 1);
        for samples in [1, 2, 3, 8, 16] {
            let many = layout("R8G8B8A8_UNORM", [33, 17, 1], 3, 2, samples);
            assert_eq!(many.size, one.size * u64::from(samples));
            let step = many.offset(0, 1, 1, samples - 1, [0; 3]) - many.offset(0, 1, 1, 0, [0; 3]);
            assert_eq!(step, one.planes()[0].layer_stride * u64::from(samples - 1));
        }
    }
}
