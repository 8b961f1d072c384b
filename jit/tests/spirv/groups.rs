//! Tests of operations between invocations, and of untyped pointers: interpreter and machine code
//! of all tiers against the same computations in Rust.

use crate::emit_common::{WIDTHS, all_configurations, compile_tier, run_compiled};
use crate::spirv_common::{bytes, execute, float_bytes, words};
use base::random::XorshiftStar as Rng;
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo};
use jit::ir::{Convert, Op, Ty, eval};
use jit::passes::{PassOptions, run};
use jit::spirv::{Accept, Module, Specialization, translate};
use jit_test_support::interp::Memory;

/// Returns the layout of set 0: storage buffers, one after another.
fn layout(buffers: u32) -> PipelineLayoutInfo {
    let binding = |binding: u32| BindingLayout {
        binding,
        kind: DescriptorKind::StorageBuffer,
        offset: binding * base::abi::DESCRIPTOR_SIZE as u32,
        count: 1,
        variable: false,
        dynamic_index: 0,
    };
    PipelineLayoutInfo { sets: vec![(0..buffers).map(binding).collect()], heap: None }
}

/// Returns the buffers after a workgroup, run in every way. `any_lanes` is true if the results do
/// not depend on the number of lanes; otherwise there are as many as the specialisation says.
fn run_all_ways(name: &str, specialization: &Specialization, buffers: Vec<Vec<u8>>, any_lanes: bool) -> Vec<Vec<u8>> {
    let layout = layout(buffers.len() as u32);
    let module = Module::parse(&words(name)).expect("module");
    let accept = Accept::all_implemented();
    let shader = translate(&module, spirv_common::stage(name), "main", specialization, &layout, &accept);
    let shader = shader.unwrap_or_else(|e| panic!("{name}: {e}"));
    let shared = vec![0; shader.stage_info.workgroup().expect("a compute stage").shared_bytes as usize];
    let buffers = buffers.into_iter().enumerate().map(|(i, b)| ((0, i as u32), b)).collect();
    let memory = Memory { buffers, shared, ..Memory::default() };
    let want: Vec<Vec<u8>> = execute(&shader, &memory, specialization.subgroup_size as usize, true)
        .buffers
        .into_iter()
        .map(|b| b.1)
        .collect();
    let mut optimised = shader.clone();
    run(&mut optimised, &PassOptions { verify: true }).expect("passes");
    for shader in [&shader, &optimised] {
        let same = |lanes: usize| lanes == specialization.subgroup_size as usize;
        for (lanes, tier) in all_configurations().filter(|&(lanes, _)| any_lanes || same(lanes)) {
            let code = compile_tier(shader, &layout, lanes as u32, tier);
            assert_eq!(run_compiled(&code, &memory, [1; 3]), want, "{name}: {lanes} lanes, {tier:?}");
        }
    }
    want
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn half(x: f32) -> u16 {
    eval::eval(&Op::Convert(Convert::FToF), Ty::F32, Ty::F16, &[x.to_bits().into()]).expect("a conversion")[0] as u16
}

fn single(half: u16) -> f32 {
    eval::to_f64(Ty::F16, half.into()) as f32
}

/// Returns `n`×`n` products: C, and then every k in order.
fn product(
    n: usize,
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
    c: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    let element = |i: usize| (0..n).fold(c(i / n, i % n), |sum, k| a(i / n, k).mul_add(b(k, i % n), sum));
    (0..n * n).map(element).collect()
}

#[test]
fn cooperative_matrices() {
    let mut rng = Rng::new(1);
    // Every size of subgroups gets a round of special values.
    for (round, subgroup_size) in [0, 1, 2, 3].into_iter().zip([8; 4]).chain(WIDTHS.map(|lanes| (3, lanes))) {
        let specialization = Specialization { subgroup_size, ..Specialization::default() };
        let unit = |rng: &mut Rng| rng.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0;
        let mut f: Vec<f32> = (0..1000).map(|_| unit(&mut rng)).collect();
        let mut h: Vec<u16> = (0..160).map(|_| half(unit(&mut rng))).collect();
        if round == 3 {
            // Denormals, infinities, zeros of either sign.
            f[20..26].copy_from_slice(&[0.0, -0.0, 1e-40, -1e-40, f32::INFINITY, 1e30]);
            h[7..12].copy_from_slice(&[1, 0x8001, 0x7c00, 0x8000, 0x7bff]);
        }
        let i: Vec<i8> = (0..128).map(|_| rng.below(256) as u8 as i8).collect();
        let halves = h.iter().flat_map(|h| h.to_le_bytes()).collect();
        let buffers = vec![float_bytes(&f), halves, i.iter().map(|&i| i as u8).collect(), vec![0; 4 * 1000]];
        let out = floats(&run_all_ways("cooperative.comp", &specialization, buffers, false)[3]);
        let same = |at: usize, want: &[f32], what: &str| {
            for (n, (got, want)) in out[at..].iter().zip(want).enumerate() {
                let equal = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                assert!(equal, "{what}, element {n}: {got} and not {want}");
            }
        };
        let wide = product(16, |r, k| f[3 + 17 * r + k], |k, c| f[300 + 16 * c + k], |r, c| f[600 + 18 * r + c]);
        same(0, &wide, "floats");
        let (a, b) = (|r: usize, k: usize| single(h[8 * k + r]), |k: usize, c: usize| single(h[64 + 9 * k + c]));
        let sums = product(8, a, b, |_, _| 0.5);
        same(256, &sums, "halves");
        let rounded: Vec<f32> = sums.iter().map(|&x| single(half(x))).collect();
        same(320, &rounded, "halves of halves");
        for (part, at) in [384, 448, 512].into_iter().enumerate() {
            let element = |n: usize| {
                let dot: i64 = (0..8).map(|k| i64::from(i[n / 8 * 8 + k]) * i64::from(i[64 + n % 8 * 8 + k])).sum();
                let cut = |sum: i64| sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                let sum = match part {
                    0 => (dot + 0x7fff_ff00) as i32,
                    1 => cut(dot + 0x7fff_ff00),
                    _ => cut(dot - 0x7fff_ff00),
                };
                ((sum >> 8) + (sum & 255)) as f32
            };
            same(at, &(0..64).map(element).collect::<Vec<_>>(), "bytes");
        }
        // From this offset on, the buffer has 100 floats left.
        let d: Vec<f32> = (0..256).map(|n| -(f.get(900 + n).unwrap_or(&0.0) * 2.0 * 3.0) / 7.0 - 1.0).collect();
        let turned: Vec<f32> = (0..256).map(|n| d[n % 16 * 16 + n / 16]).collect();
        same(576, &turned, "columns");
        same(832, &d, "what is left");
        assert_eq!(out.len(), 1000);
    }
}

/// Returns the nearest number with this many bits of fraction, the even one for ties; none exceeds
/// the largest number here.
fn nearest(x: f64, fraction: i32, least: i32) -> f64 {
    let exponent = ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(least);
    let unit = 2f64.powi(exponent - fraction);
    (x / unit).round_ties_even() * unit
}

/// Checks bfloat16, E4M3 and E5M2: products as floats, and in the type of the operands, rounded
/// once.
#[test]
fn cooperative_matrices_of_small_floats() {
    let mut rng = Rng::new(3);
    for _ in 0..8 {
        let mut unit = || rng.below(1 << 24) as f32 / (1 << 22) as f32 - 2.0;
        let f: Vec<f32> = (0..192).map(|_| unit()).collect();
        let buffers = vec![float_bytes(&f), vec![0; 4 * 64 * 6]];
        let out = floats(&run_all_ways("cooperative_small.comp", &Specialization::default(), buffers, false)[1]);
        for (i, (fraction, least)) in [(7, -126), (3, -6), (2, -14)].into_iter().enumerate() {
            let small = |x: f32| nearest(f64::from(x), fraction, least) as f32;
            let (a, b) = (|r: usize, k: usize| small(f[8 * r + k]), |k: usize, c: usize| small(f[64 + 8 * c + k]));
            let wide = product(8, a, b, |r, c| f[128 + 8 * r + c]);
            let own: Vec<f32> = product(8, a, b, |r, c| small(f[128 + 8 * r + c])).into_iter().map(small).collect();
            assert_eq!(out[128 * i..][..64], wide, "{fraction} bits, as floats");
            assert_eq!(out[128 * i + 64..][..64], own, "{fraction} bits");
        }
    }
}

/// Checks SPV_NV_cooperative_matrix2 at every size of subgroups: the elements that are combined do
/// not depend on it.
#[test]
fn elements_of_cooperative_matrices() {
    let mut rng = Rng::new(8);
    for (round, subgroup_size) in (0..).zip(WIDTHS.into_iter().chain([8])) {
        let f: Vec<f32> = (0..512).map(|_| rng.below(4000) as f32 - 2000.0).collect();
        let i: Vec<i32> = (0..256).map(|_| rng.below(1 << 31) as i32).collect();
        let ints: Vec<u32> = i.iter().map(|&i| i as u32).collect();
        let specialization = Specialization { subgroup_size, ..Specialization::default() };
        let buffers = vec![float_bytes(&f), bytes(&ints), vec![0; 4 * 1408], vec![0; 4 * 3072]];
        let out = run_all_ways("cooperative2.comp", &specialization, buffers, false);
        let (got, sums) = (floats(&out[2]), words_of(&out[3]));
        let same = |at: usize, size: [usize; 2], want: &dyn Fn(usize, usize) -> f32| {
            for (row, column) in (0..size[0]).flat_map(|r| (0..size[1]).map(move |c| (r, c))) {
                let got = got[at + row * size[1] + column];
                assert_eq!(got, want(row, column), "round {round}, {at}: row {row}, column {column}");
            }
        };
        let same_sums = |at: usize, size: [usize; 2], want: &dyn Fn(usize, usize) -> i32| {
            for (row, column) in (0..size[0]).flat_map(|r| (0..size[1]).map(move |c| (r, c))) {
                let got = sums[at + row * size[1] + column] as i32;
                assert_eq!(got, want(row, column), "round {round}, sums {at}: row {row}, column {column}");
            }
        };
        let m = |r: usize, c: usize| f[16 * r + c];
        let most = |list: &mut dyn Iterator<Item = f32>| list.fold(f32::NEG_INFINITY, f32::max);
        same(0, [16, 16], &|r, c| {
            if r == c { -7.0 } else { m(r, c) * 3.0 + (16 * r + c) as f32 + f[256 + 16 * r + c] }
        });
        same(256, [8, 8], &|r, c| most(&mut (0..4).map(|n| m(2 * r + n / 2, 2 * c + n % 2))));
        same(320, [16, 16], &|r, _| most(&mut (0..16).map(|c| m(r, c))));
        same(576, [16, 16], &|_, _| most(&mut (0..256).map(|n| m(n / 16, n % 16))));
        let low_rows = |r: usize, c: usize| f[64 + 16 * r + c];
        let squares = product(8, low_rows, |k, c| low_rows(c, k), |_, _| 1.0);
        // The sum covers 16 columns.
        let rest = product(8, |r, k| low_rows(r, k + 8), |k, c| low_rows(c, k + 8), |r, c| squares[8 * r + c]);
        same(832, [8, 8], &|r, c| rest[8 * r + c]);
        same(896, [16, 16], &|r, c| m(c, r));
        same(1152, [16, 8], &|r, c| low_rows(c, r));
        same(1280, [16, 8], &|r, c| nearest(low_rows(c, r).into(), 7, -126) as f32);
        let n = |r: usize, c: usize| i[16 * r + c];
        let small = |r: usize, c: usize| i[100 + 8 * r + c];
        let sum = |list: &mut dyn Iterator<Item = i32>| list.fold(0, i32::wrapping_add);
        same_sums(0, [16, 16], &|r, c| m(r, c) as i32);
        let row = |r: usize| sum(&mut (0..16).map(|c| n(r, c)));
        let column = |c: usize| sum(&mut (0..16).map(|r| n(r, c)));
        same_sums(2944, [8, 16], &|_, r| i32::from(row(r) as i8));
        same_sums(256, [16, 8], &|r, _| row(r));
        same_sums(384, [16, 64], &|r, _| row(r));
        same_sums(1408, [8, 16], &|_, c| column(c));
        same_sums(1536, [48, 16], &|_, c| column(c));
        same_sums(2304, [8, 8], &|_, _| sum(&mut i.iter().copied()));
        let row = |r: usize| sum(&mut (0..8).map(|c| small(r, c)));
        let column = |c: usize| sum(&mut (0..8).map(|r| small(r, c)));
        same_sums(2368, [8, 8], &|r, _| row(r));
        same_sums(2432, [8, 8], &|_, c| column(c));
        same_sums(2496, [24, 8], &|_, c| column(c));
        same_sums(2688, [8, 32], &|r, _| row(r));
    }
}

#[test]
fn square_quads() {
    let out = floats(&run_all_ways("quads.comp", &Specialization::default(), vec![vec![0; 48 * 8 * 4]], true)[0]);
    let f = |x: usize, y: usize, z: usize| (x * x + 10 * y * y + 100 * z + x * y) as f32;
    for i in 0..48 {
        let (x, y, z) = (i % 6, i / 6 % 4, i / 24);
        let (left, top) = (x & !1, y & !1);
        let index = |x: usize, y: usize| (x + 6 * y + 24 * z) as f32;
        let [dx, dy] = [f(left + 1, top, z) - f(left, top, z), f(left, top + 1, z) - f(left, top, z)];
        let want = [
            f(left + 1, y, z) - f(left, y, z),
            f(x, top + 1, z) - f(x, top, z),
            dx,
            dx.abs() + dy.abs(),
            index(x ^ 1, y),
            index(x, y ^ 1),
            ((x ^ 1) + 100 * (y ^ 1)) as f32,
            (x + 10 * y + 100 * z) as f32,
        ];
        assert_eq!(out[i * 8..][..8], want, "invocation {i}");
    }
}

#[test]
fn partitions() {
    let mut rng = Rng::new(5);
    for round in 0..20 {
        let size = WIDTHS[round % WIDTHS.len()] as usize;
        let keys: Vec<[u32; 2]> = (0..64).map(|_| [rng.below(2) as u32, rng.below(3) as u32]).collect();
        let buffers = vec![bytes(&keys.concat()), vec![0; 64 * 9 * 4]];
        let specialization = Specialization { subgroup_size: size as u32, ..Specialization::default() };
        let out = words_of(&run_all_ways("partition.comp", &specialization, buffers, false)[1]);
        let takes_part = |i: &usize| ![5, 41].contains(i);
        for i in (0..64usize).filter(takes_part) {
            let (lane, first) = (i % size, i / size * size);
            let lanes = (0..size).filter(|l| takes_part(&(first + l)));
            let with: Vec<usize> = lanes.clone().filter(|&l| keys[first + l] == keys[i]).collect();
            let before = || with.iter().copied().filter(|&l| l < lane);
            let sum = before().fold(0.0, |sum, l| sum + (l as f32 + 0.5));
            let bits = |lanes: &[usize]| lanes.iter().map(|l| 1u64 << l).sum::<u64>();
            let all = bits(&with);
            let zeros = match lane {
                0..4 => bits(&lanes.filter(|&l| l < 4).collect::<Vec<_>>()),
                _ => 1 << lane,
            };
            let want = [
                all as u32,
                (all >> 32) as u32,
                with.iter().map(|&l| l as u32 + 1).sum(),
                before().chain([lane]).fold(1, |product: u32, l| product.wrapping_mul(l as u32 + 2)),
                before().map(|l| l as u32 + 1).max().unwrap_or(0),
                f32::to_bits(sum),
                u32::from(!with.contains(&3)),
                zeros as u32,
                (zeros >> 32) as u32,
            ];
            assert_eq!(out[i * 9..][..9], want, "invocation {i}, {size} lanes, {keys:?}");
        }
        assert_eq!(out[45..54], [0; 9], "invocation 5 writes nothing");
    }
}

#[test]
fn replicated_composites() {
    let buffer = || vec![bytes(&[0, 0, 0, 21])];
    let default = run_all_ways("replicated.comp", &Specialization::default(), buffer(), true);
    assert_eq!(words_of(&default[0]), [7, 5, 42, 21]);
    let other = Specialization { entries: vec![(0, 9u32.to_le_bytes().to_vec())], ..Specialization::default() };
    assert_eq!(words_of(&run_all_ways("replicated.comp", &other, buffer(), true)[0]), [7, 9, 42, 21]);
}

#[test]
fn untyped_pointers() {
    let mut rng = Rng::new(9);
    let random = |rng: &mut Rng, n: usize| (0..n).map(|_| rng.next() as u32).collect::<Vec<u32>>();
    let (input, count) = (random(&mut rng, 43), random(&mut rng, 12));
    let buffers = vec![bytes(&input), bytes(&count), vec![0; 8 * 16 * 4]];
    let after = run_all_ways("untyped.comp", &Specialization::default(), buffers, true);
    let out = words_of(&after[2]);
    let word = |i: usize| input.get(i).copied().unwrap_or(0);
    let short = |i: usize| word(i / 2) >> (16 * (i % 2)) & 0xffff;
    for lane in 0..8 {
        // Three words behind the tenth vector are out of bounds.
        let vector = |c: usize| if 4 * lane + 8 <= 40 { word(4 + 4 * lane + c) } else { 0 };
        let chosen = if lane % 2 == 1 { count[8] } else { short(4) | short(5) << 16 };
        let want = [
            vector(0),
            vector(3),
            short(2 * lane + 1),
            9,
            word(1 + 4 * lane),
            16 * lane as u32,
            0,
            0,
            word(lane),
            word(lane + 1),
            word(lane + 2),
            0,
            chosen,
            chosen.wrapping_add(lane as u32),
        ];
        assert_eq!(out[lane * 16..][..14], want, "invocation {lane}");
    }
    let counted: Vec<u32> = [count[0].wrapping_add(40)].into_iter().chain(count[1..].iter().copied()).collect();
    assert_eq!((&after[0], &after[1]), (&bytes(&input), &bytes(&counted)));
}

use crate::spirv_common;
