//! Instructions. The payload of [`Op`] holds what is known at compile time; `args` hold values.
//! Argument and result lists are written `(args) -> results` behind each operation.

use super::{FloatFlags, Value, Var};
use base::abi::{AtomicOp, LodMode, SampleOp, TexelKind};
use base::shader::BuiltinFamily;
use smallvec::SmallVec;

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// In the order of the operation's row (`ops/table.rs`).
    pub args: SmallVec<[Value; 4]>,
    /// First of `result_count` consecutive values (meaningless when 0).
    pub first_result: Value,
    /// Number of results.
    pub result_count: u16,
    /// What its float arithmetic keeps to; none where there is no float.
    pub float: FloatFlags,
    /// SPIR-V id for messages; 0 when made by a pass.
    pub source: u32,
}

impl InstData {
    /// The single result.
    pub fn result(&self) -> Value {
        debug_assert_eq!(self.result_count, 1);
        self.first_result
    }
    /// All results.
    pub fn results(&self) -> impl Iterator<Item = Value> + use<> {
        let first = self.first_result.as_u32();
        (first..first + u32::from(self.result_count)).map(Value::from_u32)
    }
}

/// Unary operations: (a: T) -> T unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Integer negate.
    INeg,
    /// Bitwise (or boolean) complement.
    Not,
    /// Reverse bits.
    BitReverse,
    /// Number of one bits; result I32.
    BitCount,
    /// Index of the lowest one bit, -1 when zero.
    FindLsb,
    /// GLSL.std.450 FindSMsb.
    FindSMsb,
    /// GLSL.std.450 FindUMsb.
    FindUMsb,
    /// Sign bit flipped, also of NaN.
    FNeg,
    /// Sign bit cleared.
    FAbs,
    /// Towards -inf.
    Floor,
    /// Towards +inf.
    Ceil,
    /// Towards 0.
    Trunc,
    /// To nearest, ties to even.
    RoundEven,
    /// Correctly rounded square root.
    Sqrt,
    /// F32: the nearest number that binary16 has, ties to even; infinity beyond the greatest.
    RoundHalf,
    // Transcendental functions: expanded by the `lower_math` pass into the operations above and below.
    /// 1/sqrt.
    InverseSqrt,
    /// Of radians.
    Sin,
    /// Of radians.
    Cos,
    /// Of radians.
    Tan,
    /// In radians, −π/2..=π/2.
    Asin,
    /// In radians, 0..=π.
    Acos,
    /// In radians, −π/2..=π/2.
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
    /// e^x
    Exp,
    /// ln x
    Log,
    /// 2^x
    Exp2,
    /// log2 x
    Log2,
}

/// Binary operations: (a: T, b: T) -> T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Sum, modulo 2^bits.
    IAdd,
    /// Difference, modulo 2^bits.
    ISub,
    /// Low half of the product.
    IMul,
    /// Never traps: x/0 is unspecified but deterministic (all ones); MIN/-1 = MIN.
    SDiv,
    /// Never traps: x/0 = all ones.
    UDiv,
    /// Sign of the dividend; x%0 = x, deterministic.
    SRem,
    /// Sign of the divisor; x mod 0 = x.
    SMod,
    /// Unsigned remainder; x%0 = x.
    UMod,
    /// High half of the signed product.
    SMulHi,
    /// High half of the unsigned product.
    UMulHi,
    /// Also on B1.
    And,
    /// Also on B1.
    Or,
    /// Also on B1.
    Xor,
    /// Shift amount taken modulo the width.
    Shl,
    /// Logical; amount modulo the width.
    LShr,
    /// Arithmetic; amount modulo the width.
    AShr,
    /// Signed minimum.
    SMin,
    /// Unsigned minimum.
    UMin,
    /// Signed maximum.
    SMax,
    /// Unsigned maximum.
    UMax,
    /// I32: the index `a` of a buffer access cut to `-b..=b`, where `b` is a constant and all that lies outside is out of every
    /// buffer's bounds. Nothing but offsets is computed from it: of an affine value only lane 0 is cut, which leaves lanes outside
    /// with other values outside. See [`Binary::bound_stays_affine`].
    Bound,
    /// IEEE.
    FAdd,
    /// IEEE.
    FSub,
    /// IEEE.
    FMul,
    /// IEEE.
    FDiv,
    /// `b < a ? b : a` of x86 minps with NaN handling of NMin: if one operand is NaN, the other is the result.
    FMin,
    /// As FMin.
    FMax,
    /// x - y*trunc(x/y).
    FRem,
    /// x - y*floor(x/y).
    FMod,
    /// pow(x, y); expanded by `lower_math`.
    Pow,
    /// atan2(y, x); expanded by `lower_math`.
    Atan2,
}

impl Binary {
    /// Is a [`Binary::Bound`] to `limit` of an affine value affine? Its lanes have to lie close together (they are `reach` apart at most),
    /// measured by the room between the greatest index inside of a buffer and the limit.
    pub fn bound_stays_affine(reach: u64, limit: u32) -> bool {
        reach <= u64::from(limit >> 5)
    }
}

/// Comparisons: (a: T, b: T) -> B1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Integer, also B1.
    IEq,
    /// Integer, also B1.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Same size, other type.
    Bitcast,
    /// B1 → I32: 1 or 0.
    BToI,
}

/// Memory spaces of [`Op::Load`], [`Op::Store`], [`Op::Atomic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// address operands: (buf: Buf, offset: I32 bytes). Bounds-checked: out of bounds loads give 0, stores are dropped;
    /// an access of several elements is in bounds as a whole or not at all.
    Buffer,
    /// (offset: I32 bytes) into workgroup memory, bounds-checked against `shared_bytes`.
    Shared,
    /// (offset: I32 bytes) into push constants, bounds-checked; loads only.
    Push,
    /// (address: I64). PhysicalStorageBuffer; unchecked.
    Global,
}

/// Qualifiers of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemFlags {
    /// The memory is not written during the stage's run (uniform buffers, NonWritable with Restrict…): loads may move and be merged.
    pub readonly: bool,
    /// Volatile: neither merged nor removed.
    pub volatile: bool,
    /// Guaranteed alignment in bytes of the address (power of two, at least the element size).
    pub align: u8,
}

/// Built-in values that are not slots: () -> I32 (or as said).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Builtin {
    /// Does it differ between draws of a view with the same bindings?
    pub fn is_of_draw(self) -> bool {
        matches!(self, Builtin::BaseVertex | Builtin::BaseInstance | Builtin::DrawIndex)
    }
    /// By which stages read it.
    pub fn family(self) -> BuiltinFamily {
        match self {
            Builtin::DeviceIndex | Builtin::SubgroupInvocation | Builtin::SubgroupSize => BuiltinFamily::Invocation,
            Builtin::ViewIndex => BuiltinFamily::View,
            Builtin::DrawIndex => BuiltinFamily::Draw,
            Builtin::VertexIndex | Builtin::InstanceIndex | Builtin::BaseVertex | Builtin::BaseInstance => {
                BuiltinFamily::Vertex
            }
            Builtin::PrimitiveId => BuiltinFamily::Primitive,
            Builtin::InvocationId => BuiltinFamily::Instance,
            Builtin::PatchVertices => BuiltinFamily::Patch,
            Builtin::TessCoord(_) => BuiltinFamily::Domain,
            Builtin::FragCoord(_)
            | Builtin::FrontFacing
            | Builtin::PointCoord(_)
            | Builtin::SampleId
            | Builtin::SamplePosition(_)
            | Builtin::SampleMaskIn
            | Builtin::HelperInvocation
            | Builtin::Layer
            | Builtin::ViewportIndex => BuiltinFamily::Fragment,
            Builtin::LocalInvocationIndex
            | Builtin::LocalInvocationId(_)
            | Builtin::WorkgroupId(_)
            | Builtin::NumWorkgroups(_)
            | Builtin::GlobalInvocationId(_)
            | Builtin::SubgroupId
            | Builtin::NumSubgroups => BuiltinFamily::Workgroup,
        }
    }
}

/// Where a fragment input is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subgroup {
    /// () -> B1: true in the lowest active lane.
    Elect,
    /// (B1) -> B1, uniform.
    All,
    /// (B1) -> B1, uniform.
    Any,
    /// (T) -> B1, uniform.
    AllEqual,
    /// (T) -> T of the lowest active lane, uniform.
    BroadcastFirst,
    /// (T, lane: I32) -> T, lane dynamically uniform.
    Broadcast,
    /// (B1) -> I32: a bit per lane, of the 32 lanes with this number; 0 where there are none.
    Ballot(u8),
    /// (T, lane: I32) -> T, any lane per lane.
    Shuffle,
    /// (T, i: I32 constant 0..=3) -> T of lane i of the quad.
    QuadBroadcast,
    /// (T) -> T: exchange in the quad horizontally.
    QuadSwapHorizontal,
    /// (T) -> T: vertically.
    QuadSwapVertical,
    /// (T) -> T: diagonally.
    QuadSwapDiagonal,
    /// (T) -> T: the active lanes' values joined by an associative operation (see [`Scan`]).
    Arithmetic(Binary, Scan),
}

/// Which lanes a [`Subgroup::Arithmetic`] joins. Inactive lanes count as the operation's identity.
///
/// The order is part of the meaning, as floats round: in rounds with distances 1, 2, 4, …; a reduction's lane takes the value of
/// its pair (the lower lane first), a scan's lane that of the lane at this distance below it, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// All lanes of the subgroup: uniform.
    Reduce,
    /// The lanes of its cluster: this many, a power of two.
    Cluster(u8),
    /// Lanes up to its own.
    Inclusive,
    /// Lanes below its own.
    Exclusive,
}

/// Static description of an image operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SampleInfo {
    /// What is done.
    pub op: SampleOp,
    /// Level of detail source.
    pub lod_mode: LodMode,
    /// Number of coordinate arguments (1..=4).
    pub coords: u8,
    /// Dref argument present (after coords).
    pub dref: bool,
    /// Bias or Lod argument present.
    pub lod: bool,
    /// Number of gradient components per direction (0 when absent): args x.., then y...
    pub grad: u8,
    /// Number of offset components (0 when absent).
    pub offset: u8,
    /// MinLod argument present.
    pub min_lod: bool,
    /// Gather component.
    pub component: u8,
    /// Constant gather offsets.
    pub gather_offsets: Option<[i8; 8]>,
}

/// What an image query asks for: (img[, level: I32]) -> I32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageQuery {
    /// Width of a level; second arg is the level. Buffer views: texel count.
    Width,
    /// Height of a level.
    Height,
    /// Depth of a level.
    Depth,
    /// Layers of the view; cubes: layers / 6.
    Layers,
    /// Levels of the view.
    Levels,
    /// Number of samples.
    Samples,
}

/// In the place of a set's number: descriptors of the resource heap, whose indices are bytes in it.
pub const RESOURCE_HEAP: u32 = 0x8000_0000;
/// Descriptors of the sampler heap.
pub const SAMPLER_HEAP: u32 = 0x8000_0001;
/// The resource heap itself, as a buffer.
pub const HEAP_DATA: u32 = 0x8000_0002;
/// The sampler heap itself.
pub const SAMPLER_HEAP_DATA: u32 = 0x8000_0003;

/// What an instruction does; its row (`ops/table.rs`) says what that means for passes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// (c: B1, a: T, b: T) -> T.
    Select,
    /// (a, b, c) -> a*b+c with one rounding.
    Fma,
    /// (x: F, e: I32) -> x * 2^e, denormals and overflow handled.
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

    /// ([index: I32 when len > 1]) -> T.
    VarLoad(Var),
    /// ([index: I32 when len > 1], value) -> ().  Out of bounds indices are clamped.
    VarStore(Var),

    /// (index: I32) -> Buf. Index into the binding's array (clamped).
    BufferDesc {
        /// Number of the descriptor set; or [`RESOURCE_HEAP`], or [`HEAP_DATA`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (index: I32) -> Img.
    ImageDesc {
        /// Number of the descriptor set; or [`RESOURCE_HEAP`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (index: I32) -> Smp.
    SamplerDesc {
        /// Number of the descriptor set; or [`SAMPLER_HEAP`].
        set: u32,
        /// Number of the binding in its set.
        binding: u32,
    },
    /// (address...) -> result_count consecutive elements (1..=4) of the results' type.
    Load(Space, MemFlags),
    /// (address..., value, ...) -> (): consecutive elements (1..=4).
    Store(Space, MemFlags),
    /// (address..., value[, comparator]) -> old: of 32 or 64 bits (Store: no result; Load: no value operand).
    Atomic(Space, AtomicOp),
    /// (buf) -> I32: range in bytes.
    BufferSize,

    /// () -> T: slot of `Shader::inputs`. Fragment: interpolated per slot and `InterpolateAt` (Offset, AtSample take args).
    LoadInput(u32, InterpolateAt),
    /// (value: 32-bit) -> (): slot of `Shader::outputs`, for the active lanes.
    StoreOutput(u32),
    /// (vertex: I32) -> T: slot of `Shader::inputs` of a vertex of the invocation's primitive or patch (clamped); of what a
    /// patch has once, of any.
    LoadVertex(u32),
    /// (number: I32, value: 32-bit) -> (): slot of `Shader::outputs` of one of the vertices that the invocation makes; nothing becomes of a number that is
    /// not below the stage's most.
    StoreVertex(u32),
    /// (count: I32) -> (): so many vertices have been made, or the most. Without it, none.
    StoreVertexCount,
    /// See [`Builtin`].
    Builtin(Builtin),

    /// (img, smp, coords.., dref?, lod?, grad_x.., grad_y.., offset.., min_lod?) -> 4 results (Sample, Gather*), 1 (SampleDref), 2 (QueryLod), F32 or I32; 1 (Resident*), I32.
    Sample(SampleInfo),
    /// (img, x, y?, z-or-layer?, [level if HasLevel], [sample if HasSample]) -> 4 results. `coords` counts the coordinates.
    ImageFetch {
        /// Coordinate count 1..=3.
        coords: u8,
        /// A level argument follows.
        level: bool,
        /// A sample argument follows.
        sample: bool,
        /// What the texels are, or mostly are: those are read without a call.
        kind: TexelKind,
    },
    /// (img, coords.., [level], [sample]) -> I32: 1 where the texel that an [`Op::ImageFetch`] of these would give is bound to memory, else 0.
    ImageResident {
        /// Coordinate count 1..=3.
        coords: u8,
        /// A level argument follows.
        level: bool,
        /// A sample argument follows.
        sample: bool,
    },
    /// (img, coords.., [sample], 4 texel components) -> ().
    ImageStore {
        /// Coordinate count 1..=3.
        coords: u8,
        /// A sample argument follows the coordinates.
        sample: bool,
        /// What the texels are, or mostly are: those are written without a call.
        kind: TexelKind,
    },
    /// (img, coords.., [sample], value[, comparator]) -> old.
    ImageAtomic {
        /// What is done to the word.
        op: AtomicOp,
        /// Coordinate count 1..=3.
        coords: u8,
        /// A sample argument follows the coordinates.
        sample: bool,
    },
    /// See [`ImageQuery`].
    ImageQuery(ImageQuery),

    /// (F) -> F: derivative in x; `fine` per row, else from the quad's first row.
    Ddx {
        /// `OpDPdxFine` and the like: the difference in this row or column of the quad, not in its first.
        fine: bool,
    },
    /// (F) -> F: derivative in y.
    Ddy {
        /// `OpDPdxFine` and the like: the difference in this row or column of the quad, not in its first.
        fine: bool,
    },
    /// See [`Subgroup`].
    Subgroup(Subgroup),

    /// Control barrier of the workgroup (implies memory barrier).
    Barrier,
    /// Memory barrier only.
    MemoryBarrier,
    /// Fragment: active lanes lose their coverage. OpKill is this plus a break to the root; OpDemoteToHelperInvocation is this alone.
    Demote,
    /// () -> B1: helper at entry or demoted since.
    IsHelper,
    /// () -> I64: monotonic time in nanoseconds, of no lane in particular.
    Clock,
}
