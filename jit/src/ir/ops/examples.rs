//! Examples of operations for tests that cover the operation table: other payloads that a row's
//! pattern matches, and all types that an operation takes.

use super::Signature;
use super::signature::{OBJECT_WORDS, TRACE_OPERANDS, ray_query_types};
use super::table::EXAMPLE_QUERIES;
use crate::ir::{
    Binary, Builtin, HEAP_DATA, InterpolateAt, MemFlags, Op, RAY_QUERY_PADDING, RAY_QUERY_WORDS, RESOURCE_HEAP,
    RayQueryOp, SAMPLER_HEAP, SampleInfo, Scan, Shader, Space, Subgroup, Ty, Var, VarData,
};
use base::abi::{AtomicOp, LodMode, RayGetter, SampleOp, TexelKind};
use base::shader::{InstanceWord, Interpolation, ReadInstanceOperand, ReorderOperand, Slot, SlotKind, SlotType, Stage};
use std::collections::HashSet;

const SCALARS: [Ty; 8] = [Ty::I32, Ty::F32, Ty::I64, Ty::F64, Ty::F16, Ty::I16, Ty::I8, Ty::B1];
const SPACES: [Space; 4] = [Space::Buffer, Space::Shared, Space::Push, Space::Global];
const ATOMICS: [AtomicOp; 16] = [
    AtomicOp::Exchange,
    AtomicOp::CompareExchange,
    AtomicOp::Add,
    AtomicOp::Sub,
    AtomicOp::SMin,
    AtomicOp::UMin,
    AtomicOp::SMax,
    AtomicOp::UMax,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Load,
    AtomicOp::Store,
    AtomicOp::FAdd,
    AtomicOp::FMin,
    AtomicOp::FMax,
];
const TEXELS: [TexelKind; 5] =
    [TexelKind::None, TexelKind::Unorm8, TexelKind::Float, TexelKind::Word, TexelKind::Words];

/// Number of the variable of [`template`] with a ray query.
const QUERIES: u32 = 2 * SCALARS.len() as u32;
const _: () = assert!(QUERIES == EXAMPLE_QUERIES);

/// Returns a shader without instructions. It has variables and arrays of all types, [`QUERIES`],
/// inputs and outputs, and workgroups of 64 invocations with shared memory if its stage has
/// workgroups.
pub(crate) fn template(stage: Stage) -> Shader {
    let mut shader = Shader::new(stage, "example");
    for len in [1, 4] {
        for ty in SCALARS {
            shader.vars.push(VarData { ty, len, name: String::new() });
        }
    }
    let slot = |location, ty, interpolation| Slot {
        kind: SlotKind::User { location, component: 0, index: 0 },
        ty,
        interpolation,
    };
    shader.vars.push(VarData { ty: Ty::I32, len: RAY_QUERY_WORDS + RAY_QUERY_PADDING, name: String::new() });
    shader.inputs = vec![slot(0, SlotType::Float, Interpolation::Smooth), slot(1, SlotType::Uint, Interpolation::Flat)];
    shader.outputs = vec![slot(0, SlotType::Float, Interpolation::Flat)];
    if let Ok(workgroup) = shader.workgroup_mut() {
        (workgroup.local_size, workgroup.shared_bytes) = ([8, 8, 1], 1024);
    }
    shader
}

/// Returns operations of the row of an example, among them the example.
pub(crate) fn variants(example: &Op) -> Vec<Op> {
    let mut all = vec![example.clone()];
    all.extend(payloads(example));
    all.retain(|op| std::ptr::eq(op.info(), example.info()));
    all
}

/// Returns operations with the name of an example and other payloads.
fn payloads(example: &Op) -> Vec<Op> {
    let accesses = || SPACES.into_iter().flat_map(|space| [1, 4, 8, 16].map(|align| (space, align)));
    match *example {
        Op::Const(_) => vec![Op::Const(1)],
        Op::VarLoad(_) => (0..2 * SCALARS.len()).map(|var| Op::VarLoad(Var::from_u32(var as u32))).collect(),
        Op::VarStore(_) => (0..2 * SCALARS.len()).map(|var| Op::VarStore(Var::from_u32(var as u32))).collect(),
        Op::BufferDesc { .. } => {
            let bindings = (0..4).map(|binding| Op::BufferDesc { set: 0, binding });
            bindings.chain([RESOURCE_HEAP, HEAP_DATA, 7].map(|set| Op::BufferDesc { set, binding: 0 })).collect()
        }
        Op::ImageDesc { .. } => [(0, 1), (0, 3), (0, 9), (RESOURCE_HEAP, 0), (7, 0)]
            .map(|(set, binding)| Op::ImageDesc { set, binding })
            .to_vec(),
        Op::SamplerDesc { .. } => [(0, 2), (0, 3), (0, 9), (SAMPLER_HEAP, 0), (7, 0)]
            .map(|(set, binding)| Op::SamplerDesc { set, binding })
            .to_vec(),
        Op::StructureDesc { .. } => [(0, 4), (0, 3), (0, 9), (RESOURCE_HEAP, 0), (7, 0)]
            .map(|(set, binding)| Op::StructureDesc { set, binding })
            .to_vec(),
        Op::Load(_, flags) => accesses().map(|(space, align)| Op::Load(space, MemFlags { align, ..flags })).collect(),
        Op::Store(_, flags) => accesses().map(|(space, align)| Op::Store(space, MemFlags { align, ..flags })).collect(),
        Op::Atomic(..) => SPACES.into_iter().flat_map(|space| ATOMICS.map(|op| Op::Atomic(space, op))).collect(),
        Op::LoadInput(..) => {
            use InterpolateAt::{AtSample, Centroid, Default, Offset, Sample};
            let all = [Default, Centroid, Sample, Offset, AtSample];
            (0..2).flat_map(|slot| all.map(|at| Op::LoadInput(slot, at))).collect()
        }
        Op::Builtin(builtin) => (1..3).filter_map(|c| component(builtin, c)).map(Op::Builtin).collect(),
        Op::Sample(_) => samples().map(Op::Sample).collect(),
        Op::ImageFetch { .. } => texels(|coords, level, sample, kind| Op::ImageFetch { coords, level, sample, kind }),
        Op::ImageResident { .. } => texels(|coords, level, sample, _| Op::ImageResident { coords, level, sample }),
        Op::ImageStore { .. } => texels(|coords, _, sample, kind| Op::ImageStore { coords, sample, kind }),
        Op::ImageAtomic { .. } => ATOMICS
            .into_iter()
            .flat_map(|op| [(1, false), (3, false), (2, true)].map(|(coords, sample)| (op, coords, sample)))
            .map(|(op, coords, sample)| Op::ImageAtomic { op, coords, sample })
            .collect(),
        Op::Ddx { .. } => vec![Op::Ddx { fine: false }],
        Op::Ddy { .. } => vec![Op::Ddy { fine: false }],
        Op::Subgroup(Subgroup::Ballot(_)) => vec![Op::Subgroup(Subgroup::Ballot(1)), Op::Subgroup(Subgroup::Ballot(3))],
        Op::Subgroup(Subgroup::Arithmetic(_, scan)) => {
            let clusters = [1, 2, 8, 64].map(Scan::Cluster);
            let scans = if matches!(scan, Scan::Cluster(_)) { clusters.to_vec() } else { vec![scan] };
            let all = Binary::examples().into_iter();
            all.flat_map(|op| scans.iter().map(move |&scan| Op::Subgroup(Subgroup::Arithmetic(op, scan)))).collect()
        }
        Op::RayQuery(..) => {
            use RayQueryOp::{Confirm, Copy, Generate, Get, Initialize, Proceed, Terminate};
            let getters = RayGetter::ALL.iter().flat_map(|&getter| [false, true].map(|committed| (getter, committed)));
            let queries = Var::from_u32(QUERIES);
            let all = [Initialize, Copy(queries), Proceed, Confirm, Generate, Terminate].into_iter();
            let all = all.chain(getters.map(|(getter, committed)| Get { getter, committed }));
            all.map(|op| Op::RayQuery(queries, op)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a built-in with another component, if it has components.
fn component(builtin: Builtin, c: u8) -> Option<Builtin> {
    Some(match builtin {
        Builtin::FragCoord(_) => Builtin::FragCoord(c + 1),
        Builtin::PointCoord(_) => Builtin::PointCoord(1),
        Builtin::SamplePosition(_) => Builtin::SamplePosition(1),
        Builtin::TessCoord(_) => Builtin::TessCoord(c),
        Builtin::LocalInvocationId(_) => Builtin::LocalInvocationId(c),
        Builtin::WorkgroupId(_) => Builtin::WorkgroupId(c),
        Builtin::NumWorkgroups(_) => Builtin::NumWorkgroups(c),
        Builtin::GlobalInvocationId(_) => Builtin::GlobalInvocationId(c),
        _ => return None,
    })
}

/// Returns samples with few and with many operands.
fn samples() -> impl Iterator<Item = SampleInfo> {
    use SampleOp::{Gather, GatherDref, QueryLod, Resident, ResidentGather, Sample, SampleDref};
    let ops = [Sample, SampleDref, Gather, GatherDref, QueryLod, Resident, ResidentGather];
    let modes = [LodMode::Implicit, LodMode::Explicit, LodMode::Grad];
    let all = ops.into_iter().flat_map(move |op| modes.map(|lod_mode| (op, lod_mode)));
    let all = all.flat_map(|(op, lod_mode)| [1, 2, 4].map(|coords| (op, lod_mode, coords)));
    all.flat_map(|(op, lod_mode, coords)| {
        [false, true].map(|many| SampleInfo {
            op,
            lod_mode,
            coords,
            dref: many || matches!(op, SampleDref | GatherDref),
            lod: many || lod_mode == LodMode::Explicit,
            grad: if lod_mode == LodMode::Grad { coords.min(3) } else { 0 },
            offset: if many { coords.min(3) } else { 0 },
            min_lod: many,
            component: u8::from(many),
            gather_offsets: (many && op == Gather).then_some([1; 8]),
        })
    })
}

fn texels(op: impl Fn(u8, bool, bool, TexelKind) -> Op) -> Vec<Op> {
    let counts = [(1, false, false), (2, false, false), (3, true, false), (2, false, true), (3, false, true)];
    let all = counts.into_iter().flat_map(|counts| TEXELS.map(|kind| (counts, kind)));
    all.map(|((coords, level, sample), kind)| op(coords, level, sample, kind)).collect()
}

/// Types of the operands and of the results of an instruction.
pub(crate) type Types = (Vec<Ty>, Vec<Ty>);

/// Returns all lists of types that an operation takes and gives in a shader.
pub(crate) fn instances(shader: &Shader, op: &Op) -> Vec<Types> {
    if let Signature::Fixed(..) = op.info().signature {
        return op.info().signature.instances();
    }
    if let Op::RayQuery(_, operation) = op {
        let (args, results) = ray_query_types(*operation);
        return if op.fits(shader, &args, &results) { vec![(args, results)] } else { Vec::new() };
    }
    if let Some(types) = call_types(op) {
        assert!(types.iter().all(|(args, results)| op.fits(shader, args, results)), "{}", op.info().name);
        return types;
    }
    let heads: Vec<Vec<Ty>> = if let Op::Sample(info) = op {
        vec![sample_operands(info)]
    } else {
        let numbers = lists(&[Ty::I32, Ty::I64, Ty::F32], 3);
        let starts: [&[Ty]; 3] = [&[], &[Ty::Buf], &[Ty::Img]];
        starts.iter().flat_map(|start| numbers.iter().map(|numbers| [start, &numbers[..]].concat())).collect()
    };
    let equal = SCALARS.iter().flat_map(|&ty| (1..=4).map(move |n| vec![ty; n]));
    let runs: Vec<Vec<Ty>> = std::iter::once(Vec::new()).chain(equal).collect();
    let all: HashSet<Vec<Ty>> =
        heads.iter().flat_map(|head| runs.iter().map(|run| [&head[..], run].concat())).collect();
    let fitting = |args: &Vec<Ty>| {
        let results = runs.iter().filter(|results| op.fits(shader, args, results));
        results.map(|results| (args.clone(), results.clone())).collect::<Vec<Types>>()
    };
    all.iter().flat_map(fitting).collect()
}

/// Returns lists of types of an operation that suspends invocations for a ray.
fn call_types(op: &Op) -> Option<Vec<Types>> {
    let payloads = [0, 1, 3].into_iter().flat_map(|n| [Ty::I32, Ty::F32].map(|ty| vec![ty; n]));
    let with = |head: &[Ty], new: &[Ty]| {
        payloads.clone().map(|payload| ([head, &payload].concat(), [&payload, new].concat())).collect()
    };
    let report = |attribute: Vec<Ty>| ([&attribute[..], &[Ty::F32, Ty::I32]].concat(), vec![Ty::F32, Ty::I32]);
    Some(match op {
        Op::TraceRay => with(&TRACE_OPERANDS, &[]),
        Op::TraceHitObject => with(&TRACE_OPERANDS, &OBJECT_WORDS),
        Op::ExecuteHitObject => with(&OBJECT_WORDS, &[]),
        Op::ReportIntersection => payloads.map(report).collect(),
        Op::Reorder => vec![(vec![Ty::I32; ReorderOperand::COUNT as usize], Vec::new())],
        Op::ReadInstance => {
            vec![(vec![Ty::I32; ReadInstanceOperand::COUNT as usize], vec![Ty::I32; InstanceWord::COUNT as usize])]
        }
        _ => return None,
    })
}

/// Returns the operands of a sample.
fn sample_operands(info: &SampleInfo) -> Vec<Ty> {
    let floats = usize::from(info.coords) + usize::from(info.dref) + usize::from(info.lod) + 2 * usize::from(info.grad);
    let mut all = vec![Ty::Img, Ty::Smp];
    all.extend(vec![Ty::F32; floats]);
    all.extend(vec![Ty::I32; info.offset.into()]);
    all.extend(info.min_lod.then_some(Ty::F32));
    all
}

/// Returns all lists of at most `most` of these types.
fn lists(types: &[Ty], most: usize) -> Vec<Vec<Ty>> {
    let mut all = vec![Vec::new()];
    let mut first = 0;
    for _ in 0..most {
        let end = all.len();
        for i in first..end {
            all.extend(types.iter().map(|&ty| [&all[i][..], &[ty]].concat()).collect::<Vec<_>>());
        }
        first = end;
    }
    all
}
