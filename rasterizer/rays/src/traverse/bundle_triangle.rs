//! Intersections of up to eight rays with one triangle, with the same bits as those of one ray with
//! the triangles of a leaf (`triangle`).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::bundle::{Line, Part, Vectors, abs, array, vector};
use super::ray::Shear;
use super::triangle::{TINY, UNCERTAIN, exact};
use crate::layout::triangle_row::VERTEX;
use crate::view::TriangleLeaf;
use base::abi::MAX_LANES;
use base::host::{Floats, Host, Ints};

/// Rays prepared for triangles, with the same axes.
pub struct Shears<H: Host> {
    axes: [usize; 3],
    origin: Vectors<H>,
    factors: Vectors<H>,
}

/// Hits of the rays.
#[derive(Clone, Copy)]
pub struct RayHits {
    /// Rays that hit the triangle, as bits.
    pub lanes: u32,
    /// Rays that hit its front.
    pub front: u32,
    /// Distances.
    pub t: [f32; MAX_LANES],
    /// Weights of the second vertex.
    pub u: [f32; MAX_LANES],
    /// Weights of the third vertex.
    pub v: [f32; MAX_LANES],
}

impl<H: Host> Copy for Shears<H> {}
impl<H: Host> Clone for Shears<H> {
    #[inline(always)]
    fn clone(&self) -> Shears<H> {
        *self
    }
}

impl<H: Host> Shears<H> {
    /// Prepares rays that have the axes of the first one.
    #[inline(always)]
    pub fn new(rays: &Line<H>) -> Shears<H> {
        let [x, y, z] = rays.origin;
        let origin = [array(x)[0], array(y)[0], array(z)[0]];
        let [x, y, z] = rays.direction;
        let axes = Shear::new(origin, [array(x)[0], array(y)[0], array(z)[0]]).axes.map(|axis| axis.min(2) as usize);
        let largest = rays.direction[axes[2]];
        Shears {
            axes,
            origin: [rays.origin[axes[0]], rays.origin[axes[1]], rays.origin[axes[2]]],
            factors: [
                rays.direction[axes[0]] / largest,
                rays.direction[axes[1]] / largest,
                H::Floats::splat(1.0) / largest,
            ],
        }
    }

    /// Returns the sheared coordinates of a vertex.
    #[inline(always)]
    fn vertex(&self, leaf: TriangleLeaf, triangle: usize, number: usize) -> Vectors<H> {
        let px = coordinate::<H>(leaf, triangle, number, self.axes[0]);
        let py = coordinate::<H>(leaf, triangle, number, self.axes[1]);
        let pz = coordinate::<H>(leaf, triangle, number, self.axes[2]);
        let depth = pz - self.origin[2];
        let x = (px - self.origin[0]) - self.factors[0] * depth;
        let y = (py - self.origin[1]) - self.factors[1] * depth;
        [x, y, depth]
    }
}

/// Returns a coordinate of a vertex in all lanes.
#[inline(always)]
fn coordinate<H: Host>(leaf: TriangleLeaf, triangle: usize, vertex: usize, axis: usize) -> H::Floats {
    H::Floats::splat(f32::from_bits(leaf.word(VERTEX + 3 * vertex + axis, triangle)))
}

#[inline(always)]
fn arrays<H: Host>(vectors: &Vectors<H>) -> [[f32; MAX_LANES]; 3] {
    [array(vectors[0]), array(vectors[1]), array(vectors[2])]
}

/// An edge function: its value and the bound below which its sign is uncertain.
#[inline(always)]
fn edge<H: Host>(a: &Vectors<H>, b: &Vectors<H>) -> (H::Floats, H::Floats) {
    let (p, q) = (a[0] * b[1], a[1] * b[0]);
    (p - q, (abs::<H>(p) + abs::<H>(q)) * H::Floats::splat(UNCERTAIN) + H::Floats::splat(TINY))
}

/// Intersects the rays in `lanes` with a triangle of a leaf. Hits are inside of the intervals, or
/// at their ends; `first` has the beginnings of the rays' own intervals.
#[inline(always)]
pub fn intersect<H: Host>(
    (leaf, triangle): (TriangleLeaf, usize),
    lanes: u32,
    shears: &Shears<H>,
    (part, octant): (&Part<H>, u32),
    [first, last]: [H::Floats; 2],
) -> Option<RayHits> {
    let a = &shears.vertex(leaf, triangle, 0);
    let b = &shears.vertex(leaf, triangle, 1);
    let c = &shears.vertex(leaf, triangle, 2);
    let (u, u_bound) = edge::<H>(c, b);
    let (v, v_bound) = edge::<H>(a, c);
    let (w, w_bound) = edge::<H>(b, a);
    let zero = H::Floats::splat(0.0);
    let (positive_u, positive_v, positive_w) = (u.greater(u_bound), v.greater(v_bound), w.greater(w_bound));
    let negative_u = (zero - u_bound).greater(u);
    let negative_v = (zero - v_bound).greater(v);
    let negative_w = (zero - w_bound).greater(w);
    let both_signs = (positive_u | positive_v | positive_w) & (negative_u | negative_v | negative_w);
    let possible = lanes & !both_signs.movemask();
    if possible == 0 {
        return None;
    }
    let front = (positive_u & positive_v & positive_w).movemask();
    let back = (negative_u & negative_v & negative_w).movemask();
    let determinant = u + v + w;
    let is_finite = H::Floats::splat(f32::MAX).greater(abs::<H>(determinant)).movemask();
    let certain = possible & (front | back) & is_finite;
    let scale = H::Floats::splat(1.0) / determinant;
    let (u, v, w) = (u * scale, v * scale, w * scale);
    let mut hits = RayHits {
        lanes: certain,
        front: front & certain,
        t: array((u * a[2] + v * b[2] + w * c[2]) * shears.factors[2]),
        u: array(v),
        v: array(w),
    };
    let uncertain = possible & !certain;
    if uncertain != 0 {
        let vertices = [arrays::<H>(a), arrays::<H>(b), arrays::<H>(c)];
        decide_uncertain(&mut hits, uncertain, &vertices, &array(shears.factors[2]));
    }
    if hits.lanes == 0 {
        return None;
    }
    limit::<H>(&mut hits, (leaf, triangle), (part, octant), [first, last]);
    Some(hits)
}

/// Decides about the rays in `lanes`, given the triangle's sheared vertices for each ray.
#[cold]
fn decide_uncertain(hits: &mut RayHits, lanes: u32, vertices: &[[[f32; MAX_LANES]; 3]; 3], factors: &[f32; MAX_LANES]) {
    for lane in (0..MAX_LANES).filter(|lane| lanes >> lane & 1 != 0) {
        let vertices = vertices.map(|vertex| vertex.map(|coordinate| coordinate[lane]));
        if let Some(hit) = exact(&vertices, factors[lane]) {
            (hits.t[lane], hits.u[lane], hits.v[lane]) = (hit.t, hit.u, hit.v);
            hits.lanes |= 1 << lane;
            hits.front |= u32::from(hit.is_front) << lane;
        }
    }
}

/// Removes hits outside of the intervals and those of rays that do not hit the triangle's own box,
/// and moves the others behind the beginning of that box.
#[inline(always)]
fn limit<H: Host>(
    hits: &mut RayHits,
    (leaf, triangle): (TriangleLeaf, usize),
    (part, octant): (&Part<H>, u32),
    [first, last]: [H::Floats; 2],
) {
    let mut near = part.t_min;
    let mut far = H::Floats::splat(f32::INFINITY);
    for axis in 0..3 {
        let a = coordinate::<H>(leaf, triangle, 0, axis);
        let b = coordinate::<H>(leaf, triangle, 1, axis);
        let c = coordinate::<H>(leaf, triangle, 2, axis);
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        let (near_plane, far_plane) = if octant >> axis & 1 != 0 { (max, min) } else { (min, max) };
        near = ((near_plane - part.near_origin[axis]) * part.near_inverse[axis]).max(near);
        far = ((far_plane - part.far_origin[axis]) * part.far_inverse[axis]).min(far);
    }
    let computed = vector::<H>(&hits.t);
    let t = computed.max(near);
    let inside =
        t.greater(first) & last.greater_or_equal(t) & far.greater_or_equal(near) & computed.greater_or_equal(computed);
    hits.t = array(t);
    hits.lanes &= inside.movemask();
}
