//! Kernels of eight lanes, for every processor level.

pub mod sample_2d;
pub mod sample_2d_batch;
pub mod sample_any;
