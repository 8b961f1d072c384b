//! Targets of any format, with write masks and logic operations: eight lanes (two quads of a chunk) at a time, through the format's
//! lane kernels, or by code of their own where halves or words are only stored.
//!
//! A format's kernels meet the blend state as four words per lane in memory, so there is one loop for all formats.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::bytes;
use super::equation::{Floats, Operands, clamped, logic};
use super::half;
use super::pair::{Write, floats};
use super::plan::{Access, ColorPlan};
use super::source::Sources;
use crate::stage::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::abi::MAX_LANES;
use base::format::kernels;
use base::format::lanes::Lanes;
use base::format::pack::LaneKernels;
use base::host::{Host, Ints, Level};
use base::pixel::BlendEquations;

/// Zeros.
pub const NOTHING: Lanes = [[0; MAX_LANES]; 4];

/// Stores halves: texels of as many bytes as `N` says.
struct StoreHalf<'a, const N: usize>(&'a Sources);

impl<H: Host, const N: usize> Write<H> for StoreHalf<'_, N> {
    type Source = [H::Ints; 4];
    const READS: bool = false;
    const SHORT: bool = true;
    #[inline(always)]
    unsafe fn take(&self, pair: usize) -> [H::Ints; 4] {
        // SAFETY: the caller's contract.
        half::pack(unsafe { self.0.bits(pair) }, N / 2)
    }
    #[inline(always)]
    fn over(&self, words: &[H::Ints; 4], _: [H::Ints; 4]) -> [H::Ints; 4] {
        *words
    }
}

/// Stores words as they are.
struct StoreWords<'a>(&'a Sources);

impl<H: Host> Write<H> for StoreWords<'_> {
    type Source = [H::Ints; 4];
    const READS: bool = false;
    const SHORT: bool = true;
    #[inline(always)]
    unsafe fn take(&self, pair: usize) -> [H::Ints; 4] {
        // SAFETY: the caller's contract.
        unsafe { self.0.bits(pair) }
    }
    #[inline(always)]
    fn over(&self, words: &[H::Ints; 4], _: [H::Ints; 4]) -> [H::Ints; 4] {
        *words
    }
}

/// Blends, packs and merges texels of any format. `READS`: it blends, or something of what was there stays.
struct Any<'a, const READS: bool> {
    plan: &'a ColorPlan,
    kernels: &'a LaneKernels,
    sources: &'a [Sources; 2],
    blend: Option<&'a BlendEquations>,
}

/// Sources of a pair of quads: clamped to the format's range where they are blended.
type Colors = [Floats<MAX_LANES>; 2];

impl<H: Host, const READS: bool> Write<H> for Any<'_, READS> {
    type Source = Colors;
    const READS: bool = READS;
    const SHORT: bool = false;
    #[inline(always)]
    unsafe fn take(&self, pair: usize) -> Colors {
        let clamp = self.plan.clamp;
        // SAFETY: the caller's contract, in both.
        let first = unsafe { self.sources[0].floats(pair) };
        if self.blend.is_none() {
            return [first; 2];
        }
        if self.plan.slots1 == [NO_SLOT; 4] {
            return [clamped(clamp, first), [[0.0; MAX_LANES]; 4]];
        }
        // SAFETY: see above.
        [clamped(clamp, first), clamped(clamp, unsafe { self.sources[1].floats(pair) })]
    }
    #[inline(always)]
    fn over(&self, [s, s1]: &Colors, old: [H::Ints; 4]) -> [H::Ints; 4] {
        let (plan, mut blended) = (self.plan, *s);
        if let Some(blend) = self.blend {
            let mut there = NOTHING;
            // SAFETY: the host's kernel.
            unsafe { (self.kernels.unpack)(&lanes(old), &mut there) };
            blended = Operands { s, s1, d: &floats(&there), constants: plan.constants }.blend(blend);
        }
        // SAFETY: the host's kernels.
        let new = unsafe { packed(plan, self.kernels, &bits(&blended)) };
        if READS { merged(plan, new, old) } else { new }
    }
}

/// The words of texels of a colour.
///
/// # Safety
/// The host has the kernels' level.
#[inline(always)]
pub unsafe fn packed<I: Ints>(plan: &ColorPlan, kernels: &LaneKernels, color: &Lanes) -> [I; 4] {
    match plan.access {
        Access::Half { channels } => half::pack(words(color), channels),
        Access::Words => words(color),
        _ => {
            let mut new = NOTHING;
            // SAFETY: the caller's promise.
            unsafe { (kernels.pack)(color, &mut new) };
            words(&new)
        }
    }
}

/// What is left of new words behind the logic operation and the mask.
#[inline(always)]
pub fn merged<I: Ints>(plan: &ColorPlan, mut new: [I; 4], old: [I; 4]) -> [I; 4] {
    if plan.masked || plan.logic.is_some() {
        for w in 0..4 {
            let value = match plan.logic {
                Some(op) => logic(op, new[w], old[w]),
                None => new[w],
            };
            new[w] = old[w] ^ (old[w] ^ value) & I::splat(plan.write[w]);
        }
    }
    new
}

base::compiled! {
    unsafe fn store_half [const N: usize] [N] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_pairs::<H, N, _>(batch, StoreHalf::<N>(&sources[0]));
    }
    unsafe fn store_words [const N: usize] [N] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_pairs::<H, N, _>(batch, StoreWords(&sources[0]));
    }
    unsafe fn store_any [const READS: bool] [READS] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        let kernels = &kernels(plan.surface.format).lanes[<H as Host>::LEVEL as usize];
        plan.write_pairs::<H, 0, _>(batch, Any::<READS> { plan, kernels, sources, blend: None });
    }
    unsafe fn blend_any [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], blend: &BlendEquations) {
        let kernels = &kernels(plan.surface.format).lanes[<H as Host>::LEVEL as usize];
        let blend = Some(bytes::equations::<NUMBER>(blend));
        plan.write_pairs::<H, 0, _>(batch, Any::<true> { plan, kernels, sources, blend });
    }
}

#[inline(always)]
fn bits(color: &Floats<MAX_LANES>) -> Lanes {
    let mut bits = NOTHING;
    for c in 0..4 {
        for i in 0..MAX_LANES {
            bits[c][i] = color[c][i].to_bits();
        }
    }
    bits
}

/// Words of an array as vectors.
#[inline(always)]
pub fn words<I: Ints>([a, b, c, d]: &Lanes) -> [I; 4] {
    [I::of(*a), I::of(*b), I::of(*c), I::of(*d)]
}

/// Vectors as an array.
#[inline(always)]
pub fn lanes<I: Ints>([a, b, c, d]: [I; 4]) -> Lanes {
    [a.lanes(), b.lanes(), c.lanes(), d.lanes()]
}

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_at`]; the sources are the plan's.
    pub(super) unsafe fn write_any(&self, level: Level, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        // SAFETY: the caller's contract, in all of them.
        unsafe {
            let Some(equations) = &self.blend else {
                let store = match (self.access, self.surface.bytes) {
                    _ if self.masked || self.logic.is_some() => store_any::<true>(level),
                    (Access::Half { .. }, 2) => store_half::<2>(level),
                    (Access::Half { .. }, 4) => store_half::<4>(level),
                    (Access::Half { .. }, _) => store_half::<8>(level),
                    (Access::Words, 4) => store_words::<4>(level),
                    (Access::Words, 8) => store_words::<8>(level),
                    (Access::Words, _) => store_words::<16>(level),
                    _ => store_any::<false>(level),
                };
                return store(self, batch, sources);
            };
            let write = match bytes::number(equations) {
                0 => blend_any::<0>(level),
                2 => blend_any::<2>(level),
                3 => blend_any::<3>(level),
                _ => blend_any::<{ bytes::COMMON.len() }>(level),
            };
            write(self, batch, sources, equations);
        }
    }
}
