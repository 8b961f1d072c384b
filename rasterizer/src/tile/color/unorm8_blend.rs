//! Texels of four 8-bit components as bytes: packing, and blending in integers, eight texels at a
//! time.
//!
//! Unsigned normalised targets blend in integers: both sources and the constants are packed first,
//! and factors are bytes. A result is `(s * fs + d * fd) / 255` (or the difference), rounded to
//! nearest once and clamped to a byte. This definition holds for all pixels: whole rows, single
//! quads, with and without write masks.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::byte_vector::{ByteVector, Bytes256};
use super::equation::{Clamp, ColorLanes};
use super::plan::byte_of;
use super::quad_texels::LANES;
use base::host::Host;
#[cfg(target_arch = "x86_64")]
use base::host::{Avx2, Avx512};
use base::pixel::{BlendEquations, BlendFactor, BlendOp};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// The words of eight texels.
pub type EightTexels = [u32; LANES];

/// The operands of blending except the target: texels of the sources and the constants.
#[derive(Clone, Copy)]
pub struct BlendTexels {
    /// First source: the fragment stage's colour output.
    pub s: EightTexels,
    /// Second source.
    pub s1: EightTexels,
    /// Blend constants, as texels.
    pub constants: EightTexels,
}

const ADD: BlendOp = BlendOp::Add;
const OVER: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, ADD);
const PREMULTIPLIED: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::One, BlendFactor::OneMinusSrcAlpha, ADD);
const SUM: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::One, BlendFactor::One, ADD);
const ADDITIVE: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::SrcAlpha, BlendFactor::One, ADD);
const MULTIPLY: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::DstColor, BlendFactor::Zero, ADD);
const FILTER: (BlendFactor, BlendFactor, BlendOp) = (BlendFactor::Zero, BlendFactor::SrcColor, ADD);

/// Common equations (colour and alpha), for each of which the blending code is compiled separately.
pub const COMMON: [BlendEquations; 8] = [
    BlendEquations { color: OVER, alpha: OVER },
    BlendEquations { color: OVER, alpha: PREMULTIPLIED },
    BlendEquations { color: PREMULTIPLIED, alpha: PREMULTIPLIED },
    BlendEquations { color: SUM, alpha: SUM },
    BlendEquations { color: ADDITIVE, alpha: ADDITIVE },
    BlendEquations { color: ADDITIVE, alpha: SUM },
    BlendEquations { color: MULTIPLY, alpha: MULTIPLY },
    BlendEquations { color: FILTER, alpha: FILTER },
];

/// Evaluates `$call` with `$number` as a constant: the index of an equation in [`COMMON`], or their
/// count for any other. `bytes` must name this module where the macro is used.
macro_rules! with_equation {
    ($equations:expr, $number:ident => $call:expr) => {{
        macro_rules! equation_number {
            ($n:literal) => {{
                const $number: usize = $n;
                $call
            }};
        }
        match unorm8_blend::number($equations) {
            0 => equation_number!(0),
            1 => equation_number!(1),
            2 => equation_number!(2),
            3 => equation_number!(3),
            4 => equation_number!(4),
            5 => equation_number!(5),
            6 => equation_number!(6),
            7 => equation_number!(7),
            _ => equation_number!(8),
        }
    }};
}
pub(super) use with_equation;

/// Returns the index of equations in [`COMMON`], or the length of [`COMMON`] for any other (see
/// [`with_equation`]).
pub fn number(equations: &BlendEquations) -> usize {
    COMMON.iter().position(|common| common == equations).unwrap_or(COMMON.len())
}

/// Returns the equations of a number as a constant, or the given ones for the number after the
/// last.
#[inline(always)]
pub fn equations<const NUMBER: usize>(given: &BlendEquations) -> &BlendEquations {
    const { if NUMBER < COMMON.len() { Some(&COMMON[NUMBER]) } else { None } }.unwrap_or(given)
}

/// Packs colours into texels, rounding to nearest with ties to even.
/// `swap` exchanges red and blue (see `plan::Access`).
#[inline(always)]
pub fn pack<H: Host>(host: H, color: &ColorLanes<LANES>, swap: bool) -> EightTexels {
    #[cfg(target_arch = "x86_64")]
    if let Some(v) = host.avx2() {
        return pack_avx2(v, color, swap);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = host;
    pack_portable(color, swap)
}

#[inline(never)]
fn pack_portable(color: &ColorLanes<LANES>, swap: bool) -> EightTexels {
    let mut texels = [0; LANES];
    for (c, component) in color.iter().enumerate() {
        let shift = 8 * byte_of(c, swap);
        for (texel, v) in texels.iter_mut().zip(component) {
            *texel |= (base::round::low_bits(Clamp::Unorm.apply(*v) * 255.0) & 0xff) << shift;
        }
    }
    texels
}

/// Returns the blended texels.
#[inline(always)]
pub fn blend<H: Host>(host: H, blend: &BlendEquations, from: &BlendTexels, d: &EightTexels) -> EightTexels {
    #[cfg(target_arch = "x86_64")]
    if let Some(v) = host.avx2() {
        return blend_avx2(v, blend, from, d);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = host;
    blend_portable(blend, from, d)
}

type Array = [u8; 32];

#[inline(never)]
fn blend_portable(blend: &BlendEquations, from: &BlendTexels, d: &EightTexels) -> EightTexels {
    // SAFETY: the arrays have the same size, and any bits are valid in them.
    let [s, d, s1, constants]: [Array; 4] = unsafe { core::mem::transmute([from.s, *d, from.s1, from.constants]) };
    let factor = |factor| match factor {
        BlendFactor::Zero => [0; 32],
        BlendFactor::One => [255; 32],
        BlendFactor::SrcColor => s,
        BlendFactor::OneMinusSrcColor => each(&s, &s, |v, _| !v),
        BlendFactor::DstColor => d,
        BlendFactor::OneMinusDstColor => each(&d, &d, |v, _| !v),
        BlendFactor::SrcAlpha => each(&s, &s, |_, a| a),
        BlendFactor::OneMinusSrcAlpha => each(&s, &s, |_, a| !a),
        BlendFactor::DstAlpha => each(&d, &d, |_, a| a),
        BlendFactor::OneMinusDstAlpha => each(&d, &d, |_, a| !a),
        BlendFactor::ConstantColor => constants,
        BlendFactor::OneMinusConstantColor => each(&constants, &constants, |v, _| !v),
        BlendFactor::ConstantAlpha => each(&constants, &constants, |_, a| a),
        BlendFactor::OneMinusConstantAlpha => each(&constants, &constants, |_, a| !a),
        BlendFactor::SrcAlphaSaturate => {
            let left = each(&d, &d, |_, a| !a);
            chosen(&each(&left, &s, |v, a| v.min(a)), &[255; 32])
        }
        BlendFactor::Src1Color => s1,
        BlendFactor::OneMinusSrc1Color => each(&s1, &s1, |v, _| !v),
        BlendFactor::Src1Alpha => each(&s1, &s1, |_, a| a),
        BlendFactor::OneMinusSrc1Alpha => each(&s1, &s1, |_, a| !a),
    };
    let ((cs, cd, color_op), (als, ald, alpha_op)) = (blend.color, blend.alpha);
    let (fs, fd) = (chosen(&factor(cs), &factor(als)), chosen(&factor(cd), &factor(ald)));
    let result = |op| {
        let mut out = [0; 32];
        for i in 0..32 {
            let (source, target) = (u16::from(s[i]) * u16::from(fs[i]), u16::from(d[i]) * u16::from(fd[i]));
            // Sums above 16 bits saturate, and are 255 after the division.
            let over_255 = |x: u16| {
                let x = x.saturating_add(128);
                (x.saturating_add(x >> 8) >> 8) as u8
            };
            out[i] = match op {
                BlendOp::Add => over_255(source.saturating_add(target)),
                BlendOp::Subtract => over_255(source.saturating_sub(target)),
                BlendOp::ReverseSubtract => over_255(target.saturating_sub(source)),
                BlendOp::Min => s[i].min(d[i]),
                BlendOp::Max => s[i].max(d[i]),
            };
        }
        out
    };
    let color = result(color_op);
    let texels = if color_op == alpha_op { color } else { chosen(&color, &result(alpha_op)) };
    // SAFETY: the arrays have the same size, and any bits are valid in them.
    unsafe { core::mem::transmute(texels) }
}

/// Combines each byte of `one` with the alpha byte of the same texel of `other`.
#[inline(always)]
fn each(one: &Array, other: &Array, f: impl Fn(u8, u8) -> u8) -> Array {
    let mut out = [0; 32];
    for i in 0..32 {
        out[i] = f(one[i], other[i | 3]);
    }
    out
}

/// Returns the colour bytes of one array and the alpha bytes of the other.
#[inline(always)]
fn chosen(color: &Array, alpha: &Array) -> Array {
    let mut out = *color;
    for i in 0..32 {
        out[i] = if i & 3 == 3 { alpha[i] } else { color[i] };
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn pack_avx2(v: Avx2, color: &ColorLanes<LANES>, swap: bool) -> EightTexels {
    let [r, g, b, a] = color;
    let red_green = v._mm256_packs_epi32(codes(v, r), codes(v, g));
    let blue_alpha = v._mm256_packs_epi32(codes(v, b), codes(v, a));
    let components = v._mm256_packus_epi16(red_green, blue_alpha);
    let mut texels = [0; LANES];
    v.store_256(&mut texels, v._mm256_shuffle_epi8(components, v._mm256_broadcastsi128_si256(v.load_128(order(swap)))));
    texels
}

/// Returns the shuffle that puts the bytes of four texels in order, given their components one
/// after the other.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn order(swap: bool) -> &'static [u8; 16] {
    const STRAIGHT: [u8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
    const SWAPPED: [u8; 16] = [8, 4, 0, 12, 9, 5, 1, 13, 10, 6, 2, 14, 11, 7, 3, 15];
    if swap { &SWAPPED } else { &STRAIGHT }
}

/// Returns the texels of the colours of two pairs, quad by quad.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn pack_512(v: Avx512, [r, g, b, a]: [__m512; 4], swap: bool) -> __m512i {
    let red_green = v._mm512_packs_epi32(codes_512(v, r), codes_512(v, g));
    let blue_alpha = v._mm512_packs_epi32(codes_512(v, b), codes_512(v, a));
    let components = v._mm512_packus_epi16(red_green, blue_alpha);
    v._mm512_shuffle_epi8(components, v._mm512_broadcast_i32x4(v.load_128(order(swap))))
}

/// Returns [`codes`] of two pairs.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn codes_512(v: Avx512, component: __m512) -> __m512i {
    let component = v._mm512_min_ps(v._mm512_set1_ps(1.0), component);
    v._mm512_cvtps_epi32(v._mm512_mul_ps(component, v._mm512_set1_ps(255.0)))
}

/// Returns codes of at most 255; they are negative for negative components and for not-a-number.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn codes(v: Avx2, component: &[f32; LANES]) -> __m256i {
    // The minimum of 1 and a NaN is the second operand, which the conversion turns into the least
    // integer.
    let component = v._mm256_min_ps(v._mm256_set1_ps(1.0), v._mm256_castsi256_ps(v.load_256(component)));
    v._mm256_cvtps_epi32(v._mm256_mul_ps(component, v._mm256_set1_ps(255.0)))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn blend_avx2(v: Avx2, blend: &BlendEquations, from: &BlendTexels, d: &EightTexels) -> EightTexels {
    let [s, d] = [Bytes256(v, v.load_256(&from.s)), Bytes256(v, v.load_256(d))];
    let [s1, constants] = [Bytes256(v, v.load_256(&from.s1)), Bytes256(v, v.load_256(&from.constants))];
    let Bytes256(_, new) = blended(blend, [s, d, s1, constants]);
    let mut texels = [0; LANES];
    v.store_256(&mut texels, new);
    texels
}

/// Blends texels; `v` is source, target, second source and constants.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn blended<V: ByteVector>(blend: &BlendEquations, v: [V; 4]) -> V {
    let [s, d, ..] = v;
    if *blend == COMMON[3] {
        return s.add_bytes(d);
    }
    let ((cs, cd, color_op), (als, ald, alpha_op)) = (blend.color, blend.alpha);
    let fs = joined(factor(&v, cs), factor(&v, als), cs == als);
    let fd = joined(factor(&v, cd), factor(&v, ald), cd == ald);
    joined(result(color_op, [s, fs], [d, fd]), result(alpha_op, [s, fs], [d, fd]), color_op == alpha_op)
}

/// Returns the values of a blend factor.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn factor<V: ByteVector>(&[s, d, s1, constants]: &[V; 4], factor: BlendFactor) -> V {
    let ones = s.splat(u32::MAX);
    match factor {
        BlendFactor::Zero => s.splat(0),
        BlendFactor::One => ones,
        BlendFactor::SrcColor => s,
        BlendFactor::OneMinusSrcColor => s.xor(ones),
        BlendFactor::DstColor => d,
        BlendFactor::OneMinusDstColor => d.xor(ones),
        BlendFactor::SrcAlpha => s.alpha(),
        BlendFactor::OneMinusSrcAlpha => s.alpha().xor(ones),
        BlendFactor::DstAlpha => d.alpha(),
        BlendFactor::OneMinusDstAlpha => d.alpha().xor(ones),
        BlendFactor::ConstantColor => constants,
        BlendFactor::OneMinusConstantColor => constants.xor(ones),
        BlendFactor::ConstantAlpha => constants.alpha(),
        BlendFactor::OneMinusConstantAlpha => constants.alpha().xor(ones),
        BlendFactor::SrcAlphaSaturate => s.alpha().min(d.alpha().xor(ones)).with_alpha(ones),
        BlendFactor::Src1Color => s1,
        BlendFactor::OneMinusSrc1Color => s1.xor(ones),
        BlendFactor::Src1Alpha => s1.alpha(),
        BlendFactor::OneMinusSrc1Alpha => s1.alpha().xor(ones),
    }
}

/// Returns the colour bytes of `color` and the alpha bytes of `alpha`, or `color` if both are the
/// same.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn joined<V: ByteVector>(color: V, alpha: V, same: bool) -> V {
    if same { color } else { color.with_alpha(alpha) }
}

/// Combines source and target bytes with their factors by the blend operation.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn result<V: ByteVector>(op: BlendOp, [s, fs]: [V; 2], [d, fd]: [V; 2]) -> V {
    match op {
        BlendOp::Min => s.min(d),
        BlendOp::Max => s.max(d),
        _ => {
            let low = weighted(op, [s.low(), fs.low()], [d.low(), fd.low()]);
            low.bytes(weighted(op, [s.high(), fs.high()], [d.high(), fd.high()]))
        }
    }
}

/// Combines words of 16 bits with their factors by the blend operation.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn weighted<V: ByteVector>(op: BlendOp, [s, fs]: [V; 2], [d, fd]: [V; 2]) -> V {
    let (source, target) = (s.mul(fs), d.mul(fd));
    // Sums above 16 bits saturate, and are 255 after the division.
    let x = match op {
        BlendOp::Subtract => source.sub(target),
        BlendOp::ReverseSubtract => target.sub(source),
        _ => source.add(target),
    };
    let x = x.add(x.splat(128 << 16 | 128));
    x.add(x.upper()).upper()
}
