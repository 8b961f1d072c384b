//! A depth-only shadow map, and rendering with four samples per pixel and a resolve.

use super::super::check::Random;
use super::super::figure::{Amount, CheckError, Unit};
use super::super::recording::{Recording, SetupResult, need_format, need_limit};
use super::super::workload::{Family, Spec, spirv};
use super::picture::{Picture, Tolerance};
use super::reference::{hash, wave};
use super::target::{COLOR, DEPTH, SIZE, attachment, float_vertices, grid_indices, packed};
use crate::vk::{Attachment, Buffer, Error, Gpu, Image, ImageDesc, ProgramDesc, Recorder, Stream};
use ash::vk;

const FAMILY: Family = Family::Graphics;

/// Workloads of this module.
pub const SPECS: &[Spec] =
    &[Spec::quick("graphics/shadow-map", FAMILY, shadow_map), Spec::quick("graphics/msaa4-resolve", FAMILY, msaa)];

/// Number of cells per side of the height field, with four pixels per side of a cell.
const CELLS: u32 = 256;
const FIELDS: u32 = 3;

/// Returns the depth that `depth.vert` computes for a vertex.
fn depth_of(i: u32, j: u32, instance: u32) -> f32 {
    let z = ((i * 5 + j * 9) % 64) as f32 / 64.0;
    wave(z + instance as f32 * 0.3125)
}

fn shadow_map(gpu: &Gpu) -> SetupResult {
    need_format(gpu, DEPTH, vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT)?;
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::SAMPLED;
    let image = attachment(gpu, DEPTH, SIZE, usage)?;
    let leave = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
    let pass = gpu.pass(&[Attachment { store: true, leave, ..Attachment::depth(image) }])?;
    let row = CELLS + 1;
    let vertex =
        |i: u32| [(i % row * 4) as f32, (i / row * 4) as f32, ((i % row * 5 + i / row * 9) % 64) as f32 / 64.0];
    let vertices = float_vertices(gpu, &(0..row * row).flat_map(vertex).collect::<Vec<_>>())?;
    let indices = grid_indices(gpu, CELLS)?;
    let program = gpu.program(
        &pass,
        &ProgramDesc {
            vertex: &spirv!("graphics/depth.vert"),
            streams: &[Stream { stride: 12, per_instance: false, attributes: &[(vk::Format::R32G32B32_SFLOAT, 0)] }],
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.bind(&program);
        r.vertices(&[vertices]);
        r.indices(&indices, vk::IndexType::UINT32);
        r.draw_indexed(6 * CELLS * CELLS, 0, 0, FIELDS);
        r.end();
    };
    let amount = Amount::new(FIELDS * 2 * CELLS * CELLS, Unit::Triangle);
    Recording::make(gpu, amount, record, move |gpu| compare_depths(gpu, &image))
}

/// Checks that every texel is the minimum of the depths of the fields.
fn compare_depths(gpu: &Gpu, image: &Image) -> Result<(), CheckError> {
    let words = gpu.read_image(image, 4, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read();
    for (at, word) in (0u32..).zip(words) {
        let (x, y, depth) = (at % SIZE, at / SIZE, f32::from_bits(word));
        let expected = (0..FIELDS).map(|field| field_depth(x, y, field)).fold(1.0, f32::min);
        if depth.is_nan() || (depth - expected).abs() >= 1e-5 {
            return Err(CheckError::Output(format!("depth at ({x}, {y}) is {depth}, not {expected}")));
        }
    }
    Ok(())
}

/// Returns the depth of a field's triangle at the centre of a pixel.
fn field_depth(x: u32, y: u32, field: u32) -> f32 {
    let (i, j) = (x / 4, y / 4);
    let [s, t] = [x % 4, y % 4].map(|n| (n as f32 + 0.5) / 4.0);
    let [a, b, c, d] = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(k, l)| depth_of(i + k, j + l, field));
    // The top-left rule assigns pixels on the diagonal to the triangle below it. Both triangles
    // have the same depth there.
    if s + t < 1.0 { a + (b - a) * s + (c - a) * t } else { d + (c - d) * (1.0 - s) + (b - d) * (1.0 - t) }
}

const RECTANGLES: u32 = 5_000;

/// A rectangle whose edges run through the centres of pixels, in units of half a pixel.
struct Rectangle {
    left: u32,
    top: u32,
    width: u32,
    height: u32,
    depth: f32,
    color: [u8; 4],
}

fn rectangles() -> Vec<Rectangle> {
    let mut random = Random::new(17);
    // 1,031 is coprime to the number of rectangles, so each gets a different depth, in a mixed
    // order.
    let rectangle = |i: u32| Rectangle {
        left: random.word() % (2 * SIZE - 96),
        top: random.word() % (2 * SIZE - 96),
        width: 16 + random.word() % 80,
        height: 16 + random.word() % 80,
        depth: (i * 1031 % RECTANGLES + 1) as f32 / 8192.0,
        color: (hash(i) | 0xff00_0000).to_le_bytes(),
    };
    (0..RECTANGLES).map(rectangle).collect()
}

fn instance_buffer(gpu: &Gpu, all: &[Rectangle]) -> Result<Buffer, Error> {
    let mut words = Vec::new();
    for r in all {
        let halves = [r.left, r.top, r.width, r.height].map(|n| n as f32 * 0.5);
        words.extend(halves.iter().chain([&r.depth]).map(|v| v.to_bits()));
        words.push(packed(r.color));
    }
    gpu.buffer_with(&words, vk::BufferUsageFlags::VERTEX_BUFFER)
}

fn msaa(gpu: &Gpu) -> SetupResult {
    let limits = &gpu.properties.limits;
    let four = vk::SampleCountFlags::TYPE_4;
    let both = limits.framebuffer_color_sample_counts & limits.framebuffer_depth_sample_counts;
    need_limit(both.contains(four), "4 samples")?;
    need_limit(limits.standard_sample_locations == vk::TRUE, "standardSampleLocations")?;
    let many = |format, usage| gpu.image_of_samples(&ImageDesc::d2(format, SIZE, SIZE, usage), four);
    let color = many(COLOR, vk::ImageUsageFlags::COLOR_ATTACHMENT)?;
    let depth = many(DEPTH, vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT)?;
    let resolved = attachment(gpu, COLOR, SIZE, vk::ImageUsageFlags::TRANSFER_SRC)?;
    let leave = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
    let pass = gpu.pass(&[
        Attachment { store: false, leave, ..Attachment::color(color, [0.0, 0.0, 0.0, 1.0]) },
        Attachment::depth(depth),
        Attachment::resolve(resolved),
    ])?;
    let all = rectangles();
    let instances = instance_buffer(gpu, &all)?;
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
            depth: Some((vk::CompareOp::LESS, true)),
            ..Default::default()
        },
    )?;
    let record = |r: Recorder<'_>| {
        r.begin(&pass);
        r.bind(&program);
        r.vertices(&[instances]);
        r.draw(4, RECTANGLES);
        r.end();
    };
    let covered: u32 = all.iter().map(|r| r.width * r.height / 4).sum();
    Recording::make(gpu, Amount::new(covered, Unit::Pixel), record, move |gpu| {
        let expected = resolved_picture(&all);
        Picture::read(gpu, &resolved)?.near(1, Tolerance::without_outliers(1.0), |x, y| expected[y * SIZE as usize + x])
    })
}

/// Returns the resolved picture. Each quarter of a pixel contains one of the four standard sample
/// locations.
fn resolved_picture(all: &[Rectangle]) -> Vec<[f32; 4]> {
    let side = 2 * SIZE as usize;
    let mut quarters = vec![(1.0f32, [0u8, 0, 0, 255]); side * side];
    for r in all {
        for y in r.top..r.top + r.height {
            let row = &mut quarters[y as usize * side + r.left as usize..][..r.width as usize];
            row.iter_mut().filter(|q| r.depth < q.0).for_each(|q| *q = (r.depth, r.color));
        }
    }
    let pixel = |i: usize| {
        let at = i / SIZE as usize * 2 * side + i % SIZE as usize * 2;
        let four = [at, at + 1, at + side, at + side + 1].map(|q| quarters[q].1);
        std::array::from_fn(|c| four.iter().map(|q| f32::from(q[c])).sum::<f32>() / (4.0 * 255.0))
    };
    (0..(SIZE * SIZE) as usize).map(pixel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fields_triangles_meet() {
        // On both sides of the diagonal of a cell, the depth is interpolated between the ends of
        // the diagonal.
        let (b, c) = (depth_of(1, 0, 0), depth_of(0, 1, 0));
        assert!((field_depth(3, 0, 0) - super::super::reference::mix(c, b, 0.875)).abs() < 1e-6);
        assert!((field_depth(0, 3, 0) - super::super::reference::mix(c, b, 0.125)).abs() < 1e-6);
    }
}
