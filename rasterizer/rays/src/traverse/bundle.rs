//! Up to eight rays that are tested together: against the children of a node, and against one box.
//!
//! All near planes are on the same sides, so the least and greatest origins and reciprocals of the
//! rays give an interval that contains the distances of each ray ("hull"). Rounding is monotone: a
//! child that a ray hits is also hit by the hull, at no greater distance.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::ray::BoxRay;
use super::state::Traversal;
use crate::layout::triangle_row::VERTEX;
use crate::vec4::F32x4;
use crate::view::{NodeRef, TriangleLeaf, View};
use base::abi::MAX_LANES;
use base::host::{Floats, Host, Ints};

/// Values of three axes in all lanes.
pub type Vectors<H> = [<H as Host>::Floats; 3];

/// Rays in one structure's space.
#[derive(Clone, Copy)]
pub struct Bundle<H: Host> {
    /// The fields of [`BoxRay`], by axis.
    pub near_origin: Vectors<H>,
    pub far_origin: Vectors<H>,
    pub near_inverse: Vectors<H>,
    pub far_inverse: Vectors<H>,
    /// Beginnings of the intervals.
    pub t_min: H::Floats,
    hull: Hull,
    rows: [[u8; 4]; 2],
    octant: u32,
    /// The structure.
    pub view: View,
    /// Number of nodes and leaves that may still be visited.
    pub steps: u64,
    /// Number of levels of the tree for which entries are left.
    pub depth: u32,
}

/// Extreme values of all rays. Distances of near planes are not below the lesser one of two: with
/// the least and the greatest reciprocal. Those of far planes are not above the greater one.
#[derive(Clone, Copy)]
struct Hull {
    near_origin: [f32; 3],
    near_inverse: [[f32; 4]; 2],
    far_origin: [f32; 3],
    far_inverse: [[f32; 4]; 2],
    t_min: f32,
}

impl Hull {
    /// Makes the hull of rays of one octant; `None` if a ray has no direction.
    #[inline(always)]
    fn new(states: &[&Traversal; MAX_LANES], octant: u32) -> Option<Hull> {
        let first = Extremes::of(states[0].walk.ray());
        let [mut near_origin, mut far_origin, mut near_inverse, mut far_inverse] = first;
        let mut t_min = states[0].walk.t_min();
        for state in &states[1..] {
            let [a, b, c, d] = Extremes::of(state.walk.ray());
            near_origin = near_origin.with(a);
            far_origin = far_origin.with(b);
            near_inverse = near_inverse.with(c);
            far_inverse = far_inverse.with(d);
            t_min = if state.walk.t_min() < t_min { state.walk.t_min() } else { t_min };
        }
        let mut hull = Hull {
            near_origin: [0.0; 3],
            near_inverse: [near_inverse.least.to_array(), near_inverse.greatest.to_array()],
            far_origin: [0.0; 3],
            far_inverse: [far_inverse.least.to_array(), far_inverse.greatest.to_array()],
            t_min,
        };
        let [near_least, near_greatest] = [near_origin.least.to_array(), near_origin.greatest.to_array()];
        let [far_least, far_greatest] = [far_origin.least.to_array(), far_origin.greatest.to_array()];
        let mut unlimited = 0;
        for axis in 0..3 {
            let is_down = octant >> axis & 1 != 0;
            hull.near_origin[axis] = if is_down { near_least[axis] } else { near_greatest[axis] };
            hull.far_origin[axis] = if is_down { far_greatest[axis] } else { far_least[axis] };
            if !(hull.far_inverse[0][axis].is_finite() && hull.far_inverse[1][axis].is_finite()) {
                // A ray perpendicular to the axis: no far plane ends the hull.
                let side = if is_down { -1.0 } else { 1.0 };
                hull.far_origin[axis] = f32::NEG_INFINITY * side;
                (hull.far_inverse[0][axis], hull.far_inverse[1][axis]) = (side, side);
                unlimited += 1;
            }
        }
        (unlimited < 3).then_some(hull)
    }
}

/// Least and greatest values of rays, by axis.
#[derive(Clone, Copy)]
struct Extremes {
    least: F32x4,
    greatest: F32x4,
}

impl Extremes {
    /// Returns the values of the fields of one ray.
    #[inline(always)]
    fn of(ray: &BoxRay) -> [Extremes; 4] {
        let of = |values: &[f32; 4]| {
            let value = F32x4::from_array(*values);
            Extremes { least: value, greatest: value }
        };
        [of(&ray.near_origin), of(&ray.far_origin), of(&ray.near_inverse), of(&ray.far_inverse)]
    }

    /// Returns the extremes of both.
    #[inline(always)]
    fn with(self, other: Extremes) -> Extremes {
        Extremes { least: other.least.min(self.least), greatest: other.greatest.max(self.greatest) }
    }
}

impl<H: Host> Bundle<H> {
    /// Prepares rays for a structure. All have the same octant. `None` if they cannot be tested
    /// together.
    #[inline(always)]
    pub fn new(states: &[&Traversal; MAX_LANES], view: View, depth: u32) -> Option<Bundle<H>> {
        let mut fields = [[[0.0; MAX_LANES]; 3]; 4];
        let mut t_min = [0.0; MAX_LANES];
        for lane in 0..MAX_LANES {
            let ray = states[lane].walk.ray();
            t_min[lane] = states[lane].walk.t_min();
            for axis in 0..3 {
                fields[0][axis][lane] = ray.near_origin[axis];
                fields[1][axis][lane] = ray.far_origin[axis];
                fields[2][axis][lane] = ray.near_inverse[axis];
                fields[3][axis][lane] = ray.far_inverse[axis];
            }
        }
        let (rows, octant) = states[0].walk.ray().rows_and_octant();
        let hull = Hull::new(states, octant)?;
        let [near_origin, far_origin, near_inverse, far_inverse] = &fields;
        let t_min = vector::<H>(&t_min);
        let steps = view.steps();
        Some(Bundle {
            near_origin: vectors::<H>(near_origin),
            far_origin: vectors::<H>(far_origin),
            near_inverse: vectors::<H>(near_inverse),
            far_inverse: vectors::<H>(far_inverse),
            t_min,
            hull,
            rows,
            octant,
            view,
            steps,
            depth,
        })
    }

    /// Counts a node or a leaf; returns false if there have been too many.
    #[inline(always)]
    pub fn count_step(&mut self) -> bool {
        let may = self.steps != 0;
        self.steps = self.steps.saturating_sub(1);
        may
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
        let hull = &self.hull;
        let mut near = F32x4::splat(hull.t_min);
        let mut far = F32x4::splat(t_max);
        for axis in 0..3 {
            let (a, b, c) = (leaf.row(VERTEX + axis), leaf.row(VERTEX + 3 + axis), leaf.row(VERTEX + 6 + axis));
            let (min, max) = (a.min(b).min(c), a.max(b).max(c));
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
