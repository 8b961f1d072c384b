//! What lives across calls that are rare: it is stored before, and loaded behind.
//!
//! A function that is called keeps no vector and no mask, and few general registers. Register allocation, which must put all that lives across a call elsewhere, does so on
//! the way that is mostly taken too. To it, a call on a way that is rarely taken changes no register; here is found which ones it has to keep.

#![forbid(unsafe_code)]

use super::alloc::Flow;
use super::inst::{Code, Op};
use regalloc2::{Allocation, Block, Edit, Function, Inst, InstOrEdit, OperandKind, Output, PReg, RegClass, SpillSlot};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Registers that a call has to keep, each with where it is meanwhile.
type List = SmallVec<[(Allocation, Allocation); 16]>;

/// Of each rare call.
#[derive(Default)]
pub struct Kept {
    calls: HashMap<Inst, List>,
    /// Slots of 8 bytes that they and what register allocation has stored take.
    slots: usize,
}

/// Registers, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Set(u64);

impl Set {
    fn of(preg: PReg) -> Set {
        let first = match preg.class() {
            RegClass::Int => 0,
            RegClass::Float => 16,
            RegClass::Vector => 48,
        };
        Set(1 << (first + preg.hw_enc()))
    }
    fn with(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }
    fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }
    fn has(self, preg: PReg) -> bool {
        self.0 & Set::of(preg).0 != 0
    }
}

/// What is read before it is written, and what is written.
#[derive(Clone, Copy, Default)]
struct Summary {
    read: Set,
    written: Set,
}

impl Summary {
    /// With what comes before.
    fn behind(self, first: Summary) -> Summary {
        Summary { read: first.read.with(self.read.without(first.written)), written: self.written.with(first.written) }
    }
    fn live_before(self, behind: Set) -> Set {
        self.read.with(behind.without(self.written))
    }
}

fn set(allocation: Allocation) -> Set {
    allocation.as_reg().map_or(Set::default(), Set::of)
}

fn summary(flow: &Flow<'_>, output: &Output, item: &InstOrEdit<'_>) -> Summary {
    let mut all = Summary::default();
    match *item {
        InstOrEdit::Edit(&Edit::Move { from, to }) => (all.read, all.written) = (set(from), set(to)),
        InstOrEdit::Inst(inst) => {
            for (operand, &allocation) in flow.inst_operands(inst).iter().zip(output.inst_allocs(inst)) {
                let own = match operand.kind() {
                    OperandKind::Use => &mut all.read,
                    OperandKind::Def => &mut all.written,
                };
                *own = own.with(set(allocation));
            }
            all.written = flow.inst_clobbers(inst).into_iter().map(Set::of).fold(all.written, Set::with);
        }
    }
    all
}

impl Kept {
    /// Of all rare calls of a function.
    pub fn of(code: &Code, flow: &Flow<'_>, output: &Output) -> Kept {
        let mut kept = Kept { slots: output.num_spillslots, ..Kept::default() };
        let has_some = |block: &super::inst::Block| block.insts.iter().any(|inst| inst.op == Op::RareCall);
        if !code.blocks.iter().any(has_some) {
            return kept;
        }
        let live = live_behind(flow, output);
        for (i, _) in code.blocks.iter().enumerate().filter(|(_, block)| has_some(block)) {
            let mut live = live[i];
            let items: Vec<InstOrEdit<'_>> = output.block_insts_and_edits(flow, Block::new(i)).collect();
            for item in items.iter().rev() {
                match *item {
                    InstOrEdit::Inst(inst) if flow.inst(inst).op == Op::RareCall => kept.add(inst, live, flow, output),
                    _ => {}
                }
                live = summary(flow, output, item).live_before(live);
            }
        }
        kept
    }

    /// A call, behind which so much lives.
    fn add(&mut self, call: Inst, live: Set, flow: &Flow<'_>, output: &Output) {
        let mut slot = output.num_spillslots;
        let mut list = List::new();
        for preg in Op::Call.clobbers().into_iter().filter(|&preg| live.has(preg)) {
            let size = flow.spillslot_size(preg.class());
            slot = slot.next_multiple_of(size);
            list.push((Allocation::reg(preg), Allocation::stack(SpillSlot::new(slot))));
            slot += size;
        }
        self.slots = self.slots.max(slot);
        self.calls.insert(call, list);
    }

    /// Slots of the frame.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// What a call has to keep, and where.
    pub fn by(&self, call: Inst) -> &[(Allocation, Allocation)] {
        self.calls.get(&call).map_or(&[], |list| list)
    }
}

/// What lives behind each block.
fn live_behind(flow: &Flow<'_>, output: &Output) -> Vec<Set> {
    let count = flow.num_blocks();
    let whole = |i: usize| {
        let items = output.block_insts_and_edits(flow, Block::new(i));
        items.map(|item| summary(flow, output, &item)).fold(Summary::default(), |first, next| next.behind(first))
    };
    let blocks: Vec<Summary> = (0..count).map(whole).collect();
    let mut live = vec![Set::default(); count];
    let mut left: Vec<usize> = (0..count).collect();
    let mut waits = vec![true; count];
    while let Some(i) = left.pop() {
        waits[i] = false;
        let before = blocks[i].live_before(live[i]);
        for &pred in flow.block_preds(Block::new(i)) {
            let pred = pred.index();
            let more = live[pred].with(before);
            if more != live[pred] {
                live[pred] = more;
                if !std::mem::replace(&mut waits[pred], true) {
                    left.push(pred);
                }
            }
        }
    }
    live
}
