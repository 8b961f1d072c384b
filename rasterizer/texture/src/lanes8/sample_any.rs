//! The sampling kernel for every dimension, filter, address mode and operation, for all lanes at
//! once.
//!
//! The results have the bits of `general`, which samples lane by lane, but are computed in the
//! host's vectors (`base::host::{Ints, Floats}`). One copy of the code serves all formats: the
//! view's [`TapsKernel`](base::abi::TapsKernel) reads and unpacks the texels, with one call for all
//! texels that the lanes sample in a level. Lanes of different levels, or with different filters,
//! are sampled one group after the other.
//!
//! The kernels of the commonest samples (`planar`, `whole`) pass the calls that they do not handle
//! to this one.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over components index several arrays of vectors")]

use super::super::address::{self, BORDER, FAR, mode};
use super::super::cube::{self, CubeTexel, Faces};
use super::super::lod::{self, Detail, any_detail, foretold};
use super::super::memory::ValidView;
use super::super::sampler_class::is_detailed;
use super::super::scalar::{border_of, is_normalised};
use super::super::swizzle;
use super::super::taps::{TapBuffer, TapSlice};
use super::super::words::{Words, row};
use super::sample_2d::{at_probe, lerp, wrap_of};
use base::abi::{Dim, ImageArgs, ImageLevel, ImageView, MAX_LANES, SampleOp, Sampler, TAPS};
use base::format::Format;
use base::format::pack::ONE;
use base::host::{Floats, Host, Ints};

/// Mask of all lanes.
const ALL: u32 = (1 << MAX_LANES) - 1;
/// Dimensions as constants for generic parameters.
const D1: u32 = Dim::D1 as u32;
const D2: u32 = Dim::D2 as u32;
const D3: u32 = Dim::D3 as u32;
const CUBE: u32 = Dim::Cube as u32;
/// Numbers of the texels of a footprint in the order in which a gather returns them.
const GATHERED: [usize; 4] = [2, 3, 1, 0];

/// Samples all active lanes.
#[inline(always)]
pub fn sample<H: Host>(host: H, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) {
    let wanted = args.mask & ALL;
    let format = Format(view.format as u16);
    let integer = format.is_integer();
    let gathers = matches!(args.op, SampleOp::Gather | SampleOp::GatherDref);
    let mut result = [H::Ints::splat(0); 4];
    match args.op {
        SampleOp::QueryLod => return queried(view, sampler, args),
        // Residency has separate kernels.
        SampleOp::Resident | SampleOp::ResidentGather => {}
        // A gather accesses the base level, which is below the view's minimum level of detail here.
        _ if wanted == 0 || gathers && view.min_lod >= 1.0 => {}
        _ => {
            let common = CallArguments {
                host,
                view,
                sampler,
                args: &*args,
                integer,
                gathers,
                compares: matches!(args.op, SampleOp::SampleDref | SampleOp::GatherDref),
                // Blocks are found by column and row in a slice, not by an offset in bytes.
                by_slices: format.is_compressed(),
            };
            result = match common.together(wanted) {
                Some(result) => result,
                None => common.filtered(wanted),
            };
        }
    }
    if gathers {
        for c in 0..4 {
            args.result[c] = result[c].to_array();
        }
        return;
    }
    swizzle::map_lanes(&view, &mut args.result, result, if integer { 1 } else { ONE });
}

/// The fast path, which most calls take: all lanes sample one level, or the same two, with one
/// filter. No lane samples a border, and on a cube each lane samples only one face.
impl<H: Host> CallArguments<'_, H> {
    /// Returns the result of a sample or a gather; `None` if the call does not qualify.
    #[inline(always)]
    fn together(&self, wanted: u32) -> Option<Words<H>> {
        let (view, sampler, args) = (self.view, self.sampler, self.args);
        let probes = sampler.max_anisotropy > 1.0 && view.dim == Dim::D2 && !self.gathers;
        if self.integer || self.by_slices || probes || self.gathers && args.has_gather_offsets != 0 {
            return None;
        }
        let (mut levels, mut passes, mut linear) = ([0; 2], 1, self.gathers || sampler.min_filter == 1);
        let mut weight = H::Floats::splat(0.0);
        let two_filters = sampler.mag_filter != sampler.min_filter;
        if !self.gathers && (two_filters || is_detailed(&view, sampler)) {
            let mut detail = Detail::BASE;
            let magnified = any_detail(self.host, &view, sampler, args, &mut detail) & wanted;
            if two_filters {
                if magnified != 0 && magnified != wanted {
                    return None;
                }
                linear = (sampler.mag_filter == 1) == (magnified != 0);
            }
            passes = detail.levels;
            let lane = wanted.trailing_zeros() as usize % MAX_LANES;
            for (number, numbers) in levels.iter_mut().zip(&detail.level).take(passes) {
                *number = foretold(numbers[lane]);
                if wanted & !H::Ints::from_array(*numbers).equal(H::Ints::splat(*number)).movemask() != 0 {
                    return None;
                }
            }
            weight = H::Ints::from_array(detail.weight).as_floats();
        }
        let (lanes, lane) = (H::Ints::from_mask(wanted), wanted.trailing_zeros());
        let mut coord = [H::Floats::splat(0.0); 4];
        for c in 0..4 {
            let bits = row(self.host, &args.coord[c]);
            // The coordinates of other lanes may be arbitrary, so these lanes use those of a wanted
            // one.
            coord[c] = if wanted == ALL { bits } else { lanes.select(bits, bits.broadcast_lane(lane)) }.as_floats();
        }
        let mut result = [H::Ints::splat(0); 4];
        for pass in 0..passes {
            let texels = {
                let number = levels[pass % 2];
                match view.dim {
                    Dim::D1 | Dim::Buffer => self.of_level::<D1>(number, coord, linear, wanted)?,
                    Dim::D2 => self.of_level::<D2>(number, coord, linear, wanted)?,
                    Dim::D3 => self.of_level::<D3>(number, coord, linear, wanted)?,
                    Dim::Cube => self.of_level::<CUBE>(number, coord, linear, wanted)?,
                }
            };
            if pass == 0 {
                result = texels;
                continue;
            }
            let has = weight.greater(H::Floats::splat(0.0));
            for c in 0..4 {
                let both = match sampler.reduction {
                    0 => lerp::<H>(result[c], texels[c], weight),
                    reduction => reduced::<H>(result[c], texels[c], weight, reduction),
                };
                result[c] = has.select(both, result[c]);
            }
        }
        Some(result)
    }

    /// Returns the samples of a level, or the result of a gather; `None` if a lane leaves the fast
    /// path.
    #[inline(always)]
    fn of_level<const DIM: u32>(
        &self,
        number: u32,
        coord: [H::Floats; 4],
        linear: bool,
        wanted: u32,
    ) -> Option<Words<H>> {
        let (view, args, modes) = (self.view, self.args, self.sampler.address_mode);
        let level = &view.level[number as usize];
        let [stride, pitch] = offsets_in(&view, level)?;
        let zero = H::Ints::splat(0);
        let (stride, pitch) = (H::Ints::splat(stride), H::Ints::splat(pitch));
        let unnormalized = self.sampler.unnormalized != 0;
        let mut offset = [zero; 3];
        if args.has_offset != 0 {
            let (lanes, lane) = (H::Ints::from_mask(wanted), wanted.trailing_zeros());
            for c in 0..3 {
                let of = row(self.host, &args.offset[c]);
                offset[c] = lanes.select(of, of.broadcast_lane(lane));
            }
        }
        let (mut rows, mut count, mut weight) = ([zero; 4], 1, [H::Floats::splat(0.0); 3]);
        let columns;
        let elsewhere;
        let (mut s, mut t, mut layer) = (coord[0], coord[1], zero);
        if DIM == CUBE {
            let faces = Faces::of([coord[0], coord[1], coord[2]]);
            [s, t] = faces.project([coord[0], coord[1], coord[2]]);
            layer = (self.first_faces(coord[3]) + faces.numbers()).min(self.last_layer());
        } else if view.arrayed != 0 {
            layer = layers::<H>(if DIM == D1 { coord[1] } else { coord[2] }, view.layers);
        }
        rows[0] = layer * stride;
        if DIM == CUBE && self.sampler.non_seamless == 0 {
            let [x, y] = match linear {
                true => [face_axis(self.host, s, level.width), face_axis(self.host, t, level.width)],
                false => {
                    let clamped = [level.width, mode::CLAMP_TO_EDGE];
                    [axis(self.host, s, zero, clamped, false, false), axis(self.host, t, zero, clamped, false, false)]
                }
            };
            (columns, count) = (x.texels, 2);
            (weight[0], weight[1]) = (x.weight, y.weight);
            elsewhere = x.border[0] | y.border[0];
            rows[1] = rows[0] + y.texels[1] * pitch;
            rows[0] = rows[0] + y.texels[0] * pitch;
        } else {
            let x = axis(self.host, s, offset[0], [level.width, modes[0]], unnormalized, linear);
            (columns, weight[0]) = (x.texels, x.weight);
            let mut border = x.border[0] | x.border[1];
            if DIM != D1 {
                let y = axis(self.host, t, offset[1], [level.height, modes[1]], unnormalized, linear);
                (count, weight[1]) = (2, y.weight);
                border = border | y.border[0] | y.border[1];
                rows[1] = rows[0] + y.texels[1] * pitch;
                rows[0] = rows[0] + y.texels[0] * pitch;
            }
            if DIM == D3 {
                let z = axis(self.host, coord[2], offset[2], [level.depth, modes[2]], unnormalized, linear);
                (count, weight[2]) = (4, z.weight);
                border = border | z.border[0] | z.border[1];
                let (near, far) = (z.texels[0] * stride, z.texels[1] * stride);
                rows = [rows[0] + near, rows[1] + near, rows[0] + far, rows[1] + far];
            }
            elsewhere = border;
        }
        if elsewhere.movemask() != 0 {
            return None;
        }
        let mut taps = TapBuffer::new();
        let columns = [columns[0].to_array(), columns[1].to_array()];
        for i in 0..if linear { count } else { 1 } {
            let row = rows[i].to_array();
            taps.place(2 * i, [columns[0], row]);
            taps.place(2 * i + 1, [columns[1], row]);
        }
        let count = if linear { 2 * count } else { 1 };
        let slice = TapSlice { offset: level.offset, pitch: 1, size: [level.width, level.height], mask: wanted };
        taps.read(view, slice, 0..count);
        Some(self.result_of(&mut taps, count, weight))
    }

    /// Returns the result of an operation on the texels of a group, which include no border and no
    /// corner of a cube.
    #[inline(always)]
    fn result_of(&self, taps: &mut TapBuffer, count: usize, weight: [H::Floats; 3]) -> Words<H> {
        let zero = H::Ints::splat(0);
        let mut result = [zero; 4];
        let mut varying = taps.varying();
        if self.compares {
            let reference = self.references(row(self.host, &self.args.dref).as_floats());
            for i in 0..count {
                compare::<H>(taps, i, reference, self.sampler.compare_op);
            }
            varying = 1;
        }
        if self.gathers {
            let source = self.view.swizzle[if self.compares { 0 } else { self.args.component as usize & 3 }];
            for (to, number) in result.iter_mut().zip(GATHERED) {
                *to = match source {
                    0..=3 if number < count => taps.texel(number, source.into()),
                    5 => H::Ints::splat(if self.integer { 1 } else { ONE }),
                    _ => zero,
                };
            }
            return result;
        }
        for c in 0..4 {
            result[c] = match (count > 1 && varying >> c & 1 != 0, self.sampler.reduction) {
                (false, _) => taps.texel(0, c),
                (true, 0) => collapsed::<H, false>(taps, count, c, weight, 0),
                (true, reduction) => collapsed::<H, true>(taps, count, c, weight, reduction),
            };
        }
        result
    }

    /// Returns the references, which are clamped if the depth format is normalised.
    #[inline(always)]
    fn references(&self, reference: H::Floats) -> H::Floats {
        match is_normalised(&self.view) {
            true => reference.max(H::Floats::splat(0.0)).min(H::Floats::splat(1.0)),
            false => reference,
        }
    }
}

/// Returns the texels of an axis of a cube's face. They may be one step outside; `border` is then
/// negative in the lane.
#[inline(always)]
fn face_axis<H: Host>(_: H, coord: H::Floats, size: u32) -> TexelAxis<H> {
    let (float, one) = (H::Floats::splat, H::Ints::splat(1));
    let u = coord * float(size as f32) - float(0.5);
    let u = u.max(float(-0.5)).min(float(size as f32 - 0.5));
    let floor = u.floor();
    let (first, second) = (floor.truncate_to_int(), floor.truncate_to_int() + one);
    let outside = first | (H::Ints::splat(size - 1) - second);
    TexelAxis { texels: [first, second], weight: u - floor, border: [outside; 2] }
}

/// Replaces a texel by the result of its comparison.
#[inline(always)]
fn compare<H: Host>(taps: &mut TapBuffer, i: usize, reference: H::Floats, op: u32) {
    let passed = passed::<H>(reference, taps.texel::<H::Ints>(i, 0).as_floats(), op) & H::Ints::splat(ONE);
    taps.replace(i, [passed.to_array(), [0; MAX_LANES], [0; MAX_LANES], [ONE; MAX_LANES]]);
}

/// Returns the number of bytes between the slices of a level and between its rows, if all offsets
/// in the level have 32 bits.
#[inline(always)]
fn offsets_in(view: &ImageView, level: &ImageLevel) -> Option<[u32; 2]> {
    let (stride, slices) = slices_of(view, level);
    let bytes = u64::from(slices - 1) * stride + u64::from(level.height) * level.row_pitch;
    // With one slice the stride is not used, so it may be truncated.
    u32::try_from(bytes).is_ok().then_some([stride as u32, level.row_pitch as u32])
}

/// Returns the number of bytes between the slices of a level, and the number of slices.
#[inline(always)]
fn slices_of(view: &ImageView, level: &ImageLevel) -> (u64, u32) {
    match view.dim {
        Dim::D3 => (level.slice_pitch, level.depth),
        _ => (view.layer_stride, view.layers.max(1)),
    }
}

/// Returns level and λ' lane by lane (`OpImageQueryLod`).
#[inline(always)]
fn queried(view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) {
    let lods = lod::lods(&view, sampler, args);
    for (lane, lod) in lods.iter().enumerate() {
        let [level, lambda] = lod::query(&view, sampler, lod);
        for (row, of_lane) in args.result.iter_mut().zip([level.to_bits(), lambda.to_bits(), 0, 0]) {
            row[lane] = of_lane;
        }
    }
}

/// The arguments that all lanes of a call share.
struct CallArguments<'a, H: Host> {
    host: H,
    view: ValidView<'a>,
    sampler: &'a Sampler,
    args: &'a ImageArgs,
    /// True if texels are integers, which no filter changes.
    integer: bool,
    /// True if the result is one component of four texels.
    gathers: bool,
    /// True if texels are compared with a reference.
    compares: bool,
    /// True if texels can be read from only one slice at a time.
    by_slices: bool,
}

/// Lanes that sample one level with one filter, and their coordinates.
struct LaneGroup<'a, H: Host> {
    level: &'a ImageLevel,
    linear: bool,
    /// Lanes of the group. All other lanes have the coordinates of the first one.
    mask: u32,
    coord: [H::Floats; 4],
    offset: [H::Ints; 3],
    reference: H::Floats,
}

/// The texels of one axis, inside of the level, and the weight of the second one.
struct TexelAxis<H: Host> {
    texels: [H::Ints; 2],
    weight: H::Floats,
    /// All ones in lanes that sample the border and not the texel.
    border: [H::Ints; 2],
}

impl<H: Host> TexelAxis<H> {
    /// Returns the axis of a dimension with one texel.
    #[inline(always)]
    fn flat() -> Self {
        let zero = H::Ints::splat(0);
        TexelAxis { texels: [zero; 2], weight: H::Floats::splat(0.0), border: [zero; 2] }
    }
}

/// The texels of a group.
struct TexelGroup<H: Host> {
    taps: TapBuffer,
    /// Number of texels: 1, or two for each axis with a filter.
    count: usize,
    weight: [H::Floats; 3],
    /// Number of the layer, face or depth slice of each texel.
    slice: [H::Ints; TAPS],
    /// Number of consecutive texels, counted from number 0, that lie in one slice per lane.
    together: usize,
    /// All ones in lanes that sample the border and not the texel.
    border: [H::Ints; TAPS],
    borders: bool,
    /// Number of the texel beyond a corner of a cube in each lane, or [`TAPS`] if there is none.
    corner: [u8; MAX_LANES],
    corners: bool,
}

impl<H: Host> CallArguments<'_, H> {
    /// Returns the samples of both levels, with all probes along the major axis of an anisotropic
    /// footprint; or the result of a gather.
    #[inline(always)]
    fn filtered(&self, wanted: u32) -> Words<H> {
        let (view, sampler, args) = (self.view, self.sampler, self.args);
        let (zero, no_weight) = (H::Ints::splat(0), H::Floats::splat(0.0));
        let mut detail = Detail::BASE;
        let mut linear = if sampler.min_filter == 1 { ALL } else { 0 };
        if self.gathers {
            linear = ALL;
        } else {
            let probes = sampler.max_anisotropy > 1.0 && view.dim == Dim::D2;
            let two_filters = sampler.mag_filter != sampler.min_filter;
            // Without several levels, λ only decides between filters.
            if probes || two_filters || is_detailed(&view, sampler) {
                let magnified = any_detail(self.host, &view, sampler, args, &mut detail);
                if two_filters {
                    linear = if sampler.mag_filter == 1 { magnified } else { ALL & !magnified };
                }
            }
            if self.integer {
                linear = 0;
                let [first, second] = detail.level;
                let further = H::Ints::from_array(detail.weight).as_floats().greater(H::Floats::splat(0.5));
                detail.level[0] = further.select(H::Ints::from_array(second), H::Ints::from_array(first)).to_array();
                detail.levels = 1;
            }
        }
        let mut coord = [no_weight; 4];
        for c in 0..4 {
            coord[c] = row(self.host, &args.coord[c]).as_floats();
        }
        let count = H::Ints::from_array(detail.probes);
        let mut result = [zero; 4];
        for pass in 0..detail.levels {
            let weight = if pass == 0 { H::Floats::splat(1.0) } else { H::Ints::from_array(detail.weight).as_floats() };
            let has = weight.greater(no_weight);
            let lanes = has.movemask() & wanted;
            let mut sum = [zero; 4];
            for probe in 1..=detail.max_probes {
                let mut at = coord;
                if detail.max_probes > 1 {
                    [at[0], at[1]] = at_probe::<H>([coord[0], coord[1]], &detail, probe);
                }
                let texels = self.level(&detail.level[pass % 2], linear, lanes, at);
                if probe == 1 {
                    sum = texels;
                    continue;
                }
                let more = count.greater(H::Ints::splat(probe - 1));
                for c in 0..4 {
                    let both = match sampler.reduction {
                        0 => (sum[c].as_floats() + texels[c].as_floats()).bits(),
                        reduction => reduced::<H>(sum[c], texels[c], H::Floats::splat(1.0), reduction),
                    };
                    sum[c] = more.select(both, sum[c]);
                }
            }
            if detail.max_probes > 1 && sampler.reduction == 0 {
                for c in 0..4 {
                    sum[c] = (sum[c].as_floats() / count.to_floats()).bits();
                }
            }
            if pass == 0 {
                result = sum;
                continue;
            }
            for c in 0..4 {
                let both = match sampler.reduction {
                    0 => lerp::<H>(result[c], sum[c], weight),
                    reduction => reduced::<H>(result[c], sum[c], weight, reduction),
                };
                result[c] = has.select(both, result[c]);
            }
        }
        result
    }

    /// Returns the samples of one level per lane, computed one group of lanes after the other. A
    /// group has one level and, according to `linear`, one filter.
    #[inline(always)]
    fn level(&self, numbers: &[u32; MAX_LANES], linear: u32, wanted: u32, coord: [H::Floats; 4]) -> Words<H> {
        let args = self.args;
        let mut out = [H::Ints::splat(0); 4];
        let mut rest = wanted;
        while rest != 0 {
            let lane = rest.trailing_zeros() % MAX_LANES as u32;
            let number = foretold(numbers[lane as usize]);
            let is_linear = linear >> lane & 1 != 0;
            let same = H::Ints::from_array(*numbers).equal(H::Ints::splat(number)).movemask();
            let mask = same & rest & if is_linear { linear } else { !linear } | 1 << lane;
            let mut group = LaneGroup::<H> {
                level: &self.view.level[number as usize],
                linear: is_linear,
                mask,
                coord,
                offset: [H::Ints::splat(0); 3],
                reference: H::Floats::splat(0.0),
            };
            if args.has_offset != 0 {
                for c in 0..3 {
                    group.offset[c] = row(self.host, &args.offset[c]);
                }
            }
            if self.compares {
                group.reference = row(self.host, &args.dref).as_floats();
            }
            let lanes = H::Ints::from_mask(mask);
            if mask != ALL {
                // The coordinates of other lanes may be arbitrary, so these lanes use those of the
                // first one.
                for c in 0..4 {
                    let bits = group.coord[c].bits();
                    group.coord[c] = lanes.select(bits, bits.broadcast_lane(lane)).as_floats();
                }
                for c in 0..3 {
                    group.offset[c] = lanes.select(group.offset[c], group.offset[c].broadcast_lane(lane));
                }
            }
            let texels = self.sampled(&mut group);
            if mask == wanted {
                return texels;
            }
            for c in 0..4 {
                out[c] = lanes.select(texels[c], out[c]);
            }
            rest &= !mask;
        }
        out
    }

    /// Returns the filtered samples of a group, or the results of its gather.
    #[inline(always)]
    fn sampled(&self, group: &mut LaneGroup<'_, H>) -> Words<H> {
        let (args, zero) = (self.args, H::Ints::splat(0));
        let apart = self.gathers && args.has_gather_offsets != 0;
        let mut out = [zero; 4];
        for k in 0..if apart { 4 } else { 1 } {
            if apart {
                let [x, y] = [args.gather_offsets[2 * k], args.gather_offsets[2 * k + 1]];
                group.offset = [H::Ints::splat(x as u32), H::Ints::splat(y as u32), zero];
            }
            let mut grid = TexelGroup::<H> {
                taps: TapBuffer::new(),
                count: 1,
                weight: [H::Floats::splat(0.0); 3],
                slice: [zero; TAPS],
                together: 4,
                border: [zero; TAPS],
                borders: false,
                corner: [TAPS as u8; MAX_LANES],
                corners: false,
            };
            match self.view.dim == Dim::Cube && self.sampler.non_seamless == 0 {
                true => self.place_on_cube(group, &mut grid),
                false => self.place(group, &mut grid),
            }
            self.read(group, &mut grid);
            let varying = self.mapped(group, &mut grid);
            if self.gathers {
                let source = self.view.swizzle[if self.compares { 0 } else { args.component as usize & 3 }];
                for k_of in if apart { k..k + 1 } else { 0..4 } {
                    let number = if apart { 0 } else { GATHERED[k_of] };
                    out[k_of] = match source {
                        0..=3 if number < grid.count => grid.taps.texel(number, source.into()),
                        5 => H::Ints::splat(if self.integer { 1 } else { ONE }),
                        _ => zero,
                    };
                }
                continue;
            }
            let taps = &grid.taps;
            for c in 0..4 {
                out[c] = match (varying >> c & 1 != 0 && group.linear, self.sampler.reduction) {
                    (false, _) => grid.taps.texel(0, c),
                    (true, 0) => collapsed::<H, false>(taps, grid.count, c, grid.weight, 0),
                    (true, reduction) => collapsed::<H, true>(taps, grid.count, c, grid.weight, reduction),
                };
            }
        }
        out
    }

    /// Finds the positions of a group's texels.
    #[inline(always)]
    fn place(&self, group: &LaneGroup<'_, H>, grid: &mut TexelGroup<H>) {
        let (view, level, modes) = (self.view, group.level, self.sampler.address_mode);
        let mut coord = group.coord;
        let mut layer = H::Ints::splat(0);
        match view.dim {
            Dim::D1 | Dim::Buffer if view.arrayed != 0 => layer = layers::<H>(coord[1], view.layers),
            Dim::D2 if view.arrayed != 0 => layer = layers::<H>(coord[2], view.layers),
            Dim::Cube => {
                let faces = Faces::of([coord[0], coord[1], coord[2]]);
                let [s, t] = faces.project([coord[0], coord[1], coord[2]]);
                (coord[0], coord[1]) = (s, t);
                layer = (self.first_faces(coord[3]) + faces.numbers()).min(self.last_layer());
            }
            _ => {}
        }
        let unnormalized = self.sampler.unnormalized != 0;
        let (offset, linear) = (group.offset, group.linear);
        let [mut y, mut z] = [TexelAxis::<H>::flat(), TexelAxis::<H>::flat()];
        let x = axis(self.host, coord[0], offset[0], [level.width, modes[0]], unnormalized, linear);
        let mut count = 2;
        if matches!(view.dim, Dim::D2 | Dim::Cube | Dim::D3) {
            y = axis(self.host, coord[1], offset[1], [level.height, modes[1]], unnormalized, linear);
            count = 4;
        }
        if view.dim == Dim::D3 {
            z = axis(self.host, coord[2], offset[2], [level.depth, modes[2]], unnormalized, linear);
            count = 8;
        }
        grid.count = if linear { count } else { 1 };
        grid.weight = [x.weight, y.weight, z.weight];
        for i in 0..grid.count {
            let (a, b, c) = (i & 1, i >> 1 & 1, i >> 2);
            grid.set(i, x.texels[a], y.texels[b]);
            grid.slice[i] = z.texels[c] + layer;
        }
        let borders = x.border[0] | x.border[1] | y.border[0] | y.border[1] | z.border[0] | z.border[1];
        grid.borders = borders.movemask() != 0;
        if grid.borders {
            for i in 0..grid.count {
                grid.border[i] = x.border[i & 1] | y.border[i >> 1 & 1] | z.border[i >> 2];
            }
        }
    }

    /// Returns the layer of the first face of each cube.
    #[inline(always)]
    fn first_faces(&self, cube: H::Floats) -> H::Ints {
        match self.view.arrayed {
            0 => H::Ints::splat(0),
            _ => layers::<H>(cube, self.view.layers / 6) * H::Ints::splat(6),
        }
    }

    /// Returns the last layer of the view.
    #[inline(always)]
    fn last_layer(&self) -> H::Ints {
        H::Ints::splat(self.view.layers.max(1) - 1)
    }

    /// Finds the positions of a group's texels on the faces of cubes, which continue on the
    /// neighbouring faces (seamless).
    #[inline(always)]
    fn place_on_cube(&self, group: &LaneGroup<'_, H>, grid: &mut TexelGroup<H>) {
        let size = group.level.width;
        let [x, y, z, cube] = group.coord;
        let faces = Faces::of([x, y, z]);
        let [s, t] = faces.project([x, y, z]);
        let (first_face, face) = (self.first_faces(cube), faces.numbers());
        let layer = (first_face + face).min(self.last_layer());
        if !group.linear {
            let (modes, zero) = ([size, mode::CLAMP_TO_EDGE], H::Ints::splat(0));
            let (x, y) = (axis(self.host, s, zero, modes, false, false), axis(self.host, t, zero, modes, false, false));
            grid.set(0, x.texels[0], y.texels[0]);
            grid.slice[0] = layer;
            return;
        }
        let (x, y) = (face_axis(self.host, s, size), face_axis(self.host, t, size));
        (grid.weight[0], grid.weight[1], grid.count) = (x.weight, y.weight, 4);
        let outside = (x.border[0] | y.border[0]).movemask();
        let [x, y] = [x.texels, y.texels];
        for k in 0..4 {
            grid.set(k, x[k & 1], y[k >> 1]);
            grid.slice[k] = layer;
        }
        if outside != 0 {
            let lanes = (face.to_array(), [x[0].to_array(), y[0].to_array()]);
            let mut faces = [lanes.0; 4];
            let mut places = [[[0; MAX_LANES]; 2]; 4];
            for k in 0..4 {
                places[k] = [x[k & 1].to_array(), y[k >> 1].to_array()];
            }
            beyond_edges(&mut places, &mut faces, &mut grid.corner, lanes, size, outside);
            for k in 0..4 {
                grid.taps.place(k, places[k]);
            }
            for k in 0..4 {
                grid.slice[k] = (first_face + H::Ints::from_array(faces[k])).min(self.last_layer());
            }
            (grid.corners, grid.together) = (grid.corner != [TAPS as u8; MAX_LANES], 1);
        }
    }

    /// Reads the texels of a group.
    #[inline(always)]
    fn read(&self, group: &LaneGroup<'_, H>, grid: &mut TexelGroup<H>) {
        let (view, level, count, taps) = (self.view, group.level, grid.count, &mut grid.taps);
        let (stride, _) = slices_of(&view, level);
        let size = [level.width, level.height];
        if !self.by_slices
            && let Some([stride, pitch]) = offsets_in(&view, level)
        {
            // The row becomes the texel's offset in bytes from the first row of the first slice.
            let (stride, pitch) = (H::Ints::splat(stride), H::Ints::splat(pitch));
            for i in 0..count {
                let rows = H::Ints::from_array(taps.rows(i));
                taps.set_rows(i, (rows * pitch + grid.slice[i] * stride).to_array());
            }
            let slice = TapSlice { offset: level.offset, pitch: 1, size, mask: group.mask };
            return taps.read(view, slice, 0..count);
        }
        // A row has less than 2^32 bytes.
        let slice = TapSlice { offset: level.offset, pitch: level.row_pitch as u32, size, mask: group.mask };
        for first in (0..count).step_by(grid.together) {
            let these = grid.together.min(count - first);
            self.read_slices(taps, [first, these], grid.slice[first], slice, stride);
        }
    }

    /// Reads consecutive texels that lie in one slice per lane, one slice after the other. The
    /// argument `all` is the first slice.
    #[inline(always)]
    fn read_slices(
        &self,
        taps: &mut TapBuffer,
        [first, count]: [usize; 2],
        numbers: H::Ints,
        all: TapSlice,
        stride: u64,
    ) {
        let (of_lane, wanted) = (numbers.to_array(), all.mask);
        let mut rest = wanted;
        let mut kept = [[[0; MAX_LANES]; 4]; 4];
        while rest != 0 {
            let number = of_lane[rest.trailing_zeros() as usize % MAX_LANES];
            let mask = numbers.equal(H::Ints::splat(number)).movemask() & rest;
            let lanes = H::Ints::from_mask(mask);
            let slice = TapSlice { offset: all.offset + u64::from(number) * stride, mask, ..all };
            taps.read(self.view, slice, first..first + count);
            if mask == wanted {
                return;
            }
            rest &= !mask;
            for i in 0..count {
                for c in 0..4 {
                    let kept = &mut kept[i % 4][c];
                    *kept = lanes.select(taps.texel(first + i, c), H::Ints::from_array(*kept)).to_array();
                    if rest == 0 {
                        taps.put(first + i, c, H::Ints::from_array(*kept));
                    }
                }
            }
        }
    }

    /// Applies the border, comparisons and corners of cubes to the texels. Returns the components
    /// that a filter may change.
    #[inline(always)]
    fn mapped(&self, group: &LaneGroup<'_, H>, grid: &mut TexelGroup<H>) -> u32 {
        if grid.borders {
            let border = border_of(&self.view, self.sampler, self.integer);
            for i in 0..grid.count {
                for c in 0..4 {
                    let texel = grid.border[i].select(H::Ints::splat(border[c]), grid.taps.texel(i, c));
                    grid.taps.put(i, c, texel);
                }
            }
        }
        let mut varying = grid.taps.varying();
        if self.compares {
            let reference = self.references(group.reference);
            for i in 0..grid.count {
                compare::<H>(&mut grid.taps, i, reference, self.sampler.compare_op);
            }
            varying = 1;
        }
        if grid.corners {
            corners(&mut grid.taps, &grid.corner, self.integer);
        }
        varying
    }
}

impl<H: Host> TexelGroup<H> {
    /// Sets column and row of a texel.
    #[inline(always)]
    fn set(&mut self, i: usize, x: H::Ints, y: H::Ints) {
        self.taps.place(i, [x.to_array(), y.to_array()]);
    }
}

/// Collapses a component of 2, 4 or 8 texels axis by axis to their weighted average, or with
/// `REDUCED` to their minimum or maximum.
#[inline(always)]
fn collapsed<H: Host, const REDUCED: bool>(
    taps: &TapBuffer,
    count: usize,
    c: usize,
    [x, y, z]: [H::Floats; 3],
    reduction: u32,
) -> H::Ints {
    let first = collapse::<H, REDUCED>(taps.texel(0, c), taps.texel(1, c), x, reduction);
    if count == 2 {
        return first;
    }
    let second = collapse::<H, REDUCED>(taps.texel(2, c), taps.texel(3, c), x, reduction);
    let near = collapse::<H, REDUCED>(first, second, y, reduction);
    if count == 4 {
        return near;
    }
    let first = collapse::<H, REDUCED>(taps.texel(4, c), taps.texel(5, c), x, reduction);
    let second = collapse::<H, REDUCED>(taps.texel(6, c), taps.texel(7, c), x, reduction);
    collapse::<H, REDUCED>(near, collapse::<H, REDUCED>(first, second, y, reduction), z, reduction)
}

/// Collapses two texels to one.
#[inline(always)]
fn collapse<H: Host, const REDUCED: bool>(a: H::Ints, b: H::Ints, weight: H::Floats, reduction: u32) -> H::Ints {
    match REDUCED {
        true => reduced::<H>(a, b, weight, reduction),
        false => lerp::<H>(a, b, weight),
    }
}

/// Returns the minimum (`reduction` 1) or maximum of two texels. The second texel is ignored if its
/// weight is 0.
#[inline(always)]
fn reduced<H: Host>(a: H::Ints, b: H::Ints, weight: H::Floats, reduction: u32) -> H::Ints {
    let (first, second) = (a.as_floats(), b.as_floats());
    let further = if reduction == 1 { first.greater(second) } else { second.greater(first) };
    (further & weight.greater(H::Floats::splat(0.0))).select(b, a)
}

/// Returns all ones in lanes where the comparison by a `VkCompareOp` passes.
#[inline(always)]
fn passed<H: Host>(reference: H::Floats, value: H::Floats, op: u32) -> H::Ints {
    let ones = H::Ints::splat(u32::MAX);
    match op {
        0 => H::Ints::splat(0),
        1 => value.greater(reference),
        2 => reference.greater_or_equal(value) & value.greater_or_equal(reference),
        3 => value.greater_or_equal(reference),
        4 => reference.greater(value),
        5 => (reference.greater_or_equal(value) & value.greater_or_equal(reference)) ^ ones,
        6 => reference.greater_or_equal(value),
        _ => ones,
    }
}

/// Returns the layers of array coordinates.
#[inline(always)]
fn layers<H: Host>(coord: H::Floats, layers: u32) -> H::Ints {
    let last = H::Floats::splat((layers.max(1) - 1) as f32);
    coord.max(H::Floats::splat(0.0)).min(last).round().truncate_to_int()
}

/// Returns the texels of an axis of this size and address mode.
#[inline(always)]
fn axis<H: Host>(
    host: H,
    coord: H::Floats,
    offset: H::Ints,
    [size, address_mode]: [u32; 2],
    unnormalized: bool,
    linear: bool,
) -> TexelAxis<H> {
    let float = H::Floats::splat;
    let at = if unnormalized { coord } else { coord * float(size as f32) };
    let u = if linear { at - float(0.5) } else { at };
    let magnitude = (u.bits() & H::Ints::splat(0x7fff_ffff)).as_floats();
    if float(FAR).greater_or_equal(magnitude).movemask() != ALL {
        let far = far(at.bits().to_array(), offset.to_array(), [size, address_mode], linear);
        let border = [H::Ints::from_array(far.border[0]), H::Ints::from_array(far.border[1])];
        let texels = [H::Ints::from_array(far.texels[0]), H::Ints::from_array(far.texels[1])];
        return TexelAxis { texels, weight: H::Ints::from_array(far.weight).as_floats(), border };
    }
    let floor = u.floor();
    let (zero, last) = (H::Ints::splat(0), H::Ints::splat(size - 1));
    let first = floor.truncate_to_int() + offset;
    let second = if linear { first + H::Ints::splat(1) } else { first };
    // The sign is set if the first texel is below 0, or if the last one lies after the level.
    let outside = first | (last - second);
    let mut border = [zero; 2];
    let mut texels = [first, second];
    match address_mode {
        mode::REPEAT if size & (size - 1) == 0 => texels = [first & last, second & last],
        mode::CLAMP_TO_EDGE => texels = [first.max(zero).min(last), second.max(zero).min(last)],
        mode::CLAMP_TO_BORDER => {
            border = [(first | (last - first)).sar(31), (second | (last - second)).sar(31)];
            texels = [first.max(zero).min(last), second.max(zero).min(last)];
        }
        _ if outside.movemask() == 0 => {}
        _ => {
            let mut lanes = [first.to_array(), second.to_array()];
            wrap_of(host, &mut lanes, size as i32, address_mode);
            texels = [H::Ints::from_array(lanes[0]), H::Ints::from_array(lanes[1])];
        }
    }
    TexelAxis { texels, weight: u - floor, border }
}

/// An [`TexelAxis`] as arrays of lanes.
struct FarTexelAxis {
    texels: [[u32; MAX_LANES]; 2],
    weight: [u32; MAX_LANES],
    border: [[u32; MAX_LANES]; 2],
}

/// Returns the texels of an axis, lane by lane, if a coordinate is NaN or so far outside that it
/// has no fraction.
#[cold]
#[inline(never)]
fn far(at: [u32; MAX_LANES], offset: [u32; MAX_LANES], [size, address_mode]: [u32; 2], linear: bool) -> FarTexelAxis {
    let none = [[0; MAX_LANES]; 2];
    let mut axis = FarTexelAxis { texels: none, weight: none[0], border: none };
    for lane in 0..MAX_LANES {
        let (u, offset) = (f32::from_bits(at[lane]), offset[lane] as i32);
        let make = if linear { address::linear } else { address::nearest };
        let taps = make(u, offset, size, address_mode);
        for (i, at) in taps.at.into_iter().enumerate() {
            if at == BORDER {
                axis.border[i][lane] = u32::MAX;
            } else {
                axis.texels[i][lane] = at as u32;
            }
        }
        axis.weight[lane] = taps.weight.to_bits();
    }
    axis
}

/// Moves texels of a footprint that leave their face to the face on which they lie, in the lanes
/// `outside`. A texel beyond a corner of the cube is recorded in `corner`, and gets a position
/// inside.
#[cold]
#[inline(never)]
fn beyond_edges(
    places: &mut [[[u32; MAX_LANES]; 2]; 4],
    faces: &mut [[u32; MAX_LANES]; 4],
    corner: &mut [u8; MAX_LANES],
    (face, first): ([u32; MAX_LANES], [[u32; MAX_LANES]; 2]),
    size: u32,
    outside: u32,
) {
    for lane in (0..MAX_LANES).filter(|lane| outside >> lane & 1 != 0) {
        for k in 0..4 {
            let (i, j) = (first[0][lane] as i32 + (k & 1), first[1][lane] as i32 + (k >> 1));
            let mut place = [0; 2];
            match cube::texel(face[lane] as usize, i, j, size) {
                CubeTexel::At(other, x, y) => {
                    faces[k as usize][lane] = other as u32;
                    place = [x, y];
                }
                CubeTexel::Corner => corner[lane] = k as u8,
            }
            for c in 0..2 {
                places[k as usize][c][lane] = place[c];
            }
        }
    }
}

/// Replaces texels beyond corners of a cube by the average of the other three; integers (of
/// gathers) by one of them.
#[cold]
#[inline(never)]
fn corners(taps: &mut TapBuffer, corner: &[u8; MAX_LANES], integer: bool) {
    for lane in (0..MAX_LANES).filter(|lane| usize::from(corner[*lane]) < 4) {
        let beyond = usize::from(corner[lane]);
        for c in 0..4 {
            let mut others = [0; 3];
            for (to, k) in others.iter_mut().zip((0..4).filter(|&k| k != beyond)) {
                *to = taps.component(k, c)[lane];
            }
            let [a, b, d] = others.map(f32::from_bits);
            let mut components = taps.component(beyond, c);
            components[lane] = if integer { others[0] } else { ((a + b + d) / 3.0).to_bits() };
            taps.set_component(beyond, c, components);
        }
    }
}
