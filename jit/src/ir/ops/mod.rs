//! The operation table: all properties of an operation, in one [`OpInfo`] each. Passes,
//! evaluators, emission and tests read it.
//!
//! `table` has the rows, `columns` the values of the properties, `signature` the types of operands
//! and results. Code that decides something about operations reads its row. Only meaning (`eval` or
//! `interp`), expansions (passes that lower) and emission match operations by name. A new operation
//! is a row, a meaning and an emission, without which it does not compile.
//!
//! A row applies to all instructions that its pattern matches, so that payloads that change a
//! property (a volatile load) have rows of their own.

mod columns;
#[cfg(test)]
pub(crate) mod examples;
mod presets;
mod signature;
mod table;

pub use columns::{
    AffineRule, CostClass, Effects, EmissionRule, F16Rule, FloatRule, LaneCountRule, Meaning, RandomForm, ShapeRule,
    StageRule,
};
pub use signature::{Signature, TypePattern, TypeSet};

use super::{Binary, Op, Shader, Space, Ty};
use base::shader::{Stage, SuspendReason};

/// Properties of an operation: a row of the table.
#[derive(Debug)]
pub struct OpInfo {
    /// Pattern of the row's operations, which serves as its name.
    pub name: &'static str,
    /// Types of operands and results.
    pub signature: Signature,
    /// Cost class.
    pub cost: CostClass,
    /// Module that defines the results.
    pub meaning: Meaning,
    /// Dependence of the results on the lane.
    pub shape: ShapeRule,
    /// Effects and needs beside operands and results.
    pub effects: Effects,
    /// Reason why invocations wait at the operation while their thread runs something else.
    pub suspends: Option<SuspendReason>,
    /// Stages in which emission is known.
    pub stages: StageRule,
    /// Conditions under which emission cannot fail.
    pub emission: EmissionRule,
    /// Lowering of binary16.
    pub f16: F16Rule,
    /// Effect of float flags.
    pub float: FloatRule,
    /// Dependence on the number of lanes of a chunk.
    pub lane_count: LaneCountRule,
    /// True if the operation, in a fragment stage, depends on its pixel alone and its emission is
    /// no call.
    pub pixel_local: bool,
    /// True if the value differs between draws of a view with the same bindings.
    pub per_draw: bool,
    /// True if `op(a, b)` is always `op(b, a)` (apart from a NaN's payload).
    pub commutes: bool,
    /// Way into random programs.
    pub random: RandomForm,
}

impl Op {
    /// Returns the effects of the operation.
    pub fn effects(&self) -> Effects {
        self.info().effects
    }
    /// Returns the reason why the operation suspends invocations, if it does.
    pub fn suspends(&self) -> Option<SuspendReason> {
        self.info().suspends
    }
    /// Returns true if the operation takes operands and gives results of these types.
    pub fn fits(&self, shader: &Shader, args: &[Ty], results: &[Ty]) -> bool {
        self.info().signature.fits(shader, self, args, results)
    }
    /// Returns the memory space that the operation accesses, if it accesses one.
    pub fn space(&self) -> Option<Space> {
        match *self {
            Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(space, _) => Some(space),
            _ => None,
        }
    }
    /// Returns true if the operation is known to be emitted in a stage.
    pub fn is_of_stage(&self, stage: Stage) -> bool {
        self.info().stages.holds(stage, self.space() == Some(Space::Shared))
    }
}

impl Binary {
    /// Returns true if `op(a, b)` is always `op(b, a)` (apart from a NaN's payload).
    pub fn commutes(self) -> bool {
        self.info().commutes
    }
}

#[cfg(test)]
mod tests {
    use super::examples::{instances, template, variants};
    use super::*;
    use crate::ir::eval::eval;
    use std::collections::HashSet;

    #[test]
    fn rows_have_names_and_examples_of_their_own() {
        let all = Op::examples();
        let names: HashSet<&str> = all.iter().map(|op| op.info().name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 150);
    }

    #[test]
    fn exactly_the_exact_operations_are_evaluated() {
        for op in Op::examples() {
            let info = op.info();
            let evaluated = info.meaning == Meaning::Exact;
            for (args, results) in info.signature.instances() {
                let operands = vec![1; args.len()];
                let first = args.first().or(results.first()).copied().unwrap_or(Ty::I32);
                let result = results.first().copied().unwrap_or(Ty::I32);
                let bits = eval(&op, first, result, &operands);
                let name = info.name;
                assert_eq!(bits.is_some(), evaluated, "{name}: {args:?} -> {results:?}");
                for (&ty, bits) in results.iter().zip(bits.unwrap_or_default()) {
                    assert!(!evaluated || ty.bytes() % 8 == 0 || bits >> (ty.bytes() * 8) == 0, "{name}: {ty}");
                }
            }
            assert!(!evaluated || info.effects == Effects::NONE, "{}", info.name);
        }
    }

    /// Checks the operations that passes handle by name: `mem2reg`, `split_arrays`, `compact_vars`
    /// and `unroll` those of variables. A new operation with such effects has to be added there
    /// first.
    #[test]
    fn effects_that_passes_know_by_name() {
        for op in Op::examples() {
            let variable = op.effects().intersects(Effects::READS_VARIABLE | Effects::WRITES_VARIABLE);
            assert_eq!(
                variable,
                matches!(op, Op::VarLoad(_) | Op::VarStore(_) | Op::RayQuery(..)),
                "{}",
                op.info().name
            );
        }
    }

    /// Checks that nothing moves across an operation that suspends invocations, because others run
    /// in between.
    #[test]
    fn operations_that_suspend_order_memory() {
        let suspending = Op::examples().into_iter().filter(|op| op.suspends().is_some());
        let names: Vec<&str> = suspending.clone().map(|op| op.info().name).collect();
        let of_rays =
            ["TraceRay", "ReportIntersection", "TraceHitObject", "ExecuteHitObject", "Reorder", "ReadInstance"];
        let expected = ["Barrier", "ExecuteCallable"].iter().chain(&of_rays).map(|name| format!("Op::{name}"));
        assert_eq!(names, expected.collect::<Vec<_>>());
        for op in suspending {
            assert!(op.effects().intersects(Effects::ORDERS) && op.effects().is_kept(), "{}", op.info().name);
            assert_eq!(op.info().cost, CostClass::Call, "a branch around it pays");
        }
    }

    #[test]
    fn cheap_operations_have_no_effects_and_are_not_expanded() {
        for op in Op::examples() {
            let info = op.info();
            assert!(info.cost != CostClass::Cheap || info.effects == Effects::NONE, "{}", info.name);
            assert!(info.cost != CostClass::Cheap || info.meaning != Meaning::Expanded, "{}", info.name);
        }
    }

    /// Checks that a row has rules for binary16 and for float flags exactly if the operation takes
    /// or gives such values.
    #[test]
    fn rules_of_floats_agree_with_the_signature() {
        let shader = template(Stage::Fragment);
        for example in Op::examples() {
            let info = example.info();
            let types: HashSet<Ty> = (variants(&example).iter())
                .flat_map(|op| instances(&shader, op))
                .flat_map(|(args, results)| [args, results].concat())
                .collect();
            assert_eq!(types.contains(&Ty::F16), info.f16 != F16Rule::None, "{}: {types:?}", info.name);
            let arithmetic = types.iter().any(|ty| ty.is_float());
            assert!(arithmetic || info.float == FloatRule::None, "{}: {types:?}", info.name);
        }
    }

    /// Checks that no operation is marked as commutative that is not.
    #[test]
    fn commutative_operations_give_equal_results_for_exchanged_operands() {
        for op in Op::examples().into_iter().filter(|op| op.info().commutes) {
            for (args, results) in op.info().signature.instances() {
                let bits = match args[0] {
                    Ty::B1 => [0, 1],
                    ty if ty.is_float() => [0, 1 << (ty.bytes() * 8 - 1)],
                    _ => [3, 77],
                };
                let of = |a: u64, b: u64| eval(&op, args[0], results[0], &[a, b]);
                assert_eq!(of(bits[0], bits[1]), of(bits[1], bits[0]), "{} {args:?}", op.info().name);
            }
        }
    }
}
