//! Contiguous copies of levels that are divided into sparse blocks, for operations on whole rows
//! other than copies. Blits that scale and resolves of images with sparse residency work on such a
//! copy of the level.

#![forbid(unsafe_code)]

use super::image_copy::{ImageCopy, copy_image};
use super::region::{SubresourceLayers, level_of};
use super::rows::HelperThreads;
use base::abi::ADDRESS_TAIL;
use base::alloc::{filled, or_unwind};
use base::image::{ImageDesc, ImageLayout};
use base::mem::ImageMemory;
use std::sync::Arc;

/// A contiguous copy of some layers of a level.
pub struct ContiguousLevel {
    /// An image with that level and those layers only.
    pub image: ImageMemory,
    /// Position of the level in the copy.
    pub place: SubresourceLayers,
    /// Position of the level in the original image.
    of: SubresourceLayers,
    _memory: Vec<u128>,
}

impl ContiguousLevel {
    /// Copies a level that is divided into sparse blocks; `None` for other levels.
    pub fn new(threads: HelperThreads, image: &ImageMemory, of: &SubresourceLayers) -> Option<ContiguousLevel> {
        let level =
            level_of(image, image.layout.plane_of(of.aspects), of.level).filter(|level| level.grid.is_some())?;
        let layers = image.layout.desc.layers.saturating_sub(of.base_layer).min(of.layer_count);
        let desc = ImageDesc { extent: level.extent, levels: 1, layers, ..image.layout.desc };
        let layout = ImageLayout::new(desc)?;
        let words = usize::try_from(layout.size).ok()?.div_ceil(16) + ADDRESS_TAIL / 16;
        let mut memory = or_unwind(filled(0, words));
        let contiguous = ImageMemory { base: memory.as_mut_ptr().cast(), layout: Arc::new(layout) };
        let place = SubresourceLayers { level: 0, base_layer: 0, layer_count: layers, ..*of };
        let contiguous = ContiguousLevel { image: contiguous, place, of: *of, _memory: memory };
        copy_image(threads, image, &contiguous.image, &contiguous.whole(*of, place));
        Some(contiguous)
    }

    /// Copies everything back.
    pub fn put_back(&self, threads: HelperThreads, image: &ImageMemory) {
        copy_image(threads, &self.image, image, &self.whole(self.place, self.of));
    }

    fn whole(&self, src: SubresourceLayers, dst: SubresourceLayers) -> ImageCopy {
        ImageCopy { src, src_offset: [0; 3], dst, dst_offset: [0; 3], extent: self.image.layout.desc.extent }
    }
}
