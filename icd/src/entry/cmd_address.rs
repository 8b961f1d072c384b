//! Recording of commands that take device addresses in place of buffers
//! (VK_KHR_device_address_commands): they are the same commands, with another base.
//!
//! Statements about the memory (VkAddressCommandFlagsKHR) have no effect.

use super::cmd_state::index_bytes;
use super::cmd_transfer::indirect_commands;
use super::recording::push;
use crate::caps::newer;
use crate::command::{
    BufferOrAddress, Command, ConditionalRendering, CopyQueryPoolResults, DeviceLocation, DrawIndirect,
    DrawIndirectByteCount, FeedbackCounters, FeedbackRange, IndirectKind, VertexBufferBinding,
};
use crate::fallible;
use crate::ffi::handle::share;
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::image::Image;
use crate::object::query::QueryPool;
use ash::vk;
use core::ffi::c_void;

const ADDRESS: Requirement = ext("VK_KHR_device_address_commands");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, cmd_bind_index_buffer3 as newer::PFN_vkCmdBindIndexBuffer3KHR, vkCmdBindIndexBuffer3KHR: ADDRESS),
    row!(Device, cmd_bind_vertex_buffers3 as newer::PFN_vkCmdBindVertexBuffers3KHR, vkCmdBindVertexBuffers3KHR: ADDRESS),
    row!(Device, cmd_draw_indirect2 as newer::PFN_vkCmdDrawIndirect2KHR, vkCmdDrawIndirect2KHR: ADDRESS),
    row!(Device, cmd_draw_indexed_indirect2 as newer::PFN_vkCmdDrawIndirect2KHR, vkCmdDrawIndexedIndirect2KHR: ADDRESS),
    row!(Device, cmd_draw_mesh_tasks_indirect2 as newer::PFN_vkCmdDrawIndirect2KHR, vkCmdDrawMeshTasksIndirect2EXT: ADDRESS),
    row!(Device, cmd_draw_indirect_count2 as newer::PFN_vkCmdDrawIndirectCount2KHR, vkCmdDrawIndirectCount2KHR: ADDRESS),
    row!(Device, cmd_draw_indexed_indirect_count2 as newer::PFN_vkCmdDrawIndirectCount2KHR, vkCmdDrawIndexedIndirectCount2KHR: ADDRESS),
    row!(Device, cmd_draw_mesh_tasks_indirect_count2 as newer::PFN_vkCmdDrawIndirectCount2KHR, vkCmdDrawMeshTasksIndirectCount2EXT: ADDRESS),
    row!(Device, cmd_dispatch_indirect2 as newer::PFN_vkCmdDispatchIndirect2KHR, vkCmdDispatchIndirect2KHR: ADDRESS),
    row!(Device, cmd_copy_memory as newer::PFN_vkCmdCopyMemoryKHR, vkCmdCopyMemoryKHR: ADDRESS),
    row!(Device, cmd_copy_memory_to_image as newer::PFN_vkCmdCopyMemoryToImageKHR, vkCmdCopyMemoryToImageKHR: ADDRESS),
    row!(Device, cmd_copy_image_to_memory as newer::PFN_vkCmdCopyMemoryToImageKHR, vkCmdCopyImageToMemoryKHR: ADDRESS),
    row!(Device, cmd_update_memory as newer::PFN_vkCmdUpdateMemoryKHR, vkCmdUpdateMemoryKHR: ADDRESS),
    row!(Device, cmd_fill_memory as newer::PFN_vkCmdFillMemoryKHR, vkCmdFillMemoryKHR: ADDRESS),
    row!(
        Device,
        cmd_copy_query_pool_results_to_memory as newer::PFN_vkCmdCopyQueryPoolResultsToMemoryKHR,
        vkCmdCopyQueryPoolResultsToMemoryKHR: ADDRESS
    ),
    row!(
        Device,
        cmd_begin_conditional_rendering2 as newer::PFN_vkCmdBeginConditionalRendering2EXT,
        vkCmdBeginConditionalRendering2EXT: ADDRESS
    ),
    row!(
        Device,
        cmd_bind_transform_feedback_buffers2 as newer::PFN_vkCmdBindTransformFeedbackBuffers2EXT,
        vkCmdBindTransformFeedbackBuffers2EXT: ADDRESS
    ),
    row!(
        Device,
        cmd_begin_transform_feedback2 as newer::PFN_vkCmdBindTransformFeedbackBuffers2EXT,
        vkCmdBeginTransformFeedback2EXT: ADDRESS
    ),
    row!(
        Device,
        cmd_end_transform_feedback2 as newer::PFN_vkCmdBindTransformFeedbackBuffers2EXT,
        vkCmdEndTransformFeedback2EXT: ADDRESS
    ),
    row!(
        Device,
        cmd_draw_indirect_byte_count2 as newer::PFN_vkCmdDrawIndirectByteCount2EXT,
        vkCmdDrawIndirectByteCount2EXT: ADDRESS
    ),
];

/// Returns the device range at an address.
fn at(address: u64) -> DeviceLocation {
    (BufferOrAddress::Addresses, address)
}

fn draws(
    range: newer::StridedDeviceAddressRangeKHR,
    draw_count: u32,
    count: Option<newer::DeviceAddressRangeKHR>,
    kind: IndirectKind,
) -> Command {
    let commands = indirect_commands(draw_count, range, kind.bytes().into());
    Command::DrawIndirect(Box::new(DrawIndirect {
        location: at(commands.address),
        count: count.map(|range| at(range.address)),
        draw_count: commands.count,
        stride: commands.stride,
        kind,
    }))
}

/// Records an indirect draw.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn draw_indirect(buffer: vk::CommandBuffer, info: *const newer::DrawIndirect2InfoKHR<'_>, kind: IndirectKind) {
    // SAFETY: the valid usage of the command makes `buffer` live and `info` valid.
    unsafe { push(buffer, draws((*info).address_range, (*info).draw_count, None, kind)) }
}

/// Records an indirect draw with a count in memory.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn draw_indirect_count(
    buffer: vk::CommandBuffer,
    info: *const newer::DrawIndirectCount2InfoKHR<'_>,
    kind: IndirectKind,
) {
    // SAFETY: the valid usage of the command makes `buffer` live and `info` valid.
    unsafe {
        let info = &*info;
        push(buffer, draws(info.address_range, info.max_draw_count, Some(info.count_address_range), kind));
    }
}

/// Returns the regions as those of a buffer that begins at address 0.
///
/// # Safety
/// The structure fulfils the valid usage of the command.
unsafe fn image_regions(
    info: &newer::CopyDeviceMemoryImageInfoKHR<'_>,
) -> Result<Vec<vk::BufferImageCopy>, vk::Result> {
    let region = |r: &newer::DeviceMemoryImageCopyKHR<'_>| vk::BufferImageCopy {
        buffer_offset: r.address_range.address,
        buffer_row_length: r.address_row_length,
        buffer_image_height: r.address_image_height,
        image_subresource: r.image_subresource,
        image_offset: r.image_offset,
        image_extent: r.image_extent,
    };
    // SAFETY: the valid usage of the command makes the list of regions valid.
    fallible::collect(unsafe { slice(info.p_regions, info.region_count) }.iter().map(region))
}

/// Returns the counters of `vkCmdBeginTransformFeedback2EXT` and `vkCmdEndTransformFeedback2EXT`;
/// an address of 0 means no counter.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn counters(
    first: u32,
    count: u32,
    infos: *const newer::BindTransformFeedbackBuffer2InfoEXT<'_>,
) -> Result<Box<FeedbackCounters>, vk::Result> {
    // SAFETY: the valid usage of the command makes the list valid.
    let infos = unsafe { slice(infos, count) };
    let counter = |info: &newer::BindTransformFeedbackBuffer2InfoEXT<'_>| {
        let address = info.address_range.address;
        (address != 0).then(|| at(address))
    };
    Ok(Box::new(FeedbackCounters { first, counters: fallible::collect(infos.iter().map(counter))? }))
}

shims! {
    fn cmd_bind_index_buffer3(buffer: vk::CommandBuffer, info: *const newer::BindIndexBuffer3InfoKHR<'_>) {
        let newer::DeviceAddressRangeKHR { address, size } = (*info).address_range;
        push(buffer, Command::BindIndexBuffer { location: at(address), size, index_bytes: index_bytes((*info).index_type) });
    }

    fn cmd_bind_vertex_buffers3(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        infos: *const newer::BindVertexBuffer3InfoKHR<'_>,
    ) {
        let binding = |b: &newer::BindVertexBuffer3InfoKHR<'_>| VertexBufferBinding {
            location: at(b.address_range.address),
            size: b.address_range.size,
            stride: (b.set_stride != 0).then_some(b.address_range.stride as u32),
        };
        let buffers = fallible::collect(slice(infos, count).iter().map(binding))?;
        push(buffer, Command::BindVertexBuffers { first, buffers });
    }

    fn cmd_draw_indirect2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirect2InfoKHR<'_>) {
        draw_indirect(buffer, info, IndirectKind::Vertices);
    }

    fn cmd_draw_indexed_indirect2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirect2InfoKHR<'_>) {
        draw_indirect(buffer, info, IndirectKind::Indexed);
    }

    fn cmd_draw_mesh_tasks_indirect2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirect2InfoKHR<'_>) {
        draw_indirect(buffer, info, IndirectKind::MeshTasks);
    }

    fn cmd_draw_indirect_count2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirectCount2InfoKHR<'_>) {
        draw_indirect_count(buffer, info, IndirectKind::Vertices);
    }

    fn cmd_draw_indexed_indirect_count2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirectCount2InfoKHR<'_>) {
        draw_indirect_count(buffer, info, IndirectKind::Indexed);
    }

    fn cmd_draw_mesh_tasks_indirect_count2(buffer: vk::CommandBuffer, info: *const newer::DrawIndirectCount2InfoKHR<'_>) {
        draw_indirect_count(buffer, info, IndirectKind::MeshTasks);
    }

    fn cmd_dispatch_indirect2(buffer: vk::CommandBuffer, info: *const newer::DispatchIndirect2InfoKHR<'_>) {
        push(buffer, Command::DispatchIndirect(at((*info).address_range.address)));
    }

    fn cmd_copy_memory(buffer: vk::CommandBuffer, info: *const newer::CopyDeviceMemoryInfoKHR<'_>) {
        let region = |r: &newer::DeviceMemoryCopyKHR<'_>| vk::BufferCopy {
            src_offset: r.src_range.address,
            dst_offset: r.dst_range.address,
            size: r.src_range.size.min(r.dst_range.size),
        };
        let regions = fallible::collect(slice((*info).p_regions, (*info).region_count).iter().map(region))?;
        push(buffer, Command::CopyBuffer { src: BufferOrAddress::Addresses, dst: BufferOrAddress::Addresses, regions });
    }

    fn cmd_copy_memory_to_image(buffer: vk::CommandBuffer, info: *const newer::CopyDeviceMemoryImageInfoKHR<'_>) {
        let (image, regions) = (share::<Image>((*info).image), image_regions(&*info)?);
        push(buffer, Command::CopyBufferToImage { base: BufferOrAddress::Addresses, image, regions });
    }

    fn cmd_copy_image_to_memory(buffer: vk::CommandBuffer, info: *const newer::CopyDeviceMemoryImageInfoKHR<'_>) {
        let (image, regions) = (share::<Image>((*info).image), image_regions(&*info)?);
        push(buffer, Command::CopyImageToBuffer { image, base: BufferOrAddress::Addresses, regions });
    }

    fn cmd_update_memory(
        buffer: vk::CommandBuffer,
        range: *const newer::DeviceAddressRangeKHR,
        _flags: u32,
        size: u64,
        data: *const c_void,
    ) {
        let data = fallible::to_vec(slice(data.cast::<u8>(), size as u32))?.into();
        push(buffer, Command::UpdateBuffer { dst: at((*range).address), data });
    }

    fn cmd_fill_memory(buffer: vk::CommandBuffer, range: *const newer::DeviceAddressRangeKHR, _flags: u32, data: u32) {
        push(buffer, Command::FillBuffer { dst: at((*range).address), size: (*range).size, data });
    }

    fn cmd_copy_query_pool_results_to_memory(
        buffer: vk::CommandBuffer,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
        range: *const newer::StridedDeviceAddressRangeKHR,
        _flags: u32,
        flags: vk::QueryResultFlags,
    ) {
        let newer::StridedDeviceAddressRangeKHR { address, stride, .. } = *range;
        let copy = CopyQueryPoolResults { pool: share::<QueryPool>(pool), first, count, dst: at(address), stride, flags };
        push(buffer, Command::CopyQueryPoolResults(Box::new(copy)));
    }

    fn cmd_begin_conditional_rendering2(
        buffer: vk::CommandBuffer,
        info: *const newer::ConditionalRenderingBeginInfo2EXT<'_>,
    ) {
        let inverted = (*info).flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED);
        let begin = ConditionalRendering { location: at((*info).address_range.address), inverted };
        push(buffer, Command::BeginConditionalRendering(Box::new(begin)));
    }

    fn cmd_bind_transform_feedback_buffers2(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        infos: *const newer::BindTransformFeedbackBuffer2InfoEXT<'_>,
    ) {
        let range = |info: &newer::BindTransformFeedbackBuffer2InfoEXT<'_>| FeedbackRange {
            location: at(info.address_range.address),
            size: info.address_range.size,
        };
        let ranges = fallible::collect(slice(infos, count).iter().map(range))?;
        push(buffer, Command::BindTransformFeedbackBuffers { first, ranges });
    }

    fn cmd_begin_transform_feedback2(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        infos: *const newer::BindTransformFeedbackBuffer2InfoEXT<'_>,
    ) {
        push(buffer, Command::BeginTransformFeedback(counters(first, count, infos)?));
    }

    fn cmd_end_transform_feedback2(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        infos: *const newer::BindTransformFeedbackBuffer2InfoEXT<'_>,
    ) {
        push(buffer, Command::EndTransformFeedback(counters(first, count, infos)?));
    }

    fn cmd_draw_indirect_byte_count2(
        buffer: vk::CommandBuffer,
        instance_count: u32,
        first_instance: u32,
        info: *const newer::BindTransformFeedbackBuffer2InfoEXT<'_>,
        counter_offset: u32,
        vertex_stride: u32,
    ) {
        let counter = at((*info).address_range.address);
        let draw = DrawIndirectByteCount { instance_count, first_instance, counter, counter_offset, vertex_stride };
        push(buffer, Command::DrawIndirectByteCount(Box::new(draw)));
    }
}
