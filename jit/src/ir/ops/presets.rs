//! Rows for families of operations, from which the rows of the table take the columns that they do
//! not set themselves.
//!
//! A preset of a family says what holds for all its operations. [`UNKNOWN`] has the answers that
//! are safe for any operation.

use super::columns::*;
use super::{OpInfo, signature};
use base::shader::BuiltinFamily as Family;

/// Properties of an operation of which nothing is known.
pub(super) const UNKNOWN: OpInfo = OpInfo {
    name: "",
    signature: signature::NOTHING,
    cost: CostClass::Call,
    meaning: Meaning::Machine,
    shape: ShapeRule::Varying,
    effects: Effects::ALL,
    suspends: None,
    stages: StageRule::Any,
    emission: EmissionRule::Fallible,
    f16: F16Rule::None,
    float: FloatRule::None,
    lane_count: LaneCountRule::Dependent,
    pixel_local: false,
    per_draw: false,
    commutes: false,
    random: RandomForm::Never,
};

// Pure operations, whose results follow from the operands.

/// Arithmetic on integers and truth values.
pub(super) const INTEGER: OpInfo = OpInfo {
    meaning: Meaning::Exact,
    shape: ShapeRule::Operands,
    effects: Effects::NONE,
    emission: EmissionRule::Infallible,
    lane_count: LaneCountRule::Invariant,
    pixel_local: true,
    random: RandomForm::Any,
    ..UNKNOWN
};
/// Integer arithmetic with `op(a, b) = op(b, a)`.
pub(super) const SYMMETRIC: OpInfo = OpInfo { commutes: true, ..INTEGER };
/// Copies of the bits of any type.
pub(super) const COPY: OpInfo = OpInfo { f16: F16Rule::Single, ..INTEGER };
/// Float operations whose results are exact.
pub(super) const EXACT: OpInfo = OpInfo { f16: F16Rule::Single, float: FloatRule::Exact, ..INTEGER };
/// Float operations whose results are correctly rounded.
pub(super) const ROUNDED: OpInfo = OpInfo { f16: F16Rule::Rounded, float: FloatRule::Rounded, ..INTEGER };
/// Float operations whose precision Vulkan leaves open.
pub(super) const APPROXIMATE: OpInfo = OpInfo { f16: F16Rule::Rounded, float: FloatRule::Approximate, ..INTEGER };
/// Float operations that `lower_math` replaces, so that none reaches emission.
pub(super) const EXPANDED: OpInfo = OpInfo {
    meaning: Meaning::Expanded,
    emission: EmissionRule::Fallible,
    random: RandomForm::Transcendental,
    ..APPROXIMATE
};
/// Conversions between floats.
pub(super) const CONVERTED: OpInfo = OpInfo { f16: F16Rule::Converted, float: FloatRule::Converted, ..INTEGER };

// Operations that depend on more than their operands.

/// Accesses to private variables, whose arrays exist per lane.
pub(super) const VARIABLE: OpInfo = OpInfo {
    emission: EmissionRule::Infallible,
    f16: F16Rule::Single,
    lane_count: LaneCountRule::Invariant,
    pixel_local: true,
    random: RandomForm::Own,
    ..UNKNOWN
};
/// Descriptors of images, samplers and acceleration structures, which kernels read.
pub(super) const DESCRIPTOR: OpInfo = OpInfo {
    meaning: Meaning::Kernel,
    shape: ShapeRule::Operands,
    effects: Effects::NONE,
    emission: EmissionRule::Binding,
    lane_count: LaneCountRule::Invariant,
    ..UNKNOWN
};
/// Accesses to memory.
pub(super) const MEMORY: OpInfo = OpInfo {
    shape: ShapeRule::Operands,
    stages: StageRule::Memory,
    emission: EmissionRule::Infallible,
    f16: F16Rule::Kept,
    lane_count: LaneCountRule::Invariant,
    random: RandomForm::Own,
    ..UNKNOWN
};
/// Loads.
pub(super) const LOAD: OpInfo = OpInfo { pixel_local: true, ..MEMORY };
/// Inputs and outputs of a stage with one element for each slot.
pub(super) const SLOT: OpInfo =
    OpInfo { emission: EmissionRule::Infallible, lane_count: LaneCountRule::Invariant, ..UNKNOWN };
/// Reads of images by kernels. A kernel takes parts of eight lanes, whatever the number of lanes.
pub(super) const KERNEL: OpInfo = OpInfo {
    meaning: Meaning::Kernel,
    shape: ShapeRule::Kernel,
    effects: Effects::READS,
    emission: EmissionRule::Infallible,
    lane_count: LaneCountRule::Invariant,
    ..UNKNOWN
};
/// Properties of images, which kernels read from the view.
pub(super) const QUERY: OpInfo = OpInfo { shape: ShapeRule::Operands, effects: Effects::NONE, ..KERNEL };
/// Derivatives.
pub(super) const DERIVATIVE: OpInfo = OpInfo {
    shape: ShapeRule::Operands,
    effects: Effects::NONE,
    stages: StageRule::Quads,
    emission: EmissionRule::Words,
    f16: F16Rule::Rounded,
    float: FloatRule::Approximate,
    lane_count: LaneCountRule::Invariant,
    ..UNKNOWN
};
/// Coverage of the pixels.
pub(super) const COVERAGE: OpInfo = OpInfo {
    stages: StageRule::Quads,
    emission: EmissionRule::Infallible,
    lane_count: LaneCountRule::Invariant,
    ..UNKNOWN
};
/// Control and memory barriers. A control barrier stops all chunks of a workgroup.
pub(super) const BARRIER: OpInfo = OpInfo {
    shape: ShapeRule::Operands,
    emission: EmissionRule::Infallible,
    lane_count: LaneCountRule::Invariant,
    ..UNKNOWN
};
/// Operations of invocations that have frames.
pub(super) const INVOCATION: OpInfo = OpInfo {
    stages: StageRule::Frames,
    emission: EmissionRule::Infallible,
    lane_count: LaneCountRule::Invariant,
    random: RandomForm::Own,
    ..UNKNOWN
};
/// Operations on subgroups.
pub(super) const SUBGROUP: OpInfo =
    OpInfo { effects: Effects::READS_ACTIVE, emission: EmissionRule::Infallible, ..UNKNOWN };
/// Operations on subgroups with operands of any scalar type, which they copy or compare.
pub(super) const SUBGROUP_COPY: OpInfo = OpInfo { f16: F16Rule::Single, ..SUBGROUP };
/// Combinations of the lanes of subgroups.
pub(super) const SUBGROUP_ARITHMETIC: OpInfo = OpInfo { f16: F16Rule::Combined, ..SUBGROUP };

// Built-ins: stages of a family can read all or none.

const BUILTIN: OpInfo = OpInfo { effects: Effects::NONE, emission: EmissionRule::Infallible, ..UNKNOWN };
/// Built-ins of vertices.
pub(super) const OF_VERTEX: OpInfo = OpInfo { stages: StageRule::Reads(Family::Vertex), ..BUILTIN };
/// Parameters of a draw, which vertex stages read.
pub(super) const OF_DRAW: OpInfo = OpInfo { shape: ShapeRule::Uniform, per_draw: true, ..OF_VERTEX };
/// Built-ins of fragments that depend on their pixel, or on the primitive.
pub(super) const OF_PIXEL: OpInfo = OpInfo {
    stages: StageRule::Reads(Family::Fragment),
    lane_count: LaneCountRule::Invariant,
    pixel_local: true,
    ..BUILTIN
};
/// Built-ins of fragments that depend on samples or coverage.
pub(super) const OF_SAMPLE: OpInfo = OpInfo { pixel_local: false, ..OF_PIXEL };
/// Built-ins that are equal for all invocations of a command and view.
pub(super) const OF_VIEW: OpInfo = OpInfo {
    shape: ShapeRule::Uniform,
    stages: StageRule::Reads(Family::View),
    lane_count: LaneCountRule::Invariant,
    pixel_local: true,
    ..BUILTIN
};
/// Built-ins of workgroups, and of invocations in their workgroup.
pub(super) const OF_WORKGROUP: OpInfo = OpInfo {
    stages: StageRule::Reads(Family::Workgroup),
    lane_count: LaneCountRule::Invariant,
    random: RandomForm::Any,
    ..BUILTIN
};
/// Built-ins of subgroups, which depend on the number of lanes.
pub(super) const OF_SUBGROUP: OpInfo = OpInfo { stages: StageRule::Reads(Family::Invocation), ..BUILTIN };
