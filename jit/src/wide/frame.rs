//! The stack frame of a function. From rsp up it has arguments of calls, the program's slots, lanes
//! that are looked up by number ([`super::inst::Code::frame`]), spilled registers, and registers
//! saved across rare calls. Above that, behind rbp, are the registers that the caller expects
//! unchanged.

#![forbid(unsafe_code)]

use super::alloc::RegallocInput;
use super::inst::{self, Code, Op, SAVED, Size};
use regalloc2::{Allocation, Block, Edit, Function, Inst, InstOrEdit, OperandKind, Output, PReg, RegClass, SpillSlot};

/// The layout of a function's stack frame.
pub struct Frame {
    /// Number of bytes from rsp to the saved registers.
    pub bytes: u32,
    /// Alignment of rsp, as a power of two.
    pub align: u8,
    /// Callee-saved registers that the function has to save.
    pub saved: Vec<u8>,
    /// Size of vectors that are moved as a whole.
    pub size: Size,
    spills: u32,
}

/// Bytes of the return address and the caller's rbp.
const HEAD: u32 = 16;

impl Frame {
    /// Lays out the frame of a function with its registers; returns `None` if it is too large to be
    /// addressed.
    pub fn of(code: &Code, flow: &RegallocInput<'_>, output: &Output, kept: &SavedRegisters) -> Option<Frame> {
        let size = if code.large { Size::W512 } else { Size::W256 };
        let align = code.align.max(size.bytes().trailing_zeros() as u8);
        let spills = code.frame.checked_next_multiple_of(size.bytes() as u32)?;
        let slots = u32::try_from(kept.slots()).ok()?.checked_mul(8)?;
        let bytes = spills.checked_add(slots)?.checked_next_multiple_of(1 << align)?;
        let mut used = [false; 16];
        let clobbered = (0..flow.len()).flat_map(|i| flow.inst(Inst::new(i)).op.clobbers());
        let moved = output.edits.iter().flat_map(|(_, Edit::Move { from, to })| [*from, *to]);
        let allocated = output.allocs.iter().copied().chain(moved).filter_map(|a| a.as_reg());
        for preg in clobbered.chain(allocated).filter(|p| p.class() == RegClass::Int) {
            used[preg.hw_enc()] = true;
        }
        let saved = SAVED.into_iter().filter(|&r| used[usize::from(r)]).collect();
        i32::try_from(bytes).ok()?;
        Some(Frame { bytes, align, saved, size, spills })
    }

    /// Returns the offset of a spilled register.
    pub fn spill(&self, slot: SpillSlot) -> i32 {
        self.spills as i32 + 8 * slot.index() as i32
    }

    /// Returns the number of bytes of stack that the function takes, including its return address.
    pub fn total(&self) -> u32 {
        self.bytes + (1 << self.align) + 8 * self.saved.len() as u32 + HEAD
    }
}

// Rare calls: a called function preserves no vector and no mask, and few general registers.
// Register allocation would move all values that live across a call elsewhere, also on the usual
// path. For register allocation, a call on a rare path therefore changes no register; the code
// below finds which registers such a call has to save.

/// Registers that a call has to save, each with the place that keeps its value meanwhile.
type List = Vec<(Allocation, Allocation)>;

/// Registers to save for each rare call.
#[derive(Default)]
pub struct SavedRegisters {
    calls: Vec<(Inst, List)>,
    /// Number of 8-byte slots that the saved registers and the spilled registers take.
    slots: usize,
}

/// A set of registers, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct RegisterSet(u64);

impl RegisterSet {
    fn of(preg: PReg) -> RegisterSet {
        let first = match preg.class() {
            RegClass::Int => 0,
            RegClass::Float => 16,
            RegClass::Vector => 48,
        };
        RegisterSet(1 << (first + preg.hw_enc()))
    }
    fn with(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 | other.0)
    }
    fn without(self, other: RegisterSet) -> RegisterSet {
        RegisterSet(self.0 & !other.0)
    }
    fn has(self, preg: PReg) -> bool {
        self.0 & RegisterSet::of(preg).0 != 0
    }
}

/// Registers that are read before they are written, and registers that are written.
#[derive(Clone, Copy, Default)]
struct RegisterEffects {
    read: RegisterSet,
    written: RegisterSet,
}

impl RegisterEffects {
    /// Returns the summary of `first` followed by `self`.
    fn behind(self, first: RegisterEffects) -> RegisterEffects {
        RegisterEffects { read: first.live_before(self.read), written: self.written.with(first.written) }
    }
    fn live_before(self, behind: RegisterSet) -> RegisterSet {
        self.read.with(behind.without(self.written))
    }
}

fn set(allocation: Allocation) -> RegisterSet {
    allocation.as_reg().map_or(RegisterSet::default(), RegisterSet::of)
}

fn summary(flow: &RegallocInput<'_>, output: &Output, item: &InstOrEdit<'_>) -> RegisterEffects {
    let mut all = RegisterEffects::default();
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
            all.written =
                flow.inst_clobbers(inst).into_iter().map(RegisterSet::of).fold(all.written, RegisterSet::with);
        }
    }
    all
}

impl SavedRegisters {
    /// Finds the registers to save for all rare calls of a function.
    pub fn of(code: &Code, flow: &RegallocInput<'_>, output: &Output) -> SavedRegisters {
        let mut kept = SavedRegisters { slots: output.num_spillslots, ..SavedRegisters::default() };
        let has_some = |block: &inst::Block| block.insts.iter().any(|inst| inst.op == Op::RareCall);
        if !code.blocks.iter().any(has_some) {
            return kept;
        }
        let live = live_behind(flow, output);
        for (i, _) in code.blocks.iter().enumerate().filter(|(_, block)| has_some(block)) {
            let (mut live, first) = (live[i], kept.calls.len());
            let items: Vec<InstOrEdit<'_>> = output.block_insts_and_edits(flow, Block::new(i)).collect();
            for item in items.iter().rev() {
                match *item {
                    InstOrEdit::Inst(inst) if flow.inst(inst).op == Op::RareCall => kept.add(inst, live, flow, output),
                    _ => {}
                }
                live = summary(flow, output, item).live_before(live);
            }
            // Instructions were visited backwards; [`SavedRegisters::by`] needs them in the order
            // of their numbers.
            kept.calls[first..].reverse();
        }
        kept
    }

    /// Adds a call with the registers that are live behind it.
    fn add(&mut self, call: Inst, live: RegisterSet, flow: &RegallocInput<'_>, output: &Output) {
        let mut slot = output.num_spillslots;
        let mut list = List::new();
        for preg in Op::Call.clobbers().into_iter().filter(|&preg| live.has(preg)) {
            let size = flow.spillslot_size(preg.class());
            slot = slot.next_multiple_of(size);
            list.push((Allocation::reg(preg), Allocation::stack(SpillSlot::new(slot))));
            slot += size;
        }
        self.slots = self.slots.max(slot);
        self.calls.push((call, list));
    }

    /// Returns the number of slots of the frame.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the registers that a call has to save, and where; an empty list for other
    /// instructions.
    pub fn by(&self, call: Inst) -> &[(Allocation, Allocation)] {
        let found = self.calls.binary_search_by_key(&call.index(), |(of, _)| of.index());
        found.map_or(&[], |i| &self.calls[i].1)
    }
}

/// Returns the registers that are live behind each block.
fn live_behind(flow: &RegallocInput<'_>, output: &Output) -> Vec<RegisterSet> {
    let count = flow.num_blocks();
    let whole = |i: usize| {
        let items = output.block_insts_and_edits(flow, Block::new(i));
        items
            .map(|item| summary(flow, output, &item))
            .fold(RegisterEffects::default(), |first, next| next.behind(first))
    };
    let blocks: Vec<RegisterEffects> = (0..count).map(whole).collect();
    let mut live = vec![RegisterSet::default(); count];
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
