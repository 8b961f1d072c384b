//! A tile at work for one draw, and what a worker keeps for it.

#![forbid(unsafe_code)]

use super::bounds::DepthReject;
use super::color::FlatColor;
use super::depth::{BlockAddress, QuadTest, RowsTest};
use super::owners::Owners;
use super::pass::Pass;
use super::plan::TileDraw;
use super::quads::Quads;
use super::rectangles::Rectangles;
use super::runs::Run;
use crate::mem::AlignedBuf;
use crate::prim::LinePrim;
use crate::stage::StageMemory;
use crate::surface::Surface;
use base::abi::SampleGroups;

/// Tile memory of a worker.
#[derive(Default)]
pub struct Scratch {
    pub quads: Quads,
    /// Rectangles that wait for the stage that writes them.
    pub rectangles: Rectangles,
    /// Smooth lines: coverage of the quads' pixels.
    pub coverage: Vec<[f32; 4]>,
    /// Coverage of the quads by groups of samples, where a pixel has more than four.
    pub groups: Vec<SampleGroups>,
    /// With [`TilePlan::sees_all`](super::TilePlan): what early tests left of the quads' coverage.
    pub passing: Vec<SampleGroups>,
    pub outputs: AlignedBuf,
    pub alive: AlignedBuf,
    /// Colours of the flat primitive at work, by colour plan.
    pub flat: Vec<FlatColor>,
    /// Owners of the tile's pixels.
    pub owners: Owners,
    /// Runs and bins of a tile that lies in large primitives, joined.
    pub runs: Vec<Run>,
    pub bins: Vec<u64>,
}

/// What small primitives of a draw go through in a tile.
#[derive(Clone, Copy)]
pub struct Tiny {
    /// The test before they are shaded.
    pub test: Option<QuadTest>,
    /// Depth at the tile's corner, bytes from row to row and of a texel.
    pub depth: *mut u8,
    /// See `depth`.
    pub pitch: usize,
    /// See `depth`.
    pub bytes: usize,
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
    /// What is covered becomes owner of its pixels.
    pub deferred: bool,
    /// In draws whose fragments are ordered, a rectangle around the primitives whose quads wait to be shaded.
    pub waiting: [i32; 4],
    /// The primitive's number as an owner, if it has one already.
    pub owner: u16,
    /// Fragments must pass the plan's filter before they are shaded.
    pub filters: bool,
    /// What is covered is shaded and nothing else, unless the primitive is flat: no tests, one sample.
    pub all_plain: bool,
    /// And of the primitive at work that is so.
    pub plain: bool,
    /// The column behind the last one of the tile, where rectangles are written by the stage itself.
    pub rectangles_end: Option<i32>,
    /// Flat primitives fill what is covered of them: no tests, one sample.
    pub fills: bool,
    /// What is covered of the primitive at work comes by the rows of squares.
    pub takes_rows: bool,
    /// What is covered is tested by depth and nothing else before it is shaded, if it is.
    pub rows: Option<RowsTest>,
    /// What small primitives go through, where it is little.
    pub tiny: Option<Tiny>,
    /// One fragment is shaded for all of a primitive's.
    pub flat: bool,
    /// And of the primitive at work that is so.
    pub flat_here: bool,
    /// Its colours are in the scratch memory.
    pub colored: bool,
    /// The smooth line at work.
    pub smooth: Option<LinePrim>,
    /// Samples that passed, where somebody counts them.
    pub passed: u64,
    /// Somebody does. (Not every processor counts bits at once.)
    pub counts: bool,
    /// Fragment invocations.
    pub invocations: u64,
}

impl<'a> TileJob<'a> {
    /// Nothing done yet, and neither hierarchical depth nor owners.
    pub fn of(
        pass: &'a Pass,
        draw: TileDraw<'a>,
        layer: u32,
        memory: &'a mut StageMemory,
        scratch: &'a mut Scratch,
    ) -> TileJob<'a> {
        let filters = draw.plan.filter.is_some() && draw.draw.queries.statistics.is_none() && pass.hides;
        TileJob {
            pass,
            draw,
            layer,
            memory,
            scratch,
            reject: None,
            deferred: false,
            waiting: [0; 4],
            owner: 0,
            all_plain: false,
            plain: false,
            rectangles_end: None,
            fills: false,
            takes_rows: false,
            rows: draw.plan.depth_rows(draw.draw.queries.ignores_fragments(), filters),
            filters,
            tiny: None,
            flat: draw.plan.flat && draw.draw.queries.statistics.is_none(),
            flat_here: false,
            colored: false,
            smooth: None,
            passed: 0,
            counts: draw.draw.queries.occlusion.is_some(),
            invocations: 0,
        }
    }

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
