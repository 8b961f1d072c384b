//! Coverage rules: half planes, sample positions, and which of 4×4 pixels have a sample inside of
//! the half planes.
//!
//! Samples lie on 1/256 pixel positions and pixels are 256 units apart. For each sample position,
//! the sign of `a*X + b*Y + c` at pixel (x, y) is therefore that of `a*x + b*y + floor(c' / 256)`:
//! one 32-bit value per edge and sample.

use super::screen::SUBPIXEL;
use base::abi::{FragmentBatch, SamplePositions};
#[cfg(target_arch = "x86_64")]
use base::host::{Avx2, Avx512, Sse2};
use base::host::{Host, SimdLevel};
use base::limits::MAX_SAMPLES;
use base::pixel::SampleLocations;

/// A half plane in fixed point; a position is inside if `a*x + b*y + c >= 0`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeFunction {
    /// Increment of the value per unit of x.
    pub a: i32,
    /// Increment of the value per unit of y.
    pub b: i32,
    /// Value at the framebuffer's origin, top-left rule included.
    pub c: i64,
}

impl EdgeFunction {
    /// Returns true if the centre of any pixel of a rectangle is outside.
    #[inline(always)]
    pub fn excludes(&self, [x0, y0, x1, y1]: [i32; 4]) -> bool {
        let centre = |pixel: i32| i64::from(pixel) * i64::from(SUBPIXEL) + i64::from(SUBPIXEL / 2);
        let (x, y) = (if self.a > 0 { x0 } else { x1 - 1 }, if self.b > 0 { y0 } else { y1 - 1 });
        i64::from(self.a) * centre(x) + i64::from(self.b) * centre(y) + self.c < 0
    }
}

/// Sample positions in sixteenths of pixels, by the base-2 logarithm of their number
/// (`standardSampleLocations`).
const STANDARD: [&[[i32; 2]]; 5] = [
    &[[8, 8]],
    &[[12, 12], [4, 4]],
    &[[6, 2], [14, 6], [2, 10], [10, 14]],
    &[[9, 5], [7, 11], [13, 9], [5, 3], [3, 13], [1, 7], [11, 15], [15, 1]],
    &[
        [9, 9],
        [7, 5],
        [5, 10],
        [12, 7],
        [3, 6],
        [10, 13],
        [13, 11],
        [11, 3],
        [6, 14],
        [8, 1],
        [4, 2],
        [2, 12],
        [0, 8],
        [15, 4],
        [14, 15],
        [1, 0],
    ],
];

/// Returns the sample positions in 1/256 pixels.
pub const fn sample_offsets<const S: usize>() -> [[i32; 2]; S] {
    const { assert!(S.is_power_of_two() && S <= MAX_SAMPLES) };
    let places = STANDARD[S.ilog2() as usize];
    let mut out = [[128, 128]; S];
    let mut i = 0;
    while i < S {
        out[i] = [places[i][0] * (SUBPIXEL / 16), places[i][1] * (SUBPIXEL / 16)];
        i += 1;
    }
    out
}

/// Returns the position of each of `samples` samples, and of [`base::abi::FragmentBatch::CENTRE`]
/// after them, in the pixels of a quad.
pub fn sample_positions(samples: u32) -> &'static SamplePositions {
    const fn table<const S: usize>() -> SamplePositions {
        let offsets = sample_offsets::<S>();
        let mut samples = [[0.0; 2]; S];
        let mut i = 0;
        while i < S {
            samples[i] = [offsets[i][0] as f32 / SUBPIXEL as f32, offsets[i][1] as f32 / SUBPIXEL as f32];
            i += 1;
        }
        FragmentBatch::positions(&samples)
    }
    static TABLES: [SamplePositions; 5] = [table::<1>(), table::<2>(), table::<4>(), table::<8>(), table::<16>()];
    TABLES.get(samples.max(1).ilog2() as usize).unwrap_or(&TABLES[0])
}

/// Sample positions that a draw sets.
#[derive(Debug)]
pub struct CustomSampleLocations {
    /// Positions in 1/256 pixels.
    pub offsets: [[i32; 2]; MAX_SAMPLES],
    /// Positions in the form of [`sample_positions`].
    pub positions: SamplePositions,
}

impl CustomSampleLocations {
    /// Makes the positions of `samples` samples.
    pub fn new(locations: &SampleLocations, samples: u32) -> CustomSampleLocations {
        let offsets = locations.map(|location| location.map(i32::from));
        let floats = offsets.map(|offset| offset.map(|c| c as f32 / SUBPIXEL as f32));
        let count = (samples as usize).min(MAX_SAMPLES);
        CustomSampleLocations { offsets, positions: FragmentBatch::positions(&floats[..count]) }
    }
}

/// Returns a mask with bit `4*j + i` set if `e + i*dx + j*dy >= 0`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn mask16(e: i32, dx: i32, dy: i32) -> u32 {
    let x = Sse2._mm_set1_epi32(dx);
    // The steps are 0, dx, 2 dx, 3 dx.
    let steps = Sse2._mm_add_epi32(
        Sse2._mm_and_si128(x, Sse2._mm_set_epi32(-1, 0, -1, 0)),
        Sse2._mm_and_si128(Sse2._mm_add_epi32(x, x), Sse2._mm_set_epi32(-1, -1, 0, 0)),
    );
    let row0 = Sse2._mm_add_epi32(Sse2._mm_set1_epi32(e), steps);
    let step = Sse2._mm_set1_epi32(dy);
    let row1 = Sse2._mm_add_epi32(row0, step);
    let row2 = Sse2._mm_add_epi32(row1, step);
    let row3 = Sse2._mm_add_epi32(row2, step);
    // Saturating packs keep the sign, and one movemask gathers all sixteen signs.
    let bytes = Sse2._mm_packs_epi16(Sse2._mm_packs_epi32(row0, row1), Sse2._mm_packs_epi32(row2, row3));
    !(Sse2._mm_movemask_epi8(bytes) as u32) & 0xffff
}

/// Returns a mask with bit `4*j + i` set if `e + i*dx + j*dy >= 0`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn mask16(e: i32, dx: i32, dy: i32) -> u32 {
    (0..16).fold(0, |mask, k| {
        let v = e.wrapping_add(dx.wrapping_mul(k & 3)).wrapping_add(dy.wrapping_mul(k >> 2));
        mask | u32::from(v >= 0) << k
    })
}

/// An edge in a square: its value at the first pixel, and the increments of a column and a row.
pub type SquareEdge = [i32; 3];

/// Pixels of a 16×16 square, with four rows in a word, the first row lowest; bit `i` of a row is
/// the column. (They are words, because loading as a whole what was stored in pieces would wait.)
pub type SquareRows = [u64; 4];

/// Removes the pixels of a square that are outside of any of up to four edges, none of which
/// overflows there.
#[inline(always)]
pub fn cut_rows(edges: &[SquareEdge], rows: &mut SquareRows) {
    if !edges.is_empty() {
        // SAFETY: the level is the host's own.
        unsafe { cut_rows_of(SimdLevel::detect())(edges, rows) };
    }
}

base::multiversion! {
    for Avx512 unsafe fn cut_rows_of(edges: &[SquareEdge], rows: &mut SquareRows) {
        match edges {
            [] => {}
            [a] => cut_by::<H, 1>(HOST, &[*a], rows),
            [a, b] => cut_by::<H, 2>(HOST, &[*a, *b], rows),
            [a, b, c] => cut_by::<H, 3>(HOST, &[*a, *b, *c], rows),
            [a, b, c, d, ..] => cut_by::<H, 4>(HOST, &[*a, *b, *c, *d], rows),
        }
    }
}

#[inline(always)]
fn cut_by<H: Host, const N: usize>(host: H, edges: &[SquareEdge; N], rows: &mut SquareRows) {
    #[cfg(target_arch = "x86_64")]
    if let Some(v) = host.avx512() {
        return cut_512(v, edges, rows);
    } else if let Some(v) = host.avx2() {
        return cut_avx2(v, edges, rows);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = host;
    let mut at = *edges;
    for word in rows {
        for row in 0..4 {
            let mut outside = [0; 16];
            for [value, across, down] in &mut at {
                for (i, outside) in outside.iter_mut().enumerate() {
                    *outside |= value.wrapping_add(across.wrapping_mul(i as i32));
                }
                *value = value.wrapping_add(*down);
            }
            let outside = (0..16).fold(0, |bits, i| bits | u64::from(outside[i] < 0) << i);
            *word &= !(outside << (16 * row));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn cut_avx2<const N: usize>(v: Avx2, edges: &[SquareEdge; N], rows: &mut SquareRows) {
    let columns = v.load_256(&[0i32, 1, 2, 3, 4, 5, 6, 7]);
    let (mut left, mut right, mut down) =
        ([v._mm256_setzero_si256(); N], [v._mm256_setzero_si256(); N], [v._mm256_setzero_si256(); N]);
    for (i, &[value, across, step]) in edges.iter().enumerate() {
        let steps = v._mm256_mullo_epi32(columns, v._mm256_set1_epi32(across));
        left[i] = v._mm256_add_epi32(v._mm256_set1_epi32(value), steps);
        right[i] = v._mm256_add_epi32(left[i], v._mm256_set1_epi32(across.wrapping_mul(8)));
        down[i] = v._mm256_set1_epi32(step);
    }
    for word in rows {
        let mut cut = 0;
        for row in 0..4 {
            let mut outside = [v._mm256_setzero_si256(); 2];
            for i in 0..N {
                outside = [v._mm256_or_si256(outside[0], left[i]), v._mm256_or_si256(outside[1], right[i])];
                left[i] = v._mm256_add_epi32(left[i], down[i]);
                right[i] = v._mm256_add_epi32(right[i], down[i]);
            }
            let [low, high] = [
                v._mm256_movemask_ps(v._mm256_castsi256_ps(outside[0])) as u64,
                v._mm256_movemask_ps(v._mm256_castsi256_ps(outside[1])) as u64,
            ];
            cut |= (low | high << 8) << (16 * row);
        }
        *word &= !cut;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn cut_512<const N: usize>(v: Avx512, edges: &[SquareEdge; N], rows: &mut SquareRows) {
    let columns = v._mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let (mut at, mut down) = ([v._mm512_setzero_si512(); N], [v._mm512_setzero_si512(); N]);
    for (i, &[value, across, step]) in edges.iter().enumerate() {
        let steps = v._mm512_mullo_epi32(columns, v._mm512_set1_epi32(across));
        (at[i], down[i]) = (v._mm512_add_epi32(v._mm512_set1_epi32(value), steps), v._mm512_set1_epi32(step));
    }
    for word in rows {
        let mut cut = 0;
        for row in 0..4 {
            let mut outside = at[0];
            at[0] = v._mm512_add_epi32(at[0], down[0]);
            for i in 1..N {
                outside = v._mm512_or_si512(outside, at[i]);
                at[i] = v._mm512_add_epi32(at[i], down[i]);
            }
            cut |= u64::from(v._mm512_movepi32_mask(outside)) << (16 * row);
        }
        *word &= !cut;
    }
}

/// Returns the value of an edge at one sample of the pixel at (x, y), in steps of `a` and `b` per
/// pixel. Far from zero it is limited to a magnitude that keeps its sign over a block's steps.
#[inline(always)]
pub fn edge_at(edge: &EdgeFunction, x: i32, y: i32, [sx, sy]: [i32; 2]) -> i32 {
    let (x, y) = ((i64::from(x) << 8) + i64::from(sx), (i64::from(y) << 8) + i64::from(sy));
    let at = (i64::from(edge.a) * x + i64::from(edge.b) * y + edge.c) >> 8;
    at.clamp(-(1 << 30), 1 << 30) as i32
}

/// Returns those of the 4×4 pixels at (x, y) that have a sample at `offset` inside of all edges.
#[inline(always)]
pub fn inside(edges: &[EdgeFunction], x: i32, y: i32, offset: [i32; 2]) -> u32 {
    let mut mask = 0xffff;
    for e in edges {
        mask &= mask16(edge_at(e, x, y, offset), e.a, e.b);
    }
    mask
}

/// Largest number of pixels along either axis for which the front end computes the coverage of a
/// primitive.
pub const SMALL: i32 = 4;

/// Returns the pixels of a rectangle of at most 4×4 whose centres are inside of all edges, in the
/// form of [`super::Prim::pixels`]. Returns `None` if there are none, and 0 for a larger rectangle.
#[inline(always)]
pub fn pixels(edges: &[EdgeFunction], [x0, y0, x1, y1]: [i32; 4]) -> Option<u32> {
    if x1 - x0 > SMALL || y1 - y0 > SMALL {
        return Some(0);
    }
    let [centre] = sample_offsets::<1>();
    let columns = (0x1111 << (x1 - x0)) - 0x1111;
    let rows = (1 << (4 * (y1 - y0))) - 1;
    let pixels = columns & rows & inside(edges, x0, y0, centre);
    (pixels != 0).then_some(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_alike_on_all_levels() {
        let mut random = base::random::Rng(0x16);
        for round in 0..4000 {
            let mut some = |bits: u32| (random.next_u64() >> 32) as i32 >> (32 - bits);
            let edges: Vec<SquareEdge> = (0..round % 5).map(|_| [some(20), some(16), some(16)]).collect();
            let wanted: SquareRows = core::array::from_fn(|_| random.next_u64());
            let mut want = wanted;
            for row in 0..16 {
                for &[value, across, down] in &edges {
                    let inside = |i: i32| value + i * across + row * down >= 0;
                    let outside = (0..16).fold(0u64, |bits, i| bits | u64::from(!inside(i)) << i);
                    want[row as usize / 4] &= !(outside << (row % 4 * 16));
                }
            }
            for level in SimdLevel::all_supported() {
                let mut rows = wanted;
                // SAFETY: the host has the level.
                unsafe { cut_rows_of(level)(&edges, &mut rows) };
                assert_eq!(rows, want, "{level:?} {edges:?}");
            }
        }
    }
}
