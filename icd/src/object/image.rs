//! Images and image views.

use super::memory::{Binding, Heap};
use super::sparse::SparseRange;
use crate::caps::limits::SAMPLE_COUNTS;
use crate::caps::newer::IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR;
use crate::os::arena::AddressRequest;
use ash::vk;
use base::abi::{self, Dim};
use base::format::{Format, MAX_PLANES};
use base::image::{ImageDesc, ImageLayout, PlaneLayout};
use base::mem::{ImageMemory, MemoryRange};
use rasterizer::api::Attachment;
use std::sync::{Arc, OnceLock};
use texture::{ConvertedView, YcbcrConversion, converted_view};

/// Aspects of an image with a DRM format modifier.
const MEMORY_PLANES: [vk::ImageAspectFlags; MAX_PLANES] = [
    vk::ImageAspectFlags::MEMORY_PLANE_0_EXT,
    vk::ImageAspectFlags::MEMORY_PLANE_1_EXT,
    vk::ImageAspectFlags::MEMORY_PLANE_2_EXT,
];

/// Object behind a `VkImage`.
pub struct Image {
    /// Layout in memory. For a disjoint image it is the layout that the planes would have in one
    /// piece; [`Image::memory`] has the real one.
    pub layout: Arc<ImageLayout>,
    /// True if each plane is bound separately.
    disjoint: bool,
    /// True if the image was created with VK_IMAGE_CREATE_SPARSE_BINDING_BIT.
    pub is_sparse: bool,
    /// True if shaders may use views of a single layer both as arrays and as non-arrays.
    aliases: bool,
    /// Bindings of the planes, or in the first element that of all planes.
    bindings: [OnceLock<Binding>; MAX_PLANES],
    /// Layout of a disjoint image, once bound.
    disjoint_layout: OnceLock<Arc<ImageLayout>>,
}

/// Returns true if the rows of the image should be laid out apart, because it is rendered to.
/// Planes are excluded, because their rows may belong to an image of their own. Other images have
/// contiguous rows, which transfers prefer.
fn is_render_target(info: &vk::ImageCreateInfo<'_>, desc: &ImageDesc) -> bool {
    let drawn = info.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT) && desc.format.info().planes().len() == 1;
    drawn && info.tiling == vk::ImageTiling::OPTIMAL
}

impl Image {
    /// Creates an unbound image. Formats and sizes that the driver cannot lay out are refused.
    pub fn new(info: &vk::ImageCreateInfo<'_>) -> Result<Image, vk::Result> {
        let format = format_of(info.format)?;
        let dim = match info.image_type {
            vk::ImageType::TYPE_1D => Dim::D1,
            vk::ImageType::TYPE_2D => Dim::D2,
            vk::ImageType::TYPE_3D => Dim::D3,
            _ => return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT),
        };
        let samples = info.samples.as_raw();
        let samples_fit = samples.is_power_of_two() && SAMPLE_COUNTS.contains(info.samples);
        let levels_fit = (1..=base::limits::MAX_LEVELS as u32).contains(&info.mip_levels);
        let disjoint = info.flags.contains(vk::ImageCreateFlags::DISJOINT);
        let is_sparse = info.flags.contains(vk::ImageCreateFlags::SPARSE_BINDING);
        // The addresses of a sparse image are one range.
        if !samples_fit || !levels_fit || (is_sparse && disjoint) {
            return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        }
        let extent = [info.extent.width.max(1), info.extent.height.max(1), info.extent.depth.max(1)];
        let desc =
            ImageDesc { format, dim, extent, levels: info.mip_levels, layers: info.array_layers.max(1), samples };
        let layout = if info.flags.contains(vk::ImageCreateFlags::SPARSE_RESIDENCY) {
            if dim == Dim::D1 || samples > 1 {
                return Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
            }
            match info.tiling {
                vk::ImageTiling::LINEAR => ImageLayout::new_sparse_mip_tail(desc),
                _ => ImageLayout::new_sparse(desc),
            }
        } else if is_render_target(info, &desc) {
            ImageLayout::new_render_target(desc)
        } else {
            ImageLayout::new(desc)
        };
        let layout = layout.ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        Ok(Image {
            layout: Arc::new(layout),
            disjoint,
            is_sparse,
            aliases: info.flags.contains(IMAGE_CREATE_ALIAS_SINGLE_LAYER_DESCRIPTOR),
            bindings: Default::default(),
            disjoint_layout: OnceLock::new(),
        })
    }

    /// Returns the image with other plane layouts, given by the offset of the first texel and the
    /// bytes between rows, as [`ImageLayout::with_plane_pitches`] does.
    pub fn with_plane_pitches(self, rows: &[(u64, u64)]) -> Option<Image> {
        let layout = Arc::new(self.layout.with_plane_pitches(rows)?);
        Some(Image { layout, ..self })
    }

    /// Gives a sparse image its addresses, once. Fails with VK_ERROR_OUT_OF_DEVICE_MEMORY.
    pub fn reserve_addresses(&self, heap: &Arc<Heap>) -> Result<(), vk::Result> {
        self.set(0, Binding::sparse(heap, self.layout.size, AddressRequest::Any)?)
    }

    /// Returns the addresses of a sparse image.
    pub fn sparse(&self) -> Option<Arc<SparseRange>> {
        self.bindings[0].get()?.as_sparse()
    }

    /// Implements `vkBindImageMemory`; refuses a second binding.
    pub fn bind(&self, memory: Arc<super::memory::Memory>, offset: u64) -> Result<(), vk::Result> {
        self.bind_part(0, memory, offset, self.layout.size)
    }

    /// Binds the memory of a plane of a disjoint image; refuses a second binding.
    pub fn bind_plane(
        &self,
        aspect: vk::ImageAspectFlags,
        memory: Arc<super::memory::Memory>,
        offset: u64,
    ) -> Result<(), vk::Result> {
        let plane = self.plane_index(aspect);
        self.bind_part(plane, memory, offset, self.layout.planes()[plane].size)
    }

    fn bind_part(
        &self,
        plane: usize,
        memory: Arc<super::memory::Memory>,
        offset: u64,
        bytes: u64,
    ) -> Result<(), vk::Result> {
        self.set(plane, Binding::new(memory, offset, bytes)?)
    }

    fn set(&self, plane: usize, binding: Binding) -> Result<(), vk::Result> {
        self.bindings[plane].set(binding).map_err(|_| vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
    }

    /// Returns the number of bytes that a binding needs: those of one plane if the image is
    /// disjoint and `plane` names one.
    pub fn bytes(&self, plane: Option<vk::ImageAspectFlags>) -> u64 {
        plane.filter(|_| self.disjoint).map_or(self.layout.size, |aspect| self.plane(aspect).size)
    }

    /// Ends the bindings to memory because the image's handle is destroyed. Commands that are
    /// executed later find no memory.
    pub fn end(&self) {
        self.bindings.iter().filter_map(OnceLock::get).for_each(Binding::end);
    }

    /// Returns the memory of all planes: none before they are bound, and none after [`Image::end`].
    pub fn memory(&self) -> Option<ImageMemory> {
        let address = |binding: &OnceLock<Binding>| Some(binding.get()?.range()?.address);
        if !self.disjoint {
            return Some(ImageMemory { base: address(&self.bindings[0])?, layout: self.layout.clone() });
        }
        let mut addresses = [std::ptr::null_mut(); MAX_PLANES];
        for (to, binding) in addresses.iter_mut().zip(&self.bindings).take(self.layout.planes().len()) {
            *to = address(binding)?;
        }
        // All device memory lies in one range of addresses.
        let base = addresses.into_iter().filter(|at| !at.is_null()).min()?;
        let place =
            || Arc::new(self.layout.with_planes_at(addresses.map(|at| (at as u64).saturating_sub(base as u64))));
        Some(ImageMemory { base, layout: self.disjoint_layout.get_or_init(place).clone() })
    }

    /// Returns the memory of the layers of a subresource, each in one piece, if the image has them;
    /// `memory` is the image's.
    pub fn subresources(
        &self,
        memory: &ImageMemory,
        s: &vk::ImageSubresourceLayers,
    ) -> impl Iterator<Item = MemoryRange> {
        let plane = memory.layout.planes()[memory.layout.plane_of(s.aspect_mask.as_raw())];
        let layers = self.layout.desc.layers;
        let rest = layers.saturating_sub(s.base_array_layer);
        let count = if s.mip_level < self.layout.desc.levels { rest.min(s.layer_count) } else { 0 };
        let all = MemoryRange { address: memory.base, size: memory.layout.size };
        (s.base_array_layer..s.base_array_layer + count).filter_map(move |layer| {
            let (offset, size) = plane.piece(s.mip_level, layer)?;
            all.exact(offset, size)
        })
    }

    /// Returns the first plane of an aspect mask.
    pub fn plane(&self, aspects: vk::ImageAspectFlags) -> &PlaneLayout {
        &self.layout.planes()[self.plane_index(aspects)]
    }

    /// Returns the index of the first plane of an aspect mask. The memory planes of an image with a
    /// modifier are the planes of the format.
    fn plane_index(&self, aspects: vk::ImageAspectFlags) -> usize {
        let memory = MEMORY_PLANES.iter().position(|&plane| aspects.contains(plane));
        let memory = memory.filter(|&plane| plane < self.layout.planes().len());
        memory.unwrap_or_else(|| self.layout.plane_of(aspects.as_raw()))
    }

    /// Returns the offset in the image at which the memory of a plane's binding begins.
    pub fn origin(&self, plane: &PlaneLayout) -> u64 {
        if self.disjoint { plane.offset } else { 0 }
    }

    /// Returns the memory that a view of an aspect sees. A view of one of several planes sees that
    /// plane as an image of its own. A view of compressed blocks as texels of another format sees
    /// an image of those texels.
    fn aspect_memory(&self, memory: ImageMemory, aspects: vk::ImageAspectFlags, format: Format) -> ImageMemory {
        let planes = vk::ImageAspectFlags::PLANE_0 | vk::ImageAspectFlags::PLANE_1 | vk::ImageAspectFlags::PLANE_2;
        let layout = &memory.layout;
        let seen = if aspects.intersects(planes) && layout.planes().len() > 1 {
            layout.single_plane(layout.plane_of(aspects.as_raw()))
        } else if layout.desc.format.is_compressed() && !format.is_compressed() {
            layout.as_block_texels(format)
        } else {
            return memory;
        };
        ImageMemory { base: memory.base, layout: Arc::new(seen) }
    }
}

/// Returns the row of a `VkFormat` in the table.
pub fn format_of(format: vk::Format) -> Result<Format, vk::Result> {
    // Rows that are no `VkFormat` have negative numbers.
    let row = u32::try_from(format.as_raw()).ok().and_then(Format::from_vk).filter(|f| *f != Format::UNDEFINED);
    row.ok_or(vk::Result::ERROR_FORMAT_NOT_SUPPORTED)
}

/// Error for levels or layers that the image does not have, which no valid call requests.
const OUT_OF_RANGE: vk::Result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;

/// The constant VK_REMAINING_3D_SLICES_EXT.
const REMAINING_SLICES: u32 = !0;

/// Form of a view that shaders use.
enum ShaderView {
    Plain(Box<abi::ImageView>),
    /// A view with a sampler Y'CbCr conversion.
    Converted(ConvertedView),
}

/// Object behind a `VkImageView`.
pub struct ImageView {
    /// The view as shaders see it.
    shader: ShaderView,
    /// The view as shaders see it as a storage image, if that differs: some slices of a volume.
    sliced: Option<Box<abi::ImageView>>,
    /// Image of the view. Its memory is released when its handle is destroyed, in spite of this
    /// reference.
    image: Arc<Image>,
    /// The view as a render target: level, layers and format of its base level.
    pub attachment: Attachment,
}

impl ImageView {
    /// Creates a view of a bound image. `min_lod` is that of `VkImageViewMinLodCreateInfoEXT`.
    /// `sliced` is the offset and count of `VkImageViewSlicedCreateInfoEXT`: shaders see these
    /// slices of a volume's only level as a storage image. ASTC is decoded to bytes if requested
    /// (`VkImageViewASTCDecodeModeEXT`) and to halves otherwise; the mode E5B9G9R9 is not reported
    /// as supported.
    pub fn new(
        image: Arc<Image>,
        info: &vk::ImageViewCreateInfo<'_>,
        min_lod: f32,
        sliced: Option<(u32, u32)>,
        conversion: Option<&YcbcrConversion>,
        in_bytes: bool,
    ) -> Result<ImageView, vk::Result> {
        let format = format_of(info.format)?;
        let memory = image.memory().ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        let range = &info.subresource_range;
        let memory = image.aspect_memory(memory, range.aspect_mask, format);
        let desc = memory.layout.desc;
        let slices = desc.dim == Dim::D3 && info.view_type != vk::ImageViewType::TYPE_3D;
        let (level, layer) = (range.base_mip_level, range.base_array_layer);
        if level >= desc.levels {
            return Err(OUT_OF_RANGE);
        }
        let levels =
            if range.level_count == vk::REMAINING_MIP_LEVELS { desc.levels - level } else { range.level_count };
        let all_layers = if desc.dim == Dim::D3 { (desc.extent[2] >> level).max(1) } else { desc.layers };
        let layers = if range.layer_count != vk::REMAINING_ARRAY_LAYERS {
            range.layer_count
        } else if desc.dim == Dim::D3 && !slices {
            1
        } else {
            all_layers.saturating_sub(layer)
        };
        let (dim, arrayed) = dimension(info.view_type);
        // An array of one layer is read without a layer as with layer 0.
        let alone = layers == 1 && conversion.is_none() && matches!(dim, Dim::D1 | Dim::D2);
        let arrayed = arrayed || (image.aliases && alone);
        let beyond = |first: u32, count: u32, all: u32| first.checked_add(count).is_none_or(|end| end > all);
        let layers_beyond = dim != Dim::D3 && beyond(layer, layers, all_layers);
        if beyond(level, levels, desc.levels) || layers_beyond || layers == 0 || levels == 0 {
            return Err(OUT_OF_RANGE);
        }
        let request = texture::ViewRequest {
            memory: &memory,
            format: if in_bytes { format.in_bytes() } else { format },
            dim,
            arrayed,
            slices,
            levels: (level, levels),
            layers: (layer, layers),
            aspect: memory.layout.planes()[memory.layout.plane_of(range.aspect_mask.as_raw())].aspect,
            swizzle: swizzle(&info.components),
            min_lod: (min_lod - level as f32).max(0.0),
        };
        let shader = match conversion {
            Some(conversion) => {
                let mut converted = converted_view(&request, conversion);
                if let Some(sparse) = image.sparse() {
                    converted.set_residency(sparse.piece().residency(0));
                }
                ShaderView::Converted(converted)
            }
            None => {
                let mut view = Box::new(texture::image_view(&request));
                if let (Some(sparse), true) = (image.sparse(), view.levels > 0) {
                    texture::set_residency(&mut view, sparse.piece().residency(0));
                }
                ShaderView::Plain(view)
            }
        };
        let sliced = sliced.filter(|_| dim == Dim::D3 && levels == 1);
        let sliced = sliced.map(|slices| restrict_to_slices(texture::image_view(&request), slices)).transpose()?;
        let slices = desc.dim == Dim::D3;
        let target_layers = if dim == Dim::D3 { all_layers } else { layers };
        let attachment = Attachment { image: memory, format, level, base_layer: layer, layers: target_layers, slices };
        Ok(ImageView { shader, sliced, image, attachment })
    }

    /// Returns false after the image's handle has been destroyed, because there is no memory behind
    /// the view any more.
    pub fn has_memory(&self) -> bool {
        self.image.bindings[0].get().and_then(Binding::range).is_some()
    }

    /// Returns the view as shaders see it.
    pub fn view(&self) -> &abi::ImageView {
        match &self.shader {
            ShaderView::Plain(view) => view,
            ShaderView::Converted(converted) => &converted.view,
        }
    }

    /// Returns the view as shaders see it as a storage image.
    pub fn storage(&self) -> &abi::ImageView {
        self.sliced.as_deref().unwrap_or(self.view())
    }

    /// Returns the number of samples of the image.
    pub fn samples(&self) -> u32 {
        self.attachment.image.layout.desc.samples
    }

    /// Returns the extent of the base level in texels.
    pub fn extent(&self) -> [u32; 3] {
        self.attachment.image.layout.planes()[0].levels[self.attachment.level as usize].extent
    }
}

/// Restricts a view to some slices of a volume, given by the first one and their number.
fn restrict_to_slices(mut view: abi::ImageView, (first, count): (u32, u32)) -> Result<Box<abi::ImageView>, vk::Result> {
    let volume = &mut view.level[0];
    let rest = volume.depth.saturating_sub(first);
    let count = if count == REMAINING_SLICES { rest } else { count };
    if count == 0 || count > rest {
        return Err(OUT_OF_RANGE);
    }
    match volume.cell {
        0 => volume.offset += u64::from(first) * volume.slice_pitch,
        _ => volume.first_slice = first,
    }
    volume.depth = count;
    view.rows = texture::rows_of(&view);
    Ok(Box::new(view))
}

fn dimension(view_type: vk::ImageViewType) -> (Dim, bool) {
    match view_type {
        vk::ImageViewType::TYPE_1D => (Dim::D1, false),
        vk::ImageViewType::TYPE_1D_ARRAY => (Dim::D1, true),
        vk::ImageViewType::TYPE_2D_ARRAY => (Dim::D2, true),
        vk::ImageViewType::TYPE_3D => (Dim::D3, false),
        vk::ImageViewType::CUBE => (Dim::Cube, false),
        vk::ImageViewType::CUBE_ARRAY => (Dim::Cube, true),
        _ => (Dim::D2, false),
    }
}

/// Converts a `VkComponentMapping` to the form that views and conversions use.
pub fn swizzle(components: &vk::ComponentMapping) -> [u8; 4] {
    let source = |swizzle: vk::ComponentSwizzle, identity: u8| match swizzle {
        vk::ComponentSwizzle::ZERO => 4,
        vk::ComponentSwizzle::ONE => 5,
        vk::ComponentSwizzle::R => 0,
        vk::ComponentSwizzle::G => 1,
        vk::ComponentSwizzle::B => 2,
        vk::ComponentSwizzle::A => 3,
        _ => identity,
    };
    [source(components.r, 0), source(components.g, 1), source(components.b, 2), source(components.a, 3)]
}
