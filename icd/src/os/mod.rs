//! Services of the operating system: addresses, limits, the user, the clock, the environment. This
//! module does not depend on Vulkan. Its unsafe blocks are system calls and accesses to the ranges
//! that they made.

pub mod adaptive_spin;
pub mod arena;
pub mod backing;
pub mod clock;
pub mod condvar;
pub mod descriptor;
pub mod dma_buf;
pub mod environment;
pub mod heap_trim;
pub mod memory_limits;
pub mod shared_counter;
pub mod user;
