//! A list of stages in the pipeline's order, which begins with the source of vertices.

use crate::api::Topology;
use crate::tessellate::{TessellationMode, spacing::Spacing};
use base::shader::{
    CompiledStage, Domain, GeometryInfo, MeshInfo, MeshPrimitive, OutputPrimitive, PipelineType, Stage, StageIoKind,
    TaskInfo, TessellationInfo, VertexOrder,
};
use core::fmt;

/// Stages that form a pipeline. There is always a stage that makes vertices; without a fragment
/// stage only depth and stencil are drawn.
#[derive(Clone, Debug)]
pub struct StageList {
    first: CompiledStage,
    /// The other stages, in the order of [`Stage`].
    rest: Vec<CompiledStage>,
}

/// The reasons why a list of stages cannot be linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// No stage makes vertices from attributes, or from nothing.
    NoVertices,
    /// The stage cannot be combined with the other stages.
    Incompatible(Stage),
    /// The stage occurs twice.
    Duplicate(Stage),
    /// The stage is not a stage of a draw.
    NotGraphics(Stage),
    /// One of the tessellation stages is missing.
    IncompleteTessellation,
    /// No tessellation stage declares the domain.
    NoDomain,
    /// The stages of a dispatch are not one compute stage.
    NotCompute,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::NoVertices => write!(f, "there is no vertex stage and no mesh stage"),
            LinkError::Incompatible(stage) => write!(f, "a {stage:?} stage is with others that exclude it"),
            LinkError::Duplicate(stage) => write!(f, "there are two {stage:?} stages"),
            LinkError::IncompleteTessellation => write!(f, "one of the tessellation stages is there without the other"),
            LinkError::NoDomain => write!(f, "no tessellation stage has one of the modes Triangles, Quads, Isolines"),
            LinkError::NotCompute => write!(f, "there are other stages than one compute stage"),
            LinkError::NotGraphics(stage) => write!(f, "a {stage:?} stage is not part of it"),
        }
    }
}

/// Number of primitives that exceeds that of a usual patch.
pub const PRIMITIVES_PER_PATCH: u32 = 1024;

/// The tessellation stages.
#[derive(Clone, Copy, Debug)]
pub struct Tessellation<'a> {
    /// The stage `TessellationControl`.
    pub control: &'a CompiledStage,
    /// The stage `TessellationEvaluation`.
    pub evaluation: &'a CompiledStage,
    /// The merged declarations of both stages.
    pub info: TessellationInfo,
}

impl Tessellation<'_> {
    /// Returns the mode of the tessellator. (Missing declarations have GLSL's defaults.)
    pub fn mode(&self, lower_left: bool) -> TessellationMode {
        TessellationMode {
            domain: self.info.domain.unwrap_or(Domain::Triangles),
            spacing: self.info.spacing.unwrap_or(Spacing::Equal),
            positive: (self.info.order == Some(VertexOrder::Clockwise)) != lower_left,
            points: self.info.points,
        }
    }

    /// Returns the topology of the tessellator's primitives.
    fn topology(&self) -> Topology {
        match self.info.domain {
            _ if self.info.points => Topology::PointList,
            Some(Domain::Isolines) => Topology::LineList,
            _ => Topology::TriangleList,
        }
    }
}

fn stage_of(stage: &CompiledStage) -> Stage {
    stage.info.stage()
}

/// Links the stages of a dispatch.
///
/// # Errors
/// [`LinkError::NotCompute`] unless they are one compute stage.
pub fn link_compute(stages: impl IntoIterator<Item = CompiledStage>) -> Result<CompiledStage, LinkError> {
    let mut stages = stages.into_iter();
    match (stages.next(), stages.next()) {
        (Some(stage), None) if stage_of(&stage).row().pipeline == PipelineType::Compute => Ok(stage),
        _ => Err(LinkError::NotCompute),
    }
}

impl StageList {
    /// Checks stages, which may be in any order.
    ///
    /// # Errors
    /// The stages do not form a pipeline; [`LinkError`] gives the reason.
    pub fn new(stages: impl IntoIterator<Item = CompiledStage>) -> Result<StageList, LinkError> {
        let mut rest: Vec<CompiledStage> = stages.into_iter().collect();
        rest.sort_by_key(stage_of);
        if let Some(pair) = rest.windows(2).find(|pair| stage_of(&pair[0]) == stage_of(&pair[1])) {
            return Err(LinkError::Duplicate(stage_of(&pair[0])));
        }
        if let Some(other) = rest.iter().map(stage_of).find(|stage| stage.row().pipeline != PipelineType::Graphics) {
            return Err(LinkError::NotGraphics(other));
        }
        let has = |stage: Stage| rest.iter().any(|s| stage_of(s) == stage);
        if !has(Stage::Vertex) && !has(Stage::Mesh) {
            return Err(LinkError::NoVertices);
        }
        // A pipeline uses either mesh stages or vertex stages.
        let meshes = |stage: Stage| matches!(stage, Stage::Task | Stage::Mesh);
        let common = |stage: Stage| stage.row().inputs == StageIoKind::Interpolated;
        let mut stages = rest.iter().map(stage_of);
        if let Some(other) = stages.find(|&stage| !common(stage) && meshes(stage) != has(Stage::Mesh)) {
            return Err(LinkError::Incompatible(other));
        }
        if has(Stage::TessellationControl) != has(Stage::TessellationEvaluation) {
            return Err(LinkError::IncompleteTessellation);
        }
        let list = StageList { first: rest.remove(0), rest };
        if list.tessellation().is_some_and(|stages| stages.info.domain.is_none()) {
            return Err(LinkError::NoDomain);
        }
        Ok(list)
    }

    /// Returns all stages, in the pipeline's order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &CompiledStage> {
        core::iter::once(&self.first).chain(&self.rest)
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
        let [a, b] = [control, evaluation].map(|s| s.info.stage_info.tessellation().copied().unwrap_or_default());
        Some(Tessellation { control, evaluation, info: a.or(b) })
    }

    /// Returns the stage that makes primitives of others, and its facts.
    pub fn geometry(&self) -> Option<(&CompiledStage, &GeometryInfo)> {
        self.rest.iter().find_map(|stage| Some((stage, stage.info.stage_info.geometry()?)))
    }

    /// Returns the stage that requests mesh workgroups, and its facts.
    pub fn task(&self) -> Option<(&CompiledStage, &TaskInfo)> {
        self.first.info.stage_info.task().map(|info| (&self.first, info))
    }

    /// Returns the stage whose workgroups make meshes, and its facts.
    pub fn mesh(&self) -> Option<(&CompiledStage, &MeshInfo)> {
        self.iter().take(2).find_map(|stage| Some((stage, stage.info.stage_info.mesh()?)))
    }

    /// Returns the topology of the vertices that come to the rasterizer, given the draw's topology
    /// `assembled`.
    pub fn topology(&self, assembled: Topology) -> Topology {
        if let Some((_, info)) = self.mesh() {
            return match info.output {
                MeshPrimitive::Points => Topology::PointList,
                MeshPrimitive::Lines => Topology::LineList,
                MeshPrimitive::Triangles => Topology::TriangleList,
            };
        }
        match self.geometry() {
            Some((_, info)) => match info.output {
                OutputPrimitive::Points => Topology::PointList,
                OutputPrimitive::LineStrip => Topology::LineStrip,
                OutputPrimitive::TriangleStrip => Topology::TriangleStrip,
            },
            None => self.tessellation().map_or(assembled, |stages| stages.topology()),
        }
    }

    /// Returns the largest number of primitives that are made of one of the draw's, or of a mesh
    /// workgroup. For a patch, it is a number that a usual one does not reach.
    pub fn max_primitives_per_input(&self) -> u32 {
        if let Some((_, info)) = self.mesh() {
            return info.max_primitives;
        }
        let of_one = if self.tessellation().is_some() { PRIMITIVES_PER_PATCH } else { 1 };
        self.geometry().map_or(of_one, |(_, info)| {
            let of_invocation = info.max_vertices.saturating_sub(info.output.vertices() - 1);
            of_invocation.saturating_mul(info.invocations).saturating_mul(of_one)
        })
    }

    /// Returns the stage whose vertices the rasterizer takes.
    pub fn before_rasterizer(&self) -> &CompiledStage {
        let vertices =
            |stage: &&CompiledStage| matches!(stage_of(stage).row().outputs, StageIoKind::Vertices | StageIoKind::Mesh);
        self.iter().rev().find(vertices).unwrap_or(&self.first)
    }

    /// Returns true if the rasterizer takes exactly the assembled primitives, so that their number
    /// is known before anything is shaded.
    pub fn has_known_primitive_count(&self) -> bool {
        stage_of(self.before_rasterizer()) == stage_of(&self.first)
    }

    /// Returns the stage that shades fragments; `None` for depth-only pipelines.
    #[inline]
    pub fn fragment(&self) -> Option<&CompiledStage> {
        self.rest.last().filter(|stage| stage_of(stage).row().inputs == StageIoKind::Interpolated)
    }
}
