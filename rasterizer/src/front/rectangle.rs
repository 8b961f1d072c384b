//! Halves of rectangles, and consecutive pairs of them that form one rectangle: interfaces, glyphs,
//! sprites and particles consist of them.
//!
//! A half is a triangle at one depth and distance whose vertices are corners of the rectangle
//! around it. Its planes are those of the rectangle's upper left half, with the value that a
//! missing corner would have. Each value thus depends on nothing else that the fragments receive.
//! If both halves have the same planes, they are set up as one primitive whose outline is the
//! rectangle's. Then nothing is shaded twice along the diagonal, and no pixel is tested against it.
//! Which triangles are paired depends only on the draw ([`crate::stages::RectanglePairs`]).
//!
//! Pairs are tested and set up as lanes ([`TrianglePairLanes`]): whether two triangles are a
//! rectangle is a long chain of comparisons, of which all but the last hold for nearly all of them.
//! A single half is [`super::setup::HalfRectangle`], with the same bits.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::attributes::flat_agree;
use super::bins::bin_as;
use super::planes::{Planes, doubled_area};
use super::primitive::PrimitiveBuilder;
use super::setup::{Bounding, Outline, PiecePixels};
use super::stream::Assembled;
use super::triangle_batch::TriangleBatch;
use super::triangle_pairs::{TrianglePairLanes, mask};
use crate::prim::{GROUP, SMALL, ScreenVertex, word_of};

impl PrimitiveBuilder<'_> {
    /// Sets up the next couples of triangles of a block, as rectangles or not. The first triangle
    /// of each has a bit in `couples`, which is cleared. The couples form one group and begin
    /// before lane `end`.
    #[inline(always)]
    pub fn pairs(&mut self, block: &[Assembled], couples: &mut u64, end: usize, lanes: &mut TriangleBatch) {
        let (mut firsts, mut provoking, mut count) = ([0u8; GROUP], [0; GROUP], 0);
        while *couples != 0 && count < GROUP {
            let i = couples.trailing_zeros() as usize;
            if i > end {
                break;
            }
            *couples &= *couples - 1;
            self.put_pair([block[i].0, block[i + 1].0], count, &mut lanes.pairs);
            (firsts[count], provoking[count]) = (i as u8, block[i].0[0]);
            count += 1;
        }
        let linkage = self.draw.linkage();
        lanes.pairs.measure();
        lanes.pairs.attributes(count, linkage, self.shaded, &provoking);
        let firsts = &firsts[..count];
        let all = self.rectangles(block, firsts, lanes);
        let before = self.out.prims.len();
        if all {
            self.out.push_lanes(lanes.pairs.planes.prims(0), count);
        }
        for (k, i) in firsts.iter().map(|&i| usize::from(i)).enumerate() {
            if all {
                self.rectangle(before + k, k, i, lanes);
                continue;
            }
            if lanes.pairs.whole[k] != 0 {
                let number = self.out.prims.len();
                self.out.push_lane(lanes.pairs.planes.prims(0), k);
                self.rectangle(number, k, i, lanes);
                continue;
            }
            self.set_up_visible(block[i], i, lanes);
            self.set_up_visible(block[i + 1], i + 1, lanes);
        }
    }

    /// Returns true if no cheap test shows that two halves of rectangles, in one layer and with the
    /// same orientation, are not one rectangle.
    #[inline(always)]
    pub fn may_be_rectangle(&self, pair: [Assembled; 2]) -> bool {
        let [(ids, _), (others, _)] = pair;
        // This test is the fastest, so a mesh whose triangles have separate colours loses no time
        // here.
        if !flat_agree(self.draw.linkage(), self.shaded, [ids[0], others[0]]) {
            return false;
        }
        let level = |id: u32| {
            let screen = &self.vertices[id as usize].screen;
            u64::from(screen.z.to_bits()) << 32 | u64::from(screen.inv_w.to_bits())
        };
        let first = level(ids[0]);
        let other = |id: u32| level(id) ^ first;
        other(ids[1]) | other(ids[2]) | other(others[0]) | other(others[1]) | other(others[2]) == 0
    }

    /// Stores the vertices of a pair in lane `k`.
    #[inline(always)]
    fn put_pair(&self, ids: [[u32; 3]; 2], k: usize, pairs: &mut TrianglePairLanes) {
        for half in 0..2 {
            for corner in 0..3 {
                let id = ids[half][corner];
                let screen = &self.vertices[id as usize].screen;
                (pairs.x[half][corner][k], pairs.y[half][corner][k]) = (screen.x, screen.y);
                pairs.bases[half][corner][k] = self.shaded.base(id as usize) as u32;
            }
        }
        let screen = &self.vertices[ids[0][0] as usize].screen;
        (pairs.level[0][k], pairs.level[1][k]) = (screen.z.to_bits(), screen.inv_w.to_bits());
    }

    /// Makes the records of pairs as if all were rectangles, except for the positions of their
    /// attributes and edges. Returns true if all are rectangles and have pixels.
    #[inline(always)]
    fn rectangles(&self, block: &[Assembled], firsts: &[u8], lanes: &mut TriangleBatch) -> bool {
        let viewport = &self.draw.plan.viewports[0];
        let (limit, [low, high], one) = (viewport.view_rect, viewport.depth_range, self.grid.samples == 1);
        let TriangleBatch { pairs, bounds, layer, front, .. } = lanes;
        let TrianglePairLanes { extremes, level, planes, whole, .. } = pairs;
        let mut sides = [[0; GROUP]; 4];
        for (k, &i) in firsts.iter().enumerate() {
            let (i, [x0, y0, x1, y1]) = (usize::from(i), extremes.each_ref().map(|row| row[k]));
            let bounds = bounds.each_ref().map(|row| row[i]);
            let [z, inv_w] = level.map(|row| f32::from_bits(row[k]));
            let at = |x, y| ScreenVertex { x, y, z, inv_w };
            planes.put(k, [&at(x0, y0), &at(x1, y0), &at(x0, y1)], PiecePixels::origin_of(bounds));
            for (end, row) in sides.iter_mut().enumerate() {
                row[k] = bounds[end];
            }
            let words = &mut planes.prims(0).0;
            words[word_of!(shade.front_facing)][k] = front[i];
            words[word_of!(shade.primitive_id)][k] = self.own(block[i].1).primitive_id;
            words[word_of!(shade.layer)][k] = layer[i];
        }
        let of = |screen: &[ScreenVertex; 3]| Planes::triangle(screen, doubled_area(screen));
        if self.draw.draw.state.depth_bias.is_none() {
            planes.make(firsts.len(), of);
        } else {
            planes.make(firsts.len(), |screen| {
                let mut planes = of(screen);
                self.bias(&mut planes, 0.0);
                planes
            });
        }
        let words = &mut planes.prims(0).0;
        let mut all = [0u32; GROUP];
        for k in 0..GROUP {
            let mut rect = sides.each_ref().map(|row| row[k]);
            if one {
                // The pixels are those whose centres are inside, including those on the left and
                // the upper side, so no edge is needed.
                for (side, extremes) in rect.iter_mut().zip(extremes.iter()) {
                    *side = Bounding::CENTRES.first(extremes[k]);
                }
            }
            let (x0, y0) = (rect[0].max(limit[0]), rect[1].max(limit[1]));
            let (x1, y1) = (rect[2].min(limit[2]).max(x0), rect[3].min(limit[3]).max(y0));
            words[word_of!(sides)][k] = x0 as u32 & 0xffff | (y0 as u32) << 16;
            words[word_of!(sides) + 1][k] = x1 as u32 & 0xffff | (y1 as u32) << 16;
            let (width, height) = (x1.wrapping_sub(x0) as u32, y1.wrapping_sub(y0) as u32);
            let few = one & (width <= SMALL as u32) & (height <= SMALL as u32);
            let columns = (0x1111 << (width & 7)) - 0x1111u32;
            let rows = (1u32 << (4 * (height & 7))) - 1;
            words[word_of!(edge_count)][k] = (columns & rows & mask(few)) << 16;
            (words[word_of!(depth_range)][k], words[word_of!(depth_range) + 1][k]) = (low.to_bits(), high.to_bits());
            all[k] = whole[k] & mask((width != 0) & (height != 0));
        }
        all[..firsts.len()].iter().all(|&rectangle| rectangle != 0)
    }

    /// Completes the last record (`number`), which is the rectangle of lane `k`, and bins it;
    /// removes it if it has no pixels. Its first triangle is that of lane `i` of its block.
    #[inline(always)]
    fn rectangle(&mut self, number: usize, k: usize, i: usize, lanes: &TriangleBatch) {
        self.leaving += 2;
        let TrianglePairLanes { extremes, rows, .. } = &lanes.pairs;
        let (grid, out) = (self.grid, &mut *self.out);
        let row = out.attributes.len();
        let Some(prim) = out.prims.get_mut(number) else { return };
        let rect = prim.rect();
        if rect[0] >= rect[2] || rect[1] >= rect[3] {
            out.prims.truncate(number);
            return;
        }
        prim.shade.attributes = core::ptr::without_provenance(row);
        let mut to = out.rows(rows.len());
        rows.iter().for_each(|row| to.push_one([row[0][k], row[1][k], row[2][k]]));
        drop(to);
        if grid.samples == 1 {
            return bin_as(out, grid, (number, rect), &[], lanes.layer[i]);
        }
        let edges = Outline::rectangle(extremes.each_ref().map(|row| row[k])).edges_turning(false, None);
        let prim = &mut out.prims[number];
        (prim.first_edge, prim.edge_count) = (out.edges.len() as u32, edges.count as u16);
        out.edges.extend_from_slice(&edges.edges);
        bin_as(out, grid, (number, rect), &edges.edges, lanes.layer[i]);
    }
}
