//! Blending and colour writes, a quad (four lanes, structure of arrays) at a time.
//!
//! Load, blend and store are separate: a format never meets a blend state. Common formats have their own load and store,
//! the rest goes texel by texel through `base::format`. Write masks and logic operations act on packed bits.

use super::fragment::Outputs;
use crate::api::{BlendAttachment, BlendFactor, BlendOp};
use crate::front::link::NO_SLOT;
use crate::surface::{Surface, pack_texel, unpack_texel};
use base::abi::FragmentQuad;
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::format::{Channel, ChannelName, ChannelType, Format};

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

/// Range that sources and results of blending are clamped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clamp {
    Unorm,
    Snorm,
    None,
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
                    let color = self.blend(blend, s, s1, &d);
                    // SAFETY: as above.
                    unsafe { self.store(p, mask, &color) };
                };
                // SAFETY: the caller's contract.
                unsafe { self.each(batch, operands, |p, mask, s| write(p, mask, s)) };
            }
        }
    }

    /// 8-bit targets.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`].
    unsafe fn write8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>) {
        let Some(blend) = &self.blend else {
            let packed = |quad: usize| pack8::<SRGB, SWAP>(&self.source(batch, quad));
            // SAFETY: the caller's contract.
            return unsafe { self.each(batch, packed, |p, mask, packed| self.store_words(p, mask, packed)) };
        };
        let over = (BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        let alpha_over = (BlendFactor::One, BlendFactor::OneMinusSrcAlpha, BlendOp::Add);
        // Constants here let the compiler drop the choice of factors from the loop.
        if blend.color == over && blend.alpha == over {
            let blend = BlendAttachment { color: over, alpha: over, ..*blend };
            // SAFETY: the caller's contract.
            return unsafe { self.blend8::<SRGB, SWAP>(batch, &blend) };
        }
        if blend.color == over && blend.alpha == alpha_over {
            let blend = BlendAttachment { color: over, alpha: alpha_over, ..*blend };
            // SAFETY: the caller's contract.
            return unsafe { self.blend8::<SRGB, SWAP>(batch, &blend) };
        }
        // SAFETY: the caller's contract.
        unsafe { self.blend8::<SRGB, SWAP>(batch, blend) };
    }

    /// Blended 8-bit target.
    ///
    /// # Safety
    /// As for [`ColorPlan::write_batch`].
    #[inline(always)]
    unsafe fn blend8<const SRGB: bool, const SWAP: bool>(&self, batch: &ShadedQuads<'_>, blend: &BlendAttachment) {
        let operands = |quad: usize| self.clamped(batch, quad);
        let write = |p: *mut u8, mask: u32, (s, s1): &([[f32; 4]; 4], [[f32; 4]; 4])| {
            // SAFETY: masked pixels lie inside the surface.
            let d = unpack8::<SRGB, SWAP>(unsafe { self.load_words(p, mask) });
            let color = self.blend(blend, s, s1, &d);
            // SAFETY: as above.
            unsafe { self.store_words(p, mask, &pack8::<SRGB, SWAP>(&color)) };
        };
        // SAFETY: the caller's contract.
        unsafe { self.each(batch, operands, |p, mask, s| write(p, mask, s)) };
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
        for (i, (quad, &coverage)) in batch.quads.iter().zip(batch.coverage).enumerate() {
            if coverage == 0 {
                continue;
            }
            let source = prepare(i);
            let p = self.surface.at(batch.layer, 0, u32::from(quad.x), u32::from(quad.y));
            for s in 0..batch.samples {
                let mask = super::fragment::pixels(coverage, s);
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

    /// Four 32-bit texels; zero where not masked.
    ///
    /// # Safety
    /// The masked pixels lie inside the surface.
    #[inline(always)]
    unsafe fn load_words(&self, p: *const u8, mask: u32) -> [u32; 4] {
        // SAFETY: the caller's contract; texels are aligned.
        unsafe {
            let (row0, row1) = (p.cast::<u32>(), p.wrapping_add(self.surface.row_pitch).cast::<u32>());
            if mask == 0xf {
                return [*row0, *row0.add(1), *row1, *row1.add(1)];
            }
            let at = [row0, row0.wrapping_add(1), row1, row1.wrapping_add(1)];
            core::array::from_fn(|i| if mask & (1 << i) != 0 { *at[i] } else { 0 })
        }
    }

    /// # Safety
    /// The masked pixels lie inside the surface and no other thread touches them.
    #[inline(always)]
    unsafe fn store_words(&self, p: *mut u8, mask: u32, texels: &[u32; 4]) {
        // SAFETY: the caller's contract; texels are aligned.
        unsafe {
            let (row0, row1) = (p.cast::<u32>(), p.wrapping_add(self.surface.row_pitch).cast::<u32>());
            if mask == 0xf {
                row0.cast::<[u32; 2]>().write([texels[0], texels[1]]);
                row1.cast::<[u32; 2]>().write([texels[2], texels[3]]);
                return;
            }
            let at = [row0, row0.wrapping_add(1), row1, row1.wrapping_add(1)];
            for i in 0..4 {
                if mask & (1 << i) != 0 {
                    at[i].write(texels[i]);
                }
            }
        }
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

    #[inline(always)]
    fn blend(&self, blend: &BlendAttachment, s: &[[f32; 4]; 4], s1: &[[f32; 4]; 4], d: &[[f32; 4]; 4]) -> Quad {
        let inputs = Inputs { s, s1, d, constants: self.constants };
        let mut out = Quad::default();
        for (c, out) in out.iter_mut().enumerate() {
            let (src, dst, op) = if c == 3 { blend.alpha } else { blend.color };
            let (fs, fd) = (inputs.factor(src, c), inputs.factor(dst, c));
            let each = |f: &dyn Fn(usize) -> f32| -> [u32; 4] { core::array::from_fn(|i| f(i).to_bits()) };
            *out = match op {
                BlendOp::Add => core::array::from_fn(|i| (s[c][i] * fs[i] + d[c][i] * fd[i]).to_bits()),
                BlendOp::Subtract => core::array::from_fn(|i| (s[c][i] * fs[i] - d[c][i] * fd[i]).to_bits()),
                BlendOp::ReverseSubtract => core::array::from_fn(|i| (d[c][i] * fd[i] - s[c][i] * fs[i]).to_bits()),
                BlendOp::Min => each(&|i| least(s[c][i], d[c][i])),
                BlendOp::Max => each(&|i| -least(-s[c][i], -d[c][i])),
            };
        }
        out
    }
}

/// The quads of a batch after the fragment stage and all tests.
pub struct ShadedQuads<'a> {
    /// Quads.
    pub quads: &'a [FragmentQuad],
    /// Samples left, as in [`FragmentQuad::coverage`].
    pub coverage: &'a [u16],
    /// Stage outputs.
    pub outputs: Outputs<'a>,
    /// alphaToOne.
    pub alpha_to_one: bool,
    /// Layer.
    pub layer: u32,
    /// Samples.
    pub samples: u32,
}

/// The smaller number; `b` of equal ones, so that the sign of a zero is the same everywhere (`f32::min` leaves it open); the number
/// beside a NaN.
#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() { a } else { b }
}

/// Operands of blending.
struct Inputs<'a> {
    s: &'a [[f32; 4]; 4],
    s1: &'a [[f32; 4]; 4],
    d: &'a [[f32; 4]; 4],
    constants: [f32; 4],
}

impl Inputs<'_> {
    /// A blend factor of component `c`.
    #[inline(always)]
    fn factor(&self, factor: BlendFactor, c: usize) -> [f32; 4] {
        let one_minus = |v: [f32; 4]| v.map(|v| 1.0 - v);
        match factor {
            BlendFactor::Zero => [0.0; 4],
            BlendFactor::One => [1.0; 4],
            BlendFactor::SrcColor => self.s[c],
            BlendFactor::OneMinusSrcColor => one_minus(self.s[c]),
            BlendFactor::DstColor => self.d[c],
            BlendFactor::OneMinusDstColor => one_minus(self.d[c]),
            BlendFactor::SrcAlpha => self.s[3],
            BlendFactor::OneMinusSrcAlpha => one_minus(self.s[3]),
            BlendFactor::DstAlpha => self.d[3],
            BlendFactor::OneMinusDstAlpha => one_minus(self.d[3]),
            BlendFactor::ConstantColor => [self.constants[c]; 4],
            BlendFactor::OneMinusConstantColor => [1.0 - self.constants[c]; 4],
            BlendFactor::ConstantAlpha => [self.constants[3]; 4],
            BlendFactor::OneMinusConstantAlpha => [1.0 - self.constants[3]; 4],
            BlendFactor::SrcAlphaSaturate if c == 3 => [1.0; 4],
            BlendFactor::SrcAlphaSaturate => core::array::from_fn(|i| least(self.s[3][i], 1.0 - self.d[3][i])),
            BlendFactor::Src1Color => self.s1[c],
            BlendFactor::OneMinusSrc1Color => one_minus(self.s1[c]),
            BlendFactor::Src1Alpha => self.s1[3],
            BlendFactor::OneMinusSrc1Alpha => one_minus(self.s1[3]),
        }
    }
}

impl Clamp {
    #[inline(always)]
    fn apply(self, v: f32) -> f32 {
        let between = |lo: f32, hi: f32| {
            let v = if v > lo { v } else { lo };
            if v < hi { v } else { hi }
        };
        match self {
            Clamp::Unorm => between(0.0, 1.0),
            Clamp::Snorm => between(-1.0, 1.0),
            Clamp::None => v,
        }
    }
}

/// Byte of a component.
const fn byte_of(component: usize, swap: bool) -> usize {
    if swap && component != 3 { 2 - component } else { component }
}

/// The components of four texels.
#[inline(always)]
fn unpack8<const SRGB: bool, const SWAP: bool>(texels: [u32; 4]) -> [[f32; 4]; 4] {
    let mut out = [[0.0; 4]; 4];
    for (component, out) in out.iter_mut().enumerate() {
        let shift = 8 * byte_of(component, SWAP);
        for i in 0..4 {
            let code = texels[i] >> shift & 0xff;
            out[i] = if SRGB && component != 3 { srgb_to_linear(code as u8) } else { code as i32 as f32 / 255.0 };
        }
    }
    out
}

/// Four texels of 8-bit components; normalised ones nearest, ties to even.
#[inline(always)]
fn pack8<const SRGB: bool, const SWAP: bool>(color: &Quad) -> [u32; 4] {
    // 1.5 * 2^23: the nearest integer is left in the low bits of the sum.
    const MAGIC: f32 = 12_582_912.0;
    let mut packed = [0u32; 4];
    for (component, lanes) in color.iter().enumerate() {
        let shift = 8 * byte_of(component, SWAP);
        for i in 0..4 {
            let v = f32::from_bits(lanes[i]);
            let code = if SRGB && component != 3 {
                u32::from(linear_to_srgb(v))
            } else {
                (Clamp::Unorm.apply(v) * 255.0 + MAGIC).to_bits() & 0xff
            };
            packed[i] |= code << shift;
        }
    }
    packed
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

/// `VkLogicOp` on bits.
fn logic(op: u32, s: u8, d: u8) -> u8 {
    match op {
        0 => 0,
        1 => s & d,
        2 => s & !d,
        3 => s,
        4 => !s & d,
        5 => d,
        6 => s ^ d,
        7 => s | d,
        8 => !(s | d),
        9 => !(s ^ d),
        10 => !d,
        11 => s | !d,
        12 => !s,
        13 => !s | d,
        14 => !(s & d),
        _ => 0xff,
    }
}
