//! A forward-lit scene: 200 draws of tilted patches with a depth test, under four lights. Each
//! patch has one of eight materials of four mipmapped textures.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{dot, normalize};
use super::target::{COLOR, SIZE, Target, float_vertices, grid_indices, packed};
use crate::vk::{Error, Gpu, ImageDesc, Program, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;
use std::rc::Rc;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/forward-200", Family::Graphics, forward)];

const DRAWS: u32 = 200;
const MATERIALS: usize = 8;
const TEXTURES: usize = 4;
/// Width and height of a texture in texels. `LEVELS` is its number of mip levels.
const TEXTURE: u32 = 256;
const LEVELS: u32 = 9;
/// Number of quads in a row of a patch.
const CELLS: u32 = 12;
const CLEAR: [f32; 4] = [0.0, 0.0, 0.25, 1.0];
const LIGHTS: [[f32; 4]; 4] = [[0.2, 0.3, 0.2, 0.7], [0.8, 0.2, 0.3, 0.5], [0.5, 0.9, 0.25, 0.6], [0.6, 0.5, 0.5, 0.3]];

/// Position and tilt of a patch, in the order of the push constants.
struct Patch {
    middle: [f32; 2],
    tilt: [f32; 2],
    size: f32,
    depth: f32,
}

fn scene() -> Vec<Patch> {
    let mut random = Random::new(47);
    // 77 is coprime to the number of patches, so each gets a different depth, in a mixed order.
    let patch = |i: u32| Patch {
        middle: [random.float(80.0, 944.0), random.float(80.0, 944.0)],
        tilt: [random.float(-0.4, 0.4), random.float(-0.4, 0.4)],
        size: random.float(70.0, 130.0),
        depth: (i * 77 % DRAWS + 1) as f32 / 256.0,
    };
    (0..DRAWS).map(patch).collect()
}

/// Returns a texel of a texture. It is a wave per component, which is long enough to look the same
/// at the levels that are used.
fn texel(material: usize, texture: usize, u: f32, v: f32) -> [f32; 4] {
    std::array::from_fn(|i| {
        let seed = material * 7 + texture * 3 + i;
        let (fu, fv) = ((seed % 3 + 1) as f32, (seed / 3 % 3) as f32);
        let phase = (seed % 11) as f32 / 11.0;
        0.5 + 0.4 * (std::f32::consts::TAU * (fu * u + fv * v + phase)).sin()
    })
}

/// Makes a texture and its levels. Each texel is the wave at its centre.
fn texture(gpu: &Gpu, material: usize, texture: usize) -> Result<vk::ImageView, Error> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc { levels: LEVELS, ..ImageDesc::d2(COLOR, TEXTURE, TEXTURE, usage) })?;
    let mut texels = Vec::new();
    for size in (0..LEVELS).map(|level| TEXTURE >> level) {
        texels.extend((0..size * size).map(|i| {
            let [u, v] = [i % size, i / size].map(|n| (n as f32 + 0.5) / size as f32);
            packed(texel(material, texture, u, v).map(|c| (c * 255.0).round() as u8))
        }));
    }
    let mark = gpu.mark();
    let staging = gpu.buffer_with(&texels, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 4, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    gpu.release_to(mark);
    Ok(image.view)
}

/// Makes a program per material. The programs share one pipeline and have separate sets.
fn materials(gpu: &Gpu, target: &Target) -> Result<Vec<Program>, Error> {
    let linear = vk::Filter::LINEAR;
    let info = vk::SamplerCreateInfo::default().mag_filter(linear).min_filter(linear).max_lod(LEVELS as f32);
    let sampler = gpu.sampler(&info.mipmap_mode(vk::SamplerMipmapMode::LINEAR))?;
    let words: Vec<u32> = LIGHTS.iter().flatten().map(|v| v.to_bits()).collect();
    let lights = Resource::Uniform(gpu.buffer_with(&words, vk::BufferUsageFlags::UNIFORM_BUFFER)?.handle);
    let mut programs: Vec<Program> = Vec::new();
    for material in 0..MATERIALS {
        let views = (0..TEXTURES).map(|i| texture(gpu, material, i)).collect::<Result<Vec<_>, _>>()?;
        let mut resources: Vec<_> = views.into_iter().map(|view| Resource::Texture(view, sampler)).collect();
        resources.push(lights);
        let next = match programs.first() {
            Some(first) => gpu.with_resources(first, &resources)?,
            None => gpu.program(
                &target.pass,
                &ProgramDesc {
                    vertex: &spirv!("graphics/forward.vert"),
                    fragment: &spirv!("graphics/forward.frag"),
                    resources: &resources,
                    push: 24,
                    streams: &[Stream {
                        stride: 8,
                        per_instance: false,
                        attributes: &[(vk::Format::R32G32_SFLOAT, 0)],
                    }],
                    depth: Some((vk::CompareOp::LESS, true)),
                    ..Default::default()
                },
            )?,
        };
        programs.push(next);
    }
    Ok(programs)
}

fn forward(gpu: &Gpu) -> SetupResult {
    let target = Target::deep(gpu, CLEAR)?;
    let programs = materials(gpu, &target)?;
    let row = CELLS + 1;
    let vertex = |i: u32| [(i % row) as f32 / CELLS as f32, (i / row) as f32 / CELLS as f32];
    let vertices = float_vertices(gpu, &(0..row * row).flat_map(vertex).collect::<Vec<_>>())?;
    let indices = grid_indices(gpu, CELLS)?;
    let scene = Rc::new(scene());
    let drawn = Rc::clone(&scene);
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind_pipeline(&programs[0]);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT32);
        for (i, p) in drawn.iter().enumerate() {
            let program = &programs[i % MATERIALS];
            r.offsets(program, &[]);
            let values = [p.middle[0], p.middle[1], p.tilt[0], p.tilt[1], p.size, p.depth];
            r.push(program, &values.map(f32::to_bits));
            r.draw_indexed(6 * CELLS * CELLS, 0, 0, 1);
        }
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(DRAWS, Unit::Draw), record, move |gpu| {
        // Drivers may assign the edges of patches differently, and levels of detail differ
        // slightly.
        Picture::read(gpu, &color)?.near(3, Tolerance { component: 4.0, outliers: 0.005 }, |x, y| seen(&scene, x, y))
    })
}

/// Returns the colour of the nearest patch at a pixel.
fn seen(scene: &[Patch], x: usize, y: usize) -> [f32; 4] {
    let pixel = [x as f32 + 0.5, y as f32 + 0.5];
    let hits = scene.iter().enumerate().filter_map(|(i, p)| Some((i, p, hit(p, pixel)?)));
    let nearest = hits.min_by(|a, b| a.1.depth.total_cmp(&b.1.depth));
    nearest.map_or(CLEAR, |(i, patch, c)| lit(i % MATERIALS, patch, c))
}

/// Returns the point of a patch at a pixel, relative to the patch's centre. It inverts
/// `forward.vert`.
fn hit(patch: &Patch, pixel: [f32; 2]) -> Option<[f32; 2]> {
    let d: [f32; 2] = std::array::from_fn(|i| (pixel[i] - patch.middle[i]) / patch.size);
    let w = 1.0 / (1.0 - patch.tilt[0] * d[0] - patch.tilt[1] * d[1]);
    let c = d.map(|v| v * w);
    (w > 0.0 && c.iter().all(|v| v.abs() <= 0.5)).then_some(c)
}

/// Returns the colour that `forward.frag` computes.
fn lit(material: usize, patch: &Patch, c: [f32; 2]) -> [f32; 4] {
    let [albedo, normal, surface, glow] = [0, 1, 2, 3].map(|t| texel(material, t, c[0] + 0.5, c[1] + 0.5));
    let normal = normalize([normal[0] * 2.0 - 1.0, normal[1] * 2.0 - 1.0, 1.0]);
    let at = |i: usize| patch.middle[i] / SIZE as f32 + c[i] * 0.1;
    let place = [at(0), at(1), 0.0];
    let (mut diffuse, mut specular) = (0.1, 0.0);
    for light in &LIGHTS {
        let to: [f32; 3] = std::array::from_fn(|i| light[i] - place[i]);
        let reach = light[3] / (1.0 + 4.0 * dot(to, to));
        let direction = normalize(to);
        let between = normalize([direction[0], direction[1], direction[2] + 1.0]);
        diffuse += reach * dot(normal, direction).max(0.0);
        specular += reach * dot(normal, between).max(0.0).powi(8);
    }
    let color = |i: usize| {
        let c = albedo[i] * diffuse * surface[0] * (1.0 - 0.5 * surface[1]);
        (c + specular * surface[2] * 0.5 + glow[i] * glow[3] * 0.3).clamp(0.0, 1.0)
    };
    [color(0), color(1), color(2), 1.0]
}
