//! Splits of small ranges: references in the order of their centres are bins of one reference each.
//! Axes along which the centres lie close together rarely have the best split, and are left out.

use super::bins::{ALL_AXES, Bins, Candidate, Find, MAX_BINS};
use super::references::{Box8, PrimitiveRef};
use crate::kernels::Kernel;
use crate::vec4::F32x4;
use base::host::{Host, Ints};

/// Largest number of references of a range that is split here.
pub const MAX_REFERENCES: usize = MAX_BINS;

/// Number of lanes of a vector.
const LANES: usize = 8;

/// Bits of a key that are the number of a reference, so that all keys are different.
const NUMBER: u32 = MAX_REFERENCES as u32 - 1;

/// Numbers of the references as bits of the keys.
const NUMBERS: [[u32; LANES]; 2] = [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]];

/// Returns integers in the order of floats, with the number of the reference in the lowest bits.
#[inline(always)]
fn keys_of<H: Host>(centroids: H::Ints, group: usize) -> H::Ints {
    let ordered = centroids ^ (centroids.sar(31) & H::Ints::splat(i32::MAX as u32));
    ordered & H::Ints::splat(!NUMBER) | H::Ints::from_array(NUMBERS[group])
}

/// Least part of the longest extent of centres that an axis has along which references are sorted.
const MIN_EXTENT: f32 = 0.5;

/// Returns twice the centre of a reference's box.
#[inline(always)]
fn centroid(reference: &PrimitiveRef) -> F32x4 {
    let [a, b, c, d, e, f, g, h] = reference.0;
    F32x4::from_bits([a, b, c, d]) - F32x4::from_bits([e, f, g, h])
}

/// Returns twice the centres of the boxes of eight references as a vector for each axis. Those that
/// are missing are infinite.
#[inline(always)]
fn centroids<H: Host>(references: &[PrimitiveRef]) -> [H::Ints; 3] {
    let mut centroids = [F32x4::splat(f32::INFINITY); LANES];
    for (to, reference) in centroids.iter_mut().zip(references) {
        *to = centroid(reference);
    }
    let [a, b, c, d, e, f, g, h] = centroids;
    let (low, high) = (F32x4::transpose([a, b, c, d]), F32x4::transpose([e, f, g, h]));
    let mut axes = [H::Ints::splat(0); 3];
    for (axis, to) in axes.iter_mut().enumerate() {
        let ([a, b, c, d], [e, f, g, h]) = (low[axis].to_bits(), high[axis].to_bits());
        *to = H::Ints::from_array([a, b, c, d, e, f, g, h]);
    }
    axes
}

/// Returns the bits of the axes that are long enough. The longest one always is.
#[inline(always)]
fn long_axes(references: &[PrimitiveRef]) -> u32 {
    let (mut min, mut max) = (F32x4::splat(f32::INFINITY), F32x4::splat(f32::NEG_INFINITY));
    for reference in references {
        let centroid = centroid(reference);
        (min, max) = (centroid.min(min), centroid.max(max));
    }
    let extents = max - min;
    let [x, y, z, _] = extents.to_array();
    let least = F32x4::splat(x.max(y).max(z) * MIN_EXTENT);
    extents.greater_or_equal(least).bits() & ALL_AXES
}

/// Sorts references into bins of one reference each, along each of the axes.
#[inline(always)]
fn sort<H: Host, const GROUPS: usize>(references: &[PrimitiveRef], axes: u32, bins: &mut Bins) {
    let mut keys = [[H::Ints::splat(0); GROUPS]; 3];
    for (group, references) in references.chunks(LANES).enumerate().take(GROUPS) {
        let centroids = centroids::<H>(references);
        for axis in 0..3 {
            keys[axis][group] = keys_of::<H>(centroids[axis], group);
        }
    }
    for (axis, keys) in keys.iter().enumerate().filter(|(axis, _)| axes >> axis & 1 != 0) {
        let mut places = [H::Ints::splat(0); GROUPS];
        for other in 0..GROUPS * LANES {
            let key = keys[other / LANES].broadcast_lane(other as u32);
            for (place, &keys) in places.iter_mut().zip(keys) {
                *place = *place - keys.greater(key);
            }
        }
        let mut all = [[0; LANES]; GROUPS];
        for (all, place) in all.iter_mut().zip(places) {
            *all = place.to_array();
        }
        let (bounds, counts) = (&mut bins.bounds[axis], &mut bins.counts[axis]);
        for (reference, &place) in references.iter().zip(all.as_flattened()) {
            bounds[place as usize % MAX_BINS] = *reference;
        }
        bounds[references.len()..GROUPS * LANES].fill(Box8::EMPTY);
        counts[..references.len()].fill(1);
        counts[references.len()..GROUPS * LANES].fill(0);
    }
}

/// Splits a small range of references, which are copied in the order of their centres along the
/// axis of the split. Returns `None`, and copies nothing, if all costs are infinite.
pub struct Sweep<'a> {
    /// References of the range.
    pub references: &'a [PrimitiveRef],
    /// Places of the references in the other list.
    pub to: &'a mut [PrimitiveRef],
    /// Logarithm of the size of a leaf.
    pub leaf_shift: u32,
    /// Memory for the bins.
    pub bins: &'a mut Bins,
}

impl Kernel for Sweep<'_> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<H: Host>(self) -> Option<Candidate> {
        let Sweep { references, to, leaf_shift, bins } = self;
        let (count, axes) = (references.len(), long_axes(references));
        if count <= LANES {
            sort::<H, 1>(references, axes, bins);
        } else {
            sort::<H, 2>(references, axes, bins);
        }
        let groups = count.next_multiple_of(LANES);
        let candidate = Find { of: bins, bins: groups, axes, count: count as u32, leaf_shift }.run::<H>()?;
        to.copy_from_slice(&bins.bounds[candidate.split.axis][..count]);
        Some(candidate)
    }
}
