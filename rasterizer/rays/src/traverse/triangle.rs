//! Intersections of a ray with the triangles of a leaf: watertight, with exactly one hit where
//! triangles share an edge or a vertex.
//!
//! Vertices are sheared so that the ray is the third axis. The ray hits a triangle if the signs of
//! three edge functions agree. They are computed with 32 bits; where rounding may have changed a
//! sign, they are computed with 64 bits, in which the products of two sheared coordinates are
//! exact, and so is the sign of their difference. Edge functions of a shared edge are negatives of
//! each other in both triangles. A zero counts for one of them only, as if the ray were moved by an
//! infinitely small step.
//!
//! A hit is one only if the ray hits the triangle's own box, with the arithmetic of nodes, and it
//! is not nearer than that box. Nodes around the triangle are therefore hit at no greater distance,
//! and the closest hit does not depend on the tree.

#![forbid(unsafe_code)]

use super::ray::{BoxRay, Shear};
use crate::layout::triangle_row::VERTEX;
use crate::vec4::F32x4;
use crate::view::TriangleLeaf;

/// Part of the products' magnitude below which an edge function's sign is not certain.
pub const UNCERTAIN: f32 = 1.0 / (1 << 21) as f32;
/// Absolute part of that bound, for products that are too small for a relative error.
pub const TINY: f32 = f32::MIN_POSITIVE;

/// Hits of the lanes of a leaf.
#[derive(Clone, Copy)]
pub struct TriangleHits {
    /// Lanes that are hit, as bits.
    pub lanes: u32,
    /// Lanes whose vertices appear counter-clockwise in a right-handed coordinate system, seen from
    /// the ray's origin.
    pub front: u32,
    /// Distances.
    pub t: [f32; 4],
    /// Weights of the second vertex.
    pub u: [f32; 4],
    /// Weights of the third vertex.
    pub v: [f32; 4],
}

impl TriangleHits {
    const NONE: TriangleHits = TriangleHits { lanes: 0, front: 0, t: [0.0; 4], u: [0.0; 4], v: [0.0; 4] };
}

/// The interval of a ray in a leaf.
#[derive(Clone, Copy)]
pub struct Interval {
    /// Beginning, which a triangle must be behind.
    pub min: f32,
    /// End, which a triangle must be in front of (unless it is the current closest hit's distance).
    pub max: f32,
    /// Distance of the instance's box: no hit is nearer.
    pub floor: f32,
}

#[inline(always)]
fn splat([x, y, z]: [f32; 3]) -> [F32x4; 3] {
    [F32x4::splat(x), F32x4::splat(y), F32x4::splat(z)]
}

/// The ray's coordinate system in all lanes.
struct Frame {
    axes: [usize; 3],
    origin: [F32x4; 3],
    factors: [F32x4; 3],
}

impl Frame {
    /// Returns the sheared coordinates of a vertex.
    #[inline(always)]
    fn vertex(&self, leaf: TriangleLeaf, number: usize) -> [F32x4; 3] {
        let row = VERTEX + 3 * number;
        let depth = leaf.row(row + self.axes[2]) - self.origin[2];
        let x = (leaf.row(row + self.axes[0]) - self.origin[0]) - self.factors[0] * depth;
        let y = (leaf.row(row + self.axes[1]) - self.origin[1]) - self.factors[1] * depth;
        [x, y, depth]
    }
}

/// An edge function: its value and the bound below which its sign is uncertain.
#[inline(always)]
fn edge(ax: F32x4, ay: F32x4, bx: F32x4, by: F32x4) -> (F32x4, F32x4) {
    let (p, q) = (ax * by, ay * bx);
    (p - q, (p.abs() + q.abs()) * F32x4::splat(UNCERTAIN) + F32x4::splat(TINY))
}

/// Intersects a ray with the triangles in `lanes`. Hits are inside of the interval, or at its end.
#[inline(always)]
pub fn intersect(leaf: TriangleLeaf, lanes: u32, shear: &Shear, boxes: &BoxRay, interval: &Interval) -> TriangleHits {
    let frame = Frame {
        // The limits tell the compiler that the rows exist.
        axes: shear.axes.map(|axis| axis.min(2) as usize),
        origin: splat(shear.origin),
        factors: splat(shear.factors),
    };
    let ([ax, ay, az], [bx, by, bz], [cx, cy, cz]) =
        (frame.vertex(leaf, 0), frame.vertex(leaf, 1), frame.vertex(leaf, 2));
    let (u, u_bound) = edge(cx, cy, bx, by);
    let (v, v_bound) = edge(ax, ay, cx, cy);
    let (w, w_bound) = edge(bx, by, ax, ay);
    let zero = F32x4::splat(0.0);
    let [positive_u, positive_v, positive_w] = [u.greater(u_bound), v.greater(v_bound), w.greater(w_bound)];
    let negative_u = (zero - u_bound).greater(u);
    let negative_v = (zero - v_bound).greater(v);
    let negative_w = (zero - w_bound).greater(w);
    let front = positive_u.and(positive_v).and(positive_w).bits();
    let back = negative_u.and(negative_v).and(negative_w).bits();
    let any_positive = positive_u.or(positive_v).or(positive_w).bits();
    let any_negative = negative_u.or(negative_v).or(negative_w).bits();
    let uncertain = lanes & !(front | back) & !(any_positive & any_negative);
    let certain = lanes & (front | back);
    if certain | uncertain == 0 {
        return TriangleHits::NONE;
    }
    let determinant = u + v + w;
    let certain = certain & F32x4::splat(f32::MAX).greater(determinant.abs()).bits();
    let uncertain = uncertain | lanes & (front | back) & !certain;
    let scale = F32x4::splat(1.0) / determinant;
    let (u, v, w) = (u * scale, v * scale, w * scale);
    let mut hits = TriangleHits {
        lanes: certain,
        front: front & certain,
        t: ((u * az + v * bz + w * cz) * frame.factors[2]).to_array(),
        u: v.to_array(),
        v: w.to_array(),
    };
    if uncertain != 0 {
        let vertices = [[ax, ay, az], [bx, by, bz], [cx, cy, cz]];
        decide_uncertain(&mut hits, uncertain, &vertices, shear.factors[2]);
    }
    limit(&mut hits, leaf, boxes, interval);
    hits
}

/// Decides about the triangles in `lanes`, given by sheared vertices.
#[cold]
fn decide_uncertain(hits: &mut TriangleHits, lanes: u32, vertices: &[[F32x4; 3]; 3], factor: f32) {
    for lane in 0..4 {
        if lanes >> lane & 1 == 0 {
            continue;
        }
        let vertices = vertices.map(|vertex| vertex.map(|coordinate| coordinate.to_array()[lane]));
        if let Some(hit) = exact(&vertices, factor) {
            (hits.t[lane], hits.u[lane], hits.v[lane]) = (hit.t, hit.u, hit.v);
            hits.lanes |= 1 << lane;
            hits.front |= u32::from(hit.is_front) << lane;
        }
    }
}

/// A hit that is computed with 64 bits.
pub struct ExactHit {
    /// Distance.
    pub t: f32,
    /// Weight of the second vertex.
    pub u: f32,
    /// Weight of the third vertex.
    pub v: f32,
    /// True if the front is hit.
    pub is_front: bool,
}

/// Decides about one triangle, given by sheared vertices, with 64 bits.
pub fn exact(vertices: &[[f32; 3]; 3], factor: f32) -> Option<ExactHit> {
    let edge = |from: usize, to: usize| {
        let ([fx, fy, _], [tx, ty, _]) = (vertices[from].map(f64::from), vertices[to].map(f64::from));
        fx * ty - fy * tx
    };
    let edges = [(2, 1), (0, 2), (1, 0)];
    let values = edges.map(|(from, to)| edge(from, to));
    let (is_front, is_back) = (values.iter().any(|&e| e > 0.0), values.iter().any(|&e| e < 0.0));
    if is_front == is_back {
        return None;
    }
    // An edge through the ray belongs to the triangle on the side of an infinitely small step to
    // negative first coordinates, and of an even smaller one to positive second coordinates.
    for (value, (from, to)) in values.into_iter().zip(edges) {
        let [x, y] = [0, 1].map(|axis| vertices[to][axis].partial_cmp(&vertices[from][axis]));
        let forward = y.filter(|order| order.is_ne()).or(x);
        if value == 0.0 && forward.is_none_or(|order| order.is_gt() != is_front) {
            return None;
        }
    }
    let [u, v, w] = values;
    let determinant = u + v + w;
    if !determinant.is_finite() {
        return None;
    }
    let depth = u * f64::from(vertices[0][2]) + v * f64::from(vertices[1][2]) + w * f64::from(vertices[2][2]);
    Some(ExactHit {
        t: (depth * f64::from(factor) / determinant) as f32,
        u: (v / determinant) as f32,
        v: (w / determinant) as f32,
        is_front,
    })
}

/// Removes hits outside of the interval and those whose triangle's own box is not hit, and moves
/// the others behind the beginning of that box.
#[inline(always)]
fn limit(hits: &mut TriangleHits, leaf: TriangleLeaf, boxes: &BoxRay, interval: &Interval) {
    let [mut min, mut max] = [[F32x4::splat(0.0); 3]; 2];
    for axis in 0..3 {
        let [a, b, c] = [leaf.row(VERTEX + axis), leaf.row(VERTEX + 3 + axis), leaf.row(VERTEX + 6 + axis)];
        (min[axis], max[axis]) = (a.min(b).min(c), a.max(b).max(c));
    }
    let [near, far] = boxes.clip([interval.floor, f32::INFINITY].map(F32x4::splat), min, max);
    let computed = F32x4::from_array(hits.t);
    let t = computed.max(near);
    let inside = t
        .greater(F32x4::splat(interval.min))
        .and(F32x4::splat(interval.max).greater_or_equal(t))
        .and(far.greater_or_equal(near))
        .and(computed.greater_or_equal(computed));
    hits.t = t.to_array();
    hits.lanes &= inside.bits();
}
