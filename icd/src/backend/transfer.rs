//! Transfers: Vulkan's regions in, the rasterizer's transfer functions out.

use crate::object::buffer::Range;
use crate::object::device::Device;
use ash::vk;
use rasterizer::api::{Attachment, ImageMemory};

/// `vkCmdCopyBuffer`; both ranges have the same size.
pub fn copy_buffer(_device: &Device, from: Range, to: Range) {
    // SAFETY: both ranges were checked against their buffers; they may overlap.
    unsafe { std::ptr::copy(from.address, to.address, to.size as usize) };
}

/// `vkCmdUpdateBuffer`.
pub fn update_buffer(to: Range, data: &[u8]) {
    // SAFETY: checked against the buffer.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.address, data.len().min(to.size as usize)) };
}

/// `vkCmdFillBuffer`; the size is a multiple of 4.
pub fn fill_buffer(_device: &Device, to: Range, data: u32) {
    let words = to.address.cast::<u32>();
    for i in 0..to.size as usize / 4 {
        // SAFETY: inside the range.
        unsafe { words.add(i).write_unaligned(data) };
    }
}

fn missing(device: &Device, what: &str) {
    device.unsupported(&format!("{what}: the rasterizer's transfers have not landed"));
}

/// `vkCmdCopyImage`.
pub fn copy_image(device: &Device, _from: &ImageMemory, _to: &ImageMemory, _region: &vk::ImageCopy) {
    missing(device, "vkCmdCopyImage");
}
/// `vkCmdBlitImage`.
pub fn blit_image(
    device: &Device,
    _from: &ImageMemory,
    _to: &ImageMemory,
    _region: &vk::ImageBlit,
    _filter: vk::Filter,
) {
    missing(device, "vkCmdBlitImage");
}
/// `vkCmdCopyBufferToImage`; the range begins at the region's buffer offset.
pub fn copy_buffer_to_image(device: &Device, _from: Range, _to: &ImageMemory, _region: &vk::BufferImageCopy) {
    missing(device, "vkCmdCopyBufferToImage");
}
/// `vkCmdCopyImageToBuffer`; the range begins at the region's buffer offset.
pub fn copy_image_to_buffer(device: &Device, _from: &ImageMemory, _to: Range, _region: &vk::BufferImageCopy) {
    missing(device, "vkCmdCopyImageToBuffer");
}
/// `vkCmdClearColorImage`.
pub fn clear_color_image(device: &Device, _to: &ImageMemory, _color: [u32; 4], _range: &vk::ImageSubresourceRange) {
    missing(device, "vkCmdClearColorImage");
}
/// `vkCmdClearDepthStencilImage`.
pub fn clear_depth_stencil_image(
    device: &Device,
    _to: &ImageMemory,
    _value: vk::ClearDepthStencilValue,
    _range: &vk::ImageSubresourceRange,
) {
    missing(device, "vkCmdClearDepthStencilImage");
}
/// `vkCmdResolveImage`.
pub fn resolve_image(device: &Device, _from: &ImageMemory, _to: &ImageMemory, _region: &vk::ImageResolve) {
    missing(device, "vkCmdResolveImage");
}
/// Resolve at the end of a subpass: `area` of `layers` (first, count), relative to both attachments.
pub fn resolve_attachment(
    device: &Device,
    (_from, _to): (&Attachment, &Attachment),
    _aspect: vk::ImageAspectFlags,
    _mode: vk::ResolveModeFlags,
    _area: [u32; 4],
    _layers: (u32, u32),
) {
    missing(device, "subpass resolve");
}
