//! Targets of any format, with write masks and logic operations: eight lanes (two quads of a chunk) at a time, through the format's
//! lane kernels.
//!
//! The format meets the blend state as four words per lane in memory, so there is one loop for all formats.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::{Floats, Operands, clamped, logic};
use super::pair::{Pair, floats};
use super::plan::ColorPlan;
use super::source::Sources;
use crate::sample::words;
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::abi::MAX_LANES;
use base::format::kernels;
use base::format::lanes::Lanes;
use base::format::pack::LaneKernels;
use base::host::Host;

const NOTHING: Lanes = [[0; MAX_LANES]; 4];

/// Sources of a pair of quads.
struct Colors {
    /// Bits as the stage left them.
    color: Lanes,
    /// Clamped to the format's range: both sources of blending.
    blend: [Floats<MAX_LANES>; 2],
}

/// Where the texels of a pair lie.
struct Texels {
    base: *mut u8,
    /// Bytes from `base`, by lane.
    offset: [u32; MAX_LANES],
    /// Lanes that are written.
    mask: u32,
}

base::compiled! {
    /// Writes all quads of a batch, in order; as `ColorPlan::write_batch`.
    pub unsafe fn write(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_lanes::<H>(batch, sources);
    }
}

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`]; on a host of level `H`.
    #[inline(always)]
    unsafe fn write_lanes<H: Host>(&self, batch: &ShadedQuads<'_>, from: &[Sources; 2]) {
        let kernels = &kernels(self.surface.format).lanes[H::LEVEL as usize];
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            // SAFETY: a pair of the batch.
            let sources = unsafe { self.sources(from, number) };
            for &turn in if self.reads() { pair.turns() } else { &[[true; 2]] } {
                for sample in 0..batch.samples {
                    let covered = |k: usize| if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
                    let mask = covered(0) | covered(1) << 4;
                    if mask != 0 {
                        let base = self.surface.at(batch.layer, sample, 0, 0);
                        let texels = Texels { base, offset: self.offsets(&pair, base, sample, mask), mask };
                        // SAFETY: the caller's contract; the offsets are those of covered texels.
                        unsafe { self.write_texels::<H>(kernels, &sources, &texels) };
                    }
                }
            }
        }
    }

    /// What is written depends on what is there.
    fn reads(&self) -> bool {
        self.blend.is_some() || self.masked || self.logic.is_some()
    }

    /// # Safety
    /// The batch has the pair.
    #[inline(always)]
    unsafe fn sources(&self, [first, second]: &[Sources; 2], number: usize) -> Colors {
        // SAFETY: the caller's contract.
        let color = unsafe { first.floats(number) };
        let color = color.map(|row| row.map(f32::to_bits));
        let mut sources = Colors { color, blend: [[[0.0; MAX_LANES]; 4]; 2] };
        if self.blend.is_some() {
            sources.blend[0] = clamped(self.clamp, floats(&color));
            if self.slots1 != [NO_SLOT; 4] {
                // SAFETY: see above.
                sources.blend[1] = clamped(self.clamp, unsafe { second.floats(number) });
            }
        }
        sources
    }

    /// Byte offsets of a pair's texels from the first one of their slice (of at most 2^14 rows of 2^18 bytes); lanes that are not in
    /// `mask` have that of a lane which is.
    #[inline(always)]
    fn offsets(&self, pair: &Pair, base: *mut u8, sample: u32, mask: u32) -> [u32; MAX_LANES] {
        let sample = sample as usize * self.surface.sample_stride;
        let corner = |k: usize| (pair.p[k] as usize).wrapping_add(sample).wrapping_sub(base as usize) as u32;
        let (a, b) = (corner(0), corner(1));
        let (right, down) = (self.surface.bytes as u32, self.surface.row_pitch as u32);
        let diagonal = right + down;
        let quad = |at: u32| [at, at.wrapping_add(right), at.wrapping_add(down), at.wrapping_add(diagonal)];
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (quad(a), quad(b));
        let mut offset = [a0, a1, a2, a3, b0, b1, b2, b3];
        if mask != 0xff {
            let covered = offset[mask.trailing_zeros() as usize % MAX_LANES];
            for (i, offset) in offset.iter_mut().enumerate() {
                *offset = if mask >> i & 1 == 0 { covered } else { *offset };
            }
        }
        offset
    }

    /// Blends, packs and stores the lanes in `mask`.
    ///
    /// # Safety
    /// All offsets are those of texels inside of the surface that no other thread touches; the kernels are for this host.
    #[inline(always)]
    unsafe fn write_texels<H: Host>(&self, kernels: &LaneKernels, sources: &Colors, texels: &Texels) {
        let (mut old, mut new) = (NOTHING, NOTHING);
        // SAFETY: the caller's contract.
        unsafe {
            if self.reads() {
                old = self.read_words::<H>(texels);
            }
            if let Some(blend) = &self.blend {
                let mut there = NOTHING;
                (kernels.unpack)(&old, &mut there);
                let d = floats(&there);
                let [s, s1] = &sources.blend;
                let blended = Operands { s, s1, d: &d, constants: self.constants }.blend(blend);
                let mut bits = NOTHING;
                for c in 0..4 {
                    for i in 0..MAX_LANES {
                        bits[c][i] = blended[c][i].to_bits();
                    }
                }
                (kernels.pack)(&bits, &mut new);
            } else {
                (kernels.pack)(&sources.color, &mut new);
            }
        }
        if self.masked || self.logic.is_some() {
            for (w, (new, old)) in new.iter_mut().zip(&old).enumerate() {
                for (new, &old) in new.iter_mut().zip(old) {
                    let value = self.logic.map_or(*new, |op| logic(op, *new, old));
                    *new = old & !self.write[w] | value & self.write[w];
                }
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.write_words(texels, &new) };
    }

    /// # Safety
    /// The texels lie inside of the surface; on a host of level `H`.
    #[inline(always)]
    unsafe fn read_words<H: Host>(&self, Texels { base, offset, .. }: &Texels) -> Lanes {
        // SAFETY: the caller's contract.
        unsafe {
            match self.surface.bytes {
                1 => words::read::<H, 1>(*base, offset),
                2 => words::read::<H, 2>(*base, offset),
                4 => words::read::<H, 4>(*base, offset),
                8 => words::read::<H, 8>(*base, offset),
                _ => words::read::<H, 16>(*base, offset),
            }
        }
    }

    /// # Safety
    /// The texels lie inside of the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn write_words(&self, Texels { base, offset, mask }: &Texels, from: &Lanes) {
        // SAFETY: the caller's contract.
        unsafe {
            match self.surface.bytes {
                1 => words::write::<1>(*base, offset, from, *mask),
                2 => words::write::<2>(*base, offset, from, *mask),
                4 => words::write::<4>(*base, offset, from, *mask),
                8 => words::write::<8>(*base, offset, from, *mask),
                _ => words::write::<16>(*base, offset, from, *mask),
            }
        }
    }
}
