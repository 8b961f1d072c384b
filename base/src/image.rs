//! Image layout in memory: the one place that knows where a texel lies.
//!
//! An image is its format's planes ([`crate::format::Plane`]), one after the other, each laid out as an image of its own. In a plane: samples of a
//! layer are separate sub-images, order: layer → sample → level → slice → row (row-major). Offsets are multiples of 64 bytes per level
//! and row pitch is a multiple of 16 bytes.

#![forbid(unsafe_code)]

use crate::abi::{Dim, MAX_LEVELS};
use crate::format::{Aspect, Format, MAX_PLANES, Plane};

/// What an image is made of; limits were checked by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageDesc {
    /// Of its texels.
    pub format: Format,
    /// D1, D2 or D3.
    pub dim: Dim,
    /// Texels of level 0.
    pub extent: [u32; 3],
    /// Mip levels.
    pub levels: u32,
    /// Array layers.
    pub layers: u32,
    /// Any number from 1 on.
    pub samples: u32,
}

/// One level of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelLayout {
    /// Bytes from the start of the (layer, sample).
    pub offset: u64,
    /// Bytes between rows of blocks.
    pub row_pitch: u64,
    /// Bytes between depth slices; equals the level's size for images that are not 3D.
    pub slice_pitch: u64,
    /// Texels of the plane: width, height, depth.
    pub extent: [u32; 3],
}

/// One plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneLayout {
    /// What it is called.
    pub aspect: Aspect,
    /// The format of its texels.
    pub format: Format,
    /// Bytes from the start of the image.
    pub offset: u64,
    /// Texels per block of this plane: width, height.
    pub block: [u32; 2],
    /// Bytes per block of this plane.
    pub block_bytes: u32,
    /// Levels.
    pub levels: [LevelLayout; MAX_LEVELS],
    /// Bytes between samples of a layer.
    pub sample_stride: u64,
    /// Bytes between layers.
    pub layer_stride: u64,
    /// Bytes of all layers.
    pub size: u64,
}

/// Layout of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// What it is the layout of.
    pub desc: ImageDesc,
    /// As the format's row has them; `plane_count` used (see [`ImageLayout::planes`]).
    planes: [PlaneLayout; MAX_PLANES],
    plane_count: usize,
    /// Bytes of the whole image.
    pub size: u64,
}

/// Alignment of image memory, bytes.
pub const IMAGE_ALIGNMENT: u64 = 64;

impl ImageLayout {
    /// Lays an image out. `None` when the size overflows 2^48.
    pub fn new(desc: ImageDesc) -> Option<ImageLayout> {
        let planes = desc.format.info().planes();
        let mut layout = ImageLayout { desc, planes: [EMPTY_PLANE; MAX_PLANES], plane_count: planes.len(), size: 0 };
        for (to, plane) in layout.planes.iter_mut().zip(planes) {
            *to = PlaneLayout::new(&desc, plane, layout.size)?;
            layout.size = layout.size.checked_add(to.size)?;
        }
        (layout.size < 1 << 48).then_some(layout)
    }

    /// A plane as an image of its own, which lies where it lies in this one.
    pub fn plane_alone(&self, plane: usize) -> ImageLayout {
        let mut alone = self.clone();
        let own = &self.planes()[plane];
        alone.planes[0] = PlaneLayout { aspect: Aspect::Color, ..*own };
        alone.plane_count = 1;
        alone.desc.format = own.format;
        alone.desc.extent = own.levels[0].extent;
        alone
    }

    /// An image of compressed blocks as one whose texels they are, of a format of the same size.
    pub fn of_blocks(&self, format: Format) -> ImageLayout {
        let mut blocks = self.clone();
        let [width, height] = self.planes[0].block;
        let shrink = |[x, y, z]: [u32; 3]| [x.div_ceil(width), y.div_ceil(height), z];
        blocks.planes[0].levels.iter_mut().for_each(|level| level.extent = shrink(level.extent));
        (blocks.planes[0].format, blocks.planes[0].block) = (format, [1; 2]);
        (blocks.desc.format, blocks.desc.extent) = (format, shrink(self.desc.extent));
        blocks
    }

    /// The same image with its planes elsewhere, at these offsets.
    pub fn with_planes_at(&self, offsets: [u64; MAX_PLANES]) -> ImageLayout {
        let mut moved = self.clone();
        moved.size = 0;
        for (plane, offset) in moved.planes[..self.plane_count].iter_mut().zip(offsets) {
            plane.offset = offset;
            moved.size = moved.size.max(offset + plane.size);
        }
        moved
    }

    /// The planes.
    pub fn planes(&self) -> &[PlaneLayout] {
        &self.planes[..self.plane_count]
    }

    /// Indices of the planes that a mask of aspect bits selects.
    pub fn select(&self, aspects: u32) -> impl Iterator<Item = usize> + Clone + use<> {
        let planes = self.desc.format.info().planes();
        (0..planes.len()).filter(move |&i| planes[i].selected_by(aspects))
    }

    /// The first plane that a mask of aspect bits selects; of aspects that the image has not, the first of all.
    pub fn plane_of(&self, aspects: u32) -> usize {
        self.select(aspects).next().unwrap_or(0)
    }

    /// Byte offset of the block that holds a texel of a plane. Coordinates must be inside the level.
    pub fn offset(&self, plane: usize, level: u32, layer: u32, sample: u32, [x, y, z]: [u32; 3]) -> u64 {
        let p = &self.planes[plane];
        let l = &p.levels[level as usize];
        p.offset
            + u64::from(layer) * p.layer_stride
            + u64::from(sample) * p.sample_stride
            + l.offset
            + u64::from(z) * l.slice_pitch
            + u64::from(y / p.block[1]) * l.row_pitch
            + u64::from(x / p.block[0]) * u64::from(p.block_bytes)
    }
}

const EMPTY_PLANE: PlaneLayout = PlaneLayout {
    aspect: Aspect::Color,
    format: Format::UNDEFINED,
    offset: 0,
    block: [1; 2],
    block_bytes: 0,
    levels: [LevelLayout { offset: 0, row_pitch: 0, slice_pitch: 0, extent: [0; 3] }; MAX_LEVELS],
    sample_stride: 0,
    layer_stride: 0,
    size: 0,
};

impl PlaneLayout {
    /// Offset from the start of the image, and size, of a level of a layer's first sample: its slices follow each other.
    pub fn piece(&self, level: u32, layer: u32) -> Option<(u64, u64)> {
        let level = self.levels.get(level as usize)?;
        let offset = self.offset + u64::from(layer) * self.layer_stride + level.offset;
        Some((offset, level.slice_pitch * u64::from(level.extent[2])))
    }

    fn new(desc: &ImageDesc, row: &Plane, offset: u64) -> Option<PlaneLayout> {
        let format = row.format();
        let info = format.info();
        let (block, block_bytes) = ([info.block.0, info.block.1].map(u32::from), u32::from(info.block_bytes));
        let mut plane = PlaneLayout { aspect: row.aspect, format, offset, block, block_bytes, ..EMPTY_PLANE };
        let mut size = 0u64;
        for level in 0..desc.levels.min(MAX_LEVELS as u32) {
            let [width, height, depth] = desc.extent.map(|e| (e >> level).max(1));
            let [width, height] = [width.div_ceil(row.subsampling.0.into()), height.div_ceil(row.subsampling.1.into())];
            let row_pitch = (u64::from(width.div_ceil(block[0])) * u64::from(block_bytes)).next_multiple_of(16);
            let slice_pitch = row_pitch.checked_mul(u64::from(height.div_ceil(block[1])))?;
            let extent = [width, height, depth];
            plane.levels[level as usize] = LevelLayout { offset: size, row_pitch, slice_pitch, extent };
            size = size.checked_add(slice_pitch.checked_mul(u64::from(depth))?)?.next_multiple_of(IMAGE_ALIGNMENT);
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

        // Two layers, and chroma of two bytes: every plane has its own layers.
        let two = layout("G8_B8R8_2PLANE_420_UNORM", [64, 32, 1], 1, 2, 1);
        assert_eq!(planes(&two), [(0, 2 * 2048, [64, 32, 1], 64), (4096, 2 * 1024, [32, 16, 1], 64)]);
        assert_eq!(two.offset(1, 0, 1, 0, [1, 1, 0]), 4096 + 1024 + 64 + 2);
        assert_eq!(two.planes()[1].format.info().name, "R8G8_UNORM");

        // Halved in one direction only, an odd width: the plane covers it.
        let wide = layout("G16_B16_R16_3PLANE_422_UNORM", [5, 3, 1], 1, 1, 1);
        assert_eq!(planes(&wide).iter().map(|p| p.2).collect::<Vec<_>>(), [[5, 3, 1], [3, 3, 1], [3, 3, 1]]);
    }

    #[test]
    fn planes_are_images_of_their_own_and_lie_anywhere() {
        let two = layout("G8_B8R8_2PLANE_420_UNORM", [64, 32, 1], 1, 2, 1);
        let alone = two.plane_alone(1);
        assert_eq!((alone.desc.format.info().name, alone.desc.extent), ("R8G8_UNORM", [32, 16, 1]));
        assert_eq!((alone.planes().len(), alone.plane_of(Aspect::Color.bit())), (1, 0));
        assert_eq!(alone.offset(0, 0, 1, 0, [1, 1, 0]), two.offset(1, 0, 1, 0, [1, 1, 0]));
        let moved = two.with_planes_at([1 << 20, 64, 0]);
        assert_eq!(moved.offset(1, 0, 1, 0, [1, 1, 0]), 64 + 1024 + 64 + 2);
        assert_eq!((moved.offset(0, 0, 0, 0, [3, 0, 0]), moved.size), ((1 << 20) + 3, (1 << 20) + 4096));
        // Four bytes for two texels.
        let packed = layout("G8B8G8R8_422_UNORM", [10, 3, 1], 1, 1, 1);
        assert_eq!((packed.planes()[0].levels[0].row_pitch, packed.offset(0, 0, 0, 0, [7, 2, 0])), (32, 64 + 12));
    }

    #[test]
    fn blocks_are_texels() {
        let image = layout("ETC2_R8G8B8_UNORM_BLOCK", [20, 10, 1], 3, 2, 1);
        let blocks = image.of_blocks(Format::from_vk(101).unwrap());
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
        // Stencil alone lies at the start; a format without depth has no other plane.
        let stencil = layout("S8_UINT", [20, 10, 1], 2, 3, 4);
        assert_eq!((stencil.planes().len(), stencil.plane_of(Aspect::Stencil.bit())), (1, 0));
    }

    /// Any number of samples: sub-images between the layers.
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
