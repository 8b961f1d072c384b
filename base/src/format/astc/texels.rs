//! The texels of a legal block, 16 at a time. Each has a weight, from a grid that is usually
//! coarser than the block, and a partition. Its colour is interpolated between the two colours of
//! its partition.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::{Block, DecodeMode};
use crate::format::row::DecodedTile;
use crate::host::SimdLevel;

/// Number of texels of a tile.
const N: usize = 16;
/// A value for each texel of a tile.
type Lanes<T> = [T; N];
/// Largest number of texels of a block in each direction.
const MAX_BLOCK_SIDE: usize = 12;
/// Number of texels of a row, padded for vectors.
const ROW: usize = 16;
/// Largest number of tiles of a block.
const TILES: usize = 12;

/// Passes on a block's tiles (`blocks::decode_tiles`).
pub fn of(block: &Block, size: [usize; 2], target: DecodeMode, give: &mut dyn FnMut(usize, &DecodedTile)) {
    // SAFETY: the level is the host's own.
    unsafe { texels(SimdLevel::detect())(block, size, target, give) }
}

crate::multiversion! {
    /// Passes on a block's tiles, compiled for a level (see [`of`]).
    pub(super) unsafe fn texels (block: &Block, size: [usize; 2], target: DecodeMode, give: &mut dyn FnMut(usize, &DecodedTile)) {
        block.texels(size, target, give);
    }
}

/// The value 1.0 as a half.
pub const HALF_ONE: u32 = 0x3c00;

/// Converts UNORM16 to a half: truncated, and divided by 65536, except that the greatest value is
/// 1.
#[inline(always)]
pub fn half(unorm: u32) -> u32 {
    // Halves below 2^-14, for 0 to 3 of 65536, have no leading one.
    let normal = ((unorm as i32 as f32).to_bits() >> 13).wrapping_sub(128 << 10);
    let below = if unorm < 4 { unorm << 8 } else { normal };
    if unorm == 0xffff { HALF_ONE } else { below }
}

/// Converts a logarithm of 16 bits to a half: an exponent and a piecewise linear fraction. The
/// result is never infinite.
#[inline(always)]
fn half_of_logarithm(log: u32) -> u32 {
    let fraction = log & 0x7ff;
    let bent = if fraction < 512 {
        3 * fraction
    } else if fraction >= 1536 {
        (5 * fraction).wrapping_sub(2048)
    } else {
        (4 * fraction).wrapping_sub(512)
    };
    ((log >> 11 << 10) + (bent >> 3)).min(0x7bff)
}

impl Block {
    #[inline(always)]
    fn texels(&self, size: [usize; 2], target: DecodeMode, give: &mut dyn FnMut(usize, &DecodedTile)) {
        let planes = usize::from(self.mode.planes);
        let first = self.weights(0, size);
        let second = if planes == 2 { self.weights(1, size) } else { [[0; N]; TILES] };
        let pattern = Pattern::new(self.seed, self.partitions as u32, size[0] * size[1] < 31);
        for y in 0..size[1].div_ceil(4) {
            for x in 0..size[0].div_ceil(4) {
                let tile = 4 * y + x;
                let partition = if self.partitions > 1 { pattern.tile(x, y) } else { [0; N] };
                let mut all = [[0; N]; 4];
                for (c, out) in all.iter_mut().enumerate() {
                    let weights = if c == self.second { &second[tile] } else { &first[tile] };
                    self.component(c, target, weights, &partition, out);
                }
                let mut words = [[0; N]; 2];
                for i in 0..N {
                    [words[0][i], words[1][i]] = target.pack([all[0][i], all[1][i], all[2][i], all[3][i]]);
                }
                give(tile, &words);
            }
        }
    }

    /// Returns the weights of a plane at the texels of the block, tile by tile, interpolated
    /// between those of the grid.
    #[inline(always)]
    fn weights(&self, plane: usize, size: [usize; 2]) -> [Lanes<i16>; TILES] {
        let (width, height) = (usize::from(self.mode.width), usize::from(self.mode.height));
        let planes = usize::from(self.mode.planes);
        let mut out = [[0; N]; TILES];
        if [width, height] == size {
            // Each texel has its own weight.
            for y in 0..height {
                for x in 0..width {
                    let at = (y * width + x) * planes + plane;
                    out[(4 * (y / 4) + x / 4) % TILES][4 * (y % 4) + x % 4] =
                        i16::from(self.weights[at % self.weights.len()]);
                }
            }
            return out;
        }
        let (columns, rows) = (places(size[0], width), places(size[1], height));
        // These are rows of the grid, with the two weights between which each texel of a row lies.
        let (mut near, mut far) = ([[0i16; ROW]; MAX_BLOCK_SIDE + 1], [[0i16; ROW]; MAX_BLOCK_SIDE + 1]);
        for y in 0..height {
            for x in 0..size[0] {
                let at = (y * width + usize::from(columns[x] >> 4)) * planes + plane;
                near[y][x] = i16::from(self.weights[at % self.weights.len()]);
                far[y][x] = i16::from(self.weights[(at + planes) % self.weights.len()]);
            }
        }
        let across = columns.map(|place| i16::from(place & 15));
        for (y, &place) in rows[..size[1]].iter().enumerate() {
            let (at, down) = (usize::from(place >> 4) % MAX_BLOCK_SIDE, i16::from(place & 15));
            let (near, far) = ([&near[at], &near[at + 1]], [&far[at], &far[at + 1]]);
            let mut row = [0; ROW];
            for x in 0..ROW {
                let both = (across[x] * down + 8) >> 4;
                let sum = near[0][x] * (16 - across[x] - down + both)
                    + far[0][x] * (across[x] - both)
                    + near[1][x] * (down - both)
                    + far[1][x] * both;
                row[x] = (sum + 8) >> 4;
            }
            for (tile, row) in out[4 * (y / 4)..].iter_mut().zip(row.as_chunks::<4>().0) {
                tile.as_chunks_mut().0[y % 4] = *row;
            }
        }
        out
    }

    /// Computes a component of a tile's texels in packed form.
    #[inline(always)]
    fn component(
        &self,
        c: usize,
        target: DecodeMode,
        weights: &Lanes<i16>,
        partition: &Lanes<i16>,
        out: &mut Lanes<u32>,
    ) {
        let (mut low, mut high, mut log) = ([0; N], [0; N], [0; N]);
        let (mut logs, mut numbers) = (false, false);
        for (p, ends) in (0..).zip(&self.ends[..self.partitions]) {
            let [l, h] = [ends.colours[0][c] as i16, ends.colours[1][c] as i16];
            let is_log = ends.logarithms[usize::from(c == 3)];
            choose(partition, p, l, &mut low);
            choose(partition, p, h, &mut high);
            choose(partition, p, i16::from(is_log), &mut log);
            (logs, numbers) = (logs | is_log, numbers | !is_log);
        }
        match target {
            // This is (256 * sum + 64 * 128 + 32) >> 14.
            DecodeMode::Srgb => between_bytes(&low, &high, weights, out, |sum| (sum + 32) >> 6),
            DecodeMode::Bytes => between_bytes(&low, &high, weights, out, |sum| (257 * sum + 32) >> 14),
            _ if numbers => between_bytes(&low, &high, weights, out, |sum| half((257 * sum + 32) >> 6 & 0xffff)),
            _ => {}
        }
        if logs {
            between_logarithms(&low, &high, weights, &log, out);
        }
    }
}

/// Stores a number in the lanes of a partition and of those after it.
#[inline(always)]
fn choose(partition: &Lanes<i16>, of: i16, number: i16, out: &mut Lanes<i16>) {
    for i in 0..N {
        out[i] = if partition[i] >= of { number } else { out[i] };
    }
}

/// Interpolates between two bytes, and converts 64 times the result. A byte becomes UNORM16 by
/// repetition, or for sRGB by appending a half.
#[inline(always)]
fn between_bytes(
    low: &Lanes<i16>,
    high: &Lanes<i16>,
    weights: &Lanes<i16>,
    out: &mut Lanes<u32>,
    of: impl Fn(u32) -> u32,
) {
    for i in 0..N {
        // The sum has 14 bits; lanes of logarithms, which are replaced, have any value.
        let sum = low[i].wrapping_mul(64 - weights[i]).wrapping_add(high[i].wrapping_mul(weights[i]));
        out[i] = of(u32::from(sum as u16));
    }
}

/// Interpolates between two logarithms of 12 bits, in the lanes that have them.
#[inline(always)]
fn between_logarithms(
    low: &Lanes<i16>,
    high: &Lanes<i16>,
    weights: &Lanes<i16>,
    log: &Lanes<i16>,
    out: &mut Lanes<u32>,
) {
    for i in 0..N {
        let sum = i32::from(low[i]) * i32::from(64 - weights[i]) + i32::from(high[i]) * i32::from(weights[i]);
        // With four bits below, this is (16 * sum + 32) >> 6.
        let value = half_of_logarithm((sum as u32 + 2) >> 2);
        out[i] = if log[i] != 0 { value } else { out[i] };
    }
}

/// Returns the positions of texels in the grid along an axis, in 16ths.
#[inline(always)]
fn places(texels: usize, weights: usize) -> [u8; ROW] {
    let (texels, steps) = (texels as u32, weights as u32 - 1);
    let scale = (1024 + texels / 2) / (texels - 1);
    let mut out = [0; ROW];
    for (out, texel) in out.iter_mut().zip(0..texels) {
        *out = ((scale * texel * steps + 32) >> 6) as u8;
    }
    out
}

/// The function that gives the partition of a texel: the greatest of up to four numbers, each of
/// which grows along the axes and wraps (specification: "Partition Pattern Generation").
struct Pattern {
    /// Value of each number at the first texel, and its growth along x and y.
    numbers: [[i16; 3]; 4],
    count: usize,
}

impl Pattern {
    fn new(index: u32, count: u32, small: bool) -> Pattern {
        let seed = index + 1024 * (count - 1);
        let random = hash52(seed);
        let (a, b) = (if seed & 2 != 0 { 4 } else { 5 }, if count == 3 { 6 } else { 5 });
        let shifts = if seed & 1 != 0 { [a, b] } else { [b, a] };
        let step = |i: u32| {
            let seed = random >> (4 * i) & 15;
            ((seed * seed) >> shifts[i as usize % 2] << u32::from(small)) as i16
        };
        let number = |n: u32| match n < count {
            true => [(random >> (14 - 4 * n)) as i16 & 63, step(2 * n), step(2 * n + 1)],
            false => [0; 3],
        };
        Pattern { numbers: [0, 1, 2, 3].map(number), count: count as usize }
    }

    #[inline(always)]
    fn tile(&self, x: usize, y: usize) -> Lanes<i16> {
        const X: Lanes<i16> = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3];
        const Y: Lanes<i16> = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
        let (mut out, mut max) = ([0; N], [-1; N]);
        for (n, &[first, along_x, along_y]) in (0..).zip(&self.numbers[..self.count]) {
            let first = first + along_x * (4 * x) as i16 + along_y * (4 * y) as i16;
            for i in 0..N {
                let number = (first + along_x * X[i] + along_y * Y[i]) & 63;
                out[i] = if number > max[i] { n } else { out[i] };
                max[i] = number.max(max[i]);
            }
        }
        out
    }
}

fn hash52(mut p: u32) -> u32 {
    p ^= p >> 15;
    p = p.wrapping_sub(p << 17);
    p = p.wrapping_add(p << 7);
    p = p.wrapping_add(p << 4);
    p ^= p >> 5;
    p = p.wrapping_add(p << 16);
    p ^= p >> 7;
    p ^= p >> 3;
    p ^= p << 6;
    p ^ p >> 17
}
