//! The tiles of a render pass, and the trees of which they are the leaves.
//!
//! A node of level `l` is a square of 4^l × 4^l tiles of a layer. Nodes have numbers: tiles come
//! first, then level by level.

#![forbid(unsafe_code)]

/// Base-2 logarithm of the side of a tile: tiles are 64×64 pixels.
pub const TILE_SHIFT: u32 = 6;
/// Number of levels of nodes. A node of the last level is 64×64 tiles, and the largest render area
/// has 4×4 of them.
pub const LEVELS: u32 = 4;
/// Base-2 logarithm of the number of a node's children along an axis.
pub const CHILD_SHIFT: u32 = 2;

/// The tile grid of a render pass.
#[derive(Clone, Copy, Debug)]
pub struct TileGrid {
    /// Numbers of tiles in x and y.
    pub tiles: [u32; 2],
    /// Number of layers.
    pub layers: u32,
    /// Number of rasterization samples.
    pub samples: u32,
}

impl TileGrid {
    /// Returns the numbers of nodes of a level in x and y.
    pub fn nodes(&self, level: u32) -> [u32; 2] {
        self.tiles.map(|n| n.div_ceil(1 << (CHILD_SHIFT * level)))
    }

    /// Returns the number of a level's first node; tiles (level 0) come first. For [`LEVELS`] it is
    /// the number of all nodes.
    pub fn first_node(&self, level: u32) -> u32 {
        (0..level).map(|l| self.nodes(l)).map(|[x, y]| x * y * self.layers).sum()
    }

    /// Returns the number of a node, given its level, layer, column and row.
    pub fn node(&self, level: u32, layer: u32, [x, y]: [u32; 2]) -> u32 {
        let [columns, rows] = self.nodes(level);
        self.first_node(level) + (layer * rows + y) * columns + x
    }

    /// Returns the layer and the position of a tile.
    pub fn tile_at(&self, tile: u32) -> (u32, [u32; 2]) {
        let [columns, rows] = self.tiles;
        (tile / (columns * rows), [tile % columns, tile / columns % rows])
    }

    /// Returns the node of a level in which a tile lies.
    pub fn enclosing_node(&self, tile: u32, level: u32) -> u32 {
        let (layer, position) = self.tile_at(tile);
        self.node(level, layer, position.map(|c| c >> (CHILD_SHIFT * level)))
    }

    /// Calls `f` with the tiles of a node of a level above 0.
    pub fn tiles_in(&self, level: u32, node: u32, mut f: impl FnMut(u32)) {
        let [columns, rows] = self.nodes(level);
        let node = node - self.first_node(level);
        let (layer, at) = (node / (columns * rows), [node % columns, node / columns % rows]);
        let first = at.map(|c| c << (CHILD_SHIFT * level));
        let end = |axis: usize| (first[axis] + (1 << (CHILD_SHIFT * level))).min(self.tiles[axis]);
        for y in first[1]..end(1) {
            for x in first[0]..end(0) {
                f(self.node(0, layer, [x, y]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_around_a_tile_hold_it() {
        let grid = TileGrid { tiles: [37, 70], layers: 2, samples: 1 };
        for tile in [0, 36, 37, 37 * 70 - 1, 37 * 70, 2 * 37 * 70 - 1] {
            assert_eq!(grid.enclosing_node(tile, 0), tile);
            for level in 1..LEVELS {
                let mut found = 0;
                grid.tiles_in(level, grid.enclosing_node(tile, level), |t| found += u32::from(t == tile));
                assert_eq!(found, 1, "tile {tile} level {level}");
            }
        }
    }
}
