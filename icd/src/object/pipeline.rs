//! Pipelines: the way to make a program ([`BoundProgram`]) of stages and state, at once or of
//! libraries ([`super::graphics_part`]). Creation refuses a pipeline with a message if a shader or
//! a state is not supported, or if its parts do not fit; the code is made in the background
//! ([`Compiler`](crate::shader_compiler::compiler::Compiler)).

use super::graphics_part::{GraphicsPart, PartError};
use super::pipeline_binary::PipelineBinary;
use super::pipeline_layout::PipelineLayout;
use super::pipeline_state::GraphicsState;
use super::program::{BoundProgram, LinkedStages, Linker, NamedObject, ProgramParts};
use super::ray_tracing::{GroupCreateInfo, GroupError, RayTracingPart};
use crate::ffi::object_data;
use crate::shader_compiler::compile::StageRequest;
use crate::shader_compiler::compiler::{CodeOrigin, CompileError, Compiler};
use crate::shader_compiler::pipeline_cache::PipelineCache;
use crate::shader_compiler::tiered::TieredCode;
use ash::vk;
use base::shader::{HeapMapping, Stage};
use jit::error::ErrorKind;
use jit::spirv::{Specialization, output_vertices};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Object behind a `VkPipeline`.
pub struct Pipeline {
    contents: Contents,
    /// Flags with which the pipeline was created.
    pub flags: vk::PipelineCreateFlags2KHR,
    /// True if binaries may be made of the pipeline.
    captures_data: AtomicBool,
}

/// The flag VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR.
const CAPTURE_DATA: vk::PipelineCreateFlags2KHR = vk::PipelineCreateFlags2KHR::from_raw(1 << 31);

impl Pipeline {
    /// Returns true if binaries may be made of the pipeline.
    pub fn captures_data(&self) -> bool {
        self.captures_data.load(Ordering::Relaxed)
    }

    /// Ends the capture. No more memory is held for it than the pipeline needs itself.
    pub fn release_captured_data(&self) {
        self.captures_data.store(false, Ordering::Relaxed);
    }
}

enum Contents {
    /// Program that draws or dispatches with the pipeline execute.
    Program(Arc<BoundProgram>),
    /// Part of graphics pipelines, with VK_PIPELINE_CREATE_LIBRARY_BIT_KHR.
    Library(Box<GraphicsPart>),
    /// Shaders and groups of ray tracing, with the program that launches execute. A library has no
    /// program.
    RayTracing(Box<RayTracingPart>, Option<Arc<BoundProgram>>),
}

impl Pipeline {
    /// Returns the program that draws, dispatches or launches execute. A library has none.
    pub fn program(&self) -> Option<&Arc<BoundProgram>> {
        match &self.contents {
            Contents::Program(program) => Some(program),
            Contents::Library(_) => None,
            Contents::RayTracing(_, program) => program.as_ref(),
        }
    }

    /// Returns the part of a graphics pipeline that a library has.
    pub fn library(&self) -> Option<&GraphicsPart> {
        match &self.contents {
            Contents::Program(_) | Contents::RayTracing(..) => None,
            Contents::Library(part) => Some(part),
        }
    }

    /// Returns the shaders and groups of a ray tracing pipeline, or of a library of one.
    pub fn ray_tracing(&self) -> Option<&RayTracingPart> {
        match &self.contents {
            Contents::Program(_) | Contents::Library(_) => None,
            Contents::RayTracing(part, _) => Some(part),
        }
    }

    /// Returns the layout by which the stages find descriptors. A library without stages has none.
    pub fn layout(&self) -> Option<&Arc<PipelineLayout>> {
        match &self.contents {
            Contents::Program(program) => Some(program.layout()),
            Contents::Library(part) => part.layout.as_ref(),
            Contents::RayTracing(part, _) => Some(&part.layout),
        }
    }

    /// Returns the code of the stages.
    pub fn code(&self) -> &[Arc<TieredCode>] {
        match &self.contents {
            Contents::Program(program) => program.stages().code(),
            Contents::Library(part) => &part.code,
            Contents::RayTracing(part, _) => &part.code,
        }
    }
}

/// A pipeline and the answers for `VkPipelineCreationFeedbackCreateInfo` about its stages, in their
/// order.
pub struct CreatedPipeline {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// Feedback of the stages. A stage that was not compiled has no valid feedback.
    pub feedback: Vec<vk::PipelineCreationFeedback>,
}

/// A stage of a pipeline that is being created.
pub struct StageCreateInfo {
    /// Kind of the stage.
    pub stage: Stage,
    /// SPIR-V words of its module.
    pub words: Arc<[u32]>,
    /// Handle of its shader module, for messages; 0 if there is none.
    pub module: u64,
    /// Name of the entry point.
    pub entry: String,
    /// Values of specialization constants.
    pub specialization: Specialization,
    /// Mappings of its resources to descriptor heaps, if it uses those.
    pub heap: Option<Vec<HeapMapping>>,
    /// Origin of its words.
    pub origin: StageOrigin,
}

/// Origin of the words of a stage, which determines what remains to be done with them.
#[derive(Default)]
pub enum StageOrigin {
    /// The words are of the application.
    #[default]
    Application,
    /// The words are of the application, and a validation cache has the verdict that they are a
    /// valid module.
    Validated,
    /// A cache has the words of a module of which only the identifier is known. Only stages that
    /// exist are made of them.
    Identifier,
    /// The words are in a pipeline binary, together with the code.
    Binary(Arc<PipelineBinary>),
}

impl StageCreateInfo {
    /// Returns the request for the stage's code with this layout.
    fn request(self, layout: &PipelineLayout) -> StageRequest {
        let StageCreateInfo { stage, words, module: _, entry, specialization, heap, origin } = self;
        let layout = layout.stage_info(heap);
        let is_validated = matches!(origin, StageOrigin::Validated);
        StageRequest { words, stage, entry, specialization, layout, is_validated }
    }
}

/// Parameters of a graphics pipeline, or of a part of one.
pub struct GraphicsCreateInfo {
    /// Stages in the application's order; `None` for one that is ignored because its subset is.
    pub stages: Vec<Option<StageCreateInfo>>,
    /// State of the subsets that the create info has itself.
    pub state: GraphicsState,
    /// Layout with which the pipeline is created, unless it is ignored.
    pub layout: Option<Arc<PipelineLayout>>,
    /// Libraries, which have other subsets.
    pub libraries: Vec<Arc<Pipeline>>,
}

/// Parameters of a ray tracing pipeline, or of a library of one.
pub struct RayTracingCreateInfo {
    /// Stages in the application's order.
    pub stages: Vec<StageCreateInfo>,
    /// Groups of these stages.
    pub groups: Vec<GroupCreateInfo>,
    /// Layout with which the pipeline is created.
    pub layout: Arc<PipelineLayout>,
    /// Libraries, whose shaders and groups follow.
    pub libraries: Vec<Arc<Pipeline>>,
}

/// Reason why there is no pipeline: the result of the call, and the message to the application.
pub struct PipelineError {
    /// Result of the call.
    pub result: vk::Result,
    /// Message, if there is more to report.
    pub message: Option<String>,
}

impl PipelineError {
    /// Creates the failure that these calls may return if a shader cannot be compiled, or if a
    /// state is not supported; the message gives the reason.
    pub fn unsupported(what: &str, message: &str) -> PipelineError {
        PipelineError { result: vk::Result::ERROR_INVALID_SHADER_NV, message: Some(format!("{what}: {message}")) }
    }
}

impl From<vk::Result> for PipelineError {
    fn from(result: vk::Result) -> PipelineError {
        PipelineError { result, message: None }
    }
}

/// Creates stages, from a cache if it contains them.
pub struct PipelineBuilder<'a> {
    /// Compiler of the device.
    pub compiler: &'a Arc<Compiler>,
    /// Linker of the device.
    pub linker: &'a Linker,
    /// Pipeline cache of the application.
    pub cache: Option<&'a PipelineCache>,
    /// Flags of the pipeline.
    pub flags: vk::PipelineCreateFlags2KHR,
}

/// Gives the control stage the number of vertices of a patch, which only the evaluation stage may
/// declare, because the control stage's code depends on it.
pub fn join_patches<'a>(stages: impl Iterator<Item = &'a mut StageCreateInfo>) {
    let said = |info: &StageCreateInfo| output_vertices(&info.words, info.stage, &info.entry);
    let (mut control, mut evaluation) = (None, None);
    for info in stages {
        match info.stage {
            Stage::TessellationControl => control = Some(info),
            Stage::TessellationEvaluation => evaluation = said(info),
            _ => {}
        }
    }
    if let (Some(info), Some(vertices)) = (control, evaluation)
        && said(info).is_none()
    {
        info.specialization.patch_vertices = vertices;
    }
}

impl PipelineBuilder<'_> {
    /// Creates a graphics pipeline, or a library of one with VK_PIPELINE_CREATE_LIBRARY_BIT_KHR.
    /// Libraries are linked without making code.
    pub fn graphics(&self, info: GraphicsCreateInfo) -> Result<CreatedPipeline, PipelineError> {
        let GraphicsCreateInfo { mut stages, state, layout, libraries } = info;
        join_patches(stages.iter_mut().flatten());
        let (mut code, mut feedback) = (Vec::new(), Vec::new());
        let own = layout.clone().unwrap_or_default();
        for stage in stages {
            let Some(stage) = stage else {
                feedback.push(vk::PipelineCreationFeedback::default());
                continue;
            };
            let (made, answer) = self.compile(stage, &own)?;
            code.push(made);
            feedback.push(answer);
        }
        let refuse = |error: PartError| PipelineError::unsupported("graphics pipeline", &error.to_string());
        let mut part = GraphicsPart { code, state, layout };
        for library in &libraries {
            let library = library.library().ok_or_else(|| {
                PipelineError::unsupported("graphics pipeline", "a pipeline in pLibraries is not a library of graphics")
            })?;
            part.add(library).map_err(refuse)?;
        }
        let pipeline = if self.flags.contains(vk::PipelineCreateFlags2KHR::LIBRARY) {
            Arc::new(self.contents(Contents::Library(Box::new(part))))
        } else {
            self.pipeline(part.link(self.linker).map_err(refuse)?)
        };
        Ok(CreatedPipeline { pipeline, feedback })
    }

    /// Creates a compute pipeline.
    pub fn compute(
        &self,
        stage: StageCreateInfo,
        layout: Arc<PipelineLayout>,
    ) -> Result<CreatedPipeline, PipelineError> {
        let (code, answer) = self.compile(stage, &layout)?;
        let linked = self.linker.link(vec![code]);
        let stages = linked.map_err(|error| PipelineError::unsupported("compute pipeline", &error.to_string()))?;
        let pipeline = self.pipeline(ProgramParts { stages, layout, state: None });
        Ok(CreatedPipeline { pipeline, feedback: vec![answer] })
    }

    /// Creates a ray tracing pipeline, or a library of one with VK_PIPELINE_CREATE_LIBRARY_BIT_KHR.
    pub fn ray_tracing(&self, info: RayTracingCreateInfo) -> Result<CreatedPipeline, PipelineError> {
        let refuse = |error: GroupError| PipelineError::unsupported("ray tracing pipeline", &error.to_string());
        let RayTracingCreateInfo { stages, groups, layout, libraries } = info;
        let (mut code, mut feedback) = (Vec::new(), Vec::new());
        for stage in stages {
            let (made, answer) = self.compile(stage, &layout)?;
            code.push(made);
            feedback.push(answer);
        }
        let mut part = RayTracingPart::new(code, layout);
        for library in &libraries {
            let library = library.ray_tracing().ok_or_else(|| {
                let message = "a pipeline in pLibraries is not a library of ray tracing";
                PipelineError::unsupported("ray tracing pipeline", message)
            })?;
            part.add(library).map_err(refuse)?;
        }
        part.add_groups(&groups).map_err(refuse)?;
        let is_library = self.flags.contains(vk::PipelineCreateFlags2KHR::LIBRARY);
        let pipeline = Arc::new_cyclic(|this: &Weak<Pipeline>| {
            let program = (!is_library).then(|| {
                let stages = Arc::new(LinkedStages::ray_tracing(&part, self.ray_flags()));
                let parts = ProgramParts { stages, layout: part.layout.clone(), state: None };
                Arc::new(BoundProgram::new(parts, NamedObject::new("pipeline", this.clone())))
            });
            self.contents(Contents::RayTracing(Box::new(part), program))
        });
        Ok(CreatedPipeline { pipeline, feedback })
    }

    /// Returns `RayFlags` that apply to all rays of the pipeline.
    fn ray_flags(&self) -> u32 {
        let flags = [
            (vk::PipelineCreateFlags2KHR::RAY_TRACING_SKIP_TRIANGLES, rays::ray_flags::SKIP_TRIANGLES),
            (vk::PipelineCreateFlags2KHR::RAY_TRACING_SKIP_AABBS, rays::ray_flags::SKIP_AABBS),
        ];
        flags.into_iter().filter(|(flag, _)| self.flags.contains(*flag)).fold(0, |all, (_, flag)| all | flag)
    }

    fn contents(&self, contents: Contents) -> Pipeline {
        let captures_data = AtomicBool::new(self.flags.contains(CAPTURE_DATA));
        Pipeline { contents, flags: self.flags, captures_data }
    }

    fn pipeline(&self, parts: ProgramParts) -> Arc<Pipeline> {
        Arc::new_cyclic(|this: &Weak<Pipeline>| {
            let program = Arc::new(BoundProgram::new(parts, NamedObject::new("pipeline", this.clone())));
            self.contents(Contents::Program(program))
        })
    }

    /// Compiles a stage for a layout, and answers for `VkPipelineCreationFeedback`.
    pub fn compile(
        &self,
        info: StageCreateInfo,
        layout: &PipelineLayout,
    ) -> Result<(Arc<TieredCode>, vk::PipelineCreationFeedback), PipelineError> {
        let began = Instant::now();
        if let StageOrigin::Binary(binary) = &info.origin {
            let code = self.binary_stage(&binary.clone(), info, layout)?;
            let duration = began.elapsed().as_nanos() as u64;
            let flags = vk::PipelineCreationFeedbackFlags::VALID;
            return Ok((code, vk::PipelineCreationFeedback { flags, duration }));
        }
        let (stage, module, entry) = (info.stage, info.module, info.entry.clone());
        let only_cached = self.flags.contains(vk::PipelineCreateFlags2KHR::FAIL_ON_PIPELINE_COMPILE_REQUIRED)
            || matches!(info.origin, StageOrigin::Identifier);
        let made = self.compiler.stage(info.request(layout), self.cache, only_cached);
        let (code, origin) = made.map_err(|refusal| match refusal {
            CompileError::CompileRequired => vk::Result::PIPELINE_COMPILE_REQUIRED.into(),
            CompileError::OutOfMemory => vk::Result::ERROR_OUT_OF_HOST_MEMORY.into(),
            CompileError::Shader(error) => {
                let name = if module == 0 { String::new() } else { object_data::name(module) };
                let what = format!("{stage:?} shader module {name}, entry point \"{entry}\"");
                let failure = PipelineError::unsupported(&what, &error.to_string());
                // A shader beyond a limit of the compiler is refused like an unsupported one. It
                // would fail with more memory too, and engines take a memory error for the end of
                // the device.
                let memory = error.kind == ErrorKind::Memory;
                let result = if memory { vk::Result::ERROR_OUT_OF_HOST_MEMORY } else { failure.result };
                PipelineError { result, ..failure }
            }
        })?;
        let hit = match origin {
            CodeOrigin::Cache => vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT,
            CodeOrigin::Shared | CodeOrigin::Compiled => vk::PipelineCreationFeedbackFlags::empty(),
        };
        let flags = vk::PipelineCreationFeedbackFlags::VALID | hit;
        Ok((code, vk::PipelineCreationFeedback { flags, duration: began.elapsed().as_nanos() as u64 }))
    }

    /// Returns the stage that a pipeline binary contains.
    fn binary_stage(
        &self,
        binary: &PipelineBinary,
        info: StageCreateInfo,
        layout: &PipelineLayout,
    ) -> Result<Arc<TieredCode>, PipelineError> {
        let what = format!("{:?} stage, entry point \"{}\"", info.stage, info.entry);
        let code = binary.code(self.compiler, info.request(layout));
        code.ok_or_else(|| PipelineError::unsupported(&what, "its pipeline binary is that of another pipeline"))
    }

    /// Returns the stages of a pipeline that are in use, in the order in which
    /// [`LinkedStages::code`](super::program::LinkedStages::code) has those of the pipeline. `None`
    /// means that one of them would have to be made.
    pub fn live_stages(
        &self,
        mut stages: Vec<Option<StageCreateInfo>>,
        layout: &PipelineLayout,
    ) -> Option<Vec<Arc<TieredCode>>> {
        join_patches(stages.iter_mut().flatten());
        let requests = stages.into_iter().flatten().map(|stage| stage.request(layout));
        let mut code: Vec<_> = requests.map(|r| self.compiler.live_stage(&r.key())).collect::<Option<_>>()?;
        code.sort_by_key(|code| code.request().stage);
        Some(code)
    }
}
