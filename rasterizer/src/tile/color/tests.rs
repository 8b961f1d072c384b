//! Tests with random plans and quads, which compare every level and every path to a texel with
//! single pixels that are written one after the other.

use super::equation::Clamp;
use super::unorm8_blend::{self, BlendTexels, EightTexels};
use super::*;
use crate::api::Attachment;
use crate::stages::NO_SLOT;
use crate::surface::RenderSurface;
use crate::tests::Rng;
use crate::tile::shaded::{OutputAlpha, ShadedOutputs};
use base::abi::{Dim, FragmentBatch, FragmentQuad, SlotLayout};
use base::format::{Aspect, ChannelType, Format};
use base::image::ImageDesc;
use base::pixel::{
    AdvancedBlend, AdvancedBlendOp, BlendEquations, BlendFactor, BlendOp, BlendOverlap, ColorKey, ColorOp, LogicOp,
};
use test_support::guard::{Guarded, SIDES};

const WIDTH: u32 = 37;
const HEIGHT: u32 = 22;
const SLOTS: usize = 9;

/// Returns random numbers around those that packing distinguishes.
fn wild(rng: &mut Rng) -> f32 {
    const SPECIAL: &[f32] =
        &[0.0, -0.0, 1.0, 2.0, -1.0, 1e30, -1e30, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40];
    match rng.below(8) {
        0 => rng.pick(SPECIAL),
        1 | 2 => (rng.below(511) as f32 - 0.5 + rng.unit() / 4096.0) / 510.0,
        3 => rng.below(256) as f32 / 255.0,
        _ => rng.float(-0.2, 1.2),
    }
}

fn any_equations(rng: &mut Rng) -> BlendEquations {
    if rng.below(2) == 0 {
        return rng.pick(&unorm8_blend::COMMON);
    }
    let mut one = || (rng.pick(BlendFactor::ALL), rng.pick(BlendFactor::ALL), rng.pick(BlendOp::ALL));
    BlendEquations { color: one(), alpha: one() }
}

fn any_advanced(rng: &mut Rng) -> AdvancedBlend {
    AdvancedBlend {
        op: rng.pick(AdvancedBlendOp::ALL),
        src_premultiplied: rng.below(2) == 0,
        dst_premultiplied: rng.below(2) == 0,
        overlap: rng.pick(BlendOverlap::ALL),
        clamp_results: rng.below(4) == 0,
    }
}

base::multiversion! {
    unsafe fn pack_here(color: &[[f32; 8]; 4], swap: bool, texels: &mut EightTexels) {
        *texels = unorm8_blend::pack(HOST, color, swap);
    }
    unsafe fn blend_here(equations: &BlendEquations, from: &BlendTexels, d: &EightTexels, texels: &mut EightTexels) {
        *texels = unorm8_blend::blend(HOST, equations, from, d);
    }
}

#[test]
fn packing_is_that_of_the_format_table() {
    let mut rng = Rng(21);
    for round in 0..20_000 {
        let color: [[f32; 8]; 4] = core::array::from_fn(|_| core::array::from_fn(|_| wild(&mut rng)));
        let swap = round % 2 == 1;
        let format = base::format::kernels(Format::from_vk(if swap { 44 } else { 37 }).expect("a format"));
        for level in SimdLevel::all_supported() {
            let mut texels = [0; 8];
            // SAFETY: the host has the level.
            unsafe { pack_here(level)(&color, swap, &mut texels) };
            for (lane, packed) in texels.into_iter().enumerate() {
                let texel = (format.pack_one)(color.map(|c| c[lane].to_bits()));
                assert_eq!(packed.to_ne_bytes(), texel[..4], "{level:?} {color:?} {lane}");
            }
        }
    }
}

/// Evaluates the equation in double precision, on the values that the bytes represent.
fn exact(equations: &BlendEquations, [s, s1, k, d]: [[u8; 4]; 4], c: usize) -> u8 {
    let [s, s1, k, d] = [s, s1, k, d].map(|texel| texel.map(|byte| f64::from(byte) / 255.0));
    let (fs, fd, op) = if c == 3 { equations.alpha } else { equations.color };
    let factor = |factor| match factor {
        BlendFactor::SrcAlphaSaturate => [s[3].min(1.0 - d[3]), 1.0][usize::from(c == 3)],
        _ => {
            let values = [0.0, s[c], d[c], s[3], d[3], k[c], k[3]];
            let plain = |i: usize| if i.is_multiple_of(2) { values[i / 2] } else { 1.0 - values[i / 2] };
            match factor as usize {
                i @ ..=13 => plain(i),
                15 => s1[c],
                16 => 1.0 - s1[c],
                17 => s1[3],
                _ => 1.0 - s1[3],
            }
        }
    };
    let (a, b) = (s[c] * factor(fs), d[c] * factor(fd));
    let value = match op {
        BlendOp::Add => a + b,
        BlendOp::Subtract => a - b,
        BlendOp::ReverseSubtract => b - a,
        BlendOp::Min => s[c].min(d[c]),
        BlendOp::Max => s[c].max(d[c]),
    };
    (value.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8
}

#[test]
fn integers_are_the_equation_rounded_once() {
    let mut rng = Rng(22);
    for _ in 0..20_000 {
        let equations = any_equations(&mut rng);
        let mut any = || -> EightTexels { core::array::from_fn(|_| rng.next()) };
        let (from, d) = (BlendTexels { s: any(), s1: any(), constants: any() }, any());
        for level in SimdLevel::all_supported() {
            let mut blended = [0; 8];
            // SAFETY: the host has the level.
            unsafe { blend_here(level)(&equations, &from, &d, &mut blended) };
            for (i, blended) in blended.into_iter().enumerate() {
                let texels = [from.s, from.s1, from.constants, d].map(|eight| eight[i].to_le_bytes());
                let want: [u8; 4] = core::array::from_fn(|c| exact(&equations, texels, c));
                assert_eq!(blended.to_le_bytes(), want, "{level:?} {equations:?} {texels:?}");
            }
        }
    }
}

/// Tests the over operation on every product of two bytes, with every third target byte.
#[test]
fn over_is_rounded_exactly() {
    let over = unorm8_blend::COMMON[0];
    for (s, alpha) in (0..1 << 16).map(|i| (i & 255, i >> 8)) {
        for d in [0, 1, 127, 128, 254, 255, (s * 7 + alpha) & 255] {
            let source = [s | s << 8 | s << 16 | alpha << 24; 8];
            let from = BlendTexels { s: source, s1: source, constants: source };
            let sum = s * alpha + d * (255 - alpha);
            for level in SimdLevel::all_supported() {
                let mut texels = [0; 8];
                // SAFETY: the host has the level.
                unsafe { blend_here(level)(&over, &from, &[d; 8], &mut texels) };
                assert_eq!(texels[7] & 255, (2 * sum + 255) / 510, "{level:?} {s} {alpha} {d}");
            }
        }
    }
}

/// Makes a surface of random texels with a guard page after or before it.
fn surface(format: u32, samples: u32, number: usize) -> (Guarded, RenderSurface) {
    let format = Format::from_vk(format).expect("a format");
    let desc = ImageDesc { format, dim: Dim::D2, extent: [WIDTH, HEIGHT, 1], levels: 1, layers: 2, samples };
    let (guarded, image) = Guarded::image(desc, SIDES[number % 2], &mut Rng(5 + number as u64 / 2));
    let attachment = Attachment { image, format, level: 0, base_layer: 0, layers: 2, slices: false };
    (guarded, RenderSurface::new(&attachment, Aspect::Color).expect("an attachment"))
}

/// Formats of the tests: 8-bit ones (straight, swapped, packed, sRGB, signed), and others of all
/// sizes.
const FORMATS: &[u32] = &[37, 44, 51, 43, 50, 37, 44, 38, 41, 9, 16, 64, 76, 97, 100, 103, 109, 122, 98, 4, 91];

/// Returns a random source for a plan. It avoids NaNs where floats blend, because each level gives
/// a different NaN.
fn source(rng: &mut Rng, plan: &ColorPlan) -> f32 {
    let v = wild(rng);
    if plan.clamp == Clamp::None && plan.blend.is_some() && (v.is_nan() || v.abs() > 4.0) { 0.25 } else { v }
}

fn plan(rng: &mut Rng, surface: RenderSurface) -> ColorPlan {
    let op = match rng.below(8) {
        0 if surface.format.is_integer() => ColorOp::Logic(rng.pick(LogicOp::ALL)),
        0..3 => ColorOp::Store,
        _ if surface.format.is_integer() => ColorOp::Store,
        3 | 4 => ColorOp::Advanced(any_advanced(rng)),
        _ => ColorOp::Blend(any_equations(rng)),
    };
    let write_mask = if rng.below(3) == 0 { rng.below(15) as u8 + 1 } else { 15 };
    let key = ColorKey { format: surface.format, location: 0, write_mask, op };
    let mut slots = [[1, 2, 3, 4], [8, 7, 6, 5]];
    for slot in slots.iter_mut().flatten().skip(1) {
        *slot = if rng.below(12) == 0 { NO_SLOT } else { *slot };
    }
    slots[1] = if rng.below(2) == 0 { [NO_SLOT; 4] } else { slots[1] };
    ColorPlan::new(&key, surface, slots, core::array::from_fn(|_| wild(rng))).expect("a plan")
}

fn quad(x: u32, y: u32, coverage: u16) -> FragmentQuad {
    FragmentQuad { x: x as u16, y: y as u16, coverage, sample: FragmentBatch::CENTRE, primitive: core::ptr::null() }
}

/// Returns the samples of a quad's pixels that lie on the surface.
fn inside(x: u32, y: u32) -> u16 {
    let mut inside = 0;
    for p in 0..4 {
        inside |= if x + p % 2 < WIDTH && y + p / 2 < HEIGHT { 0xf << (4 * p) } else { 0 };
    }
    inside
}

/// Makes rows of quads in the first `width` columns, with gaps, in blocks and in pairs, and some of
/// them again.
fn quads(rng: &mut Rng, samples: u32, width: u32) -> Vec<FragmentQuad> {
    let full = if samples == 1 { 0x1111 } else { 0xffff };
    let mut list: Vec<FragmentQuad> = Vec::new();
    let columns = width.div_ceil(2);
    let (mut x, mut y) = (2 * rng.below(columns), 2 * rng.below(11));
    for _ in 0..1 + rng.below(64) {
        let coverage = if rng.below(4) == 0 { rng.next() as u16 } else { u16::MAX };
        list.push(quad(x, y, coverage & full & inside(x, y)));
        match rng.below(8) {
            0 => (x, y) = (2 * rng.below(columns), 2 * rng.below(11)),
            1 => {}
            _ => (x, y) = if x + 2 < width { (x + 2, y) } else { (0, (y + 2) % HEIGHT) },
        }
    }
    list
}

/// Replaces all NaNs of a float format by one. (Which NaN blending makes of other NaNs, or of
/// infinities, depends on the order of operands in machine code.)
fn with_one_nan(format: Format, bytes: &mut [u8]) {
    let float = |bits: u8| format.info().channels.iter().any(|c| c.ty == ChannelType::Sfloat && c.bits == bits);
    if float(16) {
        for half in bytes.as_chunks_mut::<2>().0 {
            let nan = u16::from_le_bytes(*half) & 0x7fff > 0x7c00;
            *half = if nan { [0xff; 2] } else { *half };
        }
    } else if float(32) {
        for word in bytes.as_chunks_mut::<4>().0 {
            *word = if f32::from_le_bytes(*word).is_nan() { [0xff; 4] } else { *word };
        }
    }
}

/// Reads the bytes of a surface.
fn texels(surface: &RenderSurface) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (layer, sample, y) in (0..2 * surface.samples * HEIGHT)
        .map(|i| (i / HEIGHT / surface.samples, i / HEIGHT % surface.samples, i % HEIGHT))
    {
        let row = surface.at(layer, sample, 0, y);
        // SAFETY: the bytes are a row of the image.
        bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(row, WIDTH as usize * surface.bytes) });
    }
    with_one_nan(surface.format, &mut bytes);
    bytes
}

#[test]
fn batches_are_their_pixels_one_by_one() {
    let mut rng = Rng(23);
    for round in 0..5000 {
        let format = FORMATS[round % FORMATS.len()];
        let samples = if rng.below(4) == 0 { 4 } else { 1 };
        let (_oracle_memory, oracle) = surface(format, samples, round);
        let plan = plan(&mut rng, oracle);
        // Without the last column, all quads lie on the surface.
        let whole = rng.below(2) == 0;
        let quads = quads(&mut rng, samples, if whole { WIDTH - 1 } else { WIDTH });
        let layout = SlotLayout::new(SLOTS, [4, 8][rng.below(2) as usize]);
        let words: Vec<u32> =
            (0..layout.words(4 * quads.len() + 8)).map(|_| source(&mut rng, &plan).to_bits()).collect();
        let outputs = ShadedOutputs { words: &words, layout, alive: &[] };
        let (alpha, layer) = ([OutputAlpha::Stage, OutputAlpha::One][usize::from(rng.below(4) == 0)], rng.below(2));
        // The expected texels are written one pixel at a time, with separate outputs in lanes of
        // four.
        for (q, quad) in quads.iter().enumerate() {
            for pixel in 0..4 {
                let mut own = Vec::new();
                let four = SlotLayout::new(SLOTS, 4);
                (0..SLOTS).for_each(|slot| own.extend_from_slice(&outputs.quad(q, slot as u16)));
                let outputs = ShadedOutputs { words: &own, layout: four, alive: &[] };
                let quads = [FragmentQuad { coverage: quad.coverage & 0xf << (4 * pixel), ..*quad }];
                let batch =
                    ShadedQuads { quads: &quads, outputs, alpha, layer, first_sample: 0, samples, whole: false };
                // SAFETY: every host has the portable level, and the quads lie on the surface.
                unsafe { plan.write_at(SimdLevel::Portable, &batch) };
            }
        }
        let want = texels(&oracle);
        for level in SimdLevel::all_supported() {
            let (_memory, surface) = surface(format, samples, round);
            let plan = ColorPlan { surface, ..plan };
            let batch = ShadedQuads { quads: &quads, outputs, alpha, layer, first_sample: 0, samples, whole };
            // SAFETY: the host has the level, and the quads lie on the surface.
            unsafe { plan.write_at(level, &batch) };
            assert!(texels(&surface) == want, "{level:?} {plan:?} {samples} samples, round {round}");
        }
    }
}

/// Compares rectangles and blocks of a colour with the quads that would have been shaded.
#[test]
fn flat_colors_are_their_quads() {
    let mut rng = Rng(24);
    let mut done = [0; 2];
    for round in 0..6000 {
        let format = FORMATS[round % FORMATS.len()];
        let (_oracle_memory, oracle) = surface(format, 1, round);
        let (_memory, surface) = surface(format, 1, round);
        let oracle_plan = plan(&mut rng, oracle);
        let plan = ColorPlan { surface, ..oracle_plan };
        let color: [f32; SLOTS] = core::array::from_fn(|_| source(&mut rng, &plan));
        let layout = SlotLayout::new(SLOTS, 8);
        let chunk: Vec<u32> = color.iter().flat_map(|c| [c.to_bits(); 8]).collect();
        let (x, y) = (rng.below(WIDTH), rng.below(HEIGHT));
        let (width, height) = (rng.below(WIDTH - x + 1), rng.below(HEIGHT - y + 1));
        let (block, rect) = (rng.below(2) == 0, [x, y, x + width, y + height]);
        let [bx, by] = [x & !3, y & !3];
        let mask = if rng.below(3) == 0 { u32::MAX } else { rng.next() };
        let covers = |x: u32, y: u32| {
            if block {
                x < WIDTH
                    && y < HEIGHT
                    && x / 4 == bx / 4
                    && y / 4 == by / 4
                    && mask >> (4 * (y & 3) + (x & 3)) & 1 != 0
            } else {
                (rect[0]..rect[2]).contains(&x) && (rect[1]..rect[3]).contains(&y)
            }
        };
        let mut list = vec![quad(0, 0, 0); 2];
        for (x, y) in (0..19 * 11).map(|i| (i % 19 * 2, i / 19 * 2)) {
            let pixel = |p: u32| u16::from(covers(x + p % 2, y + p / 2)) << (4 * p);
            list.push(quad(x, y, (0..4).fold(0, |coverage, p| coverage | pixel(p))));
        }
        let words = chunk.repeat(list.len());
        let outputs = ShadedOutputs { words: &words, layout, alive: &[] };
        let (alpha, layer) = ([OutputAlpha::Stage, OutputAlpha::One][usize::from(rng.below(4) == 0)], rng.below(2));
        let batch = ShadedQuads { quads: &list, outputs, alpha, layer, first_sample: 0, samples: 1, whole: false };
        let Some(color) = plan.flat(&batch) else { continue };
        let inside = (0..16).fold(0, |mask, i| mask | u32::from(covers(bx + i % 4, by + i / 4)) << i);
        done[usize::from(plan.blend.is_some())] += 1;
        // SAFETY: the covered pixels lie on the surface.
        unsafe {
            oracle_plan.write_batch(&batch);
            if block {
                plan.write_block(&color, layer, bx, by, inside);
            } else {
                plan.write_rect(&color, layer, x, y, width, height);
            }
        }
        assert!(texels(&surface) == texels(&oracle), "{plan:?} {color:?} {rect:?} {block}, round {round}");
    }
    assert!(done.iter().all(|&done| done > 500), "{done:?}");
}
