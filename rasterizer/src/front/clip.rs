//! Clipping in clip space (Sutherland–Hodgman), with each new vertex as weights of the original
//! three.
//!
//! Intersections are always computed from the inside vertex to the outside one, so two triangles
//! that share an edge get the same new vertex and stay watertight. Only the planes that the
//! primitive's outcodes name are visited.

#![forbid(unsafe_code)]

use base::limits::MAX_CLIP_DISTANCES;

/// A vertex during clipping.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClipVertex {
    /// Clip coordinates.
    pub position: [f32; 4],
    /// Weights of the original vertices, linear in clip space.
    pub weights: [f32; 3],
    /// Weights that are linear in screen space (for NoPerspective inputs).
    pub screen: [f32; 3],
}

/// Largest number of vertices: 3, plus one per plane (4 guard, 2 depth, 1 w and the user planes),
/// and 2 spare ones.
pub const MAX_POLYGON: usize = 3 + 4 + 2 + 1 + MAX_CLIP_DISTANCES + 2;

/// A convex polygon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Polygon {
    /// The vertices, of which `len` are used.
    pub v: [ClipVertex; MAX_POLYGON],
    /// Number of used vertices.
    pub len: usize,
}

impl ClipVertex {
    /// Makes original vertex `i`.
    pub fn corner(i: usize, position: [f32; 4]) -> ClipVertex {
        let mut weights = [0.0; 3];
        weights[i] = 1.0;
        ClipVertex { position, weights, screen: weights }
    }

    /// Returns the point where the edge to `out` leaves: `di >= 0` at self, `d_out < 0` at `out`.
    pub fn toward(&self, out: &ClipVertex, d_in: f32, d_out: f32) -> ClipVertex {
        let t = d_in / (d_in - d_out);
        let lerp = |a: f32, b: f32, t: f32| a + t * (b - a);
        let position = core::array::from_fn(|i| lerp(self.position[i], out.position[i], t));
        let weights = core::array::from_fn(|i| lerp(self.weights[i], out.weights[i], t));
        // `s` is the position of the same point as a fraction of the projected edge.
        let w: f32 = position[3];
        let s = if w == 0.0 { t } else { t * out.position[3] / w };
        let screen = core::array::from_fn(|i| lerp(self.screen[i], out.screen[i], s));
        ClipVertex { position, weights, screen }
    }
}

impl Polygon {
    /// Makes a triangle.
    pub fn triangle(positions: [[f32; 4]; 3]) -> Polygon {
        let mut p = Polygon { len: 3, ..Polygon::default() };
        for (i, position) in positions.into_iter().enumerate() {
            p.v[i] = ClipVertex::corner(i, position);
        }
        p
    }

    /// Keeps the part where `distance >= 0`.
    pub fn clip(&mut self, distance: impl Fn(&ClipVertex) -> f32) {
        let mut out = Polygon::default();
        for i in 0..self.len {
            let (a, b) = (self.v[i], self.v[(i + 1) % self.len]);
            let (da, db) = (distance(&a), distance(&b));
            let (a_in, b_in) = (da >= 0.0, db >= 0.0);
            if a_in {
                out.push(a);
            }
            if a_in != b_in {
                out.push(if a_in { a.toward(&b, da, db) } else { b.toward(&a, db, da) });
            }
        }
        *self = out;
    }

    fn push(&mut self, v: ClipVertex) {
        if self.len < MAX_POLYGON {
            self.v[self.len] = v;
            self.len += 1;
        }
    }
}

/// Keeps the part of a segment where `distance >= 0`; returns false if nothing is left.
pub fn clip_segment(ends: &mut [ClipVertex; 2], distance: impl Fn(&ClipVertex) -> f32) -> bool {
    let [a, b] = *ends;
    let (da, db) = (distance(&a), distance(&b));
    match (da >= 0.0, db >= 0.0) {
        (true, true) => true,
        (true, false) => {
            ends[1] = a.toward(&b, da, db);
            true
        }
        (false, true) => {
            ends[0] = b.toward(&a, db, da);
            true
        }
        (false, false) => false,
    }
}
