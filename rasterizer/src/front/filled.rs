//! Filled triangles of one viewport, in blocks.
//!
//! Half of a mesh faces away or touches no sample, and no processor can guess which half: a block's triangles are measured as lanes, what
//! nobody can see is sorted out without branches, and only the rest is set up one by one. Of triangles of a few pixels, which are those of
//! tessellated and of distant meshes, lanes have the very pixels too ([`Measures::cover`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::lanes::{BLOCK, Corners, PlaneLanes};
use super::link::Pairs;
use super::planes::{Planes, doubled_area};
use super::primitive::{Builder, CULL_BACK, CULL_FRONT};
use super::setup::{Bounding, Common, Edges, Place, Values};
use super::stream::{Assembled, Batch};
use super::viewport::code;
use crate::api::{PolygonMode, TopologyClass};
use crate::prim::{SMALL, Screen};
use crate::stage::NO_SLOT;

/// The triangles of a block, as lanes; a worker keeps them.
pub struct Measures {
    corners: Corners<3>,
    /// Outcodes that any corner has, and those that all have.
    any: [u32; BLOCK],
    all: [u32; BLOCK],
    layer: [u32; BLOCK],
    /// See [`doubled_area`]: exact.
    area: [f64; BLOCK],
    /// The same, rounded: of its sign.
    sign: [f32; BLOCK],
    /// Pixels whose samples can be inside: x0, y0, x1, y1.
    bounds: [[i32; BLOCK]; 4],
    /// Of triangles of at most 4×4 pixels, unclipped: [`crate::prim::Prim::pixels`]; else 0.
    pixels: [u32; BLOCK],
    /// 1: half as large as the rectangle around it, unclipped.
    half: [u32; BLOCK],
    /// 1: must be looked at.
    seen: [u32; BLOCK],
    /// 1: leaves clipping, and touches no sample or is culled.
    unseen: [u32; BLOCK],
    /// Of those that are looked at.
    planes: PlaneLanes<3>,
}

/// What decides whether a triangle of a draw is seen.
struct Filter {
    bounding: Bounding,
    limit: [i32; 4],
    /// Culls where the area is positive, where it is negative.
    positive: bool,
    negative: bool,
}

impl Default for Measures {
    fn default() -> Self {
        Measures {
            corners: Corners::default(),
            any: [0; BLOCK],
            all: [0; BLOCK],
            layer: [0; BLOCK],
            area: [0.0; BLOCK],
            sign: [0.0; BLOCK],
            bounds: [[0; BLOCK]; 4],
            pixels: [0; BLOCK],
            half: [0; BLOCK],
            seen: [0; BLOCK],
            unseen: [0; BLOCK],
            planes: PlaneLanes::default(),
        }
    }
}

impl Measures {
    /// Measures all lanes.
    #[inline(always)]
    fn measure(&mut self, filter: &Filter) {
        let Corners { x: [x0, x1, x2], y: [y0, y1, y2], turned } = &mut self.corners;
        let difference = |a: i32, b: i32| f64::from(a.wrapping_sub(b));
        for i in 0..BLOCK {
            let (ax, ay) = (difference(x1[i], x0[i]), difference(y1[i], y0[i]));
            let (bx, by) = (difference(x2[i], x0[i]), difference(y2[i], y0[i]));
            self.area[i] = ax * by - bx * ay;
            self.sign[i] = self.area[i] as f32;
            turned[i] = if self.sign[i] < 0.0 { -1 } else { 0 };
        }
        let [left, top, right, bottom] = &mut self.bounds;
        for i in 0..BLOCK {
            left[i] = filter.bounding.first(x0[i].min(x1[i]).min(x2[i]));
            top[i] = filter.bounding.first(y0[i].min(y1[i]).min(y2[i]));
            right[i] = filter.bounding.end(x0[i].max(x1[i]).max(x2[i]));
            bottom[i] = filter.bounding.end(y0[i].max(y1[i]).max(y2[i]));
        }
        for i in 0..BLOCK {
            let width = difference(x0[i].max(x1[i]).max(x2[i]), x0[i].min(x1[i]).min(x2[i]));
            let height = difference(y0[i].max(y1[i]).max(y2[i]), y0[i].min(y1[i]).min(y2[i]));
            let clipped = self.any[i] & (code::CLIP | code::UNPROJECTED) != 0;
            self.half[i] = u32::from((self.area[i].abs() == width * height) & !clipped);
        }
        let limit = filter.limit;
        for i in 0..BLOCK {
            let empty =
                (left[i].max(limit[0]) >= right[i].min(limit[2])) | (top[i].max(limit[1]) >= bottom[i].min(limit[3]));
            let (above, below) = (self.sign[i] > 0.0, self.sign[i] < 0.0);
            let invisible = empty | !(above | below) | (above & filter.positive) | (below & filter.negative);
            let (any, all) = (self.any[i], self.all[i]);
            let rejected = (all & (code::REJECT | code::CULL) != 0) | (any & code::NAN != 0);
            // Only of the projected and unclipped is that the last word.
            let settled = (any & (code::CLIP | code::UNPROJECTED) == 0) & invisible;
            self.seen[i] = u32::from(!(rejected | settled));
            self.unseen[i] = u32::from(settled & !rejected);
        }
    }
}

impl Measures {
    /// Finds out which pixels small triangles cover at their centres, and sorts out those that cover none. (Where they go in `pairs`, a half of a rectangle may
    /// become one with its other half, and is left for that.)
    #[inline(always)]
    fn cover(&mut self, limit: [i32; 4], pairs: bool) {
        let mut small = [0u32; BLOCK];
        let [left, top, right, bottom] = &self.bounds;
        for i in 0..BLOCK {
            let few = (right[i].wrapping_sub(left[i]) <= SMALL) & (bottom[i].wrapping_sub(top[i]) <= SMALL);
            small[i] = self.seen[i] & u32::from(few & (self.any[i] & (code::CLIP | code::UNPROJECTED) == 0));
        }
        if small.iter().fold(0, |any, small| any | small) == 0 {
            self.pixels = [0; BLOCK];
            return;
        }
        self.corners.cover(&self.bounds, limit, &mut self.pixels);
        let left_for_pairs = u32::from(pairs);
        for i in 0..BLOCK {
            self.pixels[i] &= small[i].wrapping_neg();
            let nothing = small[i] & u32::from(self.pixels[i] == 0) & !(self.half[i] & left_for_pairs);
            self.seen[i] &= !nothing;
            self.unseen[i] |= nothing;
        }
    }
}

impl Builder<'_> {
    /// Is the chunk one for [`Builder::filled`]?
    pub fn is_filled(&self) -> bool {
        let (state, linkage) = (&self.draw.draw.state, &self.draw.plan.linkage);
        self.draw.plan.topology.class() == TopologyClass::Triangle
            && state.polygon_mode == PolygonMode::Fill
            && linkage.viewport == NO_SLOT
            && linkage.mesh.as_ref().is_none_or(|mesh| mesh.viewport == NO_SLOT)
    }

    /// All primitives of a chunk of filled triangles in one viewport.
    #[inline(always)]
    pub fn filled(&mut self, batch: &Batch<'_>, lanes: &mut Measures) {
        let state = &*self.draw.draw.state;
        let Some(viewport) = self.draw.plan.viewports.first() else { return };
        let (front, back) = (state.cull_mode & CULL_FRONT != 0, state.cull_mode & CULL_BACK != 0);
        let (positive, negative) = if state.front_clockwise { (front, back) } else { (back, front) };
        let filter = Filter { bounding: Bounding::new(self.grid), limit: viewport.view_rect, positive, negative };
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
                1 => lanes.cover(filter.limit, self.draw.plan.linkage.pairs != Pairs::None),
                // Nor are they those of another draw, whose lanes these were.
                _ => lanes.pixels = [0; BLOCK],
            }
            let (mut seen, mut count) = ([0u8; BLOCK], 0);
            for i in 0..block.len() {
                seen[count] = i as u8;
                count += lanes.seen[i] as usize;
                self.leaving += u64::from(lanes.unseen[i]);
            }
            let seen = &seen[..count];
            let planes = self.planes(block, seen, lanes);
            let mut rest = seen;
            while let Some((&i, after)) = rest.split_first() {
                let number = planes.then_some(count - rest.len());
                let (i, next) = (usize::from(i), after.first().map(|&next| usize::from(next)));
                rest = after;
                let may = next == Some(i + 1) && self.follows(batch, start + i + 1);
                if may && self.two([block[i], block[i + 1]], i, lanes) {
                    rest = &after[1..];
                    continue;
                }
                self.seen(block[i], (i, number), lanes);
            }
            start = end;
        }
    }

    /// May a triangle of a batch become one rectangle with the one before it?
    #[inline(always)]
    fn follows(&self, batch: &Batch<'_>, i: usize) -> bool {
        match (self.draw.plan.linkage.pairs, batch.begins) {
            (Pairs::Numbered, _) => {
                let (before, number) = (batch.primitives[i - 1].1, batch.primitives[i].1);
                before % 2 == 0 && before + 1 == number
            }
            (Pairs::OfStrips, Some(begins)) => begins[i - 1] && !begins[i],
            _ => false,
        }
    }

    /// Sets a triangle and the next one up, if they are one rectangle.
    #[inline(always)]
    fn two(&mut self, pair: [Assembled; 2], i: usize, lanes: &Measures) -> bool {
        let halves = lanes.half[i] & lanes.half[i + 1] != 0 && lanes.sign[i] * lanes.sign[i + 1] > 0.0;
        let (bounds, layer) = (lanes.bounds.each_ref().map(|row| row[i]), lanes.layer[i]);
        let areas = [lanes.area[i], lanes.area[i + 1]];
        halves && layer == lanes.layer[i + 1] && self.rectangle(pair, areas, bounds, layer)
    }

    /// What is common to the pieces of a triangle in the first viewport.
    #[inline(always)]
    pub fn common_of(&self, ids: [u32; 3], number: u32, layer: u32, area: f64) -> Common {
        let front = self.faces_front(area);
        let primitive_id = self.own(number).primitive_id;
        Common { vertices: ids, corners: 3, primitive_id, number, layer, viewport: 0, front, provoking: ids[0] }
    }

    #[inline(always)]
    fn gather(&self, block: &[Assembled], lanes: &mut Measures) {
        let all_in = self.layer_of_all();
        for (i, (ids, number)) in block.iter().enumerate().take(BLOCK) {
            let v = ids.map(|id| &self.vertices[id as usize]);
            for corner in 0..3 {
                lanes.corners.x[corner][i] = v[corner].screen.x;
                lanes.corners.y[corner][i] = v[corner].screen.y;
            }
            lanes.any[i] = v[0].codes | v[1].codes | v[2].codes;
            lanes.all[i] = v[0].codes & v[1].codes & v[2].codes;
            lanes.layer[i] = all_in.unwrap_or_else(|| self.layer(&self.own(*number), ids[0]));
            if lanes.layer[i] >= self.grid.layers {
                lanes.all[i] = code::REJECT;
            }
        }
    }

    /// Makes the planes of those triangles of a block that must be looked at; `false` where none has planes of its own: halves that may become one with
    /// their other halves are left for that.
    #[inline(always)]
    fn planes(&self, block: &[Assembled], seen: &[u8], lanes: &mut Measures) -> bool {
        let seen_lanes = || seen.iter().map(|&i| usize::from(i));
        if self.draw.plan.linkage.pairs != Pairs::None && seen_lanes().all(|i| lanes.half[i] != 0) {
            return false;
        }
        for (number, i) in seen_lanes().enumerate() {
            let origin = Place::origin_of(lanes.bounds.each_ref().map(|row| row[i]));
            let (ids, _) = block[i];
            lanes.planes.put(number, ids.map(|id| &self.vertices[id as usize].screen), origin);
        }
        let of = |screen: &[Screen; 3]| Planes::triangle(screen, doubled_area(screen));
        if self.draw.draw.state.depth_bias.is_none() {
            lanes.planes.make(seen.len(), of);
        } else {
            lanes.planes.make(seen.len(), |screen| self.biased(of(screen)));
        }
        true
    }

    /// A triangle that passed the filter: its lane, and the number of its planes, if there are some.
    #[inline(always)]
    fn seen(&mut self, (ids, own): Assembled, (i, number): (usize, Option<usize>), lanes: &Measures) {
        if lanes.any[i] & (code::CLIP | code::UNPROJECTED) != 0 {
            return self.primitive(ids, own);
        }
        self.leaving += 1;
        let area = lanes.area[i];
        let common = self.common_of(ids, own, lanes.layer[i], area);
        // Not `map`, which would store each and load two at once: the processor would wait.
        let [a, b, c] = ids.map(|id| &self.vertices[id as usize]);
        let (bounds, pixels) = (lanes.bounds.each_ref().map(|row| row[i]), lanes.pixels[i]);
        // A half of a rectangle at one depth has that one's planes where something is interpolated.
        let may_be_half = lanes.half[i] != 0
            && self.draw.plan.linkage.interpolates
            && a.screen.z.to_bits() == b.screen.z.to_bits()
            && a.screen.z.to_bits() == c.screen.z.to_bits();
        let number = number.filter(|_| !may_be_half);
        if pixels != 0
            && let Some(number) = number
        {
            let Some(place) = Place::within(self.view_rect(&common), bounds) else { return };
            return self.emit((place, Edges::NONE, pixels), &lanes.planes.get(number), &common, None, Values::Vertices);
        }
        let screen = [a.screen, b.screen, c.screen];
        let Some(number) = number else { return self.fill(&screen, area, (bounds, pixels), &common, None) };
        if let Some(shape) = self.shape(&screen, area, (bounds, pixels), &common) {
            self.emit(shape, &lanes.planes.get(number), &common, None, Values::Vertices);
        }
    }
}
