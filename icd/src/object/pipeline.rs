//! Pipelines: compiled at creation, refused with a message when a shader or a state is not supported.

use super::device::Device;
use super::pipeline_cache::PipelineCache;
use super::pipeline_layout::PipelineLayout;
use super::pipeline_state::{GraphicsState, translate};
use super::shader_module::ShaderModule;
use crate::backend::compile::{StageRequest, compile};
use crate::caps::properties::SUBGROUP_SIZE;
use crate::entry::handle;
use crate::entry::shim::{find, slice, string};
use ash::vk;
use base::shader::{CompiledStage, Stage};
use rasterizer::api::GraphicsStages;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `VkPipeline`.
pub struct Pipeline {
    /// By bind point.
    pub kind: PipelineKind,
}

/// Graphics or compute.
pub enum PipelineKind {
    /// Graphics.
    Graphics(Arc<GraphicsPipeline>),
    /// Compute.
    Compute(Arc<ComputePipeline>),
}

/// A graphics pipeline.
pub struct GraphicsPipeline {
    /// Code.
    pub stages: Arc<GraphicsStages>,
    /// State.
    pub state: GraphicsState,
    /// Layout.
    pub layout: Arc<PipelineLayout>,
}

/// A compute pipeline.
pub struct ComputePipeline {
    /// Code.
    pub stage: CompiledStage,
    /// Layout.
    pub layout: Arc<PipelineLayout>,
}

/// What `VkPipelineCreationFeedback` says of a pipeline: for each stage in order, whether the cache had it and how long it took.
#[derive(Default)]
pub struct Feedback {
    /// Stages.
    pub stages: Vec<(bool, Duration)>,
}

/// Compiles a graphics pipeline.
///
/// # Safety
/// `info` is valid with its chains and handles.
pub unsafe fn create_graphics(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    feedback: &mut Feedback,
) -> Result<Arc<Pipeline>, vk::Result> {
    // SAFETY: (all here) the caller's promise.
    let layout = unsafe { handle::optional::<PipelineLayout>(info.layout) }.unwrap_or_else(empty_layout);
    // SAFETY: as above.
    let state = unsafe { translate(info) }.map_err(|message| refuse(device, "graphics pipeline", &message))?;
    let (mut vertex, mut fragment) = (None, None);
    // SAFETY: as above.
    for stage in unsafe { slice(info.p_stages, info.stage_count) } {
        let (slot, kind) = match stage.stage {
            vk::ShaderStageFlags::VERTEX => (&mut vertex, Stage::Vertex),
            vk::ShaderStageFlags::FRAGMENT => (&mut fragment, Stage::Fragment),
            other => {
                return Err(refuse(device, "graphics pipeline", &format!("shader stage {other:?} is not supported")));
            }
        };
        let discarded =
            kind == Stage::Fragment && state.values.rasterizer_discard && !state.dynamic.rasterizer_discard();
        if !discarded {
            // SAFETY: as above.
            *slot = Some(unsafe { stage_of((device, cache), info.flags, stage, kind, &layout, feedback) }?);
        }
    }
    let vertex = vertex.ok_or_else(|| refuse(device, "graphics pipeline", "there is no vertex stage"))?;
    let stages = Arc::new(GraphicsStages { vertex, fragment });
    Ok(Arc::new(Pipeline { kind: PipelineKind::Graphics(Arc::new(GraphicsPipeline { stages, state, layout })) }))
}

/// Compiles a compute pipeline.
///
/// # Safety
/// As [`create_graphics`].
pub unsafe fn create_compute(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::ComputePipelineCreateInfo<'_>,
    feedback: &mut Feedback,
) -> Result<Arc<Pipeline>, vk::Result> {
    // SAFETY: the caller's promise.
    let layout = unsafe { handle::optional::<PipelineLayout>(info.layout) }.unwrap_or_else(empty_layout);
    // SAFETY: the caller's promise.
    let stage = unsafe { stage_of((device, cache), info.flags, &info.stage, Stage::Compute, &layout, feedback) }?;
    Ok(Arc::new(Pipeline { kind: PipelineKind::Compute(Arc::new(ComputePipeline { stage, layout })) }))
}

fn empty_layout() -> Arc<PipelineLayout> {
    Arc::default()
}

fn refuse(device: &Device, what: &str, message: &str) -> vk::Result {
    device.unsupported(&format!("{what}: {message}"));
    vk::Result::ERROR_UNKNOWN
}

unsafe fn stage_of(
    (device, cache): (&Device, Option<&PipelineCache>),
    flags: vk::PipelineCreateFlags,
    info: &vk::PipelineShaderStageCreateInfo<'_>,
    stage: Stage,
    layout: &PipelineLayout,
    feedback: &mut Feedback,
) -> Result<CompiledStage, vk::Result> {
    // SAFETY: (all here) the caller's promise.
    let module = unsafe { handle::optional::<ShaderModule>(info.module) };
    let inline;
    let words: &[u32] = match &module {
        Some(module) => &module.words,
        None => {
            // Without a module the code is in the chain (VK_KHR_maintenance5, graphics pipeline library).
            // SAFETY: as above.
            inline = unsafe { find::<vk::ShaderModuleCreateInfo<'_>>(info.p_next) };
            let inline = inline.ok_or_else(|| refuse(device, "pipeline", "a stage has no shader module"))?;
            // SAFETY: as above.
            unsafe { slice(inline.p_code, (inline.code_size / 4) as u32) }
        }
    };
    // SAFETY: as above.
    let entry = unsafe { string(info.p_name) }.unwrap_or_default();
    // SAFETY: as above.
    let specialization = unsafe { specialization(info.p_specialization_info) };
    // SAFETY: as above.
    let required = unsafe { find::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>>(info.p_next) };
    if let Some(size) = required.map(|r| r.required_subgroup_size).filter(|&size| size != SUBGROUP_SIZE) {
        return Err(refuse(
            device,
            "pipeline",
            &format!("subgroups of {size}, there are only those of {SUBGROUP_SIZE}"),
        ));
    }
    let began = Instant::now();
    let request = StageRequest { words, stage, entry: &entry, specialization, layout: &layout.info };
    let only_cached = flags.contains(vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
    if let Some(found) = cache.and_then(|c| c.find(&request)) {
        feedback.stages.push((true, began.elapsed()));
        return Ok(found);
    }
    if only_cached {
        return Err(vk::Result::PIPELINE_COMPILE_REQUIRED);
    }
    let compiled = compile(&request).map_err(|e| {
        let name = module.as_ref().map(|m| device.name(handle::raw(m))).unwrap_or_default();
        refuse(device, &format!("{stage:?} shader module {name}, entry point \"{entry}\""), &e)
    })?;
    if let Some(cache) = cache {
        cache.insert(&request, &compiled);
    }
    feedback.stages.push((false, began.elapsed()));
    Ok(compiled.stage)
}

unsafe fn specialization(info: *const vk::SpecializationInfo<'_>) -> Vec<(u32, Vec<u8>)> {
    // SAFETY: (all here) the caller's promise.
    let Some(info) = (unsafe { info.as_ref() }) else { return Vec::new() };
    // SAFETY: as above.
    let (entries, data) = unsafe {
        (slice(info.p_map_entries, info.map_entry_count), slice(info.p_data.cast::<u8>(), info.data_size as u32))
    };
    let bytes = |e: &vk::SpecializationMapEntry| data.get(e.offset as usize..(e.offset as usize).checked_add(e.size)?);
    entries.iter().filter_map(|e| Some((e.constant_id, bytes(e)?.to_vec()))).collect()
}
