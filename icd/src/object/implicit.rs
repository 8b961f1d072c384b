//! Implicit images: the samples of attachments that have one, while a subpass renders them with several (VK_EXT_multisampled_render_to_single_sampled).
//!
//! Their memory is device memory like any other, counted against the heap. What a subpass gives back is kept for the next one, up to [`KEPT`] bytes: pages
//! that are touched anew cost more than rendering to them.

use super::heap::Heap;
use super::image::ImageView;
use super::memory::Memory;
use crate::caps::heap_size;
use crate::os::arena::Addresses;
use crate::os::backing::Backing;
use ash::vk;
use base::abi::Dim;
use base::image::{ImageDesc, ImageLayout};
use parking_lot::Mutex;
use rasterizer::api::{Attachment, ImageMemory};
use std::sync::Arc;

/// Most bytes that are kept for others.
const KEPT: u64 = 256 << 20;

/// What an implicit image is made for: a view that is rendered to, with how many samples, as far as which column and row, in how many layers.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The attachment's.
    pub view: &'a Arc<ImageView>,
    /// rasterizationSamples.
    pub samples: u32,
    /// Where the render area ends.
    pub end: [u32; 2],
    /// Of the framebuffer.
    pub layers: u32,
}

impl Wanted<'_> {
    fn layout(&self) -> Option<ImageLayout> {
        let Attachment { format, layers, .. } = self.view.attachment;
        let [width, height] = self.end.map(|n| n.max(1));
        let layers = self.layers.clamp(1, layers.max(1));
        let extent = [width, height, 1];
        ImageLayout::new(ImageDesc { format, dim: Dim::D2, extent, levels: 1, layers, samples: self.samples })
    }

    /// Bytes of memory.
    fn bytes(&self) -> u64 {
        self.layout().map_or(u64::MAX, |layout| layout.size)
    }
}

/// VK_ERROR_OUT_OF_DEVICE_MEMORY where the heap has no room for all of these at this time.
pub fn fits<'a>(all: impl Iterator<Item = Wanted<'a>>) -> Result<(), vk::Result> {
    let bytes = all.fold(Heap::used_by_process(), |sum, one| sum.saturating_add(one.bytes()));
    if bytes <= heap_size() { Ok(()) } else { Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY) }
}

/// An implicit image.
pub struct Implicit {
    /// As it is rendered to.
    pub attachment: Attachment,
    /// Of the attachment that it has the samples of.
    view: Arc<ImageView>,
    memory: Memory,
}

impl Implicit {
    /// Does it have the samples of this view?
    pub fn is_of(&self, view: &Arc<ImageView>) -> bool {
        Arc::ptr_eq(&self.view, view)
    }
}

/// A device's.
#[derive(Default)]
pub struct Implicits {
    kept: Mutex<Vec<Memory>>,
    /// Of rendering that is suspended, with the queue's number.
    suspended: Mutex<Vec<(usize, Arc<Implicit>)>>,
}

impl Implicits {
    /// An image of undefined content. VK_ERROR_OUT_OF_DEVICE_MEMORY.
    pub fn make(&self, heap: &Arc<Heap>, wanted: Wanted<'_>) -> Result<Implicit, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let layout = wanted.layout().ok_or(out)?;
        let memory = match self.take(layout.size) {
            Some(memory) => memory,
            None => self.allocate(heap, layout.size)?,
        };
        let range = memory.range(0, layout.size).ok_or(out)?;
        let layers = layout.desc.layers;
        let image = ImageMemory { base: range.address, layout: Arc::new(layout) };
        let format = wanted.view.attachment.format;
        let attachment = Attachment { image, format, level: 0, base_layer: 0, layers, slices: false };
        Ok(Implicit { attachment, view: wanted.view.clone(), memory })
    }

    /// The least kept memory of so many bytes, if it is not far more.
    fn take(&self, bytes: u64) -> Option<Memory> {
        let mut kept = self.kept.lock();
        let fits = |memory: &Memory| (bytes..=bytes.saturating_mul(2)).contains(&memory.size());
        let (at, _) = kept.iter().enumerate().filter(|(_, m)| fits(m)).min_by_key(|(_, m)| m.size())?;
        Some(kept.swap_remove(at))
    }

    fn allocate(&self, heap: &Arc<Heap>, bytes: u64) -> Result<Memory, vk::Result> {
        let allocate = || Memory::allocate(heap, bytes, Backing::usual(), Addresses::Any);
        allocate().or_else(|_| {
            self.kept.lock().clear();
            allocate()
        })
    }

    /// Takes back an image whose subpass has ended, unless somebody still has it.
    pub fn give_back(&self, implicit: Arc<Implicit>) {
        let Some(Implicit { memory, .. }) = Arc::into_inner(implicit) else { return };
        let mut kept = self.kept.lock();
        kept.push(memory);
        let mut bytes: u64 = kept.iter().map(Memory::size).sum();
        while bytes > KEPT {
            bytes -= kept.remove(0).size();
        }
    }

    /// Keeps an image for the instance that resumes rendering on the queue.
    pub fn suspend(&self, queue: usize, implicit: Arc<Implicit>) {
        self.suspended.lock().push((queue, implicit));
    }

    /// The image that was suspended with a view.
    pub fn resume(&self, queue: usize, view: &Arc<ImageView>) -> Option<Arc<Implicit>> {
        let mut suspended = self.suspended.lock();
        let at = suspended.iter().position(|(of, implicit)| *of == queue && implicit.is_of(view))?;
        Some(suspended.swap_remove(at).1)
    }
}
