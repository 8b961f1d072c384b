//! Transfers: buffers, images, blits, clears, resolves, mip chains, as a share of what the machine's memory does.
//!
//! Idea: every workload moves or fills several MiB, more than a core's own caches hold, and what must be there afterwards is
//! known to the byte, or to the rounding where a filter is at work. Amounts are what the commands ask for: bytes read plus
//! bytes written, or bytes filled.
//!
//! Invariant: images are written from `UNDEFINED` and left in `TRANSFER_SRC_OPTIMAL`, sources stay there.

mod blits;
mod buffers;
mod clears;
mod images;

use super::figure::Wrong;
use super::graphics::hash;
use super::workload::Spec;
use crate::vk::{Buffer, Error, Gpu, Image, ImageDesc, Recorder};
use ash::vk;

/// The workloads, in the order they are shown.
pub const SPECS: &[&[Spec]] = &[buffers::SPECS, images::SPECS, blits::SPECS, clears::SPECS];

/// Width and height of most images.
const SIZE: u32 = 2048;

const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;

/// Words without a pattern.
fn noise(count: u32) -> Vec<u32> {
    (0..count).map(hash).collect()
}

/// Texels of 8 bits that change slowly: an upward ramp is followed by a downward one.
fn soft_texel(x: u32, y: u32) -> [u8; 4] {
    let wave = |t: u32| if t % 128 < 64 { t % 128 * 4 } else { (127 - t % 128) * 4 } as u8;
    [wave(x), wave(y), wave(x + y), wave(x / 2 + 32)]
}

fn soft(size: u32) -> Vec<u32> {
    (0..size * size).map(|i| u32::from_le_bytes(soft_texel(i % size, i / size))).collect()
}

/// A square image for transfers.
fn image(gpu: &Gpu, format: vk::Format, size: u32) -> Result<Image, Error> {
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    gpu.image(&ImageDesc::d2(format, size, size, usage))
}

/// A square image with content, to be copied from.
fn source(gpu: &Gpu, format: vk::Format, size: u32, words: &[u32]) -> Result<Image, Error> {
    let image = image(gpu, format, size)?;
    let buffer = staging(gpu, words)?;
    let texel = (words.len() * 4 / (size * size) as usize) as u64;
    gpu.upload(&buffer, &image, texel, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?;
    Ok(image)
}

/// A buffer with content, for transfers.
fn staging(gpu: &Gpu, words: &[u32]) -> Result<Buffer, Error> {
    gpu.buffer_with(words, vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST)
}

/// Makes all of an image ready to be written and afterwards to be read.
fn written(r: Recorder<'_>, image: &Image, write: impl FnOnce()) {
    r.layout(image, vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    write();
    r.layout(image, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
}

/// The words of level 0 of an image.
fn words_of(gpu: &Gpu, image: &Image, texel: usize) -> Result<Vec<u32>, Error> {
    Ok(gpu.read_image(image, texel, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read())
}

/// Texels of 8 bits lie near what is expected (in 0..255).
fn near(words: &[u32], width: u32, tolerance: f32, expected: impl Fn(u32, u32) -> [f32; 4]) -> Result<(), Wrong> {
    for (i, texel) in (0u32..).zip(words.iter().map(|w| w.to_le_bytes())) {
        let (x, y) = (i % width, i / width);
        let expected = expected(x, y);
        if texel.iter().zip(&expected).any(|(&t, e)| e.is_nan() || (f32::from(t) - e).abs() > tolerance) {
            return Err(Wrong::Output(format!("texel ({x}, {y}) is {texel:?}, not about {expected:.1?}")));
        }
    }
    Ok(())
}
