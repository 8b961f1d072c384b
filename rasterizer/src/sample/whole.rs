//! Whole samples in vectors of 512 bits ([`Host::WIDE`]), from their arguments to their results: the commonest ones, of 2D views as they are, with both axes
//! in one vector. They are `planar::sample`, asked otherwise, with the filters of `wide`.

use super::address::{FAR, mode};
use super::chunks::{ChunkRows, Results, chunk};
use super::lod::{Detail, detail_of, foretold};
use super::slice::Slice;
use super::wide::{Shape, both, chosen, filter, lanes, lerp, offsets_in, over_255, pair};
use super::window::SIDE;
use super::words::row;
use base::abi::{Dim, ImageArgs, ImageKernel, ImageLevel, ImageView, MAX_LANES, SampleOp, Sampler};
use base::format::Row;
use base::format::lanes::Four;
use base::host::{Host, Ints};
use core::arch::x86_64::*;

/// The commonest samples, from their arguments to their results: of a 2D view as it is, with both axes wrapped by the same mode; with `MIPS` of the levels that
/// all lanes have, otherwise only where no other than the first one matters. False where it is another one, or where wanted lanes lie apart: then
/// nothing was done.
///
/// # Safety
/// `view` is a valid, non-empty view whose texels are of row `ROW`; the sampler's class has that filter. The host is `H`, which is [`Host::WIDE`].
#[inline(always)]
pub unsafe fn sample<H: Host, const ROW: usize, const RAW: bool, const LINEAR: bool, const MIPS: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    let Some(four) = Row::<ROW>::FOUR else { return false };
    if !is_common(view, sampler, args) || is_detailed(view, sampler) != MIPS {
        return false;
    }
    // SAFETY: the caller's promise; the levels exist.
    unsafe {
        let mut detail = Detail::BASE;
        let mut numbers = [0; 2];
        if MIPS {
            detail_of::<false>(H::LEVEL)(view, sampler, args, &mut detail);
            match levels::<H>(&detail, args) {
                Some(all) => numbers = all,
                None => return false,
            }
        }
        let place = Place::new::<H>([view; 2], sampler, args, four);
        let Some(mut found) = place.level::<H, RAW, LINEAR, false>(numbers[0]) else { return false };
        if MIPS && detail.levels > 1 {
            let Some(next) = place.level::<H, RAW, LINEAR, false>(numbers[1]) else { return false };
            // Without a second level there is nothing to add.
            found = blended::<H>(found, next, &detail);
        }
        give::<RAW>(&raw mut args.result, found);
    }
    true
}

/// The same of all chunks of a batch, which share what they know of the level. What is not of one level, or not common at all, is sampled by the kernel for `any`
/// samples, single chunks whose lanes lie apart by that for all `others`.
///
/// # Safety
/// As for [`sample`]; both are kernels of the view and the sampler's class.
#[inline(always)]
pub unsafe fn sample_chunks<H: Host, const ROW: usize, const RAW: bool, const LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
    rows: &mut ChunkRows,
    [any, others]: [ImageKernel; 2],
) {
    let Some(four) = Row::<ROW>::FOUR else { return };
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    // SAFETY: the caller's promise; the first level exists.
    unsafe {
        let axes = match is_common(view, sampler, args) && !is_detailed(view, sampler) {
            true => Axes::new::<false>([view; 2], four, sampler.address_mode[0], 0, wanted),
            false => None,
        };
        let Some(axes) = axes else { return rows.one_by_one(view, sampler, args, any) };
        while let Some((coord, result)) = rows.next() {
            match axes.sample::<H, RAW, LINEAR, false>(_mm512_loadu_ps(coord.cast())) {
                Some(found) => give::<RAW>(result, found),
                None => chunk(view, sampler, args, others, (coord, result)),
            }
        }
    }
}

/// The same of two views of that row, of the first level of each: one for the first four lanes, one for the others.
///
/// # Safety
/// As for [`sample`], of both views.
#[inline(always)]
pub unsafe fn sample_pair<H: Host, const ROW: usize, const RAW: bool, const LINEAR: bool>(
    views: [&ImageView; 2],
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    let Some(four) = Row::<ROW>::FOUR else { return false };
    let plain = |view| is_common(view, sampler, args) && !is_detailed(view, sampler);
    if !plain(views[0]) || !plain(views[1]) {
        return false;
    }
    // SAFETY: the caller's promise; the first levels exist.
    unsafe {
        let place = Place::new::<H>(views, sampler, args, four);
        let Some(found) = place.level::<H, RAW, LINEAR, true>(0) else { return false };
        give::<RAW>(&raw mut args.result, found);
    }
    true
}

/// The same with probes along the major axes of the lanes' footprints, of as many levels as there are.
///
/// # Safety
/// As for [`sample`], but that the sampler is anisotropic.
#[inline(always)]
pub unsafe fn anisotropic<H: Host, const ROW: usize>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    let Some(four) = Row::<ROW>::FOUR else { return false };
    if !is_common(view, sampler, args) {
        return false;
    }
    // SAFETY: the caller's promise; the levels exist.
    unsafe {
        let mut detail = Detail::BASE;
        detail_of::<true>(H::LEVEL)(view, sampler, args, &mut detail);
        let Some(numbers) = levels::<H>(&detail, args) else { return false };
        let mut place = Place::new::<H>([view; 2], sampler, args, four);
        let (coord, one) = (place.coord, _mm512_set1_epi32(1));
        let major = pair::<H>(H::Ints::of(detail.major[0]), H::Ints::of(detail.major[1]));
        let probes = H::Ints::of(detail.probes);
        let count = pair::<H>(probes, probes);
        let (several, parts) = (_mm512_cmpgt_epi32_mask(count, one), _mm512_cvtepi32_ps(_mm512_add_epi32(count, one)));
        let mut result = [_mm512_setzero_ps(); 2];
        for pass in 0..detail.levels {
            let mut sum = [_mm512_setzero_ps(); 2];
            for probe in 1..=detail.most.max(1) as i32 {
                let part = _mm512_div_ps(_mm512_cvtepi32_ps(_mm512_set1_epi32(probe)), parts);
                let moved = _mm512_mul_ps(_mm512_castsi512_ps(major), _mm512_sub_ps(part, _mm512_set1_ps(0.5)));
                place.coord = _mm512_mask_mov_ps(coord, several, _mm512_add_ps(coord, moved));
                let Some(texels) = place.level::<H, false, true, false>(numbers[pass % 2]) else { return false };
                let has = _mm512_cmpgt_epi32_mask(count, _mm512_set1_epi32(probe - 1));
                for c in 0..2 {
                    let more = if probe == 1 { texels[c] } else { _mm512_add_ps(sum[c], texels[c]) };
                    sum[c] = if probe == 1 { more } else { _mm512_mask_mov_ps(sum[c], has, more) };
                }
            }
            for sum in &mut sum {
                *sum = _mm512_div_ps(*sum, _mm512_cvtepi32_ps(count));
            }
            result = if pass == 0 { sum } else { blended::<H>(result, sum, &detail) };
        }
        give::<false>(&raw mut args.result, result);
    }
    true
}

/// A sample of a 2D view as it is, with both axes wrapped by the same mode?
#[inline(always)]
fn is_common(view: &ImageView, sampler: &Sampler, args: &ImageArgs) -> bool {
    let plain = args.op == SampleOp::Sample && args.has_offset == 0;
    let flat = view.dim == Dim::D2 && view.arrayed == 0 && view.swizzle == [0, 1, 2, 3];
    plain && flat && sampler.address_mode[0] == sampler.address_mode[1]
}

/// Does another level than the first one matter?
#[inline(always)]
fn is_detailed(view: &ImageView, sampler: &Sampler) -> bool {
    view.levels > 1 && (sampler.max_lod > 0.0 || view.min_lod > 0.0)
}

/// The levels that all wanted lanes have; of one that is not needed some level.
#[inline(always)]
fn levels<H: Host>(detail: &Detail, args: &ImageArgs) -> Option<[u32; 2]> {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let lane = wanted.trailing_zeros() as usize % MAX_LANES;
    let mut numbers = [0; 2];
    for (number, levels) in numbers.iter_mut().zip(&detail.level).take(detail.levels) {
        *number = foretold(levels[lane]);
        if wanted & !H::Ints::of(*levels).equal(H::Ints::splat(*number)).signs() != 0 {
            return None;
        }
    }
    Some(numbers)
}

/// The texels of two levels by the weights of the second, where there is one.
#[inline(always)]
unsafe fn blended<H: Host>(first: [__m512; 2], second: [__m512; 2], detail: &Detail) -> [__m512; 2] {
    // SAFETY: the caller's host is wide.
    unsafe {
        let weight = both::<H>(H::Ints::of(detail.weight).as_floats());
        let has = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(weight, _mm512_setzero_ps());
        [
            _mm512_mask_mov_ps(first[0], has, lerp(first[0], second[0], weight)),
            _mm512_mask_mov_ps(first[1], has, lerp(first[1], second[1], weight)),
        ]
    }
}

/// Gives the components, two at a time; with `RAW` divided by 255.
///
/// # Safety
/// There is room for them; the host is wide.
#[inline(always)]
unsafe fn give<const RAW: bool>(result: *mut Results, mut components: [__m512; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        if RAW {
            components = [over_255(components[0]), over_255(components[1])];
        }
        _mm512_storeu_ps(result.cast(), components[0]);
        _mm512_storeu_ps(result.cast::<f32>().add(2 * MAX_LANES), components[1]);
    }
}

/// Where all lanes sample, but for the level.
struct Place<'a> {
    /// Of each quad.
    views: [&'a ImageView; 2],
    four: Four,
    address_mode: u32,
    /// x, then y.
    coord: __m512,
    wanted: u32,
}

impl<'a> Place<'a> {
    /// # Safety
    /// The host is `H`, and wide.
    #[inline(always)]
    unsafe fn new<H: Host>(views: [&'a ImageView; 2], sampler: &Sampler, args: &ImageArgs, four: Four) -> Place<'a> {
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        // SAFETY: the caller's promise.
        let coord = unsafe { pair::<H>(row::<H, _>(&args.coord[0]), row::<H, _>(&args.coord[1])) };
        // SAFETY: the same bits.
        let coord = unsafe { _mm512_castsi512_ps(coord) };
        Place { views, four, address_mode: sampler.address_mode[0], coord, wanted }
    }

    /// Two components at a time of a level's texels, filtered; without `TWO` both views are the same. None as [`Axes::new`] and [`Axes::sample`].
    ///
    /// # Safety
    /// The level exists; the view's texels are of that kind. The host is `H`, and wide.
    #[inline(always)]
    unsafe fn level<H: Host, const RAW: bool, const LINEAR: bool, const TWO: bool>(
        &self,
        number: u32,
    ) -> Option<[__m512; 2]> {
        // SAFETY: the caller's promise.
        unsafe {
            let axes = Axes::new::<TWO>(self.views, self.four, self.address_mode, number, self.wanted)?;
            axes.sample::<H, RAW, LINEAR, TWO>(self.coord)
        }
    }
}

/// What all samples of a level have in common.
struct Axes {
    four: Four,
    repeats: bool,
    /// It has room for windows of [`Shape::Rows`].
    rows: bool,
    /// Of x in the lower half, of y in the upper one; as lanes have it.
    size: __m512i,
    /// Of each quad.
    slices: [Slice; 2],
}

impl Axes {
    /// Those of a level of views; without `TWO` both are the same. None where the axes wrap in another way, and of levels smaller than a window.
    ///
    /// # Safety
    /// The level exists; the host is wide.
    #[inline(always)]
    unsafe fn new<const TWO: bool>(
        views: [&ImageView; 2],
        four: Four,
        address_mode: u32,
        number: u32,
        wanted: u32,
    ) -> Option<Axes> {
        let level = &views[0].level[number as usize];
        let other = if TWO { &views[1].level[number as usize] } else { level };
        let (width, height) = (level.width, level.height);
        let mut powers = (width & (width - 1)) | (height & (height - 1)) == 0;
        let mut small = width < SIDE || height < SIDE;
        let room = Shape::Rows.width() as u32;
        let mut rows = width >= room;
        if TWO {
            powers &= (other.width & (other.width - 1)) | (other.height & (other.height - 1)) == 0;
            small |= other.width < SIDE || other.height < SIDE;
            rows &= other.width >= room;
        }
        let repeats = address_mode == mode::REPEAT && powers;
        if !repeats && address_mode != mode::CLAMP_TO_EDGE || small {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let mut size = _mm512_mask_set1_epi32(_mm512_set1_epi32(width as i32), 0xff00, height as i32);
            if TWO {
                size = _mm512_mask_set1_epi32(size, 0x00f0, other.width as i32);
                size = _mm512_mask_set1_epi32(size, 0xf000, other.height as i32);
            }
            let slices = [slice_of(views[0], level, wanted), slice_of(views[usize::from(TWO)], other, wanted)];
            Some(Axes { four, repeats, rows, size, slices })
        }
    }

    /// Two components at a time of the texels at coordinates, filtered. None where wanted lanes lie apart, or far outside.
    ///
    /// # Safety
    /// The views' texels are of that kind. The host is `H`, and wide.
    #[inline(always)]
    unsafe fn sample<H: Host, const RAW: bool, const LINEAR: bool, const TWO: bool>(
        &self,
        coord: __m512,
    ) -> Option<[__m512; 2]> {
        let Axes { four, size, .. } = *self;
        let [slice, other] = &self.slices;
        // SAFETY: the caller's promise; wrapped coordinates lie inside of the level, and so do windows.
        unsafe {
            let mut u = _mm512_mul_ps(coord, _mm512_cvtepi32_ps(size));
            if LINEAR {
                u = _mm512_sub_ps(u, _mm512_set1_ps(0.5));
            }
            let floor = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(u);
            let weight = _mm512_sub_ps(u, floor);
            // The same integer, without waiting for the float; it is one where nothing is far.
            let mut first = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(u);
            let far = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(u), _mm512_set1_ps(FAR));
            let mut second = if LINEAR { _mm512_sub_epi32(first, _mm512_set1_epi32(-1)) } else { first };
            let last = _mm512_add_epi32(size, _mm512_set1_epi32(-1));
            if self.repeats {
                (first, second) = (_mm512_and_si512(first, last), _mm512_and_si512(second, last));
            } else {
                let none = _mm512_setzero_si512();
                first = _mm512_min_epi32(_mm512_max_epi32(first, none), last);
                second = _mm512_min_epi32(_mm512_max_epi32(second, none), last);
            }
            let least = _mm512_min_epi32(first, _mm512_shuffle_epi32::<0b01_00_11_10>(first));
            let least = _mm512_min_epi32(least, _mm512_shuffle_epi32::<0b10_11_00_01>(least));
            let seen = [least, first, second, size];
            let (shape, [least, first, second]) = match within(Shape::Square, seen, far, slice.mask) {
                Some(found) => (Shape::Square, found),
                None if self.rows => (Shape::Rows, within(Shape::Rows, seen, far, slice.mask)?),
                None => return None,
            };
            let slices = [slice, other];
            let x = lanes::<H>(_mm512_castsi512_si256(least));
            let y = lanes::<H>(_mm512_extracti64x4_epi64::<1>(least));
            let offsets = offsets_in::<H>(four, slice, x, y);
            let others = if TWO { offsets_in::<H>(four, other, x, y) } else { offsets };
            let (near, far) = (H::split(offsets)[0], H::split(others)[1]);
            let windows = [_mm_cvtsi128_si32(near) as u32, _mm_cvtsi128_si32(far) as u32];
            if !TWO {
                slice.prefetch_after::<4>(windows);
            }
            // Of linear filters the rows above and below; of others the same rows twice.
            let rows = _mm512_shuffle_i64x2::<0xee>(first, second);
            let rows = _mm512_sll_epi32(rows, _mm_cvtsi32_si128(shape.width().ilog2() as i32));
            let (left, right) =
                (_mm512_shuffle_i64x2::<0x44>(first, first), _mm512_shuffle_i64x2::<0x44>(second, second));
            let (left, right) = (_mm512_or_si512(rows, left), _mm512_or_si512(rows, right));
            if !LINEAR {
                return Some(chosen::<RAW>(four, shape, slices, windows, left));
            }
            let weights = [_mm512_shuffle_f32x4::<0x44>(weight, weight), _mm512_shuffle_f32x4::<0xee>(weight, weight)];
            Some(filter::<RAW>(four, shape, slices, windows, [left, right], weights))
        }
    }
}

/// Where windows of a shape begin that hold the quads' first texels (`seen`: the least of each quad, the first and second ones, the level's size), how far both
/// lie from there. None where wanted lanes see texels outside, or are `far` away.
///
/// # Safety
/// The host is wide.
#[inline(always)]
unsafe fn within(shape: Shape, seen: [__m512i; 4], far: u16, wanted: u32) -> Option<[__m512i; 3]> {
    let [least, first, second, size] = seen;
    // SAFETY: the caller's promise.
    unsafe {
        let sides = _mm512_mask_set1_epi32(_mm512_set1_epi32(shape.width()), 0xff00, shape.height());
        let least = _mm512_min_epi32(least, _mm512_sub_epi32(size, sides));
        let (first, second) = (_mm512_sub_epi32(first, least), _mm512_sub_epi32(second, least));
        let outside = _mm512_cmpge_epu32_mask(_mm512_or_si512(first, second), sides) | far;
        (u32::from(outside | outside >> 8) & wanted == 0).then_some([least, first, second])
    }
}

/// A level, as the first layer's slice.
///
/// # Safety
/// The level is the view's.
#[inline(always)]
unsafe fn slice_of(view: &ImageView, level: &ImageLevel, mask: u32) -> Slice {
    // SAFETY: the caller's promise.
    let base = unsafe { view.base.add(level.offset as usize) };
    Slice { base, pitch: level.row_pitch as u32, size: [level.width, level.height], mask }
}
