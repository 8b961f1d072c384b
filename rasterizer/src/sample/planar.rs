//! The fast kernel: 2D views (arrayed or not), one filter for magnification and minification, plain samples.
//!
//! Everything is a structure of lanes: coordinates, wrapping, weights, texels and filters are loops over [`MAX_LANES`] that the
//! compiler turns into vectors. Inactive lanes take part (their level is the base level and their coordinates wrap like any
//! other, so their loads stay inside); only what they give is unspecified. Anything else goes to the general kernel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::address::{self, BORDER, mode};
use super::entry::class::GENERAL;
use super::lod;
use super::texel::{LaneTexels, Places, Texels};
use base::abi::{Dim, ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;

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
    let mut first = [0u32; MAX_LANES];
    let mut second = [0u32; MAX_LANES];
    let mut weight = [0f32; MAX_LANES];
    if view.levels > 1 {
        let lambda = lod::planar(view, sampler, args);
        lod::level_lanes::<MIP_LINEAR>(view, &lambda, &mut first, &mut second, &mut weight);
    }
    let mut layer = [0u32; MAX_LANES];
    if view.arrayed != 0 {
        for i in 0..MAX_LANES {
            layer[i] = address::layer(args.coord[2][i], view.layers);
        }
    }
    let mut texels: LaneTexels = [[0.0; MAX_LANES]; 4];
    // SAFETY: the levels exist, by `level_lanes`, the layers by `layer`.
    unsafe { sample_level::<T, LINEAR>(view, sampler, args, &first, &layer, &mut texels) };
    if MIP_LINEAR && (0..MAX_LANES).any(|i| weight[i] > 0.0 && args.mask >> i & 1 != 0) {
        let mut next: LaneTexels = [[0.0; MAX_LANES]; 4];
        // SAFETY: as above.
        unsafe { sample_level::<T, LINEAR>(view, sampler, args, &second, &layer, &mut next) };
        lerp(&mut texels, &next, &weight);
    }
    if T::SCALE != 1.0 {
        for c in 0..4 {
            for i in 0..MAX_LANES {
                texels[c][i] /= T::SCALE;
            }
        }
    }
    write(view, args, &texels);
}

/// The results, through the view's component mapping.
#[inline(always)]
fn write(view: &ImageView, args: &mut ImageArgs, texels: &LaneTexels) {
    for c in 0..4 {
        match view.swizzle[c] {
            source @ 0..=3 => {
                for i in 0..MAX_LANES {
                    args.result[c][i] = texels[usize::from(source)][i].to_bits();
                }
            }
            5 => args.result[c] = [ONE; MAX_LANES],
            _ => args.result[c] = [0; MAX_LANES],
        }
    }
}

/// One level per lane, filtered; still multiplied by the class's scale.
///
/// # Safety
/// The levels and layers exist.
#[inline(always)]
unsafe fn sample_level<T: Texels, const LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    level: &[u32; MAX_LANES],
    layer: &[u32; MAX_LANES],
    out: &mut LaneTexels,
) {
    let (mut width, mut height) = ([0i32; MAX_LANES], [0i32; MAX_LANES]);
    let mut places = Places { slice: [0; MAX_LANES], pitch: [0; MAX_LANES], mask: args.mask };
    for i in 0..MAX_LANES {
        let l = &view.level[level[i] as usize];
        width[i] = l.width as i32;
        height[i] = l.height as i32;
        // The rows of one level are at most 2^14 texels of 16 bytes.
        places.pitch[i] = l.row_pitch as u32;
        places.slice[i] = l.offset;
    }
    if view.arrayed != 0 {
        for i in 0..MAX_LANES {
            places.slice[i] += u64::from(layer[i]) * view.layer_stride;
        }
    }
    let x = axis::<LINEAR>(&args.coord[0], &args.offset[0], &width, sampler.address_mode[0]);
    let y = axis::<LINEAR>(&args.coord[1], &args.offset[1], &height, sampler.address_mode[1]);
    // SAFETY: wrapped coordinates lie inside the level.
    unsafe {
        T::load_lanes(view, &places, &x.first, &y.first, out);
        if LINEAR {
            let mut right: LaneTexels = [[0.0; MAX_LANES]; 4];
            T::load_lanes(view, &places, &x.second, &y.first, &mut right);
            lerp(out, &right, &x.weight);
            let mut lower: LaneTexels = [[0.0; MAX_LANES]; 4];
            T::load_lanes(view, &places, &x.first, &y.second, &mut lower);
            T::load_lanes(view, &places, &x.second, &y.second, &mut right);
            lerp(&mut lower, &right, &x.weight);
            lerp(out, &lower, &y.weight);
        }
    }
}

/// `a + (b - a) * t`.
#[inline(always)]
fn lerp(a: &mut LaneTexels, b: &LaneTexels, t: &Floats) {
    for c in 0..4 {
        for i in 0..MAX_LANES {
            a[c][i] += (b[c][i] - a[c][i]) * t[i];
        }
    }
}

#[inline(always)]
fn axis<const LINEAR: bool>(coord: &Floats, offset: &Ints, size: &Ints, address_mode: u32) -> Axis {
    let mut axis = Axis { first: [0; MAX_LANES], second: [0; MAX_LANES], weight: [0.0; MAX_LANES] };
    // Far outside, where only the wrapped place matters, f32 has no fraction anyway; the clamp lets the conversion
    // below be exact for every lane (NaN becomes the lower bound).
    const FAR: f32 = 1e9;
    for i in 0..MAX_LANES {
        let u = coord[i] * size[i] as f32 - if LINEAR { 0.5 } else { 0.0 };
        let u = if u > -FAR { u } else { -FAR };
        let u = if u < FAR { u } else { FAR };
        let floor = u.floor();
        axis.weight[i] = u - floor;
        // SAFETY: within ±1e9.
        axis.first[i] = unsafe { floor.to_int_unchecked::<i32>() }.wrapping_add(offset[i]);
        axis.second[i] = axis.first[i].wrapping_add(1);
    }
    let mut outside = false;
    for i in 0..MAX_LANES {
        outside |= (axis.first[i] < 0) | (axis.second[i] >= size[i]);
    }
    if outside {
        wrap_axis(&mut axis, size, address_mode);
    }
    axis
}

#[inline(always)]
fn wrap_axis(axis: &mut Axis, size: &Ints, address_mode: u32) {
    match address_mode {
        mode::REPEAT => {
            let mut not_power = 0;
            for i in 0..MAX_LANES {
                not_power |= size[i] & (size[i] - 1);
            }
            if not_power == 0 {
                for i in 0..MAX_LANES {
                    axis.first[i] &= size[i] - 1;
                    axis.second[i] &= size[i] - 1;
                }
                return;
            }
            for i in 0..MAX_LANES {
                let (at, n) = (f64::from(axis.first[i]), f64::from(size[i]));
                // |at| < 2^31 and n <= 2^14: the quotient is further from an integer than its rounding error, or is one.
                let wrapped = at - (at / n).floor() * n;
                // SAFETY: within 0..n.
                axis.first[i] = unsafe { wrapped.to_int_unchecked::<i32>() };
                let next = axis.first[i] + 1;
                axis.second[i] = if next == size[i] { 0 } else { next };
            }
        }
        mode::CLAMP_TO_EDGE => {
            for i in 0..MAX_LANES {
                axis.first[i] = axis.first[i].max(0).min(size[i] - 1);
                axis.second[i] = axis.second[i].max(0).min(size[i] - 1);
            }
        }
        _ => {
            for i in 0..MAX_LANES {
                axis.first[i] = address::wrap(axis.first[i], size[i], address_mode);
                axis.second[i] = address::wrap(axis.second[i], size[i], address_mode);
                debug_assert!(axis.first[i] != BORDER && axis.second[i] != BORDER);
            }
        }
    }
}
