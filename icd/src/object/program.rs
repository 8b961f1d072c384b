//! Programs: what draws and dispatches execute (docs/design/023-bound-programs.md).
//!
//! A program is a list of linked stages, the layout of their descriptors, and values of state.
//! Execution knows nothing else: a pipeline is one way to make a program.
//!
//! Linking is a function of a list of compiled stages. It makes no code, and its result depends on
//! nothing but the stages, so the same stages have the same [`LinkedStages`], whatever brought them
//! together ([`Linker`]).

use super::bind_point::BindPoint;
use super::pipeline_layout::PipelineLayout;
use super::pipeline_state::GraphicsState;
use super::ray_tracing::{RayTracingPart, RayTracingStages};
use crate::ffi::object_data;
use crate::shader_compiler::tiered::TieredCode;
use base::shader::{CompiledStage, PipelineType};
use base::swept_map::SweptMap;
use parking_lot::Mutex;
use rasterizer::api::{GraphicsStages, LinkError, link_compute};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Program that the commands of a bind point execute. A program does not change.
pub struct BoundProgram {
    stages: Arc<LinkedStages>,
    layout: Arc<PipelineLayout>,
    state: Option<GraphicsState>,
    object: NamedObject,
}

/// The parts of a program.
pub struct ProgramParts {
    /// Linked stages.
    pub stages: Arc<LinkedStages>,
    /// Layout by which the stages find descriptors.
    pub layout: Arc<PipelineLayout>,
    /// State that is set when the program is bound. A program without it leaves all state as
    /// commands have set it.
    pub state: Option<GraphicsState>,
}

impl BoundProgram {
    /// Makes a program of an object.
    pub fn new(parts: ProgramParts, object: NamedObject) -> BoundProgram {
        let ProgramParts { stages, layout, state } = parts;
        BoundProgram { stages, layout, state, object }
    }

    /// Returns the linked stages.
    #[inline]
    pub fn stages(&self) -> &Arc<LinkedStages> {
        &self.stages
    }

    /// Returns the layout by which the stages find descriptors.
    #[inline]
    pub fn layout(&self) -> &Arc<PipelineLayout> {
        &self.layout
    }

    /// Returns the state that is set when the program is bound, if there is any.
    #[inline]
    pub fn state(&self) -> Option<&GraphicsState> {
        self.state.as_ref()
    }

    /// Returns the text by which messages and fault reports name the program.
    pub fn name(&self) -> String {
        format!("{} {}", self.object.kind, object_data::name(self.number()))
    }

    /// Returns the number by which messages and fault reports name the program: that of the object
    /// which [`handle::raw`](crate::ffi::handle::raw) returns.
    #[inline]
    pub fn number(&self) -> u64 {
        self.object.number()
    }
}

/// The application's object that a program was made for. It keeps the object's memory (not the
/// object), so that no other object gets its number while a command buffer has the program.
pub struct NamedObject {
    /// Noun for the object.
    kind: &'static str,
    object: Weak<dyn Any + Send + Sync>,
}

impl NamedObject {
    /// Names an object, which may be under construction.
    pub fn new(kind: &'static str, object: Weak<dyn Any + Send + Sync>) -> NamedObject {
        NamedObject { kind, object }
    }

    fn number(&self) -> u64 {
        self.object.as_ptr().cast::<()>() as u64
    }
}

/// Stages that fit together, with their code.
pub struct LinkedStages {
    executable: ExecutableStages,
    /// Code of the stages, in the order of [`base::shader::Stage`]; that of ray tracing in the
    /// order of the shaders' numbers.
    code: Vec<Arc<TieredCode>>,
    /// True if there is code of all stages, which stays so.
    ready: AtomicBool,
}

/// Linked stages as the rasterizer takes them. Each bind point has a variant.
pub enum ExecutableStages {
    /// Stages of draws.
    Graphics(Arc<GraphicsStages>),
    /// The stage of dispatches.
    Compute(CompiledStage),
    /// Shaders and groups of launches.
    RayTracing(RayTracingStages),
}

impl LinkedStages {
    fn new(code: Vec<Arc<TieredCode>>) -> Result<LinkedStages, LinkError> {
        let stages = code.iter().map(TieredCode::stage);
        let kind = code.first().map_or(PipelineType::Graphics, |code| code.request().stage.row().pipeline);
        let executable = match kind {
            PipelineType::Graphics => ExecutableStages::Graphics(Arc::new(GraphicsStages::new(stages)?)),
            PipelineType::Compute => ExecutableStages::Compute(link_compute(stages)?),
            // Their groups are no property of the stages.
            PipelineType::RayTracing => return Err(LinkError::NotCompute),
        };
        Ok(LinkedStages { executable, code, ready: AtomicBool::new(false) })
    }

    /// Makes the stages of ray tracing, which are not linked: shader binding tables bring them
    /// together when they run.
    pub fn ray_tracing(part: &RayTracingPart, flags: u32) -> LinkedStages {
        let executable = ExecutableStages::RayTracing(RayTracingStages::new(part, flags));
        LinkedStages { executable, code: part.code.clone(), ready: AtomicBool::new(false) }
    }

    /// Returns the stages as the rasterizer takes them.
    #[inline]
    pub fn executable(&self) -> &ExecutableStages {
        &self.executable
    }

    /// Returns the bind point whose commands execute the stages.
    #[inline]
    pub fn bind_point(&self) -> BindPoint {
        match self.executable {
            ExecutableStages::Graphics(_) => BindPoint::Graphics,
            ExecutableStages::Compute(_) => BindPoint::Compute,
            ExecutableStages::RayTracing(_) => BindPoint::RayTracing,
        }
    }

    /// Returns the code of the stages, in the order of [`base::shader::Stage`]; that of ray tracing
    /// in the order of the shaders' numbers.
    pub fn code(&self) -> &[Arc<TieredCode>] {
        &self.code
    }

    /// Waits until there is code. An error means that the device cannot continue.
    #[inline]
    pub fn ready(&self) -> Result<(), String> {
        if self.ready.load(Ordering::Acquire) { Ok(()) } else { self.wait() }
    }

    #[cold]
    fn wait(&self) -> Result<(), String> {
        self.code.iter().try_for_each(|code| code.ready())?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }
}

/// The linked stages of a device, found by the identities of their stages.
///
/// A stage's identity is its [`TieredCode`]: equal stages of a device share it. An address stands
/// for it here, because linked stages own their code: as long as an entry can be upgraded, no other
/// stage has the addresses of its key.
#[derive(Default)]
pub struct Linker(Mutex<SweptMap<Key, Weak<LinkedStages>, SWEEP>>);

/// Addresses of the stages' code in the order of [`base::shader::Stage`].
type Key = SmallVec<[usize; 5]>;

/// Least number of entries at which the table is swept.
pub(super) const SWEEP: usize = 64;

impl Linker {
    /// Links stages, which may be in any order, or returns their living links.
    ///
    /// # Errors
    /// The stages do not form a program; [`LinkError`] gives the reason.
    pub fn link(&self, mut code: Vec<Arc<TieredCode>>) -> Result<Arc<LinkedStages>, LinkError> {
        code.sort_by_key(|code| code.request().stage);
        let key: Key = code.iter().map(|code| Arc::as_ptr(code) as usize).collect();
        if let Some(linked) = self.0.lock().get(&key).and_then(Weak::upgrade) {
            return Ok(linked);
        }
        let linked = Arc::new(LinkedStages::new(code)?);
        let mut table = self.0.lock();
        // Another thread may have been faster.
        if let Some(first) = table.get(&key).and_then(Weak::upgrade) {
            return Ok(first);
        }
        table.insert(key, Arc::downgrade(&linked));
        Ok(linked)
    }

    /// Returns the number of entries.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
}
