//! Builds, updates and compact copies of the scene's structure. The checks trace rays through it.

use super::mesh::Mesh;
use super::reference::{self, Ray, check_hits, checked};
use super::world::{alone, bottom, closest_hits, geometry};
use crate::bench::figure::{Amount, CheckError, SetupError, Unit};
use crate::bench::recording::{Recording, SetupResult};
use crate::vk::{Error, Gpu, Recorder, Structure};
use ash::vk;

type Flags = vk::BuildAccelerationStructureFlagsKHR;

/// Makes a workload whose commands make a structure of `mesh`.
fn making(gpu: &Gpu, mesh: Mesh, made: Structure, record: impl FnOnce(Recorder<'_>)) -> SetupResult {
    let all = reference::primary();
    let rays: Vec<Ray> = checked(all.len()).map(|i| all[i]).collect();
    let amount = Amount::new(mesh.triangles.len() as f64, Unit::Triangle);
    Recording::make(gpu, amount, record, move |gpu| {
        let scene = alone(gpu, &made)?;
        let hits = closest_hits(gpu, &scene, &rays).map_err(|error| match error {
            SetupError::Unsupported(what) => CheckError::Failed(Error::Missing(what)),
            SetupError::Failed(error) => CheckError::Failed(error),
        })?;
        check_hits(&rays, &hits, |ray| reference::closest(&mesh, ray))
    })
}

fn build(gpu: &Gpu, flags: Flags) -> SetupResult {
    let mesh = Mesh::hall();
    let made = bottom(gpu, &mesh, flags)?;
    making(gpu, mesh, made.clone(), |r| r.build(&made))
}

/// Builds a structure that is fast to trace.
pub fn fast_trace(gpu: &Gpu) -> SetupResult {
    build(gpu, Flags::PREFER_FAST_TRACE)
}

/// Builds a structure fast.
pub fn fast_build(gpu: &Gpu) -> SetupResult {
    build(gpu, Flags::PREFER_FAST_BUILD)
}

/// Updates a structure in place for other vertices.
pub fn refit(gpu: &Gpu) -> SetupResult {
    let mesh = Mesh::hall();
    let made = bottom(gpu, &mesh, Flags::PREFER_FAST_TRACE | Flags::ALLOW_UPDATE)?;
    gpu.once(|r| r.build(&made))?;
    let mesh = mesh.moved();
    let moved = made.with_geometries(gpu, &[geometry(gpu, &mesh, true)?]);
    making(gpu, mesh, made, |r| r.update(&moved))
}

/// Copies a structure into one of the least size.
pub fn compaction(gpu: &Gpu) -> SetupResult {
    let mesh = Mesh::hall();
    let loose = bottom(gpu, &mesh, Flags::PREFER_FAST_TRACE | Flags::ALLOW_COMPACTION)?;
    gpu.once(|r| r.build(&loose))?;
    let made = gpu.structure_like(&loose, gpu.compacted_size(&loose)?)?;
    making(gpu, mesh, made.clone(), |r| r.compact(&loose, &made))
}
