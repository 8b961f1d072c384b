//! The rows of the operation table.
//!
//! A row has, in this order, the pattern of its operations, the signature, the cost class, and the
//! preset of its family (`presets`) with the columns in which the row differs from it. Rows of
//! enums without a payload are named by the variant alone; the other rows have an example of their
//! operation behind the `=`.

use super::OpInfo;
use super::columns::*;
use super::presets::*;
use super::signature::*;
use crate::ir::{
    Binary, Builtin, Cmp, Convert, ImageQuery, InterpolateAt, MemFlags, Op, RayQueryOp, SampleInfo, Scan, Space,
    Subgroup, Unary, Var,
};
use AffineRule::{Bound, Difference, Mask, Product, Quotient, Shift, Sum};
use CostClass::{Call, Cheap, Expensive};
use EmissionRule::{Fallible, Infallible, Words};
use LaneCountRule::{Dependent, Invariant, InvariantAlone};
use RandomForm::{Any, Never, Own, Remainder};
use ShapeRule::{Affine, Input, Lane, Operands, Position, Primitive, Select, Uniform, Varying};
use StageRule::{Compute, Inputs, Outputs, Reads};
use base::abi::{AtomicOp, LodMode, SampleOp, TexelKind};
use base::shader::BuiltinFamily as Family;
use base::shader::SuspendReason;

/// Defines `info` and `examples` of an enum, from its rows. The patterns must be exhaustive, or it
/// does not compile.
macro_rules! rows {
    ($of:ident {
        $($pattern:pat = $example:expr, $signature:expr, $cost:expr,
            $preset:ident $({ $($column:ident: $value:expr),* })?;)*
    } $(with $($family:ident)*)?) => {
        impl $of {
            /// Returns the properties of the operation.
            pub fn info(&self) -> &'static OpInfo {
                match self {
                    $($pattern => {
                        const INFO: &OpInfo = &OpInfo {
                            name: stringify!($pattern),
                            signature: $signature,
                            cost: $cost,
                            $($($column: $value,)*)?
                            ..$preset
                        };
                        INFO
                    })*
                    $($($of::$family(op) => op.info(),)*)?
                }
            }
            /// Returns one example of each row.
            pub fn examples() -> Vec<$of> {
                #[allow(unused_mut, reason = "only where there are families")]
                let mut all = vec![$($example),*];
                $($(all.extend($family::examples().into_iter().map($of::$family));)*)?
                all
            }
        }
    };
}

/// Defines rows as [`rows`] does, for an enum without a payload.
macro_rules! plain_rows {
    ($of:ident {
        $($name:ident, $signature:expr, $cost:expr,
            $preset:ident $({ $($column:ident: $value:expr),* })?;)*
    }) => {
        rows! { $of {
            $($of::$name = $of::$name, $signature, $cost, $preset $({ $($column: $value),* })?;)*
        } }
    };
}

plain_rows! { Unary {
    INeg,        INT_1,     Cheap,     INTEGER;
    Not,         LOGIC_1,   Cheap,     INTEGER;
    BitReverse,  INT_1,     Expensive, INTEGER;
    BitCount,    INT_COUNT, Expensive, INTEGER;
    FindLsb,     INT_1,     Expensive, INTEGER;
    FindSMsb,    INT_1,     Expensive, INTEGER;
    FindUMsb,    INT_1,     Expensive, INTEGER;
    FNeg,        FLOAT_1,   Cheap,     EXACT;
    FAbs,        FLOAT_1,   Cheap,     EXACT;
    Floor,       FLOAT_1,   Cheap,     EXACT;
    Ceil,        FLOAT_1,   Cheap,     EXACT;
    Trunc,       FLOAT_1,   Cheap,     EXACT;
    RoundEven,   FLOAT_1,   Cheap,     EXACT;
    Sqrt,        FLOAT_1,   Expensive, ROUNDED;
    RoundHalf,   SINGLE_1,  Cheap,     EXACT { f16: F16Rule::None };
    InverseSqrt, FLOAT_1,   Expensive, EXPANDED;
    Sin,         FLOAT_1,   Expensive, EXPANDED;
    Cos,         FLOAT_1,   Expensive, EXPANDED;
    Tan,         FLOAT_1,   Expensive, EXPANDED;
    Asin,        FLOAT_1,   Expensive, EXPANDED;
    Acos,        FLOAT_1,   Expensive, EXPANDED;
    Atan,        FLOAT_1,   Expensive, EXPANDED;
    Sinh,        FLOAT_1,   Expensive, EXPANDED;
    Cosh,        FLOAT_1,   Expensive, EXPANDED;
    Tanh,        FLOAT_1,   Expensive, EXPANDED;
    Asinh,       FLOAT_1,   Expensive, EXPANDED;
    Acosh,       FLOAT_1,   Expensive, EXPANDED;
    Atanh,       FLOAT_1,   Expensive, EXPANDED;
    Exp,         FLOAT_1,   Expensive, EXPANDED;
    Log,         FLOAT_1,   Expensive, EXPANDED;
    Exp2,        FLOAT_1,   Expensive, EXPANDED;
    Log2,        FLOAT_1,   Expensive, EXPANDED;
} }

// The minimum or maximum of a positive and a negative zero is the first operand, so that these do
// not commute.
plain_rows! { Binary {
    IAdd,   INT_2,   Cheap,     SYMMETRIC { shape: Affine(Sum) };
    ISub,   INT_2,   Cheap,     INTEGER { shape: Affine(Difference) };
    IMul,   INT_2,   Cheap,     SYMMETRIC { shape: Affine(Product) };
    SDiv,   INT_2,   Expensive, INTEGER;
    UDiv,   INT_2,   Expensive, INTEGER;
    SRem,   INT_2,   Expensive, INTEGER;
    SMod,   INT_2,   Expensive, INTEGER;
    UMod,   INT_2,   Expensive, INTEGER;
    SMulHi, INT_2,   Cheap,     SYMMETRIC;
    UMulHi, INT_2,   Cheap,     SYMMETRIC;
    And,    LOGIC_2, Cheap,     SYMMETRIC { shape: Affine(Mask) };
    Or,     LOGIC_2, Cheap,     SYMMETRIC;
    Xor,    LOGIC_2, Cheap,     SYMMETRIC;
    Shl,    INT_2,   Cheap,     INTEGER { shape: Affine(Shift) };
    LShr,   INT_2,   Cheap,     INTEGER { shape: Affine(Quotient) };
    AShr,   INT_2,   Cheap,     INTEGER;
    SMin,   INT_2,   Cheap,     SYMMETRIC;
    UMin,   INT_2,   Cheap,     SYMMETRIC;
    SMax,   INT_2,   Cheap,     SYMMETRIC;
    UMax,   INT_2,   Cheap,     SYMMETRIC;
    Bound,  INT_2,   Cheap,     INTEGER { shape: Affine(Bound), random: Own };
    FAdd,   FLOAT_2, Cheap,     ROUNDED { commutes: true };
    FSub,   FLOAT_2, Cheap,     ROUNDED;
    FMul,   FLOAT_2, Cheap,     ROUNDED { commutes: true };
    FDiv,   FLOAT_2, Expensive, ROUNDED;
    FMin,   FLOAT_2, Cheap,     EXACT;
    FMax,   FLOAT_2, Cheap,     EXACT;
    FRem,   FLOAT_2, Expensive, APPROXIMATE { random: Remainder };
    FMod,   FLOAT_2, Expensive, APPROXIMATE { random: Remainder };
    Pow,    FLOAT_2, Expensive, EXPANDED;
    Atan2,  FLOAT_2, Expensive, EXPANDED;
} }

plain_rows! { Cmp {
    IEq,    LOGIC_TEST, Cheap, INTEGER;
    INe,    LOGIC_TEST, Cheap, INTEGER;
    SLt,    INT_TEST,   Cheap, INTEGER;
    SLe,    INT_TEST,   Cheap, INTEGER;
    ULt,    INT_TEST,   Cheap, INTEGER;
    ULe,    INT_TEST,   Cheap, INTEGER;
    FOrdEq, FLOAT_TEST, Cheap, EXACT;
    FOrdNe, FLOAT_TEST, Cheap, EXACT;
    FOrdLt, FLOAT_TEST, Cheap, EXACT;
    FOrdLe, FLOAT_TEST, Cheap, EXACT;
    FUnoEq, FLOAT_TEST, Cheap, EXACT;
    FUnoNe, FLOAT_TEST, Cheap, EXACT;
    FUnoLt, FLOAT_TEST, Cheap, EXACT;
    FUnoLe, FLOAT_TEST, Cheap, EXACT;
} }

// Passes must not let the payload of a NaN reach an integer, as a random `Bitcast` would.
plain_rows! { Convert {
    FToS,    FLOAT_TO_INT,   Cheap, INTEGER { f16: F16Rule::Single };
    FToU,    FLOAT_TO_INT,   Cheap, INTEGER { f16: F16Rule::Single };
    SToF,    INT_TO_FLOAT,   Cheap, CONVERTED { f16: F16Rule::Rounded };
    UToF,    INT_TO_FLOAT,   Cheap, CONVERTED { f16: F16Rule::Rounded };
    FToF,    FLOAT_TO_FLOAT, Cheap, CONVERTED;
    FToFRtz, FLOAT_TO_FLOAT, Cheap, CONVERTED { float: FloatRule::Truncated };
    UToU,    INT_TO_INT,     Cheap, INTEGER;
    SToS,    INT_TO_INT,     Cheap, INTEGER;
    Bitcast, SAME_SIZE,      Cheap, INTEGER { f16: F16Rule::Bits, random: Never };
    BToI,    BOOL_TO_WORD,   Cheap, INTEGER;
} }

/// Defines the rows of built-ins. A built-in varies if a chunk may have it from two primitives.
macro_rules! builtins {
    ($($name:ident $(($any:tt = $component:literal))?, $signature:expr,
        $preset:ident $({ $($column:ident: $value:expr),* })?;)*) => {
        rows! { Builtin { $(
            Builtin::$name $(($any))? = Builtin::$name $(($component))?, $signature, Cheap,
                $preset $({ $($column: $value),* })?;
        )* } }
    };
}

builtins! {
    VertexIndex,               GIVES_WORD,  OF_VERTEX;
    InstanceIndex,             GIVES_WORD,  OF_VERTEX;
    BaseVertex,                GIVES_WORD,  OF_DRAW;
    BaseInstance,              GIVES_WORD,  OF_DRAW;
    DrawIndex,                 GIVES_WORD,
        OF_DRAW { stages: Reads(Family::Draw), pixel_local: true };
    ViewIndex,                 GIVES_WORD,  OF_VIEW;
    DeviceIndex,               GIVES_WORD,  OF_VIEW { stages: Reads(Family::Invocation) };
    FragCoord(_ = 0),          GIVES_FLOAT, OF_PIXEL;
    FrontFacing,               GIVES_BOOL,  OF_PIXEL { shape: Primitive };
    PointCoord(_ = 0),         GIVES_FLOAT, OF_PIXEL;
    SampleId,                  GIVES_WORD,  OF_SAMPLE;
    SamplePosition(_ = 0),     GIVES_FLOAT, OF_SAMPLE;
    SampleMaskIn,              GIVES_WORD,  OF_SAMPLE;
    HelperInvocation,          GIVES_BOOL,  OF_SAMPLE;
    FullyCovered,              GIVES_BOOL,  OF_SAMPLE;
    ShadingRate,               GIVES_WORD,  OF_SAMPLE;
    PrimitiveId,               GIVES_WORD,
        OF_PIXEL { shape: Primitive, stages: Reads(Family::Primitive) };
    InvocationId,              GIVES_WORD,  OF_VERTEX { stages: Reads(Family::Instance) };
    PatchVertices,             GIVES_WORD,
        OF_VERTEX { shape: Uniform, stages: Reads(Family::Patch) };
    TessCoord(_ = 0),          GIVES_FLOAT, OF_VERTEX { stages: Reads(Family::Domain) };
    Layer,                     GIVES_WORD,  OF_PIXEL { shape: Primitive };
    ViewportIndex,             GIVES_WORD,  OF_PIXEL { shape: Primitive };
    LocalInvocationIndex,      GIVES_WORD,  OF_WORKGROUP { shape: Lane };
    LocalInvocationId(_ = 0),  GIVES_WORD,  OF_WORKGROUP { shape: Position };
    WorkgroupId(_ = 0),        GIVES_WORD,  OF_WORKGROUP { shape: Uniform };
    NumWorkgroups(_ = 0),      GIVES_WORD,  OF_WORKGROUP { shape: Uniform };
    GlobalInvocationId(_ = 0), GIVES_WORD,  OF_WORKGROUP { shape: Position };
    SubgroupInvocation,        GIVES_WORD,  OF_SUBGROUP { shape: Lane };
    SubgroupSize,              GIVES_WORD,  OF_SUBGROUP { shape: Uniform };
    SubgroupId,                GIVES_WORD,
        OF_SUBGROUP { shape: Uniform, stages: Reads(Family::Workgroup) };
    NumSubgroups,              GIVES_WORD,
        OF_SUBGROUP { shape: Uniform, stages: Reads(Family::Workgroup) };
}

// The lanes count, and not only their values: an election or a scan of a uniform value varies.
rows! { Subgroup {
    Subgroup::Elect = Subgroup::Elect, GIVES_BOOL, Expensive, SUBGROUP;
    Subgroup::All = Subgroup::All, BOOL_1, Expensive, SUBGROUP { shape: Uniform };
    Subgroup::Any = Subgroup::Any, BOOL_1, Expensive, SUBGROUP { shape: Uniform };
    Subgroup::AllEqual = Subgroup::AllEqual,
        SCALAR_TEST, Expensive, SUBGROUP_COPY { shape: Uniform };
    Subgroup::BroadcastFirst = Subgroup::BroadcastFirst,
        SCALAR_1, Expensive, SUBGROUP_COPY { shape: Uniform };
    Subgroup::Broadcast = Subgroup::Broadcast,
        SCALAR_LANE, Expensive, SUBGROUP_COPY { shape: Uniform };
    Subgroup::Ballot(_) = Subgroup::Ballot(0), BOOL_TO_WORD, Expensive, SUBGROUP { shape: Uniform };
    Subgroup::Shuffle = Subgroup::Shuffle,
        SCALAR_LANE, Expensive, SUBGROUP_COPY { shape: Operands };
    // The lane has to be a constant.
    Subgroup::QuadBroadcast = Subgroup::QuadBroadcast,
        SCALAR_LANE, Expensive, SUBGROUP_COPY { shape: Operands, emission: Fallible };
    Subgroup::QuadSwapHorizontal = Subgroup::QuadSwapHorizontal,
        SCALAR_1, Expensive, SUBGROUP_COPY { shape: Operands };
    Subgroup::QuadSwapVertical = Subgroup::QuadSwapVertical,
        SCALAR_1, Expensive, SUBGROUP_COPY { shape: Operands };
    Subgroup::QuadSwapDiagonal = Subgroup::QuadSwapDiagonal,
        SCALAR_1, Expensive, SUBGROUP_COPY { shape: Operands };
    Subgroup::Arithmetic(_, Scan::Reduce) = Subgroup::Arithmetic(Binary::IAdd, Scan::Reduce),
        COMBINATION, Expensive, SUBGROUP_ARITHMETIC { shape: Uniform };
    Subgroup::Arithmetic(_, Scan::Cluster(_)) =
        Subgroup::Arithmetic(Binary::IAdd, Scan::Cluster(4)),
        COMBINATION, Expensive, SUBGROUP_ARITHMETIC;
    Subgroup::Arithmetic(_, Scan::Inclusive) = Subgroup::Arithmetic(Binary::IAdd, Scan::Inclusive),
        COMBINATION, Expensive, SUBGROUP_ARITHMETIC;
    Subgroup::Arithmetic(_, Scan::Exclusive) = Subgroup::Arithmetic(Binary::IAdd, Scan::Exclusive),
        COMBINATION, Expensive, SUBGROUP_ARITHMETIC;
} }

plain_rows! { ImageQuery {
    Width,   LEVEL_QUERY, Expensive, QUERY;
    Height,  LEVEL_QUERY, Expensive, QUERY;
    Depth,   LEVEL_QUERY, Expensive, QUERY;
    Layers,  LEVEL_QUERY, Expensive, QUERY;
    Levels,  VIEW_QUERY,  Expensive, QUERY;
    Samples, VIEW_QUERY,  Expensive, QUERY;
} }

const PLAIN: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };
const READONLY: MemFlags = MemFlags { readonly: true, ..PLAIN };
const VOLATILE: MemFlags = MemFlags { volatile: true, ..PLAIN };
const CHANGES: Effects = Effects::READS.and(Effects::WRITES);
const SAMPLED: SampleInfo = SampleInfo {
    op: SampleOp::Sample,
    lod_mode: LodMode::Implicit,
    coords: 2,
    dref: false,
    lod: false,
    grad: 0,
    offset: 0,
    min_lod: false,
    component: 0,
    gather_offsets: None,
};

/// Number of the variable of a ray query in the shaders that tests make of the examples.
pub(super) const EXAMPLE_QUERIES: u32 = 16;

rows! { Op {
    Op::Const(_) = Op::Const(0), CONSTANT, Cheap, COPY { random: Own };
    Op::Select = Op::Select, CHOICE, Cheap, COPY { shape: Select };
    Op::Fma = Op::Fma, FLOAT_3, Cheap, ROUNDED { f16: F16Rule::Expanded };
    Op::Ldexp = Op::Ldexp, FLOAT_EXPONENT, Expensive, APPROXIMATE;
    // The operand of a random program must not be infinite.
    Op::Frexp = Op::Frexp, FLOAT_PARTS, Expensive, EXACT { random: Own };
    Op::IAddCarry = Op::IAddCarry, INT_CARRY, Expensive, INTEGER;
    Op::ISubBorrow = Op::ISubBorrow, INT_CARRY, Expensive, INTEGER;
    // The field of a random program must not exceed the word.
    Op::BitfieldInsert = Op::BitfieldInsert, FIELD_INSERT, Expensive, INTEGER { random: Own };
    Op::BitfieldSExtract = Op::BitfieldSExtract, FIELD_EXTRACT, Expensive, INTEGER { random: Own };
    Op::BitfieldUExtract = Op::BitfieldUExtract, FIELD_EXTRACT, Expensive, INTEGER { random: Own };

    Op::VarLoad(_) = Op::VarLoad(Var::from_u32(0)),
        ELEMENT, Expensive, VARIABLE { effects: Effects::READS_VARIABLE };
    Op::VarStore(_) = Op::VarStore(Var::from_u32(0)),
        ELEMENT, Call, VARIABLE { shape: Operands, effects: Effects::WRITES_VARIABLE };

    Op::BufferDesc { .. } = Op::BufferDesc { set: 0, binding: 0 },
        BUFFER, Expensive, DESCRIPTOR { meaning: Meaning::Machine, pixel_local: true, random: Own };
    Op::ImageDesc { .. } = Op::ImageDesc { set: 0, binding: 0 }, IMAGE, Expensive, DESCRIPTOR;
    Op::SamplerDesc { .. } = Op::SamplerDesc { set: 0, binding: 0 }, SAMPLER, Expensive, DESCRIPTOR;
    Op::StructureDesc { .. } = Op::StructureDesc { set: 0, binding: 0 }, STRUCTURE, Expensive, DESCRIPTOR;
    Op::BufferSize = Op::BufferSize,
        BUFFER_WORD, Expensive, DESCRIPTOR {
            meaning: Meaning::Machine, emission: Infallible, pixel_local: true, random: Any
        };
    Op::Load(_, MemFlags { volatile: true, .. }) = Op::Load(Space::Buffer, VOLATILE),
        ACCESS, Call, LOAD {
            effects: Effects::READS.and(Effects::VOLATILE), lane_count: Dependent
        };
    Op::Load(_, MemFlags { readonly: true, volatile: false, .. }) =
        Op::Load(Space::Buffer, READONLY),
        ACCESS, Call, LOAD { effects: Effects::NONE };
    Op::Load(_, MemFlags { readonly: false, volatile: false, .. }) = Op::Load(Space::Buffer, PLAIN),
        ACCESS, Call, LOAD { effects: Effects::READS };
    Op::Store(_, MemFlags { volatile: true, .. }) = Op::Store(Space::Buffer, VOLATILE),
        ACCESS, Call, MEMORY { effects: Effects::WRITES, lane_count: Dependent, random: Never };
    Op::Store(_, MemFlags { volatile: false, .. }) = Op::Store(Space::Buffer, PLAIN),
        ACCESS, Call, MEMORY { effects: Effects::WRITES };
    Op::Atomic(..) = Op::Atomic(Space::Buffer, AtomicOp::Add),
        ACCESS, Call, MEMORY {
            shape: Varying, effects: CHANGES, lane_count: InvariantAlone, random: Never
        };

    Op::LoadInput(_, InterpolateAt::Default) = Op::LoadInput(0, InterpolateAt::Default),
        INTERFACE, Expensive, SLOT {
            shape: Input, effects: Effects::NONE, stages: Inputs, pixel_local: true, random: Own
        };
    Op::LoadInput(..) = Op::LoadInput(0, InterpolateAt::Centroid),
        INTERFACE, Expensive, SLOT { shape: Input, effects: Effects::NONE, stages: Inputs };
    Op::StoreOutput(_) = Op::StoreOutput(0),
        INTERFACE, Expensive, SLOT {
            shape: Operands, effects: Effects::EXPORTS, stages: Outputs, pixel_local: true
        };
    Op::LoadVertex(_) = Op::LoadVertex(0), INTERFACE, Expensive, UNKNOWN { effects: Effects::NONE };
    Op::StoreVertex(_) = Op::StoreVertex(0),
        INTERFACE, Call, UNKNOWN { shape: Operands, effects: Effects::EXPORTS };
    Op::StoreVertexCount = Op::StoreVertexCount,
        TAKES_WORD, Expensive, UNKNOWN { shape: Operands, effects: Effects::EXPORTS };

    Op::Sample(_) = Op::Sample(SAMPLED), SAMPLE, Call, KERNEL { emission: Words };
    Op::ImageFetch { .. } =
        Op::ImageFetch { coords: 2, level: true, sample: false, kind: TexelKind::None },
        TEXEL, Call, KERNEL { emission: Words };
    Op::ImageResident { .. } = Op::ImageResident { coords: 2, level: true, sample: false },
        TEXEL, Call, KERNEL;
    Op::ImageStore { .. } = Op::ImageStore { coords: 2, sample: false, kind: TexelKind::None },
        TEXEL, Call, KERNEL { shape: Operands, effects: Effects::WRITES };
    Op::ImageAtomic { .. } = Op::ImageAtomic { op: AtomicOp::Add, coords: 2, sample: false },
        TEXEL, Call, KERNEL {
            shape: Varying, effects: CHANGES, emission: Words, f16: F16Rule::Kept,
            lane_count: Dependent
        };

    Op::Ddx { .. } = Op::Ddx { fine: true }, FLOAT_1, Expensive, DERIVATIVE;
    Op::Ddy { .. } = Op::Ddy { fine: true }, FLOAT_1, Expensive, DERIVATIVE;

    Op::Barrier = Op::Barrier,
        NOTHING, Call, BARRIER {
            effects: Effects::ORDERS, suspends: Some(SuspendReason::Barrier), stages: Compute,
            random: Own
        };
    Op::MemoryBarrier = Op::MemoryBarrier,
        NOTHING, Expensive, BARRIER { effects: Effects::ORDERS, random: Any };
    Op::ExecuteCallable = Op::ExecuteCallable,
        SHADER_CALL, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::ExecuteCallable)
        };
    Op::TraceRay = Op::TraceRay,
        TRACE, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::TraceRay), random: Never
        };
    Op::ReportIntersection = Op::ReportIntersection,
        REPORT, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::ReportIntersection), random: Never
        };
    Op::TraceHitObject = Op::TraceHitObject,
        TRACE_OBJECT, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::TraceHitObject), random: Never
        };
    Op::ExecuteHitObject = Op::ExecuteHitObject,
        EXECUTE_OBJECT, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::ExecuteHitObject), random: Never
        };
    Op::Reorder = Op::Reorder,
        REORDER, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::Reorder), random: Never
        };
    Op::ReadInstance = Op::ReadInstance,
        READ_INSTANCE, Call, INVOCATION {
            effects: CHANGES.and(Effects::ORDERS), suspends: Some(SuspendReason::ReadInstance), random: Never
        };
    Op::TerminateRay = Op::TerminateRay,
        NOTHING, Expensive, INVOCATION { shape: Operands, effects: Effects::EXPORTS };
    Op::IgnoreIntersection = Op::IgnoreIntersection,
        NOTHING, Expensive, INVOCATION { shape: Operands, effects: Effects::EXPORTS, random: Never };
    Op::Demote = Op::Demote,
        NOTHING, Expensive, COVERAGE { shape: Operands, effects: Effects::DEMOTES };
    Op::IsHelper = Op::IsHelper,
        GIVES_BOOL, Expensive, COVERAGE { effects: Effects::READS_COVERAGE };
    // Structures are memory that another command may write; a query is private.
    Op::RayQuery(..) = Op::RayQuery(Var::from_u32(EXAMPLE_QUERIES), RayQueryOp::Proceed),
        RAY_QUERY, Call, UNKNOWN {
            meaning: Meaning::Kernel,
            emission: Infallible,
            effects: Effects::READS
                .and(Effects::VOLATILE)
                .and(Effects::READS_VARIABLE)
                .and(Effects::WRITES_VARIABLE),
            lane_count: Invariant
        };
    // Two readings are never merged, and nothing moves past a reading.
    Op::Clock = Op::Clock,
        GIVES_LONG, Call, UNKNOWN {
            meaning: Meaning::Kernel, shape: Uniform, effects: CHANGES.and(Effects::VOLATILE),
            emission: Infallible
        };
} with Unary Binary Cmp Convert Builtin Subgroup ImageQuery }
