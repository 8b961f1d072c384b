//! Instruction selection from LIR to [`Code`].
//!
//! A vector is in as many vector registers as its bytes fill, of 32 bytes each, or of 64 with
//! AVX-512. A vector of 16 or fewer bytes is in the low lanes of one register, and the lanes beside
//! it are undefined. A mask is 32-bit words of zeros or ones, whatever it was compared from. With
//! AVX-512 it is in a mask register for each register that its words would fill, and bits above its
//! lanes are undefined (`masks.rs`). Numbers of 8, 16 and 32 bits, halves and truth values are in
//! general registers, floats in vector registers. The bits of a general register above its number
//! are undefined, except that those above 32 bits are zeros where [`InstructionSelector::is_clean`]
//! returns true. A truth value is 0 or 1 as a whole register of 32 bits.
//!
//! Blocks are visited in an order that defines values before their uses; [`UseAnalysis`] determines
//! which instructions are made where they are used. Constants are memory operands or are made where
//! they are used, so that none occupies a register for long.
//!
//! The selection has layers. A layer calls itself and those below only:
//!
//! * this file walks the blocks and dispatches operations;
//! * each family of operations has a file, from `masks`, which uses most others, to `lanes`;
//! * `values` gives the registers and memory operands of values;
//! * `builder` and `lane_width` make instructions from registers. They know no values.
//!
//! An operation that is made where it is used is selected by `values`. It is the only call up,
//! and goes through a function that this file passes down ([`InstructionSelector::pure`]).

mod alu;
mod bits;
mod builder;
mod compare;
mod convert;
mod divide;
mod float;
mod lane_width;
mod lanes;
mod logic;
mod masks;
mod memory;
mod permute;
mod scalar;
mod shift;
mod shuffle;
mod use_analysis;
mod values;

use super::VectorLevel;
use super::inst::{Block, Code, Inst, Op as M};
use crate::error::{Error, Result};
use crate::lir::{self, Effect, Elem, InstData, Op, Type};
use base::hash::WordMap;
use builder::InstructionBuilder;
use cranelift_entity::SecondaryMap;
use regalloc2::{Operand, VReg};
use smallvec::{SmallVec, smallvec};
use use_analysis::UseAnalysis;

/// The registers of a value.
type Parts = SmallVec<[VReg; 4]>;

/// An operand that may be memory.
#[derive(Clone, Copy, Debug)]
enum Rm {
    Reg(VReg),
    /// base + index << scale + disp; without a base in the frame.
    At {
        base: Option<VReg>,
        index: Option<(VReg, u8)>,
        disp: i32,
    },
    /// A constant in the pool, and an offset in it.
    Pool(u32, u32),
    /// A constant that repeats the same 8 bytes.
    Repeated(u64),
}

impl From<VReg> for Rm {
    fn from(v: VReg) -> Rm {
        Rm::Reg(v)
    }
}

impl Rm {
    /// Moves a memory operand forward by a number of bytes.
    fn plus(self, bytes: usize) -> Rm {
        match self {
            Rm::At { base, index, disp } => Rm::At { base, index, disp: disp + bytes as i32 },
            Rm::Pool(number, offset) => Rm::Pool(number, offset + bytes as u32),
            Rm::Reg(_) | Rm::Repeated(_) => self,
        }
    }
}

/// Bytes of the largest register, and of a 128-bit lane.
const MAX_REGISTER_BYTES: usize = 64;
const QUARTER: usize = 16;

/// Returns true if values of a type are in vector registers.
fn in_vector(ty: Type) -> bool {
    ty.is_vector() || matches!(ty.elem, Elem::F32 | Elem::F64)
}

/// Returns the error for an instruction that verification should have refused.
fn malformed(data: &InstData) -> Error {
    Error::internal(format!("a malformed {}", data.op.row().name))
}

/// State of the selection for one function.
struct InstructionSelector<'a> {
    lir: &'a lir::Function,
    b: InstructionBuilder,
    /// Registers will be allocated carefully.
    optimise: bool,
    use_analysis: UseAnalysis,
    parts: SecondaryMap<lir::Value, Parts>,
    /// Offsets of the stack slots in the frame.
    slots: Vec<i32>,
    /// Buffers for the lookup of lanes by number: offset and bytes, of values and of numbers.
    buffers: [Option<(i32, u32)>; 2],
    /// The current block is rarely run.
    rare: bool,
    /// Selects an operation without effects that is made where it is used.
    pure: fn(&mut InstructionSelector<'a>, &InstData) -> Result<Parts>,
}

/// A block's instructions, and the edges out of it.
#[derive(Clone, Default)]
struct SelectedBlock {
    insts: Vec<Inst>,
    /// Arguments of a jump.
    args: Vec<VReg>,
    /// Edges by target that need a block of their own.
    edges: Vec<Option<SplitEdge>>,
}

/// A block on an edge between two others, which holds the moves of the edge's arguments.
#[derive(Clone)]
struct SplitEdge {
    insts: Vec<Inst>,
    args: Vec<VReg>,
    to: lir::Block,
}

/// Bytes reserved for arguments of calls.
const ARGUMENT_BYTES: u32 = 64;

/// Selects instructions for a function that [`lir::verify`] accepts. If it is not to be optimised,
/// its [optional fast-path blocks](lir::BlockData::fast_path) are omitted.
///
/// # Errors
/// Internal: the function is malformed.
pub fn select(lir: &lir::Function, level: VectorLevel, optimise: bool) -> Result<Code> {
    let avx512 = level == VectorLevel::Avx512;
    let mut lower = InstructionSelector {
        lir,
        b: InstructionBuilder::new(avx512, ARGUMENT_BYTES),
        optimise,
        use_analysis: UseAnalysis::analyze(lir, optimise, avx512),
        parts: SecondaryMap::new(),
        slots: Vec::new(),
        buffers: [None; 2],
        rare: false,
        pure: InstructionSelector::pure,
    };
    lower.parts.resize(lir.values.len());
    for slot in lir.slots.values() {
        let offset = lower.b.reserve(slot.bytes, slot.align)?;
        lower.slots.push(offset);
    }
    lower.blocks()?;
    Ok(lower.b.code)
}

impl InstructionSelector<'_> {
    fn blocks(&mut self) -> Result<()> {
        let lir = self.lir;
        for block in self.use_analysis.order.clone() {
            for &param in &lir.blocks[block].params {
                let ty = lir.ty(param);
                let class = self.b.class(ty);
                let parts = (0..self.b.part_count(ty)).map(|_| self.b.new_reg(class)).collect();
                self.parts[param] = parts;
            }
        }
        let mut comes: SecondaryMap<lir::Block, u32> = SecondaryMap::new();
        self.use_analysis
            .layout
            .iter()
            .flat_map(|&b| self.use_analysis.targets(lir, b))
            .for_each(|t| comes[t.block] += 1);
        let mut selected: SecondaryMap<lir::Block, SelectedBlock> = SecondaryMap::new();
        for block in self.use_analysis.order.clone() {
            selected[block] = self.block(block, &comes)?;
        }
        self.place(selected)
    }

    /// Orders the blocks, each followed by the edges out of it. Rarely run blocks come last in
    /// memory. Careful allocation needs block numbers in this order too, so that no rarely run
    /// block lies between others. Allocation in one pass needs an order that defines values before
    /// their uses.
    fn place(&mut self, mut selected: SecondaryMap<lir::Block, SelectedBlock>) -> Result<()> {
        let lir = self.lir;
        let is_cold = |b: lir::Block| lir.blocks[b].cold && b != lir.layout[0];
        let mut places: Vec<(lir::Block, Option<usize>)> = Vec::new();
        let mut cold = Vec::new();
        for &block in if self.optimise { &self.use_analysis.layout } else { &self.use_analysis.order } {
            places.push((block, None));
            cold.push(is_cold(block));
            for (i, edge) in selected[block].edges.iter().enumerate().filter_map(|(i, e)| Some((i, e.as_ref()?))) {
                places.push((block, Some(i)));
                cold.push(is_cold(block) || is_cold(edge.to));
            }
        }
        let memory: Vec<usize> =
            (0..cold.len()).filter(|&i| !cold[i]).chain((0..cold.len()).filter(|&i| cold[i])).collect();
        if self.optimise {
            places = memory.iter().map(|&i| places[i]).collect();
            self.b.code.order = (0..places.len()).collect();
        } else {
            self.b.code.order = memory;
        }
        let numbers: WordMap<_, usize> = places.iter().enumerate().map(|(i, &place)| (place, i)).collect();
        for &(block, edge) in &places {
            let placed = match edge {
                Some(edge) => {
                    let edge = selected[block].edges[edge].clone();
                    let SplitEdge { insts, args, to } = edge.ok_or_else(|| Error::internal("an edge is gone"))?;
                    Block { insts, params: Vec::new(), targets: vec![(numbers[&(to, None)], args)] }
                }
                None => {
                    let SelectedBlock { insts, args, edges } = &mut selected[block];
                    let target = |(i, target): (usize, &lir::Target)| match &edges[i] {
                        Some(_) => (numbers[&(block, Some(i))], Vec::new()),
                        None => (numbers[&(target.block, None)], args.clone()),
                    };
                    let targets = self.use_analysis.targets(lir, block).iter().enumerate().map(target).collect();
                    let params = if block == lir.layout[0] { &[][..] } else { &lir.blocks[block].params };
                    Block { insts: std::mem::take(insts), params: self.values(params), targets }
                }
            };
            self.b.code.blocks.push(placed);
        }
        Ok(())
    }

    /// Returns the registers of values that have some.
    fn values(&self, values: &[lir::Value]) -> Vec<VReg> {
        values.iter().flat_map(|&v| self.parts[v].iter().copied()).collect()
    }

    /// Selects the instructions of a block and of the edges out of it that need a block of their
    /// own.
    fn block(&mut self, block: lir::Block, comes: &SecondaryMap<lir::Block, u32>) -> Result<SelectedBlock> {
        let lir = self.lir;
        let data = &lir.blocks[block];
        self.b.begin_block();
        self.rare = data.cold && block != lir.layout[0];
        if block == lir.layout[0] {
            self.function_params(&data.params)?;
        }
        let (&last, insts) = data.insts.split_last().ok_or_else(|| Error::internal("a block without end"))?;
        for &inst in insts {
            if !self.use_analysis.dead[inst] && !self.use_analysis.sunk[inst] {
                self.inst(&lir.insts[inst])?;
            }
        }
        let (targets, jumps) = (self.use_analysis.targets(lir, block), self.use_analysis.jumps(lir, block));
        // Constants that are arguments are made before the jump.
        let args = if jumps { self.arguments(&targets[0].args) } else { Vec::new() };
        match jumps {
            true => self.b.push(M::Jump, false, 0, &[], None),
            false => self.end(&lir.insts[last], targets.len())?,
        }
        let insts = self.b.take_insts();
        let mut edges = Vec::new();
        for target in targets {
            if jumps || target.args.is_empty() && comes[target.block] == 1 {
                edges.push(None);
                continue;
            }
            self.b.begin_block();
            let args = self.arguments(&target.args);
            self.b.push(M::Jump, false, 0, &[], None);
            edges.push(Some(SplitEdge { insts: self.b.take_insts(), args, to: target.block }));
        }
        Ok(SelectedBlock { insts, args, edges })
    }

    /// Returns the registers of an edge's arguments; makes constants here.
    fn arguments(&mut self, values: &[lir::Value]) -> Vec<VReg> {
        let mut out = Vec::new();
        for &v in values {
            for i in 0..self.b.part_count(self.lir.ty(v)) {
                out.push(self.reg(v, i));
            }
        }
        out
    }

    fn function_params(&mut self, params: &[lir::Value]) -> Result<()> {
        let registers = super::inst::ARGUMENTS.map(super::inst::gpr);
        let mut operands = Vec::new();
        for (i, &param) in params.iter().enumerate() {
            let register = registers.get(i).filter(|_| !in_vector(self.lir.ty(param)));
            let register = *register.ok_or_else(|| Error::internal("a function's parameter is no integer"))?;
            operands.push(Operand::reg_fixed_def(self.parts[param][0], register));
        }
        self.b.push(M::Params, false, 0, &operands, None);
        Ok(())
    }

    fn end(&mut self, data: &InstData, targets: usize) -> Result<()> {
        match (data.op, targets) {
            (Op::Branch, 2) => {
                let cc = self.condition(data.args[0]);
                self.b.push(M::Branch(cc), false, 0, &[], None);
            }
            (Op::BranchTable, 1..) => {
                let index = self.reg(data.args[0], 0);
                let temps = [0, 1].map(|_| self.b.new_int());
                let operands = [Operand::reg_use(index), Operand::reg_temp(temps[0]), Operand::reg_temp(temps[1])];
                self.b.push(M::Table, false, 0, &operands, None);
            }
            (Op::Return, 0) => self.b.push(M::Return, false, 0, &[], None),
            _ => return Err(malformed(data)),
        }
        Ok(())
    }

    /// Selects an instruction that does not end its block.
    fn inst(&mut self, data: &InstData) -> Result<()> {
        if data.op.row().effect != Effect::Pure {
            return self.access(data);
        }
        let parts = self.pure(data)?;
        debug_assert_eq!(parts.len(), self.b.part_count(self.lir.ty(data.first)), "{:?} of {}", data.op, data.ty);
        self.parts[data.first] = parts;
        Ok(())
    }

    fn pure(&mut self, data: &InstData) -> Result<Parts> {
        use Op::*;
        let vector = data.ty.is_vector();
        if self.b.in_masks(data.ty) {
            return self.mask_operation(data);
        }
        match data.op {
            Icmp | Fcmp => Ok(self.comparison(data)),
            Select => Ok(self.select(data)),
            Any | All => {
                let cc = self.flags_of(data);
                Ok(smallvec![self.b.truth(cc)])
            }
            Fadd | Fsub | Fmul | Fdiv | Fma | Fneg | Fabs | Sqrt | Floor | Ceil | Trunc | Nearest => {
                Ok(self.float(data))
            }
            Iadd | Isub | Imul | Ineg | And | Or | Xor | AndNot | Not | Smin | Smax | Umin | Umax | SmulHigh
            | UmulHigh | Shl | Lshr | Ashr | Clz | Ctz | Popcnt | BitReverse | Sdiv | Udiv | Srem | Urem
                if !vector =>
            {
                Ok(smallvec![self.scalar_int(data)])
            }
            Iadd | Isub | Imul | Ineg | And | Or | Xor | AndNot | Not | Smin | Smax | Umin | Umax | SmulHigh
            | UmulHigh => Ok(self.alu(data)),
            Sdiv | Udiv | Srem | Urem => Ok(self.divide(data)),
            Shl | Lshr | Ashr | ShlV | LshrV | AshrV => Ok(self.shift(data)),
            Clz | Ctz | Popcnt | BitReverse => Ok(self.bits(data)),
            Sext | Zext | Narrow | Fwiden | Fnarrow | HalfToFloat | FloatToHalf | SintToFloat | UintToFloat
            | FloatToSint | FloatToUint | Bitcast => self.convert(data),
            Splat | Extract | Insert | Build | MaskBits | BitsMask => self.lanes(data),
            Shuffle => self.shuffle(data),
            ExtractAt | Permute => self.permute(data),
            StackAddress => Ok(smallvec![self.stack_address(data)?]),
            Load | LoadU8 | LoadU16 | Store | Gather | Scatter | AtomicRmw | AtomicCas | AtomicLoad | Fence | Call
            | Jump | Branch | BranchTable | Return => Err(malformed(data)),
        }
    }
}
