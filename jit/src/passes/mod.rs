//! Passes over the IR, one file each. [`Divergence`] is the analysis that `emit` reads.

mod divergence;
mod lower_math;
pub mod math;
pub use divergence::{Divergence, Shape, divergence};
pub use lower_math::lower_math;
