//! The primitives that each tile of a round has to run, in order.
//!
//! A tile's primitives are those of its own bins and of the bins of the nodes around it (see
//! `prim::TileGrid`), by chunk number and then by primitive number. Without large primitives, a
//! tile's runs are a slice of all runs. Otherwise a worker joins the runs of the nodes when it
//! begins the tile, so that nothing is stored per tile and primitive.

#![forbid(unsafe_code)]

use crate::prim::{BoxedOutput, ChunkOutput, LEVELS, Prim, TileGrid};
use base::host::prefetch;

/// A range of one chunk's bins that belong to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BinRun {
    /// Node number: tiles come first, layer-major, then row-major.
    pub node: u32,
    /// Chunk number.
    pub chunk: u32,
    /// First index of the range in the chunk's bins.
    pub start: u32,
    /// End index of the range in the chunk's bins.
    pub end: u32,
}

impl BinRun {
    /// Returns the number of bins.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns the bins.
    #[inline(always)]
    pub fn bins(self, output: &ChunkOutput) -> &[u64] {
        &output.bins[self.start as usize..self.end as usize]
    }
}

/// Number of primitives that are prefetched; another worker wrote them some time ago.
pub const PREFETCH: usize = 3;

/// Prefetches a primitive's cache lines.
#[inline(always)]
pub fn prefetch_prim(prim: &Prim) {
    for offset in (0..size_of::<Prim>()).step_by(64) {
        prefetch((&raw const *prim).cast::<u8>().wrapping_add(offset));
    }
}

/// Number of runs of a tile that one thread examines for all workers beforehand.
const FIRST: usize = 8;

/// The runs of a round.
#[derive(Default)]
pub struct BinRuns {
    /// Runs by node, then by chunk.
    runs: Vec<BinRun>,
    /// Nodes that have runs, and the index of their first run.
    nodes: Vec<(u32, u32)>,
    /// Tiles that have work, if there are larger nodes; otherwise these are `nodes`.
    tiles: Option<Vec<u32>>,
}

impl BinRuns {
    /// Returns the largest number of bytes that a chunk with `bins` bins takes here.
    pub fn max_bytes(bins: usize) -> usize {
        bins * (size_of::<BinRun>() + size_of::<(u32, u32)>())
    }

    /// Makes the runs of chunks, which are in the order of their numbers.
    pub fn new(outputs: &[BoxedOutput], grid: &TileGrid) -> BinRuns {
        let runs = merge(outputs, grid.first_node(LEVELS) as usize);
        let mut nodes = Vec::new();
        for (i, run) in runs.iter().enumerate() {
            if nodes.last().is_none_or(|&(node, _)| node != run.node) {
                nodes.push((run.node, i as u32));
            }
        }
        let (leaves, larger) = nodes.split_at(nodes.partition_point(|n| n.0 < grid.first_node(1)));
        let tiles = (!larger.is_empty()).then(|| {
            let mut tiles: Vec<u32> = leaves.iter().map(|n| n.0).collect();
            for level in 1..LEVELS {
                let of_level = grid.first_node(level)..grid.first_node(level + 1);
                for &(node, _) in larger.iter().filter(|n| of_level.contains(&n.0)) {
                    grid.tiles_in(level, node, |tile| tiles.push(tile));
                }
            }
            // A tile occurs at most once for each level.
            tiles.sort_unstable();
            tiles.dedup();
            tiles
        });
        BinRuns { runs, nodes, tiles }
    }

    /// Returns the number of tiles that have work.
    pub fn tiles(&self) -> usize {
        self.tiles.as_ref().map_or(self.nodes.len(), Vec::len)
    }

    /// Returns a tile's number and its runs, by chunk; they are collected in `joined` if needed.
    pub fn tile_runs<'a>(&'a self, i: usize, grid: &TileGrid, joined: &'a mut Vec<BinRun>) -> (u32, &'a [BinRun]) {
        let Some(tiles) = &self.tiles else { return (self.nodes[i].0, self.of_node(i)) };
        let tile = tiles[i];
        joined.clear();
        for level in 0..LEVELS {
            if let Ok(found) = self.nodes.binary_search_by_key(&grid.enclosing_node(tile, level), |n| n.0) {
                joined.extend_from_slice(self.of_node(found));
            }
        }
        joined.sort_by_key(|run| run.chunk);
        (tile, joined)
    }

    /// Returns true if there are larger nodes, whose runs tiles join with their own.
    pub fn has_joined_runs(&self) -> bool {
        self.tiles.is_some()
    }

    /// Returns the first runs of a tile, if runs are not joined.
    pub fn first_of(&self, i: usize) -> &[BinRun] {
        let runs = self.of_node(i);
        &runs[..runs.len().min(FIRST)]
    }

    fn of_node(&self, i: usize) -> &[BinRun] {
        let end = self.nodes.get(i + 1).map_or(self.runs.len(), |n| n.1 as usize);
        &self.runs[self.nodes[i].1 as usize..end]
    }
}

/// Returns the bins of a chunk's runs (of a tile and the nodes around it) as one list, by
/// primitive. Bins have no node numbers if there is more than one run.
#[inline(always)]
pub fn joined_bins<'a>(runs: &[BinRun], output: &'a ChunkOutput, joined: &'a mut Vec<u64>) -> &'a [u64] {
    match runs {
        [run] => run.bins(output),
        _ => {
            join_bins(runs, output, joined);
            joined
        }
    }
}

#[cold]
#[inline(never)]
fn join_bins(runs: &[BinRun], output: &ChunkOutput, joined: &mut Vec<u64>) {
    joined.clear();
    for run in runs {
        joined.extend(run.bins(output).iter().map(|&bin| u64::from(bin as u32)));
    }
    // The list consists of a few ascending pieces.
    joined.sort();
}

/// Returns the runs of all chunks, by node and then by chunk; there are `nodes` nodes.
fn merge(outputs: &[BoxedOutput], nodes: usize) -> Vec<BinRun> {
    let mut runs = Vec::new();
    for (chunk, output) in outputs.iter().enumerate() {
        let ends = output.nodes.iter().skip(1).map(|&(_, start)| start).chain([output.bins.len() as u32]);
        let chunk = chunk as u32;
        runs.extend(output.nodes.iter().zip(ends).map(|(&(node, start), end)| BinRun { node, chunk, start, end }));
    }
    if nodes > 4 * runs.len() {
        runs.sort_unstable();
        return runs;
    }
    // No other thread works meanwhile, so this avoids comparisons. Each node's runs are in the
    // order of the chunks already.
    let mut next = vec![0u32; nodes];
    runs.iter().for_each(|run| next[run.node as usize] += 1);
    let mut before = 0;
    for count in &mut next {
        before += core::mem::replace(count, before);
    }
    let mut sorted = runs.clone();
    for run in runs {
        let place = &mut next[run.node as usize];
        sorted[*place as usize] = run;
        *place += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(bins: &[(u64, u64)]) -> BoxedOutput {
        let bins = bins.iter().map(|(node, prim)| node << 32 | prim).collect();
        let mut output = ChunkOutput { bins, ..ChunkOutput::default() };
        output.list_nodes();
        output.into()
    }

    #[test]
    fn runs_are_sorted_by_node_and_chunk() {
        let outputs =
            [output(&[(1, 0), (1, 1), (4, 2)]), output(&[]), output(&[(0, 0), (4, 0), (4, 3)]), output(&[(1, 7)])];
        let run = |node, chunk, start, end| BinRun { node, chunk, start, end };
        let want = [run(0, 2, 0, 1), run(1, 0, 0, 2), run(1, 3, 0, 1), run(4, 0, 2, 3), run(4, 2, 1, 3)];
        assert_eq!(merge(&outputs, 5), want);
        assert_eq!(merge(&outputs, 1000), want, "few runs of many nodes");
        assert_eq!(merge(&[], 0), []);
    }

    #[test]
    fn a_tile_joins_what_the_nodes_around_it_list() {
        // The grid has 30 tiles, 2×2 nodes of level 1 (30 to 33), one of level 2 (34) and one of
        // level 3 (35).
        let grid = TileGrid { tiles: [6, 5], layers: 1, samples: 1 };
        let outputs =
            [output(&[(0, 2), (0, 9), (30, 1), (30, 5), (34, 3)]), output(&[(33, 0)]), output(&[(0, 0), (34, 1)])];
        let runs = BinRuns::new(&outputs, &grid);
        assert_eq!(runs.tiles(), 30, "the node of level 2 has all tiles");
        let lists = |i: usize| {
            let (mut joined, mut bins) = (Vec::new(), Vec::new());
            let (tile, runs) = runs.tile_runs(i, &grid, &mut joined);
            assert_eq!(tile, i as u32);
            let same_chunk = |a: &BinRun, b: &BinRun| a.chunk == b.chunk;
            let chunk = |r: &[BinRun]| {
                let output = &outputs[r[0].chunk as usize];
                (r[0].chunk, joined_bins(r, output, &mut bins).iter().map(|&b| b as u32).collect::<Vec<_>>())
            };
            runs.chunk_by(same_chunk).map(chunk).collect::<Vec<_>>()
        };
        assert_eq!(lists(0), [(0, vec![1, 2, 3, 5, 9]), (2, vec![0, 1])]);
        assert_eq!(lists(1), [(0, vec![1, 3, 5]), (2, vec![1])]);
        assert_eq!(lists(29), [(0, vec![3]), (1, vec![0]), (2, vec![1])]);
        assert_eq!(lists(5), [(0, vec![3]), (2, vec![1])]);
    }
}
