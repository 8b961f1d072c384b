//! Machine code before its registers are known: instructions as data, in blocks.
//!
//! An instruction is an operation, how wide it is, an immediate, a memory operand or none, and a list of registers with what register
//! allocation must know of each. Results come first, then operands in the order of the operation's shape, the memory operand's registers last.
//!
//! Flags are no operand: who needs them stands right behind who makes them. What register allocation puts in between moves, and moves keep them.

#![forbid(unsafe_code)]

use super::pool::Pool;
use super::table::Vex;
use regalloc2::{Operand, PReg, PRegSet, RegClass, VReg};
use std::fmt::{self, Display, Formatter};

/// General registers by number.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RSP: u8 = 4;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
pub const RDI: u8 = 7;
/// Where System V has the first integer arguments.
pub const ARGUMENTS: [u8; 6] = [RDI, RSI, RDX, RCX, 8, 9];
/// What a function gives back as it was, but for the stack's.
pub const SAVED: [u8; 5] = [RBX, 12, 13, 14, 15];

/// A general register.
pub fn gpr(number: u8) -> PReg {
    PReg::new(usize::from(number), RegClass::Int)
}

/// A vector register.
pub fn vector(number: u8) -> PReg {
    PReg::new(usize::from(number), RegClass::Float)
}

/// What register allocation calls mask registers.
pub const MASK: RegClass = RegClass::Vector;

/// A mask register.
pub fn mask(number: u8) -> PReg {
    PReg::new(usize::from(number), MASK)
}

/// What AVX-512 has: vector registers, mask registers; and what the others have of the first.
pub const VECTORS: u8 = 32;
/// See [`VECTORS`].
pub const MASKS: u8 = 8;
/// See [`VECTORS`].
pub const OLD_VECTORS: u8 = 16;

/// How wide an instruction is: bits of vectors, or of general registers 32 and 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// 128, or 32.
    W128,
    /// 256, or 64.
    W256,
    /// 512.
    W512,
}

impl Size {
    /// A vector's bytes.
    pub fn bytes(self) -> usize {
        16 << self as usize
    }
    /// Not the least.
    pub fn is_wide(self) -> bool {
        self != Size::W128
    }
}

/// Which of the two that there always are.
impl From<bool> for Size {
    fn from(wide: bool) -> Size {
        if wide { Size::W256 } else { Size::W128 }
    }
}

/// What is done with a vector's lanes that are not in a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masked {
    /// There is no mask.
    No,
    /// They become 0; or the instruction says it, of those that choose by a mask and those that make one.
    Zero,
    /// See [`Masked::Zero`].
    Own,
    /// They are those of one more operand, which is the result's register.
    Keep,
}

impl Masked {
    /// Operands that it has, before the one that may be memory; the mask is the last of them.
    pub fn operands(self) -> usize {
        match self {
            Masked::No => 0,
            Masked::Zero | Masked::Own => 1,
            Masked::Keep => 2,
        }
    }
}

/// Conditions, as the processor numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the processor's manual has them")]
pub enum Cc {
    B = 2,
    Ae = 3,
    E = 4,
    Ne = 5,
    Be = 6,
    A = 7,
    P = 10,
    Np = 11,
    L = 12,
    Ge = 13,
    Le = 14,
    G = 15,
}

impl Cc {
    /// All of them.
    const ALL: [Cc; 12] = [Cc::B, Cc::Ae, Cc::E, Cc::Ne, Cc::Be, Cc::A, Cc::P, Cc::Np, Cc::L, Cc::Ge, Cc::Le, Cc::G];

    /// The opposite: its number differs in the lowest bit.
    pub fn not(self) -> Cc {
        Cc::ALL.into_iter().find(|&cc| cc as u8 == self as u8 ^ 1).unwrap_or(self)
    }
}

/// Integer operations of two operands, as the processor numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the processor's manual has them")]
pub enum Alu {
    Add = 0,
    Or = 1,
    And = 4,
    Sub = 5,
    Xor = 6,
    Cmp = 7,
}

/// Shifts by an immediate, as the processor numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the processor's manual has them")]
pub enum Shift {
    Shl = 4,
    Shr = 5,
    Sar = 7,
}

/// What an instruction does. The width of general registers is [`Inst::size`]'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A row of the table.
    Vex(Vex),
    /// All zeros; of ones.
    Zero,
    /// See [`Op::Zero`].
    Ones,
    /// The mask of no lane; of all.
    NoLanes,
    /// See [`Op::NoLanes`].
    AllLanes,
    /// result = a op rm.
    Alu(Alu),
    /// result = a op immediate.
    AluImm(Alu),
    /// Flags of a & rm.
    Test,
    /// result = rm.
    Mov,
    /// result = the immediate, of 64 bits.
    MovImm,
    /// result = rm's low 8 bits, zeros above; 16 bits.
    Movzx8,
    /// See [`Op::Movzx8`].
    Movzx16,
    /// result = rm's low 8 bits, the sign above; 16; 32.
    Movsx8,
    /// See [`Op::Movsx8`].
    Movsx16,
    /// See [`Op::Movsx8`].
    Movsx32,
    /// Stores the operand's low bytes: 1, 2, 4 or 8.
    Store(u8),
    /// Stores the immediate's.
    StoreImm(u8),
    /// result = the memory operand's address.
    Lea,
    /// result = a shifted by the immediate.
    Shift(Shift),
    /// result = a * rm.
    Imul,
    /// result = rm * immediate.
    ImulImm,
    /// result = -a.
    Neg,
    /// result = !a.
    Not,
    /// Bytes in reverse order.
    Bswap,
    /// Zeros above, zeros below, ones.
    Lzcnt,
    /// See [`Op::Lzcnt`].
    Tzcnt,
    /// See [`Op::Lzcnt`].
    Popcnt,
    /// High half of the product of rax and an operand: rdx; whether it is signed.
    MulHigh(bool),
    /// rax and rdx of rax divided by an operand; whether it is signed. The divisor is harmless.
    Div(bool),
    /// result = 1 if so, else 0.
    Set(Cc),
    /// result = rm if so, else a.
    Cmov(Cc),
    /// result = memory, which becomes the sum; of 2, 4 or 8 bytes.
    LockXadd(u8),
    /// result = memory, which becomes the operand.
    Xchg(u8),
    /// rax = memory, which becomes the operand if it was rax.
    LockCmpxchg(u8),
    /// Memory becomes what the operation makes of it and the operand.
    LockAlu(u8, Alu),
    /// rax = memory, which becomes what the operation makes of it and the operand.
    RmwLoop(u8, Loop),
    /// The function's parameters.
    Params,
    /// Calls a function.
    Call,
    /// Calls one on a way that is rarely taken: what it would change is kept beside it (`frame::Kept`).
    RareCall,
    /// To the first target.
    Jump,
    /// To the first target if so, else to the second.
    Branch(Cc),
    /// To the target of a number; to the last if there is none.
    Table,
    /// Back to the caller.
    Return,
}

/// What [`Op::RmwLoop`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// With the operand.
    Alu(Alu),
    /// The operand where it compares so with what was there.
    Choose(Cc),
}

/// A memory operand, but for the registers, which are the instruction's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// None: a register, or where register allocation put it.
    None,
    /// base + index << scale + disp. Without base the frame's.
    At {
        /// There is a base.
        base: bool,
        /// There is an index.
        index: bool,
        /// Shift of the index.
        scale: u8,
        /// Added.
        disp: i32,
    },
    /// A constant, at an offset.
    Pool(u32, u32),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// How wide it is.
    pub size: Size,
    /// A mask beside the other operands.
    pub masked: Masked,
    /// The memory operand is one lane for all.
    pub broadcast: bool,
    /// The immediate.
    pub imm: i64,
    /// The memory operand.
    pub mem: Mem,
    /// Its registers: where they begin in [`Code::operands`], and how many there are.
    pub operands: (u32, u8),
}

/// Where a block goes.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Instructions.
    pub insts: Vec<Inst>,
    /// Parameters.
    pub params: Vec<VReg>,
    /// Targets, and their parameters' values.
    pub targets: Vec<(usize, Vec<VReg>)>,
}

/// A function.
#[derive(Default)]
pub struct Code {
    /// The first one is where the function starts.
    pub blocks: Vec<Block>,
    /// Their numbers in the order of memory, the first one's first.
    pub order: Vec<usize>,
    /// Registers of all instructions.
    pub operands: Vec<Operand>,
    /// Number of registers.
    pub vregs: usize,
    /// Constants.
    pub pool: Pool,
    /// Bytes of the frame that are known before registers are allocated.
    pub frame: u32,
    /// Largest alignment in there, as a power of two.
    pub align: u8,
    /// AVX-512 is there.
    pub avx512: bool,
    /// There are vectors of 512 bits.
    pub large: bool,
}

impl Code {
    /// Registers of an instruction.
    pub fn operands(&self, inst: &Inst) -> &[Operand] {
        &self.operands[inst.operands.0 as usize..][..usize::from(inst.operands.1)]
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, block) in self.blocks.iter().enumerate() {
            writeln!(f, "block{i}{:?}:", block.params)?;
            for inst in &block.insts {
                write!(f, "  {:?} {:?}", inst.op, inst.size)?;
                if inst.masked != Masked::No {
                    write!(f, " masked {:?}", inst.masked)?;
                }
                if inst.broadcast {
                    write!(f, " broadcast")?;
                }
                if inst.imm != 0 {
                    write!(f, " imm {:#x}", inst.imm)?;
                }
                if inst.mem != Mem::None {
                    write!(f, " {:?}", inst.mem)?;
                }
                for operand in self.operands(inst) {
                    write!(f, " {operand}")?;
                }
                writeln!(f)?;
            }
            for (to, values) in &block.targets {
                writeln!(f, "  -> block{to}{values:?}")?;
            }
        }
        Ok(())
    }
}

impl Op {
    /// Does it end a block?
    pub fn ends(self) -> bool {
        matches!(self, Op::Jump | Op::Branch(_) | Op::Table | Op::Return)
    }

    /// Registers that it changes beside its results.
    pub fn clobbers(self) -> PRegSet {
        match self {
            Op::Call => {
                let general = [RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11].into_iter().map(gpr);
                general.chain((0..VECTORS).map(vector)).chain((0..MASKS).map(mask)).collect()
            }
            Op::MulHigh(_) => [RAX].into_iter().map(gpr).collect(),
            _ => PRegSet::empty(),
        }
    }
}
