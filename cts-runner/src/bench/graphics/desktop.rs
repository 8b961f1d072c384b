//! A desktop as a compositor draws it: a picture, its blurred copy of half the size, and windows
//! over it. The windows are frosted glass with round corners and soft shadows, blended one over the
//! other.

use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::post::blurred;
use super::reference::{Level, Wrap, hash, lerp, mix};
use super::steps::{Step, between, level_of, linear_sampler, picture_of, resample};
use super::target::{COLOR, SIZE, Target};
use crate::vk::{Gpu, Program, ProgramDesc, Recorder, Resource};
use ash::vk;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[Spec::quick("graphics/desktop", Family::Graphics, desktop)];

/// Reach of a shadow in pixels. `FALL` is its distance below the window in pixels.
const REACH: f32 = 32.0;
const FALL: f32 = 6.0;
const RADIUS: f32 = 12.0;
/// Width and height of a window's content in texels.
const CONTENT: u32 = 256;

/// A window: position and size in pixels, and tint.
struct Window {
    rectangle: [f32; 4],
    tint: [f32; 4],
}

const WINDOWS: [Window; 7] = [
    Window { rectangle: [60.0, 60.0, 400.0, 300.0], tint: [0.9, 0.9, 0.95, 0.5] },
    Window { rectangle: [500.0, 80.0, 440.0, 360.0], tint: [0.1, 0.1, 0.15, 0.6] },
    Window { rectangle: [200.0, 260.0, 480.0, 320.0], tint: [0.95, 0.9, 0.8, 0.4] },
    Window { rectangle: [40.0, 560.0, 360.0, 380.0], tint: [0.2, 0.3, 0.2, 0.5] },
    Window { rectangle: [560.0, 500.0, 420.0, 400.0], tint: [0.85, 0.9, 0.9, 0.7] },
    Window { rectangle: [300.0, 420.0, 380.0, 440.0], tint: [0.3, 0.2, 0.3, 0.4] },
    Window { rectangle: [112.0, 964.0, 800.0, 50.0], tint: [1.0, 1.0, 1.0, 0.3] },
];

/// Returns a texel of the background picture: large squares of random colours mixed with small
/// ones.
fn paper_texel(x: u32, y: u32) -> [u8; 4] {
    let (coarse, fine) = (hash(x / 64 + y / 64 * 16).to_le_bytes(), hash(x / 4 + y / 4 * 256).to_le_bytes());
    let [r, g, b] = [0, 1, 2].map(|i: usize| (u32::from(coarse[i]) * 3 / 4 + u32::from(fine[i]) / 4) as u8);
    [r, g, b, 255]
}

/// Returns a texel of a window's content: a bar, and below it lines that resemble text.
fn content_texel(x: u32, y: u32) -> [u8; 4] {
    match (y < 20, y % 12 < 7 && hash(x / 6 + y / 12 * 64) & 3 != 0) {
        (true, _) => [40, 60, 90, 200],
        (false, true) => [20, 20, 20, 220],
        (false, false) => [250, 250, 250, 30],
    }
}

/// Programs of the last pass.
struct Programs {
    paper: Program,
    shadow: Program,
    window: Program,
}

fn desktop(gpu: &Gpu) -> SetupResult {
    let target = Target::covered(gpu, SIZE)?;
    let paper = picture_of(gpu, [SIZE; 2], paper_texel)?;
    let content = picture_of(gpu, [CONTENT; 2], content_texel)?;
    let sampler = linear_sampler(gpu)?;
    let half = [SIZE / 2; 2];
    let (small, to_small) = between(gpu, COLOR, half)?;
    let (across, to_across) = between(gpu, COLOR, half)?;
    let (glass, to_glass) = between(gpu, COLOR, half)?;
    let (full, down, blur) = (spirv!("graphics/full.vert"), spirv!("graphics/down.frag"), spirv!("graphics/blur.frag"));
    let texel = (1.0 / half[0] as f32).to_bits();
    let steps = [
        Step::new(gpu, to_small, (&full, &down), &[paper], sampler, vec![0])?,
        Step::new(gpu, to_across, (&full, &blur), &[small], sampler, vec![texel, 0])?,
        Step::new(gpu, to_glass, (&full, &blur), &[across], sampler, vec![0, texel])?,
    ];
    let texture = |image: crate::vk::Image| Resource::Texture(image.view, sampler);
    let plain = ProgramDesc { vertex: &full, fragment: &down, push: 4, ..Default::default() };
    let window_vertex = spirv!("graphics/window.vert");
    let over = ProgramDesc {
        vertex: &window_vertex,
        push: 40,
        topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
        blend: Some((vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA)),
        ..Default::default()
    };
    let (shadow, window) = (spirv!("graphics/shadow.frag"), spirv!("graphics/window.frag"));
    let programs = Programs {
        paper: gpu.program(&target.pass, &ProgramDesc { resources: &[texture(paper)], ..plain })?,
        shadow: gpu.program(&target.pass, &ProgramDesc { fragment: &shadow, ..over })?,
        window: gpu.program(
            &target.pass,
            &ProgramDesc { fragment: &window, resources: &[texture(glass), texture(content)], ..over },
        )?,
    };
    let record = |r: Recorder<'_>| {
        steps.iter().for_each(|s| s.record(r));
        r.begin(&target.pass);
        programs.record(r);
        r.end();
    };
    let windows: f32 = WINDOWS.iter().map(|w| w.rectangle[2] * w.rectangle[3]).sum();
    let shadows: f32 = WINDOWS.iter().map(|w| (w.rectangle[2] + 2.0 * REACH) * (w.rectangle[3] + 2.0 * REACH)).sum();
    let amount = (SIZE * SIZE + 3 * half[0] * half[1]) as f32 + windows + shadows;
    let color = target.color;
    Recording::make(gpu, Amount::new(amount, Unit::Pixel), record, move |gpu| {
        let expected = Expected::new();
        // Each of up to eight layers is rounded to 8 bits. The picture behind the glass is rounded
        // three times.
        Picture::read(gpu, &color)?.near(3, Tolerance { component: 4.0, outliers: 0.001 }, |x, y| expected.at(x, y))
    })
}

impl Programs {
    fn record(&self, r: Recorder<'_>) {
        r.bind(&self.paper);
        r.push(&self.paper, &[0]);
        r.draw(3, 1);
        for window in &WINDOWS {
            let [values, tint] = [window.rectangle, window.tint].map(|v| v.map(f32::to_bits));
            for (program, margin) in [(&self.shadow, REACH), (&self.window, 0.0)] {
                r.bind(program);
                r.push(program, &[&values[..], &tint[..], &[RADIUS.to_bits(), margin.to_bits()]].concat());
                r.draw(4, 1);
            }
        }
    }
}

/// Reference for the final picture.
struct Expected {
    paper: Level,
    glass: Level,
    content: Level,
}

impl Expected {
    fn new() -> Self {
        let paper = level_of([SIZE; 2], paper_texel);
        let small = resample([SIZE as usize / 2; 2], |u, v| paper.bilinear(u, v, Wrap::Clamp));
        let glass = blurred(&blurred(&small, 1.0, 0.0), 0.0, 1.0);
        Self { paper, glass, content: level_of([CONTENT; 2], content_texel) }
    }

    fn at(&self, x: usize, y: usize) -> [f32; 4] {
        let pixel = [x as f32 + 0.5, y as f32 + 0.5];
        let paper = self.paper.texels[y * self.paper.width + x];
        WINDOWS.iter().fold(paper, |below, window| self.over(window, pixel, below))
    }

    /// Blends a window and its shadow over the colour `below`.
    fn over(&self, window: &Window, pixel: [f32; 2], below: [f32; 4]) -> [f32; 4] {
        let [x, y, width, height] = window.rectangle;
        let local = [pixel[0] - x - width * 0.5, pixel[1] - y - height * 0.5];
        let inside = |margin: f32| local[0].abs() < width * 0.5 + margin && local[1].abs() < height * 0.5 + margin;
        let mut below = below;
        if inside(REACH) {
            let t = (1.0 - distance([local[0], local[1] - FALL], [width, height]) / REACH).clamp(0.0, 1.0);
            below = blend(below, [0.0, 0.0, 0.0, 0.6 * t * t * (3.0 - 2.0 * t)]);
        }
        if inside(0.0) {
            let [u, v] = pixel.map(|p| f64::from(p) / f64::from(SIZE));
            let tint = [window.tint[0], window.tint[1], window.tint[2], 1.0];
            let color = lerp(self.glass.bilinear(u, v, Wrap::Clamp), tint, window.tint[3]);
            let [s, t] = [local[0] / width, local[1] / height].map(|c| f64::from(c) + 0.5);
            let content = self.content.bilinear(s, t, Wrap::Clamp);
            let [r, g, b, _] = lerp(color, content, content[3]);
            below = blend(below, [r, g, b, (0.5 - distance(local, [width, height])).clamp(0.0, 1.0)]);
        }
        below
    }
}

/// Blends with source alpha over the colour below.
fn blend(below: [f32; 4], above: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|i| mix(below[i], above[i], above[3]))
}

/// Distance function `box` of `box.glsl`.
fn distance(p: [f32; 2], size: [f32; 2]) -> f32 {
    let q: [f32; 2] = std::array::from_fn(|i| p[i].abs() - size[i] * 0.5 + RADIUS);
    let outside = q.map(|c| c.max(0.0));
    (outside[0] * outside[0] + outside[1] * outside[1]).sqrt() + q[0].max(q[1]).min(0.0) - RADIUS
}
