//! Family `programs`: ways to make and to choose what a draw executes. Links of pipeline libraries,
//! shader objects, and commands that the device generates, each beside the same work with pipelines
//! and recorded commands.
//!
//! `create-*` measures the modules of the family `create` as shader objects and as pipelines, in
//! new processes: `shaders-cold` and `pipeline-cold` from SPIR-V, `shaders-warm` from binaries of
//! the objects and `pipeline-warm` from a pipeline cache, `-first-use` until the end of the first
//! draw.

mod generated;
mod link;
mod squares;
mod switches;

use super::workload::Spec;

/// Workloads of the family.
pub const SPECS: &[&[Spec]] = &[link::SPECS, super::create::OBJECT_SPECS, switches::SPECS, generated::SPECS];
