//! Texture sampling: four filters in five formats, frames of video, and a filter of a picture of
//! any size.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult, need, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{Level, Wrap, add, lerp, scale};
use super::target::{SIZE, Target, attachment};
use super::texels::{ASTC, BC1, BC7, ENCODINGS, R11G11B10, RGBA8, SRGB, TEXTURE, picture, texture};
use crate::vk::{Attachment, Gpu, ProgramDesc, Recorder, Resource};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of texture sampling.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/sample-nearest-rgba8", FAMILY, sampled::<NEAREST, RGBA8>),
    Spec::full("graphics/sample-nearest-srgb", FAMILY, sampled::<NEAREST, SRGB>),
    Spec::full("graphics/sample-nearest-bc1", FAMILY, sampled::<NEAREST, BC1>),
    Spec::full("graphics/sample-nearest-bc7", FAMILY, sampled::<NEAREST, BC7>),
    Spec::full("graphics/sample-nearest-astc", FAMILY, sampled::<NEAREST, ASTC>),
    Spec::full("graphics/sample-nearest-r11g11b10", FAMILY, sampled::<NEAREST, R11G11B10>),
    Spec::quick("graphics/sample-bilinear-rgba8", FAMILY, sampled::<BILINEAR, RGBA8>),
    Spec::full("graphics/sample-bilinear-srgb", FAMILY, sampled::<BILINEAR, SRGB>),
    Spec::full("graphics/sample-bilinear-bc1", FAMILY, sampled::<BILINEAR, BC1>),
    Spec::quick("graphics/sample-bilinear-bc7", FAMILY, sampled::<BILINEAR, BC7>),
    Spec::full("graphics/sample-bilinear-astc", FAMILY, sampled::<BILINEAR, ASTC>),
    Spec::full("graphics/sample-bilinear-r11g11b10", FAMILY, sampled::<BILINEAR, R11G11B10>),
    Spec::quick("graphics/sample-trilinear-rgba8", FAMILY, sampled::<TRILINEAR, RGBA8>),
    Spec::quick("graphics/sample-trilinear-srgb", FAMILY, sampled::<TRILINEAR, SRGB>),
    Spec::full("graphics/sample-trilinear-bc1", FAMILY, sampled::<TRILINEAR, BC1>),
    Spec::full("graphics/sample-trilinear-bc7", FAMILY, sampled::<TRILINEAR, BC7>),
    Spec::full("graphics/sample-trilinear-r11g11b10", FAMILY, sampled::<TRILINEAR, R11G11B10>),
    Spec::quick("graphics/sample-aniso16-rgba8", FAMILY, sampled::<ANISOTROPIC, RGBA8>),
    Spec::full("graphics/sample-aniso16-srgb", FAMILY, sampled::<ANISOTROPIC, SRGB>),
    Spec::full("graphics/sample-aniso16-bc1", FAMILY, sampled::<ANISOTROPIC, BC1>),
    Spec::full("graphics/sample-aniso16-bc7", FAMILY, sampled::<ANISOTROPIC, BC7>),
    Spec::full("graphics/sample-aniso16-r11g11b10", FAMILY, sampled::<ANISOTROPIC, R11G11B10>),
    Spec::quick("graphics/sample-ycbcr-420", FAMILY, converted),
    Spec::quick("graphics/edge-detect", FAMILY, edges),
];

/// Filter of a texture, position of its pixels, and expected result.
struct Mode {
    filter: vk::Filter,
    mipmap: vk::SamplerMipmapMode,
    max_lod: f32,
    anisotropy: f32,
    /// Size of the target. It is small for modes that are slow on all devices, so that none takes a
    /// minute.
    size: u32,
    /// Steps in texels: u and v for a pixel to the right, then for a pixel down.
    steps: [f64; 4],
    expected: fn(&[Level], f64, f64) -> [f32; 4],
    tolerance: Tolerance,
}

const NEAREST: usize = 0;
const BILINEAR: usize = 1;
const TRILINEAR: usize = 2;
const ANISOTROPIC: usize = 3;

/// Returns steps of a texture that is rotated by 0.3 radians.
const fn turned(size: f64) -> [f64; 4] {
    [0.955_336_5 * size, 0.295_520_2 * size, -0.295_520_2 * size, 0.955_336_5 * size]
}

const MODES: [Mode; 4] = [
    Mode {
        filter: vk::Filter::NEAREST,
        mipmap: vk::SamplerMipmapMode::NEAREST,
        max_lod: 0.0,
        size: SIZE,
        anisotropy: 1.0,
        steps: turned(1.03),
        expected: |levels, u, v| levels[0].nearest(u, v, Wrap::Repeat),
        // Coordinates on the edge of a texel may select either side.
        tolerance: Tolerance { component: 1.01, outliers: 0.03 },
    },
    Mode {
        filter: vk::Filter::LINEAR,
        mipmap: vk::SamplerMipmapMode::NEAREST,
        max_lod: 0.0,
        size: SIZE,
        anisotropy: 1.0,
        steps: turned(1.03),
        expected: |levels, u, v| levels[0].bilinear(u, v, Wrap::Repeat),
        tolerance: Tolerance { component: 2.5, outliers: 0.0 },
    },
    Mode {
        filter: vk::Filter::LINEAR,
        mipmap: vk::SamplerMipmapMode::LINEAR,
        max_lod: 16.0,
        size: SIZE / 2,
        anisotropy: 1.0,
        steps: turned(2.5),
        // The exact level of detail is 1.32; Vulkan allows 1.25 to 2.14. Blue grows by 16 from
        // level to level.
        expected: |levels, u, v| {
            let [a, b] = [1, 2].map(|i: usize| levels[i].bilinear(u, v, Wrap::Repeat));
            lerp(a, b, 0.6)
        },
        tolerance: Tolerance { component: 10.0, outliers: 0.01 },
    },
    Mode {
        filter: vk::Filter::LINEAR,
        mipmap: vk::SamplerMipmapMode::LINEAR,
        max_lod: 16.0,
        size: SIZE / 4,
        anisotropy: 16.0,
        steps: [0.9, 0.0, 0.0, 14.0],
        // The expected value is the mean along a pixel's height. Without anisotropic filtering the
        // level would be 3.8, and blue would be greater by 60.
        expected: |levels, u, v| {
            let along = |i: usize| v + ((i as f64 + 0.5) / 16.0 - 0.5) * 14.0 / f64::from(TEXTURE);
            let sum = (0..16).fold([0.0; 4], |sum, i| add(sum, levels[0].bilinear(u, along(i), Wrap::Repeat)));
            scale(sum, 1.0 / 16.0)
        },
        tolerance: Tolerance { component: 12.0, outliers: 0.01 },
    },
];

const TAPS: u32 = 4;

fn sampled<const MODE: usize, const FORMAT: usize>(gpu: &Gpu) -> SetupResult {
    let (mode, encoding) = (&MODES[MODE], &ENCODINGS[FORMAT]);
    if mode.anisotropy > 1.0 {
        need(gpu.features.sampler_anisotropy, "samplerAnisotropy")?;
        need_limit(gpu.properties.limits.max_sampler_anisotropy >= mode.anisotropy, "maxSamplerAnisotropy")?;
    }
    let (image, levels) = texture(gpu, encoding)?;
    let sampler = gpu.sampler(
        &vk::SamplerCreateInfo::default()
            .mag_filter(mode.filter)
            .min_filter(mode.filter)
            .mipmap_mode(mode.mipmap)
            .max_lod(mode.max_lod)
            .anisotropy_enable(mode.anisotropy > 1.0)
            .max_anisotropy(mode.anisotropy),
    )?;
    let target = Target::covered(gpu, mode.size)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/sample.vert"),
            fragment: &spirv!("graphics/sample.frag"),
            resources: &[Resource::Texture(image.view, sampler)],
            push: 28,
            ..Default::default()
        },
    )?;
    let offset = 0.0123f32;
    let [a, b, c, d] = mode.steps.map(|s| (s / f64::from(TEXTURE)) as f32);
    let push = [a, c, b, d, offset, offset, mode.size as f32].map(f32::to_bits);
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.push(&program, &push);
        r.draw(3, 1);
        r.end();
    };
    let expected = move |x: usize, y: usize| {
        let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
        let u = f64::from(a) * px + f64::from(c) * py + f64::from(offset);
        let v = f64::from(b) * px + f64::from(d) * py + f64::from(offset);
        let taps = [(0.0, 0.0), (0.25, 0.0), (0.0, 0.25), (0.25, 0.25)];
        let sum = taps.iter().fold([0.0; 4], |sum, t| add(sum, (mode.expected)(&levels, u + t.0, v + t.1)));
        scale(sum, 0.25)
    };
    let color = target.color;
    let amount = Amount::new(TAPS * mode.size * mode.size, Unit::Sample);
    let component = mode.tolerance.component * encoding.slack.1 + encoding.slack.0;
    let tolerance = Tolerance { component, ..mode.tolerance };
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.near(7, tolerance, &expected))
}

/// Width and height of a frame of video.
const FRAME: [u32; 2] = [1920, 1080];

/// Returns the luma of a texel, which is between 16 and 235 and smooth.
fn luma_at(x: f64, y: f64) -> f64 {
    70.0 + 80.0 * x / f64::from(FRAME[0]) + 40.0 * y / f64::from(FRAME[1])
}

/// Returns the blue and red difference at the position of a texel of luma.
fn chroma_at(x: f64, y: f64) -> [f64; 2] {
    [115.0 + 26.0 * y / f64::from(FRAME[1]), 141.0 - 26.0 * x / f64::from(FRAME[0])]
}

/// Stretches a 1080p frame in NV12 over the target, with four samples per pixel, as for the other
/// textures.
fn converted(gpu: &Gpu) -> SetupResult {
    need(gpu.optional.conversion.into(), "samplerYcbcrConversion")?;
    let [width, height] = FRAME.map(|n| n as usize);
    let luma: Vec<u8> = (0..width * height).map(|i| luma_at((i % width) as f64, (i / width) as f64) as u8).collect();
    let half = width / 2;
    // The chroma is cosited: a sample lies at an even texel.
    let chroma = (0..half * height / 2).map(|i| chroma_at((i % half * 2) as f64, (i / half * 2) as f64));
    let chroma: Vec<u8> = chroma.flat_map(|c| c.map(|c| c as u8)).collect();
    let (view, sampler) = gpu.frame(FRAME, &luma, &chroma)?;
    let target = Target::covered(gpu, SIZE)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/sample.vert"),
            fragment: &spirv!("graphics/sample.frag"),
            resources: &[Resource::Converted(view, sampler)],
            push: 28,
            ..Default::default()
        },
    )?;
    // Samples a quarter of the frame apart stay inside of it.
    let (step, offset) = (0.7 / SIZE as f32, 0.0123f32);
    let push = [step, 0.0, 0.0, step, offset, offset, SIZE as f32].map(f32::to_bits);
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.push(&program, &push);
        r.draw(3, 1);
        r.end();
    };
    let expected = move |x: usize, y: usize| {
        let at = |p: usize| f64::from(step) * (p as f64 + 0.5) + f64::from(offset);
        let taps = [(0.0, 0.0), (0.25, 0.0), (0.0, 0.25), (0.25, 0.25)];
        let sum = taps.iter().fold([0.0; 4], |sum, t| {
            let place = [(at(x) + t.0) * f64::from(FRAME[0]) - 0.5, (at(y) + t.1) * f64::from(FRAME[1]) - 0.5];
            let luma = (luma_at(place[0], place[1]) - 16.0) / 219.0;
            let [cb, cr] = chroma_at(place[0], place[1]).map(|c| (c - 128.0) / 224.0);
            let color = [luma + 1.5748 * cr, luma - 0.187_324 * cb - 0.468_124 * cr, luma + 1.8556 * cb, 1.0];
            add(sum, color.map(|c| c as f32))
        });
        scale(sum, 0.25)
    };
    let color = target.color;
    let amount = Amount::new(TAPS * SIZE * SIZE, Unit::Sample);
    // Stored values are truncated to bytes: up to one less of luma and of both differences.
    let tolerance = Tolerance { component: 4.5, outliers: 0.0 };
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.near(7, tolerance, expected))
}

/// Width and height of a picture, which are not powers of two.
const PICTURE: [u32; 2] = [800, 600];

/// Detects edges of a picture that is repeated, in linear light: sRGB texels, and an sRGB target.
fn edges(gpu: &Gpu) -> SetupResult {
    const FORMAT: vk::Format = vk::Format::R8G8B8A8_SRGB;
    let (image, level) = picture(gpu, PICTURE)?;
    let filter = vk::Filter::LINEAR;
    let sampler = gpu.sampler(&vk::SamplerCreateInfo::default().mag_filter(filter).min_filter(filter))?;
    let color = attachment(gpu, FORMAT, SIZE, vk::ImageUsageFlags::TRANSFER_SRC)?;
    let pass = gpu.pass(&[Attachment { clear: None, ..Attachment::color(color, [0.0; 4]) }])?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/sample.vert"),
            fragment: &spirv!("graphics/edges.frag"),
            resources: &[Resource::Texture(image.view, sampler)],
            push: 28,
            ..Default::default()
        },
    )?;
    // A pixel's step is slightly more than a texel.
    let ([a, d], offset) = (PICTURE.map(|n| 1.03 / n as f32), 0.0123f32);
    let push = [a, 0.0, 0.0, d, offset, offset, SIZE as f32].map(f32::to_bits);
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.bind(&program);
        r.push(&program, &push);
        r.draw(3, 1);
        r.end();
    };
    let expected = move |x: usize, y: usize| {
        let [u, v] = [(x, a), (y, d)].map(|(p, step)| f64::from(step) * (p as f64 + 0.5) + f64::from(offset));
        let tap = |x: f64, y: f64, weight| {
            let [s, t] = PICTURE.map(f64::from);
            scale(level.bilinear(u + x / s, v + y / t, Wrap::Repeat), weight)
        };
        let around = [tap(0.0, -1.0, 0.25), tap(-1.0, 0.0, 0.25), tap(1.0, 0.0, 0.25), tap(0.0, 1.0, 0.25)];
        let sum = around.into_iter().fold(tap(0.0, 0.0, -1.0), add);
        let [r, g, b] = [0, 1, 2].map(|c| encoded(sum[c] + 0.5));
        [r, g, b, 1.0]
    };
    let amount = Amount::new(SIZE * SIZE, Unit::Pixel);
    let tolerance = Tolerance { component: 4.0, outliers: 0.0 };
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.near(7, tolerance, &expected))
}

/// Converts linear to sRGB.
fn encoded(linear: f32) -> f32 {
    let x = linear.clamp(0.0, 1.0);
    if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
}
