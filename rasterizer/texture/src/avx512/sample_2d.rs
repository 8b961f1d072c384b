//! Whole samples on hosts with the 512-bit level ([`Host::HAS_512`]), from their arguments to their
//! results. They are the most frequent ones, of 2D views without a component mapping, with both
//! axes in one vector. They give the results of `planar::sample`, with the filters of `wide`.

use super::super::chunk_batch::{ChunkAt, ChunkRows, SEVERAL};
use super::super::lod::{Detail, detail_of, foretold, of_quads};
use super::super::memory::{ValidView, ViewKernel};
use super::super::sampler_class::{is_common, is_detailed, one_of_all};
use super::super::words::row;
use super::bilinear::over_255;
use super::bilinear_batch::several;
use super::level::{FilteredTexels, LevelSampler, SampleKind};
use super::quad_windows::{both, lanes, lerp, pair};
use base::abi::{ImageArgs, ImageView, MAX_LANES, Sampler};
use base::host::{Avx512, Floats, Host, Ints};
use core::arch::x86_64::*;
use core::marker::PhantomData;

/// Takes one of the most frequent samples, from its arguments to its results: of a 2D view without
/// a component mapping, with both axes wrapped by the same mode. With `MIPS` all lanes have the
/// same levels; otherwise only the first level matters. Returns false without any effect if the
/// sample is another one, or if wanted lanes lie apart.
#[inline(always)]
pub fn sample<K: SampleKind, const LINEAR: bool, const MIPS: bool>(
    v: Avx512,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    if !is_common(&view, sampler, args) || is_detailed(&view, sampler) != MIPS {
        return false;
    }
    let mut detail = Detail::BASE;
    let mut numbers = [0; 2];
    if MIPS {
        detail_of::<Avx512, false>(v, &view, sampler, args, &mut detail);
        match levels(&detail, args) {
            Some(all) => numbers = all,
            None => return false,
        }
    }
    let place = ChunkArguments::<K>::new(v, [view; 2], sampler, args);
    let mut found = [v._mm512_setzero_ps(); 2];
    // The loop makes the compiler emit one copy of the code for both levels.
    for pass in 0..if MIPS { detail.levels.max(1) } else { 1 } {
        let Some(texels) = place.level::<LINEAR, false>(v, numbers[pass % 2]) else { return false };
        found = match pass {
            0 => texels,
            // Lanes without a second level have weight 0 and stay unchanged.
            _ => blended(
                v,
                found,
                texels,
                both::<Avx512>(v, <Avx512 as Host>::Ints::from_array(detail.weight).as_floats()),
            ),
        };
    }
    give_to(v, &mut args.result, over_255(v, K::FOUR, found));
    true
}

/// Samples all chunks of a batch, which share the state of the level. The kernel `any` takes
/// uncommon samples and those without a common level; `others` takes single chunks whose lanes lie
/// apart.
#[inline(always)]
pub fn sample_chunks<K: SampleKind, const LINEAR: bool>(
    v: Avx512,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
    rows: &mut ChunkRows<'_>,
    [any, others]: [ViewKernel; 2],
) {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    if !is_common(&view, sampler, args) {
        return rows.one_by_one(view, sampler, args, any);
    }
    if is_detailed(&view, sampler) {
        return match one_of_all(args) {
            Some(all) => detailed_chunks::<K, LINEAR>(v, (view, sampler), args, rows, all, others),
            None => rows.one_by_one(view, sampler, args, any),
        };
    }
    let Some(axes) = LevelSampler::<K>::new::<false>(v, [view; 2], sampler.address_mode[0], 0, wanted) else {
        return rows.one_by_one(view, sampler, args, any);
    };
    if !LINEAR && K::FOUR.is_word() {
        while let Some([first, second]) = rows.two() {
            match axes.sample_two(v, first.coords_of_two(v, second)) {
                Some(found) => first.give_two(v, second, found),
                None => [first, second].into_iter().for_each(|chunk| chunk.sample(view, sampler, args, others)),
            }
        }
        return rows.one_by_one(view, sampler, args, any);
    }
    if LINEAR && K::SEVERAL {
        loop {
            let Some((chunks, count)) = rows.several() else { return };
            let mut found = [None; SEVERAL];
            several::<K>(v, &axes, &coords_of(v, chunks), &mut found, count);
            for (chunk, found) in chunks.into_iter().zip(found).take(count) {
                match found {
                    Some(found) => chunk.give(v, over_255(v, K::FOUR, found)),
                    None => chunk.sample(view, sampler, args, others),
                }
            }
        }
    }
    while let Some(chunk) = rows.next() {
        match axes.sample::<LINEAR, false>(v, chunk.coords(v)) {
            Some(found) => chunk.give(v, over_255(v, K::FOUR, found)),
            None => chunk.sample(view, sampler, args, others),
        }
    }
}

/// Implements [`sample_chunks`] for several levels. The levels of several chunks' quads are
/// computed in one vector.
#[inline(always)]
fn detailed_chunks<K: SampleKind, const LINEAR: bool>(
    v: Avx512,
    (view, sampler): (ValidView<'_>, &Sampler),
    args: &mut ImageArgs,
    rows: &mut ChunkRows<'_>,
    all: [f32; 2],
    others: ViewKernel,
) {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let counting = counting(wanted);
    let mut detail = Detail::BASE;
    let mut level_cache = LevelCache::<K>::new(view, sampler.address_mode[0], wanted);
    while let Some((several, count, coords)) = next_detailed::<false>(v, (view, sampler), rows, all, &mut detail) {
        // Chunks of one level are sampled together; mostly all have the same level.
        let mut rest = if LINEAR && K::SEVERAL { (1u32 << count) - 1 } else { 0 };
        while rest != 0 {
            let (these, found) = level_cache.several(v, &detail, counting, &coords, rest);
            for (i, (chunk, found)) in several.into_iter().zip(found).enumerate() {
                match found {
                    _ if these >> i & 1 == 0 => {}
                    Some(found) => chunk.give(v, over_255(v, K::FOUR, found)),
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
            let weight = spread(v, quads_of(&detail.weight, i));
            match level_cache.levels::<LINEAR>(v, &detail, quads, weight, chunk.coords(v)) {
                Some(found) => chunk.give(v, over_255(v, K::FOUR, found)),
                None => chunk.sample(view, sampler, args, others),
            }
        }
    }
}

/// Returns the quads of a chunk whose levels count: twice the same quad if only that one has wanted
/// lanes.
#[inline(always)]
pub(crate) fn counting(wanted: u32) -> [usize; 2] {
    [usize::from(wanted & 0xf == 0), usize::from(wanted & 0xf0 != 0)]
}

/// Returns the next chunks, their number and their coordinates, and sets `detail` to the levels of
/// their quads (with `PROBES` also the probes). `None` means that no chunk is left.
#[inline(always)]
pub(crate) fn next_detailed<'a, const PROBES: bool>(
    v: Avx512,
    (view, sampler): (ValidView<'_>, &Sampler),
    rows: &mut ChunkRows<'a>,
    all: [f32; 2],
    detail: &mut Detail,
) -> Option<([ChunkAt<'a>; SEVERAL], usize, [__m512; SEVERAL])> {
    let (chunks, count) = rows.several()?;
    let coords = coords_of(v, chunks);
    details_of::<PROBES>(v, &view, sampler, all, &coords, detail);
    Some((chunks, count, coords))
}

#[inline(always)]
fn coords_of(v: Avx512, [a, b, c, d]: [ChunkAt<'_>; SEVERAL]) -> [__m512; SEVERAL] {
    [a.coords(v), b.coords(v), c.coords(v), d.coords(v)]
}

base::avx512_fn! {
    /// Finds the levels of several chunks' quads ([`of_quads`]), and with `PROBES` their probes.
    fn details_of [const PROBES: bool] [PROBES]
        (v: Avx512, view: &ImageView, sampler: &Sampler, all: [f32; 2], coords: &[__m512; SEVERAL], detail: &mut Detail) {
        of_quads::<Avx512, PROBES>(view, sampler, all, corners::<Avx512>(v, *coords), detail);

    }
}

/// Returns the coordinates of the first three invocations of all quads.
#[inline(always)]
fn corners<H: Host>(v: Avx512, [a, b, c, d]: [__m512; SEVERAL]) -> [[H::Floats; 2]; 3] {
    // For two chunks, the order is: the four first ones, then the second ones, the third ones.
    let order = v._mm512_setr_epi32(0, 4, 16, 20, 1, 5, 17, 21, 2, 6, 18, 22, 2, 6, 18, 22);
    let mut corners = [[H::Floats::splat(0.0); 2]; 3];
    for (axis, first) in [(0, 0), (1, MAX_LANES as i32)] {
        let order = v._mm512_add_epi32(order, v._mm512_set1_epi32(first));
        let (near, far) = (v._mm512_permutex2var_ps(a, order, b), v._mm512_permutex2var_ps(c, order, d));
        let (near, far) = (v._mm512_castps_si512(near), v._mm512_castps_si512(far));
        let two = v._mm512_shuffle_i64x2::<0x44>(near, far);
        let (two, third) = (v._mm512_shuffle_i64x2::<0xd8>(two, two), v._mm512_shuffle_i64x2::<0xaa>(near, far));
        let third = v._mm512_shuffle_i64x2::<0x08>(third, third);
        corners[0][axis] = lanes::<H>(v, v._mm512_castsi512_si256(two)).as_floats();
        corners[1][axis] = lanes::<H>(v, v._mm512_extracti64x4_epi64::<1>(two)).as_floats();
        corners[2][axis] = lanes::<H>(v, v._mm512_castsi512_si256(third)).as_floats();
    }
    corners
}

/// Returns the bits of the quads of a chunk from those of all quads.
#[inline(always)]
pub(crate) fn quads_of(of_all: &[u32; 2 * SEVERAL], chunk: usize) -> &[u32; 2] {
    &of_all.as_chunks().0[chunk % SEVERAL]
}

/// Returns the numbers of two quads, given as bits, in all of their lanes, in both halves.
#[inline(always)]
pub(crate) fn spread(v: Avx512, of: &[u32; 2]) -> __m512 {
    let lanes = v._mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1);
    v._mm512_permutexvar_ps(lanes, v._mm512_castps128_ps512(v._mm_castsi128_ps(v.load_64(of))))
}

/// The state of the levels that were sampled last.
struct LevelCache<'a, K: SampleKind> {
    view: ValidView<'a>,
    address_mode: u32,
    wanted: u32,
    /// The last level with an even number, and the last one with an odd number.
    axes: [Option<(u32, LevelSampler<'a, K>)>; 2],
}

impl<'a, K: SampleKind> LevelCache<'a, K> {
    #[inline(always)]
    fn new(view: ValidView<'a>, address_mode: u32, wanted: u32) -> Self {
        LevelCache { view, address_mode, wanted, axes: [const { None }; 2] }
    }

    /// Samples a chunk at the levels that these quads have. `None` means that their levels differ,
    /// or has the meaning of that of [`LevelSampler::sample`].
    #[inline(always)]
    fn levels<const LINEAR: bool>(
        &mut self,
        v: Avx512,
        detail: &Detail,
        [a, b]: [usize; 2],
        weight: __m512,
        coord: __m512,
    ) -> Option<[__m512; 2]> {
        let [first, second] = &detail.level;
        if first[a] != first[b] {
            return None;
        }
        {
            // Weights are not negative, so that a weight above zero has nonzero bits.
            let several = detail.weight[a] | detail.weight[b] != 0;
            if several && second[a] != second[b] {
                return None;
            }
            if !LINEAR {
                // The loop makes the compiler emit one copy of the code for both levels.
                let mut found = [v._mm512_setzero_ps(); 2];
                for (pass, number) in [first[a], second[a]].into_iter().enumerate().take(1 + usize::from(several)) {
                    let texels = self.level(v, number)?.sample::<false, false>(v, coord)?;
                    found = if pass == 0 { texels } else { blended(v, found, texels, weight) };
                }
                return Some(found);
            }
            let found = self.level(v, first[a])?.sample::<true, false>(v, coord)?;
            if !several {
                return Some(found);
            }
            let next = self.level(v, second[a])?.sample::<true, false>(v, coord)?;
            Some(blended(v, found, next, weight))
        }
    }

    /// Samples the first one of some chunks, and all that have its levels, with a linear filter.
    /// Returns which chunks these are, and their results.
    #[inline(always)]
    fn several(
        &mut self,
        v: Avx512,
        detail: &Detail,
        counting: [usize; 2],
        coords: &[__m512; SEVERAL],
        chunks: u32,
    ) -> (u32, [FilteredTexels; SEVERAL]) {
        // The second level is the one after the first, so it is not compared.
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
            // The levels of the chunk's quads differ.
            return (1 << one, found);
        }
        {
            let Some(axes) = self.level(v, levels[0]) else { return (these, found) };
            several::<K>(v, axes, coords, &mut found, count);
            // Weights are not negative, so that a weight above zero has nonzero bits.
            if weights != 0 {
                let mut next = [None; SEVERAL];
                if let Some(axes) = self.level(v, levels[1]) {
                    several::<K>(v, axes, coords, &mut next, count);
                }
                for (i, (found, next)) in found.iter_mut().zip(next).enumerate() {
                    let weight = quads_of(&detail.weight, i);
                    *found = match (*found, next) {
                        (Some(first), Some(next)) => Some(blended(v, first, next, spread(v, weight))),
                        _ => None,
                    };
                }
            }
        }
        (these, found)
    }

    /// Returns the state of a level. No load waits for the number, because the branch predicts that
    /// it is the last one's.
    #[inline(always)]
    fn level(&mut self, v: Avx512, number: u32) -> Option<&LevelSampler<'a, K>> {
        let level_cache = &mut self.axes[number as usize % 2];
        if level_cache.as_ref().is_none_or(|(last, _)| *last != number) {
            let axes = { LevelSampler::new::<false>(v, [self.view; 2], self.address_mode, number, self.wanted) };
            *level_cache = axes.map(|axes| (number, axes));
        }
        level_cache.as_ref().map(|(_, axes)| axes)
    }
}

/// Samples the first level of two views of kind `K`: one for the first four lanes, one for the
/// others. Returns false without any effect if that is not possible.
#[inline(always)]
pub fn sample_pair<K: SampleKind, const LINEAR: bool>(
    v: Avx512,
    views: [ValidView<'_>; 2],
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    let plain = |view: ValidView<'_>| is_common(&view, sampler, args) && !is_detailed(&view, sampler);
    if !plain(views[0]) || !plain(views[1]) {
        return false;
    }
    let place = ChunkArguments::<K>::new(v, views, sampler, args);
    let Some(found) = place.level::<LINEAR, true>(v, 0) else { return false };
    give_to(v, &mut args.result, over_255(v, K::FOUR, found));
    true
}

/// Returns the levels that all wanted lanes share; a level that is not needed is an arbitrary
/// existing one.
#[inline(always)]
pub(crate) fn levels(detail: &Detail, args: &ImageArgs) -> Option<[u32; 2]> {
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let lane = wanted.trailing_zeros() as usize % MAX_LANES;
    let mut numbers = [0; 2];
    for (number, levels) in numbers.iter_mut().zip(&detail.level).take(detail.levels) {
        *number = foretold(levels[lane]);
        if wanted
            & !<Avx512 as Host>::Ints::from_array(*levels).equal(<Avx512 as Host>::Ints::splat(*number)).movemask()
            != 0
        {
            return None;
        }
    }
    Some(numbers)
}

/// Blends the texels of two levels by the weights of the second one, in lanes with two levels.
#[inline(always)]
pub(crate) fn blended(v: Avx512, first: [__m512; 2], second: [__m512; 2], weight: __m512) -> [__m512; 2] {
    let has = v._mm512_cmp_ps_mask::<_CMP_GT_OQ>(weight, v._mm512_setzero_ps());
    [
        v._mm512_mask_mov_ps(first[0], has, lerp(v, first[0], second[0], weight)),
        v._mm512_mask_mov_ps(first[1], has, lerp(v, first[1], second[1], weight)),
    ]
}

/// Writes the components, two per vector.
#[inline(always)]
pub(crate) fn give_to(v: Avx512, result: &mut [[u32; MAX_LANES]; 4], components: [__m512; 2]) {
    v.store_part::<0, _>(result, v._mm512_castps_si512(components[0]));
    v.store_part::<1, _>(result, v._mm512_castps_si512(components[1]));
}

/// The arguments of all lanes, except the level.
struct ChunkArguments<'a, K> {
    /// View of each quad.
    views: [ValidView<'a>; 2],
    address_mode: u32,
    /// Coordinates: x in the lower half, y in the upper one.
    coord: __m512,
    wanted: u32,
    source: PhantomData<K>,
}

impl<'a, K: SampleKind> ChunkArguments<'a, K> {
    #[inline(always)]
    fn new(v: Avx512, views: [ValidView<'a>; 2], sampler: &Sampler, args: &ImageArgs) -> Self {
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        let coord = pair::<Avx512>(v, row(v, &args.coord[0]), row(v, &args.coord[1]));
        let coord = v._mm512_castsi512_ps(coord);
        ChunkArguments { views, address_mode: sampler.address_mode[0], coord, wanted, source: PhantomData }
    }

    /// Returns the filtered components of a level's texels, two per vector; without `TWO` both
    /// views are the same. `None` has the meaning of that of [`LevelSampler::new`] and
    /// [`LevelSampler::sample`].
    #[inline(always)]
    fn level<const LINEAR: bool, const TWO: bool>(&self, v: Avx512, number: u32) -> Option<[__m512; 2]> {
        self.axes::<TWO>(v, number)?.sample::<LINEAR, TWO>(v, self.coord)
    }

    /// Returns the state of a level, if these functions can sample it.
    #[inline(always)]
    fn axes<const TWO: bool>(&self, v: Avx512, number: u32) -> Option<LevelSampler<'a, K>> {
        LevelSampler::<K>::new::<TWO>(v, self.views, self.address_mode, number, self.wanted)
    }
}
