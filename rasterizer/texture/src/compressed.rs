//! Texels of block-compressed formats, which were decoded (`decoded`). If the cache has all tiles
//! of a call, lanes gather from the cache. Otherwise the missing tiles are decoded; if tiles of one
//! call share a place, their texels are copied to memory from which the lanes gather.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over places index several arrays of vectors")]

#[cfg(target_arch = "x86_64")]
use super::avx512::bilinear;
#[cfg(target_arch = "x86_64")]
use super::avx512::bilinear::{chosen_of, eight_at, filter_of, texels_at};
#[cfg(target_arch = "x86_64")]
use super::avx512::level::{FilteredTexels, LevelSampler, LocatedTexels, SampleKind, TexelSource, one_by_one};
#[cfg(target_arch = "x86_64")]
use super::avx512::quad_windows::{WindowShape, by_axis, is_wanted, min_of_both, min_of_quads, window};
#[cfg(target_arch = "x86_64")]
use super::chunk_batch::SEVERAL;
use super::decode_cache::{TEXEL_BITS, TexelBuffer, TileReader};
use super::memory::{TexelMemory, ValidView};
use super::slice::Slice;
use super::texel::Texels;
use super::words::Words;
use base::abi::MAX_LANES;
#[cfg(target_arch = "x86_64")]
use base::format::bc_vectors::{colors, single_texel_decode};
use base::format::lanes::{FilterTexel, Lanes};
use base::format::{Format, FormatRow, Texel, kernels, plain};
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Host, Ints};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::cell::Cell;
#[cfg(target_arch = "x86_64")]
use core::hint::black_box;

/// Block-compressed formats whose texels are decoded to those of row `ROW` of the format table,
/// which have `WORDS` words (1 or 2); with `RAW` they are filtered as integers
/// ([`Texels::SCALED`]).
pub struct CompressedClass<const ROW: usize, const WORDS: usize, const RAW: bool>;

impl<const ROW: usize, const WORDS: usize, const RAW: bool> CompressedClass<ROW, WORDS, RAW> {
    /// Returns the offsets of the texels at `N` (at most four) positions of each lane, and the
    /// memory in which they lie: that of the cache or of `room`. They must be read before the
    /// thread decodes other blocks.
    #[inline(always)]
    fn find<'a, H: Host, const N: usize>(
        host: H,
        view: ValidView<'a>,
        slice: &Slice<'a>,
        places: [[H::Ints; 2]; N],
        room: &'a mut TexelBuffer<WORDS>,
    ) -> ([H::Ints; N], TexelMemory<'a>) {
        const { assert!(N <= 4 && FormatRow::<ROW>::BYTES == 4 * WORDS) };
        let three = H::Ints::splat(3);
        let reader = TileReader::new(view, slice);
        let (mut tags, mut at, mut inside) = ([three; N], [three; N], [three; N]);
        for n in 0..N {
            let [x, y] = places[n];
            let [tag, place] = reader.places(x.shr(2), y.shr(2));
            inside[n] = (y & three).shl(2) | (x & three);
            (tags[n], at[n]) = (tag, place);
        }
        let mask = slice.mask & 0xff;
        if !reader.has::<H, N>(host, &tags, &at, mask) {
            let [mut tags_of, mut places_of, mut texels] = [[[0; MAX_LANES]; N]; 3];
            for n in 0..N {
                (tags_of[n], places_of[n], texels[n]) = (tags[n].to_array(), at[n].to_array(), inside[n].to_array());
                reader.ensure_all_decoded(&tags_of[n], &places_of[n], mask);
            }
            // A decoded tile can have replaced another one of these tiles.
            if !reader.has::<H, N>(host, &tags, &at, mask) {
                reader.copy(&tags_of, &places_of, &texels, mask, room);
                for n in 0..N {
                    at[n] =
                        H::Ints::from_array(std::array::from_fn(|lane| ((n * MAX_LANES + lane) * 4 * WORDS) as u32));
                }
                return (at, TexelMemory::of(Cell::from_mut(&mut room[..]).as_slice_of_cells()));
            }
        }
        for n in 0..N {
            at[n] = (at[n].shl(TEXEL_BITS) | inside[n]).shl(1 + WORDS as u32);
        }
        (at, reader.texels(WORDS))
    }

    /// Returns the words of the texels at `N` positions of each lane.
    #[inline(always)]
    fn texels<H: Host, const N: usize>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        places: [[H::Ints; 2]; N],
    ) -> [Words<H>; N] {
        let (mut room, mut out) = ([[[0; WORDS]; MAX_LANES]; 4], [[H::Ints::splat(0); 4]; N]);
        let (at, memory) = Self::find::<H, N>(host, view, slice, places, &mut room);
        for n in 0..N {
            out[n] = match WORDS {
                1 => memory.gather::<H, 4>(host, at[n]),
                _ => memory.gather::<H, 8>(host, at[n]),
            };
        }
        out
    }
}

/// The source of texels of blocks.
#[cfg(target_arch = "x86_64")]
pub struct CompressedTexels;

/// The state of a level of blocks.
#[cfg(target_arch = "x86_64")]
pub enum CompressedLevel<'a> {
    /// Each texel is decoded alone, which is quicker than to decode its block; `opaque` is true if
    /// all texels are opaque.
    ByThemselves { opaque: bool },
    /// Texels come from the cache of decoded tiles.
    Decoded(TileReader<'a>),
}

#[cfg(target_arch = "x86_64")]
impl TexelSource for CompressedTexels {
    type Level<'a> = CompressedLevel<'a>;

    #[inline(always)]
    fn new<'a>(view: ValidView<'a>, slice: &Slice<'a>) -> CompressedLevel<'a> {
        match single_texel_decode(view.format) {
            Some(opaque) => CompressedLevel::ByThemselves { opaque },
            None => CompressedLevel::Decoded(TileReader::new(view, slice)),
        }
    }

    #[inline(always)]
    fn find<K: SampleKind<TexelSource = CompressedTexels>, const LINEAR: bool, const TWO: bool>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = axes.slices[0].mask as u16 & 0xff;
        if is_wanted(far, mask.into()) {
            return None;
        }
        // The vector has both rows of all lanes.
        let y = v._mm512_shuffle_i64x2::<0xee>(first, second);
        let four = K::FOUR;
        let reader = match &axes.source {
            CompressedLevel::Decoded(reader) => reader,
            // Texels of two words have no such blocks.
            CompressedLevel::ByThemselves { .. } if four.words() == 2 => return None,
            CompressedLevel::ByThemselves { opaque } => {
                let mut lanes = [TilePositions::of_a_chunk::<LINEAR>(v, [first, second])];
                let (slice, near) = (&axes.slices[0], axes.common.get());
                colors_at::<true>(v, slice, *opaque, &mut lanes, mask | mask << MAX_LANES, near);
                let [left, right] = lanes[0].columns;
                return Some(match LINEAR {
                    true => filter_of(v, four, [[left; 2], [right; 2]], by_axis(v, weight)),
                    false => chosen_of(v, four, [left; 2]),
                });
            }
        };
        let texels = reader.texels(four.words());
        if !LINEAR {
            let at = reader.find_512::<true>(v, first, y, mask)?;
            return Some(match four.words() {
                1 => chosen_of(v, four, eight_at::<4>(v, four, texels, at)),
                _ => chosen_of(v, four, eight_at::<8>(v, four, texels, at)),
            });
        }
        if four.words() == 1 && !TWO && axes.common.get() {
            match near_tiles(v, reader, [first, second], mask) {
                Some([left, right]) => {
                    return Some(filter_of(v, four, [[left; 2], [right; 2]], by_axis(v, weight)));
                }
                None => axes.common.set(false),
            }
        }
        let mask = mask | mask << MAX_LANES;
        let mut sides = [[v._mm512_setzero_si512(); 2]; 2];
        for (side, columns) in sides.iter_mut().zip([first, second]) {
            let at = reader.find_512::<false>(v, v._mm512_shuffle_i64x2::<0x44>(columns, columns), y, mask)?;
            // The texels are loaded now, because tiles of the next side may replace theirs.
            *side = match four.words() {
                1 => texels_at::<4>(v, four, texels, at),
                _ => texels_at::<8>(v, four, texels, at),
            };
        }
        Some(filter_of(v, four, sides, by_axis(v, weight)))
    }

    #[inline(always)]
    fn find_several<K: SampleKind<TexelSource = CompressedTexels>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        seen: &[LocatedTexels; SEVERAL],
        found: &mut [FilteredTexels; SEVERAL],
        count: usize,
    ) {
        let (CompressedLevel::ByThemselves { opaque }, 1) = (&axes.source, K::FOUR.words()) else {
            return one_by_one(v, axes, seen, found, count);
        };
        let (slice, near) = (&axes.slices[0], axes.common.get());
        let mask = slice.mask as u16 & 0xff;
        let mut places = [TilePositions::of_a_chunk::<true>(v, seen[0].0); SEVERAL];
        for (places, seen) in places.iter_mut().zip(seen) {
            *places = TilePositions::of_a_chunk::<true>(v, seen.0);
        }
        colors_at::<true>(v, slice, *opaque, &mut places, mask | mask << MAX_LANES, near);
        for i in 0..count {
            let (_, weight, far) = seen[i % SEVERAL];
            let [left, right] = places[i % SEVERAL].columns;
            found[i % SEVERAL] = match is_wanted(far, mask.into()) {
                true => None,
                false => Some(filter_of(v, K::FOUR, [[left; 2], [right; 2]], by_axis(v, weight))),
            };
        }
    }

    #[inline(always)]
    fn words<K: SampleKind<TexelSource = CompressedTexels>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        [x, y]: [__m512i; 2],
        _: [__m512i; 2],
    ) -> Option<__m512i> {
        let reader = match &axes.source {
            CompressedLevel::Decoded(reader) => reader,
            CompressedLevel::ByThemselves { opaque } => {
                let mut lanes = [TilePositions { y, columns: [x; 2], count: 1 }];
                colors_at::<false>(v, &axes.slices[0], *opaque, &mut lanes, u16::MAX, true);
                return Some(lanes[0].columns[0]);
            }
        };
        if axes.common.get() {
            match tiles_of_two(v, reader, [x, y]) {
                Some(words) => return Some(words),
                None => axes.common.set(false),
            }
        }
        let at = reader.find_512::<false>(v, x, y, u16::MAX)?;
        Some(texels_at::<4>(v, K::FOUR, reader.texels(1), at)[0])
    }
}

/// Positions of sixteen lanes: a row, and one or two columns.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct TilePositions {
    y: __m512i,
    columns: [__m512i; 2],
    count: usize,
}

#[cfg(target_arch = "x86_64")]
impl TilePositions {
    /// Returns the positions of a chunk: the upper rows of all lanes, then the lower ones.
    #[inline(always)]
    fn of_a_chunk<const LINEAR: bool>(v: Avx512, [first, second]: [__m512i; 2]) -> TilePositions {
        let y = v._mm512_shuffle_i64x2::<0xee>(first, second);
        let (left, right) =
            (v._mm512_shuffle_i64x2::<0x44>(first, first), v._mm512_shuffle_i64x2::<0x44>(second, second));
        TilePositions { y, columns: [left, right], count: 1 + usize::from(LINEAR) }
    }
}

#[cfg(target_arch = "x86_64")]
base::avx512_fn! {
    /// Replaces the columns of wanted lanes by the texels there, in blocks of colours (BC1). `near`
    /// means that the lanes mostly lie in one window. Sixteen lanes are two chunks, or with `ONE`
    /// one chunk twice.
    fn colors_at [const ONE: bool] [ONE]
        (v: Avx512, slice: &Slice<'_>, opaque: bool, places: &mut [TilePositions], wanted: u16, near: bool) {
        for places in places {
            let number = places.count;
            let TilePositions { y, columns, .. } = places;
            colors_of::<ONE>(v, slice, opaque, *y, &mut columns[..number], wanted, near);
        }

    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn colors_of<const ONE: bool>(
    v: Avx512,
    slice: &Slice<'_>,
    opaque: bool,
    y: __m512i,
    columns: &mut [__m512i],
    wanted: u16,
    near: bool,
) {
    // Width and height in blocks of a window, which is one vector.
    const SIDES: [u32; 2] = [4, 2];
    let three = v._mm512_set1_epi32(3);
    let (top, row) = (v._mm512_srli_epi32::<2>(y), v._mm512_slli_epi32::<2>(v._mm512_and_si512(y, three)));
    let [width, height] = [slice.size[0].div_ceil(4), slice.size[1].div_ceil(4)];
    if near && width >= SIDES[0] && height >= SIDES[1] {
        let left = min_of_corners::<ONE>(v, v._mm512_srli_epi32::<2>(columns[0]), width - SIDES[0]);
        let first = min_of_corners::<ONE>(v, top, height - SIDES[1]);
        let below = v._mm512_sub_epi32(top, first);
        let mut outside = v._mm512_cmpge_epu32_mask(below, v._mm512_set1_epi32(SIDES[1] as i32));
        for column in columns.iter() {
            let right = v._mm512_sub_epi32(v._mm512_srli_epi32::<2>(*column), left);
            outside |= v._mm512_cmpge_epu32_mask(right, v._mm512_set1_epi32(SIDES[0] as i32));
        }
        if outside & wanted == 0 {
            let (x, y) = (v._mm512_castsi512_si128(left), v._mm512_castsi512_si128(first));
            let at = v._mm_cvtsi128_si32(y) as u32 * slice.pitch + 8 * v._mm_cvtsi128_si32(x) as u32;
            let blocks = window(v, WindowShape::Rows, slice, at);
            // Each block has two words.
            let before = v._mm512_sub_epi32(v._mm512_slli_epi32::<3>(below), v._mm512_slli_epi32::<1>(left));
            for column in columns {
                let number = v._mm512_slli_epi32::<1>(v._mm512_srli_epi32::<2>(*column));
                let number = v._mm512_add_epi32(number, before);
                let ends = v._mm512_permutexvar_epi32(number, blocks);
                let indices = v._mm512_permutexvar_epi32(v._mm512_or_si512(number, v._mm512_set1_epi32(1)), blocks);
                let texel = v._mm512_or_si512(row, v._mm512_and_si512(*column, three));
                *column = colors(v, ends, indices, texel, opaque);
            }
            return;
        }
    }
    let rows = v._mm512_mullo_epi32(top, v._mm512_set1_epi32(slice.pitch as i32));
    let even = v._mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let odd = v._mm512_or_si512(even, v._mm512_set1_epi32(1));
    // The bounds are hidden from the compiler, so that they take no registers from the loop above.
    let memory = black_box(slice.memory);
    for column in columns {
        let at = v._mm512_add_epi32(rows, v._mm512_slli_epi32::<3>(v._mm512_srli_epi32::<2>(*column)));
        let a = memory.eight_pairs::<1>(v, v._mm512_castsi512_si256(at));
        let b = memory.eight_pairs::<1>(v, v._mm512_extracti64x4_epi64::<1>(at));
        let (ends, indices) = (v._mm512_permutex2var_epi32(a, even, b), v._mm512_permutex2var_epi32(a, odd, b));
        let texel = v._mm512_or_si512(row, v._mm512_and_si512(*column, three));
        *column = colors(v, ends, indices, texel, opaque);
    }
}

/// Returns in all lanes the smallest number of the pixels at the corners of two chunks (with `ONE`,
/// of one chunk), but at most `max`. It is the smallest number of all lanes if the lanes lie side
/// by side in an image.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn min_of_corners<const ONE: bool>(v: Avx512, of: __m512i, max: u32) -> __m512i {
    let corners = match ONE {
        true => v._mm512_setr_epi32(0, 2, 5, 7, 0, 2, 5, 7, 0, 2, 5, 7, 0, 2, 5, 7),
        false => v._mm512_setr_epi32(0, 2, 13, 15, 0, 2, 13, 15, 0, 2, 13, 15, 0, 2, 13, 15),
    };
    let min = min_of_quads(v, v._mm512_permutexvar_epi32(corners, of));
    v._mm512_min_epi32(min, v._mm512_set1_epi32(max as i32))
}

/// Returns the texels of a linear filter, left ones and right ones, each above and below, if those
/// of all wanted lanes lie in four tiles that share a corner. Such tiles are looked up one by one,
/// and need no gather.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn near_tiles(v: Avx512, reader: &TileReader<'_>, [first, second]: [__m512i; 2], mask: u16) -> Option<[__m512i; 2]> {
    let min = v._mm512_srli_epi32::<2>(min_of_both(v, min_of_quads(v, first)));
    // Intrinsics are not inlined in closures.
    let a = v._mm512_sub_epi32(v._mm512_srli_epi32::<2>(first), min);
    let b = v._mm512_sub_epi32(v._mm512_srli_epi32::<2>(second), min);
    let tiles = v._mm512_or_si512(a, b);
    let one = v._mm512_set1_epi32(1);
    if is_wanted(v._mm512_cmpgt_epu32_mask(tiles, one), mask.into()) {
        return None;
    }
    let wanted = mask | mask << MAX_LANES;
    let others = v._mm512_test_epi32_mask(tiles, one) & wanted;
    let column = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(min)) as u32;
    let row = v._mm_cvtsi128_si32(v._mm512_extracti32x4_epi32::<2>(min)) as u32;
    let tiles = reader.tiles(v, [column, row], [others & 0xff != 0, others >> MAX_LANES != 0]);
    let three = v._mm512_set1_epi32(3);
    let [a_inside, b_inside] = [v._mm512_and_si512(first, three), v._mm512_and_si512(second, three)];
    let rows = v._mm512_slli_epi32::<2>(v._mm512_shuffle_i64x2::<0xee>(a_inside, b_inside));
    let lower = v._mm512_test_epi32_mask(v._mm512_shuffle_i64x2::<0xee>(a, b), one);
    let left = v._mm512_or_si512(a_inside, v._mm512_slli_epi32::<4>(a));
    let left = v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(left, left));
    let right = v._mm512_or_si512(b_inside, v._mm512_slli_epi32::<4>(b));
    let right = v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(right, right));
    Some([of_tiles(v, tiles, left, lower), of_tiles(v, tiles, right, lower)])
}

/// Returns the texels at x and y of two chunks, without a filter, if they lie in four tiles that
/// share a corner.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn tiles_of_two(v: Avx512, reader: &TileReader<'_>, [x, y]: [__m512i; 2]) -> Option<__m512i> {
    let one = v._mm512_set1_epi32(1);
    let min = [v._mm512_reduce_min_epi32(x) >> 2, v._mm512_reduce_min_epi32(y) >> 2];
    let a = v._mm512_sub_epi32(v._mm512_srli_epi32::<2>(x), v._mm512_set1_epi32(min[0]));
    let b = v._mm512_sub_epi32(v._mm512_srli_epi32::<2>(y), v._mm512_set1_epi32(min[1]));
    if v._mm512_cmpgt_epu32_mask(v._mm512_or_si512(a, b), one) != 0 {
        return None;
    }
    let (right, lower) = (v._mm512_test_epi32_mask(a, one), v._mm512_test_epi32_mask(b, one));
    let tiles = reader.tiles(v, min.map(|tile| tile as u32), [right != 0, lower != 0]);
    let three = v._mm512_set1_epi32(3);
    let (x, y) = (v._mm512_and_si512(x, three), v._mm512_and_si512(y, three));
    let columns = v._mm512_or_si512(x, v._mm512_slli_epi32::<4>(a));
    Some(of_tiles(v, tiles, v._mm512_or_si512(columns, v._mm512_slli_epi32::<2>(y)), lower))
}

/// Returns texels of four tiles by their numbers in an upper tile and the one right of it, or in
/// the lower two tiles.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn of_tiles(v: Avx512, [a, b, c, d]: [__m512i; 4], numbers: __m512i, lower: u16) -> __m512i {
    let upper = v._mm512_permutex2var_epi32(a, numbers, b);
    v._mm512_mask_mov_epi32(upper, lower, v._mm512_permutex2var_epi32(c, numbers, d))
}

/// The texel class of any block-compressed format, which decodes texel by texel.
pub struct AnyCompressed;

impl Texels for AnyCompressed {
    #[cfg(target_arch = "x86_64")]
    type TexelSource = CompressedTexels;
    type Shared = AnyCompressed;

    #[inline(always)]
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        let mut bytes = [0; 16];
        let reader = TileReader::of_texels(view, slice, row_pitch);
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(reader.texel(x, y)) {
            *bytes = word.to_le_bytes();
        }
        (kernels(plain(Format(view.format as u16))).unpack_one)(&bytes)
    }

    /// Does nothing, because there are no stores to compressed images.
    #[inline(always)]
    fn store<V: Ints>(_: ValidView<'_>, _: &Slice<'_>, _: V, _: V, _: &Lanes) {}
}

impl<const ROW: usize, const WORDS: usize, const RAW: bool> Texels for CompressedClass<ROW, WORDS, RAW> {
    const SCALED: bool = RAW;
    const HAS: [bool; 4] = FormatRow::<ROW>::HAS;
    const FOUR: Option<FilterTexel> = FormatRow::<ROW>::four(RAW);
    // No decoded half is a signalling NaN.
    const HAS_512_NEAREST: bool = Self::FOUR.is_some();
    #[cfg(target_arch = "x86_64")]
    type TexelSource = CompressedTexels;
    type Shared = AnyCompressed;

    #[inline(always)]
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        AnyCompressed::texel(view, slice, row_pitch, x, y)
    }

    #[inline(always)]
    fn words<H: Host>(host: H, view: ValidView<'_>, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        let [words] = Self::texels::<H, 1>(host, view, slice, [[x, y]]);
        words
    }

    #[inline(always)]
    fn footprint<H: Host>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        Self::texels::<H, 4>(host, view, slice, [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]])
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn bilinear<H: Host, const R: bool>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
        weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        let four = Self::FOUR?;
        let places = [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]];
        let mut room = [[[0; WORDS]; MAX_LANES]; 4];
        let v = host.avx512()?;
        let (at, memory) = Self::find::<H, 4>(host, view, slice, places, &mut room);
        Some(bilinear::bilinear_at::<H>(v, four.raw(RAW && R), memory, at, weights))
    }

    #[inline(always)]
    fn component<V: Ints, const C: usize, const R: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        if RAW && R {
            FormatRow::<ROW>::component_lanes::<V, C, true, QUIET>(words)
        } else {
            FormatRow::<ROW>::component_lanes::<V, C, false, QUIET>(words)
        }
    }

    /// Does nothing, because there are no stores to compressed images.
    #[inline(always)]
    fn store<V: Ints>(_: ValidView<'_>, _: &Slice<'_>, _: V, _: V, _: &Lanes) {}
}
