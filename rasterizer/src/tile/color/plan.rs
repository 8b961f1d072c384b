//! What writing a colour attachment means in a draw.

#![forbid(unsafe_code)]

use super::equation::Clamp;
use crate::stage::NO_SLOT;
use crate::surface::Surface;
use base::epilogue::Epilogue;
use base::format::{Channel, ChannelName, ChannelType, Format};
use base::pixel::{AdvancedBlend, BlendEquations, ColorKey, ColorOp, LogicOp};

/// How a quad is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// 8-bit unsigned normalised, in the order R, G, B, A; or B, G, R, A when swapped.
    Unorm8 { swap: bool },
    /// The same, colour (not alpha) sRGB-encoded.
    Srgb8 { swap: bool },
    /// Half floats, and nothing else: R, RG or RGBA.
    Half { channels: usize },
    /// Components of 32 bits in the order R, G, B, A: a texel's words are what the stage wrote.
    Words,
    /// Any other format.
    Lanes,
}

/// Writing one colour attachment in one draw.
#[derive(Clone, Copy, Debug)]
pub struct ColorPlan {
    /// Where its texels lie.
    pub surface: Surface,
    /// Fragment output slots by component.
    pub slots: [u16; 4],
    /// Slots of the second source.
    pub slots1: [u16; 4],
    /// How quads are loaded and stored.
    pub access: Access,
    /// Range of the format.
    pub clamp: Clamp,
    /// Blending, where it is done.
    pub blend: Option<BlendEquations>,
    /// The advanced blend operation, where one is done.
    pub advanced: Option<AdvancedBlend>,
    /// Blend constants.
    pub constants: [f32; 4],
    /// `VkLogicOp`, where it is done.
    pub logic: Option<LogicOp>,
    /// Bits of a texel's words that are written; all ones when nothing is masked.
    pub write: [u32; 4],
    /// Some are not.
    pub masked: bool,
}

impl ColorPlan {
    /// What writing a key's attachment means; `None` when the stage writes nothing there. The constants are blending's.
    pub fn new(
        key: &ColorKey,
        surface: Surface,
        [slots, slots1]: [[u16; 4]; 2],
        constants: [f32; 4],
    ) -> Option<ColorPlan> {
        // A first source that no shader writes is undefined (here: 0), and need not matter to what blending makes of the second one.
        if slots.iter().chain(&slots1).all(|&s| s == NO_SLOT) {
            return None;
        }
        let (write, masked) = write_bits(key.format, key.write_mask);
        let clamp = match channels(key.format).first()?.ty {
            ChannelType::Unorm | ChannelType::Srgb => Clamp::Unorm,
            ChannelType::Snorm => Clamp::Snorm,
            _ => Clamp::None,
        };
        let (blend, advanced, logic) = match key.op {
            ColorOp::Store => (None, None, None),
            ColorOp::Blend(equations) => (Some(equations), None, None),
            ColorOp::Advanced(advanced) => (None, Some(advanced), None),
            ColorOp::Logic(op) => (None, None, Some(op)),
        };
        let (access, constants) = (access(key.format), constants.map(|c| clamp.apply(c)));
        Some(ColorPlan { surface, slots, slots1, access, clamp, blend, advanced, constants, logic, write, masked })
    }

    /// What the stage does that writes it itself, if that is one of the things that stages do.
    pub fn epilogue(&self) -> Option<Epilogue> {
        let plain = !self.masked && self.advanced.is_none() && self.logic.is_none() && self.slots1 == [NO_SLOT; 4];
        let Access::Unorm8 { swap } = self.access else { return None };
        let slots = self.slots.map(|slot| (slot != NO_SLOT).then_some(slot));
        Some(Epilogue { swap, blend: self.blend, slots }).filter(|epilogue| plain && epilogue.is_possible())
    }

    /// Nothing of what was there is left.
    pub fn overwrites(&self) -> bool {
        self.blend.is_none() && self.advanced.is_none() && self.logic.is_none() && !self.masked
    }
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
    let half = |i: usize, c: &Channel| {
        c.ty == ChannelType::Sfloat
            && c.bits == 16
            && usize::from(c.shift) == 16 * i
            && component(c.name) == Some(i as u8)
    };
    if all(&half) && matches!(channels.len(), 1 | 2 | 4) {
        return Access::Half { channels: channels.len() };
    }
    let word =
        |i: usize, c: &Channel| c.bits == 32 && usize::from(c.shift) == 32 * i && component(c.name) == Some(i as u8);
    if all(&word) && channels.len() != 3 { Access::Words } else { Access::Lanes }
}

/// Bits of a texel that a colour write mask lets through, and whether it keeps any channel back.
fn write_bits(format: Format, mask: u8) -> ([u32; 4], bool) {
    let mut bits = [u32::MAX; 4];
    let mut masked = false;
    for c in channels(format) {
        if component(c.name).is_some_and(|n| mask & (1 << n) == 0) {
            masked = true;
            for bit in usize::from(c.shift)..usize::from(c.shift) + usize::from(c.bits) {
                bits[bit / 32] &= !(1 << (bit % 32));
            }
        }
    }
    (bits, masked)
}

/// Byte of a component.
pub const fn byte_of(component: usize, swap: bool) -> usize {
    if swap && component != 3 { 2 - component } else { component }
}
