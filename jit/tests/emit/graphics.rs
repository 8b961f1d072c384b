//! Tests of vertex and fragment stages: slots, partial chunks, interpolation, derivatives, helper
//! invocations, image calls.

mod rectangles;
mod sample_batching;
mod texels;

use crate::emit_common::*;
use base::abi::*;
use base::fused::FusedMulAdd;
use base::shader::{
    BindingLayout, DescriptorKind, GeometryInfo, InputPrimitive, Interpolation, OutputPrimitive, PipelineLayoutInfo,
    Slot, SlotKind, SlotType, Stage, StageSpecificInfo,
};
use jit::emit::{EmitOptions, lane_count};
use jit::ir::*;
use jit_test_support::interp;

fn slot(location: u32, interpolation: Interpolation) -> Slot {
    Slot { kind: SlotKind::User { location, component: 0, index: 0 }, ty: SlotType::Float, interpolation }
}

fn shader(stage: Stage, inputs: &[Interpolation], outputs: u32, build: impl FnOnce(&mut Builder<'_>)) -> Shader {
    let mut shader = Shader::new(stage, "test");
    shader.inputs = inputs.iter().enumerate().map(|(i, &k)| slot(i as u32, k)).collect();
    shader.outputs = (0..outputs).map(|i| slot(i, Interpolation::Smooth)).collect();
    let mut b = Builder::new(&mut shader);
    build(&mut b);
    b.finish();
    if let Err(e) = verify(&shader) {
        panic!("{e}\n{shader}");
    }
    shader
}

fn out(b: &mut Builder<'_>, slot: u32, v: Value) {
    b.inst(Op::StoreOutput(slot), &[v], &[]);
}

fn input(b: &mut Builder<'_>, slot: u32, at: InterpolateAt, args: &[Value], ty: Ty) -> Value {
    b.op(Op::LoadInput(slot, at), args, ty)
}

/// 32-byte aligned words.
fn aligned(words: &[u32]) -> Aligned {
    let mut m = Aligned::new(words.len() * 4, 0xee);
    for (to, w) in m.bytes(words.len() * 4).chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&w.to_le_bytes());
    }
    m
}

fn read(m: &mut Aligned, words: usize) -> Vec<u32> {
    m.bytes(words * 4).chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

#[test]
fn vertices() {
    let s = shader(Stage::Vertex, &[Interpolation::Smooth; 2], 5, |b| {
        let x = input(b, 0, InterpolateAt::Default, &[], Ty::F32);
        let n = input(b, 1, InterpolateAt::Default, &[], Ty::I32);
        let vertex = b.builtin(Builtin::VertexIndex, Ty::I32);
        let instance = b.builtin(Builtin::InstanceIndex, Ty::I32);
        let base = b.builtin(Builtin::BaseVertex, Ty::I32);
        let draw = b.builtin(Builtin::DrawIndex, Ty::I32);
        let double = b.binary(Binary::FAdd, x, x);
        out(b, 0, double);
        let sum = b.binary(Binary::IAdd, n, base);
        out(b, 1, sum);
        let both = b.binary(Binary::Xor, vertex, instance);
        out(b, 2, both);
        out(b, 3, draw);
        // Only some lanes write the last one.
        let two = b.u32(2);
        let some = b.cmp(Cmp::ULt, n, two);
        b.if_(
            some,
            &[],
            |b| {
                out(b, 4, vertex);
                Term::default()
            },
            |_| Term::default(),
        );
        // A side effect happens once per vertex, not for the padding.
        let buf = b.buffer(0, 0);
        let (zero, one) = (b.u32(0), b.u32(1));
        b.op(Op::Atomic(Space::Buffer, AtomicOp::Add), &[buf, zero, one], Ty::I32);
    });
    for (lanes, tier) in CONFIGURATIONS {
        for count in [1usize, 4, 7, 8, 19] {
            let stage = compile_tier(&s, &buffers_layout(1), lanes as u32, tier);
            let mut env = Environment::new(&[vec![0; 4]], &[]);
            let chunks = count.div_ceil(lanes);
            let total = chunks * lanes;
            let mut inputs = Vec::new();
            for chunk in 0..chunks {
                inputs.extend((0..lanes).map(|l| ((chunk * lanes + l) as f32 * 0.5).to_bits()));
                inputs.extend((0..lanes).map(|l| (l % 4) as u32));
            }
            let mut vertex = aligned(&(0..total as u32).map(|i| i * 3).collect::<Vec<_>>());
            let mut instance = aligned(&(0..total as u32).map(|i| i / 4).collect::<Vec<_>>());
            let mut inputs = aligned(&inputs);
            let mut outputs = aligned(&vec![7; total * 5]);
            let (mut scratch, mut sink) = (Aligned::new(stage.code.scratch_bytes(), 0), Aligned::new(64, 0));
            let mut batch = VertexBatch {
                header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
                count: count as u32,
                _pad: 0,
                vertex_index: vertex.ptr().cast(),
                instance_index: instance.ptr().cast(),
                inputs: inputs.ptr().cast(),
                outputs: outputs.ptr().cast(),
            };
            // SAFETY: the batch is laid out as the interface says.
            unsafe { stage.run(&env.context, (&raw mut batch).cast()) };
            let got = read(&mut outputs, total * 5);
            for i in 0..count {
                let (chunk, lane) = (i / lanes, i % lanes);
                let at = |slot: usize| got[(chunk * 5 + slot) * lanes + lane];
                assert_eq!(f32::from_bits(at(0)), i as f32);
                assert_eq!(at(1), (lane % 4) as u32 + 100);
                assert_eq!(at(2), (i as u32 * 3) ^ (i as u32 / 4));
                assert_eq!(at(3), 300);
                assert_eq!(at(4), if lane % 4 < 2 { i as u32 * 3 } else { 7 });
            }
            assert_eq!(env.buffer(0), (count as u32).to_le_bytes());
        }
    }
}

/// Checks vertices of primitives against the interpreter: they are read by constant and by varying
/// numbers, and made in rows, under masks and by varying numbers.
#[test]
fn vertices_of_primitives() {
    let info = GeometryInfo {
        input: InputPrimitive::Triangles,
        output: OutputPrimitive::TriangleStrip,
        max_vertices: 4,
        invocations: 3,
    };
    let mut s = Shader::new(Stage::Geometry, "test");
    s.stage_info = StageSpecificInfo::Geometry(info);
    s.inputs = (0..2).map(|i| slot(i, Interpolation::Smooth)).collect();
    s.outputs = (0..3).map(|i| slot(i, Interpolation::Smooth)).collect();
    let mut b = Builder::new(&mut s);
    let (id, invocation) = (b.builtin(Builtin::PrimitiveId, Ty::I32), b.builtin(Builtin::InvocationId, Ty::I32));
    let (zero, one, three, nine) = (b.u32(0), b.u32(1), b.u32(3), b.u32(9));
    for (row, slot) in (0..4).flat_map(|row| (0..3).map(move |slot| (row, slot))) {
        let row = b.u32(row);
        b.inst(Op::StoreVertex(slot), &[row, zero], &[]);
    }
    // Clamped to the last vertex.
    let any = b.binary(Binary::And, id, three);
    let first = b.op(Op::LoadVertex(0), &[one], Ty::F32);
    let second = b.op(Op::LoadVertex(0), &[any], Ty::I32);
    let unwritten = b.op(Op::LoadVertex(1), &[nine], Ty::I32);
    b.inst(Op::StoreVertex(0), &[zero, first], &[]);
    b.inst(Op::StoreVertex(1), &[one, second], &[]);
    let few = b.cmp(Cmp::ULt, id, three);
    b.if_(
        few,
        &[],
        |b| {
            b.inst(Op::StoreVertex(2), &[one, id], &[]);
            b.inst(Op::StoreVertex(2), &[any, invocation], &[]);
            Term::default()
        },
        |_| Term::default(),
    );
    let sum = b.binary(Binary::IAdd, any, unwritten);
    b.inst(Op::StoreVertex(1), &[any, invocation], &[]);
    // Beyond the last row: nowhere.
    b.inst(Op::StoreVertex(0), &[nine, sum], &[]);
    // Many in some lanes, which do not have them: only rows up to the most count.
    let count = b.binary(Binary::IAdd, any, invocation);
    b.inst(Op::StoreVertexCount, &[count], &[]);
    b.finish();
    verify(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));

    // What the stage before has made: 3 slots, of which the second is ours; 40 vertices.
    let before = |vertex: u32, slot: u32| vertex * 7 + slot * 1000;
    let corner = |lane: usize, vertex: usize| ((lane * 5 + vertex * 11) % 40) as u32;
    let number = |lane: usize| (lane / 3 % 5, lane % 3);
    for (lanes, tier) in CONFIGURATIONS {
        for count in [1usize, 8, 13] {
            let stage = compile_tier(&s, &buffers_layout(1), lanes as u32, tier);
            let env = Environment::new(&[vec![0; 4]], &[]);
            let (chunks, padded) = (count.div_ceil(lanes), count.next_multiple_of(lanes));
            let produced = SlotLayout::new(3, 8);
            let mut inputs = vec![0; produced.words(40)];
            (0..40).for_each(|v| (0..3).for_each(|i| inputs[produced.word(v, i)] = before(v as u32, i as u32)));
            let given = SlotLayout::new(3, lanes as u32);
            let mut vertices = vec![0; given.words(count)];
            let of = |lane: usize| lane.min(count - 1);
            for (lane, v) in (0..padded).flat_map(|lane| (0..3).map(move |v| (lane, v))) {
                vertices[given.word(lane, v)] = 4 * produced.item(corner(of(lane), v) as usize) as u32;
            }
            let ids: Vec<u32> = (0..padded).map(|lane| number(of(lane)).0 as u32).collect();
            let invocations: Vec<u32> = (0..padded).map(|lane| number(of(lane)).1 as u32).collect();
            let sources = [
                InputSource { offset: produced.slot_bytes(1) as u32, mask: u32::MAX, stride: 0 },
                InputSource::default(),
            ];
            let (mut inputs, mut vertices) = (aligned(&inputs), aligned(&vertices));
            let (mut ids_, mut invocations_) = (aligned(&ids), aligned(&invocations));
            let rows = SlotLayout::new(3, lanes as u32);
            let words = rows.words((chunks * 4 + 1) * lanes);
            let mut outputs = aligned(&vec![7; words]);
            let mut counts = aligned(&vec![99; padded]);
            let mut first_rows = aligned(&vec![99; chunks]);
            let (mut scratch, mut sink) = (Aligned::new(stage.code.scratch_bytes(), 0), Aligned::new(64, 0));
            let mut batch = PrimitiveBatch {
                header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
                count: count as u32,
                rows: 0,
                inputs: inputs.ptr().cast(),
                sources: sources.as_ptr(),
                vertices: vertices.ptr().cast(),
                primitive_id: ids_.ptr().cast(),
                invocation_id: invocations_.ptr().cast(),
                outputs: outputs.ptr().cast(),
                counts: counts.ptr().cast(),
                first_rows: first_rows.ptr().cast(),
            };
            // SAFETY: the batch is laid out as the interface says.
            unsafe { stage.run(&env.context, (&raw mut batch).cast()) };
            let builtin = |b: Builtin, lane: usize| match b {
                Builtin::PrimitiveId => u64::from(ids[lane]),
                Builtin::InvocationId => u64::from(invocations[lane]),
                other => panic!("{other:?}"),
            };
            let read_before = |slot: u32| {
                let one = move |v: usize| (0..padded).map(move |lane| before(corner(of(lane), v), slot));
                (0..3).flat_map(one).collect::<Vec<u32>>()
            };
            let group = interp::Group {
                callable: None,
                lanes: padded,
                subgroup: lanes,
                builtin: &builtin,
                inputs: vec![read_before(1), vec![0; 3 * padded]],
                budget: 10_000,
                observer: None,
            };
            let want = interp::run(&s, &mut interp::Memory::default(), &group).expect("interpreted");
            let (counts, first_rows) = (read(&mut counts, padded), read(&mut first_rows, chunks));
            let outputs = read(&mut outputs, words);
            assert_eq!(counts, want.vertices);
            let mut next = 0;
            for chunk in 0..chunks {
                assert_eq!(first_rows[chunk], next);
                let most = counts[chunk * lanes..][..lanes].iter().copied().max().unwrap_or(0).min(4);
                next += most;
                for (lane, row) in (chunk * lanes..(chunk + 1) * lanes).flat_map(|l| (0..4usize).map(move |r| (l, r))) {
                    if row as u32 >= most {
                        continue;
                    }
                    let item = (first_rows[chunk] as usize + row) * lanes + lane % lanes;
                    for (slot, want) in want.outputs.iter().enumerate() {
                        let got = outputs[rows.word(item, slot)];
                        assert_eq!(got, want[row * padded + lane], "slot {slot} row {row} lane {lane}");
                    }
                }
            }
            assert_eq!(batch.rows, next);
        }
    }
}

const POSITIONS: [[f32; 2]; 4] = [[0.375, 0.125], [0.875, 0.375], [0.125, 0.625], [0.625, 0.875]];

fn primitive(attributes: &[[u32; 3]], seed: u32) -> FragmentPrimitive {
    let f = |i: u32| (seed * 37 + i * 11) as f32 % 64.0 / 64.0 - 0.25;
    FragmentPrimitive {
        b1: [f(1) / 8.0, f(2) / 8.0, f(3)],
        b2: [f(4) / 8.0, f(5) / 8.0, f(6)],
        inv_w: [f(7) / 64.0, f(8) / 64.0, 1.5 + f(9)],
        inv_w1: 1.25 + f(10),
        inv_w2: 0.75 + f(11),
        z: [f(12), f(13), f(14)],
        origin: [2 * (seed as i32 % 5), 4 - seed as i32],
        attributes: attributes.as_ptr(),
        front_facing: seed & 1,
        primitive_id: 1000 + seed,
        layer: 10 + seed,
        viewport_index: 20 + seed,
        point_origin: [1.5, 2.5],
        point_inv_size: 0.25,
        affine: 0,
    }
}

/// Whole quads side by side from the left edge on, each of a primitive by its number.
fn row_of_quads<'a>(count: usize, y: u16, primitive: impl Fn(u16) -> &'a FragmentPrimitive) -> Vec<FragmentQuad> {
    let quad =
        |q| FragmentQuad { x: 2 * q, y, coverage: 0x1111, sample: FragmentBatch::CENTRE, primitive: primitive(q) };
    (0..count as u16).map(quad).collect()
}

/// Runs a fragment stage; `[quad][slot][lane]` and the alive bit per `[quad][lane]`.
fn run_quads(
    s: &Shader,
    env: &mut Environment,
    quads: &[FragmentQuad],
    samples: u32,
    (lanes, tier): (usize, Tier),
) -> Vec<[Vec<[u32; 4]>; 2]> {
    let layout = buffers_layout(1);
    let results = run_stage(&compile_tier(s, &layout, lanes as u32, tier), env, quads, samples);
    if lanes == 8 && lane_count::may_have_more_lanes(s, lanes as u32) {
        let options = EmitOptions { lanes: lane_count::MORE_LANES, row_lanes: lanes as u32 };
        let more = try_compile_rows(s, &layout, options, tier).unwrap_or_else(|e| panic!("{e}\n{s}"));
        assert_eq!(run_stage(&more, env, quads, samples), results, "{tier:?}\n{s}");
    }
    results
}

fn run_stage(
    stage: &base::shader::CompiledStage,
    env: &mut Environment,
    quads: &[FragmentQuad],
    samples: u32,
) -> Vec<[Vec<[u32; 4]>; 2]> {
    let lanes = stage.info.lanes as usize;
    let slots = stage.info.interface.outputs.len();
    let per = lanes / 4;
    let chunks = quads.len().div_ceil(per);
    let mut padded = quads.to_vec();
    padded.resize((chunks * per).next_multiple_of(FragmentBatch::PADDING), FragmentQuad { coverage: 0, ..quads[0] });
    let chunks = padded.len() / per;
    let mut outputs = aligned(&vec![7; chunks * slots * lanes]);
    let per_word = lanes.min(32);
    let mut alive = aligned(&vec![0xffff_ffff; chunks * lanes / per_word]);
    let (mut scratch, mut sink) = (Aligned::new(stage.code.scratch_bytes(), 0), Aligned::new(64, 0));
    let positions = FragmentBatch::positions(if samples == 1 { &[] } else { &POSITIONS });
    let mut batch = FragmentBatch {
        header: BatchHeader { scratch: scratch.ptr(), sink: sink.ptr() },
        count: quads.len() as u32,
        samples,
        quads: padded.as_ptr(),
        outputs: outputs.ptr().cast(),
        alive: alive.ptr().cast(),
        positions: &positions,
        groups: FragmentBatch::NO_GROUPS.as_ptr(),
        contained: core::ptr::null(),
        centroids: core::ptr::null(),
    };
    // SAFETY: the batch is laid out as the interface says.
    unsafe { stage.run(&env.context, (&raw mut batch).cast()) };
    let (words, alive) = (read(&mut outputs, chunks * slots * lanes), read(&mut alive, chunks * lanes / per_word));
    (0..quads.len())
        .map(|q| {
            let (chunk, group) = (q / per, q % per);
            let lane = |slot: usize, l: usize| words[(chunk * slots + slot) * lanes + group * 4 + l];
            let rows = (0..slots).map(|slot| [0, 1, 2, 3].map(|l| lane(slot, l))).collect();
            [rows, vec![[0, 1, 2, 3].map(|l| alive[q * 4 / per_word] >> (q * 4 % per_word + l) & 1)]]
        })
        .collect()
}

/// The formulas of `FragmentPrimitive`.
fn reference(p: &FragmentPrimitive, pixel: [u16; 2], inside: [f32; 2], a: [f32; 3], kind: Interpolation) -> f32 {
    let x = (i32::from(pixel[0]) - p.origin[0]) as f32 + inside[0];
    let y = (i32::from(pixel[1]) - p.origin[1]) as f32 + inside[1];
    let plane = |q: [f32; 3]| q[0].fused_mul_add(x, q[1].fused_mul_add(y, q[2]));
    let (l1, l2) = (plane(p.b1), plane(p.b2));
    let (w1, w2) = match kind {
        Interpolation::Smooth => {
            let w = 1.0 / plane(p.inv_w);
            ((l1 * p.inv_w1) * w, (l2 * p.inv_w2) * w)
        }
        _ => (l1, l2),
    };
    w2.fused_mul_add(a[2], w1.fused_mul_add(a[1], a[0]))
}

fn centroid(coverage: u16, pixel: usize, samples: u32) -> [f32; 2] {
    let bits = coverage >> (4 * pixel) & 15;
    if samples == 1 || bits == 0 || bits == 15 {
        return [0.5, 0.5];
    }
    let (mut sum, mut n) = ([0.0f32; 2], 0.0f32);
    for (s, [x, y]) in POSITIONS.into_iter().enumerate() {
        if bits >> s & 1 == 1 {
            sum[0] += x;
            sum[1] += y;
            n += 1.0;
        }
    }
    [sum[0] / n, sum[1] / n]
}

#[test]
fn interpolation_bit_for_bit() {
    use Interpolation::{Flat, Linear, Smooth};
    let s = shader(Stage::Fragment, &[Smooth, Linear, Flat], 7, |b| {
        let v = input(b, 0, InterpolateAt::Default, &[], Ty::F32);
        out(b, 0, v);
        let v = input(b, 1, InterpolateAt::Default, &[], Ty::F32);
        out(b, 1, v);
        let v = input(b, 2, InterpolateAt::Default, &[], Ty::I32);
        out(b, 2, v);
        let v = input(b, 0, InterpolateAt::Centroid, &[], Ty::F32);
        out(b, 3, v);
        let v = input(b, 0, InterpolateAt::Sample, &[], Ty::F32);
        out(b, 4, v);
        let (dx, dy) = (b.f32(0.25), b.f32(-0.125));
        let v = input(b, 0, InterpolateAt::Offset, &[dx, dy], Ty::F32);
        out(b, 5, v);
        let two = b.u32(2);
        let v = input(b, 1, InterpolateAt::AtSample, &[two], Ty::F32);
        out(b, 6, v);
    });
    let attributes: [[f32; 3]; 2] = [[0.3, -1.7, 2.25], [100.5, 0.01, -3.0]];
    let list: Vec<[u32; 3]> = attributes.iter().map(|a| a.map(f32::to_bits)).chain([[0xdead_beef, 1, 2]]).collect();
    let primitives: Vec<FragmentPrimitive> = (0..3).map(|i| primitive(&list, i)).collect();
    for samples in [1, 4] {
        let quads: Vec<FragmentQuad> = (0..7u16)
            .map(|q| FragmentQuad {
                x: q * 6,
                y: q * 2 + 4,
                coverage: if samples == 1 {
                    0x1111 & (0x1011 << q)
                } else {
                    0xf731u16.rotate_left(u32::from(q) * 4) ^ q
                },
                sample: if samples == 4 && q % 3 == 2 { q % 4 } else { FragmentBatch::CENTRE },
                primitive: &primitives[q as usize % 3],
            })
            .collect();
        for (lanes, tier) in all_configurations() {
            let mut env = Environment::new(&[vec![0; 4]], &[]);
            let got = run_quads(&s, &mut env, &quads, samples, (lanes, tier));
            for (q, [rows, alive]) in quads.iter().zip(&got) {
                assert_eq!(alive[0], [1; 4]);
                // SAFETY: the primitives outlive the quads.
                let p = unsafe { &*q.primitive };
                for lane in 0..4usize {
                    let pixel = [q.x + lane as u16 % 2, q.y + lane as u16 / 2];
                    let sample = |i: usize| POSITIONS[i];
                    let default =
                        if q.sample == FragmentBatch::CENTRE { [0.5, 0.5] } else { sample(q.sample as usize) };
                    let third = if samples == 1 { [0.5, 0.5] } else { sample(2) };
                    let expected = [
                        reference(p, pixel, default, attributes[0], Smooth),
                        reference(p, pixel, default, attributes[1], Linear),
                        f32::from_bits(0xdead_beef),
                        reference(p, pixel, centroid(q.coverage, lane, samples), attributes[0], Smooth),
                        reference(p, pixel, default, attributes[0], Smooth),
                        reference(p, pixel, [0.75, 0.375], attributes[0], Smooth),
                        reference(p, pixel, third, attributes[1], Linear),
                    ];
                    let got: Vec<u32> = rows.iter().map(|r| r[lane]).collect();
                    assert_eq!(got, expected.map(f32::to_bits), "lane {lane}, {samples} samples, {q:?}");
                }
            }
        }
    }
}

#[test]
fn fragment_builtins() {
    let list = [[[1f32.to_bits(); 3]; 1], [[2f32.to_bits(); 3]; 1]];
    let primitives = [primitive(&list[0], 3), primitive(&list[1], 4)];
    let s = shader(Stage::Fragment, &[], 14, |b| {
        for c in 0..4 {
            let v = b.builtin(Builtin::FragCoord(c), Ty::F32);
            out(b, u32::from(c), v);
        }
        for (i, builtin) in
            [Builtin::PrimitiveId, Builtin::Layer, Builtin::ViewportIndex, Builtin::SampleId, Builtin::SampleMaskIn]
                .into_iter()
                .enumerate()
        {
            let v = b.builtin(builtin, Ty::I32);
            out(b, 4 + i as u32, v);
        }
        for (i, builtin) in [Builtin::FrontFacing, Builtin::HelperInvocation].into_iter().enumerate() {
            let v = b.builtin(builtin, Ty::B1);
            let v = b.convert(Convert::BToI, v, Ty::I32);
            out(b, 9 + i as u32, v);
        }
        let v = b.builtin(Builtin::PointCoord(1), Ty::F32);
        out(b, 11, v);
        let x = b.builtin(Builtin::FragCoord(0), Ty::F32);
        let sq = b.binary(Binary::FMul, x, x);
        let d = b.op(Op::Ddx { fine: false }, &[sq], Ty::F32);
        out(b, 12, d);
        let y = b.builtin(Builtin::FragCoord(1), Ty::F32);
        let xy = b.binary(Binary::FMul, x, y);
        let d = b.op(Op::Ddy { fine: true }, &[xy], Ty::F32);
        out(b, 13, d);
    });
    let quads: Vec<FragmentQuad> = (0..5u16)
        .map(|q| FragmentQuad {
            x: 2 * q + 10,
            y: 8 * q,
            coverage: [0xffff, 0x0f10, 0x8421, 0, 0x00f0][q as usize],
            sample: [FragmentBatch::CENTRE, FragmentBatch::CENTRE, 3, FragmentBatch::CENTRE, 0][q as usize],
            primitive: &primitives[q as usize % 2],
        })
        .collect();
    for (lanes, tier) in all_configurations() {
        let mut env = Environment::new(&[vec![0; 4]], &[]);
        for (q, [rows, _]) in quads.iter().zip(run_quads(&s, &mut env, &quads, 4, (lanes, tier))) {
            // SAFETY: the primitives outlive the quads.
            let p = unsafe { &*q.primitive };
            let inside = match q.sample {
                FragmentBatch::CENTRE => [0.5, 0.5],
                s => POSITIONS[s as usize],
            };
            let (left, top) = (f32::from(q.x) + inside[0], f32::from(q.y) + inside[1]);
            for lane in 0..4u16 {
                let (x, y) = (f32::from(q.x + lane % 2) + inside[0], f32::from(q.y + lane / 2) + inside[1]);
                let (rx, ry) = (x - p.origin[0] as f32, y - p.origin[1] as f32);
                let z = p.z[0] * rx + (p.z[1] * ry + p.z[2]);
                let inv_w = p.inv_w[0].fused_mul_add(rx, p.inv_w[1].fused_mul_add(ry, p.inv_w[2]));
                let bits = u32::from(q.coverage >> (4 * lane) & 15);
                let expected = [
                    x.to_bits(),
                    y.to_bits(),
                    z.to_bits(),
                    inv_w.to_bits(),
                    p.primitive_id,
                    p.layer,
                    p.viewport_index,
                    if q.sample == FragmentBatch::CENTRE { 0 } else { u32::from(q.sample) },
                    bits,
                    p.front_facing,
                    u32::from(bits == 0),
                    ((y - 2.5) * 0.25).to_bits(),
                    ((left + 1.0) * (left + 1.0) - left * left).to_bits(),
                    (x * (top + 1.0) - x * top).to_bits(),
                ];
                for (slot, e) in expected.iter().enumerate() {
                    assert_eq!(rows[slot][lane as usize], *e, "slot {slot}, lane {lane}, {q:?}");
                }
            }
        }
    }
}

/// Checks kill and demote: alive bits, IsHelper, no side effects of helper lanes, correct
/// derivatives after a demote.
#[test]
fn demote_and_kill() {
    let list = [[0u32; 3]];
    let p = primitive(&list, 2);
    for kill in [false, true] {
        let s = shader(Stage::Fragment, &[], 3, |b| {
            let x = b.builtin(Builtin::FragCoord(0), Ty::F32);
            let limit = b.f32(12.0);
            let right = b.cmp(Cmp::FOrdLt, limit, x);
            let root = b.shader.root.label;
            b.if_(
                right,
                &[],
                |b| {
                    b.inst(Op::Demote, &[], &[]);
                    if kill { Term::Break(root, vec![]) } else { Term::default() }
                },
                |_| Term::default(),
            );
            let d = b.op(Op::Ddx { fine: true }, &[x], Ty::F32);
            out(b, 0, d);
            let helper = b.op(Op::IsHelper, &[], Ty::B1);
            let helper = b.convert(Convert::BToI, helper, Ty::I32);
            out(b, 1, helper);
            let buf = b.buffer(0, 0);
            let (zero, one) = (b.u32(0), b.u32(1));
            let old = b.op(Op::Atomic(Space::Buffer, AtomicOp::Add), &[buf, zero, one], Ty::I32);
            out(b, 2, old);
        });
        let quads: Vec<FragmentQuad> = [(8u16, 0x1111u16), (11 & !1, 0x0101), (12, 0x1111), (10, 0x1110), (6, 0)]
            .map(|(x, coverage)| FragmentQuad { x, y: 0, coverage, sample: FragmentBatch::CENTRE, primitive: &p })
            .to_vec();
        for (lanes, tier) in all_configurations() {
            let mut env = Environment::new(&[vec![0; 4]], &[]);
            let got = run_quads(&s, &mut env, &quads, 1, (lanes, tier));
            let mut effects = 0;
            for (q, [rows, alive]) in quads.iter().zip(&got) {
                for lane in 0..4u16 {
                    let demoted = f32::from(q.x + lane % 2) + 0.5 > 12.0;
                    let covered = q.coverage >> (4 * lane) & 1 == 1;
                    assert_eq!(alive[0][lane as usize], u32::from(!demoted), "kill {kill}, lane {lane}, {q:?}");
                    effects += u32::from(covered && !demoted);
                    if !kill || !demoted {
                        assert_eq!(rows[0][lane as usize], 1f32.to_bits());
                        assert_eq!(rows[1][lane as usize], u32::from(demoted || !covered));
                    }
                }
            }
            assert_eq!(env.buffer(0), effects.to_le_bytes());
        }
    }
}

/// A kernel that reports what it was asked: that of samples, or of texels.
#[base::code_fn]
unsafe extern "code" fn echo<const SAMPLE: bool>(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: called by generated code with valid pointers.
    let (view, args) = unsafe { (&*view, &mut *args) };
    let class = if sampler.is_null() {
        0
    } else {
        // SAFETY: not null.
        unsafe { (*sampler).class }
    };
    for lane in 0..MAX_LANES {
        if args.mask >> lane & 1 == 1 {
            let (x, lod) = match SAMPLE {
                true => (args.coord[0][lane], args.lod[lane]),
                false => (args.icoord[0][lane] as f32, args.level[lane] as f32),
            };
            args.result[0][lane] = x.to_bits();
            args.result[1][lane] = lod.to_bits();
            args.result[2][lane] = (view.layers as f32 * 10.0 + class as f32).to_bits();
            let offset = if SAMPLE { args.offset[1][lane] * 100 } else { 0 };
            args.result[3][lane] = ((offset + args.mask.count_ones() as i32) as f32).to_bits();
        }
    }
}

#[base::code_fn]
unsafe extern "code" fn no_pair(_: *const [*const ImageView; 2], _: *const Sampler, _: *mut ImageArgs, _: *mut bool) {}

#[base::code_fn]
unsafe extern "code" fn no_taps(_: *const ImageView, _: *mut Taps, _: u32, _: u32) {}

fn view(layers: u32) -> ImageView {
    ImageView {
        rows: TexelRows::NONE,
        kernels: {
            let mut kernels: [ImageKernel; KERNEL_COUNT] = [echo::<true>; KERNEL_COUNT];
            kernels[KERNEL_FETCH] = echo::<false>;
            kernels
        },
        pair: no_pair,
        chunks: emit_common::sample_chunks,
        taps: no_taps,
        base: 64 as *mut u8,
        size: 0,
        layer_stride: 0,
        sample_stride: 0,
        format: 0,
        dim: Dim::D2,
        arrayed: 1,
        levels: 5,
        layers,
        samples: 1,
        swizzle: [0, 1, 2, 3],
        stencil_aspect: 0,
        min_lod: 0.0,
        texels: 0,
        outside_alpha: 0,
        residency: std::ptr::null(),
        of_piece: [echo::<false>; KERNEL_SAMPLE],
        conversion: std::ptr::null(),
        level: std::array::from_fn(|i| ImageLevel {
            width: 64 >> i,
            height: 32 >> i,
            depth: 1,
            ..ImageLevel::default()
        }),
    }
}

fn sampler(class: u32) -> Sampler {
    Sampler {
        class,
        mag_filter: 0,
        min_filter: 0,
        mipmap_mode: 0,
        address_mode: [0; 3],
        lod_bias: 0.0,
        min_lod: 0.0,
        max_lod: 1.0,
        max_anisotropy: 1.0,
        compare_enable: 0,
        compare_op: 0,
        border_color: [0; 4],
        border_is_int: 0,
        unnormalized: 0,
        reduction: 0,
        non_seamless: 0,
    }
}

/// A sample of two coordinates, at the level that the neighbours' say.
const SAMPLE: SampleInfo = SampleInfo {
    op: SampleOp::Sample,
    lod_mode: LodMode::Implicit,
    coords: 2,
    dref: false,
    lod: false,
    grad: 0,
    offset: 0,
    min_lod: false,
    component: 0,
    gather_offsets: None,
};

/// [`CONFIGURATIONS`], and chunks of more lanes than their rows have.
fn with_rows_of_eight() -> impl Iterator<Item = (EmitOptions, Tier)> {
    let more = EmitOptions { lanes: lane_count::MORE_LANES, row_lanes: MAX_LANES as u32 };
    let usual = CONFIGURATIONS.into_iter().map(|(lanes, tier)| (EmitOptions::with_lanes(lanes as u32), tier));
    usual.chain(Tier::ALL.map(|tier| (more, tier)))
}

/// Samples that depend on inputs alone are taken before the loop over chunks, and have the same
/// values as in their place.
#[test]
fn early_samples() {
    use Interpolation::{Linear, Smooth};
    let (view, sampler) = (view(3), sampler(4));
    let descriptors = [ImageDescriptor { view: &view, sampler: &sampler }];
    let kind = DescriptorKind::CombinedImageSampler;
    let binding = BindingLayout { binding: 0, kind, offset: 0, count: 1, variable: false, dynamic_index: 0 };
    let layout = PipelineLayoutInfo { sets: vec![vec![binding]], heap: None };
    let s = shader(Stage::Fragment, &[Smooth, Linear], 20, |b| {
        let zero = b.u32(0);
        let image = b.op(Op::ImageDesc { set: 0, binding: 0 }, &[zero], Ty::Img);
        let sampler = b.op(Op::SamplerDesc { set: 0, binding: 0 }, &[zero], Ty::Smp);
        let explicit = SampleInfo { lod_mode: LodMode::Explicit, lod: true, ..SAMPLE };
        let texel = |b: &mut Builder<'_>, slot: u32, info: SampleInfo, args: &[Value]| {
            let args: Vec<Value> = [image, sampler].iter().chain(args).copied().collect();
            let inst = b.inst(Op::Sample(info), &args, &[Ty::F32; 4]);
            let texel: Vec<Value> = b.shader.insts[inst].results().collect();
            texel.iter().enumerate().for_each(|(i, &v)| out(b, slot + i as u32, v));
            texel[0]
        };
        let u = input(b, 0, InterpolateAt::Default, &[], Ty::F32);
        let v = input(b, 1, InterpolateAt::Default, &[], Ty::F32);
        let first = texel(b, 0, SAMPLE, &[u, v]);
        let sum = b.binary(Binary::FAdd, u, v);
        texel(b, 4, SAMPLE, &[sum, v]);
        let lod = b.f32(2.5);
        texel(b, 8, explicit, &[u, v, lod]);
        // Neither at coordinates that are sampled themselves, nor of a level that is computed.
        texel(b, 12, SAMPLE, &[first, v]);
        texel(b, 16, explicit, &[v, v, u]);
    });
    let attributes: [[f32; 3]; 2] = [[0.3, -1.7, 2.25], [100.5, 0.01, -3.0]];
    let list = attributes.map(|a| a.map(f32::to_bits));
    let primitives = [primitive(&list, 1), primitive(&list, 4)];
    for count in [1, 2, 5, FragmentBatch::MAX_QUADS] {
        let quads = row_of_quads(count, 4, |q| &primitives[usize::from(q % 3 == 0)]);
        for (options, tier) in with_rows_of_eight() {
            let mut env = Environment::new(&[], &[]);
            env.context.sets[0] = descriptors.as_ptr().cast();
            let stage = try_compile_rows(&s, &layout, options, tier).expect("code");
            let lanes = options.lanes as usize;
            CHUNKS_SAMPLED.set(0);
            let got = run_stage(&stage, &mut env, &quads, 1);
            let early = 3 * (4 * count).div_ceil(lanes) * (lanes / MAX_LANES);
            assert_eq!(CHUNKS_SAMPLED.get(), early);
            for (q, [rows, _]) in quads.iter().zip(&got) {
                // SAFETY: the primitives outlive the quads.
                let p = unsafe { &*q.primitive };
                for lane in 0..4u16 {
                    let pixel = [q.x + lane % 2, q.y + lane / 2];
                    let u = reference(p, pixel, [0.5; 2], attributes[0], Smooth);
                    let v = reference(p, pixel, [0.5; 2], attributes[1], Linear);
                    let rest = |x: f32, lod: f32| [x, lod, 34.0, lanes.min(MAX_LANES) as f32];
                    let want = [rest(u, 0.0), rest(u + v, 0.0), rest(u, 2.5), rest(u, 0.0), rest(v, u)];
                    let got: Vec<f32> = rows.iter().map(|row| f32::from_bits(row[usize::from(lane)])).collect();
                    assert_eq!(got, want.as_flattened(), "{count} quads, lane {lane}");
                }
            }
        }
    }
}

#[test]
fn image_calls() {
    let views = [view(1), view(2), view(3)];
    let samplers = [sampler(1), sampler(4)];
    let descriptors: Vec<ImageDescriptor> =
        views.iter().map(|v| ImageDescriptor { view: v, sampler: &samplers[(v.layers as usize) % 2] }).collect();
    let binding = BindingLayout {
        binding: 0,
        kind: DescriptorKind::CombinedImageSampler,
        offset: 0,
        count: 3,
        variable: false,
        dynamic_index: 0,
    };
    let layout = PipelineLayoutInfo { sets: vec![vec![binding]], heap: None };
    // Operations with all optional operands come first, or are left out. The operations behind them
    // have none of these operands, which are then zero.
    for (varying, given) in [(false, false), (false, true), (true, false), (true, true)] {
        let s = shader(Stage::Fragment, &[], 19, |b| {
            let x = b.builtin(Builtin::FragCoord(0), Ty::F32);
            let column = b.convert(Convert::FToS, x, Ty::I32);
            let (one, two) = (b.u32(1), b.u32(2));
            let index = if varying { b.binary(Binary::UMod, column, two) } else { one };
            let image = b.op(Op::ImageDesc { set: 0, binding: 0 }, &[index], Ty::Img);
            let sampler = b.op(Op::SamplerDesc { set: 0, binding: 0 }, &[index], Ty::Smp);
            let lod = b.f32(2.5);
            let info = SampleInfo { lod_mode: LodMode::Explicit, lod: true, offset: 2, ..SAMPLE };
            let texel = |b: &mut Builder<'_>, slot: u32, op: Op, args: &[Value]| {
                let inst = b.inst(op, args, &[Ty::F32; 4]);
                let texel: Vec<Value> = b.shader.insts[inst].results().collect();
                for (i, &v) in texel.iter().enumerate() {
                    out(b, slot + i as u32, v);
                }
            };
            if given {
                texel(b, 0, Op::Sample(info), &[image, sampler, x, x, lod, one, two]);
                let op = Op::ImageFetch { coords: 2, level: true, sample: false, kind: TexelKind::Unorm8 };
                texel(b, 4, op, &[image, column, one, two]);
            }
            texel(b, 11, Op::Sample(SAMPLE), &[image, sampler, x, x]);
            texel(
                b,
                15,
                Op::ImageFetch { coords: 2, level: false, sample: false, kind: TexelKind::Unorm8 },
                &[image, column, one],
            );
            for (i, query) in [ImageQuery::Width, ImageQuery::Layers, ImageQuery::Levels].into_iter().enumerate() {
                let args: &[Value] = if query == ImageQuery::Width { &[image, two] } else { &[image] };
                let v = b.op(Op::ImageQuery(query), args, Ty::I32);
                out(b, 8 + i as u32, v);
            }
        });
        let list = [[0u32; 3]];
        let p = primitive(&list, 2);
        let quads = row_of_quads(3, 0, |_| &p);
        for (lanes, tier) in all_configurations() {
            let mut env = Environment::new(&[], &[]);
            env.context.sets[0] = descriptors.as_ptr().cast();
            let stage = compile_tier(&s, &layout, lanes as u32, tier);
            for (q, [rows, _]) in quads.iter().zip(run_stage(&stage, &mut env, &quads, 1)) {
                for lane in 0..4u16 {
                    let column = q.x + lane % 2;
                    let index = if varying { usize::from(column % 2) } else { 1 };
                    let (x, tag) = (f32::from(column) + 0.5, (index as f32 + 1.0) * 10.0);
                    let class = samplers[(index + 1) % 2].class as f32;
                    let active = if varying { 1.0 } else { lanes.min(MAX_LANES) as f32 };
                    let floats = [x, 2.5, tag + class, 200.0 + active, f32::from(column), 2.0, tag, active];
                    let floats_of = |rows: &[[u32; 4]]| -> Vec<f32> {
                        rows.iter().map(|r| f32::from_bits(r[lane as usize])).collect()
                    };
                    if given {
                        assert_eq!(floats_of(&rows[..8]), floats, "varying {varying}, lane {lane}");
                    }
                    let bare = [x, 0.0, tag + class, active, f32::from(column), 0.0, tag, active];
                    assert_eq!(floats_of(&rows[11..]), bare, "varying {varying}, given {given}, lane {lane}");
                    let words: Vec<u32> = rows[8..11].iter().map(|r| r[lane as usize]).collect();
                    assert_eq!(words, [16, index as u32 + 1, 5]);
                }
            }
        }
    }
}

use crate::emit_common;
