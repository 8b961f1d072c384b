//! Family `transfer`: buffers, images, blits, clears, resolves and mip chains, as a share of the
//! machine's memory bandwidth.
//!
//! Idea: every workload moves or fills several MiB, which exceeds a core's own caches. The expected
//! result is known to the byte, or to the rounding where a filter is used. Amounts are those that
//! the commands request: bytes read plus bytes written, or bytes filled.
//!
//! Invariant: images are written from `UNDEFINED` and left in `TRANSFER_SRC_OPTIMAL`, and sources
//! remain in that layout.

mod blits;
mod buffers;
mod clears;
mod images;

use super::figure::CheckError;
use super::graphics::hash;
use super::workload::Spec;
use crate::vk::{Buffer, Error, Gpu, Image, ImageDesc, Recorder};
use ash::vk;

/// Workloads of the family, in the order in which they are shown.
pub const SPECS: &[&[Spec]] = &[buffers::SPECS, images::SPECS, blits::SPECS, clears::SPECS];

/// Width and height of most images in texels.
const SIZE: u32 = 2048;

const RGBA8: vk::Format = vk::Format::R8G8B8A8_UNORM;

/// Returns words without a pattern.
fn noise(count: u32) -> Vec<u32> {
    (0..count).map(hash).collect()
}

/// Returns texels of 8 bits that change slowly, because a downward ramp follows an upward one.
fn soft_texel(x: u32, y: u32) -> [u8; 4] {
    let wave = |t: u32| if t % 128 < 64 { t % 128 * 4 } else { (127 - t % 128) * 4 } as u8;
    [wave(x), wave(y), wave(x + y), wave(x / 2 + 32)]
}

fn soft(size: u32) -> Vec<u32> {
    (0..size * size).map(|i| u32::from_le_bytes(soft_texel(i % size, i / size))).collect()
}

/// Makes a square image for transfers.
fn image(gpu: &Gpu, format: vk::Format, size: u32) -> Result<Image, Error> {
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    gpu.image(&ImageDesc::d2(format, size, size, usage))
}

/// Makes a square image with content, from which commands copy.
fn source(gpu: &Gpu, format: vk::Format, size: u32, words: &[u32]) -> Result<Image, Error> {
    let image = image(gpu, format, size)?;
    let buffer = staging(gpu, words)?;
    let texel = (words.len() * 4 / (size * size) as usize) as u64;
    gpu.upload(&buffer, &image, texel, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?;
    Ok(image)
}

/// Makes a buffer with content for transfers.
fn staging(gpu: &Gpu, words: &[u32]) -> Result<Buffer, Error> {
    gpu.buffer_with(words, vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST)
}

/// Records `write` between the transitions of the whole image to the layouts for writing and for
/// reading.
fn written(r: Recorder<'_>, image: &Image, write: impl FnOnce()) {
    r.layout(image, vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    write();
    r.layout(image, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::TRANSFER_SRC_OPTIMAL);
}

/// Returns the words of level 0 of an image.
fn words_of(gpu: &Gpu, image: &Image, texel: usize) -> Result<Vec<u32>, Error> {
    Ok(gpu.read_image(image, texel, vk::ImageLayout::TRANSFER_SRC_OPTIMAL)?.read())
}

/// Checks that texels of 8 bits are near their expected values (in 0..255).
fn near(words: &[u32], width: u32, tolerance: f32, expected: impl Fn(u32, u32) -> [f32; 4]) -> Result<(), CheckError> {
    for (i, texel) in (0u32..).zip(words.iter().map(|w| w.to_le_bytes())) {
        let (x, y) = (i % width, i / width);
        let expected = expected(x, y);
        if texel.iter().zip(&expected).any(|(&t, e)| e.is_nan() || (f32::from(t) - e).abs() > tolerance) {
            return Err(CheckError::Output(format!("texel ({x}, {y}) is {texel:?}, not about {expected:.1?}")));
        }
    }
    Ok(())
}
