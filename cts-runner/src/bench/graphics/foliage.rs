//! Foliage: many overlapping quads whose shape is the alpha of a texture.

use super::super::check::Random;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::hash;
use super::target::{COLOR, SIZE, Target, packed};
use crate::vk::{Gpu, ImageDesc, ProgramDesc, Recorder, Resource, Stream};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/foliage-alpha-test", Family::Graphics, foliage)];

const LEAVES: u32 = 1_500;
/// Width and height of a leaf in pixels, and of the texture in texels.
const LEAF: u32 = 64;

/// Returns a texel of a jagged shape that covers about half of the square.
fn texel(x: u32, y: u32) -> [u8; 4] {
    let (dx, dy) = (x as i32 - 32, (y as i32 - 32) * 3 / 2);
    let inside = dx * dx + dy * dy < 900 && (x ^ y) & 12 != 12;
    [(x * 4) as u8, (255 - y * 4) as u8, 128, if inside { 255 } else { 0 }]
}

/// A leaf: its position, depth and colour.
struct Leaf {
    at: [u32; 2],
    depth: f32,
    color: [u8; 4],
}

fn leaves() -> Vec<Leaf> {
    let mut random = Random::new(29);
    // 647 is coprime to the number of leaves, so each gets a different depth, in a mixed order.
    let leaf = |i: u32| Leaf {
        at: [random.word() % (SIZE - LEAF), random.word() % (SIZE - LEAF)],
        depth: (i * 647 % LEAVES + 1) as f32 / 2048.0,
        color: (hash(i) | 0xff80_8080).to_le_bytes(),
    };
    (0..LEAVES).map(leaf).collect()
}

fn foliage(gpu: &Gpu) -> SetupResult {
    let target = Target::deep(gpu, [0.0, 0.0, 0.0, 1.0])?;
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(COLOR, LEAF, LEAF, usage))?;
    let texels: Vec<u32> = (0..LEAF * LEAF).map(|i| packed(texel(i % LEAF, i / LEAF))).collect();
    let staging = gpu.buffer_with(&texels, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 4, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    let linear = vk::Filter::LINEAR;
    let sampler = gpu.sampler(
        &vk::SamplerCreateInfo::default()
            .mag_filter(linear)
            .min_filter(linear)
            .address_mode_u(edge)
            .address_mode_v(edge),
    )?;
    let leaves = leaves();
    let mut words = Vec::new();
    for leaf in &leaves {
        let size = LEAF as f32;
        let floats = [leaf.at[0] as f32, leaf.at[1] as f32, size, size, leaf.depth];
        words.extend(floats.map(f32::to_bits));
        words.push(packed(leaf.color));
    }
    let instances = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/leaf.vert"),
            fragment: &spirv!("graphics/foliage.frag"),
            resources: &[Resource::Texture(image.view, sampler)],
            streams: &[Stream {
                stride: 24,
                per_instance: true,
                attributes: &[
                    (vk::Format::R32G32B32A32_SFLOAT, 0),
                    (vk::Format::R32_SFLOAT, 16),
                    (vk::Format::R8G8B8A8_UNORM, 20),
                ],
            }],
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[instances]);
        r.draw(4, LEAVES);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(LEAVES * LEAF * LEAF, Unit::Pixel), record, move |gpu| {
        let expected = drawn(&leaves);
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(2.0), |x, y| expected[y * SIZE as usize + x])
    })
}

/// Returns the expected picture, with one texel per pixel.
fn drawn(leaves: &[Leaf]) -> Vec<[f32; 4]> {
    let mut pixels = vec![(1.0f32, [0.0, 0.0, 0.0, 1.0]); (SIZE * SIZE) as usize];
    for leaf in leaves {
        for i in 0..LEAF * LEAF {
            let (x, y) = (i % LEAF, i / LEAF);
            let pixel = &mut pixels[((leaf.at[1] + y) * SIZE + leaf.at[0] + x) as usize];
            let texel = texel(x, y);
            if texel[3] > 0 && leaf.depth < pixel.0 {
                let product = |c: usize| f32::from(texel[c]) * f32::from(leaf.color[c]) / (255.0 * 255.0);
                *pixel = (leaf.depth, [product(0), product(1), product(2), 1.0]);
            }
        }
    }
    pixels.into_iter().map(|p| p.1).collect()
}
