//! Conservative rasterization (VK_EXT_conservative_rasterization): the pixels that a shape touches,
//! or those that it contains.
//!
//! A convex shape touches the square of a pixel if the pixel's centre lies in the sum of the shape
//! and that square (Minkowski). This is the intersection of the shape's half planes, each moved
//! outwards by half of the square's extent along its normal, with the rectangle around the shape,
//! which grows by half a pixel. A shape contains the square in its interior if the centre lies
//! inside of all half planes when they are moved inwards. Coverage is thus that of pixel centres,
//! whatever the samples ([`TileState`](crate::tile::TileState)), and exact at snapped positions.
//! Edges and corners that only touch count for the pixels that a shape touches, and exclude those
//! that it contains.
//!
//! The pieces of a clipped polygon are shapes of their own: those that touch share pixels along the
//! diagonals of the polygon, and underestimated ones leave them out.

#![forbid(unsafe_code)]

use super::primitive::PrimitiveBuilder;
use super::setup::{Bounding, Outline, PiecePixels, ShapeEdges, cut};
use crate::api::ConservativeMode;
use crate::prim::{INNER_ROWS, SUBPIXEL, inner_rows};

impl ConservativeMode {
    /// Returns the distance by which half planes move outwards, in units of a pixel's extent.
    fn distance(self) -> i32 {
        match self {
            ConservativeMode::Disabled => 0,
            ConservativeMode::Overestimate { extra } => SUBPIXEL / 2 + extra,
            ConservativeMode::Underestimate => -SUBPIXEL / 2,
        }
    }
}

impl PrimitiveBuilder<'_> {
    /// Returns the conservative mode of the draw.
    #[inline(always)]
    pub fn conservative(&self) -> ConservativeMode {
        self.draw.draw.state.conservative
    }

    /// Returns where a shape draws in a conservative mode; `None` if it covers nothing inside of
    /// `limit`.
    #[inline(never)]
    pub fn conservative_shape(&self, outline: &Outline, limit: [i32; 4]) -> Option<(PiecePixels, ShapeEdges, u32)> {
        let mode = self.conservative();
        let place = PiecePixels::within(limit, outline.bounds(Bounding::conservative(mode)))?;
        let edges = outline.moved_edges(mode.distance());
        let pixels = place.pixels(self.grid, &edges)?;
        Some((place, edges.cutting(cut(self.grid, place.rect)), pixels))
    }

    /// Appends the half planes by which fragments of the last shape know whether it contains their
    /// pixel, behind its attributes, if the stage reads that.
    #[inline(always)]
    pub fn inner_edges(&mut self, outline: impl FnOnce() -> Outline) {
        if self.draw.linkage().has_inner_edges {
            self.push_inner_edges(&outline());
        }
    }

    #[inline(never)]
    fn push_inner_edges(&mut self, outline: &Outline) {
        let edges = outline.moved_edges(ConservativeMode::Underestimate.distance());
        let mut rows = self.out.rows(INNER_ROWS);
        inner_rows(&edges.edges).into_iter().for_each(|row| rows.push_one(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::ScreenVertex;
    use base::random::Rng;

    /// Returns true if two convex polygons have a point in common, by separating axes. Lines that
    /// only touch count.
    fn meet(a: &[[i64; 2]], b: &[[i64; 2]]) -> bool {
        let normals = |of: &[[i64; 2]]| -> Vec<[i64; 2]> {
            (0..of.len()).map(|i| (of[i], of[(i + 1) % of.len()])).map(|(p, q)| [p[1] - q[1], q[0] - p[0]]).collect()
        };
        [normals(a), normals(b)].concat().iter().all(|n| {
            let span = |of: &[[i64; 2]]| {
                let along: Vec<i64> = of.iter().map(|p| p[0] * n[0] + p[1] * n[1]).collect();
                (*along.iter().min().expect("a corner"), *along.iter().max().expect("a corner"))
            };
            let ((low, high), (first, last)) = (span(a), span(b));
            low <= last && first <= high
        })
    }

    /// Returns true if the interior of a triangle, which one without area lacks, contains all
    /// corners of a polygon.
    fn contains(triangle: &[[i64; 2]; 3], of: &[[i64; 2]]) -> bool {
        let cross =
            |p: [i64; 2], q: [i64; 2], r: [i64; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
        let [a, b, c] = *triangle;
        let area = cross(a, b, c).signum();
        of.iter().all(|&p| [(a, b), (b, c), (c, a)].iter().all(|&(from, to)| cross(from, to, p).signum() * area > 0))
    }

    /// Compares the pixels of random triangles, some of which have no area, with squares that meet
    /// them or lie in them.
    #[test]
    fn touched_and_contained_pixels_are_exact() {
        let mut rng = Rng(0xc0_75e7);
        let (mut touched, mut inside) = (0, 0);
        for round in 0..3000 {
            let range = [40, 300, 2500][round % 3];
            let mut corner = || [0; 2].map(|_| 1000 + rng.below(range) as i32);
            let mut corners = [corner(), corner(), corner()];
            match rng.below(8) {
                0 => corners[2] = corners[0],
                1 => corners = corners.map(|[x, _]| [x & !255, 1024]),
                _ => {}
            }
            let screen = corners.map(|[x, y]| ScreenVertex { x, y, ..ScreenVertex::default() });
            let outline = Outline::triangle(&screen);
            let triangle = corners.map(|c| c.map(i64::from));
            let extra = rng.pick(&[0, 64, 192]);
            for mode in [ConservativeMode::Overestimate { extra }, ConservativeMode::Underestimate] {
                let edges = outline.moved_edges(mode.distance());
                let rect = outline.bounds(Bounding::conservative(mode));
                for (x, y) in (-2..18).flat_map(|y| (-2..18).map(move |x| (x, y))) {
                    let covered = x >= rect[0]
                        && y >= rect[1]
                        && x < rect[2]
                        && y < rect[3]
                        && edges.edges[..edges.count as usize].iter().all(|e| !e.excludes([x, y, x + 1, y + 1]));
                    let grow = if mode == ConservativeMode::Underestimate { 0 } else { i64::from(extra) };
                    let [x0, y0] = [x, y].map(|c| i64::from(c) * 256 - grow);
                    let [x1, y1] = [x, y].map(|c| i64::from(c) * 256 + 256 + grow);
                    let square = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
                    let want = match mode {
                        ConservativeMode::Underestimate => contains(&triangle, &square),
                        _ => meet(&triangle, &square),
                    };
                    assert_eq!(covered, want, "{corners:?} {mode:?} at {x}, {y}");
                    if mode == ConservativeMode::Underestimate {
                        inside += u32::from(want)
                    } else {
                        touched += u32::from(want)
                    }
                }
            }
        }
        assert!(touched > 10_000 && inside > 1_000, "{touched} {inside}");
    }
}
