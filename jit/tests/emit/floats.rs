//! Tests of every operation on floats of 16 and 64 bits: generated code, behind all passes, against
//! the interpreter on the IR that the front end makes. Conversions between halves and words are
//! exact.

use crate::emit_common::*;
use base::random::XorshiftStar;
use jit::ir::*;
use jit::passes::{self, PassOptions};
use jit_test_support::interp::{Memory, run_workgroup};

/// Number of invocations, in workgroups of [`LOCAL`].
const ALL: u32 = 1024;
const LOCAL: u32 = 64;

/// Returns a value of the type for an invocation: a special value in half of the cases, and often a
/// number near 1.
fn sample(random: &mut XorshiftStar, ty: Ty) -> u64 {
    let special = random.chance(50);
    let sign = random.below(2) as u64;
    match ty {
        Ty::B1 => sign,
        Ty::F16 => {
            let bits = match random.below(3) {
                0 => random.pick(&[0u16, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00]),
                1 => 0x3000 + random.below(0x1800) as u16,
                _ => random.next() as u16 & 0x7fff,
            };
            u64::from(bits) | sign << 15
        }
        Ty::F32 => {
            let bits = match random.below(4) {
                0 => random.pick(&[0u32, 1, 0x80_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000]),
                // Numbers near the boundaries of halves, and denormal halves.
                1 => (0x3280_0000 + (random.below(0x1600) as u32) * 0x1_0000) & !0xfff | random.below(3) as u32,
                2 => (0x3f00_0000 + random.below(0x80_0000) as u32) & !0xfff | random.below(3) as u32,
                _ => random.next() as u32 & 0x7fff_ffff,
            };
            u64::from(bits) | sign << 31
        }
        Ty::F64 => {
            let bits = match random.below(5) {
                0 => random.pick(&[
                    0u64,
                    1,
                    1 << 52,
                    0x3ff0_0000_0000_0000,
                    0x7fef_ffff_ffff_ffff,
                    0x7ff0_0000_0000_0000,
                ]),
                // Numbers near the boundaries of narrower floats.
                1 => {
                    (f64::from(random.next() as f32) / 1e4).to_bits().wrapping_add(random.below(3) as u64) & !(1 << 63)
                }
                2 => {
                    let half = sample(random, Ty::F16) & 0x7fff;
                    let half = eval::to_f64(Ty::F16, half) + eval::to_f64(Ty::F16, half + 1);
                    (half / 2.0).to_bits().wrapping_add(random.below(3) as u64).wrapping_sub(1) & !(1 << 63)
                }
                3 => (random.below(5000) as f64 / 64.0).to_bits(),
                _ => random.next() & !(1 << 63),
            };
            bits | sign << 63
        }
        Ty::I64 if special => {
            random.pick(&[0, 1, 2048, 2049, 65519, 65520, 1 << 24 | 1, u64::MAX, 1 << 63, i64::MAX as u64])
        }
        Ty::I64 => random.next() >> random.below(64),
        _ if special => {
            random.pick(&[0, 1, 10, 24, 2200, 65519, 65520, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff, 0xffff_fff0])
        }
        _ => u64::from(random.next() as u32 >> random.below(32)),
    }
}

/// Returns the type that a value has in memory.
fn stored(ty: Ty) -> Ty {
    match ty {
        Ty::F16 => Ty::F32,
        Ty::B1 => Ty::I32,
        ty => ty,
    }
}

fn element(b: &mut Builder<'_>, ty: Ty) -> Value {
    let id = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
    let bytes = b.u32(ty.bytes());
    b.binary(Binary::IMul, id, bytes)
}

fn load(b: &mut Builder<'_>, binding: u32, ty: Ty) -> Value {
    let (buffer, at) = (b.buffer(0, binding), element(b, stored(ty)));
    let value = b.load(buffer, at, stored(ty));
    match ty {
        Ty::F16 => b.convert(Convert::FToF, value, ty),
        Ty::B1 => {
            let zero = b.u32(0);
            b.cmp(Cmp::INe, value, zero)
        }
        _ => value,
    }
}

fn store(b: &mut Builder<'_>, binding: u32, value: Value) {
    let ty = b.shader.ty(value);
    let value = match ty {
        Ty::F16 => b.convert(Convert::FToF, value, Ty::F32),
        Ty::B1 => b.convert(Convert::BToI, value, Ty::I32),
        _ => value,
    };
    let (buffer, at) = (b.buffer(0, binding), element(b, stored(ty)));
    b.store(buffer, at, value);
}

/// Returns the bytes that a value has in memory.
fn bytes(ty: Ty, bits: u64) -> Vec<u8> {
    let bits = if ty == Ty::F16 { u64::from((eval::to_f64(ty, bits) as f32).to_bits()) } else { bits };
    bits.to_le_bytes()[..stored(ty).bytes() as usize].to_vec()
}

/// Returns a program that applies an operation to every invocation's own operands, and buffers for
/// them and the results.
fn program(op: &Op, args: &[Ty], results: &[Ty], float: FloatFlags, seed: u64) -> (Shader, Memory) {
    let shader = shader([LOCAL, 1, 1], |b| {
        let operands: Vec<Value> = (0..).zip(args).map(|(i, &ty)| load(b, i, ty)).collect();
        b.float = FloatFlags::NO_CONTRACTION | float;
        let inst = b.inst(op.clone(), &operands, results);
        b.float = FloatFlags::NO_CONTRACTION;
        let values: Vec<Value> = b.shader.insts[inst].results().collect();
        (args.len() as u32..).zip(values).for_each(|(i, value)| store(b, i, value));
    });
    let mut random = XorshiftStar::new(seed);
    let inputs = args.iter().map(|&ty| (0..ALL).flat_map(|_| bytes(ty, sample(&mut random, ty))).collect());
    let outputs = results.iter().map(|&ty| vec![0; (ALL * stored(ty).bytes()) as usize]);
    (shader, memory(inputs.chain(outputs).collect()))
}

/// Returns true if two stored values are equal; all NaNs are.
fn same(ty: Ty, a: &[u8], b: &[u8]) -> bool {
    let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    a == b || (ty.is_float() && eval::is_nan(stored(ty), bits(a)) && eval::is_nan(stored(ty), bits(b)))
}

fn check(op: &Op, args: &[Ty], results: &[Ty], seed: u64) {
    check_under(op, args, results, FloatFlags::NONE, seed);
}

fn check_under(op: &Op, args: &[Ty], results: &[Ty], float: FloatFlags, seed: u64) {
    let (shader, memory) = program(op, args, results, float, seed);
    let mut want = memory.clone();
    let groups = [ALL / LOCAL, 1, 1];
    for group in 0..groups[0] {
        run_workgroup(&shader, &mut want, [group, 0, 0], groups, 8, None).unwrap_or_else(|e| panic!("{op:?}: {e:?}"));
    }
    let mut lowered = shader.clone();
    passes::run(&mut lowered, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{op:?} {args:?}: {e}"));
    for lanes in WIDTHS {
        let got = run_memory(&lowered, &memory, lanes, groups);
        for (i, &ty) in (args.len()..).zip(results) {
            let size = stored(ty).bytes() as usize;
            let lists = want.buffers[i].1.chunks(size).zip(got[i].chunks(size));
            for (id, (want, got)) in lists.enumerate() {
                let operands: Vec<&[u8]> = (0..)
                    .zip(args)
                    .map(|(i, &ty): (usize, _)| {
                        let size = stored(ty).bytes() as usize;
                        &memory.buffers[i].1[id * size..][..size]
                    })
                    .collect();
                assert!(
                    same(ty, want, got),
                    "{op:?}{float} {args:?} -> {results:?} of {operands:x?}: {got:x?} not {want:x?}\n{lowered}"
                );
            }
        }
    }
}

#[test]
fn every_operation_on_floats_has_the_bits_of_its_meaning() {
    const HELD: [Ty; 6] = [Ty::B1, Ty::I32, Ty::I64, Ty::F16, Ty::F32, Ty::F64];
    let mut tried = 0;
    for op in Op::examples().into_iter().filter(|op| op.info().meaning == Meaning::Exact) {
        for (args, results) in op.info().signature.instances() {
            let all = || args.iter().chain(&results);
            let wanted = all().any(|ty| matches!(ty, Ty::F16 | Ty::F64)) && all().all(|ty| HELD.contains(ty));
            if wanted && !args.is_empty() {
                check(&op, &args, &results, tried);
                tried += 1;
            }
        }
    }
    // 10 unary operations, 8 binary ones, 8 comparisons, conversions, fused multiply-add,
    // selection, exponents.
    assert!(tried >= 80, "{tried}");
}

/// Checks that a transcendental function of constants has the bits of the function of the same
/// numbers in a buffer, on every tier: folding takes the steps of generated code. Expansions for
/// known exponents (`passes::math::half_exponent`) apply in both cases.
#[test]
fn functions_of_constants_have_the_bits_of_functions_of_buffers() {
    const SAMPLES: u32 = 12;
    let (mut tried, mut folded) = (0, 0);
    for op in Op::examples().into_iter().filter(|op| op.info().meaning == Meaning::Expanded) {
        for (args, results) in op.info().signature.instances() {
            let ty = results[0];
            if ty == Ty::F64 && op != Op::Unary(Unary::InverseSqrt) {
                continue;
            }
            let mut random = XorshiftStar::new(9000 + tried);
            // Every other number is one for which functions have a result.
            let mut number = |i: u32| match (i % 2, ty) {
                (0, _) => sample(&mut random, ty),
                (_, Ty::F16) => 0x2c00 + random.below(0x1800) as u64,
                (_, Ty::F64) => (random.below(9000) as f64 / 512.0).to_bits(),
                _ => u64::from((random.below(9000) as f32 / 512.0).to_bits()),
            };
            let power = op == Op::Binary(Binary::Pow);
            let rows: Vec<Vec<u64>> = (0..SAMPLES).map(|i| args.iter().map(|_| number(i)).collect()).collect();
            let write = |known: &dyn Fn(usize, u64) -> bool| {
                let shader = shader([1; 3], |b| {
                    for (i, row) in (0..).zip(&rows) {
                        let at = b.u32(i * stored(ty).bytes());
                        let operands: Vec<Value> = (0..)
                            .zip(row)
                            .map(|(n, &bits): (usize, _)| {
                                if known(n, bits) {
                                    return b.constant(ty, bits);
                                }
                                let buffer = b.buffer(0, n as u32);
                                let value = b.load(buffer, at, stored(ty));
                                if ty == Ty::F16 { b.convert(Convert::FToF, value, ty) } else { value }
                            })
                            .collect();
                        let inst = b.inst(op.clone(), &operands, &results);
                        let value = b.shader.insts[inst].result();
                        let value = if ty == Ty::F16 { b.convert(Convert::FToF, value, Ty::F32) } else { value };
                        let buffer = b.buffer(0, args.len() as u32);
                        b.store(buffer, at, value);
                    }
                });
                let mut shader = shader;
                passes::run(&mut shader, &PassOptions { verify: true }).unwrap_or_else(|e| panic!("{op:?}: {e}"));
                shader
            };
            let in_binary32 = |bits| eval::to_f64(ty, bits) as f32;
            let known = |n, bits| power && n == 1 && passes::math::half_exponent(in_binary32(bits)).is_some();
            let inputs = (0..args.len()).map(|n| rows.iter().flat_map(|row| bytes(ty, row[n])).collect());
            let memory = memory(inputs.chain([vec![0; (SAMPLES * stored(ty).bytes()) as usize]]).collect());
            let (constants, buffers) = (write(&|_, _| true), write(&known));
            let (got, want) = (run_memory(&constants, &memory, 8, [1; 3]), run_memory(&buffers, &memory, 8, [1; 3]));
            assert_eq!(got[args.len()], want[args.len()], "{op:?} of {rows:x?}\n{constants}\n{buffers}");
            let stores = constants.insts.values().filter(|data| matches!(data.op, Op::Store(..)));
            folded += stores.filter(|data| data.args.last().is_some_and(|&v| constants.as_const(v).is_some())).count();
            tried += 1;
        }
    }
    // 19 functions of 16 and 32 bits, and the root of 64 bits.
    assert_eq!(tried, 39);
    eprintln!("{folded} of {} folded", tried * u64::from(SAMPLES));
    assert!(folded > 250, "{folded}");
}

/// Checks that a fused multiply-add of halves rounds once, because rounding twice is wrong if the
/// sum is close to a boundary.
#[test]
fn fused_halves_round_once() {
    let bits = |x: f64| eval::eval(&Op::Convert(Convert::FToF), Ty::F64, Ty::F16, &[x.to_bits()]).expect("a half")[0];
    // 2049 is between two halves, and binary32 has no number as close to it as the smallest half is
    // to zero.
    let least = 1.0 / 16_777_216.0;
    for (a, b, c, want) in [(3.0, 683.0, least, 2050.0), (3.0, 683.0, -least, 2048.0), (-3.0, 683.0, -least, -2050.0)] {
        let got = eval::eval(&Op::Fma, Ty::F16, Ty::F16, &[bits(a), bits(b), bits(c)]).expect("exact")[0];
        assert_eq!(got, bits(want));
    }
    for seed in 0..8 {
        check(&Op::Fma, &[Ty::F16; 3], &[Ty::F16], 1000 + seed);
    }
}

/// Checks the steps of rounding towards zero, flushing of denormals, or both against integer
/// arithmetic (`ir::modes`).
#[test]
fn modes_have_the_bits_of_their_meaning() {
    const HELD: [Ty; 6] = [Ty::B1, Ty::I32, Ty::I64, Ty::F16, Ty::F32, Ty::F64];
    let modes =
        [FloatFlags::ROUND_ZERO, FloatFlags::FLUSH_DENORMALS, FloatFlags::ROUND_ZERO | FloatFlags::FLUSH_DENORMALS];
    let mut tried = 0;
    for op in Op::examples().into_iter().filter(|op| op.info().meaning == Meaning::Exact) {
        for (args, results) in op.info().signature.instances() {
            let all = || args.iter().chain(&results);
            if args.is_empty() || !all().any(|ty| ty.is_float()) || !all().all(|ty| HELD.contains(ty)) {
                continue;
            }
            for (seed, float) in (0..).zip(modes) {
                check_under(&op, &args, &results, float, 5000 + 3 * tried + seed);
            }
            tried += 1;
        }
    }
    assert!(tried >= 100, "{tried}");
}

/// Checks operands whose results are close to, at and beyond the ends of the format, where the
/// steps scale.
#[test]
fn the_ends_of_binary64_are_cut_exactly() {
    let ends = [Op::Binary(Binary::FMul), Op::Binary(Binary::FDiv), Op::Binary(Binary::FAdd), Op::Unary(Unary::Sqrt)];
    let mut random = XorshiftStar::new(77);
    for op in ends {
        for _ in 0..20_000 {
            // Exponents whose sums and differences cover the whole range.
            let mut number = || {
                let exponent = random.below(2047) as u64;
                let fraction =
                    random.next() >> 12 & if random.chance(50) { u64::MAX } else { u64::MAX << random.below(52) };
                exponent << 52 | fraction | (random.below(2) as u64) << 63
            };
            let (a, mut b) = (number(), number());
            if random.chance(30) {
                // A product or quotient near the smallest numbers.
                let sum = 1023 - 1022 - random.below(110) as i64;
                let exponent = match op {
                    Op::Binary(Binary::FMul) => sum + 1023 - (a >> 52 & 2047) as i64,
                    _ => (a >> 52 & 2047) as i64 - sum + 1023,
                };
                b = b & !(2047 << 52) | (exponent.clamp(0, 2046) as u64) << 52;
            }
            let args = if op == Op::Unary(Unary::Sqrt) { vec![a & !(1 << 63)] } else { vec![a, b] };
            let want = modes::eval_under(FloatFlags::ROUND_ZERO, &op, Ty::F64, Ty::F64, &args).expect("arithmetic")[0];
            let got = steps_of(&op, &args);
            assert_eq!(got, want, "{op:?} {args:x?}");
        }
    }
}

/// Returns the result of the steps of an operation of binary64 on constants.
fn steps_of(op: &Op, args: &[u64]) -> u64 {
    let mut shader = shader([1, 1, 1], |b| {
        let operands: Vec<Value> = args.iter().map(|&bits| b.constant(Ty::F64, bits)).collect();
        b.float = FloatFlags::ROUND_ZERO;
        let result = b.op(op.clone(), &operands, Ty::F64);
        b.float = FloatFlags::NONE;
        let (buffer, zero) = (b.buffer(0, 0), b.u32(0));
        b.store(buffer, zero, result);
    });
    passes::float_modes(&mut shader);
    let mut memory = memory(vec![vec![0; 8]]);
    run_workgroup(&shader, &mut memory, [0; 3], [1; 3], 1, None).expect("it runs");
    u64::from_le_bytes(memory.buffers[0].1[..].try_into().expect("8 bytes"))
}
