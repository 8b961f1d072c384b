//! Grus, a Vulkan driver that runs on the CPU: the API.
//!
//! `entry` (exported symbols, one table row per command; unsafe lives here) → `object` (safe Rust behind the handles) →
//! `command` (recorded as a typed list, executed later) → `queue` (submission order, one worker thread per device).
//! `backend` joins the compiler and the rasterizer.
//!
//! Invariants: a handle is the address of a reference-counted object, and recorded commands own references, so that an
//! application that destroys too early does not take the process down. Nothing here panics on purpose; what panics anyway
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
