//! Targets of four 8-bit components, eight lanes (two quads of a chunk) at a time; compiled for AVX2 hosts and for any host.
//!
//! Two quads of a pair may be the same pixels, of two primitives: then they are blended one after the other.

use super::equation::{Floats, Operands};
use super::{ColorPlan, ShadedQuads};
use crate::api::{BlendAttachment, BlendFactor, BlendOp};
use crate::front::link::NO_SLOT;
use crate::tile::fragment::pixels;
use base::format::srgb::{linear_to_srgb, srgb_to_linear};

/// Lanes of a pair of quads.
const LANES: usize = 8;

/// Where a quad of a pair goes.
#[derive(Clone, Copy)]
struct Target {
    /// Sample 0 of pixel 0.
    p: *mut u8,
    /// See `FragmentQuad::coverage`.
    coverage: u16,
}

impl ColorPlan {
    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`]; the plan neither masks channels nor has a logic operation, its texels have four bytes.
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
                return unsafe { self.blended8::<SRGB, SWAP>(batch, &BlendAttachment { color, alpha, ..*blend }) };
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.blended8::<SRGB, SWAP>(batch, blend) };
    }

    /// # Safety
    /// As for [`ColorPlan::write8`].
    #[inline(always)]
    unsafe fn opaque8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>) {
        for pair in 0..batch.quads.len().div_ceil(2) {
            let targets = self.targets(batch, pair);
            if targets[0].coverage | targets[1].coverage == 0 {
                continue;
            }
            let packed = pack8::<SRGB, SWAP>(&self.source8(batch, &self.slots, pair));
            for (k, target) in targets.iter().enumerate() {
                for s in 0..batch.samples {
                    let p = target.p.wrapping_add(s as usize * self.surface.sample_stride);
                    // SAFETY: the caller's contract.
                    unsafe { self.store_words(p, pixels(target.coverage, s), &packed, 4 * k) };
                }
            }
        }
    }

    /// # Safety
    /// As for [`ColorPlan::write8`].
    #[inline(always)]
    unsafe fn blended8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>, blend: &BlendAttachment) {
        for pair in 0..batch.quads.len().div_ceil(2) {
            let targets = self.targets(batch, pair);
            if targets[0].coverage | targets[1].coverage == 0 {
                continue;
            }
            let s = self.clamped8(self.source8(batch, &self.slots, pair));
            let s1 = if self.slots1 == [NO_SLOT; 4] {
                [[0.0; LANES]; 4]
            } else {
                self.clamped8(self.source8(batch, &self.slots1, pair))
            };
            let same = targets[0].p == targets[1].p && targets[0].coverage != 0 && targets[1].coverage != 0;
            let turns: &[[bool; 2]] = if same { &[[true, false], [false, true]] } else { &[[true, true]] };
            for turn in turns {
                for sample in 0..batch.samples {
                    let mut at = [(core::ptr::null_mut(), 0); 2];
                    for k in 0..2 {
                        let p = targets[k].p.wrapping_add(sample as usize * self.surface.sample_stride);
                        at[k] = (p, if turn[k] { pixels(targets[k].coverage, sample) } else { 0 });
                    }
                    let mut words = [0; LANES];
                    // SAFETY: the caller's contract.
                    unsafe {
                        self.load_words(at[0].0, at[0].1, &mut words, 0);
                        self.load_words(at[1].0, at[1].1, &mut words, 4);
                    }
                    let d = unpack8::<SRGB, SWAP>(&words);
                    let blended = Operands { s: &s, s1: &s1, d: &d, constants: self.constants }.blend(blend);
                    let packed = pack8::<SRGB, SWAP>(&blended);
                    // SAFETY: the caller's contract.
                    unsafe {
                        self.store_words(at[0].0, at[0].1, &packed, 0);
                        self.store_words(at[1].0, at[1].1, &packed, 4);
                    }
                }
            }
        }
    }

    /// The quads of a pair; the second may be missing.
    #[inline(always)]
    fn targets(&self, batch: &ShadedQuads<'_>, pair: usize) -> [Target; 2] {
        let mut targets = [Target { p: core::ptr::null_mut(), coverage: 0 }; 2];
        for (k, target) in targets.iter_mut().enumerate() {
            if let (Some(quad), Some(&coverage)) = (batch.quads.get(2 * pair + k), batch.coverage.get(2 * pair + k)) {
                *target = Target { p: self.surface.at(batch.layer, 0, u32::from(quad.x), u32::from(quad.y)), coverage };
            }
        }
        targets
    }

    /// Source colours of a pair.
    #[inline(always)]
    fn source8(&self, batch: &ShadedQuads<'_>, slots: &[u16; 4], pair: usize) -> Floats<LANES> {
        let mut source = [[0.0; LANES]; 4];
        for (row, &slot) in source.iter_mut().zip(slots) {
            let bits = batch.outputs.pair(pair, slot);
            for i in 0..LANES {
                row[i] = f32::from_bits(bits[i]);
            }
        }
        if batch.alpha_to_one {
            source[3] = [1.0; LANES];
        }
        source
    }

    #[inline(always)]
    fn clamped8(&self, mut color: Floats<LANES>) -> Floats<LANES> {
        for row in &mut color {
            for v in row {
                *v = super::Clamp::Unorm.apply(*v);
            }
        }
        color
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

/// Byte of a component.
pub(super) const fn byte_of(component: usize, swap: bool) -> usize {
    if swap && component != 3 { 2 - component } else { component }
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
    // 1.5 * 2^23: the nearest integer is left in the low bits of the sum.
    const MAGIC: f32 = 12_582_912.0;
    let code = |component: usize, v: f32| {
        let code = if SRGB && component != 3 {
            u32::from(linear_to_srgb(v))
        } else {
            (super::Clamp::Unorm.apply(v) * 255.0 + MAGIC).to_bits() & 0xff
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
