//! Tests of compute stages: barriers, shared memory, atomics, bounds, private arrays, subgroup
//! operations, built-ins, abort.

use crate::emit_common::*;
use base::abi::AtomicOp;
use jit::ir::*;
use jit_test_support::interp::Memory;
use jit_test_support::ir_random::Rng;
use std::sync::atomic::Ordering;

fn shared_load(b: &mut Builder<'_>, index: Value) -> Value {
    let at = byte_offset(b, index);
    b.op(Op::Load(Space::Shared, FLAGS), &[at], Ty::I32)
}

fn shared_store(b: &mut Builder<'_>, index: Value, value: Value) {
    let at = byte_offset(b, index);
    b.inst(Op::Store(Space::Shared, FLAGS), &[at, value], &[]);
}

fn barrier(b: &mut Builder<'_>) {
    b.inst(Op::Barrier, &[], &[]);
}

/// Builds the sum of the workgroup by halving: a barrier in a loop, shared memory, a divergent If,
/// and values that are live across.
fn reduction(n: u32) -> Shader {
    let mut s = shader([n, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let global = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
        let value = get(b, 0, global, Ty::I32);
        shared_store(b, index, value);
        barrier(b);
        let (half, one, zero) = (b.u32(n / 2), b.u32(1), b.u32(0));
        b.loop_(&[half], &[], |b, label, p| {
            let done = b.cmp(Cmp::IEq, p[0], zero);
            b.break_if(done, label, &[]);
            let active = b.cmp(Cmp::ULt, index, p[0]);
            b.if_(
                active,
                &[],
                |b| {
                    let other = b.binary(Binary::IAdd, index, p[0]);
                    let x = shared_load(b, index);
                    let y = shared_load(b, other);
                    let sum = b.binary(Binary::IAdd, x, y);
                    shared_store(b, index, sum);
                    Term::default()
                },
                |_| Term::default(),
            );
            barrier(b);
            let next = b.binary(Binary::LShr, p[0], one);
            Term::Yield(vec![next])
        });
        let total = shared_load(b, zero);
        let mixed = b.binary(Binary::Xor, total, value);
        put(b, 1, global, mixed);
    });
    s.workgroup_mut().expect("workgroups").shared_bytes = n * 4;
    s
}

#[test]
fn reduction_with_barriers_in_a_loop() {
    for n in [2u32, 4, 16, 64] {
        let input: Vec<u32> = (0..3 * n).map(|i| i.wrapping_mul(2654435761) % 1000).collect();
        let out = check(&reduction(n), &memory(vec![words(input.clone()), words(vec![0; 3 * n as usize])]), [3, 1, 1]);
        let out = as_words(&out[1]);
        for (g, chunk) in input.chunks(n as usize).enumerate() {
            let sum: u32 = chunk.iter().sum();
            for (i, &v) in chunk.iter().enumerate() {
                assert_eq!(out[g * n as usize + i], sum ^ v);
            }
        }
    }
}

/// Checks barriers in both arms of an If, in scopes with results, in nested loops, beside divergent
/// breaks, arrays and masks.
#[test]
fn barriers_in_every_construct() {
    let n = 24;
    let mut s = shader([n, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let array = b.var(Ty::I32, 5, "array");
        let (one, two, three, five) = (b.u32(1), b.u32(2), b.u32(3), b.u32(5));
        let slot = b.binary(Binary::UMod, index, five);
        b.var_store(array, Some(slot), index);
        let group = b.builtin(Builtin::WorkgroupId(0), Ty::I32);
        let odd = b.binary(Binary::And, group, one);
        let zero = b.u32(0);
        let is_odd = b.cmp(Cmp::INe, odd, zero);
        let neighbour = |b: &mut Builder<'_>, v: Value| {
            shared_store(b, index, v);
            barrier(b);
            let next = b.binary(Binary::IAdd, index, one);
            let count = b.u32(n);
            let next = b.binary(Binary::UMod, next, count);
            let r = shared_load(b, next);
            barrier(b);
            r
        };
        let picked = b.if_(
            is_odd,
            &[Ty::I32, Ty::B1],
            |b| {
                let v = neighbour(b, index);
                let c = b.cmp(Cmp::ULt, v, five);
                Term::Yield(vec![v, c])
            },
            |b| {
                let t = b.binary(Binary::IMul, index, three);
                let v = neighbour(b, t);
                let w = neighbour(b, v);
                let c = b.cmp(Cmp::ULt, five, w);
                Term::Yield(vec![w, c])
            },
        );
        let outer = b.loop_(&[zero, picked[0]], &[Ty::I32], |b, label, p| {
            let done = b.cmp(Cmp::ULe, three, p[0]);
            b.break_if(done, label, &[p[1]]);
            let value = b.scope(&[Ty::I32], |b, scope| {
                // A divergent break out of an inner scope without barrier, then a barrier.
                let inner = b.scope(&[Ty::I32], |b, inner| {
                    let low = b.cmp(Cmp::ULt, index, five);
                    let both = b.binary(Binary::And, low, picked[1]);
                    b.break_if(both, inner, &[two]);
                    let v = b.binary(Binary::IAdd, p[1], index);
                    Term::Yield(vec![v])
                });
                let v = neighbour(b, inner[0]);
                b.break_if(is_odd, scope, &[v]);
                let w = neighbour(b, v);
                Term::Yield(vec![w])
            });
            let next = b.binary(Binary::IAdd, p[0], one);
            Term::Yield(vec![next, value[0]])
        });
        let kept = b.var_load(array, Some(slot));
        let v = b.binary(Binary::IAdd, outer[0], kept);
        let v = b.select(picked[1], v, outer[0]);
        let global = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
        put(b, 0, global, v);
    });
    s.workgroup_mut().expect("workgroups").shared_bytes = n * 4;
    check(&s, &memory(vec![words(vec![0; 4 * n as usize])]), [4, 1, 1]);
}

/// Checks a workgroup whose size is not a multiple of the lanes: the last chunk is partial in every
/// segment.
#[test]
fn barrier_with_a_partial_chunk() {
    for n in [1u32, 3, 5, 11, 13] {
        let mut s = shader([n, 1, 1], |b| {
            let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let global = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
            shared_store(b, index, global);
            barrier(b);
            let last = b.u32(n - 1);
            let mirror = b.binary(Binary::ISub, last, index);
            let v = shared_load(b, mirror);
            put(b, 0, global, v);
        });
        s.workgroup_mut().expect("workgroups").shared_bytes = n * 4;
        check(&s, &memory(vec![words(vec![0; 3 * n as usize])]), [3, 1, 1]);
    }
}

/// Builds loads and stores around the end of a buffer, by every address shape and component count.
///
/// Each access of `components` words is at start + stride * invocation. It copies from buffer 0 to
/// buffer 1 and stores what was loaded to buffer 2. With `masked`, only odd invocations store.
fn copies(components: usize, stride: u32, start: u32, masked: bool) -> Shader {
    shader([16, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let (stride, start) = (b.u32(stride), b.u32(start));
        let scaled = b.binary(Binary::IMul, index, stride);
        let at = b.binary(Binary::IAdd, scaled, start);
        let (input, output) = (b.buffer(0, 0), b.buffer(0, 1));
        let types = vec![Ty::I32; components];
        let inst = b.inst(Op::Load(Space::Buffer, FLAGS), &[input, at], &types);
        let loaded: Vec<Value> = b.shader.insts[inst].results().collect();
        let mut args = vec![output, at];
        args.extend(&loaded);
        if masked {
            let (one, zero) = (b.u32(1), b.u32(0));
            let bit = b.binary(Binary::And, index, one);
            let odd = b.cmp(Cmp::INe, bit, zero);
            b.if_(
                odd,
                &[],
                |b| {
                    b.inst(Op::Store(Space::Buffer, FLAGS), &args, &[]);
                    Term::default()
                },
                |_| Term::default(),
            );
        } else {
            b.inst(Op::Store(Space::Buffer, FLAGS), &args, &[]);
        }
        for (i, &v) in loaded.iter().enumerate() {
            let four = b.u32(4);
            let base = b.binary(Binary::IMul, index, four);
            let i = b.u32(i as u32);
            let at = b.binary(Binary::IAdd, base, i);
            put(b, 2, at, v);
        }
    })
}

/// Checks that an access is in bounds as a whole or not at all (the interpreter examines each
/// component).
#[test]
fn out_of_bounds_loads_give_zero_and_stores_vanish() {
    for components in 1..=4usize {
        for stride in [4u32, 8, 12, 16, 20] {
            for masked in [false, true] {
                for start in [0u32, 4, 60, 100, 0xffff_fff0] {
                    let s = copies(components, stride, start, masked);
                    let stages: Vec<_> = wide_configurations(u64::from(stride / 4) + components as u64)
                        .map(|(lanes, tier)| (compile_tier(&s, &buffers_layout(3), lanes as u32, tier), (lanes, tier)))
                        .collect();
                    for bytes in [0usize, 4, 36, 64, 92, 400] {
                        let (m, want) = copied(bytes, components, stride, start, masked);
                        for (stage, config) in &stages {
                            let got = run_compiled(stage, &m, [1, 1, 1]);
                            let what = format!(
                                "{components} components, stride {stride}, start {start}, {bytes} bytes, {config:?}"
                            );
                            assert_eq!(as_words(&got[2]), as_words(&want[1]), "loads: {what}");
                            assert_eq!(as_words(&got[1]), as_words(&want[0]), "stores: {what}, masked: {masked}");
                        }
                    }
                }
            }
        }
    }
}

/// Returns the memory for [`copies`], and the expected contents of buffers 1 and 2.
fn copied(bytes: usize, components: usize, stride: u32, start: u32, masked: bool) -> (Memory, [Vec<u8>; 2]) {
    let input: Vec<u8> = (0..bytes).map(|i| i as u8 | 1).collect();
    let output = vec![0xcc; bytes];
    let (mut expected, mut loaded) = (output.clone(), words(vec![7; 64]));
    for lane in 0..16usize {
        let at = (lane as u32).wrapping_mul(stride).wrapping_add(start) as usize;
        let row = &mut loaded[lane * 16..][..4 * components];
        row.fill(0);
        if at + 4 * components > bytes {
            continue;
        }
        row.copy_from_slice(&input[at..][..4 * components]);
        if !masked || lane % 2 == 1 {
            expected[at..][..4 * components].copy_from_slice(row);
        }
    }
    (memory(vec![input, output, words(vec![7; 64])]), [expected, loaded])
}

/// Checks bounded indices of elements of `scale` bytes. An index beyond 2^32 bytes or before the
/// buffer must not wrap to the inside, whether the index is uniform, affine or comes from memory.
#[test]
fn out_of_range_indices_do_not_wrap() {
    const STARTS: [u32; 11] = [
        0,
        u32::MAX,
        u32::MAX - 7,
        (1 << 28) - 3,
        (1 << 30) - 5,
        1 << 30,
        (1 << 31) - 3,
        1 << 31,
        (1 << 31) + 1,
        3 << 30,
        (1 << 28) + (1 << 24) - 4,
    ];
    let kinds = (0..6u32).map(|i| (i % 3, u32::from(i >= 3) * 4));
    for ((kind, plus), scale) in kinds.flat_map(|kind| [4, 8, 12, 16].map(|scale| (kind, scale))) {
        let plus_bytes = plus;
        let s = shader([16, 1, 1], |b| {
            let lane = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let group = b.builtin(Builtin::WorkgroupId(0), Ty::I32);
            let (starts, input) = (b.buffer(0, 0), b.buffer(0, 1));
            let four = b.u32(4);
            let at = b.binary(Binary::IMul, group, four);
            let start = b.load(starts, at, Ty::I32);
            let index = match kind {
                0 => start,
                1 => b.binary(Binary::IAdd, start, lane),
                _ => {
                    let one = b.u32(1);
                    let even = b.binary(Binary::Xor, lane, one);
                    b.binary(Binary::IAdd, start, even)
                }
            };
            let (limit, by, plus) = (b.u32(((1 << 30) + (1 << 26)) / scale + 1), b.u32(scale), b.u32(plus));
            let bounded = b.binary(Binary::Bound, index, limit);
            let offset = b.binary(Binary::IMul, bounded, by);
            let offset = if plus_bytes == 0 { offset } else { b.binary(Binary::IAdd, offset, plus) };
            let n = if scale == 12 { 1 } else { scale as usize / 4 };
            let inst = b.inst(Op::Load(Space::Buffer, FLAGS), &[input, offset], &vec![Ty::I32; n]);
            let loaded = b.shader.insts[inst].results().last().expect("one");
            let copy = b.buffer(0, 3);
            b.inst(Op::Store(Space::Buffer, FLAGS), &[copy, offset, loaded], &[]);
            let sixteen = b.u32(16);
            let row = b.binary(Binary::IMul, group, sixteen);
            let cell = b.binary(Binary::IAdd, row, lane);
            put(b, 2, cell, loaded);
        });
        let input: Vec<u32> = (1..=40).collect();
        let buffers = vec![words(STARTS), words(input.clone()), words(vec![7; 16 * STARTS.len()]), words(vec![0; 40])];
        let out = check(&s, &memory(buffers), [STARTS.len() as u32, 1, 1]);
        for (i, got) in as_words(&out[2]).into_iter().enumerate() {
            let (lane, start) = (i as u32 % 16, STARTS[i / 16]);
            let index = start.wrapping_add([0, lane, lane ^ 1][kind as usize]) as i32;
            let n = if scale == 12 { 1 } else { i64::from(scale) / 4 };
            let first = i64::from(index) * i64::from(scale) / 4 + i64::from(plus / 4);
            let inside = first >= 0 && first + n <= 40;
            let want = if inside { input[(first + n - 1) as usize] } else { 0 };
            assert_eq!(got, want, "kind {kind}, plus {plus}, scale {scale}, start {start:#x}, lane {lane}");
        }
    }
}

/// Checks accesses with one address for all lanes.
#[test]
fn uniform_accesses() {
    let s = shader([8, 1, 1], |b| {
        let group = b.builtin(Builtin::WorkgroupId(0), Ty::I32);
        let input = b.buffer(0, 0);
        let at = byte_offset(b, group);
        let inst = b.inst(Op::Load(Space::Buffer, FLAGS), &[input, at], &[Ty::I32; 3]);
        let loaded: Vec<Value> = b.shader.insts[inst].results().collect();
        let sum = b.binary(Binary::IAdd, loaded[0], loaded[1]);
        let sum = b.binary(Binary::IAdd, sum, loaded[2]);
        put(b, 1, group, sum);
    });
    check(&s, &memory(vec![words(1..9), words(vec![0; 6])]), [12, 1, 1]);
}

#[test]
fn atomics_by_operation_and_space() {
    use AtomicOp::*;
    for op in [Exchange, CompareExchange, Add, Sub, SMin, UMin, SMax, UMax, And, Or, Xor] {
        for space in [Space::Buffer, Space::Shared] {
            // Every lane has its own address, so that the order does not matter; some are out of
            // bounds or inactive.
            let mut s = shader([16, 1, 1], |b| {
                let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
                let at = byte_offset(b, index);
                let value = get(b, 0, index, Ty::I32);
                let six = b.u32(6);
                let active = b.cmp(Cmp::INe, index, six);
                let buf = b.buffer(0, 1);
                if space == Space::Shared {
                    let v = b.load(buf, at, Ty::I32);
                    shared_store(b, index, v);
                }
                let old = b.if_(
                    active,
                    &[Ty::I32],
                    |b| {
                        let mut args = if space == Space::Buffer { vec![buf, at] } else { vec![at] };
                        args.push(value);
                        if op == CompareExchange {
                            args.push(index);
                        }
                        let old = b.op(Op::Atomic(space, op), &args, Ty::I32);
                        Term::Yield(vec![old])
                    },
                    |_| Term::Yield(vec![six]),
                );
                put(b, 2, index, old[0]);
                if space == Space::Shared {
                    let v = shared_load(b, index);
                    b.store(buf, at, v);
                }
            });
            s.workgroup_mut().expect("workgroups").shared_bytes = 4 * 14;
            let mut rng = Rng::new(op as u64 + 1);
            let values: Vec<u32> =
                (0..16).map(|i| if i % 3 == 0 { rng.next() as u32 } else { rng.below(20) as u32 }).collect();
            let target: Vec<u32> = (0..14).map(|i| if i % 2 == 0 { i } else { rng.next() as u32 }).collect();
            check(&s, &memory(vec![words(values), words(target), words(vec![0; 16])]), [1, 1, 1]);
        }
    }
}

/// Checks that additions of all lanes at one address see every old value once.
#[test]
fn atomic_add_at_one_address_counts() {
    let s = shader([32, 1, 1], |b| {
        let buf = b.buffer(0, 0);
        let (zero, one) = (b.u32(0), b.u32(1));
        let old = b.op(Op::Atomic(Space::Buffer, AtomicOp::Add), &[buf, zero, one], Ty::I32);
        let nine = b.u32(9);
        put(b, 1, old, nine);
    });
    let out = check(&s, &memory(vec![words([0]), words(vec![0; 96])]), [3, 1, 1]);
    assert_eq!(as_words(&out[0]), [96]);
    assert_eq!(as_words(&out[1]), [9; 96]);
}

#[test]
fn float_atomics() {
    for op in [AtomicOp::FAdd, AtomicOp::FMin, AtomicOp::FMax] {
        let s = shader([16, 1, 1], |b| {
            let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let value = get(b, 0, index, Ty::F32);
            let buf = b.buffer(0, 1);
            let zero = b.u32(0);
            b.op(Op::Atomic(Space::Buffer, op), &[buf, zero, value], Ty::F32);
        });
        let values = (0..16).map(|i| ((i * 7 % 16) as f32 - 8.0).to_bits());
        check(&s, &memory(vec![words(values), words([1f32.to_bits()])]), [1, 1, 1]);
    }
}

/// Checks built-ins for several workgroup shapes.
#[test]
fn invocation_ids() {
    for size in [[8, 2, 1], [16, 1, 2], [3, 5, 2], [1, 8, 3], [2, 2, 4], [1, 1, 1], [5, 1, 1], [4, 4, 1]] {
        let s = shader(size, |b| {
            let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let total: u32 = size.iter().product();
            let mut all = vec![index];
            for c in 0..3 {
                for kind in [
                    Builtin::LocalInvocationId,
                    Builtin::GlobalInvocationId,
                    Builtin::WorkgroupId,
                    Builtin::NumWorkgroups,
                ] {
                    all.push(b.builtin(kind(c), Ty::I32));
                }
            }
            for kind in [Builtin::SubgroupInvocation, Builtin::SubgroupSize, Builtin::SubgroupId, Builtin::NumSubgroups]
            {
                all.push(b.builtin(kind, Ty::I32));
            }
            let mut group = all[3];
            for (id, count) in [(all[7], 2u32), (all[11], 2)] {
                let count = b.u32(count);
                group = b.binary(Binary::IMul, group, count);
                group = b.binary(Binary::IAdd, group, id);
            }
            let total = b.u32(total);
            let base = b.binary(Binary::IMul, group, total);
            let base = b.binary(Binary::IAdd, base, index);
            let n = b.u32(all.len() as u32);
            let base = b.binary(Binary::IMul, base, n);
            for (i, &v) in all.iter().enumerate() {
                let i = b.u32(i as u32);
                let at = b.binary(Binary::IAdd, base, i);
                put(b, 0, at, v);
            }
        });
        let total = size.iter().product::<u32>() as usize * 8 * 17;
        check(&s, &memory(vec![words(vec![0; total])]), [2, 2, 2]);
    }
}

/// Number of invocations of a workgroup that has a whole chunk of every width, and another partial
/// chunk.
const LANES: u32 = 76;

#[test]
fn subgroup_operations_under_masks() {
    let s = shader([LANES, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let value = get(b, 0, index, Ty::I32);
        let float = get(b, 0, index, Ty::F32);
        let one = b.u32(1);
        let low = b.binary(Binary::And, value, one);
        let zero = b.u32(0);
        let odd = b.cmp(Cmp::INe, low, zero);
        let mut row = 0u32;
        let mut emit_all = |b: &mut Builder<'_>| {
            let mut out = Vec::new();
            for op in [Subgroup::Elect, Subgroup::All, Subgroup::Any, Subgroup::AllEqual] {
                let args: &[Value] = match op {
                    Subgroup::Elect => &[],
                    Subgroup::AllEqual => &[low],
                    _ => &[odd],
                };
                let v = b.op(Op::Subgroup(op), args, Ty::B1);
                out.push(b.convert(Convert::BToI, v, Ty::I32));
            }
            for word in 0..2 {
                out.push(b.op(Op::Subgroup(Subgroup::Ballot(word)), &[odd], Ty::I32));
            }
            out.push(b.op(Op::Subgroup(Subgroup::BroadcastFirst), &[value], Ty::I32));
            let f = b.op(Op::Subgroup(Subgroup::BroadcastFirst), &[float], Ty::F32);
            out.push(b.convert(Convert::Bitcast, f, Ty::I32));
            let first = b.op(Op::Subgroup(Subgroup::BroadcastFirst), &[odd], Ty::B1);
            out.push(b.convert(Convert::BToI, first, Ty::I32));
            for (i, &v) in out.iter().enumerate() {
                let at = b.u32((row + i as u32) * LANES);
                let at = b.binary(Binary::IAdd, at, index);
                put(b, 1, at, v);
            }
            row += 9;
        };
        emit_all(b);
        let three = b.u32(3);
        let some = b.cmp(Cmp::ULt, three, index);
        let masked = b.binary(Binary::And, some, odd);
        b.if_(
            masked,
            &[],
            |b| {
                emit_all(b);
                Term::default()
            },
            |_| Term::default(),
        );
        // Shuffles, in which all lanes take part.
        let lane = b.builtin(Builtin::SubgroupInvocation, Ty::I32);
        let target = b.binary(Binary::Xor, lane, three);
        let two = b.u32(2);
        let mut out = vec![
            b.op(Op::Subgroup(Subgroup::Shuffle), &[value, target], Ty::I32),
            b.op(Op::Subgroup(Subgroup::Broadcast), &[value, two], Ty::I32),
            b.op(Op::Subgroup(Subgroup::QuadBroadcast), &[value, three], Ty::I32),
        ];
        for op in [Subgroup::QuadSwapHorizontal, Subgroup::QuadSwapVertical, Subgroup::QuadSwapDiagonal] {
            out.push(b.op(Op::Subgroup(op), &[value], Ty::I32));
        }
        for fine in [false, true] {
            let d = b.op(Op::Ddx { fine }, &[float], Ty::F32);
            out.push(b.convert(Convert::Bitcast, d, Ty::I32));
            let d = b.op(Op::Ddy { fine }, &[float], Ty::F32);
            out.push(b.convert(Convert::Bitcast, d, Ty::I32));
        }
        for (i, &v) in out.iter().enumerate() {
            let at = b.u32((18 + i as u32) * LANES);
            let at = b.binary(Binary::IAdd, at, index);
            put(b, 1, at, v);
        }
    });
    let mut s = s;
    s.uses_subgroup = true;
    let mut rng = Rng::new(5);
    for _ in 0..6 {
        let values: Vec<u32> =
            (0..LANES).map(|_| (rng.below(2000) as f32 / 3.0).to_bits() ^ rng.below(2) as u32).collect();
        check(&s, &memory(vec![words(values), words(vec![0; 28 * LANES as usize])]), [1, 1, 1]);
    }
}

/// Checks reductions and scans of every operation and type, by all lanes and under a mask.
#[test]
fn subgroup_arithmetic() {
    use Binary::*;
    let ints = [IAdd, IMul, SMin, UMin, SMax, UMax, And, Or, Xor];
    let floats = [FAdd, FMul, FMin, FMax];
    let scans = [
        Scan::Reduce,
        Scan::Cluster(1),
        Scan::Cluster(2),
        Scan::Cluster(4),
        Scan::Cluster(32),
        Scan::Inclusive,
        Scan::Exclusive,
    ];
    let cases = [(Ty::I32, &ints[..]), (Ty::I64, &ints), (Ty::F32, &floats)];
    let rows = cases.iter().map(|c| c.1.len()).sum::<usize>() * scans.len() * 2;
    let s = shader([LANES, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let value = get(b, 0, index, Ty::I32);
        let mut row = 0u32;
        let mut emit_all = |b: &mut Builder<'_>| {
            for (ty, ops) in cases {
                let convert = if ty == Ty::F32 { Convert::Bitcast } else { Convert::SToS };
                let x = if ty == Ty::I32 { value } else { b.convert(convert, value, ty) };
                for (&op, scan) in ops.iter().flat_map(|op| scans.map(|scan| (op, scan))) {
                    let r = b.op(Op::Subgroup(Subgroup::Arithmetic(op, scan)), &[x], ty);
                    let r = if ty == Ty::I32 { r } else { b.convert(convert, r, Ty::I32) };
                    let at = b.u32(row * LANES);
                    let at = b.binary(Binary::IAdd, at, index);
                    put(b, 1, at, r);
                    row += 1;
                }
            }
        };
        emit_all(b);
        let one = b.u32(1);
        let low = b.binary(Binary::And, value, one);
        let zero = b.u32(0);
        let odd = b.cmp(Cmp::INe, low, zero);
        b.if_(
            odd,
            &[],
            |b| {
                emit_all(b);
                Term::default()
            },
            |_| Term::default(),
        );
    });
    let mut s = s;
    s.uses_subgroup = true;
    let mut rng = Rng::new(9);
    for round in 0..4 {
        let value = |rng: &mut Rng| (rng.below(2000) as f32 / 3.0 - 300.0).to_bits() ^ rng.below(2) as u32;
        let values: Vec<u32> = (0..LANES).map(|_| if round == 0 { 0x8000_0000 } else { value(&mut rng) }).collect();
        check(&s, &memory(vec![words(values), words(vec![0; rows * LANES as usize])]), [1, 1, 1]);
    }
}

/// Checks arrays with uniform, affine and wild indices, under a mask.
#[test]
fn private_arrays() {
    let s = shader([16, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let ints = b.var(Ty::I32, 7, "ints");
        let bools = b.var(Ty::B1, 3, "bools");
        let (zero, one, seven, three) = (b.u32(0), b.u32(1), b.u32(7), b.u32(3));
        b.loop_(&[zero], &[], |b, label, p| {
            let done = b.cmp(Cmp::ULe, seven, p[0]);
            b.break_if(done, label, &[]);
            let v = b.binary(Binary::IMul, p[0], index);
            b.var_store(ints, Some(p[0]), v);
            let next = b.binary(Binary::IAdd, p[0], one);
            Term::Yield(vec![next])
        });
        let wild = get(b, 0, index, Ty::I32);
        let odd = b.binary(Binary::And, wild, one);
        let odd = b.cmp(Cmp::INe, odd, zero);
        b.var_store(bools, Some(wild), odd);
        b.if_(
            odd,
            &[],
            |b| {
                b.var_store(ints, Some(wild), wild);
                b.var_store(ints, Some(three), index);
                Term::default()
            },
            |_| Term::default(),
        );
        let x = b.var_load(ints, Some(wild));
        let y = b.var_load(ints, Some(three));
        let z = b.var_load(bools, Some(one));
        let z = b.convert(Convert::BToI, z, Ty::I32);
        let sum = b.binary(Binary::IMul, x, seven);
        let sum = b.binary(Binary::IAdd, sum, y);
        let sum = b.binary(Binary::IMul, sum, three);
        let sum = b.binary(Binary::IAdd, sum, z);
        put(b, 1, index, sum);
    });
    let wild = [0, 1, 2, 3, 4, 5, 6, 7, 8, 1000, u32::MAX, 0x8000_0001, 3, 3, 5, 9];
    check(&s, &memory(vec![words(wild), words(vec![0; 16])]), [1, 1, 1]);
}

/// Checks the element of an array of descriptors that each lane chooses, and descriptors that are
/// selected and carried through control flow.
#[test]
fn buffers_that_differ_between_lanes() {
    let s = shader([8, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let two = b.u32(2);
        let which = get(b, 0, index, Ty::I32);
        let (a, c) = (b.buffer(0, 1), b.buffer(0, 2));
        let first = b.cmp(Cmp::ULt, which, two);
        let picked = b.select(first, a, c);
        let at = byte_offset(b, index);
        let x = b.load(picked, at, Ty::I32);
        let merged = b.if_(first, &[Ty::Buf], |_| Term::Yield(vec![c]), |_| Term::Yield(vec![a]));
        let y = b.load(merged[0], at, Ty::I32);
        b.store(picked, at, y);
        let size = b.op(Op::BufferSize, &[merged[0]], Ty::I32);
        let sum = b.binary(Binary::IAdd, x, size);
        put(b, 3, index, sum);
    });
    let m = memory(vec![words([0, 3, 1, 2, 5, 0, 0, 9]), words(10..18), words(100..106), words(vec![0; 8])]);
    check(&s, &m, [1, 1, 1]);
}

#[test]
fn push_constants() {
    let s = shader([8, 1, 1], |b| {
        let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
        let at = byte_offset(b, index);
        let x = b.op(Op::Load(Space::Push, FLAGS), &[at], Ty::I32);
        let twelve = b.u32(12);
        let y = b.op(Op::Load(Space::Push, FLAGS), &[twelve], Ty::I32);
        let sum = b.binary(Binary::IAdd, x, y);
        put(b, 0, index, sum);
    });
    let m = Memory { push: words(5..13), ..memory(vec![words(vec![0; 8])]) };
    check(&s, &m, [1, 1, 1]);
}

/// Checks that an endless loop ends when the flag is set, for any conditions of the loop.
#[test]
fn abort_leaves_endless_loops() {
    for varying in [false, true] {
        let s = shader([8, 1, 1], |b| {
            let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
            let zero = b.u32(0);
            let x = if varying { index } else { zero };
            let nine = b.u32(9);
            b.loop_(&[], &[], |b, label, _| {
                let never = b.cmp(Cmp::IEq, x, nine);
                b.break_if(never, label, &[]);
                Term::default()
            });
            put(b, 0, index, nine);
        });
        let stage = compile(&s, &buffers_layout(1), 8);
        let mut env = Environment::new(&[words(vec![0; 8])], &[]);
        let flag: &std::sync::atomic::AtomicU32 = &env.abort;
        // SAFETY: the flag lives in a box that the environment keeps until the thread is joined.
        let flag: &'static std::sync::atomic::AtomicU32 = unsafe { &*std::ptr::from_ref(flag) };
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            flag.store(1, Ordering::Relaxed);
        });
        dispatch(&stage, &mut env, [1, 1, 1]);
        killer.join().expect("killer");
        assert_eq!(env.buffer(0), words(vec![0; 8]));
    }
}
