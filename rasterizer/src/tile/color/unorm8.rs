//! Targets of four unsigned normalised 8-bit components, written a pair of quads at a time.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::plan::{ColorPlan, byte_of};
use super::quad_pairs::PairWriter;
use super::quad_texels::{LANES, words};
use super::source::Sources;
use super::unorm8_blend::{self, BlendTexels, EightTexels};
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::host::{Host, Ints, SimdLevel};
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
        level: SimdLevel,
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
    source: &'a Sources,
    swap: bool,
}

impl<H: Host> PairWriter<H> for Unorm8Store<'_> {
    type Source = H::Ints;
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    unsafe fn load_source(&self, pair: usize) -> H::Ints {
        // SAFETY: the batch has the pair, as `PairWriter::load_source` requires.
        H::Ints::from_array(unorm8_blend::pack::<H>(&unsafe { self.source.floats(pair) }, self.swap))
    }
    #[inline(always)]
    fn apply(&self, texels: &H::Ints, _: [H::Ints; 4]) -> [H::Ints; 4] {
        words(*texels)
    }
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = H::HAS_512;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_two_pairs(&self, pair: usize, at: [*mut u8; 2], pitch: usize) {
        // SAFETY: `PairWriter::write_two_pairs` requires pairs of the batch and writable texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store(at, pitch, unorm8_blend::pack_512(self.source.rows(pair), self.swap)) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_four_quads(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_four_quads` requires pairs of the batch and accessible texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_covered(at, pitch, unorm8_blend::pack_512(self.source.rows(pair), self.swap), covered) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_row` requires pairs of the batch and accessible covered
        // texels; `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_row(at, pitch, unorm8_blend::pack_512(self.source.rows(pair), self.swap), covered) };
    }
}

/// A writer that blends unsigned normalised texels in integers.
struct Unorm8Blend<'a, const NUMBER: usize> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
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
    unsafe fn load_source(&self, pair: usize) -> [H::Ints; 2] {
        // SAFETY: the batch has the pair, as `PairWriter::load_source` requires.
        unsafe {
            let first = H::Ints::from_array(unorm8_blend::pack::<H>(&self.sources[0].floats(pair), self.swap));
            // No common equation uses a second source.
            let second = if NUMBER == unorm8_blend::COMMON.len() && self.second {
                H::Ints::from_array(unorm8_blend::pack::<H>(&self.sources[1].floats(pair), self.swap))
            } else {
                H::Ints::splat(0)
            };
            [first, second]
        }
    }
    #[inline(always)]
    fn apply(&self, [s, s1]: &[H::Ints; 2], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let from = BlendTexels { s: s.to_array(), s1: s1.to_array(), constants: self.constants };
        let new = unorm8_blend::blend::<H>(unorm8_blend::equations::<NUMBER>(self.blend), &from, &old[0].to_array());
        let merged = old[0] ^ (old[0] ^ H::Ints::from_array(new)) & H::Ints::splat(self.mask);
        words(merged)
    }
    // No common equation uses a second source or constants.
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = H::HAS_512 && NUMBER < unorm8_blend::COMMON.len();
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_two_pairs(&self, pair: usize, at: [*mut u8; 2], pitch: usize) {
        // SAFETY: `PairWriter::write_two_pairs` requires pairs of the batch and writable texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe {
            let source = unorm8_blend::pack_512(self.sources[0].rows(pair), self.swap);
            avx512::blend(at, pitch, unorm8_blend::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_four_quads(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_four_quads` requires pairs of the batch and accessible texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe {
            let source = (unorm8_blend::pack_512(self.sources[0].rows(pair), self.swap), covered);
            avx512::blend_covered(at, pitch, unorm8_blend::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_row` requires pairs of the batch and accessible covered
        // texels; `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe {
            let source = (unorm8_blend::pack_512(self.sources[0].rows(pair), self.swap), covered);
            avx512::blend_row(at, pitch, unorm8_blend::equations::<NUMBER>(self.blend), source, self.mask);
        }
    }
}

base::multiversion! {
    for Avx512 unsafe fn store_unorm(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        plan.write_pairs::<H, 4, _>(batch, Unorm8Store { source: &sources[0], swap });
    }
    for Avx512 unsafe fn blend_unorm [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs::<H, 4, _>(batch, Unorm8Blend::<NUMBER> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            constants: [plan.constant_bytes(swap); LANES],
            swap,
            mask: plan.write[0],
        });
    }
}
