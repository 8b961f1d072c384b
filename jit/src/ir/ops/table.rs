//! The rows of the operation table. Each row with a pattern has an example of its operation behind
//! the `=`.

use super::types::*;
use super::{Affine, Effects, Meaning, Row, ShapeRule, Weight};
use crate::ir::{
    Binary, Builtin, Cmp, Convert, ImageQuery, InterpolateAt, MemFlags, Op, SampleInfo, Scan, Space, Subgroup, Unary,
    Var,
};
use Affine::{Bound, Difference, Mask, Product, Quotient, Shift, Sum};
use Meaning::{Exact, Expanded, Kernel, Machine};
use ShapeRule::{Lane, Operands, Place, Select, Uniform, Varying};
use Weight::{Cheap, Dear, Heavy};
use base::abi::{AtomicOp, LodMode, SampleOp, TexelKind};

/// Defines `row` and `examples` of an enum, from lines of the form pattern = example, types,
/// meaning, shape, effects, weight. The patterns must be exhaustive, or it does not compile.
macro_rules! rows {
    ($of:ident { $($pattern:pat = $example:expr, $types:expr, $meaning:expr, $shape:expr, $effects:expr, $weight:expr;)* }
     $(with $($family:ident)*)?) => {
        impl $of {
            /// Returns the properties of the operation.
            pub fn row(&self) -> &'static Row {
                match self {
                    $($pattern => {
                        const ROW: &Row = &Row {
                            name: stringify!($pattern),
                            types: $types,
                            meaning: $meaning,
                            shape: $shape,
                            effects: $effects,
                            weight: $weight,
                        };
                        ROW
                    })*
                    $($($of::$family(op) => op.row(),)*)?
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

/// Defines rows as [`rows`] does, for an enum without payload and without effects.
macro_rules! plain_rows {
    ($of:ident { $($name:ident, $types:expr, $meaning:expr, $shape:expr, $weight:expr;)* }) => {
        rows! { $of { $($of::$name = $of::$name, $types, $meaning, $shape, Effects::NONE, $weight;)* } }
    };
}

plain_rows! { Unary {
    INeg, INT_1, Exact, Operands, Cheap;
    Not, LOGIC_1, Exact, Operands, Cheap;
    BitReverse, INT_1, Exact, Operands, Dear;
    BitCount, INT_COUNT, Exact, Operands, Dear;
    FindLsb, INT_1, Exact, Operands, Dear;
    FindSMsb, INT_1, Exact, Operands, Dear;
    FindUMsb, INT_1, Exact, Operands, Dear;
    FNeg, FLOAT_1, Exact, Operands, Cheap;
    FAbs, FLOAT_1, Exact, Operands, Cheap;
    Floor, FLOAT_1, Exact, Operands, Cheap;
    Ceil, FLOAT_1, Exact, Operands, Cheap;
    Trunc, FLOAT_1, Exact, Operands, Cheap;
    RoundEven, FLOAT_1, Exact, Operands, Cheap;
    Sqrt, FLOAT_1, Exact, Operands, Dear;
    RoundHalf, SINGLE_1, Exact, Operands, Cheap;
    InverseSqrt, FLOAT_1, Expanded, Operands, Dear;
    Sin, FLOAT_1, Expanded, Operands, Dear;
    Cos, FLOAT_1, Expanded, Operands, Dear;
    Tan, FLOAT_1, Expanded, Operands, Dear;
    Asin, FLOAT_1, Expanded, Operands, Dear;
    Acos, FLOAT_1, Expanded, Operands, Dear;
    Atan, FLOAT_1, Expanded, Operands, Dear;
    Sinh, FLOAT_1, Expanded, Operands, Dear;
    Cosh, FLOAT_1, Expanded, Operands, Dear;
    Tanh, FLOAT_1, Expanded, Operands, Dear;
    Asinh, FLOAT_1, Expanded, Operands, Dear;
    Acosh, FLOAT_1, Expanded, Operands, Dear;
    Atanh, FLOAT_1, Expanded, Operands, Dear;
    Exp, FLOAT_1, Expanded, Operands, Dear;
    Log, FLOAT_1, Expanded, Operands, Dear;
    Exp2, FLOAT_1, Expanded, Operands, Dear;
    Log2, FLOAT_1, Expanded, Operands, Dear;
} }

plain_rows! { Binary {
    IAdd, INT_2, Exact, ShapeRule::Affine(Sum), Cheap;
    ISub, INT_2, Exact, ShapeRule::Affine(Difference), Cheap;
    IMul, INT_2, Exact, ShapeRule::Affine(Product), Cheap;
    SDiv, INT_2, Exact, Operands, Dear;
    UDiv, INT_2, Exact, Operands, Dear;
    SRem, INT_2, Exact, Operands, Dear;
    SMod, INT_2, Exact, Operands, Dear;
    UMod, INT_2, Exact, Operands, Dear;
    SMulHi, INT_2, Exact, Operands, Cheap;
    UMulHi, INT_2, Exact, Operands, Cheap;
    And, LOGIC_2, Exact, ShapeRule::Affine(Mask), Cheap;
    Or, LOGIC_2, Exact, Operands, Cheap;
    Xor, LOGIC_2, Exact, Operands, Cheap;
    Shl, INT_2, Exact, ShapeRule::Affine(Shift), Cheap;
    LShr, INT_2, Exact, ShapeRule::Affine(Quotient), Cheap;
    AShr, INT_2, Exact, Operands, Cheap;
    SMin, INT_2, Exact, Operands, Cheap;
    UMin, INT_2, Exact, Operands, Cheap;
    SMax, INT_2, Exact, Operands, Cheap;
    UMax, INT_2, Exact, Operands, Cheap;
    Bound, INT_2, Exact, ShapeRule::Affine(Bound), Cheap;
    FAdd, FLOAT_2, Exact, Operands, Cheap;
    FSub, FLOAT_2, Exact, Operands, Cheap;
    FMul, FLOAT_2, Exact, Operands, Cheap;
    FDiv, FLOAT_2, Exact, Operands, Dear;
    FMin, FLOAT_2, Exact, Operands, Cheap;
    FMax, FLOAT_2, Exact, Operands, Cheap;
    FRem, FLOAT_2, Exact, Operands, Dear;
    FMod, FLOAT_2, Exact, Operands, Dear;
    Pow, FLOAT_2, Expanded, Operands, Dear;
    Atan2, FLOAT_2, Expanded, Operands, Dear;
} }

plain_rows! { Cmp {
    IEq, LOGIC_TEST, Exact, Operands, Cheap;
    INe, LOGIC_TEST, Exact, Operands, Cheap;
    SLt, INT_TEST, Exact, Operands, Cheap;
    SLe, INT_TEST, Exact, Operands, Cheap;
    ULt, INT_TEST, Exact, Operands, Cheap;
    ULe, INT_TEST, Exact, Operands, Cheap;
    FOrdEq, FLOAT_TEST, Exact, Operands, Cheap;
    FOrdNe, FLOAT_TEST, Exact, Operands, Cheap;
    FOrdLt, FLOAT_TEST, Exact, Operands, Cheap;
    FOrdLe, FLOAT_TEST, Exact, Operands, Cheap;
    FUnoEq, FLOAT_TEST, Exact, Operands, Cheap;
    FUnoNe, FLOAT_TEST, Exact, Operands, Cheap;
    FUnoLt, FLOAT_TEST, Exact, Operands, Cheap;
    FUnoLe, FLOAT_TEST, Exact, Operands, Cheap;
} }

plain_rows! { Convert {
    FToS, FLOAT_TO_INT, Exact, Operands, Cheap;
    FToU, FLOAT_TO_INT, Exact, Operands, Cheap;
    SToF, INT_TO_FLOAT, Exact, Operands, Cheap;
    UToF, INT_TO_FLOAT, Exact, Operands, Cheap;
    FToF, FLOAT_TO_FLOAT, Exact, Operands, Cheap;
    FToFRtz, FLOAT_TO_FLOAT, Exact, Operands, Cheap;
    UToU, INT_TO_INT, Exact, Operands, Cheap;
    SToS, INT_TO_INT, Exact, Operands, Cheap;
    Bitcast, SAME_SIZE, Exact, Operands, Cheap;
    BToI, BOOL_TO_WORD, Exact, Operands, Cheap;
} }

/// Defines the rows of built-ins. A built-in varies if a chunk may have it from two primitives.
macro_rules! builtins {
    ($($name:ident $(($any:tt = $component:literal))?, $types:expr, $shape:expr;)*) => {
        rows! { Builtin { $(
            Builtin::$name $(($any))? = Builtin::$name $(($component))?, $types, Machine, $shape, Effects::NONE, Cheap;
        )* } }
    };
}

builtins! {
    VertexIndex, GIVES_WORD, Varying;
    InstanceIndex, GIVES_WORD, Varying;
    BaseVertex, GIVES_WORD, Uniform;
    BaseInstance, GIVES_WORD, Uniform;
    DrawIndex, GIVES_WORD, Uniform;
    ViewIndex, GIVES_WORD, Uniform;
    DeviceIndex, GIVES_WORD, Uniform;
    FragCoord(_ = 0), GIVES_FLOAT, Varying;
    FrontFacing, GIVES_BOOL, ShapeRule::Primitive;
    PointCoord(_ = 0), GIVES_FLOAT, Varying;
    SampleId, GIVES_WORD, Varying;
    SamplePosition(_ = 0), GIVES_FLOAT, Varying;
    SampleMaskIn, GIVES_WORD, Varying;
    HelperInvocation, GIVES_BOOL, Varying;
    PrimitiveId, GIVES_WORD, ShapeRule::Primitive;
    InvocationId, GIVES_WORD, Varying;
    PatchVertices, GIVES_WORD, Uniform;
    TessCoord(_ = 0), GIVES_FLOAT, Varying;
    Layer, GIVES_WORD, ShapeRule::Primitive;
    ViewportIndex, GIVES_WORD, ShapeRule::Primitive;
    LocalInvocationIndex, GIVES_WORD, Lane;
    LocalInvocationId(_ = 0), GIVES_WORD, Place;
    WorkgroupId(_ = 0), GIVES_WORD, Uniform;
    NumWorkgroups(_ = 0), GIVES_WORD, Uniform;
    GlobalInvocationId(_ = 0), GIVES_WORD, Place;
    SubgroupInvocation, GIVES_WORD, Lane;
    SubgroupSize, GIVES_WORD, Uniform;
    SubgroupId, GIVES_WORD, Uniform;
    NumSubgroups, GIVES_WORD, Uniform;
}

const ACTIVE: Effects = Effects::READS_ACTIVE;

// The lanes count, and not only their values: an election or a scan of a uniform value varies.
rows! { Subgroup {
    Subgroup::Elect = Subgroup::Elect, GIVES_BOOL, Machine, Varying, ACTIVE, Dear;
    Subgroup::All = Subgroup::All, BOOL_1, Machine, Uniform, ACTIVE, Dear;
    Subgroup::Any = Subgroup::Any, BOOL_1, Machine, Uniform, ACTIVE, Dear;
    Subgroup::AllEqual = Subgroup::AllEqual, SCALAR_TEST, Machine, Uniform, ACTIVE, Dear;
    Subgroup::BroadcastFirst = Subgroup::BroadcastFirst, SCALAR_1, Machine, Uniform, ACTIVE, Dear;
    Subgroup::Broadcast = Subgroup::Broadcast, SCALAR_LANE, Machine, Uniform, ACTIVE, Dear;
    Subgroup::Ballot(_) = Subgroup::Ballot(0), BOOL_TO_WORD, Machine, Uniform, ACTIVE, Dear;
    Subgroup::Shuffle = Subgroup::Shuffle, SCALAR_LANE, Machine, Operands, ACTIVE, Dear;
    Subgroup::QuadBroadcast = Subgroup::QuadBroadcast, SCALAR_LANE, Machine, Operands, ACTIVE, Dear;
    Subgroup::QuadSwapHorizontal = Subgroup::QuadSwapHorizontal, SCALAR_1, Machine, Operands, ACTIVE, Dear;
    Subgroup::QuadSwapVertical = Subgroup::QuadSwapVertical, SCALAR_1, Machine, Operands, ACTIVE, Dear;
    Subgroup::QuadSwapDiagonal = Subgroup::QuadSwapDiagonal, SCALAR_1, Machine, Operands, ACTIVE, Dear;
    Subgroup::Arithmetic(_, Scan::Reduce) = Subgroup::Arithmetic(Binary::IAdd, Scan::Reduce),
        SUBGROUP_ARITHMETIC, Machine, Uniform, ACTIVE, Dear;
    Subgroup::Arithmetic(_, Scan::Cluster(_)) = Subgroup::Arithmetic(Binary::IAdd, Scan::Cluster(4)),
        SUBGROUP_ARITHMETIC, Machine, Varying, ACTIVE, Dear;
    Subgroup::Arithmetic(_, Scan::Inclusive) = Subgroup::Arithmetic(Binary::IAdd, Scan::Inclusive),
        SUBGROUP_ARITHMETIC, Machine, Varying, ACTIVE, Dear;
    Subgroup::Arithmetic(_, Scan::Exclusive) = Subgroup::Arithmetic(Binary::IAdd, Scan::Exclusive),
        SUBGROUP_ARITHMETIC, Machine, Varying, ACTIVE, Dear;
} }

rows! { ImageQuery {
    ImageQuery::Width = ImageQuery::Width, LEVEL_QUERY, Kernel, Operands, Effects::NONE, Dear;
    ImageQuery::Height = ImageQuery::Height, LEVEL_QUERY, Kernel, Operands, Effects::NONE, Dear;
    ImageQuery::Depth = ImageQuery::Depth, LEVEL_QUERY, Kernel, Operands, Effects::NONE, Dear;
    ImageQuery::Layers = ImageQuery::Layers, LEVEL_QUERY, Kernel, Operands, Effects::NONE, Dear;
    ImageQuery::Levels = ImageQuery::Levels, VIEW_QUERY, Kernel, Operands, Effects::NONE, Dear;
    ImageQuery::Samples = ImageQuery::Samples, VIEW_QUERY, Kernel, Operands, Effects::NONE, Dear;
} }

const PLAIN: MemFlags = MemFlags { readonly: false, volatile: false, align: 4 };
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

// Private arrays exist per lane; interpolation, kernels and atomics work per lane.
rows! { Op {
    Op::Const(_) = Op::Const(0), CONSTANT, Exact, Operands, Effects::NONE, Cheap;
    Op::Select = Op::Select, CHOICE, Exact, Select, Effects::NONE, Cheap;
    Op::Fma = Op::Fma, FLOAT_3, Exact, Operands, Effects::NONE, Cheap;
    Op::Ldexp = Op::Ldexp, FLOAT_EXPONENT, Exact, Operands, Effects::NONE, Dear;
    Op::Frexp = Op::Frexp, FLOAT_PARTS, Exact, Operands, Effects::NONE, Dear;
    Op::IAddCarry = Op::IAddCarry, INT_CARRY, Exact, Operands, Effects::NONE, Dear;
    Op::ISubBorrow = Op::ISubBorrow, INT_CARRY, Exact, Operands, Effects::NONE, Dear;
    Op::BitfieldInsert = Op::BitfieldInsert, FIELD_INSERT, Exact, Operands, Effects::NONE, Dear;
    Op::BitfieldSExtract = Op::BitfieldSExtract, FIELD_EXTRACT, Exact, Operands, Effects::NONE, Dear;
    Op::BitfieldUExtract = Op::BitfieldUExtract, FIELD_EXTRACT, Exact, Operands, Effects::NONE, Dear;

    Op::VarLoad(_) = Op::VarLoad(Var::from_u32(0)), VARIABLE, Machine, Varying, Effects::READS_VARIABLE, Dear;
    Op::VarStore(_) = Op::VarStore(Var::from_u32(0)), VARIABLE, Machine, Operands, Effects::WRITES_VARIABLE, Heavy;

    Op::BufferDesc { .. } = Op::BufferDesc { set: 0, binding: 0 }, BUFFER, Machine, Operands, Effects::NONE, Dear;
    Op::ImageDesc { .. } = Op::ImageDesc { set: 0, binding: 0 }, IMAGE, Kernel, Operands, Effects::NONE, Dear;
    Op::SamplerDesc { .. } = Op::SamplerDesc { set: 0, binding: 0 }, SAMPLER, Kernel, Operands, Effects::NONE, Dear;
    Op::BufferSize = Op::BufferSize, BUFFER_WORD, Machine, Operands, Effects::NONE, Dear;
    Op::Load(_, MemFlags { volatile: true, .. }) = Op::Load(Space::Buffer, MemFlags { volatile: true, ..PLAIN }),
        MEMORY, Machine, Operands, Effects::READS.and(Effects::VOLATILE), Heavy;
    Op::Load(_, MemFlags { readonly: true, volatile: false, .. }) = Op::Load(Space::Buffer, MemFlags { readonly: true, ..PLAIN }),
        MEMORY, Machine, Operands, Effects::NONE, Heavy;
    Op::Load(_, MemFlags { readonly: false, volatile: false, .. }) = Op::Load(Space::Buffer, PLAIN),
        MEMORY, Machine, Operands, Effects::READS, Heavy;
    Op::Store(..) = Op::Store(Space::Buffer, PLAIN), MEMORY, Machine, Operands, Effects::WRITES, Heavy;
    Op::Atomic(..) = Op::Atomic(Space::Buffer, AtomicOp::Add), MEMORY, Machine, Varying, CHANGES, Heavy;

    Op::LoadInput(..) = Op::LoadInput(0, InterpolateAt::Default), INTERFACE, Machine, ShapeRule::Input, Effects::NONE, Dear;
    Op::StoreOutput(_) = Op::StoreOutput(0), INTERFACE, Machine, Operands, Effects::EXPORTS, Dear;
    Op::LoadVertex(_) = Op::LoadVertex(0), INTERFACE, Machine, Varying, Effects::NONE, Dear;
    Op::StoreVertex(_) = Op::StoreVertex(0), INTERFACE, Machine, Operands, Effects::EXPORTS, Heavy;
    Op::StoreVertexCount = Op::StoreVertexCount, TAKES_WORD, Machine, Operands, Effects::EXPORTS, Dear;

    Op::Sample(_) = Op::Sample(SAMPLED), SAMPLE, Kernel, ShapeRule::Kernel, Effects::READS, Heavy;
    Op::ImageFetch { .. } = Op::ImageFetch { coords: 2, level: true, sample: false, kind: TexelKind::None },
        TEXEL, Kernel, ShapeRule::Kernel, Effects::READS, Heavy;
    Op::ImageResident { .. } = Op::ImageResident { coords: 2, level: true, sample: false },
        TEXEL, Kernel, ShapeRule::Kernel, Effects::READS, Heavy;
    Op::ImageStore { .. } = Op::ImageStore { coords: 2, sample: false, kind: TexelKind::None },
        TEXEL, Kernel, Operands, Effects::WRITES, Heavy;
    Op::ImageAtomic { .. } = Op::ImageAtomic { op: AtomicOp::Add, coords: 2, sample: false },
        TEXEL, Kernel, Varying, CHANGES, Heavy;

    Op::Ddx { .. } = Op::Ddx { fine: true }, FLOAT_1, Machine, Operands, Effects::NONE, Dear;
    Op::Ddy { .. } = Op::Ddy { fine: true }, FLOAT_1, Machine, Operands, Effects::NONE, Dear;

    Op::Barrier = Op::Barrier, NOTHING, Machine, Operands, Effects::ORDERS.and(Effects::SUSPENDS), Heavy;
    Op::MemoryBarrier = Op::MemoryBarrier, NOTHING, Machine, Operands, Effects::ORDERS, Dear;
    Op::Demote = Op::Demote, NOTHING, Machine, Operands, Effects::DEMOTES, Dear;
    Op::IsHelper = Op::IsHelper, GIVES_BOOL, Machine, Varying, Effects::READS_COVERAGE, Dear;
    // Two readings are never merged, and nothing moves past a reading.
    Op::Clock = Op::Clock, GIVES_LONG, Kernel, Uniform, CHANGES.and(Effects::VOLATILE), Heavy;
} with Unary Binary Cmp Convert Builtin Subgroup ImageQuery }

impl Binary {
    /// Returns true if `op(a, b)` is always `op(b, a)` (apart from a NaN's payload).
    pub fn commutes(self) -> bool {
        use Binary::*;
        match self {
            IAdd | IMul | SMulHi | UMulHi | And | Or | Xor | SMin | UMin | SMax | UMax | FAdd | FMul => true,
            ISub | SDiv | UDiv | SRem | SMod | UMod | Shl | LShr | AShr | Bound => false,
            // The minimum or maximum of a positive and a negative zero is the first operand.
            FSub | FDiv | FMin | FMax | FRem | FMod | Pow | Atan2 => false,
        }
    }
}
