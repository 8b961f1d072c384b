//! Source colours of a batch, by pairs of quads.

#![allow(clippy::needless_range_loop, reason = "loops over components index several arrays of them")]

use super::equation::ColorLanes;
use super::plan::ColorPlan;
use super::quad_texels::LANES;
use crate::stages::NO_SLOT;
use crate::tile::shaded::{OutputAlpha, ShadedOutputs, ShadedQuads};
use base::abi::SlotLayout;
use base::format::pack::ONE;
#[cfg(target_arch = "x86_64")]
use base::host::Avx512;
use base::host::{Ints, SimdLevel};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::__m512;
use core::marker::PhantomData;

/// The locations of the colours of all pairs: a row for each pair, or the same row for all of them.
pub struct Sources<'a> {
    /// Rows of pair 0. The rows `row[c] + pair * step[c]` exist for all pairs of the batch.
    row: [*const [u32; LANES]; 4],
    step: [usize; 4],
    /// Number of pairs of the batch, whose rows live as long as `'a`.
    pairs: usize,
    rows: PhantomData<&'a [[u32; LANES]]>,
}

impl<'a> Sources<'a> {
    /// Finds the colours of four slots; missing ones are 0. Returns `None` if chunks are not pairs.
    #[inline(always)]
    pub fn new(batch: &ShadedQuads<'a>, slots: [u16; 4]) -> Option<Sources<'a>> {
        const ZEROS: &[u32; LANES] = &[0; LANES];
        const ONES: &[u32; LANES] = &[ONE; LANES];
        let (layout, rows) = (batch.outputs.layout, batch.outputs.rows()?);
        let pairs = batch.quads.len().div_ceil(2);
        let there = rows.len() >= pairs * layout.slots();
        let mut sources = Sources { row: [ZEROS; 4], step: [0; 4], pairs, rows: PhantomData };
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

    /// Returns the rows of a pair of the batch, by component.
    #[inline(always)]
    fn of_pair(&self, pair: usize) -> [&'a [u32; LANES]; 4] {
        assert!(pair < self.pairs, "the pair belongs to the batch");
        let at = |c: usize| self.row[c].wrapping_add(pair * self.step[c]);
        // SAFETY: by the invariant of `row`, the rows of a pair of the batch are readable.
        unsafe { [&*at(0), &*at(1), &*at(2), &*at(3)] }
    }

    /// Reads the colours of a pair of the batch.
    #[inline(always)]
    pub fn floats(&self, pair: usize) -> ColorLanes<LANES> {
        let [r, g, b, a] = self.of_pair(pair);
        [floats(r), floats(g), floats(b), floats(a)]
    }

    /// Reads the colours of two pairs of the batch.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn two_pairs(&self, v: Avx512, pair: usize) -> [__m512; 4] {
        let (first, second) = (self.of_pair(pair), self.of_pair(pair + 1));
        let mut components = [v._mm512_setzero_ps(); 4];
        for c in 0..4 {
            let low = v._mm512_castsi256_si512(v.load_256(first[c]));
            let both = v._mm512_inserti64x4::<1>(low, v.load_256(second[c]));
            components[c] = v._mm512_castsi512_ps(both);
        }
        components
    }

    /// Reads the colours of a pair of the batch, as bits.
    #[inline(always)]
    pub fn bits<I: Ints>(&self, pair: usize) -> [I; 4] {
        let [r, g, b, a] = self.of_pair(pair);
        [I::from_array(*r), I::from_array(*g), I::from_array(*b), I::from_array(*a)]
    }
}

/// Returns bits as floats.
#[inline(always)]
fn floats(bits: &[u32; LANES]) -> [f32; LANES] {
    // SAFETY: both types have the same size, and any bits are a valid float.
    unsafe { core::mem::transmute::<[u32; LANES], [f32; LANES]>(*bits) }
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
