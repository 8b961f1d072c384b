//! Texels of block-compressed formats: blocks are decoded whole into a small cache per thread, as texels of a plain format
//! (`base::format::plain`), a tile of 4×4 texels an entry: most blocks are one tile, those of ASTC up to nine.
//!
//! Invariant: an entry is keyed by the block's bytes and format and the tile's number, not by its address, so it cannot go stale when the memory
//! changes. A tile is asked for by its block's offset plus its number, which is less than a block of several tiles has bytes. Neighbouring lanes mostly want the same block: each block that a call wants is looked up once. Where all are there, lanes gather from the cache;
//! otherwise blocks are copied to where the lanes gather from (so two blocks of one call may share an entry).

#![allow(clippy::needless_range_loop, reason = "loops over places index several arrays of vectors")]

use super::slice::Slice;
use super::texel::Texels;
#[cfg(target_arch = "x86_64")]
use super::wide;
use super::words::{self, Words};
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::Lanes;
use base::format::{Format, Row, Texel, decode_tiles, kernels, plain};
use base::host::{Host, Ints};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// Block-compressed formats whose texels are decoded to those of row `ROW` of the format table,
/// which have `WORDS` words (1 or 2); with `RAW` they are filtered as integers ([`Texels::SCALED`]).
pub struct Blocks<const ROW: usize, const WORDS: usize, const RAW: bool>;

const CACHE_BITS: u32 = 9;
const CACHED_BLOCKS: usize = 1 << CACHE_BITS;

/// Entries are of format 0, which is no compressed format, while empty. Most formats have one word a texel: they lie together.
struct Cache {
    keys: [u128; CACHED_BLOCKS],
    /// And the tile's number above it.
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
    /// Bits of an offset that are a tile's number: none where a block is one tile.
    tiles: u32,
    /// Width and height of a block.
    size: [u32; 2],
    cache: *mut Cache,
}

/// Divides by the width or height of a block what is below [`base::image`]'s greatest extent: a product of less than 32 bits, whose upper bits are exact.
const RECIPROCAL_BITS: u32 = 18;

fn reciprocal(size: u32) -> u32 {
    (1u32 << RECIPROCAL_BITS).div_ceil(size)
}

impl Reader {
    /// Of the slice at `base`.
    ///
    /// # Safety
    /// There is one reader at a time in a thread.
    #[inline(always)]
    unsafe fn new(view: &ImageView, base: *const u8) -> Reader {
        let info = Format(view.format as u16).info();
        let shift = if info.block_bytes == 8 { 3 } else { 4 };
        let tiles = if info.block == (4, 4) { 0 } else { 15 };
        let size = [info.block.0, info.block.1].map(u32::from);
        // SAFETY: the caller's promise.
        let cache = CACHE.with(|cache| unsafe { &mut *cache.get() });
        let cache: *mut Cache = match cache {
            Some(cache) => &raw mut **cache,
            none => &raw mut **none.insert(new_cache()),
        };
        Reader { base, format: view.format, shift, tiles, size, cache }
    }

    /// The offset of the tile that a texel of each lane is in, and where in a tile it is, in bytes of words.
    #[inline(always)]
    fn place<V: Ints>(&self, pitch: u32, [x, y]: [V; 2]) -> (V, V) {
        let three = V::splat(3);
        let inside = |x: V, y: V| (y & three).shl(4) | (x & three).shl(2);
        if self.tiles == 0 {
            return (y.shr(2) * V::splat(pitch) + x.shr(2).shl(self.shift), inside(x, y));
        }
        let [width, height] = self.size;
        let divide = |n: V, by: u32| (n * V::splat(reciprocal(by))).shr(RECIPROCAL_BITS);
        let (column, row) = (divide(x, width), divide(y, height));
        let (x, y) = (x - column * V::splat(width), y - row * V::splat(height));
        let tile = y.shr(2).shl(2) | x.shr(2);
        (row * V::splat(pitch) + column.shl(self.shift) + tile, inside(x, y))
    }

    /// The cache's entry for the tile at `offset`, and its block; is it there? `TILED`: of blocks of several tiles.
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn look<const TILED: bool>(&self, offset: u64) -> (usize, u128, bool) {
        let tile = if TILED { offset as u32 & self.tiles } else { 0 };
        // SAFETY: a block of 8 or 16 bytes, by the caller's promise; the cache is this thread's and this reader's.
        unsafe {
            let block = self.base.add(offset as usize - tile as usize);
            let key = if self.shift == 3 {
                u128::from(u64::from_le_bytes(block.cast::<[u8; 8]>().read_unaligned()))
            } else {
                u128::from_le_bytes(block.cast::<[u8; 16]>().read_unaligned())
            };
            let place = base::hash::of_wide(key as u64 ^ ((key >> 64) as u64).rotate_left(29), CACHE_BITS);
            let place = (place + tile as usize) % CACHED_BLOCKS;
            let cache = &*self.cache;
            (place, key, cache.keys[place] == key && cache.formats[place] == self.format | tile << TILE_SHIFT)
        }
    }

    /// Where in the cache's words those of the tile at `offset` are, in bytes, if they are there.
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn kept<const TILED: bool>(&self, offset: u64) -> Option<u32> {
        // SAFETY: the caller's promise.
        let (place, _, is_there) = unsafe { self.look::<TILED>(offset) };
        is_there.then_some((place * BLOCK_BYTES) as u32)
    }

    /// The cache's entry of the tile at `offset`.
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn find(&mut self, offset: u64) -> usize {
        // SAFETY: the caller's promise; the cache is this thread's and this reader's.
        unsafe {
            let (place, key, is_there) = self.look::<true>(offset);
            if !is_there {
                let first = place.wrapping_sub((offset as u32 & self.tiles) as usize);
                fill(&mut *self.cache, first, key, self.format);
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

/// Where a tile's number is in [`Cache::formats`].
const TILE_SHIFT: u32 = 16;

/// Decodes a block, whose first tile belongs to entry `first` (and its others to those behind it).
#[inline(never)]
fn fill(cache: &mut Cache, first: usize, key: u128, format: u32) {
    decode_tiles(Format(format as u16), &key.to_le_bytes(), &mut |tile, &[low, high]| {
        let place = first.wrapping_add(tile) % CACHED_BLOCKS;
        (cache.words[0][place], cache.words[1][place]) = (low, high);
        (cache.keys[place], cache.formats[place]) = (key, format | (tile as u32) << TILE_SHIFT);
    });
}

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
        let zero = H::Ints::splat(0);
        // SAFETY: the caller's promise; the reader ends here.
        unsafe {
            let mut reader = Reader::new(view, slice.base);
            let (mut offsets, mut inside) = ([zero; N], [zero; N]);
            for n in 0..N {
                (offsets[n], inside[n]) = reader.place(slice.pitch, places[n]);
            }
            let wanted = Wanted { mask: slice.mask & 0xff, offsets };
            let at = if reader.tiles == 0 {
                wanted.each(inside, |offset, _| reader.kept::<false>(offset))
            } else {
                wanted.each(inside, |offset, _| reader.kept::<true>(offset))
            };
            if let Some(at) = at {
                let words = &raw const (*reader.cache).words;
                return (at, [words.cast(), (&raw const (*words)[1]).cast()]);
            }
            // What is decoded now could take the place of another one of these tiles: each is copied.
            let block = room.as_mut_ptr().cast::<[[u32; 16]; WORDS]>();
            let at = wanted.each(inside, |offset, count| {
                let place = reader.find(offset);
                for w in 0..WORDS {
                    (*block.add(count))[w] = (*reader.cache).words[w][place];
                }
                Some((count * WORDS * BLOCK_BYTES) as u32)
            });
            // Without wanted lanes there is no tile to read: an entry of the cache.
            match at {
                Some(at) => (at, [block.cast(), block.cast::<u8>().add(BLOCK_BYTES)]),
                None => (inside, [(&raw const (*reader.cache).words).cast(); 2]),
            }
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
        let (mut room, mut out) = (MaybeUninit::uninit(), [[H::Ints::splat(0); 4]; N]);
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

/// Room for all the tiles that a call can want.
type Room<const WORDS: usize> = MaybeUninit<[[[u32; 16]; WORDS]; 4 * MAX_LANES]>;

/// Bytes of a word of all texels of a tile.
const BLOCK_BYTES: usize = size_of::<[u32; 16]>();

/// Offsets of the tiles that lanes want, at each of their places.
struct Wanted<I, const N: usize> {
    mask: u32,
    offsets: [I; N],
}

impl<I: Ints, const N: usize> Wanted<I, N> {
    /// Asks once for each tile, with its offset and how many came before, and adds to `inside` what is said of it; lanes that are not wanted have that of some tile.
    /// None when that is said of a tile, and where no lane is wanted.
    #[inline(always)]
    fn each(&self, inside: [I; N], mut ask: impl FnMut(u64, usize) -> Option<u32>) -> Option<[I; N]> {
        let (mut offsets, mut rest) = ([[0; MAX_LANES]; N], 0);
        for n in 0..N {
            offsets[n] = self.offsets[n].lanes();
            rest |= self.mask << (MAX_LANES * n);
        }
        let (mut at, mut count) = ([I::splat(0); N], 0);
        while rest != 0 {
            let next = rest.trailing_zeros() as usize;
            let wanted = offsets[next / MAX_LANES % N][next % MAX_LANES];
            let one = I::splat(ask(u64::from(wanted), count)?);
            for n in 0..N {
                let same = self.offsets[n].equal(I::splat(wanted));
                // The first one is everybody's who finds no other.
                at[n] = if count == 0 { one } else { same.select(one, at[n]) };
                rest &= !(same.signs() << (MAX_LANES * n));
            }
            count += 1;
        }
        for n in 0..N {
            at[n] = at[n] + inside[n];
        }
        (count != 0).then_some(at)
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
            let [width, height] = reader.size;
            let offset = u64::from(y / height) * row_pitch + (u64::from(x / width) << reader.shift);
            let (x, y) = (x % width, y % height);
            let place = reader.find(offset + u64::from(y / 4 * 4 + x / 4));
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
        let (places, mut room) = ([[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]], MaybeUninit::uninit());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all places in the largest image.
    #[test]
    fn reciprocals_divide() {
        for size in [4, 5, 6, 8, 10, 12] {
            for place in 0..1 << 14 {
                assert_eq!((place * reciprocal(size)) >> RECIPROCAL_BITS, place / size);
            }
        }
    }
}
