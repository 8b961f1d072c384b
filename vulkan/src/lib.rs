//! The Vulkan driver Grus as a dependency: Vulkan in tests, on machines without a GPU, a Vulkan
//! loader or an installed driver.
//!
//! [`entry`] returns the driver's functions, which are linked into the program. [`use_for_tests`]
//! selects the driver for libraries that open the Vulkan loader themselves, such as wgpu.

mod functions;
mod loader_file;
mod select;

pub use functions::{entry, static_fn};
pub use select::{SelectError, use_for_tests};

/// Tests of the snippets of Rust in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/ci.md")]
struct Snippets;
