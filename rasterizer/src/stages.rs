//! The stages of a graphics pipeline: a list in the pipeline's order, which begins where vertices come from.

#![forbid(unsafe_code)]

use base::shader::{CompiledStage, PipelineType, Side, Stage};
use core::fmt;

/// Stages that fit together, linked once at pipeline creation. There is always one that makes vertices; without a fragment stage only
/// depth and stencil are drawn.
#[derive(Clone, Debug)]
pub struct GraphicsStages {
    first: CompiledStage,
    /// In the order of [`Stage`].
    rest: Vec<CompiledStage>,
    /// One of them reads what the context has of a single draw.
    draw_parameters: bool,
}

/// Why stages are no pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// None makes vertices of attributes.
    NoVertices,
    /// Of a stage there are two.
    Twice(Stage),
    /// It is no stage of a draw.
    NotGraphics(Stage),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::NoVertices => write!(f, "there is no vertex stage"),
            Misfit::Twice(stage) => write!(f, "there are two {stage:?} stages"),
            Misfit::NotGraphics(stage) => write!(f, "a {stage:?} stage is not part of it"),
        }
    }
}

fn stage_of(stage: &CompiledStage) -> Stage {
    stage.facts.stage()
}

impl GraphicsStages {
    /// Stages in any order.
    ///
    /// # Errors
    /// See [`Misfit`].
    pub fn new(stages: impl IntoIterator<Item = CompiledStage>) -> Result<GraphicsStages, Misfit> {
        let mut rest: Vec<CompiledStage> = stages.into_iter().collect();
        rest.sort_by_key(stage_of);
        if let Some(pair) = rest.windows(2).find(|pair| stage_of(&pair[0]) == stage_of(&pair[1])) {
            return Err(Misfit::Twice(stage_of(&pair[0])));
        }
        if let Some(other) = rest.iter().map(stage_of).find(|stage| stage.row().pipeline != PipelineType::Graphics) {
            return Err(Misfit::NotGraphics(other));
        }
        if rest.first().is_none_or(|first| stage_of(first).row().inputs != Side::Attributes) {
            return Err(Misfit::NoVertices);
        }
        let draw_parameters = rest.iter().any(|stage| stage.facts.draw_parameters);
        Ok(GraphicsStages { first: rest.remove(0), rest, draw_parameters })
    }

    /// All, in the pipeline's order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &CompiledStage> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    /// Does any of them see a draw's base vertex or instance, or its number?
    pub fn read_draw_parameters(&self) -> bool {
        self.draw_parameters
    }

    /// The one that input assembly feeds.
    #[inline]
    pub fn first(&self) -> &CompiledStage {
        &self.first
    }

    /// The one whose vertices the rasterizer takes.
    pub fn before_rasterizer(&self) -> &CompiledStage {
        let vertices = |stage: &&CompiledStage| stage_of(stage).row().outputs == Side::Vertices;
        self.iter().rev().find(vertices).unwrap_or(&self.first)
    }

    /// Every assembled primitive is one that the rasterizer takes, so that their number is known before anything is shaded.
    pub fn foretell_primitives(&self) -> bool {
        stage_of(self.before_rasterizer()) == stage_of(&self.first)
    }

    /// The one that shades what the rasterizer gives; none for depth-only pipelines.
    #[inline]
    pub fn fragment(&self) -> Option<&CompiledStage> {
        self.rest.last().filter(|stage| stage_of(stage).row().inputs == Side::Interpolated)
    }
}
