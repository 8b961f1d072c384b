//! Pipelines: refused at creation with a message when a shader or a state is not supported; their code is made meanwhile
//! ([`Compiler`](crate::backend::compiler::Compiler)).

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

/// What a pipeline and descriptor sets are bound for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindPoint {
    /// VK_PIPELINE_BIND_POINT_GRAPHICS.
    Graphics,
    /// VK_PIPELINE_BIND_POINT_COMPUTE.
    Compute,
    /// Ray tracing.
    RayTracing,
}

impl BindPoint {
    /// A `VkPipelineBindPoint`; `None`: the driver does not have it.
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
    /// All three, in the order of their numbers.
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

/// `VkPipeline`.
pub struct Pipeline {
    /// By bind point.
    pub kind: PipelineKind,
    /// What it was created with.
    pub flags: vk::PipelineCreateFlags,
}

/// Graphics or compute.
pub enum PipelineKind {
    /// From vkCreateGraphicsPipelines.
    Graphics(Arc<GraphicsPipeline>),
    /// From vkCreateComputePipelines.
    Compute(Arc<ComputePipeline>),
}

/// A graphics pipeline.
pub struct GraphicsPipeline {
    /// What its draws run.
    pub stages: Arc<GraphicsStages>,
    code: Vec<Arc<TieredCode>>,
    /// All that is not code.
    pub state: GraphicsState,
    /// Layout that it was created with.
    pub layout: Arc<PipelineLayout>,
}

/// A compute pipeline.
pub struct ComputePipeline {
    /// What its dispatches run.
    pub stage: CompiledStage,
    code: Arc<TieredCode>,
    /// Layout that it was created with.
    pub layout: Arc<PipelineLayout>,
}

impl Pipeline {
    /// What it is bound for.
    pub fn bind_point(&self) -> BindPoint {
        match self.kind {
            PipelineKind::Graphics(_) => BindPoint::Graphics,
            PipelineKind::Compute(_) => BindPoint::Compute,
        }
    }

    /// The code of its stages, in the application's order.
    pub fn code(&self) -> &[Arc<TieredCode>] {
        match &self.kind {
            PipelineKind::Graphics(graphics) => &graphics.code,
            PipelineKind::Compute(compute) => std::slice::from_ref(&compute.code),
        }
    }
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

/// A stage to be made.
pub struct StageInfo {
    /// Which stage it is.
    pub stage: Stage,
    /// SPIR-V.
    pub words: Arc<[u32]>,
    /// Handle of its shader module, for messages; 0: none.
    pub module: u64,
    /// Entry point.
    pub entry: String,
    /// Values of specialisation constants.
    pub specialization: Specialization,
    /// Where its resources are in descriptor heaps, if it has those.
    pub heap: Option<Vec<HeapMapping>>,
}

/// A graphics pipeline to be made.
pub struct GraphicsInfo {
    /// In the application's order; `None`: ignored, as nothing is rasterized.
    pub stages: Vec<Option<StageInfo>>,
    /// All that is not code.
    pub state: GraphicsState,
    /// Layout that it was created with.
    pub layout: Arc<PipelineLayout>,
}

/// Why there is no pipeline: what the call returns, and what the application is told.
pub struct Failure {
    /// The error.
    pub result: vk::Result,
    /// The message, if there is more to say.
    pub message: Option<String>,
}

impl Failure {
    /// What these calls may return when a shader can't be compiled, or a state is not supported; the message says why.
    pub fn unsupported(what: &str, message: &str) -> Failure {
        Failure { result: vk::Result::ERROR_INVALID_SHADER_NV, message: Some(format!("{what}: {message}")) }
    }
}

impl From<vk::Result> for Failure {
    fn from(result: vk::Result) -> Failure {
        Failure { result, message: None }
    }
}

/// Makes stages, from a cache where they are in it.
pub struct Maker<'a> {
    /// The device's compiler.
    pub compiler: &'a Arc<Compiler>,
    /// The application's cache.
    pub cache: Option<&'a PipelineCache>,
    /// The pipeline's.
    pub flags: vk::PipelineCreateFlags,
}

/// A patch's number of vertices, which the evaluation stage may say alone, is given to the control stage, whose code depends on it.
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
                // A shader beyond a limit of the compiler is refused as one that is not supported is: with more memory it would fail
                // too, and engines take an error of memory for the end of the device.
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
