//! Loops over references, compiled for each processor level ([`base::multiversion!`]).

#![allow(clippy::needless_range_loop, reason = "loops over axes index several arrays")]

use super::references::{Box8, PrimitiveRef};
use crate::level::HostLevel;
use crate::vec4::{F32x4, Mask4};
use base::host::{Floats, Host, Ints};

/// Largest number of bins of an axis.
pub const MAX_BINS: usize = 16;

/// The function from centres of boxes to bins.
#[derive(Clone, Copy)]
pub struct Mapping {
    base: F32x4,
    scale: F32x4,
    max: F32x4,
    /// Number of bins of each axis.
    pub bins: usize,
}

/// The number 1.5 · 2^23, to which a small number is added in order to round it.
const ROUND: f32 = 12_582_912.0;

impl Mapping {
    /// Makes the mapping of centres with the given bounds to bins of equal width.
    pub fn new(centroids: &Box8, bins: usize) -> Mapping {
        let scale = [0, 1, 2].map(|axis| {
            let extent = centroids.max(axis) - centroids.min(axis);
            if extent > 0.0 { bins as f32 / extent } else { 0.0 }
        });
        let [a, b, c] = scale;
        Mapping {
            base: F32x4::from_array([centroids.min(0), centroids.min(1), centroids.min(2), 0.0]),
            scale: F32x4::from_array([a, b, c, 0.0]),
            max: F32x4::splat(bins as f32 - 1.0),
            bins,
        }
    }

    /// Returns the bins of a centre on all axes, in the lower bits of the lanes.
    #[inline(always)]
    fn bins(&self, centroid: F32x4) -> [u32; 4] {
        let position = (centroid - self.base) * self.scale - F32x4::splat(0.5);
        let limited = position.max(F32x4::splat(0.0)).min(self.max);
        (limited + F32x4::splat(ROUND)).to_bits()
    }
}

/// References by bin: bounds and counts.
pub struct Bins {
    /// Bounds of the references of each bin of each axis.
    pub bounds: [[Box8; MAX_BINS]; 3],
    /// Number of references of each bin of each axis.
    pub counts: [[u32; MAX_BINS]; 3],
}

impl Bins {
    /// Bins without references.
    pub const EMPTY: Bins = Bins { bounds: [[Box8::EMPTY; MAX_BINS]; 3], counts: [[0; MAX_BINS]; 3] };

    /// Adds the references of other bins of the same mapping.
    pub fn add(&mut self, other: &Bins) {
        for axis in 0..3 {
            for bin in 0..MAX_BINS {
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
}

/// A division of references: those whose bin on an axis is below `bin` are on the left.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// The axis.
    pub axis: usize,
    /// First bin on the right.
    pub bin: u32,
}

/// Returns the centre of a reference's box in three lanes.
#[inline(always)]
fn centroid(reference: &PrimitiveRef) -> F32x4 {
    let [a, b, c, d, e, f, g, h] = reference.0;
    let half = F32x4::splat(0.5);
    F32x4::from_bits([a, b, c, d]) * half - F32x4::from_bits([e, f, g, h]) * half
}

/// Bounds of centres, while they are collected.
struct CentroidBounds {
    min: F32x4,
    max: F32x4,
}

impl CentroidBounds {
    const fn to_box(min: [u32; 4], max: [f32; 4]) -> Box8 {
        let [a, b, c, _] = min;
        let [d, e, f, _] = max;
        Box8([a, b, c, 0, (-d).to_bits(), (-e).to_bits(), (-f).to_bits(), 0])
    }

    fn empty() -> CentroidBounds {
        CentroidBounds { min: F32x4::splat(f32::INFINITY), max: F32x4::splat(f32::NEG_INFINITY) }
    }

    /// Adds the centre if the mask selects it.
    #[inline(always)]
    fn add(&mut self, which: Mask4, centroid: F32x4) {
        self.min = which.select(centroid, F32x4::splat(f32::INFINITY)).min(self.min);
        self.max = which.select(centroid, F32x4::splat(f32::NEG_INFINITY)).max(self.max);
    }

    fn finish(self) -> Box8 {
        CentroidBounds::to_box(self.min.to_bits(), self.max.to_array())
    }
}

base::multiversion! {
    unsafe fn bin_variant(references: &[PrimitiveRef], mapping: &Mapping, bins: &mut Bins) {
        for reference in references {
            let bin = mapping.bins(centroid(reference));
            let bounds = <H as Host>::Ints::from_array(reference.0).as_floats();
            for axis in 0..3 {
                let i = bin[axis] as usize % MAX_BINS;
                let place = &mut bins.bounds[axis][i];
                let old = <H as Host>::Ints::from_array(place.0).as_floats();
                place.0 = bounds.min(old).bits().to_array();
                bins.counts[axis][i] += 1;
            }
        }
    }

    unsafe fn bounds_variant(references: &[PrimitiveRef], out: &mut [Box8; 2]) {
        let mut bounds = <H as Host>::Ints::from_array(Box8::EMPTY.0).as_floats();
        let mut centroids = CentroidBounds::empty();
        for reference in references {
            bounds = <H as Host>::Ints::from_array(reference.0).as_floats().min(bounds);
            centroids.add(Mask4::splat(true), centroid(reference));
        }
        *out = [Box8(bounds.bits().to_array()), centroids.finish()];
    }

    unsafe fn partition_variant(
        references: &[PrimitiveRef], mapping: &Mapping, split: Split, left_count: usize, to: &mut [PrimitiveRef],
        out: &mut [Box8; 2],
    ) {
        let mut next = [0, left_count];
        let mut sides = [CentroidBounds::empty(), CentroidBounds::empty()];
        for reference in references {
            let centroid = centroid(reference);
            let bin = mapping.bins(centroid)[split.axis & 3] as usize % MAX_BINS;
            let is_left = (bin as u32) < split.bin;
            let position = if is_left { next[0] } else { next[1] };
            to[position] = *reference;
            next[0] += usize::from(is_left);
            next[1] += usize::from(!is_left);
            sides[0].add(Mask4::splat(is_left), centroid);
            sides[1].add(Mask4::splat(!is_left), centroid);
        }
        let [left, right] = sides;
        *out = [left.finish(), right.finish()];
    }

    unsafe fn scatter_variant(
        references: &[PrimitiveRef], mapping: &Mapping, split: Split, to: [&mut [PrimitiveRef]; 2], out: &mut [Box8; 2],
    ) {
        let mut next = [0, 0];
        let mut sides = [CentroidBounds::empty(), CentroidBounds::empty()];
        let [left, right] = to;
        for reference in references {
            let centroid = centroid(reference);
            let bin = mapping.bins(centroid)[split.axis & 3] as usize % MAX_BINS;
            if (bin as u32) < split.bin {
                left[next[0]] = *reference;
                next[0] += 1;
                sides[0].add(Mask4::splat(true), centroid);
            } else {
                right[next[1]] = *reference;
                next[1] += 1;
                sides[1].add(Mask4::splat(true), centroid);
            }
        }
        let [left, right] = sides;
        *out = [left.finish(), right.finish()];
    }
}

/// Adds references to bins.
#[inline(always)]
pub fn bin(level: HostLevel, references: &[PrimitiveRef], mapping: &Mapping, bins: &mut Bins) {
    // SAFETY: the host has the level, because `HostLevel` names no other.
    unsafe { bin_variant(level.get())(references, mapping, bins) }
}

/// Returns the bounds of references, and those of their centres.
pub fn bounds(level: HostLevel, references: &[PrimitiveRef]) -> [Box8; 2] {
    let mut out = [Box8::EMPTY; 2];
    // SAFETY: the host has the level, because `HostLevel` names no other.
    unsafe { bounds_variant(level.get())(references, &mut out) };
    out
}

/// Copies references to the left and right part of `to`, whose left part has `left_count` places,
/// without changing their order in each part. Returns the bounds of the centres of both.
#[inline(always)]
pub fn partition(
    level: HostLevel,
    references: &[PrimitiveRef],
    mapping: &Mapping,
    split: Split,
    left_count: usize,
    to: &mut [PrimitiveRef],
) -> [Box8; 2] {
    let mut out = [Box8::EMPTY; 2];
    // SAFETY: the host has the level, because `HostLevel` names no other.
    unsafe { partition_variant(level.get())(references, mapping, split, left_count, to, &mut out) };
    out
}

/// Copies references to separate places, as [`partition`] does.
pub fn scatter(
    level: HostLevel,
    references: &[PrimitiveRef],
    mapping: &Mapping,
    split: Split,
    to: [&mut [PrimitiveRef]; 2],
) -> [Box8; 2] {
    let mut out = [Box8::EMPTY; 2];
    // SAFETY: the host has the level, because `HostLevel` names no other.
    unsafe { scatter_variant(level.get())(references, mapping, split, to, &mut out) };
    out
}
