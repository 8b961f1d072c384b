//! Generated commands (`VK_EXT_device_generated_commands`): layouts of their tokens, execution
//! sets, and recording.
//!
//! Tokens are decoded when they are executed, so there is nothing to preprocess: commands need no
//! memory of their own, and `vkCmdPreprocessGeneratedCommandsEXT` has no effect.

use super::memory_of;
use super::recording::push;
use super::resource::fill_generated_requirements;
use crate::caps::limits::MAX_INDIRECT_TOKENS;
use crate::caps::newer as vk;
use crate::command::{Command, GeneratedCommands};
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle::{self, dispatchable, get, optional, share};
use crate::ffi::pointer::slice;
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::execution_set::ExecutionSet;
use crate::object::indirect_commands::{
    IndirectCommandsLayout, LayoutError, MAX_SHADERS, PIPELINES, SHADER_OBJECTS, TokenCreateInfo, TokenData,
    TokenDataKind, TokenRow,
};
use crate::object::pipeline::Pipeline;
use crate::object::shader_object::ShaderObject;
use std::sync::Arc;

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

const GENERATED: Requirement = ext("VK_EXT_device_generated_commands");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, create_indirect_commands_layout as vk::PFN_vkCreateIndirectCommandsLayoutEXT, vkCreateIndirectCommandsLayoutEXT: GENERATED),
    row!(Device, destroy_indirect_commands_layout as vk::PFN_vkDestroyIndirectCommandsLayoutEXT, vkDestroyIndirectCommandsLayoutEXT: GENERATED),
    row!(Device, create_indirect_execution_set as vk::PFN_vkCreateIndirectExecutionSetEXT, vkCreateIndirectExecutionSetEXT: GENERATED),
    row!(Device, destroy_indirect_execution_set as vk::PFN_vkDestroyIndirectExecutionSetEXT, vkDestroyIndirectExecutionSetEXT: GENERATED),
    row!(Device, update_indirect_execution_set_pipeline as vk::PFN_vkUpdateIndirectExecutionSetPipelineEXT, vkUpdateIndirectExecutionSetPipelineEXT: GENERATED),
    row!(Device, update_indirect_execution_set_shader as vk::PFN_vkUpdateIndirectExecutionSetShaderEXT, vkUpdateIndirectExecutionSetShaderEXT: GENERATED),
    row!(Device, get_generated_commands_memory_requirements as vk::PFN_vkGetGeneratedCommandsMemoryRequirementsEXT, vkGetGeneratedCommandsMemoryRequirementsEXT: GENERATED),
    row!(Device, cmd_preprocess_generated_commands as vk::PFN_vkCmdPreprocessGeneratedCommandsEXT, vkCmdPreprocessGeneratedCommandsEXT: GENERATED),
    row!(Device, cmd_execute_generated_commands as vk::PFN_vkCmdExecuteGeneratedCommandsEXT, vkCmdExecuteGeneratedCommandsEXT: GENERATED),
];

/// Decodes the create info of a token, with the data that its row names.
///
/// # Safety
/// `info` is valid.
unsafe fn token(info: &vk::IndirectCommandsLayoutTokenEXT<'_>) -> TokenCreateInfo {
    let kind = TokenRow::find(info.ty).map_or(TokenDataKind::None, |row| row.data);
    let kind = if info.data.is_null() { TokenDataKind::None } else { kind };
    let data = match kind {
        TokenDataKind::None => TokenData::None,
        TokenDataKind::PushConstants => {
            // SAFETY: `info` is valid, and its type implies this member of the union.
            let range = unsafe { (*info.data.cast::<vk::IndirectCommandsPushConstantTokenEXT>()).update_range };
            TokenData::PushConstants { offset: range.offset, size: range.size }
        }
        TokenDataKind::VertexBuffer => {
            // SAFETY: `info` is valid, and its type implies this member of the union.
            let data = unsafe { *info.data.cast::<vk::IndirectCommandsVertexBufferTokenEXT>() };
            TokenData::VertexBuffer(data.vertex_binding_unit)
        }
        TokenDataKind::IndexBuffer => {
            // SAFETY: `info` is valid, and its type implies this member of the union.
            let data = unsafe { *info.data.cast::<vk::IndirectCommandsIndexBufferTokenEXT>() };
            TokenData::IndexBuffer(data.mode)
        }
        TokenDataKind::ExecutionSet => {
            // SAFETY: `info` is valid, and its type implies this member of the union.
            let data = unsafe { *info.data.cast::<vk::IndirectCommandsExecutionSetTokenEXT>() };
            TokenData::ExecutionSet { ty: data.ty, stages: data.shader_stages.as_raw().count_ones() }
        }
    };
    TokenCreateInfo { number: info.ty, data, offset: info.offset }
}

shims! {
    // The pipeline layout has no effect: ranges of push constants are the same bytes in all of
    // them.
    fn create_indirect_commands_layout(
        device: vk::Device,
        info: *const vk::IndirectCommandsLayoutCreateInfoEXT<'_>,
        allocator: Allocator<'_>,
        layout: *mut vk::IndirectCommandsLayoutEXT,
    ) -> VkResult {
        let info = &*info;
        // One more than there may be, so that the layout refuses them.
        let tokens = slice(info.p_tokens, info.token_count.min(MAX_INDIRECT_TOKENS + 1));
        let tokens = fallible::collect(tokens.iter().map(|info| token(info)))?;
        let made = IndirectCommandsLayout::new(&tokens, info.indirect_stride).map_err(|error| {
            let text = format!("vkCreateIndirectCommandsLayoutEXT: {error}");
            match error {
                LayoutError::Invalid(_) => dispatchable::<Device>(device).report_invalid_usage(&text),
                LayoutError::Unsupported(_) | LayoutError::OutOfMemory => dispatchable::<Device>(device).report_unsupported(&text),
            }
            error.result()
        })?;
        *layout = handle::create(Arc::new(made), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_indirect_commands_layout(device: vk::Device, layout: vk::IndirectCommandsLayoutEXT, allocator: Allocator<'_>) {
        handle::destroy::<IndirectCommandsLayout>(layout, memory_of(device, allocator));
    }

    fn create_indirect_execution_set(
        device: vk::Device,
        info: *const vk::IndirectExecutionSetCreateInfoEXT<'_>,
        allocator: Allocator<'_>,
        set: *mut vk::IndirectExecutionSetEXT,
    ) -> VkResult {
        let made = match (*info).ty {
            PIPELINES => {
                let info = &*(*info).info.cast::<vk::IndirectExecutionSetPipelineInfoEXT<'_>>();
                let Some(initial) = get::<Pipeline>(info.initial_pipeline).program() else {
                    dispatchable::<Device>(device).report_invalid_usage("vkCreateIndirectExecutionSetEXT: a library");
                    return Err(vk::Result::ERROR_INITIALIZATION_FAILED);
                };
                ExecutionSet::of_programs(initial.clone(), info.max_pipeline_count)?
            }
            SHADER_OBJECTS => {
                let info = &*(*info).info.cast::<vk::IndirectExecutionSetShaderInfoEXT<'_>>();
                let initial = slice(info.p_initial_shaders, info.shader_count.min(MAX_SHADERS));
                let initial = initial.iter().map(|shader| share::<ShaderObject>(*shader));
                ExecutionSet::of_shaders(initial, info.max_shader_count)?
            }
            ty => {
                let text = format!("vkCreateIndirectExecutionSetEXT: there are no execution sets of type {ty}");
                dispatchable::<Device>(device).report_unsupported(&text);
                return Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
            }
        };
        *set = handle::create(Arc::new(made), memory_of(device, allocator))?;
        Ok(())
    }

    fn destroy_indirect_execution_set(device: vk::Device, set: vk::IndirectExecutionSetEXT, allocator: Allocator<'_>) {
        handle::destroy::<ExecutionSet>(set, memory_of(device, allocator));
    }

    fn update_indirect_execution_set_pipeline(
        device: vk::Device,
        set: vk::IndirectExecutionSetEXT,
        count: u32,
        writes: *const vk::WriteIndirectExecutionSetPipelineEXT<'_>,
    ) {
        let set = get::<ExecutionSet>(set);
        for write in slice(writes, count) {
            let Some(program) = get::<Pipeline>(write.pipeline).program() else {
                let text = "vkUpdateIndirectExecutionSetPipelineEXT: the pipeline is a library";
                dispatchable::<Device>(device).report_invalid_usage(text);
                continue;
            };
            if let Err(error) = set.update_program(write.index, program.clone()) {
                let text = format!("vkUpdateIndirectExecutionSetPipelineEXT: {error}");
                dispatchable::<Device>(device).report_invalid_usage(&text);
            }
        }
    }

    fn update_indirect_execution_set_shader(
        device: vk::Device,
        set: vk::IndirectExecutionSetEXT,
        count: u32,
        writes: *const vk::WriteIndirectExecutionSetShaderEXT<'_>,
    ) {
        let set = get::<ExecutionSet>(set);
        for write in slice(writes, count) {
            if let Err(error) = set.update_shader(write.index, share::<ShaderObject>(write.shader)) {
                let text = format!("vkUpdateIndirectExecutionSetShaderEXT: {error}");
                dispatchable::<Device>(device).report_invalid_usage(&text);
            }
        }
    }

    fn get_generated_commands_memory_requirements(
        _device: vk::Device,
        _info: *const vk::GeneratedCommandsMemoryRequirementsInfoEXT<'_>,
        out: *mut vk::MemoryRequirements2<'_>,
    ) {
        fill_generated_requirements(out);
    }

    fn cmd_preprocess_generated_commands(
        _buffer: vk::CommandBuffer,
        _info: *const vk::GeneratedCommandsInfoEXT<'_>,
        _state: vk::CommandBuffer,
    ) {}

    fn cmd_execute_generated_commands(
        buffer: vk::CommandBuffer,
        _preprocessed: vk::Bool32,
        info: *const vk::GeneratedCommandsInfoEXT<'_>,
    ) {
        let info = &*info;
        let count = info.sequence_count_address;
        let commands = GeneratedCommands {
            layout: share::<IndirectCommandsLayout>(info.indirect_commands_layout),
            execution_set: optional::<ExecutionSet>(info.indirect_execution_set),
            indirect_address: info.indirect_address,
            indirect_address_size: info.indirect_address_size,
            max_sequence_count: info.max_sequence_count,
            sequence_count_address: (count != 0).then_some(count),
            max_draw_count: info.max_draw_count,
        };
        push(buffer, Command::ExecuteGeneratedCommands(Box::new(commands)));
    }
}
