//! The joints to the other rooms: the shader compiler, the rasterizer's sampling kernels and transfers, the machine.

pub mod bounds;
pub mod compile;
pub mod compiler;
pub mod helpers;
pub mod machine;
pub mod tiered;
pub mod transfer;

#[cfg(test)]
mod tiered_tests;
