//! Command pools and command buffers: allocation, recording, secondary command buffers,
//! synchronisation commands, queries, labels.

use super::memory_of;
use super::recording::{push, record};
use crate::command::{Command, CommandBuffer, CommandPool, CopyQueryPoolResults};
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get, share};
use crate::ffi::pointer::{slice, slice_mut};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, V1_1, V1_3, ext, row};
use crate::object::buffer::Buffer;
use crate::object::query::QueryPool;
use crate::object::sync::Event;
use ash::vk::{self, Handle};
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_command_pool as vk::PFN_vkCreateCommandPool, vkCreateCommandPool: V1_0),
    row!(Device, destroy_command_pool as vk::PFN_vkDestroyCommandPool, vkDestroyCommandPool: V1_0),
    row!(Device, reset_command_pool as vk::PFN_vkResetCommandPool, vkResetCommandPool: V1_0),
    row!(
        Device,
        trim_command_pool as vk::PFN_vkTrimCommandPool,
        vkTrimCommandPool: V1_1,
        vkTrimCommandPoolKHR: ext("VK_KHR_maintenance1")
    ),
    row!(Device, allocate_command_buffers as vk::PFN_vkAllocateCommandBuffers, vkAllocateCommandBuffers: V1_0),
    row!(Device, free_command_buffers as vk::PFN_vkFreeCommandBuffers, vkFreeCommandBuffers: V1_0),
    row!(Device, begin_command_buffer as vk::PFN_vkBeginCommandBuffer, vkBeginCommandBuffer: V1_0),
    row!(Device, end_command_buffer as vk::PFN_vkEndCommandBuffer, vkEndCommandBuffer: V1_0),
    row!(Device, reset_command_buffer as vk::PFN_vkResetCommandBuffer, vkResetCommandBuffer: V1_0),
    row!(Device, cmd_execute_commands as vk::PFN_vkCmdExecuteCommands, vkCmdExecuteCommands: V1_0),
    row!(Device, cmd_pipeline_barrier as vk::PFN_vkCmdPipelineBarrier, vkCmdPipelineBarrier: V1_0),
    row!(
        Device,
        cmd_pipeline_barrier2 as vk::PFN_vkCmdPipelineBarrier2,
        vkCmdPipelineBarrier2: V1_3,
        vkCmdPipelineBarrier2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, cmd_set_event as vk::PFN_vkCmdSetEvent, vkCmdSetEvent: V1_0),
    row!(
        Device,
        cmd_set_event2 as vk::PFN_vkCmdSetEvent2,
        vkCmdSetEvent2: V1_3,
        vkCmdSetEvent2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, cmd_reset_event as vk::PFN_vkCmdResetEvent, vkCmdResetEvent: V1_0),
    row!(
        Device,
        cmd_reset_event2 as vk::PFN_vkCmdResetEvent2,
        vkCmdResetEvent2: V1_3,
        vkCmdResetEvent2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, cmd_wait_events as vk::PFN_vkCmdWaitEvents, vkCmdWaitEvents: V1_0),
    row!(
        Device,
        cmd_wait_events2 as vk::PFN_vkCmdWaitEvents2,
        vkCmdWaitEvents2: V1_3,
        vkCmdWaitEvents2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, cmd_begin_query as vk::PFN_vkCmdBeginQuery, vkCmdBeginQuery: V1_0),
    row!(Device, cmd_end_query as vk::PFN_vkCmdEndQuery, vkCmdEndQuery: V1_0),
    row!(Device, cmd_reset_query_pool as vk::PFN_vkCmdResetQueryPool, vkCmdResetQueryPool: V1_0),
    row!(Device, cmd_write_timestamp as vk::PFN_vkCmdWriteTimestamp, vkCmdWriteTimestamp: V1_0),
    row!(
        Device,
        cmd_write_timestamp2 as vk::PFN_vkCmdWriteTimestamp2,
        vkCmdWriteTimestamp2: V1_3,
        vkCmdWriteTimestamp2KHR: ext("VK_KHR_synchronization2")
    ),
    row!(Device, cmd_copy_query_pool_results as vk::PFN_vkCmdCopyQueryPoolResults, vkCmdCopyQueryPoolResults: V1_0),
    row!(
        Device,
        cmd_set_device_mask as vk::PFN_vkCmdSetDeviceMask,
        vkCmdSetDeviceMask: V1_1,
        vkCmdSetDeviceMaskKHR: ext("VK_KHR_device_group")
    ),
    row!(
        Device,
        cmd_begin_debug_utils_label as vk::PFN_vkCmdBeginDebugUtilsLabelEXT,
        vkCmdBeginDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        cmd_end_debug_utils_label as vk::PFN_vkCmdEndDebugUtilsLabelEXT,
        vkCmdEndDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        cmd_insert_debug_utils_label as vk::PFN_vkCmdInsertDebugUtilsLabelEXT,
        vkCmdInsertDebugUtilsLabelEXT: ext("VK_EXT_debug_utils")
    ),
    row!(
        Device,
        cmd_debug_marker_begin as vk::PFN_vkCmdDebugMarkerBeginEXT,
        vkCmdDebugMarkerBeginEXT: ext("VK_EXT_debug_marker")
    ),
    row!(
        Device,
        cmd_debug_marker_end as vk::PFN_vkCmdDebugMarkerEndEXT,
        vkCmdDebugMarkerEndEXT: ext("VK_EXT_debug_marker")
    ),
    row!(
        Device,
        cmd_debug_marker_insert as vk::PFN_vkCmdDebugMarkerInsertEXT,
        vkCmdDebugMarkerInsertEXT: ext("VK_EXT_debug_marker")
    ),
];

shims! {
    fn create_command_pool(
        device: vk::Device,
        _info: *const vk::CommandPoolCreateInfo<'_>,
        allocator: Allocator<'_>,
        pool: *mut vk::CommandPool,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        *pool = handle::create(Arc::new(CommandPool::new(memory)), memory)?;
        Ok(())
    }

    fn destroy_command_pool(device: vk::Device, pool: vk::CommandPool, allocator: Allocator<'_>) {
        if !pool.is_null() {
            let memory = memory_of(device, allocator);
            for buffer in std::mem::take(&mut *get::<CommandPool>(pool).buffers.lock()) {
                drop(handle::destroy_dispatchable::<CommandBuffer>(buffer, memory));
            }
            handle::destroy::<CommandPool>(pool, memory);
        }
    }

    fn reset_command_pool(_device: vk::Device, pool: vk::CommandPool, _flags: vk::CommandPoolResetFlags) -> VkResult {
        get::<CommandPool>(pool).buffers.lock().iter().for_each(|b| dispatchable::<CommandBuffer>(*b).reset());
        Ok(())
    }

    fn trim_command_pool(_device: vk::Device, _pool: vk::CommandPool, _flags: vk::CommandPoolTrimFlags) {}

    fn allocate_command_buffers(
        _device: vk::Device,
        info: *const vk::CommandBufferAllocateInfo<'_>,
        buffers: *mut vk::CommandBuffer,
    ) -> VkResult {
        let info = &*info;
        let pool = get::<CommandPool>(info.command_pool);
        let mut list = pool.buffers.lock();
        let before = list.len();
        let is_secondary = info.level == vk::CommandBufferLevel::SECONDARY;
        let out = slice_mut(buffers, info.command_buffer_count);
        let made = fallible::reserve(&mut list, out.len()).and_then(|()| {
            (0..out.len()).try_for_each(|_| {
                list.push(handle::create_dispatchable(Arc::new(CommandBuffer::new(is_secondary)), pool.memory)?);
                Ok(())
            })
        });
        if made.is_err() {
            list.drain(before..).for_each(|b| drop(handle::destroy_dispatchable::<CommandBuffer>(b, None)));
            out.fill(vk::CommandBuffer::null());
            return made;
        }
        out.copy_from_slice(&list[before..]);
        Ok(())
    }

    fn free_command_buffers(_device: vk::Device, pool: vk::CommandPool, count: u32, buffers: *const vk::CommandBuffer) {
        let mut list = get::<CommandPool>(pool).buffers.lock();
        for buffer in slice(buffers, count).iter().filter(|b| !b.is_null()) {
            list.retain(|b| b != buffer);
            drop(handle::destroy_dispatchable::<CommandBuffer>(*buffer, None));
        }
    }

    fn begin_command_buffer(buffer: vk::CommandBuffer, info: *const vk::CommandBufferBeginInfo<'_>) -> VkResult {
        dispatchable::<CommandBuffer>(buffer).reset();
        let recorder = dispatchable::<CommandBuffer>(buffer);
        if recorder.is_secondary {
            (*info).p_inheritance_info.as_ref().into_iter().for_each(|info| super::descriptor_heap::inherit(buffer, info));
        }
        Ok(())
    }

    fn end_command_buffer(buffer: vk::CommandBuffer) -> VkResult {
        dispatchable::<CommandBuffer>(buffer).end()
    }

    fn reset_command_buffer(buffer: vk::CommandBuffer, _flags: vk::CommandBufferResetFlags) -> VkResult {
        dispatchable::<CommandBuffer>(buffer).reset();
        Ok(())
    }

    fn cmd_execute_commands(buffer: vk::CommandBuffer, count: u32, buffers: *const vk::CommandBuffer) {
        let lists = slice(buffers, count).iter().map(|b| dispatchable::<CommandBuffer>(*b).list());
        let lists = fallible::collect(lists)?;
        record(buffer, |recorder| recorder.execute(lists));
    }

    fn cmd_pipeline_barrier(
        buffer: vk::CommandBuffer,
        _src: vk::PipelineStageFlags,
        _dst: vk::PipelineStageFlags,
        _flags: vk::DependencyFlags,
        _memory_count: u32,
        _memory: *const vk::MemoryBarrier<'_>,
        _buffer_count: u32,
        _buffers: *const vk::BufferMemoryBarrier<'_>,
        _image_count: u32,
        _images: *const vk::ImageMemoryBarrier<'_>,
    ) {
        push(buffer, Command::PipelineBarrier);
    }

    fn cmd_pipeline_barrier2(buffer: vk::CommandBuffer, _info: *const vk::DependencyInfo<'_>) {
        push(buffer, Command::PipelineBarrier);
    }

    fn cmd_set_event(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags) {
        push(buffer, Command::SetEvent(share::<Event>(event)));
    }

    fn cmd_set_event2(buffer: vk::CommandBuffer, event: vk::Event, _info: *const vk::DependencyInfo<'_>) {
        push(buffer, Command::SetEvent(share::<Event>(event)));
    }

    fn cmd_reset_event(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags) {
        push(buffer, Command::ResetEvent(share::<Event>(event)));
    }

    fn cmd_reset_event2(buffer: vk::CommandBuffer, event: vk::Event, _stages: vk::PipelineStageFlags2) {
        push(buffer, Command::ResetEvent(share::<Event>(event)));
    }

    fn cmd_wait_events(
        buffer: vk::CommandBuffer,
        count: u32,
        events: *const vk::Event,
        _src: vk::PipelineStageFlags,
        _dst: vk::PipelineStageFlags,
        _memory_count: u32,
        _memory: *const vk::MemoryBarrier<'_>,
        _buffer_count: u32,
        _buffers: *const vk::BufferMemoryBarrier<'_>,
        _image_count: u32,
        _images: *const vk::ImageMemoryBarrier<'_>,
    ) {
        push(buffer, Command::WaitEvents(fallible::collect(slice(events, count).iter().map(|e| share::<Event>(*e)))?));
    }

    fn cmd_wait_events2(buffer: vk::CommandBuffer, count: u32, events: *const vk::Event, _infos: *const vk::DependencyInfo<'_>) {
        push(buffer, Command::WaitEvents(fallible::collect(slice(events, count).iter().map(|e| share::<Event>(*e)))?));
    }

    fn cmd_begin_query(buffer: vk::CommandBuffer, pool: vk::QueryPool, query: u32, _flags: vk::QueryControlFlags) {
        push(buffer, Command::BeginQuery { pool: share::<QueryPool>(pool), query, stream: 0 });
    }

    fn cmd_end_query(buffer: vk::CommandBuffer, pool: vk::QueryPool, query: u32) {
        push(buffer, Command::EndQuery { pool: share::<QueryPool>(pool), query, stream: 0 });
    }

    fn cmd_reset_query_pool(buffer: vk::CommandBuffer, pool: vk::QueryPool, first: u32, count: u32) {
        push(buffer, Command::ResetQueryPool { pool: share::<QueryPool>(pool), first, count });
    }

    fn cmd_write_timestamp(buffer: vk::CommandBuffer, _stage: vk::PipelineStageFlags, pool: vk::QueryPool, query: u32) {
        push(buffer, Command::WriteTimestamp { pool: share::<QueryPool>(pool), query });
    }

    fn cmd_write_timestamp2(buffer: vk::CommandBuffer, _stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32) {
        push(buffer, Command::WriteTimestamp { pool: share::<QueryPool>(pool), query });
    }

    fn cmd_copy_query_pool_results(
        buffer: vk::CommandBuffer,
        pool: vk::QueryPool,
        first: u32,
        count: u32,
        dst: vk::Buffer,
        offset: u64,
        stride: u64,
        flags: vk::QueryResultFlags,
    ) {
        let copy = CopyQueryPoolResults { pool: share::<QueryPool>(pool), first, count, dst: (share::<Buffer>(dst).into(), offset), stride, flags };
        push(buffer, Command::CopyQueryPoolResults(Box::new(copy)));
    }

    fn cmd_set_device_mask(_buffer: vk::CommandBuffer, _mask: u32) {}

    fn cmd_begin_debug_utils_label(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT<'_>) {}

    fn cmd_end_debug_utils_label(_buffer: vk::CommandBuffer) {}

    fn cmd_insert_debug_utils_label(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT<'_>) {}

    fn cmd_debug_marker_begin(_buffer: vk::CommandBuffer, _marker: *const vk::DebugMarkerMarkerInfoEXT<'_>) {}

    fn cmd_debug_marker_end(_buffer: vk::CommandBuffer) {}

    fn cmd_debug_marker_insert(_buffer: vk::CommandBuffer, _marker: *const vk::DebugMarkerMarkerInfoEXT<'_>) {}
}
