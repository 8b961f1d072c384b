//! The scene that `demo --rays` traces: meshes and balls, their acceleration structures, and the
//! ray tracing pipeline.
//!
//! Idea: the meshes of the rasterized demo, trees of quads whose leaves are cut out by an any-hit
//! shader, and balls with an intersection shader. Every frame traces a path through each pixel and
//! adds its light to the sums, so the picture becomes smoother with each frame.

use super::meshes::{FLOATS_PER_VERTEX, Mesh, Meshes, Random};
use crate::vk::{
    Buffer, Error, Geometry, Gpu, HitGroup, Instance, RayProgram, RayProgramDesc, Resource, Result, Structure,
    StructureDesc,
};
use ash::vk;
use libm::{cosf, sincosf};
use std::time::{Duration, Instant};

macro_rules! spirv {
    ($name:literal) => {
        &crate::vk::spirv_words(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}

/// Depth of the recursion: the first ray, three reflections, and the ray to the sun.
const DEPTH: u32 = 5;
/// Number of leaves of a tree.
const LEAVES: usize = 9_000;
/// Number of balls.
const BALLS: usize = 24;

/// Hit groups, in the order of the table.
#[derive(Clone, Copy)]
enum Group {
    Solid,
    Leaf,
    Ball,
}

/// Patterns of the shader `rays_solid.rchit`.
#[derive(Clone, Copy)]
enum Pattern {
    Plain,
    Tiles,
    Grass,
}

/// An object: what it consists of, its look, and its place as the rows of a matrix.
struct Object {
    /// Number of the structure.
    structure: usize,
    group: Group,
    /// Colour, and share of the light that is reflected.
    color: [f32; 4],
    /// First index of the mesh.
    first: u32,
    pattern: Pattern,
    place: [f32; 12],
}

/// Meshes, balls, and the objects made of them. The balls are the last structure.
#[derive(Default)]
struct Contents {
    meshes: Meshes,
    parts: Vec<(Mesh, bool)>,
    balls: Vec<[f32; 4]>,
    objects: Vec<Object>,
}

/// Returns the rows of a matrix that turns around the vertical axis, scales and moves.
fn place([cosine, sine]: [f32; 2], scale: f32, [x, y, z]: [f32; 3]) -> [f32; 12] {
    let (c, s) = (cosine * scale, sine * scale);
    [c, 0.0, s, x, 0.0, scale, 0.0, y, -s, 0.0, c, z]
}

const UPRIGHT: [f32; 2] = [1.0, 0.0];

impl Contents {
    fn new() -> Self {
        let mut all = Self::default();
        let ground = all.meshes.terrain(128, 90.0);
        all.add(ground, [0.24, 0.33, 0.11, 0.0], Pattern::Grass, &[place(UPRIGHT, 1.0, [0.0; 3])]);
        let disc = all.meshes.surface(96, 3, [1.0, 1.0], |u, v| {
            let (sin, cos) = sincosf(u * std::f32::consts::TAU);
            let [radius, height] = if v < 0.34 { [v * 18.0, 0.0] } else { [6.0, (0.34 - v) * 0.6] };
            [radius * cos, height - 1.3, radius * sin]
        });
        all.add(disc, [0.62, 0.60, 0.57, 0.16], Pattern::Tiles, &[place(UPRIGHT, 1.0, [0.0; 3])]);
        let column = all.meshes.column(96, 64);
        let ring = [[1.0, 0.0], [0.8, 0.6], [-0.8, 0.6], [-1.0, 0.0]];
        let back = [[-0.8, -0.6], [-0.6, -0.8], [0.0, -1.0], [0.6, -0.8], [0.8, -0.6]];
        let columns: Vec<_> = ring.iter().chain(&back).map(|&[x, z]| column_at(5.2 * x, 5.2 * z)).collect();
        all.add(column, [0.72, 0.68, 0.60, 0.0], Pattern::Plain, &columns);
        let torus = all.meshes.torus(160, 80, 0.24);
        let tilted = [1.5, 0.0, 0.0, 0.0, 0.0, 1.2, -0.9, 0.35, 0.0, 0.9, 1.2, 0.0];
        all.add(torus, [0.95, 0.68, 0.28, 0.62], Pattern::Plain, &[tilted]);
        all.add_trees();
        all.add_balls();
        all
    }

    /// Adds a mesh of solid triangles at several places.
    fn add(&mut self, mesh: Mesh, color: [f32; 4], pattern: Pattern, places: &[[f32; 12]]) {
        let structure = self.parts.len();
        self.parts.push((mesh, true));
        let object =
            |&place: &[f32; 12]| Object { structure, group: Group::Solid, color, first: mesh.first, pattern, place };
        self.objects.extend(places.iter().map(object));
    }

    fn add_trees(&mut self) {
        let places = [
            place([0.8, 0.6], 1.0, [-8.2, -1.5, -3.5]),
            place([0.6, -0.8], 1.3, [1.5, -1.6, -10.0]),
            place([0.0, 1.0], 0.85, [9.0, -1.5, -5.2]),
            place([-0.6, 0.8], 1.1, [-10.5, -1.4, 5.0]),
        ];
        let trunk = self.meshes.surface(24, 16, [1.0, 1.0], |u, v| {
            let (sin, cos) = sincosf(u * std::f32::consts::TAU);
            let radius = 0.28 - 0.2 * (1.0 - v) + 0.015 * cosf(u * std::f32::consts::TAU * 7.0);
            [radius * cos, 4.0 * (1.0 - v) - 0.4, radius * sin]
        });
        self.add(trunk, [0.28, 0.19, 0.12, 0.0], Pattern::Plain, &places);
        let leaves = leaves(&mut self.meshes);
        let structure = self.parts.len();
        self.parts.push((leaves, false));
        let (color, pattern) = ([0.16, 0.36, 0.08, 0.0], Pattern::Plain);
        let tree = |place| Object { structure, group: Group::Leaf, color, first: leaves.first, pattern, place };
        self.objects.extend(places.map(tree));
    }

    /// Adds the carved ball in the middle, and mirrors on the floor around it.
    fn add_balls(&mut self) {
        let mut random = Random::new(0x5241_5953);
        self.balls.push([0.0, 0.35, 0.0, 0.98]);
        while self.balls.len() < BALLS {
            let [x, z] = [random.unit(), random.unit()].map(|at| at * 9.4 - 4.7);
            let (radius, square) = (0.18 + 0.42 * random.unit() * random.unit(), x * x + z * z);
            let apart = |ball: &[f32; 4]| {
                let ([dx, dz], reach) = ([ball[0] - x, ball[2] - z], ball[3] + radius + 0.05);
                dx * dx + dz * dz > reach * reach
            };
            if (5.0..20.0).contains(&square) && self.balls.iter().all(apart) {
                self.balls.push([x, radius - 1.3, z, radius]);
            }
        }
        let structure = self.parts.len();
        let place = place(UPRIGHT, 1.0, [0.0; 3]);
        let (color, first, pattern) = ([0.0; 4], 0, Pattern::Plain);
        self.objects.push(Object { structure, group: Group::Ball, color, first, pattern, place });
    }
}

fn column_at(x: f32, z: f32) -> [f32; 12] {
    [1.7, 0.0, 0.0, x, 0.0, 3.4, 0.0, -1.3, 0.0, 0.0, 1.7, z]
}

/// Adds the leaves of a tree, each of two triangles with opposite corners.
fn leaves(meshes: &mut Meshes) -> Mesh {
    let mut random = Random::new(0x4c45_4146);
    let first = meshes.indices.len() as u32;
    let mut vector = |size: f32| [(); 3].map(|()| (random.unit() * 2.0 - 1.0) * size);
    for _ in 0..LEAVES {
        // A crown of clusters: directions with a preferred distance from its centre.
        let at = loop {
            let at = vector(1.0);
            if (0.25..1.0).contains(&at.iter().map(|x| x * x).sum::<f32>()) {
                break at;
            }
        };
        let center = [at[0] * 1.7, at[1] * 1.5 + 3.9, at[2] * 1.7];
        let (along, tilt) = (vector(0.16), vector(0.12));
        let across = super::meshes::cross(along, tilt).map(|x| x * 6.0);
        let normal = super::meshes::normalized(super::meshes::cross(along, across));
        let base = (meshes.vertices.len() / FLOATS_PER_VERTEX) as u32;
        for (u, v) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let corner = |i: usize| center[i] + (u - 0.5) * 2.0 * along[i] + (v - 0.5) * 2.0 * across[i];
            meshes.vertices.extend([corner(0), corner(1), corner(2)]);
            meshes.vertices.extend(normal);
            meshes.vertices.extend([u, v]);
        }
        meshes.indices.extend([base, base + 1, base + 2, base + 3, base + 2, base + 1]);
    }
    Mesh { first, count: meshes.indices.len() as u32 - first }
}

/// The structures, the pipeline, and the sums of the light.
pub struct RayScene {
    program: RayProgram,
    sums: Buffer,
    size: (u32, u32),
    /// Number of triangles of all structures.
    pub triangles: u64,
    /// Time from the submission of the builds to their fence.
    pub build: Duration,
    /// Creation time of the pipeline and its tables.
    pub creation: Duration,
}

impl RayScene {
    /// Makes and builds everything for a picture of this size.
    pub fn new(gpu: &Gpu, width: u32, height: u32) -> Result<Self> {
        let rays = &gpu.optional.rays;
        if !rays.pipelines || rays.recursion < DEPTH {
            return Err(Error::Missing(format!("rayTracingPipeline with a recursion of {DEPTH}")));
        }
        let contents = Contents::new();
        let (top, build) = build(gpu, &contents)?;
        let floats = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let storage = |words: &[u32]| gpu.buffer_with(words, vk::BufferUsageFlags::STORAGE_BUFFER);
        let object = |o: &Object| {
            let [r, g, b, mirror] = o.color.map(f32::to_bits);
            [r, g, b, mirror, o.first, o.pattern as u32, 0, 0]
        };
        let objects: Vec<u32> = contents.objects.iter().flat_map(object).collect();
        let pixels = width as usize * height as usize;
        let sums = gpu.buffer(pixels * 16, vk::BufferUsageFlags::STORAGE_BUFFER)?;
        let buffers = [
            sums,
            storage(&floats(&contents.meshes.vertices))?,
            storage(&contents.meshes.indices)?,
            storage(&objects)?,
            storage(&floats(contents.balls.as_flattened()))?,
        ];
        let resources: Vec<_> =
            [top.resource()].into_iter().chain(buffers.map(|b| Resource::Storage(b.handle))).collect();
        let start = Instant::now();
        let program = gpu.ray_program(&RayProgramDesc {
            generation: spirv!("rays.rgen"),
            misses: &[spirv!("rays.rmiss"), spirv!("rays_sun.rmiss")],
            hits: &[
                HitGroup { closest: spirv!("rays_solid.rchit"), ..HitGroup::default() },
                HitGroup { closest: spirv!("rays_leaf.rchit"), any: spirv!("rays_leaf.rahit"), ..HitGroup::default() },
                HitGroup {
                    closest: spirv!("rays_ball.rchit"),
                    intersection: spirv!("rays_ball.rint"),
                    ..HitGroup::default()
                },
            ],
            resources: &resources,
            push: 4,
            depth: DEPTH,
            ..RayProgramDesc::default()
        })?;
        let creation = start.elapsed();
        let of = |o: &Object| contents.parts.get(o.structure).map_or(0, |(mesh, _)| u64::from(mesh.count / 3));
        let triangles = contents.objects.iter().map(of).sum();
        Ok(Self { program, sums, size: (width, height), triangles, build, creation })
    }

    /// Traces a frame. Returns the time from submission to fence.
    pub fn frame(&self, gpu: &Gpu, index: u32) -> Result<Duration> {
        let start = Instant::now();
        gpu.once(|r| {
            r.trace(&self.program, &[index], [self.size.0, self.size.1, 1]);
            r.barrier();
        })?;
        Ok(start.elapsed())
    }

    /// Returns the picture after `frames` frames as RGBA, and the number of rays of all frames.
    pub fn picture(&self, frames: u32) -> (Vec<u8>, u64) {
        let sums = self.sums.read();
        let mut rays = 0;
        let mut rgba = Vec::with_capacity(sums.len());
        for pixel in sums.chunks_exact(4) {
            let [r, g, b, count] = [0, 1, 2, 3].map(|i| f32::from_bits(pixel[i]));
            rays += count as u64;
            rgba.extend([r, g, b].map(|sum| tone(sum / frames as f32)));
            rgba.push(255);
        }
        (rgba, rays)
    }
}

/// Converts light to a byte, by operations that are exact or correctly rounded on every machine.
fn tone(light: f32) -> u8 {
    let mapped = light * (1.0 + light * 0.06) / (1.0 + light);
    (mapped.clamp(0.0, 1.0).sqrt() * 255.0 + 0.5) as u8
}

/// Makes and builds the structures of all parts and of the scene. Returns the latter and the time
/// of all builds.
fn build(gpu: &Gpu, contents: &Contents) -> Result<(Structure, Duration)> {
    let flags = vk::BuildAccelerationStructureFlagsKHR::PREFER_FAST_TRACE;
    let positions: Vec<u32> = contents
        .meshes
        .vertices
        .chunks_exact(FLOATS_PER_VERTEX)
        .flat_map(|v| [v[0].to_bits(), v[1].to_bits(), v[2].to_bits()])
        .collect();
    let vertices = gpu.buffer_with(&positions, Gpu::INPUT)?.handle;
    let vertex_count = positions.len() as u32 / 3;
    let mut parts = Vec::new();
    for &(mesh, opaque) in &contents.parts {
        let range = mesh.first as usize..(mesh.first + mesh.count) as usize;
        let indices = gpu.buffer_with(&contents.meshes.indices[range], Gpu::INPUT)?.handle;
        let geometry = Geometry::Triangles { vertices, vertex_count, indices, count: mesh.count / 3, opaque };
        parts.push(gpu.structure(&StructureDesc { geometries: &[geometry], flags })?);
    }
    let boxes: Vec<u32> = contents
        .balls
        .iter()
        .flat_map(|&[x, y, z, r]| [x - r, y - r, z - r, x + r, y + r, z + r].map(f32::to_bits))
        .collect();
    let geometry =
        Geometry::Boxes { boxes: gpu.buffer_with(&boxes, Gpu::INPUT)?.handle, count: contents.balls.len() as u32 };
    parts.push(gpu.structure(&StructureDesc { geometries: &[geometry], flags })?);
    let instance = |(o, custom_index): (&Object, u32)| {
        let &Object { structure, place, group, .. } = o;
        Instance { structure: &parts[structure], place, custom_index, group: group as u32 }
    };
    let instances: Vec<Instance<'_>> = contents.objects.iter().zip(0..).map(instance).collect();
    let geometry = gpu.instances(&instances)?;
    let top = gpu.structure(&StructureDesc { geometries: &[geometry], flags })?;
    let start = Instant::now();
    gpu.once(|r| {
        parts.iter().for_each(|part| r.build(part));
        r.build(&top);
    })?;
    Ok((top, start.elapsed()))
}
