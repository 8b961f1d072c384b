//! Text: a page of glyphs whose coverage is in an atlas of one component, blended.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{hash, mix};
use super::target::{SIZE, Target, packed};
use crate::vk::{Buffer, Error, Gpu, Image, ImageDesc, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;
use std::rc::Rc;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/text", Family::Graphics, text)];

/// Width and height in texels of the atlas, which holds 16×16 glyphs.
const ATLAS: u32 = 256;
/// Size of a glyph in pixels and in texels. `STEP` is the distance to the next glyph and line.
const GLYPH: [u32; 2] = [9, 14];
const STEP: [u32; 2] = [8, 16];
const COLUMNS: u32 = 126;
const LINES: u32 = 63;
const PAPER: [f32; 4] = [0.95, 0.94, 0.9, 1.0];

struct Glyph {
    at: [u32; 2],
    code: u32,
    color: [u8; 4],
}

/// Returns the coverage of a texel: a ring with soft edges, crossed by a stroke whose position
/// depends on the glyph's code.
fn coverage(x: u32, y: u32) -> u8 {
    let (code, gx, gy) = (x / 16 + y / 16 * 16, (x % 16) as i32, (y % 16) as i32);
    let (dx, dy) = (2 * gx - 8, 2 * gy - 13);
    let ring = 255 - ((dx * dx * 2 + dy * dy - 110).abs() * 3).min(255);
    let stroke = if hash(code) % 14 == gy as u32 && gx < 9 { 255 } else { 0 };
    let inside = gx < 9 && gy < 14;
    if inside { ring.max(stroke) as u8 } else { 0 }
}

/// Returns the glyphs of lines of words. Spaces are not drawn.
fn page() -> Vec<Glyph> {
    let mut random = Random::new(43);
    let glyph = |i: u32| {
        let (column, line) = (i % COLUMNS, i / COLUMNS);
        let word = random.word();
        let color = if line % 8 == 0 { [150, 20, 30, 255] } else { [25, 25, 35, 230] };
        (word & 7 != 0).then(|| Glyph { at: [4 + column * STEP[0], 4 + line * STEP[1]], code: word >> 24, color })
    };
    (0..COLUMNS * LINES).filter_map(glyph).collect()
}

fn texel_of(glyph: &Glyph) -> [u32; 2] {
    [glyph.code % 16 * 16, glyph.code / 16 * 16]
}

/// Makes the vertices of 20 bytes and the indices.
fn buffers(gpu: &Gpu, page: &[Glyph]) -> Result<(Buffer, Buffer), Error> {
    let mut words = Vec::new();
    for glyph in page {
        let texel = texel_of(glyph);
        for corner in [[0, 0], [1, 0], [0, 1], [1, 1]] {
            let offset: [u32; 2] = std::array::from_fn(|i| corner[i] * GLYPH[i]);
            words.extend([0, 1].map(|i: usize| ((glyph.at[i] + offset[i]) as f32).to_bits()));
            words.extend([0, 1].map(|i: usize| ((texel[i] + offset[i]) as f32 / ATLAS as f32).to_bits()));
            words.push(packed(glyph.color));
        }
    }
    let vertices = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let indices: Vec<u32> = (0..page.len() as u32).flat_map(|q| [0, 1, 2, 2, 1, 3].map(|i| q * 4 + i)).collect();
    Ok((vertices, gpu.buffer_with(&indices, vk::BufferUsageFlags::INDEX_BUFFER)?))
}

fn atlas(gpu: &Gpu) -> Result<Image, Error> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(vk::Format::R8_UNORM, ATLAS, ATLAS, usage))?;
    let word = |i: u32| packed([0, 1, 2, 3].map(|k| coverage((4 * i + k) % ATLAS, (4 * i + k) / ATLAS)));
    let texels: Vec<u32> = (0..ATLAS * ATLAS / 4).map(word).collect();
    let staging = gpu.buffer_with(&texels, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 1, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    Ok(image)
}

fn text(gpu: &Gpu) -> SetupResult {
    let target = Target::flat(gpu, PAPER)?;
    let image = atlas(gpu)?;
    let linear = vk::Filter::LINEAR;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default().mag_filter(linear).min_filter(linear))?;
    let page = Rc::new(page());
    let (vertices, indices) = buffers(gpu, &page)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/text.vert"),
            fragment: &spirv!("graphics/text.frag"),
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
            ..Default::default()
        },
    )?;
    let glyphs = page.len() as u32;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT32);
        r.draw_indexed(6 * glyphs, 0, 0, 1);
        r.end();
    };
    let (color, amount) = (target.color, Amount::new(2 * glyphs, Unit::Triangle));
    Recording::make(gpu, amount, record, move |gpu| {
        let expected = drawn(&page);
        // Neighbouring glyphs share a column, and each blend is rounded to 8 bits.
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(2.5), |x, y| expected[y * SIZE as usize + x])
    })
}

/// Returns the expected picture, with one texel per pixel and one blend after the other.
fn drawn(page: &[Glyph]) -> Vec<[f32; 4]> {
    let mut pixels = vec![PAPER; (SIZE * SIZE) as usize];
    for glyph in page {
        let texel = texel_of(glyph);
        for i in 0..GLYPH[0] * GLYPH[1] {
            let (dx, dy) = (i % GLYPH[0], i / GLYPH[0]);
            let color = glyph.color.map(|c| f32::from(c) / 255.0);
            let alpha = color[3] * f32::from(coverage(texel[0] + dx, texel[1] + dy)) / 255.0;
            let above = [color[0], color[1], color[2], alpha];
            let pixel = &mut pixels[((glyph.at[1] + dy) * SIZE + glyph.at[0] + dx) as usize];
            *pixel = std::array::from_fn(|c| mix(pixel[c], above[c], alpha));
        }
    }
    pixels
}
