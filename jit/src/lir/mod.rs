//! The low SSA between emission and the back ends.
//!
//! * **What a machine does, on vectors of any number of lanes.** A value is a scalar, a vector or a mask ([`Type`]). The lanes of a chunk are
//!   one vector, however wide the machine's are: a back end splits it. A mask is a type of its own: words of ones here, a mask
//!   register there.
//! * **One table** ([`op::ROWS`]) says what an operation takes and gives and what it does; [`eval`] says what it means, bit by bit.
//! * **Blocks with parameters.** [`Builder`] makes them: SSA from variables, and value numbering over the blocks that dominate
//!   the current one. Constants belong to no block: each back end makes them where it wants them.
//! * Nothing traps, nothing depends on the machine. What machines do differently is spelled out by who emits.
//!
//! [`verify`] checks a function, [`print`] shows it, [`random`] makes programs from the table for the tests.

pub mod build;
mod divide;
pub mod eval;
mod number;
pub mod op;
mod print;
#[doc(hidden)]
pub mod random;
pub mod safety;
mod ssa;
#[cfg(test)]
mod tests;
mod types;
mod variables;
mod verify;

pub use build::Builder;
pub use op::{Effect, Op};
pub use ssa::Variable;
pub use types::{Elem, Type};
pub use verify::verify;

use cranelift_entity::{PrimaryMap, entity_impl};
use smallvec::SmallVec;

/// An SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "i");

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "b");

/// A place on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);
entity_impl!(Slot, "slot");

/// A list of lanes, of a constant or a shuffle ([`Function::lists`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct List(u32);
entity_impl!(List, "list");

/// Operands.
pub type Args = SmallVec<[Value; 4]>;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Def {
    /// A result of an instruction.
    Inst(Inst),
    /// A parameter of a block.
    Param(Block),
    /// The same bits in every lane. (Of a truth value 0 or 1.)
    Const(u64),
    /// Bits lane by lane.
    Lanes(List),
    /// Another value; in no finished function.
    Alias(Value),
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Its type.
    pub ty: Type,
    /// Its definition.
    pub def: Def,
}

/// Integer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "as they are named everywhere: equal, signed and unsigned, less, greater")]
pub enum IntCond {
    Eq,
    Ne,
    Slt,
    Sle,
    Sgt,
    Sge,
    Ult,
    Ule,
    Ugt,
    Uge,
}

impl IntCond {
    /// All of them.
    pub const ALL: [IntCond; 10] = {
        use IntCond::*;
        [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge]
    };
}

/// Comparisons of floats: ordered ones are false with a NaN, unordered ones (`U`) true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "as they are named everywhere: ordered, unordered, equal, less, greater")]
pub enum FloatCond {
    Eq,
    One,
    Lt,
    Le,
    Gt,
    Ge,
    Ord,
    Uno,
    Ueq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
}

impl FloatCond {
    /// All of them.
    pub const ALL: [FloatCond; 14] = {
        use FloatCond::*;
        [Eq, One, Lt, Le, Gt, Ge, Ord, Uno, Ueq, Ne, Ult, Ule, Ugt, Uge]
    };
}

/// What [`Op::AtomicRmw`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the operations' own names")]
pub enum Rmw {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Smin,
    Umin,
    Smax,
    Umax,
}

impl Rmw {
    /// All of them.
    pub const ALL: [Rmw; 10] = {
        use Rmw::*;
        [Exchange, Add, Sub, And, Or, Xor, Smin, Umin, Smax, Umax]
    };
}

/// Why the address of an access is valid. The emitter claims it, and [`safety`] proves the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The access lies in memory that the application names, and a comparison with its size, or a look-up of what is alive, decides
    /// whether it happens; where it must not, it goes to the sink or to zeros.
    Checked,
    /// The access reads a field of a structure of the driver (context, batch, helper table, primitive, view, sampler).
    Field,
    /// The access lies in an array that a structure of the driver points to. Its index is made of numbers of the driver alone, or is
    /// limited by one.
    Element,
    /// The access reads a descriptor, or a set's header. The index is limited to the binding.
    Descriptor,
    /// The access reads the table of live memory, at an index that is limited to the table.
    Live,
    /// The access lies in the texels of a view, behind comparisons of all coordinates with its extents.
    Texels,
    /// The access lies in a stack slot of the function.
    Frame,
    /// The access lies in the scratch memory of the call.
    Scratch,
    /// The access lies in workgroup memory.
    Shared,
    /// The caller of the function vouches for what lies behind a parameter. No stage of a shader has such an access.
    Caller,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Why the address is valid.
    pub reason: Reason,
    /// Added to the address.
    pub offset: i32,
    /// Nobody writes there while the function runs: loads may be merged and moved.
    pub readonly: bool,
    /// A branch has seen to it that the address is one: the access stays behind it, also out of loops.
    pub guarded: bool,
    /// The address is a multiple of the type's bytes.
    pub aligned: bool,
}

impl Access {
    /// A plain access at the address itself.
    pub const fn of(reason: Reason) -> Access {
        Access { reason, offset: 0, readonly: false, guarded: false, aligned: false }
    }
}

/// What an instruction has beside operands; by [`op::ImmKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "op::ImmKind says what they are")]
pub enum Imm {
    None,
    Lane(u8),
    Int(IntCond),
    Float(FloatCond),
    Pattern(List),
    Access(Access),
    Gather(Access, u8),
    Rmw(Rmw),
    Slot(Slot, i32),
}

impl Imm {
    /// Which kind it is.
    pub fn kind(self) -> op::ImmKind {
        use op::ImmKind as K;
        match self {
            Imm::None => K::None,
            Imm::Lane(_) => K::Lane,
            Imm::Int(_) => K::Int,
            Imm::Float(_) => K::Float,
            Imm::Pattern(_) => K::Pattern,
            Imm::Access(_) => K::Access,
            Imm::Gather(..) => K::Gather,
            Imm::Rmw(_) => K::Rmw,
            Imm::Slot(..) => K::Slot,
        }
    }
}

/// An instruction. Its results are consecutive values.
#[derive(Clone, Debug)]
pub struct InstData {
    /// What it does.
    pub op: Op,
    /// The T of its row.
    pub ty: Type,
    /// In the order of the operation's row.
    pub args: Args,
    /// What else it has.
    pub imm: Imm,
    /// First result.
    pub first: Value,
    /// Number of results.
    pub count: u8,
}

impl InstData {
    /// The results.
    pub fn results(&self) -> impl Iterator<Item = Value> + use<> {
        (self.first.0..self.first.0 + u32::from(self.count)).map(Value)
    }
}

/// Where a block goes, and the values of that block's parameters.
#[derive(Clone, Debug)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// One per parameter.
    pub args: Args,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Parameters; of the first block those of the function.
    pub params: SmallVec<[Value; 4]>,
    /// Instructions; the last one, and no other, is [`Effect::Control`].
    pub insts: Vec<Inst>,
    /// Where the last one goes: of a [`Op::Branch`] then and else, of a [`Op::BranchTable`] the default last.
    pub targets: SmallVec<[Target; 2]>,
    /// Rarely run.
    pub cold: bool,
    /// Code is quicker with it and does the same without: the branches whose first target it is may go to the other one.
    pub extra: bool,
}

/// A place on the stack.
#[derive(Clone, Copy, Debug)]
pub struct SlotData {
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment, as a power of two.
    pub align: u8,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Values, also those that are not used.
    pub values: PrimaryMap<Value, ValueData>,
    /// By number; blocks say in which order they run.
    pub insts: PrimaryMap<Inst, InstData>,
    /// By number.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// The order of the blocks in memory; the first one is where the function starts.
    pub layout: Vec<Block>,
    /// Places on the stack.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Lanes of constants and patterns.
    pub lists: PrimaryMap<List, Box<[u64]>>,
}

impl Function {
    /// Type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].ty
    }

    /// The bits of a constant that is the same in every lane.
    pub fn constant(&self, v: Value) -> Option<u64> {
        match self.values[v].def {
            Def::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Bits of a constant, lane by lane.
    pub fn constant_lanes(&self, v: Value) -> Option<SmallVec<[u64; 16]>> {
        let ValueData { ty, def } = self.values[v];
        match def {
            Def::Const(bits) => Some(smallvec::smallvec![bits; ty.lanes()]),
            Def::Lanes(list) => Some(SmallVec::from_slice(&self.lists[list])),
            _ => None,
        }
    }

    /// The operation that defines a value.
    pub fn definition(&self, v: Value) -> Option<&InstData> {
        match self.values[v].def {
            Def::Inst(inst) => Some(&self.insts[inst]),
            _ => None,
        }
    }

    /// Types of the results of an instruction.
    pub fn result_types(&self, op: Op, ty: Type, imm: Imm) -> SmallVec<[Type; 4]> {
        use op::Results as R;
        let one = |ty| smallvec::smallvec![ty];
        match (op.row().results, imm) {
            (R::T, _) => one(ty),
            (R::Lane, _) => one(ty.scalar()),
            (R::Mask, _) => one(ty.mask()),
            (R::Is(is), _) => one(is),
            (R::Pattern, Imm::Pattern(list)) => one(ty.elem.by(self.lists[list].len())),
            (R::Count, Imm::Gather(_, n)) => smallvec::smallvec![ty; usize::from(n)],
            (R::None | R::Pattern | R::Count, _) => SmallVec::new(),
        }
    }

    /// The blocks in their order: all of them, or those that are come to where no branch goes to an [extra](BlockData::extra) one.
    pub fn blocks_in_order(&self, extras: bool) -> Vec<Block> {
        if extras || !self.blocks.values().any(|block| block.extra) {
            return self.layout.clone();
        }
        let mut reached = vec![false; self.blocks.len()];
        let mut todo: Vec<Block> = self.layout.first().copied().into_iter().collect();
        while let Some(block) = todo.pop() {
            if !std::mem::replace(&mut reached[block.0 as usize], true) {
                todo.extend(self.targets(block, extras).iter().map(|target| target.block));
            }
        }
        self.layout.iter().copied().filter(|block| reached[block.0 as usize]).collect()
    }

    /// Where a block goes: a branch to one block only, if the other one is extra and extras are not wanted.
    pub fn targets(&self, block: Block, extras: bool) -> &[Target] {
        match &self.blocks[block].targets[..] {
            [extra, other] if !extras && self.blocks[extra.block].extra => std::slice::from_ref(other),
            targets => targets,
        }
    }

    /// About as many instructions as a machine with 128-bit vectors takes.
    pub fn weight(&self) -> usize {
        self.insts.values().map(|data| weight(data.op, data.ty)).sum()
    }
}

/// The share of an instruction in [`Function::weight`].
fn weight(op: Op, ty: Type) -> usize {
    usize::from(op.row().weight) * (ty.bytes() as usize).div_ceil(16)
}
