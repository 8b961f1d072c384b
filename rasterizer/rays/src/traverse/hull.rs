//! Intersections of a ray with the convex hull of two spheres.
//!
//! They are computed with 64 bits, in a fixed order of operations that IEEE 754 rounds correctly,
//! so that all machines have the same bits. Parameters are relative to the ray's point that is
//! closest to the first end, so that the distance of the ray's origin costs no precision.
//!
//! Chains of swept spheres have no gaps: an end that is no cap lies in the hull of the neighbour,
//! which a ray from outside enters before.

#![forbid(unsafe_code)]

use crate::layout::{FIRST_CAP, LAST_CAP};
use crate::spheres::SweptSphere;

/// The point at which a ray enters a primitive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Distance; negative if the primitive begins behind the ray's origin.
    pub t: f64,
    /// Position between the ends: 0 and 1 on an end, and between them otherwise. It is that of the
    /// sphere which touches the hull in this point.
    pub u: f32,
}

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn difference(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns where a ray enters the convex hull of two spheres; `None` if it misses the hull, or
/// enters it through an end that is no cap.
pub fn entry(origin: Vector, direction: Vector, sphere: &SweptSphere) -> Option<Entry> {
    let length = dot(direction, direction).sqrt();
    let [(first, first_radius), (last, last_radius)] =
        sphere.ends.map(|[x, y, z, radius]| ([x, y, z].map(f64::from), f64::from(radius)));
    let unit = direction.map(|component| component / length);
    let from = difference(origin, first);
    let start = -dot(from, unit);
    let from = [0, 1, 2].map(|axis| from[axis] + start * unit[axis]);
    let axis = difference(last, first);
    let distance = dot(axis, axis).sqrt();
    let narrowing = first_radius - last_radius;
    let of_first = sphere_entry(from, unit, first_radius);
    // One end is inside of the other one, or both are equal.
    let encloses = distance <= narrowing.abs();
    if encloses && narrowing >= 0.0 {
        return finish(of_first, 0.0, sphere.caps & FIRST_CAP, start, length);
    }
    let of_last = sphere_entry(difference(from, axis), unit, last_radius);
    if encloses {
        return finish(of_last, 1.0, sphere.caps & LAST_CAP, start, length);
    }
    let middle = middle_entry(
        from,
        unit,
        axis.map(|component| component / distance),
        [first_radius, narrowing / distance, distance],
    );
    // The ray enters the hull where it enters the first one of its parts.
    let nearest = |t: Option<f64>| t.unwrap_or(f64::INFINITY);
    let ends = nearest(of_first).min(nearest(of_last));
    if let Some((t, u)) = middle.filter(|(t, _)| *t <= ends) {
        let inner = u.clamp(f32::MIN_POSITIVE, 1.0f32.next_down());
        return finish(Some(t), inner, LAST_CAP, start, length);
    }
    match nearest(of_first) <= nearest(of_last) {
        true => finish(of_first, 0.0, sphere.caps & FIRST_CAP, start, length),
        false => finish(of_last, 1.0, sphere.caps & LAST_CAP, start, length),
    }
}

/// Returns the entry at a parameter of the unit ray, if there is one and its part can be hit.
fn finish(t: Option<f64>, u: f32, can_be_hit: u32, start: f64, length: f64) -> Option<Entry> {
    let t = (start + t?) / length;
    (can_be_hit != 0 && t.is_finite()).then_some(Entry { t, u })
}

/// Returns where a ray enters a sphere around the point of which `from` is the distance.
fn sphere_entry(from: Vector, unit: Vector, radius: f64) -> Option<f64> {
    let closest = -dot(from, unit);
    let offset = [0, 1, 2].map(|axis| from[axis] + closest * unit[axis]);
    let depth = radius * radius - dot(offset, offset);
    (depth > 0.0).then(|| closest - depth.sqrt())
}

/// Returns where a ray enters the lateral surface between two spheres, and the position there.
/// `axis` is the unit vector from the first to the last one, and the numbers are the radius of the
/// first one, the part of the axis by which the radius decreases, and the length of the axis.
///
/// Let `y` be the position of a point on the axis, `q` the square of its distance to the first
/// centre, `r` the radius there, `s` the decrease, and `c = 1 - s²`. The point lies on the surface
/// if `c q - y² + 2 r s y - r² = 0`. It belongs to the sphere around the position `(y - r s) / c`.
fn middle_entry(from: Vector, unit: Vector, axis: Vector, [radius, decrease, length]: [f64; 3]) -> Option<(f64, f32)> {
    if radius == 0.0 && decrease == 0.0 {
        return None;
    }
    let cosine = 1.0 - decrease * decrease;
    let (along, slope) = (dot(axis, from), dot(axis, unit));
    let lift = radius * decrease;
    let a = cosine - slope * slope;
    let b = cosine * dot(from, unit) - along * slope + lift * slope;
    let c = cosine * dot(from, from) - along * along + 2.0 * lift * along - radius * radius;
    let root = b * b - a * c;
    if !(root >= 0.0 && cosine > 0.0) {
        return None;
    }
    let root = root.sqrt();
    // The root at which the function decreases, without cancellation.
    let t = if b > 0.0 { (-b - root) / a } else { c / (root - b) };
    let position = (along + t * slope - lift) / (cosine * length);
    (position > 0.0 && position < 1.0).then_some((t, position as f32))
}
