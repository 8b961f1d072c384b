//! The plan of how a draw writes a colour attachment.

#![forbid(unsafe_code)]

use super::equation::Clamp;
use crate::stages::NO_SLOT;
use crate::surface::RenderSurface;
use base::epilogue::Epilogue;
use base::format::{Channel, ChannelName, ChannelType, Format};
use base::pixel::{AdvancedBlend, BlendEquations, ColorKey, ColorOp, LogicOp};

/// The way in which a quad is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// 8-bit unsigned normalised components in the order R, G, B, A, or B, G, R, A when swapped.
    Unorm8 { swap: bool },
    /// 8-bit unsigned normalised components whose colour (not alpha) is sRGB-encoded, in the order
    /// of [`Access::Unorm8`].
    Srgb8 { swap: bool },
    /// Half floats only: R, RG or RGBA.
    Half { channels: usize },
    /// Components of 32 bits in the order R, G, B, A: a texel's words are the stage's outputs.
    Words,
    /// Any other format.
    Lanes,
}

/// The plan for writing one colour attachment in one draw.
#[derive(Clone, Copy, Debug)]
pub struct ColorPlan {
    /// Location of the attachment's texels.
    pub surface: RenderSurface,
    /// Fragment output slots by component.
    pub slots: [u16; 4],
    /// Slots of the second source by component.
    pub slots1: [u16; 4],
    /// The way in which quads are loaded and stored.
    pub access: Access,
    /// Range of the format.
    pub clamp: Clamp,
    /// The blend equations, if the draw blends.
    pub blend: Option<BlendEquations>,
    /// The advanced blend operation, if the draw uses one.
    pub advanced: Option<AdvancedBlend>,
    /// Blend constants.
    pub constants: [f32; 4],
    /// The logic operation (`VkLogicOp`), if the draw uses one.
    pub logic: Option<LogicOp>,
    /// Bits of a texel's words that are written; all ones if nothing is masked.
    pub write: [u32; 4],
    /// True if some bits are not written.
    pub masked: bool,
}

impl ColorPlan {
    /// Makes the plan for a key's attachment; returns `None` if the stage writes nothing there. The
    /// constants are the blend constants.
    pub fn new(
        key: &ColorKey,
        surface: RenderSurface,
        [slots, slots1]: [[u16; 4]; 2],
        constants: [f32; 4],
    ) -> Option<ColorPlan> {
        // A first source that no shader writes is undefined (here: 0), and the result of blending
        // with the second source may not depend on it.
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

    /// Returns the epilogue with which a stage writes the attachment itself, if there is one for
    /// this plan.
    pub fn epilogue(&self) -> Option<Epilogue> {
        let plain = !self.masked && self.advanced.is_none() && self.logic.is_none() && self.slots1 == [NO_SLOT; 4];
        let Access::Unorm8 { swap } = self.access else { return None };
        let slots = self.slots.map(|slot| (slot != NO_SLOT).then_some(slot));
        Some(Epilogue { swap, blend: self.blend, slots }).filter(|epilogue| plain && epilogue.is_supported())
    }

    /// Returns true if a write leaves nothing of the old texel.
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

/// Returns the bits of a texel that a colour write mask enables, and whether it disables any
/// channel.
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

/// Returns the byte offset of a component in a texel.
pub const fn byte_of(component: usize, swap: bool) -> usize {
    if swap && component != 3 { 2 - component } else { component }
}
