//! Blocks of colours ([`super::bc`]) decoded texel by texel, sixteen in vectors of 512 bits, with
//! the same bits. The colour that a texel's index chooses is computed for that texel alone.

#![forbid(unsafe_code)]

use super::lanes::row;
use crate::host::Avx512;
use core::arch::x86_64::*;

/// Returns whether all texels of a format are opaque, if each of them can be found by itself
/// ([`colors`]). Texels of sRGB-encoded blocks are not: they are halves of linear values
/// (`bc_srgb`).
#[inline(always)]
pub const fn single_texel_decode(format: u32) -> Option<bool> {
    const RGB: u32 = row("BC1_RGB_UNORM_BLOCK") as u32;
    const RGBA: u32 = row("BC1_RGBA_UNORM_BLOCK") as u32;
    match format {
        RGB => Some(true),
        RGBA => Some(false),
        _ => None,
    }
}

/// The combination of the ends for each texel index; entries from the fourth on are for blocks
/// whose first end is not the greater one.
struct EndpointMix {
    /// Weights of both ends.
    ends: [u32; 16],
    /// Factor of the sum and the addend, before [`SHIFT`], for red and blue; `green` has those of
    /// green.
    red: [u32; 16],
    green: [u32; 16],
}

/// Number of bits that are shifted out.
const SHIFT: u32 = 11;

/// Packs two numbers of 16 bits.
const fn two(low: u32, high: u32) -> u32 {
    low | high << 16
}

static MIX: EndpointMix = {
    let [end, third, half] = [two(527 << 5, 23 << 5), two(351 << 4, 61 << 4), two(1053 << 3, 125 << 3)];
    let [green_end, green_third, green_half] = [two(259 << 5, 33 << 5), two(2763, 1039), two(4145, 1019)];
    EndpointMix {
        ends: twice([two(1, 0), two(0, 1), two(2, 1), two(1, 2), two(1, 0), two(0, 1), two(1, 1), 0]),
        red: twice([end, end, third, third, end, end, half, 0]),
        green: twice([green_end, green_end, green_third, green_third, green_end, green_end, green_half, 0]),
    }
};

const fn twice(entries: [u32; 8]) -> [u32; 16] {
    let mut all = [0; 16];
    let mut i = 0;
    while i < 16 {
        all[i] = entries[i % 8];
        i += 1;
    }
    all
}

/// Returns the texels with the given numbers in blocks of colours, as [`super::decode_tiles`]
/// decodes them for BC1. `ends` and `indices` are the first and the second word of each block.
#[inline(always)]
pub fn colors(v: Avx512, ends: __m512i, indices: __m512i, texel: __m512i, opaque: bool) -> __m512i {
    let index = v._mm512_srlv_epi32(indices, v._mm512_slli_epi32::<1>(texel));
    let index = v._mm512_and_si512(index, v._mm512_set1_epi32(3));
    let (first, second) = (v._mm512_and_si512(ends, v._mm512_set1_epi32(0xffff)), v._mm512_srli_epi32::<16>(ends));
    let three = v._mm512_cmple_epu32_mask(first, second);
    let index = v._mm512_mask_or_epi32(index, three, index, v._mm512_set1_epi32(4));
    let by = v._mm512_permutexvar_epi32(index, v.load(&MIX.ends));
    let by_red = v._mm512_permutexvar_epi32(index, v.load(&MIX.red));
    let by_green = v._mm512_permutexvar_epi32(index, v.load(&MIX.green));
    // Both ends' components are numbers of 16 bits.
    let five = v._mm512_set1_epi16(31);
    let green = v._mm512_and_si512(v._mm512_srli_epi16::<5>(ends), v._mm512_set1_epi16(63));
    let red = mixed(v, v._mm512_srli_epi16::<11>(ends), by, by_red);
    let green = mixed(v, green, by, by_green);
    let blue = mixed(v, v._mm512_and_si512(ends, five), by, by_red);
    let red = v._mm512_srli_epi32::<SHIFT>(red);
    let green = v._mm512_srli_epi32::<{ SHIFT - 8 }>(green);
    let blue = v._mm512_slli_epi32::<{ 16 - SHIFT }>(blue);
    // The result takes bits that are in both of the first two operands, or in the third one.
    let color = v._mm512_ternarylogic_epi32::<0xea>(green, v._mm512_set1_epi32(0xff00), red);
    let color = v._mm512_ternarylogic_epi32::<0xea>(blue, v._mm512_set1_epi32(0xff_0000), color);
    let has = match opaque {
        true => u16::MAX,
        false => v._mm512_cmpneq_epi32_mask(index, v._mm512_set1_epi32(7)),
    };
    v._mm512_mask_or_epi32(color, has, color, v._mm512_set1_epi32(0xff00_0000u32 as i32))
}

/// Returns a component of both ends, combined by their weights.
#[inline(always)]
fn mixed(v: Avx512, component: __m512i, ends: __m512i, by: __m512i) -> __m512i {
    let sum = v._mm512_or_si512(v._mm512_madd_epi16(component, ends), v._mm512_set1_epi32(1 << 16));
    v._mm512_madd_epi16(sum, by)
}

#[cfg(test)]
mod tests {
    use super::super::{Format, decode_tiles};
    use crate::host::Avx512;
    use crate::random::Rng;

    fn texels(v: Avx512, ends: u32, indices: u32, opaque: bool, out: &mut [u32; 16]) {
        let texel = v._mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let (ends, indices) = (v._mm512_set1_epi32(ends as i32), v._mm512_set1_epi32(indices as i32));
        v.store(out, super::colors(v, ends, indices, texel, opaque));
    }

    #[test]
    fn texels_are_those_of_their_blocks() {
        let Some(v) = Avx512::detect() else { return };
        let mut rng = Rng(0xbc10_0000_0000_0001);
        let formats = ["BC1_RGB_UNORM_BLOCK", "BC1_RGBA_UNORM_BLOCK"];
        for i in 0..200_000 {
            let format = Format(super::row(formats[i % 2]) as u16);
            let opaque = super::single_texel_decode(format.0.into()).expect("one of them");
            let mut ends = rng.next_u64() as u32;
            if i % 8 < 2 {
                // The ends are equal, or nearly so.
                ends = ends & 0xffff | (ends & 0xffff) << 16 | i as u32 & 1;
            }
            let indices = rng.next_u64() as u32;
            let mut got = [0; 16];
            texels(v, ends, indices, opaque, &mut got);
            let block = u128::from(u64::from(ends) | u64::from(indices) << 32).to_le_bytes();
            decode_tiles(format, &block, &mut |_, words| assert_eq!(got, words[0], "{ends:x} {indices:x} {format:?}"));
        }
        for other in ["BC2_UNORM_BLOCK", "BC1_RGB_SRGB_BLOCK", "BC1_RGBA_SRGB_BLOCK"] {
            assert_eq!(super::single_texel_decode(super::row(other) as u32), None);
        }
    }
}
