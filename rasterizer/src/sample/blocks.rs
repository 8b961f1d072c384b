//! Texels of block-compressed formats: blocks are decoded whole into a small cache per thread, as texels of a plain format
//! (`base::format::plain`).
//!
//! A block is found by where it lies in its slice, so that lanes look for all of theirs at once, without loading a block, and neighbours never take each
//! other's places. Where all are there, lanes gather from the cache; otherwise the
//! missing ones are decoded, and where blocks of one call share a place, texels are copied to where the lanes gather from.
//!
//! Invariant: what the cache knows ends with the piece of work ([`pool::epoch`]), for memory may change between two. Within one it does not: Vulkan makes nothing that is written visible
//! to samples of an image without a dependency, of which both sides are pieces of work.

#![allow(clippy::needless_range_loop, reason = "loops over places index several arrays of vectors")]

use super::slice::Slice;
use super::texel::Texels;
#[cfg(target_arch = "x86_64")]
use super::wide;
use super::words::{self, Words};
use crate::pool;
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::Lanes;
use base::format::{Format, Row, Texel, decode_words, kernels, plain};
use base::host::{Host, Ints};
use std::cell::UnsafeCell;

/// Block-compressed formats (4×4 texels a block in all that have features) whose texels are decoded to those of row `ROW` of the format table,
/// which have `WORDS` words (1 or 2); with `RAW` they are filtered as integers ([`Texels::SCALED`]).
pub struct Blocks<const ROW: usize, const WORDS: usize, const RAW: bool>;

/// Blocks of a row, and rows, that have places of their own, as logarithms: a window.
const COLUMNS: u32 = 5;
const ROWS: u32 = 4;
const CACHE_BITS: u32 = 14;
const CACHED_BLOCKS: usize = 1 << CACHE_BITS;
/// Places of windows are moved by a hash, so that what lies apart by a round number, or in several slices, seldom meets.
const MIX: u32 = 0x9e37_79b1;

/// Bits of a block's column and row in its tag: sides of images are at most 2^14 texels.
const COLUMN_BITS: u32 = 12;
const SLICE_SHIFT: u32 = 2 * COLUMN_BITS;
/// How many slices a cache knows at a time by their base.
const SLICE_BITS: u32 = 4;

/// A slice in tags: a number from 1 on, or 0 for none, above [`SLICE_SHIFT`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    base: *const u8,
    format: u32,
    tag: u32,
}

/// Most formats have one word a texel: they lie together.
struct Cache {
    epoch: u64,
    /// Slices by the hash of their base.
    slices: [Known; 1 << SLICE_BITS],
    /// The last number of a slice.
    last: u32,
    /// Slice, row and column of the block in each place.
    tags: [u32; CACHED_BLOCKS],
    words: [[[u32; 16]; CACHED_BLOCKS]; 2],
}

impl Cache {
    /// Memory may have changed: slices get other numbers.
    #[cold]
    fn forget(&mut self, epoch: u64) {
        self.epoch = epoch;
        for slice in &mut self.slices {
            slice.tag = 0;
        }
    }

    /// The tag of a slice that is at this place from now on.
    #[cold]
    fn admit(&mut self, at: usize, base: *const u8, format: u32) -> u32 {
        if self.last == u32::MAX >> SLICE_SHIFT {
            self.forget(self.epoch);
            (self.last, self.tags) = (0, [0; CACHED_BLOCKS]);
        }
        self.last += 1;
        let tag = self.last << SLICE_SHIFT;
        self.slices[at % self.slices.len()] = Known { base, format, tag };
        tag
    }
}

thread_local! {
    static CACHE: UnsafeCell<Option<Box<Cache>>> = const { UnsafeCell::new(None) };
}

/// A slice's blocks.
struct Reader {
    base: *const u8,
    pitch: u64,
    format: u32,
    /// The slice in tags.
    tag: u32,
    cache: *mut Cache,
}

impl Reader {
    /// Of the slice at `base`, whose rows of blocks are `pitch` bytes apart.
    ///
    /// # Safety
    /// There is one reader at a time in a thread.
    #[inline(always)]
    unsafe fn new(view: &ImageView, base: *const u8, pitch: u64) -> Reader {
        let format = view.format;
        // SAFETY: the caller's promise.
        let cache = CACHE.with(|cache| unsafe { &mut *cache.get() });
        let cache = match cache {
            Some(cache) => &mut **cache,
            none => &mut **none.insert(new_cache()),
        };
        let epoch = pool::epoch();
        if cache.epoch != epoch {
            cache.forget(epoch);
        }
        let at = base::hash::of_wide(base as u64, SLICE_BITS) % cache.slices.len();
        let known = cache.slices[at];
        let is_known = known.base == base && known.format == format && known.tag != 0;
        let tag = if is_known { known.tag } else { cache.admit(at, base, format) };
        Reader { base, pitch, format, tag, cache }
    }

    /// What is to be found with the blocks at these columns and rows, and where.
    #[inline(always)]
    fn places<V: Ints>(&self, x: V, y: V) -> [V; 2] {
        let (column, row) = (V::splat((1 << COLUMNS) - 1), V::splat((1 << ROWS) - 1));
        let window = y.shr(ROWS).shl(COLUMN_BITS) | x.shr(COLUMNS) | V::splat(self.tag);
        let hash = (window * V::splat(MIX)).shr(32 - CACHE_BITS);
        [y.shl(COLUMN_BITS) | x | V::splat(self.tag), hash ^ ((y & row).shl(COLUMNS) | (x & column))]
    }

    /// The same of one block.
    #[inline(always)]
    fn place(&self, x: u32, y: u32) -> (u32, usize) {
        let window = y >> ROWS << COLUMN_BITS | x >> COLUMNS | self.tag;
        let hash = window.wrapping_mul(MIX) >> (32 - CACHE_BITS);
        let place = hash ^ (y % (1 << ROWS) << COLUMNS | x % (1 << COLUMNS));
        (y << COLUMN_BITS | x | self.tag, place as usize % CACHED_BLOCKS)
    }

    /// The cache's place of the block at column `x` of row `y`, which is there then.
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn find(&mut self, x: u32, y: u32) -> usize {
        let (tag, place) = self.place(x, y);
        // SAFETY: the cache is this thread's and this reader's; the caller's promise.
        unsafe {
            if (*self.cache).tags[place] != tag {
                self.fill(tag, place, x, y);
            }
        }
        place
    }

    /// # Safety
    /// The block lies inside the slice.
    #[cold]
    unsafe fn fill(&mut self, tag: u32, place: usize, x: u32, y: u32) {
        let bytes = Format(self.format as u16).info().block_bytes as usize;
        let mut block = [0; 16];
        // SAFETY: a block of 8 or 16 bytes, by the caller's promise; the cache is this thread's and this reader's.
        unsafe {
            let from = self.base.add((u64::from(y) * self.pitch) as usize + x as usize * bytes);
            from.copy_to_nonoverlapping(block.as_mut_ptr(), bytes.min(block.len()));
            let cache = &mut *self.cache;
            let [first, second] = decode_words(Format(self.format as u16), &block);
            (cache.words[0][place], cache.words[1][place]) = (first, second);
            cache.tags[place] = tag;
        }
    }

    /// Decodes the blocks of these tags that are not there, of some lanes.
    ///
    /// # Safety
    /// They lie inside the slice.
    #[cold]
    unsafe fn fill_all(&mut self, tags: &[[u32; MAX_LANES]], mask: u32) {
        for tags in tags {
            for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
                let column = (1 << COLUMN_BITS) - 1;
                // SAFETY: the caller's promise.
                unsafe { self.find(tags[lane] & column, tags[lane] >> COLUMN_BITS & column) };
            }
        }
    }

    /// Copies the texels at `inside` (bytes) of these blocks, of some lanes.
    ///
    /// # Safety
    /// They lie inside the slice.
    #[cold]
    unsafe fn copy<const N: usize, const WORDS: usize>(
        &mut self,
        tags: &[[u32; MAX_LANES]; N],
        inside: &[[u32; MAX_LANES]; N],
        mask: u32,
        room: &mut Room<WORDS>,
    ) {
        for n in 0..N {
            for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
                let column = (1 << COLUMN_BITS) - 1;
                let (tag, texel) = (tags[n][lane], inside[n][lane] as usize / 4 % 16);
                // SAFETY: the caller's promise; the cache is this thread's and this reader's.
                unsafe {
                    let place = self.find(tag & column, tag >> COLUMN_BITS & column);
                    for w in 0..WORDS {
                        room[w][n % 4][lane % MAX_LANES] = (*self.cache).words[w][place][texel];
                    }
                }
            }
        }
    }
}

#[cold]
fn new_cache() -> Box<Cache> {
    // SAFETY: zeros are an empty cache.
    unsafe { Box::<Cache>::new_zeroed().assume_init() }
}

/// Texels of lanes, at up to four places each.
type Room<const WORDS: usize> = [[[u32; MAX_LANES]; 4]; WORDS];

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
            let mut reader = Reader::new(view, slice.base, u64::from(slice.pitch));
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
                reader.fill_all(&lanes, mask);
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
            let words = &raw const (*reader.cache).words;
            (at, [words.cast(), (&raw const (*words)[1]).cast()])
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

impl Reader {
    /// Are these blocks in these places?
    ///
    /// # Safety
    /// The places are the cache's. The host is `H`.
    #[inline(always)]
    unsafe fn has<H: Host, const N: usize>(&self, tags: &[H::Ints; N], places: &[H::Ints; N], mask: u32) -> bool {
        let mut same = mask;
        for n in 0..N {
            // SAFETY: the caller's promise.
            let there = unsafe { words::gather::<H, 4>((&raw const (*self.cache).tags).cast(), places[n].shl(2))[0] };
            same &= there.equal(tags[n]).signs();
        }
        same == mask
    }
}

/// Logarithm of the bytes of a word of all texels of a block.
const BLOCK_SHIFT: u32 = 6;

/// Any block-compressed format, texel by texel.
pub struct AnyBlocks;

impl Texels for AnyBlocks {
    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let mut bytes = [0; 16];
        // SAFETY: the caller's promise; the reader ends here.
        unsafe {
            let mut reader = Reader::new(view, slice, row_pitch);
            let place = reader.find(x / 4, y / 4);
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

impl<const ROW: usize, const WORDS: usize, const RAW: bool> Texels for Blocks<ROW, WORDS, RAW> {
    const SCALED: bool = RAW;
    const HAS: [bool; 4] = Row::<ROW>::HAS;
    const WIDE: bool = WORDS == 1 && Row::<ROW>::FOUR.is_some();

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
        let four = Row::<ROW>::FOUR.filter(|_| H::WIDE && Self::WIDE)?;
        let places = [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]];
        let mut room = [[[0; MAX_LANES]; 4]; WORDS];
        // SAFETY: the caller's promise; what was found is read here.
        unsafe {
            let (at, [words, _]) = Self::find::<H, 4>(view, slice, places, &mut room);
            Some(match RAW && R {
                true => wide::bilinear_at::<H, true>(four, words, at, weights),
                false => wide::bilinear_at::<H, false>(four, words, at, weights),
            })
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
