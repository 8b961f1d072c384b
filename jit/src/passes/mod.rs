//! Passes over the IR, one file each. [`Divergence`] is the analysis that `emit` reads.

mod dce;
mod divergence;
mod lower_math;
pub mod math;
mod mem2reg;
mod structure;
mod util;

pub use dce::dce;
pub use divergence::{Divergence, Shape, divergence};
pub use lower_math::lower_math;
pub use mem2reg::mem2reg;
pub use structure::structure;

#[cfg(test)]
mod tests;
