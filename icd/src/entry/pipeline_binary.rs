//! VK_KHR_pipeline_binary: binaries of stages and keys of pipelines
//! (`object::{pipeline_binary,pipeline_key}`).

use super::memory_of;
use super::pipeline_info;
use super::stage_source::StageSources;
use crate::caps::newer as vk;
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get};
use crate::ffi::pointer::{bytes, find, slice, slice_mut};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::pipeline::{Pipeline, PipelineBuilder, PipelineError, RayTracingCreateInfo, StageCreateInfo};
use crate::object::pipeline_binary::{Key, PipelineBinary};
use crate::object::pipeline_key::{global_key, pipeline_key};
use crate::object::pipeline_layout::PipelineLayout;
use crate::shader_compiler::tiered::{StageOwner, TieredCode};
use core::ffi::c_void;
use std::sync::Arc;

const PIPELINE_BINARY: Requirement = ext("VK_KHR_pipeline_binary");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_pipeline_binaries as vk::PFN_vkCreatePipelineBinariesKHR, vkCreatePipelineBinariesKHR: PIPELINE_BINARY),
    row!(Device, destroy_pipeline_binary as vk::PFN_vkDestroyPipelineBinaryKHR, vkDestroyPipelineBinaryKHR: PIPELINE_BINARY),
    row!(Device, get_pipeline_key as vk::PFN_vkGetPipelineKeyKHR, vkGetPipelineKeyKHR: PIPELINE_BINARY),
    row!(Device, get_pipeline_binary_data as vk::PFN_vkGetPipelineBinaryDataKHR, vkGetPipelineBinaryDataKHR: PIPELINE_BINARY),
    row!(Device, release_captured_pipeline_data as vk::PFN_vkReleaseCapturedPipelineDataKHR, vkReleaseCapturedPipelineDataKHR: PIPELINE_BINARY),
];

/// Stages of a pipeline that is described: its own with their layout, and those of its libraries.
struct Stages {
    own: Vec<Option<StageCreateInfo>>,
    layout: Arc<PipelineLayout>,
    libraries: Vec<Arc<Pipeline>>,
}

/// Decodes the stages of a pipeline.
///
/// # Safety
/// `info` is valid with its chains and handles.
unsafe fn stages_of(
    device: &Device,
    info: &vk::PipelineCreateInfoKHR<'_>,
    sources: &StageSources<'_>,
) -> Result<Stages, PipelineError> {
    let heaps = device.heaps.is_some();
    // SAFETY: the chain begins with a pipeline's create info, which is valid with its own chains
    // and handles, as the `# Safety` section demands.
    unsafe {
        if let Some(info) = find::<vk::GraphicsPipelineCreateInfo<'_>>(info.p_next) {
            let flags = pipeline_info::create_flags(info.flags, info.p_next);
            let decoded = pipeline_info::graphics(info, flags, heaps, sources)?;
            let layout = decoded.layout.unwrap_or_default();
            return Ok(Stages { own: decoded.stages, layout, libraries: decoded.libraries });
        }
        if let Some(info) = find::<vk::ComputePipelineCreateInfo<'_>>(info.p_next) {
            let flags = pipeline_info::create_flags(info.flags, info.p_next);
            let (stage, layout) = pipeline_info::compute(info, flags, heaps, sources)?;
            return Ok(Stages { own: vec![Some(stage)], layout, libraries: Vec::new() });
        }
        if let Some(info) = find::<vk::RayTracingPipelineCreateInfoKHR<'_>>(info.p_next) {
            let flags = pipeline_info::create_flags(info.flags, info.p_next);
            let RayTracingCreateInfo { stages, groups: _, layout, libraries } =
                pipeline_info::ray_tracing(info, flags, heaps, sources)?;
            return Ok(Stages { own: stages.into_iter().map(Some).collect(), layout, libraries });
        }
    }
    Err(PipelineError::unsupported("pipeline", "a create info of this type has no binaries"))
}

/// Reports a failure and returns the result of the call.
fn failed(device: &Device, failure: PipelineError) -> vk::Result {
    match failure.message {
        Some(message) => {
            device.report_unsupported(&message);
            vk::Result::ERROR_INITIALIZATION_FAILED
        }
        None => failure.result,
    }
}

/// A source of binaries, which are made one by one.
enum Source<'a> {
    /// Data that the application has stored, and its keys.
    Data(&'a [vk::PipelineBinaryKeyKHR<'static>], &'a [vk::PipelineBinaryDataKHR]),
    /// Stages with their code.
    Stages(Vec<CompiledStage>),
}

/// A stage with its code, and the layout that has its embedded samplers.
struct CompiledStage {
    code: Arc<TieredCode>,
    layout: Arc<PipelineLayout>,
}

/// Returns the stages of a pipeline or library.
fn stages_of_pipeline(pipeline: &Pipeline) -> impl Iterator<Item = CompiledStage> {
    let layout = pipeline.layout().cloned().unwrap_or_default();
    pipeline.code().iter().map(move |code| CompiledStage { code: code.clone(), layout: layout.clone() })
}

impl Source<'_> {
    /// Returns the source that a create info names.
    ///
    /// # Safety
    /// `info` is valid with its pointers and handles.
    unsafe fn of<'a>(
        device: &Arc<Device>,
        info: &vk::PipelineBinaryCreateInfoKHR<'a>,
    ) -> Result<Source<'a>, vk::Result> {
        // SAFETY: `info` is valid with its pointers and handles in all blocks of this function.
        if let Some(all) = unsafe { info.p_keys_and_data_info.as_ref() } {
            device.compiler.expect_stored_stages();
            let count = all.binary_count;
            // SAFETY: the arrays have this number of elements.
            return Ok(unsafe {
                Source::Data(slice(all.p_pipeline_binary_keys, count), slice(all.p_pipeline_binary_data, count))
            });
        }
        // SAFETY: the handle is null or live.
        if let Some(pipeline) = unsafe { handle::optional::<Pipeline>(info.pipeline) } {
            if !pipeline.captures_data() {
                device.report_invalid_usage("pipeline binaries are made of a pipeline that does not capture its data");
                return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
            }
            return Ok(Source::Stages(stages_of_pipeline(&pipeline).collect()));
        }
        // SAFETY: the pointer is null or valid.
        let Some(info) = (unsafe { info.p_pipeline_create_info.as_ref() }) else {
            device.report_invalid_usage("pipeline binaries are made of nothing");
            return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
        };
        // SAFETY: the structure is valid with its chains and handles.
        let stages = unsafe { stages_of(device, info, &StageSources::Caches(device, None)) };
        let missing = |result| match result {
            vk::Result::PIPELINE_COMPILE_REQUIRED => vk::PIPELINE_BINARY_MISSING,
            result => result,
        };
        let Stages { own, layout, libraries } = stages.map_err(|failure| missing(failed(device, failure)))?;
        let builder = PipelineBuilder {
            compiler: &device.compiler,
            linker: &device.linker,
            cache: None,
            flags: vk::PipelineCreateFlags2KHR::empty(),
        };
        let own = builder.live_stages(own, &layout).ok_or(vk::PIPELINE_BINARY_MISSING)?;
        let own = own.into_iter().map(|code| CompiledStage { code, layout: layout.clone() });
        let mut all: Vec<_> = own.chain(libraries.iter().flat_map(|library| stages_of_pipeline(library))).collect();
        all.sort_by_key(|stage| stage.code.request().stage);
        Ok(Source::Stages(all))
    }

    fn count(&self) -> usize {
        match self {
            Source::Data(keys, _) => keys.len(),
            Source::Stages(stages) => stages.len(),
        }
    }

    /// Makes a binary.
    ///
    /// # Safety
    /// The data that the source refers to is valid.
    unsafe fn binary(&self, device: &Device, number: usize) -> Result<PipelineBinary, vk::Result> {
        let (keys, data) = match self {
            Source::Data(keys, data) => (&keys[number], &data[number]),
            Source::Stages(stages) => {
                let CompiledStage { code, layout } = &stages[number];
                let binary = PipelineBinary::of_stage(code, layout);
                return binary.ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY);
            }
        };
        fallible::available(2 * data.data_size)?;
        // SAFETY: the data of the source is valid, as the `# Safety` section demands.
        let bytes = unsafe { bytes(data.p_data, data.data_size) };
        let key = keys.key.get(..keys.key_size as usize).unwrap_or_default();
        PipelineBinary::of_data(key, bytes).map_err(|reason| {
            device.report_unsupported(&format!("pipeline binary {number}: {reason}"));
            vk::Result::ERROR_INITIALIZATION_FAILED
        })
    }
}

fn write_key(key: &Key, to: &mut vk::PipelineBinaryKeyKHR<'_>) {
    (to.key_size, to.key) = (key.len() as u32, *key);
}

shims! {
    fn create_pipeline_binaries(
        device: vk::Device,
        info: *const vk::PipelineBinaryCreateInfoKHR<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        binaries: *mut vk::PipelineBinaryHandlesInfoKHR<'_>,
    ) -> VkResult {
        let memory = memory_of(device, allocator);
        let (device, binaries) = (dispatchable::<Device>(device), &mut *binaries);
        let handles = slice_mut(binaries.p_pipeline_binaries, binaries.pipeline_binary_count);
        handles.iter_mut().for_each(|handle| *handle = vk::PipelineBinaryKHR::default());
        let source = Source::of(device, &*info)?;
        let count = source.count();
        if binaries.p_pipeline_binaries.is_null() {
            binaries.pipeline_binary_count = count as u32;
            return Ok(());
        }
        let mut result = if handles.len() < count { Err(vk::Result::INCOMPLETE) } else { Ok(()) };
        let fits = handles.len().min(count);
        for (number, handle) in handles[..fits].iter_mut().enumerate() {
            let made = source.binary(device, number).and_then(|binary| handle::create(Arc::new(binary), memory));
            match made {
                Ok(made) => *handle = made,
                // The first error is returned, which INCOMPLETE must not hide.
                Err(error) if result.is_ok() || result == Err(vk::Result::INCOMPLETE) => result = Err(error),
                Err(_) => {}
            }
        }
        binaries.pipeline_binary_count = fits as u32;
        result
    }

    fn destroy_pipeline_binary(
        device: vk::Device,
        binary: vk::PipelineBinaryKHR,
        allocator: *const vk::AllocationCallbacks<'_>,
    ) {
        handle::destroy::<PipelineBinary>(binary, memory_of(device, allocator));
    }

    fn get_pipeline_key(
        device: vk::Device,
        info: *const vk::PipelineCreateInfoKHR<'_>,
        key: *mut vk::PipelineBinaryKeyKHR<'_>,
    ) -> VkResult {
        let device = dispatchable::<Device>(device);
        let policy = device.compiler.policy();
        let made = match info.as_ref() {
            None => global_key(policy),
            Some(info) => {
                let stages = stages_of(device, info, &StageSources::Key);
                let Stages { own, layout, libraries } = stages.map_err(|failure| failed(device, failure))?;
                pipeline_key(policy, own.iter().flatten(), &layout, &libraries)
            }
        };
        write_key(&made, &mut *key);
        Ok(())
    }

    fn get_pipeline_binary_data(
        _device: vk::Device,
        info: *const vk::PipelineBinaryDataInfoKHR<'_>,
        key: *mut vk::PipelineBinaryKeyKHR<'_>,
        size: *mut usize,
        data: *mut c_void,
    ) -> VkResult {
        let binary = get::<PipelineBinary>((*info).pipeline_binary);
        let room = if data.is_null() { 0 } else { *size };
        *size = binary.size();
        if !data.is_null() {
            if room < binary.size() {
                return Err(vk::ERROR_NOT_ENOUGH_SPACE);
            }
            let bytes = binary.data().ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), bytes.len());
        }
        write_key(binary.key(), &mut *key);
        Ok(())
    }

    fn release_captured_pipeline_data(
        _device: vk::Device,
        info: *const vk::ReleaseCapturedPipelineDataInfoKHR<'_>,
        _allocator: *const vk::AllocationCallbacks<'_>,
    ) -> VkResult {
        get::<Pipeline>((*info).pipeline).release_captured_data();
        Ok(())
    }
}
