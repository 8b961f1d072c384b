//! The sampling kernel for every dimension, filter, address mode and operation, lane by lane. It
//! samples images with cells, and is the oracle of the tests. The kernel of all other images is
//! `vector`.
//!
//! A level is sampled by collapsing a grid of up to 2×2×2 texels axis by axis; for nearest
//! filtering the grid has one texel. The operation before collapsing (depth comparison) and the
//! kind of collapsing (average, minimum, maximum) are parameters.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]
#![allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]

use super::address::{self, AxisTaps};
use super::cube::{self, CubeTexel};
use super::lod;
use super::memory::ValidView;
use super::sparse_block::SparseBlock;
use super::swizzle;
use super::texel::Texels;
use base::abi::{Dim, ImageArgs, ImageView, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;
use base::format::{ChannelName, Format, Texel};

/// The operation on each texel before filtering.
#[derive(Clone, Copy)]
enum Map {
    Identity,
    /// Comparison with the reference by `VkCompareOp`.
    Compare(f32, u32),
}

/// The arguments of a lane, except its level of detail.
#[derive(Clone, Copy)]
struct LaneArguments<'a> {
    view: ValidView<'a>,
    sampler: &'a Sampler,
    coord: [f32; 4],
    offset: [i32; 3],
    map: Map,
    integer: bool,
}

/// Samples all active lanes.
#[inline(always)]
pub fn sample<T: Texels>(view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) {
    let integer = Format(view.format as u16).is_integer();
    let lods = lod::lods(&view, sampler, args);
    for i in 0..MAX_LANES {
        if args.mask >> i & 1 == 0 {
            continue;
        }
        let mut lane = LaneArguments {
            view,
            sampler,
            coord: [args.coord[0][i], args.coord[1][i], args.coord[2][i], args.coord[3][i]],
            offset: [args.offset[0][i], args.offset[1][i], args.offset[2][i]],
            map: Map::Identity,
            integer,
        };
        if matches!(args.op, SampleOp::SampleDref | SampleOp::GatherDref) {
            lane.map = Map::Compare(clamp_reference(&view, args.dref[i]), sampler.compare_op);
        }
        let result = {
            match args.op {
                // Residency has separate kernels.
                SampleOp::Resident | SampleOp::ResidentGather => [0; 4],
                SampleOp::QueryLod => {
                    let [level, lambda] = lod::query(&view, sampler, &lods[i]);
                    [level.to_bits(), lambda.to_bits(), 0, 0]
                }
                SampleOp::Sample | SampleOp::SampleDref => {
                    let texel = filtered::<T>(&lane, &lods[i]);
                    mapped::<T>(view, texel, integer)
                }
                // A gather accesses the base level, which is below the view's minimum level of
                // detail here.
                SampleOp::Gather | SampleOp::GatherDref if view.min_lod >= 1.0 => [0; 4],
                SampleOp::Gather | SampleOp::GatherDref => gather::<T>(&lane, args),
            }
        };
        for (c, v) in result.into_iter().enumerate() {
            args.result[c][i] = v;
        }
    }
}

/// Applies the view's component mapping.
#[inline(always)]
fn mapped<T: Texels>(view: ValidView<'_>, texel: Texel, integer: bool) -> Texel {
    if T::IS_MAPPED { swizzle::map(&view, texel, integer) } else { texel }
}

/// Returns the reference, which is clamped if the depth format is normalised.
#[inline(always)]
fn clamp_reference(view: &ImageView, reference: f32) -> f32 {
    if is_normalised(view) { reference.max(0.0).min(1.0) } else { reference }
}

/// Returns true if the format holds unsigned normalised numbers.
#[inline(always)]
pub fn is_normalised(view: &ImageView) -> bool {
    Format(view.format as u16).info().channels[0].ty == base::format::ChannelType::Unorm
}

/// Returns the sample of both levels, with all probes along the major axis of an anisotropic
/// footprint.
#[inline(always)]
fn filtered<T: Texels>(lane: &LaneArguments<'_>, lod: &lod::Lod) -> Texel {
    let sampler = lane.sampler;
    let linear = (if lod.magnified { sampler.mag_filter } else { sampler.min_filter }) == 1 && !lane.integer;
    let (first, second, weight) = lod::levels(&lane.view, lod.lambda, sampler.mipmap_mode == 1 && !lane.integer);
    let mut result = [0; 4];
    for (pass, level) in [first, second].into_iter().enumerate().take(1 + usize::from(weight > 0.0)) {
        let mut sum = [0; 4];
        // There is one call site for all probes, because the loop's body is large and inlined.
        for i in 1..=lod.probes {
            let mut probe = *lane;
            if lod.probes > 1 {
                let at = i as f32 / (lod.probes + 1) as f32 - 0.5;
                probe.coord[0] += lod.major[0] * at;
                probe.coord[1] += lod.major[1] * at;
            }
            let t = sample_level::<T>(&probe, level, linear);
            sum = match (i, sampler.reduction) {
                (1, _) => t,
                (_, 0) => zip(sum, t, |a, b| a + b),
                (_, reduction) => collapse(sum, t, 1.0, reduction),
            };
        }
        if lod.probes > 1 && sampler.reduction == 0 {
            let count = lod.probes as f32;
            sum = sum.map(|c| (f32::from_bits(c) / count).to_bits());
        }
        result = if pass == 0 { sum } else { collapse(result, sum, weight, sampler.reduction) };
    }
    result
}

#[inline(always)]
fn zip(a: Texel, b: Texel, f: impl Fn(f32, f32) -> f32) -> Texel {
    std::array::from_fn(|c| f(f32::from_bits(a[c]), f32::from_bits(b[c])).to_bits())
}

/// Collapses two texels to one. A texel whose weight is 0 does not affect a minimum or maximum.
#[inline(always)]
fn collapse(a: Texel, b: Texel, weight: f32, reduction: u32) -> Texel {
    match reduction {
        0 => zip(a, b, |a, b| a + (b - a) * weight),
        _ if weight == 0.0 => a,
        // Comparisons are used and not `f32::min`, because the sign of a zero result must be the
        // same everywhere.
        1 => zip(a, b, |a, b| if b < a { b } else { a }),
        _ => zip(a, b, |a, b| if b > a { b } else { a }),
    }
}

/// Texel grid of one level: 2×2 (cube and 2D; `texels[0..4]`), 2×1 (1D) or 2×2×2 (3D).
struct TexelGrid {
    texels: [Texel; 8],
    weight: [f32; 3],
}

/// Returns the filtered texel of one level.
#[inline(always)]
fn sample_level<T: Texels>(lane: &LaneArguments<'_>, level: usize, linear: bool) -> Texel {
    let TexelGrid { texels: t, weight: w } = grid::<T>(lane, level, linear);
    if !linear {
        return t[0];
    }
    let reduction = lane.sampler.reduction;
    let row = |i: usize| collapse(t[i], t[i + 1], w[0], reduction);
    match lane.view.dim {
        Dim::D1 | Dim::Buffer => row(0),
        Dim::D2 | Dim::Cube => collapse(row(0), row(2), w[1], reduction),
        Dim::D3 => {
            let near = collapse(row(0), row(2), w[1], reduction);
            let far = collapse(row(4), row(6), w[1], reduction);
            collapse(near, far, w[2], reduction)
        }
    }
}

/// Loads the grid; without `linear` only its first texel.
#[inline(always)]
fn grid<T: Texels>(lane: &LaneArguments<'_>, level: usize, linear: bool) -> TexelGrid {
    let (view, sampler) = (lane.view, lane.sampler);
    let l = &view.level[level];
    let (mut coord, mut face) = (lane.coord, 0);
    if view.dim == Dim::Cube {
        if sampler.non_seamless == 0 {
            return cube_grid::<T>(lane, level, linear);
        }
        let (on, [s, t]) = cube::project([coord[0], coord[1], coord[2]]);
        let first = if view.arrayed != 0 { 6 * address::layer(coord[3], view.layers / 6) } else { 0 };
        (coord, face) = ([s, t, 0.0, 0.0], (first + on as u32).min(view.layers.max(1) - 1));
    }
    let axis = |c: usize, size: u32| {
        let u = if sampler.unnormalized != 0 { coord[c] } else { coord[c] * size as f32 };
        let make = if linear { address::linear } else { address::nearest };
        make(u, lane.offset[c], size, sampler.address_mode[c])
    };
    let none = AxisTaps::default();
    let layer = |c: usize| if view.arrayed != 0 { address::layer(coord[c], view.layers) } else { 0 };
    let (x, y, z, layer) = match view.dim {
        Dim::D1 | Dim::Buffer => (axis(0, l.width), none, none, layer(1)),
        Dim::D2 => (axis(0, l.width), axis(1, l.height), none, layer(2)),
        Dim::Cube => (axis(0, l.width), axis(1, l.height), none, face),
        Dim::D3 => (axis(0, l.width), axis(1, l.height), axis(2, l.depth), 0),
    };
    let mut grid = TexelGrid { texels: [[0; 4]; 8], weight: [x.weight, y.weight, z.weight] };
    let count = match (linear, view.dim) {
        (false, _) => 1,
        (true, Dim::D1 | Dim::Buffer) => 2,
        (true, Dim::D2 | Dim::Cube) => 4,
        (true, Dim::D3) => 8,
    };
    for (i, texel) in grid.texels.iter_mut().enumerate().take(count) {
        *texel = tap::<T>(lane, level, layer, [x.at[i & 1], y.at[i >> 1 & 1], z.at[i >> 2]]);
    }
    grid
}

/// Returns the mapped texel at wrapped coordinates, or the mapped border.
#[inline(always)]
fn tap<T: Texels>(lane: &LaneArguments<'_>, level: usize, layer: u32, [x, y, z]: [i32; 3]) -> Texel {
    let texel = if (x | y | z) < 0 {
        border_of(&lane.view, lane.sampler, lane.integer)
    } else {
        load::<T>(lane.view, level, layer, [x as u32, y as u32, z as u32])
    };
    map(lane.map, texel)
}

/// Loads one texel.
#[inline(always)]
pub fn load<T: Texels>(view: ValidView<'_>, level: usize, layer: u32, [x, y, z]: [u32; 3]) -> Texel {
    let l = &view.level[level];
    debug_assert!(x < l.width && y < l.height && z < l.depth && layer < view.layers.max(1));
    if T::IS_SPARSE && l.cell != 0 {
        let cell = SparseBlock::containing(&view, l, layer, [x, y, z]);
        let [x, y] = cell.inside(x, y);
        return T::texel(view, view.memory(cell.offset), l.row_pitch, x, y);
    }
    let slice = l.offset + u64::from(layer) * view.layer_stride + u64::from(z) * l.slice_pitch;
    T::texel(view, view.memory(slice), l.row_pitch, x, y)
}

#[inline(always)]
fn map(map: Map, texel: Texel) -> Texel {
    match map {
        Map::Identity => texel,
        Map::Compare(reference, op) => {
            let value = f32::from_bits(texel[0]);
            let pass = match op {
                0 => false,
                1 => reference < value,
                2 => reference == value,
                3 => reference <= value,
                4 => reference > value,
                5 => reference != value,
                6 => reference >= value,
                _ => true,
            };
            [if pass { ONE } else { 0 }, 0, 0, ONE]
        }
    }
}

/// Returns the border colour, with 0, 0, 0, 1 for the components that the format lacks.
#[cold]
pub fn border_of(view: &ImageView, sampler: &Sampler, integer: bool) -> Texel {
    let info = Format(view.format as u16).info();
    let mut texel = [0, 0, 0, if integer { 1 } else { ONE }];
    for channel in &info.channels[..usize::from(info.channel_count)] {
        let i = match channel.name {
            ChannelName::R | ChannelName::D | ChannelName::S => 0,
            ChannelName::G => 1,
            ChannelName::B => 2,
            ChannelName::A => 3,
            ChannelName::X | ChannelName::E => continue,
        };
        texel[i] = sampler.border_color[i];
    }
    texel
}

/// Loads the grid of a cube face, which continues on the neighbouring faces (seamless).
#[inline(always)]
fn cube_grid<T: Texels>(lane: &LaneArguments<'_>, level: usize, linear: bool) -> TexelGrid {
    let view = lane.view;
    let size = view.level[level].width;
    let (face, [s, t]) = cube::project([lane.coord[0], lane.coord[1], lane.coord[2]]);
    let first_layer = if view.arrayed != 0 { 6 * address::layer(lane.coord[3], view.layers / 6) } else { 0 };
    let face_layers = |face: usize| (first_layer + face as u32).min(view.layers.max(1) - 1);
    let mut grid = TexelGrid { texels: [[0; 4]; 8], weight: [0.0; 3] };
    if !linear {
        let clamped = |u: f32| address::nearest(u * size as f32, 0, size, address::mode::CLAMP_TO_EDGE).at[0] as u32;
        let texel = load::<T>(view, level, face_layers(face), [clamped(s), clamped(t), 0]);
        grid.texels[0] = map(lane.map, texel);
        return grid;
    }
    let axis = |u: f32| {
        let u = (u * size as f32 - 0.5).max(-0.5).min(size as f32 - 0.5);
        (u.floor() as i32, u - u.floor())
    };
    let ((i, wi), (j, wj)) = (axis(s), axis(t));
    grid.weight = [wi, wj, 0.0];
    let mut corner = None;
    for k in 0..4 {
        match cube::texel(face, i + (k & 1), j + (k >> 1), size) {
            CubeTexel::At(face, x, y) => {
                let texel = load::<T>(view, level, face_layers(face), [x, y, 0]);
                grid.texels[k as usize] = map(lane.map, texel);
            }
            CubeTexel::Corner => corner = Some(k as usize),
        }
    }
    if let Some(k) = corner {
        let mut others = (0..4).filter(|&o| o != k).map(|o| grid.texels[o]);
        let mut next = || others.next().unwrap_or_default();
        let (a, b, c) = (next(), next(), next());
        // Gathers of integer texels reach this code too; they use a neighbouring texel.
        grid.texels[k] = if lane.integer {
            a
        } else {
            std::array::from_fn(|i| {
                ((f32::from_bits(a[i]) + f32::from_bits(b[i]) + f32::from_bits(c[i])) / 3.0).to_bits()
            })
        };
    }
    grid
}

/// Returns one component of the base level's footprint, counter-clockwise from the lower left
/// (`OpImageGather` and `OpImageDrefGather`).
#[inline(always)]
fn gather<T: Texels>(lane: &LaneArguments<'_>, args: &ImageArgs) -> Texel {
    const ORDER: [usize; 4] = [2, 3, 1, 0];
    let offsets = args.has_gather_offsets != 0;
    let mut texels = [[0; 4]; 4];
    for k in 0..if offsets { 4 } else { 1 } {
        let mut shifted = *lane;
        if offsets {
            shifted.offset = [args.gather_offsets[2 * k], args.gather_offsets[2 * k + 1], 0];
        }
        let grid = grid::<T>(&shifted, 0, true);
        if offsets {
            texels[k] = grid.texels[0];
        } else {
            texels = ORDER.map(|k| grid.texels[k]);
        }
    }
    let component = match lane.map {
        Map::Identity => (args.component & 3) as usize,
        Map::Compare(..) => 0,
    };
    texels.map(|t| mapped::<T>(lane.view, t, lane.integer)[component])
}
