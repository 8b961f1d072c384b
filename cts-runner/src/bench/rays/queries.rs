//! Ray queries in a compute stage and in a fragment stage.

use super::mesh::Mesh;
use super::reference::{self, RAYS, Ray, SIZE, check_hits, check_light};
use super::world::{Trace, closest_hits, hits, scene, upload};
use crate::bench::figure::{Amount, SetupError, Unit};
use crate::bench::kernel::job;
use crate::bench::recording::{Recording, SetupResult};
use crate::bench::workload::spirv;
use crate::vk::{Attachment, Gpu, ImageDesc, ProgramDesc, Recorder, Resource, Structure};
use ash::vk;

/// The scene, and rays through it.
struct Rays {
    mesh: Mesh,
    scene: Structure,
    rays: Vec<Ray>,
}

impl Rays {
    /// Makes the scene and primary rays.
    fn primary(gpu: &Gpu) -> Result<Self, SetupError> {
        let mesh = Mesh::hall();
        let scene = scene(gpu, &mesh)?;
        Ok(Self { mesh, scene, rays: reference::primary() })
    }

    /// Makes the scene and rays that begin where primary rays end.
    fn secondary(gpu: &Gpu, next: fn(&Mesh, &[Ray], &[reference::Hit]) -> Vec<Ray>) -> Result<Self, SetupError> {
        let first = Self::primary(gpu)?;
        let hits = closest_hits(gpu, &first.scene, &first.rays)?;
        Ok(Self { rays: next(&first.mesh, &first.rays, &hits), ..first })
    }

    /// Makes a workload that finds the closest hits.
    fn closest(self, gpu: &Gpu) -> SetupResult {
        let trace = Trace::closest(gpu, &self.scene, &self.rays)?;
        let results = trace.results;
        job(
            gpu,
            (RAYS as f64, Unit::Ray),
            |d, cmd| trace.record(d, cmd),
            move |_| check_hits(&self.rays, &hits(&results), |ray| reference::closest(&self.mesh, ray)),
        )
    }
}

/// Traces the rays of a camera to their closest hits.
pub fn primary(gpu: &Gpu) -> SetupResult {
    Rays::primary(gpu)?.closest(gpu)
}

/// Traces rays with random directions to their closest hits.
pub fn diffuse(gpu: &Gpu) -> SetupResult {
    Rays::secondary(gpu, reference::diffuse)?.closest(gpu)
}

/// Traces rays to a lamp, which end at any hit.
pub fn shadow(gpu: &Gpu) -> SetupResult {
    let Rays { mesh, scene, rays } = Rays::secondary(gpu, reference::shadows)?;
    let trace = Trace::new(gpu, &scene, &spirv!("rays/shadow.comp"), &rays, 1)?;
    let results = trace.results;
    job(
        gpu,
        (RAYS as f64, Unit::Ray),
        |d, cmd| trace.record(d, cmd),
        move |_| {
            let light = results.read();
            check_light(&mesh, &rays, |i| light[i] == 1)
        },
    )
}

/// Traces a ray to a lamp in each fragment of a picture.
pub fn shadow_fragment(gpu: &Gpu) -> SetupResult {
    let Rays { mesh, scene, rays } = Rays::secondary(gpu, reference::shadows)?;
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let image = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, SIZE, SIZE, usage))?;
    let pass = gpu.pass(&[Attachment::color(image, [0.0; 4])])?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/cover.vert"),
            fragment: &spirv!("rays/shadow.frag"),
            resources: &[scene.resource(), Resource::Storage(upload(gpu, &rays)?.handle)],
            push: 4,
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.bind(&program);
        r.push(&program, &[SIZE]);
        r.draw(3, 1);
        r.end();
    };
    Recording::make(gpu, Amount::new(RAYS as f64, Unit::Ray), record, move |gpu| {
        let pixels = gpu.read_image(&image, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read();
        check_light(&mesh, &rays, |i| pixels[pixel(i)] == u32::MAX)
    })
}

/// Returns the pixel of a ray, which lies in a tile of 8 by 8 pixels.
fn pixel(ray: usize) -> usize {
    let (tile, inside, tiles) = (ray / 64, ray % 64, SIZE as usize / 8);
    (tile / tiles * 8 + inside / 8) * SIZE as usize + tile % tiles * 8 + inside % 8
}
