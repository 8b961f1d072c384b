//! Tables that are looked up with a linear filter: one of one dimension, in divergent control flow,
//! and one of three.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::bench::figure::CheckError;
use crate::vk::{Error, Gpu, ImageDesc, Resource};
use ash::vk;

/// Width and height of the scaled picture.
const N: usize = 512;
/// Entries of the table of weights.
const WEIGHTS: usize = 256;
/// Texels that are nearer than this have a weight.
const RADIUS: f32 = 3.2;
/// Entries of the colour table along each axis.
const SIDE: usize = 33;
/// Colours that are looked up.
const COLOURS: usize = 1 << 18;

/// A table with its sampler.
fn table(
    gpu: &Gpu,
    view: vk::ImageViewType,
    format: vk::Format,
    extent: [u32; 3],
    words: &[u32],
) -> Result<Resource, Error> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc { view, format, extent, layers: 1, levels: 1, usage })?;
    let layout = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
    gpu.upload(&storage_of(gpu, words)?, &image, 4, layout)?;
    let clamp = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(vk::Filter::LINEAR)
        .min_filter(vk::Filter::LINEAR)
        .address_mode_u(clamp)
        .address_mode_v(clamp)
        .address_mode_w(clamp);
    Ok(Resource::Texture(image.view, gpu.sampler(&info)?))
}

/// The weight of a texel so far away, as a part of the radius.
fn weight(away: f32) -> f32 {
    let rest = 1.0 - away * away;
    rest * rest
}

/// A polar scaler.
pub fn one_dimension(gpu: &Gpu) -> SetupResult {
    let weights: Vec<u32> = (0..WEIGHTS).map(|i| weight((i as f32 + 0.5) / WEIGHTS as f32).to_bits()).collect();
    let extent = [WEIGHTS as u32, 1, 1];
    let table = table(gpu, vk::ImageViewType::TYPE_1D, vk::Format::R32_SFLOAT, extent, &weights)?;
    let source = Random::new(23).floats(N * N / 4, 0.0, 1.0);
    let target = storage(gpu, N * N * 4)?;
    let buffers = [storage_of_floats(gpu, &source)?, target];
    let [from, to] = buffers.map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/lookup_1d.comp"), &[table, from, to], 1)?;
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[N as u32], [N as u32 / 8, N as u32 / 8, 1]);
    job(gpu, ((N * N) as f64, Unit::Pixel), work, move |_| {
        let pixels = as_floats(&target.read());
        let some: Vec<usize> = (0..N * N).step_by(37).collect();
        let expected: Vec<f32> = some.iter().map(|i| scaled(&source, i % N, i / N)).collect();
        let actual: Vec<f32> = some.iter().map(|i| pixels[*i]).collect();
        close(&actual, &expected, 2e-3)
    })
}

/// The scaled picture at a pixel.
fn scaled(source: &[f32], x: usize, y: usize) -> f32 {
    let place = [x, y].map(|at| (at as f32 + 0.5) * 0.5 - 0.5);
    let first = place.map(|at| at.floor() as i32);
    let (mut sum, mut weights) = (0.0, 0.0);
    for k in 0..64 {
        let texel = [first[0] + k % 8 - 3, first[1] + k / 8 - 3];
        let away = (texel[0] as f32 - place[0]).hypot(texel[1] as f32 - place[1]);
        if away < RADIUS {
            let [column, row] = texel.map(|at| at.clamp(0, N as i32 / 2 - 1) as usize);
            let weight = weight(away / RADIUS);
            sum += weight * source[row * (N / 2) + column];
            weights += weight;
        }
    }
    sum / weights
}

/// An entry of the colour table: colours that are turned around, and darker where blue is.
fn graded(r: f32, g: f32, b: f32) -> [f32; 4] {
    [g, b, r * (1.0 - 0.5 * b), 1.0]
}

/// Colour grading.
pub fn three_dimensions(gpu: &Gpu) -> SetupResult {
    let at = |i: usize| (i % SIDE) as f32 / (SIDE - 1) as f32;
    let entry = |i: usize| {
        let bytes = graded(at(i), at(i / SIDE), at(i / SIDE / SIDE)).map(|c| (c * 255.0).round() as u8);
        u32::from_le_bytes(bytes)
    };
    let entries: Vec<u32> = (0..SIDE * SIDE * SIDE).map(entry).collect();
    let extent = [SIDE as u32; 3];
    let table = table(gpu, vk::ImageViewType::TYPE_3D, vk::Format::R8G8B8A8_UNORM, extent, &entries)?;
    let colours = Random::new(24).words(COLOURS);
    let target = storage(gpu, COLOURS * 4)?;
    let buffers = [storage_of(gpu, &colours)?, target];
    let [from, to] = buffers.map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/lookup_3d.comp"), &[table, from, to], 1)?;
    let scale = ((SIDE - 1) as f32 / SIDE as f32).to_bits();
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[scale], [COLOURS as u32 / 64, 1, 1]);
    job(gpu, (COLOURS as f64, Unit::Sample), work, move |_| {
        for (i, (from, to)) in colours.iter().zip(target.read()).enumerate() {
            let [r, g, b, _] = from.to_le_bytes().map(|c| f32::from(c) / 255.0);
            let expected = graded(r, g, b).map(|c| c * 255.0);
            let actual = to.to_le_bytes().map(f32::from);
            if actual.iter().zip(expected).any(|(a, e)| (a - e).abs() > 2.0) {
                return Err(CheckError::Output(format!("colour {i} is {actual:?}, not {expected:?}")));
            }
        }
        Ok(())
    })
}
