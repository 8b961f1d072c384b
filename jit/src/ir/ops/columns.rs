//! The columns of the operation table: the values that a row can have for each property.

use base::abi::BatchKind;
use base::shader::{BuiltinFamily, Stage, StageIoKind};
use std::ops::BitOr;

/// Module that defines the meaning of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// `ir::eval`: the bits of the results follow from those of the operands.
    Exact,
    /// `passes::math`, with which `lower_math` expands it into exact operations; it is not
    /// evaluated before.
    Expanded,
    /// `jit_test_support::interp`: it depends on more than its operands, such as memory, the
    /// invocation or other lanes.
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
    Position,
    /// The shape of the two selected operands, if the condition is uniform.
    Select,
    /// Affine if all operands are I32 and the affine rule applies, else as [`ShapeRule::Operands`].
    Affine(AffineRule),
}

/// Affine operations of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffineRule {
    /// Sum, whose strides add.
    Sum,
    /// Difference, whose strides subtract.
    Difference,
    /// Product with a constant.
    Product,
    /// Shift to the left by a constant.
    Shift,
    /// Clamp by [`Binary::Bound`](crate::ir::Binary::Bound).
    Bound,
    /// Shift to the right by a constant.
    Quotient,
    /// Mask with a constant.
    Mask,
}

/// Cost class of an operation, for hoisting, if-conversion and branches around code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostClass {
    /// Cheap enough that it is executed unconditionally rather than branched around.
    Cheap,
    /// One or a few instructions.
    Expensive,
    /// The operation costs as much as a call or an access to memory, so that a branch around it
    /// alone pays if no lane needs its result.
    Call,
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
    /// Every effect: the answer for an operation of which nothing is known.
    pub const ALL: Effects = Effects((1 << 10) - 1);

    const KEPT: Effects = Effects::WRITES
        .and(Effects::ORDERS)
        .and(Effects::VOLATILE)
        .and(Effects::WRITES_VARIABLE)
        .and(Effects::EXPORTS)
        .and(Effects::DEMOTES);

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

/// Stages in which an operation is known to be emitted. In any other stage, emission may refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageRule {
    /// All stages.
    Any,
    /// Stages that shade quads of pixels.
    Quads,
    /// Compute stages.
    Compute,
    /// All stages; workgroup memory in stages with workgroups only.
    Memory,
    /// Stages that read the built-ins of a family.
    Reads(BuiltinFamily),
    /// Stages that have an input in each slot, instead of one for each vertex.
    Inputs,
    /// Stages that have an output in each slot, instead of one for each vertex.
    Outputs,
    /// Stages whose invocations have frames.
    Frames,
}

impl StageRule {
    /// Returns true if the rule holds for a stage; `shared` is true of an operation on workgroup
    /// memory.
    pub fn holds(self, stage: Stage, shared: bool) -> bool {
        match self {
            StageRule::Any => true,
            StageRule::Quads => stage.has_quads(),
            StageRule::Compute => stage == Stage::Compute,
            StageRule::Memory => !shared || stage.has_workgroups(),
            StageRule::Reads(family) => stage.reads(family),
            StageRule::Inputs => {
                matches!(
                    stage.row().inputs,
                    StageIoKind::Attributes | StageIoKind::Vertices | StageIoKind::Interpolated | StageIoKind::Frame
                )
            }
            StageRule::Frames => stage.row().batch == BatchKind::Invocations,
            StageRule::Outputs => {
                !stage.has_primitives()
                    && matches!(
                        stage.row().outputs,
                        StageIoKind::Vertices | StageIoKind::Fragments | StageIoKind::Frame
                    )
            }
        }
    }
}

/// Conditions, beside the stage ([`StageRule`]), under which emission of an operation cannot fail.
/// The rules apply after all passes, and to instructions without float flags that change results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmissionRule {
    /// Emission cannot fail.
    Infallible,
    /// Emission cannot fail if the pipeline layout has the binding, or the descriptor is in a heap.
    Binding,
    /// Emission cannot fail if all results are words.
    Words,
    /// Emission may fail.
    Fallible,
}

/// Lowering of an operation of binary16 to binary32 by `passes::lower_f16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum F16Rule {
    /// The operation has no operands and results of binary16.
    None,
    /// The operation becomes that of binary32, whose result binary16 can represent.
    Single,
    /// The operation becomes that of binary32, whose result is rounded.
    Rounded,
    /// The operation keeps operands and results of binary16, between conversions.
    Kept,
    /// An expansion replaces the operation.
    Expanded,
    /// A conversion between floats: from binary16 as [`F16Rule::Single`], to binary16 as
    /// [`F16Rule::Expanded`].
    Converted,
    /// A copy of bits: as [`F16Rule::Single`] between values of binary16, else as
    /// [`F16Rule::Kept`].
    Bits,
    /// A combination of lanes by a [`Binary`](crate::ir::Binary): as [`F16Rule::Single`] if that
    /// operation is, else as [`F16Rule::Kept`], because each step rounds.
    Combined,
}

/// Effect of the float flags that change results ([`FloatFlags`](crate::ir::FloatFlags)) on an
/// operation. Only floats are flushed and rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatRule {
    /// The operation is no float arithmetic: no flag has an effect.
    None,
    /// The result is exact: operands and results are flushed.
    Exact,
    /// The result is rounded in the rounding mode; operands and results are flushed.
    Rounded,
    /// Vulkan leaves the precision open: operands and results are flushed.
    Approximate,
    /// A conversion to a float, which has flags of the result only: the result is rounded in the
    /// rounding mode, and flushed.
    Converted,
    /// A conversion that rounds towards zero in any mode: the result is flushed.
    Truncated,
}

impl FloatRule {
    /// Returns true if results that are floats are flushed.
    pub fn flushes_results(self) -> bool {
        match self {
            FloatRule::None => false,
            FloatRule::Exact | FloatRule::Rounded | FloatRule::Approximate => true,
            FloatRule::Converted | FloatRule::Truncated => true,
        }
    }

    /// Returns true if operands that are floats are flushed.
    pub fn flushes_operands(self) -> bool {
        match self {
            FloatRule::None | FloatRule::Converted | FloatRule::Truncated => false,
            FloatRule::Exact | FloatRule::Rounded | FloatRule::Approximate => true,
        }
    }

    /// Returns true if the rounding mode has an effect.
    pub fn rounds(self) -> bool {
        match self {
            FloatRule::Rounded | FloatRule::Converted => true,
            FloatRule::None | FloatRule::Exact | FloatRule::Approximate | FloatRule::Truncated => false,
        }
    }
}

/// Dependence of results and effects of an operation on the number of lanes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCountRule {
    /// There is none.
    Invariant,
    /// There is none if it is the only operation of the shader that takes effect in the order of
    /// lanes.
    InvariantAlone,
    /// There may be one.
    Dependent,
}

/// The way of an operation into random programs (`jit_test_support::ir_random`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomForm {
    /// The operation is generated with any operands of its types.
    Any,
    /// The operation is generated as with [`RandomForm::Any`] if the options include
    /// transcendental functions.
    Transcendental,
    /// The operation is generated as with [`RandomForm::Any`] if the options include remainders
    /// of floats.
    Remainder,
    /// A function of the generator makes it, with the operands that it allows.
    Own,
    /// The operation is not generated.
    Never,
}
