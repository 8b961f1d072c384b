//! Shader objects (VK_EXT_shader_object): creation, binaries, binding.

use super::memory_of;
use super::pipeline_info::{specialization, subgroup_size};
use super::recording::record;
use super::{cmd_state::SHADER_OBJECT, descriptor_heap};
use crate::command::{BindShaders, Command};
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get, optional};
use crate::ffi::pointer::{bytes, slice, slice_mut, string};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, ext, row};
use crate::object::bind_point::BindPoint;
use crate::object::descriptor::SetLayout;
use crate::object::pipeline::{PipelineError, StageCreateInfo, StageOrigin};
use crate::object::pipeline_layout::PipelineLayout;
use crate::object::shader_object::{ShaderBuilder, ShaderCreateInfo, ShaderObject, ShaderSource, join_linked};
use crate::shader_compiler::heap_resources::HeapResources;
use crate::shader_compiler::shader_binary::ShaderBinary;
use ash::vk;
use base::abi;
use base::shader::{HeapMapping, PipelineType, Stage};
use core::ffi::c_void;
use jit::spirv::Specialization;

macro_rules! rows {
    ($($shim:ident as $ty:ident, $name:ident;)*) => {
        &[$(row!(Device, $shim as vk::$ty, $name: ext(SHADER_OBJECT))),*]
    };
}

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = rows! {
    create_shaders as PFN_vkCreateShadersEXT, vkCreateShadersEXT;
    destroy_shader as PFN_vkDestroyShaderEXT, vkDestroyShaderEXT;
    get_shader_binary_data as PFN_vkGetShaderBinaryDataEXT, vkGetShaderBinaryDataEXT;
    cmd_bind_shaders as PFN_vkCmdBindShadersEXT, vkCmdBindShadersEXT;
    cmd_set_viewport_w_scaling_enable as PFN_vkCmdSetViewportWScalingEnableNV, vkCmdSetViewportWScalingEnableNV;
    cmd_set_viewport_swizzle as PFN_vkCmdSetViewportSwizzleNV, vkCmdSetViewportSwizzleNV;
    cmd_set_coverage_to_color_enable as PFN_vkCmdSetCoverageToColorEnableNV, vkCmdSetCoverageToColorEnableNV;
    cmd_set_coverage_to_color_location as PFN_vkCmdSetCoverageToColorLocationNV, vkCmdSetCoverageToColorLocationNV;
    cmd_set_coverage_modulation_mode as PFN_vkCmdSetCoverageModulationModeNV, vkCmdSetCoverageModulationModeNV;
    cmd_set_coverage_modulation_table_enable as PFN_vkCmdSetCoverageModulationTableEnableNV, vkCmdSetCoverageModulationTableEnableNV;
    cmd_set_coverage_modulation_table as PFN_vkCmdSetCoverageModulationTableNV, vkCmdSetCoverageModulationTableNV;
    cmd_set_shading_rate_image_enable as PFN_vkCmdSetShadingRateImageEnableNV, vkCmdSetShadingRateImageEnableNV;
    cmd_set_representative_fragment_test_enable as PFN_vkCmdSetRepresentativeFragmentTestEnableNV, vkCmdSetRepresentativeFragmentTestEnableNV;
    cmd_set_coverage_reduction_mode as PFN_vkCmdSetCoverageReductionModeNV, vkCmdSetCoverageReductionModeNV;
};

/// `VkShaderCreateFlagBitsEXT`.
mod flag {
    pub const LINK_STAGE: u32 = 1 << 0;
    pub const ALLOW_VARYING_SUBGROUP_SIZE: u32 = 1 << 1;
    pub const REQUIRE_FULL_SUBGROUPS: u32 = 1 << 2;
    pub const NO_TASK_SHADER: u32 = 1 << 3;
    pub const DISPATCH_BASE: u32 = 1 << 4;
    pub const INDIRECT_BINDABLE: u32 = 1 << 7;
    pub const DESCRIPTOR_HEAP: u32 = 1 << 10;
    pub const INDEPENDENT_SETS: u32 = 1 << 18;
    /// Flags that have no effect, because everything that they allow is always possible.
    pub const ALWAYS_POSSIBLE: u32 = ALLOW_VARYING_SUBGROUP_SIZE
        | REQUIRE_FULL_SUBGROUPS
        | NO_TASK_SHADER
        | DISPATCH_BASE
        | INDIRECT_BINDABLE
        | INDEPENDENT_SETS;
}

/// Returns the stage of a `VkShaderStageFlagBits`, if shader objects can have it.
fn stage_of(bit: vk::ShaderStageFlags) -> Option<Stage> {
    let of = |pipeline| Stage::from_flag_bit(bit.as_raw(), pipeline);
    of(PipelineType::Graphics).or_else(|| of(PipelineType::Compute))
}

/// Decodes the parameters of an object.
///
/// # Safety
/// `info` is valid with its chain and handles.
unsafe fn decode(info: &vk::ShaderCreateInfoEXT<'_>) -> Result<ShaderCreateInfo, PipelineError> {
    let refuse = |message: &str| PipelineError::unsupported("shader object", message);
    let stage = stage_of(info.stage).ok_or_else(|| refuse(&format!("stage {:?} is not supported", info.stage)))?;
    let flags = info.flags.as_raw();
    let unknown = flags & !(flag::ALWAYS_POSSIBLE | flag::LINK_STAGE | flag::DESCRIPTOR_HEAP);
    if unknown != 0 {
        return Err(refuse(&format!("flags {unknown:#x} are not supported")));
    }
    let uses_heap = flags & flag::DESCRIPTOR_HEAP != 0;
    // SAFETY: `info` is valid with its chain and handles, as the `# Safety` section demands.
    unsafe {
        let given = uses_heap.then(|| {
            let mut samplers = Vec::new();
            let mappings = descriptor_heap::mappings(info.p_next, stage, &mut samplers);
            HeapResources { mappings, samplers }
        });
        let (source, samplers) = match info.code_type {
            vk::ShaderCodeTypeEXT::SPIRV => {
                let (mappings, samplers) = given.map(|heap| (heap.mappings, heap.samplers)).unzip();
                (ShaderSource::Spirv(spirv(info, stage, mappings)?), samplers)
            }
            vk::ShaderCodeTypeEXT::BINARY => {
                let binary = ShaderBinary::open(bytes(info.p_code, info.code_size));
                let binary = binary.filter(|binary| binary.fits(given.as_ref()));
                let binary = binary.ok_or(vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT)?;
                let samplers = binary.heap().map(|heap| heap.samplers.clone());
                (ShaderSource::Binary(binary, stage), samplers)
            }
            other => return Err(refuse(&format!("code type {other:?} is not supported"))),
        };
        let layout = match samplers {
            Some(samplers) => heap_layout(stage, samplers)?,
            None => {
                let sets = slice(info.p_set_layouts, info.set_layout_count);
                let sets = sets.iter().map(|set| optional::<SetLayout>(*set)).collect();
                PipelineLayout::new(sets).map_err(|error| refuse(&error.to_string()))?
            }
        };
        Ok(ShaderCreateInfo { source, layout, is_linked: flags & flag::LINK_STAGE != 0 })
    }
}

/// Returns the layout of a stage that uses descriptor heaps. Stages without embedded samplers have
/// equal layouts.
fn heap_layout(stage: Stage, samplers: Vec<abi::Sampler>) -> Result<PipelineLayout, vk::Result> {
    let samplers = (!samplers.is_empty()).then_some((stage, samplers));
    PipelineLayout::for_heap(samplers.into_iter().collect())
}

/// Decodes a stage of a SPIR-V module.
///
/// # Safety
/// `info` is valid with its chain.
unsafe fn spirv(
    info: &vk::ShaderCreateInfoEXT<'_>,
    stage: Stage,
    heap: Option<Vec<HeapMapping>>,
) -> Result<StageCreateInfo, PipelineError> {
    // SAFETY: `info` is valid with its chain, as the `# Safety` section demands.
    unsafe {
        let words = fallible::shared(slice(info.p_code.cast::<u32>(), (info.code_size / 4) as u32))?;
        let entry = string(info.p_name).unwrap_or_default();
        let specialization = Specialization {
            entries: specialization(info.p_specialization_info)?,
            subgroup_size: subgroup_size(info.p_next, info.stage)?,
            ..Specialization::default()
        };
        let origin = StageOrigin::Application;
        Ok(StageCreateInfo { stage, words, module: 0, entry, specialization, heap, origin })
    }
}

shims! {
    fn create_shaders(
        device: vk::Device,
        count: u32,
        infos: *const vk::ShaderCreateInfoEXT<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        shaders: *mut vk::ShaderEXT,
    ) -> VkResult {
        let (memory, device) = (memory_of(device, allocator), dispatchable::<Device>(device));
        let shaders = slice_mut(shaders, count);
        // The first null handle is that of the object that could not be created.
        shaders.fill(vk::ShaderEXT::null());
        let mut infos: Vec<_> = slice(infos, count).iter().map(|info| decode(info)).collect();
        join_linked(&mut infos);
        let builder = ShaderBuilder { compiler: &device.compiler, linker: &device.linker, layouts: &device.layouts };
        for (info, shader) in infos.into_iter().zip(shaders) {
            let object = info.and_then(|info| builder.create(info)).map_err(|failure| {
                failure.message.iter().for_each(|message| device.report_unsupported(message));
                // The result for pipelines is not among those that this call may return.
                match failure.result {
                    vk::Result::ERROR_INVALID_SHADER_NV => vk::Result::ERROR_INITIALIZATION_FAILED,
                    result => result,
                }
            })?;
            *shader = handle::create(object, memory)?;
        }
        Ok(())
    }

    fn destroy_shader(device: vk::Device, shader: vk::ShaderEXT, allocator: *const vk::AllocationCallbacks<'_>) {
        handle::destroy::<ShaderObject>(shader, memory_of(device, allocator));
    }

    fn get_shader_binary_data(
        _device: vk::Device,
        shader: vk::ShaderEXT,
        size: *mut usize,
        data: *mut c_void,
    ) -> VkResult {
        let binary = get::<ShaderObject>(shader).binary().ok_or(vk::Result::ERROR_OUT_OF_HOST_MEMORY)?;
        let space = std::mem::replace(&mut *size, binary.len());
        if data.is_null() {
            return Ok(());
        }
        if space < binary.len() {
            // A part of a binary is of no use.
            *size = 0;
            return Err(vk::Result::INCOMPLETE);
        }
        std::ptr::copy_nonoverlapping(binary.as_ptr(), data.cast(), binary.len());
        Ok(())
    }

    fn cmd_bind_shaders(
        buffer: vk::CommandBuffer,
        count: u32,
        stages: *const vk::ShaderStageFlags,
        shaders: *const vk::ShaderEXT,
    ) {
        // Without an array, all stages are unbound.
        let objects = slice(shaders, count);
        let slots = slice(stages, count).iter().enumerate().filter_map(|(i, bit)| {
            let object = objects.get(i).and_then(|shader| optional::<ShaderObject>(*shader));
            Some((stage_of(*bit)?, object))
        });
        let mut slots: Vec<_> = slots.collect();
        record(buffer, |recorder| {
            for bind_point in [BindPoint::Graphics, BindPoint::Compute] {
                let shaders: Vec<_> = slots.extract_if(.., |(stage, _)| BindPoint::of_stage(*stage) == bind_point).collect();
                if !shaders.is_empty() {
                    recorder.push(Command::BindShaders(Box::new(BindShaders { bind_point, shaders })));
                }
            }
        });
    }

    // Commands that the extension has for state of extensions that the device lacks. Applications
    // may look them up, and there is nothing that they could set.

    fn cmd_set_viewport_w_scaling_enable(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}
    fn cmd_set_viewport_swizzle(_buffer: vk::CommandBuffer, _first: u32, _count: u32, _swizzles: *const vk::ViewportSwizzleNV) {}
    fn cmd_set_coverage_to_color_enable(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}
    fn cmd_set_coverage_to_color_location(_buffer: vk::CommandBuffer, _location: u32) {}
    fn cmd_set_coverage_modulation_mode(_buffer: vk::CommandBuffer, _mode: vk::CoverageModulationModeNV) {}
    fn cmd_set_coverage_modulation_table_enable(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}
    fn cmd_set_coverage_modulation_table(_buffer: vk::CommandBuffer, _count: u32, _table: *const f32) {}
    fn cmd_set_shading_rate_image_enable(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}
    fn cmd_set_representative_fragment_test_enable(_buffer: vk::CommandBuffer, _enable: vk::Bool32) {}
    fn cmd_set_coverage_reduction_mode(_buffer: vk::CommandBuffer, _mode: vk::CoverageReductionModeNV) {}
}
