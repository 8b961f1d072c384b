//! Splits by Morton codes: centres of boxes in the order of a space-filling curve, split where the
//! highest bit of the codes changes.

use super::references::{Active, PrimitiveRef, centroid};
use super::request::ensure;
use super::tree::{self, Range, SUBTREE, Splitter, Subtree, Task, Top, half};
use crate::kernels::{self, Kernel};
use crate::layout::WIDTH;
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;
use base::host::Host;

/// Code of a reference in the upper bits, and its position in the lower ones. Keys are different
/// from each other, so there is one order.
pub type Key = u64;

/// The parts of a key.
#[derive(Clone, Copy)]
pub struct KeyFormat {
    /// Number of bits of the position.
    index_bits: u32,
    /// Number of bits of a code on each axis.
    axis_bits: u32,
}

impl KeyFormat {
    /// Returns the format for a number of references.
    pub fn new(references: usize) -> KeyFormat {
        let index_bits = usize::BITS - references.saturating_sub(1).leading_zeros();
        KeyFormat { index_bits, axis_bits: ((64 - index_bits) / 3).min(MAX_AXIS_BITS) }
    }

    /// Returns the position of a key's reference.
    #[inline(always)]
    pub fn index(self, key: Key) -> usize {
        (key & ((1 << self.index_bits) - 1)) as usize
    }
}

/// Largest number of bits of a code on each axis.
const MAX_AXIS_BITS: u32 = 16;

/// Number of references whose keys one item of work makes and sorts.
const CHUNK: usize = 64 << 10;

/// The function from centres to codes.
#[derive(Clone, Copy)]
struct Mapping {
    base: [f32; 3],
    scale: f32,
    format: KeyFormat,
}

impl Mapping {
    fn new(active: &Active, format: KeyFormat) -> Mapping {
        let base = [0, 1, 2].map(|axis| active.centroids.min(axis));
        let extent = (0..3).map(|axis| active.centroids.max(axis) - base[axis]).fold(0.0, f32::max);
        let cells = (1u32 << format.axis_bits) as f32;
        Mapping { base, scale: if extent > 0.0 { (cells / extent).min(f32::MAX) } else { 0.0 }, format }
    }

    /// Returns the key of a reference.
    #[inline(always)]
    fn key(&self, reference: &PrimitiveRef, index: usize) -> Key {
        let centre = centroid(reference);
        let last = (1u32 << self.format.axis_bits) - 1;
        let mut bits = [0u64; 4];
        for axis in 0..3 {
            let position = (centre[axis] - self.base[axis]) * self.scale;
            bits[axis] = u64::from(if position < last as f32 { position as u32 } else { last });
        }
        // Each bit moves to the third of its place.
        for (by, mask) in SPREAD {
            bits = bits.map(|bits| (bits | bits << by) & mask);
        }
        (bits[0] << 2 | bits[1] << 1 | bits[2]) << self.format.index_bits | index as u64
    }
}

/// Shifts and masks that move 16 bits to every third bit.
const SPREAD: [(u32, u64); 4] =
    [(16, 0xff00_00ff), (8, 0x00f0_0f00_f00f), (4, 0x0c30_c30c_30c3), (2, 0x2492_4924_9249)];

/// Number of bits of a digit of the sort.
const DIGIT: u32 = 9;
/// Largest number of digits of a code.
const DIGITS: usize = (3 * MAX_AXIS_BITS).div_ceil(DIGIT) as usize;
/// Number of keys up to which they are compared with each other.
const FEW: usize = 512;

/// Makes the keys of consecutive references, and sorts them.
struct SortChunk<'a> {
    references: &'a [PrimitiveRef],
    /// Position of the first reference.
    first: usize,
    mapping: Mapping,
    keys: &'a mut [Key],
    other: &'a mut [Key],
}

impl Kernel for SortChunk<'_> {
    type Output = ();

    #[inline(always)]
    fn run<H: Host>(self) {
        let SortChunk { references, first, mapping, keys, other } = self;
        for (i, (reference, key)) in references.iter().zip(&mut *keys).enumerate() {
            *key = mapping.key(reference, first + i);
        }
        if keys.len() <= FEW {
            keys.sort_unstable();
        } else {
            sort_by_digits(keys, other, mapping.format);
        }
    }
}

/// Sorts keys whose positions ascend by the digits of their codes.
#[inline(always)]
fn sort_by_digits(keys: &mut [Key], other: &mut [Key], format: KeyFormat) {
    let mut counts = [[0u32; 1 << DIGIT]; DIGITS];
    let digit =
        |key: Key, pass: usize| (key >> (format.index_bits + pass as u32 * DIGIT)) as usize & ((1 << DIGIT) - 1);
    let passes = (3 * format.axis_bits).div_ceil(DIGIT) as usize;
    let counts = &mut counts[..passes.min(DIGITS)];
    for &key in &*keys {
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
        for &key in &*from {
            let place = &mut counts[digit(key, pass)];
            to[*place as usize] = key;
            *place += 1;
        }
        (from, to, swapped) = (to, from, !swapped);
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

/// Merges two sorted lists into one.
fn merge(left: &[Key], right: &[Key], to: &mut [Key]) {
    let (mut l, mut r) = (0, 0);
    for place in to {
        let take_left = r == right.len() || l < left.len() && left[l] < right[r];
        *place = if take_left { left[l] } else { right[r] };
        l += usize::from(take_left);
        r += usize::from(!take_left);
    }
}

/// A part of two sorted lists, and the place of both together.
type Merge<'a> = (&'a [Key], &'a [Key], &'a mut [Key]);

/// Appends the parts of the merge of two sorted lists: about [`CHUNK`] keys each.
fn divide_merge<'a>(
    from: &'a [Key],
    middle: usize,
    to: &'a mut [Key],
    work: &mut Vec<Merge<'a>>,
) -> Result<(), OutOfMemory> {
    let (mut left, mut right) = from.split_at(middle.min(from.len()));
    let mut to = to;
    while left.len() > CHUNK / 2 {
        let (own_left, rest_left) = left.split_at(CHUNK / 2);
        let behind = rest_left[0];
        let (own_right, rest_right) = right.split_at(right.partition_point(|&key| key < behind));
        let (own, rest) = to.split_at_mut(own_left.len() + own_right.len());
        base::alloc::push(work, (own_left, own_right, own))?;
        (left, right, to) = (rest_left, rest_right, rest);
    }
    base::alloc::push(work, (left, right, to))
}

/// Makes the sorted keys of all references in `keys`.
fn sorted_keys(
    references: &[PrimitiveRef],
    mapping: Mapping,
    workers: &Workers,
    keys: &mut [Key],
    other: &mut [Key],
) -> Result<(), WorkError> {
    let chunk = if workers.threads.is_some() { CHUNK } else { references.len().max(1) };
    let lists = references.chunks(chunk).zip(keys.chunks_mut(chunk)).zip(other.chunks_mut(chunk)).enumerate();
    workers.map(base::alloc::collect(lists)?, |(i, ((references, keys), other))| {
        kernels::run(workers.level, SortChunk { references, first: i * chunk, mapping, keys, other });
        Ok(())
    })?;
    let (mut from, mut to, mut swapped, mut length) = (keys, other, false, chunk);
    while length < from.len() {
        let mut work = Vec::new();
        for (from, to) in from.chunks(2 * length).zip(to.chunks_mut(2 * length)) {
            divide_merge(from, length, to, &mut work)?;
        }
        workers.map(work, |(left, right, to)| {
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
    format: KeyFormat,
    leaf_size: u32,
    /// True if ranges are halved wherever the codes change.
    only_halves: bool,
}

impl Morton<'_> {
    #[inline(always)]
    fn split_at(&self, range: &Range<()>, left: u32) -> [Range<()>; 2] {
        let right = Range { first: range.first + left, count: range.count - left, ..*range };
        [Range { count: left, ..*range }, right]
    }
}

impl Splitter for Morton<'_> {
    type Boxes = ();

    #[inline(always)]
    fn priority(&self, range: &Range<()>) -> f32 {
        range.count as f32
    }

    #[inline(always)]
    fn split_at_once(&mut self, _: &Range<()>, _: u32) -> Result<Option<tree::Children<()>>, WorkError> {
        Ok(None)
    }

    #[inline(always)]
    fn split(&mut self, range: &Range<()>) -> Result<[Range<()>; 2], WorkError> {
        let keys = &self.keys[range.first as usize..][..range.count as usize];
        let differing = (keys[0] ^ keys[keys.len() - 1]) >> self.format.index_bits;
        // Two full leaves are better than three.
        if differing == 0 || self.only_halves || range.count <= 2 * self.leaf_size {
            return Ok(self.halve(range));
        }
        let bit = 1 << (63 - differing.leading_zeros() + self.format.index_bits);
        let left = keys.partition_point(|&key| key & bit == 0) as u32;
        Ok(self.split_at(range, left))
    }

    #[inline(always)]
    fn halve(&mut self, range: &Range<()>) -> [Range<()>; 2] {
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
    let format = KeyFormat::new(count);
    sorted_keys(references, Mapping::new(active, format), workers, keys, &mut other[..count])?;
    let mut splitter = Morton { keys, format, leaf_size, only_halves: false };
    let tree = splitter.make_tree(workers)?;
    let leaves = |subtrees: &[Subtree]| subtrees.iter().map(|subtree| subtree.leaves.len()).sum::<usize>();
    if leaf_size == 1 || leaves(&tree.1) + WIDTH * tree.0.nodes.len() <= count / 2 {
        return Ok(tree);
    }
    // There are many leaves of one primitive. Halves keep the bound of `max_leaves`.
    splitter.only_halves = true;
    splitter.make_tree(workers)
}

impl Morton<'_> {
    fn make_tree(&self, workers: &Workers) -> Result<(Top, Vec<Subtree>), WorkError> {
        let range = Range { first: 0, count: self.keys.len() as u32, side: 0, boxes: () };
        let task = Task { range, depth: 0 };
        let (top, tasks) = tree::make_top(&mut Morton { ..*self }, &task, self.leaf_size, SUBTREE)?;
        let subtrees = workers.map(tasks, |task| tree::make_subtree(&mut Morton { ..*self }, &task, self.leaf_size))?;
        Ok((top, subtrees))
    }
}
