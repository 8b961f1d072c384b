//! Decoding of sRGB-encoded BC1, BC2 and BC3 blocks to halves of linear values.
//!
//! The ends of such a block are fractions of 31 and 63, and the Khronos Data Format Specification
//! ("S3TC Compressed Texture Image Formats") interpolates between them without rounding. The
//! nonlinear sRGB function magnifies a rounding to bytes before it by up to 2.3, more than a byte's
//! step, so it is applied to the exact fractions: the colours that a block can contain are few
//! enough for tables. Only the result is rounded, to the nearest half.

#![forbid(unsafe_code)]

use super::FormatInfo;
use super::float::fraction_to_half;
use super::row::DecodedTile;
use super::srgb::linear;

/// Common denominator of red and blue: of ends (31), thirds (93) and halves (62) between two ends.
const RED_BLUE_DENOMINATOR: usize = 31 * 6;
/// Common denominator of green.
const GREEN_DENOMINATOR: usize = 63 * 6;
/// Common denominator of BC3's alpha: of bytes, and of sevenths and fifths between two bytes.
const ALPHA: f64 = 255.0 * 35.0;
/// Bits of 1.0 as a half.
const ONE: u16 = 0x3c00;

/// Linear values of the sRGB-encoded multiples of 1 / [`RED_BLUE_DENOMINATOR`], as bits of halves.
static LINEAR_RED_BLUE: [u16; RED_BLUE_DENOMINATOR + 1] = linear_fractions();
/// Linear values of the sRGB-encoded multiples of 1 / [`GREEN_DENOMINATOR`], as bits of halves.
static LINEAR_GREEN: [u16; GREEN_DENOMINATOR + 1] = linear_fractions();

const fn linear_fractions<const N: usize>() -> [u16; N] {
    let mut table = [0; N];
    let mut i = 0;
    while i < N {
        table[i] = fraction_to_half(linear(i as f64 / (N - 1) as f64));
        i += 1;
    }
    table
}

/// Returns the texels of a block of one of these formats, whose words are `first` and `second`, as
/// R16G16B16A16_SFLOAT.
pub(super) fn decode(info: &FormatInfo, first: u64, second: u64) -> DecodedTile {
    let is_bc1 = info.name.as_bytes()[2] == b'1';
    let block = if is_bc1 { first } else { second };
    let three = is_bc1 && block as u16 <= (block >> 16) as u16;
    let palette = palette(block, three);
    let color = |i: usize| (block >> (32 + 2 * i)) as usize & 3;
    let alphas: [u16; 16] = match info.name.as_bytes()[2] {
        b'1' => {
            let has_holes = three && info.channel_count == 4;
            core::array::from_fn(|i| if has_holes && color(i) == 3 { 0 } else { ONE })
        }
        b'2' => core::array::from_fn(|i| fraction_to_half((first >> (4 * i) & 15) as f64 / 15.0)),
        _ => alphas(first),
    };
    let mut words = [[0; 16]; 2];
    for i in 0..16 {
        let [red, green, blue] = palette[color(i)].map(u32::from);
        (words[0][i], words[1][i]) = (red | green << 16, blue | u32::from(alphas[i]) << 16);
    }
    words
}

/// Returns the colours from which a block's indices choose; with `three`, the last one is black.
fn palette(block: u64, three: bool) -> [[u16; 3]; 4] {
    let ends = [block as usize & 0xffff, (block >> 16) as usize & 0xffff];
    let [first, second] = ends.map(|end| [end >> 11, end >> 5 & 63, end & 31]);
    // Weights of both ends are in sixths.
    let weights = if three { [[6, 0], [0, 6], [3, 3], [0, 0]] } else { [[6, 0], [0, 6], [4, 2], [2, 4]] };
    weights.map(|[a, b]| {
        let [red, green, blue] = [0, 1, 2].map(|c| a * first[c] + b * second[c]);
        [LINEAR_RED_BLUE[red], LINEAR_GREEN[green], LINEAR_RED_BLUE[blue]]
    })
}

/// Returns the alpha of a BC3 block, as bits of halves.
fn alphas(block: u64) -> [u16; 16] {
    let [a, b] = [block as u32 & 0xff, (block >> 8) as u32 & 0xff];
    let palette: [u32; 8] = if a > b {
        let seventh = |n: u32| 5 * ((7 - n) * a + n * b);
        [35 * a, 35 * b, seventh(1), seventh(2), seventh(3), seventh(4), seventh(5), seventh(6)]
    } else {
        let fifth = |n: u32| 7 * ((5 - n) * a + n * b);
        [35 * a, 35 * b, fifth(1), fifth(2), fifth(3), fifth(4), 0, 35 * 255]
    };
    let halves = palette.map(|alpha| fraction_to_half(f64::from(alpha) / ALPHA));
    core::array::from_fn(|i| halves[(block >> (16 + 3 * i)) as usize & 7])
}
