//! Texels of block-compressed formats, which were decoded (`decoded`). Where all tiles that a call wants are there, lanes gather from the cache;
//! otherwise the missing ones are brought, and where tiles of one call share a place, texels are copied to where the lanes gather from.

#![allow(clippy::needless_range_loop, reason = "loops over places index several arrays of vectors")]

#[cfg(target_arch = "x86_64")]
use super::axes::{Axes, Source, by_axis, is_wanted};
use super::decoded::{BLOCK_SHIFT, Reader, Room};
use super::slice::Slice;
use super::texel::Texels;
#[cfg(target_arch = "x86_64")]
use super::wide;
#[cfg(target_arch = "x86_64")]
use super::wide::{chosen_of, filter_of};
use super::words::{self, Words};
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::{Four, Lanes};
use base::format::{Format, Row, Texel, kernels, plain};
use base::host::{Host, Ints};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Block-compressed formats whose texels are decoded to those of row `ROW` of the format table,
/// which have `WORDS` words (1 or 2); with `RAW` they are filtered as integers ([`Texels::SCALED`]).
pub struct Blocks<const ROW: usize, const WORDS: usize, const RAW: bool>;

impl<const ROW: usize, const WORDS: usize, const RAW: bool> Blocks<ROW, WORDS, RAW> {
    /// Where the texels at `N` places of each lane are, at most four: offsets from where their first words begin and their second ones do, in the cache or
    /// in the room that is given.
    ///
    /// # Safety
    /// They lie inside the slice (all lanes, wanted or not). The host is `H`. The thread decodes no other blocks while they are read.
    #[inline(always)]
    unsafe fn find<H: Host, const N: usize>(
        view: &ImageView,
        slice: &Slice,
        places: [[H::Ints; 2]; N],
        room: &mut Room<WORDS>,
    ) -> ([H::Ints; N], [*const u8; 2]) {
        const { assert!(N <= 4 && Row::<ROW>::BYTES == 4 * WORDS) };
        let three = H::Ints::splat(3);
        // SAFETY: the caller's promise; the reader ends here.
        unsafe {
            let reader = Reader::new(view, slice.base, u64::from(slice.pitch), slice.size);
            let (mut tags, mut at, mut inside) = ([three; N], [three; N], [three; N]);
            for n in 0..N {
                let [x, y] = places[n];
                let [tag, place] = reader.places(x.shr(2), y.shr(2));
                inside[n] = (y & three).shl(4) | (x & three).shl(2);
                (tags[n], at[n]) = (tag, place);
            }
            let mask = slice.mask & 0xff;
            if !reader.has::<H, N>(&tags, &at, mask) {
                let (mut lanes, mut texels) = ([[0; MAX_LANES]; N], [[0; MAX_LANES]; N]);
                for n in 0..N {
                    (lanes[n], texels[n]) = (tags[n].lanes(), inside[n].lanes());
                }
                for lanes in &lanes {
                    reader.find_all(lanes, mask);
                }
                // What was decoded can have taken the place of another one of these blocks.
                if !reader.has::<H, N>(&tags, &at, mask) {
                    reader.copy(&lanes, &texels, mask, room);
                    for n in 0..N {
                        at[n] = H::Ints::of(std::array::from_fn(|lane| ((n * MAX_LANES + lane) * 4) as u32));
                    }
                    let words = room.as_ptr();
                    return (at, [words.cast(), words.wrapping_add(WORDS - 1).cast()]);
                }
            }
            for n in 0..N {
                at[n] = at[n].shl(BLOCK_SHIFT) | inside[n];
            }
            (at, [reader.words(0).cast(), reader.words(1).cast()])
        }
    }

    /// The words of the texels at `N` places of each lane.
    ///
    /// # Safety
    /// As for [`Blocks::find`].
    #[inline(always)]
    unsafe fn texels<H: Host, const N: usize>(
        view: &ImageView,
        slice: &Slice,
        places: [[H::Ints; 2]; N],
    ) -> [Words<H>; N] {
        let (mut room, mut out) = ([[[0; MAX_LANES]; 4]; WORDS], [[H::Ints::splat(0); 4]; N]);
        // SAFETY: the caller's promise; what was found is read here.
        unsafe {
            let (at, words) = Self::find::<H, N>(view, slice, places, &mut room);
            for n in 0..N {
                for w in 0..WORDS {
                    out[n][w] = words::gather::<H, 4>(words[w], at[n])[0];
                }
            }
        }
        out
    }
}

/// Decoded texels.
#[cfg(target_arch = "x86_64")]
impl Source for Reader {
    #[inline(always)]
    unsafe fn new(view: &ImageView, slice: &Slice) -> Reader {
        // SAFETY: the caller's promise.
        unsafe { Reader::new(view, slice.base, u64::from(slice.pitch), slice.size) }
    }

    #[inline(always)]
    unsafe fn find<const LINEAR: bool, const TWO: bool>(
        axes: &Axes<Reader>,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let (reader, mask) = (&axes.source, axes.slices[0].mask as u16 & 0xff);
        if is_wanted(far, mask.into()) {
            return None;
        }
        // SAFETY: the caller's promise: the blocks lie inside of the level; places are the cache's.
        unsafe {
            // Both rows of all lanes.
            let y = _mm512_shuffle_i64x2::<0xee>(first, second);
            let two = axes.four.words() == 2;
            if !LINEAR {
                let [a, b] = reader.wide::<true>(first, y, mask, two)?;
                let texels = [_mm512_shuffle_i64x2::<0x44>(a, a), _mm512_shuffle_i64x2::<0x44>(b, b)];
                return Some(chosen_of(axes.four, texels));
            }
            let mask = mask | mask << MAX_LANES;
            let left = reader.wide::<false>(_mm512_shuffle_i64x2::<0x44>(first, first), y, mask, two)?;
            let right = reader.wide::<false>(_mm512_shuffle_i64x2::<0x44>(second, second), y, mask, two)?;
            Some(filter_of(axes.four, [left, right], by_axis(weight)))
        }
    }
}

/// Any block-compressed format, texel by texel.
pub struct AnyBlocks;

impl Texels for AnyBlocks {
    #[cfg(target_arch = "x86_64")]
    type Source = Reader;

    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let mut bytes = [0; 16];
        // SAFETY: the caller's promise; the reader ends here.
        unsafe {
            let reader = Reader::new(view, slice, row_pitch, [0; 2]);
            for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(reader.texel(x, y)) {
                *bytes = word.to_le_bytes();
            }
        }
        (kernels(plain(Format(view.format as u16))).unpack_one)(&bytes)
    }

    /// There are no stores to compressed images.
    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, _: &Slice, _: V, _: V, _: &Lanes) {}
}

impl<const ROW: usize, const WORDS: usize, const RAW: bool> Texels for Blocks<ROW, WORDS, RAW> {
    const SCALED: bool = RAW;
    const HAS: [bool; 4] = Row::<ROW>::HAS;
    const FOUR: Option<Four> = Row::<ROW>::four(RAW);
    // No decoded half is a signalling one.
    const WIDE_NEAREST: bool = Self::FOUR.is_some();
    #[cfg(target_arch = "x86_64")]
    type Source = Reader;

    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise.
        unsafe { AnyBlocks::texel(view, slice, row_pitch, x, y) }
    }

    #[inline(always)]
    unsafe fn words<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the caller's promise.
        let [words] = unsafe { Self::texels::<H, 1>(view, slice, [[x, y]]) };
        words
    }

    #[inline(always)]
    unsafe fn footprint<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the caller's promise.
        unsafe { Self::texels::<H, 4>(view, slice, [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]]) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn bilinear<H: Host, const R: bool>(
        view: &ImageView,
        slice: &Slice,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
        weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        let four = Self::FOUR.filter(|_| H::WIDE)?;
        let places = [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]];
        let mut room = [[[0; MAX_LANES]; 4]; WORDS];
        // SAFETY: the caller's promise; what was found is read here.
        unsafe {
            let (at, words) = Self::find::<H, 4>(view, slice, places, &mut room);
            Some(wide::bilinear_at::<H>(four.raw(RAW && R), words, at, weights))
        }
    }

    #[inline(always)]
    fn component<V: Ints, const C: usize, const R: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        if RAW && R {
            Row::<ROW>::component_lanes::<V, C, true, QUIET>(words)
        } else {
            Row::<ROW>::component_lanes::<V, C, false, QUIET>(words)
        }
    }

    /// There are no stores to compressed images.
    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, _: &Slice, _: V, _: V, _: &Lanes) {}
}
