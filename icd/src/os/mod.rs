//! What the operating system gives and says: addresses, limits, the user, the clock, the environment. Knows nothing of Vulkan; its unsafe
//! blocks are system calls and the ranges they made.

pub mod arena;
pub mod backing;
pub mod clock;
pub mod condvar;
pub mod descriptor;
pub mod dma_buf;
pub mod environment;
pub mod heap_trim;
pub mod memory_limits;
pub mod patience;
pub mod shared;
pub mod user;
