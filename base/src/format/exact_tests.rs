//! Tests of block-compressed formats against the exact arithmetic of the Khronos Data Format
//! Specification. They cover every pair of ends with every weight of BC1 to BC5 and BC7, and every
//! base, table and multiplier of EAC. (ETC2's colours are compared with a second decoder in
//! `etc2`, those of ASTC with the conformance tests' in `astc`; both are defined in integers.)

use super::float::{fraction_to_half, half_to_f32};
use super::{Format, TABLE, Texel, decode_block};

fn named(name: &str) -> Format {
    Format(TABLE.iter().position(|row| row.name == name).expect("a row") as u16)
}

fn decode(format: Format, block: u128) -> [[f64; 4]; 16] {
    let mut texels: [Texel; 16] = [[0; 4]; 16];
    decode_block(format, &block.to_le_bytes(), &mut texels);
    texels.map(|texel| texel.map(|c| f64::from(f32::from_bits(c))))
}

/// Evaluates the sRGB function as the Khronos Data Format Specification defines it.
fn linear(encoded: f64) -> f64 {
    if encoded <= 0.04045 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

/// Returns true for the byte nearest to an exact value, or one of two that are equally near.
fn is_nearest_byte(got: f64, exact: f64) -> bool {
    let byte = (got * 255.0).round();
    (byte / 255.0 - got).abs() < 1e-7 && (byte - exact * 255.0).abs() < 0.5 + 1e-9
}

/// Returns true for the half nearest to an exact value, or one of two that are equally near.
fn is_nearest_half(got: f64, exact: f64) -> bool {
    let step = 2f64.powf(exact.log2().floor().max(-14.0) - 10.0);
    f64::from(half_to_f32(u32::from(fraction_to_half(got)))) == got && (got - exact).abs() <= step * (0.5 + 1e-9)
}

/// Returns the weights of the first end by a texel's two bits, and their denominator; with three
/// colours the last one is black.
fn color_weights(three: bool) -> ([u32; 4], u32) {
    if three { ([2, 0, 1, 0], 2) } else { ([3, 0, 2, 1], 3) }
}

/// Tests every pair of ends of five and of six bits with every index, in both orders of the ends.
#[test]
fn colors_of_bc1_bc2_and_bc3_are_exact() {
    let names = [
        ("BC1_RGB_UNORM_BLOCK", "BC1_RGB_SRGB_BLOCK"),
        ("BC1_RGBA_UNORM_BLOCK", "BC1_RGBA_SRGB_BLOCK"),
        ("BC2_UNORM_BLOCK", "BC2_SRGB_BLOCK"),
        ("BC3_UNORM_BLOCK", "BC3_SRGB_BLOCK"),
    ];
    let names = names.map(|(unorm, srgb)| (unorm, named(unorm), named(srgb)));
    for (a, b) in (0..64u32).flat_map(|a| (0..64u32).map(move |b| (a, b))) {
        // Red has the lower bits of both numbers, blue the upper ones, and green all.
        let end = |n: u32| (n & 31) << 11 | n << 5 | n >> 1;
        let [first, second] = [end(a), end(b)];
        let block = u128::from(first | second << 16) | 0xe4e4_e4e4 << 32;
        for (name, unorm, srgb) in names {
            let is_bc1 = name.starts_with("BC1");
            let three = is_bc1 && first <= second;
            let block = if is_bc1 { block } else { block << 64 };
            let (weights, all) = color_weights(three);
            let [unorm, srgb] = [unorm, srgb].map(|format| decode(format, block));
            for i in 0..4 {
                let is_black = three && i == 3;
                let exact = |a: u32, b: u32, max: u32| {
                    let sum = a * weights[i] + b * (all - weights[i]);
                    if is_black { 0.0 } else { f64::from(sum) / f64::from(all * max) }
                };
                let color = [exact(a & 31, b & 31, 31), exact(a, b, 63), exact(a >> 1, b >> 1, 31)];
                for (c, color) in color.into_iter().enumerate() {
                    assert!(is_nearest_byte(unorm[i][c], color), "{name} {a} {b} {i} {c}: {} {color}", unorm[i][c]);
                    let want = linear(color);
                    assert!(is_nearest_half(srgb[i][c], want), "{name} {a} {b} {i} {c}: {} {want}", srgb[i][c]);
                }
                if is_bc1 {
                    let alpha = if is_black && name.starts_with("BC1_RGBA") { 0.0 } else { 1.0 };
                    assert_eq!([unorm[i][3], srgb[i][3]], [alpha; 2], "{name} {a} {b} {i}");
                }
            }
        }
    }
    // The fraction 24 of 31 is 143.06 of 255 as a linear value; from the nearest byte, 197, it
    // would be 142.4.
    let red = decode(named("BC1_RGB_SRGB_BLOCK"), 24 << 11)[0][0];
    assert_eq!((red * 255.0).round(), 143.0);
}

/// Returns the weights of the first end by three bits, and their denominator; the last two are 0
/// and 1 with fifths.
fn alpha_weights(sevenths: bool) -> ([f64; 8], f64) {
    if sevenths {
        ([7.0, 0.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 7.0)
    } else {
        ([5.0, 0.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0], 5.0)
    }
}

/// Tests every pair of ends of eight bits with every index (BC3's alpha, BC4 and BC5), and every
/// alpha of BC2.
#[test]
fn single_components_of_bc2_to_bc5_are_exact() {
    let alpha = ["BC3_UNORM_BLOCK", "BC3_SRGB_BLOCK"].map(named);
    let [bc4, bc4_signed, bc5, bc5_signed] =
        ["BC4_UNORM_BLOCK", "BC4_SNORM_BLOCK", "BC5_UNORM_BLOCK", "BC5_SNORM_BLOCK"].map(named);
    // The first eight texels have the indices from 0 to 7.
    let indices = (0..8).fold(0, |all, i: u128| all | i << (16 + 3 * i));
    for (a, b) in (0..256u32).flat_map(|a| (0..256u32).map(move |b| (a, b))) {
        let block = u128::from(a | b << 8) | indices;
        let exact = |signed: bool, i: usize| {
            let value =
                |n: u32| if signed { (f64::from(n as u8 as i8) / 127.0).max(-1.0) } else { f64::from(n) / 255.0 };
            let sevenths = value(a) > value(b);
            let (weights, all) = alpha_weights(sevenths);
            match i {
                6 if !sevenths => {
                    if signed {
                        -1.0
                    } else {
                        0.0
                    }
                }
                7 if !sevenths => 1.0,
                _ => (weights[i] * value(a) + (all - weights[i]) * value(b)) / all,
            }
        };
        let [unorm, srgb] = alpha.map(|format| decode(format, block));
        let [four, four_signed] = [bc4, bc4_signed].map(|format| decode(format, block));
        let both = block | block << 64;
        let [five, five_signed] = [bc5, bc5_signed].map(|format| decode(format, both));
        for i in 0..8 {
            let [unsigned, signed] = [false, true].map(|signed| exact(signed, i));
            assert!(is_nearest_byte(unorm[i][3], unsigned), "BC3 {a} {b} {i}: {} {unsigned}", unorm[i][3]);
            assert!(is_nearest_half(srgb[i][3], unsigned), "BC3 sRGB {a} {b} {i}: {} {unsigned}", srgb[i][3]);
            for (got, want) in [(four[i], unsigned), (four_signed[i], signed)] {
                assert!((got[0] - want).abs() < 2e-7, "BC4 {a} {b} {i}: {} {want}", got[0]);
            }
            assert_eq!([five[i][0], five[i][1]], [four[i][0]; 2]);
            assert_eq!([five_signed[i][0], five_signed[i][1]], [four_signed[i][0]; 2]);
        }
    }
    let block = 0xfedc_ba98_7654_3210;
    for (name, is_near) in [("BC2_UNORM_BLOCK", is_nearest_byte as fn(_, _) -> _), ("BC2_SRGB_BLOCK", is_nearest_half)]
    {
        for (i, texel) in decode(named(name), block).into_iter().enumerate() {
            assert!(is_near(texel[3], i as f64 / 15.0), "{name} {i}: {}", texel[3]);
        }
    }
}

/// Tests every base, table, multiplier and index of EAC, as alpha and as 11 bits with and without a
/// sign.
#[test]
fn eac_is_exact() {
    let [alpha, unsigned, signed] =
        ["ETC2_R8G8B8A8_UNORM_BLOCK", "EAC_R11_UNORM_BLOCK", "EAC_R11_SNORM_BLOCK"].map(named);
    // This is the first half of the specification's table; the others are -1 minus these.
    #[rustfmt::skip]
    let small: [[i32; 4]; 16] = [
        [-3, -6, -9, -15], [-3, -7, -10, -13], [-2, -5, -8, -13], [-2, -4, -6, -13],
        [-3, -6, -8, -12], [-3, -7, -9, -11], [-4, -7, -8, -11], [-3, -5, -8, -11],
        [-2, -6, -8, -10], [-2, -5, -8, -10], [-2, -4, -8, -10], [-2, -5, -7, -10],
        [-3, -4, -7, -10], [-1, -2, -3, -10], [-4, -6, -8, -9], [-3, -5, -7, -9],
    ];
    // Texels are numbered column by column, from the highest bits on.
    let indices = (0..8).fold(0u64, |all, i| all | i << (45 - 3 * i));
    for (base, rest) in (0..256u64).flat_map(|base| (0..256u64).map(move |rest| (base, rest))) {
        let block = (base << 56 | rest << 48 | indices).to_be_bytes();
        let block = u128::from(u64::from_le_bytes(block));
        let (multiplier, table) = ((rest >> 4) as i32, small[rest as usize & 15]);
        let got = [alpha, unsigned, signed].map(|format| decode(format, block));
        for i in 0..8 {
            let modifier = if i < 4 { table[i] } else { -1 - table[i - 4] };
            let at = i % 4 * 4 + i / 4;
            let byte = (base as i32 + modifier * multiplier).clamp(0, 255);
            let step = if multiplier == 0 { modifier } else { modifier * multiplier * 8 };
            let eleven = (base as i32 * 8 + 4 + step).clamp(0, 2047);
            let with_sign = (i32::from(base as u8 as i8).max(-127) * 8 + step).clamp(-1023, 1023);
            let want = [f64::from(byte) / 255.0, f64::from(eleven) / 2047.0, f64::from(with_sign) / 1023.0];
            for (got, want) in [got[0][at][3], got[1][at][0], got[2][at][0]].into_iter().zip(want) {
                assert!((got - want).abs() < 1e-7, "{base} {rest} {i}: {got} {want}");
            }
        }
    }
}

/// Tests the conversion of fractions to halves: every half is preserved, and values between two
/// become the nearer one.
#[test]
fn fractions_are_the_nearest_halves() {
    for half in 0..0x3c00u16 {
        let [low, high] = [half, half + 1].map(|half| f64::from(half_to_f32(half.into())));
        assert_eq!(fraction_to_half(low), half);
        let middle = (low + high) / 2.0;
        assert_eq!(fraction_to_half(middle), half + (half & 1));
        assert_eq!(fraction_to_half(middle.next_down()), half);
        assert_eq!(fraction_to_half(middle.next_up()), half + 1);
    }
    assert_eq!(fraction_to_half(1.0), 0x3c00);
}
