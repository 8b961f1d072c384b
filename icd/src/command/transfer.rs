//! Transfers: convert Vulkan's regions and call the rasterizer's transfer functions, on the
//! device's pool if there is enough work.

use super::ResolveModes;
use crate::device::Device;
use ash::vk;
use base::alloc::{collect, or_unwind};
use base::mem::{DeviceMemory, ImageMemory, MemoryRange};
use rasterizer::api::Attachment;
use transfer as t;

/// Number of bytes, read and written, below which the queue's thread moves them alone: it finishes
/// before another thread would wake.
const MIN_PARALLEL_MOVE: u64 = 4 << 20;
/// Number of bytes below which the queue's thread works alone if values are computed, which one
/// thread does at some GB/s.
const MIN_PARALLEL_COMPUTE: u64 = 256 << 10;

/// Number of bytes, read and written, from which on a region has tasks of its own.
const MIN_PARALLEL_REGION: u64 = 2 << 20;

/// Returns the threads for a transfer of this many bytes.
fn threads(device: &Device, bytes: u64, alone: u64) -> t::HelperThreads<'_> {
    (bytes > alone && device.engine.pool().threads() > 1).then(|| device.engine.pool().work_sharing())
}

/// Returns the number of bytes of some texels of an image, in all of its planes.
fn bytes_of(texels: u64, image: &ImageMemory) -> u64 {
    let blocks = |plane: &base::image::PlaneLayout| {
        texels.saturating_mul(plane.block_bytes.into()) / u64::from(plane.block[0] * plane.block[1])
    };
    image.layout.planes().iter().map(blocks).fold(0, u64::saturating_add)
}

fn memory(range: MemoryRange) -> DeviceMemory {
    // SAFETY: the range was clamped to its buffer or image, whose memory the command keeps alive,
    // or an application's call gave it.
    unsafe { DeviceMemory::new(range) }
}

fn offset(o: vk::Offset3D) -> [i32; 3] {
    [o.x, o.y, o.z]
}

fn extent(e: vk::Extent3D) -> [u32; 3] {
    [e.width, e.height, e.depth]
}

fn texels(e: vk::Extent3D, layers: u32, image: &ImageMemory) -> u64 {
    [e.height, e.depth, layers.min(image.layout.desc.layers), image.layout.desc.samples]
        .into_iter()
        .fold(u64::from(e.width), |product, n| product.saturating_mul(u64::from(n)))
}

fn layers(s: &vk::ImageSubresourceLayers, image: &ImageMemory) -> t::SubresourceLayers {
    let layer_count = count(s.layer_count, vk::REMAINING_ARRAY_LAYERS, image.layout.desc.layers, s.base_array_layer);
    t::SubresourceLayers {
        aspects: s.aspect_mask.as_raw(),
        level: s.mip_level,
        base_layer: s.base_array_layer,
        layer_count,
    }
}

fn count(count: u32, remaining: u32, all: u32, first: u32) -> u32 {
    if count == remaining { all.saturating_sub(first) } else { count }
}

fn range(r: &vk::ImageSubresourceRange, image: &ImageMemory) -> t::SubresourceRange {
    let desc = &image.layout.desc;
    t::SubresourceRange {
        aspects: r.aspect_mask.as_raw(),
        base_level: r.base_mip_level,
        level_count: count(r.level_count, vk::REMAINING_MIP_LEVELS, desc.levels, r.base_mip_level),
        base_layer: r.base_array_layer,
        layer_count: count(r.layer_count, vk::REMAINING_ARRAY_LAYERS, desc.layers, r.base_array_layer),
    }
}

/// Returns the threads for a list of small regions, by the bytes that each reads and writes; `None`
/// if each region may have threads of its own.
fn threads_for_all(device: &Device, regions: impl Iterator<Item = u64>) -> t::HelperThreads<'_> {
    let (mut all, mut largest) = (0u64, 0);
    for bytes in regions {
        (all, largest) = (all.saturating_add(bytes), bytes.max(largest));
    }
    if largest < MIN_PARALLEL_REGION { threads(device, all, MIN_PARALLEL_MOVE) } else { None }
}

/// Executes `vkCmdCopyBuffer`; both ranges of a region have the same size.
pub fn copy_buffer(device: &Device, regions: &[(MemoryRange, MemoryRange)]) {
    if regions.len() > 1
        && let Some(work_sharing) = threads_for_all(device, regions.iter().map(|(_, to)| 2 * to.size))
    {
        let regions = or_unwind(collect(regions.iter().map(|&(from, to)| (memory(from), memory(to)))));
        return t::copy_buffer_regions(Some(work_sharing), &regions);
    }
    for &(from, to) in regions {
        let (from, to) = (memory(from), memory(to));
        let region = t::BufferCopy { src_offset: 0, dst_offset: 0, size: to.len() };
        t::copy_buffer(threads(device, 2 * to.len(), MIN_PARALLEL_MOVE), from, to, &region);
    }
}

/// Reads the parameters of a command from device memory.
pub fn parameters<const N: usize>(from: MemoryRange) -> [u8; N] {
    let mut bytes = [0; N];
    memory(from).read(0, &mut bytes);
    bytes
}

/// Copies bytes from device memory.
pub fn bytes(from: MemoryRange) -> Vec<u8> {
    let mut bytes = vec![0; from.size as usize];
    memory(from).read(0, &mut bytes);
    bytes
}

/// Executes `vkCmdUpdateBuffer`.
pub fn update_buffer(to: MemoryRange, data: &[u8]) {
    t::update_buffer(memory(to), 0, data);
}

/// Executes `vkCmdFillBuffer`; the size is a multiple of 4.
pub fn fill_buffer(device: &Device, to: MemoryRange, data: u32) {
    let to = memory(to);
    t::fill_buffer(threads(device, to.len(), MIN_PARALLEL_MOVE), to, 0, to.len(), data);
}

fn image_copy(from: &ImageMemory, to: &ImageMemory, r: &vk::ImageCopy) -> t::ImageCopy {
    t::ImageCopy {
        src: layers(&r.src_subresource, from),
        src_offset: offset(r.src_offset),
        dst: layers(&r.dst_subresource, to),
        dst_offset: offset(r.dst_offset),
        extent: extent(r.extent),
    }
}

/// Executes `vkCmdCopyImage`.
pub fn copy_image(device: &Device, from: &ImageMemory, to: &ImageMemory, regions: &[vk::ImageCopy]) {
    let bytes = |r: &vk::ImageCopy| {
        let layer_count = layers(&r.src_subresource, from).layer_count;
        bytes_of(texels(r.extent, layer_count, from), from).saturating_mul(2)
    };
    if regions.len() > 1
        && let Some(work_sharing) = threads_for_all(device, regions.iter().map(bytes))
    {
        let regions = or_unwind(collect(regions.iter().map(|r| image_copy(from, to, r))));
        return t::copy_image_regions(Some(work_sharing), from, to, &regions);
    }
    for r in regions {
        t::copy_image(threads(device, bytes(r), MIN_PARALLEL_MOVE), from, to, &image_copy(from, to, r));
    }
}

/// Executes `vkCmdBlitImage`.
pub fn blit_image(device: &Device, from: &ImageMemory, to: &ImageMemory, r: &vk::ImageBlit, filter: vk::Filter) {
    let region = t::ImageBlit {
        src: layers(&r.src_subresource, from),
        src_offsets: r.src_offsets.map(offset),
        dst: layers(&r.dst_subresource, to),
        dst_offsets: r.dst_offsets.map(offset),
    };
    let filter = if filter == vk::Filter::LINEAR { t::Filter::Linear } else { t::Filter::Nearest };
    let bytes = |[a, b]: [[i32; 3]; 2], layers: u32, image: &ImageMemory| {
        let size = |i: usize| a[i].abs_diff(b[i]);
        let box_size = vk::Extent3D { width: size(0), height: size(1), depth: size(2) };
        bytes_of(texels(box_size, layers, image), image)
    };
    let (read, written) = (
        bytes(region.src_offsets, region.src.layer_count, from),
        bytes(region.dst_offsets, region.dst.layer_count, to),
    );
    t::blit_image(threads(device, read.saturating_add(written), MIN_PARALLEL_COMPUTE), from, to, &region, filter);
}

fn buffer_image_copy(r: &vk::BufferImageCopy, image: &ImageMemory) -> t::BufferImageCopy {
    t::BufferImageCopy {
        buffer_offset: 0,
        buffer_row_length: r.buffer_row_length,
        buffer_image_height: r.buffer_image_height,
        image: layers(&r.image_subresource, image),
        image_offset: offset(r.image_offset),
        image_extent: extent(r.image_extent),
    }
}

/// Executes `vkCmdCopyBufferToImage`; the range begins at the region's buffer offset.
pub fn copy_buffer_to_image(device: &Device, from: MemoryRange, to: &ImageMemory, r: &vk::BufferImageCopy) {
    let (from, region) = (memory(from), buffer_image_copy(r, to));
    let bytes = bytes_of(texels(r.image_extent, region.image.layer_count, to), to).saturating_mul(2);
    t::copy_buffer_to_image(threads(device, bytes, MIN_PARALLEL_MOVE), from, to, &region);
}

/// Executes `vkCmdCopyImageToBuffer`; the range begins at the region's buffer offset.
pub fn copy_image_to_buffer(device: &Device, from: &ImageMemory, to: MemoryRange, r: &vk::BufferImageCopy) {
    let (to, region) = (memory(to), buffer_image_copy(r, from));
    let bytes = bytes_of(texels(r.image_extent, region.image.layer_count, from), from).saturating_mul(2);
    t::copy_image_to_buffer(threads(device, bytes, MIN_PARALLEL_MOVE), from, to, &region);
}

// The application's own thread executes the following functions, because the device's threads may
// be busy for long.

/// Executes `vkCopyImageToImage`.
pub fn host_copy_image(from: &ImageMemory, to: &ImageMemory, r: &vk::ImageCopy) {
    t::copy_image(None, from, to, &image_copy(from, to, r));
}

/// Executes `vkCopyMemoryToImage`; the range is the memory that the region covers.
pub fn copy_memory_to_image(from: MemoryRange, to: &ImageMemory, r: &vk::BufferImageCopy) {
    t::copy_buffer_to_image(None, memory(from), to, &buffer_image_copy(r, to));
}

/// Executes `vkCopyImageToMemory`; the range is the memory that the region covers.
pub fn copy_image_to_memory(from: &ImageMemory, to: MemoryRange, r: &vk::BufferImageCopy) {
    t::copy_image_to_buffer(None, from, memory(to), &buffer_image_copy(r, from));
}

/// Copies bytes between two ranges of equal size.
pub fn copy_memory(from: MemoryRange, to: MemoryRange) {
    let (from, to) = (memory(from), memory(to));
    t::copy_buffer(None, from, to, &t::BufferCopy { src_offset: 0, dst_offset: 0, size: to.len() });
}

/// Executes `vkCmdClearColorImage`.
pub fn clear_color_image(device: &Device, to: &ImageMemory, color: [u32; 4], r: &vk::ImageSubresourceRange) {
    let range = range(r, to);
    t::clear_color_image(threads(device, to.layout.size, MIN_PARALLEL_MOVE), to, color, &range);
}

/// Executes `vkCmdClearDepthStencilImage`.
pub fn clear_depth_stencil_image(
    device: &Device,
    to: &ImageMemory,
    value: vk::ClearDepthStencilValue,
    r: &vk::ImageSubresourceRange,
) {
    let range = range(r, to);
    let threads = threads(device, to.layout.size, MIN_PARALLEL_MOVE);
    t::clear_depth_stencil_image(threads, to, value.depth, value.stencil, &range);
}

/// Executes `vkCmdResolveImage`.
pub fn resolve_image(device: &Device, from: &ImageMemory, to: &ImageMemory, r: &vk::ImageResolve, modes: ResolveModes) {
    let bytes = bytes_of(texels(r.extent, r.src_subresource.layer_count, from), from);
    let format = to.layout.desc.format;
    let stencil = vk::ImageAspectFlags::STENCIL;
    for (aspects, mode) in [(!stencil, modes.color_or_depth), (stencil, modes.stencil)] {
        let of =
            |s: &vk::ImageSubresourceLayers| vk::ImageSubresourceLayers { aspect_mask: s.aspect_mask & aspects, ..*s };
        let (src, dst) = (of(&r.src_subresource), of(&r.dst_subresource));
        if src.aspect_mask.is_empty() {
            continue;
        }
        let region = t::ImageResolve {
            src: layers(&src, from),
            src_offset: offset(r.src_offset),
            dst: layers(&dst, to),
            dst_offset: offset(r.dst_offset),
            extent: extent(r.extent),
        };
        t::resolve_image(threads(device, bytes, MIN_PARALLEL_COMPUTE), from, to, format, &region, resolve_mode(mode));
    }
}

fn resolve_mode(mode: vk::ResolveModeFlags) -> t::ResolveMode {
    match mode {
        vk::ResolveModeFlags::SAMPLE_ZERO => t::ResolveMode::SampleZero,
        vk::ResolveModeFlags::AVERAGE => t::ResolveMode::Average,
        vk::ResolveModeFlags::MIN => t::ResolveMode::Min,
        vk::ResolveModeFlags::MAX => t::ResolveMode::Max,
        _ => t::ResolveMode::None,
    }
}

/// Returns the layers (first, count) of an attachment, and the first slice if they are a volume's.
fn layers_of(a: &Attachment, aspect: vk::ImageAspectFlags, (first, count): (u32, u32)) -> (t::SubresourceLayers, i32) {
    let (base_layer, slice) = if a.slices { (0, a.base_layer + first) } else { (a.base_layer + first, 0) };
    let layer_count = count.min(a.layers.saturating_sub(first));
    (t::SubresourceLayers { aspects: aspect.as_raw(), level: a.level, base_layer, layer_count }, slice as i32)
}

/// Resolves at the end of a subpass: `area` of `layers` (first, count), relative to both
/// attachments.
pub fn resolve_attachment(
    device: &Device,
    (from, to): (&Attachment, &Attachment),
    aspect: vk::ImageAspectFlags,
    mode: vk::ResolveModeFlags,
    [x, y, width, height]: [u32; 4],
    (first, count): (u32, u32),
) {
    if to.slices && count > 1 {
        let layers = first..first + count.min(to.layers.saturating_sub(first));
        return layers.for_each(|layer| {
            resolve_attachment(device, (from, to), aspect, mode, [x, y, width, height], (layer, 1));
        });
    }
    let (src, _) = layers_of(from, aspect, (first, count));
    let (dst, slice) = layers_of(to, aspect, (first, count));
    let region = t::ImageResolve {
        src,
        src_offset: [x as i32, y as i32, 0],
        dst,
        dst_offset: [x as i32, y as i32, slice],
        extent: [width, height, 1],
    };
    let mode = resolve_mode(mode);
    let box_size = vk::Extent3D { width, height, depth: 1 };
    let bytes = bytes_of(texels(box_size, count, &from.image), &from.image);
    t::resolve_image(threads(device, bytes, MIN_PARALLEL_COMPUTE), &from.image, &to.image, to.format, &region, mode);
}

/// Copies the only sample of `from` to all samples of `to`, with the parameters of
/// [`resolve_attachment`].
pub fn replicate_attachment(
    device: &Device,
    (from, to): (&Attachment, &Attachment),
    aspect: vk::ImageAspectFlags,
    [x, y, width, height]: [u32; 4],
    layers: (u32, u32),
) {
    let (src, slice) = layers_of(from, aspect, layers);
    let (dst, _) = layers_of(to, aspect, layers);
    let region = t::ImageCopy {
        src,
        src_offset: [x as i32, y as i32, slice],
        dst,
        dst_offset: [x as i32, y as i32, 0],
        extent: [width, height, src.layer_count.min(dst.layer_count)],
    };
    let box_size = vk::Extent3D { width, height, depth: 1 };
    let bytes = bytes_of(texels(box_size, layers.1, &to.image), &to.image);
    t::copy_image(threads(device, bytes, MIN_PARALLEL_MOVE), &from.image, &to.image, &region);
}
