//! Texture formats: encoding of simple content, and the texels that a sampler must decode from it.
//!
//! Blocks of BC1, BC7 (mode 6) and ASTC (one partition, a weight of 3 bits for each texel) are
//! encoded for colours that lie approximately on a line. The decoded texels must be known, but need
//! not be close to the source.

use super::super::figure::SetupError;
use super::super::recording::need_format;
use super::reference::Level;
use crate::vk::{Gpu, Image, ImageDesc};
use ash::vk;

/// Bytes of a block and its decoded texels.
type Block = (Vec<u8>, Vec<[f32; 4]>);

/// A format and its encoder.
pub struct Encoding {
    /// Vulkan format.
    pub format: vk::Format,
    /// Width and height of a block in texels.
    block: usize,
    encode: fn(&[[u8; 4]]) -> Block,
    /// Difference between decoders in 1/255, and factor by which decoded values are steeper than
    /// the source.
    pub slack: (f32, f32),
}

/// Index in [`ENCODINGS`] of 8-bit components.
pub const RGBA8: usize = 0;
/// Index in [`ENCODINGS`] of 8-bit components in sRGB.
pub const SRGB: usize = 1;
/// Index in [`ENCODINGS`] of BC1.
pub const BC1: usize = 2;
/// Index in [`ENCODINGS`] of BC7.
pub const BC7: usize = 3;
/// Index in [`ENCODINGS`] of small floats.
pub const R11G11B10: usize = 4;
/// Index in [`ENCODINGS`] of ASTC, whose texels are decoded to half floats.
pub const ASTC: usize = 5;

/// Formats that the workloads use.
pub const ENCODINGS: [Encoding; 6] = [
    Encoding { format: vk::Format::R8G8B8A8_UNORM, block: 1, encode: unorm, slack: (0.0, 1.0) },
    Encoding { format: vk::Format::R8G8B8A8_SRGB, block: 1, encode: srgb, slack: (0.0, 1.75) },
    Encoding { format: vk::Format::BC1_RGB_UNORM_BLOCK, block: 4, encode: bc1, slack: (1.0, 1.0) },
    Encoding { format: vk::Format::BC7_UNORM_BLOCK, block: 4, encode: bc7, slack: (0.0, 1.0) },
    Encoding { format: vk::Format::B10G11R11_UFLOAT_PACK32, block: 1, encode: small_floats, slack: (0.0, 1.0) },
    Encoding { format: vk::Format::ASTC_4X4_UNORM_BLOCK, block: 4, encode: astc, slack: (1.0, 1.0) },
];

fn unorm(texels: &[[u8; 4]]) -> Block {
    (texels.concat(), texels.iter().map(|t| t.map(|c| f32::from(c) / 255.0)).collect())
}

fn srgb(texels: &[[u8; 4]]) -> Block {
    let linear = |c: u8| match f64::from(c) / 255.0 {
        c if c <= 0.04045 => (c / 12.92) as f32,
        c => ((c + 0.055) / 1.055).powf(2.4) as f32,
    };
    let decode = |t: &[u8; 4]| [linear(t[0]), linear(t[1]), linear(t[2]), f32::from(t[3]) / 255.0];
    (texels.concat(), texels.iter().map(decode).collect())
}

/// Returns the 5-bit exponent and the truncated mantissa of a value in 0..=1, and the remainder of
/// the value.
fn small_float(value: f32, mantissa: u32) -> (u32, f32) {
    let bits = value.to_bits() >> (23 - mantissa);
    let offset = (127 - 15) << mantissa;
    match bits.checked_sub(offset) {
        Some(small) if small >= 1 << mantissa => (small, f32::from_bits(bits << (23 - mantissa))),
        _ => (0, 0.0),
    }
}

fn small_floats(texels: &[[u8; 4]]) -> Block {
    let (mut bytes, mut decoded) = (Vec::new(), Vec::new());
    for texel in texels {
        let [r, g, b, _] = texel.map(|c| f32::from(c) / 255.0);
        let (r, g, b) = (small_float(r, 6), small_float(g, 6), small_float(b, 5));
        bytes.extend((r.0 | g.0 << 11 | b.0 << 22).to_le_bytes());
        decoded.push([r.1, g.1, b.1, 1.0]);
    }
    (bytes, decoded)
}

/// Returns the colours with the minimum and maximum of red.
fn ends(texels: &[[u8; 4]]) -> ([u8; 4], [u8; 4]) {
    let by_red = |t: &&[u8; 4]| t[0];
    let (least, most) = (texels.iter().min_by_key(by_red), texels.iter().max_by_key(by_red));
    (least.copied().unwrap_or_default(), most.copied().unwrap_or_default())
}

/// Returns the palette entry whose red is nearest.
fn nearest(palette: &[[f32; 4]], texel: [u8; 4]) -> usize {
    let distance = |i: usize| (palette[i][0] * 255.0 - f32::from(texel[0])).abs();
    (0..palette.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

fn bc1(texels: &[[u8; 4]]) -> Block {
    let (least, most) = ends(texels);
    let pack = |c: [u8; 4]| u16::from(c[0] >> 3) << 11 | u16::from(c[1] >> 2) << 5 | u16::from(c[2] >> 3);
    let unpack = |c: u16| [f32::from(c >> 11) / 31.0, f32::from(c >> 5 & 63) / 63.0, f32::from(c & 31) / 31.0, 1.0];
    // The larger word comes first, which selects the mode with four colours.
    let (c0, c1) = (pack(most).max(pack(least)), pack(most).min(pack(least)));
    let (a, b) = (unpack(c0), unpack(c1));
    let thirds = |n: f32| std::array::from_fn(|i| (a[i] * (3.0 - n) + b[i] * n) / 3.0);
    let all = [a, b, thirds(1.0), thirds(2.0)];
    // Equal words select the other mode, in which the first colour is the same.
    let palette = if c0 == c1 { &all[..1] } else { &all[..] };
    let indices: Vec<usize> = texels.iter().map(|&t| nearest(palette, t)).collect();
    let word = indices.iter().enumerate().fold(0u32, |word, (i, &index)| word | (index as u32) << (2 * i));
    let bytes = [&c0.to_le_bytes()[..], &c1.to_le_bytes()[..], &word.to_le_bytes()[..]].concat();
    (bytes, indices.iter().map(|&i| palette[i]).collect())
}

/// Interpolation weights of 4-bit indices.
const WEIGHTS: [u32; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];

fn bc7(texels: &[[u8; 4]]) -> Block {
    let (least, most) = ends(texels);
    let palette_of = |a: [u8; 4], b: [u8; 4]| -> Vec<[f32; 4]> {
        // Both P bits are 1, which makes an alpha of 255 possible.
        let end = |c: u8| u32::from(c | 1);
        let entry = |w: u32| std::array::from_fn(|i| ((end(a[i]) * (64 - w) + end(b[i]) * w + 32) >> 6) as f32 / 255.0);
        WEIGHTS.map(entry).into()
    };
    let (mut a, mut b) = (least, most);
    // The top bit of the first index is not stored and must be 0.
    if nearest(&palette_of(a, b), texels[0]) >= 8 {
        (a, b) = (b, a);
    }
    let palette = palette_of(a, b);
    let mut indices: Vec<usize> = texels.iter().map(|&t| nearest(&palette, t)).collect();
    indices[0] = indices[0].min(7);
    let (mut block, mut at) = (0u128, 0);
    let mut put = |value: u32, bits: u32| {
        block |= u128::from(value) << at;
        at += bits;
    };
    put(1 << 6, 7);
    for i in 0..4 {
        put(u32::from(a[i] >> 1), 7);
        put(u32::from(b[i] >> 1), 7);
    }
    put(3, 2);
    for (i, &index) in indices.iter().enumerate() {
        put(index as u32, if i == 0 { 3 } else { 4 });
    }
    (block.to_le_bytes().into(), indices.iter().map(|&i| palette[i]).collect())
}

fn astc(texels: &[[u8; 4]]) -> Block {
    let (a, b) = ends(texels);
    // The reverse order of the end points selects another mode.
    let sum = |c: [u8; 4]| c[..3].iter().map(|&c| u32::from(c)).sum::<u32>();
    let (a, b) = if sum(a) <= sum(b) { (a, b) } else { (b, a) };
    let entry = |w: u32| {
        let component = |i: usize| (257 * (u32::from(a[i]) * (64 - w) + u32::from(b[i]) * w) + 32) >> 6;
        [component(0), component(1), component(2), 0xffff].map(|c| c as f32 / 65535.0)
    };
    let palette = [0, 9, 18, 27, 37, 46, 55, 64].map(entry);
    let indices: Vec<usize> = texels.iter().map(|&t| nearest(&palette, t)).collect();
    // 4×4 weights in 0..=7; two colours without alpha, whose red, green and blue alternate. The
    // weights are stored at the end, with their lowest bits last.
    let mut block = 0x53 | 8 << 13;
    for i in 0..3 {
        block |= u128::from(a[i]) << (17 + 16 * i) | u128::from(b[i]) << (25 + 16 * i);
    }
    let weights = indices.iter().enumerate().fold(0u128, |all, (i, &index)| all | (index as u128) << (3 * i));
    block |= weights.reverse_bits();
    (block.to_le_bytes().into(), indices.iter().map(|&i| palette[i]).collect())
}

impl Encoding {
    /// Encodes a square level, whose size is a multiple of the block size.
    fn level(&self, size: usize, source: &[[u8; 4]]) -> (Vec<u8>, Level) {
        let n = self.block;
        let (mut bytes, mut decoded) = (Vec::new(), vec![[0.0; 4]; size * size]);
        for block in 0..(size / n) * (size / n) {
            let (left, top) = (block % (size / n) * n, block / (size / n) * n);
            let at = |i: usize| (top + i / n) * size + left + i % n;
            let texels: Vec<[u8; 4]> = (0..n * n).map(|i| source[at(i)]).collect();
            let (encoded, back) = (self.encode)(&texels);
            bytes.extend(encoded);
            (0..n * n).for_each(|i| decoded[at(i)] = back[i]);
        }
        (bytes, Level { width: size, height: size, texels: decoded })
    }
}

/// Number of mip levels of the texture. The smallest level is a block of 4×4.
const LEVELS: u32 = 9;
/// Width and height of the texture in texels.
pub const TEXTURE: u32 = 1024;

/// Returns the content of the levels. Red is a wave that differs between the axes, green its
/// inverse, blue the number of the level.
fn sources() -> Vec<(usize, Vec<[u8; 4]>)> {
    let mut size = TEXTURE as usize;
    let wave = |t: usize| if t < 64 { t * 4 } else { (127 - t) * 4 };
    let mut red: Vec<f32> = (0..size * size).map(|i| wave((i % size + 2 * (i / size)) % 128) as f32).collect();
    let mut levels = Vec::new();
    for level in 0..LEVELS {
        let texel = |r: &f32| [r.round() as u8, 255 - r.round() as u8, 40 + 16 * level as u8, 255];
        levels.push((size, red.iter().map(texel).collect()));
        let half = size / 2;
        let at = |x: usize, y: usize| red[y * size + x];
        let mean = |x, y| (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)) * 0.25;
        red = (0..half * half).map(|i| mean(i % half * 2, i / half * 2)).collect();
        size = half;
    }
    levels
}

/// Makes the texture in a format. Also returns the decoded levels.
pub fn texture(gpu: &Gpu, encoding: &Encoding) -> Result<(Image, Vec<Level>), SetupError> {
    need_format(gpu, encoding.format, vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)?;
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc { levels: LEVELS, ..ImageDesc::d2(encoding.format, TEXTURE, TEXTURE, usage) })?;
    let (mut bytes, mut levels, mut regions) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (size, source)) in (0u32..).zip(sources()) {
        let region = vk::BufferImageCopy::default()
            .buffer_offset(bytes.len() as u64)
            .image_subresource(image.layers_of(index))
            .image_extent(image.level_extent(index));
        regions.push(region);
        let (encoded, level) = encoding.level(size, &source);
        bytes.extend(encoded);
        levels.push(level);
    }
    let words = crate::vk::spirv_words(&bytes);
    let buffer = gpu.buffer_with(&words, vk::BufferUsageFlags::TRANSFER_SRC)?;
    gpu.once(|r| {
        r.layout(&image, vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        r.copy_to_image(&buffer, &image, &regions);
        r.layout(&image, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL);
    })?;
    Ok((image, levels))
}

/// Makes a picture in sRGB without mip levels, with the waves of the first level as parabolas. Also
/// returns the decoded level.
pub fn picture(gpu: &Gpu, [width, height]: [u32; 2]) -> Result<(Image, Level), SetupError> {
    let format = ENCODINGS[SRGB].format;
    need_format(gpu, format, vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)?;
    let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
    let image = gpu.image(&ImageDesc::d2(format, width, height, usage))?;
    let wave = |t: u32| (128 + (64 - t as i32 % 128).pow(2) / 64) as u8;
    let texel = |i: u32| [wave(i % width), wave(i / width), wave(i % width + i / width), 255];
    let texels: Vec<[u8; 4]> = (0..width * height).map(texel).collect();
    let (bytes, texels) = srgb(&texels);
    let buffer = gpu.buffer_with(&crate::vk::spirv_words(&bytes), vk::BufferUsageFlags::TRANSFER_SRC)?;
    let region =
        vk::BufferImageCopy::default().image_subresource(image.layers_of(0)).image_extent(image.level_extent(0));
    gpu.once(|r| {
        r.layout(&image, vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        r.copy_to_image(&buffer, &image, &[region]);
        r.layout(&image, vk::ImageLayout::TRANSFER_DST_OPTIMAL, vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL);
    })?;
    Ok((image, Level { width: width as usize, height: height as usize, texels }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_stay_near_their_source() {
        let source: Vec<[u8; 4]> = (0..16).map(|i| [100 + 2 * i, 155 - 2 * i, 72, 255]).collect();
        for (encoding, tolerance) in ENCODINGS.iter().zip([0.001, 1.0, 0.05, 0.01, 0.02, 0.02]) {
            for (texels, chunk) in source.chunks(encoding.block.pow(2)).map(|c| ((encoding.encode)(c).1, c)) {
                for (decoded, texel) in texels.iter().zip(chunk) {
                    for (d, t) in decoded.iter().zip(texel) {
                        assert!((d - f32::from(*t) / 255.0).abs() < tolerance, "{:?}", encoding.format);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_have_their_size_and_small_floats_their_bits() {
        let block = [[10, 20, 30, 255]; 16];
        assert_eq!([bc1, bc7, astc].map(|encode| encode(&block).0.len()), [8, 16, 16]);
        assert_eq!(small_float(1.0, 6), (15 << 6, 1.0));
        assert_eq!(small_float(0.5, 5), (14 << 5, 0.5));
        assert_eq!(small_float(0.0, 6), (0, 0.0));
        let linear = srgb(&[[255, 0, 188, 128]]).1[0];
        assert!(linear[0] == 1.0 && linear[1] == 0.0 && (linear[2] - 0.503).abs() < 0.001);
    }
}
