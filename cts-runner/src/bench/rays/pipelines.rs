//! Ray tracing pipelines: leaves with an any-hit shader, balls with an intersection shader, and
//! reflections by recursion.

use super::mesh::{Mesh, Point, ROOM, WALL};
use super::reference::{self, Ray, SIZE, check_hits};
use super::world::{geometry, hits, need_structures, scene, scene_of, upload};
use crate::bench::check::Random;
use crate::bench::figure::{Amount, SetupError, Unit};
use crate::bench::kernel::{storage, storage_of_floats};
use crate::bench::recording::{Recording, SetupResult, need, need_limit};
use crate::bench::workload::spirv;
use crate::vk::{Geometry, Gpu, HitGroup, RayProgramDesc, Resource, Structure};

/// Number of balls.
const BALLS: usize = 1 << 16;
/// Width and height of the picture of reflections.
const MIRRORED: u32 = 256;
/// Number of rays of a path of reflections.
const DEPTH: u32 = 8;

/// A pipeline that traces a ray for each pixel of a picture.
struct Pipeline<'a> {
    scene: &'a Structure,
    hits: HitGroup<'a>,
    constants: &'a [(u32, u32)],
    /// Resources that follow the scene, the rays and the results.
    more: &'a [Resource],
    /// Width and height of the picture.
    size: u32,
    /// Number of rays that follow each other.
    depth: u32,
}

/// Returns an error if a device lacks ray tracing pipelines.
pub fn need_pipelines(gpu: &Gpu) -> Result<(), SetupError> {
    need_structures(gpu)?;
    need(gpu.optional.rays.pipelines.into(), "rayTracingPipeline")
}

impl Pipeline<'_> {
    /// Makes a workload that traces the rays of a camera and checks the lengths that the shaders
    /// return.
    fn workload(&self, gpu: &Gpu, reference: impl Fn(&Ray) -> Option<f64> + 'static) -> SetupResult {
        let rays = reference::primary_of(self.size);
        let results = storage(gpu, rays.len() * 8)?;
        let mut resources = vec![self.scene.resource(), Resource::Storage(upload(gpu, &rays)?.handle)];
        resources.push(Resource::Storage(results.handle));
        resources.extend(self.more);
        let program = gpu.ray_program(&RayProgramDesc {
            generation: &spirv!("rays/trace.rgen"),
            misses: &[&spirv!("rays/trace.rmiss")],
            hits: &[self.hits],
            constants: self.constants,
            resources: &resources,
            depth: self.depth,
            ..Default::default()
        })?;
        let amount = Amount::new(rays.len() as f64 * f64::from(self.depth), Unit::Ray);
        let size = [self.size, self.size, 1];
        let record = |r: crate::vk::Recorder<'_>| {
            r.trace(&program, &[], size);
            r.barrier();
        };
        Recording::make(gpu, amount, record, move |_| check_hits(&rays, &hits(&results), &reference))
    }
}

/// Traces rays through leaves, of which an any-hit shader ignores a part.
pub fn foliage(gpu: &Gpu) -> SetupResult {
    need_pipelines(gpu)?;
    let mesh = Mesh::leaves();
    let scene = scene_of(gpu, geometry(gpu, &mesh, false)?)?;
    let (closest, any) = (spirv!("rays/trace.rchit"), spirv!("rays/leaf.rahit"));
    let hits = HitGroup { closest: &closest, any: &any, intersection: &[] };
    let pipeline = Pipeline { scene: &scene, hits, constants: &[], more: &[], size: SIZE, depth: 1 };
    pipeline.workload(gpu, move |ray| {
        let leaf = |i| {
            let [distance, b, c] = ray.weights(mesh.corners(i))?;
            let a = 1.0 - b - c;
            (a * b + a * c + b * c >= 0.25).then_some(distance)
        };
        (0..mesh.triangles.len()).filter_map(leaf).min_by(f64::total_cmp)
    })
}

/// Traces rays through balls in boxes, which an intersection shader finds.
pub fn procedural(gpu: &Gpu) -> SetupResult {
    need_pipelines(gpu)?;
    let mut random = Random::new(45);
    let balls: Vec<(Point, f32)> = (0..BALLS)
        .map(|_| {
            let centre = std::array::from_fn(|i| random.float(ROOM[0][i], ROOM[1][i]));
            (centre, random.float(0.03, 0.12))
        })
        .collect();
    let corners = balls.iter().flat_map(|(centre, radius)| [-radius, *radius].map(|by| centre.map(|x| x + by)));
    let corners: Vec<u32> = corners.flatten().map(f32::to_bits).collect();
    let boxes = gpu.buffer_with(&corners, Gpu::INPUT)?.handle;
    let scene = scene_of(gpu, Geometry::Boxes { boxes, count: BALLS as u32 })?;
    let floats: Vec<f32> = balls.iter().flat_map(|([x, y, z], radius)| [*x, *y, *z, *radius]).collect();
    let more = [Resource::Storage(storage_of_floats(gpu, &floats)?.handle)];
    let (closest, intersection) = (spirv!("rays/trace.rchit"), spirv!("rays/sphere.rint"));
    let hits = HitGroup { closest: &closest, any: &[], intersection: &intersection };
    let pipeline = Pipeline { scene: &scene, hits, constants: &[], more: &more, size: SIZE, depth: 1 };
    pipeline.workload(gpu, move |ray| {
        balls.iter().filter_map(|&(centre, radius)| ball(ray, centre, radius)).min_by(f64::total_cmp)
    })
}

/// Returns the distance of the closer of the two points in which a ray meets a ball.
fn ball(ray: &Ray, centre: Point, radius: f32) -> Option<f64> {
    let to: [f64; 3] = std::array::from_fn(|i| f64::from(centre[i]) - f64::from(ray.origin[i]));
    let direction = ray.direction.map(f64::from);
    let middle: f64 = (0..3).map(|i| to[i] * direction[i]).sum();
    let beside: f64 = (0..3).map(|i| (to[i] - middle * direction[i]).powi(2)).sum();
    let rest = f64::from(radius).powi(2) - beside;
    let distance = middle - rest.max(0.0).sqrt();
    let [near, far] = ray.range.map(f64::from);
    (rest >= 0.0 && near <= distance && distance <= far).then_some(distance)
}

/// Follows reflections in a room of mirrors, in which each closest-hit shader traces the next ray.
pub fn recursion(gpu: &Gpu) -> SetupResult {
    need_pipelines(gpu)?;
    need_limit(gpu.optional.rays.recursion >= DEPTH, "maxRayRecursionDepth")?;
    let scene = scene(gpu, &Mesh::room())?;
    let closest = spirv!("rays/mirror.rchit");
    let hits = HitGroup { closest: &closest, any: &[], intersection: &[] };
    let constants = [(0, DEPTH), (1, WALL)];
    let pipeline = Pipeline { scene: &scene, hits, constants: &constants, more: &[], size: MIRRORED, depth: DEPTH };
    pipeline.workload(gpu, |ray| Some(path(ray)))
}

/// Returns the length of a path of reflections.
fn path(ray: &Ray) -> f64 {
    let (mut at, mut direction) = (ray.origin.map(f64::from), ray.direction.map(f64::from));
    let mut length = 0.0;
    for _ in 0..DEPTH {
        let distance = |axis: usize| {
            let wall = f64::from(ROOM[usize::from(direction[axis] > 0.0)][axis]);
            if direction[axis] == 0.0 { f64::INFINITY } else { ((wall - at[axis]) / direction[axis]).max(0.0) }
        };
        let (axis, distance) = (0..3).map(|i| (i, distance(i))).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default();
        length += distance;
        at = std::array::from_fn(|i| at[i] + distance * direction[i]);
        direction[axis] = -direction[axis];
        // A reflected ray begins beside the wall, as in the shader.
        at[axis] += 0.001 * direction[axis].signum();
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_between_two_walls_has_the_length_of_their_distance() {
        let ray = Ray { origin: [0.0, 2.0, 0.0], direction: [1.0, 0.0, 0.0], range: [0.0, 1e3] };
        assert!((path(&ray) - (10.0 + 7.0 * 20.0)).abs() < 0.01);
    }

    #[test]
    fn a_ball_is_hit_at_its_near_side() {
        let ray = Ray { origin: [0.0; 3], direction: [0.0, 0.0, 1.0], range: [0.0, 1e3] };
        assert_eq!(ball(&ray, [0.0, 0.0, 4.0], 0.5), Some(3.5));
        assert_eq!(ball(&ray, [0.6, 0.0, 4.0], 0.5), None);
    }
}
