//! The scene on a device, and dispatches that trace rays through it.

use super::mesh::Mesh;
use super::reference::{Hit, Ray};
use crate::bench::figure::SetupError;
use crate::bench::kernel::{Kernel, storage, storage_of_floats};
use crate::bench::recording::need;
use crate::bench::workload::spirv;
use crate::vk::{Buffer, Error, Geometry, Gpu, Instance, Resource, Structure, StructureDesc, memory_barrier};
use ash::vk;

/// Number of rays of a workgroup.
const GROUP: usize = 64;
/// Place of the only instance of a scene.
pub const HERE: [f32; 12] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];

/// Returns a mesh as a geometry of triangles.
pub fn geometry(gpu: &Gpu, mesh: &Mesh, opaque: bool) -> Result<Geometry, Error> {
    let words = |points: &[[f32; 3]]| points.as_flattened().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let vertices = gpu.buffer_with(&words(&mesh.vertices), Gpu::INPUT)?.handle;
    let indices = gpu.buffer_with(mesh.triangles.as_flattened(), Gpu::INPUT)?.handle;
    let (vertex_count, count) = (mesh.vertices.len() as u32, mesh.triangles.len() as u32);
    Ok(Geometry::Triangles { vertices, vertex_count, indices, count, opaque })
}

/// Makes the structure of a mesh of opaque triangles, which is not yet built.
pub fn bottom(gpu: &Gpu, mesh: &Mesh, flags: vk::BuildAccelerationStructureFlagsKHR) -> Result<Structure, SetupError> {
    need_structures(gpu)?;
    let geometries = [geometry(gpu, mesh, true)?];
    Ok(gpu.structure(&StructureDesc { geometries: &geometries, flags })?)
}

/// Makes and builds the structures of a mesh of opaque triangles with one instance.
pub fn scene(gpu: &Gpu, mesh: &Mesh) -> Result<Structure, SetupError> {
    need_structures(gpu)?;
    scene_of(gpu, geometry(gpu, mesh, true)?)
}

/// Returns an error if a device lacks acceleration structures.
pub fn need_structures(gpu: &Gpu) -> Result<(), SetupError> {
    need(gpu.optional.rays.structures.into(), "accelerationStructure")
}

/// Makes and builds the structures of a geometry with one instance.
pub fn scene_of(gpu: &Gpu, geometry: Geometry) -> Result<Structure, SetupError> {
    let flags = vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE;
    let bottom = gpu.built_structure(&StructureDesc { geometries: &[geometry], flags })?;
    Ok(alone(gpu, &bottom)?)
}

/// Makes and builds a scene with one instance of a structure.
pub fn alone(gpu: &Gpu, structure: &Structure) -> Result<Structure, Error> {
    gpu.scene(&[Instance { structure, place: HERE, custom_index: 0, group: 0 }])
}

/// Returns rays in a storage buffer.
pub fn upload(gpu: &Gpu, rays: &[Ray]) -> Result<Buffer, Error> {
    storage_of_floats(gpu, rays.iter().flat_map(Ray::floats).collect::<Vec<_>>().as_slice())
}

/// A dispatch with one invocation for each ray, and its results.
pub struct Trace {
    kernel: Kernel,
    groups: u32,
    /// Results, of which the shader defines the type.
    pub results: Buffer,
}

impl Trace {
    /// Makes a dispatch of a shader that writes `words` words for each ray.
    pub fn new(gpu: &Gpu, scene: &Structure, code: &[u32], rays: &[Ray], words: usize) -> Result<Self, SetupError> {
        need(gpu.optional.rays.queries.into(), "rayQuery")?;
        let count = rays.len().next_multiple_of(GROUP);
        let mut padded = rays.to_vec();
        padded.resize(count, Ray { origin: [0.0; 3], direction: [0.0, 1.0, 0.0], range: [0.0; 2] });
        let (rays, results) = (upload(gpu, &padded)?, storage(gpu, count * words * 4)?);
        let resources = [scene.resource(), Resource::Storage(rays.handle), Resource::Storage(results.handle)];
        let kernel = Kernel::new(gpu, code, &resources, 0)?;
        Ok(Self { kernel, groups: (count / GROUP) as u32, results })
    }

    /// Makes a dispatch that finds closest hits.
    pub fn closest(gpu: &Gpu, scene: &Structure, rays: &[Ray]) -> Result<Self, SetupError> {
        Self::new(gpu, scene, &spirv!("rays/closest.comp"), rays, 2)
    }

    /// Records the dispatch.
    pub fn record(&self, d: &ash::Device, cmd: vk::CommandBuffer) {
        self.kernel.dispatch(d, cmd, &[], [self.groups, 1, 1]);
    }

    /// Records and runs the dispatch.
    pub fn run(&self, gpu: &Gpu) -> Result<(), Error> {
        gpu.once(|r| {
            r.with(|d, cmd| {
                self.record(d, cmd);
                memory_barrier(d, cmd);
            });
        })
    }
}

/// Returns closest hits as the shaders write them.
pub fn hits(results: &Buffer) -> Vec<Hit> {
    let words = results.read();
    let hit = |pair: &[u32]| Hit { distance: f32::from_bits(pair[0]), primitive: pair[1] };
    words.chunks_exact(2).map(hit).collect()
}

/// Traces rays and returns their closest hits.
pub fn closest_hits(gpu: &Gpu, scene: &Structure, rays: &[Ray]) -> Result<Vec<Hit>, SetupError> {
    let trace = Trace::closest(gpu, scene, rays)?;
    trace.run(gpu)?;
    Ok(hits(&trace.results))
}
