//! Tiles of a launch over the pool.

#![forbid(unsafe_code)]

use super::frames::Frames;
use super::launch::{Launch, TraceError};
use super::plan::InputPlan;
use super::tile::Tile;
use super::traversal::Tracer;
use crate::stage::{StageMemory, aborted};
use crate::worker_pool::{CostHint, WorkerPool, WorkerScratch};
use core::ops::Range;
use std::sync::Mutex;

/// Largest number of launch ids of a tile, whose sides are powers of two.
const TILE_IDS: u32 = 512;
/// Number of rows of a tile, if the launch has as many.
const MIN_TILE_ROWS: u32 = 4;
/// Number of tiles below which they are smaller, so that several threads have work.
const MIN_TILES: u64 = 32;
/// Sides of the blocks in which launch ids of a tile follow each other, so that rays that are
/// traced together go about the same way.
const BLOCK: u32 = 4;
/// Width of a tile, if the launch has several rows.
const TILE_WIDTH: u32 = 32;
/// Number of bytes of frames of all shaders above which tiles are smaller.
const TILE_BYTES: usize = 16 << 20;
/// Smallest number of launch ids of a tile.
const MIN_TILE_IDS: u32 = 32;
/// Number of tiles between two checks of the abort flag outside of them.
const ROUND: u64 = 1 << 20;

/// The tiles of a launch.
struct Tiling {
    /// Launch ids per tile, in a slice.
    tile: [u32; 2],
    /// Number of tiles per dimension.
    tiles: [u64; 3],
    size: [u32; 3],
}

impl Tiling {
    /// Cuts a launch into tiles of at most `ids` launch ids. It depends on the launch alone.
    fn new(size: [u32; 3], ids: u32) -> Tiling {
        let height = (ids / TILE_WIDTH.min(ids / MIN_TILE_ROWS)).min(size[1].min(ids).next_power_of_two());
        let tile = [ids / height, height];
        let across = [0, 1].map(|i| u64::from(size[i].div_ceil(tile[i])));
        Tiling { tile, tiles: [across[0], across[1], size[2].into()], size }
    }

    fn count(&self) -> u64 {
        self.tiles.iter().fold(1, |product: u64, &n| product.saturating_mul(n))
    }

    /// Returns the launch ids of a tile, in rows of blocks.
    fn ids(&self, number: u64) -> Vec<[u32; 3]> {
        let [across, down, _] = self.tiles;
        let z = (number / (across * down)) as u32;
        let corner = [number % across, number / across % down];
        let [columns, rows] = [0, 1].map(|i| {
            let first = corner[i] as u32 * self.tile[i];
            first..first.saturating_add(self.tile[i]).min(self.size[i])
        });
        let width = if self.tile[1] >= BLOCK { BLOCK } else { self.tile[0] };
        let within = |all: &Range<u32>, first: u32, length: u32| first..first.saturating_add(length).min(all.end);
        let blocks = rows
            .clone()
            .step_by(BLOCK as usize)
            .flat_map(|y| columns.clone().step_by(width as usize).map(move |x| [x, y]));
        let in_block = |[x, y]: [u32; 2]| {
            let columns = within(&columns, x, width);
            within(&rows, y, BLOCK).flat_map(move |y| columns.clone().map(move |x| [x, y, z]))
        };
        blocks.flat_map(in_block).collect()
    }
}

/// Returns the number of launch ids per tile, such that frames of all shaders of all launch ids
/// take a bounded amount of memory.
fn tile_ids<T: Tracer>(launch: &Launch<'_, T>) -> Result<u32, TraceError> {
    let mut bytes = 0;
    for shader in &launch.program.shaders {
        bytes += Frames::new(shader)?.frame_bytes();
    }
    let all = launch.size.iter().fold(1, |product: u64, &n| product.saturating_mul(n.into()));
    let mut ids = TILE_IDS;
    while ids > MIN_TILE_IDS
        && (bytes.saturating_mul(ids as usize) > TILE_BYTES || all < MIN_TILES.saturating_mul(ids.into()))
    {
        ids /= 2;
    }
    Ok(ids)
}

/// Executes all launch ids. Stops early when the context's abort flag is set.
///
/// # Errors
/// Returns the reason why a launch id could not be executed; the others may have been executed or
/// not.
pub fn trace_rays<S, T>(pool: &WorkerPool<S>, launch: &Launch<'_, T>) -> Result<(), TraceError>
where
    S: WorkerScratch + AsMut<StageMemory>,
    T: Tracer,
{
    if launch.size.contains(&0) {
        return Ok(());
    }
    let tiling = Tiling::new(launch.size, tile_ids(launch)?);
    let error = Mutex::new(None);
    let failed = || error.lock().map_or(true, |error| error.is_some());
    let count = tiling.count();
    let key = core::ptr::from_ref(launch.program).addr();
    let plans: Vec<InputPlan> = launch.program.shaders.iter().map(InputPlan::new).collect();
    // Memory of tiles that have ended, which the next ones take over.
    let idle: Mutex<Vec<Tile<'_, T>>> = Mutex::new(Vec::new());
    for start in (0..count).step_by(ROUND as usize) {
        let tiles = (count - start).min(ROUND) as usize;
        pool.for_each(tiles, CostHint::keyed((key, count)), |worker, scratch, i| {
            worker.set_running(launch.running);
            if aborted(&launch.context) || failed() {
                return;
            }
            let ids = tiling.ids(start + i as u64);
            let tile = idle.lock().ok().and_then(|mut idle| idle.pop());
            let done = tile.map_or_else(|| Tile::new(launch, &plans), Ok).and_then(|mut tile| {
                tile.run(ids, scratch.as_mut())?;
                tile.clear();
                if let Ok(mut idle) = idle.lock() {
                    idle.push(tile);
                }
                Ok(())
            });
            if let (Err(reason), Ok(mut error)) = (done, error.lock()) {
                error.get_or_insert(reason);
            }
        });
        if aborted(&launch.context) || failed() {
            break;
        }
    }
    error.into_inner().unwrap_or(Some(TraceError::Internal)).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tiles_have_each_launch_id_once_and_blocks_follow_each_other() {
        for (size, ids) in [([70, 9, 2], 512), ([1000, 1, 1], 128), ([3, 40, 1], 32), ([5, 3, 3], 32)] {
            let tiling = Tiling::new(size, ids);
            let all: Vec<[u32; 3]> = (0..tiling.count()).flat_map(|number| tiling.ids(number)).collect();
            assert_eq!(all.len() as u32, size.iter().product::<u32>());
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        }
        let ids = Tiling::new([64, 64, 1], 512).ids(0);
        assert_eq!(ids.len(), 512);
        assert!(ids[..16].iter().all(|id| id[0] < 4 && id[1] < 4), "{:?}", &ids[..16]);
        assert_eq!(ids[16], [4, 0, 0]);
    }
}
