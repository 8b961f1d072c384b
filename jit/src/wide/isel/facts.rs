//! What is known of a function before its instructions are selected: what is dead, what is made where it is used, and the order of blocks.
//!
//! * A load that is used once, in its block, with no write in between, is made where it is used: there it may become a memory operand.
//! * A comparison that only a branch or a selection asks for is made there: flags are all that is left of it.
//! * A lane that is only stored is stored from its vector.
//! * With AVX-512, logic and the shifts of a rotation that only logic asks for are made there, as are comparisons of lanes of a mask.
//! * A sum that is only an address becomes one in each access.

use super::logic::{is_logic, rotation};
use crate::lir::{Access, Block, Def, Effect, Elem, Function, Imm, Inst, InstData, Op, Type, Value};
use cranelift_entity::SecondaryMap;
use std::collections::HashSet;

/// See the module.
pub struct Facts {
    /// Blocks, each behind those that dominate it.
    pub order: Vec<Block>,
    /// How often a value is an operand.
    pub uses: SecondaryMap<Value, u32>,
    /// Nobody wants what it makes.
    pub dead: SecondaryMap<Inst, bool>,
    /// It is made where it is used.
    pub later: SecondaryMap<Inst, bool>,
}

impl Facts {
    /// Of a function that verification accepts.
    pub fn of(lir: &Function, avx512: bool) -> Facts {
        let mut facts = Facts {
            order: order(lir),
            uses: SecondaryMap::new(),
            dead: SecondaryMap::new(),
            later: SecondaryMap::new(),
        };
        facts.count(lir);
        facts.addresses(lir);
        facts.order.iter().for_each(|&block| later(lir, avx512, block, &facts.uses, &facts.dead, &mut facts.later));
        facts
    }

    /// Uses, without those of what is dead.
    fn count(&mut self, lir: &Function) {
        for block in lir.layout.iter().map(|&b| &lir.blocks[b]) {
            let operands = block.insts.iter().flat_map(|&i| &lir.insts[i].args);
            operands.chain(block.targets.iter().flat_map(|t| &t.args)).for_each(|&v| self.uses[v] += 1);
        }
        let removable = |data: &InstData| matches!(data.op.row().effect, Effect::Pure | Effect::Read) && atomic(data);
        let mut todo: Vec<Inst> = lir.layout.iter().flat_map(|&b| lir.blocks[b].insts.iter().copied()).collect();
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

    /// Sums and places on the stack that are only addresses.
    fn addresses(&mut self, lir: &Function) {
        let mut homes: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
        let mut otherwise: SecondaryMap<Value, bool> = SecondaryMap::new();
        let mut elsewhere: SecondaryMap<Value, bool> = SecondaryMap::new();
        for &block in &self.order {
            let data = &lir.blocks[block];
            data.insts.iter().for_each(|&i| lir.insts[i].results().for_each(|v| homes[v] = Some(block)));
        }
        for &block in self.order.iter().rev() {
            let data = &lir.blocks[block];
            data.targets.iter().flat_map(|t| &t.args).for_each(|&v| otherwise[v] = true);
            for &inst in data.insts.iter().rev().filter(|&&i| !self.dead[i]) {
                let data = &lir.insts[inst];
                let constant = data.op == Op::Iadd && data.args.iter().any(|&v| small(lir, v));
                let sum = data.op == Op::Iadd && data.ty == Type::I64;
                let local = constant || !elsewhere[data.first];
                if (sum && local || data.op == Op::StackAddress) && !otherwise[data.first] {
                    self.later[inst] = true;
                }
                for (i, &v) in data.args.iter().enumerate() {
                    let address = i == 0 && addresses_memory(data.op) || constant && self.later[inst];
                    otherwise[v] |= !address;
                    // The sum is made where it is used.
                    elsewhere[v] |= homes[v] != Some(block) || constant && elsewhere[data.first];
                }
            }
        }
    }
}

/// No atomic access.
fn atomic(data: &InstData) -> bool {
    !matches!(data.op, Op::AtomicLoad | Op::AtomicRmw | Op::AtomicCas)
}

/// A constant that may be a displacement.
pub fn small(lir: &Function, v: Value) -> bool {
    lir.constant(v).is_some_and(|bits| i32::try_from(bits as i64).is_ok())
}

/// Is the first operand an address that becomes a memory operand?
fn addresses_memory(op: Op) -> bool {
    use Op::*;
    matches!(op, Load | LoadU8 | LoadU16 | Store | AtomicLoad | AtomicRmw | AtomicCas)
}

/// Decides of a block's loads and comparisons.
fn later(
    lir: &Function,
    avx512: bool,
    block: Block,
    uses: &SecondaryMap<Value, u32>,
    dead: &SecondaryMap<Inst, bool>,
    later: &mut SecondaryMap<Inst, bool>,
) {
    let insts = &lir.blocks[block].insts;
    // Writes before each instruction.
    let mut writes = 0u32;
    let before: Vec<u32> = insts
        .iter()
        .map(|&i| {
            let now = writes;
            writes += u32::from(matches!(lir.insts[i].op.row().effect, Effect::Write | Effect::Call));
            now
        })
        .collect();
    // By value: where its only user is made, and who that is.
    let mut users: SecondaryMap<Value, Option<(u32, Inst)>> = SecondaryMap::new();
    for (at, &inst) in insts.iter().enumerate().rev().filter(|(_, i)| !dead[**i]) {
        let data = &lir.insts[inst];
        let mut made = Some(before[at]);
        if let (1, Some((there, user))) = (uses[data.first], users[data.first]) {
            let user = &lir.insts[user];
            let compares = match data.op {
                Op::Icmp | Op::Fcmp | Op::Any | Op::All => asks(lir, avx512, data, user),
                _ => false,
            };
            let logic = avx512
                && data.ty == user.ty
                && (is_logic(data) && is_logic(user)
                    || matches!(data.op, Op::Shl | Op::Lshr) && rotation(lir, user).is_some());
            let loads = matches!(data.imm, Imm::Access(Access { readonly, .. }) if readonly || there == before[at])
                && data.op == Op::Load
                && data.ty.elem != Elem::B
                && matches!(user.op.row().effect, Effect::Pure | Effect::Control);
            let stored =
                data.op == Op::Extract && data.ty.elem != Elem::B && user.op == Op::Store && user.args[1] == data.first;
            if compares || loads || stored || logic {
                later[inst] = true;
                made = Some(there);
            }
        }
        if later[inst] && matches!(data.op, Op::Iadd | Op::StackAddress) {
            // It may be made in several places.
            made = None;
        }
        for &v in &data.args {
            users[v] = made.filter(|_| !matches!(lir.values[v].def, Def::Param(_))).map(|made| (made, inst));
        }
    }
}

/// Is a comparison used as one: as flags, or as a mask of the width that it has?
fn asks(lir: &Function, avx512: bool, data: &InstData, user: &InstData) -> bool {
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
        // Where floats are chosen without flags, by a mask of their own width.
        Op::Select => true,
        _ => false,
    }
}

/// Reverse postorder.
fn order(lir: &Function) -> Vec<Block> {
    let Some(&entry) = lir.layout.first() else { return Vec::new() };
    let (mut out, mut seen, mut stack) = (Vec::new(), HashSet::from([entry]), vec![(entry, 0)]);
    while let Some((block, next)) = stack.last_mut() {
        match lir.blocks[*block].targets.get(*next) {
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
