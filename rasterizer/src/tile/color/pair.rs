//! Pairs of quads: eight lanes. Two quads of a pair may be the same pixels, of two primitives: then they are blended one after the other.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::Floats;
use super::plan::ColorPlan;
use crate::stage::NO_SLOT;
use crate::tile::shaded::ShadedQuads;
use base::abi::FragmentQuad;

/// Lanes of a pair of quads.
pub const LANES: usize = 8;

/// Where the quads of a pair go; the second may be missing (no coverage).
#[derive(Clone, Copy)]
pub struct Pair {
    /// Sample 0 of pixel 0.
    pub p: [*mut u8; 2],
    /// See `FragmentQuad::coverage`.
    pub coverage: [u16; 2],
    /// All pixels of two neighbours: two rows of four pixels.
    pub whole: bool,
}

impl Pair {
    /// Which quads are blended together: of quads that are the same pixels, one after the other.
    #[inline(always)]
    pub fn turns(&self) -> &'static [[bool; 2]] {
        let same = self.p[0] == self.p[1] && self.coverage[0] != 0 && self.coverage[1] != 0;
        if same { &[[true, false], [false, true]] } else { &[[true, true]] }
    }
}

impl ColorPlan {
    /// Quads `2 * number` and the one behind it.
    #[inline(always)]
    pub fn pair(&self, batch: &ShadedQuads<'_>, number: usize) -> Pair {
        let mut pair = Pair { p: [core::ptr::null_mut(); 2], coverage: [0; 2], whole: false };
        let at = |quad: &FragmentQuad| self.surface.at(batch.layer, 0, u32::from(quad.x), u32::from(quad.y));
        match &batch.quads[2 * number..] {
            [a, b, ..] => {
                let full = if batch.samples == 1 { 0x1111 } else { 0xffff };
                pair.p = [at(a), at(b)];
                pair.coverage = [a.coverage, b.coverage];
                pair.whole = a.coverage & b.coverage == full && b.x.wrapping_sub(a.x) == 2 && a.y == b.y;
            }
            [a] => {
                pair.p[0] = at(a);
                pair.coverage[0] = a.coverage;
            }
            [] => {}
        }
        pair
    }

    /// Source colours of a pair, as bits.
    #[inline(always)]
    pub fn source_bits(&self, batch: &ShadedQuads<'_>, slots: &[u16; 4], pair: usize) -> [[u32; LANES]; 4] {
        let mut source = [[0; LANES]; 4];
        for (row, &slot) in source.iter_mut().zip(slots) {
            *row = match batch.outputs.rows() {
                _ if slot == NO_SLOT => continue,
                Some(rows) => rows[batch.outputs.layout.row(pair, usize::from(slot))],
                None => {
                    let [[a, b, c, d], [e, f, g, h]] =
                        [batch.outputs.quad(2 * pair, slot), batch.outputs.quad(2 * pair + 1, slot)];
                    [a, b, c, d, e, f, g, h]
                }
            };
        }
        if batch.alpha_to_one {
            source[3] = [1f32.to_bits(); LANES];
        }
        source
    }
}

/// Bits as floats.
#[inline(always)]
pub fn floats(bits: &[[u32; LANES]; 4]) -> Floats<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for c in 0..4 {
        for i in 0..LANES {
            out[c][i] = f32::from_bits(bits[c][i]);
        }
    }
    out
}
