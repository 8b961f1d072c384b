//! Copies between the application's memory and images (VK_EXT_host_image_copy), which the calling
//! thread does.

use crate::command::{bounds, transfer};
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, V1_4, ext, row};
use crate::object::image::Image;
use ash::vk;
use base::mem::{ImageMemory, MemoryRange};
use core::ffi::c_void;

const HOST_COPY: Requirement = ext("VK_EXT_host_image_copy");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, copy_memory_to_image as vk::PFN_vkCopyMemoryToImageEXT, vkCopyMemoryToImage: V1_4, vkCopyMemoryToImageEXT: HOST_COPY),
    row!(Device, copy_image_to_memory as vk::PFN_vkCopyImageToMemoryEXT, vkCopyImageToMemory: V1_4, vkCopyImageToMemoryEXT: HOST_COPY),
    row!(Device, copy_image_to_image as vk::PFN_vkCopyImageToImageEXT, vkCopyImageToImage: V1_4, vkCopyImageToImageEXT: HOST_COPY),
    row!(Device, transition_image_layout as vk::PFN_vkTransitionImageLayoutEXT, vkTransitionImageLayout: V1_4, vkTransitionImageLayoutEXT: HOST_COPY),
];

/// A region with memory on one side: `VkMemoryToImageCopy`, `VkImageToMemoryCopy`.
struct MemoryRegion {
    pointer: *mut c_void,
    region: vk::BufferImageCopy,
}

/// Direction of such a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyDirection {
    Image,
    Memory,
}

fn region(
    pointer: *const c_void,
    (buffer_row_length, buffer_image_height): (u32, u32),
    image_subresource: vk::ImageSubresourceLayers,
    image_offset: vk::Offset3D,
    image_extent: vk::Extent3D,
) -> MemoryRegion {
    let region = vk::BufferImageCopy {
        buffer_offset: 0,
        buffer_row_length,
        buffer_image_height,
        image_subresource,
        image_offset,
        image_extent,
    };
    MemoryRegion { pointer: pointer.cast_mut(), region }
}

/// Returns the image's memory; a copy of an image without memory is refused.
fn bound(device: &Device, command: &str, image: &Image) -> Result<ImageMemory, vk::Result> {
    image.memory().ok_or_else(|| {
        device.report_invalid_usage(&format!("{command}: an image has no memory"));
        vk::Result::ERROR_MEMORY_MAP_FAILED
    })
}

/// Reports a region that reaches outside its image. As on the queue, nothing outside is accessed.
fn report_outside(device: &Device, command: &str, number: usize, inside: bool) {
    if !inside {
        device.report_invalid_usage(&format!("{command}: region {number} reaches outside of its image"));
    }
}

/// Copies between memory and an image; with `VK_HOST_IMAGE_COPY_MEMCPY` the bytes keep the image's
/// layout.
fn copy(
    (device, command): (&Device, &str),
    image: &Image,
    flags: vk::HostImageCopyFlagsEXT,
    regions: impl Iterator<Item = MemoryRegion>,
    to: CopyDirection,
) -> Result<(), vk::Result> {
    let memory = bound(device, command, image)?;
    for (number, MemoryRegion { pointer, region: r }) in regions.enumerate() {
        let inside = bounds::has_box(&image.layout, &r.image_subresource, r.image_offset, r.image_extent);
        report_outside(device, command, number, inside);
        let host = |size| MemoryRange { address: pointer.cast(), size };
        if flags.contains(vk::HostImageCopyFlagsEXT::MEMCPY) {
            let mut at = 0;
            for piece in image.subresources(&memory, &r.image_subresource) {
                let here = MemoryRange { address: pointer.cast::<u8>().wrapping_add(at as usize), size: piece.size };
                match to {
                    CopyDirection::Image => transfer::copy_memory(here, piece),
                    CopyDirection::Memory => transfer::copy_memory(piece, here),
                }
                at += piece.size;
            }
            continue;
        }
        // The region's rows limit the access to the application's memory.
        let host = host(bounds::rows_bytes(&image.layout, &r));
        match to {
            CopyDirection::Image => transfer::copy_memory_to_image(host, &memory, &r),
            CopyDirection::Memory => transfer::copy_image_to_memory(&memory, host, &r),
        }
    }
    Ok(())
}

shims! {
    fn copy_memory_to_image(device: vk::Device, info: *const vk::CopyMemoryToImageInfoEXT<'_>) -> VkResult {
        let i = &*info;
        let one = |r: &vk::MemoryToImageCopyEXT<'_>| {
            region(r.p_host_pointer, (r.memory_row_length, r.memory_image_height), r.image_subresource, r.image_offset, r.image_extent)
        };
        let device: &Device = dispatchable::<Device>(device);
        let regions = slice(i.p_regions, i.region_count).iter().map(one);
        copy((device, "vkCopyMemoryToImage"), get::<Image>(i.dst_image), i.flags, regions, CopyDirection::Image)
    }

    fn copy_image_to_memory(device: vk::Device, info: *const vk::CopyImageToMemoryInfoEXT<'_>) -> VkResult {
        let i = &*info;
        let one = |r: &vk::ImageToMemoryCopyEXT<'_>| {
            region(r.p_host_pointer, (r.memory_row_length, r.memory_image_height), r.image_subresource, r.image_offset, r.image_extent)
        };
        let device: &Device = dispatchable::<Device>(device);
        let regions = slice(i.p_regions, i.region_count).iter().map(one);
        copy((device, "vkCopyImageToMemory"), get::<Image>(i.src_image), i.flags, regions, CopyDirection::Memory)
    }

    // Images of one layout are stored alike: with VK_HOST_IMAGE_COPY_MEMCPY it is the same copy.
    fn copy_image_to_image(device: vk::Device, info: *const vk::CopyImageToImageInfoEXT<'_>) -> VkResult {
        const COMMAND: &str = "vkCopyImageToImage";
        let (device, i) = (dispatchable::<Device>(device), &*info);
        let (src, dst) = (get::<Image>(i.src_image), get::<Image>(i.dst_image));
        let (from, to) = (bound(device, COMMAND, src)?, bound(device, COMMAND, dst)?);
        for (number, r) in slice(i.p_regions, i.region_count).iter().enumerate() {
            let r = vk::ImageCopy {
                src_subresource: r.src_subresource,
                src_offset: r.src_offset,
                dst_subresource: r.dst_subresource,
                dst_offset: r.dst_offset,
                extent: r.extent,
            };
            report_outside(device, COMMAND, number, bounds::has_copy(src, dst, &r));
            transfer::host_copy_image(&from, &to, &r);
        }
        Ok(())
    }

    // An image is stored in the same way in every layout.
    fn transition_image_layout(
        _device: vk::Device,
        _count: u32,
        _transitions: *const vk::HostImageLayoutTransitionInfoEXT<'_>,
    ) -> VkResult {
        Ok(())
    }
}
