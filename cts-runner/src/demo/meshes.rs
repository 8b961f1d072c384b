//! Meshes and bodies of the demo, which are computed by formulas.
//!
//! Invariant: sines, logarithms and powers are those of the crate libm, whose bits are the same on
//! every system. The methods of the standard library call the system's C library.

use libm::{cosf, logf, powf, sincosf, sinf};
use std::f32::consts::{PI, TAU};

/// Number of floats per vertex: position, normal, texture coordinate.
pub const FLOATS_PER_VERTEX: usize = 8;

/// A small, fast random number generator with a seed (xorshift32).
pub struct Random(u32);

impl Random {
    /// Starts the sequence of a seed. The lowest bit of the seed is ignored.
    pub fn new(seed: u32) -> Self {
        Self(seed | 1)
    }

    /// Returns the next 32 bits.
    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// Returns a uniformly distributed number in 0..1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 8) as f32 / 16_777_216.0
    }

    /// Returns an approximately normally distributed number with deviation 1, which is a sum of
    /// uniform numbers.
    pub fn normal(&mut self) -> f32 {
        (self.unit() + self.unit() + self.unit() + self.unit() - 2.0) * 1.732
    }
}

/// A range of indices in the shared index buffer.
#[derive(Clone, Copy)]
pub struct Mesh {
    /// First index of the range.
    pub first: u32,
    /// Number of indices.
    pub count: u32,
}

/// All meshes in one vertex and one index buffer.
#[derive(Default)]
pub struct Meshes {
    /// Vertex data, with [`FLOATS_PER_VERTEX`] floats per vertex.
    pub vertices: Vec<f32>,
    /// Absolute indices into `vertices`.
    pub indices: Vec<u32>,
}

type Vec3 = [f32; 3];

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn normalized(a: Vec3) -> Vec3 {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt().max(1e-12);
    a.map(|x| x / length)
}

impl Meshes {
    /// Adds a surface over (u, v) in the unit square. The normals are computed from differences of
    /// the surface.
    pub fn surface(&mut self, columns: u32, rows: u32, repeat: [f32; 2], point: impl Fn(f32, f32) -> Vec3) -> Mesh {
        let base = (self.vertices.len() / FLOATS_PER_VERTEX) as u32;
        let first = self.indices.len() as u32;
        const STEP: f32 = 1e-3;
        for row in 0..=rows {
            for column in 0..=columns {
                let (u, v) = (column as f32 / columns as f32, row as f32 / rows as f32);
                // At a pole the derivative by u vanishes, so it is computed at a small distance
                // from the pole.
                let w = v.clamp(STEP, 1.0 - STEP);
                let du = sub(point(u + STEP, w), point(u - STEP, w));
                let dv = sub(point(u, w + STEP), point(u, w - STEP));
                let normal = normalized(cross(du, dv));
                self.vertices.extend(point(u, v));
                self.vertices.extend(normal);
                self.vertices.extend([u * repeat[0], v * repeat[1]]);
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let a = base + row * (columns + 1) + column;
                let b = a + columns + 1;
                self.indices.extend([a, a + 1, b, a + 1, b + 1, b]);
            }
        }
        Mesh { first, count: self.indices.len() as u32 - first }
    }

    /// Adds a unit sphere, with a radius that may depend on the direction.
    pub fn sphere(&mut self, columns: u32, rows: u32, radius: impl Fn(Vec3) -> f32) -> Mesh {
        self.surface(columns, rows, [2.0, 1.0], |u, v| {
            let (theta, phi) = (u * TAU, v * PI);
            let d = [sinf(phi) * cosf(theta), cosf(phi), sinf(phi) * sinf(theta)];
            d.map(|x| x * radius(d))
        })
    }

    /// Adds a torus of radius 1 with a tube of the given radius.
    pub fn torus(&mut self, columns: u32, rows: u32, tube: f32) -> Mesh {
        self.surface(columns, rows, [6.0, 1.0], |u, v| {
            let (theta, phi) = (u * TAU, -v * TAU);
            let r = 1.0 + tube * cosf(phi);
            [r * cosf(theta), tube * sinf(phi), r * sinf(theta)]
        })
    }

    /// Adds a fluted column of height 1 with base and capital.
    pub fn column(&mut self, columns: u32, rows: u32) -> Mesh {
        self.surface(columns, rows, [2.0, 4.0], |u, v| {
            let end = (v - 0.5).abs() * 2.0;
            let flare = 1.0 + 0.55 * (end - 0.86).max(0.0) / 0.14;
            let flute = 1.0 - 0.05 * cosf(u * TAU * 12.0).max(0.0);
            let close = if end > 0.995 { 0.02 } else { 1.0 };
            let r = 0.16 * flare * flute * close;
            [r * cosf(u * TAU), 1.0 - v, r * sinf(u * TAU)]
        })
    }

    /// Adds hills around a flat centre, with a total width of `size`.
    pub fn terrain(&mut self, cells: u32, size: f32) -> Mesh {
        self.surface(cells, cells, [28.0, 28.0], |u, v| {
            let (x, z) = ((u - 0.5) * size, (0.5 - v) * size);
            [x, height(x, z), z]
        })
    }
}

/// Returns the height of the terrain at a point.
pub fn height(x: f32, z: f32) -> f32 {
    let r = (x * x + z * z).sqrt();
    let away = ((r - 9.0) / 26.0).clamp(0.0, 1.0);
    let waves = sinf(x * 0.31) * cosf(z * 0.27 + 0.6) + 0.45 * sinf(x * 0.83 + z * 0.47) * cosf(z * 0.71);
    -1.6 + away * away * (4.0 + 3.4 * waves) + 0.05 * waves
}

/// Returns the roots of blades of grass, which form patches on the terrain: xyz and a random number
/// in 0..1.
pub fn grass(count: usize) -> Vec<f32> {
    const REACH: f32 = 24.0;
    let mut random = Random::new(0x4752_4153);
    let mut roots = Vec::with_capacity(4 * count);
    while roots.len() < 4 * count {
        let [x, z] = [random.unit(), random.unit()].map(|at| (at * 2.0 - 1.0) * REACH);
        let patch = sinf(x * 0.55 + z * 0.21) * sinf(z * 0.47 - x * 0.16) + 0.35 * sinf(x * 1.7) * sinf(z * 1.5);
        let (far, thin) = (x * x + z * z, random.unit());
        if (4.0..REACH * REACH).contains(&far) && thin < patch * 1.6 {
            roots.extend([x, height(x, z) - 0.05, z, random.unit()]);
        }
    }
    roots
}

/// Returns the bodies of a spiral galaxy: positions (xyz, mass) and velocities (xyz, temperature).
pub fn galaxy(count: usize) -> (Vec<f32>, Vec<f32>) {
    const TOTAL_MASS: f32 = 3.0;
    let mut random = Random::new(0x6752_7553);
    let (mut positions, mut velocities) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let kind = random.unit();
        let (r, theta, thickness, heat) = if kind < 0.22 {
            let r = 0.15 + 1.9 * random.unit() * random.unit();
            (r, random.unit() * TAU, 0.45 / (0.6 + r), 0.75 + 0.25 * random.unit())
        } else if kind < 0.9 {
            let r = 1.0 + 8.5 * powf(random.unit(), 0.8);
            let arm = (random.bits() & 1) as f32 * PI;
            (r, arm - 2.1 * logf(r) + 0.24 * random.normal(), 0.10, 0.25 * random.unit())
        } else {
            (1.0 + 10.0 * random.unit(), random.unit() * TAU, 0.16, 0.4 + 0.3 * random.unit())
        };
        let (sin, cos) = sincosf(theta);
        let enclosed = TOTAL_MASS * (r / 9.5).min(1.0);
        let speed = (9.0 * r * r / (r * r + 0.6) + enclosed / r).sqrt();
        positions.extend([r * cos, thickness * random.normal(), r * sin, TOTAL_MASS / count as f32]);
        velocities.extend([-speed * sin, 0.0, speed * cos, heat]);
    }
    (positions, velocities)
}

/// Returns the number of triangles of a number of indices.
pub fn triangles(indices: u32) -> u64 {
    u64::from(indices / 3)
}
