//! Kernels for hosts with vectors of 512 bits.

#![forbid(unsafe_code)]

pub mod anisotropic;
pub mod anisotropic_probes;
pub mod bilinear;
pub mod bilinear_batch;
pub mod bilinear_narrow;
pub mod image_texels;
pub mod level;
pub mod nearest;
pub mod nearest_texels;
pub mod quad_windows;
pub mod sample_2d;
pub mod wrap;
