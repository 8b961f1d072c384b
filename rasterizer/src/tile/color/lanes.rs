//! Targets of any format, with write masks and logic operations: eight lanes (two quads of a chunk) at a time, through the format's
//! lane kernels.
//!
//! The format meets the blend state as four words per lane in memory, so there is one loop for all formats.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::bytes;
use super::equation::{Floats, Operands, clamped, logic};
use super::half;
use super::pair::floats;
use super::plan::{Access, ColorPlan};
use super::quad::Quad;
use super::source::Sources;
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::abi::MAX_LANES;
use base::format::kernels;
use base::format::lanes::Lanes;
use base::format::pack::LaneKernels;
use base::host::{Host, Level};
use base::pixel::BlendEquations;

const NOTHING: Lanes = [[0; MAX_LANES]; 4];

/// Sources of a pair of quads.
struct Colors {
    /// As the stage left them.
    color: Floats<MAX_LANES>,
    /// Clamped to the format's range: both sources of blending.
    blend: [Floats<MAX_LANES>; 2],
}

base::compiled! {
    unsafe fn store(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_lanes::<H>(batch, sources, None);
    }
    unsafe fn blend [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], blend: &BlendEquations) {
        plan.write_lanes::<H>(batch, sources, Some(bytes::equations::<NUMBER>(blend)));
    }
}

#[inline(always)]
fn bits(color: &Floats<MAX_LANES>) -> Lanes {
    let mut bits = NOTHING;
    for c in 0..4 {
        for i in 0..MAX_LANES {
            bits[c][i] = color[c][i].to_bits();
        }
    }
    bits
}

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_at`]; the sources are the plan's.
    pub(super) unsafe fn write_any(&self, level: Level, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        // SAFETY: the caller's contract, in all of them.
        unsafe {
            let Some(equations) = &self.blend else { return store(level)(self, batch, sources) };
            let write = match bytes::number(equations) {
                0 => blend::<0>(level),
                2 => blend::<2>(level),
                3 => blend::<3>(level),
                _ => blend::<{ bytes::COMMON.len() }>(level),
            };
            write(self, batch, sources, equations);
        }
    }

    /// # Safety
    /// As for [`ColorPlan::write_any`]; on a host of level `H`.
    #[inline(always)]
    unsafe fn write_lanes<H: Host>(
        &self,
        batch: &ShadedQuads<'_>,
        from: &[Sources; 2],
        blend: Option<&BlendEquations>,
    ) {
        let kernels = &kernels(self.surface.format).lanes[H::LEVEL as usize];
        let reads = blend.is_some() || self.masked || self.logic.is_some();
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            // SAFETY: a pair of the batch.
            let colors = unsafe { self.colors(from, number, blend.is_some()) };
            for &turn in if reads { pair.turns() } else { &[[true; 2]] } {
                for sample in 0..batch.samples {
                    let quad = |k: usize| Quad {
                        at: pair.p[k].wrapping_add(sample as usize * self.surface.sample_stride),
                        pitch: self.surface.row_pitch,
                        mask: if turn[k] { pixels(pair.coverage[k], sample) } else { 0 },
                        lane: 4 * k,
                    };
                    let quads = [quad(0), quad(1)];
                    if quads[0].mask | quads[1].mask != 0 {
                        // SAFETY: the caller's contract; the host's kernels.
                        unsafe { self.write_quads::<H>(kernels, &colors, &quads, blend, reads) };
                    }
                }
            }
        }
    }

    /// # Safety
    /// The batch has the pair.
    #[inline(always)]
    unsafe fn colors(&self, [first, second]: &[Sources; 2], number: usize, blend: bool) -> Colors {
        // SAFETY: the caller's contract.
        let color = unsafe { first.floats(number) };
        let mut colors = Colors { color, blend: [[[0.0; MAX_LANES]; 4]; 2] };
        if blend {
            colors.blend[0] = clamped(self.clamp, color);
            if self.slots1 != [NO_SLOT; 4] {
                // SAFETY: see above.
                colors.blend[1] = clamped(self.clamp, unsafe { second.floats(number) });
            }
        }
        colors
    }

    /// Blends, packs and stores the pixels of two quads.
    ///
    /// # Safety
    /// They lie inside of the surface, and no other thread touches them; the kernels are for this host.
    #[inline(always)]
    unsafe fn write_quads<H: Host>(
        &self,
        kernels: &LaneKernels,
        colors: &Colors,
        quads: &[Quad; 2],
        blend: Option<&BlendEquations>,
        reads: bool,
    ) {
        let mut old = NOTHING;
        if reads {
            // SAFETY: the caller's contract.
            quads.iter().for_each(|quad| unsafe { self.read_quad(quad, &mut old) });
        }
        let mut blended = colors.color;
        if let Some(blend) = blend {
            let mut there = NOTHING;
            // SAFETY: the host's kernel.
            unsafe { (kernels.unpack)(&old, &mut there) };
            let (d, [s, s1]) = (floats(&there), &colors.blend);
            blended = Operands { s, s1, d: &d, constants: self.constants }.blend(blend);
        }
        let mut new = match self.access {
            Access::Half { channels } => half::pack::<H>(&blended, channels),
            Access::Words => bits(&blended),
            _ => {
                let (bits, mut new) = (bits(&blended), NOTHING);
                // SAFETY: the host's kernel.
                unsafe { (kernels.pack)(&bits, &mut new) };
                new
            }
        };
        if self.masked || self.logic.is_some() {
            for (w, (new, old)) in new.iter_mut().zip(&old).enumerate() {
                for (new, &old) in new.iter_mut().zip(old) {
                    let value = self.logic.map_or(*new, |op| logic(op, *new, old));
                    *new = old & !self.write[w] | value & self.write[w];
                }
            }
        }
        // SAFETY: the caller's contract.
        quads.iter().for_each(|quad| unsafe { self.write_quad(quad, &new) });
    }

    /// # Safety
    /// The quad's pixels lie inside of the surface.
    #[inline(always)]
    unsafe fn read_quad(&self, quad: &Quad, words: &mut Lanes) {
        // SAFETY: the caller's contract.
        unsafe {
            match self.surface.bytes {
                1 => quad.read::<1>(words),
                2 => quad.read::<2>(words),
                4 => quad.read::<4>(words),
                8 => quad.read::<8>(words),
                _ => quad.read::<16>(words),
            }
        }
    }

    /// # Safety
    /// The quad's pixels lie inside of the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn write_quad(&self, quad: &Quad, words: &Lanes) {
        // SAFETY: the caller's contract.
        unsafe {
            match self.surface.bytes {
                1 => quad.write::<1>(words),
                2 => quad.write::<2>(words),
                4 => quad.write::<4>(words),
                8 => quad.write::<8>(words),
                _ => quad.write::<16>(words),
            }
        }
    }
}
