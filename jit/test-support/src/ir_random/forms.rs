//! The operations that enter random programs with any operands of their types, as the rows of the
//! operation table say ([`RandomForm`]).

use super::Options;
use jit::ir::{Builtin, MemFlags, Op, RandomForm, Ty};
use std::sync::LazyLock;

/// Returns true if an operation is generated with any operands of its types, under these options.
fn is_wanted(form: RandomForm, options: &Options) -> bool {
    match form {
        RandomForm::Any => true,
        RandomForm::Transcendental => options.transcendental,
        RandomForm::Remainder => options.float_rem,
        RandomForm::Own | RandomForm::Never => false,
    }
}

/// An operation with types of which the generator has values.
pub(super) struct Candidate {
    pub op: Op,
    pub args: Vec<Ty>,
    pub results: Vec<Ty>,
    form: RandomForm,
}

/// Groups of candidates that share a chance.
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
        let form = op.info().random;
        if matches!(form, RandomForm::Own | RandomForm::Never) {
            continue;
        }
        for (args, results) in op.info().signature.instances() {
            let has_values = |types: &[Ty]| types.iter().all(|ty| super::TYPES.contains(ty));
            // Passes make these from conversions of words, but programs are emitted without passes
            // too.
            let narrow = |types: &[Ty]| types.iter().any(|ty| matches!(ty, Ty::I8 | Ty::I16));
            let float = |types: &[Ty]| types.iter().any(|ty| ty.is_float());
            if matches!(op, Op::Convert(_)) && (narrow(&args) && float(&results) || float(&args) && narrow(&results)) {
                continue;
            }
            if !has_values(&results) || !args.iter().all(|&ty| ty == Ty::Buf || super::TYPES.contains(&ty)) {
                continue;
            }
            let group = group(&op, args.first().copied().unwrap_or(Ty::I32));
            all.push((group, Candidate { op: op.clone(), args, results, form }));
        }
    }
    all
});

/// Returns the candidates of a group that the options request.
pub(super) fn candidates(group: Group, options: &Options) -> Vec<&'static Candidate> {
    ALL.iter().filter(|(g, c)| *g == group && is_wanted(c.form, options)).map(|(_, c)| c).collect()
}

/// Returns a built-in with another component.
pub(super) fn component(op: &Op, c: u8) -> Op {
    match op {
        Op::Builtin(Builtin::LocalInvocationId(_)) => Op::Builtin(Builtin::LocalInvocationId(c)),
        Op::Builtin(Builtin::GlobalInvocationId(_)) => Op::Builtin(Builtin::GlobalInvocationId(c)),
        Op::Builtin(Builtin::WorkgroupId(_)) => Op::Builtin(Builtin::WorkgroupId(c)),
        Op::Builtin(Builtin::NumWorkgroups(_)) => Op::Builtin(Builtin::NumWorkgroups(c)),
        op => op.clone(),
    }
}

/// Returns load flags that differ without changing the result.
pub(super) fn load_flags(volatile: bool) -> MemFlags {
    MemFlags { readonly: !volatile, volatile, align: 4 }
}

#[cfg(test)]
mod tests {
    use super::super::{compute_shader, ray_generation_shader};
    use super::*;
    use std::collections::HashSet;

    /// Checks that every operation is generated, so that passes and emitters are tested with it,
    /// unless its row says that it is not.
    #[test]
    fn every_operation_with_a_form_is_generated() {
        let mut found = HashSet::new();
        for seed in 0..300 {
            let options = Options { transcendental: true, float_rem: true, barriers: true, ..Options::default() };
            for shader in [compute_shader(seed, options).shader, ray_generation_shader(seed, Options::default()).shader]
            {
                found.extend(shader.insts.values().map(|data| data.op.info().name));
            }
        }
        for op in Op::examples() {
            let info = op.info();
            assert_eq!(found.contains(info.name), info.random != RandomForm::Never, "{}", info.name);
        }
    }
}
