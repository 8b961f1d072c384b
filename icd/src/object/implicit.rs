//! Implicit images: the samples of single-sampled attachments while a subpass renders to them with
//! several samples (VK_EXT_multisampled_render_to_single_sampled).
//!
//! Their memory is ordinary device memory and counts against the heap. Memory of a finished subpass
//! is kept for the next one, up to [`KEPT`] bytes, because touching pages anew costs more than
//! rendering to them.

use super::heap::Heap;
use super::image::ImageView;
use super::memory::Memory;
use crate::caps::heap_size;
use crate::os::arena::Addresses;
use crate::os::backing::Backing;
use ash::vk;
use base::abi::Dim;
use base::image::{ImageDesc, ImageLayout};
use base::mem::ImageMemory;
use parking_lot::Mutex;
use rasterizer::api::Attachment;
use std::sync::Arc;

/// Largest number of bytes that are kept for later images.
const KEPT: u64 = 256 << 20;

/// Parameters of an implicit image: the view that is rendered to, the number of samples, the end of
/// the render area in columns and rows, and the number of layers.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// View of the attachment.
    pub view: &'a Arc<ImageView>,
    /// The number rasterizationSamples.
    pub samples: u32,
    /// End of the render area, exclusive, in pixels.
    pub end: [u32; 2],
    /// Number of layers of the framebuffer.
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

    /// Returns the number of bytes of memory.
    fn bytes(&self) -> u64 {
        self.layout().map_or(u64::MAX, |layout| layout.size)
    }
}

/// Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY if the heap cannot hold all of these images at once.
pub fn fits<'a>(all: impl Iterator<Item = Wanted<'a>>) -> Result<(), vk::Result> {
    let bytes = all.fold(Heap::used_by_process(), |sum, one| sum.saturating_add(one.bytes()));
    if bytes <= heap_size() { Ok(()) } else { Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY) }
}

/// An implicit image.
pub struct Implicit {
    /// The image as it is rendered to.
    pub attachment: Attachment,
    /// View of the attachment whose samples the image holds.
    view: Arc<ImageView>,
    memory: Memory,
}

impl Implicit {
    /// Returns true if the image holds the samples of this view.
    pub fn is_of(&self, view: &Arc<ImageView>) -> bool {
        Arc::ptr_eq(&self.view, view)
    }
}

/// Implicit images of a device.
#[derive(Default)]
pub struct Implicits {
    kept: Mutex<Vec<Memory>>,
    /// Images of suspended rendering, with the queue's number.
    suspended: Mutex<Vec<(usize, Arc<Implicit>)>>,
}

impl Implicits {
    /// Creates an image with undefined content. Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY.
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

    /// Takes the smallest kept memory of at least this number of bytes, if it is not much larger.
    fn take(&self, bytes: u64) -> Option<Memory> {
        let mut kept = self.kept.lock();
        let fits = |memory: &Memory| (bytes..=bytes.saturating_mul(2)).contains(&memory.size());
        let (at, _) = kept.iter().enumerate().filter(|(_, m)| fits(m)).min_by_key(|(_, m)| m.size())?;
        Some(kept.swap_remove(at))
    }

    fn allocate(&self, heap: &Arc<Heap>, bytes: u64) -> Result<Memory, vk::Result> {
        let allocate = || Memory::allocate(heap, bytes, Backing::usual(), Addresses::Any);
        allocate().or_else(|_| {
            // No submission uses the kept memory, and this image needs its bytes now.
            self.kept.lock().drain(..).for_each(Memory::release);
            allocate()
        })
    }

    /// Takes back an image whose subpass has ended, unless it is still referenced.
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

    /// Returns the image that was suspended with a view.
    pub fn resume(&self, queue: usize, view: &Arc<ImageView>) -> Option<Arc<Implicit>> {
        let mut suspended = self.suspended.lock();
        let at = suspended.iter().position(|(of, implicit)| *of == queue && implicit.is_of(view))?;
        Some(suspended.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::Image;
    use super::*;

    fn view(heap: &Arc<Heap>) -> (Arc<ImageView>, u64) {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .extent(vk::Extent3D { width: 64, height: 64, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1);
        let image = Arc::new(Image::new(&info).expect("image"));
        let bytes = image.layout.size;
        let memory = Memory::allocate(heap, bytes, Backing::Anonymous, Addresses::Any).expect("memory");
        image.bind(Arc::new(memory), 0).expect("bound");
        let subresource_range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        };
        let info = vk::ImageViewCreateInfo::default()
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(info.format)
            .subresource_range(subresource_range);
        (Arc::new(ImageView::new(image, &info, 0.0, None, None, false).expect("view")), bytes)
    }

    #[test]
    fn memory_is_kept_for_others_and_let_go_where_there_is_no_more() {
        let heap = Arc::new(Heap::default());
        let (view, bytes) = view(&heap);
        let implicits = Implicits::default();
        let make = |samples, side| implicits.make(&heap, Wanted { view: &view, samples, end: [side; 2], layers: 1 });
        let first = make(4, 64).expect("memory");
        assert_eq!((first.attachment.image.layout.desc.samples, first.is_of(&view)), (4, true));
        let (base, kept) = (first.attachment.image.base, first.memory.size());
        implicits.give_back(Arc::new(first));
        let again = make(4, 60).expect("memory");
        assert_eq!(again.attachment.image.base, base, "large enough");
        implicits.give_back(Arc::new(again));
        let small = make(2, 8).expect("memory");
        assert_ne!(small.attachment.image.base, base, "far too large");
        // This takes all of the heap but the kept memory, which is released if there is no other
        // space.
        let used = bytes + kept + small.memory.size();
        let _rest = heap.reserve(heap_size() - used).expect("what is left");
        assert_eq!(make(16, 64).err(), Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        assert!(implicits.kept.lock().is_empty());
        assert!(make(2, 16).is_ok());
    }

    #[test]
    fn suspended_rendering_finds_its_samples_on_its_queue() {
        let heap = Arc::new(Heap::default());
        let ((view, _), (other, _)) = (view(&heap), view(&heap));
        let implicits = Implicits::default();
        let one = Arc::new(
            implicits.make(&heap, Wanted { view: &view, samples: 2, end: [64; 2], layers: 1 }).expect("memory"),
        );
        implicits.suspend(1, one.clone());
        assert!(implicits.resume(0, &view).is_none() && implicits.resume(1, &other).is_none());
        assert!(implicits.resume(1, &view).is_some_and(|found| Arc::ptr_eq(&found, &one)));
        assert!(implicits.resume(1, &view).is_none(), "once");
    }
}
