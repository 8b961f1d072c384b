//! The advanced blend operations (VK_EXT_blend_operation_advanced) for every format: eight lanes at
//! a time, in floats.
//!
//! Names are those of the specification's chapter "Advanced Blend Operations". A choice by
//! operation is made once for all lanes. A choice by a lane's value is a select, so the value that
//! is not chosen may be anything.

use super::any_format::{NOTHING, lanes, merged, packed, words};
use super::equation::Clamp;
use super::plan::ColorPlan;
use super::quad_pairs::PairWriter;
use super::source::Sources;
use crate::tile::shaded::ShadedQuads;
use base::format::kernels;
use base::format::pack::HostLaneKernels;
use base::host::{Floats, Host, Ints, SimdLevel};
use base::pixel::{AdvancedBlend, AdvancedBlendOp, BlendOverlap};

/// A colour's red, green and blue components.
type Rgb<F> = [F; 3];

#[inline(always)]
fn zero<F: Floats>() -> F {
    F::splat(0.0)
}

#[inline(always)]
fn one<F: Floats>() -> F {
    F::splat(1.0)
}

/// Returns `yes` in lanes where the condition holds, and `no` in the others.
#[inline(always)]
fn choose<F: Floats>(condition: F::Ints, yes: F, no: F) -> F {
    condition.select(yes.bits(), no.bits()).as_floats()
}

/// Makes an array of the results of an expression for each of the values. (The compiler may not
/// inline closures that contain intrinsics.)
macro_rules! each {
    ([$($value:expr),+], $name:ident => $each:expr) => {
        [$({
            let $name = $value;
            $each
        }),+]
    };
}

/// Returns 2 * v.
#[inline(always)]
fn twice<F: Floats>(v: F) -> F {
    v + v
}

/// Returns X, Y and Z of an operation, or `None` if the specification defines it without them.
fn terms(op: AdvancedBlendOp) -> Option<[bool; 3]> {
    use AdvancedBlendOp::*;
    let terms = match op {
        Zero => [0, 0, 0],
        Src | DstAtop => [1, 1, 0],
        Dst | SrcAtop | Invert | InvertRgb => [1, 0, 1],
        SrcIn | DstIn => [1, 0, 0],
        SrcOut => [0, 1, 0],
        DstOut => [0, 0, 1],
        Xor => [0, 1, 1],
        SrcOver | DstOver | Multiply | Screen | Overlay | Darken | Lighten | Colordodge | Colorburn | Hardlight
        | Softlight | Difference | Exclusion | Lineardodge | Linearburn | Vividlight | Linearlight | Pinlight
        | Hardmix | HslHue | HslSaturation | HslColor | HslLuminosity => [1, 1, 1],
        Plus | PlusClamped | PlusClampedAlpha | PlusDarker | Minus | MinusClamped | Contrast | InvertOvg | Red
        | Green | Blue => return None,
    };
    Some(terms.map(|term| term != 0))
}

/// Returns the weights p0, p1 and p2.
#[inline(always)]
fn weights<F: Floats>(overlap: BlendOverlap, s: F, d: F) -> [F; 3] {
    match overlap {
        BlendOverlap::Uncorrelated => [s * d, s * (one::<F>() - d), d * (one::<F>() - s)],
        BlendOverlap::Conjoint => [s.min(d), (s - d).max(zero()), (d - s).max(zero())],
        BlendOverlap::Disjoint => [(s + d - one()).max(zero()), s.min(one::<F>() - d), d.min(one::<F>() - s)],
    }
}

/// Returns the product of 2, `s` and `d`, or the screen operation of them in lanes where `above` is
/// set.
#[inline(always)]
fn light<F: Floats>(above: F::Ints, s: F, d: F) -> F {
    choose(above, one::<F>() - twice((one::<F>() - s) * (one::<F>() - d)), twice(s * d))
}

/// Returns f of one component. `near_one` is the least number that the target's format cannot
/// distinguish from 1.
#[inline(always)]
fn separable<F: Floats>(op: AdvancedBlendOp, s: F, d: F, near_one: F) -> F {
    use AdvancedBlendOp::*;
    let (half, one, zero) = (F::splat(0.5), one::<F>(), zero::<F>());
    match op {
        Src | SrcOver | SrcIn | SrcAtop => s,
        Dst | DstOver | DstIn | DstAtop => d,
        Multiply => s * d,
        Screen => s + d - s * d,
        Overlay => light(d.greater(half), s, d),
        Darken => s.min(d),
        Lighten => s.max(d),
        Colordodge => {
            let dodged = choose(s.greater_or_equal(one), one, (d / (one - s)).min(one));
            choose(d.greater(zero), dodged, zero)
        }
        Colorburn => {
            let burnt = choose(s.greater(zero), one - ((one - d) / s).min(one), zero);
            choose(d.greater_or_equal(one), one, burnt)
        }
        Hardlight => light(s.greater(half), s, d),
        Softlight => {
            let darker = d - (one - twice(s)) * d * (one - d);
            let polynomial = ((F::splat(16.0) * d - F::splat(12.0)) * d + F::splat(3.0)) * d;
            let lighter = d + (twice(s) - one) * choose(d.greater(F::splat(0.25)), d.sqrt() - d, polynomial);
            choose(s.greater(half), lighter, darker)
        }
        Difference => (d - s).max(s - d),
        Exclusion => s + d - twice(s * d),
        Invert => one - d,
        InvertRgb => s * (one - d),
        Lineardodge => (s + d).min(one),
        Linearburn => (s + d - one).max(zero),
        Vividlight => {
            let burnt = choose(s.greater(zero), one - ((one - d) / twice(s)).min(one), zero);
            let dodged = choose(s.greater_or_equal(one), one, (d / twice(one - s)).min(one));
            choose(s.greater_or_equal(half), dodged, burnt)
        }
        Linearlight => (twice(s) + d - one).max(zero).min(one),
        Pinlight => {
            let above = choose(s.greater_or_equal(half), twice(s) - one, zero);
            let below = choose((half * d).greater(s), twice(s), d);
            choose((twice(s) - one).greater(d), above, below)
        }
        Hardmix => choose((s + d).greater_or_equal(near_one), one, zero),
        // These operations combine all components, or have no f.
        Zero | SrcOut | DstOut | Xor | HslHue | HslSaturation | HslColor | HslLuminosity | Plus | PlusClamped
        | PlusClampedAlpha | PlusDarker | Minus | MinusClamped | Contrast | InvertOvg | Red | Green | Blue => zero,
    }
}

#[inline(always)]
fn minv3<F: Floats>(c: Rgb<F>) -> F {
    c[0].min(c[1]).min(c[2])
}

#[inline(always)]
fn maxv3<F: Floats>(c: Rgb<F>) -> F {
    c[0].max(c[1]).max(c[2])
}

#[inline(always)]
fn lumv3<F: Floats>(c: Rgb<F>) -> F {
    c[0] * F::splat(0.30) + c[1] * F::splat(0.59) + c[2] * F::splat(0.11)
}

/// Implements `ClipColor`: brings components that are outside of 0..=1 into that range.
#[inline(always)]
fn clip_color<F: Floats>(color: Rgb<F>) -> Rgb<F> {
    let (lum, min, max) = (lumv3(color), minv3(color), maxv3(color));
    let (below, above) = (zero::<F>().greater(min), max.greater(one()));
    each!([color[0], color[1], color[2]], c => {
        let c = choose(below, lum + (c - lum) * lum / (lum - min), c);
        choose(above, lum + (c - lum) * (one::<F>() - lum) / (max - lum), c)
    })
}

/// Implements `SetLum`.
#[inline(always)]
fn set_lum<F: Floats>(base: Rgb<F>, lum: Rgb<F>) -> Rgb<F> {
    let difference = lumv3(lum) - lumv3(base);
    clip_color(each!([base[0], base[1], base[2]], c => c + difference))
}

/// Implements `SetLumSat`.
#[inline(always)]
fn set_lum_sat<F: Floats>(base: Rgb<F>, sat: Rgb<F>, lum: Rgb<F>) -> Rgb<F> {
    let min = minv3(base);
    let (of_base, of_sat) = (maxv3(base) - min, maxv3(sat) - minv3(sat));
    let colored = of_base.greater(zero());
    set_lum(each!([base[0], base[1], base[2]], c => choose(colored, (c - min) * of_sat / of_base, zero())), lum)
}

/// Returns f of a colour.
#[inline(always)]
fn blend_function<F: Floats>(op: AdvancedBlendOp, s: Rgb<F>, d: Rgb<F>, near_one: F) -> Rgb<F> {
    match op {
        AdvancedBlendOp::HslHue => set_lum_sat(s, d, d),
        AdvancedBlendOp::HslSaturation => set_lum_sat(d, s, d),
        AdvancedBlendOp::HslColor => set_lum(s, d),
        AdvancedBlendOp::HslLuminosity => set_lum(d, s),
        _ => each!([0, 1, 2], c => separable(op, s[c], d[c], near_one)),
    }
}

/// Evaluates the operations of the table "Additional RGB Blend Operations" on premultiplied
/// colours.
#[inline(always)]
fn additional<F: Floats>(op: AdvancedBlendOp, s: [F; 4], d: [F; 4]) -> [F; 4] {
    use AdvancedBlendOp::*;
    let (one, zero) = (one::<F>(), zero::<F>());
    let ([_, _, _, sa], [_, _, _, da]) = (s, d);
    macro_rules! components {
        ($s:ident, $d:ident => $rgb:expr, $alpha:expr) => {{
            let [r, g, b] = each!([0, 1, 2], c => {
                let ($s, $d) = (s[c], d[c]);
                $rgb
            });
            [r, g, b, $alpha]
        }};
    }
    let sum = (sa + da).min(one);
    match op {
        Plus => components!(s, d => s + d, sa + da),
        PlusClamped => components!(s, d => (s + d).min(one), sum),
        PlusClampedAlpha => components!(s, d => (s + d).min(sum), sum),
        PlusDarker => components!(s, d => (sum - ((sa - s) + (da - d))).max(zero), sum),
        Minus => components!(s, d => d - s, da - sa),
        MinusClamped => components!(s, d => (d - s).max(zero), (da - sa).max(zero)),
        Contrast => {
            let (s_half, d_half) = (sa * F::splat(0.5), da * F::splat(0.5));
            components!(s, d => d_half + twice((d - d_half) * (s - s_half)), da)
        }
        InvertOvg => components!(_s, d => sa * (one - d) + (one - sa) * d, sa + da - sa * da),
        Red => [s[0], d[1], d[2], da],
        Green => [d[0], s[1], d[2], da],
        _ => [d[0], d[1], s[2], da],
    }
}

/// Divides a colour's components by its alpha; leaves them unchanged where alpha is 0.
#[inline(always)]
fn divided<F: Floats>([r, g, b, a]: [F; 4]) -> [F; 4] {
    let none = a.bits().shl(1).equal(F::Ints::splat(0));
    let by = choose(none, one(), a);
    [r / by, g / by, b / by, a]
}

/// Returns the base colour, which is 0 where a premultiplied colour's alpha is 0.
#[inline(always)]
fn base_color<F: Floats>(premultiplied: bool, color: [F; 4]) -> Rgb<F> {
    let [r, g, b, a] = if premultiplied { divided(color) } else { color };
    if !premultiplied {
        return [r, g, b];
    }
    let none = a.bits().shl(1).equal(F::Ints::splat(0));
    each!([r, g, b], c => choose(none, zero(), c))
}

#[inline(always)]
fn multiplied<F: Floats>(premultiplied: bool, [r, g, b, a]: [F; 4]) -> [F; 4] {
    if premultiplied { [r, g, b, a] } else { [r * a, g * a, b * a, a] }
}

/// Returns the blended colour.
#[inline(always)]
fn blended<F: Floats>(blend: &AdvancedBlend, s: [F; 4], d: [F; 4], near_one: f32) -> [F; 4] {
    let result = match terms(blend.op) {
        Some([x, y, z]) => {
            let [p0, p1, p2] = weights(blend.overlap, s[3], d[3]);
            let (s, d) = (base_color(blend.src_premultiplied, s), base_color(blend.dst_premultiplied, d));
            let f = blend_function(blend.op, s, d, F::splat(near_one));
            let mut sum = [zero::<F>(); 4];
            // An operation without X has an f of 0.
            for (term, color, weight) in [(x, f, p0), (y, s, p1), (z, d, p2)] {
                if term {
                    let [r, g, b, a] = sum;
                    sum = [r + color[0] * weight, g + color[1] * weight, b + color[2] * weight, a + weight];
                }
            }
            sum
        }
        None => additional(blend.op, multiplied(blend.src_premultiplied, s), multiplied(blend.dst_premultiplied, d)),
    };
    let result = if blend.dst_premultiplied { result } else { divided(result) };
    each!([result[0], result[1], result[2], result[3]], v => {
        if blend.clamp_results {
            v.max(zero()).min(one())
        } else {
            // NaNs become the same NaN, so that all processor levels give the same bits.
            choose(v.greater_or_equal(v), v, F::splat(f32::NAN))
        }
    })
}

/// A writer that blends the texels of any format.
struct AdvancedBlendWriter<'a, H> {
    plan: &'a ColorPlan,
    kernels: HostLaneKernels<H>,
    source: &'a Sources<'a>,
    blend: &'a AdvancedBlend,
    /// Result of [`near_one`].
    near_one: f32,
}

/// Returns the least number that a format cannot distinguish from 1: the sum of stored values of
/// 1/4 and 3/4 counts as 1.
fn near_one(plan: &ColorPlan) -> f32 {
    let bits = plan.surface.format.info().channels[0].bits;
    let steps = match plan.clamp {
        Clamp::Unorm => (1_u32 << bits) - 1,
        Clamp::Snorm => (1_u32 << (bits - 1)) - 1,
        Clamp::None => return 1.0,
    };
    1.0 - 0.5 / steps as f32
}

impl<H: Host> PairWriter<H> for AdvancedBlendWriter<'_, H> {
    /// The colours of a pair, clamped to the format's range.
    type Source = [H::Floats; 4];
    const READS_TARGET: bool = true;
    const HAS_WHOLE_PAIR_CODE: bool = false;
    #[inline(always)]
    fn load_source(&self, _: H, pair: usize) -> [H::Floats; 4] {
        let [r, g, b, a] = self.source.bits::<H::Ints>(pair);
        let [lo, hi] = match self.plan.clamp {
            Clamp::Unorm => [0.0, 1.0],
            Clamp::Snorm => [-1.0, 1.0],
            Clamp::None => return each!([r, g, b, a], v => v.as_floats()),
        };
        each!([r, g, b, a], v => v.as_floats().max(H::Floats::splat(lo)).min(H::Floats::splat(hi)))
    }
    #[inline(always)]
    fn apply(&self, _: H, source: &[H::Floats; 4], old: [H::Ints; 4]) -> [H::Ints; 4] {
        let mut there = NOTHING;
        self.kernels.unpack(&lanes(old), &mut there);
        let [r, g, b, a] = words::<H::Ints>(&there);
        let [r, g, b, a] = blended(self.blend, *source, each!([r, g, b, a], v => v.as_floats()), self.near_one);
        let color = lanes(each!([r, g, b, a], v => v.bits()));
        let new = packed(self.plan, self.kernels, &color);
        merged(self.plan, new, old)
    }
}

base::multiversion! {
    unsafe fn blend_advanced(plan: &ColorPlan, batch: &ShadedQuads<'_>, source: &Sources<'_>, blend: &AdvancedBlend) {
        let kernels = kernels(plan.surface.format).at_level(HOST);
        plan.write_pairs::<H, 0, _>(HOST, batch, AdvancedBlendWriter { plan, kernels, source, blend, near_one: near_one(plan) });
    }
}

impl ColorPlan {
    /// Blends all quads of a batch, in order.
    ///
    /// # Safety
    /// The requirements of [`ColorPlan::write_at`] hold, and the source is the plan's first.
    pub(super) unsafe fn write_advanced(
        &self,
        level: SimdLevel,
        batch: &ShadedQuads<'_>,
        source: &Sources<'_>,
        blend: &AdvancedBlend,
    ) {
        // SAFETY: covered pixels lie inside the layer, no other thread accesses them, and the host
        // has the level (`# Safety`).
        unsafe { blend_advanced(level)(self, batch, source, blend) };
    }
}
