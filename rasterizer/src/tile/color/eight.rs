//! Targets of four 8-bit components, a pair of quads at a time.
//!
//! Whole pairs are two rows of four texels, which are loaded and stored as such, and so are whole quads, as two. Of other
//! quads each texel has an address, that of a sink where it is not covered: which pixels are is a riddle to branch prediction.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::bytes::{self, Bytes, PLACE, Rows};
use super::equation::{Clamp, Floats, Operands, clamped};
use super::pair::{LANES, Pair, whole};
use super::plan::{ColorPlan, byte_of};
use super::source::Sources;
use crate::stage::NO_SLOT;
use crate::tile::shaded::{ShadedQuads, pixels};
use base::format::srgb::{linear_lanes_to_srgb, srgb_lanes_to_linear};
use base::host::{Floats as Lanes, Host, Ints, Level};
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
        let write = bytes::with_equation!(blend, NUMBER => blend_unorm::<NUMBER>(level));
        // SAFETY: the caller's contract.
        unsafe { write(self, batch, sources, swap, blend) };
    }

    /// The same, colour sRGB-encoded.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_unorm8`]; the plan masks no channels.
    pub(super) unsafe fn write_srgb8(&self, level: Level, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        // SAFETY: the caller's contract, in all of them.
        unsafe {
            let Some(blend) = &self.blend else {
                let write = if swap { store_srgb::<true>(level) } else { store_srgb::<false>(level) };
                return write(self, batch, sources);
            };
            let write = if swap { blend_srgb::<true>(level) } else { blend_srgb::<false>(level) };
            write(self, batch, sources, blend);
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
        for &turn in pair.turns() {
            for sample in 0..batch.samples {
                let (first, second) = (self.quad8::<0>(&pair, sample, turn), self.quad8::<1>(&pair, sample, turn));
                let mut old = NOTHING;
                // SAFETY: covered texels, by the caller's contract.
                unsafe {
                    if W::READS {
                        first.read(&mut old);
                        second.read(&mut old);
                    }
                    let rows = write.over(&old);
                    first.write(&rows);
                    second.write(&rows);
                }
            }
        }
    }

    /// The covered pixels of a quad of a pair.
    #[inline(always)]
    fn quad8<const K: usize>(&self, pair: &Pair, sample: u32, turn: [bool; 2]) -> Quad8<K> {
        let top = pair.p[K].wrapping_add(sample as usize * self.surface.sample_stride);
        let bottom = top.wrapping_add(self.surface.row_pitch);
        let mask = if turn[K] { pixels(pair.coverage[K], sample) } else { 0 };
        Quad8 { rows: [top.cast(), bottom.cast()], mask }
    }
}

/// The covered pixels of the left (0) or the right (1) quad of a pair.
struct Quad8<const K: usize> {
    rows: [*mut [u32; 2]; 2],
    mask: u32,
}

impl<const K: usize> Quad8<K> {
    /// The address of pixel `(x, y)`; that of a sink where it is not covered.
    #[inline(always)]
    fn texel(&self, x: usize, y: usize, sink: *mut u32) -> *mut u32 {
        let p = self.rows[y].cast::<u32>().wrapping_add(x);
        if self.mask >> (2 * y + x) & 1 != 0 { p } else { sink }
    }

    /// # Safety
    /// Covered pixels are texels of four bytes.
    #[inline(always)]
    unsafe fn read(&self, to: &mut Rows) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.mask == 0xf {
                [to[0][2 * K], to[0][2 * K + 1]] = self.rows[0].read();
                [to[1][2 * K], to[1][2 * K + 1]] = self.rows[1].read();
            } else if self.mask != 0 {
                let mut sink = 0;
                let sink = &raw mut sink;
                to[0][2 * K] = self.texel(0, 0, sink).read();
                to[0][2 * K + 1] = self.texel(1, 0, sink).read();
                to[1][2 * K] = self.texel(0, 1, sink).read();
                to[1][2 * K + 1] = self.texel(1, 1, sink).read();
            }
        }
    }

    /// # Safety
    /// Covered pixels are texels of four bytes that no other thread touches.
    #[inline(always)]
    unsafe fn write(&self, from: &Rows) {
        // SAFETY: the caller's contract.
        unsafe {
            if self.mask == 0xf {
                self.rows[0].write([from[0][2 * K], from[0][2 * K + 1]]);
                self.rows[1].write([from[1][2 * K], from[1][2 * K + 1]]);
            } else if self.mask != 0 {
                let mut sink = 0;
                let sink = &raw mut sink;
                self.texel(0, 0, sink).write(from[0][2 * K]);
                self.texel(1, 0, sink).write(from[0][2 * K + 1]);
                self.texel(0, 1, sink).write(from[1][2 * K]);
                self.texel(1, 1, sink).write(from[1][2 * K + 1]);
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
struct Blend<'a, H, const NUMBER: usize> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    from: Bytes,
    swap: bool,
    /// Bits that are written.
    mask: u32,
    level: PhantomData<H>,
}

impl<H: Host, const NUMBER: usize> Write for Blend<'_, H, NUMBER> {
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
        let mut rows = bytes::blend::<H>(bytes::equations::<NUMBER>(self.blend), &self.from, old);
        for y in 0..2 {
            for x in 0..4 {
                rows[y][x] = rows[y][x] & self.mask | old[y][x] & !self.mask;
            }
        }
        rows
    }
}

/// Stores sRGB texels.
struct StoreSrgb<'a, H, const SWAP: bool> {
    source: &'a Sources,
    texels: Rows,
    level: PhantomData<H>,
}

impl<H: Host, const SWAP: bool> Write for StoreSrgb<'_, H, SWAP> {
    const READS: bool = false;
    #[inline(always)]
    unsafe fn take(&mut self, pair: usize) {
        // SAFETY: the caller's contract.
        self.texels = pack_srgb::<H, SWAP>(&unsafe { self.source.floats(pair) });
    }
    #[inline(always)]
    fn over(&self, _: &Rows) -> Rows {
        self.texels
    }
}

/// Blends sRGB texels, in linear light.
struct BlendSrgb<'a, H, const SWAP: bool> {
    blend: &'a BlendEquations,
    sources: &'a [Sources; 2],
    second: bool,
    colors: [Floats<LANES>; 2],
    constants: [f32; 4],
    level: PhantomData<H>,
}

impl<H: Host, const SWAP: bool> Write for BlendSrgb<'_, H, SWAP> {
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
        let d = unpack_srgb::<H, SWAP>(old);
        let [s, s1] = &self.colors;
        pack_srgb::<H, SWAP>(&Operands { s, s1, d: &d, constants: self.constants }.blend(self.blend))
    }
}

base::compiled! {
    unsafe fn store_unorm(plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool) {
        plan.write_pairs(batch, Store::<H> { source: &sources[0], swap, texels: NOTHING, level: PhantomData });
    }
    unsafe fn blend_unorm [const NUMBER: usize] [NUMBER]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], swap: bool, blend: &BlendEquations) {
        plan.write_pairs(batch, Blend::<H, NUMBER> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            from: Bytes { s: NOTHING, s1: NOTHING, constants: [[plan.constant_bytes(swap); 4]; 2] },
            swap,
            mask: plan.write[0],
            level: PhantomData,
        });
    }
    unsafe fn store_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2]) {
        plan.write_pairs(batch, StoreSrgb::<H, SWAP> { source: &sources[0], texels: NOTHING, level: PhantomData });
    }
    unsafe fn blend_srgb [const SWAP: bool] [SWAP]
        (plan: &ColorPlan, batch: &ShadedQuads<'_>, sources: &[Sources; 2], blend: &BlendEquations) {
        plan.write_pairs(batch, BlendSrgb::<H, SWAP> {
            blend,
            sources,
            second: plan.slots1 != [NO_SLOT; 4],
            colors: [[[0.0; LANES]; 4]; 2],
            constants: plan.constants,
            level: PhantomData,
        });
    }
}

/// The components of sRGB texels.
#[inline(always)]
fn unpack_srgb<H: Host, const SWAP: bool>(texels: &Rows) -> Floats<LANES> {
    let mut words = [0; LANES];
    for (word, [y, x]) in words.iter_mut().zip(PLACE) {
        *word = texels[y][x];
    }
    let words = H::Ints::of(words);
    let mut out = [[0.0; LANES]; 4];
    for (component, out) in out.iter_mut().enumerate() {
        let code = words.shr(8 * byte_of(component, SWAP) as u32);
        let value = if component == 3 { code.to_floats().over_255() } else { srgb_lanes_to_linear(code) };
        let bits = value.bits().lanes();
        for i in 0..LANES {
            out[i] = f32::from_bits(bits[i]);
        }
    }
    out
}

/// sRGB texels of colours; alpha nearest, ties to even.
#[inline(always)]
fn pack_srgb<H: Host, const SWAP: bool>(color: &Floats<LANES>) -> Rows {
    let mut words = H::Ints::splat(0);
    for (component, values) in color.iter().enumerate() {
        let mut bits = [0; LANES];
        for i in 0..LANES {
            bits[i] = values[i].to_bits();
        }
        let values = H::Ints::of(bits).as_floats();
        let code = if component == 3 { alpha_code(values) } else { linear_lanes_to_srgb(values) };
        words = words | code.shl(8 * byte_of(component, SWAP) as u32);
    }
    let mut rows = NOTHING;
    for (word, [y, x]) in words.lanes().into_iter().zip(PLACE) {
        rows[y][x] = word;
    }
    rows
}

/// The codes of linear components; not-a-number becomes 0.
#[inline(always)]
fn alpha_code<F: Lanes>(values: F) -> F::Ints {
    let codes = (values.max(F::splat(0.0)).min(F::splat(1.0)) * F::splat(255.0)).round();
    codes.truncate()
}
