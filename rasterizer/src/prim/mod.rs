//! Primitives: the types that the front end and the tiles share.
//!
//! `screen` has positions, `coverage` half planes and sample positions, and
//! `line` the lines that are more than a rectangle. `record` has the set-up primitive and the
//! output of a chunk, and `grid` the tiles. The front end writes records and tiles read them;
//! neither depends on the other.

mod coverage;
mod grid;
mod line;
mod record;
mod screen;

pub use coverage::{
    Edge, Places, SMALL, SquareEdge, SquareRows, cut_rows, edge_at, inside, mask16, pixels, sample_offsets,
    sample_positions,
};
pub use grid::{Grid, LEVELS, STEP, TILE_SHIFT};
pub use line::{Diamonds, LinePrim, Phase, counted};
pub(crate) use record::word_of;
pub use record::{ChunkOutput, GROUP, Prim, PrimLanes, Rows, Sorting, transposed};
pub use screen::{GUARD, SUBPIXEL, SUBPIXEL_BITS, Screen, fixed, intersect};
