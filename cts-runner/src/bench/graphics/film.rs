//! Post-processing of a frame of 1920×1080 as in a game or a film: exposure, glow from a blur at
//! half the size, tone mapping, sharpening.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::post::blurred;
use super::reference::{Level, Wrap, hash, unit};
use super::steps::{BRIGHT, Step, between, level_of, linear_sampler, need_bright, picture_of, resample};
use super::target::COLOR;
use crate::vk::{Attachment, Gpu, ImageDesc};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/post-1080p", Family::Graphics, film)];

const FULL: [u32; 2] = [1920, 1080];
const HALF: [u32; 2] = [FULL[0] / 2, FULL[1] / 2];
/// Brightness below which a pixel does not glow.
const THRESHOLD: f32 = 0.75;

/// Returns a texel of the frame: squares of random colours that gradually become brighter to the
/// right.
fn frame_texel(x: u32, y: u32) -> [u8; 4] {
    let [r, g, b, _] = hash(x / 24 + y / 24 * 128).to_le_bytes();
    let dim = |c: u8| (u32::from(c) * (512 + x) / 2560) as u8;
    [dim(r), dim(g), dim(b), 255]
}

fn film(gpu: &Gpu) -> SetupResult {
    need_bright(gpu)?;
    let frame = picture_of(gpu, FULL, frame_texel)?;
    let sampler = linear_sampler(gpu)?;
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let shown = gpu.image(&ImageDesc::d2(COLOR, FULL[0], FULL[1], usage))?;
    let to_shown = gpu.pass(&[Attachment { clear: None, ..Attachment::color(shown, [0.0; 4]) }])?;
    let (light, to_light) = between(gpu, BRIGHT, FULL)?;
    let (small, to_small) = between(gpu, BRIGHT, HALF)?;
    let (across, to_across) = between(gpu, BRIGHT, HALF)?;
    let (glow, to_glow) = between(gpu, BRIGHT, HALF)?;
    let (graded, to_graded) = between(gpu, COLOR, FULL)?;
    let (full, cover) = (spirv!("graphics/full.vert"), spirv!("graphics/cover.vert"));
    let (expose, down) = (spirv!("graphics/expose.frag"), spirv!("graphics/down.frag"));
    let (blur, grade) = (spirv!("graphics/blur.frag"), spirv!("graphics/grade.frag"));
    let sharpen = spirv!("graphics/sharpen.frag");
    let texel = HALF.map(|n| (1.0 / n as f32).to_bits());
    let step = |pass, vertex: &[u32], fragment: &[u32], inputs: &[_], push| {
        Step::new(gpu, pass, (vertex, fragment), inputs, sampler, push)
    };
    let steps = [
        step(to_light, &cover, &expose, &[frame], vec![])?,
        step(to_small, &full, &down, &[light], vec![THRESHOLD.to_bits()])?,
        step(to_across, &full, &blur, &[small], vec![texel[0], 0])?,
        step(to_glow, &full, &blur, &[across], vec![0, texel[1]])?,
        step(to_graded, &full, &grade, &[light, glow], vec![])?,
        step(to_shown, &cover, &sharpen, &[graded], vec![])?,
    ];
    let amount = Amount::new(3 * FULL[0] * FULL[1] + 3 * HALF[0] * HALF[1], Unit::Pixel);
    Recording::make(
        gpu,
        amount,
        |r| steps.iter().for_each(|s| s.record(r)),
        move |gpu| {
            let graded = graded_level();
            // The graded picture is rounded to 8 bits, and the sharpening mask amplifies the error
            // by at most 2.6.
            Picture::read(gpu, &shown)?.near(3, Tolerance::without_outliers(3.0), |x, y| sharpened(&graded, x, y))
        },
    )
}

/// Returns the picture before the last pass.
fn graded_level() -> Level {
    let frame = level_of(FULL, frame_texel);
    let light = Level::new(frame.width, frame.height, |x, y| {
        let [r, g, b, _] = frame.texels[y * frame.width + x].map(|c| c * c * 3.0);
        [r, g, b, 1.0]
    });
    let half = HALF.map(|n| n as usize);
    let small = resample(half, |u, v| light.bilinear(u, v, Wrap::Clamp).map(|c| (c - THRESHOLD).max(0.0)));
    let glow = blurred(&blurred(&small, 1.0, 0.0), 0.0, 1.0);
    resample([light.width, light.height], |u, v| {
        let (light, glow) = (light.nearest(u, v, Wrap::Clamp), glow.bilinear(u, v, Wrap::Clamp));
        let corner = (u - 0.5) * (u - 0.5) + (v - 0.5) * (v - 0.5);
        let tone = |i: usize| {
            let x = (light[i] + glow[i] * 0.5) * (1.0 - corner as f32);
            let mapped = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14);
            mapped.clamp(0.0, 1.0).powf(1.0 / 2.2)
        };
        [tone(0), tone(1), tone(2), 1.0]
    })
}

/// Returns the colour that `sharpen.frag` computes.
fn sharpened(graded: &Level, x: usize, y: usize) -> [f32; 4] {
    let at = |dx: i64, dy: i64| graded.texel(x as i64 + dx, y as i64 + dy, Wrap::Clamp);
    let taps = [at(0, 0), at(-1, 0), at(1, 0), at(0, -1), at(0, 1)];
    let grain = (unit(x as u32 + y as u32 * 2048) - 0.5) * 0.03;
    let color = |i: usize| {
        let around = taps[1][i] + taps[2][i] + taps[3][i] + taps[4][i];
        (taps[0][i] * 1.8 - around * 0.2 + grain).clamp(0.0, 1.0)
    };
    [color(0), color(1), color(2), 1.0]
}
