//! Fills of whole targets: opaque, with a gradient, blended, and several layers with a depth test.

use super::super::figure::{Amount, CheckError, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::hash;
use super::target::{SIZE, Target, packed};
use crate::vk::{Gpu, ProgramDesc, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("graphics/fill-opaque", FAMILY, opaque::<LAYERS>),
    Spec::quick("graphics/fill-opaque-1", FAMILY, opaque::<1>),
    Spec::full("graphics/fill-gradient", FAMILY, gradient::<LAYERS>),
    Spec::quick("graphics/fill-gradient-1", FAMILY, gradient::<1>),
    Spec::quick("graphics/fill-blended", FAMILY, blended::<LAYERS>),
    Spec::quick("graphics/fill-blended-1", FAMILY, blended::<1>),
    Spec::full("graphics/fill-additive", FAMILY, additive),
    Spec::quick("graphics/overdraw-front-to-back", FAMILY, front_to_back),
    Spec::quick("graphics/overdraw-back-to-front", FAMILY, back_to_front),
];

/// Number of layers of a fill. With a single layer, occlusion culling has no effect.
const LAYERS: usize = 16;

type Blend = Option<(vk::BlendFactor, vk::BlendFactor)>;

/// A vertex and a fragment shader.
type Shaders = (Vec<u32>, Vec<u32>);

fn flat() -> Shaders {
    (spirv!("graphics/fill.vert"), spirv!("graphics/flat.frag"))
}

fn smooth() -> Shaders {
    (spirv!("graphics/gradient.vert"), spirv!("graphics/smooth.frag"))
}

/// Makes a fill that draws one instance over the whole target for each colour, over black.
fn fill<const N: usize>(
    gpu: &Gpu,
    (vertex, fragment): Shaders,
    colors: [[u8; 4]; N],
    blend: Blend,
    check: impl Fn(&Picture) -> Result<(), CheckError> + 'static,
) -> SetupResult {
    let target = Target::flat(gpu, [0.0; 4])?;
    let words: Vec<u32> = colors.map(packed).into();
    let instances = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let attributes = [(vk::Format::R8G8B8A8_UNORM, 0)];
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &vertex,
            fragment: &fragment,
            streams: &[Stream { stride: 4, per_instance: true, attributes: &attributes }],
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            blend,
            ..Default::default()
        },
    )?;
    let record = |r: crate::vk::Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.vertices(&[instances]);
        r.draw(4, N as u32);
        r.end();
    };
    let color = target.color;
    let amount = Amount::new(N as u32 * SIZE * SIZE, Unit::Pixel);
    Recording::make(gpu, amount, record, move |gpu| check(&Picture::read(gpu, &color)?))
}

/// Returns a colour for each layer, all with the same alpha.
fn colors<const N: usize>(alpha: u8) -> [[u8; 4]; N] {
    std::array::from_fn(|i| {
        let [r, g, b, _] = hash(i as u32 + 7).to_le_bytes();
        [r, g, b, alpha]
    })
}

fn opaque<const N: usize>(gpu: &Gpu) -> SetupResult {
    let colors = colors::<N>(255);
    fill(gpu, flat(), colors, None, move |picture| picture.exact(|_, _| colors[colors.len() - 1]))
}

/// Returns the colour at a pixel that `gradient.vert` gives from a colour.
fn gradient_of(color: [u8; 4], x: usize, y: usize) -> [f32; 4] {
    let [u, v] = [x, y].map(|n| (n as f32 + 0.5) / SIZE as f32);
    let [r, g, b, a] = color.map(|c| f32::from(c) / 255.0);
    [r * u, g * v, b * (1.0 - u), a]
}

fn gradient<const N: usize>(gpu: &Gpu) -> SetupResult {
    let colors = colors::<N>(255);
    fill(gpu, smooth(), colors, None, move |picture| {
        picture.near(1, Tolerance::without_outliers(1.0), |x, y| gradient_of(colors[colors.len() - 1], x, y))
    })
}

fn blended<const N: usize>(gpu: &Gpu) -> SetupResult {
    let colors = colors::<N>(64);
    let over = Some((vk::BlendFactor::SRC_ALPHA, vk::BlendFactor::ONE_MINUS_SRC_ALPHA));
    let expected = move |x, y| {
        colors.iter().fold([0.0f32; 4], |below, &color| {
            let above = gradient_of(color, x, y);
            std::array::from_fn(|i| above[i] * above[3] + below[i] * (1.0 - above[3]))
        })
    };
    // Each layer is rounded to 8 bits, by up to one step, and a quarter of the error below it is
    // lost: 1 + 3/4 + 9/16 + ….
    let tolerance = Tolerance::without_outliers((0..N as i32).map(|i| 0.75f32.powi(i)).sum());
    fill(gpu, smooth(), colors, over, move |picture| picture.near(3, tolerance, expected))
}

fn additive(gpu: &Gpu) -> SetupResult {
    let colors: [[u8; 4]; LAYERS] = std::array::from_fn(|i| [i as u8, 15 - i as u8, (i % 3) as u8, 1]);
    let sum = colors.iter().fold([0u8; 4], |sum, c| std::array::from_fn(|i| sum[i] + c[i]));
    let add = Some((vk::BlendFactor::ONE, vk::BlendFactor::ONE));
    fill(gpu, flat(), colors, add, move |picture| picture.exact(|_, _| sum))
}

const DEEP: u32 = 32;

/// Makes layers with a depth test. `nearest` is the layer that must be visible.
fn overdraw(gpu: &Gpu, first: f32, next: f32, nearest: u32) -> SetupResult {
    let target = Target::deep(gpu, [0.0; 4])?;
    let program = gpu.program(
        &target.pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/overdraw.vert"),
            fragment: &spirv!("graphics/overdraw.frag"),
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            depth: Some((vk::CompareOp::LESS, true)),
            push: 8,
            ..Default::default()
        },
    )?;
    let record = |r: crate::vk::Recorder<'_>| {
        r.begin(&target.pass);
        r.bind(&program);
        r.push(&program, &[first.to_bits(), next.to_bits()]);
        r.draw(4, DEEP);
        r.end();
    };
    let expected = move |x: usize, y: usize| {
        let start = (x as u32 + y as u32 * 1024).wrapping_add(nearest.wrapping_mul(0x9e37_79b9));
        (0..8).fold(start, |x, _| hash(x)).to_le_bytes()
    };
    let color = target.color;
    let amount = Amount::new(DEEP * SIZE * SIZE, Unit::Pixel);
    Recording::make(gpu, amount, record, move |gpu| Picture::read(gpu, &color)?.exact(expected))
}

fn front_to_back(gpu: &Gpu) -> SetupResult {
    overdraw(gpu, 0.125, 1.0 / 64.0, 0)
}

fn back_to_front(gpu: &Gpu) -> SetupResult {
    overdraw(gpu, 0.875, -1.0 / 64.0, DEEP - 1)
}
