//! Bins of references: the candidates of a split, the best of them, and its execution.
//!
//! All functions here are inlined into kernels of a level ([`Kernel`](crate::kernels::Kernel)).
//! Vectors are not used in closures, which the compiler may leave out of line, without the level.

use super::references::{Box8, PrimitiveRef};
use crate::kernels::Kernel;
use crate::vec4::F32x4;
use base::host::{Floats, Host, Ints};

/// Number of bins of an axis for large ranges.
pub const MAX_BINS: usize = 16;
/// Number of bins of an axis for small ranges.
const FEW_BINS: usize = 8;

/// Returns the number of bins of an axis.
#[inline(always)]
pub fn bins_of(references: u32) -> usize {
    if references < 128 { FEW_BINS } else { MAX_BINS }
}

/// Number of references from which two sets of bins are used in turns: references that follow each
/// other are often in the same bin, and a store to it delays the next load.
const TWO_SETS: usize = 64;

/// The function from centres of boxes to bins.
#[derive(Clone, Copy)]
pub struct Mapping {
    base: F32x4,
    scale: F32x4,
    /// Number of bins of each axis.
    pub bins: usize,
}

/// Factor of the number of bins, so that rounding errors give no bin more.
const SHRINK: f32 = 1.0 - 1.0 / (1 << 20) as f32;

/// Returns a vector of two halves.
#[inline(always)]
fn vector<H: Host>([a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4]) -> H::Floats {
    H::Ints::from_array([a, b, c, d, e, f, g, h]).as_floats()
}

/// Returns a vector of a half of both references.
#[inline(always)]
fn pair<H: Host, const HALF: usize>(references: &[PrimitiveRef; 2]) -> H::Floats {
    let [a, b] = references;
    let [a, b] = [a.0.as_chunks::<4>().0[HALF], b.0.as_chunks::<4>().0[HALF]];
    vector::<H>(a, b)
}

/// Returns twice the centres of two references' boxes, in three lanes of each half. They are
/// infinite for the largest coordinates, all of which are then in one bin.
#[inline(always)]
pub fn centroids<H: Host>(references: &[PrimitiveRef; 2]) -> H::Floats {
    pair::<H, 0>(references) - pair::<H, 1>(references)
}

/// Returns a vector of twice the four lanes.
#[inline(always)]
fn twice<H: Host>(lanes: F32x4) -> H::Floats {
    vector::<H>(lanes.to_bits(), lanes.to_bits())
}

/// Returns a box as a vector.
#[inline(always)]
fn load<H: Host>(bounds: &Box8) -> H::Floats {
    H::Ints::from_array(bounds.0).as_floats()
}

/// A [`Mapping`] for pairs of references.
pub struct PairMapping<H: Host> {
    base: H::Floats,
    scale: H::Floats,
}

impl Mapping {
    /// Makes the mapping of centres with the given bounds to bins of equal width.
    #[inline(always)]
    pub fn new(centroids: &Box8, bins: usize) -> Mapping {
        let [a, b, c, d, e, f, g, h] = centroids.0;
        let base = F32x4::from_bits([a, b, c, d]);
        let zero = F32x4::splat(0.0);
        let extent = zero - F32x4::from_bits([e, f, g, h]) - base;
        let scale = (F32x4::splat(bins as f32 * SHRINK) / extent).min(F32x4::splat(f32::MAX));
        Mapping { base, scale: extent.greater(zero).select(scale, zero), bins }
    }

    /// Returns the number of bins between the centres with the given bounds, on their longest axis.
    #[inline(always)]
    pub fn cells_of_longest_axis(&self, centroids: &Box8) -> f32 {
        let extents = [0, 1, 2].map(|axis| centroids.max(axis) - centroids.min(axis));
        let scale = self.scale.to_array();
        let longest = extents.iter().zip(scale).fold((0.0, 0.0), |longest, (&extent, scale)| {
            if extent > longest.0 { (extent, extent * scale) } else { longest }
        });
        longest.1
    }

    /// Returns the mapping for pairs of references.
    #[inline(always)]
    pub fn for_pairs<H: Host>(&self) -> PairMapping<H> {
        PairMapping { base: twice::<H>(self.base), scale: twice::<H>(self.scale) }
    }
}

impl<H: Host> PairMapping<H> {
    /// Returns the bins of two centres on all axes.
    #[inline(always)]
    pub fn bins(&self, centroids: H::Floats) -> H::Ints {
        ((centroids - self.base) * self.scale).truncate_to_int() & H::Ints::splat(MAX_BINS as u32 - 1)
    }
}

/// Extends a box to one around the bounds of a reference, too.
#[inline(always)]
pub fn extend<H: Host>(bounds: &mut Box8, reference: &PrimitiveRef) {
    bounds.0 = load::<H>(reference).min(load::<H>(bounds)).bits().to_array();
}

/// References by bin: bounds and counts.
#[derive(Clone)]
pub struct Bins {
    /// Bounds of the references of each bin of each axis.
    pub bounds: [[Box8; MAX_BINS]; 3],
    /// Number of references of each bin of each axis.
    pub counts: [[u32; MAX_BINS]; 3],
}

impl Bins {
    /// Bins without references.
    pub const EMPTY: Bins = Bins { bounds: [[Box8::EMPTY; MAX_BINS]; 3], counts: [[0; MAX_BINS]; 3] };

    /// Adds the references of other bins, of which the first ones are in use.
    #[inline(always)]
    pub fn add(&mut self, other: &Bins, bins: usize) {
        for axis in 0..3 {
            for bin in 0..bins.min(MAX_BINS) {
                self.bounds[axis][bin] = self.bounds[axis][bin].union(other.bounds[axis][bin]);
                self.counts[axis][bin] += other.counts[axis][bin];
            }
        }
    }

    /// Empties the first bins of all axes.
    #[inline(always)]
    pub fn clear(&mut self, bins: usize) {
        for axis in 0..3 {
            self.bounds[axis][..bins].fill(Box8::EMPTY);
            self.counts[axis][..bins].fill(0);
        }
    }

    /// Adds a reference, or a cluster of `count` references, whose bins are the lower bits of three
    /// lanes.
    #[inline(always)]
    fn add_reference<H: Host>(&mut self, reference: &PrimitiveRef, bins: [u32; 3], count: u32) {
        for (axis, &bin) in bins.iter().enumerate() {
            let bin = bin as usize % MAX_BINS;
            extend::<H>(&mut self.bounds[axis][bin], reference);
            self.counts[axis][bin] += count;
        }
    }

    /// Returns the bounds of the bins `from..to` of an axis.
    #[inline(always)]
    fn union<H: Host>(&self, axis: usize, from: usize, to: usize) -> Box8 {
        let mut union = load::<H>(&Box8::EMPTY);
        for bin in &self.bounds[axis][from..to] {
            union = load::<H>(bin).min(union);
        }
        Box8(union.bits().to_array())
    }
}

/// Makes bins of references in the first set, using the second one.
#[inline(always)]
pub fn bin<H: Host>(references: &[PrimitiveRef], mapping: &Mapping, [bins, other]: &mut [Bins; 2]) {
    bins.clear(mapping.bins);
    let pairs = mapping.for_pairs::<H>();
    let (chunks, rest) = references.as_chunks::<2>();
    if references.len() < TWO_SETS {
        for references in chunks {
            let [a, b, c, _, d, e, f, _] = pairs.bins(centroids::<H>(references)).to_array();
            bins.add_reference::<H>(&references[0], [a, b, c], 1);
            bins.add_reference::<H>(&references[1], [d, e, f], 1);
        }
    } else {
        other.clear(mapping.bins);
        for references in chunks {
            let [a, b, c, _, d, e, f, _] = pairs.bins(centroids::<H>(references)).to_array();
            bins.add_reference::<H>(&references[0], [a, b, c], 1);
            other.add_reference::<H>(&references[1], [d, e, f], 1);
        }
        bins.add(other, mapping.bins);
    }
    for reference in rest {
        let [a, b, c, ..] = pairs.bins(centroids::<H>(&[*reference; 2])).to_array();
        bins.add_reference::<H>(reference, [a, b, c], 1);
    }
}

/// Makes bins of clusters, whose numbers of references are in their second words.
#[inline(always)]
pub fn bin_clusters<H: Host>(clusters: &[PrimitiveRef], mapping: &Mapping, bins: &mut Bins) {
    bins.clear(mapping.bins);
    let pairs = mapping.for_pairs::<H>();
    for cluster in clusters {
        let [a, b, c, ..] = pairs.bins(centroids::<H>(&[*cluster; 2])).to_array();
        bins.add_reference::<H>(cluster, [a, b, c], cluster.primitive().geometry);
    }
}

/// A division of references: those whose bin on an axis is below `bin` are on the left.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The axis.
    pub axis: usize,
    /// First bin on the right.
    pub bin: usize,
}

/// A candidate: where to split, how many references are on the left, and the bounds of both parts.
pub struct Candidate {
    /// The division.
    pub split: Split,
    /// Number of references on the left.
    pub left_count: u32,
    /// Bounds of both parts.
    pub bounds: [Box8; 2],
}

/// Number of references of a range, and properties that follow.
#[derive(Clone, Copy)]
struct Counts {
    all: u32,
    leaf_shift: u32,
    /// Bits that the number on the left must not have: two odd parts of an even number could have
    /// one leaf more than `max_leaves`.
    forbidden: u32,
}

/// Returns the areas of eight boxes, given by their negated extents.
#[inline(always)]
fn areas<H: Host>(extents: &[F32x4; 8]) -> H::Floats {
    let [a, b, c, d, e, f, g, h] = *extents;
    let (low, high) = (F32x4::transpose([a, b, c, d]), F32x4::transpose([e, f, g, h]));
    let x = vector::<H>(low[0].to_bits(), high[0].to_bits());
    let y = vector::<H>(low[1].to_bits(), high[1].to_bits());
    let z = vector::<H>(low[2].to_bits(), high[2].to_bits());
    x * y + y * z + z * x
}

/// Returns the negated extents of a box in three lanes.
#[inline(always)]
fn negated_extent<H: Host>(bounds: H::Floats) -> F32x4 {
    let [a, b, c, d, e, f, g, h] = bounds.bits().to_array();
    F32x4::from_bits([a, b, c, d]) + F32x4::from_bits([e, f, g, h])
}

/// The least costs of candidates by lane, and the candidates: numbers of an axis and a bin.
#[derive(Clone, Copy)]
struct Best<H: Host> {
    cost: H::Floats,
    number: H::Ints,
}

impl<H: Host> Best<H> {
    /// Takes the candidates of an axis into account. Candidate i is the border behind bin i; the
    /// last one has all references on the left.
    #[inline(always)]
    fn update_axis<const BINS: usize>(
        &mut self,
        bounds: &[Box8; MAX_BINS],
        counts: &[u32; MAX_BINS],
        of: Counts,
        number: u32,
    ) {
        let zero = F32x4::splat(0.0);
        let (mut left, mut right, mut left_counts) = ([zero; BINS], [zero; BINS], [0; BINS]);
        let (mut union, mut left_count) = (load::<H>(&Box8::EMPTY), 0);
        for i in 0..BINS {
            union = load::<H>(&bounds[i]).min(union);
            left_count += counts[i];
            (left[i], left_counts[i]) = (negated_extent::<H>(union), left_count);
        }
        let mut union = load::<H>(&Box8::EMPTY);
        for i in (0..BINS - 1).rev() {
            union = load::<H>(&bounds[i + 1]).min(union);
            right[i] = negated_extent::<H>(union);
        }
        let (left, right) = (left.as_chunks::<8>().0, right.as_chunks::<8>().0);
        for (i, left_counts) in left_counts.as_chunks::<8>().0.iter().enumerate() {
            self.update(&left[i], &right[i], left_counts, of, number + 8 * i as u32);
        }
    }

    /// Takes eight candidates, `number` and those that follow, into account.
    #[inline(always)]
    fn update(&mut self, left: &[F32x4; 8], right: &[F32x4; 8], left_counts: &[u32; 8], of: Counts, number: u32) {
        let left_count = H::Ints::from_array(*left_counts);
        let right_count = H::Ints::splat(of.all) - left_count;
        let round_up = H::Ints::splat((1 << of.leaf_shift) - 1);
        let left_leaves = (left_count + round_up).shr(of.leaf_shift).to_floats();
        let right_leaves = (right_count + round_up).shr(of.leaf_shift).to_floats();
        let cost = areas::<H>(left) * left_leaves + areas::<H>(right) * right_leaves;
        let zero = H::Ints::splat(0);
        let is_forbidden = (left_count & H::Ints::splat(of.forbidden)).greater(zero);
        let is_empty = left_count.equal(zero) | right_count.equal(zero);
        let infinite = H::Ints::splat(f32::INFINITY.to_bits());
        let cost = (is_forbidden | is_empty).select(infinite, cost.bits()).as_floats();
        let is_less = self.cost.greater(cost);
        let numbers = H::Ints::splat(number) + H::Ints::from_array([0, 1, 2, 3, 4, 5, 6, 7]);
        self.number = is_less.select(numbers, self.number);
        self.cost = is_less.select(cost.bits(), self.cost.bits()).as_floats();
    }
}

/// Bits of all axes.
pub const ALL_AXES: u32 = 0b111;

/// Finds the best candidate of a split. There is none if all references are in one bin on every
/// axis, or all costs are infinite. All kinds of splits call it as a kernel of its own, because it
/// is a large part of the code of a split.
pub struct Find<'a> {
    /// The references by bin.
    pub of: &'a Bins,
    /// Number of bins of an axis.
    pub bins: usize,
    /// Bits of the axes along which the references may be split.
    pub axes: u32,
    /// Number of references.
    pub count: u32,
    /// Logarithm of the size of a leaf.
    pub leaf_shift: u32,
}

impl Kernel for Find<'_> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<H: Host>(self) -> Option<Candidate> {
        let Find { of, bins, axes, count, leaf_shift } = self;
        let forbidden = u32::from(leaf_shift > 0 && count.is_multiple_of(2));
        let counts = Counts { all: count, leaf_shift, forbidden };
        let mut best = Best::<H> { cost: H::Floats::splat(f32::INFINITY), number: H::Ints::splat(0) };
        for axis in (0..3).filter(|axis| axes >> axis & 1 != 0) {
            // Bins that are not in use are empty.
            let first = (axis * MAX_BINS) as u32;
            if bins <= FEW_BINS {
                best.update_axis::<FEW_BINS>(&of.bounds[axis], &of.counts[axis], counts, first);
            } else {
                best.update_axis::<MAX_BINS>(&of.bounds[axis], &of.counts[axis], counts, first);
            }
        }
        let (costs, numbers) = (best.cost.bits().to_array().map(f32::from_bits), best.number.to_array());
        let (mut cost, mut number) = (f32::INFINITY, u32::MAX);
        for lane in 0..8 {
            if costs[lane] < cost || costs[lane] == cost && numbers[lane] < number {
                (cost, number) = (costs[lane], numbers[lane]);
            }
        }
        if cost == f32::INFINITY {
            return None;
        }
        let (axis, bin) = ((number as usize / MAX_BINS).min(2), number as usize % MAX_BINS + 1);
        let bin = bin.min(bins);
        let bounds = [of.union::<H>(axis, 0, bin), of.union::<H>(axis, bin, bins)];
        let left_count = of.counts[axis][..bin].iter().sum();
        Some(Candidate { split: Split { axis, bin }, left_count, bounds })
    }
}

/// Returns the bounds of references, and those of their centres.
#[inline(always)]
pub fn bounds<H: Host>(references: &[PrimitiveRef]) -> [Box8; 2] {
    let mut bounds = load::<H>(&Box8::EMPTY);
    let mut centres = CentroidBounds::<H>::empty();
    for reference in references {
        bounds = load::<H>(reference).min(bounds);
        centres.add(centroids::<H>(&[*reference; 2]));
    }
    [Box8(bounds.bits().to_array()), centres.finish()]
}

/// Bounds of centres, while they are collected for two halves of pairs.
pub struct CentroidBounds<H: Host> {
    min: H::Floats,
    max: H::Floats,
}

/// Returns three lanes of each half.
#[inline(always)]
fn halves<H: Host>(lanes: H::Floats) -> [F32x4; 2] {
    let [a, b, c, _, d, e, f, _] = lanes.bits().to_array();
    [F32x4::from_bits([a, b, c, 0]), F32x4::from_bits([d, e, f, 0])]
}

impl<H: Host> CentroidBounds<H> {
    /// Returns the bounds of nothing.
    #[inline(always)]
    pub fn empty() -> Self {
        CentroidBounds { min: H::Floats::splat(f32::INFINITY), max: H::Floats::splat(f32::NEG_INFINITY) }
    }

    /// Adds two centres; a half that is not a number is left out.
    #[inline(always)]
    pub fn add(&mut self, centroids: H::Floats) {
        self.min = centroids.min(self.min);
        self.max = centroids.max(self.max);
    }

    /// Returns the bounds.
    #[inline(always)]
    pub fn finish(self) -> Box8 {
        let ([a, b], [c, d]) = (halves::<H>(self.min), halves::<H>(self.max));
        let ([x, y, z, _], [to_x, to_y, to_z, _]) = (a.min(b).to_bits(), c.max(d).to_array());
        Box8([x, y, z, 0, (-to_x).to_bits(), (-to_y).to_bits(), (-to_z).to_bits(), 0])
    }
}

/// Copies references to the left and to the right, without changing their order there. Both places
/// have the right lengths. Returns the bounds of the centres of both.
#[inline(always)]
pub fn partition<H: Host>(
    references: &[PrimitiveRef],
    mapping: &Mapping,
    split: Split,
    to: [&mut [PrimitiveRef]; 2],
) -> [Box8; 2] {
    match split.axis {
        0 => partition_on::<H, 0>(references, mapping, split.bin, to),
        1 => partition_on::<H, 1>(references, mapping, split.bin, to),
        _ => partition_on::<H, 2>(references, mapping, split.bin, to),
    }
}

/// The places of references that are divided, and the bounds of their centres.
struct Division<'a, H: Host> {
    pairs: PairMapping<H>,
    first_right: H::Ints,
    to: [&'a mut [PrimitiveRef]; 2],
    next: [usize; 2],
    left: CentroidBounds<H>,
    right: CentroidBounds<H>,
}

impl<H: Host> Division<'_, H> {
    /// Returns true for each of the references that belongs to the left.
    #[inline(always)]
    fn divide<const AXIS: i32>(&mut self, references: &[PrimitiveRef; 2]) -> [bool; 2] {
        let centroids = centroids::<H>(references);
        let bins = self.pairs.bins(centroids).as_floats().broadcast_in_quad::<AXIS>().bits();
        let is_left = self.first_right.greater(bins);
        // All ones are not a number.
        let is_right = is_left ^ H::Ints::splat(!0);
        self.left.add((is_right | centroids.bits()).as_floats());
        self.right.add((is_left | centroids.bits()).as_floats());
        let bits = is_left.movemask();
        [bits & 1 != 0, bits >> 4 & 1 != 0]
    }

    /// Copies a reference to both sides, since a branch would often be mispredicted. On the wrong
    /// side the next one replaces it, because there is only room for those that belong there.
    #[inline(always)]
    fn place(&mut self, reference: &PrimitiveRef, is_left: bool) {
        for (to, next) in self.to.iter_mut().zip(self.next) {
            if let Some(to) = to.get_mut(next) {
                *to = *reference;
            }
        }
        self.next[0] += usize::from(is_left);
        self.next[1] += usize::from(!is_left);
    }
}

#[inline(always)]
fn partition_on<H: Host, const AXIS: i32>(
    references: &[PrimitiveRef],
    mapping: &Mapping,
    bin: usize,
    to: [&mut [PrimitiveRef]; 2],
) -> [Box8; 2] {
    let pairs = mapping.for_pairs::<H>();
    let first_right = H::Ints::splat(bin as u32);
    let (left, right) = (CentroidBounds::<H>::empty(), CentroidBounds::<H>::empty());
    let mut division = Division { pairs, first_right, to, next: [0, 0], left, right };
    let (chunks, rest) = references.as_chunks::<2>();
    for references in chunks {
        let [first, second] = division.divide::<AXIS>(references);
        division.place(&references[0], first);
        division.place(&references[1], second);
    }
    for reference in rest {
        let [is_left, _] = division.divide::<AXIS>(&[*reference; 2]);
        division.place(reference, is_left);
    }
    [division.left.finish(), division.right.finish()]
}
