//! Splits by the surface area heuristic over bins.
//!
//! The expected cost of a split is the sum of both parts' surface areas, times their numbers of
//! leaves. Candidates are the borders of bins of equal width on the three axes; of equal costs the
//! first one wins. References move between two lists, which keeps their order. Ranges above the
//! subtrees are split by a `grid` as long as that is fine enough, and small ones by a `sweep`.

use super::bins::{self, ALL_AXES, Bins, Candidate, Find, MAX_BINS, Mapping, Split};
use super::grid::{Division, Grid};
use super::references::{Active, Box8, Boxes, PrimitiveRef};
use super::sweep::{self, Sweep};
use super::tree::{self, SUBTREE, Splitter, Subtree, Task, Top, TopAndTasks, half};
use crate::kernels::{self, Inline, Kernel, Runner};
use crate::layout::WIDTH;
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;
use base::host::Host;

/// Largest number of references of a range that one thread splits; larger ones are split in chunks,
/// by all threads.
const LARGE: usize = 32 << 10;
/// Number of references that one item of work bins or moves.
const CHUNK: usize = 8 << 10;

type Range = tree::Range<Boxes>;

/// Splits ranges of two lists of references. Subtrees are made by a kernel, which does all of it;
/// above them only the parts of a split are kernels, because there are few splits.
struct Sah<'a, R> {
    sides: [&'a mut [PrimitiveRef]; 2],
    /// Position of the lists' first reference.
    origin: u32,
    leaf_shift: u32,
    /// The means to split large ranges; `None` if there are no large ones.
    workers: Option<&'a Workers<'a>>,
    bins: [Bins; 2],
    /// The grid of large ranges, once there was one.
    grid: Option<Grid>,
    runner: R,
}

/// Makes bins of references.
struct MakeBins<'a> {
    references: &'a [PrimitiveRef],
    mapping: &'a Mapping,
    bins: &'a mut [Bins; 2],
}

impl Kernel for MakeBins<'_> {
    type Output = ();

    #[inline(always)]
    fn run<H: Host>(self) {
        bins::bin::<H>(self.references, self.mapping, self.bins);
    }
}

/// Divides references.
struct Partition<'a> {
    references: &'a [PrimitiveRef],
    mapping: &'a Mapping,
    split: Split,
    to: [&'a mut [PrimitiveRef]; 2],
}

impl Kernel for Partition<'_> {
    type Output = [Box8; 2];

    #[inline(always)]
    fn run<H: Host>(self) -> [Box8; 2] {
        bins::partition::<H>(self.references, self.mapping, self.split, self.to)
    }
}

impl<'a, R: Runner> Sah<'a, R> {
    #[inline(always)]
    fn new(sides: Sides<'a>, origin: u32, leaf_size: u32, runner: R) -> Self {
        let bins = [Bins::EMPTY, Bins::EMPTY];
        Sah { sides, origin, leaf_shift: leaf_size.ilog2(), workers: None, bins, grid: None, runner }
    }

    #[inline(always)]
    fn references(&self, range: &Range) -> &[PrimitiveRef] {
        &self.sides[range.side as usize & 1][(range.first - self.origin) as usize..][..range.count as usize]
    }

    /// Splits a small range.
    #[inline(always)]
    fn split_small(&mut self, range: &Range) -> [Range; 2] {
        let leaf_shift = self.leaf_shift;
        let (references, to) = both_sides(&mut self.sides, self.origin, range);
        match self.runner.run(Sweep { references, to, leaf_shift, bins: &mut self.bins[0] }) {
            Some(candidate) => split_range(range, &candidate, [Box8::EMPTY; 2]),
            None => self.halve(range),
        }
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

/// Splits a large range by all threads; `None` if there is no candidate.
fn split_in_chunks(
    (from, to): (&[PrimitiveRef], &mut [PrimitiveRef]),
    range: &Range,
    mapping: &Mapping,
    leaf_shift: u32,
    workers: &Workers,
) -> Result<Option<[Range; 2]>, WorkError> {
    let level = workers.level;
    let chunks = base::alloc::collect(from.chunks(CHUNK))?;
    let chunk_bins = workers.map(chunks, |references| {
        let mut bins = [Bins::EMPTY, Bins::EMPTY];
        kernels::run(level, MakeBins { references, mapping, bins: &mut bins });
        let [bins, _] = bins;
        Ok(bins)
    })?;
    let mut all = Bins::EMPTY;
    chunk_bins.iter().for_each(|bins| all.add(bins, MAX_BINS));
    let find = Find { of: &all, bins: mapping.bins, axes: ALL_AXES, count: range.count, leaf_shift };
    let Some(candidate) = kernels::run(level, find) else { return Ok(None) };
    let (mut left, mut right) = to.split_at_mut(candidate.left_count as usize);
    let mut moves = Vec::new();
    base::alloc::reserve(&mut moves, chunk_bins.len())?;
    let split = candidate.split;
    for (references, bins) in from.chunks(CHUNK).zip(&chunk_bins) {
        let on_left = bins.counts[split.axis][..split.bin].iter().sum::<u32>() as usize;
        let (own_left, rest_left) = left.split_at_mut(on_left);
        let (own_right, rest_right) = right.split_at_mut(references.len() - on_left);
        (left, right) = (rest_left, rest_right);
        moves.push(Partition { references, mapping, split, to: [own_left, own_right] });
    }
    let parts = workers.map(moves, |kernel| Ok(kernels::run(level, kernel)))?;
    let mut centroids = [Box8::EMPTY; 2];
    for part in parts {
        centroids = [centroids[0].union(part[0]), centroids[1].union(part[1])];
    }
    Ok(Some(split_range(range, &candidate, centroids)))
}

impl<R: Runner> Splitter for Sah<'_, R> {
    type Boxes = Boxes;

    #[inline(always)]
    fn priority(&self, range: &Range) -> f32 {
        range.boxes.bounds.half_area()
    }

    #[inline(always)]
    fn split_at_once(&mut self, range: &Range, smallest: u32) -> Result<Option<tree::Children<Boxes>>, WorkError> {
        let Some(workers) = self.workers.filter(|_| range.count > SUBTREE) else { return Ok(None) };
        workers.check()?;
        let grid = match &mut self.grid {
            Some(grid) => grid,
            empty => empty.insert(Grid::new()?),
        };
        let (from, to) = both_sides(&mut self.sides, self.origin, range);
        let (boxes, leaf_shift) = (range.boxes, self.leaf_shift);
        let division = Division { from, to, boxes, leaf_shift, smallest, workers };
        let Some((parts, count)) = division.split(grid, &mut self.bins[0])? else { return Ok(None) };
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
                let lists = both_sides(&mut self.sides, self.origin, range);
                let split = split_in_chunks(lists, range, &mapping, self.leaf_shift, workers)?;
                return Ok(split.unwrap_or_else(|| self.halve(range)));
            }
        }
        let (references, to) = both_sides(&mut self.sides, self.origin, range);
        self.runner.run(MakeBins { references, mapping: &mapping, bins: &mut self.bins });
        let (count, leaf_shift) = (range.count, self.leaf_shift);
        let find = Find { of: &self.bins[0], bins, axes: ALL_AXES, count, leaf_shift };
        let Some(candidate) = self.runner.run(find) else { return Ok(self.halve(range)) };
        let (left, right) = to.split_at_mut(candidate.left_count as usize);
        let partition = Partition { references, mapping: &mapping, split: candidate.split, to: [left, right] };
        let centroids = self.runner.run(partition);
        Ok(split_range(range, &candidate, centroids))
    }

    #[inline(always)]
    fn halve(&mut self, range: &Range) -> [Range; 2] {
        let left_count = half(range.count, 1 << self.leaf_shift);
        let (left, right) = self.references(range).split_at(left_count as usize);
        let [left, right] = [self.runner.run(BoundsOf(left)), self.runner.run(BoundsOf(right))];
        let (first, count) = (range.first + left_count, range.count - left_count);
        [Range { count: left_count, boxes: left, ..*range }, Range { first, count, boxes: right, ..*range }]
    }
}

/// Returns the bounds of references, and those of their centres.
struct BoundsOf<'a>(&'a [PrimitiveRef]);

impl Kernel for BoundsOf<'_> {
    type Output = Boxes;

    #[inline(always)]
    fn run<H: Host>(self) -> Boxes {
        let [bounds, centroids] = bins::bounds::<H>(self.0);
        Boxes { bounds, centroids }
    }
}

/// Makes the nodes above the subtrees of up to `limit` references.
fn make_top(
    sides: Sides,
    task: &Task<Boxes>,
    leaf_size: u32,
    limit: u32,
    workers: &Workers,
) -> Result<TopAndTasks<Boxes>, WorkError> {
    let mut splitter = Sah::new(sides, task.range.first, leaf_size, workers.level);
    splitter.workers = Some(workers);
    tree::make_top(&mut splitter, task, leaf_size, limit)
}

/// Makes a subtree.
struct MakeSubtree<'a> {
    sides: Sides<'a>,
    task: &'a Task<Boxes>,
    leaf_size: u32,
}

impl Kernel for MakeSubtree<'_> {
    type Output = Result<Subtree, WorkError>;

    #[inline(always)]
    fn run<H: Host>(self) -> Self::Output {
        let mut splitter = Sah::new(self.sides, self.task.range.first, self.leaf_size, Inline::<H>::new());
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
    // Large ranges are split by all threads, and those that remain side by side.
    let (mut top, mut tasks) = make_top(sides, &task, leaf_size, LARGE as u32, workers)?;
    if count > SUBTREE {
        let parts = divide([&mut *references, &mut *other], tasks)?;
        let parts = workers.map(parts, |(task, sides)| make_top(sides, &task, leaf_size, SUBTREE, workers))?;
        tasks = top.insert(parts)?;
    }
    let parts = divide([references, other], tasks)?;
    let level = workers.level;
    let subtrees =
        workers.map(parts, |(task, sides)| kernels::run(level, MakeSubtree { sides, task: &task, leaf_size }))?;
    Ok((top, subtrees))
}
