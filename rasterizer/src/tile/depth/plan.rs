//! A draw's tests.

#![forbid(unsafe_code)]

use super::block::{PlaneTest, QuadTest, QuadsTest, RowsTest};
use super::format::DepthFormat;
#[cfg(target_arch = "x86_64")]
use super::rows;
use base::pixel::{CompareOp, PixelKey, PixelValues, StencilOps, StencilValues};

/// The stencil test of one face.
#[derive(Clone, Copy, Debug)]
pub struct StencilFace {
    /// What is done.
    pub ops: StencilOps,
    /// With which numbers.
    pub values: StencilValues,
}

/// The tests of a draw.
#[derive(Clone, Copy, Debug)]
pub struct DepthPlan {
    /// What a plan does that tests depth and nothing else; `None` where only the general way is.
    pub plane: Option<PlaneTest>,
    /// The same of a quad.
    pub quad: Option<QuadTest>,
    /// The same of the rows of a square.
    pub rows: Option<RowsTest>,
    /// The same of the quads of a batch.
    pub quads: Option<QuadsTest>,
    /// Format of the depth attachment; `None` without one.
    pub format: Option<DepthFormat>,
    /// depthTestEnable with an attachment.
    pub test: bool,
    /// Depth is written where the test passes.
    pub write: bool,
    /// What passes.
    pub compare: CompareOp,
    /// Depth bounds.
    pub bounds: Option<[f32; 2]>,
    /// Stencil faces (front, back) with an attachment.
    pub stencil: Option<[StencilFace; 2]>,
}

impl DepthPlan {
    /// What a key and numbers mean.
    pub fn new(key: &PixelKey, values: &PixelValues) -> DepthPlan {
        let depth = key.depth.as_ref().and_then(|depth| Some((DepthFormat::of(depth.format)?, depth)));
        let test = depth.and_then(|(_, depth)| depth.test);
        let face = |ops: [StencilOps; 2], i: usize| StencilFace { ops: ops[i], values: values.stencil[i] };
        let mut plan = DepthPlan {
            plane: None,
            quad: None,
            rows: None,
            quads: None,
            format: depth.map(|(format, _)| format),
            test: test.is_some(),
            write: depth.is_some_and(|(_, depth)| depth.write),
            compare: test.unwrap_or(CompareOp::Always),
            bounds: depth.and_then(|(_, depth)| depth.bounds.then_some(values.depth_bounds)),
            stencil: key.stencil.map(|ops| [face(ops, 0), face(ops, 1)]),
        };
        plan.choose();
        plan
    }

    /// The test alone, for fragments that are tested again and write when they have been shaded: what fails now fails then too, as no write of the same draw
    /// can bring it nearer. `None` where that is not so, or something else happens when the test fails.
    pub fn filter(&self) -> Option<DepthPlan> {
        use CompareOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let monotonic = matches!(self.compare, Less | LessOrEqual | Greater | GreaterOrEqual);
        let mut filter = DepthPlan { write: false, ..*self };
        filter.choose();
        Some(filter).filter(|filter| filter.plane.is_some() && (monotonic || !self.write))
    }

    /// Chooses what `plane` is.
    fn choose(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(format) = self.format.filter(|_| self.plain()) {
            self.plane = Some(rows::plane_test_of(format, self.compare, self.write));
            self.quad = Some(rows::plane_quad_test_of(format, self.compare, self.write));
            self.rows = Some(rows::plane_rows_test_of(format, self.compare, self.write));
            self.quads = Some(rows::plane_quads_test_of(format, self.compare, self.write));
        }
    }

    /// Something is written.
    pub fn writes(&self) -> bool {
        self.write || self.stencil.iter().flatten().any(|face| face.ops.writes())
    }

    /// A depth test and nothing else.
    #[cfg(target_arch = "x86_64")]
    fn plain(&self) -> bool {
        self.test && self.bounds.is_none() && self.stencil.is_none()
    }

    /// Nothing to test and nothing to write.
    pub fn idle(&self) -> bool {
        !self.test && self.bounds.is_none() && self.stencil.is_none()
    }
}
