//! The choices that make the path of a draw's pixels through a tile: the steps are coverage, test,
//! expansion into quads, shading, late tests, and writes.

#![forbid(unsafe_code)]

use super::depth::{DepthPlan, RowsTest};
use crate::api::{LineMode, Stipple};
use base::shader::CompiledStage;

/// The special lines of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlan {
    /// The rasterization mode of the lines.
    pub mode: LineMode,
    /// The stipple, which leaves out pixels along a line.
    pub stipple: Option<Stipple>,
}

/// The path of a draw's primitives through a tile.
#[derive(Debug)]
pub enum TilePath {
    /// The primitives are lines that are more than rectangles (`line`).
    Lines(LinePlan),
    /// Covered pixels are only shaded: there are no tests and one sample.
    Untested {
        /// Code of the fragment stage that takes rectangles and writes its colours itself, if that
        /// is the only effect of fragments and the code exists (`epilogue`).
        epilogue: Option<CompiledStage>,
    },
    /// Covered blocks are tested (`early`).
    Tested,
}

/// The time of depth and stencil tests.
#[derive(Debug)]
pub enum TestOrder {
    /// Tests run before the fragment stage, and nothing after it can change their result.
    Early,
    /// Tests run before the fragment stage, which sees the coverage from before the tests, for
    /// pixels of which any sample is left.
    EarlyUnseen,
    /// Tests run after the fragment stage.
    Late {
        /// Test that fragments must pass before they are shaded, too, if shading a failing fragment
        /// has no effect.
        filter: Option<DepthPlan>,
        /// Slot of FragDepth.
        frag_depth: u16,
        /// Slot of FragStencilRef.
        frag_stencil: u16,
    },
}

/// The invocations of the fragment stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invocations {
    /// The stage does not run, because it writes nothing and has no effects.
    None,
    /// One invocation per pixel.
    Pixel,
    /// One invocation per covered sample.
    Sample,
}

/// The order of fragments in a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentOrder {
    /// Fragments are shaded in any order. Their colours are written in the order of primitives.
    Any,
    /// Fragments of a pixel are shaded one after the other in the order of primitives, and so are
    /// its samples. The stage requests it, or it reads an attachment that it writes. (Without a
    /// flag of VK_EXT_rasterization_order_attachment_access, the specification guarantees no order
    /// for such reads. Other drivers have one, and applications rely on it.)
    Primitives,
}

/// The coverage of quads after the fragment stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateCoverage {
    /// Nothing after the fragment stage changes coverage.
    Final,
    /// The stage or late tests remove samples.
    Changes {
        /// Slot of the SampleMask output.
        sample_mask: u16,
        /// Slot of the alpha of colour output 0, for alpha to coverage.
        alpha: Option<u16>,
    },
}

/// The colours of a primitive's fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveColors {
    /// Fragments may have different colours, or other effects.
    Varying,
    /// All fragments of a primitive have the same colours, and no other effect; one is shaded for
    /// all, if the colour plans support it (`flat`).
    Flat,
}

/// The test of a draw's covered pixels before the fragment stage, chosen once per draw and tile.
#[derive(Clone, Copy)]
pub enum EarlyTest {
    /// There is no test, and one sample.
    None,
    /// Depth is tested by rows of squares, which is the only test; there is one sample.
    Rows(RowsTest),
    /// The sample mask, and tests of any kind, apply to blocks.
    Blocks,
}

/// The destination of a primitive's pixels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Quads of the pixels are shaded (`expand`).
    Quads,
    /// The colours of the primitive, of which one fragment is shaded, fill the pixels (`flat`).
    Fill,
    /// The primitive becomes the owner of the pixels, and is shaded when their colours are needed
    /// (`visibility_buffer`).
    VisibilityBuffer,
}
