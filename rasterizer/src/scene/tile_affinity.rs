//! The assignment of tiles to the processors whose caches have their data.

#![forbid(unsafe_code)]

use crate::prim::BoxedOutput;
use crate::tile::BinRuns;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tiles of a round by the processors that have most of their data in their caches.
#[derive(Default)]
pub struct TileAffinity {
    /// Tiles, processor by processor.
    tiles: Vec<u32>,
    /// Each queue's processor, the end of its tiles in `tiles`, and the index of its next one.
    queues: Vec<(usize, usize, AtomicUsize)>,
}

impl TileAffinity {
    /// Assigns tiles by the runs of these outputs. Returns `None` if one processor has all
    /// outputs, or if there are large primitives, of which there are few.
    pub fn new(runs: &BinRuns, outputs: &[BoxedOutput]) -> Option<TileAffinity> {
        let first = outputs.first()?.processor;
        if runs.has_joined_runs() || outputs.iter().all(|output| output.processor == first) {
            return None;
        }
        let mut by_processor: Vec<(usize, u32)> = (0..runs.tiles() as u32)
            .map(|tile| {
                let max = runs.first_of(tile as usize).iter().max_by_key(|run| run.len());
                (max.map_or(0, |run| outputs[run.chunk as usize].processor), tile)
            })
            .collect();
        // Tiles stay in their order.
        by_processor.sort_by_key(|&(home, _)| home);
        let mut queues: Vec<(usize, usize, AtomicUsize)> = Vec::new();
        for (i, &(home, _)) in by_processor.iter().enumerate() {
            match queues.last_mut() {
                Some(last) if last.0 == home => last.1 = i + 1,
                _ => queues.push((home, i + 1, AtomicUsize::new(i))),
            }
        }
        Some(TileAffinity { tiles: by_processor.into_iter().map(|(_, tile)| tile).collect(), queues })
    }

    /// Returns the next tile for a processor: one of its own queue, or else one of another queue.
    /// There is one for each call, if there are no more calls than tiles.
    pub fn next(&self, processor: usize) -> Option<usize> {
        let own = self.queues.iter().filter(|home| home.0 == processor);
        let others = self.queues.iter().filter(|home| home.0 != processor);
        own.chain(others).find_map(|(_, end, next)| {
            let taken = (next.load(Ordering::Relaxed) < *end).then(|| next.fetch_add(1, Ordering::Relaxed))?;
            (taken < *end).then(|| self.tiles[taken] as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::{ChunkOutput, TileGrid};

    /// Two processors have chunks in tiles of their own and in one tile that both touch.
    #[test]
    fn every_tile_is_taken_once_and_cached_ones_first() {
        let output = |processor: usize, tiles: &[u64]| {
            let bins = tiles.iter().enumerate().map(|(prim, tile)| tile << 32 | prim as u64).collect();
            let mut output = ChunkOutput { bins, processor, ..ChunkOutput::default() };
            output.list_nodes();
            BoxedOutput::from(output)
        };
        let outputs = [output(3, &[0, 2, 2, 2]), output(7, &[1, 2]), output(7, &[5]), output(3, &[6])];
        let grid = TileGrid { tiles: [4, 2], layers: 1, samples: 1 };
        let runs = BinRuns::new(&outputs, &grid);
        let affinity = TileAffinity::new(&runs, &outputs).expect("two processors");
        // Tiles are named by their index among those that have work, which are 0, 1, 2, 5, 6.
        let taken = [3, 7, 7, 7, 3, 3].map(|processor| affinity.next(processor));
        assert_eq!(taken, [Some(0), Some(1), Some(3), Some(2), Some(4), None]);
        assert!(TileAffinity::new(&runs, &outputs[1..3]).is_none(), "one processor");
    }
}
