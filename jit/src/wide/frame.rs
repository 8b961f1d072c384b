//! The stack of a function, from rsp up: arguments of calls, the program's slots, lanes that are looked up by number
//! ([`super::inst::Code::frame`]), spilled registers, those that rare calls keep; and above that, behind rbp, the registers that the caller wants back.

#![forbid(unsafe_code)]

use super::alloc::Flow;
use super::inst::{Code, SAVED, Size};
use super::kept::Kept;
use regalloc2::{Edit, Output, RegClass, SpillSlot};

/// See the module.
pub struct Frame {
    /// From rsp to the saved registers.
    pub bytes: u32,
    /// Alignment of rsp, as a power of two.
    pub align: u8,
    /// Registers to be saved.
    pub saved: Vec<u8>,
    /// Of vectors that are moved as a whole.
    pub size: Size,
    spills: u32,
}

/// Return address and the caller's rbp.
const HEAD: u32 = 16;

impl Frame {
    /// The frame of a function with its registers; `None` when it is too large to be addressed.
    pub fn of(code: &Code, flow: &Flow<'_>, output: &Output, kept: &Kept) -> Option<Frame> {
        let size = if code.large { Size::W512 } else { Size::W256 };
        let align = code.align.max(size.bytes().trailing_zeros() as u8);
        let spills = code.frame.checked_next_multiple_of(size.bytes() as u32)?;
        let slots = u32::try_from(kept.slots()).ok()?.checked_mul(8)?;
        let bytes = spills.checked_add(slots)?.checked_next_multiple_of(1 << align)?;
        let mut used = [false; 16];
        let clobbered = (0..flow.len()).flat_map(|i| flow.inst(regalloc2::Inst::new(i)).op.clobbers());
        let moved = output.edits.iter().flat_map(|(_, Edit::Move { from, to })| [*from, *to]);
        let allocated = output.allocs.iter().copied().chain(moved).filter_map(|a| a.as_reg());
        for preg in clobbered.chain(allocated).filter(|p| p.class() == RegClass::Int) {
            used[preg.hw_enc()] = true;
        }
        let saved = SAVED.into_iter().filter(|&r| used[usize::from(r)]).collect();
        i32::try_from(bytes).ok()?;
        Some(Frame { bytes, align, saved, size, spills })
    }

    /// Offset of a spilled register.
    pub fn spill(&self, slot: SpillSlot) -> i32 {
        self.spills as i32 + 8 * slot.index() as i32
    }

    /// Bytes of stack that the function takes, its return address included.
    pub fn total(&self) -> u32 {
        self.bytes + (1 << self.align) + 8 * self.saved.len() as u32 + HEAD
    }
}
