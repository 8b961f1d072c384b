//! Bins: the tiles that a primitive may touch.
//!
//! Tiles are the leaves of trees: a node of level `l` is a square of 4^l × 4^l tiles of a layer. A
//! primitive is listed at nodes of which no two share a tile. A small one is listed at its tiles. A
//! large one is listed at the nodes that lie inside of it, and at tiles along its outline, or at
//! larger nodes there when it spans more than [`SPAN`] tiles. The number of entries of a primitive
//! thus grows with its outline, up to a bound of 512 that the tests check, and not with its area. A
//! tile runs the primitives that its own list and the lists of the nodes around it name
//! (`tile::runs`).

#![forbid(unsafe_code)]

use crate::prim::{CHILD_SHIFT, ChunkOutput, EdgeFunction, LEVELS, SUBPIXEL, TILE_SHIFT, TileGrid};

/// Largest number of tiles that are listed one by one.
const MAX_LISTED_TILES: i32 = 16;
/// Largest number of nodes along an axis to which a primitive's outline is resolved.
const SPAN: i32 = 32;

/// Pushes (node, primitive) pairs for all tiles that no edge of the last primitive excludes. The
/// primitive's data are passed as arguments, because the processor would wait for loads of data
/// that it has just stored.
#[inline(always)]
pub fn bin(out: &mut ChunkOutput, grid: &TileGrid, rect: [i32; 4], edges: &[EdgeFunction], layer: u32) {
    let number = out.prims.len().wrapping_sub(1);
    bin_as(out, grid, (number, rect), edges, layer);
}

/// Pushes the pairs of the primitive with a number, as [`bin`] does for the last one.
#[inline(always)]
pub fn bin_as(
    out: &mut ChunkOutput,
    grid: &TileGrid,
    (number, [x0, y0, x1, y1]): (usize, [i32; 4]),
    edges: &[EdgeFunction],
    layer: u32,
) {
    let (at, number) = (number, number as u64);
    let (tx0, ty0, tx1, ty1) = (x0 >> TILE_SHIFT, y0 >> TILE_SHIFT, (x1 - 1) >> TILE_SHIFT, (y1 - 1) >> TILE_SHIFT);
    let layer_base = u64::from(layer) * u64::from(grid.tiles[0]) * u64::from(grid.tiles[1]);
    if tx0 == tx1 && ty0 == ty1 {
        // Most primitives are small and lie in one tile; this case needs no loops and no edges.
        let tile = layer_base + ty0 as u64 * u64::from(grid.tiles[0]) + tx0 as u64;
        return out.bins.push(tile << 32 | number);
    }
    if (tx1 - tx0 + 1) * (ty1 - ty0 + 1) > MAX_LISTED_TILES {
        return bin_large(out, grid, at, [tx0, ty0, tx1, ty1]);
    }
    let narrow = tx0 == tx1 || ty0 == ty1;
    let extent = i64::from(SUBPIXEL) << TILE_SHIFT;
    for ty in ty0..=ty1 {
        for tx in tx0..=tx1 {
            let excluded = !narrow
                && edges.iter().any(|e| {
                    let (a, b) = (i64::from(e.a), i64::from(e.b));
                    let at = a * i64::from(tx) * extent + b * i64::from(ty) * extent + e.c;
                    at + a.max(0) * extent + b.max(0) * extent < 0
                });
            if !excluded {
                let tile = layer_base + ty as u64 * u64::from(grid.tiles[0]) + tx as u64;
                out.bins.push(tile << 32 | number);
            }
        }
    }
}

/// Pushes the pairs of a primitive whose pixels lie in many `tiles` (first and last, inclusive).
#[cold]
#[inline(never)]
fn bin_large(out: &mut ChunkOutput, grid: &TileGrid, at: usize, tiles: [i32; 4]) {
    let number = at as u64;
    let ChunkOutput { prims, edges, bins, .. } = out;
    let Some(prim) = prims.get(at) else { return };
    let [x0, y0, x1, y1] = tiles;
    let level_of = |nodes: i32| {
        let spans = |level: u32, a: i32, b: i32| (b >> (CHILD_SHIFT * level)) - (a >> (CHILD_SHIFT * level)) + 1;
        (0..LEVELS - 1).find(|&l| spans(l, x0, x1) <= nodes && spans(l, y0, y1) <= nodes).unwrap_or(LEVELS - 1)
    };
    let edges = &edges[prim.first_edge as usize..][..prim.edge_count as usize];
    // A pixel's only sample is its centre; several samples may be anywhere in it
    // (`sampleLocationCoordinateRange`).
    let inset = if grid.samples == 1 { i64::from(SUBPIXEL) / 2 } else { 0 };
    let mut large =
        LargePrimitive { grid, edges, tiles, layer: prim.shade.layer, leaf: level_of(SPAN), inset, number, bins };
    let top = level_of(1 << CHILD_SHIFT);
    for y in y0 >> (CHILD_SHIFT * top)..=y1 >> (CHILD_SHIFT * top) {
        for x in x0 >> (CHILD_SHIFT * top)..=x1 >> (CHILD_SHIFT * top) {
            large.node(top, [x, y]);
        }
    }
}

/// State of the descent of a large primitive in the tree.
struct LargePrimitive<'a> {
    grid: &'a TileGrid,
    edges: &'a [EdgeFunction],
    /// Tiles in which its pixels lie: first and last, inclusive.
    tiles: [i32; 4],
    layer: u32,
    /// Level at which the descent ends.
    leaf: u32,
    /// Least distance of samples from a node's border.
    inset: i64,
    number: u64,
    bins: &'a mut Vec<u64>,
}

impl LargePrimitive<'_> {
    /// Lists a node, or the parts of it that are not excluded.
    fn node(&mut self, level: u32, at: [i32; 2]) {
        let shift = CHILD_SHIFT * level;
        let first = at.map(|c| c << shift);
        // The grid may end inside of the node.
        let last = [0, 1].map(|axis| (first[axis] + (1 << shift)).min(self.grid.tiles[axis] as i32) - 1);
        let mut inside = (0..2).all(|axis| self.tiles[axis] <= first[axis] && last[axis] <= self.tiles[axis + 2]);
        let corner = |tile: i32| i64::from(tile) * (i64::from(SUBPIXEL) << TILE_SHIFT);
        for edge in self.edges {
            let (mut max, mut min) = (edge.c, edge.c);
            for (axis, slope) in [edge.a, edge.b].into_iter().enumerate() {
                let (slope, low, high) = (i64::from(slope), corner(first[axis]), corner(last[axis] + 1));
                max += slope * if slope > 0 { high } else { low };
                min += slope * if slope > 0 { low + self.inset } else { high - self.inset };
            }
            if max < 0 {
                return;
            }
            inside &= min >= 0;
        }
        if inside || level == self.leaf {
            let node = self.grid.node(level, self.layer, at.map(|c| c as u32));
            return self.bins.push(u64::from(node) << 32 | self.number);
        }
        let children = |axis: usize| {
            let (first, below) = (at[axis] << CHILD_SHIFT, shift - CHILD_SHIFT);
            first.max(self.tiles[axis] >> below)..=(first + (1 << CHILD_SHIFT) - 1).min(self.tiles[axis + 2] >> below)
        };
        let (columns, rows) = (children(0), children(1));
        for y in rows {
            for x in columns.clone() {
                self.node(level - 1, [x, y]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::setup::{Bounding, Outline, UNSET_PRIM};
    use crate::prim::{Prim, ScreenVertex, intersect};
    use base::abi::FragmentPrimitive;

    /// Upper bound of the number of entries of a primitive.
    const MAX_ENTRIES: usize = 512;

    /// Bins a triangle in a layer of a grid.
    fn binned(grid: &TileGrid, layer: u32, corners: [[i32; 2]; 3]) -> ChunkOutput {
        let outline = Outline::triangle(&corners.map(|[x, y]| ScreenVertex { x, y, z: 0.0, inv_w: 1.0 }));
        let edges = outline.edges();
        let limit = grid.tiles.map(|n| (n << TILE_SHIFT) as i32);
        let bounds = outline.bounds(Bounding::new(grid));
        let rect = intersect([0, 0, limit[0], limit[1]], bounds);
        let shade = FragmentPrimitive { layer, ..UNSET_PRIM.shade };
        let mut out = ChunkOutput::default();
        if rect[0] < rect[2] && rect[1] < rect[3] {
            let (edges, sides) = (&edges.edges[..edges.count as usize], rect.map(|side| side as u16));
            let edge_count = edges.len() as u16;
            out.prims.push(Prim { shade, edge_count, sides, depth_range: [0.0, 1.0], ..UNSET_PRIM });
            out.edges.extend_from_slice(edges);
            bin(&mut out, grid, rect, edges, layer);
        }
        out
    }

    /// Returns the tiles that the entries of an output represent, sorted.
    fn tiles(grid: &TileGrid, out: &ChunkOutput) -> Vec<u32> {
        let mut all = Vec::new();
        for node in out.bins.iter().map(|bin| (bin >> 32) as u32) {
            match (0..LEVELS).rev().find(|&level| node >= grid.first_node(level)) {
                Some(0) | None => all.push(node),
                Some(level) => grid.tiles_in(level, node, |tile| all.push(tile)),
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn entries_name_every_touched_tile_once_and_are_few() {
        let mut random = base::random::Rng(5);
        let mut max = 0;
        for round in 0..500 {
            let grid = TileGrid { tiles: [1 + random.below(256), 1 + random.below(256)], layers: 3, samples: 4 };
            let side = (256i32 << TILE_SHIFT) * SUBPIXEL;
            let mut coordinate = || match random.below(4) {
                0 => -side / 2,
                1 => side,
                _ => random.below(side as u32) as i32,
            };
            let corners = [0; 3].map(|_| [coordinate(), coordinate()]);
            let layer = round % 3;
            let out = binned(&grid, layer, corners);
            max = max.max(out.bins.len());
            let all = tiles(&grid, &out);
            assert!(all.windows(2).all(|w| w[0] < w[1]), "{corners:?} {grid:?}: a tile is named twice");
            let Some(prim) = out.prims.last() else { continue };
            for tile in 0..grid.tiles[0] * grid.tiles[1] {
                let number = layer * grid.tiles[0] * grid.tiles[1] + tile;
                let at = grid.tile_at(number).1.map(|c| (c << TILE_SHIFT) as i32);
                let part = intersect(prim.rect(), [at[0], at[1], at[0] + 64, at[1] + 64]);
                let center = [0, 1].map(|i| i64::from(at[i] + 32) * i64::from(SUBPIXEL));
                let covered = part[0] < part[2]
                    && part[1] < part[3]
                    && out
                        .edges_of(prim)
                        .iter()
                        .all(|e| i64::from(e.a) * center[0] + i64::from(e.b) * center[1] + e.c >= 0);
                assert!(!covered || all.binary_search(&number).is_ok(), "{corners:?} {grid:?}: tile {tile} is missing");
            }
        }
        assert!(max < MAX_ENTRIES && max > 64, "{max} entries");
    }

    #[test]
    fn a_primitive_that_covers_everything_has_a_handful_of_entries() {
        for side in [1, 4, 17, 30, 128, 256] {
            let grid = TileGrid { tiles: [side, side], layers: 2, samples: 1 };
            let pixels = (side << TILE_SHIFT) as i32 * SUBPIXEL;
            for corners in
                [[[0, 0], [2 * pixels, 0], [0, 2 * pixels]], [[pixels, pixels], [-pixels, pixels], [pixels, -pixels]]]
            {
                let out = binned(&grid, 1, corners);
                let want: Vec<u32> = (side * side..2 * side * side).collect();
                assert_eq!(tiles(&grid, &out), want);
                assert!(out.bins.len() <= 16, "{side}: {}", out.bins.len());
            }
        }
    }
}
