//! Recording of transform feedback: its buffers, its active range, draws of captured vertices,
//! queries of a stream.

use super::recording::push;
use crate::command::{BufferOrAddress, Command, DrawIndirectByteCount, FeedbackCounters, FeedbackRange};
use crate::fallible;
use crate::ffi::handle::{optional, share};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::buffer::Buffer;
use crate::object::query::QueryPool;
use ash::vk;

const FEEDBACK: Requirement = ext("VK_EXT_transform_feedback");

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(
        Device,
        cmd_bind_transform_feedback_buffers as vk::PFN_vkCmdBindTransformFeedbackBuffersEXT,
        vkCmdBindTransformFeedbackBuffersEXT: FEEDBACK
    ),
    row!(
        Device,
        cmd_begin_transform_feedback as vk::PFN_vkCmdBeginTransformFeedbackEXT,
        vkCmdBeginTransformFeedbackEXT: FEEDBACK
    ),
    row!(Device, cmd_end_transform_feedback as vk::PFN_vkCmdEndTransformFeedbackEXT, vkCmdEndTransformFeedbackEXT: FEEDBACK),
    row!(Device, cmd_begin_query_indexed as vk::PFN_vkCmdBeginQueryIndexedEXT, vkCmdBeginQueryIndexedEXT: FEEDBACK),
    row!(Device, cmd_end_query_indexed as vk::PFN_vkCmdEndQueryIndexedEXT, vkCmdEndQueryIndexedEXT: FEEDBACK),
    row!(
        Device,
        cmd_draw_indirect_byte_count as vk::PFN_vkCmdDrawIndirectByteCountEXT,
        vkCmdDrawIndirectByteCountEXT: FEEDBACK
    ),
];

/// Returns the counters of `vkCmdBeginTransformFeedbackEXT` and `vkCmdEndTransformFeedbackEXT`;
/// without offsets these are 0.
///
/// # Safety
/// The arguments fulfil the valid usage of the command.
unsafe fn counters(
    first: u32,
    count: u32,
    buffers: *const vk::Buffer,
    offsets: *const u64,
) -> Result<Box<FeedbackCounters>, vk::Result> {
    // SAFETY: the valid usage of the command makes both lists null or valid.
    let (buffers, offsets) = unsafe { (slice(buffers, count), slice(offsets, count)) };
    let counter = |(i, buffer): (usize, &vk::Buffer)| {
        // SAFETY: the valid usage of the command makes the handle null or live.
        let buffer = unsafe { optional::<Buffer>(*buffer) };
        buffer.map(|buffer| (BufferOrAddress::Buffer(buffer), offsets.get(i).copied().unwrap_or(0)))
    };
    let counters = fallible::collect(buffers.iter().enumerate().map(counter))?;
    Ok(Box::new(FeedbackCounters { first, counters }))
}

shims! {
    fn cmd_bind_transform_feedback_buffers(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const u64,
        sizes: *const u64,
    ) {
        let (offsets, sizes) = (slice(offsets, count), slice(sizes, count));
        let range = |(i, buffer): (usize, &vk::Buffer)| FeedbackRange {
            location: (share::<Buffer>(*buffer).into(), offsets.get(i).copied().unwrap_or(0)),
            size: sizes.get(i).copied().unwrap_or(vk::WHOLE_SIZE),
        };
        let ranges = fallible::collect(slice(buffers, count).iter().enumerate().map(range))?;
        push(buffer, Command::BindTransformFeedbackBuffers { first, ranges });
    }

    fn cmd_begin_transform_feedback(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const u64,
    ) {
        push(buffer, Command::BeginTransformFeedback(counters(first, count, buffers, offsets)?));
    }

    fn cmd_end_transform_feedback(
        buffer: vk::CommandBuffer,
        first: u32,
        count: u32,
        buffers: *const vk::Buffer,
        offsets: *const u64,
    ) {
        push(buffer, Command::EndTransformFeedback(counters(first, count, buffers, offsets)?));
    }

    fn cmd_begin_query_indexed(
        buffer: vk::CommandBuffer,
        pool: vk::QueryPool,
        query: u32,
        _flags: vk::QueryControlFlags,
        stream: u32,
    ) {
        push(buffer, Command::BeginQuery { pool: share::<QueryPool>(pool), query, stream });
    }

    fn cmd_end_query_indexed(buffer: vk::CommandBuffer, pool: vk::QueryPool, query: u32, stream: u32) {
        push(buffer, Command::EndQuery { pool: share::<QueryPool>(pool), query, stream });
    }

    fn cmd_draw_indirect_byte_count(
        buffer: vk::CommandBuffer,
        instance_count: u32,
        first_instance: u32,
        counter: vk::Buffer,
        counter_buffer_offset: u64,
        counter_offset: u32,
        vertex_stride: u32,
    ) {
        let draw = DrawIndirectByteCount {
            instance_count,
            first_instance,
            counter: (share::<Buffer>(counter).into(), counter_buffer_offset),
            counter_offset,
            vertex_stride,
        };
        push(buffer, Command::DrawIndirectByteCount(Box::new(draw)));
    }
}
