//! Planes: the functions that are interpolated over a primitive, which are barycentric coordinates,
//! depth and 1/w.
//!
//! They are computed in f64 from the snapped positions and rounded once, relative to an origin
//! inside the primitive's pixel rectangle.

#![forbid(unsafe_code)]

use crate::api::{DepthBias, DepthBiasUnit};
use crate::prim::{SUBPIXEL, ScreenVertex};
use base::abi::FragmentPrimitive;

/// An affine function of the framebuffer position, in pixels from the framebuffer's origin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plane {
    d: [f64; 2],
    c: f64,
}

impl Plane {
    fn constant(c: f64) -> Plane {
        Plane { d: [0.0; 2], c }
    }

    /// Returns `v0 + b1*(v1-v0) + b2*(v2-v0)`.
    #[inline(always)]
    fn combine(v0: f32, v1: f32, v2: f32, b1: &Plane, b2: &Plane) -> Plane {
        let v0 = f64::from(v0);
        let (d1, d2) = (f64::from(v1) - v0, f64::from(v2) - v0);
        Plane { d: [b1.d[0] * d1 + b2.d[0] * d2, b1.d[1] * d1 + b2.d[1] * d2], c: v0 + b1.c * d1 + b2.c * d2 }
    }

    #[inline(always)]
    fn relative(&self, [x, y]: [i32; 2]) -> [f32; 3] {
        let c = self.c + self.d[0] * f64::from(x) + self.d[1] * f64::from(y);
        [self.d[0] as f32, self.d[1] as f32, c as f32]
    }
}

/// The planes of a primitive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Planes {
    b1: Plane,
    b2: Plane,
    inv_w: Plane,
    z: Plane,
    inv_w1: f32,
    inv_w2: f32,
    /// Greatest depth magnitude of the vertices (for the float depth bias unit).
    z_max: f32,
}

/// Planes relative to a pixel: the fields of [`FragmentPrimitive`] with these names.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelativePlanes {
    /// Plane of barycentric coordinate 1.
    pub b1: [f32; 3],
    /// Plane of barycentric coordinate 2.
    pub b2: [f32; 3],
    /// Plane of the distance 1/w.
    pub inv_w: [f32; 3],
    /// Plane of the depth.
    pub z: [f32; 3],
    /// Distance 1/w of the second corner.
    pub inv_w1: f32,
    /// Distance 1/w of the third corner.
    pub inv_w2: f32,
    /// 1 if all distances are 1.
    pub affine: u32,
}

/// A source of a primitive's planes. It writes them to their final location, one number at a time.
/// A copy of words that were just stored separately would wait for those stores, and for all
/// earlier ones, whose lines may not be in a cache yet.
pub trait PlaneSource {
    /// Writes the fields of [`RelativePlanes`].
    fn write(&self, to: &mut FragmentPrimitive);
}

impl PlaneSource for RelativePlanes {
    #[inline(always)]
    fn write(&self, to: &mut FragmentPrimitive) {
        for k in 0..3 {
            (to.b1[k], to.b2[k]) = (self.b1[k], self.b2[k]);
            (to.inv_w[k], to.z[k]) = (self.inv_w[k], self.z[k]);
        }
        (to.inv_w1, to.inv_w2, to.affine) = (self.inv_w1, self.inv_w2, self.affine);
    }
}

/// Returns `(x1-x0)*(y2-y0) - (x2-x0)*(y1-y0)`, which is positive if the vertices turn clockwise on
/// a y-down screen. It is exact, because coordinates have 24 bits.
#[inline(always)]
pub fn doubled_area(v: &[ScreenVertex; 3]) -> f64 {
    let d = |a: i32, b: i32| f64::from(a.wrapping_sub(b));
    d(v[1].x, v[0].x) * d(v[2].y, v[0].y) - d(v[2].x, v[0].x) * d(v[1].y, v[0].y)
}

impl Planes {
    /// Makes the planes of a triangle whose doubled area is not zero.
    #[inline(always)]
    pub fn triangle(v: &[ScreenVertex; 3], area: f64) -> Planes {
        // Units are 1/256 pixel: one factor of 256 remains when an edge is divided by the area.
        let scale = f64::from(SUBPIXEL) / area;
        let at = [f64::from(v[0].x) / f64::from(SUBPIXEL), f64::from(v[0].y) / f64::from(SUBPIXEL)];
        let from = |corner: &ScreenVertex| [corner.x.wrapping_sub(v[0].x), corner.y.wrapping_sub(v[0].y)];
        let plane = |[dx, dy]: [i32; 2], sign: f64| {
            let d = [sign * f64::from(dy) * scale, -sign * f64::from(dx) * scale];
            Plane { d, c: -(d[0] * at[0] + d[1] * at[1]) }
        };
        let b1 = plane(from(&v[2]), 1.0);
        let b2 = plane(from(&v[1]), -1.0);
        Planes {
            b1,
            b2,
            inv_w: Plane::combine(v[0].inv_w, v[1].inv_w, v[2].inv_w, &b1, &b2),
            z: Plane::combine(v[0].z, v[1].z, v[2].z, &b1, &b2),
            inv_w1: v[1].inv_w,
            inv_w2: v[2].inv_w,
            z_max: v[0].z.abs().max(v[1].z.abs()).max(v[2].z.abs()),
        }
    }

    /// Makes the planes of a segment, along which barycentric 1 grows.
    #[inline(always)]
    pub fn line(v: &[ScreenVertex; 2]) -> Planes {
        let d = [v[1].x.wrapping_sub(v[0].x), v[1].y.wrapping_sub(v[0].y)].map(|c| f64::from(c) / f64::from(SUBPIXEL));
        let length2 = d[0] * d[0] + d[1] * d[1];
        let g = d.map(|c| if length2 > 0.0 { c / length2 } else { 0.0 });
        let at = [f64::from(v[0].x), f64::from(v[0].y)].map(|c| c / f64::from(SUBPIXEL));
        let b1 = Plane { d: g, c: -(g[0] * at[0] + g[1] * at[1]) };
        let b2 = Plane::default();
        Planes {
            b1,
            b2,
            inv_w: Plane::combine(v[0].inv_w, v[1].inv_w, v[1].inv_w, &b1, &b2),
            z: Plane::combine(v[0].z, v[1].z, v[1].z, &b1, &b2),
            inv_w1: v[1].inv_w,
            inv_w2: v[1].inv_w,
            z_max: v[0].z.abs().max(v[1].z.abs()),
        }
    }

    /// Makes the planes of a point.
    pub fn point(v: &ScreenVertex) -> Planes {
        Planes {
            inv_w: Plane::constant(f64::from(v.inv_w)),
            z: Plane::constant(f64::from(v.z)),
            inv_w1: v.inv_w,
            inv_w2: v.inv_w,
            z_max: v.z.abs(),
            ..Planes::default()
        }
    }

    /// Returns the planes relative to a pixel, as fragments use them.
    #[inline(always)]
    pub fn relative(&self, origin: [i32; 2]) -> RelativePlanes {
        let Plane { d: [x, y], c } = self.inv_w;
        // There is no branch, because this also runs in lanes.
        let affine = (x == 0.0) & (y == 0.0) & (c == 1.0) & (self.inv_w1 == 1.0) & (self.inv_w2 == 1.0);
        RelativePlanes {
            b1: self.b1.relative(origin),
            b2: self.b2.relative(origin),
            inv_w: self.inv_w.relative(origin),
            z: self.z.relative(origin),
            inv_w1: self.inv_w1,
            inv_w2: self.inv_w2,
            affine: u32::from(affine),
        }
    }

    /// Returns the greatest slope of depth.
    pub fn slope(&self) -> f32 {
        self.z.d[0].abs().max(self.z.d[1].abs()) as f32
    }

    /// Adds a depth bias. `unit` is the least resolvable difference, or `None` for a float buffer;
    /// `slope` is that of the polygon.
    pub fn bias(&mut self, bias: DepthBias, unit: Option<f32>, slope: f32) {
        let DepthBias { constant, clamp, .. } = bias;
        let r = match (bias.unit, unit) {
            (DepthBiasUnit::One, _) => 1.0,
            (DepthBiasUnit::Format | DepthBiasUnit::Unorm, Some(unit)) => unit,
            (DepthBiasUnit::Unorm, None) => 1.0 / (1 << f32::MANTISSA_DIGITS) as f32,
            (DepthBiasUnit::Format, None) => {
                // The unit is 2^(exponent of the greatest depth - 23).
                let exponent = (self.z_max.to_bits() >> 23) & 0xff;
                f32::from_bits(exponent.saturating_sub(23).max(1) << 23)
            }
        };
        let mut o = slope * bias.slope + r * constant;
        if clamp > 0.0 {
            o = if o < clamp { o } else { clamp };
        } else if clamp < 0.0 {
            o = if o > clamp { o } else { clamp };
        }
        self.z.c += f64::from(o);
    }
}
