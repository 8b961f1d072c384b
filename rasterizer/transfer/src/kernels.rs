//! Loops over rows of words ([`super::conversion`]), compiled for each processor level
//! ([`base::multiversion!`]): filters of blits, samples of resolves.
//!
//! The arithmetic is that of the filter's definition, operation by operation. All levels therefore
//! give the same bits, and so does the oracle of the tests, which works texel by texel. Kernels
//! from bytes to bytes process a line at a time from memory to memory, because loads from an
//! intermediate buffer would wait for its stores.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::conversion::UNORM8;
use super::conversion::{CODES, code_of, codes_of, unorm8_at};
use base::abi::MAX_LANES;
use base::host::{Host, SimdLevel};
use base::mem::DeviceMemory;
use base::round;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{
    _mm_add_ps, _mm_cvtsi64_si128, _mm_loadu_ps, _mm_mul_ps, _mm_set1_ps, _mm_storeu_ps, _mm256_add_ps,
    _mm256_castps256_ps128, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32, _mm256_extractf128_ps, _mm256_loadu_si256,
    _mm256_mul_ps, _mm256_permutevar8x32_epi32, _mm256_set_m128, _mm256_set1_ps, _mm256_storeu_si256,
};

/// Source texels of one destination coordinate: two neighbours and their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// The texel before the coordinate.
    pub first: u32,
    /// The texel behind the coordinate.
    pub second: u32,
    /// Weight of the first texel: 1 minus `weight`.
    pub rest: f32,
    /// Weight of the second texel.
    pub weight: f32,
}

/// The taps of a row.
pub struct RowTaps {
    /// The taps; their texels are all below `texels`.
    taps: Vec<Tap>,
    texels: usize,
    /// The taps are the pairs of the row, and both texels of a pair have the same weight.
    pairs: bool,
    /// Number of taps whose texels are neighbours, in this order.
    neighbours: usize,
}

impl RowTaps {
    /// Makes a row of taps whose texels count from 0.
    pub fn new(taps: Vec<Tap>) -> RowTaps {
        let texels = taps.iter().map(|tap| tap.first.max(tap.second) as usize + 1).max().unwrap_or(0);
        let pair = |(i, tap): (u32, &Tap)| *tap == Tap { first: 2 * i, second: 2 * i + 1, rest: 0.5, weight: 0.5 };
        let pairs = (0..).zip(&taps).all(pair);
        let neighbours = taps.iter().filter(|tap| tap.second == tap.first + 1).count();
        RowTaps { taps, texels, pairs, neighbours }
    }

    /// Returns the number of texels that the taps make.
    pub fn len(&self) -> usize {
        self.taps.len()
    }

    /// Returns the number of texels that the taps need.
    pub fn texels(&self) -> usize {
        self.texels
    }

    /// Returns true if the taps halve the row.
    pub fn halve(&self) -> bool {
        self.pairs
    }

    /// Filters a row of texels of 1, 2 or 4 components.
    pub fn filter(&self, components: usize, row: &[u32], out: &mut [u32]) {
        assert!(row.len() >= self.texels * components, "a row for the taps");
        let level = SimdLevel::detect();
        // SAFETY: `SimdLevel::detect` is a level of the host; the taps are in the row.
        unsafe {
            match (self.pairs, components) {
                (true, 1) => halve::<1>(level)(row, out),
                (true, 2) => halve::<2>(level)(row, out),
                (true, _) => halve::<4>(level)(row, out),
                (false, 1) => filter::<1>(level)(row, &self.taps, out),
                (false, 2) => filter::<2>(level)(row, &self.taps, out),
                (false, _) => filter::<4>(level)(row, &self.taps, out),
            }
        }
    }
}

impl RowTaps {
    /// Returns true if [`RowTaps::filter_unorm8`] is faster than unpacking and [`RowTaps::filter`].
    pub fn takes_unorm8(&self) -> bool {
        // (With more taps than texels, texels would be unpacked several times.)
        let (taps, level) = (self.taps.len(), SimdLevel::detect());
        !self.pairs && self.neighbours == taps && self.texels > taps && level != SimdLevel::Portable
    }

    /// Filters as [`RowTaps::filter`] does, for texels of four 8-bit unsigned normalised
    /// components, where the texels of each tap are neighbours.
    pub fn filter_unorm8(&self, bytes: &[u8], out: &mut [u32]) {
        assert!(bytes.len() >= 4 * self.texels && self.neighbours == self.taps.len(), "a row for the taps");
        // SAFETY: `SimdLevel::detect` is a level of the host; the taps are in the row, and their
        // texels are neighbours.
        unsafe { filter_neighbours(SimdLevel::detect())(bytes, &self.taps, out) }
    }
}

/// Source words of a row of destination words.
pub struct Columns {
    /// Source word of each destination word, below `texels`.
    columns: Vec<u32>,
    texels: usize,
    /// One element for each [`MAX_LANES`] columns, except for columns behind the last whole group.
    windows: Vec<Window>,
}

/// Source words of a group of columns, relative to the first of [`MAX_LANES`] adjacent words.
struct Window {
    /// The first of the words, all of which are in the row; `None` if the columns lie further
    /// apart.
    first: Option<u32>,
    /// Number of the word of each column.
    lanes: [u32; MAX_LANES],
}

impl Columns {
    /// Makes a selection of columns, which count from 0.
    pub fn new(columns: Vec<u32>) -> Columns {
        let texels = columns.iter().max().map_or(0, |&last| last as usize + 1);
        let windows = columns.as_chunks::<MAX_LANES>().0.iter().map(|group| {
            let min = group.iter().copied().min().unwrap_or(0);
            // A window that would end behind the row moves to its end.
            let first = min.min((texels as u32).saturating_sub(MAX_LANES as u32));
            let lanes = group.map(|column| column - first);
            let fits = texels >= MAX_LANES && lanes.iter().all(|&lane| lane < MAX_LANES as u32);
            Window { first: fits.then_some(first), lanes }
        });
        Columns { windows: windows.collect(), columns, texels }
    }

    /// Returns the columns.
    pub fn all(&self) -> &[u32] {
        &self.columns
    }

    /// Returns the number of texels that the columns need.
    pub fn texels(&self) -> usize {
        self.texels
    }

    /// Selects words from a row that has all texels of the columns.
    pub fn select_words(&self, row: &[u8], out: &mut [u8]) {
        let (row, out) = (row.as_chunks::<4>().0, out.as_chunks_mut::<4>().0);
        assert!(row.len() >= self.texels && out.len() == self.columns.len(), "rows for the columns");
        // SAFETY: `SimdLevel::detect` is a level of the host; the columns are in the row, and there
        // are as many results.
        unsafe { select(SimdLevel::detect())(row, self, out) }
    }
}

/// Interpolates between two rows.
pub fn lerp_rows(a: &[u32], b: &[u32], weight: f32, out: &mut [u32]) {
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { between(SimdLevel::detect())(a, b, weight, out) }
}

/// Interpolates as [`lerp_rows`] does, and packs as
/// [`RowConversion::Unorm8`](super::conversion::RowConversion).
pub fn lerp_to_unorm8(a: &[u32], b: &[u32], weight: f32, out: &mut [u8]) {
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { between_unorm8(SimdLevel::detect())(a, b, weight, out) }
}

/// Reduces four texels of four 8-bit unsigned normalised components to one, from two rows to
/// `bytes` bytes of another. The result is that of [`RowTaps::filter`] of pairs, a weight of a half
/// between the rows, and packing. The first and third byte are exchanged if `swapped`.
pub fn quarter_of_unorm8(src: DeviceMemory, rows: [u64; 2], dst: DeviceMemory, to: u64, bytes: u64, swapped: bool) {
    let level = SimdLevel::detect();
    let kernel = if swapped { quarter_unorm8::<true>(level) } else { quarter_unorm8::<false>(level) };
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { kernel(src, rows, dst, to, bytes) }
}

/// Writes the mean of four rows of codes, exact, ties to even: `bytes` bytes from each of the
/// offsets.
pub fn mean_of_four(src: DeviceMemory, from: [u64; 4], dst: DeviceMemory, to: u64, bytes: u64) {
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { mean_of_codes(SimdLevel::detect())(src, from, dst, to, bytes) }
}

/// Reduction of the samples of a pixel to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleReduction {
    /// The sum, of floats.
    Sum,
    /// The minimum, of floats or integers.
    Baseline {
        /// The samples are integers.
        integer: bool,
    },
    /// The maximum, of floats or integers.
    Max {
        /// The samples are integers.
        integer: bool,
    },
}

/// Combines a sample's components with those of other samples.
pub fn reduce_samples(how: SampleReduction, all: &mut [u32], one: &[u32]) {
    let level = SimdLevel::detect();
    let kernel = match how {
        SampleReduction::Sum => gather::<SUM, false>(level),
        SampleReduction::Baseline { integer: true } => gather::<MIN, true>(level),
        SampleReduction::Baseline { integer: false } => gather::<MIN, false>(level),
        SampleReduction::Max { integer: true } => gather::<MAX, true>(level),
        SampleReduction::Max { integer: false } => gather::<MAX, false>(level),
    };
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { kernel(all, one) }
}

/// Multiplies floats by a factor.
pub fn scale_row(all: &mut [u32], factor: f32) {
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { scale(SimdLevel::detect())(all, factor) }
}

const SUM: u8 = 0;
const MIN: u8 = 1;
const MAX: u8 = 2;

#[inline(always)]
fn lerp(a: u32, b: u32, rest: f32, weight: f32) -> f32 {
    f32::from_bits(a) * rest + f32::from_bits(b) * weight
}

/// Interpolates between two texels. Four components are one vector, because the compiler would turn
/// a loop over texels into one over components, which lie apart.
#[inline(always)]
fn mix<const N: usize>(a: &[u32; N], b: &[u32; N], rest: f32, weight: f32, out: &mut [u32; N]) {
    #[cfg(target_arch = "x86_64")]
    if N == 4 {
        // SAFETY: every host of the architecture has 128-bit vectors; the arrays have four words
        // each.
        unsafe {
            let (a, b) = (_mm_loadu_ps(a.as_ptr().cast()), _mm_loadu_ps(b.as_ptr().cast()));
            let sum = _mm_add_ps(_mm_mul_ps(a, _mm_set1_ps(rest)), _mm_mul_ps(b, _mm_set1_ps(weight)));
            _mm_storeu_ps(out.as_mut_ptr().cast(), sum);
        }
        return;
    }
    for c in 0..N {
        out[c] = lerp(a[c], b[c], rest, weight).to_bits();
    }
}

/// Interpolates between two texels of four bytes. (This uses intrinsics, because the compiler would
/// make one vector of each component.)
///
/// # Safety
/// The texels are readable; the host has the level.
#[inline(always)]
unsafe fn between_neighbours<H: Host>(texels: *const [u8; 8], shares: [f32; 2], out: &mut [u32; 4]) {
    // SAFETY: the texels are readable, as the `# Safety` section demands.
    let texels = unsafe { texels.read() };
    #[cfg(target_arch = "x86_64")]
    if H::LEVEL >= SimdLevel::Avx2 {
        // SAFETY: the host has 256-bit vectors.
        unsafe {
            let raw = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(texels))));
            let [high, low] = UNORM8.map(|part| _mm256_mul_ps(raw, _mm256_set1_ps(part)));
            let [rest, weight] = shares.map(|share| _mm_set1_ps(share));
            let parts = _mm256_mul_ps(_mm256_add_ps(high, low), _mm256_set_m128(weight, rest));
            let sum = _mm_add_ps(_mm256_castps256_ps128(parts), _mm256_extractf128_ps(parts, 1));
            _mm_storeu_ps(out.as_mut_ptr().cast(), sum);
        }
        return;
    }
    for (i, out) in out.iter_mut().enumerate() {
        let [a, b] = [texels[i], texels[4 + i]].map(|code| unorm8_at(code.into(), 0).to_bits());
        *out = lerp(a, b, shares[0], shares[1]).to_bits();
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

#[inline(always)]
fn mean_of_lines([a, b, c, d]: &[[u8; LINE]; 4], mean: &mut [u8; LINE]) {
    for i in 0..LINE {
        let sum = u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i]) + u16::from(d[i]);
        mean[i] = ((sum + 1 + (sum >> 2 & 1)) >> 2) as u8;
    }
}

/// Bytes of the pairs of texels that become one texel per lane.
const PAIRS: usize = 2 * 4 * MAX_LANES;

/// Reduces two rows of pairs to a row of codes. Factors of a half and a quarter scale all steps
/// exactly, so they are applied at the end.
#[inline(always)]
fn quarter<const SWAPPED: bool>([a, b]: &[[u8; PAIRS]; 2], out: &mut [u8; PAIRS / 2]) {
    let mut texels = [[0u32; MAX_LANES]; 4];
    for i in 0..MAX_LANES {
        texels[0][i] = word(a, 2 * i);
        texels[1][i] = word(a, 2 * i + 1);
        texels[2][i] = word(b, 2 * i);
        texels[3][i] = word(b, 2 * i + 1);
    }
    let mut codes = [0; MAX_LANES];
    for byte in 0..4 {
        let to = if SWAPPED && byte < 3 { 2 - byte } else { byte };
        for i in 0..MAX_LANES {
            let near = unorm8_at(texels[0][i], byte) + unorm8_at(texels[1][i], byte);
            let far = unorm8_at(texels[2][i], byte) + unorm8_at(texels[3][i], byte);
            codes[i] |= (round::low_bits((near + far) * 63.75) & 0xff) << (8 * to);
        }
    }
    for (out, code) in out.as_chunks_mut().0.iter_mut().zip(codes) {
        *out = code.to_le_bytes();
    }
}

#[inline(always)]
fn word(bytes: &[u8; PAIRS], i: usize) -> u32 {
    u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}

/// Selects the words of a window by one permutation. Returns false, and writes nothing, without
/// vectors of [`MAX_LANES`] words.
///
/// # Safety
/// The row has [`MAX_LANES`] words from `first` on; the host has the level.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables, reason = "there is no permutation"))]
unsafe fn permute<H: Host>(
    row: &[[u8; 4]],
    first: u32,
    lanes: &[u32; MAX_LANES],
    out: &mut [[u8; 4]; MAX_LANES],
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if H::LEVEL >= SimdLevel::Avx2 {
        // SAFETY: the host has 256-bit vectors, and the row has the words (`# Safety`).
        unsafe {
            let words = _mm256_loadu_si256(row.as_ptr().add(first as usize).cast());
            let lanes = _mm256_loadu_si256(lanes.as_ptr().cast());
            _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_permutevar8x32_epi32(words, lanes));
        }
        return true;
    }
    false
}

base::multiversion! {
    /// Implements [`Columns::select_words`]. The columns are in the row, and `out` has as many
    /// words as there are columns.
    unsafe fn select(row: &[[u8; 4]], columns: &Columns, out: &mut [[u8; 4]]) {
        let one = |column: u32| {
            debug_assert!((column as usize) < row.len());
            // SAFETY: the columns are in the row (`# Safety`).
            unsafe { *row.get_unchecked(column as usize) }
        };
        let ((groups, last), (outs, out_last)) = (columns.columns.as_chunks::<MAX_LANES>(), out.as_chunks_mut::<MAX_LANES>());
        for ((group, window), out) in groups.iter().zip(&columns.windows).zip(outs) {
            // A closure would not have the target features of the permutation.
            if let Some(first) = window.first
                && permute::<H>(row, first, &window.lanes, out)
            {
                continue;
            }
            for i in 0..MAX_LANES {
                out[i] = one(group[i]);
            }
        }
        for (out, &column) in out_last.iter_mut().zip(last) {
            *out = one(column);
        }
    }

    /// Filters a row by its taps, whose texels are in the row.
    unsafe fn filter [const N: usize] [N] (row: &[u32], taps: &[Tap], out: &mut [u32]) {
        let texels = row.as_chunks::<N>().0;
        for (out, tap) in out.as_chunks_mut::<N>().0.iter_mut().zip(taps) {
            debug_assert!((tap.first.max(tap.second) as usize) < texels.len());
            let (a, b) = (texels.get_unchecked(tap.first as usize), texels.get_unchecked(tap.second as usize));
            mix(a, b, tap.rest, tap.weight, out);
        }
    }

    /// Filters bytes as [`filter`] does, where the texels of each tap are neighbours, so that one
    /// vector has both.
    unsafe fn filter_neighbours(bytes: &[u8], taps: &[Tap], out: &mut [u32]) {
        for (out, tap) in out.as_chunks_mut::<4>().0.iter_mut().zip(taps) {
            let at = 4 * tap.first as usize;
            debug_assert!(tap.second == tap.first + 1 && at + 8 <= bytes.len());
            between_neighbours::<H>(bytes.as_ptr().add(at).cast(), [tap.rest, tap.weight], out);
        }
    }

    /// Filters as [`filter`] does, where the taps are the pairs of the row with equal weights.
    unsafe fn halve [const N: usize] [N] (row: &[u32], out: &mut [u32]) {
        for (out, [a, b]) in out.as_chunks_mut::<N>().0.iter_mut().zip(row.as_chunks::<N>().0.as_chunks::<2>().0) {
            mix(a, b, 0.5, 0.5, out);
        }
    }

    /// Interpolates between two rows.
    unsafe fn between(a: &[u32], b: &[u32], weight: f32, out: &mut [u32]) {
        let rest = 1.0 - weight;
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = lerp(a, b, rest, weight).to_bits();
        }
    }

    /// Interpolates as [`between`] does and makes codes.
    unsafe fn between_unorm8(a: &[u32], b: &[u32], weight: f32, bytes: &mut [u8]) {
        let rest = 1.0 - weight;
        let (chunks, last) = bytes.as_chunks_mut::<CODES>();
        let ((a_chunks, a_last), (b_chunks, b_last)) = (a.as_chunks::<CODES>(), b.as_chunks::<CODES>());
        for ((codes, a), b) in chunks.iter_mut().zip(a_chunks).zip(b_chunks) {
            let mut values = [0.0; CODES];
            for i in 0..CODES {
                values[i] = lerp(a[i], b[i], rest, weight);
            }
            codes_of::<H>(&values, codes);
        }
        for ((byte, &a), &b) in last.iter_mut().zip(a_last).zip(b_last) {
            *byte = code_of(lerp(a, b, rest, weight));
        }
    }

    /// Implements [`quarter_of_unorm8`] from memory to memory, as [`mean_of_codes`] does.
    unsafe fn quarter_unorm8 [const SWAPPED: bool] [SWAPPED] (
        src: DeviceMemory,
        rows: [u64; 2],
        dst: DeviceMemory,
        to: u64,
        bytes: u64,
    ) {
        const STEP: u64 = PAIRS as u64 / 2;
        let mut at = 0;
        while at < bytes {
            let (mut pairs, mut codes) = ([[0; PAIRS]; 2], [0; PAIRS / 2]);
            if at + STEP <= bytes {
                src.read(rows[0] + 2 * at, &mut pairs[0]);
                src.read(rows[1] + 2 * at, &mut pairs[1]);
                quarter::<SWAPPED>(&pairs, &mut codes);
                dst.write(to + at, &codes);
            } else {
                let rest = (bytes - at) as usize;
                src.read(rows[0] + 2 * at, &mut pairs[0][..2 * rest]);
                src.read(rows[1] + 2 * at, &mut pairs[1][..2 * rest]);
                quarter::<SWAPPED>(&pairs, &mut codes);
                dst.write(to + at, &codes[..rest]);
            }
            at += STEP;
        }
    }

    /// Implements [`mean_of_four`] by a line of each row at a time, so that the processor sees four
    /// streams and nothing waits in between.
    unsafe fn mean_of_codes(src: DeviceMemory, from: [u64; 4], dst: DeviceMemory, to: u64, bytes: u64) {
        let mut at = 0;
        while at + LINE as u64 <= bytes {
            let (mut lines, mut mean) = ([[0; LINE]; 4], [0; LINE]);
            for s in 0..4 {
                src.read(from[s] + at, &mut lines[s]);
            }
            mean_of_lines(&lines, &mut mean);
            dst.write(to + at, &mean);
            at += LINE as u64;
        }
        let rest = (bytes - at) as usize;
        if rest > 0 {
            let (mut lines, mut mean) = ([[0; LINE]; 4], [0; LINE]);
            for s in 0..4 {
                src.read(from[s] + at, &mut lines[s][..rest]);
            }
            mean_of_lines(&lines, &mut mean);
            dst.write(to + at, &mean[..rest]);
        }
    }

    /// Combines a sample's components with those of other samples, as [`SampleReduction`] defines,
    /// for floats or integers.
    unsafe fn gather [const HOW: u8, const INTEGER: bool] [HOW, INTEGER] (all: &mut [u32], one: &[u32]) {
        for (all, &one) in all.iter_mut().zip(one) {
            let (a, b) = (f32::from_bits(*all), f32::from_bits(one));
            *all = match (HOW, INTEGER) {
                (MIN, true) => (*all).min(one),
                (MAX, true) => (*all).max(one),
                (MIN, false) => if b < a { one } else { *all },
                (MAX, false) => if b > a { one } else { *all },
                _ => (a + b).to_bits(),
            };
        }
    }

    /// Multiplies floats by a factor.
    unsafe fn scale(all: &mut [u32], factor: f32) {
        for word in all {
            *word = (f32::from_bits(*word) * factor).to_bits();
        }
    }
}
