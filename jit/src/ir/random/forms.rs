//! How operations come into random programs: from their rows in the operation table, unless something has to be known of them.

use super::Options;
use crate::ir::{Binary, Builtin, Convert, Meaning, MemFlags, Op, Ty};
use std::sync::LazyLock;

/// How an operation comes into programs.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// With any operands of its types, if the options want it.
    Any(fn(&Options) -> bool),
    /// By a function of the generator, which knows what its operands may be.
    Own,
    /// Not at all.
    Never,
}

/// The form of an operation.
pub(super) fn form(op: &Op) -> Form {
    use Form::{Any, Never, Own};
    const ALWAYS: Form = Any(|_| true);
    match op {
        Op::Unary(_) | Op::Binary(_) if op.row().meaning == Meaning::Expanded => Any(|options| options.transcendental),
        Op::Binary(Binary::FRem | Binary::FMod) => Any(|options| options.float_rem),
        // Its operand is a constant.
        Op::Binary(Binary::Bound) => Own,
        // A NaN's payload would reach integers.
        Op::Convert(Convert::Bitcast) => Never,
        Op::Unary(_) | Op::Binary(_) | Op::Cmp(_) | Op::Convert(_) => ALWAYS,
        Op::Select | Op::Fma | Op::Ldexp | Op::IAddCarry | Op::ISubBorrow => ALWAYS,
        // Not of infinities; not beyond the word.
        Op::Frexp | Op::BitfieldInsert | Op::BitfieldSExtract | Op::BitfieldUExtract => Own,
        Op::Const(_) | Op::VarLoad(_) | Op::VarStore(_) => Own,
        Op::BufferDesc { .. } | Op::Load(..) | Op::Store(..) | Op::Barrier => Own,
        Op::BufferSize | Op::MemoryBarrier => ALWAYS,
        Op::Builtin(builtin) => match builtin {
            Builtin::LocalInvocationIndex | Builtin::LocalInvocationId(_) | Builtin::GlobalInvocationId(_) => ALWAYS,
            Builtin::WorkgroupId(_) | Builtin::NumWorkgroups(_) => ALWAYS,
            // They depend on the number of lanes.
            Builtin::SubgroupInvocation | Builtin::SubgroupSize | Builtin::SubgroupId | Builtin::NumSubgroups => Never,
            // Another stage's.
            Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::BaseVertex | Builtin::BaseInstance => Never,
            Builtin::DrawIndex | Builtin::ViewIndex | Builtin::DeviceIndex | Builtin::FragCoord(_) => Never,
            Builtin::FrontFacing | Builtin::PointCoord(_) | Builtin::SampleId | Builtin::SamplePosition(_) => Never,
            Builtin::SampleMaskIn | Builtin::HelperInvocation | Builtin::PrimitiveId | Builtin::InvocationId => Never,
            Builtin::PatchVertices | Builtin::TessCoord(_) => Never,
            Builtin::Layer | Builtin::ViewportIndex => Never,
        },
        // Another stage's.
        Op::LoadInput(..) | Op::StoreOutput(_) | Op::Demote | Op::IsHelper => Never,
        Op::LoadVertex(_) | Op::StoreVertex(_) | Op::StoreVertexCount => Never,
        // Invocations would influence each other.
        Op::Atomic(..) | Op::Subgroup(_) | Op::Ddx { .. } | Op::Ddy { .. } => Never,
        // It is another one each time.
        Op::Clock => Never,
        // Images are not interpreted.
        Op::ImageDesc { .. } | Op::SamplerDesc { .. } | Op::ImageQuery(_) | Op::Sample(_) => Never,
        Op::ImageResident { .. } | Op::ImageFetch { .. } | Op::ImageStore { .. } | Op::ImageAtomic { .. } => Never,
    }
}

/// An operation of [`Form::Any`] with types that the generator has values of.
pub(super) struct Candidate {
    pub op: Op,
    pub args: Vec<Ty>,
    pub results: Vec<Ty>,
    wanted: fn(&Options) -> bool,
}

/// Candidates that share a chance.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    IntUnary,
    FloatUnary,
    IntBinary,
    FloatBinary,
    BoolBinary,
    IntCmp,
    FloatCmp,
    Convert,
    Select,
    Builtin,
    Other,
}

fn group(op: &Op, ty: Ty) -> Group {
    match op {
        Op::Unary(_) if ty.is_int() => Group::IntUnary,
        Op::Unary(_) if ty.is_float() => Group::FloatUnary,
        Op::Binary(_) if ty.is_int() => Group::IntBinary,
        Op::Binary(_) if ty.is_float() => Group::FloatBinary,
        Op::Binary(_) => Group::BoolBinary,
        Op::Cmp(_) if ty.is_float() => Group::FloatCmp,
        Op::Cmp(_) => Group::IntCmp,
        Op::Convert(_) | Op::Unary(_) => Group::Convert,
        Op::Select => Group::Select,
        Op::Builtin(_) => Group::Builtin,
        _ => Group::Other,
    }
}

static ALL: LazyLock<Vec<(Group, Candidate)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for op in Op::examples() {
        let Form::Any(wanted) = form(&op) else { continue };
        for (args, results) in op.row().types.instances() {
            let has_values = |types: &[Ty]| types.iter().all(|ty| super::TYPES.contains(ty));
            // Passes make these of words' conversions; programs are emitted without passes too.
            let narrow = |types: &[Ty]| types.iter().any(|ty| matches!(ty, Ty::I8 | Ty::I16));
            let float = |types: &[Ty]| types.iter().any(|ty| ty.is_float());
            if matches!(op, Op::Convert(_)) && (narrow(&args) && float(&results) || float(&args) && narrow(&results)) {
                continue;
            }
            if !has_values(&results) || !args.iter().all(|&ty| ty == Ty::Buf || super::TYPES.contains(&ty)) {
                continue;
            }
            let group = group(&op, args.first().copied().unwrap_or(Ty::I32));
            all.push((group, Candidate { op: op.clone(), args, results, wanted }));
        }
    }
    all
});

/// The candidates of a group that the options want.
pub(super) fn candidates(group: Group, options: &Options) -> Vec<&'static Candidate> {
    ALL.iter().filter(|(g, c)| *g == group && (c.wanted)(options)).map(|(_, c)| c).collect()
}

/// Another component of the same built-in.
pub(super) fn component(op: &Op, c: u8) -> Op {
    match op {
        Op::Builtin(Builtin::LocalInvocationId(_)) => Op::Builtin(Builtin::LocalInvocationId(c)),
        Op::Builtin(Builtin::GlobalInvocationId(_)) => Op::Builtin(Builtin::GlobalInvocationId(c)),
        Op::Builtin(Builtin::WorkgroupId(_)) => Op::Builtin(Builtin::WorkgroupId(c)),
        Op::Builtin(Builtin::NumWorkgroups(_)) => Op::Builtin(Builtin::NumWorkgroups(c)),
        op => op.clone(),
    }
}

/// A load whose flags differ and whose result does not.
pub(super) fn load_flags(volatile: bool) -> MemFlags {
    MemFlags { readonly: !volatile, volatile, align: 4 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::compute_shader;
    use std::collections::HashSet;

    /// A new operation is in programs, so that passes and emitters are tested with it, or it says why not.
    #[test]
    fn every_operation_with_a_form_is_generated() {
        let mut found = HashSet::new();
        for seed in 0..300 {
            let options = Options { transcendental: true, float_rem: true, barriers: true, ..Options::default() };
            let shader = compute_shader(seed, options).shader;
            found.extend(shader.insts.values().map(|data| data.op.row().name));
        }
        for op in Op::examples() {
            let name = op.row().name;
            match form(&op) {
                Form::Any(_) | Form::Own => assert!(found.contains(name), "{name} is in no program"),
                Form::Never => assert!(!found.contains(name), "{name} is in a program"),
            }
        }
    }
}
