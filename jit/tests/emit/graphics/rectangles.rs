//! Tests of fragment stages that take rectangles and write their colours themselves. The pixels
//! must equal those from the colours of the stage's general code.

use super::*;
use base::abi::RECTANGLE_LANES;
use base::epilogue::Epilogue;
use base::pixel::{BlendEquation, BlendEquations, BlendFactor, BlendOp};
use base::random::Rng;
use base::shader::CompiledStage;
use jit::code::CodeBlob;
use jit::emit::{EmitOptions, build_with_epilogue};
use std::sync::Arc;

/// Number of texels in a row. `HEIGHT` is the number of rows.
const WIDTH: usize = 48;
const HEIGHT: usize = 12;

const FACTORS: [BlendFactor; 10] = {
    use BlendFactor::*;
    [
        Zero,
        One,
        SrcColor,
        OneMinusSrcColor,
        DstColor,
        OneMinusDstColor,
        SrcAlpha,
        OneMinusSrcAlpha,
        DstAlpha,
        OneMinusDstAlpha,
    ]
};

/// Returns a stage whose outputs are inputs of all kinds, built-ins, and values that only some
/// lanes write.
fn painter() -> Shader {
    shader(Stage::Fragment, &[Interpolation::Smooth, Interpolation::Linear, Interpolation::Flat], 5, |b| {
        let [smooth, linear, flat] = [0, 1, 2].map(|slot| input(b, slot, InterpolateAt::Default, &[], Ty::F32));
        out(b, 0, smooth);
        let x = b.builtin(Builtin::FragCoord(0), Ty::F32);
        let y = b.builtin(Builtin::FragCoord(1), Ty::F32);
        let (z, scale) = (b.builtin(Builtin::FragCoord(2), Ty::F32), b.f32(0.03));
        let place = b.binary(Binary::FAdd, x, y);
        let place = b.binary(Binary::FMul, place, scale);
        let place = b.binary(Binary::FAdd, place, z);
        out(b, 1, place);
        out(b, 2, flat);
        let zero = b.f32(0.0);
        let some = b.cmp(Cmp::FOrdLt, zero, linear);
        let point = b.builtin(Builtin::PointCoord(1), Ty::F32);
        out(b, 3, linear);
        b.if_(
            some,
            &[],
            |b| {
                out(b, 3, point);
                Term::default()
            },
            |_| Term::default(),
        );
        // No attachment uses this output.
        out(b, 4, x);
    })
}

fn code(s: &Shader, lanes: u32, epilogue: &Epilogue, tier: Tier) -> Option<CompiledStage> {
    let general = compile_tier(s, &buffers_layout(1), 8, Tier::Quick);
    let div = jit::passes::divergence(s, lanes);
    let emission =
        build_with_epilogue(s, &div, &buffers_layout(1), &EmitOptions::with_lanes(lanes), epilogue).expect("LIR")?;
    jit::emit::verify(&emission, s, &buffers_layout(1), true).unwrap_or_else(|e| panic!("{e}\n{}", emission.lir));
    jit::lir::verify(&emission.lir).expect("valid");
    let (code, tier) = jit::tier::generate(&emission.lir, tier).expect("code");
    let (frame, scratch, cpu_features) = (code.frame, emission.scratch_bytes, jit::host::cpu_features());
    let info = general.info.clone();
    let blob = CodeBlob { info: info.clone(), code: code.bytes, frame, scratch, tier, cpu_features };
    Some(CompiledStage { info, code: Arc::new(blob.load().expect("executable memory")) })
}

fn packed(color: f32) -> u8 {
    let v = if color.is_nan() { 0.0 } else { color.clamp(0.0, 1.0) };
    (v * 255.0).round_ties_even() as u8
}

/// Returns R, G, B and A of a blended texel.
fn blended(equations: &BlendEquations, s: [u8; 4], d: [u8; 4]) -> [u8; 4] {
    let component = |c: usize, (source, target, op): BlendEquation| {
        let factor = |factor| match factor {
            BlendFactor::Zero => 0,
            BlendFactor::One => 255,
            BlendFactor::SrcColor => s[c],
            BlendFactor::OneMinusSrcColor => 255 - s[c],
            BlendFactor::DstColor => d[c],
            BlendFactor::OneMinusDstColor => 255 - d[c],
            BlendFactor::SrcAlpha => s[3],
            BlendFactor::OneMinusSrcAlpha => 255 - s[3],
            BlendFactor::DstAlpha => d[3],
            BlendFactor::OneMinusDstAlpha => 255 - d[3],
            other => panic!("{other:?}"),
        };
        let p = i32::from(s[c]) * i32::from(factor(source));
        let q = i32::from(d[c]) * i32::from(factor(target));
        // The sum is rounded to the nearest. A multiple of 1/255 is never exactly in the middle.
        let rounded = |sum: i32| ((sum + 127) / 255).min(255) as u8;
        match op {
            BlendOp::Add => rounded(p + q),
            BlendOp::Subtract => rounded((p - q).max(0)),
            BlendOp::ReverseSubtract => rounded((q - p).max(0)),
            BlendOp::Min => s[c].min(d[c]),
            BlendOp::Max => s[c].max(d[c]),
        }
    };
    [0, 1, 2, 3].map(|c| component(c, if c == 3 { equations.alpha } else { equations.color }))
}

/// Writes a rectangle's pixels with the colours of the general code.
fn paint(general: &CompiledStage, env: &mut Environment, epilogue: &Epilogue, r: &Rectangle, image: &mut [[u8; 4]]) {
    // SAFETY: the primitive belongs to the test and lives longer than the rectangle.
    let primitive = unsafe { &*r.primitive };
    let mut quads = Vec::new();
    for y in (r.y0 & !1..r.y1).step_by(2) {
        for x in (r.x0 & !1..r.x1).step_by(2) {
            quads.push(FragmentQuad { x, y, coverage: 0x1111, sample: FragmentBatch::CENTRE, primitive });
        }
    }
    for part in quads.chunks(FragmentBatch::MAX_QUADS) {
        for (quad, [rows, _]) in part.iter().zip(run_stage(general, env, part, 1)) {
            for lane in 0..4u16 {
                let (x, y) = (quad.x + lane % 2, quad.y + lane / 2);
                if x < r.x0 || x >= r.x1 || y < r.y0 || y >= r.y1 {
                    continue;
                }
                let source = epilogue.slots.map(|slot| {
                    slot.map_or(0, |slot| packed(f32::from_bits(rows[usize::from(slot)][usize::from(lane)])))
                });
                let swapped = |[r, g, b, a]: [u8; 4]| if epilogue.swap { [b, g, r, a] } else { [r, g, b, a] };
                let texel = &mut image[usize::from(y) * WIDTH + usize::from(x)];
                let new = match &epilogue.blend {
                    None => source,
                    Some(equations) => blended(equations, source, swapped(*texel)),
                };
                *texel = swapped(new);
            }
        }
    }
}

fn epilogue(rng: &mut Rng) -> Epilogue {
    let equation = |rng: &mut Rng| {
        let op = rng.pick(&[
            BlendOp::Add,
            BlendOp::Add,
            BlendOp::Add,
            BlendOp::Subtract,
            BlendOp::ReverseSubtract,
            BlendOp::Min,
            BlendOp::Max,
        ]);
        (rng.pick(&FACTORS), rng.pick(&FACTORS), op)
    };
    let color = equation(rng);
    let alpha = if rng.below(2) == 0 { color } else { equation(rng) };
    const SUM: BlendEquation = (BlendFactor::One, BlendFactor::One, BlendOp::Add);
    let blend = match rng.below(6) {
        0 => None,
        1 => Some(BlendEquations { color: SUM, alpha: SUM }),
        _ => Some(BlendEquations { color, alpha }),
    };
    let slots = [0, 1, 2, 3].map(|slot| (rng.below(8) != 0).then_some(slot));
    Epilogue { swap: rng.below(2) == 0, blend, slots }
}

#[test]
fn rectangles_write_their_colours() {
    let s = painter();
    let general = compile_tier(&s, &buffers_layout(1), 8, Tier::Full);
    let mut rng = Rng(0x0ec7_a261_e000_0001);
    let mut env = Environment::new(&[vec![0; 64]], &[]);
    for round in 0..96 {
        let (epilogue, tier) = (epilogue(&mut rng), Tier::ALL[round % 3]);
        let lanes = if round % 2 == 0 { 8 } else { RECTANGLE_LANES as u32 };
        let stage = code(&s, lanes, &epilogue, tier).expect("a stage of pixels");
        let attributes: Vec<[[u32; 3]; 3]> = (0..3)
            .map(|_| {
                [0; 3].map(|_| {
                    let special = rng.below(16) == 0;
                    [0; 3].map(|_| if special { f32::NAN } else { rng.float(-0.5, 1.5) }.to_bits())
                })
            })
            .collect();
        let primitives: Vec<FragmentPrimitive> = (0..3)
            .map(|i| FragmentPrimitive {
                inv_w: [0.0, -0.0, 1.0],
                inv_w1: 1.0,
                inv_w2: 1.0,
                affine: 1,
                ..primitive(&attributes[i], round as u32 * 3 + i as u32)
            })
            .collect();
        // The last column of the tile is random. Rectangles end there, or are narrow.
        let end = (RECTANGLE_LANES as u32 + rng.below((WIDTH - RECTANGLE_LANES) as u32)) as u16;
        let rectangles: Vec<Rectangle> = (0..1 + rng.below(6))
            .map(|_| {
                let x0 = rng.below(end.into()) as u16;
                let x1 = if rng.below(4) == 0 { end } else { x0 + 1 + rng.below(u32::from(end - x0)) as u16 };
                let y0 = rng.below(HEIGHT as u32) as u16;
                let y1 = y0 + 1 + rng.below(HEIGHT as u32 - u32::from(y0)) as u16;
                Rectangle { x0, y0, x1, y1, primitive: &primitives[rng.below(3) as usize] }
            })
            .collect();
        let mut image: Vec<[u8; 4]> = (0..WIDTH * HEIGHT).map(|_| (rng.next_u64() as u32).to_le_bytes()).collect();
        let mut want = image.clone();
        for r in &rectangles {
            paint(&general, &mut env, &epilogue, r, &mut want);
        }
        let (mut scratch, mut sink) = (Aligned::new(stage.code.scratch_bytes(), 0), Aligned::new(64, 0));
        let mut batch = RectangleBatch {
            header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
            count: rectangles.len() as u32,
            end: end.into(),
            rectangles: rectangles.as_ptr(),
            target: image.as_mut_ptr().cast(),
            pitch: 4 * WIDTH as u64,
        };
        // SAFETY: the rectangles lie in the rows of the image and end before the last column.
        unsafe { stage.run(&env.context, (&raw mut batch).cast()) };
        for (i, (got, want)) in image.iter().zip(&want).enumerate() {
            assert_eq!(got, want, "{tier:?} {lanes} ({}, {}) {epilogue:?} {rectangles:?} {end}", i % WIDTH, i / WIDTH);
        }
    }
}

/// Stages whose results do not depend on the pixel alone take no rectangles.
#[test]
fn stages_that_depend_on_coverage_take_no_rectangles() {
    let epilogue = Epilogue { swap: false, blend: None, slots: [Some(0), None, None, None] };
    let made = |build: fn(&mut Builder<'_>) -> Value| {
        let s = shader(Stage::Fragment, &[Interpolation::Smooth], 1, |b| {
            let v = build(b);
            out(b, 0, v);
        });
        code(&s, 8, &epilogue, Tier::Quick).is_some()
    };
    assert!(made(|b| input(b, 0, InterpolateAt::Default, &[], Ty::F32)));
    assert!(!made(|b| input(b, 0, InterpolateAt::Centroid, &[], Ty::F32)));
    assert!(!made(|b| {
        let v = input(b, 0, InterpolateAt::Default, &[], Ty::F32);
        b.op(Op::Ddx { fine: true }, &[v], Ty::F32)
    }));
    assert!(!made(|b| b.builtin(Builtin::SamplePosition(0), Ty::F32)));
}
