//! First use of a ray tracing pipeline in a new process: a small pipeline, and one of 20 shaders.
//!
//! `cold` is the time of everything from the modules to the shader binding tables. `first-use` adds
//! the first launch up to its fence, where drivers that compile late spend their time.

use super::mesh::Mesh;
use super::pipelines::need_pipelines;
use super::reference::{self, check_hits};
use super::world::{HERE, hits, scene, upload};
use crate::bench::create;
use crate::bench::figure::{Figure, SetupError};
use crate::bench::kernel::storage;
use crate::bench::recording::need_limit;
use crate::bench::workload::{Fresh, FreshError, spirv};
use crate::vk::{Buffer, Error, Geometry, Gpu, HitGroup, Instance, RayProgramDesc, Resource, Structure, StructureDesc};
use ash::vk;
use std::time::Instant;

/// Width and height of the small pipeline's launch.
const SMALL: u32 = 8;
/// Number of rays that follow each other in the studio: of the camera, and to the light.
const DEPTH: u32 = 2;

/// Makes a pipeline, launches it once, and returns the times.
fn first_use(gpu: &Gpu, desc: &RayProgramDesc<'_>, size: u32) -> Result<Vec<Figure>, Error> {
    let start = Instant::now();
    let program = gpu.ray_program(desc)?;
    let created = start.elapsed();
    gpu.once(|r| {
        r.trace(&program, &[], [size, size, 1]);
        r.barrier();
    })?;
    let used = start.elapsed();
    Ok(vec![Figure::seconds("cold", created), Figure::seconds("first-use", used)])
}

/// Measures a pipeline of a ray generation, a miss and a closest-hit shader.
pub fn first_trace(fresh: &Fresh<'_>) -> Result<Vec<Figure>, FreshError> {
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    need_pipelines(&gpu).map_err(FreshError::Make)?;
    let mesh = Mesh::room();
    let scene = scene(&gpu, &mesh).map_err(FreshError::Make)?;
    let rays = reference::primary_of(SMALL);
    let results = storage(&gpu, rays.len() * 8)?;
    let resources =
        [scene.resource(), Resource::Storage(upload(&gpu, &rays)?.handle), Resource::Storage(results.handle)];
    let closest = spirv!("rays/trace.rchit");
    let desc = RayProgramDesc {
        generation: &spirv!("rays/trace.rgen"),
        misses: &[&spirv!("rays/trace.rmiss")],
        hits: &[HitGroup { closest: &closest, ..HitGroup::default() }],
        resources: &resources,
        depth: 1,
        ..RayProgramDesc::default()
    };
    let figures = first_use(&gpu, &desc, SMALL)?;
    check_hits(&rays, &hits(&results), |ray| reference::closest(&mesh, ray))?;
    fresh.close(gpu)?;
    Ok(figures)
}

/// Measures a pipeline of 20 shaders, all of which run.
pub fn pipeline_20(fresh: &Fresh<'_>) -> Result<Vec<Figure>, FreshError> {
    let gpu = Gpu::new(fresh.api, &fresh.options)?;
    let (figures, picture) = studio(&gpu).map_err(FreshError::Make)?;
    create::check(&picture.read_bytes(), create::MODULES.len())?;
    fresh.close(gpu)?;
    Ok(figures)
}

/// Takes the picture of the studio, as the contact sheet has it.
pub fn studio_picture(gpu: &Gpu) -> Result<Vec<u8>, SetupError> {
    Ok(studio(gpu)?.1.read_bytes())
}

/// Makes the pipeline of the studio and takes the picture. Returns the times and the picture.
fn studio(gpu: &Gpu) -> Result<(Vec<Figure>, Buffer), SetupError> {
    need_pipelines(gpu)?;
    need_limit(gpu.optional.rays.recursion >= DEPTH, "maxRayRecursionDepth")?;
    let scene = objects(gpu)?;
    let picture = storage(gpu, create::PICTURE)?;
    let misses =
        [spirv!("rays/studio_sky.rmiss"), spirv!("rays/studio_light.rmiss"), spirv!("rays/studio_walls.rmiss")];
    let squares = [
        (spirv!("rays/studio_cloth.rchit"), spirv!("rays/studio_holes.rahit")),
        (spirv!("rays/studio_tiles.rchit"), spirv!("rays/studio_stripes.rahit")),
        (spirv!("rays/studio_marble.rchit"), spirv!("rays/studio_star.rahit")),
    ];
    let bodies = [
        (spirv!("rays/studio_plastic.rchit"), spirv!("rays/studio_ball.rint")),
        (spirv!("rays/studio_metal.rchit"), spirv!("rays/studio_capsule.rint")),
        (spirv!("rays/studio_wax.rchit"), spirv!("rays/studio_ring.rint")),
    ];
    let callables = [
        spirv!("rays/studio_film.rcall"),
        spirv!("rays/studio_corners.rcall"),
        spirv!("rays/studio_grading.rcall"),
        spirv!("rays/studio_encode.rcall"),
    ];
    let squares = squares.iter().map(|(closest, any)| HitGroup { closest, any, intersection: &[] });
    let bodies = bodies.iter().map(|(closest, intersection)| HitGroup { closest, any: &[], intersection });
    let desc = RayProgramDesc {
        generation: &spirv!("rays/studio.rgen"),
        misses: &misses.each_ref().map(|code| &code[..]),
        hits: &squares.chain(bodies).collect::<Vec<_>>(),
        callables: &callables.each_ref().map(|code| &code[..]),
        resources: &[scene.resource(), Resource::Storage(picture.handle)],
        depth: DEPTH,
        ..RayProgramDesc::default()
    };
    Ok((first_use(gpu, &desc, create::SIDE)?, picture))
}

/// Makes the objects of the studio: three squares, and boxes of three bodies. Each is a geometry of
/// its own, and hit group `i` belongs to object `i`.
fn objects(gpu: &Gpu) -> Result<Structure, Error> {
    const NEAR: f32 = 0.8;
    let place = |i: usize| (i as f32 - 1.0) * 1.8;
    let input = |floats: &[f32]| gpu.buffer_with(&floats.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), Gpu::INPUT);
    let indices = gpu.buffer_with(&[0, 1, 2, 3, 2, 1], Gpu::INPUT)?.handle;
    let square = |i: usize| {
        let corners = [(-NEAR, -NEAR), (NEAR, -NEAR), (-NEAR, NEAR), (NEAR, NEAR)];
        let corners = corners.map(|(x, y)| [place(i) + x, NEAR + y, 4.0]);
        let vertices = input(corners.as_flattened())?.handle;
        Ok(Geometry::Triangles { vertices, vertex_count: 4, indices, count: 2, opaque: false })
    };
    let body = |i: usize| {
        let corners = [-NEAR, NEAR].map(|by| [place(i) + by, by - NEAR, 4.0 + by]);
        Ok(Geometry::Boxes { boxes: input(corners.as_flattened())?.handle, count: 1 })
    };
    let flags = vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE;
    let built = |geometries: Result<Vec<Geometry>, Error>| {
        gpu.built_structure(&StructureDesc { geometries: &geometries?, flags })
    };
    let squares = built((0..3).map(square).collect())?;
    let bodies = built((0..3).map(body).collect())?;
    let instance = |structure, group| Instance { structure, place: HERE, custom_index: 0, group };
    gpu.scene(&[instance(&squares, 0), instance(&bodies, 3)])
}
