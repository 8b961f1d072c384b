//! Services of the operating system that the crates of the driver share: addresses and pages,
//! threads and their stacks, processor features that the C library knows.
//!
//! Each system has one module with the same functions; all other code is the same on every system.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use linux::*;
#[cfg(windows)]
pub use windows::*;

/// Work of a new thread ([`start_thread`]).
pub type ThreadWork = Box<dyn FnOnce() + Send>;
