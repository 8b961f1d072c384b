//! The low-level SSA form (LIR) between emission and the back ends.
//!
//! * **Machine operations on vectors of any number of lanes.** A value is a scalar, a vector or a
//!   mask ([`Type`]). The lanes of a chunk are one vector, however wide the machine's registers
//!   are: a back end splits it. A mask is a type of its own, because one back end holds it as words
//!   of ones and another one in a mask register.
//! * **One table** ([`op::ROWS`]) lists operands, results and effects of every operation. [`eval`]
//!   defines the meaning, bit by bit.
//! * **Blocks with parameters.** [`Builder`] makes them: SSA from variables, and value numbering
//!   over the blocks that dominate the current one. Constants belong to no block: each back end
//!   places them where it needs them.
//! * Nothing traps, and nothing depends on the machine. The emitter spells out what machines do
//!   differently.
//!
//! [`verify`] checks a function, [`print`] shows it, and [`mod@parse`] reads it back. The crate
//! `jit_test_support` makes random programs from the table for the tests.

pub mod build;
mod divide;
pub mod eval;
pub mod op;
mod parse;
mod print;
pub mod safety;
mod ssa;
mod types;
mod value_numbering;
mod variables;
mod verify;

pub use build::Builder;
pub use op::{Effect, Op};
pub use parse::parse;
pub use ssa::Variable;
pub use types::{Elem, Type};
pub use verify::verify;

use base::text::FromText;
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

/// A stack slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);
entity_impl!(Slot, "slot");

/// A list of lanes, either of a constant or of a shuffle ([`Function::lists`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct List(u32);
entity_impl!(List, "list");

/// Operands of an instruction, or arguments of an edge.
pub type Args = SmallVec<[Value; 4]>;

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Def {
    /// The value is a result of an instruction.
    Inst(Inst),
    /// The value is a parameter of a block.
    Param(Block),
    /// The value is a constant with the same bits in every lane. A truth value is 0 or 1.
    Const(u64),
    /// The value is a constant with separate bits per lane.
    Lanes(List),
    /// The value is an alias of another one. A finished function has none.
    Alias(Value),
}

/// Type and definition of a value.
#[derive(Clone, Copy, Debug)]
pub struct ValueData {
    /// Type of the value.
    pub ty: Type,
    /// Definition of the value.
    pub def: Def,
}

/// An integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
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
    /// All integer comparisons.
    pub const ALL: [IntCond; 10] = {
        use IntCond::*;
        [Eq, Ne, Slt, Sle, Sgt, Sge, Ult, Ule, Ugt, Uge]
    };
}

/// A comparison of floats. With a NaN, ordered comparisons are false and unordered ones (`U`) are
/// true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
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
    /// All comparisons of floats.
    pub const ALL: [FloatCond; 14] = {
        use FloatCond::*;
        [Eq, One, Lt, Le, Gt, Ge, Ord, Uno, Ueq, Ne, Ult, Ule, Ugt, Uge]
    };
}

/// The operation of an [`Op::AtomicRmw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
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
    /// All read-modify-write operations.
    pub const ALL: [Rmw; 10] = {
        use Rmw::*;
        [Exchange, Add, Sub, And, Or, Xor, Smin, Umin, Smax, Umax]
    };
}

/// Reason why the address of an access is valid. The emitter claims it, and [`safety`] proves the
/// claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum AccessReason {
    /// The access lies in memory that the application names. A comparison with its size, or a
    /// look-up in the table of live memory, decides whether it happens. Otherwise it goes to the
    /// sink or to zeros.
    Checked,
    /// The access reads a field of a structure of the driver (context, batch, helper table,
    /// primitive, view, sampler).
    Field,
    /// The access lies in an array that a structure of the driver points to. Its index is made only
    /// of numbers of the driver, or is limited by one.
    Element,
    /// The access reads a descriptor, or the header of a set. The index is limited to the binding.
    Descriptor,
    /// The access reads the table of live memory. The index is limited to the table.
    Live,
    /// The access lies in the texels of a view, behind comparisons of all coordinates with its
    /// extents.
    Texels,
    /// The access lies in a stack slot of the function.
    Frame,
    /// The access lies in the scratch memory of the call.
    Scratch,
    /// The access lies in workgroup memory.
    Shared,
    /// The caller of the function guarantees that the memory behind a parameter is valid. No stage
    /// of a shader has such an access.
    Caller,
}

/// Properties of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Reason why the address is valid.
    pub reason: AccessReason,
    /// Number of bytes that is added to the address.
    pub offset: i32,
    /// True if the memory is not written while the function runs, so that loads may be merged and
    /// moved.
    pub readonly: bool,
    /// True if a preceding branch ensures that the address is valid. The access must stay behind
    /// that branch and must not be hoisted out of loops.
    pub guarded: bool,
    /// True if the address is a multiple of the type's size.
    pub aligned: bool,
}

impl Access {
    /// Returns a plain access at the address itself.
    pub const fn new(reason: AccessReason) -> Access {
        Access { reason, offset: 0, readonly: false, guarded: false, aligned: false }
    }
}

/// The immediate of an instruction, of a kind that [`op::ImmKind`] lists.
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
    /// Returns the kind of the immediate.
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

/// An instruction, whose results are consecutive values.
#[derive(Clone, Debug)]
pub struct InstData {
    /// Operation of the instruction.
    pub op: Op,
    /// The type T of the operation's row.
    pub ty: Type,
    /// Operands, in the order of the operation's row.
    pub args: Args,
    /// Immediate of the instruction.
    pub imm: Imm,
    /// First result, or the value that it would be if the instruction has none.
    pub first: Value,
    /// Number of results.
    pub count: u8,
}

impl InstData {
    /// Returns the results in order.
    pub fn results(&self) -> impl Iterator<Item = Value> + use<> {
        (self.first.0..self.first.0 + u32::from(self.count)).map(Value)
    }
}

/// An edge to a block, with the values of that block's parameters.
#[derive(Clone, Debug)]
pub struct Target {
    /// Block that the edge leads to.
    pub block: Block,
    /// One value per parameter of the block.
    pub args: Args,
}

/// Contents of a block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Parameters of the block. The parameters of the first block are those of the function.
    pub params: SmallVec<[Value; 4]>,
    /// Instructions. The last one, and no other, is [`Effect::Control`].
    pub insts: Vec<Inst>,
    /// Edges of the last instruction: then and else of a [`Op::Branch`]; of a [`Op::BranchTable`]
    /// the default is last.
    pub targets: SmallVec<[Target; 2]>,
    /// True if the block is rarely executed.
    pub cold: bool,
    /// True if the block is an optional fast path: code is faster with it and gives the same
    /// results without. Branches whose first target it is may go to the second target instead.
    pub fast_path: bool,
}

/// Size and alignment of a stack slot.
#[derive(Clone, Copy, Debug)]
pub struct SlotData {
    /// Size in bytes.
    pub bytes: u32,
    /// Base-2 logarithm of the alignment in bytes.
    pub align: u8,
}

/// A function in LIR.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// All values, including unused ones.
    pub values: PrimaryMap<Value, ValueData>,
    /// Instructions by number. The blocks define their order.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Blocks by number. [`Function::layout`] defines their order.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Order of the blocks in memory. Execution starts at the first one.
    pub layout: Vec<Block>,
    /// Stack slots.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Lanes of constants and patterns of shuffles.
    pub lists: PrimaryMap<List, Box<[u64]>>,
}

impl Function {
    /// Returns the type of a value.
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].ty
    }

    /// Returns the bits of a constant that is the same in every lane.
    pub fn constant(&self, v: Value) -> Option<u64> {
        match self.values[v].def {
            Def::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns the bits of a constant, lane by lane.
    pub fn constant_lanes(&self, v: Value) -> Option<SmallVec<[u64; 16]>> {
        let ValueData { ty, def } = self.values[v];
        match def {
            Def::Const(bits) => Some(smallvec::smallvec![bits; ty.lanes()]),
            Def::Lanes(list) => Some(SmallVec::from_slice(&self.lists[list])),
            _ => None,
        }
    }

    /// Returns the instruction that defines a value, if an instruction does.
    pub fn definition(&self, v: Value) -> Option<&InstData> {
        match self.values[v].def {
            Def::Inst(inst) => Some(&self.insts[inst]),
            _ => None,
        }
    }

    /// Returns the types of the results of an instruction.
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

    /// Returns the blocks in layout order. Without `with_fast_paths`, only blocks are included that
    /// are reachable when no branch goes to an [optional fast path](BlockData::fast_path).
    pub fn blocks_in_order(&self, with_fast_paths: bool) -> Vec<Block> {
        if with_fast_paths || !self.blocks.values().any(|block| block.fast_path) {
            return self.layout.clone();
        }
        let mut reached = vec![false; self.blocks.len()];
        let mut todo: Vec<Block> = self.layout.first().copied().into_iter().collect();
        while let Some(block) = todo.pop() {
            if !std::mem::replace(&mut reached[block.0 as usize], true) {
                todo.extend(self.targets(block, with_fast_paths).iter().map(|target| target.block));
            }
        }
        self.layout.iter().copied().filter(|block| reached[block.0 as usize]).collect()
    }

    /// Returns the edges of a block. Without `with_fast_paths`, a branch to an optional fast path
    /// has only its second edge.
    pub fn targets(&self, block: Block, with_fast_paths: bool) -> &[Target] {
        match &self.blocks[block].targets[..] {
            [fast_path, other] if !with_fast_paths && self.blocks[fast_path.block].fast_path => {
                std::slice::from_ref(other)
            }
            targets => targets,
        }
    }

    /// Returns an estimate of the number of instructions on a machine with 128-bit vectors.
    pub fn weight(&self) -> usize {
        self.insts.values().map(|data| weight(data.op, data.ty)).sum()
    }
}

/// Returns the share of an instruction in [`Function::weight`].
fn weight(op: Op, ty: Type) -> usize {
    usize::from(op.row().weight) * (ty.bytes() as usize).div_ceil(16)
}
