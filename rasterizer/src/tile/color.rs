//! Blending and colour writes, a quad (four lanes, structure of arrays) at a time.
//!
//! Load, blend and store are separate: a format never meets a blend state. Common formats have their own load and store,
//! the rest goes texel by texel through `base::format`. Write masks and logic operations act on packed bits.

use crate::api::{BlendAttachment, BlendFactor, BlendOp};
use crate::front::link::NO_SLOT;
use crate::surface::{Surface, pack_texel, unpack_texel};
use base::format::{Channel, ChannelName, ChannelType, Format};

/// Four components of four pixels, component first; bits of f32 or integers by format class.
pub type Quad = [[u32; 4]; 4];

/// How a quad is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// 8-bit unsigned normalised, byte `i` holds component `order[i]`.
    Unorm8([u8; 4]),
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

    /// Blends and writes the pixels of `mask` (bit per lane) at `p`, the quad's upper left texel.
    ///
    /// # Safety
    /// The masked pixels lie inside the surface and no other thread touches them.
    pub unsafe fn write(&self, p: *mut u8, mask: u32, source: &Quad, source1: &Quad) {
        let mut color = *source;
        if let Some(blend) = &self.blend {
            // SAFETY: the caller's contract.
            let destination = unsafe { self.load(p, mask) };
            color = self.blend(blend, source, source1, &destination);
        }
        // SAFETY: the caller's contract.
        unsafe { self.store(p, mask, &color) };
    }

    #[inline(always)]
    fn pixel(&self, p: *mut u8, lane: usize) -> *mut u8 {
        p.wrapping_add((lane & 1) * self.surface.bytes + (lane >> 1) * self.surface.row_pitch)
    }

    /// # Safety
    /// As for [`ColorPlan::write`].
    #[inline]
    unsafe fn load(&self, p: *mut u8, mask: u32) -> Quad {
        let mut quad = Quad::default();
        for lane in 0..4 {
            if mask & (1 << lane) == 0 {
                continue;
            }
            // SAFETY: a masked pixel lies inside the surface.
            let raw = unsafe { read(self.pixel(p, lane), self.surface.bytes) };
            let texel = match self.access {
                Access::Unorm8(order) => {
                    let mut texel = [0; 4];
                    for (byte, &component) in raw.iter().zip(&order) {
                        texel[usize::from(component)] = (f32::from(*byte) / 255.0).to_bits();
                    }
                    texel
                }
                _ => unpack_texel(self.surface.format, &raw),
            };
            for (component, value) in quad.iter_mut().zip(texel) {
                component[lane] = value;
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
            Access::Unorm8(order) if plain => {
                let packed = pack_unorm8(color, order);
                for (lane, &texel) in packed.iter().enumerate() {
                    if mask & (1 << lane) != 0 {
                        // SAFETY: a masked pixel lies inside the surface, its four bytes are aligned.
                        unsafe { self.pixel(p, lane).cast::<u32>().write(texel) };
                    }
                }
            }
            Access::Raw32(n) if plain => {
                for lane in 0..4 {
                    if mask & (1 << lane) != 0 {
                        for (i, component) in color.iter().enumerate().take(n) {
                            // SAFETY: as above; the texel has `n` aligned words.
                            unsafe { self.pixel(p, lane).cast::<u32>().add(i).write(component[lane]) };
                        }
                    }
                }
            }
            _ => {
                for lane in 0..4 {
                    if mask & (1 << lane) != 0 {
                        let texel = core::array::from_fn(|c| color[c][lane]);
                        // SAFETY: as above.
                        unsafe { self.store_generic(self.pixel(p, lane), texel) };
                    }
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

    fn blend(&self, blend: &BlendAttachment, source: &Quad, source1: &Quad, destination: &Quad) -> Quad {
        let clamp = |q: &Quad| q.map(|c| c.map(|v| self.clamp.apply(f32::from_bits(v))));
        let (s, s1) = (clamp(source), clamp(source1));
        let d = destination.map(|c| c.map(f32::from_bits));
        let inputs = Inputs { s: &s, s1: &s1, d: &d, constants: self.constants };
        let mut out = Quad::default();
        for (c, out) in out.iter_mut().enumerate() {
            let (src, dst, op) = if c == 3 { blend.alpha } else { blend.color };
            let (fs, fd) = (inputs.factor(src, c), inputs.factor(dst, c));
            let value = |i: usize| {
                let (ws, wd) = (s[c][i] * fs[i], d[c][i] * fd[i]);
                match op {
                    BlendOp::Add => ws + wd,
                    BlendOp::Subtract => ws - wd,
                    BlendOp::ReverseSubtract => wd - ws,
                    BlendOp::Min => s[c][i].min(d[c][i]),
                    BlendOp::Max => s[c][i].max(d[c][i]),
                }
            };
            *out = core::array::from_fn(|i| value(i).to_bits());
        }
        out
    }
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
            BlendFactor::SrcAlphaSaturate => core::array::from_fn(|i| self.s[3][i].min(1.0 - self.d[3][i])),
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

/// Four texels of 8-bit normalised components; nearest, ties to even.
#[inline(always)]
fn pack_unorm8(color: &Quad, order: [u8; 4]) -> [u32; 4] {
    // 1.5 * 2^23: the nearest integer is left in the low bits of the sum.
    const MAGIC: f32 = 12_582_912.0;
    let mut packed = [0u32; 4];
    for (byte, &component) in order.iter().enumerate() {
        let lanes = &color[usize::from(component)];
        for (texel, &v) in packed.iter_mut().zip(lanes) {
            let v = Clamp::Unorm.apply(f32::from_bits(v));
            *texel |= ((v * 255.0 + MAGIC).to_bits() & 0xff) << (8 * byte);
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
    if channels.len() == 4 && all(&|_, c| c.bits == 8 && c.ty == ChannelType::Unorm && component(c.name).is_some()) {
        let mut order = [0; 4];
        for c in channels {
            order[usize::from(c.shift / 8)] = component(c.name).unwrap_or(0);
        }
        return Access::Unorm8(order);
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
