//! Loops over rows of texels, compiled for each level of the processor ([`base::compiled!`]).
//!
//! Idea: a row is unpacked to words, the components of a texel side by side, so that what is done to all components alike is one loop over
//! words, whatever the format. A texel has 1, 2 or 4 of them: as many as its format where both sides have the same, or all four. The arithmetic is that
//! of `base::format` and of the filter's definition, operation by operation: all levels give the same bits, and so does the oracle of the tests,
//! which takes texel by texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::MAX_LANES;
use base::format::float::{f32_to_half, half_to_f32};
use base::format::pack::LaneKernels;
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::format::{Lanes, Texel, TexelKernels};
use base::host::{Host, Level};
use base::mem::DeviceMemory;
use base::round;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Source texels of one destination coordinate: two neighbours, and what each counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// The one before.
    pub first: u32,
    /// The one behind.
    pub second: u32,
    /// Of the one before: 1 minus the other.
    pub rest: f32,
    /// Of the one behind.
    pub weight: f32,
}

/// The taps of a row.
pub struct Taps {
    /// All of them are below `texels`.
    taps: Vec<Tap>,
    texels: usize,
    /// They are the pairs of the row, and both texels of a pair count as much.
    pairs: bool,
}

impl Taps {
    /// Taps that count from 0.
    pub fn new(taps: Vec<Tap>) -> Taps {
        let texels = taps.iter().map(|tap| tap.first.max(tap.second) as usize + 1).max().unwrap_or(0);
        let pair = |(i, tap): (u32, &Tap)| *tap == Tap { first: 2 * i, second: 2 * i + 1, rest: 0.5, weight: 0.5 };
        let pairs = (0..).zip(&taps).all(pair);
        Taps { taps, texels, pairs }
    }

    /// How many texels they make.
    pub fn len(&self) -> usize {
        self.taps.len()
    }

    /// How many texels they need.
    pub fn texels(&self) -> usize {
        self.texels
    }

    /// Do they halve the row?
    pub fn halve(&self) -> bool {
        self.pairs
    }

    /// Filters a row of texels of 1, 2 or 4 components.
    pub fn filter(&self, components: usize, row: &[u32], out: &mut [u32]) {
        assert!(row.len() >= self.texels * components, "a row for the taps");
        let level = Level::here();
        // SAFETY: the host has its level; the taps are in the row.
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

/// Conversions of rows of texels that every host has at its best level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// 8-bit unsigned normalised components.
    Unorm8,
    /// Three 8-bit sRGB components and alpha.
    Srgb,
    /// Halves.
    Half,
    /// Words, which stay as they are.
    Words,
}

impl Conversion {
    /// `bytes` has as many components.
    pub fn unpack(self, bytes: &[u8], out: &mut [u32]) {
        // SAFETY: the host has its level.
        unsafe {
            match self {
                Conversion::Unorm8 => unpack_unorm8(Level::here())(bytes, out),
                Conversion::Srgb => unpack_srgb(Level::here())(bytes, out),
                Conversion::Half => unpack_half(Level::here())(bytes, out),
                Conversion::Words => {
                    for (word, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                        *word = u32::from_le_bytes(*bytes);
                    }
                }
            }
        }
    }

    /// As [`Conversion::unpack`].
    pub fn pack(self, words: &[u32], bytes: &mut [u8]) {
        // SAFETY: the host has its level.
        unsafe {
            match self {
                Conversion::Unorm8 => pack_unorm8(Level::here())(words, bytes),
                Conversion::Srgb => pack_srgb(Level::here())(words, bytes),
                Conversion::Half => pack_half(Level::here())(words, bytes),
                Conversion::Words => {
                    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                        *bytes = word.to_le_bytes();
                    }
                }
            }
        }
    }
}

/// Unpacks texels of any format that has kernels.
pub fn unpack(kernels: &TexelKernels, bytes: &[u8], out: &mut [Texel]) {
    let level = Level::here();
    let by_lanes = match kernels.bytes {
        1 => unpack_lanes::<1>(level),
        2 => unpack_lanes::<2>(level),
        4 => unpack_lanes::<4>(level),
        8 => unpack_lanes::<8>(level),
        16 => unpack_lanes::<16>(level),
        _ => return (kernels.unpack)(bytes, out),
    };
    let whole = out.len() / MAX_LANES * MAX_LANES;
    // SAFETY: the host has its level, and the kernels are those of it.
    unsafe { by_lanes(kernels.lanes[level as usize], bytes, &mut out[..whole]) };
    (kernels.unpack)(&bytes[whole * kernels.bytes..], &mut out[whole..]);
}

/// As [`unpack`].
pub fn pack(kernels: &TexelKernels, texels: &[Texel], bytes: &mut [u8]) {
    let level = Level::here();
    let by_lanes = match kernels.bytes {
        1 => pack_lanes::<1>(level),
        2 => pack_lanes::<2>(level),
        4 => pack_lanes::<4>(level),
        8 => pack_lanes::<8>(level),
        16 => pack_lanes::<16>(level),
        _ => return (kernels.pack)(texels, bytes),
    };
    let whole = texels.len() / MAX_LANES * MAX_LANES;
    // SAFETY: the host has its level, and the kernels are those of it.
    unsafe { by_lanes(kernels.lanes[level as usize], &texels[..whole], &mut bytes[..whole * kernels.bytes]) };
    (kernels.pack)(&texels[whole..], &mut bytes[whole * kernels.bytes..]);
}

/// Exchanges the first and third byte of all words.
pub fn swap_bytes(bytes: &mut [u8]) {
    // SAFETY: the host has its level.
    unsafe { swap(Level::here())(bytes) }
}

/// Between two rows.
pub fn lerp_rows(a: &[u32], b: &[u32], weight: f32, out: &mut [u32]) {
    // SAFETY: the host has its level.
    unsafe { between(Level::here())(a, b, weight, out) }
}

/// [`lerp_rows`], packed as [`Conversion::Unorm8`].
pub fn lerp_to_unorm8(a: &[u32], b: &[u32], weight: f32, out: &mut [u8]) {
    // SAFETY: the host has its level.
    unsafe { between_unorm8(Level::here())(a, b, weight, out) }
}

/// Four texels of four [`Conversion::Unorm8`] components to one, from two rows to `bytes` of another: what [`Taps::filter`] of pairs, a weight of a half
/// between the rows and packing give. The first and third byte are exchanged if `swapped`.
pub fn quarter_of_unorm8(src: DeviceMemory, rows: [u64; 2], dst: DeviceMemory, to: u64, bytes: u64, swapped: bool) {
    let level = Level::here();
    let kernel = if swapped { quarter_unorm8::<true>(level) } else { quarter_unorm8::<false>(level) };
    // SAFETY: the host has its level.
    unsafe { kernel(src, rows, dst, to, bytes) }
}

/// Writes the mean of four rows of codes, exact, ties to even: `bytes` from each of the offsets.
pub fn mean_of_four(src: DeviceMemory, from: [u64; 4], dst: DeviceMemory, to: u64, bytes: u64) {
    // SAFETY: the host has its level.
    unsafe { mean_of_codes(Level::here())(src, from, dst, to, bytes) }
}

/// How the samples of a pixel become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// Of floats.
    Sum,
    /// Of floats or integers.
    Least {
        /// Of integers.
        integer: bool,
    },
    /// Of floats or integers.
    Greatest {
        /// Of integers.
        integer: bool,
    },
}

/// Puts a sample's components to those of others.
pub fn gather_samples(how: Gather, all: &mut [u32], one: &[u32]) {
    let level = Level::here();
    let kernel = match how {
        Gather::Sum => gather::<SUM, false>(level),
        Gather::Least { integer: true } => gather::<LEAST, true>(level),
        Gather::Least { integer: false } => gather::<LEAST, false>(level),
        Gather::Greatest { integer: true } => gather::<GREATEST, true>(level),
        Gather::Greatest { integer: false } => gather::<GREATEST, false>(level),
    };
    // SAFETY: the host has its level.
    unsafe { kernel(all, one) }
}

/// Multiplies floats.
pub fn scale_row(all: &mut [u32], factor: f32) {
    // SAFETY: the host has its level.
    unsafe { scale(Level::here())(all, factor) }
}

const SUM: u8 = 0;
const LEAST: u8 = 1;
const GREATEST: u8 = 2;

/// Loads or stores `B` bytes as words, little-endian.
trait Bytes {
    fn words(&self) -> [u32; 4];
    fn set_words(&mut self, words: [u32; 4]);
}

impl<const B: usize> Bytes for [u8; B] {
    #[inline(always)]
    fn words(&self) -> [u32; 4] {
        let mut all = [0u8; 16];
        all[..B].copy_from_slice(self);
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(all.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    #[inline(always)]
    fn set_words(&mut self, words: [u32; 4]) {
        let mut all = [0u8; 16];
        for (bytes, word) in all.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        self.copy_from_slice(&all[..B]);
    }
}

/// 1/255 of `raw · scale`, correctly rounded, for a code in a byte of a word: [`base::format`]'s conversion, of which a power of two scales the
/// steps exactly.
#[inline(always)]
fn unorm8_at(word: u32, byte: u32) -> f32 {
    const HIGH: f32 = 257.0 / 65536.0;
    const LOW: f32 = (1.0f64 / 255.0 - 257.0 / 65536.0) as f32;
    // The uppermost byte is a negative number where it stands.
    let (raw, scale) = if byte == 3 { (word >> 24, 0) } else { (word & 0xff << (8 * byte), byte) };
    let unit = [1.0, 1.0 / 256.0, 1.0 / 65536.0][scale as usize];
    let raw = raw as i32 as f32;
    raw * (HIGH * unit) + raw * (LOW * unit)
}

/// The code of a value in 0..=1, or of any other after it was cut, in the low byte.
#[inline(always)]
#[allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]
fn code_of(x: f32) -> u8 {
    round::low_bits(x.max(0.0).min(1.0) * 255.0) as u8
}

#[inline(always)]
fn lerp(a: u32, b: u32, rest: f32, weight: f32) -> f32 {
    f32::from_bits(a) * rest + f32::from_bits(b) * weight
}

/// A texel between two. Of four components as one vector: left to the compiler, a loop over texels becomes one over components, which lie apart.
#[inline(always)]
fn mix<const N: usize>(a: &[u32; N], b: &[u32; N], rest: f32, weight: f32, out: &mut [u32; N]) {
    #[cfg(target_arch = "x86_64")]
    if N == 4 {
        // SAFETY: every host of the architecture has 128-bit vectors; four words each.
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

/// Codes that are made at once.
const CODES: usize = 32;

/// [`code_of`] of many.
#[inline(always)]
fn codes_of<H: Host>(values: &[f32; CODES], codes: &mut [u8; CODES]) {
    #[cfg(target_arch = "x86_64")]
    if H::LEVEL >= Level::Avx2 {
        // SAFETY: the host has the level, as this is part of its variant; 32 values and bytes.
        unsafe {
            let at = values.as_ptr();
            let low = _mm256_packs_epi32(eight(at), eight(at.add(8)));
            let high = _mm256_packs_epi32(eight(at.add(16)), eight(at.add(24)));
            // Both packings work on halves: four bytes each from 0, 8, 16 and 24 on, and from 4, 12, 20 and 28 on.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
            _mm256_storeu_si256(codes.as_mut_ptr().cast(), packed);
        }
        return;
    }
    for (code, &x) in codes.iter_mut().zip(values) {
        *code = code_of(x);
    }
}

/// Codes of eight values, before they are cut to 0 from below. Not-a-number stays what it is in the least of two, whose second operand it is, and
/// becomes the least integer, as all that is too small.
///
/// # Safety
/// Eight values at `at`; the host has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn eight(at: *const f32) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let x = _mm256_min_ps(_mm256_set1_ps(1.0), _mm256_loadu_ps(at));
        _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(255.0)))
    }
}

/// Bytes of a line.
const LINE: usize = 64;

#[inline(always)]
fn mean_of_lines([a, b, c, d]: &[[u8; LINE]; 4], mean: &mut [u8; LINE]) {
    for i in 0..LINE {
        let sum = u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i]) + u16::from(d[i]);
        mean[i] = ((sum + 1 + (sum >> 2 & 1)) >> 2) as u8;
    }
}

/// Bytes of the pairs of texels that become a texel per lane.
const PAIRS: usize = 2 * 4 * MAX_LANES;

/// Two rows of pairs to a row of codes. Halves and quarters scale all steps exactly, and are left to the end.
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

base::compiled! {
    /// 8-bit unsigned normalised components.
    unsafe fn unpack_unorm8(bytes: &[u8], out: &mut [u32]) {
        for (word, &byte) in out.iter_mut().zip(bytes) {
            *word = unorm8_at(u32::from(byte), 0).to_bits();
        }
    }

    /// The codes of components.
    unsafe fn pack_unorm8(words: &[u32], bytes: &mut [u8]) {
        let (chunks, rest) = bytes.as_chunks_mut::<CODES>();
        let (word_chunks, word_rest) = words.as_chunks::<CODES>();
        for (codes, words) in chunks.iter_mut().zip(word_chunks) {
            let mut values = [0.0; CODES];
            for i in 0..CODES {
                values[i] = f32::from_bits(words[i]);
            }
            codes_of::<H>(&values, codes);
        }
        for (byte, &word) in rest.iter_mut().zip(word_rest) {
            *byte = code_of(f32::from_bits(word));
        }
    }

    /// Three sRGB components and alpha.
    unsafe fn unpack_srgb(bytes: &[u8], out: &mut [u32]) {
        for (texel, &[r, g, b, a]) in out.as_chunks_mut::<4>().0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            let alpha = unorm8_at(u32::from(a), 0);
            *texel = [srgb_to_linear(r).to_bits(), srgb_to_linear(g).to_bits(), srgb_to_linear(b).to_bits(), alpha.to_bits()];
        }
    }

    /// As [`unpack_srgb`].
    unsafe fn pack_srgb(words: &[u32], bytes: &mut [u8]) {
        for (bytes, &[r, g, b, a]) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words.as_chunks::<4>().0) {
            let (r, g) = (linear_to_srgb(f32::from_bits(r)), linear_to_srgb(f32::from_bits(g)));
            *bytes = [r, g, linear_to_srgb(f32::from_bits(b)), code_of(f32::from_bits(a))];
        }
    }

    /// Halves.
    unsafe fn unpack_half(bytes: &[u8], out: &mut [u32]) {
        let (chunks, rest) = out.as_chunks_mut::<MAX_LANES>();
        let (half_chunks, half_rest) = bytes.as_chunks::<2>().0.as_chunks::<MAX_LANES>();
        for (out, bytes) in chunks.iter_mut().zip(half_chunks) {
            let mut halves = [0; MAX_LANES];
            for (half, bytes) in halves.iter_mut().zip(bytes) {
                *half = u32::from(u16::from_le_bytes(*bytes));
            }
            *out = H::here().floats(&halves);
        }
        for (out, half) in rest.iter_mut().zip(half_rest) {
            *out = half_to_f32(u32::from(u16::from_le_bytes(*half))).to_bits();
        }
    }

    /// Components as halves.
    unsafe fn pack_half(words: &[u32], bytes: &mut [u8]) {
        for (half, &word) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(words) {
            *half = (f32_to_half(f32::from_bits(word)) as u16).to_le_bytes();
        }
    }

    /// Texels of `B` bytes of any format with kernels; the rest of a row that is no multiple of the lanes is left.
    ///
    /// The kernels are of a level that the host has.
    unsafe fn unpack_lanes [const B: usize] [B] (kernels: LaneKernels, bytes: &[u8], out: &mut [Texel]) {
        let blocks = bytes.as_chunks::<B>().0.as_chunks::<MAX_LANES>().0;
        for (blocks, out) in blocks.iter().zip(out.as_chunks_mut::<MAX_LANES>().0) {
            let (mut words, mut texels): (Lanes, Lanes) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
            for (i, block) in blocks.iter().enumerate() {
                for (w, word) in block.words().into_iter().enumerate() {
                    words[w][i] = word;
                }
            }
            (kernels.unpack)(&words, &mut texels);
            for (i, out) in out.iter_mut().enumerate() {
                for (c, out) in out.iter_mut().enumerate() {
                    *out = texels[c][i];
                }
            }
        }
    }

    /// As [`unpack_lanes`].
    unsafe fn pack_lanes [const B: usize] [B] (kernels: LaneKernels, texels: &[Texel], bytes: &mut [u8]) {
        let blocks = bytes.as_chunks_mut::<B>().0.as_chunks_mut::<MAX_LANES>().0;
        for (blocks, texels) in blocks.iter_mut().zip(texels.as_chunks::<MAX_LANES>().0) {
            let (mut words, mut lanes): (Lanes, Lanes) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
            for (i, texel) in texels.iter().enumerate() {
                for (c, &component) in texel.iter().enumerate() {
                    lanes[c][i] = component;
                }
            }
            (kernels.pack)(&lanes, &mut words);
            for (i, block) in blocks.iter_mut().enumerate() {
                block.set_words([words[0][i], words[1][i], words[2][i], words[3][i]]);
            }
        }
    }

    /// Exchanges the first and third byte of all words.
    unsafe fn swap(bytes: &mut [u8]) {
        for bytes in bytes.as_chunks_mut::<4>().0 {
            let word = u32::from_le_bytes(*bytes);
            *bytes = (word & 0xff00_ff00 | word >> 16 & 0xff | (word & 0xff) << 16).to_le_bytes();
        }
    }

    /// A row through its taps, whose texels are in the row.
    unsafe fn filter [const N: usize] [N] (row: &[u32], taps: &[Tap], out: &mut [u32]) {
        let texels = row.as_chunks::<N>().0;
        for (out, tap) in out.as_chunks_mut::<N>().0.iter_mut().zip(taps) {
            debug_assert!((tap.first.max(tap.second) as usize) < texels.len());
            let (a, b) = (texels.get_unchecked(tap.first as usize), texels.get_unchecked(tap.second as usize));
            mix(a, b, tap.rest, tap.weight, out);
        }
    }

    /// [`filter`] where the taps are the pairs of the row, both as much.
    unsafe fn halve [const N: usize] [N] (row: &[u32], out: &mut [u32]) {
        for (out, [a, b]) in out.as_chunks_mut::<N>().0.iter_mut().zip(row.as_chunks::<N>().0.as_chunks::<2>().0) {
            mix(a, b, 0.5, 0.5, out);
        }
    }

    /// Between two rows.
    unsafe fn between(a: &[u32], b: &[u32], weight: f32, out: &mut [u32]) {
        let rest = 1.0 - weight;
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = lerp(a, b, rest, weight).to_bits();
        }
    }

    /// [`between`] and [`pack_unorm8`] in one.
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

    /// [`quarter_of_unorm8`], as [`mean_of_codes`].
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

    /// [`mean_of_four`]: a line of each row at a time, so that the processor sees four streams and nothing waits in between.
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

    /// Puts a sample's components to those of others, as [`Gather`] says, of floats, or of integers.
    unsafe fn gather [const HOW: u8, const INTEGER: bool] [HOW, INTEGER] (all: &mut [u32], one: &[u32]) {
        for (all, &one) in all.iter_mut().zip(one) {
            let (a, b) = (f32::from_bits(*all), f32::from_bits(one));
            *all = match (HOW, INTEGER) {
                (LEAST, true) => (*all).min(one),
                (GREATEST, true) => (*all).max(one),
                (LEAST, false) => if b < a { one } else { *all },
                (GREATEST, false) => if b > a { one } else { *all },
                _ => (a + b).to_bits(),
            };
        }
    }

    /// Multiplies floats.
    unsafe fn scale(all: &mut [u32], factor: f32) {
        for word in all {
            *word = (f32::from_bits(*word) * factor).to_bits();
        }
    }
}
