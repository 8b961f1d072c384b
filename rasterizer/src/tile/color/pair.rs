//! Pairs of quads: eight lanes. Two quads of a pair may be the same pixels, of two primitives: then they are blended one after the other.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::Floats;
use super::plan::ColorPlan;
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
        let mut pair = Pair { p: [core::ptr::null_mut(); 2], coverage: [0; 2] };
        let at = |quad: &FragmentQuad| self.surface.at(batch.layer, 0, u32::from(quad.x), u32::from(quad.y));
        match &batch.quads[2 * number..] {
            [a, b, ..] => {
                pair.p = [at(a), at(b)];
                pair.coverage = [a.coverage, b.coverage];
            }
            [a] => {
                pair.p[0] = at(a);
                pair.coverage[0] = a.coverage;
            }
            [] => {}
        }
        pair
    }
}

/// Are all pixels of two quads covered, and the second one the first one's neighbour to the right? Then they are two rows of four pixels.
#[inline(always)]
pub fn whole(a: &FragmentQuad, b: &FragmentQuad, samples: u32) -> bool {
    // Position and coverage as one number, x lowest.
    let place = |quad: &FragmentQuad| {
        let [x, y, coverage, sample] = [quad.x, quad.y, quad.coverage, quad.sample].map(u64::from);
        x | y << 16 | coverage << 32 | sample << 48
    };
    let full = if samples == 1 { 0x1111 } else { 0xffff };
    a.coverage == full && place(b).wrapping_sub(place(a)) == 2
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
