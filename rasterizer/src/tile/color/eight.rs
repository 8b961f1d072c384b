//! Targets of four unsigned normalised 8-bit components, written a pair of quads at a time.

use super::bytes::{self, Bytes, Texels};
use super::pair::Write;
use super::plan::{ColorPlan, byte_of};
use super::quad::{LANES, words};
use super::source::Sources;
#[cfg(target_arch = "x86_64")]
use super::wide;
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::host::{Host, Ints, Level};
use base::pixel::{BlendEquations, BlendFactor, BlendOp};

/// Equations that store the source, used where only a write mask requires the old texels.
const REPLACE: BlendEquations = BlendEquations {
    color: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
    alpha: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
};

impl ColorPlan {
    /// Writes all quads of a batch, in order, to unsigned normalised components.
    ///
    /// # Safety
    /// The requirements of `ColorPlan::write_batch` hold; the host has the level; the plan has no
    /// logic operation, and its texels have four bytes.
    pub(super) unsafe fn write_unorm8(
        &self,
        level: Level,
        batch: &ShadedQuads<'_>,
        sources: &[Sources; 2],
        swap: bool,
    ) {
        let blend = match &self.blend {
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, the host
            // has the level, and texels have four bytes (`# Safety`).
            None if !self.masked => return unsafe { store_unorm(level)(self, batch, sources, swap) },
            blend => blend.as_ref().unwrap_or(&REPLACE),
        };
        let write = bytes::with_equation!(blend, NUMBER => blend_unorm::<NUMBER>(level));
        // SAFETY: covered pixels lie inside the layer, no other thread accesses them, the host has
        // the level, and texels have four bytes (`# Safety`).
        unsafe { write(self, batch, sources, swap, blend) };
    }

    /// Returns the blend constants as a texel.
    #[inline(always)]
    pub(super) fn constant_bytes(&self, swap: bool) -> u32 {
        let mut texel = 0;
        for (c, constant) in self.constants.iter().enumerate() {
            texel |= (base::round::low_bits(constant * 255.0) & 0xff) << (8 * byte_of(c, swap));
        }
        texel
    }
}

/// A writer that stores unsigned normalised texels.
struct Store<'a> {
    source: &'a Sources,
    swap: bool,
}

impl<H: Host> Write<H> for Store<'_> {
    type Source = H::Ints;
    const READS: bool = false;
    const SHORT: bool = true;
    #[inline(always)]
    unsafe fn take(&self, pair: usize) -> H::Ints {
        // SAFETY: the batch has the pair, as `Write::take` requires.
        H::Ints::of(bytes::pack::<H>(&unsafe { self.source.floats(pair) }, self.swap))
    }
    #[inline(always)]
    fn over(&self, texels: &H::Ints, _: [H::Ints; 4]) -> [H::Ints; 4] {
        words(*texels)
    }
    #[cfg(target_arch = "x86_64")]
    const TWO: bool = H::WIDE;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn two(&self, pair: usize, at: [*mut u8; 2], pitch: usize) {
        // SAFETY: `Write::two` requires pairs of the batch and writable texels; `TWO` implies the
        // 512-bit level.
        unsafe { wide::store(at, pitch, bytes::pack_wide(self.source.rows(pair), self.swap)) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn four(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `Write::four` requires pairs of the batch and accessible texels; `TWO` implies
        // the 512-bit level.
        unsafe { wide::store_covered(at, pitch, bytes::pack_wide(self.source.rows(pair), self.swap), covered) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `Write::row` requires pairs of the batch and accessible covered texels; `TWO`
        // implies the 512-bit level.
        unsafe { wide::store_row(at, pitch, bytes::pack_wide(self.source.rows(pair), self.swap), covered) };
    }
}

/// A writer that blends unsigned normalised texels in integers.
struct Blend<'a, const NUMBER: usize> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    constants: Texels,
    swap: bool,
    /// Bits of a texel that are written.
    mask: u32,
}

impl<H: Host, const NUMBER: usize> Write<H> for Blend<'_, NUMBER> {
    /// The texels of both sources.
    type Source = [H::Ints; 2];
    const READS: bool = true;
    const SHORT: bool = NUMBER < bytes::COMMON.len();
    #[inline(always)]
    unsafe fn take(&self, pair: usize) -> [H::Ints; 2] {
        // SAFETY: the batch has the pair, as `Write::take` requires.
        unsafe {
            let first = H::Ints::of(bytes::pack::<H>(&self.sources[0].floats(pair), self.swap));
            // No common equation uses a second source.
            let second = if NUMBER == bytes::COMMON.len() && self.second {
                H::Ints::of(bytes::pack::<H>(&self.sources[1].floats(pair), self.swap))
            } else {
                H::Ints::splat(0)
            };
            [first, second]
        }
    }
    #[inline(always)]
    fn over(&self, [s, s1]: &[H::Ints; 2], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let from = Bytes { s: s.lanes(), s1: s1.lanes(), constants: self.constants };
        let new = bytes::blend::<H>(bytes::equations::<NUMBER>(self.blend), &from, &old[0].lanes());
        let merged = old[0] ^ (old[0] ^ H::Ints::of(new)) & H::Ints::splat(self.mask);
        words(merged)
    }
    // No common equation uses a second source or constants.
    #[cfg(target_arch = "x86_64")]
    const TWO: bool = H::WIDE && NUMBER < bytes::COMMON.len();
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn two(&self, pair: usize, at: [*mut u8; 2], pitch: usize) {
        // SAFETY: `Write::two` requires pairs of the batch and writable texels; `TWO` implies the
        // 512-bit level.
        unsafe {
            let source = bytes::pack_wide(self.sources[0].rows(pair), self.swap);
            wide::blend(at, pitch, bytes::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn four(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `Write::four` requires pairs of the batch and accessible texels; `TWO` implies
        // the 512-bit level.
        unsafe {
            let source = (bytes::pack_wide(self.sources[0].rows(pair), self.swap), covered);
            wide::blend_covered(at, pitch, bytes::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `Write::row` requires pairs of the batch and accessible covered texels; `TWO`
        // implies the 512-bit level.
        unsafe {
            let source = (bytes::pack_wide(self.sources[0].rows(pair), self.swap), covered);
            wide::blend_row(at, pitch, bytes::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
}

base::compiled! {
    for Avx512 unsafe fn store_unorm(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        plan.write_pairs::<H, 4, _>(batch, Store { source: &sources[0], swap });
    }
    for Avx512 unsafe fn blend_unorm [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs::<H, 4, _>(batch, Blend::<NUMBER> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            constants: [plan.constant_bytes(swap); LANES],
            swap,
            mask: plan.write[0],
        });
    }
}
