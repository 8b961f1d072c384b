//! Tests that every row of the operation table is emitted or refused.

use super::{EmitOptions, build, is_certain};
use crate::error::{ErrorKind, Result};
use crate::ir::{
    Binary, Builder, Builtin, Cmp, FloatFlags, MemFlags, Node, Op, Scope, Shader, Space, Subgroup, Ty, Value, VarData,
    verify,
};
use crate::passes::{divergence, halves, lower_float, lower_math};
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo, Stage};

/// Returns a layout with storage buffer 0, image 1 and sampler 2.
fn layout() -> PipelineLayoutInfo {
    let kinds = [DescriptorKind::StorageBuffer, DescriptorKind::SampledImage, DescriptorKind::Sampler];
    let binding = |(binding, kind): (u32, DescriptorKind)| {
        let offset = binding * base::abi::DESCRIPTOR_SIZE as u32;
        BindingLayout { binding, kind, offset, count: 1, variable: false, dynamic_index: 0 }
    };
    PipelineLayoutInfo { sets: vec![(0..).zip(kinds).map(binding).collect()], heap: None }
}

/// Returns a value of the type that differs between lanes, unless it is a descriptor.
fn operand(b: &mut Builder<'_>, ty: Ty) -> Value {
    let zero = b.i32(0);
    let buffer = b.buffer(0, 0);
    let flags = MemFlags { align: ty.bytes().max(4) as u8, ..MemFlags::default() };
    let mut load = |ty: Ty, n: usize| {
        let lane = b.builtin(Builtin::SubgroupInvocation, Ty::I32);
        let at = b.i32(8 * n as i32);
        let at = b.binary(Binary::IAdd, lane, at);
        b.op(Op::Load(Space::Buffer, flags), &[buffer, at], ty)
    };
    match ty {
        Ty::Buf => buffer,
        Ty::Img => b.op(Op::ImageDesc { set: 0, binding: 1 }, &[zero], ty),
        Ty::Smp => b.op(Op::SamplerDesc { set: 0, binding: 2 }, &[zero], ty),
        Ty::B1 => {
            let (x, y) = (load(Ty::I32, 1), load(Ty::I32, 2));
            b.cmp(Cmp::ULt, x, y)
        }
        ty => load(ty, 1),
    }
}

/// Returns a shader with one operation under test.
fn shader(stage: Stage, op: &Op, args: &[Ty], results: &[Ty], float: FloatFlags) -> Shader {
    let mut shader = Shader::new(stage, "test");
    let mut b = Builder::new(&mut shader);
    // Lane indices of quad broadcasts and limits of bounds are constants.
    let constant = matches!(op, Op::Subgroup(Subgroup::QuadBroadcast) | Op::Binary(Binary::Bound));
    let operands: Vec<Value> = (0..)
        .zip(args)
        .map(|(n, &ty)| if constant && n == 1 { b.constant(ty, 1) } else { operand(&mut b, ty) })
        .collect();
    b.float = float;
    b.inst(op.clone(), &operands, results);
    b.finish();
    shader
}

fn emit(mut shader: Shader) -> Result<()> {
    verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    halves(&mut shader);
    lower_float(&mut shader);
    lower_math(&mut shader)?;
    let built = build(&shader, &divergence(&shader, 8), &layout(), &EmitOptions::default()).map(|_| ());
    if is_certain(&shader, &layout(), 8) {
        built.as_ref().unwrap_or_else(|e| panic!("taken for certain: {e}\n{shader}"));
    }
    built
}

#[test]
fn every_operation_is_emitted_or_refused() {
    for op in Op::examples() {
        let (mut tried, mut emitted) = (0, 0);
        for (args, results) in op.row().types.instances() {
            for &stage in Stage::ALL {
                tried += 1;
                match emit(shader(stage, &op, &args, &results, FloatFlags::NONE)) {
                    Ok(()) => emitted += 1,
                    Err(e) => assert_ne!(e.kind, ErrorKind::Internal, "{op:?} {args:?} -> {results:?}: {e}"),
                }
            }
        }
        assert!(tried == 0 || emitted > 0, "{op:?} is always refused");
    }
}

#[test]
fn arithmetic_that_is_not_implemented_is_refused() {
    let add = Op::Binary(Binary::FAdd);
    let with = |float| emit(shader(Stage::Compute, &add, &[Ty::F32; 2], &[Ty::F32], float));
    assert!(with(FloatFlags::KEEP_DENORMALS | FloatFlags::NO_CONTRACTION).is_ok());
    for float in [FloatFlags::ROUND_ZERO, FloatFlags::FLUSH_DENORMALS] {
        assert_eq!(with(float).map_err(|e| e.kind), Err(ErrorKind::Unsupported));
    }
}

#[test]
fn what_emission_may_refuse_is_not_certain() {
    let add = Op::Binary(Binary::IAdd);
    let small = || shader(Stage::Compute, &add, &[Ty::I32; 2], &[Ty::I32], FloatFlags::NONE);
    assert!(is_certain(&small(), &layout(), 8));
    // The empty layout has no bindings.
    assert!(!is_certain(&small(), &PipelineLayoutInfo { sets: Vec::new(), heap: None }, 8));
    let mut arrays = small();
    arrays.vars.push(VarData { ty: Ty::I32, len: 1 << 24, name: String::new() });
    assert!(!is_certain(&arrays, &layout(), 8));
    let mut long = small();
    for _ in 0..10_000 {
        Builder::new(&mut long).i32(0);
    }
    assert!(!is_certain(&long, &layout(), 8));
    let mut deep = small();
    for _ in 0..100 {
        let (label, body) = (deep.new_label(), std::mem::take(&mut deep.root.body));
        deep.root.body.nodes.push(Node::Scope(Box::new(Scope { label, body, results: Vec::new() })));
    }
    assert!(!is_certain(&deep, &layout(), 8));
}
