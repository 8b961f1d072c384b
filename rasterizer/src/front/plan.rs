//! A draw as the front end sees it, and its chunks.

#![forbid(unsafe_code)]

use super::assemble::{Segment, segments};
use super::link::Linkage;
use super::tasks::Asked;
use super::viewport::Transform;
use crate::api::{Draw, DrawState, One, Topology};
use crate::feedback::Span;
use std::sync::Arc;

/// A range of primitives of one draw.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Draw number in the scene.
    pub draw: u32,
    /// First instance (from 0) and how many.
    pub instance: u32,
    /// See `instance`.
    pub instances: u32,
    /// Primitives of each of these instances (or mesh workgroups).
    pub primitive: u32,
    /// See `primitive`.
    pub primitives: u32,
    /// What each stands for when it is said how many are pending.
    pub weight: u32,
    /// Where its primitives are captured.
    pub feed: Feed,
}

/// Where transform feedback puts a chunk's primitives.
#[derive(Clone, Copy, Debug)]
pub enum Feed {
    /// They are not captured.
    Nowhere,
    /// There.
    At(Span),
    /// How many there are is known when they are shaded: they are kept with the chunk's output.
    Later,
}

/// What the front end knows of a draw.
#[derive(Clone)]
pub struct Plan {
    /// How outputs become inputs.
    pub linkage: Arc<Linkage>,
    /// By index.
    pub viewports: Arc<[Transform]>,
    /// How the vertices that come to setup make primitives.
    pub topology: Topology,
    /// Depth bias unit.
    pub depth_unit: Option<f32>,
    /// Index stream cut at restarts.
    pub segments: One<Segment>,
    /// Not 0, and no other draw's.
    pub serial: u64,
    /// Of a draw with a mesh stage: its workgroups, which are what chunks have of it.
    pub asked: Option<Arc<Asked>>,
}

impl Plan {
    /// Primitives of an instance; workgroups of a draw with a mesh stage.
    pub fn primitives(&self) -> u32 {
        let assembled = || self.segments.last().map_or(0, |last| last.base + last.primitives);
        self.asked.as_ref().map_or_else(assembled, |asked| asked.total())
    }
}

/// The index stream of a draw, cut at restarts.
pub fn cut(draw: &Draw) -> One<Segment> {
    segments(&draw.state, &draw.counts, draw.index_buffer.as_ref())
}

/// The viewports of a state in a pass with this render area (x0, y0, x1, y1).
pub fn viewports(state: &DrawState, area: [i32; 4], samples: u32) -> Arc<[Transform]> {
    let everything = [0, 0, i32::MAX, i32::MAX];
    let viewport = |(i, v)| {
        let scissor = state.scissors.get(i).copied().unwrap_or(everything);
        Transform::new(v, scissor, area, samples, state)
    };
    state.viewports.iter().enumerate().map(viewport).collect()
}

/// A draw at work.
#[derive(Clone, Copy)]
pub struct FrontDraw<'a> {
    /// The draw.
    pub draw: &'a Draw,
    /// What is known of it here.
    pub plan: &'a Plan,
}
