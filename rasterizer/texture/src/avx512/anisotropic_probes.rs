//! The probes of anisotropic samples on hosts with the 512-bit level ([`Host::HAS_512`]): those of
//! eight lanes in one level, in two steps, so that the processor overlaps several probes.
//!
//! The first step finds the addresses and weights of all probes' texels ([`plan`]); it is the same
//! for all kinds of texels. The second step reads, filters and adds them ([`sum`]).
//!
//! Lanes form two groups of four neighbours: the pixels of a row, whose footprints lie side by side
//! if these are longer than wide. A window of 8×4 texels of each group is two vectors; if lanes lie
//! apart, texels are gathered.

use super::super::memory::ValidView;
use super::super::slice::Slice;
use super::bilinear::{SixteenTexels, floats, texels_at, weighted};
use super::level::{LevelSampler, SampleKind, slice_of};
use super::nearest_texels::NeighbourPrediction;
use super::quad_windows::{is_wanted, min_of_quads};
use super::wrap::{Wrap, floor};
use base::abi::MAX_LANES;
use base::host::Avx512;
use base::limits::MAX_SAMPLER_ANISOTROPY;
use core::arch::x86_64::*;
use smallvec::SmallVec;

/// Largest number of probes ([`MAX_SAMPLER_ANISOTROPY`]); a 512-bit vector has as many lanes.
pub(crate) const MAX_PROBES: usize = MAX_SAMPLER_ANISOTROPY as usize;

/// Position of a probe (row; the first one is 1) among the probes of its lane (column: their
/// number). It is `probe / (count + 1) - 0.5` in units of the footprint's major axis.
static PROBES: [[f32; MAX_PROBES]; MAX_PROBES] = {
    let mut at = [[0.0; MAX_PROBES]; MAX_PROBES];
    let mut i = 0;
    while i < MAX_PROBES * MAX_PROBES {
        let (probe, count) = (i / MAX_PROBES, i % MAX_PROBES);
        at[probe][count] = (probe + 1) as f32 / (count + 2) as f32 - 0.5;
        i += 1;
    }
    at
};

/// Number of texels of a row, and number of rows, of a group's window.
const SIDES: [i32; 2] = [8, 4];

/// A level; vectors have x in the lower half and y in the upper one.
pub(crate) struct LevelFrame<'a> {
    address_mode: u32,
    number: u32,
    wrap: Wrap,
    size: __m512i,
    /// Last texels.
    last: __m512i,
    /// Sizes as floats.
    scale: __m512,
    /// Slice of the level; its mask is not used, because [`ProbeLine::wanted`] has the wanted
    /// lanes.
    pub(crate) slice: Slice<'a>,
}

impl<'a> LevelFrame<'a> {
    /// Makes the frame of a level; `None` means that the axes wrap in a mode that vectors of texels
    /// do not support.
    #[inline(always)]
    pub(crate) fn new(v: Avx512, view: ValidView<'a>, address_mode: u32, number: u32) -> Option<LevelFrame<'a>> {
        let level = &view.level[number as usize];
        let (width, height) = (level.width, level.height);
        let wrap = Wrap::of(address_mode, width & (width - 1) | height & (height - 1) == 0)?;
        let size = v._mm512_mask_set1_epi32(v._mm512_set1_epi32(width as i32), 0xff00, height as i32);
        let last = v._mm512_sub_epi32(size, v._mm512_set1_epi32(1));
        let slice = slice_of(view, level, 0xff);
        Some(LevelFrame { address_mode, number, wrap, size, last, scale: v._mm512_cvtepi32_ps(size), slice })
    }
}

/// The samples of lanes in a level. The lower half of each vector has the value of x or of the
/// lanes, the upper half that of y or again that of the lanes.
pub(crate) struct ProbeLine {
    pub(crate) coord: __m512,
    /// Derivative along the major axis.
    pub(crate) major: __m512,
    /// Number of probes of each lane.
    pub(crate) count: __m512i,
    /// Largest number of probes of a wanted lane.
    pub(crate) max_probes: usize,
    /// Wanted lanes, repeated in both halves.
    pub(crate) wanted: u16,
}

impl ProbeLine {
    /// Returns the coordinates of a probe, counted from 0; lanes with one probe keep theirs.
    #[inline(always)]
    pub(crate) fn probe(&self, v: Avx512, probe: usize) -> __m512 {
        let one = v._mm512_set1_epi32(1);
        let (several, column) = (v._mm512_cmpgt_epi32_mask(self.count, one), v._mm512_sub_epi32(self.count, one));
        let at = v._mm512_permutexvar_ps(column, v.load_ps(&PROBES[probe % MAX_PROBES]));
        v._mm512_mask_add_ps(self.coord, several, self.coord, v._mm512_mul_ps(self.major, at))
    }

    /// Adds the texels of a probe to `sum`, in the lanes that have the probe.
    #[inline(always)]
    fn add(&self, v: Avx512, sum: [__m512; 2], probe: usize, more: [__m512; 2]) -> [__m512; 2] {
        let has = v._mm512_cmpgt_epi32_mask(self.count, v._mm512_set1_epi32(probe as i32));
        [v._mm512_mask_add_ps(sum[0], has, sum[0], more[0]), v._mm512_mask_add_ps(sum[1], has, sum[1], more[1])]
    }
}

/// Neutral element of sums: adding a number to it gives the number, including the sign of a zero.
const NOTHING: f32 = -0.0;

/// Computes the sum of all probes' texels, where each probe is sampled alone. The item becomes
/// [`ProbeAccess::OutOfRange`] if `LevelSampler::sample` cannot sample it.
#[inline(always)]
pub(crate) fn sum_one_by_one<K: SampleKind>(v: Avx512, view: ValidView<'_>, item: &mut ProbeJob<'_>) {
    let (line, frame) = (item.line, item.frame);
    let wanted = u32::from(line.wanted) & ((1 << MAX_LANES) - 1);
    item.how = ProbeAccess::OutOfRange;
    let Some(axes) = LevelSampler::<K>::new::<false>(v, [view; 2], frame.address_mode, frame.number, wanted) else {
        return;
    };
    // The groups of a long footprint are far from each other.
    axes.common.set(false);
    let mut sum = [v._mm512_set1_ps(NOTHING); 2];
    for probe in 0..line.max_probes {
        let Some(texels) = axes.sample::<true, false>(v, line.probe(v, probe)) else { return };
        sum = line.add(v, sum, probe, texels);
    }
    (item.sum, item.how) = (sum, ProbeAccess::OneByOne);
}

/// The addresses and weights of the texels of a probe.
pub(crate) struct ProbeStep {
    /// Weight of the second texels.
    weight: __m512,
    /// Numbers of the texels in the memory that is read, according to [`ProbeAccess`].
    numbers: [__m512i; 2],
    /// Offsets of both groups' windows.
    windows: [u32; 2],
    /// Offsets of pairs.
    pairs: __m512i,
}

/// Number of steps that are planned before they are read.
pub(crate) const STEPS: usize = 2 * MAX_PROBES;

/// The steps of several lines.
pub(crate) type ProbeSteps = SmallVec<[ProbeStep; STEPS]>;

/// The way in which texels are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeAccess {
    /// One window per group, which begin at the first two offsets. The numbers are those of left
    /// and right texels, above and then below, for each group.
    Windows,
    /// Texels of four bytes with their right neighbours at sixteen offsets: above and below of the
    /// first group, then of the second one. The numbers are those of the left and of the right
    /// texels among these words.
    Pairs,
    /// Single texels; the numbers are their offsets.
    Gather,
    /// One sample per probe, without a plan.
    OneByOne,
    /// No samples, because lanes are far outside.
    OutOfRange,
}

/// A line in a level, with its plan and its result.
pub(crate) struct ProbeJob<'a> {
    pub(crate) frame: &'a LevelFrame<'a>,
    pub(crate) line: &'a ProbeLine,
    /// Number of the first step; there is one for each probe of the line.
    pub(crate) first: usize,
    pub(crate) how: ProbeAccess,
    /// Sum of all probes' filtered texels, with two components per vector.
    pub(crate) sum: [__m512; 2],
}

base::avx512_fn! {
    /// Plans the reads of texels of `bytes` bytes, 4 or 8.
    pub(crate) fn plan
        (v: Avx512, item: &mut ProbeJob<'_>, steps: &mut ProbeSteps, bytes: u32, near: &NeighbourPrediction) {
        item.how = planned(v, item.frame, item.line, (steps, item.first), bytes, near);

    }
}

#[inline(always)]
fn planned(
    v: Avx512,
    frame: &LevelFrame<'_>,
    line: &ProbeLine,
    steps: (&mut ProbeSteps, usize),
    bytes: u32,
    near: &NeighbourPrediction,
) -> ProbeAccess {
    let [width, height] = frame.slice.size;
    if bytes == 4 && width >= SIDES[0] as u32 && height >= SIDES[1] as u32 && near.expected() {
        let [far, outside] = each::<{ ProbeAccess::Windows as u8 }>(v, frame, line, (steps.0, steps.1), bytes);
        if is_wanted(far, line.wanted.into()) {
            return ProbeAccess::OutOfRange;
        }
        if !is_wanted(outside, line.wanted.into()) {
            near.succeeded();
            return ProbeAccess::Windows;
        }
        near.failed();
    }
    if bytes == 4 && width >= 2 {
        let [far, opposite] = each::<{ ProbeAccess::Pairs as u8 }>(v, frame, line, (steps.0, steps.1), bytes);
        if is_wanted(far, line.wanted.into()) {
            return ProbeAccess::OutOfRange;
        }
        let wanted = u32::from(line.wanted);
        let groups = wanted & 0x0f | (wanted & 0x0f) << 4 | (wanted & 0xf0) << 4 | (wanted & 0xf0) << 8;
        if u32::from(opposite) & groups == 0 {
            return ProbeAccess::Pairs;
        }
    }
    // Offsets are signed 32-bit numbers.
    if (u64::from(frame.slice.pitch) * u64::from(height)) >> 31 != 0 {
        return ProbeAccess::OutOfRange;
    }
    let [far, _] = each::<{ ProbeAccess::Gather as u8 }>(v, frame, line, (steps.0, steps.1), bytes);
    if is_wanted(far, line.wanted.into()) { ProbeAccess::OutOfRange } else { ProbeAccess::Gather }
}

/// Plans all probes in the way `ACCESS`. Returns the lanes that are far outside, and those for
/// which this way fails.
#[inline(always)]
fn each<const ACCESS: u8>(
    v: Avx512,
    frame: &LevelFrame<'_>,
    line: &ProbeLine,
    (steps, begin): (&mut ProbeSteps, usize),
    bytes: u32,
) -> [u16; 2] {
    let (mut far, mut other) = (0, 0);
    steps.truncate(begin);
    for probe in 0..line.max_probes {
        let u = v._mm512_sub_ps(v._mm512_mul_ps(line.probe(v, probe), frame.scale), v._mm512_set1_ps(0.5));
        if probe == 0 || probe == line.max_probes - 1 {
            // Probes between the first and the last one are nearer.
            let max = v._mm512_set1_ps(frame.wrap.farthest());
            far |= v._mm512_cmp_ps_mask::<_CMP_NLE_UQ>(v._mm512_abs_ps(u), max);
        }
        let (first, none) = (floor(v, u), v._mm512_setzero_si512());
        let weight = v._mm512_sub_ps(u, v._mm512_cvtepi32_ps(first));
        let mut step = ProbeStep { weight, numbers: [none; 2], windows: [0; 2], pairs: none };
        let second = v._mm512_sub_epi32(first, v._mm512_set1_epi32(-1));
        let texels = frame.wrap.inside(v, [first, second], frame.size, frame.last);
        if ACCESS == ProbeAccess::Windows as u8 {
            other |= in_windows(v, frame, texels, &mut step);
        } else if ACCESS == ProbeAccess::Pairs as u8 {
            other |= in_pairs(v, frame, texels, &mut step);
        } else {
            apart(v, frame, texels, &mut step, bytes);
        }
        steps.push(step);
    }
    [far, other]
}

/// Plans a probe as [`ProbeAccess::Windows`]. Returns the lanes that need texels outside of the
/// window.
#[inline(always)]
fn in_windows(v: Avx512, frame: &LevelFrame<'_>, [first, second]: [__m512i; 2], step: &mut ProbeStep) -> u16 {
    let sides = v._mm512_mask_set1_epi32(v._mm512_set1_epi32(SIDES[0]), 0xff00, SIDES[1]);
    let min = v._mm512_min_epi32(min_of_quads(v, first), v._mm512_sub_epi32(frame.size, sides));
    let (first, second) = (v._mm512_sub_epi32(first, min), v._mm512_sub_epi32(second, min));
    let outside = v._mm512_cmpge_epu32_mask(v._mm512_or_si512(first, second), sides);
    let (x, y) = (v._mm512_castsi512_si256(min), v._mm512_extracti64x4_epi64::<1>(min));
    let rows = v._mm256_mul_epu32(y, v._mm256_set1_epi32(frame.slice.pitch as i32));
    let offsets = v._mm256_add_epi32(rows, v._mm256_slli_epi32::<2>(x));
    step.windows[0] = v._mm_cvtsi128_si32(v._mm256_castsi256_si128(offsets)) as u32;
    step.windows[1] = v._mm_cvtsi128_si32(v._mm256_extracti128_si256::<1>(offsets)) as u32;
    // Rows of the window have eight texels.
    let first = v._mm512_mask_slli_epi32::<3>(first, 0xff00, first);
    let second = v._mm512_mask_slli_epi32::<3>(second, 0xff00, second);
    let columns = v._mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 0, 1, 2, 3, 16, 17, 18, 19);
    let of_second = v._mm512_add_epi32(columns, v._mm512_set1_epi32(4));
    let a = v._mm512_permutex2var_epi32(first, columns, second);
    let b = v._mm512_permutex2var_epi32(first, of_second, second);
    step.numbers = [
        v._mm512_or_si512(a, v._mm512_shuffle_i32x4::<0b10_10_10_10>(first, second)),
        v._mm512_or_si512(b, v._mm512_shuffle_i32x4::<0b11_11_11_11>(first, second)),
    ];
    outside
}

/// Plans a probe as [`ProbeAccess::Pairs`]. Returns the positions whose neighbours lie at opposite
/// edges of the level.
#[inline(always)]
fn in_pairs(v: Avx512, frame: &LevelFrame<'_>, [first, second]: [__m512i; 2], step: &mut ProbeStep) -> u16 {
    let even = v._mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    let rows = v._mm512_mullo_epi32(rows(v, first, second), v._mm512_set1_epi32(frame.slice.pitch as i32));
    let left = v._mm512_shuffle_i32x4::<0b01_01_00_00>(first, first);
    let right = v._mm512_shuffle_i32x4::<0b01_01_00_00>(second, second);
    // The vector has the first of two neighbours, which end inside of the level.
    let last = v._mm512_sub_epi32(v._mm512_shuffle_i64x2::<0x44>(frame.last, frame.last), v._mm512_set1_epi32(1));
    let x = v._mm512_min_epi32(left, last);
    step.pairs = v._mm512_add_epi32(rows, v._mm512_slli_epi32::<2>(x));
    let (left, right) = (v._mm512_sub_epi32(left, x), v._mm512_sub_epi32(right, x));
    step.numbers = [v._mm512_add_epi32(even, left), v._mm512_add_epi32(even, right)];
    v._mm512_cmpgt_epu32_mask(right, v._mm512_set1_epi32(1))
}

/// Plans a probe as [`ProbeAccess::Gather`].
#[inline(always)]
fn apart(v: Avx512, frame: &LevelFrame<'_>, [first, second]: [__m512i; 2], step: &mut ProbeStep, bytes: u32) {
    let rows = v._mm512_mullo_epi32(rows(v, first, second), v._mm512_set1_epi32(frame.slice.pitch as i32));
    let shift = v._mm_cvtsi32_si128(bytes.trailing_zeros() as i32);
    let left = v._mm512_sll_epi32(v._mm512_shuffle_i32x4::<0b01_01_00_00>(first, first), shift);
    let right = v._mm512_sll_epi32(v._mm512_shuffle_i32x4::<0b01_01_00_00>(second, second), shift);
    step.numbers = [v._mm512_add_epi32(rows, left), v._mm512_add_epi32(rows, right)];
}

/// Returns the rows of the first group, above and below, then those of the second group.
#[inline(always)]
fn rows(v: Avx512, first: __m512i, second: __m512i) -> __m512i {
    let of_groups = v._mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    v._mm512_permutex2var_epi32(first, of_groups, second)
}

/// Loads the window of a group: its upper two rows, then the lower two.
#[inline(always)]
fn group_window(v: Avx512, slice: &Slice<'_>, at: u32) -> [__m512i; 2] {
    let [first, second, third, fourth] = slice.rows::<__m256i, { SIDES[1] as usize }>(at);
    let upper = v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(first), second);
    [upper, v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(third), fourth)]
}

/// Computes the sum of all probes' texels, which were planned.
#[inline(always)]
pub(crate) fn sum<K: SampleKind>(v: Avx512, item: &mut ProbeJob<'_>, steps: &[ProbeStep]) {
    let four = K::FOUR;
    let (line, slice, how) = (item.line, &item.frame.slice, item.how);
    let memory = slice.memory;
    let mut sum = [v._mm512_set1_ps(NOTHING); 2];
    for (probe, step) in steps.iter().skip(item.first).take(line.max_probes).enumerate() {
        let [first, second] = step.numbers;
        let texels: [SixteenTexels; 2] = match how {
            ProbeAccess::Windows => {
                let [a, b] = step.windows;
                let ([upper, lower], [of_second, below]) = (group_window(v, slice, a), group_window(v, slice, b));
                let a = v._mm512_permutex2var_epi32(upper, first, lower);
                let b = v._mm512_permutex2var_epi32(of_second, second, below);
                [[v._mm512_shuffle_i32x4::<0x88>(a, b); 2], [v._mm512_shuffle_i32x4::<0xdd>(a, b); 2]]
            }
            ProbeAccess::Pairs => {
                let at = step.pairs;
                let a = memory.eight_pairs::<1>(v, v._mm512_castsi512_si256(at));
                let b = memory.eight_pairs::<1>(v, v._mm512_extracti64x4_epi64::<1>(at));
                [[v._mm512_permutex2var_epi32(a, first, b); 2], [v._mm512_permutex2var_epi32(a, second, b); 2]]
            }
            _ => [texels_at::<1>(v, four, memory, first), texels_at::<1>(v, four, memory, second)],
        };
        let (at, of) = floats(v, four, texels);
        let across = v._mm512_shuffle_f32x4::<0b01_01_00_00>(step.weight, step.weight);
        let down = v._mm512_shuffle_f32x4::<0xee>(step.weight, step.weight);
        // The texels are those of the first group above and below, then those of the second
        // one.
        sum = line.add(v, sum, probe, weighted::<0x88, 0xdd>(v, at, of, [across, down]));
    }
    item.sum = sum;
}
