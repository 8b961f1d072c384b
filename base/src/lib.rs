//! What every room of Grus shares: the structs that generated code and Rust code both touch ([`abi`]), the
//! description of a compiled stage ([`shader`]), the format table and texel packing ([`format`]), image layout, the bounds-checked
//! view of device memory ([`mem`]), addresses that are memory in parts ([`parts`]), the state of pixels as a key ([`pixel`]), [`round`]ing, quick [`hash`]es, levels of the processor and functions
//! compiled for each ([`host`]), atomics that are kept back ([`deferred`]), and what driver code asks of the thread it runs on ([`thread`], [`stack`], [`fp`], [`fork`]).
//!
//! Invariants: no dependency on another Grus crate; no Vulkan handle and no SPIR-V here; only `base::mem`
//! turns device memory into bytes, because the application may write it while we read.

pub mod abi;
pub mod alloc;
#[cfg(target_arch = "x86_64")]
pub mod cpu;
pub mod deferred;
pub mod epilogue;
pub mod fork;
pub mod format;
pub mod fp;
pub mod hash;
pub mod host;
pub mod image;
pub mod mem;
mod numbered;
pub mod parts;
pub mod pixel;
pub mod random;
pub mod round;
pub mod sample;
pub mod shader;
pub mod stack;
pub mod thread;
