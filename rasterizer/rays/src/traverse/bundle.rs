//! Rays that are tested together: against the children of a node, and against one box. They are in
//! one or two vectors of eight ("parts").
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

/// Largest number of rays of a packet.
pub const WIDTH: usize = 2 * MAX_LANES;

/// Values of three axes in all lanes.
pub type Vectors<H> = [<H as Host>::Floats; 3];

/// Eight rays in one structure's space.
pub struct Part<H: Host> {
    /// The fields of [`BoxRay`], by axis.
    pub near_origin: Vectors<H>,
    pub far_origin: Vectors<H>,
    pub near_inverse: Vectors<H>,
    pub far_inverse: Vectors<H>,
    /// Beginnings of the intervals.
    pub t_min: H::Floats,
}

/// Rays in one structure's space.
pub struct Bundle<H: Host, const N: usize> {
    /// The rays, eight at a time.
    pub parts: [Part<H>; N],
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
    pub t_min: [f32; WIDTH],
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

/// Origins and directions of eight rays.
pub struct Line<H: Host> {
    /// Origins by axis.
    pub origin: Vectors<H>,
    /// Directions by axis.
    pub direction: Vectors<H>,
}

/// Origins and directions of rays.
pub struct Lines<H: Host, const N: usize>(pub [Line<H>; N]);

// A derived implementation would demand that the host is copied, too.
impl<H: Host> Copy for Part<H> {}
impl<H: Host> Clone for Part<H> {
    #[inline(always)]
    fn clone(&self) -> Part<H> {
        *self
    }
}
impl<H: Host> Copy for Line<H> {}
impl<H: Host> Clone for Line<H> {
    #[inline(always)]
    fn clone(&self) -> Line<H> {
        *self
    }
}
impl<H: Host, const N: usize> Copy for Lines<H, N> {}
impl<H: Host, const N: usize> Clone for Lines<H, N> {
    #[inline(always)]
    fn clone(&self) -> Lines<H, N> {
        *self
    }
}

impl<H: Host, const N: usize> Lines<H, N> {
    /// Joins the rays in the world.
    #[inline(always)]
    pub fn of(states: &[[&Traversal; MAX_LANES]; N]) -> Lines<H, N> {
        let zero = [H::Floats::splat(0.0); 3];
        let mut lines = Lines([Line { origin: zero, direction: zero }; N]);
        for part in 0..N {
            let (mut origin, mut direction) = ([[0.0; MAX_LANES]; 3], [[0.0; MAX_LANES]; 3]);
            for lane in 0..MAX_LANES {
                for axis in 0..3 {
                    origin[axis][lane] = states[part][lane].ray.origin[axis];
                    direction[axis][lane] = states[part][lane].ray.direction[axis];
                }
            }
            lines.0[part] = Line { origin: vectors::<H>(&origin), direction: vectors::<H>(&direction) };
        }
        lines
    }

    /// Applies an affine transform, given by rows, as `transform_point` and `transform_direction`
    /// do.
    #[inline(always)]
    pub fn transformed(&self, rows: &[f32; 12]) -> Lines<H, N> {
        let mut to = *self;
        for axis in 0..3 {
            let (a, b) = (H::Floats::splat(rows[4 * axis]), H::Floats::splat(rows[4 * axis + 1]));
            let (c, d) = (H::Floats::splat(rows[4 * axis + 2]), H::Floats::splat(rows[4 * axis + 3]));
            for part in 0..N {
                let [x, y, z] = self.0[part].origin;
                to.0[part].origin[axis] = a * x + b * y + c * z + d;
                let [x, y, z] = self.0[part].direction;
                to.0[part].direction[axis] = a * x + b * y + c * z;
            }
        }
        to
    }

    /// Returns the lanes whose numbers are finite.
    #[inline(always)]
    pub fn finite(&self) -> u32 {
        let max = H::Floats::splat(f32::MAX);
        let mut all = 0;
        for part in 0..N {
            let mut finite = 0xff;
            for axis in 0..3 {
                finite &= max.greater_or_equal(abs::<H>(self.0[part].origin[axis])).movemask();
                finite &= max.greater_or_equal(abs::<H>(self.0[part].direction[axis])).movemask();
            }
            all |= finite << (MAX_LANES * part);
        }
        all
    }

    /// Returns the lanes with the same octant and the same largest component as one of them.
    #[inline(always)]
    pub fn alike(&self, leader: usize) -> u32 {
        let mut bits = [0; 5];
        for part in 0..N {
            let [x, y, z] = self.0[part].direction;
            let (dx, dy, dz) = (abs::<H>(x), abs::<H>(y), abs::<H>(z));
            let is_x = (dx.greater(dy) & dx.greater(dz)).movemask();
            let is_y = !is_x & dy.greater(dz).movemask();
            let of_part = [x.bits().movemask(), y.bits().movemask(), z.bits().movemask(), is_x, is_y];
            for (all, of_part) in bits.iter_mut().zip(of_part) {
                *all |= of_part << (MAX_LANES * part);
            }
        }
        let mut alike = !0;
        for bits in bits {
            alike &= if bits >> leader & 1 != 0 { bits } else { !bits };
        }
        alike
    }

    /// Returns the rays in `lanes`; other lanes have one of them.
    #[inline(always)]
    pub fn only(&self, lanes: u32, leader: usize) -> Lines<H, N> {
        let mut to = *self;
        for axis in 0..3 {
            let (mut origin, mut direction) = ([H::Floats::splat(0.0); N], [H::Floats::splat(0.0); N]);
            for part in 0..N {
                (origin[part], direction[part]) = (self.0[part].origin[axis], self.0[part].direction[axis]);
            }
            let (origin, direction) = (only::<H, N>(origin, lanes, leader), only::<H, N>(direction, lanes, leader));
            for part in 0..N {
                (to.0[part].origin[axis], to.0[part].direction[axis]) = (origin[part], direction[part]);
            }
        }
        to
    }

    /// Returns the margins of boxes of instances ([`BoxRay::for_instances`]).
    #[inline(always)]
    pub fn margin_of_instances(&self) -> [Vectors<H>; N] {
        let mut margins = [[H::Floats::splat(0.0); 3]; N];
        for part in 0..N {
            let [x, y, z] = self.0[part].origin;
            let max = abs::<H>(z).max(abs::<H>(y).max(abs::<H>(x).max(H::Floats::splat(0.0))));
            margins[part] = [max * H::Floats::splat(TRANSFORM_MARGIN); 3];
        }
        margins
    }

    /// Returns the margins of boxes of triangles ([`BoxRay::for_triangles`]).
    #[inline(always)]
    pub fn margin_of_triangles(&self, bounds: &Bounds) -> [Vectors<H>; N] {
        let mut margins = [[H::Floats::splat(0.0); 3]; N];
        for part in 0..N {
            let (origin, distance) = (self.0[part].origin, &mut margins[part]);
            let mut max = H::Floats::splat(0.0);
            for axis in 0..3 {
                let to_min = abs::<H>(H::Floats::splat(bounds.min[axis]) - origin[axis]);
                let to_max = abs::<H>(H::Floats::splat(bounds.max[axis]) - origin[axis]);
                distance[axis] = to_min.max(to_max).min(H::Floats::splat(f32::MAX));
                max = distance[axis].max(max);
            }
            for axis in 0..3 {
                distance[axis] = (distance[axis] + max) * H::Floats::splat(SHEAR_MARGIN);
            }
        }
        margins
    }
}

impl<H: Host> Line<H> {
    /// Returns the components of the origins and of the directions of all rays.
    #[inline(always)]
    pub fn components(&self) -> [[[f32; MAX_LANES]; 3]; 2] {
        [arrays::<H>(self.origin), arrays::<H>(self.direction)]
    }
}

/// Returns the numbers of vectors.
#[inline(always)]
fn arrays<H: Host>([x, y, z]: Vectors<H>) -> [[f32; MAX_LANES]; 3] {
    [array(x), array(y), array(z)]
}

/// Returns the values of `lanes`; other lanes have that of one of them.
#[inline(always)]
pub fn only<H: Host, const N: usize>(values: [H::Floats; N], lanes: u32, leader: usize) -> [H::Floats; N] {
    let first = array(values[leader / MAX_LANES % N])[leader % MAX_LANES];
    let first = H::Ints::splat(first.to_bits());
    let mut all = values;
    for part in 0..N {
        let own = H::Ints::from_mask(lanes >> (MAX_LANES * part) & 0xff);
        all[part] = own.select(values[part].bits(), first).as_floats();
    }
    all
}

/// Returns the least and the greatest value.
#[inline(always)]
pub fn extremes<F: Floats, const N: usize>(values: [F; N]) -> [f32; 2] {
    let (mut least, mut greatest) = (values[0], values[0]);
    for part in 1..N {
        (least, greatest) = (values[part].min(least), values[part].max(greatest));
    }
    let halves = |values: F| {
        let [a, b, c, d, e, f, g, h] = array(values);
        (F32x4::from_array([a, b, c, d]), F32x4::from_array([e, f, g, h]))
    };
    let ((low, high), (low_of_greatest, high_of_greatest)) = (halves(least), halves(greatest));
    let [a, b, c, d] = low.min(high).to_array();
    let [e, f, g, h] = low_of_greatest.max(high_of_greatest).to_array();
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

/// Computes the near and far origins of eight rays again, of which one is not moved by its margin.
#[cold]
#[inline(never)]
fn moved_origins([origin, direction, margin]: &[[[f32; MAX_LANES]; 3]; 3]) -> [[[f32; MAX_LANES]; 3]; 2] {
    let mut moved = [[[0.0; MAX_LANES]; 3]; 2];
    for lane in 0..MAX_LANES {
        let at = |of: &[[f32; MAX_LANES]; 3]| [of[0][lane], of[1][lane], of[2][lane]];
        let [x, y, z] = at(margin);
        let ray = BoxRay::new(at(origin), at(direction), F32x4::from_array([x, y, z, 0.0]));
        for axis in 0..3 {
            moved[0][axis][lane] = ray.near_origin[axis];
            moved[1][axis][lane] = ray.far_origin[axis];
        }
    }
    moved
}

/// Eight rays that are prepared, and what the hull of all rays needs of them.
struct Prepared<H: Host> {
    part: Part<H>,
    inverse: Vectors<H>,
    /// Octant of the first ray.
    octant: u32,
}

impl<H: Host> Prepared<H> {
    /// Prepares eight rays as [`BoxRay`] does.
    #[inline(always)]
    fn new(rays: &Line<H>, margin: &Vectors<H>, t_min: H::Floats) -> Prepared<H> {
        let zero = H::Floats::splat(0.0);
        let (least, greatest) = (H::Floats::splat(-f32::MAX), H::Floats::splat(f32::MAX));
        let (mut near_origin, mut far_origin) = (rays.origin, rays.origin);
        let (mut near_inverse, mut far_inverse) = (rays.direction, rays.direction);
        let mut inverses = rays.direction;
        let (mut stuck, mut octant) = (0, 0);
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
            inverses[axis] = inverse;
        }
        if stuck != 0 {
            let rays = [arrays::<H>(rays.origin), arrays::<H>(rays.direction), arrays::<H>(*margin)];
            let [near, far] = moved_origins(&rays);
            (near_origin, far_origin) = (vectors::<H>(&near), vectors::<H>(&far));
        }
        Prepared { part: Part { near_origin, far_origin, near_inverse, far_inverse, t_min }, inverse: inverses, octant }
    }
}

impl<H: Host, const N: usize> Bundle<H, N> {
    /// Prepares rays for a structure, as [`BoxRay`] does. All have the same octant. `None` if they
    /// cannot be tested together.
    #[inline(always)]
    pub fn new(
        rays: &Lines<H, N>,
        margin: &[Vectors<H>; N],
        t_min: [H::Floats; N],
        (view, depth): (View, u32),
    ) -> Option<Bundle<H, N>> {
        let Prepared { part, inverse, octant } = Prepared::new(&rays.0[0], &margin[0], t_min[0]);
        let (mut parts, mut inverses) = ([part; N], [inverse; N]);
        for at in 1..N {
            let prepared = Prepared::new(&rays.0[at], &margin[at], t_min[at]);
            (parts[at], inverses[at]) = (prepared.part, prepared.inverse);
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
            let [mut near, mut far, mut inverse] = [[parts[0].near_origin[axis]; N]; 3];
            for at in 0..N {
                near[at] = parts[at].near_origin[axis];
                far[at] = parts[at].far_origin[axis];
                inverse[at] = inverses[at][axis];
            }
            hull.near_origin[axis] = extremes(near)[usize::from(!is_down)];
            hull.far_origin[axis] = extremes(far)[usize::from(is_down)];
            for (end, inverse) in extremes(inverse).into_iter().enumerate() {
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
        let mut place = Place { view, steps: view.steps(), depth, t_min: [0.0; WIDTH] };
        for (to, part) in place.t_min.as_chunks_mut().0.iter_mut().zip(&parts) {
            *to = array(part.t_min);
        }
        let bundle = Bundle { parts, hull, rows: rows_of(octant), octant, place };
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

    /// Returns the octant of the rays.
    #[inline(always)]
    pub fn octant(&self) -> u32 {
        self.octant
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
    pub fn test_child(&self, node: NodeRef, slot: u32, t_max: [H::Floats; N]) -> ([H::Floats; N], u32) {
        let (mut near, mut far) = (self.t_min(), t_max);
        for axis in 0..3 {
            let near_plane = H::Floats::splat(f32::from_bits(node.word_at(self.rows[0][axis], slot)));
            let far_plane = H::Floats::splat(f32::from_bits(node.word_at(self.rows[1][axis], slot)));
            for (at, part) in self.parts.iter().enumerate() {
                near[at] = ((near_plane - part.near_origin[axis]) * part.near_inverse[axis]).max(near[at]);
                far[at] = ((far_plane - part.far_origin[axis]) * part.far_inverse[axis]).min(far[at]);
            }
        }
        let mut hit = 0;
        for at in 0..N {
            hit |= far[at].greater_or_equal(near[at]).movemask() << (MAX_LANES * at);
        }
        (near, hit)
    }

    /// Returns the beginnings of the rays' intervals.
    #[inline(always)]
    pub fn t_min(&self) -> [H::Floats; N] {
        let mut t_min = [H::Floats::splat(0.0); N];
        for at in 0..N {
            t_min[at] = self.parts[at].t_min;
        }
        t_min
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
