//! Viewport transform, guard band, outcodes.
//!
//! Screen coordinates are fixed point and lie in the guard band, so that an edge function fits 32 bits inside a tile
//! (see `tile::cover`). The view volume's sides are kept by the pixel rectangle of
//! the viewport; geometry is really clipped at the guard band only.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use crate::api::{DrawState, Viewport};
use crate::prim::{GUARD, Screen, fixed, intersect};

/// Outcode bits.
pub mod code {
    /// Outside x, y of the view volume (four planes).
    pub const VIEW: u32 = 0xf;
    /// z < 0, or z < -w (negativeOneToOne).
    pub const NEAR: u32 = 1 << 4;
    /// z > w.
    pub const FAR: u32 = 1 << 5;
    /// w is not positive.
    pub const BEHIND: u32 = 1 << 6;
    /// A coordinate is not a number: the primitive is dropped.
    pub const NAN: u32 = 1 << 7;
    /// Outside the guard band (four planes).
    pub const GUARD: u32 = 0xf << 8;
    /// Not in front of the eye, or outside the guard band: there is no projection.
    pub const UNPROJECTED: u32 = 1 << 12;
    /// Negative clip distances.
    pub const USER_SHIFT: u32 = 16;
    /// See `USER_SHIFT`.
    pub const USER: u32 = 0xff << USER_SHIFT;
    /// Negative cull distances.
    pub const CULL_SHIFT: u32 = 24;
    /// See `CULL_SHIFT`.
    pub const CULL: u32 = 0xff << CULL_SHIFT;
    /// A plane that all vertices are outside of rejects the primitive.
    pub const REJECT: u32 = VIEW | NEAR | FAR | BEHIND | USER;
    /// Planes that triangles are clipped against.
    pub const CLIP: u32 = NEAR | FAR | BEHIND | GUARD | USER;
}

/// Outcodes and projections of some vertices.
#[derive(Clone, Copy, Debug)]
pub struct Projected<const N: usize> {
    /// See [`code`].
    pub codes: [u32; N],
    /// Fixed point; 0 where not projected, as all that follows.
    pub x: [i32; N],
    /// Fixed point.
    pub y: [i32; N],
    /// Depth after the viewport transform.
    pub z: [f32; N],
    /// 1/w.
    pub inv_w: [f32; N],
}

/// A viewport with its scissor, made ready.
#[derive(Clone, Debug)]
pub struct Transform {
    scale: [f32; 3],
    offset: [f32; 3],
    /// Pixels x0, y0, x1, y1 that the viewport, the scissor and the render area leave to triangles.
    pub view_rect: [i32; 4],
    /// The same without the viewport: for points and lines, which are clipped before they get their width.
    pub scissor_rect: [i32; 4],
    /// Range fragment depth is clamped to.
    pub depth_range: [f32; 2],
    depth_clip: bool,
    negative_one_to_one: bool,
}

impl Transform {
    /// `area` is the render area x0, y0, x1, y1.
    pub fn new(v: &Viewport, scissor: [i32; 4], area: [i32; 4], samples: u32, state: &DrawState) -> Transform {
        let [sx, sy, sw, sh] = scissor;
        let scissor_rect = intersect(area, [sx, sy, sx.saturating_add(sw), sy.saturating_add(sh)]);
        // Without multisampling a pixel belongs to the viewport when its centre does.
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
            // What lies outside of the viewport's range and is not clamped is undefined; what lies inside stays as it is.
            depth_range: if state.depth_clamp { [near, far] } else { [near.min(0.0), far.max(1.0)] },
            depth_clip: state.depth_clip,
            negative_one_to_one: state.negative_one_to_one,
        }
    }

    /// Signed distance to guard plane `i` (x low, x high, y low, y high).
    #[inline]
    pub fn guard_distance(&self, i: usize, p: &[f32; 4]) -> f32 {
        let axis = i / 2;
        let at = self.scale[axis] * p[axis] + self.offset[axis] * p[3];
        if i.is_multiple_of(2) { at - (GUARD[0] + 1.0) * p[3] } else { (GUARD[1] - 1.0) * p[3] - at }
    }

    /// Signed distance to the near plane.
    #[inline]
    pub fn near_distance(&self, p: &[f32; 4]) -> f32 {
        if self.negative_one_to_one { p[2] + p[3] } else { p[2] }
    }

    /// Signed distance to side `i` of the view volume (same order as the guard planes).
    #[inline]
    pub fn view_distance(i: usize, p: &[f32; 4]) -> f32 {
        if i.is_multiple_of(2) { p[i / 2] + p[3] } else { p[3] - p[i / 2] }
    }

    /// Outcodes (without user distances) and projections of `N` vertices, component first.
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
        // What is not projected is zero, whatever it would have been.
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

    /// Perspective division and viewport; `None` outside the guard band or behind the eye.
    #[inline(always)]
    pub fn project(&self, p: &[f32; 4]) -> Option<Screen> {
        let lanes = self.lanes(&p.map(|c| [c]));
        (lanes.codes[0] & code::UNPROJECTED == 0).then_some(Screen {
            x: lanes.x[0],
            y: lanes.y[0],
            z: lanes.z[0],
            inv_w: lanes.inv_w[0],
        })
    }
}

/// Both comparisons, always: a range's `contains` would branch.
#[inline(always)]
fn in_guard(c: f32) -> bool {
    let (above, below) = (c >= GUARD[0], c <= GUARD[1]);
    above & below
}
