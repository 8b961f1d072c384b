//! Transfers: Vulkan's regions in, the rasterizer's transfer functions out, on the device's pool when there is enough to do.

use crate::device::Device;
use ash::vk;
use base::mem::{DeviceMemory, MemoryRange};
use rasterizer::api::{Attachment, ImageMemory};
use rasterizer::transfer as t;

/// Below this the rasterizer works on the calling thread, and waking the pool would cost more than the copy.
const PARALLEL_BYTES: u64 = 128 << 10;
/// Bytes of the largest texel, for estimates.
const TEXEL: u64 = 16;

fn run(device: &Device, bytes: u64, work: impl FnOnce() + Send) {
    let pool = if bytes > PARALLEL_BYTES { device.engine.pool() } else { None };
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn memory(range: MemoryRange) -> DeviceMemory {
    // SAFETY: the range was cut to its buffer, whose memory the command keeps alive.
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

/// `vkCmdCopyBuffer`; both ranges have the same size.
pub fn copy_buffer(device: &Device, from: MemoryRange, to: MemoryRange) {
    let (from, to) = (memory(from), memory(to));
    let region = t::BufferCopy { src_offset: 0, dst_offset: 0, size: to.len() };
    run(device, to.len(), || t::copy_buffer(from, to, &region));
}

/// `vkCmdUpdateBuffer`.
pub fn update_buffer(to: MemoryRange, data: &[u8]) {
    t::update_buffer(memory(to), 0, data);
}

/// `vkCmdFillBuffer`; the size is a multiple of 4.
pub fn fill_buffer(device: &Device, to: MemoryRange, data: u32) {
    let to = memory(to);
    run(device, to.len(), || t::fill_buffer(to, 0, to.len(), data));
}

/// `vkCmdCopyImage`.
pub fn copy_image(device: &Device, from: &ImageMemory, to: &ImageMemory, r: &vk::ImageCopy) {
    let region = t::ImageCopy {
        src: layers(&r.src_subresource, from),
        src_offset: offset(r.src_offset),
        dst: layers(&r.dst_subresource, to),
        dst_offset: offset(r.dst_offset),
        extent: extent(r.extent),
    };
    let bytes = texels(r.extent, region.src.layer_count, from).saturating_mul(TEXEL);
    run(device, bytes, || t::copy_image(from, to, &region));
}

/// `vkCmdBlitImage`.
pub fn blit_image(device: &Device, from: &ImageMemory, to: &ImageMemory, r: &vk::ImageBlit, filter: vk::Filter) {
    let region = t::ImageBlit {
        src: layers(&r.src_subresource, from),
        src_offsets: r.src_offsets.map(offset),
        dst: layers(&r.dst_subresource, to),
        dst_offsets: r.dst_offsets.map(offset),
    };
    let filter = if filter == vk::Filter::LINEAR { t::Filter::Linear } else { t::Filter::Nearest };
    let [a, b] = region.dst_offsets;
    let size = |i: usize| a[i].abs_diff(b[i]);
    let box_size = vk::Extent3D { width: size(0), height: size(1), depth: size(2) };
    let bytes = texels(box_size, region.dst.layer_count, to).saturating_mul(TEXEL);
    run(device, bytes, || t::blit_image(from, to, &region, filter));
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

/// `vkCmdCopyBufferToImage`; the range begins at the region's buffer offset.
pub fn copy_buffer_to_image(device: &Device, from: MemoryRange, to: &ImageMemory, r: &vk::BufferImageCopy) {
    let (from, region) = (memory(from), buffer_image_copy(r, to));
    let bytes = texels(r.image_extent, region.image.layer_count, to).saturating_mul(TEXEL);
    run(device, bytes, || t::copy_buffer_to_image(from, to, &region));
}

/// `vkCmdCopyImageToBuffer`; the range begins at the region's buffer offset.
pub fn copy_image_to_buffer(device: &Device, from: &ImageMemory, to: MemoryRange, r: &vk::BufferImageCopy) {
    let (to, region) = (memory(to), buffer_image_copy(r, from));
    let bytes = texels(r.image_extent, region.image.layer_count, from).saturating_mul(TEXEL);
    run(device, bytes, || t::copy_image_to_buffer(from, to, &region));
}

/// `vkCmdClearColorImage`.
pub fn clear_color_image(device: &Device, to: &ImageMemory, color: [u32; 4], r: &vk::ImageSubresourceRange) {
    let range = range(r, to);
    run(device, to.layout.size, || t::clear_color_image(to, color, &range));
}

/// `vkCmdClearDepthStencilImage`.
pub fn clear_depth_stencil_image(
    device: &Device,
    to: &ImageMemory,
    value: vk::ClearDepthStencilValue,
    r: &vk::ImageSubresourceRange,
) {
    let range = range(r, to);
    run(device, to.layout.size, || t::clear_depth_stencil_image(to, value.depth, value.stencil, &range));
}

/// `vkCmdResolveImage`.
pub fn resolve_image(device: &Device, from: &ImageMemory, to: &ImageMemory, r: &vk::ImageResolve) {
    let region = t::ImageResolve {
        src: layers(&r.src_subresource, from),
        src_offset: offset(r.src_offset),
        dst: layers(&r.dst_subresource, to),
        dst_offset: offset(r.dst_offset),
        extent: extent(r.extent),
    };
    let bytes = texels(r.extent, region.dst.layer_count, from).saturating_mul(TEXEL);
    let format = to.layout.desc.format;
    run(device, bytes, || t::resolve_image(from, to, format, &region, t::ResolveMode::Average));
}

/// Resolve at the end of a subpass: `area` of `layers` (first, count), relative to both attachments.
pub fn resolve_attachment(
    device: &Device,
    (from, to): (&Attachment, &Attachment),
    aspect: vk::ImageAspectFlags,
    mode: vk::ResolveModeFlags,
    [x, y, width, height]: [u32; 4],
    (first, count): (u32, u32),
) {
    let subresource = |a: &Attachment| t::SubresourceLayers {
        aspects: aspect.as_raw(),
        level: a.level,
        base_layer: a.base_layer + first,
        layer_count: count.min(a.layers.saturating_sub(first)),
    };
    let corner = [x as i32, y as i32, 0];
    let region = t::ImageResolve {
        src: subresource(from),
        src_offset: corner,
        dst: subresource(to),
        dst_offset: corner,
        extent: [width, height, 1],
    };
    let mode = match mode {
        vk::ResolveModeFlags::SAMPLE_ZERO => t::ResolveMode::SampleZero,
        vk::ResolveModeFlags::AVERAGE => t::ResolveMode::Average,
        vk::ResolveModeFlags::MIN => t::ResolveMode::Min,
        vk::ResolveModeFlags::MAX => t::ResolveMode::Max,
        _ => t::ResolveMode::None,
    };
    let box_size = vk::Extent3D { width, height, depth: 1 };
    let bytes = texels(box_size, count, &from.image).saturating_mul(TEXEL);
    run(device, bytes, || t::resolve_image(&from.image, &to.image, to.format, &region, mode));
}
