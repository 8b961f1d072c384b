//! Texels of compressed formats that a thread has decoded to a plain format
//! (`base::format::plain`), in tiles of 4×4, in two small caches.
//!
//! The first cache is indexed by the tile's place in its slice. Lanes look up all of their tiles at
//! once without loading a block, and neighbouring tiles never replace each other. Most blocks are
//! one tile; tiles of other blocks (ASTC) are put together. A missing tile is looked up by its
//! block's bytes in the second cache. It usually has the tile if a thread returns to a place, or if
//! a texture has many equal blocks. The block is decoded only if neither cache has it.
//!
//! Invariant: entries of the first cache are valid for one piece of work ([`epoch`]), because
//! memory may change between two. Within one it does not change: Vulkan makes a write visible to
//! samples of an image only by a dependency, whose two sides are separate pieces of work. Entries
//! of the second cache never become stale.

use super::memory::{TexelMemory, ValidView};
use super::slice::Slice;
use base::abi::MAX_LANES;
use base::epoch::epoch;
use base::format::{Format, decode_tiles, plain};
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Host, Ints, prefetch};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use std::cell::{Cell, OnceCell};

/// Logarithm of the number of columns of tiles of a window, whose tiles all have different places.
const COLUMNS: u32 = 5;
/// Logarithm of the number of rows of tiles of a window.
const ROWS: u32 = 4;
/// Logarithm of the number of places.
const TILE_SLOT_BITS: u32 = 12;
const TILE_SLOTS: usize = 1 << TILE_SLOT_BITS;
/// Multiplier of a hash that moves the places of windows, so that tiles that are a round distance
/// apart, or lie in several slices, seldom collide.
const MIX: u32 = 0x9e37_79b1;

/// Number of bits of a tile's column, and of its row, in its tag: sides of images are at most 2^14
/// texels.
const COLUMN_BITS: u32 = 12;
const COLUMN: u32 = (1 << COLUMN_BITS) - 1;
const SLICE_SHIFT: u32 = 2 * COLUMN_BITS;
/// Number of slice numbers in each half of the range. Numbers are taken from one half, then from
/// the other, each without its first number. A reader that still has a number of the previous half
/// thus never adds tiles that match another slice.
const HALF: u32 = 1 << (u32::BITS - SLICE_SHIFT - 1);
/// Logarithm of the number of slices that a cache has: two for each hash without its lowest bit.
const SLICE_BITS: u32 = 6;

/// Logarithm of the number of tiles that are known by their blocks' bytes.
const CONTENT_BITS: u32 = 12;
const CONTENTS: usize = 1 << CONTENT_BITS;
const TILE_SHIFT: u32 = 16;

/// Number of texels in a tile's row, and number of its rows.
const SIDE: u32 = 4;

/// Number of bits of a texel's number in its tile.
pub(super) const TEXEL_BITS: u32 = 4;

/// One word of all texels of a tile, which is a line of the processor's caches.
type TileWords = [u32; 1 << TEXEL_BITS];

/// A value that is aligned to such a line.
#[repr(C, align(64))]
struct CacheLineAligned<T>(T);

/// Words of texels of all lanes, at up to four positions each.
pub(super) type TexelBuffer<const WORDS: usize> = [[[u32; WORDS]; MAX_LANES]; 4];

/// A slice with its tag: a number from 1 on above [`SLICE_SHIFT`], or 0 if the entry is empty.
#[derive(Clone, Copy)]
struct CachedSlice {
    base: *const u8,
    format: u32,
    tag: u32,
}

/// The caches of a thread. All zeros are an empty cache, because no format that is decoded is 0.
struct DecodeCache {
    epoch: Cell<u64>,
    /// Slices by the hash of their base, in either of two neighbouring entries.
    slices: [Cell<CachedSlice>; 1 << SLICE_BITS],
    /// The number that was given to a slice last.
    last: Cell<u32>,
    /// Tag of the tile in each place: slice, row and column.
    tags: [Cell<u32>; TILE_SLOTS],
    /// Texels of one word, by place.
    single: CacheLineAligned<[Cell<TileWords>; TILE_SLOTS]>,
    /// Texels of two words, by place.
    double: CacheLineAligned<[Cell<[[u32; 2]; 1 << TEXEL_BITS]>; TILE_SLOTS]>,
    contents: ContentCache,
}

/// Tiles by the hash of their block's bytes.
struct ContentCache {
    known: [Cell<CachedTile>; CONTENTS],
    words: CacheLineAligned<[[Cell<TileWords>; CONTENTS]; 2]>,
}

/// Identity of a tile: its block and its number there.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(32))]
struct CachedTile {
    block: u128,
    /// Format of the block, with the number of the tile in the block from bit [`TILE_SHIFT`] on.
    format: u32,
}

impl DecodeCache {
    /// Removes all slices, because memory may have changed; slices then get new numbers.
    #[cold]
    fn invalidate(&self, epoch: u64) {
        self.epoch.set(epoch);
        for slice in &self.slices {
            slice.set(CachedSlice { tag: 0, ..slice.get() });
        }
    }

    /// Adds a slice and returns its tag.
    #[cold]
    fn insert_slice(&self, base: *const u8, format: u32) -> u32 {
        let mut last = self.last.get();
        if last % HALF == HALF - 1 {
            self.invalidate(self.epoch.get());
            last = (last + 1) % (2 * HALF);
            self.tags.iter().for_each(|tag| tag.set(0));
        }
        last += 1;
        self.last.set(last);
        let at = slices_of(base);
        // The older one of both entries is replaced.
        let at = if self.slices[at[0]].get().tag < self.slices[at[1]].get().tag { at[0] } else { at[1] };
        let tag = last << SLICE_SHIFT;
        self.slices[at].set(CachedSlice { base, format, tag });
        tag
    }

    /// Returns the tag of a slice, which is added if necessary.
    #[inline(always)]
    fn tag(&self, base: *const u8, format: u32) -> u32 {
        for at in slices_of(base) {
            let known = self.slices[at].get();
            if known.base == base && known.format == format && known.tag != 0 {
                return known.tag;
            }
        }
        self.insert_slice(base, format)
    }
}

impl ContentCache {
    /// Returns the place of a tile of a block, which is decoded if necessary; its number is that of
    /// [`decode_tiles`].
    fn find(&self, block: u128, format: u32, tile: u32) -> usize {
        let hash = hash_of(block);
        let at = (hash + tile as usize) % CONTENTS;
        if self.known[at].get() != (CachedTile { block, format: format | tile << TILE_SHIFT }) {
            decode_tiles(Format(format as u16), &block.to_le_bytes(), &mut |tile, &[first, second]| {
                let at = (hash + tile) % CONTENTS;
                self.words.0[0][at].set(first);
                self.words.0[1][at].set(second);
                self.known[at].set(CachedTile { block, format: format | (tile as u32) << TILE_SHIFT });
            });
        }
        at
    }
}

#[inline(always)]
fn hash_of(block: u128) -> usize {
    base::hash::hash_u64(block as u64 ^ ((block >> 64) as u64).rotate_left(29), CONTENT_BITS)
}

/// Returns the two entries that a slice may have.
#[inline(always)]
fn slices_of(base: *const u8) -> [usize; 2] {
    let at = base::hash::hash_u64(base as u64, SLICE_BITS) % (1 << SLICE_BITS);
    [at, at ^ 1]
}

thread_local! {
    static CACHE: OnceCell<Box<DecodeCache>> = const { OnceCell::new() };
}

#[cold]
fn new_cache() -> Box<DecodeCache> {
    // SAFETY: all zeros are an empty cache.
    unsafe { Box::<DecodeCache>::new_zeroed().assume_init() }
}

/// Returns the cache of the thread, for the lifetime of a view.
#[inline(always)]
fn cache_of<'a>(_: ValidView<'a>) -> &'a DecodeCache {
    // SAFETY: the cache lives as long as the thread, and a view's lifetime ends before that, as
    // `ValidView::new` requires.
    CACHE.with(|cache| unsafe { &*core::ptr::from_ref(&**cache.get_or_init(new_cache)) })
}

/// A reader of a slice's texels, in tiles of [`SIDE`]×[`SIDE`].
pub struct TileReader<'a> {
    memory: TexelMemory<'a>,
    pitch: u64,
    size: [u32; 2],
    format: u32,
    /// Tag of the slice.
    tag: u32,
    cache: &'a DecodeCache,
}

impl<'a> TileReader<'a> {
    /// Makes a reader of a slice, whose rows of blocks are as far apart as its pitch.
    #[inline(always)]
    pub(super) fn new(view: ValidView<'a>, slice: &Slice<'a>) -> TileReader<'a> {
        let (reader, epoch) = (TileReader::of_texels(view, slice.memory, u64::from(slice.pitch)), epoch());
        if reader.cache.epoch.get() != epoch {
            reader.cache.invalidate(epoch);
        }
        let tag = reader.cache.tag(slice.memory.range().0, view.format);
        TileReader { size: slice.size, tag, ..reader }
    }

    /// Makes a reader for single texels only ([`TileReader::texel`]).
    #[inline(always)]
    pub(super) fn of_texels(view: ValidView<'a>, memory: TexelMemory<'a>, pitch: u64) -> TileReader<'a> {
        TileReader { memory, pitch, size: [0; 2], format: view.format, tag: 0, cache: cache_of(view) }
    }

    /// Returns the texels of all places, of `words` words each.
    #[inline(always)]
    pub(super) fn texels(&self, words: usize) -> TexelMemory<'a> {
        match words {
            1 => TexelMemory::of(&self.cache.single.0),
            _ => TexelMemory::of(&self.cache.double.0),
        }
    }

    /// Returns the tags of the tiles at these columns and rows, and their places.
    #[inline(always)]
    pub(super) fn places<V: Ints>(&self, x: V, y: V) -> [V; 2] {
        let (column, row) = (V::splat((1 << COLUMNS) - 1), V::splat((1 << ROWS) - 1));
        let window = y.shr(ROWS).shl(COLUMN_BITS) | x.shr(COLUMNS) | V::splat(self.tag);
        let hash = (window * V::splat(MIX)).shr(32 - TILE_SLOT_BITS);
        [y.shl(COLUMN_BITS) | x | V::splat(self.tag), hash ^ ((y & row).shl(COLUMNS) | (x & column))]
    }

    /// Decodes the tile with a tag of this slice to its place, if it is not there.
    #[inline(always)]
    fn ensure_decoded(&self, tag: u32, place: usize) {
        if self.cache.tags[place % TILE_SLOTS].get() != tag {
            self.fill(tag, place % TILE_SLOTS);
        }
    }

    #[inline(never)]
    fn fill(&self, tag: u32, place: usize) {
        let [x, y] = [tag & COLUMN, tag >> COLUMN_BITS & COLUMN];
        let format = Format(self.format as u16);
        // Texels of more than four bytes have two words.
        let single = plain(format).info().block_bytes <= 4;
        let cache = self.cache;
        if format.info().block == (SIDE as u8, SIDE as u8) {
            self.prefetch_block(x + 1, y);
            let at = cache.contents.find(self.block(x, y), self.format, 0);
            let [first, second] = &cache.contents.words.0;
            if single {
                cache.single.0[place].set(first[at].get());
            } else {
                let (first, second) = (first[at].get(), second[at].get());
                cache.double.0[place].set(std::array::from_fn(|texel| [first[texel], second[texel]]));
            }
        } else {
            self.assemble_tile(place, [x, y], single);
        }
        cache.tags[place].set(tag);
    }

    /// Prefetches the entry of a block, which is needed next if texels are read row by row.
    #[inline(always)]
    fn prefetch_block(&self, x: u32, y: u32) {
        if x * SIDE < self.size[0] {
            let (contents, at) = (&self.cache.contents, hash_of(self.block(x, y)) % CONTENTS);
            prefetch(contents.known[at].as_ptr().cast_const().cast());
            prefetch(contents.words.0[0][at].as_ptr().cast_const().cast());
        }
    }

    /// Fills a place with a tile of several blocks, or of a part of one.
    #[inline(never)]
    fn assemble_tile(&self, place: usize, [column, row]: [u32; 2], single: bool) {
        let mut words = [[0; 2]; 1 << TEXEL_BITS];
        for (texel, words) in (0..).zip(&mut words) {
            // Texels outside of the slice are never read, so they repeat its edge.
            let [x, y] = [
                (column * SIDE + texel % SIDE).min(self.size[0] - 1),
                (row * SIDE + texel / SIDE).min(self.size[1] - 1),
            ];
            *words = self.texel(x, y);
        }
        match single {
            true => self.cache.single.0[place].set(std::array::from_fn(|texel| words[texel][0])),
            false => self.cache.double.0[place].set(words),
        }
    }

    /// Returns a block's bytes.
    fn block(&self, column: u32, row: u32) -> u128 {
        let row = u64::from(row) * self.pitch;
        u128::from_le_bytes(match Format(self.format as u16).info().block_bytes {
            8 => self.memory.read_bytes(row + u64::from(column) * 8, 8),
            _ => self.memory.read_bytes(row + u64::from(column) * 16, 16),
        })
    }

    /// Returns the place among the contents of the tile that has the texel at (x, y), and the
    /// texel's number in it.
    fn content(&self, x: u32, y: u32) -> (usize, usize) {
        let (width, height) = Format(self.format as u16).info().block;
        let (width, height) = (u32::from(width), u32::from(height));
        let block = self.block(x / width, y / height);
        let (x, y) = (x % width, y % height);
        let at = self.cache.contents.find(block, self.format, y / SIDE * SIDE + x / SIDE);
        (at, (y % SIDE * SIDE + x % SIDE) as usize)
    }

    /// Returns both words of the texel at (x, y).
    pub(super) fn texel(&self, x: u32, y: u32) -> [u32; 2] {
        let (at, inside) = self.content(x, y);
        let [first, second] = &self.cache.contents.words.0;
        [first[at].get()[inside], second[at].get()[inside]]
    }

    /// Decodes the tiles of the tags in `missing` to their places.
    #[cold]
    pub(super) fn ensure_all_decoded<const N: usize>(&self, tags: &[u32; N], places: &[u32; N], mut missing: u32) {
        while let Some(tag) = tags.get(missing.trailing_zeros() as usize) {
            self.ensure_decoded(*tag, places[missing.trailing_zeros() as usize] as usize % TILE_SLOTS);
            missing &= missing - 1;
        }
    }

    /// Copies the texels with the numbers `inside` of these tiles to `room`, for the lanes in
    /// `mask`.
    #[cold]
    pub(super) fn copy<const N: usize, const WORDS: usize>(
        &self,
        tags: &[[u32; MAX_LANES]; N],
        places: &[[u32; MAX_LANES]; N],
        inside: &[[u32; MAX_LANES]; N],
        mask: u32,
        room: &mut TexelBuffer<WORDS>,
    ) {
        for n in 0..N {
            for lane in (0..MAX_LANES).filter(|lane| mask >> lane & 1 != 0) {
                let (place, texel) =
                    (places[n][lane] as usize % TILE_SLOTS, inside[n][lane] as usize % (1 << TEXEL_BITS));
                self.ensure_decoded(tags[n][lane], place);
                let number = (place << TEXEL_BITS | texel) as u32;
                room[n % 4][lane] = self.texels(WORDS).read(number * 4 * WORDS as u32);
            }
        }
    }

    /// Returns true if these tiles are in these places, in the lanes of `mask`.
    #[inline(always)]
    pub(super) fn has<H: Host, const N: usize>(
        &self,
        host: H,
        tags: &[H::Ints; N],
        places: &[H::Ints; N],
        mask: u32,
    ) -> bool {
        let mut same = mask;
        for n in 0..N {
            let [there, ..] = TexelMemory::of(&self.cache.tags).gather::<H, 4>(host, places[n].shl(2));
            same &= there.equal(tags[n]).movemask();
        }
        same == mask
    }

    /// Returns the offsets of the texels at 16 positions among those of all places, for the lanes
    /// in `mask`. With `HALF` only the first eight places are looked up; other lanes have the
    /// offset of an arbitrary texel. `None` means that tiles share a place.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn find_512<const HALF: bool>(&self, v: Avx512, x: __m512i, y: __m512i, mask: u16) -> Option<__m512i> {
        let (column, row) = (v._mm512_srli_epi32::<2>(x), v._mm512_srli_epi32::<2>(y));
        let slice = v._mm512_set1_epi32(self.tag as i32);
        let tag = v._mm512_or_si512(v._mm512_or_si512(v._mm512_slli_epi32::<COLUMN_BITS>(row), column), slice);
        let window = v._mm512_slli_epi32::<COLUMN_BITS>(v._mm512_srli_epi32::<ROWS>(row));
        let window = v._mm512_or_si512(v._mm512_or_si512(window, v._mm512_srli_epi32::<COLUMNS>(column)), slice);
        let hash = v._mm512_mullo_epi32(window, v._mm512_set1_epi32(MIX as i32));
        let hash = v._mm512_srli_epi32::<{ 32 - TILE_SLOT_BITS }>(hash);
        let row = v._mm512_and_si512(row, v._mm512_set1_epi32((1 << ROWS) - 1));
        let column = v._mm512_and_si512(column, v._mm512_set1_epi32((1 << COLUMNS) - 1));
        let place = v._mm512_xor_si512(hash, v._mm512_or_si512(v._mm512_slli_epi32::<COLUMNS>(row), column));
        let missing = self.missing::<HALF>(v, place, tag) & mask;
        if missing != 0 {
            let [mut tags, mut places] = [[0; 2 * MAX_LANES]; 2];
            v.store(&mut tags, tag);
            v.store(&mut places, place);
            self.ensure_all_decoded(&tags, &places, missing.into());
            // A decoded tile can replace only a tile of another window.
            let first = v._mm512_broadcastd_epi32(v._mm512_castsi512_si128(window));
            let others = v._mm512_cmpneq_epi32_mask(window, first) & mask;
            if others != 0 && self.missing::<HALF>(v, place, tag) & mask != 0 {
                return None;
            }
        }
        let three = v._mm512_set1_epi32(3);
        let inside = v._mm512_slli_epi32::<2>(v._mm512_and_si512(y, three));
        let inside = v._mm512_or_si512(inside, v._mm512_and_si512(x, three));
        Some(v._mm512_or_si512(v._mm512_slli_epi32::<TEXEL_BITS>(place), inside))
    }

    /// Returns the one-word texels of a tile, of the one right of it, of the one below it, and of
    /// the one right of and below it. A tile that is not requested is replaced by one that is.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn tiles(&self, v: Avx512, [column, row]: [u32; 2], [right, below]: [bool; 2]) -> [__m512i; 4] {
        let (right, below) = (column + u32::from(right), row + u32::from(below));
        let mut tiles = [v._mm512_setzero_si512(); 4];
        for (tile, [column, row]) in
            tiles.iter_mut().zip([[column, row], [right, row], [column, below], [right, below]])
        {
            let window = (row >> ROWS) << COLUMN_BITS | column >> COLUMNS | self.tag;
            let hash = window.wrapping_mul(MIX) >> (32 - TILE_SLOT_BITS);
            let place = hash ^ ((row & ((1 << ROWS) - 1)) << COLUMNS | column & ((1 << COLUMNS) - 1));
            self.ensure_decoded(row << COLUMN_BITS | column | self.tag, place as usize % TILE_SLOTS);
            *tile = v.load(&self.cache.single.0[place as usize % TILE_SLOTS].get());
        }
        tiles
    }

    /// Returns the lanes whose place does not have the tile of the tag.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn missing<const HALF: bool>(&self, v: Avx512, places: __m512i, tags: __m512i) -> u16 {
        let known = TexelMemory::of(&self.cache.tags);
        let there = match HALF {
            true => v._mm512_castsi256_si512(known.eight_words::<4>(v, v._mm512_castsi512_si256(places))),
            false => known.sixteen_words::<4>(v, places),
        };
        v._mm512_cmpneq_epi32_mask(there, tags)
    }
}
