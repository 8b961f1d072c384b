//! Shader modules, pipeline caches, pipelines.

use super::memory_of;
use super::pipeline_info;
use super::stage_source::{StageSources, words_of};
use super::validation_cache::is_validated;
use crate::device::Device;
use crate::fallible;
use crate::ffi::allocator::Callbacks;
use crate::ffi::handle::{self, dispatchable, get, optional};
use crate::ffi::pointer::{bytes, find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, V1_0, row};
use crate::object::pipeline::{CreatedPipeline, Pipeline, PipelineBuilder, PipelineError};
use crate::object::shader_module::ShaderModule;
use crate::shader_compiler::pipeline_cache::PipelineCache;
use ash::vk;
use core::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// Rows of this family in the command table.
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

/// Creates `infos.len()` pipelines: failed ones are null, and the first error is returned.
///
/// # Safety
/// `pipelines` has space for all; `p_next` of each info is valid.
pub(super) unsafe fn create_all<T>(
    (device, cache, memory): (&Device, Option<&PipelineCache>, Option<Callbacks>),
    infos: &[T],
    pipelines: *mut vk::Pipeline,
    flags_and_chain: impl Fn(&T) -> (vk::PipelineCreateFlags, *const c_void),
    create: impl Fn(PipelineBuilder<'_>, &T) -> Result<CreatedPipeline, PipelineError>,
) -> Result<(), vk::Result> {
    let mut result = Ok(());
    let mut stopped = false;
    for (i, info) in infos.iter().enumerate() {
        // SAFETY: `pipelines` has space for all, as the `# Safety` section demands.
        let out = unsafe { &mut *pipelines.add(i) };
        *out = vk::Pipeline::null();
        if stopped {
            continue;
        }
        let began = Instant::now();
        let (flags, chain) = flags_and_chain(info);
        // SAFETY: the chain of each info is valid, as the `# Safety` section demands.
        let flags = unsafe { pipeline_info::create_flags(flags, chain) };
        let created =
            create(PipelineBuilder { compiler: &device.compiler, linker: &device.linker, cache, flags }, info).map_err(
                |failure| {
                    failure.message.iter().for_each(|message| device.report_unsupported(message));
                    failure.result
                },
            );
        let mut stages = Vec::new();
        let created = created.inspect(|created| {
            created.pipeline.program().into_iter().for_each(|program| device.faults.register(program))
        });
        match created.and_then(|created| Ok((handle::create(created.pipeline, memory)?, created.feedback))) {
            Ok((pipeline, feedback)) => (*out, stages) = (pipeline, feedback),
            Err(error) => {
                // A compile-required answer must not hide an error.
                if result.is_ok() || error.as_raw() < 0 {
                    result = Err(error);
                }
                stopped = flags.contains(vk::PipelineCreateFlags2KHR::EARLY_RETURN_ON_FAILURE);
            }
        }
        // SAFETY: the chain of each info is valid, as the `# Safety` section demands.
        if let Some(feedback) = unsafe { find::<vk::PipelineCreationFeedbackCreateInfo<'_>>(chain) } {
            // SAFETY: the structure's pointers are valid outputs of the application.
            unsafe { write_feedback(feedback, began, &stages) };
        }
    }
    result
}

/// Fills in a pipeline's feedback: it hit the cache if every stage did.
///
/// # Safety
/// The structure's pointers are valid for writing.
unsafe fn write_feedback(
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
    // SAFETY: the structure's pointers are valid for writing, as the `# Safety` section demands.
    let outputs = unsafe {
        *feedback.p_pipeline_creation_feedback = whole;
        let count = feedback.pipeline_stage_creation_feedback_count;
        crate::ffi::pointer::slice_mut(feedback.p_pipeline_stage_creation_feedbacks, count)
    };
    let none = std::iter::repeat(vk::PipelineCreationFeedback::default());
    outputs.iter_mut().zip(stages.iter().copied().chain(none)).for_each(|(out, stage)| *out = stage);
}

shims! {
    fn create_shader_module(
        device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo<'_>,
        allocator: Allocator<'_>,
        module: *mut vk::ShaderModule,
    ) -> VkResult {
        dispatchable::<Device>(device).compiler.expect_stages();
        let info = &*info;
        let words = words_of(info)?;
        let is_validated = is_validated(info.p_next, &words);
        *module = handle::create(Arc::new(ShaderModule { words, is_validated }), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_shader_module(device: vk::Device, module: vk::ShaderModule, allocator: Allocator<'_>) {
        handle::destroy::<ShaderModule>(module, memory_of(device, allocator));
    }

    fn create_pipeline_cache(
        device: vk::Device,
        info: *const vk::PipelineCacheCreateInfo<'_>,
        allocator: Allocator<'_>,
        cache: *mut vk::PipelineCache,
    ) -> VkResult {
        let info = &*info;
        let data = bytes(info.p_initial_data, info.initial_data_size);
        // The entries are copied one by one.
        fallible::available(data.len())?;
        let made = PipelineCache::new(data);
        if !made.is_empty() {
            dispatchable::<Device>(device).compiler.expect_stored_stages();
        }
        *cache = handle::create(Arc::new(made), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_pipeline_cache(device: vk::Device, cache: vk::PipelineCache, allocator: Allocator<'_>) {
        handle::destroy::<PipelineCache>(cache, memory_of(device, allocator));
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
        allocator: Allocator<'_>,
        pipelines: *mut vk::Pipeline,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, cache) = (dispatchable::<Device>(device), optional::<PipelineCache>(cache));
        let create = |maker: PipelineBuilder<'_>, i: &vk::GraphicsPipelineCreateInfo<'_>| {
            let sources = StageSources::new(device, cache.as_deref(), i.p_next);
            maker.graphics(pipeline_info::graphics(i, maker.flags, device.heaps.is_some(), &sources)?)
        };
        create_all((device, cache.as_deref(), memory), slice(infos, count), pipelines, |i| (i.flags, i.p_next), create)
    }

    fn create_compute_pipelines(
        device: vk::Device,
        cache: vk::PipelineCache,
        count: u32,
        infos: *const vk::ComputePipelineCreateInfo<'_>,
        allocator: Allocator<'_>,
        pipelines: *mut vk::Pipeline,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, cache) = (dispatchable::<Device>(device), optional::<PipelineCache>(cache));
        let create = |maker: PipelineBuilder<'_>, i: &vk::ComputePipelineCreateInfo<'_>| {
            let sources = StageSources::new(device, cache.as_deref(), i.p_next);
            let (stage, layout) = pipeline_info::compute(i, maker.flags, device.heaps.is_some(), &sources)?;
            maker.compute(stage, layout)
        };
        create_all((device, cache.as_deref(), memory), slice(infos, count), pipelines, |i| (i.flags, i.p_next), create)
    }

    fn destroy_pipeline(device: vk::Device, pipeline: vk::Pipeline, allocator: Allocator<'_>) {
        handle::destroy::<Pipeline>(pipeline, memory_of(device, allocator));
    }
}
