//! Targets of any format, with write masks and logic operations: eight lanes (two quads of a chunk)
//! at a time. They use the format's lane kernels, or separate code where halves or words are only
//! stored.
//!
//! A format's kernels exchange four words per lane with the blend state through memory, so one loop
//! serves all formats.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::{BlendOperands, ColorLanes, clamped, logic};
use super::half_float;
use super::plan::{Access, ColorPlan};
use super::quad_pairs::{PairWriter, floats};
use super::source::Sources;
use super::unorm8_blend;
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::abi::MAX_LANES;
use base::format::kernels;
use base::format::lanes::Lanes;
use base::format::pack::HostLaneKernels;
use base::host::{Host, Ints, SimdLevel};
use base::pixel::BlendEquations;

/// Lanes of zeros.
pub const NOTHING: Lanes = [[0; MAX_LANES]; 4];

/// A writer that stores halves as texels of `N` bytes.
struct StoreHalf<'a, const N: usize>(&'a Sources<'a>);

impl<H: Host, const N: usize> PairWriter<H> for StoreHalf<'_, N> {
    type Source = [H::Ints; 4];
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> [H::Ints; 4] {
        half_float::pack(self.0.bits(pair), N / 2)
    }
    #[inline(always)]
    fn apply(&self, _: H, words: &[H::Ints; 4], _: [H::Ints; 4]) -> [H::Ints; 4] {
        *words
    }
}

/// A writer that stores words unchanged.
struct StoreWords<'a>(&'a Sources<'a>);

impl<H: Host> PairWriter<H> for StoreWords<'_> {
    type Source = [H::Ints; 4];
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> [H::Ints; 4] {
        self.0.bits(pair)
    }
    #[inline(always)]
    fn apply(&self, _: H, words: &[H::Ints; 4], _: [H::Ints; 4]) -> [H::Ints; 4] {
        *words
    }
}

/// A writer that blends, packs and merges texels of any format. `READS_TARGET` means that it
/// blends, or that some bits of the old texels stay.
struct AnyFormatWriter<'a, H, const READS_TARGET: bool> {
    plan: &'a ColorPlan,
    kernels: HostLaneKernels<H>,
    sources: &'a [Sources<'a>; 2],
    blend: Option<&'a BlendEquations>,
}

/// Both sources of a pair of quads, clamped to the format's range if they are blended.
type Colors = [ColorLanes<MAX_LANES>; 2];

impl<H: Host, const READS_TARGET: bool> PairWriter<H> for AnyFormatWriter<'_, H, READS_TARGET> {
    type Source = Colors;
    const READS_TARGET: bool = READS_TARGET;
    const HAS_WHOLE_PAIR_CODE: bool = false;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> Colors {
        let clamp = self.plan.clamp;
        let first = self.sources[0].floats(pair);
        if self.blend.is_none() {
            return [first; 2];
        }
        if self.plan.slots1 == [NO_SLOT; 4] {
            return [clamped(clamp, first), [[0.0; MAX_LANES]; 4]];
        }
        [clamped(clamp, first), clamped(clamp, self.sources[1].floats(pair))]
    }
    #[inline(always)]
    fn apply(&self, _: H, [s, s1]: &Colors, old: [H::Ints; 4]) -> [H::Ints; 4] {
        let (plan, mut blended) = (self.plan, *s);
        if let Some(blend) = self.blend {
            let mut there = NOTHING;
            self.kernels.unpack(&lanes(old), &mut there);
            blended = BlendOperands { s, s1, d: &floats(&there), constants: plan.constants }.blend(blend);
        }
        let new = packed(plan, self.kernels, &bits(&blended));
        if READS_TARGET { merged(plan, new, old) } else { new }
    }
}

/// Returns the words of texels of a colour.
#[inline(always)]
pub fn packed<H: Host>(plan: &ColorPlan, kernels: HostLaneKernels<H>, color: &Lanes) -> [H::Ints; 4] {
    match plan.access {
        Access::Half { channels } => half_float::pack(words(color), channels),
        Access::Words => words(color),
        _ => {
            let mut new = NOTHING;
            kernels.pack(color, &mut new);
            words(&new)
        }
    }
}

/// Applies the logic operation and the write mask to new words.
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

base::multiversion! {
    unsafe fn store_half [const N: usize] [N] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2]) {
        plan.write_pairs::<H, N, _>(HOST, batch, StoreHalf::<N>(&sources[0]));
    }
    unsafe fn store_words [const N: usize] [N] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2]) {
        plan.write_pairs::<H, N, _>(HOST, batch, StoreWords(&sources[0]));
    }
    unsafe fn store_any [const READS_TARGET: bool] [READS_TARGET] (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2]) {
        let kernels = kernels(plan.surface.format).at_level(HOST);
        plan.write_pairs::<H, 0, _>(HOST, batch, AnyFormatWriter::<H, READS_TARGET> { plan, kernels, sources, blend: None });
    }
    unsafe fn blend_any [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2], blend: &BlendEquations) {
        let kernels = kernels(plan.surface.format).at_level(HOST);
        let blend = Some(unorm8_blend::equations::<NUMBER>(blend));
        plan.write_pairs::<H, 0, _>(HOST, batch, AnyFormatWriter::<H, true> { plan, kernels, sources, blend });
    }
}

#[inline(always)]
fn bits(color: &ColorLanes<MAX_LANES>) -> Lanes {
    let mut bits = NOTHING;
    for c in 0..4 {
        for i in 0..MAX_LANES {
            bits[c][i] = color[c][i].to_bits();
        }
    }
    bits
}

/// Converts words of an array to vectors.
#[inline(always)]
pub fn words<I: Ints>([a, b, c, d]: &Lanes) -> [I; 4] {
    [I::from_array(*a), I::from_array(*b), I::from_array(*c), I::from_array(*d)]
}

/// Converts vectors to an array.
#[inline(always)]
pub fn lanes<I: Ints>([a, b, c, d]: [I; 4]) -> Lanes {
    [a.to_array(), b.to_array(), c.to_array(), d.to_array()]
}

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// The requirements of [`ColorPlan::write_at`] hold, and the sources are the plan's.
    pub(super) unsafe fn write_any(&self, level: SimdLevel, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2]) {
        // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the host
        // has the level (`# Safety`).
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
            let write = match unorm8_blend::number(equations) {
                0 => blend_any::<0>(level),
                2 => blend_any::<2>(level),
                3 => blend_any::<3>(level),
                _ => blend_any::<{ unorm8_blend::COMMON.len() }>(level),
            };
            write(self, batch, sources, equations);
        }
    }
}
