//! The operation table: the properties of an operation for passes, evaluators, back ends and tests,
//! in one [`Row`] each.
//!
//! `table` has the rows, `types` their operands and results. Code that decides something about an
//! operation reads its row, or matches all operations by name. A new operation therefore does not
//! compile before it has a row, a meaning (`eval` or `interp`), a way into random programs
//! (`random::forms`, or a reason against one) and code (`emit`).
//!
//! A row applies to all instructions that its pattern matches, so that payloads that change a
//! property (a volatile load) have rows of their own.

mod table;
mod types;

pub use types::{Kind, Set, Types};

use super::{Op, Shader, Ty};
use std::ops::BitOr;

/// Properties of an operation.
#[derive(Debug)]
pub struct Row {
    /// Pattern of the row's operations, which serves as its name.
    pub name: &'static str,
    /// Types of operands and results.
    pub types: Types,
    /// Module that defines the results.
    pub meaning: Meaning,
    /// Dependence of the results on the lane.
    pub shape: ShapeRule,
    /// Effects and needs beside operands and results.
    pub effects: Effects,
    /// Cost class.
    pub weight: Weight,
}

/// Module that defines the meaning of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// `ir::eval`: the bits of the results follow from those of the operands.
    Exact,
    /// `passes::math`, with which `lower_math` expands it into exact operations; it is not
    /// evaluated before.
    Expanded,
    /// `ir::interp`: it depends on more than its operands, such as memory, the invocation or other
    /// lanes.
    Machine,
    /// The rasterizer's kernels; nothing in this crate evaluates it.
    Kernel,
}

/// Dependence of the results of an operation on the lane ([`Shape`](crate::passes::Shape)), given
/// the shapes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRule {
    /// Equal for all active lanes, for any operands.
    Uniform,
    /// Uniform if all operands are.
    Operands,
    /// Differs from lane to lane, for any operands.
    Varying,
    /// Differs from lane to lane, but not inside a primitive.
    Primitive,
    /// An input of the stage; flat inputs are as [`ShapeRule::Primitive`].
    Input,
    /// Taken as varying between lanes, because a kernel returns it so; within a primitive it is
    /// uniform if all operands are.
    Kernel,
    /// The number of the lane plus something uniform.
    Lane,
    /// A component of the invocation's position in its workgroup.
    Place,
    /// The shape of the two selected operands, if the condition is uniform.
    Select,
    /// Affine if all operands are I32 and the affine rule applies, else as [`ShapeRule::Operands`].
    Affine(Affine),
}

/// Affine operations of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affine {
    /// Sum, whose strides add.
    Sum,
    /// Difference, whose strides subtract.
    Difference,
    /// Product with a constant.
    Product,
    /// Shift to the left by a constant.
    Shift,
    /// Clamp by [`Binary::Bound`](super::Binary::Bound).
    Bound,
    /// Shift to the right by a constant.
    Quotient,
    /// Mask with a constant.
    Mask,
}

/// Cost class of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Cheap enough that it is executed unconditionally rather than branched around.
    Cheap,
    /// One or a few instructions.
    Dear,
    /// Expensive enough that a branch around it alone pays if no lane needs it.
    Heavy,
}

/// Set of effects and needs of an operation beside its operands and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects(u16);

impl Effects {
    /// No effect.
    pub const NONE: Effects = Effects(0);
    /// Reads memory that this or another invocation may write.
    pub const READS: Effects = Effects(1);
    /// Writes memory that this or another invocation may access.
    pub const WRITES: Effects = Effects(1 << 1);
    /// Makes writes of other invocations visible.
    pub const ORDERS: Effects = Effects(1 << 2);
    /// Has to be executed exactly as often as the program says.
    pub const VOLATILE: Effects = Effects(1 << 3);
    /// Reads a private variable.
    pub const READS_VARIABLE: Effects = Effects(1 << 4);
    /// Writes a private variable.
    pub const WRITES_VARIABLE: Effects = Effects(1 << 5);
    /// Exports results of the stage.
    pub const EXPORTS: Effects = Effects(1 << 6);
    /// Removes lanes from the coverage.
    pub const DEMOTES: Effects = Effects(1 << 7);
    /// Reads the coverage.
    pub const READS_COVERAGE: Effects = Effects(1 << 8);
    /// Reads which lanes are active, or the operands of other active lanes.
    pub const READS_ACTIVE: Effects = Effects(1 << 9);
    /// May wait here for other invocations while its thread runs something else.
    pub const SUSPENDS: Effects = Effects(1 << 10);

    const KEPT: Effects = Effects::WRITES
        .and(Effects::ORDERS)
        .and(Effects::VOLATILE)
        .and(Effects::WRITES_VARIABLE)
        .and(Effects::EXPORTS)
        .and(Effects::DEMOTES)
        .and(Effects::SUSPENDS);

    /// Returns the union of two sets.
    pub const fn and(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }
    /// Returns true if the sets have an element in common.
    pub const fn intersects(self, other: Effects) -> bool {
        self.0 & other.0 != 0
    }
    /// Returns true if the instruction must stay even if its results are not used.
    pub const fn is_kept(self) -> bool {
        self.intersects(Effects::KEPT)
    }
    /// Returns true if memory may have changed after it.
    pub const fn changes_memory(self) -> bool {
        self.intersects(Effects::WRITES.and(Effects::ORDERS))
    }
    /// Returns true if equal operands always give equal results, wherever in the shader it is
    /// executed. `constant_memory` states that nothing in the shader [changes
    /// memory](Effects::changes_memory).
    pub const fn is_pure(self, constant_memory: bool) -> bool {
        self.0 & !(if constant_memory { Effects::READS.0 } else { 0 }) == 0
    }
}

impl BitOr for Effects {
    type Output = Effects;
    fn bitor(self, other: Effects) -> Effects {
        self.and(other)
    }
}

impl Op {
    /// Returns the effects of the operation.
    pub fn effects(&self) -> Effects {
        self.row().effects
    }
    /// Returns true if the operation takes operands and gives results of these types.
    pub fn fits(&self, shader: &Shader, args: &[Ty], results: &[Ty]) -> bool {
        self.row().types.fit(shader, self, args, results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::eval::eval;
    use std::collections::HashSet;

    #[test]
    fn rows_have_names_and_examples_of_their_own() {
        let all = Op::examples();
        let names: HashSet<&str> = all.iter().map(|op| op.row().name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() > 150);
    }

    #[test]
    fn what_is_exact_is_evaluated_and_nothing_else_is() {
        for op in Op::examples() {
            let row = op.row();
            let evaluated = row.meaning == Meaning::Exact;
            for (args, results) in row.types.instances() {
                let operands = vec![1; args.len()];
                let first = args.first().or(results.first()).copied().unwrap_or(Ty::I32);
                let result = results.first().copied().unwrap_or(Ty::I32);
                let bits = eval(&op, first, result, &operands);
                assert_eq!(bits.is_some(), evaluated, "{}: {args:?} -> {results:?}", row.name);
                for (&ty, bits) in results.iter().zip(bits.unwrap_or_default()) {
                    assert!(!evaluated || ty.bytes() % 8 == 0 || bits >> (ty.bytes() * 8) == 0, "{}: {ty}", row.name);
                }
            }
            assert!(!evaluated || row.effects == Effects::NONE, "{}", row.name);
        }
    }

    /// Checks the operations that passes handle by name: `mem2reg`, `split_arrays`, `compact_vars`
    /// and `unroll` those of variables, `emit::barrier` the one that suspends. A new operation with
    /// such effects has to be added there first.
    #[test]
    fn effects_that_passes_know_by_name() {
        for op in Op::examples() {
            let variable = op.effects().intersects(Effects::READS_VARIABLE | Effects::WRITES_VARIABLE);
            assert_eq!(variable, matches!(op, Op::VarLoad(_) | Op::VarStore(_)), "{}", op.row().name);
            assert_eq!(op.effects().intersects(Effects::SUSPENDS), op == Op::Barrier, "{}", op.row().name);
        }
    }

    #[test]
    fn only_what_may_be_executed_in_vain_is_cheap() {
        for op in Op::examples() {
            let row = op.row();
            assert!(row.weight != Weight::Cheap || row.effects == Effects::NONE, "{}", row.name);
            assert!(row.weight != Weight::Cheap || row.meaning != Meaning::Expanded, "{}", row.name);
        }
    }
}
