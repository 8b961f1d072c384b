//! Tests that every row of the operation table is emitted or refused, and that the stages of which
//! the table says that emission cannot fail are emitted.

use super::{EmitOptions, build, can_defer};
use crate::error::{ErrorKind, Result};
use crate::ir::examples::{instances, template, variants};
use crate::ir::{
    Binary, Builder, Builtin, Cmp, EmissionRule, FloatFlags, Meaning, MemFlags, Node, Op, Scope, Shader, Space,
    Subgroup, Ty, Unary, Value, VarData, verify,
};
use crate::passes::{divergence, lower_f16, lower_float, lower_math};
use base::abi::BatchKind;
use base::shader::{BindingLayout, DescriptorKind, PipelineLayoutInfo, Stage};

/// Returns a layout with storage buffer 0, image 1, sampler 2, inline uniform block 3 and
/// acceleration structure 4.
fn layout() -> PipelineLayoutInfo {
    let kinds = [
        DescriptorKind::StorageBuffer,
        DescriptorKind::SampledImage,
        DescriptorKind::Sampler,
        DescriptorKind::InlineUniformBlock,
        DescriptorKind::AccelerationStructure,
    ];
    let binding = |(binding, kind): (u32, DescriptorKind)| {
        let offset = binding * base::abi::DESCRIPTOR_SIZE as u32;
        BindingLayout { binding, kind, offset, count: 1, variable: false, dynamic_index: 0 }
    };
    PipelineLayoutInfo { sets: vec![(0..).zip(kinds).map(binding).collect()], heap: None }
}

/// Dependence of operands on the lane, by which emission chooses between scalars and vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepForm {
    Constant,
    Uniform,
    /// Affine if the operand is an I32, else varying.
    Affine,
    Varying,
}

const FORMS: [RepForm; 4] = [RepForm::Constant, RepForm::Uniform, RepForm::Affine, RepForm::Varying];

/// Returns a value of a type; a descriptor differs between lanes if its index does.
fn operand(b: &mut Builder<'_>, ty: Ty, form: RepForm) -> Value {
    let lane = match form {
        RepForm::Constant | RepForm::Uniform => b.i32(0),
        RepForm::Affine | RepForm::Varying => b.builtin(Builtin::SubgroupInvocation, Ty::I32),
    };
    let buffer = b.buffer(0, 0);
    let flags = MemFlags { align: ty.bytes().max(4) as u8, ..MemFlags::default() };
    let mut load = |ty: Ty, n: usize| {
        let at = b.i32(8 * n as i32);
        let at = b.binary(Binary::IAdd, lane, at);
        b.op(Op::Load(Space::Buffer, flags), &[buffer, at], ty)
    };
    let index = if form == RepForm::Varying { load(Ty::I32, 3) } else { lane };
    match ty {
        Ty::Buf => b.op(Op::BufferDesc { set: 0, binding: 0 }, &[index], ty),
        Ty::Img => b.op(Op::ImageDesc { set: 0, binding: 1 }, &[index], ty),
        Ty::Smp => b.op(Op::SamplerDesc { set: 0, binding: 2 }, &[index], ty),
        Ty::I32 if form == RepForm::Affine => lane,
        ty if form == RepForm::Constant => b.constant(ty, 1),
        Ty::B1 => {
            let (x, y) = (load(Ty::I32, 1), load(Ty::I32, 2));
            b.cmp(Cmp::ULt, x, y)
        }
        ty => load(ty, 1),
    }
}

/// Returns a shader with one operation under test.
fn shader(stage: Stage, op: &Op, args: &[Ty], results: &[Ty], form: RepForm, float: FloatFlags) -> Shader {
    let mut shader = template(stage);
    let mut b = Builder::new(&mut shader);
    // Lane indices of quad broadcasts and limits of bounds are constants.
    let constant = matches!(op, Op::Subgroup(Subgroup::QuadBroadcast) | Op::Binary(Binary::Bound));
    let operands: Vec<Value> = (0..)
        .zip(args)
        .map(|(n, &ty)| if constant && n == 1 { b.constant(ty, 1) } else { operand(&mut b, ty, form) })
        .collect();
    b.float = float;
    b.inst(op.clone(), &operands, results);
    b.finish();
    shader
}

/// An emission, and the answer of the operation table.
struct Attempt {
    shader: Shader,
    emitted: Result<()>,
    /// True if the table says that emission cannot fail.
    infallible: bool,
}

impl Attempt {
    /// Lowers and emits a shader.
    fn new(mut shader: Shader, lanes: u32) -> Attempt {
        verify(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
        lower_f16(&mut shader);
        lower_float(&mut shader);
        if let Err(e) = lower_math(&mut shader) {
            return Attempt { shader, emitted: Err(e), infallible: false };
        }
        let built = build(&shader, &divergence(&shader, lanes), &layout(), &EmitOptions::with_lanes(lanes));
        let infallible = can_defer(&shader, &layout(), lanes);
        Attempt { shader, emitted: built.map(|_| ()), infallible }
    }

    /// Returns the error of an emission that cannot fail, if it failed.
    fn broken(&self) -> Option<String> {
        let error = self.emitted.as_ref().err().filter(|_| self.infallible)?;
        Some(format!("{error}\n{}", self.shader))
    }
}

#[test]
fn every_operation_is_emitted_or_refused() {
    for op in Op::examples() {
        let (mut tried, mut emitted) = (0, 0);
        for (args, results) in instances(&template(Stage::Compute), &op) {
            for &stage in Stage::ALL {
                tried += 1;
                match Attempt::new(shader(stage, &op, &args, &results, RepForm::Varying, FloatFlags::NONE), 8).emitted {
                    Ok(()) => emitted += 1,
                    Err(e) => assert_ne!(e.kind, ErrorKind::Internal, "{op:?} {args:?} -> {results:?}: {e}"),
                }
            }
        }
        assert!(tried > 0 && emitted > 0, "{op:?} is always refused");
    }
}

/// Returns the sizes of chunks that a stage may have.
fn chunk_sizes(stage: Stage) -> &'static [u32] {
    match stage.row().batch {
        BatchKind::Quads | BatchKind::Workgroup | BatchKind::Mesh | BatchKind::Invocations => &[4, 8, 16, 32, 64],
        BatchKind::Vertices | BatchKind::Patches | BatchKind::Domain | BatchKind::Primitives => &[4, 8],
    }
}

/// Emits each row in each stage, with further payloads, all types, all shapes of operands and all
/// sizes of chunks. Emission has to succeed wherever the row says that it cannot fail, because a
/// deferred error is a lost device.
#[test]
fn emission_succeeds_where_the_table_says_so() {
    let mut broken = Vec::new();
    for example in Op::examples() {
        let mut infallible = 0;
        let mut attempt = |op: &Op, (args, results): (&[Ty], &[Ty]), stage: Stage, form: RepForm, lanes: u32| {
            let attempt = Attempt::new(shader(stage, op, args, results, form, FloatFlags::NONE), lanes);
            infallible += usize::from(attempt.infallible);
            broken.extend(attempt.broken());
        };
        for op in variants(&example) {
            for (args, results) in instances(&template(Stage::Compute), &op) {
                for &stage in Stage::ALL {
                    let types = (&args[..], &results[..]);
                    attempt(&op, types, stage, RepForm::Varying, 8);
                    if op == example {
                        FORMS.iter().for_each(|&form| attempt(&op, types, stage, form, 8));
                        chunk_sizes(stage).iter().for_each(|&n| attempt(&op, types, stage, RepForm::Varying, n));
                    }
                }
            }
        }
        let info = example.info();
        // The expansion of an operation that is expanded consists of others.
        let known = info.emission != EmissionRule::Fallible || info.meaning == Meaning::Expanded;
        assert_eq!(infallible > 0, known, "{}", info.name);
    }
    assert!(broken.is_empty(), "{} emissions failed: {:#?}", broken.len(), &broken[..broken.len().min(8)]);
}

#[test]
fn arithmetic_that_is_not_implemented_is_refused() {
    let add = Op::Binary(Binary::FAdd);
    let with = |float| {
        let attempt = Attempt::new(shader(Stage::Compute, &add, &[Ty::F32; 2], &[Ty::F32], RepForm::Varying, float), 8);
        assert_eq!(attempt.broken(), None);
        attempt.emitted.map_err(|e| e.kind)
    };
    assert_eq!(with(FloatFlags::KEEP_DENORMALS | FloatFlags::NO_CONTRACTION), Ok(()));
    for float in [FloatFlags::ROUND_ZERO, FloatFlags::FLUSH_DENORMALS] {
        assert_eq!(with(float), Err(ErrorKind::Unsupported));
    }
}

#[test]
fn stages_that_emission_may_refuse_are_not_deferred() {
    let add = Op::Binary(Binary::IAdd);
    let small = || shader(Stage::Compute, &add, &[Ty::I32; 2], &[Ty::I32], RepForm::Varying, FloatFlags::NONE);
    assert!(can_defer(&small(), &layout(), 8));
    // The empty layout has no bindings.
    assert!(!can_defer(&small(), &PipelineLayoutInfo { sets: Vec::new(), heap: None }, 8));
    // A vertex stage has no workgroup memory.
    let flags = MemFlags { align: 4, ..MemFlags::default() };
    let shared = Op::Load(Space::Shared, flags);
    let with = |stage| shader(stage, &shared, &[Ty::I32], &[Ty::I32], RepForm::Varying, FloatFlags::NONE);
    assert!(can_defer(&with(Stage::Compute), &layout(), 8) && !can_defer(&with(Stage::Vertex), &layout(), 8));
    // An image is in no inline uniform block.
    let image = |binding| {
        let op = Op::ImageDesc { set: 0, binding };
        shader(Stage::Compute, &op, &[Ty::I32], &[Ty::Img], RepForm::Varying, FloatFlags::NONE)
    };
    assert!(can_defer(&image(1), &layout(), 8) && !can_defer(&image(3), &layout(), 8));
    let mut arrays = small();
    arrays.vars.push(VarData { ty: Ty::I32, len: 1 << 24, name: String::new() });
    assert!(!can_defer(&arrays, &layout(), 8));
    let mut long = small();
    for _ in 0..10_000 {
        Builder::new(&mut long).i32(0);
    }
    // Instructions outside of the body are not emitted.
    assert!(can_defer(&long, &layout(), 8));
    long.root.body.nodes.extend(long.insts.keys().map(Node::Inst));
    assert!(!can_defer(&long, &layout(), 8));
    let mut replaced = small();
    let mut b = Builder::new(&mut replaced);
    let one = b.constant(Ty::F32, 1);
    b.inst(Op::Unary(Unary::Cos), &[one], &[Ty::F32]);
    assert!(can_defer(&replaced, &layout(), 8));
    let mut deep = small();
    for _ in 0..100 {
        let (label, body) = (deep.new_label(), std::mem::take(&mut deep.root.body));
        deep.root.body.nodes.push(Node::Scope(Box::new(Scope { label, body, results: Vec::new() })));
    }
    assert!(!can_defer(&deep, &layout(), 8));
}
