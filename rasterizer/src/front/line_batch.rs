//! Line batches: lines of one viewport, in blocks; wireframes, graphs, curves and hair consist of
//! them.
//!
//! Most are a few pixels long. As lanes, they become the rectangles of their width, and the pixels
//! that these cover. Lines that cover no pixel, which no branch predictor can guess, are removed
//! without branches. Lines that are clipped, longer, or have another mode take the general path
//! ([`PrimitiveBuilder::primitive`]), with the same bits.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::attributes::AttributeValues;
use super::planes::Planes;
use super::primitive::PrimitiveBuilder;
use super::primitive_lanes::{BLOCK, PlaneLanes, ShapeLanes};
use super::setup::{Bounding, PiecePixels, PrimitiveCommon, ShapeEdges, line_corners};
use super::stream::{Assembled, Batch};
use super::vertex_order::OrderedVertices;
use super::viewport::code;
use crate::api::{ConservativeMode, LineMode, TopologyClass};
use crate::prim::SMALL;
use crate::stages::NO_SLOT;

/// Outcodes of an end with which a line is clipped, or is not visible.
const CUT: u32 = code::REJECT | code::GUARD | code::UNPROJECTED | code::NAN;

/// The lines of a block, as lanes; a worker keeps them.
#[derive(Default)]
pub struct LineBatch {
    ends: LineLanes,
    rectangles: ShapeLanes<4>,
    planes: PlaneLanes<2>,
}

struct LineLanes {
    /// Fixed-point x coordinates of both ends.
    x: [[i32; BLOCK]; 2],
    y: [[i32; BLOCK]; 2],
    /// 1 if the line takes the general path.
    other: [u32; BLOCK],
    layer: [u32; BLOCK],
    /// Pixels whose centres can be inside: x0, y0, x1, y1.
    bounds: [[i32; BLOCK]; 4],
    /// [`crate::prim::Prim::pixels`] of lines that are processed as lanes.
    pixels: [u32; BLOCK],
    /// 1 if the line may be visible.
    visible: [u32; BLOCK],
}

impl Default for LineLanes {
    fn default() -> Self {
        LineLanes {
            x: [[0; BLOCK]; 2],
            y: [[0; BLOCK]; 2],
            other: [0; BLOCK],
            layer: [0; BLOCK],
            bounds: [[0; BLOCK]; 4],
            pixels: [0; BLOCK],
            visible: [0; BLOCK],
        }
    }
}

impl LineBatch {
    /// Measures all lanes.
    #[inline(always)]
    fn measure(&mut self, width: f32, limit: [i32; 4]) {
        let LineBatch { ends: LineLanes { x, y, other, bounds, pixels, visible, .. }, rectangles, .. } = self;
        let half = f64::from(width) * 0.5;
        let mut exists = [0u32; BLOCK];
        for i in 0..BLOCK {
            let (dx, dy) = (f64::from(x[1][i].wrapping_sub(x[0][i])), f64::from(y[1][i].wrapping_sub(y[0][i])));
            let length = (dx * dx + dy * dy).sqrt();
            exists[i] = u32::from(length != 0.0);
            let [p, q, r, s] = line_corners([x[0][i], y[0][i]], [x[1][i], y[1][i]], (half, 0.0), length);
            for (k, [x, y]) in [p, q, r, s].into_iter().enumerate() {
                (rectangles.x[k][i], rectangles.y[k][i]) = (x, y);
            }
        }
        let [left, top, right, bottom] = bounds;
        let bounding = Bounding::CENTRES;
        for i in 0..BLOCK {
            let ([a, b, c, d], [e, f, g, h]) = (rectangles.x.each_ref(), rectangles.y.each_ref());
            left[i] = bounding.first(a[i].min(b[i]).min(c[i].min(d[i])));
            right[i] = bounding.end(a[i].max(b[i]).max(c[i].max(d[i])));
            top[i] = bounding.first(e[i].min(f[i]).min(g[i].min(h[i])));
            bottom[i] = bounding.end(e[i].max(f[i]).max(g[i].max(h[i])));
            // The area is only used for a small rectangle, whose diagonals are short.
            let across = |rows: &[[i32; BLOCK]; 4], k: usize| rows[k + 2][i].wrapping_sub(rows[k][i]);
            let (u, v) = ([0, 1].map(|k| across(&rectangles.x, k)), [0, 1].map(|k| across(&rectangles.y, k)));
            let area = u[0].wrapping_mul(v[1]).wrapping_sub(u[1].wrapping_mul(v[0]));
            rectangles.turned[i] = area >> 31;
        }
        rectangles.cover(bounds, limit, pixels);
        let [left, top, right, bottom] = bounds;
        for i in 0..BLOCK {
            let few = (right[i].wrapping_sub(left[i]) <= SMALL) & (bottom[i].wrapping_sub(top[i]) <= SMALL);
            let some =
                (left[i].max(limit[0]) < right[i].min(limit[2])) & (top[i].max(limit[1]) < bottom[i].min(limit[3]));
            other[i] |= u32::from(!few) & exists[i];
            pixels[i] &= u32::from(some & few).wrapping_neg() & exists[i].wrapping_neg();
            visible[i] = other[i] | u32::from(pixels[i] != 0);
        }
    }
}

impl PrimitiveBuilder<'_> {
    /// Returns true if [`PrimitiveBuilder::set_up_lines`] handles the chunk.
    pub fn is_line_batch(&self) -> bool {
        let (state, linkage) = (&self.draw.draw.state, self.draw.linkage());
        self.draw.plan.topology.class() == TopologyClass::Line
            && state.line_mode == LineMode::Rectangular
            && state.line_stipple.is_none()
            && state.conservative == ConservativeMode::Disabled
            && !linkage.has_inner_edges
            && self.grid.samples == 1
            && linkage.viewport == NO_SLOT
            && linkage.mesh.as_ref().is_none_or(|mesh| mesh.viewport == NO_SLOT)
    }

    /// Sets up all primitives of a batch of lines in one viewport.
    #[inline(always)]
    pub fn set_up_lines(&mut self, batch: &Batch<'_>, lanes: &mut LineBatch) {
        let Some(viewport) = self.draw.plan.viewports.first() else { return };
        let (width, limit) = (self.line_width(), viewport.scissor_rect);
        for block in batch.primitives.chunks(BLOCK) {
            self.gather_ends(block, &mut lanes.ends);
            lanes.measure(width, limit);
            let (mut visible, mut count) = ([0u8; BLOCK], 0);
            for i in 0..block.len() {
                visible[count] = i as u8;
                count += lanes.ends.visible[i] as usize;
            }
            // The other lines left clipping, and touch no sample.
            self.leaving += (block.len() - count) as u64;
            let visible = &visible[..count];
            for (number, &i) in visible.iter().enumerate() {
                let (i, (ids, _)) = (usize::from(i), block[usize::from(i)]);
                let origin = PiecePixels::origin_of(lanes.ends.bounds.each_ref().map(|row| row[i]));
                lanes.planes.put(number, [0, 1].map(|k| &self.vertices[ids[k] as usize].screen), origin);
            }
            lanes.planes.make(count, Planes::line);
            for (number, &i) in visible.iter().enumerate() {
                self.segment_of(block[usize::from(i)], usize::from(i), number, limit, lanes);
            }
        }
    }

    #[inline(always)]
    fn gather_ends(&self, block: &[Assembled], ends: &mut LineLanes) {
        let all_in = self.layer_of_all();
        let first = usize::from(self.draw.draw.state.provoking_last);
        for (i, (ids, number)) in block.iter().enumerate().take(BLOCK) {
            let v = [0, 1].map(|k| &self.vertices[ids[k] as usize]);
            for k in 0..2 {
                (ends.x[k][i], ends.y[k][i]) = (v[k].screen.x, v[k].screen.y);
            }
            let layer = all_in.unwrap_or_else(|| self.layer(&self.own(*number), ids[first]));
            let (any, all) = (v[0].codes | v[1].codes, v[0].codes & v[1].codes);
            let other = ((any & CUT) | (all & code::CULL)) != 0 || layer >= self.grid.layers;
            (ends.other[i], ends.layer[i]) = (u32::from(other), layer);
        }
    }

    /// Sets up a line that may be visible: lane `i` of its block, and `number` among such lines.
    #[inline(always)]
    fn segment_of(&mut self, line: Assembled, i: usize, number: usize, limit: [i32; 4], lanes: &LineBatch) {
        let ((vertices, own), ends) = (line, &lanes.ends);
        if ends.other[i] != 0 {
            return self.set_up_one_by_one(core::slice::from_ref(&line));
        }
        self.leaving += 1;
        let Some(place) = PiecePixels::within(limit, ends.bounds.each_ref().map(|row| row[i])) else { return };
        let provoking = vertices[usize::from(self.draw.draw.state.provoking_last)];
        let (primitive_id, layer) = (self.own(own).primitive_id, ends.layer[i]);
        let common = PrimitiveCommon {
            vertices,
            corners: 2,
            primitive_id,
            number: own,
            layer,
            viewport: 0,
            front: true,
            provoking,
            ordered: OrderedVertices::new(vertices, TopologyClass::Line, self.draw.draw.state.provoking_last),
        };
        let shape = (place, ShapeEdges::NONE, ends.pixels[i]);
        self.emit(shape, &lanes.planes.get(number), &common, None, AttributeValues::Vertices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::setup::Outline;
    use crate::prim::{SUBPIXEL, ScreenVertex, TileGrid};

    /// Tests short lines in all directions: some have no length, some are far away, some are
    /// longer, and some lie at the edges of the drawn area.
    #[test]
    fn lanes_find_the_pixels_of_each_line() {
        let mut random = base::random::Rng(11);
        let grid = TileGrid { tiles: [2, 2], layers: 1, samples: 1 };
        let (mut lanes, limit) = (LineBatch::default(), [3, 2, 100, 90]);
        let (mut small, mut empty, mut other) = (0, 0, 0);
        for round in 0..400 {
            let width = [1.0, 1.0, 1.5, 2.25, 7.0][round % 5];
            let mut ends = [[ScreenVertex::default(); 2]; BLOCK];
            for (i, [a, b]) in ends.iter_mut().enumerate() {
                let coordinate = |random: &mut base::random::Rng| random.below(120 * SUBPIXEL as u32) as i32 - 2560;
                (a.x, a.y) = (coordinate(&mut random), coordinate(&mut random));
                let max = random.pick(&[1, 64, 700, 700, 700, 3000]);
                let step = |random: &mut base::random::Rng| random.below(2 * max) as i32 - max as i32;
                (b.x, b.y) = (a.x + step(&mut random), a.y + step(&mut random));
                if random.below(8) == 0 {
                    (a.x, b.x) = (a.x & !127, a.x & !127);
                }
                for (k, end) in [a, b].into_iter().enumerate() {
                    (lanes.ends.x[k][i], lanes.ends.y[k][i]) = (end.x, end.y);
                }
            }
            lanes.ends.other = [0; BLOCK];
            lanes.measure(width, limit);
            for (i, ends) in ends.iter().enumerate() {
                let outline = Outline::line(ends, width, 0.0);
                let place =
                    outline.and_then(|outline| Some((PiecePixels::new(&grid, limit, &outline)?, outline.edges())));
                let want = place.and_then(|(place, edges)| place.pixels(&grid, &edges));
                let of = &lanes.ends;
                match (of.other[i], want) {
                    (0, None) => assert_eq!((of.visible[i], of.pixels[i]), (0, 0), "{ends:?} {width}"),
                    (0, Some(pixels)) => assert_eq!((of.visible[i], of.pixels[i]), (1, pixels), "{ends:?} {width}"),
                    // Lines on the general path must be longer; clipping reduces some of them to a
                    // few pixels or none.
                    _ => {
                        let [x0, y0, x1, y1] = of.bounds.each_ref().map(|row| row[i]);
                        assert!(of.visible[i] == 1 && (x1 - x0 > SMALL || y1 - y0 > SMALL), "{ends:?} {width}");
                    }
                }
                small += u32::from(of.other[i] == 0 && want.is_some());
                empty += u32::from(of.other[i] == 0 && want.is_none());
                other += of.other[i];
            }
        }
        assert!(small > 1000 && empty > 1000 && other > 1000, "{small} {empty} {other}");
    }
}
