//! Recording of copies, blits, clears and resolves. The `2` forms carry the same regions in newer
//! structures.

use super::recording::push;
use crate::caps::newer;
use crate::command::{Command, IndirectCommands, ResolveModes};
use crate::fallible;
use crate::ffi::handle::share;
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, V1_0, V1_3, ext, row};
use crate::object::buffer::Buffer;
use crate::object::image::Image;
use ash::vk;
use core::ffi::c_void;

const COPY2: Requirement = ext("VK_KHR_copy_commands2");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, cmd_copy_buffer as vk::PFN_vkCmdCopyBuffer, vkCmdCopyBuffer: V1_0),
    row!(Device, cmd_copy_buffer2 as vk::PFN_vkCmdCopyBuffer2, vkCmdCopyBuffer2: V1_3, vkCmdCopyBuffer2KHR: COPY2),
    row!(Device, cmd_copy_image as vk::PFN_vkCmdCopyImage, vkCmdCopyImage: V1_0),
    row!(Device, cmd_copy_image2 as vk::PFN_vkCmdCopyImage2, vkCmdCopyImage2: V1_3, vkCmdCopyImage2KHR: COPY2),
    row!(Device, cmd_blit_image as vk::PFN_vkCmdBlitImage, vkCmdBlitImage: V1_0),
    row!(Device, cmd_blit_image2 as vk::PFN_vkCmdBlitImage2, vkCmdBlitImage2: V1_3, vkCmdBlitImage2KHR: COPY2),
    row!(Device, cmd_copy_buffer_to_image as vk::PFN_vkCmdCopyBufferToImage, vkCmdCopyBufferToImage: V1_0),
    row!(
        Device,
        cmd_copy_buffer_to_image2 as vk::PFN_vkCmdCopyBufferToImage2,
        vkCmdCopyBufferToImage2: V1_3,
        vkCmdCopyBufferToImage2KHR: COPY2
    ),
    row!(Device, cmd_copy_image_to_buffer as vk::PFN_vkCmdCopyImageToBuffer, vkCmdCopyImageToBuffer: V1_0),
    row!(
        Device,
        cmd_copy_image_to_buffer2 as vk::PFN_vkCmdCopyImageToBuffer2,
        vkCmdCopyImageToBuffer2: V1_3,
        vkCmdCopyImageToBuffer2KHR: COPY2
    ),
    row!(Device, cmd_update_buffer as vk::PFN_vkCmdUpdateBuffer, vkCmdUpdateBuffer: V1_0),
    row!(Device, cmd_fill_buffer as vk::PFN_vkCmdFillBuffer, vkCmdFillBuffer: V1_0),
    row!(Device, cmd_clear_color_image as vk::PFN_vkCmdClearColorImage, vkCmdClearColorImage: V1_0),
    row!(Device, cmd_clear_depth_stencil_image as vk::PFN_vkCmdClearDepthStencilImage, vkCmdClearDepthStencilImage: V1_0),
    row!(Device, cmd_resolve_image as vk::PFN_vkCmdResolveImage, vkCmdResolveImage: V1_0),
    row!(Device, cmd_resolve_image2 as vk::PFN_vkCmdResolveImage2, vkCmdResolveImage2: V1_3, vkCmdResolveImage2KHR: COPY2),
    row!(
        Device,
        cmd_copy_memory_indirect as newer::PFN_vkCmdCopyMemoryIndirectKHR,
        vkCmdCopyMemoryIndirectKHR: ext("VK_KHR_copy_memory_indirect")
    ),
    row!(
        Device,
        cmd_copy_memory_to_image_indirect as newer::PFN_vkCmdCopyMemoryToImageIndirectKHR,
        vkCmdCopyMemoryToImageIndirectKHR: ext("VK_KHR_copy_memory_indirect")
    ),
];

/// Returns the requested commands that are inside the range.
pub(super) fn indirect_commands(
    count: u32,
    range: newer::StridedDeviceAddressRangeKHR,
    bytes: u64,
) -> IndirectCommands {
    let whole = range
        .size
        .checked_sub(bytes)
        .map_or(0, |rest| rest.checked_div(range.stride).map_or(1, |more| more.saturating_add(1)));
    IndirectCommands { address: range.address, stride: range.stride, count: whole.min(count.into()) as u32 }
}

fn buffer_image_copy(r: &vk::BufferImageCopy2<'_>) -> vk::BufferImageCopy {
    vk::BufferImageCopy {
        buffer_offset: r.buffer_offset,
        buffer_row_length: r.buffer_row_length,
        buffer_image_height: r.buffer_image_height,
        image_subresource: r.image_subresource,
        image_offset: r.image_offset,
        image_extent: r.image_extent,
    }
}

/// Mode of a resolve that does not set any; integers have no mean (`transfer`).
const MEAN: ResolveModes =
    ResolveModes { color_or_depth: vk::ResolveModeFlags::AVERAGE, stencil: vk::ResolveModeFlags::AVERAGE };

shims! {
    fn cmd_copy_buffer(buffer: vk::CommandBuffer, src: vk::Buffer, dst: vk::Buffer, count: u32, regions: *const vk::BufferCopy) {
        let regions = fallible::to_vec(slice(regions, count))?;
        push(buffer, Command::CopyBuffer { src: share::<Buffer>(src).into(), dst: share::<Buffer>(dst).into(), regions });
    }

    fn cmd_copy_buffer2(buffer: vk::CommandBuffer, info: *const vk::CopyBufferInfo2<'_>) {
        let i = &*info;
        let region = |r: &vk::BufferCopy2<'_>| vk::BufferCopy { src_offset: r.src_offset, dst_offset: r.dst_offset, size: r.size };
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(region))?;
        let (src, dst) = (share::<Buffer>(i.src_buffer).into(), share::<Buffer>(i.dst_buffer).into());
        push(buffer, Command::CopyBuffer { src, dst, regions });
    }

    fn cmd_copy_image(
        buffer: vk::CommandBuffer,
        src: vk::Image,
        _src_layout: vk::ImageLayout,
        dst: vk::Image,
        _dst_layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::ImageCopy,
    ) {
        let regions = fallible::to_vec(slice(regions, count))?;
        push(buffer, Command::CopyImage { src: share::<Image>(src), dst: share::<Image>(dst), regions });
    }

    fn cmd_copy_image2(buffer: vk::CommandBuffer, info: *const vk::CopyImageInfo2<'_>) {
        let i = &*info;
        let region = |r: &vk::ImageCopy2<'_>| vk::ImageCopy {
            src_subresource: r.src_subresource,
            src_offset: r.src_offset,
            dst_subresource: r.dst_subresource,
            dst_offset: r.dst_offset,
            extent: r.extent,
        };
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(region))?;
        push(buffer, Command::CopyImage { src: share::<Image>(i.src_image), dst: share::<Image>(i.dst_image), regions });
    }

    fn cmd_blit_image(
        buffer: vk::CommandBuffer,
        src: vk::Image,
        _src_layout: vk::ImageLayout,
        dst: vk::Image,
        _dst_layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::ImageBlit,
        filter: vk::Filter,
    ) {
        let regions = fallible::to_vec(slice(regions, count))?;
        push(buffer, Command::BlitImage { src: share::<Image>(src), dst: share::<Image>(dst), regions, filter });
    }

    fn cmd_blit_image2(buffer: vk::CommandBuffer, info: *const vk::BlitImageInfo2<'_>) {
        let i = &*info;
        let region = |r: &vk::ImageBlit2<'_>| vk::ImageBlit {
            src_subresource: r.src_subresource,
            src_offsets: r.src_offsets,
            dst_subresource: r.dst_subresource,
            dst_offsets: r.dst_offsets,
        };
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(region))?;
        let (src, dst) = (share::<Image>(i.src_image), share::<Image>(i.dst_image));
        push(buffer, Command::BlitImage { src, dst, regions, filter: i.filter });
    }

    fn cmd_copy_buffer_to_image(
        buffer: vk::CommandBuffer,
        src: vk::Buffer,
        dst: vk::Image,
        _layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::BufferImageCopy,
    ) {
        let regions = fallible::to_vec(slice(regions, count))?;
        push(buffer, Command::CopyBufferToImage { base: share::<Buffer>(src).into(), image: share::<Image>(dst), regions });
    }

    fn cmd_copy_buffer_to_image2(buffer: vk::CommandBuffer, info: *const vk::CopyBufferToImageInfo2<'_>) {
        let i = &*info;
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(buffer_image_copy))?;
        let base = share::<Buffer>(i.src_buffer).into();
        push(buffer, Command::CopyBufferToImage { base, image: share::<Image>(i.dst_image), regions });
    }

    fn cmd_copy_image_to_buffer(
        buffer: vk::CommandBuffer,
        src: vk::Image,
        _layout: vk::ImageLayout,
        dst: vk::Buffer,
        count: u32,
        regions: *const vk::BufferImageCopy,
    ) {
        let regions = fallible::to_vec(slice(regions, count))?;
        push(buffer, Command::CopyImageToBuffer { image: share::<Image>(src), base: share::<Buffer>(dst).into(), regions });
    }

    fn cmd_copy_image_to_buffer2(buffer: vk::CommandBuffer, info: *const vk::CopyImageToBufferInfo2<'_>) {
        let i = &*info;
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(buffer_image_copy))?;
        let base = share::<Buffer>(i.dst_buffer).into();
        push(buffer, Command::CopyImageToBuffer { image: share::<Image>(i.src_image), base, regions });
    }

    fn cmd_update_buffer(buffer: vk::CommandBuffer, dst: vk::Buffer, offset: u64, size: u64, data: *const c_void) {
        let data = fallible::to_vec(slice(data.cast::<u8>(), size as u32))?.into();
        push(buffer, Command::UpdateBuffer { dst: (share::<Buffer>(dst).into(), offset), data });
    }

    fn cmd_fill_buffer(buffer: vk::CommandBuffer, dst: vk::Buffer, offset: u64, size: u64, data: u32) {
        push(buffer, Command::FillBuffer { dst: (share::<Buffer>(dst).into(), offset), size, data });
    }

    fn cmd_clear_color_image(
        buffer: vk::CommandBuffer,
        image: vk::Image,
        _layout: vk::ImageLayout,
        color: *const vk::ClearColorValue,
        count: u32,
        ranges: *const vk::ImageSubresourceRange,
    ) {
        let ranges = fallible::to_vec(slice(ranges, count))?;
        push(buffer, Command::ClearColorImage { image: share::<Image>(image), color: (*color).uint32, ranges });
    }

    fn cmd_clear_depth_stencil_image(
        buffer: vk::CommandBuffer,
        image: vk::Image,
        _layout: vk::ImageLayout,
        value: *const vk::ClearDepthStencilValue,
        count: u32,
        ranges: *const vk::ImageSubresourceRange,
    ) {
        let ranges = fallible::to_vec(slice(ranges, count))?;
        push(buffer, Command::ClearDepthStencilImage { image: share::<Image>(image), value: *value, ranges });
    }

    fn cmd_resolve_image(
        buffer: vk::CommandBuffer,
        src: vk::Image,
        _src_layout: vk::ImageLayout,
        dst: vk::Image,
        _dst_layout: vk::ImageLayout,
        count: u32,
        regions: *const vk::ImageResolve,
    ) {
        let regions = fallible::to_vec(slice(regions, count))?;
        let modes = MEAN;
        push(buffer, Command::ResolveImage { src: share::<Image>(src), dst: share::<Image>(dst), regions, modes });
    }

    fn cmd_resolve_image2(buffer: vk::CommandBuffer, info: *const vk::ResolveImageInfo2<'_>) {
        let i = &*info;
        let region = |r: &vk::ImageResolve2<'_>| vk::ImageResolve {
            src_subresource: r.src_subresource,
            src_offset: r.src_offset,
            dst_subresource: r.dst_subresource,
            dst_offset: r.dst_offset,
            extent: r.extent,
        };
        let regions = fallible::collect(slice(i.p_regions, i.region_count).iter().map(region))?;
        let modes = find::<newer::ResolveImageModeInfoKHR<'_>>(i.p_next)
            .map_or(MEAN, |modes| ResolveModes { color_or_depth: modes.resolve_mode, stencil: modes.stencil_resolve_mode });
        push(buffer, Command::ResolveImage { src: share::<Image>(i.src_image), dst: share::<Image>(i.dst_image), regions, modes });
    }

    // Statements about source and destination (VkAddressCopyFlagsKHR) have no effect.
    fn cmd_copy_memory_indirect(buffer: vk::CommandBuffer, info: *const newer::CopyMemoryIndirectInfoKHR<'_>) {
        let commands = indirect_commands((*info).copy_count, (*info).copy_address_range, 24);
        push(buffer, Command::CopyMemoryIndirect(commands));
    }

    fn cmd_copy_memory_to_image_indirect(buffer: vk::CommandBuffer, info: *const newer::CopyMemoryToImageIndirectInfoKHR<'_>) {
        let commands = indirect_commands((*info).copy_count, (*info).copy_address_range, 56);
        push(buffer, Command::CopyMemoryToImageIndirect { commands, image: share::<Image>((*info).dst_image) });
    }
}
