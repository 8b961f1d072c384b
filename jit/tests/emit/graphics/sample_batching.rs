//! Tests of sample batching.

use super::*;

/// Checks that samples of one view in a run without effects are one call, with any instructions
/// between them, and that each has the result that it has alone.
#[test]
fn nearby_samples_are_batched() {
    use Interpolation::{Linear, Smooth};
    let (view, sampler) = (view(3), sampler(4));
    let descriptors = [ImageDescriptor { view: &view, sampler: &sampler }];
    let kind = DescriptorKind::CombinedImageSampler;
    let binding = BindingLayout { binding: 0, kind, offset: 0, count: 1, variable: false, dynamic_index: 0 };
    let layout = PipelineLayoutInfo { sets: vec![vec![binding]], ..PipelineLayoutInfo::default() };
    let s = shader(Stage::Fragment, &[Smooth, Linear], 24, |b| {
        let zero = b.u32(0);
        let image = b.op(Op::ImageDesc { set: 0, binding: 0 }, &[zero], Ty::Img);
        let sampler = b.op(Op::SamplerDesc { set: 0, binding: 0 }, &[zero], Ty::Smp);
        let explicit = SampleInfo { lod_mode: LodMode::Explicit, lod: true, ..SAMPLE };
        let u = input(b, 0, InterpolateAt::Default, &[], Ty::F32);
        let v = input(b, 1, InterpolateAt::Default, &[], Ty::F32);
        // All lanes come here, but no analysis can prove it.
        let here = b.cmp(Cmp::FOrdEq, u, u);
        let types = [Ty::F32; 24];
        let results = b.if_(
            here,
            &types,
            |b| {
                let texel = |b: &mut Builder<'_>, info: SampleInfo, args: &[Value]| {
                    let args: Vec<Value> = [image, sampler].iter().chain(args).copied().collect();
                    let inst = b.inst(Op::Sample(info), &args, &[Ty::F32; 4]);
                    b.shader.insts[inst].results().collect::<Vec<Value>>()
                };
                let lod = b.f32(2.5);
                let first = texel(b, explicit, &[u, v, lod]);
                let sum = b.binary(Binary::FAdd, u, v);
                let second = texel(b, explicit, &[sum, v, lod]);
                // A sample at a sampled coordinate, one of another level, and two of the first
                // level at coordinates that are computed from samples.
                let dependent = texel(b, explicit, &[first[0], v, lod]);
                let other = texel(b, SAMPLE, &[v, v]);
                let difference = b.binary(Binary::FSub, u, v);
                let third = texel(b, explicit, &[difference, v, lod]);
                let product = b.binary(Binary::FMul, second[0], v);
                let fourth = texel(b, explicit, &[product, v, lod]);
                Term::Yield([first, second, dependent, other, third, fourth].concat())
            },
            |b| {
                let none = b.f32(-1.0);
                Term::Yield(vec![none; 24])
            },
        );
        results.iter().enumerate().for_each(|(i, &v)| out(b, i as u32, v));
    });
    let attributes: [[f32; 3]; 2] = [[0.3, -1.7, 2.25], [100.5, 0.01, -3.0]];
    let list = attributes.map(|a| a.map(f32::to_bits));
    let primitive = primitive(&list, 1);
    let count: usize = 5;
    let quads = row_of_quads(count, 4, |_| &primitive);
    for (options, tier) in with_rows_of_eight() {
        let mut env = Environment::new(&[], &[]);
        env.context.sets[0] = descriptors.as_ptr().cast();
        let stage = try_compile_rows(&s, &layout, options, tier).expect("code");
        let lanes = options.lanes as usize;
        CHUNKS_SAMPLED.set(0);
        let got = run_stage(&stage, &mut env, &quads, 1);
        // One call has the first, second and third sample, another the dependent one with the
        // fourth.
        let sample_batching = 5 * (4 * count).div_ceil(lanes) * (lanes / MAX_LANES);
        assert_eq!(CHUNKS_SAMPLED.get(), sample_batching, "{lanes} lanes, {tier:?}");
        for (q, [rows, _]) in quads.iter().zip(&got) {
            for lane in 0..4u16 {
                let pixel = [q.x + lane % 2, q.y + lane / 2];
                let u = reference(&primitive, pixel, [0.5; 2], attributes[0], Smooth);
                let v = reference(&primitive, pixel, [0.5; 2], attributes[1], Linear);
                let rest = |x: f32, lod: f32| [x, lod, 34.0, lanes.min(MAX_LANES) as f32];
                let want = [
                    rest(u, 2.5),
                    rest(u + v, 2.5),
                    rest(u, 2.5),
                    rest(v, 0.0),
                    rest(u - v, 2.5),
                    rest((u + v) * v, 2.5),
                ];
                let got: Vec<f32> = rows.iter().map(|row| f32::from_bits(row[usize::from(lane)])).collect();
                assert_eq!(got, want.as_flattened(), "{lanes} lanes, {tier:?}, lane {lane}");
            }
        }
    }
}
