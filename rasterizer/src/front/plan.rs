//! A draw as the front end sees it, and its chunks.

#![forbid(unsafe_code)]

use super::assemble::{Segment, segments};
use super::link::FetchPlan;
use super::mesh_dispatch::MeshDispatchList;
use super::viewport::Transform;
use crate::api::{Draw, DrawState, SmallVec1, Topology};
use crate::feedback::CaptureSpan;
use crate::stages::Linkage;
use std::sync::Arc;

/// A range of primitives of one draw.
#[derive(Clone, Copy, Debug)]
pub struct DrawChunk {
    /// Draw number in the scene.
    pub draw: u32,
    /// First instance, counted from 0.
    pub instance: u32,
    /// Number of instances.
    pub instances: u32,
    /// First primitive of each of these instances (or first mesh workgroup).
    pub primitive: u32,
    /// Number of primitives of each of these instances (or of mesh workgroups).
    pub primitives: u32,
    /// Number of primitives for which each one counts when pending work is counted.
    pub weight: u32,
    /// The destination of captured primitives.
    pub capture_target: CaptureTarget,
}

/// The destination of a chunk's primitives in transform feedback.
#[derive(Clone, Copy, Debug)]
pub enum CaptureTarget {
    /// The primitives are not captured.
    None,
    /// The space is reserved.
    Reserved(CaptureSpan),
    /// The number of primitives is known only after shading, so they are kept with the chunk's
    /// output.
    AfterShading,
}

/// The front end's data of a draw.
#[derive(Clone)]
pub struct FrontPlan {
    /// Vertex attributes to fetch.
    pub fetch: Arc<FetchPlan>,
    /// Viewports by index.
    pub viewports: Arc<[Transform]>,
    /// The topology of the vertices that come to setup.
    pub topology: Topology,
    /// Depth bias unit.
    pub depth_unit: Option<f32>,
    /// Index stream, cut at restarts.
    pub segments: SmallVec1<Segment>,
    /// Number of this plan, which is not 0 and differs from every other draw's.
    pub serial: u64,
    /// Workgroups of a draw with a mesh stage, which are divided into chunks.
    pub mesh_dispatches: Option<Arc<MeshDispatchList>>,
}

impl FrontPlan {
    /// Returns the number of primitives of an instance, or of workgroups for a draw with a mesh
    /// stage.
    pub fn primitives(&self) -> u32 {
        let assembled = || self.segments.last().map_or(0, |last| last.base + last.primitives);
        self.mesh_dispatches.as_ref().map_or_else(assembled, |mesh_dispatches| mesh_dispatches.total())
    }
}

/// Returns the index stream of a draw, cut at restarts.
pub fn cut(draw: &Draw) -> SmallVec1<Segment> {
    segments(&draw.state, &draw.counts, draw.index_buffer.as_ref())
}

/// Returns the viewports of a state in a pass with this render area (x0, y0, x1, y1).
pub fn viewports(state: &DrawState, area: [i32; 4], samples: u32) -> Arc<[Transform]> {
    let everything = [0, 0, i32::MAX, i32::MAX];
    let viewport = |(i, v)| {
        let scissor = state.scissors.get(i).copied().unwrap_or(everything);
        Transform::new(v, scissor, area, samples, state)
    };
    state.viewports.iter().enumerate().map(viewport).collect()
}

/// A draw that the front end processes.
#[derive(Clone, Copy)]
pub struct FrontDraw<'a> {
    /// The draw.
    pub draw: &'a Draw,
    /// The front end's data of the draw.
    pub plan: &'a FrontPlan,
}

impl<'a> FrontDraw<'a> {
    /// Returns the connections between the draw's stages.
    #[inline(always)]
    pub fn linkage(self) -> &'a Linkage {
        self.draw.stages.linkage()
    }
}
