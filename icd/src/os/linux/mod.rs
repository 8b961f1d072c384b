//! Services of Linux.

pub mod clock;
pub mod descriptor;
pub mod dma_buf;
pub mod futex;
pub mod library;
pub mod memory_limits;
pub mod pages;
pub mod private_file;
pub mod process;
pub mod reservation;
pub mod shared_page;
pub mod user;
