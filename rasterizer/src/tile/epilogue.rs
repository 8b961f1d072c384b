//! Rectangles whose pixels a fragment stage writes itself: the tile only lists them.
//!
//! They come from affine primitives that cover a rectangle, in draws without tests whose colours
//! have an epilogue ([`TilePath::Untested`]). The stage's own code then
//! shades rows of pixels, and blends and stores them. Until such code exists, and for everything
//! else, the tile makes quads.
use super::job::TileJob;
use super::path::{Destination, TilePath};
use crate::prim::Prim;
use base::abi::{RECTANGLE_LANES, Rectangle, RectangleBatch};
use base::host::prefetch;

/// Largest number of rectangles of a call.
const MAX_RECTANGLES: usize = 32;

impl TileJob<'_> {
    /// Determines whether the draw has rectangles in the tile whose columns begin at
    /// `x0` and end before `x1`.
    pub fn find_epilogue(&mut self, [x0, x1]: [i32; 2]) {
        let (first, end) = (x0.max(self.pass.area[0]), x1.min(self.pass.area[2]));
        let possible = matches!(self.draw.plan.path, TilePath::Untested { epilogue: Some(_) })
            && self.draw_destination == Destination::Quads
            && self.draw.draw.queries.statistics.is_empty()
            && end - first >= RECTANGLE_LANES as i32;
        self.rectangles_end = possible.then_some(end);
    }

    /// Takes a primitive that covers these pixels, if the stage writes its colours itself. Returns
    /// false if it has no such code, or not for such a primitive.
    #[inline(always)]
    pub fn takes_rectangle(&mut self, prim: &Prim, [x0, y0, x1, y1]: [i32; 4]) -> bool {
        if self.rectangles_end.is_none() || prim.shade.affine == 0 {
            return false;
        }
        if x0 >= x1 || y0 >= y1 {
            return true;
        }
        if self.scratch.quads.len() > 0 {
            super::fragment::shade(self);
        }
        self.passed += ((x1 - x0) * (y1 - y0)) as u64;
        // Another worker has made the attributes, and they are read when the list is full.
        prefetch(prim.shade.attributes.cast());
        if self.pass.exceeds_caches {
            let surface = &self.draw.plan.colors[0].surface;
            // All rows belong to one tile, so they lie in one piece of memory.
            let (mut at, pitch) = (surface.at(self.layer, 0, x0 as u32, y0 as u32), surface.row_pitch);
            for _ in y0..y1 {
                prefetch(at);
                at = at.wrapping_add(pitch);
            }
        }
        let [x0, y0, x1, y1] = [x0, y0, x1, y1].map(|c| c as u16);
        self.scratch.rectangles.0.push(Rectangle { x0, y0, x1, y1, primitive: (&raw const *prim).cast() });
        if self.scratch.rectangles.0.len() == MAX_RECTANGLES {
            self.write_rectangles();
        }
        true
    }

    /// Writes the rectangles collected so far.
    #[inline(always)]
    pub fn flush_rectangles(&mut self) {
        if !self.scratch.rectangles.0.is_empty() {
            self.write_rectangles();
        }
    }

    #[inline(never)]
    fn write_rectangles(&mut self) {
        let plan = self.draw.plan;
        let list = &self.scratch.rectangles.0;
        if let (TilePath::Untested { epilogue: Some(stage) }, Some(first), Some(end)) =
            (&plan.path, list.first(), self.rectangles_end)
        {
            let surface = &plan.colors[0].surface;
            let mut batch = RectangleBatch {
                header: self.memory.header(stage),
                count: list.len() as u32,
                end: end as u32,
                rectangles: list.as_ptr(),
                // All rectangles belong to one tile.
                target: surface.origin(self.layer, first.x0.into(), first.y0.into()),
                pitch: surface.row_pitch as u64,
            };
            // SAFETY: the rectangles' pixels, and those beside them in the tile and the render
            // area, lie inside the attachment, and this worker owns the tile. The primitives
            // outlive the tile, and the icd guarantees that stage and context match.
            unsafe { stage.run(&self.draw.draw.context, (&raw mut batch).cast()) };
        }
        self.scratch.rectangles.clear();
    }
}
