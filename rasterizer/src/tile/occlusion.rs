//! Occlusion culling and the estimate of overdraw in a tile.
//!
//! If much of a tile is covered more than once, it is faster to find the
//! [owners](super::visibility_buffer) of its pixels before any is shaded. Primitives before one
//! that overwrites every pixel of the tile are skipped, if all their effects are on attachments
//! that are overwritten.

#![forbid(unsafe_code)]

use super::TileRound;
use super::cover::covers_all;
use super::runs::BinRun;
use crate::prim::{TILE_SHIFT, intersect};

/// Largest number of primitives that are examined; of more primitives, every nth is.
const MAX_EXAMINED_PRIMITIVES: usize = 64;

/// The results for a tile.
#[derive(Clone, Copy, Debug, Default)]
pub struct OcclusionCulling {
    /// True if the visibility buffer is faster.
    pub defer: bool,
    /// Primitives that are not visible.
    pub occluded: Occluded,
}

/// Hidden primitives: those from a chunk on that come before a primitive of another chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occluded {
    /// Number of the first hidden chunk.
    first: u32,
    /// Chunk of the primitive that occludes them.
    chunk: u32,
    /// Number of that primitive in its chunk.
    prim: u32,
}

impl Occluded {
    /// Splits a tile's runs into those before the hidden chunks and those after them.
    pub fn split_runs(self, runs: &[BinRun]) -> (&[BinRun], &[BinRun]) {
        if self.first == self.chunk {
            return (&[], runs);
        }
        let [first, next] = [self.first, self.chunk].map(|chunk| runs.partition_point(|run| run.chunk < chunk));
        (&runs[..first], &runs[next..])
    }

    /// Returns how many of the first primitives of a run's chunk are hidden: their numbers are
    /// below the result.
    pub fn occluded_prims(self, run: &[BinRun]) -> u32 {
        if run[0].chunk == self.chunk { self.prim } else { 0 }
    }
}

impl OcclusionCulling {
    /// Examines the runs of the tile at (x0, y0).
    #[inline(always)]
    pub fn analyze(scene: &TileRound<'_>, runs: &[BinRun], [x0, y0]: [i32; 2]) -> OcclusionCulling {
        let tile = intersect([x0, y0, x0 + (1 << TILE_SHIFT), y0 + (1 << TILE_SHIFT)], scene.pass.area);
        let count: usize = runs.iter().map(|run| run.len()).sum();
        let step = count.div_ceil(MAX_EXAMINED_PRIMITIVES).max(1);
        let (mut area, mut around, mut next) = (0, [i32::MAX, i32::MAX, i32::MIN, i32::MIN], 0);
        // From chunk `first` on, draws can only have changed the attachments in `changed`.
        let (mut first, mut changed, mut occluded) = (None, 0, Occluded::default());
        let (mut number, mut overwrites, mut is_occluder) = (None, false, false);
        for run in runs {
            let (chunk, output) = (run.chunk as usize, &*scene.outputs[run.chunk as usize]);
            let bins = run.bins(output);
            if number != Some(scene.origins[chunk].draw) {
                number = Some(scene.origins[chunk].draw);
                let draw = scene.draws.draw(scene.origins[chunk].draw);
                let color_only_attachments = draw.plan.colors_only.filter(|_| draw.draw.queries.ignores_fragments());
                (first, changed) = match color_only_attachments {
                    Some(attachments) => (first.or(Some(run.chunk)), changed | attachments),
                    None => (None, 0),
                };
                overwrites = draw.plan.overwrites.is_some();
                is_occluder = first.is_some()
                    && draw.plan.opaque_attachments().is_some_and(|attachments| changed & !attachments == 0);
            }
            if next >= bins.len() || !overwrites {
                next = next.saturating_sub(bins.len());
                continue;
            }
            while let Some(&bin) = bins.get(next) {
                let prim = &output.prims[bin as u32 as usize];
                let [x0, y0, x1, y1] = intersect(prim.rect(), tile);
                next += step;
                // A large node around the tile may list primitives that lie beside it.
                if x0 >= x1 || y0 >= y1 {
                    continue;
                }
                if let (true, Some(first)) = (is_occluder, first)
                    && covers_all(prim, output.edges_of(prim), tile)
                {
                    occluded = Occluded { first, chunk: run.chunk, prim: bin as u32 };
                    // Only coverage by the remaining primitives counts.
                    area = 0;
                }
                area += (x1 - x0) * (y1 - y0);
                around = [around[0].min(x0), around[1].min(y0), around[2].max(x1), around[3].max(y1)];
            }
            next -= bins.len();
        }
        let side = |axis: usize| i64::from(around[axis + 2]) - i64::from(around[axis]);
        // Triangles cover about half of their rectangles.
        let defer = area != 0 && i64::from(area) * step as i64 > 3 * side(0) * side(1);
        OcclusionCulling { defer, occluded }
    }
}
