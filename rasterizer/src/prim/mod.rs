//! Primitives: the types that the front end and the tiles share.
//!
//! `screen` has positions, `coverage` half planes and sample positions, `contained` the pixels that
//! a shape contains, and `line` the lines that are more than a rectangle. `record` has the set-up
//! primitive and the output of a chunk, and `grid` the tiles. The front end writes records, and
//! tiles read them; neither depends on the other.

mod contained;
mod coverage;
mod grid;
mod line;
mod record;
mod screen;

pub use contained::{INNER_ROWS, contained_pixels, inner_rows};
pub use coverage::{
    CustomSampleLocations, EdgeFunction, SMALL, SquareEdge, SquareRows, cut_rows, edge_at, inside, mask16, pixels,
    sample_offsets, sample_positions,
};
pub use grid::{CHILD_SHIFT, LEVELS, TILE_SHIFT, TileGrid};
pub use line::{BresenhamLine, LinePrim, SmoothLine, StipplePhase, counted};
pub(crate) use record::word_of;
pub use record::{AttributeRowWriter, BinSorter, BoxedOutput, ChunkOutput, GROUP, Prim, PrimLanes, transposed};
pub use screen::{GUARD, SUBPIXEL, ScreenVertex, fixed, intersect};
