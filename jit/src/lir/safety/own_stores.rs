//! Pointers that the function stores in its own memory: addresses of lanes in rows of the stack,
//! and values that live across barriers in scratch memory.

use super::conditions::ProofScope;
use super::definitions::LinearSum;
use super::prover::{Prover, Root, stores};
use super::stored_pointers::StoredPointers;
use crate::lir::{AccessReason, Block, Function, Imm, InstData, Op, Slot, Value};
use std::collections::HashSet;

/// A store and the bytes that it writes.
struct OwnStore {
    block: Block,
    at: u32,
    value: Value,
    bytes: i64,
    place: Place,
}

enum Place {
    /// A byte range of a stack slot.
    Stack(Slot, i64, i64),
    /// Scratch memory at an address that is a sum.
    Scratch(LinearSum),
    /// An unknown address.
    Unknown,
}

/// Stores of a function to its own memory.
#[derive(Default)]
struct OwnStores {
    stored: Vec<OwnStore>,
    /// Blocks and positions of calls.
    calls: Vec<(Block, u32)>,
}

/// Resolves the function's loads of addresses from its own memory.
pub fn stored_pointers(prover: &Prover<'_>) -> StoredPointers {
    let func = prover.shape().func;
    let kept = OwnStores::of(prover);
    let mut found = StoredPointers::default();
    for &block in &func.layout {
        for (i, &inst) in func.blocks[block].insts.iter().enumerate() {
            let data = &func.insts[inst];
            if data.op == Op::Load && data.ty == crate::lir::Type::I64 {
                found.set(inst, kept.find(prover, data, (block, i as u32)));
            }
        }
    }
    found
}

impl OwnStores {
    /// Collects the stores and calls of a function.
    fn of(prover: &Prover<'_>) -> OwnStores {
        let func = prover.shape().func;
        let mut kept = OwnStores::default();
        for (block, at, inst) in stores(func) {
            let data = &func.insts[inst];
            let Imm::Access(access) = data.imm else { continue };
            if !matches!(access.reason, AccessReason::Frame | AccessReason::Scratch) {
                continue;
            }
            let place = place(prover, data, block);
            kept.stored.push(OwnStore { block, at, value: data.args[1], bytes: data.ty.bytes().into(), place });
        }
        for &block in &func.layout {
            let insts = func.blocks[block].insts.iter().enumerate();
            kept.calls.extend(insts.filter(|(_, i)| func.insts[**i].op == Op::Call).map(|(i, _)| (block, i as u32)));
        }
        kept
    }

    fn find(&self, prover: &Prover<'_>, data: &InstData, here: (Block, u32)) -> Option<Vec<(Value, Block)>> {
        let Imm::Access(access) = data.imm else { return None };
        match (access.reason, place(prover, data, here.0)) {
            (AccessReason::Frame, Place::Stack(slot, from, to)) => self.stack_store(prover, (slot, from, to), here),
            (AccessReason::Scratch, Place::Scratch(terms)) => self.scratch_stores(prover, &terms),
            _ => None,
        }
    }

    /// Returns the store that covers bytes of a slot and is the last one before a load on every
    /// path.
    fn stack_store(
        &self,
        prover: &Prover<'_>,
        (slot, from, to): (Slot, i64, i64),
        here: (Block, u32),
    ) -> Option<Vec<(Value, Block)>> {
        let flow = &prover.flow;
        let before =
            |s: &OwnStore| s.block == here.0 && s.at < here.1 || s.block != here.0 && flow.dominates(s.block, here.0);
        let covers =
            |s: &&OwnStore| matches!(s.place, Place::Stack(other, a, b) if other == slot && a <= from && to <= b);
        let later = |a: &OwnStore, b: &OwnStore| {
            if a.block == b.block { a.at > b.at } else { flow.dominates(b.block, a.block) }
        };
        let last =
            self.stored.iter().filter(covers).filter(|s| before(s)).reduce(|a, b| if later(a, b) { a } else { b })?;
        // `reach` is the set of blocks from which the load is reachable without passing the store.
        let mut reach = HashSet::new();
        let mut todo = vec![here.0];
        while let Some(block) = todo.pop() {
            for &(pred, _) in flow.preds(block).iter().filter(|_| block != last.block) {
                if reach.insert(pred) {
                    todo.push(pred);
                }
            }
        }
        let between = |block: Block, at: u32| {
            if block == last.block {
                return at > last.at && (block != here.0 || at < here.1);
            }
            reach.contains(&block) || block == here.0 && at < here.1
        };
        let touches = |s: &OwnStore| match s.place {
            Place::Stack(other, a, b) => other == slot && a < to && from < b,
            Place::Unknown => true,
            Place::Scratch(_) => false,
        };
        let changed = self.stored.iter().any(|s| touches(s) && between(s.block, s.at) && !std::ptr::eq(s, last));
        let called = self.calls.iter().any(|&(block, at)| between(block, at));
        (!changed && !called).then(|| vec![(last.value, last.block)])
    }

    /// Returns all stores to an address in scratch memory. No other store may overlap them.
    fn scratch_stores(&self, prover: &Prover<'_>, terms: &LinearSum) -> Option<Vec<(Value, Block)>> {
        let mut out = Vec::new();
        let scope = |block| ProofScope::of(block);
        let entry = *prover.shape().func.layout.first()?;
        let own = prover.sum(&terms.without(pointer(prover, terms)?), &scope(entry))?;
        let own = (own.0 + i128::from(terms.plus), own.1 + i128::from(terms.plus) + 8);
        for s in &self.stored {
            let Place::Scratch(other) = &s.place else {
                if matches!(s.place, Place::Unknown) {
                    return None;
                }
                continue;
            };
            if other.list == terms.list {
                let apart = other.plus >= terms.plus + 8 || other.plus + s.bytes <= terms.plus;
                if other.plus == terms.plus && s.bytes == 8 {
                    out.push((s.value, s.block));
                } else if !apart {
                    return None;
                }
                continue;
            }
            let range = prover.sum(&other.without(pointer(prover, other)?), &scope(s.block))?;
            let plus = i128::from(other.plus);
            let (lo, hi) = (range.0 + plus, range.1 + plus + i128::from(s.bytes));
            if lo < own.1 && own.0 < hi {
                return None;
            }
        }
        (!out.is_empty()).then_some(out)
    }
}

fn pointer(prover: &Prover<'_>, terms: &LinearSum) -> Option<super::definitions::LaneValue> {
    Some(prover.root_of(terms)?.0)
}

/// Returns the bytes that an access to the function's own memory touches.
fn place(prover: &Prover<'_>, data: &InstData, block: Block) -> Place {
    let Imm::Access(access) = data.imm else { return Place::Unknown };
    let mut terms = prover.shape().terms((data.args[0], None));
    terms.plus += i64::from(access.offset);
    if access.reason == AccessReason::Scratch {
        return Place::Scratch(terms);
    }
    let Some((at, Root::Stack(slot))) = prover.root_of(&terms) else {
        return masked(prover, &terms).unwrap_or(Place::Unknown);
    };
    let first = match prover.shape().def(at).map(|data| data.imm) {
        Some(Imm::Slot(_, offset)) => i64::from(offset),
        _ => return Place::Unknown,
    };
    let rest = terms.without(at);
    match prover.sum(&rest, &ProofScope::of(block)) {
        Some((lo, hi)) => {
            let place = |n: i128| i64::try_from(n).ok()?.checked_add(rest.plus)?.checked_add(first);
            match (place(lo), place(hi)) {
                (Some(lo), Some(hi)) => Place::Stack(slot, lo, hi + i64::from(data.ty.bytes())),
                _ => Place::Unknown,
            }
        }
        None => Place::Unknown,
    }
}

/// Returns the whole slot for an address that is derived from an aligned address of a slot.
fn masked(prover: &Prover<'_>, terms: &LinearSum) -> Option<Place> {
    let func: &Function = prover.shape().func;
    let slot = terms.list.iter().find_map(|&(at, _)| {
        let parts = prover.shape().operands_of(at, Op::And)?;
        match prover.root_of(&prover.shape().terms(parts[0]))?.1 {
            Root::Stack(slot) => Some(slot),
            _ => None,
        }
    })?;
    Some(Place::Stack(slot, 0, func.slots[slot].bytes.into()))
}
