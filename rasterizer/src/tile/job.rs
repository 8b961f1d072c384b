//! A tile at work for one draw, and what a worker keeps for it.

#![forbid(unsafe_code)]

use super::bounds::DepthReject;
use super::depth::BlockAddress;
use super::pass::Pass;
use super::plan::TileDraw;
use super::quads::Quads;
use super::runs::Run;
use crate::mem::AlignedBuf;
use crate::prim::LinePrim;
use crate::stage::StageMemory;
use crate::surface::Surface;

/// Tile memory of a worker.
#[derive(Default)]
pub struct Scratch {
    pub quads: Quads,
    /// Smooth lines: coverage of the quads' pixels.
    pub coverage: Vec<[f32; 4]>,
    pub outputs: AlignedBuf,
    pub alive: AlignedBuf,
    /// Runs and bins of a tile that lies in large primitives, joined.
    pub runs: Vec<Run>,
    pub bins: Vec<u64>,
}

/// A tile at work for one draw.
pub struct TileJob<'a> {
    pub pass: &'a Pass,
    pub draw: TileDraw<'a>,
    pub layer: u32,
    pub memory: &'a mut StageMemory,
    pub scratch: &'a mut Scratch,
    /// Hierarchical depth, where it may be used.
    pub reject: Option<DepthReject<'a>>,
    /// The smooth line at work.
    pub smooth: Option<LinePrim>,
    /// Samples that passed.
    pub passed: u64,
    /// Fragment invocations.
    pub invocations: u64,
}

impl TileJob<'_> {
    /// A block's texels of a sample.
    #[inline(always)]
    pub fn address(&self, surface: &Option<Surface>, sample: u32, x: u32, y: u32) -> BlockAddress {
        let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
        surface.as_ref().map_or(none, |s| BlockAddress {
            base: s.at(self.layer, sample, x, y),
            pitch: s.row_pitch,
            whole: y + 4 <= s.extent[1],
        })
    }
}
