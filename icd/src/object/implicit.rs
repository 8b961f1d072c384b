//! Implicit images: the samples of single-sampled attachments while a subpass renders to them with
//! several samples (VK_EXT_multisampled_render_to_single_sampled).
//!
//! Their memory is ordinary device memory and counts against the heap. Memory of a finished subpass
//! is kept for the next one, up to [`MAX_CACHED_BYTES`] bytes, because touching pages anew costs
//! more than rendering to them.

use super::heap::Heap;
use super::image::ImageView;
use super::memory::Memory;
use crate::caps::heap_size;
use crate::os::arena::AddressRequest;
use crate::os::backing::Backing;
use ash::vk;
use base::abi::Dim;
use base::image::{ImageDesc, ImageLayout};
use base::mem::ImageMemory;
use parking_lot::Mutex;
use rasterizer::api::Attachment;
use std::sync::Arc;

/// Largest number of bytes that are kept for later images.
const MAX_CACHED_BYTES: u64 = 256 << 20;

/// Parameters of an implicit image: the view that is rendered to, the number of samples, the end of
/// the render area in columns and rows, and the number of layers.
#[derive(Clone, Copy)]
pub struct ImplicitDesc<'a> {
    /// View of the attachment.
    pub view: &'a Arc<ImageView>,
    /// The number rasterizationSamples.
    pub samples: u32,
    /// End of the render area, exclusive, in pixels.
    pub end: [u32; 2],
    /// Number of layers of the framebuffer.
    pub layers: u32,
}

impl ImplicitDesc<'_> {
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
pub fn check_memory<'a>(all: impl Iterator<Item = ImplicitDesc<'a>>) -> Result<(), vk::Result> {
    let bytes = all.fold(Heap::used_by_process(), |sum, one| sum.saturating_add(one.bytes()));
    if bytes <= heap_size() { Ok(()) } else { Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY) }
}

/// An implicit image.
pub struct ImplicitImage {
    /// The image as it is rendered to.
    pub attachment: Attachment,
    /// View of the attachment whose samples the image holds.
    view: Arc<ImageView>,
    memory: Memory,
}

impl ImplicitImage {
    /// Returns true if the image holds the samples of this view.
    pub fn belongs_to_view(&self, view: &Arc<ImageView>) -> bool {
        Arc::ptr_eq(&self.view, view)
    }
}

/// Implicit images of a device.
#[derive(Default)]
pub struct ImplicitImages {
    cached: Mutex<Vec<Memory>>,
    /// Images of suspended rendering, with the queue's number.
    suspended: Mutex<Vec<(usize, Arc<ImplicitImage>)>>,
}

impl ImplicitImages {
    /// Creates an image with undefined content. Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY.
    pub fn create(&self, heap: &Arc<Heap>, image_desc: ImplicitDesc<'_>) -> Result<ImplicitImage, vk::Result> {
        let out = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        let layout = image_desc.layout().ok_or(out)?;
        let memory = match self.take(layout.size) {
            Some(memory) => memory,
            None => self.allocate(heap, layout.size)?,
        };
        let range = memory.range(0, layout.size).ok_or(out)?;
        let layers = layout.desc.layers;
        let image = ImageMemory { base: range.address, layout: Arc::new(layout) };
        let format = image_desc.view.attachment.format;
        let attachment = Attachment { image, format, level: 0, base_layer: 0, layers, slices: false };
        Ok(ImplicitImage { attachment, view: image_desc.view.clone(), memory })
    }

    /// Takes the smallest kept memory of at least this number of bytes, if it is not much larger.
    fn take(&self, bytes: u64) -> Option<Memory> {
        let mut cached = self.cached.lock();
        let fits = |memory: &Memory| (bytes..=bytes.saturating_mul(2)).contains(&memory.size());
        let (at, _) = cached.iter().enumerate().filter(|(_, m)| fits(m)).min_by_key(|(_, m)| m.size())?;
        Some(cached.swap_remove(at))
    }

    fn allocate(&self, heap: &Arc<Heap>, bytes: u64) -> Result<Memory, vk::Result> {
        let allocate = || Memory::allocate(heap, bytes, Backing::default_kind(), AddressRequest::Any);
        allocate().or_else(|_| {
            // No submission uses the kept memory, and this image needs its bytes now.
            self.cached.lock().drain(..).for_each(Memory::release);
            allocate()
        })
    }

    /// Takes back an image whose subpass has ended, unless it is still referenced.
    pub fn recycle(&self, implicit: Arc<ImplicitImage>) {
        let Some(ImplicitImage { memory, .. }) = Arc::into_inner(implicit) else { return };
        let mut cached = self.cached.lock();
        cached.push(memory);
        let mut bytes: u64 = cached.iter().map(Memory::size).sum();
        while bytes > MAX_CACHED_BYTES {
            bytes -= cached.remove(0).size();
        }
    }

    /// Keeps an image for the instance that resumes rendering on the queue.
    pub fn suspend(&self, queue: usize, implicit: Arc<ImplicitImage>) {
        self.suspended.lock().push((queue, implicit));
    }

    /// Returns the image that was suspended with a view.
    pub fn resume(&self, queue: usize, view: &Arc<ImageView>) -> Option<Arc<ImplicitImage>> {
        let mut suspended = self.suspended.lock();
        let at = suspended.iter().position(|(of, implicit)| *of == queue && implicit.belongs_to_view(view))?;
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
        let memory = Memory::allocate(heap, bytes, Backing::Anonymous, AddressRequest::Any).expect("memory");
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
    fn memory_is_cached_and_released_under_pressure() {
        let heap = Arc::new(Heap::default());
        let (view, bytes) = view(&heap);
        let implicit_images = ImplicitImages::default();
        let make = |samples, side| {
            implicit_images.create(&heap, ImplicitDesc { view: &view, samples, end: [side; 2], layers: 1 })
        };
        let first = make(4, 64).expect("memory");
        assert_eq!((first.attachment.image.layout.desc.samples, first.belongs_to_view(&view)), (4, true));
        let (base, cached) = (first.attachment.image.base, first.memory.size());
        implicit_images.recycle(Arc::new(first));
        let again = make(4, 60).expect("memory");
        assert_eq!(again.attachment.image.base, base, "large enough");
        implicit_images.recycle(Arc::new(again));
        let small = make(2, 8).expect("memory");
        assert_ne!(small.attachment.image.base, base, "far too large");
        // This takes all of the heap but the kept memory, which is released if there is no other
        // space.
        let used = bytes + cached + small.memory.size();
        let _rest = heap.reserve(heap_size() - used).expect("what is left");
        assert_eq!(make(16, 64).err(), Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        assert!(implicit_images.cached.lock().is_empty());
        assert!(make(2, 16).is_ok());
    }

    #[test]
    fn resumed_rendering_finds_its_samples_on_its_queue() {
        let heap = Arc::new(Heap::default());
        let ((view, _), (other, _)) = (view(&heap), view(&heap));
        let implicit_images = ImplicitImages::default();
        let one = Arc::new(
            implicit_images
                .create(&heap, ImplicitDesc { view: &view, samples: 2, end: [64; 2], layers: 1 })
                .expect("memory"),
        );
        implicit_images.suspend(1, one.clone());
        assert!(implicit_images.resume(0, &view).is_none() && implicit_images.resume(1, &other).is_none());
        assert!(implicit_images.resume(1, &view).is_some_and(|found| Arc::ptr_eq(&found, &one)));
        assert!(implicit_images.resume(1, &view).is_none(), "once");
    }
}
