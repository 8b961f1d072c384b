//! Splits by the surface area heuristic over bins.
//!
//! The expected cost of a split is the sum of both parts' surface areas, times their numbers of
//! leaves. Candidates are the borders of bins of equal width on the three axes; of equal costs the
//! first one wins. References move between two lists, which keeps their order. Ranges above the
//! subtrees are split by a `grid` as long as that is fine enough, and small ones by a `sweep`.

#![forbid(unsafe_code)]

use super::bins::{self, ALL_AXES, Bins, Candidate, MAX_BINS, Mapping, Split};
use super::grid::{Division, Grid};
use super::kernels::{self, Kernel};
use super::references::{Active, Box8, Boxes, PrimitiveRef};
use super::sweep;
use super::tree::{self, SUBTREE, Splitter, Subtree, Task, Top, TopAndTasks, half};
use crate::layout::WIDTH;
use crate::level::HostLevel;
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;
use base::host::Host;
use core::marker::PhantomData;

/// Largest number of references of a range that one thread splits; larger ones are split in chunks,
/// by all threads.
const LARGE: usize = 32 << 10;
/// Number of references that one item of work bins or moves.
const CHUNK: usize = 8 << 10;

type Range = tree::Range<Boxes>;

/// Splits ranges of two lists of references with the vectors of a level.
struct Sah<'a, H> {
    sides: [&'a mut [PrimitiveRef]; 2],
    /// Position of the lists' first reference.
    origin: u32,
    leaf_shift: u32,
    /// The means to split large ranges; `None` if there are no large ones.
    workers: Option<&'a Workers<'a>>,
    bins: [Bins; 2],
    /// The grid of large ranges, once there was one.
    grid: Option<Grid>,
    level: HostLevel,
    host: PhantomData<H>,
}

/// Makes bins of a part of a large range.
struct BinChunk<'a> {
    references: &'a [PrimitiveRef],
    mapping: &'a Mapping,
}

impl Kernel for BinChunk<'_> {
    type Output = Bins;

    #[inline(always)]
    fn run<H: Host>(self) -> Bins {
        let mut bins = [Bins::EMPTY, Bins::EMPTY];
        bins::bin::<H>(self.references, self.mapping, &mut bins);
        let [bins, _] = bins;
        bins
    }
}

/// Divides a part of a large range.
struct PartitionChunk<'a> {
    references: &'a [PrimitiveRef],
    mapping: &'a Mapping,
    split: Split,
    to: [&'a mut [PrimitiveRef]; 2],
}

impl Kernel for PartitionChunk<'_> {
    type Output = [Box8; 2];

    #[inline(always)]
    fn run<H: Host>(self) -> [Box8; 2] {
        bins::partition::<H>(self.references, self.mapping, self.split, self.to)
    }
}

impl<'a, H: Host> Sah<'a, H> {
    #[inline(always)]
    fn new(sides: [&'a mut [PrimitiveRef]; 2], origin: u32, leaf_size: u32, level: HostLevel) -> Self {
        let bins = [Bins::EMPTY, Bins::EMPTY];
        Sah { sides, origin, leaf_shift: leaf_size.ilog2(), workers: None, bins, grid: None, level, host: PhantomData }
    }

    #[inline(always)]
    fn references(&self, range: &Range) -> &[PrimitiveRef] {
        &self.sides[range.side as usize & 1][(range.first - self.origin) as usize..][..range.count as usize]
    }

    /// Splits a small range.
    #[inline(always)]
    fn split_small(&mut self, range: &Range) -> [Range; 2] {
        let leaf_shift = self.leaf_shift;
        let (from, to) = both_sides(&mut self.sides, self.origin, range);
        match sweep::split::<H>(from, leaf_shift, &mut self.bins[0], to) {
            Some(candidate) => split_range(range, &candidate, [Box8::EMPTY; 2]),
            None => self.halve(range),
        }
    }

    /// Splits a large range by all threads; `None` if there is no candidate.
    fn split_in_chunks(
        &mut self,
        range: &Range,
        mapping: &Mapping,
        workers: &Workers,
    ) -> Result<Option<[Range; 2]>, WorkError> {
        let level = workers.level;
        let chunks = base::alloc::collect(self.references(range).chunks(CHUNK))?;
        let chunk_bins = workers.map(chunks, |references| Ok(kernels::run(level, BinChunk { references, mapping })))?;
        let mut all = Bins::EMPTY;
        chunk_bins.iter().for_each(|bins| all.add(bins, MAX_BINS));
        let find = Find { bins: &all, mapping, count: range.count, leaf_shift: self.leaf_shift };
        let Some(candidate) = kernels::run(level, find) else { return Ok(None) };
        let (from, to) = both_sides(&mut self.sides, self.origin, range);
        let (mut left, mut right) = to.split_at_mut(candidate.left_count as usize);
        let mut moves = Vec::new();
        base::alloc::reserve(&mut moves, chunk_bins.len())?;
        let split = candidate.split;
        for (references, bins) in from.chunks(CHUNK).zip(&chunk_bins) {
            let on_left = bins.counts[split.axis][..split.bin].iter().sum::<u32>() as usize;
            let (own_left, rest_left) = left.split_at_mut(on_left);
            let (own_right, rest_right) = right.split_at_mut(references.len() - on_left);
            (left, right) = (rest_left, rest_right);
            moves.push(PartitionChunk { references, mapping, split, to: [own_left, own_right] });
        }
        let parts = workers.map(moves, |kernel| Ok(kernels::run(level, kernel)))?;
        let mut centroids = [Box8::EMPTY; 2];
        for part in parts {
            centroids = [centroids[0].union(part[0]), centroids[1].union(part[1])];
        }
        Ok(Some(split_range(range, &candidate, centroids)))
    }
}

/// Finds the best candidate of a large range.
struct Find<'a> {
    bins: &'a Bins,
    mapping: &'a Mapping,
    count: u32,
    leaf_shift: u32,
}

impl Kernel for Find<'_> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<H: Host>(self) -> Option<Candidate> {
        bins::find::<H>(self.bins, self.mapping.bins, ALL_AXES, self.count, self.leaf_shift)
    }
}

/// Returns the references of a range of lists that begin at a position, and their places in the
/// other list.
#[inline(always)]
fn both_sides<'a>(
    [a, b]: &'a mut [&mut [PrimitiveRef]; 2],
    origin: u32,
    range: &Range,
) -> (&'a [PrimitiveRef], &'a mut [PrimitiveRef]) {
    let (first, count) = ((range.first - origin) as usize, range.count as usize);
    let (from, to) = if range.side == 0 { (&**a, &mut **b) } else { (&**b, &mut **a) };
    (&from[first..first + count], &mut to[first..first + count])
}

#[inline(always)]
fn split_range(range: &Range, candidate: &Candidate, centroids: [Box8; 2]) -> [Range; 2] {
    let ([left, right], side) = (centroids, range.side ^ 1);
    let count = candidate.left_count;
    let [left_bounds, right_bounds] = candidate.bounds;
    [
        Range { first: range.first, count, side, boxes: Boxes { bounds: left_bounds, centroids: left } },
        Range {
            first: range.first + count,
            count: range.count - count,
            side,
            boxes: Boxes { bounds: right_bounds, centroids: right },
        },
    ]
}

impl<H: Host> Splitter for Sah<'_, H> {
    type Boxes = Boxes;

    #[inline(always)]
    fn priority(&self, range: &Range) -> f32 {
        range.boxes.bounds.half_area()
    }

    #[inline(always)]
    fn split_at_once(&mut self, range: &Range, smallest: u32) -> Result<Option<tree::Children<Boxes>>, WorkError> {
        if range.count <= SUBTREE {
            return Ok(None);
        }
        if let Some(workers) = self.workers {
            workers.check()?;
        }
        let mut grid = match self.grid.take() {
            Some(grid) => grid,
            None => Grid::new()?,
        };
        let (workers, leaf_shift, level) = (self.workers, self.leaf_shift, self.level);
        let (from, to) = both_sides(&mut self.sides, self.origin, range);
        let division = Division { from, to, boxes: range.boxes, leaf_shift, smallest, level };
        let found = division.split::<H>(&mut grid, &mut self.bins[0], workers)?;
        self.grid = Some(grid);
        let Some((parts, count)) = found else { return Ok(None) };
        let (mut ranges, mut first) = ([*range; WIDTH], range.first);
        for (to, part) in ranges[..count].iter_mut().zip(parts) {
            *to = Range { first, count: part.count, side: range.side ^ 1, boxes: part.boxes };
            first += part.count;
        }
        Ok(Some((ranges, count)))
    }

    #[inline(always)]
    fn split(&mut self, range: &Range) -> Result<[Range; 2], WorkError> {
        if range.count as usize <= sweep::MAX_REFERENCES {
            return Ok(self.split_small(range));
        }
        let bins = bins::bins_of(range.count);
        let mapping = Mapping::new(&range.boxes.centroids, bins);
        if let Some(workers) = self.workers {
            workers.check()?;
            if range.count as usize > LARGE {
                let split = self.split_in_chunks(range, &mapping, workers)?;
                return Ok(split.unwrap_or_else(|| self.halve(range)));
            }
        }
        let references = &self.sides[range.side as usize & 1][(range.first - self.origin) as usize..];
        bins::bin::<H>(&references[..range.count as usize], &mapping, &mut self.bins);
        let Some(candidate) = bins::find::<H>(&self.bins[0], bins, ALL_AXES, range.count, self.leaf_shift) else {
            return Ok(self.halve(range));
        };
        let (from, to) = both_sides(&mut self.sides, self.origin, range);
        let (left, right) = to.split_at_mut(candidate.left_count as usize);
        let centroids = bins::partition::<H>(from, &mapping, candidate.split, [left, right]);
        Ok(split_range(range, &candidate, centroids))
    }

    fn halve(&mut self, range: &Range) -> [Range; 2] {
        let left_count = half(range.count, 1 << self.leaf_shift);
        let (left, right) = self.references(range).split_at(left_count as usize);
        let [left, right] = [left, right].map(|part| {
            let [bounds, centroids] = kernels::run(self.level, BoundsOf(part));
            Boxes { bounds, centroids }
        });
        let (first, count) = (range.first + left_count, range.count - left_count);
        [Range { count: left_count, boxes: left, ..*range }, Range { first, count, boxes: right, ..*range }]
    }
}

/// Returns the bounds of references, and those of their centres.
struct BoundsOf<'a>(&'a [PrimitiveRef]);

impl Kernel for BoundsOf<'_> {
    type Output = [Box8; 2];

    #[inline(always)]
    fn run<H: Host>(self) -> [Box8; 2] {
        bins::bounds::<H>(self.0)
    }
}

/// Makes the nodes above the subtrees of up to `limit` references.
struct MakeTop<'a> {
    sides: [&'a mut [PrimitiveRef]; 2],
    task: Task<Boxes>,
    leaf_size: u32,
    limit: u32,
    workers: &'a Workers<'a>,
}

impl Kernel for MakeTop<'_> {
    type Output = Result<TopAndTasks<Boxes>, WorkError>;

    #[inline(always)]
    fn run<H: Host>(self) -> Self::Output {
        let MakeTop { sides, task, leaf_size, limit, workers } = self;
        let mut splitter = Sah::<H>::new(sides, task.range.first, leaf_size, workers.level);
        splitter.workers = Some(workers);
        tree::make_top(&mut splitter, &task, leaf_size, limit)
    }
}

/// Makes a subtree.
struct MakeSubtree<'a> {
    sides: [&'a mut [PrimitiveRef]; 2],
    task: &'a Task<Boxes>,
    leaf_size: u32,
    level: HostLevel,
}

impl Kernel for MakeSubtree<'_> {
    type Output = Result<Subtree, WorkError>;

    #[inline(always)]
    fn run<H: Host>(self) -> Self::Output {
        let mut splitter = Sah::<H>::new(self.sides, self.task.range.first, self.leaf_size, self.level);
        tree::make_subtree(&mut splitter, self.task, self.leaf_size)
    }
}

/// The parts of both lists that ranges have.
type Sides<'a> = [&'a mut [PrimitiveRef]; 2];

/// Returns tasks, in their order, with their parts of both lists.
fn divide<'a>(
    [mut left, mut right]: Sides<'a>,
    tasks: Vec<Task<Boxes>>,
) -> Result<Vec<(Task<Boxes>, Sides<'a>)>, OutOfMemory> {
    let mut order: Vec<usize> = base::alloc::collect(0..tasks.len())?;
    order.sort_unstable_by_key(|&task| tasks[task].range.first);
    let mut parts: Vec<(Task<Boxes>, Sides)> = base::alloc::collect(tasks.into_iter().map(|task| {
        let none: Sides = [&mut [], &mut []];
        (task, none)
    }))?;
    let mut at = 0;
    for i in order {
        let Task { range: Range { first, count, .. }, .. } = parts[i].0;
        let (own, rest) = left.split_at_mut((first - at) as usize).1.split_at_mut(count as usize);
        let (own_other, rest_other) = right.split_at_mut((first - at) as usize).1.split_at_mut(count as usize);
        parts[i].1 = [own, own_other];
        (left, right, at) = (rest, rest_other, first + count);
    }
    Ok(parts)
}

/// Makes the tree of the references in the first list, using the second one.
pub fn build(
    references: &mut [PrimitiveRef],
    other: &mut [PrimitiveRef],
    active: &Active,
    leaf_size: u32,
    workers: &Workers,
) -> Result<(Top, Vec<Subtree>), WorkError> {
    let count = references.len() as u32;
    let boxes = Boxes { bounds: active.bounds, centroids: active.centroids };
    let task = Task { range: Range { first: 0, count, side: 0, boxes }, depth: 0 };
    let sides = [&mut *references, &mut *other];
    let level = workers.level;
    // Large ranges are split by all threads, and those that remain side by side.
    let limit = LARGE as u32;
    let (mut top, mut tasks) = kernels::run(level, MakeTop { sides, task, leaf_size, limit, workers })?;
    if count > SUBTREE {
        let parts = divide([&mut *references, &mut *other], tasks)?;
        let parts = workers.map(parts, |(task, sides)| {
            kernels::run(level, MakeTop { sides, task, leaf_size, limit: SUBTREE, workers })
        })?;
        tasks = top.insert(parts)?;
    }
    let parts = divide([references, other], tasks)?;
    let subtrees = workers
        .map(parts, |(task, sides)| kernels::run(level, MakeSubtree { sides, task: &task, leaf_size, level }))?;
    Ok((top, subtrees))
}
