//! Whole samples in vectors of 512 bits ([`Host::WIDE`]), from their arguments to their results: the commonest ones, of 2D views as they are, with both axes
//! in one vector. They are `planar::sample`, asked otherwise, with the filters of `wide`.

use super::axes::{Axes, Found, Kind};
use super::chunks::{ChunkAt, ChunkRows, SEVERAL};
use super::class::{is_common, is_detailed, one_of_all};
use super::lod::{Detail, detail_of, foretold, of_quads};
use super::quads::{both, lanes, lerp, pair};
use super::several::several;
use super::wide::over_255;
use super::words::row;
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, Sampler};
use base::host::{Floats, Host, Ints, Level};
use core::arch::x86_64::*;
use core::marker::PhantomData;

/// The commonest samples, from their arguments to their results: of a 2D view as it is, with both axes wrapped by the same mode; with `MIPS` of the levels that
/// all lanes have, otherwise only where no other than the first one matters. False where it is another one, or where wanted lanes lie apart: then
/// nothing was done.
///
/// # Safety
/// `view` is a valid, non-empty view whose texels are of kind `K`; the sampler's class has that filter. The host is `H`, which is [`Host::WIDE`].
#[inline(always)]
pub unsafe fn sample<H: Host, K: Kind, const LINEAR: bool, const MIPS: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
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
        let place = Place::<K>::new::<H>([view; 2], sampler, args);
        let mut found = [_mm512_setzero_ps(); 2];
        // (One copy of the code for both levels.)
        for pass in 0..if MIPS { detail.levels.max(1) } else { 1 } {
            let Some(texels) = place.level::<LINEAR, false>(numbers[pass % 2]) else { return false };
            found = match pass {
                0 => texels,
                // Without a second level there is nothing to add.
                _ => blended(found, texels, both::<H>(H::Ints::of(detail.weight).as_floats())),
            };
        }
        give::<K>(&raw mut args.result, found);
    }
    true
}

/// The same of all chunks of a batch, which share what they know of the level. What is not of one level, or not common at all, is sampled by the kernel for `any`
/// samples, single chunks whose lanes lie apart by that for all `others`.
///
/// # Safety
/// As for [`sample`]; both are kernels of the view and the sampler's class.
#[inline(always)]
pub unsafe fn sample_chunks<K: Kind, const LINEAR: bool>(
    view: &ImageView,
    sampler: &Sampler,
    args: &mut ImageArgs,
    rows: &mut ChunkRows,
    [any, others]: [ImageKernel; 2],
) {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    // SAFETY: the caller's promise; the first level exists.
    unsafe {
        if !is_common(view, sampler, args) {
            return rows.one_by_one(view, sampler, args, any);
        }
        if is_detailed(view, sampler) {
            return match one_of_all(args) {
                Some(all) => detailed_chunks::<K, LINEAR>((view, sampler), args, rows, all, others),
                None => rows.one_by_one(view, sampler, args, any),
            };
        }
        let Some(axes) = Axes::<K>::new::<false>([view; 2], sampler.address_mode[0], 0, wanted) else {
            return rows.one_by_one(view, sampler, args, any);
        };
        if !LINEAR && K::FOUR.is_word() {
            while let Some([first, second]) = rows.two() {
                match axes.sample_two(first.coords_of_two(second)) {
                    Some(found) => first.give_two(second, found),
                    None => [first, second].into_iter().for_each(|chunk| chunk.sample(view, sampler, args, others)),
                }
            }
            return rows.one_by_one(view, sampler, args, any);
        }
        if LINEAR && K::SEVERAL {
            loop {
                let (chunks, count) = rows.several();
                if count == 0 {
                    return;
                }
                let mut found = [None; SEVERAL];
                several::<K>(Level::Avx512)(&axes, &coords_of(chunks), &mut found, count);
                for (chunk, found) in chunks.into_iter().zip(found).take(count) {
                    match found {
                        Some(found) => chunk.give(over_255(K::FOUR, found)),
                        None => chunk.sample(view, sampler, args, others),
                    }
                }
            }
        }
        while let Some(chunk) = rows.next() {
            match axes.sample::<LINEAR, false>(chunk.coords()) {
                Some(found) => chunk.give(over_255(K::FOUR, found)),
                None => chunk.sample(view, sampler, args, others),
            }
        }
    }
}

/// [`sample_chunks`] of several levels. What they are is computed for the quads of several chunks in one vector.
///
/// # Safety
/// As for [`sample_chunks`].
#[inline(always)]
unsafe fn detailed_chunks<K: Kind, const LINEAR: bool>(
    (view, sampler): (&ImageView, &Sampler),
    args: &mut ImageArgs,
    rows: &mut ChunkRows,
    all: [f32; 2],
    others: ImageKernel,
) {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let counting = counting(wanted);
    let mut known = Known::<K> { view, address_mode: sampler.address_mode[0], wanted, axes: [const { None }; 2] };
    let mut detail = Detail::BASE;
    // SAFETY: the caller's promise; the levels exist.
    unsafe {
        while let Some((several, count, coords)) = next_detailed::<false>((view, sampler), rows, all, &mut detail) {
            // Those of a level at a time: mostly all.
            let mut rest = if LINEAR && K::SEVERAL { (1u32 << count) - 1 } else { 0 };
            while rest != 0 {
                let (these, found) = known.several(&detail, counting, &coords, rest);
                for (i, (chunk, found)) in several.into_iter().zip(found).enumerate() {
                    match found {
                        _ if these >> i & 1 == 0 => {}
                        Some(found) => chunk.give(over_255(K::FOUR, found)),
                        None => chunk.sample(view, sampler, args, others),
                    }
                }
                rest &= !these;
            }
            if LINEAR && K::SEVERAL {
                continue;
            }
            for (i, &chunk) in several.iter().enumerate().take(count) {
                let quads = counting.map(|quad| 2 * i + quad);
                let weight = _mm_loadl_epi64(detail.weight.as_ptr().add(2 * i).cast());
                let weight = spread(_mm_castsi128_ps(weight));
                match known.levels::<LINEAR>(&detail, quads, weight, chunk.coords()) {
                    Some(found) => chunk.give(over_255(K::FOUR, found)),
                    None => chunk.sample(view, sampler, args, others),
                }
            }
        }
    }
}

/// The quads of a chunk whose levels count: twice the same one where only that is wanted.
#[inline(always)]
pub(super) fn counting(wanted: u32) -> [usize; 2] {
    [usize::from(wanted & 0xf == 0), usize::from(wanted & 0xf0 != 0)]
}

/// The next chunks, how many there are, and their coordinates; and in `detail` their quads' levels, with `PROBES` probes too. None behind the last chunk.
///
/// # Safety
/// As for [`sample_chunks`].
#[inline(always)]
pub(super) unsafe fn next_detailed<const PROBES: bool>(
    (view, sampler): (&ImageView, &Sampler),
    rows: &mut ChunkRows,
    all: [f32; 2],
    detail: &mut Detail,
) -> Option<([ChunkAt; SEVERAL], usize, [__m512; SEVERAL])> {
    let (chunks, count) = rows.several();
    if count == 0 {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let coords = coords_of(chunks);
        details_of::<PROBES>(Level::Avx512)(view, sampler, all, &coords, detail);
        Some((chunks, count, coords))
    }
}

/// # Safety
/// As for [`ChunkAt::coords`], of all of them.
#[inline(always)]
unsafe fn coords_of([a, b, c, d]: [ChunkAt; SEVERAL]) -> [__m512; SEVERAL] {
    // SAFETY: the caller's promise.
    unsafe { [a.coords(), b.coords(), c.coords(), d.coords()] }
}

base::compiled! {
    /// The levels of several chunks' quads ([`of_quads`]), and with `PROBES` their probes.
    for Avx512 unsafe fn details_of [const PROBES: bool] [PROBES]
        (view: &ImageView, sampler: &Sampler, all: [f32; 2], coords: &[__m512; SEVERAL], detail: &mut Detail) {
        if H::WIDE {
            of_quads::<H, PROBES>(view, sampler, all, corners::<H>(*coords), detail);
        }
    }
}

/// The coordinates of the first three invocations of all quads.
///
/// # Safety
/// The host is `H`, and wide.
#[inline(always)]
unsafe fn corners<H: Host>([a, b, c, d]: [__m512; SEVERAL]) -> [[H::Floats; 2]; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        // Of two chunks: the four first ones, then the second ones, the third ones.
        let order = _mm512_setr_epi32(0, 4, 16, 20, 1, 5, 17, 21, 2, 6, 18, 22, 2, 6, 18, 22);
        let mut corners = [[H::Floats::splat(0.0); 2]; 3];
        for (axis, first) in [(0, 0), (1, MAX_LANES as i32)] {
            let order = _mm512_add_epi32(order, _mm512_set1_epi32(first));
            let (near, far) = (_mm512_permutex2var_ps(a, order, b), _mm512_permutex2var_ps(c, order, d));
            let (near, far) = (_mm512_castps_si512(near), _mm512_castps_si512(far));
            let two = _mm512_shuffle_i64x2::<0x44>(near, far);
            let (two, third) = (_mm512_shuffle_i64x2::<0xd8>(two, two), _mm512_shuffle_i64x2::<0xaa>(near, far));
            let third = _mm512_shuffle_i64x2::<0x08>(third, third);
            corners[0][axis] = lanes::<H>(_mm512_castsi512_si256(two)).as_floats();
            corners[1][axis] = lanes::<H>(_mm512_extracti64x4_epi64::<1>(two)).as_floats();
            corners[2][axis] = lanes::<H>(_mm512_castsi512_si256(third)).as_floats();
        }
        corners
    }
}

/// The numbers of two quads for all of their lanes, in both halves.
#[inline(always)]
pub(super) unsafe fn spread(of: __m128) -> __m512 {
    // SAFETY: the caller's host is wide.
    unsafe {
        let lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1);
        _mm512_permutexvar_ps(lanes, _mm512_castps128_ps512(of))
    }
}

/// What is known of the levels that were sampled last.
struct Known<'a, K: Kind> {
    view: &'a ImageView,
    address_mode: u32,
    wanted: u32,
    /// The last level of an even number, and of an odd one.
    axes: [Option<(u32, Axes<K>)>; 2],
}

impl<K: Kind> Known<'_, K> {
    /// A chunk of the levels that these quads have. None where they differ, and as [`Axes::sample`].
    ///
    /// # Safety
    /// The levels exist. The host is wide.
    #[inline(always)]
    unsafe fn levels<const LINEAR: bool>(
        &mut self,
        detail: &Detail,
        [a, b]: [usize; 2],
        weight: __m512,
        coord: __m512,
    ) -> Option<[__m512; 2]> {
        let [first, second] = &detail.level;
        if first[a] != first[b] {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            // Of positive numbers those above zero.
            let several = detail.weight[a] | detail.weight[b] != 0;
            if several && second[a] != second[b] {
                return None;
            }
            if !LINEAR {
                // One copy of the code for both levels.
                let mut found = [_mm512_setzero_ps(); 2];
                for (pass, number) in [first[a], second[a]].into_iter().enumerate().take(1 + usize::from(several)) {
                    let texels = self.level(number)?.sample::<false, false>(coord)?;
                    found = if pass == 0 { texels } else { blended(found, texels, weight) };
                }
                return Some(found);
            }
            let found = self.level(first[a])?.sample::<true, false>(coord)?;
            if !several {
                return Some(found);
            }
            let next = self.level(second[a])?.sample::<true, false>(coord)?;
            Some(blended(found, next, weight))
        }
    }

    /// The first one of some chunks, and all that have its levels, with a linear filter: which they are, and what is found.
    ///
    /// # Safety
    /// As for [`Known::levels`].
    #[inline(always)]
    unsafe fn several(
        &mut self,
        detail: &Detail,
        counting: [usize; 2],
        coords: &[__m512; SEVERAL],
        chunks: u32,
    ) -> (u32, [Found; SEVERAL]) {
        // (The second level is the next one.)
        let ([first, second], one) = (&detail.level, chunks.trailing_zeros() as usize % SEVERAL);
        let levels = [first[2 * one + counting[0]], second[2 * one + counting[0]]];
        let (mut these, mut weights) = (0, 0);
        for i in 0..SEVERAL {
            let [a, b] = counting.map(|quad| 2 * i + quad);
            if first[a] == levels[0] && first[b] == levels[0] {
                these |= 1 << i;
                weights |= detail.weight[a] | detail.weight[b];
            }
        }
        these &= chunks;
        let (mut found, count) = ([None; SEVERAL], (chunks.ilog2() + 1) as usize);
        if these >> one & 1 == 0 {
            // Its quads' levels differ.
            return (1 << one, found);
        }
        // SAFETY: the caller's promise.
        unsafe {
            let Some(axes) = self.level(levels[0]) else { return (these, found) };
            several::<K>(Level::Avx512)(axes, coords, &mut found, count);
            // Of positive numbers those above zero.
            if weights != 0 {
                let mut next = [None; SEVERAL];
                if let Some(axes) = self.level(levels[1]) {
                    several::<K>(Level::Avx512)(axes, coords, &mut next, count);
                }
                for (i, (found, next)) in found.iter_mut().zip(next).enumerate() {
                    let weight = _mm_loadl_epi64(detail.weight.as_ptr().add(2 * i).cast());
                    *found = match (*found, next) {
                        (Some(first), Some(next)) => Some(blended(first, next, spread(_mm_castsi128_ps(weight)))),
                        _ => None,
                    };
                }
            }
        }
        (these, found)
    }

    /// The axes of a level. No load waits for its number: that it is the last one's is foretold.
    ///
    /// # Safety
    /// It exists.
    #[inline(always)]
    unsafe fn level(&mut self, number: u32) -> Option<&Axes<K>> {
        let known = &mut self.axes[number as usize % 2];
        if known.as_ref().is_none_or(|(last, _)| *last != number) {
            // SAFETY: the caller's promise.
            let axes = unsafe { Axes::new::<false>([self.view; 2], self.address_mode, number, self.wanted) };
            *known = axes.map(|axes| (number, axes));
        }
        known.as_ref().map(|(_, axes)| axes)
    }
}

/// The same of two views of that kind, of the first level of each: one for the first four lanes, one for the others.
///
/// # Safety
/// As for [`sample`], of both views.
#[inline(always)]
pub unsafe fn sample_pair<H: Host, K: Kind, const LINEAR: bool>(
    views: [&ImageView; 2],
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    let plain = |view| is_common(view, sampler, args) && !is_detailed(view, sampler);
    if !plain(views[0]) || !plain(views[1]) {
        return false;
    }
    // SAFETY: the caller's promise; the first levels exist.
    unsafe {
        let place = Place::<K>::new::<H>(views, sampler, args);
        let Some(found) = place.level::<LINEAR, true>(0) else { return false };
        give::<K>(&raw mut args.result, found);
    }
    true
}

/// The levels that all wanted lanes have; of one that is not needed some level.
#[inline(always)]
pub(super) fn levels<H: Host>(detail: &Detail, args: &ImageArgs) -> Option<[u32; 2]> {
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
pub(super) unsafe fn blended(first: [__m512; 2], second: [__m512; 2], weight: __m512) -> [__m512; 2] {
    // SAFETY: the caller's host is wide.
    unsafe {
        let has = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(weight, _mm512_setzero_ps());
        [
            _mm512_mask_mov_ps(first[0], has, lerp(first[0], second[0], weight)),
            _mm512_mask_mov_ps(first[1], has, lerp(first[1], second[1], weight)),
        ]
    }
}

/// Gives the components, two at a time; integers divided by 255.
///
/// # Safety
/// There is room for them; the host is wide.
#[inline(always)]
unsafe fn give<K: Kind>(result: *mut [[u32; MAX_LANES]; 4], components: [__m512; 2]) {
    // SAFETY: the caller's promise.
    unsafe { give_to(result, over_255(K::FOUR, components)) }
}

/// Gives the components, two at a time.
///
/// # Safety
/// There is room for them; the host is wide.
#[inline(always)]
pub(super) unsafe fn give_to(result: *mut [[u32; MAX_LANES]; 4], components: [__m512; 2]) {
    // SAFETY: the caller's promise.
    unsafe {
        _mm512_storeu_ps(result.cast(), components[0]);
        _mm512_storeu_ps(result.cast::<f32>().add(2 * MAX_LANES), components[1]);
    }
}

/// Where all lanes sample, but for the level.
struct Place<'a, K> {
    /// Of each quad.
    views: [&'a ImageView; 2],
    address_mode: u32,
    /// x, then y.
    coord: __m512,
    wanted: u32,
    source: PhantomData<K>,
}

impl<'a, K: Kind> Place<'a, K> {
    /// # Safety
    /// The host is `H`, and wide.
    #[inline(always)]
    unsafe fn new<H: Host>(views: [&'a ImageView; 2], sampler: &Sampler, args: &ImageArgs) -> Self {
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        // SAFETY: the caller's promise.
        let coord = unsafe { pair::<H>(row::<H, _>(&args.coord[0]), row::<H, _>(&args.coord[1])) };
        // SAFETY: the same bits.
        let coord = unsafe { _mm512_castsi512_ps(coord) };
        Place { views, address_mode: sampler.address_mode[0], coord, wanted, source: PhantomData }
    }

    /// Two components at a time of a level's texels, filtered; without `TWO` both views are the same. None as [`Axes::new`] and [`Axes::sample`].
    ///
    /// # Safety
    /// The level exists; the view's texels are of that kind. The host is wide.
    #[inline(always)]
    unsafe fn level<const LINEAR: bool, const TWO: bool>(&self, number: u32) -> Option<[__m512; 2]> {
        // SAFETY: the caller's promise.
        unsafe { self.axes::<TWO>(number)?.sample::<LINEAR, TWO>(self.coord) }
    }

    /// A level, where it can be sampled here.
    ///
    /// # Safety
    /// It exists. The host is wide.
    #[inline(always)]
    unsafe fn axes<const TWO: bool>(&self, number: u32) -> Option<Axes<K>> {
        // SAFETY: the caller's promise.
        unsafe { Axes::<K>::new::<TWO>(self.views, self.address_mode, number, self.wanted) }
    }
}
