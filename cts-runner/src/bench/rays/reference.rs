//! Rays, and what they hit, computed on the CPU by a test of each triangle.

use super::mesh::{Mesh, Point, along, cosine_direction, cross, minus, unit};
use crate::bench::check::Random;
use crate::bench::figure::CheckError;

/// Width and height of the picture whose pixels the rays belong to.
pub const SIZE: u32 = 512;
/// Number of rays of a picture.
pub const RAYS: usize = (SIZE * SIZE) as usize;
/// Number of rays of which the result is checked.
const CHECKED: usize = 128;
/// Distance at which rays from a surface begin.
const NEAR: f32 = 1e-3;
/// Distance at which rays end that have no other end.
const FAR: f32 = 1e3;

/// A ray in the form that the shaders read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Point at which the ray begins.
    pub origin: Point,
    /// Direction of the ray, whose length is the unit of distances.
    pub direction: Point,
    /// Least and greatest distance of a hit.
    pub range: [f32; 2],
}

/// The closest hit of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distance, which is -1 without a hit.
    pub distance: f32,
    /// Number of the primitive, which is `u32::MAX` without a hit.
    pub primitive: u32,
}

impl Ray {
    /// Returns the ray as eight floats.
    pub fn floats(&self) -> [f32; 8] {
        let ([a, b, c], [d, e, f], [near, far]) = (self.origin, self.direction, self.range);
        [a, b, c, near, d, e, f, far]
    }

    /// Returns the distance of a triangle that the ray hits.
    pub fn triangle(&self, corners: [Point; 3]) -> Option<f64> {
        self.weights(corners).map(|[distance, ..]| distance)
    }

    /// Returns the distance of a triangle that the ray hits, and the weights of its second and
    /// third corner.
    pub fn weights(&self, corners: [Point; 3]) -> Option<[f64; 3]> {
        let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let cross = |a: [f64; 3], b: [f64; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let [a, b, c] = corners.map(|p| p.map(f64::from));
        let (origin, direction) = (self.origin.map(f64::from), self.direction.map(f64::from));
        let (ab, ac, from) = (minus(b, a), minus(c, a), minus(origin, a));
        let (side, other) = (cross(direction, ac), cross(from, ab));
        let volume = dot(ab, side);
        let [second, third, distance] = [dot(from, side), dot(direction, other), dot(ac, other)].map(|x| x / volume);
        let inside = second >= 0.0 && third >= 0.0 && second + third <= 1.0;
        let [near, far] = self.range.map(f64::from);
        (inside && near < distance && distance < far).then_some([distance, second, third])
    }
}

/// Returns the rays of a picture in tiles of 8 by 8 pixels, from a corner of the hall.
pub fn primary() -> Vec<Ray> {
    primary_of(SIZE)
}

/// Returns the rays of a picture of another size, which is a multiple of 8 pixels.
pub fn primary_of(size: u32) -> Vec<Ray> {
    let (eye, target) = ([-9.2, 4.0, -9.2], [1.0, 2.2, 1.5]);
    let forward = unit(minus(target, eye));
    let right = unit(cross(forward, [0.0, 1.0, 0.0]));
    let up = cross(right, forward);
    let tiles = size / 8;
    let ray = |i: u32| {
        let (tile, inside) = (i / 64, i % 64);
        let pixel = [tile % tiles * 8 + inside % 8, tile / tiles * 8 + inside / 8];
        let [x, y] = pixel.map(|n| (n as f32 + 0.5) / size as f32 * 2.0 - 1.0);
        let direction = unit(along(along(forward, 0.8 * x, right), -0.8 * y, up));
        Ray { origin: eye, direction, range: [0.0, FAR] }
    };
    (0..size * size).map(ray).collect()
}

/// Returns rays from the hits of others to points of a lamp below the ceiling.
pub fn shadows(mesh: &Mesh, rays: &[Ray], hits: &[Hit]) -> Vec<Ray> {
    let mut random = Random::new(42);
    let from_hit = |(ray, hit): (&Ray, &Hit)| {
        let (origin, _) = surface(mesh, ray, hit);
        let lamp = [random.float(-1.0, 1.0), 7.5, random.float(-1.0, 1.0)];
        Ray { origin, direction: minus(lamp, origin), range: [NEAR, 1.0] }
    };
    rays.iter().zip(hits).map(from_hit).collect()
}

/// Returns rays from the hits of others in directions of a cosine distribution around the normal.
pub fn diffuse(mesh: &Mesh, rays: &[Ray], hits: &[Hit]) -> Vec<Ray> {
    let mut random = Random::new(43);
    let from_hit = |(ray, hit): (&Ray, &Hit)| {
        let (origin, normal) = surface(mesh, ray, hit);
        let [x, y, z] = cosine_direction(&mut random);
        let axis = if normal[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let side = unit(cross(normal, axis));
        let direction = along(along(normal.map(|n| n * z), x, side), y, cross(normal, side));
        Ray { origin, direction, range: [NEAR, FAR] }
    };
    rays.iter().zip(hits).map(from_hit).collect()
}

/// Returns the point of a hit and its normal. A ray without a hit ends at its origin.
fn surface(mesh: &Mesh, ray: &Ray, hit: &Hit) -> (Point, Point) {
    match mesh.triangles.get(hit.primitive as usize) {
        Some(_) => {
            let normal = mesh.normal(hit.primitive as usize, ray.direction);
            let at = along(ray.origin, hit.distance, ray.direction);
            // A surface is left along its normal, because rays that leave it at a flat angle would
            // hit it again.
            (along(at, NEAR, normal), normal)
        }
        None => (ray.origin, ray.direction),
    }
}

/// Returns the rays that are checked, which are spread over all of them.
pub fn checked(count: usize) -> impl Iterator<Item = usize> {
    let step = count / CHECKED + 1;
    // Steps that have no factor in common with the tiles reach all places in a tile.
    (0..count).step_by(step | 1)
}

/// Checks closest hits against distances that `reference` returns.
pub fn check_hits(rays: &[Ray], hits: &[Hit], reference: impl Fn(&Ray) -> Option<f64>) -> Result<(), CheckError> {
    for i in checked(rays.len()) {
        let (actual, expected) = (f64::from(hits[i].distance), reference(&rays[i]).unwrap_or(-1.0));
        let near = (actual - expected).abs() <= 1e-4 * expected.abs().max(1.0);
        if !near {
            return Err(CheckError::Output(format!("ray {i} ends at {actual}, not {expected}")));
        }
    }
    Ok(())
}

/// Checks whether rays reach their ends.
pub fn check_light(mesh: &Mesh, rays: &[Ray], lit: impl Fn(usize) -> bool) -> Result<(), CheckError> {
    for i in checked(rays.len()) {
        let expected = closest(mesh, &rays[i]).is_none();
        if lit(i) != expected {
            return Err(CheckError::Output(format!("ray {i}: lit is {}, not {expected}", lit(i))));
        }
    }
    Ok(())
}

/// Returns the distance of the closest triangle that a ray hits.
pub fn closest(mesh: &Mesh, ray: &Ray) -> Option<f64> {
    let triangles = 0..mesh.triangles.len();
    triangles.filter_map(|i| ray.triangle(mesh.corners(i))).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::mesh::dot;
    use super::*;

    #[test]
    fn a_ray_hits_the_inside_of_a_triangle() {
        let corners = [[0.0, 0.0, 2.0], [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]];
        let ray = |x: f32, far| Ray { origin: [x, 0.25, 0.0], direction: [0.0, 0.0, 1.0], range: [0.0, far] };
        assert_eq!(ray(0.25, 9.0).triangle(corners), Some(2.0));
        assert_eq!(ray(0.8, 9.0).triangle(corners), None);
        assert_eq!(ray(0.25, 1.5).triangle(corners), None);
    }

    #[test]
    fn a_primary_ray_hits_the_hall() {
        let (mesh, rays) = (Mesh::hall(), primary());
        assert!(checked(rays.len()).step_by(16).all(|i| closest(&mesh, &rays[i]).is_some()));
    }

    #[test]
    fn the_origins_of_diffuse_rays_differ_from_their_hits() {
        let mesh = Mesh::hall();
        let ray = primary()[RAYS / 2];
        let (primitive, distance) = (0..mesh.triangles.len() as u32)
            .filter_map(|i| Some((i, ray.triangle(mesh.corners(i as usize))?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a hit");
        let hit = Hit { distance: distance as f32, primitive };
        let [next] = diffuse(&mesh, &[ray], &[hit])[..] else { panic!("one ray") };
        assert!(dot(next.direction, mesh.normal(primitive as usize, ray.direction)) > 0.0);
        assert!(closest(&mesh, &next).is_some_and(|t| t > 0.01));
    }
}
