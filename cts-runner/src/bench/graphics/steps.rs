//! Consecutive passes over whole targets, and the images between them.

use super::super::figure::SetupError;
use super::super::recording::need_format;
use super::reference::Level;
use super::target::{COLOR, packed};
use crate::vk::{Attachment, Error, Gpu, Image, ImageDesc, Pass, Program, ProgramDesc, Recorder, Resource};
use ash::vk;

/// Format of images with values above white.
pub const BRIGHT: vk::Format = vk::Format::R16G16B16A16_SFLOAT;

/// Returns an error if [`BRIGHT`] cannot be rendered to or filtered.
pub fn need_bright(gpu: &Gpu) -> Result<(), SetupError> {
    let features = vk::FormatFeatureFlags::COLOR_ATTACHMENT | vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR;
    need_format(gpu, BRIGHT, features)
}

/// Makes an image between passes and the pass that writes it.
pub fn between(gpu: &Gpu, format: vk::Format, [width, height]: [u32; 2]) -> Result<(Image, Pass), Error> {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
    let image = gpu.image(&ImageDesc::d2(format, width, height, usage))?;
    Ok((image, gpu.pass(&[Attachment::texture(image)])?))
}

/// Makes a sampler with a linear filter that clamps to the edge.
pub fn linear_sampler(gpu: &Gpu) -> Result<vk::Sampler, Error> {
    let (edge, linear) = (vk::SamplerAddressMode::CLAMP_TO_EDGE, vk::Filter::LINEAR);
    let info = vk::SamplerCreateInfo::default().mag_filter(linear).min_filter(linear);
    gpu.sampler(&info.address_mode_u(edge).address_mode_v(edge))
}

/// Makes a texture of 8-bit components from a function that returns each texel.
pub fn picture_of(gpu: &Gpu, [width, height]: [u32; 2], texel: impl Fn(u32, u32) -> [u8; 4]) -> Result<Image, Error> {
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(COLOR, width, height, usage))?;
    let texels: Vec<u32> = (0..width * height).map(|i| packed(texel(i % width, i / width))).collect();
    let staging = gpu.buffer_with(&texels, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.upload(&staging, &image, 4, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)?;
    Ok(image)
}

/// Returns the content of [`picture_of`] as a level.
pub fn level_of([width, height]: [u32; 2], texel: impl Fn(u32, u32) -> [u8; 4]) -> Level {
    let color = |x, y| texel(x as u32, y as u32).map(|c| f32::from(c) / 255.0);
    Level::new(width as usize, height as usize, color)
}

/// Returns a level of another size. Each texel is a sample at its centre.
pub fn resample([width, height]: [usize; 2], sample: impl Fn(f64, f64) -> [f32; 4]) -> Level {
    let middle = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
    Level::new(width, height, |x, y| sample(middle(x, width), middle(y, height)))
}

/// A pass over a whole target and its push constants.
pub struct Step {
    pass: Pass,
    program: Program,
    push: Vec<u32>,
}

impl Step {
    /// Makes a step that samples its inputs.
    pub fn new(
        gpu: &Gpu,
        pass: Pass,
        (vertex, fragment): (&[u32], &[u32]),
        inputs: &[Image],
        sampler: vk::Sampler,
        push: Vec<u32>,
    ) -> Result<Self, Error> {
        let resources: Vec<_> = inputs.iter().map(|i| Resource::Texture(i.view, sampler)).collect();
        let desc =
            ProgramDesc { vertex, fragment, resources: &resources, push: 4 * push.len() as u32, ..Default::default() };
        let program = gpu.program(&pass, &desc)?;
        Ok(Self { pass, program, push })
    }

    /// Records the step.
    pub fn record(&self, r: Recorder<'_>) {
        r.begin(&self.pass);
        r.bind(&self.program);
        if !self.push.is_empty() {
            r.push(&self.program, &self.push);
        }
        r.draw(3, 1);
        r.end();
    }
}
