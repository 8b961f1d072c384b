//! Source colours of a batch, by pairs of quads.

#![allow(clippy::needless_range_loop, reason = "loops over components index several arrays of them")]

use super::equation::Floats;
use super::plan::ColorPlan;
use super::quad::LANES;
use crate::stage::NO_SLOT;
use crate::tile::shaded::{Outputs, ShadedQuads};
use base::abi::SlotLayout;
use base::format::pack::ONE;
use base::host::{Ints, Level};

/// Where the colours of the pairs lie: a row for each, or the same row for all of them.
pub struct Sources {
    /// Of pair 0. Rows `row[c] + pair * step[c]` are there for all pairs of the batch.
    row: [*const [u32; LANES]; 4],
    step: [usize; 4],
}

impl Sources {
    /// Of four slots; missing ones are 0. `None` where chunks are no pairs.
    #[inline(always)]
    pub fn new(batch: &ShadedQuads<'_>, slots: [u16; 4]) -> Option<Sources> {
        const ZEROS: &[u32; LANES] = &[0; LANES];
        const ONES: &[u32; LANES] = &[ONE; LANES];
        let (layout, rows) = (batch.outputs.layout, batch.outputs.rows()?);
        let there = rows.len() >= batch.quads.len().div_ceil(2) * layout.slots();
        let mut sources = Sources { row: [ZEROS; 4], step: [0; 4] };
        for c in 0..4 {
            let slot = usize::from(slots[c]);
            if batch.alpha_to_one && c == 3 {
                sources.row[c] = ONES;
            } else if slots[c] != NO_SLOT {
                if !there || slot >= layout.slots() {
                    return None;
                }
                sources.row[c] = &raw const rows[layout.row(0, slot)];
                sources.step[c] = layout.slots();
            }
        }
        Some(sources)
    }

    /// The colours of a pair of the batch.
    ///
    /// # Safety
    /// The batch lives, and has the pair.
    #[inline(always)]
    pub unsafe fn floats(&self, pair: usize) -> Floats<LANES> {
        let at = |c: usize| self.row[c].wrapping_add(pair * self.step[c]).cast::<[f32; LANES]>();
        // SAFETY: the invariant of `row`, and the caller's promise; floats are any bits.
        unsafe { [at(0).read(), at(1).read(), at(2).read(), at(3).read()] }
    }

    /// Where the rows of two pairs of the batch lie, by component.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn rows(&self, pair: usize) -> [[*const [f32; LANES]; 2]; 4] {
        let at = |c: usize, pair: usize| self.row[c].wrapping_add(pair * self.step[c]).cast::<[f32; LANES]>();
        [0, 1, 2, 3].map(|c| [at(c, pair), at(c, pair + 1)])
    }

    /// The same, as bits.
    ///
    /// # Safety
    /// The batch lives, and has the pair.
    #[inline(always)]
    pub unsafe fn bits<I: Ints>(&self, pair: usize) -> [I; 4] {
        let at = |c: usize| self.row[c].wrapping_add(pair * self.step[c]);
        // SAFETY: the invariant of `row`, and the caller's promise.
        unsafe { [I::of(at(0).read()), I::of(at(1).read()), I::of(at(2).read()), I::of(at(3).read())] }
    }
}

/// Pairs that are put together at a time.
const PAIRS: usize = 8;

impl ColorPlan {
    /// Writes quads whose chunks are no pairs: what the plan needs of them is put together as pairs.
    ///
    /// # Safety
    /// As for `ColorPlan::write_at`.
    #[cold]
    pub(super) unsafe fn write_joined(&self, level: Level, batch: &ShadedQuads<'_>) {
        let layout = SlotLayout::new(8, LANES as u32);
        let mut plan = *self;
        for (number, slot) in plan.slots.iter_mut().chain(&mut plan.slots1).enumerate() {
            *slot = if *slot == NO_SLOT { NO_SLOT } else { number as u16 };
        }
        for (part, quads) in batch.quads.chunks(2 * PAIRS).enumerate() {
            let mut words = [0; 8 * LANES * PAIRS];
            for quad in 0..quads.len() {
                for (number, &slot) in self.slots.iter().chain(&self.slots1).enumerate() {
                    let at = layout.word(4 * quad, number);
                    words[at..at + 4].copy_from_slice(&batch.outputs.quad(2 * PAIRS * part + quad, slot));
                }
            }
            let outputs = Outputs { words: &words, layout, alive: &[] };
            // SAFETY: the caller's contract.
            unsafe { plan.write_at(level, &ShadedQuads { quads, outputs, ..*batch }) };
        }
    }
}
