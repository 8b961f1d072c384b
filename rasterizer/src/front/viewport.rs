//! Viewport transform, guard band and outcodes.
//!
//! Screen coordinates are fixed point and lie in the guard band, so that an edge function fits 32
//! bits inside a tile (see `tile::cover`). The pixel rectangle of the viewport enforces the sides
//! of the view volume; geometry is clipped only at the guard band.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use crate::api::{DrawState, Viewport};
use crate::prim::{GUARD, ScreenVertex, fixed, intersect};

/// Outcode bits.
pub mod code {
    /// Outside x, y of the view volume (four planes).
    pub const VIEW: u32 = 0xf;
    /// Set if z < 0, or z < -w (negativeOneToOne).
    pub const NEAR: u32 = 1 << 4;
    /// Set if z > w.
    pub const FAR: u32 = 1 << 5;
    /// Set if w is not positive.
    pub const BEHIND: u32 = 1 << 6;
    /// Set if a coordinate is not a number: the primitive is dropped.
    pub const NAN: u32 = 1 << 7;
    /// Outside the guard band (four planes).
    pub const GUARD: u32 = 0xf << 8;
    /// Set if the vertex is not in front of the eye, or outside the guard band: there is no
    /// projection.
    pub const UNPROJECTED: u32 = 1 << 12;
    /// Position of the bits of negative clip distances.
    pub const USER_SHIFT: u32 = 16;
    /// Bits of negative clip distances.
    pub const USER: u32 = 0xff << USER_SHIFT;
    /// Position of the bits of negative cull distances.
    pub const CULL_SHIFT: u32 = 24;
    /// Bits of negative cull distances.
    pub const CULL: u32 = 0xff << CULL_SHIFT;
    /// A primitive is rejected if all of its vertices are outside of one of these planes.
    pub const REJECT: u32 = VIEW | NEAR | FAR | BEHIND | USER;
    /// Planes against which triangles are clipped.
    pub const CLIP: u32 = NEAR | FAR | BEHIND | GUARD | USER;
}

/// Outcodes and projections of some vertices.
#[derive(Clone, Copy, Debug)]
pub struct Projected<const N: usize> {
    /// Outcodes (see [`code`]).
    pub codes: [u32; N],
    /// Fixed-point x; this and the following fields are 0 if the vertex is not projected.
    pub x: [i32; N],
    /// Fixed-point y.
    pub y: [i32; N],
    /// Depth after the viewport transform.
    pub z: [f32; N],
    /// Reciprocal of w.
    pub inv_w: [f32; N],
}

/// A viewport with its scissor, prepared for use.
#[derive(Clone, Debug)]
pub struct Transform {
    scale: [f32; 3],
    offset: [f32; 3],
    /// Pixels x0, y0, x1, y1 that the viewport, the scissor and the render area leave to triangles.
    pub view_rect: [i32; 4],
    /// Pixels that the scissor and the render area leave to points and lines, which are clipped
    /// before they get their width.
    pub scissor_rect: [i32; 4],
    /// Range to which fragment depth is clamped.
    pub depth_range: [f32; 2],
    depth_clip: bool,
    negative_one_to_one: bool,
}

impl Transform {
    /// Prepares a viewport; `area` is the render area x0, y0, x1, y1.
    pub fn new(v: &Viewport, scissor: [i32; 4], area: [i32; 4], samples: u32, state: &DrawState) -> Transform {
        let [sx, sy, sw, sh] = scissor;
        let scissor_rect = intersect(area, [sx, sy, sx.saturating_add(sw), sy.saturating_add(sh)]);
        // Without multisampling, a pixel belongs to the viewport if its centre does.
        let inset = if samples > 1 { 0.0 } else { 0.5 };
        let first = |x: f32| if samples > 1 { x.floor() as i32 } else { (x - inset).ceil() as i32 };
        let last = |x: f32| (x - inset).ceil() as i32;
        let (x0, x1) = (v.x.min(v.x + v.width), v.x.max(v.x + v.width));
        let (y0, y1) = (v.y.min(v.y + v.height), v.y.max(v.y + v.height));
        let (near, far) = (v.min_depth.min(v.max_depth), v.min_depth.max(v.max_depth));
        let (depth, depth_offset) = match state.negative_one_to_one {
            true => ((v.max_depth - v.min_depth) * 0.5, (v.max_depth + v.min_depth) * 0.5),
            false => (v.max_depth - v.min_depth, v.min_depth),
        };
        Transform {
            scale: [v.width * 0.5, v.height * 0.5, depth],
            offset: [v.x + v.width * 0.5, v.y + v.height * 0.5, depth_offset],
            view_rect: intersect(scissor_rect, [first(x0), first(y0), last(x1), last(y1)]),
            scissor_rect,
            // Depth outside of the viewport's range that is not clamped is undefined; depth inside
            // stays unchanged.
            depth_range: if state.depth_clamp { [near, far] } else { [near.min(0.0), far.max(1.0)] },
            depth_clip: state.depth_clip,
            negative_one_to_one: state.negative_one_to_one,
        }
    }

    /// Returns true if the viewports of two states are the same bits, with all that else becomes
    /// part of a transform.
    pub fn are_equal(a: &DrawState, b: &DrawState) -> bool {
        let bits = |v: &Viewport| [v.x, v.y, v.width, v.height, v.min_depth, v.max_depth].map(f32::to_bits);
        let modes = |state: &DrawState| [state.depth_clamp, state.depth_clip, state.negative_one_to_one];
        a.viewports.iter().map(bits).eq(b.viewports.iter().map(bits))
            && a.scissors == b.scissors
            && modes(a) == modes(b)
    }

    /// Returns the signed distance to guard plane `i` (x low, x high, y low, y high).
    #[inline]
    pub fn guard_distance(&self, i: usize, p: &[f32; 4]) -> f32 {
        let axis = i / 2;
        let at = self.scale[axis] * p[axis] + self.offset[axis] * p[3];
        if i.is_multiple_of(2) { at - (GUARD[0] + 1.0) * p[3] } else { (GUARD[1] - 1.0) * p[3] - at }
    }

    /// Returns the signed distance to the near plane.
    #[inline]
    pub fn near_distance(&self, p: &[f32; 4]) -> f32 {
        if self.negative_one_to_one { p[2] + p[3] } else { p[2] }
    }

    /// Returns the signed distance to side `i` of the view volume (same order as the guard planes).
    #[inline]
    pub fn view_distance(i: usize, p: &[f32; 4]) -> f32 {
        if i.is_multiple_of(2) { p[i / 2] + p[3] } else { p[3] - p[i / 2] }
    }

    /// Returns the outcodes (without user distances) and projections of `N` vertices, component
    /// first.
    #[inline(always)]
    pub fn lanes<const N: usize>(&self, p: &[[f32; N]; 4]) -> Projected<N> {
        let mut out = Projected { codes: [0; N], x: [0; N], y: [0; N], z: [0.0; N], inv_w: [0.0; N] };
        let [x, y, z, w] = p;
        let depth = if self.depth_clip { code::NEAR | code::FAR } else { 0 };
        for i in 0..N {
            let nearest = if self.negative_one_to_one { -w[i] } else { 0.0 };
            let near = if z[i] < nearest { code::NEAR } else { 0 };
            let far = if z[i] > w[i] { code::FAR } else { 0 };
            let behind = if w[i] > 0.0 { 0 } else { code::BEHIND };
            let nan = x[i].is_nan() | y[i].is_nan() | z[i].is_nan() | w[i].is_nan();
            out.codes[i] = (near | far) & depth | behind | if nan { code::NAN } else { 0 };
        }
        for axis in 0..2 {
            for i in 0..N {
                let (c, w) = (p[axis][i], w[i]);
                let at = self.scale[axis] * c + self.offset[axis] * w;
                let low = if c + w < 0.0 { 1 << (2 * axis) } else { 0 };
                let high = if w - c < 0.0 { 2 << (2 * axis) } else { 0 };
                let guard_low = if at - (GUARD[0] + 1.0) * w < 0.0 { 1 << (8 + 2 * axis) } else { 0 };
                let guard_high = if (GUARD[1] - 1.0) * w - at < 0.0 { 2 << (8 + 2 * axis) } else { 0 };
                out.codes[i] |= low | high | guard_low | guard_high;
            }
        }
        let [mut screen_x, mut screen_y] = [[0f32; N]; 2];
        let mut projected = [0u32; N];
        for i in 0..N {
            let (sx, sy) = (x[i] / w[i] * self.scale[0] + self.offset[0], y[i] / w[i] * self.scale[1] + self.offset[1]);
            let inside = in_guard(sx) & in_guard(sy) & (w[i] > 0.0);
            projected[i] = if inside { u32::MAX } else { 0 };
            screen_x[i] = if inside { sx } else { 0.0 };
            screen_y[i] = if inside { sy } else { 0.0 };
        }
        // Values of vertices that are not projected are zero.
        for i in 0..N {
            out.x[i] = fixed(screen_x[i]);
            out.y[i] = fixed(screen_y[i]);
            let depth = z[i] / w[i] * self.scale[2] + self.offset[2];
            out.z[i] = f32::from_bits(depth.to_bits() & projected[i]);
            out.inv_w[i] = f32::from_bits((1.0 / w[i]).to_bits() & projected[i]);
            out.codes[i] |= code::UNPROJECTED & !projected[i];
        }
        out
    }

    /// Performs the perspective division and the viewport transform; returns `None` outside the
    /// guard band or behind the eye.
    #[inline(always)]
    pub fn project(&self, p: &[f32; 4]) -> Option<ScreenVertex> {
        let lanes = self.lanes(&p.map(|c| [c]));
        (lanes.codes[0] & code::UNPROJECTED == 0).then_some(ScreenVertex {
            x: lanes.x[0],
            y: lanes.y[0],
            z: lanes.z[0],
            inv_w: lanes.inv_w[0],
        })
    }
}

/// Returns true if a coordinate is inside the guard band. It always evaluates both comparisons,
/// because a range's `contains` would branch.
#[inline(always)]
fn in_guard(c: f32) -> bool {
    let (above, below) = (c >= GUARD[0], c <= GUARD[1]);
    above & below
}
