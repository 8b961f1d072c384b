//! Targets of four unsigned normalised 8-bit components, written a pair of quads at a time.

#[cfg(target_arch = "x86_64")]
use super::byte_vector::Bytes512;
use super::plan::{ColorPlan, byte_of};
use super::quad_pairs::PairWriter;
use super::quad_texels::{LANES, words};
use super::source::Sources;
use super::unorm8_blend::{self, BlendTexels, EightTexels};
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Host, Ints, SimdLevel};
use base::pixel::{BlendEquations, BlendFactor, BlendOp};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512i;

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
        level: SimdLevel,
        batch: &ShadedQuads<'_>,
        sources: &[Sources<'_>; 2],
        swap: bool,
    ) {
        let blend = match &self.blend {
            // SAFETY: covered pixels lie inside the layer, no other thread accesses them, the host
            // has the level, and texels have four bytes (`# Safety`).
            None if !self.masked => return unsafe { store_unorm(level)(self, batch, sources, swap) },
            blend => blend.as_ref().unwrap_or(&REPLACE),
        };
        let write = unorm8_blend::with_equation!(blend, NUMBER => blend_unorm::<NUMBER>(level));
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
struct Unorm8Store<'a> {
    source: &'a Sources<'a>,
    swap: bool,
}

impl<H: Host> PairWriter<H> for Unorm8Store<'_> {
    type Source = H::Ints;
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    fn load_source(&self, host: H, pair: usize) -> H::Ints {
        H::Ints::from_array(unorm8_blend::pack(host, &self.source.floats(pair), self.swap))
    }
    #[inline(always)]
    fn apply(&self, _: H, texels: &H::Ints, _: [H::Ints; 4]) -> [H::Ints; 4] {
        words(*texels)
    }
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = true;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn apply_512(&self, v: Avx512, pair: usize, _: __m512i) -> __m512i {
        unorm8_blend::pack_512(v, self.source.two_pairs(v, pair), self.swap)
    }
}

/// A writer that blends unsigned normalised texels in integers.
struct Unorm8Blend<'a, const NUMBER: usize> {
    blend: &'a BlendEquations,
    sources: &'a [Sources<'a>; 2],
    second: bool,
    constants: EightTexels,
    swap: bool,
    /// Bits of a texel that are written.
    mask: u32,
}

impl<H: Host, const NUMBER: usize> PairWriter<H> for Unorm8Blend<'_, NUMBER> {
    /// The texels of both sources.
    type Source = [H::Ints; 2];
    const READS_TARGET: bool = true;
    const HAS_WHOLE_PAIR_CODE: bool = NUMBER < unorm8_blend::COMMON.len();
    #[inline(always)]
    fn load_source(&self, host: H, pair: usize) -> [H::Ints; 2] {
        let first = H::Ints::from_array(unorm8_blend::pack(host, &self.sources[0].floats(pair), self.swap));
        // No common equation uses a second source.
        let second = if NUMBER == unorm8_blend::COMMON.len() && self.second {
            H::Ints::from_array(unorm8_blend::pack(host, &self.sources[1].floats(pair), self.swap))
        } else {
            H::Ints::splat(0)
        };
        [first, second]
    }
    #[inline(always)]
    fn apply(&self, host: H, [s, s1]: &[H::Ints; 2], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let from = BlendTexels { s: s.to_array(), s1: s1.to_array(), constants: self.constants };
        let new = unorm8_blend::blend(host, unorm8_blend::equations::<NUMBER>(self.blend), &from, &old[0].to_array());
        let merged = old[0] ^ (old[0] ^ H::Ints::from_array(new)) & H::Ints::splat(self.mask);
        words(merged)
    }
    // No common equation uses a second source or constants.
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = NUMBER < unorm8_blend::COMMON.len();
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn apply_512(&self, v: Avx512, pair: usize, old: __m512i) -> __m512i {
        let source = unorm8_blend::pack_512(v, self.sources[0].two_pairs(v, pair), self.swap);
        let none = Bytes512(v, v._mm512_setzero_si512());
        let operands = [Bytes512(v, source), Bytes512(v, old), none, none];
        let Bytes512(_, new) = unorm8_blend::blended(unorm8_blend::equations::<NUMBER>(self.blend), operands);
        // The mask's bits choose between old and new bits.
        v._mm512_ternarylogic_epi32::<0xd8>(old, new, v._mm512_set1_epi32(self.mask as i32))
    }
}

base::multiversion! {
    for Avx512 unsafe fn store_unorm(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2], swap: bool) {
        plan.write_pairs::<H, 4, _>(HOST, batch, Unorm8Store { source: &sources[0], swap });
    }
    for Avx512 unsafe fn blend_unorm [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs::<H, 4, _>(HOST, batch, Unorm8Blend::<NUMBER> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            constants: [plan.constant_bytes(swap); LANES],
            swap,
            mask: plan.write[0],
        });
    }
}
