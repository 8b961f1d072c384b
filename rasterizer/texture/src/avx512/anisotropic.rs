//! Anisotropic samples on hosts with the 512-bit level
//! ([`Host::HAS_512`](base::host::Host::HAS_512)). They cover 2D views without a component mapping,
//! with both axes wrapped by the same mode. Chunks are sampled one by one, but the levels and
//! probes of several chunks are computed at once. Only the module that reads texels (`probes`)
//! depends on the kind of texels.

use super::super::chunk_batch::{ChunkRows, SEVERAL};
use super::super::lod::{Detail, detail_of, foretold};
use super::super::sampler_class::{is_common, one_of_all};
use super::super::words::row;
use super::anisotropic_probes::{self, LevelFrame, MAX_PROBES, ProbeAccess, ProbeJob, ProbeLine, ProbeStep, plan};
use super::level::{SampleKind, TexelSource};
use super::nearest_texels::NeighbourPrediction;
use super::quad_windows::pair;
use super::sample_2d::{blended, counting, give_to, levels, next_detailed, spread};
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, Sampler};
use base::format::lanes::FilterTexel;
use base::host::{Host, Ints, SimdLevel};
use base::limits::MAX_LEVELS;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use smallvec::SmallVec;

/// The functions of anisotropic samples that depend on the kind of texels.
#[derive(Clone, Copy)]
pub struct ProbeKernels {
    /// Size in bytes of texels whose probes are planned; 0 if they are not planned.
    bytes: u32,
    sums: unsafe fn(view: &ImageView, items: &mut [ProbeJob]),
}

/// Returns the functions of a kind.
#[inline(always)]
pub fn probes_of<K: SampleKind>(level: SimdLevel) -> ProbeKernels {
    let planned = K::TexelSource::PLANNED && !matches!(K::FOUR, FilterTexel::Narrow(_));
    match planned {
        true => ProbeKernels { bytes: 4 * K::FOUR.words() as u32, sums: sums::<K>(level) },
        false => ProbeKernels { bytes: 0, sums: sums_one_by_one::<K>(level) },
    }
}

base::multiversion! {
    /// Computes the sums of all probes, which are planned.
    for Avx512 unsafe fn sums [K: SampleKind] [K] (_view: &ImageView, items: &mut [ProbeJob]) {
        if H::HAS_512 {
            for item in items {
                if item.how != ProbeAccess::OutOfRange {
                    anisotropic_probes::sum::<K>(item);
                }
            }
        }
    }
    /// Computes the sums of probes that are not planned.
    for Avx512 unsafe fn sums_one_by_one [K: SampleKind] [K] (view: &ImageView, items: &mut [ProbeJob]) {
        if H::HAS_512 {
            for item in items {
                anisotropic_probes::sum_one_by_one::<K>(view, item);
            }
        }
    }
    /// Samples one chunk; if `done` is not set, no sample was written.
    pub for Avx512 unsafe fn sample(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, probes: ProbeKernels, done: &mut bool) {
        if H::HAS_512 {
            *done = one::<H>(view, sampler, args, probes).is_some();
        }
    }
    /// Samples all chunks of a batch. The first kernel of `others` samples uncommon ones; the
    /// second one samples single chunks whose levels differ or that are far outside.
    pub for Avx512 unsafe fn sample_chunks
        (view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, rows: &mut ChunkRows, probes: ProbeKernels, others: [ImageKernel; 2]) {
        if H::HAS_512 {
            all((view, sampler), args, rows, probes, others);
        }
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
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn new(
        lanes: &FootprintLanes,
        CommonFootprint { max_probes, x_major, levels, two_levels }: CommonFootprint,
        wanted: u32,
    ) -> Footprint {
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            // If footprints are longer in y than in x, the lanes lie side by side in rows of
            // pixels: the upper row of both quads comes first, then the lower one. (Applying the
            // order twice restores the lanes.)
            let order = match max_probes > 1 && !x_major {
                true => _mm512_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15),
                false => _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            };
            let wanted = _mm512_movm_epi32((wanted | wanted << MAX_LANES) as u16);
            let line = ProbeLine {
                coord: _mm512_permutexvar_ps(order, lanes.coord),
                major: _mm512_permutexvar_ps(order, lanes.major),
                count: _mm512_permutexvar_epi32(order, lanes.count),
                max_probes: (max_probes as usize).clamp(1, MAX_PROBES),
                wanted: _mm512_movepi32_mask(_mm512_permutexvar_epi32(order, wanted)),
            };
            Footprint { line, order, levels, two_levels, weight: _mm512_permutexvar_ps(order, lanes.weight) }
        }
    }

    /// Returns the footprint of two quads, whose representatives are lanes `a` and `b`; `None` if
    /// their levels differ.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn of_quads(
        detail: &Detail,
        quads: usize,
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
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            // A closure would not be inlined here.
            let x = _mm_loadl_epi64(detail.major[0].as_ptr().add(quads).cast());
            let y = _mm_loadl_epi64(detail.major[1].as_ptr().add(quads).cast());
            let count = _mm_loadl_epi64(detail.probes.as_ptr().add(quads).cast());
            let weight = _mm_loadl_epi64(detail.weight.as_ptr().add(quads).cast());
            let lanes = FootprintLanes {
                coord,
                major: _mm512_mask_mov_ps(spread(_mm_castsi128_ps(x)), 0xff00, spread(_mm_castsi128_ps(y))),
                count: _mm512_castps_si512(spread(_mm_castsi128_ps(count))),
                weight: spread(_mm_castsi128_ps(weight)),
            };
            let common = CommonFootprint {
                max_probes: detail.probes[a].max(detail.probes[b]),
                x_major: detail.x_major >> a & 1 != 0,
                levels: [first[a], second[a]],
                two_levels,
            };
            Some(Footprint::new(&lanes, common, wanted))
        }
    }

    /// Combines the sums of the probes by their number and by the second level's weight; the result
    /// has the lanes in their own order.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn found(&self, items: &[ProbeJob]) -> Option<[__m512; 2]> {
        let (first, last) = (items.first()?, items.get(usize::from(self.two_levels))?);
        if first.how == ProbeAccess::OutOfRange || last.how == ProbeAccess::OutOfRange {
            return None;
        }
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            let count = _mm512_cvtepi32_ps(self.line.count);
            let mut found = mean(first.sum, count);
            if self.two_levels {
                found = blended(found, mean(last.sum, count), self.weight);
            }
            Some([_mm512_permutexvar_ps(self.order, found[0]), _mm512_permutexvar_ps(self.order, found[1])])
        }
    }
}

/// # Safety
/// The requirements of `planar::sample` hold. The host is `H`, which has the 512-bit level.
#[inline(always)]
unsafe fn one<H: Host>(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, probes: ProbeKernels) -> Option<()> {
    if !is_common(view, sampler, args) {
        return None;
    }
    // SAFETY: the requirements of `planar::sample` hold (`# Safety`), and the levels exist.
    unsafe {
        let mut detail = Detail::BASE;
        detail_of::<true>(H::LEVEL)(view, sampler, args, &mut detail);
        let levels = levels::<H>(&detail, args)?;
        let of_lanes = |lanes: &[u32; MAX_LANES]| H::Ints::from_array(*lanes);
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        let lanes = FootprintLanes {
            coord: _mm512_castsi512_ps(pair::<H>(row::<H, _>(&args.coord[0]), row::<H, _>(&args.coord[1]))),
            major: _mm512_castsi512_ps(pair::<H>(of_lanes(&detail.major[0]), of_lanes(&detail.major[1]))),
            count: pair::<H>(of_lanes(&detail.probes), of_lanes(&detail.probes)),
            weight: _mm512_castsi512_ps(pair::<H>(of_lanes(&detail.weight), of_lanes(&detail.weight))),
        };
        let x_major = detail.x_major & wanted != 0;
        let common = CommonFootprint { max_probes: detail.max_probes, x_major, levels, two_levels: detail.levels > 1 };
        let footprint = Footprint::new(&lanes, common, wanted);
        let [found, ..] = LevelFrames::new(view, sampler, probes).sample(&[Some(footprint), None, None, None]);
        give_to(&raw mut args.result, found?);
    }
    Some(())
}

/// # Safety
/// The requirements of `whole::sample_chunks` hold, except that the sampler is anisotropic.
#[inline(always)]
unsafe fn all(
    (view, sampler): (&ImageView, &Sampler),
    args: &mut ImageArgs,
    rows: &mut ChunkRows,
    probes: ProbeKernels,
    [any, others]: [ImageKernel; 2],
) {
    // SAFETY: the requirements of `whole::sample_chunks` hold (`# Safety`), and the levels exist.
    unsafe {
        let Some(all) = one_of_all(args).filter(|_| is_common(view, sampler, args)) else {
            return rows.one_by_one(view, sampler, args, any);
        };
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        let counting = counting(wanted);
        let mut levels = LevelFrames::new(view, sampler, probes);
        let mut detail = Detail::BASE;
        while let Some((two_levels, count, coords)) = next_detailed::<true>((view, sampler), rows, all, &mut detail) {
            let mut footprints = [const { None }; SEVERAL];
            for (i, footprint) in footprints.iter_mut().enumerate().take(count) {
                let counting = counting.map(|quad| 2 * i + quad);
                *footprint = Footprint::of_quads(&detail, 2 * i, counting, coords[i], wanted);
            }
            let found = levels.sample(&footprints);
            for (chunk, found) in two_levels.into_iter().zip(found).take(count) {
                match found {
                    Some(found) => chunk.give(found),
                    None => chunk.sample(view, sampler, args, others),
                }
            }
        }
    }
}

/// Number of steps that fit the array.
const STEPS: usize = 2 * MAX_PROBES;

/// The mip levels of a view, with the frames that are already made.
struct LevelFrames<'a> {
    view: &'a ImageView,
    address_mode: u32,
    probes: ProbeKernels,
    near: NeighbourPrediction,
    /// Frames of levels, initialised if the level has a bit in `known`.
    frames: [MaybeUninit<LevelFrame>; MAX_LEVELS],
    known: u32,
}

impl<'a> LevelFrames<'a> {
    fn new(view: &'a ImageView, sampler: &Sampler, probes: ProbeKernels) -> LevelFrames<'a> {
        let frames = [const { MaybeUninit::uninit() }; MAX_LEVELS];
        LevelFrames {
            view,
            address_mode: sampler.address_mode[0],
            probes,
            near: NeighbourPrediction::default(),
            frames,
            known: 0,
        }
    }

    /// Returns the components of chunks that have footprints, two at a time.
    ///
    /// # Safety
    /// The levels exist. The host has the 512-bit level.
    #[inline(always)]
    unsafe fn sample(&mut self, footprints: &[Option<Footprint>; SEVERAL]) -> [Option<[__m512; 2]>; SEVERAL] {
        let mut room = [const { MaybeUninit::<ProbeStep>::uninit() }; STEPS];
        let mut items = SmallVec::<[ProbeJob; 2 * SEVERAL]>::new();
        let mut all = [None; SEVERAL];
        // Number of items that have their sums, and number of steps that are in use.
        let (mut done, mut taken) = (0, 0);
        // SAFETY: the levels exist and the host has the 512-bit level (`# Safety`). Each item
        // without a sum has its own steps.
        unsafe {
            for footprint in footprints.iter().flatten() {
                for number in footprint.levels.into_iter().take(1 + usize::from(footprint.two_levels)) {
                    if !self.know(number) {
                        return all;
                    }
                }
            }
            let frames = &self.frames;
            for footprint in footprints.iter().flatten() {
                let line = &footprint.line;
                for number in footprint.levels.into_iter().take(1 + usize::from(footprint.two_levels)) {
                    if taken + line.max_probes > STEPS {
                        (self.probes.sums)(self.view, &mut items[done..]);
                        (done, taken) = (items.len(), 0);
                    }
                    let frame = frames[foretold(number) as usize].assume_init_ref();
                    let steps = room.as_mut_ptr().cast::<ProbeStep>().add(taken);
                    let mut item =
                        ProbeJob { frame, line, steps, how: ProbeAccess::OneByOne, sum: [_mm512_setzero_ps(); 2] };
                    if self.probes.bytes != 0 {
                        plan(SimdLevel::Avx512)(&mut item, self.probes.bytes, &self.near);
                    }
                    items.push(item);
                    taken += line.max_probes;
                }
            }
            (self.probes.sums)(self.view, &mut items[done..]);
            let mut rest = &items[..];
            for (all, footprint) in all.iter_mut().zip(footprints) {
                if let Some(footprint) = footprint {
                    *all = footprint.found(rest);
                    rest = &rest[1 + usize::from(footprint.two_levels)..];
                }
            }
        }
        all
    }

    /// Makes the frame of a level. Returns false if these functions cannot sample the level.
    ///
    /// # Safety
    /// The level exists. The host has the 512-bit level.
    #[inline(always)]
    unsafe fn know(&mut self, number: u32) -> bool {
        if self.known >> number & 1 != 0 {
            return true;
        }
        // SAFETY: the level exists, and the host has the 512-bit level (`# Safety`).
        let Some(frame) = (unsafe { LevelFrame::new(self.view, self.address_mode, number) }) else { return false };
        self.frames[number as usize].write(frame);
        self.known |= 1 << number;
        true
    }
}

/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn mean([first, second]: [__m512; 2], count: __m512) -> [__m512; 2] {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe { [_mm512_div_ps(first, count), _mm512_div_ps(second, count)] }
}
