//! Anisotropic samples in vectors of 512 bits ([`Host::WIDE`](base::host::Host::WIDE)) of 2D views as they are, with both axes wrapped by the same mode: chunk by chunk, levels and probes
//! being found for several chunks at once. Only what reads texels (`probes`) depends on their kind.

use super::axes::{Kind, Source};
use super::chunks::{ChunkRows, SEVERAL};
use super::class::{is_common, one_of_all};
use super::lod::{Detail, detail_of, foretold};
use super::near::Near;
use super::probes::{self, Frame, How, Item, Line, MAX_PROBES, Step, plan};
use super::quads::pair;
use super::whole::{blended, counting, give_to, levels, next_detailed, spread};
use super::words::row;
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, MAX_LEVELS, Sampler};
use base::format::lanes::Four;
use base::host::{Host, Ints, Level};
use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use smallvec::SmallVec;

/// What depends on the kind of texels.
#[derive(Clone, Copy)]
pub struct Probes {
    /// Bytes of texels whose probes are planned, else 0.
    bytes: u32,
    sums: unsafe fn(view: &ImageView, items: &mut [Item]),
}

/// That of a kind.
#[inline(always)]
pub fn probes_of<K: Kind>(level: Level) -> Probes {
    let planned = K::Source::PLANNED && !matches!(K::FOUR, Four::Few(_));
    match planned {
        true => Probes { bytes: 4 * K::FOUR.words() as u32, sums: sums::<K>(level) },
        false => Probes { bytes: 0, sums: sums_one_by_one::<K>(level) },
    }
}

base::compiled! {
    /// The sums of all probes.
    for Avx512 unsafe fn sums [K: Kind] [K] (_view: &ImageView, items: &mut [Item]) {
        if H::WIDE {
            for item in items {
                if item.how != How::No {
                    probes::sum::<K>(item);
                }
            }
        }
    }
    /// The same of what is not planned.
    for Avx512 unsafe fn sums_one_by_one [K: Kind] [K] (view: &ImageView, items: &mut [Item]) {
        if H::WIDE {
            for item in items {
                probes::sum_one_by_one::<K>(view, item);
            }
        }
    }
    /// A chunk; not `done`: nothing was done.
    pub for Avx512 unsafe fn sample(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, probes: Probes, done: &mut bool) {
        if H::WIDE {
            *done = one::<H>(view, sampler, args, probes).is_some();
        }
    }
    /// All chunks of a batch: what is not common by the first kernel, single chunks whose levels differ or that are far outside by the second one.
    pub for Avx512 unsafe fn sample_chunks
        (view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, rows: &mut ChunkRows, probes: Probes, others: [ImageKernel; 2]) {
        if H::WIDE {
            all((view, sampler), args, rows, probes, others);
        }
    }
}

/// The footprint of a chunk's lanes: in vectors, in the order of their groups.
struct Footprint {
    line: Line,
    order: __m512i,
    /// The levels, if there are two, and the second one's weight.
    levels: [u32; 2],
    several: bool,
    weight: __m512,
}

/// What is known of a chunk's lanes in their own order; x, or anything of lanes, in the lower half, y, or the same, in the upper one.
struct Lanes {
    coord: __m512,
    major: __m512,
    count: __m512i,
    weight: __m512,
}

/// What is the same for all lanes: the most probes, whether the major axis is that of x, the levels that there are, and if there are two.
struct Common {
    most: u32,
    x_major: bool,
    levels: [u32; 2],
    several: bool,
}

impl Footprint {
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn new(lanes: &Lanes, Common { most, x_major, levels, several }: Common, wanted: u32) -> Footprint {
        // SAFETY: the caller's promise.
        unsafe {
            // Footprints lie side by side in rows of pixels where they are longer in the other direction: of both quads the upper row, then the lower one. (Twice that is nothing.)
            let order = match most > 1 && !x_major {
                true => _mm512_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15),
                false => _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
            };
            let wanted = _mm512_movm_epi32((wanted | wanted << MAX_LANES) as u16);
            let line = Line {
                coord: _mm512_permutexvar_ps(order, lanes.coord),
                major: _mm512_permutexvar_ps(order, lanes.major),
                count: _mm512_permutexvar_epi32(order, lanes.count),
                most: (most as usize).clamp(1, MAX_PROBES),
                wanted: _mm512_movepi32_mask(_mm512_permutexvar_epi32(order, wanted)),
            };
            Footprint { line, order, levels, several, weight: _mm512_permutexvar_ps(order, lanes.weight) }
        }
    }

    /// Of two quads, of which `a` and `b` count. None where their levels differ.
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn of_quads(
        detail: &Detail,
        quads: usize,
        [a, b]: [usize; 2],
        coord: __m512,
        wanted: u32,
    ) -> Option<Footprint> {
        let [first, second] = &detail.level;
        // Of positive numbers those above zero.
        let several = detail.weight[a] | detail.weight[b] != 0;
        if first[a] != first[b] || several && second[a] != second[b] {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            // (No closure: it would not be inlined.)
            let x = _mm_loadl_epi64(detail.major[0].as_ptr().add(quads).cast());
            let y = _mm_loadl_epi64(detail.major[1].as_ptr().add(quads).cast());
            let count = _mm_loadl_epi64(detail.probes.as_ptr().add(quads).cast());
            let weight = _mm_loadl_epi64(detail.weight.as_ptr().add(quads).cast());
            let lanes = Lanes {
                coord,
                major: _mm512_mask_mov_ps(spread(_mm_castsi128_ps(x)), 0xff00, spread(_mm_castsi128_ps(y))),
                count: _mm512_castps_si512(spread(_mm_castsi128_ps(count))),
                weight: spread(_mm_castsi128_ps(weight)),
            };
            let common = Common {
                most: detail.probes[a].max(detail.probes[b]),
                x_major: detail.x_major >> a & 1 != 0,
                levels: [first[a], second[a]],
                several,
            };
            Some(Footprint::new(&lanes, common, wanted))
        }
    }

    /// What probes found of the levels, by how many they are and by the second level's weight; lanes in their own order.
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn found(&self, items: &[Item]) -> Option<[__m512; 2]> {
        let (first, last) = (items.first()?, items.get(usize::from(self.several))?);
        if first.how == How::No || last.how == How::No {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let count = _mm512_cvtepi32_ps(self.line.count);
            let mut found = mean(first.sum, count);
            if self.several {
                found = blended(found, mean(last.sum, count), self.weight);
            }
            Some([_mm512_permutexvar_ps(self.order, found[0]), _mm512_permutexvar_ps(self.order, found[1])])
        }
    }
}

/// # Safety
/// As for `planar::sample`. The host is `H`, and wide.
#[inline(always)]
unsafe fn one<H: Host>(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs, probes: Probes) -> Option<()> {
    if !is_common(view, sampler, args) {
        return None;
    }
    // SAFETY: the caller's promise; the levels exist.
    unsafe {
        let mut detail = Detail::BASE;
        detail_of::<true>(H::LEVEL)(view, sampler, args, &mut detail);
        let levels = levels::<H>(&detail, args)?;
        let of_lanes = |lanes: &[u32; MAX_LANES]| H::Ints::of(*lanes);
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        let lanes = Lanes {
            coord: _mm512_castsi512_ps(pair::<H>(row::<H, _>(&args.coord[0]), row::<H, _>(&args.coord[1]))),
            major: _mm512_castsi512_ps(pair::<H>(of_lanes(&detail.major[0]), of_lanes(&detail.major[1]))),
            count: pair::<H>(of_lanes(&detail.probes), of_lanes(&detail.probes)),
            weight: _mm512_castsi512_ps(pair::<H>(of_lanes(&detail.weight), of_lanes(&detail.weight))),
        };
        let x_major = detail.x_major & wanted != 0;
        let common = Common { most: detail.most, x_major, levels, several: detail.levels > 1 };
        let footprint = Footprint::new(&lanes, common, wanted);
        let [found, ..] = Levels::new(view, sampler, probes).sample(&[Some(footprint), None, None, None]);
        give_to(&raw mut args.result, found?);
    }
    Some(())
}

/// # Safety
/// As for `whole::sample_chunks`, but that the sampler is anisotropic.
#[inline(always)]
unsafe fn all(
    (view, sampler): (&ImageView, &Sampler),
    args: &mut ImageArgs,
    rows: &mut ChunkRows,
    probes: Probes,
    [any, others]: [ImageKernel; 2],
) {
    // SAFETY: the caller's promise; the levels exist.
    unsafe {
        let Some(all) = one_of_all(args).filter(|_| is_common(view, sampler, args)) else {
            return rows.one_by_one(view, sampler, args, any);
        };
        let wanted = args.mask & ((1 << MAX_LANES) - 1);
        let counting = counting(wanted);
        let mut levels = Levels::new(view, sampler, probes);
        let mut detail = Detail::BASE;
        while let Some((several, count, coords)) = next_detailed::<true>((view, sampler), rows, all, &mut detail) {
            let mut footprints = [const { None }; SEVERAL];
            for (i, footprint) in footprints.iter_mut().enumerate().take(count) {
                let counting = counting.map(|quad| 2 * i + quad);
                *footprint = Footprint::of_quads(&detail, 2 * i, counting, coords[i], wanted);
            }
            let found = levels.sample(&footprints);
            for (chunk, found) in several.into_iter().zip(found).take(count) {
                match found {
                    Some(found) => chunk.give(found),
                    None => chunk.sample(view, sampler, args, others),
                }
            }
        }
    }
}

/// How many steps there is room for.
const STEPS: usize = 2 * MAX_PROBES;

/// The levels of a view.
struct Levels<'a> {
    view: &'a ImageView,
    address_mode: u32,
    probes: Probes,
    near: Near,
    /// Those that have a bit in `known`.
    frames: [MaybeUninit<Frame>; MAX_LEVELS],
    known: u32,
}

impl<'a> Levels<'a> {
    fn new(view: &'a ImageView, sampler: &Sampler, probes: Probes) -> Levels<'a> {
        let frames = [const { MaybeUninit::uninit() }; MAX_LEVELS];
        Levels { view, address_mode: sampler.address_mode[0], probes, near: Near::default(), frames, known: 0 }
    }

    /// The components of chunks that have footprints, two at a time.
    ///
    /// # Safety
    /// The levels exist. The host is wide.
    #[inline(always)]
    unsafe fn sample(&mut self, footprints: &[Option<Footprint>; SEVERAL]) -> [Option<[__m512; 2]>; SEVERAL] {
        let mut room = [const { MaybeUninit::<Step>::uninit() }; STEPS];
        let mut items = SmallVec::<[Item; 2 * SEVERAL]>::new();
        let mut all = [None; SEVERAL];
        // How many items have their sums, and how many steps are taken.
        let (mut done, mut taken) = (0, 0);
        // SAFETY: the caller's promise; what has no sum yet has steps of its own.
        unsafe {
            for footprint in footprints.iter().flatten() {
                for number in footprint.levels.into_iter().take(1 + usize::from(footprint.several)) {
                    if !self.know(number) {
                        return all;
                    }
                }
            }
            let frames = &self.frames;
            for footprint in footprints.iter().flatten() {
                let line = &footprint.line;
                for number in footprint.levels.into_iter().take(1 + usize::from(footprint.several)) {
                    if taken + line.most > STEPS {
                        (self.probes.sums)(self.view, &mut items[done..]);
                        (done, taken) = (items.len(), 0);
                    }
                    let frame = frames[foretold(number) as usize].assume_init_ref();
                    let steps = room.as_mut_ptr().cast::<Step>().add(taken);
                    let mut item = Item { frame, line, steps, how: How::OneByOne, sum: [_mm512_setzero_ps(); 2] };
                    if self.probes.bytes != 0 {
                        plan(Level::Avx512)(&mut item, self.probes.bytes, &self.near);
                    }
                    items.push(item);
                    taken += line.most;
                }
            }
            (self.probes.sums)(self.view, &mut items[done..]);
            let mut rest = &items[..];
            for (all, footprint) in all.iter_mut().zip(footprints) {
                if let Some(footprint) = footprint {
                    *all = footprint.found(rest);
                    rest = &rest[1 + usize::from(footprint.several)..];
                }
            }
        }
        all
    }

    /// Finds out about a level. False where there is no way to sample it here.
    ///
    /// # Safety
    /// It exists. The host is wide.
    #[inline(always)]
    unsafe fn know(&mut self, number: u32) -> bool {
        if self.known >> number & 1 != 0 {
            return true;
        }
        // SAFETY: the caller's promise.
        let Some(frame) = (unsafe { Frame::new(self.view, self.address_mode, number) }) else { return false };
        self.frames[number as usize].write(frame);
        self.known |= 1 << number;
        true
    }
}

/// # Safety
/// The host is wide.
#[inline(always)]
unsafe fn mean([first, second]: [__m512; 2], count: __m512) -> [__m512; 2] {
    // SAFETY: the caller's promise.
    unsafe { [_mm512_div_ps(first, count), _mm512_div_ps(second, count)] }
}
