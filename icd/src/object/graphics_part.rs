//! Parts of graphics pipelines: what pipeline libraries have, and of what pipelines are linked.
//!
//! A part has the code of the stages and the state of some subsets
//! (`VkGraphicsPipelineLibraryFlagBitsEXT`). A create info is a part, each of its libraries is one,
//! and their sum is a library or, if it is complete, a program.

use super::pipeline_layout::{LayoutConflict, PipelineLayout};
use super::pipeline_state::{GraphicsState, SubsetFlags};
use super::program::{Linker, ProgramParts};
use crate::shader_compiler::tiered::TieredCode;
use base::shader::{Stage, StageIoKind};
use rasterizer::api::LinkError;
use std::fmt;
use std::sync::Arc;

/// A part of a graphics pipeline.
#[derive(Clone)]
pub struct GraphicsPart {
    /// Code of the stages of the subsets, in any order.
    pub code: Vec<Arc<TieredCode>>,
    /// State of the subsets.
    pub state: GraphicsState,
    /// Layout by which the stages find descriptors, if there is one.
    pub layout: Option<Arc<PipelineLayout>>,
}

/// The properties of pre-rasterization state on which it depends what else a pipeline needs.
#[derive(Clone, Copy)]
pub struct PreRasterization {
    /// True if vertices come from a mesh stage.
    pub meshes: bool,
    /// True if nothing is rasterized, for any state of a command buffer.
    pub discards: bool,
}

impl PreRasterization {
    /// Returns the subsets of a complete pipeline. The others are ignored.
    pub fn complete(self) -> SubsetFlags {
        let mut subsets = SubsetFlags::PRE_RASTERIZATION_SHADERS;
        if !self.meshes {
            subsets |= SubsetFlags::VERTEX_INPUT_INTERFACE;
        }
        if !self.discards {
            subsets |= SubsetFlags::FRAGMENT_SHADER | SubsetFlags::FRAGMENT_OUTPUT_INTERFACE;
        }
        subsets
    }
}

/// Returns the subset that owns a stage of a draw.
pub fn subset_of(stage: Stage) -> SubsetFlags {
    match stage.row().inputs {
        StageIoKind::Interpolated => SubsetFlags::FRAGMENT_SHADER,
        _ => SubsetFlags::PRE_RASTERIZATION_SHADERS,
    }
}

/// Reason why parts are not a pipeline. All of them are the application's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartError {
    /// Several parts have these subsets.
    Repeated(SubsetFlags),
    /// No part has these subsets, without which a pipeline is not complete.
    Missing(SubsetFlags),
    /// The layouts of the parts contradict each other.
    Layout(LayoutConflict),
    /// The stages do not fit together.
    Stages(LinkError),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Repeated(subsets) => write!(f, "several parts have the subsets {subsets:?}"),
            PartError::Missing(subsets) => write!(f, "no part has the subsets {subsets:?}"),
            PartError::Layout(conflict) => write!(f, "the layouts of the parts differ: {conflict}"),
            PartError::Stages(error) => error.fmt(f),
        }
    }
}

impl GraphicsPart {
    /// Returns the properties of the pre-rasterization state, if the part has it.
    pub fn pre_rasterization(&self) -> Option<PreRasterization> {
        self.state.subsets().contains(SubsetFlags::PRE_RASTERIZATION_SHADERS).then(|| PreRasterization {
            meshes: self.code.iter().any(|code| code.request().stage == Stage::Mesh),
            discards: self.state.discards(),
        })
    }

    /// Adds a part with other subsets.
    pub fn add(&mut self, other: &GraphicsPart) -> Result<(), PartError> {
        let repeated = self.state.subsets() & other.state.subsets();
        if !repeated.is_empty() {
            return Err(PartError::Repeated(repeated));
        }
        self.layout = match (self.layout.take(), &other.layout) {
            (Some(own), Some(added)) => Some(own.union(added).map_err(PartError::Layout)?),
            (own, added) => own.or_else(|| added.clone()),
        };
        self.code.extend(other.code.iter().cloned());
        self.state.add(&other.state);
        Ok(())
    }

    /// Links a complete pipeline. Makes no code.
    pub fn link(mut self, linker: &Linker) -> Result<ProgramParts, PartError> {
        let complete = self.pre_rasterization().map_or(SubsetFlags::PRE_RASTERIZATION_SHADERS, |pre| pre.complete());
        let missing = complete & !self.state.subsets();
        if !missing.is_empty() {
            return Err(PartError::Missing(missing));
        }
        self.state.retain(complete);
        self.code.retain(|code| complete.contains(subset_of(code.request().stage)));
        let stages = linker.link(self.code).map_err(PartError::Stages)?;
        Ok(ProgramParts { stages, layout: self.layout.unwrap_or_default(), state: Some(self.state) })
    }
}
