//! Pipelines: refused at creation with a message when a shader or a state is not supported; their code is made meanwhile
//! ([`Compiler`](crate::backend::compiler::Compiler)).

use super::device::Device;
use super::pipeline_cache::PipelineCache;
use super::pipeline_layout::PipelineLayout;
use super::pipeline_state::{GraphicsState, translate};
use super::shader_module::ShaderModule;
use crate::backend::compile::StageRequest;
use crate::backend::compiler::{Origin, Refusal};
use crate::backend::tiered::TieredCode;
use crate::caps::properties::SUBGROUP_SIZE;
use crate::entry::handle;
use crate::entry::shim::{find, slice, string};
use crate::fallible;
use ash::vk;
use base::shader::{CompiledStage, Stage};
use jit::error::ErrorKind;
use jit::spirv::Specialization;
use rasterizer::api::GraphicsStages;
use std::sync::Arc;
use std::time::Instant;

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
    /// Stages.
    pub stages: Arc<GraphicsStages>,
    code: Vec<Arc<TieredCode>>,
    /// State.
    pub state: GraphicsState,
    /// Layout.
    pub layout: Arc<PipelineLayout>,
}

/// A compute pipeline.
pub struct ComputePipeline {
    /// Stage.
    pub stage: CompiledStage,
    code: Arc<TieredCode>,
    /// Layout.
    pub layout: Arc<PipelineLayout>,
}

impl GraphicsPipeline {
    /// Waits until there is code. An error means that the device can't go on.
    pub fn ready(&self) -> Result<(), String> {
        self.code.iter().try_for_each(|code| code.ready())
    }
}

impl ComputePipeline {
    /// As [`GraphicsPipeline::ready`].
    pub fn ready(&self) -> Result<(), String> {
        self.code.ready()
    }
}

/// A pipeline and what `VkPipelineCreationFeedbackCreateInfo` asks about its stages, in their order.
pub struct Created {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// A stage that was not compiled has no valid feedback.
    pub feedback: Vec<vk::PipelineCreationFeedback>,
}

/// Creates a graphics pipeline.
///
/// # Safety
/// `info` is valid with its chains and handles.
pub unsafe fn create_graphics(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::GraphicsPipelineCreateInfo<'_>,
) -> Result<Created, vk::Result> {
    // SAFETY: (all here) the caller's promise.
    let layout = unsafe { handle::optional::<PipelineLayout>(info.layout) }.unwrap_or_else(empty_layout);
    // SAFETY: as above.
    let state = unsafe { translate(info) }.map_err(|message| refuse(device, "graphics pipeline", &message))?;
    let (mut vertex, mut fragment) = (None, None);
    let (mut code, mut feedback) = (Vec::new(), Vec::new());
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
        if discarded {
            feedback.push(vk::PipelineCreationFeedback::default());
            continue;
        }
        // SAFETY: as above.
        let (own, answer) = unsafe { stage_of(device, cache, info.flags, stage, kind, &layout) }?;
        *slot = Some(own.stage());
        code.push(own);
        feedback.push(answer);
    }
    let vertex = vertex.ok_or_else(|| refuse(device, "graphics pipeline", "there is no vertex stage"))?;
    let stages = Arc::new(GraphicsStages { vertex, fragment });
    let kind = PipelineKind::Graphics(Arc::new(GraphicsPipeline { stages, code, state, layout }));
    Ok(Created { pipeline: Arc::new(Pipeline { kind }), feedback })
}

/// Creates a compute pipeline.
///
/// # Safety
/// As [`create_graphics`].
pub unsafe fn create_compute(
    device: &Device,
    cache: Option<&PipelineCache>,
    info: &vk::ComputePipelineCreateInfo<'_>,
) -> Result<Created, vk::Result> {
    // SAFETY: the caller's promise.
    let layout = unsafe { handle::optional::<PipelineLayout>(info.layout) }.unwrap_or_else(empty_layout);
    // SAFETY: the caller's promise.
    let (code, answer) = unsafe { stage_of(device, cache, info.flags, &info.stage, Stage::Compute, &layout) }?;
    let kind = PipelineKind::Compute(Arc::new(ComputePipeline { stage: code.stage(), code, layout }));
    Ok(Created { pipeline: Arc::new(Pipeline { kind }), feedback: vec![answer] })
}

fn empty_layout() -> Arc<PipelineLayout> {
    Arc::default()
}

/// What these calls may return when a shader can't be compiled; the message says why.
fn refuse(device: &Device, what: &str, message: &str) -> vk::Result {
    device.unsupported(&format!("{what}: {message}"));
    vk::Result::ERROR_INVALID_SHADER_NV
}

unsafe fn stage_of(
    device: &Device,
    cache: Option<&PipelineCache>,
    flags: vk::PipelineCreateFlags,
    info: &vk::PipelineShaderStageCreateInfo<'_>,
    stage: Stage,
    layout: &Arc<PipelineLayout>,
) -> Result<(Arc<TieredCode>, vk::PipelineCreationFeedback), vk::Result> {
    let began = Instant::now();
    // SAFETY: (all here) the caller's promise.
    let module = unsafe { handle::optional::<ShaderModule>(info.module) };
    let words: Arc<[u32]> = match &module {
        Some(module) => module.words.clone(),
        None => {
            // Without a module the code is in the chain (VK_KHR_maintenance5, graphics pipeline library).
            // SAFETY: as above.
            let inline = unsafe { find::<vk::ShaderModuleCreateInfo<'_>>(info.p_next) };
            let inline = inline.ok_or_else(|| refuse(device, "pipeline", "a stage has no shader module"))?;
            // SAFETY: as above.
            fallible::shared(unsafe { slice(inline.p_code, (inline.code_size / 4) as u32) })?
        }
    };
    // SAFETY: as above.
    let entry = unsafe { string(info.p_name) }.unwrap_or_default();
    // SAFETY: as above.
    let required = unsafe { find::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>>(info.p_next) };
    if let Some(size) = required.map(|r| r.required_subgroup_size).filter(|&size| size != SUBGROUP_SIZE) {
        let message = format!("subgroups of {size}, there are only those of {SUBGROUP_SIZE}");
        return Err(refuse(device, "pipeline", &message));
    }
    // SAFETY: as above.
    let specialization = Specialization { entries: unsafe { specialization(info.p_specialization_info) }? };
    let request = StageRequest { words, stage, entry: entry.clone(), specialization, layout: layout.clone() };
    let only_cached = flags.contains(vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
    let (code, origin) = device.compiler.stage(request, cache, only_cached).map_err(|refusal| match refusal {
        Refusal::CompileRequired => vk::Result::PIPELINE_COMPILE_REQUIRED,
        Refusal::OutOfMemory => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
        Refusal::Shader(error) => {
            let name = module.as_ref().map(|m| device.name(handle::raw(m))).unwrap_or_default();
            let what = format!("{stage:?} shader module {name}, entry point \"{entry}\"");
            let result = refuse(device, &what, &error.to_string());
            // Legal, but more than a compile may take.
            if error.kind == ErrorKind::Limit { vk::Result::ERROR_OUT_OF_HOST_MEMORY } else { result }
        }
    })?;
    let hit = match origin {
        Origin::Cache => vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT,
        Origin::Living | Origin::Compiled => vk::PipelineCreationFeedbackFlags::empty(),
    };
    let flags = vk::PipelineCreationFeedbackFlags::VALID | hit;
    Ok((code, vk::PipelineCreationFeedback { flags, duration: began.elapsed().as_nanos() as u64 }))
}

unsafe fn specialization(info: *const vk::SpecializationInfo<'_>) -> Result<Vec<(u32, Vec<u8>)>, vk::Result> {
    // SAFETY: (all here) the caller's promise.
    let Some(info) = (unsafe { info.as_ref() }) else { return Ok(Vec::new()) };
    // SAFETY: as above.
    let (entries, data) = unsafe {
        (slice(info.p_map_entries, info.map_entry_count), slice(info.p_data.cast::<u8>(), info.data_size as u32))
    };
    fallible::available(entries.len() * size_of::<(u32, Vec<u8>)>() + data.len())?;
    let bytes = |e: &vk::SpecializationMapEntry| data.get(e.offset as usize..(e.offset as usize).checked_add(e.size)?);
    Ok(entries.iter().filter_map(|e| Some((e.constant_id, bytes(e)?.to_vec()))).collect())
}
