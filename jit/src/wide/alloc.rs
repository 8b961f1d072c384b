//! Register allocation by regalloc2: adapts [`Code`] to its `Function` interface.

#![forbid(unsafe_code)]

use super::inst::{Code, Inst, MASKS, Op, SAVED, VECTORS, VEX_VECTORS, gpr, mask, vector};
use crate::error::{Error, Result};
use crate::regalloc_cost::{RegallocCost, ValueUses};
use regalloc2::{
    Algorithm, Block, Function, InstRange, MachineEnv, Operand, OperandKind, Output, PRegSet, RegAllocError, RegClass,
    RegallocOptions, VReg,
};
use std::sync::OnceLock;

/// Number of 8-byte units that a spilled vector takes, which is also its alignment: with vectors of
/// 512 bits, and without them.
const VECTOR_SLOTS: [usize; 2] = [8, 4];

/// The code, in the form that register allocation asks for.
pub struct RegallocInput<'a> {
    code: &'a Code,
    /// All instructions, block by block.
    insts: Vec<&'a Inst>,
    ranges: Vec<InstRange>,
    succs: Vec<Vec<Block>>,
    preds: Vec<Vec<Block>>,
}

impl<'a> RegallocInput<'a> {
    /// Numbers the instructions of a function and finds the predecessors and successors of its
    /// blocks.
    pub fn of(code: &'a Code) -> RegallocInput<'a> {
        let count = code.blocks.len();
        let (mut insts, mut ranges) = (Vec::new(), Vec::with_capacity(count));
        let mut succs = Vec::with_capacity(count);
        let mut preds = vec![Vec::new(); count];
        for (i, block) in code.blocks.iter().enumerate() {
            let first = regalloc2::Inst::new(insts.len());
            insts.extend(&block.insts);
            ranges.push(InstRange::new(first, regalloc2::Inst::new(insts.len())));
            block.targets.iter().for_each(|&(to, _)| preds[to].push(Block::new(i)));
            succs.push(block.targets.iter().map(|&(to, _)| Block::new(to)).collect());
        }
        RegallocInput { code, insts, ranges, succs, preds }
    }

    /// Returns an instruction by its number.
    pub fn inst(&self, number: regalloc2::Inst) -> &'a Inst {
        self.insts[number.index()]
    }
    /// Estimates the cost of register allocation.
    pub fn cost(&self) -> RegallocCost {
        let mut program = ValueUses { insts: self.insts.len(), ..ValueUses::default() };
        program.homes.resize(self.code.vregs, None);
        let mut number = 0;
        for (i, block) in (0u32..).zip(&self.code.blocks) {
            let first = number;
            block.params.iter().for_each(|p| program.homes[p.vreg()] = Some((i, first)));
            for inst in &block.insts {
                number += 1;
                for operand in self.code.operands(inst) {
                    let v = operand.vreg().vreg();
                    match operand.kind() {
                        OperandKind::Use => program.uses.push((v as u32, i, number)),
                        OperandKind::Def => program.homes[v] = Some((i, number)),
                    }
                }
            }
            let args = block.targets.iter().flat_map(|t| &t.1);
            program.uses.extend(args.map(|v| (v.vreg() as u32, i, number)));
            program.ranges.push((first, number));
            program.params.push(block.params.len() as u64);
        }
        program.preds = self.preds.iter().map(|p| p.iter().map(|b| b.index() as u32).collect()).collect();
        RegallocCost::estimate(program)
    }
    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.insts.len()
    }
}

impl Function for RegallocInput<'_> {
    fn num_insts(&self) -> usize {
        self.insts.len()
    }
    fn num_blocks(&self) -> usize {
        self.ranges.len()
    }
    fn entry_block(&self) -> Block {
        Block::new(0)
    }
    fn block_insns(&self, block: Block) -> InstRange {
        self.ranges[block.index()]
    }
    fn block_succs(&self, block: Block) -> &[Block] {
        &self.succs[block.index()]
    }
    fn block_preds(&self, block: Block) -> &[Block] {
        &self.preds[block.index()]
    }
    fn block_params(&self, block: Block) -> &[VReg] {
        &self.code.blocks[block.index()].params
    }
    fn is_ret(&self, inst: regalloc2::Inst) -> bool {
        self.inst(inst).op == Op::Return
    }
    fn is_branch(&self, inst: regalloc2::Inst) -> bool {
        let op = self.inst(inst).op;
        op.ends() && op != Op::Return
    }
    fn branch_blockparams(&self, block: Block, _: regalloc2::Inst, target: usize) -> &[VReg] {
        &self.code.blocks[block.index()].targets[target].1
    }
    fn inst_operands(&self, inst: regalloc2::Inst) -> &[Operand] {
        self.code.operands(self.inst(inst))
    }
    fn inst_clobbers(&self, inst: regalloc2::Inst) -> PRegSet {
        self.inst(inst).op.clobbers()
    }
    fn num_vregs(&self) -> usize {
        self.code.vregs
    }
    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == RegClass::Float { VECTOR_SLOTS[usize::from(!self.code.large)] } else { 1 }
    }
}

/// Returns the allocatable registers, without or with AVX-512: all but the stack pointer, the frame
/// pointer, and the mask register 0, which encodes "no mask".
fn environment(avx512: bool) -> &'static MachineEnv {
    static ENVIRONMENTS: [OnceLock<MachineEnv>; 2] = [const { OnceLock::new() }; 2];
    ENVIRONMENTS[usize::from(avx512)].get_or_init(|| {
        let saved: PRegSet = SAVED.into_iter().map(gpr).collect();
        let free: PRegSet = [0, 1, 2, 6, 7, 8, 9, 10, 11].into_iter().map(gpr).collect();
        // The first 16 vector registers come first, because their encoding is shorter.
        let vectors: PRegSet = (0..VEX_VECTORS).map(vector).collect();
        let (more, masks) = if avx512 { (VEX_VECTORS..VECTORS, 1..MASKS) } else { (0..0, 0..0) };
        MachineEnv {
            preferred_regs_by_class: [free, vectors, masks.map(mask).collect()],
            non_preferred_regs_by_class: [saved, more.map(vector).collect(), PRegSet::empty()],
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        }
    })
}

/// Allocates registers: carefully, which takes a time that [`crate::regalloc_cost::RegallocCost`]
/// bounds, or in one pass.
///
/// # Errors
/// Internal: the code is not a valid function.
pub fn allocate(flow: &RegallocInput<'_>, carefully: bool) -> Result<Output> {
    let algorithm = if carefully { Algorithm::Ion } else { Algorithm::Fastalloc };
    let options = RegallocOptions { verbose_log: false, validate_ssa: cfg!(debug_assertions), algorithm };
    regalloc2::run(flow, environment(flow.code.avx512), &options).map_err(failed)
}

/// Checks a result with regalloc2's own checker.
///
/// # Errors
/// Internal: the allocator or its input is wrong.
pub fn check(flow: &RegallocInput<'_>, output: &Output) -> Result<()> {
    let mut checker = regalloc2::checker::Checker::new(flow, environment(flow.code.avx512));
    checker.prepare(output);
    checker.run().map_err(|e| Error::internal(format!("{e:?}")))
}

fn failed(e: RegAllocError) -> Error {
    match e {
        RegAllocError::TooManyOperands => Error::limit("an instruction has too many operands"),
        e => Error::internal(format!("register allocation: {e:?}")),
    }
}
