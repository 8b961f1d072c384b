//! Tests of the verifier of accesses (`lir::safety`): it accepts emitted code, and rejects code
//! from which any check is removed.

use crate::emit_common::{WIDTHS, buffers_layout};
use base::abi::AtomicOp;
use base::shader::{FrameInfo, Stage};
use jit::emit::{self, Emission, EmitOptions};
use jit::ir::{Binary, Builder, Builtin, Convert, InterpolateAt, MemFlags, Op, Shader, Space, Ty};
use jit::lir::{self, AccessReason, Def, Imm, Inst, IntCond, Type, Value};
use jit::passes;
use jit_test_support::ir_random::{Options, compute_shader, ray_generation_shader};

/// A distance in bytes that exceeds any check of these programs.
const FURTHER: i32 = 1 << 16;
const FLAGS: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };

fn emitted(shader: &Shader, lanes: u32) -> Emission {
    let divergence = passes::divergence(shader, lanes);
    emit::build(shader, &divergence, &buffers_layout(2), &EmitOptions::with_lanes(lanes)).expect("LIR")
}

fn verify(emission: &Emission, shader: &Shader) -> Result<(), String> {
    emit::verify(emission, shader, &buffers_layout(2), false)
}

/// Returns a shader with accesses of every kind: by affine and varying offsets, through pointers,
/// and atomics with and without a mask.
fn accesses() -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    shader.workgroup_mut().expect("workgroups").local_size = [64, 1, 1];
    shader.workgroup_mut().expect("workgroups").shared_bytes = 256;
    shader.side_effects = true;
    let mut b = Builder::new(&mut shader);
    let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
    let (input, output) = (b.buffer(0, 0), b.buffer(0, 1));
    let scaled = |b: &mut Builder<'_>, bytes: u32| {
        let bytes = b.u32(bytes);
        b.binary(Binary::IMul, index, bytes)
    };
    let (four, twelve, eight) = (scaled(&mut b, 4), scaled(&mut b, 12), scaled(&mut b, 8));
    let a = b.load(input, four, Ty::I32);
    let c = b.load(input, twelve, Ty::I32);
    let d = b.load(input, a, Ty::I32);
    let pointer = b.load(input, eight, Ty::I64);
    let e = b.inst(Op::Load(Space::Global, FLAGS), &[pointer], &[Ty::I32; 4]);
    let e = b.shader.insts[e].results().next().expect("a result");
    let f = b.inst(Op::Load(Space::Shared, FLAGS), &[d], &[Ty::I32]);
    let f = b.shader.insts[f].results().next().expect("a result");
    for (at, v) in [(four, c), (twelve, d), (d, e), (a, f)] {
        b.inst(Op::Store(Space::Buffer, FLAGS), &[output, at, v], &[]);
    }
    b.inst(Op::Store(Space::Global, FLAGS), &[pointer, e], &[]);
    b.inst(Op::Store(Space::Shared, FLAGS), &[a, e], &[]);
    b.op(Op::Atomic(Space::Buffer, AtomicOp::Add), &[output, d, a], Ty::I32);
    b.op(Op::Atomic(Space::Buffer, AtomicOp::CompareExchange), &[output, a, d, c], Ty::I32);
    b.op(Op::Atomic(Space::Global, AtomicOp::UMax), &[pointer, a], Ty::I32);
    b.op(Op::Atomic(Space::Shared, AtomicOp::Add), &[a, d], Ty::I32);
    b.finish();
    jit::ir::verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

/// Replaces all uses of a value.
fn replace(func: &mut lir::Function, from: Value, to: Value) {
    let change = |v: &mut Value| {
        if *v == from {
            *v = to;
        }
    };
    func.insts.values_mut().for_each(|data| data.args.iter_mut().for_each(change));
    func.blocks.values_mut().for_each(|block| {
        block.targets.iter_mut().for_each(|target| target.args.iter_mut().for_each(change));
    });
}

/// Returns true if a value is the address that a selection chooses if a check fails, also as a
/// vector.
fn is_fallback(func: &lir::Function, v: Value) -> bool {
    let data = func.definition(v);
    data.is_some_and(|data| match (data.op, data.imm) {
        (lir::Op::Splat, _) => is_fallback(func, data.args[0]),
        (lir::Op::Load, Imm::Access(access)) => access.reason == AccessReason::Field && data.ty == Type::I64,
        _ => false,
    })
}

/// Returns broken variants of an emission, each without one of its checks.
fn broken(func: &lir::Function) -> Vec<(String, lir::Function)> {
    let mut out = Vec::new();
    let in_layout: Vec<Inst> = func.layout.iter().flat_map(|&block| func.blocks[block].insts.clone()).collect();
    for &inst in &in_layout {
        let data = &func.insts[inst];
        let mut change = func.clone();
        match (data.op, data.imm) {
            // The variant always uses the address, checked or not.
            (lir::Op::Select, _) if is_fallback(func, data.args[2]) => {
                replace(&mut change, data.first, data.args[1]);
                out.push((format!("{inst} chooses always the address"), change));
            }
            (_, Imm::Access(access)) if access.reason == AccessReason::Checked => {
                let further = lir::Access { offset: access.offset + FURTHER, ..access };
                change.insts[inst].imm = Imm::Access(further);
                out.push((format!("{inst} lies further behind"), change));
            }
            (_, Imm::Gather(access, n)) if access.reason == AccessReason::Checked => {
                let all = change.values.push(lir::ValueData { ty: func.ty(data.args[0]), def: Def::Const(1) });
                change.insts[inst].args[0] = all;
                out.push((format!("{inst} takes all lanes"), change));
                let mut change = func.clone();
                let further = lir::Access { offset: access.offset + FURTHER, ..access };
                change.insts[inst].imm = Imm::Gather(further, n);
                out.push((format!("{inst} lies further behind"), change));
            }
            // The variant inverts the comparison.
            (lir::Op::Icmp, Imm::Int(cond @ (IntCond::Ule | IntCond::Ult))) if func.ty(data.args[0]) == Type::I64 => {
                let size = func.definition(data.args[1]);
                if size.is_some_and(|d| matches!(d.imm, Imm::Access(a) if a.reason == AccessReason::Descriptor)) {
                    let other = if cond == IntCond::Ule { IntCond::Ugt } else { IntCond::Uge };
                    change.insts[inst].imm = Imm::Int(other);
                    out.push((format!("{inst} compares the other way around"), change));
                }
            }
            _ => {}
        }
    }
    for &block in &func.layout {
        let data = &func.blocks[block];
        let Some(&last) = data.insts.last() else { continue };
        // The variant always branches to the block with the accesses.
        let checked =
            |inst: &Inst| matches!(func.insts[*inst].imm, Imm::Access(a) if a.reason == AccessReason::Checked);
        if let [then, _] = &data.targets[..]
            && func.blocks[then.block].insts.iter().any(checked)
            && !func.blocks[then.block].cold
        {
            let mut change = func.clone();
            let always = change.values.push(lir::ValueData { ty: Type::B, def: Def::Const(1) });
            change.insts[last].args[0] = always;
            out.push((format!("{block} goes to {} always", then.block), change));
        }
    }
    out
}

/// Checks that the code of a shader is proved, and that no variant without one of its checks is.
/// Returns the number of variants.
fn check_with_and_without_bounds(shader: &Shader) -> usize {
    let mut count = 0;
    for lanes in WIDTHS {
        let emission = emitted(shader, lanes);
        verify(&emission, shader).unwrap_or_else(|e| panic!("{e}\n{}", emission.lir));
        for (how, lir) in broken(&emission.lir) {
            let change = Emission { lir, ..emission };
            assert!(verify(&change, shader).is_err(), "{lanes} lanes: {how}\n{}", emission.lir);
            count += 1;
        }
    }
    count
}

#[test]
fn removed_bounds_check_is_reported() {
    let count = check_with_and_without_bounds(&accesses());
    assert!(count > 200, "only {count} ways were tried");
}

/// Returns a shader that stores through constant addresses, a null pointer among them.
fn constant_addresses() -> Shader {
    let mut shader = Shader::new(Stage::Compute, "test");
    shader.workgroup_mut().expect("workgroups").local_size = [64, 1, 1];
    shader.side_effects = true;
    let mut b = Builder::new(&mut shader);
    let index = b.builtin(Builtin::LocalInvocationIndex, Ty::I32);
    for address in [0, 64, 1 << 40] {
        let pointer = b.constant(Ty::I64, address);
        b.inst(Op::Store(Space::Global, FLAGS), &[pointer, index, index], &[]);
        let loaded = b.inst(Op::Load(Space::Global, FLAGS), &[pointer], &[Ty::I32]);
        let loaded = b.shader.insts[loaded].results().next().expect("a result");
        b.op(Op::Atomic(Space::Global, AtomicOp::Add), &[pointer, loaded], Ty::I32);
    }
    b.finish();
    jit::ir::verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

#[test]
fn accesses_at_constant_addresses_are_proved() {
    let count = check_with_and_without_bounds(&constant_addresses());
    assert!(count > 50, "only {count} ways were tried");
}

#[test]
fn random_programs_are_proved() {
    for seed in 0..60 {
        let options = Options { barriers: seed % 3 == 0, results: seed % 2 == 0, ..Options::default() };
        let program = compute_shader(seed, options);
        let mut shader = program.shader.clone();
        if seed % 4 != 0 {
            passes::run(&mut shader, &passes::PassOptions::default()).expect("passes");
        }
        for lanes in [4, 8, WIDTHS[2 + seed as usize % 3]] {
            let emission = emitted(&shader, lanes);
            verify(&emission, &shader).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", emission.lir));
        }
    }
}

/// Returns a shader that keeps values and an array in the frames of its invocations.
fn frames() -> Shader {
    let mut shader = ray_generation_shader(0, Options { size: 0, vars: false, ..Options::default() }).shader;
    let mut b = Builder::new(&mut shader);
    let index = b.op(Op::LoadInput(0, InterpolateAt::Default), &[], Ty::I32);
    let long = b.convert(Convert::UToU, index, Ty::I64);
    let var = b.var(Ty::I32, 5, "");
    b.var_store(var, Some(index), index);
    let called = b.op(Op::ExecuteCallable, &[index, index], Ty::I32);
    let element = b.var_load(var, Some(called));
    let low = b.convert(Convert::UToU, long, Ty::I32);
    b.op(Op::ExecuteCallable, &[element, low], Ty::I32);
    b.finish();
    jit::ir::verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    shader
}

#[test]
fn access_outside_of_frame_is_reported() {
    let shader = frames();
    let words = emit::frame(&shader).expect("a frame").expect("a stage with frames").words;
    let mut counts = [0; 2];
    for lanes in WIDTHS {
        let emission = emitted(&shader, lanes);
        verify(&emission, &shader).unwrap_or_else(|e| panic!("{e}\n{}", emission.lir));
        let func = &emission.lir;
        let in_layout: Vec<Inst> = func.layout.iter().flat_map(|&block| func.blocks[block].insts.clone()).collect();
        for inst in in_layout {
            let data = &func.insts[inst];
            let mut lir = func.clone();
            match (data.op, data.imm) {
                (_, Imm::Gather(access, n)) if access.reason == AccessReason::Element => {
                    let further = lir::Access { offset: FrameInfo::word_bytes(words) as i32, ..access };
                    lir.insts[inst].imm = Imm::Gather(further, n);
                    counts[0] += 1;
                }
                // The limit of an index.
                (lir::Op::Umin, _) if func.ty(data.args[0]).lane_bytes() == 4 => {
                    replace(&mut lir, data.first, data.args[0]);
                    counts[1] += 1;
                }
                _ => continue,
            }
            assert!(verify(&Emission { lir, ..emission }, &shader).is_err(), "{lanes} lanes: {inst}\n{func}");
        }
    }
    assert!(counts[0] > 50 && counts[1] >= 10, "{counts:?}");
}

#[test]
fn wrong_access_reason_is_reported() {
    let shader = accesses();
    let emission = emitted(&shader, 8);
    for reason in [
        AccessReason::Field,
        AccessReason::Element,
        AccessReason::Frame,
        AccessReason::Scratch,
        AccessReason::Shared,
        AccessReason::Caller,
    ] {
        let mut lir = emission.lir.clone();
        let other = |imm: Imm| match imm {
            Imm::Access(access) if access.reason == AccessReason::Checked => {
                Imm::Access(lir::Access { reason, ..access })
            }
            imm => imm,
        };
        lir.insts.values_mut().for_each(|data| data.imm = other(data.imm));
        assert!(verify(&Emission { lir, ..emission }, &shader).is_err(), "{reason:?}");
    }
}
