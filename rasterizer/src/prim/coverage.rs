//! Coverage rules: half planes, sample positions, and which of 4×4 pixels have a sample inside of them.
//!
//! Samples lie on 1/256 pixel positions and pixels are 256 units apart, so for each sample position the sign of
//! `a*X + b*Y + c` at pixel (x, y) is that of `a*x + b*y + floor(c' / 256)`: one 32-bit value per edge and sample.

use super::screen::SUBPIXEL;
use base::abi::{FragmentBatch, MAX_SAMPLES, SamplePositions};
use base::pixel::SampleLocations;

/// Half plane in fixed point: inside where `a*x + b*y + c >= 0`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    /// d/dx.
    pub a: i32,
    /// d/dy.
    pub b: i32,
    /// Value at the framebuffer's origin, top-left rule included.
    pub c: i64,
}

/// Sample positions in sixteenths of pixels, by the logarithm of their number (`standardSampleLocations`).
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

/// Sample positions in 1/256 pixels.
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

/// For each of so many samples, and [`base::abi::FragmentBatch::CENTRE`] behind them, where the pixels of a quad have it.
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

/// Sample positions that a draw has for itself.
#[derive(Debug)]
pub struct Places {
    /// In 1/256 pixels.
    pub offsets: [[i32; 2]; MAX_SAMPLES],
    /// As [`sample_positions`] has those of the standard.
    pub positions: SamplePositions,
}

impl Places {
    /// Of so many samples.
    pub fn new(locations: &SampleLocations, samples: u32) -> Places {
        let offsets = locations.map(|location| location.map(i32::from));
        let floats = offsets.map(|offset| offset.map(|c| c as f32 / SUBPIXEL as f32));
        let count = (samples as usize).min(MAX_SAMPLES);
        Places { offsets, positions: FragmentBatch::positions(&floats[..count]) }
    }
}

/// Bit `4*j + i` set where `e + i*dx + j*dy >= 0`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn mask16(e: i32, dx: i32, dy: i32) -> u32 {
    use core::arch::x86_64::*;
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let x = _mm_set1_epi32(dx);
        // 0, dx, 2 dx, 3 dx.
        let steps = _mm_add_epi32(
            _mm_and_si128(x, _mm_set_epi32(-1, 0, -1, 0)),
            _mm_and_si128(_mm_add_epi32(x, x), _mm_set_epi32(-1, -1, 0, 0)),
        );
        let row0 = _mm_add_epi32(_mm_set1_epi32(e), steps);
        let step = _mm_set1_epi32(dy);
        let row1 = _mm_add_epi32(row0, step);
        let row2 = _mm_add_epi32(row1, step);
        let row3 = _mm_add_epi32(row2, step);
        // Saturating packs keep the sign; one movemask gathers all sixteen.
        let bytes = _mm_packs_epi16(_mm_packs_epi32(row0, row1), _mm_packs_epi32(row2, row3));
        !(_mm_movemask_epi8(bytes) as u32) & 0xffff
    }
}

/// Bit `4*j + i` set where `e + i*dx + j*dy >= 0`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn mask16(e: i32, dx: i32, dy: i32) -> u32 {
    (0..16).fold(0, |mask, k| {
        let v = e.wrapping_add(dx.wrapping_mul(k & 3)).wrapping_add(dy.wrapping_mul(k >> 2));
        mask | u32::from(v >= 0) << k
    })
}

/// Which of sixteen pixels in a row any edge excludes.
#[cfg(target_arch = "x86_64")]
pub struct Signs([core::arch::x86_64::__m128i; 4]);

#[cfg(target_arch = "x86_64")]
impl Default for Signs {
    /// No edge yet.
    #[inline(always)]
    fn default() -> Signs {
        // SAFETY: SSE2 is part of x86-64.
        Signs([unsafe { core::arch::x86_64::_mm_setzero_si128() }; 4])
    }
}

#[cfg(target_arch = "x86_64")]
impl Signs {
    /// An edge with value `e` at the first pixel and `dx` more at each after it.
    #[inline(always)]
    pub fn add(&mut self, e: i32, dx: i32) {
        use core::arch::x86_64::*;
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let mut at =
                _mm_add_epi32(_mm_set1_epi32(e), _mm_setr_epi32(0, dx, dx.wrapping_mul(2), dx.wrapping_mul(3)));
            let step = _mm_set1_epi32(dx.wrapping_mul(4));
            for four in &mut self.0 {
                *four = _mm_or_si128(*four, at);
                at = _mm_add_epi32(at, step);
            }
        }
    }

    /// A bit for each pixel that is excluded.
    #[inline(always)]
    pub fn bits(&self) -> u16 {
        use core::arch::x86_64::*;
        let [a, b, c, d] = self.0;
        // SAFETY: SSE2 is part of x86-64. Saturating packs keep the sign.
        unsafe { _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d))) as u16 }
    }
}

/// Which of sixteen pixels in a row any edge excludes.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Default)]
pub struct Signs(u16);

#[cfg(not(target_arch = "x86_64"))]
impl Signs {
    /// An edge with value `e` at the first pixel and `dx` more at each after it.
    #[inline(always)]
    pub fn add(&mut self, e: i32, dx: i32) {
        for i in 0..16 {
            self.0 |= u16::from(e.wrapping_add(dx.wrapping_mul(i)) < 0) << i;
        }
    }

    /// A bit for each pixel that is excluded.
    #[inline(always)]
    pub fn bits(&self) -> u16 {
        self.0
    }
}

/// The value of an edge at one sample of the pixel at (x, y), in steps of `a` and `b` per pixel; far from zero it is only as large as
/// keeps its sign over a block's steps.
#[inline(always)]
fn edge_at(edge: &Edge, x: i32, y: i32, [sx, sy]: [i32; 2]) -> i32 {
    let (x, y) = ((i64::from(x) << 8) + i64::from(sx), (i64::from(y) << 8) + i64::from(sy));
    let at = (i64::from(edge.a) * x + i64::from(edge.b) * y + edge.c) >> 8;
    at.clamp(-(1 << 30), 1 << 30) as i32
}

/// Of the 4×4 pixels at (x, y), those with a sample at `offset` inside of all edges.
#[inline(always)]
pub fn inside(edges: &[Edge], x: i32, y: i32, offset: [i32; 2]) -> u32 {
    let mut mask = 0xffff;
    for e in edges {
        mask &= mask16(edge_at(e, x, y, offset), e.a, e.b);
    }
    mask
}

/// Pixels along either axis up to which the front end finds out what a primitive covers.
pub const SMALL: i32 = 4;

/// The pixels of a rectangle of at most 4×4 whose centres are inside of all edges, as [`super::Prim::pixels`] has them: `None` when there are none,
/// 0 for a larger rectangle.
#[inline(always)]
pub fn pixels(edges: &[Edge], [x0, y0, x1, y1]: [i32; 4]) -> Option<u32> {
    if x1 - x0 > SMALL || y1 - y0 > SMALL {
        return Some(0);
    }
    let [centre] = sample_offsets::<1>();
    let columns = (0x1111 << (x1 - x0)) - 0x1111;
    let rows = (1 << (4 * (y1 - y0))) - 1;
    let pixels = columns & rows & inside(edges, x0, y0, centre);
    (pixels != 0).then_some(pixels)
}
