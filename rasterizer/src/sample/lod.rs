//! Level of detail (specification section "Level-of-Detail Operation", "LOD Operation" of image operations).
//!
//! Derivatives are coarse: one per quad of four lanes, lane 1 - lane 0 in x, lane 2 - lane 0 in y. The scale factor is the length
//! of the derivative in texels of the base level, the level of detail its logarithm, computed by our own [`log2`].

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]
#![allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]

use super::cube;
use super::words::row;
use crate::api::{MAX_LOD_BIAS, MAX_SAMPLER_ANISOTROPY};
use base::abi::{Dim, ImageArgs, ImageView, LodMode, MAX_LANES, SampleOp, Sampler};
use base::host::Host;

base::compiled! {
    /// [`planar`].
    pub unsafe fn lambda_of(view: &ImageView, sampler: &Sampler, args: &ImageArgs, out: &mut [f32; MAX_LANES]) {
        planar::<H>(view, sampler, args, out);
    }
}

/// Base-2 logarithm to 2^-21 absolute; -127 for zero and denormals. Exact IEEE operations only.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    // x = 2^e * m with m in sqrt(1/2)..sqrt(2); log2 m = 2/ln 2 * atanh((m - 1) / (m + 1)).
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let bits = x.to_bits() & 0x7fff_ffff;
    let e = (bits as i32 - SQRT_HALF as i32) >> 23;
    let m = f32::from_bits((bits as i32 - (e << 23)) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = ((s2 * (1.0 / 9.0) + 1.0 / 7.0) * s2 + 0.2) * s2 + 1.0 / 3.0;
    e as f32 + s * (std::f32::consts::LOG2_E * 2.0) * (series * s2 + 1.0)
}

/// The footprint of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lod {
    /// λ', before the sampler's clamp.
    pub unclamped: f32,
    /// λ.
    pub lambda: f32,
    /// Samples along the major axis; 1 without anisotropy.
    pub probes: u32,
    /// Derivative of the coordinate along the major axis.
    pub major: [f32; 2],
}

/// Derivatives (d/dx, d/dy) of a lane's coordinates.
#[inline(always)]
fn derivatives(args: &ImageArgs, lane: usize) -> [[f32; 3]; 2] {
    if args.lod_mode == LodMode::Grad {
        return [
            [args.grad_x[0][lane], args.grad_x[1][lane], args.grad_x[2][lane]],
            [args.grad_y[0][lane], args.grad_y[1][lane], args.grad_y[2][lane]],
        ];
    }
    let quad = lane & !3;
    let difference = |other: usize, c: usize| args.coord[c][quad + other] - args.coord[c][quad];
    [1, 2].map(|other| [difference(other, 0), difference(other, 1), difference(other, 2)])
}

/// Squared length in texels of one derivative.
#[inline(always)]
fn length_squared(view: &ImageView, d: [f32; 3]) -> f32 {
    let l = &view.level[0];
    let x = d[0] * l.width as f32;
    let y = d[1] * l.height as f32;
    match view.dim {
        Dim::D1 | Dim::Buffer => x * x,
        Dim::D2 | Dim::Cube => x * x + y * y,
        Dim::D3 => {
            let z = d[2] * l.depth as f32;
            x * x + y * y + z * z
        }
    }
}

/// λ before bias, with the anisotropy of the footprint.
#[inline(always)]
fn base_lod(view: &ImageView, sampler: &Sampler, args: &ImageArgs, lane: usize) -> Lod {
    let mut d = derivatives(args, lane);
    if view.dim == Dim::Cube {
        let direction = [args.coord[0][lane], args.coord[1][lane], args.coord[2][lane]];
        d = d.map(|d| cube::project_derivative(direction, d));
    }
    let squares = d.map(|d| length_squared(view, d));
    let x_major = squares[0] >= squares[1];
    let (largest, least) = if x_major { (squares[0], squares[1]) } else { (squares[1], squares[0]) };
    if sampler.max_anisotropy <= 1.0 || view.dim != Dim::D2 || largest.is_nan() || largest == 0.0 {
        return Lod { unclamped: 0.5 * log2(largest), probes: 1, ..Lod::default() };
    }
    let (major, minor) = (largest.sqrt(), least.sqrt());
    // NaN and infinity count as the largest ratio.
    let probes = (major / minor).ceil().max(1.0).min(sampler.max_anisotropy.min(MAX_SAMPLER_ANISOTROPY).floor());
    let axis = d[usize::from(!x_major)];
    Lod { unclamped: log2(major / probes), probes: probes as u32, major: [axis[0], axis[1]], lambda: 0.0 }
}

/// The levels of detail of the active lanes.
#[inline(always)]
pub fn lods(view: &ImageView, sampler: &Sampler, args: &ImageArgs) -> [Lod; MAX_LANES] {
    let mut lods = [Lod::default(); MAX_LANES];
    // Gathers use the base level.
    if matches!(args.op, SampleOp::Gather | SampleOp::GatherDref) {
        return lods;
    }
    // A quad has one derivative; on a cube the lanes may still be on different faces.
    let per_quad = args.lod_mode == LodMode::Implicit && view.dim != Dim::Cube;
    for i in 0..MAX_LANES {
        let repeats = per_quad && i & 3 != 0;
        if !repeats && args.mask >> i & if per_quad { 0xf } else { 1 } == 0 {
            continue;
        }
        lods[i] = match args.lod_mode {
            _ if repeats => lods[i & !3],
            LodMode::Explicit => Lod { unclamped: args.lod[i], probes: 1, ..Lod::default() },
            LodMode::Implicit | LodMode::Grad => base_lod(view, sampler, args, i),
        };
    }
    for (i, lod) in lods.iter_mut().enumerate() {
        let bias = if args.lod_mode == LodMode::Implicit { args.lod[i] } else { 0.0 };
        lod.unclamped += (sampler.lod_bias + bias).max(-MAX_LOD_BIAS).min(MAX_LOD_BIAS);
        let least = sampler.min_lod.max(args.min_lod[i]);
        lod.lambda = lod.unclamped.max(least).min(sampler.max_lod).max(view.min_lod);
    }
    lods
}

/// λ of all lanes of a plain sample of a 2D view by a sampler without anisotropy; inactive lanes hold some number. The same
/// bits as [`lods`] gives.
#[inline(always)]
fn planar<H: Host>(view: &ImageView, sampler: &Sampler, args: &ImageArgs, out: &mut [f32; MAX_LANES]) {
    // Each case is straight code: what is joined behind a branch comes back lane by lane.
    match args.lod_mode {
        LodMode::Explicit => {
            let bias = clamp(sampler.lod_bias, -MAX_LOD_BIAS, MAX_LOD_BIAS);
            let mut unclamped = row::<H, _>(&args.lod);
            for lod in &mut unclamped {
                *lod += bias;
            }
            clamp_lanes::<H>(view, sampler, args, &unclamped, out);
        }
        LodMode::Implicit => {
            let mut d = [[[0f32; MAX_LANES]; 2]; 2];
            for c in 0..2 {
                let coord = row::<H, _>(&args.coord[c]);
                for axis in 0..2 {
                    for i in 0..MAX_LANES {
                        d[axis][c][i] = coord[(i & !3) + 1 + axis] - coord[i & !3];
                    }
                }
            }
            let mut bias = row::<H, _>(&args.lod);
            for bias in &mut bias {
                *bias = clamp(sampler.lod_bias + *bias, -MAX_LOD_BIAS, MAX_LOD_BIAS);
            }
            clamp_lanes::<H>(view, sampler, args, &scale_lanes(view, &d, &bias), out);
        }
        LodMode::Grad => {
            let bias = [clamp(sampler.lod_bias + 0.0, -MAX_LOD_BIAS, MAX_LOD_BIAS); MAX_LANES];
            let d = [
                [row::<H, _>(&args.grad_x[0]), row::<H, _>(&args.grad_x[1])],
                [row::<H, _>(&args.grad_y[0]), row::<H, _>(&args.grad_y[1])],
            ];
            clamp_lanes::<H>(view, sampler, args, &scale_lanes(view, &d, &bias), out);
        }
    }
}

/// λ' by derivatives, `[x or y][component]`.
#[inline(always)]
fn scale_lanes(view: &ImageView, d: &[[[f32; MAX_LANES]; 2]; 2], bias: &[f32; MAX_LANES]) -> [f32; MAX_LANES] {
    let (width, height) = (view.level[0].width as f32, view.level[0].height as f32);
    let mut unclamped = [0f32; MAX_LANES];
    for i in 0..MAX_LANES {
        let length_squared = |d: &[[f32; MAX_LANES]; 2]| {
            let (x, y) = (d[0][i] * width, d[1][i] * height);
            x * x + y * y
        };
        let (x, y) = (length_squared(&d[0]), length_squared(&d[1]));
        unclamped[i] = 0.5 * log2(if x >= y { x } else { y }) + bias[i];
    }
    unclamped
}

#[inline(always)]
fn clamp_lanes<H: Host>(
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    unclamped: &[f32; MAX_LANES],
    out: &mut [f32; MAX_LANES],
) {
    let min_lod = row::<H, _>(&args.min_lod);
    for i in 0..MAX_LANES {
        let least = if min_lod[i] > sampler.min_lod { min_lod[i] } else { sampler.min_lod };
        let l = clamp(unclamped[i], least, sampler.max_lod);
        out[i] = if l > view.min_lod { l } else { view.min_lod };
    }
}

/// `low` for not-a-number.
#[inline(always)]
fn clamp(v: f32, low: f32, high: f32) -> f32 {
    let v = if v > low { v } else { low };
    if v < high { v } else { high }
}

/// [`levels`] of all lanes; `first` and `second` exist in the view for every lane.
#[inline(always)]
pub fn level_lanes(
    view: &ImageView,
    lambda: &[f32; MAX_LANES],
    mip_linear: bool,
    levels: &mut [[u32; MAX_LANES]; 2],
    weight: &mut [f32; MAX_LANES],
) {
    if mip_linear {
        level_lanes_of::<true>(view, lambda, levels, weight);
    } else {
        level_lanes_of::<false>(view, lambda, levels, weight);
    }
}

#[inline(always)]
fn level_lanes_of<const MIP_LINEAR: bool>(
    view: &ImageView,
    lambda: &[f32; MAX_LANES],
    [first, second]: &mut [[u32; MAX_LANES]; 2],
    weight: &mut [f32; MAX_LANES],
) {
    let last = view.levels.max(1) - 1;
    for i in 0..MAX_LANES {
        let d = clamp(lambda[i], 0.0, last as f32);
        // SAFETY: within 0..=last, by the clamp.
        let floor = unsafe { d.to_int_unchecked::<i32>() } as u32;
        let fraction = d - floor as i32 as f32;
        if MIP_LINEAR {
            first[i] = floor;
            second[i] = (floor + 1).min(last);
            weight[i] = fraction;
        } else {
            first[i] = floor + u32::from(fraction > 0.5);
        }
    }
}

/// The levels that λ selects: first, second, weight of the second.
#[inline(always)]
pub fn levels(view: &ImageView, lambda: f32, mip_linear: bool) -> (usize, usize, f32) {
    let last = view.levels.max(1) - 1;
    let d = lambda.max(0.0).min(last as f32);
    if mip_linear {
        let first = d as u32;
        (first as usize, (first + 1).min(last) as usize, d - first as f32)
    } else {
        let nearest = nearest_level(d) as usize;
        (nearest, nearest, 0.0)
    }
}

/// ceil(d + 0.5) - 1, the specification's preferred rounding, for d >= 0.
#[inline(always)]
fn nearest_level(d: f32) -> u32 {
    let floor = d as u32;
    if d - floor as f32 > 0.5 { floor + 1 } else { floor }
}

/// `OpImageQueryLod`: the level that would be accessed, and λ'.
#[inline(always)]
pub fn query(view: &ImageView, sampler: &Sampler, lod: &Lod) -> [f32; 2] {
    let d = lod.lambda.max(0.0).min((view.levels.max(1) - 1) as f32);
    [if sampler.mipmap_mode == 1 { d } else { nearest_level(d) as f32 }, lod.unclamped]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log2_is_precise() {
        for bits in (0x0080_0000..0x7f80_0000u32).step_by(7919) {
            let x = f32::from_bits(bits);
            let want = f64::from(x).log2();
            assert!((f64::from(log2(x)) - want).abs() <= 2e-7 + want.abs() * 1e-7, "{x}");
        }
        for e in -126..=127 {
            assert_eq!(log2(2f32.powi(e)), e as f32);
        }
        assert!(log2(0.0) <= -126.0);
    }
}
