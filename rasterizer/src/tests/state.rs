//! Tests of depth, stencil, blending, masks, multisampling state, queries and clears.

use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

const W: u32 = 40;
const H: u32 = 37;

/// Makes a strip that covers everything at one depth.
fn full(z: f32, color: [f32; 4]) -> [V; 4] {
    [v(-1.0, -1.0, z, color), v(1.0, -1.0, z, color), v(-1.0, 1.0, z, color), v(1.0, 1.0, z, color)]
}

fn strip_state() -> DrawState {
    state(Topology::TriangleStrip, W, H)
}

fn depth_state(compare: CompareOp) -> DrawState {
    let mut s = strip_state();
    (s.pixel.depth_test, s.pixel.depth_write, s.pixel.depth_compare) = (true, true, compare);
    s
}

#[test]
fn depth_compare_and_formats() {
    let ops = [
        (CompareOp::Never, [false, false, false]),
        (CompareOp::Less, [true, false, false]),
        (CompareOp::Equal, [false, true, false]),
        (CompareOp::LessOrEqual, [true, true, false]),
        (CompareOp::Greater, [false, false, true]),
        (CompareOp::NotEqual, [true, false, true]),
        (CompareOp::GreaterOrEqual, [false, true, true]),
        (CompareOp::Always, [true, true, true]),
    ];
    for format in [D16, D32F, D24S8] {
        for (op, want) in ops {
            for (z, pass) in [0.25, 0.5, 0.75].into_iter().zip(want) {
                let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(format, W, H, 1, 1));
                let engine = Engine::new(1);
                let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
                p.clear_depth_stencil(Some(0.5), None, [0, 0, W, H], 0, 1);
                let quad = full(z, WHITE);
                p.draw(draw(depth_state(op), &quad));
                p.end();
                let hit = color.color::<f32>(W - 1, H - 1) == 1.0;
                assert_eq!(hit, pass, "{format} {op:?} {z}");
                let stored = if pass { z } else { 0.5 };
                let raw = |n: u32| (f64::from(stored) * f64::from(n) + 0.5) as u32;
                let (got, want) = match format {
                    D16 => (u32::from(depth.texel::<u16>(Aspect::Depth, 7, 9, 0, 0)), raw(0xffff)),
                    D24S8 => (depth.texel::<u32>(Aspect::Depth, 7, 9, 0, 0), raw(0xff_ffff)),
                    _ => (depth.texel::<u32>(Aspect::Depth, 7, 9, 0, 0), stored.to_bits()),
                };
                assert_eq!(got, want, "{format} {op:?} {z}");
            }
        }
    }
}

#[test]
fn stencil_counts_faces() {
    let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D24S8, W, H, 1, 1));
    let face = |pass| StencilOps { pass, depth_fail: StencilOp::Invert, ..StencilOps::PASS_AND_KEEP };
    let mut s = DrawState { front_clockwise: true, ..strip_state() };
    s.pixel.stencil_test = true;
    s.pixel.stencil = [face(StencilOp::IncrementAndWrap), face(StencilOp::Replace)];
    s.pixel_values.stencil = [StencilValues { compare_mask: 0xff, write_mask: 0xff, reference: 9 }; 2];
    let engine = Engine::new(1);
    let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
    p.clear_depth_stencil(None, Some(0x1fe), [0, 0, W, H], 0, 1);
    let quad = full(0.5, WHITE);
    // Two front-facing draws: 0xfe + 2 wraps to 0. Then the back-facing triangle replaces the
    // value.
    p.draw(draw(s.clone(), &quad));
    p.draw(draw(s.clone(), &quad));
    let back = [quad[0], quad[2], quad[1]];
    p.draw(draw(DrawState { topology: Topology::TriangleList, ..s }, &back));
    p.end();
    assert_eq!(depth.texel::<u8>(Aspect::Stencil, 1, 1, 0, 0), 9);
    assert_eq!(depth.texel::<u8>(Aspect::Stencil, W - 1, H - 1, 0, 0), 0);
}

#[test]
fn late_tests_see_the_fragment_stage() {
    // Killed pixels write neither colour nor depth.
    let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D32F, W, H, 1, 1));
    let engine = Engine::new(1);
    let occlusion = Arc::new(AtomicU64::new(0));
    let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
    p.clear_depth_stencil(Some(1.0), None, [0, 0, W, H], 0, 1);
    let quad = full(0.5, WHITE);
    let kills = fragment_stage(fs_kill, &[], FragmentInfo { kills: true, ..FragmentInfo::default() });
    let mut d = draw_with(Some(kills), depth_state(CompareOp::Less), &quad);
    d.queries.occlusion = Some(occlusion.clone());
    p.draw(d);
    // FragDepth = red = 0.25 is in front of everything.
    let near = full(0.9, [0.25; 4]);
    let flags = FragmentInfo { writes_depth: true, ..FragmentInfo::default() };
    let writes = fragment_stage(fs_depth, &[BuiltinSlot::FragDepth], flags);
    let mut s = depth_state(CompareOp::Less);
    s.scissors[0] = [0, 0, 4, 4];
    p.draw(draw_with(Some(writes), s, &near));
    p.end();
    assert_eq!(occlusion.load(Ordering::Relaxed), u64::from(W / 2 * H));
    assert_eq!((color.color::<f32>(10, 10), color.color::<f32>(11, 10)), (1.0, 0.0));
    assert_eq!(depth.texel::<f32>(Aspect::Depth, 10, 10, 0, 0), 0.5);
    assert_eq!(depth.texel::<f32>(Aspect::Depth, 11, 10, 0, 0), 1.0);
    assert_eq!(depth.texel::<f32>(Aspect::Depth, 2, 3, 0, 0), 0.25);
}

/// Tests that a target with an odd number of rows, whose quads are tested one by one, has the
/// pixels of one without its last row.
#[test]
fn late_tests_of_batches_are_those_of_quads() {
    let (w, h) = (90, 70);
    for seed in 0..60 {
        let mut rng = Rng(seed);
        let format = [D32F, D16, D24S8][rng.below(3) as usize];
        let samples = [1, 4, 2, 8, 16][rng.below(5) as usize];
        let mut one = || v(rng.float(-1.2, 1.2), rng.float(-1.2, 1.2), (rng.below(9) as f32) / 8.0, [rng.unit(); 4]);
        let vertices: Vec<V> = (0..90).map(|_| one()).collect();
        let mut state = state(Topology::TriangleList, w, h);
        state.pixel.depth_test = true;
        state.pixel.depth_write = rng.below(4) != 0;
        state.pixel.depth_compare = CompareOp::ALL[rng.below(8) as usize];
        let info = FragmentInfo { kills: true, ..FragmentInfo::default() };
        let run = |height: u32| {
            let (color, depth) = (Image::new(R32F, w, height, samples, 1), Image::new(format, w, height, samples, 1));
            let passed = Arc::new(AtomicU64::new(0));
            let mut draw = draw_with(Some(fragment_stage(fs_kill, &[], info)), state.clone(), &vertices);
            draw.queries.occlusion = Some(passed.clone());
            let engine = Engine::new(1);
            let mut pass = engine.begin_rendering(targets(&color, Some(&depth)));
            pass.clear_depth_stencil(Some(0.5), None, [0, 0, w, height], 0, 1);
            pass.draw(draw);
            pass.end();
            let mut bits = Vec::new();
            for (y, x, s) in (0..h).flat_map(|y| (0..w).flat_map(move |x| (0..samples).map(move |s| (y, x, s)))) {
                bits.push(color.texel::<u32>(Aspect::Color, x, y, s, 0));
                bits.push(match format {
                    D16 => u32::from(depth.texel::<u16>(Aspect::Depth, x, y, s, 0)),
                    _ => depth.texel::<u32>(Aspect::Depth, x, y, s, 0),
                });
            }
            (bits, passed.load(Ordering::Relaxed))
        };
        assert!(run(h) == run(h + 1), "seed {seed} {format} x{samples}");
    }
}

#[test]
fn input_attachments_are_read_before_the_own_fragment_writes() {
    let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D24S8, W, H, 1, 1));
    let mut s = strip_state();
    s.pixel.stencil_test = true;
    s.pixel.stencil = [StencilOps { pass: StencilOp::IncrementAndWrap, ..StencilOps::PASS_AND_KEEP }; 2];
    s.pixel_values.stencil = [StencilValues { compare_mask: 0xff, write_mask: 0xff, reference: 0 }; 2];
    s.scissors[0] = [0, 0, 1, 1];
    let engine = Engine::new(1);
    let quad = full(0.5, WHITE);
    // The cases are explicit early tests (or coverage after them), readers of what is written, and
    // the values that the fragment stage reads.
    let cases = [
        ([false, false, true, false], 7.0),
        ([true, false, true, false], 8.0),
        ([false, true, true, false], 8.0),
        ([false, false, false, true], 7.0),
        ([true, false, false, true], 8.0),
        ([false, false, false, false], 8.0),
    ];
    for ([early, post_depth_coverage, input_attachment, depth_stencil], seen) in cases {
        let flags = FragmentInfo {
            reads_input_attachments: input_attachment,
            early_fragment_tests: early,
            post_depth_coverage,
            ..FragmentInfo::default()
        };
        s.loops = AttachmentLoops { color: false, depth_stencil };
        let reads = fragment_stage(fs_byte, &[], flags);
        let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
        p.clear_depth_stencil(None, Some(7), [0, 0, W, H], 0, 1);
        let mut d = draw_with(Some(reads), s.clone(), &quad);
        d.context = context_with_set(depth.address(Aspect::Stencil));
        p.draw(d);
        p.end();
        assert_eq!((color.color::<f32>(0, 0), depth.texel::<u8>(Aspect::Stencil, 0, 0, 0, 0)), (seen, 8));
    }
}

#[test]
fn sample_masks_are_those_before_early_tests() {
    // The depth of the triangle crosses the attachment's between the samples of the column in the
    // middle.
    let triangle = [v(-1.0, -1.0, 0.4, WHITE), v(3.0, -1.0, 0.6, WHITE), v(-1.0, 3.0, 0.4, WHITE)];
    let crossing = 0.4 + 0.1 * (0.5 + 0.5 / W as f32);
    let mut s = strip_state();
    (s.pixel.depth_test, s.pixel.depth_compare) = (true, CompareOp::Less);
    let cases = [(true, true, false), (true, false, false), (true, false, true), (false, true, false)];
    let cases = cases.into_iter().flat_map(|case| [2, 4, 8, 16].map(|samples| (case, samples)));
    for ((reads_sample_mask, early_fragment_tests, post_depth_coverage), samples) in cases {
        let (color, depth) = (Image::new(R32F, W, H, samples, 1), Image::new(D24S8, W, H, samples, 1));
        let info =
            FragmentInfo { reads_sample_mask, early_fragment_tests, post_depth_coverage, ..FragmentInfo::default() };
        let engine = Engine::new(1);
        let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
        p.clear_depth_stencil(Some(crossing), None, [0, 0, W, H], 0, 1);
        p.draw(draw_with(Some(fragment_stage(fs_samples, &[], info)), s.clone(), &triangle));
        p.end();
        let mut partly = 0;
        for (x, y) in (0..H).flat_map(|y| (0..W).map(move |x| (x, y))) {
            let seen: Vec<f32> = (0..samples).map(|i| color.texel(Aspect::Color, x, y, i, 0)).collect();
            let passed = seen.iter().filter(|&&n| n != 0.0).count() as u32;
            partly += u32::from(!passed.is_multiple_of(samples));
            let want = if reads_sample_mask && !post_depth_coverage { samples } else { passed };
            assert!(seen.iter().all(|&n| n == 0.0 || n == want as f32), "{info:?} {x} {y} {seen:?}");
        }
        assert_eq!(partly, H, "{info:?}");
    }
}

fn factor(f: BlendFactor, s: [f32; 4], d: [f32; 4], k: [f32; 4], c: usize) -> f32 {
    let i = f as u32;
    let pick = [s[c], d[c], s[3], d[3], k[c], k[3]];
    match i {
        0 => 0.0,
        1 => 1.0,
        14 => {
            if c == 3 {
                1.0
            } else {
                s[3].min(1.0 - d[3])
            }
        }
        _ if i.is_multiple_of(2) => pick[i as usize / 2 - 1],
        _ => 1.0 - pick[i as usize / 2 - 1],
    }
}

#[test]
fn blending_matches_a_scalar_reference() {
    let mut rng = Rng(11);
    for round in 0..200 {
        let format = [RGBA8, BGRA8, RGBA32F][round % 3];
        let image = Image::new(format, 8, 8, 1, 1);
        // The factors use only one source.
        let mut any = || BlendFactor::ALL[rng.below(15) as usize];
        let factors = [any(), any(), any(), any()];
        let mut pick = |i: usize| (factors[i], factors[i + 1], BlendOp::ALL[rng.below(5) as usize]);
        let (color, alpha) = (pick(0), pick(2));
        let mut any = || [0; 4].map(|_| (rng.below(256) as f32) / 255.0);
        let (src, dst, constants) = (any(), any(), any());
        let mut s = state(Topology::TriangleStrip, 8, 8);
        let write_mask = if round % 5 == 0 { 0b1010 } else { 15 };
        s.pixel.blend[0] = BlendAttachment { write_mask, ..blending(color, alpha) };
        s.pixel_values.blend_constants = constants;
        let engine = Engine::new(1);
        let mut p = engine.begin_rendering(targets(&image, None));
        p.clear_color(0, dst.map(f32::to_bits), [0, 0, 8, 8], 0, 1);
        let quad = full(0.5, src);
        p.draw(draw(s, &quad));
        p.end();
        let want: [f32; 4] = core::array::from_fn(|c| {
            let (fs, fd, op) = if c == 3 { alpha } else { color };
            if write_mask & (1 << c) == 0 {
                return dst[c];
            }
            let (a, b) = (src[c] * factor(fs, src, dst, constants, c), dst[c] * factor(fd, src, dst, constants, c));
            match op {
                BlendOp::Add => a + b,
                BlendOp::Subtract => a - b,
                BlendOp::ReverseSubtract => b - a,
                BlendOp::Min => src[c].min(dst[c]),
                BlendOp::Max => src[c].max(dst[c]),
            }
        });
        if format == RGBA32F {
            assert_eq!(image.color::<[f32; 4]>(5, 6), want, "{color:?} {alpha:?}");
        } else {
            let mut got = image.color::<[u8; 4]>(5, 6);
            if format == BGRA8 {
                got.swap(0, 2);
            }
            let want = want.map(|v| (v.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8);
            assert_eq!(got, want, "{color:?} {alpha:?}");
        }
    }
}

/// Tests blending whose first source is undefined, and multiplied by 0.
#[test]
fn blending_with_the_second_source_alone() {
    for (format, dynamic_range) in [(RGBA8, 255.0f32), (RGBA32F, 1.0)] {
        let image = Image::new(format, 8, 8, 1, 1);
        let inputs = (0..4).map(|c| slot(user(0, c), Interpolation::Smooth)).collect();
        let second = |component| SlotKind::User { location: 0, component, index: 1 };
        let outputs = (0..4).map(|c| slot(second(c), Interpolation::Smooth)).collect();
        let interface = StageInterface { inputs, outputs, placements: Vec::new() };
        let fragment = stage(StageSpecificInfo::Fragment(FragmentInfo::default()), fs_color, 8, interface);
        let mut s = state(Topology::TriangleStrip, 8, 8);
        let color = (BlendFactor::Zero, BlendFactor::Src1Color, BlendOp::Add);
        let alpha = (BlendFactor::Zero, BlendFactor::Src1Alpha, BlendOp::Add);
        s.pixel.blend[0] = blending(color, alpha);
        let engine = Engine::new(1);
        let mut p = engine.begin_rendering(targets(&image, None));
        p.clear_color(0, [1.0f32.to_bits(); 4], [0, 0, 8, 8], 0, 1);
        let want = [1.0, 0.2, 0.4, 0.8];
        let quad = full(0.5, want);
        p.draw(draw_with(Some(fragment), s, &quad));
        p.end();
        for (x, y) in [(0, 0), (7, 7), (3, 4)] {
            let got = match format {
                RGBA8 => image.color::<[u8; 4]>(x, y).map(f32::from),
                _ => image.color::<[f32; 4]>(x, y),
            };
            assert_eq!(got, want.map(|c| c * dynamic_range), "{x}, {y}");
        }
    }
}

/// Tests that every colour attachment has two sources of its own.
#[test]
fn every_attachment_blends_with_two_sources() {
    const SLOTS: usize = 8 * base::limits::MAX_COLOR_ATTACHMENTS;
    /// Writes n / 64 to slot n.
    #[base::code_fn]
    unsafe extern "code" fn numbers(_: *const ShaderContext, batch: *mut BatchHeader) {
        // SAFETY: the rasterizer calls the stage with a `FragmentBatch`.
        unsafe {
            fragments(batch, |_, _, _| Some(core::array::from_fn::<_, SLOTS, _>(|n| (n as f32 / 64.0).to_bits())))
        };
    }
    let images: Vec<Image> =
        (0..base::limits::MAX_COLOR_ATTACHMENTS).map(|i| Image::new([RGBA32F, RGBA8][i % 2], 8, 8, 1, 1)).collect();
    let outputs =
        (0..SLOTS).map(|n| SlotKind::User { location: n as u32 / 8, component: n as u8 % 4, index: n as u8 / 4 % 2 });
    let outputs = outputs.map(|kind| slot(kind, Interpolation::Smooth)).collect();
    let inputs = (0..4).map(|c| slot(user(0, c), Interpolation::Smooth)).collect();
    let interface = StageInterface { inputs, outputs, placements: Vec::new() };
    let fragment = stage(StageSpecificInfo::Fragment(FragmentInfo::default()), numbers, 8, interface);
    let mut s = state(Topology::TriangleStrip, 8, 8);
    let both = (BlendFactor::One, BlendFactor::Src1Color, BlendOp::Add);
    let alpha = (BlendFactor::One, BlendFactor::Src1Alpha, BlendOp::Subtract);
    let mut to = targets(&images[0], None);
    for (i, image) in images.iter().enumerate() {
        s.pixel.blend[i] = blending(both, alpha);
        to.color[i] = image.attachment();
    }
    let engine = Engine::new(1);
    let mut p = engine.begin_rendering(to);
    for i in 0..images.len() {
        p.clear_color(i, [0.5f32.to_bits(); 4], [0, 0, 8, 8], 0, 1);
    }
    p.draw(draw_with(Some(fragment), s, &full(0.5, [0.0; 4])));
    p.end();
    for (i, image) in images.iter().enumerate() {
        let source = |index: usize, c: usize| (8 * i + 4 * index + c) as f32 / 64.0;
        let want: [f32; 4] = core::array::from_fn(|c| {
            if c == 3 { source(0, c) - 0.5 * source(1, c) } else { source(0, c) + 0.5 * source(1, c) }
        });
        if i % 2 == 0 {
            assert_eq!(image.color::<[f32; 4]>(5, 6), want, "attachment {i}");
        } else {
            let got = image.color::<[u8; 4]>(5, 6).map(f32::from);
            let close = |c: usize| (got[c] - want[c].clamp(0.0, 1.0) * 255.0).abs() <= 1.0;
            assert!((0..4).all(close), "attachment {i}: {got:?} {want:?}");
        }
    }
}

/// Tests that the 8-bit paths and the one through the format table give the same bits.
#[test]
fn srgb_targets_blend_in_linear_light() {
    for (format, swapped) in [(43, false), (50, true)] {
        let image = Image::new(format, 8, 8, 1, 1);
        let mut s = state(Topology::TriangleStrip, 8, 8);
        s.pixel.blend[0] = SRC_ALPHA;
        let engine = Engine::new(1);
        let mut p = engine.begin_rendering(targets(&image, None));
        p.clear_color(0, [0.2f32, 0.4, 0.6, 0.25].map(f32::to_bits), [0, 0, 8, 8], 0, 1);
        let before: [u8; 4] = image.color(4, 4);
        let quad = full(0.5, [0.9, 0.1, 0.5, 0.5]);
        p.draw(draw(s, &quad));
        p.end();
        let mut got: [u8; 4] = image.color(4, 4);
        let mut old = before.map(base::format::srgb::srgb_to_linear);
        if swapped {
            got.swap(0, 2);
            old.swap(0, 2);
        }
        let want = [0.9, 0.1, 0.5].into_iter().zip(old);
        let want = want.map(|(s, d): (f32, f32)| base::format::srgb::linear_to_srgb(s * 0.5 + d * 0.5));
        assert_eq!(got[..3], want.collect::<Vec<_>>());
        assert_eq!(got[3], (0.5 * 255.0f32 + 64.0).round_ties_even() as u8);
    }
}

#[test]
fn logic_operations_and_integer_targets() {
    let image = Image::new(RGBA8, W, H, 1, 1);
    let mut s = strip_state();
    (s.pixel.logic_op_enable, s.pixel.logic_op) = (true, LogicOp::Xor);
    let quad = full(0.5, [1.0, 0.0, 1.0, 0.0]);
    render(1, targets(&image, None), [draw(s.clone(), &quad), draw(s.clone(), &quad), draw(s, &quad)]);
    assert_eq!(image.color::<[u8; 4]>(3, 3), [255, 0, 255, 0]);
    // Bits are written to an integer target unchanged; blending does not apply.
    let image = Image::new(R32UI, W, H, 1, 1);
    let mut s = strip_state();
    s.pixel.blend[0] = ADDITIVE;
    let quad = full(0.5, [2.5; 4]);
    render(1, targets(&image, None), [draw(s, &quad)]);
    assert_eq!(image.color::<u32>(3, 3), 2.5f32.to_bits());
}

#[test]
fn sample_state() {
    let samples = |s: DrawState, fragment: CompiledStage, alpha: f32| {
        let image = Image::new(R32F, W, H, 4, 1);
        let quad = full(0.5, [1.0, 1.0, 1.0, alpha]);
        render(1, targets(&image, None), [draw_with(Some(fragment), s, &quad)]);
        [0, 1, 2, 3].map(|i| image.texel::<f32>(Aspect::Color, 20, 20, i, 0))
    };
    let plain = || fragment_stage(fs_color, &[], FragmentInfo::default());
    let mut s = strip_state();
    s.pixel_values.sample_mask = 0b1010;
    assert_eq!(samples(s, plain(), 1.0), [0.0, 1.0, 0.0, 1.0]);
    for (alpha, n) in [(0.0, 0), (0.3, 1), (0.5, 2), (0.8, 3), (1.0, 4)] {
        let mut s = strip_state();
        s.pixel.alpha_to_coverage = true;
        let got = samples(s, plain(), alpha);
        assert_eq!(got.iter().filter(|&&v| v == 1.0).count(), n, "alpha {alpha}");
    }
    let per_sample = fragment_stage(fs_sample, &[], FragmentInfo { sample_shading: true, ..FragmentInfo::default() });
    assert_eq!(samples(strip_state(), per_sample, 1.0), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn queries_count_exactly() {
    let (color, depth) = (Image::new(R32F, W, H, 4, 1), Image::new(D32F, W, H, 4, 1));
    let engine = Engine::new(2);
    let mut p = engine.begin_rendering(targets(&color, Some(&depth)));
    p.clear_depth_stencil(Some(0.5), None, [0, 0, W, H / 2], 0, 1);
    let occlusion = Arc::new(AtomicU64::new(0));
    let statistics: [Arc<Statistics>; 2] = Default::default();
    let quad = full(0.25, WHITE);
    let mut d = draw(depth_state(CompareOp::Less), &quad);
    d.queries =
        QuerySinks { occlusion: Some(occlusion.clone()), statistics: statistics.to_vec(), ..QuerySinks::default() };
    p.draw(d);
    p.end();
    // The lower part was never cleared, so its depth is 0.
    assert_eq!(occlusion.load(Ordering::Relaxed), u64::from(4 * W * (H / 2)));
    for statistics in statistics {
        let n: Vec<u64> = statistics.iter().map(|s| s.load(Ordering::Relaxed)).collect();
        assert_eq!((n[0], n[1], n[2], n[5], n[6]), (4, 2, 4, 2, 2));
        assert!(n[7] >= u64::from(W * (H / 2)));
    }
}

#[test]
fn depth_does_not_depend_on_the_scissor() {
    let triangle = [v(-1.3, -0.9, 0.11, WHITE), v(1.4, -0.3, 0.93, WHITE), v(0.1, 1.7, 0.37, WHITE)];
    let once = |scissor: [i32; 4]| {
        let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D32F, W, H, 1, 1));
        let mut s = depth_state(CompareOp::Always);
        s.topology = Topology::TriangleList;
        s.scissors[0] = scissor;
        render(1, targets(&color, Some(&depth)), [draw(s, &triangle)]);
        (0..8).map(|i| depth.texel::<u32>(Aspect::Depth, 16 + i, 18, 0, 0)).collect::<Vec<_>>()
    };
    assert_eq!(once([0, 0, W as i32, H as i32]), once([13, 17, 20, 3]));
}

#[test]
fn depth_bias_clamp_and_bounds() {
    let once = |change: &dyn Fn(&mut DrawState), z: f32| {
        let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D16, W, H, 1, 1));
        let mut s = depth_state(CompareOp::Always);
        change(&mut s);
        let quad = full(z, WHITE);
        render(1, targets(&color, Some(&depth)), [draw(s, &quad)]);
        (depth.texel::<u16>(Aspect::Depth, 5, 5, 0, 0), color.color::<f32>(5, 5))
    };
    assert_eq!(once(&|s| s.depth_bias = Some(DepthBias { constant: 2.0, ..DepthBias::default() }), 0.5).0, 32769);
    assert_eq!(
        once(&|s| s.depth_bias = Some(DepthBias { constant: 64.0, clamp: 4.0 / 65536.0, ..DepthBias::default() }), 0.5)
            .0,
        32771
    );
    assert_eq!(once(&|_| (), 1.5), (0, 0.0));
    let clamps = |s: &mut DrawState| (s.depth_clamp, s.depth_clip) = (true, false);
    assert_eq!(once(&clamps, 1.5), (0xffff, 1.0));
    let bounds = |s: &mut DrawState, min: f32| {
        (s.pixel.depth_bounds_test, s.pixel_values.depth_bounds) = (true, [min, 0.2]);
    };
    assert_eq!(once(&|s| bounds(s, 0.1), 0.5), (0, 0.0));
    assert_eq!(once(&|s| bounds(s, 0.0), 0.5).1, 1.0);
}

#[test]
fn depth_bounds_are_values_of_the_format() {
    // One half is between two values of D16, and is stored as the larger one.
    for (format, bounds, passes) in
        [(D16, [0.0, 0.5], true), (D16, [0.5, 1.0], true), (D16, [0.0, 0.499], false), (D32F, [0.5, 0.5], true)]
    {
        let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(format, W, H, 1, 1));
        let engine = Engine::new(1);
        let mut pass = engine.begin_rendering(targets(&color, Some(&depth)));
        pass.clear_depth_stencil(Some(0.5), None, [0, 0, W, H], 0, 1);
        let mut s = depth_state(CompareOp::Always);
        (s.pixel.depth_bounds_test, s.pixel_values.depth_bounds) = (true, bounds);
        pass.draw(draw(s, &full(0.25, WHITE)));
        pass.end();
        assert_eq!(color.color::<f32>(5, 5) == 1.0, passes, "{format} {bounds:?}");
    }
}

#[test]
fn depth_bias_uses_the_requested_unit() {
    let once = |format, unit: DepthBiasUnit, constant: f32| {
        let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(format, W, H, 1, 1));
        let mut s = depth_state(CompareOp::Always);
        s.depth_bias = Some(DepthBias { constant, unit, ..DepthBias::default() });
        let quad = full(0.25, WHITE);
        render(1, targets(&color, Some(&depth)), [draw(s, &quad)]);
        match format {
            D16 => f32::from(depth.texel::<u16>(Aspect::Depth, 5, 5, 0, 0)) / 65535.0,
            _ => f32::from_bits(depth.texel::<u32>(Aspect::Depth, 5, 5, 0, 0)),
        }
    };
    use DepthBiasUnit::{Format, One, Unorm};
    let unit = 2f32.powi(-24);
    assert_eq!(once(D32F, One, 0.5), 0.75);
    assert_eq!(once(D32F, Unorm, 4.0), 0.25 + 4.0 * unit);
    // The value 0.25 has the exponent -2.
    assert_eq!(once(D32F, Format, 2.0), 0.25 + 2.0 * 2f32.powi(-2 - 23));
    assert_eq!(once(D16, One, 0.75), 1.0);
    assert_eq!(once(D16, Unorm, 8.0), once(D16, Format, 8.0));
}

#[test]
fn a_viewport_may_have_any_range_of_depths() {
    let once = |range: [f32; 2], z: f32, clamp: bool| {
        let (color, depth) = (Image::new(R32F, W, H, 1, 1), Image::new(D32F, W, H, 1, 1));
        let mut s = depth_state(CompareOp::Always);
        [s.viewports[0].min_depth, s.viewports[0].max_depth] = range;
        s.depth_clamp = clamp;
        let quad = full(z, WHITE);
        render(1, targets(&color, Some(&depth)), [draw(s, &quad)]);
        f32::from_bits(depth.texel::<u32>(Aspect::Depth, 5, 5, 0, 0))
    };
    for clamp in [false, true] {
        assert_eq!(once([-1.5, 1.0], 0.0, clamp), -1.5);
        assert_eq!(once([0.0, 1.5], 1.0, clamp), 1.5);
        assert_eq!(once([3.0, -5.0], 0.5, clamp), -1.0);
        assert_eq!(once([0.0, 1.0], 0.5, clamp), 0.5);
    }
}

#[test]
fn clears_stay_inside_the_render_area() {
    let image = Image::new(RGBA8, W, H, 1, 2);
    let engine = Engine::new(1);
    let mut t = targets(&image, None);
    t.area = [4, 4, 10, 10];
    let mut p = engine.begin_rendering(t);
    p.clear_color(0, WHITE.map(f32::to_bits), [0, 0, u32::MAX, 12], 1, 9);
    let quad = full(0.5, WHITE);
    p.draw(draw(strip_state(), &quad));
    p.end();
    let get = |x, y, layer| image.texel::<u32>(Aspect::Color, x, y, 0, layer);
    assert_eq!(
        (get(4, 4, 1), get(13, 11, 1), get(13, 12, 1), get(3, 4, 1), get(14, 4, 1)),
        (u32::MAX, u32::MAX, 0, 0, 0)
    );
    assert_eq!((get(4, 4, 0), get(13, 13, 0), get(14, 13, 0), get(3, 13, 0)), (u32::MAX, u32::MAX, 0, 0));
}
