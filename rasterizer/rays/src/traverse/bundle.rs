//! Up to eight rays that are tested together: against the children of a node, and against one box.
//!
//! All near planes are on the same sides, so the least and greatest origins and reciprocals of the
//! rays give an interval that contains the distances of each ray ("hull"). Rounding is monotone: a
//! child that a ray hits is also hit by the hull, at no greater distance.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::ray::{BoxRay, FAR, Rows, SHEAR_MARGIN, TRANSFORM_MARGIN, rows_of};
use super::state::Traversal;
use crate::layout::triangle_row::VERTEX;
use crate::layout::{Bounds, aabb_row};
use crate::vec4::F32x4;
use crate::view::{AabbLeaf, NodeRef, TriangleLeaf, View};
use base::abi::MAX_LANES;
use base::host::{Floats, Host, Ints};

/// Values of three axes in all lanes.
pub type Vectors<H> = [<H as Host>::Floats; 3];

/// Rays in one structure's space.
pub struct Bundle<H: Host> {
    /// The fields of [`BoxRay`], by axis.
    pub near_origin: Vectors<H>,
    pub far_origin: Vectors<H>,
    pub near_inverse: Vectors<H>,
    pub far_inverse: Vectors<H>,
    /// Beginnings of the intervals.
    pub t_min: H::Floats,
    hull: Hull,
    rows: Rows,
    octant: u32,
    /// The structure and the progress in it.
    pub place: Place,
}

/// The structure that a packet walks through.
pub struct Place {
    /// The structure.
    pub view: View,
    /// Number of nodes and leaves that may still be visited.
    pub steps: u64,
    /// Number of levels of the tree for which entries are left.
    pub depth: u32,
    /// Beginnings of the intervals of all rays.
    pub t_min: [f32; MAX_LANES],
}

/// Extreme values of all rays. Distances of near planes are not below the lesser one of two: with
/// the least and the greatest reciprocal. Those of far planes are not above the greater one.
#[derive(Clone, Copy)]
struct Hull {
    near_origin: [f32; 3],
    near_inverse: [[f32; 3]; 2],
    far_origin: [f32; 3],
    far_inverse: [[f32; 3]; 2],
    t_min: f32,
}

/// Origins and directions of rays.
pub struct Lines<H: Host> {
    /// Origins by axis.
    pub origin: Vectors<H>,
    /// Directions by axis.
    pub direction: Vectors<H>,
}

impl<H: Host> Lines<H> {
    /// Joins the rays in the world.
    #[inline(always)]
    pub fn of(states: &[&Traversal; MAX_LANES]) -> Lines<H> {
        let (mut origin, mut direction) = ([[0.0; MAX_LANES]; 3], [[0.0; MAX_LANES]; 3]);
        for lane in 0..MAX_LANES {
            for axis in 0..3 {
                origin[axis][lane] = states[lane].ray.origin[axis];
                direction[axis][lane] = states[lane].ray.direction[axis];
            }
        }
        Lines { origin: vectors::<H>(&origin), direction: vectors::<H>(&direction) }
    }

    /// Applies an affine transform, given by rows, as `transform_point` and `transform_direction`
    /// do.
    #[inline(always)]
    pub fn transformed(&self, rows: &[f32; 12]) -> Lines<H> {
        let mut to = Lines { origin: self.origin, direction: self.direction };
        for axis in 0..3 {
            let (a, b) = (H::Floats::splat(rows[4 * axis]), H::Floats::splat(rows[4 * axis + 1]));
            let (c, d) = (H::Floats::splat(rows[4 * axis + 2]), H::Floats::splat(rows[4 * axis + 3]));
            let [x, y, z] = self.origin;
            to.origin[axis] = a * x + b * y + c * z + d;
            let [x, y, z] = self.direction;
            to.direction[axis] = a * x + b * y + c * z;
        }
        to
    }

    /// Returns the components of the origins and of the directions of all rays.
    #[inline(always)]
    pub fn components(&self) -> [[[f32; MAX_LANES]; 3]; 2] {
        let ([x, y, z], [dx, dy, dz]) = (self.origin, self.direction);
        [[array(x), array(y), array(z)], [array(dx), array(dy), array(dz)]]
    }

    /// Returns the lanes whose numbers are finite.
    #[inline(always)]
    pub fn finite(&self) -> u32 {
        let max = H::Floats::splat(f32::MAX);
        let mut finite = !0;
        for axis in 0..3 {
            finite &= max.greater_or_equal(abs::<H>(self.origin[axis])).movemask();
            finite &= max.greater_or_equal(abs::<H>(self.direction[axis])).movemask();
        }
        finite
    }

    /// Returns the lanes with the same octant and the same largest component as one of them.
    #[inline(always)]
    pub fn alike(&self, leader: usize) -> u32 {
        let [x, y, z] = self.direction;
        let (dx, dy, dz) = (abs::<H>(x), abs::<H>(y), abs::<H>(z));
        let is_x = (dx.greater(dy) & dx.greater(dz)).movemask();
        let is_y = !is_x & dy.greater(dz).movemask();
        let mut alike = !0;
        for bits in [x.bits().movemask(), y.bits().movemask(), z.bits().movemask(), is_x, is_y] {
            alike &= if bits >> leader & 1 != 0 { bits } else { !bits };
        }
        alike
    }

    /// Returns the rays in `lanes`; other lanes have one of them.
    #[inline(always)]
    pub fn only(&self, lanes: u32, leader: usize) -> Lines<H> {
        let mut to = Lines { origin: self.origin, direction: self.direction };
        for axis in 0..3 {
            to.origin[axis] = only::<H>(self.origin[axis], lanes, leader);
            to.direction[axis] = only::<H>(self.direction[axis], lanes, leader);
        }
        to
    }

    /// Returns the margins of boxes of instances ([`BoxRay::for_instances`]).
    #[inline(always)]
    pub fn margin_of_instances(&self) -> Vectors<H> {
        let [x, y, z] = self.origin;
        let max = abs::<H>(z).max(abs::<H>(y).max(abs::<H>(x).max(H::Floats::splat(0.0))));
        [max * H::Floats::splat(TRANSFORM_MARGIN); 3]
    }

    /// Returns the margins of boxes of triangles ([`BoxRay::for_triangles`]).
    #[inline(always)]
    pub fn margin_of_triangles(&self, bounds: &Bounds) -> Vectors<H> {
        let mut distance = self.origin;
        let mut max = H::Floats::splat(0.0);
        for axis in 0..3 {
            let to_min = abs::<H>(H::Floats::splat(bounds.min[axis]) - self.origin[axis]);
            let to_max = abs::<H>(H::Floats::splat(bounds.max[axis]) - self.origin[axis]);
            distance[axis] = to_min.max(to_max).min(H::Floats::splat(f32::MAX));
            max = distance[axis].max(max);
        }
        for axis in 0..3 {
            distance[axis] = (distance[axis] + max) * H::Floats::splat(SHEAR_MARGIN);
        }
        distance
    }
}

/// Returns the values of `lanes`; other lanes have that of one of them.
#[inline(always)]
pub fn only<H: Host>(values: H::Floats, lanes: u32, leader: usize) -> H::Floats {
    let first = H::Ints::splat(array(values)[leader % MAX_LANES].to_bits());
    H::Ints::from_mask(lanes).select(values.bits(), first).as_floats()
}

/// Returns the least and the greatest value.
#[inline(always)]
fn extremes<F: Floats>(values: F) -> [f32; 2] {
    let [a, b, c, d, e, f, g, h] = array(values);
    let (low, high) = (F32x4::from_array([a, b, c, d]), F32x4::from_array([e, f, g, h]));
    let ([a, b, c, d], [e, f, g, h]) = (low.min(high).to_array(), low.max(high).to_array());
    let least = |a: f32, b: f32| if a < b { a } else { b };
    let greatest = |a: f32, b: f32| if a > b { a } else { b };
    [least(least(a, b), least(c, d)), greatest(greatest(e, f), greatest(g, h))]
}

/// Returns the magnitudes.
#[inline(always)]
pub fn abs<H: Host>(value: H::Floats) -> H::Floats {
    (value.bits() & H::Ints::splat(i32::MAX as u32)).as_floats()
}

#[inline(always)]
fn equal<H: Host>(a: H::Floats, b: H::Floats) -> H::Ints {
    a.greater_or_equal(b) & b.greater_or_equal(a)
}

/// Computes origins again of which one is not moved by its margin.
#[cold]
#[inline(always)]
fn move_origins<H: Host>(rays: &Lines<H>, margin: &Vectors<H>, [near, far]: [&mut Vectors<H>; 2]) {
    let mut moved = [[[0.0; MAX_LANES]; 3]; 2];
    let at = |of: &Vectors<H>, lane: usize| [array(of[0])[lane], array(of[1])[lane], array(of[2])[lane]];
    for lane in 0..MAX_LANES {
        let [x, y, z] = at(margin, lane);
        let margin = F32x4::from_array([x, y, z, 0.0]);
        let ray = BoxRay::new(at(&rays.origin, lane), at(&rays.direction, lane), margin);
        for axis in 0..3 {
            moved[0][axis][lane] = ray.near_origin[axis];
            moved[1][axis][lane] = ray.far_origin[axis];
        }
    }
    (*near, *far) = (vectors::<H>(&moved[0]), vectors::<H>(&moved[1]));
}

impl<H: Host> Bundle<H> {
    /// Prepares rays for a structure, as [`BoxRay`] does. All have the same octant. `None` if they
    /// cannot be tested together.
    #[inline(always)]
    pub fn new(rays: &Lines<H>, margin: Vectors<H>, t_min: H::Floats, (view, depth): (View, u32)) -> Option<Bundle<H>> {
        let zero = H::Floats::splat(0.0);
        let (least, greatest) = (H::Floats::splat(-f32::MAX), H::Floats::splat(f32::MAX));
        let (mut near_origin, mut far_origin) = (rays.origin, rays.origin);
        let (mut near_inverse, mut far_inverse) = (rays.direction, rays.direction);
        let mut stuck = 0;
        let mut octant = 0;
        let mut inverses = [[0.0; 2]; 3];
        for axis in 0..3 {
            let (origin, margin) = (rays.origin[axis], margin[axis]);
            let inverse = H::Floats::splat(1.0) / rays.direction[axis];
            let sign = inverse.bits() & H::Ints::splat(1 << 31);
            let outward = (sign | margin.bits()).as_floats();
            let near = (origin + outward).max(least).min(greatest);
            let far = (origin - outward).max(least).min(greatest);
            let has_margin = margin.greater(zero);
            near_origin[axis] = has_margin.select(near.bits(), origin.bits()).as_floats();
            far_origin[axis] = has_margin.select(far.bits(), origin.bits()).as_floats();
            near_inverse[axis] = inverse.max(least).min(greatest);
            far_inverse[axis] = inverse * H::Floats::splat(FAR);
            stuck |= ((equal::<H>(near, origin) | equal::<H>(far, origin)) & has_margin).movemask();
            octant |= (sign.movemask() & 1) << axis;
            inverses[axis] = extremes(inverse);
        }
        if stuck != 0 {
            move_origins::<H>(rays, &margin, [&mut near_origin, &mut far_origin]);
        }
        let mut hull = Hull {
            near_origin: [0.0; 3],
            near_inverse: [[0.0; 3]; 2],
            far_origin: [0.0; 3],
            far_inverse: [[0.0; 3]; 2],
            t_min: extremes(t_min)[0],
        };
        let mut unlimited = 0;
        for axis in 0..3 {
            let is_down = octant >> axis & 1 != 0;
            hull.near_origin[axis] = extremes(near_origin[axis])[usize::from(!is_down)];
            hull.far_origin[axis] = extremes(far_origin[axis])[usize::from(is_down)];
            for (end, inverse) in inverses[axis].into_iter().enumerate() {
                hull.near_inverse[end][axis] = inverse.clamp(-f32::MAX, f32::MAX);
                hull.far_inverse[end][axis] = inverse * FAR;
            }
            if !(hull.far_inverse[0][axis].is_finite() && hull.far_inverse[1][axis].is_finite()) {
                // A ray perpendicular to the axis: no far plane ends the hull.
                let side = if is_down { -1.0 } else { 1.0 };
                hull.far_origin[axis] = f32::NEG_INFINITY * side;
                (hull.far_inverse[0][axis], hull.far_inverse[1][axis]) = (side, side);
                unlimited += 1;
            }
        }
        let (rows, steps) = (rows_of(octant), view.steps());
        let bundle = Bundle {
            near_origin,
            far_origin,
            near_inverse,
            far_inverse,
            t_min,
            hull,
            rows,
            octant,
            place: Place { view, steps, depth, t_min: array(t_min) },
        };
        if unlimited < 3 { Some(bundle) } else { None }
    }

    /// Counts a node or a leaf; returns false if there have been too many.
    #[inline(always)]
    pub fn count_step(&mut self) -> bool {
        let may = self.place.steps != 0;
        self.place.steps = self.place.steps.saturating_sub(1);
        may
    }

    /// Returns the least beginning of the rays' intervals.
    #[inline(always)]
    pub fn first(&self) -> f32 {
        self.hull.t_min
    }

    /// Returns true if the rays go down an axis.
    #[inline(always)]
    pub fn is_down(&self, axis: usize) -> bool {
        self.octant >> axis & 1 != 0
    }

    /// Returns the order of a node's children.
    #[inline(always)]
    pub fn order(&self, node: NodeRef) -> u32 {
        node.order(self.octant)
    }

    /// Tests the children of a node; returns the hull's near and far distances.
    #[inline(always)]
    pub fn test_hull(&self, node: NodeRef, t_max: f32) -> (H::Floats, H::Floats) {
        let hull = &self.hull;
        let mut near = H::Floats::splat(hull.t_min);
        let mut far = H::Floats::splat(t_max);
        for axis in 0..3 {
            let near_plane = node.row_at::<H>(self.rows[0][axis]);
            let far_plane = node.row_at::<H>(self.rows[1][axis]);
            let to_near = near_plane - H::Floats::splat(hull.near_origin[axis]);
            let to_far = far_plane - H::Floats::splat(hull.far_origin[axis]);
            let a = to_near * H::Floats::splat(hull.near_inverse[0][axis]);
            let b = to_near * H::Floats::splat(hull.near_inverse[1][axis]);
            let c = to_far * H::Floats::splat(hull.far_inverse[0][axis]);
            let d = to_far * H::Floats::splat(hull.far_inverse[1][axis]);
            near = a.min(b).max(near);
            far = c.max(d).min(far);
        }
        (near, far)
    }

    /// Returns bits of a leaf's triangles whose boxes the hull hits.
    #[inline(always)]
    pub fn test_triangles(&self, leaf: TriangleLeaf, t_max: f32) -> u32 {
        let [mut min, mut max] = [[F32x4::splat(0.0); 3]; 2];
        for axis in 0..3 {
            let (a, b, c) = (leaf.row(VERTEX + axis), leaf.row(VERTEX + 3 + axis), leaf.row(VERTEX + 6 + axis));
            (min[axis], max[axis]) = (a.min(b).min(c), a.max(b).max(c));
        }
        self.test_boxes([self.hull.t_min, t_max], &min, &max)
    }

    /// Returns bits of a leaf's AABBs that the hull hits, for rays whose own intervals begin at
    /// `first` or behind it.
    #[inline(always)]
    pub fn test_aabbs(&self, leaf: AabbLeaf, first: f32, t_max: f32) -> u32 {
        let [min, max] = [aabb_row::MIN, aabb_row::MAX].map(|row| [0, 1, 2].map(|axis| leaf.row(row + axis)));
        self.test_boxes([first, t_max * FAR], &min, &max)
    }

    /// Returns bits of boxes that the hull hits in an interval.
    #[inline(always)]
    fn test_boxes(&self, interval: [f32; 2], min: &[F32x4; 3], max: &[F32x4; 3]) -> u32 {
        let hull = &self.hull;
        let [mut near, mut far] = interval.map(F32x4::splat);
        for axis in 0..3 {
            let (min, max) = (min[axis], max[axis]);
            let (near_plane, far_plane) = if self.is_down(axis) { (max, min) } else { (min, max) };
            let to_near = near_plane - F32x4::splat(hull.near_origin[axis]);
            let to_far = far_plane - F32x4::splat(hull.far_origin[axis]);
            let a = to_near * F32x4::splat(hull.near_inverse[0][axis]);
            let b = to_near * F32x4::splat(hull.near_inverse[1][axis]);
            let c = to_far * F32x4::splat(hull.far_inverse[0][axis]);
            let d = to_far * F32x4::splat(hull.far_inverse[1][axis]);
            near = a.min(b).max(near);
            far = c.max(d).min(far);
        }
        far.greater_or_equal(near).bits()
    }

    /// Tests one child; returns the near distances of the rays, and bits of those that hit it.
    #[inline(always)]
    pub fn test_child(&self, node: NodeRef, slot: u32, t_max: H::Floats) -> (H::Floats, u32) {
        let (mut near, mut far) = (self.t_min, t_max);
        for axis in 0..3 {
            let near_plane = H::Floats::splat(f32::from_bits(node.word_at(self.rows[0][axis], slot)));
            let far_plane = H::Floats::splat(f32::from_bits(node.word_at(self.rows[1][axis], slot)));
            near = ((near_plane - self.near_origin[axis]) * self.near_inverse[axis]).max(near);
            far = ((far_plane - self.far_origin[axis]) * self.far_inverse[axis]).min(far);
        }
        (near, far.greater_or_equal(near).movemask())
    }
}

/// Makes a vector of an array.
#[inline(always)]
pub fn vector<H: Host>(values: &[f32; MAX_LANES]) -> H::Floats {
    let [a, b, c, d, e, f, g, h] = *values;
    let bits = [a.to_bits(), b.to_bits(), c.to_bits(), d.to_bits(), e.to_bits(), f.to_bits(), g.to_bits(), h.to_bits()];
    H::Ints::from_array(bits).as_floats()
}

/// Makes vectors of arrays.
#[inline(always)]
pub fn vectors<H: Host>(values: &[[f32; MAX_LANES]; 3]) -> Vectors<H> {
    [vector::<H>(&values[0]), vector::<H>(&values[1]), vector::<H>(&values[2])]
}

/// Returns the lanes of a vector.
#[inline(always)]
pub fn array<F: Floats>(values: F) -> [f32; MAX_LANES] {
    values.bits().to_array().map(f32::from_bits)
}
