//! The state of a tile while one draw runs in it, and the state that a worker keeps for it.

#![forbid(unsafe_code)]

use super::coarse::CoarseQuads;
use super::color::FlatColor;
use super::depth::{BlockAddress, DepthPlan, QuadTest};
use super::hi_z::HiZTest;
use super::pass::RenderPass;
use super::path::{Destination, EarlyTest, PrimitiveColors};
use super::plan::TileDraw;
use super::quads::Quads;
use super::rectangles::Rectangles;
use super::runs::BinRun;
use super::visibility_buffer::VisibilityBuffer;
use crate::prim::SmoothLine;
use crate::surface::RenderSurface;
use base::abi::SampleGroups;
use execution::{AlignedBuf, StageMemory};

/// Tile memory of a worker.
#[derive(Default)]
pub struct TileScratch {
    pub quads: Quads,
    /// Rectangles that wait for the stage that writes them.
    pub rectangles: Rectangles,
    /// Coverage of the quads' pixels by smooth lines.
    pub coverage: Vec<[f32; 4]>,
    /// Coverage of the quads by groups of samples, if a pixel has more than four.
    pub groups: Vec<SampleGroups>,
    /// Coverage of the quads after early tests, if the fragment stage sees that from before them.
    pub passing: Vec<SampleGroups>,
    /// Quads of pixels that wait in draws with fragments of several pixels.
    pub coarse: CoarseQuads,
    pub outputs: AlignedBuf,
    pub alive: AlignedBuf,
    /// Colours of the current flat primitive, by colour plan.
    pub flat: Vec<FlatColor>,
    /// Owners of the tile's pixels (the visibility buffer).
    pub visibility: VisibilityBuffer,
    /// Joined runs of a tile that lies in large primitives; `bins` are the joined bins.
    pub runs: Vec<BinRun>,
    pub bins: Vec<u64>,
}

/// The processing of a draw's small primitives in a tile.
#[derive(Clone, Copy)]
pub struct SmallPrimitivePath {
    /// Test before the primitives are shaded.
    pub test: Option<QuadTest>,
    /// Address of the depth at the tile's corner.
    pub depth: *mut u8,
    /// Number of bytes between rows of depth.
    pub pitch: usize,
    /// Number of bytes of a depth texel.
    pub bytes: usize,
}

/// The state of a tile while one draw runs in it.
pub struct TileJob<'a> {
    pub pass: &'a RenderPass,
    pub draw: TileDraw<'a>,
    pub layer: u32,
    pub memory: &'a mut StageMemory,
    pub scratch: &'a mut TileScratch,
    /// Hi-Z, if it may be used.
    pub hi_z: Option<HiZTest<'a>>,
    /// Test before the fragment stage.
    pub early: EarlyTest,
    /// Test that fragments that are tested late must pass before they are shaded.
    pub filter: Option<&'a DepthPlan>,
    /// Destination of pixels in the draw: quads, or owners.
    pub draw_destination: Destination,
    /// Destination of the current primitive's pixels.
    pub destination: Destination,
    /// Rectangle around the primitives whose quads wait to be shaded, in draws whose fragments are
    /// ordered.
    pub waiting: [i32; 4],
    /// Number of the current primitive as an owner; 0 if it has none yet.
    pub owner: u16,
    /// True if the current primitive, as an owner, fills its pixels.
    pub flat_owner: bool,
    /// End of the tile's columns, if the stage writes rectangles itself.
    pub rectangles_end: Option<i32>,
    /// Processing of small primitives, if it is simple.
    pub small_path: Option<SmallPrimitivePath>,
    /// Colours of a primitive's fragments; varying once the colour plans could not fill.
    pub colors: PrimitiveColors,
    /// True if the colours of the current flat primitive are in the scratch memory.
    pub colored: bool,
    /// The current smooth line.
    pub smooth: Option<SmoothLine>,
    /// Number of samples that passed, if they are counted.
    pub passed: u64,
    /// True if passed samples are counted. (Counting bits is slow on some processors.)
    pub counts: bool,
    /// Number of fragment invocations.
    pub invocations: u64,
}

impl<'a> TileJob<'a> {
    /// Makes the initial state, without Hi-Z and visibility buffer.
    pub fn new(
        pass: &'a RenderPass,
        draw: TileDraw<'a>,
        layer: u32,
        memory: &'a mut StageMemory,
        scratch: &'a mut TileScratch,
    ) -> TileJob<'a> {
        let filter = draw.late_filter(pass);
        let queries = &draw.draw.queries;
        TileJob {
            pass,
            draw,
            layer,
            memory,
            scratch,
            hi_z: None,
            early: draw.plan.early_test(queries.ignores_fragments(), filter),
            filter,
            draw_destination: Destination::Quads,
            destination: Destination::Quads,
            waiting: [0; 4],
            owner: 0,
            flat_owner: false,
            rectangles_end: None,
            small_path: None,
            colors: match queries.statistics.is_empty() {
                true => draw.plan.primitive_colors,
                // Queries count the invocations of all fragments.
                false => PrimitiveColors::Varying,
            },
            colored: false,
            smooth: None,
            passed: 0,
            counts: queries.occlusion.is_some(),
            invocations: 0,
        }
    }

    /// Returns the address of a block's texels of a sample.
    #[inline(always)]
    pub fn address(&self, surface: &Option<RenderSurface>, sample: u32, x: u32, y: u32) -> BlockAddress {
        let none = BlockAddress { base: core::ptr::null_mut(), pitch: 0, whole: false };
        surface.as_ref().map_or(none, |s| BlockAddress {
            base: s.at(self.layer, sample, x, y),
            pitch: s.row_pitch,
            whole: y + 4 <= s.extent[1],
        })
    }
}
