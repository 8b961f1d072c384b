//! Ray-traced scenes, and the bytes of built acceleration structures.
//!
//! Invariant: the host computes the scene by additions, multiplications and divisions of floats
//! only, so its bits are the same on every machine.

use super::Rows;
use super::shader::Random;
use crate::fnv::fnv1a;
use crate::vk::raw as vk;
use crate::vk::{
    Api, Attachment, Geometry, Gpu, GpuOptions, HitGroup, ImageDesc, Instance, ProgramDesc, RayProgramDesc, Resource,
    Result, ShaderStage, Structure, StructureDesc,
};

/// Width and height of the scenes in rays.
const SIZE: u32 = 64;
/// Number of squares of the ground along each side.
const GROUND: u32 = 32;
/// Number of triangles that lie anywhere.
const LOOSE: usize = 700;
/// Depth of the recursion of the pipeline.
const DEPTH: u32 = 7;
/// Number of bytes of the identifiers at the beginning of serialized structures, which are those of
/// the driver's version.
const IDENTIFIERS: usize = 2 * vk::UUID_SIZE;

macro_rules! spirv {
    ($name:literal) => {
        crate::vk::spirv_words(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}

/// Computes the rows of the ray-traced scenes on a driver.
pub(super) fn rows(api: &Api) -> Result<Rows> {
    let gpu = Gpu::new(api, &GpuOptions::everything())?;
    let parts = Parts::new(&gpu)?;
    let scene = parts.scene(&gpu)?;
    let mut rows = Rows::new();
    let mut row = |name: &str, bytes: &[u8]| rows.insert(format!("rays/{name}"), format!("{:016x}", fnv1a(bytes)));
    row("query-compute", &query_compute(&gpu, &scene)?);
    row("query-fragment", &query_fragment(&gpu, &scene)?);
    row("pipeline", &pipeline(&gpu, &scene)?);
    use vk::BuildAccelerationStructureFlagsKHR as Flags;
    row("structure-fast-trace", &bytes(&gpu, &parts.ground(&gpu, Flags::PREFER_FAST_TRACE)?)?);
    row("structure-fast-build", &bytes(&gpu, &parts.ground(&gpu, Flags::PREFER_FAST_BUILD)?)?);
    let updated = parts.ground(&gpu, Flags::ALLOW_UPDATE)?;
    let moved = updated.with_geometries(&gpu, &[geometry(&gpu, &ground(0x4d4f_5645))?]);
    gpu.once(|r| r.update(&moved))?;
    row("structure-updated", &bytes(&gpu, &updated)?);
    Ok(rows)
}

/// Returns the serialized form of a structure without the identifiers of the driver.
fn bytes(gpu: &Gpu, structure: &Structure) -> Result<Vec<u8>> {
    Ok(gpu.serialized(structure)?.split_off(IDENTIFIERS))
}

/// Positions, and indices of triangles.
type Mesh = (Vec<f32>, Vec<u32>);

/// Returns uneven ground.
fn ground(seed: u32) -> Mesh {
    let mut random = Random(seed | 1);
    let row = GROUND + 1;
    let mut positions = Vec::new();
    for i in 0..row * row {
        let [x, z] = [i % row, i / row].map(|n| (n as f32 / GROUND as f32 - 0.5) * 8.0);
        positions.extend([x, random.float(-0.4, 0.4), z]);
    }
    let square = |i: u32| {
        let a = i / GROUND * row + i % GROUND;
        [a, a + 1, a + row, a + row + 1, a + row, a + 1]
    };
    (positions, (0..GROUND * GROUND).flat_map(square).collect())
}

/// Returns small triangles that lie anywhere, some of them without area.
fn loose() -> Mesh {
    let mut random = Random(0x4c4f_4f53);
    let mut positions = Vec::new();
    for i in 0..LOOSE {
        let center = [(); 3].map(|()| random.float(-2.0, 2.0));
        let size = if i % 50 == 0 { 0.0 } else { 0.5 };
        for _ in 0..3 {
            positions.extend(center.map(|x| x + size * random.float(-1.0, 1.0)));
        }
    }
    (positions, (0..3 * LOOSE as u32).collect())
}

fn geometry(gpu: &Gpu, (positions, indices): &Mesh) -> Result<Geometry> {
    let words: Vec<u32> = positions.iter().map(|x| x.to_bits()).collect();
    Ok(Geometry::Triangles {
        vertices: gpu.buffer_with(&words, Gpu::INPUT)?.handle,
        vertex_count: words.len() as u32 / 3,
        indices: gpu.buffer_with(indices, Gpu::INPUT)?.handle,
        count: indices.len() as u32 / 3,
        opaque: false,
    })
}

/// Structures of the scene's objects.
struct Parts {
    ground: Geometry,
    loose: Structure,
    balls: Structure,
}

impl Parts {
    fn new(gpu: &Gpu) -> Result<Self> {
        let flags = vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE;
        // The shaders have the same balls.
        let ball = |i: u32| {
            let center = [i & 3, i >> 2 & 3, i >> 4].map(|n| n as f32 - 1.5);
            [center.map(|x| (x - 0.3).to_bits()), center.map(|x| (x + 0.3).to_bits())].concat()
        };
        let words: Vec<u32> = (0..64).flat_map(ball).collect();
        let boxes = Geometry::Boxes { boxes: gpu.buffer_with(&words, Gpu::INPUT)?.handle, count: 64 };
        let built =
            |geometry| -> Result<Structure> { gpu.built_structure(&StructureDesc { geometries: &[geometry], flags }) };
        let ground = geometry(gpu, &ground(0x4752_4f55))?;
        Ok(Self { ground, loose: built(geometry(gpu, &loose())?)?, balls: built(boxes)? })
    }

    fn ground(&self, gpu: &Gpu, flags: vk::BuildAccelerationStructureFlagsKHR) -> Result<Structure> {
        gpu.built_structure(&StructureDesc { geometries: &[self.ground], flags })
    }

    /// Makes and builds the scene: the ground, loose triangles twice, and balls twice.
    fn scene(&self, gpu: &Gpu) -> Result<Structure> {
        let ground = self.ground(gpu, vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE)?;
        let objects: [(&Structure, u32, [f32; 12]); 5] = [
            (&ground, 0, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0]),
            (&self.loose, 0, [0.8, 0.0, 0.6, -1.5, 0.0, 1.0, 0.0, 1.25, -0.6, 0.0, 0.8, 0.5]),
            (&self.loose, 0, [0.5, 0.25, 0.0, 2.0, -0.25, 0.5, 0.0, 0.75, 0.0, 0.0, -0.5, 1.0]),
            (&self.balls, 1, [0.6, 0.0, -0.8, 1.0, 0.0, 0.75, 0.0, 0.5, 0.8, 0.0, 0.6, -1.5]),
            (&self.balls, 1, [0.25, 0.0, 0.0, -2.5, 0.0, 0.25, 0.0, 2.0, 0.0, 0.0, 0.25, 2.0]),
        ];
        gpu.scene(&objects.map(|(structure, group, place)| Instance { structure, place, custom_index: 0, group }))
    }
}

fn query_compute(gpu: &Gpu, scene: &Structure) -> Result<Vec<u8>> {
    let results = gpu.buffer((SIZE * SIZE * 32) as usize, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    let stages = vk::ShaderStageFlags::COMPUTE;
    let bindings = crate::vk::bindings(&[scene.resource(), Resource::Storage(results.handle)], &[]);
    let kinds: Vec<_> = bindings.iter().map(|b| (b.index, b.resource.kind())).collect();
    let set_layout = gpu.set_layout(&kinds, stages)?;
    let set = gpu.descriptor_set(set_layout, &bindings)?;
    let layout = gpu.pipeline_layout(set_layout, 0, stages)?;
    let module = gpu.module(&spirv!("rays_query.comp"))?;
    let pipeline = gpu.compute_pipeline(ShaderStage { module, constants: &[] }, layout)?;
    gpu.run(|d, cmd| {
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: all handles are alive, and the set has all resources of the shader.
        unsafe {
            d.cmd_bind_pipeline(cmd, point, pipeline);
            d.cmd_bind_descriptor_sets(cmd, point, layout, 0, &[set], &[]);
            d.cmd_dispatch(cmd, SIZE / 8, SIZE / 8, 1);
        }
        crate::vk::memory_barrier(d, cmd);
    })?;
    Ok(results.read_bytes())
}

fn query_fragment(gpu: &Gpu, scene: &Structure) -> Result<Vec<u8>> {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let color = gpu.image(&ImageDesc::d2(vk::Format::R8G8B8A8_UNORM, SIZE, SIZE, usage))?;
    let pass = gpu.pass(&[Attachment::color(color, [0.0; 4])])?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("rays_query.vert"),
            fragment: &spirv!("rays_query.frag"),
            resources: &[scene.resource()],
            ..ProgramDesc::default()
        },
    )?;
    gpu.once(|r| {
        r.begin(&pass);
        r.bind(&program);
        r.draw(3, 1);
        r.end();
    })?;
    Ok(gpu.read_image(&color, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read_bytes())
}

fn pipeline(gpu: &Gpu, scene: &Structure) -> Result<Vec<u8>> {
    let results = gpu.buffer((SIZE * SIZE * 16) as usize, vk::BufferUsageFlags::STORAGE_BUFFER)?;
    let [closest, any, intersection] =
        [spirv!("rays_pipeline.rchit"), spirv!("rays_pipeline.rahit"), spirv!("rays_pipeline.rint")];
    let program = gpu.ray_program(&RayProgramDesc {
        generation: &spirv!("rays_pipeline.rgen"),
        misses: &[&spirv!("rays_pipeline.rmiss")],
        hits: &[
            HitGroup { closest: &closest, any: &any, intersection: &[] },
            HitGroup { closest: &closest, any: &[], intersection: &intersection },
        ],
        callables: &[&spirv!("rays_pipeline.rcall")],
        resources: &[scene.resource(), Resource::Storage(results.handle)],
        depth: DEPTH,
        ..RayProgramDesc::default()
    })?;
    gpu.once(|r| {
        r.trace(&program, &[], [SIZE, SIZE, 1]);
        r.barrier();
    })?;
    Ok(results.read_bytes())
}
