//! Splits by Morton codes: centres of boxes in the order of a space-filling curve, split where the
//! highest bit of the codes changes.

#![forbid(unsafe_code)]

use super::references::{Active, Box8, PrimitiveRef, centroid};
use super::request::ensure;
use super::tree::{self, Range, Splitter, Subtree, Top, half};
use crate::layout::WIDTH;
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;

/// Code of a reference, 21 bits for each axis, and its position.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    code: u64,
    /// Position of the reference.
    pub index: u32,
}

/// Number of references whose keys one item of work makes and sorts.
const CHUNK: usize = 64 << 10;

/// Spreads 21 bits to every third bit.
#[inline(always)]
fn spread(value: u32) -> u64 {
    let mut bits = u64::from(value) & 0x1f_ffff;
    bits = (bits | bits << 32) & 0x001f_0000_0000_ffff;
    bits = (bits | bits << 16) & 0x001f_0000_ff00_00ff;
    bits = (bits | bits << 8) & 0x100f_00f0_0f00_f00f;
    bits = (bits | bits << 4) & 0x10c3_0c30_c30c_30c3;
    (bits | bits << 2) & 0x1249_2492_4924_9249
}

/// Returns the key of a reference.
#[inline(always)]
fn key(reference: &PrimitiveRef, index: u32, base: [f32; 3], scale: f32) -> Key {
    let centre = centroid(reference);
    let [x, y, z] = [0, 1, 2].map(|axis| {
        let position = (centre[axis] - base[axis]) * scale;
        spread(if position < 2_097_151.0 { position as u32 } else { 2_097_151 })
    });
    Key { code: x << 2 | y << 1 | z, index }
}

/// Number of bits of a digit of the sort.
const DIGIT: u32 = 11;
const DIGITS: usize = 6;

/// Sorts keys by their codes without changing the order of equal ones; `other` is as long.
fn sort(keys: &mut [Key], other: &mut [Key]) -> Result<(), OutOfMemory> {
    let mut counts = base::alloc::filled([0u32; 1 << DIGIT], DIGITS)?;
    let digit = |key: &Key, pass: usize| (key.code >> (pass as u32 * DIGIT)) as usize & ((1 << DIGIT) - 1);
    for key in &*keys {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, pass)] += 1;
        }
    }
    let (mut from, mut to, mut swapped) = (keys, other, false);
    for (pass, counts) in counts.iter_mut().enumerate() {
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            next += core::mem::replace(count, next);
        }
        for key in &*from {
            let place = &mut counts[digit(key, pass)];
            to[*place as usize] = *key;
            *place += 1;
        }
        (from, to, swapped) = (to, from, !swapped);
    }
    if swapped {
        to.copy_from_slice(from);
    }
    Ok(())
}

/// Merges two sorted lists into one.
fn merge(left: &[Key], right: &[Key], to: &mut [Key]) {
    let (mut l, mut r) = (0, 0);
    for place in to {
        let take_left = r == right.len() || l < left.len() && left[l] <= right[r];
        *place = if take_left { left[l] } else { right[r] };
        l += usize::from(take_left);
        r += usize::from(!take_left);
    }
}

/// Makes the sorted keys of all references in `keys`.
fn sorted_keys(
    references: &[PrimitiveRef],
    active: &Active,
    workers: &Workers,
    keys: &mut [Key],
    other: &mut [Key],
) -> Result<(), WorkError> {
    let base = [0, 1, 2].map(|axis| active.centroids.min(axis));
    let extent = (0..3).map(|axis| active.centroids.max(axis) - base[axis]).fold(0.0, f32::max);
    let scale = if extent > 0.0 { 2_097_152.0 / extent } else { 0.0 };
    let chunk = if workers.threads.is_some() { CHUNK } else { references.len().max(1) };
    let work = references.chunks(chunk).zip(keys.chunks_mut(chunk)).zip(other.chunks_mut(chunk)).enumerate();
    workers.map(base::alloc::collect(work)?, |(i, ((references, keys), other))| {
        for (position, (reference, to)) in references.iter().zip(&mut *keys).enumerate() {
            *to = key(reference, (i * chunk + position) as u32, base, scale);
        }
        Ok(sort(keys, other)?)
    })?;
    let (mut from, mut to, mut swapped, mut length) = (keys, other, false, chunk);
    while length < from.len() {
        let work = base::alloc::collect(from.chunks(2 * length).zip(to.chunks_mut(2 * length)))?;
        workers.map(work, |(from, to)| {
            let (left, right) = from.split_at(length.min(from.len()));
            merge(left, right, to);
            Ok(())
        })?;
        (from, to, swapped, length) = (to, from, !swapped, 2 * length);
    }
    if swapped {
        to.copy_from_slice(from);
    }
    Ok(())
}

/// Splits ranges of sorted keys.
struct Morton<'a> {
    keys: &'a [Key],
    leaf_size: u32,
    /// True if ranges are halved wherever the codes change.
    only_halves: bool,
}

impl Morton<'_> {
    fn split_at(&self, range: &Range, left: u32) -> [Range; 2] {
        let right = Range { first: range.first + left, count: range.count - left, ..*range };
        [Range { count: left, ..*range }, right]
    }
}

impl Splitter for Morton<'_> {
    fn priority(&self, range: &Range) -> f32 {
        range.count as f32
    }

    fn split(&mut self, range: &Range) -> Result<[Range; 2], WorkError> {
        let keys = &self.keys[range.first as usize..][..range.count as usize];
        let differing = keys[0].code ^ keys[keys.len() - 1].code;
        if differing == 0 || self.only_halves {
            return Ok(self.halve(range));
        }
        let bit = 1 << (63 - differing.leading_zeros());
        let left = keys.partition_point(|key| key.code & bit == 0) as u32;
        Ok(self.split_at(range, left))
    }

    fn halve(&mut self, range: &Range) -> [Range; 2] {
        self.split_at(range, half(range.count, self.leaf_size))
    }
}

/// Makes the tree of references; positions in leaves are those of the sorted keys, which the first
/// list has afterwards.
pub fn build(
    references: &[PrimitiveRef],
    [keys, other]: [&mut Vec<Key>; 2],
    active: &Active,
    leaf_size: u32,
    workers: &Workers,
) -> Result<(Top, Vec<Subtree>), WorkError> {
    let count = references.len();
    ensure(keys, count)?;
    ensure(other, count)?;
    let keys = &mut keys[..count];
    sorted_keys(references, active, workers, keys, &mut other[..count])?;
    let (first, bounds) = (0, Box8::EMPTY);
    let range = Range { first, count: count as u32, side: 0, bounds, centroids: bounds };
    let keys = &*keys;
    let tree = split(keys, &range, leaf_size, false, workers)?;
    let leaves = |subtrees: &[Subtree]| subtrees.iter().map(|subtree| subtree.leaves.len()).sum::<usize>();
    if leaf_size == 1 || leaves(&tree.1) + WIDTH * tree.0.nodes.len() <= count / 2 {
        return Ok(tree);
    }
    // There are many leaves of one primitive. Halves keep the bound of `max_leaves`.
    split(keys, &range, leaf_size, true, workers)
}

fn split(
    keys: &[Key],
    range: &Range,
    leaf_size: u32,
    only_halves: bool,
    workers: &Workers,
) -> Result<(Top, Vec<Subtree>), WorkError> {
    let top = tree::make_top(&mut Morton { keys, leaf_size, only_halves }, range, leaf_size)?;
    let subtrees = workers.map(base::alloc::collect(top.tasks.iter())?, |task| {
        tree::make_subtree(&mut Morton { keys, leaf_size, only_halves }, task, leaf_size)
    })?;
    Ok((top, subtrees))
}
