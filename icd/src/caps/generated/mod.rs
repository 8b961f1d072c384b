//! Tables that `cargo xtask generate` writes from the registry of Vulkan.

#![forbid(unsafe_code)]

pub mod spirv;
