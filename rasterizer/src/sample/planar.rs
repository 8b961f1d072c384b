//! The fast kernels: 2D views (arrayed or not), one filter for magnification and minification, plain samples; and the
//! anisotropic one, with linear filters.
//!
//! Everything is a structure of lanes: coordinates, wrapping, weights, texels and filters are loops over [`MAX_LANES`] that the
//! compiler turns into vectors. Inactive lanes take part (their level exists and their coordinates wrap like any
//! other, so their loads stay inside); only what they give is unspecified. Anything else goes to the general kernel.
//!
//! One level of one layer at a time ([`level`]): mostly that is all lanes. Lanes that differ take turns.
//!
//! The pieces are functions of their own (`compiled!`) that take and give lanes through memory. That is on purpose: within one
//! function, lanes that are joined behind a branch or carried around a loop become single registers per lane; loaded from memory they are
//! vectors.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::address::{self, BORDER, mode};
use super::class::GENERAL;
use super::components::map_lanes;
use super::lod::{self, lambda_of};
use super::texel::{Ints, Slice, Texels};
use super::words::{merge, row, spread};
use base::abi::{Dim, ImageArgs, ImageLevel, ImageView, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::lanes::Lanes;
use base::format::pack::ONE;
use base::host::{Host, apart};

type Floats = [f32; MAX_LANES];

base::compiled! {
    /// [`select`].
    unsafe fn select_of(view: &ImageView, sampler: &Sampler, args: &ImageArgs, mip_linear: bool,
        levels: &mut [[u32; MAX_LANES]; 2], weight: &mut Floats) {
        select::<H>(view, sampler, args, mip_linear, levels, weight);
    }
    /// [`level`].
    unsafe fn level_of [T: Texels, const LINEAR: bool, const SCALED: bool] [T, LINEAR, SCALED]
        (at: &Level<'_>, out: &mut Lanes) {
        level::<H, T, LINEAR, SCALED>(at, out);
    }
    /// [`axes`].
    unsafe fn axes_of [const LINEAR: bool] [LINEAR] (to: &mut [Axis; 2], at: &Level<'_>, size: [i32; 2]) {
        axes::<H, LINEAR>(to, at, size);
    }
    /// [`wrap`].
    unsafe fn wrap_of(axis: &mut Axis, size: i32, address_mode: u32) {
        wrap(axis, size, address_mode);
    }
    /// [`add_probe`].
    unsafe fn add_probe_of(sum: &mut Lanes, texels: &Lanes, count: &[u32; MAX_LANES], probe: u32) {
        add_probe::<H>(sum, texels, count, probe);
    }
    /// [`finish`].
    unsafe fn finish_of [const DIVIDE: bool] [DIVIDE]
        (view: &ImageView, levels: &[Lanes], weight: &Floats, scale: f32, result: &mut Lanes) {
        finish::<H, DIVIDE>(view, levels, weight, scale, result);
    }
}

/// Texels and weights of one axis, for all lanes.
#[derive(Default)]
struct Axis {
    first: Ints,
    second: Ints,
    weight: Floats,
    /// `second` is `first + 1` in all lanes.
    adjacent: bool,
}

/// Neither a plain sample of a 2D view nor without a border: for the general kernel.
#[inline(always)]
fn is_general(view: &ImageView, sampler: &Sampler, args: &ImageArgs) -> bool {
    let borders = sampler.address_mode[0] == mode::CLAMP_TO_BORDER || sampler.address_mode[1] == mode::CLAMP_TO_BORDER;
    args.op != SampleOp::Sample || view.dim != Dim::D2 || borders
}

/// Through the pointer: the general kernel is big, and one copy of it per class is enough.
///
/// # Safety
/// As for any kernel of the view.
#[inline(always)]
unsafe fn general(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs) {
    // SAFETY: the caller's promise; the general kernel of the same view.
    unsafe { (view.kernels[KERNEL_SAMPLE + GENERAL as usize])(view, sampler, args) }
}

/// Samples all active lanes.
///
/// # Safety
/// `view` is a valid, non-empty view whose format belongs to class `T`, a class of float texels; the sampler belongs to
/// the sampler class of (LINEAR, MIP_LINEAR).
#[inline(always)]
pub unsafe fn sample<H: Host, T: Texels, const LINEAR: bool, const MIP_LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
) {
    if is_general(view, sampler, args) {
        // SAFETY: the caller's promise.
        return unsafe { general(view, sampler, args) };
    }
    let [s, t, ..] = &args.coord;
    let from = Source { view, sampler, args, coord: [s, t] };
    let mut texels = [[[0; MAX_LANES]; 4]; 2];
    let mut weight = [0f32; MAX_LANES];
    let mut count = 1;
    // SAFETY: the host's variant; the levels exist, by `level_lanes`.
    unsafe {
        if view.levels <= 1 {
            from.levels::<H, T, LINEAR, true>(&[0; MAX_LANES], &mut texels[0]);
        } else {
            let mut level = [[0u32; MAX_LANES]; 2];
            select_of(H::LEVEL)(view, sampler, args, MIP_LINEAR, &mut level, &mut weight);
            from.levels::<H, T, LINEAR, true>(&level[0], &mut texels[0]);
            if MIP_LINEAR && any(&weight, args.mask) {
                count = 2;
                from.levels::<H, T, LINEAR, true>(&level[1], &mut texels[1]);
            }
        }
        let levels = &texels[..count];
        if T::SCALE == 1.0 {
            finish_of::<false>(H::LEVEL)(view, levels, &weight, 1.0, &mut args.result);
        } else {
            finish_of::<true>(H::LEVEL)(view, levels, &weight, T::SCALE, &mut args.result);
        }
    }
}

/// The levels and the weight of the second, of all lanes.
#[inline(always)]
fn select<H: Host>(
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    mip_linear: bool,
    levels: &mut [[u32; MAX_LANES]; 2],
    weight: &mut Floats,
) {
    let mut lambda = [0f32; MAX_LANES];
    // SAFETY: the host's variant.
    unsafe { lambda_of(H::LEVEL)(view, sampler, args, &mut lambda) };
    lod::level_lanes(view, &lambda, mip_linear, levels, weight);
}

/// Blends one or two levels, divides by the class's scale (with `DIVIDE`) and maps the components.
#[inline(always)]
fn finish<H: Host, const DIVIDE: bool>(
    view: &ImageView,
    levels: &[Lanes],
    weight: &Floats,
    scale: f32,
    result: &mut Lanes,
) {
    match levels {
        [texels] => {
            for c in 0..4 {
                result[c] = divided::<DIVIDE>(&row::<H, _>(&texels[c]), scale);
            }
        }
        [first, second, ..] => {
            let weight = row::<H, _>(weight);
            for c in 0..4 {
                let (mut texels, next) = (row::<H, _>(&first[c]), row::<H, _>(&second[c]));
                for i in 0..MAX_LANES {
                    let (from, to) = (f32::from_bits(texels[i]), f32::from_bits(next[i]));
                    texels[i] = (from + (to - from) * weight[i]).to_bits();
                }
                result[c] = divided::<DIVIDE>(&texels, scale);
            }
        }
        [] => {}
    }
    if view.swizzle != [0, 1, 2, 3] {
        let texels = *result;
        map_lanes(view, result, &texels, ONE);
    }
}

#[inline(always)]
fn divided<const DIVIDE: bool>(lanes: &[u32; MAX_LANES], scale: f32) -> [u32; MAX_LANES] {
    let mut out = *lanes;
    if DIVIDE {
        for lane in &mut out {
            *lane = (f32::from_bits(*lane) / scale).to_bits();
        }
    }
    out
}

/// Samples all active lanes along the major axes of their footprints. The same bits as the general kernel gives.
///
/// # Safety
/// As for [`sample`], and the sampler belongs to the anisotropic class.
#[inline(always)]
pub unsafe fn anisotropic<H: Host, T: Texels>(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs) {
    if is_general(view, sampler, args) {
        // SAFETY: the caller's promise.
        return unsafe { general(view, sampler, args) };
    }
    let lods = lod::lods(view, sampler, args);
    let mut lambda = [0f32; MAX_LANES];
    let mut count = [1u32; MAX_LANES];
    let mut major = [[0f32; MAX_LANES]; 2];
    let mut most = 1;
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 != 0 {
            lambda[i] = lods[i].lambda;
            count[i] = lods[i].probes;
            (major[0][i], major[1][i]) = (lods[i].major[0], lods[i].major[1]);
            most = most.max(lods[i].probes);
        }
    }
    let mut level = [[0u32; MAX_LANES]; 2];
    let mut weight = [0f32; MAX_LANES];
    lod::level_lanes(view, &lambda, sampler.mipmap_mode == 1, &mut level, &mut weight);
    let mut result = [[0; MAX_LANES]; 4];
    for pass in 0..1 + usize::from(any(&weight, args.mask)) {
        let mut sum = [[0; MAX_LANES]; 4];
        for probe in 1..=most {
            let coord = probes(args, &major, &count, probe);
            let from = Source { view, sampler, args, coord: [&coord[0], &coord[1]] };
            let mut texels = [[0; MAX_LANES]; 4];
            // SAFETY: the levels exist, by `level_lanes`.
            unsafe { from.levels::<H, T, true, false>(&level[pass], &mut texels) };
            // SAFETY: the host's variant.
            unsafe { apart(add_probe_of(H::LEVEL))(&mut sum, &texels, &count, probe) };
        }
        for c in 0..4 {
            for i in 0..MAX_LANES {
                sum[c][i] = (f32::from_bits(sum[c][i]) / count[i] as i32 as f32).to_bits();
            }
        }
        if pass == 0 {
            result = sum;
        } else {
            lerp_where(&mut result, &sum, &weight);
        }
    }
    map_lanes(view, &mut args.result, &result, ONE);
}

/// The coordinates of a probe, counted from 1; lanes of one probe stay where they are.
#[inline(always)]
fn probes(args: &ImageArgs, major: &[Floats; 2], count: &[u32; MAX_LANES], probe: u32) -> [Floats; 2] {
    let mut coord = [args.coord[0], args.coord[1]];
    for c in 0..2 {
        for i in 0..MAX_LANES {
            let at = probe as i32 as f32 / (count[i] + 1) as i32 as f32 - 0.5;
            let moved = coord[c][i] + major[c][i] * at;
            coord[c][i] = if count[i] > 1 { moved } else { coord[c][i] };
        }
    }
    coord
}

/// Adds the texels of the lanes that have this probe, counted from 1.
#[inline(always)]
fn add_probe<H: Host>(sum: &mut Lanes, texels: &Lanes, count: &[u32; MAX_LANES], probe: u32) {
    let mut lanes = row::<H, _>(count);
    for lane in &mut lanes {
        *lane = if probe <= *lane { u32::MAX } else { 0 };
    }
    let mut next = *texels;
    if probe > 1 {
        for c in 0..4 {
            let old = row::<H, _>(&sum[c]);
            for i in 0..MAX_LANES {
                next[c][i] = (f32::from_bits(old[i]) + f32::from_bits(texels[c][i])).to_bits();
            }
        }
    }
    merge::<H>(sum, &next, &lanes, u32::MAX);
}

/// Has an active lane a weight?
#[inline(always)]
fn any(weight: &Floats, mask: u32) -> bool {
    let mut any = false;
    for i in 0..MAX_LANES {
        any |= (weight[i] > 0.0) & (mask >> i & 1 != 0);
    }
    any
}

/// What the lanes sample, but for the level.
struct Source<'a> {
    view: &'a ImageView,
    sampler: &'a Sampler,
    args: &'a ImageArgs,
    coord: [&'a Floats; 2],
}

impl Source<'_> {
    /// One level per lane, filtered; with `SCALED` still multiplied by the class's scale.
    ///
    /// # Safety
    /// The levels exist, and the view's format belongs to `T`.
    #[inline(always)]
    unsafe fn levels<H: Host, T: Texels, const LINEAR: bool, const SCALED: bool>(
        &self,
        level: &[u32; MAX_LANES],
        out: &mut Lanes,
    ) {
        let view = self.view;
        let mut rest = self.args.mask;
        let mut keep = 0;
        while rest != 0 {
            let one = level[rest.trailing_zeros() as usize % MAX_LANES];
            let mut mask = rest & equal::<H>(level, one);
            let level = &view.level[one as usize];
            let mut base = level.offset;
            if view.arrayed != 0 {
                let (mut layer, coord) = ([0; MAX_LANES], row::<H, _>(&self.args.coord[2]));
                for i in 0..MAX_LANES {
                    layer[i] = address::layer(coord[i], view.layers);
                }
                let one = layer[rest.trailing_zeros() as usize % MAX_LANES];
                mask &= equal::<H>(&layer, one);
                base += u64::from(one) * view.layer_stride;
            }
            // SAFETY: level and layer exist.
            unsafe {
                // Rows are at most 2^14 texels of 16 bytes.
                let slice = Slice { base: view.base.add(base as usize), pitch: level.row_pitch as u32, mask };
                let address = [self.sampler.address_mode[0], self.sampler.address_mode[1]];
                let one = Level { view, level, slice, address, coord: self.coord, offset: &self.args.offset, keep };
                let level = level_of::<T, LINEAR, SCALED>(H::LEVEL);
                // What probes call in a loop.
                let level = if SCALED { level } else { apart(level) };
                level(&one, out);
            }
            rest &= !mask;
            keep = u32::MAX;
        }
    }
}

/// The lanes that are equal to `one`.
#[inline(always)]
fn equal<H: Host>(lanes: &[u32; MAX_LANES], one: u32) -> u32 {
    let mut differs = *lanes;
    for lane in &mut differs {
        *lane ^= one;
    }
    // SAFETY: the kernel's host.
    unsafe { H::zeros(&differs) }
}

/// A level of a layer to be sampled by the lanes in the slice's mask.
struct Level<'a> {
    view: &'a ImageView,
    level: &'a ImageLevel,
    slice: Slice,
    address: [u32; 2],
    coord: [&'a Floats; 2],
    offset: &'a [Ints; 3],
    keep: u32,
}

/// Filters the texels of the wanted lanes; the other lanes of `out` stay or become 0, by `keep`.
///
/// # Safety
/// The level's texels belong to class `T`.
#[inline(always)]
unsafe fn level<H: Host, T: Texels, const LINEAR: bool, const SCALED: bool>(at: &Level<'_>, out: &mut Lanes) {
    let size = [at.level.width as i32, at.level.height as i32];
    let mut axes = [Axis::default(), Axis::default()];
    // SAFETY: the host's variant.
    unsafe { axes_of::<LINEAR>(H::LEVEL)(&mut axes, at, size) };
    let [x, y] = &axes;
    let (lanes, keep) = (spread(at.slice.mask), at.keep);
    // Two straight pieces of code: what is joined behind a branch comes back lane by lane.
    // SAFETY: wrapped coordinates lie inside the level.
    unsafe {
        if !LINEAR {
            merge::<H>(out, &T::lanes::<H, SCALED>(at.view, &at.slice, &x.first, &y.first), &lanes, keep);
        } else if x.adjacent {
            merge::<H>(out, &bilinear::<H, T, SCALED, true>(at, x, y), &lanes, keep);
        } else {
            merge::<H>(out, &bilinear::<H, T, SCALED, false>(at, x, y), &lanes, keep);
        }
    }
}

/// # Safety
/// The texels lie inside the level.
#[inline(always)]
unsafe fn bilinear<H: Host, T: Texels, const SCALED: bool, const ADJACENT: bool>(
    at: &Level<'_>,
    x: &Axis,
    y: &Axis,
) -> Lanes {
    let columns = [&x.first, &x.second];
    // SAFETY: the caller's promise.
    let [[mut upper, right], [mut lower, lower_right]] = unsafe {
        [
            T::pairs::<H, SCALED, ADJACENT>(at.view, &at.slice, columns, &y.first),
            T::pairs::<H, SCALED, ADJACENT>(at.view, &at.slice, columns, &y.second),
        ]
    };
    lerp(&mut upper, &right, &x.weight);
    lerp(&mut lower, &lower_right, &x.weight);
    lerp(&mut upper, &lower, &y.weight);
    upper
}

/// `a + (b - a) * t`.
#[inline(always)]
fn lerp(a: &mut Lanes, b: &Lanes, t: &Floats) {
    for c in 0..4 {
        for i in 0..MAX_LANES {
            let (from, to) = (f32::from_bits(a[c][i]), f32::from_bits(b[c][i]));
            a[c][i] = (from + (to - from) * t[i]).to_bits();
        }
    }
}

/// As [`lerp`], only where `t` is above 0.
#[inline(always)]
fn lerp_where(a: &mut Lanes, b: &Lanes, t: &Floats) {
    let old = *a;
    lerp(a, b, t);
    for c in 0..4 {
        for i in 0..MAX_LANES {
            a[c][i] = if t[i] > 0.0 { a[c][i] } else { old[c][i] };
        }
    }
}

/// The texels and weights of both axes.
#[inline(always)]
fn axes<H: Host, const LINEAR: bool>(axes: &mut [Axis; 2], at: &Level<'_>, size: [i32; 2]) {
    for c in 0..2 {
        let (coord, offset) = (row::<H, _>(at.coord[c]), row::<H, _>(&at.offset[c]));
        let outside = axis::<H, LINEAR>(&mut axes[c], &coord, &offset, size[c]);
        if outside {
            // SAFETY: the host's variant.
            unsafe { wrap_of(H::LEVEL)(&mut axes[c], size[c], at.address[c]) };
        }
    }
}

/// The texels and weights of an axis before wrapping; is there something to wrap?
#[inline(always)]
fn axis<H: Host, const LINEAR: bool>(axis: &mut Axis, coord: &Floats, offset: &Ints, size: i32) -> bool {
    // Far outside, where only the wrapped place matters, f32 has no fraction anyway; the clamp lets the conversion
    // below be exact for every lane (NaN becomes the lower bound).
    const FAR: f32 = 1e9;
    let (mut first, mut second, mut weight) = ([0; MAX_LANES], [0; MAX_LANES], [0f32; MAX_LANES]);
    let mut outside = [0u32; MAX_LANES];
    for i in 0..MAX_LANES {
        let u = coord[i] * size as f32 - if LINEAR { 0.5 } else { 0.0 };
        let u = if u > -FAR { u } else { -FAR };
        let u = if u < FAR { u } else { FAR };
        let floor = u.floor();
        weight[i] = u - floor;
        // SAFETY: within ±1e9.
        first[i] = unsafe { floor.to_int_unchecked::<i32>() }.wrapping_add(offset[i]);
        second[i] = first[i].wrapping_add(1);
        // The sign of both: below 0, or size - 1 - last below 0.
        let last = if LINEAR { second[i] } else { first[i] };
        outside[i] = (first[i] | (size - 1).wrapping_sub(last)) as u32 >> 31;
    }
    (axis.first, axis.second, axis.weight, axis.adjacent) = (first, second, weight, true);
    // SAFETY: the kernel's host.
    (unsafe { H::zeros(&outside) }) != (1 << MAX_LANES) - 1
}

/// Brings the texels of an axis inside, where some lane's are not.
#[inline(always)]
fn wrap(axis: &mut Axis, size: i32, address_mode: u32) {
    wrap_texels(axis, size, address_mode);
    for i in 0..MAX_LANES {
        axis.adjacent &= axis.second[i] == axis.first[i] + 1;
    }
}

#[inline(always)]
fn wrap_texels(axis: &mut Axis, size: i32, address_mode: u32) {
    match address_mode {
        mode::REPEAT => {
            if size & (size - 1) == 0 {
                for i in 0..MAX_LANES {
                    axis.first[i] &= size - 1;
                    axis.second[i] &= size - 1;
                }
                return;
            }
            for i in 0..MAX_LANES {
                let (at, n) = (f64::from(axis.first[i]), f64::from(size));
                // |at| < 2^31 and n <= 2^14: the quotient is further from an integer than its rounding error, or is one.
                let wrapped = at - (at / n).floor() * n;
                // SAFETY: within 0..n.
                axis.first[i] = unsafe { wrapped.to_int_unchecked::<i32>() };
                let next = axis.first[i] + 1;
                axis.second[i] = if next == size { 0 } else { next };
            }
        }
        mode::CLAMP_TO_EDGE => {
            for i in 0..MAX_LANES {
                axis.first[i] = axis.first[i].max(0).min(size - 1);
                axis.second[i] = axis.second[i].max(0).min(size - 1);
            }
        }
        _ => {
            for i in 0..MAX_LANES {
                axis.first[i] = address::wrap(axis.first[i], size, address_mode);
                axis.second[i] = address::wrap(axis.second[i], size, address_mode);
                debug_assert!(axis.first[i] != BORDER && axis.second[i] != BORDER);
            }
        }
    }
}
