//! Clears of images, and resolves.

use super::super::check::equal;
use super::super::figure::{Amount, Unit};
use super::super::graphics::hash;
use super::super::recording::{Recording, SetupResult, need_format, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::{RGBA8, SIZE, image, near, words_of, written};
use crate::vk::{Attachment, Gpu, ImageDesc, ProgramDesc, Recorder, Stream};
use ash::vk;

const FAMILY: Family = Family::Transfer;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("transfer/clear-color", FAMILY, color),
    Spec::full("transfer/clear-color-rgba16f", FAMILY, color_half),
    Spec::full("transfer/clear-depth", FAMILY, depth),
    Spec::full("transfer/clear-attachment", FAMILY, attachment),
    Spec::quick("transfer/resolve-4", FAMILY, resolve),
];

fn color(gpu: &Gpu) -> SetupResult {
    let to = image(gpu, RGBA8, SIZE)?;
    let [r, g, b, a] = [51u8, 102, 153, 204].map(|c| f32::from(c) / 255.0);
    let value = vk::ClearColorValue { float32: [r, g, b, a] };
    let record = |r: Recorder<'_>| written(r, &to, || r.clear_color(&to, value));
    Recording::make(gpu, Amount::new(SIZE * SIZE * 4, Unit::Filled), record, move |gpu| {
        equal(&words_of(gpu, &to, 4)?, &vec![u32::from_le_bytes([51, 102, 153, 204]); (SIZE * SIZE) as usize])
    })
}

fn color_half(gpu: &Gpu) -> SetupResult {
    let to = image(gpu, vk::Format::R16G16B16A16_SFLOAT, SIZE)?;
    let value = vk::ClearColorValue { float32: [0.5, 2.0, -1.0, 1.0] };
    let record = |r: Recorder<'_>| written(r, &to, || r.clear_color(&to, value));
    Recording::make(gpu, Amount::new(SIZE * SIZE * 8, Unit::Filled), record, move |gpu| {
        equal(&words_of(gpu, &to, 8)?, &[0x4000_3800, 0x3c00_bc00].repeat((SIZE * SIZE) as usize))
    })
}

fn depth(gpu: &Gpu) -> SetupResult {
    need_format(gpu, vk::Format::D32_SFLOAT, vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT)?;
    let to = image(gpu, vk::Format::D32_SFLOAT, SIZE)?;
    let record = |r: Recorder<'_>| written(r, &to, || r.clear_depth(&to, 0.625));
    Recording::make(gpu, Amount::new(SIZE * SIZE * 4, Unit::Filled), record, move |gpu| {
        equal(&words_of(gpu, &to, 4)?, &vec![0.625f32.to_bits(); (SIZE * SIZE) as usize])
    })
}

/// Makes a render pass that only clears.
fn attachment(gpu: &Gpu) -> SetupResult {
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let to = gpu.image(&ImageDesc::d2(RGBA8, SIZE, SIZE, usage))?;
    let pass = gpu.pass(&[Attachment::color(to, [0.2, 0.4, 0.6, 0.8])])?;
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.end();
    };
    Recording::make(gpu, Amount::new(SIZE * SIZE * 4, Unit::Filled), record, move |gpu| {
        equal(&words_of(gpu, &to, 4)?, &vec![u32::from_le_bytes([51, 102, 153, 204]); (SIZE * SIZE) as usize])
    })
}

/// Width and height of the resolved image. A stripe in it reaches from the centre of a pixel to the
/// end of the next one, and a gap follows.
const RESOLVED: u32 = 1024;
const STRIPES: u32 = RESOLVED / 3;

fn stripe_color(stripe: u32) -> [u8; 4] {
    (hash(stripe) | 0xff00_0000).to_le_bytes()
}

fn resolve(gpu: &Gpu) -> SetupResult {
    let four = vk::SampleCountFlags::TYPE_4;
    let limits = &gpu.properties.limits;
    need_limit(limits.framebuffer_color_sample_counts.contains(four), "4 samples")?;
    need_limit(limits.standard_sample_locations == vk::TRUE, "standardSampleLocations")?;
    let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::TRANSFER_SRC;
    let from = gpu.image_of_samples(&ImageDesc::d2(RGBA8, RESOLVED, RESOLVED, usage), four)?;
    // The destination of a resolve needs a format that supports attachments. The image itself is
    // only written by the resolve.
    let to = image(gpu, RGBA8, RESOLVED)?;
    draw_stripes(gpu, from)?;
    let region = vk::ImageResolve::default()
        .src_subresource(from.layers_of(0))
        .dst_subresource(to.layers_of(0))
        .extent(to.level_extent(0));
    let record = |r: Recorder<'_>| written(r, &to, || r.resolve(&from, &to, &[region]));
    let amount = Amount::new(5 * 4 * RESOLVED * RESOLVED, Unit::Byte);
    Recording::make(gpu, amount, record, move |gpu| {
        near(&words_of(gpu, &to, 4)?, RESOLVED, 1.0, |x, _| {
            // Two of the four standard sample locations lie in the right half of a pixel.
            let share = [0.5, 1.0, 0.0][(x % 3) as usize];
            let share = if x / 3 < STRIPES { share } else { 0.0 };
            let [r, g, b, _] = stripe_color(x / 3).map(|c| f32::from(c) * share);
            [r, g, b, 255.0]
        })
    })
}

/// Draws the stripes once.
fn draw_stripes(gpu: &Gpu, image: crate::vk::Image) -> Result<(), crate::vk::Error> {
    let pass = gpu.pass(&[Attachment::color(image, [0.0, 0.0, 0.0, 1.0])])?;
    let mut words = Vec::new();
    for stripe in 0..STRIPES {
        let floats = [stripe as f32 * 3.0 + 0.5, 0.0, 1.5, RESOLVED as f32, 0.0];
        words.extend(floats.map(f32::to_bits));
        words.push(u32::from_le_bytes(stripe_color(stripe)));
    }
    let instances = gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/rectangle.vert"),
            fragment: &spirv!("graphics/flat.frag"),
            streams: &[Stream {
                stride: 24,
                per_instance: true,
                attributes: &[
                    (vk::Format::R32G32B32A32_SFLOAT, 0),
                    (vk::Format::R32_SFLOAT, 16),
                    (vk::Format::R8G8B8A8_UNORM, 20),
                ],
            }],
            topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
            ..Default::default()
        },
    )?;
    gpu.once(|r| {
        r.begin(&pass);
        r.bind(&program);
        r.vertices(&[instances]);
        r.draw(4, STRIPES);
        r.end();
    })
}
