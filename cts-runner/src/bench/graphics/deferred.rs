//! Deferred shading: a G-buffer of four attachments, and a pass that lights it.

use super::super::check::Random;
use super::super::figure::{Amount, SetupError, Unit};
use super::super::recording::{Recording, SetupResult, need_format, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{dot, normalize, wave};
use super::target::{COLOR, SIZE, Target, attachment, depth, float_vertices, grid_indices};
use crate::vk::{Attachment, Buffer, Error, Gpu, Image, Pass, Program, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/gbuffer-and-lighting", FAMILY, both),
    Spec::full("graphics/gbuffer", FAMILY, gbuffer_alone),
];

const CELLS: u32 = 64;
const LAYERS: u32 = 3;
const FORMATS: [vk::Format; 4] = [COLOR, vk::Format::R16G16B16A16_SFLOAT, COLOR, vk::Format::R32_SFLOAT];

/// The G-buffer and the objects that draw it.
struct GBuffer {
    images: [Image; 4],
    pass: Pass,
    program: Program,
    vertices: Buffer,
    indices: Buffer,
}

impl GBuffer {
    /// Makes the G-buffer. The pass leaves the images in the layout `leave`.
    fn new(gpu: &Gpu, leave: vk::ImageLayout) -> Result<Self, SetupError> {
        need_limit(gpu.properties.limits.max_color_attachments >= 4, "maxColorAttachments")?;
        for format in FORMATS {
            need_format(gpu, format, vk::FormatFeatureFlags::COLOR_ATTACHMENT)?;
        }
        let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_SRC;
        let image = |format| attachment(gpu, format, SIZE, usage);
        let images = [image(FORMATS[0])?, image(FORMATS[1])?, image(FORMATS[2])?, image(FORMATS[3])?];
        let mut attachments: Vec<_> =
            images.iter().map(|&i| Attachment { leave, ..Attachment::color(i, [0.0; 4]) }).collect();
        attachments.push(depth(gpu)?);
        let pass = gpu.pass(&attachments)?;
        let row = CELLS + 1;
        let vertex = |i: u32| [(i % row) as f32 / CELLS as f32, (i / row) as f32 / CELLS as f32];
        let vertices = float_vertices(gpu, &(0..row * row).flat_map(vertex).collect::<Vec<_>>())?;
        let indices = grid_indices(gpu, CELLS)?;
        let program = gpu.program(
            &pass,
            &ProgramDesc {
                vertex: &spirv!("graphics/gbuffer.vert"),
                fragment: &spirv!("graphics/gbuffer.frag"),
                streams: &[Stream { stride: 8, per_instance: false, attributes: &[(vk::Format::R32G32_SFLOAT, 0)] }],
                depth: Some((vk::CompareOp::LESS, true)),
                ..Default::default()
            },
        )?;
        Ok(Self { images, pass, program, vertices, indices })
    }

    fn record(&self, r: Recorder<'_>) {
        r.begin(&self.pass);
        r.bind(&self.program);
        r.vertices(&[self.vertices]);
        r.indices(&self.indices, vk::IndexType::UINT32);
        r.draw_indexed(6 * CELLS * CELLS, 0, 0, LAYERS);
        r.end();
    }
}

/// Values that `gbuffer.frag` writes for the nearest layer.
struct Surface {
    albedo: [f32; 4],
    normal: [f32; 3],
    material: [f32; 4],
    height: f32,
}

fn surface(x: usize, y: usize) -> Surface {
    let layer = (LAYERS - 1) as f32;
    let place = [x, y].map(|n| (n as f32 + 0.5) / SIZE as f32);
    let (coarse, fine) = (place.map(|p| wave(p * 4.0)), place.map(|p| wave(p * 16.0 + layer)));
    Surface {
        albedo: [coarse[0], coarse[1], fine[0], 1.0],
        normal: normalize([fine[0] - 0.5, fine[1] - 0.5, 1.0]),
        material: [fine[1], coarse[0] * coarse[1], layer * 0.25, 1.0],
        height: 0.05 * coarse[0] + 0.02 * fine[1],
    }
}

fn gbuffer_alone(gpu: &Gpu) -> SetupResult {
    let buffer = GBuffer::new(gpu, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?;
    let [albedo, _, material, _] = buffer.images;
    let amount = Amount::new(LAYERS * SIZE * SIZE, Unit::Pixel);
    Recording::make(
        gpu,
        amount,
        |r| buffer.record(r),
        move |gpu| {
            Picture::read(gpu, &albedo)?.near(5, Tolerance::without_outliers(1.0), |x, y| surface(x, y).albedo)?;
            Picture::read(gpu, &material)?.near(5, Tolerance::without_outliers(1.0), |x, y| surface(x, y).material)
        },
    )
}

fn lights(gpu: &Gpu) -> Result<(Buffer, Vec<[f32; 4]>), Error> {
    let mut random = Random::new(23);
    let light = |_| {
        let [x, y] = [random.float(0.0, 1.0), random.float(0.0, 1.0)];
        [x, y, random.float(0.2, 0.5), random.float(0.1, 0.3)]
    };
    let lights: Vec<[f32; 4]> = (0..16).map(light).collect();
    let words: Vec<u32> = lights.iter().flatten().map(|v| v.to_bits()).collect();
    Ok((gpu.buffer_with(&words, vk::BufferUsageFlags::UNIFORM_BUFFER)?, lights))
}

fn both(gpu: &Gpu) -> SetupResult {
    let buffer = GBuffer::new(gpu, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    let (uniforms, lights) = lights(gpu)?;
    let target = Target::covered(gpu, SIZE)?;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default())?;
    let [a, b, c, d] = buffer.images.map(|i| Resource::Texture(i.view, sampler));
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/cover.vert"),
            fragment: &spirv!("graphics/light.frag"),
            resources: &[a, b, c, d, Resource::Uniform(uniforms.handle)],
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        buffer.record(r);
        r.begin(&target.pass);
        r.bind(&program);
        r.draw(3, 1);
        r.end();
    };
    let color = target.color;
    let amount = Amount::new((LAYERS + 1) * SIZE * SIZE, Unit::Pixel);
    Recording::make(gpu, amount, record, move |gpu| {
        Picture::read(gpu, &color)?.near(5, Tolerance::without_outliers(3.0), |x, y| lit(x, y, &lights))
    })
}

/// Returns the colour that `light.frag` computes.
fn lit(x: usize, y: usize, lights: &[[f32; 4]]) -> [f32; 4] {
    let s = surface(x, y);
    let place = [(x as f32 + 0.5) / SIZE as f32, (y as f32 + 0.5) / SIZE as f32, s.height];
    let (mut diffuse, mut specular) = (0.0, 0.0);
    for light in lights {
        let to: [f32; 3] = std::array::from_fn(|i| light[i] - place[i]);
        let reach = light[3] / (1.0 + 20.0 * dot(to, to));
        let direction = normalize(to);
        let between = normalize([direction[0], direction[1], direction[2] + 1.0]);
        diffuse += reach * dot(s.normal, direction).max(0.0);
        specular += reach * dot(s.normal, between).max(0.0).powi(8);
    }
    let color = |i: usize| {
        let c = s.albedo[i] * diffuse * (1.0 - 0.5 * s.material[0]) + specular * s.material[1] * 0.5;
        c.clamp(0.0, 1.0)
    };
    [color(0), color(1), color(2), 1.0]
}
