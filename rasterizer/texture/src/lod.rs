//! Level of detail (specification section "Level-of-Detail Operation", "LOD Operation" of image
//! operations).
//!
//! Derivatives are coarse: one per quad of four lanes, lane 1 - lane 0 in x, lane 2 - lane 0 in y.
//! The scale factor is the length of the derivative in texels of the base level. The level of
//! detail is its logarithm, which [`log2`] computes.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]
#![allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]

use super::cube::{self, Faces};
use super::words::row;
use base::abi::{Dim, ImageArgs, ImageView, LodMode, MAX_LANES, SampleOp, Sampler};
use base::host::{Floats, Host, Ints};
use base::limits::{MAX_LOD_BIAS, MAX_SAMPLER_ANISOTROPY};

base::multiversion_fn! {
    /// Computes the [`detail`] of all lanes.
    pub fn detail_of [const PROBES: bool] [PROBES]
        (host: H, view: &ImageView, sampler: &Sampler, args: &ImageArgs, out: &mut Detail) {
        detail::<H, PROBES>(host, view, sampler, args, out);
    }
    /// Calls [`of_quads`] without inlining it, for functions that exist in many copies.
    pub fn detail_of_quads
        (_host: H, view: &ImageView, sampler: &Sampler, all: [f32; 2], corners: &[[[u32; MAX_LANES]; 2]; 3], out: &mut Detail) {
        let mut floats = [[H::Floats::splat(0.0); 2]; 3];
        for (to, from) in floats.iter_mut().flatten().zip(corners.iter().flatten()) {
            *to = H::Ints::from_array(*from).as_floats();
        }
        of_quads::<H, false>(view, sampler, all, floats, out);
    }
}

/// The levels and probes of all lanes of a plain sample of a 2D view. Inactive lanes have existing
/// levels too.
#[repr(align(32))]
pub struct Detail {
    /// Number of levels that active lanes need: 1, or 2 if two are blended.
    pub levels: usize,
    /// Largest number of probes of a lane.
    pub max_probes: u32,
    /// First and second level of each lane.
    pub level: [[u32; MAX_LANES]; 2],
    /// Weight of the second level, as bits of floats.
    pub weight: [u32; MAX_LANES],
    /// Number of probes ([`Lod::probes`]).
    pub probes: [u32; MAX_LANES],
    /// Derivative along the major axis ([`Lod::major`]), as bits of floats.
    pub major: [[u32; MAX_LANES]; 2],
    /// Lanes whose major axis is x.
    pub x_major: u32,
}

impl Detail {
    /// The base level with one probe.
    pub const BASE: Detail = Detail {
        levels: 1,
        max_probes: 1,
        level: [[0; MAX_LANES]; 2],
        weight: [0; MAX_LANES],
        probes: [1; MAX_LANES],
        major: [[0; MAX_LANES]; 2],
        x_major: 0,
    };
}

/// Bits of the square root of 1/2.
const SQRT_HALF: u32 = 0x3f35_04f3;
/// Coefficients of the series of [`log2`].
const SERIES: [f32; 4] = [1.0 / 9.0, 1.0 / 7.0, 0.2, 1.0 / 3.0];

/// Returns the base-2 logarithm with an absolute error of 2^-21; -127 for zero and denormals. It
/// uses exact IEEE operations only.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    // With x = 2^e * m and m in sqrt(1/2)..sqrt(2), log2 m = 2/ln 2 * atanh((m - 1) / (m + 1)).
    let bits = x.to_bits() & 0x7fff_ffff;
    let e = (bits as i32 - SQRT_HALF as i32) >> 23;
    let m = f32::from_bits((bits as i32 - (e << 23)) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = ((s2 * SERIES[0] + SERIES[1]) * s2 + SERIES[2]) * s2 + SERIES[3];
    e as f32 + s * (std::f32::consts::LOG2_E * 2.0) * (series * s2 + 1.0)
}

/// The level of detail and the probes of a lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lod {
    /// The value λ' before the sampler's clamp.
    pub unclamped: f32,
    /// The value λ, raised to the view's lower bound.
    pub lambda: f32,
    /// True if λ without the view's bound selects magnification.
    pub magnified: bool,
    /// Number of samples along the major axis; 1 without anisotropy.
    pub probes: u32,
    /// Derivative of the coordinate along the major axis.
    pub major: [f32; 2],
}

/// Returns the derivatives (d/dx, d/dy) of a lane's coordinates.
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

/// Returns the squared length of a derivative in texels.
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

/// Returns λ before bias, and the anisotropy of the footprint.
#[inline(always)]
fn base_lod(view: &ImageView, sampler: &Sampler, args: &ImageArgs, lane: usize) -> Lod {
    let mut d = derivatives(args, lane);
    if view.dim == Dim::Cube {
        let direction = [args.coord[0][lane], args.coord[1][lane], args.coord[2][lane]];
        d = d.map(|d| cube::project_derivative(direction, d));
    }
    let squares = d.map(|d| length_squared(view, d));
    let x_major = squares[0] >= squares[1];
    let (largest, min) = if x_major { (squares[0], squares[1]) } else { (squares[1], squares[0]) };
    if sampler.max_anisotropy <= 1.0 || view.dim != Dim::D2 || largest.is_nan() || largest == 0.0 {
        return Lod { unclamped: 0.5 * log2(largest), probes: 1, ..Lod::default() };
    }
    let (major, minor) = (largest.sqrt(), min.sqrt());
    // A ratio of NaN or infinity counts as the largest one.
    let probes = (major / minor).ceil().max(1.0).min(sampler.max_anisotropy.min(MAX_SAMPLER_ANISOTROPY).floor());
    let axis = d[usize::from(!x_major)];
    Lod { unclamped: log2(major / probes), probes: probes as u32, major: [axis[0], axis[1]], ..Lod::default() }
}

/// Returns the levels of detail of the active lanes.
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
        let min = sampler.min_lod.max(args.min_lod[i]);
        let lambda = lod.unclamped.max(min).min(sampler.max_lod);
        (lod.lambda, lod.magnified) = (lambda.max(view.min_lod), lambda <= 0.0);
    }
    lods
}

/// Returns `level` in a form for which no load waits. The loop counts up to it, and the processor's
/// branch prediction predicts the count long before the level is computed. The loads that follow
/// would otherwise be most of a sample's time; levels differ little from call to call.
#[inline(always)]
pub fn foretold(level: u32) -> u32 {
    let mut counted = 0;
    while counted < level {
        // The barrier keeps the compiler from replacing the loop by the level.
        counted = std::hint::black_box(counted + 1);
    }
    counted
}

/// Returns [`log2`] of all lanes.
#[inline(always)]
fn log2_lanes<F: Floats>(x: F) -> F {
    let (int, float) = (F::Ints::splat, F::splat);
    let bits = x.bits() & int(0x7fff_ffff);
    let e = (bits - int(SQRT_HALF)).sar(23);
    let m = (bits - e.shl(23)).as_floats();
    let s = (m - float(1.0)) / (m + float(1.0));
    let s2 = s * s;
    let series = ((s2 * float(SERIES[0]) + float(SERIES[1])) * s2 + float(SERIES[2])) * s2 + float(SERIES[3]);
    e.to_floats() + s * float(std::f32::consts::LOG2_E * 2.0) * (series * s2 + float(1.0))
}

/// Finds the levels and probes of all lanes; without `PROBES` the sampler has no anisotropy. The
/// results have the same bits as those of [`lods`] and [`levels`].
#[inline(always)]
fn detail<H: Host, const PROBES: bool>(
    host: H,
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    out: &mut Detail,
) {
    let float = H::Floats::splat;
    let bias = float(sampler.lod_bias);
    let unclamped = match args.lod_mode {
        LodMode::Explicit => row(host, &args.lod).as_floats() + clamp(bias, -MAX_LOD_BIAS, MAX_LOD_BIAS),
        LodMode::Implicit => {
            let (s, t) = (row(host, &args.coord[0]).as_floats(), row(host, &args.coord[1]).as_floats());
            let (first_s, first_t) = (s.broadcast_in_quad::<0>(), t.broadcast_in_quad::<0>());
            let d = [
                [s.broadcast_in_quad::<1>() - first_s, t.broadcast_in_quad::<1>() - first_t],
                [s.broadcast_in_quad::<2>() - first_s, t.broadcast_in_quad::<2>() - first_t],
            ];
            let bias = bias + row(host, &args.lod).as_floats();
            footprint::<H, PROBES>(view, sampler, d, out) + clamp(bias, -MAX_LOD_BIAS, MAX_LOD_BIAS)
        }
        LodMode::Grad => {
            let (x, y) = (&args.grad_x, &args.grad_y);
            let d = [
                [row(host, &x[0]).as_floats(), row(host, &x[1]).as_floats()],
                [row(host, &y[0]).as_floats(), row(host, &y[1]).as_floats()],
            ];
            footprint::<H, PROBES>(view, sampler, d, out) + clamp(bias + float(0.0), -MAX_LOD_BIAS, MAX_LOD_BIAS)
        }
    };
    selected::<H>(view, sampler, unclamped, row(host, &args.min_lod).as_floats(), out);
    let blended = H::Ints::from_array(out.weight).as_floats().greater(float(0.0)).movemask() & args.mask != 0;
    out.levels = if blended { 2 } else { 1 };
}

/// Finds the levels of all lanes of a view of any dimension, and their probes if view and sampler
/// allow some. The results have the same bits as those of [`lods`] and [`levels`]. Returns the
/// lanes whose λ selects magnification ([`Lod::magnified`]).
#[inline(always)]
pub fn any_detail<H: Host>(host: H, view: &ImageView, sampler: &Sampler, args: &ImageArgs, out: &mut Detail) -> u32 {
    let float = H::Floats::splat;
    let mut bias = float(sampler.lod_bias);
    let base = match args.lod_mode {
        LodMode::Explicit => row(host, &args.lod).as_floats(),
        LodMode::Implicit => {
            bias = bias + row(host, &args.lod).as_floats();
            let mut d = [[float(0.0); 3]; 2];
            for c in 0..3 {
                let of = row(host, &args.coord[c]).as_floats();
                let first = of.broadcast_in_quad::<0>();
                (d[0][c], d[1][c]) = (of.broadcast_in_quad::<1>() - first, of.broadcast_in_quad::<2>() - first);
            }
            any_footprint(host, view, sampler, args, d, out)
        }
        LodMode::Grad => {
            let mut d = [[float(0.0); 3]; 2];
            for c in 0..3 {
                (d[0][c], d[1][c]) = (row(host, &args.grad_x[c]).as_floats(), row(host, &args.grad_y[c]).as_floats());
            }
            any_footprint(host, view, sampler, args, d, out)
        }
    };
    let unclamped = base + clamp(bias, -MAX_LOD_BIAS, MAX_LOD_BIAS);
    let min_lod = row(host, &args.min_lod).as_floats();
    selected::<H>(view, sampler, unclamped, min_lod, out);
    let blended = H::Ints::from_array(out.weight).as_floats().greater(float(0.0)).movemask() & args.mask != 0;
    out.levels = if blended { 2 } else { 1 };
    let lambda = unclamped.max(min_lod.max(float(sampler.min_lod))).min(float(sampler.max_lod));
    float(0.0).greater_or_equal(lambda).movemask()
}

/// Returns λ before bias from derivatives `[x or y][component]`, and finds the probes.
#[inline(always)]
fn any_footprint<H: Host>(
    host: H,
    view: &ImageView,
    sampler: &Sampler,
    args: &ImageArgs,
    mut d: [[H::Floats; 3]; 2],
    out: &mut Detail,
) -> H::Floats {
    if view.dim == Dim::D2 && sampler.max_anisotropy > 1.0 {
        let [x, y] = d;
        return footprint::<H, true>(view, sampler, [[x[0], x[1]], [y[0], y[1]]], out);
    }
    if view.dim == Dim::Cube {
        let rows = [row(host, &args.coord[0]), row(host, &args.coord[1]), row(host, &args.coord[2])];
        let direction = [rows[0].as_floats(), rows[1].as_floats(), rows[2].as_floats()];
        let faces = Faces::of(direction);
        for d in &mut d {
            *d = faces.project_derivative(direction, *d);
        }
    }
    let (level, float) = (&view.level[0], H::Floats::splat);
    let size = [float(level.width as f32), float(level.height as f32), float(level.depth as f32)];
    let mut squares = [float(0.0); 2];
    for (square, d) in squares.iter_mut().zip(d) {
        let x = d[0] * size[0];
        *square = x * x;
        if !matches!(view.dim, Dim::D1 | Dim::Buffer) {
            let y = d[1] * size[1];
            *square = *square + y * y;
        }
        if view.dim == Dim::D3 {
            let z = d[2] * size[2];
            *square = *square + z * z;
        }
    }
    let largest = select(squares[0].greater_or_equal(squares[1]), squares[0], squares[1]);
    float(0.5) * log2_lanes(largest)
}

/// Finds the levels of quads, one in each lane, from the coordinates of their first three
/// invocations. The results equal those of [`detail_of`] if all lanes have one bias and one lower
/// bound of the level of detail. The number of levels is not set.
#[inline(always)]
pub fn of_quads<H: Host, const PROBES: bool>(
    view: &ImageView,
    sampler: &Sampler,
    [bias, min_lod]: [f32; 2],
    corners: [[H::Floats; 2]; 3],
    out: &mut Detail,
) {
    let [first, right, below] = corners;
    let d = [[right[0] - first[0], right[1] - first[1]], [below[0] - first[0], below[1] - first[1]]];
    let bias = H::Floats::splat(sampler.lod_bias) + H::Floats::splat(bias);
    let unclamped = footprint::<H, PROBES>(view, sampler, d, out) + clamp(bias, -MAX_LOD_BIAS, MAX_LOD_BIAS);
    selected::<H>(view, sampler, unclamped, H::Floats::splat(min_lod), out);
}

/// Finds the levels, and the weight of the second one, which is 0 if there is only one.
#[inline(always)]
fn selected<H: Host>(view: &ImageView, sampler: &Sampler, unclamped: H::Floats, min_lod: H::Floats, out: &mut Detail) {
    let float = H::Floats::splat;
    let min = min_lod.max(float(sampler.min_lod));
    let lambda = unclamped.max(min).min(float(sampler.max_lod)).max(float(view.min_lod));
    let last = view.levels.max(1) - 1;
    let d = clamp(lambda, 0.0, last as f32);
    let floor = d.truncate_to_int();
    let fraction = d - floor.to_floats();
    if sampler.mipmap_mode == 1 {
        out.level = [floor.to_array(), (floor + H::Ints::splat(1)).min(H::Ints::splat(last)).to_array()];
        out.weight = fraction.bits().to_array();
    } else {
        // All ones are -1 as an integer.
        out.level[0] = (floor - fraction.greater(float(0.5))).to_array();
    }
}

/// Returns λ before bias from derivatives `[x or y][component]`, and with `PROBES` finds the
/// probes.
#[inline(always)]
fn footprint<H: Host, const PROBES: bool>(
    view: &ImageView,
    sampler: &Sampler,
    d: [[H::Floats; 2]; 2],
    out: &mut Detail,
) -> H::Floats {
    let float = H::Floats::splat;
    let (width, height) = (float(view.level[0].width as f32), float(view.level[0].height as f32));
    let mut squares = [float(0.0); 2];
    for (square, d) in squares.iter_mut().zip(d) {
        let (x, y) = (d[0] * width, d[1] * height);
        *square = x * x + y * y;
    }
    let x_major = squares[0].greater_or_equal(squares[1]);
    let largest = select(x_major, squares[0], squares[1]);
    let isotropic = float(0.5) * log2_lanes(largest);
    if !PROBES {
        return isotropic;
    }
    let (major, minor) = (largest.sqrt(), select(x_major, squares[1], squares[0]).sqrt());
    let max = sampler.max_anisotropy.min(MAX_SAMPLER_ANISOTROPY).floor();
    // A ratio of NaN counts as 1.
    let probes = (major / minor).ceil().max(float(1.0)).min(float(max));
    // The largest length is neither 0 nor NaN in these lanes.
    let has = largest.greater(float(0.0));
    out.probes = select(has, probes, float(1.0)).truncate_to_int().to_array();
    for c in 0..2 {
        out.major[c] = select(has, select(x_major, d[0][c], d[1][c]), float(0.0)).bits().to_array();
    }
    out.x_major = x_major.movemask();
    out.max_probes = out.probes.into_iter().max().unwrap_or(1);
    select(has, log2_lanes(major / probes), isotropic)
}

#[inline(always)]
fn select<F: Floats>(mask: F::Ints, yes: F, no: F) -> F {
    mask.select(yes.bits(), no.bits()).as_floats()
}

/// Clamps a value; NaN becomes `low`.
#[inline(always)]
fn clamp<F: Floats>(v: F, low: f32, high: f32) -> F {
    v.max(F::splat(low)).min(F::splat(high))
}

/// Returns the levels that λ selects: the first, the second, and the weight of the second.
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

/// Returns ceil(d + 0.5) - 1, the specification's preferred rounding, for d >= 0.
#[inline(always)]
fn nearest_level(d: f32) -> u32 {
    let floor = d as u32;
    if d - floor as f32 > 0.5 { floor + 1 } else { floor }
}

/// Returns the level that would be accessed, and λ' (`OpImageQueryLod`).
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
