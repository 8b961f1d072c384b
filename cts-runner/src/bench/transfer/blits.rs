//! Blits: at the same size, scaled, to another format, and the chain of mip levels.

use super::super::check::equal;
use super::super::figure::{Amount, CheckError, SetupError, Unit};
use super::super::graphics::{Level, Wrap};
use super::super::recording::{Recording, SetupResult, need_format};
use super::super::workload::{Family, Spec};
use super::{RGBA8, SIZE, image, near, noise, soft, soft_texel, source, staging, words_of, written};
use crate::vk::{Gpu, Image, ImageDesc, Recorder};
use ash::vk;

const FAMILY: Family = Family::Transfer;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("transfer/blit-same-size", FAMILY, same_size),
    Spec::quick("transfer/blit-half-linear", FAMILY, |gpu| scaled(gpu, SIZE, SIZE / 2, vk::Filter::LINEAR)),
    Spec::full("transfer/blit-double-nearest", FAMILY, |gpu| scaled(gpu, SIZE / 2, SIZE, vk::Filter::NEAREST)),
    Spec::full("transfer/blit-double-linear", FAMILY, |gpu| scaled(gpu, SIZE / 2, SIZE, vk::Filter::LINEAR)),
    Spec::full("transfer/blit-five-eighths-linear", FAMILY, |gpu| scaled(gpu, SIZE, 1280, vk::Filter::LINEAR)),
    Spec::full("transfer/blit-to-bgra8", FAMILY, to_bgra),
    Spec::full("transfer/blit-to-rgba16f", FAMILY, to_half),
    Spec::quick("transfer/mip-chain", FAMILY, mip_chain),
];

/// Returns a blit of a whole level of one image to a whole level of another.
fn region(from: &Image, from_level: u32, to: &Image, to_level: u32) -> vk::ImageBlit {
    let end = |image: &Image, level: u32| {
        let extent = image.level_extent(level);
        [vk::Offset3D::default(), vk::Offset3D { x: extent.width as i32, y: extent.height as i32, z: 1 }]
    };
    vk::ImageBlit::default()
        .src_subresource(from.layers_of(from_level))
        .src_offsets(end(from, from_level))
        .dst_subresource(to.layers_of(to_level))
        .dst_offsets(end(to, to_level))
}

/// Makes a blit of one image to a new image of another format and size.
fn blit(
    gpu: &Gpu,
    from: Image,
    (format, size): (vk::Format, u32),
    filter: vk::Filter,
    texel: u32,
    check: impl Fn(&[u32]) -> Result<(), CheckError> + 'static,
) -> SetupResult {
    need_format(gpu, from.desc.format, vk::FormatFeatureFlags::BLIT_SRC)?;
    need_format(gpu, format, vk::FormatFeatureFlags::BLIT_DST)?;
    let to = image(gpu, format, size)?;
    let region = region(&from, 0, &to, 0);
    let record = |r: Recorder<'_>| written(r, &to, || r.blit(&from, &to, &[region], filter));
    let [width, height, _] = from.desc.extent;
    let amount = Amount::new(width * height * 4 + size * size * texel, Unit::Byte);
    Recording::make(gpu, amount, record, move |gpu| check(&words_of(gpu, &to, texel as usize)?))
}

fn same_size(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let from = source(gpu, RGBA8, SIZE, &words)?;
    blit(gpu, from, (RGBA8, SIZE), vk::Filter::NEAREST, 4, move |w| equal(w, &words))
}

fn to_bgra(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let from = source(gpu, RGBA8, SIZE, &words)?;
    blit(gpu, from, (vk::Format::B8G8R8A8_UNORM, SIZE), vk::Filter::NEAREST, 4, move |w| {
        let swapped = |word: &u32| {
            let [r, g, b, a] = word.to_le_bytes();
            u32::from_le_bytes([b, g, r, a])
        };
        equal(w, &words.iter().map(swapped).collect::<Vec<_>>())
    })
}

fn to_half(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let from = source(gpu, RGBA8, SIZE, &words)?;
    blit(gpu, from, (vk::Format::R16G16B16A16_SFLOAT, SIZE), vk::Filter::NEAREST, 8, move |w| {
        for (i, (pair, word)) in w.chunks(2).zip(&words).enumerate() {
            let halves = [pair[0] & 0xffff, pair[0] >> 16, pair[1] & 0xffff, pair[1] >> 16];
            for (half, byte) in halves.into_iter().zip(word.to_le_bytes()) {
                // Both halves next to the exact value are correct, that is, within a step of 2⁻¹¹
                // of the value.
                let exact = f32::from(byte) / 255.0;
                let found = positive_half(half);
                if found.is_nan() || (found - exact).abs() > exact / 1024.0 {
                    return Err(CheckError::Output(format!("texel {i} holds the half {half:#06x}, not about {exact}")));
                }
            }
        }
        Ok(())
    })
}

/// Returns the value of a positive normal half, or 0.
fn positive_half(bits: u32) -> f32 {
    if bits == 0 { 0.0 } else { f32::from_bits((bits << 13) + ((127 - 15) << 23)) }
}

fn level_of(size: u32) -> Level {
    Level::new(size as usize, size as usize, |x, y| soft_texel(x as u32, y as u32).map(f32::from))
}

fn scaled(gpu: &Gpu, from_size: u32, size: u32, filter: vk::Filter) -> SetupResult {
    need_linear(gpu)?;
    let from = source(gpu, RGBA8, from_size, &soft(from_size))?;
    blit(gpu, from, (RGBA8, size), filter, 4, move |words| {
        let (level, middle) = (level_of(from_size), |n: u32| (f64::from(n) + 0.5) / f64::from(size));
        let nearest = filter == vk::Filter::NEAREST;
        near(words, size, if nearest { 0.0 } else { 1.0 }, |x, y| match nearest {
            true => level.nearest(middle(x), middle(y), Wrap::Clamp),
            false => level.bilinear(middle(x), middle(y), Wrap::Clamp),
        })
    })
}

fn need_linear(gpu: &Gpu) -> Result<(), SetupError> {
    need_format(gpu, RGBA8, vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)
}

/// Number of levels, with sizes from 2048 to 1.
const LEVELS: u32 = 12;

fn mip_chain(gpu: &Gpu) -> SetupResult {
    need_linear(gpu)?;
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let chain = gpu.image(&ImageDesc { levels: LEVELS, ..ImageDesc::d2(RGBA8, SIZE, SIZE, usage) })?;
    let (undefined, dst, src) =
        (vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
    let staging = staging(gpu, &soft(SIZE))?;
    let first =
        vk::BufferImageCopy::default().image_subresource(chain.layers_of(0)).image_extent(chain.level_extent(0));
    gpu.once(|r| {
        r.level_layout(&chain, 0, undefined, dst);
        r.copy_to_image(&staging, &chain, &[first]);
        r.level_layout(&chain, 0, dst, src);
    })?;
    let record = |r: Recorder<'_>| {
        for level in 1..LEVELS {
            r.level_layout(&chain, level, undefined, dst);
            r.blit(&chain, &chain, &[region(&chain, level - 1, &chain, level)], vk::Filter::LINEAR);
            r.level_layout(&chain, level, dst, src);
        }
    };
    let texels = |from: u32, to: u32| (from..to).map(|l| (SIZE >> l).pow(2)).sum::<u32>();
    let bytes = 4 * (texels(0, LEVELS - 1) + texels(1, LEVELS));
    Recording::make(gpu, Amount::new(bytes, Unit::Byte), record, move |gpu| check_chain(gpu, &chain))
}

/// Checks that each level is the mean of four texels of the level above, rounded again.
fn check_chain(gpu: &Gpu, chain: &Image) -> Result<(), CheckError> {
    let mut expected = level_of(SIZE);
    for level in 1..LEVELS {
        let size = SIZE >> level;
        let above = expected;
        let middle = |n: usize| (n as f64 + 0.5) / f64::from(size);
        expected = Level::new(size as usize, size as usize, |x, y| above.bilinear(middle(x), middle(y), Wrap::Clamp));
        let region = vk::BufferImageCopy::default()
            .image_subresource(chain.layers_of(level))
            .image_extent(chain.level_extent(level));
        let buffer = gpu.buffer((size * size * 4) as usize, vk::BufferUsageFlags::TRANSFER_DST)?;
        gpu.once(|r| {
            r.copy_to_buffer(chain, &buffer, &[region]);
            r.barrier();
        })?;
        near(&buffer.read(), size, level as f32, |x, y| expected.texels[(y * size + x) as usize])
            .map_err(|wrong| name_level(level, wrong))?;
    }
    Ok(())
}

fn name_level(level: u32, wrong: CheckError) -> CheckError {
    match wrong {
        CheckError::Output(what) => CheckError::Output(format!("level {level}: {what}")),
        failed @ CheckError::Failed(_) => failed,
    }
}
