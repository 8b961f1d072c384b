//! Sampling through descriptors that differ between quads: an array of textures with non-uniform
//! indexing.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{Wrap, hash};
use super::steps::{level_of, picture_of};
use super::target::{SIZE, Target};
use crate::vk::{Error, Gpu, ProgramDesc, Resource};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/divergent-textures", Family::Graphics, divergent)];

const TEXTURES: u32 = 16;
/// Width and height of a texture in texels.
const TEXTURE: u32 = 64;

/// Returns a texel: soft squares in colours that differ between textures.
fn texel(texture: u32, x: u32, y: u32) -> [u8; 4] {
    let [r, g, b, _] = hash(texture * 64 + x / 8 + y / 8 * 8).to_le_bytes();
    [r, g, b, (texture * 17) as u8]
}

fn divergent(gpu: &Gpu) -> SetupResult {
    if !gpu.optional.divergent_images {
        return Err(Error::Missing("shaderSampledImageArrayNonUniformIndexing".into()).into());
    }
    let limits = &gpu.properties.limits;
    need_limit(limits.max_per_stage_descriptor_samplers >= TEXTURES, "maxPerStageDescriptorSamplers")?;
    let linear = vk::Filter::LINEAR;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default().mag_filter(linear).min_filter(linear))?;
    let textures = (0..TEXTURES)
        .map(|i| Ok(Resource::Texture(picture_of(gpu, [TEXTURE; 2], |x, y| texel(i, x, y))?.view, sampler)))
        .collect::<Result<Vec<_>, Error>>()?;
    let target = Target::covered(gpu, SIZE)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/cover.vert"),
            fragment: &spirv!("graphics/divergent.frag"),
            array: &textures,
            ..Default::default()
        },
    )?;
    let record = |r: crate::vk::Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.draw(3, 1);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(SIZE * SIZE, Unit::Sample), record, move |gpu| {
        let levels: Vec<_> = (0..TEXTURES).map(|i| level_of([TEXTURE; 2], |x, y| texel(i, x, y))).collect();
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(2.5), |x, y| {
            let index = hash(x as u32 / 2 + y as u32 / 2 * 512) & 15;
            let [u, v] = [x, y].map(|n| (n as f64 + 0.5) * 1.03 / f64::from(TEXTURE));
            levels[index as usize].bilinear(u, v, Wrap::Repeat)
        })
    })
}
