//! Kernels of eight lanes, for every processor level.

#![forbid(unsafe_code)]

pub mod sample_2d;
pub mod sample_2d_batch;
pub mod sample_any;
