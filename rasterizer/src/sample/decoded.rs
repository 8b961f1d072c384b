//! Texels of compressed formats that a thread has decoded, as those of a plain format (`base::format::plain`), in tiles of 4×4, in two small caches.
//!
//! The first one is asked where a tile lies in its slice, so that lanes look for all of theirs at once, without loading a block, and neighbours never take each
//! other's places. Most blocks are one tile; of others (ASTC) tiles are put together. What is not there is looked for by its block's bytes in the second one, which mostly has
//! it, when a thread comes back to a place or a texture has many equal blocks; only then the block is decoded.
//!
//! Invariant: what the first one knows ends with the piece of work ([`pool::epoch`]), for memory may change between two. Within one it does not: Vulkan makes
//! nothing that is written visible to samples of an image without a dependency, of which both sides are pieces of work. What the second one knows can't go stale.

use super::words;
use crate::pool;
use base::abi::{ImageView, MAX_LANES};
use base::format::{Format, decode_tiles, plain};
use base::host::{Host, Ints, prefetch};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use std::cell::UnsafeCell;

/// Tiles of a row, and rows, that have places of their own, as logarithms: a window.
const COLUMNS: u32 = 5;
const ROWS: u32 = 4;
const PLACE_BITS: u32 = 12;
const PLACES: usize = 1 << PLACE_BITS;
/// Places of windows are moved by a hash, so that what lies apart by a round number, or in several slices, seldom meets.
const MIX: u32 = 0x9e37_79b1;

/// Bits of a tile's column and row in its tag: sides of images are at most 2^14 texels.
const COLUMN_BITS: u32 = 12;
const COLUMN: u32 = (1 << COLUMN_BITS) - 1;
const SLICE_SHIFT: u32 = 2 * COLUMN_BITS;
/// Slices have numbers of one half, then of the other, each without its first one: what a reader brings that still has one of the half before, nobody takes for a tile of another slice.
const HALF: u32 = 1 << (u32::BITS - SLICE_SHIFT - 1);
/// How many slices a cache knows at a time: two of each hash but for its lowest bit.
const SLICE_BITS: u32 = 6;

/// How many tiles are known by their blocks' bytes.
const CONTENT_BITS: u32 = 12;
const CONTENTS: usize = 1 << CONTENT_BITS;
const TILE_SHIFT: u32 = 16;

/// Texels of a tile's row, and its rows.
const SIDE: u32 = 4;

/// Bits of a texel's number in its tile.
pub(super) const TEXEL_BITS: u32 = 4;

/// A word of all texels of a tile: a line of the processor's caches.
type Block = [u32; 1 << TEXEL_BITS];

/// What begins with such a line.
#[repr(C, align(64))]
struct Lines<T>(T);

/// Texels of lanes, at up to four places each.
pub(super) type Room<const WORDS: usize> = [[[u32; WORDS]; MAX_LANES]; 4];

/// A slice in tags: a number from 1 on, or 0 for none, above [`SLICE_SHIFT`].
#[derive(Clone, Copy)]
struct Known {
    base: *const u8,
    format: u32,
    tag: u32,
}

/// Zeros are an empty one; no format that is decoded is 0.
struct Cache {
    epoch: u64,
    /// Slices by the hash of their base, in either of two neighbours.
    slices: [Known; 1 << SLICE_BITS],
    /// The last number of a slice.
    last: u32,
    /// Slice, row and column of the tile in each place.
    tags: [u32; PLACES],
    /// Of texels of one word, and of two.
    single: Lines<[Block; PLACES]>,
    double: Lines<[[[u32; 2]; 1 << TEXEL_BITS]; PLACES]>,
    contents: Contents,
}

/// Tiles by the hash of their block's bytes.
struct Contents {
    known: [Content; CONTENTS],
    words: Lines<[[Block; CONTENTS]; 2]>,
}

/// Which tile it is.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(32))]
struct Content {
    block: u128,
    /// And the number of the tile in its block, from [`TILE_SHIFT`] on.
    format: u32,
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

    /// The tag of a slice that is known from now on.
    #[cold]
    fn admit(&mut self, base: *const u8, format: u32) -> u32 {
        if self.last % HALF == HALF - 1 {
            self.forget(self.epoch);
            (self.last, self.tags) = ((self.last + 1) % (2 * HALF), [0; PLACES]);
        }
        self.last += 1;
        let at = slices_of(base);
        // The older one goes.
        let at = if self.slices[at[0]].tag < self.slices[at[1]].tag { at[0] } else { at[1] };
        let tag = self.last << SLICE_SHIFT;
        self.slices[at] = Known { base, format, tag };
        tag
    }

    /// The tag of a slice.
    #[inline(always)]
    fn tag(&mut self, base: *const u8, format: u32) -> u32 {
        for at in slices_of(base) {
            let known = &self.slices[at];
            if known.base == base && known.format == format && known.tag != 0 {
                return known.tag;
            }
        }
        self.admit(base, format)
    }
}

impl Contents {
    /// Where a tile of a block is, which is there then: its number is that of [`decode_tiles`].
    fn find(&mut self, block: u128, format: u32, tile: u32) -> usize {
        let hash = hash_of(block);
        let at = (hash + tile as usize) % CONTENTS;
        if self.known[at] != (Content { block, format: format | tile << TILE_SHIFT }) {
            decode_tiles(Format(format as u16), &block.to_le_bytes(), &mut |tile, &[first, second]| {
                let at = (hash + tile) % CONTENTS;
                (self.words.0[0][at], self.words.0[1][at]) = (first, second);
                self.known[at] = Content { block, format: format | (tile as u32) << TILE_SHIFT };
            });
        }
        at
    }
}

#[inline(always)]
fn hash_of(block: u128) -> usize {
    base::hash::of_wide(block as u64 ^ ((block >> 64) as u64).rotate_left(29), CONTENT_BITS)
}

/// Where a slice may be known.
#[inline(always)]
fn slices_of(base: *const u8) -> [usize; 2] {
    let at = base::hash::of_wide(base as u64, SLICE_BITS) % (1 << SLICE_BITS);
    [at, at ^ 1]
}

thread_local! {
    static CACHE: UnsafeCell<Option<Box<Cache>>> = const { UnsafeCell::new(None) };
}

#[cold]
fn new_cache() -> Box<Cache> {
    // SAFETY: zeros are an empty cache.
    unsafe { Box::<Cache>::new_zeroed().assume_init() }
}

/// A slice's texels, in tiles of [`SIDE`]×[`SIDE`].
pub struct Reader {
    base: *const u8,
    pitch: u64,
    size: [u32; 2],
    format: u32,
    /// The slice in tags.
    tag: u32,
    cache: *mut Cache,
}

impl Reader {
    /// Of the slice at `base`, of so many texels, whose rows of blocks are `pitch` bytes apart.
    ///
    /// # Safety
    /// It lives within one kernel's call.
    #[inline(always)]
    pub(super) unsafe fn new(view: &ImageView, base: *const u8, pitch: u64, size: [u32; 2]) -> Reader {
        // SAFETY: the caller's promise; the thread's own cache.
        unsafe {
            let reader = Reader { size, ..Reader::of_texels(view, base, pitch) };
            let (cache, epoch) = (&mut *reader.cache, pool::epoch());
            if cache.epoch != epoch {
                cache.forget(epoch);
            }
            Reader { tag: cache.tag(base, view.format), ..reader }
        }
    }

    /// The same that is asked for single texels only ([`Reader::texel`]).
    ///
    /// # Safety
    /// As for [`Reader::new`].
    #[inline(always)]
    pub(super) unsafe fn of_texels(view: &ImageView, base: *const u8, pitch: u64) -> Reader {
        // SAFETY: the thread's own, of which there are references only within functions of this module.
        let cache = CACHE.with(|cache| unsafe { &mut *cache.get() });
        let cache = match cache {
            Some(cache) => &mut **cache,
            none => &mut **none.insert(new_cache()),
        };
        Reader { base, pitch, size: [0; 2], format: view.format, tag: 0, cache }
    }

    /// The texels of all places, of so many words each.
    #[inline(always)]
    pub(super) fn texels(&self, words: usize) -> *const u8 {
        // SAFETY: the thread's own cache lives as long as the thread.
        unsafe {
            match words {
                1 => (&raw const (*self.cache).single).cast(),
                _ => (&raw const (*self.cache).double).cast(),
            }
        }
    }

    /// What is to be found with the tiles at these columns and rows, and where.
    #[inline(always)]
    pub(super) fn places<V: Ints>(&self, x: V, y: V) -> [V; 2] {
        let (column, row) = (V::splat((1 << COLUMNS) - 1), V::splat((1 << ROWS) - 1));
        let window = y.shr(ROWS).shl(COLUMN_BITS) | x.shr(COLUMNS) | V::splat(self.tag);
        let hash = (window * V::splat(MIX)).shr(32 - PLACE_BITS);
        [y.shl(COLUMN_BITS) | x | V::splat(self.tag), hash ^ ((y & row).shl(COLUMNS) | (x & column))]
    }

    /// Brings the tile with a tag of this slice to its place, if it is not there.
    ///
    /// # Safety
    /// It lies inside the slice; the place is the one of [`Reader::places`].
    #[inline(always)]
    unsafe fn bring(&self, tag: u32, place: usize) {
        // SAFETY: the thread's own cache; the caller's promise.
        unsafe {
            if (*self.cache).tags[place] != tag {
                self.fill(tag, place);
            }
        }
    }

    /// # Safety
    /// The tile lies inside the slice.
    #[inline(never)]
    unsafe fn fill(&self, tag: u32, place: usize) {
        let [x, y] = [tag & COLUMN, tag >> COLUMN_BITS & COLUMN];
        let format = Format(self.format as u16);
        // More than four bytes are two words.
        let single = plain(format).info().block_bytes <= 4;
        // SAFETY: the caller's promise; the thread's own cache.
        unsafe {
            let cache = &mut *self.cache;
            if format.info().block == (SIDE as u8, SIDE as u8) {
                self.expect(x + 1, y);
                let at = cache.contents.find(self.block(x, y), self.format, 0);
                let [first, second] = &cache.contents.words.0;
                if single {
                    cache.single.0[place] = first[at];
                } else {
                    cache.double.0[place] = std::array::from_fn(|texel| [first[at][texel], second[at][texel]]);
                }
            } else {
                self.put_together(place, [x, y], single);
            }
            cache.tags[place] = tag;
        }
    }

    /// Asks for what is known of a block, which is wanted next where texels are wanted row by row.
    ///
    /// # Safety
    /// Its row lies inside the slice.
    #[inline(always)]
    unsafe fn expect(&self, x: u32, y: u32) {
        if x * SIDE < self.size[0] {
            // SAFETY: the caller's promise; the thread's own cache.
            unsafe {
                let (contents, at) = (&raw const (*self.cache).contents, hash_of(self.block(x, y)) % CONTENTS);
                prefetch((&raw const (*contents).known[at]).cast());
                prefetch((&raw const (*contents).words.0[0][at]).cast());
            }
        }
    }

    /// The same of a tile of several blocks, or of a part of one.
    ///
    /// # Safety
    /// As for `fill`.
    #[inline(never)]
    unsafe fn put_together(&self, place: usize, [column, row]: [u32; 2], single: bool) {
        for texel in 0..1 << TEXEL_BITS {
            // What lies outside of the slice is nobody's.
            let [x, y] = [
                (column * SIDE + texel % SIDE).min(self.size[0] - 1),
                (row * SIDE + texel / SIDE).min(self.size[1] - 1),
            ];
            // SAFETY: the caller's promise; the thread's own cache.
            unsafe {
                let words = self.texel(x, y);
                let cache = &mut *self.cache;
                if single {
                    cache.single.0[place][texel as usize] = words[0];
                } else {
                    cache.double.0[place][texel as usize] = words;
                }
            }
        }
    }

    /// A block's bytes.
    ///
    /// # Safety
    /// It lies inside the slice.
    unsafe fn block(&self, column: u32, row: u32) -> u128 {
        // SAFETY: a block of 8 or 16 bytes, by the caller's promise.
        unsafe {
            let row = self.base.add((u64::from(row) * self.pitch) as usize);
            match Format(self.format as u16).info().block_bytes {
                8 => u64::from_le_bytes(row.cast::<[u8; 8]>().add(column as usize).read_unaligned()).into(),
                _ => u128::from_le_bytes(row.cast::<[u8; 16]>().add(column as usize).read_unaligned()),
            }
        }
    }

    /// Where among the contents the tile of a block is that has the texel at (x, y), and where it is in there.
    ///
    /// # Safety
    /// It lies inside the slice.
    unsafe fn content(&self, x: u32, y: u32) -> (usize, usize) {
        let (width, height) = Format(self.format as u16).info().block;
        let (width, height) = (u32::from(width), u32::from(height));
        // SAFETY: the caller's promise; the thread's own cache.
        unsafe {
            let block = self.block(x / width, y / height);
            let (x, y) = (x % width, y % height);
            let at = (*self.cache).contents.find(block, self.format, y / SIDE * SIDE + x / SIDE);
            (at, (y % SIDE * SIDE + x % SIDE) as usize)
        }
    }

    /// Both words of the texel at (x, y).
    ///
    /// # Safety
    /// It lies inside the slice.
    pub(super) unsafe fn texel(&self, x: u32, y: u32) -> [u32; 2] {
        // SAFETY: the caller's promise; the thread's own cache.
        unsafe {
            let (at, inside) = self.content(x, y);
            [0, 1].map(|w: usize| (*self.cache).contents.words.0[w][at][inside])
        }
    }

    /// Brings the tiles of some of these tags to their places.
    ///
    /// # Safety
    /// They lie inside the slice; the places are those of [`Reader::places`].
    #[cold]
    pub(super) unsafe fn bring_all<const N: usize>(&self, tags: &[u32; N], places: &[u32; N], mut missing: u32) {
        while let Some(tag) = tags.get(missing.trailing_zeros() as usize) {
            // SAFETY: the caller's promise.
            unsafe { self.bring(*tag, places[missing.trailing_zeros() as usize] as usize % PLACES) };
            missing &= missing - 1;
        }
    }

    /// Copies the texels at `inside` (numbers) of these tiles, of some lanes.
    ///
    /// # Safety
    /// They lie inside the slice; the places are those of [`Reader::places`].
    #[cold]
    pub(super) unsafe fn copy<const N: usize, const WORDS: usize>(
        &self,
        tags: &[[u32; MAX_LANES]; N],
        places: &[[u32; MAX_LANES]; N],
        inside: &[[u32; MAX_LANES]; N],
        mask: u32,
        room: &mut Room<WORDS>,
    ) {
        for n in 0..N {
            for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
                let (place, texel) = (places[n][lane] as usize % PLACES, inside[n][lane] as usize % (1 << TEXEL_BITS));
                // SAFETY: the caller's promise; a place of the thread's own cache.
                unsafe {
                    self.bring(tags[n][lane], place);
                    let texels: *const [u32; WORDS] = self.texels(WORDS).cast();
                    room[n % 4][lane] = *texels.add(place << TEXEL_BITS | texel);
                }
            }
        }
    }

    /// Are these tiles in these places?
    ///
    /// # Safety
    /// The places are the cache's. The host is `H`.
    #[inline(always)]
    pub(super) unsafe fn has<H: Host, const N: usize>(
        &self,
        tags: &[H::Ints; N],
        places: &[H::Ints; N],
        mask: u32,
    ) -> bool {
        let mut same = mask;
        for n in 0..N {
            // SAFETY: the caller's promise.
            let there = unsafe { words::gather::<H, 4>((&raw const (*self.cache).tags).cast(), places[n].shl(2))[0] };
            same &= there.equal(tags[n]).signs();
        }
        same == mask
    }

    /// Where the texels at 16 places are among those of all places, with `HALF` of the first eight places only, of those in `mask`; any others' are some texel's.
    /// None where tiles share a place.
    ///
    /// # Safety
    /// They lie inside the slice. The host is wide.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn wide<const HALF: bool>(&self, x: __m512i, y: __m512i, mask: u16) -> Option<__m512i> {
        // SAFETY: the caller's promise; places are the cache's, and texels below 16.
        unsafe {
            let (column, row) = (_mm512_srli_epi32::<2>(x), _mm512_srli_epi32::<2>(y));
            let slice = _mm512_set1_epi32(self.tag as i32);
            let tag = _mm512_or_si512(_mm512_or_si512(_mm512_slli_epi32::<COLUMN_BITS>(row), column), slice);
            let window = _mm512_slli_epi32::<COLUMN_BITS>(_mm512_srli_epi32::<ROWS>(row));
            let window = _mm512_or_si512(_mm512_or_si512(window, _mm512_srli_epi32::<COLUMNS>(column)), slice);
            let hash = _mm512_mullo_epi32(window, _mm512_set1_epi32(MIX as i32));
            let hash = _mm512_srli_epi32::<{ 32 - PLACE_BITS }>(hash);
            let row = _mm512_and_si512(row, _mm512_set1_epi32((1 << ROWS) - 1));
            let column = _mm512_and_si512(column, _mm512_set1_epi32((1 << COLUMNS) - 1));
            let place = _mm512_xor_si512(hash, _mm512_or_si512(_mm512_slli_epi32::<COLUMNS>(row), column));
            let missing = self.missing::<HALF>(place, tag) & mask;
            if missing != 0 {
                let [mut tags, mut places] = [[0; 2 * MAX_LANES]; 2];
                _mm512_storeu_si512((&raw mut tags).cast(), tag);
                _mm512_storeu_si512((&raw mut places).cast(), place);
                self.bring_all(&tags, &places, missing.into());
                // What is brought takes no other's place but that of another window.
                let first = _mm512_broadcastd_epi32(_mm512_castsi512_si128(window));
                let others = _mm512_cmpneq_epi32_mask(window, first) & mask;
                if others != 0 && self.missing::<HALF>(place, tag) & mask != 0 {
                    return None;
                }
            }
            let three = _mm512_set1_epi32(3);
            let inside = _mm512_slli_epi32::<2>(_mm512_and_si512(y, three));
            let inside = _mm512_or_si512(inside, _mm512_and_si512(x, three));
            Some(_mm512_or_si512(_mm512_slli_epi32::<TEXEL_BITS>(place), inside))
        }
    }

    /// The texels (of one word) of a tile, of the one right of it, of the one below it, of the one beside both, as far as these are asked for: else those of the tile itself.
    ///
    /// # Safety
    /// All lie inside the slice. The host is wide.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn tiles(&self, [column, row]: [u32; 2], [right, below]: [bool; 2]) -> [__m512i; 4] {
        let (right, below) = (column + u32::from(right), row + u32::from(below));
        // SAFETY: the host is wide.
        let mut tiles = unsafe { [_mm512_setzero_si512(); 4] };
        for (tile, [column, row]) in
            tiles.iter_mut().zip([[column, row], [right, row], [column, below], [right, below]])
        {
            let window = (row >> ROWS) << COLUMN_BITS | column >> COLUMNS | self.tag;
            let hash = window.wrapping_mul(MIX) >> (32 - PLACE_BITS);
            let place = hash ^ ((row & ((1 << ROWS) - 1)) << COLUMNS | column & ((1 << COLUMNS) - 1));
            // SAFETY: the caller's promise; the thread's own cache. What is brought next may take this place: it is loaded now.
            unsafe {
                self.bring(row << COLUMN_BITS | column | self.tag, place as usize % PLACES);
                let texels = &raw const (*self.cache).single.0[place as usize % PLACES];
                *tile = _mm512_loadu_si512(texels.cast());
            }
        }
        tiles
    }

    /// At which of these places are not the tiles of these tags?
    ///
    /// # Safety
    /// The places are the cache's. The host is wide.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn missing<const HALF: bool>(&self, places: __m512i, tags: __m512i) -> u16 {
        // SAFETY: the caller's promise.
        unsafe {
            let there = words_at::<HALF>((&raw const (*self.cache).tags).cast(), places);
            _mm512_cmpneq_epi32_mask(there, tags)
        }
    }
}

/// Words of an array, with `HALF` of the first eight places only.
///
/// # Safety
/// They are readable. The host is wide.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn words_at<const HALF: bool>(words: *const i32, places: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        match HALF {
            true => _mm512_castsi256_si512(_mm256_i32gather_epi32::<4>(words, _mm512_castsi512_si256(places))),
            false => _mm512_i32gather_epi32::<4>(places, words),
        }
    }
}
