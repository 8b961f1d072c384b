//! Targets of four 8-bit components with sRGB-encoded colour, which blend in linear light. They are
//! written a pair of quads at a time, or two pairs on hosts with 512-bit vectors.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::equation::{BlendOperands, Clamp, ColorLanes, clamped};
use super::plan::{ColorPlan, byte_of};
use super::quad_pairs::PairWriter;
#[cfg(target_arch = "x86_64")]
use super::quad_texels::two_rows;
use super::quad_texels::{LANES, words};
use super::source::Sources;
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::format::srgb::{linear_lanes_to_srgb, srgb_lanes_to_linear};
#[cfg(target_arch = "x86_64")]
use base::format::srgb_vectors::{decode, encode};
use base::host::{Floats as Lanes, Host, Ints, SimdLevel};
use base::pixel::BlendEquations;
#[cfg(target_arch = "x86_64")]
use base::pixel::{BlendFactor, BlendOp};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

impl ColorPlan {
    /// Writes all quads of a batch, in order, to unsigned normalised components whose colour is
    /// sRGB-encoded.
    ///
    /// # Safety
    /// The requirements of `ColorPlan::write_unorm8` hold, and the plan masks no channels.
    pub(super) unsafe fn write_srgb8(
        &self,
        level: SimdLevel,
        batch: &ShadedQuads<'_>,
        sources: &[Sources; 2],
        swap: bool,
    ) {
        // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the host
        // has the level (`# Safety`).
        unsafe {
            let Some(blend) = &self.blend else {
                let write = if swap { store_srgb::<true>(level) } else { store_srgb::<false>(level) };
                return write(self, batch, sources);
            };
            let write = if swap { blend_srgb::<true>(level) } else { blend_srgb::<false>(level) };
            write(self, batch, sources, blend);
        }
    }
}

/// A writer that stores sRGB texels.
struct SrgbStore<'a, const SWAP: bool>(&'a Sources);

#[cfg(target_arch = "x86_64")]
impl<const SWAP: bool> SrgbStore<'_, SWAP> {
    /// Returns the texels of two pairs, as quads.
    ///
    /// # Safety
    /// The batch has both pairs; the host has the 512-bit level.
    #[inline(always)]
    unsafe fn texels(&self, pair: usize) -> __m512i {
        // SAFETY: the batch has both pairs (`# Safety`), whose rows have eight floats.
        unsafe {
            let [r, g, b, a] = self.0.rows(pair);
            encode(swapped::<SWAP>([two_rows(r), two_rows(g), two_rows(b), two_rows(a)]))
        }
    }
}

/// Puts components in a texel's order, or back.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn swapped<const SWAP: bool>([x, y, z, a]: [__m512; 4]) -> [__m512; 4] {
    if SWAP { [z, y, x, a] } else { [x, y, z, a] }
}

/// Returns the colours of two pairs, clamped to 0..=1.
///
/// # Safety
/// The batch has both pairs; the host has the 512-bit level.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn colors(sources: &Sources, pair: usize) -> ColorLanes<16> {
    // SAFETY: the batch has both pairs (`# Safety`), whose rows have eight floats; vectors and
    // arrays have the same size, and any bits are valid.
    unsafe {
        let [r, g, b, a] = sources.rows(pair);
        let rows = [two_rows(r), two_rows(g), two_rows(b), two_rows(a)];
        clamped(Clamp::Unorm, core::mem::transmute::<[__m512; 4], ColorLanes<16>>(rows))
    }
}

impl<H: Host, const SWAP: bool> PairWriter<H> for SrgbStore<'_, SWAP> {
    type Source = H::Ints;
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    unsafe fn load_source(&self, pair: usize) -> H::Ints {
        // SAFETY: the batch has the pair, as `PairWriter::load_source` requires.
        pack::<H, SWAP>(&unsafe { self.0.floats(pair) })
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
        unsafe { avx512::store(at, pitch, self.texels(pair)) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_four_quads(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_four_quads` requires pairs of the batch and accessible texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_covered(at, pitch, self.texels(pair), covered) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_row` requires pairs of the batch and accessible covered
        // texels; `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_row(at, pitch, self.texels(pair), covered) };
    }
}

/// A writer that blends sRGB texels in linear light.
struct SrgbBlend<'a, const SWAP: bool> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    constants: [f32; 4],
    #[cfg(target_arch = "x86_64")]
    identity: IdentityCases,
}

/// Conditions under which the result of blending is the unchanged source or target, because alpha
/// is 1 or 0.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct IdentityCases {
    /// True if the source is the result where its alpha is 1.
    source: bool,
    /// True if the target is the result where the source's alpha is 0.
    target: bool,
}

#[cfg(target_arch = "x86_64")]
impl IdentityCases {
    fn from_equations(blend: &BlendEquations) -> IdentityCases {
        use BlendFactor::{One, OneMinusSrcAlpha, SrcAlpha, Zero};
        let both = |is: fn(BlendFactor, BlendFactor) -> bool| {
            [blend.color, blend.alpha].iter().all(|&(source, target, op)| op == BlendOp::Add && is(source, target))
        };
        // The factors are then 0 and 1, and adding zero does not change a value.
        IdentityCases {
            source: both(|source, target| matches!((source, target), (One | SrcAlpha, Zero | OneMinusSrcAlpha))),
            target: blend.color.0 == SrcAlpha && both(|_, target| matches!(target, One | OneMinusSrcAlpha)),
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl<const SWAP: bool> SrgbBlend<'_, SWAP> {
    /// Returns the blended texels of two pairs, as quads. It is not inlined, because it is large
    /// and has three callers.
    ///
    /// # Safety
    /// The batch has both pairs; the host has the 512-bit level.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")]
    unsafe fn blended(&self, pair: usize, old: __m512i) -> __m512i {
        // SAFETY: the batch has both pairs (`# Safety`), whose rows have eight floats; vectors and
        // arrays have the same size, and any bits are valid.
        unsafe {
            let (first, second) = (&self.sources[0], &self.sources[1]);
            let s = colors(first, pair);
            let alpha = core::mem::transmute::<[f32; 16], __m512>(s[3]);
            if self.identity.source && _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(alpha, _mm512_set1_ps(1.0)) == u16::MAX {
                return encode(swapped::<SWAP>(core::mem::transmute::<ColorLanes<16>, [__m512; 4]>(s)));
            }
            if self.identity.target && _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(alpha, _mm512_setzero_ps()) == u16::MAX {
                return old;
            }
            let s1 = if self.second { colors(second, pair) } else { [[0.0; 16]; 4] };
            let d = core::mem::transmute::<[__m512; 4], ColorLanes<16>>(swapped::<SWAP>(decode(old)));
            let new = BlendOperands { s: &s, s1: &s1, d: &d, constants: self.constants }.blend(self.blend);
            encode(swapped::<SWAP>(core::mem::transmute::<ColorLanes<16>, [__m512; 4]>(new)))
        }
    }
}

impl<H: Host, const SWAP: bool> PairWriter<H> for SrgbBlend<'_, SWAP> {
    /// The colours of both sources.
    type Source = [ColorLanes<LANES>; 2];
    const READS_TARGET: bool = true;
    const HAS_WHOLE_PAIR_CODE: bool = false;
    #[inline(always)]
    unsafe fn load_source(&self, pair: usize) -> [ColorLanes<LANES>; 2] {
        // SAFETY: the batch has the pair, as `PairWriter::load_source` requires.
        unsafe {
            let second = if self.second { self.sources[1].floats(pair) } else { [[0.0; LANES]; 4] };
            [clamped(Clamp::Unorm, self.sources[0].floats(pair)), clamped(Clamp::Unorm, second)]
        }
    }
    #[inline(always)]
    fn apply(&self, [s, s1]: &[ColorLanes<LANES>; 2], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let d = unpack::<H, SWAP>(old[0]);
        words(pack::<H, SWAP>(&BlendOperands { s, s1, d: &d, constants: self.constants }.blend(self.blend)))
    }
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = H::HAS_512;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_two_pairs(&self, pair: usize, at: [*mut u8; 2], pitch: usize) {
        // SAFETY: `PairWriter::write_two_pairs` requires pairs of the batch and writable texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store(at, pitch, self.blended(pair, avx512::load(at, pitch))) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_four_quads(&self, pair: usize, at: [*mut u8; 4], pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_four_quads` requires pairs of the batch and accessible texels;
        // `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_covered(at, pitch, self.blended(pair, avx512::quads(at, pitch)), covered) };
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_row(&self, pair: usize, at: *mut u8, pitch: usize, covered: u16) {
        // SAFETY: `PairWriter::write_row` requires pairs of the batch and accessible covered
        // texels; `WRITES_TWO_PAIRS` implies the 512-bit level.
        unsafe { avx512::store_row(at, pitch, self.blended(pair, avx512::load_row(at, pitch, covered)), covered) };
    }
}

base::multiversion! {
    for Avx512 unsafe fn store_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_pairs::<H, 4, _>(batch, SrgbStore::<SWAP>(&sources[0]));
    }
    for Avx512 unsafe fn blend_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], blend: &BlendEquations) {
        plan.write_pairs::<H, 4, _>(batch, SrgbBlend::<SWAP> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            constants: plan.constants,
            #[cfg(target_arch = "x86_64")]
            identity: IdentityCases::from_equations(blend),
        });
    }
}

/// Returns the linear components of sRGB texels.
#[inline(always)]
fn unpack<H: Host, const SWAP: bool>(texels: H::Ints) -> ColorLanes<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for (component, out) in out.iter_mut().enumerate() {
        let code = texels.shr(8 * byte_of(component, SWAP) as u32);
        let value = if component == 3 { code.to_floats().div_255() } else { srgb_lanes_to_linear(code) };
        let bits = value.bits().to_array();
        for i in 0..LANES {
            out[i] = f32::from_bits(bits[i]);
        }
    }
    out
}

/// Packs colours into sRGB texels; alpha rounds to nearest, with ties to even.
#[inline(always)]
fn pack<H: Host, const SWAP: bool>(color: &ColorLanes<LANES>) -> H::Ints {
    let mut words = H::Ints::splat(0);
    for (component, values) in color.iter().enumerate() {
        let mut bits = [0; LANES];
        for i in 0..LANES {
            bits[i] = values[i].to_bits();
        }
        let values = H::Ints::from_array(bits).as_floats();
        let code = if component == 3 { alpha_code(values) } else { linear_lanes_to_srgb(values) };
        words = words | code.shl(8 * byte_of(component, SWAP) as u32);
    }
    words
}

/// Returns the 8-bit codes of linear components; not-a-number becomes 0.
#[inline(always)]
fn alpha_code<F: Lanes>(values: F) -> F::Ints {
    let codes = (values.max(F::splat(0.0)).min(F::splat(1.0)) * F::splat(255.0)).round();
    codes.truncate_to_int()
}
