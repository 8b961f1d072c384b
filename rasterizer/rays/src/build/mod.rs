//! Builds of structures.
//!
//! 1. `references` reads all primitives and makes a reference with bounds of each active one.
//! 2. `sah` (fast trace) and `morton` (fast build) split ranges of references; `tree` makes nodes
//!    of eight children of these splits. Ranges of more than some thousand primitives are split one
//!    after the other, each by all threads; smaller ones are subtrees, of which each thread takes
//!    some. `bins` finds the best split of a range, `grid` splits a large range into eight at once,
//!    and `sweep` splits a small one.
//! 3. `emit` numbers the nodes depth-first and writes leaves and nodes with their bounds; `node`
//!    has the bytes of a node.
//!
//! The bytes do not depend on the number of threads: bounds are minima and maxima, counts are
//! integers, and partitions are stable, so that every way to divide the work gives the same result.

#![forbid(unsafe_code)]

mod bins;
mod builder;
mod emit;
mod grid;
mod morton;
mod node;
mod references;
mod request;
mod sah;
mod sweep;
mod tree;

pub use builder::Builder;
pub use node::{Child, write_node};
pub use request::{BuildError, BuildInput, Quality};
