//! What every room of Grus shares: the structs that generated code and Rust code both touch ([`abi`]), the
//! description of a compiled stage ([`shader`]), and (as they land) the format table, texel packing, image
//! layout and the bounds-checked view of device memory.
//!
//! Invariants: no dependency on another Grus crate; no Vulkan handle and no SPIR-V here; only `base::mem`
//! turns device memory into bytes, because the application may write it while we read.

pub mod abi;
pub mod format;
pub mod image;
pub mod mem;
pub mod sample;
pub mod shader;
