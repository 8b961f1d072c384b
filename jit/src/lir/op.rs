//! Table of the operations, with one [`OperationRow`] per operation.
//!
//! A row has one type variable, `T`, which every instruction sets ([`super::InstData::ty`]). The
//! types of operands and results follow from it by rules. Verification, printing, the result types
//! of the builder, value numbering and the random programs of the tests are derived from the rows.
//! Only [`super::eval`] and the back ends have an arm per operation.
//!
//! Every operation is defined for all operands, equally on every machine: nothing traps. Two
//! results are left open: which NaN an operation on floats gives, and the unused bits of a register
//! that holds a narrow integer or a half.

#![forbid(unsafe_code)]

use super::types::{Elem, Type};

/// A set of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElemSet(u8);

impl ElemSet {
    const fn from_list(list: &[Elem]) -> ElemSet {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= 1 << list[i] as u8;
            i += 1;
        }
        ElemSet(bits)
    }
    const fn or(self, other: ElemSet) -> ElemSet {
        ElemSet(self.0 | other.0)
    }
    /// Returns true if the set contains the element.
    pub const fn has(self, elem: Elem) -> bool {
        self.0 >> elem as u8 & 1 != 0
    }
}

const BOOL: ElemSet = ElemSet::from_list(&[Elem::B]);
const INT: ElemSet = ElemSet::from_list(&[Elem::I8, Elem::I16, Elem::I32, Elem::I64]);
const UP_TO_WORD: ElemSet = ElemSet::from_list(&[Elem::I8, Elem::I16, Elem::I32]);
const WORDS: ElemSet = ElemSet::from_list(&[Elem::I32, Elem::I64]);
/// Elements that atomic operations can access.
const ATOMIC_ELEMS: ElemSet = ElemSet::from_list(&[Elem::I16, Elem::I32, Elem::I64]);
const WORD: ElemSet = ElemSet::from_list(&[Elem::I32]);
const LONG: ElemSet = ElemSet::from_list(&[Elem::I64]);
const FLOAT: ElemSet = ElemSet::from_list(&[Elem::F32, Elem::F64]);
const SINGLE: ElemSet = ElemSet::from_list(&[Elem::F32]);
const DOUBLE: ElemSet = ElemSet::from_list(&[Elem::F64]);
const HALF: ElemSet = ElemSet::from_list(&[Elem::F16]);
const BITS: ElemSet = INT.or(BOOL);
const NUMBER: ElemSet = INT.or(FLOAT).or(HALF);
const ALL: ElemSet = NUMBER.or(BOOL);

/// Constraint on the number of lanes of `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCount {
    /// A scalar or a vector.
    Any,
    /// A scalar.
    Scalar,
    /// A vector.
    Vector,
    /// A vector with at most 32 lanes, so that a word has a bit for each.
    Word,
}

/// Width of an operand's element, compared with that of T's element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Any number of bits.
    Any,
    /// Fewer bits than T's element.
    Less,
    /// More bits than T's element.
    More,
}

/// Rule for the type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandRule {
    /// The type T.
    T,
    /// The type of one lane of T.
    Lane,
    /// A type with as many lanes as T, and one of these elements.
    Lanes(ElemSet, Width),
    /// A type with T's shape (scalar or vector) and number of bits, but not a mask.
    SameBits,
    /// A mask of T's lanes, or a truth value if T is scalar.
    Mask,
    /// A truth value, or a mask of T's lanes.
    Cond,
    /// Exactly this type.
    Is(Type),
    /// An integer that is a number of bits, modulo T's width.
    Amount,
    /// The address of memory.
    Address,
    /// The address of a function.
    Function,
    /// An integer or float that is an argument of a call.
    Argument,
}

/// Rule for the types of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// No result.
    None,
    /// One result of type T.
    T,
    /// One result, of the type of a lane of T.
    Lane,
    /// A mask of T's lanes, or a truth value if T is scalar.
    Mask,
    /// One result of exactly this type.
    Is(Type),
    /// A vector of T's elements with as many lanes as the pattern has.
    Pattern,
    /// Results of type T, as many as the immediate's count.
    Count,
}

/// Kind of an operation's immediate, corresponding to [`super::Imm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmKind {
    /// No immediate.
    None,
    /// Index of a lane of T.
    Lane,
    /// An integer comparison.
    Int,
    /// A comparison of floats.
    Float,
    /// Indices of lanes, counted through the operands one after the other.
    Pattern,
    /// Offset and flags of a memory access.
    Access,
    /// Offset and flags of a memory access, and a number of components.
    Gather,
    /// Kind of a read-modify-write.
    Rmw,
    /// A stack slot and an offset.
    Slot,
}

/// Effect of an operation, in addition to its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No effect: the same operands give the same results.
    Pure,
    /// Reads memory. The read has no order if the memory is marked as read-only
    /// ([`super::Access::readonly`]).
    Read,
    /// Writes memory, or reads and writes it.
    Write,
    /// Has any effect, because the operation calls a helper.
    Call,
    /// Transfers control to another block.
    Control,
}

/// Properties of an operation.
#[derive(Debug)]
pub struct OperationRow {
    /// The operation that the row describes.
    pub op: Op,
    /// Name in the text form.
    pub name: &'static str,
    /// Elements that T may have.
    pub elems: ElemSet,
    /// Constraint on the number of T's lanes.
    pub lane_count: LaneCount,
    /// Rules for the fixed operands, which come first.
    pub args: &'static [OperandRule],
    /// Rule for a variable number of operands that follow the fixed ones.
    pub variadic: VariadicRule,
    /// Rule for the types of the results.
    pub results: Results,
    /// Kind of the immediate.
    pub imm: ImmKind,
    /// Effect of the operation, in addition to its results.
    pub effect: Effect,
    /// Approximate number of instructions that a machine with 128-bit vectors needs for the
    /// operation, per 16 bytes of T.
    pub weight: u8,
}

/// Rule for the operands that follow the fixed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariadicRule {
    /// No further operands.
    None,
    /// One operand per lane of T, each of the type of a lane.
    PerLane,
    /// Operands of type T, as many as the immediate's count.
    Count,
    /// Up to eight arguments of a call.
    Arguments,
}

impl OperationRow {
    /// Returns true if T may be this type.
    pub fn accepts_type(&self, ty: Type) -> bool {
        ty.is_valid()
            && self.elems.has(ty.elem)
            && match self.lane_count {
                LaneCount::Any => true,
                LaneCount::Scalar => !ty.is_vector(),
                LaneCount::Vector => ty.is_vector(),
                LaneCount::Word => ty.is_vector() && ty.lanes() <= 32,
            }
    }
}

impl OperandRule {
    /// Returns true if an operand of type `ty` obeys the rule when T is `t`.
    pub fn accepts(self, t: Type, ty: Type) -> bool {
        match self {
            OperandRule::T => ty == t,
            OperandRule::Lane => ty == t.scalar(),
            OperandRule::Lanes(elems, width) => {
                ty.lanes() == t.lanes()
                    && elems.has(ty.elem)
                    && match width {
                        Width::Any => true,
                        Width::Less => ty.elem.bits() < t.elem.bits(),
                        Width::More => ty.elem.bits() > t.elem.bits(),
                    }
            }
            OperandRule::SameBits => ty.elem != Elem::B && ty.is_vector() == t.is_vector() && ty.bits() == t.bits(),
            OperandRule::Mask => ty == t.mask(),
            OperandRule::Cond => ty == t.mask() || ty == Type::B,
            OperandRule::Is(is) => ty == is,
            OperandRule::Amount => ty.elem.is_int() && !ty.is_vector(),
            OperandRule::Address | OperandRule::Function => ty == Type::I64,
            OperandRule::Argument => !ty.is_vector() && (ty.elem.is_int() || matches!(ty.elem, Elem::F32 | Elem::F64)),
        }
    }
}

macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $op:ident $name:literal: $elems:ident $lane_count:ident
        [$($arg:expr),*] $variadic:ident -> $results:expr, $imm:ident $effect:ident $weight:literal;)*) => {
        /// An operation, which a row of [`ROWS`] describes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $($(#[doc = $doc])+ $op,)* }

        /// Rows of all operations, in the order of [`Op`].
        pub const ROWS: &[OperationRow] = &[$(OperationRow {
            op: Op::$op,
            name: $name,
            elems: $elems,
            lane_count: LaneCount::$lane_count,
            args: {
                #[allow(unused_imports, reason = "a row may have no operands")]
                use OperandRule::*;
                &[$($arg),*]
            },
            variadic: VariadicRule::$variadic,
            results: {
                use Results::*;
                $results
            },
            imm: ImmKind::$imm,
            effect: Effect::$effect,
            weight: $weight,
        }),*];
    };
}

impl Op {
    /// Returns the row of the operation.
    pub fn row(self) -> &'static OperationRow {
        &ROWS[self as usize]
    }
}

// Columns: operation, name, elements and lanes of T, operands -> results, immediate, effect,
// weight.
rows! {
    /// Returns the sum modulo 2^bits.
    Iadd "iadd": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the difference modulo 2^bits.
    Isub "isub": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the low half of the product.
    Imul "imul": INT Any [T, T] None -> T, None Pure 2;
    /// Returns `0 - a`.
    Ineg "ineg": INT Any [T] None -> T, None Pure 1;
    /// Returns `a & b`.
    And "and": BITS Any [T, T] None -> T, None Pure 1;
    /// Returns `a | b`.
    Or "or": BITS Any [T, T] None -> T, None Pure 1;
    /// Returns `a ^ b`.
    Xor "xor": BITS Any [T, T] None -> T, None Pure 1;
    /// Returns `a & !b`.
    AndNot "and_not": BITS Any [T, T] None -> T, None Pure 1;
    /// Returns `!a`.
    Not "not": BITS Any [T] None -> T, None Pure 1;
    /// Returns the signed minimum.
    Smin "smin": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the signed maximum.
    Smax "smax": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the unsigned minimum.
    Umin "umin": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the unsigned maximum.
    Umax "umax": INT Any [T, T] None -> T, None Pure 1;
    /// Returns the high half of the signed product.
    SmulHigh "smul_high": WORDS Any [T, T] None -> T, None Pure 8;
    /// Returns the high half of the unsigned product.
    UmulHigh "umul_high": WORDS Any [T, T] None -> T, None Pure 8;
    /// Returns the signed quotient. Division by 0 gives all ones, and MIN / -1 gives MIN.
    Sdiv "sdiv": INT Any [T, T] None -> T, None Pure 16;
    /// Returns the unsigned quotient. Division by 0 gives all ones.
    Udiv "udiv": INT Any [T, T] None -> T, None Pure 16;
    /// Returns the signed remainder, which has the dividend's sign. Division by 0 gives the
    /// dividend.
    Srem "srem": INT Any [T, T] None -> T, None Pure 16;
    /// Returns the unsigned remainder. Division by 0 gives the dividend.
    Urem "urem": INT Any [T, T] None -> T, None Pure 16;
    /// Returns `a << n`, with one `n` for all lanes.
    Shl "shl": INT Any [T, Amount] None -> T, None Pure 2;
    /// Returns `a >> n`, filled with zeros, with one `n` for all lanes.
    Lshr "lshr": INT Any [T, Amount] None -> T, None Pure 2;
    /// Returns `a >> n`, filled with the sign, with one `n` for all lanes.
    Ashr "ashr": INT Any [T, Amount] None -> T, None Pure 2;
    /// Returns `a << n`, lane by lane.
    ShlV "shlv": INT Vector [T, T] None -> T, None Pure 12;
    /// Returns `a >> n`, filled with zeros, lane by lane.
    LshrV "lshrv": INT Vector [T, T] None -> T, None Pure 12;
    /// Returns `a >> n`, filled with the sign, lane by lane.
    AshrV "ashrv": INT Vector [T, T] None -> T, None Pure 12;
    /// Counts the zeros above the highest one bit. The result for 0 is the width.
    Clz "clz": INT Any [T] None -> T, None Pure 8;
    /// Counts the zeros below the lowest one bit. The result for 0 is the width.
    Ctz "ctz": INT Any [T] None -> T, None Pure 8;
    /// Counts the one bits.
    Popcnt "popcnt": INT Any [T] None -> T, None Pure 8;
    /// Reverses the order of the bits.
    BitReverse "bit_reverse": INT Any [T] None -> T, None Pure 20;

    /// Returns `a + b`.
    Fadd "fadd": FLOAT Any [T, T] None -> T, None Pure 1;
    /// Returns `a - b`.
    Fsub "fsub": FLOAT Any [T, T] None -> T, None Pure 1;
    /// Returns `a * b`.
    Fmul "fmul": FLOAT Any [T, T] None -> T, None Pure 1;
    /// Returns `a / b`.
    Fdiv "fdiv": FLOAT Any [T, T] None -> T, None Pure 1;
    /// Returns `a * b + c` with one rounding. It is used only on machines that have the
    /// instruction.
    Fma "fma": FLOAT Any [T, T, T] None -> T, None Pure 1;
    /// Inverts the sign.
    Fneg "fneg": FLOAT Any [T] None -> T, None Pure 2;
    /// Clears the sign.
    Fabs "fabs": FLOAT Any [T] None -> T, None Pure 2;
    /// Returns the square root.
    Sqrt "sqrt": FLOAT Any [T] None -> T, None Pure 1;
    /// Rounds to a whole number, downwards.
    Floor "floor": FLOAT Any [T] None -> T, None Pure 1;
    /// Rounds to a whole number, upwards.
    Ceil "ceil": FLOAT Any [T] None -> T, None Pure 1;
    /// Rounds to a whole number, towards 0.
    Trunc "trunc": FLOAT Any [T] None -> T, None Pure 1;
    /// Rounds to the nearest whole number, ties to even.
    Nearest "nearest": FLOAT Any [T] None -> T, None Pure 1;

    /// Compares integers.
    Icmp "icmp": INT Any [T, T] None -> Mask, Int Pure 2;
    /// Compares floats.
    Fcmp "fcmp": FLOAT Any [T, T] None -> Mask, Float Pure 2;
    /// Returns `c ? a : b`, per lane for a mask, or for all lanes at once for a truth value.
    Select "select": ALL Any [Cond, T, T] None -> T, None Pure 2;

    /// Extends an integer with its sign. A truth value gives 0 or all ones.
    Sext "sext": INT Any [Lanes(BITS, Width::Less)] None -> T, None Pure 2;
    /// Extends an integer with zeros. A truth value gives 0 or 1.
    Zext "zext": INT Any [Lanes(BITS, Width::Less)] None -> T, None Pure 2;
    /// Returns the low bits of an integer.
    Narrow "narrow": UP_TO_WORD Any [Lanes(INT, Width::More)] None -> T, None Pure 1;
    /// Converts F32 to F64, exactly.
    Fwiden "fwiden": DOUBLE Any [Lanes(SINGLE, Width::Any)] None -> T, None Pure 2;
    /// Rounds F64 to the nearest F32, ties to even.
    Fnarrow "fnarrow": SINGLE Any [Lanes(DOUBLE, Width::Any)] None -> T, None Pure 2;
    /// Converts F16 to F32, exactly.
    HalfToFloat "half_to_float": SINGLE Any [Lanes(HALF, Width::Any)] None -> T, None Pure 9;
    /// Rounds F32 to the nearest F16, ties to even. A NaN gives the quiet NaN of its sign without
    /// payload.
    FloatToHalf "float_to_half": HALF Any [Lanes(SINGLE, Width::Any)] None -> T, None Pure 17;
    /// Rounds a signed integer to the nearest float.
    SintToFloat "sint_to_float": FLOAT Any [Lanes(WORDS, Width::Any)] None -> T, None Pure 2;
    /// Rounds an unsigned integer to the nearest float.
    UintToFloat "uint_to_float": FLOAT Any [Lanes(WORDS, Width::Any)] None -> T, None Pure 8;
    /// Converts a float to a signed integer, rounded towards 0 and clamped to the range. A NaN
    /// gives 0.
    FloatToSint "float_to_sint": WORDS Any [Lanes(FLOAT, Width::Any)] None -> T, None Pure 8;
    /// Converts a float to an unsigned integer, rounded towards 0 and clamped to the range. A NaN
    /// gives 0.
    FloatToUint "float_to_uint": WORDS Any [Lanes(FLOAT, Width::Any)] None -> T, None Pure 12;
    /// Reinterprets the bits as another type. The first lane has the lowest bits.
    Bitcast "bitcast": NUMBER Any [SameBits] None -> T, None Pure 1;

    /// Copies a scalar to every lane.
    Splat "splat": ALL Vector [Lane] None -> T, None Pure 1;
    /// Returns one lane.
    Extract "extract": ALL Vector [T] None -> Lane, Lane Pure 1;
    /// Returns the vector with one lane replaced.
    Insert "insert": ALL Vector [T, Lane] None -> T, Lane Pure 1;
    /// Builds a vector of scalars.
    Build "build": ALL Vector [] PerLane -> T, None Pure 4;
    /// Returns lanes of two vectors. The pattern counts them through both.
    Shuffle "shuffle": ALL Vector [T, T] None -> Pattern, Pattern Pure 1;
    /// Returns the lane whose index is a value, modulo the number of lanes.
    ExtractAt "extract_at": ALL Vector [T, Is(Type::I32)] None -> Lane, None Pure 6;
    /// Returns in each lane the lane whose index is that lane's value, modulo the number of lanes.
    Permute "permute": ALL Vector [T, Lanes(WORD, Width::Any)] None -> T, None Pure 20;

    /// Returns true if any lane is true.
    Any "any": BOOL Vector [T] None -> Is(Type::B), None Pure 2;
    /// Returns true if every lane is true.
    All "all": BOOL Vector [T] None -> Is(Type::B), None Pure 2;
    /// Returns one bit per lane; the first lane has the lowest bit.
    MaskBits "mask_bits": BOOL Word [T] None -> Is(Type::I32), None Pure 2;
    /// Returns the mask of a word that has one bit per lane.
    BitsMask "bits_mask": BOOL Word [Is(Type::I32)] None -> T, None Pure 3;

    /// Loads from memory.
    Load "load": ALL Any [Address] None -> T, Access Read 1;
    /// Loads an integer of 8 bits and extends it with zeros.
    LoadU8 "load_u8": WORDS Scalar [Address] None -> T, Access Read 1;
    /// Loads an integer of 16 bits and extends it with zeros.
    LoadU16 "load_u16": WORDS Scalar [Address] None -> T, Access Read 1;
    /// Stores to memory. The operands are the address and the value.
    Store "store": ALL Any [Address, T] None -> None, Access Write 1;
    /// Loads adjacent components for every active lane of the mask, from an address plus the lane's
    /// unsigned offset. Inactive lanes give 0. Memory must be readable at the address itself.
    Gather "gather": NUMBER Vector [Mask, Address, Lanes(WORD, Width::Any)] None -> Count, Gather Read 10;
    /// Stores adjacent components for every active lane, in the order of the lanes, to an address
    /// plus the lane's unsigned offset. Inactive lanes may write to a second address.
    Scatter "scatter": NUMBER Vector [Mask, Address, Lanes(WORD, Width::Any), Address] Count -> None, Gather Write 16;
    /// Reads, computes and writes atomically. The result is the old value.
    AtomicRmw "atomic_rmw": ATOMIC_ELEMS Scalar [Address, T] None -> T, Rmw Write 4;
    /// Writes the second value atomically if memory holds the first. The result is the old value.
    AtomicCas "atomic_cas": ATOMIC_ELEMS Scalar [Address, T, T] None -> T, None Write 2;
    /// Loads atomically. It is not merged with other loads.
    AtomicLoad "atomic_load": ATOMIC_ELEMS Scalar [Address] None -> T, None Write 1;
    /// Keeps loads and stores from being moved across it.
    Fence "fence": BOOL Scalar [] None -> None, None Write 1;
    /// Returns an address in a stack slot.
    StackAddress "stack_address": LONG Scalar [] None -> T, Slot Pure 1;
    /// Calls a System V function without result.
    Call "call": BOOL Scalar [Function] Arguments -> None, None Call 4;

    /// Jumps to a block.
    Jump "jump": BOOL Scalar [] None -> None, None Control 1;
    /// Jumps to the first block if the operand is true, else to the second.
    Branch "branch": BOOL Scalar [T] None -> None, None Control 2;
    /// Jumps to the block with this index, or to the last one if the index is out of range.
    BranchTable "branch_table": BOOL Scalar [Is(Type::I32)] None -> None, None Control 4;
    /// Returns to the caller.
    Return "return": BOOL Scalar [] None -> None, None Control 1;
}
