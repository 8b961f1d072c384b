//! Filters in 512-bit vectors ([`Host::HAS_512`]): those of texels of four components, with 4 or 8
//! bytes, whose lanes are neighbours (`window`).
//!
//! Each quad's window of 4×4 texels (8×2 for lanes in a row) is one vector, or two. One operation
//! selects the texels of both quads on one side of the footprint, the upper and the lower ones. A
//! component of a side is thus one vector of 16 floats; the upper and lower rows are filtered along
//! x at once, and two components at a time along y. Bytes of unsigned normalised texels stay in
//! place in their words and become multiples of their values ([`SCALES`]). A power of two affects
//! no rounding, and is removed with the division at the end. sRGB bytes become floats by tables
//! (`base::format::srgb_vectors`).
//!
//! The results have the bits of `planar`'s filter, because the operations and numbers are the same.

use super::super::memory::TexelMemory;
use super::super::slice::Slice;
use super::super::window::Windows;
use super::super::words::Words;
use super::quad_windows::{WindowShape, both, lanes, lerp, pair, second_window, window};
use base::format::UNORM8;
use base::format::lanes::{FilterTexel, NarrowTexel};
use base::format::srgb_vectors::decode;
use base::host::{Avx512, Host, Ints};
use core::arch::x86_64::*;

/// Factor by which the number of each byte of a texel exceeds its value ([`integers`]).
pub(crate) const SCALES: [f32; 4] = [1.0, 256.0, 65536.0, 1.0];

/// A side of the footprints of all lanes: the upper texels, then the lower ones.
type FootprintSide = [__m512i; 2];

/// The texels of two windows. For texels of 4 bytes each window is one vector, repeated; for texels
/// of 8 bytes it is two vectors.
pub(crate) type LoadedWindows = [[__m512i; 2]; 2];

/// Sixteen texels: for 4 bytes one vector, repeated; for 8 bytes the first eight and the last
/// eight.
pub(crate) type SixteenTexels = [__m512i; 2];

/// Returns the components at both `x` and both `y`, filtered by the `weights` of the second ones;
/// those of integers are still integers. `None` means that wanted lanes lie apart.
#[inline(always)]
pub fn bilinear<H: Host>(
    v: Avx512,
    four: FilterTexel,
    slice: &Slice<'_>,
    x: [H::Ints; 2],
    y: [H::Ints; 2],
    weights: [H::Floats; 2],
) -> Option<Words<H>> {
    let near = match four {
        FilterTexel::Half => Windows::<H>::new::<8>(slice, x, y)?,
        _ => Windows::<H>::new::<4>(slice, x, y)?,
    };
    slice.prefetch_after::<4>(near.first);
    let slices = [slice; 2];
    let rows = v._mm512_or_si512(pair::<H>(v, near.y[0].shl(2), near.y[1].shl(2)), second_window(v));
    let ([left, right], [across, down]) = (near.x, weights);
    let at = [v._mm512_or_si512(rows, pair::<H>(v, left, left)), v._mm512_or_si512(rows, pair::<H>(v, right, right))];
    let weights = [both::<H>(v, across), both::<H>(v, down)];
    let windows = windows_of(v, four, WindowShape::Square, slices, near.first);
    Some(words_of::<H>(v, four, filter(v, four, &windows, at, weights)))
}

/// Returns the filtered components of texels at any offsets from `base`: at both `x` of the first
/// `y`, and of the second one.
#[inline(always)]
pub fn bilinear_at<H: Host>(
    v: Avx512,
    four: FilterTexel,
    memory: TexelMemory<'_>,
    [above, above_right, below, below_right]: [H::Ints; 4],
    [across, down]: [H::Floats; 2],
) -> Words<H> {
    let (left, right) = (pair::<H>(v, above, below), pair::<H>(v, above_right, below_right));
    let texels = [texels_at::<1>(v, four, memory, left), texels_at::<1>(v, four, memory, right)];
    words_of::<H>(v, four, filter_of(v, four, texels, [both::<H>(v, across), both::<H>(v, down)]))
}

/// Returns the texels at offsets in units of `SCALE` bytes.
#[inline(always)]
pub(crate) fn texels_at<const SCALE: i32>(
    v: Avx512,
    four: FilterTexel,
    memory: TexelMemory<'_>,
    at: __m512i,
) -> SixteenTexels {
    if four.words() == 1 {
        return [memory.sixteen_words::<SCALE>(v, at); 2];
    }
    let (first, last) = (v._mm512_castsi512_si256(at), v._mm512_extracti64x4_epi64::<1>(at));
    [memory.eight_pairs::<SCALE>(v, first), memory.eight_pairs::<SCALE>(v, last)]
}

/// Returns the texels at the first eight offsets, repeated.
#[inline(always)]
pub(crate) fn eight_at<const SCALE: i32>(
    v: Avx512,
    four: FilterTexel,
    memory: TexelMemory<'_>,
    at: __m512i,
) -> SixteenTexels {
    let at = v._mm512_castsi512_si256(at);
    if four.words() == 1 {
        let texels = v._mm512_castsi256_si512(memory.eight_words::<SCALE>(v, at));
        return [v._mm512_shuffle_i64x2::<0x44>(texels, texels); 2];
    }
    [memory.eight_pairs::<SCALE>(v, at); 2]
}

/// Returns components, two per vector, as words; integers lose their scales.
#[inline(always)]
fn words_of<H: Host>(v: Avx512, four: FilterTexel, mut components: [__m512; 2]) -> Words<H> {
    if let FilterTexel::Integers(at) = four {
        components[0] = v._mm512_div_ps(components[0], scales(v, at, 0));
        components[1] = v._mm512_div_ps(components[1], scales(v, at, 2));
    }
    let (first, second) = (v._mm512_castps_si512(components[0]), v._mm512_castps_si512(components[1]));
    [
        lanes::<H>(v, v._mm512_castsi512_si256(first)),
        lanes::<H>(v, v._mm512_extracti64x4_epi64::<1>(first)),
        lanes::<H>(v, v._mm512_castsi512_si256(second)),
        lanes::<H>(v, v._mm512_extracti64x4_epi64::<1>(second)),
    ]
}

/// Returns the components of the texels at these numbers in their windows ([`second_window`]), two
/// per vector; both halves of `numbers` are the same.
#[inline(always)]
pub(crate) fn chosen(v: Avx512, four: FilterTexel, windows: &LoadedWindows, numbers: __m512i) -> [__m512; 2] {
    let (at, of) = components(v, four, windows, [numbers; 2]);
    [v._mm512_mask_mov_ps(of[0][at[0]], 0xff00, of[0][at[1]]), v._mm512_mask_mov_ps(of[0][at[2]], 0xff00, of[0][at[3]])]
}

/// Returns the places of the four components, and the components of the texels at these numbers in
/// their windows.
#[inline(always)]
fn components(
    v: Avx512,
    four: FilterTexel,
    windows: &LoadedWindows,
    [left, right]: [__m512i; 2],
) -> ([usize; 4], [[__m512; 4]; 2]) {
    match four {
        FilterTexel::Half => {
            let (left, right) = (side_of_halves(v, windows, left), side_of_halves(v, windows, right));
            ([0, 1, 2, 3], [floats_of_halves(v, left), floats_of_halves(v, right)])
        }
        _ => {
            let [[first, _], [second, _]] = *windows;
            let (left, right) = (texels(v, [first, second], left), texels(v, [first, second], right));
            floats(v, four, [[left; 2], [right; 2]])
        }
    }
}

/// Loads windows of a shape, which begin at these offsets.
#[inline(always)]
pub(crate) fn windows_of(
    v: Avx512,
    four: FilterTexel,
    shape: WindowShape,
    [first, second]: [&Slice<'_>; 2],
    [a, b]: [u32; 2],
) -> LoadedWindows {
    match four {
        FilterTexel::Half => [window_of_halves(v, shape, first, a), window_of_halves(v, shape, second, b)],
        _ => [[window(v, shape, first, a); 2], [window(v, shape, second, b); 2]],
    }
}

/// Returns the places of the four components, and the components of texels.
#[inline(always)]
pub(crate) fn floats(
    v: Avx512,
    four: FilterTexel,
    [left, right]: [SixteenTexels; 2],
) -> ([usize; 4], [[__m512; 4]; 2]) {
    match four {
        FilterTexel::Srgb(at) => (at, [decode(v, left[0]), decode(v, right[0])]),
        FilterTexel::Integers(at) => (at, [integers(v, left[0]), integers(v, right[0])]),
        FilterTexel::Unorm(at) => (at, [unorms(v, left[0]), unorms(v, right[0])]),
        FilterTexel::Half => {
            ([0, 1, 2, 3], [floats_of_halves(v, apart(v, left)), floats_of_halves(v, apart(v, right))])
        }
        FilterTexel::Packed => ([0, 1, 2, 3], [packed(v, left[0]), packed(v, right[0])]),
        FilterTexel::Narrow(few) => ([0, 1, 2, 3], [few_components(v, few, left[0]), few_components(v, few, right[0])]),
    }
}

/// Returns the components of one-word texels, in the form of a sample's result.
#[inline(always)]
pub(crate) fn decoded(v: Avx512, four: FilterTexel, words: __m512i) -> [__m512; 4] {
    let (at, [of, _]) = floats(v, four, [[words; 2]; 2]);
    let mut components = [of[at[0]], of[at[1]], of[at[2]], of[at[3]]];
    if let FilterTexel::Integers(at) = four {
        for (component, at) in components.iter_mut().zip(at) {
            *component = scaled_over_255(v, *component, v._mm512_set1_ps(SCALES[at]));
        }
    }
    components
}

/// Returns the components of texels, two per vector; both halves of the texels are the same.
#[inline(always)]
pub(crate) fn chosen_of(v: Avx512, four: FilterTexel, texels: SixteenTexels) -> [__m512; 2] {
    if matches!(four, FilterTexel::Half) {
        // The order is the eight lanes' first components, then their second ones.
        let halves = v._mm512_permutexvar_epi16(v.load(&EIGHT), texels[0]);
        let (first, last) = (v._mm512_castsi512_si256(halves), v._mm512_extracti64x4_epi64::<1>(halves));
        return [v._mm512_cvtph_ps(first), v._mm512_cvtph_ps(last)];
    }
    let (at, of) = floats(v, four, [texels; 2]);
    [v._mm512_mask_mov_ps(of[0][at[0]], 0xff00, of[0][at[1]]), v._mm512_mask_mov_ps(of[0][at[2]], 0xff00, of[0][at[3]])]
}

/// Filters left and right texels, each above and then below, in the way of [`filter`].
#[inline(always)]
pub(crate) fn filter_of(v: Avx512, four: FilterTexel, texels: [SixteenTexels; 2], weights: [__m512; 2]) -> [__m512; 2] {
    let (at, of) = floats(v, four, texels);
    weighted::<0x44, 0xee>(v, at, of, weights)
}

/// Returns the filtered components of the texels at these numbers in their windows, two per vector:
/// the first component of all lanes, then the second one.
#[inline(always)]
pub(crate) fn filter(
    v: Avx512,
    four: FilterTexel,
    windows: &LoadedWindows,
    numbers: [__m512i; 2],
    weights: [__m512; 2],
) -> [__m512; 2] {
    let (at, of) = components(v, four, windows, numbers);
    weighted::<0x44, 0xee>(v, at, of, weights)
}

/// Returns the filtered components of left and right texels, two per vector. Of two vectors, the
/// quarters `ABOVE` have the upper texels, and `BELOW` the lower ones.
#[inline(always)]
pub(crate) fn weighted<const ABOVE: i32, const BELOW: i32>(
    v: Avx512,
    at: [usize; 4],
    [left, right]: [[__m512; 4]; 2],
    [across, down]: [__m512; 2],
) -> [__m512; 2] {
    let mut filtered = [v._mm512_setzero_ps(); 2];
    for c in 0..2 {
        let (a, b) = (at[2 * c], at[2 * c + 1]);
        let (first, second) = (lerp(v, left[a], right[a], across), lerp(v, left[b], right[b], across));
        let above = v._mm512_shuffle_f32x4::<ABOVE>(first, second);
        let below = v._mm512_shuffle_f32x4::<BELOW>(first, second);
        filtered[c] = lerp(v, above, below, down);
    }
    filtered
}

/// Returns the scales of components `c` and `c + 1`, for all lanes.
#[inline(always)]
fn scales(v: Avx512, at: [usize; 4], c: usize) -> __m512 {
    v._mm512_mask_mov_ps(v._mm512_set1_ps(SCALES[at[c]]), 0xff00, v._mm512_set1_ps(SCALES[at[c + 1]]))
}

/// Applies [`Floats::over_255`](base::host::Floats::over_255) to components, two per vector, if
/// they are integers: numbers up to 255 times their scales.
#[inline(always)]
pub(crate) fn over_255(v: Avx512, four: FilterTexel, [first, second]: [__m512; 2]) -> [__m512; 2] {
    match four {
        FilterTexel::Integers(at) => {
            [scaled_over_255(v, first, scales(v, at, 0)), scaled_over_255(v, second, scales(v, at, 2))]
        }
        // The other two components are constants.
        FilterTexel::Narrow(few) if few.raw => [scaled_over_255(v, first, v._mm512_set1_ps(1.0)), second],
        _ => [first, second],
    }
}

#[inline(always)]
fn scaled_over_255(v: Avx512, of: __m512, scale: __m512) -> __m512 {
    // Scales are powers of two, so these operations are exact.
    let by = v._mm512_mul_ps(scale, v._mm512_set1_ps(255.0));
    let reciprocal = v._mm512_div_ps(v._mm512_set1_ps(1.0 / 255.0), scale);
    let near = v._mm512_mul_ps(of, reciprocal);
    v._mm512_fmadd_ps(v._mm512_fnmadd_ps(near, by, of), reciprocal, near)
}

/// Returns a side of texels of 4 bytes by their numbers in the windows.
#[inline(always)]
fn texels(v: Avx512, [first, second]: [__m512i; 2], at: __m512i) -> __m512i {
    v._mm512_permutex2var_epi32(first, at, second)
}

/// Returns the bytes of texels as floats, times their [`SCALES`].
#[inline(always)]
fn integers(v: Avx512, texels: __m512i) -> [__m512; 4] {
    // A closure would not be inlined here.
    let (a, b, c) = (v._mm512_set1_epi32(0xff), v._mm512_set1_epi32(0xff00), v._mm512_set1_epi32(0xff_0000));
    // The last byte is shifted, because in place it would be negative as a signed number.
    [
        v._mm512_cvtepi32_ps(v._mm512_and_si512(texels, a)),
        v._mm512_cvtepi32_ps(v._mm512_and_si512(texels, b)),
        v._mm512_cvtepi32_ps(v._mm512_and_si512(texels, c)),
        v._mm512_cvtepi32_ps(v._mm512_srli_epi32::<24>(texels)),
    ]
}

/// Returns the number of an unsigned normalised byte, times a scale, exactly rounded as by
/// `base::format`.
#[inline(always)]
fn unorm(v: Avx512, raw: __m512, scale: f32) -> __m512 {
    let (max, rest) = (v._mm512_set1_ps(UNORM8[0] / scale), v._mm512_set1_ps(UNORM8[1] / scale));
    // The first product is exact.
    v._mm512_fmadd_ps(raw, max, v._mm512_mul_ps(raw, rest))
}

/// Returns the bytes of texels as unsigned normalised numbers.
#[inline(always)]
fn unorms(v: Avx512, texels: __m512i) -> [__m512; 4] {
    let ([a, b, c, d], [r, s, t, u]) = (integers(v, texels), SCALES);
    [unorm(v, a, r), unorm(v, b, s), unorm(v, c, t), unorm(v, d, u)]
}

/// Returns the components of texels; bits outside of their own bytes are ignored.
#[inline(always)]
pub(crate) fn few_components(v: Avx512, few: NarrowTexel, texels: __m512i) -> [__m512; 4] {
    let green = if few.components == 1 { v._mm512_setzero_ps() } else { component(v, few, texels, 1) };
    [component(v, few, texels, 0), green, v._mm512_setzero_ps(), v._mm512_set1_ps(1.0)]
}

#[inline(always)]
fn component(v: Avx512, few: NarrowTexel, texels: __m512i, c: u32) -> __m512 {
    let max = (1u32 << few.bits) - 1;
    let shift = 8 * few.component_bytes() as u32 * (c + 1) - u32::from(few.bits);
    let raw = v._mm512_srl_epi32(texels, v._mm_cvtsi32_si128(shift as i32));
    let raw = v._mm512_cvtepi32_ps(v._mm512_and_si512(raw, v._mm512_set1_epi32(max as i32)));
    match few.bits {
        _ if few.raw => raw,
        8 => unorm(v, raw, 1.0),
        _ => v._mm512_div_ps(raw, v._mm512_set1_ps(max as f32)),
    }
}

/// Loads a window of texels of 8 bytes: four rows of four texels, or two of eight.
#[inline(always)]
fn window_of_halves(v: Avx512, shape: WindowShape, slice: &Slice<'_>, at: u32) -> [__m512i; 2] {
    match shape {
        WindowShape::Square => {
            let [first, second, third, fourth] = slice.rows::<__m256i, 4>(at);
            let upper = v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(first), second);
            [upper, v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(third), fourth)]
        }
        WindowShape::Rows | WindowShape::FormatRow => slice.rows::<__m512i, 2>(at),
    }
}

/// Returns a side of texels of 8 bytes by their numbers in the windows of both quads. The first
/// vector has words of the first two components of all lanes, above and below; the second one has
/// those of the other two.
#[inline(always)]
fn side_of_halves(v: Avx512, windows: &[[__m512i; 2]; 2], at: __m512i) -> FootprintSide {
    // The upper and lower texels of the first quad come first, then those of the second one.
    let at = v._mm512_shuffle_i64x2::<0b11_01_10_00>(at, at);
    let first_at = v._mm512_cvtepu32_epi64(v._mm512_castsi512_si256(at));
    let second_at = v._mm512_cvtepu32_epi64(v._mm512_extracti64x4_epi64::<1>(at));
    let first = v._mm512_permutex2var_epi64(windows[0][0], first_at, windows[0][1]);
    let second = v._mm512_permutex2var_epi64(windows[1][0], second_at, windows[1][1]);
    // The order is: the first word of the four upper texels of the first quad, of the second
    // quad, of the lower ones; then the next word.
    let word = v.load(&WORDS);
    let third = v._mm512_add_epi16(word, v._mm512_set1_epi16(2));
    [v._mm512_permutex2var_epi16(first, word, second), v._mm512_permutex2var_epi16(first, third, second)]
}

/// Order of words for [`side_of_halves`]: texels of four words, where those of the second vector
/// begin at 32.
static WORDS: [u16; 32] = {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 32 {
        let (word, below, second, lane) = (i / 16, i / 8 % 2, i / 4 % 2, i % 4);
        words[i] = (32 * second + 16 * below + 4 * lane + word) as u16;
        i += 1;
    }
    words
};

/// Returns the floats of words of halves.
#[inline(always)]
fn floats_of_halves(v: Avx512, side: FootprintSide) -> [__m512; 4] {
    let [a, b] = side;
    [
        v._mm512_cvtph_ps(v._mm512_castsi512_si256(a)),
        v._mm512_cvtph_ps(v._mm512_extracti64x4_epi64::<1>(a)),
        v._mm512_cvtph_ps(v._mm512_castsi512_si256(b)),
        v._mm512_cvtph_ps(v._mm512_extracti64x4_epi64::<1>(b)),
    ]
}

/// Converts sixteen texels of halves to a side.
#[inline(always)]
fn apart(v: Avx512, [first, last]: SixteenTexels) -> FootprintSide {
    let order = v.load(&SIXTEEN);
    let third = v._mm512_add_epi16(order, v._mm512_set1_epi16(2));
    [v._mm512_permutex2var_epi16(first, order, last), v._mm512_permutex2var_epi16(first, third, last)]
}

/// Order of sixteen texels of four halves: the first halves, then the second ones.
static SIXTEEN: [u16; 32] = halves_of(16);

/// Order of eight texels of four halves: the first halves, the second ones, and so on.
static EIGHT: [u16; 32] = halves_of(8);

/// Returns the numbers of the halves of `texels` texels, component by component.
const fn halves_of(texels: usize) -> [u16; 32] {
    let mut order = [0; 32];
    let mut i = 0;
    while i < 32 {
        order[i] = (4 * (i % texels) + i / texels) as u16;
        i += 1;
    }
    order
}

/// Returns the unsigned floats of 11, 11 and 10 bits, and one.
#[inline(always)]
fn packed(v: Avx512, texels: __m512i) -> [__m512; 4] {
    // The shifts move each component's exponent and mantissa to the place of those of a float.
    let bits = v._mm512_set1_epi32(0x7ff << 17);
    let (red, green) = (v._mm512_slli_epi32::<17>(texels), v._mm512_slli_epi32::<6>(texels));
    let blue = v._mm512_and_si512(v._mm512_srli_epi32::<4>(texels), v._mm512_set1_epi32(0x3ff << 18));
    let (red, green) = (v._mm512_and_si512(red, bits), v._mm512_and_si512(green, bits));
    [of_half(v, red), of_half(v, green), of_half(v, blue), v._mm512_set1_ps(1.0)]
}

/// Converts halves without a sign, whose exponents end where those of floats do, to floats; it
/// equals [`Ints::half`], also for NaNs.
#[inline(always)]
fn of_half(v: Avx512, shifted: __m512i) -> __m512 {
    let (min, infinite) = (v._mm512_set1_epi32(0x3880_0000), v._mm512_set1_epi32(0x7f80_0000));
    let bits = v._mm512_add_epi32(shifted, v._mm512_set1_epi32(112 << 23));
    let special = v._mm512_cmpge_epu32_mask(shifted, v._mm512_set1_epi32(0x7c00 << 13));
    let value = v._mm512_castsi512_ps(v._mm512_mask_or_epi32(bits, special, shifted, infinite));
    let denormal = v._mm512_cmplt_epu32_mask(shifted, v._mm512_set1_epi32(0x400 << 13));
    let small = v._mm512_castsi512_ps(v._mm512_or_si512(shifted, min));
    v._mm512_mask_sub_ps(value, denormal, small, v._mm512_castsi512_ps(min))
}
