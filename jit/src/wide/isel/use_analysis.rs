//! Facts about a function that are found before instruction selection: what is dead, what is made
//! where it is used, and the order of blocks.
//!
//! * A load that is used once, in its block, with no write in between, is made where it is used,
//!   because there it may become a memory operand.
//! * A comparison that only a branch or a selection uses is made there, so that only its flags are
//!   needed.
//! * A lane that is only stored is stored directly from its vector.
//! * With AVX-512, logic and the shifts of a rotation that only logic uses are made there, as are
//!   comparisons of lanes of a mask.
//! * A sum that is only used as an address becomes a memory operand of each access.

use super::logic::{is_logic, rotation};
use crate::lir::{Access, Block, Def, Effect, Elem, Function, Imm, Inst, InstData, Op, Target, Type, Value};
use cranelift_entity::SecondaryMap;
use std::collections::HashSet;

/// Facts about a function for instruction selection.
pub struct UseAnalysis {
    /// The [optional fast-path blocks](crate::lir::BlockData::fast_path) are included.
    with_fast_paths: bool,
    /// The reachable blocks in the order of memory.
    pub layout: Vec<Block>,
    /// The reachable blocks in an order where each comes after those that dominate it.
    pub order: Vec<Block>,
    /// Number of times that a value is an operand.
    pub uses: SecondaryMap<Value, u32>,
    /// Instructions whose results are not used.
    pub dead: SecondaryMap<Inst, bool>,
    /// Instructions that are made where their results are used.
    pub sunk: SecondaryMap<Inst, bool>,
}

impl UseAnalysis {
    /// Analyses a function that the verifier accepts, with or without optional fast-path blocks,
    /// for processors with or without AVX-512.
    pub fn analyze(lir: &Function, with_fast_paths: bool, avx512: bool) -> UseAnalysis {
        let mut use_analysis = UseAnalysis {
            with_fast_paths,
            layout: lir.blocks_in_order(with_fast_paths),
            order: order(lir, with_fast_paths),
            uses: SecondaryMap::new(),
            dead: SecondaryMap::new(),
            sunk: SecondaryMap::new(),
        };
        use_analysis.count(lir);
        use_analysis.addresses(lir);
        let mut last_uses = SecondaryMap::new();
        for &block in &use_analysis.order {
            find_sunk(
                lir,
                avx512,
                (block, use_analysis.insts(lir, block)),
                &use_analysis.uses,
                &use_analysis.dead,
                &mut last_uses,
                &mut use_analysis.sunk,
            );
        }
        use_analysis
    }

    /// Returns the targets of a block.
    pub fn targets<'a>(&self, lir: &'a Function, block: Block) -> &'a [Target] {
        lir.targets(block, self.with_fast_paths)
    }

    /// Returns true if a block always continues at the same target.
    pub fn jumps(&self, lir: &Function, block: Block) -> bool {
        let last = lir.blocks[block].insts.last().map(|&last| lir.insts[last].op);
        last == Some(Op::Jump) || last == Some(Op::Branch) && self.targets(lir, block).len() == 1
    }

    /// Returns a block's instructions without a branch that has only one target.
    fn insts<'a>(&self, lir: &'a Function, block: Block) -> &'a [Inst] {
        let all = &lir.blocks[block].insts[..];
        if self.jumps(lir, block) { &all[..all.len() - 1] } else { all }
    }

    /// Counts uses, without those by dead instructions.
    fn count(&mut self, lir: &Function) {
        for &block in &self.layout {
            let operands = self.insts(lir, block).iter().flat_map(|&i| &lir.insts[i].args);
            let passed = self.targets(lir, block).iter().flat_map(|t| &t.args);
            operands.chain(passed).for_each(|&v| self.uses[v] += 1);
        }
        let removable = |data: &InstData| matches!(data.op.row().effect, Effect::Pure | Effect::Read) && atomic(data);
        let mut todo: Vec<Inst> = self.layout.iter().flat_map(|&b| lir.blocks[b].insts.iter().copied()).collect();
        while let Some(inst) = todo.pop() {
            let data = &lir.insts[inst];
            if self.dead[inst] || !removable(data) || data.results().any(|v| self.uses[v] != 0) {
                continue;
            }
            self.dead[inst] = true;
            for &v in &data.args {
                self.uses[v] -= 1;
                if let (0, Def::Inst(inst)) = (self.uses[v], lir.values[v].def) {
                    todo.push(inst);
                }
            }
        }
    }

    /// Finds sums and stack addresses that are only used as addresses.
    fn addresses(&mut self, lir: &Function) {
        let mut homes: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
        let mut otherwise: SecondaryMap<Value, bool> = SecondaryMap::new();
        let mut elsewhere: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &block in &self.order {
            let data = &lir.blocks[block];
            data.insts.iter().for_each(|&i| lir.insts[i].results().for_each(|v| homes[v] = Some(block)));
        }
        for &block in self.order.iter().rev() {
            self.targets(lir, block).iter().flat_map(|t| &t.args).for_each(|&v| otherwise[v] = true);
            for &inst in self.insts(lir, block).iter().rev().filter(|&&i| !self.dead[i]) {
                let data = &lir.insts[inst];
                let constant = data.op == Op::Iadd && data.args.iter().any(|&v| small(lir, v));
                let sum = data.op == Op::Iadd && data.ty == Type::I64;
                let local = constant || !elsewhere[data.first];
                if (sum && local || data.op == Op::StackAddress) && !otherwise[data.first] {
                    self.sunk[inst] = true;
                }
                for (i, &v) in data.args.iter().enumerate() {
                    let address = i == 0 && addresses_memory(data.op) || constant && self.sunk[inst];
                    otherwise[v] |= !address;
                    // The sum is made where it is used, so its operand is used in another block if
                    // the sum is.
                    elsewhere[v] |= homes[v] != Some(block) || constant && elsewhere[data.first];
                }
            }
        }
    }
}

/// Returns true if the instruction is no atomic access.
fn atomic(data: &InstData) -> bool {
    !matches!(data.op, Op::AtomicLoad | Op::AtomicRmw | Op::AtomicCas)
}

/// Returns true if a value is a constant that fits a displacement.
pub fn small(lir: &Function, v: Value) -> bool {
    lir.constant(v).is_some_and(|bits| i32::try_from(bits as i64).is_ok())
}

/// Returns true if the operation's first operand is an address that becomes a memory operand.
fn addresses_memory(op: Op) -> bool {
    use Op::*;
    matches!(op, Load | LoadU8 | LoadU16 | Store | AtomicLoad | AtomicRmw | AtomicCas)
}

/// The last user of a value seen so far: its block, the number of writes before the place where it
/// is made, and its instruction.
#[derive(Clone, Copy)]
struct LastUse {
    block: Block,
    writes_before: u32,
    inst: Inst,
}

/// Decides which loads and comparisons of a block are made where they are used. Entries of
/// `last_uses` of other blocks are ignored, because a map for each block would be as large as the
/// function.
fn find_sunk(
    lir: &Function,
    avx512: bool,
    (block, insts): (Block, &[Inst]),
    uses: &SecondaryMap<Value, u32>,
    dead: &SecondaryMap<Inst, bool>,
    last_uses: &mut SecondaryMap<Value, Option<LastUse>>,
    sunk: &mut SecondaryMap<Inst, bool>,
) {
    // Number of writes before each instruction.
    let mut writes = 0u32;
    let before: Vec<u32> = insts
        .iter()
        .map(|&i| {
            let now = writes;
            writes += u32::from(matches!(lir.insts[i].op.row().effect, Effect::Write | Effect::Call));
            now
        })
        .collect();
    for (at, &inst) in insts.iter().enumerate().rev().filter(|(_, i)| !dead[**i]) {
        let data = &lir.insts[inst];
        let mut made = Some(before[at]);
        if let (1, Some(LastUse { block: _, writes_before, inst: user })) =
            (uses[data.first], last_uses[data.first].filter(|user| user.block == block))
        {
            let user = &lir.insts[user];
            let compares = match data.op {
                Op::Icmp | Op::Fcmp | Op::Any | Op::All => can_use_directly(lir, avx512, data, user),
                _ => false,
            };
            let logic = avx512
                && data.ty == user.ty
                && (is_logic(data) && is_logic(user)
                    || matches!(data.op, Op::Shl | Op::Lshr) && rotation(lir, user).is_some());
            let loads = matches!(data.imm, Imm::Access(Access { readonly, .. }) if readonly || writes_before == before[at])
                && data.op == Op::Load
                && data.ty.elem != Elem::B
                && matches!(user.op.row().effect, Effect::Pure | Effect::Control);
            let stored =
                data.op == Op::Extract && data.ty.elem != Elem::B && user.op == Op::Store && user.args[1] == data.first;
            if compares || loads || stored || logic {
                sunk[inst] = true;
                made = Some(writes_before);
            }
        }
        if sunk[inst] && matches!(data.op, Op::Iadd | Op::StackAddress) {
            // The address may be made in several places.
            made = None;
        }
        for &v in &data.args {
            let made = made.filter(|_| !matches!(lir.values[v].def, Def::Param(_)));
            last_uses[v] = made.map(|writes_before| LastUse { block, writes_before, inst });
        }
    }
}

/// Returns true if a comparison's user can take it directly: as flags, or as a mask of the
/// comparison's own width.
fn can_use_directly(lir: &Function, avx512: bool, data: &InstData, user: &InstData) -> bool {
    let v = data.first;
    match user.op {
        Op::And => {
            avx512 && user.ty.is_vector() && data.op != Op::Any && data.op != Op::All && data.ty.lane_bytes() == 4
        }
        Op::Branch => !lir.ty(v).is_vector(),
        Op::Select if user.args[0] != v => false,
        Op::Select if lir.ty(v).is_vector() => {
            data.ty.lane_bytes() == user.ty.lane_bytes() && !matches!(data.op, Op::Any | Op::All)
        }
        // Scalar floats are selected without flags, by a mask of their own width.
        Op::Select => true,
        _ => false,
    }
}

/// Returns the blocks in reverse postorder.
fn order(lir: &Function, with_fast_paths: bool) -> Vec<Block> {
    let Some(&entry) = lir.layout.first() else { return Vec::new() };
    let (mut out, mut seen, mut stack) = (Vec::new(), HashSet::from([entry]), vec![(entry, 0)]);
    while let Some((block, next)) = stack.last_mut() {
        match lir.targets(*block, with_fast_paths).get(*next) {
            Some(target) => {
                *next += 1;
                if seen.insert(target.block) {
                    stack.push((target.block, 0));
                }
            }
            None => {
                out.push(*block);
                stack.pop();
            }
        }
    }
    out.reverse();
    out
}
