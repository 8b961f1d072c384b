//! Post-processing: a separable blur, and a bloom chain of bright pass, smaller sizes, blurs and
//! their sum.

use super::super::figure::{Amount, SetupError, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{Level, Wrap, add, hash, scale};
use super::steps::{BRIGHT, Step, between, level_of, linear_sampler, need_bright, picture_of, resample};
use super::target::{COLOR, SIZE, Target};
use crate::vk::{Error, Gpu, Image};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] =
    &[Spec::quick("graphics/blur", FAMILY, blur), Spec::quick("graphics/bloom-chain", FAMILY, bloom)];

/// Returns a texel of the picture: squares of random colours, of which a tenth are bright.
fn source_texel(x: u32, y: u32) -> [u8; 4] {
    let seed = x / 16 + y / 16 * 64;
    let [r, g, b, dice] = hash(seed).to_le_bytes();
    let dim = |c: u8| if dice < 26 { c | 192 } else { c / 2 };
    [dim(r), dim(g), dim(b), 255]
}

fn source(gpu: &Gpu) -> Result<Image, Error> {
    picture_of(gpu, [SIZE; 2], source_texel)
}

fn source_level() -> Level {
    level_of([SIZE; 2], source_texel)
}

/// Weights of the 13 taps, from the centre outwards.
const GAUSS: [f32; 7] =
    [0.225_585_94, 0.193_359_38, 0.120_849_61, 0.053_710_94, 0.016_113_281, 0.002_929_687_5, 0.000_244_140_63];

fn blur(gpu: &Gpu) -> SetupResult {
    let source = source(gpu)?;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default())?;
    let target = Target::covered(gpu, SIZE)?;
    let (middle, across) = between(gpu, COLOR, [SIZE; 2])?;
    let (cover, gauss_fragment) = (spirv!("graphics/cover.vert"), spirv!("graphics/gauss.frag"));
    let shaders = (&cover[..], &gauss_fragment[..]);
    let steps = [
        Step::new(gpu, across, shaders, &[source], sampler, vec![1, 0])?,
        Step::new(gpu, target.pass.clone(), shaders, &[middle], sampler, vec![0, 1])?,
    ];
    let color = target.color;
    let amount = Amount::new(2 * SIZE * SIZE, Unit::Pixel);
    Recording::make(
        gpu,
        amount,
        |r| steps.iter().for_each(|s| s.record(r)),
        move |gpu| {
            let across = gauss(&source_level(), 1, 0);
            let both = gauss(&across, 0, 1);
            // The intermediate picture is rounded to 8 bits.
            Picture::read(gpu, &color)?
                .near(1, Tolerance::without_outliers(1.6), |x, y| both.texels[y * both.width + x])
        },
    )
}

fn gauss(level: &Level, dx: i64, dy: i64) -> Level {
    Level::new(level.width, level.height, |x, y| {
        let at = |i: i64| level.texel(x as i64 + dx * i, y as i64 + dy * i, Wrap::Clamp);
        let taps = (1..7).map(|i| scale(add(at(i), at(-i)), GAUSS[i as usize]));
        taps.fold(scale(at(0), GAUSS[0]), add)
    })
}

/// Number of sizes of the chain. The first is half of the target's size, and each further one is
/// half of the previous one.
const LEVELS: u32 = 4;
const THRESHOLD: f32 = 0.5;

fn bloom(gpu: &Gpu) -> SetupResult {
    need_bright(gpu)?;
    let source = source(gpu)?;
    let target = Target::covered(gpu, SIZE)?;
    let (steps, pixels) = bloom_steps(gpu, source, &target)?;
    let color = target.color;
    Recording::make(
        gpu,
        Amount::new(pixels, Unit::Pixel),
        |r| steps.iter().for_each(|s| s.record(r)),
        move |gpu| {
            let expected = bloomed();
            Picture::read(gpu, &color)?
                .near(1, Tolerance::without_outliers(2.0), |x, y| expected.texels[y * expected.width + x])
        },
    )
}

/// Returns the passes and the number of pixels that they write.
fn bloom_steps(gpu: &Gpu, source: Image, target: &Target) -> Result<(Vec<Step>, u32), SetupError> {
    let sampler = linear_sampler(gpu)?;
    let full = spirv!("graphics/full.vert");
    let fragments = [spirv!("graphics/down.frag"), spirv!("graphics/blur.frag"), spirv!("graphics/combine.frag")];
    let [down, blur, combine] = [0, 1, 2].map(|i: usize| (&full[..], &fragments[i][..]));
    let (mut steps, mut pixels, mut from) = (Vec::new(), SIZE * SIZE, source);
    let mut inputs = vec![source];
    for level in 1..=LEVELS {
        let size = SIZE >> level;
        let (small, to_small) = between(gpu, BRIGHT, [size; 2])?;
        let (across, to_across) = between(gpu, BRIGHT, [size; 2])?;
        let (blurred, to_blurred) = between(gpu, BRIGHT, [size; 2])?;
        let threshold = if level == 1 { THRESHOLD } else { 0.0 };
        let texel = (1.0 / size as f32).to_bits();
        steps.push(Step::new(gpu, to_small, down, &[from], sampler, vec![threshold.to_bits()])?);
        steps.push(Step::new(gpu, to_across, blur, &[small], sampler, vec![texel, 0])?);
        steps.push(Step::new(gpu, to_blurred, blur, &[across], sampler, vec![0, texel])?);
        inputs.push(blurred);
        from = blurred;
        pixels += 3 * size * size;
    }
    steps.push(Step::new(gpu, target.pass.clone(), combine, &inputs, sampler, Vec::new())?);
    Ok((steps, pixels))
}

/// Returns the level that `blur.frag` computes from a level.
pub(super) fn blurred(level: &Level, dx: f64, dy: f64) -> Level {
    let (across, down) = (1.0 / level.width as f64, 1.0 / level.height as f64);
    resample([level.width, level.height], |u, v| {
        let at = |i: f64| level.bilinear(u + dx * i * across, v + dy * i * down, Wrap::Clamp);
        let taps = [(1.375, 0.3125), (3.25, 0.0625)].map(|(i, weight)| scale(add(at(i), at(-i)), weight));
        taps.into_iter().fold(scale(at(0.0), 0.25), add)
    })
}

/// Returns the picture that the chain must produce.
fn bloomed() -> Level {
    let source = source_level();
    let mut chain = Vec::new();
    for level in 1..=LEVELS {
        let size = (SIZE >> level) as usize;
        let threshold = if level == 1 { THRESHOLD } else { 0.0 };
        let from = chain.last().unwrap_or(&source);
        let small = resample([size; 2], |u, v| from.bilinear(u, v, Wrap::Clamp).map(|c| (c - threshold).max(0.0)));
        chain.push(blurred(&blurred(&small, 1.0, 0.0), 0.0, 1.0));
    }
    resample([SIZE as usize; 2], |u, v| {
        let glow = chain.iter().fold([0.0; 4], |sum, level| add(sum, level.bilinear(u, v, Wrap::Clamp)));
        let sum = add(scale(source.bilinear(u, v, Wrap::Clamp), 0.5), scale(glow, 0.25));
        sum.map(|c| c.clamp(0.0, 1.0))
    })
}
