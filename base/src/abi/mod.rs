//! `repr(C)` structs that generated code (`jit`) and Rust code (`rasterizer`, `icd`) share.
//!
//! Generated code takes every offset from `core::mem::offset_of!` on these types, never from a
//! literal number. Changing a field here changes [`VERSION`], which stored code carries.
//!
//! A compiled stage works on chunks of [`ShaderInfo::lanes`](crate::shader::ShaderInfo) lanes (4 or
//! 8; for fragments and workgroups also 16, 32 or 64). All per-lane arrays of a batch are laid out
//! `[chunk][slot][lane]` ([`SlotLayout`]), with 32 bits each, unless stated otherwise. Arrays in
//! call arguments ([`image::ImageArgs`]) always have [`MAX_LANES`] lanes. A 4-lane shader fills the
//! first 4, and one with more lanes makes several calls.

pub mod address;
mod calling_convention;
pub mod context;
pub mod descriptor;
pub mod heap;
pub mod helper;
pub mod image;
pub mod layout;
pub mod ray_query;
pub mod slots;
pub mod stage;
pub mod version;

pub use address::*;
pub use context::*;
pub use descriptor::*;
pub use heap::*;
pub use helper::*;
pub use image::*;
pub use ray_query::*;
pub use slots::*;
pub use stage::*;
pub use version::VERSION;

/// Number of lanes of per-lane arrays in call arguments, which is that of the widest chunk of
/// vertices.
pub const MAX_LANES: usize = 8;
