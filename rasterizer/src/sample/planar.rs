//! The fast kernel: 2D views (arrayed or not), one filter for magnification and minification, plain samples.
//!
//! Coordinates, wrapping and weights are computed for all lanes together, in loops the compiler turns into vectors; then each
//! lane loads its texels and blends four components at a time. Anything else goes to the general kernel.

#![allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::address::{self, BORDER, mode};
use super::entry::class::GENERAL;
use super::general;
use super::lod;
use super::texel::Texels;
use base::abi::{Dim, ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::Texel;

type Floats = [f32; MAX_LANES];
type Ints = [i32; MAX_LANES];

/// Texels and weights of one axis, for all lanes.
struct Axis {
    first: Ints,
    second: Ints,
    weight: Floats,
}

/// Samples all active lanes.
///
/// # Safety
/// `view` is a valid, non-empty view whose format belongs to class `T`, a class of float texels; the sampler belongs to
/// the sampler class of (LINEAR, MIP_LINEAR).
#[inline(always)]
pub unsafe fn sample<T: Texels, const LINEAR: bool, const MIP_LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
) {
    let borders = sampler.address_mode[0] == mode::CLAMP_TO_BORDER || sampler.address_mode[1] == mode::CLAMP_TO_BORDER;
    if args.op != SampleOp::Sample || view.dim != Dim::D2 || borders {
        // Through the pointer: the general kernel is big, and one copy of it per class is enough.
        // SAFETY: the caller's promise; the general kernel of the same view.
        return unsafe { (view.kernels[KERNEL_SAMPLE + GENERAL as usize])(view, sampler, args) };
    }
    let mut level = [[0usize; MAX_LANES]; 2];
    let mut weight = [0f32; MAX_LANES];
    let mut layer = [0u32; MAX_LANES];
    let lods = if view.levels > 1 { lod::lods(view, sampler, args) } else { Default::default() };
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        (level[0][i], level[1][i], weight[i]) = lod::levels(view, lods[i].lambda, MIP_LINEAR);
        if view.arrayed != 0 {
            layer[i] = address::layer(args.coord[2][i], view.layers);
        }
    }
    let passes = 1 + usize::from(MIP_LINEAR && weight.iter().any(|&w| w > 0.0));
    let mut texel = [[0f32; 4]; MAX_LANES];
    for (pass, level) in level.iter().enumerate().take(passes) {
        // SAFETY: the levels exist, by `levels`.
        let sampled = unsafe { sample_level::<T, LINEAR>(view, sampler, args, level, &layer) };
        for i in 0..MAX_LANES {
            texel[i] = if pass == 0 { sampled[i] } else { lerp(texel[i], sampled[i], weight[i]) };
        }
    }
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        let t = texel[i].map(|c| if T::SCALE == 1.0 { c.to_bits() } else { (c / T::SCALE).to_bits() });
        let t = general::swizzle(view, t, false);
        for c in 0..4 {
            args.result[c][i] = t[c];
        }
    }
}

/// One level per lane, filtered; still multiplied by the class's scale.
#[inline(always)]
unsafe fn sample_level<T: Texels, const LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    level: &[usize; MAX_LANES],
    layer: &[u32; MAX_LANES],
) -> [[f32; 4]; MAX_LANES] {
    let width = level.map(|l| view.level[l].width as i32);
    let height = level.map(|l| view.level[l].height as i32);
    let x = axis::<LINEAR>(&args.coord[0], &args.offset[0], &width, sampler.address_mode[0]);
    let y = axis::<LINEAR>(&args.coord[1], &args.offset[1], &height, sampler.address_mode[1]);
    let mut out = [[0f32; 4]; MAX_LANES];
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        let l = &view.level[level[i]];
        let slice = l.offset + u64::from(layer[i]) * view.layer_stride;
        // SAFETY: level and layer are inside the view, wrapped coordinates inside the level.
        unsafe {
            let slice = view.base.add(slice as usize).cast_const();
            let load = |x: i32, y: i32| floats(T::load(view, slice, l.row_pitch, x as u32, y as u32));
            let (x0, y0) = (x.first[i], y.first[i]);
            out[i] = if LINEAR {
                let (x1, y1) = (x.second[i], y.second[i]);
                let upper = lerp(load(x0, y0), load(x1, y0), x.weight[i]);
                let lower = lerp(load(x0, y1), load(x1, y1), x.weight[i]);
                lerp(upper, lower, y.weight[i])
            } else {
                load(x0, y0)
            };
        }
    }
    out
}

#[inline(always)]
fn floats(t: Texel) -> [f32; 4] {
    t.map(f32::from_bits)
}

#[inline(always)]
fn lerp(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * t)
}

#[inline(always)]
fn axis<const LINEAR: bool>(coord: &Floats, offset: &Ints, size: &Ints, address_mode: u32) -> Axis {
    let mut axis = Axis { first: [0; MAX_LANES], second: [0; MAX_LANES], weight: [0.0; MAX_LANES] };
    // Far outside, where only the wrapped place matters, f32 has no fraction anyway; the clamp lets the conversion
    // below be exact for every lane (NaN becomes the lower bound).
    const FAR: f32 = 1e9;
    for i in 0..MAX_LANES {
        let u = (coord[i] * size[i] as f32 - if LINEAR { 0.5 } else { 0.0 }).max(-FAR).min(FAR);
        let floor = u.floor();
        axis.weight[i] = u - floor;
        axis.first[i] = (floor as i32).wrapping_add(offset[i]);
        axis.second[i] = axis.first[i].wrapping_add(1);
    }
    let outside = (0..MAX_LANES).any(|i| axis.first[i] < 0 || axis.second[i] >= size[i]);
    if outside {
        for i in 0..MAX_LANES {
            axis.first[i] = wrap(axis.first[i], size[i], address_mode);
            axis.second[i] = wrap(axis.second[i], size[i], address_mode);
        }
    }
    axis
}

#[inline(always)]
fn wrap(i: i32, size: i32, address_mode: u32) -> i32 {
    // Inactive lanes may hold anything, size included; theirs is not used.
    if size <= 0 {
        return 0;
    }
    let at = address::wrap(i, size, address_mode);
    debug_assert!(at != BORDER);
    at
}
