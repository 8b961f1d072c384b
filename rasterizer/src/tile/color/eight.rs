//! Targets of four 8-bit components, a pair of quads at a time.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::bytes::{self, Bytes, PLACE, Rows};
use super::equation::{Clamp, Floats, Operands, clamped};
use super::pair::{LANES, Pair, floats};
use super::plan::{ColorPlan, byte_of};
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::host::Host;
use base::pixel::{BlendEquations, BlendFactor, BlendOp};

/// A way to pack a pair's colours. (Closures with intrinsics in them may not be inlined.)
trait Packed {
    fn pack<H: Host>(color: &Floats<LANES>, swap: bool) -> Rows;
}

struct Unorm;

impl Packed for Unorm {
    #[inline(always)]
    fn pack<H: Host>(color: &Floats<LANES>, swap: bool) -> Rows {
        bytes::pack::<H>(color, swap)
    }
}

struct Srgb<const SWAP: bool>;

impl<const SWAP: bool> Packed for Srgb<SWAP> {
    #[inline(always)]
    fn pack<H: Host>(color: &Floats<LANES>, _: bool) -> Rows {
        pack_srgb::<SWAP>(color)
    }
}

/// No texels yet.
const NOTHING: Rows = [[0; 4]; 2];

impl ColorPlan {
    /// Writes all quads of a batch, in order: unsigned normalised components.
    ///
    /// # Safety
    /// As for `ColorPlan::write_batch`; on a host of level `H`; the plan has no logic operation, its texels have four bytes.
    #[inline(always)]
    pub(super) unsafe fn write_unorm8<H: Host>(&self, batch: &ShadedQuads<'_>, swap: bool) {
        // SAFETY: the caller's contract, in all of them.
        match &self.blend {
            None => unsafe { self.store8::<H, Unorm>(batch, swap) },
            Some(blend) => bytes::with_equation!(blend, NUMBER => unsafe {
                self.blended_bytes::<H>(batch, swap, bytes::equations::<NUMBER>(blend))
            }),
        }
    }

    /// The same, colour sRGB-encoded.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_unorm8`]; the plan masks no channels.
    #[inline(always)]
    pub(super) unsafe fn write_srgb8<H: Host, const SWAP: bool>(&self, batch: &ShadedQuads<'_>) {
        let Some(blend) = &self.blend else {
            // SAFETY: the caller's contract.
            return unsafe { self.store8::<H, Srgb<SWAP>>(batch, SWAP) };
        };
        let over = (BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        let alpha_over = (BlendFactor::One, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        // Constants here let the compiler drop the choice of factors from the loop.
        for (color, alpha) in [(over, over), (over, alpha_over), (alpha_over, alpha_over)] {
            if blend.color == color && blend.alpha == alpha {
                // SAFETY: the caller's contract.
                return unsafe { self.blended_light::<SWAP>(batch, &BlendEquations { color, alpha }) };
            }
        }
        // SAFETY: the caller's contract.
        unsafe { self.blended_light::<SWAP>(batch, blend) };
    }

    /// Stores the colours.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_unorm8`].
    #[inline(always)]
    unsafe fn store8<H: Host, P: Packed>(&self, batch: &ShadedQuads<'_>, swap: bool) {
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            let packed = P::pack::<H>(&self.source8(batch, &self.slots, number), swap);
            for s in 0..batch.samples {
                // SAFETY: the caller's contract.
                unsafe { self.store_pair(&pair, s, [true; 2], &packed) };
            }
        }
    }

    /// Blends in integers.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_unorm8`].
    #[inline(always)]
    unsafe fn blended_bytes<H: Host>(&self, batch: &ShadedQuads<'_>, swap: bool, blend: &BlendEquations) {
        let mut from = Bytes { s: NOTHING, s1: NOTHING, constants: [[self.constant_bytes(swap); 4]; 2] };
        for number in 0..batch.quads.len().div_ceil(2) {
            let pair = self.pair(batch, number);
            if pair.coverage == [0; 2] {
                continue;
            }
            from.s = bytes::pack::<H>(&self.source8(batch, &self.slots, number), swap);
            if self.slots1 != [NO_SLOT; 4] {
                from.s1 = bytes::pack::<H>(&self.source8(batch, &self.slots1, number), swap);
            }
            for &turn in pair.turns() {
                for sample in 0..batch.samples {
                    // SAFETY: the caller's contract.
                    unsafe {
                        let d = self.load_pair(&pair, sample, turn);
                        self.store_pair(&pair, sample, turn, &bytes::blend::<H>(blend, &from, &d));
                    }
                }
            }
        }
    }

    /// The blend constants as a texel.
    #[inline(always)]
    pub(super) fn constant_bytes(&self, swap: bool) -> u32 {
        let mut texel = 0;
        for (c, constant) in self.constants.iter().enumerate() {
            texel |= (base::round::low_bits(constant * 255.0) & 0xff) << (8 * byte_of(c, swap));
        }
        texel
    }

    /// Blends sRGB-encoded texels: in linear light.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_srgb8`].
    #[inline(always)]
    unsafe fn blended_light<const SWAP: bool>(&self, batch: &ShadedQuads<'_>, blend: &BlendEquations) {
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
                    let d = unpack_srgb::<SWAP>(&words);
                    let blended = Operands { s: &s, s1: &s1, d: &d, constants: self.constants }.blend(blend);
                    // SAFETY: the caller's contract.
                    unsafe { self.store_pair(&pair, sample, turn, &pack_srgb::<SWAP>(&blended)) };
                }
            }
        }
    }

    /// The texels of a sample of the quads of `turn`; unspecified where they are not covered.
    ///
    /// # Safety
    /// Covered pixels lie inside the surface.
    #[inline(always)]
    unsafe fn load_pair(&self, pair: &Pair, sample: u32, turn: [bool; 2]) -> Rows {
        let offset = sample as usize * self.surface.sample_stride;
        let pitch = self.surface.row_pitch;
        if pair.whole {
            let p = pair.p[0].wrapping_add(offset).cast::<[u32; 4]>();
            // SAFETY: two rows of four covered pixels; texels are aligned.
            return unsafe { [p.read_unaligned(), p.wrapping_byte_add(pitch).read_unaligned()] };
        }
        let mut rows = NOTHING;
        for k in 0..2 {
            let mask = if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
            let p = pair.p[k].wrapping_add(offset).cast::<u32>();
            for i in 0..4 {
                if mask & (1 << i) != 0 {
                    let [y, x] = PLACE[4 * k + i];
                    // SAFETY: a covered pixel.
                    rows[y][x] = unsafe { p.wrapping_add(i & 1).wrapping_byte_add(y * pitch).read() };
                }
            }
        }
        rows
    }

    /// Stores the covered texels of a sample of the quads of `turn`.
    ///
    /// # Safety
    /// Covered pixels lie inside the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn store_pair(&self, pair: &Pair, sample: u32, turn: [bool; 2], rows: &Rows) {
        let offset = sample as usize * self.surface.sample_stride;
        let pitch = self.surface.row_pitch;
        if pair.whole {
            let p = pair.p[0].wrapping_add(offset).cast::<[u32; 4]>();
            // SAFETY: two rows of four covered pixels.
            unsafe {
                self.store_row(p, rows[0]);
                self.store_row(p.wrapping_byte_add(pitch), rows[1]);
            }
            return;
        }
        for k in 0..2 {
            let mask = if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
            let p = pair.p[k].wrapping_add(offset).cast::<u32>();
            for i in 0..4 {
                if mask & (1 << i) != 0 {
                    let [y, x] = PLACE[4 * k + i];
                    let p = p.wrapping_add(i & 1).wrapping_byte_add(y * pitch);
                    // SAFETY: a covered pixel.
                    unsafe { p.write(self.masked8(rows[y][x], p)) };
                }
            }
        }
    }

    /// # Safety
    /// Four pixels of the surface that no other thread touches.
    #[inline(always)]
    unsafe fn store_row(&self, p: *mut [u32; 4], mut row: [u32; 4]) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.masked {
                let old = p.read_unaligned();
                for i in 0..4 {
                    row[i] = row[i] & self.write[0] | old[i] & !self.write[0];
                }
            }
            p.write_unaligned(row);
        }
    }

    /// A texel with the channels that are masked out from `p`.
    ///
    /// # Safety
    /// A pixel of the surface that no other thread touches.
    #[inline(always)]
    unsafe fn masked8(&self, texel: u32, p: *const u32) -> u32 {
        if self.masked {
            // SAFETY: the caller's contract.
            texel & self.write[0] | unsafe { p.read() } & !self.write[0]
        } else {
            texel
        }
    }

    /// Source colours of a pair.
    #[inline(always)]
    fn source8(&self, batch: &ShadedQuads<'_>, slots: &[u16; 4], pair: usize) -> Floats<LANES> {
        floats(&self.source_bits(batch, slots, pair))
    }
}

/// The components of sRGB texels.
#[inline(always)]
fn unpack_srgb<const SWAP: bool>(texels: &Rows) -> Floats<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for (component, out) in out.iter_mut().enumerate() {
        let shift = 8 * byte_of(component, SWAP);
        for i in 0..LANES {
            let [y, x] = PLACE[i];
            let code = texels[y][x] >> shift & 0xff;
            out[i] = if component == 3 { code as i32 as f32 / 255.0 } else { srgb_to_linear(code as u8) };
        }
    }
    out
}

/// sRGB texels of colours; alpha nearest, ties to even.
#[inline(always)]
fn pack_srgb<const SWAP: bool>(color: &Floats<LANES>) -> Rows {
    let mut rows = NOTHING;
    for i in 0..LANES {
        let [y, x] = PLACE[i];
        let mut texel = (base::round::low_bits(Clamp::Unorm.apply(color[3][i]) * 255.0) & 0xff) << 24;
        for c in 0..3 {
            texel |= u32::from(linear_to_srgb(color[c][i])) << (8 * byte_of(c, SWAP));
        }
        rows[y][x] = texel;
    }
    rows
}
