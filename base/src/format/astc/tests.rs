//! Tests with blocks of every kind, written by hand and random.
//!
//! The checksums of decoded random blocks ([`SUMS`]) are those of the reference decoder of the
//! Vulkan conformance tests for the same blocks (`tcuAstcUtil.cpp`, not part of this repository;
//! formats of the API). That decoder rejects void extents with infinite halves, which are kept
//! unchanged here (not-a-number becomes quiet), and ignores their reserved bits.

use super::texels::texels;
use super::*;
use crate::format::{Format, TABLE, decode_block, decode_tiles};
use crate::host::SimdLevel;
use crate::random::Rng;

fn named(name: &str) -> Format {
    Format(TABLE.iter().position(|row| row.name == name).expect("a row") as u16)
}

/// Returns the first texel, and how many texels differ from it.
fn decoded(name: &str, block: u128) -> ([f32; 4], usize) {
    let format = named(name);
    let (width, height) = format.info().block;
    let mut texels = vec![[0; 4]; usize::from(width) * usize::from(height)];
    decode_block(format, &block.to_le_bytes(), &mut texels);
    (texels[0].map(f32::from_bits), texels.iter().filter(|&&texel| texel != texels[0]).count())
}

const MAGENTA: ([f32; 4], usize) = ([1.0, 0.0, 1.0, 1.0], 0);

#[test]
fn void_extents() {
    const LDR: u128 = 0x1234_0000_8001_ffff_ffff_ffff_ffff_fdfc;
    let half = |x: f32| (x * 2048.0).floor() / 2048.0;
    let (linear, others) = decoded("ASTC_12x12_UNORM_BLOCK", LDR);
    // The value 0x1234 has 13 bits, of which a half keeps 11.
    assert_eq!((linear, others), ([1.0, half(0.5), 0.0, f32::from(0x1234u16 & !3) / 65536.0], 0));
    assert_eq!(decoded("ASTC_5x5_SFLOAT_BLOCK", LDR), (linear, 0));
    let bytes = [1.0, 128.0 / 255.0, 0.0, 18.0 / 255.0];
    assert_eq!(decoded("ASTC_8x5_UNORM_BLOCK in bytes", LDR), (bytes, 0));
    let (srgb, _) = decoded("ASTC_8x5_SRGB_BLOCK", LDR);
    assert_eq!([srgb[0], srgb[2], srgb[3]], [1.0, 0.0, bytes[3]]);
    // The halves are -2, 0.5, 65504 and the smallest.
    const HDR: u128 = 0x0001_7bff_3800_c000_ffff_ffff_ffff_fffc;
    assert_eq!(decoded("ASTC_6x6_SFLOAT_BLOCK", HDR), ([-2.0, 0.5, 65504.0, 1.0 / 16_777_216.0], 0));
    // Not-a-number becomes quiet.
    let ([red, ..], _) = decoded("ASTC_6x6_SFLOAT_BLOCK", HDR & !(0xffff << 64) | 0xfc01 << 64);
    assert_eq!(red.to_bits(), 0xffc0_2000);
    for name in ["ASTC_6x6_UNORM_BLOCK", "ASTC_6x6_SRGB_BLOCK", "ASTC_6x6_UNORM_BLOCK in bytes"] {
        assert_eq!(decoded(name, HDR), MAGENTA);
    }
    // An extent must begin before it ends, unless there is none; bits 10 and 11 are set.
    let extent =
        |s: [u128; 2], t: [u128; 2]| LDR & !(((1 << 52) - 1) << 12) | s[0] << 12 | s[1] << 25 | t[0] << 38 | t[1] << 51;
    assert_eq!(decoded("ASTC_4x4_UNORM_BLOCK", extent([1, 2], [0, 8191])), (linear, 0));
    for (s, t) in [([2, 2], [0, 1]), ([0, 1], [9, 8]), ([8191, 8191], [8191, 8190])] {
        assert_eq!(decoded("ASTC_4x4_UNORM_BLOCK", extent(s, t)), MAGENTA);
    }
    assert_eq!(decoded("ASTC_4x4_UNORM_BLOCK", LDR ^ 1 << 10), MAGENTA);
    assert_eq!(decoded("ASTC_4x4_SFLOAT_BLOCK", LDR ^ 1 << 11), MAGENTA);
}

/// A block with a grid of 4×4 weights of two bits and one partition, grey from 0 to 255; the first
/// weight is 3, the second 1.
const GREY: u128 = 0b1110 << 124 | 255 << 25 | 0x42;

#[test]
fn a_block_by_hand() {
    let mut texels = [[0; 4]; 16];
    decode_block(named("ASTC_4x4_UNORM_BLOCK"), &GREY.to_le_bytes(), &mut texels);
    let grey = |i: usize| f32::from_bits(texels[i][0]);
    // The bits 01 become 010101, which is 21 of 64.
    assert_eq!((grey(0), grey(1), grey(2), grey(15)), (1.0, 21504.0 / 65536.0, 0.0, 0.0));
    assert!(texels.iter().all(|t| t[0] == t[1] && t[0] == t[2] && f32::from_bits(t[3]) == 1.0));
    // The value is between the bytes with 128 below: (21 * 0xff80 + 43 * 0x80 + 32) >> 14.
    decode_block(named("ASTC_4x4_SRGB_BLOCK"), &GREY.to_le_bytes(), &mut texels);
    assert_eq!(f32::from_bits(texels[1][0]), crate::format::srgb::srgb_to_linear(84));
    // Logarithms reach 255 << 4, which would be infinite as a half; the result is the value below
    // that.
    let luminance = GREY | 2 << 13;
    assert_eq!(decoded("ASTC_4x4_UNORM_BLOCK", luminance), MAGENTA);
    decode_block(named("ASTC_4x4_SFLOAT_BLOCK"), &luminance.to_le_bytes(), &mut texels);
    let grey = |i: usize| f32::from_bits(texels[i][0]);
    assert_eq!((grey(0), grey(2), f32::from_bits(texels[0][3])), (half_value(0x7bff), 0.0, 1.0));
}

fn half_value(half: u32) -> f32 {
    crate::format::float::half_to_f32(half)
}

#[test]
fn what_is_illegal_is_magenta() {
    for block in [
        // These modes are reserved.
        0,
        0x1c0,
        // There are 12×2 weights in a block of 4×4.
        0x082,
        // There are less than 24 bits of weights (4×2 of one bit).
        0x001,
        // There are two planes and four partitions.
        GREY | 1 << 10 | 3 << 11,
    ] {
        assert_eq!(decoded("ASTC_4x4_UNORM_BLOCK", block), MAGENTA, "{block:x}");
        assert_eq!(decoded("ASTC_4x4_SRGB_BLOCK", block), MAGENTA, "{block:x}");
        assert_eq!(decoded("ASTC_4x4_SFLOAT_BLOCK", block), MAGENTA, "{block:x}");
    }
}

/// Returns random bits after a mode that some block has, and sometimes any bits.
fn random_block(random: &mut Rng) -> u128 {
    let block = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
    match random.below(32) {
        0 => block,
        1 => block & !0x1ff | 0xdfc,
        2 => block | 0xffff_ffff_ffff_fffc,
        _ => loop {
            let mode = random.next() & 0x7ff;
            if mode::MODES[mode as usize].bits != 0 {
                break block & !0x7ff | u128::from(mode);
            }
        },
    }
}

/// Checksums of each row, in order.
const SUMS: [u64; 56] = [
    0x376f2204e5ca5426,
    0x0b57c4c0bc43110a,
    0x3adb094e746bf849,
    0x3a3183aa4cef295d,
    0x4cb2fc4fe7197199,
    0x4add955854199098,
    0xb2c8c0b3a00bedd6,
    0x09e4611bbc9dc84c,
    0x751649e2cf74bfe2,
    0xb624c5862cdd5523,
    0x9abb035961e0ec3a,
    0x0919f86fd6d7d6bd,
    0x192c55529d97afed,
    0x49ca3ef11a35e256,
    0xa14cf46c3ec6a252,
    0x64daaa7f1d480e87,
    0xcc1598e479ac2f67,
    0xc884f108909c4be0,
    0x5268b25dd7857885,
    0x814951418bae4570,
    0xb3b5c2d3e26a416c,
    0x1f875ea7f42ca9a7,
    0xc710d574c5621a76,
    0x72cbb0376b47e200,
    0x3e14d6b26c9334b1,
    0x80e2b6dd8fd7f19e,
    0x55b5aeeb8669aa64,
    0xd8daa76a45945c49,
    0x03983e51f385c58d,
    0xf2321a5eb7cb40c5,
    0x711ef07e20edd56e,
    0x4fa2d40a0e5c6cbd,
    0x7b4c2d31a36924d3,
    0x6d6ef7fa3143b2fd,
    0x96d470b511c95158,
    0xc7d3101e0149d013,
    0x0c521631c5ab3357,
    0x629998f680e1253b,
    0xc2d6b41e40f223b7,
    0xcc2378e2ad42069f,
    0x2c58813dc9ca0bde,
    0xe35642847b01e216,
    0x4fa22a2abf10e687,
    0xdfd2be037a57936a,
    0xcd16c3162940c292,
    0xece696a1848f75cb,
    0xf2677993e43527ce,
    0x10da518ab9cb76d5,
    0x5ad3fa9f16c4cee8,
    0xeac3bba310262ef5,
    0xbd110c9186f403bd,
    0xe93be3950f8cfe20,
    0xb265cec8080c2347,
    0x23b7cab00e67b57c,
    0xc7eb47e25c7938c3,
    0xbfe2381d78fa7dfd,
];

#[test]
fn random_blocks_are_the_references() {
    let mut random = Rng(0xa57c_0000_0000_0001);
    let blocks: Vec<[u8; 16]> = (0..1500).map(|_| random_block(&mut random).to_le_bytes()).collect();
    let is_astc = |row: &&FormatInfo| matches!(row.layout, Layout::Astc | Layout::AstcInBytes);
    let sums: Vec<u64> = TABLE.iter().filter(is_astc).map(|row| sum(row, &blocks)).collect();
    assert_eq!(sums, SUMS);
}

/// Returns the checksum of the words of all texels.
fn sum(row: &FormatInfo, blocks: &[[u8; 16]]) -> u64 {
    let format = Format::from_vk(row.vk).expect("a row");
    let (width, height) = (usize::from(row.block.0), usize::from(row.block.1));
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for block in blocks {
        let mut texels = vec![[0; 2]; width * height];
        decode_tiles(format, block, &mut |tile, [low, high]| {
            for (i, (&low, &high)) in low.iter().zip(high).enumerate() {
                let (x, y) = (tile % 4 * 4 + i % 4, tile / 4 * 4 + i / 4);
                if x < width && y < height {
                    texels[y * width + x] = [low, high];
                }
            }
        });
        for word in texels.into_iter().flatten() {
            sum = (sum ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    sum
}

/// Tests that `decode_unorm8` is the upper byte of the value that `decode_float16` truncates to 11
/// bits: a byte of 256, except that 1 is 255.
#[test]
fn bytes_are_the_upper_ones_and_levels_agree() {
    let mut random = Rng(0xb17e_0000_0000_0003);
    let rows: Vec<&FormatInfo> = TABLE.iter().filter(|row| row.layout == Layout::AstcInBytes).collect();
    for round in 0..4000 {
        let block = random_block(&mut random);
        let row = rows[round % rows.len()];
        let mut halves = [[[0; 16]; 2]; 12];
        let name = row.name.strip_suffix(" in bytes").expect("a name");
        let format = named(name);
        assert_eq!(format.in_bytes().info().name, row.name);
        decode_tiles(format, &block.to_le_bytes(), &mut |tile, words| halves[tile] = *words);
        decode_tiles(format.in_bytes(), &block.to_le_bytes(), &mut |tile, words| {
            for i in (0..16)
                .filter(|i| tile % 4 * 4 + i % 4 < row.block.0.into() && tile / 4 * 4 + i / 4 < row.block.1.into())
            {
                let [low, high] = [halves[tile][0][i], halves[tile][1][i]];
                let want = [low & 0xffff, low >> 16, high & 0xffff, high >> 16]
                    .map(|half| (half_value(half) * 256.0).floor().min(255.0) as u8);
                assert_eq!(words[0][i].to_le_bytes(), want, "{name} {block:x}");
            }
        });
        let size = [row.block.0, row.block.1].map(usize::from);
        for target in [DecodeMode::Ldr, DecodeMode::Hdr, DecodeMode::Bytes, DecodeMode::Srgb] {
            let Some(block) = Block::parse(block, size, target) else { continue };
            let mut all = SimdLevel::all_supported().map(|level| {
                let mut tiles = vec![];
                // SAFETY: the host has the level.
                unsafe { texels(level)(&block, size, target, &mut |tile, words| tiles.push((tile, *words))) };
                tiles
            });
            let first = all.next();
            assert!(all.all(|tiles| Some(tiles) == first));
        }
    }
}
