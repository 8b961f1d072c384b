//! The component mapping of a view, for one texel and for the texels of all lanes.

#![forbid(unsafe_code)]

use base::abi::{ImageView, MAX_LANES};
use base::format::Texel;
use base::format::lanes::Lanes;
use base::format::pack::ONE;

/// A texel through the mapping.
#[inline(always)]
pub fn map(view: &ImageView, t: Texel, integer: bool) -> Texel {
    if view.swizzle == [0, 1, 2, 3] {
        return t;
    }
    view.swizzle.map(|source| match source {
        0..=3 => t[usize::from(source)],
        5 if integer => 1,
        5 => ONE,
        _ => 0,
    })
}

/// Texels through the mapping; `one` is the bits of a component that is 1.
#[inline(always)]
pub fn map_lanes(view: &ImageView, result: &mut Lanes, texels: &Lanes, one: u32) {
    if view.swizzle == [0, 1, 2, 3] {
        *result = *texels;
        return;
    }
    for (result, source) in result.iter_mut().zip(view.swizzle) {
        *result = match source {
            0 => texels[0],
            1 => texels[1],
            2 => texels[2],
            3 => texels[3],
            5 => [one; MAX_LANES],
            _ => [0; MAX_LANES],
        };
    }
}
