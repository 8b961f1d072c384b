//! A 5×5 convolution from a storage image, through a sampler, and in shared memory over a buffer.

use super::{Kernel, SetupResult, Unit, job, spirv, storage, storage_of, storage_of_floats};
use crate::bench::check::{Random, as_floats, close};
use crate::bench::figure::CheckError;
use crate::vk::{Error, Gpu, Image, ImageDesc, Resource, image_barrier};
use ash::vk;

/// Width and height of the image in pixels.
const N: usize = 512;
/// Weights of a binomial kernel.
const ROW: [f32; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];
const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;
const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

fn weights() -> Vec<f32> {
    ROW.iter().flat_map(|y| ROW.map(|x| x * y / 256.0)).collect()
}

/// Returns the convolution at a pixel of the values that `at` returns.
fn convolved(x: usize, y: usize, at: impl Fn(usize, usize) -> f32) -> f32 {
    let near = |centre: usize, k: usize| (centre + k).saturating_sub(2).min(N - 1);
    let term = |k: usize| ROW[k / 5] * ROW[k % 5] / 256.0 * at(near(x, k % 5), near(y, k / 5));
    (0..25).map(term).sum()
}

fn image(gpu: &Gpu, usage: vk::ImageUsageFlags) -> Result<Image, Error> {
    let copies = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    gpu.image(&ImageDesc::d2(FORMAT, N as u32, N as u32, usage | copies))
}

/// Makes a convolution that reads a storage image.
pub fn convolve_storage(gpu: &Gpu) -> SetupResult {
    let source = image(gpu, vk::ImageUsageFlags::STORAGE)?;
    convolve(gpu, &spirv!("compute/convolve_storage.comp"), source, Resource::StorageImage(source.view), GENERAL)
}

/// Makes a convolution that reads through a bilinear sampler.
pub fn convolve_sampled(gpu: &Gpu) -> SetupResult {
    let source = image(gpu, vk::ImageUsageFlags::SAMPLED)?;
    let clamp = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(vk::Filter::LINEAR)
        .min_filter(vk::Filter::LINEAR)
        .address_mode_u(clamp)
        .address_mode_v(clamp)
        .address_mode_w(clamp);
    let texture = Resource::Texture(source.view, gpu.sampler(&info)?);
    let layout = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
    convolve(gpu, &spirv!("compute/convolve_sampled.comp"), source, texture, layout)
}

fn convolve(gpu: &Gpu, code: &[u32], source: Image, resource: Resource, layout: vk::ImageLayout) -> SetupResult {
    let pixels = Random::new(20).words(N * N);
    gpu.upload(&storage_of(gpu, &pixels)?, &source, 4, layout)?;
    let target = image(gpu, vk::ImageUsageFlags::STORAGE)?;
    gpu.run(|d, cmd| image_barrier(d, cmd, &target, target.full_range(), vk::ImageLayout::UNDEFINED, GENERAL))?;
    let weights = Resource::Storage(storage_of_floats(gpu, &weights())?.handle);
    let kernel = Kernel::new(gpu, code, &[resource, Resource::StorageImage(target.view), weights], 0)?;
    let groups = [N as u32 / 8, N as u32 / 8, 1];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[], groups);
    job(gpu, ((N * N) as f64, Unit::Pixel), work, move |gpu| {
        let mark = gpu.mark();
        let bytes = gpu.read_image(&target, 4, GENERAL)?.read_bytes();
        // The copy in `read_image` left the image in another layout.
        let from = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        gpu.run(|d, cmd| image_barrier(d, cmd, &target, target.full_range(), from, GENERAL))?;
        gpu.release_to(mark);
        check_pixels(&bytes, &pixels)
    })
}

fn check_pixels(bytes: &[u8], pixels: &[u32]) -> Result<(), CheckError> {
    for i in (0..N * N).step_by(11).chain(0..N) {
        for channel in 0..4 {
            let at = |x: usize, y: usize| f32::from((pixels[y * N + x] >> (8 * channel)) as u8);
            let (actual, expected) = (f32::from(bytes[i * 4 + channel]), convolved(i % N, i / N, at));
            // A bilinear sampler at texel centres may be off by 1/256 of its neighbours per tap.
            if (actual - expected).abs() > 1.6 {
                let place = (i % N, i / N, channel);
                return Err(CheckError::Output(format!("pixel and channel {place:?} are {actual}, not {expected}")));
            }
        }
    }
    Ok(())
}

/// Makes a convolution with tiles in shared memory.
pub fn convolve_shared(gpu: &Gpu) -> SetupResult {
    let x = Random::new(21).floats(N * N, -1.0, 1.0);
    let y = storage(gpu, N * N * 4)?;
    let buffers = [storage_of_floats(gpu, &x)?, y, storage_of_floats(gpu, &weights())?];
    let resources = buffers.map(|b| Resource::Storage(b.handle));
    let kernel = Kernel::new(gpu, &spirv!("compute/convolve_shared.comp"), &resources, 2)?;
    let groups = [N as u32 / 16, N as u32 / 16, 1];
    let work = |d: &ash::Device, cmd| kernel.dispatch(d, cmd, &[N as u32, N as u32], groups);
    job(gpu, ((N * N) as f64, Unit::Pixel), work, move |_| {
        let expected: Vec<f32> = (0..N * N).map(|i| convolved(i % N, i / N, |px, py| x[py * N + px])).collect();
        close(&as_floats(&y.read()), &expected, 1e-5)
    })
}
