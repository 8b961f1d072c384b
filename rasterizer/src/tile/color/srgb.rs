//! Targets of four 8-bit components with sRGB-encoded colour, which blend in linear light. They are
//! written a pair of quads at a time, or two pairs on hosts with 512-bit vectors.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::{BlendOperands, Clamp, ColorLanes, clamped};
use super::plan::{ColorPlan, byte_of};
use super::quad_pairs::PairWriter;
use super::quad_texels::{LANES, words};
use super::source::Sources;
use crate::stages::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::format::srgb::{linear_lanes_to_srgb, srgb_lanes_to_linear};
#[cfg(target_arch = "x86_64")]
use base::format::srgb_vectors::{decode, encode};
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
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
        sources: &[Sources<'_>; 2],
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
struct SrgbStore<'a, const SWAP: bool>(&'a Sources<'a>);

/// Puts components in a texel's order, or back.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn swapped<const SWAP: bool>([x, y, z, a]: [__m512; 4]) -> [__m512; 4] {
    if SWAP { [z, y, x, a] } else { [x, y, z, a] }
}

/// Returns the components of colours, as arrays.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn arrays(v: Avx512, components: [__m512; 4]) -> ColorLanes<16> {
    let mut arrays = [[0.0; 16]; 4];
    for (array, component) in arrays.iter_mut().zip(components) {
        v.store_ps(array, component);
    }
    arrays
}

/// Returns the components of colours, as vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn vectors(v: Avx512, [r, g, b, a]: &ColorLanes<16>) -> [__m512; 4] {
    [v.load_ps(r), v.load_ps(g), v.load_ps(b), v.load_ps(a)]
}

/// Returns the colours of two pairs, clamped to 0..=1.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn colors(v: Avx512, sources: &Sources<'_>, pair: usize) -> ColorLanes<16> {
    clamped(Clamp::Unorm, arrays(v, sources.two_pairs(v, pair)))
}

impl<H: Host, const SWAP: bool> PairWriter<H> for SrgbStore<'_, SWAP> {
    type Source = H::Ints;
    const READS_TARGET: bool = false;
    const HAS_WHOLE_PAIR_CODE: bool = true;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> H::Ints {
        pack::<H, SWAP>(&self.0.floats(pair))
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
        encode(v, swapped::<SWAP>(self.0.two_pairs(v, pair)))
    }
}

/// A writer that blends sRGB texels in linear light.
struct SrgbBlend<'a, const SWAP: bool> {
    blend: &'a BlendEquations,
    sources: &'a [Sources<'a>; 2],
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
base::avx512_fn! {
    /// Returns the blended texels of two pairs, as quads. It is not inlined, because it is large
    /// and has three callers.
    fn blended [const SWAP: bool] [SWAP] (v: Avx512, of: &SrgbBlend<'_, SWAP>, pair: usize, old: __m512i) -> __m512i {
        let (first, second) = (&of.sources[0], &of.sources[1]);
        let s = colors(v, first, pair);
        let alpha = v.load_ps(&s[3]);
        if of.identity.source && v._mm512_cmp_ps_mask::<_CMP_EQ_OQ>(alpha, v._mm512_set1_ps(1.0)) == u16::MAX {
            return encode(v, swapped::<SWAP>(vectors(v, &s)));
        }
        if of.identity.target && v._mm512_cmp_ps_mask::<_CMP_EQ_OQ>(alpha, v._mm512_setzero_ps()) == u16::MAX {
            return old;
        }
        let s1 = if of.second { colors(v, second, pair) } else { [[0.0; 16]; 4] };
        let d = arrays(v, swapped::<SWAP>(decode(v, old)));
        let new = BlendOperands { s: &s, s1: &s1, d: &d, constants: of.constants }.blend(of.blend);
        encode(v, swapped::<SWAP>(vectors(v, &new)))
    }
}

impl<H: Host, const SWAP: bool> PairWriter<H> for SrgbBlend<'_, SWAP> {
    /// The colours of both sources.
    type Source = [ColorLanes<LANES>; 2];
    const READS_TARGET: bool = true;
    const HAS_WHOLE_PAIR_CODE: bool = false;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> [ColorLanes<LANES>; 2] {
        let second = if self.second { self.sources[1].floats(pair) } else { [[0.0; LANES]; 4] };
        [clamped(Clamp::Unorm, self.sources[0].floats(pair)), clamped(Clamp::Unorm, second)]
    }
    #[inline(always)]
    fn apply(&self, _: H, [s, s1]: &[ColorLanes<LANES>; 2], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let d = unpack::<H, SWAP>(old[0]);
        words(pack::<H, SWAP>(&BlendOperands { s, s1, d: &d, constants: self.constants }.blend(self.blend)))
    }
    #[cfg(target_arch = "x86_64")]
    const WRITES_TWO_PAIRS: bool = true;
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn apply_512(&self, v: Avx512, pair: usize, old: __m512i) -> __m512i {
        blended::<SWAP>(v, self, pair, old)
    }
}

base::multiversion! {
    for Avx512 unsafe fn store_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2]) {
        plan.write_pairs::<H, 4, _>(HOST, batch, SrgbStore::<SWAP>(&sources[0]));
    }
    for Avx512 unsafe fn blend_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources<'_>; 2], blend: &BlendEquations) {
        plan.write_pairs::<H, 4, _>(HOST, batch, SrgbBlend::<SWAP> {
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
