//! Decoding of ETC2 and EAC blocks to texels of a plain format (Khronos Data Format Specification,
//! "ETC2 Compressed Texture Image Formats").
//!
//! A block is a big-endian number, in which texels are numbered column by column; here they are
//! numbered row by row. Colours become bytes, and EAC's 11 bits become floats.

#![forbid(unsafe_code)]

use super::FormatInfo;
use super::row::DecodedTile;
use super::{ChannelName, ChannelType};

/// Offsets that the smaller and the larger index of a table add to a half's base colour.
const MODIFIERS: [[i32; 2]; 8] = [[2, 8], [5, 17], [9, 29], [13, 42], [18, 60], [24, 80], [33, 106], [47, 183]];
/// Distances of the T and H modes.
const DISTANCES: [i32; 8] = [3, 6, 11, 16, 23, 32, 41, 64];
/// Modifiers of EAC; the second four of a table are the first four, negated and reduced by one.
const EAC: [[i32; 4]; 16] = [
    [-3, -6, -9, -15],
    [-3, -7, -10, -13],
    [-2, -5, -8, -13],
    [-2, -4, -6, -13],
    [-3, -6, -8, -12],
    [-3, -7, -9, -11],
    [-4, -7, -8, -11],
    [-3, -5, -8, -11],
    [-2, -6, -8, -10],
    [-2, -5, -8, -10],
    [-2, -4, -8, -10],
    [-2, -5, -7, -10],
    [-3, -4, -7, -10],
    [-1, -2, -3, -10],
    [-4, -6, -8, -9],
    [-3, -5, -7, -9],
];

/// A colour that is not clamped to bytes yet.
type EtcRgb = [i32; 3];

/// Returns the texels of the block at the start of `block`, in the format's plain format.
pub(super) fn decode(info: &FormatInfo, block: &[u8; 16]) -> DecodedTile {
    let half = |i: usize| u64::from_be_bytes(core::array::from_fn(|byte| block[8 * i + byte]));
    let alpha = info.channels[..usize::from(info.channel_count)].iter().any(|c| c.name == ChannelName::A);
    let eleven = |half: u64| match info.channels[0].ty {
        ChannelType::Snorm => eac(half).map(|[base, add, factor]| signed_11(base, add, factor)),
        _ => eac(half).map(|[base, add, factor]| unsigned_11(base, add, factor)),
    };
    match (info.channel_count, info.block_bytes) {
        (1, _) => [eleven(half(0)), [0; 16]],
        (2, _) => [eleven(half(0)), eleven(half(1))],
        (_, 8) => [colours(half(0), alpha), [0; 16]],
        _ => {
            let (colours, alpha) = (colours(half(1), false), eac(half(0)));
            let texel = |i: usize| {
                let [base, add, factor] = alpha[i];
                colours[i] & 0x00ff_ffff | ((base + add * factor).clamp(0, 255) as u32) << 24
            };
            [core::array::from_fn(texel), [0; 16]]
        }
    }
}

/// Returns `count` bits whose lowest is bit `low`.
fn bits(block: u64, low: u32, count: u32) -> i32 {
    (block >> low & ((1 << count) - 1)) as i32
}

fn extend4(c: EtcRgb) -> EtcRgb {
    c.map(|c| c << 4 | c)
}

fn extend5(c: EtcRgb) -> EtcRgb {
    c.map(|c| c << 3 | c >> 2)
}

fn plus(c: EtcRgb, add: i32) -> EtcRgb {
    c.map(|c| c + add)
}

fn packed(c: EtcRgb) -> u32 {
    let [r, g, b] = c.map(|c| c.clamp(0, 255) as u32);
    r | g << 8 | b << 16 | 0xff00_0000
}

/// Returns the two bits of texel `i` (counted row by row).
fn index(block: u64, i: usize) -> usize {
    let at = (i % 4 * 4 + i / 4) as u32;
    (bits(block, 16 + at, 1) << 1 | bits(block, at, 1)) as usize
}

/// Returns the texels of a block of colours; with `punch`, bit 33 means that all texels are opaque.
fn colours(block: u64, punch: bool) -> [u32; 16] {
    let bit = bits(block, 33, 1) != 0;
    let (differential, holes) = (punch || bit, punch && !bit);
    let first = [59, 51, 43].map(|low| bits(block, low, 5));
    let second = [56, 48, 40].map(|low| bits(block, low, 3));
    // The number has three bits with a sign.
    let second: EtcRgb = core::array::from_fn(|c| first[c] + (second[c] ^ 4) - 4);
    let outside = second.map(|c| !(0..32).contains(&c));
    match outside {
        _ if !differential => {
            let base = |low: u32| extend4([56 + low, 48 + low, 40 + low].map(|low| bits(block, low, 4)));
            halves(block, [base(4), base(0)], false)
        }
        [true, ..] => t_mode(block, holes),
        [_, true, _] => h_mode(block, holes),
        [.., true] => planar(block),
        _ => halves(block, [extend5(first), extend5(second)], holes),
    }
}

/// Decodes the individual and differential modes: two halves, each with a colour and a table.
fn halves(block: u64, base: [EtcRgb; 2], holes: bool) -> [u32; 16] {
    let flipped = bits(block, 32, 1) != 0;
    let tables = [37, 34].map(|low| MODIFIERS[bits(block, low, 3) as usize]);
    core::array::from_fn(|i| {
        let half = usize::from(if flipped { i >= 8 } else { i % 4 >= 2 });
        let [small, large] = tables[half];
        let modifier = match index(block, i) {
            2 if holes => return 0,
            0 if holes => 0,
            0 => small,
            1 => large,
            2 => -small,
            _ => -large,
        };
        packed(plus(base[half], modifier))
    })
}

/// Selects one of four colours for each texel.
fn painted(block: u64, paint: [EtcRgb; 4], holes: bool) -> [u32; 16] {
    core::array::from_fn(|i| match index(block, i) {
        2 if holes => 0,
        index => packed(paint[index]),
    })
}

fn t_mode(block: u64, holes: bool) -> [u32; 16] {
    let red = bits(block, 59, 2) << 2 | bits(block, 56, 2);
    let first = extend4([red, bits(block, 52, 4), bits(block, 48, 4)]);
    let second = extend4([44, 40, 36].map(|low| bits(block, low, 4)));
    let distance = DISTANCES[(bits(block, 34, 2) << 1 | bits(block, 32, 1)) as usize];
    painted(block, [first, plus(second, distance), second, plus(second, -distance)], holes)
}

fn h_mode(block: u64, holes: bool) -> [u32; 16] {
    let green = bits(block, 56, 3) << 1 | bits(block, 52, 1);
    let blue = bits(block, 51, 1) << 3 | bits(block, 47, 3);
    let first = [bits(block, 59, 4), green, blue];
    let second = [43, 39, 35].map(|low| bits(block, low, 4));
    // The order of the two colours is the lowest bit.
    let order = usize::from(first >= second);
    let distance = DISTANCES[(bits(block, 34, 1) << 2 | bits(block, 32, 1) << 1) as usize | order];
    let (first, second) = (extend4(first), extend4(second));
    let paint = [plus(first, distance), plus(first, -distance), plus(second, distance), plus(second, -distance)];
    painted(block, paint, holes)
}

/// Decodes a plane through three colours: at the first texel, and four texels further right and
/// down.
fn planar(block: u64) -> [u32; 16] {
    let six = |c: i32| c << 2 | c >> 4;
    let seven = |c: i32| c << 1 | c >> 6;
    let green = bits(block, 56, 1) << 6 | bits(block, 49, 6);
    let blue = bits(block, 48, 1) << 5 | bits(block, 43, 2) << 3 | bits(block, 39, 3);
    let origin = [six(bits(block, 57, 6)), seven(green), six(blue)];
    let red = bits(block, 34, 5) << 1 | bits(block, 32, 1);
    let right = [six(red), seven(bits(block, 25, 7)), six(bits(block, 19, 6))];
    let below = [six(bits(block, 13, 6)), seven(bits(block, 6, 7)), six(bits(block, 0, 6))];
    core::array::from_fn(|i| {
        let (x, y) = ((i % 4) as i32, (i / 4) as i32);
        let at = |c: usize| (x * (right[c] - origin[c]) + y * (below[c] - origin[c]) + 4 * origin[c] + 2) >> 2;
        packed(core::array::from_fn(at))
    })
}

/// Returns, for each texel, the base, the modifier of its index, and the factor of the modifier.
fn eac(block: u64) -> [[i32; 3]; 16] {
    let table = EAC[bits(block, 48, 4) as usize];
    core::array::from_fn(|i| {
        let at = (i % 4 * 4 + i / 4) as u32;
        let index = bits(block, 45 - 3 * at, 3) as usize;
        let add = if index < 4 { table[index] } else { -1 - table[index - 4] };
        [bits(block, 56, 8), add, bits(block, 52, 4)]
    })
}

/// Returns the offset of the index in units of the 11 bits; a factor of 0 means an eighth.
fn step(add: i32, factor: i32) -> i32 {
    if factor == 0 { add } else { add * factor * 8 }
}

fn unsigned_11(base: i32, add: i32, factor: i32) -> u32 {
    let value = (base * 8 + 4 + step(add, factor)).clamp(0, 2047);
    (value as f32 / 2047.0).to_bits()
}

fn signed_11(base: i32, add: i32, factor: i32) -> u32 {
    let base = i32::from(base as u8 as i8).max(-127);
    let value = (base * 8 + step(add, factor)).clamp(-1023, 1023);
    (value as f32 / 1023.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::super::row::ONE;
    use super::super::{Format, TABLE, Texel, decode_block};
    use crate::random::Rng;

    fn decode(name: &str, bytes: &[u8]) -> [Texel; 16] {
        let row = TABLE.iter().position(|row| row.name == name).expect("a row");
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        let mut texels = [[0; 4]; 16];
        decode_block(Format(row as u16), &block, &mut texels);
        texels
    }

    /// Computes one texel by the specification's tables: fields are given by their highest and
    /// lowest bit, with all four table columns, column and row.
    fn reference(block: u64, punch: bool, x: u64, y: u64) -> [i64; 4] {
        let f = |high: u64, low: u64| (block >> low & ((1 << (high - low + 1)) - 1)) as i64;
        let texel = 4 * x + y;
        let index = f(16 + texel, 16 + texel) * 2 + f(texel, texel);
        let byte = |c: [i64; 3]| [c[0].clamp(0, 255), c[1].clamp(0, 255), c[2].clamp(0, 255), 255];
        let (x4, x5) = (|v: i64| v * 17, |v: i64| v * 8 + v / 4);
        let opaque = !punch || f(33, 33) == 1;
        let (individual, hole) = (!punch && f(33, 33) == 0, !opaque && index == 2);
        let signed = |v: i64| if v > 3 { v - 8 } else { v };
        let sums = [(63, 58), (55, 50), (47, 42)].map(|(high, low)| f(high, high - 4) + signed(f(low, low - 2)));
        let bad = |c: usize| !individual && !(0..=31).contains(&sums[c]);
        let distances = [3, 6, 11, 16, 23, 32, 41, 64];
        let add = |c: [i64; 3], d: i64| byte([c[0] + d, c[1] + d, c[2] + d]);
        if bad(0) {
            let one = [f(60, 59) * 4 + f(57, 56), f(55, 52), f(51, 48)].map(x4);
            let two = [f(47, 44), f(43, 40), f(39, 36)].map(x4);
            let d = distances[(f(35, 34) * 2 + f(32, 32)) as usize];
            return if hole { [0; 4] } else { [byte(one), add(two, d), byte(two), add(two, -d)][index as usize] };
        }
        if bad(1) {
            let one = [f(62, 59), f(58, 56) * 2 + f(52, 52), f(51, 51) * 8 + f(49, 47)];
            let two = [f(46, 43), f(42, 39), f(38, 35)];
            let number = |c: [i64; 3]| c[0] * 65536 + c[1] * 256 + c[2];
            let last = i64::from(number(one) >= number(two));
            let d = distances[(f(34, 34) * 4 + f(32, 32) * 2 + last) as usize];
            let (one, two) = (one.map(x4), two.map(x4));
            return if hole { [0; 4] } else { [add(one, d), add(one, -d), add(two, d), add(two, -d)][index as usize] };
        }
        let (x, y) = (x as i64, y as i64);
        if bad(2) {
            let (x6, x7) = (|v: i64| v * 4 + v / 16, |v: i64| v * 2 + v / 64);
            let plane = |o: i64, h: i64, v: i64| (x * (h - o) + y * (v - o) + 4 * o + 2).div_euclid(4);
            let red = plane(x6(f(62, 57)), x6(f(38, 34) * 2 + f(32, 32)), x6(f(18, 13)));
            let green = plane(x7(f(56, 56) * 64 + f(54, 49)), x7(f(31, 25)), x7(f(12, 6)));
            let blue = f(48, 48) * 32 + f(44, 43) * 8 + f(41, 39);
            return byte([red, green, plane(x6(blue), x6(f(24, 19)), x6(f(5, 0)))]);
        }
        let second = if f(32, 32) == 1 { y > 1 } else { x > 1 };
        let base = match (individual, second) {
            (true, false) => [f(63, 60), f(55, 52), f(47, 44)].map(x4),
            (true, true) => [f(59, 56), f(51, 48), f(43, 40)].map(x4),
            (false, false) => [f(63, 59), f(55, 51), f(47, 43)].map(x5),
            (false, true) => sums.map(x5),
        };
        let codeword = if second { f(36, 34) } else { f(39, 37) };
        let small = [2, 5, 9, 13, 18, 24, 33, 47][codeword as usize];
        let large = [8, 17, 29, 42, 60, 80, 106, 183][codeword as usize];
        let modifiers = if opaque { [small, large, -small, -large] } else { [0, large, 0, -large] };
        if hole { [0; 4] } else { add(base, modifiers[index as usize]) }
    }

    #[test]
    fn colours_match_the_reference() {
        let mut random = Rng(0xe7c2_0000_0001);
        let mut modes = [0; 4];
        for _ in 0..20_000 {
            let block = random.next_u64();
            for (name, punch) in [("ETC2_R8G8B8_UNORM_BLOCK", false), ("ETC2_R8G8B8A1_UNORM_BLOCK", true)] {
                let texels = decode(name, &block.to_be_bytes());
                for i in 0..16 {
                    let want = reference(block, punch, i % 4, i / 4).map(|c| (c as f32 / 255.0).to_bits());
                    assert_eq!(texels[i as usize], want, "{name} {block:x} {i}");
                }
                modes[usize::from(texels.iter().any(|t| t[3] == 0))] += 1;
            }
        }
        assert!(modes[0] > 10_000 && modes[1] > 5_000, "{modes:?}");
    }

    /// Tests handwritten blocks of one colour or number each; texels are numbered column by column.
    #[test]
    fn known_blocks() {
        let f = |x: f32| x.to_bits();
        // Individual mode: colours 0x8 and 0x0, table 0, all indices 0.
        let individual = decode("ETC2_R8G8B8_UNORM_BLOCK", &[0x80, 0x80, 0x80, 0, 0, 0, 0, 0]);
        let grey = f((0x88 + 2) as f32 / 255.0);
        assert_eq!(
            (individual[0], individual[3]),
            ([grey, grey, grey, ONE], [f(2.0 / 255.0), f(2.0 / 255.0), f(2.0 / 255.0), ONE])
        );
        // Alpha is 100 + 14 × 1 in the texel below the first (number 1), with index 7; all others
        // have index 0: 100 - 3.
        let mut block = [100, 0x10, 7 << 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let alpha =
            |block: &[u8]| decode("ETC2_R8G8B8A8_SRGB_BLOCK", block).map(|t| (f32::from_bits(t[3]) * 255.0).round());
        assert_eq!((alpha(&block)[0], alpha(&block)[4], alpha(&block)[1]), (97.0, 114.0, 97.0));
        // With 11 bits, the value is 8 × base + 4 plus eight times the modifier; a factor of 0 is
        // an eighth.
        let eleven = |block: &[u8]| decode("EAC_R11_UNORM_BLOCK", block);
        assert_eq!(eleven(&block)[4], [f((804 + 14 * 8) as f32 / 2047.0), 0, 0, ONE]);
        block[1] = 0;
        assert_eq!(eleven(&block)[4], [f((804 + 14) as f32 / 2047.0), 0, 0, ONE]);
        // The base -128 counts as -127, and the sum is clamped.
        block[..2].copy_from_slice(&[0x80, 0xf0]);
        let signed = decode("EAC_R11G11_SNORM_BLOCK", &block);
        assert_eq!(
            (signed[0], signed[4]),
            ([f(-1.0), f(-3.0 / 1023.0), 0, ONE], [f((-1016 + 14 * 15 * 8) as f32 / 1023.0), f(-3.0 / 1023.0), 0, ONE])
        );
    }
}
