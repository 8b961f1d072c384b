//! Blending and colour writes, in structures of lanes.
//!
//! Load, blend and store are separate: a format never meets a blend state. 8-bit formats have their own path (`eight`), the rest
//! goes quad by quad and texel by texel through `base::format`. Write masks and logic operations act on packed bits.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

mod eight;
mod equation;

use super::fragment::Outputs;
use crate::api::BlendAttachment;
use crate::front::link::NO_SLOT;
use crate::surface::{Surface, pack_texel, unpack_texel};
use base::abi::FragmentQuad;
use base::format::{Channel, ChannelName, ChannelType, Format};
use eight::byte_of;
use equation::{Clamp, Operands, logic};

/// Four components of four pixels, component first; bits of f32 or integers by format class.
pub type Quad = [[u32; 4]; 4];

/// How a quad is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// 8-bit unsigned normalised, in the order R, G, B, A; or B, G, R, A when swapped.
    Unorm8 { swap: bool },
    /// The same, colour (not alpha) sRGB-encoded.
    Srgb8 { swap: bool },
    /// One to four 32-bit channels in order: bits are copied.
    Raw32(usize),
    /// Any other format.
    Generic,
}

/// Writing one colour attachment in one draw.
#[derive(Clone, Copy, Debug)]
pub struct ColorPlan {
    /// Attachment number.
    pub attachment: usize,
    /// Where its texels lie.
    pub surface: Surface,
    /// Fragment output slots by component.
    pub slots: [u16; 4],
    /// Slots of the second source.
    pub slots1: [u16; 4],
    access: Access,
    clamp: Clamp,
    blend: Option<BlendAttachment>,
    constants: [f32; 4],
    logic: Option<u32>,
    /// Bits of a texel that are written; all ones when nothing is masked.
    write: [u8; 16],
    masked: bool,
}

impl ColorPlan {
    /// `None` when nothing of the attachment can be written.
    pub fn new(
        attachment: usize,
        surface: Surface,
        [slots, slots1]: [[u16; 4]; 2],
        state: &crate::api::DrawState,
    ) -> Option<ColorPlan> {
        let blend = state.blend[attachment];
        if slots.iter().all(|&s| s == NO_SLOT) || blend.write_mask & 0xf == 0 {
            return None;
        }
        let format = surface.format;
        let ty = channels(format).first()?.ty;
        let (write, masked) = write_bits(format, blend.write_mask);
        let float = matches!(ty, ChannelType::Sfloat | ChannelType::Ufloat);
        let logic = state.logic_op.filter(|_| !float && ty != ChannelType::Srgb);
        let blends = blend.enable && !format.is_integer() && state.logic_op.is_none();
        let clamp = match ty {
            ChannelType::Unorm | ChannelType::Srgb => Clamp::Unorm,
            ChannelType::Snorm => Clamp::Snorm,
            _ => Clamp::None,
        };
        let constants = state.blend_constants.map(|c| clamp.apply(c));
        let access = access(format);
        let blend = blends.then_some(blend);
        Some(ColorPlan { attachment, surface, slots, slots1, access, clamp, blend, constants, logic, write, masked })
    }

    /// Writes all quads of a batch, in order.
    ///
    /// # Safety
    /// Covered pixels and samples lie inside the surface's layer and no other thread touches them.
    pub unsafe fn write_batch(&self, batch: &ShadedQuads<'_>) {
        #[cfg(target_arch = "x86_64")]
        if crate::host::wide() {
            // SAFETY: the host has the features; otherwise the caller's contract.
            return unsafe { self.write_wide(batch) };
        }
        // SAFETY: the caller's contract.
        unsafe { self.write(batch) };
    }

    /// # Safety
    /// As for [`ColorPlan::write_batch`], on a [`crate::host::wide`] host.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn write_wide(&self, batch: &ShadedQuads<'_>) {
        // SAFETY: the caller's contract.
        unsafe { self.write(batch) };
    }

    /// # Safety
    /// As for [`ColorPlan::write_batch`].
    #[inline(always)]
    unsafe fn write(&self, batch: &ShadedQuads<'_>) {
        let plain = !self.masked && self.logic.is_none();
        match self.access {
            // SAFETY: the caller's contract, in all four.
            Access::Unorm8 { swap: false } if plain => unsafe { self.write8::<false, false>(batch) },
            // SAFETY: see above.
            Access::Unorm8 { swap: true } if plain => unsafe { self.write8::<false, true>(batch) },
            // SAFETY: see above.
            Access::Srgb8 { swap: false } if plain => unsafe { self.write8::<true, false>(batch) },
            // SAFETY: see above.
            Access::Srgb8 { swap: true } if plain => unsafe { self.write8::<true, true>(batch) },
            // SAFETY: the caller's contract.
            _ => unsafe { self.write_generic(batch) },
        }
    }

    /// Formats without a path of their own, write masks and logic operations.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`].
    unsafe fn write_generic(&self, batch: &ShadedQuads<'_>) {
        match &self.blend {
            None => {
                let source = |quad: usize| self.source(batch, quad);
                // SAFETY: the caller's contract.
                unsafe { self.each(batch, source, |p, mask, color| self.store(p, mask, color)) };
            }
            Some(blend) => {
                let operands = |quad: usize| self.clamped(batch, quad);
                let write = |p: *mut u8, mask: u32, (s, s1): &([[f32; 4]; 4], [[f32; 4]; 4])| {
                    // SAFETY: masked pixels lie inside the surface.
                    let d = unsafe { self.load(p, mask) };
                    let blended = Operands { s, s1, d: &d, constants: self.constants }.blend(blend);
                    let color = blended.map(|row| row.map(f32::to_bits));
                    // SAFETY: as above.
                    unsafe { self.store(p, mask, &color) };
                };
                // SAFETY: the caller's contract.
                unsafe { self.each(batch, operands, |p, mask, s| write(p, mask, s)) };
            }
        }
    }

    /// Prepares every covered quad once and calls `write` for each of its samples.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`]; `write` touches the masked pixels of its quad only.
    #[inline(always)]
    unsafe fn each<T>(
        &self,
        batch: &ShadedQuads<'_>,
        prepare: impl Fn(usize) -> T,
        mut write: impl FnMut(*mut u8, u32, &T),
    ) {
        for (i, quad) in batch.quads.iter().enumerate() {
            if quad.coverage == 0 {
                continue;
            }
            let source = prepare(i);
            let p = self.surface.at(batch.layer, 0, u32::from(quad.x), u32::from(quad.y));
            for s in 0..batch.samples {
                let mask = super::fragment::pixels(quad.coverage, s);
                if mask != 0 {
                    write(p.wrapping_add(s as usize * self.surface.sample_stride), mask, &source);
                }
            }
        }
    }

    /// Source colour of a quad.
    #[inline(always)]
    fn source(&self, batch: &ShadedQuads<'_>, quad: usize) -> Quad {
        let mut source = batch.outputs.color(quad, &self.slots);
        if batch.alpha_to_one {
            source[3] = [1f32.to_bits(); 4];
        }
        source
    }

    /// Both sources as floats in the format's range.
    #[inline(always)]
    fn clamped(&self, batch: &ShadedQuads<'_>, quad: usize) -> ([[f32; 4]; 4], [[f32; 4]; 4]) {
        let clamp = |q: Quad| {
            let mut out = [[0.0; 4]; 4];
            for c in 0..4 {
                for i in 0..4 {
                    out[c][i] = self.clamp.apply(f32::from_bits(q[c][i]));
                }
            }
            out
        };
        let second =
            if self.slots1 == [NO_SLOT; 4] { [[0.0; 4]; 4] } else { clamp(batch.outputs.color(quad, &self.slots1)) };
        (clamp(self.source(batch, quad)), second)
    }

    #[inline(always)]
    fn pixel(&self, p: *mut u8, lane: usize) -> *mut u8 {
        p.wrapping_add((lane & 1) * self.surface.bytes + (lane >> 1) * self.surface.row_pitch)
    }

    /// # Safety
    /// As for [`ColorPlan::write`].
    #[inline]
    unsafe fn load(&self, p: *mut u8, mask: u32) -> [[f32; 4]; 4] {
        let mut quad = [[0.0; 4]; 4];
        for lane in 0..4 {
            if mask & (1 << lane) == 0 {
                continue;
            }
            // SAFETY: a masked pixel lies inside the surface.
            let raw = unsafe { read(self.pixel(p, lane), self.surface.bytes) };
            let texel = unpack_texel(self.surface.format, &raw);
            for (component, value) in quad.iter_mut().zip(texel) {
                component[lane] = f32::from_bits(value);
            }
        }
        quad
    }

    /// # Safety
    /// As for [`ColorPlan::write`].
    #[inline]
    unsafe fn store(&self, p: *mut u8, mask: u32, color: &Quad) {
        let plain = !self.masked && self.logic.is_none();
        match self.access {
            Access::Raw32(n) if plain => {
                for lane in (0..4).filter(|lane| mask & (1 << lane) != 0) {
                    for (i, component) in color.iter().enumerate().take(n) {
                        // SAFETY: a masked pixel lies inside the surface; the texel has `n` aligned words.
                        unsafe { self.pixel(p, lane).cast::<u32>().add(i).write(component[lane]) };
                    }
                }
            }
            _ => {
                for lane in (0..4).filter(|lane| mask & (1 << lane) != 0) {
                    let texel = core::array::from_fn(|c| color[c][lane]);
                    // SAFETY: as above.
                    unsafe { self.store_generic(self.pixel(p, lane), texel) };
                }
            }
        }
    }

    /// # Safety
    /// `p` points to a texel of the surface.
    unsafe fn store_generic(&self, p: *mut u8, texel: [u32; 4]) {
        let bytes = self.surface.bytes;
        let mut new = pack_texel(self.surface.format, texel);
        if !(self.masked || self.logic.is_some()) {
            // SAFETY: the caller's contract.
            return unsafe { core::ptr::copy_nonoverlapping(new.as_ptr(), p, bytes) };
        }
        // SAFETY: the caller's contract.
        let old = unsafe { read(p, bytes) };
        for i in 0..bytes {
            let value = self.logic.map_or(new[i], |op| logic(op, new[i], old[i]));
            new[i] = old[i] & !self.write[i] | value & self.write[i];
        }
        // SAFETY: the caller's contract.
        unsafe { core::ptr::copy_nonoverlapping(new.as_ptr(), p, bytes) };
    }
}

/// The quads of a batch after the fragment stage and all tests.
pub struct ShadedQuads<'a> {
    /// Quads, with the coverage that is left.
    pub quads: &'a [FragmentQuad],
    /// Stage outputs.
    pub outputs: Outputs<'a>,
    /// alphaToOne.
    pub alpha_to_one: bool,
    /// Layer.
    pub layer: u32,
    /// Samples.
    pub samples: u32,
}

/// # Safety
/// `p` points to `bytes` (at most 16) readable bytes.
#[inline(always)]
unsafe fn read(p: *const u8, bytes: usize) -> [u8; 16] {
    let mut raw = [0; 16];
    // SAFETY: the caller's contract; `bytes` is a texel's size, at most 16.
    unsafe { core::ptr::copy_nonoverlapping(p, raw.as_mut_ptr(), bytes.min(16)) };
    raw
}

fn channels(format: Format) -> &'static [Channel] {
    let info = format.info();
    &info.channels[..usize::from(info.channel_count)]
}

fn component(name: ChannelName) -> Option<u8> {
    match name {
        ChannelName::R => Some(0),
        ChannelName::G => Some(1),
        ChannelName::B => Some(2),
        ChannelName::A => Some(3),
        _ => None,
    }
}

fn access(format: Format) -> Access {
    let channels = channels(format);
    let all = |f: &dyn Fn(usize, &Channel) -> bool| channels.iter().enumerate().all(|(i, c)| f(i, c));
    let eight = channels.len() == 4 && all(&|_, c| c.bits == 8 && component(c.name).is_some());
    let unorm = all(&|_, c| c.ty == ChannelType::Unorm);
    let srgb = all(&|_, c| (c.ty == ChannelType::Srgb) == (c.name != ChannelName::A) && c.ty != ChannelType::Snorm);
    if eight && (unorm || srgb) {
        let red = channels.iter().find(|c| c.name == ChannelName::R).map_or(0, |c| c.shift);
        let straight = |swap| {
            let at = |c: &Channel| {
                component(c.name).is_some_and(|n| 8 * byte_of(usize::from(n), swap) == usize::from(c.shift))
            };
            channels.iter().all(at)
        };
        let swap = red == 16;
        if straight(swap) {
            return if srgb { Access::Srgb8 { swap } } else { Access::Unorm8 { swap } };
        }
    }
    let raw = |i: usize, c: &Channel| {
        let plain = matches!(c.ty, ChannelType::Sfloat | ChannelType::Uint | ChannelType::Sint);
        plain && c.bits == 32 && usize::from(c.shift) == 32 * i && component(c.name) == Some(i as u8)
    };
    if all(&raw) { Access::Raw32(channels.len()) } else { Access::Generic }
}

/// Bits of a texel that a colour write mask lets through, and whether it keeps any channel back.
fn write_bits(format: Format, mask: u8) -> ([u8; 16], bool) {
    let mut bits = [0xff; 16];
    let mut masked = false;
    for c in channels(format) {
        if component(c.name).is_some_and(|n| mask & (1 << n) == 0) {
            masked = true;
            for bit in usize::from(c.shift)..usize::from(c.shift) + usize::from(c.bits) {
                bits[bit / 8] &= !(1 << (bit % 8));
            }
        }
    }
    (bits, masked)
}
