//! Draws that the device generates from a buffer (`VK_EXT_device_generated_commands`): tokens of an
//! execution set, push constants and a draw.

use super::draw::STAGES;
use super::error::{Context, Error, Result};
use super::generated_api::{
    Functions, GeneratedInfo, LayoutInfo, PREPROCESS_BUFFER, PipelineInfo, RequirementsInfo, SetInfo, SetOfPipelines,
    SetOfShaders, SetToken, SetWrite, ShaderLayout, Token, tag, token,
};
use super::gpu::{Gpu, Owned};
use super::recorder::Recorder;
use ash::vk;
use std::ffi::c_void;
use std::ptr;

/// An indirect execution set.
#[derive(Clone, Copy)]
pub struct ExecutionSet {
    handle: u64,
    kind: i32,
    /// Number of words by which a sequence chooses its program: one for pipelines, one per stage
    /// for shader objects.
    words: u32,
}

const PIPELINES: i32 = 0;
const SHADERS: i32 = 1;

/// Programs of generated draws.
#[derive(Clone, Copy)]
pub enum GeneratedProgram {
    /// All draws use this pipeline, which is bound.
    Pipeline(vk::Pipeline),
    /// Each draw chooses from a set, whose first program is bound.
    Set(ExecutionSet),
}

/// Draws that the device generates. A sequence has the words that choose its program from a set,
/// the words of its push constants, and a `VkDrawIndirectCommand`.
pub struct GeneratedDraws {
    functions: Functions,
    program: GeneratedProgram,
    layout: u64,
    commands: vk::DeviceAddress,
    size: u64,
    preprocess: vk::DeviceAddress,
    preprocess_size: u64,
    count: u32,
}

/// Number of bytes of a `VkDrawIndirectCommand`.
const DRAW_BYTES: u32 = 16;

impl Gpu {
    /// Returns the commands of the extension, or an error if the device lacks it.
    fn generated_commands(&self) -> Result<Functions> {
        self.generated.ok_or_else(|| Error::Missing("deviceGeneratedCommands".into()))
    }

    /// Makes an execution set of pipelines that were created as indirectly bindable.
    pub fn set_of_pipelines(&self, pipelines: &[vk::Pipeline]) -> Result<ExecutionSet> {
        let functions = self.generated_commands()?;
        let initial = *pipelines.first().ok_or_else(|| Error::Missing("a pipeline".into()))?;
        let max = pipelines.len() as u32;
        let info = SetOfPipelines { s_type: tag::SET_OF_PIPELINES, p_next: ptr::null(), initial, max };
        let set = self.execution_set(&functions, PIPELINES, ptr::from_ref(&info).cast())?;
        let handles = pipelines.iter().map(|pipeline| vk::Handle::as_raw(*pipeline));
        let writes = set_writes(tag::WRITE_PIPELINE, handles, 1);
        // SAFETY: set and pipelines are alive and belong to this device; the indices are inside the
        // set, which is not in use.
        unsafe { (functions.update_pipelines)(self.device.handle(), set, writes.len() as u32, writes.as_ptr()) };
        Ok(ExecutionSet { handle: set, kind: PIPELINES, words: 1 })
    }

    /// Makes an execution set of shader objects that were created as indirectly bindable. The first
    /// ones, one per stage, are those that are bound; all of them have the set layout and the push
    /// constants of the stages [`STAGES`].
    pub fn set_of_shaders(
        &self,
        stages: usize,
        shaders: &[vk::ShaderEXT],
        set_layout: vk::DescriptorSetLayout,
        push_bytes: u32,
    ) -> Result<ExecutionSet> {
        let functions = self.generated_commands()?;
        let one = || ShaderLayout { s_type: tag::SHADER_LAYOUT, p_next: ptr::null(), count: 1, layouts: &set_layout };
        let layouts: Vec<_> = (0..stages).map(|_| one()).collect();
        let range = vk::PushConstantRange::default().stage_flags(STAGES).size(push_bytes);
        let info = SetOfShaders {
            s_type: tag::SET_OF_SHADERS,
            p_next: ptr::null(),
            count: stages as u32,
            initial: shaders.as_ptr(),
            layouts: layouts.as_ptr(),
            max: shaders.len() as u32,
            range_count: 1,
            ranges: &range,
        };
        let set = self.execution_set(&functions, SHADERS, ptr::from_ref(&info).cast())?;
        let handles = shaders.iter().map(|shader| vk::Handle::as_raw(*shader));
        let writes = set_writes(tag::WRITE_SHADER, handles, stages);
        // SAFETY: set and shaders are alive and belong to this device; the indices are inside the
        // set, which is not in use.
        unsafe { (functions.update_shaders)(self.device.handle(), set, writes.len() as u32, writes.as_ptr()) };
        Ok(ExecutionSet { handle: set, kind: SHADERS, words: stages as u32 })
    }

    fn execution_set(&self, functions: &Functions, kind: i32, info: *const c_void) -> Result<u64> {
        let info = SetInfo { s_type: tag::EXECUTION_SET, p_next: ptr::null(), kind, info };
        let mut set = 0;
        // SAFETY: `info` points to a structure of its kind, and both live during the call.
        let code = unsafe { (functions.create_set)(self.device.handle(), &info, ptr::null(), &mut set) };
        code.result().context("vkCreateIndirectExecutionSetEXT")?;
        self.own(Owned::ExecutionSet(set));
        Ok(set)
    }

    /// Makes `count` generated draws with these words of their sequences. The push constants of the
    /// pipeline layout begin at 0 and belong to [`STAGES`].
    pub fn generated_draws(
        &self,
        program: GeneratedProgram,
        layout: vk::PipelineLayout,
        push_bytes: u32,
        words: &[u32],
        count: u32,
    ) -> Result<GeneratedDraws> {
        let functions = self.generated_commands()?;
        let commands = self.buffer(size_of_val(words), ADDRESSED | vk::BufferUsageFlags::INDIRECT_BUFFER)?;
        commands.write(0, words);
        let mut draws = GeneratedDraws {
            functions,
            program,
            layout: self.commands_layout(&functions, program, layout, push_bytes)?,
            commands: self.address(commands.handle),
            size: size_of_val(words) as u64,
            preprocess: 0,
            preprocess_size: 0,
            count,
        };
        let needs = self.preprocess_requirements(&draws);
        if needs.size > 0 {
            let buffer = self.addressed_buffer(needs.size + needs.alignment, PREPROCESS_BUFFER)?;
            draws.preprocess = self.address(buffer).next_multiple_of(needs.alignment.max(1));
            draws.preprocess_size = needs.size;
        }
        Ok(draws)
    }

    fn commands_layout(
        &self,
        functions: &Functions,
        program: GeneratedProgram,
        layout: vk::PipelineLayout,
        push_bytes: u32,
    ) -> Result<u64> {
        let range = vk::PushConstantRange::default().stage_flags(STAGES).size(push_bytes);
        let mut tokens = Vec::new();
        let mut offset = 0;
        let set = match program {
            GeneratedProgram::Set(set) => Some((SetToken { kind: set.kind, stages: STAGES }, set.words)),
            GeneratedProgram::Pipeline(_) => None,
        };
        if let Some((set, words)) = &set {
            tokens.push(Token::new(token::EXECUTION_SET, ptr::from_ref(set).cast(), 0));
            offset = 4 * words;
        }
        tokens.push(Token::new(token::PUSH_CONSTANT, ptr::from_ref(&range).cast(), offset));
        offset += push_bytes;
        tokens.push(Token::new(token::DRAW, ptr::null(), offset));
        let info = LayoutInfo {
            s_type: tag::LAYOUT,
            p_next: ptr::null(),
            flags: 0,
            stages: STAGES,
            stride: offset + DRAW_BYTES,
            layout,
            count: tokens.len() as u32,
            tokens: tokens.as_ptr(),
        };
        let mut handle = 0;
        // SAFETY: `info` and what it points to live during the call.
        let code = unsafe { (functions.create_layout)(self.device.handle(), &info, ptr::null(), &mut handle) };
        code.result().context("vkCreateIndirectCommandsLayoutEXT")?;
        self.own(Owned::CommandsLayout(handle));
        Ok(handle)
    }

    fn preprocess_requirements(&self, draws: &GeneratedDraws) -> vk::MemoryRequirements {
        let pipeline = draws.pipeline_info();
        let info = RequirementsInfo {
            s_type: tag::MEMORY_REQUIREMENTS,
            p_next: pipeline.as_ref().map_or(ptr::null(), |info| ptr::from_ref(info).cast()),
            set: draws.set(),
            layout: draws.layout,
            max_sequences: draws.count,
            max_draws: 1,
        };
        let mut requirements = vk::MemoryRequirements2::default();
        // SAFETY: `info` and what it points to live during the call.
        unsafe { (draws.functions.requirements)(self.device.handle(), &info, &mut requirements) };
        requirements.memory_requirements
    }
}

/// Usage of a buffer whose address is used.
const ADDRESSED: vk::BufferUsageFlags = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;

/// Returns a write for each handle but the first `given`, which the set has from its creation.
fn set_writes(s_type: i32, handles: impl Iterator<Item = u64>, given: usize) -> Vec<SetWrite> {
    let write = |(index, handle)| SetWrite { s_type, p_next: ptr::null(), index, handle };
    (0..).zip(handles).skip(given).map(write).collect()
}

impl GeneratedDraws {
    fn pipeline_info(&self) -> Option<PipelineInfo> {
        match self.program {
            GeneratedProgram::Pipeline(pipeline) => {
                Some(PipelineInfo { s_type: tag::PIPELINE, p_next: ptr::null_mut(), pipeline })
            }
            GeneratedProgram::Set(_) => None,
        }
    }

    fn set(&self) -> u64 {
        match self.program {
            GeneratedProgram::Set(set) => set.handle,
            GeneratedProgram::Pipeline(_) => 0,
        }
    }
}

impl Recorder<'_> {
    /// Records `vkCmdExecuteGeneratedCommandsEXT` without separate preprocessing. The program of
    /// the draws, or the first of their set, is bound.
    pub fn execute_generated(self, draws: &GeneratedDraws) {
        let pipeline = draws.pipeline_info();
        let info = GeneratedInfo {
            s_type: tag::GENERATED_COMMANDS,
            p_next: pipeline.as_ref().map_or(ptr::null(), |info| ptr::from_ref(info).cast()),
            stages: STAGES,
            set: draws.set(),
            layout: draws.layout,
            commands: draws.commands,
            commands_size: draws.size,
            preprocess: draws.preprocess,
            preprocess_size: draws.preprocess_size,
            max_sequences: draws.count,
            count_address: 0,
            max_draws: 1,
        };
        // SAFETY: `info` and what it points to live during the call; its objects belong to this
        // device and live as long as it (module invariant).
        unsafe { (draws.functions.execute)(self.cmd, vk::FALSE, &info) };
    }
}
