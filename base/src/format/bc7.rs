//! BC7 blocks: eight modes, each a row of [`MODES`]. There are one to three subsets of texels with
//! a pair of ends each, between which indices choose.
//!
//! An end is four numbers of 16 bits in a word, so its components are expanded and weighted
//! together: sums of products stay below 2^14. The values that the indices can choose are computed
//! once per block. Layout, partitions and anchors follow the Khronos Data Format Specification 1.3,
//! "BPTC Compressed Texture Image Formats".

#![forbid(unsafe_code)]

/// The sizes of a mode's fields in bits, in the order in which they are stored.
struct Bc7Mode {
    subsets: usize,
    partition: u32,
    /// Selector of the component that is exchanged with alpha.
    rotation: u32,
    /// Selector of the indices of the colours.
    selection: u32,
    color: u32,
    alpha: u32,
    low: PBits,
    indices: u32,
    /// Indices of alpha; 0 if there are none.
    second: u32,
}

/// The lowest bits of ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PBits {
    None,
    /// Both ends of a subset share one bit.
    Shared,
    /// Each end has one bit.
    Unique,
}

const fn mode(subsets: usize, partition: u32, [color, alpha]: [u32; 2], low: PBits, indices: u32) -> Bc7Mode {
    Bc7Mode { subsets, partition, rotation: 0, selection: 0, color, alpha, low, indices, second: 0 }
}

const fn mode_of_two(selection: u32, [color, alpha]: [u32; 2], second: u32) -> Bc7Mode {
    Bc7Mode { rotation: 2, selection, second, ..mode(1, 0, [color, alpha], PBits::None, 2) }
}

const MODES: [Bc7Mode; 8] = [
    mode(3, 4, [4, 0], PBits::Unique, 3),
    mode(2, 6, [6, 0], PBits::Shared, 3),
    mode(3, 6, [5, 0], PBits::None, 2),
    mode(2, 6, [7, 0], PBits::Unique, 2),
    mode_of_two(1, [5, 6], 3),
    mode_of_two(0, [7, 8], 2),
    mode(1, 0, [7, 7], PBits::Unique, 4),
    mode(2, 6, [5, 5], PBits::Unique, 2),
];

/// Weights of the second end, in 64ths, by the number of bits of indices.
const WEIGHTS: [&[u8]; 5] = [
    &[],
    &[],
    &[0, 21, 43, 64],
    &[0, 9, 18, 27, 37, 46, 55, 64],
    &[0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64],
];

/// The number 1 in the position of each component; `BYTES` has all bits of a byte in each.
const EACH: u64 = 0x0001_0001_0001_0001;
const BYTES: u64 = 0xff * EACH;
const ALPHA: u32 = 48;

/// The fields of a block, one after the other.
struct Fields(u128);

impl Fields {
    /// Returns the next field, of at most 64 bits.
    #[inline(always)]
    fn next(&mut self, bits: u32) -> u64 {
        let field = self.0 as u64 & !(u64::MAX.checked_shl(bits).unwrap_or(0));
        self.0 >>= bits;
        field
    }

    /// Returns `count` indices, of which those at `anchors` (ascending) lack their highest bit,
    /// which is 0.
    #[inline(always)]
    fn indices(&mut self, bits: u32, anchors: &[u8]) -> u64 {
        let mut indices = self.next(16 * bits - anchors.len() as u32);
        for &anchor in anchors {
            let below = (1 << (u32::from(anchor) * bits + bits - 1)) - 1;
            indices = indices & below | (indices & !below) << 1;
        }
        indices
    }
}

/// Returns the texels of a block as R8G8B8A8, red lowest; a reserved mode gives zeros.
pub(super) fn decode(block: u128) -> [u32; 16] {
    let number = block.trailing_zeros();
    let Some(mode) = MODES.get(number as usize) else { return [0; 16] };
    let mut fields = Fields(block >> (number + 1));
    let partition = fields.next(mode.partition) as usize % 64;
    let rotation = fields.next(mode.rotation) as u32;
    let selection = fields.next(mode.selection);
    let endpoints = endpoints(mode, &mut fields);
    let (subsets, anchors): (u32, &[u8]) = match mode.subsets {
        1 => (0, &[0]),
        2 => (spread(TWO[partition]), &[0, ANCHORS_OF_TWO[partition]]),
        _ => (THREE[partition], &[0, ANCHORS_OF_THREE[partition][0], ANCHORS_OF_THREE[partition][1]]),
    };
    let indices = fields.indices(mode.indices, anchors);
    if mode.second != 0 {
        let second = fields.indices(mode.second, anchors);
        let both = [(indices, mode.indices), (second, mode.second)];
        let [color, alpha] = if selection == 0 { both } else { [both[1], both[0]] };
        return texels_of_two([endpoints[0], endpoints[1]], color, alpha, rotation);
    }
    let weights = WEIGHTS[mode.indices as usize];
    let mut palettes = [[0; 16]; 3];
    for (palette, endpoints) in palettes.iter_mut().zip(endpoints.as_chunks::<2>().0).take(mode.subsets) {
        for (color, &weight) in palette.iter_mut().zip(weights) {
            *color = bytes(between(*endpoints, weight));
        }
    }
    let mask = (1 << mode.indices) - 1;
    core::array::from_fn(|i| {
        let index = indices >> (i as u32 * mode.indices) & mask;
        palettes[(subsets >> (2 * i) & 3) as usize % 3][index as usize % 16]
    })
}

/// Returns the ends of all subsets, with 8 bits per component.
#[inline(always)]
fn endpoints(mode: &Bc7Mode, fields: &mut Fields) -> [u64; 6] {
    let (mut endpoints, count) = ([0; 6], 2 * mode.subsets);
    for c in 0..3 {
        for end in endpoints.iter_mut().take(count) {
            *end |= fields.next(mode.color) << (16 * c);
        }
    }
    if mode.alpha != 0 {
        for end in endpoints.iter_mut().take(count) {
            *end |= fields.next(mode.alpha) << ALPHA;
        }
    }
    let mut low = 0;
    for (i, end) in endpoints.iter_mut().enumerate().take(count) {
        if mode.low == PBits::Unique || mode.low == PBits::Shared && i % 2 == 0 {
            low = fields.next(1);
        }
        if mode.low != PBits::None {
            *end = (*end << 1) | (low * EACH);
        }
    }
    let bits = |stored: u32| stored + u32::from(mode.low != PBits::None);
    let [color, alpha] = [bits(mode.color), bits(mode.alpha)];
    for end in endpoints.iter_mut().take(count) {
        let expanded = expand(*end, color);
        *end = match mode.alpha {
            0 => expanded | 0xff << ALPHA,
            stored if stored == mode.color => expanded,
            _ => expanded & ((1 << ALPHA) - 1) | expand(*end >> ALPHA, alpha) << ALPHA,
        };
    }
    endpoints
}

/// Expands components of 4 to 8 bits to 8 bits, by repeating the highest bits as the lowest.
#[inline(always)]
fn expand(end: u64, bits: u32) -> u64 {
    let shifted = end << (8 - bits) & BYTES;
    shifted | shifted >> bits & BYTES
}

/// Interpolates between two ends.
#[inline(always)]
fn between([first, second]: [u64; 2], weight: u8) -> u64 {
    let weight = u64::from(weight);
    (first * (64 - weight) + second * weight + 32 * EACH) >> 6 & BYTES
}

/// Converts components to bytes.
#[inline(always)]
fn bytes(components: u64) -> u32 {
    let pairs = (components | components >> 8) & 0x0000_ffff_0000_ffff;
    (pairs | pairs >> 16) as u32
}

/// Returns texels whose alpha has separate indices (both arguments are indices and their number of
/// bits), and exchanges alpha with the component that `rotation` selects.
fn texels_of_two(endpoints: [u64; 2], color: (u64, u32), alpha: (u64, u32), rotation: u32) -> [u32; 16] {
    let (mut colors, mut alphas) = ([0; 8], [0; 8]);
    for (to, &weight) in colors.iter_mut().zip(WEIGHTS[color.1 as usize]) {
        *to = bytes(between(endpoints, weight)) & 0x00ff_ffff;
    }
    for (to, &weight) in alphas.iter_mut().zip(WEIGHTS[alpha.1 as usize]) {
        *to = (between(endpoints, weight) >> ALPHA) as u32;
    }
    let at = |(indices, bits): (u64, u32), i: usize| (indices >> (i as u32 * bits)) as usize & ((1 << bits) - 1);
    core::array::from_fn(|i| {
        let (color, alpha) = (colors[at(color, i) % 8], alphas[at(alpha, i) % 8]);
        match rotation {
            0 => color | alpha << 24,
            c => {
                let shift = 8 * (c - 1);
                color & !(0xff << shift) | alpha << shift | (color >> shift & 0xff) << 24
            }
        }
    })
}

/// Spreads a bit per texel to two.
#[inline(always)]
fn spread(bits: u16) -> u32 {
    let bits = u32::from(bits);
    let bits = (bits | bits << 8) & 0x00ff_00ff;
    let bits = (bits | bits << 4) & 0x0f0f_0f0f;
    let bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

/// Partitions into two subsets, with a bit per texel.
const TWO: [u16; 64] = [
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00,
    0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c,
    0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8,
    0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c,
    0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
];

/// Partitions into three subsets, with two bits per texel.
const THREE: [u32; 64] = [
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050, 0xaa550000,
    0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250, 0xa5945040, 0x0a425054,
    0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500, 0x0050a4a4, 0xaaa59090, 0x14696914,
    0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200, 0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424,
    0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50, 0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0,
    0x69286928, 0x44aaaa44, 0x66666600, 0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580,
    0xaa141414, 0x96960000, 0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44,
    0x2a4a5254,
];

/// The texel of the second subset whose index lacks a bit.
const ANCHORS_OF_TWO: [u8; 64] = [
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2,
    15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
];

/// The texels of the second and the third subset whose index lacks a bit, ascending.
const ANCHORS_OF_THREE: [[u8; 2]; 64] = [
    [3, 15],
    [3, 8],
    [8, 15],
    [3, 15],
    [8, 15],
    [3, 15],
    [3, 15],
    [8, 15],
    [8, 15],
    [8, 15],
    [6, 15],
    [6, 15],
    [6, 15],
    [5, 15],
    [3, 15],
    [3, 8],
    [3, 15],
    [3, 8],
    [8, 15],
    [3, 15],
    [3, 15],
    [3, 8],
    [6, 15],
    [8, 10],
    [3, 5],
    [8, 15],
    [6, 8],
    [6, 10],
    [8, 15],
    [5, 15],
    [10, 15],
    [8, 15],
    [8, 15],
    [3, 15],
    [3, 15],
    [5, 10],
    [6, 10],
    [8, 10],
    [8, 9],
    [10, 15],
    [6, 15],
    [3, 15],
    [8, 15],
    [5, 15],
    [3, 15],
    [6, 15],
    [6, 15],
    [8, 15],
    [3, 15],
    [3, 15],
    [5, 15],
    [5, 15],
    [5, 15],
    [8, 15],
    [5, 15],
    [10, 15],
    [5, 15],
    [10, 15],
    [8, 15],
    [13, 15],
    [3, 15],
    [12, 15],
    [3, 15],
    [3, 8],
];

#[cfg(test)]
mod tests {
    use super::{EACH, WEIGHTS, between, decode, expand};
    use crate::random::Rng;

    /// Tests every pair of ends with every weight, and ends of every number of bits, by the
    /// specification's equations.
    #[test]
    fn ends_and_weights_are_exact() {
        for bits in 4..=8 {
            for end in 0..1u64 << bits {
                let want = end << (8 - bits) | end >> (2 * bits - 8);
                assert_eq!(expand(end * EACH, bits as u32), want * EACH, "{end} of {bits} bits");
            }
        }
        for (a, b) in (0..256u64).flat_map(|a| (0..256u64).map(move |b| (a, b))) {
            for &weight in WEIGHTS.iter().copied().flatten() {
                let want = (a * (64 - u64::from(weight)) + b * u64::from(weight) + 32) / 64;
                assert_eq!(between([a * EACH, b * EACH], weight), want * EACH, "{a} {b} {weight}");
            }
        }
    }

    /// Compares all modes with another, independent decoder.
    #[test]
    fn all_modes_match_bcdec() {
        let mut random = Rng(0x0b10_c7b1_0c7b_10c7);
        for round in 0..100_000 {
            let random = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
            let block = (random << 1 | 1) << (round % 9);
            let mut bytes = [0u8; 64];
            bcdec_rs::bc7(&block.to_le_bytes(), &mut bytes, 16);
            let (texels, _) = bytes.as_chunks::<4>();
            let want: [u32; 16] = core::array::from_fn(|i| u32::from_le_bytes(texels[i]));
            assert_eq!(decode(block), want, "{block:x}");
        }
        assert_eq!(decode(0), [0; 16]);
    }
}
