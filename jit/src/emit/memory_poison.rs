//! Poison: with `GRUS_POISON=n`, code first fills its scratch memory, its output slots and the
//! argument block of its image operations with a pattern. Workgroup memory needs none, because it
//! is zero at the start of every workgroup.
//!
//! A result that depends on the pattern depends on data of earlier work, which no result may.
//! Poison is for tests: `icd/tests/fuzz.rs` compares two patterns.

use super::Emitter;
use super::memory::trusted;
use crate::ir::Ty;
use crate::lir::{AccessReason, Type, Value as C};

/// The memory that is filled, and the pattern.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPoison {
    /// The word that memory is filled with.
    pub pattern: u32,
    /// Number of bytes of scratch memory.
    pub scratch: u64,
}

/// Returns the pattern of `GRUS_POISON`, if it is set.
pub fn pattern() -> Option<u32> {
    static PATTERN: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *PATTERN.get_or_init(|| std::env::var("GRUS_POISON").ok()?.parse().ok())
}

impl Emitter<'_> {
    /// Fills the scratch memory at the function's start. Code that runs once per call follows it.
    pub fn poison_scratch(&mut self) {
        let Some(MemoryPoison { pattern, scratch }) = self.poison else { return };
        let base = self.function.scratch();
        self.fill_bytes(AccessReason::Scratch, base, scratch as u32 & !15, pattern);
        self.function.set_entry_block(self.b.current());
    }

    /// Fills the output slots of a chunk.
    pub fn poison_rows(&mut self, rows: &[i32], base: C) {
        let Some(MemoryPoison { pattern, .. }) = self.poison else { return };
        let row = super::value_rep::elem(Ty::I32).by(self.lanes.row() as usize);
        let word = self.b.constant(row, pattern.into());
        rows.iter().for_each(|&at| self.b.store(trusted(AccessReason::Element, at), word, base));
    }

    /// Fills bytes of a stack slot.
    pub fn poison_slot(&mut self, address: C, bytes: usize) {
        let Some(MemoryPoison { pattern, .. }) = self.poison else { return };
        let word = self.b.constant(Type::I32, pattern.into());
        for at in (0..bytes).step_by(4) {
            self.b.store(trusted(AccessReason::Frame, at as i32), word, address);
        }
    }
}
