//! The operations, as one table: [`Row`].
//!
//! A row speaks of one type, `T`, which every instruction names ([`super::InstData::ty`]): the operands' and results' types follow from
//! it by rules. Verification, printing, the builder's result types, value numbering and the random programs of the tests are
//! made from the rows; only [`super::eval`] and the back ends have an arm per operation.
//!
//! Every operation has a meaning for every operand, the same on every machine: nothing traps. Two results are left open: which NaN an
//! operation on floats gives, and what a narrow integer's or a half's register holds beside it.

#![forbid(unsafe_code)]

use super::types::{Elem, Type};

/// A set of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elems(u8);

impl Elems {
    const fn of(list: &[Elem]) -> Elems {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= 1 << list[i] as u8;
            i += 1;
        }
        Elems(bits)
    }
    const fn or(self, other: Elems) -> Elems {
        Elems(self.0 | other.0)
    }
    /// Is it one of them?
    pub const fn has(self, elem: Elem) -> bool {
        self.0 >> elem as u8 & 1 != 0
    }
}

const BOOL: Elems = Elems::of(&[Elem::B]);
const INT: Elems = Elems::of(&[Elem::I8, Elem::I16, Elem::I32, Elem::I64]);
const UP_TO_WORD: Elems = Elems::of(&[Elem::I8, Elem::I16, Elem::I32]);
const WORDS: Elems = Elems::of(&[Elem::I32, Elem::I64]);
/// What is compared and exchanged at once.
const CELLS: Elems = Elems::of(&[Elem::I16, Elem::I32, Elem::I64]);
const WORD: Elems = Elems::of(&[Elem::I32]);
const LONG: Elems = Elems::of(&[Elem::I64]);
const FLOAT: Elems = Elems::of(&[Elem::F32, Elem::F64]);
const SINGLE: Elems = Elems::of(&[Elem::F32]);
const DOUBLE: Elems = Elems::of(&[Elem::F64]);
const HALF: Elems = Elems::of(&[Elem::F16]);
const BITS: Elems = INT.or(BOOL);
const NUMBER: Elems = INT.or(FLOAT).or(HALF);
const ALL: Elems = NUMBER.or(BOOL);

/// How many lanes `T` may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCount {
    /// A scalar or a vector.
    Any,
    /// A type of one lane.
    Scalar,
    /// A type of several lanes.
    Vector,
    /// A type of several lanes, no more than a word has bits.
    Word,
}

/// The width of an operand's element beside that of T's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// As many bits, fewer or more.
    Any,
    /// Fewer bits.
    Less,
    /// More bits.
    More,
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// T.
    T,
    /// A lane of T.
    Lane,
    /// As many lanes as T.
    Lanes(Elems, Width),
    /// Another type of T's shape (scalar or vector) and bits; no mask.
    SameBits,
    /// A mask of T's lanes (a truth value for a scalar).
    Mask,
    /// A truth value, or a mask of T's lanes.
    Cond,
    /// This type and no other.
    Is(Type),
    /// An integer: a number of bits, modulo T's width.
    Amount,
    /// Address of memory.
    Address,
    /// Address of a function.
    Function,
    /// An integer or float: an argument of a call.
    Argument,
}

/// The types of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// It has no result.
    None,
    /// T.
    T,
    /// A lane of T.
    Lane,
    /// A mask of T's lanes (a truth value for a scalar).
    Mask,
    /// This type and no other.
    Is(Type),
    /// T's elements in as many lanes as the pattern has.
    Pattern,
    /// As many Ts as the count says.
    Count,
}

/// What an operation has beside its operands; the kinds of [`super::Imm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmKind {
    /// Nothing.
    None,
    /// A lane of T.
    Lane,
    /// An integer comparison.
    Int,
    /// A comparison of floats.
    Float,
    /// Lanes of the operands, one after the other.
    Pattern,
    /// Offset and flags.
    Access,
    /// The same, and a number of components.
    Gather,
    /// Kind of read-modify-write.
    Rmw,
    /// A stack slot and an offset.
    Slot,
}

/// What an operation does beside giving its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: the same operands give the same results.
    Pure,
    /// Reads memory; nothing when that is said to be read-only ([`super::Access::readonly`]).
    Read,
    /// Writes memory, or reads and writes.
    Write,
    /// Anything: a helper may do it.
    Call,
    /// Goes to another block.
    Control,
}

/// What is known of an operation.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// In print.
    pub name: &'static str,
    /// T's elements.
    pub elems: Elems,
    /// T's lanes.
    pub lane_count: LaneCount,
    /// The first operands.
    pub args: &'static [Rule],
    /// Those behind them: as many as the back end needs ([`More`]).
    pub more: More,
    /// Types of what it makes.
    pub results: Results,
    /// What it has beside operands.
    pub imm: ImmKind,
    /// What else it does.
    pub effect: Effect,
    /// Instructions that a machine with 128-bit vectors takes for each of them, roughly.
    pub weight: u8,
}

/// How many operands follow the fixed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// None.
    None,
    /// One lane of T per lane.
    PerLane,
    /// As many Ts as the count says.
    Count,
    /// Up to eight arguments of a call.
    Arguments,
}

impl Row {
    /// May T be this?
    pub fn takes(&self, ty: Type) -> bool {
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

impl Rule {
    /// Does an operand of type `ty` obey the rule, for T = `t`?
    pub fn allows(self, t: Type, ty: Type) -> bool {
        match self {
            Rule::T => ty == t,
            Rule::Lane => ty == t.scalar(),
            Rule::Lanes(elems, width) => {
                ty.lanes() == t.lanes()
                    && elems.has(ty.elem)
                    && match width {
                        Width::Any => true,
                        Width::Less => ty.elem.bits() < t.elem.bits(),
                        Width::More => ty.elem.bits() > t.elem.bits(),
                    }
            }
            Rule::SameBits => ty.elem != Elem::B && ty.is_vector() == t.is_vector() && ty.bits() == t.bits(),
            Rule::Mask => ty == t.mask(),
            Rule::Cond => ty == t.mask() || ty == Type::B,
            Rule::Is(is) => ty == is,
            Rule::Amount => ty.elem.is_int() && !ty.is_vector(),
            Rule::Address | Rule::Function => ty == Type::I64,
            Rule::Argument => !ty.is_vector() && (ty.elem.is_int() || matches!(ty.elem, Elem::F32 | Elem::F64)),
        }
    }
}

macro_rules! rows {
    ($($(#[doc = $doc:literal])+ $op:ident $name:literal: $elems:ident $lane_count:ident
        [$($arg:expr),*] $more:ident -> $results:expr, $imm:ident $effect:ident $weight:literal;)*) => {
        /// An operation: a row of [`ROWS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $($(#[doc = $doc])+ $op,)* }

        /// Every operation, in the order of [`Op`].
        pub const ROWS: &[Row] = &[$(Row {
            op: Op::$op,
            name: $name,
            elems: $elems,
            lane_count: LaneCount::$lane_count,
            args: {
                #[allow(unused_imports, reason = "a row may have no operands")]
                use Rule::*;
                &[$($arg),*]
            },
            more: More::$more,
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
    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

// Operation, name: elements and lanes of T, operands -> results, immediate, effect, weight.
rows! {
    /// Sum, modulo 2^bits.
    Iadd "iadd": INT Any [T, T] None -> T, None Pure 1;
    /// Difference, wrapping.
    Isub "isub": INT Any [T, T] None -> T, None Pure 1;
    /// Low half of the product.
    Imul "imul": INT Any [T, T] None -> T, None Pure 2;
    /// 0 - a.
    Ineg "ineg": INT Any [T] None -> T, None Pure 1;
    /// a & b.
    And "and": BITS Any [T, T] None -> T, None Pure 1;
    /// a | b.
    Or "or": BITS Any [T, T] None -> T, None Pure 1;
    /// a ^ b.
    Xor "xor": BITS Any [T, T] None -> T, None Pure 1;
    /// a & !b.
    AndNot "and_not": BITS Any [T, T] None -> T, None Pure 1;
    /// !a.
    Not "not": BITS Any [T] None -> T, None Pure 1;
    /// Signed minimum.
    Smin "smin": INT Any [T, T] None -> T, None Pure 1;
    /// Signed maximum.
    Smax "smax": INT Any [T, T] None -> T, None Pure 1;
    /// Unsigned minimum.
    Umin "umin": INT Any [T, T] None -> T, None Pure 1;
    /// Unsigned maximum.
    Umax "umax": INT Any [T, T] None -> T, None Pure 1;
    /// High half of the signed product.
    SmulHigh "smul_high": WORDS Any [T, T] None -> T, None Pure 8;
    /// High half of the unsigned product.
    UmulHigh "umul_high": WORDS Any [T, T] None -> T, None Pure 8;
    /// Signed quotient; by 0 all ones, MIN / -1 is MIN.
    Sdiv "sdiv": INT Any [T, T] None -> T, None Pure 16;
    /// Unsigned quotient; by 0 all ones.
    Udiv "udiv": INT Any [T, T] None -> T, None Pure 16;
    /// Signed remainder, of the dividend's sign; by 0 the dividend.
    Srem "srem": INT Any [T, T] None -> T, None Pure 16;
    /// Unsigned remainder; by 0 the dividend.
    Urem "urem": INT Any [T, T] None -> T, None Pure 16;
    /// a << n for all lanes.
    Shl "shl": INT Any [T, Amount] None -> T, None Pure 2;
    /// a >> n, zeros from above.
    Lshr "lshr": INT Any [T, Amount] None -> T, None Pure 2;
    /// a >> n, the sign from above.
    Ashr "ashr": INT Any [T, Amount] None -> T, None Pure 2;
    /// a << n, lane by lane.
    ShlV "shlv": INT Vector [T, T] None -> T, None Pure 12;
    /// a >> n, zeros from above, lane by lane.
    LshrV "lshrv": INT Vector [T, T] None -> T, None Pure 12;
    /// a >> n, the sign from above, lane by lane.
    AshrV "ashrv": INT Vector [T, T] None -> T, None Pure 12;
    /// Zeros above the highest one; the width for 0.
    Clz "clz": INT Any [T] None -> T, None Pure 8;
    /// Zeros below the lowest one; the width for 0.
    Ctz "ctz": INT Any [T] None -> T, None Pure 8;
    /// Number of ones.
    Popcnt "popcnt": INT Any [T] None -> T, None Pure 8;
    /// Bits in reverse order.
    BitReverse "bit_reverse": INT Any [T] None -> T, None Pure 20;

    /// a + b.
    Fadd "fadd": FLOAT Any [T, T] None -> T, None Pure 1;
    /// a - b.
    Fsub "fsub": FLOAT Any [T, T] None -> T, None Pure 1;
    /// a * b.
    Fmul "fmul": FLOAT Any [T, T] None -> T, None Pure 1;
    /// a / b.
    Fdiv "fdiv": FLOAT Any [T, T] None -> T, None Pure 1;
    /// a * b + c with one rounding; where the machine has the instruction.
    Fma "fma": FLOAT Any [T, T, T] None -> T, None Pure 1;
    /// The other sign.
    Fneg "fneg": FLOAT Any [T] None -> T, None Pure 2;
    /// Without sign.
    Fabs "fabs": FLOAT Any [T] None -> T, None Pure 2;
    /// Square root.
    Sqrt "sqrt": FLOAT Any [T] None -> T, None Pure 1;
    /// The next whole number below.
    Floor "floor": FLOAT Any [T] None -> T, None Pure 1;
    /// The next whole number above.
    Ceil "ceil": FLOAT Any [T] None -> T, None Pure 1;
    /// The next whole number towards 0.
    Trunc "trunc": FLOAT Any [T] None -> T, None Pure 1;
    /// The nearest whole number, of two the even one.
    Nearest "nearest": FLOAT Any [T] None -> T, None Pure 1;

    /// A comparison of integers.
    Icmp "icmp": INT Any [T, T] None -> Mask, Int Pure 2;
    /// A comparison of floats.
    Fcmp "fcmp": FLOAT Any [T, T] None -> Mask, Float Pure 2;
    /// c ? a : b, per lane, or for all lanes at once.
    Select "select": ALL Any [Cond, T, T] None -> T, None Pure 2;

    /// A wider integer, the sign from above; of a truth value 0 or all ones.
    Sext "sext": INT Any [Lanes(BITS, Width::Less)] None -> T, None Pure 2;
    /// A wider integer, zeros from above; of a truth value 0 or 1.
    Zext "zext": INT Any [Lanes(BITS, Width::Less)] None -> T, None Pure 2;
    /// The low bits.
    Narrow "narrow": UP_TO_WORD Any [Lanes(INT, Width::More)] None -> T, None Pure 1;
    /// The same number in more bits.
    Fwiden "fwiden": DOUBLE Any [Lanes(SINGLE, Width::Any)] None -> T, None Pure 2;
    /// Rounded to the nearest, of two the even one.
    Fnarrow "fnarrow": SINGLE Any [Lanes(DOUBLE, Width::Any)] None -> T, None Pure 2;
    /// The same number as F32.
    HalfToFloat "half_to_float": SINGLE Any [Lanes(HALF, Width::Any)] None -> T, None Pure 9;
    /// Rounded to the nearest, of two the even one; of a NaN the quiet one of its sign without payload.
    FloatToHalf "float_to_half": HALF Any [Lanes(SINGLE, Width::Any)] None -> T, None Pure 17;
    /// Of a signed integer, rounded to the nearest.
    SintToFloat "sint_to_float": FLOAT Any [Lanes(WORDS, Width::Any)] None -> T, None Pure 2;
    /// Of an unsigned integer, rounded to the nearest.
    UintToFloat "uint_to_float": FLOAT Any [Lanes(WORDS, Width::Any)] None -> T, None Pure 8;
    /// Towards 0, the nearest that there is; 0 of NaN.
    FloatToSint "float_to_sint": WORDS Any [Lanes(FLOAT, Width::Any)] None -> T, None Pure 8;
    /// Towards 0, the nearest that there is; 0 of NaN.
    FloatToUint "float_to_uint": WORDS Any [Lanes(FLOAT, Width::Any)] None -> T, None Pure 12;
    /// The same bits, the first lane lowest.
    Bitcast "bitcast": NUMBER Any [SameBits] None -> T, None Pure 1;

    /// A scalar in every lane.
    Splat "splat": ALL Vector [Lane] None -> T, None Pure 1;
    /// One lane.
    Extract "extract": ALL Vector [T] None -> Lane, Lane Pure 1;
    /// The vector with another lane.
    Insert "insert": ALL Vector [T, Lane] None -> T, Lane Pure 1;
    /// A vector of scalars.
    Build "build": ALL Vector [] PerLane -> T, None Pure 4;
    /// Lanes of two vectors, which the pattern counts through.
    Shuffle "shuffle": ALL Vector [T, T] None -> Pattern, Pattern Pure 1;
    /// The lane of a number, modulo the lanes.
    ExtractAt "extract_at": ALL Vector [T, Is(Type::I32)] None -> Lane, None Pure 6;
    /// Per lane the lane of a number, modulo the lanes.
    Permute "permute": ALL Vector [T, Lanes(WORD, Width::Any)] None -> T, None Pure 20;

    /// Any lane?
    Any "any": BOOL Vector [T] None -> Is(Type::B), None Pure 2;
    /// Every lane?
    All "all": BOOL Vector [T] None -> Is(Type::B), None Pure 2;
    /// A bit per lane, the first one lowest.
    MaskBits "mask_bits": BOOL Word [T] None -> Is(Type::I32), None Pure 2;
    /// The mask of a bit per lane.
    BitsMask "bits_mask": BOOL Word [Is(Type::I32)] None -> T, None Pure 3;

    /// From memory.
    Load "load": ALL Any [Address] None -> T, Access Read 1;
    /// An integer of 8 bits, zeros from above.
    LoadU8 "load_u8": WORDS Scalar [Address] None -> T, Access Read 1;
    /// An integer of 16 bits, zeros from above.
    LoadU16 "load_u16": WORDS Scalar [Address] None -> T, Access Read 1;
    /// To memory: the address, the value.
    Store "store": ALL Any [Address, T] None -> None, Access Write 1;
    /// Components that lie side by side, per active lane of the mask at an address plus the lane's unsigned offset; 0 for the others. Memory
    /// can be read at the address itself.
    Gather "gather": NUMBER Vector [Mask, Address, Lanes(WORD, Width::Any)] None -> Count, Gather Read 10;
    /// The same as stores, in the order of the lanes. Those that are not active may write to a second address.
    Scatter "scatter": NUMBER Vector [Mask, Address, Lanes(WORD, Width::Any), Address] Count -> None, Gather Write 16;
    /// Reads, computes and writes at once; the old value.
    AtomicRmw "atomic_rmw": CELLS Scalar [Address, T] None -> T, Rmw Write 4;
    /// Writes the second value if memory holds the first; the old value.
    AtomicCas "atomic_cas": CELLS Scalar [Address, T, T] None -> T, None Write 2;
    /// Reads at once; not merged with other loads.
    AtomicLoad "atomic_load": CELLS Scalar [Address] None -> T, None Write 1;
    /// Loads and stores are not moved across.
    Fence "fence": BOOL Scalar [] None -> None, None Write 1;
    /// Address of a place on the stack.
    StackAddress "stack_address": LONG Scalar [] None -> T, Slot Pure 1;
    /// A System V function without result.
    Call "call": BOOL Scalar [Function] Arguments -> None, None Call 4;

    /// To a block.
    Jump "jump": BOOL Scalar [] None -> None, None Control 1;
    /// To the first block if so, else to the second.
    Branch "branch": BOOL Scalar [T] None -> None, None Control 2;
    /// To the block of a number; to the last one if there is none.
    BranchTable "branch_table": BOOL Scalar [Is(Type::I32)] None -> None, None Control 4;
    /// Back to the caller.
    Return "return": BOOL Scalar [] None -> None, None Control 1;
}
