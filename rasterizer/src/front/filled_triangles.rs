//! Filled triangles of one viewport, in blocks.
//!
//! Half of a mesh faces away or touches no sample, and no branch predictor can guess which half. A
//! block's triangles are therefore measured as lanes ([`super::triangle_batch`]), and only those
//! that may be visible are set up. Triangles of a few pixels become records as lanes too
//! ([`PrimitiveBuilder::small`]), the others one by one.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::attributes::{WholeTriangle, triangle_rows};
use super::bins::bin_as;
use super::planes::{Planes, doubled_area};
use super::primitive::{CULL_BACK, CULL_FRONT, PrimitiveBuilder};
use super::primitive_lanes::BLOCK;
use super::project::ProjectedVertex;
use super::setup::{Bounding, Outline, PiecePixels, PrimitiveCommon, ShapeEdges, cut};
use super::stream::{Assembled, Batch};
use super::triangle_batch::{SEVERAL_TILES, TriangleBatch, TriangleFilter};
use super::vertex_order::OrderedVertices;
use super::viewport::code;
use crate::api::{ConservativeMode, PolygonMode, TopologyClass};
use crate::prim::{GROUP, ScreenVertex, transposed, word_of};
use crate::stages::{NO_SLOT, RectanglePairs};

impl PrimitiveBuilder<'_> {
    /// Returns true if [`PrimitiveBuilder::set_up_triangles`] handles the chunk.
    pub fn is_filled(&self) -> bool {
        let (state, linkage) = (&self.draw.draw.state, self.draw.linkage());
        self.draw.plan.topology.class() == TopologyClass::Triangle
            && state.polygon_mode == PolygonMode::Fill
            && state.conservative == ConservativeMode::Disabled
            && !linkage.has_inner_edges
            && linkage.viewport == NO_SLOT
            && linkage.mesh.as_ref().is_none_or(|mesh| mesh.viewport == NO_SLOT)
    }

    /// Sets up all primitives of a chunk of filled triangles in one viewport.
    #[inline(always)]
    pub fn set_up_triangles(&mut self, batch: &Batch<'_>, lanes: &mut TriangleBatch) {
        let state = &*self.draw.draw.state;
        let Some(viewport) = self.draw.plan.viewports.first() else { return };
        let (front, back) = (state.cull_mode & CULL_FRONT != 0, state.cull_mode & CULL_BACK != 0);
        let (positive, negative) = if state.front_clockwise { (front, back) } else { (back, front) };
        let filter = TriangleFilter {
            bounding: Bounding::new(self.grid),
            limit: viewport.view_rect,
            positive,
            negative,
            clockwise: state.front_clockwise,
        };
        let pairs =
            self.draw.linkage().pairs(self.grid.samples, &self.draw.draw.state.shading_rate) != RectanglePairs::None;
        let (mut start, len) = (0, batch.primitives.len());
        while start < len {
            let mut end = (start + BLOCK).min(len);
            if end < len && self.follows(batch, end) {
                end -= 1;
            }
            let block = &batch.primitives[start..end];
            self.gather(block, lanes);
            lanes.measure(&filter);
            match self.grid.samples {
                1 => lanes.cover(filter.limit, pairs),
                // The lanes may hold the results of another draw, which must not be used either.
                _ => (lanes.pixels, lanes.nothing) = ([0; BLOCK], [0; BLOCK]),
            }
            lanes.place(filter.limit, self.grid);
            let (mut visible, mut count) = ([0u8; BLOCK], 0);
            for i in 0..block.len() {
                visible[count] = i as u8;
                count += lanes.visible[i] as usize;
                self.leaving += u64::from(lanes.culled[i]);
            }
            let mut visible = &visible[..count];
            let (mut single, mut couples) = ([0u8; BLOCK], 0);
            if pairs {
                couples = self.couples(batch, start, visible, lanes);
                visible = self.without_couples(visible, couples, lanes, &mut single);
            }
            let plain = self.planes(block, visible, lanes);
            let mut at = 0;
            loop {
                let next = couples.trailing_zeros() as usize;
                // These triangles stand before the next couple, in order.
                let here = at + visible[at..].iter().take_while(|&&i| usize::from(i) < next).count();
                while at < here {
                    let end = here.min((at / GROUP + 1) * GROUP);
                    let run = (!(plain >> at)).trailing_zeros() as usize;
                    let some = &visible[at..end.min(at + run)];
                    if some.is_empty() {
                        let i = usize::from(visible[at]);
                        self.set_up_visible(block[i], i, lanes);
                        at += 1;
                    } else {
                        self.plain(block, some, at, lanes);
                        at += some.len();
                    }
                }
                if couples == 0 {
                    break;
                }
                self.pairs(block, &mut couples, visible.get(at).map_or(BLOCK, |&i| usize::from(i)), lanes);
            }
            start = end;
        }
    }

    /// Returns true if a triangle of a batch may become one rectangle with the one before it.
    #[inline(always)]
    pub fn follows(&self, batch: &Batch<'_>, i: usize) -> bool {
        match (self.draw.linkage().pairs(self.grid.samples, &self.draw.draw.state.shading_rate), batch.begins) {
            (RectanglePairs::Numbered, _) => {
                let (before, number) = (batch.primitives[i - 1].1, batch.primitives[i].1);
                before % 2 == 0 && before + 1 == number
            }
            (RectanglePairs::FirstOfStrip, Some(begins)) => begins[i - 1] && !begins[i],
            _ => false,
        }
    }

    /// Returns the common values of the pieces of a triangle in the first viewport.
    #[inline(always)]
    pub fn common_of(&self, ids: [u32; 3], number: u32, layer: u32, area: f64) -> PrimitiveCommon {
        let front = self.faces_front(area);
        let primitive_id = self.own(number).primitive_id;
        PrimitiveCommon {
            vertices: ids,
            corners: 3,
            primitive_id,
            number,
            layer,
            viewport: 0,
            front,
            provoking: ids[0],
            ordered: OrderedVertices::new(ids, TopologyClass::Triangle, self.draw.draw.state.provoking_last),
        }
    }

    #[inline(always)]
    fn gather(&self, block: &[Assembled], lanes: &mut TriangleBatch) {
        let (all_in, last) = (self.layer_of_all(), block.len().saturating_sub(1));
        for first in (0..block.len().min(BLOCK)).step_by(4) {
            let four: [&Assembled; 4] = core::array::from_fn(|k| &block[(first + k).min(last)]);
            let (mut any, mut all) = ([0; 4], [u32::MAX; 4]);
            for corner in 0..3 {
                let v: [&ProjectedVertex; 4] = core::array::from_fn(|k| &self.vertices[four[k].0[corner] as usize]);
                let [a, b, c, d] = v;
                let [x, y, ..] = transposed([a.screen.words(), b.screen.words(), c.screen.words(), d.screen.words()]);
                for k in 0..4 {
                    lanes.corners.x[corner][first + k] = x[k] as i32;
                    lanes.corners.y[corner][first + k] = y[k] as i32;
                    any[k] |= v[k].codes;
                    all[k] &= v[k].codes;
                }
            }
            for k in 0..4 {
                (lanes.any[first + k], lanes.all[first + k]) = (any[k], all[k]);
            }
        }
        for (i, (ids, number)) in block.iter().enumerate().take(BLOCK) {
            lanes.layer[i] = all_in.unwrap_or_else(|| self.layer(&self.own(*number), ids[0]));
            if lanes.layer[i] >= self.grid.layers {
                lanes.all[i] = code::REJECT;
            }
        }
    }

    /// Returns a bit for each triangle that may be a rectangle together with the next one.
    #[inline(always)]
    fn couples(&self, batch: &Batch<'_>, start: usize, visible: &[u8], lanes: &TriangleBatch) -> u64 {
        let (mut couples, mut rest) = (0, visible);
        while let [i, next, ..] = *rest {
            let (i, next) = (usize::from(i) % BLOCK, usize::from(next) % BLOCK);
            let halves = lanes.half[i] & lanes.half[next] != 0 && lanes.sign[i] * lanes.sign[next] > 0.0;
            let may = halves && next == i + 1 && self.follows(batch, start + next);
            let pair = [batch.primitives[start + i], batch.primitives[start + next]];
            let couple = may && lanes.layer[i] == lanes.layer[next] && self.may_be_rectangle(pair);
            couples |= u64::from(couple) << i;
            rest = &rest[if couple { 2 } else { 1 }..];
        }
        couples
    }

    /// Lists the triangles that are not in couples, except those that turned out to cover nothing.
    #[inline(always)]
    fn without_couples<'s>(
        &mut self,
        visible: &[u8],
        couples: u64,
        lanes: &TriangleBatch,
        to: &'s mut [u8; BLOCK],
    ) -> &'s [u8] {
        let others = !(couples | couples << 1);
        let mut count = 0;
        for &i in visible {
            let single = others >> (i % BLOCK as u8) & 1 == 1;
            let nothing = lanes.nothing[usize::from(i) % BLOCK] != 0;
            to[count % BLOCK] = i;
            count += usize::from(single & !nothing);
            self.leaving += u64::from(single & nothing);
        }
        &to[..count]
    }

    /// Computes the planes of those triangles of a block that may be visible. Returns a bit for
    /// each that [`PrimitiveBuilder::plain`] handles.
    #[inline(always)]
    fn planes(&self, block: &[Assembled], visible: &[u8], lanes: &mut TriangleBatch) -> u64 {
        let mut plain = 0;
        for (number, i) in visible.iter().map(|&i| usize::from(i)).enumerate() {
            let origin = PiecePixels::origin_of(lanes.bounds.each_ref().map(|row| row[i]));
            let (ids, _) = block[i];
            let [a, b, c] = ids.map(|id| &self.vertices[id as usize].screen);
            lanes.planes.put(number, [a, b, c], origin);
            let level = (a.z.to_bits() ^ b.z.to_bits()) | (a.z.to_bits() ^ c.z.to_bits()) == 0;
            let half = (lanes.half[i] != 0) & level & self.draw.linkage().has_half_rows;
            let clipped = lanes.any[i] & (code::CLIP | code::UNPROJECTED) != 0;
            plain |= u64::from(!clipped & !half) << number;
        }
        let of = |screen: &[ScreenVertex; 3]| Planes::triangle(screen, doubled_area(screen));
        if self.draw.draw.state.depth_bias.is_none() {
            lanes.planes.make(visible.len(), of);
        } else {
            lanes.planes.make(visible.len(), |screen| self.biased(of(screen)));
        }
        plain
    }

    /// Sets up unclipped triangles, most of which are a few pixels whose coverage is known. They
    /// are those at `some` lanes; their planes begin with `number` and belong to one group. Larger
    /// triangles have edges too. As no branch predictor can guess which are larger, everything else
    /// is done for all of them.
    #[inline(always)]
    fn plain(&mut self, block: &[Assembled], some: &[u8], number: usize, lanes: &mut TriangleBatch) {
        self.leaving += some.len() as u64;
        let PrimitiveBuilder { draw, grid, shaded, records, .. } = *self;
        let linkage = draw.linkage();
        let (first, row) = (self.out.prims.len(), self.out.attributes.len());
        let [low, high] = draw.plan.viewports[0].depth_range;
        let prims = lanes.planes.prims(number);
        let from = number % GROUP;
        for (k, &i) in some.iter().enumerate().take(GROUP - from) {
            let (i, row) = (usize::from(i) % BLOCK, row + k * linkage.rows);
            let (words, k) = (&mut prims.0, from + k);
            words[word_of!(sides)][k] = lanes.sides[0][i];
            words[word_of!(sides) + 1][k] = lanes.sides[1][i];
            // The number of edges lies before the pixels.
            words[word_of!(edge_count)][k] = lanes.pixels[i] << 16;
            words[word_of!(shade.front_facing)][k] = lanes.front[i];
            words[word_of!(shade.primitive_id)][k] = self.own(block[i].1).primitive_id;
            words[word_of!(shade.layer)][k] = lanes.layer[i];
            words[word_of!(shade.attributes)][k] = row as u32;
            words[word_of!(depth_range)][k] = low.to_bits();
            words[word_of!(depth_range) + 1][k] = high.to_bits();
        }
        if from == 0 {
            self.out.push_lanes(prims, some.len());
        } else {
            (from..from + some.len()).for_each(|lane| self.out.push_lane(prims, lane));
        }
        let ready = lanes.vertex_values.ready(linkage, shaded, self.count);
        let mut rows = self.out.rows(linkage.rows * some.len());
        let provoking_last = draw.draw.state.provoking_last;
        for &i in some {
            let (ids, number) = block[usize::from(i) % BLOCK];
            let triangle = WholeTriangle { sources: (shaded, records), ids, number, provoking_last };
            if ready {
                lanes.vertex_values.rows(linkage, &triangle, &mut rows);
            } else {
                triangle_rows(linkage, &triangle, &mut rows);
            }
        }
        drop(rows);
        for (k, &i) in some.iter().enumerate() {
            let i = usize::from(i) % BLOCK;
            if lanes.pixels[i] == 0 {
                self.edges(block[i].0, first + k, lanes.area[i] < 0.0);
            }
        }
        for (k, &i) in some.iter().enumerate() {
            let i = usize::from(i) % BLOCK;
            if lanes.tile[i] != SEVERAL_TILES {
                self.out.bins.push(u64::from(lanes.tile[i]) << 32 | (first + k) as u64);
                continue;
            }
            let prim = &self.out.prims[first + k];
            let (rect, edges) = (prim.rect(), ShapeEdges::copied(self.out.edges_of(prim)));
            bin_as(self.out, grid, (first + k, rect), &edges.edges[..edges.count as usize], lanes.layer[i]);
        }
    }

    /// Appends the edges of a triangle that is primitive `number`.
    #[inline(always)]
    fn edges(&mut self, ids: [u32; 3], number: usize, counter_clockwise: bool) {
        // `map` is avoided, because it would store each corner and load two at once, for which the
        // processor would wait.
        let [a, b, c] = ids.map(|id| &self.vertices[id as usize].screen);
        let out = &mut *self.out;
        let Some(prim) = out.prims.get_mut(number) else { return };
        let edges = Outline::triangle(&[*a, *b, *c]).edges_turning(counter_clockwise, cut(self.grid, prim.rect()));
        (prim.first_edge, prim.edge_count) = (out.edges.len() as u32, edges.count as u16);
        out.edges.extend_from_slice(&edges.edges[..edges.count as usize]);
    }

    /// Sets up a triangle that passed the filter, by its lane: a clipped one, or one that is half
    /// of a rectangle.
    #[inline(always)]
    pub fn set_up_visible(&mut self, (ids, own): Assembled, i: usize, lanes: &TriangleBatch) {
        if lanes.any[i] & (code::CLIP | code::UNPROJECTED) != 0 {
            return self.set_up_one_by_one(core::slice::from_ref(&(ids, own)));
        }
        self.leaving += 1;
        let area = lanes.area[i];
        let common = self.common_of(ids, own, lanes.layer[i], area);
        // `map` is avoided, because it would store each corner and load two at once, for which the
        // processor would wait.
        let [a, b, c] = ids.map(|id| &self.vertices[id as usize].screen);
        let (bounds, pixels) = (lanes.bounds.each_ref().map(|row| row[i]), lanes.pixels[i]);
        self.fill(&[*a, *b, *c], area, (bounds, pixels), &common, None);
    }
}
