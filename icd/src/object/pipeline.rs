//! Pipelines. Creation refuses a pipeline with a message if a shader or a state is not supported;
//! the code is made in the background ([`Compiler`](crate::backend::compiler::Compiler)).

use super::pipeline_layout::PipelineLayout;
use super::pipeline_state::GraphicsState;
use crate::backend::compile::StageRequest;
use crate::backend::compiler::{CodeOrigin, Compiler, Refusal};
use crate::backend::pipeline_cache::PipelineCache;
use crate::backend::tiered::TieredCode;
use crate::ffi::known;
use ash::vk;
use base::shader::{CompiledStage, HeapMapping, PipelineLayoutInfo, Stage};
use jit::error::ErrorKind;
use jit::spirv::{Specialization, output_vertices};
use rasterizer::api::GraphicsStages;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use std::time::Instant;

/// Use for which a pipeline and descriptor sets are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindPoint {
    /// The point VK_PIPELINE_BIND_POINT_GRAPHICS.
    Graphics,
    /// The point VK_PIPELINE_BIND_POINT_COMPUTE.
    Compute,
    /// The point of ray tracing.
    RayTracing,
}

impl BindPoint {
    /// Converts a `VkPipelineBindPoint`; `None` if the driver does not have it.
    pub fn from_vk(point: vk::PipelineBindPoint) -> Option<BindPoint> {
        Some(match point {
            vk::PipelineBindPoint::GRAPHICS => BindPoint::Graphics,
            vk::PipelineBindPoint::COMPUTE => BindPoint::Compute,
            vk::PipelineBindPoint::RAY_TRACING_KHR => BindPoint::RayTracing,
            _ => return None,
        })
    }
}

/// One value for each bind point.
#[derive(Default)]
pub struct PerBindPoint<T>([T; 3]);

impl<T> PerBindPoint<T> {
    /// Returns all three values, in the order of their numbers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> Index<BindPoint> for PerBindPoint<T> {
    type Output = T;
    fn index(&self, point: BindPoint) -> &T {
        &self.0[point as usize]
    }
}

impl<T> IndexMut<BindPoint> for PerBindPoint<T> {
    fn index_mut(&mut self, point: BindPoint) -> &mut T {
        &mut self.0[point as usize]
    }
}

/// Object behind a `VkPipeline`.
pub struct Pipeline {
    /// The pipeline of its bind point.
    pub kind: PipelineKind,
    /// Flags with which the pipeline was created.
    pub flags: vk::PipelineCreateFlags,
}

/// A graphics or a compute pipeline.
pub enum PipelineKind {
    /// A pipeline of vkCreateGraphicsPipelines.
    Graphics(Arc<GraphicsPipeline>),
    /// A pipeline of vkCreateComputePipelines.
    Compute(Arc<ComputePipeline>),
}

/// A graphics pipeline.
pub struct GraphicsPipeline {
    /// Stages that its draws run.
    pub stages: Arc<GraphicsStages>,
    code: Vec<Arc<TieredCode>>,
    /// All state that is not code.
    pub state: GraphicsState,
    /// Layout with which the pipeline was created.
    pub layout: Arc<PipelineLayout>,
}

/// A compute pipeline.
pub struct ComputePipeline {
    /// Stage that its dispatches run.
    pub stage: CompiledStage,
    code: Arc<TieredCode>,
    /// Layout with which the pipeline was created.
    pub layout: Arc<PipelineLayout>,
}

impl Pipeline {
    /// Returns the bind point of the pipeline.
    pub fn bind_point(&self) -> BindPoint {
        match self.kind {
            PipelineKind::Graphics(_) => BindPoint::Graphics,
            PipelineKind::Compute(_) => BindPoint::Compute,
        }
    }

    /// Returns the code of its stages, in the application's order.
    pub fn code(&self) -> &[Arc<TieredCode>] {
        match &self.kind {
            PipelineKind::Graphics(graphics) => &graphics.code,
            PipelineKind::Compute(compute) => std::slice::from_ref(&compute.code),
        }
    }
}

impl GraphicsPipeline {
    /// Waits until there is code. An error means that the device cannot continue.
    pub fn ready(&self) -> Result<(), String> {
        self.code.iter().try_for_each(|code| code.ready())
    }
}

impl ComputePipeline {
    /// Waits until there is code, as [`GraphicsPipeline::ready`] does.
    pub fn ready(&self) -> Result<(), String> {
        self.code.ready()
    }
}

/// A pipeline and the answers for `VkPipelineCreationFeedbackCreateInfo` about its stages, in their
/// order.
pub struct Created {
    /// The pipeline.
    pub pipeline: Arc<Pipeline>,
    /// Feedback of the stages. A stage that was not compiled has no valid feedback.
    pub feedback: Vec<vk::PipelineCreationFeedback>,
}

/// A stage of a pipeline that is being created.
pub struct StageInfo {
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
}

/// Parameters of a graphics pipeline.
pub struct GraphicsInfo {
    /// Stages in the application's order; `None` for one that is ignored because nothing is
    /// rasterized.
    pub stages: Vec<Option<StageInfo>>,
    /// All state that is not code.
    pub state: GraphicsState,
    /// Layout with which the pipeline is created.
    pub layout: Arc<PipelineLayout>,
}

/// Reason why there is no pipeline: the result of the call, and the message to the application.
pub struct Failure {
    /// Result of the call.
    pub result: vk::Result,
    /// Message, if there is more to report.
    pub message: Option<String>,
}

impl Failure {
    /// Creates the failure that these calls may return if a shader cannot be compiled, or if a
    /// state is not supported; the message gives the reason.
    pub fn unsupported(what: &str, message: &str) -> Failure {
        Failure { result: vk::Result::ERROR_INVALID_SHADER_NV, message: Some(format!("{what}: {message}")) }
    }
}

impl From<vk::Result> for Failure {
    fn from(result: vk::Result) -> Failure {
        Failure { result, message: None }
    }
}

/// Creates stages, from a cache if it contains them.
pub struct Maker<'a> {
    /// Compiler of the device.
    pub compiler: &'a Arc<Compiler>,
    /// Pipeline cache of the application.
    pub cache: Option<&'a PipelineCache>,
    /// Flags of the pipeline.
    pub flags: vk::PipelineCreateFlags,
}

/// Gives the control stage the number of vertices of a patch, which only the evaluation stage may
/// declare, because the control stage's code depends on it.
fn join_patches(stages: &mut [Option<StageInfo>]) {
    let said = |info: &StageInfo| output_vertices(&info.words, info.stage, &info.entry);
    let of = |info: &&StageInfo| info.stage == Stage::TessellationEvaluation;
    let evaluation = stages.iter().flatten().find(of).and_then(said);
    let controls = stages.iter_mut().flatten().filter(|info| info.stage == Stage::TessellationControl);
    if let Some(vertices) = evaluation {
        controls.filter(|info| said(info).is_none()).for_each(|info| info.specialization.patch_vertices = vertices);
    }
}

impl Maker<'_> {
    /// Creates a graphics pipeline.
    pub fn graphics(&self, info: GraphicsInfo) -> Result<Created, Failure> {
        let GraphicsInfo { mut stages, state, layout } = info;
        join_patches(&mut stages);
        let (mut code, mut feedback) = (Vec::new(), Vec::new());
        for stage in stages {
            let Some(stage) = stage else {
                feedback.push(vk::PipelineCreationFeedback::default());
                continue;
            };
            let (own, answer) = self.stage(stage, &layout)?;
            code.push(own);
            feedback.push(answer);
        }
        let stages = GraphicsStages::new(code.iter().map(TieredCode::stage));
        let stages = stages.map_err(|misfit| Failure::unsupported("graphics pipeline", &misfit.to_string()))?;
        let stages = Arc::new(stages);
        let kind = PipelineKind::Graphics(Arc::new(GraphicsPipeline { stages, code, state, layout }));
        Ok(Created { pipeline: Arc::new(Pipeline { kind, flags: self.flags }), feedback })
    }

    /// Creates a compute pipeline.
    pub fn compute(&self, stage: StageInfo, layout: Arc<PipelineLayout>) -> Result<Created, Failure> {
        let (code, answer) = self.stage(stage, &layout)?;
        let kind = PipelineKind::Compute(Arc::new(ComputePipeline { stage: code.stage(), code, layout }));
        Ok(Created { pipeline: Arc::new(Pipeline { kind, flags: self.flags }), feedback: vec![answer] })
    }

    fn stage(
        &self,
        info: StageInfo,
        layout: &PipelineLayout,
    ) -> Result<(Arc<TieredCode>, vk::PipelineCreationFeedback), Failure> {
        let began = Instant::now();
        let StageInfo { stage, words, module, entry, specialization, heap } = info;
        let layout = match heap {
            Some(mappings) => Arc::new(PipelineLayoutInfo { sets: layout.info.sets.clone(), heap: Some(mappings) }),
            None => layout.info.clone(),
        };
        let request = StageRequest { words, stage, entry: entry.clone(), specialization, layout };
        let only_cached = self.flags.contains(vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
        let made = self.compiler.stage(request, self.cache, only_cached);
        let (code, origin) = made.map_err(|refusal| match refusal {
            Refusal::CompileRequired => vk::Result::PIPELINE_COMPILE_REQUIRED.into(),
            Refusal::OutOfMemory => vk::Result::ERROR_OUT_OF_HOST_MEMORY.into(),
            Refusal::Shader(error) => {
                let name = if module == 0 { String::new() } else { known::name(module) };
                let what = format!("{stage:?} shader module {name}, entry point \"{entry}\"");
                let failure = Failure::unsupported(&what, &error.to_string());
                // A shader beyond a limit of the compiler is refused like an unsupported one. It
                // would fail with more memory too, and engines take a memory error for the end of
                // the device.
                let memory = error.kind == ErrorKind::Memory;
                let result = if memory { vk::Result::ERROR_OUT_OF_HOST_MEMORY } else { failure.result };
                Failure { result, ..failure }
            }
        })?;
        let hit = match origin {
            CodeOrigin::Cache => vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT,
            CodeOrigin::Living | CodeOrigin::Compiled => vk::PipelineCreationFeedbackFlags::empty(),
        };
        let flags = vk::PipelineCreationFeedbackFlags::VALID | hit;
        Ok((code, vk::PipelineCreationFeedback { flags, duration: began.elapsed().as_nanos() as u64 }))
    }
}
