//! Geometry: a million small triangles, an expensive vertex shader, point sprites.

use super::super::check::Random;
use super::super::figure::{Amount, CheckError, Unit};
use super::super::recording::{Recording, SetupResult, need, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance, within};
use super::reference::{dot, hash, mix, normalize, unit};
use super::target::{SIZE, Target, float_vertices, grid_indices};
use crate::vk::{Gpu, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/million-triangles", FAMILY, million_triangles),
    Spec::quick("graphics/heavy-vertex", FAMILY, heavy_vertex),
    Spec::quick("graphics/point-sprites", FAMILY, point_sprites),
];

/// Number of cells per side of the grid, each with two triangles of 4.1 pixels.
const CELLS: u32 = 356;
/// Width of a cell in sixteenths of a pixel. The grid begins at 1/16.
const CELL: u32 = 46;
const LAYERS: u32 = 4;

fn million_triangles(gpu: &Gpu) -> SetupResult {
    let target = Target::flat(gpu, [0.0; 4])?;
    let row = CELLS + 1;
    let place = |i: u32| (1 + i * CELL) as f32 / 16.0;
    let positions: Vec<f32> = (0..row * row).flat_map(|i| [place(i % row), place(i / row)]).collect();
    let vertices = float_vertices(gpu, &positions)?;
    let indices = grid_indices(gpu, CELLS)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/small.vert"),
            fragment: &spirv!("graphics/flat.frag"),
            streams: &[Stream { stride: 8, per_instance: false, attributes: &[(vk::Format::R32G32_SFLOAT, 0)] }],
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT32);
        r.draw_indexed(6 * CELLS * CELLS, 0, 0, LAYERS);
        r.end();
    };
    let color = target.color;
    let amount = Amount::new(LAYERS * 2 * CELLS * CELLS, Unit::Triangle);
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.exact(small_triangle))
}

/// Returns the colour of the last layer. The top-left triangle of a cell has the colour of its
/// top-left vertex. The other triangle has the colour of the opposite vertex. It also owns the
/// pixels on the common edge, by the top-left rule.
fn small_triangle(x: usize, y: usize) -> [u8; 4] {
    let [x, y] = [x, y].map(|n| n as u32 * 16 + 8 - 1);
    let (i, j) = (x / CELL, y / CELL);
    let other = u32::from(x % CELL + y % CELL >= CELL);
    let vertex = (j + other) * (CELLS + 1) + i + other;
    (hash(vertex + (LAYERS - 1) * 0x10_0000) | 0xff00_0000).to_le_bytes()
}

/// `CELLS` of `heavy.vert`. `HEAVY_CELL` is its `SIZE` in sixteenths of a pixel.
const HEAVY_CELLS: u32 = 314;
const HEAVY_CELL: u32 = 52;
const BONES: usize = 64;
const LIGHTS: usize = 8;

fn heavy_vertex(gpu: &Gpu) -> SetupResult {
    let target = Target::flat(gpu, [0.0; 4])?;
    let mut random = Random::new(11);
    let mut scene = Vec::new();
    for _ in 0..BONES {
        // The matrices are close to the identity, so that no skinned vector is short.
        let mut near = |x: f32| x + random.float(-0.25, 0.25);
        scene.extend([near(1.0), near(0.0), near(0.0), near(0.0)]);
        scene.extend([near(0.0), near(1.0), near(0.0), near(0.0)]);
        scene.extend([near(0.0), near(0.0), near(1.0), near(0.0)]);
    }
    for _ in 0..LIGHTS {
        let mut axis = || random.float(-1.0, 1.0);
        scene.extend(normalize([axis(), axis(), axis()]));
        scene.push(random.float(0.1, 0.3));
    }
    let words: Vec<u32> = scene.iter().map(|v| v.to_bits()).collect();
    let buffer = gpu.buffer_with(&words, vk::BufferUsageFlags::UNIFORM_BUFFER)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/heavy.vert"),
            fragment: &spirv!("graphics/flat.frag"),
            resources: &[Resource::Uniform(buffer.handle)],
            ..Default::default()
        },
    )?;
    let count = 3 * HEAVY_CELLS * HEAVY_CELLS;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.draw(count, 1);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(count, Unit::Vertex), record, move |gpu| {
        let picture = Picture::read(gpu, &color)?;
        // Floats that differ in the last bits may fall into another cell of the noise.
        let tolerance = Tolerance { component: 2.0, outliers: 0.001 };
        let colors: Vec<_> = (0..HEAVY_CELLS.pow(2)).map(|triangle| heavy(3 * triangle, &scene)).collect();
        picture
            .near(1, tolerance, |x, y| heavy_triangle(x, y).map_or([0.0; 4], |triangle| colors[triangle as usize]))?;
        let covered = (0..SIZE * SIZE).filter(|i| heavy_triangle((i % SIZE) as usize, (i / SIZE) as usize).is_some());
        let count = covered.count();
        within("covered pixels", picture.count_other([0; 4]), count..=count)
    })
}

/// Returns the triangle that covers a pixel. No pixel centre lies on an edge.
fn heavy_triangle(x: usize, y: usize) -> Option<u32> {
    let [x, y] = [x, y].map(|n| n as u32 * 16 + 8 - 1);
    let (i, j) = (x / HEAVY_CELL, y / HEAVY_CELL);
    let covered = i < HEAVY_CELLS && j < HEAVY_CELLS && x % HEAVY_CELL + y % HEAVY_CELL < HEAVY_CELL;
    covered.then_some(i + j * HEAVY_CELLS)
}

/// Returns the colour that `heavy.vert` computes for a vertex.
fn heavy(vertex: u32, scene: &[f32]) -> [f32; 4] {
    let seed = vertex * 64;
    let p = [0, 1, 2].map(|i| unit(seed + i) * 2.0 - 1.0);
    let (mut sum, mut weights) = ([0.0f32; 3], 0.0);
    for k in 0..4 {
        let bone = (hash(seed + 16 + k) & 63) as usize;
        let weight = unit(seed + 32 + k) + 0.25;
        for (i, s) in sum.iter_mut().enumerate() {
            let row = &scene[(bone * 3 + i) * 4..][..4];
            *s += weight * (dot([row[0], row[1], row[2]], p) + row[3]);
        }
        weights += weight;
    }
    let n = normalize(sum.map(|s| s / weights));
    let lights = scene[BONES * 12..].chunks(4);
    let light = lights.fold(0.0, |sum, l| {
        let d = dot(n, [l[0], l[1], l[2]]).max(0.0);
        sum + l[3] * (0.6 * d + 0.4 * d.powi(8))
    });
    let (mut total, mut scale, mut q) = (0.0, 0.5, p.map(|x| x * 4.0 + 8.0));
    for _ in 0..4 {
        total += scale * noise(q);
        q = q.map(|x| x * 2.0 + 3.5);
        scale *= 0.5;
    }
    [light, total, n[2] * 0.5 + 0.5, 1.0].map(|c: f32| c.clamp(0.0, 1.0))
}

/// Function `noise` of `heavy.vert`.
fn noise(p: [f32; 3]) -> f32 {
    let c = p.map(|x| x.floor() as u32);
    let t = p.map(|x| x - x.floor()).map(|t| t * t * (3.0 - 2.0 * t));
    let corner = |i: u32, j: u32, k: u32| unit((c[0] + i) + (c[1] + j) * 157 + (c[2] + k) * 7919);
    let plane = |k| {
        let line = |j| mix(corner(0, j, k), corner(1, j, k), t[0]);
        mix(line(0), line(1), t[1])
    };
    mix(plane(0), plane(1), t[2])
}

/// Number of sprites of a draw.
pub const SPRITES: u32 = 20_000;

/// Returns centres and sizes in pixels. Centres are on pixel corners and sizes are even, so edges
/// are on pixel edges.
pub fn sprites() -> Vec<[u32; 3]> {
    let mut random = Random::new(5);
    let mut one =
        || [random.word() % (SIZE - 31) + 16, random.word() % (SIZE - 31) + 16, 8 + 8 * (random.word() >> 31)];
    (0..SPRITES).map(|_| one()).collect()
}

fn point_sprites(gpu: &Gpu) -> SetupResult {
    need(gpu.features.large_points, "largePoints")?;
    need_limit(gpu.properties.limits.point_size_range[1] >= 16.0, "pointSizeRange")?;
    let target = Target::flat(gpu, [0.0; 4])?;
    let sprites = sprites();
    let floats: Vec<f32> = sprites.iter().flatten().map(|&v| v as f32).collect();
    let vertices = float_vertices(gpu, &floats)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/points.vert"),
            fragment: &spirv!("graphics/points.frag"),
            streams: &[Stream { stride: 12, per_instance: false, attributes: &[(vk::Format::R32G32B32_SFLOAT, 0)] }],
            topology: vk::PrimitiveTopology::POINT_LIST,
            blend: Some((vk::BlendFactor::ONE, vk::BlendFactor::ONE)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.draw(SPRITES, 1);
        r.end();
    };
    let color = target.color;
    let pixels: u32 = sprites.iter().map(|s| s[2] * s[2]).sum();
    Recording::make(gpu, Amount::new(pixels, Unit::Pixel), record, move |gpu| compare_sprites(gpu, &color, &sprites))
}

/// Checks the counts of a picture of sprites, which are exact.
pub fn compare_sprites(gpu: &Gpu, color: &crate::vk::Image, sprites: &[[u32; 3]]) -> Result<(), CheckError> {
    let mut expected = vec![[0u8; 4]; (SIZE * SIZE) as usize];
    for &[x, y, size] in sprites {
        for i in 0..size * size {
            let (dx, dy) = (i % size, i / size);
            let pixel = &mut expected[((y - size / 2 + dy) * SIZE + x - size / 2 + dx) as usize];
            let from_middle = |d: u32| (2 * d as i32 + 1 - size as i32).pow(2);
            pixel[0] += 1;
            pixel[1] += u8::from(from_middle(dx) + from_middle(dy) < (size * size) as i32);
            pixel[2] += u8::from(dy < size / 2);
        }
    }
    Picture::read(gpu, color)?.exact(|x, y| expected[y * SIZE as usize + x])
}
