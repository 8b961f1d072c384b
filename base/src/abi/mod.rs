//! `repr(C)` structs shared between generated code (`jit`) and Rust (`rasterizer`, `icd`).
//!
//! Generated code takes every offset from `core::mem::offset_of!` on these types, never from a typed number.
//! Changing a field here changes [`VERSION`], which stored code carries.
//!
//! Lanes: a compiled stage works on chunks of [`StageFacts::lanes`](crate::shader::StageFacts) lanes (4 or 8).
//! All per-lane arrays of a batch are laid out `[chunk][slot][lane]` ([`SlotLayout`]), 32 bits each, unless said otherwise.
//! Arrays in call arguments ([`image::ImageArgs`]) always have [`MAX_LANES`] lanes; a 4-lane shader fills the first 4.

pub mod address;
pub mod context;
pub mod descriptor;
pub mod helper;
pub mod image;
pub mod layout;
pub mod slots;
pub mod stage;
pub mod version;

pub use address::*;
pub use context::*;
pub use descriptor::*;
pub use helper::*;
pub use image::*;
pub use slots::*;
pub use stage::*;
pub use version::VERSION;

/// Widest chunk any generated code uses, in lanes; also the size of per-lane arrays in call arguments.
pub const MAX_LANES: usize = 8;
