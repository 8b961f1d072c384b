//! `repr(C)` structs shared between generated code (`jit`) and Rust (`rasterizer`, `icd`).
//!
//! Generated code takes every offset from `core::mem::offset_of!` on these types, never from a typed number.
//! Changing a field here changes the code cache key (the build id is part of it).
//!
//! Lanes: a compiled stage works on chunks of [`CompiledStage::lanes`](crate::shader::CompiledStage) lanes (4 or 8).
//! All per-lane arrays of a batch are laid out `[chunk][slot][lane]`, 32 bits each, unless said otherwise.
//! Arrays in call arguments ([`image::ImageArgs`]) always have [`MAX_LANES`] lanes; a 4-lane shader fills the first 4.

pub mod address;
pub mod context;
pub mod descriptor;
pub mod image;
pub mod stage;

pub use address::*;
pub use context::*;
pub use descriptor::*;
pub use image::*;
pub use stage::*;

/// Widest chunk any generated code uses, in lanes; also the size of per-lane arrays in call arguments.
pub const MAX_LANES: usize = 8;
