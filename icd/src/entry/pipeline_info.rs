//! Create infos of pipelines: stages and layouts. The state of graphics pipelines is decoded in
//! [`super::pipeline_state`].

use super::descriptor_heap::{self, DESCRIPTOR_HEAP_BIT};
use super::pipeline_state;
use super::stage_source::{StageModule, StageSources};
use crate::caps::properties::{SIZED_STAGES, SUBGROUP_SIZE};
use crate::fallible;
use crate::ffi::handle;
use crate::ffi::pointer::{find, slice, string};
use crate::object::graphics_part::subset_of;
use crate::object::pipeline::{
    GraphicsCreateInfo, Pipeline, PipelineError, RayTracingCreateInfo, StageCreateInfo, StageOrigin,
};
use crate::object::pipeline_layout::PipelineLayout;
use crate::object::pipeline_state::{ALL_SUBSETS, StateMask, SubsetFlags};
use crate::object::ray_tracing::{GroupCreateInfo, GroupHandle};
use ash::vk;
use base::abi;
use base::limits::SUBGROUP_SIZES;
use base::shader::{PipelineType, Stage};
use core::ffi::c_void;
use execution::trace::ShaderGroup;
use jit::spirv::Specialization;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the flags of a pipeline: those of `VkPipelineCreateFlags2CreateInfo`, or else the old
/// ones, whose bits have the same meaning.
///
/// # Safety
/// The chain is valid.
pub unsafe fn create_flags(flags: vk::PipelineCreateFlags, chain: *const c_void) -> vk::PipelineCreateFlags2KHR {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let flags2 = unsafe { find::<vk::PipelineCreateFlags2CreateInfoKHR<'_>>(chain) };
    flags2.map_or(vk::PipelineCreateFlags2KHR::from_raw(flags.as_raw().into()), |info| info.flags)
}

/// Decodes a graphics pipeline, or a part of one, with these flags; `heaps` is true if the device
/// has descriptor heaps.
///
/// # Safety
/// `info` is valid with its chains and handles.
pub unsafe fn graphics(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    flags: vk::PipelineCreateFlags2KHR,
    heaps: bool,
    sources: &StageSources<'_>,
) -> Result<GraphicsCreateInfo, PipelineError> {
    let refuse = |message: String| PipelineError::unsupported("graphics pipeline", &message);
    // SAFETY: `info` is valid with its chains and handles, as the `# Safety` section demands, so
    // that the subsets are those whose structures are not ignored.
    let (libraries, subsets, state) = unsafe {
        let libraries = libraries(find(info.p_next))?;
        let dynamic = pipeline_state::dynamic_rows(info).map_err(refuse)?;
        let subsets = subsets(info, flags, dynamic, &libraries);
        let state = pipeline_state::decode(info, flags, subsets, dynamic).map_err(refuse)?;
        (libraries, subsets, state)
    };
    let has_stages = subsets.intersects(SubsetFlags::PRE_RASTERIZATION_SHADERS | SubsetFlags::FRAGMENT_SHADER);
    // SAFETY: `info` is valid, so that it has this many stages if they are not ignored.
    let infos = if has_stages { unsafe { slice(info.p_stages, info.stage_count) } } else { &[] };
    let stages = infos.iter().map(|stage| {
        let kind = Stage::from_flag_bit(stage.stage.as_raw(), PipelineType::Graphics)
            .ok_or_else(|| refuse(format!("shader stage {:?} is not supported", stage.stage)))?;
        if !subsets.contains(subset_of(kind)) {
            return Ok(None);
        }
        // SAFETY: each stage of `info` is valid with its chain and handle.
        unsafe { stage_of(stage, (kind, 0), flags, sources) }.map(Some)
    });
    let mut stages: Vec<Option<StageCreateInfo>> = stages.collect::<Result<_, PipelineError>>()?;
    // SAFETY: the stages are valid with their chains, and the layout is null or live.
    let layout = unsafe {
        match heaps && flags.contains(DESCRIPTOR_HEAP_BIT) {
            true if has_stages => Some(heap_layout(infos, &mut stages)?),
            false if has_stages || !libraries.is_empty() => handle::optional::<PipelineLayout>(info.layout),
            _ => None,
        }
    };
    Ok(GraphicsCreateInfo { stages, state, layout, libraries })
}

/// Returns the libraries of a structure, if there is one.
///
/// # Safety
/// The structure is valid with its handles.
unsafe fn libraries(info: Option<&vk::PipelineLibraryCreateInfoKHR<'_>>) -> Result<Vec<Arc<Pipeline>>, vk::Result> {
    // SAFETY: the structure is valid with its handles, as the `# Safety` section demands.
    unsafe {
        let handles = info.map_or(&[][..], |info| slice(info.p_libraries, info.library_count));
        fallible::available(size_of_val(handles))?;
        Ok(handles.iter().filter_map(|library| handle::optional::<Pipeline>(*library)).collect())
    }
}

/// Returns the subsets that a create info has itself: those of its
/// `VkGraphicsPipelineLibraryCreateInfoEXT`, as far as a pipeline with its pre-rasterization state
/// needs them. The structures of all others are ignored and may dangle.
///
/// # Safety
/// `info` is valid with its chains.
unsafe fn subsets(
    info: &vk::GraphicsPipelineCreateInfo<'_>,
    flags: vk::PipelineCreateFlags2KHR,
    dynamic: StateMask,
    libraries: &[Arc<Pipeline>],
) -> SubsetFlags {
    // SAFETY: the chain of `info` is valid, as the `# Safety` section demands.
    let requested = match unsafe { find::<vk::GraphicsPipelineLibraryCreateInfoEXT<'_>>(info.p_next) } {
        Some(library) => library.flags & ALL_SUBSETS,
        None if flags.contains(vk::PipelineCreateFlags2KHR::LIBRARY) || !libraries.is_empty() => SubsetFlags::empty(),
        None => ALL_SUBSETS,
    };
    let pre_rasterization = match requested.contains(SubsetFlags::PRE_RASTERIZATION_SHADERS) {
        // SAFETY: `info` is valid and has pre-rasterization state.
        true => Some(unsafe { pipeline_state::pre_rasterization(info, dynamic) }),
        false => libraries.iter().find_map(|library| library.library()?.pre_rasterization()),
    };
    pre_rasterization.map_or(requested, |state| requested & state.complete())
}

/// Decodes a compute pipeline with these flags.
///
/// # Safety
/// `info` is valid with its chains and handles.
pub unsafe fn compute(
    info: &vk::ComputePipelineCreateInfo<'_>,
    flags: vk::PipelineCreateFlags2KHR,
    heaps: bool,
    sources: &StageSources<'_>,
) -> Result<(StageCreateInfo, Arc<PipelineLayout>), PipelineError> {
    // SAFETY: `info` is valid with its chains and handles, as the `# Safety` section demands.
    unsafe {
        let mut stage = [Some(stage_of(&info.stage, (Stage::Compute, 0), flags, sources)?)];
        let layout = match heaps && flags.contains(DESCRIPTOR_HEAP_BIT) {
            true => heap_layout(std::slice::from_ref(&info.stage), &mut stage)?,
            false => layout(info.layout),
        };
        let [stage] = stage;
        let stage = stage.ok_or_else(|| PipelineError::unsupported("compute pipeline", "there is no stage"))?;
        Ok((stage, layout))
    }
}

/// Decodes a ray tracing pipeline, or a library of one, with these flags.
///
/// # Safety
/// `info` is valid with its chains and handles.
pub unsafe fn ray_tracing(
    info: &vk::RayTracingPipelineCreateInfoKHR<'_>,
    flags: vk::PipelineCreateFlags2KHR,
    heaps: bool,
    sources: &StageSources<'_>,
) -> Result<RayTracingCreateInfo, PipelineError> {
    let refuse = |message: String| PipelineError::unsupported("ray tracing pipeline", &message);
    // SAFETY: `info` is valid, so that it has these numbers of stages and groups.
    let (infos, groups) = unsafe { (slice(info.p_stages, info.stage_count), slice(info.p_groups, info.group_count)) };
    fallible::available(infos.len() * size_of::<StageCreateInfo>() + groups.len() * size_of::<GroupCreateInfo>())?;
    let mut counts = [0; Stage::ALL.len()];
    let stages = infos.iter().map(|stage| {
        let kind = Stage::from_flag_bit(stage.stage.as_raw(), PipelineType::RayTracing)
            .ok_or_else(|| refuse(format!("shader stage {:?} is not supported", stage.stage)))?;
        let count = &mut counts[kind as usize];
        let number = std::mem::replace(count, *count + 1);
        // SAFETY: each stage of `info` is valid with its chain and handle.
        unsafe { stage_of(stage, (kind, number), flags, sources) }.map(Some)
    });
    let mut stages: Vec<Option<StageCreateInfo>> = stages.collect::<Result<_, PipelineError>>()?;
    // SAFETY: the stages and groups are valid with their chains and pointers, the libraries are
    // null or valid, and the layout is null or live.
    unsafe {
        let layout = match heaps && flags.contains(DESCRIPTOR_HEAP_BIT) {
            true => heap_layout(infos, &mut stages)?,
            false => layout(info.layout),
        };
        let libraries = libraries(info.p_library_info.as_ref())?;
        let groups = groups.iter().map(|info| group(info, flags.contains(CAPTURE_REPLAY))).collect();
        Ok(RayTracingCreateInfo { stages: stages.into_iter().flatten().collect(), groups, layout, libraries })
    }
}

/// Flag of a pipeline whose groups may have captured handles.
const CAPTURE_REPLAY: vk::PipelineCreateFlags2KHR =
    vk::PipelineCreateFlags2KHR::RAY_TRACING_SHADER_GROUP_HANDLE_CAPTURE_REPLAY;

/// Decodes a shader group, with its captured handle if the pipeline replays.
///
/// # Safety
/// `info` is valid with its pointers.
unsafe fn group(info: &vk::RayTracingShaderGroupCreateInfoKHR<'_>, replays: bool) -> GroupCreateInfo {
    let used = |shader: u32| (shader != vk::SHADER_UNUSED_KHR).then_some(shader);
    let general = info.ty == vk::RayTracingShaderGroupTypeKHR::GENERAL;
    let of_hit = |shader| if general { None } else { used(shader) };
    let procedural = info.ty == vk::RayTracingShaderGroupTypeKHR::PROCEDURAL_HIT_GROUP;
    let group = ShaderGroup {
        general: used(info.general_shader).filter(|_| general),
        closest_hit: of_hit(info.closest_hit_shader),
        any_hit: of_hit(info.any_hit_shader),
        intersection: used(info.intersection_shader).filter(|_| procedural),
    };
    // SAFETY: the pointer is null or that of a handle's bytes, as the `# Safety` section demands.
    let captured = unsafe { info.p_shader_group_capture_replay_handle.cast::<GroupHandle>().as_ref() };
    GroupCreateInfo { group, captured: captured.copied().filter(|_| replays) }
}

/// Gives stages the locations of their resources in heaps. The layout has only their own samplers;
/// stages of the same kind have a list of samplers in common.
///
/// # Safety
/// `infos` are valid with their chains.
unsafe fn heap_layout(
    infos: &[vk::PipelineShaderStageCreateInfo<'_>],
    stages: &mut [Option<StageCreateInfo>],
) -> Result<Arc<PipelineLayout>, vk::Result> {
    let mut all: BTreeMap<Stage, Vec<abi::Sampler>> = BTreeMap::new();
    for (info, stage) in infos.iter().zip(stages.iter_mut()) {
        let Some(stage) = stage else { continue };
        let samplers = all.entry(stage.stage).or_default();
        stage.heap = Some(match &stage.origin {
            StageOrigin::Binary(binary) => {
                let heap = binary.heap();
                // The binary of each stage has the samplers of all stages of its kind.
                heap.map(|heap| {
                    *samplers = heap.samplers;
                    heap.mappings
                })
                .unwrap_or_default()
            }
            // SAFETY: `infos` are valid with their chains, as the `# Safety` section demands.
            _ => unsafe { descriptor_heap::mappings(info.p_next, stage.stage, samplers) },
        });
    }
    PipelineLayout::for_heap(all.into_iter().collect()).map(Arc::new)
}

/// Returns the layout, or an empty one for null.
///
/// # Safety
/// The handle is null or live.
unsafe fn layout(layout: vk::PipelineLayout) -> Arc<PipelineLayout> {
    // SAFETY: the handle is null or live, as the `# Safety` section demands.
    unsafe { handle::optional::<PipelineLayout>(layout) }.unwrap_or_default()
}

/// Decodes a stage of a pipeline with these flags, by its kind and its number among those of this
/// kind.
///
/// # Safety
/// `info` is valid with its chain and handle.
unsafe fn stage_of(
    info: &vk::PipelineShaderStageCreateInfo<'_>,
    (stage, number): (Stage, usize),
    flags: vk::PipelineCreateFlags2KHR,
    sources: &StageSources<'_>,
) -> Result<StageCreateInfo, PipelineError> {
    // SAFETY: `info` is valid with its chain and handle, as the `# Safety` section demands.
    let StageModule { words, handle: module, origin } = unsafe { sources.module(info, stage, number) }?;
    // SAFETY: `info` is valid, so its name is a C string.
    let entry = unsafe { string(info.p_name) }.unwrap_or_default();
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let subgroup_size = unsafe { subgroup_size(info.p_next, info.stage) }?;
    // SAFETY: `info` is valid, so its specialisation is null or valid.
    let entries = unsafe { specialization(info.p_specialization_info) }?;
    let view_index_from_device_index = flags.contains(vk::PipelineCreateFlags2KHR::VIEW_INDEX_FROM_DEVICE_INDEX);
    let specialization =
        Specialization { entries, subgroup_size, view_index_from_device_index, ..Specialization::default() };
    Ok(StageCreateInfo { stage, words, module, entry, specialization, heap: None, origin })
}

/// Returns the size of subgroups that a stage requires, or the usual one.
///
/// # Safety
/// The chain is valid.
pub(super) unsafe fn subgroup_size(chain: *const c_void, stage: vk::ShaderStageFlags) -> Result<u32, PipelineError> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let required = unsafe { find::<vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>>(chain) };
    let size = required.map_or(SUBGROUP_SIZE, |r| r.required_subgroup_size);
    let sizes = if SIZED_STAGES.contains(stage) { SUBGROUP_SIZES } else { SUBGROUP_SIZE..=SUBGROUP_SIZE };
    if !size.is_power_of_two() || !sizes.contains(&size) {
        let message = format!("subgroups of {size} in {stage:?}, there are those of {sizes:?}");
        return Err(PipelineError::unsupported("shader stage", &message));
    }
    Ok(size)
}

/// Decodes specialisation constants.
///
/// # Safety
/// `info` is null or valid.
pub(super) unsafe fn specialization(
    info: *const vk::SpecializationInfo<'_>,
) -> Result<Vec<(u32, Vec<u8>)>, vk::Result> {
    // SAFETY: `info` is null or valid, as the `# Safety` section demands.
    let Some(info) = (unsafe { info.as_ref() }) else { return Ok(Vec::new()) };
    // SAFETY: `info` is valid, so that both arrays have their sizes.
    let (entries, data) = unsafe {
        (slice(info.p_map_entries, info.map_entry_count), slice(info.p_data.cast::<u8>(), info.data_size as u32))
    };
    fallible::available(entries.len() * size_of::<(u32, Vec<u8>)>() + data.len())?;
    let bytes = |e: &vk::SpecializationMapEntry| data.get(e.offset as usize..(e.offset as usize).checked_add(e.size)?);
    Ok(entries.iter().filter_map(|e| Some((e.constant_id, bytes(e)?.to_vec()))).collect())
}
