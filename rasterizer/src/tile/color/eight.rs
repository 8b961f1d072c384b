//! Targets of four 8-bit components, a pair of quads at a time.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::equation::{Clamp, Floats, Operands, clamped};
use super::pair::{LANES, Pair, floats};
use super::plan::{ColorPlan, byte_of};
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::pixel::{BlendEquations, BlendFactor, BlendOp};

/// Order of a pair's lanes and of the pixels of two rows: each the other's inverse.
const ROWS: [usize; LANES] = [0, 1, 4, 5, 2, 3, 6, 7];

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for `ColorPlan::write_batch`; the plan neither masks channels nor has a logic operation, its texels have four bytes.
    #[inline(always)]
    pub(super) unsafe fn write8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>) {
        let Some(blend) = &self.blend else {
            // SAFETY: the caller's contract.
            return unsafe { self.opaque8::<SRGB, SWAP>(batch) };
        };
        let over = (BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        let alpha_over = (BlendFactor::One, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        let add = (BlendFactor::One, BlendFactor::One, BlendOp::Add);
        // Constants here let the compiler drop the choice of factors from the loop.
        for (color, alpha) in [(over, over), (over, alpha_over), (alpha_over, alpha_over), (add, add)] {
            if blend.color == color && blend.alpha == alpha {
                // SAFETY: the caller's contract.
                return unsafe { self.blended8::<SRGB, SWAP>(batch, &BlendEquations { color, alpha }) };
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.blended8::<SRGB, SWAP>(batch, blend) };
    }

    /// # Safety
    /// As for [`ColorPlan::write8`].
    #[inline(always)]
    unsafe fn opaque8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>) {
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            let packed = pack8::<SRGB, SWAP>(&self.source8(batch, &self.slots, number));
            for s in 0..batch.samples {
                // SAFETY: the caller's contract.
                unsafe { self.store_pair(&pair, s, [true; 2], &packed) };
            }
        }
    }

    /// # Safety
    /// As for [`ColorPlan::write8`].
    #[inline(always)]
    unsafe fn blended8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>, blend: &BlendEquations) {
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            let s = clamped(Clamp::Unorm, self.source8(batch, &self.slots, number));
            let s1 = if self.slots1 == [NO_SLOT; 4] {
                [[0.0; LANES]; 4]
            } else {
                clamped(Clamp::Unorm, self.source8(batch, &self.slots1, number))
            };
            for &turn in pair.turns() {
                for sample in 0..batch.samples {
                    // SAFETY: the caller's contract.
                    let words = unsafe { self.load_pair(&pair, sample, turn) };
                    let d = unpack8::<SRGB, SWAP>(&words);
                    let blended = Operands { s: &s, s1: &s1, d: &d, constants: self.constants }.blend(blend);
                    let packed = pack8::<SRGB, SWAP>(&blended);
                    // SAFETY: the caller's contract.
                    unsafe { self.store_pair(&pair, sample, turn, &packed) };
                }
            }
        }
    }

    /// The texels of a sample of the quads of `turn`; unspecified where they are not covered.
    ///
    /// # Safety
    /// Covered pixels lie inside the surface.
    #[inline(always)]
    unsafe fn load_pair(&self, pair: &Pair, sample: u32, turn: [bool; 2]) -> [u32; LANES] {
        let offset = sample as usize * self.surface.sample_stride;
        let mut words = [0; LANES];
        if pair.whole {
            let p = pair.p[0].wrapping_add(offset).cast::<[u32; 4]>();
            // SAFETY: two rows of four covered pixels; texels are aligned.
            let [top, bottom] =
                unsafe { [p.read_unaligned(), p.wrapping_byte_add(self.surface.row_pitch).read_unaligned()] };
            for i in 0..4 {
                words[ROWS[i]] = top[i];
                words[ROWS[4 + i]] = bottom[i];
            }
            return words;
        }
        for k in 0..2 {
            let mask = if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
            // SAFETY: the caller's contract.
            unsafe { self.load_words(pair.p[k].wrapping_add(offset), mask, &mut words, 4 * k) };
        }
        words
    }

    /// Stores the covered texels of a sample of the quads of `turn`.
    ///
    /// # Safety
    /// Covered pixels lie inside the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn store_pair(&self, pair: &Pair, sample: u32, turn: [bool; 2], texels: &[u32; LANES]) {
        let offset = sample as usize * self.surface.sample_stride;
        if pair.whole {
            let (mut top, mut bottom) = ([0; 4], [0; 4]);
            for i in 0..4 {
                top[i] = texels[ROWS[i]];
                bottom[i] = texels[ROWS[4 + i]];
            }
            let p = pair.p[0].wrapping_add(offset).cast::<[u32; 4]>();
            // SAFETY: two rows of four covered pixels.
            unsafe {
                p.write_unaligned(top);
                p.wrapping_byte_add(self.surface.row_pitch).write_unaligned(bottom);
            }
            return;
        }
        for k in 0..2 {
            let mask = if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
            // SAFETY: the caller's contract.
            unsafe { self.store_words(pair.p[k].wrapping_add(offset), mask, texels, 4 * k) };
        }
    }

    /// Source colours of a pair.
    #[inline(always)]
    fn source8(&self, batch: &ShadedQuads<'_>, slots: &[u16; 4], pair: usize) -> Floats<LANES> {
        floats(&self.source_bits(batch, slots, pair))
    }

    /// The masked texels of a quad.
    ///
    /// # Safety
    /// The masked pixels lie inside the surface.
    #[inline(always)]
    unsafe fn load_words(&self, p: *const u8, mask: u32, to: &mut [u32; LANES], first: usize) {
        let (row0, row1) = (p.cast::<u32>(), p.wrapping_add(self.surface.row_pitch).cast::<u32>());
        // SAFETY: the caller's contract; texels are aligned.
        unsafe {
            if mask == 0xf {
                to[first] = *row0;
                to[first + 1] = *row0.add(1);
                to[first + 2] = *row1;
                to[first + 3] = *row1.add(1);
                return;
            }
            let at = [row0, row0.wrapping_add(1), row1, row1.wrapping_add(1)];
            for i in 0..4 {
                if mask & (1 << i) != 0 {
                    to[first + i] = *at[i];
                }
            }
        }
    }

    /// # Safety
    /// The masked pixels lie inside the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn store_words(&self, p: *mut u8, mask: u32, texels: &[u32; LANES], first: usize) {
        let (row0, row1) = (p.cast::<u32>(), p.wrapping_add(self.surface.row_pitch).cast::<u32>());
        // SAFETY: the caller's contract; texels are aligned.
        unsafe {
            if mask == 0xf {
                row0.cast::<[u32; 2]>().write([texels[first], texels[first + 1]]);
                row1.cast::<[u32; 2]>().write([texels[first + 2], texels[first + 3]]);
                return;
            }
            let at = [row0, row0.wrapping_add(1), row1, row1.wrapping_add(1)];
            for i in 0..4 {
                if mask & (1 << i) != 0 {
                    at[i].write(texels[first + i]);
                }
            }
        }
    }
}

/// The components of texels.
#[inline(always)]
fn unpack8<const SRGB: bool, const SWAP: bool>(texels: &[u32; LANES]) -> Floats<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for (component, out) in out.iter_mut().enumerate() {
        let shift = 8 * byte_of(component, SWAP);
        for i in 0..LANES {
            let code = texels[i] >> shift & 0xff;
            out[i] = if SRGB && component != 3 { srgb_to_linear(code as u8) } else { code as i32 as f32 / 255.0 };
        }
    }
    out
}

/// Texels of 8-bit components; normalised ones nearest, ties to even.
#[inline(always)]
fn pack8<const SRGB: bool, const SWAP: bool>(color: &Floats<LANES>) -> [u32; LANES] {
    let code = |component: usize, v: f32| {
        let code = if SRGB && component != 3 {
            u32::from(linear_to_srgb(v))
        } else {
            base::round::low_bits(Clamp::Unorm.apply(v) * 255.0) & 0xff
        };
        code << (8 * byte_of(component, SWAP))
    };
    // Lanes outside: so the compiler takes them, and not the components, for the elements of its vectors.
    let mut packed = [0u32; LANES];
    for i in 0..LANES {
        packed[i] = code(0, color[0][i]) | code(1, color[1][i]) | code(2, color[2][i]) | code(3, color[3][i]);
    }
    packed
}
