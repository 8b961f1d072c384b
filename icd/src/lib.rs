//! Grus, a Vulkan driver that runs on the CPU: the API.
//!
//! The path of a call: `entry` (exported symbols, one table row per command; decodes) → `object`
//! (safe Rust behind the handles) → `command` (recorded as a typed list, executed later) → `device`
//! (its queue: submission order, one worker thread).
//!
//! The modules are layers, each of which uses only those before it: `os` and `fallible`; `ffi`
//! (shims, handles, pointers); `caps` (advertised capabilities); `shader_compiler` (stages and
//! their code); `object`; `device`; `command`; `wsi`; `entry`. `tests/api/layers.rs` asserts this.
//!
//! Invariants: a handle is the address of a reference-counted object, and recorded commands own
//! references, so that an application that destroys too early does not end the process. Device
//! memory is released in spite of these references. Nothing here panics on purpose; any other panic
//! becomes a `VkResult` at the entry point or a lost device in the queue.

pub mod caps;
mod command;
mod device;
mod entry;
mod fallible;
mod ffi;
mod object;
mod os;
mod shader_compiler;
mod wsi;

pub use entry::{vk_icdGetInstanceProcAddr, vk_icdGetPhysicalDeviceProcAddr, vk_icdNegotiateLoaderICDInterfaceVersion};
