//! What a kernel sees of an image at a time: rows of texels, and which lanes want some.

#![forbid(unsafe_code)]

use base::host::{Ints, prefetch};

/// A two-dimensional piece of an image: one level, layer, sample and depth. (Of a texel buffer: everything, as one row.)
pub struct Slice {
    /// The first texel.
    pub base: *mut u8,
    /// Bytes between rows (of blocks).
    pub pitch: u32,
    /// Width and height.
    pub size: [u32; 2],
    /// Lanes whose texels are wanted; those of the others may be skipped, but lie inside too.
    pub mask: u32,
}

impl Slice {
    /// Bytes from `base` to the texels of `N` bytes at (x, y). A slice has at most 2^32: 2^14 rows of 2^14 texels of 16 bytes.
    #[inline(always)]
    pub fn offsets<V: Ints, const N: usize>(&self, x: V, y: V) -> V {
        y * V::splat(self.pitch) + x.shl(N.trailing_zeros())
    }

    /// Asks for what comes next of texels of `N` bytes, in `ROWS` rows: where the quads of the next calls lie, if these two are side by side, as
    /// the quads of a primitive mostly are. Only of slices that no near cache holds: waiting for memory takes longer than everything else.
    #[inline(always)]
    pub fn prefetch<V: Ints, const N: usize, const ROWS: usize>(&self, x: V, y: V) {
        let size = u64::from(self.pitch) * u64::from(self.size[1]);
        if size < CACHED {
            return;
        }
        let offset = self.offsets::<_, N>(x, y).lanes();
        self.prefetch_after::<ROWS>([offset[0], offset[4]]);
    }

    /// The same, where the offsets of the two quads are known.
    #[inline(always)]
    pub fn prefetch_after<const ROWS: usize>(&self, [first, second]: [u32; 2]) {
        let size = u64::from(self.pitch) * u64::from(self.size[1]);
        let next = second.wrapping_add(second.wrapping_sub(first).wrapping_mul(AHEAD));
        if size >= CACHED && u64::from(next) < size {
            for row in 0..ROWS {
                prefetch(self.base.wrapping_add(next as usize + row * self.pitch as usize));
            }
        }
    }

    /// Is the lane's texel wanted?
    #[inline(always)]
    pub fn wants(&self, lane: usize) -> bool {
        self.mask >> lane & 1 != 0
    }
}

/// Bytes that caches near a core hold.
const CACHED: u64 = 1 << 18;
/// How far ahead of the second quad [`Slice::prefetch`] asks, in the distance of the two: the same row of the second next block of 4×4 pixels.
const AHEAD: u32 = 4;
