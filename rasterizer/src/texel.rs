//! Interim: texel conversion until `base::format::pack` lands; normalised, integer and 32-bit float channels only.

use base::format::{ChannelName, ChannelType, Format};

fn place(name: ChannelName) -> Option<usize> {
    [ChannelName::R, ChannelName::G, ChannelName::B, ChannelName::A].iter().position(|&n| n == name)
}

pub fn unpack_texel(format: Format, raw: &[u8; 16]) -> [u32; 4] {
    let info = format.info();
    let bits = u128::from_le_bytes(*raw);
    let mut out = [0, 0, 0, if format.is_integer() { 1 } else { 1f32.to_bits() }];
    for c in &info.channels[..usize::from(info.channel_count)] {
        let Some(i) = place(c.name) else { continue };
        let max = ((1u64 << c.bits) - 1) as u32;
        let v = (bits >> c.shift) as u32 & max;
        out[i] = match c.ty {
            ChannelType::Unorm | ChannelType::Srgb => (v as f32 / max as f32).to_bits(),
            ChannelType::Sint => (((v as i32) << (32 - c.bits)) >> (32 - c.bits)) as u32,
            _ => v,
        };
    }
    out
}

pub fn pack_texel(format: Format, texel: [u32; 4]) -> [u8; 16] {
    let info = format.info();
    let mut bits = 0u128;
    for c in &info.channels[..usize::from(info.channel_count)] {
        let Some(i) = place(c.name) else { continue };
        let max = ((1u64 << c.bits) - 1) as u32;
        let v = match c.ty {
            ChannelType::Unorm | ChannelType::Srgb => {
                (f64::from(f32::from_bits(texel[i]).clamp(0.0, 1.0)) * f64::from(max)).round_ties_even() as u32
            }
            _ => texel[i] & max,
        };
        bits |= u128::from(v) << c.shift;
    }
    bits.to_le_bytes()
}
