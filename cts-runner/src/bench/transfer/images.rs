//! Copies between images, and between images and buffers.

use super::super::check::equal;
use super::super::figure::{Amount, Unit};
use super::super::recording::{Recording, SetupResult};
use super::super::workload::{Family, Spec};
use super::{RGBA8, SIZE, image, noise, source, staging, words_of, written};
use crate::vk::{Gpu, Image, Recorder};
use ash::vk;

const FAMILY: Family = Family::Transfer;

/// Workloads of this module.
pub const SPECS: &[Spec] = &[
    Spec::quick("transfer/copy-image-rgba8", FAMILY, |gpu| copy(gpu, RGBA8, 4)),
    Spec::full("transfer/copy-image-r8", FAMILY, |gpu| copy(gpu, vk::Format::R8_UNORM, 1)),
    Spec::full("transfer/copy-image-rgba16f", FAMILY, |gpu| copy(gpu, vk::Format::R16G16B16A16_SFLOAT, 8)),
    Spec::full("transfer/copy-image-regions", FAMILY, copy_regions),
    Spec::quick("transfer/buffer-to-image", FAMILY, buffer_to_image),
    Spec::quick("transfer/image-to-buffer", FAMILY, image_to_buffer),
    Spec::full("transfer/buffer-to-image-rows", FAMILY, rows_to_image),
];

fn copy(gpu: &Gpu, format: vk::Format, texel: u32) -> SetupResult {
    let bytes = SIZE * SIZE * texel;
    let words = noise(bytes / 4);
    // A copy through floats may change halves that are NaN. A copy of texels must not, but this
    // benchmark does not depend on it.
    let words: Vec<u32> = if texel == 8 { words.iter().map(|w| w & 0x3bff_3bff).collect() } else { words };
    let (from, to) = (source(gpu, format, SIZE, &words)?, image(gpu, format, SIZE)?);
    let region = vk::ImageCopy::default()
        .src_subresource(from.layers_of(0))
        .dst_subresource(to.layers_of(0))
        .extent(to.level_extent(0));
    let record = |r: Recorder<'_>| written(r, &to, || r.copy_image(&from, &to, &[region]));
    Recording::make(gpu, Amount::new(2 * bytes, Unit::Byte), record, move |gpu| {
        equal(&words_of(gpu, &to, texel as usize)?, &words)
    })
}

/// Size of a tile in texels. `TILES` is the number of tiles in a row.
const TILE: u32 = 64;
const TILES: u32 = SIZE / TILE;

/// Returns the destination of a tile. An odd factor permutes the numbers below a power of two.
fn place(tile: u32) -> u32 {
    tile * 421 % (TILES * TILES)
}

fn copy_regions(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let (from, to) = (source(gpu, RGBA8, SIZE, &words)?, image(gpu, RGBA8, SIZE)?);
    let corner = |tile: u32| {
        let [x, y] = [tile % TILES * TILE, tile / TILES * TILE].map(|n| n as i32);
        vk::Offset3D { x, y, z: 0 }
    };
    let region = |tile: u32| {
        vk::ImageCopy::default()
            .src_subresource(from.layers_of(0))
            .src_offset(corner(tile))
            .dst_subresource(to.layers_of(0))
            .dst_offset(corner(place(tile)))
            .extent(vk::Extent3D { width: TILE, height: TILE, depth: 1 })
    };
    let regions: Vec<_> = (0..TILES * TILES).map(region).collect();
    let record = |r: Recorder<'_>| written(r, &to, || r.copy_image(&from, &to, &regions));
    Recording::make(gpu, Amount::new(2 * SIZE * SIZE * 4, Unit::Byte), record, move |gpu| {
        let mut expected = vec![0; words.len()];
        for tile in 0..TILES * TILES {
            let (a, b) = (corner(tile), corner(place(tile)));
            for row in 0..TILE as usize {
                let at = |o: vk::Offset3D| (o.y as usize + row) * SIZE as usize + o.x as usize;
                expected[at(b)..][..TILE as usize].copy_from_slice(&words[at(a)..][..TILE as usize]);
            }
        }
        equal(&words_of(gpu, &to, 4)?, &expected)
    })
}

/// Returns the copy of a whole image from or to the start of a buffer.
fn whole(image: &Image) -> vk::BufferImageCopy {
    vk::BufferImageCopy::default().image_subresource(image.layers_of(0)).image_extent(image.level_extent(0))
}

fn buffer_to_image(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let (from, to) = (staging(gpu, &words)?, image(gpu, RGBA8, SIZE)?);
    let region = whole(&to);
    let record = |r: Recorder<'_>| written(r, &to, || r.copy_to_image(&from, &to, &[region]));
    Recording::make(gpu, Amount::new(2 * SIZE * SIZE * 4, Unit::Byte), record, move |gpu| {
        equal(&words_of(gpu, &to, 4)?, &words)
    })
}

fn image_to_buffer(gpu: &Gpu) -> SetupResult {
    let words = noise(SIZE * SIZE);
    let (from, to) = (source(gpu, RGBA8, SIZE, &words)?, staging(gpu, &vec![0; words.len()])?);
    let region = whole(&from);
    let record = |r: Recorder<'_>| {
        r.copy_to_buffer(&from, &to, &[region]);
        r.barrier();
    };
    let amount = Amount::new(2 * SIZE * SIZE * 4, Unit::Byte);
    Recording::make(gpu, amount, record, move |_| equal(&to.read(), &words))
}

/// Number of texels of a row in the buffer, which exceeds that of the image.
const PITCH: u32 = SIZE + 100;

fn rows_to_image(gpu: &Gpu) -> SetupResult {
    let words = noise(PITCH * SIZE);
    let (from, to) = (staging(gpu, &words)?, image(gpu, RGBA8, SIZE)?);
    let region = whole(&to).buffer_row_length(PITCH).buffer_image_height(SIZE);
    let record = |r: Recorder<'_>| written(r, &to, || r.copy_to_image(&from, &to, &[region]));
    Recording::make(gpu, Amount::new(2 * SIZE * SIZE * 4, Unit::Byte), record, move |gpu| {
        let expected: Vec<u32> = words.chunks(PITCH as usize).flat_map(|row| &row[..SIZE as usize]).copied().collect();
        equal(&words_of(gpu, &to, 4)?, &expected)
    })
}
