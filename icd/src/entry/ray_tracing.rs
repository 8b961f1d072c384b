//! Ray tracing pipelines (VK_KHR_ray_tracing_pipeline): creation, shader groups, launches.
//!
//! A call that receives a deferred operation does its work before it returns
//! (`object::deferred_operation`).

use super::memory_of;
use super::pipeline::create_all;
use super::pipeline_info;
use super::recording::push;
use super::stage_source::StageSources;
use crate::command::{Command, LaunchSize, TraceRays};
use crate::device::Device;
use crate::ffi::handle::{dispatchable, get, optional};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::pipeline::{Pipeline, PipelineBuilder};
use crate::object::ray_tracing::GroupHandle;
use crate::shader_compiler::pipeline_cache::PipelineCache;
use ash::vk::{self, Handle};
use core::ffi::c_void;
use execution::trace::{ShaderGroup, ShaderTable, ShaderTables};

const RAY_TRACING: Requirement = ext("VK_KHR_ray_tracing_pipeline");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_ray_tracing_pipelines as vk::PFN_vkCreateRayTracingPipelinesKHR, vkCreateRayTracingPipelinesKHR: RAY_TRACING),
    row!(Device, get_ray_tracing_shader_group_handles as vk::PFN_vkGetRayTracingShaderGroupHandlesKHR, vkGetRayTracingShaderGroupHandlesKHR: RAY_TRACING),
    row!(Device, get_ray_tracing_shader_group_handles as vk::PFN_vkGetRayTracingShaderGroupHandlesKHR, vkGetRayTracingCaptureReplayShaderGroupHandlesKHR: RAY_TRACING),
    row!(Device, get_ray_tracing_shader_group_stack_size as vk::PFN_vkGetRayTracingShaderGroupStackSizeKHR, vkGetRayTracingShaderGroupStackSizeKHR: RAY_TRACING),
    row!(Device, cmd_set_ray_tracing_pipeline_stack_size as vk::PFN_vkCmdSetRayTracingPipelineStackSizeKHR, vkCmdSetRayTracingPipelineStackSizeKHR: RAY_TRACING),
    row!(Device, cmd_trace_rays as vk::PFN_vkCmdTraceRaysKHR, vkCmdTraceRaysKHR: RAY_TRACING),
    row!(Device, cmd_trace_rays_indirect as vk::PFN_vkCmdTraceRaysIndirectKHR, vkCmdTraceRaysIndirectKHR: RAY_TRACING),
    row!(Device, cmd_trace_rays_indirect2 as vk::PFN_vkCmdTraceRaysIndirect2KHR, vkCmdTraceRaysIndirect2KHR: ext("VK_KHR_ray_tracing_maintenance1")),
];

/// Decodes a shader binding table.
///
/// # Safety
/// The pointer is null or valid.
unsafe fn table(region: *const vk::StridedDeviceAddressRegionKHR) -> ShaderTable {
    // SAFETY: the pointer is null or valid, as the `# Safety` section demands.
    let region = unsafe { region.as_ref() }.copied().unwrap_or_default();
    ShaderTable { address: region.device_address, stride: region.stride, size: region.size }
}

/// Records a launch with these tables: of ray generation, miss, hit and callable shaders.
///
/// # Safety
/// The handle is live, and the pointers are null or valid.
unsafe fn trace_rays(
    buffer: vk::CommandBuffer,
    tables: [*const vk::StridedDeviceAddressRegionKHR; 4],
    size: LaunchSize,
) {
    // SAFETY: the handle is live and the pointers are null or valid, as the `# Safety` section
    // demands.
    unsafe {
        let [ray_generation, miss, hit, callable] = tables.map(|region| table(region));
        let tables = ShaderTables { ray_generation, miss, hit, callable };
        push(buffer, Command::TraceRays(Box::new(TraceRays { tables, size })));
    }
}

/// Returns the member of a group that a constant of the API selects.
fn member(shader: vk::ShaderGroupShaderKHR) -> fn(&ShaderGroup) -> Option<u32> {
    match shader {
        vk::ShaderGroupShaderKHR::GENERAL => |group| group.general,
        vk::ShaderGroupShaderKHR::CLOSEST_HIT => |group| group.closest_hit,
        vk::ShaderGroupShaderKHR::ANY_HIT => |group| group.any_hit,
        vk::ShaderGroupShaderKHR::INTERSECTION => |group| group.intersection,
        _ => |_| None,
    }
}

shims! {
    fn create_ray_tracing_pipelines(
        device: vk::Device,
        deferred: vk::DeferredOperationKHR,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::RayTracingPipelineCreateInfoKHR<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        pipelines: *mut vk::Pipeline,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, cache) = (dispatchable::<Device>(device), optional::<PipelineCache>(cache));
        let create = |maker: PipelineBuilder<'_>, i: &vk::RayTracingPipelineCreateInfoKHR<'_>| {
            let sources = StageSources::new(device, cache.as_deref(), i.p_next);
            maker.ray_tracing(pipeline_info::ray_tracing(i, maker.flags, device.heaps.is_some(), &sources)?)
        };
        create_all((device, cache.as_deref(), memory), slice(infos, count), pipelines, |i| (i.flags, i.p_next), create)?;
        if deferred.is_null() { Ok(()) } else { Err(vk::Result::OPERATION_NOT_DEFERRED_KHR) }
    }

    fn get_ray_tracing_shader_group_handles(
        device: vk::Device,
        pipeline: vk::Pipeline,
        first: u32,
        count: u32,
        size: usize,
        data: *mut c_void,
    ) -> VkResult {
        let (first, count) = (first as usize, count as usize);
        let groups = get::<Pipeline>(pipeline).ray_tracing().and_then(|part| part.groups.get(first..)?.get(..count));
        let (Some(groups), true) = (groups, size >= count * size_of::<GroupHandle>()) else {
            dispatchable::<Device>(device).report_invalid_usage(
                "handles of shader groups are asked for that the pipeline does not have, or for which there is no space",
            );
            return Err(vk::Result::ERROR_UNKNOWN);
        };
        for (i, group) in groups.iter().enumerate() {
            data.cast::<GroupHandle>().add(i).write_unaligned(group.handle);
        }
        Ok(())
    }

    fn get_ray_tracing_shader_group_stack_size(
        _device: vk::Device,
        pipeline: vk::Pipeline,
        group: u32,
        shader: vk::ShaderGroupShaderKHR,
    ) -> u64 {
        let part = get::<Pipeline>(pipeline).ray_tracing();
        part.and_then(|part| part.stack_size(group as usize, member(shader))).unwrap_or(0)
    }

    // Frames of shaders are allocated as they are needed, and the stack has no size.
    fn cmd_set_ray_tracing_pipeline_stack_size(_buffer: vk::CommandBuffer, _size: u32) {}

    fn cmd_trace_rays(
        buffer: vk::CommandBuffer,
        ray_generation: *const vk::StridedDeviceAddressRegionKHR,
        miss: *const vk::StridedDeviceAddressRegionKHR,
        hit: *const vk::StridedDeviceAddressRegionKHR,
        callable: *const vk::StridedDeviceAddressRegionKHR,
        width: u32,
        height: u32,
        depth: u32,
    ) {
        trace_rays(buffer, [ray_generation, miss, hit, callable], LaunchSize::Direct([width, height, depth]));
    }

    fn cmd_trace_rays_indirect(
        buffer: vk::CommandBuffer,
        ray_generation: *const vk::StridedDeviceAddressRegionKHR,
        miss: *const vk::StridedDeviceAddressRegionKHR,
        hit: *const vk::StridedDeviceAddressRegionKHR,
        callable: *const vk::StridedDeviceAddressRegionKHR,
        address: u64,
    ) {
        trace_rays(buffer, [ray_generation, miss, hit, callable], LaunchSize::Indirect(address));
    }

    fn cmd_trace_rays_indirect2(buffer: vk::CommandBuffer, address: u64) {
        push(buffer, Command::TraceRaysIndirect2(address));
    }
}
