//! Expensive fragments of one pixel, and of two by two pixels.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult, need};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::target::{SIZE, Target};
use crate::vk::{Gpu, ProgramDesc, Recorder};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/rate-1x1", Family::Graphics, shaded::<1>),
    Spec::quick("graphics/rate-2x2", Family::Graphics, shaded::<2>),
];

/// Number of points that give light.
const POINTS: u32 = 128;

/// Draws a picture with fragments of `SIDE` by `SIDE` pixels.
fn shaded<const SIDE: u32>(gpu: &Gpu) -> SetupResult {
    need((SIDE == 1 || gpu.optional.shading_rate).into(), "pipelineFragmentShadingRate")?;
    let target = Target::covered(gpu, SIZE)?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/cover.vert"),
            fragment: &spirv!("graphics/glow.frag"),
            fragment_size: vk::Extent2D { width: SIDE, height: SIDE },
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.draw(3, 1);
        r.end();
    };
    let color = target.color;
    Recording::make(gpu, Amount::new(SIZE * SIZE, Unit::Pixel), record, move |gpu| {
        Picture::read(gpu, &color)?.near(1, Tolerance::without_outliers(1.5), |x, y| {
            let centre = |n: usize| (n as u32 / SIDE * SIDE) as f32 + SIDE as f32 / 2.0;
            glow([centre(x), centre(y)].map(|c| c / 1024.0))
        })
    })
}

/// Returns the colour that `glow.frag` computes.
fn glow(at: [f32; 2]) -> [f32; 4] {
    let mut sum = [0.0; 3];
    for i in 1..=POINTS {
        let place = [0.61803, 0.32471].map(|step| (i as f32 * step).fract());
        let [x, y] = [at[0] - place[0], at[1] - place[1]];
        let light = 0.001 / (0.001 + (x * x + y * y));
        for (sum, step) in sum.iter_mut().zip([0.37, 0.71, 0.13]) {
            *sum += light * (i as f32 * step).fract();
        }
    }
    let [r, g, b] = sum.map(|sum: f32| sum / (1.0 + sum));
    [r, g, b, 1.0]
}
