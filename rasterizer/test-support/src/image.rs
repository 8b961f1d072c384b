//! Images of random texels.

use base::abi::Dim;
use base::format::{Aspect, Format, Texel, decode_texel, unpack};
use base::image::{ImageDesc, ImageLayout};
use base::mem::ImageMemory;
use base::random::Rng;
use std::sync::Arc;

/// Returns the format with this name, which is that of Vulkan without the prefix.
pub fn format(name: &str) -> Format {
    Format(base::format::TABLE.iter().position(|row| row.name == name).expect("a name of the table") as u16)
}

/// Returns the stencil aspect, or the first aspect of the format.
pub fn aspect_of(format: Format, stencil: bool) -> Aspect {
    if stencil { Aspect::Stencil } else { format.info().planes[0].aspect }
}

/// Image for [`TestImage::in_both_layouts`]: name of the format, dimension, extent, levels and
/// layers.
pub type CellImage = (&'static str, Dim, [u32; 3], u32, u32);

/// Images whose formats have all sizes, and whose extents are more than one cell and no multiples
/// of it.
pub const CELL_IMAGES: [CellImage; 9] = [
    ("R8_UNORM", Dim::D2, [300, 270, 1], 3, 1),
    ("R16_UINT", Dim::D2, [256, 129, 1], 2, 2),
    ("R8G8B8A8_UNORM", Dim::D2, [260, 140, 1], 9, 3),
    ("R32_UINT", Dim::D2, [129, 257, 1], 1, 1),
    ("R32G32B32A32_SFLOAT", Dim::D2, [65, 130, 1], 2, 6),
    ("R32G32B32_SFLOAT", Dim::D2, [130, 66, 1], 2, 1),
    ("BC1_RGBA_UNORM_BLOCK", Dim::D2, [530, 270, 1], 2, 2),
    ("R8G8B8A8_UNORM", Dim::D3, [70, 40, 33], 3, 1),
    ("R16G16B16A16_SFLOAT", Dim::D3, [33, 17, 40], 2, 1),
];

/// An image with its memory.
pub struct TestImage {
    /// The memory, which lives as long as `self`.
    pub memory: ImageMemory,
    bytes: Vec<u128>,
}

/// Marks that other memory may lie at the same address, as between two pieces of work.
impl Drop for TestImage {
    fn drop(&mut self) {
        base::epoch::next_epoch();
    }
}

impl TestImage {
    /// Makes an image of random texels. Floats are moderate numbers.
    pub fn new(
        rng: &mut Rng,
        name: &str,
        dim: Dim,
        extent: [u32; 3],
        levels: u32,
        layers: u32,
        samples: u32,
    ) -> TestImage {
        let format = format(name);
        let dim = if dim == Dim::Cube { Dim::D2 } else { dim };
        let layout = ImageLayout::new(ImageDesc { format, dim, extent, levels, layers, samples });
        let mut image = TestImage::zeroed(layout.expect("a small image"));
        let float_bits = matches!(format.info().channels[0].ty, base::format::ChannelType::Sfloat);
        for word in &mut image.bytes {
            let random = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            // Floats of either precision have moderate size: the mask keeps exponents of -1.0 to
            // 1.0.
            *word = match (float_bits, format.info().channels[0].bits) {
                (true, 16) => random & 0xbbff_bbff_bbff_bbff_bbff_bbff_bbff_bbff,
                (true, 32) => (0..4).fold(0, |acc, _| acc << 32 | u128::from(rng.float(0.0, 1.0).to_bits())),
                _ => random,
            };
        }
        image
    }

    fn zeroed(layout: ImageLayout) -> TestImage {
        let mut bytes = vec![0u128; (layout.size as usize).div_ceil(16) + 1];
        TestImage { memory: ImageMemory { base: bytes.as_mut_ptr().cast(), layout: Arc::new(layout) }, bytes }
    }

    /// Makes an image of random texels, and a copy of it whose levels are cut into cells.
    pub fn in_both_layouts(rng: &mut Rng, (name, dim, extent, levels, layers): CellImage) -> [TestImage; 2] {
        let contiguous = TestImage::new(rng, name, dim, extent, levels, layers, 1);
        let cells = contiguous.in_cells();
        [contiguous, cells]
    }

    /// Makes an image with the same texels whose levels are cut into cells.
    pub fn in_cells(&self) -> TestImage {
        let cells = TestImage::zeroed(ImageLayout::new_sparse(self.memory.layout.desc).expect("a format with cells"));
        assert!(cells.memory.layout.planes()[0].levels[0].grid.is_some());
        let bytes = self.memory.layout.planes()[0].block_bytes as usize;
        for (from, to) in self.blocks().zip(cells.blocks()) {
            // SAFETY: `blocks` returns addresses of whole blocks of either image.
            unsafe { from.copy_to_nonoverlapping(to, bytes) };
        }
        cells
    }

    /// Returns the bytes of all texels or blocks of the first plane, in an order that does not
    /// depend on the layout.
    pub fn texels(&self) -> Vec<u8> {
        let bytes = self.memory.layout.planes()[0].block_bytes as usize;
        // SAFETY: `blocks` returns addresses of whole blocks of the image, which nothing writes
        // now.
        self.blocks().flat_map(|block| unsafe { core::slice::from_raw_parts(block, bytes) }).copied().collect()
    }

    /// Returns all bytes of the memory, which includes some behind the image.
    pub fn bytes(&self) -> Vec<u8> {
        // The bytes are read through the pointer that kernels write to.
        // SAFETY: the memory is the image's own, and nothing writes to it now.
        unsafe { core::slice::from_raw_parts(self.memory.base, self.bytes.len() * size_of::<u128>()).to_vec() }
    }

    /// Returns the addresses of all texels or blocks of the first plane.
    fn blocks(&self) -> impl Iterator<Item = *mut u8> {
        let (layout, plane) = (&*self.memory.layout, &self.memory.layout.planes()[0]);
        let subresources =
            (0..layout.desc.levels).flat_map(|level| (0..layout.desc.layers).map(move |layer| (level, layer)));
        subresources.flat_map(move |(level, layer)| {
            let extent = plane.levels[level as usize].extent;
            let rows =
                (0..extent[2]).flat_map(move |z| (0..extent[1]).step_by(plane.block[1] as usize).map(move |y| (y, z)));
            rows.flat_map(move |(y, z)| {
                (0..extent[0])
                    .step_by(plane.block[0] as usize)
                    .map(move |x| self.address(0, level, layer, 0, [x, y, z]))
            })
        })
    }

    /// Returns the address of the texel or block at `at`.
    fn address(&self, plane: usize, level: u32, layer: u32, sample: u32, at: [u32; 3]) -> *mut u8 {
        let (layout, bytes) = (&*self.memory.layout, self.memory.layout.planes()[plane].block_bytes);
        let offset = layout.offset(plane, level, layer, sample, at);
        assert!(offset + u64::from(bytes) <= layout.size, "{at:?} of level {level}, layer {layer} is outside");
        self.memory.base.wrapping_add(offset as usize)
    }

    /// Returns the texel that the layout and the single-texel unpacking give.
    pub fn texel(&self, level: usize, layer: u32, sample: u32, at: [u32; 3], stencil: bool) -> Texel {
        let layout = &self.memory.layout;
        let plane = layout.plane_of(aspect_of(layout.desc.format, stencil).bit());
        let format = layout.planes()[plane].format;
        let mut block = [0u8; 16];
        let n = usize::from(format.info().block_bytes);
        // SAFETY: `address` checks that the block is inside of the image; it has at most 16 bytes.
        unsafe { self.address(plane, level as u32, layer, sample, at).copy_to_nonoverlapping(block.as_mut_ptr(), n) };
        if format.is_compressed() {
            return decode_texel(format, &block, [at[0], at[1]]);
        }
        unpack(format, &block)
    }
}
