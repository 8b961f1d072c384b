//! Texels of block-compressed formats: blocks are decoded whole into a small cache per thread.
//!
//! Invariant: an entry is keyed by the block's bytes and format, not by its address, so it cannot go stale when the memory
//! changes. Neighbouring lanes mostly want the same block: it is looked up once for a run of them.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::texel::{Ints, Slice, Texels};
use super::words;
use base::abi::{ImageView, MAX_LANES};
use base::format::lanes::Lanes;
use base::format::{Format, Texel, decode_block};
use base::host::Host;
use std::cell::UnsafeCell;

/// Block-compressed formats (4×4 texels a block in all that have features).
pub struct Blocks;

const CACHE_BITS: u32 = 6;
const CACHED_BLOCKS: usize = 1 << CACHE_BITS;

/// An entry; of format 0, which is no compressed format, while empty.
struct CachedBlock {
    key: u128,
    format: u32,
    texels: [Texel; 16],
}

thread_local! {
    static CACHE: UnsafeCell<[CachedBlock; CACHED_BLOCKS]> =
        const { UnsafeCell::new([const { CachedBlock { key: 0, format: 0, texels: [[0; 4]; 16] } }; CACHED_BLOCKS]) };
}

/// A walk over texels that remembers the block of the last one.
struct Walk {
    base: *const u8,
    pitch: u64,
    format: u32,
    bytes: usize,
    cache: *mut CachedBlock,
    last: u64,
    entry: *const CachedBlock,
}

impl Walk {
    /// Over the slice at `base`.
    ///
    /// # Safety
    /// There is one walk at a time in a thread.
    #[inline(always)]
    unsafe fn new(view: &ImageView, base: *const u8, pitch: u64) -> Walk {
        let bytes = usize::from(Format(view.format as u16).info().block_bytes).min(16);
        let cache = CACHE.with(UnsafeCell::get).cast::<CachedBlock>();
        Walk { base, pitch, format: view.format, bytes, cache, last: u64::MAX, entry: cache }
    }

    /// The texel at (x, y).
    ///
    /// # Safety
    /// It lies inside the slice.
    #[inline(always)]
    unsafe fn texel(&mut self, x: u32, y: u32) -> Texel {
        let offset = u64::from(y / 4) * self.pitch + u64::from(x / 4) * self.bytes as u64;
        if offset != self.last {
            self.last = offset;
            // SAFETY: a block of 8 or 16 bytes inside the slice; the cache is this thread's and this walk's.
            unsafe { self.find(offset) };
        }
        // SAFETY: `find` has set it to an entry of the cache.
        unsafe { (*self.entry).texels[(y % 4 * 4 + x % 4) as usize] }
    }

    /// Makes `entry` the block at `offset`.
    #[inline(always)]
    unsafe fn find(&mut self, offset: u64) {
        // SAFETY: the caller's promise.
        let (key, entry) = unsafe {
            let block = self.base.add(offset as usize);
            let key = if self.bytes == 8 {
                u128::from(u64::from_le_bytes(block.cast::<[u8; 8]>().read_unaligned()))
            } else {
                u128::from_le_bytes(block.cast::<[u8; 16]>().read_unaligned())
            };
            let place = base::hash::of_wide(key as u64 ^ (key >> 64) as u64, CACHE_BITS);
            (key, &mut *self.cache.add(place))
        };
        if entry.key != key || entry.format != self.format {
            fill(entry, key, self.format);
        }
        self.entry = entry;
    }
}

#[inline(never)]
fn fill(entry: &mut CachedBlock, key: u128, format: u32) {
    entry.texels = decode_block(Format(format as u16), &key.to_le_bytes());
    entry.key = key;
    entry.format = format;
}

impl Texels for Blocks {
    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        // SAFETY: the caller's promise; the walk ends here.
        unsafe { Walk::new(view, slice, row_pitch).texel(x, y) }
    }

    #[inline(always)]
    unsafe fn lanes<H: Host, const SCALED: bool>(view: &ImageView, slice: &Slice, x: &Ints, y: &Ints) -> Lanes {
        let mut texels = [[0; 4]; MAX_LANES];
        // SAFETY: the caller's promise; the walk ends here.
        unsafe {
            let mut walk = Walk::new(view, slice.base, u64::from(slice.pitch));
            for i in 0..MAX_LANES {
                if slice.wants(i) {
                    texels[i] = walk.texel(x[i] as u32, y[i] as u32);
                }
            }
        }
        words::transpose::<H>(&texels)
    }

    #[inline(always)]
    unsafe fn pairs<H: Host, const SCALED: bool, const ADJACENT: bool>(
        view: &ImageView,
        slice: &Slice,
        [x, second]: [&Ints; 2],
        y: &Ints,
    ) -> [Lanes; 2] {
        let mut texels = [[[0; 4]; MAX_LANES]; 2];
        // SAFETY: the caller's promise; the walk ends here.
        unsafe {
            let mut walk = Walk::new(view, slice.base, u64::from(slice.pitch));
            for i in 0..MAX_LANES {
                if slice.wants(i) {
                    texels[0][i] = walk.texel(x[i] as u32, y[i] as u32);
                    texels[1][i] = walk.texel(second[i] as u32, y[i] as u32);
                }
            }
        }
        [words::transpose::<H>(&texels[0]), words::transpose::<H>(&texels[1])]
    }

    /// There are no stores to compressed images.
    #[inline(always)]
    unsafe fn store(_: &ImageView, _: &Slice, _: &Ints, _: &Ints, _: &Lanes) {}
}
