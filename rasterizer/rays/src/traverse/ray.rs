//! Rays, and what is computed of them once per level of a traversal.

#![forbid(unsafe_code)]

use crate::layout::Bounds;

/// A ray with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Ray {
    /// The point at t = 0.
    pub origin: [f32; 3],
    /// Beginning of the interval, not below 0.
    pub t_min: f32,
    /// Direction; its length is the unit of t.
    pub direction: [f32; 3],
    /// End of the interval.
    pub t_max: f32,
}

impl Ray {
    /// Returns true if the ray can hit anything: its origin and direction are finite, and its
    /// interval is not empty.
    pub fn is_valid(&self) -> bool {
        let is_finite = self.origin.iter().chain(&self.direction).all(|value| value.is_finite());
        is_finite && self.t_min <= self.t_max
    }
}

/// Factor of the far distances: 1 + 2 γ₃ rounded up, so that the rounding of a subtraction, a
/// reciprocal and a multiplication on both sides never makes an interval empty (Ize 2013).
const FAR: f32 = 1.0 + 4.0 * f32::EPSILON;

/// A ray prepared for boxes. Distances of planes are `(plane - origin) * inverse`, with two
/// roundings and without fused operations, on every host. All of these are monotone: a box
/// contains every distance of a box inside of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoxRay {
    /// Origin for near planes, moved towards the box by the margin.
    pub near_origin: [f32; 3],
    /// Origin for far planes, moved away from them by the margin.
    pub far_origin: [f32; 3],
    /// Reciprocals of the direction for near planes, limited to finite numbers.
    pub near_inverse: [f32; 3],
    /// Reciprocals of the direction for far planes, times 1 + 2 γ₃. They are infinite for 0, where
    /// a product with 0 is not a number, which minima and maxima of distances ignore.
    pub far_inverse: [f32; 3],
}

/// Relative margin of boxes of triangles, beside the distances of the structure's bounds: the
/// rounding of Woop's shear is at most some units of 2^-24.
const SHEAR_MARGIN: f32 = 1.0 / (1 << 21) as f32;

/// Relative margin of boxes of instances, beside the ray's origin: the rounding of the transform
/// into object space.
const TRANSFORM_MARGIN: f32 = 1.0 / (1 << 20) as f32;

impl BoxRay {
    /// Prepares a ray, with a margin for each axis.
    pub fn new(origin: [f32; 3], direction: [f32; 3], margin: [f32; 3]) -> BoxRay {
        let mut ray = BoxRay { near_origin: origin, far_origin: origin, near_inverse: [0.0; 3], far_inverse: [0.0; 3] };
        for axis in 0..3 {
            let inverse = 1.0 / direction[axis];
            let outward = if inverse.is_sign_positive() { margin[axis] } else { -margin[axis] };
            if margin[axis] > 0.0 {
                ray.near_origin[axis] = moved(origin[axis], outward);
                ray.far_origin[axis] = moved(origin[axis], -outward);
            }
            ray.near_inverse[axis] = inverse.clamp(-f32::MAX, f32::MAX);
            ray.far_inverse[axis] = inverse * FAR;
        }
        ray
    }

    /// Prepares a ray for a structure of triangles with these bounds.
    pub fn for_triangles(origin: [f32; 3], direction: [f32; 3], bounds: &Bounds) -> BoxRay {
        let distance = [0, 1, 2].map(|axis| {
            let [to_min, to_max] = [bounds.min[axis], bounds.max[axis]].map(|plane| (plane - origin[axis]).abs());
            let distance = if to_min > to_max { to_min } else { to_max };
            if distance < f32::MAX { distance } else { f32::MAX }
        });
        let max = distance.iter().fold(0.0, |max, &value| if value > max { value } else { max });
        BoxRay::new(origin, direction, distance.map(|own| (own + max) * SHEAR_MARGIN))
    }

    /// Prepares a ray for a structure of instances.
    pub fn for_instances(origin: [f32; 3], direction: [f32; 3]) -> BoxRay {
        let max = origin.iter().fold(0.0, |max, value| if value.abs() > max { value.abs() } else { max });
        BoxRay::new(origin, direction, [max * TRANSFORM_MARGIN; 3])
    }

    /// Returns 3 for each axis on which near planes are upper bounds, and 0 for the others.
    #[inline(always)]
    pub fn near_rows(&self) -> [usize; 3] {
        let [x, y, z] = self.near_inverse;
        let row = |inverse: f32| 3 * (inverse.to_bits() >> 31) as usize;
        [row(x), row(y), row(z)]
    }
}

/// Returns `from` moved by `by`, at least to the next number. The result is finite, because
/// children that do not exist have infinite planes, of which no infinity may be subtracted.
fn moved(from: f32, by: f32) -> f32 {
    let to = (from + by).clamp(-f32::MAX, f32::MAX);
    if to != from {
        to
    } else if by > 0.0 {
        from.next_up().min(f32::MAX)
    } else {
        from.next_down().max(-f32::MAX)
    }
}

/// A ray prepared for triangles: the coordinate system in which it is the third axis (Woop 2013).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Shear {
    /// Axes; the third is the direction's largest.
    pub axes: [u32; 3],
    /// Origin, by these axes.
    pub origin: [f32; 3],
    /// Factors of the third coordinate in the others, and the reciprocal of the largest component.
    pub factors: [f32; 3],
}

impl Shear {
    /// Prepares a ray.
    pub fn new(origin: [f32; 3], direction: [f32; 3]) -> Shear {
        let size = direction.map(f32::abs);
        let z = if size[0] > size[1] && size[0] > size[2] {
            0
        } else if size[1] > size[2] {
            1
        } else {
            2
        };
        let (mut x, mut y) = ((z + 1) % 3, (z + 2) % 3);
        // The winding of triangles is kept.
        if direction[z] < 0.0 {
            (x, y) = (y, x);
        }
        Shear {
            axes: [x as u32, y as u32, z as u32],
            origin: [origin[x], origin[y], origin[z]],
            factors: [direction[x] / direction[z], direction[y] / direction[z], 1.0 / direction[z]],
        }
    }
}
