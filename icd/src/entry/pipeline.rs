//! Shader modules, pipeline caches, pipelines.

use super::handle::{self, dispatchable, get, optional};
use super::shim::{find, shims, slice};
use super::table::{CommandRow, V1_0, row};
use crate::fallible;
use crate::object::device::Device;
use crate::object::pipeline::{Created, Pipeline, create_compute, create_graphics};
use crate::object::pipeline_cache::PipelineCache;
use crate::object::shader_module::ShaderModule;
use ash::vk;
use core::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows.
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_shader_module as vk::PFN_vkCreateShaderModule, vkCreateShaderModule: V1_0),
    row!(Device, destroy_shader_module as vk::PFN_vkDestroyShaderModule, vkDestroyShaderModule: V1_0),
    row!(Device, create_pipeline_cache as vk::PFN_vkCreatePipelineCache, vkCreatePipelineCache: V1_0),
    row!(Device, destroy_pipeline_cache as vk::PFN_vkDestroyPipelineCache, vkDestroyPipelineCache: V1_0),
    row!(Device, get_pipeline_cache_data as vk::PFN_vkGetPipelineCacheData, vkGetPipelineCacheData: V1_0),
    row!(Device, merge_pipeline_caches as vk::PFN_vkMergePipelineCaches, vkMergePipelineCaches: V1_0),
    row!(Device, create_graphics_pipelines as vk::PFN_vkCreateGraphicsPipelines, vkCreateGraphicsPipelines: V1_0),
    row!(Device, create_compute_pipelines as vk::PFN_vkCreateComputePipelines, vkCreateComputePipelines: V1_0),
    row!(Device, destroy_pipeline as vk::PFN_vkDestroyPipeline, vkDestroyPipeline: V1_0),
];

/// Creates `infos.len()` pipelines: the failed ones are null, the first error is returned.
///
/// # Safety
/// `pipelines` has room for all; `p_next` of each info is valid.
unsafe fn create_all<T>(
    infos: &[T],
    pipelines: *mut vk::Pipeline,
    flags: impl Fn(&T) -> vk::PipelineCreateFlags,
    chain: impl Fn(&T) -> *const c_void,
    create: impl Fn(&T) -> Result<Created, vk::Result>,
) -> Result<(), vk::Result> {
    let mut result = Ok(());
    let mut stopped = false;
    for (i, info) in infos.iter().enumerate() {
        // SAFETY: the caller's promise.
        let out = unsafe { &mut *pipelines.add(i) };
        *out = vk::Pipeline::null();
        if stopped {
            continue;
        }
        let began = Instant::now();
        let mut stages = Vec::new();
        match create(info).and_then(|created| Ok((handle::create(created.pipeline)?, created.feedback))) {
            Ok((pipeline, feedback)) => (*out, stages) = (pipeline, feedback),
            Err(error) => {
                // A compile-required answer must not hide an error.
                if result.is_ok() || error.as_raw() < 0 {
                    result = Err(error);
                }
                stopped = flags(info).contains(vk::PipelineCreateFlags::EARLY_RETURN_ON_FAILURE);
            }
        }
        // SAFETY: the caller's promise.
        if let Some(feedback) = unsafe { find::<vk::PipelineCreationFeedbackCreateInfo<'_>>(chain(info)) } {
            // SAFETY: the structure's pointers are outputs of the application.
            unsafe { answer(feedback, began, &stages) };
        }
    }
    result
}

/// Fills in a pipeline's feedback: it hit the cache if every stage did.
///
/// # Safety
/// The structure's pointers are valid for writing.
unsafe fn answer(
    feedback: &vk::PipelineCreationFeedbackCreateInfo<'_>,
    began: Instant,
    stages: &[vk::PipelineCreationFeedback],
) {
    use vk::PipelineCreationFeedbackFlags as F;
    let hit = F::APPLICATION_PIPELINE_CACHE_HIT;
    let all = !stages.is_empty() && stages.iter().all(|s| s.flags.contains(hit));
    let whole = vk::PipelineCreationFeedback {
        flags: if all { F::VALID | hit } else { F::VALID },
        duration: began.elapsed().as_nanos() as u64,
    };
    // SAFETY: the caller's promise.
    let outputs = unsafe {
        *feedback.p_pipeline_creation_feedback = whole;
        let count = feedback.pipeline_stage_creation_feedback_count;
        super::shim::slice_mut(feedback.p_pipeline_stage_creation_feedbacks, count)
    };
    let none = std::iter::repeat(vk::PipelineCreationFeedback::default());
    outputs.iter_mut().zip(stages.iter().copied().chain(none)).for_each(|(out, stage)| *out = stage);
}

shims! {
    fn create_shader_module(
        _device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo<'_>,
        _allocator: Allocator<'_>,
        module: *mut vk::ShaderModule,
    ) -> VkResult {
        let info = &*info;
        let words = fallible::shared(slice(info.p_code, (info.code_size / 4) as u32))?;
        *module = handle::create(Arc::new(ShaderModule { words }))?;
        Ok(())
    }

    fn destroy_shader_module(_device: vk::Device, module: vk::ShaderModule, _allocator: Allocator<'_>) {
        handle::destroy::<ShaderModule>(module);
    }

    fn create_pipeline_cache(
        _device: vk::Device,
        info: *const vk::PipelineCacheCreateInfo<'_>,
        _allocator: Allocator<'_>,
        cache: *mut vk::PipelineCache,
    ) -> VkResult {
        let info = &*info;
        let data: &[u8] =
            if info.p_initial_data.is_null() { &[] } else { std::slice::from_raw_parts(info.p_initial_data.cast(), info.initial_data_size) };
        // The entries are copied one by one.
        fallible::available(data.len())?;
        *cache = handle::create(Arc::new(PipelineCache::new(data)))?;
        Ok(())
    }

    fn destroy_pipeline_cache(_device: vk::Device, cache: vk::PipelineCache, _allocator: Allocator<'_>) {
        handle::destroy::<PipelineCache>(cache);
    }

    fn get_pipeline_cache_data(_device: vk::Device, cache: vk::PipelineCache, size: *mut usize, data: *mut c_void) -> VkResult {
        let cache = get::<PipelineCache>(cache);
        let (bytes, complete) = cache.data((!data.is_null()).then_some(*size));
        *size = bytes.len();
        if data.is_null() {
            return Ok(());
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len());
        if complete { Ok(()) } else { Err(vk::Result::INCOMPLETE) }
    }

    fn merge_pipeline_caches(_device: vk::Device, cache: vk::PipelineCache, count: u32, from: *const vk::PipelineCache) -> VkResult {
        let cache = get::<PipelineCache>(cache);
        slice(from, count).iter().for_each(|f| cache.merge(get::<PipelineCache>(*f)));
        Ok(())
    }

    fn create_graphics_pipelines(
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::GraphicsPipelineCreateInfo<'_>,
        _allocator: Allocator<'_>,
        pipelines: *mut vk::Pipeline,
    ) -> VkResult {
        let (device, cache) = (dispatchable::<Device>(device), optional::<PipelineCache>(cache));
        create_all(slice(infos, count), pipelines, |i| i.flags, |i| i.p_next, |i| create_graphics(device, cache.as_deref(), i))
    }

    fn create_compute_pipelines(
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::ComputePipelineCreateInfo<'_>,
        _allocator: Allocator<'_>,
        pipelines: *mut vk::Pipeline,
    ) -> VkResult {
        let (device, cache) = (dispatchable::<Device>(device), optional::<PipelineCache>(cache));
        create_all(slice(infos, count), pipelines, |i| i.flags, |i| i.p_next, |i| create_compute(device, cache.as_deref(), i))
    }

    fn destroy_pipeline(_device: vk::Device, pipeline: vk::Pipeline, _allocator: Allocator<'_>) {
        handle::destroy::<Pipeline>(pipeline);
    }
}
