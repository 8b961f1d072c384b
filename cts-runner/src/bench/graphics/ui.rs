//! A 2D interface as user interface libraries draw it: windows of small textured quads, blended.
//! Each window and each of its lists has a scissor of its own.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::hash;
use super::target::{COLOR, SIZE, Target, packed};
use crate::vk::{Buffer, Error, Gpu, Image, ImageDesc, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;
use std::rc::Rc;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/interface-2d", Family::Graphics, interface)];

/// Width and height of the atlas in texels.
const ATLAS: u32 = 256;
const WINDOWS: u32 = 600;
const GLYPHS: u32 = 16;
/// Size of a glyph in pixels and in texels.
const GLYPH: [u32; 2] = [8, 12];

/// A quad: its position, its size, its position in the atlas, and its colour. Its size in texels
/// equals its size in pixels.
#[derive(Clone, Copy)]
struct Quad {
    at: [u32; 2],
    size: [u32; 2],
    texel: [u32; 2],
    color: [u8; 4],
}

/// A draw: its scissor (position and size) and its quads.
struct Draw {
    scissor: [u32; 4],
    quads: Vec<Quad>,
}

/// Returns a texel of the atlas. The top 128 rows are white. Below them are glyphs whose alpha is a
/// soft pattern.
fn atlas_texel(x: u32, y: u32) -> [u8; 4] {
    let alpha = if y < 128 { 255 } else { (hash(x / 2 + y / 2 * 128) & 0xc0) as u8 + 63 };
    [255, 255, 255, alpha]
}

/// Returns the draws. Each window has a draw of four quads that make its frame, and one of a line
/// of text that its scissor clips.
fn draws() -> Vec<Draw> {
    let mut random = Random::new(41);
    let mut draws = Vec::new();
    for i in 0..WINDOWS {
        let size = [64 + random.word() % 64, 32 + random.word() % 32];
        let at = [random.word() % (SIZE - size[0]), random.word() % (SIZE - size[1])];
        let tint = |n: u32, alpha: u8| {
            let [r, g, b, _] = hash(i * 4 + n).to_le_bytes();
            [r, g, b, alpha]
        };
        let white = |x: u32, y: u32, width: u32, height: u32, color| Quad {
            at: [at[0] + x, at[1] + y],
            size: [width, height],
            texel: [0, 0],
            color,
        };
        let [width, height] = size;
        let frame = vec![
            white(0, 0, width, height, tint(0, 200)),
            white(0, 0, width, 14, tint(1, 230)),
            white(width - 8, 14, 8, height - 14, tint(2, 128)),
            white(2, height - 4, width - 12, 2, tint(3, 255)),
        ];
        draws.push(Draw { scissor: [at[0], at[1], width, height], quads: frame });
        let glyph = |n: u32| {
            let code = random.word() % 320;
            let texel = [code % 32 * GLYPH[0], 128 + code / 32 * GLYPH[1]];
            Quad { at: [at[0] + 2 + n * GLYPH[0], at[1] + 1], size: GLYPH, texel, color: [255, 240, 220, 255] }
        };
        let text = (0..GLYPHS).map(glyph).filter(|q| q.at[0] + GLYPH[0] <= SIZE).collect();
        draws.push(Draw { scissor: [at[0] + 2, at[1] + 1, width - 12, 12], quads: text });
    }
    draws
}

/// Makes the vertices of 20 bytes and the 16-bit indices of up to `GLYPHS` quads. Draws add a base
/// to the indices.
fn buffers(gpu: &Gpu, draws: &[Draw]) -> Result<(Buffer, Buffer), Error> {
    let mut words = Vec::new();
    for quad in draws.iter().flat_map(|d| &d.quads) {
        for corner in 0..4 {
            let [right, below] = [corner & 1, corner >> 1];
            let at = [quad.at[0] + right * quad.size[0], quad.at[1] + below * quad.size[1]].map(|v| v as f32);
            let uv = [quad.texel[0] + right * quad.size[0], quad.texel[1] + below * quad.size[1]];
            words.extend(at.map(f32::to_bits));
            words.extend(uv.map(|t| (t as f32 / ATLAS as f32).to_bits()));
            words.push(packed(quad.color));
        }
    }
    let vertices = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let indices: Vec<u32> = (0..GLYPHS).flat_map(|q| [0, 1, 2, 2, 1, 3].map(|i| q * 4 + i)).collect();
    let pairs: Vec<u32> = indices.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
    Ok((vertices, gpu.buffer_with(&pairs, vk::BufferUsageFlags::INDEX_BUFFER)?))
}

fn atlas(gpu: &Gpu) -> Result<Image, Error> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(COLOR, ATLAS, ATLAS, usage))?;
    let texels: Vec<u32> = (0..ATLAS * ATLAS).map(|i| packed(atlas_texel(i % ATLAS, i / ATLAS))).collect();
    let staging = gpu.buffer_with(&texels, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 4, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    Ok(image)
}

fn interface(gpu: &Gpu) -> SetupResult {
    let target = Target::flat(gpu, [0.2, 0.2, 0.2, 1.0])?;
    let image = atlas(gpu)?;
    let linear = vk::Filter::LINEAR;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default().mag_filter(linear).min_filter(linear))?;
    let draws = Rc::new(draws());
    let (vertices, indices) = buffers(gpu, &draws)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/ui.vert"),
            fragment: &spirv!("graphics/ui.frag"),
            resources: &[Resource::Texture(image.view, sampler)],
            streams: &[Stream {
                stride: 20,
                per_instance: false,
                attributes: &[
                    (vk::Format::R32G32_SFLOAT, 0),
                    (vk::Format::R32G32_SFLOAT, 8),
                    (vk::Format::R8G8B8A8_UNORM, 16),
                ],
            }],
            blend: Some((vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA)),
            dynamic: &[vk::DynamicState::SCISSOR],
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT16);
        let mut base = 0;
        for draw in draws.iter() {
            r.scissor(draw.scissor);
            r.draw_indexed(6 * draw.quads.len() as u32, 0, base, 1);
            base += 4 * draw.quads.len() as i32;
        }
        r.end();
    };
    let (color, expected) = (target.color, Rc::clone(&draws));
    let quads: u32 = draws.iter().map(|d| d.quads.len() as u32).sum();
    Recording::make(gpu, Amount::new(2 * quads, Unit::Triangle), record, move |gpu| {
        let expected = drawn(&expected);
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(4.0), |x, y| expected[y * SIZE as usize + x])
    })
}

/// Returns the expected picture, with one texel per pixel and one blend after the other.
fn drawn(draws: &[Draw]) -> Vec<[f32; 4]> {
    let mut pixels = vec![[0.2, 0.2, 0.2, 1.0]; (SIZE * SIZE) as usize];
    for draw in draws {
        let [left, top, width, height] = draw.scissor;
        for quad in &draw.quads {
            for i in 0..quad.size[0] * quad.size[1] {
                let (dx, dy) = (i % quad.size[0], i / quad.size[0]);
                let (x, y) = (quad.at[0] + dx, quad.at[1] + dy);
                if x < left || y < top || x >= left + width || y >= top + height {
                    continue;
                }
                let texel = atlas_texel(quad.texel[0] + dx, quad.texel[1] + dy);
                let above: [f32; 4] =
                    std::array::from_fn(|c| f32::from(texel[c]) * f32::from(quad.color[c]) / (255.0 * 255.0));
                let pixel = &mut pixels[(y * SIZE + x) as usize];
                *pixel = std::array::from_fn(|c| above[c] * above[3] + pixel[c] * (1.0 - above[3]));
            }
        }
    }
    pixels
}
