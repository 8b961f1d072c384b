//! Passes over the IR, one file each. [`Divergence`] is the analysis that `emit` reads.

mod divergence;
pub use divergence::{Divergence, Shape, divergence};
