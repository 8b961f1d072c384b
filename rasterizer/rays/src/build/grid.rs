//! Splits of large ranges into the ranges of a node's children at once.
//!
//! References are sorted into the cells of a grid over their centres. A cell with its bounds is a
//! cluster, and the clusters are split as references are, by the surface area heuristic over bins,
//! before all references are copied to their places. Each reference is therefore read twice for
//! eight children, and not twice for each split. Clusters are split only as long as their cells are
//! as fine as bins of the range would be.

use super::bins::{self, ALL_AXES, Bins, CentroidBounds, Find, MAX_BINS, Mapping, Split};
use super::references::{Box8, Boxes, PrimitiveRef};
use crate::kernels::{self, Kernel};
use crate::layout::WIDTH;
use crate::level::HostLevel;
use crate::parallel::{WorkError, Workers};
use base::alloc::OutOfMemory;
use base::host::{Host, Ints};

/// Number of bits of a cell's position on an axis.
const AXIS_BITS: u32 = MAX_BINS.ilog2();
/// Number of cells of a grid.
const CELLS: usize = MAX_BINS * MAX_BINS * MAX_BINS;
/// Smallest number of cells on the longest axis of clusters that are split.
const MIN_CELLS: f32 = 6.0;
/// Number of references that one item of work sorts or copies.
const CHUNK: usize = 32 << 10;
/// Largest number of items of work, each of which has a grid of its own.
const MAX_CHUNKS: usize = 16;

/// The cells of a grid. All are empty between uses.
pub struct Grid {
    bounds: Vec<Box8>,
    counts: Vec<u32>,
    /// The cell of each reference.
    cells: Vec<u16>,
}

/// A range of clusters, which becomes the range of a child.
#[derive(Clone, Copy)]
pub struct Part {
    first: usize,
    clusters: usize,
    /// Number of references.
    pub count: u32,
    /// Bounds of the references, and of twice their centres.
    pub boxes: Boxes,
}

/// Parts of a range, and their number.
type Parts = ([Part; WIDTH], usize);

impl Grid {
    /// Makes a grid of empty cells.
    pub fn new() -> Result<Grid, OutOfMemory> {
        let (bounds, counts) = (base::alloc::filled(Box8::EMPTY, CELLS)?, base::alloc::filled(0, CELLS)?);
        Ok(Grid { bounds, counts, cells: Vec::new() })
    }

    /// Sorts references into cells.
    #[inline(always)]
    fn fill<H: Host>(&mut self, references: &[PrimitiveRef], mapping: &Mapping) -> Result<(), OutOfMemory> {
        let Grid { bounds, counts, cells } = self;
        cells.clear();
        base::alloc::reserve(cells, references.len())?;
        cells.resize(references.len(), 0);
        let pairs = mapping.for_pairs::<H>();
        let (chunks, rest) = references.as_chunks::<2>();
        let (to_chunks, to_rest) = cells.as_chunks_mut::<2>();
        for (references, to) in chunks.iter().zip(to_chunks) {
            let [a, b, c, _, d, e, f, _] = pairs.bins(bins::centroids::<H>(references)).to_array();
            to[0] = add::<H>(bounds, counts, &references[0], [a, b, c]);
            to[1] = add::<H>(bounds, counts, &references[1], [d, e, f]);
        }
        for (reference, to) in rest.iter().zip(to_rest) {
            let [a, b, c, ..] = pairs.bins(bins::centroids::<H>(&[*reference; 2])).to_array();
            *to = add::<H>(bounds, counts, reference, [a, b, c]);
        }
        Ok(())
    }

    /// Adds the cells of another grid.
    fn merge(&mut self, other: &Grid) {
        for cell in (0..CELLS).filter(|&cell| other.counts[cell] > 0) {
            self.bounds[cell] = self.bounds[cell].union(other.bounds[cell]);
            self.counts[cell] += other.counts[cell];
        }
    }

    /// Takes the clusters, in the order of cells, out of the grid.
    fn take_clusters(&mut self) -> Result<Vec<PrimitiveRef>, OutOfMemory> {
        let mut clusters = Vec::new();
        base::alloc::reserve(&mut clusters, self.counts.iter().filter(|&&count| count > 0).count())?;
        for (cell, (bounds, count)) in self.bounds.iter_mut().zip(&mut self.counts).enumerate() {
            if *count > 0 {
                clusters.push(bounds.with_words(cell as u32, *count));
                (*bounds, *count) = (Box8::EMPTY, 0);
            }
        }
        Ok(clusters)
    }
}

/// Adds a reference to the cell at a position, and returns the cell.
#[inline(always)]
fn add<H: Host>(bounds: &mut [Box8], counts: &mut [u32], reference: &PrimitiveRef, [x, y, z]: [u32; 3]) -> u16 {
    let cell = (x | y << AXIS_BITS | z << (2 * AXIS_BITS)) as usize % CELLS;
    bins::extend::<H>(&mut bounds[cell], reference);
    counts[cell] += 1;
    cell as u16
}

/// Clusters that are split.
struct Clusters<'a> {
    list: Vec<PrimitiveRef>,
    right: Vec<PrimitiveRef>,
    /// The function from centres to cells.
    mapping: &'a Mapping,
    leaf_shift: u32,
    level: HostLevel,
}

impl Clusters<'_> {
    /// Splits the clusters as a node's range is split (`tree::children`), until there are eight
    /// parts, or a part is next whose cells are too coarse.
    fn split_all(&mut self, whole: Part, smallest: u32, bins: &mut Bins) -> Parts {
        let (mut parts, mut count) = ([whole; WIDTH], 1);
        while count < WIDTH {
            let mut next = None;
            for (slot, part) in parts[..count].iter().enumerate() {
                let priority = part.boxes.bounds.half_area();
                if part.count > smallest && next.is_none_or(|(_, max)| priority > max) {
                    next = Some((slot, priority));
                }
            }
            let Some((slot, _)) = next else { break };
            let Some([left, right]) = self.split(&parts[slot], bins) else { break };
            (parts[slot], parts[count]) = (left, right);
            count += 1;
        }
        (parts, count)
    }

    /// Splits a part; `None` if its cells are too coarse, or there is no candidate.
    fn split(&mut self, part: &Part, bins: &mut Bins) -> Option<[Part; 2]> {
        if self.mapping.cells_of_longest_axis(&part.boxes.centroids) < MIN_CELLS {
            return None;
        }
        let list = &mut self.list[part.first..part.first + part.clusters];
        let mapping = Mapping::new(&part.boxes.centroids, MAX_BINS);
        kernels::run(self.level, BinClusters { clusters: list, mapping: &mapping, bins: &mut *bins });
        let (count, leaf_shift) = (part.count, self.leaf_shift);
        let find = Find { of: bins, bins: MAX_BINS, axes: ALL_AXES, count, leaf_shift };
        let found = kernels::run(self.level, find)?;
        let divide = DivideClusters { list, right: &mut self.right, mapping: &mapping, split: found.split };
        let (left, [left_centroids, right_centroids]) = kernels::run(self.level, divide);
        let [left_bounds, right_bounds] = found.bounds;
        Some([
            Part {
                first: part.first,
                clusters: left,
                count: found.left_count,
                boxes: Boxes { bounds: left_bounds, centroids: left_centroids },
            },
            Part {
                first: part.first + left,
                clusters: part.clusters - left,
                count: part.count - found.left_count,
                boxes: Boxes { bounds: right_bounds, centroids: right_centroids },
            },
        ])
    }
}

/// Makes bins of clusters.
struct BinClusters<'a> {
    clusters: &'a [PrimitiveRef],
    mapping: &'a Mapping,
    bins: &'a mut Bins,
}

impl Kernel for BinClusters<'_> {
    type Output = ();

    #[inline(always)]
    fn run<H: Host>(self) {
        bins::bin_clusters::<H>(self.clusters, self.mapping, self.bins);
    }
}

/// Divides clusters; returns the number of those on the left, and the bounds of twice the centres
/// of both parts.
struct DivideClusters<'a> {
    list: &'a mut [PrimitiveRef],
    right: &'a mut Vec<PrimitiveRef>,
    mapping: &'a Mapping,
    split: Split,
}

impl Kernel for DivideClusters<'_> {
    type Output = (usize, [Box8; 2]);

    #[inline(always)]
    fn run<H: Host>(self) -> (usize, [Box8; 2]) {
        let DivideClusters { list, right, mapping, split } = self;
        let pairs = mapping.for_pairs::<H>();
        let (mut left_centres, mut right_centres) = (CentroidBounds::<H>::empty(), CentroidBounds::<H>::empty());
        let mut left = 0;
        right.clear();
        for i in 0..list.len() {
            let cluster = list[i];
            let centres = bins::centroids::<H>(&[cluster; 2]);
            if (pairs.bins(centres).to_array()[split.axis] as usize) < split.bin {
                left_centres.add(centres);
                list[left] = cluster;
                left += 1;
            } else {
                right_centres.add(centres);
                right.push(cluster);
            }
        }
        list[left..].copy_from_slice(right);
        (left, [left_centres.finish(), right_centres.finish()])
    }
}

/// The range that is split.
pub struct Division<'a> {
    /// References of the range.
    pub from: &'a [PrimitiveRef],
    /// Places of the parts' references in the other list.
    pub to: &'a mut [PrimitiveRef],
    /// Bounds of the references, and of twice their centres.
    pub boxes: Boxes,
    /// Logarithm of the size of a leaf.
    pub leaf_shift: u32,
    /// Largest number of references of a part that is not split.
    pub smallest: u32,
    /// The means.
    pub workers: &'a Workers<'a>,
}

impl Division<'_> {
    /// Splits the range, using a grid and bins, by one thread or all. Parts lie one behind the
    /// other in the other list. Returns `None`, and copies nothing, if there would be one part.
    pub fn split(self, grid: &mut Grid, bins: &mut Bins) -> Result<Option<Parts>, WorkError> {
        let Division { from, to, boxes, leaf_shift, smallest, workers } = self;
        let level = workers.level;
        let mapping = Mapping::new(&boxes.centroids, MAX_BINS);
        let chunk = CHUNK.max(from.len().div_ceil(MAX_CHUNKS));
        let workers = Some(workers).filter(|_| from.len() > chunk);
        let mut grids = Vec::new();
        if let Some(workers) = workers {
            let chunks = base::alloc::collect(from.chunks(chunk))?;
            grids = workers.map(chunks, |references| {
                let mut grid = Grid::new()?;
                kernels::run(level, Fill { grid: &mut grid, references, mapping: &mapping })?;
                Ok(grid)
            })?;
            grids.iter().for_each(|other| grid.merge(other));
        } else {
            kernels::run(level, Fill { grid: &mut *grid, references: from, mapping: &mapping })?;
        }
        let list = grid.take_clusters()?;
        let mut clusters = Clusters { list, right: Vec::new(), mapping: &mapping, leaf_shift, level };
        base::alloc::reserve(&mut clusters.right, clusters.list.len())?;
        let whole = Part { first: 0, clusters: clusters.list.len(), count: from.len() as u32, boxes };
        let (mut parts, count) = clusters.split_all(whole, smallest, bins);
        if count == 1 {
            return Ok(None);
        }
        let mut part_of = [0; CELLS];
        for (number, part) in parts[..count].iter().enumerate() {
            for cluster in &clusters.list[part.first..part.first + part.clusters] {
                part_of[cluster.primitive().index as usize % CELLS] = number as u8;
            }
        }
        let mut places = parts_of(to, parts.iter().take(count).map(|part| part.count as usize));
        let centroids = match workers {
            None => kernels::run(level, Copy { from, cells: &grid.cells, part_of: &part_of, to: places }),
            Some(workers) => {
                let mut work = Vec::new();
                base::alloc::reserve(&mut work, grids.len())?;
                for (from, grid) in from.chunks(chunk).zip(&grids) {
                    let mut counts = [0; WIDTH];
                    for (&count, &part) in grid.counts.iter().zip(&part_of) {
                        counts[part as usize % WIDTH] += count as usize;
                    }
                    let mut own: [&mut [PrimitiveRef]; WIDTH] = Default::default();
                    for ((own, place), count) in own.iter_mut().zip(&mut places).zip(counts) {
                        let (first, rest) = core::mem::take(place).split_at_mut(count);
                        (*own, *place) = (first, rest);
                    }
                    work.push(Copy { from, cells: &grid.cells, part_of: &part_of, to: own });
                }
                let all = workers.map(work, |copy| Ok(kernels::run(level, copy)))?;
                let mut centroids = [Box8::EMPTY; WIDTH];
                for part in all {
                    for (all, own) in centroids.iter_mut().zip(part) {
                        *all = all.union(own);
                    }
                }
                centroids
            }
        };
        for (part, centroids) in parts.iter_mut().zip(centroids) {
            part.boxes.centroids = centroids;
        }
        Ok(Some((parts, count)))
    }
}

/// Divides a list into parts of the given lengths; the others are empty.
fn parts_of(mut list: &mut [PrimitiveRef], lengths: impl Iterator<Item = usize>) -> [&mut [PrimitiveRef]; WIDTH] {
    let mut parts: [&mut [PrimitiveRef]; WIDTH] = Default::default();
    for (part, length) in parts.iter_mut().zip(lengths) {
        let (own, rest) = list.split_at_mut(length);
        (*part, list) = (own, rest);
    }
    parts
}

/// Sorts references of a chunk into cells.
struct Fill<'a> {
    grid: &'a mut Grid,
    references: &'a [PrimitiveRef],
    mapping: &'a Mapping,
}

impl Kernel for Fill<'_> {
    type Output = Result<(), OutOfMemory>;

    #[inline(always)]
    fn run<H: Host>(self) -> Self::Output {
        self.grid.fill::<H>(self.references, self.mapping)
    }
}

/// Copies references of a chunk to their parts, and returns the bounds of twice their centres.
struct Copy<'a> {
    from: &'a [PrimitiveRef],
    cells: &'a [u16],
    part_of: &'a [u8; CELLS],
    to: [&'a mut [PrimitiveRef]; WIDTH],
}

impl Kernel for Copy<'_> {
    type Output = [Box8; WIDTH];

    #[inline(always)]
    fn run<H: Host>(self) -> [Box8; WIDTH] {
        let mut next = [0; WIDTH];
        for (reference, &cell) in self.from.iter().zip(self.cells) {
            let part = self.part_of[cell as usize % CELLS] as usize % WIDTH;
            if let Some(to) = self.to[part].get_mut(next[part]) {
                *to = *reference;
            }
            next[part] += 1;
        }
        let mut centroids = [Box8::EMPTY; WIDTH];
        for (centroids, references) in centroids.iter_mut().zip(&self.to) {
            [_, *centroids] = bins::bounds::<H>(references);
        }
        centroids
    }
}
