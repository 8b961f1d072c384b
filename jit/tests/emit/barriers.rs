//! Tests of barriers in control flow that is uniform only at run time, or not at all, compared with
//! the interpreter.

use crate::emit_common::*;
use base::shader::{Stage, StageSpecificInfo, WorkgroupInfo};
use jit::ir::*;
use jit::passes::{self, PassOptions};
use jit_test_support::interp::{self, Memory};

const FLAGS: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };

/// Returns a shader with `n` invocations and a word of shared memory for each. The closure gets the
/// indices of the invocation in its workgroup and in the dispatch.
fn shader(n: u32, build: impl FnOnce(&mut Builder<'_>, Value, Value)) -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    let info = WorkgroupInfo { local_size: [n, 1, 1], shared_bytes: 4 * n, reserved_bytes: 0 };
    shader.stage_info = StageSpecificInfo::Compute(info);
    shader.side_effects = true;
    let mut b = Builder::new(&mut shader);
    let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
    let global = b.builtin(Builtin::GlobalInvocationId(0), Ty::I32);
    build(&mut b, index, global);
    b.finish();
    if let Err(e) = verify(&shader) {
        panic!("{e}\n{shader}");
    }
    shader
}

/// Checks that buffer 1 after `groups` workgroups equals the interpreter's, at both widths, with
/// and without the passes. Returns that buffer.
fn check(shader: &Shader, input: &[u32], groups: u32) -> Vec<u32> {
    let output = vec![0; (shader.workgroup().expect("workgroups").local_size[0] * groups * 4) as usize];
    let memory =
        Memory { buffers: vec![((0, 0), words(input.iter().copied())), ((0, 1), output)], ..Memory::default() };
    let mut result = Vec::new();
    for optimise in [false, true] {
        let mut shader = shader.clone();
        if optimise {
            passes::run(&mut shader, &PassOptions::default()).expect("passes");
        }
        for lanes in WIDTHS {
            let mut expected = memory.clone();
            for group in 0..groups {
                interp::run_workgroup(&shader, &mut expected, [group, 0, 0], [groups, 1, 1], lanes as usize, None)
                    .unwrap_or_else(|e| panic!("{e:?}\n{shader}"));
            }
            result = as_words(&expected.buffers[1].1);
            let got = run_memory(&shader, &memory, lanes, [groups, 1, 1]);
            assert_eq!(as_words(&got[1]), result, "{lanes} lanes, optimised {optimise}\n{shader}");
        }
    }
    result
}

fn at(b: &mut Builder<'_>, index: Value) -> Value {
    let four = b.i32(4);
    b.binary(Binary::IMul, index, four)
}

fn get(b: &mut Builder<'_>, index: Value) -> Value {
    let (buf, at) = (b.buffer(0, 0), at(b, index));
    b.load(buf, at, Ty::I32)
}

fn put(b: &mut Builder<'_>, index: Value, value: Value) {
    let (buf, at) = (b.buffer(0, 1), at(b, index));
    b.store(buf, at, value);
}

/// Returns the value of invocation `n - 1 - index`, exchanged through shared memory.
fn mirror(b: &mut Builder<'_>, n: u32, index: Value, value: Value) -> Value {
    let here = at(b, index);
    b.inst(Op::Store(Space::Shared, FLAGS), &[here, value], &[]);
    b.inst(Op::Barrier, &[], &[]);
    let last = b.u32(n - 1);
    let other = b.binary(Binary::ISub, last, index);
    let there = at(b, other);
    let got = b.op(Op::Load(Space::Shared, FLAGS), &[there], Ty::I32);
    b.inst(Op::Barrier, &[], &[]);
    got
}

/// In the first workgroup, invocations diverge between two arms without a barrier. The second
/// workgroup goes to the barrier as a whole (dEQP-VK.compute.pipeline.basic.branch_past_barrier).
#[test]
fn barrier_in_arm_that_some_workgroups_skip() {
    let n = 24;
    let s = shader(n, |b, index, global| {
        let v = get(b, global);
        let (zero, one) = (b.u32(0), b.u32(1));
        let is_zero = b.cmp(Cmp::IEq, v, zero);
        let result = b.if_(
            is_zero,
            &[Ty::I32],
            |b| Term::Yield(vec![b.u32(200)]),
            |b| {
                let is_one = b.cmp(Cmp::IEq, v, one);
                let inner = b.if_(
                    is_one,
                    &[Ty::I32],
                    |b| Term::Yield(vec![b.u32(300)]),
                    |b| Term::Yield(vec![mirror(b, n, index, v)]),
                );
                Term::Yield(inner)
            },
        );
        // A value from before the branch, and the masks, must be correct after it.
        let sum = b.binary(Binary::IAdd, result[0], index);
        put(b, global, sum);
    });
    let input: Vec<u32> = (0..2 * n).map(|i| if i < n { i % 2 } else { 2 + i }).collect();
    let got = check(&s, &input, 2);
    for (i, &v) in (0..n).zip(&got) {
        assert_eq!(v, i + if i % 2 == 0 { 200 } else { 300 });
    }
    for (i, &v) in (0..n).zip(&got[n as usize..]) {
        assert_eq!(v, i + 2 + n + (n - 1 - i));
    }
}

/// Both arms have barriers, with results from before the branch, and lanes that break to an outer
/// scope.
#[test]
fn both_arms_with_barriers_and_breaks() {
    for n in [5u32, 16, 20] {
        let s = shader(n, |b, index, global| {
            let v = get(b, global);
            let (zero, three) = (b.u32(0), b.u32(3));
            let low = b.cmp(Cmp::IEq, v, zero);
            let small = b.cmp(Cmp::ULt, index, three);
            let out = b.scope(&[Ty::I32], |b, label| {
                let r = b.if_(
                    low,
                    &[Ty::I32, Ty::F32],
                    |b| {
                        let m = mirror(b, n, index, index);
                        b.break_if(small, label, &[m]);
                        let f = b.convert(Convert::UToF, m, Ty::F32);
                        Term::Yield(vec![index, f])
                    },
                    |b| {
                        let m = mirror(b, n, index, v);
                        let f = b.convert(Convert::UToF, index, Ty::F32);
                        b.break_if(small, label, &[v]);
                        Term::Yield(vec![m, f])
                    },
                );
                let i = b.convert(Convert::FToU, r[1], Ty::I32);
                let sum = b.binary(Binary::IAdd, r[0], i);
                Term::Yield(vec![sum])
            });
            put(b, global, out[0]);
        });
        let input: Vec<u32> = (0..2 * n).map(|i| if i < n { 0 } else { 7 + i }).collect();
        check(&s, &input, 2);
    }
}

/// The trip count of a loop is loaded per invocation, and is equal in a workgroup.
#[test]
fn loop_with_barrier_and_count_from_memory() {
    for n in [3u32, 8, 20] {
        let s = shader(n, |b, index, global| {
            let count = get(b, global);
            let (zero, one) = (b.u32(0), b.u32(1));
            let out = b.loop_(&[zero, index], &[Ty::I32], |b, label, p| {
                let done = b.cmp(Cmp::ULe, count, p[0]);
                b.break_if(done, label, &[p[1]]);
                let m = mirror(b, n, index, p[1]);
                let next = b.binary(Binary::IAdd, p[0], one);
                let v = b.binary(Binary::IAdd, m, next);
                Term::Yield(vec![next, v])
            });
            put(b, global, out[0]);
        });
        let input: Vec<u32> = (0..4 * n).map(|i| [3, 0, 1, 6][(i / n) as usize]).collect();
        let got = check(&s, &input, 4);
        assert_eq!(got[0], n - 1 + 1 + 2 + 3);
    }
}

/// Some invocations of a chunk, or whole chunks, return before a loop with a barrier, and the other
/// invocations continue.
#[test]
fn early_returns_before_a_loop_with_a_barrier() {
    let n = 32;
    for left in [0u32, 1, 5, 8, 12, 31, 32] {
        let s = shader(n, |b, index, global| {
            let (two, zero, one) = (b.u32(2), b.u32(0), b.u32(1));
            let limit = get(b, zero);
            let gone = b.cmp(Cmp::ULe, limit, index);
            let root = b.shader.root.label;
            b.break_if(gone, root, &[]);
            let out = b.loop_(&[zero, index], &[Ty::I32], |b, label, p| {
                let done = b.cmp(Cmp::ULe, two, p[0]);
                b.break_if(done, label, &[p[1]]);
                let m = mirror(b, n, index, p[1]);
                let next = b.binary(Binary::IAdd, p[0], one);
                let v = b.binary(Binary::IAdd, m, one);
                Term::Yield(vec![next, v])
            });
            put(b, global, out[0]);
        });
        let got = check(&s, &[left], 1);
        assert_eq!(got.iter().filter(|&&v| v != 0).count() as u32, left);
    }
}

/// Invocations of a workgroup that reach different numbers of barriers are invalid. The shader must
/// still end, and must not change other memory.
#[test]
fn mismatched_barriers_terminate() {
    let n = 32;
    let s = shader(n, |b, index, global| {
        let (zero, one) = (b.u32(0), b.u32(1));
        b.loop_(&[zero], &[], |b, label, p| {
            let done = b.cmp(Cmp::ULe, index, p[0]);
            b.break_if(done, label, &[]);
            b.inst(Op::Barrier, &[], &[]);
            let next = b.binary(Binary::IAdd, p[0], one);
            Term::Yield(vec![next])
        });
        put(b, global, index);
    });
    assert_eq!(check(&s, &[0], 1), (0..n).collect::<Vec<_>>());
}
