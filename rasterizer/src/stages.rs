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
        Ok(GraphicsStages { first: rest.remove(0), rest })
    }

    /// All, in the pipeline's order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &CompiledStage> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    /// The one that input assembly feeds.
    #[inline]
    pub fn first(&self) -> &CompiledStage {
        &self.first
    }

    /// The one whose vertices the rasterizer takes.
    pub fn before_rasterizer(&self) -> &CompiledStage {
        let vertices = |stage: &&CompiledStage| stage_of(stage).row().outputs == Side::Vertices;
        self.rest.iter().rev().find(vertices).unwrap_or(&self.first)
    }

    /// The one that shades what the rasterizer gives; none for depth-only pipelines.
    #[inline]
    pub fn fragment(&self) -> Option<&CompiledStage> {
        self.rest.last().filter(|stage| stage_of(stage).row().inputs == Side::Interpolated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::abi::{BatchHeader, ShaderContext, StageFn};
    use base::shader::{Payload, StageFacts};
    use std::sync::Arc;

    unsafe extern "C" fn nothing(_: *const ShaderContext, _: *mut BatchHeader) {}

    fn stage(stage: Stage) -> CompiledStage {
        let facts = StageFacts {
            payload: Payload::new(stage),
            lanes: 4,
            interface: Arc::default(),
            side_effects: false,
            scratch_bytes: 0,
            has_barriers: false,
            has_loops: false,
        };
        CompiledStage { facts, code: Arc::new(nothing as StageFn) }
    }

    #[test]
    fn a_pipeline_is_a_list_of_stages_in_order() {
        let made = |list: &[Stage]| GraphicsStages::new(list.iter().copied().map(stage));
        let both = made(&[Stage::Fragment, Stage::Vertex]).expect("a pipeline");
        assert_eq!(both.iter().map(stage_of).collect::<Vec<_>>(), [Stage::Vertex, Stage::Fragment]);
        assert_eq!(both.fragment().map(stage_of), Some(Stage::Fragment));
        assert_eq!((stage_of(both.first()), stage_of(both.before_rasterizer())), (Stage::Vertex, Stage::Vertex));
        assert!(made(&[Stage::Vertex]).is_ok_and(|s| s.fragment().is_none()));
        let misfits = [
            (&[][..], Misfit::NoVertices),
            (&[Stage::Fragment], Misfit::NoVertices),
            (&[Stage::Vertex, Stage::Fragment, Stage::Fragment], Misfit::Twice(Stage::Fragment)),
            (&[Stage::Vertex, Stage::Compute], Misfit::NotGraphics(Stage::Compute)),
        ];
        for (list, misfit) in misfits {
            assert_eq!(made(list).err(), Some(misfit));
        }
    }
}
