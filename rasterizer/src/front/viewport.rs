//! Viewport transform, guard band, outcodes.
//!
//! Screen coordinates are fixed point with [`SUBPIXEL_BITS`] fraction bits and lie in the guard band, so that an edge
//! function fits 32 bits inside a tile (see `tile::cover`). The view volume's sides are kept by the pixel rectangle of
//! the viewport; geometry is really clipped at the guard band only.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use crate::api::{DrawState, Viewport};

/// Fraction bits of screen coordinates.
pub const SUBPIXEL_BITS: u32 = 8;
/// One pixel.
pub const SUBPIXEL: i32 = 1 << SUBPIXEL_BITS;
/// Least and greatest screen coordinate, pixels: 2^15 wide, so that a tile's edge values stay below 2^31.
const GUARD: [f32; 2] = [-8192.0, 24576.0];

/// Outcode bits.
pub mod code {
    /// Outside x, y of the view volume (four planes).
    pub const VIEW: u32 = 0xf;
    /// z < 0.
    pub const NEAR: u32 = 1 << 4;
    /// z > w.
    pub const FAR: u32 = 1 << 5;
    /// w is not positive.
    pub const BEHIND: u32 = 1 << 6;
    /// A coordinate is not a number: the primitive is dropped.
    pub const NAN: u32 = 1 << 7;
    /// Outside the guard band (four planes).
    pub const GUARD: u32 = 0xf << 8;
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

/// A projected vertex.
#[derive(Clone, Copy, Debug, Default)]
pub struct Screen {
    /// Fixed point.
    pub x: i32,
    /// Fixed point.
    pub y: i32,
    /// Depth after the viewport transform.
    pub z: f32,
    /// 1/w.
    pub inv_w: f32,
}

/// Outcodes and projections of some vertices.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<const N: usize> {
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
    /// Inside the guard band and in front of the eye.
    pub projected: [bool; N],
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
}

/// Common part of two rectangles x0, y0, x1, y1.
pub fn intersect(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]
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
        Transform {
            scale: [v.width * 0.5, v.height * 0.5, v.max_depth - v.min_depth],
            offset: [v.x + v.width * 0.5, v.y + v.height * 0.5, v.min_depth],
            view_rect: intersect(scissor_rect, [first(x0), first(y0), last(x1), last(y1)]),
            scissor_rect,
            depth_range: if state.depth_clamp { [near, far] } else { [0.0, 1.0] },
            depth_clip: state.depth_clip,
        }
    }

    /// Signed distance to guard plane `i` (x low, x high, y low, y high).
    #[inline]
    pub fn guard_distance(&self, i: usize, p: &[f32; 4]) -> f32 {
        let axis = i / 2;
        let at = self.scale[axis] * p[axis] + self.offset[axis] * p[3];
        if i.is_multiple_of(2) { at - (GUARD[0] + 1.0) * p[3] } else { (GUARD[1] - 1.0) * p[3] - at }
    }

    /// Signed distance to side `i` of the view volume (same order as the guard planes).
    #[inline]
    pub fn view_distance(i: usize, p: &[f32; 4]) -> f32 {
        if i.is_multiple_of(2) { p[i / 2] + p[3] } else { p[3] - p[i / 2] }
    }

    /// Outcodes (without user distances) and projections of `N` vertices, component first.
    #[inline(always)]
    pub fn lanes<const N: usize>(&self, p: &[[f32; N]; 4]) -> Lanes<N> {
        let mut out =
            Lanes { codes: [0; N], x: [0; N], y: [0; N], z: [0.0; N], inv_w: [0.0; N], projected: [false; N] };
        let depth = if self.depth_clip { u32::MAX } else { 0 };
        let nan = |v: f32| v.is_nan();
        for i in 0..N {
            let [x, y, z, w] = [p[0][i], p[1][i], p[2][i], p[3][i]];
            let mut codes = 0;
            for axis in 0..2 {
                let c = p[axis][i];
                let at = self.scale[axis] * c + self.offset[axis] * w;
                codes |= u32::from(c + w < 0.0) << (2 * axis);
                codes |= u32::from(w - c < 0.0) << (2 * axis + 1);
                codes |= u32::from(at - (GUARD[0] + 1.0) * w < 0.0) << (8 + 2 * axis);
                codes |= u32::from((GUARD[1] - 1.0) * w - at < 0.0) << (9 + 2 * axis);
            }
            codes |= depth & ((u32::from(z < 0.0) * code::NEAR) | (u32::from(z > w) * code::FAR));
            let front = w > 0.0;
            codes |= u32::from(!front) * code::BEHIND;
            codes |= u32::from(nan(x) | nan(y) | nan(z) | nan(w)) * code::NAN;
            out.codes[i] = codes;
            let (sx, sy) = (x / w * self.scale[0] + self.offset[0], y / w * self.scale[1] + self.offset[1]);
            let inside = |c: f32| (GUARD[0]..=GUARD[1]).contains(&c);
            let projected = front & inside(sx) & inside(sy);
            // What is not projected is zero, whatever it would have been.
            out.projected[i] = projected;
            out.x[i] = if projected { fixed(sx) } else { 0 };
            out.y[i] = if projected { fixed(sy) } else { 0 };
            out.z[i] = if projected { z / w * self.scale[2] + self.offset[2] } else { 0.0 };
            out.inv_w[i] = if projected { 1.0 / w } else { 0.0 };
        }
        out
    }

    /// Perspective division and viewport; `None` outside the guard band or behind the eye.
    pub fn project(&self, p: &[f32; 4]) -> Option<Screen> {
        let lanes = self.lanes(&p.map(|c| [c]));
        lanes.projected[0].then_some(Screen { x: lanes.x[0], y: lanes.y[0], z: lanes.z[0], inv_w: lanes.inv_w[0] })
    }
}

/// Nearest fixed-point value, ties to even; `c` inside the guard band.
#[inline]
pub fn fixed(c: f32) -> i32 {
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    (f64::from(c) * f64::from(SUBPIXEL) + MAGIC).to_bits() as i32
}
