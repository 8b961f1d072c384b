//! Grus, a Vulkan driver that runs on the CPU: the API.
//!
//! A call: `entry` (exported symbols, one table row per command; decodes) → `object` (safe Rust behind the handles) → `command` (recorded as
//! a typed list, executed later) → `device` (its queue: submission order, one worker thread).
//!
//! The modules are floors; each uses only those before it: `os` and `fallible`; `ffi` (shims, handles, pointers); `caps` (what is claimed);
//! `backend` (stages and their code); `object`; `device`; `command`; `wsi`; `entry`. `tests/api/floors.rs` asserts it.
//!
//! Invariants: a handle is the address of a reference-counted object, and recorded commands own references, so that an
//! application that destroys too early does not take the process down; device memory is released in
//! spite of them. Nothing here panics on purpose; what panics anyway
//! becomes a `VkResult` at the entry point or a lost device in the queue.

mod backend;
pub mod caps;
mod command;
mod device;
mod entry;
mod fallible;
mod ffi;
mod object;
mod os;
mod wsi;

pub use entry::{vk_icdGetInstanceProcAddr, vk_icdGetPhysicalDeviceProcAddr, vk_icdNegotiateLoaderICDInterfaceVersion};
