//! The sources of a stage's words: a shader module, a create info in its place, an identifier
//! (VK_EXT_shader_module_identifier), or a pipeline binary (VK_KHR_pipeline_binary).

use super::validation_cache::is_validated;
use crate::caps::newer as vk;
use crate::device::Device;
use crate::fallible;
use crate::ffi::handle;
use crate::ffi::pointer::{find, slice};
use crate::ffi::shim::shims;
use crate::ffi::table::{CommandRow, Requirement, ext, row};
use crate::object::pipeline::{PipelineError, StageOrigin};
use crate::object::pipeline_binary::PipelineBinary;
use crate::object::pipeline_key::identifier_words;
use crate::object::shader_module::ShaderModule;
use crate::shader_compiler::identifier::Identifier;
use crate::shader_compiler::pipeline_cache::PipelineCache;
use base::shader::Stage;
use core::ffi::c_void;
use std::sync::Arc;

const MODULE_IDENTIFIER: Requirement = ext("VK_EXT_shader_module_identifier");

/// Rows of this family in the command table.
#[rustfmt::skip]
pub const COMMANDS: &[CommandRow] = &[
    row!(Device, get_shader_module_identifier as vk::PFN_vkGetShaderModuleIdentifierEXT, vkGetShaderModuleIdentifierEXT: MODULE_IDENTIFIER),
    row!(Device, get_shader_module_create_info_identifier as vk::PFN_vkGetShaderModuleCreateInfoIdentifierEXT, vkGetShaderModuleCreateInfoIdentifierEXT: MODULE_IDENTIFIER),
];

/// The sources of the stages of one pipeline, beside its modules.
pub enum StageSources<'a> {
    /// Binaries of the stages, one for each.
    Binaries(Vec<Arc<PipelineBinary>>),
    /// Caches in which modules are found by their identifiers.
    Caches(&'a Device, Option<&'a PipelineCache>),
    /// No source: only a key is made, for which the words are those of the identifiers.
    Key,
}

/// The words of a stage.
pub struct StageModule {
    /// SPIR-V words.
    pub words: Arc<[u32]>,
    /// Handle of the shader module; 0 if there is none.
    pub handle: u64,
    /// Origin of the words.
    pub origin: StageOrigin,
}

impl<'a> StageSources<'a> {
    /// Returns the sources for a pipeline with this chain.
    ///
    /// # Safety
    /// The chain is valid.
    pub unsafe fn new(device: &'a Device, cache: Option<&'a PipelineCache>, chain: *const c_void) -> StageSources<'a> {
        // SAFETY: the chain is valid, as the `# Safety` section demands.
        let binaries = unsafe {
            let info = find::<vk::PipelineBinaryInfoKHR<'_>>(chain);
            info.map_or(&[][..], |info| slice(info.p_pipeline_binaries, info.binary_count))
        };
        if binaries.is_empty() {
            return StageSources::Caches(device, cache);
        }
        // SAFETY: the binaries are elements of the valid chain, so that they are live.
        let binaries = binaries.iter().filter_map(|binary| unsafe { handle::optional::<PipelineBinary>(*binary) });
        StageSources::Binaries(binaries.collect())
    }

    /// Returns the words of a stage; `number` is its number among those of its kind.
    ///
    /// # Errors
    /// VK_PIPELINE_COMPILE_REQUIRED if there is only an identifier and no cache has the module. An
    /// error with a message if there is nothing.
    ///
    /// # Safety
    /// `info` is valid with its chain and handle.
    pub unsafe fn module(
        &self,
        info: &vk::PipelineShaderStageCreateInfo<'_>,
        stage: Stage,
        number: usize,
    ) -> Result<StageModule, PipelineError> {
        let (device, cache) = match self {
            StageSources::Binaries(binaries) => return of_binary(binaries, stage, number),
            // SAFETY: `info` is valid with its chain and handle, as the `# Safety` section demands.
            StageSources::Key => return unsafe { of_identifier(info) },
            StageSources::Caches(device, cache) => (device, cache),
        };
        // SAFETY: `info` is valid with its chain and handle, as the `# Safety` section demands.
        if let Some(module) = unsafe { given(info) }? {
            return Ok(module);
        }
        // SAFETY: the chain is valid, as the `# Safety` section demands.
        let identifier = unsafe { identifier(info.p_next) }?;
        let words = cache.and_then(|cache| cache.words(&identifier)).or_else(|| device.compiler.words(&identifier));
        let words = words.ok_or(vk::Result::PIPELINE_COMPILE_REQUIRED)?;
        Ok(StageModule { words, handle: 0, origin: StageOrigin::Identifier })
    }
}

/// Returns the stage of the binary that contains it.
fn of_binary(binaries: &[Arc<PipelineBinary>], stage: Stage, number: usize) -> Result<StageModule, PipelineError> {
    let binary = binaries.iter().filter(|binary| binary.stage() == Some(stage)).nth(number);
    let found = binary.and_then(|binary| Some((binary.words()?, binary)));
    let (words, binary) = found.ok_or_else(|| {
        PipelineError::unsupported(&format!("{stage:?} stage"), "none of the pipeline binaries contains it")
    })?;
    Ok(StageModule { words, handle: 0, origin: StageOrigin::Binary(binary.clone()) })
}

/// Returns a stage for a key.
///
/// # Safety
/// `info` is valid with its chain and handle.
unsafe fn of_identifier(info: &vk::PipelineShaderStageCreateInfo<'_>) -> Result<StageModule, PipelineError> {
    // SAFETY: `info` is valid with its chain and handle, as the `# Safety` section demands.
    let identifier = match unsafe { given(info) }? {
        Some(module) => Identifier::of(&module.words),
        // SAFETY: the chain is valid, as the `# Safety` section demands.
        None => unsafe { identifier(info.p_next) }?,
    };
    Ok(StageModule { words: identifier_words(&identifier), handle: 0, origin: StageOrigin::Identifier })
}

/// Returns the words that the application gives: those of the module, or without a module those in
/// the chain (VK_KHR_maintenance5, graphics pipeline library).
///
/// # Safety
/// `info` is valid with its chain and handle.
unsafe fn given(info: &vk::PipelineShaderStageCreateInfo<'_>) -> Result<Option<StageModule>, PipelineError> {
    let origin = |is_valid| if is_valid { StageOrigin::Validated } else { StageOrigin::Application };
    // SAFETY: the module is null or live, as the `# Safety` section demands.
    if let Some(module) = unsafe { handle::optional::<ShaderModule>(info.module) } {
        let (words, handle) = (module.words.clone(), handle::raw(&module));
        return Ok(Some(StageModule { words, handle, origin: origin(module.is_validated) }));
    }
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let Some(inline) = (unsafe { find::<vk::ShaderModuleCreateInfo<'_>>(info.p_next) }) else { return Ok(None) };
    // SAFETY: the structure is an element of the valid chain.
    let words = unsafe { words_of(inline) }?;
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let origin = origin(unsafe { is_validated(info.p_next, &words) });
    Ok(Some(StageModule { words, handle: 0, origin }))
}

/// Copies the words of a module.
///
/// # Safety
/// `info` is valid.
pub unsafe fn words_of(info: &vk::ShaderModuleCreateInfo<'_>) -> Result<Arc<[u32]>, vk::Result> {
    // SAFETY: `info` is valid, so that its code has this size.
    fallible::shared(unsafe { slice(info.p_code, (info.code_size / 4) as u32) })
}

/// Returns the identifier in a stage's chain. One of another size is that of no module.
///
/// # Safety
/// The chain is valid.
unsafe fn identifier(chain: *const c_void) -> Result<Identifier, PipelineError> {
    // SAFETY: the chain is valid, as the `# Safety` section demands.
    let bytes = unsafe {
        let info = find::<vk::PipelineShaderStageModuleIdentifierCreateInfoEXT<'_>>(chain);
        info.map_or(&[][..], |info| slice(info.p_identifier, info.identifier_size))
    };
    if bytes.is_empty() {
        return Err(PipelineError::unsupported("pipeline", "a stage has no shader module"));
    }
    Identifier::from_bytes(bytes).ok_or_else(|| vk::Result::PIPELINE_COMPILE_REQUIRED.into())
}

fn write_identifier(words: &[u32], to: &mut vk::ShaderModuleIdentifierEXT<'_>) {
    to.identifier_size = Identifier::SIZE as u32;
    to.identifier = Identifier::of(words).0;
}

shims! {
    fn get_shader_module_identifier(
        _device: vk::Device,
        module: vk::ShaderModule,
        identifier: *mut vk::ShaderModuleIdentifierEXT<'_>,
    ) {
        write_identifier(&handle::get::<ShaderModule>(module).words, &mut *identifier);
    }

    fn get_shader_module_create_info_identifier(
        _device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo<'_>,
        identifier: *mut vk::ShaderModuleIdentifierEXT<'_>,
    ) {
        let info = &*info;
        write_identifier(slice(info.p_code, (info.code_size / 4) as u32), &mut *identifier);
    }
}
