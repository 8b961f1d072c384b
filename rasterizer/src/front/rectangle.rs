//! Halves of rectangles, and two of them in a row that are one: what interfaces, glyphs, sprites and particles are made of.
//!
//! A half is a triangle at one depth and distance whose vertices are corners of the rectangle around it. Its planes are those of the rectangle's upper left half,
//! whichever it is, with the value that a missing corner would have. So each value has bits of its own, whatever else the fragments are given, and where both
//! halves have the same planes they are set up as one primitive whose outline is the rectangle's: nothing is shaded twice along the diagonal,
//! and no pixel is asked on which side it lies. Which triangles go together depends on the draw alone ([`super::link::Pairs`]).

#![forbid(unsafe_code)]

use super::primitive::Builder;
use super::setup::{Half, Place, Values, flat_agree};
use super::stream::Assembled;

impl Builder<'_> {
    /// Sets two triangles up as one, if they are a rectangle; they are turned alike and unclipped. `area` and `bounds` are the first one's.
    #[inline(always)]
    pub fn rectangle(&mut self, pair: [Assembled; 2], areas: [f64; 2], bounds: [i32; 4], layer: u32) -> bool {
        let [(ids, number), (others, _)] = pair;
        let linkage = &self.draw.plan.linkage;
        // It is known soonest, and a mesh whose triangles have a colour each loses no time here.
        if !flat_agree(linkage, self.shaded, [ids[0], others[0]]) {
            return false;
        }
        let half = |ids: [u32; 3], area| Half::new(ids, &ids.map(|id| self.vertices[id as usize].screen), area);
        let (Some(first), Some(second)) = (half(ids, areas[0]), half(others, areas[1])) else { return false };
        let together = first.place() == second.place() && first.is_opposite(&second);
        if !together || !first.agrees(&second, linkage, self.shaded) {
            return false;
        }
        self.leaving += 2;
        let common = self.common_of(ids, number, layer, areas[0]);
        let Some(place) = Place::within(self.view_rect(&common), bounds) else { return true };
        let edges = first.outline().edges_turning(false);
        let Some(pixels) = place.pixels(self.grid, &edges) else { return true };
        let mut planes = first.planes();
        self.bias(&mut planes, 0.0);
        self.emit((place, edges, pixels), &planes.relative(place.origin), &common, None, Values::Half(&first));
        true
    }
}
