//! Tests of every row of the table and of random programs: [`eval`] against the
//! machine code of all tiers.

use jit::cancel::CancelToken;
use jit::host;
use jit::lir::op::{Effect, LaneCount, ROWS};
use jit::lir::{self, Access, AccessReason, Builder, Elem, Function, Imm, IntCond, Op, Type, eval, verify};
use jit::tier::{self, Backend};
use jit_test_support::lir_random::{self as random, MEMORY, OUTPUT, Options, SINK, helper};
use std::collections::HashMap;

/// Memory, output and sink of a run.
struct Buffers {
    memory: Vec<u128>,
    output: Vec<u128>,
    sink: Vec<u128>,
}

impl Buffers {
    fn new(seed: u64) -> Buffers {
        let bytes = random::memory(seed);
        let memory = bytes.chunks(16).map(|c| c.iter().rev().fold(0, |word, &b| word << 8 | u128::from(b))).collect();
        assert_eq!(bytes.len(), MEMORY);
        Buffers { memory, output: vec![0; OUTPUT / 16], sink: vec![0; SINK / 16] }
    }

    fn args(&mut self) -> [u64; 4] {
        let [a, b, c] = [&mut self.memory, &mut self.output, &mut self.sink].map(|v| v.as_mut_ptr() as u64);
        [a, b, c, helper as *const () as u64]
    }
}

/// Returns all back ends that generate code for this processor, at all its processor levels, with
/// the names of their tiers.
fn backends() -> impl Iterator<Item = (String, Backend)> {
    let available = tier::ROWS.iter().flat_map(|row| row.available().map(move |backend| (row.name, backend)));
    available.flat_map(|(name, backend)| {
        backend.levels().into_iter().enumerate().map(move |(i, backend)| (format!("{name} {i}"), backend))
    })
}

/// Runs a function in the interpreter and as machine code of all tiers, and compares the results.
fn compare(func: &Function, seeds: std::ops::Range<u64>, what: &dyn std::fmt::Debug) {
    verify(func).unwrap_or_else(|e| panic!("{what:?}: {e}\n{func}"));
    let codes = backends().map(|(name, backend)| match backend.limited(None).code(func, &CancelToken::NEVER) {
        Ok(code) => (name, code.expect("no limit").bytes.place().expect("memory")),
        Err(e) => panic!("{what:?} {name}: {e}\n{func}"),
    });
    let codes: Vec<_> = codes.collect();
    for seed in seeds {
        let mut expected = Buffers::new(seed);
        // SAFETY: the function is verified, and random programs access only the buffers of
        // `expected` and call only the helper among their arguments.
        assert!(unsafe { eval::run(func, &expected.args(), 1 << 20) }, "{what:?}: takes too long\n{func}");
        for (tier, code) in &codes {
            let mut own = Buffers::new(seed);
            let [a, b, c, d] = own.args();
            // SAFETY: the code is that of a function with these four parameters, and random
            // programs access only the buffers of `own`.
            unsafe {
                let run: base::code_type!(unsafe extern "code" fn(u64, u64, u64, u64)) =
                    core::mem::transmute(code.address());
                run(a, b, c, d);
            }
            let differ =
                |x: &[u128], y: &[u128]| x.iter().zip(y).position(|(x, y)| x != y).map(|i| (i * 16, x[i], y[i]));
            let found = [differ(&expected.memory, &own.memory), differ(&expected.output, &own.output)];
            assert!(found == [None, None], "{what:?} seed {seed} tier {tier}: memory, output {found:x?}\n{func}");
        }
    }
}

fn types() -> impl Iterator<Item = Type> {
    Elem::ALL.into_iter().flat_map(|e| std::iter::once(1).chain(Type::LANES).map(move |lanes| e.by(lanes)))
}

/// Returns the number of seeds, which `GRUS_SEEDS` overrides.
fn seeds(default: u64) -> u64 {
    std::env::var("GRUS_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn table_is_in_operation_order() {
    for (i, row) in ROWS.iter().enumerate() {
        assert_eq!(row.op as usize, i);
        assert!(ROWS[..i].iter().all(|other| other.name != row.name), "{} is there twice", row.name);
        assert!(types().any(|ty| row.accepts_type(ty)), "{} is of nothing", row.name);
        assert!(row.weight != 0, "{} weighs nothing", row.name);
    }
}

#[test]
fn every_row_gives_equal_results_in_eval_and_machine_code() {
    let fma = host::has_fma();
    for row in ROWS.iter().filter(|row| row.op != Op::Fma || fma) {
        for ty in types().filter(|&ty| row.accepts_type(ty)) {
            let only = Some((row.op, ty));
            for seed in 0..seeds(1) {
                let func = random::program(seed, Options { size: 6, only, fma });
                compare(&func, seed..seed + 4, &only);
            }
        }
    }
}

#[test]
fn random_programs_give_equal_results_in_eval_and_machine_code() {
    let fma = host::has_fma();
    let mut seen: HashMap<Op, usize> = HashMap::new();
    for seed in 0..seeds(60) {
        let func = random::program(seed, Options { size: 20 + seed as usize % 60, only: None, fma });
        let insts = func.layout.iter().flat_map(|&b| &func.blocks[b].insts);
        insts.for_each(|&i| *seen.entry(func.insts[i].op).or_default() += 1);
        compare(&func, seed..seed + 2, &seed);
    }
    let missing: Vec<_> = ROWS.iter().filter(|row| !seen.contains_key(&row.op)).map(|row| row.name).collect();
    assert!(missing.len() <= 2, "not in any program: {missing:?}");
}

/// The choice among several NaN operands is the same in all tiers, for constants and other values.
/// Loads are used twice here, because Cranelift may make a load that is used once a memory operand,
/// which it may exchange with the other operand.
#[test]
fn all_tiers_give_the_same_nan() {
    const NANS: [u32; 3] = [0xffc0_0000, 0x7fc0_0001, 0x7fc0_0002];
    let ty = Elem::F32.by(8);
    let ops = [Op::Fadd, Op::Fsub, Op::Fmul, Op::Fdiv, Op::Fma];
    let mut known: HashMap<(Op, u32, u32), [u32; 8]> = HashMap::new();
    // Each operand is a number or a NaN of its own. It is loaded or a constant, and loaded operands
    // may be negated.
    let forms = || (0..64u32).map(|kinds| (kinds, 0)).chain((8..64).map(|i| (i & 7, i >> 3)));
    for (op, (kinds, negated)) in ops.into_iter().flat_map(|op| forms().map(move |form| (op, form))) {
        if op == Op::Fma && !host::has_fma() {
            continue;
        }
        let bits: [u32; 3] = std::array::from_fn(|i| if kinds >> i & 1 != 0 { NANS[i] } else { 2f32.to_bits() });
        let func = {
            let mut b = Builder::new(&[Type::I64]);
            let address = b.params(b.current())[0];
            let v: [_; 3] = std::array::from_fn(|i| match kinds >> (3 + i) & 1 {
                0 => b.load(ty, Access { offset: 32 * i as i32, ..Access::new(AccessReason::Caller) }, address),
                _ => b.constant(ty, bits[i].into()),
            });
            for (i, &v) in v.iter().enumerate() {
                b.store(Access { offset: 128 + 32 * i as i32, ..Access::new(AccessReason::Caller) }, v, address);
            }
            let v: [_; 3] = std::array::from_fn(|i| if negated >> i & 1 != 0 { b.fneg(v[i]) } else { v[i] });
            let result = match op {
                Op::Fadd => b.fadd(v[0], v[1]),
                Op::Fsub => b.fsub(v[0], v[1]),
                Op::Fmul => b.fmul(v[0], v[1]),
                Op::Fdiv => b.fdiv(v[0], v[1]),
                _ => b.fma(v[0], v[1], v[2]),
            };
            b.store(Access { offset: 96, ..Access::new(AccessReason::Caller) }, result, address);
            b.return_();
            b.finish()
        };
        let results = backends().map(|(name, backend)| {
            let code = backend.code(&func, &CancelToken::NEVER).expect("code").expect("no limit");
            let code = code.bytes.place().expect("memory");
            let mut memory = [[0u32; 8]; 7];
            memory[..3].copy_from_slice(&bits.map(|bits| [bits; 8]));
            // SAFETY: the function has this parameter and accesses only `memory`.
            unsafe {
                let run: base::code_type!(unsafe extern "code" fn(*mut [u32; 8])) =
                    core::mem::transmute(code.address());
                run(memory.as_mut_ptr());
            }
            (name, memory[3])
        });
        let results: Vec<_> = results.collect();
        let first = *known.entry((op, kinds & 7, negated)).or_insert(results[0].1);
        for (tier, result) in &results {
            assert_eq!(*result, first, "{op:?} {kinds:06b} {negated:03b} {tier} {first:x?}\n{func}");
        }
    }
}

/// Division by constants gives exact results in all tiers, for numbers near all critical ones.
#[test]
fn division_by_constant_is_exact() {
    let words = [
        1u64,
        2,
        3,
        5,
        6,
        7,
        10,
        14,
        31,
        641,
        1 << 20,
        0x7fff_ffff,
        1 << 31,
        (1 << 31) + 1,
        0xffff_fffe,
        0xffff_ffff,
        12345,
    ];
    let longs = words.iter().copied().chain([
        1 << 32,
        (1 << 32) + 1,
        6_700_417,
        1 << 63,
        (1 << 63) + 1,
        u64::MAX - 1,
        u64::MAX,
        u64::MAX / 3,
    ]);
    let all = words.iter().map(|&d| (Elem::I32, d)).chain(longs.map(|d| (Elem::I64, d)));
    for (elem, d) in all {
        let ty = elem.by(8);
        let mask = elem.mask();
        // Critical numbers are near multiples, powers of two and both ends of the range.
        let near = [
            0,
            d,
            d.wrapping_mul(2),
            d.wrapping_mul(3),
            d.wrapping_mul(mask / d),
            1 << (elem.bits() - 1),
            mask,
            (mask / 2).wrapping_add(d) & mask,
            0x1234_5678_9abc_def0,
        ];
        let numbers: Vec<u64> =
            near.iter().flat_map(|n| [n.wrapping_sub(1), *n, n.wrapping_add(1)]).map(|n| n & mask).collect();
        for some in numbers.chunks(8) {
            let mut lanes = [0u64; 8];
            lanes[..some.len()].copy_from_slice(some);
            let bytes = i32::from(elem == Elem::I64) * 32 + 32;
            let mut b = Builder::new(&[Type::I64]);
            let address = b.params(b.current())[0];
            let n = b.load(ty, Access::new(AccessReason::Caller), address);
            let by = b.constant(ty, d);
            let results = [b.udiv(n, by), b.urem(n, by), b.sdiv(n, by), b.srem(n, by)];
            for (i, v) in results.into_iter().enumerate() {
                b.store(Access { offset: bytes * (1 + i as i32), ..Access::new(AccessReason::Caller) }, v, address);
            }
            b.return_();
            let func = b.finish();
            assert!(!func.insts.values().any(|i| matches!(i.op, Op::Udiv | Op::Urem | Op::Sdiv | Op::Srem)), "{func}");
            let signed = |n: u64| if elem == Elem::I32 { i64::from(n as u32 as i32) } else { n as i64 };
            let expected = |n: u64| {
                let (q, r) = (signed(n).wrapping_div(signed(d)), signed(n).wrapping_rem(signed(d)));
                [n / d, n % d, q as u64 & mask, r as u64 & mask]
            };
            for (name, backend) in backends() {
                let code = backend.code(&func, &CancelToken::NEVER).expect("code").expect("no limit");
                let code = code.bytes.place().expect("memory");
                let mut memory = [0u64; 40];
                let words = bytes as usize / 8;
                let put = |lane: usize| if elem == Elem::I64 { (lane, 0) } else { (lane / 2, 32 * (lane % 2)) };
                lanes.iter().enumerate().for_each(|(i, n)| memory[put(i).0] |= n << put(i).1);
                // SAFETY: the function has this parameter and accesses only `memory`.
                unsafe {
                    let run: base::code_type!(unsafe extern "code" fn(*mut u64)) = core::mem::transmute(code.address());
                    run(memory.as_mut_ptr());
                }
                for (lane, &n) in lanes.iter().enumerate() {
                    let found: [u64; 4] =
                        std::array::from_fn(|i| memory[words * (1 + i) + put(lane).0] >> put(lane).1 & mask);
                    assert_eq!(found, expected(n), "{elem:?} {n:#x} by {d:#x}, {name}");
                }
            }
        }
    }
}

#[test]
fn print_is_stable() {
    for seed in 0..20 {
        let options = Options { size: 60, only: None, fma: true };
        let [a, b] = [0, 1].map(|_| random::program(seed, options).to_string());
        assert_eq!(a, b);
    }
    let mut b = Builder::new(&[Type::I64, Type::I32]);
    let (address, n) = (b.params(b.current())[0], b.params(b.current())[1]);
    let lanes = b.constant_lanes(Elem::I32, &[0, 1, 2, 3]);
    let n = b.splat(Elem::I32.by(4), n);
    let sum = b.iadd(n, lanes);
    let twice = b.iadd(n, lanes);
    assert_eq!(sum, twice, "numbered");
    let mask = b.icmp_imm(IntCond::Ult, sum, 70_000);
    let any = b.any(mask);
    let [then, end] = [0, 1].map(|_| b.create_block());
    b.branch(any, then, &[], end, &[]);
    b.seal_block(then);
    b.set_cold_block(then);
    b.set_fast_path_block(then);
    b.switch_to_block(then);
    let swapped = b.shuffle(sum, sum, &[1, 0, 3, 2]);
    b.store(Access { offset: -16, aligned: true, ..Access::new(AccessReason::Caller) }, swapped, address);
    b.jump(end, &[]);
    b.seal_block(end);
    b.switch_to_block(end);
    b.return_();
    let text = "\
b0(v0: i64, v1: i32):
  v3: i32x4 = splat v1
  v4: i32x4 = iadd v3, {0, 1, 2, 3}:i32x4
  v6: bx4 = icmp.Ult.i32x4 v4, 0x11170:i32x4
  v7: b = any.bx4 v6
  branch v7 -> b1, b2
b1 cold extra:
  v8: i32x4 = shuffle.i32x4 v4, v4 [1, 0, 3, 2]
  store.i32x4 v0, v8 -16 Caller aligned
  jump -> b2
b2:
  return
";
    let f = b.finish();
    assert_eq!(f.to_string(), text);
    assert_eq!([true, false].map(|with_fast_paths| f.blocks_in_order(with_fast_paths).len()), [3, 2]);
}

#[test]
fn loop_values_are_numbered() {
    let mut b = Builder::new(&[Type::I32, Type::B]);
    let (n, c) = (b.params(b.current())[0], b.params(b.current())[1]);
    let (changed, same) = (b.declare_var(Type::I32), b.declare_var(Type::I32));
    b.def_var(changed, n);
    b.def_var(same, n);
    let before = b.imul(n, n);
    let [header, body, exit] = [0, 1, 2].map(|_| b.create_block());
    b.jump(header, &[]);
    b.enter_loop(header);
    assert_eq!(b.imul(n, n), before, "dominates the loop");
    let (x, y) = (b.use_var(changed), b.use_var(same));
    b.branch(c, body, &[], exit, &[]);
    b.seal_block(body);
    b.switch_to_block(body);
    let next = b.iadd(x, y);
    b.def_var(changed, next);
    b.jump(header, &[]);
    b.seal_block(header);
    b.seal_block(exit);
    b.switch_to_block(exit);
    assert_ne!(b.iadd(x, y), next, "the body does not dominate the exit");
    b.return_();
    let func = b.finish();
    verify(&func).expect("sound");
    assert_eq!(func.blocks[header].params.len(), 1, "what does not change needs no parameter\n{func}");
}

/// Verification reports the expected error for each single change of a valid function.
#[test]
fn verify_rejects_bad_programs() {
    let make = || {
        let mut b = Builder::new(&[Type::I64, Type::I32]);
        let (address, n) = (b.params(b.current())[0], b.params(b.current())[1]);
        let v = b.splat(Elem::I32.by(8), n);
        let w = b.iadd(v, v);
        let pair = b.shuffle(v, w, &[0, 8, 1, 9]);
        b.store(Access::new(AccessReason::Caller), pair, address);
        let end = b.create_block();
        b.append_param(end, Type::I32);
        b.jump(end, &[n]);
        b.seal_block(end);
        b.switch_to_block(end);
        b.return_();
        b.finish()
    };
    verify(&make()).expect("sound");
    type Change = fn(&mut Function);
    let changes: &[(&str, Change)] = &[
        ("is not T", |f| f.insts[lir::Inst::from_u32(1)].args[1] = lir::Value::from_u32(1)),
        ("not of", |f| f.insts[lir::Inst::from_u32(1)].ty = Type::F32),
        ("is not its", |f| f.values[lir::Value::from_u32(3)].ty = Elem::I32.by(4)),
        ("too few operands", |f| f.insts[lir::Inst::from_u32(1)].args.truncate(1)),
        ("operands", |f| f.insts[lir::Inst::from_u32(0)].args.push(lir::Value::from_u32(1))),
        ("has Lane", |f| f.insts[lir::Inst::from_u32(1)].imm = Imm::Lane(0)),
        ("where it is not defined", |f| f.blocks[lir::Block::from_u32(0)].insts.swap(0, 1)),
        ("not at its place", |f| {
            f.blocks[lir::Block::from_u32(0)].insts.pop();
        }),
        ("there twice", |f| {
            let inst = f.blocks[lir::Block::from_u32(0)].insts[0];
            f.blocks[lir::Block::from_u32(1)].insts.insert(0, inst);
        }),
        ("wrong number of arguments", |f| f.blocks[lir::Block::from_u32(0)].targets[0].args.clear()),
        ("for", |f| f.blocks[lir::Block::from_u32(0)].targets[0].args[0] = lir::Value::from_u32(0)),
        ("targets of a", |f| {
            let again = f.blocks[lir::Block::from_u32(0)].targets[0].clone();
            f.blocks[lir::Block::from_u32(1)].targets.push(again);
        }),
        ("goes to the start", |f| {
            f.blocks[lir::Block::from_u32(1)].insts = vec![];
            let (first, jump) =
                (lir::Block::from_u32(0), *f.blocks[lir::Block::from_u32(0)].insts.last().expect("one"));
            let again = f.insts.push(f.insts[jump].clone());
            f.blocks[lir::Block::from_u32(1)].insts.push(again);
            f.blocks[lir::Block::from_u32(1)].targets.push(lir::Target { block: first, args: Default::default() });
        }),
        ("Pattern", |f| f.lists[lir::List::from_u32(0)][0] = 16),
        ("nothing comes to", |f| {
            let block = f.blocks.push(lir::BlockData::default());
            f.layout.push(block);
        }),
        ("no blocks", |f| f.layout.clear()),
    ];
    for (want, change) in changes {
        let mut func = make();
        change(&mut func);
        let error = verify(&func).expect_err(want);
        assert!(error.contains(want), "{want}: {error}");
    }
}

#[test]
fn vector_only_rows_reject_scalars() {
    for row in ROWS.iter().filter(|row| row.effect == Effect::Control || row.op == Op::Call) {
        assert_eq!(row.lane_count, LaneCount::Scalar, "{}", row.name);
    }
}
