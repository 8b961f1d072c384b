//! The component mapping of a view, for one texel and for the texels of all lanes.

#![forbid(unsafe_code)]

use base::abi::{ImageView, MAX_LANES};
use base::format::Texel;
use base::format::lanes::Lanes;
use base::format::pack::ONE;
use base::host::Ints;

/// Applies the view's component mapping to a texel.
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

/// Applies the view's component mapping to the texels of all lanes, and writes `result`. `one` is
/// the bits of a component that is 1.
#[inline(always)]
pub fn map_lanes<V: Ints>(view: &ImageView, result: &mut Lanes, texels: [V; 4], one: u32) {
    if view.swizzle == [0, 1, 2, 3] {
        for (result, texels) in result.iter_mut().zip(texels) {
            *result = texels.to_array();
        }
        return;
    }
    let [r, g, b, a] = texels;
    let texels = [r.to_array(), g.to_array(), b.to_array(), a.to_array()];
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
