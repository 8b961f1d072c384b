//! Splits by the surface area heuristic over bins.
//!
//! The expected cost of a split is the sum of both parts' surface areas, times their numbers of
//! leaves. Candidates are the borders of bins of equal width on the three axes; of equal costs the
//! first one wins. References move between two lists, which keeps their order.

#![forbid(unsafe_code)]

use super::kernels::{self, Bins, MAX_BINS, Mapping, Split};
use super::references::{Active, Box8, PrimitiveRef};
use super::tree::{self, Range, Splitter, Subtree, Top, half};
use crate::level::HostLevel;
use crate::parallel::{HelperThreads, map};
use base::alloc::OutOfMemory;

/// Number of references from which all threads split a range.
const PARALLEL: usize = 32 << 10;
/// Number of references that one item of work bins or moves.
const CHUNK: usize = 8 << 10;

/// Splits ranges of two lists of references.
struct Sah<'a> {
    sides: [&'a mut [PrimitiveRef]; 2],
    /// Position of the lists' first reference.
    origin: u32,
    leaf_size: u32,
    threads: HelperThreads<'a>,
    level: HostLevel,
    bins: Bins,
}

/// A candidate: where to split, how many references are on the left, and the bounds of both parts.
struct Candidate {
    split: Split,
    left_count: u32,
    bounds: [Box8; 2],
}

impl Sah<'_> {
    fn references(&self, range: &Range) -> &[PrimitiveRef] {
        &self.sides[range.side as usize & 1][(range.first - self.origin) as usize..][..range.count as usize]
    }

    /// Returns the best candidate; `None` if all references are in one bin on every axis, or all
    /// costs are infinite.
    fn find(&self, mapping: &Mapping, count: u32) -> Option<Candidate> {
        let leaves = |count: u32| count.div_ceil(self.leaf_size) as f32;
        let mut best: Option<Candidate> = None;
        let mut best_cost = f32::INFINITY;
        for axis in 0..3 {
            let (bounds, counts) = (&self.bins.bounds[axis], &self.bins.counts[axis]);
            let mut right = [Box8::EMPTY; MAX_BINS];
            let mut union = Box8::EMPTY;
            for bin in (1..mapping.bins).rev() {
                union = union.union(bounds[bin]);
                right[bin] = union;
            }
            let (mut union, mut left_count) = (Box8::EMPTY, 0);
            for bin in 1..mapping.bins {
                union = union.union(bounds[bin - 1]);
                left_count += counts[bin - 1];
                let right_count = count - left_count;
                // Two odd parts of an even number could have one leaf more than `max_leaves`.
                let too_many = self.leaf_size > 1 && count.is_multiple_of(2) && !left_count.is_multiple_of(2);
                if left_count == 0 || right_count == 0 || too_many {
                    continue;
                }
                let cost = union.half_area() * leaves(left_count) + right[bin].half_area() * leaves(right_count);
                if cost < best_cost {
                    best_cost = cost;
                    let split = Split { axis, bin: bin as u32 };
                    best = Some(Candidate { split, left_count, bounds: [union, right[bin]] });
                }
            }
        }
        best
    }

    /// Splits a large range by all threads; `None` if there is no candidate.
    fn split_in_parallel(&mut self, range: &Range, mapping: &Mapping) -> Option<[Range; 2]> {
        let (first, count) = ((range.first - self.origin) as usize, range.count as usize);
        let level = self.level;
        let chunk_bins = map(self.threads, self.references(range).chunks(CHUNK).collect(), |chunk| {
            let mut bins = Box::new(Bins::EMPTY);
            kernels::bin(level, chunk, mapping, &mut bins);
            bins
        });
        self.bins.clear(MAX_BINS);
        chunk_bins.iter().for_each(|bins| self.bins.add(bins));
        let candidate = self.find(mapping, range.count)?;
        let [a, b] = &mut self.sides;
        let (from, to) = if range.side == 0 { (&**a, &mut **b) } else { (&**b, &mut **a) };
        let from = &from[first..first + count];
        let (mut left, mut right) = to[first..first + count].split_at_mut(candidate.left_count as usize);
        let mut moves = Vec::new();
        for (chunk, bins) in from.chunks(CHUNK).zip(&chunk_bins) {
            let on_left =
                bins.counts[candidate.split.axis][..candidate.split.bin as usize].iter().sum::<u32>() as usize;
            let (own_left, rest_left) = left.split_at_mut(on_left);
            let (own_right, rest_right) = right.split_at_mut(chunk.len() - on_left);
            (left, right) = (rest_left, rest_right);
            moves.push((chunk, [own_left, own_right]));
        }
        let parts =
            map(self.threads, moves, |(chunk, to)| kernels::scatter(level, chunk, mapping, candidate.split, to));
        let mut centroids = [Box8::EMPTY; 2];
        for part in parts {
            centroids = [centroids[0].union(part[0]), centroids[1].union(part[1])];
        }
        Some(split_range(range, &candidate, centroids))
    }
}

fn split_range(range: &Range, candidate: &Candidate, centroids: [Box8; 2]) -> [Range; 2] {
    let ([left, right], side) = (centroids, range.side ^ 1);
    let count = candidate.left_count;
    [
        Range { count, side, bounds: candidate.bounds[0], centroids: left, ..*range },
        Range {
            first: range.first + count,
            count: range.count - count,
            side,
            bounds: candidate.bounds[1],
            centroids: right,
        },
    ]
}

impl Splitter for Sah<'_> {
    fn priority(&self, range: &Range) -> f32 {
        range.bounds.half_area()
    }

    fn split(&mut self, range: &Range) -> [Range; 2] {
        let bins = (4 + range.count as usize / 16).min(MAX_BINS);
        let mapping = Mapping::new(&range.centroids, bins);
        if self.threads.is_some() && range.count as usize >= PARALLEL {
            return self.split_in_parallel(range, &mapping).unwrap_or_else(|| self.halve(range));
        }
        let mut own = core::mem::replace(&mut self.bins, Bins::EMPTY);
        own.clear(bins);
        kernels::bin(self.level, self.references(range), &mapping, &mut own);
        self.bins = own;
        let Some(candidate) = self.find(&mapping, range.count) else { return self.halve(range) };
        let (first, count) = ((range.first - self.origin) as usize, range.count as usize);
        let [a, b] = &mut self.sides;
        let (from, to) = if range.side == 0 { (&**a, &mut **b) } else { (&**b, &mut **a) };
        let (from, to) = (&from[first..first + count], &mut to[first..first + count]);
        let centroids =
            kernels::partition(self.level, from, &mapping, candidate.split, candidate.left_count as usize, to);
        split_range(range, &candidate, centroids)
    }

    fn halve(&mut self, range: &Range) -> [Range; 2] {
        let left_count = half(range.count, self.leaf_size);
        let (left, right) = self.references(range).split_at(left_count as usize);
        let [[left_bounds, left_centroids], [right_bounds, right_centroids]] =
            [left, right].map(|part| kernels::bounds(self.level, part));
        [
            Range { count: left_count, bounds: left_bounds, centroids: left_centroids, ..*range },
            Range {
                first: range.first + left_count,
                count: range.count - left_count,
                bounds: right_bounds,
                centroids: right_centroids,
                ..*range
            },
        ]
    }
}

/// Makes the tree of the references in the first list, using the second one.
pub fn build(
    references: &mut [PrimitiveRef],
    other: &mut [PrimitiveRef],
    active: &Active,
    leaf_size: u32,
    (threads, level): (HelperThreads, HostLevel),
) -> Result<(Top, Vec<Subtree>), OutOfMemory> {
    let count = references.len() as u32;
    let range = Range { first: 0, count, side: 0, bounds: active.bounds, centroids: active.centroids };
    let sides = [&mut *references, &mut *other];
    let top =
        tree::make_top(&mut Sah { sides, origin: 0, leaf_size, threads, level, bins: Bins::EMPTY }, &range, leaf_size)?;
    // Each subtree gets its part of both lists.
    let mut order: Vec<usize> = (0..top.tasks.len()).collect();
    order.sort_unstable_by_key(|&task| top.tasks[task].range.first);
    let mut parts: Vec<Option<[&mut [PrimitiveRef]; 2]>> = top.tasks.iter().map(|_| None).collect();
    let (mut left, mut right, mut at) = (references, other, 0);
    for task in order {
        let range = &top.tasks[task].range;
        let skipped = (range.first - at) as usize;
        let (own, rest) = left.split_at_mut(skipped).1.split_at_mut(range.count as usize);
        let (own_other, rest_other) = right.split_at_mut(skipped).1.split_at_mut(range.count as usize);
        parts[task] = Some([own, own_other]);
        (left, right, at) = (rest, rest_other, range.first + range.count);
    }
    let work: Vec<_> = top.tasks.iter().zip(parts).collect();
    let subtrees = map(threads, work, |(task, sides)| {
        let Some(sides) = sides else { return Ok(Subtree::default()) };
        let mut splitter = Sah { sides, origin: task.range.first, leaf_size, threads: None, level, bins: Bins::EMPTY };
        tree::make_subtree(&mut splitter, task, leaf_size)
    });
    let subtrees = subtrees.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((top, subtrees))
}
