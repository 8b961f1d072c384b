//! Textures of the demo. Level 0 is computed by formulas here, and the other levels by
//! `vkCmdBlitImage`.

use super::meshes::Random;
use crate::vk::{Gpu, Image, ImageDesc, Result, image_barrier};
use ash::vk;

const SIZE: u32 = 512;
const FORMAT: vk::Format = vk::Format::R8G8B8A8_SRGB;

/// Periodic value noise with a single period.
struct Noise {
    lattice: Vec<f32>,
    period: usize,
}

impl Noise {
    fn new(period: usize, seed: u32) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9));
        Self { lattice: (0..period * period).map(|_| random.unit()).collect(), period }
    }

    fn at(&self, u: f32, v: f32) -> f32 {
        let (x, y) = (u * self.period as f32, v * self.period as f32);
        let (i, j) = (x as usize, y as usize);
        let smooth = |t: f32| t * t * (3.0 - 2.0 * t);
        let (fx, fy) = (smooth(x.fract()), smooth(y.fract()));
        let l = |i: usize, j: usize| self.lattice[(j % self.period) * self.period + i % self.period];
        let top = l(i, j) + (l(i + 1, j) - l(i, j)) * fx;
        let bottom = l(i, j + 1) + (l(i + 1, j + 1) - l(i, j + 1)) * fx;
        top + (bottom - top) * fy
    }
}

type Color = [f32; 3];

fn mix(a: Color, b: Color, t: f32) -> Color {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t.clamp(0.0, 1.0))
}

/// Formula of a material: returns the colour for noise (fractal and ridged) and a position.
type Formula = fn(fbm: f32, ridge: f32, u: f32, v: f32) -> Color;

/// Materials in this order: rock, marble, gas giant, lava, ice.
const FORMULAS: [Formula; 5] = [rock, marble, gas, lava, ice];

/// Number of materials.
pub const MATERIALS: usize = FORMULAS.len();

fn rock(fbm: f32, ridge: f32, u: f32, v: f32) -> Color {
    // Flag stones have joints on a grid, with every second row shifted.
    let row = (v * 8.0).floor();
    let x = (u * 8.0 + 0.5 * (row % 2.0)).fract();
    let joint = x.min(1.0 - x).min((v * 8.0).fract().min(1.0 - (v * 8.0).fract()));
    let stone = mix([0.30, 0.26, 0.25], [0.62, 0.57, 0.52], fbm * 1.3 - 0.1);
    mix([0.10, 0.09, 0.10], mix(stone, [0.36, 0.34, 0.40], ridge * 0.5), joint * 30.0)
}

fn marble(fbm: f32, ridge: f32, u: f32, v: f32) -> Color {
    let vein = (u + v * 0.5 + fbm * 0.9).fract();
    let line = 1.0 - (vein - 0.5).abs() * 2.0;
    mix(mix([0.93, 0.90, 0.86], [0.72, 0.70, 0.72], fbm), [0.33, 0.30, 0.36], line.powi(8) * 0.9 + ridge * 0.15)
}

fn gas(fbm: f32, _ridge: f32, _u: f32, v: f32) -> Color {
    let band = ((v + fbm * 0.06) * 9.0).fract();
    let tri = 1.0 - (band - 0.5).abs() * 2.0;
    mix([0.80, 0.52, 0.30], [0.96, 0.88, 0.74], tri * tri * 1.2 + fbm * 0.2)
}

fn lava(fbm: f32, ridge: f32, _u: f32, _v: f32) -> Color {
    mix([0.14, 0.09, 0.09], [1.0, 0.42, 0.08], (ridge - 0.72) * 4.5 + (fbm - 0.5) * 0.3)
}

fn ice(fbm: f32, ridge: f32, _u: f32, _v: f32) -> Color {
    mix(mix([0.20, 0.42, 0.62], [0.80, 0.93, 0.98], fbm * 1.4 - 0.2), [0.95, 0.98, 1.0], (ridge - 0.6) * 2.0)
}

fn texels(material: usize) -> Vec<u32> {
    let octaves: Vec<Noise> = (0..6).map(|i| Noise::new(4 << i, (material * 16 + i + 1) as u32)).collect();
    let mut out = Vec::with_capacity((SIZE * SIZE) as usize);
    for y in 0..SIZE {
        for x in 0..SIZE {
            let (u, v) = (x as f32 / SIZE as f32, y as f32 / SIZE as f32);
            let (mut fbm, mut ridge, mut weight) = (0.0, 0.0, 0.5);
            for noise in &octaves {
                let n = noise.at(u, v);
                fbm += weight * n;
                ridge += weight * (1.0 - (n * 2.0 - 1.0).abs());
                weight *= 0.5;
            }
            let color = FORMULAS[material](fbm, ridge, u, v).map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
            out.push(u32::from_le_bytes([color[0], color[1], color[2], 255]));
        }
    }
    out
}

/// Makes the texture of a material with its mipmaps.
pub fn make(gpu: &Gpu, material: usize) -> Result<Image> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let desc = ImageDesc { levels: SIZE.ilog2() + 1, ..ImageDesc::d2(FORMAT, SIZE, SIZE, usage) };
    let image = gpu.image(&desc)?;
    let staging = gpu.buffer_with(&texels(material), vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.run(|d, cmd| {
        use vk::ImageLayout as L;
        image_barrier(d, cmd, &image, image.full_range(), L::UNDEFINED, L::TRANSFER_DST_OPTIMAL);
        let region =
            vk::BufferImageCopy::default().image_subresource(image.layers_of(0)).image_extent(image.level_extent(0));
        // SAFETY: the buffer holds level 0; the image is in the layout that the copy names.
        unsafe { d.cmd_copy_buffer_to_image(cmd, staging.handle, image.handle, L::TRANSFER_DST_OPTIMAL, &[region]) };
        for level in 1..desc.levels {
            let source = image.full_range().base_mip_level(level - 1).level_count(1);
            image_barrier(d, cmd, &image, source, L::TRANSFER_DST_OPTIMAL, L::TRANSFER_SRC_OPTIMAL);
            blit_level(d, cmd, &image, level);
            image_barrier(d, cmd, &image, source, L::TRANSFER_SRC_OPTIMAL, L::SHADER_READ_ONLY_OPTIMAL);
        }
        let last = image.full_range().base_mip_level(desc.levels - 1).level_count(1);
        image_barrier(d, cmd, &image, last, L::TRANSFER_DST_OPTIMAL, L::SHADER_READ_ONLY_OPTIMAL);
    })?;
    Ok(image)
}

/// Records a linear blit of level `level - 1` into `level`, which has half the size.
fn blit_level(d: &ash::Device, cmd: vk::CommandBuffer, image: &Image, level: u32) {
    let corner = |e: vk::Extent3D| vk::Offset3D { x: e.width as i32, y: e.height as i32, z: 1 };
    let region = vk::ImageBlit::default()
        .src_subresource(image.layers_of(level - 1))
        .src_offsets([vk::Offset3D::default(), corner(image.level_extent(level - 1))])
        .dst_subresource(image.layers_of(level))
        .dst_offsets([vk::Offset3D::default(), corner(image.level_extent(level))]);
    let (from, to) = (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    // SAFETY: both levels exist and are in the layouts that the blit names.
    unsafe { d.cmd_blit_image(cmd, image.handle, from, image.handle, to, &[region], vk::Filter::LINEAR) }
}
