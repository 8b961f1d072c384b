//! Rays, and what is computed of them once per level of a traversal.

#![forbid(unsafe_code)]

use crate::layout::{Bounds, node_row};
use crate::vec4::{F32x4, Mask4};
use crate::view::NodeRow;

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
    #[inline(always)]
    pub fn is_valid(&self) -> bool {
        are_finite(self.origin, self.direction) && self.t_min <= self.t_max
    }
}

/// Returns true if all components of two vectors are finite.
#[inline(always)]
pub fn are_finite(a: [f32; 3], b: [f32; 3]) -> bool {
    let max = F32x4::splat(f32::MAX);
    let inside = |vector: [f32; 3]| max.greater_or_equal(lanes(vector, 0.0).abs());
    inside(a).and(inside(b)).bits() == 0xf
}

/// Factor of the far distances: 1 + 2 γ₃ rounded up, so that the rounding of a subtraction, a
/// reciprocal and a multiplication on both sides never makes an interval empty (Ize 2013).
pub const FAR: f32 = 1.0 + 4.0 * f32::EPSILON;

/// A ray prepared for boxes. Distances of planes are `(plane - origin) * inverse`, with two
/// roundings and without fused operations, on every host. All of these are monotone: a box
/// contains every distance of a box inside of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoxRay {
    /// Origin for near planes, moved towards the box by the margin.
    pub near_origin: [f32; 4],
    /// Origin for far planes, moved away from them by the margin.
    pub far_origin: [f32; 4],
    /// Reciprocals of the direction for near planes, limited to finite numbers.
    pub near_inverse: [f32; 4],
    /// Reciprocals of the direction for far planes, times 1 + 2 γ₃. They are infinite for 0, where
    /// a product with 0 is not a number, which minima and maxima of distances ignore.
    pub far_inverse: [f32; 4],
}

/// Relative margin of boxes of triangles, beside the distances of the structure's bounds: the
/// rounding of Woop's shear is at most some units of 2^-24.
pub const SHEAR_MARGIN: f32 = 1.0 / (1 << 21) as f32;

/// Relative margin of boxes of instances, beside the ray's origin: the rounding of the transform
/// into object space.
pub const TRANSFORM_MARGIN: f32 = 1.0 / (1 << 20) as f32;

impl BoxRay {
    /// No ray.
    pub const NONE: BoxRay =
        BoxRay { near_origin: [0.0; 4], far_origin: [0.0; 4], near_inverse: [0.0; 4], far_inverse: [0.0; 4] };

    /// Prepares a ray, with a margin for each axis, which is not negative.
    #[inline(always)]
    pub fn new(origin: [f32; 3], direction: [f32; 3], margin: F32x4) -> BoxRay {
        let (origin, zero, max) = (lanes(origin, 0.0), F32x4::splat(0.0), F32x4::splat(f32::MAX));
        let inverse = F32x4::splat(1.0) / lanes(direction, 1.0);
        let outward = inverse.sign().or(margin);
        let [near, far] = [origin + outward, origin - outward].map(|moved| moved.max(zero - max).min(max));
        let has_margin = margin.greater(zero);
        let mut ray = BoxRay {
            near_origin: has_margin.select(near, origin).to_array(),
            far_origin: has_margin.select(far, origin).to_array(),
            near_inverse: inverse.max(zero - max).min(max).to_array(),
            far_inverse: (inverse * F32x4::splat(FAR)).to_array(),
        };
        let has_not_moved = near.equal(origin).or(far.equal(origin)).and(has_margin);
        if has_not_moved.bits() != 0 {
            ray.move_origins(origin.to_array(), has_not_moved.bits());
        }
        ray
    }

    /// Moves the origins of axes, given by bits, at least to the next number. They stay finite,
    /// because children that do not exist have infinite planes, of which no infinity may be
    /// subtracted.
    #[cold]
    fn move_origins(&mut self, origin: [f32; 4], axes: u32) {
        let up = |from: f32| from.next_up().min(f32::MAX);
        let down = |from: f32| from.next_down().max(-f32::MAX);
        for axis in (0..3).filter(|axis| axes >> axis & 1 != 0) {
            let from = origin[axis];
            let (near, far) = match self.near_inverse[axis].is_sign_positive() {
                true => (up(from), down(from)),
                false => (down(from), up(from)),
            };
            if self.near_origin[axis] == from {
                self.near_origin[axis] = near;
            }
            if self.far_origin[axis] == from {
                self.far_origin[axis] = far;
            }
        }
    }

    /// Prepares a ray for a structure of triangles with these bounds.
    #[inline(always)]
    pub fn for_triangles(origin: [f32; 3], direction: [f32; 3], bounds: &Bounds) -> BoxRay {
        let from = lanes(origin, 0.0);
        let [to_min, to_max] = [bounds.min, bounds.max].map(|planes| (lanes(planes, 0.0) - from).abs());
        let distance = to_min.max(to_max).min(F32x4::splat(f32::MAX));
        let max = distance.to_array().into_iter().fold(0.0, |max, value| if value > max { value } else { max });
        BoxRay::new(origin, direction, (distance + F32x4::splat(max)) * F32x4::splat(SHEAR_MARGIN))
    }

    /// Prepares a ray for a structure of instances.
    #[inline(always)]
    pub fn for_instances(origin: [f32; 3], direction: [f32; 3]) -> BoxRay {
        let max = origin.iter().fold(0.0, |max, value| if value.abs() > max { value.abs() } else { max });
        BoxRay::new(origin, direction, F32x4::splat(max * TRANSFORM_MARGIN))
    }

    /// Clips an interval of distances to the part inside of a box in each lane, given by the bounds
    /// of each axis, with the arithmetic of nodes. It ends before it begins if the box is missed.
    #[inline(always)]
    pub fn clip(&self, [mut near, mut far]: [F32x4; 2], min: [F32x4; 3], max: [F32x4; 3]) -> [F32x4; 2] {
        for axis in 0..3 {
            let (min, max) = (min[axis], max[axis]);
            let mask = Mask4::splat(self.near_inverse[axis].is_sign_negative());
            let (near_plane, far_plane) = (mask.select(max, min), mask.select(min, max));
            let distance = (near_plane - F32x4::splat(self.near_origin[axis])) * F32x4::splat(self.near_inverse[axis]);
            near = distance.max(near);
            let distance = (far_plane - F32x4::splat(self.far_origin[axis])) * F32x4::splat(self.far_inverse[axis]);
            far = distance.min(far);
        }
        [near, far]
    }

    /// Returns the rows of near and far planes in a node, and the octant: bit `axis` is set if near
    /// planes of the axis are upper bounds.
    #[inline(always)]
    pub fn rows_and_octant(&self) -> (Rows, u32) {
        let octant = F32x4::from_array(self.near_inverse).sign_bits() & 7;
        (rows_of(octant), octant)
    }
}

/// Rows of near and of far planes in a node, by axis; the fourth ones have no meaning.
pub type Rows = [[NodeRow; 4]; 2];

/// Returns the rows for rays of an octant, whose number is taken modulo 8.
#[inline(always)]
pub fn rows_of(octant: u32) -> Rows {
    static ROWS: [Rows; 8] = {
        let mut rows = [[[NodeRow::new(0); 4]; 2]; 8];
        let mut at = 0;
        while at < 8 * 3 {
            let (octant, axis) = (at / 3, at % 3);
            let is_down = octant >> axis & 1;
            rows[octant][is_down][axis] = NodeRow::new(node_row::MIN + axis);
            rows[octant][1 - is_down][axis] = NodeRow::new(node_row::MAX + axis);
            at += 1;
        }
        rows
    };
    ROWS[octant as usize & 7]
}

/// Returns three values and another one as lanes.
#[inline(always)]
fn lanes([x, y, z]: [f32; 3], w: f32) -> F32x4 {
    F32x4::from_array([x, y, z, w])
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
    #[inline(always)]
    pub fn new(origin: [f32; 3], direction: [f32; 3]) -> Shear {
        // Without branches, because directions differ from ray to ray.
        let [dx, dy, dz] = direction.map(f32::abs);
        let is_x = dx > dy && dx > dz;
        let z = 2 - 2 * usize::from(is_x) - usize::from(!is_x & (dy > dz));
        let largest = direction[z];
        // The winding of triangles is kept.
        let [x, y] = AXES[z][usize::from(largest < 0.0)];
        let factors = F32x4::from_array([direction[x], direction[y], 1.0, 0.0]) / F32x4::splat(largest);
        let [fx, fy, fz, _] = factors.to_array();
        Shear { axes: [x as u32, y as u32, z as u32], origin: [origin[x], origin[y], origin[z]], factors: [fx, fy, fz] }
    }
}

/// First two axes of a coordinate system, by the third one and by whether the ray goes down it.
const AXES: [[[usize; 2]; 2]; 3] = [[[1, 2], [2, 1]], [[2, 0], [0, 2]], [[0, 1], [1, 0]]];
