//! Services of the operating system: addresses, limits, the user, the clock, the environment. This
//! module does not depend on Vulkan. Its unsafe blocks are system calls and accesses to the ranges
//! that they made.
//!
//! Each system has one folder with the same modules and functions ([`clock`], [`descriptor`] and
//! so on); all other code is the same on every system.

pub mod adaptive_spin;
pub mod arena;
pub mod backing;
pub mod condvar;
pub mod counter_page;
pub mod environment;
pub mod heap_trim;
#[cfg(unix)]
mod linux;
pub mod shared_counter;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use linux::{
    clock, descriptor, dma_buf, futex, library, memory_limits, pages, private_file, process, reservation, shared_page,
    user,
};
#[cfg(windows)]
pub use windows::{
    clock, descriptor, dma_buf, futex, library, memory_limits, pages, private_file, process, reservation, shared_page,
    user,
};
