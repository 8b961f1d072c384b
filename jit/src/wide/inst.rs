//! Machine code before register allocation: instructions as data, in blocks.
//!
//! An instruction is an operation, a width, an immediate, an optional memory operand, and a list of
//! registers with the constraints for register allocation. Results come first, then operands in the
//! order of the operation's shape, and the memory operand's registers last.
//!
//! Flags are not an operand: an instruction that reads them directly follows the one that sets
//! them. Register allocation inserts only moves in between, and moves preserve the flags.

#![forbid(unsafe_code)]

use super::pool::Pool;
use super::table::Vex;
use regalloc2::{Operand, PReg, PRegSet, RegClass, VReg};
use std::fmt::{self, Display, Formatter};

/// Numbers of the general registers.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RSP: u8 = 4;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
pub const RDI: u8 = 7;
/// Registers that hold the first integer arguments in the System V calling convention.
pub const ARGUMENTS: [u8; 6] = [RDI, RSI, RDX, RCX, 8, 9];
/// Registers that a function preserves for its caller, apart from the stack's.
pub const SAVED: [u8; 5] = [RBX, 12, 13, 14, 15];

/// Returns a general register.
pub fn gpr(number: u8) -> PReg {
    PReg::new(usize::from(number), RegClass::Int)
}

/// Returns a vector register.
pub fn vector(number: u8) -> PReg {
    PReg::new(usize::from(number), RegClass::Float)
}

/// Register class that stands for mask registers in register allocation.
pub const MASK: RegClass = RegClass::Vector;

/// Returns a mask register.
pub fn mask(number: u8) -> PReg {
    PReg::new(usize::from(number), MASK)
}

/// Number of vector registers with AVX-512.
pub const VECTORS: u8 = 32;
/// Number of mask registers with AVX-512.
pub const MASKS: u8 = 8;
/// Number of vector registers without AVX-512.
pub const VEX_VECTORS: u8 = 16;

/// Width of an instruction: bits of vectors, or 32 and 64 bits of general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// 128 bits, or 32 of a general register.
    W128,
    /// 256 bits, or 64 of a general register.
    W256,
    /// 512 bits.
    W512,
}

impl Size {
    /// Returns the number of bytes of a vector.
    pub fn bytes(self) -> usize {
        16 << self as usize
    }
    /// Returns true if this is not the smallest size.
    pub fn is_wide(self) -> bool {
        self != Size::W128
    }
}

/// Converts "is wide" to one of the two sizes that every level has.
impl From<bool> for Size {
    fn from(wide: bool) -> Size {
        if wide { Size::W256 } else { Size::W128 }
    }
}

/// Treatment of a vector's lanes that are not in a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masked {
    /// There is no mask.
    No,
    /// The lanes become 0.
    Zero,
    /// The instruction itself defines the treatment: it chooses by a mask, or makes one.
    Own,
    /// The lanes keep the values of one more operand, which is in the result's register.
    Keep,
}

impl Masked {
    /// Returns the number of operands that it adds before the operand that may be memory; the mask
    /// is the last of them.
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
    /// All conditions.
    const ALL: [Cc; 12] = [Cc::B, Cc::Ae, Cc::E, Cc::Ne, Cc::Be, Cc::A, Cc::P, Cc::Np, Cc::L, Cc::Ge, Cc::Le, Cc::G];

    /// Returns the opposite condition, whose number differs in the lowest bit.
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

/// Operation of an instruction. [`Inst::size`] gives the width of general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// An instruction of the table.
    Vex(Vex),
    /// result = a vector of zeros.
    Zero,
    /// result = a vector of ones.
    Ones,
    /// result = the mask of no lane.
    NoLanes,
    /// result = the mask of all lanes.
    AllLanes,
    /// result = a op rm.
    Alu(Alu),
    /// result = a op immediate.
    AluImm(Alu),
    /// Sets the flags of a & rm.
    Test,
    /// result = rm.
    Mov,
    /// result = the immediate, of 64 bits.
    MovImm,
    /// result = rm's low 8 bits with zeros above.
    Movzx8,
    /// result = rm's low 16 bits with zeros above.
    Movzx16,
    /// result = rm's low 8 bits, sign-extended.
    Movsx8,
    /// result = rm's low 16 bits, sign-extended.
    Movsx16,
    /// result = rm's low 32 bits, sign-extended.
    Movsx32,
    /// Stores the operand's low bytes: 1, 2, 4 or 8.
    Store(u8),
    /// Stores the immediate's low bytes.
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
    /// result = the operand's bytes in reverse order.
    Bswap,
    /// result = number of leading zeros.
    Lzcnt,
    /// result = number of trailing zeros.
    Tzcnt,
    /// result = number of ones.
    Popcnt,
    /// rdx = high half of the product of rax and an operand; the flag says whether it is signed.
    MulHigh(bool),
    /// rax and rdx = quotient and remainder of rax divided by an operand; the flag says whether it
    /// is signed. The divisor causes no fault.
    Div(bool),
    /// result = 1 if the condition holds, else 0.
    Set(Cc),
    /// result = rm if the condition holds, else a.
    Cmov(Cc),
    /// result = memory, to which the operand is added atomically; of 2, 4 or 8 bytes.
    LockXadd(u8),
    /// result = memory, which is replaced by the operand.
    Xchg(u8),
    /// rax = memory, which is replaced by the operand if it was equal to rax.
    LockCmpxchg(u8),
    /// memory = memory op operand, atomically.
    LockAlu(u8, Alu),
    /// rax = memory, which is replaced by the result of the operation on it and the operand.
    RmwLoop(u8, Loop),
    /// Defines the function's parameters.
    Params,
    /// Calls a function.
    Call,
    /// Calls a function on a path that is rarely taken; the registers that it would change are
    /// saved around it (`frame::SavedRegisters`).
    RareCall,
    /// Jumps to the first target.
    Jump,
    /// Jumps to the first target if the condition holds, else to the second.
    Branch(Cc),
    /// Jumps to the target that the index selects, or to the last target if the index is too large.
    Table,
    /// Returns to the caller.
    Return,
}

/// Operation of [`Op::RmwLoop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// An integer operation with the operand.
    Alu(Alu),
    /// The operand if the comparison with the old value holds, else the old value.
    Choose(Cc),
}

/// A memory operand without its registers, which are the instruction's last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mem {
    /// No memory operand: a register, or the place that register allocation chooses.
    None,
    /// base + index << scale + disp. Without a base it is relative to the frame.
    At {
        /// There is a base register.
        base: bool,
        /// There is an index register.
        index: bool,
        /// Shift of the index.
        scale: u8,
        /// Displacement in bytes.
        disp: i32,
    },
    /// A constant of the pool, and an offset in it.
    Pool(u32, u32),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// Operation.
    pub op: Op,
    /// Width.
    pub size: Size,
    /// Use of a mask beside the other operands.
    pub masked: Masked,
    /// The memory operand is one lane that is broadcast to all.
    pub broadcast: bool,
    /// The immediate.
    pub imm: i64,
    /// The memory operand.
    pub mem: Mem,
    /// Registers: the index of the first in [`Code::operands`], and their number.
    pub operands: (u32, u8),
}

/// A basic block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Instructions.
    pub insts: Vec<Inst>,
    /// Parameters.
    pub params: Vec<VReg>,
    /// Targets with the values of their parameters.
    pub targets: Vec<(usize, Vec<VReg>)>,
}

/// A function.
#[derive(Default)]
pub struct Code {
    /// Blocks; the first one is the entry.
    pub blocks: Vec<Block>,
    /// Indices of the blocks in the order of memory; the entry block is the first.
    pub order: Vec<usize>,
    /// Registers of all instructions.
    pub operands: Vec<Operand>,
    /// Number of virtual registers.
    pub vregs: usize,
    /// Constants.
    pub pool: Pool,
    /// Bytes of the frame that are known before register allocation.
    pub frame: u32,
    /// Largest alignment in the frame, as a power of two.
    pub align: u8,
    /// AVX-512 may be used.
    pub avx512: bool,
    /// The function has vectors of 512 bits.
    pub large: bool,
}

impl Code {
    /// Returns the registers of an instruction.
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
    /// Returns true if the operation ends a block.
    pub fn ends(self) -> bool {
        matches!(self, Op::Jump | Op::Branch(_) | Op::Table | Op::Return)
    }

    /// Returns the registers that the operation changes beside its results.
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
