//! Anisotropic samples on hosts with the 512-bit level
//! ([`Host::HAS_512`](base::host::Host::HAS_512)). They cover 2D views without a component mapping,
//! with both axes wrapped by the same mode. Chunks are sampled one by one, but the levels and
//! probes of several chunks are computed at once. Only the module that reads texels (`probes`)
//! depends on the kind of texels.

use super::super::chunk_batch::{ChunkRows, SEVERAL};
use super::super::lod::{Detail, detail_of, foretold};
use super::super::memory::{ValidView, ViewKernel};
use super::super::sampler_class::{is_common, one_of_all};
use super::super::words::row;
use super::anisotropic_probes::{
    self, LevelFrame, MAX_PROBES, ProbeAccess, ProbeJob, ProbeLine, ProbeStep, ProbeSteps, STEPS, plan,
};
use super::level::{SampleKind, TexelSource};
use super::nearest_texels::NeighbourPrediction;
use super::quad_windows::pair;
use super::sample_2d::{blended, counting, give_to, levels, next_detailed, quads_of, spread};
use base::abi::{ImageArgs, MAX_LANES, Sampler};
use base::format::lanes::FilterTexel;
use base::host::{Avx512, Host, Ints};
use base::limits::MAX_LEVELS;
use core::arch::x86_64::*;
use smallvec::SmallVec;

/// The functions of anisotropic samples that depend on the kind of texels.
#[derive(Clone, Copy)]
pub struct ProbeKernels {
    /// Size in bytes of texels whose probes are planned; 0 if they are not planned.
    bytes: u32,
    sums: fn(v: Avx512, view: ValidView<'_>, items: &mut [ProbeJob<'_>], steps: &[ProbeStep]),
}

/// Returns the functions of a kind.
#[inline(always)]
pub fn probes_of<K: SampleKind>() -> ProbeKernels {
    let planned = K::TexelSource::PLANNED && !matches!(K::FOUR, FilterTexel::Narrow(_));
    match planned {
        true => ProbeKernels { bytes: 4 * K::FOUR.words() as u32, sums: sums::<K> },
        false => ProbeKernels { bytes: 0, sums: sums_one_by_one::<K> },
    }
}

base::avx512_fn! {
    /// Computes the sums of all probes, which are planned.
    fn sums [K: SampleKind] [K]
        (v: Avx512, _view: ValidView<'_>, items: &mut [ProbeJob<'_>], steps: &[ProbeStep]) {
        for item in items {
            if item.how != ProbeAccess::OutOfRange {
                anisotropic_probes::sum::<K>(v, item, steps);
            }
        }

    }
}

base::avx512_fn! {
    /// Computes the sums of probes that are not planned.
    fn sums_one_by_one [K: SampleKind] [K]
        (v: Avx512, view: ValidView<'_>, items: &mut [ProbeJob<'_>], _steps: &[ProbeStep]) {
        for item in items {
            anisotropic_probes::sum_one_by_one::<K>(v, view, item);
        }

    }
}

base::avx512_fn! {
    /// Samples one chunk. Returns false if no sample was written.
    pub fn sample
        (v: Avx512, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs, probes: ProbeKernels) -> bool {
        one(v, view, sampler, args, probes).is_some()

    }
}

base::avx512_fn! {
    /// Samples all chunks of a batch. The first kernel of `others` samples uncommon ones; the
    /// second one samples single chunks whose levels differ or that are far outside.
    pub fn sample_chunks
        (v: Avx512, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs, rows: &mut ChunkRows<'_>, probes: ProbeKernels, others: [ViewKernel; 2]) {
        all(v, (view, sampler), args, rows, probes, others)

    }
}

/// The footprint of a chunk's lanes, as vectors in the order in which the probes are read.
struct Footprint {
    line: ProbeLine,
    order: __m512i,
    /// Mip levels; the second one matters only if `two_levels` is set.
    levels: [u32; 2],
    two_levels: bool,
    weight: __m512,
}

/// Values of a chunk's lanes in their own order. The lower half of each vector has the value of x
/// or of the lanes, the upper half that of y or again that of the lanes.
struct FootprintLanes {
    coord: __m512,
    major: __m512,
    count: __m512i,
    weight: __m512,
}

/// Values that all lanes share: the largest number of probes, whether x is the major axis, the mip
/// levels, and whether there are two.
struct CommonFootprint {
    max_probes: u32,
    x_major: bool,
    levels: [u32; 2],
    two_levels: bool,
}

impl Footprint {
    #[inline(always)]
    fn new(
        v: Avx512,
        lanes: &FootprintLanes,
        CommonFootprint { max_probes, x_major, levels, two_levels }: CommonFootprint,
        wanted: u32,
    ) -> Footprint {
        // If footprints are longer in y than in x, the lanes lie side by side in rows of
        // pixels: the upper row of both quads comes first, then the lower one. (Applying the
        // order twice restores the lanes.)
        let order = match max_probes > 1 && !x_major {
            true => v._mm512_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15),
            false => v._mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        };
        let wanted = v._mm512_movm_epi32((wanted | wanted << MAX_LANES) as u16);
        let line = ProbeLine {
            coord: v._mm512_permutexvar_ps(order, lanes.coord),
            major: v._mm512_permutexvar_ps(order, lanes.major),
            count: v._mm512_permutexvar_epi32(order, lanes.count),
            max_probes: (max_probes as usize).clamp(1, MAX_PROBES),
            wanted: v._mm512_movepi32_mask(v._mm512_permutexvar_epi32(order, wanted)),
        };
        Footprint { line, order, levels, two_levels, weight: v._mm512_permutexvar_ps(order, lanes.weight) }
    }

    /// Returns the footprint of two quads, whose representatives are lanes `a` and `b`; `None` if
    /// their levels differ.
    #[inline(always)]
    fn of_quads(
        v: Avx512,
        detail: &Detail,
        chunk: usize,
        [a, b]: [usize; 2],
        coord: __m512,
        wanted: u32,
    ) -> Option<Footprint> {
        let [first, second] = &detail.level;
        // Weights are not negative, so that a weight above zero has nonzero bits.
        let two_levels = detail.weight[a] | detail.weight[b] != 0;
        if first[a] != first[b] || two_levels && second[a] != second[b] {
            return None;
        }
        let x = spread(v, quads_of(&detail.major[0], chunk));
        let y = spread(v, quads_of(&detail.major[1], chunk));
        let count = spread(v, quads_of(&detail.probes, chunk));
        let weight = spread(v, quads_of(&detail.weight, chunk));
        let lanes = FootprintLanes {
            coord,
            major: v._mm512_mask_mov_ps(x, 0xff00, y),
            count: v._mm512_castps_si512(count),
            weight,
        };
        let common = CommonFootprint {
            max_probes: detail.probes[a].max(detail.probes[b]),
            x_major: detail.x_major >> a & 1 != 0,
            levels: [first[a], second[a]],
            two_levels,
        };
        Some(Footprint::new(v, &lanes, common, wanted))
    }

    /// Combines the sums of the probes by their number and by the second level's weight; the result
    /// has the lanes in their own order.
    #[inline(always)]
    fn found(&self, v: Avx512, items: &[ProbeJob]) -> Option<[__m512; 2]> {
        let (first, last) = (items.first()?, items.get(usize::from(self.two_levels))?);
        if first.how == ProbeAccess::OutOfRange || last.how == ProbeAccess::OutOfRange {
            return None;
        }
        let count = v._mm512_cvtepi32_ps(self.line.count);
        let mut found = mean(v, first.sum, count);
        if self.two_levels {
            found = blended(v, found, mean(v, last.sum, count), self.weight);
        }
        Some([v._mm512_permutexvar_ps(self.order, found[0]), v._mm512_permutexvar_ps(self.order, found[1])])
    }
}

#[inline(always)]
fn one(v: Avx512, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs, probes: ProbeKernels) -> Option<()> {
    if !is_common(&view, sampler, args) {
        return None;
    }
    let mut detail = Detail::BASE;
    detail_of::<Avx512, true>(v, &view, sampler, args, &mut detail);
    let levels = levels(&detail, args)?;
    let of_lanes = |lanes: &[u32; MAX_LANES]| <Avx512 as Host>::Ints::from_array(*lanes);
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let lanes = FootprintLanes {
        coord: v._mm512_castsi512_ps(pair::<Avx512>(v, row(v, &args.coord[0]), row(v, &args.coord[1]))),
        major: v._mm512_castsi512_ps(pair::<Avx512>(v, of_lanes(&detail.major[0]), of_lanes(&detail.major[1]))),
        count: pair::<Avx512>(v, of_lanes(&detail.probes), of_lanes(&detail.probes)),
        weight: v._mm512_castsi512_ps(pair::<Avx512>(v, of_lanes(&detail.weight), of_lanes(&detail.weight))),
    };
    let x_major = detail.x_major & wanted != 0;
    let common = CommonFootprint { max_probes: detail.max_probes, x_major, levels, two_levels: detail.levels > 1 };
    let footprint = Footprint::new(v, &lanes, common, wanted);
    let [found, ..] = LevelFrames::new(view, sampler, probes).sample(v, &[Some(footprint), None, None, None]);
    give_to(v, &mut args.result, found?);
    Some(())
}

#[inline(always)]
fn all(
    v: Avx512,
    (view, sampler): (ValidView<'_>, &Sampler),
    args: &mut ImageArgs,
    rows: &mut ChunkRows<'_>,
    probes: ProbeKernels,
    [any, others]: [ViewKernel; 2],
) {
    let Some(all) = one_of_all(args).filter(|_| is_common(&view, sampler, args)) else {
        return rows.one_by_one(view, sampler, args, any);
    };
    let wanted = args.mask & ((1 << MAX_LANES) - 1);
    let counting = counting(wanted);
    let mut levels = LevelFrames::new(view, sampler, probes);
    let mut detail = Detail::BASE;
    while let Some((two_levels, count, coords)) = next_detailed::<true>(v, (view, sampler), rows, all, &mut detail) {
        let mut footprints = [const { None }; SEVERAL];
        for (i, footprint) in footprints.iter_mut().enumerate().take(count) {
            let counting = counting.map(|quad| 2 * i + quad);
            *footprint = Footprint::of_quads(v, &detail, i, counting, coords[i], wanted);
        }
        let found = levels.sample(v, &footprints);
        for (chunk, found) in two_levels.into_iter().zip(found).take(count) {
            match found {
                Some(found) => chunk.give(v, found),
                None => chunk.sample(view, sampler, args, others),
            }
        }
    }
}

/// The mip levels of a view, with the frames that are already made.
struct LevelFrames<'a> {
    view: ValidView<'a>,
    address_mode: u32,
    probes: ProbeKernels,
    near: NeighbourPrediction,
    /// Frames of levels.
    frames: [Option<LevelFrame<'a>>; MAX_LEVELS],
}

impl<'a> LevelFrames<'a> {
    fn new(view: ValidView<'a>, sampler: &Sampler, probes: ProbeKernels) -> LevelFrames<'a> {
        LevelFrames {
            view,
            address_mode: sampler.address_mode[0],
            probes,
            near: NeighbourPrediction::default(),
            frames: [const { None }; MAX_LEVELS],
        }
    }

    /// Returns the components of chunks that have footprints, two at a time.
    #[inline(always)]
    fn sample(&mut self, v: Avx512, footprints: &[Option<Footprint>; SEVERAL]) -> [Option<[__m512; 2]>; SEVERAL] {
        let mut steps = ProbeSteps::new();
        let mut items = SmallVec::<[ProbeJob<'_>; 2 * SEVERAL]>::new();
        let mut all = [None; SEVERAL];
        // Number of items that have their sums. Each item without a sum has its own steps.
        let mut done = 0;
        for footprint in footprints.iter().flatten() {
            for number in footprint.levels.into_iter().take(1 + usize::from(footprint.two_levels)) {
                if !self.know(v, number) {
                    return all;
                }
            }
        }
        for footprint in footprints.iter().flatten() {
            let line = &footprint.line;
            for number in footprint.levels.into_iter().take(1 + usize::from(footprint.two_levels)) {
                if steps.len() + line.max_probes > STEPS {
                    (self.probes.sums)(v, self.view, &mut items[done..], &steps);
                    steps.clear();
                    done = items.len();
                }
                let Some(frame) = &self.frames[foretold(number) as usize] else { return all };
                let (first, sum) = (steps.len(), [v._mm512_setzero_ps(); 2]);
                let mut item = ProbeJob { frame, line, first, how: ProbeAccess::OneByOne, sum };
                if self.probes.bytes != 0 {
                    plan(v, &mut item, &mut steps, self.probes.bytes, &self.near);
                }
                items.push(item);
            }
        }
        (self.probes.sums)(v, self.view, &mut items[done..], &steps);
        let mut rest = &items[..];
        for (all, footprint) in all.iter_mut().zip(footprints) {
            if let Some(footprint) = footprint {
                *all = footprint.found(v, rest);
                rest = &rest[1 + usize::from(footprint.two_levels)..];
            }
        }
        all
    }

    /// Makes the frame of a level. Returns false if these functions cannot sample the level.
    #[inline(always)]
    fn know(&mut self, v: Avx512, number: u32) -> bool {
        let frame = &mut self.frames[number as usize];
        if frame.is_none() {
            *frame = LevelFrame::new(v, self.view, self.address_mode, number);
        }
        frame.is_some()
    }
}

#[inline(always)]
fn mean(v: Avx512, [first, second]: [__m512; 2], count: __m512) -> [__m512; 2] {
    [v._mm512_div_ps(first, count), v._mm512_div_ps(second, count)]
}
