//! Definitions that every crate of Grus shares:
//!
//! - [`abi`]: the structs that both generated code and Rust code access;
//! - [`shader`]: the description of a compiled stage;
//! - [`format`], [`image`], [`sample`]: formats with texel packing, image layout, and the scalar
//!   definition of sampling;
//! - [`limits`]: the limits of the device on which several parts rely;
//! - [`mem`], [`partial_range`], [`epoch`]: the bounds-checked view of device memory, addresses
//!   that are memory only in parts, and the number by which caches of memory become stale;
//! - [`pixel`], [`epilogue`], [`vk_enum!`]: the state of pixels as a key, the epilogue of fragment
//!   stages, and enumerations with Vulkan's numbers;
//! - `cpu`, [`host`]: features and levels of the processor, and functions compiled for each level;
//! - [`alloc`]: allocation failures as errors, which do not end the process;
//! - [`deferred_atomics`], [`fma`]: atomics that are deferred, and fused multiply-adds;
//! - [`round`], [`fused`], [`hash`], [`random`]: rounding, multiplications and additions with one
//!   rounding, quick hashes, and random numbers for tests;
//! - [`thread`], [`stack`], [`fp`], [`fork`]: properties of the current thread and process;
//! - [`os`]: services of the operating system.
//!
//! Invariants: the crate depends on no other Grus crate but that of its attribute
//! [`code_fn`], and has no Vulkan handle and no SPIR-V. Only `base::mem` turns device memory
//! into bytes, because the application may write it while the driver reads.

// The code that `derive(FromText)` generates names this crate.
extern crate self as base;

pub mod abi;
pub mod alloc;
#[cfg(target_arch = "x86_64")]
pub mod cpu;
pub mod deferred_atomics;
pub mod epilogue;
pub mod epoch;
pub mod fma;
pub mod fork;
pub mod format;
pub mod fp;
pub mod fused;
pub mod hash;
pub mod host;
pub mod image;
pub mod limits;
pub mod mem;
pub mod os;
pub mod partial_range;
pub mod pixel;
pub mod random;
pub mod round;
pub mod sample;
pub mod shader;
pub mod stack;
pub mod swept_map;
pub mod text;
pub mod thread;
mod vk_enum;

pub use code_fn::code_fn;
