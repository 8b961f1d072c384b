//! The stages of a graphics pipeline: a list in the pipeline's order, which begins with the source
//! of vertices.

#![forbid(unsafe_code)]

use crate::api::Topology;
use crate::tessellate::{Mode, spacing::Spacing};
use base::shader::{
    CompiledStage, Domain, GeometryFacts, MeshFacts, MeshPrimitive, OutputPrimitive, PipelineType, Side, Stage,
    TaskFacts, TessellationFacts, VertexOrder,
};
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// Slot number that means that an interface has no such slot.
pub const NO_SLOT: u16 = u16::MAX;

/// Stages that fit together, linked once at pipeline creation. There is always a stage that makes
/// vertices; without a fragment stage only depth and stencil are drawn.
#[derive(Clone, Debug)]
pub struct GraphicsStages {
    first: CompiledStage,
    /// The other stages, in the order of [`Stage`].
    rest: Vec<CompiledStage>,
    /// True if one of the stages reads values of a single draw from the context.
    draw_parameters: bool,
    measured: Measured,
}

/// The recent number of primitives that stages make of one. It determines how draws are cut, but
/// never what they draw.
#[derive(Debug)]
struct Measured(AtomicU32);

impl Measured {
    /// Fixed-point unit, so that fractions can be represented.
    const ONE: u32 = 16;
}

impl Clone for Measured {
    fn clone(&self) -> Measured {
        Measured(AtomicU32::new(self.0.load(Ordering::Relaxed)))
    }
}

/// The reasons why stages are not a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// No stage makes vertices from attributes, or from nothing.
    NoVertices,
    /// The stage cannot be combined with the other stages.
    Displaced(Stage),
    /// The stage occurs twice.
    Twice(Stage),
    /// The stage is not a stage of a draw.
    NotGraphics(Stage),
    /// One of the tessellation stages is missing.
    HalfTessellation,
    /// No tessellation stage declares the domain.
    NoDomain,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::NoVertices => write!(f, "there is no vertex stage and no mesh stage"),
            Misfit::Displaced(stage) => write!(f, "a {stage:?} stage is with others that exclude it"),
            Misfit::Twice(stage) => write!(f, "there are two {stage:?} stages"),
            Misfit::HalfTessellation => write!(f, "one of the tessellation stages is there without the other"),
            Misfit::NoDomain => write!(f, "no tessellation stage has one of the modes Triangles, Quads, Isolines"),
            Misfit::NotGraphics(stage) => write!(f, "a {stage:?} stage is not part of it"),
        }
    }
}

/// Number of primitives that exceeds that of a usual patch.
const OF_PATCH: u32 = 1024;

/// The tessellation stages.
#[derive(Clone, Copy, Debug)]
pub struct Tessellation<'a> {
    /// The stage `TessellationControl`.
    pub control: &'a CompiledStage,
    /// The stage `TessellationEvaluation`.
    pub evaluation: &'a CompiledStage,
    /// The merged declarations of both stages.
    pub facts: TessellationFacts,
}

impl Tessellation<'_> {
    /// Returns the mode of the tessellator. (Missing declarations have GLSL's defaults.)
    pub fn mode(&self, lower_left: bool) -> Mode {
        Mode {
            domain: self.facts.domain.unwrap_or(Domain::Triangles),
            spacing: self.facts.spacing.unwrap_or(Spacing::Equal),
            positive: (self.facts.order == Some(VertexOrder::Clockwise)) != lower_left,
            points: self.facts.points,
        }
    }

    /// Returns the topology of the tessellator's primitives.
    fn topology(&self) -> Topology {
        match self.facts.domain {
            _ if self.facts.points => Topology::PointList,
            Some(Domain::Isolines) => Topology::LineList,
            _ => Topology::TriangleList,
        }
    }
}

fn stage_of(stage: &CompiledStage) -> Stage {
    stage.facts.stage()
}

impl GraphicsStages {
    /// Links stages, which may be in any order.
    ///
    /// # Errors
    /// The stages do not form a pipeline; [`Misfit`] gives the reason.
    pub fn new(stages: impl IntoIterator<Item = CompiledStage>) -> Result<GraphicsStages, Misfit> {
        let mut rest: Vec<CompiledStage> = stages.into_iter().collect();
        rest.sort_by_key(stage_of);
        if let Some(pair) = rest.windows(2).find(|pair| stage_of(&pair[0]) == stage_of(&pair[1])) {
            return Err(Misfit::Twice(stage_of(&pair[0])));
        }
        if let Some(other) = rest.iter().map(stage_of).find(|stage| stage.row().pipeline != PipelineType::Graphics) {
            return Err(Misfit::NotGraphics(other));
        }
        let has = |stage: Stage| rest.iter().any(|s| stage_of(s) == stage);
        if !has(Stage::Vertex) && !has(Stage::Mesh) {
            return Err(Misfit::NoVertices);
        }
        // A pipeline uses either mesh stages or vertex stages.
        let meshes = |stage: Stage| matches!(stage, Stage::Task | Stage::Mesh);
        let common = |stage: Stage| stage.row().inputs == Side::Interpolated;
        let mut stages = rest.iter().map(stage_of);
        if let Some(other) = stages.find(|&stage| !common(stage) && meshes(stage) != has(Stage::Mesh)) {
            return Err(Misfit::Displaced(other));
        }
        if has(Stage::TessellationControl) != has(Stage::TessellationEvaluation) {
            return Err(Misfit::HalfTessellation);
        }
        let draw_parameters = rest.iter().any(|stage| stage.facts.draw_parameters);
        let measured = Measured(AtomicU32::new(Measured::ONE));
        let stages = GraphicsStages { first: rest.remove(0), rest, draw_parameters, measured };
        // Until a measurement exists, a patch counts as a large one.
        stages.measured.0.store(stages.most_made().min(OF_PATCH) * Measured::ONE, Ordering::Relaxed);
        if stages.tessellation().is_some_and(|stages| stages.facts.domain.is_none()) {
            return Err(Misfit::NoDomain);
        }
        Ok(stages)
    }

    /// Returns all stages, in the pipeline's order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &CompiledStage> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    /// Returns true if any stage reads a draw's base vertex or instance, or its number.
    pub fn read_draw_parameters(&self) -> bool {
        self.draw_parameters
    }

    /// Returns the stage that input assembly feeds; in a pipeline with a mesh stage, the task or
    /// mesh stage.
    #[inline]
    pub fn first(&self) -> &CompiledStage {
        &self.first
    }

    /// Returns the stages that make primitives of patches.
    pub fn tessellation(&self) -> Option<Tessellation<'_>> {
        let find = |stage: Stage| self.rest.iter().find(|s| stage_of(s) == stage);
        let (control, evaluation) = (find(Stage::TessellationControl)?, find(Stage::TessellationEvaluation)?);
        let [a, b] = [control, evaluation].map(|s| s.facts.payload.tessellation().copied().unwrap_or_default());
        Some(Tessellation { control, evaluation, facts: a.or(b) })
    }

    /// Returns the stage that makes primitives of others, and its facts.
    pub fn geometry(&self) -> Option<(&CompiledStage, &GeometryFacts)> {
        self.rest.iter().find_map(|stage| Some((stage, stage.facts.payload.geometry()?)))
    }

    /// Returns the stage that requests mesh workgroups, and its facts.
    pub fn task(&self) -> Option<(&CompiledStage, &TaskFacts)> {
        self.first.facts.payload.task().map(|facts| (&self.first, facts))
    }

    /// Returns the stage whose workgroups make meshes, and its facts.
    pub fn mesh(&self) -> Option<(&CompiledStage, &MeshFacts)> {
        self.iter().take(2).find_map(|stage| Some((stage, stage.facts.payload.mesh()?)))
    }

    /// Returns the topology of the vertices that come to the rasterizer, given the draw's topology
    /// `assembled`.
    pub fn topology(&self, assembled: Topology) -> Topology {
        if let Some((_, facts)) = self.mesh() {
            return match facts.output {
                MeshPrimitive::Points => Topology::PointList,
                MeshPrimitive::Lines => Topology::LineList,
                MeshPrimitive::Triangles => Topology::TriangleList,
            };
        }
        match self.geometry() {
            Some((_, facts)) => match facts.output {
                OutputPrimitive::Points => Topology::PointList,
                OutputPrimitive::LineStrip => Topology::LineStrip,
                OutputPrimitive::TriangleStrip => Topology::TriangleStrip,
            },
            None => self.tessellation().map_or(assembled, |stages| stages.topology()),
        }
    }

    /// Records how many primitives were made of some of the draw's.
    pub fn measure(&self, taken: u32, made: u32) {
        if !self.is_measured() {
            return;
        }
        let now = (u64::from(made) * u64::from(Measured::ONE)).div_ceil(u64::from(taken.max(1)));
        let now = now.min(u64::from(u32::MAX / 4)) as u32;
        let before = self.measured.0.load(Ordering::Relaxed);
        // Larger values apply at once, smaller ones gradually. (Of concurrent updates, one is
        // lost.)
        self.measured.0.store(now.max((3 * before + now) / 4), Ordering::Relaxed);
    }

    /// Returns how many primitives will probably be made of `taken` ones of the draw; the same
    /// number if no stage makes primitives.
    pub fn probably_made(&self, taken: u32) -> u32 {
        if !self.is_measured() {
            return taken;
        }
        let made = u64::from(taken) * u64::from(self.measured.0.load(Ordering::Relaxed)) / u64::from(Measured::ONE);
        made.min(u32::MAX.into()) as u32
    }

    /// Returns true if the number of resulting primitives is known only afterwards. (For mesh
    /// workgroups, the maximum is a good estimate.)
    fn is_measured(&self) -> bool {
        !self.foretell_primitives() && self.mesh().is_none()
    }

    /// Returns the largest number of primitives that are made of one of the draw's, or of a mesh
    /// workgroup. For a patch, it is a number that a usual one does not reach.
    pub fn most_made(&self) -> u32 {
        if let Some((_, facts)) = self.mesh() {
            return facts.max_primitives;
        }
        let of_one = if self.tessellation().is_some() { OF_PATCH } else { 1 };
        self.geometry().map_or(of_one, |(_, facts)| {
            let of_invocation = facts.max_vertices.saturating_sub(facts.output.vertices() - 1);
            of_invocation.saturating_mul(facts.invocations).saturating_mul(of_one)
        })
    }

    /// Returns the stage whose vertices the rasterizer takes.
    pub fn before_rasterizer(&self) -> &CompiledStage {
        let vertices = |stage: &&CompiledStage| matches!(stage_of(stage).row().outputs, Side::Vertices | Side::Mesh);
        self.iter().rev().find(vertices).unwrap_or(&self.first)
    }

    /// Returns true if the rasterizer takes exactly the assembled primitives, so that their number
    /// is known before anything is shaded.
    pub fn foretell_primitives(&self) -> bool {
        stage_of(self.before_rasterizer()) == stage_of(&self.first)
    }

    /// Returns the stage that shades fragments; `None` for depth-only pipelines.
    #[inline]
    pub fn fragment(&self) -> Option<&CompiledStage> {
        self.rest.last().filter(|stage| stage_of(stage).row().inputs == Side::Interpolated)
    }
}
