//! The assignment of tiles to the processors whose caches have their data.

#![forbid(unsafe_code)]

use crate::prim::ChunkOutput;
use crate::tile::Runs;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tiles of a round by the processors that have most of their data in their caches.
#[derive(Default)]
pub struct Homes {
    /// Tiles, home by home.
    tiles: Vec<u32>,
    /// Each home's processor, the end of its tiles in `tiles`, and the index of its next one.
    homes: Vec<(usize, usize, AtomicUsize)>,
}

impl Homes {
    /// Makes the homes from the runs of these outputs. Returns `None` if one processor has all
    /// outputs, or if there are large primitives, of which there are few.
    pub fn new(runs: &Runs, outputs: &[ChunkOutput]) -> Option<Homes> {
        let first = outputs.first()?.processor;
        if runs.are_joined() || outputs.iter().all(|output| output.processor == first) {
            return None;
        }
        let mut by_home: Vec<(usize, u32)> = (0..runs.tiles() as u32)
            .map(|tile| {
                let most = runs.first_of(tile as usize).iter().max_by_key(|run| run.len());
                (most.map_or(0, |run| outputs[run.chunk as usize].processor), tile)
            })
            .collect();
        // Tiles stay in their order.
        by_home.sort_by_key(|&(home, _)| home);
        let mut homes: Vec<(usize, usize, AtomicUsize)> = Vec::new();
        for (i, &(home, _)) in by_home.iter().enumerate() {
            match homes.last_mut() {
                Some(last) if last.0 == home => last.1 = i + 1,
                _ => homes.push((home, i + 1, AtomicUsize::new(i))),
            }
        }
        Some(Homes { tiles: by_home.into_iter().map(|(_, tile)| tile).collect(), homes })
    }

    /// Returns the next tile for a processor: one of its own home, or else one of the others. There
    /// is one for each call, if there are no more calls than tiles.
    pub fn next(&self, processor: usize) -> Option<usize> {
        let own = self.homes.iter().filter(|home| home.0 == processor);
        let others = self.homes.iter().filter(|home| home.0 != processor);
        own.chain(others).find_map(|(_, end, next)| {
            let taken = (next.load(Ordering::Relaxed) < *end).then(|| next.fetch_add(1, Ordering::Relaxed))?;
            (taken < *end).then(|| self.tiles[taken] as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::Grid;

    /// Two processors have chunks in tiles of their own and in one tile that both touch.
    #[test]
    fn every_tile_is_taken_once_and_those_at_home_first() {
        let output = |processor: usize, tiles: &[u64]| {
            let bins = tiles.iter().enumerate().map(|(prim, tile)| tile << 32 | prim as u64).collect();
            let mut output = ChunkOutput { bins, processor, ..ChunkOutput::default() };
            output.list_nodes();
            output
        };
        let outputs = [output(3, &[0, 2, 2, 2]), output(7, &[1, 2]), output(7, &[5]), output(3, &[6])];
        let grid = Grid { tiles: [4, 2], layers: 1, samples: 1 };
        let runs = Runs::new(&outputs, &grid);
        let homes = Homes::new(&runs, &outputs).expect("two processors");
        // Tiles are named by their index among those that have work, which are 0, 1, 2, 5, 6.
        let taken = [3, 7, 7, 7, 3, 3].map(|processor| homes.next(processor));
        assert_eq!(taken, [Some(0), Some(1), Some(3), Some(2), Some(4), None]);
        assert!(Homes::new(&runs, &outputs[1..3]).is_none(), "one processor");
    }
}
