//! Quads after the fragment stage: their outputs and coverage.

#![forbid(unsafe_code)]

use crate::stages::NO_SLOT;
use base::abi::{FragmentQuad, SlotLayout};

/// The outputs of shaded quads: lane `4*quad + pixel` of each slot.
#[derive(Clone, Copy)]
pub struct ShadedOutputs<'a> {
    /// The words of all slots.
    pub words: &'a [u32],
    /// Layout of the words.
    pub layout: SlotLayout,
    /// Live lanes by chunk, or by 32 lanes in wider chunks.
    pub alive: &'a [u32],
}

impl ShadedOutputs<'_> {
    /// Returns the four lanes of a quad; zeros for a missing slot.
    #[inline(always)]
    pub fn quad(&self, quad: usize, slot: u16) -> [u32; 4] {
        let at = self.layout.word(quad * 4, usize::from(slot));
        match self.words.get(at..at + 4) {
            Some(&[a, b, c, d]) if slot != NO_SLOT => [a, b, c, d],
            _ => [0; 4],
        }
    }
    /// Returns the outputs as rows of eight lanes, which are quads `2 * pair` and `2 * pair + 1`;
    /// rows are numbered by [`SlotLayout::row`] with pairs as chunks. Returns `None` if chunks have
    /// another size.
    #[inline(always)]
    pub fn rows(&self) -> Option<&[[u32; 8]]> {
        (self.layout.lanes() == 8).then_some(self.words.as_chunks().0)
    }
    /// Returns the pixels of a quad that are still alive.
    #[inline(always)]
    pub fn alive(&self, quad: usize) -> u32 {
        let (lane, per_word) = (quad * 4, self.layout.lanes().min(32));
        self.alive[lane / per_word] >> (lane % per_word) & 0xf
    }
}

/// Returns the pixels with sample `s` in a quad's coverage.
#[inline(always)]
pub fn pixels(coverage: u16, s: u32) -> u32 {
    let c = u32::from(coverage) >> s;
    c & 1 | c >> 3 & 2 | c >> 6 & 4 | c >> 9 & 8
}

/// Table that spreads pixel bits p to bits 4*p.
pub const SPREAD: [u16; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        table[i] = (i as u16 & 1) | (i as u16 & 2) << 3 | (i as u16 & 4) << 6 | (i as u16 & 8) << 9;
        i += 1;
    }
    table
};

/// The alpha of colour outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputAlpha {
    /// The value of the fragment stage.
    Stage,
    /// One (`alphaToOneEnable`).
    One,
}

/// The quads of a batch after the fragment stage and all tests.
pub struct ShadedQuads<'a> {
    /// Quads, with the remaining coverage.
    pub quads: &'a [FragmentQuad],
    /// Outputs of the stage.
    pub outputs: ShadedOutputs<'a>,
    /// Alpha of the outputs.
    pub alpha: OutputAlpha,
    /// Layer that is written.
    pub layer: u32,
    /// Number of the sample that is bit 0 of each pixel's coverage.
    pub first_sample: u32,
    /// Number of samples per pixel from that one on, at most four.
    pub samples: u32,
    /// True if all pixels of a covered quad lie in the render area, so that uncovered ones may be
    /// written back unchanged.
    pub whole: bool,
}
