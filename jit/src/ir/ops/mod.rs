//! The operation table: what an operation is to passes, evaluators, back ends and tests, in one [`Row`] each.
//!
//! `table` has the rows, `types` what they say about operands and results. Who decides something about an operation asks its
//! row, or matches all operations by name: a new one does not compile before it has a row, a meaning (`eval` or `interp`), a way into
//! random programs (`random::forms`, or the reason why not) and code (`emit`).
//!
//! A row answers for all instructions that its pattern fits, so that payloads that change an answer (a volatile load) have rows
//! of their own.

mod table;
mod types;

pub use types::{Kind, Set, Types};

use super::{Op, Shader, Ty};
use std::ops::BitOr;

/// What is known of an operation.
#[derive(Debug)]
pub struct Row {
    /// The pattern of the row's operations: names the row.
    pub name: &'static str,
    /// Operands and results.
    pub types: Types,
    /// Who defines the results.
    pub meaning: Meaning,
    /// How results depend on the lane.
    pub shape: ShapeRule,
    /// What it does and needs beside operands and results.
    pub effects: Effects,
    /// What it costs.
    pub weight: Weight,
}

/// Where the meaning of an operation is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// `ir::eval`: the bits of the results follow from those of the operands.
    Exact,
    /// `passes::math`, by which `lower_math` expands it into exact operations: nothing evaluates it before.
    Expanded,
    /// `ir::interp`: it depends on more than operands, as memory, the invocation or other lanes.
    Machine,
    /// The rasterizer's kernels: nothing in this crate evaluates it.
    Kernel,
}

/// How the results of an operation depend on the lane ([`Shape`](crate::passes::Shape)), given the shapes of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeRule {
    /// The same for all active lanes, whatever the operands are.
    Uniform,
    /// Uniform when all operands are.
    Operands,
    /// Differs from lane to lane, whatever the operands are.
    Varying,
    /// Differs from lane to lane, but not inside of a primitive.
    Primitive,
    /// An input of the stage: of flat ones, as [`ShapeRule::Primitive`].
    Input,
    /// Taken as different from lane to lane, as it comes so; what it is, is the same when all operands are.
    Kernel,
    /// The number of the lane and something uniform.
    Lane,
    /// A component of the invocation's place in its workgroup.
    Place,
    /// That of the operands selected from, where the condition is uniform.
    Select,
    /// As [`ShapeRule::Operands`], but for I32 affine operands may give an affine result.
    Affine(Affine),
}

/// Affine arithmetic of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affine {
    /// Strides add.
    Sum,
    /// Strides subtract.
    Difference,
    /// By a constant.
    Product,
    /// To the left, by a constant.
    Shift,
    /// [`Binary::Bound`](super::Binary::Bound).
    Bound,
    /// To the right, by a constant.
    Quotient,
    /// Bits of a constant.
    Mask,
}

/// What an operation costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Rather executed in vain than branched around.
    Cheap,
    /// An instruction or some.
    Dear,
    /// A branch around it alone pays when no lane wants it.
    Heavy,
}

/// What an operation does and needs beside its operands and results: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects(u16);

impl Effects {
    /// Nothing.
    pub const NONE: Effects = Effects(0);
    /// Reads memory that this or another invocation may write.
    pub const READS: Effects = Effects(1);
    /// Writes such memory.
    pub const WRITES: Effects = Effects(1 << 1);
    /// What others wrote becomes visible.
    pub const ORDERS: Effects = Effects(1 << 2);
    /// Has to be executed as often as the program says.
    pub const VOLATILE: Effects = Effects(1 << 3);
    /// Reads a private variable.
    pub const READS_VARIABLE: Effects = Effects(1 << 4);
    /// Writes a private variable.
    pub const WRITES_VARIABLE: Effects = Effects(1 << 5);
    /// Gives the stage's results away.
    pub const EXPORTS: Effects = Effects(1 << 6);
    /// Takes lanes out of the coverage.
    pub const DEMOTES: Effects = Effects(1 << 7);
    /// Reads the coverage.
    pub const READS_COVERAGE: Effects = Effects(1 << 8);
    /// Reads which lanes are active, or the operands of other active lanes.
    pub const READS_ACTIVE: Effects = Effects(1 << 9);
    /// The invocation may wait here for others, while its thread does something else.
    pub const SUSPENDS: Effects = Effects(1 << 10);

    const KEPT: Effects = Effects::WRITES
        .and(Effects::ORDERS)
        .and(Effects::VOLATILE)
        .and(Effects::WRITES_VARIABLE)
        .and(Effects::EXPORTS)
        .and(Effects::DEMOTES)
        .and(Effects::SUSPENDS);

    /// Both sets.
    pub const fn and(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }
    /// Has it something of another set?
    pub const fn intersects(self, other: Effects) -> bool {
        self.0 & other.0 != 0
    }
    /// Must the instruction stay although nobody uses its results?
    pub const fn is_kept(self) -> bool {
        self.intersects(Effects::KEPT)
    }
    /// May memory differ behind it from what it was before?
    pub const fn changes_memory(self) -> bool {
        self.intersects(Effects::WRITES.and(Effects::ORDERS))
    }
    /// Do equal operands always give equal results, wherever in the shader it is executed? `constant_memory`: nothing in the shader
    /// [changes memory](Effects::changes_memory).
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
    /// Its effects.
    pub fn effects(&self) -> Effects {
        self.row().effects
    }
    /// Does the operation take these operands and give these results?
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

    /// Passes name these operations: `mem2reg`, `split_arrays`, `compact_vars`, `unroll` those of variables, `emit::barrier` the one
    /// that suspends. Others with such effects have to be taught to them first.
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
