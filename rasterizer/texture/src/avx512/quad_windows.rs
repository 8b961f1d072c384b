//! 512-bit vectors ([`Host::HAS_512`]) that have a value of all lanes twice, or a value for both
//! axes. The lower half has x or the upper texels; the upper half has y or the lower texels. The
//! module also has the windows of texels that both quads of lanes sample.

use super::super::slice::Slice;
use super::super::window::SIDE;
use base::host::{Avx512, Host};
use core::arch::x86_64::*;

/// The shape of a quad's window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowShape {
    /// Window of 4×4 texels, for lanes that form a quad.
    Square,
    /// Window of 8×2 texels, for lanes that lie in a row, as those of workgroups do.
    Rows,
    /// Window of 16×1 texels of 4 bytes, for both quads if the lanes lie in a row.
    FormatRow,
}

impl WindowShape {
    /// Returns the number of texels in a row, and the number of rows.
    #[inline(always)]
    pub(crate) fn sides(self) -> [i32; 2] {
        match self {
            WindowShape::Square => [SIDE as i32; 2],
            WindowShape::Rows => [8, 2],
            WindowShape::FormatRow => [16, 1],
        }
    }
}

/// Number of texels of a row, and number of rows, of a window for all lanes: two windows of
/// [`WindowShape::Rows`], one below the other.
pub(crate) const COMMON: [i32; 2] = [8, 4];

/// Returns the offsets of the windows of both quads, which begin at these texels of `1 << BYTES`
/// bytes.
#[inline(always)]
pub(crate) fn windows_at<const BYTES: u32>(v: Avx512, first: __m512i, [pitch, other]: [u32; 2]) -> [u32; 2] {
    // The quads' first lanes are even ones, and the 64-bit multiplication of even lanes is the
    // quickest.
    let (x, y) = (v._mm512_castsi512_si256(first), v._mm512_extracti64x4_epi64::<1>(first));
    let pitches = v._mm256_set_m128i(v._mm_set1_epi32(other as i32), v._mm_set1_epi32(pitch as i32));
    let offsets =
        v._mm256_add_epi32(v._mm256_mul_epu32(y, pitches), v._mm256_sll_epi32(x, v._mm_cvtsi32_si128(BYTES as i32)));
    let second = v._mm256_extracti128_si256::<1>(offsets);
    [v._mm_cvtsi128_si32(v._mm256_castsi256_si128(offsets)) as u32, v._mm_cvtsi128_si32(second) as u32]
}

/// Returns the first texel of the quads' windows of this width and height, and the distances of the
/// first and second texels from it. `seen` has the smallest texel of each quad, the first and
/// second texels, and the level's size. `None` means that wanted lanes need texels outside of the
/// window, or are `far` away.
#[inline(always)]
pub(crate) fn within(
    v: Avx512,
    [width, height]: [i32; 2],
    seen: [__m512i; 4],
    far: u16,
    wanted: u32,
) -> Option<[__m512i; 3]> {
    let (place, outside) = placed(v, [width, height], seen);
    (!is_wanted(outside | far, wanted)).then_some(place)
}

/// Returns the windows as [`within`] does, and the lanes that need texels outside.
#[inline(always)]
pub(crate) fn placed(
    v: Avx512,
    [width, height]: [i32; 2],
    [min, first, second, size]: [__m512i; 4],
) -> ([__m512i; 3], u16) {
    let sides = v._mm512_mask_set1_epi32(v._mm512_set1_epi32(width), 0xff00, height);
    let min = v._mm512_min_epi32(min, v._mm512_sub_epi32(size, sides));
    let (first, second) = (v._mm512_sub_epi32(first, min), v._mm512_sub_epi32(second, min));
    let outside = v._mm512_cmpge_epu32_mask(v._mm512_or_si512(first, second), sides);
    ([min, first, second], outside)
}

/// Returns the smallest number of each quad's lanes, in all lanes of the quad.
#[inline(always)]
pub(crate) fn min_of_quads(v: Avx512, of: __m512i) -> __m512i {
    let min = v._mm512_min_epi32(of, v._mm512_shuffle_epi32::<0b01_00_11_10>(of));
    v._mm512_min_epi32(min, v._mm512_shuffle_epi32::<0b10_11_00_01>(min))
}

/// Returns the smaller one of both quads' numbers, which are the same in all lanes of a quad.
#[inline(always)]
pub(crate) fn min_of_both(v: Avx512, of: __m512i) -> __m512i {
    v._mm512_min_epi32(of, v._mm512_shuffle_i32x4::<0b10_11_00_01>(of, of))
}

/// Returns true if `lanes` has a wanted lane for either axis.
#[inline(always)]
pub(crate) fn is_wanted(lanes: u16, wanted: u32) -> bool {
    u32::from(lanes | lanes >> 8) & wanted != 0
}

/// Returns the weights of x for both sides of the footprints, and those of y.
#[inline(always)]
pub(crate) fn by_axis(v: Avx512, weight: __m512) -> [__m512; 2] {
    [v._mm512_shuffle_f32x4::<0x44>(weight, weight), v._mm512_shuffle_f32x4::<0xee>(weight, weight)]
}

/// Returns the base of the numbers of texels in each quad's window. (For texels of 8 bytes it is
/// ignored.)
#[inline(always)]
pub(crate) fn second_window(v: Avx512) -> __m512i {
    v._mm512_setr_epi32(0, 0, 0, 0, 16, 16, 16, 16, 0, 0, 0, 0, 16, 16, 16, 16)
}

/// Loads a window of texels of 4 bytes: four rows of 16 bytes, two of 32, or one of 64.
#[inline(always)]
pub(crate) fn window(v: Avx512, shape: WindowShape, slice: &Slice<'_>, at: u32) -> __m512i {
    if shape == WindowShape::FormatRow {
        return slice.memory.read::<__m512i>(at);
    }
    if shape == WindowShape::Rows {
        let [above, below] = slice.rows::<__m256i, 2>(at);
        return v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(above), below);
    }
    let [first, second, third, fourth] = slice.rows::<__m128i, 4>(at);
    let rows = v._mm512_inserti32x4::<1>(v._mm512_castsi128_si512(first), second);
    v._mm512_inserti32x4::<3>(v._mm512_inserti32x4::<2>(rows, third), fourth)
}

/// Returns `a + (b - a) * t`.
#[inline(always)]
pub(crate) fn lerp(v: Avx512, a: __m512, b: __m512, t: __m512) -> __m512 {
    v._mm512_add_ps(a, v._mm512_mul_ps(v._mm512_sub_ps(b, a), t))
}

#[inline(always)]
pub(crate) fn lanes<H: Host>(v: Avx512, of: __m256i) -> H::Ints {
    v.lower::<H>().join(v._mm256_castsi256_si128(of), v._mm256_extracti128_si256::<1>(of))
}

#[inline(always)]
fn vector<H: Host>(v: Avx512, of: H::Ints) -> __m256i {
    let [low, high] = H::split(of);
    v._mm256_set_m128i(high, low)
}

#[inline(always)]
pub(crate) fn pair<H: Host>(v: Avx512, low: H::Ints, high: H::Ints) -> __m512i {
    v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(vector::<H>(v, low)), vector::<H>(v, high))
}

#[inline(always)]
pub(crate) fn both<H: Host>(v: Avx512, of: H::Floats) -> __m512 {
    use base::host::Floats;
    v._mm512_castsi512_ps(pair::<H>(v, of.bits(), of.bits()))
}
