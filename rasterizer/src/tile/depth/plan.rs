//! The plan of a draw's depth and stencil tests.

#![forbid(unsafe_code)]

use super::block::{PlaneTest, QuadTest, QuadsTest, RowsTest};
use super::format::DepthFormat;
#[cfg(target_arch = "x86_64")]
use super::rows;
use base::pixel::{CompareOp, PixelKey, PixelValues, StencilOps, StencilValues};

/// The stencil test of one face.
#[derive(Clone, Copy, Debug)]
pub struct StencilFace {
    /// The stencil operations and the comparison.
    pub ops: StencilOps,
    /// The masks and the reference.
    pub values: StencilValues,
}

/// The tests of a draw.
#[derive(Clone, Copy, Debug)]
pub struct DepthPlan {
    /// Specialised test of a block for plans that only test depth; `None` if only the general test
    /// applies.
    pub plane: Option<PlaneTest>,
    /// Specialised test of a quad, under the conditions of `plane`.
    pub quad: Option<QuadTest>,
    /// Specialised test of the rows of a square, under the conditions of `plane`.
    pub rows: Option<RowsTest>,
    /// Specialised test of the quads of a batch, under the conditions of `plane`.
    pub quads: Option<QuadsTest>,
    /// Format of the depth attachment; `None` without one.
    pub format: Option<DepthFormat>,
    /// True if depthTestEnable is set and there is an attachment.
    pub test: bool,
    /// True if depth is written where the test passes.
    pub write: bool,
    /// The comparison by which a depth passes.
    pub compare: CompareOp,
    /// Range of the depth bounds test, if it is enabled.
    pub bounds: Option<[f32; 2]>,
    /// Stencil tests of the faces (front, back), if there is an attachment.
    pub stencil: Option<[StencilFace; 2]>,
}

impl DepthPlan {
    /// Makes the plan of a key and dynamic values.
    pub fn new(key: &PixelKey, values: &PixelValues) -> DepthPlan {
        let depth = key.depth.as_ref().and_then(|depth| Some((DepthFormat::from_format(depth.format)?, depth)));
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
            // Bounds are values of the format, as a stored depth is: 0.5 is within 0.5 and 1.
            bounds: depth.and_then(|(format, depth)| {
                depth.bounds.then(|| values.depth_bounds.map(|bound| format.value(format.encode(bound))))
            }),
            stencil: key.stencil.map(|ops| [face(ops, 0), face(ops, 1)]),
        };
        plan.choose();
        plan
    }

    /// Returns the test without writes, for fragments that are tested again, and written, after
    /// they have been shaded. A fragment that fails now also fails then, because writes of the same
    /// draw only tighten the comparison. Returns `None` if that does not hold, or if a failing test
    /// has effects.
    pub fn filter(&self) -> Option<DepthPlan> {
        use CompareOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let monotonic = matches!(self.compare, Less | LessOrEqual | Greater | GreaterOrEqual);
        let mut filter = DepthPlan { write: false, ..*self };
        filter.choose();
        Some(filter).filter(|filter| filter.plane.is_some() && (monotonic || !self.write))
    }

    /// Chooses the specialised tests.
    fn choose(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(format) = self.format.filter(|_| self.is_depth_only()) {
            self.plane = Some(rows::plane_test_of(format, self.compare, self.write));
            self.quad = Some(rows::plane_quad_test_of(format, self.compare, self.write));
            self.rows = Some(rows::plane_rows_test_of(format, self.compare, self.write));
            self.quads = Some(rows::plane_quads_test_of(format, self.compare, self.write));
        }
    }

    /// Returns true if the plan writes depth or stencil.
    pub fn writes(&self) -> bool {
        self.write || self.stencil.iter().flatten().any(|face| face.ops.writes())
    }

    /// Returns true if the plan only tests depth.
    #[cfg(target_arch = "x86_64")]
    fn is_depth_only(&self) -> bool {
        self.test && self.bounds.is_none() && self.stencil.is_none()
    }

    /// Returns true if there is nothing to test and nothing to write.
    pub fn is_no_op(&self) -> bool {
        !self.test && self.bounds.is_none() && self.stencil.is_none()
    }
}
