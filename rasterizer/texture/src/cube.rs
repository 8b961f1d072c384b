//! Cube maps: face selection (specification table "Cube map face and coordinate selection") and
//! seamless edges.
//!
//! A footprint texel one step outside a face is found by integer arithmetic: its centre, as a
//! direction with doubled texel coordinates, is projected to the neighbouring face. The arithmetic
//! is exact for all sizes up to 2^20.

#![forbid(unsafe_code)]

use base::host::{Floats, Ints};

/// Axes of (sc, tc, major) for each face: component index, and whether the component is negated.
const FACES: [[(usize, bool); 3]; 6] = [
    [(2, true), (1, true), (0, false)],
    [(2, false), (1, true), (0, true)],
    [(0, false), (2, false), (1, false)],
    [(0, false), (2, true), (1, true)],
    [(0, false), (1, true), (2, false)],
    [(0, true), (1, true), (2, true)],
];

/// Returns the face that a direction hits; z precedes y, and y precedes x, if magnitudes are equal.
#[inline(always)]
fn face_of(magnitude: [bool; 2], negative: [bool; 3]) -> usize {
    // The elements of `magnitude` are |z| >= |x| and |y|, and |y| >= |x|.
    let axis = if magnitude[0] {
        2
    } else if magnitude[1] {
        1
    } else {
        0
    };
    axis * 2 + usize::from(negative[axis])
}

/// Returns the face of a direction, and its coordinates s and t in 0..=1.
#[inline(always)]
pub fn project(r: [f32; 3]) -> (usize, [f32; 2]) {
    let a = r.map(f32::abs);
    let face = face_of([a[2] >= a[0] && a[2] >= a[1], a[1] >= a[0]], r.map(|c| c < 0.0));
    let [s, t, m] = FACES[face];
    let signed = |(axis, negative): (usize, bool)| if negative { -r[axis] } else { r[axis] };
    let major = a[m.0];
    (face, [0.5 * (signed(s) / major) + 0.5, 0.5 * (signed(t) / major) + 0.5])
}

/// Returns the derivative of (s, t) on the face of `r`, for a derivative `d` of the direction
/// (specification: "Cube Map Derivative Transformation").
#[inline(always)]
pub fn project_derivative(r: [f32; 3], d: [f32; 3]) -> [f32; 3] {
    let a = r.map(f32::abs);
    let face = face_of([a[2] >= a[0] && a[2] >= a[1], a[1] >= a[0]], r.map(|c| c < 0.0));
    let [s, t, m] = FACES[face];
    let pick = |v: [f32; 3], (axis, negative): (usize, bool)| if negative { -v[axis] } else { v[axis] };
    let (major, d_major) = (pick(r, m), pick(d, m));
    let quotient = |axis| 0.5 * (major * pick(d, axis) - pick(r, axis) * d_major) / (major * major);
    [quotient(s), quotient(t), 0.0]
}

/// The faces that the directions of all lanes hit. Faces and coordinates equal those of
/// [`project`].
#[derive(Clone, Copy)]
pub struct Faces<F: Floats> {
    /// All ones if z is the major axis.
    z: F::Ints,
    /// All ones if y is the major axis.
    y: F::Ints,
    /// All ones if the major axis is negative.
    negative: F::Ints,
}

impl<F: Floats> Faces<F> {
    /// Finds the faces of directions.
    #[inline(always)]
    pub fn of(r: [F; 3]) -> Self {
        let a = [magnitude(r[0]), magnitude(r[1]), magnitude(r[2])];
        let z = a[2].greater_or_equal(a[0]) & a[2].greater_or_equal(a[1]);
        let y = a[1].greater_or_equal(a[0]) & (z ^ F::Ints::splat(u32::MAX));
        let zero = F::splat(0.0);
        let negative = z.select(zero.greater(r[2]), y.select(zero.greater(r[1]), zero.greater(r[0])));
        Faces { z, y, negative }
    }

    /// Returns the numbers of the faces.
    #[inline(always)]
    pub fn numbers(self) -> F::Ints {
        // All ones are -1 as an integer.
        (self.z & F::Ints::splat(4) | self.y & F::Ints::splat(2)) - self.negative
    }

    /// Returns the components of a vector along s, t and the major axis.
    #[inline(always)]
    fn pick(self, v: [F; 3]) -> [F; 3] {
        let (ones, sign) = (F::Ints::splat(u32::MAX), F::Ints::splat(1 << 31));
        let [x, y, z] = [v[0].bits(), v[1].bits(), v[2].bits()];
        let positive = self.negative ^ ones;
        let s = (self.z | self.y).select(x, z) ^ (self.z.select(self.negative, positive & (self.y ^ ones)) & sign);
        let t = self.y.select(z, y) ^ (self.y.select(self.negative, ones) & sign);
        let major = self.z.select(z, self.y.select(y, x)) ^ (self.negative & sign);
        [s.as_floats(), t.as_floats(), major.as_floats()]
    }

    /// Returns the coordinates s and t of directions, as [`project`] does.
    #[inline(always)]
    pub fn project(self, r: [F; 3]) -> [F; 2] {
        let ([s, t, major], half) = (self.pick(r), F::splat(0.5));
        let major = magnitude(major);
        [half * (s / major) + half, half * (t / major) + half]
    }

    /// Returns derivatives on the faces, as [`project_derivative`] does.
    #[inline(always)]
    pub fn project_derivative(self, r: [F; 3], d: [F; 3]) -> [F; 3] {
        let ([s, t, major], [ds, dt, d_major]) = (self.pick(r), self.pick(d));
        let (half, square) = (F::splat(0.5), major * major);
        [half * (major * ds - s * d_major) / square, half * (major * dt - t * d_major) / square, F::splat(0.0)]
    }
}

#[inline(always)]
fn magnitude<F: Floats>(of: F) -> F {
    (of.bits() & F::Ints::splat(0x7fff_ffff)).as_floats()
}

/// The place of a footprint texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubeTexel {
    /// A texel, as face, x, y.
    At(usize, u32, u32),
    /// A place beyond a corner of the cube, which has no texel; its value is the average of the
    /// other three.
    Corner,
}

/// Returns the place of texel (i, j) of `face`, where either may be one step outside `0..size`.
#[inline(always)]
pub fn texel(face: usize, i: i32, j: i32, size: u32) -> CubeTexel {
    let inside = |v: i32| (v as u32) < size;
    match (inside(i), inside(j)) {
        (true, true) => CubeTexel::At(face, i as u32, j as u32),
        (false, false) => CubeTexel::Corner,
        _ => neighbour(face, i, j, size),
    }
}

fn neighbour(face: usize, i: i32, j: i32, size: u32) -> CubeTexel {
    let n = i64::from(size);
    let mut r = [0i64; 3];
    let sc_tc_major = [2 * i64::from(i) + 1 - n, 2 * i64::from(j) + 1 - n, n];
    for ((axis, negative), v) in FACES[face].into_iter().zip(sc_tc_major) {
        r[axis] = if negative { -v } else { v };
    }
    let a = r.map(i64::abs);
    let face = face_of([a[2] >= a[0] && a[2] >= a[1], a[1] >= a[0]], r.map(|c| c < 0));
    let [s, t, m] = FACES[face];
    let major = a[m.0];
    let index = |(axis, negative): (usize, bool)| {
        let v = if negative { -r[axis] } else { r[axis] };
        ((v + major) * n / (2 * major)).clamp(0, n - 1) as u32
    };
    CubeTexel::At(face, index(s), index(t))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the direction of a point of a face.
    fn direction(face: usize, s: f32, t: f32) -> [f32; 3] {
        let mut r = [0.0; 3];
        for ((axis, negative), v) in FACES[face].into_iter().zip([2.0 * s - 1.0, 2.0 * t - 1.0, 1.0]) {
            r[axis] = if negative { -v } else { v };
        }
        r
    }

    #[test]
    fn faces_project_back() {
        for face in 0..6 {
            for (s, t) in [(0.25, 0.75), (0.5, 0.125), (0.0625, 0.9375)] {
                assert_eq!(project(direction(face, s, t)), (face, [s, t]));
            }
        }
        assert_eq!(project([0.0, 0.0, 0.0]).0, 4);
    }

    #[test]
    fn neighbours_touch() {
        // The point of the edge that is nearest to a texel belongs to both faces, so the
        // neighbour's texel must contain it.
        for size in [1u32, 2, 3, 8, 17] {
            for face in 0..6 {
                for k in 0..size as i32 {
                    for (i, j) in [(-1, k), (size as i32, k), (k, -1), (k, size as i32)] {
                        let CubeTexel::At(other, x, y) = texel(face, i, j, size) else { panic!() };
                        assert_ne!(other, face);
                        let at = |v: i32| ((v as f32 + 0.5) / size as f32).clamp(0.0, 1.0);
                        let edge = direction(face, at(i), at(j));
                        let inside = direction(other, (x as f32 + 0.5) / size as f32, (y as f32 + 0.5) / size as f32);
                        let far = edge.iter().zip(inside).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                        assert!(far <= 1.0 / size as f32 + 1e-6, "{size} {face} {i} {j}");
                    }
                }
                assert_eq!(texel(face, -1, size as i32, size), CubeTexel::Corner);
            }
        }
    }
}
