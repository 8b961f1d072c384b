//! SoA triangle batch: the triangles of a block, measured as lanes. Invisible triangles are removed
//! without branches. Triangles of a few pixels, as in tessellated and distant meshes, get their
//! exact pixels too ([`TriangleBatch::cover`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::attributes::VertexValues;
use super::primitive_lanes::{BLOCK, PlaneLanes, ShapeLanes};
use super::setup::Bounding;
use super::triangle_pairs::TrianglePairLanes;
use super::viewport::code;
use crate::prim::{SMALL, TILE_SHIFT, TileGrid};

/// The triangles of a block, as lanes; a worker keeps them.
pub struct TriangleBatch {
    pub corners: ShapeLanes<3>,
    /// Outcodes of any corner; `all` has those of all corners.
    pub any: [u32; BLOCK],
    pub all: [u32; BLOCK],
    pub layer: [u32; BLOCK],
    /// Exact [`doubled_area`].
    pub area: [f64; BLOCK],
    /// Rounded area, which has the same sign.
    pub sign: [f32; BLOCK],
    /// 1 if the triangle faces front.
    pub front: [u32; BLOCK],
    /// Pixels whose samples can be inside: x0, y0, x1, y1.
    pub bounds: [[i32; BLOCK]; 4],
    /// [`crate::prim::Prim::pixels`] of unclipped triangles of at most 4×4 pixels; 0 for others.
    pub pixels: [u32; BLOCK],
    /// 1 if such a triangle covers no pixel, though the other half of its rectangle may.
    pub nothing: [u32; BLOCK],
    /// [`crate::prim::Prim::sides`] as words, for unclipped triangles.
    pub sides: [[u32; BLOCK]; 2],
    /// Tile of an unclipped triangle, or [`SEVERAL_TILES`].
    pub tile: [u32; BLOCK],
    /// 1 if the triangle is unclipped, and half as large as the rectangle around it.
    pub half: [u32; BLOCK],
    /// 1 if the triangle may be visible.
    pub visible: [u32; BLOCK],
    /// 1 if the triangle leaves clipping, and touches no sample or is culled.
    pub culled: [u32; BLOCK],
    /// Planes of the triangles that may be visible.
    pub planes: PlaneLanes<3>,
    /// Pairs of these triangles.
    pub pairs: TrianglePairLanes,
    /// Values of the triangles' vertices.
    pub vertex_values: VertexValues,
}

/// Value that is no tile's number.
pub const SEVERAL_TILES: u32 = u32::MAX;

/// The parameters that decide whether a triangle of a draw is visible.
pub struct TriangleFilter {
    pub bounding: Bounding,
    pub limit: [i32; 4],
    /// True if triangles with a positive area are culled; `negative` is for a negative area.
    pub positive: bool,
    pub negative: bool,
    /// True if triangles with a positive area face front.
    pub clockwise: bool,
}

impl Default for TriangleBatch {
    fn default() -> Self {
        TriangleBatch {
            corners: ShapeLanes::default(),
            any: [0; BLOCK],
            all: [0; BLOCK],
            layer: [0; BLOCK],
            area: [0.0; BLOCK],
            sign: [0.0; BLOCK],
            front: [0; BLOCK],
            bounds: [[0; BLOCK]; 4],
            pixels: [0; BLOCK],
            nothing: [0; BLOCK],
            sides: [[0; BLOCK]; 2],
            tile: [0; BLOCK],
            half: [0; BLOCK],
            visible: [0; BLOCK],
            culled: [0; BLOCK],
            planes: PlaneLanes::default(),
            pairs: TrianglePairLanes::default(),
            vertex_values: VertexValues::default(),
        }
    }
}

impl TriangleBatch {
    /// Measures all lanes.
    #[inline(always)]
    pub fn measure(&mut self, filter: &TriangleFilter) {
        let ShapeLanes { x: [x0, x1, x2], y: [y0, y1, y2], turned } = &mut self.corners;
        let difference = |a: i32, b: i32| f64::from(a.wrapping_sub(b));
        for i in 0..BLOCK {
            let (ax, ay) = (difference(x1[i], x0[i]), difference(y1[i], y0[i]));
            let (bx, by) = (difference(x2[i], x0[i]), difference(y2[i], y0[i]));
            self.area[i] = ax * by - bx * ay;
            self.sign[i] = self.area[i] as f32;
            turned[i] = if self.sign[i] < 0.0 { -1 } else { 0 };
            self.front[i] = u32::from(if filter.clockwise { self.sign[i] > 0.0 } else { self.sign[i] < 0.0 });
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
            // The result is final only for projected and unclipped triangles.
            let settled = (any & (code::CLIP | code::UNPROJECTED) == 0) & invisible;
            self.visible[i] = u32::from(!(rejected | settled));
            self.culled[i] = u32::from(settled & !rejected);
        }
    }
}

impl TriangleBatch {
    /// Computes which pixels small triangles cover at their centres, and removes those that cover
    /// none. (With `pairs`, a half of a rectangle may become one with its other half, so it is
    /// kept.)
    #[inline(always)]
    pub fn cover(&mut self, limit: [i32; 4], pairs: bool) {
        let mut small = [0u32; BLOCK];
        let [left, top, right, bottom] = &self.bounds;
        for i in 0..BLOCK {
            let few = (right[i].wrapping_sub(left[i]) <= SMALL) & (bottom[i].wrapping_sub(top[i]) <= SMALL);
            small[i] = self.visible[i] & u32::from(few & (self.any[i] & (code::CLIP | code::UNPROJECTED) == 0));
        }
        if small.iter().fold(0, |any, small| any | small) == 0 {
            (self.pixels, self.nothing) = ([0; BLOCK], [0; BLOCK]);
            return;
        }
        self.corners.cover(&self.bounds, limit, &mut self.pixels);
        let left_for_pairs = u32::from(pairs);
        for i in 0..BLOCK {
            self.pixels[i] &= small[i].wrapping_neg();
            let nothing = small[i] & u32::from(self.pixels[i] == 0);
            let left = self.half[i] & left_for_pairs;
            self.nothing[i] = nothing;
            self.visible[i] &= !nothing | left;
            self.culled[i] |= nothing & !left;
        }
    }

    /// Computes the sides and the tile of all lanes.
    #[inline(always)]
    pub fn place(&mut self, limit: [i32; 4], grid: &TileGrid) {
        let ([left, top, right, bottom], [columns, rows]) = (&self.bounds, grid.tiles);
        let [first, end] = &mut self.sides;
        for i in 0..BLOCK {
            let (x0, y0) = (left[i].max(limit[0]), top[i].max(limit[1]));
            let (x1, y1) = (right[i].min(limit[2]), bottom[i].min(limit[3]));
            first[i] = x0 as u32 & 0xffff | (y0 as u32) << 16;
            end[i] = x1 as u32 & 0xffff | (y1 as u32) << 16;
            let (x, y) = (x0 >> TILE_SHIFT, y0 >> TILE_SHIFT);
            let single = ((x1.wrapping_sub(1) >> TILE_SHIFT) == x) & ((y1.wrapping_sub(1) >> TILE_SHIFT) == y);
            let row = self.layer[i].wrapping_mul(rows).wrapping_add(y as u32);
            let tile = row.wrapping_mul(columns).wrapping_add(x as u32);
            self.tile[i] = if single { tile } else { SEVERAL_TILES };
        }
    }
}
