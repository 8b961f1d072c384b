//! Source colours of a batch, by pairs of quads.

#![allow(clippy::needless_range_loop, reason = "loops over components index several arrays of them")]

use super::equation::ColorLanes;
use super::plan::ColorPlan;
use super::quad_texels::LANES;
use crate::stages::NO_SLOT;
use crate::tile::shaded::{OutputAlpha, ShadedOutputs, ShadedQuads};
use base::abi::SlotLayout;
use base::format::pack::ONE;
use base::host::{Ints, SimdLevel};

/// The locations of the colours of all pairs: a row for each pair, or the same row for all of them.
pub struct Sources {
    /// Rows of pair 0. The rows `row[c] + pair * step[c]` exist for all pairs of the batch.
    row: [*const [u32; LANES]; 4],
    step: [usize; 4],
}

impl Sources {
    /// Finds the colours of four slots; missing ones are 0. Returns `None` if chunks are not pairs.
    #[inline(always)]
    pub fn new(batch: &ShadedQuads<'_>, slots: [u16; 4]) -> Option<Sources> {
        const ZEROS: &[u32; LANES] = &[0; LANES];
        const ONES: &[u32; LANES] = &[ONE; LANES];
        let (layout, rows) = (batch.outputs.layout, batch.outputs.rows()?);
        let there = rows.len() >= batch.quads.len().div_ceil(2) * layout.slots();
        let mut sources = Sources { row: [ZEROS; 4], step: [0; 4] };
        for c in 0..4 {
            let slot = usize::from(slots[c]);
            if batch.alpha == OutputAlpha::One && c == 3 {
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

    /// Reads the colours of a pair of the batch.
    ///
    /// # Safety
    /// The batch is alive, and has the pair.
    #[inline(always)]
    pub unsafe fn floats(&self, pair: usize) -> ColorLanes<LANES> {
        let at = |c: usize| self.row[c].wrapping_add(pair * self.step[c]).cast::<[f32; LANES]>();
        // SAFETY: by the invariant of `row`, the rows of a pair of the batch (`# Safety`) are
        // readable; any bits are a valid float.
        unsafe { [at(0).read(), at(1).read(), at(2).read(), at(3).read()] }
    }

    /// Returns the addresses of the rows of two pairs of the batch, by component.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn rows(&self, pair: usize) -> [[*const [f32; LANES]; 2]; 4] {
        let at = |c: usize, pair: usize| self.row[c].wrapping_add(pair * self.step[c]).cast::<[f32; LANES]>();
        [0, 1, 2, 3].map(|c| [at(c, pair), at(c, pair + 1)])
    }

    /// Reads the colours of a pair of the batch, as bits.
    ///
    /// # Safety
    /// The batch is alive, and has the pair.
    #[inline(always)]
    pub unsafe fn bits<I: Ints>(&self, pair: usize) -> [I; 4] {
        let at = |c: usize| self.row[c].wrapping_add(pair * self.step[c]);
        // SAFETY: by the invariant of `row`, the rows of a pair of the batch (`# Safety`) are
        // readable.
        unsafe {
            [
                I::from_array(at(0).read()),
                I::from_array(at(1).read()),
                I::from_array(at(2).read()),
                I::from_array(at(3).read()),
            ]
        }
    }
}

/// Number of pairs that are assembled at a time.
const PAIRS: usize = 8;

impl ColorPlan {
    /// Writes quads whose chunks are not pairs: the slots that the plan needs are assembled as
    /// pairs first.
    ///
    /// # Safety
    /// The requirements of `ColorPlan::write_at` hold.
    #[cold]
    pub(super) unsafe fn write_joined(&self, level: SimdLevel, batch: &ShadedQuads<'_>) {
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
            let outputs = ShadedOutputs { words: &words, layout, alive: &[] };
            // SAFETY: the quads are those of the batch: covered pixels lie inside the layer, and no
            // other thread accesses them (`# Safety`).
            unsafe { plan.write_at(level, &ShadedQuads { quads, outputs, ..*batch }) };
        }
    }
}
