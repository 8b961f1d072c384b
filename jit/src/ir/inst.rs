//! Instructions. The payload of [`Op`] holds what is known at compile time; `args` hold values.
//!
//! Argument and result lists are written `(args) -> results` behind each operation.

use super::{FloatFlags, Ty, Value, Var};
use base::abi::{AtomicOp, LodMode, RAY_QUERY_ALIGN, RAY_QUERY_BYTES, RayGetter, SampleOp, TexelKind};
use base::text::FromText;
use smallvec::SmallVec;

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// Operation, with what is known at compile time.
    pub op: Op,
    /// Operands, in the order of the operation's row (`ops/table.rs`).
    pub args: SmallVec<[Value; 4]>,
    /// First of `result_count` consecutive values (meaningless if that is 0).
    pub first_result: Value,
    /// Number of results.
    pub result_count: u16,
    /// Requirements on float arithmetic; no flag if there is no float.
    pub float: FloatFlags,
    /// SPIR-V id for messages; 0 if a pass made the instruction.
    pub source: u32,
}

impl InstData {
    /// Returns the single result.
    pub fn result(&self) -> Value {
        debug_assert_eq!(self.result_count, 1);
        self.first_result
    }
    /// Returns all results.
    pub fn results(&self) -> impl Iterator<Item = Value> + use<> {
        let first = self.first_result.as_u32();
        (first..first + u32::from(self.result_count)).map(Value::from_u32)
    }
}

/// Number of elements of a variable of words that hold a ray query.
pub const RAY_QUERY_WORDS: u32 = RAY_QUERY_BYTES as u32 / 4;

/// Number of elements with which a variable of ray queries exceeds them, so that they can be
/// aligned whatever the variable's address is.
pub const RAY_QUERY_PADDING: u32 = RAY_QUERY_ALIGN as u32 / 4;

/// Operations on ray queries, with their operands and results behind the index of the query, and
/// behind `initialized` (see [`Op::RayQuery`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum RayQueryOp {
    /// (structure: I64, flags: I32, mask: I32, origin: 3 F32, minimum: F32, direction: 3 F32,
    /// maximum: F32) -> (); it has no operand `initialized`.
    Initialize,
    /// (index of the source: I32) -> (): copy of a query of another variable. `initialized` is that
    /// of the source.
    Copy(Var),
    /// () -> 1 if there is a candidate, else 0.
    Proceed,
    /// () -> ().
    Confirm,
    /// (t: F32) -> ().
    Generate,
    /// () -> ().
    Terminate,
    /// () -> the components of the getter.
    Get {
        /// The value that is read.
        getter: RayGetter,
        /// True for the committed intersection, false for the candidate.
        committed: bool,
    },
}

impl RayQueryOp {
    /// Returns the variable of queries that is read beside the one that is changed.
    pub fn source(self) -> Option<Var> {
        match self {
            RayQueryOp::Copy(source) => Some(source),
            _ => None,
        }
    }

    /// Returns the types of the operands behind the index of the query and `initialized`.
    pub fn operands(self) -> &'static [Ty] {
        const INITIALIZE: [Ty; 11] = {
            let mut all = [Ty::F32; 11];
            (all[0], all[1], all[2]) = (Ty::I64, Ty::I32, Ty::I32);
            all
        };
        match self {
            RayQueryOp::Initialize => &INITIALIZE,
            RayQueryOp::Copy(_) => &[Ty::I32],
            RayQueryOp::Generate => &[Ty::F32],
            RayQueryOp::Proceed | RayQueryOp::Confirm | RayQueryOp::Terminate | RayQueryOp::Get { .. } => &[],
        }
    }

    /// Returns the number of results, which are words.
    pub fn results(self) -> usize {
        match self {
            RayQueryOp::Proceed => 1,
            RayQueryOp::Get { getter, .. } => getter.components(),
            RayQueryOp::Initialize | RayQueryOp::Copy(_) | RayQueryOp::Generate => 0,
            RayQueryOp::Confirm | RayQueryOp::Terminate => 0,
        }
    }
}

impl Op {
    /// Returns the variables of ray queries that the operation accesses.
    pub fn query_variables(&self) -> impl Iterator<Item = Var> {
        let variables = match *self {
            Op::RayQuery(var, op) => [Some(var), op.source()],
            _ => [None; 2],
        };
        variables.into_iter().flatten()
    }
}

/// Unary operations: (a: T) -> T unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Unary {
    /// Integer negation.
    INeg,
    /// Bitwise (or boolean) complement.
    Not,
    /// Bits in reverse order.
    BitReverse,
    /// Number of one bits; the result is I32.
    BitCount,
    /// Index of the lowest one bit, -1 for zero.
    FindLsb,
    /// GLSL.std.450 FindSMsb.
    FindSMsb,
    /// GLSL.std.450 FindUMsb.
    FindUMsb,
    /// Negation by flipping the sign bit, also of NaN.
    FNeg,
    /// Absolute value by clearing the sign bit.
    FAbs,
    /// Rounding to a whole number towards -inf.
    Floor,
    /// Rounding to a whole number towards +inf.
    Ceil,
    /// Rounding to a whole number towards 0.
    Trunc,
    /// Rounding to the nearest whole number, ties to even.
    RoundEven,
    /// Correctly rounded square root.
    Sqrt,
    /// F32: the nearest number that binary16 can represent, ties to even; infinity beyond the
    /// largest.
    RoundHalf,
    // The `lower_math` pass expands transcendental functions into the other operations.
    /// Inverse square root, 1/sqrt(x).
    InverseSqrt,
    /// Sine of radians.
    Sin,
    /// Cosine of radians.
    Cos,
    /// Tangent of radians.
    Tan,
    /// Arcsine in radians, −π/2..=π/2.
    Asin,
    /// Arccosine in radians, 0..=π.
    Acos,
    /// Arctangent in radians, −π/2..=π/2.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Exponential function e^x.
    Exp,
    /// Natural logarithm ln x.
    Log,
    /// Power of two 2^x.
    Exp2,
    /// Binary logarithm log2 x.
    Log2,
}

/// Binary operations: (a: T, b: T) -> T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Binary {
    /// Sum, modulo 2^bits.
    IAdd,
    /// Difference, modulo 2^bits.
    ISub,
    /// Low half of the product.
    IMul,
    /// Signed quotient. Never traps: x/0 is unspecified but deterministic (all ones); MIN/-1 = MIN.
    SDiv,
    /// Unsigned quotient. Never traps: x/0 = all ones.
    UDiv,
    /// Signed remainder with the sign of the dividend; x%0 = x, deterministic.
    SRem,
    /// Signed remainder with the sign of the divisor; x mod 0 = x.
    SMod,
    /// Unsigned remainder; x%0 = x.
    UMod,
    /// High half of the signed product.
    SMulHi,
    /// High half of the unsigned product.
    UMulHi,
    /// Bitwise and, also on B1.
    And,
    /// Bitwise or, also on B1.
    Or,
    /// Bitwise exclusive or, also on B1.
    Xor,
    /// Shift to the left; the amount is taken modulo the width.
    Shl,
    /// Logical shift to the right; the amount is taken modulo the width.
    LShr,
    /// Arithmetic shift to the right; the amount is taken modulo the width.
    AShr,
    /// Signed minimum.
    SMin,
    /// Unsigned minimum.
    UMin,
    /// Signed maximum.
    SMax,
    /// Unsigned maximum.
    UMax,
    /// I32: the index `a` of a buffer access, clamped to `-b..=b`, where `b` is a constant and all
    /// that lies outside is out of every buffer's bounds. Only offsets may be computed from it: of
    /// an affine value only lane 0 is clamped, so that lanes outside may have other values outside.
    /// See [`Binary::bound_stays_affine`].
    Bound,
    /// IEEE 754 sum.
    FAdd,
    /// IEEE 754 difference.
    FSub,
    /// IEEE 754 product.
    FMul,
    /// IEEE 754 quotient.
    FDiv,
    /// Minimum: `b < a ? b : a` of x86 minps with the NaN handling of NMin: if one operand is NaN,
    /// the other is the result.
    FMin,
    /// Maximum, with the NaN handling of FMin.
    FMax,
    /// Remainder x - y*trunc(x/y).
    FRem,
    /// Remainder x - y*floor(x/y).
    FMod,
    /// pow(x, y), which `lower_math` expands.
    Pow,
    /// atan2(y, x), which `lower_math` expands.
    Atan2,
}

impl Binary {
    /// Returns true if a [`Binary::Bound`] to `limit` of an affine value is affine. Its lanes,
    /// which are at most `reach` apart, have to lie close together compared with the distance
    /// between the largest index inside a buffer and the limit.
    pub fn bound_stays_affine(reach: u64, limit: u32) -> bool {
        reach <= u64::from(limit >> 5)
    }
}

/// Comparisons: (a: T, b: T) -> B1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Cmp {
    /// Equal integers or B1.
    IEq,
    /// Unequal integers or B1.
    INe,
    /// Signed less.
    SLt,
    /// Signed less or equal.
    SLe,
    /// Unsigned less.
    ULt,
    /// Unsigned less or equal.
    ULe,
    /// Ordered equal.
    FOrdEq,
    /// Ordered not equal.
    FOrdNe,
    /// Ordered less.
    FOrdLt,
    /// Ordered less or equal.
    FOrdLe,
    /// Unordered or equal.
    FUnoEq,
    /// Unordered or not equal (C's !=).
    FUnoNe,
    /// Unordered or less.
    FUnoLt,
    /// Unordered or less or equal.
    FUnoLe,
}

/// Conversions: (a) -> result of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Convert {
    /// Float to signed integer, towards zero, saturating, NaN → 0.
    FToS,
    /// Float to unsigned integer, towards zero, saturating, NaN → 0.
    FToU,
    /// Signed integer to float, to nearest even.
    SToF,
    /// Unsigned integer to float, to nearest even.
    UToF,
    /// Float to float, to nearest even.
    FToF,
    /// Float to float, towards zero (for RTZ decorations).
    FToFRtz,
    /// Integer to integer: truncate or zero-extend.
    UToU,
    /// Integer to integer: truncate or sign-extend.
    SToS,
    /// Bits of a value as another type of the same size.
    Bitcast,
    /// B1 → I32: 1 or 0.
    BToI,
}

/// Memory spaces of [`Op::Load`], [`Op::Store`], [`Op::Atomic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Space {
    /// (buf: Buf, offset: I32 bytes), bounds-checked: out-of-bounds loads give 0 and stores are
    /// dropped. An access of several elements is in bounds as a whole or not at all.
    Buffer,
    /// (offset: I32 bytes) into workgroup memory, bounds-checked against `shared_bytes`.
    Shared,
    /// (offset: I32 bytes) into push constants, bounds-checked; loads only.
    Push,
    /// (address: I64), PhysicalStorageBuffer; unchecked.
    Global,
}

/// Qualifiers of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromText)]
pub struct MemFlags {
    /// The memory is not written while the stage runs (uniform buffers, NonWritable with
    /// Restrict…), so that loads may move and be merged.
    pub readonly: bool,
    /// The access is volatile: neither merged nor removed.
    pub volatile: bool,
    /// Guaranteed alignment of the address in bytes (a power of two, at least the element size).
    pub align: u8,
}

/// Built-in values that are not slots: () -> I32 unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Builtin {
    /// gl_VertexIndex.
    VertexIndex,
    /// gl_InstanceIndex.
    InstanceIndex,
    /// BaseVertex.
    BaseVertex,
    /// BaseInstance.
    BaseInstance,
    /// DrawIndex.
    DrawIndex,
    /// ViewIndex.
    ViewIndex,
    /// DeviceIndex.
    DeviceIndex,
    /// FragCoord component 0..=3: F32 (w is 1/w_clip).
    FragCoord(u8),
    /// FrontFacing: B1.
    FrontFacing,
    /// PointCoord component: F32.
    PointCoord(u8),
    /// SampleId.
    SampleId,
    /// SamplePosition component: F32.
    SamplePosition(u8),
    /// SampleMask\[0\] input.
    SampleMaskIn,
    /// HelperInvocation: B1 (at entry; demotes show in IsHelper).
    HelperInvocation,
    /// FullyCoveredEXT: B1.
    FullyCovered,
    /// ShadingRateKHR.
    ShadingRate,
    /// PrimitiveId.
    PrimitiveId,
    /// InvocationId.
    InvocationId,
    /// PatchVertices.
    PatchVertices,
    /// TessCoord component: F32.
    TessCoord(u8),
    /// Layer (fragment input).
    Layer,
    /// ViewportIndex (fragment input).
    ViewportIndex,
    /// LocalInvocationIndex.
    LocalInvocationIndex,
    /// LocalInvocationId component.
    LocalInvocationId(u8),
    /// WorkgroupId component.
    WorkgroupId(u8),
    /// NumWorkgroups component.
    NumWorkgroups(u8),
    /// GlobalInvocationId component.
    GlobalInvocationId(u8),
    /// SubgroupLocalInvocationId: lane index.
    SubgroupInvocation,
    /// SubgroupSize (a constant of the emission).
    SubgroupSize,
    /// SubgroupId: chunk index in the workgroup.
    SubgroupId,
    /// NumSubgroups.
    NumSubgroups,
}

/// Position at which a fragment input is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum InterpolateAt {
    /// Pixel centre, or the sample when the stage shades per sample.
    Default,
    /// Centroid of the covered samples.
    Centroid,
    /// Decorated Sample: the sample position.
    Sample,
    /// InterpolateAtOffset: args (x: F32, y: F32) from the pixel centre.
    Offset,
    /// InterpolateAtSample: arg (sample: I32).
    AtSample,
}

/// Subgroup and quad operations; all lanes in the exec mask take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Subgroup {
    /// () -> B1: true in the lowest active lane.
    Elect,
    /// (B1) -> B1, uniform: true if all active lanes have true.
    All,
    /// (B1) -> B1, uniform: true if any active lane has true.
    Any,
    /// (T) -> B1, uniform: true if all active lanes have the same value.
    AllEqual,
    /// (T) -> T, uniform: value of the lowest active lane.
    BroadcastFirst,
    /// (T, lane: I32) -> T: value of a lane, whose number is dynamically uniform.
    Broadcast,
    /// (B1) -> I32: a bit per lane, for the group of 32 lanes with this number; 0 if there are no
    /// such lanes.
    Ballot(u8),
    /// (T, lane: I32) -> T: value of a lane, whose number each lane chooses.
    Shuffle,
    /// (T, i: I32 constant 0..=3) -> T: value of lane i of the quad.
    QuadBroadcast,
    /// (T) -> T: value of the horizontal neighbour in the quad.
    QuadSwapHorizontal,
    /// (T) -> T: value of the vertical neighbour in the quad.
    QuadSwapVertical,
    /// (T) -> T: value of the diagonal neighbour in the quad.
    QuadSwapDiagonal,
    /// (T) -> T: values of the active lanes, combined by an associative operation (see [`Scan`]).
    Arithmetic(Binary, Scan),
}

/// The lanes that a [`Subgroup::Arithmetic`] combines. Inactive lanes count as the operation's
/// identity.
///
/// The order is part of the meaning, because floats round. It proceeds in rounds with distances 1,
/// 2, 4, …: in a reduction, a lane combines its value with that of its pair (the lower lane first).
/// In a scan, it combines with the lane at this distance below it, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Scan {
    /// All lanes of the subgroup: uniform.
    Reduce,
    /// The lanes of the lane's cluster, which has this size, a power of two.
    Cluster(u8),
    /// Lanes up to and including the lane itself.
    Inclusive,
    /// Lanes below the lane itself.
    Exclusive,
}

/// Static description of an image operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub struct SampleInfo {
    /// Operation: sample, fetch, gather or query.
    pub op: SampleOp,
    /// Source of the level of detail.
    pub lod_mode: LodMode,
    /// Number of coordinate arguments (1..=4).
    pub coords: u8,
    /// True if a Dref argument is present (after the coordinates).
    pub dref: bool,
    /// True if a Bias or Lod argument is present.
    pub lod: bool,
    /// Number of gradient components per direction (0 if absent): args x.., then y...
    pub grad: u8,
    /// Number of offset components (0 if absent).
    pub offset: u8,
    /// True if a MinLod argument is present.
    pub min_lod: bool,
    /// Component that a gather reads.
    pub component: u8,
    /// Constant offsets of a gather.
    pub gather_offsets: Option<[i8; 8]>,
}

/// Property that an image query reads: (img[, level: I32]) -> I32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum ImageQuery {
    /// Width of a level; the second argument is the level. For buffer views: number of texels.
    Width,
    /// Height of a level.
    Height,
    /// Depth of a level.
    Depth,
    /// Layers of the view; for cubes: layers / 6.
    Layers,
    /// Levels of the view.
    Levels,
    /// Number of samples.
    Samples,
}

/// Set number that stands for descriptors of the resource heap, whose indices are bytes in it.
pub const RESOURCE_HEAP: u32 = 0x8000_0000;
/// Set number that stands for descriptors of the sampler heap.
pub const SAMPLER_HEAP: u32 = 0x8000_0001;
/// Set number that stands for the resource heap itself, as a buffer.
pub const HEAP_DATA: u32 = 0x8000_0002;
/// Set number that stands for the sampler heap itself, as a buffer.
pub const SAMPLER_HEAP_DATA: u32 = 0x8000_0003;

/// Operation of an instruction. Its row (`ops/table.rs`) says how passes may treat it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, FromText)]
pub enum Op {
    /// () -> T: bits of the constant, zero-extended.
    Const(u64),
    /// See [`Unary`].
    Unary(Unary),
    /// See [`Binary`].
    Binary(Binary),
    /// See [`Cmp`].
    Cmp(Cmp),
    /// See [`Convert`].
    Convert(Convert),
    /// (c: B1, a: T, b: T) -> T: `c ? a : b`.
    Select,
    /// (a, b, c) -> a*b+c with one rounding.
    Fma,
    /// (x: F, e: I32) -> x * 2^e, with denormals and overflow handled.
    Ldexp,
    /// (x: F) -> (significand: F in ±[0.5,1) or 0, exponent: I32).
    Frexp,
    /// (a: T, b: T) -> (sum: T, carry: T, 0 or 1).
    IAddCarry,
    /// (a: T, b: T) -> (difference: T, borrow: T, 0 or 1).
    ISubBorrow,
    /// (base, insert, offset: I32, count: I32) -> T.
    BitfieldInsert,
    /// (base, offset: I32, count: I32) -> T, sign-extended.
    BitfieldSExtract,
    /// (base, offset: I32, count: I32) -> T.
    BitfieldUExtract,

    /// ([index: I32 if len > 1]) -> T: element of a variable. Out-of-bounds indices are clamped.
    VarLoad(Var),
    /// ([index: I32 if len > 1], value) -> (): store to an element. Out-of-bounds indices are
    /// clamped.
    VarStore(Var),

    /// (index: I32) -> Buf: descriptor at an index into the binding's array (clamped).
    BufferDesc {
        /// Number of the descriptor set, [`RESOURCE_HEAP`], [`HEAP_DATA`] or [`SAMPLER_HEAP_DATA`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (index: I32) -> Img: descriptor at an index into the binding's array.
    ImageDesc {
        /// Number of the descriptor set, or [`RESOURCE_HEAP`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (index: I32) -> Smp: descriptor at an index into the binding's array.
    SamplerDesc {
        /// Number of the descriptor set, or [`SAMPLER_HEAP`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (index: I32) -> I64: address of an acceleration structure, from the descriptor at an index
    /// into the binding's array (clamped). A null descriptor has address 0.
    StructureDesc {
        /// Number of the descriptor set, or [`RESOURCE_HEAP`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (address...) -> result_count consecutive elements (1..=4) of the results' type.
    Load(Space, MemFlags),
    /// (address..., value, ...) -> (): consecutive elements (1..=4).
    Store(Space, MemFlags),
    /// (address..., value[, comparator]) -> old, of 32 or 64 bits (Store has no result, Load no
    /// value operand).
    Atomic(Space, AtomicOp),
    /// (buf) -> I32: range in bytes.
    BufferSize,

    /// () -> T: slot of `Shader::inputs`. In a fragment stage it is interpolated per slot and
    /// `InterpolateAt` (Offset and AtSample take arguments).
    LoadInput(u32, InterpolateAt),
    /// (value: 32-bit) -> (): store to a slot of `Shader::outputs`, for the active lanes.
    StoreOutput(u32),
    /// (vertex: I32) -> T: slot of `Shader::inputs` of a vertex of the invocation's primitive or
    /// patch (clamped). For a slot that a patch has once, any vertex may be given.
    LoadVertex(u32),
    /// (number: I32, value: 32-bit) -> (): store to a slot of `Shader::outputs` of one of the
    /// vertices that the invocation makes. A number that is not below the stage's maximum has no
    /// effect.
    StoreVertex(u32),
    /// (count: I32) -> (): sets the number of vertices that were made, at most the stage's maximum.
    /// Without it, there are none.
    StoreVertexCount,
    /// See [`Builtin`].
    Builtin(Builtin),

    /// (img, smp, coords.., dref?, lod?, grad_x.., grad_y.., offset.., min_lod?) -> results.
    ///
    /// There are 4 results (Sample, Gather*), 1 (SampleDref) or 2 (QueryLod), of F32 or I32;
    /// Resident* gives 1 of I32.
    Sample(SampleInfo),
    /// (img, x, y?, z-or-layer?, [level if `level`], [sample if `sample`]) -> 4 results. `coords`
    /// is the number of coordinates.
    ImageFetch {
        /// Number of coordinates, 1..=3.
        coords: u8,
        /// True if a level argument follows.
        level: bool,
        /// True if a sample argument follows.
        sample: bool,
        /// Kind of the texels, or of most of them: those are read without a call.
        kind: TexelKind,
    },
    /// (img, coords.., [level], [sample]) -> I32: 1 if the texel that an [`Op::ImageFetch`] with
    /// these arguments would read is bound to memory, else 0.
    ImageResident {
        /// Number of coordinates, 1..=3.
        coords: u8,
        /// True if a level argument follows.
        level: bool,
        /// True if a sample argument follows.
        sample: bool,
    },
    /// (img, coords.., [sample], 4 texel components) -> ().
    ImageStore {
        /// Number of coordinates, 1..=3.
        coords: u8,
        /// True if a sample argument follows the coordinates.
        sample: bool,
        /// Kind of the texels, or of most of them: those are written without a call.
        kind: TexelKind,
    },
    /// (img, coords.., [sample], value[, comparator]) -> old.
    ImageAtomic {
        /// Operation on the word.
        op: AtomicOp,
        /// Number of coordinates, 1..=3.
        coords: u8,
        /// True if a sample argument follows the coordinates.
        sample: bool,
    },
    /// See [`ImageQuery`].
    ImageQuery(ImageQuery),

    /// (F) -> F: derivative in x.
    Ddx {
        /// True for `OpDPdxFine` and the like, which take the difference in the lane's own row or
        /// column of the quad and not in the first.
        fine: bool,
    },
    /// (F) -> F: derivative in y.
    Ddy {
        /// True for `OpDPdyFine` and the like, which take the difference in the lane's own row or
        /// column of the quad and not in the first.
        fine: bool,
    },
    /// See [`Subgroup`].
    Subgroup(Subgroup),

    /// Control barrier of the workgroup (implies a memory barrier).
    Barrier,
    /// Memory barrier without control barrier.
    MemoryBarrier,
    /// (shader: I32, data...) -> data: runs a callable shader on the data (OpExecuteCallableKHR).
    /// The invocation is suspended and continues, perhaps beside others, with the data that the
    /// shader leaves. All data are words.
    ExecuteCallable,
    /// (operands, payload...) -> payload: traces a ray (OpTraceRayKHR). The operands are those of
    /// [`TraceRayOperand`](base::shader::TraceRayOperand); suspended as
    /// [`Op::ExecuteCallable`] is.
    TraceRay,
    /// (attribute..., distance: F32, kind: I32) -> (F32, I32): reports an intersection
    /// (OpReportIntersectionKHR); the end of the remaining interval, and 1 if it is accepted.
    /// Suspended as [`Op::ExecuteCallable`] is.
    ReportIntersection,
    /// (operands, payload...) -> (payload, hit object): traces a ray as [`Op::TraceRay`] does, but
    /// for the closest-hit or miss shader (OpHitObjectTraceRayEXT). The words of the hit object are
    /// those of [`HitObjectField`](base::shader::HitObjectField).
    TraceHitObject,
    /// (hit object, payload...) -> payload: runs the closest-hit or miss shader of a hit object
    /// (OpHitObjectExecuteShaderEXT). Suspended as [`Op::ExecuteCallable`] is.
    ExecuteHitObject,
    /// (operands) -> (): lets invocations that do similar work continue together
    /// (OpReorderThreadWithHitObjectEXT). The operands are those of
    /// [`ReorderOperand`](base::shader::ReorderOperand).
    Reorder,
    /// (low, high, instance: I32) -> words of [`InstanceWord`](base::shader::InstanceWord): reads
    /// an instance of a structure. Suspended as [`Op::ExecuteCallable`] is.
    ReadInstance,
    /// Marks the active lanes as terminated. OpTerminateRayKHR is this and a break to the end of
    /// the entry point, where outputs are stored.
    TerminateRay,
    /// Marks the active lanes as ignored. OpIgnoreIntersectionKHR is this and a break, as with
    /// [`Op::TerminateRay`].
    IgnoreIntersection,
    /// In a fragment stage, active lanes lose their coverage. OpKill is this and a break to the
    /// root; OpDemoteToHelperInvocation is this alone.
    Demote,
    /// () -> B1: true if the lane was a helper at entry or was demoted since.
    IsHelper,
    /// (query: I32, initialized: B1, operands...) -> results: operation on a ray query of a
    /// variable, which has [`RAY_QUERY_WORDS`] elements per query and [`RAY_QUERY_PADDING`] more.
    /// Out-of-bounds indices are clamped. All results are words. The variable's memory is not
    /// cleared, and no other operation accesses it: `initialized` is false for lanes whose query
    /// may hold anything. These do nothing, and their results are 0.
    RayQuery(Var, RayQueryOp),
    /// () -> I64: monotonic time in nanoseconds, common to all lanes.
    Clock,
}
