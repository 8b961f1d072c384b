//! Texels of block-compressed formats: blocks are decoded whole into a small cache per thread, as texels of a plain format
//! (`base::format::plain`).
//!
//! Invariant: an entry is keyed by the block's bytes and format, not by its address, so it cannot go stale when the memory
//! changes. Neighbouring lanes mostly want the same block: each block that a call wants is looked up once, and copied to where
//! the lanes gather from (so two blocks of one call may share an entry).

#![allow(clippy::needless_range_loop, reason = "loops over places index several arrays of vectors")]

use super::slice::Slice;
use super::texel::Texels;
use super::words::{self, Words};
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::Lanes;
use base::format::{Format, Row, Texel, decode_words, kernels, plain};
use base::host::{Host, Ints};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Block-compressed formats (4×4 texels a block in all that have features) whose texels are decoded to those of row `ROW` of the format table,
/// which have `WORDS` words (1 or 2).
pub struct Blocks<const ROW: usize, const WORDS: usize>;

const CACHE_BITS: u32 = 9;
const CACHED_BLOCKS: usize = 1 << CACHE_BITS;

/// Entries are of format 0, which is no compressed format, while empty. Most formats have one word a texel: they lie together.
struct Cache {
    keys: [u128; CACHED_BLOCKS],
    formats: [u32; CACHED_BLOCKS],
    words: [[[u32; 16]; CACHED_BLOCKS]; 2],
}

thread_local! {
    static CACHE: UnsafeCell<Option<Box<Cache>>> = const { UnsafeCell::new(None) };
}

/// A slice's blocks.
struct Reader {
    base: *const u8,
    format: u32,
    /// Logarithm of a block's bytes.
    shift: u32,
    cache: *mut Cache,
}

impl Reader {
    /// Of the slice at `base`.
    ///
    /// # Safety
    /// There is one reader at a time in a thread.
    #[inline(always)]
    unsafe fn new(view: &ImageView, base: *const u8) -> Reader {
        let shift = if Format(view.format as u16).info().block_bytes == 8 { 3 } else { 4 };
        // SAFETY: the caller's promise.
        let cache = CACHE.with(|cache| unsafe { &mut *cache.get() });
        let cache: *mut Cache = match cache {
            Some(cache) => &raw mut **cache,
            none => &raw mut **none.insert(new_cache()),
        };
        Reader { base, format: view.format, shift, cache }
    }

    /// The cache's entry of the block at `offset`.
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn find(&mut self, offset: u64) -> usize {
        // SAFETY: a block of 8 or 16 bytes, by the caller's promise; the cache is this thread's and this reader's.
        unsafe {
            let block = self.base.add(offset as usize);
            let key = if self.shift == 3 {
                u128::from(u64::from_le_bytes(block.cast::<[u8; 8]>().read_unaligned()))
            } else {
                u128::from_le_bytes(block.cast::<[u8; 16]>().read_unaligned())
            };
            let place = base::hash::of_wide(key as u64 ^ ((key >> 64) as u64).rotate_left(29), CACHE_BITS);
            let place = place % CACHED_BLOCKS;
            let cache = &mut *self.cache;
            if cache.keys[place] != key || cache.formats[place] != self.format {
                fill(cache, place, key, self.format);
            }
            place
        }
    }
}

#[cold]
fn new_cache() -> Box<Cache> {
    // SAFETY: zeros are an empty cache.
    unsafe { Box::<Cache>::new_zeroed().assume_init() }
}

#[inline(never)]
fn fill(cache: &mut Cache, place: usize, key: u128, format: u32) {
    let [first, second] = decode_words(Format(format as u16), &key.to_le_bytes());
    (cache.words[0][place], cache.words[1][place]) = (first, second);
    (cache.keys[place], cache.formats[place]) = (key, format);
}

impl<const ROW: usize, const WORDS: usize> Blocks<ROW, WORDS> {
    /// The words of the texels at `N` places of each lane, at most four.
    ///
    /// # Safety
    /// They lie inside the slice (all lanes, wanted or not). The host is `H`.
    #[inline(always)]
    unsafe fn texels<H: Host, const N: usize>(
        view: &ImageView,
        slice: &Slice,
        places: [[H::Ints; 2]; N],
    ) -> [Words<H>; N] {
        const { assert!(N <= 4 && Row::<ROW>::BYTES == 4 * WORDS) };
        let (zero, three) = (H::Ints::splat(0), H::Ints::splat(3));
        // SAFETY: the caller's promise; the reader ends here.
        let mut reader = unsafe { Reader::new(view, slice.base) };
        let (mut offset, mut offsets, mut rest) = ([zero; N], [[0; MAX_LANES]; N], 0u32);
        for n in 0..N {
            let [x, y] = places[n];
            offset[n] = y.shr(2) * H::Ints::splat(slice.pitch) + x.shr(2).shl(reader.shift);
            offsets[n] = offset[n].lanes();
            rest |= (slice.mask & 0xff) << (MAX_LANES * n);
        }
        let mut blocks = MaybeUninit::<[[[u32; 16]; WORDS]; 4 * MAX_LANES]>::uninit();
        let block = blocks.as_mut_ptr().cast::<[[u32; 16]; WORDS]>();
        let (mut at, mut count) = ([zero; N], 0);
        if rest == 0 {
            return [[zero; 4]; N];
        }
        while rest != 0 {
            let next = rest.trailing_zeros() as usize;
            let wanted = offsets[next / MAX_LANES][next % MAX_LANES];
            // SAFETY: a block of the slice; there are no more than places.
            unsafe {
                let place = reader.find(u64::from(wanted));
                for w in 0..WORDS {
                    (*block.add(count))[w] = (*reader.cache).words[w][place];
                }
            }
            // Lanes that are not wanted may have the block too; others take the first one.
            let one = H::Ints::splat((count * size_of::<[[u32; 16]; WORDS]>()) as u32);
            for n in 0..N {
                let same = offset[n].equal(H::Ints::splat(wanted));
                at[n] = same.select(one, at[n]);
                rest &= !(same.signs() << (MAX_LANES * n));
            }
            count += 1;
        }
        let mut out = [[zero; 4]; N];
        for n in 0..N {
            let [x, y] = places[n];
            let offset = at[n] + ((y & three).shl(4) | (x & three).shl(2));
            for w in 0..WORDS {
                // SAFETY: one of the first `count` blocks.
                out[n][w] = unsafe { words::gather::<H, 4>(block.cast::<u8>().add(64 * w), offset)[0] };
            }
        }
        out
    }
}

/// Any block-compressed format, texel by texel.
pub struct AnyBlocks;

impl Texels for AnyBlocks {
    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let mut bytes = [0; 16];
        // SAFETY: the caller's promise; the reader ends here.
        unsafe {
            let mut reader = Reader::new(view, slice);
            let place = reader.find(u64::from(y / 4) * row_pitch + (u64::from(x / 4) << reader.shift));
            for (bytes, words) in bytes.chunks_exact_mut(4).zip(&(*reader.cache).words) {
                bytes.copy_from_slice(&words[place][(y % 4 * 4 + x % 4) as usize].to_le_bytes());
            }
        }
        (kernels(plain(Format(view.format as u16))).unpack_one)(&bytes)
    }

    /// There are no stores to compressed images.
    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, _: &Slice, _: V, _: V, _: &Lanes) {}
}

impl<const ROW: usize, const WORDS: usize> Texels for Blocks<ROW, WORDS> {
    const HAS: [bool; 4] = Row::<ROW>::HAS;

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

    #[inline(always)]
    fn component<V: Ints, const C: usize, const RAW: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        Row::<ROW>::component_lanes::<V, C, false, QUIET>(words)
    }

    /// There are no stores to compressed images.
    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, _: &Slice, _: V, _: V, _: &Lanes) {}
}
