//! The scene: a hall with an uneven floor and bumpy balls in the air, as triangles. A ray that
//! begins inside always hits.
//!
//! Invariant: all values come from additions, multiplications, divisions and square roots, so the
//! scene and its rays have the same bits on every machine.

use crate::bench::check::Random;

/// Three floats in space.
pub type Point = [f32; 3];

/// Number of squares of the floor along each side.
const FLOOR: u32 = 128;
/// Number of balls along each side, of which one place is left for the camera.
const BALLS: [u32; 2] = [9, 6];
/// Number of squares of a ball around and from pole to pole.
const AROUND: u32 = 64;
const DOWN: u32 = 32;
/// Half of the width and depth of the hall, and its height.
const SIDE: f32 = 10.0;
const HEIGHT: f32 = 8.0;
/// Depth of the walls below the floor.
const BELOW: f32 = -1.0;

/// Lower and upper corner of the hall.
pub const ROOM: [Point; 2] = [[-SIDE, BELOW, -SIDE], [SIDE, HEIGHT, SIDE]];
/// Number of squares of each wall of a room along each side.
const SQUARES: u32 = 144;
/// Number of triangles of each wall of a room.
pub const WALL: u32 = 2 * SQUARES * SQUARES;
/// Number of leaves.
const LEAVES: u32 = 250_000;

/// Triangles in space.
#[derive(Clone)]
pub struct Mesh {
    /// Corners of the triangles.
    pub vertices: Vec<Point>,
    /// Numbers of the corners of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// Returns the cosine and the sine of a part of a turn.
fn turn(part: f64) -> [f64; 2] {
    let x = (part - part.round()) * std::f64::consts::TAU;
    let (mut cosine, mut sine, mut term) = (0.0, 0.0, 1.0);
    for power in 0..24 {
        let sum = if power % 2 == 0 { &mut cosine } else { &mut sine };
        *sum += if power % 4 < 2 { term } else { -term };
        term *= x / f64::from(power + 1);
    }
    [cosine, sine]
}

/// Returns a direction of a cosine distribution around the normal (0, 0, 1).
pub fn cosine_direction(random: &mut Random) -> Point {
    let [cosine, sine] = turn(f64::from(random.float(0.0, 1.0)));
    let square = random.float(0.0, 1.0);
    let radius = square.sqrt();
    [radius * cosine as f32, radius * sine as f32, (1.0 - square).sqrt()]
}

/// Returns the sum of a point and a multiple of another.
pub fn along(from: Point, times: f32, direction: Point) -> Point {
    std::array::from_fn(|i| from[i] + times * direction[i])
}

/// Returns the difference of two points.
pub fn minus(a: Point, b: Point) -> Point {
    along(a, -1.0, b)
}

/// Returns the scalar product.
pub fn dot(a: Point, b: Point) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the vector product.
pub fn cross(a: Point, b: Point) -> Point {
    std::array::from_fn(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        a[j] * b[k] - a[k] * b[j]
    })
}

/// Returns the direction of a vector.
pub fn unit(a: Point) -> Point {
    let length = dot(a, a).sqrt();
    a.map(|x| x / length)
}

impl Mesh {
    /// Makes the scene, which has 249,866 triangles.
    pub fn hall() -> Self {
        let mut mesh = Self { vertices: Vec::new(), triangles: Vec::new() };
        mesh.walls();
        mesh.floor();
        let mut random = Random::new(41);
        for i in 1..BALLS[0] * BALLS[1] {
            let place = [i % BALLS[0], i / BALLS[0]].map(|n| n as f32);
            let mut near = |n: f32, of: u32| {
                let step = 2.0 * (SIDE - 1.0) / of as f32;
                (n + 0.5) * step - (SIDE - 1.0) + random.float(-0.2, 0.2) * step
            };
            let (x, z) = (near(place[0], BALLS[0]), near(place[1], BALLS[1]));
            let centre = [x, random.float(0.8, 5.5), z];
            mesh.ball(centre, random.float(0.4, 0.9), random.word() % 7 + 2);
        }
        mesh
    }

    fn grid(&mut self, across: u32, along: u32, at: impl Fn(u32, u32) -> Point) {
        let first = self.vertices.len() as u32;
        for j in 0..=along {
            self.vertices.extend((0..=across).map(|i| at(i, j)));
        }
        for (i, j) in (0..along).flat_map(|j| (0..across).map(move |i| (i, j))) {
            let corner = |i, j| first + j * (across + 1) + i;
            let [a, b, c, d] = [corner(i, j), corner(i + 1, j), corner(i, j + 1), corner(i + 1, j + 1)];
            self.triangles.extend([[a, c, b], [b, c, d]]);
        }
    }

    /// Appends the walls and the ceiling.
    fn walls(&mut self) {
        let corners = Self::corners_of_the_hall();
        for [a, b, c, d] in [[0, 1, 2, 3], [4, 5, 6, 7], [0, 2, 4, 6], [1, 3, 5, 7], [2, 3, 6, 7]] {
            self.grid(1, 1, |i, j| corners[[a, b, c, d][(i + 2 * j) as usize]]);
        }
    }

    /// Makes the walls, the ceiling and a flat floor of [`WALL`] triangles each, in the order of
    /// [`Self::walls`], with the floor as the last.
    pub fn room() -> Self {
        let mut mesh = Self { vertices: Vec::new(), triangles: Vec::new() };
        let corners = Self::corners_of_the_hall();
        for [a, b, c] in [[0, 1, 2], [4, 5, 6], [0, 2, 4], [1, 3, 5], [2, 3, 6], [0, 1, 4]] {
            let [a, b, c]: [Point; 3] = [a, b, c].map(|i: usize| corners[i]);
            let part = |n: u32| n as f32 / SQUARES as f32;
            mesh.grid(SQUARES, SQUARES, |i, j| along(along(a, part(i), minus(b, a)), part(j), minus(c, a)));
        }
        mesh
    }

    /// Makes leaves in random places and directions.
    pub fn leaves() -> Self {
        let mut random = Random::new(44);
        let mut point = |low: Point, high: Point| -> Point { std::array::from_fn(|i| random.float(low[i], high[i])) };
        let leaf = |_| {
            let centre = point([-SIDE, 0.0, -SIDE], [SIDE, HEIGHT, SIDE]);
            [(); 3].map(|()| along(centre, 0.12, point([-1.0; 3], [1.0; 3])))
        };
        let vertices: Vec<Point> = (0..LEAVES).flat_map(leaf).collect();
        Self { vertices, triangles: (0..LEAVES).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect() }
    }

    /// Returns the corners of the hall: bit `i` of the index chooses the lower or the upper end of
    /// axis `i`.
    fn corners_of_the_hall() -> [Point; 8] {
        std::array::from_fn(|i| {
            let of = |axis: usize| ROOM[i >> axis & 1][axis];
            [of(0), of(1), of(2)]
        })
    }

    fn floor(&mut self) {
        self.grid(FLOOR, FLOOR, |i, j| {
            let at = [i, j].map(|n| n as f32 * (2.0 * SIDE / FLOOR as f32) - SIDE);
            let waves = turn(f64::from(at[0]) * 0.21)[1] * turn(f64::from(at[1]) * 0.34)[0];
            [at[0], 0.2 * waves as f32, at[1]]
        });
    }

    fn ball(&mut self, centre: Point, radius: f32, bumps: u32) {
        self.grid(AROUND, DOWN, |i, j| {
            let (around, down) = (f64::from(i) / f64::from(AROUND), f64::from(j) / f64::from(DOWN));
            let ([c, s], [height, width]) = (turn(around), turn(down / 2.0));
            let wave = turn(around * f64::from(bumps))[0] * turn(down * f64::from(bumps))[1] * width;
            let from_centre = f64::from(radius) * (1.0 + 0.15 * wave);
            let direction = [c * width, height, s * width];
            std::array::from_fn(|k| centre[k] + (from_centre * direction[k]) as f32)
        });
    }

    /// Returns the scene with its balls and its floor moved up or down by at most 0.1.
    pub fn moved(&self) -> Self {
        let inside = |p: &Point| p[1] < HEIGHT && p[1] > BELOW && p[0].abs() < SIDE && p[2].abs() < SIDE;
        let up = |p: &Point| if inside(p) { 0.1 * turn(f64::from(p[0] * 0.07 + p[2] * 0.05))[1] as f32 } else { 0.0 };
        let vertices = self.vertices.iter().map(|p| [p[0], p[1] + up(p), p[2]]).collect();
        Self { vertices, triangles: self.triangles.clone() }
    }

    /// Returns the corners of a triangle.
    pub fn corners(&self, triangle: usize) -> [Point; 3] {
        self.triangles[triangle].map(|i| self.vertices[i as usize])
    }

    /// Returns the normal of a triangle that points against a direction.
    pub fn normal(&self, triangle: usize, direction: Point) -> Point {
        let [a, b, c] = self.corners(triangle);
        let normal = unit(cross(minus(b, a), minus(c, a)));
        if dot(normal, direction) > 0.0 { normal.map(|x| -x) } else { normal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_circle() {
        for i in -40..40 {
            let part = f64::from(i) / 16.0;
            let expected = [(part * std::f64::consts::TAU).cos(), (part * std::f64::consts::TAU).sin()];
            let near = turn(part).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(near, "{part}");
        }
    }

    #[test]
    fn the_hall_has_as_many_triangles_as_it_says() {
        assert_eq!(Mesh::hall().triangles.len(), 249_866);
    }
}
