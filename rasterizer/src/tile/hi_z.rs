//! Hi-Z: the least and greatest depth of every square of 16×16 pixels of the depth attachment, kept
//! for the duration of a render pass.
//!
//! Invariant: every stored depth of a square lies in `low..=high`. A primitive whose depth range in
//! a square cannot pass the depth test against that range is rejected there before any texel is
//! read or written. Writes only widen a range, by the primitive's own range. A primitive that
//! covers a whole square narrows it, and so does reading the square again after some visits. Ranges
//! begin unknown; a clear sets them.
//!
//! Planes are evaluated as the depth test evaluates them, and IEEE operations are monotonic, so the
//! corners of a region bound all its pixels exactly. (Greene, Kass, Miller: "Hierarchical Z-Buffer
//! Visibility", 1993, with one level.)

use super::depth::{DepthFormat, DepthPlan};
use crate::prim::{Prim, TILE_SHIFT, sample_offsets};
use crate::surface::RenderSurface;
use base::pixel::CompareOp;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Base-2 logarithm of the side of a square in pixels.
const SHIFT: u32 = 4;
/// Number of visits without a rejection after which the depths of a square are read again.
const VISITS_BEFORE_REFRESH: u32 = 32;
/// Largest number of squares for which bounds are kept; larger attachments (layers of large images)
/// have no bounds.
const MAX_SQUARES: usize = 1 << 20;

/// The depth range of one square; only the worker that owns its tile writes it.
#[derive(Debug)]
struct HiZSquare {
    low: AtomicU32,
    high: AtomicU32,
    visits: AtomicU32,
}

/// The squares of a tile, row by row. They fill whole cache lines, which no other tile's worker
/// uses.
#[derive(Debug)]
#[repr(align(64))]
struct HiZTile([HiZSquare; SIDE * SIDE]);

/// Number of squares along a side of a tile.
const SIDE: usize = 1 << (TILE_SHIFT - SHIFT);

/// The depth bounds of all squares of a depth attachment.
#[derive(Debug)]
pub struct HiZ {
    tiles: Box<[HiZTile]>,
    /// Number of columns of squares.
    columns: u32,
    rows: u32,
    /// Numbers of tiles in x and y.
    grid: [u32; 2],
}

impl HiZ {
    /// Makes unknown bounds of a depth attachment; returns `None` if it has no depth format or too
    /// many squares.
    pub fn new(surface: &RenderSurface) -> Option<HiZ> {
        DepthFormat::from_format(surface.format)?;
        let [columns, rows] = surface.extent.map(|n| n.div_ceil(1 << SHIFT));
        let grid = surface.extent.map(|n| n.div_ceil(1 << TILE_SHIFT));
        let count = grid[0] as usize * grid[1] as usize * surface.layers as usize;
        let unknown = || HiZSquare {
            low: AtomicU32::new(f32::NEG_INFINITY.to_bits()),
            high: AtomicU32::new(f32::INFINITY.to_bits()),
            // The square is read at its first visit.
            visits: AtomicU32::new(VISITS_BEFORE_REFRESH),
        };
        let tile = || HiZTile(core::array::from_fn(|_| unknown()));
        (count <= MAX_SQUARES / (SIDE * SIDE)).then(|| HiZ {
            tiles: (0..count).map(|_| tile()).collect(),
            columns,
            rows,
            grid,
        })
    }

    #[inline(always)]
    fn square(&self, layer: u32, x: i32, y: i32) -> &HiZSquare {
        let row = layer * self.grid[1] + (y as u32 >> TILE_SHIFT);
        let tile = &self.tiles[(row * self.grid[0] + (x as u32 >> TILE_SHIFT)) as usize];
        let [column, row] = [x, y].map(|c| (c >> SHIFT) as usize % SIDE);
        &tile.0[row * SIDE + column]
    }

    /// Makes the bounds of a region x0, y0, x1, y1 of a layer unknown. The part outside of the
    /// surface is ignored.
    pub fn invalidate(&self, layer: u32, [x0, y0, x1, y1]: [i32; 4]) {
        let side = 1 << SHIFT;
        let (x1, y1) = (x1.min((self.columns << SHIFT) as i32), y1.min((self.rows << SHIFT) as i32));
        for y in (y0 & !(side - 1)..y1).step_by(side as usize) {
            for x in (x0 & !(side - 1)..x1).step_by(side as usize) {
                let square = self.square(layer, x, y);
                square.low.store(f32::NEG_INFINITY.to_bits(), Relaxed);
                square.high.store(f32::INFINITY.to_bits(), Relaxed);
                square.visits.store(VISITS_BEFORE_REFRESH, Relaxed);
            }
        }
    }

    /// Records that a rectangle x0, y0, x1, y1 of a layer was filled with a depth (as it reads
    /// back).
    pub fn fill(&self, layer: u32, [x0, y0, x1, y1]: [u32; 4], depth: f32) {
        let side = 1 << SHIFT;
        for y in (y0 & !(side - 1)..y1).step_by(side as usize) {
            for x in (x0 & !(side - 1)..x1).step_by(side as usize) {
                let square = self.square(layer, x as i32, y as i32);
                if x0 <= x && y0 <= y && x + side <= x1 && y + side <= y1 {
                    square.low.store(depth.to_bits(), Relaxed);
                    square.high.store(depth.to_bits(), Relaxed);
                    square.visits.store(0, Relaxed);
                } else {
                    square.widen(depth, depth);
                }
            }
        }
    }
}

impl HiZSquare {
    #[inline(always)]
    fn range(&self) -> [f32; 2] {
        [f32::from_bits(self.low.load(Relaxed)), f32::from_bits(self.high.load(Relaxed))]
    }

    #[inline(always)]
    fn widen(&self, low: f32, high: f32) {
        let [l, h] = self.range();
        if low < l {
            self.low.store(low.to_bits(), Relaxed);
        }
        if high > h {
            self.high.store(high.to_bits(), Relaxed);
        }
    }
}

/// The depth bounds as one draw uses them in one tile.
#[derive(Clone, Copy)]
pub struct HiZTest<'a> {
    bounds: &'a HiZ,
    surface: &'a RenderSurface,
    plan: &'a DepthPlan,
    format: DepthFormat,
    layer: u32,
    /// True if every sample of a covered pixel is written.
    all_samples: bool,
}

impl<'a> HiZTest<'a> {
    /// Returns `None` if a failed depth test has effects (stencil), or if there is no test.
    pub fn new(
        bounds: Option<&'a HiZ>,
        surface: Option<&'a RenderSurface>,
        plan: &'a DepthPlan,
        layer: u32,
        all_samples: bool,
    ) -> Option<HiZTest<'a>> {
        let (bounds, surface, format) = (bounds?, surface?, plan.format?);
        let usable = plan.test && plan.stencil.is_none() && plan.bounds.is_none();
        usable.then_some(HiZTest { bounds, surface, plan, format, layer, all_samples })
    }

    /// Returns true if any pixel of a region x0, y0, x1, y1 of a primitive may pass the depth test.
    /// In that case, if depth is written, the region counts as written. With `P`, samples may lie
    /// anywhere in their pixels.
    #[inline(always)]
    pub fn visible<const S: usize, const P: bool>(&self, prim: &Prim, rect: [i32; 4]) -> bool {
        let Some([low, high]) = depth_range::<S, P>(prim, rect) else {
            if self.plan.write {
                self.bounds.invalidate(self.layer, rect);
            }
            return true;
        };
        let [low, high] = [low, high].map(|z| self.format.value(self.format.encode(z)));
        let side = 1 << SHIFT;
        let mut any = false;
        let mut y = rect[1] & !(side - 1);
        while y < rect[3] {
            let mut x = rect[0] & !(side - 1);
            while x < rect[2] {
                any |= self.passes(x, y, low, high);
                x += side;
            }
            y += side;
        }
        any
    }

    /// Records a region of at most 4×4 pixels as written without checking whether any pixel can
    /// pass, because the check takes longer than the depth test. The bound on the side of the
    /// written depths becomes unknown. Returns false if both bounds would become unknown.
    #[inline(always)]
    pub fn record_write(&self, rect: [i32; 4]) -> bool {
        use CompareOp::{Greater, GreaterOrEqual, Less, LessOrEqual};
        let nearer = match self.plan.compare {
            _ if !self.plan.write => return true,
            Less | LessOrEqual => true,
            Greater | GreaterOrEqual => false,
            _ => return false,
        };
        let ([x0, y0], [x1, y1]) = ([rect[0], rect[1]], [rect[2] - 1, rect[3] - 1]);
        // The corners usually lie in the same square, and in four at most.
        for [x, y] in [[x0, y0], [x1, y0], [x0, y1], [x1, y1]] {
            let square = self.bounds.square(self.layer, x, y);
            let (bound, unknown) =
                if nearer { (&square.low, f32::NEG_INFINITY) } else { (&square.high, f32::INFINITY) };
            if bound.load(Relaxed) != unknown.to_bits() {
                bound.store(unknown.to_bits(), Relaxed);
            }
            if (x0 ^ x1 | y0 ^ y1) >> SHIFT == 0 {
                break;
            }
        }
        true
    }

    /// Returns true if depths in `low..=high` may pass in the square at (x, y).
    #[inline(always)]
    fn passes(&self, x: i32, y: i32, low: f32, high: f32) -> bool {
        let square = self.bounds.square(self.layer, x, y);
        if self.fails(square.range(), low, high) {
            return false;
        }
        let visits = square.visits.load(Relaxed);
        if visits >= VISITS_BEFORE_REFRESH {
            self.refresh(square, x, y);
            if self.fails(square.range(), low, high) {
                return false;
            }
        } else if self.plan.write {
            square.visits.store(visits + 1, Relaxed);
        }
        if self.plan.write {
            square.widen(low, high);
        }
        true
    }

    /// Returns true if the test fails for every pair of a new depth in
    /// `low..=high` and an old one in `old`.
    #[inline(always)]
    fn fails(&self, old: [f32; 2], low: f32, high: f32) -> bool {
        // Two codes of a normalised format may convert to the same float.
        let exact = self.format == DepthFormat::F32;
        match self.plan.compare {
            CompareOp::Never => true,
            CompareOp::Less => low > old[1] || exact && low >= old[1],
            CompareOp::LessOrEqual => low > old[1],
            CompareOp::Greater => high < old[0] || exact && high <= old[0],
            CompareOp::GreaterOrEqual => high < old[0],
            CompareOp::Equal => low > old[1] || high < old[0],
            CompareOp::NotEqual | CompareOp::Always => false,
        }
    }

    /// Narrows the bounds after a primitive has covered all of the square at (x, y): each stored
    /// depth is the primitive's, or an older one that passed against it.
    #[inline(always)]
    pub fn covered<const S: usize, const P: bool>(&self, prim: &Prim, x: i32, y: i32) {
        if !self.plan.write || !self.all_samples {
            return;
        }
        let side = 1 << SHIFT;
        let Some([low, high]) = depth_range::<S, P>(prim, [x, y, x + side, y + side]) else { return };
        let [low, high] = [low, high].map(|z| self.format.value(self.format.encode(z)));
        let square = self.bounds.square(self.layer, x, y);
        let [old_low, old_high] = square.range();
        match self.plan.compare {
            CompareOp::Less | CompareOp::LessOrEqual if high < old_high => square.high.store(high.to_bits(), Relaxed),
            CompareOp::Greater | CompareOp::GreaterOrEqual if low > old_low => square.low.store(low.to_bits(), Relaxed),
            CompareOp::Always => {
                square.low.store(low.to_bits(), Relaxed);
                square.high.store(high.to_bits(), Relaxed);
            }
            _ => {}
        }
    }

    /// Reads the depths of the square and sets its bounds to their range.
    #[inline(never)]
    fn refresh(&self, square: &HiZSquare, x: i32, y: i32) {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        let side = 1u32 << SHIFT;
        let (x, y) = (x as u32, y as u32);
        let width = side.min(self.surface.extent[0] - x) as usize;
        for sample in 0..self.surface.samples {
            for row in y..(y + side).min(self.surface.extent[1]) {
                // SAFETY: the row's texels lie inside the surface, and this worker owns their tile.
                unsafe {
                    self.format.row_range(self.surface.at(self.layer, sample, x, row), width, &mut low, &mut high)
                };
            }
        }
        // A float buffer may hold any bits; not-a-number leaves the square unknown.
        if low <= high {
            square.low.store(low.to_bits(), Relaxed);
            square.high.store(high.to_bits(), Relaxed);
        } else {
            square.low.store(f32::NEG_INFINITY.to_bits(), Relaxed);
            square.high.store(f32::INFINITY.to_bits(), Relaxed);
        }
        square.visits.store(0, Relaxed);
    }
}

/// Returns the least and greatest depth of a primitive at the samples of a region's pixels, or
/// anywhere in the pixels with `P`; `None` if its plane is not finite.
#[inline(always)]
fn depth_range<const S: usize, const P: bool>(prim: &Prim, [x0, y0, x1, y1]: [i32; 4]) -> Option<[f32; 2]> {
    let [zx, zy, zc] = prim.shade.z;
    if !(zx.is_finite() && zy.is_finite() && zc.is_finite()) {
        return None;
    }
    let (mut first, mut last) = ([256; 2], [0; 2]);
    if P {
        (first, last) = ([0; 2], [255; 2]);
    } else {
        for offset in sample_offsets::<S>() {
            for axis in 0..2 {
                first[axis] = offset[axis].min(first[axis]);
                last[axis] = offset[axis].max(last[axis]);
            }
        }
    }
    let [ox, oy] = prim.shade.origin;
    let at = |pixel: i32, offset: i32| pixel as f32 + offset as f32 / 256.0;
    let (left, right) = (at(x0 - ox, first[0]), at(x1 - 1 - ox, last[0]));
    let (top, bottom) = (at(y0 - oy, first[1]), at(y1 - 1 - oy, last[1]));
    let z = |x: f32, y: f32| zx * x + (zy * y + zc);
    let (x_low, x_high) = if zx < 0.0 { (right, left) } else { (left, right) };
    let (y_low, y_high) = if zy < 0.0 { (bottom, top) } else { (top, bottom) };
    let (low, high) = (z(x_low, y_low), z(x_high, y_high));
    // A sum of infinities can be not-a-number.
    (!low.is_nan() && !high.is_nan()).then(|| [prim.clamp_depth(low), prim.clamp_depth(high)])
}
