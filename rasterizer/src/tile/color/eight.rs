//! Targets of four 8-bit components, a pair of quads at a time.
//!
//! Whole pairs are two rows of four texels, which are loaded and stored as such. Of other pairs each texel has an address, that of a
//! sink where it is not covered: which pixels of a pair are covered is a riddle to branch prediction.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::bytes::{self, Bytes, PLACE, Rows};
use super::equation::{Clamp, Floats, Operands, clamped};
use super::pair::{LANES, Pair, whole};
use super::plan::{ColorPlan, byte_of};
use super::source::Sources;
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::host::{Host, Level};
use base::pixel::{BlendEquations, BlendFactor, BlendOp};
use core::marker::PhantomData;

/// No texels yet.
const NOTHING: Rows = [[0; 4]; 2];

/// Stores what is blended.
const REPLACE: BlendEquations = BlendEquations {
    color: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
    alpha: (BlendFactor::One, BlendFactor::Zero, BlendOp::Add),
};

impl ColorPlan {
    /// Writes all quads of a batch, in order: unsigned normalised components.
    ///
    /// # Safety
    /// As for `ColorPlan::write_batch`; the host has the level; the plan has no logic operation, its texels have four bytes.
    pub(super) unsafe fn write_unorm8(
        &self,
        level: Level,
        batch: &ShadedQuads<'_>,
        sources: &[Sources; 2],
        swap: bool,
    ) {
        let blend = match &self.blend {
            // SAFETY: the caller's contract.
            None if !self.masked => return unsafe { store_unorm(level)(self, batch, sources, swap) },
            blend => blend.as_ref().unwrap_or(&REPLACE),
        };
        // SAFETY: the caller's contract.
        bytes::with_equation!(blend, NUMBER => unsafe { blend_unorm::<NUMBER>(level)(self, batch, sources, swap, blend) });
    }

    /// The same, colour sRGB-encoded.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_unorm8`]; the plan masks no channels.
    pub(super) unsafe fn write_srgb8(&self, level: Level, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        // SAFETY: the caller's contract, in all of them.
        unsafe {
            let Some(blend) = &self.blend else { return store_srgb(level)(self, batch, sources, swap) };
            let write = match bytes::number(blend) {
                0 => blend_srgb::<0>(level),
                1 => blend_srgb::<1>(level),
                2 => blend_srgb::<2>(level),
                _ => blend_srgb::<{ bytes::COMMON.len() }>(level),
            };
            write(self, batch, sources, swap, blend);
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

    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// As for `ColorPlan::write_batch`; texels of four bytes.
    #[inline(always)]
    unsafe fn write_pairs<W: Write>(&self, batch: &ShadedQuads<'_>, mut write: W) {
        let (pitch, stride) = (self.surface.row_pitch, self.surface.sample_stride);
        for (number, quads) in batch.quads.chunks(2).enumerate() {
            // SAFETY: a pair of the batch.
            unsafe { write.take(number) };
            let [a, b] = quads else {
                // SAFETY: the caller's contract.
                unsafe { self.write_some(batch, number, &write) };
                continue;
            };
            if !whole(a, b, batch.samples) {
                // SAFETY: see above.
                unsafe { self.write_some(batch, number, &write) };
                continue;
            }
            let mut top = self.surface.at(batch.layer, 0, u32::from(a.x), u32::from(a.y)).cast::<[u32; 4]>();
            for _ in 0..batch.samples {
                let bottom = top.wrapping_byte_add(pitch);
                // SAFETY: the caller's contract.
                unsafe {
                    let old = if W::READS { [top.read_unaligned(), bottom.read_unaligned()] } else { NOTHING };
                    let [new_top, new_bottom] = write.over(&old);
                    top.write_unaligned(new_top);
                    bottom.write_unaligned(new_bottom);
                }
                top = top.wrapping_byte_add(stride);
            }
        }
    }

    /// A pair that is not whole.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_pairs`]; the batch has the pair.
    #[inline(always)]
    unsafe fn write_some<W: Write>(&self, batch: &ShadedQuads<'_>, number: usize, write: &W) {
        let pair = self.pair(batch, number);
        let mut sink = 0;
        for &turn in pair.turns() {
            for sample in 0..batch.samples {
                let mut at = [&raw mut sink; LANES];
                self.covered(&pair, sample, turn, &mut at);
                // SAFETY: covered texels, by the caller's contract, or the sink.
                unsafe {
                    let old = if W::READS { bytes::gather(&at) } else { NOTHING };
                    let rows = write.over(&old);
                    for i in 0..LANES {
                        at[i].write(rows[i / 4][i % 4]);
                    }
                }
            }
        }
    }

    /// The addresses of the covered texels of the quads of `turn`, by rows; others stay. Apart: it is large, and everywhere.
    #[inline(never)]
    fn covered(&self, pair: &Pair, sample: u32, turn: [bool; 2], at: &mut [*mut u32; LANES]) {
        let offset = sample as usize * self.surface.sample_stride;
        for k in 0..2 {
            let mask = if turn[k] { pixels(pair.coverage[k], sample) } else { 0 };
            let first = pair.p[k].wrapping_add(offset).cast::<u32>();
            for i in 0..4 {
                let [y, x] = PLACE[4 * k + i];
                let texel = first.wrapping_add(i & 1).wrapping_byte_add(y * self.surface.row_pitch);
                let at = &mut at[4 * y + x];
                *at = if mask & (1 << i) != 0 { texel } else { *at };
            }
        }
    }
}

/// What becomes of a pair's texels. (A closure with intrinsics in it may not be inlined.)
trait Write {
    /// It depends on what is there.
    const READS: bool;
    /// Takes the colours of a pair.
    ///
    /// # Safety
    /// The batch has the pair.
    unsafe fn take(&mut self, pair: usize);
    /// The texels, over others.
    fn over(&self, old: &Rows) -> Rows;
}

/// Stores unsigned normalised texels.
struct Store<'a, H> {
    source: &'a Sources,
    swap: bool,
    texels: Rows,
    level: PhantomData<H>,
}

impl<H: Host> Write for Store<'_, H> {
    const READS: bool = false;
    #[inline(always)]
    unsafe fn take(&mut self, pair: usize) {
        // SAFETY: the caller's contract.
        self.texels = bytes::pack::<H>(&unsafe { self.source.floats(pair) }, self.swap);
    }
    #[inline(always)]
    fn over(&self, _: &Rows) -> Rows {
        self.texels
    }
}

/// Blends unsigned normalised texels, in integers.
struct Blend<'a, H> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    from: Bytes,
    swap: bool,
    /// Bits that are written.
    mask: u32,
    level: PhantomData<H>,
}

impl<H: Host> Write for Blend<'_, H> {
    const READS: bool = true;
    #[inline(always)]
    unsafe fn take(&mut self, pair: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            self.from.s = bytes::pack::<H>(&self.sources[0].floats(pair), self.swap);
            if self.second {
                self.from.s1 = bytes::pack::<H>(&self.sources[1].floats(pair), self.swap);
            }
        }
    }
    #[inline(always)]
    fn over(&self, old: &Rows) -> Rows {
        let mut rows = bytes::blend::<H>(self.blend, &self.from, old);
        for y in 0..2 {
            for x in 0..4 {
                rows[y][x] = rows[y][x] & self.mask | old[y][x] & !self.mask;
            }
        }
        rows
    }
}

/// Stores sRGB texels.
struct StoreSrgb<'a> {
    source: &'a Sources,
    swap: bool,
    texels: Rows,
}

impl Write for StoreSrgb<'_> {
    const READS: bool = false;
    #[inline(always)]
    unsafe fn take(&mut self, pair: usize) {
        // SAFETY: the caller's contract.
        self.texels = pack_srgb(&unsafe { self.source.floats(pair) }, self.swap);
    }
    #[inline(always)]
    fn over(&self, _: &Rows) -> Rows {
        self.texels
    }
}

/// Blends sRGB texels, in linear light.
struct BlendSrgb<'a> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    colors: [Floats<LANES>; 2],
    constants: [f32; 4],
    swap: bool,
}

impl Write for BlendSrgb<'_> {
    const READS: bool = true;
    #[inline(always)]
    unsafe fn take(&mut self, pair: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            self.colors[0] = clamped(Clamp::Unorm, self.sources[0].floats(pair));
            if self.second {
                self.colors[1] = clamped(Clamp::Unorm, self.sources[1].floats(pair));
            }
        }
    }
    #[inline(always)]
    fn over(&self, old: &Rows) -> Rows {
        let d = unpack_srgb(old, self.swap);
        let [s, s1] = &self.colors;
        pack_srgb(&Operands { s, s1, d: &d, constants: self.constants }.blend(self.blend), self.swap)
    }
}

base::compiled! {
    unsafe fn store_unorm(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        plan.write_pairs(batch, Store::<H> { source: &sources[0], swap, texels: NOTHING, level: PhantomData });
    }
    unsafe fn blend_unorm [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs(batch, Blend::<H> {
            blend: bytes::equations::<NUMBER>(blend),
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            from: Bytes { s: NOTHING, s1: NOTHING, constants: [[plan.constant_bytes(swap); 4]; 2] },
            swap,
            mask: plan.write[0],
            level: PhantomData,
        });
    }
    unsafe fn store_srgb(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        plan.write_pairs(batch, StoreSrgb { source: &sources[0], swap, texels: NOTHING });
    }
    unsafe fn blend_srgb [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs(batch, BlendSrgb {
            blend: bytes::equations::<NUMBER>(blend),
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            colors: [[[0.0; LANES]; 4]; 2],
            constants: plan.constants,
            swap,
        });
    }
}

/// Red and blue change places, or don't.
#[inline(always)]
fn swapped(mut color: Floats<LANES>, swap: bool) -> Floats<LANES> {
    if swap {
        color.swap(0, 2);
    }
    color
}

/// The components of sRGB texels.
#[inline(always)]
fn unpack_srgb(texels: &Rows, swap: bool) -> Floats<LANES> {
    let mut out = [[0.0; LANES]; 4];
    for (byte, out) in out.iter_mut().enumerate() {
        for i in 0..LANES {
            let [y, x] = PLACE[i];
            let code = texels[y][x] >> (8 * byte) & 0xff;
            out[i] = if byte == 3 { code as i32 as f32 / 255.0 } else { srgb_to_linear(code as u8) };
        }
    }
    swapped(out, swap)
}

/// sRGB texels of colours; alpha nearest, ties to even.
#[inline(always)]
fn pack_srgb(color: &Floats<LANES>, swap: bool) -> Rows {
    let color = swapped(*color, swap);
    let mut rows = NOTHING;
    for i in 0..LANES {
        let [y, x] = PLACE[i];
        let alpha = base::round::low_bits(Clamp::Unorm.apply(color[3][i]) * 255.0) & 0xff;
        let [r, g, b] = [color[0][i], color[1][i], color[2][i]];
        rows[y][x] = u32::from(linear_to_srgb(r))
            | u32::from(linear_to_srgb(g)) << 8
            | u32::from(linear_to_srgb(b)) << 16
            | alpha << 24;
    }
    rows
}
