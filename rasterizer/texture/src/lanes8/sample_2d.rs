//! The fast kernels: 2D views (arrayed or not), one filter for magnification and minification,
//! plain samples; and the anisotropic kernel, with linear filters.
//!
//! Everything is computed for all lanes at once, in the host's vectors
//! (`base::host::{Ints, Floats}`), within one function from coordinates to texels. Inactive lanes
//! take part: their level exists and their coordinates wrap like any other, so that their loads
//! stay inside; they load the texels of an active lane. Only their results are unspecified. All
//! other samples, and calls in which a lane samples the border's colour, use the general kernel.
//!
//! One level of one layer is sampled at a time, which mostly covers all lanes. Lanes that differ
//! are sampled one group after the other.
//!
//! Most of a call's time is latency: that from coordinates to texels, and that of memory. The next
//! texels are thus prefetched ([`Slice::prefetch`]), and no load waits for the level
//! ([`foretold`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over components index several arrays of vectors")]

use super::super::address::{self, BORDER, FAR, mode};
use super::super::lod::{Detail, detail_of, foretold};
use super::super::memory::ValidView;
use super::super::sampler_class::GENERAL;
use super::super::slice::Slice;
use super::super::swizzle::map_lanes;
use super::super::texel::Texels;
use super::super::words::{Words, row};
use base::abi::{Dim, ImageArgs, ImageView, KERNEL_SAMPLE, MAX_LANES, SampleOp, Sampler};
use base::format::pack::ONE;
use base::host::{Floats, Host, Ints};

base::multiversion_fn! {
    /// Wraps the texels of an axis ([`wrap`]).
    pub(crate) fn wrap_of(_host: H, texels: &mut [[u32; MAX_LANES]; 2], size: i32, address_mode: u32) {
        for texels in texels {
            *texels = wrap::<H::Ints>(*texels, size, address_mode);
        }
    }
}

/// Texels and weights of one axis.
struct TexelAxis<H: Host> {
    texels: [H::Ints; 2],
    weight: H::Floats,
    /// Lanes that sample the border.
    border: u32,
}

/// Returns true if the general kernel must take the sample. It takes all that are not plain samples
/// of a 2D view. It also takes samples that may include a border, unless both kernels have the same
/// bits.
#[inline(always)]
fn is_general(view: &ImageView, sampler: &Sampler, args: &ImageArgs, same_bits: bool) -> bool {
    let borders = sampler.address_mode[0] == mode::CLAMP_TO_BORDER || sampler.address_mode[1] == mode::CLAMP_TO_BORDER;
    args.op != SampleOp::Sample || view.dim != Dim::D2 || borders && !same_bits
}

/// Calls the general kernel through the view's pointer, because it is big and one copy per class is
/// enough.
#[inline(always)]
fn general(view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) {
    view.kernel(KERNEL_SAMPLE + GENERAL as usize).call(view, Some(sampler), args);
}

/// Samples all active lanes, with `PROBES` along the major axes of their footprints. The result has
/// the general kernel's bits if no division comes at the end ([`Texels::SCALED`]), with `PROBES`,
/// and without `LINEAR`.
#[inline(always)]
pub fn sample<H: Host, T: Texels, const LINEAR: bool, const PROBES: bool>(
    host: H,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
) {
    if is_general(&view, sampler, args, !T::SCALED || PROBES || !LINEAR) {
        return general(view, sampler, args);
    }
    // Otherwise every λ is clamped to 0.
    let detailed = view.levels > 1 && (sampler.max_lod > 0.0 || view.min_lod > 0.0);
    let mut detail;
    let found = if PROBES || detailed {
        detail = Detail::BASE;
        detail_of::<H, PROBES>(host, &view, sampler, args, &mut detail);
        if T::INTEGER {
            // Integers are not blended, so the nearer one of two levels is used.
            let [first, second] = detail.level;
            let further = H::Ints::from_array(detail.weight).as_floats().greater(H::Floats::splat(0.5));
            detail.level[0] = further.select(H::Ints::from_array(second), H::Ints::from_array(first)).to_array();
            detail.levels = 1;
        }
        Some(&detail)
    } else {
        None
    };
    let coord = [row(host, &args.coord[0]).as_floats(), row(host, &args.coord[1]).as_floats()];
    let zero = H::Ints::splat(0);
    let count = found.map_or(zero, |detail| H::Ints::from_array(detail.probes));
    let mut result = [zero; 4];
    let mut border = 0;
    for pass in 0..found.map_or(1, |detail| detail.levels) {
        let level = found.and_then(|detail| detail.level.get(pass));
        let mut sum = [zero; 4];
        let mut probe = 1;
        loop {
            let coord = match found {
                Some(detail) if PROBES => at_probe::<H>(coord, detail, probe),
                _ => coord,
            };
            let lanes = LaneArguments::<H> { host, view, sampler, args, coord };
            let texels = lanes.levels::<T, LINEAR, PROBES>(level, &mut border);
            if probe == 1 {
                sum = texels;
            } else {
                let has = count.greater(H::Ints::splat(probe - 1));
                for c in 0..4 {
                    sum[c] = has.select((sum[c].as_floats() + texels[c].as_floats()).bits(), sum[c]);
                }
            }
            if !PROBES || found.is_none_or(|detail| probe >= detail.max_probes) {
                break;
            }
            probe += 1;
        }
        if PROBES {
            for c in &mut sum {
                *c = (c.as_floats() / count.to_floats()).bits();
            }
        }
        if pass == 0 {
            result = sum;
            continue;
        }
        let weight = found.map_or(zero, |detail| H::Ints::from_array(detail.weight)).as_floats();
        let has = weight.greater(H::Floats::splat(0.0));
        for c in 0..4 {
            let blended = lerp::<H>(result[c], sum[c], weight);
            result[c] = if T::SCALED && !PROBES { blended } else { has.select(blended, result[c]) };
        }
    }
    if border != 0 {
        return general(view, sampler, args);
    }
    if !PROBES {
        result = over_255::<H, T>(result);
    }
    map_lanes(&view, &mut args.result, result, if T::INTEGER { 1 } else { ONE });
}

/// Returns the coordinates of a probe, counted from 1; lanes with one probe keep theirs.
#[inline(always)]
pub(crate) fn at_probe<H: Host>(coord: [H::Floats; 2], detail: &Detail, probe: u32) -> [H::Floats; 2] {
    let (count, one) = (H::Ints::from_array(detail.probes), H::Ints::splat(1));
    let at = H::Ints::splat(probe).to_floats() / (count + one).to_floats() - H::Floats::splat(0.5);
    let several = count.greater(one);
    let mut moved = coord;
    for c in 0..2 {
        let to = coord[c] + H::Ints::from_array(detail.major[c]).as_floats() * at;
        moved[c] = several.select(to.bits(), coord[c].bits()).as_floats();
    }
    moved
}

/// Returns `a + (b - a) * t`.
#[inline(always)]
pub(crate) fn lerp<H: Host>(a: H::Ints, b: H::Ints, t: H::Floats) -> H::Ints {
    let (from, to) = (a.as_floats(), b.as_floats());
    (from + (to - from) * t).bits()
}

/// The arguments of the lanes, except the level.
struct LaneArguments<'a, H: Host> {
    host: H,
    view: ValidView<'a>,
    sampler: &'a Sampler,
    args: &'a ImageArgs,
    coord: [H::Floats; 2],
}

impl<H: Host> LaneArguments<'_, H> {
    /// Returns the filtered texels of one level per lane (without `levels` the base level). Those
    /// of a scaled class are still multiplied by 255 without `EXACT`. Adds the lanes that sample
    /// the border to `border`.
    #[inline(always)]
    fn levels<T: Texels, const LINEAR: bool, const EXACT: bool>(
        &self,
        levels: Option<&[u32; MAX_LANES]>,
        border: &mut u32,
    ) -> Words<H> {
        let view = self.view;
        let wanted = self.args.mask & ((1 << MAX_LANES) - 1);
        let mut rest = wanted;
        let mut out = [H::Ints::splat(0); 4];
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize % MAX_LANES;
            let (mut same, mut level) = (H::Ints::splat(u32::MAX), 0);
            if let Some(levels) = levels {
                level = foretold(levels[lane]);
                same = H::Ints::from_array(*levels).equal(H::Ints::splat(level));
            }
            let mut layer = 0;
            if view.arrayed != 0 {
                let coord = row(self.host, &self.args.coord[2]).as_floats();
                let last = H::Floats::splat((view.layers.max(1) - 1) as f32);
                let layers = coord.max(H::Floats::splat(0.0)).min(last).round().truncate_to_int();
                layer = address::layer(self.args.coord[2][lane], view.layers);
                same = same & layers.equal(H::Ints::splat(layer));
            }
            // The mask includes the lane itself, even if its layer coordinate compares unequal.
            let mask = same.movemask() & rest | 1 << lane;
            let level = &view.level[level as usize];
            let offset = level.offset + u64::from(layer) * view.layer_stride;
            let (memory, size) = (view.memory(offset), [level.width, level.height]);
            let slice = Slice { memory, pitch: level.row_pitch as u32, size, mask };
            let texels = self.filter::<T, LINEAR, EXACT>(&slice, border);
            if mask == wanted {
                return texels;
            }
            let lanes = H::Ints::from_mask(mask);
            for c in 0..4 {
                out[c] = lanes.select(texels[c], out[c]);
            }
            rest &= !mask;
        }
        out
    }

    /// Returns the filtered texels of one level of a layer.
    #[inline(always)]
    fn filter<T: Texels, const LINEAR: bool, const EXACT: bool>(
        &self,
        slice: &Slice<'_>,
        border: &mut u32,
    ) -> Words<H> {
        let [mut x, mut y] = [self.axis::<LINEAR>(slice, 0), self.axis::<LINEAR>(slice, 1)];
        *border |= (x.border | y.border) & slice.mask;
        if slice.mask != 0xff {
            // Lanes that are not wanted take the texels of one that is, so that nothing is loaded
            // for them alone.
            let (wanted, first) = (H::Ints::from_mask(slice.mask), slice.mask.trailing_zeros());
            for i in 0..2 {
                x.texels[i] = wanted.select(x.texels[i], x.texels[i].broadcast_lane(first));
                y.texels[i] = wanted.select(y.texels[i], y.texels[i].broadcast_lane(first));
            }
        }
        if LINEAR {
            // Probes are excluded: their lanes lie apart in the direction of the probes, and
            // the next probe lies near.
            if !EXACT {
                let weights = [x.weight, y.weight];
                if let Some(texels) = T::bilinear::<H, true>(self.host, self.view, slice, x.texels, y.texels, weights) {
                    return texels;
                }
                T::prefetch::<H, 4>(slice, x.texels[0], y.texels[0]);
            }
            let words = T::footprint(self.host, self.view, slice, x.texels, y.texels);
            filtered::<H, T, EXACT>(&words, x.weight, y.weight)
        } else {
            T::prefetch::<H, 3>(slice, x.texels[0], y.texels[0]);
            let words = T::words(self.host, self.view, slice, x.texels[0], y.texels[0]);
            if EXACT { T::components::<_, false>(&words) } else { T::components::<_, true>(&words) }
        }
    }

    /// Returns the texels of axis `c`, which lie inside of the slice, and the weights.
    #[inline(always)]
    fn axis<const LINEAR: bool>(&self, slice: &Slice<'_>, c: usize) -> TexelAxis<H> {
        let size = slice.size[c] as i32;
        let (first, weight) = located::<H, LINEAR>(self.coord[c], H::Floats::splat(size as f32));
        let first = first + row(self.host, &self.args.offset[c]);
        let mut texels = [first, first + H::Ints::splat(1)];
        let (zero, last) = (H::Ints::splat(0), H::Ints::splat(size as u32 - 1));
        // The sign is set if the first texel is below 0, or if the last one lies after the level.
        let outside = first | (last - texels[usize::from(LINEAR)]);
        let mut border = 0;
        match self.sampler.address_mode[c] {
            mode::REPEAT if size & (size - 1) == 0 => texels = [texels[0] & last, texels[1] & last],
            mode::CLAMP_TO_EDGE => {
                texels = [texels[0].max(zero).min(last), texels[1].max(zero).min(last)];
            }
            mode::CLAMP_TO_BORDER => {
                border = outside.movemask();
                texels = [texels[0].max(zero).min(last), texels[1].max(zero).min(last)];
            }
            address_mode => {
                if outside.movemask() != 0 {
                    let mut lanes = [texels[0].to_array(), texels[1].to_array()];
                    wrap_of(self.host, &mut lanes, size, address_mode);
                    texels = [H::Ints::from_array(lanes[0]), H::Ints::from_array(lanes[1])];
                }
            }
        }
        TexelAxis { texels, weight, border }
    }
}

/// Returns the texel at a coordinate of an axis of `size` texels; with `LINEAR` the first of two,
/// and the weight of the second.
#[inline(always)]
pub(crate) fn located<H: Host, const LINEAR: bool>(coord: H::Floats, size: H::Floats) -> (H::Ints, H::Floats) {
    let float = H::Floats::splat;
    let mut u = coord * size;
    if LINEAR {
        u = u - float(0.5);
    }
    let u = u.max(float(-FAR)).min(float(FAR));
    let floor = u.floor();
    (floor.truncate_to_int(), u - floor)
}

/// Returns a filtered footprint.
#[inline(always)]
pub(crate) fn filtered<H: Host, T: Texels, const EXACT: bool>(
    words: &[Words<H>; 4],
    x: H::Floats,
    y: H::Floats,
) -> Words<H> {
    [
        bilinear::<H, T, 0, EXACT>(words, x, y),
        bilinear::<H, T, 1, EXACT>(words, x, y),
        bilinear::<H, T, 2, EXACT>(words, x, y),
        bilinear::<H, T, 3, EXACT>(words, x, y),
    ]
}

/// Returns components of a scaled class, divided by 255 at the end if that was deferred.
#[inline(always)]
pub(crate) fn over_255<H: Host, T: Texels>(mut components: Words<H>) -> Words<H> {
    if T::SCALED {
        for c in &mut components {
            *c = c.as_floats().div_255().bits();
        }
    }
    components
}

/// Returns a filtered component of a footprint.
#[inline(always)]
fn bilinear<H: Host, T: Texels, const C: usize, const EXACT: bool>(
    words: &[Words<H>; 4],
    x: H::Floats,
    y: H::Floats,
) -> H::Ints {
    if !T::HAS[C] {
        return corner::<H, T, C, EXACT>(&words[0]);
    }
    let upper = lerp::<H>(corner::<H, T, C, EXACT>(&words[0]), corner::<H, T, C, EXACT>(&words[1]), x);
    let lower = lerp::<H>(corner::<H, T, C, EXACT>(&words[2]), corner::<H, T, C, EXACT>(&words[3]), x);
    lerp::<H>(upper, lower, y)
}

/// Returns a component of one texel of a footprint. It is a function, because a large closure is
/// not inlined into code for the host's vectors.
#[inline(always)]
fn corner<H: Host, T: Texels, const C: usize, const EXACT: bool>(words: &Words<H>) -> H::Ints {
    // NaNs become quiet in the filter anyway.
    match EXACT {
        true => T::component::<H::Ints, C, false, true>(words),
        false => T::component::<H::Ints, C, true, true>(words),
    }
}

/// Returns texel coordinates wrapped into the level.
#[inline(always)]
fn wrap<V: Ints>(texels: [u32; MAX_LANES], size: i32, address_mode: u32) -> [u32; MAX_LANES] {
    let (at, last) = (V::from_array(texels), V::splat(size as u32 - 1));
    let wrapped = match address_mode {
        mode::REPEAT => remainder(at, size),
        mode::MIRRORED_REPEAT => {
            let at = remainder(at, 2 * size);
            at.greater(last).select(V::splat(2 * size as u32 - 1) - at, at)
        }
        _ => (at ^ at.sar(31)).min(last),
    };
    if (wrapped | (last - wrapped)).movemask() == 0 {
        return wrapped.to_array();
    }
    // Coordinates so far away exceed the range of `remainder`.
    texels.map(|at| {
        let wrapped = address::wrap(at as i32, size, address_mode);
        debug_assert!(wrapped != BORDER);
        wrapped as u32
    })
}

/// Returns the remainder in `0..size` of numbers up to 2^22; for other numbers it may lie outside.
#[inline(always)]
fn remainder<V: Ints>(at: V, size: i32) -> V {
    let (n, zero) = (V::splat(size as u32), V::splat(0));
    // The quotient is wrong by at most 1.
    let quotient = (at.to_floats() * V::Floats::splat(1.0 / size as f32)).floor().truncate_to_int();
    let at = at - quotient * n;
    let at = at + (at.sar(31) & n);
    at - zero.greater(n - V::splat(1) - at).select(n, zero)
}
