//! Slices: the part of an image that a kernel accesses at a time, as rows of texels with the lanes
//! that access them.

#![forbid(unsafe_code)]

use super::memory::TexelMemory;
use base::host::{Ints, Plain};

/// A two-dimensional part of an image: one level, layer, sample and depth. (A texel buffer is one
/// slice of one row.)
#[derive(Clone, Copy)]
pub struct Slice<'a> {
    /// Memory from the first texel on.
    pub memory: TexelMemory<'a>,
    /// Number of bytes between rows (of blocks).
    pub pitch: u32,
    /// Width and height in texels.
    pub size: [u32; 2],
    /// Lanes whose texels are wanted. Texels of other lanes may be skipped, but lie inside too.
    pub mask: u32,
}

impl Slice<'_> {
    /// Returns the number of bytes from `base` to the texels of `N` bytes at (x, y). A slice has at
    /// most 2^32 bytes: 2^14 rows of 2^14 texels of 16 bytes.
    #[inline(always)]
    pub fn offsets<V: Ints, const N: usize>(&self, x: V, y: V) -> V {
        y * V::splat(self.pitch) + x.shl(N.trailing_zeros())
    }

    /// Prefetches `ROWS` rows of texels of `N` bytes at the place of the next calls' quads. The
    /// place is predicted from the two current quads, which usually lie side by side, as the quads
    /// of a primitive do. Slices that fit a near cache are skipped. Prefetching pays because
    /// waiting for memory takes longer than all other work.
    #[inline(always)]
    pub fn prefetch<V: Ints, const N: usize, const ROWS: usize>(&self, x: V, y: V) {
        let size = u64::from(self.pitch) * u64::from(self.size[1]);
        if size < CACHED {
            return;
        }
        let offset = self.offsets::<_, N>(x, y).to_array();
        self.prefetch_after::<ROWS>([offset[0], offset[4]]);
    }

    /// Prefetches as [`Slice::prefetch`] does, if the offsets of the two quads are known.
    #[inline(always)]
    pub fn prefetch_after<const ROWS: usize>(&self, [first, second]: [u32; 2]) {
        let size = u64::from(self.pitch) * u64::from(self.size[1]);
        let next = second.wrapping_add(second.wrapping_sub(first).wrapping_mul(AHEAD));
        if size >= CACHED && u64::from(next) < size {
            for row in 0..ROWS {
                self.memory.prefetch(next as usize + row * self.pitch as usize);
            }
        }
    }

    /// Loads `N` rows of a window that begins at an offset.
    #[inline(always)]
    pub fn rows<T: Plain, const N: usize>(&self, at: u32) -> [T; N] {
        self.memory.rows(at, self.pitch)
    }

    /// Returns true if the lane's texel is wanted.
    #[inline(always)]
    pub fn wants(&self, lane: usize) -> bool {
        self.mask >> lane & 1 != 0
    }
}

/// Number of bytes that caches near a core hold.
const CACHED: u64 = 1 << 18;
/// Distance of a prefetch from the second quad, in units of the distance of the two quads. It
/// reaches the same row of the block of 4×4 pixels after the next one.
const AHEAD: u32 = 4;
